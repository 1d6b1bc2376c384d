//! The class `Issue`: one thing that is wrong with a value. The texts of a found issue are made when they are read.

use std::ffi::CStr;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};
use pyo3::{IntoPyObjectExt, ffi};
use toolhead_core::drivers::explain::Issues;
use toolhead_core::drivers::stream::Found;
use toolhead_core::instance::{Instance, Kind, kinds};
use toolhead_core::issue::{Detail, Hop, Issue as CoreIssue, Param, Place, Step};
use toolhead_core::keywords::Keyword;
use toolhead_core::limits::Limits;
use toolhead_core::plan::Plan;
use toolhead_core::schema::uri;

use crate::compiled::Compiled;
use crate::ffi::make::{self, Made};
use crate::ffi::object::{self, Contents, FreeList};
use crate::ffi::path;
use crate::ffi::value_type::{self, Attribute, Value};
use crate::py_instance::PyValue;
use crate::to_python;

/// One thing that is wrong with a value: where, by which keyword, what was expected and what was found.
///
/// Issues are found by a `Validator`; one made by hand carries the words it is given.
pub(crate) struct Issue {
    place: Place,
    value: Py<PyAny>,
    /// Each is an `Issue`.
    causes: Vec<Vec<Py<PyAny>>>,
    certain: Option<Box<Certain>>,
    what: What,
}

/// What a stream says of an issue beside.
struct Certain {
    /// The byte with which it became certain.
    offset: usize,
    /// The repair of the stream's value may make it good.
    mends: bool,
}

enum What {
    /// By a plan.
    Found { compiled: Arc<Compiled>, keyword: Option<Keyword>, kind: Kind, detail: Detail },
    /// In words.
    Given(Box<Given>),
}

struct Given {
    schema_path: String,
    keyword: Option<String>,
    message: String,
    expected: String,
    params: Py<PyDict>,
}

impl Issue {
    /// A violation that a stream is certain of.
    pub(crate) fn certain(
        py: Python<'_>,
        compiled: &Arc<Compiled>,
        found: &Found,
        value: Py<PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let what = What::Found {
            compiled: Arc::clone(compiled),
            keyword: found.issue.keyword,
            kind: found.kind,
            detail: found.issue.detail.clone(),
        };
        let certain = Some(Box::new(Certain { offset: found.offset, mends: found.mends }));
        let place = found.issue.place.clone();
        Ok(Self { place, value, causes: Vec::new(), certain, what }.into_object(py)?.unbind())
    }

