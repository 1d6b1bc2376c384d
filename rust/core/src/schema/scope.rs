//! Where the compiler is: in which schema object, at which place of which document.

use super::SchemaError;
use super::dialect::Dialect;
use super::reference::ResourceId;
use super::uri;
use crate::keywords::Keyword;

/// A place in the schema document: a pointer, and steps from there.
#[derive(Clone, Copy)]
pub struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    token: &'p str,
}

impl<'p> Place<'p> {
    /// A place given by its pointer.
    pub fn root(pointer: &'p str) -> Self {
        Self { parent: None, token: pointer }
    }
    /// A step further.
    pub fn then<'q>(&'q self, token: &'q str) -> Place<'q>
    where
        'p: 'q,
    {
        Place { parent: Some(self), token }
    }
    /// The JSON Pointer.
    pub fn pointer(&self) -> String {
        match self.parent {
            None => self.token.to_owned(),
            Some(parent) => {
                let mut pointer = parent.pointer();
                uri::push_token(&mut pointer, self.token);
                pointer
            }
        }
    }
}

/// Where the compiler is: a schema object, its resource and its place.
pub struct Scope<'s, I> {
    /// The schema object.
    pub schema: I,
    /// The values of its known keywords.
    pub found: &'s [Option<I>],
    /// Its resource.
    pub resource: ResourceId,
    /// Its dialect.
    pub dialect: Dialect,
    /// Its place.
    pub place: &'s Place<'s>,
}

impl<I: Copy> Scope<'_, I> {
    /// The value of another keyword of the same schema.
    pub fn get(&self, keyword: Keyword) -> Option<I> {
        self.found[keyword as usize]
    }

    /// An error of a keyword's value.
    pub fn error(&self, keyword: Keyword, message: impl Into<String>) -> SchemaError {
        let schema_path = self.place.then(keyword.name()).pointer();
        SchemaError { message: message.into(), schema_path, keyword: Some(keyword.name()) }
    }
}
