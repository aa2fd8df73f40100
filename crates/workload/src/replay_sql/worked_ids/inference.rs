//! Works out which ids a server made, by how it counts and by what sessions say later.
//!
//! In: what sessions did, by the times at which it began: INSERTs that take ids, and whole numbers that statements say. Out: the first id of each
//! INSERT. A server gives ids one after the other, so an INSERT before which others have taken k has about the last id and k + 1. INSERTs overlap, so
//! that is wrong by a few places; the next statements of the session say the right one: a number near to it that the session has not said before.
//! The ids of one session ascend in the order of its INSERTs ([`matching`](super::matching)). Numbers that do not stand beside the column are near by
//! chance, too: about as often as others are as near to a place above, where no id can be. If that explains more than one in [`FOUND_PER_CHANCE`] of what
//! such numbers show of a counter, they show nothing of it.
//! Those of which nothing is said get the ids that are left, in the order of the log, in which lines stand by the ends of statements. One that failed
//! while it ran took ids that nobody says; it has the next ones, unless another INSERT has them: then it was refused before. Of a counter of
//! which no session ever says an id, nothing proves that order, and nothing needs it: there are no ids.
//! Limits: what a session says is looked at for [`STATEMENTS`] statements. If so many ids were lost that no number is near, [`AGREEING`] INSERTs must
//! agree on how many, by values of their own column. Of an INSERT of several rows, the lowest number that is said is the first id.

use super::matching::{Wanted, ascending};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;

/// So far from where it is expected an id may be, or as far as [`WIDE_ROWS`] of the largest INSERTs reach.
const WINDOW: u64 = 64;
const WIDE_ROWS: u64 = 4;
/// So many ids must be found for each that chance finds, and so many windows above the expected id chance is watched.
const FOUND_PER_CHANCE: usize = 3;
const CHANCE_WINDOWS: u64 = 3;
/// Numbers up to this one are said of anything.
const SMALL_MAX: u64 = 256;
/// So many statements of its session may say the id of an INSERT.
const STATEMENTS: u8 = 20;
/// So many of the numbers that a session said last are known.
const KNOWN_MAX: usize = 128;
/// So many sessions are known at once: 60 MB.
const SESSIONS_MAX: usize = 20_000;
/// Ids are expected where the middle one of the last so many was.
const DEVIATIONS: usize = 9;
/// How many INSERTs must agree that the server counts elsewhere, and how nearly.
const AGREEING: usize = 3;
const AGREE_WITHIN: u64 = 16;
/// So many INSERTs without an id near to where it is expected leave room for one elsewhere.
const UNSEEN: u32 = 8;
const FAR_MAX: usize = 32;
/// So many numbers below those that are expected, and half of the last ones, must agree that the copy has counted further than the server had. They grow
/// from INSERT to INSERT, with one exception: a few rows that are read again and again do not (by chance one series of 12 in 100,000 would).
const AGREEING_LOW: usize = 12;
/// So many taken ids are known of a counter: those of all INSERTs that may overlap.
const TAKEN_MAX: usize = 4_096;
/// So far ahead ids are looked up that are no longer left.
const AHEAD: usize = 512;

/// An INSERT into a table with a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkedInsert {
    /// The place of its text in the recording: by these, INSERTs stand as in the log.
    pub text_place: u64,
    /// Its first id, less the last one before the recording; 0 if it is not known.
    pub id_after: u32,
    /// How many it takes; 0 if that is not known.
    pub rows: u16,
    /// What counts its ids: its place among the [`Numbering`]s.
    pub numbering: u16,
}

/// A column whose ids a counter counts, until that is set.
#[derive(Clone, Copy)]
struct Numbering {
    column: u16,
    counter: usize,
    of: NumberedRows,
}

/// Which INSERTs a numbering counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NumberedRows {
    Inserted,
    /// Of INSERTs that failed: they are in no table.
    Failed,
}

/// That a column had this numbering before its counter was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Replaced {
    pub column: u16,
    pub numbering: u16,
}

/// A whole number in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SaidNumber {
    pub value: u64,
    /// The number of the column that it is a value of, if it is one that a counter fills: several columns may have one counter.
    pub column: Option<u16>,
}

/// All that is known while statements come.
pub(super) struct Inference {
    numberings: Vec<Numbering>,
    /// Of each column the numbering of its next ids.
    current: Vec<u16>,
    /// Of numberings those of the INSERTs that failed.
    failed: HashMap<u16, u16>,
    counters: Vec<Counter>,
    sessions: HashMap<u32, Session>,
    inserts: Vec<WorkedInsert>,
    /// The lowest of the last ids before the recording.
    lowest: u64,
    /// Of each counter whether a session has said an id that was made since the recording began.
    is_said: Vec<bool>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Inferred {
    /// The inserts whose ids are known, by their places.
    pub inserts: Vec<WorkedInsert>,
    /// Of each numbering the column, and the last id before.
    pub numberings: Vec<(u16, u64)>,
    /// Of how many sessions say the id.
    pub said: usize,
    /// How many got one that was left.
    pub left: usize,
    /// How many had failed: they get none.
    pub failed: usize,
    /// The columns of the INSERTs that get none because no session says an id of their counter.
    pub unsaid: BTreeSet<u16>,
    /// By how much the ids that sessions say are lower than those that were expected, if they are not above the last one before the recording.
    pub behind: u64,
}

impl Inference {
    /// Of counters with these `lasts`, the last ids before the recording.
    pub(super) fn new(lasts: &[u64], counter_of: Vec<usize>) -> Inference {
        let counters = lasts.iter().map(|last| Counter { last: *last, ..Counter::default() }).collect();
        let is_said = vec![false; lasts.len()];
        let lowest = lasts.iter().copied().min().unwrap_or(0);
        let of = NumberedRows::Inserted;
        let numberings = (0..).zip(counter_of).map(|(column, counter)| Numbering { column, counter, of });
        let numberings: Vec<Numbering> = numberings.collect();
        let current = numberings.iter().map(|numbering| numbering.column).collect();
        let (failed, sessions, inserts) = (HashMap::new(), HashMap::new(), Vec::new());
        Inference { numberings, current, failed, counters, sessions, inserts, lowest, is_said }
    }

    /// How many INSERTs there are.
    pub(super) fn count(&self) -> usize {
        self.inserts.len()
    }

    /// Whether one of `numbers` may be an id of which `session` has not said anything yet, or one that was made since the recording began: of those it
    /// counts of which column the session says them, also before it inserts.
    pub(super) fn may_be_ids(&self, session: u32, mut numbers: impl Iterator<Item = u64>) -> bool {
        let is_waiting = self.sessions.get(&session).is_some_and(|state| !state.pending.is_empty());
        numbers.any(|number| is_waiting || number > self.lowest)
    }

