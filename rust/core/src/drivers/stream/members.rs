//! Objects: which names may still come, what the value of each must satisfy, what is known at the closing brace.

use std::ops::RangeInclusive;

use super::candidates::Candidates;
use super::cell::{Cell, Fault, NOBODY, Part, Status, Via};
use super::expand::written;
use super::facts::{Literal, is_constrained};
use super::{Context, Next, Run};
use crate::instance::kinds;
use crate::keywords::{Early, Keyword};
use crate::plan::{FALSE, NONE, ObjectRule, same};
use crate::schema::pattern::{Begun, Prefix};

/// A name longer than this is compared with patterns only when it is whole.
const LONGEST_STEPPED: usize = 64;

fn rule_of<'p>(x: Context<'p>, cell: &Cell) -> Option<(&'p ObjectRule, u32)> {
    let Part::Node(id) = cell.part else { return None };
    let node = x.plan.node(x.plan.node(id).written);
    x.plan.objects.get(node.object as usize).map(|rule| (rule, node.object))
}

/// The room left is just enough for the names still missing.
fn is_tight(rule: &ObjectRule, cell: &Cell, count: usize) -> bool {
    let missing = rule.required.saturating_sub(cell.required) as usize;
    rule.max != usize::MAX && missing > 0 && missing >= rule.max.saturating_sub(count)
}

impl Run {
    /// Can nothing but the members' own values fail any more?
    pub(super) fn object_is_settled(&self, x: Context<'_>, cell: u32, count: usize) -> bool {
        let this = &self.cells[cell as usize];
        rule_of(x, this).is_some_and(|(rule, at)| {
            let members = &x.facts.members[at as usize];
            rule.max == usize::MAX
                && count >= rule.min
                && this.required == rule.required
                && members.constrained == this.constrained
        })
    }

    /// Do the cells of the object that has begun refuse names before they end?
    pub(super) fn narrows(&self, x: Context<'_>) -> bool {
        self.cells[self.value_start..].iter().any(|cell| match cell.part {
            Part::Names(_) => true,
            Part::Later(check) => x.facts.choice(check).is_some_and(|choice| choice.narrows),
            Part::Literal(_) => cell.status == Status::Open,
            _ => rule_of(x, cell).is_some_and(|(rule, _)| rule.additional == FALSE || rule.max != usize::MAX),
        })
    }

    /// Members that may stand in the object that has begun before a cell objects to one more.
    pub(super) fn room(&self, x: Context<'_>) -> usize {
        let rooms = self.cells[self.value_start..].iter().filter_map(|cell| match cell.part {
            Part::Literal(id) => match &x.facts.literals[id as usize] {
                Literal::Object(members) => Some(members.len()),
                _ => None,
            },
            Part::Later(check) => x.facts.choice(check).map(|choice| choice.room),
            _ => rule_of(x, cell).map(|(_, at)| x.facts.members[at as usize].most),
        });
        rooms.min().unwrap_or(usize::MAX)
    }

    /// Takes a whole name, closed at `at`, that the innermost object's only cell has next in its order: what nearly all
    /// names are, once the branches of a choice are excluded. False, and nothing done, for any other.
    #[inline]
    pub(super) fn expected_name(&mut self, x: Context<'_>, name: &str, at: usize) -> bool {
        let Some(frame) = self.frames.last_mut() else { return false };
        if frame.judges_names || frame.names.is_some() || frame.end - frame.start != 1 || !self.key.is_empty()
        {
            return false;
        }
        let index = frame.start;
        let this = &mut self.cells[index as usize];
        let Some((rule, _)) = rule_of(x, this).filter(|_| this.looks()) else { return false };
        let position = this.at as usize;
        let Some(property) = x.plan.properties_of(rule).get(position).filter(|_| position < 64) else {
            return false;
        };
        let is_plain = rule.max == usize::MAX && rule.patterns.is_empty() && property.declared != NONE;
        if !is_plain
            || property.types == 0
            || this.bits & (1 << position) != 0
            || !same(x.plan.name(property).as_bytes(), name.as_bytes())
        {
            return false;
        }
        this.bits |= 1 << position;
        this.at += 1;
        this.required += u32::from(property.required);
        let is_free = Self::is_free(x, property.declared);
        this.constrained += u32::from(!is_free);
        this.refused = false;
        let may_settle = !this.own && this.required == rule.required;
        frame.count += 1;
        frame.settles = false;
        let count = frame.count;
        self.path.truncate(frame.path_at);
        self.path.push_str(name);
        self.named = true;
        if !is_free {
            let via = Via::Known(rule.first + u32::try_from(position).unwrap_or(NONE));
            self.next.push(Next { part: Part::Node(property.declared), parent: index, via });
        }
        if may_settle && self.object_is_settled(x, index, count) {
            if is_free {
                self.own(x, index, at);
            } else if let Some(frame) = self.frames.last_mut() {
                frame.settles = true;
            }
        }
        true
    }

