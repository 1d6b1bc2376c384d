//! Fills in the schema's defaults.

use pyo3::prelude::*;
use toolhead_core::plan::Plan;

pub(crate) fn filled<'py>(_py: Python<'py>, _plan: &Plan, value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Ok(value)
}
