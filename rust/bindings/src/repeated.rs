//! The issue of a member name that stands twice in one object of a text.

use pyo3::prelude::*;
use toolhead_core::limits::Limits;

/// Placeholder until the explanation of repeated names lands below.
pub(crate) fn refusal(_py: Python<'_>, _text: &[u8], _value: &Bound<'_, PyAny>, _limits: Limits) -> PyErr {
    pyo3::exceptions::PyValueError::new_err("repeated name")
}
