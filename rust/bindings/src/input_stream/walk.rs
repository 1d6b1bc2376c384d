//! One walk over the value so far, for whoever needs every place of it: finished places, first changes.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::live::Live;
use crate::ffi::path;

/// What the walk meets, in document order.
pub(super) enum Visit {
    /// A container begins.
    Begin,
    /// A value without children.
    Leaf,
    /// A container ends.
    End,
}

/// A container on the way, and what of it is still to come.
struct Level<'py> {
    container: Bound<'py, PyAny>,
    children: Bound<'py, PyList>,
    next: usize,
    path: Bound<'py, PyTuple>,
}

impl<'py> Level<'py> {
    fn of(value: &Bound<'py, PyAny>, path: &Bound<'py, PyTuple>) -> Option<Self> {
        let children = match value.cast::<PyDict>() {
            Ok(object) => object.items(),
            Err(_) => value.cast::<PyList>().ok()?.clone(),
        };
        Some(Self { container: value.clone(), children, next: 0, path: path.clone() })
    }

    /// The next child with its path.
    fn child(&mut self) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyTuple>)>> {
        let Ok(item) = self.children.get_item(self.next) else { return Ok(None) };
        let (step, value) = if self.container.is_instance_of::<PyDict>() {
            let member = item.cast_into::<PyTuple>()?;
            (member.get_item(0)?, member.get_item(1)?)
        } else {
            (self.next.into_pyobject(item.py())?.into_any(), item)
        };
        self.next += 1;
        Ok(Some((value, path::extended(&self.path, step)?)))
    }
}

/// Calls `visit(what, value, path, open)` for every value; `open` when more of it may come.
pub(super) fn walk<'py>(
    live: &Live,
    root: &Bound<'py, PyAny>,
    mut visit: impl FnMut(Visit, &Bound<'py, PyAny>, &Bound<'py, PyTuple>, bool) -> PyResult<()>,
) -> PyResult<()> {
    let mut levels: Vec<Level<'py>> = Vec::new();
    let mut present = Some((root.clone(), PyTuple::empty(root.py())));
    loop {
        if let Some((value, path)) = present.take() {
            if let Some(level) = Level::of(&value, &path) {
                visit(Visit::Begin, &value, &path, true)?;
                levels.push(level);
            } else {
                let open = live.is_open_leaf(levels.len(), &path)?;
                visit(Visit::Leaf, &value, &path, open)?;
            }
        }
        let Some(level) = levels.last_mut() else { return Ok(()) };
        present = level.child()?;
        if present.is_none()
            && let Some(level) = levels.pop()
        {
            let open = live.is_open_container(levels.len(), &level.container);
            visit(Visit::End, &level.container, &level.path, open)?;
        }
    }
}