    /// The next statement of `session` says `numbers`.
    pub(super) fn say(&mut self, session: u32, numbers: &[SaidNumber]) {
        self.make_room();
        for SaidNumber { value, column } in numbers {
            let Some(column) = column else { continue };
            let first = first_counter(&self.numberings, *column);
            let now = self.numberings[usize::from(self.current[usize::from(*column)])].counter;
            self.is_said[first] |= *value > self.counters[first].last.min(self.counters[now].last);
        }
        let (counters, inserts) = (&mut self.counters, &mut self.inserts);
        let Session { statements, known, pending } = self.sessions.entry(session).or_default();
        *statements += 1;
        let first_said = |said: &SaidNumber| {
            // As a value of another column a number says nothing of this one.
            let is_it = |known: &SaidNumber| known.value == said.value && said.column.is_none_or(|_| known == said);
            known.iter().find(|(known, _)| is_it(known)).map(|(_, at)| *at)
        };
        let said: Vec<Said> =
            numbers.iter().map(|number| Said { number: *number, first: first_said(number) }).collect();
        pending.iter_mut().for_each(|pending| pending.left -= 1);
        Looking { said: &said, pending, counters, inserts, used: Vec::new() }.find();
        pending.retain(|pending| pending.left > 0 && inserts[pending.insert].id_after == 0);
        for Said { number, .. } in said {
            if known.iter().all(|(other, _)| *other != number) {
                known.push_back((number, *statements));
            }
        }
        let many = known.len().saturating_sub(KNOWN_MAX);
        known.drain(..many);
    }

    /// The statement that is next in `session` gives its rows these `numbers`: the server has made none of them.
    pub(super) fn give(&mut self, session: u32, numbers: &[SaidNumber]) {
        let known = &mut self.sessions.entry(session).or_default().known;
        for number in numbers {
            known.retain(|(other, _)| other != number);
            known.push_back((*number, 0));
        }
    }

    /// The statement inserts so many `rows` with ids of `column`; `None` if their number is not known.
    pub(super) fn insert(&mut self, session: u32, text_place: u64, column: u16, rows: Option<u16>) {
        let numbering = self.current[usize::from(column)];
        let counter = self.numberings[usize::from(numbering)].counter;
        let insert = self.inserts.len();
        let rows = rows.unwrap_or(0);
        self.inserts.push(WorkedInsert { text_place, id_after: 0, rows, numbering });
        let state = self.sessions.entry(session).or_default();
        let known = &mut self.counters[counter];
        if rows == 0 {
            // What the session says from now on may be its ids.
            state.pending.retain(|pending| pending.counter != counter);
            known.unseen = UNSEEN;
            return;
        }
        state.pending.push(Pending {
            insert,
            counter,
            column,
            rows: rows.into(),
            before: known.counted,
            ids: 0..u64::MAX,
            inserted_at: state.statements,
            left: STATEMENTS,
            is_by_chance: false,
        });
        known.counted += u64::from(rows);
        known.most_rows = known.most_rows.max(rows.into());
        known.unseen = known.unseen.saturating_add(1);
    }

    /// The statement failed while it inserted so many `rows` with ids of `column`, or before that.
    pub(super) fn fail_insert(&mut self, text_place: u64, column: u16, rows: u16) {
        let current = self.current[usize::from(column)];
        let counter = self.numberings[usize::from(current)].counter;
        let known = &mut self.counters[counter];
        known.counted += u64::from(rows);
        known.most_rows = known.most_rows.max(rows.into());
        let Ok(next) = u16::try_from(self.numberings.len()) else { return };
        let numbering = *self.failed.entry(current).or_insert(next);
        if numbering == next {
            self.numberings.push(Numbering { column, counter, of: NumberedRows::Failed });
        }
        self.inserts.push(WorkedInsert { text_place, id_after: 0, rows, numbering });
    }

    /// The counter of `column` goes on behind `last`. Whether it can: there is an end to how often.
    pub(super) fn set_counter(&mut self, column: u16, last: u64) -> bool {
        let set = self.numberings[usize::from(self.current[usize::from(column)])].counter;
        if self.counters[set].counted == 0 && self.counters[set].unseen == 0 {
            self.lowest = self.lowest.min(last);
            self.counters[set] = Counter { last, ..Counter::default() };
            return true;
        }
        self.replace_counter(column, last).is_some()
    }

    /// The same, and what that has replaced.
    pub(super) fn replace_counter(&mut self, column: u16, last: u64) -> Option<Vec<Replaced>> {
        let set = self.numberings[usize::from(self.current[usize::from(column)])].counter;
        self.lowest = self.lowest.min(last);
        let replaced =
            (0..).zip(self.current.iter().copied()).map(|(column, numbering)| Replaced { column, numbering });
        let is_of_counter = |it: &Replaced| self.numberings[usize::from(it.numbering)].counter == set;
        let replaced: Vec<Replaced> = replaced.filter(is_of_counter).collect();
        if self.numberings.len() + replaced.len() > usize::from(u16::MAX) {
            return None;
        }
        let counter = self.counters.len();
        self.counters.push(Counter { last, ..Counter::default() });
        for Replaced { column, .. } in &replaced {
            self.current[usize::from(*column)] = self.numberings.len() as u16;
            self.numberings.push(Numbering { column: *column, counter, of: NumberedRows::Inserted });
        }
        Some(replaced)
    }

    /// What was replaced counts again, where it had stopped.
    pub(super) fn bring_back(&mut self, Replaced { column, numbering }: Replaced) {
        self.current[usize::from(column)] = numbering;
    }

    /// Where the counter of `column` is about: the last id that INSERTs have taken.
    pub(super) fn last_of(&self, column: u16) -> u64 {
        let counter = &self.counters[self.numberings[usize::from(self.current[usize::from(column)])].counter];
        (counter.last + counter.counted).saturating_add_signed(counter.deviations.middle())
    }

