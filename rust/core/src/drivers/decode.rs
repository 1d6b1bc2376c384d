//! JSON bytes straight into validated host values: parsing and checking in one pass, directed by the plan.
//!
//! At each value the node's accepted kinds are known before the first byte is read, so a wrong kind is refused before
//! anything is made, and a known name is compared in place instead of being read. Where a node has keywords that
//! apply schemas in place, the value is made first (still by the node's own rules) and those keywords are asked then.
//!
//! A decoder only says that it stopped: the exact fault of a broken text is found by the resumable tokenizer, the
//! issues of a refused value by [`super::explain`], both on the cold path.

use smallvec::SmallVec;

pub use super::builder::{Builder, Start, Text};
use super::defaults::Seen;
use super::region::Region;
use crate::instance::{Instance, Kind, kinds};
use crate::json::string;
use crate::plan::{
    ArrayRule, FALSE, NONE, Node, NodeId, ObjectRule, Plan, Property, TRUE, first_word_of, same,
};

/// Why a decoder stopped.
#[derive(Debug)]
pub enum Stop<E> {
    /// The text is not JSON, or passes a limit.
    Syntax,
    /// The plan refuses the value.
    Refused,
    /// The host could not make a value.
    Host(E),
}

impl<E> From<E> for Stop<E> {
    fn from(error: E) -> Self {
        Self::Host(error)
    }
}

/// A decoder over one text.
pub(super) struct Decoder<'p, 't, 'b, B: Builder> {
    pub(super) plan: &'p Plan,
    pub(super) text: &'t [u8],
    pub(super) at: usize,
    pub(super) builder: &'b mut B,
    /// Items of the arrays that are open.
    stack: SmallVec<[B::Value; 16]>,
    pub(super) scratch: Vec<u8>,
    pub(super) depth: usize,
    /// Choices that led to the value at the position, each to its only schema.
    pub(super) links: usize,
    /// Without a schema a repeated name is no issue: the last one wins.
    repeated_names: bool,
    /// How many nodes with keywords in place are open that may lead to a default, and what is in them.
    pub(super) open: usize,
    pub(super) region: Option<Box<Region<B::Value>>>,
}

/// How far an object with a rule is read.
struct Progress {
    /// What the object started with.
    start: Start,
    /// The name that is expected next.
    next: usize,
    /// Required names that were read.
    required: u32,
    /// Names that were read and that the object began with.
    known: usize,
    /// Names with a default that were read.
    seen: Seen,
}

/// Decodes a text into a value that the plan accepts.
///
/// # Errors
/// See [`Stop`].
pub fn decode<B: Builder>(
    plan: &Plan,
    text: &[u8],
    builder: &mut B,
) -> Result<Decoded<B::Value>, Stop<B::Error>> {
    plan.fetch();
    if text.len() > plan.limits.text_length {
        return Err(Stop::Syntax);
    }
    let mut decoder = Decoder {
        plan,
        text,
        at: 0,
        builder,
        stack: SmallVec::new(),
        scratch: Vec::new(),
        depth: 0,
        links: 0,
        repeated_names: plan.is_free,
        open: 0,
        region: None,
    };
    // Dynamic references depend on the way to a value, which this driver does not keep.
    let whole = !plan.anchors.is_empty();
    let leads = whole && plan.leads_to_default(plan.root);
    decoder.open += usize::from(leads);
    let value = decoder.value(if whole { TRUE } else { plan.root })?;
    decoder.skip_blanks();
    if decoder.at != text.len() {
        return Err(Stop::Syntax);
    }
    if whole {
        decoder.judge(leads, 0, &value, |checker, value| checker.node::<_, false>(plan.root, value))?;
    }
    let lacks_defaults = decoder.region.is_some_and(|region| region.trail.lost);
    Ok(Decoded { value, lacks_defaults })
}

/// A decoded value.
#[derive(Debug)]
pub struct Decoded<V> {
    /// The value.
    pub value: V,
    /// Defaults that the decoder could not fill in on its way may be missing: see [`super::defaults::fill`].
    pub lacks_defaults: bool,
}

/// Is a text JSON?
pub fn is_json(text: &[u8]) -> bool {
    let plan = Plan::anything(crate::limits::Limits::default());
    decode(&plan, text, &mut crate::value::Values).is_ok()
}

