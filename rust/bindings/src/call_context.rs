//! `ToolExecutionContext`: what a tool's body is given beside its input.
//!
//! Source: spec/api.md section 4. One is made for every call, so it holds next to nothing until it is asked: the
//! request context and the abort signal are made on first access, everything else that nobody gave is a shared
//! object that does nothing. The object's C face is in `slots`.

#[expect(unsafe_code, reason = "an object that costs next to nothing is a slot table of C functions")]
pub(crate) mod slots;

use std::sync::OnceLock;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::ffi::call::context_variable;
use crate::ffi::make::Made;

/// A Python object that is imported once.
macro_rules! imported {
    ($py:expr, $module:literal, $name:literal) => {{
        static OBJECT: ::pyo3::sync::PyOnceLock<Py<PyAny>> = ::pyo3::sync::PyOnceLock::new();
        match OBJECT.get($py) {
            Some(object) => Ok(object.bind($py)),
            None => OBJECT.import($py, $module, $name),
        }
    }};
}
pub(crate) use imported;

/// A context as the steps of a call hold it. Its type is certain.
pub(crate) struct Context<'py>(Bound<'py, PyAny>);

/// What lies in a context.
pub(crate) struct Members {
    request_context: OnceLock<Py<PyAny>>,
    /// Whether a plain call has to end the request context that its body begins here.
    ends_request_context: bool,
    abort_signal: OnceLock<Py<PyAny>>,
    given: Option<Box<Given>>,
}

/// The names of the members that a caller (a run, a test, a user) may give, but for those that `Members` holds.
const GIVEN: [&str; 10] = [
    "agent",
    "workflow",
    "mcp",
    "observe",
    "writer",
    "tool_call_id",
    "suspend",
    "resume_data",
    "suspend_payload",
    "idempotency_key",
];

/// What a caller put into the context. Absent in a plain call.
#[derive(Default)]
struct Given {
    /// In the order of `GIVEN`.
    members: [Option<Py<PyAny>>; GIVEN.len()],
    repairs: Option<Py<PyTuple>>,
}

impl<'py> Context<'py> {
    /// The context of a plain call: whatever request context the awaiting task carries now.
    #[inline]
    pub(crate) fn plain(py: Python<'py>, repairs: Option<Bound<'py, PyTuple>>) -> Made<Self> {
        let request_context = ambient(py)?;
        let ends_request_context = request_context.is_none();
        let given =
            repairs.map(|repairs| Box::new(Given { repairs: Some(repairs.unbind()), ..Given::default() }));
        Self::create(
            py,
            Members {
                request_context: request_context.map_or_else(OnceLock::new, OnceLock::from),
                ends_request_context,
                abort_signal: OnceLock::new(),
                given,
            },
        )
    }

    /// A context of the members given by name. None counts as not given.
    fn of(py: Python<'py>, members: &Bound<'py, PyDict>) -> PyResult<Self> {
        let mut given = Given::default();
        let (mut request_context, mut abort_signal) = (None, None);
        for (name, member) in members {
            let name: String = name.extract()?;
            if member.is_none() {
                continue;
            }
            match name.as_str() {
                "request_context" => request_context = Some(member.unbind()),
                "abort_signal" => abort_signal = Some(member.unbind()),
                "repairs" => given.repairs = Some(member.cast_into::<PyTuple>()?.unbind()),
                name => {
                    let Some(place) = GIVEN.iter().position(|known| *known == name) else {
                        let text =
                            format!("ToolExecutionContext() got an unexpected keyword argument '{name}'");
                        return Err(PyTypeError::new_err(text));
                    };
                    given.members[place] = Some(member.unbind());
                }
            }
        }
        let request_context = match request_context {
            Some(given) => Some(given),
            None => ambient(py)?,
        };
        Ok(Self::create(
            py,
            Members {
                request_context: request_context.map_or_else(OnceLock::new, OnceLock::from),
                // What a plain call begins ends with it; this one stays with who made the context.
                ends_request_context: false,
                abort_signal: abort_signal.map_or_else(OnceLock::new, OnceLock::from),
                given: Some(Box::new(given)),
            },
        )?)
    }

