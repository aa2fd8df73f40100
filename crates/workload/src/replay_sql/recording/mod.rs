//! A recording of SQL statements: who sent what, and when.
//!
//! In: the statements of a log, from its reader. Out: a [`SqlRecording`]: statements with their times, in sessions, in kinds by their shapes,
//! and the [`Lanes`] in which clients replay them. Limits: [`STATEMENTS_MAX`] statements. Texts and times are in files without a name
//! once they are more than a few MB; in memory are 30 bytes for each session, and 8 for each second of a log in whole seconds. With writes
//! a session has 48 more while the log is read and 8 more while it is replayed, and the rows that were written last have 50 MB at most.

mod aborted;
mod calls;
mod clock;
mod copies;
mod judged;
mod lanes;
mod records;
mod row_order;
mod set_up;
mod shapes;
mod survey;
mod table_ids;
mod triggered;

pub use calls::{KeptCall, PreparedTemplate};
pub(super) use clock::Clock;
pub use copies::{Copies, MadeCopies};
pub use lanes::Lanes;
pub use records::{STATEMENTS_MAX, StatementPlace};
pub use shapes::{KINDS_MAX, OTHERS, StatementKind};
pub(super) use survey::tables_in;
pub use survey::{RecordingSurvey, SurveyedStretch, UsedTable, WithoutSchema};
pub use triggered::{Trigger, Triggers};

use super::answer::RecordedAnswer;
use super::log_taker::{FoundStatement, LogTaker, RecordedServer};
use super::renaming::with_schemas;
use super::skipped::Skipped;
use super::spill::{Spill, lost};
use super::wanted::{LogDialect, LogWanted};
use crate::recording_error::RecordingError;
use aborted::AbortedTransactions;
use calls::{Call, Templates};
use clock::SecondCounts;
use lanes::SessionSpan;
use model::{Nanos, RecordedPauses};
use records::{Record, Records};
use row_order::{RowOrder, RowPlace, SeenStatement};
use set_up::SetUp;
use sha2::{Digest as _, Sha256};
use shapes::{SHAPES_MAX, Shapes};
use sql::{Effect, Judge, Lexed, Reading};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;
use table_ids::TableIds;

/// The most schemas: a log of a server for many tenants has thousands.
pub(super) const SCHEMAS_MAX: usize = 100_000;
/// What is counted of a statement that cannot be split.
pub(super) const OPEN_QUOTE: &str = "statement with an open quote or comment";
/// A longer pause between two statements is one of the log, not of its load.
const PAUSE: Nanos = Nanos::from_secs(60);

/// What was not replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Statements that change or lock data.
    pub writes: u64,
    /// Those that begin or end transactions, or set something.
    pub of_session: u64,
    /// Those that another line repeats with its values, and others that are none.
    pub repeated: u64,
    /// Those that stored rows which the log does not have. If only reads are replayed, they are among the writes.
    pub loads: u64,
    /// Those whose values the log does not have.
    pub unbound: u64,
    /// How many of these have failed.
    pub failed_unbound: u64,
    /// Reads that call or name something which does more than read.
    pub effects: u64,
    /// Questions of a plimsoll that watched or loaded the server.
    pub own: u64,
    /// Statements of triggers, which the copy executes itself.
    pub triggered: u64,
}

