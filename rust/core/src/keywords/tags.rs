//! Discriminators: the member whose constant tells which branch of `anyOf` or `oneOf` is meant.
//!
//! Found when a plan is linked: a name for which every branch that is for objects allows certain strings, none of them
//! in two branches. Then a look at one member replaces a try of every branch, and an issue can name the branch.

use crate::instance::{Instance, Kind, kinds};
use crate::plan::{NodeId, ObjectRule, StringSet};
use crate::schema::compile::Tables;

/// A discriminator.
#[derive(Clone, Debug)]
pub struct Tags {
    /// The member's name.
    pub name: Box<str>,
    token: usize,
    /// The strings, each with the position of its branch.
    set: StringSet,
    /// Every branch for objects asks for the member.
    required: bool,
}

/// What a discriminator says of an object.
pub enum Choice {
    /// The branch at this position, if any.
    Branch(usize),
    /// No branch accepts the object.
    NoBranch,
    /// The member is missing, and may be.
    Unknown,
}

/// The strings that a branch allows for the member at a position of its names; None where it allows more than those.
fn strings<'t>(tables: &'t Tables, rule: &ObjectRule, at: usize) -> Option<&'t StringSet> {
    let property = &tables.properties[rule.first as usize + at];
    let node = &tables.nodes[property.node as usize];
    let only_strings = node.types & !kinds::STRING == 0;
    let rule = tables.strings.get(node.string as usize).filter(|_| only_strings)?;
    tables.sets.get(rule.set as usize)
}

impl Tags {
    /// The discriminator of branches, if they have one.
    pub(crate) fn of(branches: &[NodeId], tables: &Tables) -> Option<Box<Self>> {
        let for_objects = |branch: &NodeId| tables.nodes[*branch as usize].types & kinds::OBJECT != 0;
        let rules: Option<Vec<(usize, &ObjectRule)>> = branches
            .iter()
            .enumerate()
            .filter(|(_, branch)| for_objects(branch))
            .map(|(at, branch)| Some((at, tables.objects.get(tables.nodes[*branch as usize].object as usize)?)))
            .collect();
        let rules = rules.filter(|rules| rules.len() > 1)?;
        let first = rules[0].1;
        (0..first.count as usize).find_map(|at| Self::at(&rules, at, tables))
    }

    fn at(rules: &[(usize, &ObjectRule)], at: usize, tables: &Tables) -> Option<Box<Self>> {
        strings(tables, rules[0].1, at)?;
        let property = &tables.properties[rules[0].1.first as usize + at];
        let text = |start: u32, len: u32| &tables.names[start as usize..(start + len) as usize];
        let name = text(property.start, property.len);
        let mut members: Vec<(Box<str>, usize)> = Vec::new();
        let mut required = true;
        for (branch, rule) in rules {
            let own = &tables.properties[rule.first as usize..(rule.first + rule.count) as usize];
            let at = own.iter().position(|property| text(property.start, property.len) == name)?;
            required &= own[at].required;
            members.extend(strings(tables, rule, at)?.members.iter().map(|(tag, _)| (tag.clone(), *branch)));
        }
        let mut seen = std::collections::HashSet::new();
        if !members.iter().all(|(tag, _)| seen.insert(&**tag)) {
            return None;
        }
        let set = StringSet::new(members.into(), false);
        Some(Box::new(Self { name: name.into(), token: property.token, set, required }))
    }

    /// What the discriminator says of an object.
    pub(crate) fn choose<'a, I: Instance<'a>>(&self, value: I) -> Choice {
        match value.member(self.token, &self.name) {
            None if self.required => Choice::NoBranch,
            None => Choice::Unknown,
            Some(tag) if tag.kind() != Kind::String => Choice::NoBranch,
            Some(tag) => self.set.find(tag.text().as_bytes()).map_or(Choice::NoBranch, Choice::Branch),
        }
    }

    /// All the strings, in the order of the branches.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.set.members.iter().map(|(tag, _)| &**tag)
    }

    /// Memory of the discriminator.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>()
            + self.name.len()
            + size_of_val(&*self.set.slots)
            + self.set.members.iter().map(|member| size_of_val(member) + member.0.len()).sum::<usize>()
    }
}
