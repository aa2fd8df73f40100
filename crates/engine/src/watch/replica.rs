//! What a watched replica reports of its replication: whether it goes on, and how far it is behind.
//!
//! In: the values of a reading. Out: an [`ObservedReplica`]. Limits: MySQL and MariaDB report the delay in whole seconds and none while a thread of
//! replication stands still; of several channels the one that is furthest behind counts. PostgreSQL reports the age of the last transaction that was
//! replayed, unless it has replayed all that it has received and receives. Errors are kept as numbers: their texts have values of rows.

use super::Values;
use crate::counters::{CounterSpec, level};
use model::ObservedReplica;

/// 1 while replication goes on, and 0 while it stands still.
const RUNS: &str = "plimsoll_replica_runs";
/// Seconds behind the primary.
const BEHIND_S: &str = "plimsoll_replica_behind_s";
/// The counters of a replica of any server.
pub(super) const RUNNING: CounterSpec =
    level("replica_runs", RUNS, "count", "of a replica: 1 while replication goes on, 0 while it stands still");
pub(super) const BEHIND: CounterSpec =
    level("replica_behind_ns", BEHIND_S, "ns", "how far a replica is behind its primary").times(1e9);
/// Why it stands still.
const STOPPED: &str = "plimsoll_replica_stopped";

/// Where the words are that tell whether each of the two threads runs, after the columns that MariaDB has in front.
const RECEIVES_AT: usize = 10;
const APPLIES_AT: usize = 11;
/// The column of the delay comes after this one. Before it some versions have more columns than others.
const BEFORE_DELAY: usize = 30;

