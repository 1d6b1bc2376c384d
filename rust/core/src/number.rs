//! JSON numbers with exact comparison, equality and divisibility.
//!
//! JSON Schema speaks of decimal numbers of any size (2020-12 Core 4.2.1), so a float counts as the shortest
//! decimal that reads back as the same double: what a person wrote, and what a serialiser would write again.
//! Machine integers and doubles decide nearly every question; the decimal form is made only where they cannot.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use num_bigint::{BigInt, BigUint, Sign};

/// A JSON number as a host holds it. Floats are always finite.
#[derive(Clone, Debug)]
pub enum Number {
    /// An integer that fits a machine word.
    Int(i64),
    /// A double.
    Float(f64),
    /// Anything else, exactly.
    Big(Box<Decimal>),
}

/// `mantissa * 10^exponent`, the mantissa without trailing decimal zeros.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    mantissa: BigInt,
    exponent: i64,
}

/// Hexadecimal digits of the longest integer that is compared: some 20,000 decimal digits.
const MOST_HEXADECIMAL: usize = 16_384;
/// Doubles hold every integer up to here exactly.
const EXACT_DOUBLE: u64 = 1 << 53;
/// The first double that is no machine integer.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;

impl Decimal {
    /// Reads the grammar of a JSON number (also without a leading digit restriction, as `Decimal` prints).
    /// None where the text is not a number or its exponent does not fit 18 digits.
    pub fn parse(text: &str) -> Option<Self> {
        let (body, exponent) = match text.find(['e', 'E']) {
            Some(at) => {
                let digits = &text[at + 1..];
                if digits.len() > 18 {
                    return None;
                }
                (&text[..at], digits.strip_prefix('+').unwrap_or(digits).parse::<i64>().ok()?)
            }
            None => (text, 0),
        };
        let (negative, body) = match body.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, body.strip_prefix('+').unwrap_or(body)),
        };
        let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
        let mut digits = String::with_capacity(whole.len() + fraction.len());
        digits.push_str(whole);
        digits.push_str(fraction);
        let mut exponent = exponent - i64::try_from(fraction.len()).ok()?;
        // Trailing zeros go before the big integer is made: 1e308 written out is one digit.
        let kept = digits.trim_end_matches('0').len();
        exponent += i64::try_from(digits.len() - kept).ok()?;
        digits.truncate(kept);
        if digits.is_empty() {
            return (!body.is_empty() && body != ".").then(Self::zero);
        }
        let magnitude = BigUint::parse_bytes(digits.as_bytes(), 10)?;
        if magnitude == BigUint::ZERO {
            return Some(Self::zero());
        }
        let sign = if negative { Sign::Minus } else { Sign::Plus };
        Some(Self { mantissa: BigInt::from_biguint(sign, magnitude), exponent })
    }

    fn zero() -> Self {
        Self { mantissa: BigInt::ZERO, exponent: 0 }
    }

    fn from_int(value: i64) -> Self {
        let (mut mantissa, mut exponent) = (value, 0);
        while mantissa != 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            exponent += 1;
        }
        Self { mantissa: BigInt::from(mantissa), exponent }
    }

    fn from_float(value: f64) -> Self {
        // `{:e}` prints the shortest digits that read back as the same double.
        Self::parse(&format!("{value:e}")).unwrap_or_else(Self::zero)
    }

    fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// The power of ten just above the number: 1 for 0.5, 3 for 120.
    fn magnitude(&self) -> i64 {
        i64::try_from(self.mantissa.magnitude().to_string().len())
            .unwrap_or(i64::MAX)
            .saturating_add(self.exponent)
    }

    fn compare(&self, other: &Self) -> Ordering {
        let (a, b) = (self.mantissa.sign(), other.mantissa.sign());
        if a != b || a == Sign::NoSign {
            return a.cmp(&b);
        }
        let flip = |order: Ordering| if a == Sign::Minus { order.reverse() } else { order };
        // Magnitudes first, so that 1e1000000 against 1 never writes a million zeros.
        match self.magnitude().cmp(&other.magnitude()) {
            Ordering::Equal => {}
            order => return flip(order),
        }
        // Equal magnitudes: the exponents differ by no more than the digits of the longer mantissa.
        let shift = u32::try_from(self.exponent.abs_diff(other.exponent)).unwrap_or(u32::MAX);
        let scale = BigUint::from(10u8).pow(shift);
        let (left, right) = (self.mantissa.magnitude(), other.mantissa.magnitude());
        flip(if self.exponent > other.exponent {
            (left * scale).cmp(right)
        } else {
            left.cmp(&(right * scale))
        })
    }

    /// Is `self` an integral multiple of `divisor`? The divisor is positive.
    fn is_multiple_of(&self, divisor: &Self) -> bool {
        let (value, step) = (self.mantissa.magnitude(), divisor.mantissa.magnitude());
        if *value == BigUint::ZERO {
            return true;
        }
        let shift = BigUint::from(self.exponent.abs_diff(divisor.exponent));
        if self.exponent >= divisor.exponent {
            // value * 10^shift mod step, without writing the power out.
            let power = BigUint::from(10u8).modpow(&shift, step);
            return (value * power) % step == BigUint::ZERO;
        }
        // value must hold every factor of step * 10^shift; it ends in no zero, so long shifts cannot divide it.
        match u32::try_from(&shift) {
            Ok(shift) if u64::from(shift) <= value.bits() => {
                value % (step * BigUint::from(10u8).pow(shift)) == BigUint::ZERO
            }
            _ => false,
        }
    }
}

