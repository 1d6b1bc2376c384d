//! The class `Validator`: a compiled schema, immutable and shared between threads.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyList, PyString, PyTuple};
use pyo3::{Borrowed, PyTraverseError, PyVisit};
use toolhead_core::drivers::decode::{Decoded, Stop, decode};
use toolhead_core::drivers::{check, defaults, explain, repair};
use toolhead_core::instance::kinds;
use toolhead_core::issue::{Detail, Issue as CoreIssue, Place};
use toolhead_core::json::{faults, repeated};
use toolhead_core::plan::Plan;
use toolhead_core::schema::compile::{self, Options};
use toolhead_core::schema::dialect::{Dialect, Draft};

use crate::compiled::Compiled;
use crate::edit::PyEdit;
use crate::errors::{self, Fault};
use crate::ffi::make::Made;
use crate::ffi::method::{OptionMethod, UnaryMethod};
use crate::ffi::read::Raw;
use crate::host::{self, PyHost};
use crate::input_stream::InputStream;
use crate::issue;
use crate::limits::Limits;
use crate::py_instance::PyValue;
use crate::to_python::{self, PyBuilder};

/// A compiled JSON Schema.
#[pyclass(frozen, module = "toolhead", weakref)]
pub(crate) struct Validator {
    compiled: Arc<Compiled>,
    schema: Py<PyAny>,
    dialect: Option<Py<PyString>>,
    formats: bool,
    registry: Option<Py<PyAny>>,
    limits: Limits,
}

/// A text to decode: the bytes of `bytes`, or the UTF-8 form of a `str`.
fn text_of<'a>(argument: &'a Bound<'_, PyAny>) -> PyResult<std::borrow::Cow<'a, [u8]>> {
    if let Ok(bytes) = argument.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().into());
    }
    if let Ok(text) = argument.cast::<PyString>() {
        if let Some(text) = Raw::of(text.as_any()).text() {
            return Ok(text.as_bytes().into());
        }
        return Err(lone_surrogate(text));
    }
    if let Ok(bytes) = argument.cast::<PyByteArray>() {
        return Ok(bytes.to_vec().into());
    }
    if let Ok(view) = pyo3::buffer::PyBuffer::<u8>::get(argument) {
        return Ok(view.to_vec(argument.py())?.into());
    }
    let name = argument.get_type().name()?;
    Err(PyTypeError::new_err(format!("text: expected str or bytes, got {name}")))
}

/// The error of a str that no UTF-8 can carry, at the offending character.
fn lone_surrogate(text: &Bound<'_, PyString>) -> PyErr {
    let lossy = text.to_string_lossy();
    // The replacement of a surrogate is the first character that differs; its place is what matters.
    let offset = lossy.find('\u{FFFD}').unwrap_or(0);
    let line = lossy[..offset].matches('\n').count() + 1;
    let column = lossy[..offset].chars().rev().take_while(|character| *character != '\n').count() + 1;
    let message =
        format!("Half of a surrogate pair in a string at line {line}, column {column} (byte {offset})");
    errors::decode_error(text.py(), &Fault { message, offset, line, column, is_incomplete: false })
}