    /// Those of which sessions do not say the id get what is left.
    pub(super) fn finish(self) -> Inferred {
        let Inference { numberings, counters, mut inserts, mut is_said, .. } = self;
        drop_chance(&numberings, &counters, &mut inserts);
        let column = |insert: &WorkedInsert| numberings[usize::from(insert.numbering)].column;
        let first = |insert: &WorkedInsert| first_counter(&numberings, column(insert));
        inserts.iter().filter(|insert| insert.id_after > 0).for_each(|insert| is_said[first(insert)] = true);
        let unsaid = inserts.iter().filter(|&insert| !is_said[first(insert)]).map(column).collect();
        let has_failed = |insert: &WorkedInsert| numberings[usize::from(insert.numbering)].of == NumberedRows::Failed;
        let failed = inserts.iter().filter(|&insert| has_failed(insert)).count();
        inserts.retain(|insert| is_said[first(insert)]);
        let said = inserts.iter().filter(|insert| insert.id_after > 0).count();
        let counter = |insert: &WorkedInsert| numberings[usize::from(insert.numbering)].counter;
        inserts.sort_unstable_by_key(|insert| (counter(insert), insert.text_place));
        let of_counters = inserts.chunk_by_mut(|one, next| counter(one) == counter(next));
        let left: usize = of_counters.map(|inserts| give_left(inserts, has_failed)).sum();
        // One statement may take ids of several counters, of which one is known at most.
        inserts.retain(|insert| insert.id_after > 0);
        inserts.sort_unstable_by_key(|insert| insert.text_place);
        let behind = counters.iter().map(|counter| counter.behind).max().unwrap_or(0);
        let numberings = numberings.iter().map(|it| (it.column, counters[it.counter].last)).collect();
        Inferred { inserts, numberings, said, left, failed, unsaid, behind }
    }

    /// Forgets sessions if there are too many: first those that wait for nothing.
    fn make_room(&mut self) {
        if self.sessions.len() < SESSIONS_MAX {
            return;
        }
        self.sessions.retain(|_, state| !state.pending.is_empty());
        if self.sessions.len() > SESSIONS_MAX / 2 {
            self.sessions.clear();
        }
    }
}

/// The counter of `column` before any statement set it: each column's first numbering has its number.
fn first_counter(numberings: &[Numbering], column: u16) -> usize {
    numberings[usize::from(column)].counter
}

/// Takes back the ids that numbers beside no column showed, of counters for which chance would find too many of them.
fn drop_chance(numberings: &[Numbering], counters: &[Counter], inserts: &mut [WorkedInsert]) {
    let mut first: Vec<usize> = (0..counters.len()).collect();
    for Numbering { column, counter, .. } in numberings {
        first[*counter] = first_counter(numberings, *column);
    }
    let mut found = vec![(0usize, 0usize); counters.len()];
    for (counter, first) in counters.iter().zip(&first) {
        let (shown, by_chance) = &mut found[*first];
        *shown += counter.shown.len();
        *by_chance += counter.by_chance;
    }
    for (counter, first) in counters.iter().zip(&first) {
        let (shown, by_chance) = found[*first];
        if FOUND_PER_CHANCE * by_chance > shown {
            counter.shown.iter().for_each(|insert| inserts[*insert as usize].id_after = 0);
        }
    }
}

#[derive(Default)]
struct Session {
    /// How many statements it has sent.
    statements: u32,
    /// What it said last, and in which statement first: no id that the server makes later is among that.
    known: VecDeque<(SaidNumber, u32)>,
    /// Its INSERTs of which the id is not known, in their order.
    pending: Vec<Pending>,
}

#[derive(Clone)]
struct Pending {
    /// Its number among all INSERTs.
    insert: usize,
    counter: usize,
    column: u16,
    rows: u64,
    /// How many ids of the counter those before it have taken.
    before: u64,
    /// Its ids are among these: between those of the session before and after it.
    ids: Range<u64>,
    /// The statement of its session that it is.
    inserted_at: u32,
    /// So many more statements may say its id.
    left: u8,
    /// Whether a number was said that would be its id if ids were where none can be.
    is_by_chance: bool,
}

/// A number in a statement, and in which statement of the session it was said first; `None` if it is this one.
struct Said {
    number: SaidNumber,
    first: Option<u32>,
}

impl Said {
    /// Whether the session had not said it before it inserted.
    fn is_new_to(&self, pending: &Pending) -> bool {
        self.first.is_none_or(|at| at > pending.inserted_at)
    }
}

/// Why a number may be an id.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// It is compared with the column itself.
    Column,
    /// It stands elsewhere.
    Other,
}

/// The numbers of one counter that are ids of INSERTs of the session.
struct Matched {
    counter: usize,
    /// The places of the INSERTs among those that are pending, and their first ids.
    firsts: Vec<(usize, u64)>,
    /// By how much the nearest is elsewhere than expected.
    distance: u64,
    /// The last INSERT.
    last: usize,
}

/// One statement is looked at for ids.
struct Looking<'a> {
    said: &'a [Said],
    pending: &'a mut [Pending],
    counters: &'a mut [Counter],
    inserts: &'a mut [WorkedInsert],
    /// The numbers that are ids.
    used: Vec<u64>,
}

