//! The class `Issue`: one thing that is wrong with a value. The texts of a found issue are made when they are read.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use toolhead_core::drivers::stream::Found;
use toolhead_core::instance::{Instance, Kind, kinds};
use toolhead_core::issue::{Detail, Hop, Issue as CoreIssue, Param, Place, Step};
use toolhead_core::keywords::Keyword;
use toolhead_core::limits::Limits;
use toolhead_core::plan::Plan;
use toolhead_core::schema::uri;

use crate::compiled::Compiled;
use crate::ffi::{make, path};
use crate::py_instance::PyValue;
use crate::to_python;

/// One thing that is wrong with a value: where, by which keyword, what was expected and what was found.
///
/// Issues are found by a `Validator`; one made by hand carries the words it is given.
#[pyclass(frozen, module = "toolhead")]
pub(crate) struct Issue {
    place: Place,
    value: Py<PyAny>,
    causes: Vec<Vec<Py<Issue>>>,
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
    ) -> PyResult<Py<Self>> {
        let what = What::Found {
            compiled: Arc::clone(compiled),
            keyword: found.issue.keyword,
            kind: found.kind,
            detail: found.issue.detail.clone(),
        };
        let certain = Some(Box::new(Certain { offset: found.offset, mends: found.mends }));
        let place = found.issue.place.clone();
        Py::new(py, Self { place, value, causes: Vec::new(), certain, what })
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
    fn step<'py>(&self, py: Python<'py>, hop: Hop<'_>) -> PyResult<Bound<'py, PyAny>> {
        match (&self.what, hop) {
            (What::Found { compiled, .. }, Hop::Known(at)) => Ok(compiled.key(py, at)),
            (_, Hop::Index(index)) => Ok(index.into_pyobject(py)?.into_any()),
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

    fn identity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (self.path(py)?, self.keyword(), self.text(), self.schema_path()).into_pyobject(py)
    }
}

#[pymethods]
impl Issue {
    #[new]
    #[pyo3(signature = (path, *, message, keyword=None, expected=None, params=None, schema_path=String::new(), value=None, causes=Vec::new()))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords for the caller")]
    fn new(
        py: Python<'_>,
        path: Vec<Bound<'_, PyAny>>,
        message: String,
        keyword: Option<String>,
        expected: Option<String>,
        params: Option<Py<PyDict>>,
        schema_path: String,
        value: Option<Py<PyAny>>,
        causes: Vec<Vec<Py<Issue>>>,
    ) -> PyResult<Self> {
        let mut steps = Vec::with_capacity(path.len());
        for step in path {
            steps.push(match step.cast::<PyString>() {
                Ok(name) => Step::key(&name.to_string()),
                Err(_) => Step::Index(step.extract()?),
            });
        }
        let expected = expected.unwrap_or_default();
        let params = params.unwrap_or_else(|| PyDict::new(py).unbind());
        let what = What::Given(Box::new(Given { schema_path, keyword, message, expected, params }));
        Ok(Self {
            place: Place::from_paths(steps, Vec::new()),
            value: value.unwrap_or_else(|| py.None()),
            causes,
            certain: None,
            what,
        })
    }

    /// The byte of the stream's text with which it became certain; None for an issue of a whole value.
    #[getter]
    fn offset(&self) -> Option<usize> {
        self.certain.as_ref().map(|certain| certain.offset)
    }

    /// Whether the repair of the input may still make good what a stream found.
    #[getter]
    fn _may_mend(&self) -> bool {
        self.certain.as_ref().is_some_and(|certain| certain.mends)
    }

    /// Where in the value: a tuple of member names and item positions.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        path::of_steps(py, self.place.depth(), self.place.hops().map(|hop| self.step(py, hop)))
    }

    /// The path as a JSON Pointer (RFC 6901).
    #[getter]
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

    /// The keyword that refused the value; None where the value is not JSON data or passes a limit.
    #[getter]
    fn keyword(&self) -> Option<&str> {
        match &self.what {
            What::Found { keyword, .. } => keyword.map(Keyword::name),
            What::Given(given) => given.keyword.as_deref(),
        }
    }

    /// What was expected and what was found, in one sentence without values of the data.
    #[getter]
    fn message<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let What::Found { detail: Detail::Type(types, integral, kind), .. } = self.what {
            return Ok(type_message(py, types, integral, kind).into_any());
        }
        let text = self.text();
        if text.is_ascii() {
            return Ok(make::ascii(py, text.as_bytes())?);
        }
        Ok(PyString::new(py, &text).into_any())
    }

    /// What was expected, in words.
    #[getter]
    fn expected(&self) -> String {
        match &self.what {
            What::Found { compiled, keyword, detail, .. } => detail.expected(*keyword, &compiled.plan),
            What::Given(given) => given.expected.clone(),
        }
    }

    /// The numbers and names of the message as data.
    #[getter]
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

    /// Where in the schema document: a JSON Pointer to the keyword.
    #[getter]
    fn schema_path(&self) -> String {
        match &self.what {
            What::Found { compiled, keyword, .. } => self.place.schema_pointer(*keyword, &compiled.plan),
            What::Given(given) => given.schema_path.clone(),
        }
    }

    /// The value that failed; for a missing member the object that lacks it.
    #[getter]
    fn value(&self, py: Python<'_>) -> Py<PyAny> {
        self.value.clone_ref(py)
    }

    /// For `anyOf` and `oneOf`: the issues of each branch.
    #[getter]
    fn causes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let branches: PyResult<Vec<_>> = self.causes.iter().map(|branch| PyTuple::new(py, branch)).collect();
        PyTuple::new(py, branches?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let pointer = PyString::new(py, &self.pointer()).repr()?;
        let message = PyString::new(py, &self.text()).repr()?;
        Ok(format!("Issue({pointer}, {message})"))
    }

    fn __str__(&self) -> String {
        let pointer = self.pointer();
        if pointer.is_empty() { self.text() } else { format!("{} at {pointer}", self.text()) }
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        match other.cast::<Self>() {
            Ok(other) => {
                let equal = self.identity(py)?.eq(other.get().identity(py)?)?;
                Ok(equal.into_pyobject(py)?.to_owned().into_any().unbind())
            }
            Err(_) => Ok(py.NotImplemented()),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.identity(py)?.hash()
    }

    /// A pickled issue comes back with the same words; the plan that found it does not travel with it.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
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
        Ok((restore, state.into_pyobject(py)?))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.value)?;
        if let What::Given(given) = &self.what {
            visit.call(&given.params)?;
        }
        self.causes.iter().flatten().try_for_each(|cause| visit.call(cause))
    }
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
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the state of an issue")]
pub(crate) fn _restore_issue(
    py: Python<'_>,
    path: Vec<Bound<'_, PyAny>>,
    message: String,
    keyword: Option<String>,
    expected: Option<String>,
    params: Option<Py<PyDict>>,
    schema_path: String,
    value: Option<Py<PyAny>>,
    causes: Vec<Vec<Py<Issue>>>,
    offset: Option<usize>,
) -> PyResult<Issue> {
    let issue = Issue::new(py, path, message, keyword, expected, params, schema_path, value, causes)?;
    let certain = offset.map(|offset| Box::new(Certain { offset, mends: false }));
    Ok(Issue { certain, ..issue })
}

