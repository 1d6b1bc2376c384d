//! `InputStream`: tool arguments while they arrive (public API, section 5).
//!
//! All state sits behind one lock that is never waited for: code that a push runs by chance (a finalizer) and a
//! second thread get an error instead of a torn value.

mod by_path;
mod changes;
mod early;
mod feed;
mod live;
mod missing;
mod place;
mod snapshot;
mod strings;
mod walk;

use std::sync::{Arc, Mutex, MutexGuard};

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use toolhead_core::drivers::stream::Status;
use toolhead_core::issue::Step;
use toolhead_core::json::fault::Fault;
use toolhead_core::json::partial::{Refusal, Tokenizer};
use toolhead_core::json::repair::{Repair, Repairs};
use toolhead_core::limits::Limits;

use crate::errors;
use crate::validator::Validator;

pub(crate) use changes::Change;
pub(crate) use missing::{Missing, missing};

use early::{Early, Judged};
use feed::feed;
use live::{Builder, Live};
use walk::walk;

/// Why a finished stream takes nothing more.
const FINISHED: &str = "the stream is finished";

/// What is behind the lock.
struct State {
    tokenizer: Tokenizer,
    live: Live,
    /// The schema at work, unless every value is right.
    early: Option<Early>,
    /// The first half of a surrogate pair whose second half may come with the next `str`.
    half: Option<u16>,
    /// No text came and the schema wants an object: the value is an empty one.
    was_empty: bool,
    /// Nothing may be pushed any more, and why.
    ended: Option<&'static str>,
}

/// The arguments of one call while they arrive: text in, a live value out.
///
/// The total cost is linear in the text whatever the deltas, and any cut of the text gives the same result. Text that is
/// no JSON makes the state "rejected"; what came before it stays readable, and `finish()` says what was wrong and where.
///
/// Nothing shown is taken back, with two exceptions. Of a repeated key without a schema the last value wins. And a string
/// with an escape that JSON does not know (and that no repair keeps) is no part of the value from that byte on: the item
/// is gone, or the member, whose key has the value of an earlier member of that name again; where the string is the whole
/// value, nothing is left.
///
/// One owner at a time: threads that push to one stream each get their deltas in whole, in an open order.
///
/// With a validator the schema works along: the state is "rejected" from the byte on after which no text can make the
/// value valid, and `issues` tells why; the value goes on growing. A part of a schema that cannot be decided early
/// (a regular expression that needs an engine, `format`, `unevaluated*`) is decided at the end of its value.
///
/// Args:
///     validator: judges the value; None accepts every JSON value.
///     repair: names of repairs to make on the way; none by default. Of "fences", "single-quotes", "python-literals",
///         "control-characters", "trailing-commas", "unquoted-keys", "unknown-escapes" and "double-encoding": a string
///         of JSON text is read as the object or array that it is, where the schema can accept such a one and no
///         string.
///
/// Raises:
///     ValueError: an unknown name in `repair`; or double-encoding without a `Validator`.
#[pyclass(frozen, module = "toolhead._core")]
pub(crate) struct InputStream {
    state: Mutex<State>,
    validator: Option<Py<PyAny>>,
}

#[pymethods]
impl InputStream {
    #[new]
    #[pyo3(signature = (validator=None, *, repair=None), text_signature = "(validator=None, *, repair=())")]
    pub(crate) fn new(
        validator: Option<Bound<'_, PyAny>>,
        repair: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let repairs = repair.map_or_else(|| Ok(Repairs::default()), |names| asked_repairs(&names))?;
        let validator = validator.filter(|validator| !validator.is_none());
        if let Some(validator) = &validator
            && !validator.hasattr("validate")?
        {
            return Err(PyTypeError::new_err("validator: expected a Validator or None"));
        }
        let native = validator.as_ref().and_then(|validator| validator.cast::<Validator>().ok());
        if native.is_none() && repairs.asks(Repair::DoubleEncoding) {
            return Err(PyValueError::new_err(
                "repair: double-encoding needs a Validator, whose schema proves it",
            ));
        }
        let limits = native.map_or_else(Limits::default, |validator| validator.get().limits());
        let state = State {
            tokenizer: Tokenizer::new(limits, repairs),
            live: Live::default(),
            early: native.map(|validator| Early::new(Arc::clone(validator.get().compiled()))),
            half: None,
            was_empty: false,
            ended: None,
        };
        Ok(Self { state: Mutex::new(state), validator: validator.map(Bound::unbind) })
    }