/// What the rows of `SHOW REPLICA STATUS` tell, one for each channel; `front` is how many columns come before the usual ones.
pub(super) fn values_of(rows: &[Vec<Option<String>>], front: usize) -> Values {
    let channels: Vec<Channel> = rows.iter().filter_map(|row| Channel::of(row.get(front..)?)).collect();
    if channels.is_empty() {
        return Values::new();
    }
    let stopped = channels.iter().find_map(Channel::stopped);
    let behind_s = channels.iter().filter_map(|channel| channel.behind_s).max();
    let runs = if stopped.is_none() { "1" } else { "0" };
    let known =
        [(RUNS, Some(runs.to_owned())), (BEHIND_S, behind_s.map(|seconds| seconds.to_string())), (STOPPED, stopped)];
    known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

struct Channel {
    receives: bool,
    applies: bool,
    behind_s: Option<u64>,
    /// The numbers of the errors that ended the two threads; 0 without one.
    errors: [u64; 2],
}

impl Channel {
    fn of(row: &[Option<String>]) -> Option<Channel> {
        let text = |at: usize| row.get(at)?.as_deref();
        let number = |at: usize| text(at)?.parse::<u64>().ok();
        // The answer has no names of columns here. Behind the delay is the yes or no of a setting, and then the error of each thread.
        let setting = (BEFORE_DELAY..row.len()).find(|at| matches!(text(*at), Some("Yes" | "No")))?;
        Some(Channel {
            receives: text(RECEIVES_AT)? == "Yes",
            applies: text(APPLIES_AT)? == "Yes",
            behind_s: number(setting - 1),
            errors: [number(setting + 1).unwrap_or(0), number(setting + 3).unwrap_or(0)],
        })
    }

    /// What stands still; `None` if nothing does.
    fn stopped(&self) -> Option<String> {
        let [receiving, applying] = self.errors;
        let (thread, error) = match (self.receives, self.applies) {
            (true, true) => return None,
            (false, true) => ("the thread that receives does not run", receiving),
            (true, false) => ("the thread that applies does not run", applying),
            (false, false) => ("neither of its threads runs", receiving.max(applying)),
        };
        Some(if error > 0 { format!("{thread} (error {error})") } else { thread.to_owned() })
    }
}

/// What a replica has reported in one file.
#[derive(Default)]
pub(super) struct ReplicaAccount {
    seen: Option<ObservedReplica>,
}

impl ReplicaAccount {
    /// Adds what a reading tells, if it is of a replica.
    pub fn take(&mut self, values: &Values) {
        let Some(runs) = values.get(RUNS) else { return };
        let seen = self.seen.get_or_insert_with(ObservedReplica::default);
        let behind_s = values.get(BEHIND_S).and_then(|text| text.parse::<f64>().ok());
        let behind_s = behind_s.filter(|seconds| seconds.is_finite()).map(|seconds| seconds.max(0.0));
        seen.readings += 1;
        seen.is_stopped = runs != "1";
        if seen.is_stopped {
            seen.stopped += 1;
            seen.stopped_by = values.get(STOPPED).cloned().unwrap_or_default();
        }
        seen.behind_s = behind_s;
        seen.behind_max_s = [seen.behind_max_s, behind_s].into_iter().flatten().reduce(f64::max);
    }

    pub fn begin_anew(&mut self) {
        self.seen = None;
    }

    pub fn observed(&self) -> Option<ObservedReplica> {
        self.seen.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer of MariaDB 10.11 from the third column on, up to the errors; `more` are columns that another version has.
    fn row(threads: [&str; 2], behind: Option<&str>, error: &str, more: usize) -> Vec<Option<String>> {
        let head = ["Waiting", "db1", "repl", "3306", "60", "b.000001", "931", "r.000002", "1222", "b.000001"];
        let filters = vec![""; 6 + more];
        let tail = [error, "Error 'canary'", "0", "931", "1529", "None", "", "0", "No", "", "", "", "", ""];
        let texts = head.iter().chain(&threads).copied().chain(filters).chain(tail).map(|text| Some(text.to_owned()));
        let end = ["No", "0", "", error, "Error 'canary'"].map(|text| Some(text.to_owned()));
        texts.chain([behind.map(str::to_owned)]).chain(end).collect()
    }

    fn told(rows: Vec<Vec<Option<String>>>) -> [Option<String>; 3] {
        let values = values_of(&rows, 0);
        assert!(values.values().all(|value| !value.contains("canary")), "{values:?}");
        [RUNS, BEHIND_S, STOPPED].map(|name| values.get(name).cloned())
    }

    #[test]
    fn a_replica_that_runs_tells_its_delay_and_one_that_stands_still_why() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(told(vec![row(["Yes", "Yes"], Some("12"), "0", 0)]), [some("1"), some("12"), None]);
        assert_eq!(told(vec![row(["Yes", "Yes"], Some("12"), "0", 1)]), [some("1"), some("12"), None]);
        let applies = some("the thread that applies does not run (error 1062)");
        assert_eq!(told(vec![row(["Yes", "No"], None, "1062", 0)]), [some("0"), None, applies.clone()]);
        let two = vec![row(["Yes", "Yes"], Some("3"), "0", 0), row(["Yes", "No"], None, "1062", 0)];
        assert_eq!(told(two), [some("0"), some("3"), applies]);
        let connecting = some("the thread that receives does not run");
        assert_eq!(told(vec![row(["Connecting", "Yes"], None, "0", 0)]), [some("0"), None, connecting]);
        assert_eq!(told(Vec::new()), [None, None, None]);
        let mut mariadb = row(["Yes", "Yes"], Some("12"), "0", 0);
        drop(mariadb.splice(0..0, [None, None]));
        assert_eq!(values_of(&[mariadb], 2).get(BEHIND_S).map(String::as_str), Some("12"));
    }

    #[test]
    fn a_file_has_the_delay_at_its_end_the_most_and_how_often_it_stood_still() {
        let mut account = ReplicaAccount::default();
        account.take(&Values::new());
        assert_eq!(account.observed(), None, "no replica");
        for row in [
            row(["Yes", "Yes"], Some("40"), "0", 0),
            row(["Yes", "No"], None, "1062", 0),
            row(["Yes", "Yes"], Some("2"), "0", 0),
        ] {
            account.take(&values_of(&[row], 0));
        }
        let seen = account.observed().expect("it is a replica");
        assert_eq!((seen.readings, seen.stopped, seen.is_stopped), (3, 1, false));
        assert_eq!((seen.behind_s, seen.behind_max_s), (Some(2.0), Some(40.0)));
        assert!(seen.stopped_by.contains("1062"), "{seen:?}");
        account.begin_anew();
        assert_eq!(account.observed(), None);
    }
}