    /// A comma at `at` promises one more member.
    pub(super) fn promise_member(&mut self, x: Context<'_>, at: usize) {
        let Some(frame) = self.frames.last() else { return };
        let count = frame.count;
        if count < frame.room {
            return;
        }
        for index in frame.start..frame.end {
            if !self.cells[index as usize].looks() {
                continue;
            }
            if let Part::Literal(id) = self.cells[index as usize].part
                && let Literal::Object(members) = &x.facts.literals[id as usize]
                && count >= members.len()
            {
                self.fail(x, index, Fault::Literal, at);
            }
            let Some((rule, object)) = rule_of(x, &self.cells[index as usize]) else { continue };
            if count >= rule.max {
                self.fail(x, index, Fault::Count(Keyword::MaxProperties, count + 1), at);
            } else if count >= x.facts.members[object as usize].most {
                self.cells[index as usize].refused = true;
                self.fail(x, index, Fault::Unexpected, at);
            }
        }
    }

    /// A piece of a name; `place` gives the offset of the byte that ends a character of the piece.
    pub(super) fn name_piece(&mut self, x: Context<'_>, piece: &str, place: impl Fn(usize) -> usize) {
        let before = self.key.len();
        self.key.push_str(piece);
        let Some(frame) = self.frames.last() else { return };
        for index in frame.start..frame.end {
            if !self.cells[index as usize].looks() || self.cells[index as usize].refused {
                continue;
            }
            if self.may_go_on(x, index, self.key.len(), None) {
                continue;
            }
            let mut dead = piece.len();
            for (at, character) in piece.char_indices() {
                let end = at + character.len_utf8();
                if !self.may_go_on(x, index, before + end, None) {
                    dead = end;
                    break;
                }
            }
            self.refuse_name(x, index, place(dead));
        }
    }

    /// One more character of the name must follow, one of these.
    pub(super) fn name_goes_on(&mut self, x: Context<'_>, characters: &RangeInclusive<u32>, at: usize) {
        let Some(frame) = self.frames.last() else { return };
        for index in frame.start..frame.end {
            let cell = &self.cells[index as usize];
            if cell.looks() && !cell.refused && !self.may_go_on(x, index, self.key.len(), Some(characters)) {
                self.refuse_name(x, index, at);
            }
        }
    }

    fn refuse_name(&mut self, x: Context<'_>, cell: u32, at: usize) {
        self.cells[cell as usize].refused = true;
        let fault = if matches!(self.cells[cell as usize].part, Part::Literal(_)) {
            Fault::Literal
        } else {
            match rule_of(x, &self.cells[cell as usize]) {
                Some((rule, _)) if rule.additional != FALSE => Fault::Missing,
                _ => Fault::Unexpected,
            }
        };
        self.fail(x, cell, fault, at);
    }

    /// May a name that begins with the first `length` bytes of the name at hand still be allowed? `next`:
    /// the characters of which one must follow there.
    fn may_go_on(
        &self,
        x: Context<'_>,
        cell: u32,
        length: usize,
        next: Option<&RangeInclusive<u32>>,
    ) -> bool {
        let this = &self.cells[cell as usize];
        let key = &self.key[..length];
        if let Part::Literal(id) = this.part {
            let Literal::Object(members) = &x.facts.literals[id as usize] else { return true };
            return Candidates::Members(members).beginning(key, next).next().is_some();
        }
        let Some((rule, object)) = rule_of(x, this) else { return true };
        let count = self.frames.last().map_or(0, |frame| frame.count);
        let tight = is_tight(rule, this, count);
        if rule.additional != FALSE && !tight {
            return true;
        }
        let properties = x.plan.properties_of(rule);
        let hinted = properties.get(this.at as usize).filter(|property| {
            let is_new = this.at < 64 && this.bits & (1 << this.at) == 0;
            is_new && !tight && property.types != 0 && next.is_none()
        });
        if hinted.is_some_and(|property| x.plan.name(property).starts_with(key)) {
            return true;
        }
        let members = &x.facts.members[object as usize];
        let order = if tight { &members.required } else { &members.allowed };
        let is_new = |at: usize| {
            let position = order[at];
            position >= 64 || this.bits & (1 << position) == 0
        };
        // Those that came lie between: at most the 64 that are remembered.
        if Candidates::Names(x.plan, properties, order).beginning(key, next).any(is_new) {
            return true;
        }
        !tight
            && rule.patterns.iter().any(|(pattern, _)| {
                let pattern = &x.plan.patterns[*pattern as usize];
                if !pattern.can_step() || length > LONGEST_STEPPED {
                    return true;
                }
                let mut begun = Begun::default();
                let decided = key
                    .chars()
                    .map(|character| pattern.step(&mut begun, character))
                    .find(|prefix| *prefix != Prefix::Open);
                decided != Some(Prefix::Dead)
            })
    }

