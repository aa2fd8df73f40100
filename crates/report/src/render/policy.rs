//! The content security policy of a page: only what is inside of the file, and of that only the style and script that were written into it.
//!
//! In: the texts of style and script. Out: the value of the meta element. Limits: attributes with style or event handlers are not
//! admitted, so no page may have any.

use sha2::{Digest, Sha256};

/// Nothing may be loaded but pictures in data URLs, which the script makes of charts; style and script are admitted by their hashes.
pub fn content_policy(style: &str, script: &str) -> String {
    let [style, script] = [style, script].map(|text| base64(&Sha256::digest(text.as_bytes())));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; img-src data:; base-uri 'none'; \
         form-action 'none'"
    )
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |part: &[u8]| {
        let bits = part.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
        let letter = |nth: usize| {
            if nth <= part.len() { char::from(LETTERS[(bits >> (18 - 6 * nth)) as usize & 63]) } else { '=' }
        };
        (0..4).map(letter).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_admitted_by_their_hashes() {
        // FIPS 180-4's example `abc`, and the hash of nothing.
        let policy = content_policy("abc", "");
        assert!(policy.contains("style-src 'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=';"), "{policy}");
        assert!(policy.contains("script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=';"), "{policy}");
        assert!(!policy.contains("unsafe"));
    }

    #[test]
    fn base64_pads_what_does_not_fill_a_group() {
        assert_eq!(["f", "fo", "foo"].map(|text| base64(text.as_bytes())), ["Zg==", "Zm8=", "Zm9v"]);
    }
}
