//! `ToolCall`: the awaitable that `Tool.execute` returns, driving the body's coroutine itself.
//!
//! Source: spec/api.md section 2; PEP 492 for the protocol. Nothing of asyncio, no span, no context variable write
//! and no thread is in the path of a call. The object's memory and its C face are in `slots`.

#[expect(unsafe_code, reason = "methods of exactly the class of the tool are C functions")]
pub(crate) mod methods;
#[expect(unsafe_code, reason = "a type with am_send is a slot table of C functions")]
mod slots;

use pyo3::exceptions::{PyRuntimeWarning, PyStopIteration, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use self::slots::{Call, Claimed};
use crate::call_context::Context;
use crate::ffi::call::{Sent, is_awaitable, is_coroutine, is_generator, send};
use crate::ffi::make::Made;
use crate::tool_base::{Checked, ToolBase, end, outcome};

/// The flag of a code object that makes its generators awaitable (`types.coroutine`).
const CO_ITERABLE_COROUTINE: u32 = 0x100;

/// What a call holds while nobody runs it.
pub(crate) struct Parts {
    pub(crate) tool: Py<ToolBase>,
    is_text: bool,
    raises: bool,
    pub(crate) stage: Stage,
}

/// How far a call has come.
pub(crate) enum Stage {
    /// Nothing has happened; the input, or the argument text.
    New(Py<PyAny>),
    /// The body waits in `inner`: its coroutine, or the iterator of another awaitable.
    Waiting { inner: Py<PyAny>, context: Option<Py<PyAny>> },
}

/// A new call. It takes references and does nothing else.
#[inline]
pub(crate) fn create<'py>(
    tool: &Bound<'py, ToolBase>,
    input: Bound<'py, PyAny>,
    is_text: bool,
    raises: bool,
) -> Made<Bound<'py, PyAny>> {
    let stage = Stage::New(input.unbind());
    slots::create(tool.py(), Parts { tool: tool.clone().unbind(), is_text, raises, stage })
}

/// `send(arg)`: starts or continues the call.
#[inline]
fn sent<'py>(call: &Call<'_>, arg: &Bound<'py, PyAny>) -> Made<Sent<'py>> {
    let py = arg.py();
    let (claimed, parts) = call.claim()?;
    let tool = parts.tool.into_bound(py);
    match parts.stage {
        Stage::New(_) if !arg.is_none() => {
            Err(PyTypeError::new_err("can't send non-None value to a just-started tool call").into())
        }
        Stage::New(input) => begin(claimed, tool, &input.into_bound(py), parts.is_text, parts.raises),
        Stage::Waiting { inner, context } => {
            let context = context.map(|context| Context::bind(context, py));
            drive(claimed, tool, inner.into_bound(py), context, arg, parts.raises)
        }
    }
}

/// `throw(...)`: the way a cancellation arrives. Before the first step the body must not run at all.
fn thrown<'py>(call: &Call<'_>, args: &Bound<'py, PyTuple>) -> Made<Sent<'py>> {
    let py = args.py();
    let (claimed, parts) = call.claim()?;
    let Stage::Waiting { inner, context } = parts.stage else {
        return Err(raised(args)?.into());
    };
    let (tool, inner) = (parts.tool.into_bound(py), inner.into_bound(py));
    let context = context.map(|context| Context::bind(context, py));
    if let Some(context) = &context {
        context.cancelled(&args.get_item(0)?)?;
    }
    let Some(throw) = inner.getattr_opt("throw")? else {
        return after_error(&tool, context.as_ref(), raised(args)?, parts.raises);
    };
    match throw.call1(args) {
        Ok(waits_for) => {
            let stage = Stage::Waiting { inner: inner.unbind(), context: context.map(Context::unbind) };
            claimed.put_back(Parts { tool: tool.unbind(), stage, ..parts });
            Ok(Sent::Next(waits_for))
        }
        // The body caught the exception and answered.
        Err(error) if error.is_instance_of::<PyStopIteration>(py) => {
            finish(&tool, context.as_ref(), error.value(py).getattr("value")?, parts.raises)
        }
        Err(error) => after_error(&tool, context.as_ref(), error, parts.raises),
    }
}

/// `close()`: ends the call where it waits. A call that has not begun is simply over.
fn closed(call: &Call<'_>, py: Python<'_>) -> PyResult<()> {
    if call.is_done() {
        return Ok(());
    }
    // Dropped at the end of this function, which leaves the call done.
    let (_claimed, parts) = call.claim()?;
    if let Stage::Waiting { inner, context } = parts.stage {
        let close = inner.bind(py).getattr_opt("close")?;
        let result = close.map_or(Ok(()), |close| close.call0().map(drop));
        end(context.map(|context| Context::bind(context, py)).as_ref())?;
        return result;
    }
    Ok(())
}

