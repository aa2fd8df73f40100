//! Finds points at which the generator was the bottleneck.
//!
//! In: the CPU of the client threads, and how late they woke up. Out: warnings.
//! Limits: with an embedded engine its work is on the client threads and cannot be told apart; the scripted engine does
//! nothing else than use the clients' CPU.

use super::detector::{Detector, Measured, PointView};
use crate::facts::{cpu_count, is_scripted};
use crate::text::{percent, time};
use crate::{Finding, Severity};
use model::Value;
use model::units::three_digits;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "client-bound",
    help: "the generator was the bottleneck, or too late to measure well",
    explain: "The client threads used more than 80 % of the cores they can run on (one per client, or as many as \
              `threads` says, at most those that plimsoll may use), so the rate is what they could ask for and not what the \
              target can carry. Or, in an open loop, clients that were waiting for an arrival woke up so late that it is more \
              than 5 % of the 99th percentile: the response times contain the scheduler. For the file engine the clients' CPU \
              includes the kernel's part of the I/O: reads from the page cache are bound by it.",
    detect,
};

// Above this, waiting for a CPU is a visible part of every response time.
const CORES_SHARE_MAX: f64 = 0.80;
const LAG_SHARE_MAX: f64 = 0.05;
// Fewer late arrivals cannot move the 99th percentile.
const LAGGING_SHARE_MIN: f64 = 0.01;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    busy(view, &measured).into_iter().chain(lagging(&measured)).collect()
}

/// The share of the cores open to the client threads that they used; `None` where it is not known or means nothing.
pub fn cores_share(view: &PointView, measured: &Measured) -> Option<f64> {
    let cores = f64::from(threads(view, measured)).min(cpu_count(view.environment)?);
    let used = measured.summary.generator.cores_used.filter(|_| !is_scripted(view.point))?;
    Some(used / cores)
}

/// How many client threads there were, those of clients beside the run among them: as many as these, or fewer that are shared.
fn threads(view: &PointView, measured: &Measured) -> u32 {
    let trial = &view.point.trial;
    let shared = match trial.target.params.0.get("threads") {
        Some(Value::Int(threads @ 1..)) => u32::try_from(*threads).unwrap_or(u32::MAX),
        _ => u32::MAX,
    };
    let beside = measured.summary.beside.as_ref().map_or(0, |beside| beside.clients);
    trial.load.clients.min(shared) + beside.min(shared)
}

/// Whether the client threads' CPU was the limit.
pub fn is_busy(view: &PointView, measured: &Measured) -> bool {
    cores_share(view, measured).is_some_and(|share| share > CORES_SHARE_MAX)
}

fn busy(view: &PointView, measured: &Measured) -> Option<Finding> {
    let share = cores_share(view, measured).filter(|share| *share > CORES_SHARE_MAX)?;
    let used = measured.summary.generator.cores_used?;
    let title = format!("the client threads used {} of the cores they can run on", percent(share));
    let evidence = format!("{} cores busy with {} client threads", three_digits(used), threads(view, measured));
    let next_step = "use more clients (or `threads`) where cores are free, or run the clients on another machine";
    Some(DETECTOR.finding(Severity::Warning, title, evidence, next_step))
}

fn lagging(measured: &Measured) -> Option<Finding> {
    let summary = measured.summary;
    let lag_ns = summary.generator.lag_mean_ns?;
    // Only clients with an open loop wait for arrivals: in a closed one those beside it.
    let waiting = summary.beside.as_ref().filter(|_| summary.offered_per_s.is_none());
    let (response_ns, ok) = match waiting {
        Some(beside) => (beside.response_ns, beside.ops),
        None => (summary.response_ns, measured.window.recorded.ok),
    };
    let p99 = response_ns?.p99 as f64;
    let intervals = &measured.window.phase.intervals;
    let lagging: u64 = intervals.iter().map(|interval| interval.generator.lag_count).sum();
    let many = lagging as f64 >= LAGGING_SHARE_MIN * ok as f64;
    if !many || lag_ns <= LAG_SHARE_MAX * p99 {
        return None;
    }
    let title = format!("clients woke up {} late on average, {} of p99", time(lag_ns), percent(lag_ns / p99));
    let longest = summary.generator.lag_max_ns.unwrap_or(0);
    let evidence = format!("{lagging} arrivals, the latest {}; p99 {}", time(longest as f64), time(p99));
    let next_step = "leave CPUs free for the clients; compare service times, which do not contain it";
    Some(DETECTOR.finding(Severity::Warning, title, evidence, next_step))
}

#[cfg(test)]
mod tests {
    use crate::simulate::Simulation;
    use model::Generator;

    fn using(cpu_user_ns: u64) -> Simulation {
        Simulation::counts(&[1000; 10]).generator(Generator { cpu_user_ns, ..Generator::default() })
    }

    #[test]
    fn a_client_that_uses_its_whole_core_is_the_bottleneck() {
        let finding = using(950_000_000).finding("client-bound");
        assert_eq!(finding.title, "the client threads used 95 % of the cores they can run on");
        assert!(using(700_000_000).findings("client-bound").is_empty());
    }

    #[test]
    fn many_clients_share_the_cores_of_the_machine() {
        let four = using(1_500_000_000).with(|point| point.trial.load.clients = 4);
        assert!(four.findings("client-bound").is_empty());
        let busier = using(1_900_000_000).with(|point| point.trial.load.clients = 4);
        assert_eq!(busier.findings("client-bound").len(), 1);
    }

    #[test]
    fn a_thread_that_many_clients_share_has_one_core() {
        let shared = |threads| {
            using(950_000_000).with(move |point| {
                point.trial.load.clients = 64;
                point.trial.target.params.0.insert("threads".into(), model::Value::Int(threads));
            })
        };
        assert_eq!(
            shared(1).finding("client-bound").title,
            "the client threads used 95 % of the cores they can run on"
        );
        assert!(shared(2).findings("client-bound").is_empty() && shared(0).findings("client-bound").is_empty());
    }

    #[test]
    fn an_embedded_engine_and_the_scripted_one_may_use_the_clients_cores() {
        assert!(using(990_000_000).process("embedded").findings("client-bound").is_empty());
        let scripted = using(990_000_000).process("none").with(|point| point.trial.target.engine = "null".into());
        assert!(scripted.findings("client-bound").is_empty());
    }

    #[test]
    fn clients_beside_a_closed_loop_spoil_their_own_response_times() {
        let lag = Generator { lag_count: 500, lag_sum_ns: 500 * 300_000, lag_max_ns: 900_000, ..Generator::default() };
        let beside = Simulation::closed(10, |_| 8_000_000).beside(1, 500, 500).generator(lag).finding("client-bound");
        assert!(beside.title.starts_with("clients woke up 300 us late on average, 15 % of p99"), "{}", beside.title);
    }

    #[test]
    fn late_clients_spoil_short_response_times_only() {
        let lag = Generator { lag_count: 500, lag_sum_ns: 500 * 50_000, lag_max_ns: 900_000, ..Generator::default() };
        let finding = Simulation::open(10, 1_000, |_| 200_000).generator(lag).finding("client-bound");
        assert!(finding.title.starts_with("clients woke up 50.0 us late on average, 25 % of p99"), "{}", finding.title);
        assert!(Simulation::open(10, 100, |_| 8_000_000).generator(lag).findings("client-bound").is_empty());
    }
}
