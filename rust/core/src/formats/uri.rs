//! `uri`, `uri-reference` (RFC 3986 appendix A) and `iri`, `iri-reference` (RFC 3987 section 2.2).
//!
//! One pass cuts the text at its delimiters, a table of the characters that each component may hold does the rest.

use std::net::Ipv6Addr;

/// An absolute URI with or without a fragment.
pub(super) fn is_uri(text: &str) -> bool {
    is_reference(text, Charset::Ascii, Scheme::Required)
}

/// A URI or a relative reference.
pub(super) fn is_uri_reference(text: &str) -> bool {
    is_reference(text, Charset::Ascii, Scheme::Optional)
}

/// An absolute IRI with or without a fragment.
pub(super) fn is_iri(text: &str) -> bool {
    is_reference(text, Charset::Unicode, Scheme::Required)
}

/// An IRI or a relative reference.
pub(super) fn is_iri_reference(text: &str) -> bool {
    is_reference(text, Charset::Unicode, Scheme::Optional)
}

/// `ucschar` of RFC 3987: what an IRI may hold beyond US-ASCII.
pub(super) fn is_ucschar(c: char) -> bool {
    let code = u32::from(c);
    match code {
        0xA0..=0xD7FF | 0xF900..=0xFDCF | 0xFDF0..=0xFFEF => true,
        // Every further plane up to E, without its two noncharacters; plane E starts at 1000.
        0x1_0000..=0xE_FFFD => code & 0xFFFF <= 0xFFFD && !(0xE_0000..=0xE_0FFF).contains(&code),
        _ => false,
    }
}

/// `iprivate` of RFC 3987: good in a query only.
pub(super) fn is_iprivate(c: char) -> bool {
    matches!(u32::from(c), 0xE000..=0xF8FF | 0xF_0000..=0xF_FFFD | 0x10_0000..=0x10_FFFD)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Charset {
    Ascii,
    Unicode,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Required,
    Optional,
}

const UNRESERVED: u8 = 1;
const SUB_DELIMS: u8 = 2;
const COLON: u8 = 4;
const AT: u8 = 8;
const SLASH: u8 = 16;
const QUESTION: u8 = 32;

const REG_NAME: u8 = UNRESERVED | SUB_DELIMS;
const USERINFO: u8 = REG_NAME | COLON;
const PCHAR: u8 = USERINFO | AT;
const PATH: u8 = PCHAR | SLASH;
const QUERY: u8 = PATH | QUESTION;

static CLASS: [u8; 128] = {
    let mut table = [0; 128];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => UNRESERVED,
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' => SUB_DELIMS,
            b':' => COLON,
            b'@' => AT,
            b'/' => SLASH,
            b'?' => QUESTION,
            _ => 0,
        };
        byte += 1;
    }
    table
};

/// Is it of the plain form that most are: scheme, host, path, and nothing in them that asks for a closer look?
fn is_plain(text: &[u8]) -> bool {
    let class = |byte: u8| CLASS.get(usize::from(byte)).copied().unwrap_or(0);
    let Some(rest) = scheme_length(text).and_then(|length| text[length..].strip_prefix(b"://")) else {
        return false;
    };
    let host = rest.iter().take_while(|byte| class(**byte) & REG_NAME != 0).count();
    let (_, path) = rest.split_at(host);
    path.first().is_none_or(|byte| *byte == b'/') && path.iter().all(|byte| class(*byte) & PATH != 0)
}

fn is_reference(text: &str, charset: Charset, scheme: Scheme) -> bool {
    if is_plain(text.as_bytes()) {
        return true;
    }
    let (text, fragment) = match text.split_once('#') {
        Some((text, fragment)) => (text, Some(fragment)),
        None => (text, None),
    };
    let (text, query) = match text.split_once('?') {
        Some((text, query)) => (text, Some(query)),
        None => (text, None),
    };
    let has_scheme = scheme_length(text.as_bytes());
    let hierarchy = match has_scheme {
        Some(length) => &text[length + 1..],
        None if scheme == Scheme::Required => return false,
        None => text,
    };
    let path = if let Some(rest) = hierarchy.strip_prefix("//") {
        let end = memchr::memchr(b'/', rest.as_bytes()).unwrap_or(rest.len());
        if !is_authority(&rest[..end], charset) {
            return false;
        }
        &rest[end..]
    } else {
        // A colon in the first segment would have been read as the end of a scheme.
        let first_segment = hierarchy.split('/').next().unwrap_or(hierarchy);
        if has_scheme.is_none() && first_segment.contains(':') {
            return false;
        }
        hierarchy
    };
    holds_only(path, PATH, charset, is_ucschar)
        && query.is_none_or(|query| holds_only(query, QUERY, charset, |c| is_ucschar(c) || is_iprivate(c)))
        && fragment.is_none_or(|fragment| holds_only(fragment, QUERY, charset, is_ucschar))
}

