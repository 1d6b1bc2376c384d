//! What changed in the live value since somebody last asked, as small records that can be replayed.

use pyo3::prelude::*;
use pyo3::intern;
use pyo3::types::{PyList, PyString, PyTuple};

use super::missing;

/// One change of a stream's value.
///
/// Attributes:
///     path: keys and indices from the root, a tuple; empty for the root itself.
///     op: "set", a value begins or is there; "append", a string grew; "close", the value is finished.
///     value: for "set" the value, containers empty, since what they hold follows, and a string as far as it had
///         come; for "close" the finished value; MISSING for "append".
///     text: the new text for "append", else None.
#[pyclass(frozen, module = "toolhead._core", freelist = 64)]
pub(crate) struct Change {
    #[pyo3(get)]
    path: Py<PyTuple>,
    #[pyo3(get)]
    op: Py<PyString>,
    #[pyo3(get)]
    value: Py<PyAny>,
    #[pyo3(get)]
    text: Py<PyAny>,
}

#[pymethods]
impl Change {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (name, shown) = match self.text.bind(py) {
            text if text.is_none() => ("value", self.value.bind(py).repr()?),
            text => ("text", text.repr()?),
        };
        Ok(format!("Change(op={}, path={}, {name}={shown})", self.op.bind(py).repr()?, self.path.bind(py).repr()?))
    }
}

enum Entry {
    Set(Py<PyTuple>, Py<PyAny>),
    /// Text of the string that grows; whether the string began with it.
    Text(Py<PyTuple>, String, bool),
    Close(Py<PyTuple>, Py<PyAny>),
}

/// Changes not yet asked for.
#[derive(Default)]
pub(super) struct Changes {
    entries: Vec<Entry>,
}

impl Changes {
    pub(super) fn set(&mut self, path: Py<PyTuple>, value: Py<PyAny>) {
        self.entries.push(Entry::Set(path, value));
    }

    pub(super) fn close(&mut self, path: Py<PyTuple>, value: Py<PyAny>) {
        self.entries.push(Entry::Close(path, value));
    }

    pub(super) fn begin_text(&mut self, path: Py<PyTuple>) {
        self.entries.push(Entry::Text(path, String::new(), true));
    }

    pub(super) fn append_text(&mut self, path: Py<PyTuple>, piece: &str) {
        self.entries.push(Entry::Text(path, piece.to_owned(), false));
    }

    /// Adds to the string that the last entry is about; False if the last entry is about something else.
    #[inline]
    pub(super) fn continue_text(&mut self, piece: &str) -> bool {
        match self.entries.last_mut() {
            Some(Entry::Text(_, text, _)) => {
                text.push_str(piece);
                true
            }
            _ => false,
        }
    }

    /// Hands the changes out, oldest first.
    pub(super) fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let changes: Vec<_> = self.entries.drain(..).map(|entry| entry.into_change(py)).collect::<PyResult<_>>()?;
        PyList::new(py, changes)
    }
}

impl Entry {
    fn into_change(self, py: Python<'_>) -> PyResult<Bound<'_, Change>> {
        let change = match self {
            Self::Set(path, value) => {
                Change { path, op: intern!(py, "set").clone().unbind(), value, text: py.None() }
            }
            Self::Close(path, value) => {
                Change { path, op: intern!(py, "close").clone().unbind(), value, text: py.None() }
            }
            Self::Text(path, text, true) => Change {
                path,
                op: intern!(py, "set").clone().unbind(),
                value: PyString::new(py, &text).into_any().unbind(),
                text: py.None(),
            },
            Self::Text(path, text, false) => Change {
                path,
                op: intern!(py, "append").clone().unbind(),
                value: missing::missing(py)?.into_any().unbind(),
                text: PyString::new(py, &text).into_any().unbind(),
            },
        };
        Bound::new(py, change)
    }
}
