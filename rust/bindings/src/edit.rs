//! Python values as the core edits them: copies of dicts and lists, never the caller's own.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use toolhead_core::drivers::decode::decode;
use toolhead_core::drivers::edit::Edit;
use toolhead_core::instance::{Instance, Key};
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
    /// The members of large objects that were asked for one, by address. Each object is kept, so that no other can
    /// come to stand at its address.
    tables: HashMap<usize, (Bound<'py, PyAny>, Members<'py>)>,
}

/// Members by name.
type Members<'py> = HashMap<String, Bound<'py, PyAny>>;

/// Objects with up to this many members are walked for each question.
const FEW_MEMBERS: usize = 16;

impl<'py> PyEdit<'py> {
    pub(crate) fn new(py: Python<'py>, limits: Limits) -> Self {
        Self { py, limits, tables: HashMap::new() }
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
        let (py, instance) = (self.py, PyValue(Raw::of(object)));
        if instance.len() <= FEW_MEMBERS {
            return instance.member(0, name).map(|member| member.0.to_bound(py));
        }
        let (_, members) = self.tables.entry(instance.identity()).or_insert_with(|| {
            let mut members = HashMap::with_capacity(instance.len());
            instance.members(|key, item| {
                members.insert(key.text().to_owned(), item.0.to_bound(py));
                true
            });
            (object.clone(), members)
        });
        members.get(name).cloned()
    }

    fn item(&mut self, array: &Self::Value, index: usize) -> Option<Self::Value> {
        PyValue(Raw::of(array)).item(index).map(|item| item.0.to_bound(self.py))
    }

    fn set_member(&mut self, object: &Self::Value, name: &str, value: Self::Value) -> PyResult<()> {
        if let Some((_, members)) = self.tables.get_mut(&object.as_ptr().addr()) {
            members.insert(name.to_owned(), value.clone());
        }
        object.cast::<PyDict>()?.set_item(name, value)
    }

    fn remove_member(&mut self, object: &Self::Value, name: &str) -> PyResult<()> {
        if let Some((_, members)) = self.tables.get_mut(&object.as_ptr().addr()) {
            members.remove(name);
        }
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
        Ok(decode(&plan, text.as_bytes(), &mut PyBuilder::new(self.py, None))
            .ok()
            .map(|decoded| decoded.value))
    }
}
