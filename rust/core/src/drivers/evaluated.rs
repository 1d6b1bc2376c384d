//! Which members and items of a valid value were evaluated (2020-12 Core 7.7, 11.1): asked only by `unevaluated*`.

use std::collections::HashSet;

use super::check::Checker;
use crate::instance::{Instance, Key, Kind};
use crate::plan::{NONE, NodeId};

/// What was evaluated.
#[derive(Debug, Default)]
pub struct Marks {
    members: HashSet<Box<str>>,
    all_members: bool,
    items: HashSet<usize>,
    first_items: usize,
    all_items: bool,
}

impl Marks {
    /// Was the member evaluated?
    pub fn has_member(&self, name: &str) -> bool {
        self.all_members || self.members.contains(name)
    }
    /// Was the item evaluated?
    pub fn has_item(&self, index: usize) -> bool {
        self.all_items || index < self.first_items || self.items.contains(&index)
    }
}

/// A run that collects marks.
pub struct Evaluated<'r, 'p> {
    /// Decides which branches count.
    pub run: &'r mut Checker<'p>,
    marks: Marks,
    levels: usize,
    /// Nodes read, each with the way to it: a node that several others share marks the same again.
    read: HashSet<(NodeId, u64)>,
}

impl<'r, 'p> Evaluated<'r, 'p> {
    /// Nothing marked yet.
    pub fn new(run: &'r mut Checker<'p>) -> Self {
        Self { run, marks: Marks::default(), levels: 0, read: HashSet::new() }
    }

    /// The marks.
    pub fn into_marks(self) -> Marks {
        self.marks
    }

    /// Marks every member.
    pub fn all_members(&mut self) {
        self.marks.all_members = true;
    }

    /// Marks every item.
    pub fn all_items(&mut self) {
        self.marks.all_items = true;
    }

    /// Marks an item.
    pub fn item(&mut self, index: usize) {
        self.marks.items.insert(index);
    }

    /// Does a node accept the value?
    pub fn accepts<'a, I: Instance<'a>>(&mut self, id: NodeId, value: I) -> bool {
        self.run.aside(id, value)
    }

    /// Marks what a node that accepts the value evaluated.
    pub fn node<'a, I: Instance<'a>>(&mut self, id: NodeId, value: I) {
        self.read(id, value, true);
    }

    /// Marks what the keywords beside an `unevaluated*` keyword evaluated. Its own node is `owner`.
    pub fn siblings<'a, I: Instance<'a>>(&mut self, owner: NodeId, value: I) {
        self.read(owner, value, false);
    }

    fn read<'a, I: Instance<'a>>(&mut self, id: NodeId, value: I, whole: bool) {
        const MOST_LEVELS: usize = 1_000;
        if self.levels >= MOST_LEVELS || (whole && !self.read.insert((id, self.run.scope_key()))) {
            return;
        }
        self.levels += 1;
        let plan = self.run.plan;
        let node = plan.node(plan.node(id).written);
        let entered = self.run.enter(node);
        match value.kind() {
            Kind::Object if node.object != NONE => {
                let rule = &plan.objects[node.object as usize];
                let properties = plan.properties_of(rule);
                value.members(|key, _| {
                    let name = key.text();
                    let declared = plan
                        .find_name(rule, properties, name.as_bytes())
                        .is_some_and(|at| properties[at].declared != NONE);
                    let matched = || {
                        rule.patterns.iter().any(|(pattern, _)| {
                            plan.patterns[*pattern as usize].is_match(name).is_ok_and(|matched| matched)
                        })
                    };
                    if declared || rule.has_additional || matched() {
                        self.marks.members.insert(name.into());
                    }
                    true
                });
            }
            Kind::Array if node.array != NONE => {
                let rule = &plan.arrays[node.array as usize];
                self.marks.first_items = self.marks.first_items.max(rule.prefix.len());
                self.marks.all_items |= rule.has_rest;
            }
            _ => {}
        }
        for check in plan.checks_of(node) {
            if whole || !check.rule.is_unevaluated() {
                check.rule.evaluated(self, value);
            }
        }
        if entered {
            self.run.scope.pop();
        }
        self.levels -= 1;
    }
}
