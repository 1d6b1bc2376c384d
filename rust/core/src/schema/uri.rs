//! URI references: resolution against a base (RFC 3986 section 5) and percent-decoding of fragments.

/// Splits a URI reference at its fragment; the fragment is without `#`.
pub fn split_fragment(uri: &str) -> (&str, &str) {
    uri.split_once('#').unwrap_or((uri, ""))
}

struct Parts<'u> {
    scheme: Option<&'u str>,
    authority: Option<&'u str>,
    path: &'u str,
    query: Option<&'u str>,
}

fn parts(uri: &str) -> Parts<'_> {
    let (rest, query) = match uri.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (uri, None),
    };
    let scheme_end = rest.find([':', '/']).filter(|at| {
        *at > 0
            && rest.as_bytes()[*at] == b':'
            && rest.as_bytes()[0].is_ascii_alphabetic()
            && rest[..*at].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    let (scheme, rest) = match scheme_end {
        Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
        None => (None, rest),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            (Some(&rest[..end]), &rest[end..])
        }
        None => (None, rest),
    };
    Parts { scheme, authority, path, query }
}

fn without_dot_segments(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let absolute = path.starts_with('/');
    let mut directory = false;
    for segment in path.strip_prefix('/').unwrap_or(path).split('/') {
        directory = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    let mut out = String::with_capacity(path.len());
    if absolute {
        out.push('/');
    }
    out.push_str(&kept.join("/"));
    if directory && !out.ends_with('/') && !kept.is_empty() {
        out.push('/');
    }
    out
}

/// Resolves a reference without fragment against a base without fragment, which is absolute, relative or empty.
pub fn resolve(base: &str, reference: &str) -> String {
    if reference.is_empty() {
        return base.to_owned();
    }
    let reference_parts = parts(reference);
    if reference_parts.scheme.is_some() && !reference_parts.path.starts_with('/') {
        return reference.to_owned(); // a URN: its path has no segments
    }
    let base_parts = parts(if reference_parts.scheme.is_some() { "" } else { base });
    let mut out = String::with_capacity(base.len() + reference.len());
    if let Some(scheme) = reference_parts.scheme.or(base_parts.scheme) {
        out.push_str(scheme);
        out.push(':');
    }
    let authority = reference_parts.authority.or(base_parts.authority);
    if let Some(authority) = authority {
        out.push_str("//");
        out.push_str(authority);
    }
    let mut query = reference_parts.query;
    if reference_parts.authority.is_some() || reference_parts.path.starts_with('/') {
        out.push_str(&without_dot_segments(reference_parts.path));
    } else if reference_parts.path.is_empty() {
        out.push_str(base_parts.path);
        query = query.or(base_parts.query);
    } else {
        let directory = base_parts.path.rfind('/').map_or("", |at| &base_parts.path[..=at]);
        let directory = if directory.is_empty() && authority.is_some() { "/" } else { directory };
        out.push_str(&without_dot_segments(&format!("{directory}{}", reference_parts.path)));
    }
    if let Some(query) = query {
        out.push('?');
        out.push_str(query);
    }
    out
}

/// Decodes `%XX`; bytes that are no UTF-8 are replaced.
pub fn percent_decoded(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains('%') {
        return text.into();
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        if let Some(byte) = escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned().into()
}

/// Splits a JSON Pointer into its tokens, unescaped (RFC 6901).
pub fn pointer_tokens(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"))
}

/// The array index that a token is: digits without a leading zero (RFC 6901 section 4).
pub fn array_index(token: &str) -> Option<usize> {
    let is_index =
        token.bytes().all(|byte| byte.is_ascii_digit()) && (token.len() == 1 || !token.starts_with('0'));
    is_index.then(|| token.parse().ok()).flatten()
}

/// Appends a token to a JSON Pointer.
pub fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_resolve() {
        for (base, reference, expected) in [
            ("http://a/b/c/d;p?q", "g", "http://a/b/c/g"),
            ("http://a/b/c/d;p?q", "./g/", "http://a/b/c/g/"),
            ("http://a/b/c/d;p?q", "/g", "http://a/g"),
            ("http://a/b/c/d;p?q", "//g", "http://g"),
            ("http://a/b/c/d;p?q", "../../../g", "http://a/g"),
            ("http://a/b/c/d;p?q", "..", "http://a/b/"),
            ("http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y"),
            ("http://a/b/c/d;p?q", "", "http://a/b/c/d;p?q"),
            ("http://a", "g", "http://a/g"),
            ("http://a/b", "urn:x:y", "urn:x:y"),
            ("http://a/b", "http://a/c/../d", "http://a/d"),
            ("http://a/b", "urn:x/../y", "urn:x/../y"),
            ("", "http://a/./d?x/../y", "http://a/d?x/../y"),
            ("", "http://a", "http://a"),
            ("", "item", "item"),
            ("", "./item", "item"),
            ("", "/item", "/item"),
            ("dir/item", "./other", "dir/other"),
            ("dir/item", "../other", "other"),
            ("", "", ""),
        ] {
            assert_eq!(resolve(base, reference), expected, "{reference} at {base}");
        }
    }

    #[test]
    fn array_indices_are_plain_digits() {
        assert_eq!(array_index("0"), Some(0));
        assert_eq!(array_index("10"), Some(10));
        for bad in ["", "-", "00", "01", "+1", "-1", " 1", "1 ", "\u{661}", "99999999999999999999999"] {
            assert_eq!(array_index(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn fragments_decode() {
        assert_eq!(percent_decoded("/a%25b%22"), "/a%b\"");
        assert_eq!(pointer_tokens("/a~1b/~01/").collect::<Vec<_>>(), ["a/b", "~1", ""]);
    }
}
