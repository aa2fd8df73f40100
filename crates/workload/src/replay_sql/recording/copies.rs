//! Parts and copies of a recording: a stretch of its time, and the same sessions several times at once.
//!
//! In: a recording, and which stretch of it or how many copies. Out: a recording that is replayed as any other. Limits: a stretch begins in
//! the middle of the sessions that are open then; with writes each of them first sends again what it had set and prepared. Each copy is a
//! stretch of the same length, so that all of them begin and end together and the load is as many times the recorded one from beginning to
//! end; the first begins at the beginning, each other at a random place of the `shift`. Texts are shared, so a copy takes 50 bytes for
//! each statement. A statement comes after one of its own copy only.

use super::lanes::SessionSpan;
use super::records::{Record, Records, STATEMENTS_MAX, StatementPlace};
use super::set_up::{LeftBehind, SetUp};
use super::{SqlRecording, since};
use crate::random::{mix_word, unit_interval};
use crate::recording_error::RecordingError;
use crate::replay_sql::spill::lost;
use model::Nanos;
use std::collections::HashMap;
use std::sync::Arc;

/// A number that is so near to a whole one is it: what was computed from a rate is off by its rounding.
const WHOLE_WITHIN: f64 = 1e-9;

/// How often the sessions of a recording are replayed at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Copies {
    /// How many copies; of the last one a part of the sessions if it is no whole number.
    pub times: f64,
    /// How far into the recording copies begin at most.
    pub shift: Nanos,
    /// How much of the time of the recording is replayed at most.
    pub length: Nanos,
    /// Of the places and the sessions that are drawn.
    pub seed: u64,
}

/// The copies that a recording was made of.
#[derive(Clone, Debug, PartialEq)]
pub struct MadeCopies {
    /// How many times the statements of the first copy there are.
    pub times: f64,
    /// Where in the recording each begins.
    pub begins: Vec<Nanos>,
    /// The number of the first session of each.
    first_sessions: Vec<u32>,
}

/// What of the statements from `begin` on is taken over.
struct Stretch {
    begin: Nanos,
    width: Nanos,
    /// The share of each session; `None` for all of all.
    shares: Option<Vec<f64>>,
    seed: u64,
}

impl SqlRecording {
    /// The statements of a `width` of its time from `from` on; of all the time that is left if there is no width.
    ///
    /// # Errors
    /// If there are none, or there is no room for them.
    pub fn stretch(&self, from: Nanos, width: Option<Nanos>) -> Result<SqlRecording, RecordingError> {
        let mut made = CopyBuilder::new(self);
        let width = width.unwrap_or(self.length).min(self.length);
        made.add(&Stretch { begin: from, width, shares: None, seed: 0 })?;
        if made.made.records.count() == 0 {
            let length = self.length;
            let text = if from > length {
                format!("it ends {length} after its first statement: nothing is left from {from} on")
            } else {
                format!("it has no statement to replay from {from} after its first on for {width}")
            };
            return Err(RecordingError::of_file(text));
        }
        let mut made = made.finish()?;
        made.measure_pauses()?;
        Ok(made)
    }

    /// The statements of so many copies.
    ///
    /// # Errors
    /// If there are too many, or none, or there is no room for them.
    pub fn copies(self: &Arc<Self>, asked: &Copies) -> Result<Arc<SqlRecording>, RecordingError> {
        let whole = (asked.times + WHOLE_WITHIN).floor();
        let rest = (asked.times - whole).max(0.0);
        let rest = if rest < WHOLE_WITHIN { 0.0 } else { rest };
        let is_one = whole == 1.0 && rest == 0.0;
        let shift = if asked.times > 1.0 && !is_one { asked.shift.min(self.length) } else { Nanos(0) };
        let width = Nanos(self.length.0 - shift.0).min(asked.length);
        if is_one && width == self.length {
            return Ok(self.clone());
        }
        let mut builder = CopyBuilder::new(self);
        let (mut begins, mut first_sessions) = (Vec::new(), Vec::new());
        for copy in 0..whole as u64 + u64::from(rest > 0.0) {
            let begin = place_of(copy, shift, asked.seed);
            begins.push(begin);
            first_sessions.push(builder.made.spans.len() as u32);
            let seed = mix_word(asked.seed ^ mix_word(copy));
            let shares = if copy < whole as u64 { None } else { Some(self.shares(begin, width, rest, seed)?) };
            builder.add(&Stretch { begin, width, shares, seed })?;
        }
        if builder.made.records.count() == 0 {
            return Err(RecordingError::of_file(self.no_sessions(asked.times)));
        }
        let in_first = self.numbers_within(Nanos(0), width)?.count() as f64;
        let set_again = builder.made.set_again - self.set_again;
        let times = (builder.made.records.count() - set_again) as f64 / in_first.max(1.0);
        builder.made.copies = Some(MadeCopies { times, begins, first_sessions });
        builder.finish().map(Arc::new)
    }

