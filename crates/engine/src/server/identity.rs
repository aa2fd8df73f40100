//! Who answers: by what a server is known, and whether another one answers in its place, as after a failover.
//!
//! In: rows of name and value, over connections of clients and of plimsoll itself. Out: the servers that are not the first one that answered,
//! each with both names. Limits: a server is known by the names and numbers that it reports of itself. A copy of a server that reports
//! the same, on a machine of the same name, is another one only if it was started before the connection to the first was lost: a server
//! that was started again was started later.

use crate::server::network::TextRows;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The name under which a server reports the whole seconds since its start.
const UPTIME: &str = "uptime";

/// Seconds are whole, an answer takes its time, and clocks run at different speeds.
const START_SLACK: Duration = Duration::from_secs(5);

/// What a server reports of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ServerIdentity {
    /// By what it is known: names and their values.
    marks: BTreeMap<String, String>,
    /// For how long it had run.
    uptime: Option<Duration>,
    /// When it gave this answer.
    seen: Instant,
}

impl ServerIdentity {
    /// From rows of name and value; `None` if none of them says anything.
    fn from_rows(rows: impl IntoIterator<Item = Vec<Option<String>>>, seen: Instant) -> Option<ServerIdentity> {
        let pairs = rows.into_iter().filter_map(crate::counters::name_and_value);
        let mut marks: BTreeMap<String, String> = pairs.map(|(name, value)| (name.to_lowercase(), value)).collect();
        let uptime = marks.remove(UPTIME).and_then(|seconds| seconds.trim().parse().ok()).map(Duration::from_secs);
        marks.retain(|_, value| !value.is_empty());
        (!marks.is_empty()).then_some(ServerIdentity { marks, uptime, seen })
    }

    /// Whether it is not the server that `first` is. What only one of them reports proves nothing. `is_after_loss` if a connection was
    /// lost since: otherwise nothing was started again, and a difference in time is that of a clock.
    fn is_other_than(&self, first: &ServerIdentity, is_after_loss: bool) -> bool {
        let differs = |(name, value): (&String, &String)| first.marks.get(name).is_some_and(|before| before != value);
        self.marks.iter().any(differs) || is_after_loss && self.has_started_before(first)
    }

    /// Whether it is the very server that `other` is, running since the same time: a copy of its files has its names, too.
    fn is_same_as(&self, other: &ServerIdentity) -> bool {
        let shared = || self.marks.iter().filter_map(|(name, value)| Some((value, other.marks.get(name)?)));
        let started_with = match (self.uptime, other.uptime) {
            (Some(own), Some(before)) => {
                let between = self.seen.saturating_duration_since(other.seen);
                own.abs_diff(before + between) <= START_SLACK
            }
            _ => true,
        };
        started_with && shared().next().is_some() && shared().all(|(own, other)| own == other)
    }

    /// Whether it was started well before `first` was.
    fn has_started_before(&self, first: &ServerIdentity) -> bool {
        let between = self.seen.saturating_duration_since(first.seen);
        let (Some(own), Some(before)) = (self.uptime, first.uptime) else { return false };
        own > before + between + START_SLACK
    }

    /// For people: each name with its value, and a server by what differs.
    fn describe(&self) -> String {
        let named: Vec<String> =
            self.marks.iter().map(|(name, value)| format!("{} `{value}`", name.replace('_', " "))).collect();
        named.join(", ")
    }
}

/// Whether one server answers `questions` over both connections. What only one of them reports proves nothing; if they report nothing in
/// common, they count as two.
pub fn is_same_server(
    questions: &[&str],
    mut ask_one: impl FnMut(&str) -> Option<TextRows>,
    mut ask_other: impl FnMut(&str) -> Option<TextRows>,
) -> bool {
    let of = |ask: &mut dyn FnMut(&str) -> Option<TextRows>| {
        let rows: Vec<_> = questions.iter().filter_map(|question| ask(question)).flatten().collect();
        ServerIdentity::from_rows(rows, Instant::now())
    };
    match (of(&mut ask_one), of(&mut ask_other)) {
        (Some(one), Some(other)) => other.is_same_as(&one),
        _ => false,
    }
}

/// A server that answered in the place of the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherServer {
    pub seen: Instant,
    /// What the first one reports of itself.
    pub first: String,
    /// What this one reports of itself.
    pub other: String,
}

/// The servers that answer at one address: shared by all who connect to it.
#[derive(Clone, Debug, Default)]
pub struct IdentityWatch(Arc<Mutex<Sightings>>);

#[derive(Debug, Default)]
struct Sightings {
    /// The queries for what a server reports of itself: rows of name and value. A server may refuse some.
    questions: &'static [&'static str],
    first: Option<ServerIdentity>,
    /// What was seen and not taken yet.
    others: Vec<OtherServer>,
}

