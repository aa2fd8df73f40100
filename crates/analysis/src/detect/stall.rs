//! Finds stalls: times in which the target did next to nothing.
//!
//! In: the stalls of the run's shape. Out: a note for those that the intervals show, and one for those that single operations
//! show. Limits: those of [`crate::shape::stalls`].

use super::detector::{Detector, Measured, PointView};
use crate::facts::slots;
use crate::shape::Shape;
use crate::shape::rhythm::Period;
use crate::shape::stalls::{SlowOps, Stall};
use crate::text::{decimals, listed, percent, plural, rate, time};
use crate::{Finding, Severity};
use model::PointData;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "stall",
    help: "times in which the target did next to nothing",
    explain: "A stall is a stretch of intervals below 20 % of the run's median rate, at least 100 ms long and long enough that \
              30 operations were to be expected in it. A shorter one shows in the service times: operations of at least 50 ms \
              that took 100 times the median, and 10 times the 99.9th percentile unless only one operation is under way at a \
              time; where they lasted so long that a target at rest would have shown in the rates, others were served \
              meanwhile, and that is the finding `starvation`. A stall describes the target and does not weaken the numbers; the mean hides it, the worst second and the \
              longest response time show it. Three or more at equal distances are a period: look for what happens that often \
              (checkpoints, compaction, garbage collection, a throttle).",
    detect,
};

const PERIOD_STALLS_MIN: usize = 3;
const LISTED_MAX: usize = 6;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let shape = measured.shape;
    let long = (!shape.stalls.is_empty()).then(|| long_stalls(shape, &measured));
    let short = shape.short_stalls.map(|slow| short_stalls(&slow, view.point, &measured));
    long.into_iter().chain(short).collect()
}

fn long_stalls(shape: &Shape, measured: &Measured) -> Finding {
    let found = &shape.stalls;
    let total: f64 = found.iter().map(|stall| stall.span.length_s()).sum();
    let longest = found.iter().map(|stall| stall.span).max_by(|a, b| a.length_s().total_cmp(&b.length_s()));
    let longest = longest.expect("there is at least one stall");
    let deepest = found.iter().map(|stall| stall.rate_share).fold(1.0, f64::min);
    let digits = decimals(measured.window.whole[0].length);
    let every = shape.stall_period.map_or(String::new(), |Period { gap_s, spread_s }| {
        format!("; one every {gap_s:.digits$} s (+-{spread_s:.digits$} s)")
    });
    let title = format!(
        "{}, {total:.digits$} s in all; the longest {:.digits$} s from {:.digits$} s on{every}",
        plural(found.len(), "stall"),
        longest.length_s(),
        longest.from_s
    );
    let evidence = format!(
        "below 20 % of the median rate of {}, down to {} of it: {}",
        rate(shape.usual_per_s.unwrap_or(0.0)),
        percent(deepest),
        all_of(found, digits)
    );
    let next_step = "look at the charts of disk and CPU at these times; see what the target does then";
    DETECTOR.finding(Severity::Note, title, evidence, next_step)
}

fn all_of(found: &[Stall], digits: usize) -> String {
    listed(found, LISTED_MAX, |stall| format!("{:.digits$}-{:.digits$} s", stall.span.from_s, stall.span.to_s))
}

