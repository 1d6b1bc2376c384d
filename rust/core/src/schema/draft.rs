//! A node under construction, and the merging of the schemas of an `allOf` into one node.
//!
//! Merging is what makes `allOf` of objects cost one walk over the members. The schema as written stays in the plan
//! beside the merged node, for issues and for annotations, which must name what the author wrote.

use crate::instance::kinds;
use crate::keywords::Check;
use crate::number::Number;
use crate::plan::{ArrayRule, Bound, Content, FALSE, NONE, NodeId, NumberRule, Property, StringRule, TRUE};

/// The keywords for objects, under construction.
#[derive(Clone, Debug)]
pub struct ObjectDraft {
    /// The names, in the order they were mentioned.
    pub properties: Vec<Property>,
    /// `patternProperties`
    pub patterns: Vec<(u32, NodeId)>,
    /// `additionalProperties`
    pub additional: NodeId,
    /// Was `additionalProperties` written?
    pub has_additional: bool,
    /// `minProperties`
    pub min: usize,
    /// `maxProperties`
    pub max: usize,
}

/// A node under construction.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Accepted kinds.
    pub types: u8,
    /// Floats must be integral.
    pub integral: bool,
    /// Rules by kind.
    pub string: Option<StringRule>,
    /// See `string`.
    pub number: Option<NumberRule>,
    /// See `string`.
    pub array: Option<ArrayRule>,
    /// See `string`.
    pub object: Option<ObjectDraft>,
    /// Checks, in the order of the registry.
    pub checks: Vec<Check>,
    /// Nodes that apply to the same value and may be merged in (`allOf`, `$ref`).
    pub merge: Vec<NodeId>,
}

impl std::default::Default for ObjectDraft {
    fn default() -> Self {
        Self {
            properties: Vec::new(),
            patterns: Vec::new(),
            additional: TRUE,
            has_additional: false,
            min: 0,
            max: usize::MAX,
        }
    }
}

impl std::default::Default for StringRule {
    fn default() -> Self {
        Self { min: 0, max: usize::MAX, pattern: NONE, set: NONE, format: None, content: Content::default() }
    }
}

impl std::default::Default for NumberRule {
    fn default() -> Self {
        Self {
            integral: false,
            int_min: i64::MIN,
            int_max: i64::MAX,
            min: None,
            max: None,
            multiple_of: None,
        }
    }
}

impl std::default::Default for ArrayRule {
    fn default() -> Self {
        Self {
            min: 0,
            max: usize::MAX,
            prefix: Box::new([]),
            rest: TRUE,
            has_rest: false,
            words: ("items", "prefixItems"),
        }
    }
}

impl std::default::Default for Draft {
    fn default() -> Self {
        Self {
            types: kinds::ANY,
            integral: false,
            string: None,
            number: None,
            array: None,
            object: None,
            checks: Vec::new(),
            merge: Vec::new(),
        }
    }
}

impl Draft {
    /// The rule for strings.
    pub fn string(&mut self) -> &mut StringRule {
        self.string.get_or_insert_default()
    }
    /// The rule for numbers.
    pub fn number(&mut self) -> &mut NumberRule {
        self.number.get_or_insert_default()
    }
    /// The rule for arrays.
    pub fn array(&mut self) -> &mut ArrayRule {
        self.array.get_or_insert_default()
    }
    /// The rule for objects.
    pub fn object(&mut self) -> &mut ObjectDraft {
        self.object.get_or_insert_default()
    }
}

