//! `date`, `time` and `date-time`: RFC 3339 section 5.6, byte by byte.
//!
//! A leap second is good only where the time is 23:59 in UTC; which days really had one is not known here, since the
//! list grows.

/// `full-date`, with the length of the month in the proleptic Gregorian calendar.
pub(super) fn is_date(text: &str) -> bool {
    is_full_date(text.as_bytes())
}

/// `full-time`: the offset is required.
pub(super) fn is_time(text: &str) -> bool {
    is_full_time(text.as_bytes())
}

/// `full-date "T" full-time`, the separator in either case.
pub(super) fn is_date_time(text: &str) -> bool {
    match text.as_bytes().split_at_checked(10) {
        Some((date, [b'T' | b't', time @ ..])) => is_full_date(date) && is_full_time(time),
        _ => false,
    }
}

fn is_full_date(text: &[u8]) -> bool {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else { return false };
    let (Some(century), Some(year), Some(month), Some(day)) =
        (two_digits(y1, y2), two_digits(y3, y4), two_digits(m1, m2), two_digits(d1, d2))
    else {
        return false;
    };
    let is_leap = if year == 0 { century % 4 == 0 } else { year % 4 == 0 };
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    1 <= day && day <= last
}

fn is_full_time(text: &[u8]) -> bool {
    let &[h1, h2, b':', m1, m2, b':', s1, s2, ref rest @ ..] = text else { return false };
    let (Some(hour), Some(minute), Some(second)) =
        (two_digits(h1, h2), two_digits(m1, m2), two_digits(s1, s2))
    else {
        return false;
    };
    if hour > 23 || minute > 59 || second > 60 {
        return false;
    }
    let rest = match rest {
        [b'.', fraction @ ..] => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return false;
            }
            &fraction[digits..]
        }
        _ => rest,
    };
    let Some(offset) = offset_minutes(rest) else { return false };
    second < 60 || (i32::from(hour) * 60 + i32::from(minute) - offset).rem_euclid(24 * 60) == 23 * 60 + 59
}

/// Minutes east of UTC.
fn offset_minutes(text: &[u8]) -> Option<i32> {
    match *text {
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hour, minute) = (two_digits(h1, h2)?, two_digits(m1, m2)?);
            let minutes = i32::from(hour) * 60 + i32::from(minute);
            (hour <= 23 && minute <= 59).then_some(if sign == b'-' { -minutes } else { minutes })
        }
        _ => None,
    }
}

fn two_digits(tens: u8, ones: u8) -> Option<u8> {
    (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| (tens - b'0') * 10 + (ones - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_know_the_calendar() {
        for good in ["2000-02-29", "0400-02-29", "2024-12-31", "0000-02-29"] {
            assert!(is_date(good), "{good}");
        }
        for bad in
            ["1900-02-29", "2023-02-29", "2023-04-31", "2023-00-01", "2023-01-00", "2023-1-01", "২0-01-01"]
        {
            assert!(!is_date(bad), "{bad}");
        }
    }

    #[test]
    fn leap_seconds_are_at_midnight_utc() {
        assert!(is_time("23:59:60Z"));
        assert!(is_time("01:29:60+01:30"));
        assert!(is_time("15:59:60.5-08:00"));
        assert!(!is_time("23:59:60+01:00"));
        assert!(!is_time("23:59:61Z"));
    }

    #[test]
    fn date_times_need_all_parts() {
        assert!(is_date_time("1985-04-12t23:20:50.52z"));
        assert!(!is_date_time("1985-04-12 23:20:50Z"));
        assert!(!is_date_time("1985-04-12T23:20:50"));
        assert!(!is_date_time("1985-04-12T23:20:50.Z"));
        assert!(!is_date_time("1985-04-12T23:20:50Z\n"));
        assert!(!is_date_time("1985-04-1é"));
    }
}
