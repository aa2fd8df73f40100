//! Prints the statements of a capture, one a line: `cargo run --release -p capture --example statements < FILE`.

use capture::{CaptureEvent, Values, read_capture};
use std::io::{BufWriter, Write as _};
use std::ops::ControlFlow;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut result = Ok(());
    let summary = read_capture(std::io::stdin(), |event| {
        result = match event {
            CaptureEvent::Statement(s) => {
                let values = match s.values {
                    Values::Known(values) => format!("{values:?}"),
                    Values::Unknown(reason) => format!("{reason:?}"),
                };
                let took = s.took_us.map_or("-".to_owned(), |us| us.to_string());
                let failed = if s.failed { "failed" } else { "done" };
                let (at, session, schema, text) = (s.began_us, s.session.number, s.schema, s.text);
                writeln!(out, "{at}\t{took}\t{session}\t{schema}\t{failed}\t{text:?}\t{values}")
            }
            CaptureEvent::SessionEnded { session, at_us } => writeln!(out, "{at_us}\tend\t{}", session.number),
        };
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    result?;
    out.flush()?;
    eprintln!("{summary:#?}");
    summary.skipped.sentences().iter().for_each(|sentence| eprintln!("{sentence}"));
    Ok(())
}
