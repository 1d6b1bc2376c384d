//! The verdict while the text arrives: failed, open or certain, at the earliest byte that decides it.
//!
//! A listener of the tokenizer, beside whoever builds the value. Each schema at work on a value that is still arriving
//! is a [`cell::Cell`]; the cells of the open containers and of the value at hand form a stack. A part that a keyword
//! cannot follow stays open: the verdict here is never wrong, and the ordinary driver has the last word.

mod candidates;
mod capture;
mod cell;
mod choice;
mod expand;
mod facts;
mod follower;
mod instead;
mod items;
mod members;
mod report;
mod settle;
mod text;
mod waiting;

use std::collections::{HashMap, HashSet};
use std::hash::RandomState;

use crate::drivers::check::Checker;
use crate::instance::{Kind, kinds};
use crate::issue::Step;
use crate::json::sink::{self, Literal};
use crate::plan::Plan;
use crate::value::Value;

use capture::Capture;
use cell::{Cell, Fault, NOBODY, Part, Via};

pub use cell::Status;
pub use facts::Facts;
pub use follower::{Follower, Holds};
pub use report::Found;

/// Cells of one value; a schema that needs more stays undecided there.
const MOST_HERE: usize = 4_096;
/// Cells of a whole stack.
const MOST_CELLS: usize = 1 << 18;

/// What all parts of a run look up.
#[derive(Clone, Copy)]
struct Context<'p> {
    plan: &'p Plan,
    facts: &'p Facts,
}

/// A schema that the value to come must satisfy.
#[derive(Clone, Copy, Debug)]
struct Next {
    part: Part,
    parent: u32,
    via: Via,
}

/// Items of an array whose items must differ. The hash is keyed: items chosen to collide do not.
#[derive(Debug, Default)]
struct Seen {
    keys: RandomState,
    by_hash: HashMap<u64, Vec<usize>>,
}

/// An open container.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Frame {
    is_object: bool,
    /// Its cells.
    start: u32,
    end: u32,
    /// Members or items that have begun.
    count: usize,
    /// Where its newest name begins in the path.
    path_at: usize,
    /// Sets of items seen that others had made.
    uniques: usize,
    /// One of its cells may refuse a name before it ends.
    narrows: bool,
    /// Members that may stand in it before a cell objects to one more.
    room: usize,
    /// One of its cells judges names as strings.
    judges_names: bool,
    /// One of its cells waits for the present member's value alone.
    settles: bool,
    /// A choice between branches waits for a member; the names that came meanwhile.
    waits: bool,
    came: Vec<Box<str>>,
    /// Its names, where a cell must see them again.
    names: Option<HashSet<Box<str>>>,
}

#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Run {
    cells: Vec<Cell>,
    frames: Vec<Frame>,
    next: Vec<Next>,
    found: Vec<Found>,
    /// The newest names of the open objects, one behind the other.
    path: String,
    /// The name at hand, as far as it has come.
    key: String,
    /// The kind of the value at hand, as far as its first byte tells.
    kind: Kind,
    in_key: bool,
    in_string: bool,
    /// The name at hand stands in the path.
    named: bool,
    /// The violations that show the name at hand as far as it had come.
    cut_names: Vec<usize>,
    /// Where the cells of the value at hand begin.
    value_start: usize,
    text: text::Text,
    capture: Capture,
    uniques: Vec<Seen>,
    repeats: bool,
    /// The schemas of the value to come are known before its first byte was judged.
    prepared: bool,
}

fn kinds_of(value: &Value) -> u8 {
    crate::keywords::enum_::kinds_of(value)
}

fn value_of(literal: Literal) -> Value {
    match literal {
        Literal::Null => Value::Null,
        word => Value::Bool(word == Literal::True),
    }
}

impl Run {
    fn new() -> Self {
        Self {
            cells: Vec::new(),
            frames: Vec::new(),
            next: Vec::new(),
            found: Vec::new(),
            path: String::new(),
            key: String::new(),
            kind: Kind::Null,
            in_key: false,
            in_string: false,
            named: false,
            cut_names: Vec::new(),
            value_start: 0,
            text: text::Text::default(),
            capture: Capture::default(),
            uniques: Vec::new(),
            repeats: false,
            prepared: false,
        }
    }

