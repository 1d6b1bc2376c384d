//! Methods of one argument without PyO3's argument parsing: a builtin of the `METH_O` kind, added to the class. And one
//! with an option beside, of the `METH_FASTCALL` kind.
//!
//! Measured on the verdict of a one-property object: 47 ns through `#[pymethods]`, 24 ns through this door.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::types::PyTuple;
use pyo3::{Borrowed, PyClass, ffi};

use super::read::Raw;

/// A method of a frozen class with exactly one argument.
pub(crate) trait UnaryMethod {
    /// The class.
    type Class: PyClass<Frozen = True> + Sync;
    /// Its name.
    const NAME: &'static CStr;
    /// Its signature and docstring, as `PyMethodDef` has them.
    const DOC: &'static CStr;
    /// The method.
    fn call<'py>(
        this: Borrowed<'_, 'py, Self::Class>,
        argument: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>>;
}

/// A method of a frozen class with one argument and one option, each by position or by name.
pub(crate) trait OptionMethod {
    /// The class.
    type Class: PyClass<Frozen = True> + Sync;
    /// Its name.
    const NAME: &'static CStr;
    /// Its signature and docstring, as `PyMethodDef` has them.
    const DOC: &'static CStr;
    /// The names of the argument and of the option.
    const ARGUMENTS: [&'static str; 2];
    /// The method.
    fn call<'py>(
        this: Borrowed<'_, 'py, Self::Class>,
        argument: &Bound<'py, PyAny>,
        option: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>>;
}

/// Runs a method and hands its outcome to the interpreter; a panic becomes an exception.
#[inline]
fn outcome<'py>(py: Python<'py>, method: impl FnOnce() -> PyResult<Bound<'py, PyAny>>) -> *mut ffi::PyObject {
    match catch_unwind(AssertUnwindSafe(method)) {
        Ok(Ok(value)) => value.into_ptr(),
        Ok(Err(error)) => {
            error.restore(py);
            std::ptr::null_mut()
        }
        Err(_) => {
            pyo3::exceptions::PyRuntimeError::new_err("toolhead: internal error, please report it")
                .restore(py);
            std::ptr::null_mut()
        }
    }
}

unsafe extern "C" fn with_option<M: OptionMethod>(
    this: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    positional: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls methods attached.
    let py = unsafe { Python::assume_attached() };
    outcome(py, || {
        // SAFETY: the caller keeps `this` alive during the call.
        let this = unsafe { Borrowed::from_ptr(py, this) };
        // SAFETY: the method descriptor checked that `this` is an instance of the class.
        let this = unsafe { this.cast_unchecked::<M::Class>() };
        // SAFETY: the names of keywords are a tuple of strs, or null where there are none.
        let names = unsafe { Borrowed::from_ptr_or_opt(py, names) };
        let names = names.as_deref().map(|names| names.cast::<PyTuple>()).transpose()?;
        let positional = usize::try_from(positional).unwrap_or(0);
        let mut given: [Option<Bound<'_, PyAny>>; 2] = [None, None];
        let count = positional + names.map_or(0, PyTupleMethods::len);
        if count == 0 {
            return Err(missing::<M>());
        }
        // SAFETY: the caller passes as many arguments as it says, those by name after the others, and keeps them alive.
        let arguments = unsafe { std::slice::from_raw_parts(arguments, count) };
        for (at, argument) in arguments.iter().enumerate() {
            // SAFETY: an argument is an object.
            let argument = unsafe { Bound::from_borrowed_ptr(py, *argument) };
            let slot = match (at.checked_sub(positional), names) {
                (Some(at), Some(names)) => slot_of::<M>(&names.get_borrowed_item(at)?.to_owned())?,
                _ => at,
            };
            match given.get_mut(slot) {
                Some(slot @ None) => *slot = Some(argument),
                _ => return Err(surplus::<M>(slot)),
            }
        }
        match given {
            [Some(argument), option] => M::call(this, &argument, option.as_ref()),
            [None, _] => Err(missing::<M>()),
        }
    })
}

/// The position of an argument that was given by its name.
fn slot_of<M: OptionMethod>(name: &Bound<'_, PyAny>) -> PyResult<usize> {
    let text = Raw::of(name).text().unwrap_or_default();
    M::ARGUMENTS.iter().position(|argument| *argument == text).ok_or_else(|| {
        PyTypeError::new_err(format!(
            "{}() got an unexpected keyword argument '{text}'",
            M::NAME.to_string_lossy()
        ))
    })
}

#[cold]
fn surplus<M: OptionMethod>(slot: usize) -> PyErr {
    let method = M::NAME.to_string_lossy();
    PyTypeError::new_err(match M::ARGUMENTS.get(slot) {
        Some(name) => format!("{method}() got multiple values for argument '{name}'"),
        None => format!("{method}() takes at most 2 arguments"),
    })
}

#[cold]
fn missing<M: OptionMethod>() -> PyErr {
    let (method, name) = (M::NAME.to_string_lossy(), M::ARGUMENTS[0]);
    PyTypeError::new_err(format!("{method}() missing 1 required argument: '{name}'"))
}

unsafe extern "C" fn trampoline<M: UnaryMethod>(
    this: *mut ffi::PyObject,
    argument: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls methods attached.
    let py = unsafe { Python::assume_attached() };
    outcome(py, || {
        // SAFETY: the caller keeps `this` alive during the call.
        let this = unsafe { Borrowed::from_ptr(py, this) };
        // SAFETY: the method descriptor checked that `this` is an instance of the class.
        let this = unsafe { this.cast_unchecked::<M::Class>() };
        // SAFETY: the caller keeps the argument alive during the call.
        let argument = unsafe { Borrowed::from_ptr(py, argument) };
        M::call(this, &argument)
    })
}

/// Adds the method to its class.
pub(crate) fn add<M: UnaryMethod>(py: Python<'_>) -> PyResult<()> {
    let method = ffi::PyMethodDefPointer { PyCFunction: trampoline::<M> };
    add_to::<M::Class>(py, M::NAME, M::DOC, method, ffi::METH_O)
}

/// Adds the method with an option to its class.
pub(crate) fn add_with_option<M: OptionMethod>(py: Python<'_>) -> PyResult<()> {
    let method = ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: with_option::<M> };
    add_to::<M::Class>(py, M::NAME, M::DOC, method, ffi::METH_FASTCALL | ffi::METH_KEYWORDS)
}

/// Adds a method; `flags` say how `method` is called.
fn add_to<C: PyClass>(
    py: Python<'_>,
    name: &'static CStr,
    doc: &'static CStr,
    method: ffi::PyMethodDefPointer,
    flags: std::ffi::c_int,
) -> PyResult<()> {
    let class = py.get_type::<C>();
    // The definition lives as long as the process, like those of any module.
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: method,
        ml_flags: flags,
        ml_doc: doc.as_ptr(),
    }));
    // SAFETY: the class is alive and the definition is never freed.
    let descriptor = unsafe { ffi::PyDescr_NewMethod(class.as_type_ptr(), definition) };
    // SAFETY: a new reference, or null with an exception.
    let descriptor = unsafe { Bound::from_owned_ptr_or_err(py, descriptor)? };
    class.setattr(name.to_string_lossy(), descriptor)
}
