//! Which bytes end the plain run of a string: a quote, a backslash, a control character. Sixteen are looked at together,
//! in a register where the machine has one.

use wide::u8x16;

/// Bytes that are looked at together.
pub(super) const WIDTH: usize = 16;

/// What a look found: a bit for each byte, the first one's lowest.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// Bytes that end the run.
    stops: u32,
    /// Bytes that are not ASCII.
    high: u32,
}

impl Look {
    /// At these bytes.
    #[inline]
    pub(super) fn at(bytes: &[u8; WIDTH]) -> Self {
        const LAST_CONTROL: u8 = 0x1F;
        let bytes = u8x16::new(*bytes);
        let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
        let is_control = bytes.min(u8x16::splat(LAST_CONTROL)).simd_eq(bytes);
        Self { stops: (is(b'"') | is(b'\\') | is_control).to_bitmask(), high: bytes.to_bitmask() }
    }

    /// The same without the first bytes, which were looked at before: fewer than [`WIDTH`].
    #[inline]
    pub(super) fn behind(self, count: usize) -> Self {
        Self { stops: self.stops >> count, high: self.high >> count }
    }

    /// How many bytes stand before the first that ends the run; None where none does.
    #[inline]
    pub(super) fn plain(self) -> Option<usize> {
        (self.stops != 0).then(|| self.stops.trailing_zeros() as usize)
    }

    /// Is one of the bytes before the first that ends the run not ASCII?
    #[inline]
    pub(super) fn has_high(self) -> bool {
        // All bits below the lowest stop, and that of the byte itself, which is ASCII.
        self.high & (self.stops ^ self.stops.wrapping_sub(1)) != 0
    }
}
