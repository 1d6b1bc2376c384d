//! The only place, beside the slot table of the native call, where C functions are called directly.

pub(crate) mod call;
