//! `ipv4` (RFC 2673 section 3.2, dotted quad) and `ipv6` (RFC 4291 section 2.2).
//!
//! The standard library's parsers are exactly these grammars: no leading zeros, no zone, no prefix length.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether `text` is four decimal octets.
pub(super) fn is_ipv4(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok()
}

/// Whether `text` is an IPv6 address without zone.
pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_that_other_parsers_let_through() {
        assert!(is_ipv4("255.255.255.255"));
        for bad in ["127.1", "01.2.3.4", "1.2.3.4 ", "0x7f.0.0.1", "1.2.3.256"] {
            assert!(!is_ipv4(bad), "{bad}");
        }
        assert!(is_ipv6("::ffff:192.168.0.1"));
        for bad in ["fe80::a%eth1", "::1/64", "::ffff:192.168.0.01", "[::1]", "1:2:3:4:5:6:7", "12345::"] {
            assert!(!is_ipv6(bad), "{bad}");
        }
    }
}
