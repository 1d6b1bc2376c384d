//! Objects of our own heap types: their memory, and the freed ones that are kept for the next (builds with a GIL
//! only, which guards the list).
//!
//! Source: CPython's C API reference, "Allocating Objects on the Heap" and "Supporting Cyclic Garbage Collection".
//! For the two objects that every call makes; a `#[pyclass]` takes three times as long to make and to free.

use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::make::{Made, Raised};

/// What lies in an object of one of our types.
pub(crate) trait Contents: Sized + 'static {
    /// The list of freed objects of this type.
    fn free_list() -> &'static FreeList;
    /// Shows the collector every reference that is held.
    fn visit(&self, show: &mut dyn FnMut(*mut PyObject));
    /// Whether there is any reference to let go of.
    fn holds_references(&self) -> bool;
    /// Lets go of references, to break a cycle.
    fn release(&self) {}
    /// Ends with the object. What it holds may run any code when it is let go of.
    fn end(self, _: Python<'_>) {
        if self.holds_references() {
            // Attached for PyO3 as well, so that the references end at once.
            Python::attach(|_| drop(self));
        }
    }
    /// Whether the finalizer of the type has to run before the object is freed.
    fn is_to_be_finalized(&self) -> bool {
        false
    }
    /// Whether the finalizer has run.
    fn was_finalized(&self) -> bool {
        false
    }
}

#[repr(C)]
pub(super) struct Object<T> {
    header: PyObject,
    contents: T,
}

/// The size of an object with these contents, for the specification of its type.
fn basic_size<T>() -> c_int {
    c_int::try_from(size_of::<Object<T>>()).unwrap_or(c_int::MAX)
}

#[inline]
pub(super) fn place<T>(object: *mut PyObject) -> *mut T {
    object.cast::<u8>().wrapping_add(offset_of!(Object<T>, contents)).cast()
}

/// The contents of `object`.
///
/// # Safety
/// `object` is a live instance of the type whose objects `create::<T>` makes.
#[inline]
pub(crate) unsafe fn contents<'a, T: Contents>(object: *mut PyObject) -> &'a T {
    // SAFETY: `create` has filled the place, and the caller keeps the object alive.
    unsafe { &*place(object) }
}

/// A new object of `made`, a type with the slots of this file.
#[inline]
pub(crate) fn create<'py, T: Contents>(made: &Bound<'py, PyType>, contents: T) -> Made<Bound<'py, PyAny>> {
    let py = made.py();
    let object = match T::free_list().pop(made) {
        Some(object) => object,
        // SAFETY: the type is ours, with the GC flag and a basic size that holds the contents.
        None => unsafe { ffi::PyObject_GC_New::<PyObject>(made.as_type_ptr()) },
    };
    if object.is_null() {
        return Err(Raised);
    }
    // SAFETY: the object is new, so that the place is ours and uninitialised.
    unsafe { place::<T>(object).write(contents) };
    // SAFETY: the object is complete and not tracked yet.
    unsafe { ffi::PyObject_GC_Track(object.cast()) };
    // SAFETY: a new object comes with one reference, which is passed on.
    Ok(unsafe { Bound::from_owned_ptr(py, object) })
}

/// `tp_dealloc`.
pub(crate) unsafe extern "C" fn dealloc<T: Contents>(object: *mut PyObject) {
    // SAFETY: the interpreter passes an instance of the type that this slot is in.
    let held = unsafe { contents::<T>(object) };
    if held.is_to_be_finalized() {
        // SAFETY: the reference count is zero and the object is complete, as a finalizer needs it.
        if unsafe { ffi::PyObject_CallFinalizerFromDealloc(object) } < 0 {
            return; // somebody has taken a reference
        }
    }
    // SAFETY: the object is tracked from `create` on.
    unsafe { ffi::PyObject_GC_UnTrack(object.cast()) };
    let was_finalized = held.was_finalized();
    // SAFETY: nobody refers to the object any more, and its place is not read again.
    let held = unsafe { place::<T>(object).read() };
    // SAFETY: the interpreter is attached where an object ends.
    held.end(unsafe { Python::assume_attached() });
    let made = type_of(object);
    // What was finalized stays marked for ever: as a new object it would never be finalized again.
    if was_finalized || !T::free_list().push(object) {
        // SAFETY: nothing refers to the object any more, and it is untracked.
        unsafe { ffi::PyObject_GC_Del(object.cast()) };
    }
    // SAFETY: an instance of a heap type holds a reference to it, which ends here.
    unsafe { ffi::Py_DECREF(made.cast()) };
}

/// `tp_traverse`.
pub(crate) unsafe extern "C" fn traverse<T: Contents>(
    object: *mut PyObject,
    visit: ffi::visitproc,
    arg: *mut c_void,
) -> c_int {
    let mut status = 0;
    let mut show = |reference: *mut PyObject| {
        if status == 0 && !reference.is_null() {
            // SAFETY: the collector passes a function and its argument that belong together.
            status = unsafe { visit(reference, arg) };
        }
    };
    show(type_of(object).cast());
    // SAFETY: the collector passes an instance of the type that this slot is in.
    unsafe { contents::<T>(object) }.visit(&mut show);
    status
}

