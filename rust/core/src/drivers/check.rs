//! The verdict on an instance: yes or no, nothing else. No path, no message, no allocation on the way.
//!
//! There are two verdicts. [`is_valid`] looks where the schema looks. [`is_valid_data`] looks at every value, also where
//! the schema leaves it free, since data that is not JSON may hide there; it is the one that calls and `validate` ask. A
//! value is walked once: the outermost node that sees it walks (`WALK`), the schemas that apply to the same value in
//! place do not walk again.

use std::cell::Cell;

use super::memory::Memo;
use crate::instance::{Instance, Key, Kind, kinds};
use crate::plan::{
    ArrayRule, FALSE, NONE, Node, NodeId, NumberRule, ObjectRule, Plan, Property, StringRule, TRUE,
};

/// Nested applications of schemas, in place or into the value, beyond which a value is refused. Bounds the native
/// stack where references form long chains.
const MOST_LEVELS: usize = 2_000;
/// Schemas applied in place after which verdicts are remembered, so that shared schemas cost linear time.
const MEMO_AFTER: usize = 2_000;
/// The same for each item and member that was walked: data of any size may ask for that much without a memory.
const MEMO_AFTER_EACH: usize = 8;

/// The objects of a valid value, by identity, each with a rule that applies to it and has defaults. The rule of an
/// object's own schema comes before those of schemas that apply in place, and those in the order of the schema.
#[derive(Debug, Default)]
pub struct Trail {
    /// Identities, and indices into [`Plan::objects`].
    pub found: Vec<(usize, u32)>,
    /// Verdicts were remembered, so that some may be missing.
    pub lost: bool,
}

/// A run of a plan over one instance.
pub struct Checker<'p> {
    /// The plan.
    pub plan: &'p Plan,
    depth: usize,
    levels: usize,
    /// Resources entered, for dynamic references.
    pub(crate) scope: Vec<u16>,
    /// Schemas applied in place so far, and how many may be before verdicts are remembered.
    pub(super) applied: usize,
    pub(super) allowance: usize,
    pub(super) memo: Option<Box<Memo>>,
    /// Where defaults may be filled in, while somebody asks for it.
    pub(super) trail: Option<Box<Trail>>,
    /// The object whose keys were last seen to be strings, by identity; 0 for none.
    pub(super) named: usize,
    /// A limit that was passed, after which no verdict counts: under `not` a refusal would turn into consent.
    exceeded: Cell<Option<Exceeded>>,
}

/// The limits that stop a run at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exceeded {
    /// Nested applications of schemas.
    Levels,
    /// Steps of a pattern.
    Steps,
}

/// Names that are looked up one by one in an open object; a host may walk it for each.
const FEW_ASKED: usize = 8;

/// Does the plan accept the instance, as far as the schema looks? A schema that looks at nothing looks at everything.
pub fn is_valid<'a, I: Instance<'a>>(plan: &Plan, value: I) -> bool {
    if plan.is_free {
        return is_valid_data(plan, value);
    }
    plan.fetch();
    let root = plan.node(plan.root);
    // The names of the value itself belong to its kind: an object with other keys is no JSON object.
    let named = root.object != NONE || value.kind() != Kind::Object || value.members(|_, _| true);
    let mut run = Checker::new(plan, 0);
    named && run.node::<I, false>(plan.root, value) && run.exceeded().is_none()
}

/// Does the plan accept the instance, and is all of it JSON data of bounded depth?
pub fn is_valid_data<'a, I: Instance<'a>>(plan: &Plan, value: I) -> bool {
    let mut run = Checker::new(plan, 0);
    run.node::<I, true>(plan.root, value) && run.exceeded().is_none()
}

impl<'p> Checker<'p> {
    /// A run that starts `depth` levels inside the instance.
    pub fn new(plan: &'p Plan, depth: usize) -> Self {
        Self {
            plan,
            depth,
            levels: 0,
            scope: Vec::new(),
            applied: 0,
            allowance: MEMO_AFTER,
            memo: None,
            trail: None,
            named: 0,
            exceeded: Cell::new(None),
        }
    }

