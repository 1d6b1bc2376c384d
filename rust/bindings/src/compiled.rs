//! A plan with the strs that its tokens stand for: what a validator and the issues that it found share.

use pyo3::prelude::*;
use pyo3::types::PyString;
use toolhead_core::plan::Plan;

use crate::ffi::make;

/// A plan and its strs.
pub(crate) struct Compiled {
    pub(crate) plan: Plan,
    /// The strs whose addresses are the plan's tokens; never changed, never given out.
    pub(crate) keys: Box<[Py<PyString>]>,
}

impl Compiled {
    /// The str of a name that the plan knows.
    pub(crate) fn key<'py>(&self, py: Python<'py>, property: u32) -> Bound<'py, PyAny> {
        make::known(&self.keys, py, self.plan.properties[property as usize].token).to_owned()
    }

    /// Memory of the plan and of the references to its strs.
    pub(crate) fn size(&self) -> usize {
        self.plan.size() + self.keys.len() * size_of::<Py<PyString>>()
    }
}
