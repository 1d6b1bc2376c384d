//! The memory of a `ToolCall` and the slot table that makes it a Python type.
//!
//! Source: CPython's C API reference, "Type Object Structures", "Supporting Cyclic Garbage Collection". A slot table
//! and no `#[pyclass]`, because only a type slot can offer `am_send`: through it `await` and `asyncio.Task` pass
//! values without a `StopIteration` object. Freed calls are kept for the next ones (builds with a GIL only, which
//! guards the list).

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU8, Ordering};

use pyo3::exceptions::{PyRuntimeError, PyStopIteration, PySystemError, PyValueError};
use pyo3::ffi::{self, PyObject, PySendResult};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};

use super::{Parts, Stage, closed, never_awaited, sent, thrown};
use crate::ffi::call::Sent;

/// Nobody runs the call; its parts are in place.
const IDLE: u8 = 0;
/// A frame of the call is on a stack, and owns its parts.
const RUNNING: u8 = 1;
/// Ended, closed or cleared; there are no parts.
const DONE: u8 = 2;

/// What lies behind the object's header.
struct Memory {
    state: AtomicU8,
    parts: UnsafeCell<Option<Parts>>,
}

#[repr(C)]
struct ToolCall {
    header: PyObject,
    memory: Memory,
}

/// A call, seen from its own methods.
pub(super) struct Call<'a> {
    memory: &'a Memory,
}

/// The right to run a call. Dropped without `put_back`, the call is done.
pub(super) struct Claimed<'a>(Option<&'a Memory>);

impl<'a> Call<'a> {
    pub(super) fn is_done(&self) -> bool {
        self.memory.state.load(Ordering::Acquire) == DONE
    }

    /// Takes the parts to run the call: two threads, or a body that awaits its own call, meet an error here.
    #[inline]
    pub(super) fn claim(&self) -> PyResult<(Claimed<'a>, Parts)> {
        match self.memory.state.swap(RUNNING, Ordering::AcqRel) {
            IDLE => {
                let claimed = Claimed(Some(self.memory));
                match self.memory.take() {
                    Some(parts) => Ok((claimed, parts)),
                    None => Err(PySystemError::new_err("a tool call has lost its parts")),
                }
            }
            RUNNING => Err(PyValueError::new_err("tool call already executing")),
            _ => {
                self.memory.state.store(DONE, Ordering::Release);
                Err(PyRuntimeError::new_err("cannot reuse already awaited tool call"))
            }
        }
    }
}

impl Claimed<'_> {
    #[inline]
    pub(super) fn put_back(mut self, parts: Parts) {
        if let Some(memory) = self.0.take() {
            // SAFETY: the state is RUNNING and ours, so that nobody else looks at the parts.
            unsafe { *memory.parts.get() = Some(parts) };
            memory.state.store(IDLE, Ordering::Release);
        }
    }
}

impl Drop for Claimed<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(memory) = self.0 {
            memory.state.store(DONE, Ordering::Release);
        }
    }
}

impl Memory {
    /// Takes the parts. Called by who has moved the state to RUNNING, by the collector and by the deallocator.
    #[inline]
    fn take(&self) -> Option<Parts> {
        // SAFETY: each of the three callers is alone with the object; no reference to the parts outlives a call.
        unsafe { &mut *self.parts.get() }.take()
    }

    /// The parts of a call that nobody runs, to be looked at.
    fn peek(&self) -> Option<&Parts> {
        // SAFETY: taken and put back only by code that cannot run while this reference lives: the collector has
        // stopped everything else, and getters clone what they need before they run Python code.
        unsafe { &*self.parts.get() }.as_ref()
    }
}

/// The memory of `call`, which must be an instance of our type.
#[inline]
unsafe fn memory<'a>(call: *mut PyObject) -> &'a Memory {
    let place = call.cast::<u8>().wrapping_add(offset_of!(ToolCall, memory)).cast::<Memory>();
    // SAFETY: the type's instances have this layout, and `create` has filled it; the caller keeps the object alive.
    unsafe { &*place }
}

