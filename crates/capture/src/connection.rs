//! What both protocols need from the connection that they are spoken on.

use crate::order::{Order, Ticket};
use crate::statement::{CapturedStatement, Dialect, Session, Skipped, UnknownValues, Values};

/// Where a session puts what it finds.
pub struct Found<'o> {
    pub order: &'o mut Order,
    pub skipped: &'o mut Skipped,
    pub session: Session,
    pub dialect: Dialect,
    /// The version in a server's greeting, if one was found.
    pub server_version: &'o mut Option<String>,
}

impl Found<'_> {
    /// Takes up a statement that begins; `None` if its text is not UTF-8.
    pub fn begin(&mut self, began_us: i64, schema: &str, text: &[u8], values: Values) -> Option<Ticket> {
        let Ok(text) = std::str::from_utf8(text) else {
            self.skipped.not_utf8_statements += 1;
            return None;
        };
        let (text, schema) = (text.to_owned(), schema.to_owned());
        let (session, dialect) = (self.session, self.dialect);
        let statement = CapturedStatement {
            began_us,
            took_us: None,
            session,
            dialect,
            schema,
            text,
            values,
            stays_prepared: false,
            failed: false,
            counts: None,
            made: None,
        };
        Some(self.order.begin(statement))
    }

    /// What values are, or that they are unknown, which is counted.
    pub fn counted(&mut self, values: Result<Vec<String>, UnknownValues>) -> Values {
        match values {
            Ok(values) => Values::Known(values),
            Err(reason) => {
                self.skipped.unknown_values += 1;
                Values::Unknown(reason)
            }
        }
    }
}

/// What a session says of its connection after each piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Going {
    /// More statements may follow.
    On,
    /// The rest is encrypted.
    Encrypted,
    /// The rest is compressed.
    Compressed,
}
