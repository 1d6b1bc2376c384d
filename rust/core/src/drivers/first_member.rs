//! The branch of a choice that an object's first member tells, before the object is read.
//!
//! Documents mostly begin with what they are (`"type": "Polygon"`). Where that leaves one branch of `anyOf` or `oneOf`, the
//! object is decoded by it at once, instead of being made first and judged afterwards. The others would refuse it: they
//! know no such name, or do not allow such a value under it. Should the name come again further on, the object is refused
//! in any case.

use std::cell::Cell;

use super::builder::Builder;
use super::decode::Decoder;
use crate::instance::kinds;
use crate::json::string;
use crate::keywords::{Early, Rule};
use crate::plan::{FALSE, NodeId, ObjectRule, Plan, Property};

/// Schemas that are looked at for one object; after that, every branch counts as able.
const MOST_LOOKS: usize = 64;
/// A longer string is no constant.
const LONGEST: usize = 64;
/// How deep branches may refer to others.
const DEEPEST: usize = 4;

/// A first member.
struct FirstMember<'t> {
    name: &'t [u8],
    /// The kinds that its value may have.
    kinds: u8,
    /// Its value, where that is a short string.
    text: Option<&'t [u8]>,
    looks: Cell<usize>,
}

/// The string without escapes that starts behind a quote, and where it ends.
fn plain(text: &[u8], start: usize) -> Option<(&[u8], usize)> {
    let near = &text[..text.len().min(start + LONGEST)];
    let (end, _) = string::plain_run(near, start);
    (near.get(end) == Some(&b'"')).then(|| (&text[start..end], end + 1))
}

fn behind_blanks(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

impl<'t> FirstMember<'t> {
    /// The first member of the object whose brace is at a position.
    fn read(text: &'t [u8], brace: usize) -> Option<Self> {
        let quote = behind_blanks(text, brace + 1);
        if text.get(quote) != Some(&b'"') {
            return None;
        }
        let (name, end) = plain(text, quote + 1)?;
        let colon = behind_blanks(text, end);
        if text.get(colon) != Some(&b':') {
            return None;
        }
        let at = behind_blanks(text, colon + 1);
        let kinds = match text.get(at)? {
            b'"' => kinds::STRING,
            b'{' => kinds::OBJECT,
            b'[' => kinds::ARRAY,
            b't' | b'f' => kinds::BOOL,
            b'n' => kinds::NULL,
            _ => kinds::NUMBER,
        };
        let text = if kinds == kinds::STRING { plain(text, at + 1).map(|(text, _)| text) } else { None };
        Some(Self { name, kinds, text, looks: Cell::new(MOST_LOOKS) })
    }

    /// May an object that begins so be accepted?
    fn may_begin(&self, plan: &Plan, id: NodeId, depth: usize) -> bool {
        let node = plan.node(id);
        if node.types & kinds::OBJECT == 0 {
            return false;
        }
        let Some(left) = self.looks.get().checked_sub(1) else { return true };
        self.looks.set(left);
        if let Some(rule) = plan.objects.get(node.object as usize) {
            let properties = plan.properties_of(rule);
            let may = match plan.find_name(rule, properties, self.name) {
                Some(at) => self.may_be(plan, &properties[at]),
                None => rule.additional != FALSE || self.is_by_pattern(plan, rule),
            };
            if !may {
                return false;
            }
        }
        depth == 0
            || plan.checks_of(node).iter().all(|check| match check.rule.early() {
                Early::Every(nodes) => nodes.iter().all(|node| self.may_begin(plan, *node, depth - 1)),
                Early::Any(nodes) | Early::One(nodes) => {
                    nodes.iter().any(|node| self.may_begin(plan, *node, depth - 1))
                }
                _ => true,
            })
    }

    /// May the first member have its value?
    fn may_be(&self, plan: &Plan, property: &Property) -> bool {
        let member = plan.node(property.node);
        let set = plan.strings.get(member.string as usize).and_then(|rule| plan.sets.get(rule.set as usize));
        property.types & self.kinds != 0
            && match (self.text, set) {
                (Some(text), Some(set)) => set.find(text).is_some(),
                _ => true,
            }
    }

    fn is_by_pattern(&self, plan: &Plan, rule: &ObjectRule) -> bool {
        let Ok(name) = std::str::from_utf8(self.name) else { return true };
        rule.patterns.iter().any(|(pattern, _)| plan.patterns[*pattern as usize].is_match(name) != Ok(false))
    }
}

impl<B: Builder> Decoder<'_, '_, '_, B> {
    /// The only schema of a choice that may accept the object at the position, if its first member tells.
    pub(super) fn told(&self, choice: &Rule) -> Option<NodeId> {
        let branches = choice.branches()?;
        let first = FirstMember::read(self.text, self.at)?;
        if let Some(text) = first.text
            && let Some(told) = branches.told(first.name, text)
        {
            return told;
        }
        let mut able = branches.nodes.iter().filter(|branch| first.may_begin(self.plan, **branch, DEEPEST));
        match (able.next(), able.next()) {
            (Some(only), None) => Some(*only),
            _ => None,
        }
    }
}
