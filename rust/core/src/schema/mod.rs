//! What a schema is made of before and after it is compiled.

pub mod pattern;
