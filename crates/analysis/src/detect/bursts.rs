//! Finds targets that deliver in bursts: everything at the beginning of a time slice, nothing for the rest of it.
//!
//! In: the rates of intervals shorter than the slices. Out: a note with the period and the share of time without anything.
//! Limits: intervals of a slice or longer do not show it; then only the slow tail of the service times does.

use super::detector::{Detector, Measured, PointView};
use crate::shape::bursts::Bursts;
use crate::text::{decimals, percent, rate, time};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "bursts",
    help: "the target delivers in bursts, with nothing between them",
    explain: "In 20 to 90 % of the intervals next to nothing was done (below 5 % of the mean rate, where ten operations were to \
              be expected), and the bursts between them come at equal distances of at most 250 ms: of at least 12 gaps six in \
              ten are within 15 % or half an interval of their median. So delivers a limit that is enforced in time slices: \
              the operations that a slice allows are done at its beginning, and who comes then waits for the next (the limits \
              of a Linux cgroup have slices of 100 ms; those of cloud volumes are of the kind). Mean and median hide it: \
              the median is that of the unlimited device, and the percentiles from the first that waits on are the length of \
              the slice. On simulated noise it speaks in none of 1600 runs. It describes the target and does not weaken the \
              numbers.",
    detect,
};

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    measured.shape.bursts.map(|found| told(&found, &measured)).into_iter().collect()
}

fn told(found: &Bursts, measured: &Measured) -> Finding {
    let length = measured.window.whole[0].length;
    let title = format!(
        "in bursts, one about every {:.0} ms; next to nothing was done in {} of the time",
        found.period_s * 1e3,
        percent(found.off_share)
    );
    let quantiles = measured.summary.service_ns.map_or(String::new(), |q| {
        format!(
            "; service times: p50 {}, p99 {}, p99.9 {}",
            time(q.p50 as f64),
            time(q.p99 as f64),
            time(q.p999 as f64)
        )
    });
    let mean = rate(measured.summary.ops_per_s);
    let evidence = format!(
        "{} bursts in {} intervals of {:.*} s, mean {mean}{quantiles}",
        found.count,
        measured.window.whole.len(),
        decimals(length),
        length.as_secs_f64()
    );
    let next_step = "look for a limit in time slices (a cgroup, a cloud volume); quote p99 and not the median";
    DETECTOR.finding(Severity::Note, title, evidence, next_step)
}

#[cfg(test)]
mod tests {
    use crate::simulate::Simulation;
    use model::Nanos;

    fn every_ms(interval_ms: u64, counts: &[u64]) -> Simulation {
        let length = interval_ms * 1_000_000;
        Simulation::counts(counts).with(|point| {
            point.phases[0].end.0 = counts.len() as u64 * length;
            for interval in &mut point.phases[0].intervals {
                interval.start.0 = u64::from(interval.index) * length;
                interval.length = Nanos(length);
            }
        })
    }

    /// What a limit of 200 operations a slice of 104 ms gives, all of them done in 20 ms.
    fn limited(interval_ms: u64, slices: u64) -> Vec<u64> {
        let mut counts = vec![0; (slices * 104 / interval_ms) as usize];
        for op in 0..slices * 200 {
            let at_us = op / 200 * 104_000 + op % 200 * 100;
            if let Some(count) = counts.get_mut((at_us / 1_000 / interval_ms) as usize) {
                *count += 1;
            }
        }
        counts
    }

    #[test]
    fn a_limit_enforced_in_slices_of_a_tenth_of_a_second_delivers_in_bursts() {
        let simulation = every_ms(50, &limited(50, 100));
        let finding = simulation.finding("bursts");
        assert!(finding.title.starts_with("in bursts, one about every 10"), "{}", finding.title);
        assert!(simulation.findings("stall").is_empty(), "{:?}", simulation.findings("stall"));
    }

    #[test]
    fn intervals_as_long_as_the_slices_show_no_bursts() {
        assert!(every_ms(1_000, &limited(1_000, 600)).findings("bursts").is_empty());
        assert!(every_ms(104, &limited(104, 600)).findings("bursts").is_empty());
    }

    #[test]
    fn the_gaps_between_bursts_are_not_told_again_as_drops() {
        let simulation = every_ms(20, &limited(20, 100));
        assert_eq!(simulation.findings("bursts").len(), 1);
        assert!(simulation.findings("drops").is_empty());
    }

    #[test]
    fn pauses_of_seconds_are_stalls_and_no_bursts() {
        let pauses: Vec<u64> = (0..400).map(|at| if at % 20 < 8 { 0 } else { 100 }).collect();
        let simulation = every_ms(50, &pauses);
        assert!(simulation.findings("bursts").is_empty() && !simulation.findings("stall").is_empty());
    }
}
