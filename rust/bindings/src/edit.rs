//! Python values as the core edits them: copies of dicts and lists, never the caller's own.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use toolhead_core::drivers::decode::decode;
use toolhead_core::drivers::edit::Edit;
use toolhead_core::instance::Instance;
use toolhead_core::limits::Limits;
use toolhead_core::plan::Plan;
use toolhead_core::value::Value;

use crate::ffi::read::Raw;
use crate::py_instance::PyValue;
use crate::to_python::{self, PyBuilder};

/// Edits Python values.
pub(crate) struct PyEdit<'py> {
    py: Python<'py>,
    limits: Limits,
}

impl<'py> PyEdit<'py> {
    pub(crate) fn new(py: Python<'py>, limits: Limits) -> Self {
        Self { py, limits }
    }
}

impl<'py> Edit for PyEdit<'py> {
    type Value = Bound<'py, PyAny>;
    type Instance<'v>
        = PyValue<'v>
    where
        Self: 'v;
    type Error = PyErr;

    fn instance<'v>(value: &'v Self::Value) -> PyValue<'v>
    where
        Self: 'v,
    {
        PyValue(Raw::of(value))
    }

    fn shallow_copy(&mut self, value: &Self::Value) -> PyResult<Self::Value> {
        to_python::shallow_copy(value)
    }

    fn member(&mut self, object: &Self::Value, name: &str) -> Option<Self::Value> {
        PyValue(Raw::of(object)).member(0, name).map(|member| member.0.to_bound(self.py))
    }

    fn item(&mut self, array: &Self::Value, index: usize) -> Option<Self::Value> {
        PyValue(Raw::of(array)).item(index).map(|item| item.0.to_bound(self.py))
    }

    fn set_member(&mut self, object: &Self::Value, name: &str, value: Self::Value) -> PyResult<()> {
        object.cast::<PyDict>()?.set_item(name, value)
    }

    fn remove_member(&mut self, object: &Self::Value, name: &str) -> PyResult<()> {
        object.cast::<PyDict>()?.del_item(name)
    }

    fn set_item(&mut self, array: &Self::Value, index: usize, value: Self::Value) -> PyResult<()> {
        array.cast::<PyList>()?.set_item(index, value)
    }

    fn literal(&mut self, value: &Value) -> PyResult<Self::Value> {
        to_python::from_value(self.py, value)
    }

    fn parsed(&mut self, text: &str) -> PyResult<Option<Self::Value>> {
        let plan = Plan::anything(self.limits);
        Ok(decode(&plan, text.as_bytes(), &mut PyBuilder::new(self.py, &[]))
            .ok()
            .map(|decoded| decoded.value))
    }
}
