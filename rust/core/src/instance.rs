//! What a driver may ask of a piece of data. Implemented by [`crate::value::Value`] and by the bindings.
//!
//! The contract: an instance is a cheap handle to *plain* JSON data. Looking at it runs no user code, allocates
//! nothing that matters and never fails; whatever is not JSON has the kind [`Kind::Foreign`].

use crate::number::Number;
use crate::plan::first_word;

/// The kind of a value. Integers and other numbers are told apart as the host stores them; a float with a zero
/// fractional part is still [`Kind::Float`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// `null`
    Null = kinds::NULL,
    /// `true` or `false`
    Bool = kinds::BOOL,
    /// An integer of any size.
    Integer = kinds::INTEGER,
    /// Any other number.
    Float = kinds::FLOAT,
    /// A string of Unicode scalar values.
    String = kinds::STRING,
    /// An array.
    Array = kinds::ARRAY,
    /// An object with string keys.
    Object = kinds::OBJECT,
    /// Not JSON data: a set, a NaN, a string with a lone surrogate, ...
    Foreign = 128,
}

impl Kind {
    /// The kind's bit in a set of [`kinds`].
    #[inline]
    pub fn bit(self) -> u8 {
        self as u8
    }

    /// The kind's position in a table of kinds.
    #[inline]
    pub fn index(self) -> usize {
        self.bit().trailing_zeros() as usize
    }

    /// The JSON Schema type word for messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "boolean",
            Self::Integer => "integer",
            Self::Float => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
            Self::Foreign => "a value that is not JSON",
        }
    }
}

/// A set of kinds, one bit each.
pub mod kinds {
    /// `null`
    pub const NULL: u8 = 1;
    /// booleans
    pub const BOOL: u8 = 2;
    /// integers as the host stores them
    pub const INTEGER: u8 = 4;
    /// other numbers
    pub const FLOAT: u8 = 8;
    /// both
    pub const NUMBER: u8 = INTEGER | FLOAT;
    /// strings
    pub const STRING: u8 = 16;
    /// arrays
    pub const ARRAY: u8 = 32;
    /// objects
    pub const OBJECT: u8 = 64;
    /// arrays and objects
    pub const CONTAINER: u8 = ARRAY | OBJECT;
    /// every JSON kind
    pub const ANY: u8 = 127;
    /// no kind: of a node, that its arrays are judged by their length and the kinds of their items alone. No node accepts a
    /// [`Kind::Foreign`](super::Kind::Foreign), whose bit it is.
    pub const FLAT: u8 = 128;
}

/// Never the token of a plan.
pub const NO_TOKEN: usize = usize::MAX;

/// A member's name.
pub trait Key<'a>: Copy {
    /// Equal tokens mean equal names; unequal tokens mean nothing. A key without a token says [`NO_TOKEN`].
    fn token(self) -> usize;
    /// The name.
    fn text(self) -> &'a str;
    /// The name, of a key that [`Instance::entries`] found; None where it is no plain string.
    #[inline]
    fn plain_text(self) -> Option<&'a str> {
        Some(self.text())
    }
    /// The name and its first word, of a key that [`Instance::entries`] found; None where it is no plain string.
    #[inline]
    fn name(self) -> Option<(u64, &'a [u8])> {
        let text = self.text().as_bytes();
        Some((first_word(text), text))
    }
}

/// A handle to one JSON value that lives at least as long as `'a`.
pub trait Instance<'a>: Copy + 'a {
    /// The handle of a member's name.
    type Key: Key<'a>;

