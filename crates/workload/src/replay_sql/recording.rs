//! A recording of SQL statements: who sent what, and when.
//!
//! In: the lines of a log, from its reader. Out: a [`SqlRecording`]: statements with their times, in sessions, in kinds by their shapes,
//! and the lanes in which clients replay them. Limits: [`STATEMENTS_MAX`] statements and [`TEXT_BYTES_MAX`] bytes of text, all of them
//! in memory; the [`KINDS_MAX`] most frequent shapes are kinds of their own, and all others are one.

use super::renaming::with_schemas;
use super::skipped::Skipped;
use super::tokens::{StatementEffect, effect_of, fingerprint, split};
use super::{LogDialect, LogWanted};
use crate::recording_error::RecordingError;
use model::{Nanos, OpClass};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// The most statements that are replayed.
pub const STATEMENTS_MAX: usize = 20_000_000;
/// The most bytes that their texts have.
pub const TEXT_BYTES_MAX: usize = 2 << 30;
/// The most kinds by name. A table of more is not read.
pub const KINDS_MAX: usize = 50;
/// The kind of the rest.
pub const OTHERS: &str = "other";
const NAME_CHARS_MAX: usize = 72;

/// A statement as a reader has found it.
#[derive(Debug)]
pub struct FoundStatement<'a> {
    /// The number of its line, for messages.
    pub line: u64,
    /// When it began, in microseconds since 1970.
    pub began_us: i64,
    /// How long it took, if the log has that.
    pub took_us: Option<u64>,
    /// The session that sent it, in the log's own words.
    pub session: &'a str,
    /// The schema or database that names without one are in; empty for none.
    pub schema: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// What a log says of the server that wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedServer {
    /// Its version; empty if the log does not name it.
    pub version: String,
    /// The TCP port on which it listened.
    pub port: Option<u16>,
    /// The path of its socket.
    pub socket: Option<String>,
}

/// What was not replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Statements that change or lock data.
    pub writes: u64,
    /// Those that begin or end transactions, or set something.
    pub of_session: u64,
    /// Those that another line repeats with its values, and others that are none.
    pub repeated: u64,
    /// Those whose values the log does not have.
    pub unbound: u64,
}

impl LeftOut {
    /// All of them.
    pub fn total(self) -> u64 {
        self.writes + self.of_session + self.repeated + self.unbound
    }
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedStatement {
    /// When it began, after the first.
    pub due: Nanos,
    /// Its session.
    pub session: u32,
    /// The number of its schema; see [`SqlRecording::schema`].
    pub schema: u32,
    /// The number of its kind.
    pub kind: u8,
    text: Range<usize>,
}

/// A kind of statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementKind {
    /// Its shape, shortened.
    pub name: String,
    /// What its statements do.
    pub class: OpClass,
    /// How many there are.
    pub count: u64,
}

/// The statements of a log, in the order of their times.
#[derive(Debug, Default)]
pub struct SqlRecording {
    statements: Vec<RecordedStatement>,
    texts: String,
    schemas: Vec<String>,
    sessions: u32,
    /// When the last statement of each session ended, after the first began.
    session_ends: Vec<Nanos>,
    kinds: Vec<StatementKind>,
    /// What was left out.
    pub left_out: LeftOut,
    /// What of the log is no statement, or cannot be read.
    pub skipped: Skipped,
    /// The server.
    pub server: RecordedServer,
    /// Whether a client finishes one session before it begins the next, because transactions must not be torn.
    keeps_sessions_whole: bool,
    /// Whether the log has whole seconds only, over which its statements were spread.
    pub has_whole_seconds: bool,
}

/// Takes statements up one by one.
#[derive(Default)]
pub struct RecordingBuilder {
    made: SqlRecording,
    dialect: LogDialect,
    wanted: LogWanted,
    began_us: Vec<i64>,
    took_us: Vec<u64>,
    session_numbers: HashMap<String, u32>,
    /// The last statement of each session.
    last_of_session: Vec<usize>,
    schema_numbers: HashMap<String, u32>,
    shapes: HashMap<String, ShapeCount>,
    shape_of: Vec<u32>,
}