    /// As an object of the type.
    #[inline]
    fn into_object(self, py: Python<'_>) -> Made<Bound<'_, PyAny>> {
        object::create(type_object(py)?, self)
    }

    /// The text of a step, if it is a member's name.
    fn name<'n>(&'n self, hop: Hop<'n>) -> Option<&'n str> {
        match (&self.what, hop) {
            (What::Found { compiled, .. }, hop) => hop.name(&compiled.plan),
            (What::Given(_), Hop::Text(text)) => Some(text),
            (What::Given(_), Hop::Known(_) | Hop::Index(_)) => None,
        }
    }

    /// A step as a str or an int: a name that the plan knows is the plan's own str.
    fn step<'py>(&self, py: Python<'py>, hop: Hop<'_>) -> Made<Bound<'py, PyAny>> {
        match (&self.what, hop) {
            (What::Found { compiled, .. }, Hop::Known(at)) => Ok(compiled.key(py, at)),
            (_, Hop::Index(index)) => Ok(index.into_bound_py_any(py)?),
            _ => Ok(PyString::new(py, self.name(hop).unwrap_or_default()).into_any()),
        }
    }

    fn text(&self) -> String {
        match &self.what {
            What::Found { compiled, keyword, kind, detail } => {
                detail.message(*keyword, *kind, &compiled.plan)
            }
            What::Given(given) => given.message.clone(),
        }
    }

    fn offset(&self) -> Option<usize> {
        self.certain.as_ref().map(|certain| certain.offset)
    }

    fn path<'py>(&self, py: Python<'py>) -> Made<Bound<'py, PyAny>> {
        path::of_steps(py, self.place.depth(), self.place.hops().map(|hop| self.step(py, hop)))
    }

    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for hop in self.place.hops() {
            match hop {
                Hop::Index(index) => uri::push_token(&mut pointer, &index.to_string()),
                name => uri::push_token(&mut pointer, self.name(name).unwrap_or_default()),
            }
        }
        pointer
    }

    fn keyword(&self) -> Option<&str> {
        match &self.what {
            What::Found { keyword, .. } => keyword.map(Keyword::name),
            What::Given(given) => given.keyword.as_deref(),
        }
    }

    fn message<'py>(&self, py: Python<'py>) -> Made<Bound<'py, PyAny>> {
        if let What::Found { detail: Detail::Type(types, integral, kind), .. } = self.what {
            return Ok(type_message(py, types, integral, kind).into_any());
        }
        let text = self.text();
        if text.is_ascii() {
            return make::ascii(py, text.as_bytes());
        }
        Ok(PyString::new(py, &text).into_any())
    }

    fn expected(&self) -> String {
        match &self.what {
            What::Found { compiled, keyword, detail, .. } => detail.expected(*keyword, &compiled.plan),
            What::Given(given) => given.expected.clone(),
        }
    }

    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (plan, keyword, detail) = match &self.what {
            What::Found { compiled, keyword, detail, .. } => (&compiled.plan, keyword, detail),
            What::Given(given) => return Ok(given.params.bind(py).clone()),
        };
        let params = PyDict::new(py);
        for (name, param) in detail.params(*keyword, plan) {
            match param {
                Param::Number(number) => params.set_item(name, to_python::from_number(py, &number)?)?,
                Param::Text(text) => params.set_item(name, text)?,
                Param::Texts(texts) => params.set_item(name, texts)?,
            }
        }
        Ok(params)
    }

    fn schema_path(&self) -> String {
        match &self.what {
            What::Found { compiled, keyword, .. } => self.place.schema_pointer(*keyword, &compiled.plan),
            What::Given(given) => given.schema_path.clone(),
        }
    }

    fn causes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let branches: PyResult<Vec<_>> = self.causes.iter().map(|branch| PyTuple::new(py, branch)).collect();
        PyTuple::new(py, branches?)
    }
}

impl Contents for Issue {
    fn free_list() -> &'static FreeList {
        static LIST: FreeList = FreeList::new();
        &LIST
    }

    fn visit(&self, show: &mut dyn FnMut(*mut ffi::PyObject)) {
        show(self.value.as_ptr());
        if let What::Given(given) = &self.what {
            show(given.params.as_ptr());
        }
        self.causes.iter().flatten().for_each(|cause| show(cause.as_ptr()));
    }

    fn holds_references(&self) -> bool {
        true
    }

    #[inline]
    fn end(self, py: Python<'_>) {
        // A bound reference ends without PyO3's question whether the interpreter is attached.
        drop(self.value.into_bound(py));
        if !self.causes.is_empty() {
            for cause in self.causes.into_iter().flatten() {
                drop(cause.into_bound(py));
            }
        }
        if let What::Given(given) = self.what {
            drop(given.params.into_bound(py));
        }
    }
}

