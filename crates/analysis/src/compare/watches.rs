//! Two watches of a server side by side: which statements take longer, which are new, and what load each of them saw.
//!
//! In: two runs that were watched. Out: a [`WatchComparison`]. Limits: each is one sample, so that nothing has an interval. Statements correspond by
//! their database and text. One that only one of them has may be among the cheap ones of the other, which are kept as one sum.

use super::arm::ComparedRun;
use crate::PointAnalysis;
use crate::points::limit_uses::{LimitedThing, limit_uses};
use crate::points::watched_course::{known_seconds, watched_rate};
use model::{Observation, ObservedCounts, StatementCost};
use serde::Serialize;
use std::collections::BTreeMap;

/// A statement has changed if its mean time is larger or smaller by this factor, and the next two conditions hold, too.
pub const CHANGE_MIN: f64 = 1.25;
/// It takes this share of the time in one of the watches.
pub const SHARE_MIN: f64 = 0.01;
/// Both watches saw it this often: the mean of a few executions shows nothing.
const CALLS_MIN: u64 = 10;
/// From this factor on the work of an execution has changed.
const EFFORT_CHANGE_MIN: f64 = 2.0;
/// From so many rows read for each row sent on, and so many times as many as before, an index may be gone.
const LOST_INDEX: [f64; 2] = [100.0, 10.0];

/// Two watches: the base and the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WatchComparison {
    /// What clients asked for.
    pub loads: [WatchedLoad; 2],
    /// Those that have changed come first, then the others that both have, then those that only one has; of each the weightiest first.
    pub statements: Vec<StatementChange>,
}

/// What clients asked for in a watch, and what that took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WatchedLoad {
    /// How long it was watched.
    pub seconds: f64,
    /// Of how much of that it is known what the server did, which its rate is over; `None` if that is hardly any.
    pub known_seconds: Option<f64>,
    pub counts: ObservedCounts,
    /// How many of them there were in a second; `None` if they are not counted, or if hardly any of the time is known.
    pub per_s: Option<f64>,
    /// The share of the CPUs of the server's machine that was used; `None` if that is not seen.
    pub cpu_share: Option<f64>,
    /// Whether the statements are known.
    pub has_statements: bool,
    /// Whether there were more statements than are kept.
    pub has_others: bool,
}

/// One statement in both watches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatementChange {
    /// Its text without values.
    pub text: String,
    /// The database that it ran in, if the server reports it.
    pub database: Option<String>,
    /// What it cost in the base and in the other; `None` if that has no such statement.
    pub sides: [Option<StatementFigures>; 2],
}

/// What a statement cost in one watch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StatementFigures {
    pub calls: u64,
    /// The same in a second; `None` if they were counted for no time.
    pub calls_per_s: Option<f64>,
    /// Nanoseconds that an execution took on average.
    pub mean_ns: f64,
    /// Its share of the time of all statements.
    pub time_share: f64,
    /// Rows read for each row sent; `None` if the server does not tell.
    pub rows_read_per_row_sent: Option<f64>,
    /// Pages for each execution; `None` if the server does not tell.
    pub pages_per_call: Option<f64>,
}

/// How much more or less work an execution is: in the base and in the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EffortChange {
    /// Rows read for each row sent.
    RowsRead([f64; 2]),
    /// Pages for each execution.
    Pages([f64; 2]),
}

impl WatchComparison {
    /// `None` if one of the two runs was not watched.
    pub fn from_runs(base: &ComparedRun, new: &ComparedRun) -> Option<WatchComparison> {
        let (of_base, of_new) = (watched(base)?, watched(new)?);
        Some(WatchComparison {
            loads: [load(base, of_base), load(new, of_new)],
            statements: changes([of_base.1, of_new.1]),
        })
    }
}

/// The watched point of a run, which has only that one.
fn watched<'a>(run: &ComparedRun<'a>) -> Option<(&'a PointAnalysis, &'a Observation)> {
    let point = run.analysis.points.first()?;
    Some((point, point.traits.observed.as_ref()?))
}

fn load(run: &ComparedRun, (point, seen): (&PointAnalysis, &Observation)) -> WatchedLoad {
    let summary = point.summary.as_ref();
    let uses = limit_uses(point, &run.analysis.meta.machine);
    WatchedLoad {
        seconds: summary.map_or(0.0, |summary| summary.seconds),
        known_seconds: known_seconds(point),
        counts: seen.counts,
        per_s: watched_rate(point),
        cpu_share: uses.iter().find(|used| used.thing == LimitedThing::Cpu).map(|cpu| cpu.mean),
        has_statements: !seen.statements.is_empty(),
        has_others: seen.others.is_some(),
    }
}

