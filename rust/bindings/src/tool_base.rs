//! `ToolBase`: the part of a tool that every call touches, and the steps of a plain call.
//!
//! Source: spec/api.md section 2; the order is section 3 of the behaviour document. What a call asks for beyond
//! these steps is decided from `slow` when the tool is made, and then added around them by `toolhead.call`.

use std::sync::atomic::{AtomicU8, Ordering};

use pyo3::exceptions::{PyBaseException, PyException, PyRuntimeError, PyStopIteration};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::call_context::{Context, imported};
use crate::ffi::make::Made;
use crate::tool_call;
use crate::validator::Validator;

/// Whether a tracer provider is configured; asked at the first call of each tool.
const UNKNOWN: u8 = 0;
const UNTRACED: u8 = 1;
const TRACED: u8 = 2;

/// What a step made of a value.
pub(crate) enum Checked<'py> {
    /// The value to go on with, and the repairs that made it valid, if any.
    Accepted(Bound<'py, PyAny>, Option<Bound<'py, PyTuple>>),
    /// The `ValidationError` that ends the call.
    Refused(Bound<'py, PyAny>),
}

/// The native base of `toolhead.Tool`: body, validators and the `execute` family.
#[pyclass(subclass, frozen, module = "toolhead._core")]
pub struct ToolBase {
    id: Py<PyString>,
    function: Option<Py<PyAny>>,
    takes_context: bool,
    input: Option<Py<Validator>>,
    /// What reads argument text: the input's validator, or one that accepts any JSON.
    text: Py<Validator>,
    output: Option<Py<Validator>>,
    build_input: Option<Py<PyAny>>,
    build_output: Option<Py<PyAny>>,
    /// Whether a call takes the steps in `toolhead.call` instead of a `ToolCall`.
    slow: bool,
    slow_sync: bool,
    tracing: AtomicU8,
}

#[pymethods]
impl ToolBase {
    #[new]
    #[pyo3(signature = (*, id, function, takes_context, input, text, output, build_input, build_output, slow, slow_sync))]
    #[expect(clippy::too_many_arguments, reason = "the parts of a tool, each by its name")]
    fn new(
        id: Py<PyString>,
        function: Option<Py<PyAny>>,
        takes_context: bool,
        input: Option<Py<Validator>>,
        text: Py<Validator>,
        output: Option<Py<Validator>>,
        build_input: Option<Py<PyAny>>,
        build_output: Option<Py<PyAny>>,
        slow: bool,
        slow_sync: bool,
    ) -> Self {
        Self {
            id,
            function,
            takes_context,
            input,
            text,
            output,
            build_input,
            build_output,
            slow,
            slow_sync,
            tracing: AtomicU8::new(UNKNOWN),
        }
    }