impl Value for Issue {
    const NAME: &'static CStr = c"toolhead.Issue";
    const DOC: &'static CStr = c"Issue(path, *, message, keyword=None, expected=None, params=None, schema_path='', value=None, causes=())\n--\n\nOne thing that is wrong with a value: where, by which keyword, what was expected and what was found.\n\nIssues are found by a `Validator`; one made by hand carries the words it is given.";
    const ATTRIBUTES: &'static [Attribute<Self>] = &[
        (c"path", c"Where in the value: a tuple of member names and item positions.", Self::path),
        (
            c"message",
            c"What was expected and what was found, in one sentence without values of the data.",
            Self::message,
        ),
        (
            c"keyword",
            c"The keyword that refused the value; None where the value is not JSON data or passes a limit.",
            |issue, py| Ok(issue.keyword().into_bound_py_any(py)?),
        ),
        (c"pointer", c"The path as a JSON Pointer (RFC 6901).", |issue, py| {
            Ok(issue.pointer().into_bound_py_any(py)?)
        }),
        (c"expected", c"What was expected, in words.", |issue, py| Ok(issue.expected().into_bound_py_any(py)?)),
        (c"params", c"The numbers and names of the message as data.", |issue, py| {
            Ok(issue.params(py)?.into_any())
        }),
        (c"schema_path", c"Where in the schema document: a JSON Pointer to the keyword.", |issue, py| {
            Ok(issue.schema_path().into_bound_py_any(py)?)
        }),
        (c"value", c"The value that failed; for a missing member the object that lacks it.", |issue, py| {
            Ok(issue.value.bind(py).clone())
        }),
        (c"causes", c"For `anyOf` and `oneOf`: the issues of each branch.", |issue, py| {
            Ok(issue.causes(py)?.into_any())
        }),
        (
            c"offset",
            c"The byte of the stream's text with which it became certain; None for an issue of a whole value.",
            |issue, py| Ok(issue.offset().into_bound_py_any(py)?),
        ),
        (
            c"_may_mend",
            c"Whether the repair of the input may still make good what a stream found.",
            |issue, py| Ok(issue.certain.as_ref().is_some_and(|certain| certain.mends).into_bound_py_any(py)?),
        ),
    ];

    fn made_of<'py>(
        arguments: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        wrap_pyfunction!(given, arguments.py())?.call(arguments, options)
    }

    fn repr<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pointer = PyString::new(py, &self.pointer()).repr()?;
        let message = PyString::new(py, &self.text()).repr()?;
        format!("Issue({pointer}, {message})").into_bound_py_any(py)
    }

    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (text, pointer) = (self.text(), self.pointer());
        if pointer.is_empty() { text } else { format!("{text} at {pointer}") }.into_bound_py_any(py)
    }

    fn identity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        (self.path(py)?, self.keyword(), self.text(), self.schema_path()).into_bound_py_any(py)
    }

    /// A pickled issue comes back with the same words; the plan that found it does not travel with it.
    fn reduce<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let restore = py.import("toolhead._core")?.getattr("_restore_issue")?;
        let causes: PyResult<Vec<_>> = self.causes.iter().map(|branch| PyList::new(py, branch)).collect();
        let state = (
            self.path(py)?,
            self.text(),
            self.keyword(),
            self.expected(),
            self.params(py)?,
            self.schema_path(),
            &self.value,
            causes?,
            self.offset(),
        );
        (restore, state.into_pyobject(py)?).into_bound_py_any(py)
    }
}

/// The type `Issue`.
#[inline]
pub(crate) fn type_object(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if let Some(made) = TYPE.get(py) {
        return Ok(made.bind(py));
    }
    TYPE.get_or_try_init(py, || value_type::make_type::<Issue>(py).map(Bound::unbind))
        .map(|made| made.bind(py))
}

/// An issue in words.
#[pyfunction(name = "Issue")]
#[pyo3(signature = (path, *, message, keyword=None, expected=None, params=None, schema_path=String::new(), value=None, causes=Vec::new()))]
#[allow(clippy::too_many_arguments, reason = "they are keywords for the caller")]
fn given<'py>(
    py: Python<'py>,
    path: Vec<Bound<'py, PyAny>>,
    message: String,
    keyword: Option<String>,
    expected: Option<String>,
    params: Option<Py<PyDict>>,
    schema_path: String,
    value: Option<Py<PyAny>>,
    causes: Vec<Vec<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyAny>> {
    in_words(py, path, message, keyword, expected, params, schema_path, value, causes, None)
}