impl Number {
    /// Reads a JSON number exactly: a machine word where it fits, else a decimal.
    pub fn parse_exact(text: &str) -> Option<Self> {
        if let Ok(int) = text.parse::<i64>() {
            return Some(Self::Int(int));
        }
        Decimal::parse(text).map(|decimal| Self::Big(Box::new(decimal)))
    }

    /// Reads the hexadecimal digits of an integer of any size, with an optional minus sign. Beyond the digits that
    /// any arithmetic here is meant for the result is an infinite float, which no rule accepts.
    pub fn from_hexadecimal(digits: &str) -> Self {
        let (negative, digits) = digits.strip_prefix('-').map_or((false, digits), |rest| (true, rest));
        if digits.len() > MOST_HEXADECIMAL {
            return Self::Float(if negative { f64::NEG_INFINITY } else { f64::INFINITY });
        }
        let magnitude = BigUint::parse_bytes(digits.as_bytes(), 16).unwrap_or(BigUint::ZERO);
        let sign = if negative { "-" } else { "" };
        Self::parse_exact(&format!("{sign}{magnitude}")).unwrap_or(Self::Int(0))
    }

    /// Is it beyond what [`Self::from_hexadecimal`] reads?
    pub fn is_beyond(&self) -> bool {
        matches!(self, Self::Float(value) if !value.is_finite())
    }

    /// Has the number a zero fractional part (2020-12 Validation 6.1.1)?
    pub fn is_integer(&self) -> bool {
        match self {
            Self::Int(_) => true,
            Self::Float(value) => value.fract() == 0.0,
            Self::Big(decimal) => decimal.is_integer(),
        }
    }

    fn decimal(&self) -> Decimal {
        match self {
            Self::Int(value) => Decimal::from_int(*value),
            Self::Float(value) => Decimal::from_float(*value),
            Self::Big(decimal) => (**decimal).clone(),
        }
    }

