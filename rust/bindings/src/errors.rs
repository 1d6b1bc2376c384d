//! From the core's failures to the exceptions of `toolhead.errors`: the one place.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use toolhead_core::schema::SchemaError;

static SCHEMA_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static DECODE_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static VALIDATION_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();

const MODULE: &str = "toolhead.errors";

fn raised(class: PyResult<&Bound<'_, PyType>>, arguments: impl for<'p> pyo3::call::PyCallArgs<'p>, options: &Bound<'_, PyDict>) -> PyErr {
    match class.and_then(|class| class.call(arguments, Some(options))) {
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
        Ok(options) => raised(SCHEMA_ERROR.import(py, MODULE, "SchemaError"), (error.to_string(),), &options),
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
        Ok(options) => raised(DECODE_ERROR.import(py, MODULE, "DecodeError"), (&*fault.message,), &options),
        Err(error) => error,
    }
}

/// `ValidationError(issues, value=...)`
pub(crate) fn validation_error(py: Python<'_>, issues: Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyErr {
    let options = PyDict::new(py);
    if let Err(error) = options.set_item("value", value) {
        return error;
    }
    raised(VALIDATION_ERROR.import(py, MODULE, "ValidationError"), (issues,), &options)
}