/// The warning of a call that was made and dropped.
fn never_awaited(call: &Bound<'_, PyAny>, tool: &ToolBase) {
    let py = call.py();
    let text = format!("the call of tool '{}' was never awaited\0", tool.id().bind(py));
    let text =
        std::ffi::CStr::from_bytes_until_nul(text.as_bytes()).unwrap_or(c"a tool call was never awaited");
    if let Err(error) = PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), text, 1) {
        error.write_unraisable(py, Some(call));
    }
}

#[inline]
fn begin<'py>(
    claimed: Claimed<'_>,
    tool: Bound<'py, ToolBase>,
    input: &Bound<'py, PyAny>,
    is_text: bool,
    raises: bool,
) -> Made<Sent<'py>> {
    let py = input.py();
    let accepted = ToolBase::accept_input(&tool, input, is_text)
        .or_else(|error| ToolBase::body_failed(&tool, error.into()))?;
    let (value, repairs) = match accepted {
        Checked::Accepted(value, repairs) => (value, repairs),
        refused @ Checked::Refused(_) => return outcome(refused, raises).map(Sent::Return),
    };
    let context = tool.get().new_context(py, repairs)?;
    let result = match tool.get().call_body(value, context.as_ref().map(Context::as_any)) {
        Ok(result) => result,
        Err(error) => return after_error(&tool, context.as_ref(), error.into(), raises),
    };
    let inner = if is_coroutine(&result) || is_awaitable_generator(&result)? {
        result
    } else if is_awaitable(&result) {
        result.get_type().getattr("__await__")?.call1((&result,))?
    } else {
        return finish(&tool, context.as_ref(), result, raises);
    };
    drive(claimed, tool, inner, context, &py.None().into_bound(py), raises)
}

#[inline]
fn drive<'py>(
    claimed: Claimed<'_>,
    tool: Bound<'py, ToolBase>,
    inner: Bound<'py, PyAny>,
    context: Option<Context<'py>>,
    arg: &Bound<'py, PyAny>,
    raises: bool,
) -> Made<Sent<'py>> {
    match send(&inner, arg) {
        Ok(Sent::Return(output)) => finish(&tool, context.as_ref(), output, raises),
        Ok(Sent::Next(waits_for)) => {
            let stage = Stage::Waiting { inner: inner.unbind(), context: context.map(Context::unbind) };
            // The text has been read by now.
            claimed.put_back(Parts { tool: tool.unbind(), is_text: false, raises, stage });
            Ok(Sent::Next(waits_for))
        }
        Err(error) => after_error(&tool, context.as_ref(), error.into(), raises),
    }
}

#[inline]
fn finish<'py>(
    tool: &Bound<'py, ToolBase>,
    context: Option<&Context<'py>>,
    output: Bound<'py, PyAny>,
    raises: bool,
) -> Made<Sent<'py>> {
    end(context)?;
    let checked =
        ToolBase::accept_output(tool, output).or_else(|error| ToolBase::body_failed(tool, error.into()))?;
    outcome(checked, raises).map(Sent::Return)
}

#[cold]
fn after_error<'py>(
    tool: &Bound<'py, ToolBase>,
    context: Option<&Context<'py>>,
    error: PyErr,
    raises: bool,
) -> Made<Sent<'py>> {
    // Attached for PyO3 as well, so that what is dropped is freed at once: tracebacks hold frames.
    Python::attach(|_| {
        end(context)?;
        outcome(ToolBase::body_failed(tool, error)?, raises).map(Sent::Return)
    })
}

/// Whether `value` is the generator of a `types.coroutine` function: awaitable without `__await__`.
#[inline]
fn is_awaitable_generator(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !is_generator(value) {
        return Ok(false);
    }
    let flags: u32 = value.getattr("gi_code")?.getattr("co_flags")?.extract()?;
    Ok(flags & CO_ITERABLE_COROUTINE != 0)
}

/// The exception that the arguments of `throw` stand for.
fn raised(args: &Bound<'_, PyTuple>) -> PyResult<PyErr> {
    let first = args.get_item(0)?;
    if first.cast::<pyo3::types::PyType>().is_err() {
        return Ok(PyErr::from_value(first));
    }
    let value = match args.get_item(1) {
        Ok(value) if !value.is_none() => value,
        _ => first.call0()?,
    };
    Ok(PyErr::from_value(value))
}