    /// Reads the next delta.
    ///
    /// Args:
    ///     delta: text, or UTF-8 bytes, which may be cut inside a character.
    ///
    /// Returns:
    ///     "open"; "certain" when the value will be valid whatever follows; "complete" when the whole value is there; or
    ///     "rejected" when no text can make it valid any more. A stream whose text is no JSON ignores what follows; one
    ///     that the schema rejects reads on.
    ///
    /// Raises:
    ///     TypeError: neither str nor bytes.
    ///     RuntimeError: the stream is finished, or in use.
    ///     ValueError: the stream is fed by `push_path`.
    fn push<'py>(&self, delta: &Bound<'py, PyAny>) -> PyResult<&'py Bound<'py, PyString>> {
        let mut state = self.state()?;
        state.take(delta)?;
        Ok(state.name(delta.py()))
    }

    /// Reads several deltas, for less than a `push` each; otherwise like it.
    ///
    /// Args:
    ///     deltas: an iterable of str or bytes.
    fn push_many<'py>(&self, deltas: &Bound<'py, PyAny>) -> PyResult<&'py Bound<'py, PyString>> {
        if deltas.is_instance_of::<PyString>() || deltas.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err(
                "push_many() takes an iterable of deltas; one delta goes to push()",
            ));
        }
        for delta in deltas.try_iter()? {
            self.state()?.take(&delta?)?;
        }
        Ok(self.state()?.name(deltas.py()))
    }

    /// Takes a value, or a piece of a string, at a path: for providers that send no JSON text. A validator judges such
    /// a value when it is finished, not on the way.
    ///
    /// Args:
    ///     path: keys and indices from the root; missing containers on the way are made.
    ///     `value_or_text`: text is appended to the string at `path`, which begins with the first piece; an int, float,
    ///         bool or None is set; an empty dict or list begins a container.
    ///     closed: the string is finished. Everything else is finished when it is set.
    ///
    /// Raises:
    ///     ValueError: the path contradicts what is there, or leaves a gap in an array; or text was pushed.
    ///     TypeError: a path or value of another type.
    fn push_path<'py>(
        &self,
        path: &Bound<'py, PyAny>,
        value_or_text: &Bound<'py, PyAny>,
        closed: bool,
    ) -> PyResult<&'py Bound<'py, PyString>> {
        let mut state = self.state()?;
        state.take_at(path, value_or_text, closed)?;
        Ok(state.name(path.py()))
    }

    /// The value so far, `MISSING` before anything is certain: one live object that later pushes go on filling.
    ///
    /// Reading it is free, at every push. A reader who keeps a *growing string* of it over the next push makes the
    /// stream copy that string, once a push; so to follow a long text, use `changes()`, which stays linear. Do not
    /// change the value, and take a `snapshot()` for another thread or for later.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.state()?.live.root {
            Some(root) => Ok(root.bind(py).clone()),
            None => Ok(missing(py)?.into_any()),
        }
    }

    /// An independent copy of the value so far; costs the size of the value.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.state()?.live.root {
            Some(root) => snapshot::snapshot(root.bind(py)),
            None => Ok(missing(py)?.into_any()),
        }
    }

    /// What changed since the last call, oldest first; at the first call, since the beginning.
    ///
    /// Replayed onto an empty root, the changes give the value. The pieces of a string are merged up to the call. A string
    /// that has been told and is no part of the value any more is followed by one last "set" of its container as it is
    /// without it, of the root to `MISSING` if there is none.
    fn changes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.state()?.live.take_changes(py)
    }

    /// JSON Pointers of the values that are finished, children before their containers; costs the size of the value.
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

    /// Violations of the schema that are certain already, each with the `offset` of the byte that made it so; at most
    /// as many as the limit of the validator. `finish()` lists those of the whole value.
    #[getter]
    fn issues<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut state = self.state()?;
        let State { early, live, .. } = &mut *state;
        early.as_mut().map_or_else(|| Ok(PyList::empty(py)), |early| early.issues(py, live))
    }

    /// The branches of `anyOf` and `oneOf` that a value which is still open may yet satisfy.
    ///
    /// Args:
    ///     pointer: JSON Pointer of a value; "" is the whole value.
    ///
    /// Returns:
    ///     JSON Pointers into the schema, in its order; empty where no such value is open or nothing is to be chosen.
    ///     Those of the whole value can still be read when it is complete.
    ///
    /// Raises:
    ///     ValueError: no JSON Pointer (RFC 6901).
    #[pyo3(signature = (pointer=""))]
    fn live_branches<'py>(&self, py: Python<'py>, pointer: &str) -> PyResult<Bound<'py, PyTuple>> {
        let state = self.state()?;
        let path = steps(pointer)?;
        PyTuple::new(py, state.early.as_ref().map(|early| early.live_branches(&path)).unwrap_or_default())
    }

    /// The repairs made so far, one line each: the name, how often, and the byte of the first place; and, after
    /// `finish()`, that no text was taken as `{}`.
    #[getter]
    fn repairs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let state = self.state()?;
        let made = state.tokenizer.repairs().made().iter();
        let mut lines: Vec<_> = made
            .map(|made| format!("{}: {}, first at byte {}", made.repair.name(), made.count, made.first))
            .collect();
        lines.extend(state.was_empty.then(|| "took an empty input as {}".to_owned()));
        PyTuple::new(py, lines)
    }

    /// Ends the text.
    ///
    /// Returns:
    ///     The value, validated if the stream has a validator.
    ///
    /// Raises:
    ///     DecodeError: the text is no JSON, or cut off (`is_incomplete`): it is never completed.
    ///     ValidationError: the validator refuses the value.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = {
            let mut state = self.state()?;
            if !state.was_empty && state.is_blank() && self.wants_object(py) {
                state.live.root = Some(PyDict::new(py).into_any().unbind());
                state.ended = Some(FINISHED);
                state.was_empty = true;
            }
            if !state.was_empty {
                state.end(py)?;
            }
            state.live.root.as_ref().map(|root| root.bind(py).clone())
        };
        let value = value.ok_or_else(|| PyRuntimeError::new_err("a finished text has no value"))?;
        if let Some(error) = self.repeated_names(py, &value)? {
            return Err(error);
        }
        match &self.validator {
            Some(validator) => validator.bind(py).call_method1(intern!(py, "validate"), (value,)),
            None => Ok(value),
        }
    }
}