impl Looking<'_> {
    fn find(&mut self) {
        if self.pending.is_empty() || self.said.is_empty() {
            return;
        }
        // What is compared with the column itself says more than another number.
        self.find_near(Evidence::Column);
        self.find_near(Evidence::Other);
        self.count_chance();
        self.find_far();
    }

    /// Counts the INSERTs of which a number is as near to a place above the expected id as an id would be to that: each number for one.
    fn count_chance(&mut self) {
        let mut seen: Vec<(usize, u64)> = Vec::new();
        for pending in self.pending.iter_mut().filter(|pending| !pending.is_by_chance) {
            let counter = &mut self.counters[pending.counter];
            let is_near = |one: &&Said| {
                let SaidNumber { value, column } = one.number;
                let is_other = column.is_none() && value > SMALL_MAX && !self.used.contains(&value);
                let is_seen = seen.contains(&(pending.counter, value));
                is_other && !is_seen && one.is_new_to(pending) && counter.is_by_chance(value, pending)
            };
            if let Some(one) = self.said.iter().find(is_near) {
                seen.push((pending.counter, one.number.value));
                counter.by_chance += 1;
                pending.is_by_chance = true;
            }
        }
    }

    fn is_found(&self, pending: &Pending) -> bool {
        self.inserts[pending.insert].id_after > 0
    }

    /// What fits INSERTs of several counters is of the one that expects it most nearly, then of the last INSERT.
    fn find_near(&mut self, evidence: Evidence) {
        let mut counters: Vec<usize> = self.pending.iter().map(|pending| pending.counter).collect();
        counters.sort_unstable();
        counters.dedup();
        while !counters.is_empty() {
            let matched = counters.iter().filter_map(|counter| self.matched(*counter, evidence));
            let Some(nearest) = matched.min_by_key(|it| (it.distance, Reverse(it.last))) else { return };
            counters.retain(|counter| *counter != nearest.counter);
            nearest.firsts.into_iter().for_each(|(at, first)| self.set(at, first, evidence));
        }
    }

    /// The ids of the INSERTs of `counter` near to where they are expected; `None` if there are none.
    fn matched(&self, counter: usize, evidence: Evidence) -> Option<Matched> {
        let of_counter = &self.counters[counter];
        let is_open = |at: &usize| self.pending[*at].counter == counter && !self.is_found(&self.pending[*at]);
        let open: Vec<usize> = (0..self.pending.len()).filter(is_open).collect();
        let wanted =
            |at: &usize| Wanted { expected: of_counter.expected(&self.pending[*at]), rows: self.pending[*at].rows };
        let wanted: Vec<Wanted> = open.iter().map(wanted).collect();
        let mut said: Vec<&Said> = Vec::new();
        for one in self.said {
            let is_wanted = match evidence {
                Evidence::Column => one.number.column.is_some(),
                Evidence::Other => {
                    let SaidNumber { value, column } = one.number;
                    column.is_none() && value > SMALL_MAX && !self.used.contains(&value)
                }
            };
            if is_wanted && said.iter().all(|other| other.number != one.number) {
                said.push(one);
            }
        }
        let numbers: Vec<u64> = said.iter().map(|one| one.number.value).collect();
        let may_be = |insert: usize, number: usize| {
            let (pending, one) = (&self.pending[open[insert]], said[number]);
            let is_of_column = one.number.column.is_none_or(|column| column == pending.column);
            is_of_column
                && one.is_new_to(pending)
                && of_counter.is_near(one.number.value, pending)
                && of_counter.may_be(one.number.value, pending)
        };
        let pairs = ascending(&wanted, &numbers, may_be);
        let distances = pairs.iter().map(|(insert, number)| numbers[*number].abs_diff(wanted[*insert].expected));
        Some(Matched {
            counter,
            distance: distances.min()?,
            last: pairs.iter().map(|(insert, _)| self.pending[open[*insert]].insert).max()?,
            firsts: pairs.iter().map(|(insert, number)| (open[*insert], numbers[*number])).collect(),
        })
    }

    /// The first id of the INSERT at this place is `first`.
    fn set(&mut self, at: usize, first: u64, evidence: Evidence) {
        let Pending { insert, counter, rows, .. } = self.pending[at];
        self.counters[counter].set(&self.pending[at], first, self.inserts);
        if evidence == Evidence::Other {
            self.counters[counter].shown.extend(u32::try_from(insert).ok());
        }
        self.used.push(first);
        for other in self.pending.iter_mut().filter(|other| other.counter == counter) {
            if other.insert < insert {
                other.ids.end = other.ids.end.min(first);
            } else {
                other.ids.start = other.ids.start.max(first.saturating_add(rows));
            }
        }
    }

    /// Far from where ids are expected other numbers count in the same way: the ids of other tables. So only values of the column count there, for the
    /// last INSERT with it.
    fn find_far(&mut self) {
        for at in 0..self.pending.len() {
            let pending = &self.pending[at];
            let is_last = self.pending[at + 1..].iter().all(|later| later.column != pending.column);
            if !is_last || self.is_found(pending) {
                continue;
            }
            let counter = &mut self.counters[pending.counter];
            let expected = counter.expected(pending);
            let is_far = |one: &&Said| {
                let SaidNumber { value, column } = one.number;
                let is_new = column == Some(pending.column) && one.is_new_to(pending) && !self.used.contains(&value);
                is_new && value > expected && !counter.is_near(value, pending) && counter.may_be(value, pending)
            };
            let far: Vec<u64> = self.said.iter().filter(is_far).map(|one| one.number.value).collect();
            let is_low = |one: &&Said| {
                let SaidNumber { value, column } = one.number;
                column == Some(pending.column) && one.is_new_to(pending) && value <= counter.last
            };
            let low: Vec<u64> = self.said.iter().filter(is_low).map(|one| one.number.value).collect();
            low.into_iter().for_each(|value| counter.note_low(pending, value));
            for value in far {
                if counter.count_elsewhere(Far { pending: pending.clone(), value }, self.inserts) {
                    break;
                }
            }
        }
    }
}

/// A number that may be the first id of an INSERT, if the server counts elsewhere.
#[derive(Clone)]
struct Far {
    pending: Pending,
    value: u64,
}

#[derive(Default)]
struct Counter {
    /// The last id before the recording.
    last: u64,
    /// How many ids INSERTs have taken.
    counted: u64,
    most_rows: u64,
    deviations: Deviations,
    taken: Taken,
    far: VecDeque<Far>,
    /// How many INSERTs there were since an id was found.
    unseen: u32,
    /// The INSERTs whose ids numbers show that do not stand beside the column.
    shown: Vec<u32>,
    /// Of how many such a number was said where no id can be.
    by_chance: usize,
    /// The last numbers that are not above the last id, and by how much they were lower than expected.
    low: VecDeque<(u64, u64)>,
    /// By how much ids are lower than expected, if these agreed.
    behind: u64,
}

impl Counter {
    /// Where the first id of an INSERT would be if the server had counted as the log does.
    fn counted_id(&self, pending: &Pending) -> u64 {
        self.last + pending.before + 1
    }

    fn expected(&self, pending: &Pending) -> u64 {
        self.counted_id(pending).saturating_add_signed(self.deviations.middle())
    }

    fn is_near(&self, value: u64, pending: &Pending) -> bool {
        value.abs_diff(self.expected(pending)) <= window_of(self.most_rows)
    }

    /// Whether `value` is as near to a place where no id can be.
    fn is_by_chance(&self, value: u64, pending: &Pending) -> bool {
        let window = window_of(self.most_rows);
        value.abs_diff(self.expected(pending).saturating_add(CHANCE_WINDOWS * window)) <= window
    }

    /// Whether `value` may be the first id of an INSERT by the others that are known.
    fn may_be(&self, value: u64, pending: &Pending) -> bool {
        let is_counted = value > self.last && value - self.last <= u32::MAX.into();
        let is_between = value >= pending.ids.start && value.saturating_add(pending.rows) <= pending.ids.end;
        is_counted && is_between && self.taken.is_free(value, pending.rows)
    }

    /// Notes that the server may count elsewhere. Whether it does, because several INSERTs agree on it.
    fn count_elsewhere(&mut self, far: Far, inserts: &mut [WorkedInsert]) -> bool {
        let deviation = |far: &Far| far.value.abs_diff(self.counted_id(&far.pending));
        let agrees = |other: &&Far| {
            let differs = other.pending.insert != far.pending.insert && other.value != far.value;
            differs && deviation(other).abs_diff(deviation(&far)) <= AGREE_WITHIN
        };
        let mut agreeing: Vec<Far> = self.far.iter().filter(agrees).cloned().collect();
        agreeing.sort_by_key(|far| far.pending.insert);
        agreeing.dedup_by_key(|far| far.pending.insert);
        // A number that all sessions say is no id.
        agreeing.sort_by_key(|far| far.value);
        agreeing.dedup_by_key(|far| far.value);
        if self.unseen < UNSEEN || agreeing.len() + 1 < AGREEING {
            self.far.push_back(far);
            let many = self.far.len().saturating_sub(FAR_MAX);
            self.far.drain(..many);
            return false;
        }
        self.deviations = Deviations::at(far.value as i64 - self.counted_id(&far.pending) as i64);
        self.far.clear();
        agreeing.push(far);
        agreeing.iter().for_each(|far| self.set(&far.pending, far.value, inserts));
        true
    }