    pub(crate) fn as_any(&self) -> &Bound<'py, PyAny> {
        &self.0
    }

    pub(crate) fn unbind(self) -> Py<PyAny> {
        self.0.unbind()
    }

    /// Ends the request context that the body of a plain call has begun, if it has.
    #[inline]
    pub(crate) fn end(&self) -> Made<()> {
        let members = self.members();
        if members.ends_request_context
            && let Some(request_context) = members.request_context.get()
        {
            let end = imported!(self.0.py(), "toolhead.request_context", "end_request_context")?;
            end.call1((request_context,))?;
        }
        Ok(())
    }

    /// Tells the signal, if anybody has asked for it, that `raised` is thrown into the call.
    pub(crate) fn cancelled(&self, raised: &Bound<'py, PyAny>) -> PyResult<()> {
        if let Some(signal) = self.members().abort_signal.get() {
            signal.call_method1(raised.py(), "_cancelled", (raised,))?;
        }
        Ok(())
    }
}

/// The request context that the current task or thread carries.
#[inline]
fn ambient(py: Python<'_>) -> Made<Option<Py<PyAny>>> {
    let variable = imported!(py, "toolhead.request_context", "CURRENT_REQUEST_CONTEXT")?;
    let current = context_variable(variable)?;
    Ok(current.filter(|current| !current.is_none()).map(Bound::unbind))
}

impl Members {
    fn given(&self, name: &str) -> Option<&Py<PyAny>> {
        let place = GIVEN.iter().position(|known| *known == name)?;
        self.given.as_deref()?.members[place].as_ref()
    }

    /// The attribute `name`, one of `slots::ATTRIBUTES`.
    fn attribute<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let given = |name| self.given(name).map(|member| member.bind(py).clone());
        let or_none = |member: Option<_>| member.unwrap_or_else(|| py.None().into_bound(py));
        Ok(match name {
            "request_context" => self.request_context(py)?.bind(py).clone(),
            "abort_signal" => self.abort_signal(py)?.bind(py).clone(),
            "observe" => match given(name) {
                Some(observe) => observe,
                None => imported!(py, "toolhead.observe", "OBSERVE")?.clone(),
            },
            "writer" => match given(name) {
                Some(writer) => writer,
                None => imported!(py, "toolhead.context", "NO_WRITER")?.clone(),
            },
            // One suspend serves every call: it only ends the body. The caller's own is for the call path.
            "suspend" => imported!(py, "toolhead.suspend", "suspend")?.clone(),
            "_caller_suspend" => or_none(given("suspend")),
            "repairs" => {
                let repairs = self.given.as_deref().and_then(|given| given.repairs.as_ref());
                repairs.map_or_else(|| PyTuple::empty(py), |repairs| repairs.bind(py).clone()).into_any()
            }
            name => or_none(given(name)),
        })
    }

    fn request_context(&self, py: Python<'_>) -> PyResult<&Py<PyAny>> {
        if let Some(request_context) = self.request_context.get() {
            return Ok(request_context);
        }
        let new = imported!(py, "toolhead.request_context", "RequestContext")?.call0()?.unbind();
        let request_context = self.request_context.get_or_init(|| new);
        if self.ends_request_context {
            // From here on, calls made by the body inherit it; `end` takes it back.
            let variable = imported!(py, "toolhead.request_context", "CURRENT_REQUEST_CONTEXT")?;
            variable.call_method1("set", (request_context,))?;
        }
        Ok(request_context)
    }

    fn abort_signal(&self, py: Python<'_>) -> PyResult<&Py<PyAny>> {
        if let Some(signal) = self.abort_signal.get() {
            return Ok(signal);
        }
        let new = imported!(py, "toolhead.abort", "AbortSignal")?.call0()?.unbind();
        Ok(self.abort_signal.get_or_init(|| new))
    }

    /// The members that are there, by name: what the call path makes another context from.
    fn by_name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let members = PyDict::new(py);
        let held =
            [("request_context", self.request_context.get()), ("abort_signal", self.abort_signal.get())];
        for (name, member) in held {
            if let Some(member) = member {
                members.set_item(name, member)?;
            }
        }
        if let Some(given) = &self.given {
            for (name, member) in GIVEN.iter().zip(&given.members) {
                if let Some(member) = member {
                    members.set_item(name, member)?;
                }
            }
            if let Some(repairs) = &given.repairs {
                members.set_item("repairs", repairs)?;
            }
        }
        Ok(members)
    }

    fn repr(&self, py: Python<'_>) -> PyResult<String> {
        let mut parts = Vec::new();
        for name in ["tool_call_id", "agent", "workflow", "mcp"] {
            if let Some(member) = self.given(name) {
                parts.push(format!("{name}={}", member.bind(py).repr()?));
            }
        }
        if self.given("resume_data").is_some() {
            parts.push("resume_data=...".to_owned());
        }
        Ok(format!("ToolExecutionContext({})", parts.join(", ")))
    }
}