    /// Calls the tool with `input` and returns an awaitable of the validated output or a `ValidationError`.
    ///
    /// Invalid data never raises (`raises=True` raises the `ValidationError` instead of returning it); an exception
    /// of the body propagates unchanged. `context` is a `ToolExecutionContext`, one of the namespace contexts or a
    /// mapping of its members. The input is handed to the body as it is unless a default is filled in or it is
    /// repaired: then the body gets a copy.
    ///
    /// Raises `ToolSuspended` when the body suspends, `ToolNotExecutableError` when the tool has no body,
    /// `ToolTimeoutError` and `ToolAbortedError`. Source: spec/api.md section 2.
    #[pyo3(signature = (input, context=None, *, raises=false))]
    fn execute<'py>(
        slf: &Bound<'py, Self>,
        input: Bound<'py, PyAny>,
        context: Option<Bound<'py, PyAny>>,
        raises: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(start(slf, input, context, false, raises)?)
    }

    /// `execute` from the argument text of a model (`str`, `bytes`): decoded and validated in one pass.
    ///
    /// Text that is not JSON gives a `ValidationError` whose `__cause__` is the `DecodeError`. Source: spec/api.md
    /// section 2.
    #[pyo3(signature = (text, context=None, *, raises=false))]
    fn execute_json<'py>(
        slf: &Bound<'py, Self>,
        text: Bound<'py, PyAny>,
        context: Option<Bound<'py, PyAny>>,
        raises: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(start(slf, text, context, true, raises)?)
    }

    /// `execute` that raises the `ValidationError` instead of returning it.
    #[pyo3(signature = (input, context=None))]
    fn execute_or_raise<'py>(
        slf: &Bound<'py, Self>,
        input: Bound<'py, PyAny>,
        context: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(start(slf, input, context, false, true)?)
    }

    /// Calls a tool with a synchronous body in this thread and returns its outcome, as `execute` would.
    ///
    /// An asynchronous body is run to its end in an event loop of its own; inside a running loop that is a
    /// `RuntimeError`. Source: spec/api.md section 2.
    #[pyo3(signature = (input, context=None, *, raises=false))]
    fn execute_sync<'py>(
        slf: &Bound<'py, Self>,
        input: &Bound<'py, PyAny>,
        context: Option<Bound<'py, PyAny>>,
        raises: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        run_now(slf, input, context, false, raises)
    }

    /// `execute_sync` from the argument text of a model.
    #[pyo3(signature = (text, context=None, *, raises=false))]
    fn execute_json_sync<'py>(
        slf: &Bound<'py, Self>,
        text: &Bound<'py, PyAny>,
        context: Option<Bound<'py, PyAny>>,
        raises: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        run_now(slf, text, context, true, raises)
    }

    /// The native step of `toolhead.call.check_input`: `(value, repairs)`, or a `ValidationError`.
    fn _accept_input<'py>(
        slf: &Bound<'py, Self>,
        input: &Bound<'py, PyAny>,
        is_text: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        Ok(match Self::accept_input(slf, input, is_text)? {
            Checked::Accepted(value, repairs) => {
                (value, repairs.unwrap_or_else(|| PyTuple::empty(py))).into_pyobject(py)?.into_any()
            }
            Checked::Refused(error) => error,
        })
    }

    /// The native step after the body: `(value,)`, or a `ValidationError`.
    fn _accept_output<'py>(slf: &Bound<'py, Self>, output: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        Ok(match Self::accept_output(slf, output)? {
            Checked::Accepted(value, _) => (value,).into_pyobject(py)?.into_any(),
            Checked::Refused(error) => error,
        })
    }

    /// Calls the body with a validated input and the context it is to see.
    fn _call_body<'py>(
        &self,
        input: Bound<'py, PyAny>,
        context: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.call_body(input, self.takes_context.then_some(context))?)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)?;
        visit.call(&self.input)?;
        visit.call(&self.text)?;
        visit.call(&self.output)?;
        visit.call(&self.build_input)?;
        visit.call(&self.build_output)
    }
}

impl ToolBase {
    pub(crate) fn id(&self) -> &Py<PyString> {
        &self.id
    }

