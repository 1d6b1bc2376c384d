//! JSON Schema compiled once to a flat, immutable plan, and the drivers that run it.
//!
//! This crate knows no Python. A *host* (the Python bindings, or [`value::Value`] in tests) lends its data
//! through [`instance::Instance`]; looking at a value never runs user code and never fails.
#![forbid(unsafe_code)]

pub mod json;
pub mod limits;
