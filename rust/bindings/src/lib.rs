//! The extension module `toolhead._core`: the list of names Python sees, and nothing else.
#![deny(unsafe_code)]

use pyo3::prelude::*;

mod ffi;
mod input_stream;

#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::input_stream::{Change, InputStream};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("MISSING", crate::input_stream::missing(module.py())?)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
