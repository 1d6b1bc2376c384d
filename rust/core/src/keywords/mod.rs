//! The registry of keywords. A keyword has one file: how it is compiled, what it checks, what it says when it fails.
//!
//! Keywords that look at one kind of value (`minLength`, `required`, ...) write into that kind's rule, which a driver
//! reads in one go. Keywords that apply other schemas to the same value, or compare it whole, are a [`Rule`] of their
//! own. To add a keyword: its file, its row below, and for a `Rule` a row in the second table.

pub mod all_of;
pub mod any_of;
pub mod bounds;
pub mod const_;
pub mod contains;
pub mod content;
pub mod definitions;
pub mod dependent;
pub mod dynamic_ref;
pub mod enum_;
pub mod format;
pub mod identifiers;
pub mod if_;
pub mod item_count;
pub mod items;
pub mod length;
pub mod multiple_of;
pub mod not;
pub mod one_of;
pub mod pattern;
pub mod properties;
pub mod property_count;
pub mod property_names;
pub mod ref_;
pub mod required;
pub mod type_;
pub mod unevaluated;
pub mod unique_items;

use crate::drivers::check::Checker;
use crate::drivers::evaluated::Evaluated;
use crate::drivers::explain::{At, Explainer};
use crate::instance::{Instance, kinds};
use crate::plan::{Node, NodeId};
use crate::schema::SchemaError;
use crate::schema::branches::Branches;
use crate::schema::compile::{Compiler, Host, Scope};
use crate::schema::dialect::Draft::{D4, D6, D7, D2019, D2020, V1};
use crate::schema::dialect::Vocabulary::{self, Applicator, Content, Core, Format, Unevaluated, Validation};
use crate::schema::dialect::{Dialect, Draft as DraftName};
use crate::schema::draft::Draft;
use crate::schema::tables::Tables;

/// Where a keyword's value holds subschemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subschemas {
    /// Nowhere.
    None,
    /// It is one.
    One,
    /// It is a list of them.
    List,
    /// It is one, or a list of them.
    OneOrList,
    /// Its members are.
    Map,
}
use Subschemas::{List, Map, None as No, One, OneOrList};

