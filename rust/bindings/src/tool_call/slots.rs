//! The memory of a `ToolCall` and the slot table that makes it a Python type.
//!
//! Source: CPython's C API reference, "Type Object Structures", "Supporting Cyclic Garbage Collection". A slot table
//! and no `#[pyclass]`, because only a type slot can offer `am_send`: through it `await` and `asyncio.Task` pass
//! values without a `StopIteration` object. Freed calls are kept for the next ones (builds with a GIL only, which
//! guards the list).

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use pyo3::exceptions::{PyRuntimeError, PyStopIteration, PySystemError, PyValueError};
use pyo3::ffi::{self, PyObject, PySendResult};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};

use super::{Parts, Stage, closed, never_awaited, sent, thrown};
use crate::ffi::call::{Sent, guarded, unpanicked};
use crate::ffi::make::Made;
use crate::ffi::object::{self, Contents, FreeList, slot};

/// Nobody runs the call; its parts are in place.
const IDLE: u8 = 0;
/// A frame of the call is on a stack, and owns its parts.
const RUNNING: u8 = 1;
/// Ended, closed or cleared; there are no parts.
const DONE: u8 = 2;

/// What lies behind the object's header.
struct Memory {
    state: AtomicU8,
    was_finalized: AtomicBool,
    parts: UnsafeCell<Option<Parts>>,
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
    pub(super) fn claim(&self) -> Made<(Claimed<'a>, Parts)> {
        match self.memory.enter() {
            IDLE => {
                let claimed = Claimed(Some(self.memory));
                match self.memory.take() {
                    Some(parts) => Ok((claimed, parts)),
                    None => Err(PySystemError::new_err("a tool call has lost its parts").into()),
                }
            }
            RUNNING => Err(PyValueError::new_err("tool call already executing").into()),
            _ => {
                self.memory.state.store(DONE, Ordering::Release);
                Err(PyRuntimeError::new_err("cannot reuse already awaited tool call").into())
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
    /// Moves the state to RUNNING and tells the one before.
    #[cfg(Py_GIL_DISABLED)]
    #[inline]
    fn enter(&self) -> u8 {
        self.state.swap(RUNNING, Ordering::AcqRel)
    }

    /// The same where the GIL keeps others out: an exchange that no other thread can see half of costs as much as the rest
    /// of the step.
    #[cfg(not(Py_GIL_DISABLED))]
    #[inline]
    fn enter(&self) -> u8 {
        let state = self.state.load(Ordering::Relaxed);
        self.state.store(RUNNING, Ordering::Relaxed);
        state
    }

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

impl Contents for Memory {
    fn free_list() -> &'static FreeList {
        static LIST: FreeList = FreeList::new();
        &LIST
    }

    fn visit(&self, show: &mut dyn FnMut(*mut PyObject)) {
        if let Some(parts) = self.peek() {
            show(parts.tool.as_ptr());
            match &parts.stage {
                Stage::New(input) => show(input.as_ptr()),
                Stage::Waiting { inner, context } => {
                    show(inner.as_ptr());
                    show(context.as_ref().map_or(null_mut(), Py::as_ptr));
                }
            }
        }
    }

    fn holds_references(&self) -> bool {
        self.peek().is_some()
    }

    fn release(&self) {
        if self.state.swap(DONE, Ordering::AcqRel) == IDLE
            && let Some(parts) = self.take()
        {
            Python::attach(|_| drop(parts));
        }
    }

    fn is_to_be_finalized(&self) -> bool {
        self.state.load(Ordering::Acquire) != DONE
    }

    fn was_finalized(&self) -> bool {
        self.was_finalized.load(Ordering::Relaxed)
    }
}

/// A new object that holds `parts`.
#[inline]
pub(super) fn create(py: Python<'_>, parts: Parts) -> Made<Bound<'_, PyAny>> {
    let memory = Memory {
        state: AtomicU8::new(IDLE),
        was_finalized: AtomicBool::new(false),
        parts: UnsafeCell::new(Some(parts)),
    };
    object::create(type_object(py)?, memory)
}

#[inline]
fn type_object(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if let Some(made) = TYPE.get(py) {
        return Ok(made.bind(py));
    }
    TYPE.get_or_try_init(py, || make_type(py).map(Bound::unbind)).map(|made| made.bind(py))
}

// ------------------------------------------------------------------------------------------ the C face

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
    let call = Call { memory: unsafe { object::contents::<Memory>(slf) } };
    // SAFETY: the interpreter lends a live object.
    let arg = unsafe { Bound::from_borrowed_ptr(py, arg) };
    let sent = unpanicked(|| {
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
        let call = Call { memory: unsafe { object::contents::<Memory>(slf) } };
        // SAFETY: the interpreter lends a live object.
        let arg = unsafe { Bound::from_borrowed_ptr(py, arg) };
        value(sent(&call, &arg)?).map(Bound::into_ptr)
    });
    result.unwrap_or(null_mut())
}

unsafe extern "C" fn iternext(slf: *mut PyObject) -> *mut PyObject {
    let result = guarded(|py| {
        // SAFETY: the interpreter passes an instance of the type that this slot is in.
        let call = Call { memory: unsafe { object::contents::<Memory>(slf) } };
        value(sent(&call, &py.None().into_bound(py))?).map(Bound::into_ptr)
    });
    result.unwrap_or(null_mut())
}

unsafe extern "C" fn throw_method(slf: *mut PyObject, args: *mut PyObject) -> *mut PyObject {
    let result = guarded(|py| {
        // SAFETY: the interpreter passes an instance of the type that this method is in.
        let call = Call { memory: unsafe { object::contents::<Memory>(slf) } };
        // SAFETY: a method with METH_VARARGS is passed a tuple.
        let args = unsafe { Bound::from_borrowed_ptr(py, args) };
        value(thrown(&call, args.cast::<PyTuple>()?)?).map(Bound::into_ptr)
    });
    result.unwrap_or(null_mut())
}

unsafe extern "C" fn close_method(slf: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    let result = guarded(|py| {
        // SAFETY: the interpreter passes an instance of the type that this method is in.
        let call = Call { memory: unsafe { object::contents::<Memory>(slf) } };
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
        let memory = unsafe { object::contents::<Memory>(slf) };
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
        let memory = unsafe { object::contents::<Memory>(slf) };
        memory.was_finalized.store(true, Ordering::Relaxed);
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
    let slots = [
        slot(ffi::Py_tp_doc, c"One call of a tool, to be awaited once.".as_ptr().cast_mut().cast()),
        slot(ffi::Py_tp_finalize, finalize as *mut c_void),
        slot(ffi::Py_tp_iter, itself as *mut c_void),
        slot(ffi::Py_tp_iternext, iternext as *mut c_void),
        slot(ffi::Py_am_await, itself as *mut c_void),
        slot(ffi::Py_am_send, am_send as *mut c_void),
        slot(ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
        slot(ffi::Py_tp_getset, getters.as_mut_ptr().cast()),
    ];
    let flags = ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION | ffi::Py_TPFLAGS_IMMUTABLETYPE;
    object::make_type::<Memory>(py, c"toolhead._core.ToolCall", flags, &slots)
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
