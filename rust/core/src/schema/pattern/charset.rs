//! A set of code points, made for asking: a bit a character in US-ASCII, sorted ranges beyond.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// An immutable set of code points.
#[derive(Debug)]
pub(super) struct CharSet {
    ascii: [u64; 2],
    beyond: Box<[(char, char)]>,
}

impl CharSet {
    pub(super) fn new(class: &ClassUnicode) -> Self {
        let mut ascii = [0; 2];
        let mut beyond = Vec::new();
        for range in class.ranges() {
            for byte in range.start()..=range.end().min('\x7F') {
                ascii[byte as usize >> 6] |= 1 << (byte as u32 & 63);
            }
            if range.end() > '\x7F' {
                beyond.push((range.start().max('\u{80}'), range.end()));
            }
        }
        Self { ascii, beyond: beyond.into() }
    }

    #[inline]
    pub(super) fn holds_ascii(&self, byte: u8) -> bool {
        byte < 128 && self.ascii[usize::from(byte >> 6 & 1)] >> (byte & 63) & 1 == 1
    }

    #[inline]
    pub(super) fn holds(&self, c: char) -> bool {
        u8::try_from(c).map_or_else(
            |_| self.holds_beyond(c),
            |byte| {
                if byte < 128 { self.holds_ascii(byte) } else { self.holds_beyond(c) }
            },
        )
    }

    fn holds_beyond(&self, c: char) -> bool {
        let after = self.beyond.partition_point(|range| range.0 <= c);
        after > 0 && c <= self.beyond[after - 1].1
    }

    pub(super) fn meets(&self, other: &Self) -> bool {
        self.ascii[0] & other.ascii[0] != 0
            || self.ascii[1] & other.ascii[1] != 0
            || self.beyond.iter().any(|a| other.beyond.iter().any(|b| a.0 <= b.1 && b.0 <= a.1))
    }
}

pub(super) fn add_range(class: &mut ClassUnicode, low: u32, high: u32) {
    // Rust's characters leave the surrogates out: the nearest ones stand for a bound among them.
    let low = char::from_u32(low).unwrap_or('\u{E000}');
    let high = char::from_u32(high).unwrap_or('\u{D7FF}');
    if low <= high {
        class.push(ClassUnicodeRange::new(low, high));
    }
}

pub(super) fn from_ranges(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|&(low, high)| ClassUnicodeRange::new(low, high)))
}

pub(super) fn single(c: char) -> ClassUnicode {
    from_ranges(&[(c, c)])
}

pub(super) fn anything() -> ClassUnicode {
    from_ranges(&[('\0', char::MAX)])
}

/// ECMA-262 section 12.3.
pub(super) fn line_terminators() -> ClassUnicode {
    from_ranges(&[('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')])
}

/// ECMA-262 sections 12.2 and 12.3: `WhiteSpace` and `LineTerminator`.
pub(super) fn white_space() -> ClassUnicode {
    from_ranges(&[
        ('\t', '\r'),
        (' ', ' '),
        ('\u{A0}', '\u{A0}'),
        ('\u{1680}', '\u{1680}'),
        ('\u{2000}', '\u{200A}'),
        ('\u{2028}', '\u{2029}'),
        ('\u{202F}', '\u{202F}'),
        ('\u{205F}', '\u{205F}'),
        ('\u{3000}', '\u{3000}'),
        ('\u{FEFF}', '\u{FEFF}'),
    ])
}

pub(super) fn negate(mut class: ClassUnicode) -> ClassUnicode {
    class.negate();
    class
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_of_ascii_and_of_ranges() {
        let set = CharSet::new(&from_ranges(&[
            ('\0', '\0'),
            ('?', '@'),
            ('\x7F', '\u{80}'),
            ('é', 'é'),
            ('😀', char::MAX),
        ]));
        for c in ['\0', '?', '@', '\x7F', '\u{80}', 'é', '😀', char::MAX] {
            assert!(set.holds(c), "{c:?}");
        }
        for c in ['\x01', '>', 'A', '~', '\u{81}', 'è', 'ê', '\u{1F5FF}'] {
            assert!(!set.holds(c), "{c:?}");
        }
        assert!(!set.holds_ascii(0x80));
        assert!(set.meets(&CharSet::new(&single('é'))));
        assert!(set.meets(&CharSet::new(&single('@'))));
        assert!(!set.meets(&CharSet::new(&single('ê'))));
    }

    #[test]
    fn surrogates_bound_ranges_and_are_no_members() {
        let mut class = ClassUnicode::empty();
        add_range(&mut class, 0xD800, 0xDFFF);
        assert!(class.ranges().is_empty());
        add_range(&mut class, 0xD7FF, 0xDFFF);
        add_range(&mut class, 0xD800, 0xE000);
        let set = CharSet::new(&class);
        assert!(set.holds('\u{D7FF}') && set.holds('\u{E000}') && !set.holds('\u{E001}'));
    }
}
