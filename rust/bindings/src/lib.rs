//! The extension module `toolhead._core`: the list of names Python sees, and nothing else.
#![deny(unsafe_code)]

use pyo3::prelude::*;

mod call_context;
#[expect(unsafe_code, reason = "the one place that calls C functions directly")]
mod ffi;
mod tool_base;
mod tool_call;
mod validator;

#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::call_context::ToolExecutionContext;
    #[pymodule_export]
    use crate::tool_base::ToolBase;
    #[pymodule_export]
    use crate::tool_call::methods::with_direct_calls;
    #[pymodule_export]
    use crate::validator::Validator;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