impl Validator {
    /// The validated value: the value itself, or a copy with the schema's defaults. None where the schema refuses it.
    pub(crate) fn accept<'py>(
        &self,
        py: Python<'py>,
        value: &Bound<'py, PyAny>,
    ) -> Made<Option<Bound<'py, PyAny>>> {
        if !check::is_valid_data(&self.compiled.plan, PyValue(Raw::of(value))) {
            return Ok(None);
        }
        let value = value.clone();
        Ok(Some(if self.compiled.plan.defaults.is_empty() { value } else { self.with_defaults(py, value)? }))
    }

    /// The validated value of a JSON text. None where it is not JSON, or the schema refuses it.
    pub(crate) fn accept_text<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
    ) -> Made<Option<Bound<'py, PyAny>>> {
        let text = text_of(text)?;
        match decode(&self.compiled.plan, &text, &mut PyBuilder::new(py, Some(&self.compiled))) {
            Ok(decoded) => self.completed(py, decoded).map(Some),
            Err(Stop::Syntax | Stop::Refused) => Ok(None),
            Err(Stop::Host(raised)) => Err(raised),
        }
    }

    #[inline]
    fn completed<'py>(
        &self,
        py: Python<'py>,
        decoded: Decoded<Bound<'py, PyAny>>,
    ) -> Made<Bound<'py, PyAny>> {
        Ok(if decoded.lacks_defaults { self.with_defaults(py, decoded.value)? } else { decoded.value })
    }

    /// The compiled schema.
    pub(crate) fn compiled(&self) -> &Arc<Compiled> {
        &self.compiled
    }

    /// The limits for the core.
    pub(crate) fn limits(&self) -> toolhead_core::limits::Limits {
        self.limits.to_core()
    }

    /// Whether no text at all stands for `{}`: the rule of the repair driver for an empty root.
    pub(crate) fn wants_object(&self) -> bool {
        self.compiled.plan.node(self.compiled.plan.root).types & (kinds::OBJECT | kinds::NULL | kinds::STRING)
            == kinds::OBJECT
    }

    fn with_defaults<'py>(&self, py: Python<'py>, value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let mut edit = PyEdit::new(py, self.limits.to_core());
        Ok(defaults::fill(&self.compiled.plan, &mut edit, &value)?.unwrap_or(value))
    }

    pub(crate) fn list_issues<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        limit: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let issues = explain::issues(&self.compiled.plan, PyValue(Raw::of(value)), limit);
        issue::list(value.py(), &self.compiled, issues)
    }

    fn refusal(&self, value: &Bound<'_, PyAny>) -> PyErr {
        match self.list_issues(value, self.limits.issues()) {
            Ok(issues) => errors::validation_error(value.py(), issues.into_any(), value),
            Err(error) => error,
        }
    }

    /// The issues of a text's value: those of the value, and names that stand twice.
    fn text_issues<'py>(&self, text: &[u8], value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let limit = self.limits.issues();
        let instance = PyValue(Raw::of(value));
        let mut issues = explain::issues(&self.compiled.plan, instance, limit);
        let room = limit - issues.len().min(limit);
        for path in repeated::names(text, self.limits.to_core(), room) {
            let detail = Detail::Text(&("each name once in an object", "the same name twice"));
            let place = Place::from_paths(path, Vec::new());
            issues.push(CoreIssue { place, keyword: None, value: instance, detail, causes: Vec::new() });
        }
        issue::list(value.py(), &self.compiled, issues)
    }

    /// Why a text was not decoded: a fault of the text, or issues of its value.
    fn text_refusal(&self, py: Python<'_>, text: &[u8]) -> PyErr {
        let limits = self.limits.to_core();
        if let Some(fault) = faults::first(text, limits) {
            let message = fault.to_string();
            let (offset, line, column) = (fault.offset, fault.line, fault.column);
            let is_incomplete = fault.is_incomplete();
            return errors::decode_error(py, &Fault { message, offset, line, column, is_incomplete });
        }
        let plain = Plan::anything(limits);
        match decode(&plain, text, &mut PyBuilder::new(py, None)) {
            Ok(decoded) => match self.text_issues(text, &decoded.value) {
                Ok(issues) => errors::validation_error(py, issues.into_any(), &decoded.value),
                Err(error) => error,
            },
            Err(Stop::Host(raised)) => raised.into(),
            Err(_) => PyValueError::new_err("The text could not be decoded"),
        }
    }
}

fn dialect_named(name: Option<&Bound<'_, PyString>>) -> PyResult<Dialect> {
    let Some(name) = name else { return Ok(Dialect::of(Draft::D2020)) };
    let text = name.to_string();
    Dialect::named(&text).ok_or_else(|| {
        let names = Dialect::names().collect::<Vec<_>>().join(", ");
        PyValueError::new_err(format!("dialect: expected one of {names} or a meta-schema URI, got {text:?}"))
    })
}

