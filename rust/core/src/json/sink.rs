//! Who listens to the tokenizer: a builder of values, a schema driver, or both.
//!
//! Offsets count UTF-8 bytes of the whole text. The hooks with an empty body exist for listeners that judge
//! before a token ends; a builder leaves them alone and pays nothing for them.

use std::ops::{Range, RangeInclusive};

use super::Number;

/// What a value's first byte says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    String,
    /// A digit or the minus.
    Number,
    /// `t`, `f` or `n`.
    Literal(Literal),
}

/// Containers that may stand somewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Containers {
    /// `{`
    pub object: bool,
    /// `[`
    pub array: bool,
}

/// The three words of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// `true`
    True,
    /// `false`
    False,
    /// `null`
    Null,
}

impl Literal {
    /// The word itself.
    pub fn text(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Null => "null",
        }
    }
}

/// Receives the events of one text in document order.
///
/// Every value is one of: `object_begin`, (`key`, value)*, `object_end`; `array_begin`, value*, `array_end`;
/// `string_begin`, `string_text`*, `string_end`; `number`; `literal`. Only `string_dropped` comes after the last of them,
/// where the text turns out to be none. What a method returns as `Err` stops the
/// tokenizer for good: it must not be used after that.
#[allow(clippy::missing_errors_doc, reason = "one rule for all methods, stated above")]
pub trait Sink {
    /// Why the listener wants no more.
    type Stop;

    /// A value's first byte stands at `at`.
    #[inline]
    fn value_begin(&mut self, _kind: Kind, _at: usize) -> Result<(), Self::Stop> {
        Ok(())
    }
    /// A string begins at `at`, asked before [`Sink::value_begin`]: the containers that its text may be read as because
    /// a string there is certainly wrong.
    #[inline]
    fn instead_of_string(&mut self, _at: usize) -> Result<Containers, Self::Stop> {
        Ok(Containers::default())
    }
    /// A comma stands at `at`: one more item or member must follow.
    #[inline]
    fn comma(&mut self, _at: usize) -> Result<(), Self::Stop> {
        Ok(())
    }
    /// An escape inside a key or a string begins at `at`: one more character must follow.
    #[inline]
    fn escape_begin(&mut self, _at: usize) -> Result<(), Self::Stop> {
        Ok(())
    }
    /// The byte at `at` of that escape leaves only these characters.
    #[inline]
    fn escape_narrowed(&mut self, _characters: RangeInclusive<u32>, _at: usize) -> Result<(), Self::Stop> {
        Ok(())
    }
    /// A piece of a key, decoded; `from` is its place in the text, longer than the piece if it was an escape.
    #[inline]
    fn key_text(&mut self, _piece: &str, _from: Range<usize>) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// An object begins.
    fn object_begin(&mut self) -> Result<(), Self::Stop>;
    /// The whole key; its closing quote ends before `end`.
    fn key(&mut self, key: &str, end: usize) -> Result<(), Self::Stop>;
    /// A whole key without escapes arrived at once; its quotes stand around `from`.
    #[inline]
    fn whole_key(&mut self, key: &str, from: Range<usize>) -> Result<(), Self::Stop> {
        let end = from.end + 1;
        self.key_text(key, from)?;
        self.key(key, end)
    }
    /// The innermost object ended before `end`.
    fn object_end(&mut self, end: usize) -> Result<(), Self::Stop>;
    /// An array begins.
    fn array_begin(&mut self) -> Result<(), Self::Stop>;
    /// The innermost array ended before `end`.
    fn array_end(&mut self, end: usize) -> Result<(), Self::Stop>;
    /// A string begins.
    fn string_begin(&mut self) -> Result<(), Self::Stop>;
    /// A piece of the string, decoded; `from` as for [`Sink::key_text`].
    fn string_text(&mut self, piece: &str, from: Range<usize>) -> Result<(), Self::Stop>;
    /// The same for a piece behind which more of the string stands in this push: nobody looks before that has come.
    #[inline]
    fn string_text_more(&mut self, piece: &str, from: Range<usize>) -> Result<(), Self::Stop> {
        self.string_text(piece, from)
    }
    /// The string ended; its closing quote ends before `end`.
    fn string_end(&mut self, end: usize) -> Result<(), Self::Stop>;
    /// A whole string without escapes arrived at once; its quotes stand around `from`.
    #[inline]
    fn string(&mut self, text: &str, from: Range<usize>) -> Result<(), Self::Stop> {
        let end = from.end + 1;
        self.string_begin()?;
        self.string_text(text, from)?;
        self.string_end(end)
    }
    /// The string at hand, if there is one, will not be: it has an escape that JSON does not know.
    #[inline]
    fn string_dropped(&mut self) -> Result<(), Self::Stop> {
        Ok(())
    }
    /// A number ended before `end`.
    fn number(&mut self, number: Number<'_>, end: usize) -> Result<(), Self::Stop>;
    /// A literal ended before `end`.
    fn literal(&mut self, literal: Literal, end: usize) -> Result<(), Self::Stop>;
}
