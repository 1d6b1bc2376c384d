//! The bounds that keep hostile input cheap (public API, section 5): every driver takes them from here.

/// How much work one text, value or schema may ask for. What passes a bound is refused, never cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open arrays and objects at one place; counted from 1 at the outermost.
    pub depth: usize,
    /// UTF-8 bytes of one JSON text.
    pub text_length: usize,
    /// Issues listed for one value; the verdict itself needs none.
    pub issues: usize,
    /// Digits of one number as written, fraction and exponent included.
    pub number_digits: usize,
    /// Steps of the regular-expression engine for one match.
    pub regex_steps: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 200, text_length: 64 << 20, issues: 100, number_digits: 4300, regex_steps: 1_000_000 }
    }
}
