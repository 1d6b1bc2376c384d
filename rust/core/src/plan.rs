//! The plan: a schema compiled to flat, immutable tables that every driver runs.
//!
//! A [`Node`] is one schema. Its first two bytes decide most values: the kinds it accepts, and the kinds that need
//! more than their kind. What "more" is stands in one rule per kind (the keywords for objects are one rule, read in
//! one loop over the members) and in a list of [`Check`]s for the keywords that apply other schemas in place.
//! Nothing here refers to the schema document; a place in it is remembered only where an issue must name it.

use crate::formats::Format;
use crate::instance::kinds;
use crate::keywords::Check;
use crate::limits::Limits;
use crate::number::Number;
use crate::schema::dialect::Dialect;
use crate::schema::pattern::Pattern;
use crate::value::Value;

pub use self::strings::{FEW_NAMES, StringSet, first_word, first_word_of, hash_from, same, short_hash};

mod strings;

/// Index of a node in [`Plan::nodes`].
pub type NodeId = u32;
/// The node that accepts everything.
pub const TRUE: NodeId = 0;
/// The node that accepts nothing.
pub const FALSE: NodeId = 1;
/// No rule, pattern or set.
pub const NONE: u32 = u32::MAX;

/// One compiled schema.
#[derive(Clone, Debug)]
pub struct Node {
    /// The kinds it accepts.
    pub types: u8,
    /// The kinds for which a rule or check must be asked too.
    pub more: u8,
    /// The schema resource it belongs to, for dynamic references.
    pub resource: u16,
    /// Rules by kind, or [`NONE`].
    pub string: u32,
    /// See `string`.
    pub number: u32,
    /// See `string`.
    pub array: u32,
    /// See `string`.
    pub object: u32,
    /// First of its checks.
    pub checks: u32,
    /// How many checks it has.
    pub check_count: u32,
    /// The node as written, where this one was merged from several schemas; else itself.
    pub written: NodeId,
}

/// `minLength`, `maxLength`, `pattern`, `format`, `content*` and the strings of `enum` and `const`.
#[derive(Clone, Debug)]
pub struct StringRule {
    /// Least number of code points.
    pub min: usize,
    /// Greatest number of code points.
    pub max: usize,
    /// Into [`Plan::patterns`].
    pub pattern: u32,
    /// Into [`Plan::sets`].
    pub set: u32,
    /// The format, where it is asserted.
    pub format: Option<Format>,
    /// `contentEncoding: base64` and `contentMediaType: application/json`, where asserted.
    pub content: Content,
}

/// What a string must contain, in draft 7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The text is base64.
    pub base64: bool,
    /// The (decoded) text is JSON.
    pub json: bool,
}

/// A limit of a number.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The limit as written.
    pub limit: Number,
    /// Is the limit itself refused?
    pub exclusive: bool,
}

/// Bounds, `multipleOf` and `type: integer`.
#[derive(Clone, Debug)]
pub struct NumberRule {
    /// A zero fractional part is wanted, and floats may have it.
    pub integral: bool,
    /// Smallest machine integer within the bounds.
    pub int_min: i64,
    /// Greatest machine integer within the bounds.
    pub int_max: i64,
    /// `minimum` or `exclusiveMinimum`, the tighter one.
    pub min: Option<Bound>,
    /// `maximum` or `exclusiveMaximum`, the tighter one.
    pub max: Option<Bound>,
    /// `multipleOf`
    pub multiple_of: Option<Number>,
}

/// `items`, `prefixItems`, `additionalItems`, `minItems`, `maxItems`.
#[derive(Clone, Debug)]
pub struct ArrayRule {
    /// Least number of items.
    pub min: usize,
    /// Greatest number of items.
    pub max: usize,
    /// The nodes of the first items.
    pub prefix: Box<[NodeId]>,
    /// The node of the items after those.
    pub rest: NodeId,
    /// Was `rest` written? An array without it leaves the items unevaluated.
    pub has_rest: bool,
    /// The keyword that `rest` was written under, and the one for `prefix`.
    pub words: (&'static str, &'static str),
}

/// One name that an object's keywords mention.
#[derive(Clone, Debug)]
pub struct Property {
    /// The host's handle of the name: of the schema's own key, where it is a key of the schema.
    pub token: usize,
    /// The name's first word: all of it, mostly ([`first_word`]).
    pub word: u64,
    /// The name, in [`Plan::names`].
    pub start: u32,
    /// Its length in bytes.
    pub len: u32,
    /// What the member must satisfy: `properties`, the patterns that match, or `additionalProperties`.
    pub node: NodeId,
    /// The node under `properties` alone, [`NONE`] where the name is only required.
    pub declared: NodeId,
    /// Copy of the node's `types`.
    pub types: u8,
    /// Copy of the node's `more`.
    pub more: u8,
    /// Into [`Plan::defaults`]: the `default` beside the declaration, or [`NONE`].
    pub default: u32,
    /// Is the member required?
    pub required: bool,
    /// The name stands in a JSON text as it is, without escapes.
    pub plain: bool,
}