    /// So many nested applications of schemas led to the value.
    pub(super) fn at_level(mut self, levels: usize) -> Self {
        self.levels = levels;
        self
    }

    /// Notes where defaults may be filled in. `values` is about how many there are: so many may be asked before
    /// verdicts are remembered.
    pub(crate) fn with_trail(mut self, values: usize) -> Self {
        self.allowance += MEMO_AFTER_EACH * values;
        self.trail = Some(Box::default());
        self
    }

    /// What was noted of a value that was accepted.
    pub(crate) fn into_trail(self) -> Trail {
        self.trail.map(|trail| *trail).unwrap_or_default()
    }

    /// Does the node accept the value?
    #[inline]
    pub fn node<'a, I: Instance<'a>, const WALK: bool>(&mut self, id: NodeId, value: I) -> bool {
        let node = self.plan.node(id);
        let kind = value.kind();
        if node.types & kind.bit() == 0 {
            return false;
        }
        node.more & kind.bit() == 0 || self.more::<I, WALK>(id, kind, value)
    }

    /// The same, and is all of the value JSON data of bounded depth? It lies `depth` levels inside the instance.
    pub(crate) fn whole<'a, I: Instance<'a>>(&mut self, id: NodeId, value: I, depth: usize) -> bool {
        let outer = std::mem::replace(&mut self.depth, depth);
        let verdict = self.node::<I, true>(id, value);
        self.depth = outer;
        verdict
    }

    /// The same, where kinds were compared already.
    #[inline]
    fn more<'a, I: Instance<'a>, const WALK: bool>(&mut self, id: NodeId, kind: Kind, value: I) -> bool {
        match kind {
            Kind::Object => self.container::<I, WALK, true>(id, value),
            Kind::Array if self.plan.node(id).more & kinds::FLAT != 0 => self.flat::<I, WALK>(id, value),
            Kind::Array => self.container::<I, WALK, false>(id, value),
            _ => {
                let node = self.plan.node(id);
                self.leaf(node, kind, value) && (node.check_count == 0 || self.more_checks(node, kind, value))
            }
        }
    }

    /// The rule of a value without parts.
    fn leaf<'a, I: Instance<'a>>(&self, node: &Node, kind: Kind, value: I) -> bool {
        match kind {
            Kind::String => {
                node.string == NONE || self.string(&self.plan.strings[node.string as usize], value)
            }
            Kind::Integer | Kind::Float => {
                node.number == NONE || number(&self.plan.numbers[node.number as usize], value)
            }
            _ => true,
        }
    }

    /// The keywords in place of a value without parts.
    fn more_checks<'a, I: Instance<'a>>(&mut self, node: &Node, kind: Kind, value: I) -> bool {
        self.level(node, |run| run.checks(node, kind, value))
    }

    /// One application of a schema more.
    #[inline]
    fn level(&mut self, node: &Node, verdict: impl FnOnce(&mut Self) -> bool) -> bool {
        if self.levels >= MOST_LEVELS {
            self.exceeded.set(Some(Exceeded::Levels));
            return false;
        }
        self.levels += 1;
        let entered = self.enter(node);
        let verdict = verdict(self);
        if entered {
            self.scope.pop();
        }
        self.levels -= 1;
        verdict
    }

    /// Enters the node's resource, where dynamic references need to know (2020-12 Core 7.1).
    #[inline]
    pub(crate) fn enter(&mut self, node: &Node) -> bool {
        if self.plan.anchors.is_empty() || self.scope.last() == Some(&node.resource) {
            return false;
        }
        self.scope.push(node.resource);
        true
    }

    /// An array of a node that is [`kinds::FLAT`].
    #[inline(never)]
    fn flat<'a, I: Instance<'a>, const WALK: bool>(&mut self, id: NodeId, value: I) -> bool {
        let node = self.plan.node(id);
        let rule = &self.plan.arrays[node.array as usize];
        let types = self.plan.node(rule.rest).types;
        let len = value.item_count();
        self.level(node, |run| {
            if WALK {
                run.allowance += MEMO_AFTER_EACH * (len + 1);
            }
            run.depth < run.plan.limits.depth
                && (rule.min..=rule.max).contains(&len)
                && value.items(|_, item| types & item.kind().bit() != 0)
        })
    }

