//! Scanning runs of bytes: the inner loops of the tokenizer, written so that they compile to vector code.

/// Bytes of a long run looked at together; compilers turn the fixed-size loop below into vector compares.
const BLOCK: usize = 16;
/// Bytes of a short run looked at together, in one integer.
const WORD: usize = 8;

/// Without branches, so that a block of bytes is one vector compare.
#[inline]
#[allow(
    clippy::needless_bitwise_bool,
    reason = "a branch for each test keeps the loop from being vector code"
)]
fn ends_run(byte: u8, quote: u8) -> bool {
    (byte == quote) | (byte == b'\\') | (byte < 0x20)
}

/// The first byte of a word that ends a run. Subtracting borrows only into bytes behind a hit, so the first is exact.
#[inline]
fn first_end(word: [u8; WORD], quote: u8) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(word);
    let below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let hits = (is(quote) | is(b'\\') | below(word, 0x20)) & (ONES << 7);
    (hits != 0).then(|| hits.trailing_zeros() as usize / 8)
}

/// The first position from `from` on that is the quote, a backslash or a control character; else the end.
#[inline]
pub fn plain_run(bytes: &[u8], from: usize, quote: u8) -> usize {
    let mut at = from;
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<WORD>) {
        if let Some(end) = first_end(*word, quote) {
            return at + end;
        }
        at += WORD;
        while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
            if block.iter().fold(false, |hit, &byte| hit | ends_run(byte, quote)) {
                break;
            }
            at += BLOCK;
        }
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
