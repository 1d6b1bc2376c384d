//! Small objects that are made by the thousand and only ever read: a heap type whose attributes are computed, without
//! the collector.
//!
//! Source: CPython's C API reference, "Type Object Structures" and "Allocating Objects on the Heap". Measured on the
//! changes of a stream: a `#[pyclass]` with a free list takes four times as long to make and to free.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyType};

use super::call::guarded;
use super::make::{Made, Raised};
use super::object::{self, FreeList, place, slot};

/// The name of an attribute, and how it is computed.
pub(crate) type Attribute<T> = (&'static CStr, for<'py> fn(&T, Python<'py>) -> PyResult<Bound<'py, PyAny>>);

/// What lies in such an object.
pub(crate) trait Record: Send + Sync + Sized + 'static {
    /// The name of the type with its module.
    const NAME: &'static CStr;
    /// Its docstring.
    const DOC: &'static CStr;
    /// Its attributes.
    const ATTRIBUTES: &'static [Attribute<Self>];
    /// The list of freed objects of this type.
    fn free_list() -> &'static FreeList;
    /// The type, once it is made.
    fn type_cell() -> &'static PyOnceLock<Py<PyType>>;
    /// The text of `repr`.
    fn repr<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>>;
    /// Ends the references that it holds, at once.
    fn drop_ref(self, py: Python<'_>);
}

/// The type of such objects.
#[inline]
pub(crate) fn type_object<T: Record>(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    if let Some(made) = T::type_cell().get(py) {
        return Ok(made.bind(py));
    }
    T::type_cell().get_or_try_init(py, || make_type::<T>(py).map(Bound::unbind)).map(|made| made.bind(py))
}

/// A new object.
#[inline]
pub(crate) fn create<T: Record>(py: Python<'_>, contents: T) -> Made<Bound<'_, PyAny>> {
    let made = type_object::<T>(py)?;
    let object = match T::free_list().pop(made) {
        Some(object) => object,
        // SAFETY: the type is ours, and its basic size holds the contents.
        None => unsafe { ffi::PyObject_New::<PyObject>(made.as_type_ptr()) },
    };
    if object.is_null() {
        contents.drop_ref(py);
        return Err(Raised);
    }
    // SAFETY: the object is new, so that the place is ours and uninitialised.
    unsafe { place::<T>(object).write(contents) };
    // SAFETY: a new object comes with one reference, which is passed on.
    Ok(unsafe { Bound::from_owned_ptr(py, object) })
}

/// # Safety
/// `object` is a live instance of the type of `T`.
#[inline]
unsafe fn contents<'a, T: Record>(object: *mut PyObject) -> &'a T {
    // SAFETY: `create` has filled the place, and the caller keeps the object alive.
    unsafe { &*place(object) }
}

unsafe extern "C" fn dealloc<T: Record>(object: *mut PyObject) {
    // SAFETY: the interpreter calls a slot attached; `drop_ref` needs no more than that.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: nobody refers to the object any more, and its place is not read again.
    let held = unsafe { place::<T>(object).read() };
    held.drop_ref(py);
    // SAFETY: the object is not freed yet.
    let made = unsafe { ffi::Py_TYPE(object) };
    if !T::free_list().push(object) {
        // SAFETY: nothing refers to the object any more; it came from `PyObject_New`.
        unsafe { ffi::PyObject_Free(object.cast()) };
    }
    // SAFETY: an instance of a heap type holds a reference to it, which ends here.
    unsafe { ffi::Py_DECREF(made.cast()) };
}

unsafe extern "C" fn attribute<T: Record>(object: *mut PyObject, index: *mut c_void) -> *mut PyObject {
    let result = guarded(|py| {
        // SAFETY: the interpreter passes an instance of the type that this getter is in.
        let held = unsafe { contents::<T>(object) };
        (T::ATTRIBUTES[index as usize].1)(held, py).map(Bound::into_ptr)
    });
    result.unwrap_or(null_mut())
}

unsafe extern "C" fn repr<T: Record>(object: *mut PyObject) -> *mut PyObject {
    let result = guarded(|py| {
        // SAFETY: the interpreter passes an instance of the type that this slot is in.
        let held = unsafe { contents::<T>(object) };
        held.repr(py).map(Bound::into_ptr)
    });
    result.unwrap_or(null_mut())
}

fn make_type<T: Record>(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let getters = T::ATTRIBUTES.iter().enumerate().map(|(index, (name, _))| ffi::PyGetSetDef {
        name: name.as_ptr(),
        get: Some(attribute::<T>),
        set: None,
        doc: std::ptr::null(),
        closure: index as *mut c_void,
    });
    // The interpreter keeps a pointer into the table for as long as the type lives, which is for ever.
    let getters: &mut [_] = Vec::leak(getters.chain([ffi::PyGetSetDef::default()]).collect());
    let slots = vec![
        slot(ffi::Py_tp_dealloc, dealloc::<T> as *mut c_void),
        slot(ffi::Py_tp_doc, T::DOC.as_ptr().cast_mut().cast()),
        slot(ffi::Py_tp_getset, getters.as_mut_ptr().cast()),
        slot(ffi::Py_tp_repr, repr::<T> as *mut c_void),
    ];
    let flags =
        ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION | ffi::Py_TPFLAGS_IMMUTABLETYPE;
    object::type_of_slots::<T>(py, T::NAME, flags, slots)
}
