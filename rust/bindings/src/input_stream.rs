//! `InputStream`: tool arguments while they arrive (public API, section 5).
//!
//! All state sits behind one lock that is never waited for: code that a push runs by chance (a finalizer) and a
//! second thread get an error instead of a torn value.

mod changes;
mod keys;
mod live;
mod missing;
mod place;
mod snapshot;
mod walk;

use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use toolhead_core::json::fault::Fault;
use toolhead_core::json::partial::{Refusal, Tokenizer};
use toolhead_core::limits::Limits;

pub(crate) use changes::Change;
pub(crate) use missing::missing;

use live::{Builder, Live};
use walk::walk;

/// What is behind the lock.
struct State {
    tokenizer: Tokenizer,
    live: Live,
    /// The first half of a surrogate pair whose second half may come with the next `str`.
    half: Option<u16>,
    /// Nothing may be pushed any more, and why.
    ended: Option<&'static str>,
}

#[pyclass(frozen, module = "toolhead._core")]
pub(crate) struct InputStream {
    state: Mutex<State>,
    validator: Option<Py<PyAny>>,
}

#[pymethods]
impl InputStream {
    #[new]
    #[pyo3(signature = (validator=None, *, repair=None))]
    fn new(validator: Option<Bound<'_, PyAny>>, repair: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        if let Some(repair) = repair {
            for name in repair.try_iter()? {
                return Err(PyValueError::new_err(format!("unknown repair: {}", name?.repr()?)));
            }
        }
        let validator = validator.filter(|validator| !validator.is_none());
        if let Some(validator) = &validator
            && !validator.hasattr("validate")?
        {
            return Err(PyTypeError::new_err("validator: expected a Validator or None"));
        }
        let state = State {
            tokenizer: Tokenizer::new(Limits::default()),
            live: Live::default(),
            half: None,
            ended: None,
        };
        Ok(Self { state: Mutex::new(state), validator: validator.map(Bound::unbind) })
    }

    fn push<'py>(&self, delta: &Bound<'py, PyAny>) -> PyResult<&'py Bound<'py, PyString>> {
        let mut state = self.state()?;
        state.take(delta)?;
        Ok(state.name(delta.py()))
    }

    fn push_many<'py>(&self, deltas: &Bound<'py, PyAny>) -> PyResult<&'py Bound<'py, PyString>> {
        if deltas.is_instance_of::<PyString>() || deltas.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err("push_many() takes an iterable of deltas; one delta goes to push()"));
        }
        for delta in deltas.try_iter()? {
            self.state()?.take(&delta?)?;
        }
        Ok(self.state()?.name(deltas.py()))
    }

    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.state()?.live.root {
            Some(root) => Ok(root.bind(py).clone()),
            None => Ok(missing(py)?.into_any()),
        }
    }

    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.state()?.live.root {
            Some(root) => snapshot::snapshot(root.bind(py)),
            None => Ok(missing(py)?.into_any()),
        }
    }

    fn changes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.state()?.live.take_changes(py)
    }

    #[getter]
    fn completed(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let state = self.state()?;
        let mut completed = Vec::new();
        let Some(root) = &state.live.root else { return Ok(completed) };
        walk(&state.live, root.bind(py), |_, _, path, open| {
            if !open {
                completed.push(pointer(path)?);
            }
            Ok(())
        })?;
        Ok(completed)
    }

    #[getter]
    fn issues<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        PyList::empty(py)
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = {
            let mut state = self.state()?;
            let State { tokenizer, live, ended, .. } = &mut *state;
            ended.get_or_insert("the stream is finished");
            match tokenizer.finish(&mut Builder { live, py }) {
                Ok(()) => {}
                Err(Refusal::Fault(fault)) => return Err(decode_error(py, fault)),
                Err(Refusal::Stop(error)) => return Err(error),
            }
            live.root.as_ref().map(|root| root.bind(py).clone())
        };
        let value = value.ok_or_else(|| PyRuntimeError::new_err("a finished text has no value"))?;
        match &self.validator {
            Some(validator) => validator.bind(py).call_method1(intern!(py, "validate"), (value,)),
            None => Ok(value),
        }
    }
}

