//! The class `Issue`: one thing that is wrong with a value. The texts of a found issue are made when they are read.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use toolhead_core::drivers::stream::Found;
use toolhead_core::instance::{Instance, Kind};
use toolhead_core::issue::{Detail, Issue as CoreIssue, Name, Param, SchemaStep, Step, schema_pointer};
use toolhead_core::keywords::Keyword;
use toolhead_core::schema::uri;

use crate::compiled::Compiled;
use crate::ffi::make;
use crate::py_instance::PyValue;
use crate::to_python;

/// One thing that is wrong with a value: where, by which keyword, what was expected and what was found.
///
/// Issues are found by a `Validator`; one made by hand carries the words it is given.
#[pyclass(frozen, module = "toolhead")]
pub(crate) struct Issue {
    path: Vec<Step>,
    value: Py<PyAny>,
    causes: Vec<Vec<Py<Issue>>>,
    /// The byte of a stream with which it became certain.
    offset: Option<usize>,
    /// The repair of the stream's value may make it good.
    mends: bool,
    what: What,
}

enum What {
    /// By a plan.
    Found {
        compiled: Arc<Compiled>,
        schema_path: Vec<SchemaStep>,
        keyword: Option<Keyword>,
        kind: Kind,
        detail: Detail,
    },
    /// In words.
    Given {
        schema_path: String,
        keyword: Option<String>,
        message: String,
        expected: String,
        params: Py<PyDict>,
    },
}

impl Issue {
    pub(crate) fn found(py: Python<'_>, compiled: &Arc<Compiled>, issue: Owned<'_>) -> PyResult<Py<Self>> {
        let mut causes = Vec::with_capacity(issue.causes.len());
        for branch in issue.causes {
            let branch: PyResult<Vec<_>> =
                branch.into_iter().map(|cause| Self::found(py, compiled, cause)).collect();
            causes.push(branch?);
        }
        let (value, kind) = issue.value;
        let new = Self {
            path: issue.path,
            value: value.unbind(),
            causes,
            offset: None,
            mends: false,
            what: What::Found {
                compiled: Arc::clone(compiled),
                schema_path: issue.schema_path,
                keyword: issue.keyword,
                kind,
                detail: issue.detail,
            },
        };
        Py::new(py, new)
    }

    /// A violation that a stream is certain of.
    pub(crate) fn certain(
        py: Python<'_>,
        compiled: &Arc<Compiled>,
        found: &Found,
        value: Py<PyAny>,
    ) -> PyResult<Py<Self>> {
        let what = What::Found {
            compiled: Arc::clone(compiled),
            schema_path: found.issue.schema_path.clone(),
            keyword: found.issue.keyword,
            kind: found.kind,
            detail: found.issue.detail.clone(),
        };
        let path = found.issue.path.clone();
        Py::new(
            py,
            Self { path, value, causes: Vec::new(), offset: Some(found.offset), mends: found.mends, what },
        )
    }

    fn name<'n>(&'n self, name: &'n Name) -> &'n str {
        match (&self.what, name) {
            (What::Found { compiled, .. }, name) => name.text(&compiled.plan),
            (What::Given { .. }, Name::Text(text)) => text,
            (What::Given { .. }, Name::Known(_)) => "",
        }
    }

    /// A name as a str: the plan's own, where it knows the name.
    fn key<'py>(&self, py: Python<'py>, name: &Name) -> Bound<'py, PyAny> {
        match (&self.what, name) {
            (What::Found { compiled, .. }, Name::Known(at)) => compiled.key(py, *at),
            _ => PyString::new(py, self.name(name)).into_any(),
        }
    }

    fn text(&self) -> String {
        match &self.what {
            What::Found { compiled, keyword, kind, detail, .. } => {
                detail.message(*keyword, *kind, &compiled.plan)
            }
            What::Given { message, .. } => message.clone(),
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
        let what = What::Given { schema_path, keyword, message, expected, params };
        Ok(Self {
            path: steps,
            value: value.unwrap_or_else(|| py.None()),
            causes,
            offset: None,
            mends: false,
            what,
        })
    }

    /// The byte of the stream's text with which it became certain; None for an issue of a whole value.
    #[getter]
    fn offset(&self) -> Option<usize> {
        self.offset
    }

    /// Whether the repair of the input may still make good what a stream found.
    #[getter]
    fn _may_mend(&self) -> bool {
        self.mends
    }

    /// Where in the value: a tuple of member names and item positions.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let mut steps = Vec::with_capacity(self.path.len());
        for step in &self.path {
            steps.push(match step {
                Step::Key(name) => self.key(py, name),
                Step::Index(index) => index.into_pyobject(py)?.into_any(),
            });
        }
        PyTuple::new(py, steps)
    }

    /// The path as a JSON Pointer (RFC 6901).
    #[getter]
    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.path {
            match step {
                Step::Key(name) => uri::push_token(&mut pointer, self.name(name)),
                Step::Index(index) => uri::push_token(&mut pointer, &index.to_string()),
            }
        }
        pointer
    }

    /// The keyword that refused the value; None where the value is not JSON data or passes a limit.
    #[getter]
    fn keyword(&self) -> Option<&str> {
        match &self.what {
            What::Found { keyword, .. } => keyword.map(Keyword::name),
            What::Given { keyword, .. } => keyword.as_deref(),
        }
    }

    /// What was expected and what was found, in one sentence without values of the data.
    #[getter]
    fn message<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
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
            What::Given { expected, .. } => expected.clone(),
        }
    }

    /// The numbers and names of the message as data.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (plan, keyword, detail) = match &self.what {
            What::Found { compiled, keyword, detail, .. } => (&compiled.plan, keyword, detail),
            What::Given { params, .. } => return Ok(params.bind(py).clone()),
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
            What::Found { compiled, schema_path, .. } => schema_pointer(schema_path, &compiled.plan),
            What::Given { schema_path, .. } => schema_path.clone(),
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
            self.offset,
        );
        Ok((restore, state.into_pyobject(py)?))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.value)?;
        if let What::Given { params, .. } = &self.what {
            visit.call(params)?;
        }
        self.causes.iter().flatten().try_for_each(|cause| visit.call(cause))
    }
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
    Ok(Issue { offset, ..issue })
}

/// An issue that owns the value that failed, with its kind.
type Owned<'py> = CoreIssue<(Bound<'py, PyAny>, Kind)>;

fn owned<'py>(py: Python<'py>, issue: CoreIssue<PyValue<'_>>) -> Owned<'py> {
    let own = |branch: Vec<CoreIssue<_>>| branch.into_iter().map(|cause| owned(py, cause)).collect();
    CoreIssue {
        path: issue.path,
        schema_path: issue.schema_path,
        keyword: issue.keyword,
        value: (issue.value.0.to_bound(py), issue.value.kind()),
        detail: issue.detail,
        causes: issue.causes.into_iter().map(own).collect(),
    }
}

/// The issues of a plan's explanation as a Python list.
pub(crate) fn list<'py>(
    py: Python<'py>,
    compiled: &Arc<Compiled>,
    issues: Vec<CoreIssue<PyValue<'_>>>,
) -> PyResult<Bound<'py, PyList>> {
    // Making an object may run the collector, and that a finaliser of the caller's: the values are owned before.
    let issues: Vec<_> = issues.into_iter().map(|issue| owned(py, issue)).collect();
    let list = PyList::empty(py);
    for issue in issues {
        list.append(Issue::found(py, compiled, issue)?)?;
    }
    Ok(list)
}
