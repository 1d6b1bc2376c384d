//! `regex`: ECMA-262 section 22.2.1, as [`crate::schema::pattern`] reads it.

use crate::schema::pattern;

/// Whether `text` is a pattern by its syntax; nothing is built.
pub(super) fn is_regex(text: &str) -> bool {
    pattern::check_syntax(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_decides() {
        assert!(is_regex("(?<=a+)b"));
        assert!(!is_regex("^(abc]"));
        assert!(!is_regex("(?P<name>x)"));
    }
}
