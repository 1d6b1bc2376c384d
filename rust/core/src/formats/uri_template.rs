//! `uri-template`: RFC 6570 section 2, with erratum 6937 (an apostrophe is a literal).

use super::uri::{is_iprivate, is_ucschar};

/// Whether `text` is a template of any level; the operators kept for extensions are part of the grammar.
pub(super) fn is_uri_template(text: &str) -> bool {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = match c {
            '{' => match rest[1..].split_once('}') {
                Some((expression, rest)) if is_expression(expression) => rest,
                _ => return false,
            },
            '%' => match rest.as_bytes() {
                [_, high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => &rest[3..],
                _ => return false,
            },
            _ if is_literal(c) => &rest[c.len_utf8()..],
            _ => return false,
        };
    }
    true
}

fn is_literal(c: char) -> bool {
    match c {
        '\0'..=' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}' | '\x7F' => false,
        _ => c.is_ascii() || is_ucschar(c) || is_iprivate(c),
    }
}

fn is_expression(text: &str) -> bool {
    text.strip_prefix(['+', '#', '.', '/', ';', '?', '&', '=', ',', '!', '@', '|'])
        .unwrap_or(text)
        .split(',')
        .all(is_variable)
}

fn is_variable(text: &str) -> bool {
    if let Some(name) = text.strip_suffix('*') {
        return is_name(name);
    }
    match text.split_once(':') {
        Some((name, length)) => is_name(name) && is_prefix_length(length.as_bytes()),
        None => is_name(text),
    }
}

/// 1 to 9999 without leading zeros.
fn is_prefix_length(text: &[u8]) -> bool {
    matches!(text, [b'1'..=b'9', rest @ ..] if rest.len() <= 3 && rest.iter().all(u8::is_ascii_digit))
}

fn is_name(text: &str) -> bool {
    text.split('.').all(|part| {
        let mut rest = part.as_bytes();
        while let [first, after @ ..] = rest {
            rest = match after {
                [high, low, after @ ..]
                    if *first == b'%' && high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
                {
                    after
                }
                _ if first.is_ascii_alphanumeric() || *first == b'_' => after,
                _ => return false,
            };
        }
        !part.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates() {
        for good in ["", "a/{b}", "{+a,b*,c:12}", "{a.b}", "{%41}", "a'b", "%41", "é"] {
            assert!(is_uri_template(good), "{good}");
        }
        for bad in [
            "{}",
            "{a",
            "a}",
            "{a,}",
            "{a..b}",
            "{a:0}",
            "{a:10000}",
            "%4",
            "a b",
            "{a*b}",
            "{a=b}",
            "\u{7f}",
        ] {
            assert!(!is_uri_template(bad), "{bad}");
        }
    }
}
