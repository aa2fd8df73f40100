//! Finds other clients that used the server while it was measured, by the server's own count of statements or transactions.
//!
//! In: that count, which is of all clients; the operations, and how many statements each is. Out: a warning, or an error if others did more than
//! plimsoll. Limits: others are what is left, so few of them are not found. A server that counts transactions does not tell which
//! operations were one: of the numbers that are possible the one is taken that leaves the least to others. Clients that connect for each
//! operation, and sessions that are replayed, send statements that are not counted here, so nothing is judged then.

use super::{Detects, Finding, FindingKind};
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use crate::recorded::counters::{Growth, done_between, growth_of_all};
use model::{CounterRole, Nanos, OpClass, PointData, Tick, Value};
use serde::Serialize;
use words::quantity::{number, percent, range};

/// What other clients did on the server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ForeignStatements {
    /// Their share of all that the server counted.
    pub share: Share,
    /// How much they did in a second.
    pub others_per_s: f64,
    /// How much plimsoll did in a second.
    pub ours_per_s: f64,
    /// What the server counts.
    pub counted: CountedWork,
    /// When they began, since the run phase began; `None` if they were there from its start on.
    pub began_at_ns: Option<Nanos>,
}

/// What a server counts of its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountedWork {
    Statements,
    Transactions,
}

/// Up to this share the numbers are valid.
const SHARE_WARNING: f64 = 0.05;
/// From this share on others did more than plimsoll.
const SHARE_ERROR: f64 = 0.5;
/// Fewer in a second may be plimsoll's own questions.
const OTHERS_LEAST_PER_S: f64 = 50.0;
/// So many questions plimsoll asks each server for each reading of the counters, at most.
const QUESTIONS_PER_READING: f64 = 8.0;
/// How late a server may count a transaction.
const COUNTED_LATE_S: f64 = 1.0;
/// A run that is shorter shows little but the beginnings and ends of such counts.
const LENGTH_LEAST_S: f64 = 2.0;
/// In stretches of this length the beginning is looked for.
const STRETCH: Nanos = Nanos::from_secs(1);

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|_| is_counted_in_full(view)) else { return Vec::new() };
    find_others(view.point, &measured).into_iter().collect()
}

/// Whether the operations are all that plimsoll's clients send.
fn is_counted_in_full(view: &PointView) -> bool {
    let point = view.point;
    let connects = point.kinds.iter().any(|kind| kind.class == OpClass::Connect);
    let is_replay = point.trial.workload.params.0.values().any(|value| matches!(value, Value::Recording(_)));
    !(point.traits.engine.connects_for_each_op || connects || is_replay || view.is_timed_as_whole())
}

fn find_others(point: &PointData, measured: &Measured) -> Option<Finding> {
    let phase = measured.window.phase;
    let [statements, transactions] = [CounterRole::EngineStatements, CounterRole::EngineTransactions]
        .map(|role| growth_of_all(point, role, phase.start, phase.end));
    let counted = if statements.is_some() { CountedWork::Statements } else { CountedWork::Transactions };
    let growth = statements.or(transactions)?;
    let length = growth.to.since(growth.from).as_secs_f64();
    let others = others_in(point, &growth, counted);
    let share = others / growth.amount.max(1.0);
    if length < LENGTH_LEAST_S || share <= SHARE_WARNING || others < OTHERS_LEAST_PER_S * length {
        return None;
    }
    let severity = if share > SHARE_ERROR { Severity::Error } else { Severity::Warning };
    let detail = ForeignStatements {
        share: Share(share),
        others_per_s: others / length,
        ours_per_s: (growth.amount - others) / length,
        counted,
        began_at_ns: begin_of_others(point, &growth, counted, others / length).map(|at| at.since(phase.start)),
    };
    Some(Finding::new(severity, detail).next(NextStep::StopOtherClients))
}

