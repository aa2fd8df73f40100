//! What each kind of statement cost while a server was watched, from the sums that the server keeps since it was started.
//!
//! In: all sums, each time they are read. Out: what they grew by. Limits: a sum that is lower than before was forgotten and has begun again, so
//! all of it is new, and no number is ever below 0. If most are lower, the server's account was set to zero: what ran between the reading before
//! and that moment is lost, so neither the rest nor the time since that reading counts. Of many kinds the dearest are kept, and the rest is one
//! sum.

use super::Values;
use super::text::sets_same;
use crate::counters::{ServerSource, grows};
use model::{CounterRole, ObservedStatement, OpClass, STATEMENTS_MAX, StatementCost};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// What all statements together cost.
pub(super) static STATEMENTS: ServerSource = ServerSource {
    name: "statements",
    help: "what statements of a server that is watched cost, by its own account (plimsoll observe)",
    counters: &[
        grows("calls", CALLS, "ops", "statements in its account of their cost").read_as(CounterRole::StatementCalls),
        grows("time_ns", TIME, "ns", "time that they took, waits included").read_as(CounterRole::StatementTime),
    ],
};

const CALLS: &str = "plimsoll_statement_calls";
const TIME: &str = "plimsoll_statement_time";

/// Of more kinds than this, the cheaper half becomes a part of the others: a watch may go on for days.
const KINDS_MAX: usize = 4 * STATEMENTS_MAX;

/// By what a server knows a kind of statement.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct StatementKey {
    pub database: Option<String>,
    /// Its digest or number; empty for all those that the server had no room for.
    pub id: String,
    /// Which of the sums of this kind it is, if the server has several: PostgreSQL has one of each user, and forgets them one by one. What has
    /// grown is added up over all of them.
    pub entry: Option<String>,
}

/// What is known of a kind of statement apart from its cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StatementText {
    pub text: String,
    pub class: Option<OpClass>,
}

/// The account of all statements.
#[derive(Default)]
pub(super) struct StatementLedger {
    /// The sums as they were last read; `None` before the first reading.
    last: Option<HashMap<StatementKey, StatementCost>>,
    totals: HashMap<StatementKey, StatementCost>,
    /// All statements since the watch began, over all accounts.
    all: StatementCost,
    /// Those that are no more in `totals`, and how many kinds they were.
    others: StatementCost,
    others_kinds: u64,
    /// Executions of this account that the server had no room to tell apart.
    untold: u64,
    texts: HashMap<String, StatementText>,
    /// When the sums were first and last read.
    read: Option<(Instant, Instant)>,
    /// The time between two readings in which the server's account was set to zero.
    unseen: Duration,
    /// How many kinds the server has forgotten.
    pub forgotten: u64,
}

/// What a reading has shown.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Grown {
    /// What each kind grew by, those without executions left out; nothing if that is not known.
    pub statements: Vec<(StatementKey, StatementCost)>,
    /// Whether the server's account was set to zero since the reading before.
    pub was_reset: bool,
}

impl StatementLedger {
    /// Takes the sums that were read at `now`. The first ones are what was before the watch.
    pub fn take(&mut self, sums: Vec<(StatementKey, StatementCost)>, now: Instant) -> Grown {
        let sums: HashMap<StatementKey, StatementCost> = sums.into_iter().collect();
        let since = self.read.map_or(Duration::ZERO, |(_, last)| now - last);
        self.read = Some((self.read.map_or(now, |(first, _)| first), now));
        let Some(last) = self.last.take() else {
            self.last = Some(sums);
            return Grown::default();
        };
        let has_fallen = |key: &StatementKey, before: &StatementCost| {
            sums.get(key).is_none_or(|after| after.calls < before.calls || after.time_ns < before.time_ns)
        };
        let fallen = last.iter().filter(|(key, before)| has_fallen(key, before)).count();
        if 2 * fallen > last.len() {
            self.unseen += since;
            self.last = Some(sums);
            return Grown { statements: Vec::new(), was_reset: true };
        }
        self.forgotten += fallen as u64;
        let mut grown: HashMap<StatementKey, StatementCost> = HashMap::new();
        for (key, after) in &sums {
            let before = last.get(key).filter(|before| !has_fallen(key, before)).copied().unwrap_or_default();
            let cost = after.since(&before);
            if cost.calls > 0 || cost.errors > 0 {
                grown.entry(StatementKey { entry: None, ..key.clone() }).or_default().add(&cost);
            }
        }
        self.last = Some(sums);
        Grown { statements: grown.into_iter().collect(), was_reset: false }
    }