    /// Notes a number that would be the id of an INSERT if the copy had not counted further than the recorded server before.
    fn note_low(&mut self, pending: &Pending, value: u64) {
        let behind = self.counted_id(pending).saturating_sub(value);
        if self.unseen < UNSEEN || behind <= window_of(self.most_rows) {
            return;
        }
        self.low.push_back((value, behind));
        let many = self.low.len().saturating_sub(FAR_MAX);
        self.low.drain(..many);
        let agrees = |(_, other): &&(u64, u64)| other.abs_diff(behind) <= AGREE_WITHIN;
        let agreeing: Vec<u64> = self.low.iter().filter(agrees).map(|(value, _)| *value).collect();
        let falls = agreeing.windows(2).filter(|pair| pair[1] <= pair[0]).count();
        if agreeing.len() >= AGREEING_LOW && 2 * agreeing.len() >= self.low.len() && falls <= 1 {
            self.behind = behind;
        }
    }

    fn set(&mut self, pending: &Pending, first: u64, inserts: &mut [WorkedInsert]) {
        let insert = &mut inserts[pending.insert];
        let Ok(id_after) = u32::try_from(first - self.last) else { return };
        if insert.id_after > 0 || !self.taken.is_free(first, pending.rows) {
            return;
        }
        insert.id_after = id_after;
        self.taken.add(first, pending.rows);
        self.deviations.note(first as i64 - self.counted_id(pending) as i64);
        self.unseen = 0;
    }
}

fn window_of(most_rows: u64) -> u64 {
    WINDOW.max(WIDE_ROWS * most_rows)
}

/// Gives the INSERTs of one counter of which nothing says the id those that are left. They are in the order of the log. Behind an INSERT of an unknown
/// number of rows, nothing is given until an id is known again.
fn give_left(inserts: &mut [WorkedInsert], has_failed: impl Fn(&WorkedInsert) -> bool) -> usize {
    let (mut left, mut is_sure) = (LeftIds::default(), true);
    let (mut ahead, mut given) = (0, 0);
    for at in 0..inserts.len() {
        while ahead < inserts.len().min(at + AHEAD) {
            let WorkedInsert { id_after, rows, .. } = inserts[ahead];
            if id_after > 0 {
                left.taken.add(id_after.into(), rows.into());
            }
            ahead += 1;
        }
        let insert = &mut inserts[at];
        let mut rows = u64::from(insert.rows);
        if rows == 0 {
            is_sure = false;
        } else if has_failed(insert) {
            // What was refused before it ran took none.
            rows = if is_sure && !left.lose(rows) { 0 } else { rows };
        } else if insert.id_after > 0 {
            left.note(insert.id_after.into(), is_sure);
            is_sure = true;
        } else if is_sure && let Some(id_after) = left.take(rows) {
            insert.id_after = id_after;
            given += 1;
        }
        left.pass(rows);
    }
    given
}

/// The ids of a counter that no INSERT has, by what they are more than the last one before the recording.
#[derive(Default)]
struct LeftIds {
    taken: Taken,
    /// How many ids the INSERTs before have taken.
    counted: u64,
    most_rows: u64,
    deviations: Deviations,
    /// The largest one so far: as many ids were lost.
    lost: i64,
    /// All that are lower are taken, or given up.
    lowest: u64,
}

impl LeftIds {
    /// The next INSERT has the id `first`. Whether those before it are known.
    fn note(&mut self, first: u64, is_sure: bool) {
        let deviation = first as i64 - self.counted as i64 - 1;
        if !is_sure {
            (self.deviations, self.lost, self.lowest) = (Deviations::at(deviation), deviation, first);
        }
        self.deviations.note(deviation);
        let middle = self.deviations.middle();
        if middle - self.lost > TAKEN_MAX as i64 {
            (self.lost, self.lowest) = (middle, first);
        }
        while self.lost < middle {
            // The lowest that is still left is a lost one.
            self.raise_lowest(self.expected(self.lost));
            self.lowest += 1;
            self.lost += 1;
        }
    }

    /// Takes the lowest of so many that are left near to where they are expected, or behind: without an id of its own an INSERT gets the next one of the
    /// server, which was told to another.
    fn take(&mut self, rows: u64) -> Option<u32> {
        self.raise_lowest(self.expected(self.deviations.middle()));
        let first = self.taken.free_from(self.lowest, rows);
        self.taken.add(first, rows);
        u32::try_from(first).ok()
    }

    /// So many of the next ones are of no row. Not if an INSERT has them.
    fn lose(&mut self, rows: u64) -> bool {
        let expected = self.expected(self.deviations.middle());
        self.raise_lowest(expected);
        let first = (self.lowest..=expected).find(|first| self.taken.is_free(*first, rows));
        first.into_iter().for_each(|first| self.taken.add(first, rows));
        first.is_some()
    }

    /// The next INSERT takes so many.
    fn pass(&mut self, rows: u64) {
        self.counted += rows;
        self.most_rows = self.most_rows.max(rows);
    }

    fn expected(&self, deviation: i64) -> u64 {
        (self.counted + 1).saturating_add_signed(deviation)
    }

    fn raise_lowest(&mut self, expected: u64) {
        let near = expected.saturating_sub(window_of(self.most_rows)).max(1);
        self.lowest = self.lowest.max(near);
        self.lowest = self.taken.free_from(self.lowest, 1);
    }
}

/// By how much the last ids were others than the count of INSERTs says.
struct Deviations(VecDeque<i64>);

impl Default for Deviations {
    fn default() -> Deviations {
        Deviations::at(0)
    }
}

impl Deviations {
    /// All of them are alike.
    fn at(deviation: i64) -> Deviations {
        Deviations(VecDeque::from([deviation; DEVIATIONS]))
    }

    fn note(&mut self, deviation: i64) {
        self.0.pop_front();
        self.0.push_back(deviation);
    }

    /// The middle one: INSERTs that overtook each other do not change it.
    fn middle(&self) -> i64 {
        let mut sorted: Vec<i64> = self.0.iter().copied().collect();
        sorted.sort_unstable();
        sorted[DEVIATIONS / 2]
    }
}

/// Ids that INSERTs have: the first of each, and the one behind its last.
#[derive(Default)]
struct Taken(BTreeMap<u64, u64>);

