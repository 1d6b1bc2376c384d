//! `hostname` (RFC 1123 section 2.1, with the A-labels of RFC 5890) and `idn-hostname` (RFC 5890 section 2.3.2.3).
//!
//! A plain host name is checked byte by byte; a label that stands for Unicode costs the tables of [`super::idn`].

use super::idn;

/// Letters, digits and inner hyphens in labels of 1 to 63 octets, 253 in all; `xn--` labels must decode to a U-label.
pub(super) fn is_hostname(text: &str) -> bool {
    is_domain(text.as_bytes()) && (!text.split('.').any(idn::has_ace_prefix) || idn::is_domain(text))
}

/// A host name whose labels may be U-labels, joined by any of the four full stops of RFC 3490 section 3.1.
pub(super) fn is_idn_hostname(text: &str) -> bool {
    if text.is_ascii() {
        return is_hostname(text);
    }
    let dotted = text.replace(['\u{3002}', '\u{FF0E}', '\u{FF61}'], ".");
    dotted.split('.').all(|label| !label.is_ascii() || is_label(label.as_bytes())) && idn::is_domain(&dotted)
}

/// LDH labels (RFC 5890 section 2.3.1) joined by full stops, nothing decoded.
pub(super) fn is_domain(text: &[u8]) -> bool {
    text.len() <= 253 && text.split(|&byte| byte == b'.').all(is_label)
}

fn is_label(label: &[u8]) -> bool {
    let (Some(first), Some(last)) = (label.first(), label.last()) else { return false };
    label.len() <= 63
        && first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
        && label.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names() {
        for good in ["a", "1host", "a--b.com", "ab--cd.example", "xn--9n2bp8q.xn--9t4b11yi5a", "EXAMPLE.com"]
        {
            assert!(is_hostname(good), "{good}");
        }
        for bad in
            ["", ".", "a.", ".a", "-a", "a-", "a_b", "a..b", "xn--X", "xn--hello-txk", "é.com", "a.com\n"]
        {
            assert!(!is_hostname(bad), "{bad}");
        }
        assert!(is_hostname(&"a".repeat(63)));
        assert!(!is_hostname(&"a".repeat(64)));
        assert!(!is_hostname(&"a.".repeat(127)));
    }

    #[test]
    fn internationalised_host_names() {
        for good in ["실례.테스트", "a。b", "bücher．example", "Bücher.example", "l·l", "ß", "בא"]
        {
            assert!(is_idn_hostname(good), "{good}");
        }
        for bad in
            ["〮실례", "ü..b", "ü。", "Ä.com", "u\u{308}.com", "-ü", "ü_b", "☃.net", "aא", "0a.א", "ab--ü"]
        {
            assert!(!is_idn_hostname(bad), "{bad}");
        }
    }
}
