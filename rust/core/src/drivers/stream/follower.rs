//! What others see of a run: the tokenizer's events in, the verdict so far out.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use super::cell::Status;
use super::facts::Facts;
use super::report::Found;
use super::{Context, Run, text, value_of};
use crate::issue::{Name, SchemaStep, Step};
use crate::json::Number as Written;
use crate::json::sink::{self, Literal};
use crate::number::Number;
use crate::plan::Plan;
use crate::value::Value;

/// A run of a plan over a text that is still arriving.
#[derive(Debug)]
pub struct Follower<H> {
    host: Arc<H>,
    run: Run,
}

/// What holds a plan for as long as a stream runs it: the plan itself, or what its host keeps beside it.
pub trait Holds {
    /// The plan.
    fn plan(&self) -> &Plan;
}

impl Holds for Plan {
    fn plan(&self) -> &Plan {
        self
    }
}

macro_rules! with {
    ($this:ident, $x:ident) => {
        let plan = $this.host.plan();
        let $x = Context { plan, facts: plan.early.get_or_init(|| Facts::of(plan)) };
    };
}

impl<H: Holds> Follower<H> {
    /// Before the first byte.
    pub fn new(host: Arc<H>) -> Self {
        Self { host, run: Run::new() }
    }

    /// What is known of the whole value.
    pub fn status(&self) -> Status {
        match self.run.cells.first() {
            _ if self.run.repeats => Status::Failed,
            Some(root) => root.status,
            None => Status::Open,
        }
    }

    /// The violations that are certain, in the order in which they became so.
    pub fn found(&self) -> &[Found] {
        &self.run.found
    }

    /// Did a name stand twice in its object?
    pub fn repeats(&self) -> bool {
        self.run.repeats
    }

    /// Who holds the plan.
    pub fn host(&self) -> &Arc<H> {
        &self.host
    }

    /// Places in the schema of the branches of `anyOf` and `oneOf` that are not excluded for the open value at a path
    /// (the tokens of a JSON Pointer); None where no open value stands there.
    pub fn live_branches(&self, path: &[Step]) -> Option<Vec<Vec<SchemaStep>>> {
        let run = &self.run;
        with!(self, x);
        if path.is_empty() {
            // The root's cells stay when it has ended.
            let end = run.frames.first().map_or(run.cells.len(), |frame| frame.end as usize);
            return Some(run.live_branches(x, 0..u32::try_from(end).unwrap_or(0)));
        }
        let here = run.open_path();
        if path.len() > here.len() || !path.iter().zip(&here).all(|(token, step)| is_at(token, step)) {
            return None;
        }
        let range = match run.frames.get(path.len()) {
            Some(frame) => frame.start..frame.end,
            None => u32::try_from(run.value_start).ok()?..u32::try_from(run.cells.len()).ok()?,
        };
        Some(run.live_branches(x, range))
    }

    /// The name that has just ended at `end` stands in its object already: a violation, unless the schema asks for nothing.
    pub fn repeated_key(&mut self, key: &str, end: usize) {
        if !self.host.plan().is_free {
            self.run.repeated(end - 1, key);
        }
    }