    /// That so many `times` the sessions are none.
    fn no_sessions(&self, times: f64) -> String {
        let rate = self.len() as f64 / self.length.as_secs_f64().max(f64::MIN_POSITIVE);
        format!(
            "{times} times its sessions are none, and it has {rate:.3} statements a second: use a larger `times`, or for a search a larger --rate-max, \
             which is in statements a second"
        )
    }

    /// The number of the copy that session number `session` is in, from 0.
    pub fn copy_of(&self, session: u32) -> u32 {
        let first_sessions = self.copies.as_ref().map_or(&[][..], |copies| &copies.first_sessions[..]);
        first_sessions.partition_point(|first| *first <= session).saturating_sub(1) as u32
    }

    /// The numbers of the statements that are due from `begin` on within `width`, the last moment included.
    fn numbers_within(&self, begin: Nanos, width: Nanos) -> Result<std::ops::Range<u64>, RecordingError> {
        let end = Nanos(begin.0.saturating_add(width.0));
        let first = self.count_due(|due| due < begin).map_err(|error| lost(&error))?;
        let last = self.count_due(|due| due <= end).map_err(|error| lost(&error))?;
        Ok(first..last.max(first))
    }

    /// How many statements of each session are before statement `number`; nothing is counted if none comes after another.
    fn counts_before(&self, number: u64) -> Result<Vec<u32>, RecordingError> {
        let mut counts = vec![0; self.spans.len()];
        let counted = if self.keeps_sessions_whole { 0..number } else { 0..0 };
        for record in self.records.within(counted) {
            counts[record.map_err(|error| lost(&error))?.session as usize] += 1;
        }
        Ok(counts)
    }

    /// What each session has left behind before statement `number`; nothing if only reads are replayed, which need none of it.
    fn left_behind(&self, number: u64) -> Result<HashMap<u32, LeftBehind<'_>>, RecordingError> {
        let is_any = self.set_ups.iter().any(|it| *it != SetUp::Nothing);
        let looked_at = if self.keeps_sessions_whole && is_any { 0..number } else { 0..0 };
        let mut all: HashMap<u32, LeftBehind<'_>> = HashMap::new();
        let mut text = Vec::new();
        for record in self.records.within(looked_at) {
            let record = record.map_err(|error| lost(&error))?;
            let Some(set_up) = self.set_ups.get(record.shape as usize).filter(|it| **it != SetUp::Nothing) else {
                continue;
            };
            let read = self.read_text(&self.statement_of(record), &mut text).map_err(|error| lost(&error))?;
            if read.answer.failed != Some(true) {
                all.entry(record.session).or_default().follow(set_up, record);
            }
        }
        Ok(all)
    }

    /// Of each session the share that makes `wanted` of all statements of a stretch: those that come first in a random order are taken whole, so
    /// that a larger share has the sessions of a smaller one. If clients need not finish sessions, one is taken in part.
    fn shares(&self, begin: Nanos, width: Nanos, wanted: f64, seed: u64) -> Result<Vec<f64>, RecordingError> {
        let mut counts = vec![0u64; self.spans.len()];
        let numbers = self.numbers_within(begin, width)?;
        let all = numbers.end - numbers.start;
        for record in self.records.within(numbers) {
            counts[record.map_err(|error| lost(&error))?.session as usize] += 1;
        }
        let mut order: Vec<usize> = (0..counts.len()).filter(|session| counts[*session] > 0).collect();
        order.sort_by_key(|session| mix_word(seed ^ mix_word(*session as u64)));
        let mut left = wanted * all as f64;
        let mut shares = vec![0.0; counts.len()];
        for session in order {
            let share = (left / counts[session] as f64).clamp(0.0, 1.0);
            shares[session] = if self.keeps_sessions_whole { share.round() } else { share };
            left -= counts[session] as f64;
        }
        Ok(shares)
    }
}

