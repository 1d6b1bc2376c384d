//! Values that arrive at paths instead of as text, as some providers send them (public API, section 5).
//!
//! Paths say where, not when something ends: containers stay open until `finish`, strings until they are closed.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toolhead_core::json::fault::{Fault, FaultKind, Open};
use toolhead_core::limits::Limits;

use super::live::Live;
use super::place::Place;
use crate::ffi::growing_str::GrowingStr;

/// A string that may grow, and where it lies.
struct OpenString {
    path: Py<PyTuple>,
    parent: Option<Py<PyAny>>,
    text: GrowingStr,
}

/// The strings not yet closed, the newest last, and the bytes that came.
#[derive(Default)]
pub(super) struct ByPath {
    open: Vec<OpenString>,
    received: usize,
    /// Nothing more comes: containers are finished too.
    pub(super) ended: bool,
}

impl ByPath {
    /// Ends the values; a string that was not closed is a fault.
    pub(super) fn finish(&mut self) -> Option<Fault> {
        if self.open.is_empty() {
            self.ended = true;
            return None;
        }
        let (kind, offset) = (FaultKind::UnexpectedEnd(Open::String), self.received);
        Some(Fault { kind, offset, line: 1, column: offset + 1 })
    }

    /// Whether the string at this path is still open.
    pub(super) fn is_open(&self, path: &Bound<'_, PyTuple>) -> PyResult<bool> {
        Ok(self.position(path)?.is_some())
    }

    fn position(&self, path: &Bound<'_, PyTuple>) -> PyResult<Option<usize>> {
        for (index, open) in self.open.iter().enumerate().rev() {
            if open.path.bind(path.py()).eq(path)? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Sets a value at a path, or appends to the string there.
    pub(super) fn push(
        &mut self,
        live: &mut Live,
        path: &Bound<'_, PyAny>,
        content: &Bound<'_, PyAny>,
        closed: bool,
    ) -> PyResult<()> {
        let path = checked_path(path)?;
        let text = content.cast::<PyString>().ok().map(Bound::to_str).transpose();
        let text = text.map_err(|_| PyValueError::new_err("the text holds half of a surrogate pair"))?;
        if let Some(text) = text {
            if text.len() > Limits::default().text_length - self.received {
                return Err(PyValueError::new_err("the text of the stream is too long"));
            }
            self.received += text.len();
        } else {
            check_value(content)?;
        }
        match (self.position(&path)?, text) {
            (Some(index), Some(text)) => self.append(live, index, text, content.cast::<PyString>()?)?,
            (None, Some(text)) => self.begin(live, &path, text)?,
            (Some(_), None) => return Err(misplaced(&path, "a string that is not closed stands there")),
            (None, None) => {
                let place = Place::Path(path.clone().unbind());
                if is_container(content) {
                    put_new(live, &path, &empty_like(content))?;
                    live.changes().map_or(Ok(()), |changes| changes.begin(place, content))?;
                } else {
                    put_new(live, &path, content)?;
                    live.changes().map_or(Ok(()), |changes| changes.set(place, content.clone()))?;
                }
            }
        }
        if closed && text.is_some() { self.close(live, &path) } else { Ok(()) }
    }

    fn begin(&mut self, live: &mut Live, path: &Bound<'_, PyTuple>, text: &str) -> PyResult<()> {
        let py = path.py();
        let mut string = GrowingStr::new(py)?;
        string.append(py, text, |_| Ok(()))?;
        let parent = put_new(live, path, string.text(py).as_any())?;
        if let Some(changes) = live.changes() {
            changes.set(Place::Path(path.clone().unbind()), PyString::new(py, text).into_any())?;
        }
        self.open.push(OpenString {
            path: path.clone().unbind(),
            parent: parent.map(Bound::unbind),
            text: string,
        });
        Ok(())
    }

    fn append(
        &mut self,
        live: &mut Live,
        index: usize,
        text: &str,
        delta: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        let py = delta.py();
        let open = &mut self.open[index];
        let OpenString { path, parent, text: string } = open;
        string.append(py, text, |text| replace(live, path.bind(py), parent.as_ref(), text))?;
        match live.changes() {
            Some(changes) if !text.is_empty() => {
                changes.append(Place::Path(open.path.clone_ref(py)), delta.clone())
            }
            _ => Ok(()),
        }
    }

    fn close(&mut self, live: &mut Live, path: &Bound<'_, PyTuple>) -> PyResult<()> {
        let Some(index) = self.position(path)? else { return Ok(()) };
        let OpenString { path: place, parent, text } = self.open.remove(index);
        let text = text.finish(path.py(), |text| replace(live, path, parent.as_ref(), text))?;
        match live.changes() {
            Some(changes) => changes.close(Place::Path(place), text.into_any()),
            None => Ok(()),
        }
    }
}

/// Puts the string of a path again, as another object.
fn replace(
    live: &mut Live,
    path: &Bound<'_, PyTuple>,
    parent: Option<&Py<PyAny>>,
    text: &Bound<'_, PyAny>,
) -> PyResult<()> {
    match parent {
        None => live.root = Some(text.clone().unbind()),
        Some(parent) => parent.bind(path.py()).set_item(path.get_item(path.len() - 1)?, text)?,
    }
    Ok(())
}

/// Puts a value where none is yet, with the containers on the way; returns its container.
fn put_new<'py>(
    live: &mut Live,
    path: &Bound<'py, PyTuple>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut parent: Option<Bound<'py, PyAny>> = None;
    for depth in 0..path.len() {
        let here = path.get_slice(0, depth);
        let step = path.get_item(depth)?;
        let child = if let Some(child) = present(live, parent.as_ref(), &here)? {
            child
        } else {
            let container = container_for(&step);
            put(live, parent.as_ref(), &here, &container)?;
            if let Some(changes) = live.changes() {
                changes.begin(Place::Path(here.clone().unbind()), &container)?;
            }
            container
        };
        let fits = if step.is_instance_of::<PyString>() {
            child.is_instance_of::<PyDict>()
        } else {
            child.is_instance_of::<PyList>()
        };
        if !fits {
            return Err(misplaced(path, &format!("the value at {} is of another type", here.repr()?)));
        }
        parent = Some(child);
    }
    if present(live, parent.as_ref(), path)?.is_some() {
        return Err(misplaced(path, "the value there is finished"));
    }
    put(live, parent.as_ref(), path, value)?;
    Ok(parent)
}

/// An empty container that has this step.
fn container_for<'py>(step: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    if step.is_instance_of::<PyString>() {
        PyDict::new(step.py()).into_any()
    } else {
        PyList::empty(step.py()).into_any()
    }
}

