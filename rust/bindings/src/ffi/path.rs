//! Paths: tuples of keys and indices, each made from its parent's by one more step.

use pyo3::Borrowed;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::make::Made;

/// The path of a child.
pub(crate) fn extended<'py>(
    parent: &Bound<'py, PyTuple>,
    step: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyTuple>> {
    let depth = parent.len();
    let path = with_size(parent.py(), depth + 1)?;
    for (index, step) in
        parent.iter_borrowed().map(Borrowed::to_owned).chain(std::iter::once(step)).enumerate()
    {
        fill(&path, index, step);
    }
    Ok(path.cast_into::<PyTuple>()?)
}

/// The path of these steps, so many.
pub(crate) fn of_steps<'py>(
    py: Python<'py>,
    depth: usize,
    steps: impl Iterator<Item = Made<Bound<'py, PyAny>>>,
) -> Made<Bound<'py, PyAny>> {
    let path = with_size(py, depth)?;
    for (index, step) in steps.take(depth).enumerate() {
        fill(&path, index, step?);
    }
    Ok(path)
}

/// A new tuple whose items are still null; nothing but [`fill`] may look at it.
fn with_size(py: Python<'_>, size: usize) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: no pointers are passed.
    let tuple = unsafe { ffi::PyTuple_New(size.cast_signed()) };
    // SAFETY: the call returns a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, tuple) }
}

fn fill(tuple: &Bound<'_, PyAny>, index: usize, item: Bound<'_, PyAny>) {
    // SAFETY: the tuple was just made, nobody else has it, the index is within its size; the reference is given away.
    unsafe { ffi::PyTuple_SET_ITEM(tuple.as_ptr(), index.cast_signed(), item.into_ptr()) };
}
