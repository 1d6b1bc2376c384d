//! What the decoder asks of its host: to make values.

use crate::instance::Instance;
use crate::plan::{Plan, Property};

/// The text of a string: hosts store ASCII apart.
#[derive(Clone, Copy, Debug)]
pub enum Text<'t> {
    /// Only ASCII bytes.
    Ascii(&'t [u8]),
    /// At least one character beyond.
    Unicode(&'t str),
}

impl<'t> Text<'t> {
    /// None where the bytes are no UTF-8.
    #[inline]
    pub(super) fn of(bytes: &'t [u8], ascii: bool) -> Option<Self> {
        if ascii { Some(Self::Ascii(bytes)) } else { std::str::from_utf8(bytes).ok().map(Self::Unicode) }
    }
}

/// Makes the host's values.
pub trait Builder {
    /// An owned value.
    type Value: Clone;
    /// An object under construction.
    type Object;
    /// A handle to a finished value.
    type Instance<'v>: Instance<'v>
    where
        Self: 'v;
    /// Why the host could not make a value.
    type Error;
    /// Does a clone of a value share it, so that defaults can be filled into an object that is part of another?
    const SHARES: bool;

    /// A handle to a value.
    fn instance<'v>(value: &'v Self::Value) -> Self::Instance<'v>
    where
        Self: 'v;
    /// `null`
    fn null(&mut self) -> Self::Value;
    /// `true` or `false`
    fn boolean(&mut self, value: bool) -> Self::Value;
    /// A machine integer.
    ///
    /// # Errors
    /// When the host is out of memory; the same holds for the others.
    fn int(&mut self, value: i64) -> Result<Self::Value, Self::Error>;
    /// An integer of any size, from its digits.
    ///
    /// # Errors
    /// See [`Builder::int`].
    fn big(&mut self, digits: &[u8]) -> Result<Self::Value, Self::Error>;
    /// A double.
    ///
    /// # Errors
    /// See [`Builder::int`].
    fn float(&mut self, value: f64) -> Result<Self::Value, Self::Error>;
    /// A string.
    ///
    /// # Errors
    /// See [`Builder::int`].
    fn string(&mut self, text: Text<'_>) -> Result<Self::Value, Self::Error>;
    /// The string of a plan's token, where the host keeps it.
    fn shared(&mut self, token: usize) -> Option<Self::Value>;
    /// An array of these values.
    ///
    /// # Errors
    /// See [`Builder::int`].
    fn array(
        &mut self,
        items: impl ExactSizeIterator<Item = Self::Value>,
    ) -> Result<Self::Value, Self::Error>;
    /// What an object of a rule starts with whose defaults are to be filled in.
    ///
    /// # Errors
    /// See [`Builder::int`].
    fn start(&mut self, _plan: &Plan, _rule: u32) -> Result<Start, Self::Error> {
        Ok(Start::Empty)
    }
    /// An object of a rule that starts so.
    ///
    /// # Errors
    /// See [`Builder::int`].
    fn object(&mut self, rule: u32, start: Start) -> Result<Self::Object, Self::Error>;
    /// Adds a member under a plan's name.
    ///
    /// # Errors
    /// See [`Builder::int`].
    fn insert_known(
        &mut self,
        object: &mut Self::Object,
        plan: &Plan,
        property: &Property,
        value: Self::Value,
    ) -> Result<(), Self::Error>;
    /// Makes a member's name, whose first word is known; it is used once.
    ///
    /// # Errors
    /// See [`Builder::int`].
    fn name(&mut self, word: u64, text: Text<'_>) -> Result<Self::Value, Self::Error>;
    /// Adds a member under a name made before.
    ///
    /// # Errors
    /// See [`Builder::int`].
    fn insert(
        &mut self,
        object: &mut Self::Object,
        name: Self::Value,
        value: Self::Value,
    ) -> Result<(), Self::Error>;
    /// The value of a default, new where it can be changed. `default` is an index into [`Plan::defaults`].
    ///
    /// # Errors
    /// See [`Builder::int`].
    fn default_value(&self, plan: &Plan, default: u32) -> Result<Self::Value, Self::Error>;
    /// Of an object that started with the defaults of its rule: where among the rule's names those stand that it needs its own
    /// copies of.
    fn copied(&self, _rule: u32) -> &[u32] {
        &[]
    }
    /// Fills a rule's defaults into a finished object that lacks them. Asked where clones share alone.
    ///
    /// # Errors
    /// See [`Builder::int`].
    fn complete(&mut self, plan: &Plan, rule: u32, object: &Self::Value) -> Result<(), Self::Error>;
    /// The finished object, and how many members it has: those with one name are one.
    ///
    /// # Errors
    /// See [`Builder::int`].
    fn finish(&mut self, object: Self::Object) -> Result<(Self::Value, usize), Self::Error>;
}

/// What an object is made with, before its members are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Nothing.
    Empty,
    /// So many members: the defaults of its rule.
    Defaults(usize),
}