fn changes(seen: [&Observation; 2]) -> Vec<StatementChange> {
    let mut all: BTreeMap<(Option<&str>, &str), [Option<StatementFigures>; 2]> = BTreeMap::new();
    for (side, seen) in seen.into_iter().enumerate() {
        for (name, figures) in figures_of(seen) {
            all.entry(name).or_default()[side] = Some(figures);
        }
    }
    let change = |((database, text), sides): ((Option<&str>, &str), _)| StatementChange {
        text: text.to_owned(),
        database: database.map(str::to_owned),
        sides,
    };
    let mut changes: Vec<StatementChange> = all.into_iter().map(change).collect();
    let order = |one: &StatementChange| (one.is_telling(), one.ratio().is_some());
    changes.sort_by(|a, b| order(b).cmp(&order(a)).then(b.weight().total_cmp(&a.weight())));
    changes
}

/// What each statement of a watch cost. Statements whose texts are cut off may have the same text, and are one.
fn figures_of(seen: &Observation) -> BTreeMap<(Option<&str>, &str), StatementFigures> {
    let mut costs: BTreeMap<(Option<&str>, &str), StatementCost> = BTreeMap::new();
    for one in seen.statements.iter().filter(|one| !one.text.is_empty()) {
        costs.entry((one.database.as_deref(), one.text.as_str())).or_default().add(&one.cost);
    }
    let all_ns = seen.all_statements().time_ns as f64;
    let figures = |cost: StatementCost| StatementFigures {
        calls: cost.calls,
        calls_per_s: seen.calls_per_s(cost.calls),
        mean_ns: cost.time_ns as f64 / cost.calls.max(1) as f64,
        time_share: cost.time_ns as f64 / all_ns.max(1.0),
        rows_read_per_row_sent: cost.rows_read_per_row_sent(),
        pages_per_call: cost.pages_per_call(),
    };
    costs.into_iter().map(|(name, cost)| (name, figures(cost))).collect()
}

impl WatchedLoad {
    /// Whether clients did nothing that is counted.
    pub fn is_idle(&self) -> bool {
        self.per_s.is_some_and(|per_s| per_s <= 0.0)
    }
}

impl StatementChange {
    /// Its time in the other watch, divided by that in the base; `None` if one of them does not have it.
    pub fn ratio(&self) -> Option<f64> {
        let [Some(base), Some(new)] = &self.sides else { return None };
        (base.mean_ns > 0.0 && new.mean_ns > 0.0).then(|| new.mean_ns / base.mean_ns)
    }

    /// Its share of the time, if that is larger.
    fn time_share(&self) -> f64 {
        self.sides.iter().flatten().map(|side| side.time_share).fold(0.0, f64::max)
    }

    /// How much the change of its time matters; of what only one watch has, its share of the time.
    fn weight(&self) -> f64 {
        self.time_share() * self.ratio().map_or(1.0, |ratio| ratio.ln().abs())
    }

    /// Whether its time has changed by so much that one should look, and it matters.
    pub fn is_telling(&self) -> bool {
        let has_calls = self.sides.iter().flatten().all(|side| side.calls >= CALLS_MIN);
        let has_changed = self.ratio().is_some_and(|ratio| ratio.max(1.0 / ratio) >= CHANGE_MIN);
        has_changed && has_calls && self.time_share() >= SHARE_MIN
    }

    /// Whether only the base has it (0), or only the other (1), and it takes its share of the time there.
    pub fn only_in(&self) -> Option<usize> {
        let side = match &self.sides {
            [Some(_), None] => 0,
            [None, Some(_)] => 1,
            _ => return None,
        };
        (self.time_share() >= SHARE_MIN).then_some(side)
    }

    /// How its work has changed; `None` if it has not, or if that is not known.
    pub fn effort_change(&self) -> Option<EffortChange> {
        let [Some(base), Some(new)] = &self.sides else { return None };
        let (change, [before, after]) = match base.rows_read_per_row_sent.zip(new.rows_read_per_row_sent) {
            Some((before, after)) => (EffortChange::RowsRead([before, after]), [before, after]),
            None => {
                let (before, after) = base.pages_per_call.zip(new.pages_per_call)?;
                (EffortChange::Pages([before, after]), [before, after])
            }
        };
        (before.max(after) >= EFFORT_CHANGE_MIN * before.min(after) && before.max(after) > 0.0).then_some(change)
    }

