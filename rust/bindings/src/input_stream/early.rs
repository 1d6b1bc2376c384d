//! The schema at work beside the builder of the value, and what it found as Python objects.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use toolhead_core::drivers::stream::{Follower, Holds};
use toolhead_core::issue::{Hop, Place, Step, schema_pointer};
use toolhead_core::json::Number;
use toolhead_core::json::sink::{Containers, Kind, Literal, Sink};
use toolhead_core::plan::Plan;

use super::live::{Builder, Live};
use crate::compiled::Compiled;
use crate::issue::Issue;

/// A plan's run, and the issues already given out.
pub(super) struct Early {
    pub(super) follower: Follower<Compiled>,
    issues: Vec<Py<PyAny>>,
}

impl Early {
    pub(super) fn new(compiled: Arc<Compiled>) -> Self {
        Self { follower: Follower::new(compiled), issues: Vec::new() }
    }

    /// The violations that are certain; each is the same object at every call.
    pub(super) fn issues<'py>(&mut self, py: Python<'py>, live: &Live) -> PyResult<Bound<'py, PyList>> {
        let compiled = Arc::clone(self.follower.host());
        for found in &self.follower.found()[self.issues.len()..] {
            let value = value_at(py, live, &compiled.plan, &found.issue.place);
            self.issues.push(Issue::certain(py, &compiled, found, value)?);
        }
        PyList::new(py, &self.issues)
    }

    /// Places in the schema of the branches that are not excluded for the value at a pointer.
    pub(super) fn live_branches(&self, path: &[Step]) -> Vec<String> {
        let places = self.follower.live_branches(path).unwrap_or_default();
        places.into_iter().map(|steps| schema_pointer(steps, &self.follower.host().plan)).collect()
    }
}

impl Holds for Compiled {
    fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// What stands at a place of the live value; its nearest container where nothing stands there yet.
fn value_at(py: Python<'_>, live: &Live, plan: &Plan, place: &Place) -> Py<PyAny> {
    let Some(root) = &live.root else { return py.None() };
    let mut value = root.bind(py).clone();
    for hop in place.hops() {
        let next = match hop {
            Hop::Index(index) => value.cast::<PyList>().ok().and_then(|array| array.get_item(index).ok()),
            name => {
                let name = name.name(plan).unwrap_or_default();
                value.cast::<PyDict>().ok().and_then(|object| object.get_item(name).ok().flatten())
            }
        };
        let Some(next) = next else { break };
        value = next;
    }
    value.unbind()
}

/// The builder of the value with a schema beside it.
pub(super) struct Judged<'live, 'py> {
    pub(super) builder: Builder<'live, 'py>,
    pub(super) follower: &'live mut Follower<Compiled>,
}

impl Judged<'_, '_> {
    /// Tells of a name that stands twice; `repeats` is the schema's answer, where it knows the name.
    #[inline]
    fn check_repeat(&mut self, key: &str, end: usize, repeats: Option<bool>) -> PyResult<()> {
        let is_repeated = match repeats {
            Some(known) => known,
            None => self.builder.live.is_repeated(self.builder.py)?,
        };
        if is_repeated {
            self.follower.repeated_key(key, end);
        }
        Ok(())
    }
}

impl Sink for Judged<'_, '_> {
    type Stop = PyErr;

    #[inline]
    fn value_begin(&mut self, kind: Kind, at: usize) -> PyResult<()> {
        self.follower.value_begin(kind, at);
        Ok(())
    }
    fn instead_of_string(&mut self, at: usize) -> PyResult<Containers> {
        Ok(self.follower.instead_of_string(at))
    }
    #[inline]
    fn comma(&mut self, at: usize) -> PyResult<()> {
        self.follower.comma(at);
        Ok(())
    }
    fn escape_begin(&mut self, at: usize) -> PyResult<()> {
        self.follower.escape_begin(at);
        Ok(())
    }
    fn escape_narrowed(&mut self, characters: RangeInclusive<u32>, at: usize) -> PyResult<()> {
        self.follower.escape_narrowed(&characters, at);
        Ok(())
    }
    #[inline]
    fn key_text(&mut self, piece: &str, from: Range<usize>) -> PyResult<()> {
        self.follower.key_text(piece, &from);
        Ok(())
    }
    fn object_begin(&mut self) -> PyResult<()> {
        self.follower.container_begin(true);
        self.builder.object_begin()
    }
    #[inline]
    fn key(&mut self, key: &str, end: usize) -> PyResult<()> {
        self.builder.key(key, end)?;
        let repeats = self.follower.key(key, end);
        self.check_repeat(key, end, repeats)
    }
    #[inline]
    fn whole_key(&mut self, key: &str, from: Range<usize>) -> PyResult<()> {
        let end = from.end + 1;
        self.builder.key(key, end)?;
        let repeats = self.follower.whole_key(key, &from);
        self.check_repeat(key, end, repeats)
    }
    fn object_end(&mut self, end: usize) -> PyResult<()> {
        self.follower.container_end(end);
        self.builder.object_end(end)
    }
    fn array_begin(&mut self) -> PyResult<()> {
        self.follower.container_begin(false);
        self.builder.array_begin()
    }
    fn array_end(&mut self, end: usize) -> PyResult<()> {
        self.follower.container_end(end);
        self.builder.array_end(end)
    }
    fn string_begin(&mut self) -> PyResult<()> {
        self.follower.string_begin();
        self.builder.string_begin()
    }
    #[inline]
    fn string_text(&mut self, piece: &str, from: Range<usize>) -> PyResult<()> {
        self.follower.string_text(piece, &from);
        self.builder.string_text(piece, from)
    }
    #[inline]
    fn string_text_more(&mut self, piece: &str, from: Range<usize>) -> PyResult<()> {
        self.follower.string_text(piece, &from);
        self.builder.string_text_more(piece, from)
    }
    fn string_end(&mut self, end: usize) -> PyResult<()> {
        self.follower.string_end(end);
        self.builder.string_end(end)
    }
    #[inline]
    fn string(&mut self, text: &str, from: Range<usize>) -> PyResult<()> {
        self.follower.string(text, &from);
        self.builder.string(text, from)
    }
    fn string_dropped(&mut self) -> PyResult<()> {
        self.builder.string_dropped()
    }
    #[inline]
    fn number(&mut self, number: Number<'_>, end: usize) -> PyResult<()> {
        self.follower.number(number, end);
        self.builder.number(number, end)
    }
    #[inline]
    fn literal(&mut self, literal: Literal, end: usize) -> PyResult<()> {
        self.follower.literal(literal, end);
        self.builder.literal(literal, end)
    }
}