    /// Exact order of two numbers.
    #[allow(clippy::cast_precision_loss, reason = "only below 2^53, where doubles are exact")]
    pub fn compare(&self, other: &Self) -> Ordering {
        let small = |value: i64| value.unsigned_abs() <= EXACT_DOUBLE;
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
            (Self::Int(a), Self::Float(b)) if small(*a) => {
                (*a as f64).partial_cmp(b).unwrap_or(Ordering::Equal)
            }
            (Self::Float(a), Self::Int(b)) if small(*b) => {
                a.partial_cmp(&(*b as f64)).unwrap_or(Ordering::Equal)
            }
            _ => self.decimal().compare(&other.decimal()),
        }
    }

    /// Is the number positive?
    pub fn is_positive(&self) -> bool {
        self.compare(&Self::Int(0)) == Ordering::Greater
    }

    /// Is the number an integral multiple of `divisor` (positive), in exact decimal arithmetic?
    pub fn is_multiple_of(&self, divisor: &Self) -> bool {
        match (self, divisor) {
            (Self::Int(a), Self::Int(b)) if *b > 0 => a % b == 0,
            _ => self.decimal().is_multiple_of(&divisor.decimal()),
        }
    }

    /// A machine integer equal to the number, if there is one.
    #[allow(clippy::cast_possible_truncation, reason = "checked to be integral and in range")]
    pub fn to_i64(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Float(value) if value.fract() == 0.0 && (-TWO_63..TWO_63).contains(value) => {
                Some(*value as i64)
            }
            Self::Big(decimal) if (0..20).contains(&decimal.exponent) => {
                let scale = BigInt::from(10u8).pow(u32::try_from(decimal.exponent).unwrap_or(0));
                i64::try_from(&decimal.mantissa * scale).ok()
            }
            Self::Float(_) | Self::Big(_) => None,
        }
    }

    /// Feeds a hash that is equal for equal numbers.
    pub fn hash_value<H: Hasher>(&self, state: &mut H) {
        match self.to_i64() {
            Some(int) => int.hash(state),
            None => self.decimal().hash(state),
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other) == Ordering::Equal
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) if value.fract() == 0.0 && value.abs() < 1e16 => write!(f, "{value:.1}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Big(decimal) if decimal.exponent == 0 => write!(f, "{}", decimal.mantissa),
            Self::Big(decimal) if (0..64).contains(&decimal.exponent) => {
                write!(
                    f,
                    "{}{}",
                    decimal.mantissa,
                    "0".repeat(usize::try_from(decimal.exponent).unwrap_or(0))
                )
            }
            Self::Big(decimal) => write!(f, "{}e{}", decimal.mantissa, decimal.exponent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        match text.parse::<i64>() {
            Ok(int) => Number::Int(int),
            Err(_) if text.contains(['.', 'e']) => Number::Float(text.parse().unwrap()),
            Err(_) => Number::parse_exact(text).unwrap(),
        }
    }

    #[test]
    fn multiples_are_decimal() {
        for (value, step, expected) in [
            ("10.1", "0.1", true),
            ("0.0075", "0.0001", true),
            ("0.00751", "0.0001", false),
            ("1e308", "0.123456789", false),
            ("1.5e308", "0.5", true),
            ("9223372036854775809", "3", true),
            ("90071992547409931", "2", false),
            ("77777777777", "1e-8", true),
            ("9007199254741000", "13.0", false),
            ("0", "0.3", true),
            ("5", "1e300", false),
        ] {
            assert_eq!(number(value).is_multiple_of(&number(step)), expected, "{value} / {step}");
        }
    }

    #[test]
    fn comparison_is_exact() {
        for (a, b, order) in [
            ("18446744073709551416", "18446744073709551615", Ordering::Less),
            ("9007199254740993", "9007199254740992.0", Ordering::Greater),
            ("-1e300", "-2", Ordering::Less),
            ("0", "-0.0", Ordering::Equal),
            ("100", "1e2", Ordering::Equal),
            ("1e400x", "1", Ordering::Greater),
        ] {
            let left = a.strip_suffix('x').map_or_else(|| number(a), |big| Number::parse_exact(big).unwrap());
            assert_eq!(left.compare(&number(b)), order, "{a} against {b}");
        }
    }

    #[test]
    fn equal_numbers_hash_alike() {
        let hash = |number: &Number| {
            let mut state = std::hash::DefaultHasher::new();
            number.hash_value(&mut state);
            state.finish()
        };
        for (a, b) in [("9100000000000000000", "9.1e18"), ("0", "-0.0")] {
            assert_eq!(number(a), number(b));
            assert_eq!(hash(&number(a)), hash(&number(b)), "{a} and {b}");
        }
    }

    #[test]
    fn integers_are_recognised() {
        assert!(number("1.0").is_integer() && number("1e308").is_integer() && !number("1.5").is_integer());
        assert!(Number::parse_exact("1.50e1").unwrap().is_integer());
        assert_eq!(Number::parse_exact("12e2").unwrap().to_i64(), Some(1200));
    }
}
