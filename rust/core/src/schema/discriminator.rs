//! Discriminators: the member whose constant tells which branch of `anyOf` or `oneOf` is meant.
//!
//! Found when a plan is linked: a name for which every branch that is for objects allows certain constants, none of them
//! in two branches. Then a look at one member replaces a try of every branch, and an issue can name the branch.

use crate::instance::{Instance, Kind, kinds};
use crate::plan::{NodeId, ObjectRule, StringSet};
use crate::schema::tables::Tables;

/// A discriminator.
#[derive(Clone, Debug)]
pub struct Tags {
    /// The member's name.
    pub name: Box<str>,
    token: usize,
    /// The strings, each with the position of its branch.
    set: StringSet,
    /// The integers, likewise.
    integers: Box<[(i64, usize)]>,
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

/// What a branch allows for the discriminating member.
enum Constants<'t> {
    Strings(&'t StringSet),
    Integers(Vec<i64>),
}

/// The constants that a branch allows for the member at a position of its names; None where it allows more than those.
fn constants<'t>(tables: &'t Tables, rule: &ObjectRule, at: usize) -> Option<Constants<'t>> {
    let property = &tables.properties[rule.first as usize + at];
    let node = &tables.nodes[property.node as usize];
    if let Some(rule) = tables.strings.get(node.string as usize)
        && node.types & !kinds::STRING == 0
    {
        return tables.sets.get(rule.set as usize).map(Constants::Strings);
    }
    let checks = &tables.checks[node.checks as usize..(node.checks + node.check_count) as usize];
    checks.iter().find_map(|check| check.rule.integers()).map(Constants::Integers)
}

impl Tags {
    /// The discriminator of branches, if they have one.
    pub(crate) fn of(branches: &[NodeId], tables: &Tables) -> Option<Box<Self>> {
        let for_objects = |branch: &NodeId| tables.nodes[*branch as usize].types & kinds::OBJECT != 0;
        let rules: Option<Vec<(usize, &ObjectRule)>> = branches
            .iter()
            .enumerate()
            .filter(|(_, branch)| for_objects(branch))
            .map(|(at, branch)| {
                Some((at, tables.objects.get(tables.nodes[*branch as usize].object as usize)?))
            })
            .collect();
        let rules = rules.filter(|rules| rules.len() > 1)?;
        let first = rules[0].1;
        (0..first.count as usize).find_map(|at| Self::at(&rules, at, tables))
    }

    fn at(rules: &[(usize, &ObjectRule)], at: usize, tables: &Tables) -> Option<Box<Self>> {
        constants(tables, rules[0].1, at)?;
        let property = &tables.properties[rules[0].1.first as usize + at];
        let text = |start: u32, len: u32| &tables.names[start as usize..(start + len) as usize];
        let name = text(property.start, property.len);
        let mut members: Vec<(Box<str>, usize)> = Vec::new();
        let mut integers: Vec<(i64, usize)> = Vec::new();
        let mut required = true;
        for (branch, rule) in rules {
            let own = &tables.properties[rule.first as usize..(rule.first + rule.count) as usize];
            let at = own.iter().position(|property| text(property.start, property.len) == name)?;
            required &= own[at].required;
            match constants(tables, rule, at)? {
                Constants::Strings(set) => {
                    members.extend(set.members.iter().map(|(tag, _)| (tag.clone(), *branch)));
                }
                Constants::Integers(tags) => integers.extend(tags.into_iter().map(|tag| (tag, *branch))),
            }
        }
        let mut seen = std::collections::HashSet::new();
        let mut seen_integers = std::collections::HashSet::new();
        let unique = members.iter().all(|(tag, _)| seen.insert(&**tag))
            && integers.iter().all(|(tag, _)| seen_integers.insert(*tag));
        if !unique {
            return None;
        }
        let set = StringSet::new(members.into(), false, false);
        Some(Box::new(Self {
            name: name.into(),
            token: property.token,
            set,
            integers: integers.into(),
            required,
        }))
    }

    /// What the discriminator says of an object.
    pub(crate) fn choose<'a, I: Instance<'a>>(&self, value: I) -> Choice {
        match value.member(self.token, &self.name) {
            None if self.required => Choice::NoBranch,
            None => Choice::Unknown,
            Some(tag) => {
                let branch = match tag.kind() {
                    Kind::String => self.branch_of_text(tag.text().as_bytes()),
                    Kind::Integer | Kind::Float => {
                        tag.number().to_i64().and_then(|number| self.branch_of(number))
                    }
                    _ => None,
                };
                branch.map_or(Choice::NoBranch, Choice::Branch)
            }
        }
    }

    /// The position of the branch for a string.
    pub(crate) fn branch_of_text(&self, text: &[u8]) -> Option<usize> {
        self.set.find(text)
    }

    fn branch_of(&self, number: i64) -> Option<usize> {
        self.integers.iter().find(|(tag, _)| *tag == number).map(|(_, branch)| *branch)
    }

    /// All the constants as JSON texts.
    pub(crate) fn all(&self) -> impl Iterator<Item = String> {
        let strings = self.set.members.iter().map(|(tag, _)| crate::issue::quoted(tag));
        strings.chain(self.integers.iter().map(|(tag, _)| tag.to_string()))
    }

    /// Memory of the discriminator.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + self.name.len() + size_of_val(&*self.integers) + self.set.heap_size()
    }
}
