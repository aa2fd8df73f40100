//! Data on stdout, everything else on stderr.
//!
//! In: finished text or JSON. Out: stdout and stderr. Limits: a reader that has closed the pipe (`| head`) ends the output,
//! not the program.

pub mod json;

use std::io::Write;

/// Prints `text` as it is.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Says `text` on stderr, as a line of its own.
pub fn say(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
