//! Short texts that a plan knows: how they are compared, hashed and found.

/// The strings of an `enum`.
#[derive(Clone, Debug)]
pub struct StringSet {
    /// The strings, and the host's handle of each.
    pub members: Box<[(Box<str>, usize)]>,
    /// The first word of each: all of it, mostly ([`first_word`]).
    words: Box<[u64]>,
    /// Open hash table over them, empty where they are few or very many.
    pub slots: Box<[u16]>,
    /// The same where they are very many.
    pub wide_slots: Box<[u32]>,
    /// It is the value of `const`.
    pub constant: bool,
    /// It alone keeps other kinds out: no `type` says so.
    pub narrows: bool,
}

/// Are two short texts equal? Inlined, unlike the C library's comparison, whose call costs more than it compares.
#[inline]
pub fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if let (Some(x), Some(y)) = (a.first_chunk::<16>(), b.first_chunk::<16>()) {
        return x == y
            && a.last_chunk::<16>() == b.last_chunk::<16>()
            && (a.len() <= 32 || a[16..a.len() - 16] == b[16..b.len() - 16]);
    }
    if let (Some(x), Some(y)) = (a.first_chunk::<8>(), b.first_chunk::<8>()) {
        return x == y && a.last_chunk::<8>() == b.last_chunk::<8>();
    }
    if let (Some(x), Some(y)) = (a.first_chunk::<4>(), b.first_chunk::<4>()) {
        return x == y && a.last_chunk::<4>() == b.last_chunk::<4>();
    }
    a.iter().zip(b).all(|(x, y)| x == y)
}

/// The first eight bytes of a text as one word, zeros behind a shorter one.
#[inline]
pub fn first_word(text: &[u8]) -> u64 {
    if let Some(first) = text.first_chunk::<8>() {
        u64::from_le_bytes(*first)
    } else if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        // Where the two overlap they say the same.
        let last = u64::from(u32::from_le_bytes(*last)) << ((text.len() - 4) * 8);
        u64::from(u32::from_le_bytes(*first)) | last
    } else {
        let byte = |at: usize| text.get(at).map_or(0, |byte| u64::from(*byte) << (at * 8));
        byte(0) | byte(1) | byte(2)
    }
}

/// The same of the first `len` bytes of a text, which nearly always goes on for eight: no branch depends on the length, in
/// which names differ.
#[inline]
pub fn first_word_of(text: &[u8], len: usize) -> u64 {
    const WORD: usize = size_of::<u64>();
    match text.first_chunk::<WORD>() {
        Some(first) => {
            // In two steps, since none of the eight may count.
            let half = 4 * (WORD - len.min(WORD));
            u64::from_le_bytes(*first) << half << half >> half >> half
        }
        None => first_word(&text[..len]),
    }
}

/// A hash of a text that is mostly short: its length, its ends, and what lies between; collisions are compared.
#[inline]
pub fn short_hash(text: &[u8]) -> u32 {
    hash_from(first_word(text), text)
}

/// The hash of a text whose first word is known.
#[inline]
pub fn hash_from(word: u64, text: &[u8]) -> u32 {
    let len = text.len();
    let last = if len > 8 { text.last_chunk::<8>().map_or(0, |last| u64::from_le_bytes(*last)) } else { 0 };
    let mut mixed = (word ^ last.rotate_left(29) ^ (len as u64) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    // Names that are alike at both ends differ in between. The last word may overlap what was read.
    let mut at = 8;
    while at + 8 < len {
        if let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            mixed = (mixed.rotate_left(23) ^ u64::from_le_bytes(*word)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        at += 8;
    }
    #[allow(clippy::cast_possible_truncation, reason = "the upper half is the mixed one")]
    let hash = (mixed >> 32) as u32;
    hash
}

/// Objects with up to this many names are searched in order.
pub const FEW_NAMES: usize = 4;
/// Sets with up to this many strings are searched in order.
const FEW_STRINGS: usize = 4;

impl StringSet {
    /// Builds the set.
    pub fn new(members: Box<[(Box<str>, usize)]>, constant: bool, narrows: bool) -> Self {
        let mut slots = Vec::new();
        if members.len() > FEW_STRINGS {
            let size = (members.len() * 4).next_power_of_two();
            slots.resize(size, 0u32);
            for (number, (text, _)) in (1u32..).zip(&members) {
                let mut at = short_hash(text.as_bytes()) as usize & (size - 1);
                while slots[at] != 0 {
                    at = (at + 1) & (size - 1);
                }
                slots[at] = number;
            }
        }
        let narrow: Option<Box<[u16]>> = slots.iter().map(|slot| u16::try_from(*slot).ok()).collect();
        let (slots, wide_slots) =
            narrow.map_or_else(|| (Box::default(), slots.into()), |slots| (slots, Box::default()));
        let words = members.iter().map(|(text, _)| first_word(text.as_bytes())).collect();
        Self { members, words, slots, wide_slots, constant, narrows }
    }

    /// Memory behind the set.
    pub fn heap_size(&self) -> usize {
        let texts: usize = self.members.iter().map(|(text, _)| text.len()).sum();
        size_of_val(&*self.slots)
            + size_of_val(&*self.wide_slots)
            + size_of_val(&*self.members)
            + size_of_val(&*self.words)
            + texts
    }

    /// The host's handle of a member, if it has this text.
    #[inline]
    fn token_if(&self, at: usize, word: u64, text: &[u8]) -> Option<usize> {
        if self.words[at] != word {
            return None;
        }
        let (member, token) = &self.members[at];
        let is_same =
            member.len() == text.len() && (text.len() <= size_of::<u64>() || same(member.as_bytes(), text));
        is_same.then_some(*token)
    }

    /// The host's handle of the member with this text.
    #[inline]
    pub fn find(&self, text: &[u8]) -> Option<usize> {
        self.find_word(first_word(text), text)
    }

    /// The same of a text whose first word is known.
    #[inline]
    pub fn find_word(&self, word: u64, text: &[u8]) -> Option<usize> {
        if self.slots.is_empty() && !self.wide_slots.is_empty() {
            return self.find_wide(text);
        }
        if self.slots.is_empty() {
            return (0..self.words.len()).find_map(|at| self.token_if(at, word, text));
        }
        let mask = self.slots.len() - 1;
        let mut at = hash_from(word, text) as usize & mask;
        loop {
            let slot = usize::from(self.slots[at]);
            if slot == 0 {
                return None;
            }
            if let Some(token) = self.token_if(slot - 1, word, text) {
                return Some(token);
            }
            at = (at + 1) & mask;
        }
    }
}

impl StringSet {
    #[cold]
    fn find_wide(&self, text: &[u8]) -> Option<usize> {
        let mask = self.wide_slots.len() - 1;
        let mut at = short_hash(text) as usize & mask;
        loop {
            let (member, token) = self.members.get((self.wide_slots[at] as usize).checked_sub(1)?)?;
            if same(member.as_bytes(), text) {
                return Some(*token);
            }
            at = (at + 1) & mask;
        }
    }
}
