//! What the compiler asks of Python: names and strings to keep, the built-in meta-schemas, the caller's registry.

use pyo3::exceptions::PyLookupError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use toolhead_core::instance::Key as _;
use toolhead_core::limits::Limits;
use toolhead_core::plan::Plan;
use toolhead_core::schema::SchemaError;
use toolhead_core::schema::compile::Host;

use crate::ffi::make;
use crate::ffi::read::Raw;
use crate::meta_schemas;
use crate::py_instance::{PyKey, PyValue};
use crate::to_python::{self, PyBuilder};

/// A compilation's host.
pub(crate) struct PyHost<'a, 'py> {
    registry: Option<Bound<'py, PyAny>>,
    /// The strs whose addresses are the plan's tokens.
    pub(crate) keys: Vec<Py<PyString>>,
    /// What the registry raised, beside a `LookupError`.
    pub(crate) raised: Option<PyErr>,
    /// Documents that the compiler has seen; it borrows from them until it is done.
    documents: &'a Bound<'py, PyList>,
}

impl<'a, 'py> PyHost<'a, 'py> {
    pub(crate) fn new(registry: Option<Bound<'py, PyAny>>, documents: &'a Bound<'py, PyList>) -> Self {
        Self { registry, keys: Vec::new(), raised: None, documents }
    }

    fn hold(&self, document: &Bound<'py, PyAny>) -> PyResult<PyValue<'a>> {
        Ok(PyValue(Raw::kept(self.documents, document)?))
    }

    fn token(&mut self, key: Bound<'py, PyString>) -> usize {
        let token = make::expose(&key);
        self.keys.push(key.unbind());
        token
    }

    fn ask(&self, uri: &str) -> PyResult<Option<PyValue<'a>>> {
        let Some(registry) = &self.registry else { return Ok(None) };
        let py = registry.py();
        let document = if registry.is_callable() {
            document_of(py, registry.call1((uri,)))?
        } else {
            // Up to draft 7 an $id is often written with an empty fragment, and so is the name in a mapping.
            match document_of(py, registry.get_item(uri))? {
                None => document_of(py, registry.get_item(format!("{uri}#")))?,
                document => document,
            }
        };
        let Some(document) = document else { return Ok(None) };
        // A copy: the registry is the caller's code, which may change what it gave away at its next call.
        self.hold(&to_python::copy(&document)?).map(Some)
    }
}

/// The document of a registry's answer; None and a `LookupError` say that there is none.
fn document_of<'py>(
    py: Python<'py>,
    answer: PyResult<Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match answer {
        Ok(document) => Ok(Some(document).filter(|document| !document.is_none())),
        Err(error) if error.is_instance_of::<PyLookupError>(py) => Ok(None),
        Err(error) => Err(error),
    }
}

impl<'a> Host<'a> for PyHost<'a, '_> {
    type Instance = PyValue<'a>;

    fn intern(&mut self, text: &str) -> usize {
        self.token(PyString::intern(self.documents.py(), text))
    }

    fn keep(&mut self, key: PyKey<'a>) -> usize {
        // Readers that keep the keys they make (orjson, jiter) hand the same ones to schemas and to instances.
        match key.object(self.documents.py()).cast_exact::<PyString>() {
            Ok(own) => self.token(own.clone()),
            Err(_) => self.intern(key.text()),
        }
    }

    fn builtin(&mut self, uri: &str) -> Option<PyValue<'a>> {
        let text = meta_schemas::text(uri)?;
        let plan = Plan::anything(Limits::default());
        let mut builder = PyBuilder::new(self.documents.py(), None);
        let document = toolhead_core::drivers::decode::decode(&plan, text.as_bytes(), &mut builder).ok()?;
        self.hold(&document.value).ok()
    }

    fn retrieve(&mut self, uri: &str) -> Result<Option<PyValue<'a>>, SchemaError> {
        self.ask(uri).map_err(|error| {
            self.raised = Some(error);
            SchemaError {
                message: "The registry raised an exception".to_owned(),
                schema_path: String::new(),
                keyword: None,
            }
        })
    }
}

/// Does looking a URI up in the registry run the caller's code?
pub(crate) fn runs_code(registry: &Bound<'_, PyAny>) -> bool {
    !registry.is_exact_instance_of::<PyDict>()
}