/// Keeps the values of issues, and of those behind them.
fn keep<'py>(py: Python<'py>, issues: &[CoreIssue<PyValue<'_>>], kept: &mut Vec<Bound<'py, PyAny>>) {
    for issue in issues {
        kept.push(issue.value.0.to_bound(py));
        issue.causes.iter().for_each(|branch| keep(py, branch, kept));
    }
}

/// An issue as an object.
fn made<'py>(
    py: Python<'py>,
    compiled: &Arc<Compiled>,
    found: CoreIssue<PyValue<'_>>,
) -> PyResult<Bound<'py, Issue>> {
    let (value, kind) = (found.value.0.to_bound(py).unbind(), found.value.kind());
    let mut causes = Vec::with_capacity(found.causes.len());
    for branch in found.causes {
        let branch: PyResult<Vec<_>> =
            branch.into_iter().map(|cause| made(py, compiled, cause).map(Bound::unbind)).collect();
        causes.push(branch?);
    }
    let (keyword, detail) = (found.keyword, found.detail);
    let what = What::Found { compiled: Arc::clone(compiled), keyword, kind, detail };
    Bound::new(py, Issue { place: found.place, value, causes, certain: None, what })
}

/// The issues of a plan's explanation as a Python list.
pub(crate) fn list<'py>(
    py: Python<'py>,
    compiled: &Arc<Compiled>,
    issues: Vec<CoreIssue<PyValue<'_>>>,
) -> PyResult<Bound<'py, PyList>> {
    // Making an object may run the collector, and that a finaliser of the caller's, which may let go of values: all are
    // kept before the second is made.
    let mut kept = Vec::new();
    if issues.len() > 1 || issues.iter().any(|issue| !issue.causes.is_empty()) {
        keep(py, &issues, &mut kept);
    }
    let mut issues = issues.into_iter();
    // The list comes last: nobody sees one with empty slots.
    let list = match (issues.next(), issues.len()) {
        (Some(only), 0) => make::list(py, std::iter::once(made(py, compiled, only)?.into_any())),
        (first, _) => {
            let made: PyResult<Vec<_>> =
                first.into_iter().chain(issues).map(|issue| made(py, compiled, issue)).collect();
            make::list(py, made?.into_iter().map(Bound::into_any))
        }
    };
    Ok(list?.cast_into()?)
}
