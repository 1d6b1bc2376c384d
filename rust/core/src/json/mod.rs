//! JSON text: the resumable tokenizer for streams and the whole-text scanner for decoding (RFC 8259).

pub mod number;
pub mod string;
