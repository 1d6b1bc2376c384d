//! The machines that run a plan: over instances, over JSON bytes, and the cold path that lists issues.

pub mod check;
pub mod decode;
pub mod evaluated;
pub mod explain;
