//! Finds points at which the generator was the bottleneck.
//!
//! In: the CPU of the client threads, and how late they woke up. Out: warnings.
//! Limits: with an embedded engine its work is on the client threads and cannot be separated; the scripted engine does
//! nothing else than use the clients' CPU.

use super::{Detects, Finding, FindingKind};
use crate::Quantiles;
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::evidence::client_share::{CORES_SHARE_MAX, client_threads, cores_share};
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use model::Nanos;
use serde::Serialize;
use words::quantity::{number, percent, plural, range, time};

/// Clients that limited the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "how", rename_all = "lowercase")]
pub enum BoundClients {
    /// Their threads used up the cores that they can run on.
    Busy { cores_share: Share, cores: f64, threads: u32 },
    /// They woke up late for arrivals.
    Late { clients: LateClients, lag_mean_ns: f64, lag_max_ns: Nanos, late_arrivals: u64, p99_ns: Nanos },
    /// They got no CPU for longer than most operations take.
    Descheduled { clients: LateClients, lag_mean_ns: f64, lag_max_ns: Nanos, late_arrivals: u64, response_mean_ns: f64 },
}

/// The clients that woke up late; the 99th percentile that they are compared with is that of their own operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LateClients {
    /// Those of an open loop.
    OpenLoop,
    /// Those in the background of a closed loop.
    Background,
}

// The lag is in the response time: up to a twentieth of it, two runs differ by more.
const LAG_SHARE_MAX: f64 = 0.05;

// Fewer late arrivals cannot move the 99th percentile.
const LAGGING_SHARE_MIN: f64 = 0.01;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    busy(view, &measured).into_iter().chain(lagging(&measured)).collect()
}

fn busy(view: &PointView, measured: &Measured) -> Option<Finding> {
    let share = cores_share(view, measured).filter(|share| *share > CORES_SHARE_MAX)?;
    let cores = measured.summary.client.cores_used?;
    let detail = BoundClients::Busy { cores_share: Share(share), cores, threads: client_threads(view, measured) };
    Some(Finding::new(Severity::Warning, detail).next(NextStep::AddThreadsOrMachine))
}

fn lagging(measured: &Measured) -> Option<Finding> {
    let summary = measured.summary;
    let lag_mean_ns = summary.client.lag_mean_ns?;
    // Only clients with an open loop wait for arrivals: in a closed one those in the background.
    let open = summary.background.iter().filter(|load| load.asked_per_s.is_some());
    let waiting = open.max_by_key(|load| load.ops).filter(|_| summary.offered_per_s.is_none());
    let (clients, response_ns, ok) = match waiting {
        Some(background) => (LateClients::Background, background.response_ns, background.ops),
        None => (LateClients::OpenLoop, summary.response_ns, measured.window.recorded.ok),
    };
    let Quantiles { p99, mean: response_mean_ns, .. } = response_ns?;
    let intervals = &measured.window.phase.intervals;
    let late_arrivals: u64 = intervals.iter().map(|interval| interval.generator.lag_count).sum();
    let lag_max_ns = Nanos(summary.client.lag_max_ns.unwrap_or(0));
    let many = late_arrivals as f64 >= LAGGING_SHARE_MIN * ok as f64;
    let detail = if many && lag_mean_ns > LAG_SHARE_MAX * p99 as f64 {
        BoundClients::Late { clients, lag_mean_ns, lag_max_ns, late_arrivals, p99_ns: Nanos(p99) }
    } else if lag_max_ns.0 > p99 && lag_mean_ns * late_arrivals as f64 > LAG_SHARE_MAX * response_mean_ns * ok as f64 {
        BoundClients::Descheduled { clients, lag_mean_ns, lag_max_ns, late_arrivals, response_mean_ns }
    } else {
        return None;
    };
    Some(Finding::new(Severity::Warning, detail).next(NextStep::FreeCpuForClients))
}

impl FindingKind for BoundClients {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::EachLoad(detect);
    const REASON: &'static str = "had a busy or late load generator";

    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (BoundClients::Late { clients: one, .. }, BoundClients::Late { clients: other, .. })
            | (BoundClients::Descheduled { clients: one, .. }, BoundClients::Descheduled { clients: other, .. }) => {
                one == other
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    fn title(alike: &[&Self]) -> String {
        match alike[0] {
            BoundClients::Busy { .. } => {
                format!(
                    "the client threads used {} of the cores they can run on",
                    range(alike, |one| one.share(), percent)
                )
            }
            BoundClients::Late { clients, .. } => format!(
                "{} woke up {} late on average, {} of their p99",
                late_clients(*clients),
                range(alike, |one| one.lag_mean_ns(), time),
                range(alike, |one| one.share(), percent)
            ),
            BoundClients::Descheduled { clients, .. } => format!(
                "{} got no CPU for up to {}; {} of their mean response time is this delay",
                late_clients(*clients),
                range(alike, |one| one.lag_max_ns(), time),
                range(alike, |one| one.share(), percent)
            ),
        }
    }

    fn evidence(&self) -> String {
        match self {
            BoundClients::Busy { cores, threads, .. } => {
                format!("{} cores busy with {}", number(*cores), plural(u64::from(*threads), "client thread"))
            }
            BoundClients::Late { lag_max_ns, late_arrivals, p99_ns, .. } => {
                format!("{}, the latest by {lag_max_ns}; their p99 is {p99_ns}", plural(*late_arrivals, "late arrival"))
            }
            BoundClients::Descheduled { lag_mean_ns, late_arrivals, response_mean_ns, .. } => format!(
                "{}, by {} on average; their mean response time is {}",
                plural(*late_arrivals, "late arrival"),
                time(*lag_mean_ns),
                time(*response_mean_ns)
            ),
        }
    }
}

fn late_clients(clients: LateClients) -> &'static str {
    match clients {
        LateClients::OpenLoop => "clients",
        LateClients::Background => "background clients",
    }
}