    /// Adds what came in a reading.
    pub fn add(&mut self, grown: &[(StatementKey, StatementCost)]) {
        for (key, cost) in grown {
            self.totals.entry(key.clone()).or_default().add(cost);
            self.all.add(cost);
            self.untold += if key.id.is_empty() { cost.calls } else { 0 };
        }
        if self.totals.len() > KINDS_MAX {
            let kept = by_time(std::mem::take(&mut self.totals));
            let (kept, rest) = kept.split_at(KINDS_MAX / 2);
            rest.iter().for_each(|(_, cost)| self.others.add(cost));
            self.others_kinds += rest.len() as u64;
            self.totals = kept.iter().cloned().collect();
            self.texts.retain(|id, _| kept.iter().any(|(key, _)| key.id == *id));
        }
    }

    /// Puts the cost of all statements among `values`.
    pub fn add_to(&self, values: &mut Values) {
        let sums = [(CALLS, self.all.calls), (TIME, self.all.time_ns)];
        values.extend(sums.map(|(name, sum)| (name.to_owned(), sum.to_string())));
    }

    /// Takes one execution of each of `settings`, which the watch has sent itself, out of `grown`. Clients may have set the same: theirs stay.
    pub fn leave_out(&self, settings: &[&str], grown: &mut Vec<(StatementKey, StatementCost)>) {
        for setting in settings {
            let is_same = |(key, cost): &&mut (StatementKey, StatementCost)| {
                cost.calls > 0 && self.text(&key.id).is_some_and(|known| sets_same(&known.text, setting))
            };
            // Sessions in other databases have rows of their own, and a watch sets little.
            if let Some((_, cost)) = grown.iter_mut().filter(is_same).min_by_key(|(_, cost)| cost.calls) {
                let others =
                    StatementCost { calls: cost.calls - 1, time_ns: cost.time_ns - cost.time_ns / cost.calls, ..*cost };
                *cost = if others.calls == 0 { StatementCost::default() } else { others };
            }
        }
        grown.retain(|(_, cost)| cost.calls > 0 || cost.errors > 0);
    }

    /// Starts over if the server was restarted: its sums then count from zero. Texts and totals stay.
    pub fn restart(&mut self) {
        self.last = self.last.take().map(|_| HashMap::new());
    }

    /// Begins a new account at the last reading. Texts of kinds that the server still has stay.
    pub fn begin_anew(&mut self) {
        self.totals.clear();
        (self.others, self.others_kinds, self.untold, self.forgotten) = (StatementCost::default(), 0, 0, 0);
        (self.read, self.unseen) = (self.read.map(|(_, last)| (last, last)), Duration::ZERO);
        let there: HashSet<&str> = self.last.iter().flatten().map(|(key, _)| key.id.as_str()).collect();
        self.texts.retain(|id, _| there.contains(id.as_str()));
    }

    /// The identifiers among `grown` whose text is not known, at most `most`, those that took the most time first.
    pub fn unknown(&self, grown: &[(StatementKey, StatementCost)], most: usize) -> Vec<String> {
        let unknown = grown.iter().filter(|(key, _)| !key.id.is_empty() && !self.texts.contains_key(&key.id));
        let mut unknown: Vec<&(StatementKey, StatementCost)> = unknown.collect();
        unknown.sort_by_key(|(key, cost)| (std::cmp::Reverse(cost.time_ns), key));
        unknown.dedup_by(|one, other| one.0.id == other.0.id);
        unknown.into_iter().take(most).map(|(key, _)| key.id.clone()).collect()
    }

