//! The number grammar of RFC 8259 section 6 as an automaton that can stop at any byte, and what a finished
//! number means.

use super::scan;

/// Where in a number the text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// After the minus.
    Minus,
    /// After a leading zero: no further digit may follow.
    Zero,
    /// In the integer's digits.
    Integer,
    /// After the point.
    Point,
    /// In the fraction's digits.
    Fraction,
    /// After `e`.
    Exponent,
    /// After the exponent's sign.
    ExponentSign,
    /// In the exponent's digits.
    ExponentDigits,
}

/// What stopped [`Place::advance`].
pub(super) enum Stopped {
    /// The bytes ended: the number may go on.
    Open(Place),
    /// The number ends before this position.
    Ended(usize),
    /// No number has this byte here.
    Bad(usize),
}

impl Place {
    /// The place after a value's first byte, if it begins a number.
    #[inline]
    pub(super) fn first(byte: u8) -> Option<Self> {
        match byte {
            b'-' => Some(Self::Minus),
            b'0' => Some(Self::Zero),
            b'1'..=b'9' => Some(Self::Integer),
            _ => None,
        }
    }

    /// The text so far is a whole number.
    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Zero | Self::Integer | Self::Fraction | Self::ExponentDigits)
    }

    /// Reads on from `at`.
    #[inline]
    pub(super) fn advance(self, bytes: &[u8], mut at: usize) -> Stopped {
        let mut place = self;
        loop {
            if matches!(place, Self::Integer | Self::Fraction | Self::ExponentDigits) {
                at = scan::digits(bytes, at);
            }
            let Some(&byte) = bytes.get(at) else { return Stopped::Open(place) };
            place = match (place, byte) {
                (Self::Minus, b'0') => Self::Zero,
                (Self::Minus, b'1'..=b'9') => Self::Integer,
                (Self::Zero | Self::Integer, b'.') => Self::Point,
                (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Self::Exponent,
                (Self::Point, b'0'..=b'9') => Self::Fraction,
                (Self::Exponent, b'+' | b'-') => Self::ExponentSign,
                (Self::Exponent | Self::ExponentSign, b'0'..=b'9') => Self::ExponentDigits,
                (Self::Zero, b'0'..=b'9') => return Stopped::Bad(at),
                (place, _) if place.is_whole() => return Stopped::Ended(at),
                _ => return Stopped::Bad(at),
            };
            at += 1;
        }
    }
}

/// A finished number, as exact as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number<'t> {
    /// An integer that fits.
    Integer(i64),
    /// The digits, with the sign if there is one, of an integer that does not fit.
    BigInteger(&'t str),
    /// Anything written with a point or an exponent.
    Float(f64),
}

impl<'t> Number<'t> {
    /// Reads text that the automaton accepted; None when no double can hold it.
    pub(super) fn read(text: &'t str) -> Option<Self> {
        if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
            return Some(text.parse().map_or(Self::BigInteger(text), Self::Integer));
        }
        let value: f64 = text.parse().ok()?;
        value.is_finite().then_some(Self::Float(value))
    }
}