/// `properties`, `required`, `patternProperties`, `additionalProperties`, `minProperties`, `maxProperties`.
#[derive(Clone, Debug)]
pub struct ObjectRule {
    /// First of its names in [`Plan::properties`].
    pub first: u32,
    /// How many names there are.
    pub count: u32,
    /// How many of them are required.
    pub required: u32,
    /// First slot of its hash table in [`Plan::slots`], [`NONE`] where the names are few.
    pub table: u32,
    /// The table's size less one.
    pub mask: u32,
    /// What a name without property or pattern must satisfy: [`TRUE`], [`FALSE`] or a node.
    pub additional: NodeId,
    /// First of its names with a default in [`Plan::with_default`].
    pub first_default: u32,
    /// How many of them there are.
    pub default_count: u32,
    /// Was `additionalProperties` written? An object without it leaves those members unevaluated.
    pub has_additional: bool,
    /// Least number of members.
    pub min: usize,
    /// Greatest number of members.
    pub max: usize,
    /// `patternProperties`: pattern and node.
    pub patterns: Box<[(u32, NodeId)]>,
}

/// A compiled schema. In this order what most verdicts read lies together: schemas of many tools take turns, and each
/// line of memory is fetched anew.
#[derive(Debug)]
#[repr(C)]
pub struct Plan {
    /// All nodes.
    pub nodes: Box<[Node]>,
    /// Rules for objects.
    pub objects: Box<[ObjectRule]>,
    /// Names of all objects.
    pub properties: Box<[Property]>,
    /// The schema's own node.
    pub root: NodeId,
    /// Every default is reached through declared members and items alone.
    pub plain_defaults: bool,
    /// The schema asks nothing of anything: then a name that stands twice in a text is no issue, the last one wins.
    pub is_free: bool,
    /// Text of all names.
    pub names: Box<str>,
    /// Checks of all nodes.
    pub checks: Box<[Check]>,
    /// Hash tables of all objects: position within the object's names plus one, 0 for empty.
    pub slots: Box<[u32]>,
    /// Limits for the drivers.
    pub limits: Limits,
    /// Nodes of dynamic anchors: resource, anchor, node.
    pub anchors: Box<[(u16, u32, NodeId)]>,
    /// Where the targets of references stand in their document: node and JSON Pointer, sorted by node.
    pub places: Box<[(NodeId, Box<str>)]>,
    /// Rules for arrays.
    pub arrays: Box<[ArrayRule]>,
    /// Rules for strings.
    pub strings: Box<[StringRule]>,
    /// String sets.
    pub sets: Box<[StringSet]>,
    /// Rules for numbers.
    pub numbers: Box<[NumberRule]>,
    /// By node: is there a default somewhere below? Empty where there is none at all.
    pub to_default: Box<[bool]>,
    /// The names of all objects that have a default: position within the object's names.
    pub with_default: Box<[u32]>,
    /// The values of `default`, and for a string the host's handle.
    pub defaults: Box<[(Value, usize)]>,
    /// Patterns.
    pub patterns: Box<[Pattern]>,
    /// The dialect that the schema is written in.
    pub dialect: Dialect,
    /// What the stream driver looks up, made at its first run.
    pub early: std::sync::OnceLock<crate::drivers::stream::Facts>,
}

impl Node {
    /// A node that accepts these kinds and asks nothing else.
    pub fn of_kinds(types: u8) -> Self {
        Self {
            types,
            more: types & kinds::CONTAINER,
            resource: 0,
            string: NONE,
            number: NONE,
            array: NONE,
            object: NONE,
            checks: 0,
            check_count: 0,
            written: NONE,
        }
    }

    /// Does it accept every value?
    pub fn is_free(&self) -> bool {
        self.types == kinds::ANY && self.check_count == 0 && self.has_no_rules()
    }

    /// Has it no rule for any kind?
    pub fn has_no_rules(&self) -> bool {
        [self.string, self.number, self.array, self.object].iter().all(|rule| *rule == NONE)
    }
}

impl ObjectRule {
    /// Has one of the names a default?
    #[inline]
    pub fn has_defaults(&self) -> bool {
        self.default_count > 0
    }
}

impl StringRule {
    /// Is a number of code points within the bounds? It is only asked for where there are some.
    #[inline]
    pub fn has_length(&self, chars: impl FnOnce() -> usize) -> bool {
        (self.min == 0 && self.max == usize::MAX) || (self.min..=self.max).contains(&chars())
    }

    /// Is membership of the set all it asks?
    pub fn is_only_a_set(&self) -> bool {
        self.pattern == NONE && self.format.is_none() && self.content == Content::default()
    }
}

impl Plan {
    /// The plan of the schema `true`.
    pub fn anything(limits: Limits) -> Self {
        Self {
            root: TRUE,
            nodes: Box::new([Node { written: TRUE, ..Node::of_kinds(kinds::ANY) }]),
            strings: Box::default(),
            numbers: Box::default(),
            arrays: Box::default(),
            objects: Box::default(),
            properties: Box::default(),
            slots: Box::default(),
            names: Box::default(),
            checks: Box::default(),
            patterns: Box::default(),
            sets: Box::default(),
            places: Box::default(),
            with_default: Box::default(),
            defaults: Box::default(),
            to_default: Box::default(),
            plain_defaults: true,
            is_free: true,
            anchors: Box::default(),
            dialect: Dialect::of(crate::schema::dialect::Draft::D2020),
            limits,
            early: std::sync::OnceLock::new(),
        }
    }

