//! The numbers of a whole text: machine integers, doubles, and everything else exactly.

/// A number as it stands in a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scanned {
    /// An integer that fits a machine word.
    Int(i64),
    /// A finite double.
    Float(f64),
    /// A longer integer: its digits are the token itself.
    Big,
}

/// Powers of ten that a double holds exactly.
const EXACT: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Reads the number that starts at `at` (a digit or `-`): the number and the position behind it. None where the
/// grammar of RFC 8259 section 6 is broken, the number has more than `most_digits`, or a double cannot hold it.
#[inline]
pub fn scan(text: &[u8], at: usize, most_digits: usize) -> Option<(Scanned, usize)> {
    let negative = text.get(at) == Some(&b'-');
    let start = at + usize::from(negative);
    let mut end = start;
    let mut mantissa = 0u64;
    while let Some(digit) = text.get(end).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        // Wraps beyond 19 digits; such a number is read again below.
        mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
        end += 1;
    }
    let digits = end - start;
    if digits == 0 || (digits > 1 && text[start] == b'0') {
        return None;
    }
    if !matches!(text.get(end), Some(b'.' | b'e' | b'E')) {
        if digits <= 18 {
            #[allow(clippy::cast_possible_wrap, reason = "18 digits fit")]
            let int = mantissa as i64;
            return Some((Scanned::Int(if negative { -int } else { int }), end));
        }
        if digits > most_digits {
            return None;
        }
        let int = std::str::from_utf8(&text[at..end]).ok()?.parse::<i64>();
        return Some((int.map_or(Scanned::Big, Scanned::Int), end));
    }
    float(text, at, (start, end), mantissa, most_digits)
}

/// A number with a fraction or an exponent; the whole part is read already.
fn float(
    text: &[u8],
    at: usize,
    (start, mut end): (usize, usize),
    mut mantissa: u64,
    most_digits: usize,
) -> Option<(Scanned, usize)> {
    let mut digits = end - start;
    let mut scale = 0i32;
    if text[end] == b'.' {
        let first = end + 1;
        end = first;
        while let Some(digit) = text.get(end).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10)
        {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
            end += 1;
        }
        if end == first {
            return None;
        }
        digits += end - first;
        scale = -i32::try_from(end - first).ok()?;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        end += 1;
        let negative = text.get(end) == Some(&b'-');
        end += usize::from(matches!(text.get(end), Some(b'+' | b'-')));
        let first = end;
        let mut exponent = 0i32;
        while let Some(digit) = text.get(end).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10)
        {
            exponent = exponent.saturating_mul(10).saturating_add(i32::from(digit));
            end += 1;
        }
        if end == first {
            return None;
        }
        digits += end - first;
        scale = scale.saturating_add(if negative { exponent.saturating_neg() } else { exponent });
    }
    if digits > most_digits {
        return None;
    }
    // The exact path: a mantissa below 2^53 times or over an exact power of ten is rounded once.
    if digits <= 18 && mantissa < 1 << 53 && scale.unsigned_abs() <= 22 {
        #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
        let whole = mantissa as f64;
        let power = EXACT[scale.unsigned_abs() as usize];
        let value = if scale < 0 { whole / power } else { whole * power };
        return Some((Scanned::Float(if text[at] == b'-' { -value } else { value }), end));
    }
    if digits <= 18 && (-19..0).contains(&scale) {
        let value = quotient(mantissa, TENS[scale.unsigned_abs() as usize]);
        return Some((Scanned::Float(if text[at] == b'-' { -value } else { value }), end));
    }
    let value: f64 = std::str::from_utf8(&text[at..end]).ok()?.parse().ok()?;
    value.is_finite().then_some((Scanned::Float(value), end))
}

/// Powers of ten that a machine word holds.
const TENS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// The double nearest to `mantissa / power`, for a mantissa of 54 to 60 bits. Of the whole quotient 62 or 63 bits are taken, with a last
/// bit that says whether the rest is zero: rounding that to 53 bits is rounding the exact quotient, and to scale it by a
/// power of two rounds nothing.
#[inline]
fn quotient(mantissa: u64, power: u64) -> f64 {
    let shift = 62 + mantissa.leading_zeros() - power.leading_zeros();
    let (dividend, divisor) = (u128::from(mantissa) << shift, u128::from(power));
    let whole = dividend / divisor;
    let inexact = whole * divisor != dividend;
    #[allow(clippy::cast_possible_truncation, reason = "the shift leaves 63 bits at most")]
    let bits = whole as u64 | u64::from(inexact);
    #[allow(clippy::cast_precision_loss, reason = "the one rounding")]
    let rounded = bits.cast_signed() as f64;
    rounded * f64::from_bits(u64::from(1023 - shift) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grammar() {
        for bad in ["-", "01", "-01", "1.", "1.e1", "1e", "1e+", "1e999", "-1e999"] {
            assert_eq!(scan(bad.as_bytes(), 0, 4300), None, "{bad}");
        }
        assert_eq!(scan(b"0", 0, 4300), Some((Scanned::Int(0), 1)));
        assert_eq!(scan(b"-12,", 0, 4300), Some((Scanned::Int(-12), 3)));
        assert_eq!(scan(b"9223372036854775807", 0, 4300), Some((Scanned::Int(i64::MAX), 19)));
        assert_eq!(scan(b"9223372036854775808", 0, 4300), Some((Scanned::Big, 19)));
        assert_eq!(scan(b"123456", 0, 4300).map(|(_, end)| end), Some(6));
        assert_eq!(scan(&[b'1'; 5000], 0, 4300), None);
    }

    #[test]
    fn long_fractions_round_as_std_does() {
        let mut state = 0x1234_5678_9ABC_DEF1_u64;
        for _ in 0..200_000 {
            // xorshift: any spread of digits will do.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let mantissa = state % 1_000_000_000_000_000_000;
            let places = (state >> 32) % 19 + 1;
            let text = format!("{mantissa}e-{places}");
            let expected = Scanned::Float(text.parse().unwrap());
            assert_eq!(scan(text.as_bytes(), 0, 4300), Some((expected, text.len())), "{text}");
        }
        // Halfway between two doubles, and next to it.
        for text in
            ["4503599627370496.5", "4503599627370497.5", "4503599627370497.50", "45035996273704975.0e-1"]
        {
            let expected = Scanned::Float(text.parse().unwrap());
            assert_eq!(scan(text.as_bytes(), 0, 4300), Some((expected, text.len())), "{text}");
        }
    }

    #[test]
    fn floats_round_as_std_does() {
        for text in [
            "0.1",
            "1e22",
            "1e23",
            "123456789012345678.5",
            "5e-324",
            "-0.0",
            "1.7976931348623157e308",
            "3.14E+2",
            "-65.613616999999977",
            "0.90071992547409935",
            "9007199254740993.5",
            "900719925474099.35",
            "1234567890.12345678",
            "0.000000009999999999",
            "99999999999999999.9e-18",
            "9007199254740993e-19",
        ] {
            assert_eq!(
                scan(text.as_bytes(), 0, 4300),
                Some((Scanned::Float(text.parse().unwrap()), text.len()))
            );
        }
    }
}
