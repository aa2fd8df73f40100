//! Finds drops: short stretches far below the level that the rate keeps to, and their period.
//!
//! In: the drops of the run phase. Out: a note. Limits: stalls are told by their own detector; of noise with a heavy tail the
//! lowest intervals are no drops, so that irregular drops of a single interval are not found.

use super::detector::{Detector, Measured, PointView};
use crate::shape::Shape;
use crate::shape::drops::DropSpan;
use crate::shape::rhythm::Period;
use crate::stats::median;
use crate::text::{decimals, listed, percent, plural, rate};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "drops",
    help: "short drops of the rate far below its level",
    explain: "A drop is a stretch of intervals at least 20 % and five robust standard deviations below the level of the run, \
              and no stall. So that the tail of a noise is not called drops, there must be five at equal distances (gaps \
              within 20 % of their median), or they must last (two intervals on average where they are several, three where \
              it is one) and stand apart: at most half as many intervals may lie a quarter to a half as deep. On simulated \
              noise (white, AR(1), heavy tails) it speaks in at most 1 % of runs. Drops at equal distances have a cause that \
              comes as often: a checkpoint, a compaction, garbage collection of the drive, a job of the machine. They describe \
              the target and do not weaken the numbers.",
    detect,
};

const LISTED_MAX: usize = 6;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    match measured.shape.drops.is_empty() {
        true => Vec::new(),
        false => vec![dropped(measured.shape, &measured)],
    }
}

fn dropped(shape: &Shape, measured: &Measured) -> Finding {
    let drops = &shape.drops;
    let digits = decimals(measured.window.whole[0].length);
    let usual = |of: fn(&DropSpan) -> f64| median(&drops.iter().map(of).collect::<Vec<_>>()).unwrap_or(0.0);
    let (from, to, length) = (usual(|d| d.from_per_s), usual(|d| d.to_per_s), usual(|d| d.span.length_s()));
    let when = match shape.drop_period {
        Some(Period { gap_s, spread_s }) => format!("one every {gap_s:.digits$} s (+-{spread_s:.digits$} s)"),
        None => format!("the first at {:.digits$} s", drops[0].span.from_s),
    };
    let title = format!(
        "{} from {} to {} ({} less) for {length:.digits$} s; {when}",
        plural(drops.len(), "drop"),
        rate(from),
        rate(to),
        percent(1.0 - to / from.max(f64::MIN_POSITIVE))
    );
    let next_step = "see what the target and the machine do at these times; the charts of disk and CPU help";
    DETECTOR.finding(Severity::Note, title, format!("medians of all; {}", all_of(drops, digits)), next_step)
}

fn all_of(drops: &[DropSpan], digits: usize) -> String {
    let one = |drop: &DropSpan| {
        format!("{:.digits$}-{:.digits$} s {}", drop.span.from_s, drop.span.to_s, rate(drop.to_per_s))
    };
    listed(drops, LISTED_MAX, one)
}

#[cfg(test)]
mod tests {
    use crate::simulate::noisy;
    use model::Nanos;

    #[test]
    fn a_drive_of_148_that_drops_to_87_every_twenty_minutes_is_told_so() {
        // Intervals of 10 s over five hours, as its author recorded them; two of them low.
        let drive = noisy(1, 1_800, 15.0, |at| if at % 120 >= 118 { 870.0 } else { 1_480.0 }).with(|point| {
            point.phases[0].end.0 *= 10;
            for interval in &mut point.phases[0].intervals {
                interval.start.0 *= 10;
                interval.length = Nanos::from_secs(10);
            }
        });
        let finding = drive.finding("drops");
        assert!(finding.title.starts_with("14 drops from 148/s to 8"), "{}", finding.title);
        assert!(finding.title.ends_with(" for 20.0 s; one every 1200.0 s (+-0.0 s)"), "{}", finding.title);
        assert!(drive.findings("level-shift").is_empty() && drive.findings("stall").is_empty());
    }

    #[test]
    fn a_drop_of_three_seconds_is_told_though_it_is_alone() {
        let title =
            noisy(2, 60, 20.0, |at| if (40..43).contains(&at) { 500.0 } else { 1_000.0 }).finding("drops").title;
        assert!(title.starts_with("1 drop from ") && title.ends_with(" for 3.0 s; the first at 40.0 s"), "{title}");
    }

    #[test]
    fn a_stall_is_no_drop() {
        let stalling = noisy(3, 1_800, 5.0, |at| if at % 300 >= 275 { 0.0 } else { 323.0 });
        assert!(stalling.findings("drops").is_empty());
        let title = stalling.finding("stall").title;
        assert!(title.starts_with("6 stalls, 150.0 s in all") && title.contains("; one every 300.0 s"), "{title}");
    }
}