struct ShapeCount {
    number: u32,
    count: u64,
    writes: bool,
}

impl RecordingBuilder {
    /// A recording of what is `wanted` of a log in `dialect`.
    pub fn new(dialect: LogDialect, wanted: &LogWanted) -> RecordingBuilder {
        RecordingBuilder { dialect, wanted: wanted.clone(), ..RecordingBuilder::default() }
    }

    /// Takes up what the log says of its server. A log that goes on after a restart says it again: the last counts.
    pub fn set_server(&mut self, server: RecordedServer) {
        self.made.server = server;
    }

    /// Takes up one statement.
    ///
    /// # Errors
    /// If it cannot be split into words, or there are too many.
    pub fn add(&mut self, found: &FoundStatement<'_>) -> Result<(), RecordingError> {
        let text = found.text.trim().trim_end_matches(';').trim_end();
        let refused = || {
            RecordingError::at(
                found.line,
                format!("`{}` cannot be parsed: a quote or a comment is not closed", shown(text)),
            )
        };
        let effect = effect_of(text, self.dialect).ok_or_else(refused)?;
        let left_out = &mut self.made.left_out;
        match effect {
            StatementEffect::Repeated => left_out.repeated += 1,
            StatementEffect::Writes if !self.wanted.writes => left_out.writes += 1,
            StatementEffect::OfSession if !self.wanted.writes => left_out.of_session += 1,
            _ => return self.push(found, text, effect),
        }
        Ok(())
    }

    /// A statement whose values the log does not have.
    pub fn count_unbound(&mut self) {
        self.made.left_out.unbound += 1;
    }

    /// Counts what is no statement to replay, or cannot be read: its kind in a few words, and its line.
    pub fn skip(&mut self, kind: &str, line: u64) {
        self.made.skipped.add(kind, line);
    }

    /// A statement that is no load of its own: the log has it otherwise, too.
    pub fn count_repeated(&mut self) {
        self.made.left_out.repeated += 1;
    }

    /// The last statement of `session` ended at `end_us` and took `took_us`, as a line of its own says.
    pub fn end_last_of(&mut self, session: &str, end_us: i64, took_us: u64) {
        let Some(session) = self.session_numbers.get(session) else { return };
        let nth = self.last_of_session[*session as usize];
        if self.began_us[nth] <= end_us {
            self.took_us[nth] = took_us;
        }
    }

    fn push(&mut self, found: &FoundStatement<'_>, text: &str, effect: StatementEffect) -> Result<(), RecordingError> {
        let start = self.made.texts.len();
        if self.made.statements.len() >= STATEMENTS_MAX || start + text.len() > TEXT_BYTES_MAX {
            let text = format!("there are more than {STATEMENTS_MAX} statements, or 2 GiB of them; cut the log");
            return Err(RecordingError::at(found.line, text));
        }
        match self.renamed(text) {
            Some(renamed) => self.made.texts.push_str(&renamed),
            None => self.made.texts.push_str(text),
        }
        let shape = fingerprint(text, self.dialect).expect("it was split before");
        let next = self.shapes.len() as u32;
        let writes = effect == StatementEffect::Writes;
        let shape = self.shapes.entry(shape).or_insert(ShapeCount { number: next, count: 0, writes });
        shape.count += 1;
        self.shape_of.push(shape.number);
        let session = number_of(&mut self.session_numbers, found.session);
        if session as usize == self.last_of_session.len() {
            self.last_of_session.push(0);
        }
        self.last_of_session[session as usize] = self.made.statements.len();
        let schema = number_of(&mut self.schema_numbers, found.schema);
        if schema as usize == self.made.schemas.len() {
            self.made.schemas.push(found.schema.to_owned());
        }
        self.began_us.push(found.began_us);
        self.took_us.push(found.took_us.unwrap_or(0));
        let text = start..self.made.texts.len();
        self.made.statements.push(RecordedStatement { due: Nanos(0), session, schema, kind: 0, text });
        Ok(())
    }

