//! Making Python objects from scanned text: one C call each.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use pyo3::{Borrowed, ffi};

/// Takes over a new reference, or the exception that was set instead.
#[inline]
fn owned(py: Python<'_>, pointer: *mut ffi::PyObject) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the C API returned a new reference, or null with an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, pointer) }
}

/// An int.
#[inline]
pub(crate) fn int(py: Python<'_>, value: i64) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the interpreter is attached.
    owned(py, unsafe { ffi::PyLong_FromLongLong(value) })
}

/// An int from its decimal digits.
pub(crate) fn big_int<'py>(py: Python<'py>, digits: &std::ffi::CStr) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the text ends in a zero byte.
    owned(py, unsafe { ffi::PyLong_FromString(digits.as_ptr(), std::ptr::null_mut(), 10) })
}

/// A float.
#[inline]
pub(crate) fn float(py: Python<'_>, value: f64) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the interpreter is attached.
    owned(py, unsafe { ffi::PyFloat_FromDouble(value) })
}

/// A str from ASCII bytes.
#[inline]
pub(crate) fn ascii<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    debug_assert!(text.is_ascii());
    if text.len() <= 1 {
        // One-character strs are shared by the interpreter.
        // SAFETY: the bytes are as many as said.
        let made = unsafe {
            ffi::PyUnicode_FromKindAndData(
                ffi::PyUnicode_1BYTE_KIND.cast_signed(),
                text.as_ptr().cast(),
                text.len().cast_signed(),
            )
        };
        return owned(py, made);
    }
    // SAFETY: the interpreter is attached.
    let made = owned(py, unsafe { ffi::PyUnicode_New(text.len().cast_signed(), 127) })?;
    // SAFETY: a new str is compact; its data follows its header.
    let data = unsafe { ffi::PyUnicode_DATA(made.as_ptr()) };
    // SAFETY: the new str has room for as many bytes, and nobody else has seen it.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), data.cast::<u8>(), text.len()) };
    Ok(made)
}

/// A str from UTF-8.
#[inline]
pub(crate) fn utf8<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the bytes are as many as said; the C API checks them.
    owned(py, unsafe { ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), text.len().cast_signed()) })
}

/// A list that takes over the values from `start` on.
#[inline]
pub(crate) fn list<'py>(
    py: Python<'py>,
    stack: &mut Vec<Bound<'py, PyAny>>,
    start: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let length = stack.len() - start;
    // SAFETY: the interpreter is attached.
    let made = owned(py, unsafe { ffi::PyList_New(length.cast_signed()) })?;
    for (index, item) in stack.drain(start..).enumerate() {
        // SAFETY: the new list has an empty slot at the index and takes over the reference.
        unsafe { ffi::PyList_SET_ITEM(made.as_ptr(), index.cast_signed(), item.into_ptr()) };
    }
    Ok(made)
}


/// Puts a member into a dict made here.
#[inline]
pub(crate) fn insert(dict: &Bound<'_, PyDict>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    // SAFETY: all three are alive; the key is an exact str, so no user code hashes or compares it.
    let result = unsafe { ffi::PyDict_SetItem(dict.as_ptr(), key.as_ptr(), value.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(PyErr::fetch(dict.py())) }
}

/// How many members a dict has.
#[inline]
pub(crate) fn dict_len(dict: &Bound<'_, PyDict>) -> usize {
    // SAFETY: the object is a dict.
    usize::try_from(unsafe { ffi::PyDict_Size(dict.as_ptr()) }).unwrap_or(0)
}

/// The str of a plan's token.
///
/// Tokens are addresses of interned strs that the plan's validator keeps alive (`host.rs`).
#[inline]
pub(crate) fn known<'a, 'py>(_: &'a [Py<PyString>], py: Python<'py>, token: usize) -> Borrowed<'a, 'py, PyAny> {
    let pointer = std::ptr::with_exposed_provenance_mut(token);
    // SAFETY: the token was made by `expose` from a str of the slice, which keeps it alive for 'a.
    unsafe { Borrowed::from_ptr(py, pointer) }
}

/// The token of a str.
pub(crate) fn expose(text: &Bound<'_, PyString>) -> usize {
    text.as_ptr().expose_provenance()
}