    pub fn learn(&mut self, id: String, text: StatementText) {
        self.texts.insert(id, text);
    }

    pub fn text(&self, id: &str) -> Option<&StatementText> {
        self.texts.get(id)
    }

    /// The share of executions that the server had no room to tell apart.
    pub fn untold_share(&self) -> f64 {
        let all = self.totals.values().fold(self.others.calls, |sum, cost| sum.saturating_add(cost.calls));
        self.untold as f64 / all.max(1) as f64
    }

    /// Whether no sums were read yet.
    pub fn is_unread(&self) -> bool {
        self.last.is_none()
    }

    /// For how long statements were counted.
    pub fn watched(&self) -> Duration {
        self.read.map_or(Duration::ZERO, |(first, last)| (last - first).saturating_sub(self.unseen))
    }

    /// The dearest statements, and all others together with the number of their kinds; `None` if there are no others.
    pub fn dearest(&self) -> (Vec<ObservedStatement>, Option<(ObservedStatement, u64)>) {
        let all = by_time(self.totals.clone());
        let (named, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(key, _)| self.texts.contains_key(&key.id));
        let (kept, left) = named.split_at(named.len().min(STATEMENTS_MAX));
        let mut others = self.others;
        left.iter().chain(&rest).for_each(|(_, cost)| others.add(cost));
        let statement = |(key, cost): &(StatementKey, StatementCost)| {
            let StatementText { text, class } = self.texts.get(&key.id).cloned().unwrap_or_default();
            ObservedStatement { text, database: key.database.clone(), class, cost: *cost }
        };
        let others_kinds = self.others_kinds + (left.len() + rest.len()) as u64;
        let others = (others.calls > 0)
            .then(|| (ObservedStatement { cost: others, ..ObservedStatement::default() }, others_kinds));
        (kept.iter().map(statement).collect(), others)
    }
}

