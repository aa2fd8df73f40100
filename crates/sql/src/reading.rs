//! How a text is read: what the settings of a session and the version of its server decide about quotes and comments.
//!
//! In: a text and its dialect. Out: all [`Reading`]s that a server may have of it. Limits: which settings a session had is in no log, so
//! a text that is judged is judged by each of them.

use crate::lexer::{Unclosed, lex};

/// Whose SQL it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Of MySQL or MariaDB.
    Mysql,
    Postgres,
    /// Of a plan, whose statements are for servers of any kind: names in `"` and `` ` ``, `--` with a blank behind it, no `#`.
    Any,
}

impl Dialect {
    /// Whether both are the same name to the server. MySQL's tables may differ in capitals only, which nobody wants.
    pub fn is_same_name(self, one: &str, other: &str) -> bool {
        one == other || self != Dialect::Postgres && one.eq_ignore_ascii_case(other)
    }
}

/// How a text is split into tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Whose SQL it is.
    pub dialect: Dialect,
    /// Whether a backslash escapes in plain quotes: not with MySQL's `NO_BACKSLASH_ESCAPES`, and in PostgreSQL only with
    /// `standard_conforming_strings = off`.
    pub backslash_escapes: bool,
    /// Which executable comments are code, the first as the lowest bit. Those behind the eighth are as the eighth.
    pub executed: u8,
}

/// Of more executable comments than this it is not tried which of them a version performs.
const EXECUTABLE_MAX: u32 = 4;

impl Reading {
    /// What a server reads whose settings are those that it comes with; executable comments are code.
    pub fn usual(dialect: Dialect) -> Reading {
        Reading { dialect, backslash_escapes: dialect == Dialect::Mysql, executed: u8::MAX }
    }

    /// Each reading that a server may have of `text`; `None` if there are too many.
    ///
    /// # Errors
    /// If a quote or a comment is not closed.
    pub(crate) fn all_of(text: &str, dialect: Dialect) -> Result<Option<Vec<Reading>>, Unclosed> {
        let usual = Reading::usual(dialect);
        let comments = lex(text, usual)?.executable_comments;
        if comments > EXECUTABLE_MAX {
            return Ok(None);
        }
        let subsets = (0..1u8 << comments).rev();
        let escapes: &[bool] = if text.contains('\\') { &[true, false] } else { &[usual.backslash_escapes] };
        let of =
            |executed| escapes.iter().map(move |escapes| Reading { dialect, backslash_escapes: *escapes, executed });
        Ok(Some(subsets.flat_map(of).collect()))
    }
}