    /// The value's kind.
    fn kind(self) -> Kind;
    /// Asks for the memory that a look into the value reads first, and does not wait for it.
    #[inline]
    fn fetch(self) {}
    /// Equal identities mean the very same value, as long as it lives.
    fn identity(self) -> usize;
    /// A boolean's value; false for other kinds.
    fn boolean(self) -> bool;
    /// A machine integer, if the value is an integer that fits.
    fn integer(self) -> Option<i64>;
    /// A number's value; zero for other kinds.
    fn number(self) -> Number;
    /// A string's text; empty for other kinds.
    fn text(self) -> &'a str;
    /// The same with its first word.
    #[inline]
    fn word(self) -> (u64, &'a [u8]) {
        let text = self.text().as_bytes();
        (first_word(text), text)
    }
    /// The number of code points of a string; 0 for other kinds.
    fn chars(self) -> usize {
        self.text().chars().count()
    }
    /// The number of items or members; 0 for other kinds.
    fn len(self) -> usize;
    /// The same of a value that is known to be an object.
    #[inline]
    fn member_count(self) -> usize {
        self.len()
    }
    /// The same of a value that is known to be an array.
    #[inline]
    fn item_count(self) -> usize {
        self.len()
    }
    /// Has it no items or members?
    fn is_empty(self) -> bool {
        self.len() == 0
    }
    /// The item at a position below `len`, if the value is an array.
    fn item(self, index: usize) -> Option<Self>;
    /// The member of that name, if the value is an object. `token` is the plan's own, 0 if it has none.
    fn member(self, token: usize, name: &str) -> Option<Self>;
    /// Calls `visit` for each item in order until it answers false; the last answer, true if there was none.
    fn items(self, visit: impl FnMut(usize, Self) -> bool) -> bool;
    /// Calls `visit` for each member in order until it answers false; false too if a name is not a string.
    fn members(self, visit: impl FnMut(Self::Key, Self) -> bool) -> bool;
    /// The same, but no name is looked at before the visitor does: it asks for [`Key::name`] of each key whose token
    /// is not one that it knows.
    #[inline]
    fn entries(self, visit: impl FnMut(Self::Key, Self) -> bool) -> bool {
        self.members(visit)
    }
    /// A name that is not a plain string, described for a message, if the value is an object that has one.
    fn foreign_key(self) -> Option<String> {
        None
    }
    /// What the value is, for a message about a [`Kind::Foreign`]: `set`, `float nan`, `string with a lone surrogate`.
    fn foreign_name(self) -> String {
        self.kind().word().to_owned()
    }
}

/// Objects with up to this many members are compared by looking each member up.
const FEW_MEMBERS: usize = 16;

/// Are two values equal as JSON (2020-12 Core 4.2.2)? Both must be known to be of bounded depth.
pub fn equal<'a, 'b, A: Instance<'a>, B: Instance<'b>>(a: A, b: B) -> bool {
    match (a.kind(), b.kind()) {
        (Kind::Null, Kind::Null) => true,
        (Kind::Bool, Kind::Bool) => a.boolean() == b.boolean(),
        (Kind::Integer | Kind::Float, Kind::Integer | Kind::Float) => a.number() == b.number(),
        (Kind::String, Kind::String) => a.text() == b.text(),
        (Kind::Array, Kind::Array) => {
            a.len() == b.len() && a.items(|index, item| b.item(index).is_some_and(|other| equal(item, other)))
        }
        (Kind::Object, Kind::Object) if a.len() > FEW_MEMBERS && a.len() == b.len() => {
            let mut others = std::collections::HashMap::with_capacity(b.len());
            b.members(|key, item| {
                others.insert(key.text(), item);
                true
            });
            a.members(|key, item| others.get(key.text()).is_some_and(|other| equal(item, *other)))
        }
        (Kind::Object, Kind::Object) => {
            a.len() == b.len()
                && a.members(|key, item| b.member(0, key.text()).is_some_and(|other| equal(item, other)))
        }
        _ => false,
    }
}

/// Is a value JSON data through and through, and nested no deeper than so many levels?
pub fn is_bounded<'a, I: Instance<'a>>(value: I, levels: usize) -> bool {
    match value.kind() {
        Kind::Foreign => false,
        Kind::Array => levels > 0 && value.items(|_, item| is_bounded(item, levels - 1)),
        Kind::Object => levels > 0 && value.members(|_, item| is_bounded(item, levels - 1)),
        _ => true,
    }
}

/// Feeds a hash that is equal for equal JSON values; members count without their order.
/// Members and items are hashed under `keys`, as `state` should be.
pub fn hash_value<'a, I: Instance<'a>>(
    value: I,
    state: &mut impl std::hash::Hasher,
    keys: &impl std::hash::BuildHasher,
) {
    use std::hash::{Hash, Hasher};
    match value.kind() {
        Kind::Null | Kind::Foreign => state.write_u8(0),
        Kind::Bool => state.write_u8(1 + u8::from(value.boolean())),
        Kind::Integer | Kind::Float => value.number().hash_value(state),
        Kind::String => value.text().hash(state),
        Kind::Array => {
            state.write_usize(value.len());
            value.items(|_, item| {
                hash_value(item, state, keys);
                true
            });
        }
        Kind::Object => {
            let mut sum = 0u64;
            value.members(|key, item| {
                let mut member = keys.build_hasher();
                key.text().hash(&mut member);
                hash_value(item, &mut member, keys);
                sum = sum.wrapping_add(member.finish());
                true
            });
            state.write_u64(sum);
        }
    }
}
