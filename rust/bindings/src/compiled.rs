//! A plan with the strs that its tokens stand for: what a validator and the issues that it found share.

use pyo3::prelude::*;
use pyo3::types::PyString;
use toolhead_core::plan::Plan;

use std::sync::OnceLock;

use crate::defaults::Defaults;
use crate::ffi::make;

/// A plan and its strs.
pub(crate) struct Compiled {
    pub(crate) plan: Plan,
    /// The strs whose addresses are the plan's tokens; never changed, never given out.
    pub(crate) keys: Box<[Py<PyString>]>,
    /// Made when the first default is filled in.
    defaults: OnceLock<Defaults>,
}

impl Compiled {
    pub(crate) fn new(plan: Plan, keys: Box<[Py<PyString>]>) -> Self {
        Self { plan, keys, defaults: OnceLock::new() }
    }

    /// The defaults of the plan.
    #[inline]
    pub(crate) fn defaults(&self, py: Python<'_>) -> PyResult<&Defaults> {
        if let Some(made) = self.defaults.get() {
            return Ok(made);
        }
        let made = Defaults::new(py, self)?;
        Ok(self.defaults.get_or_init(|| made))
    }

    /// The str of a name that the plan knows.
    pub(crate) fn key<'py>(&self, py: Python<'py>, property: u32) -> Bound<'py, PyAny> {
        make::known(&self.keys, py, self.plan.properties[property as usize].token).to_owned()
    }

    /// Memory of the plan and of the references to its strs.
    pub(crate) fn size(&self) -> usize {
        self.plan.size() + self.keys.len() * size_of::<Py<PyString>>()
    }
}