    /// The name is whole; its closing quote stands at `at`.
    pub(super) fn name_end(&mut self, x: Context<'_>, name: &str, at: usize) -> Option<bool> {
        self.name_settles_choices(x, Some(name));
        let frame = self.frames.last_mut()?;
        let mut repeats = None;
        frame.settles = false;
        if let Some(names) = &mut frame.names {
            names.insert(name.into());
        }
        let (start, end, count) = (frame.start, frame.end, frame.count);
        frame.count += 1;
        for found in self.cut_names.drain(..) {
            self.found[found].issue.detail = crate::issue::Detail::Unexpected(name.into());
        }
        self.path.truncate(frame.path_at);
        self.path.push_str(name);
        self.named = true;
        for index in start..end {
            if !self.cells[index as usize].looks() {
                continue;
            }
            match self.cells[index as usize].part {
                Part::Node(_) => repeats = self.member_of_node(x, index, name, count, at).or(repeats),
                Part::Literal(id) => {
                    let Literal::Object(members) = &x.facts.literals[id as usize] else { continue };
                    match members.binary_search_by(|(member, _)| (**member).cmp(name)) {
                        Ok(found) => {
                            self.cells[index as usize].required += 1;
                            self.next.push(Next {
                                part: Part::Literal(members[found].1),
                                parent: index,
                                via: Via::Here,
                            });
                        }
                        Err(_) => self.fail(x, index, Fault::Literal, at),
                    }
                }
                Part::Later(check) => {
                    self.member_of_choice(x, index, check, name);
                    repeats = repeats.or(Some(false));
                }
                Part::Row(check, row) => {
                    if let Early::Rows(rows) = x.plan.checks[check as usize].rule.early()
                        && *rows[row as usize].0 == *name
                    {
                        self.row_came(x, index, at);
                    }
                }
                _ => {}
            }
        }
        repeats
    }

    /// Answers whether the name came before, where the schema mentions it.
    #[inline]
    pub(super) fn member_of_node(
        &mut self,
        x: Context<'_>,
        index: u32,
        name: &str,
        count: usize,
        at: usize,
    ) -> Option<bool> {
        let this = &mut self.cells[index as usize];
        let (rule, _) = rule_of(x, this)?;
        let mut repeats = None;
        let refused = std::mem::take(&mut this.refused);
        let properties = x.plan.properties_of(rule);
        let hint = this.at as usize;
        let found = match properties.get(hint) {
            Some(property) if same(x.plan.name(property).as_bytes(), name.as_bytes()) => Some(hint),
            _ => x.plan.find_name(rule, properties, name.as_bytes()),
        };
        let waiting = self.next.len();
        let mut named = false;
        if let Some(found) = found {
            let position = u32::try_from(found).unwrap_or(NONE);
            let property = &properties[found];
            this.at = position + 1;
            let bit = if found < 64 { 1 << found } else { 0 };
            let is_new = this.bits & bit == 0;
            repeats = (bit != 0).then_some(!is_new);
            this.bits |= bit;
            this.required += u32::from(property.required && is_new);
            if property.declared != NONE {
                named = true;
                this.constrained += u32::from(is_new && is_constrained(x.plan, property.declared));
                self.member(x, index, property.declared, Via::Known(rule.first + position), at);
            }
        }
        for (pattern, node) in &rule.patterns {
            match x.plan.patterns[*pattern as usize].is_match(name) {
                Ok(true) => {
                    named = true;
                    self.member(x, index, *node, Via::Pattern(*pattern), at);
                }
                Ok(false) => {}
                // Beyond the limit of steps: never decided here.
                Err(_) => self.cells[index as usize].pending += 1,
            }
        }
        if !named && rule.additional == FALSE {
            if !refused {
                self.named = false;
                self.fail(x, index, Fault::Unexpected, at);
                self.named = true;
            }
        } else if !named {
            self.member(x, index, rule.additional, Via::Additional, at);
        }
        if count == 0 && rule.max == 0 {
            self.fail(x, index, Fault::Count(Keyword::MaxProperties, 1), at);
        }
        let this = &self.cells[index as usize];
        let missing = rule.required.saturating_sub(this.required) as usize;
        if !refused && rule.max != usize::MAX && count < rule.max && missing > rule.max - count - 1 {
            self.fail(x, index, Fault::Missing, at);
        }
        let this = &self.cells[index as usize];
        if !this.own && this.required == rule.required && self.object_is_settled(x, index, count + 1) {
            if self.next.len() == waiting {
                self.own(x, index, at);
            } else if let Some(frame) = self.frames.last_mut() {
                frame.settles = true;
            }
        }
        repeats
    }

