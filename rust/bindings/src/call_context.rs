//! `ToolExecutionContext`: what a tool's body is given beside its input.
//!
//! Source: spec/api.md section 4. One is made for every call, so it holds next to nothing until it is asked:
//! the request context and the abort signal are made on first access, everything else that nobody gave is a
//! shared object that does nothing.

use std::sync::OnceLock;

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::ffi::call::context_variable;

/// A Python object that is imported once.
macro_rules! imported {
    ($py:expr, $module:literal, $name:literal) => {{
        static OBJECT: ::pyo3::sync::PyOnceLock<Py<PyAny>> = ::pyo3::sync::PyOnceLock::new();
        OBJECT.import($py, $module, $name)
    }};
}
pub(crate) use imported;

/// What a caller (a run, a test, a user) put into the context. Absent in a plain call.
#[derive(Default)]
struct Given {
    agent: Option<Py<PyAny>>,
    workflow: Option<Py<PyAny>>,
    mcp: Option<Py<PyAny>>,
    observe: Option<Py<PyAny>>,
    writer: Option<Py<PyAny>>,
    tool_call_id: Option<Py<PyAny>>,
    suspend: Option<Py<PyAny>>,
    resume_data: Option<Py<PyAny>>,
    suspend_payload: Option<Py<PyAny>>,
    idempotency_key: Option<Py<PyAny>>,
    repairs: Option<Py<PyTuple>>,
}

impl Given {
    /// Every member but the repairs, which are a tuple.
    fn by_name(&self) -> [(&'static str, Option<&Py<PyAny>>); 10] {
        [
            ("agent", self.agent.as_ref()),
            ("workflow", self.workflow.as_ref()),
            ("mcp", self.mcp.as_ref()),
            ("observe", self.observe.as_ref()),
            ("writer", self.writer.as_ref()),
            ("tool_call_id", self.tool_call_id.as_ref()),
            ("suspend", self.suspend.as_ref()),
            ("resume_data", self.resume_data.as_ref()),
            ("suspend_payload", self.suspend_payload.as_ref()),
            ("idempotency_key", self.idempotency_key.as_ref()),
        ]
    }
}

/// The context of one tool call: request context, abort signal, who calls, and how to suspend.
///
/// All parameters are keyword-only and may be left out; every member can be used in every call.
///
/// Attributes:
///     `request_context`: the `RequestContext` of the request, inherited by nested calls.
///     `abort_signal`: the `AbortSignal` of the call; cancelling the awaiting task aborts it.
///     `agent`, `workflow`, `mcp`: the caller's namespace, or None where it does not apply.
///     `observe`: spans and logs; does nothing unless OpenTelemetry is configured.
///     `writer`: sends partial output to the run's stream; does nothing in a direct call.
///     `tool_call_id`, `idempotency_key`: the call's id and a key that stays the same when it is tried again, or None.
///     `repairs`: what was repaired in the input before it was valid, as a tuple of texts.
///     `suspend`: ends the body and suspends the call.
///     `resume_data`, `suspend_payload`: the answer to an earlier suspension and its payload, or None.
///
/// Source: spec/api.md section 4.
#[pyclass(frozen, module = "toolhead")]
pub struct ToolExecutionContext {
    request_context: OnceLock<Py<PyAny>>,
    /// Whether the request context was neither given nor inherited, so that it ends with this call.
    owns_request_context: bool,
    abort_signal: OnceLock<Py<PyAny>>,
    given: Option<Box<Given>>,
}

#[pymethods]
impl ToolExecutionContext {
    #[new]
    #[pyo3(signature = (*, request_context=None, abort_signal=None, agent=None, workflow=None, mcp=None,
        observe=None, writer=None, tool_call_id=None, repairs=None, suspend=None, resume_data=None,
        suspend_payload=None, idempotency_key=None))]
    #[expect(clippy::too_many_arguments, reason = "the members of the context, each by its name")]
    fn new(
        py: Python<'_>,
        request_context: Option<Py<PyAny>>,
        abort_signal: Option<Py<PyAny>>,
        agent: Option<Py<PyAny>>,
        workflow: Option<Py<PyAny>>,
        mcp: Option<Py<PyAny>>,
        observe: Option<Py<PyAny>>,
        writer: Option<Py<PyAny>>,
        tool_call_id: Option<Py<PyAny>>,
        repairs: Option<Py<PyTuple>>,
        suspend: Option<Py<PyAny>>,
        resume_data: Option<Py<PyAny>>,
        suspend_payload: Option<Py<PyAny>>,
        idempotency_key: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let given = Given {
            agent,
            workflow,
            mcp,
            observe,
            writer,
            tool_call_id,
            suspend,
            resume_data,
            suspend_payload,
            idempotency_key,
            repairs,
        };
        let mut context = match request_context {
            Some(request_context) => Self::with_request_context(request_context),
            // What the body of a plain call begins for itself ends with the call; this one stays.
            None => Self { owns_request_context: false, ..Self::ambient(py)? },
        };
        if let Some(abort_signal) = abort_signal {
            context.abort_signal = OnceLock::from(abort_signal);
        }
        context.given = Some(Box::new(given));
        Ok(context)
    }

    #[getter]
    fn request_context(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if let Some(request_context) = self.request_context.get() {
            return Ok(request_context.clone_ref(py));
        }
        let new = imported!(py, "toolhead.request_context", "RequestContext")?.call0()?.unbind();
        let request_context = self.request_context.get_or_init(|| new).clone_ref(py);
        if !self.owns_request_context {
            return Ok(request_context);
        }
        // From here on, calls made by the body inherit it; `end` takes it back.
        imported!(py, "toolhead.request_context", "CURRENT_REQUEST_CONTEXT")?
            .call_method1("set", (&request_context,))?;
        Ok(request_context)
    }

    #[getter]
    fn abort_signal(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if let Some(signal) = self.abort_signal.get() {
            return Ok(signal.clone_ref(py));
        }
        let new = imported!(py, "toolhead.abort", "AbortSignal")?.call0()?.unbind();
        Ok(self.abort_signal.get_or_init(|| new).clone_ref(py))
    }

    #[getter]
    fn agent(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.member(py, |given| given.agent.as_ref())
    }

    #[getter]
    fn workflow(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.member(py, |given| given.workflow.as_ref())
    }

    #[getter]
    fn mcp(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.member(py, |given| given.mcp.as_ref())
    }

    #[getter]
    fn observe(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.member(py, |given| given.observe.as_ref()) {
            Some(observe) => Ok(observe),
            None => Ok(imported!(py, "toolhead.observe", "OBSERVE")?.clone().unbind()),
        }
    }

    #[getter]
    fn writer(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.member(py, |given| given.writer.as_ref()) {
            Some(writer) => Ok(writer),
            None => Ok(imported!(py, "toolhead.context", "NO_WRITER")?.clone().unbind()),
        }
    }

    #[getter]
    fn tool_call_id(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.member(py, |given| given.tool_call_id.as_ref())
    }

    #[getter]
    fn repairs(&self, py: Python<'_>) -> Py<PyTuple> {
        let given = self.given.as_ref().and_then(|given| given.repairs.as_ref());
        given.map_or_else(|| PyTuple::empty(py).unbind(), |repairs| repairs.clone_ref(py))
    }

    #[getter]
    #[expect(clippy::unused_self, reason = "one suspend serves every call: it only ends the body")]
    fn suspend(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(imported!(py, "toolhead.suspend", "suspend")?.clone().unbind())
    }

    /// The `suspend` that the caller brought: the call path calls it before the call suspends.
    #[getter]
    fn _caller_suspend(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.member(py, |given| given.suspend.as_ref())
    }

    /// The members that are there, by name: what the call path makes another context from.
    fn _members<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let members = PyDict::new(py);
        let put = |name: &str, member: Option<&Py<PyAny>>| match member {
            Some(member) => members.set_item(name, member),
            None => Ok(()),
        };
        put("request_context", self.request_context.get())?;
        put("abort_signal", self.abort_signal.get())?;
        if let Some(given) = &self.given {
            for (name, member) in given.by_name() {
                put(name, member)?;
            }
            put("repairs", given.repairs.as_ref().map(Py::as_any))?;
        }
        Ok(members)
    }

    #[getter]
    fn resume_data(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.member(py, |given| given.resume_data.as_ref())
    }

    #[getter]
    fn suspend_payload(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.member(py, |given| given.suspend_payload.as_ref())
    }

    #[getter]
    fn idempotency_key(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.member(py, |given| given.idempotency_key.as_ref())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut parts = Vec::new();
        if let Some(id) = self.tool_call_id(py) {
            parts.push(format!("tool_call_id={}", id.bind(py).repr()?));
        }
        for (name, member) in
            [("agent", self.agent(py)), ("workflow", self.workflow(py)), ("mcp", self.mcp(py))]
        {
            if let Some(member) = member {
                parts.push(format!("{name}={}", member.bind(py).repr()?));
            }
        }
        if self.resume_data(py).is_some() {
            parts.push("resume_data=...".to_owned());
        }
        Ok(format!("ToolExecutionContext({})", parts.join(", ")))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for lazy in [&self.request_context, &self.abort_signal] {
            visit.call(lazy.get())?;
        }
        if let Some(given) = &self.given {
            for (_, member) in given.by_name() {
                visit.call(member)?;
            }
            visit.call(&given.repairs)?;
        }
        Ok(())
    }
}