impl Taken {
    fn is_free(&self, first: u64, rows: u64) -> bool {
        self.0.range(..first.saturating_add(rows)).next_back().is_none_or(|(_, behind)| *behind <= first)
    }

    /// The lowest from `first` on at which so many are free.
    fn free_from(&self, mut first: u64, rows: u64) -> u64 {
        loop {
            let last = self.0.range(..first.saturating_add(rows)).next_back();
            match last {
                Some((_, behind)) if *behind > first => first = *behind,
                _ => return first,
            }
        }
    }

    fn add(&mut self, first: u64, rows: u64) {
        self.0.insert(first, first.saturating_add(rows));
        if self.0.len() > TAKEN_MAX {
            self.0.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a session does.
    #[derive(Clone, Copy)]
    enum Did {
        /// It inserts so many rows.
        Inserts(u16),
        /// It inserts rows whose number is not known.
        InsertsUnknown,
        /// It fails to insert so many rows.
        Fails(u16),
        /// It says a number.
        Says(u64),
        /// It sets the counter.
        Sets(u64),
        /// It says several numbers in one statement.
        SaysAll(&'static [u64]),
        /// It says a value of the column with this number.
        SaysOf(u64, u16),
    }
    use Did::{Fails, Inserts, InsertsUnknown, Says, SaysAll, SaysOf, Sets};

    const LAST: u64 = 500;

    /// The ids of INSERTs of one counter, whose last one was 500, in the order of what sessions did; 0 for those that are not known.
    fn ids(did: &[(u32, Did)]) -> Vec<u64> {
        let Inferred { inserts, numberings, .. } = inferred(did);
        let places = (0..).zip(did).filter(|(_, (_, did))| matches!(did, Inserts(_) | InsertsUnknown));
        let id = |place: u64| {
            let insert = inserts.iter().find(|insert| insert.text_place == place);
            insert.map_or(0, |it| numberings[usize::from(it.numbering)].1 + u64::from(it.id_after))
        };
        places.map(|(place, _)| id(place)).collect()
    }

    fn inferred(did: &[(u32, Did)]) -> Inferred {
        let mut inference = Inference::new(&[LAST, LAST], vec![0, 1]);
        for (place, (session, did)) in (0..).zip(did) {
            let said = match did {
                Says(value) => vec![SaidNumber { value: *value, column: None }],
                SaysAll(values) => values.iter().map(|value| SaidNumber { value: *value, column: None }).collect(),
                SaysOf(value, column) => vec![SaidNumber { value: *value, column: Some(*column) }],
                Inserts(_) | InsertsUnknown | Fails(_) | Sets(_) => Vec::new(),
            };
            inference.say(*session, &said);
            match did {
                Inserts(rows) => inference.insert(*session, place, 0, Some(*rows)),
                InsertsUnknown => inference.insert(*session, place, 0, None),
                Fails(rows) => inference.fail_insert(place, 0, *rows),
                Sets(last) => assert!(inference.set_counter(0, *last)),
                Says(_) | SaysAll(_) | SaysOf(..) => {}
            }
        }
        inference.finish()
    }

    /// Another session says an id, which proves that ids of the counter are said.
    const SAID: (u32, Did) = (99, SaysOf(LAST + 1, 0));

    #[test]
    fn without_evidence_ids_follow_the_order_of_the_log() {
        let did = [SAID, (1, Inserts(1)), (2, Inserts(3)), (1, Inserts(1))];
        assert_eq!(ids(&did), [501, 502, 505]);
        let Inferred { said, left, .. } = inferred(&did);
        assert_eq!((said, left), (0, 3));
    }

    #[test]
    fn the_server_counts_itself_where_no_session_says_an_id() {
        let did = [(1, Inserts(1)), (2, Inserts(3)), (1, SaysOf(503, 1)), (2, SaysOf(LAST, 0)), (1, Inserts(1))];
        let Inferred { inserts, said, left, unsaid, .. } = inferred(&did);
        assert_eq!((inserts.len(), said, left, unsaid), (0, 0, 0, BTreeSet::from([0])));
        // Neither does one whose ids are said since it was set.
        let did = [(1, Inserts(1)), (1, Sets(3_000)), (1, Inserts(1)), (1, SaysOf(3_001, 0))];
        assert_eq!((ids(&did), inferred(&did).unsaid), (vec![501, 3_001], BTreeSet::new()));
    }

    #[test]
    fn what_a_session_gives_its_rows_is_no_id_of_the_server() {
        let mut inference = Inference::new(&[LAST], vec![0]);
        let of = |value: u64| [SaidNumber { value, column: Some(0) }];
        inference.insert(1, 0, 0, Some(1));
        inference.say(1, &[]);
        inference.give(1, &of(505));
        inference.say(1, &of(505));
        inference.say(1, &of(502));
        assert_eq!(inference.finish().inserts[0].id_after, 2);
    }

    #[test]
    fn neighbours_that_were_exchanged_are_told_by_what_their_sessions_say() {
        let did = [(1, Inserts(1)), (2, Inserts(1)), (1, Says(502)), (2, Says(501)), (1, Inserts(1)), (3, Inserts(1))];
        assert_eq!(ids(&did), [502, 501, 503, 504]);
        let Inferred { said, left, .. } = inferred(&did);
        assert_eq!((said, left), (2, 2));
        // What one session says leaves the others for the others.
        let did = [(1, Inserts(1)), (2, Inserts(1)), (3, Inserts(1)), (1, Says(503))];
        assert_eq!(ids(&did), [503, 501, 502]);
        let several = [(1, Inserts(2)), (2, Inserts(3)), (1, Says(504)), (2, Says(501)), (3, Inserts(1))];
        assert_eq!(ids(&several), [504, 501, 506]);
    }

    #[test]
    fn several_inserts_of_a_session_have_ids_in_their_order() {
        let two = [(1, Inserts(1)), (1, Inserts(1))];
        let then = |did: &[(u32, Did)]| ids(&[&two[..], did].concat());
        assert_eq!(then(&[(1, SaysAll(&[501, 1, 1, 502, 2, 2]))]), [501, 502]);
        assert_eq!(then(&[(1, SaysOf(501, 0))]), [501, 502], "the first one is said alone");
        assert_eq!(then(&[(1, SaysOf(502, 0)), (1, SaysOf(501, 0))]), [501, 502]);
        assert_eq!(then(&[(1, Says(504)), (1, Says(506))]), [501, 504], "it is below what came later");
        // Another session took one in between.
        let between = [(1, Inserts(1)), (2, Inserts(1)), (1, Inserts(1)), (1, SaysAll(&[503, 502])), (2, Says(501))];
        assert_eq!(ids(&between), [502, 501, 503]);
    }

    #[test]
    fn columns_with_one_counter_have_values_of_their_own() {
        let mut inference = Inference::new(&[LAST], vec![0, 0]);
        let of = |column: u16, values: &[u64]| -> Vec<SaidNumber> {
            values.iter().map(|value| SaidNumber { value: *value, column: Some(column) }).collect()
        };
        let mut expected = Vec::new();
        for turn in 0..40u64 {
            let first = LAST + 1 + turn * 3;
            let place = turn * 2;
            inference.say(1, &[]);
            inference.insert(1, place, 0, Some(2));
            inference.say(1, &[]);
            inference.insert(1, place + 1, 1, Some(1));
            inference.say(1, &of(0, &[first, first + 1]));
            inference.say(1, &of(1, &[first + 2]));
            expected.extend([turn as u32 * 3 + 1, turn as u32 * 3 + 3]);
        }
        let found: Vec<u32> = inference.finish().inserts.iter().map(|insert| insert.id_after).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn numbers_that_are_no_ids_are_no_evidence() {
        // Not above the last id, far away, said before the INSERT, of another column, taken.
        for other in [Says(500), Says(7), Says(9_000), Says(509), SaysOf(503, 1), Says(501)] {
            let did = [(1, Says(509)), (2, Inserts(1)), (2, Says(501)), (1, Inserts(1)), (1, other), (1, Says(502))];
            assert_eq!(ids(&did), [501, 502]);
            assert_eq!(inferred(&did).said, 2);
        }
        // A value of the column itself says more.
        let mut inference = Inference::new(&[LAST], vec![0]);
        inference.insert(1, 0, 0, Some(1));
        let said = [(510, None), (501, Some(0))].map(|(value, column)| SaidNumber { value, column });
        inference.say(1, &said);
        assert_eq!(inference.finish().inserts[0].id_after, 1);
    }

    #[test]
    fn numbers_that_are_near_by_chance_are_no_ids() {
        // All from 300 to 1,299, in a mixed order.
        let number = |nth: u64| 300 + nth * 919 % 1_000;
        let other = |nth: u64| [(1, Inserts(1)), (1, Says(number(nth)))];
        let Inferred { inserts, said, .. } = inferred(&(0..200).flat_map(other).collect::<Vec<_>>());
        assert_eq!((inserts.len(), said), (0, 0));
        // Between ids they do no harm.
        let own = |nth: u64| [(1, Inserts(1)), (1, Says(LAST + 1 + nth)), (1, Says(number(nth)))];
        let Inferred { said, .. } = inferred(&(0..200).flat_map(own).collect::<Vec<_>>());
        assert!(said > 150, "{said}");
    }

    #[test]
    fn what_is_said_of_the_column_is_no_chance() {
        let number = |nth: u64| 300 + nth * 919 % 1_000;
        let did = |nth: u64| [(1, Inserts(1)), (1, Says(number(nth))), (2, Inserts(1)), (2, SaysOf(502 + 2 * nth, 0))];
        let Inferred { said, .. } = inferred(&(0..200).flat_map(did).collect::<Vec<_>>());
        assert!((150..=200).contains(&said), "{said}");
    }

    #[test]
    fn a_small_number_is_an_id_if_it_is_said_of_its_column() {
        let first_id = |column: Option<u16>| {
            let mut inference = Inference::new(&[0], vec![0]);
            inference.insert(1, 0, 0, Some(1));
            inference.say(1, &[SaidNumber { value: 21, column: None }]);
            inference.say(1, &[SaidNumber { value: 2, column }]);
            inference.finish().inserts.first().map_or(0, |insert| insert.id_after)
        };
        assert_eq!([first_id(None), first_id(Some(0))], [0, 2]);
    }

    #[test]
    fn a_number_that_fits_several_inserts_is_the_id_of_the_last() {
        let mut inference = Inference::new(&[LAST, LAST], vec![0, 1]);
        inference.say(2, &[SaidNumber { value: 501, column: Some(0) }]);
        inference.insert(1, 0, 0, Some(1));
        inference.insert(1, 1, 1, Some(1));
        inference.say(1, &[SaidNumber { value: 502, column: None }]);
        let ids: Vec<u32> = inference.finish().inserts.iter().map(|insert| insert.id_after).collect();
        assert_eq!(ids, [1, 2]);
    }

    #[test]
    fn what_was_said_since_the_insert_may_be_said_again() {
        // As a value of another counter's column first, then of its own.
        let did = [(1, Inserts(1)), (1, SaysOf(502, 1)), (1, SaysOf(502, 0)), (2, Inserts(1))];
        assert_eq!(ids(&did), [502, 501]);
    }

    #[test]
    fn a_number_beside_its_column_is_an_id_unless_it_was_said_of_the_column_before() {
        let after =
            |said: Did| ids(&[(1, said), (1, Inserts(1)), (1, Says(503)), (1, SaysOf(503, 0)), (2, Inserts(1))]);
        assert_eq!(after(Says(503)), [503, 501]);
        assert_eq!(after(SaysOf(503, 1)), [503, 501]);
        assert_eq!(after(SaysOf(503, 0)), [501, 502]);
        // Several rows.
        let several = [(1, Says(504)), (1, Inserts(2)), (1, SaysOf(504, 0)), (2, Inserts(2))];
        assert_eq!(ids(&several), [504, 501]);
    }

    #[test]
    fn a_session_that_says_the_id_too_late_says_nothing() {
        let says_after = |many: u64| {
            let quiet = (0..many).map(|nth| (1, Says(nth)));
            let did = [(1, Inserts(1))].into_iter().chain(quiet).chain([(1, Says(505))]);
            ids(&did.collect::<Vec<_>>())
        };
        assert_eq!([19, 20].map(says_after), [[505], [0]]);
        assert_eq!(ids(&[(1, Inserts(1)), (1, Inserts(1)), (1, Says(507))]), [501, 507], "of its last INSERT");
    }

    #[test]
    fn ids_that_were_lost_move_what_is_expected() {
        // A server that crashed goes on behind those that it had reserved.
        let mut did = vec![(1, Inserts(1)), (1, Says(501))];
        for id in 533..540 {
            did.extend([(1, Inserts(1)), (1, Says(id))]);
        }
        did.extend([(2, Inserts(1)), (2, Inserts(1))]);
        assert_eq!(ids(&did), [501, 533, 534, 535, 536, 537, 538, 539, 540, 541]);
        // Rows of which the log says nothing.
        let many = (0..20).map(|nth| nth * 2).flat_map(|nth| [(1, Inserts(1)), (1, Says(501 + nth))]);
        assert_eq!(ids(&many.collect::<Vec<_>>()), (0..20).map(|nth| 501 + nth * 2).collect::<Vec<_>>());
    }

    #[test]
    fn behind_an_unknown_number_of_rows_ids_are_known_once_several_sessions_agree() {
        let mut did = vec![(9, Inserts(1)), (9, InsertsUnknown), (8, Inserts(1))];
        for session in 1..=4u32 {
            let id = 90_000 + u64::from(session);
            // The ids of a table without a counter grow as well.
            did.extend([(session, Inserts(1)), (session, Says(7_000 + id)), (session, SaysOf(id, 0))]);
        }
        did.push((9, Inserts(1)));
        assert_eq!(ids(&did), [501, 0, 0, 90_001, 90_002, 90_003, 90_004, 90_005]);
        assert_eq!(ids(&[(9, InsertsUnknown), (8, Inserts(1)), (8, Says(505)), (8, Inserts(1))]), [0, 505, 506]);
    }

    #[test]
    fn ids_that_the_copy_has_given_already_are_noticed() {
        // Of a copy that has counted 300 further, and of one whose sessions read any old rows.
        let behind = |said: fn(u64) -> u64| {
            let turns = (0..40).flat_map(|nth| [(1, Inserts(1)), (1, SaysOf(said(nth), 0))]);
            inferred(&turns.collect::<Vec<_>>()).behind
        };
        assert_eq!(behind(|nth| 201 + nth), 300);
        assert_eq!(behind(|nth| 1 + nth * 7_919 % 400), 0);
        assert_eq!(behind(|nth| 501 + nth), 0);
        assert_eq!(behind(|nth| 480 - nth % 20), 0, "rows that were inserted a short time before");
        assert_eq!(behind(|nth| 1 + nth * 7 % 9), 0, "a few old rows");
    }

    #[test]
    fn a_counter_that_is_set_goes_on_from_there() {
        let did = [(1, Inserts(1)), (1, Sets(3_000)), (2, Inserts(2)), (1, Inserts(1)), (1, SaysOf(3_001, 0))];
        assert_eq!(ids(&did), [501, 3_002, 3_001]);
        // Below what was there, and before anything else.
        assert_eq!(ids(&[SAID, (1, Inserts(2)), (1, Sets(0)), (1, Inserts(1)), (2, Inserts(1))]), [501, 1, 2]);
        assert_eq!(ids(&[SAID, (1, Sets(90)), (1, Sets(70)), (1, Inserts(1))]), [71]);
        assert_eq!(ids(&[SAID, (1, InsertsUnknown), (1, Sets(70)), (1, Inserts(1))]), [0, 71]);
        // What an INSERT before it took is said behind it.
        assert_eq!(ids(&[(1, Inserts(1)), (1, Sets(3_000)), (1, SaysOf(503, 0)), (1, Inserts(1))]), [503, 3_001]);
    }

    #[test]
    fn an_insert_that_failed_takes_the_next_ids_and_has_none() {
        let did = [SAID, (1, Fails(1)), (1, Fails(2)), (1, Inserts(1)), (1, Inserts(1))];
        assert_eq!(ids(&did), [504, 505]);
        let Inferred { inserts, said, left, failed, .. } = inferred(&did);
        assert_eq!((inserts.len(), said, left, failed), (2, 0, 2, 2));
        // What its session says then is the id of the one before.
        assert_eq!(ids(&[(1, Inserts(1)), (1, Fails(1)), (1, SaysOf(501, 0)), (1, Inserts(1))]), [501, 503]);
        // It was refused before it took any: others have these.
        let refused = [(1, Inserts(1)), (1, SaysOf(501, 0)), (1, Fails(1)), (1, Inserts(1)), (1, SaysOf(502, 0))];
        assert_eq!(ids(&[&refused[..], &[(1, Inserts(1))]].concat()), [501, 502, 503]);
        // Behind a number that is not known.
        assert_eq!(ids(&[SAID, (1, InsertsUnknown), (1, Fails(1)), (1, Inserts(1))]), [0, 0]);
        // In each numbering.
        assert_eq!(ids(&[SAID, (1, Fails(1)), (1, Sets(90)), (1, Fails(1)), (1, Inserts(1))]), [92]);
    }

    #[test]
    fn an_insert_gets_an_id_even_if_all_near_ones_are_taken() {
        // Other sessions say ids of rows that were inserted later.
        let said = (2..72u64).flat_map(|nth| [(2, Inserts(1)), (2, SaysOf(LAST + nth - 1, 0))]);
        let did: Vec<(u32, Did)> = [(1, Inserts(1)), (3, Inserts(1))].into_iter().chain(said).collect();
        let ids = ids(&did);
        assert_eq!((&ids[..2], &ids[2..4], ids[71]), (&[571, 572][..], &[501, 502][..], 570));
    }

    #[test]
    fn a_counter_that_was_set_for_a_time_goes_on_where_it_had_stopped() {
        let mut inference = Inference::new(&[LAST], vec![0, 0]);
        inference.say(1, &[SaidNumber { value: LAST + 1, column: Some(0) }]);
        inference.insert(1, 0, 0, Some(2));
        let replaced = inference.replace_counter(1, 90).unwrap();
        inference.insert(1, 1, 0, Some(1));
        replaced.into_iter().for_each(|it| inference.bring_back(it));
        inference.insert(1, 2, 0, Some(1));
        inference.insert(1, 3, 1, Some(1));
        let Inferred { inserts, numberings, .. } = inference.finish();
        let id = |it: &WorkedInsert| numberings[usize::from(it.numbering)].1 + u64::from(it.id_after);
        assert_eq!(inserts.iter().map(id).collect::<Vec<_>>(), [501, 91, 503, 504]);
    }

    #[test]
    fn a_counter_that_is_set_without_end_is_not_known_any_more() {
        let mut inference = Inference::new(&[LAST, LAST], vec![0, 0]);
        let mut set = 0;
        loop {
            inference.insert(1, set, 0, Some(1));
            if !inference.set_counter(1, LAST + set) {
                break;
            }
            set += 1;
        }
        assert_eq!(set, (u64::from(u16::MAX) - 2) / 2);
        assert_eq!(inference.finish().numberings[2..4], [(0, LAST), (1, LAST)]);
    }

    #[test]
    fn sessions_without_end_take_no_memory_without_end() {
        let mut inference = Inference::new(&[0], vec![0]);
        for session in 0..2 * SESSIONS_MAX as u32 + 10 {
            inference.say(session, &[SaidNumber { value: 7, column: None }]);
            inference.insert(session, session.into(), 0, Some(1));
            assert!(inference.sessions.len() <= SESSIONS_MAX);
        }
        let mut taken = Taken::default();
        (0..3 * TAKEN_MAX as u64).for_each(|id| taken.add(id, 1));
        assert_eq!(taken.0.len(), TAKEN_MAX);
    }
}