/// Where in the first `shift` of the recording copy number `copy` begins, in whole microseconds.
fn place_of(copy: u64, shift: Nanos, seed: u64) -> Nanos {
    if copy == 0 {
        return Nanos(0);
    }
    let place = unit_interval(mix_word(mix_word(seed).wrapping_add(copy))) * shift.0 as f64;
    Nanos(place as u64 / 1_000 * 1_000)
}

/// The place of a statement among those that were taken over: `sessions` has their numbers, and `before` how many of each come before these. `None`
/// if it is none of them.
fn place_in(place: StatementPlace, sessions: &[Option<u32>], before: &[u32]) -> Option<StatementPlace> {
    let nth = place.nth.checked_sub(before[place.session as usize])?;
    Some(StatementPlace { session: sessions[place.session as usize]?, nth })
}

struct CopyBuilder<'a> {
    of: &'a SqlRecording,
    made: SqlRecording,
    /// Of each kind, how many statements were taken over.
    counts: Vec<u64>,
}

impl CopyBuilder<'_> {
    fn new(of: &SqlRecording) -> CopyBuilder<'_> {
        let made = SqlRecording { records: Records::default(), spans: Vec::new(), ..of.without_statements() };
        CopyBuilder { of, made, counts: vec![0; of.kinds.len()] }
    }

    fn add(&mut self, stretch: &Stretch) -> Result<(), RecordingError> {
        let numbers = self.of.numbers_within(stretch.begin, stretch.width)?;
        let before = self.of.counts_before(numbers.start)?;
        let left_behind = self.of.left_behind(numbers.start)?;
        let sent_again = |session: u32| left_behind.get(&session).map_or(0, LeftBehind::count);
        let mut sessions = vec![None; self.of.spans.len()];
        for (number, record) in numbers.clone().zip(self.of.records.within(numbers)) {
            let record = record.map_err(|error| lost(&error))?;
            if !stretch.takes(&record, number) {
                continue;
            }
            let session = *sessions[record.session as usize].get_or_insert(self.made.spans.len() as u32);
            if session as usize == self.made.spans.len() {
                self.made.spans.push(stretch.span_of(&self.of.spans[record.session as usize]));
                for again in left_behind.get(&record.session).into_iter().flat_map(LeftBehind::records) {
                    let in_order = Record { after: None, is_in_transaction: false, ..again };
                    self.push(Record { session, began_us: self.of.first_us, ..in_order })?;
                }
                self.made.set_again += u64::from(sent_again(record.session));
            }
            let began_us = record.began_us - (stretch.begin.0 / 1_000) as i64;
            let after = record.after.and_then(|after| {
                let place = place_in(after, &sessions, &before)?;
                Some(StatementPlace { nth: place.nth + sent_again(after.session), ..place })
            });
            self.push(Record { session, began_us, after, ..record })?;
        }
        Ok(())
    }

    fn push(&mut self, record: Record) -> Result<(), RecordingError> {
        if self.made.records.count() >= STATEMENTS_MAX {
            let text = format!("so many copies are more than {STATEMENTS_MAX} statements; use fewer");
            return Err(RecordingError::of_file(text));
        }
        self.counts[record.kind as usize] += 1;
        self.made.records.push(record)
    }

    fn finish(mut self) -> Result<SqlRecording, RecordingError> {
        self.made.records.seal()?;
        self.made.number_kinds(&self.of.kinds, &self.counts)?;
        let last = self.made.records.get(self.made.records.count() - 1).map_err(|error| lost(&error))?;
        self.made.length = since(self.made.first_us, last.began_us);
        Ok(self.made)
    }
}

impl Stretch {
    /// Whether `record`, which is statement `number`, is taken over.
    fn takes(&self, record: &Record, number: u64) -> bool {
        let share = self.shares.as_ref().map_or(1.0, |shares| shares[record.session as usize]);
        share >= 1.0 || unit_interval(mix_word(self.seed.wrapping_add(number))) < share
    }

