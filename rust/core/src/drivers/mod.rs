//! The machines that run a plan: over instances, over JSON bytes, the cold path that lists issues, and the two that
//! change a value: defaults and repair.

mod builder;
pub mod check;
pub mod decode;
pub mod defaults;
pub mod edit;
pub mod evaluated;
pub mod explain;
mod first_member;
mod memory;
mod region;
pub mod repair;
mod scalars;
pub mod stream;
