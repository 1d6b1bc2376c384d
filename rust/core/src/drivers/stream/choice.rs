//! `anyOf` and `oneOf` whose branches a constant of one member tells apart, however many they are: what is known of them
//! beforehand. How they are followed is told in `waiting`.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use super::candidates::Candidates;
use super::facts::Members;
use crate::instance::kinds;
use crate::keywords::{Check, Early};
use crate::plan::{Content, FALSE, NONE, NodeId, ObjectRule, Plan, StringRule};

/// Branches of one keyword that are told apart by a member.
#[derive(Debug)]
pub(super) struct Choice {
    /// The member's name.
    pub(super) name: Box<str>,
    /// The constants, in ascending order.
    tags: Vec<Box<str>>,
    /// For each of them the position of its branch.
    owners: Vec<u32>,
    /// The branches for objects, in the order of the schema.
    pub(super) objects: Vec<u32>,
    /// Other names whose values all branches judge alike, in ascending order, with the property of the last branch where
    /// anything is judged.
    alike: Vec<(Box<str>, Option<u32>)>,
    /// Names that no branch knows are free in all of them.
    others_are_free: bool,
    /// Names that any branch knows and that are not alike.
    unlike: HashSet<Box<str>>,
    /// A branch may refuse a name before it ends.
    pub(super) narrows: bool,
    /// Members that may stand in the object before a branch objects to one more.
    pub(super) room: usize,
}

/// The branches of a choice.
pub(super) fn branches(check: &Check) -> &[NodeId] {
    match check.rule.early() {
        Early::Any(branches) | Early::One(branches) => branches,
        _ => &[],
    }
}

impl Choice {
    /// The choice of a check, if its branches are of the simple kind that can wait for the constant.
    pub(super) fn of(plan: &Plan, members: &[Members], check: &Check) -> Option<Self> {
        let name = &check.rule.branches()?.tags.as_deref()?.name;
        let mut choice = Self {
            name: name.clone(),
            tags: Vec::new(),
            owners: Vec::new(),
            objects: Vec::new(),
            alike: Vec::new(),
            others_are_free: true,
            unlike: HashSet::new(),
            narrows: false,
            room: usize::MAX,
        };
        let mut tagged = Vec::new();
        let mut names = HashMap::new();
        for (at, branch) in (0u32..).zip(branches(check)) {
            let node = plan.node(plan.node(*branch).written);
            if node.types & kinds::OBJECT == 0 {
                continue;
            }
            let rule = plan.objects.get(node.object as usize)?;
            if !is_simple(rule) || plan.checks_of(node).iter().any(|check| check.kinds & kinds::OBJECT != 0) {
                return None;
            }
            tagged.extend(constants(plan, rule, name)?.iter().map(|(tag, _)| (tag.clone(), at)));
            choice.objects.push(at);
            choice.others_are_free &= plan.node(rule.additional).is_free();
            learn(plan, rule, &mut names);
            choice.narrows |= rule.additional == FALSE;
            choice.room = choice.room.min(members[node.object as usize].most);
        }
        tagged.sort_unstable();
        (choice.tags, choice.owners) = tagged.into_iter().unzip();
        for (name, known) in names.into_iter().filter(|(name, _)| *name != &*choice.name) {
            let by_all = known.count == choice.objects.len();
            match known.asks {
                Some(Asks::Nothing) if by_all || choice.others_are_free => {
                    choice.alike.push((name.into(), None));
                }
                Some(Asks::Scalar(_)) if by_all => choice.alike.push((name.into(), Some(known.property))),
                _ => {
                    choice.unlike.insert(name.into());
                }
            }
        }
        choice.alike.sort_unstable();
        let are_unique = choice.tags.windows(2).all(|pair| pair[0] != pair[1]);
        (are_unique && choice.objects.len() > 1).then_some(choice)
    }

