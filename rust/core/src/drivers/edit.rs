//! What the drivers that change a value ask of the host: copies, and small edits of them.

use crate::instance::Instance;
use crate::value::Value;

/// A host whose values can be copied and edited.
pub trait Edit {
    /// An owned handle; cloning it does not copy the value.
    type Value: Clone;
    /// A borrowed handle.
    type Instance<'v>: Instance<'v>
    where
        Self: 'v;
    /// Why an edit failed.
    type Error;

    /// A borrowed handle to a value.
    fn instance<'v>(value: &'v Self::Value) -> Self::Instance<'v>
    where
        Self: 'v;
    /// A new object or array with the same members or items.
    ///
    /// # Errors
    /// When the host is out of memory; the same holds for the others.
    fn shallow_copy(&mut self, value: &Self::Value) -> Result<Self::Value, Self::Error>;
    /// The member of a name.
    fn member(&mut self, object: &Self::Value, name: &str) -> Option<Self::Value>;
    /// The item at a position.
    fn item(&mut self, array: &Self::Value, index: usize) -> Option<Self::Value>;
    /// Sets a member of a copy.
    ///
    /// # Errors
    /// See [`Edit::shallow_copy`].
    fn set_member(&mut self, object: &Self::Value, name: &str, value: Self::Value)
    -> Result<(), Self::Error>;
    /// Removes a member of a copy.
    ///
    /// # Errors
    /// See [`Edit::shallow_copy`].
    fn remove_member(&mut self, object: &Self::Value, name: &str) -> Result<(), Self::Error>;
    /// Sets an item of a copy.
    ///
    /// # Errors
    /// See [`Edit::shallow_copy`].
    fn set_item(&mut self, array: &Self::Value, index: usize, value: Self::Value) -> Result<(), Self::Error>;
    /// A new value equal to a literal of the schema.
    ///
    /// # Errors
    /// See [`Edit::shallow_copy`].
    fn literal(&mut self, value: &Value) -> Result<Self::Value, Self::Error>;
    /// The value of a JSON text; None where it is not JSON.
    ///
    /// # Errors
    /// See [`Edit::shallow_copy`].
    fn parsed(&mut self, text: &str) -> Result<Option<Self::Value>, Self::Error>;
}
