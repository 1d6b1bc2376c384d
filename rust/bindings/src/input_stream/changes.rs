//! What changed in the live value since somebody last asked, as small records that can be replayed.

use std::ffi::CStr;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyType};

use super::missing;
use super::place::Place;
use crate::ffi::growing_str::GrowingStr;
use crate::ffi::object::FreeList;
use crate::ffi::record::{self, Attribute, Record};

/// One change of a stream's value, as Python sees it.
pub(crate) struct Change {
    place: Place,
    content: Content,
}

enum Content {
    /// An object or array begins. Whoever replays it gets an empty one of their own.
    BeginObject,
    BeginArray,
    Set(Py<PyAny>),
    Append(Py<PyString>),
    Close(Py<PyAny>),
}

impl Record for Change {
    const NAME: &'static CStr = c"toolhead._core.Change";
    const DOC: &'static CStr = c"One change of a stream's value.

Attributes:
    path: keys and indices from the root, a tuple; empty for the root itself.
    op: \"set\", a value begins or is there; \"append\", a string grew; \"close\", a string, object or array is
        finished (numbers, booleans and null are when they are set).
    value: for \"set\" the value: an empty dict or list, new at each access, whose content follows, or a string as
        far as it had come; what is left of a container, or MISSING for the root, after an escape that JSON does not
        know in a string shown before; for \"close\" the finished value; MISSING for \"append\".
    text: the new text for \"append\", else None.";
    const ATTRIBUTES: &'static [Attribute<Self>] = &[
        (c"path", |change, py| change.place.path(py).map(Bound::into_any)),
        (c"op", |change, py| Ok(change.op(py).clone().into_any())),
        (c"value", Self::value),
        (c"text", |change, py| {
            Ok(change.text(py).map_or_else(|| py.None().into_bound(py), |text| text.clone().into_any()))
        }),
    ];

    fn free_list() -> &'static FreeList {
        static LIST: FreeList = FreeList::new();
        &LIST
    }

    fn type_cell() -> &'static PyOnceLock<Py<PyType>> {
        static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        &TYPE
    }

    fn repr<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let (op, path) = (self.op(py).repr()?, self.place.path(py)?.repr()?);
        let (name, content) = match self.text(py) {
            Some(text) => ("text", text.repr()?),
            None => ("value", self.value(py)?.repr()?),
        };
        Ok(PyString::new(py, &format!("Change(op={op}, path={path}, {name}={content})")))
    }

    #[inline]
    fn drop_ref(self, py: Python<'_>) {
        self.place.drop_ref(py);
        match self.content {
            Content::BeginObject | Content::BeginArray => {}
            Content::Set(value) | Content::Close(value) => value.drop_ref(py),
            Content::Append(text) => text.drop_ref(py),
        }
    }
}

impl Change {
    fn op<'py>(&self, py: Python<'py>) -> &'py Bound<'py, PyString> {
        match self.content {
            Content::BeginObject | Content::BeginArray | Content::Set(_) => intern!(py, "set"),
            Content::Append(_) => intern!(py, "append"),
            Content::Close(_) => intern!(py, "close"),
        }
    }

    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.content {
            Content::BeginObject => Ok(PyDict::new(py).into_any()),
            Content::BeginArray => Ok(PyList::empty(py).into_any()),
            Content::Set(value) | Content::Close(value) => Ok(value.bind(py).clone()),
            Content::Append(_) => Ok(missing::missing(py)?.into_any()),
        }
    }

    fn text<'a, 'py>(&'a self, py: Python<'py>) -> Option<&'a Bound<'py, PyString>> {
        match &self.content {
            Content::Append(text) => Some(text.bind(py)),
            _ => None,
        }
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
#[derive(Default)]
pub(super) struct Changes {
    pending: Vec<Py<PyAny>>,
    open_text: Option<OpenText>,
}

impl Changes {
    /// A value that is whole, or a string as far as it has come.
    #[inline]
    pub(super) fn set(&mut self, place: Place, value: Bound<'_, PyAny>) -> PyResult<()> {
        self.add(value.py(), place, Content::Set(value.unbind()))
    }

    /// An object or array like this one begins.
    #[inline]
    pub(super) fn begin(&mut self, place: Place, container: &Bound<'_, PyAny>) -> PyResult<()> {
        let is_object = container.is_instance_of::<PyDict>();
        self.add(container.py(), place, if is_object { Content::BeginObject } else { Content::BeginArray })
    }

    pub(super) fn append(&mut self, place: Place, text: Bound<'_, PyString>) -> PyResult<()> {
        self.add(text.py(), place, Content::Append(text.unbind()))
    }

    #[inline]
    pub(super) fn close(&mut self, place: Place, value: Bound<'_, PyAny>) -> PyResult<()> {
        self.add(value.py(), place, Content::Close(value.unbind()))
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
        let text = tip.text_from(py, told)?;
        if begun { self.append(place, text) } else { self.set(place, text.into_any()) }
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

    /// The string that grew is none; without it the value at this place is `rest`. Nobody knows of a string whose "set" has
    /// not been written down.
    pub(super) fn drop_text(&mut self, place: Place, rest: Bound<'_, PyAny>) -> PyResult<()> {
        match self.open_text.take() {
            Some(OpenText { begun: true, .. }) => self.set(place, rest),
            _ => Ok(()),
        }
    }

    /// Hands the changes out, oldest first.
    pub(super) fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.pending.drain(..))
    }

    #[inline]
    fn add(&mut self, py: Python<'_>, place: Place, content: Content) -> PyResult<()> {
        self.pending.push(record::create(py, Change { place, content })?.unbind());
        Ok(())
    }
}
