//! The statements of a packet capture as a recording.
//!
//! In: a capture, as pcap or pcapng. Out: a [`SqlRecording`] of the server whose statements come first. Limits: those of [`capture`].

use super::recording::{FoundStatement, RecordedServer, RecordingBuilder, SqlRecording};
use super::wanted::{LogDialect, LogWanted};
use crate::recording_error::RecordingError;
use capture::{CaptureEvent, CapturedStatement, Dialect, Values};
use std::io::Read;
use std::ops::ControlFlow;

pub(super) fn read(reader: impl Read + Send, wanted: &LogWanted) -> Result<(LogDialect, SqlRecording), RecordingError> {
    let mut found: Option<Found> = None;
    let mut failed = None;
    let summary = capture::read_capture(reader, |event| {
        let taken = match event {
            CaptureEvent::Statement(statement) => {
                found.get_or_insert_with(|| Found::new(dialect_of(&statement), wanted)).take(&statement)
            }
            CaptureEvent::SessionEnded { session, .. } => {
                found.iter_mut().for_each(|found| found.builder.end_session(&session.to_string()));
                Ok(())
            }
        };
        failed = taken.err();
        if failed.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let summary = summary.map_err(|error| RecordingError::of_file(error.to_string()))?;
    if let Some(error) = failed {
        return Err(error);
    }
    let Some(Found { mut builder, dialect, .. }) = found else {
        let skipped = summary.skipped.sentences().join("; ");
        let skipped = if skipped.is_empty() { String::new() } else { format!(": {skipped}") };
        return Err(RecordingError::of_file(format!("the capture has no statement{skipped}")));
    };
    if let Some((version, address)) = summary.server {
        builder.set_server(RecordedServer { version, port: Some(address.port()), socket: None });
    }
    summary.skipped.counts().for_each(|(count, what, _)| builder.skip_many(what, count));
    Ok((dialect, builder.finish(false)?))
}

fn dialect_of(statement: &CapturedStatement) -> LogDialect {
    match statement.dialect {
        Dialect::Mysql => LogDialect::Mysql,
        Dialect::Postgres => LogDialect::Postgres,
    }
}

struct Found {
    builder: RecordingBuilder,
    dialect: LogDialect,
    count: u64,
}

impl Found {
    fn new(dialect: LogDialect, wanted: &LogWanted) -> Found {
        Found { builder: RecordingBuilder::new(dialect, wanted), dialect, count: 0 }
    }

    fn take(&mut self, statement: &CapturedStatement) -> Result<(), RecordingError> {
        self.count += 1;
        if dialect_of(statement) != self.dialect {
            self.builder.skip("statement of another kind of server", self.count);
            return Ok(());
        }
        let Some(text) = self.bound(statement) else {
            self.builder.count_unbound();
            return Ok(());
        };
        let (session, began_us) = (statement.session.to_string(), statement.began_us);
        let schema = statement.schema.as_str();
        let text = text.as_str();
        self.builder.add(&FoundStatement {
            line: self.count,
            began_us,
            took_us: None,
            session: &session,
            schema,
            text,
        })?;
        if let Some(took_us) = statement.took_us {
            self.builder.end_last_of(&session, began_us.saturating_add_unsigned(took_us));
        }
        Ok(())
    }

    /// The text with its values; `None` if they are not known.
    fn bound(&self, statement: &CapturedStatement) -> Option<String> {
        match &statement.values {
            Values::Known(values) if values.is_empty() => Some(statement.text.clone()),
            Values::Known(values) => sql::with_values(&statement.text, self.dialect.sql(), values).ok()?,
            Values::Unknown(_) => None,
        }
    }
}