macro_rules! keywords {
    ($($variant:ident $name:literal $vocabulary:ident $from:ident $to:ident $sub:ident $compile:path;)*) => {
        /// A keyword, in the order in which a schema's keywords are compiled.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Keyword {
            $(#[doc = $name] $variant,)*
        }

        impl Keyword {
            const ALL: &'static [Self] = &[$(Self::$variant),*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The keyword's name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The keyword of that name.
            pub fn lookup(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            /// Where its value holds subschemas.
            pub fn subschemas(self) -> Subschemas {
                match self { $(Self::$variant => $sub),* }
            }

            fn row(self) -> (Vocabulary, DraftName, DraftName) {
                match self { $(Self::$variant => ($vocabulary, $from, $to)),* }
            }
        }

        /// Compiles a keyword's value into the draft of its schema.
        ///
        /// # Errors
        /// When the value is malformed.
        pub fn compile<'a, H: Host<'a>>(
            keyword: Keyword,
            compiler: &mut Compiler<'_, 'a, H>,
            scope: &Scope<'_, H::Instance>,
            draft: &mut Draft,
            value: H::Instance,
        ) -> Result<(), SchemaError> {
            match keyword { $(Keyword::$variant => $compile(compiler, scope, draft, value)),* }
        }
    };
}

keywords! {
    // variant              name                    vocabulary  from   to    subschemas  compiled by
    Definitions             "definitions"           Core        D4     V1    Map         definitions::compile;
    Defs                    "$defs"                 Core        D2019  V1    Map         definitions::compile;
    Id                      "$id"                   Core        D6     V1    No          identifiers::id;
    OldId                   "id"                    Core        D4     D4    No          identifiers::id;
    Anchor                  "$anchor"               Core        D2019  V1    No          identifiers::anchor;
    DynamicAnchor           "$dynamicAnchor"        Core        D2020  V1    No          identifiers::anchor;
    RecursiveAnchor         "$recursiveAnchor"      Core        D2019  D2019 No          identifiers::recursive_anchor;
    Type                    "type"                  Validation  D4     V1    No          type_::compile;
    Const                   "const"                 Validation  D6     V1    No          const_::compile;
    Enum                    "enum"                  Validation  D4     V1    No          enum_::compile;
    MultipleOf              "multipleOf"            Validation  D4     V1    No          multiple_of::compile;
    Minimum                 "minimum"               Validation  D4     V1    No          bounds::minimum;
    ExclusiveMinimum        "exclusiveMinimum"      Validation  D4     V1    No          bounds::exclusive_minimum;
    Maximum                 "maximum"               Validation  D4     V1    No          bounds::maximum;
    ExclusiveMaximum        "exclusiveMaximum"      Validation  D4     V1    No          bounds::exclusive_maximum;
    MinLength               "minLength"             Validation  D4     V1    No          length::min_length;
    MaxLength               "maxLength"             Validation  D4     V1    No          length::max_length;
    Pattern                 "pattern"               Validation  D4     V1    No          pattern::compile;
    Format                  "format"                Format      D4     V1    No          format::compile;
    ContentEncoding         "contentEncoding"       Content     D7     V1    No          content::encoding;
    ContentMediaType        "contentMediaType"      Content     D7     V1    No          content::media_type;
    ContentSchema           "contentSchema"         Content     D2019  V1    One         content::schema;
    PrefixItems             "prefixItems"           Applicator  D2020  V1    List        items::prefix_items;
    Items                   "items"                 Applicator  D4     V1    OneOrList   items::items;
    AdditionalItems         "additionalItems"       Applicator  D4     D2019 One         items::additional_items;
    MinItems                "minItems"              Validation  D4     V1    No          item_count::min_items;
    MaxItems                "maxItems"              Validation  D4     V1    No          item_count::max_items;
    UniqueItems             "uniqueItems"           Validation  D4     V1    No          unique_items::compile;
    Contains                "contains"              Applicator  D6     V1    One         contains::compile;
    MinContains             "minContains"           Validation  D2019  V1    No          contains::count;
    MaxContains             "maxContains"           Validation  D2019  V1    No          contains::count;
    Properties              "properties"            Applicator  D4     V1    Map         properties::properties;
    Required                "required"              Validation  D4     V1    No          required::compile;
    PatternProperties       "patternProperties"     Applicator  D4     V1    Map         properties::pattern_properties;
    AdditionalProperties    "additionalProperties"  Applicator  D4     V1    One         properties::additional_properties;
    MinProperties           "minProperties"         Validation  D4     V1    No          property_count::min_properties;
    MaxProperties           "maxProperties"         Validation  D4     V1    No          property_count::max_properties;
    PropertyNames           "propertyNames"         Applicator  D6     V1    One         property_names::compile;
    DependentRequired       "dependentRequired"     Validation  D2019  V1    No          dependent::required;
    DependentSchemas        "dependentSchemas"      Applicator  D2019  V1    Map         dependent::schemas;
    Dependencies            "dependencies"          Applicator  D4     V1    Map         dependent::dependencies;
    Ref                     "$ref"                  Core        D4     V1    No          ref_::compile;
    DynamicRef              "$dynamicRef"           Core        D2020  V1    No          dynamic_ref::compile;
    RecursiveRef            "$recursiveRef"         Core        D2019  D2019 No          dynamic_ref::recursive;
    AllOf                   "allOf"                 Applicator  D4     V1    List        all_of::compile;
    AnyOf                   "anyOf"                 Applicator  D4     V1    List        any_of::compile;
    OneOf                   "oneOf"                 Applicator  D4     V1    List        one_of::compile;
    Not                     "not"                   Applicator  D4     V1    One         not::compile;
    If                      "if"                    Applicator  D7     V1    One         if_::compile;
    Then                    "then"                  Applicator  D7     V1    One         if_::branch;
    Else                    "else"                  Applicator  D7     V1    One         if_::branch;
    UnevaluatedItems        "unevaluatedItems"      Unevaluated D2019  V1    One         unevaluated::items;
    UnevaluatedProperties   "unevaluatedProperties" Unevaluated D2019  V1    One         unevaluated::properties;
}

impl Keyword {
    /// The keyword of a bit in the set of a schema's keywords.
    pub fn from_bit(bit: u32) -> Self {
        Self::ALL[bit as usize]
    }

    /// Has the dialect the keyword?
    pub fn is_in(self, dialect: Dialect) -> bool {
        let (vocabulary, from, to) = self.row();
        dialect.draft >= from && dialect.draft <= to && dialect.has(vocabulary)
    }
}

/// The keywords that assert or apply something, as a set of bits: all but identifiers and definitions.
pub fn asserting() -> u64 {
    const SILENT: u64 = (1 << Keyword::Definitions as u8)
        | (1 << Keyword::Defs as u8)
        | (1 << Keyword::Id as u8)
        | (1 << Keyword::OldId as u8)
        | (1 << Keyword::Anchor as u8)
        | (1 << Keyword::DynamicAnchor as u8)
        | (1 << Keyword::RecursiveAnchor as u8);
    !SILENT
}

/// A keyword with a rule of its own, for a node.
#[derive(Clone, Debug)]
pub struct Check {
    /// The kinds of value that it looks at.
    pub kinds: u8,
    /// The keyword.
    pub keyword: Keyword,
    /// What it checks.
    pub rule: Rule,
}

impl Check {
    /// Memory behind the check.
    pub fn heap_size(&self) -> usize {
        self.rule.heap_size()
    }
}

/// How a keyword is followed while its value arrives.
#[derive(Clone, Debug)]
pub enum Early<'r> {
    /// All of these schemas must accept the value.
    Every(&'r [NodeId]),
    /// The target depends on the resources entered.
    Dynamic(&'r dynamic_ref::DynamicRef),
    /// One at least must accept it.
    Any(&'r [NodeId]),
    /// Exactly one must accept it.
    One(&'r [NodeId]),
    /// It must refuse it.
    Not(NodeId),
    /// Condition, then, else.
    If([NodeId; 3]),
    /// So many items must satisfy the schema.
    Contains(NodeId, std::ops::RangeInclusive<usize>),
    /// No two items are equal.
    Unique,
    /// Each name, as a string, must satisfy the schema.
    Names(NodeId),
    /// Where the name is present, the schema must accept the object.
    Rows(&'r [(Box<str>, NodeId)]),
    /// Where the name is present, the others must be.
    Needs(&'r [dependent::Needed]),
    /// The value equals one of these.
    Literals(&'r [crate::value::Value]),
    /// Known only when the whole value is there.
    Whole,
}

/// What a keyword with its own rule does. The defaults suit an assertion that applies no schema, and a choice of branches.
///
/// The dispatch lies on the native stack once for each level of the data. So whatever needs room of its own there is kept out of
/// it (`inline(never)`): every `explain`, and the `check` of keywords that do more than apply schemas.
pub trait Behaviour {
    /// The verdict.
    fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool;
    /// Lists issues of a value that `check` refused.
    fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I);
    /// Marks the members and items of a valid value that this keyword evaluated (2020-12 Core 7.7).
    fn evaluated<'a, I: Instance<'a>>(&self, found: &mut Evaluated<'_, '_>, value: I) {
        if let Some(branches) = self.branches() {
            branches.evaluated(found, value);
        }
    }
    /// The branches, if the keyword is a choice of some.
    #[inline]
    fn branches(&self) -> Option<&Branches> {
        None
    }
    /// The same, to sort them.
    fn branches_mut(&mut self) -> Option<&mut Branches> {
        None
    }
    /// The schemas that apply to the same value.
    fn in_place(&self, visit: &mut dyn FnMut(NodeId)) {
        if let Some(branches) = self.branches() {
            branches.nodes.iter().for_each(|branch| visit(*branch));
        }
    }
    /// The schemas that apply to the same value whenever the value is valid: where defaults are looked for.
    fn applied<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I, visit: &mut dyn FnMut(NodeId)) {
        if let Some(branches) = self.branches() {
            branches.applied(run, value, visit);
        }
    }
    /// The one schema that a value of this kind must satisfy, where that is all the keyword asks.
    #[inline]
    fn sole(&self, kind: crate::instance::Kind) -> Option<NodeId> {
        self.branches().and_then(|branches| branches.sole(kind))
    }
    /// Learns the node that it belongs to.
    fn bind(&mut self, _node: NodeId) {}
    /// Drops schemas that were merged into the node (sorted); false where nothing is left.
    fn without(&mut self, _merged: &[NodeId]) -> bool {
        true
    }
    /// May it be copied to another node?
    fn is_portable(&self) -> bool {
        true
    }
    /// Sorts its branches by the kinds and constants they accept, once all nodes are known.
    fn sort_branches(&mut self, tables: &Tables) {
        if let Some(branches) = self.branches_mut() {
            branches.sort(tables);
        }
    }
    /// The kinds that it can accept.
    fn accepted_kinds(&self, nodes: &[Node]) -> u8 {
        self.branches().map_or(kinds::ANY, |branches| branches.accepted_kinds(nodes))
    }
    /// How it is followed while the value arrives.
    fn early(&self) -> Early<'_> {
        Early::Whole
    }
    /// Memory behind the rule.
    fn heap_size(&self) -> usize {
        self.branches().map_or(0, Branches::heap_size)
    }
}

macro_rules! rules {
    ($($variant:ident($inner:path);)*) => {
        /// The rule of a keyword, or of a mirror pair.
        #[derive(Clone, Debug)]
        pub enum Rule { $(#[doc = stringify!($variant)] $variant($inner),)* }

        impl Rule {
            /// See [`Behaviour`].
            #[inline]
            pub fn check<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I) -> bool {
                match self { $(Self::$variant(rule) => rule.check(run, value)),* }
            }
            /// See [`Behaviour`].
            pub fn explain<'a, I: Instance<'a>>(&self, run: &mut Explainer<'_, I>, at: &At<'_>, value: I) {
                match self { $(Self::$variant(rule) => rule.explain(run, at, value)),* }
            }
            /// See [`Behaviour`].
            pub fn evaluated<'a, I: Instance<'a>>(&self, found: &mut Evaluated<'_, '_>, value: I) {
                match self { $(Self::$variant(rule) => rule.evaluated(found, value)),* }
            }
            /// See [`Behaviour`].
            pub fn in_place(&self, visit: &mut dyn FnMut(NodeId)) {
                match self { $(Self::$variant(rule) => rule.in_place(visit)),* }
            }
            /// See [`Behaviour`].
            pub fn applied<'a, I: Instance<'a>>(&self, run: &mut Checker<'_>, value: I, visit: &mut dyn FnMut(NodeId)) {
                match self { $(Self::$variant(rule) => rule.applied(run, value, visit)),* }
            }
            /// See [`Behaviour`].
            pub fn branches(&self) -> Option<&Branches> {
                match self { $(Self::$variant(rule) => rule.branches()),* }
            }
            /// See [`Behaviour`].
            #[inline]
            pub fn sole(&self, kind: crate::instance::Kind) -> Option<NodeId> {
                match self { $(Self::$variant(rule) => rule.sole(kind)),* }
            }
            /// See [`Behaviour`].
            pub fn bind(&mut self, node: NodeId) {
                match self { $(Self::$variant(rule) => rule.bind(node)),* }
            }
            /// See [`Behaviour`].
            pub fn without(&mut self, merged: &[NodeId]) -> bool {
                match self { $(Self::$variant(rule) => rule.without(merged)),* }
            }
            /// See [`Behaviour`].
            pub fn is_portable(&self) -> bool {
                match self { $(Self::$variant(rule) => rule.is_portable()),* }
            }
            /// See [`Behaviour`].
            pub fn sort_branches(&mut self, tables: &Tables) {
                match self { $(Self::$variant(rule) => rule.sort_branches(tables)),* }
            }
            /// See [`Behaviour`].
            pub fn accepted_kinds(&self, nodes: &[Node]) -> u8 {
                match self { $(Self::$variant(rule) => rule.accepted_kinds(nodes)),* }
            }
            /// See [`Behaviour`].
            pub fn early(&self) -> Early<'_> {
                match self { $(Self::$variant(rule) => rule.early()),* }
            }
            /// See [`Behaviour`].
            pub fn heap_size(&self) -> usize {
                match self { $(Self::$variant(rule) => rule.heap_size()),* }
            }
        }
    };
}

rules! {
    Const(const_::Const);
    Enum(enum_::Enum);
    UniqueItems(unique_items::UniqueItems);
    Contains(contains::Contains);
    PropertyNames(property_names::PropertyNames);
    DependentRequired(dependent::DependentRequired);
    DependentSchemas(dependent::DependentSchemas);
    Ref(ref_::Ref);
    DynamicRef(dynamic_ref::DynamicRef);
    AllOf(all_of::AllOf);
    AnyOf(any_of::AnyOf);
    OneOf(one_of::OneOf);
    Not(not::Not);
    If(if_::If);
    UnevaluatedItems(unevaluated::UnevaluatedItems);
    UnevaluatedProperties(unevaluated::UnevaluatedProperties);
}

impl Rule {
    /// Does it apply schemas to the same value?
    pub fn refers(&self) -> bool {
        let mut refers = false;
        self.in_place(&mut |_| refers = true);
        refers
    }

    /// The values that it allows, where all are machine integers.
    pub fn integers(&self) -> Option<Vec<i64>> {
        match self {
            Self::Const(rule) => rule.integer().map(|value| vec![value]),
            Self::Enum(rule) => rule.integers(),
            _ => None,
        }
    }

    /// Is it a list of schemas for the same value?
    pub fn is_list(&self) -> bool {
        matches!(self, Self::AllOf(_) | Self::AnyOf(_) | Self::OneOf(_))
    }

    /// Is it `unevaluatedItems` or `unevaluatedProperties`?
    pub fn is_unevaluated(&self) -> bool {
        matches!(self, Self::UnevaluatedItems(_) | Self::UnevaluatedProperties(_))
    }
}