/// How much of `growth` is of others, surely.
fn others_in(point: &PointData, growth: &Growth, counted: CountedWork) -> f64 {
    let length = growth.to.since(growth.from).as_secs_f64();
    let (ours, slack) = match counted {
        CountedWork::Statements => (work_between(point, growth, |queries| queries), 0.0),
        CountedWork::Transactions => {
            let late = COUNTED_LATE_S / length.max(COUNTED_LATE_S);
            let ours = nearest_below(&possible_transactions(point, growth), growth.amount, late);
            (ours, ours * late)
        }
    };
    let readings = length / point.trial.phases.interval.as_secs_f64().max(1e-3) + 2.0;
    let servers = point.traits.engine.endpoints.len().max(1) as f64 * f64::from(point.trial.target.instances);
    growth.amount - ours - slack - readings * servers * QUESTIONS_PER_READING
}

/// What the operations between two readings were, each as many as `each` makes of its statements; those that failed or were tried again
/// included.
fn work_between(point: &PointData, growth: &Growth, each: impl Fn(f64) -> f64) -> f64 {
    let queries = |kind: usize| point.kinds.get(kind).map_or(1.0, |kind| kind.queries_per_op);
    let ended = done_between(point, growth.from, growth.to, |row| {
        (row.ok + row.failed) as f64 * each(queries(usize::from(row.kind.0)))
    });
    let most = point.kinds.iter().map(|kind| each(kind.queries_per_op)).fold(1.0, f64::max);
    let retries = growth_of_all(point, CounterRole::Retries, growth.from, growth.to);
    ended + retries.map_or(0.0, |retries| retries.amount * most)
}

/// The numbers of transactions that the operations can have been: each kind is one for each operation, or one for each statement.
fn possible_transactions(point: &PointData, growth: &Growth) -> Vec<f64> {
    let of_kind = |kind: usize| {
        done_between(point, growth.from, growth.to, |row| {
            if usize::from(row.kind.0) == kind { (row.ok + row.failed) as f64 } else { 0.0 }
        })
    };
    let retries = growth_of_all(point, CounterRole::Retries, growth.from, growth.to).map_or(0.0, |grown| grown.amount);
    let all = || point.kinds.iter().enumerate();
    // Sums of more kinds would be too many: of these the greatest number is taken.
    let of_others: f64 = all().skip(KINDS_MAX).map(|(nth, kind)| of_kind(nth) * kind.queries_per_op.max(1.0)).sum();
    all().take(KINDS_MAX).fold(vec![retries + of_others], |sums, (nth, kind)| {
        let ops = of_kind(nth);
        let mut with = Vec::with_capacity(2 * sums.len());
        with.extend(sums.iter().map(|sum| sum + ops));
        if kind.queries_per_op > 1.0 {
            with.extend(sums.iter().map(|sum| sum + ops * kind.queries_per_op));
        }
        with
    })
}

/// So many kinds give 4,096 sums.
const KINDS_MAX: usize = 12;

/// The greatest of `sums` that is not clearly above `all`, of which the share `late` may not be counted yet; the least if all of them are.
fn nearest_below(sums: &[f64], all: f64, late: f64) -> f64 {
    let can_be = |sum: &f64| sum * (1.0 - late) <= all * (1.0 + SHARE_WARNING);
    let below = sums.iter().copied().filter(can_be).reduce(f64::max);
    below.or_else(|| sums.iter().copied().reduce(f64::min)).unwrap_or(0.0)
}

/// When others began, if they were not there in the first stretch: the first stretch in which they did a good part of what they did on average.
fn begin_of_others(point: &PointData, all: &Growth, counted: CountedWork, per_s: f64) -> Option<Tick> {
    let role = match counted {
        CountedWork::Statements => CounterRole::EngineStatements,
        CountedWork::Transactions => CounterRole::EngineTransactions,
    };
    let mut stretches =
        (0..).map(|nth| all.from + Nanos(nth * STRETCH.0)).take_while(|start| *start + STRETCH <= all.to);
    let busy = |start: &Tick| {
        let growth = growth_of_all(point, role, *start, *start + STRETCH);
        growth.is_some_and(|growth| others_in(point, &growth, counted) > 0.3 * per_s * STRETCH.as_secs_f64())
    };
    stretches.find(busy).filter(|start| *start > all.from)
}

