//! The live value: the sink that turns the tokenizer's events into Python objects while they grow.
//!
//! Containers are the same objects from their first byte on; a string is one object as long as nobody keeps it
//! (see `ffi::growing_str`). What changed is written down only once somebody has asked for changes.

use std::ops::Range;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toolhead_core::json::Number;
use toolhead_core::json::sink::{Literal, Sink};

use super::by_path::ByPath;
use super::changes::Changes;
use super::missing;
use super::place::Place;
use super::snapshot::snapshot;
use super::strings::Strings;
use super::walk::{Visit, walk};
use crate::ffi::growing_str::{self, GrowingStr};
use crate::ffi::path;

/// Bytes of text that wait for the end of a push; longer pieces are not worth a copy of their own.
const MOST_FRESH: usize = 512;
/// Bytes of a value that may come again soon.
const SHORT: usize = 12;

/// An open container and the place of its newest child.
pub(super) struct Frame {
    pub(super) container: Container,
    /// The key that came last, in an object.
    key: Option<Py<PyString>>,
    /// Items so far, in an array.
    count: usize,
    /// Where the container stands; known while changes are written down.
    path: Option<Py<PyTuple>>,
}

pub(super) enum Container {
    Object(Py<PyDict>),
    Array(Py<PyList>),
}

impl Container {
    pub(super) fn as_any(&self) -> &Py<PyAny> {
        match self {
            Self::Object(object) => object.as_any(),
            Self::Array(array) => array.as_any(),
        }
    }
}

impl Frame {
    /// The key or index of the newest child.
    pub(super) fn step<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.key {
            Some(key) => Ok(key.bind(py).clone().into_any()),
            None => Ok(self.count.saturating_sub(1).into_pyobject(py)?.into_any()),
        }
    }
}

/// The value so far.
#[derive(Default)]
pub(super) struct Live {
    /// None until anything is certain.
    pub(super) root: Option<Py<PyAny>>,
    pub(super) frames: Vec<Frame>,
    /// The string that is growing.
    pub(super) tip: Option<GrowingStr>,
    /// What stood under the same key before it.
    former: Option<Py<PyAny>>,
    /// What the present push adds to it: escapes cut text into small pieces, which are appended together.
    fresh: String,
    /// What is open when values arrive at paths.
    pub(super) by_path: Option<ByPath>,
    keys: Strings,
    /// Short values, which rows repeat as they do keys.
    values: Strings,
    changes: Option<Changes>,
}

impl Live {
    /// Whether the push has added text that is not appended yet.
    #[inline]
    pub(super) fn has_fresh_text(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// Appends what the push has added to the string that grows. Nobody may read it before.
    #[inline(never)]
    pub(super) fn settle_text(&mut self, py: Python<'_>) -> PyResult<()> {
        let Self { tip: Some(tip), fresh, frames, root, .. } = self else { return Ok(()) };
        let appended = tip.append(py, fresh, |text| put_again(frames, root, text));
        fresh.clear();
        appended
    }

    /// The changes being written down, if they are.
    pub(super) fn changes(&mut self) -> Option<&mut Changes> {
        self.changes.as_mut()
    }

    /// What changed since the last call.
    pub(super) fn take_changes<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        if self.changes.is_none() {
            self.write_down_changes(py)?;
        }
        let Some(changes) = &mut self.changes else { return Ok(PyList::empty(py)) };
        if let Some(tip) = &self.tip {
            changes.catch_up(py, tip)?;
        }
        changes.take(py)
    }

