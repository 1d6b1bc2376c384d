//! `uuid`: the text form of RFC 4122 section 3 (RFC 9562 section 4), of any version and variant.

/// Whether `text` is 8-4-4-4-12 hexadecimal digits in either case.
pub(super) fn is_uuid(text: &str) -> bool {
    let Ok(bytes) = <&[u8; 36]>::try_from(text.as_bytes()) else { return false };
    // No early way out: most texts are good, and a loop without one runs on many bytes at a time.
    let is_hexadecimal =
        |digits: &[u8]| digits.iter().fold(true, |good, byte| good & byte.is_ascii_hexdigit());
    [bytes[8], bytes[13], bytes[18], bytes[23]] == [b'-'; 4]
        && is_hexadecimal(&bytes[..8])
        && is_hexadecimal(&bytes[9..13])
        && is_hexadecimal(&bytes[14..18])
        && is_hexadecimal(&bytes[19..23])
        && is_hexadecimal(&bytes[24..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_stand_at_their_places() {
        assert!(is_uuid("2eb8aa08-AA98-11ea-B4Aa-73B441D16380"));
        assert!(!is_uuid("2eb8aa08aa98-11ea-b4aa-73b441d16380-"));
        assert!(!is_uuid("urn:uuid:2eb8aa08-aa98-11ea-b4aa-73b441d16380"));
        assert!(!is_uuid("2eb8aa08-aa98-11ea-b4aa-73b441d1638g"));
    }
}
