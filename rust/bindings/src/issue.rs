//! The class `Issue`: one thing that is wrong with a value. Its texts are made when they are read.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use toolhead_core::instance::{Instance, Kind};
use toolhead_core::issue::{Detail, Issue as CoreIssue, Param, Step};
use toolhead_core::keywords::Keyword;
use toolhead_core::plan::Plan;

use crate::py_instance::PyValue;
use crate::to_python;

/// One thing that is wrong with a value: where, by which keyword, what was expected and what was found.
#[pyclass(frozen, module = "toolhead", weakref)]
pub(crate) struct Issue {
    plan: Arc<Plan>,
    path: Vec<Step>,
    schema_path: String,
    keyword: Option<Keyword>,
    kind: Kind,
    detail: Detail,
    value: Py<PyAny>,
    causes: Vec<Vec<Py<Issue>>>,
}

impl Issue {
    pub(crate) fn new(py: Python<'_>, plan: &Arc<Plan>, issue: CoreIssue<PyValue<'_>>) -> PyResult<Py<Self>> {
        let mut causes = Vec::with_capacity(issue.causes.len());
        for branch in issue.causes {
            let branch: PyResult<Vec<_>> = branch.into_iter().map(|cause| Self::new(py, plan, cause)).collect();
            causes.push(branch?);
        }
        let new = Self {
            plan: Arc::clone(plan),
            path: issue.path,
            schema_path: issue.schema_path,
            keyword: issue.keyword,
            kind: issue.value.kind(),
            detail: issue.detail,
            value: issue.value.0.to_bound(py).unbind(),
            causes,
        };
        Py::new(py, new)
    }

    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (
            self.path(py)?,
            self.keyword(),
            self.message(),
            self.schema_path.as_str(),
            self.expected(),
        )
            .into_pyobject(py)
    }
}

#[pymethods]
impl Issue {
    /// Where in the value: a tuple of member names and item positions.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let mut steps = Vec::with_capacity(self.path.len());
        for step in &self.path {
            steps.push(match step {
                Step::Key(name) => PyString::new(py, name).into_any(),
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
                Step::Key(name) => toolhead_core::schema::uri::push_token(&mut pointer, name),
                Step::Index(index) => toolhead_core::schema::uri::push_token(&mut pointer, &index.to_string()),
            }
        }
        pointer
    }

    /// The keyword that refused the value; None where the value is not JSON data or passes a limit.
    #[getter]
    fn keyword(&self) -> Option<&'static str> {
        self.keyword.map(Keyword::name)
    }

    /// What was expected and what was found, in one sentence without values of the data.
    #[getter]
    fn message(&self) -> String {
        self.detail.message(self.keyword, self.kind, &self.plan)
    }

    /// What was expected, in words.
    #[getter]
    fn expected(&self) -> String {
        self.detail.expected(self.keyword, &self.plan)
    }

    /// The numbers and names of the message as data.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let params = PyDict::new(py);
        for (name, param) in self.detail.params(self.keyword, &self.plan) {
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
    fn schema_path(&self) -> &str {
        &self.schema_path
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
        let message = PyString::new(py, &self.message()).repr()?;
        Ok(format!("Issue({pointer}, {message})"))
    }

    fn __str__(&self) -> String {
        let pointer = self.pointer();
        if pointer.is_empty() { self.message() } else { format!("{} at {pointer}", self.message()) }
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        match other.cast::<Self>() {
            Ok(other) => {
                let equal = self.values(py)?.eq(other.get().values(py)?)?;
                Ok(equal.into_pyobject(py)?.to_owned().into_any().unbind())
            }
            Err(_) => Ok(py.NotImplemented()),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.values(py)?.hash()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.value)?;
        self.causes.iter().flatten().try_for_each(|cause| visit.call(cause))
    }
}

/// The issues of a plan's explanation as a Python list.
pub(crate) fn list<'py>(
    py: Python<'py>,
    plan: &Arc<Plan>,
    issues: Vec<CoreIssue<PyValue<'_>>>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for issue in issues {
        list.append(Issue::new(py, plan, issue)?)?;
    }
    Ok(list)
}