    #[inline(never)]
    fn container<'a, I: Instance<'a>, const WALK: bool, const OBJECT: bool>(
        &mut self,
        id: NodeId,
        value: I,
    ) -> bool {
        let node = self.plan.node(id);
        self.level(node, |run| run.ruled::<I, WALK, OBJECT>(node, value))
    }

    #[inline]
    fn ruled<'a, I: Instance<'a>, const WALK: bool, const OBJECT: bool>(
        &mut self,
        node: &Node,
        value: I,
    ) -> bool {
        if self.depth >= self.plan.limits.depth {
            return false;
        }
        let (kind, rule) = if OBJECT { (Kind::Object, node.object) } else { (Kind::Array, node.array) };
        let len = if OBJECT { value.member_count() } else { value.item_count() };
        if WALK {
            self.allowance += MEMO_AFTER_EACH * (len + 1);
        }
        if rule == NONE {
            if node.check_count == 1
                && let Some(sole) = self.plan.checks[node.checks as usize].rule.sole(kind)
            {
                return self.node::<I, WALK>(sole, value);
            }
            return (!WALK || self.walk(value)) && self.checks(node, kind, value);
        }
        self.depth += 1;
        let verdict = if OBJECT {
            self.object::<I, WALK>(&self.plan.objects[rule as usize], len, value)
        } else {
            self.array::<I, WALK>(&self.plan.arrays[rule as usize], len, value)
        };
        self.depth -= 1;
        if OBJECT
            && let Some(trail) = &mut self.trail
            && self.plan.objects[rule as usize].has_defaults()
        {
            trail.found.push((value.identity(), rule));
        }
        verdict && self.checks(node, kind, value)
    }

    /// Is the value JSON data of bounded depth? `value` is a container; the schema asks nothing of it.
    fn walk<'a, I: Instance<'a>>(&mut self, value: I) -> bool {
        if self.depth >= self.plan.limits.depth {
            return false;
        }
        self.depth += 1;
        let verdict = match value.kind() {
            Kind::Array => value.items(|_, item| self.free(item)),
            Kind::Object => value.members(|_, item| self.free(item)),
            Kind::Foreign => false,
            _ => true,
        };
        self.depth -= 1;
        verdict
    }

    #[inline]
    fn free<'a, I: Instance<'a>>(&mut self, value: I) -> bool {
        let kind = value.kind();
        if kind.bit() & kinds::CONTAINER != 0 { self.walk(value) } else { kind != Kind::Foreign }
    }

    #[inline]
    fn object<'a, I: Instance<'a>, const WALK: bool>(
        &mut self,
        rule: &'p ObjectRule,
        len: usize,
        value: I,
    ) -> bool {
        let plan = self.plan;
        let properties = plan.properties_of(rule);
        if len < rule.required as usize || len < rule.min || len > rule.max {
            return false;
        }
        if !WALK
            && rule.additional == TRUE
            && rule.patterns.is_empty()
            && properties.len() <= FEW_ASKED
            && properties.len() * 2 < len
        {
            return self.ask_names(properties, value) && self.has_names(value);
        }
        let mut next = 0;
        let mut required = 0;
        value.entries(|key, item| {
            let found = match properties.get(next) {
                Some(property) if key.token() == property.token => Some(next),
                None if properties.is_empty() => {
                    if key.plain_text().is_none() {
                        return false;
                    }
                    None
                }
                expected => {
                    let Some((word, text)) = key.name() else { return false };
                    match expected {
                        Some(property) if plan.is_name(property, word, text) => Some(next),
                        _ => plan.find_word(rule, properties, word, text),
                    }
                }
            };
            let Some(at) = found else { return self.unnamed::<I, WALK>(rule, key, item) };
            next = at + 1;
            let property = &properties[at];
            required += u32::from(property.required);
            let kind = item.kind();
            if property.types & kind.bit() == 0 {
                return false;
            }
            property.more & kind.bit() == 0 || self.more::<I, WALK>(property.node, kind, item)
        }) && required == rule.required
    }