/// `tp_clear`.
pub(crate) unsafe extern "C" fn clear<T: Contents>(object: *mut PyObject) -> c_int {
    // SAFETY: the collector passes an instance of the type that this slot is in.
    unsafe { contents::<T>(object) }.release();
    0
}

fn type_of(object: *mut PyObject) -> *mut ffi::PyTypeObject {
    // SAFETY: only called with live objects.
    unsafe { ffi::Py_TYPE(object) }
}

#[cfg(not(Py_GIL_DISABLED))]
const ROOM: usize = 64;

/// Freed objects of one type.
pub(crate) struct FreeList {
    #[cfg(not(Py_GIL_DISABLED))]
    kept: std::cell::UnsafeCell<(usize, [*mut PyObject; ROOM])>,
}

// SAFETY: both methods run with the GIL held and call nothing that gives it up; without a GIL the list is empty.
unsafe impl Sync for FreeList {}

impl FreeList {
    pub(crate) const fn new() -> Self {
        Self {
            #[cfg(not(Py_GIL_DISABLED))]
            kept: std::cell::UnsafeCell::new((0, [null_mut(); ROOM])),
        }
    }

    #[cfg(not(Py_GIL_DISABLED))]
    #[inline]
    pub(super) fn pop(&self, made: &Bound<'_, PyType>) -> Option<*mut PyObject> {
        // SAFETY: the token behind `made` says that the GIL is held; the reference ends before anything else runs.
        let (len, kept) = unsafe { &mut *self.kept.get() };
        *len = len.checked_sub(1)?;
        let object = kept[*len];
        // SAFETY: the list holds untracked objects of this type whose contents are gone; this counts one reference,
        // and one of the type, as for a new object.
        Some(unsafe { ffi::PyObject_Init(object, made.as_type_ptr()) })
    }

    /// Keeps an emptied, untracked object. Returns whether there was room.
    #[cfg(not(Py_GIL_DISABLED))]
    #[inline]
    pub(super) fn push(&self, object: *mut PyObject) -> bool {
        // SAFETY: called by the deallocator, with the GIL held.
        let (len, kept) = unsafe { &mut *self.kept.get() };
        if *len == ROOM {
            return false;
        }
        kept[*len] = object;
        *len += 1;
        true
    }

    #[cfg(Py_GIL_DISABLED)]
    pub(super) fn pop(&self, _: &Bound<'_, PyType>) -> Option<*mut PyObject> {
        None
    }

    #[cfg(Py_GIL_DISABLED)]
    pub(super) fn push(&self, _: *mut PyObject) -> bool {
        false
    }
}

/// A slot of a type's specification.
pub(crate) fn slot(slot: c_int, pfunc: *mut c_void) -> ffi::PyType_Slot {
    ffi::PyType_Slot { slot, pfunc }
}

/// A heap type with the slots of this file and those given, which must not end with an empty one.
pub(crate) fn make_type<'py, T: Contents>(
    py: Python<'py>,
    name: &'static std::ffi::CStr,
    flags: std::ffi::c_ulong,
    slots: &[ffi::PyType_Slot],
) -> PyResult<Bound<'py, PyType>> {
    let mut table = vec![
        slot(ffi::Py_tp_dealloc, dealloc::<T> as *mut c_void),
        slot(ffi::Py_tp_traverse, traverse::<T> as *mut c_void),
        slot(ffi::Py_tp_clear, clear::<T> as *mut c_void),
    ];
    table.extend_from_slice(slots);
    type_of_slots::<T>(py, name, flags | ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_HAVE_GC, table)
}

/// A heap type of objects with these contents and these slots, to which the empty one is added.
pub(super) fn type_of_slots<'py, T>(
    py: Python<'py>,
    name: &'static std::ffi::CStr,
    flags: std::ffi::c_ulong,
    mut table: Vec<ffi::PyType_Slot>,
) -> PyResult<Bound<'py, PyType>> {
    table.push(slot(0, null_mut()));
    let mut spec = ffi::PyType_Spec {
        name: name.as_ptr(),
        basicsize: basic_size::<T>(),
        itemsize: 0,
        #[expect(clippy::cast_possible_truncation, reason = "the flags are the low 32 bits by definition")]
        flags: flags as std::ffi::c_uint,
        slots: table.as_mut_ptr(),
    };
    // SAFETY: the specification and its tables are complete and end with an empty entry.
    let made = unsafe { ffi::PyType_FromSpec(&raw mut spec) };
    // SAFETY: the answer is a new reference, or null with an exception set.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, made) }?;
    Ok(made.cast_into::<PyType>()?)
}
