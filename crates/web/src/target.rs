//! The target of a request: its path and its query.
//!
//! In: the text after the method, such as `/run/a%20b?token=x`. Out: the decoded parts. Limits: the form `/path?query` only; a name is
//! bytes, because names of files need not be UTF-8.

/// A path and a query, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    /// The parts of the path between slashes; the empty ones are left out.
    pub segments: Vec<Vec<u8>>,
    /// Names and values, in their order.
    pub query: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Target {
    /// The parts of `text`; `None` if it is not of this form or cannot be decoded.
    pub fn parse(text: &str) -> Option<Target> {
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let parts = path.strip_prefix('/')?.split('/').filter(|part| !part.is_empty());
        let segments = parts.map(|part| decoded(part.as_bytes(), Plus::Itself)).collect::<Option<_>>()?;
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let query = pairs.map(decoded_pair).collect::<Option<_>>()?;
        Some(Target { segments, query })
    }
}

fn decoded_pair(pair: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    Some((decoded(name.as_bytes(), Plus::Space)?, decoded(value.as_bytes(), Plus::Space)?))
}

/// What a `+` means: forms write a space as one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plus {
    Itself,
    Space,
}

/// `text` with its `%41` decoded; `None` if a `%` has no two digits after it.
fn decoded(text: &[u8], plus: Plus) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        out.push(match byte {
            b'%' => hex_digit(*rest.next()?)? << 4 | hex_digit(*rest.next()?)?,
            b'+' if plus == Plus::Space => b' ',
            byte => *byte,
        });
    }
    Some(out)
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// The bytes of `text` with its `%41` decoded; `None` if a `%` has no two digits after it.
pub fn percent_decoded(text: &[u8]) -> Option<Vec<u8>> {
    decoded(text, Plus::Itself)
}

/// `name` as one part of a path: all bytes but letters, digits, `-`, `_`, `.` and `~` are encoded (RFC 3986, 2.3). The names `.` and `..`
/// are encoded whole, because a browser would leave them out.
pub fn percent_encoded(name: &[u8]) -> String {
    let is_dots = name == b"." || name == b"..";
    let mut out = String::with_capacity(name.len());
    for byte in name {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => out.push(char::from(*byte)),
            b'.' if !is_dots => out.push('.'),
            byte => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_its_parts_decoded() {
        let target = Target::parse("/run/a%20b+c/?q=x+y%26z&q=&flag").unwrap();
        assert_eq!(target.segments, [b"run".to_vec(), b"a b+c".to_vec()]);
        let pair = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        assert_eq!(target.query, [pair("q", "x y&z"), pair("q", ""), pair("flag", "")]);
        assert_eq!(Target::parse("/").unwrap(), Target::default());
    }

    #[test]
    fn what_is_not_of_this_form_is_none() {
        for text in ["", "run", "*", "http://a/b", "/%", "/%4", "/%zz", "/?a=%"] {
            assert_eq!(Target::parse(text), None, "{text}");
        }
    }

    #[test]
    fn any_name_comes_back_from_a_path() {
        for name in [&b"a b"[..], b"..", b".", b"%2e%2e/x", b"\xff\x00\n", "Z\u{fc}rich".as_bytes(), b"a.b~c"] {
            let encoded = percent_encoded(name);
            assert!(encoded.is_ascii() && !encoded.contains('/'), "{encoded}");
            assert_eq!(Target::parse(&format!("/{encoded}")).unwrap().segments, [name.to_vec()]);
        }
    }
}
