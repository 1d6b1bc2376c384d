//! Makes PyO3's `cfg`s (`Py_GIL_DISABLED`, `Py_3_12`, ...) known to this crate.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
