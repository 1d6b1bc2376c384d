//! Types of immutable objects with attributes that are made when they are read, on the memory of `object.rs`.
//!
//! Source: CPython's C API reference, "Type Object Structures". A `#[pyclass]` would do the same; its objects take three
//! times as long to make and to free.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::call::unpanicked;
use super::make::Made;
use super::object::{self, Contents, slot};

/// An attribute: its name, its docstring, and what is read.
pub(crate) type Attribute<T> =
    (&'static CStr, &'static CStr, for<'py> fn(&T, Python<'py>) -> Made<Bound<'py, PyAny>>);

/// What objects of a type are and do.
pub(crate) trait Value: Contents {
    /// The name of the type, with its module.
    const NAME: &'static CStr;
    /// The signature and docstring of the type.
    const DOC: &'static CStr;
    /// The attributes.
    const ATTRIBUTES: &'static [Attribute<Self>];

    /// The object of these arguments.
    fn made_of<'py>(
        arguments: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>>;
    /// What `repr` says.
    fn repr<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
    /// What `str` says.
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
    /// What makes two objects equal.
    fn identity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
    /// How it is pickled.
    fn reduce<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}

/// The contents of an object, if it is of the type that [`make_type`] has made.
pub(crate) fn of<'a, T: Value>(object: &'a Bound<'_, PyAny>, made: &Bound<'_, PyType>) -> Option<&'a T> {
    // SAFETY: the type is exactly ours, so that `create` has made the object; the borrow keeps it alive.
    object.get_type().is(made).then(|| unsafe { object::contents(object.as_ptr()) })
}

/// Answers the interpreter: an object, or null with an exception.
///
/// # Safety
/// Called by the interpreter with an object of the type whose slot it is.
#[inline]
unsafe fn answer<T: Value>(
    object: *mut PyObject,
    make: impl for<'py> FnOnce(&T, Python<'py>) -> Made<Bound<'py, PyAny>>,
) -> *mut PyObject {
    // SAFETY: the interpreter calls slots attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: the caller passes an object of the type.
    let contents: &T = unsafe { object::contents(object) };
    unpanicked(|| Ok(make(contents, py)?.into_ptr())).unwrap_or(null_mut())
}

unsafe extern "C" fn attribute<T: Value>(object: *mut PyObject, index: *mut c_void) -> *mut PyObject {
    // SAFETY: the interpreter passes an instance of the type that this getter is in.
    unsafe { answer(object, T::ATTRIBUTES[index.addr()].2) }
}

unsafe extern "C" fn repr<T: Value>(object: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter passes an instance of the type that this slot is in.
    unsafe { answer::<T>(object, |this, py| Ok(this.repr(py)?)) }
}

unsafe extern "C" fn text<T: Value>(object: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter passes an instance of the type that this slot is in.
    unsafe { answer::<T>(object, |this, py| Ok(this.text(py)?)) }
}

unsafe extern "C" fn reduce<T: Value>(object: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter passes an instance of the type that this method is in.
    unsafe { answer::<T>(object, |this, py| Ok(this.reduce(py)?)) }
}

unsafe extern "C" fn hash<T: Value>(object: *mut PyObject) -> ffi::Py_hash_t {
    // SAFETY: the interpreter calls slots attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: the interpreter passes an instance of the type that this slot is in.
    let contents: &T = unsafe { object::contents(object) };
    unpanicked(|| Ok(contents.identity(py)?.hash()?)).unwrap_or(-1)
}

unsafe extern "C" fn compare<T: Value>(
    object: *mut PyObject,
    other: *mut PyObject,
    operator: c_int,
) -> *mut PyObject {
    // SAFETY: the interpreter calls slots attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: the interpreter passes two live objects.
    let object = unsafe { Bound::from_borrowed_ptr(py, object) };
    // SAFETY: as above.
    let other = unsafe { Bound::from_borrowed_ptr(py, other) };
    let verdict = unpanicked(|| {
        let made = object.get_type();
        let both = of::<T>(&object, &made).zip(of::<T>(&other, &made));
        Ok(match (both, operator) {
            (Some((this, other)), ffi::Py_EQ | ffi::Py_NE) => {
                let equal = this.identity(py)?.eq(other.identity(py)?)?;
                (equal == (operator == ffi::Py_EQ))
                    .into_pyobject(py)
                    .map_err(PyErr::from)?
                    .to_owned()
                    .into_any()
            }
            _ => py.NotImplemented().into_bound(py),
        }
        .into_ptr())
    });
    verdict.unwrap_or(null_mut())
}

unsafe extern "C" fn new<T: Value>(
    _: *mut ffi::PyTypeObject,
    arguments: *mut PyObject,
    options: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: the interpreter calls slots attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: the interpreter passes a tuple.
    let arguments = unsafe { Bound::from_borrowed_ptr(py, arguments) };
    // SAFETY: the interpreter passes a dict or null.
    let options = unsafe { Bound::from_borrowed_ptr_or_opt(py, options) };
    let made = unpanicked(|| {
        let arguments = arguments.cast::<PyTuple>().map_err(PyErr::from)?;
        let options = options.as_ref().map(|options| options.cast::<PyDict>()).transpose();
        Ok(T::made_of(arguments, options.map_err(PyErr::from)?)?.into_ptr())
    });
    made.unwrap_or(null_mut())
}

/// Makes the type.
pub(crate) fn make_type<T: Value>(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    // The interpreter keeps pointers into both tables for as long as the type lives, which is for ever.
    let mut getters: Vec<ffi::PyGetSetDef> = Vec::new();
    for (index, (name, doc, _)) in T::ATTRIBUTES.iter().enumerate() {
        getters.push(ffi::PyGetSetDef {
            name: name.as_ptr(),
            get: Some(attribute::<T>),
            set: None,
            doc: doc.as_ptr(),
            closure: std::ptr::without_provenance_mut(index),
        });
    }
    getters.push(ffi::PyGetSetDef::default());
    let methods = Box::leak(Box::new([
        ffi::PyMethodDef {
            ml_name: c"__reduce__".as_ptr(),
            ml_meth: ffi::PyMethodDefPointer { PyCFunction: reduce::<T> },
            ml_flags: ffi::METH_NOARGS,
            ml_doc: c"__reduce__($self, /)\n--\n\nHow it is pickled.".as_ptr(),
        },
        ffi::PyMethodDef::zeroed(),
    ]));
    let slots = [
        slot(ffi::Py_tp_doc, T::DOC.as_ptr().cast_mut().cast()),
        slot(ffi::Py_tp_new, new::<T> as *mut c_void),
        slot(ffi::Py_tp_repr, repr::<T> as *mut c_void),
        slot(ffi::Py_tp_str, text::<T> as *mut c_void),
        slot(ffi::Py_tp_hash, hash::<T> as *mut c_void),
        slot(ffi::Py_tp_richcompare, compare::<T> as *mut c_void),
        slot(ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
        slot(ffi::Py_tp_getset, getters.leak().as_mut_ptr().cast()),
    ];
    object::make_type::<T>(py, T::NAME, ffi::Py_TPFLAGS_IMMUTABLETYPE, &slots)
}