    /// Are all keys of an object strings? Other keys make it no JSON object, however few of its names are asked for. Many
    /// schemas may apply to one object, so the last answer is kept.
    fn has_names<'a, I: Instance<'a>>(&mut self, value: I) -> bool {
        if self.named == value.identity() {
            return true;
        }
        let verdict = value.members(|_, _| true);
        if verdict {
            self.named = value.identity();
        }
        verdict
    }

    /// Asks an open object for the few names that the schema mentions.
    fn ask_names<'a, I: Instance<'a>>(&mut self, properties: &[Property], value: I) -> bool {
        properties.iter().all(|property| match value.member(property.token, self.plan.name(property)) {
            Some(item) => self.node::<I, false>(property.node, item),
            None => !property.required,
        })
    }

    /// A member without a name of its own in the schema: patterns, then `additionalProperties`.
    #[inline]
    fn unnamed<'a, I: Instance<'a>, const WALK: bool>(
        &mut self,
        rule: &'p ObjectRule,
        key: I::Key,
        item: I,
    ) -> bool {
        if !rule.patterns.is_empty()
            && let Some(verdict) = self.patterned::<I, WALK>(rule, key, item)
        {
            return verdict;
        }
        match rule.additional {
            TRUE => !WALK || self.free(item),
            FALSE => false,
            node => self.node::<I, WALK>(node, item),
        }
    }

    /// A member under `patternProperties`; None where no pattern matches its name.
    #[inline(never)]
    fn patterned<'a, I: Instance<'a>, const WALK: bool>(
        &mut self,
        rule: &'p ObjectRule,
        key: I::Key,
        item: I,
    ) -> Option<bool> {
        let mut verdict = None;
        for (pattern, node) in &rule.patterns {
            match self.plan.patterns[*pattern as usize].is_match(key.text()) {
                Ok(true) if self.node::<I, WALK>(*node, item) => verdict = Some(true),
                Ok(true) => return Some(false),
                Ok(false) => {}
                Err(_) => {
                    self.exceeded.set(Some(Exceeded::Steps));
                    return Some(false);
                }
            }
        }
        verdict
    }

    #[inline]
    fn array<'a, I: Instance<'a>, const WALK: bool>(
        &mut self,
        rule: &'p ArrayRule,
        len: usize,
        value: I,
    ) -> bool {
        if len < rule.min || len > rule.max {
            return false;
        }
        let rest = self.plan.node(rule.rest);
        if !rule.prefix.is_empty() {
            return value.items(|index, item| {
                let node = rule.prefix.get(index).copied().unwrap_or(rule.rest);
                self.node::<I, WALK>(node, item)
            });
        }
        if rule.rest == TRUE && !WALK {
            return true;
        }
        let (types, more) = (rest.types, rest.more);
        value.items(|_, item| {
            let kind = item.kind();
            if types & kind.bit() == 0 {
                return false;
            }
            more & kind.bit() == 0 || self.more::<I, WALK>(rule.rest, kind, item)
        })
    }

    fn string<'a, I: Instance<'a>>(&self, rule: &StringRule, value: I) -> bool {
        let is_member = || {
            let (word, text) = value.word();
            self.plan.sets[rule.set as usize].find_word(word, text).is_some()
        };
        rule.has_length(|| value.chars())
            && (rule.set == NONE || is_member())
            && (rule.is_only_a_set() || self.beside_set(rule, value.text()))
    }