    fn value_begin(&mut self, x: Context<'_>, kind: sink::Kind, at: usize) {
        let (bits, kind_so_far) = match kind {
            sink::Kind::Object => (kinds::OBJECT, Kind::Object),
            sink::Kind::Array => (kinds::ARRAY, Kind::Array),
            sink::Kind::String => (kinds::STRING, Kind::String),
            sink::Kind::Number => (kinds::NUMBER, Kind::Float),
            sink::Kind::Literal(Literal::Null) => (kinds::NULL, Kind::Null),
            sink::Kind::Literal(_) => (kinds::BOOL, Kind::Bool),
        };
        self.kind = kind_so_far;
        let literal = if let sink::Kind::Literal(word) = kind { Some(value_of(word)) } else { None };
        let in_object = match self.frames.last() {
            Some(frame) if frame.is_object => true,
            Some(_) => {
                self.prepare(x, at);
                self.prepared = false;
                false
            }
            None => {
                self.value_start = 0;
                self.push(Part::Node(x.plan.root), NOBODY, Via::Here, 0, true);
                self.expand_from(x, 0, bits, literal.as_ref(), at);
                return;
            }
        };
        self.begin(x, bits, literal.as_ref(), at);
        if in_object {
            self.settle_members(x, at);
        }
    }

    /// An item of the innermost array begins at `at`: what it must satisfy, asked once.
    fn prepare(&mut self, x: Context<'_>, at: usize) {
        let Some(frame) = self.frames.last().filter(|frame| !frame.is_object && !self.prepared) else {
            return;
        };
        if frame.count == 0 {
            self.promise_item(x, at);
        }
        self.next_item(x);
        self.prepared = true;
    }

    fn container_begin(&mut self, x: Context<'_>, is_object: bool) {
        let here = &self.cells[self.value_start..];
        let bit = report::bit(is_object);
        let keeps = here.iter().any(|cell| match cell.part {
            Part::Unique(_) => true,
            Part::Whole(check) => x.plan.checks[check as usize].kinds & bit != 0,
            _ => false,
        });
        let uniques = here.iter().filter(|cell| matches!(cell.part, Part::Unique(_))).count();
        if keeps || self.capture.is_active() {
            self.capture.begin(is_object);
        }
        let frame = Frame {
            is_object,
            start: u32::try_from(self.value_start).unwrap_or(0),
            end: u32::try_from(self.cells.len()).unwrap_or(0),
            count: 0,
            path_at: self.path.len(),
            uniques: self.uniques.len() - uniques,
            narrows: is_object && self.narrows(x),
            room: if is_object { self.room(x) } else { usize::MAX },
            judges_names: here.iter().any(|cell| matches!(cell.part, Part::Names(_))),
            settles: false,
            waits: is_object && here.iter().any(|cell| matches!(cell.part, Part::Later(_))),
            came: Vec::new(),
            names: (is_object && self.wants_names(x)).then(HashSet::new),
        };
        self.frames.push(frame);
        self.value_start = self.cells.len();
    }

    fn container_end(&mut self, x: Context<'_>, at: usize) {
        self.name_settles_choices(x, None);
        let Some(frame) = self.frames.last() else { return };
        let (start, end, count, is_object, uniques) =
            (frame.start, frame.end, frame.count, frame.is_object, frame.uniques);
        let path_at = frame.path_at;
        let kept = if self.capture.is_active() { self.capture.end() } else { None };
        // The keyword's branches before the schemas that they belong to.
        for index in (start..end).rev() {
            if !self.cells[index as usize].looks() {
                continue;
            }
            if let (Part::Whole(check), Some(value)) = (self.cells[index as usize].part, &kept) {
                let mut checker = Checker::new(x.plan, self.frames.len() - 1);
                checker.scope = self.scope_of(x, index);
                if x.plan.checks[check as usize].rule.check(&mut checker, value) {
                    self.pass(x, index, at);
                } else {
                    self.fail(x, index, Fault::Whole, at);
                }
                continue;
            }
            if is_object {
                self.members_end(x, index, count, at);
            } else {
                self.items_end(x, index, count, at);
            }
            self.close(x, index, at);
        }
        self.frames.pop();
        self.path.truncate(path_at);
        self.uniques.truncate(uniques);
        self.value_start = start as usize;
        self.value_end(x, kept, at);
    }

    /// The value at hand is whole.
    #[inline]
    fn value_end(&mut self, x: Context<'_>, kept: Option<Value>, at: usize) {
        if self.frames.is_empty() {
            return;
        }
        self.cells.truncate(self.value_start);
        if self.capture.is_active()
            && let Some(value) = kept
        {
            self.capture.add(value);
            self.item_kept(x, at);
        }
    }

    fn open_path(&self) -> Vec<Step> {
        (0..self.frames.len()).filter(|at| self.frames[*at].count > 0).map(|at| self.step(at)).collect()
    }

    /// The member or item that a frame is at.
    fn step(&self, at: usize) -> Step {
        let frame = &self.frames[at];
        let end = self.frames.get(at + 1).map_or(self.path.len(), |next| next.path_at);
        if frame.is_object { Step::key(&self.path[frame.path_at..end]) } else { Step::Index(frame.count - 1) }
    }
}
