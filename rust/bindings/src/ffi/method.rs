//! Methods of one argument without PyO3's argument parsing: a builtin of the `METH_O` kind, added to the class.
//!
//! Measured on the verdict of a one-property object: 47 ns through `#[pymethods]`, 24 ns through this door.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::{Borrowed, PyClass, ffi};

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

unsafe extern "C" fn trampoline<M: UnaryMethod>(
    this: *mut ffi::PyObject,
    argument: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls methods attached.
    let py = unsafe { Python::assume_attached() };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller keeps `this` alive during the call.
        let this = unsafe { Borrowed::from_ptr(py, this) };
        // SAFETY: the method descriptor checked that `this` is an instance of the class.
        let this = unsafe { this.cast_unchecked::<M::Class>() };
        // SAFETY: the caller keeps the argument alive during the call.
        let argument = unsafe { Borrowed::from_ptr(py, argument) };
        M::call(this, &argument)
    }));
    match outcome {
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

/// Adds the method to its class.
pub(crate) fn add<M: UnaryMethod>(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<M::Class>();
    // The definition lives as long as the process, like those of any module.
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: M::NAME.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: trampoline::<M> },
        ml_flags: ffi::METH_O,
        ml_doc: M::DOC.as_ptr(),
    }));
    // SAFETY: the class is alive and the definition is never freed.
    let descriptor = unsafe { ffi::PyDescr_NewMethod(class.as_type_ptr(), definition) };
    // SAFETY: a new reference, or null with an exception.
    let descriptor = unsafe { Bound::from_owned_ptr_or_err(py, descriptor)? };
    class.setattr(M::NAME.to_string_lossy(), descriptor)
}