    /// `text` with the names that schemas have on the copy; `None` if it stays as it is. A name with a dot behind it is no database of
    /// PostgreSQL, which has one for each connection.
    fn renamed(&self, text: &str) -> Option<String> {
        if self.wanted.renamed.is_empty() || self.dialect != LogDialect::Mysql {
            return None;
        }
        with_schemas(text, &split(text, self.dialect)?, &self.wanted.renamed)
    }

    /// The recording. `whole_seconds`: the times of the log have no fractions.
    ///
    /// # Errors
    /// If there is nothing to replay.
    pub fn finish(mut self, whole_seconds: bool) -> Result<SqlRecording, RecordingError> {
        if self.made.statements.is_empty() {
            return Err(RecordingError::of_file(nothing_to_replay(self.made.left_out)));
        }
        if whole_seconds {
            spread_seconds(&mut self.began_us);
        }
        self.order_sessions();
        self.name_kinds();
        let first = self.began_us.iter().copied().min().unwrap_or(0);
        let since = |us: i64| Nanos((us.saturating_sub(first).max(0) as u64).saturating_mul(1_000));
        let mut made = self.made;
        made.sessions = self.session_numbers.len() as u32;
        made.session_ends = vec![Nanos(0); made.sessions as usize];
        made.has_whole_seconds = whole_seconds;
        made.keeps_sessions_whole = self.wanted.writes;
        for (nth, statement) in made.statements.iter_mut().enumerate() {
            statement.due = since(self.began_us[nth]);
            let end = since(self.began_us[nth].saturating_add(self.took_us[nth].min(i64::MAX as u64) as i64));
            let known = &mut made.session_ends[statement.session as usize];
            *known = (*known).max(end);
        }
        // Stable: what a session sent at one moment stays in its order.
        made.statements.sort_by_key(|statement| statement.due);
        Ok(made)
    }

    /// A session sends one statement after the other, so none of its times is before the one before.
    fn order_sessions(&mut self) {
        let mut last: HashMap<u32, i64> = HashMap::new();
        for (statement, began_us) in self.made.statements.iter().zip(&mut self.began_us) {
            let last = last.entry(statement.session).or_insert(*began_us);
            *began_us = (*began_us).max(*last);
            *last = *began_us;
        }
    }

    /// The most frequent shapes become kinds.
    fn name_kinds(&mut self) {
        let mut all: Vec<(String, ShapeCount)> = std::mem::take(&mut self.shapes).into_iter().collect();
        all.sort_by(|a, b| (b.1.count, a.1.number).cmp(&(a.1.count, b.1.number)));
        let (named, others) = all.split_at(all.len().min(KINDS_MAX));
        let mut kind_of = vec![named.len() as u8; all.len()];
        let mut names: BTreeMap<String, u32> = BTreeMap::new();
        for (nth, (shape, count)) in named.iter().enumerate() {
            kind_of[count.number as usize] = nth as u8;
            let class = OpClass::from_effects(!count.writes, count.writes);
            self.made.kinds.push(StatementKind { name: unique_name(shape, &mut names), class, count: count.count });
        }
        if !others.is_empty() {
            let class = OpClass::from_effects(
                others.iter().any(|other| !other.1.writes),
                others.iter().any(|other| other.1.writes),
            );
            let count = others.iter().map(|other| other.1.count).sum();
            self.made.kinds.push(StatementKind { name: OTHERS.to_owned(), class, count });
        }
        for (statement, shape) in self.made.statements.iter_mut().zip(&self.shape_of) {
            statement.kind = kind_of[*shape as usize];
        }
    }
}

/// The number of `name`, a new one if it has none.
fn number_of(known: &mut HashMap<String, u32>, name: &str) -> u32 {
    if let Some(number) = known.get(name) {
        return *number;
    }
    let next = known.len() as u32;
    known.insert(name.to_owned(), next);
    next
}