    /// From now on changes are written down; what is there already is the first of them.
    fn write_down_changes(&mut self, py: Python<'_>) -> PyResult<()> {
        let mut here = PyTuple::empty(py);
        for frame in &mut self.frames {
            let step = frame.step(py)?;
            frame.path = Some(here.clone().unbind());
            here = path::extended(&here, step)?;
        }
        let mut changes = Changes::default();
        if let Some(root) = &self.root {
            walk(self, root.bind(py), |visit, value, path, open| {
                let place = || Place::Path(path.clone().unbind());
                match &visit {
                    Visit::Begin => changes.begin(place(), value)?,
                    Visit::Leaf => changes.set(place(), value.clone())?,
                    Visit::End => {}
                }
                let ends = matches!(visit, Visit::End) || value.is_instance_of::<PyString>();
                if ends && !open { changes.close(place(), value.clone()) } else { Ok(()) }
            })?;
        }
        if let Some(tip) = &self.tip {
            changes.resume_text(Place::Path(here.unbind()), tip.length());
        }
        self.changes = Some(changes);
        Ok(())
    }

    /// Whether more may come into this container, which `depth` others enclose.
    pub(super) fn is_open_container(&self, depth: usize, container: &Bound<'_, PyAny>) -> bool {
        if let Some(by_path) = &self.by_path {
            return !by_path.ended;
        }
        self.frames.get(depth).is_some_and(|frame| frame.container.as_any().is(container))
    }

