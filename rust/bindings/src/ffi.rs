//! The only doors to the C API that PyO3 has no safe call for.
#![allow(unsafe_code, reason = "each function makes one step of C and says why it is sound")]

pub(crate) mod call;
pub(crate) mod dict_fill;
pub(crate) mod dict_table;
pub(crate) mod growing_str;
pub(crate) mod make;
pub(crate) mod method;
pub(crate) mod new_dict;
pub(crate) mod new_str;
pub(crate) mod object;
pub(crate) mod path;
pub(crate) mod read;
pub(crate) mod record;
pub(crate) mod value_type;