fn nothing_to_replay(left_out: LeftOut) -> String {
    match left_out.writes + left_out.of_session {
        0 => "it has no statement to replay".to_owned(),
        _ => format!(
            "it has no read to replay: {} statements write, {} are of transactions and settings; they are replayed with allow_writes = `true`",
            left_out.writes, left_out.of_session
        ),
    }
}

/// The beginning of `shape`, with a number if another kind has it.
fn unique_name(shape: &str, names: &mut BTreeMap<String, u32>) -> String {
    let plain: String = shape.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut name: String = plain.chars().take(NAME_CHARS_MAX).collect();
    if plain.chars().nth(NAME_CHARS_MAX).is_some() {
        name.push_str("...");
    }
    let count = names.entry(name.clone()).or_default();
    *count += 1;
    if *count > 1 { format!("{name} ({count})") } else { name }
}

/// A text for a message: its beginning, in one line.
pub(super) fn shown(text: &str) -> String {
    const CHARS: usize = 80;
    let mut line: String = text.chars().take(CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(CHARS).is_some() {
        line.push_str("...");
    }
    line
}

/// Spreads the times within each second over it, in the order of the log: they are whole seconds, which is all that is known.
fn spread_seconds(began_us: &mut [i64]) {
    let mut in_second: HashMap<i64, i64> = HashMap::new();
    began_us.iter().for_each(|us| *in_second.entry(*us).or_default() += 1);
    let mut seen: HashMap<i64, i64> = HashMap::new();
    for us in began_us {
        let (all, nth) = (in_second[us], seen.entry(*us).or_default());
        let second = *us;
        *us = second.saturating_add((*nth as f64 / all as f64 * 1e6) as i64);
        *nth += 1;
    }
}

impl SqlRecording {
    /// All statements, in the order of their times.
    pub fn statements(&self) -> &[RecordedStatement] {
        &self.statements
    }

    /// The text of `statement`.
    pub fn text(&self, statement: &RecordedStatement) -> &str {
        &self.texts[statement.text.clone()]
    }

    /// The name of schema `number`; empty for none.
    pub fn schema(&self, number: u32) -> &str {
        &self.schemas[number as usize]
    }

    /// The names of all schemas that statements are in.
    pub fn schemas(&self) -> &[String] {
        &self.schemas
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> u32 {
        self.sessions
    }

    /// The kinds, the most frequent first, and the rest as the last.
    pub fn kinds(&self) -> &[StatementKind] {
        &self.kinds
    }

    /// From the first statement to the last.
    pub fn length(&self) -> Nanos {
        self.statements.last().map_or(Nanos(0), |last| last.due)
    }

    /// The most sessions that were open at once, from the first of their statements to the end of the last.
    pub fn most_at_once(&self) -> u32 {
        let lanes = self.lane_of_sessions(u32::MAX);
        lanes.iter().max().map_or(0, |last| last + 1)
    }

    /// The numbers of the statements that each of `clients` clients sends, in the order of their times. A client has one session after the
    /// other; if there are too few clients, it has several at once, or with writes the next one late.
    pub fn lanes(&self, clients: u32) -> Vec<Vec<u32>> {
        let lane_of = self.lane_of_sessions(clients.max(1));
        let mut lanes = vec![Vec::new(); clients.max(1) as usize];
        for (number, statement) in (0..).zip(&self.statements) {
            lanes[lane_of[statement.session as usize] as usize].push(number);
        }
        if self.keeps_sessions_whole {
            let mut begins = vec![u32::MAX; self.sessions as usize];
            for (number, statement) in (0..).zip(&self.statements) {
                let begin = &mut begins[statement.session as usize];
                *begin = (*begin).min(number);
            }
            let place = |number: &u32| (begins[self.statements[*number as usize].session as usize], *number);
            lanes.iter_mut().for_each(|lane| lane.sort_by_key(place));
        }
        lanes
    }

    /// The lane of each session, of at most so `many`.
    fn lane_of_sessions(&self, many: u32) -> Vec<u32> {
        let mut begins = vec![None; self.sessions as usize];
        for statement in &self.statements {
            begins[statement.session as usize].get_or_insert(statement.due);
        }
        let mut order: Vec<u32> = (0..self.sessions).collect();
        order.sort_by_key(|session| begins[*session as usize]);
        let mut free: std::collections::BinaryHeap<std::cmp::Reverse<(Nanos, u32)>> =
            std::collections::BinaryHeap::new();
        let mut lane_of = vec![0; self.sessions as usize];
        for session in order {
            let begin = begins[session as usize].unwrap_or(Nanos(0));
            let next = free.len() as u32;
            let is_free = free.peek().is_some_and(|lane| lane.0.0 <= begin);
            let lane = if is_free || next >= many { free.pop().map_or(0, |lane| lane.0.1) } else { next };
            lane_of[session as usize] = lane;
            // Behind its end: two sessions of one moment are not one after the other.
            let end = self.session_ends[session as usize];
            free.push(std::cmp::Reverse((Nanos(end.0.max(begin.0).saturating_add(1)), lane)));
        }
        lane_of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder(found: &[(i64, u64, &str, &str)]) -> RecordingBuilder {
        let mut builder = RecordingBuilder::new(LogDialect::Mysql, &LogWanted::default());
        for (nth, (began_us, took_us, session, text)) in found.iter().enumerate() {
            let took_us = Some(*took_us);
            let line = nth as u64 + 1;
            builder.add(&FoundStatement { line, began_us: *began_us, took_us, session, schema: "shop", text }).unwrap();
        }
        builder
    }

    fn texts(recording: &SqlRecording, lane: &[u32]) -> Vec<String> {
        lane.iter().map(|nth| recording.text(&recording.statements[*nth as usize]).to_owned()).collect()
    }

    #[test]
    fn sessions_keep_their_order_and_share_lanes_that_are_free() {
        let found = [
            (1_000_000, 50, "a", "SELECT 1"),
            (1_000_020, 10, "b", "SELECT 2"),
            // A log that is ordered by the ends of statements has a time that goes back.
            (1_000_005, 10, "a", "SELECT 3"),
            (2_000_000, 10, "c", "SELECT 4"),
        ];
        let recording = builder(&found).finish(false).unwrap();
        assert_eq!((recording.sessions(), recording.most_at_once()), (3, 2));
        let lanes = recording.lanes(2);
        assert_eq!(texts(&recording, &lanes[0]), ["SELECT 1", "SELECT 3"]);
        assert_eq!(texts(&recording, &lanes[1]), ["SELECT 2", "SELECT 4"]);
        assert_eq!(recording.lanes(1)[0].len(), 4);
        assert_eq!((recording.lanes(5)[4].len(), recording.length()), (0, Nanos::from_secs(1)));
    }

    #[test]
    fn with_writes_a_client_finishes_a_session_before_it_begins_the_next() {
        let mut builder = RecordingBuilder::new(LogDialect::Mysql, &LogWanted { writes: true, ..LogWanted::default() });
        for (nth, (session, text)) in
            [("a", "BEGIN"), ("b", "BEGIN"), ("a", "COMMIT"), ("b", "COMMIT")].iter().enumerate()
        {
            let (line, began_us) = (nth as u64, nth as i64);
            builder.add(&FoundStatement { line, began_us, took_us: None, session, schema: "", text }).unwrap();
        }
        let recording = builder.finish(false).unwrap();
        assert_eq!(recording.lanes(1), [[0, 2, 1, 3]]);
        assert_eq!(recording.lanes(2), [[0, 2], [1, 3]]);
    }

    #[test]
    fn whole_seconds_are_spread_over_their_second_in_the_order_of_the_log() {
        let found = [(5_000_000, 0, "a", "SELECT 1"), (5_000_000, 0, "b", "SELECT 2"), (6_000_000, 0, "a", "SELECT 3")];
        let recording = builder(&found).finish(true).unwrap();
        let due: Vec<u64> = recording.statements().iter().map(|it| it.due.0 / 1_000_000).collect();
        assert_eq!((due, recording.has_whole_seconds), (vec![0, 500, 1_000], true));
    }

    #[test]
    fn the_most_frequent_shapes_are_kinds_and_the_rest_is_one() {
        let texts: Vec<String> = (0..60)
            .flat_map(|nth| vec![format!("SELECT c{nth} FROM t WHERE id = {nth}"); 1 + usize::from(nth < 3)])
            .collect();
        let found: Vec<(i64, u64, &str, &str)> = texts.iter().map(|text| (0, 0, "a", text.as_str())).collect();
        let recording = builder(&found).finish(false).unwrap();
        let kinds = recording.kinds();
        assert_eq!(
            (kinds.len(), kinds[0].count, kinds[0].name.as_str()),
            (KINDS_MAX + 1, 2, "select c0 from t where id = ?")
        );
        assert_eq!((kinds[KINDS_MAX].name.as_str(), kinds[KINDS_MAX].count), (OTHERS, 10));
        assert_eq!(kinds.iter().map(|kind| kind.count).sum::<u64>(), 63);
    }

    #[test]
    fn more_different_statements_than_a_small_number_holds_are_all_there() {
        const SHAPES: usize = 70_000;
        let mut builder = RecordingBuilder::new(LogDialect::Mysql, &LogWanted::default());
        for nth in 0..SHAPES {
            let text = format!("SELECT c{nth} FROM t");
            let (line, began_us) = (nth as u64 + 1, nth as i64);
            builder
                .add(&FoundStatement { line, began_us, took_us: None, session: "a", schema: "", text: &text })
                .unwrap();
        }
        let recording = builder.finish(false).unwrap();
        assert_eq!((recording.statements().len(), recording.kinds().len()), (SHAPES, KINDS_MAX + 1));
        for nth in [0, 65_535, 65_536, SHAPES - 1] {
            assert_eq!(recording.text(&recording.statements()[nth]), format!("SELECT c{nth} FROM t"));
        }
        assert_eq!(recording.kinds()[KINDS_MAX].count as usize, SHAPES - KINDS_MAX);
    }

    #[test]
    fn statements_are_sent_with_the_names_of_the_copy_and_counted_by_those_of_the_log() {
        let renamed = vec![("shop".to_owned(), "shop_copy".to_owned())];
        for (dialect, sent) in
            [(LogDialect::Mysql, "SELECT c FROM `shop_copy`.t"), (LogDialect::Postgres, "SELECT c FROM shop.t")]
        {
            let mut builder =
                RecordingBuilder::new(dialect, &LogWanted { renamed: renamed.clone(), ..LogWanted::default() });
            let text = "SELECT c FROM shop.t";
            builder
                .add(&FoundStatement { line: 1, began_us: 0, took_us: None, session: "a", schema: "shop", text })
                .unwrap();
            let recording = builder.finish(false).unwrap();
            assert_eq!(recording.text(&recording.statements()[0]), sent);
            assert_eq!(recording.kinds()[0].name, "select c from shop.t");
        }
    }

    #[test]
    fn what_writes_is_left_out_and_counted_and_a_log_without_reads_is_refused() {
        let recording = builder(&[(0, 0, "a", "BEGIN"), (1, 0, "a", "UPDATE t SET k = 1"), (2, 0, "a", "SELECT 1;")])
            .finish(false)
            .unwrap();
        assert_eq!(recording.left_out, LeftOut { writes: 1, of_session: 1, ..LeftOut::default() });
        assert_eq!(recording.text(&recording.statements()[0]), "SELECT 1");
        let refused = builder(&[(0, 0, "a", "DELETE FROM t")]).finish(false).unwrap_err();
        assert!(refused.to_string().contains("1 statements write"), "{refused}");
    }

    #[test]
    fn a_statement_that_cannot_be_parsed_is_refused_with_its_line() {
        let mut builder = RecordingBuilder::new(LogDialect::Mysql, &LogWanted::default());
        let found = FoundStatement { line: 7, began_us: 0, took_us: None, session: "a", schema: "", text: "SELECT 'a" };
        assert_eq!(
            builder.add(&found).unwrap_err().to_string(),
            "line 7: `SELECT 'a` cannot be parsed: a quote or a comment is not closed"
        );
    }
}
