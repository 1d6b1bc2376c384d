//! The slot table that makes `Members` the Python type `ToolExecutionContext`.
//!
//! Source: CPython's C API reference, "Type Object Structures".

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::{Context, Members};
use crate::ffi::call::guarded;
use crate::ffi::make::Made;
use crate::ffi::object::{self, Contents, FreeList, slot};

const ATTRIBUTES: [(&CStr, &str); 14] = [
    (c"request_context", "request_context"),
    (c"abort_signal", "abort_signal"),
    (c"agent", "agent"),
    (c"workflow", "workflow"),
    (c"mcp", "mcp"),
    (c"observe", "observe"),
    (c"writer", "writer"),
    (c"tool_call_id", "tool_call_id"),
    (c"repairs", "repairs"),
    (c"suspend", "suspend"),
    (c"resume_data", "resume_data"),
    (c"suspend_payload", "suspend_payload"),
    (c"idempotency_key", "idempotency_key"),
    (c"_caller_suspend", "_caller_suspend"),
];

const DOC: &CStr = c"The context of one tool call: request context, abort signal, who calls, and how to suspend.

All parameters are keyword-only and may be left out; every member can be used in every call.

Attributes:
    request_context: the `RequestContext` of the request, inherited by nested calls.
    abort_signal: the `AbortSignal` of the call; cancelling the awaiting task aborts it.
    agent, workflow, mcp: the caller's namespace, or None where it does not apply.
    observe: spans and logs; does nothing unless OpenTelemetry is configured.
    writer: sends partial output to the run's stream; does nothing in a direct call.
    tool_call_id, idempotency_key: the call's id and a key that stays the same when it is tried again, or None.
    repairs: what was repaired in the input before it was valid, as a tuple of texts.
    suspend: ends the body and suspends the call.
    resume_data, suspend_payload: the answer to an earlier suspension and its payload, or None.

Raises:
    TypeError: a positional argument or an unknown member.

Source: spec/api.md section 4.";

impl Contents for Members {
    fn free_list() -> &'static FreeList {
        static LIST: FreeList = FreeList::new();
        &LIST
    }

    fn visit(&self, show: &mut dyn FnMut(*mut PyObject)) {
        for lazy in [&self.request_context, &self.abort_signal] {
            show(lazy.get().map_or(null_mut(), Py::as_ptr));
        }
        if let Some(given) = &self.given {
            for member in &given.members {
                show(member.as_ref().map_or(null_mut(), Py::as_ptr));
            }
            show(given.repairs.as_ref().map_or(null_mut(), Py::as_ptr));
        }
    }

    fn holds_references(&self) -> bool {
        self.given.is_some() || self.request_context.get().is_some() || self.abort_signal.get().is_some()
    }
}

impl<'py> Context<'py> {
    #[inline]
    pub(super) fn create(py: Python<'py>, members: Members) -> Made<Self> {
        object::create(type_object(py)?, members).map(Self)
    }

    /// The context behind a reference that `Context::unbind` has given.
    #[inline]
    pub(crate) fn bind(context: Py<PyAny>, py: Python<'py>) -> Self {
        Self(context.into_bound(py))
    }

    #[inline]
    pub(super) fn members(&self) -> &Members {
        // SAFETY: a `Context` is made by `create`, or from what one was.
        unsafe { object::contents(self.0.as_ptr()) }
    }
}

/// The type `ToolExecutionContext`.
#[inline]
pub(crate) fn type_object(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if let Some(made) = TYPE.get(py) {
        return Ok(made.bind(py));
    }
    TYPE.get_or_try_init(py, || make_type(py).map(Bound::unbind)).map(|made| made.bind(py))
}

unsafe extern "C" fn new(
    _: *mut ffi::PyTypeObject,
    args: *mut PyObject,
    members: *mut PyObject,
) -> *mut PyObject {
    let made = guarded(|py| {
        // SAFETY: the interpreter passes a tuple.
        let args = unsafe { Bound::from_borrowed_ptr(py, args) };
        // SAFETY: the interpreter passes a dict or null.
        let members = unsafe { Bound::from_borrowed_ptr_or_opt(py, members) };
        if !args.cast::<PyTuple>()?.is_empty() {
            return Err(PyTypeError::new_err("ToolExecutionContext() takes keyword arguments only"));
        }
        let members = match members {
            Some(members) => members.cast_into::<PyDict>()?,
            None => PyDict::new(py),
        };
        Ok(Context::of(py, &members)?.0.into_ptr())
    });
    made.unwrap_or(null_mut())
}

unsafe extern "C" fn attribute(slf: *mut PyObject, index: *mut c_void) -> *mut PyObject {
    let found = guarded(|py| {
        // SAFETY: the interpreter passes an instance of the type that this getter is in.
        let members: &Members = unsafe { object::contents(slf) };
        let (_, name) = ATTRIBUTES[index as usize];
        members.attribute(py, name).map(Bound::into_ptr)
    });
    found.unwrap_or(null_mut())
}

unsafe extern "C" fn members(slf: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    let found = guarded(|py| {
        // SAFETY: the interpreter passes an instance of the type that this method is in.
        let members: &Members = unsafe { object::contents(slf) };
        members.by_name(py).map(|members| members.into_any().into_ptr())
    });
    found.unwrap_or(null_mut())
}

unsafe extern "C" fn repr(slf: *mut PyObject) -> *mut PyObject {
    let text = guarded(|py| {
        // SAFETY: the interpreter passes an instance of the type that this slot is in.
        let members: &Members = unsafe { object::contents(slf) };
        Ok(members.repr(py)?.into_pyobject(py)?.into_any().into_ptr())
    });
    text.unwrap_or(null_mut())
}

fn make_type(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    // The interpreter keeps pointers into both tables for as long as the type lives, which is for ever.
    let mut getters: Vec<ffi::PyGetSetDef> = Vec::new();
    for (index, (name, _)) in ATTRIBUTES.iter().enumerate() {
        let closure = index as *mut c_void;
        getters.push(ffi::PyGetSetDef {
            name: name.as_ptr(),
            get: Some(attribute),
            set: None,
            doc: null(),
            closure,
        });
    }
    getters.push(ffi::PyGetSetDef::default());
    let methods = Box::leak(Box::new([
        ffi::PyMethodDef {
            ml_name: c"_members".as_ptr(),
            ml_meth: ffi::PyMethodDefPointer { PyCFunction: members },
            ml_flags: ffi::METH_NOARGS,
            ml_doc: c"The members that are there, by name.".as_ptr(),
        },
        ffi::PyMethodDef::zeroed(),
    ]));
    let slots = [
        slot(ffi::Py_tp_doc, DOC.as_ptr().cast_mut().cast()),
        slot(ffi::Py_tp_new, new as *mut c_void),
        slot(ffi::Py_tp_repr, repr as *mut c_void),
        slot(ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
        slot(ffi::Py_tp_getset, getters.leak().as_mut_ptr().cast()),
    ];
    object::make_type::<Members>(py, c"toolhead.ToolExecutionContext", ffi::Py_TPFLAGS_IMMUTABLETYPE, &slots)
}