    /// Whether the value at `path`, which `depth` containers enclose, is the string that grows.
    pub(super) fn is_open_leaf(&self, depth: usize, path: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let py = path.py();
        if let Some(by_path) = &self.by_path {
            return by_path.is_open(path);
        }
        if self.tip.is_none() || depth != self.frames.len() {
            return Ok(false);
        }
        for (frame, step) in self.frames.iter().zip(path.iter_borrowed()) {
            if !frame.step(py)?.eq(step)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the key that has just come stands in its object already.
    #[inline]
    pub(super) fn is_repeated(&self, py: Python<'_>) -> PyResult<bool> {
        match self.frames.last() {
            Some(Frame { container: Container::Object(object), key: Some(key), .. }) => {
                object.bind(py).contains(key)
            }
            _ => Ok(false),
        }
    }

    /// Where the newest value stands, while changes are written down.
    #[inline]
    fn newest_place(&self, py: Python<'_>) -> Place {
        match self.frames.last() {
            Some(Frame { path: Some(parent), key: Some(key), .. }) => {
                Place::Member(parent.clone_ref(py), key.clone_ref(py))
            }
            Some(Frame { path: Some(parent), count, .. }) => {
                Place::Item(parent.clone_ref(py), count.saturating_sub(1))
            }
            _ => Place::Path(PyTuple::empty(py).unbind()),
        }
    }

    /// Writes a change of the newest value down, if anybody wants changes.
    #[inline]
    fn note(
        &mut self,
        py: Python<'_>,
        note: impl FnOnce(&mut Changes, Place) -> PyResult<()>,
    ) -> PyResult<()> {
        if self.changes.is_none() {
            return Ok(());
        }
        let place = self.newest_place(py);
        self.changes.as_mut().map_or(Ok(()), |changes| note(changes, place))
    }

    /// Puts a new value where the text stands.
    #[inline]
    fn put(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        match self.frames.last_mut() {
            None => self.root = Some(value.clone().unbind()),
            Some(Frame { container: Container::Object(object), key: Some(key), .. }) => {
                object.bind(py).set_item(&*key, value)?;
            }
            Some(Frame { container: Container::Array(array), count, .. }) => {
                array.bind(py).append(value)?;
                *count += 1;
            }
            Some(_) => return Err(without_key()),
        }
        Ok(())
    }

    /// The string that grows is none: it is taken out, and what its key had before is back.
    #[cold]
    fn drop_text(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.tip.take().is_none() {
            return Ok(());
        }
        self.fresh.clear();
        let former = self.former.take();
        take_out(py, &mut self.frames, &mut self.root, former)?;
        let Some(changes) = &mut self.changes else { return Ok(()) };
        let (path, rest) = match self.frames.last() {
            Some(Frame { path: Some(path), container, .. }) => {
                (path.clone_ref(py), snapshot(container.as_any().bind(py))?)
            }
            _ => (PyTuple::empty(py).unbind(), missing(py)?.into_any()),
        };
        changes.drop_text(Place::Path(path), rest)
    }
}

/// Takes the newest value out again; `former` stood in its place before.
#[cold]
fn take_out(
    py: Python<'_>,
    frames: &mut [Frame],
    root: &mut Option<Py<PyAny>>,
    former: Option<Py<PyAny>>,
) -> PyResult<()> {
    match frames.last_mut() {
        None => *root = None,
        Some(Frame { container: Container::Object(object), key: Some(key), .. }) => match former {
            Some(former) => object.bind(py).set_item(&*key, former)?,
            None => object.bind(py).del_item(&*key).map_err(|_| changed_by_reader())?,
        },
        Some(Frame { container: Container::Object(_), .. }) => return Err(without_key()),
        Some(Frame { container: Container::Array(array), count, .. }) => {
            *count -= 1;
            array.bind(py).del_item(*count).map_err(|_| changed_by_reader())?;
        }
    }
    Ok(())
}

fn without_key() -> PyErr {
    PyRuntimeError::new_err("a member has no key")
}

fn changed_by_reader() -> PyErr {
    PyRuntimeError::new_err("the live value of the stream was changed by its reader: use snapshot()")
}

/// Puts the newest value again, as another object.
fn put_again(frames: &[Frame], root: &mut Option<Py<PyAny>>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = value.py();
    match frames.last() {
        None => *root = Some(value.clone().unbind()),
        Some(Frame { container: Container::Object(object), key: Some(key), .. }) => {
            object.bind(py).set_item(key, value)?;
        }
        Some(Frame { container: Container::Object(_), .. }) => return Err(without_key()),
        Some(Frame { container: Container::Array(array), count, .. }) => {
            array.bind(py).set_item(*count - 1, value).map_err(|_| changed_by_reader())?;
        }
    }
    Ok(())
}

/// [`Live`] as a sink, while this thread is attached to Python.
pub(super) struct Builder<'live, 'py> {
    pub(super) live: &'live mut Live,
    pub(super) py: Python<'py>,
}

impl Builder<'_, '_> {
    #[inline]
    fn scalar(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.live.put(value)?;
        self.live.note(self.py, |changes, place| changes.set(place, value.clone()))
    }

    fn begin(&mut self, container: Container, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.live.put(value)?;
        let mut path = None;
        self.live.note(self.py, |changes, place| {
            let here = place.path(self.py)?.unbind();
            path = Some(here.clone_ref(self.py));
            changes.begin(Place::Path(here), value)
        })?;
        self.live.frames.push(Frame { container, key: None, count: 0, path });
        Ok(())
    }

    #[inline]
    fn end(&mut self) -> PyResult<()> {
        if let Some(frame) = self.live.frames.pop()
            && let (Some(changes), Some(path)) = (&mut self.live.changes, frame.path)
        {
            changes.close(Place::Path(path), frame.container.as_any().bind(self.py).clone())?;
        }
        Ok(())
    }
}

impl Sink for Builder<'_, '_> {
    type Stop = PyErr;

    fn object_begin(&mut self) -> PyResult<()> {
        let object = PyDict::new(self.py);
        self.begin(Container::Object(object.clone().unbind()), object.as_any())
    }

    #[inline]
    fn key(&mut self, key: &str, _end: usize) -> PyResult<()> {
        let key = self.live.keys.get(self.py, key)?.unbind();
        if let Some(frame) = self.live.frames.last_mut() {
            frame.key = Some(key);
        }
        Ok(())
    }

    fn object_end(&mut self, _end: usize) -> PyResult<()> {
        self.end()
    }

    fn array_begin(&mut self) -> PyResult<()> {
        let array = PyList::empty(self.py);
        self.begin(Container::Array(array.clone().unbind()), array.as_any())
    }

    fn array_end(&mut self, _end: usize) -> PyResult<()> {
        self.end()
    }

    fn string_begin(&mut self) -> PyResult<()> {
        let tip = GrowingStr::new(self.py)?;
        self.live.former = match self.live.frames.last() {
            Some(Frame { container: Container::Object(object), key: Some(key), .. }) => {
                object.bind(self.py).get_item(key)?.map(Bound::unbind)
            }
            _ => None,
        };
        self.live.put(tip.text(self.py).as_any())?;
        self.live.tip = Some(tip);
        self.live.note(self.py, |changes, place| {
            changes.begin_text(place);
            Ok(())
        })
    }

    #[inline]
    fn string_text(&mut self, piece: &str, _from: Range<usize>) -> PyResult<()> {
        if self.live.has_fresh_text() {
            if self.live.fresh.len() + piece.len() <= MOST_FRESH {
                self.live.fresh.push_str(piece);
                return self.live.settle_text(self.py);
            }
            self.live.settle_text(self.py)?;
        }
        let Live { tip: Some(tip), frames, root, .. } = &mut *self.live else { return Ok(()) };
        tip.append(self.py, piece, |text| put_again(frames, root, text))
    }

    #[inline]
    fn string_text_more(&mut self, piece: &str, from: Range<usize>) -> PyResult<()> {
        if self.live.fresh.len() + piece.len() > MOST_FRESH {
            return self.string_text(piece, from);
        }
        self.live.fresh.push_str(piece);
        Ok(())
    }

    fn string_end(&mut self, _end: usize) -> PyResult<()> {
        if self.live.has_fresh_text() {
            self.live.settle_text(self.py)?;
        }
        let Some(tip) = self.live.tip.take() else { return Ok(()) };
        self.live.former = None;
        if let Some(changes) = &mut self.live.changes {
            changes.catch_up_begun(self.py, &tip)?;
        }
        let Live { frames, root, .. } = &mut *self.live;
        let text = tip.finish(self.py, |text| put_again(frames, root, text))?;
        match &mut self.live.changes {
            Some(changes) => changes.end_text(&text),
            None => Ok(()),
        }
    }

    fn string_dropped(&mut self) -> PyResult<()> {
        self.live.drop_text(self.py)
    }

    #[inline]
    fn string(&mut self, text: &str, _from: Range<usize>) -> PyResult<()> {
        let text = if text.len() <= SHORT {
            self.live.values.get(self.py, text)?
        } else {
            growing_str::whole(self.py, text)?
        };
        self.live.put(text.as_any())?;
        self.live.note(self.py, |changes, place| {
            changes.set(place.clone_ref(self.py), text.clone().into_any())?;
            changes.close(place, text.into_any())
        })
    }

    #[inline]
    fn number(&mut self, number: Number<'_>, _end: usize) -> PyResult<()> {
        match number {
            Number::Integer(value) => self.scalar(value.into_pyobject(self.py)?.as_any()),
            Number::Float(value) => self.scalar(PyFloat::new(self.py, value).as_any()),
            Number::BigInteger(digits) => {
                let value = big_integer(self.py, digits)?;
                self.scalar(&value)
            }
        }
    }

    #[inline]
    fn literal(&mut self, literal: Literal, _end: usize) -> PyResult<()> {
        match literal {
            Literal::True => self.scalar(PyBool::new(self.py, true).as_any()),
            Literal::False => self.scalar(PyBool::new(self.py, false).as_any()),
            Literal::Null => self.scalar(self.py.None().bind(self.py)),
        }
    }
}

/// An `int` from decimal digits. Through base 16, which the interpreter's limit on digits does not concern: ours
/// has been applied, and theirs may be set lower.
fn big_integer<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
    let value: num_bigint::BigInt =
        digits.parse().map_err(|_| PyRuntimeError::new_err("an integer without digits"))?;
    py.get_type::<PyInt>().call1((format!("{value:x}"), 16))
}