/// `statements`, those that took the most time first; of equal ones in the order of their keys.
fn by_time(statements: HashMap<StatementKey, StatementCost>) -> Vec<(StatementKey, StatementCost)> {
    let mut all: Vec<(StatementKey, StatementCost)> = statements.into_iter().collect();
    all.sort_by(|one, other| other.1.time_ns.cmp(&one.1.time_ns).then_with(|| one.0.cmp(&other.0)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(all: &[(&str, u64, u64)]) -> Vec<(StatementKey, StatementCost)> {
        let one = |(id, calls, time_ns): &(&str, u64, u64)| {
            let key = StatementKey { id: (*id).to_owned(), ..StatementKey::default() };
            (key, StatementCost { calls: *calls, time_ns: *time_ns, ..StatementCost::default() })
        };
        all.iter().map(one).collect()
    }

    /// What each of `readings` has shown, as calls by statement, and whether it showed a reset.
    fn grown(readings: &[&[(&str, u64, u64)]]) -> Vec<(Vec<(String, u64)>, bool)> {
        let mut ledger = StatementLedger::default();
        let shown = |reading: &&[(&str, u64, u64)]| {
            let grown = ledger.take(sums(reading), Instant::now());
            let mut calls: Vec<(String, u64)> =
                grown.statements.into_iter().map(|(key, cost)| (key.id, cost.calls)).collect();
            calls.sort();
            (calls, grown.was_reset)
        };
        readings.iter().map(shown).collect()
    }

    fn calls(all: &[(&str, u64)]) -> Vec<(String, u64)> {
        all.iter().map(|(id, calls)| ((*id).to_owned(), *calls)).collect()
    }

    #[test]
    fn what_was_before_the_watch_is_not_counted_and_a_statement_that_is_new_is() {
        let found = grown(&[&[("a", 100, 9)], &[("a", 103, 9), ("b", 2, 1)], &[("a", 103, 9), ("b", 2, 1)]]);
        assert_eq!(found, [(vec![], false), (calls(&[("a", 3), ("b", 2)]), false), (vec![], false)]);
    }

    #[test]
    fn an_account_that_was_set_to_zero_is_noticed_and_nothing_is_negative() {
        let found = grown(&[&[("a", 100, 90), ("b", 50, 50)], &[("a", 4, 5)], &[("a", 10, 9), ("b", 1, 1)]]);
        assert_eq!(found[1], (vec![], true));
        assert_eq!(found[2], (calls(&[("a", 6), ("b", 1)]), false));
        let all_gone = grown(&[&[("a", 100, 90)], &[], &[("a", 1, 1)]]);
        assert_eq!((all_gone[1].1, &all_gone[2].0), (true, &calls(&[("a", 1)])));
    }

    #[test]
    fn the_time_in_which_an_account_was_set_to_zero_is_in_no_rate() {
        let (mut ledger, start) = (StatementLedger::default(), Instant::now());
        for (second, sum) in [(0, 100), (1, 110), (2, 5), (3, 15)] {
            let grown = ledger.take(sums(&[("a", sum, sum)]), start + Duration::from_secs(second));
            ledger.add(&grown.statements);
        }
        let watched = ledger.watched();
        assert_eq!((ledger.all.calls, watched), (20, Duration::from_secs(2)), "ten each second");
        ledger.begin_anew();
        ledger.take(sums(&[("a", 15, 15)]), start + Duration::from_secs(4));
        assert_eq!(ledger.watched(), Duration::from_secs(1));
    }

    #[test]
    fn a_statement_that_the_server_forgot_begins_again_and_is_no_reset() {
        let mut ledger = StatementLedger::default();
        let three: &[_] = &[("a", 9, 9), ("b", 9, 9), ("c", 9, 9)];
        ledger.take(sums(three), Instant::now());
        let without = ledger.take(sums(&three[..2]), Instant::now());
        assert_eq!((without, ledger.forgotten), (Grown::default(), 1));
        let again = ledger.take(sums(&[("a", 9, 9), ("b", 9, 9), ("c", 2, 1)]), Instant::now());
        assert_eq!(again.statements.iter().map(|(_, cost)| cost.calls).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn what_users_executed_is_added_up_and_one_that_the_server_forgot_makes_no_execution_of_the_others_new() {
        let of = |user: &str, calls| {
            let (id, entry) = ("a".to_owned(), Some(user.to_owned()));
            let cost = StatementCost { calls, time_ns: calls, ..StatementCost::default() };
            (StatementKey { id, entry, database: None }, cost)
        };
        let calls = |grown: Grown| -> Vec<(Option<String>, u64)> {
            grown.statements.into_iter().map(|(key, cost)| (key.entry, cost.calls)).collect()
        };
        let mut ledger = StatementLedger::default();
        ledger.take(vec![of("ann", 1_000), of("bob", 5_000), of("jo", 7)], Instant::now());
        let both = calls(ledger.take(vec![of("ann", 1_003), of("bob", 5_004), of("jo", 7)], Instant::now()));
        assert_eq!(both, [(None, 7)]);
        let without_bob = calls(ledger.take(vec![of("ann", 1_005), of("jo", 7)], Instant::now()));
        assert_eq!((without_bob, ledger.forgotten), (vec![(None, 2)], 1));
    }

    #[test]
    fn a_server_that_was_started_again_counts_from_zero() {
        let mut ledger = StatementLedger::default();
        ledger.take(sums(&[("a", 9, 9)]), Instant::now());
        ledger.restart();
        let after = ledger.take(sums(&[("a", 30, 30)]), Instant::now());
        assert_eq!((after.was_reset, after.statements[0].1.calls), (false, 30));
    }

    #[test]
    fn however_many_kinds_there_are_the_account_is_bounded_and_no_execution_is_lost() {
        let mut ledger = StatementLedger::default();
        let ids: Vec<String> = (0..3_000).map(|nth| format!("{nth:05}")).collect();
        for (nth, id) in ids.iter().enumerate() {
            ledger.learn(id.clone(), StatementText { text: format!("SELECT {id}"), class: None });
            ledger.add(&sums(&[(id, 1, nth as u64)]));
            assert!(ledger.totals.len() <= KINDS_MAX && ledger.texts.len() <= KINDS_MAX + 1);
        }
        let (dearest, others) = ledger.dearest();
        assert_eq!((dearest.len(), dearest[0].text.as_str()), (STATEMENTS_MAX, "SELECT 02999"));
        let (others, kinds) = others.expect("most are");
        assert_eq!((others.cost.calls, kinds), (3_000 - STATEMENTS_MAX as u64, 3_000 - STATEMENTS_MAX as u64));
    }

    #[test]
    fn a_new_account_goes_on_where_the_one_before_ended_and_keeps_no_text_that_the_server_has_forgotten() {
        let mut ledger = StatementLedger::default();
        for (a, b) in [(100, 50), (110, 55)] {
            let grown = ledger.take(sums(&[("a", a, a), ("b", b, b)]), Instant::now());
            ledger.add(&grown.statements);
        }
        for id in ["a", "b"] {
            ledger.learn(id.to_owned(), StatementText { text: id.to_owned(), class: None });
        }
        ledger.take(sums(&[("a", 110, 110)]), Instant::now());
        ledger.begin_anew();
        assert_eq!((ledger.dearest(), ledger.texts.len(), ledger.watched()), ((vec![], None), 1, Duration::ZERO));
        let grown = ledger.take(sums(&[("a", 113, 113)]), Instant::now());
        ledger.add(&grown.statements);
        assert_eq!(ledger.dearest().0.iter().map(|one| one.cost.calls).collect::<Vec<_>>(), [3]);
        let mut values = Values::new();
        ledger.add_to(&mut values);
        assert_eq!(values[CALLS], "18", "the counter goes on over all accounts");
    }

    #[test]
    fn own_settings_are_left_out_as_often_as_they_were_sent_and_those_of_clients_stay() {
        let mut ledger = StatementLedger::default();
        for (id, text) in [("a", "SET SESSION TRANSACTION READ ONLY"), ("b", "SET SESSION `max_statement_time` = ?")] {
            ledger.learn(id.to_owned(), StatementText { text: text.to_owned(), class: None });
        }
        let own =
            ["SET SESSION TRANSACTION READ ONLY", "SET SESSION max_statement_time = 2", "SET lock_timeout = '1s'"];
        let mut grown = sums(&[("a", 10, 1_000), ("b", 1, 500), ("c", 1, 1)]);
        ledger.leave_out(&own, &mut grown);
        assert_eq!(grown, sums(&[("a", 9, 900), ("c", 1, 1)]));
        ledger.leave_out(&[], &mut grown);
        assert_eq!(grown.len(), 2);
        let key = |database: &str| {
            let (database, id) = (Some(database.to_owned()), "a".to_owned());
            StatementKey { database, id, entry: None }
        };
        let one = |database: &str, calls| (key(database), StatementCost { calls, ..StatementCost::default() });
        let mut of_two = vec![one("shop", 7), one("watch", 1)];
        ledger.leave_out(&own[..1], &mut of_two);
        assert_eq!(of_two, [one("shop", 7)]);
    }

    #[test]
    fn statements_for_which_the_server_had_no_room_are_a_share_of_each_account() {
        let mut ledger = StatementLedger::default();
        ledger.add(&sums(&[("a", 10, 1), ("", 30, 1)]));
        assert_eq!(ledger.untold_share(), 0.75);
        ledger.begin_anew();
        assert_eq!(ledger.untold_share(), 0.0);
        ledger.add(&sums(&[("a", 10, 1)]));
        assert_eq!(ledger.untold_share(), 0.0);
    }

    #[test]
    fn texts_are_asked_for_once_and_those_of_the_dearest_first() {
        let mut ledger = StatementLedger::default();
        let grown = sums(&[("a", 1, 1), ("b", 1, 5), ("", 9, 9), ("c", 1, 3)]);
        assert_eq!(ledger.unknown(&grown, 2), ["b", "c"]);
        ledger.learn("b".into(), StatementText::default());
        assert_eq!(ledger.unknown(&grown, 2), ["c", "a"]);
    }
}