    /// Whether it reads so many more rows than before that an index may be gone.
    pub fn may_have_lost_index(&self) -> bool {
        let [rows, times] = LOST_INDEX;
        matches!(self.effort_change(), Some(EffortChange::RowsRead([before, after])) if after >= rows && after >= times * before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::compare::{ConditionKind, RunComparison, compare_runs};
    use crate::simulated::{Simulation, run_of};
    use model::{Nanos, ObservedStatement, RunData};

    /// A statement that was executed `calls` times, each in `mean_us`, and read `read` rows for one that it sent.
    fn statement(text: &str, calls: u64, mean_us: u64, read: u64) -> ObservedStatement {
        let (time_ns, rows_sent, rows_read) = (calls * mean_us * 1_000, calls, Some(calls * read));
        let cost = StatementCost { calls, time_ns, rows_sent, rows_read, ..StatementCost::default() };
        ObservedStatement { text: text.into(), database: Some("shop".into()), class: None, cost }
    }

    /// A watch of ten seconds with a planned length of its own, in which clients sent `per_s` statements a second.
    fn watch(per_s: u64, statements: Vec<ObservedStatement>) -> RunData {
        let (counts, statements_ns) = (ObservedCounts::Statements, 10_000_000_000);
        let seen = Observation { counts, statements, statements_ns, ..Observation::default() };
        let point = Simulation::counts(&[per_s; 10]).with(|point| {
            point.trial.phases.run = Nanos::from_secs(10 + per_s / 100);
            point.traits.observed = Some(seen);
        });
        run_of(vec![point.point()], Vec::new())
    }

    fn compared(base: &RunData, new: &RunData) -> RunComparison {
        let [of_base, of_new] = [base, new].map(analyse);
        let runs = [("a", base, &of_base), ("b", new, &of_new)];
        compare_runs(&runs.map(|(name, data, analysis)| ComparedRun { name, data, analysis })).remove(0)
    }

    #[test]
    fn the_statement_whose_cost_changed_most_comes_first_and_one_that_only_one_has_last() {
        let base = vec![statement("q", 1_000, 358, 1), statement("r", 1_000, 100, 1), statement("old", 100, 500, 1)];
        let new = vec![statement("r", 1_000, 110, 1), statement("q", 900, 2_210, 8_000), statement("new", 5, 900, 1)];
        let one = compared(&watch(200, base), &watch(190, new));
        let watches = one.watches.expect("both were watched");
        let texts: Vec<&str> = watches.statements.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["q", "r", "old", "new"]);
        let [q, r, old, new] = &watches.statements[..] else { panic!("{watches:?}") };
        assert!(
            (q.ratio().unwrap() - 2_210.0 / 358.0).abs() < 1e-9 && q.is_telling() && q.may_have_lost_index(),
            "{q:?}"
        );
        assert_eq!(q.effort_change(), Some(EffortChange::RowsRead([1.0, 8_000.0])));
        assert!(!r.is_telling() && r.effort_change().is_none(), "10 % is no change that one would look at: {r:?}");
        assert_eq!([old.only_in(), new.only_in(), q.only_in()], [Some(0), None, None], "what is cheap is not told");
        assert_eq!(
            watches.loads.map(|load| (load.per_s, load.is_idle())),
            [(Some(200.0), false), (Some(190.0), false)]
        );
    }

    #[test]
    fn the_rate_of_a_server_that_ended_meanwhile_is_over_the_time_that_is_known_in_all_that_tell_it() {
        let ended = |unknown_s: u64| {
            let mut run = watch(200, Vec::new());
            let seen = run.points[0].traits.observed.as_mut().expect("it was watched");
            seen.unknown_ns = unknown_s * 1_000_000_000;
            let one = compared(&run, &watch(200, Vec::new()));
            let summary = analyse(&run).points.remove(0).summary.expect("it was watched");
            let load = one.watches.expect("both were watched").loads[0];
            ((load.per_s, load.known_seconds), (summary.ops_per_s, load.seconds))
        };
        assert_eq!(ended(0), ((Some(200.0), Some(10.0)), (200.0, 10.0)));
        assert_eq!(ended(5), ((Some(400.0), Some(5.0)), (400.0, 10.0)));
        assert_eq!(ended(10).0, (None, None), "hardly anything is known");
    }

    #[test]
    fn how_often_statements_are_executed_is_not_known_if_they_were_counted_for_no_time() {
        let counted_for = |statements_ns: u64| {
            let mut run = watch(200, vec![statement("q", 1_000, 100, 1)]);
            run.points[0].traits.observed.as_mut().expect("it was watched").statements_ns = statements_ns;
            let watches = compared(&run, &watch(200, Vec::new())).watches.expect("both were watched");
            watches.statements[0].sides[0].expect("the base has it").calls_per_s
        };
        assert_eq!([counted_for(10_000_000_000), counted_for(0)], [Some(100.0), None]);
    }

    #[test]
    fn how_long_a_watch_lasted_is_no_condition() {
        let one = compared(&watch(200, Vec::new()), &watch(100, Vec::new()));
        assert!(one.unlike.iter().all(|condition| condition.kind != ConditionKind::RunLength), "{:?}", one.unlike);
    }

    #[test]
    fn a_watch_in_which_nothing_was_done_is_idle_and_a_run_is_no_watch() {
        let one = compared(&watch(0, Vec::new()), &watch(100, Vec::new()));
        let watches = one.watches.expect("both were watched");
        assert_eq!(watches.loads.map(|load| load.is_idle()), [true, false]);
        let run = run_of(vec![Simulation::counts(&[100; 10]).point()], Vec::new());
        assert!(compared(&run, &watch(100, Vec::new())).watches.is_none());
    }
}