/// The length of the scheme when there is one, the colon not counted.
fn scheme_length(text: &[u8]) -> Option<usize> {
    if !text.first()?.is_ascii_alphabetic() {
        return None;
    }
    let length = text.iter().position(|byte| !(byte.is_ascii_alphanumeric() || b"+-.".contains(byte)))?;
    (text[length] == b':').then_some(length)
}

fn is_authority(text: &str, charset: Charset) -> bool {
    let host_port = match text.split_once('@') {
        Some((userinfo, rest)) if holds_only(userinfo, USERINFO, charset, is_ucschar) => rest,
        Some(_) => return false,
        None => text,
    };
    let port = if let Some(rest) = host_port.strip_prefix('[') {
        match rest.split_once(']') {
            Some((literal, port)) if is_ip_literal(literal) => port,
            _ => return false,
        }
    } else {
        let end = memchr::memchr(b':', host_port.as_bytes()).unwrap_or(host_port.len());
        if !holds_only(&host_port[..end], REG_NAME, charset, is_ucschar) {
            return false;
        }
        &host_port[end..]
    };
    match port.as_bytes() {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

fn is_ip_literal(text: &str) -> bool {
    let Some(future) = text.strip_prefix(['v', 'V']) else { return text.parse::<Ipv6Addr>().is_ok() };
    let Some((version, address)) = future.split_once('.') else { return false };
    !version.is_empty()
        && version.bytes().all(|byte| byte.is_ascii_hexdigit())
        && !address.is_empty()
        && !address.contains('%')
        && holds_only(address, USERINFO, Charset::Ascii, is_ucschar)
}

/// Whether every character is of `classes`, a percent triplet, or (in an IRI) good by `is_beyond_ascii`.
fn holds_only(text: &str, classes: u8, charset: Charset, is_beyond_ascii: fn(char) -> bool) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match CLASS.get(usize::from(byte)) {
            Some(class) if class & classes != 0 => at += 1,
            Some(_) if byte == b'%' => {
                let Some([b'%', high, low]) = bytes.get(at..at + 3) else { return false };
                if !(high.is_ascii_hexdigit() && low.is_ascii_hexdigit()) {
                    return false;
                }
                at += 3;
            }
            Some(_) => return false,
            None => match text[at..].chars().next() {
                Some(c) if charset == Charset::Unicode && is_beyond_ascii(c) => at += c.len_utf8(),
                _ => return false,
            },
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris() {
        for good in [
            "mailto:",
            "http://[v1.a:b]/",
            "http://[::1]:80?",
            "a:b:c",
            "file:///etc/hosts",
            "http://a/?q=/?#/?",
            "x:%41",
            "http://u:p@h:",
        ] {
            assert!(is_uri(good), "{good}");
        }
        for bad in [
            "",
            "//a",
            "http://a b",
            "http://a/%4",
            "http://a/%é",
            "http://2001:db8::7/p",
            "http://[v.a]/",
            "http://[::1%25eth0]/",
            "http://a@b@c/",
            "http://a/é",
            "1a:b",
            "a#b#c",
            "http://[::1]x/",
            "http:/[::1]",
        ] {
            assert!(!is_uri(bad), "{bad}");
        }
    }

    #[test]
    fn references() {
        for good in ["", "#", "?", "a/b:c", "./a:b", "//", "..", "a%20b"] {
            assert!(is_uri_reference(good), "{good}");
        }
        for bad in ["1:b", ":", "%zz", "a\\b", "/[::1]"] {
            assert!(!is_uri_reference(bad), "{bad}");
        }
    }

    #[test]
    fn private_characters_only_in_the_query_of_an_iri() {
        assert!(is_iri("http://ƒøø.ßår/?q=\u{F0000}\u{E000}"));
        assert!(!is_iri("http://ƒøø.ßår/\u{E000}"));
        assert!(!is_iri("http://ƒøø.ßår/#\u{E000}"));
        assert!(!is_iri("http://a/\u{FFFF}"));
        assert!(!is_iri("http://a/\u{1FFFE}"));
        assert!(is_iri_reference("/âππ"));
    }
}