    /// When a session is open whose statements are taken over.
    fn span_of(&self, span: &SessionSpan) -> SessionSpan {
        let since_begin = |time: Nanos| Nanos(time.0.saturating_sub(self.begin.0)).min(self.width);
        SessionSpan { begin: since_begin(span.begin), end: since_begin(span.end) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::builder;
    use super::*;
    use crate::replay_sql::log_taker::{FoundStatement, LogTaker};
    use crate::replay_sql::recording::RecordingBuilder;
    use crate::replay_sql::{LogDialect, LogWanted};
    use std::collections::HashSet;

    /// 100 s of a hundred sessions, each of which sends one statement a second.
    fn steady(writes: bool) -> Arc<SqlRecording> {
        let wanted = LogWanted { writes, ..LogWanted::default() };
        let mut builder = RecordingBuilder::new(LogDialect::Mysql, &wanted);
        for (nth, session) in (0..100).flat_map(|second| (0..100).map(move |session| (second, session))) {
            let began_us = nth * 1_000_000 + session * 10_000;
            let (text, name) = (format!("SELECT {session}"), session.to_string());
            let found = FoundStatement {
                line: 1,
                began_us,
                took_us: Some(500),
                session: &name,
                text: &text,
                ..FoundStatement::default()
            };
            builder.add(&found).unwrap();
        }
        Arc::new(builder.finish(false).unwrap())
    }

    fn asked(times: f64) -> Copies {
        Copies { times, shift: Nanos::from_secs(10), length: Nanos(u64::MAX), seed: 7 }
    }

    fn texts(recording: &SqlRecording) -> Vec<(u64, String)> {
        let statement = |it: std::io::Result<crate::replay_sql::RecordedStatement>| {
            let it = it.unwrap();
            (it.due.0 / 1_000, recording.text(&it).unwrap())
        };
        recording.statements().map(statement).collect()
    }

    #[test]
    fn copies_have_as_many_times_the_rate_from_beginning_to_end() {
        let one = steady(false);
        for times in [0.5, 1.0, 2.0, 3.4, 7.0] {
            let made = one.copies(&asked(times)).unwrap();
            let expected_s = if times > 1.0 { 90.0 } else { 100.0 };
            assert!((made.length().as_secs_f64() - expected_s).abs() < 0.5, "{times}: {}", made.length());
            for within_s in [expected_s as u64 / 10, expected_s as u64] {
                let due = made.count_due(|due| due <= Nanos::from_secs(within_s)).unwrap() as f64;
                assert!((due / (100.0 * times * within_s as f64) - 1.0).abs() < 0.02, "{times} in {within_s}: {due}");
            }
            assert!((f64::from(made.sessions()) - 100.0 * times).abs() <= 1.0, "{times}: {} sessions", made.sessions());
            assert_eq!(made.kinds().iter().map(|kind| kind.count).sum::<u64>(), made.len());
        }
        assert!(Arc::ptr_eq(&one, &one.copies(&asked(1.0)).unwrap()), "one copy is the recording itself");
    }

    #[test]
    fn copies_begin_at_places_of_the_seed_and_keep_the_order_of_each_session() {
        let one = steady(true);
        let made = one.copies(&asked(3.0)).unwrap();
        let MadeCopies { times, begins, .. } = made.copies.clone().unwrap();
        assert!((times - 3.0).abs() < 0.001 && begins.len() == 3 && begins[0] == Nanos(0));
        assert!(begins[1] != begins[2] && begins.iter().all(|begin| *begin < Nanos::from_secs(10)));
        assert_eq!(texts(&made), texts(&one.copies(&asked(3.0)).unwrap()), "the same seed, the same copies");
        let other = one.copies(&Copies { seed: 8, ..asked(3.0) }).unwrap();
        assert_ne!(other.copies.clone().unwrap().begins, begins);
        let lanes = made.lanes(300).unwrap();
        for lane in 0..300 {
            let numbers = lanes.numbers_of(lane, 0, 1_000).unwrap();
            assert!(numbers.len() >= 89 && numbers.is_sorted());
        }
        assert_eq!(made.most_at_once(), 300);
    }

    #[test]
    fn a_session_is_in_the_copy_that_it_was_made_for() {
        let one = steady(true);
        let made = one.copies(&asked(2.5)).unwrap();
        let copies = [0, 99, 100, 199, 200, made.sessions() - 1].map(|session| made.copy_of(session));
        assert_eq!(copies, [0, 0, 1, 1, 2, 2]);
        assert_eq!(one.copy_of(7), 0);
    }

    #[test]
    fn a_session_that_begins_in_its_middle_sends_again_what_it_had_set_and_prepared() {
        let found: [(&str, i64, &str); 9] = [
            ("a", 0, "SET search_path TO crm"),
            ("a", 1, "SET search_path TO shop"),
            ("b", 1, "SET search_path TO other"),
            ("a", 2, "PREPARE q AS SELECT 1"),
            ("a", 3, "BEGIN"),
            ("a", 3, "SET LOCAL work_mem = '1MB'"),
            ("a", 4, "COMMIT"),
            ("c", 5, "UPDATE things SET n = 1 WHERE id = 7"),
            ("a", 6, "UPDATE things SET n = 2 WHERE id = 7"),
        ];
        let wanted = LogWanted { writes: true, ..LogWanted::default() };
        let mut builder = RecordingBuilder::new(LogDialect::Postgres, &wanted);
        for (session, second, text) in found {
            let (began_us, took_us) = (second * 1_000_000, Some(10));
            builder.add(&FoundStatement { began_us, took_us, session, text, ..FoundStatement::default() }).unwrap();
        }
        let one = Arc::new(builder.finish(false).unwrap());
        let part = one.stretch(Nanos::from_secs(5), None).unwrap();
        let expected = [
            (0, "UPDATE things SET n = 1 WHERE id = 7"),
            (0, "SET search_path TO shop"),
            (0, "PREPARE q AS SELECT 1"),
            (1_000_000, "UPDATE things SET n = 2 WHERE id = 7"),
        ];
        assert_eq!(texts(&part), expected.map(|(us, text)| (us, text.to_owned())));
        assert_eq!((part.set_again, part.kinds().iter().map(|kind| kind.count).sum::<u64>()), (2, 4));
        let lanes = part.lanes(2).unwrap();
        let numbers = (0..2).map(|lane| lanes.numbers_of(lane, 0, 9).unwrap()).find(|numbers| numbers.len() == 3);
        assert_eq!(numbers, Some(vec![1, 2, 3]), "its client sends them first");
        let middle = one.stretch(Nanos::from_secs(6), None).unwrap();
        assert_eq!((middle.len(), middle.set_again, one.set_again), (3, 2, 0));
    }

    #[test]
    fn a_larger_number_of_copies_has_the_sessions_of_a_smaller_one() {
        for writes in [false, true] {
            let one = steady(writes);
            let [few, many] = [1.3, 1.6].map(|times| {
                let made = one.copies(&asked(times)).unwrap();
                texts(&made).into_iter().collect::<HashSet<(u64, String)>>()
            });
            assert!(few.is_subset(&many) && few.len() < many.len(), "{writes}");
        }
    }

    #[test]
    fn a_part_of_few_sessions_is_a_part_of_the_statements_unless_sessions_are_whole() {
        let found: Vec<(i64, u64, &str, &str)> = (0..1_000).map(|nth| (nth * 1_000, 10, "only", "SELECT 1")).collect();
        let one = Arc::new(builder(&found).finish(false).unwrap());
        let half = one.copies(&asked(0.5)).unwrap();
        assert!((450..550).contains(&half.len()), "{}", half.len());
        let mut whole = builder(&found).finish(false).unwrap();
        whole.keeps_sessions_whole = true;
        let copies = Copies { shift: Nanos(0), ..asked(1.7) };
        let whole = Arc::new(whole);
        assert_eq!(whole.copies(&copies).unwrap().sessions(), 2);
        let none = whole.copies(&asked(0.1)).unwrap_err().to_string();
        assert!(none.contains("0.1 times its sessions are none"), "{none}");
        assert!(none.ends_with("a larger --rate-max, which is in statements a second"), "{none}");
    }

    #[test]
    fn a_stretch_has_the_statements_of_its_time_and_a_length_ends_copies() {
        let one = steady(false);
        let part = one.stretch(Nanos::from_secs(20), Some(Nanos::from_secs(30))).unwrap();
        assert_eq!((part.len(), part.sessions(), part.length()), (3_001, 100, Nanos::from_secs(30)));
        let tail = one.stretch(Nanos::from_secs(95), None).unwrap();
        assert_eq!(tail.len(), 500);
        let nothing = one.stretch(Nanos::from_secs(200), None).unwrap_err().to_string();
        assert!(
            nothing.starts_with("it ends 100 s after its first statement: nothing is left from 200 s"),
            "{nothing}"
        );
        let short = one.copies(&Copies { length: Nanos::from_secs(5), ..asked(2.0) }).unwrap();
        assert!((1_000..=1_002).contains(&short.len()), "{}", short.len());
    }
}
