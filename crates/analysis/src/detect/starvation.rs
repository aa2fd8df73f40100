//! Finds clients that were kept waiting while others were served.
//!
//! In: the service times. Out: a note. Limits: which client it was is not recorded; a target that stood still for all of them
//! is a stall, and operations that ended during or right after one are left to that detector.

use super::detector::{Detector, Measured, PointView};
use crate::shape::stalls::SlowOps;
use crate::text::{percent, plural, time};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "starvation",
    help: "clients were kept waiting for very long while others were served",
    explain: "Operations of at least 50 ms that took 100 times the median, and either a second, or a quarter of the run, or 10 \
              times the 99.9th percentile, while the target served others: had it stood still for so long, the rate of an \
              interval would have shown it. Throughput and median hide it: somebody waited for \
              seconds. The usual reason is a lock without a queue, which whoever comes first takes again (retries with a \
              back-off are of that kind), or an unfair scheduler. It describes the target and does not weaken the numbers.",
    detect,
};

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    measured.shape.starved_ops.map(|slow| starved(&slow, view, &measured)).into_iter().collect()
}

fn starved(slow: &SlowOps, view: &PointView, measured: &Measured) -> Finding {
    let took = if slow.count == 1 { "took" } else { "took up to" };
    let times = slow.longest_ns / slow.median_ns.max(1);
    let operations = plural(slow.count as usize, "operation");
    let longest = time(slow.longest_ns as f64);
    let title = format!("{operations} {took} {longest}, {times}x the median, while others were served");
    let load = view.point.trial.load;
    let evidence = format!(
        "median service time {}; the longest took {} of the run of {:.1} s; clients {}, depth {}",
        time(slow.median_ns as f64),
        percent(slow.longest_ns as f64 / 1e9 / measured.summary.seconds),
        measured.summary.seconds,
        load.clients,
        load.depth
    );
    let next_step = "look for a lock that is not handed on in turn; try fewer clients";
    DETECTOR.finding(Severity::Note, title, evidence, next_step)
}

#[cfg(test)]
mod tests {
    use crate::simulate::{Random, SECOND, Simulation};
    use model::Nanos;

    /// Sixteen clients, nearly all operations below 1 ms, and so many that took `slow_ns`, in a run of two seconds.
    fn waiting(slow_ns: u64, count: u64) -> Simulation {
        let mut simulation = Simulation::counts(&[2_000; 20]);
        simulation.add(19, count, slow_ns, slow_ns);
        simulation.with(|point| {
            point.trial.load.clients = 16;
            point.phases[0].end.0 = 2 * SECOND;
            for interval in &mut point.phases[0].intervals {
                interval.start.0 = u64::from(interval.index) * SECOND / 10;
                interval.length = Nanos(SECOND / 10);
            }
        })
    }

    #[test]
    fn a_client_that_waits_for_seconds_while_others_are_served_is_starved() {
        let simulation = waiting(1_850_000_000, 60);
        let finding = simulation.finding("starvation");
        assert!(finding.title.starts_with("60 operations took up to 1.85 s, "), "{}", finding.title);
        assert!(finding.evidence.contains("93 % of the run of 2.0 s; clients 16, depth 1"), "{}", finding.evidence);
        assert!(simulation.findings("stall").is_empty());
    }

    #[test]
    fn a_quarter_of_a_short_run_is_long_and_a_tenth_is_not() {
        assert_eq!(waiting(600_000_000, 60).findings("starvation").len(), 1);
        assert!(waiting(200_000_000, 60).findings("starvation").is_empty());
    }

    #[test]
    fn a_single_client_held_up_for_long_is_starved_and_no_stall_of_the_target() {
        let simulation = waiting(1_850_000_000, 1);
        assert!(simulation.finding("starvation").title.starts_with("1 operation took 1.85 s, "));
        assert!(simulation.findings("stall").is_empty());
        // An interval of 100 ms cannot tell whether others were served during 120 ms.
        assert_eq!(waiting(120_000_000, 1).findings("starvation").len(), 0);
        assert_eq!(waiting(120_000_000, 1).findings("stall").len(), 1);
    }

    #[test]
    fn a_stall_of_all_clients_and_a_heavy_tail_are_no_starvation() {
        let frozen = Simulation::closed(30, |seq| if seq == 10_000 { 3 * SECOND } else { 1_000_000 });
        assert!(frozen.with(|point| point.trial.load.clients = 8).findings("starvation").is_empty());
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let tail = Simulation::closed(10, |_| (500_000.0 * (1.5 * random.normal()).exp()) as u64);
            assert!(tail.with(|point| point.trial.load.clients = 8).findings("starvation").is_empty(), "seed {seed}");
        }
    }
}