impl NumberRule {
    /// Sets a lower bound if it is tighter than the one there.
    pub fn raise(&mut self, bound: Bound) {
        let tighter = |old: &Bound| match bound.limit.compare(&old.limit) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => bound.exclusive && !old.exclusive,
            std::cmp::Ordering::Less => false,
        };
        if self.min.as_ref().is_none_or(tighter) {
            match least_int(&bound) {
                Some(least) if self.int_min <= self.int_max => self.int_min = least,
                _ => (self.int_min, self.int_max) = (i64::MAX, i64::MIN),
            }
            self.min = Some(bound);
        }
    }

    /// Sets an upper bound if it is tighter than the one there.
    pub fn lower(&mut self, bound: Bound) {
        let tighter = |old: &Bound| match bound.limit.compare(&old.limit) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => bound.exclusive && !old.exclusive,
            std::cmp::Ordering::Greater => false,
        };
        if self.max.as_ref().is_none_or(tighter) {
            match greatest_int(&bound) {
                Some(greatest) if self.int_min <= self.int_max => self.int_max = greatest,
                _ => (self.int_min, self.int_max) = (i64::MAX, i64::MIN),
            }
            self.max = Some(bound);
        }
    }
}

/// The least machine integer for which `fits` holds; it holds from some integer on.
fn first_int(fits: impl Fn(i64) -> bool) -> Option<i64> {
    let (mut low, mut high) = (i128::from(i64::MIN), i128::from(i64::MAX) + 1);
    while low < high {
        let middle = (low + high).div_euclid(2);
        if i64::try_from(middle).is_ok_and(&fits) { high = middle } else { low = middle + 1 }
    }
    i64::try_from(low).ok()
}

fn least_int(bound: &Bound) -> Option<i64> {
    match bound.limit {
        Number::Int(limit) if bound.exclusive => limit.checked_add(1),
        Number::Int(limit) => Some(limit),
        _ => first_int(|value| {
            let order = Number::Int(value).compare(&bound.limit);
            order.is_gt() || (order.is_eq() && !bound.exclusive)
        }),
    }
}

fn greatest_int(bound: &Bound) -> Option<i64> {
    match bound.limit {
        Number::Int(limit) if bound.exclusive => limit.checked_sub(1),
        Number::Int(limit) => Some(limit),
        _ => {
            let beyond = first_int(|value| {
                let order = Number::Int(value).compare(&bound.limit);
                order.is_gt() || (order.is_eq() && bound.exclusive)
            });
            beyond.map_or(Some(i64::MAX), |first| first.checked_sub(1))
        }
    }
}

/// Joins two string rules that both hold; None where one rule cannot carry both.
pub fn join_strings(a: &StringRule, b: &StringRule) -> Option<StringRule> {
    let one = |x: u32, y: u32| match (x, y) {
        (NONE, other) | (other, NONE) => Some(other),
        (x, y) => (x == y).then_some(x),
    };
    let content = match (a.content == Content::default(), b.content == Content::default()) {
        (true, _) => b.content,
        (_, true) => a.content,
        _ => return None,
    };
    let ((None, format) | (format, None)) = (a.format, b.format) else { return None };
    Some(StringRule {
        min: a.min.max(b.min),
        max: a.max.min(b.max),
        pattern: one(a.pattern, b.pattern)?,
        set: one(a.set, b.set)?,
        format,
        content,
    })
}

/// Joins two number rules that both hold; None where one rule cannot carry both.
pub fn join_numbers(a: &NumberRule, b: &NumberRule) -> Option<NumberRule> {
    let mut joined = a.clone();
    joined.integral |= b.integral;
    if let Some(bound) = &b.min {
        joined.raise(bound.clone());
    }
    if let Some(bound) = &b.max {
        joined.lower(bound.clone());
    }
    joined.multiple_of = match (&a.multiple_of, &b.multiple_of) {
        (None, other) | (other, None) => other.clone(),
        (Some(x), Some(y)) if x == y => Some(x.clone()),
        _ => return None,
    };
    Some(joined)
}

/// Can these two object rules be one? Patterns would have to be tried on the other's names.
pub fn can_join_objects(a: &ObjectDraft, b: &ObjectDraft) -> bool {
    a.patterns.is_empty() && b.patterns.is_empty() && (a.additional <= FALSE || b.additional <= FALSE)
}
