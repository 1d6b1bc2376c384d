//! `json-pointer` (RFC 6901 section 3, the string form) and `relative-json-pointer`
//! (draft-bhutton-relative-json-pointer-00 section 3, which 2020-12 refers to; before, draft-handrews-01).

/// Empty, or `/`-led tokens in which `~` is followed by `0` or `1`.
pub(super) fn is_json_pointer(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes.first(), None | Some(b'/'))
        && memchr::memchr_iter(b'~', bytes).all(|at| matches!(bytes.get(at + 1), Some(b'0' | b'1')))
}

/// A non-negative integer without leading zeros, perhaps a signed one that moves an index, then `#` or a JSON Pointer.
/// (`0-1#` is in the examples and not in the grammar: the examples say what it means.)
pub(super) fn is_relative_json_pointer(text: &str) -> bool {
    after_integer(text).is_some_and(|rest| match rest.strip_prefix(['+', '-']) {
        Some(rest) => after_integer(rest).is_some_and(is_number_sign_or_pointer),
        None => is_number_sign_or_pointer(rest),
    })
}

/// The same without the part that moves an index, which drafts up to 2019-09 do not know.
pub(super) fn is_old_relative_json_pointer(text: &str) -> bool {
    after_integer(text).is_some_and(is_number_sign_or_pointer)
}

/// What follows a non-negative integer without leading zeros.
fn after_integer(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let has_leading_zero = digits > 1 && text.starts_with('0');
    (digits > 0 && !has_leading_zero).then(|| &text[digits..])
}

fn is_number_sign_or_pointer(text: &str) -> bool {
    text == "#" || is_json_pointer(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers() {
        for good in ["", "/", "/a~0b~1c", "//", "/\u{0}"] {
            assert!(is_json_pointer(good), "{good:?}");
        }
        for bad in ["a", "#", "/~", "/~2", "/a~~0"] {
            assert!(!is_json_pointer(bad), "{bad:?}");
        }
    }

    #[test]
    fn relative_pointers() {
        for good in ["0", "0#", "10/a", "1//"] {
            assert!(is_relative_json_pointer(good) && is_old_relative_json_pointer(good), "{good:?}");
        }
        for new in ["0+1", "0-1", "0-0", "1-12/a/b", "0+1/foo", "0-1#"] {
            assert!(is_relative_json_pointer(new) && !is_old_relative_json_pointer(new), "{new:?}");
        }
        for bad in [
            "", "01", "-1", "+1", "0##", "1#/a", "/a", "1a", "1\n", "١", "0+", "0-/a", "0+01", "0+1a",
            "0++1", "0+1-1", "0#+1", "0+1##",
        ] {
            assert!(!is_relative_json_pointer(bad) && !is_old_relative_json_pointer(bad), "{bad:?}");
        }
    }
}