fn short_stalls(slow: &SlowOps, point: &PointData, measured: &Measured) -> Finding {
    let times = slow.longest_ns / slow.median_ns.max(1);
    let took = if slow.count == 1 { "took" } else { "took up to" };
    let operations = plural(slow.count as usize, "operation");
    let title = format!("{operations} {took} {}, {times}x the median", time(slow.longest_ns as f64));
    // Only where one operation is under way at a time is each slow one a stall of its own.
    let countable = slots(point) == 1 && slow.count >= PERIOD_STALLS_MIN as u64;
    let every = match countable {
        true => format!("; one every {:.2} s on average", measured.summary.seconds / slow.count as f64),
        false => String::new(),
    };
    let evidence = format!(
        "median service time {}; they ended in {} of {}{every}",
        time(slow.median_ns as f64),
        slow.intervals,
        plural(measured.window.phase.intervals.len(), "interval")
    );
    let next_step = "record shorter intervals (`--interval 100ms`) to see when they happen";
    DETECTOR.finding(Severity::Note, title, evidence, next_step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;
    use crate::simulate::{Random, Simulation};
    use model::Nanos;

    #[test]
    fn a_server_frozen_for_three_seconds_is_found_where_it_was() {
        let simulation = Simulation::counts(&[1000, 1010, 990, 0, 0, 0, 1000, 1000, 1005, 1000, 995, 1000]);
        let analysis = simulation.analysis();
        let stalls = &analysis.points[0].shape.as_ref().expect("it ran").stalls;
        assert_eq!(stalls[..], [Stall { span: Span { from_s: 3.0, to_s: 6.0 }, rate_share: 0.0 }]);
        let finding = simulation.finding("stall");
        assert_eq!(finding.title, "1 stall, 3.0 s in all; the longest 3.0 s from 3.0 s on");
        assert!(finding.evidence.contains("down to 0 % of it: 3.0-6.0 s"), "{}", finding.evidence);
        assert_eq!(finding.severity, Severity::Note);
    }

    #[test]
    fn a_stall_that_lasts_to_the_end_of_the_run_is_found_though_nobody_recorded_it() {
        let mut counts = Simulation::counts(&[500; 10]).recorded;
        counts.phases[0].end.0 += 5_000_000_000;
        let simulation = Simulation { recorded: counts, environment: Vec::new() };
        assert!(simulation.finding("stall").title.contains("5.0 s from 10.0 s on"));
    }

    #[test]
    fn regular_drops_have_a_period() {
        let counts: Vec<u64> = (0..100).map(|second| if second % 20 >= 17 { 10 } else { 1000 + second % 7 }).collect();
        let title = Simulation::counts(&counts).finding("stall").title;
        assert_eq!(title, "5 stalls, 15.0 s in all; the longest 3.0 s from 97.0 s on; one every 20.0 s (+-0.0 s)");
    }

    #[test]
    fn times_are_told_as_finely_as_the_intervals_are_long() {
        let counts: Vec<u64> = (0..200).map(|n| if n % 17 < 7 { 0 } else { 300 }).collect();
        let simulation = Simulation::counts(&counts).with(|point| {
            point.phases[0].end.0 = 200 * 20_000_000;
            for interval in &mut point.phases[0].intervals {
                interval.start.0 = u64::from(interval.index) * 20_000_000;
                interval.length = Nanos::from_millis(20);
            }
        });
        let title = simulation.findings("stall").remove(0).title;
        assert!(
            title.contains("the longest 0.14 s from ") && title.contains("; one every 0.34 s (+-0.00 s)"),
            "{title}"
        );
    }

    #[test]
    fn irregular_drops_have_none() {
        let at = [5, 9, 40, 77, 81];
        let counts: Vec<u64> = (0..100).map(|second| if at.contains(&second) { 0 } else { 1000 }).collect();
        let title = Simulation::counts(&counts).finding("stall").title;
        assert!(title.starts_with("5 stalls") && !title.contains("every"), "{title}");
    }

    #[test]
    fn a_disk_that_stands_still_most_of_the_time_stalls() {
        let counts: Vec<u64> = (0..60).map(|second| if second % 10 < 4 { 300 } else { 0 }).collect();
        assert!(Simulation::counts(&counts).finding("stall").title.starts_with("6 stalls, 36.0 s in all"));
    }

    #[test]
    fn stalls_of_200_ms_in_one_second_intervals_show_in_the_service_times() {
        let simulation = Simulation::closed(60, |seq| if seq % 10_000 == 9_999 { 200_000_000 } else { 100_000 });
        let finding = simulation.finding("stall");
        assert!(finding.title.starts_with("50 operations took up to 200 ms, "), "{}", finding.title);
        let times: f64 =
            finding.title.split(", ").nth(1).and_then(|t| t.split('x').next()?.parse().ok()).expect("a number");
        assert!((1_990.0..2_010.0).contains(&times), "{times}");
        assert!(finding.evidence.contains("one every 1.20 s on average"), "{}", finding.evidence);
        assert!(simulation.analysis().points[0].shape.as_ref().expect("it ran").stalls.is_empty());
    }

    #[test]
    fn the_same_stall_is_not_reported_in_both_forms() {
        let simulation = Simulation::closed(30, |seq| if seq == 10_000 { 3_000_000_000 } else { 1_000_000 });
        assert!(simulation.finding("stall").title.starts_with("1 stall, 3.0 s in all"));
    }

    #[test]
    fn a_heavy_tail_of_many_clients_is_no_stall() {
        let simulation = Simulation::closed(60, |seq| if seq % 100 == 99 { 80_000_000 } else { 500_000 });
        let many = simulation.with(|point| point.trial.load.clients = 8);
        assert!(many.findings("stall").is_empty());
    }

    #[test]
    fn no_stall_is_found_in_exponential_service_times() {
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let simulation = Simulation::closed(10, |_| random.exponential(1_000_000.0) as u64);
            assert!(simulation.findings("stall").is_empty(), "seed {seed}");
        }
    }
}