impl IdentityWatch {
    /// A watch that asks `questions`. The default one asks nothing.
    pub fn new(questions: &'static [&'static str]) -> IdentityWatch {
        IdentityWatch(Arc::new(Mutex::new(Sightings { questions, ..Sightings::default() })))
    }

    pub fn questions(&self) -> &'static [&'static str] {
        self.lock().questions
    }

    /// Asks over a new connection who answers; the first who ever did is the server that is measured. Returns whether it is another one.
    /// `is_after_loss` if the connection takes the place of a lost one.
    pub fn look(&self, is_after_loss: bool, mut ask: impl FnMut(&str) -> Option<TextRows>) -> bool {
        let questions = self.questions();
        // Without the lock: others need not wait for the answer.
        let rows = questions.iter().filter_map(|question| ask(question)).flatten();
        let Some(found) = ServerIdentity::from_rows(rows.collect::<Vec<_>>(), Instant::now()) else { return false };
        self.lock().compare(found, is_after_loss)
    }

    /// The servers other than the first that were seen since the last call.
    pub fn take_others(&self) -> Vec<OtherServer> {
        std::mem::take(&mut self.lock().others)
    }

    /// What the first server reports of itself.
    pub fn first(&self) -> Option<String> {
        self.lock().first.as_ref().map(ServerIdentity::describe)
    }

    /// What the first server reports under `name`.
    pub fn mark(&self, name: &str) -> Option<String> {
        self.lock().first.as_ref()?.marks.get(name).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Sightings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sightings {
    fn compare(&mut self, found: ServerIdentity, is_after_loss: bool) -> bool {
        let Some(first) = &self.first else {
            self.first = Some(found);
            return false;
        };
        if !found.is_other_than(first, is_after_loss) {
            // Started again, it has another time, with which the next one is compared.
            self.first = Some(ServerIdentity { marks: first.marks.clone(), ..found });
            return false;
        }
        let other = if found.marks == first.marks {
            format!("{}, which was started before it", found.describe())
        } else {
            found.describe()
        };
        // All clients of a server come to the other one, each of them.
        if self.others.iter().all(|known| known.other != other) {
            self.others.push(OtherServer { seen: found.seen, first: first.describe(), other });
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTIONS: &[&str] = &["who"];

    fn answer(host: &str, uptime_s: u64) -> impl FnMut(&str) -> Option<TextRows> {
        let rows = [("Hostname", host.to_owned()), ("port", "3306".to_owned()), ("Uptime", uptime_s.to_string())];
        move |question| {
            assert_eq!(question, "who");
            Some(rows.iter().map(|(name, value)| vec![Some((*name).to_owned()), Some(value.clone())]).collect())
        }
    }

    /// The servers that are others, after a first answer of `a`, which had run for an hour.
    fn others(is_after_loss: bool, host: &str, uptime_s: u64) -> Vec<String> {
        let watch = IdentityWatch::new(QUESTIONS);
        assert!(!watch.look(false, answer("a", 3600)));
        for _ in 0..2 {
            watch.look(is_after_loss, answer(host, uptime_s));
        }
        watch.take_others().into_iter().map(|seen| format!("{} in the place of {}", seen.other, seen.first)).collect()
    }

    #[test]
    fn a_server_of_another_name_is_another_one_and_is_told_once_with_both_names() {
        let told = "hostname `b`, port `3306` in the place of hostname `a`, port `3306`";
        assert_eq!(others(false, "b", 3600), [told]);
        assert!(others(false, "a", 3600).is_empty());
    }

    #[test]
    fn a_server_that_was_started_again_is_the_same_and_one_that_has_run_for_longer_is_not() {
        assert!(others(true, "a", 2).is_empty());
        let [told] = &others(true, "a", 90_000)[..] else { panic!("it was not found") };
        assert!(told.contains("`a`, port `3306`, which was started before it in the place of"), "{told}");
        assert!(others(false, "a", 90_000).is_empty(), "its clock was set");
    }

    #[test]
    fn a_server_is_the_same_over_two_connections_and_a_copy_of_its_files_is_not() {
        let same = |host: &str, uptime_s| is_same_server(QUESTIONS, answer("a", 3600), answer(host, uptime_s));
        assert!(same("a", 3600) && same("a", 3601));
        assert!(!same("b", 3600), "another name");
        assert!(!same("a", 60) && !same("a", 90_000), "it was started at another time");
        assert!(!is_same_server(QUESTIONS, answer("a", 1), |_| None));
    }

    #[test]
    fn what_a_server_does_not_tell_proves_nothing() {
        let watch = IdentityWatch::new(QUESTIONS);
        assert!(!watch.look(true, |_| None));
        assert!(!watch.look(true, answer("a", 1)));
        let without_host = |_: &str| Some(vec![vec![Some("port".to_owned()), Some("3306".to_owned())]]);
        assert!(!watch.look(true, without_host) && watch.take_others().is_empty());
        assert!(!IdentityWatch::default().look(true, |_| panic!("it asks nothing")));
    }
}
