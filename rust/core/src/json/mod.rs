//! JSON text: the resumable tokenizer for streams and the whole-text scanner for decoding (RFC 8259).

mod escape;
pub mod fault;
pub mod partial;
pub mod scan;
mod scan_number;
pub mod sink;

pub use scan_number::Number;
