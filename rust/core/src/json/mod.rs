//! JSON text: the resumable tokenizer for streams and the whole-text scanner for decoding (RFC 8259).

mod encoded;
mod escape;
pub mod fault;
pub mod faults;
pub mod number;
pub mod partial;
pub mod repair;
mod repairing;
pub mod repeated;
pub mod scan;

mod scan_number;
pub mod sink;
mod stops;
pub mod string;
mod tokens;

pub use scan_number::Number;
