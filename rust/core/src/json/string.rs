//! The strings of a whole text: plain runs found eight bytes at a time, escapes copied out.

/// A string's content: a part of the text, or the scratch buffer where it had escapes. What is not ASCII is not yet
/// known to be UTF-8.
#[derive(Clone, Copy, Debug)]
pub struct Scanned {
    /// Position of the content in the text, where it has no escapes.
    pub plain: Option<(usize, usize)>,
    /// Is every byte ASCII?
    pub ascii: bool,
    /// Position behind the closing quote.
    pub end: usize,
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The top bit of each byte of a word that ends a plain run: a quote, a backslash, a control character. Bits above
/// the lowest one set may be wrong: a borrow runs upwards.
#[inline]
fn stops(word: u64) -> u64 {
    let quote = word ^ (ONES * u64::from(b'"'));
    let backslash = word ^ (ONES * u64::from(b'\\'));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = quote.wrapping_sub(ONES) & !quote;
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    (control | quote | backslash) & HIGHS
}

/// The position of the first quote, backslash or control character from `at` on, and whether a byte before it was
/// not ASCII.
#[inline]
pub fn plain_run(text: &[u8], mut at: usize) -> (usize, bool) {
    let mut high = 0u64;
    while let Some(chunk) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let found = stops(word);
        if found != 0 {
            let bits = found.trailing_zeros();
            // The bytes before the stop: its own top bit and all above are cut off.
            high |= word & ((1u64 << (bits & !7)) - 1);
            return (at + (bits / 8) as usize, high & HIGHS != 0);
        }
        high |= word;
        at += 8;
    }
    while let Some(byte) = text.get(at) {
        if *byte < 0x20 || *byte == b'"' || *byte == b'\\' {
            break;
        }
        high |= u64::from(*byte);
        at += 1;
    }
    (at, high & HIGHS != 0)
}

/// Reads the string whose content starts at `start`, behind the opening quote. None where RFC 8259 section 7 is
/// broken, or an escape is half of a surrogate pair.
#[inline]
pub fn scan(text: &[u8], start: usize, scratch: &mut Vec<u8>) -> Option<Scanned> {
    let (at, high) = plain_run(text, start);
    if text.get(at) == Some(&b'"') {
        return Some(Scanned { plain: Some((start, at)), ascii: !high, end: at + 1 });
    }
    escaped(text, start, at, high, scratch)
}

fn escaped(
    text: &[u8],
    start: usize,
    mut at: usize,
    mut high: bool,
    scratch: &mut Vec<u8>,
) -> Option<Scanned> {
    scratch.clear();
    let mut from = start;
    loop {
        scratch.extend_from_slice(&text[from..at]);
        match text.get(at)? {
            b'"' => break,
            b'\\' => {
                at += 1;
                let plain = match text.get(at)? {
                    b'"' => b'"',
                    b'\\' => b'\\',
                    b'/' => b'/',
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'u' => {
                        let (character, end) = unicode_escape(text, at + 1)?;
                        let mut buffer = [0; 4];
                        scratch.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
                        high |= !character.is_ascii();
                        at = end;
                        from = at;
                        let (next, run_high) = plain_run(text, at);
                        high |= run_high;
                        at = next;
                        continue;
                    }
                    _ => return None,
                };
                scratch.push(plain);
                at += 1;
                from = at;
                let (next, run_high) = plain_run(text, at);
                high |= run_high;
                at = next;
            }
            _ => return None,
        }
    }
    Some(Scanned { plain: None, ascii: !high, end: at + 1 })
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