    /// See [`sink::Sink`], whose events these are.
    pub fn value_begin(&mut self, kind: sink::Kind, at: usize) {
        with!(self, x);
        self.run.value_begin(x, kind, at);
    }
    /// See [`sink::Sink`].
    pub fn instead_of_string(&mut self, at: usize) -> sink::Containers {
        with!(self, x);
        self.run.instead_of_string(x, at)
    }
    /// See [`sink::Sink`].
    pub fn comma(&mut self, at: usize) {
        with!(self, x);
        if self.run.frames.last().is_some_and(|frame| frame.is_object) {
            self.run.promise_member(x, at);
        } else {
            self.run.promise_item(x, at);
        }
    }
    /// See [`sink::Sink`].
    pub fn escape_begin(&mut self, at: usize) {
        self.escape_narrowed(&(0..=u32::from(char::MAX)), at);
    }
    /// See [`sink::Sink`].
    pub fn escape_narrowed(&mut self, characters: &RangeInclusive<u32>, at: usize) {
        with!(self, x);
        if !self.run.in_string && self.run.frames.last().is_some_and(|frame| frame.narrows) {
            self.run.name_narrows_choices(x, "", Some(characters));
            if !self.run.in_key {
                self.run.begin_name(x, at);
            }
            self.run.name_goes_on(x, characters, at);
        }
        if self.run.in_string || self.run.in_key {
            self.run.text_goes_on(x, characters, at);
        }
    }
    /// See [`sink::Sink`].
    #[inline]
    pub fn key_text(&mut self, piece: &str, from: &Range<usize>) {
        if piece.is_empty() || !self.run.frames.last().is_some_and(|frame| frame.narrows) {
            return;
        }
        with!(self, x);
        self.run.name_narrows_choices(x, piece, None);
        if !self.run.in_key {
            self.run.begin_name(x, from.start);
        }
        self.run.name_piece(x, piece, |end| text::place(piece, from, end));
        if self.run.cells.len() > self.run.value_start {
            self.run.text_piece(x, piece, from);
        }
    }
    /// See [`sink::Sink`].
    #[inline]
    ///
    /// Answers whether the name stood in its object before, where a schema knows the name.
    pub fn key(&mut self, key: &str, end: usize) -> Option<bool> {
        with!(self, x);
        if self.run.frames.last().is_some_and(|frame| frame.judges_names) {
            if !self.run.in_key {
                self.run.begin_name(x, end - 1);
            }
            self.run.text_end(x, end - 1);
            self.run.cells.truncate(self.run.value_start);
        }
        self.run.in_key = true;
        let repeats = self.run.name_end(x, key, end - 1);
        self.run.in_key = false;
        self.run.key.clear();
        self.run.cut_names.clear();
        if self.run.capture.is_active() {
            self.run.capture.key(key);
        }
        repeats
    }
    /// See [`sink::Sink`]; answers as [`Follower::key`].
    #[inline]
    pub fn whole_key(&mut self, key: &str, from: &Range<usize>) -> Option<bool> {
        with!(self, x);
        if !self.run.capture.is_active() && self.run.expected_name(x, key, from.end) {
            return Some(false);
        }
        self.key_text(key, from);
        self.key(key, from.end + 1)
    }
    /// See [`sink::Sink`].
    pub fn container_begin(&mut self, is_object: bool) {
        with!(self, x);
        self.run.container_begin(x, is_object);
    }
    /// See [`sink::Sink`].
    pub fn container_end(&mut self, end: usize) {
        with!(self, x);
        self.run.container_end(x, end - 1);
    }
    /// See [`sink::Sink`].
    pub fn string_begin(&mut self) {
        with!(self, x);
        self.run.in_string = true;
        self.run.text_begin(x);
    }
    /// See [`sink::Sink`].
    #[inline]
    pub fn string_text(&mut self, piece: &str, from: &Range<usize>) {
        if self.run.cells.len() > self.run.value_start || self.run.capture.is_active() {
            with!(self, x);
            self.run.text_piece(x, piece, from);
        }
    }
    /// See [`sink::Sink`].
    pub fn string_end(&mut self, end: usize) {
        with!(self, x);
        self.run.in_string = false;
        self.run.text_end(x, end - 1);
        let kept = self.run.capture.is_active().then(|| Value::String(self.run.text.kept.as_str().into()));
        self.run.value_end(x, kept, end - 1);
    }
    /// See [`sink::Sink`].
    #[inline]
    pub fn string(&mut self, text: &str, from: &Range<usize>) {
        with!(self, x);
        if self.run.cells.len() > self.run.value_start && !self.run.text_whole(x, text, from.end) {
            self.run.text_begin(x);
            self.run.text_piece(x, text, from);
            self.run.text_end(x, from.end);
        }
        let kept = self.run.capture.is_active().then(|| Value::String(text.into()));
        self.run.value_end(x, kept, from.end);
    }
    /// See [`sink::Sink`].
    #[inline]
    pub fn number(&mut self, number: Written<'_>, end: usize) {
        if self.run.cells.len() == self.run.value_start && !self.run.capture.is_active() {
            return;
        }
        with!(self, x);
        let value = Value::Number(match number {
            Written::Integer(value) => Number::Int(value),
            Written::Float(value) => Number::Float(value),
            Written::BigInteger(digits) => {
                Number::parse_exact(digits).unwrap_or(Number::Float(f64::INFINITY))
            }
        });
        self.run.scalar(x, &value, end);
        self.run.value_end(x, Some(value), end);
    }
    /// See [`sink::Sink`].
    pub fn literal(&mut self, literal: Literal, end: usize) {
        with!(self, x);
        self.run.value_end(x, Some(value_of(literal)), end - 1);
    }
}

/// Does a token of a JSON Pointer lead along a step?
fn is_at(token: &Step, step: &Step) -> bool {
    match (token, step) {
        (Step::Key(Name::Text(text)), Step::Index(index)) => **text == *index.to_string(),
        _ => token == step,
    }
}
