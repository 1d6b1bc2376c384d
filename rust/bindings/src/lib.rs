//! The extension module `toolhead._core`: the list of names Python sees, and nothing else.
#![deny(unsafe_code)]

use pyo3::prelude::*;

mod call_context;
mod compiled;
mod defaults;
mod edit;
mod errors;
mod ffi;
mod host;
mod input_stream;
mod issue;
mod limits;
mod meta_schemas;
mod names;
mod py_instance;
mod py_number;
mod to_python;
mod tool_base;
mod tool_call;
mod validator;

#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::input_stream::{InputStream, Missing};
    #[pymodule_export]
    use crate::issue::in_words;
    #[pymodule_export]
    use crate::limits::{_restore_limits, Limits};
    #[pymodule_export]
    use crate::tool_base::ToolBase;
    #[pymodule_export]
    use crate::tool_call::methods::with_direct_calls;
    #[pymodule_export]
    use crate::validator::{_restore_validator, Validator};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        crate::ffi::dict_table::enable(py)?;
        crate::ffi::new_str::enable(py);
        crate::ffi::method::add::<crate::validator::IsValid>(py)?;
        crate::ffi::method::add_with_option::<crate::validator::Issues>(py)?;
        crate::ffi::method::add::<crate::validator::Validate>(py)?;
        crate::ffi::method::add::<crate::validator::Decode>(py)?;
        crate::ffi::method::add::<crate::validator::IsValidJson>(py)?;
        module.add("ToolExecutionContext", crate::call_context::slots::type_object(py)?)?;
        module.add("Issue", crate::issue::type_object(py)?)?;
        module.add("Change", crate::ffi::record::type_object::<crate::input_stream::Change>(py)?)?;
        module.add("MISSING", crate::input_stream::missing(py)?)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
