//! `duration`: RFC 3339 appendix A.
//!
//! Units come in order and without a gap (`P1Y2D` is not in the grammar); weeks stand alone; no fractions.

/// Whether `text` is a `duration` of the grammar, letters in upper case.
pub(super) fn is_duration(text: &str) -> bool {
    let Some(rest) = text.as_bytes().strip_prefix(b"P") else { return false };
    let (date, time) = match rest.iter().position(|&byte| byte == b'T') {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    match time {
        None => is_run(date, b"YMD") || is_run(date, b"W"),
        Some(time) => (date.is_empty() || is_run(date, b"YMD")) && is_run(time, b"HMS"),
    }
}

/// One or more `digits unit`, the units being neighbours in `units`.
fn is_run(mut text: &[u8], mut units: &[u8]) -> bool {
    let mut is_first = true;
    while !text.is_empty() {
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || digits == text.len() {
            return false;
        }
        match units.iter().position(|&unit| unit == text[digits]) {
            Some(at) if at == 0 || is_first => units = &units[at + 1..],
            _ => return false,
        }
        is_first = false;
        text = &text[digits + 1..];
    }
    !is_first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_in_order_and_without_gap() {
        for good in ["P1Y", "P1Y2M3DT4H5M6S", "PT1M2S", "P2W", "P1M2D", "P1DT2H", "P01D"] {
            assert!(is_duration(good), "{good}");
        }
        for bad in [
            "", "P", "PT", "P1YT", "P1Y2D", "PT1H2S", "P1W2D", "P1WT1H", "P1", "p1d", "P1.5D", "P1D2H",
            "P1D\n",
        ] {
            assert!(!is_duration(bad), "{bad}");
        }
    }
}
