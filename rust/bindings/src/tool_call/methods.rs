//! `Tool.execute` and `Tool.execute_json` as the interpreter likes them best: plain C methods of the very class.
//!
//! Source: CPython's C API reference, "Common Object Structures" (`METH_FASTCALL`) and "Descriptor Objects". Only a
//! method of exactly the instance's class is called without a detour; that is worth a tenth of a small call. Every
//! form but one positional argument goes to the methods of `ToolBase`, which parse and document the arguments.

use std::ffi::CStr;
use std::ptr::null_mut;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::ffi::call::unpanicked;
use crate::tool_base::{ToolBase, start};

/// Gives a subclass of `ToolBase` its own `execute` and `execute_json`. Returns the class, as a decorator does.
#[pyfunction]
#[pyo3(signature = (class, /))]
pub(crate) fn with_direct_calls<'py>(class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyType>> {
    let py = class.py();
    if !class.is_subclass_of::<ToolBase>()? {
        return Err(PyTypeError::new_err("expected a subclass of ToolBase"));
    }
    let base = py.get_type::<ToolBase>();
    let methods =
        [("execute", c"execute", execute as Function), ("execute_json", c"execute_json", execute_json)];
    for (text, name, function) in methods {
        let doc: String = base.getattr(text)?.getattr("__doc__")?.extract()?;
        class.setattr(text, method(class, name, function, &doc)?)?;
    }
    Ok(class.clone())
}

type Function = unsafe extern "C" fn(
    *mut PyObject,
    *const *mut PyObject,
    ffi::Py_ssize_t,
    *mut PyObject,
) -> *mut PyObject;

fn method<'py>(
    class: &Bound<'py, PyType>,
    name: &'static CStr,
    function: Function,
    doc: &str,
) -> PyResult<Bound<'py, PyAny>> {
    // A class lives for ever, and so do the tables of its methods.
    let doc = Box::leak(format!("{doc}\0").into_boxed_str());
    let table = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: function },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: doc.as_ptr().cast(),
    }));
    // SAFETY: the class is a live type and the table lives for ever.
    let made = unsafe { ffi::PyDescr_NewMethod(class.as_type_ptr(), table) };
    // SAFETY: the answer is a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(class.py(), made) }
}

unsafe extern "C" fn execute(
    slf: *mut PyObject,
    args: *const *mut PyObject,
    count: ffi::Py_ssize_t,
    names: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: passed on as the interpreter gave it.
    unsafe { called(slf, args, count, names, false) }
}

unsafe extern "C" fn execute_json(
    slf: *mut PyObject,
    args: *const *mut PyObject,
    count: ffi::Py_ssize_t,
    names: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: passed on as the interpreter gave it.
    unsafe { called(slf, args, count, names, true) }
}

#[inline]
unsafe fn called(
    slf: *mut PyObject,
    args: *const *mut PyObject,
    count: ffi::Py_ssize_t,
    names: *mut PyObject,
    is_text: bool,
) -> *mut PyObject {
    // SAFETY: the interpreter calls a method attached, and the token ends with the call; see `slots::am_send`.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: the interpreter lends a live object.
    let slf = unsafe { Bound::from_borrowed_ptr(py, slf) };
    let result = if count == 1 && names.is_null() {
        // SAFETY: there is one argument.
        let argument = unsafe { argument(py, args, 0) };
        // SAFETY: the descriptor has checked that the object is an instance of the class, a subclass of `ToolBase`.
        let tool = unsafe { slf.cast_unchecked::<ToolBase>() };
        unpanicked(|| start(tool, argument, None, is_text, false))
    } else {
        // SAFETY: the names of the keyword arguments are null or a tuple that the interpreter lends.
        let names = unsafe { Bound::from_borrowed_ptr_or_opt(py, names) };
        let read = |index| {
            // SAFETY: `detour` asks for the positional arguments and for one argument a name, which follow them.
            unsafe { argument(py, args, index) }
        };
        unpanicked(|| {
            Ok(Python::attach(|_| detour(&slf, read, count.unsigned_abs(), names.as_ref(), is_text))?)
        })
    };
    result.map_or(null_mut(), Bound::into_ptr)
}

/// The argument at `index`, which must be there.
#[inline]
unsafe fn argument(py: Python<'_>, args: *const *mut PyObject, index: usize) -> Bound<'_, PyAny> {
    // SAFETY: the caller knows that there are so many.
    let place = unsafe { args.add(index) };
    // SAFETY: as above.
    let object = unsafe { *place };
    // SAFETY: the interpreter lends live objects.
    unsafe { Bound::from_borrowed_ptr(py, object) }
}

/// Calls the method of `ToolBase` with the same arguments.
#[cold]
fn detour<'py>(
    slf: &Bound<'py, PyAny>,
    read: impl Fn(usize) -> Bound<'py, PyAny>,
    count: usize,
    names: Option<&Bound<'py, PyAny>>,
    is_text: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    let positional = std::iter::once(slf.clone()).chain((0..count).map(&read));
    let positional = PyTuple::new(py, positional.collect::<Vec<_>>())?;
    let by_name = PyDict::new(py);
    if let Some(names) = names {
        for (index, name) in names.cast::<PyTuple>()?.iter().enumerate() {
            by_name.set_item(name, read(count + index))?;
        }
    }
    let name = if is_text { "execute_json" } else { "execute" };
    py.get_type::<ToolBase>().getattr(name)?.call(positional, Some(&by_name))
}
