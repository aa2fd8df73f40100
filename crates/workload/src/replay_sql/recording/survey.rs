//! What a recording holds, for people: its rate over time, how many sessions were open, its transactions, and the tables that it uses most.
//!
//! In: a recording. Out: a [`RecordingSurvey`]. Limits: tables are the names behind FROM, JOIN, INTO and UPDATE, so that a name that WITH makes
//! counts as one; statements beyond the shapes that are distinguished count for none.

use super::SqlRecording;
use super::records::Record;
use super::shapes::SHAPES_MAX;
use crate::recording_error::RecordingError;
use crate::replay_sql::spill::lost;
use model::Nanos;
use sql::{Dialect, Token, TransactionStep};
use std::collections::{BTreeMap, HashSet};
use std::io;

/// What a recording holds.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingSurvey {
    /// Equal stretches of its time, one after the other.
    pub stretches: Vec<SurveyedStretch>,
    /// How many sessions were open on average, from the first of their statements to the end of the last.
    pub mean_at_once: f64,
    /// Statements that begin a transaction.
    pub transactions: u64,
    /// The tables with how many statements name each, the most used first.
    pub tables: Vec<UsedTable>,
}

/// One stretch of the time of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SurveyedStretch {
    /// When it begins, after the first statement.
    pub begin: Nanos,
    /// How long it is.
    pub length: Nanos,
    /// The statements that are due in it.
    pub statements: u64,
}

/// A table with the statements that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedTable {
    /// Its name, as statements write it.
    pub name: String,
    pub reads: u64,
    pub writes: u64,
}

/// What a log does not say the schema of, though it is needed: its beginning was missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WithoutSchema {
    /// Statements that name tables without a schema.
    pub statements: u64,
    /// Their sessions.
    pub sessions: usize,
}

impl SqlRecording {
    /// The statements that need the schema of their session, of which the log does not say it.
    ///
    /// # Errors
    /// If the file that it is kept in cannot be read.
    pub fn without_schema(&self, dialect: Dialect) -> io::Result<WithoutSchema> {
        let Some(none) = self.schemas.iter().position(String::is_empty) else { return Ok(WithoutSchema::default()) };
        let needs_one = |sample: &Record| -> io::Result<bool> {
            let text = self.text(&self.statement_of(*sample))?;
            let tokens = sql::tokens(&text, dialect).unwrap_or_default();
            Ok(tables_in(&text, &tokens).iter().any(|name| !name.contains('.') && !name.eq_ignore_ascii_case("dual")))
        };
        let shapes = self.samples.iter().map(needs_one).collect::<io::Result<Vec<bool>>>()?;
        let (mut statements, mut sessions) = (0, HashSet::new());
        for record in self.records.iter() {
            let record = record?;
            if record.schema as usize == none && shapes.get(record.shape as usize) == Some(&true) {
                statements += 1;
                sessions.insert(record.session);
            }
        }
        Ok(WithoutSchema { statements, sessions: sessions.len() })
    }

    /// What it holds, with its rate in so `many` stretches.
    ///
    /// # Errors
    /// If the file that it is kept in cannot be read.
    pub fn survey(&self, dialect: Dialect, many: u32) -> Result<RecordingSurvey, RecordingError> {
        let length = Nanos(self.length.0.div_ceil(u64::from(many.max(1))).max(1));
        let stretch = |nth: u64| SurveyedStretch { begin: Nanos(nth * length.0), length, statements: 0 };
        let mut stretches: Vec<SurveyedStretch> = (0..=self.length.0 / length.0).map(stretch).collect();
        let mut counts = vec![0u64; self.samples.len()];
        for record in self.records.iter() {
            let record = record.map_err(|error| lost(&error))?;
            let due = self.statement_of(record).due;
            stretches[(due.0 / length.0) as usize].statements += 1;
            if (record.shape as usize) < SHAPES_MAX {
                counts[record.shape as usize] += 1;
            }
        }
        let open: u64 = self.spans.iter().map(|span| span.end.0.saturating_sub(span.begin.0)).sum();
        let mean_at_once = open as f64 / self.length.0.max(1) as f64;
        let (transactions, tables) = self.used(dialect, &counts)?;
        Ok(RecordingSurvey { stretches, mean_at_once, transactions, tables })
    }