/// The value at a path, whose container is `parent`.
fn present<'py>(
    live: &Live,
    parent: Option<&Bound<'py, PyAny>>,
    path: &Bound<'py, PyTuple>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(parent) = parent else {
        return Ok(live.root.as_ref().map(|root| root.bind(path.py()).clone()));
    };
    let step = path.get_item(path.len() - 1)?;
    match parent.cast::<PyDict>() {
        Ok(object) => object.get_item(step),
        Err(_) => Ok(parent.cast::<PyList>()?.get_item(step.extract()?).ok()),
    }
}

fn put(
    live: &mut Live,
    parent: Option<&Bound<'_, PyAny>>,
    path: &Bound<'_, PyTuple>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let Some(parent) = parent else {
        live.root = Some(value.clone().unbind());
        return Ok(());
    };
    let step = path.get_item(path.len() - 1)?;
    if let Ok(object) = parent.cast::<PyDict>() {
        return object.set_item(step, value);
    }
    let array = parent.cast::<PyList>()?;
    if step.extract::<usize>()? != array.len() {
        return Err(misplaced(path, &format!("the next index of that array is {}", array.len())));
    }
    array.append(value)
}

fn misplaced(path: &Bound<'_, PyTuple>, why: &str) -> PyErr {
    PyValueError::new_err(format!("path {path}: {why}"))
}

/// A container of the caller's kind that is the stream's own.
fn empty_like<'py>(container: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    if container.is_instance_of::<PyDict>() {
        PyDict::new(container.py()).into_any()
    } else {
        PyList::empty(container.py()).into_any()
    }
}

fn is_container(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyDict>() || value.is_instance_of::<PyList>()
}

fn checked_path<'py>(path: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    let wrong = || PyTypeError::new_err("a path is a tuple or list of keys (str) and indices (int, from 0)");
    let path = match path.cast::<PyList>() {
        Ok(list) => list.to_tuple(),
        Err(_) => path.cast::<PyTuple>().map_err(|_| wrong())?.clone(),
    };
    if path.len() >= Limits::default().depth {
        return Err(PyValueError::new_err("the path is too deep"));
    }
    for step in path.iter_borrowed() {
        let index = step.is_instance_of::<PyInt>() && !step.is_instance_of::<PyBool>();
        let key = step.is_instance_of::<PyString>();
        if key || (index && step.extract::<usize>().is_ok()) {
            continue;
        }
        return Err(wrong());
    }
    Ok(path)
}

/// What is not text must be whole: a number, a boolean, None, or a container that is empty so far.
fn check_value(value: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Ok(number) = value.cast::<PyFloat>() {
        if number.extract::<f64>()?.is_finite() {
            return Ok(());
        }
        return Err(PyValueError::new_err("a number must be finite"));
    }
    if value.is_none() || value.is_instance_of::<PyInt>() || (is_container(value) && value.len()? == 0) {
        return Ok(());
    }
    let given = value.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "a value at a path is str, int, float, bool, None or an empty dict or list, not {given}"
    )))
}