    /// The constants.
    pub(super) fn tags(&self) -> Candidates<'_> {
        Candidates::Strings(&self.tags)
    }

    /// The branch of a constant.
    pub(super) fn branch_of(&self, tag: &str) -> Option<u32> {
        let at = self.tags.binary_search_by(|known| (**known).cmp(tag)).ok()?;
        Some(self.owners[at])
    }

    /// The branches whose constants begin with this, and go on with one of the characters if they are given.
    pub(super) fn beginning(&self, begin: &str, next: Option<&RangeInclusive<u32>>) -> Vec<u32> {
        let mut left: Vec<u32> = self.tags().beginning(begin, next).map(|at| self.owners[at]).collect();
        left.sort_unstable();
        left.dedup();
        left
    }

    /// What all branches make of the value of another member: the property whose schema judges it, or None where nothing
    /// does. `Err` where they differ.
    pub(super) fn judged_alike(&self, name: &str) -> Result<Option<u32>, ()> {
        match self.alike.binary_search_by(|(known, _)| (**known).cmp(name)) {
            Ok(at) => Ok(self.alike[at].1),
            Err(_) if self.others_are_free && !self.unlike.contains(name) => Ok(None),
            Err(_) => Err(()),
        }
    }

    /// Where names are refused before they end: may one that is not among those that came begin with the first text, and go
    /// on with the second, or one of the characters?
    pub(super) fn may_begin(
        &self,
        begun: &str,
        piece: &str,
        next: Option<&RangeInclusive<u32>>,
        came: &[Box<str>],
    ) -> bool {
        let goes_on = |name: &str| {
            let rest = name.strip_prefix(begun);
            rest.is_some_and(|rest| Candidates::One(rest).beginning(piece, next).next().is_some())
        };
        let first = self.alike.partition_point(|(name, _)| **name < *begun);
        !self.narrows
            || goes_on(&self.name)
            || self.alike[first..]
                .iter()
                .take_while(|(name, _)| name.starts_with(begun))
                .any(|(name, _)| goes_on(name) && !came.contains(name))
    }

    /// The last branch whose constant begins with this, and goes on with one of the characters if they are given.
    pub(super) fn last(&self, begin: &str, next: Option<&RangeInclusive<u32>>) -> u32 {
        let owners = self.tags().beginning(begin, next).map(|at| self.owners[at]);
        owners.max().unwrap_or_else(|| self.last_of_all())
    }

    pub(super) fn last_of_all(&self) -> u32 {
        self.objects.last().copied().unwrap_or(0)
    }
}

/// Only its names and their values can fail.
fn is_simple(rule: &ObjectRule) -> bool {
    rule.max == usize::MAX && rule.patterns.is_empty() && rule.count <= 64
}

/// The strings that the member must be one of, where its schema asks nothing else.
fn constants<'p>(plan: &'p Plan, rule: &ObjectRule, name: &str) -> Option<&'p [(Box<str>, usize)]> {
    let property = plan.properties_of(rule).iter().find(|property| plan.name(property) == name)?;
    let node = plan.node(plan.nodes.get(property.declared as usize)?.written);
    let text = plan.strings.get(node.string as usize)?;
    let asks_no_more =
        text.min == 0 && text.max == usize::MAX && is_counted(text) && plan.checks_of(node).is_empty();
    let is_string = node.types == kinds::STRING && property.types != 0;
    plan.sets.get(text.set as usize).filter(|_| asks_no_more && is_string).map(|set| &*set.members)
}

/// It asks for nothing but a count and certain strings.
fn is_counted(text: &StringRule) -> bool {
    text.pattern == NONE && text.format.is_none() && text.content == Content::default()
}

/// What a schema asks of a member, as far as two can be compared.
#[derive(PartialEq)]
enum Asks {
    Nothing,
    Scalar(Scalar),
}

/// Of the value's kind, and of how many characters it has.
#[derive(PartialEq)]
struct Scalar {
    types: [u8; 2],
    more: u8,
    integral: Option<bool>,
    length: Option<(usize, usize)>,
}

impl Asks {
    /// What a property asks; None where that cannot be compared.
    fn of(plan: &Plan, declared: NodeId) -> Option<Self> {
        let node = plan.nodes.get(declared as usize)?;
        if node.is_free() {
            return Some(Self::Nothing);
        }
        let written = plan.node(node.written);
        if !plan.checks_of(written).is_empty() || written.array != NONE || written.object != NONE {
            return None;
        }
        let length = match plan.strings.get(written.string as usize) {
            Some(text) if is_counted(text) && text.set == NONE => Some((text.min, text.max)),
            Some(_) => return None,
            None => None,
        };
        let integral = match plan.numbers.get(written.number as usize) {
            Some(rule) if rule.min.is_some() || rule.max.is_some() || rule.multiple_of.is_some() => {
                return None;
            }
            rule => rule.map(|rule| rule.integral),
        };
        let types = [node.types, written.types];
        Some(Self::Scalar(Scalar { types, more: node.more, integral, length })).filter(|_| written.types != 0)
    }
}

/// What the branches so far ask of a name.
struct Known {
    /// How many of them know it.
    count: usize,
    /// What all of these ask; None where they differ.
    asks: Option<Asks>,
    /// The property of the last of them.
    property: u32,
}

/// Adds the names of one more branch.
fn learn<'p>(plan: &'p Plan, rule: &ObjectRule, names: &mut HashMap<&'p str, Known>) {
    for (position, property) in (rule.first..).zip(plan.properties_of(rule)) {
        // One that is only required is judged by what is said of additional ones.
        let asks = if property.types == 0 { None } else { Asks::of(plan, property.declared) };
        match names.entry(plan.name(property)) {
            Entry::Vacant(entry) => {
                entry.insert(Known { count: 1, asks, property: position });
            }
            Entry::Occupied(mut entry) => {
                let known = entry.get_mut();
                known.count += 1;
                known.property = position;
                if known.asks != asks {
                    known.asks = None;
                }
            }
        }
    }
}
