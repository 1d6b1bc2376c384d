//! `MISSING`: what a stream shows before anything is certain. None would be a value, JSON's null.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The type of `MISSING`, its only instance. It is false in a condition.
#[pyclass(frozen, name = "MissingType", module = "toolhead._core")]
pub(crate) struct Missing;

#[pymethods]
impl Missing {
    #[expect(clippy::unused_self, reason = "the protocol's form")]
    fn __repr__(&self) -> &'static str {
        "MISSING"
    }

    #[expect(clippy::unused_self, reason = "the protocol's form")]
    fn __bool__(&self) -> bool {
        false
    }

    /// Copies and pickles are `MISSING` itself, found by its name.
    #[expect(clippy::unused_self, reason = "the protocol's form")]
    fn __reduce__(&self) -> &'static str {
        "MISSING"
    }
}

/// The one instance.
pub(crate) fn missing(py: Python<'_>) -> PyResult<Bound<'_, Missing>> {
    static MISSING: PyOnceLock<Py<Missing>> = PyOnceLock::new();
    MISSING.get_or_try_init(py, || Py::new(py, Missing)).map(|missing| missing.bind(py).clone())
}