    /// Does the node accept a string that is no value of its own? None where it asks for more than a rule for strings.
    pub(crate) fn name(&self, id: NodeId, text: &str) -> Option<bool> {
        let node = self.plan.node(id);
        if node.types & kinds::STRING == 0 || node.more & kinds::STRING == 0 {
            return Some(node.types & kinds::STRING != 0);
        }
        if node.check_count > 0 {
            return None;
        }
        let rule = self.plan.strings.get(node.string as usize)?;
        Some(rule.has_length(|| text.chars().count()) && self.text(rule, text))
    }

    /// What a string rule asks of the text beside its length.
    #[inline]
    pub(crate) fn text(&self, rule: &StringRule, text: &str) -> bool {
        (rule.set == NONE || self.plan.sets[rule.set as usize].find(text.as_bytes()).is_some())
            && self.beside_set(rule, text)
    }

    /// What it asks of the text beside its length and the set.
    #[inline]
    fn beside_set(&self, rule: &StringRule, text: &str) -> bool {
        (rule.pattern == NONE
            || self.plan.patterns[rule.pattern as usize].is_match(text).unwrap_or_else(|_| {
                self.exceeded.set(Some(Exceeded::Steps));
                false
            }))
            && rule.format.is_none_or(|format| format.is_valid(text))
            && crate::keywords::content::is_valid(rule.content, text)
    }

    /// The keywords that apply other schemas to the same value.
    #[inline]
    fn checks<'a, I: Instance<'a>>(&mut self, node: &Node, kind: Kind, value: I) -> bool {
        if node.check_count == 0 {
            return true;
        }
        let plan = self.plan;
        plan.checks_of(node)
            .iter()
            .all(|check| check.kinds & kind.bit() == 0 || check.rule.check(self, value))
    }

    /// Only the keywords of a node that apply in place; its rules are known to accept the value.
    pub(crate) fn keywords_in_place<'a, I: Instance<'a>>(&mut self, node: &Node, value: I) -> bool {
        self.level(node, |run| run.checks(node, value.kind(), value)) && self.exceeded().is_none()
    }

    /// The limit that was passed, if one was: then the verdict is no, whatever was said.
    pub(crate) fn exceeded(&self) -> Option<Exceeded> {
        self.exceeded.get()
    }

    /// Is the value JSON data within the depth limit?
    pub(crate) fn is_bounded<'a, I: Instance<'a>>(&mut self, value: I) -> bool {
        self.free(value)
    }

    /// A level deeper into the value, for checks that descend themselves.
    pub(crate) fn deeper<R>(&mut self, visit: impl FnOnce(&mut Self) -> R) -> Option<R> {
        if self.depth >= self.plan.limits.depth {
            return None;
        }
        self.depth += 1;
        let result = visit(self);
        self.depth -= 1;
        Some(result)
    }
}

#[inline]
fn number<'a, I: Instance<'a>>(rule: &NumberRule, value: I) -> bool {
    match value.integer() {
        Some(int) => is_int_within(rule, int),
        None => is_number_within(rule, &value.number()),
    }
}

/// Does a number rule accept a machine integer?
#[inline]
pub(crate) fn is_int_within(rule: &NumberRule, int: i64) -> bool {
    (rule.int_min..=rule.int_max).contains(&int)
        && rule.multiple_of.as_ref().is_none_or(|step| crate::number::Number::Int(int).is_multiple_of(step))
}

/// Does a number rule accept any other number?
pub(crate) fn is_number_within(rule: &NumberRule, number: &crate::number::Number) -> bool {
    use std::cmp::Ordering;
    let above = |bound: &crate::plan::Bound| match number.compare(&bound.limit) {
        Ordering::Greater => true,
        Ordering::Equal => !bound.exclusive,
        Ordering::Less => false,
    };
    let below = |bound: &crate::plan::Bound| match number.compare(&bound.limit) {
        Ordering::Less => true,
        Ordering::Equal => !bound.exclusive,
        Ordering::Greater => false,
    };
    !number.is_beyond()
        && (!rule.integral || number.is_integer())
        && rule.min.as_ref().is_none_or(above)
        && rule.max.as_ref().is_none_or(below)
        && rule.multiple_of.as_ref().is_none_or(|step| number.is_multiple_of(step))
}
