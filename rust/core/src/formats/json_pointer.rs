//! `json-pointer` (RFC 6901 section 3, the string form) and `relative-json-pointer`
//! (draft-bhutton-relative-json-pointer-00 section 3).

/// Empty, or `/`-led tokens in which `~` is followed by `0` or `1`.
pub(super) fn is_json_pointer(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes.first(), None | Some(b'/'))
        && memchr::memchr_iter(b'~', bytes).all(|at| matches!(bytes.get(at + 1), Some(b'0' | b'1')))
}

/// A non-negative integer without leading zeros, then `#` or a JSON Pointer.
pub(super) fn is_relative_json_pointer(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let has_leading_zero = digits > 1 && text.starts_with('0');
    let rest = &text[digits..];
    digits > 0 && !has_leading_zero && (rest == "#" || is_json_pointer(rest))
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
            assert!(is_relative_json_pointer(good), "{good:?}");
        }
        for bad in ["", "01", "-1", "0##", "1#/a", "/a", "1a", "1\n", "١"] {
            assert!(!is_relative_json_pointer(bad), "{bad:?}");
        }
    }
}