impl ToolExecutionContext {
    /// The context of a plain call: whatever request context the awaiting task carries now.
    pub(crate) fn ambient(py: Python<'_>) -> PyResult<Self> {
        let variable = imported!(py, "toolhead.request_context", "CURRENT_REQUEST_CONTEXT")?;
        Ok(match context_variable(variable)? {
            Some(current) if !current.is_none() => Self::with_request_context(current.unbind()),
            _ => Self {
                request_context: OnceLock::new(),
                owns_request_context: true,
                abort_signal: OnceLock::new(),
                given: None,
            },
        })
    }

    pub(crate) fn repaired(mut self, repairs: Py<PyTuple>) -> Self {
        self.given = Some(Box::new(Given { repairs: Some(repairs), ..Given::default() }));
        self
    }

    /// Ends the request context that the body of a plain call has begun, if it has.
    pub(crate) fn end(&self, py: Python<'_>) -> PyResult<()> {
        if self.owns_request_context
            && let Some(request_context) = self.request_context.get()
        {
            imported!(py, "toolhead.request_context", "end_request_context")?.call1((request_context,))?;
        }
        Ok(())
    }

    /// Tells the signal, if anybody has asked for it, that `raised` is thrown into the call.
    pub(crate) fn cancelled(&self, py: Python<'_>, raised: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Some(signal) = self.abort_signal.get() {
            signal.call_method1(py, "_cancelled", (raised,))?;
        }
        Ok(())
    }

    fn with_request_context(request_context: Py<PyAny>) -> Self {
        Self {
            request_context: OnceLock::from(request_context),
            owns_request_context: false,
            abort_signal: OnceLock::new(),
            given: None,
        }
    }

    fn member(&self, py: Python<'_>, select: impl Fn(&Given) -> Option<&Py<PyAny>>) -> Option<Py<PyAny>> {
        self.given.as_deref().and_then(select).map(|member| member.clone_ref(py))
    }
}
