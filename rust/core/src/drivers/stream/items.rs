//! Arrays: what the next item must satisfy, what is known at a comma and at the closing bracket.

use std::hash::{BuildHasher, Hasher};

use super::cell::{Cell, Fault, Part, Via};
use super::facts::Literal;
use super::{Context, Next, Run};
use crate::instance::{equal, hash_value};
use crate::keywords::{Early, Keyword};
use crate::plan::{ArrayRule, NONE};

fn rule_of<'p>(x: Context<'p>, cell: &Cell) -> Option<&'p ArrayRule> {
    let Part::Node(id) = cell.part else { return None };
    x.plan.arrays.get(x.plan.node(x.plan.node(id).written).array as usize)
}

impl Run {
    /// Can nothing but the values of the items begun fail any more, with `promised` items at least?
    pub(super) fn array_is_settled(&self, x: Context<'_>, cell: u32, promised: usize) -> bool {
        rule_of(x, &self.cells[cell as usize])
            .is_some_and(|rule| self.array_rule_is_settled(x, rule, promised))
    }

    #[inline]
    fn array_rule_is_settled(&self, x: Context<'_>, rule: &ArrayRule, promised: usize) -> bool {
        rule.max == usize::MAX && promised >= rule.min && Self::is_free(x, rule.rest) && {
            let begun = self.frames.last().map_or(0, |frame| if promised > 0 { frame.count } else { 0 });
            rule.prefix.iter().skip(begun).all(|node| Self::is_free(x, *node))
        }
    }

    /// One more item is certain: after a comma, or with the first byte of the first item.
    pub(super) fn promise_item(&mut self, x: Context<'_>, at: usize) {
        let Some(frame) = self.frames.last() else { return };
        let count = frame.count;
        for index in frame.start..frame.end {
            let cell = &self.cells[index as usize];
            if !cell.looks() {
                continue;
            }
            if let Part::Literal(id) = cell.part {
                if matches!(&x.facts.literals[id as usize], Literal::Array(items) if count >= items.len()) {
                    self.fail(x, index, Fault::Literal, at);
                }
                continue;
            }
            let Some(rule) = rule_of(x, cell) else { continue };
            let own = cell.own;
            if count == rule.max {
                self.fail(x, index, Fault::Count(Keyword::MaxItems, count + 1), at);
            } else if count >= rule.prefix.len() && x.plan.node(rule.rest).types == 0 && !cell.refused {
                self.cells[index as usize].refused = true;
                self.fail(x, index, Fault::Beyond(rule.prefix.len()), at);
            } else if !own && self.array_rule_is_settled(x, rule, count + 1) {
                self.own(x, index, at);
            }
        }
    }

    /// The schemas of an item that begins.
    pub(super) fn next_item(&mut self, x: Context<'_>) {
        let Some(frame) = self.frames.last_mut() else { return };
        let count = frame.count;
        frame.count += 1;
        for index in frame.start..frame.end {
            let cell = &self.cells[index as usize];
            if !cell.looks() {
                continue;
            }
            match cell.part {
                Part::Node(_) => {
                    let Some(rule) = rule_of(x, cell) else { continue };
                    let (node, via) = match rule.prefix.get(count) {
                        Some(node) => (*node, Via::Prefix(u32::try_from(count).unwrap_or(NONE))),
                        None if x.plan.node(rule.rest).types == 0 => continue,
                        None => (rule.rest, Via::Rest),
                    };
                    if !Self::is_free(x, node) {
                        self.next.push(Next { part: Part::Node(node), parent: index, via });
                    }
                }
                Part::Literal(id) => {
                    if let Literal::Array(items) = &x.facts.literals[id as usize]
                        && let Some(item) = items.get(count)
                    {
                        self.next.push(Next { part: Part::Literal(*item), parent: index, via: Via::Here });
                    }
                }
                Part::Contains(check) => {
                    if let Early::Contains(node, _) = x.plan.checks[check as usize].rule.early() {
                        let via = Via::Under(Keyword::Contains);
                        self.next.push(Next { part: Part::Node(node), parent: index, via });
                    }
                }
                _ => {}
            }
        }
    }

    /// An item of the innermost array is whole and kept.
    pub(super) fn item_kept(&mut self, x: Context<'_>, at: usize) {
        let Some(frame) = self.frames.last().filter(|frame| !frame.is_object) else { return };
        for index in frame.start..frame.end {
            let Part::Unique(slot) = self.cells[index as usize].part else { continue };
            let items = self.capture.items();
            let Some((item, earlier)) = items.split_last() else { continue };
            let seen = &mut self.uniques[slot as usize];
            let mut hasher = seen.keys.build_hasher();
            hash_value(item, &mut hasher, &seen.keys);
            let bucket = seen.by_hash.entry(hasher.finish()).or_default();
            let same = bucket.iter().copied().find(|before| equal(&earlier[*before], item));
            bucket.push(earlier.len());
            let this = earlier.len();
            if let Some(before) = same
                && !self.cells[index as usize].refused
            {
                self.cells[index as usize].refused = true;
                self.fail(x, index, Fault::Repeated(before, this), at);
            }
        }
    }

    /// The closing bracket at `at`.
    pub(super) fn items_end(&mut self, x: Context<'_>, index: u32, count: usize, at: usize) {
        let cell = &self.cells[index as usize];
        match cell.part {
            Part::Node(_) => {
                if cell.own {
                    return;
                }
                let Some(rule) = rule_of(x, cell) else { return };
                if count < rule.min {
                    self.fail(x, index, Fault::Count(Keyword::MinItems, count), at);
                }
                self.own(x, index, at);
            }
            Part::Literal(id) => {
                if matches!(&x.facts.literals[id as usize], Literal::Array(items) if items.len() == count) {
                    self.own(x, index, at);
                } else {
                    self.fail(x, index, Fault::Literal, at);
                }
            }
            _ => {}
        }
    }
}
