//! `contentEncoding` and `contentMediaType` as assertions: draft 7 Validation, section 8 (later drafts only annotate).
//!
//! `base64` and `application/json` are asserted; any other encoding or media type is an annotation.

use std::borrow::Cow;

/// The bytes of `text` in the base64 of RFC 4648 section 4, or `None` where it is not.
///
/// Padding is required, white space and line breaks are refused, unused trailing bits are not looked at.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    if !bytes.len().is_multiple_of(4) {
        return None;
    }
    let digits = match bytes {
        [head @ .., b'=', b'='] | [head @ .., b'='] => head,
        _ => bytes,
    };
    let mut decoded = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for &digit in group {
            bits = bits << 6 | sextet(digit)?;
        }
        bits <<= 6 * (4 - group.len());
        decoded.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(decoded)
}

/// Whether `text` is content of that encoding and media type (draft 7). A keyword that is absent or names something
/// unknown asserts nothing. `is_json` decides about a JSON text given as bytes.
pub fn is_valid(
    text: &str,
    encoding: Option<&str>,
    media_type: Option<&str>,
    is_json: impl FnOnce(&[u8]) -> bool,
) -> bool {
    let content = match encoding {
        None => Cow::Borrowed(text.as_bytes()),
        Some(encoding) if encoding.eq_ignore_ascii_case("base64") => match decode_base64(text) {
            Some(decoded) => Cow::Owned(decoded),
            None => return false,
        },
        Some(_) => return true,
    };
    !media_type.is_some_and(is_json_media_type) || is_json(&content)
}

/// `application/json` with or without parameters (RFC 6838: names are case-insensitive).
fn is_json_media_type(media_type: &str) -> bool {
    media_type.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("application/json"))
}

fn sextet(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64() {
        assert_eq!(decode_base64("").as_deref(), Some(&b""[..]));
        assert_eq!(decode_base64("Zg==").as_deref(), Some(&b"f"[..]));
        assert_eq!(decode_base64("Zm8=").as_deref(), Some(&b"fo"[..]));
        assert_eq!(decode_base64("Zm9v").as_deref(), Some(&b"foo"[..]));
        for bad in ["Zg", "Zg=", "Z===", "====", "Zm9v\n", "Zm=v", "Zm9%", "é=="] {
            assert_eq!(decode_base64(bad), None, "{bad}");
        }
    }

    #[test]
    fn content() {
        let is_braces = |text: &[u8]| text == b"{}";
        assert!(is_valid("e30=", Some("base64"), Some("application/json; charset=utf-8"), is_braces));
        assert!(!is_valid("{}", Some("base64"), Some("application/json"), is_braces));
        assert!(!is_valid("e3s=", Some("BASE64"), Some("Application/JSON"), is_braces));
        assert!(is_valid("e30", Some("base32"), Some("application/json"), is_braces));
        assert!(is_valid("{", None, Some("text/html"), is_braces));
    }
}
