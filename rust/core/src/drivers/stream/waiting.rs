//! Choices that wait for the constant that tells their branches apart (see `choice`): as long as nothing has come that two
//! branches judge differently, one cell stands for all of them, in an object or for the constant in it. It becomes the cell
//! of the branch that is meant; or, where a member comes about which the branches differ, those of all branches.
//!
//! Nothing can be told from outside: a branch falls with the byte with which its own cell would have failed.

use std::ops::RangeInclusive;

use super::cell::{Cell, NOBODY, Part, Via};
use super::choice::{Choice, branches};
use super::{Context, MOST_CELLS, MOST_HERE, Next, Run};
use crate::plan::{NONE, NodeId};

/// Members that a choice waits through; then its branches are followed one by one.
const MOST_WAITED: usize = 64;

impl Run {
    /// A piece of a name, or one of the characters that must follow.
    #[inline]
    pub(super) fn name_narrows_choices(
        &mut self,
        x: Context<'_>,
        piece: &str,
        next: Option<&RangeInclusive<u32>>,
    ) {
        if self.frames.last().is_some_and(|frame| frame.waits) {
            let begun = std::mem::take(&mut self.key);
            self.settle_choices(x, |choice, came| choice.may_begin(&begun, piece, next, came));
            self.key = begun;
        }
    }

    /// A name is whole; or None, and no more will come.
    #[inline]
    pub(super) fn name_settles_choices(&mut self, x: Context<'_>, name: Option<&str>) {
        if self.frames.last().is_some_and(|frame| frame.waits) {
            self.settle_choices(x, |choice, came| {
                name.is_some_and(|name| {
                    let is_new = !came.iter().any(|known| **known == *name);
                    is_new
                        && came.len() < MOST_WAITED
                        && (*choice.name == *name || choice.judged_alike(name).is_ok())
                })
            });
        }
    }

    /// Choices that cannot wait for their constant any longer wait no more.
    fn settle_choices(&mut self, x: Context<'_>, may_wait: impl Fn(&Choice, &[Box<str>]) -> bool) {
        let Some(frame) = self.frames.last_mut() else { return };
        let came = std::mem::take(&mut frame.came);
        let (mut cell, mut waits) = (frame.start, false);
        while self.frames.last().is_some_and(|frame| cell < frame.end) {
            if let Part::Later(check) = self.cells[cell as usize].part
                && self.cells[cell as usize].looks()
                && let Some(choice) = x.facts.choice(check)
            {
                if may_wait(choice, &came) {
                    waits = true;
                } else {
                    self.all_branches(x, cell, choice, &came);
                }
            }
            cell += 1;
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.waits = waits;
            frame.came = came;
        }
    }

    /// A member of an object that a choice waits in: its constant, or a value that all branches judge alike.
    pub(super) fn member_of_choice(&mut self, x: Context<'_>, cell: u32, check: u32, name: &str) {
        let Some(choice) = x.facts.choice(check) else { return };
        if *choice.name == *name {
            self.next.push(Next { part: Part::Tag(check), parent: cell, via: Via::Here });
        } else if let Ok(Some(property)) = choice.judged_alike(name) {
            let declared = x.plan.properties[property as usize].declared;
            self.next.push(Next { part: Part::Node(declared), parent: cell, via: Via::Known(property) });
        }
        if let Some(frame) = self.frames.last_mut()
            && !frame.came.iter().any(|known| **known == *name)
        {
            frame.came.push(name.into());
        }
    }

    /// A branch knows that members came whose values it accepts.
    fn catch_up(&mut self, x: Context<'_>, cell: u32, came: &[Box<str>], at: usize) {
        let waiting = self.next.len();
        for (count, name) in came.iter().enumerate() {
            self.member_of_node(x, cell, name, count, at);
            self.next.truncate(waiting);
        }
    }

    /// The cell that stands for all branches becomes theirs.
    fn all_branches(&mut self, x: Context<'_>, cell: u32, choice: &Choice, came: &[Box<str>]) {
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
        for cell in cell..=cell + many {
            self.catch_up(x, cell, came, 0);
        }
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
        let came = self.frames.last_mut().map(|frame| std::mem::take(&mut frame.came)).unwrap_or_default();
        let (last, before) = came.split_last().map_or((None, &[][..]), |(last, before)| (Some(last), before));
        debug_assert!(last.is_some_and(|last| *last == choice.name));
        self.catch_up(x, later, before, at);
        self.member_of_node(x, later, &choice.name, before.len(), at);
        if let Some(frame) = self.frames.last_mut() {
            frame.came = came;
        }
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
        let branch = choice.branch_of(text).unwrap_or_else(|| choice.last(text, None));
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
        let is_tag = |value: &Cell| value.parent == cell && matches!(value.part, Part::Tag(_));
        if self.in_string && self.cells[self.value_start..].iter().any(is_tag) {
            choice.beginning(&self.text.kept, self.text.narrowed.as_ref())
        } else {
            choice.objects.clone()
        }
    }

    /// The schema of a cell that is one; of one that stands for branches, that of the last.
    pub(super) fn node_of(x: Context<'_>, part: Part) -> Option<NodeId> {
        match part {
            Part::Node(id) => Some(id),
            Part::Later(check) => {
                let last = x.facts.choice(check)?.last_of_all();
                branches(&x.plan.checks[check as usize]).get(last as usize).copied()
            }
            _ => None,
        }
    }
}
