//! Strings and names while they grow: characters counted, candidates and patterns followed, the rest at the quote.

use std::ops::{Range, RangeInclusive};

use super::candidates::Candidates;
use super::cell::{Fault, NOBODY, Part, Status};
use super::choice::Choice;
use super::expand::written;
use super::facts::Literal;
use super::{Context, Run};
use crate::drivers::check::Checker;
use crate::instance::Instance;
use crate::keywords::Keyword;
use crate::plan::{NONE, StringRule};
use crate::schema::pattern::{Begun, Prefix};

/// The string at hand.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// As far as anybody must see it again.
    pub(super) kept: String,
    chars: usize,
    keeps: bool,
    counts: bool,
    /// An escape has left only these characters to come.
    pub(super) narrowed: Option<RangeInclusive<u32>>,
    /// What a piece decided: offset, cell, fault; None where the rule can fail no more.
    events: Vec<(usize, u32, Option<Fault>)>,
}

/// The offset of the last byte of the character of a piece that ends before `end`.
pub(super) fn place(piece: &str, from: &Range<usize>, end: usize) -> usize {
    if piece.len() == from.len() { from.start + end - 1 } else { from.end - 1 }
}

/// A place in a pattern, and whether it has matched, as a cell keeps it.
fn unpack(bits: u64) -> (Begun, bool) {
    let (at, count) = ((bits >> 32) & 0x7FFF_FFFF, bits & 0xFFFF_FFFF);
    (Begun { at: u32::try_from(at).unwrap_or(0), count: u32::try_from(count).unwrap_or(0) }, bits >> 63 == 1)
}

fn pack(begun: Begun, matched: bool) -> u64 {
    u64::from(matched) << 63 | u64::from(begun.at) << 32 | u64::from(begun.count)
}

fn rule_of(x: Context<'_>, id: u32) -> Option<&StringRule> {
    x.plan.strings.get(written(x, id).string as usize)
}

