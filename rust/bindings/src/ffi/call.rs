//! The C calls of a tool call that PyO3 does not offer, one a function.
//!
//! Source: CPython's C API reference, "Iterator Protocol", "Type Objects" and "Context Variables".
//! No raw pointer leaves this file.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PySystemError;
use pyo3::ffi;
use pyo3::prelude::*;

use super::make::{Made, Raised};

/// What an iterator answered to a sent value.
pub(crate) enum Sent<'py> {
    /// It waits for something; pass it on.
    Next(Bound<'py, PyAny>),
    /// It has ended with this value.
    Return(Bound<'py, PyAny>),
}

/// Sends `arg` into `inner` (`None` to start or continue), without a `StopIteration` object on the way back.
pub(crate) fn send<'py>(inner: &Bound<'py, PyAny>, arg: &Bound<'py, PyAny>) -> Made<Sent<'py>> {
    let py = inner.py();
    let mut result = std::ptr::null_mut();
    // SAFETY: both arguments are live objects and `result` is a valid place for one owned reference.
    let status = unsafe { ffi::PyIter_Send(inner.as_ptr(), arg.as_ptr(), &raw mut result) };
    // SAFETY: `PyIter_Send` leaves an owned reference, or null with an exception set.
    let value = unsafe { Bound::from_owned_ptr_or_opt(py, result) }.ok_or(Raised)?;
    Ok(match status {
        ffi::PySendResult::PYGEN_NEXT => Sent::Next(value),
        ffi::PySendResult::PYGEN_RETURN | ffi::PySendResult::PYGEN_ERROR => Sent::Return(value),
    })
}

/// Whether `value` is exactly what an `async def` function returns.
#[inline]
pub(crate) fn is_coroutine(value: &Bound<'_, PyAny>) -> bool {
    std::ptr::eq(value.get_type_ptr(), &raw const ffi::PyCoro_Type)
}

/// Whether `value` is exactly a generator object.
pub(crate) fn is_generator(value: &Bound<'_, PyAny>) -> bool {
    std::ptr::eq(value.get_type_ptr(), &raw const ffi::PyGen_Type)
}

/// Whether the type of `value` has the slot behind `__await__`.
#[inline]
pub(crate) fn is_awaitable(value: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the type of a live object is a live type; the slot is only compared with null.
    !unsafe { ffi::PyType_GetSlot(value.get_type_ptr(), ffi::Py_am_await) }.is_null()
}

/// The value of a context variable in the current context, or None where it has none.
#[inline]
pub(crate) fn context_variable<'py>(variable: &Bound<'py, PyAny>) -> Made<Option<Bound<'py, PyAny>>> {
    let py = variable.py();
    let mut value = std::ptr::null_mut();
    // SAFETY: the argument is a live object (its type is checked by the call) and `value` is a valid place.
    let status = unsafe { ffi::PyContextVar_Get(variable.as_ptr(), std::ptr::null_mut(), &raw mut value) };
    if status < 0 {
        return Err(Raised);
    }
    // SAFETY: on success `value` is null or an owned reference.
    Ok(unsafe { Bound::from_owned_ptr_or_opt(py, value) })
}

/// Runs the body of a C function attached, and turns a panic into an exception. None where one is set.
pub(crate) fn guarded<R>(body: impl FnOnce(Python<'_>) -> PyResult<R>) -> Option<R> {
    Python::attach(|py| unpanicked(|| Ok(body(py)?)))
}

/// Runs the body of a C function, and turns a panic into an exception. None where one is set.
#[inline]
pub(crate) fn unpanicked<R>(body: impl FnOnce() -> Made<R>) -> Option<R> {
    let result = catch_unwind(AssertUnwindSafe(body));
    result
        .unwrap_or_else(|_| Err(PySystemError::new_err("a tool call panicked; please report this").into()))
        .ok()
}
