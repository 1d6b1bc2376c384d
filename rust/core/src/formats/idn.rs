//! Internationalised domain names: RFC 5891 section 4.2 (what a U-label is) with the code points of RFC 5892.
//!
//! The `idna` crate does Punycode, normalisation, the Bidi rule and the joiners; what UTS 46 lets through and
//! IDNA2008 does not (symbols, contextual rules, mapped characters) is refused here.

use std::borrow::Cow;

use idna::punycode;
use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
use unicode_general_category::{GeneralCategory, get_general_category};

/// Whether the label announces Punycode.
pub(super) fn has_ace_prefix(label: &str) -> bool {
    label.as_bytes().first_chunk().is_some_and(|prefix: &[u8; 4]| prefix.eq_ignore_ascii_case(b"xn--"))
}

/// Whether `domain`, split at full stops, is made of LDH labels, A-labels and U-labels of IDNA2008.
pub(super) fn is_domain(domain: &str) -> bool {
    is_mappable_domain(domain) && domain.split('.').all(is_strict_label)
}

/// Whether UTS 46 can turn `domain` into one that the DNS takes; upper case and unnormalised text are mapped.
pub(super) fn is_mappable_domain(domain: &str) -> bool {
    // Punycode takes quadratic time; no domain of 253 octets needs more than four octets of UTF-8 for each of them.
    domain.len() <= 4 * 253
        && Uts46::new()
            .to_ascii(domain.as_bytes(), AsciiDenyList::STD3, Hyphens::CheckFirstLast, DnsLength::Verify)
            .is_ok()
}

fn is_strict_label(label: &str) -> bool {
    let unicode: Cow<'_, str> = if has_ace_prefix(label) {
        match punycode::decode_to_string(&label[4..]) {
            Some(decoded) => decoded.into(),
            None => return false,
        }
    } else if label.is_ascii() {
        return true;
    } else {
        let lower = label.to_ascii_lowercase();
        let (mapped, _) = Uts46::new().to_unicode(label.as_bytes(), AsciiDenyList::STD3, Hyphens::Allow);
        if mapped != lower {
            return false;
        }
        lower.into()
    };
    let characters: Vec<char> = unicode.chars().collect();
    characters.get(2..4) != Some(&['-', '-'])
        && (0..characters.len()).all(|at| is_allowed(&characters, at))
        && !mixes_arabic_digits(&characters)
}

/// RFC 5892 section 3, with the exceptions of 2.6 and the contextual rules of appendix A. Joiners (A.1, A.2) and
/// combining marks at the start are the crate's business.
fn is_allowed(label: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| label[before]);
    let after = label.get(at + 1).copied();
    match label[at] {
        // LDH, then PVALID by exception, then joiners.
        '-'
        | '0'..='9'
        | 'a'..='z'
        | 'A'..='Z'
        | '\u{DF}'
        | '\u{3C2}'
        | '\u{6FD}'
        | '\u{6FE}'
        | '\u{F0B}'
        | '\u{3007}'
        | '\u{200C}'
        | '\u{200D}' => true,
        // DISALLOWED by exception, then conjoining Jamo (section 2.9).
        '\u{640}'
        | '\u{7FA}'
        | '\u{302E}'
        | '\u{302F}'
        | '\u{3031}'..='\u{3035}'
        | '\u{303B}'
        | '\u{1100}'..='\u{11FF}'
        | '\u{A960}'..='\u{A97F}'
        | '\u{D7B0}'..='\u{D7FF}' => false,
        '\u{B7}' => before == Some('l') && after == Some('l'),
        '\u{375}' => after.is_some_and(is_greek),
        '\u{5F3}' | '\u{5F4}' => before.is_some_and(is_hebrew),
        '\u{30FB}' => label.iter().any(|&c| is_kana_or_han(c)),
        c => matches!(
            get_general_category(c),
            GeneralCategory::LowercaseLetter
                | GeneralCategory::UppercaseLetter
                | GeneralCategory::OtherLetter
                | GeneralCategory::DecimalNumber
                | GeneralCategory::ModifierLetter
                | GeneralCategory::NonspacingMark
                | GeneralCategory::SpacingMark
        ),
    }
}

/// RFC 5892 A.8 and A.9.
fn mixes_arabic_digits(label: &[char]) -> bool {
    label.iter().any(|c| matches!(c, '\u{660}'..='\u{669}'))
        && label.iter().any(|c| matches!(c, '\u{6F0}'..='\u{6F9}'))
}

// The scripts below are Unicode's Scripts.txt, without code points that no label may hold anyway.

fn is_greek(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{373}' | '\u{376}'..='\u{377}' | '\u{37B}'..='\u{37D}' | '\u{37F}' | '\u{386}'
        | '\u{388}'..='\u{3E1}' | '\u{3F0}'..='\u{3FF}' | '\u{1D26}'..='\u{1D2A}' | '\u{1F00}'..='\u{1FFE}' | '\u{AB65}')
}

fn is_hebrew(c: char) -> bool {
    matches!(c, '\u{591}'..='\u{5F4}' | '\u{FB1D}'..='\u{FB4F}')
}

fn is_kana_or_han(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{3096}' | '\u{309D}'..='\u{309F}' | '\u{30A1}'..='\u{30FA}' | '\u{30FD}'..='\u{30FF}'
        | '\u{31F0}'..='\u{31FF}' | '\u{1AFF0}'..='\u{1B167}' | '\u{3005}' | '\u{3007}' | '\u{3021}'..='\u{3029}'
        | '\u{3038}'..='\u{303A}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAD9}'
        | '\u{20000}'..='\u{3FFFD}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contextual_rules() {
        for good in ["l·l", "α͵β", "א׳ב", "・ぁ", "・丈", "ب٠ب", "۰0", "क्\u{200d}ष"] {
            assert!(is_domain(good), "{good}");
        }
        for bad in
            ["a·l", "l·", "α͵s", "א.׳ב", "def・abc", "ب٠۰", "क\u{200d}ष", "क्\u{200c}षx\u{200c}y", "xn--7a"]
        {
            assert!(!is_domain(bad), "{bad}");
        }
    }

    #[test]
    fn punycode_must_be_the_canonical_one() {
        for bad in ["xn--example-", "xn---9uc", "xn--X", "xn--"] {
            assert!(!is_domain(bad), "{bad}");
        }
        assert!(is_domain("xn--ihqwcrb4cv8a8dqg056pqjye"));
    }
}