/// The strings that a cell allows; None where it allows any.
fn candidates(x: Context<'_>, part: Part) -> Option<Candidates<'_>> {
    match part {
        Part::Node(id) => {
            let rule = rule_of(x, id).filter(|rule| rule.set != NONE)?;
            let set = rule.set as usize;
            Some(Candidates::Set(&x.plan.sets[set].members, &x.facts.sets[set]))
        }
        Part::Values(check) => {
            x.facts.allowed.get(&check).map(|allowed| Candidates::Strings(&allowed.strings))
        }
        Part::Tag(check) => x.facts.choice(check).map(Choice::tags),
        Part::Literal(id) => match &x.facts.literals[id as usize] {
            Literal::Scalar(value) => Some(Candidates::One(value.text())),
            _ => None,
        },
        _ => None,
    }
}

/// The keyword that refuses a whole text.
fn fault_of(x: Context<'_>, part: Part, text: &str) -> Option<Fault> {
    match part {
        Part::Node(id) => {
            let rule = rule_of(x, id)?;
            if rule.min > 0 || rule.max != usize::MAX {
                let chars = text.chars().count();
                if chars < rule.min {
                    return Some(Fault::Count(Keyword::MinLength, chars));
                }
                if chars > rule.max {
                    return Some(Fault::Count(Keyword::MaxLength, chars));
                }
            }
            if Checker::new(x.plan, 0).text(rule, text) {
                return None;
            }
            Some(if rule.set != NONE && x.plan.sets[rule.set as usize].find(text.as_bytes()).is_none() {
                Fault::Literal
            } else if rule.pattern != NONE
                && x.plan.patterns[rule.pattern as usize].is_match(text) != Ok(true)
            {
                Fault::Pattern
            } else if rule.format.is_some_and(|format| !format.is_valid(text)) {
                Fault::Format
            } else {
                Fault::Content
            })
        }
        Part::Values(_) | Part::Literal(_) | Part::Tag(_) => {
            (!candidates(x, part).is_some_and(|candidates| candidates.has(text))).then_some(Fault::Literal)
        }
        _ => None,
    }
}

impl Run {
    /// The cells that judge the string at hand.
    fn judges(&self) -> Range<usize> {
        self.value_start..self.cells.len()
    }

    fn is_open(&self, index: usize) -> bool {
        let cell = &self.cells[index];
        cell.status == Status::Open
            && !cell.own
            && matches!(cell.part, Part::Node(_) | Part::Values(_) | Part::Literal(_) | Part::Tag(_))
    }

    /// A string or name begins; its cells are there.
    pub(super) fn text_begin(&mut self, x: Context<'_>) {
        self.text.kept.clear();
        self.text.chars = 0;
        self.text.keeps = !self.in_key && self.capture.is_active();
        self.text.counts = false;
        self.text.narrowed = None;
        for index in self.judges() {
            match self.cells[index].part {
                Part::Node(id) => {
                    if let Some(rule) = rule_of(x, id) {
                        self.text.counts |= rule.min > 0 || rule.max != usize::MAX;
                        self.text.keeps |= rule.set != NONE
                            || rule.pattern != NONE
                            || rule.format.is_some()
                            || rule.content != crate::plan::Content::default();
                    }
                }
                Part::Values(_) | Part::Literal(_) | Part::Tag(_) => self.text.keeps = true,
                _ => {}
            }
        }
    }

    /// A piece of the string or name.
    pub(super) fn text_piece(&mut self, x: Context<'_>, piece: &str, from: &Range<usize>) {
        if self.text.keeps {
            self.text.kept.push_str(piece);
        }
        if self.judges().is_empty() {
            return;
        }
        let before = self.text.chars;
        if self.text.counts {
            self.text.chars += piece.chars().count();
        }
        let mut events = std::mem::take(&mut self.text.events);
        for index in self.judges() {
            if self.is_open(index) {
                self.follow(x, index, piece, from, before, &mut events);
            }
        }
        events.sort_by_key(|(offset, ..)| *offset);
        for (offset, cell, fault) in events.drain(..) {
            match fault {
                Some(fault) => self.fail(x, cell, fault, offset),
                None => self.own(x, cell, offset),
            }
        }
        self.text.events = events;
        self.text.narrowed = None;
    }

    fn follow(
        &mut self,
        x: Context<'_>,
        index: usize,
        piece: &str,
        from: &Range<usize>,
        before: usize,
        events: &mut Vec<(usize, u32, Option<Fault>)>,
    ) {
        let cell = u32::try_from(index).unwrap_or(NOBODY);
        let part = self.cells[index].part;
        if let Some(candidates) = candidates(x, part) {
            let text = &self.text.kept;
            let known = text.len() - piece.len();
            let mut at = self.cells[index].at as usize;
            // The one that began like the text so far is compared with the piece alone.
            let goes_on = |candidate: &str| {
                candidate.as_bytes().get(known..).is_some_and(|rest| rest.starts_with(piece.as_bytes()))
            };
            let mut is_open = candidates.get(at).is_some_and(goes_on);
            if !is_open {
                at = candidates.seek(at, text);
                self.cells[index].at = u32::try_from(at).unwrap_or(NONE);
                is_open = candidates.get(at).is_some_and(|candidate| candidate.starts_with(text.as_str()));
            }
            if !is_open {
                let right = candidates.common(text);
                let wrong = text[right..].chars().next().map_or(0, char::len_utf8);
                let offset = place(piece, from, right + wrong - known);
                if matches!(part, Part::Tag(_)) {
                    // What an escape stands for falls with its last byte, right or not.
                    let right = if piece.len() == from.len() { right.max(known) } else { known };
                    let begin = text[..right].to_owned();
                    let next = self.text.narrowed.clone().filter(|_| right == known);
                    self.tag_fails(x, cell, &begin, next.as_ref(), offset);
                }
                events.push((offset, cell, Some(Fault::Literal)));
            }
        }
        let Part::Node(id) = part else { return };
        let Some(rule) = rule_of(x, id) else { return };
        let nth = |count: usize| {
            piece.char_indices().nth(count - 1).map(|(at, c)| place(piece, from, at + c.len_utf8()))
        };
        if self.text.counts && self.text.chars > rule.max && before <= rule.max {
            let offset = nth(rule.max + 1 - before).unwrap_or(from.end - 1);
            events.push((offset, cell, Some(Fault::Count(Keyword::MaxLength, rule.max + 1))));
        }
        let mut matched = rule.pattern == NONE;
        if rule.pattern != NONE && x.plan.patterns[rule.pattern as usize].can_step() {
            let pattern = &x.plan.patterns[rule.pattern as usize];
            let (mut begun, done) = unpack(self.cells[index].bits);
            matched = done;
            if !matched {
                for (at, character) in piece.char_indices() {
                    let offset = place(piece, from, at + character.len_utf8());
                    match pattern.step(&mut begun, character) {
                        Prefix::Open => continue,
                        Prefix::Dead => events.push((offset, cell, Some(Fault::Pattern))),
                        Prefix::Matched => matched = true,
                    }
                    break;
                }
                self.cells[index].bits = pack(begun, matched);
            }
        }
        let ends_early = rule.max == usize::MAX
            && rule.set == NONE
            && rule.format.is_none()
            && rule.content == crate::plan::Content::default();
        if ends_early && matched && self.text.chars >= rule.min {
            events.push((from.end - 1, cell, None));
        }
    }

    /// One more character must follow, one of these.
    pub(super) fn text_goes_on(&mut self, x: Context<'_>, characters: &RangeInclusive<u32>, at: usize) {
        for index in self.judges() {
            if !self.is_open(index) {
                continue;
            }
            let part = self.cells[index].part;
            let cell = u32::try_from(index).unwrap_or(NOBODY);
            let text = &self.text.kept;
            if candidates(x, part)
                .is_some_and(|candidates| candidates.beginning(text, Some(characters)).next().is_none())
            {
                if matches!(part, Part::Tag(_)) {
                    let (begin, next) = (text.clone(), self.text.narrowed.clone());
                    self.tag_fails(x, cell, &begin, next.as_ref(), at);
                }
                self.fail(x, cell, Fault::Literal, at);
            } else if let Part::Node(id) = part
                && let Some(rule) = rule_of(x, id)
                && rule.max != usize::MAX
                && self.text.chars >= rule.max
            {
                self.fail(x, cell, Fault::Count(Keyword::MaxLength, rule.max + 1), at);
            }
        }
        self.text.narrowed = Some(characters.clone());
    }

    /// The closing quote at `at`; `whole` is the text if it was not kept.
    pub(super) fn text_end(&mut self, x: Context<'_>, at: usize) {
        if self.judges().is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.text.kept);
        for index in self.judges() {
            if !self.is_open(index) {
                continue;
            }
            let cell = u32::try_from(index).unwrap_or(NOBODY);
            self.tag_ends(x, cell, &text, at);
            let fault = match self.cells[index].part {
                // The count is known, also where the text was not kept.
                Part::Node(id) if !self.text.keeps => rule_of(x, id)
                    .filter(|rule| self.text.chars < rule.min)
                    .map(|_| Fault::Count(Keyword::MinLength, self.text.chars)),
                part => fault_of(x, part, &text),
            };
            match fault {
                Some(fault) => self.fail(x, cell, fault, at),
                None if matches!(self.cells[index].part, Part::Node(_)) => self.own(x, cell, at),
                None => self.pass(x, cell, at),
            }
        }
        self.text.kept = text;
    }

    /// A whole string at once: false where it must be looked at piece by piece to find the byte that was wrong.
    pub(super) fn text_whole(&mut self, x: Context<'_>, text: &str, at: usize) -> bool {
        for index in self.judges() {
            if self.is_open(index) && fault_of(x, self.cells[index].part, text).is_some() {
                return false;
            }
        }
        for index in self.judges() {
            if self.is_open(index) {
                let cell = u32::try_from(index).unwrap_or(NOBODY);
                self.tag_ends(x, cell, text, at);
                match self.cells[index].part {
                    Part::Node(_) => self.own(x, cell, at),
                    _ => self.pass(x, cell, at),
                }
            }
        }
        true
    }
}
