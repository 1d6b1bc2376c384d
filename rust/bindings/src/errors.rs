//! From the core's failures to the exceptions of `toolhead.errors`: the one place.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyType};
use toolhead_core::schema::SchemaError;

static SCHEMA_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static DECODE_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static VALIDATION_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();

const MODULE: &str = "toolhead.errors";

fn raised<'py>(
    class: PyResult<&Bound<'py, PyType>>,
    argument: Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
) -> PyErr {
    match class.and_then(|class| class.call((argument,), Some(options))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// `SchemaError(message, schema_path=..., keyword=...)`
pub(crate) fn schema_error(py: Python<'_>, error: &SchemaError) -> PyErr {
    let build = || {
        let options = PyDict::new(py);
        options.set_item("schema_path", &error.schema_path)?;
        options.set_item("keyword", error.keyword)?;
        Ok::<_, PyErr>(options)
    };
    match build() {
        Ok(options) => raised(
            SCHEMA_ERROR.import(py, MODULE, "SchemaError"),
            PyString::new(py, &error.message).into_any(),
            &options,
        ),
        Err(error) => error,
    }
}

/// Where and why a text is not JSON.
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) offset: usize,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) is_incomplete: bool,
}

/// `DecodeError(message, offset=..., line=..., column=..., is_incomplete=...)`
pub(crate) fn decode_error(py: Python<'_>, fault: &Fault) -> PyErr {
    let build = || {
        let options = PyDict::new(py);
        options.set_item("offset", fault.offset)?;
        options.set_item("line", fault.line)?;
        options.set_item("column", fault.column)?;
        options.set_item("is_incomplete", fault.is_incomplete)?;
        Ok::<_, PyErr>(options)
    };
    match build() {
        Ok(options) => raised(
            DECODE_ERROR.import(py, MODULE, "DecodeError"),
            PyString::new(py, &fault.message).into_any(),
            &options,
        ),
        Err(error) => error,
    }
}

/// `ValidationError(issues, value=...)`
pub(crate) fn validation_error<'py>(
    py: Python<'py>,
    issues: Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyErr {
    let options = PyDict::new(py);
    if let Err(error) = options.set_item("value", value) {
        return error;
    }
    raised(VALIDATION_ERROR.import(py, MODULE, "ValidationError"), issues, &options)
}
