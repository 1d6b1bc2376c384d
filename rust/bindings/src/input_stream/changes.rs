//! What changed in the live value since somebody last asked, as small records that can be replayed.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use super::missing;
use super::place::Place;
use crate::ffi::growing_str::GrowingStr;

/// One change of a stream's value.
///
/// Attributes:
///     path: keys and indices from the root, a tuple; empty for the root itself.
///     op: "set", a value begins or is there; "append", a string grew; "close", a string, object or array is
///         finished (numbers, booleans and null are when they are set).
///     value: for "set" the value: an empty object or array, whose content follows, or a string as far as it had
///         come; for "close" the finished value; MISSING for "append".
///     text: the new text for "append", else None.
#[pyclass(frozen, module = "toolhead._core")]
pub(crate) struct Change {
    place: Place,
    op: Op,
    /// The value or the text.
    content: Py<PyAny>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    Set,
    Append,
    Close,
}

#[pymethods]
impl Change {
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.place.path(py)
    }

    #[getter]
    fn op<'py>(&self, py: Python<'py>) -> &'py Bound<'py, PyString> {
        match self.op {
            Op::Set => intern!(py, "set"),
            Op::Append => intern!(py, "append"),
            Op::Close => intern!(py, "close"),
        }
    }

    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.op {
            Op::Append => Ok(missing::missing(py)?.into_any()),
            Op::Set | Op::Close => Ok(self.content.bind(py).clone()),
        }
    }

    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> Option<&Bound<'py, PyAny>> {
        (self.op == Op::Append).then(|| self.content.bind(py))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (op, path) = (self.op(py).repr()?, self.path(py)?.repr()?);
        let name = if self.op == Op::Append { "text" } else { "value" };
        Ok(format!("Change(op={op}, path={path}, {name}={})", self.content.bind(py).repr()?))
    }
}

/// The string that grows, as far as changes are concerned.
struct OpenText {
    place: Place,
    /// Characters already handed out.
    told: usize,
    /// Its "set" has been written down.
    begun: bool,
}

/// Changes not yet asked for.
pub(super) struct Changes {
    list: Py<PyList>,
    open_text: Option<OpenText>,
}

impl Changes {
    pub(super) fn new(py: Python<'_>) -> Self {
        Self { list: PyList::empty(py).unbind(), open_text: None }
    }

    #[inline]
    pub(super) fn set(&self, place: Place, value: Bound<'_, PyAny>) -> PyResult<()> {
        self.add(place, Op::Set, value)
    }

    pub(super) fn append(&self, place: Place, text: Bound<'_, PyAny>) -> PyResult<()> {
        self.add(place, Op::Append, text)
    }

    #[inline]
    pub(super) fn close(&self, place: Place, value: Bound<'_, PyAny>) -> PyResult<()> {
        self.add(place, Op::Close, value)
    }

    /// A string begins to grow here; what it holds is written down when somebody asks, or when it ends.
    pub(super) fn begin_text(&mut self, place: Place) {
        self.open_text = Some(OpenText { place, told: 0, begun: false });
    }

    /// A string grows here, of which all that is there has been handed out.
    pub(super) fn resume_text(&mut self, place: Place, told: usize) {
        self.open_text = Some(OpenText { place, told, begun: true });
    }

    /// Writes down the text of the growing string that has not been handed out.
    pub(super) fn catch_up(&mut self, py: Python<'_>, tip: &GrowingStr) -> PyResult<()> {
        let Some(open) = &mut self.open_text else { return Ok(()) };
        let (told, begun) = (open.told, open.begun);
        if begun && told == tip.length() {
            return Ok(());
        }
        open.told = tip.length();
        open.begun = true;
        let place = open.place.clone_ref(py);
        self.add(place, if begun { Op::Append } else { Op::Set }, tip.text_from(py, told)?.into_any())
    }

    /// Before the string ends: the rest of one whose "set" has been handed out.
    pub(super) fn catch_up_begun(&mut self, py: Python<'_>, tip: &GrowingStr) -> PyResult<()> {
        match &self.open_text {
            Some(OpenText { begun: true, .. }) => self.catch_up(py, tip),
            _ => Ok(()),
        }
    }

    /// The string that grew is finished and is now this object.
    pub(super) fn end_text(&mut self, text: &Bound<'_, PyString>) -> PyResult<()> {
        let Some(open) = self.open_text.take() else { return Ok(()) };
        if !open.begun {
            self.set(open.place.clone_ref(text.py()), text.clone().into_any())?;
        }
        self.close(open.place, text.clone().into_any())
    }

    /// Hands the changes out, oldest first.
    pub(super) fn take<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyList> {
        std::mem::replace(&mut self.list, PyList::empty(py).unbind()).into_bound(py)
    }

    #[inline]
    fn add(&self, place: Place, op: Op, content: Bound<'_, PyAny>) -> PyResult<()> {
        let py = content.py();
        let change = Bound::new(py, Change { place, op, content: content.unbind() })?;
        self.list.bind(py).append(change)
    }
}