/// A new object that holds `parts`.
#[inline]
pub(super) fn create(py: Python<'_>, parts: Parts) -> PyResult<Bound<'_, PyAny>> {
    let made = type_object(py)?;
    let object = match free_list::pop(made) {
        Some(object) => object,
        // SAFETY: the type is ours, has the GC flag and a basic size that holds a `ToolCall`.
        None => unsafe { ffi::PyObject_GC_New::<PyObject>(made.as_type_ptr()) },
    };
    if object.is_null() {
        return Err(PyErr::fetch(py));
    }
    let place = object.cast::<u8>().wrapping_add(offset_of!(ToolCall, memory)).cast::<Memory>();
    let filled = Memory { state: AtomicU8::new(IDLE), parts: UnsafeCell::new(Some(parts)) };
    // SAFETY: the object is new, so that this place is ours and uninitialised.
    unsafe { place.write(filled) };
    // SAFETY: the object is complete and not tracked yet.
    unsafe { ffi::PyObject_GC_Track(object.cast()) };
    // SAFETY: a new object comes with one reference, which is passed on.
    Ok(unsafe { Bound::from_owned_ptr(py, object) })
}

fn type_object(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    TYPE.get_or_try_init(py, || make_type(py).map(Bound::unbind)).map(|made| made.bind(py))
}

#[cfg(not(Py_GIL_DISABLED))]
mod free_list {
    use super::{Bound, PyObject, PyType, PyTypeMethods, UnsafeCell, ffi, null_mut};

    const ROOM: usize = 64;

    struct FreeList {
        calls: UnsafeCell<[*mut PyObject; ROOM]>,
        len: UnsafeCell<usize>,
    }

    // SAFETY: both functions below run with the GIL held and call nothing that gives it up.
    unsafe impl Sync for FreeList {}

    static LIST: FreeList = FreeList { calls: UnsafeCell::new([null_mut(); ROOM]), len: UnsafeCell::new(0) };

    #[inline]
    pub(super) fn pop(made: &Bound<'_, PyType>) -> Option<*mut PyObject> {
        // SAFETY: the token behind `made` says that the GIL is held.
        let len = unsafe { &mut *LIST.len.get() };
        *len = len.checked_sub(1)?;
        // SAFETY: as above.
        let calls = unsafe { &*LIST.calls.get() };
        let object = calls[*len];
        // SAFETY: the list holds untracked objects of this type whose contents are gone; this counts one reference,
        // and one of the type, as for a new object.
        Some(unsafe { ffi::PyObject_Init(object, made.as_type_ptr()) })
    }

    /// Keeps an emptied, untracked object. Returns whether there was room.
    #[inline]
    pub(super) fn push(object: *mut PyObject) -> bool {
        // SAFETY: called by the deallocator, with the GIL held.
        let len = unsafe { &mut *LIST.len.get() };
        if *len == ROOM {
            return false;
        }
        // SAFETY: as above.
        let calls = unsafe { &mut *LIST.calls.get() };
        calls[*len] = object;
        *len += 1;
        true
    }
}

#[cfg(Py_GIL_DISABLED)]
mod free_list {
    use super::{Bound, PyObject, PyType};

    pub(super) fn pop(_: &Bound<'_, PyType>) -> Option<*mut PyObject> {
        None
    }

    pub(super) fn push(_: *mut PyObject) -> bool {
        false
    }
}

// ------------------------------------------------------------------------------------------ the C face

/// Runs `body` attached, and turns a panic into an exception.
fn guarded<R>(body: impl FnOnce(Python<'_>) -> PyResult<R>) -> Option<R> {
    Python::attach(|py| unpanicked(py, || body(py)))
}

#[inline]
fn unpanicked<R>(py: Python<'_>, body: impl FnOnce() -> PyResult<R>) -> Option<R> {
    let result = catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|_| Err(PySystemError::new_err("a tool call panicked; please report this")));
    result.map_err(|error| error.restore(py)).ok()
}

#[inline]
fn value(sent: Sent<'_>) -> PyResult<Bound<'_, PyAny>> {
    match sent {
        Sent::Next(value) => Ok(value),
        Sent::Return(value) => Err(PyStopIteration::new_err((value.unbind(),))),
    }
}

unsafe extern "C" fn am_send(
    slf: *mut PyObject,
    arg: *mut PyObject,
    result: *mut *mut PyObject,
) -> PySendResult {
    // SAFETY: the interpreter calls a slot attached, and the token ends with the call. PyO3 does not count this as an
    // attachment, which would cost more than the step; so the hot path keeps `Bound`s, which need none, and the cold
    // paths attach.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: the interpreter passes an instance of the type that this slot is in.
    let call = Call { memory: unsafe { memory(slf) } };
    // SAFETY: the interpreter lends a live object.
    let arg = unsafe { Bound::from_borrowed_ptr(py, arg) };
    let sent = unpanicked(py, || {
        Ok(match sent(&call, &arg)? {
            Sent::Next(value) => (PySendResult::PYGEN_NEXT, value.into_ptr()),
            Sent::Return(value) => (PySendResult::PYGEN_RETURN, value.into_ptr()),
        })
    });
    let (status, value) = sent.unwrap_or((PySendResult::PYGEN_ERROR, null_mut()));
    // SAFETY: the interpreter gives a place for the result.
    unsafe { *result = value };
    status
}

unsafe extern "C" fn send_method(slf: *mut PyObject, arg: *mut PyObject) -> *mut PyObject {
    let result = guarded(|py| {
        // SAFETY: the interpreter passes an instance of the type that this method is in.
        let call = Call { memory: unsafe { memory(slf) } };
        // SAFETY: the interpreter lends a live object.
        let arg = unsafe { Bound::from_borrowed_ptr(py, arg) };
        value(sent(&call, &arg)?).map(Bound::into_ptr)
    });
    result.unwrap_or(null_mut())
}

unsafe extern "C" fn iternext(slf: *mut PyObject) -> *mut PyObject {
    let result = guarded(|py| {
        // SAFETY: the interpreter passes an instance of the type that this slot is in.
        let call = Call { memory: unsafe { memory(slf) } };
        value(sent(&call, &py.None().into_bound(py))?).map(Bound::into_ptr)
    });
    result.unwrap_or(null_mut())
}

unsafe extern "C" fn throw_method(slf: *mut PyObject, args: *mut PyObject) -> *mut PyObject {
    let result = guarded(|py| {
        // SAFETY: the interpreter passes an instance of the type that this method is in.
        let call = Call { memory: unsafe { memory(slf) } };
        // SAFETY: a method with METH_VARARGS is passed a tuple.
        let args = unsafe { Bound::from_borrowed_ptr(py, args) };
        value(thrown(&call, args.cast::<PyTuple>()?)?).map(Bound::into_ptr)
    });
    result.unwrap_or(null_mut())
}

unsafe extern "C" fn close_method(slf: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    let result = guarded(|py| {
        // SAFETY: the interpreter passes an instance of the type that this method is in.
        let call = Call { memory: unsafe { memory(slf) } };
        closed(&call, py)?;
        Ok(py.None().into_ptr())
    });
    result.unwrap_or(null_mut())
}

unsafe extern "C" fn itself(slf: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter lends a live object; the new reference is the answer.
    unsafe { ffi::Py_NewRef(slf) }
}

/// The attributes by which asyncio and debuggers name a coroutine and find its frame.
unsafe extern "C" fn attribute(slf: *mut PyObject, name: *mut c_void) -> *mut PyObject {
    let result = guarded(|py| {
        // SAFETY: the interpreter passes an instance of the type that this getter is in.
        let memory = unsafe { memory(slf) };
        let is_running = memory.state.load(Ordering::Acquire) == RUNNING;
        let name = NAMES[name as usize];
        let parts = if is_running { None } else { memory.peek() };
        let inner = match parts.map(|parts| &parts.stage) {
            Some(Stage::Waiting { inner, .. }) => Some(inner.bind(py).clone()),
            _ => None,
        };
        let tool = parts.map(|parts| parts.tool.bind(py).clone());
        let found = match name {
            "cr_running" => is_running.into_pyobject(py)?.to_owned().into_any(),
            "cr_await" => inner.unwrap_or_else(|| py.None().into_bound(py)),
            "cr_frame" | "cr_code" => {
                let found = inner.and_then(|inner| inner.getattr(name).ok());
                found.unwrap_or_else(|| py.None().into_bound(py))
            }
            _ => match tool {
                Some(tool) => tool.get().id().bind(py).clone().into_any(),
                None => "execute".into_pyobject(py)?.into_any(),
            },
        };
        Ok(found.into_ptr())
    });
    result.unwrap_or(null_mut())
}

const NAMES: [&str; 6] = ["__name__", "__qualname__", "cr_await", "cr_frame", "cr_running", "cr_code"];

unsafe extern "C" fn finalize(slf: *mut PyObject) {
    Python::attach(|py| {
        // SAFETY: the interpreter passes an instance of the type that this slot is in.
        let memory = unsafe { memory(slf) };
        if let Some(Parts { tool, stage: Stage::New(_), .. }) = memory.peek() {
            let pending = PyErr::take(py);
            let tool = tool.clone_ref(py);
            // SAFETY: the object is alive until its finalizer has returned.
            let call = unsafe { Bound::from_borrowed_ptr(py, slf) };
            never_awaited(&call, tool.get());
            if let Some(pending) = pending {
                pending.restore(py);
            }
        }
    });
}

unsafe extern "C" fn dealloc(slf: *mut PyObject) {
    // SAFETY: the interpreter passes an instance of the type that this slot is in.
    let memory = unsafe { memory(slf) };
    if memory.state.load(Ordering::Acquire) != DONE {
        // SAFETY: the reference count is zero and the object is complete, as a finalizer needs it.
        if unsafe { ffi::PyObject_CallFinalizerFromDealloc(slf) } < 0 {
            return; // somebody has taken a reference
        }
    }
    // SAFETY: the object is tracked from `create` on.
    unsafe { ffi::PyObject_GC_UnTrack(slf.cast()) };
    if let Some(parts) = memory.take() {
        Python::attach(|_| drop(parts));
    }
    let made = slf_type(slf);
    // What was finalized stays marked for ever: as a new call it would never warn again.
    // SAFETY: the object is complete but for its contents.
    let is_finalized = unsafe { ffi::PyObject_GC_IsFinalized(slf) } != 0;
    if is_finalized || !free_list::push(slf) {
        // SAFETY: nothing refers to the object any more, and it is untracked.
        unsafe { ffi::PyObject_GC_Del(slf.cast()) };
    }
    // SAFETY: an instance of a heap type holds a reference to it, which ends here.
    unsafe { ffi::Py_DECREF(made.cast()) };
}

fn slf_type(slf: *mut PyObject) -> *mut ffi::PyTypeObject {
    // SAFETY: only called with live objects.
    unsafe { ffi::Py_TYPE(slf) }
}

unsafe extern "C" fn traverse(slf: *mut PyObject, visit: ffi::visitproc, arg: *mut c_void) -> c_int {
    let call = |object: *mut PyObject| -> c_int {
        // SAFETY: the collector passes a function and its argument that belong together.
        unsafe { visit(object, arg) }
    };
    let mut status = call(slf_type(slf).cast());
    // SAFETY: the collector passes an instance of the type that this slot is in.
    let memory = unsafe { memory(slf) };
    if let Some(parts) = memory.peek() {
        let (first, second) = match &parts.stage {
            Stage::New(input) => (input.as_ptr(), null_mut()),
            Stage::Waiting { inner, context } => {
                (inner.as_ptr(), context.as_ref().map_or(null_mut(), Py::as_ptr))
            }
        };
        for object in [parts.tool.as_ptr(), first, second] {
            if status == 0 && !object.is_null() {
                status = call(object);
            }
        }
    }
    status
}

unsafe extern "C" fn clear(slf: *mut PyObject) -> c_int {
    // SAFETY: the collector passes an instance of the type that this slot is in.
    let memory = unsafe { memory(slf) };
    if memory.state.swap(DONE, Ordering::AcqRel) == IDLE
        && let Some(parts) = memory.take()
    {
        Python::attach(|_| drop(parts));
    }
    0
}

fn make_type(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    // The interpreter keeps pointers into both tables for as long as the type lives, which is for ever.
    let methods = Box::leak(Box::new([
        method(
            c"send",
            ffi::PyMethodDefPointer { PyCFunction: send_method },
            ffi::METH_O,
            c"Starts or continues the call.",
        ),
        method(
            c"throw",
            ffi::PyMethodDefPointer { PyCFunction: throw_method },
            ffi::METH_VARARGS,
            c"Raises an exception where the call waits.",
        ),
        method(
            c"close",
            ffi::PyMethodDefPointer { PyCFunction: close_method },
            ffi::METH_NOARGS,
            c"Ends the call where it waits.",
        ),
        ffi::PyMethodDef::zeroed(),
    ]));
    let getters = Box::leak(Box::new([
        getter(c"__name__", 0),
        getter(c"__qualname__", 1),
        getter(c"cr_await", 2),
        getter(c"cr_frame", 3),
        getter(c"cr_running", 4),
        getter(c"cr_code", 5),
        ffi::PyGetSetDef::default(),
    ]));
    let mut table = [
        slot(ffi::Py_tp_doc, c"One call of a tool, to be awaited once.".as_ptr().cast_mut().cast()),
        slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
        slot(ffi::Py_tp_finalize, finalize as *mut c_void),
        slot(ffi::Py_tp_traverse, traverse as *mut c_void),
        slot(ffi::Py_tp_clear, clear as *mut c_void),
        slot(ffi::Py_tp_iter, itself as *mut c_void),
        slot(ffi::Py_tp_iternext, iternext as *mut c_void),
        slot(ffi::Py_am_await, itself as *mut c_void),
        slot(ffi::Py_am_send, am_send as *mut c_void),
        slot(ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
        slot(ffi::Py_tp_getset, getters.as_mut_ptr().cast()),
        slot(0, null_mut()),
    ];
    let flags = ffi::Py_TPFLAGS_DEFAULT
        | ffi::Py_TPFLAGS_HAVE_GC
        | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION
        | ffi::Py_TPFLAGS_IMMUTABLETYPE;
    let mut spec = ffi::PyType_Spec {
        name: c"toolhead._core.ToolCall".as_ptr(),
        basicsize: c_int::try_from(size_of::<ToolCall>())?,
        itemsize: 0,
        #[expect(clippy::cast_possible_truncation, reason = "the flags are the low 32 bits by definition")]
        flags: flags as std::ffi::c_uint,
        slots: table.as_mut_ptr(),
    };
    // SAFETY: the spec and its tables are complete and end with an empty entry.
    let made = unsafe { ffi::PyType_FromSpec(&raw mut spec) };
    // SAFETY: the answer is a new reference, or null with an exception set.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, made) }?;
    Ok(made.cast_into::<PyType>()?)
}

fn slot(slot: c_int, pfunc: *mut c_void) -> ffi::PyType_Slot {
    ffi::PyType_Slot { slot, pfunc }
}

fn method(
    name: &'static std::ffi::CStr,
    function: ffi::PyMethodDefPointer,
    flags: c_int,
    doc: &'static std::ffi::CStr,
) -> ffi::PyMethodDef {
    ffi::PyMethodDef { ml_name: name.as_ptr(), ml_meth: function, ml_flags: flags, ml_doc: doc.as_ptr() }
}

fn getter(name: &'static std::ffi::CStr, index: usize) -> ffi::PyGetSetDef {
    let doc: *const c_char = std::ptr::null();
    ffi::PyGetSetDef {
        name: name.as_ptr(),
        get: Some(attribute),
        set: None,
        doc,
        closure: index as *mut c_void,
    }
}
