//! The key of a run: whoever has it may give orders, and is believed.
//!
//! In: a file that is closed to others, or the environment. Out: authenticators of payloads (HMAC-SHA-256, RFC 2104), and their check.
//! Limits: one key for all hosts of a run; whoever has it can also be any of them. It is never shown and never sent.

use crate::BusError;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The variable with the key, if no file is named.
const VARIABLE: &str = "PLIMSOLL_BUS_KEY";
/// The shortest key, in bytes: shorter ones can be tried out.
const BYTES_MIN: usize = 16;
/// The longest key, in bytes.
const BYTES_MAX: usize = 4096;
/// The length of an authenticator, in bytes.
pub(crate) const TAG_BYTES: usize = 32;
/// Keeps these authenticators apart from others that are made with the same key.
const DOMAIN: &[u8] = b"plimsoll bus 1";

/// The key of a run.
#[derive(Clone)]
pub struct RunSecret(Hmac<Sha256>);

impl fmt::Debug for RunSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunSecret")
    }
}

impl RunSecret {
    /// The key in `file`, or in PLIMSOLL_BUS_KEY if there is no file.
    ///
    /// # Errors
    /// If there is none, or if it is too short, or if others may read the file.
    pub fn read(file: Option<&Path>) -> Result<RunSecret, BusError> {
        let (bytes, place) = match file {
            Some(path) => (read_closed(path, "the key of the bus")?, format!("`{}`", path.display())),
            None => (std::env::var(VARIABLE).unwrap_or_default().into_bytes(), VARIABLE.to_owned()),
        };
        let key = bytes.trim_ascii();
        match key.len() {
            0 if file.is_none() => Err(BusError::Usage(format!(
                "the hosts of a run need a key in common: make a file by `head -c 32 /dev/urandom | base64 > bus.key; chmod 600 bus.key`, \
                 copy it to each host, and name it with --bus-key-file (or set {VARIABLE})"
            ))),
            BYTES_MIN.. => Ok(RunSecret::new(key)),
            short => Err(BusError::Usage(format!(
                "the key in {place} has {short} bytes; use at least {BYTES_MIN}, for example of `head -c 32 /dev/urandom | base64`"
            ))),
        }
    }

    /// A key of these bytes.
    pub fn new(key: &[u8]) -> RunSecret {
        model::close_own_memory();
        RunSecret(Hmac::new_from_slice(key).expect("HMAC takes a key of any length"))
    }

    /// `payload` with its authenticator in front, for entry `number` of the stream or the value `key`.
    pub(crate) fn seal(&self, key: &str, number: u64, payload: &[u8]) -> Vec<u8> {
        let tag = self.over(key, number, payload).finalize().into_bytes();
        [&tag[..], payload].concat()
    }

    /// The payload of what [`RunSecret::seal`] made for the same place; `None` if it was made with another key, for another place, or
    /// changed.
    pub(crate) fn open<'a>(&self, key: &str, number: u64, sealed: &'a [u8]) -> Option<&'a [u8]> {
        let (tag, payload) = sealed.split_at_checked(TAG_BYTES)?;
        self.over(key, number, payload).verify_slice(tag).ok().map(|()| payload)
    }

    fn over(&self, key: &str, number: u64, payload: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(DOMAIN);
        // The length keeps the key apart from what follows.
        mac.update(&(key.len() as u64).to_be_bytes());
        mac.update(key.as_bytes());
        mac.update(&number.to_be_bytes());
        mac.update(payload);
        mac
    }
}

/// What is in the file `path`, which must be closed to others. `what` names it for people.
pub(crate) fn read_closed(path: &Path, what: &str) -> Result<Vec<u8>, BusError> {
    let shown = path.display();
    let cannot = |error: std::io::Error| {
        BusError::Usage(format!("cannot read {what} from `{shown}`: {}", model::system_words(&error)))
    };
    let file = model::open_regular(path).map_err(cannot)?;
    let meta = file.metadata().map_err(cannot)?;
    if model::is_open_to_others(meta.uid(), meta.mode()) {
        return Err(BusError::Usage(format!("others may read `{shown}`, which has {what}; use `chmod 600 {shown}`")));
    }
    model::close_own_memory();
    let mut bytes = Vec::new();
    file.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(cannot)?;
    match bytes.len() {
        0..=BYTES_MAX => Ok(bytes),
        _ => Err(BusError::Usage(format!(
            "`{shown}` is longer than {BYTES_MAX} bytes; it must have {what} and nothing else"
        ))),
    }
}

/// 32 hexadecimal digits that no other process has.
pub fn random_id() -> String {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).expect("the kernel of Linux has random bytes");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_payload_is_believed_at_its_own_place_only() {
        let (ours, other) = (RunSecret::new(b"0123456789abcdef"), RunSecret::new(b"0123456789abcdeF"));
        let sealed = ours.seal("plimsoll:main:ctl", 7, b"go");
        assert_eq!(ours.open("plimsoll:main:ctl", 7, &sealed), Some(&b"go"[..]));
        assert_eq!(other.open("plimsoll:main:ctl", 7, &sealed), None);
        assert_eq!(ours.open("plimsoll:main:ctl", 8, &sealed), None);
        assert_eq!(ours.open("plimsoll:other:ctl", 7, &sealed), None);
        let mut changed = sealed.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert_eq!(ours.open("plimsoll:main:ctl", 7, &changed), None);
        assert_eq!(ours.open("plimsoll:main:ctl", 7, &sealed[..20]), None);
    }

    #[test]
    fn a_key_comes_from_a_file_that_is_closed_to_others_and_long_enough() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bus.key");
        let read = |text: &str, mode: u32| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            RunSecret::read(Some(&path)).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(read("0123456789abcdef\n", 0o600), Ok(()));
        assert!(read("0123456789abcdef", 0o644).unwrap_err().contains("others may read"));
        assert!(read("0123456789\n\n\n\n\n\n\n", 0o600).unwrap_err().contains("has 10 bytes"));
        assert!(read(&"x".repeat(5000), 0o600).unwrap_err().contains("longer than 4096"));
    }

    #[test]
    fn two_ids_differ() {
        let (one, other) = (random_id(), random_id());
        assert_ne!(one, other);
        assert_eq!(one.len(), 32);
    }
}
