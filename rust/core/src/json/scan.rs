//! Scanning runs of bytes: the inner loops of the tokenizer, written so that they compile to vector code.

/// Bytes looked at together; compilers turn the fixed-size loops below into vector compares.
const BLOCK: usize = 16;

/// Without branches, so that a block of bytes is one vector compare.
#[inline]
#[allow(
    clippy::needless_bitwise_bool,
    reason = "a branch for each test keeps the loop from being vector code"
)]
fn ends_run(byte: u8, quote: u8) -> bool {
    (byte == quote) | (byte == b'\\') | (byte < 0x20)
}

/// The first position from `from` on that is the quote, a backslash or a control character; else the end.
#[inline]
pub fn plain_run(bytes: &[u8], from: usize, quote: u8) -> usize {
    let mut at = from;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        if block.iter().fold(false, |hit, &byte| hit | ends_run(byte, quote)) {
            break;
        }
        at += BLOCK;
    }
    while at < bytes.len() && !ends_run(bytes[at], quote) {
        at += 1;
    }
    at
}

/// The first position from `from` on that is not a decimal digit.
#[inline]
pub fn digits(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len() && bytes[at].is_ascii_digit() {
        at += 1;
    }
    at
}

/// How many bytes continue a character: bytes minus this is characters.
#[inline]
pub fn continuation_bytes(bytes: &[u8]) -> usize {
    if bytes.is_ascii() {
        return 0;
    }
    bytes.iter().map(|&byte| usize::from(byte & 0xC0 == 0x80)).sum()
}