    /// Asks for the first line of each table that a run reads, all at once: tools take turns, so that their tables are
    /// seldom in the nearest cache, and each of the tables tells where to look in the next.
    #[inline]
    pub fn fetch(&self) {
        let first = (
            self.nodes.get(self.root as usize).map(|node| node.types),
            self.objects.first().map(|rule| rule.first),
            self.properties.first().map(|property| property.start),
            self.names.as_bytes().first(),
        );
        std::hint::black_box(first);
    }

    /// The node of an index.
    #[inline]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// The names of an object rule.
    #[inline]
    pub fn properties_of(&self, rule: &ObjectRule) -> &[Property] {
        &self.properties[rule.first as usize..(rule.first + rule.count) as usize]
    }

    /// The names of an object rule that have a default, each with its position among all.
    #[inline]
    pub fn defaults_of(&self, rule: &ObjectRule) -> impl Iterator<Item = (usize, &Property)> {
        let properties = self.properties_of(rule);
        let first = rule.first_default as usize;
        let positions = &self.with_default[first..first + rule.default_count as usize];
        positions.iter().map(move |at| (*at as usize, &properties[*at as usize]))
    }

    /// The text of a name.
    #[inline]
    pub fn name(&self, property: &Property) -> &str {
        &self.names[property.start as usize..(property.start + property.len) as usize]
    }

    /// The bytes of a name: a slice of bytes is cut without a look at them.
    #[inline]
    pub fn name_bytes(&self, property: &Property) -> &[u8] {
        &self.names.as_bytes()[property.start as usize..(property.start + property.len) as usize]
    }

    /// The checks of a node.
    #[inline]
    pub fn checks_of(&self, node: &Node) -> &[Check] {
        &self.checks[node.checks as usize..(node.checks + node.check_count) as usize]
    }

    /// Is a text, whose first word is known, the name of a property?
    #[inline]
    pub fn is_name(&self, property: &Property, word: u64, text: &[u8]) -> bool {
        property.word == word
            && property.len as usize == text.len()
            && (text.len() <= size_of::<u64>() || same(self.name_bytes(property), text))
    }

    /// Position among `properties_of(rule)` of the name with this text.
    #[inline]
    pub fn find_name(&self, rule: &ObjectRule, properties: &[Property], text: &[u8]) -> Option<usize> {
        self.find_word(rule, properties, first_word(text), text)
    }

    /// The same of a text whose first word is known.
    #[inline]
    pub fn find_word(
        &self,
        rule: &ObjectRule,
        properties: &[Property],
        word: u64,
        text: &[u8],
    ) -> Option<usize> {
        if properties.is_empty() {
            return None;
        }
        let is = |property: &Property| self.is_name(property, word, text);
        if rule.table == NONE {
            return properties.iter().position(is);
        }
        let mut at = hash_from(word, text) & rule.mask;
        loop {
            let slot = self.slots[(rule.table + at) as usize] as usize;
            if slot == 0 {
                return None;
            }
            if is(&properties[slot - 1]) {
                return Some(slot - 1);
            }
            at = (at + 1) & rule.mask;
        }
    }

    /// The JSON Pointer of a reference's target in its document.
    pub fn place_of(&self, node: NodeId) -> Option<&str> {
        let at = self.places.binary_search_by_key(&node, |(id, _)| *id).ok()?;
        Some(&self.places[at].1)
    }

    /// May a value of this node be given a default somewhere?
    pub fn leads_to_default(&self, node: NodeId) -> bool {
        self.to_default.get(node as usize).copied().unwrap_or(false)
    }

    /// Memory of the plan in bytes, the structure itself included.
    pub fn size(&self) -> usize {
        fn of<T>(items: &[T]) -> usize {
            size_of_val(items)
        }
        let inner = self.arrays.iter().map(|rule| of(&rule.prefix)).sum::<usize>()
            + self.objects.iter().map(|rule| of(&rule.patterns)).sum::<usize>()
            + self.checks.iter().map(Check::heap_size).sum::<usize>()
            + self.sets.iter().map(StringSet::heap_size).sum::<usize>()
            + self.places.iter().map(|(_, place)| place.len()).sum::<usize>()
            + self.defaults.iter().map(|(value, _)| value.heap_size()).sum::<usize>();
        size_of::<Self>()
            + inner
            + of(&self.nodes)
            + of(&self.strings)
            + of(&self.numbers)
            + of(&self.arrays)
            + of(&self.objects)
            + of(&self.properties)
            + of(&self.slots)
            + self.names.len()
            + of(&self.checks)
            + of(&self.patterns)
            + of(&self.sets)
            + of(&self.places)
            + of(&self.with_default)
            + of(&self.defaults)
            + of(&self.to_default)
            + of(&self.anchors)
    }
}
