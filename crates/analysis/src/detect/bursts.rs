//! Finds targets that deliver in bursts: everything at the beginning of a time slice, nothing for the rest of it.
//!
//! In: the rates of intervals shorter than the slices. Out: a note with the period and the share of time without anything.
//! Limits: intervals of a slice or longer do not show it; then only the slow tail of the service times does.

use super::detector::{Detector, Measured, PointView};
use super::stall::{decimals, run_part};
use crate::stats::{mean, median};
use crate::text::{percent, rate, time};
use crate::{Finding, IntervalPoint, Severity};

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

const INTERVALS_MIN: usize = 40;
const OFF_RATE_SHARE: f64 = 0.05;
// The chance that Poisson arrivals with 10 expected are none is 5e-5.
const EXPECTED_OPS_MIN: f64 = 10.0;
const OFF_SHARE: std::ops::RangeInclusive<f64> = 0.2..=0.9;
const GAPS_MIN: usize = 12;
const REGULAR_SHARE_MIN: f64 = 0.6;
const GAP_SPREAD_MAX: f64 = 0.15;
/// Longer ones are stalls that people see.
const PERIOD_MAX_S: f64 = 0.25;

/// Bursts at equal distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// From the beginning of one to that of the next.
    pub period_s: f64,
    /// The share of the intervals in which next to nothing was done.
    pub off_share: f64,
    /// How many there were.
    pub count: usize,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    of(run_part(&measured)).map(|found| told(&found, &measured)).into_iter().collect()
}

/// The bursts of `run`, the intervals of a run phase.
pub fn of(run: &[IntervalPoint]) -> Option<Bursts> {
    let rates: Vec<f64> = run.iter().map(|point| point.ops_per_s).collect();
    let (usual, length_s) = (mean(&rates), run.first()?.length_s);
    if rates.len() < INTERVALS_MIN || usual * length_s < EXPECTED_OPS_MIN {
        return None;
    }
    let off: Vec<bool> = rates.iter().map(|rate| *rate < OFF_RATE_SHARE * usual).collect();
    let off_share = off.iter().filter(|off| **off).count() as f64 / off.len() as f64;
    let begins: Vec<usize> = (1..off.len()).filter(|at| off[at - 1] && !off[*at]).collect();
    let gaps: Vec<f64> = begins.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let period = median(&gaps)?;
    let regular = gaps.iter().filter(|gap| (*gap - period).abs() <= (GAP_SPREAD_MAX * period).max(0.5)).count();
    // Intervals cut slices of another length into gaps of one interval more or less; a burst that lies in two intervals can
    // hide the gap before it.
    let near: Vec<f64> = gaps.iter().copied().filter(|gap| (gap - period).abs() <= 1.0).collect();
    let period_s = mean(&near) * length_s;
    let are_bursts = OFF_SHARE.contains(&off_share)
        && gaps.len() >= GAPS_MIN
        && regular as f64 >= REGULAR_SHARE_MIN * gaps.len() as f64
        && period_s <= PERIOD_MAX_S;
    are_bursts.then_some(Bursts { period_s, off_share, count: begins.len() })
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
    use super::*;
    use crate::simulate::{NOISES, Random, Simulation};
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

    #[test]
    fn noise_never_comes_in_bursts() {
        for (name, noise) in NOISES {
            for seed in 0..200 {
                let noise = noise(&mut Random::new(seed), 200);
                let point = |(at, value): (usize, f64)| IntervalPoint {
                    at_s: at as f64 / 20.0,
                    length_s: 0.05,
                    ops_per_s: (1e3 * (1.0 + 0.3 * value)).max(0.0),
                    bytes_per_s: 0.0,
                    p50_ns: None,
                    p95_ns: None,
                    p99_ns: None,
                    max_ns: None,
                };
                let run: Vec<IntervalPoint> = noise.into_iter().enumerate().map(point).collect();
                assert_eq!(of(&run), None, "{name}, seed {seed}");
            }
        }
    }
}