impl BoundClients {
    fn share(&self) -> f64 {
        match self {
            BoundClients::Busy { cores_share, .. } => cores_share.0,
            BoundClients::Late { lag_mean_ns, p99_ns, .. } => lag_mean_ns / p99_ns.0.max(1) as f64,
            BoundClients::Descheduled { lag_mean_ns, response_mean_ns, .. } => lag_mean_ns / response_mean_ns.max(1.0),
        }
    }

    fn lag_mean_ns(&self) -> f64 {
        match self {
            BoundClients::Busy { .. } => 0.0,
            BoundClients::Late { lag_mean_ns, .. } | BoundClients::Descheduled { lag_mean_ns, .. } => *lag_mean_ns,
        }
    }

    fn lag_max_ns(&self) -> f64 {
        match self {
            BoundClients::Busy { .. } => 0.0,
            BoundClients::Late { lag_max_ns, .. } | BoundClients::Descheduled { lag_max_ns, .. } => lag_max_ns.0 as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::Generator;

    fn using(cpu_user_ns: u64) -> Simulation {
        Simulation::counts(&[1000; 10]).generator(Generator { cpu_user_ns, ..Generator::default() })
    }

    #[test]
    fn a_client_that_uses_its_whole_core_is_the_bottleneck() {
        let expected = BoundClients::Busy { cores_share: Share(0.95), cores: 0.95, threads: 1 };
        assert_eq!(using(950_000_000).figures::<BoundClients>(), expected);
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
        let expected = BoundClients::Busy { cores_share: Share(0.95), cores: 0.95, threads: 1 };
        assert_eq!(shared(1).figures::<BoundClients>(), expected);
        assert!(shared(2).findings("client-bound").is_empty() && shared(0).findings("client-bound").is_empty());
    }

    #[test]
    fn an_embedded_engine_and_the_scripted_one_may_use_the_clients_cores() {
        assert!(using(990_000_000).process("embedded").findings("client-bound").is_empty());
        let scripted = using(990_000_000).process("none").with(|point| point.trial.target.engine = "null".into());
        assert!(scripted.findings("client-bound").is_empty());
    }

    /// How late on average, in nanoseconds and in per cent of the 99th percentile.
    fn lateness(simulation: &Simulation) -> (f64, u64) {
        let BoundClients::Late { lag_mean_ns, p99_ns, .. } = simulation.figures() else { panic!("they are late") };
        (lag_mean_ns, (lag_mean_ns / p99_ns.0 as f64 * 100.0).round() as u64)
    }

    #[test]
    fn background_clients_of_a_closed_loop_spoil_their_own_response_times() {
        let lag = Generator { lag_count: 500, lag_sum_ns: 500 * 300_000, lag_max_ns: 900_000, ..Generator::default() };
        let background = Simulation::closed(10, |_| 8_000_000).background(1, 500, 500).generator(lag);
        assert_eq!(lateness(&background), (300_000.0, 15));
        assert!(matches!(background.figures(), BoundClients::Late { clients: LateClients::Background, .. }));
    }

    /// Once a second it gets no CPU for 20 ms: 20 arrivals then wait for it, 10 ms on average.
    #[test]
    fn a_client_that_got_no_cpu_for_a_moment_spoils_the_mean_though_no_percentile_shows_it() {
        let lag = |lag_max_ns, lag_sum_ns| {
            let generator = Generator { lag_count: 1_000, lag_sum_ns, lag_max_ns, ..Generator::default() };
            // The 99th percentile is 2 ms, the mean 500 us.
            let service_ns = |seq: u64| if seq.is_multiple_of(50) { 2_000_000 } else { 469_388 };
            Simulation::queue(10, 8, 1_000.0, (0..).map(|seq| seq * 1_000_000), service_ns).generator(generator)
        };
        let BoundClients::Descheduled { lag_mean_ns, late_arrivals: 10_000, response_mean_ns, .. } =
            lag(20_000_000, 25_400_000).figures()
        else {
            panic!("it got no CPU")
        };
        assert_eq!((lag_mean_ns, response_mean_ns.round()), (25_400.0, 500_000.0));
        assert!(lag(20_000_000, 24_000_000).findings("client-bound").is_empty(), "less than 5 % of the mean");
        assert!(lag(1_900_000, 25_400_000).findings("client-bound").is_empty(), "no longer than slow operations");
    }

    #[test]
    fn late_clients_spoil_short_response_times_only() {
        let lag = Generator { lag_count: 500, lag_sum_ns: 500 * 50_000, lag_max_ns: 900_000, ..Generator::default() };
        assert_eq!(lateness(&Simulation::open(10, 1_000, |_| 200_000).generator(lag)), (50_000.0, 25));
        assert!(Simulation::open(10, 100, |_| 8_000_000).generator(lag).findings("client-bound").is_empty());
    }
}
