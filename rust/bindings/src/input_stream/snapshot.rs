//! An independent copy of the value so far.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// A container and the copy of it that is being filled.
enum Pair<'py> {
    Object { copy: Bound<'py, PyDict>, members: Bound<'py, PyList> },
    Array { copy: Bound<'py, PyList>, items: Bound<'py, PyList> },
}

impl<'py> Pair<'py> {
    /// An empty copy of a container; None for anything else, which need not be copied.
    fn of(value: &Bound<'py, PyAny>) -> Option<Self> {
        if let Ok(object) = value.cast::<PyDict>() {
            return Some(Self::Object { copy: PyDict::new(value.py()), members: object.items() });
        }
        let items = value.cast::<PyList>().ok()?.clone();
        Some(Self::Array { copy: PyList::empty(value.py()), items })
    }

    fn copy(&self) -> Bound<'py, PyAny> {
        match self {
            Self::Object { copy, .. } => copy.clone().into_any(),
            Self::Array { copy, .. } => copy.clone().into_any(),
        }
    }
}

/// Copies every container; strings and numbers are shared, they never change under a second reader.
pub(super) fn snapshot<'py>(root: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let Some(outer) = Pair::of(root) else { return Ok(root.clone()) };
    let whole = outer.copy();
    let mut open = vec![(outer, 0)];
    while let Some((pair, next)) = open.last_mut() {
        let children = match pair {
            Pair::Object { members, .. } => members,
            Pair::Array { items, .. } => items,
        };
        let Ok(child) = children.get_item(*next) else {
            open.pop();
            continue;
        };
        *next += 1;
        let inner = match pair {
            Pair::Object { copy, .. } => {
                let member = child.cast_into::<PyTuple>()?;
                let value = member.get_item(1)?;
                let inner = Pair::of(&value);
                copy.set_item(member.get_item(0)?, inner.as_ref().map_or(value, Pair::copy))?;
                inner
            }
            Pair::Array { copy, .. } => {
                let inner = Pair::of(&child);
                copy.append(inner.as_ref().map_or(child, Pair::copy))?;
                inner
            }
        };
        open.extend(inner.map(|pair| (pair, 0)));
    }
    Ok(whole)
}