impl InputStream {
    /// Whether the schema, if there is one, takes an object but neither null nor text.
    fn wants_object(&self, py: Python<'_>) -> bool {
        let validator =
            self.validator.as_ref().and_then(|validator| validator.bind(py).cast::<Validator>().ok());
        validator.is_some_and(|validator| validator.get().wants_object())
    }

    /// The error for names that stand twice in an object, which the finished value does not show.
    fn repeated_names(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Option<PyErr>> {
        let mut state = self.state()?;
        let State { early: Some(early), live, .. } = &mut *state else { return Ok(None) };
        if !early.follower.repeats() {
            return Ok(None);
        }
        let certain = early.issues(py, live)?;
        let issues = match self.validator.as_ref().map(|validator| validator.bind(py).cast::<Validator>()) {
            Some(Ok(validator)) => validator.get().list_issues(value, validator.get().limits().issues)?,
            _ => PyList::empty(py),
        };
        for issue in
            certain.iter().filter(|issue| issue.getattr("keyword").is_ok_and(|keyword| keyword.is_none()))
        {
            if !issues.contains(&issue)? {
                issues.append(issue)?;
            }
        }
        Ok(Some(errors::validation_error(py, issues.into_any(), value)))
    }

    #[inline]
    fn state(&self) -> PyResult<MutexGuard<'_, State>> {
        self.state.try_lock().map_err(|_| {
            PyRuntimeError::new_err(
                "the stream is being used by another thread, or by code that it runs itself",
            )
        })
    }
}