    /// How many statements begin a transaction, and the tables that statements name.
    fn used(&self, dialect: Dialect, counts: &[u64]) -> Result<(u64, Vec<UsedTable>), RecordingError> {
        let mut transactions = 0;
        let mut tables: BTreeMap<String, UsedTable> = BTreeMap::new();
        for (sample, count) in self.samples.iter().zip(counts).filter(|(_, count)| **count > 0) {
            let text = self.text(&self.statement_of(*sample)).map_err(|error| lost(&error))?;
            let Ok(tokens) = sql::tokens(&text, dialect) else { continue };
            let Some(first) = tokens.first() else { continue };
            let begins = TransactionStep::of(&text, &tokens) == TransactionStep::Begins;
            transactions += if begins { *count } else { 0 };
            let writes = first.is_word(&text, &["insert", "update", "delete", "replace", "merge", "truncate"]);
            for name in tables_in(&text, &tokens) {
                let table = tables.entry(name.clone()).or_insert_with(|| UsedTable { name, reads: 0, writes: 0 });
                *if writes { &mut table.writes } else { &mut table.reads } += count;
            }
        }
        let mut tables: Vec<UsedTable> = tables.into_values().collect();
        tables.sort_by_key(|table| std::cmp::Reverse(table.reads + table.writes));
        Ok((transactions, tables))
    }
}

/// The names of tables in a statement, each once.
pub fn tables_in(text: &str, tokens: &[Token]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (at, _) in
        tokens.iter().enumerate().filter(|(_, token)| token.is_word(text, &["from", "join", "into", "update"]))
    {
        let name = |at: usize| tokens.get(at).and_then(|token: &Token| token.name(text));
        let Some(mut name_of) = name(at + 1) else { continue };
        let is_dot = tokens.get(at + 2).is_some_and(|token| token.is_sign(text, "."));
        if let Some(behind) = name(at + 3).filter(|_| is_dot) {
            name_of = format!("{name_of}.{behind}");
        }
        // `FOR UPDATE OF t`, `extract(year FROM day)`: what is no table there is a word of SQL, or looks like one.
        let is_word = tokens[at + 1].is_word(text, &["select", "of", "nowait", "skip", "set", "lateral", "only"]);
        if !is_word && !names.contains(&name_of) {
            names.push(name_of);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay_sql::log_taker::{FoundStatement, LogTaker};
    use crate::replay_sql::recording::RecordingBuilder;
    use crate::replay_sql::{LogDialect, LogWanted};

    #[test]
    fn statements_whose_sessions_began_before_the_log_need_a_schema_if_they_name_a_table_without_one() {
        let mut builder = RecordingBuilder::new(LogDialect::Mysql, &LogWanted::default());
        for (session, schema, text) in [
            ("a", "", "SELECT c FROM t WHERE id = 1"),
            ("a", "", "SELECT c FROM shop.t WHERE id = 1"),
            ("b", "", "SELECT c FROM t WHERE id = 2"),
            ("b", "", "SELECT 1 FROM dual"),
            ("b", "", "SELECT 1"),
            ("c", "shop", "SELECT c FROM t WHERE id = 3"),
        ] {
            builder.add(&FoundStatement { session, schema, text, ..FoundStatement::default() }).unwrap();
        }
        let found = builder.finish(false).unwrap().without_schema(Dialect::Mysql).unwrap();
        assert_eq!(found, WithoutSchema { statements: 2, sessions: 2 });
    }

    #[test]
    fn a_survey_has_rates_sessions_transactions_and_tables() {
        let mut builder = RecordingBuilder::new(LogDialect::Mysql, &LogWanted { writes: true, ..LogWanted::default() });
        let statements = [
            (0, "a", "BEGIN"),
            (1, "a", "SELECT c FROM shop.t JOIN `u` ON t.id = u.id WHERE t.id = 1 FOR UPDATE"),
            (2, "a", "UPDATE t SET c = 1"),
            (3, "b", "INSERT INTO t VALUES (1)"),
            (9, "b", "SELECT 1"),
            (10, "a", "COMMIT"),
        ];
        for (second, session, text) in statements {
            let (line, began_us) = (1, second * 1_000_000);
            builder.add(&FoundStatement { line, began_us, session, text, ..FoundStatement::default() }).unwrap();
        }
        let survey = builder.finish(false).unwrap().survey(Dialect::Mysql, 2).unwrap();
        let counts: Vec<u64> = survey.stretches.iter().map(|stretch| stretch.statements).collect();
        assert_eq!((counts, survey.transactions), (vec![4, 1, 1], 1));
        assert!((survey.mean_at_once - 1.6).abs() < 1e-9, "{}", survey.mean_at_once);
        let tables: Vec<(&str, u64, u64)> =
            survey.tables.iter().map(|table| (table.name.as_str(), table.reads, table.writes)).collect();
        assert_eq!(tables, [("t", 0, 2), ("shop.t", 1, 0), ("u", 1, 0)]);
    }
}
