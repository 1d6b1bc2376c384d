//! `email` (the Mailbox of RFC 5321 section 4.1.2) and `idn-email` (RFC 6531 section 3.3).
//!
//! No comments, no folding, no display name: those belong to message headers, not to an address.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{hostname, idn};

/// `local-part@domain` or `local-part@[address]`, the local part at most 64 octets.
pub(super) fn is_email(text: &str) -> bool {
    text.is_ascii() && is_mailbox(text, hostname::is_domain)
}

/// The same with characters beyond US-ASCII on both sides; the domain is one that IDNA can map.
pub(super) fn is_idn_email(text: &str) -> bool {
    is_mailbox(text, |domain| match std::str::from_utf8(domain) {
        Ok(domain) if !domain.is_ascii() => idn::is_mappable_domain(domain),
        _ => hostname::is_domain(domain),
    })
}

fn is_mailbox(text: &str, is_domain: fn(&[u8]) -> bool) -> bool {
    // A quoted local part may hold an "@", a domain may not.
    let Some(at) = memchr::memrchr(b'@', text.as_bytes()) else { return false };
    let (local, domain) = (&text.as_bytes()[..at], &text[at + 1..]);
    if local.len() > 64 {
        return false;
    }
    let is_local = match local {
        [b'"', quoted @ .., b'"'] => is_quoted(quoted),
        _ => is_dot_string(local),
    };
    is_local
        && match domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(address) => is_address_literal(address),
            None => is_domain(domain.as_bytes()),
        }
}

/// `Dot-string`: atoms joined by single dots.
fn is_dot_string(local: &[u8]) -> bool {
    let mut was_dot = true;
    for &byte in local {
        if byte == b'.' {
            if was_dot {
                return false;
            }
            was_dot = true;
        } else if is_atext(byte) {
            was_dot = false;
        } else {
            return false;
        }
    }
    !was_dot
}

fn is_atext(byte: u8) -> bool {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | 0x80.. => true,
        _ => b"!#$%&'*+-/=?^_`{|}~".contains(&byte),
    }
}

/// `QcontentSMTP`: printable text, `"` and `\` behind a backslash.
fn is_quoted(mut text: &[u8]) -> bool {
    loop {
        text = match text {
            [] => return true,
            [b'\\', b' '..=b'~', rest @ ..] => rest,
            [b'"' | b'\\', ..] => return false,
            [b' '..=b'~' | 0x80.., rest @ ..] => rest,
            _ => return false,
        }
    }
}

/// RFC 5321 section 4.1.3; no tag but `IPv6` was ever registered.
fn is_address_literal(text: &str) -> bool {
    match text.split_at_checked(5) {
        Some((tag, address)) if tag.eq_ignore_ascii_case("IPv6:") => address.parse::<Ipv6Addr>().is_ok(),
        _ => text.parse::<Ipv4Addr>().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mailboxes() {
        for good in [
            "joe.bloggs@example.com",
            "a@b",
            "\"a b@c\\\"\"@example.com",
            "\"\"@example.com",
            "a@[127.0.0.1]",
            "a@[IPv6:::1]",
            "{}|~@x.y",
        ] {
            assert!(is_email(good), "{good}");
        }
        for bad in [
            "2962",
            "@a",
            "a@",
            ".a@b",
            "a.@b",
            "a..b@c",
            "a b@c",
            "a@b@c",
            "a@b_c",
            "a@[::1]",
            "a@[IPv6:1]",
            "\"a\"b\"@c",
            "\"@c",
            "é@b",
            "a@b\n",
        ] {
            assert!(!is_email(bad), "{bad}");
        }
        assert!(is_email(&format!("{}@b", "a".repeat(64))));
        assert!(!is_email(&format!("{}@b", "a".repeat(65))));
    }

    #[test]
    fn internationalised_mailboxes() {
        for good in ["실례@실례.테스트", "\"δ\"@example.com", "user@cafe\u{301}.com", "\u{85}@example.com"]
        {
            assert!(is_idn_email(good), "{good}");
        }
        for bad in ["user＠example.com", "2962", "a@é_b", "a@-é"] {
            assert!(!is_idn_email(bad), "{bad}");
        }
    }
}