impl FindingKind for ForeignStatements {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning, Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "shared the server with other clients";

    fn is_like(&self, other: &Self) -> bool {
        self.counted == other.counted
    }

    fn title(alike: &[&Self]) -> String {
        let share = range(alike, |one| one.share.0, percent);
        let what = alike[0].counted.words();
        format!("other clients used the server: {share} of its {what} were theirs")
    }

    fn evidence(&self) -> String {
        let what = self.counted.words();
        let began = self.began_at_ns.map(|at| format!(", from about {:.0} s on", at.as_secs_f64()));
        format!(
            "{} {what} per second by others, {} by plimsoll{}",
            number(self.others_per_s),
            number(self.ours_per_s),
            began.unwrap_or_default()
        )
    }
}

impl CountedWork {
    fn words(self) -> &'static str {
        match self {
            CountedWork::Statements => "statements",
            CountedWork::Transactions => "transactions",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    /// A client that does 1,000 operations of so many statements in a second for ten, on a server that counts `all` by the second.
    fn on_server(queries: f64, role: CounterRole, all: impl Fn(f64) -> f64) -> Simulation {
        Simulation::counts(&[1000; 10]).source("server", &["all"], move |second| vec![all(second)]).with(|point| {
            point.kinds[0].queries_per_op = queries;
            let source = point.sources.last_mut().expect("it was added");
            source.counters[0].role = Some(role);
        })
    }

    /// Others do 2,000 in a second from the sixth on.
    fn with_others(ours: f64) -> impl Fn(f64) -> f64 {
        move |second| ours * second + 2000.0 * (second - 5.0).max(0.0)
    }

    fn is_found(simulation: &Simulation) -> bool {
        !simulation.findings("foreign-statements").is_empty()
    }

    #[test]
    fn a_server_that_counts_what_plimsoll_did_has_no_other_clients() {
        assert!(!is_found(&on_server(16.0, CounterRole::EngineStatements, |second| 16_000.0 * second)));
        for per_s in [1000.0, 14_500.0, 16_000.0] {
            // A transaction of all statements, or each by itself, of which the last are not counted yet.
            assert!(
                !is_found(&on_server(16.0, CounterRole::EngineTransactions, move |second| per_s * second)),
                "{per_s}"
            );
        }
    }

    #[test]
    fn others_from_the_middle_of_the_run_on_are_found_with_their_share_and_their_beginning() {
        let simulation = on_server(4.0, CounterRole::EngineStatements, with_others(4000.0));
        assert_eq!(simulation.finding("foreign-statements").severity, Severity::Warning);
        let found: ForeignStatements = simulation.figures();
        assert!((found.others_per_s - 1000.0).abs() < 20.0 && (found.share.0 - 0.2).abs() < 0.01, "{found:?}");
        assert_eq!(found.began_at_ns, Some(Nanos::from_secs(5)));
        assert!(found.evidence().ends_with("from about 5 s on"), "{}", found.evidence());
    }

    #[test]
    fn transactions_of_others_are_found_and_more_than_half_spoil_the_point() {
        let found = |all: f64| on_server(16.0, CounterRole::EngineTransactions, move |second| all * second);
        assert_eq!(found(1500.0).finding("foreign-statements").severity, Severity::Warning);
        assert_eq!(found(5000.0).finding("foreign-statements").severity, Severity::Error);
    }

    #[test]
    fn connections_for_each_operation_and_the_questions_of_plimsoll_itself_are_nobody_else() {
        let others = || on_server(1.0, CounterRole::EngineStatements, |second| 3000.0 * second);
        assert!(is_found(&others()));
        assert!(!is_found(&others().with(|point| point.traits.engine.connects_for_each_op = true)));
        assert!(!is_found(&on_server(1.0, CounterRole::EngineStatements, |second| 1030.0 * second)));
    }
}
