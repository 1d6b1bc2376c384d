//! `anyOf` and `oneOf` whose branches a constant of one member tells apart, however many they are: while an object has no
//! member yet, and while that constant comes as its first one, one cell stands for all branches. It becomes the cell of
//! the branch that is meant; or, where another member comes first, those of all branches, as they stand before a member.
//!
//! Nothing can be told from outside: a branch falls with the byte with which its own cell would have failed.

use std::ops::RangeInclusive;

use super::candidates::Candidates;
use super::cell::{Cell, NOBODY, Part, Via};
use super::facts::Members;
use super::{Context, MOST_CELLS, MOST_HERE, Next, Run};
use crate::instance::kinds;
use crate::keywords::{Check, Early};
use crate::plan::{Content, FALSE, NONE, NodeId, ObjectRule, Plan};

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
    objects: Vec<u32>,
    /// A branch may refuse a name before it ends.
    pub(super) narrows: bool,
    /// Members that may stand in the object before a branch objects to one more.
    pub(super) room: usize,
}

fn branches(check: &Check) -> &[NodeId] {
    match check.rule.early() {
        Early::Any(branches) | Early::One(branches) => branches,
        _ => &[],
    }
}

impl Choice {
    /// The choice of a check, if its branches are of the simple kind that can wait for the constant.
    pub(super) fn of(plan: &Plan, members: &[Members], check: &Check) -> Option<Self> {
        let name = &check.rule.tags()?.name;
        let mut choice = Self {
            name: name.clone(),
            tags: Vec::new(),
            owners: Vec::new(),
            objects: Vec::new(),
            narrows: false,
            room: usize::MAX,
        };
        let mut tagged = Vec::new();
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
            choice.narrows |= rule.additional == FALSE;
            choice.room = choice.room.min(members[node.object as usize].most);
        }
        tagged.sort_unstable();
        (choice.tags, choice.owners) = tagged.into_iter().unzip();
        let are_unique = choice.tags.windows(2).all(|pair| pair[0] != pair[1]);
        (are_unique && choice.objects.len() > 1).then_some(choice)
    }

    /// The constants.
    pub(super) fn tags(&self) -> Candidates<'_> {
        Candidates::Strings(&self.tags)
    }

    /// The last branch whose constant begins with this, and goes on with one of the characters if they are given.
    fn last(&self, begin: &str, next: Option<&RangeInclusive<u32>>) -> u32 {
        let owners = self.tags().beginning(begin, next).map(|at| self.owners[at]);
        owners.max().unwrap_or_else(|| self.last_of_all())
    }

    fn last_of_all(&self) -> u32 {
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
    let asks_no_more = text.min == 0
        && text.max == usize::MAX
        && text.pattern == NONE
        && text.format.is_none()
        && text.content == Content::default()
        && plan.checks_of(node).is_empty();
    let is_string = node.types == kinds::STRING && property.types != 0;
    plan.sets.get(text.set as usize).filter(|_| asks_no_more && is_string).map(|set| &*set.members)
}

impl Run {
    /// A piece of the first name, or one of the characters that must follow: choices that wait for another name wait no
    /// more.
    #[inline]
    pub(super) fn first_name(&mut self, x: Context<'_>, piece: &str, next: Option<&RangeInclusive<u32>>) {
        if self.frames.last().is_some_and(|frame| frame.waits) {
            let begun = std::mem::take(&mut self.key);
            self.settle_choices(x, |name| {
                let rest = name.strip_prefix(&*begun);
                rest.is_some_and(|rest| Candidates::One(rest).beginning(piece, next).next().is_some())
            });
            self.key = begun;
        }
    }

    /// The first name is whole, or None will come.
    #[inline]
    pub(super) fn first_member(&mut self, x: Context<'_>, name: Option<&str>) {
        if self.frames.last().is_some_and(|frame| frame.waits) {
            self.settle_choices(x, |tag| Some(tag) == name);
            if let Some(frame) = self.frames.last_mut() {
                frame.waits = false;
            }
        }
    }

    fn settle_choices(&mut self, x: Context<'_>, may_be: impl Fn(&str) -> bool) {
        let Some(frame) = self.frames.last() else { return };
        let (mut cell, mut waits) = (frame.start, false);
        while self.frames.last().is_some_and(|frame| cell < frame.end) {
            if let Part::Later(check) = self.cells[cell as usize].part
                && let Some(choice) = x.facts.choice(check)
            {
                if may_be(&choice.name) { waits = true } else { self.all_branches(x, cell, choice) }
            }
            cell += 1;
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.waits = waits;
        }
    }

