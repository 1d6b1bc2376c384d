//! The strings of a whole text: plain runs found many bytes at a time, escapes copied out.

use super::stops::{Look, WIDTH};

/// A string's content: a part of the text, or the scratch buffer where it had escapes. What is not ASCII is not yet
/// known to be UTF-8.
#[derive(Clone, Copy, Debug)]
pub struct Scanned {
    /// Position of the content in the text, where it has no escapes; else in the scratch buffer.
    place: (usize, usize),
    plain: bool,
    /// Is every byte ASCII?
    pub ascii: bool,
    /// Position behind the closing quote.
    pub end: usize,
}

impl Scanned {
    /// The content.
    #[inline]
    pub fn content<'c>(&self, text: &'c [u8], scratch: &'c [u8]) -> &'c [u8] {
        let (start, end) = self.place;
        if self.plain { &text[start..end] } else { &scratch[start..end] }
    }

    /// The content together with what follows it, and the content's length.
    #[inline]
    pub fn onwards<'c>(&self, text: &'c [u8], scratch: &'c [u8]) -> (&'c [u8], usize) {
        let (start, end) = self.place;
        (if self.plain { &text[start..] } else { &scratch[start..] }, end - start)
    }
}

/// The position of the first quote, backslash or control character from `at` on, and whether a byte before it was
/// not ASCII.
#[inline]
pub fn plain_run(text: &[u8], mut at: usize) -> (usize, bool) {
    let mut high = false;
    while let Some(chunk) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let look = Look::at(chunk);
        high |= look.has_high();
        match look.plain() {
            Some(plain) => return (at + plain, high),
            None => at += WIDTH,
        }
    }
    // Fewer are left: the last ones of the text are looked at, but for those before.
    if at < text.len()
        && let Some(chunk) = text.last_chunk()
    {
        let look = Look::at(chunk).behind(WIDTH - (text.len() - at));
        high |= look.has_high();
        return (look.plain().map_or(text.len(), |plain| at + plain), high);
    }
    while let Some(byte) = text.get(at) {
        if *byte < 0x20 || *byte == b'"' || *byte == b'\\' {
            break;
        }
        high |= !byte.is_ascii();
        at += 1;
    }
    (at, high)
}

/// Reads the string whose content starts at `start`, behind the opening quote. None where RFC 8259 section 7 is
/// broken, or an escape is half of a surrogate pair.
#[inline(always)]
#[allow(clippy::inline_always, reason = "called for every name and string, most of them shorter than a call")]
pub fn scan(text: &[u8], start: usize, scratch: &mut Vec<u8>) -> Option<Scanned> {
    let (at, high) = plain_run(text, start);
    if text.get(at) == Some(&b'"') {
        return Some(Scanned { place: (start, at), plain: true, ascii: !high, end: at + 1 });
    }
    escaped(text, start, at, high, scratch)
}

/// The highest byte of a UTF-8 text, and how many of its bytes continue a character. Counted in bytes over short
/// chunks, so that the loop runs on whole vectors.
#[inline]
pub fn census(text: &[u8]) -> (u8, usize) {
    let (mut highest, mut continued) = (0, 0);
    for chunk in text.chunks(128) {
        let mut sum = 0u8;
        for byte in chunk {
            sum += u8::from(*byte & 0xC0 == 0x80);
            highest = highest.max(*byte);
        }
        continued += usize::from(sum);
    }
    (highest, continued)
}

/// What an escape of one letter stands for, 0 where it is none.
const PLAIN_ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'/' as usize] = b'/';
    table[b'b' as usize] = 8;
    table[b'f' as usize] = 12;
    table[b'n' as usize] = b'\n';
    table[b'r' as usize] = b'\r';
    table[b't' as usize] = b'\t';
    table
};

/// A string with escapes, from `at` on, where the first one stands. Whole words are copied before they are looked at:
/// source code has an escape every few words, and what was copied too far is written over. The buffer keeps what other
/// strings left in it, so that its bytes are set but once.
#[inline(never)]
fn escaped(
    text: &[u8],
    start: usize,
    mut at: usize,
    mut high: bool,
    scratch: &mut Vec<u8>,
) -> Option<Scanned> {
    const SLACK: usize = 16;
    const SMALLEST: usize = 128;
    let mut to = at - start;
    if scratch.len() < to + SLACK {
        scratch.resize((to + SLACK) * 2 + SMALLEST, 0);
    }
    scratch[..to].copy_from_slice(&text[start..at]);
    loop {
        if scratch.len() < to + SLACK {
            // Doubles, so that the bytes set stay linear in the text.
            scratch.resize((to + SLACK) * 2, 0);
        }
        if let Some(chunk) = text.get(at..).and_then(<[u8]>::first_chunk::<WIDTH>) {
            scratch[to..to + WIDTH].copy_from_slice(chunk);
            let look = Look::at(chunk);
            high |= look.has_high();
            let plain = look.plain();
            (at, to) = (at + plain.unwrap_or(WIDTH), to + plain.unwrap_or(WIDTH));
            if plain.is_none() {
                continue;
            }
        }
        let byte = *text.get(at)?;
        match byte {
            b'"' => break,
            b'\\' => {
                let letter = *text.get(at + 1)?;
                let plain = PLAIN_ESCAPES[letter as usize];
                if plain != 0 {
                    scratch[to] = plain;
                    (at, to) = (at + 2, to + 1);
                } else if letter == b'u' {
                    let (character, end) = unicode_escape(text, at + 2)?;
                    high |= !character.is_ascii();
                    to += character.encode_utf8(&mut scratch[to..to + 4]).len();
                    at = end;
                } else {
                    return None;
                }
            }
            0..0x20 => return None,
            _ => {
                high |= !byte.is_ascii();
                scratch[to] = byte;
                (at, to) = (at + 1, to + 1);
            }
        }
    }
    Some(Scanned { place: (0, to), plain: false, ascii: !high, end: at + 1 })
}

fn hex(text: &[u8], at: usize) -> Option<u32> {
    let digits = text.get(at..at + 4)?;
    let mut value = 0;
    for byte in digits {
        value = value * 16 + char::from(*byte).to_digit(16)?;
    }
    Some(value)
}

/// The character of an escape whose digits start at `at`, a surrogate pair included.
fn unicode_escape(text: &[u8], at: usize) -> Option<(char, usize)> {
    let first = hex(text, at)?;
    if !(0xD800..0xE000).contains(&first) {
        return Some((char::from_u32(first)?, at + 4));
    }
    if first >= 0xDC00 || text.get(at + 4..at + 6) != Some(b"\\u") {
        return None;
    }
    let second = hex(text, at + 6).filter(|half| (0xDC00..0xE000).contains(half))?;
    Some((char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))?, at + 10))
}
