//! The strings of a whole text: plain runs found sixteen bytes at a time, escapes copied out.

/// A string's content: a part of the text, or the scratch buffer where it had escapes.
#[derive(Clone, Copy, Debug)]
pub struct Scanned {
    /// Position of the content in the text, where it has no escapes.
    pub plain: Option<(usize, usize)>,
    /// Is every byte ASCII?
    pub ascii: bool,
    /// Position behind the closing quote.
    pub end: usize,
}

/// 1 for bytes that end a plain run: quote, backslash, control characters.
const STOPS: [u8; 256] = {
    let mut table = [0u8; 256];
    let mut at = 0;
    while at < 0x20 {
        table[at] = 1;
        at += 1;
    }
    table[b'"' as usize] = 1;
    table[b'\\' as usize] = 1;
    table
};

/// The position of the first quote, backslash or control character from `at` on, and whether a byte before it was
/// not ASCII.
#[inline]
pub fn plain_run(text: &[u8], mut at: usize) -> (usize, bool) {
    let mut high = 0u8;
    loop {
        let Some(chunk) = text.get(at..at + 16) else { break };
        let mut stop = 0u8;
        let mut chunk_high = 0u8;
        for byte in chunk {
            stop |= u8::from(*byte < 0x20) | u8::from(*byte == b'"') | u8::from(*byte == b'\\');
            chunk_high |= *byte;
        }
        if stop != 0 {
            break;
        }
        high |= chunk_high;
        at += 16;
    }
    while let Some(byte) = text.get(at) {
        if STOPS[*byte as usize] != 0 {
            break;
        }
        high |= *byte;
        at += 1;
    }
    (at, high >= 0x80)
}

/// Reads the string whose content starts at `start`, behind the opening quote. None where RFC 8259 section 7 is
/// broken, the bytes are no UTF-8, or an escape is half of a surrogate pair.
#[inline]
pub fn scan(text: &[u8], start: usize, scratch: &mut Vec<u8>) -> Option<Scanned> {
    let (at, high) = plain_run(text, start);
    if text.get(at) == Some(&b'"') {
        if high {
            std::str::from_utf8(&text[start..at]).ok()?;
        }
        return Some(Scanned { plain: Some((start, at)), ascii: !high, end: at + 1 });
    }
    escaped(text, start, at, high, scratch)
}

fn escaped(text: &[u8], start: usize, mut at: usize, mut high: bool, scratch: &mut Vec<u8>) -> Option<Scanned> {
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
    if high {
        std::str::from_utf8(scratch).ok()?;
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