/// The message about a kind, which is the same for every schema: made once and shared, since most issues are of a kind.
fn type_message(py: Python<'_>, types: u8, integral: bool, kind: Kind) -> Bound<'_, PyString> {
    const COUNT: usize = (kinds::ANY as usize + 1) << 4;
    static MESSAGES: [PyOnceLock<Py<PyString>>; COUNT] = [const { PyOnceLock::new() }; COUNT];
    let at = usize::from(types & kinds::ANY) << 4 | usize::from(integral) << 3 | kind as usize;
    let make = || {
        let detail = Detail::Type(types, integral, kind);
        PyString::new(py, &detail.message(Some(Keyword::Type), kind, &Plan::anything(Limits::default())))
            .unbind()
    };
    MESSAGES[at].get_or_init(py, make).bind(py).clone()
}

/// Makes a pickled issue again.
#[pyfunction(name = "_restore_issue")]
#[allow(clippy::too_many_arguments, reason = "the state of an issue")]
pub(crate) fn in_words<'py>(
    py: Python<'py>,
    path: Vec<Bound<'py, PyAny>>,
    message: String,
    keyword: Option<String>,
    expected: Option<String>,
    params: Option<Py<PyDict>>,
    schema_path: String,
    value: Option<Py<PyAny>>,
    causes: Vec<Vec<Bound<'py, PyAny>>>,
    offset: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut steps = Vec::with_capacity(path.len());
    for step in path {
        steps.push(match step.cast::<PyString>() {
            Ok(name) => Step::key(&name.to_string()),
            Err(_) => Step::Index(step.extract()?),
        });
    }
    let class = type_object(py)?;
    if let Some(other) = causes.iter().flatten().find(|cause| !cause.get_type().is(class)) {
        return Err(PyTypeError::new_err(format!(
            "causes: expected Issue, got {}",
            other.get_type().name()?
        )));
    }
    let own = |branch: Vec<Bound<'_, PyAny>>| branch.into_iter().map(Bound::unbind).collect();
    let expected = expected.unwrap_or_default();
    let params = params.unwrap_or_else(|| PyDict::new(py).unbind());
    let made = Issue {
        place: Place::from_paths(steps, Vec::new()),
        value: value.unwrap_or_else(|| py.None()),
        causes: causes.into_iter().map(own).collect(),
        certain: offset.map(|offset| Box::new(Certain { offset, mends: false })),
        what: What::Given(Box::new(Given { schema_path, keyword, message, expected, params })),
    };
    Ok(made.into_object(py)?)
}

/// Keeps the values of issues, and of those behind them.
fn keep<'py>(py: Python<'py>, issues: &[CoreIssue<PyValue<'_>>], kept: &mut Vec<Bound<'py, PyAny>>) {
    for issue in issues {
        kept.push(issue.value.0.to_bound(py));
        issue.causes.iter().for_each(|branch| keep(py, branch, kept));
    }
}

/// An issue as an object.
#[inline]
fn made<'py>(
    py: Python<'py>,
    compiled: &Arc<Compiled>,
    found: CoreIssue<PyValue<'_>>,
) -> PyResult<Bound<'py, PyAny>> {
    let CoreIssue { place, keyword, value, detail, causes } = found;
    let kind = value.kind();
    let value = value.0.to_bound(py).unbind();
    let causes = if causes.is_empty() { Vec::new() } else { made_causes(py, compiled, causes)? };
    let what = What::Found { compiled: Arc::clone(compiled), keyword, kind, detail };
    Ok(Issue { place, value, causes, certain: None, what }.into_object(py)?)
}

#[cold]
fn made_causes(
    py: Python<'_>,
    compiled: &Arc<Compiled>,
    causes: Vec<Vec<CoreIssue<PyValue<'_>>>>,
) -> PyResult<Vec<Vec<Py<PyAny>>>> {
    let cause = |cause| made(py, compiled, cause).map(Bound::unbind);
    causes.into_iter().map(|branch| branch.into_iter().map(cause).collect()).collect()
}

/// The issues of a plan's explanation as a Python list.
pub(crate) fn list<'py>(
    py: Python<'py>,
    compiled: &Arc<Compiled>,
    issues: Issues<PyValue<'_>>,
) -> PyResult<Bound<'py, PyList>> {
    // Making an object may run the collector, and that a finaliser of the caller's, which may let go of values: all are
    // kept before the second is made.
    let mut kept = Vec::new();
    if issues.len() > 1 || issues.iter().any(|issue| !issue.causes.is_empty()) {
        keep(py, &issues, &mut kept);
    }
    // The list comes last: nobody sees one with empty slots.
    let mut issues = issues;
    let list = match (issues.len(), issues.pop()) {
        (1, Some(only)) => make::list(py, std::iter::once(made(py, compiled, only)?)),
        (_, last) => {
            let all = issues.into_iter().chain(last);
            let made: PyResult<Vec<_>> = all.map(|issue| made(py, compiled, issue)).collect();
            make::list(py, made?.into_iter())
        }
    };
    Ok(list?.cast_into()?)
}
