//! From a schema document to a plan: dialects, references, and the compiler.

pub mod branches;
pub mod compile;
pub mod dialect;
pub mod discriminator;
pub mod draft;
mod link;
pub mod pattern;
pub mod reference;
pub mod scope;
pub(crate) mod sieve;
pub mod tables;
pub mod uri;

/// Why a schema was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// What is wrong, in words.
    pub message: String,
    /// JSON Pointer of the keyword or subschema, in the document it stands in.
    pub schema_path: String,
    /// The keyword.
    pub keyword: Option<&'static str>,
}

impl std::fmt::Display for SchemaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = if self.schema_path.is_empty() { "the root" } else { self.schema_path.as_str() };
        write!(f, "{} (at {place})", self.message)
    }
}

impl std::error::Error for SchemaError {}
