//! Why a text is not JSON, and where: the first byte that no JSON text (RFC 8259) can have at that place.
//!
//! The texts never quote the input: it may hold secrets.

use std::fmt;

/// What was wrong at the offending byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The text ended inside this.
    UnexpectedEnd(Open),
    /// A value had to begin here.
    ExpectedValue,
    /// A member's name had to begin here.
    ExpectedKey,
    /// A colon had to follow the name.
    ExpectedColon,
    /// A comma or the closing bracket had to follow.
    ExpectedCommaOrEnd,
    /// The rest of `true`, `false` or `null` had to follow.
    BadLiteral,
    /// The number cannot go on like this.
    BadNumber,
    /// No such escape, or a digit of `\u` is missing.
    BadEscape,
    /// Half of a surrogate pair.
    LoneSurrogate,
    /// A character below U+0020 stands unescaped in a string.
    ControlCharacter,
    /// The bytes are not UTF-8.
    InvalidUtf8,
    /// Something follows the value.
    TrailingData,
    /// More nested containers than [`crate::limits::Limits::depth`].
    TooDeep,
    /// More digits than [`crate::limits::Limits::number_digits`].
    NumberTooLong,
    /// A number that no double can hold.
    NumberOutOfRange,
    /// More bytes than [`crate::limits::Limits::text_length`].
    TextTooLong,
    /// A string ends, and the value that its text is does not.
    EncodedEnd,
}

/// What was unfinished where the text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// A value had to begin.
    Value,
    /// A string.
    String,
    /// A member's name.
    Key,
    /// The colon after a name.
    Colon,
    /// A number.
    Number,
    /// `true`, `false` or `null`.
    Literal,
    /// An array.
    Array,
    /// An object.
    Object,
    /// A closing code fence.
    Fence,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::UnexpectedEnd(open) => {
                return write!(out, "Unexpected end of the text: {open}");
            }
            Self::ExpectedValue => "Expected a value",
            Self::ExpectedKey => "Expected a key in double quotes",
            Self::ExpectedColon => "Expected ':' after the key",
            Self::ExpectedCommaOrEnd => "Expected ',' or the closing bracket",
            Self::BadLiteral => "Expected true, false or null",
            Self::BadNumber => "Invalid number",
            Self::BadEscape => "Invalid escape in a string",
            Self::LoneSurrogate => "Half of a surrogate pair in a string",
            Self::ControlCharacter => "Unescaped control character in a string",
            Self::InvalidUtf8 => "Invalid UTF-8",
            Self::TrailingData => "Unexpected text after the value",
            Self::TooDeep => "Nested too deep",
            Self::NumberTooLong => "Number with too many digits",
            Self::NumberOutOfRange => "Number out of range",
            Self::TextTooLong => "Text too long",
            Self::EncodedEnd => "A string of JSON text ends inside a value",
        })
    }
}

impl fmt::Display for Open {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Value => "a value is missing",
            Self::String => "a string is not closed",
            Self::Key => "a key is not closed",
            Self::Colon => "':' is missing after a key",
            Self::Number => "a number is not finished",
            Self::Literal => "true, false or null is not finished",
            Self::Array => "an array is not closed",
            Self::Object => "an object is not closed",
            Self::Fence => "a code fence is not closed",
        })
    }
}

/// One fault with its place in the whole text, however it was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What was wrong.
    pub kind: FaultKind,
    /// UTF-8 bytes before the offending one.
    pub offset: usize,
    /// Line of the offending byte, from 1.
    pub line: usize,
    /// Character of the line, from 1.
    pub column: usize,
}

impl Fault {
    /// The text is a proper prefix of some JSON text: more of it could have made it whole.
    pub fn is_incomplete(&self) -> bool {
        matches!(self.kind, FaultKind::UnexpectedEnd(_))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at line {}, column {} (byte {})", self.kind, self.line, self.column, self.offset)
    }
}