#[pymethods]
impl Validator {
    #[new]
    #[pyo3(signature = (schema, *, dialect=None, formats=true, registry=None, limits=None))]
    fn new(
        schema: &Bound<'_, PyAny>,
        dialect: Option<Bound<'_, PyString>>,
        formats: bool,
        registry: Option<Bound<'_, PyAny>>,
        limits: Option<Bound<'_, Limits>>,
    ) -> PyResult<Self> {
        let py = schema.py();
        let limits = limits.map_or_else(Limits::default, |limits| limits.get().clone());
        let core_limits = limits.to_core();
        let default = dialect_named(dialect.as_ref())?;
        // Code of the caller that runs while the schema is read could change it: then a copy is read.
        let document = match &registry {
            Some(registry) if host::runs_code(registry) => to_python::copy(schema)?,
            _ => schema.clone(),
        };
        let documents = PyList::empty(py);
        let mut host = PyHost::new(registry.clone(), &documents);
        let options = Options { dialect: default, formats, limits: core_limits };
        let plan = compile::compile(PyValue(Raw::of(&document)), &mut host, options);
        let (keys, raised) = (std::mem::take(&mut host.keys), host.raised.take());
        match (plan, raised) {
            (_, Some(raised)) => Err(raised),
            (Err(error), None) => Err(errors::schema_error(py, &error)),
            (Ok(plan), None) => Ok(Self {
                compiled: Arc::new(Compiled::new(plan, keys.into())),
                schema: schema.clone().unbind(),
                dialect: dialect.map(Bound::unbind),
                formats,
                registry: registry.map(Bound::unbind),
                limits,
            }),
        }
    }

    /// Repairs a value that the schema refuses, where models are known to err: an empty root, a null for an optional
    /// member, JSON text in place of an object or array.
    ///
    /// Returns the validated value (a copy, with defaults) and what was done to it; None where that does not help.
    fn repair<'py>(
        &self,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyTuple>)>> {
        let py = value.py();
        let mut edit = PyEdit::new(py, self.limits.to_core());
        let Some((repaired, done)) = repair::repair(&self.compiled.plan, &mut edit, value)? else {
            return Ok(None);
        };
        Ok(Some((self.with_defaults(py, repaired)?, PyTuple::new(py, done)?)))
    }

    /// The same for a JSON text; empty text counts as an empty root. None too where the text is not JSON.
    fn repair_json<'py>(
        &self,
        text: &Bound<'py, PyAny>,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyTuple>)>> {
        let py = text.py();
        let bytes = text_of(text)?;
        if bytes.trim_ascii().is_empty() {
            return self.repair(&py.None().into_bound(py));
        }
        let plain = Plan::anything(self.limits.to_core());
        match decode(&plain, &bytes, &mut PyBuilder::new(py, None)) {
            Ok(_) if !repeated::names(&bytes, self.limits.to_core(), 1).is_empty() => Ok(None),
            Ok(decoded) => self.repair(&decoded.value),
            Err(Stop::Host(raised)) => Err(raised.into()),
            Err(_) => Ok(None),
        }
    }

    /// An `InputStream` whose value this validator judges.
    #[pyo3(signature = (*, repair=None), text_signature = "($self, *, repair=())")]
    fn stream<'py>(slf: &Bound<'py, Self>, repair: Option<Bound<'py, PyAny>>) -> PyResult<InputStream> {
        InputStream::new(Some(slf.clone().into_any()), repair)
    }

    /// The schema as it was given.
    #[getter]
    fn json_schema(&self, py: Python<'_>) -> Py<PyAny> {
        self.schema.clone_ref(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = self.schema.bind(py).repr()?.to_string();
        let short: String = text.chars().take(80).collect();
        let mark = if short.len() < text.len() { "..." } else { "" };
        Ok(format!("Validator({short}{mark})"))
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        let restore = py.import("toolhead._core")?.getattr("_restore_validator")?;
        let state =
            (&self.schema, &self.dialect, self.formats, &self.registry, Py::new(py, self.limits.clone())?);
        Ok((restore.unbind(), state.into_pyobject(py)?.into_any().unbind()))
    }

    fn __sizeof__(&self) -> usize {
        size_of::<Self>() + 16 + self.compiled.size()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.schema)?;
        self.registry.iter().try_for_each(|registry| visit.call(registry))
    }
}

