//! Data on stdout, everything else on stderr.
//!
//! In: finished text or JSON. Out: stdout and stderr. Limits: a reader that has closed the pipe (`| head`) ends the output,
//! not the program.

pub mod json;
pub mod label;
pub mod progress;

use std::io::{ErrorKind, Write};
use std::sync::OnceLock;

/// Why stdout could not be written to.
static BROKEN: OnceLock<String> = OnceLock::new();

/// Prints `text` as it is.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => drop(BROKEN.set(error.to_string())),
        _ => {}
    }
}

/// Why the output is not whole, where it is not.
pub fn broken() -> Option<&'static str> {
    BROKEN.get().map(String::as_str)
}

/// Says `text` on stderr, as a line of its own.
pub fn say(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
