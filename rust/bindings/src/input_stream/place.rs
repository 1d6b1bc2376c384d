//! Where a value stands, kept so that a tuple is made only for who looks at it.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::ffi::path;

/// A place in the value.
pub(super) enum Place {
    /// The whole path.
    Path(Py<PyTuple>),
    /// A member of the object at this path.
    Member(Py<PyTuple>, Py<PyString>),
    /// An item of the array at this path.
    Item(Py<PyTuple>, usize),
}

impl Place {
    /// The keys and indices from the root.
    pub(super) fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match self {
            Self::Path(path) => Ok(path.bind(py).clone()),
            Self::Member(parent, key) => path::extended(parent.bind(py), key.bind(py).clone().into_any()),
            Self::Item(parent, index) => path::extended(parent.bind(py), index.into_pyobject(py)?.into_any()),
        }
    }

    #[inline]
    pub(super) fn drop_ref(self, py: Python<'_>) {
        match self {
            Self::Path(path) => path.drop_ref(py),
            Self::Member(parent, key) => {
                parent.drop_ref(py);
                key.drop_ref(py);
            }
            Self::Item(parent, _) => parent.drop_ref(py),
        }
    }

    #[inline]
    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::Path(path) => Self::Path(path.clone_ref(py)),
            Self::Member(parent, key) => Self::Member(parent.clone_ref(py), key.clone_ref(py)),
            Self::Item(parent, index) => Self::Item(parent.clone_ref(py), *index),
        }
    }
}