impl State {
    /// Ends the text, or the values at paths.
    fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        self.ended.get_or_insert(FINISHED);
        if let Some(by_path) = &mut self.live.by_path {
            if let Some(fault) = by_path.finish() {
                return Err(decode_error(py, fault));
            }
            return Ok(());
        }
        let builder = Builder { live: &mut self.live, py };
        let outcome = match &mut self.early {
            Some(Early { follower, .. }) => self.tokenizer.finish(&mut Judged { builder, follower }),
            None => self.tokenizer.finish(&mut { builder }),
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(Refusal::Fault(fault)) => Err(decode_error(py, fault)),
            Err(Refusal::Stop(error)) => Err(error),
        }
    }

    /// Takes one value or piece of text at a path.
    fn take_at(&mut self, path: &Bound<'_, PyAny>, content: &Bound<'_, PyAny>, closed: bool) -> PyResult<()> {
        if let Some(why) = self.ended {
            return Err(PyRuntimeError::new_err(why));
        }
        if self.tokenizer.received() > 0 {
            return Err(PyValueError::new_err("the stream is fed by push(): it takes no values at paths"));
        }
        let mut by_path = self.live.by_path.take().unwrap_or_default();
        let outcome = by_path.push(&mut self.live, path, content, closed);
        self.live.by_path = Some(by_path);
        outcome
    }

    /// Nothing but white space came.
    fn is_blank(&self) -> bool {
        self.tokenizer.is_blank() && self.live.by_path.is_none()
    }

    /// Reads one delta; text that is no JSON shows in the state, not as an error.
    #[inline]
    fn take(&mut self, delta: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Some(why) = self.ended {
            return Err(PyRuntimeError::new_err(why));
        }
        if self.live.by_path.is_some() {
            return Err(PyValueError::new_err("the stream is fed by push_path(): it takes no text"));
        }
        if !delta.is_instance_of::<PyString>() && !delta.is_instance_of::<PyBytes>() {
            let given = delta.get_type().name()?;
            return Err(PyTypeError::new_err(format!("a delta is str or bytes, not {given}")));
        }
        let mut builder = Builder { live: &mut self.live, py: delta.py() };
        let outcome = match &mut self.early {
            Some(Early { follower, .. }) => {
                feed(&mut self.tokenizer, &mut self.half, delta, &mut Judged { builder, follower })
            }
            None => feed(&mut self.tokenizer, &mut self.half, delta, &mut builder),
        };
        let outcome = match outcome {
            Ok(()) | Err(Refusal::Fault(_)) if self.live.has_fresh_text() => {
                self.live.settle_text(delta.py()).map_err(Refusal::Stop)
            }
            outcome => outcome,
        };
        match outcome {
            Ok(()) | Err(Refusal::Fault(_)) => Ok(()),
            Err(Refusal::Stop(error)) => {
                self.ended = Some("an earlier push failed");
                Err(error)
            }
        }
    }

    /// The state as Python sees it.
    #[inline]
    fn name<'py>(&self, py: Python<'py>) -> &'py Bound<'py, PyString> {
        let status = self.early.as_ref().map_or(Status::Open, |early| early.follower.status());
        if self.tokenizer.fault().is_some() || status == Status::Failed {
            intern!(py, "rejected")
        } else if self.tokenizer.is_complete() {
            intern!(py, "complete")
        } else if status == Status::Ok {
            intern!(py, "certain")
        } else {
            intern!(py, "open")
        }
    }
}

/// The repairs behind these names.
fn asked_repairs(names: &Bound<'_, PyAny>) -> PyResult<Repairs> {
    if names.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("repair: expected a set of names, not one str"));
    }
    let mut repairs = Repairs::default();
    for name in names.try_iter()? {
        let name = name?;
        let known = name.cast::<PyString>().ok().and_then(|name| {
            Repair::ALL.into_iter().find(|repair| name.to_str().is_ok_and(|name| name == repair.name()))
        });
        let Some(repair) = known else {
            let all = Repair::ALL.map(Repair::name).join(", ");
            return Err(PyValueError::new_err(format!("repair: {} is none of {all}", name.repr()?)));
        };
        repairs.ask(repair);
    }
    Ok(repairs)
}

/// The path of a JSON Pointer (RFC 6901). A token of digits is an index or a name: the value decides.
fn steps(pointer: &str) -> PyResult<Vec<Step>> {
    let mut tokens = pointer.split('/');
    if tokens.next() != Some("") {
        return Err(PyValueError::new_err(format!(
            "pointer: expected \"\" or a text that begins with /, got {pointer:?}"
        )));
    }
    Ok(tokens.map(|token| Step::key(&token.replace("~1", "/").replace("~0", "~"))).collect())
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

/// `DecodeError` for a fault of the text.
fn decode_error(py: Python<'_>, fault: Fault) -> PyErr {
    let message = fault.to_string();
    let is_incomplete = fault.is_incomplete();
    let Fault { offset, line, column, .. } = fault;
    errors::decode_error(py, &errors::Fault { message, offset, line, column, is_incomplete })
}
