//! Escapes inside strings (RFC 8259 section 7) as an automaton that can stop at any byte.
//!
//! A pair of surrogate escapes is one escape here: its first half alone is never handed on.

use std::ops::RangeInclusive;

use super::fault::FaultKind;

/// Where in an escape the text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escape {
    /// After the backslash.
    Backslash,
    /// After `\u` and this many of its digits.
    Unit { digits: u8, value: u16 },
    /// After the whole first half of a pair.
    High(u16),
    /// After the first half and a backslash.
    HighBackslash(u16),
    /// After the first half, `\u` and this many of its digits.
    Low { high: u16, digits: u8, value: u16 },
}

/// What one more byte made of an escape.
pub(super) enum Step {
    /// Not finished.
    More(Escape),
    /// Finished: this character.
    Done(char),
    /// Impossible; the offending byte stands this many bytes before the present one.
    Bad(FaultKind, usize),
}

/// From the last digit of a `\uXXXX` back to its backslash.
const UNIT_BACK: usize = 5;

impl Escape {
    #[inline]
    pub(super) fn step(self, byte: u8, quote: u8) -> Step {
        match self {
            Self::Backslash => match byte {
                _ if byte == quote => Step::Done(char::from(byte)),
                b'"' | b'\\' | b'/' => Step::Done(char::from(byte)),
                b'b' => Step::Done('\u{8}'),
                b'f' => Step::Done('\u{C}'),
                b'n' => Step::Done('\n'),
                b'r' => Step::Done('\r'),
                b't' => Step::Done('\t'),
                b'u' => Step::More(Self::Unit { digits: 0, value: 0 }),
                _ => Step::Bad(FaultKind::BadEscape, 0),
            },
            Self::Unit { digits, value } => {
                let Some(value) = hex(value, byte) else { return Step::Bad(FaultKind::BadEscape, 0) };
                if digits < 3 {
                    return Step::More(Self::Unit { digits: digits + 1, value });
                }
                match (value, char::from_u32(u32::from(value))) {
                    (_, Some(character)) => Step::Done(character),
                    (0xD800..=0xDBFF, _) => Step::More(Self::High(value)),
                    _ => Step::Bad(FaultKind::LoneSurrogate, UNIT_BACK),
                }
            }
            Self::High(high) if byte == b'\\' => Step::More(Self::HighBackslash(high)),
            Self::HighBackslash(high) if byte == b'u' => Step::More(Self::Low { high, digits: 0, value: 0 }),
            Self::High(_) | Self::HighBackslash(_) => Step::Bad(FaultKind::LoneSurrogate, 0),
            Self::Low { high, digits, value } => {
                let Some(value) = hex(value, byte) else { return Step::Bad(FaultKind::BadEscape, 0) };
                if digits < 3 {
                    return Step::More(Self::Low { high, digits: digits + 1, value });
                }
                match char::decode_utf16([high, value]).next() {
                    Some(Ok(character)) => Step::Done(character),
                    _ => Step::Bad(FaultKind::LoneSurrogate, UNIT_BACK),
                }
            }
        }
    }
}

impl Escape {
    /// The characters that it may still become; None where any may be.
    pub(super) fn may_become(self) -> Option<RangeInclusive<u32>> {
        let units = |value: u16, digits: u8| {
            let open = 4 * (4 - u32::from(digits));
            let first = u32::from(value) << open;
            (first, first + (1 << open) - 1)
        };
        // The characters of a pair, by its first half and the second halves that may follow.
        let pairs = |high: u16, first: u32, last: u32| {
            let base = 0x1_0000 + ((u32::from(high) - 0xD800) << 10);
            base + (first.clamp(0xDC00, 0xDFFF) - 0xDC00)..=base + (last.clamp(0xDC00, 0xDFFF) - 0xDC00)
        };
        match self {
            Self::Backslash | Self::Unit { digits: 0, .. } => None,
            Self::Unit { digits, value } => {
                let (first, last) = units(value, digits);
                Some(first..=if last >= 0xD800 && first <= 0xDBFF { 0x10_FFFF } else { last })
            }
            Self::High(high) | Self::HighBackslash(high) => Some(pairs(high, 0xDC00, 0xDFFF)),
            Self::Low { high, digits, value } => {
                let (first, last) = units(value, digits);
                Some(pairs(high, first, last))
            }
        }
    }
}

fn hex(value: u16, byte: u8) -> Option<u16> {
    let digit = char::from(byte).to_digit(16)?;
    u16::try_from(u32::from(value) << 4 | digit).ok()
}