    /// Validates the input, and repairs it if that fails.
    #[inline]
    pub(crate) fn accept_input<'py>(
        slf: &Bound<'py, Self>,
        input: &Bound<'py, PyAny>,
        is_text: bool,
    ) -> Made<Checked<'py>> {
        let (py, this) = (slf.py(), slf.get());
        let accepted = match (&this.input, is_text) {
            (Some(validator), false) => validator.get().accept(py, input)?,
            (None, false) => return Ok(Checked::Accepted(input.clone(), None)),
            (_, true) => this.text.get().accept_text(py, input)?,
        };
        match (accepted, &this.build_input) {
            (Some(value), None) => Ok(Checked::Accepted(value, None)),
            (Some(value), Some(build)) => match build.bind(py).call1((value,)) {
                Ok(instance) => Ok(Checked::Accepted(instance, None)),
                Err(error) if !error.is_instance_of::<PyException>(py) => Err(error.into()),
                Err(_) => Self::refuse_input(slf, input, is_text),
            },
            (None, _) => Self::refuse_input(slf, input, is_text),
        }
    }

    /// The cold path of `accept_input`: an instance, a value that repair makes valid, or a `ValidationError`.
    #[cold]
    fn refuse_input<'py>(
        slf: &Bound<'py, Self>,
        input: &Bound<'py, PyAny>,
        is_text: bool,
    ) -> Made<Checked<'py>> {
        let answer = Python::attach(|_| {
            imported!(slf.py(), "toolhead.call", "refuse_input")?.call1((slf, input, is_text))
        })?;
        match answer.cast_into::<PyTuple>() {
            Ok(accepted) => {
                let repairs = accepted.get_item(1)?.cast_into::<PyTuple>().map_err(PyErr::from)?;
                Ok(Checked::Accepted(accepted.get_item(0)?, (!repairs.is_empty()).then_some(repairs)))
            }
            Err(refused) => Ok(Checked::Refused(refused.into_inner())),
        }
    }

    /// Validates what the body returned.
    #[inline]
    pub(crate) fn accept_output<'py>(
        slf: &Bound<'py, Self>,
        output: Bound<'py, PyAny>,
    ) -> Made<Checked<'py>> {
        let (py, this) = (slf.py(), slf.get());
        let Some(validator) = &this.output else {
            // A body that returns a ValidationError has failed with it; an output schema refuses it anyway.
            let is_failure = output.is_instance_of::<PyBaseException>()
                && output.is_instance(imported!(py, "toolhead.errors", "ValidationError")?)?;
            return Ok(if is_failure { Checked::Refused(output) } else { Checked::Accepted(output, None) });
        };
        match (validator.get().accept(py, &output)?, &this.build_output) {
            (Some(value), None) => Ok(Checked::Accepted(value, None)),
            (Some(value), Some(build)) => match build.bind(py).call1((value,)) {
                Ok(instance) => Ok(Checked::Accepted(instance, None)),
                Err(error) if !error.is_instance_of::<PyException>(py) => Err(error.into()),
                Err(_) => Self::refuse_output(slf, &output),
            },
            (None, _) => Self::refuse_output(slf, &output),
        }
    }

    /// The cold path of `accept_output`: an instance of the declared class, or a `ValidationError`.
    #[cold]
    fn refuse_output<'py>(slf: &Bound<'py, Self>, output: &Bound<'py, PyAny>) -> Made<Checked<'py>> {
        let answer =
            Python::attach(|_| imported!(slf.py(), "toolhead.call", "refuse_output")?.call1((slf, output)))?;
        match answer.cast_into::<PyTuple>() {
            Ok(accepted) => Ok(Checked::Accepted(accepted.get_item(0)?, None)),
            Err(refused) => Ok(Checked::Refused(refused.into_inner())),
        }
    }

    /// The context of one plain call; None for a body that takes none.
    #[inline]
    pub(crate) fn new_context<'py>(
        &self,
        py: Python<'py>,
        repairs: Option<Bound<'py, PyTuple>>,
    ) -> Made<Option<Context<'py>>> {
        if self.takes_context { Context::plain(py, repairs).map(Some) } else { Ok(None) }
    }

    /// Calls the body.
    #[inline]
    pub(crate) fn call_body<'py>(
        &self,
        input: Bound<'py, PyAny>,
        context: Option<&Bound<'py, PyAny>>,
    ) -> Made<Bound<'py, PyAny>> {
        let py = input.py();
        let Some(function) = &self.function else {
            let error = imported!(py, "toolhead.call", "not_executable")?.call1((&self.id,))?;
            return Err(PyErr::from_value(error).into());
        };
        Ok(match context {
            Some(context) => function.bind(py).call1((input, context))?,
            None => function.bind(py).call1((input,))?,
        })
    }

    /// What a failed body means, or a schema's owner that raised: a suspension becomes the call's outcome or
    /// `ToolSuspended`, a `StopIteration` a `RuntimeError` (in a task it would never end), anything else stays as it is.
    #[cold]
    pub(crate) fn body_failed<'py>(slf: &Bound<'py, Self>, error: PyErr) -> Made<Checked<'py>> {
        let py = slf.py();
        let suspension = imported!(py, "toolhead.suspend", "Suspension")?;
        if error.is_instance(py, suspension) {
            let outcome = imported!(py, "toolhead.call", "suspended")?.call1((slf, error.value(py)))?;
            return Ok(Checked::Refused(outcome));
        }
        if error.is_instance_of::<PyStopIteration>(py) {
            let replaced = PyRuntimeError::new_err("the body of a tool raised StopIteration");
            replaced.set_cause(py, Some(error));
            return Err(replaced.into());
        }
        Err(error.into())
    }

    fn is_traced(&self, py: Python<'_>) -> PyResult<bool> {
        match self.tracing.load(Ordering::Relaxed) {
            UNKNOWN => {
                let traced = imported!(py, "toolhead.observe", "is_configured")?.call0()?.is_truthy()?;
                self.tracing.store(if traced { TRACED } else { UNTRACED }, Ordering::Relaxed);
                Ok(traced)
            }
            known => Ok(known == TRACED),
        }
    }
}