impl LeftOut {
    pub fn total(self) -> u64 {
        let others = self.unbound + self.effects + self.own + self.triggered;
        self.writes + self.of_session + self.repeated + self.loads + others
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedStatement {
    /// When it began, after the first.
    pub due: Nanos,
    pub session: u32,
    /// The number of its schema; see [`SqlRecording::schema`].
    pub schema: u32,
    /// The number of its kind.
    pub kind: u8,
    /// The statement of another session that it waits for, because both name one row; `None` if there is none.
    pub after: Option<StatementPlace>,
    /// Whether its session was in a transaction, which may have locked rows.
    pub is_in_transaction: bool,
    /// Whether the log says in another line that it failed.
    has_failed: bool,
    text_at: u64,
    text_bytes: u32,
}

impl RecordedStatement {
    /// The place of its text: copies of a statement share it, and later statements of a log have later ones.
    pub(super) fn text_place(&self) -> u64 {
        self.text_at
    }
}

/// What is kept of a statement apart from its text.
#[derive(Debug)]
pub struct ReadStatement {
    /// What it was answered.
    pub answer: RecordedAnswer,
    /// How many bytes the ids have that it made.
    pub made_bytes: usize,
    /// The call that it was, of what was prepared.
    pub call: Option<KeptCall>,
}

impl ReadStatement {
    /// The number of the template that it is a call of.
    pub fn template(&self) -> Option<u32> {
        self.call.as_ref().map(|call| call.template)
    }
}

/// The statements of a log, in the order of their times.
#[derive(Debug, Default)]
pub struct SqlRecording {
    records: Records,
    texts: Arc<Spill>,
    /// The first statement of each shape: all of one shape name the same, but for those of the rest. One has no kind if nothing of its kind is
    /// replayed.
    samples: Vec<Record>,
    /// What each shape leaves behind in its session.
    set_ups: Vec<SetUp>,
    first_us: i64,
    length: Nanos,
    schemas: Vec<String>,
    spans: Vec<SessionSpan>,
    kinds: Vec<StatementKind>,
    /// How many statements of the whole log may be replayed.
    pub of_log: u64,
    /// How many of these had failed.
    pub failed_in_log: u64,
    /// What was left out.
    pub left_out: LeftOut,
    /// What reads that were left out have named, with their numbers.
    pub effects: BTreeMap<String, u64>,
    /// What of the log is no statement, or cannot be read.
    pub skipped: Skipped,
    /// The pauses between its statements.
    pub pauses: RecordedPauses,
    pub server: RecordedServer,
    /// Whether a client finishes one session before it begins the next, because transactions must not be torn.
    keeps_sessions_whole: bool,
    /// Whether the log has whole seconds only, over which its statements were spread.
    pub has_whole_seconds: bool,
    /// How many of its statements are sent once more, because they set or prepared something in a session that begins in its middle.
    pub set_again: u64,
    /// The copies that it was made of; `None` if it is the recording itself.
    pub copies: Option<MadeCopies>,
    /// What was prepared, and is prepared again.
    templates: Arc<[PreparedTemplate]>,
    /// How many statements were calls of these.
    pub calls: u64,
    /// Whether its values are others than the recorded ones, so that it has no answers.
    pub is_hashed: bool,
    /// The beginning of the SHA-256 of all statements and their times, in the order of the log.
    pub digest: u32,
}

/// Takes statements up one by one.
pub struct RecordingBuilder {
    made: SqlRecording,
    texts: Spill,
    dialect: LogDialect,
    judge: Judge,
    wanted: LogWanted,
    clock: Clock,
    hasher: RandomState,
    /// The numbers of the sessions that may go on, by a hash of their names: a log may have millions.
    session_numbers: HashMap<u64, u32>,
    /// When each session ended, by the clock of the log.
    session_ends: Vec<i64>,
    /// The last statement of each session, if it is replayed, by its number in the order of the log.
    session_lasts: Vec<Option<u32>>,
    /// The numbers of those that failed, as lines behind them say.
    failed: Vec<u32>,
    schema_numbers: HashMap<String, u32>,
    shapes: Shapes,
    /// Which statements come after which; `None` if only reads are replayed.
    order: Option<RowOrder>,
    /// Transactions that were aborted by what may not be sent; `None` if all is.
    aborted: Option<AbortedTransactions>,
    templates: Templates,
    /// The ids that tables are known to have.
    table_ids: TableIds,
    digest: Sha256,
}

impl RecordingBuilder {
    /// A recording of what is `wanted` of a log in `dialect`.
    pub fn new(dialect: LogDialect, wanted: &LogWanted) -> RecordingBuilder {
        RecordingBuilder {
            made: SqlRecording::default(),
            texts: Spill::default(),
            dialect,
            judge: Judge::new(dialect.sql()).with_allowed(&wanted.functions),
            wanted: wanted.clone(),
            clock: Clock::default(),
            hasher: RandomState::default(),
            session_numbers: HashMap::new(),
            session_ends: Vec::new(),
            session_lasts: Vec::new(),
            failed: Vec::new(),
            schema_numbers: HashMap::new(),
            shapes: Shapes::default(),
            order: wanted.writes.then(|| RowOrder::new(dialect)),
            aborted: (dialect == LogDialect::Postgres && !wanted.writes).then(AbortedTransactions::default),
            templates: Templates::default(),
            table_ids: TableIds::default(),
            digest: Sha256::default(),
        }
    }

    fn push(
        &mut self,
        found: &FoundStatement<'_>,
        text: &str,
        lexed: &Lexed,
        effect: Effect,
    ) -> Result<(), RecordingError> {
        if self.made.records.count() >= STATEMENTS_MAX {
            let text = format!("there are more than {STATEMENTS_MAX} statements; cut the log");
            return Err(RecordingError::at(found.line, text));
        }
        let shape = self.shape_number(text, lexed, effect);
        let session = self.session_number(found.session);
        let schema = self.schema_number(found)?;
        let took_us = found.took_us.unwrap_or(0);
        let logged_us = found.began_us.saturating_add_unsigned(took_us);
        if let Some(back) = self.clock.advance(logged_us) {
            self.skip(back, found.line);
        }
        let began_us = self.clock.shifted(found.began_us);
        self.clock.count_second(began_us);
        let end = &mut self.session_ends[session as usize];
        *end = (*end).max(began_us.saturating_add_unsigned(took_us));
        self.digest.update(found.began_us.to_le_bytes());
        self.digest.update(text);
        let answer = self.kept_answer(found, lexed);
        self.made.failed_in_log += u64::from(answer.failed == Some(true));
        let seen = SeenStatement {
            text,
            tokens: &lexed.tokens,
            effect,
            session,
            schema: found.schema,
            began_us,
            took_us: found.took_us,
            has_fractions: self.clock.has_fractions(),
            answer,
            made: found.made,
        };
        let RowPlace { after, is_in_transaction } =
            self.order.as_mut().map_or_else(RowPlace::default, |order| order.add(&seen));
        let renamed = self.renamed(text, lexed);
        let text = renamed.as_deref().unwrap_or(text);
        let mut kept = text.as_bytes().to_vec();
        let made = if self.wanted.writes { found.made } else { "" };
        answer.put_behind(&mut kept, made);
        let call = self.call_in(found, text, lexed, schema);
        self.made.calls += u64::from(self.templates.put_behind(call.as_ref(), &mut kept));
        let text_at = self.texts.append(&kept)?;
        let text_bytes = u32::try_from(kept.len()).expect("a statement is shorter than 4 GiB");
        let in_order = Record { after, is_in_transaction, ..Record::default() };
        let record = Record { began_us, took_us, text_at, text_bytes, session, schema, shape, ..in_order };
        self.session_lasts[session as usize] = Some(self.made.records.count() as u32);
        if shape as usize == self.made.samples.len() {
            self.made.samples.push(record);
        }
        self.made.records.push(record)
    }

    fn shape_number(&mut self, text: &str, lexed: &Lexed, effect: Effect) -> u32 {
        let shape = self.shapes.count(&sql::shape_of(text, &lexed.tokens), effect);
        if shape as usize == self.made.set_ups.len() {
            // The last shape is the rest of all; of reads alone nothing is set.
            let is_known = self.wanted.writes && (shape as usize) < SHAPES_MAX;
            let set_up = if is_known { SetUp::of(text, &lexed.tokens, self.dialect) } else { SetUp::Nothing };
            self.made.set_ups.push(set_up);
        }
        shape
    }

    fn session_number(&mut self, name: &str) -> u32 {
        let next = self.session_ends.len() as u32;
        let number = *self.session_numbers.entry(self.hasher.hash_one(name)).or_insert(next);
        if number == next {
            self.session_ends.push(i64::MIN);
            self.session_lasts.push(None);
        }
        number
    }

    fn schema_number(&mut self, found: &FoundStatement<'_>) -> Result<u32, RecordingError> {
        if let Some(number) = self.schema_numbers.get(found.schema) {
            return Ok(*number);
        }
        let next = self.made.schemas.len();
        if next == SCHEMAS_MAX {
            let text = format!("its statements are in more than {SCHEMAS_MAX} schemas; cut the log");
            return Err(RecordingError::at(found.line, text));
        }
        self.made.schemas.push(found.schema.to_owned());
        self.schema_numbers.insert(found.schema.to_owned(), next as u32);
        Ok(next as u32)
    }

    /// The answer to a statement, which is told if its transaction had been aborted.
    fn answer_in_transaction(&mut self, found: &FoundStatement<'_>, text: &str, lexed: &Lexed) -> RecordedAnswer {
        let Some(aborted) = &mut self.aborted else { return found.answer };
        let session = self.hasher.hash_one(found.session);
        let is_consequence = aborted.follow(session, text, &lexed.tokens);
        if found.answer.failed == Some(true) {
            aborted.fail(session);
        }
        RecordedAnswer { is_consequence, ..found.answer }
    }

    /// What is kept of the answer to a statement: ids only where a replay has them made again. What may make an id that is not known has 0, so that
    /// it does not get the one of a statement before it.
    fn kept_answer(&mut self, found: &FoundStatement<'_>, lexed: &Lexed) -> RecordedAnswer {
        let (text, answer) = (without_end(found.text), found.answer);
        let is_verb = |verb: &sql::Token| verb.is_word(text, &["insert", "replace", "call", "execute"]);
        let may_insert = self.wanted.writes
            && self.dialect == LogDialect::Mysql
            && lexed.tokens.get(sql::verb_at(text, &lexed.tokens, self.dialect.sql())).is_some_and(is_verb);
        let made = answer.made_id.filter(|id| may_insert && *id > 0);
        let made = made.and_then(|id| self.table_ids.made(found.schema, text, &lexed.tokens, id, answer.affected));
        let made_id = may_insert.then(|| made.unwrap_or(0));
        RecordedAnswer { made_id, last_id: answer.last_id.filter(|_| self.wanted.writes), ..answer }
    }

    /// The call of what was prepared that `text` is, in which names may have been replaced since it was split as `lexed`.
    fn call_in(&self, found: &FoundStatement<'_>, text: &str, lexed: &Lexed, schema: u32) -> Option<Call> {
        let params = found.params?;
        if self.wanted.renamed.is_empty() {
            return Call::of(text, &lexed.tokens, params, self.dialect, schema);
        }
        let tokens = sql::tokens(text, self.dialect.sql()).ok()?;
        (tokens.len() == lexed.tokens.len()).then(|| Call::of(text, &tokens, params, self.dialect, schema))?
    }

    /// `text` with the names that schemas have on the copy; `None` if it stays as it is. A name with a dot behind it is no database of
    /// PostgreSQL, which has one for each connection.
    fn renamed(&self, text: &str, lexed: &Lexed) -> Option<String> {
        if self.wanted.renamed.is_empty() || self.dialect != LogDialect::Mysql {
            return None;
        }
        with_schemas(text, &lexed.tokens, &self.wanted.renamed)
    }

    /// The recording. `whole_seconds`: the times of the log have no fractions.
    ///
    /// # Errors
    /// If there is nothing to replay, or no room for it.
    pub fn finish(mut self, whole_seconds: bool) -> Result<SqlRecording, RecordingError> {
        let mut made = self.made;
        if made.records.count() == 0 {
            return Err(made.nothing_to_replay());
        }
        made.of_log = made.records.count();
        self.failed.sort_unstable();
        self.failed.dedup();
        made.failed_in_log += self.failed.len() as u64;
        self.texts.seal()?;
        made.texts = Arc::new(self.texts);
        made.records.seal()?;
        let kind_of;
        (made.kinds, kind_of) = self.shapes.into_kinds();
        made.samples.iter_mut().zip(&kind_of).for_each(|(sample, kind)| sample.kind = *kind as u8);
        let seconds = if whole_seconds { self.clock.take_seconds() } else { SecondCounts::default() };
        made.put_in_order(seconds, &kind_of, &self.session_ends, &self.failed)?;
        made.measure_pauses()?;
        made.has_whole_seconds = whole_seconds;
        let digest = self.digest.finalize();
        made.digest = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
        made.templates = self.templates.into_all().into();
        made.keeps_sessions_whole = self.wanted.writes;
        Ok(made)
    }
}

impl LogTaker for RecordingBuilder {
    fn set_server(&mut self, server: RecordedServer) {
        self.made.server = server;
    }

    fn note_hashed(&mut self) {
        self.made.is_hashed = true;
    }

    fn note_each_once(&mut self) {
        self.judge.take_each_once();
    }

    fn skip_many(&mut self, kind: &str, count: u64, line: u64) {
        self.made.skipped.add_many(kind, count, line);
    }

    fn keep(&mut self, found: &FoundStatement<'_>) -> Result<(), RecordingError> {
        self.forget_last_of(found.session);
        let text = without_end(found.text);
        let Ok(lexed) = sql::lex(text, Reading::usual(self.dialect.sql())) else {
            self.skip(OPEN_QUOTE, found.line);
            return Ok(());
        };
        let found = &FoundStatement { answer: self.answer_in_transaction(found, text, &lexed), ..*found };
        let judgement = self.judge.judge_lexed(text, &lexed);
        if judgement.effect == Effect::Repeated && found.loads_rows(text, &lexed.tokens, self.dialect) {
            self.count_loads(1);
            return Ok(());
        }
        let left_out = &mut self.made.left_out;
        match judgement.effect {
            Effect::Repeated => left_out.repeated += 1,
            Effect::Writes if !self.wanted.writes => left_out.writes += 1,
            Effect::OfSession if !self.wanted.writes => left_out.of_session += 1,
            Effect::Calls if !self.wanted.writes => self.made.leave_out(judgement.cause),
            effect => return self.push(found, text, &lexed, effect),
        }
        Ok(())
    }

    fn forget_last_of(&mut self, session: &str) {
        if let Some(number) = self.session_numbers.get(&self.hasher.hash_one(session)) {
            self.session_lasts[*number as usize] = None;
        }
    }

    fn count_own(&mut self, many: u64) {
        self.made.left_out.own += many;
    }

    fn count_unbound(&mut self, many: u64) {
        self.made.left_out.unbound += many;
    }

    fn count_failed_unbound(&mut self, many: u64) {
        self.made.left_out.failed_unbound += many;
    }

    fn count_repeated(&mut self, many: u64) {
        self.made.left_out.repeated += many;
    }

    fn count_loads(&mut self, many: u64) {
        let left_out = &mut self.made.left_out;
        *if self.wanted.writes { &mut left_out.loads } else { &mut left_out.writes } += many;
    }

    fn fail_load(&mut self) {
        let left_out = &mut self.made.left_out;
        let counted = if self.wanted.writes { &mut left_out.loads } else { &mut left_out.writes };
        *counted = counted.saturating_sub(1);
        left_out.repeated += 1;
    }

    fn end_last_of(&mut self, session: &str, end_us: i64, has_failed: bool) -> Result<(), RecordingError> {
        let session = self.hasher.hash_one(session);
        self.aborted.iter_mut().filter(|_| has_failed).for_each(|aborted| aborted.fail(session));
        let Some(number) = self.session_numbers.get(&session) else { return Ok(()) };
        let end = &mut self.session_ends[*number as usize];
        *end = (*end).max(self.clock.shifted(end_us));
        let last = self.session_lasts[*number as usize];
        // Logs without ends have lines for errors, too.
        if let (Some(order), Some(_), false) = (&mut self.order, last, has_failed) {
            order.end_last_of(*number, self.clock.shifted(end_us));
        }
        self.failed.extend(last.filter(|_| has_failed));
        Ok(())
    }

    fn end_session(&mut self, session: &str) -> Result<(), RecordingError> {
        let session = self.hasher.hash_one(session);
        self.aborted.iter_mut().for_each(|aborted| aborted.forget(session));
        self.session_numbers.remove(&session);
        Ok(())
    }
}

/// A statement without the blanks around it and the semicolon behind it.
pub(super) fn without_end(text: &str) -> &str {
    text.trim().trim_end_matches(';').trim_end()
}

/// The time from `first_us` to `us`, both in microseconds since 1970.
fn since(first_us: i64, us: i64) -> Nanos {
    Nanos((us.saturating_sub(first_us).max(0) as u64).saturating_mul(1_000))
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

impl SqlRecording {
    /// Puts the statements into the order of their times. Those of a whole second are spread over it before, in the order of the log,
    /// which is all that is known. A session sends one statement after the other, so none of its times is before the one before. `failed` has the
    /// numbers of those that failed, in order.
    fn put_in_order(
        &mut self,
        mut seconds: SecondCounts,
        kind_of: &[u32],
        session_ends: &[i64],
        failed: &[u32],
    ) -> Result<(), RecordingError> {
        const NONE: i64 = i64::MIN;
        let (mut failed, mut number) = (failed.iter().copied().peekable(), 0);
        let mut begins = vec![NONE; session_ends.len()];
        let mut lasts = vec![NONE; session_ends.len()];
        let mut ends = session_ends.to_vec();
        self.records.put_in_order(|record| {
            record.began_us = seconds.spread(record.began_us).max(lasts[record.session as usize]);
            record.kind = kind_of[record.shape as usize] as u8;
            while failed.next_if_eq(&number).is_some() {
                record.has_failed = true;
            }
            number += 1;
            let session = record.session as usize;
            lasts[session] = record.began_us;
            if begins[session] == NONE {
                begins[session] = record.began_us;
            }
            ends[session] = ends[session].max(record.began_us.saturating_add_unsigned(record.took_us));
        })?;
        let first = begins.iter().copied().min().unwrap_or(0);
        let since = |us: i64| since(first, us);
        self.first_us = first;
        self.length = since(lasts.iter().copied().max().unwrap_or(first));
        self.spans = begins
            .iter()
            .zip(&ends)
            .map(|(begin, end)| SessionSpan { begin: since(*begin), end: since(*end) })
            .collect();
        Ok(())
    }

    fn measure_pauses(&mut self) -> Result<(), RecordingError> {
        let mut pauses = RecordedPauses::default();
        let mut before = Nanos(0);
        for record in self.records.iter() {
            let due = self.statement_of(record.map_err(|error| lost(&error))?).due;
            let pause = Nanos(due.0 - before.0);
            if pause > PAUSE {
                pauses.sum = Nanos(pauses.sum.0.saturating_add(pause.0 - PAUSE.0));
            }
            if pause > pauses.longest {
                (pauses.longest, pauses.longest_after) = (pause, before);
            }
            before = due;
        }
        self.pauses = pauses;
        Ok(())
    }

    fn statement_of(&self, record: Record) -> RecordedStatement {
        let Record { began_us, text_at, text_bytes, session, schema, kind, .. } = record;
        let Record { after, is_in_transaction, has_failed, .. } = record;
        let due = since(self.first_us, began_us);
        RecordedStatement { due, session, schema, kind, after, is_in_transaction, has_failed, text_at, text_bytes }
    }

    /// How many statements there are: at least one.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        self.records.count()
    }

    /// Statement `number`, in the order of their times.
    ///
    /// # Errors
    /// If the file that they are kept in cannot be read.
    pub fn statement(&self, number: u32) -> io::Result<RecordedStatement> {
        Ok(self.statement_of(self.records.get(number.into())?))
    }

    /// All statements, in the order of their times.
    ///
    /// # Errors
    /// Each, if the file that they are kept in cannot be read.
    pub fn statements(&self) -> impl Iterator<Item = io::Result<RecordedStatement>> + '_ {
        self.records.iter().map(move |record| Ok(self.statement_of(record?)))
    }

    /// Puts the text of `statement` into `text`, in UTF-8, and behind it the ids that it made.
    ///
    /// # Errors
    /// If the file that they are kept in cannot be read.
    pub fn read_text(&self, statement: &RecordedStatement, text: &mut Vec<u8>) -> io::Result<ReadStatement> {
        text.clear();
        text.resize(statement.text_bytes as usize, 0);
        self.texts.read_at(statement.text_at, text)?;
        let call = KeptCall::take_off(text).ok_or(io::ErrorKind::InvalidData)?;
        let (mut answer, made_bytes) = RecordedAnswer::take_off(text).ok_or(io::ErrorKind::InvalidData)?;
        if statement.has_failed {
            answer.failed = Some(true);
        }
        Ok(ReadStatement { answer, made_bytes, call })
    }

    /// The text of `statement`.
    ///
    /// # Errors
    /// If the file that they are kept in cannot be read.
    pub fn text(&self, statement: &RecordedStatement) -> io::Result<String> {
        let mut bytes = Vec::new();
        let read = self.read_text(statement, &mut bytes)?;
        bytes.truncate(bytes.len() - read.made_bytes);
        String::from_utf8(bytes).map_err(io::Error::other)
    }

    /// A statement of each kind that has one shape: the first of the log.
    pub fn samples(&self) -> impl Iterator<Item = RecordedStatement> + '_ {
        let has_one_shape =
            |sample: &&Record| self.kinds.get(usize::from(sample.kind)).is_some_and(StatementKind::has_one_shape);
        self.samples.iter().filter(has_one_shape).map(|sample| self.statement_of(*sample))
    }

