//! The class `Limits`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use toolhead_core::limits::Limits as CoreLimits;

/// How much work one value, text or schema may ask for. What passes a limit is refused with an error of its own.
#[pyclass(frozen, eq, hash, module = "toolhead", from_py_object)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Limits {
    /// Levels of nesting.
    #[pyo3(get)]
    depth: usize,
    /// Bytes of a JSON text.
    #[pyo3(get)]
    text_length: usize,
    /// Issues listed for one value.
    #[pyo3(get)]
    issues: usize,
    /// Digits of a number in a JSON text.
    #[pyo3(get)]
    number_digits: usize,
    /// Steps of one match of a pattern.
    #[pyo3(get)]
    regex_steps: usize,
}

/// The deepest nesting that may be asked for: the drivers' native stack is bounded by it.
const DEEPEST: usize = 1_000;

#[pymethods]
impl Limits {
    #[new]
    #[pyo3(signature = (*, depth=200, text_length=67_108_864, issues=100, number_digits=4_300, regex_steps=1_000_000))]
    fn new(
        depth: usize,
        text_length: usize,
        issues: usize,
        number_digits: usize,
        regex_steps: usize,
    ) -> PyResult<Self> {
        if depth == 0 || depth > DEEPEST {
            return Err(PyValueError::new_err(format!("depth: expected 1 to {DEEPEST}, got {depth}")));
        }
        Ok(Self { depth, text_length, issues, number_digits, regex_steps })
    }

    fn __repr__(&self) -> String {
        let Self { depth, text_length, issues, number_digits, regex_steps } = self;
        format!(
            "Limits(depth={depth}, text_length={text_length}, issues={issues}, number_digits={number_digits}, \
             regex_steps={regex_steps})"
        )
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        let restore = py.import("toolhead._core")?.getattr("_restore_limits")?;
        let Self { depth, text_length, issues, number_digits, regex_steps } = self;
        let values = (*depth, *text_length, *issues, *number_digits, *regex_steps);
        Ok((restore.unbind(), values.into_pyobject(py)?.into_any().unbind()))
    }
}

/// Makes pickled limits again.
#[pyfunction]
pub(crate) fn _restore_limits(
    depth: usize,
    text_length: usize,
    issues: usize,
    number_digits: usize,
    regex_steps: usize,
) -> PyResult<Limits> {
    Limits::new(depth, text_length, issues, number_digits, regex_steps)
}

impl Default for Limits {
    fn default() -> Self {
        let CoreLimits { depth, text_length, issues, number_digits, regex_steps } = CoreLimits::default();
        Self { depth, text_length, issues, number_digits, regex_steps }
    }
}

impl Limits {
    /// Issues listed for one value.
    pub(crate) fn issues(&self) -> usize {
        self.issues
    }

    /// The limits for the core.
    pub(crate) fn to_core(&self) -> CoreLimits {
        CoreLimits {
            depth: self.depth,
            text_length: self.text_length,
            issues: self.issues,
            number_digits: self.number_digits,
            regex_steps: self.regex_steps,
        }
    }
}