impl InputStream {
    #[inline]
    fn state(&self) -> PyResult<MutexGuard<'_, State>> {
        self.state.try_lock().map_err(|_| {
            PyRuntimeError::new_err("the stream is being used by another thread, or by code that it runs itself")
        })
    }
}

impl State {
    /// Reads one delta; text that is no JSON shows in the state, not as an error.
    #[inline]
    fn take(&mut self, delta: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Some(why) = self.ended {
            return Err(PyRuntimeError::new_err(why));
        }
        let mut builder = Builder { live: &mut self.live, py: delta.py() };
        let outcome = if let Ok(text) = delta.cast::<PyString>() {
            match text.to_str() {
                Ok(text) if self.half.is_none() => self.tokenizer.push(text, &mut builder),
                _ => self.take_units(text),
            }
        } else if self.half.is_some() {
            self.tokenizer.push_half(&mut builder)
        } else if let Ok(bytes) = delta.cast::<PyBytes>() {
            self.tokenizer.push_bytes(bytes.as_bytes(), &mut builder)
        } else {
            let given = delta.get_type().name()?;
            return Err(PyTypeError::new_err(format!("a delta is str or bytes, not {given}")));
        };
        match outcome {
            Ok(()) | Err(Refusal::Fault(_)) => Ok(()),
            Err(Refusal::Stop(error)) => {
                self.ended = Some("an earlier push failed");
                Err(error)
            }
        }
    }

    /// Text with surrogates in it, as decoders of UTF-16 leave them when they cut a pair in two: the halves of two
    /// deltas are joined, a half alone is refused.
    #[cold]
    fn take_units(&mut self, text: &Bound<'_, PyString>) -> Result<(), Refusal<PyErr>> {
        let units = utf16(text).map_err(Refusal::Stop)?;
        let mut builder = Builder { live: &mut self.live, py: text.py() };
        let mut units = self.half.take().into_iter().chain(units).peekable();
        while let Some(unit) = units.next() {
            if matches!(unit, 0xD800..=0xDBFF) && units.peek().is_none() && self.tokenizer.is_in_text() {
                self.half = Some(unit);
                break;
            }
            let low = units.next_if(|low| matches!((unit, low), (0xD800..=0xDBFF, 0xDC00..=0xDFFF)));
            match char::decode_utf16(std::iter::once(unit).chain(low)).next() {
                Some(Ok(character)) => {
                    self.tokenizer.push(character.encode_utf8(&mut [0; 4]), &mut builder)?;
                }
                _ => return self.tokenizer.push_half(&mut builder),
            }
        }
        Ok(())
    }

    /// The state as Python sees it.
    #[inline]
    fn name<'py>(&self, py: Python<'py>) -> &'py Bound<'py, PyString> {
        if self.tokenizer.fault().is_some() {
            intern!(py, "rejected")
        } else if self.tokenizer.is_complete() {
            intern!(py, "complete")
        } else {
            intern!(py, "open")
        }
    }
}

fn utf16(text: &Bound<'_, PyString>) -> PyResult<Vec<u16>> {
    let encoded = text.call_method1(intern!(text.py(), "encode"), ("utf-16-le", "surrogatepass"))?;
    let (pairs, _) = encoded.cast::<PyBytes>()?.as_bytes().as_chunks::<2>();
    Ok(pairs.iter().map(|&pair| u16::from_le_bytes(pair)).collect())
}

/// A path as a JSON Pointer (RFC 6901).
fn pointer(path: &Bound<'_, PyTuple>) -> PyResult<String> {
    let mut pointer = String::new();
    for step in path.iter_borrowed() {
        pointer.push('/');
        pointer.push_str(&step.str()?.to_str()?.replace('~', "~0").replace('/', "~1"));
    }
    Ok(pointer)
}

/// `toolhead.errors.DecodeError` for a fault of the text.
fn decode_error(py: Python<'_>, fault: Fault) -> PyErr {
    let make = || {
        let place = PyDict::new(py);
        place.set_item("offset", fault.offset)?;
        place.set_item("line", fault.line)?;
        place.set_item("column", fault.column)?;
        place.set_item("is_incomplete", fault.is_incomplete())?;
        let class = py.import("toolhead.errors")?.getattr("DecodeError")?;
        class.call((fault.to_string(),), Some(&place))
    };
    make().map_or_else(|error| error, PyErr::from_value)
}