    /// The cell that stands for all branches becomes theirs: nothing has come that any of them looks at.
    fn all_branches(&mut self, x: Context<'_>, cell: u32, choice: &Choice) {
        let Part::Later(check) = self.cells[cell as usize].part else { return };
        let check = &x.plan.checks[check as usize];
        let nodes = branches(check);
        let parent = self.cells[cell as usize].parent;
        let branch = |at: u32| {
            Cell::new(Part::Node(nodes[at as usize]), parent, Via::Branch(check.keyword, at), false)
        };
        let Some((first, rest)) = choice.objects.split_first() else { return };
        self.cells[cell as usize] = branch(*first);
        // As for any cells: those without room stay undecided.
        self.cells[parent as usize].pending += u32::try_from(rest.len()).unwrap_or(NONE);
        let Some(frame) = self.frames.last_mut() else { return };
        let here = (frame.end - frame.start) as usize;
        let room = MOST_CELLS.saturating_sub(self.cells.len()).min(MOST_HERE.saturating_sub(here));
        let made = rest.len().min(room);
        let many = u32::try_from(made).unwrap_or(0);
        frame.end += many;
        // Where they would stand had they been made at once: the order in which branches are told.
        let behind = cell as usize + 1;
        for other in &mut self.cells[behind..] {
            if other.parent != NOBODY && other.parent > cell {
                other.parent += many;
            }
        }
        self.cells.splice(behind..behind, rest[..made].iter().map(|at| branch(*at)));
        self.value_start += made;
    }

    /// The cell of a constant, and the one that stands for the branches, become those of one branch; all others have
    /// fallen or fall with the byte at `at`.
    fn only_branch(&mut self, x: Context<'_>, cell: u32, choice: &Choice, branch: u32, at: usize) {
        let later = self.cells[cell as usize].parent;
        let (Part::Later(check), parent) =
            (self.cells[later as usize].part, self.cells[later as usize].parent)
        else {
            return;
        };
        let check = &x.plan.checks[check as usize];
        let node = branches(check)[branch as usize];
        self.cells[later as usize] =
            Cell::new(Part::Node(node), parent, Via::Branch(check.keyword, branch), false);
        self.member_of_node(x, later, &choice.name, 0, at);
        if let Some(Next { part, parent, via }) = self.next.pop() {
            self.cells[later as usize].pending = 1;
            self.cells[cell as usize] = Cell::new(part, parent, via, false);
        }
        self.settle_members(x, at);
    }

    /// The constant begins and is no string: no branch is left, the last of them says so.
    pub(super) fn tag_of_another_kind(&mut self, x: Context<'_>, cell: u32, at: usize) {
        if let Some(choice) = self.choice_of(x, cell) {
            self.only_branch(x, cell, choice, choice.last_of_all(), at);
        }
    }

    /// The constant can be none: it goes on with one of the characters if they are given, else with what no constant has
    /// there. The branch whose constant was right for the longest speaks, the last one of several.
    pub(super) fn tag_fails(
        &mut self,
        x: Context<'_>,
        cell: u32,
        begin: &str,
        next: Option<&RangeInclusive<u32>>,
        at: usize,
    ) {
        let Some(choice) = self.choice_of(x, cell) else { return };
        self.others_may_be_mended(cell);
        self.only_branch(x, cell, choice, choice.last(begin, next), at);
    }

    /// The constant is whole.
    pub(super) fn tag_ends(&mut self, x: Context<'_>, cell: u32, text: &str, at: usize) {
        let Some(choice) = self.choice_of(x, cell) else { return };
        let found = choice.tags().seek(0, text);
        let branch = match choice.tags.get(found) {
            Some(tag) if **tag == *text => choice.owners[found],
            _ => choice.last(text, None),
        };
        self.others_may_be_mended(cell);
        self.only_branch(x, cell, choice, branch, at);
    }

    /// The branches that fell wanted another string than this one: a repair may make another value of it.
    fn others_may_be_mended(&mut self, cell: u32) {
        let later = self.cells[cell as usize].parent;
        let parent = self.cells[later as usize].parent;
        self.cells[parent as usize].mends = true;
    }

    fn choice_of<'p>(&self, x: Context<'p>, cell: u32) -> Option<&'p Choice> {
        match self.cells[cell as usize].part {
            Part::Tag(check) => x.facts.choice(check),
            _ => None,
        }
    }

    /// The branches that a cell stands for which have not fallen.
    pub(super) fn branches_left(&self, choice: &Choice, cell: u32) -> Vec<u32> {
        let has_begun =
            self.in_string && self.cells[self.value_start..].iter().any(|value| value.parent == cell);
        if !has_begun {
            return choice.objects.clone();
        }
        let tags = choice.tags().beginning(&self.text.kept, self.text.narrowed.as_ref());
        let mut left: Vec<u32> = tags.map(|at| choice.owners[at]).collect();
        left.sort_unstable();
        left.dedup();
        left
    }
}