/// Makes a pickled validator again.
#[pyfunction]
pub(crate) fn _restore_validator(
    schema: &Bound<'_, PyAny>,
    dialect: Option<Bound<'_, PyString>>,
    formats: bool,
    registry: Option<Bound<'_, PyAny>>,
    limits: Bound<'_, Limits>,
) -> PyResult<Validator> {
    Validator::new(schema, dialect, formats, registry, Some(limits))
}

/// `is_valid(value)`
pub(crate) struct IsValid;

impl UnaryMethod for IsValid {
    type Class = Validator;
    const NAME: &'static std::ffi::CStr = c"is_valid";
    const DOC: &'static std::ffi::CStr = c"is_valid($self, value, /)\n--\n\nDoes the schema accept the value? Looks where the schema looks; data that is not JSON in a part that the schema\nleaves free is found by validate() and issues(). Never raises for a value.";

    #[inline]
    fn call<'py>(
        this: Borrowed<'_, 'py, Validator>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let verdict = check::is_valid(&this.get().compiled.plan, PyValue(Raw::of(value)));
        Ok(PyBool::new(this.py(), verdict).to_owned().into_any())
    }
}

/// `issues(value, limit=None)`
pub(crate) struct Issues;

impl OptionMethod for Issues {
    type Class = Validator;
    const NAME: &'static std::ffi::CStr = c"issues";
    const DOC: &'static std::ffi::CStr = c"issues($self, value, limit=None)\n--\n\nLists what is wrong with a value, at most `limit` issues (default: the limit of `limits`); empty when valid.";
    const ARGUMENTS: [&'static str; 2] = ["value", "limit"];

    #[inline]
    fn call<'py>(
        this: Borrowed<'_, 'py, Validator>,
        value: &Bound<'py, PyAny>,
        limit: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let validator = this.get();
        let limit: Option<usize> = limit.map(PyAnyMethods::extract).transpose()?.flatten();
        let issues = validator.list_issues(value, limit.unwrap_or(validator.limits.issues()))?;
        Ok(issues.into_any())
    }
}

/// `validate(value)`
pub(crate) struct Validate;

impl UnaryMethod for Validate {
    type Class = Validator;
    const NAME: &'static std::ffi::CStr = c"validate";
    const DOC: &'static std::ffi::CStr =
        c"validate($self, value, /)\n--\n\nThe value, with the schema's defaults filled in (in a copy).\n\nRaises ValidationError where the schema refuses it.";

    #[inline]
    fn call<'py>(
        this: Borrowed<'_, 'py, Validator>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let validator = this.get();
        match validator.accept(this.py(), value)? {
            Some(accepted) => Ok(accepted),
            None => Err(validator.refusal(value)),
        }
    }
}

/// `decode(text)`
pub(crate) struct Decode;

impl UnaryMethod for Decode {
    type Class = Validator;
    const NAME: &'static std::ffi::CStr = c"decode";
    const DOC: &'static std::ffi::CStr =
        c"decode($self, text, /)\n--\n\nThe validated value of a JSON text (str or bytes), decoded and validated in one pass.\n\nRaises DecodeError where the text is not JSON, ValidationError where the schema refuses the value.";

    #[inline]
    fn call<'py>(
        this: Borrowed<'_, 'py, Validator>,
        text: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (validator, py) = (this.get(), this.py());
        let text = text_of(text)?;
        match decode(&validator.compiled.plan, &text, &mut PyBuilder::new(py, Some(&validator.compiled))) {
            Ok(decoded) => Ok(validator.completed(py, decoded)?),
            Err(Stop::Host(raised)) => Err(raised.into()),
            Err(Stop::Syntax | Stop::Refused) => Err(validator.text_refusal(py, &text)),
        }
    }
}

/// `is_valid_json(text)`
pub(crate) struct IsValidJson;

impl UnaryMethod for IsValidJson {
    type Class = Validator;
    const NAME: &'static std::ffi::CStr = c"is_valid_json";
    const DOC: &'static std::ffi::CStr =
        c"is_valid_json($self, text, /)\n--\n\nIs the text JSON whose value the schema accepts?";

    fn call<'py>(
        this: Borrowed<'_, 'py, Validator>,
        text: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let verdict = this.get().accept_text(this.py(), text)?.is_some();
        Ok(PyBool::new(this.py(), verdict).to_owned().into_any())
    }
}