/// Ends what the context of a plain call began.
#[inline]
pub(crate) fn end(context: Option<&Context<'_>>) -> Made<()> {
    context.map_or(Ok(()), Context::end)
}

/// The outcome of a call as its caller gets it.
pub(crate) fn outcome(checked: Checked<'_>, raises: bool) -> Made<Bound<'_, PyAny>> {
    match checked {
        Checked::Accepted(value, _) => Ok(value),
        Checked::Refused(error) if raises => Err(PyErr::from_value(error).into()),
        Checked::Refused(error) => Ok(error),
    }
}

/// Starts a call: a `ToolCall`, or what `toolhead.call` makes of a call that asks for more.
#[inline]
pub(crate) fn start<'py>(
    slf: &Bound<'py, ToolBase>,
    input: Bound<'py, PyAny>,
    context: Option<Bound<'py, PyAny>>,
    is_text: bool,
    raises: bool,
) -> Made<Bound<'py, PyAny>> {
    let (py, this) = (slf.py(), slf.get());
    if this.slow || context.is_some() || this.is_traced(py)? {
        return Ok(imported!(py, "toolhead.call", "execute")?.call1((slf, input, context, is_text, raises))?);
    }
    tool_call::create(slf, input, is_text, raises)
}

fn run_now<'py>(
    slf: &Bound<'py, ToolBase>,
    input: &Bound<'py, PyAny>,
    context: Option<Bound<'py, PyAny>>,
    is_text: bool,
    raises: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, this) = (slf.py(), slf.get());
    if this.slow_sync || context.is_some() || this.is_traced(py)? {
        return imported!(py, "toolhead.call", "execute_sync")?.call1((slf, input, context, is_text, raises));
    }
    let accepted = ToolBase::accept_input(slf, input, is_text)
        .or_else(|error| ToolBase::body_failed(slf, error.into()))?;
    let (value, repairs) = match accepted {
        Checked::Accepted(value, repairs) => (value, repairs),
        refused @ Checked::Refused(_) => return Ok(outcome(refused, raises)?),
    };
    let context = this.new_context(py, repairs)?;
    let checked = match this.call_body(value, context.as_ref().map(Context::as_any)) {
        Ok(output) => {
            ToolBase::accept_output(slf, output).or_else(|error| ToolBase::body_failed(slf, error.into()))
        }
        Err(error) => ToolBase::body_failed(slf, error.into()),
    };
    // Taken out of the interpreter: what ends the context is Python code.
    let checked = checked.map_err(PyErr::from);
    end(context.as_ref())?;
    Ok(outcome(checked?, raises)?)
}