    /// What the member's value must satisfy; a schema that refuses everything refuses the name.
    fn member(&mut self, x: Context<'_>, parent: u32, node: u32, via: Via, at: usize) {
        if written(x, node).types == 0 {
            let told = self.cells[parent as usize].told;
            self.value_start = self.cells.len();
            self.push(Part::Node(node), parent, via, 0, told);
            if let Some(cell) = self.cells.len().checked_sub(1).filter(|cell| *cell >= self.value_start) {
                self.fail(x, u32::try_from(cell).unwrap_or(NOBODY), Fault::Never, at);
                self.cells.pop();
            }
        } else if !Self::is_free(x, node) {
            self.next.push(Next { part: Part::Node(node), parent, via });
        }
    }

    /// After a member's value has begun: the objects that only wait for their members' values.
    pub(super) fn settle_members(&mut self, x: Context<'_>, at: usize) {
        let Some(frame) = self.frames.last_mut() else { return };
        if !std::mem::take(&mut frame.settles) {
            return;
        }
        let (start, end, count) = (frame.start, frame.end, frame.count);
        for index in start..end {
            if self.cells[index as usize].status == Status::Open && self.object_is_settled(x, index, count) {
                self.own(x, index, at);
            }
        }
    }

    /// The closing brace at `at`.
    pub(super) fn members_end(&mut self, x: Context<'_>, index: u32, count: usize, at: usize) {
        match self.cells[index as usize].part {
            Part::Node(_) => {
                let this = &self.cells[index as usize];
                if this.own {
                    return;
                }
                let Some((rule, _)) = rule_of(x, this) else { return };
                // Where there was no room left the missing names were reported already.
                let told_already = this.status == Status::Failed && rule.max != usize::MAX;
                if this.required < rule.required && !told_already {
                    self.fail(x, index, Fault::Missing, at);
                }
                if count < rule.min {
                    self.fail(x, index, Fault::Count(Keyword::MinProperties, count), at);
                }
                self.own(x, index, at);
            }
            Part::Literal(id) => {
                if let Literal::Object(members) = &x.facts.literals[id as usize] {
                    if self.cells[index as usize].required as usize == members.len() {
                        self.own(x, index, at);
                    } else {
                        self.fail(x, index, Fault::Literal, at);
                    }
                }
            }
            Part::Needs(check) => {
                let Early::Needs(rows) = x.plan.checks[check as usize].rule.early() else { return };
                let Some(names) = self.frames.last().and_then(|frame| frame.names.as_ref()) else { return };
                let has = |name: &str| names.contains(name);
                let holds =
                    rows.iter().all(|(trigger, needed)| !has(trigger) || needed.iter().all(|name| has(name)));
                if holds { self.pass(x, index, at) } else { self.fail(x, index, Fault::Needs, at) }
            }
            _ => {}
        }
    }

    /// Must the names of the object that has begun be kept?
    pub(super) fn wants_names(&self, x: Context<'_>) -> bool {
        self.cells[self.value_start..].iter().any(|cell| match cell.part {
            Part::Needs(_) => true,
            Part::Node(_) => rule_of(x, cell).is_some_and(|(rule, _)| rule.count > 64 && rule.required > 0),
            _ => false,
        })
    }

    /// The cells of a name under `propertyNames`.
    pub(super) fn begin_name(&mut self, x: Context<'_>, at: usize) {
        self.in_key = true;
        self.named = false;
        self.value_start = self.cells.len();
        let Some(frame) = self.frames.last().filter(|frame| frame.judges_names) else { return };
        for index in frame.start..frame.end {
            if let (Part::Names(check), true) =
                (self.cells[index as usize].part, self.cells[index as usize].looks())
                && let Early::Names(node) = x.plan.checks[check as usize].rule.early()
            {
                self.push(Part::Node(node), index, Via::Under(Keyword::PropertyNames), 0, false);
            }
        }
        if self.cells.len() > self.value_start {
            self.expand_from(x, self.value_start, kinds::STRING, None, at);
        }
        self.text_begin(x);
    }
}