impl<B: Builder> Decoder<'_, '_, '_, B> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    fn skip_blanks(&mut self) {
        // Most texts have few blanks: one comparison tells.
        while let Some(byte) = self.peek()
            && byte <= b' '
            && matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
        {
            self.at += 1;
        }
    }

    #[inline]
    pub(super) fn value(&mut self, id: NodeId) -> Result<B::Value, Stop<B::Error>> {
        let node = self.plan.node(id);
        self.value_of(node.types, node.more, id)
    }

    /// A value of a node whose kinds are known: the node itself is only looked at where it asks for more.
    #[inline]
    fn value_of(&mut self, types: u8, more: u8, id: NodeId) -> Result<B::Value, Stop<B::Error>> {
        self.skip_blanks();
        // One jump for each value: what a kind needs stands in its arm.
        match self.peek() {
            Some(b'"') => {
                if types & kinds::STRING == 0 {
                    return Err(Stop::Refused);
                }
                if more & kinds::STRING == 0 { self.free_string() } else { self.ruled(id, Kind::String) }
            }
            Some(b'{') => {
                if types & kinds::OBJECT == 0 {
                    Err(Stop::Refused)
                } else {
                    self.ruled(id, Kind::Object)
                }
            }
            Some(b'[') => {
                if types & kinds::ARRAY == 0 {
                    Err(Stop::Refused)
                } else {
                    self.ruled(id, Kind::Array)
                }
            }
            Some(b'-' | b'0'..=b'9') => {
                if types & kinds::NUMBER == 0 {
                    return Err(Stop::Refused);
                }
                if more & kinds::NUMBER == 0 {
                    self.number(types, NONE)
                } else {
                    self.ruled(id, Kind::Integer)
                }
            }
            Some(b't' | b'f') => {
                if types & kinds::BOOL == 0 {
                    return Err(Stop::Refused);
                }
                if more & kinds::BOOL == 0 { self.literal() } else { self.ruled(id, Kind::Bool) }
            }
            Some(b'n') => {
                if types & kinds::NULL == 0 {
                    return Err(Stop::Refused);
                }
                if more & kinds::NULL == 0 { self.literal() } else { self.ruled(id, Kind::Null) }
            }
            _ => Err(Stop::Syntax),
        }
    }

    /// A value of a kind for which its node asks for more.
    #[inline]
    fn ruled(&mut self, id: NodeId, kind: Kind) -> Result<B::Value, Stop<B::Error>> {
        let node = self.plan.node(id);
        if node.check_count == 0 { self.by_rule(node, kind) } else { self.checked(id, node, kind) }
    }

    /// A value by the rule that its node has for its kind.
    #[inline]
    pub(super) fn by_rule(&mut self, node: &Node, kind: Kind) -> Result<B::Value, Stop<B::Error>> {
        match kind {
            Kind::String => self.string(node),
            Kind::Object => self.object(node),
            Kind::Array => self.array(node),
            Kind::Integer => self.number(node.types, node.number),
            _ => self.literal(),
        }
    }

    #[inline]
    fn enter(&mut self) -> Result<(), Stop<B::Error>> {
        if self.depth >= self.plan.limits.depth {
            return Err(Stop::Syntax);
        }
        self.depth += 1;
        self.at += 1;
        self.skip_blanks();
        Ok(())
    }

    fn array(&mut self, node: &Node) -> Result<B::Value, Stop<B::Error>> {
        self.enter()?;
        let rule = (node.array != NONE).then(|| &self.plan.arrays[node.array as usize]);
        let start = self.stack.len();
        if self.peek() == Some(b']') {
            self.at += 1;
        } else {
            self.items(rule, start)?;
        }
        let count = self.stack.len() - start;
        if rule.is_some_and(|rule| count < rule.min) {
            return Err(Stop::Refused);
        }
        self.depth -= 1;
        Ok(self.builder.array(self.stack.drain(start..))?)
    }

    fn items(&mut self, rule: Option<&ArrayRule>, start: usize) -> Result<(), Stop<B::Error>> {
        loop {
            let index = self.stack.len() - start;
            let node = match rule {
                None => TRUE,
                Some(rule) if index >= rule.max => return Err(Stop::Refused),
                Some(rule) => rule.prefix.get(index).copied().unwrap_or(rule.rest),
            };
            let item = self.value(node)?;
            self.stack.push(item);
            self.skip_blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Stop::Syntax),
            }
        }
    }

    fn object(&mut self, node: &Node) -> Result<B::Value, Stop<B::Error>> {
        self.enter()?;
        let rule = (node.object != NONE).then(|| &self.plan.objects[node.object as usize]);
        let fills =
            rule.is_some_and(|rule| rule.has_defaults() && rule.required < rule.count) && self.open == 0;
        let start = if fills { self.builder.start(self.plan, node.object)? } else { Start::Empty };
        let mut object = self.builder.object(node.object, start)?;
        let mut read = 0usize;
        let mut progress = Progress { start, next: 0, required: 0, known: 0, seen: Seen::default() };
        let properties = rule.map_or(&[][..], |rule| self.plan.properties_of(rule));
        if self.peek() == Some(b'}') {
            self.at += 1;
        } else {
            loop {
                if self.peek() != Some(b'"') {
                    return Err(Stop::Syntax);
                }
                self.at += 1;
                let at = match (properties.get(progress.next), rule) {
                    (Some(property), _) if self.is_next(property) => progress.next,
                    (_, Some(rule)) => self.member(rule, properties, &mut object)?,
                    (_, None) => self.free_member(&mut object).map(|()| usize::MAX)?,
                };
                if let Some(property) = properties.get(at) {
                    self.known_member(property, at, &mut object, &mut progress)?;
                }
                read += 1;
                self.skip_blanks();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b'}') => {
                        self.at += 1;
                        break;
                    }
                    _ => return Err(Stop::Syntax),
                }
                self.skip_blanks();
            }
        }
        if rule.is_some_and(|rule| progress.required != rule.required || read < rule.min || read > rule.max) {
            return Err(Stop::Refused);
        }
        let filled = if fills { self.fill(node.object, &mut object, &progress)? } else { 0 };
        let (object, members) = self.builder.finish(object)?;
        if members != read + filled - progress.known && !self.repeated_names {
            return Err(Stop::Refused);
        }
        self.depth -= 1;
        if self.open > 0 {
            let region = self.region.get_or_insert_default();
            if rule.is_some_and(ObjectRule::has_defaults) {
                region.trail.found.push((B::instance(&object).identity(), node.object));
            }
            region.objects.push(object.clone());
        }
        Ok(object)
    }

    /// Defaults of the names that were not seen: how many members that makes. Where the object began with them, it wants its
    /// own copies of those that can be changed.
    fn fill(
        &mut self,
        rule: u32,
        object: &mut B::Object,
        progress: &Progress,
    ) -> Result<usize, Stop<B::Error>> {
        let (plan, seen) = (self.plan, &progress.seen);
        let mut fill = |builder: &mut B, property: &Property| -> Result<(), B::Error> {
            let value = builder.default_value(plan, property.default)?;
            builder.insert_known(object, plan, property, value)
        };
        let of_rule = &plan.objects[rule as usize];
        let Start::Defaults(count) = progress.start else {
            let mut added = 0;
            for (_, property) in plan.defaults_of(of_rule).filter(|(at, _)| !seen.has(*at)) {
                fill(self.builder, property)?;
                added += 1;
            }
            return Ok(added);
        };
        let mut index = 0;
        while let Some(at) = self.builder.copied(rule).get(index).map(|at| *at as usize) {
            if !seen.has(at) {
                fill(self.builder, &plan.properties_of(of_rule)[at])?;
            }
            index += 1;
        }
        Ok(count)
    }

    #[inline]
    fn colon(&mut self) -> Result<(), Stop<B::Error>> {
        self.skip_blanks();
        if self.peek() != Some(b':') {
            return Err(Stop::Syntax);
        }
        self.at += 1;
        Ok(())
    }

    /// The member of a known name; the position is behind the name.
    #[inline]
    fn known_member(
        &mut self,
        property: &Property,
        at: usize,
        object: &mut B::Object,
        progress: &mut Progress,
    ) -> Result<(), Stop<B::Error>> {
        self.colon()?;
        let value = self.value_of(property.types, property.more, property.node)?;
        progress.next = at + 1;
        progress.required += u32::from(property.required);
        if property.default != NONE {
            if progress.start != Start::Empty {
                // Here a repetition does not show in the number of members.
                if progress.seen.has(at) && !self.repeated_names {
                    return Err(Stop::Refused);
                }
                progress.known += 1;
            }
            progress.seen.mark(at);
        }
        Ok(self.builder.insert_known(object, self.plan, property, value)?)
    }

    /// Does the name of this property come next? Members mostly come in the schema's order, so the expected name is compared
    /// in place; then the position is behind it.
    #[inline]
    fn is_next(&mut self, property: &Property) -> bool {
        let (at, len) = (self.at, property.len as usize);
        let is = property.plain
            && self.text.get(at + len) == Some(&b'"')
            && first_word_of(&self.text[at..], len) == property.word
            && (len <= size_of::<u64>() || same(&self.text[at..at + len], self.plan.name_bytes(property)));
        self.at += if is { len + 1 } else { 0 };
        is
    }

    /// The place among a rule's names of one that is not the one expected next. A place that is none where the rule does not
    /// know it: then its member has been read. The position is behind the name's opening quote.
    #[inline]
    fn member(
        &mut self,
        rule: &ObjectRule,
        properties: &[Property],
        object: &mut B::Object,
    ) -> Result<usize, Stop<B::Error>> {
        let scanned = string::scan(self.text, self.at, &mut self.scratch).ok_or(Stop::Syntax)?;
        self.at = scanned.end;
        let text = scanned.content(self.text, &self.scratch);
        let (onwards, len) = scanned.onwards(self.text, &self.scratch);
        let word = first_word_of(onwards, len);
        if let Some(at) = self.plan.find_word(rule, properties, word, text) {
            return Ok(at);
        }
        self.other_member(rule, scanned, word, object).map(|()| usize::MAX)
    }

    /// A member whose name a rule does not know; the position is behind the name.
    fn other_member(
        &mut self,
        rule: &ObjectRule,
        scanned: string::Scanned,
        word: u64,
        object: &mut B::Object,
    ) -> Result<(), Stop<B::Error>> {
        let plan = self.plan;
        let text = scanned.content(self.text, &self.scratch);
        let mut node = rule.additional;
        let mut rest: Vec<NodeId> = Vec::new();
        if !rule.patterns.is_empty() {
            let text = std::str::from_utf8(text).map_err(|_| Stop::Syntax)?;
            let mut matched = false;
            for (pattern, found) in &rule.patterns {
                match plan.patterns[*pattern as usize].is_match(text) {
                    Ok(true) if matched => rest.push(*found),
                    Ok(true) => (matched, node) = (true, *found),
                    Ok(false) => {}
                    Err(_) => return Err(Stop::Refused),
                }
            }
        }
        if node == FALSE {
            return Err(Stop::Refused);
        }
        let name = self.builder.name(word, Text::of(text, scanned.ascii).ok_or(Stop::Syntax)?)?;
        self.colon()?;
        if rest.is_empty() {
            let value = self.value(node)?;
            return Ok(self.builder.insert(object, name, value)?);
        }
        let leads = plan.leads_to_default(node) || rest.iter().any(|node| plan.leads_to_default(*node));
        self.open += usize::from(leads);
        let start = self.at;
        let value = self.value(node)?;
        self.judge(leads, start, &value, |checker, value| {
            rest.iter().all(|node| checker.node::<_, false>(*node, value))
        })?;
        Ok(self.builder.insert(object, name, value)?)
    }

    /// A member of an object that the schema leaves free.
    fn free_member(&mut self, object: &mut B::Object) -> Result<(), Stop<B::Error>> {
        let scanned = string::scan(self.text, self.at, &mut self.scratch).ok_or(Stop::Syntax)?;
        self.at = scanned.end;
        let text = scanned.content(self.text, &self.scratch);
        let (onwards, len) = scanned.onwards(self.text, &self.scratch);
        let word = first_word_of(onwards, len);
        let name = self.builder.name(word, Text::of(text, scanned.ascii).ok_or(Stop::Syntax)?)?;
        self.colon()?;
        let value = self.value(TRUE)?;
        Ok(self.builder.insert(object, name, value)?)
    }
}