    /// How many statements are due before the moment for which `is_before` turns false.
    pub fn count_due(&self, is_before: impl Fn(Nanos) -> bool) -> io::Result<u64> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(self.statement_of(self.records.get(middle)?).due) { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// The bytes that the statements take, in files or in memory.
    pub fn bytes(&self) -> u64 {
        self.records.bytes() + self.texts.bytes()
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
        self.spans.len() as u32
    }

    /// The kinds, the most frequent first, and the rest as the last.
    pub fn kinds(&self) -> &[StatementKind] {
        &self.kinds
    }

    /// What was prepared, by the numbers that calls name.
    pub fn templates(&self) -> &Arc<[PreparedTemplate]> {
        &self.templates
    }

    /// From the first statement to the last.
    pub fn length(&self) -> Nanos {
        self.length
    }

    /// When its first statement began, in microseconds since 1970, by the clock of the log.
    pub(super) fn first_us(&self) -> i64 {
        self.first_us
    }

    /// How much of the day was over at its first statement, by the clock of the log.
    pub fn time_of_day(&self) -> Nanos {
        const DAY_US: i64 = 86_400_000_000;
        Nanos(self.first_us.rem_euclid(DAY_US) as u64 * 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn builder(found: &[(i64, u64, &str, &str)]) -> RecordingBuilder {
        let mut builder = RecordingBuilder::new(LogDialect::Mysql, &LogWanted::default());
        for (nth, (began_us, took_us, session, text)) in found.iter().enumerate() {
            let took_us = Some(*took_us);
            let line = nth as u64 + 1;
            let found = FoundStatement {
                line,
                began_us: *began_us,
                took_us,
                session,
                schema: "shop",
                text,
                ..FoundStatement::default()
            };
            builder.add(&found).unwrap();
        }
        builder
    }

    fn texts(recording: &SqlRecording, lanes: &Lanes, lane: u32) -> Vec<String> {
        let numbers = lanes.numbers_of(lane, 0, 100).unwrap();
        numbers.into_iter().map(|nth| recording.text(&recording.statement(nth).unwrap()).unwrap()).collect()
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
        let lanes = recording.lanes(2).unwrap();
        assert_eq!(texts(&recording, &lanes, 0), ["SELECT 1", "SELECT 3"]);
        assert_eq!(texts(&recording, &lanes, 1), ["SELECT 2", "SELECT 4"]);
        assert_eq!(recording.lanes(1).unwrap().count_of(0), 4);
        assert_eq!((recording.lanes(5).unwrap().count_of(4), recording.length()), (0, Nanos::from_secs(1)));
        assert_eq!(recording.count_due(|due| due < Nanos::from_secs(1)).unwrap(), 3);
    }

    #[test]
    fn each_kind_that_is_replayed_has_a_sample_with_its_number_and_the_rest_has_none() {
        let told = |recording: &SqlRecording| -> Vec<(u8, String)> {
            recording.samples().map(|sample| (sample.kind, recording.text(&sample).unwrap())).collect()
        };
        let sample = |kind: u8, text: &str| (kind, text.to_owned());
        let found = [(0, 0, "a", "SELECT c FROM t"), (1_000_000, 0, "a", "SELECT 1"), (2_000_000, 0, "a", "SELECT 2")];
        let recording = builder(&found).finish(false).unwrap();
        assert_eq!(told(&recording), [sample(1, "SELECT c FROM t"), sample(0, "SELECT 1")]);
        let part = recording.stretch(Nanos(0), Some(Nanos(1))).unwrap();
        assert_eq!(told(&part), [sample(0, "SELECT c FROM t")]);
        let texts: Vec<String> = (0..60).map(|nth| format!("SELECT c{nth}")).collect();
        let many: Vec<(i64, u64, &str, &str)> = texts.iter().map(|text| (0, 0, "a", text.as_str())).collect();
        assert_eq!(told(&builder(&many).finish(false).unwrap()).len(), KINDS_MAX);
    }

    #[test]
    fn with_writes_a_client_finishes_a_session_before_it_begins_the_next() {
        let mut builder = RecordingBuilder::new(LogDialect::Mysql, &LogWanted { writes: true, ..LogWanted::default() });
        for (nth, (session, text)) in
            [("a", "BEGIN"), ("b", "BEGIN"), ("a", "COMMIT"), ("b", "COMMIT")].iter().enumerate()
        {
            let (line, began_us) = (nth as u64, nth as i64);
            builder.add(&FoundStatement { line, began_us, session, text, ..FoundStatement::default() }).unwrap();
        }
        let recording = builder.finish(false).unwrap();
        assert_eq!(recording.lanes(1).unwrap().numbers_of(0, 0, 9).unwrap(), [0, 2, 1, 3]);
        let two = recording.lanes(2).unwrap();
        assert_eq!([0, 1].map(|lane| two.numbers_of(lane, 0, 9).unwrap()), [[0, 2], [1, 3]]);
        assert_eq!(two.numbers_of(1, 1, 1).unwrap(), [3]);
    }

    #[test]
    fn whole_seconds_are_spread_over_their_second_in_the_order_of_the_log() {
        let found = [(5_000_000, 0, "a", "SELECT 1"), (5_000_000, 0, "b", "SELECT 2"), (6_000_000, 0, "a", "SELECT 3")];
        let recording = builder(&found).finish(true).unwrap();
        let due: Vec<u64> = recording.statements().map(|it| it.unwrap().due.0 / 1_000_000).collect();
        assert_eq!((due, recording.has_whole_seconds), (vec![0, 500, 1_000], true));
    }

    #[test]
    fn statements_are_sent_with_the_names_of_the_copy_and_counted_by_those_of_the_log() {
        let renamed = vec![("shop".to_owned(), "shop_copy".to_owned())];
        for (dialect, sent) in
            [(LogDialect::Mysql, "SELECT c FROM `shop_copy`.t"), (LogDialect::Postgres, "SELECT c FROM shop.t")]
        {
            let wanted = LogWanted { renamed: renamed.clone(), ..LogWanted::default() };
            let mut builder = RecordingBuilder::new(dialect, &wanted);
            let text = "SELECT c FROM shop.t";
            builder
                .add(&FoundStatement { line: 1, session: "a", schema: "shop", text, ..FoundStatement::default() })
                .unwrap();
            let recording = builder.finish(false).unwrap();
            assert_eq!(recording.text(&recording.statement(0).unwrap()).unwrap(), sent);
            assert_eq!(recording.kinds()[0].name, "select c from shop.t");
        }
    }

    #[test]
    fn what_writes_is_left_out_and_counted_and_a_log_without_reads_is_refused() {
        let recording = builder(&[(0, 0, "a", "BEGIN"), (1, 0, "a", "UPDATE t SET k = 1"), (2, 0, "a", "SELECT 1;")])
            .finish(false)
            .unwrap();
        assert_eq!(recording.left_out, LeftOut { writes: 1, of_session: 1, ..LeftOut::default() });
        assert_eq!(recording.text(&recording.statement(0).unwrap()).unwrap(), "SELECT 1");
        let refused = builder(&[(0, 0, "a", "DELETE FROM t")]).finish(false).unwrap_err();
        assert!(refused.to_string().contains("1 statements write"), "{refused}");
    }

    #[test]
    fn what_stored_rows_that_the_log_lacks_is_counted_for_itself_or_as_a_write() {
        let left_out = |dialect, text, failed, writes| {
            let mut builder = RecordingBuilder::new(dialect, &LogWanted { writes, ..LogWanted::default() });
            let answer = RecordedAnswer { failed, ..RecordedAnswer::default() };
            builder.add(&FoundStatement { session: "a", text, answer, ..FoundStatement::default() }).unwrap();
            builder
                .add(&FoundStatement { session: "a", text: "SELECT 1", answer, ..FoundStatement::default() })
                .unwrap();
            let left_out = builder.finish(false).unwrap().left_out;
            assert_eq!(left_out.total(), 1, "{text}");
            (left_out.loads, left_out.writes, left_out.repeated)
        };
        let copy = "COPY t (a) FROM STDIN WITH (FORMAT csv);";
        assert_eq!(left_out(LogDialect::Postgres, copy, Some(false), true), (1, 0, 0));
        assert_eq!(left_out(LogDialect::Postgres, copy, Some(false), false), (0, 1, 0));
        assert_eq!(left_out(LogDialect::Postgres, copy, Some(true), true), (0, 0, 1), "it stored nothing");
        assert_eq!(left_out(LogDialect::Postgres, "COPY t TO STDOUT", Some(false), true), (0, 0, 1));
        let load = "LOAD DATA LOCAL INFILE 'a' INTO TABLE t";
        assert_eq!(left_out(LogDialect::Mysql, load, None, true), (1, 0, 0));
        assert_eq!(left_out(LogDialect::Mysql, "LOAD INDEX INTO CACHE t", None, true), (0, 0, 1));
    }

    #[test]
    fn a_statement_that_cannot_be_split_is_skipped_and_named() {
        let recording = builder(&[(0, 0, "a", "SELECT 'a"), (1, 0, "a", "SELECT 1")]).finish(false).unwrap();
        let told: Vec<String> = recording.skipped.kinds().map(|(name, kind)| format!("{name}: {kind}")).collect();
        assert_eq!((recording.len(), told.len()), (1, 1));
        assert_eq!(told[0], "statement_with_an_open_quote_or_comment: 1, first in line 1");
        let nothing = builder(&[(0, 0, "a", "SELECT 'a")]).finish(false).unwrap_err().to_string();
        assert!(nothing.starts_with("it has no statement to replay; skipped: statement_with_an_open"), "{nothing}");
    }

    #[test]
    fn a_clock_that_goes_back_is_cut_there_and_named() {
        let hour = 3_600_000_000;
        let found = [
            (hour, 0, "a", "SELECT 1"),
            (hour + 1_000_000, 0, "b", "SELECT 2"),
            (0, 0, "a", "SELECT 3"),
            (500_000, 0, "b", "SELECT 4"),
        ];
        let recording = builder(&found).finish(false).unwrap();
        let due: Vec<u64> = recording.statements().map(|it| it.unwrap().due.0 / 1_000_000).collect();
        assert_eq!(due, [0, 1_000, 1_000, 1_500]);
        let told: Vec<String> = recording.skipped.kinds().map(|(name, kind)| format!("{name}: {kind}")).collect();
        assert_eq!(told, ["clock_that_goes_back: 1, first in line 3"]);
    }

    #[test]
    fn long_pauses_are_measured() {
        let found = [(0, 0, "a", "SELECT 1"), (10_000_000, 0, "a", "SELECT 2"), (110_000_000, 0, "a", "SELECT 3")];
        let pauses = builder(&found).finish(false).unwrap().pauses;
        let seconds = [pauses.sum, pauses.longest, pauses.longest_after].map(|time| time.0 / 1_000_000_000);
        assert_eq!(seconds, [40, 100, 10]);
    }

    #[test]
    fn ids_are_kept_of_statements_that_make_them_if_these_are_replayed() {
        let kept = |writes: bool, text: &str, affected| {
            let mut builder = RecordingBuilder::new(LogDialect::Mysql, &LogWanted { writes, ..LogWanted::default() });
            let answer = RecordedAnswer { affected: Some(affected), made_id: Some(7), ..RecordedAnswer::default() };
            builder.add(&FoundStatement { session: "a", text, answer, ..FoundStatement::default() }).unwrap();
            let recording = builder.finish(false).unwrap();
            recording.read_text(&recording.statement(0).unwrap(), &mut Vec::new()).unwrap().answer.made_id
        };
        assert_eq!(kept(true, "INSERT INTO t (c) VALUES (1), (2)", 2), Some(7));
        assert_eq!(kept(true, "SET STATEMENT lock_wait_timeout = 5 FOR INSERT INTO t (c) VALUES (1)", 1), Some(7));
        assert_eq!(kept(true, "UPDATE t SET id = last_insert_id(7)", 1), None);
        assert_eq!(kept(false, "SELECT 1", 0), None);
        let mut sent = RecordingBuilder::new(LogDialect::Mysql, &LogWanted { writes: true, ..LogWanted::default() });
        sent.note_each_once();
        let answer = RecordedAnswer { affected: Some(1), made_id: Some(7), ..RecordedAnswer::default() };
        sent.add(&FoundStatement { session: "a", text: "EXECUTE s USING @a", answer, ..FoundStatement::default() })
            .unwrap();
        let recording = sent.finish(false).unwrap();
        let read = recording.read_text(&recording.statement(0).unwrap(), &mut Vec::new()).unwrap();
        assert_eq!(read.answer.made_id, Some(7), "a capture has no other line for it");
        let or_updated = "INSERT INTO t (c) VALUES (1) ON DUPLICATE KEY UPDATE n = n + 1";
        assert_eq!([1, 2].map(|affected| kept(true, or_updated, affected)), [Some(7), Some(0)]);
        let several = "INSERT INTO t (c) VALUES (1), (2) ON DUPLICATE KEY UPDATE n = n + 1";
        assert_eq!(kept(true, several, 2), Some(7));
    }

    #[test]
    fn an_error_in_a_line_of_its_own_is_that_of_the_last_statement_of_its_session() {
        let found = [(0, 0, "a", "SELECT 1"), (1, 0, "b", "SELECT 2"), (2, 0, "a", "SELECT 3")];
        let mut builder = builder(&found);
        builder.end_last_of("a", 3, true).unwrap();
        builder.end_last_of("b", 3, false).unwrap();
        builder.add(&FoundStatement { session: "b", text: "UPDATE t SET c = 1", ..FoundStatement::default() }).unwrap();
        builder.end_last_of("b", 4, true).unwrap();
        let recording = builder.finish(false).unwrap();
        let failed =
            recording.statements().map(|it| recording.read_text(&it.unwrap(), &mut Vec::new()).unwrap().answer.failed);
        assert_eq!(failed.collect::<Vec<_>>(), [None, None, Some(true)], "the UPDATE is left out");
        assert_eq!((recording.of_log, recording.failed_in_log), (3, 1));
    }

    #[test]
    fn what_failed_in_a_transaction_that_was_aborted_need_not_fail_again_in_a_replay_of_reads() {
        let consequences = |dialect: LogDialect, writes: bool| {
            let mut builder = RecordingBuilder::new(dialect, &LogWanted { writes, ..LogWanted::default() });
            for (nth, text) in ["BEGIN", "UPDATE t SET c = 1", "SELECT 1", "ROLLBACK", "SELECT 2"].iter().enumerate() {
                let found = FoundStatement { began_us: nth as i64, session: "a", text, ..FoundStatement::default() };
                builder.add(&found).unwrap();
                builder.end_last_of("a", nth as i64, nth == 1 || nth == 2).unwrap();
            }
            let recording = builder.finish(false).unwrap();
            let told = |it: io::Result<RecordedStatement>| {
                let answer = recording.read_text(&it.unwrap(), &mut Vec::new()).unwrap().answer;
                (answer.is_consequence, answer.failed)
            };
            recording.statements().map(told).collect::<Vec<_>>()
        };
        assert_eq!(consequences(LogDialect::Postgres, false), [(true, Some(true)), (false, None)]);
        assert!(consequences(LogDialect::Postgres, true).iter().all(|(is_consequence, _)| !is_consequence));
        assert_eq!(consequences(LogDialect::Mysql, false), [(false, Some(true)), (false, None)]);
    }

    #[test]
    fn questions_of_plimsoll_itself_are_left_out_and_counted_and_their_errors_are_of_no_other() {
        let own = sql::with_own_mark("SELECT count(*) FROM pg_stat_activity");
        let found = [
            (0, 0, "a", "SELECT 1"),
            (1, 0, "watch", own.as_str()),
            (2, 0, "a", own.as_str()),
            (3, 0, "b", "SELECT 2"),
        ];
        let mut all = builder(&found);
        all.end_last_of("a", 4, true).unwrap();
        let recording = all.finish(false).unwrap();
        assert_eq!((recording.len(), recording.sessions()), (2, 2), "the session of the watch is none");
        assert_eq!(recording.left_out, LeftOut { own: 2, ..LeftOut::default() });
        assert!(recording.statements().all(|it| !it.unwrap().has_failed));
        let nothing = builder(&found[1..3]).finish(false).unwrap_err().to_string();
        assert_eq!(nothing, "it has no statement to replay; 2 are questions of plimsoll itself");
    }

    #[test]
    fn a_session_that_ended_is_another_than_the_next_of_its_name() {
        let mut builder = builder(&[(0, 0, "a", "SELECT 1"), (1, 0, "b", "SELECT 1")]);
        builder.end_session("a").unwrap();
        let found =
            FoundStatement { line: 3, began_us: 2, session: "a", text: "SELECT 3", ..FoundStatement::default() };
        builder.add(&found).unwrap();
        builder.add(&FoundStatement { session: "b", ..found }).unwrap();
        assert_eq!(builder.finish(false).unwrap().sessions(), 3);
    }
}
