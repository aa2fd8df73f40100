//! What disturbs the work, as claims: `The disk drops 14 times from 3.88k/s to 2.41k/s (38 % less) for 0.70 s, once every 7.00 s.`
//!
//! In: the findings of points. Out: one claim for each kind of disturbance, of the worst point, with the figures of its finding, and at how
//! many points it was found. Limits: the gravest kinds come first; the others are in the details.

use super::speech::{number_word, short_enough, unquoted};
use super::{Claim, ClaimKind};
use crate::findings::level_shift::{LevelShifts, signed_change};
use crate::findings::stall::{LongStalls, Stalls};
use crate::findings::unsteady::Unsteadiness;
use crate::findings::{gravity, title};
use crate::math::stats::INTERVALS_MIN;
use crate::{Code, Detail, Finding, PointAnalysis};
use model::Nanos;
use words::list::capital;
use words::quantity::{percent, plural, rate, seconds, time, whole};

/// A point that was disturbed, with how its sentence begins: `SQLite with 16 clients`.
pub(super) struct Disturbed<'a> {
    pub point: &'a PointAnalysis,
    pub subject: String,
}

/// What disturbed `points`, without the kinds in `told`.
pub(super) fn claims(points: &[Disturbed], told: &[Code]) -> Vec<Claim> {
    let kinds = Code::disturbances().into_iter().filter(|code| !told.contains(code));
    kinds.filter_map(|code| claim(code, points)).collect()
}

/// The kinds that say what `code` says, and more: a rate that shifted is slower in the second half, and one that varies is not known well.
fn said_better_by(code: Code) -> &'static [Code] {
    match code {
        Code::Unsteady => &[Code::LevelShift, Code::Slowdown, Code::TwoLevels],
        Code::WideInterval => {
            &[Code::LevelShift, Code::Slowdown, Code::TwoLevels, Code::Wave, Code::Bursts, Code::Unsteady]
        }
        _ => &[],
    }
}

/// Whether `finding` of `point` is a wide variation that stalls, drops or waves explain.
fn is_explained(point: &PointAnalysis, finding: &Finding) -> bool {
    let explains = |code: Code| matches!(code, Code::Stall | Code::Drops | Code::Wave);
    matches!(finding.detail, Detail::Unsteady(Unsteadiness::Variation(_)))
        && point.findings.iter().any(|other| explains(other.code()))
}

/// Whether nothing disturbed any of `points`, and each is long enough to say so.
pub(super) fn are_steady<'a>(points: impl IntoIterator<Item = &'a PointAnalysis>) -> bool {
    points.into_iter().all(|point| {
        let intervals = point.series.as_ref().map_or(0, |series| series.counted_intervals().len());
        intervals >= INTERVALS_MIN && !point.findings.iter().any(|finding| finding.code().is_disturbance())
    })
}

/// The claim about the disturbances of one kind.
fn claim(code: Code, points: &[Disturbed]) -> Option<Claim> {
    let better = said_better_by(code);
    let is_new = |one: &&Disturbed| !one.point.findings.iter().any(|finding| better.contains(&finding.code()));
    let with_it = points.iter().filter(is_new).filter_map(|one| {
        Some((
            one,
            one.point
                .findings
                .iter()
                .filter(|f| f.code() == code && !is_explained(one.point, f))
                .max_by(|a, b| weight(a).total_cmp(&weight(b)))?,
        ))
    });
    let with_it: Vec<(&Disturbed, &Finding)> = with_it.collect();
    let (worst, finding) = with_it.iter().max_by(|a, b| weight(a.1).total_cmp(&weight(b.1)))?;
    let clause = clause(&worst.subject, &finding.detail);
    let others = match with_it.len() - 1 {
        0 => String::new(),
        others => format!(" ({} had it, too)", plural(others as u64, "other point")),
    };
    let sentence = short_enough(vec![format!("{clause}{others}."), format!("{clause}.")]);
    let mut claim = Claim::new(ClaimKind::Disturbance, sentence).from_finding(code);
    for (name, value) in figures(&finding.detail) {
        claim = claim.figure_of(worst.point.id, name, value);
    }
    Some(claim)
}

/// What is known exactly, with its unit.
fn figures(detail: &Detail) -> Vec<(&'static str, f64)> {
    match detail {
        Detail::Drops(found) => vec![
            ("drops", found.drops.len() as f64),
            ("drop_from_per_s", found.from_per_s),
            ("drop_to_per_s", found.to_per_s),
            ("drop_length_ns", found.length_ns.0 as f64),
        ],
        Detail::Stall(Stalls::Rates(found)) => {
            vec![("stalls", found.count as f64), ("stalls_total_ns", found.total_ns.0 as f64)]
        }
        Detail::Wave(found) => vec![("wave_low_per_s", found.low_per_s), ("wave_high_per_s", found.high_per_s)],
        Detail::TwoLevels(found) => vec![("low_per_s", found.low_per_s), ("high_per_s", found.high_per_s)],
        Detail::LevelShift(found) => found.levels.iter().map(|level| ("level_per_s", level.ops_per_s)).collect(),
        _ => Vec::new(),
    }
}

/// How grave a finding is among others of its kind.
fn weight(finding: &Finding) -> f64 {
    match &finding.detail {
        // Any that the rates show is longer.
        Detail::Stall(Stalls::Operations(found)) => found.slow.longest_ns as f64 / 1e9,
        Detail::Starvation(found) => found.slow.longest_ns as f64,
        Detail::Slowdown(found) => found.fall_share.0,
        Detail::WideInterval(found) => found.half_width_share.0,
        Detail::Unsteady(found) => found.change_share().abs(),
        Detail::Outage(found) => found.total_ns.0 as f64,
        other => gravity(other).unwrap_or(0.0),
    }
}

/// One clause without its full stop.
#[expect(clippy::too_many_lines, reason = "a clause for each kind of finding")]
pub(super) fn clause(subject: &str, detail: &Detail) -> String {
    let s = subject;
    match detail {
        Detail::Stall(Stalls::Rates(LongStalls { slower: Some(slower), total_ns, interval_ns, count, .. })) => {
            let times = if *count == 1 { String::new() } else { format!(", in {count} stretches") };
            format!(
                "{s} took {} times as long to answer for {}{times}",
                whole(*slower),
                seconds(*total_ns, *interval_ns)
            )
        }
        Detail::Stall(Stalls::Rates(found)) if found.count == 1 => {
            let [length, at] = [found.longest_ns, found.longest_at_ns].map(|ns| seconds(ns, found.interval_ns));
            format!("{s} stood still once, for {length} at {at}")
        }
        Detail::Stall(Stalls::Rates(found)) => {
            let [total, longest] = [found.total_ns, found.longest_ns].map(|ns| seconds(ns, found.interval_ns));
            let every = found.period.map_or(String::new(), |period| every(period.gap_ns, found.interval_ns));
            format!("{s} stood still {}, {total} in all and {longest} at most{every}", times(found.count))
        }
        Detail::Stall(Stalls::Operations(found)) => {
            format!("{s} held {} up for {}", held(found.slow.count), up_to(found.slow.count, found.slow.longest_ns))
        }
        Detail::Starvation(found) => {
            let waited = up_to(found.slow.count, found.slow.longest_ns);
            format!("{s} let {} wait for {waited} while it served others", held(found.slow.count))
        }
        Detail::Drops(found) => {
            let count = found.drops.len();
            let length = seconds(found.length_ns, found.interval_ns);
            let when = match found.period {
                Some(period) => every(period.gap_ns, found.interval_ns),
                None if count == 1 => format!(" at {}", seconds_at(found.drops[0].span.from_s, found.interval_ns)),
                None => String::new(),
            };
            let [from, to] = [found.from_per_s, found.to_per_s].map(rate);
            let times = times(count);
            format!("{s} drops {times} from {from} to {to} ({} less) for {length}{when}", percent(found.fall_share()))
        }
        Detail::Wave(found) => {
            let [low, high] = [found.low_per_s, found.high_per_s].map(rate);
            format!("{s} swings between {low} and {high}, one wave every {}", time(found.period_ns.0 as f64))
        }
        Detail::TwoLevels(found) => {
            format!("{s} jumps between {} and {}", rate(found.low_per_s), rate(found.high_per_s))
        }
        Detail::LevelShift(found) => shifted(s, found),
        Detail::Slowdown(found) => {
            let [begin, steady] = [found.begin_per_s, found.steady_per_s].map(rate);
            let (from, fall) = (seconds(found.steady_from_ns, found.interval_ns), percent(found.fall_share.0));
            format!("{s} begins at {begin} and does {steady} from {from} on ({fall} less)")
        }
        Detail::Bursts(found) => {
            let (period, off) = (time(found.period_ns.0 as f64), percent(found.off_share.0));
            format!("{s} works in bursts, one every {period}, and does next to nothing for {off} of the time")
        }
        Detail::Outage(found) => {
            let total = seconds(found.total_ns, found.interval_ns);
            let times = if found.count == 1 { String::new() } else { format!(", in {} outages", found.count) };
            format!("{s} was gone for {total}{times}")
        }
        Detail::Unsteady(found) => match found {
            Unsteadiness::Variation(varies) => {
                format!("{s} varies by {} from interval to interval", percent(varies.variation_share.0))
            }
            Unsteadiness::Halves(_) => format!("{s} was {} in the second half than in the first", faster(found)),
            Unsteadiness::Trend(_) => format!("{s} became {} over the run", faster(found)),
        },
        Detail::NotSteady(found) => {
            format!("{s} did not become steady within {}", plural(found.rounds as u64, "round"))
        }
        Detail::WideInterval(found) => {
            format!("{s} varies so much that its rate is known to ±{} only", percent(found.half_width_share.0))
        }
        Detail::PartitionDrops(found) => match (&found.drops, &found.peaks) {
            (Some(drops), _) => {
                let (depth, length) = (percent(drops.depth_share.0), seconds(drops.length_ns, found.interval_ns));
                format!(
                    "{s} drops by {depth} for {length} at {} of {} partition boundaries",
                    drops.found, drops.boundaries
                )
            }
            (None, Some(peaks)) => {
                let depth = percent(peaks.depth_share.0);
                format!("{s} is {depth} faster at {} of {} partition boundaries", peaks.found, peaks.boundaries)
            }
            (None, None) => capital(&title(&[detail])),
        },
        other => capital(&unquoted(&title(&[other]))),
    }
}

fn shifted(s: &str, found: &LevelShifts) -> String {
    match found.levels.as_slice() {
        [before, after] => format!(
            "{s} does {} until {}, then {} ({})",
            rate(before.ops_per_s),
            seconds_at(after.span.from_s, found.interval_ns),
            rate(after.ops_per_s),
            signed_change(found.change_share())
        ),
        levels => {
            let [least, most] = found.extremes().map(rate);
            format!("{s} changes its level {}, between {least} and {most}", times(levels.len() - 1))
        }
    }
}

/// `once`, `twice`, `14 times`
fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{} times", number_word(u32::try_from(count).unwrap_or(u32::MAX))),
    }
}

/// `, once every 7.00 s`
fn every(gap: Nanos, interval: Nanos) -> String {
    format!(", once every {}", seconds(gap, interval))
}

/// A moment, in seconds since the run phase began.
pub(super) fn seconds_at(at_s: f64, interval: Nanos) -> String {
    seconds(Nanos((at_s.max(0.0) * 1e9).round() as u64), interval).to_string()
}

fn held(count: u64) -> String {
    if count == 1 { "one operation".to_owned() } else { format!("{} operations", whole(count as f64)) }
}

fn up_to(count: u64, longest_ns: u64) -> String {
    let longest = time(longest_ns as f64);
    if count == 1 { longest.to_string() } else { format!("up to {longest}") }
}

/// `12 % slower`
fn faster(found: &Unsteadiness) -> String {
    let change = found.change_share();
    format!("{} {}", percent(change.abs()), if change < 0.0 { "slower" } else { "faster" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::wide_interval::WideInterval;
    use crate::judgement::Severity;
    use crate::math::units::Share;
    use crate::simulated::{Simulation, noisy};

    #[test]
    fn what_a_shift_says_is_not_said_again_as_a_doubt() {
        let claimed = |simulation: &Simulation| -> Vec<Code> {
            let mut point = simulation.analysis().points.remove(0);
            let [half_width_share, half_width_max] = [0.3, 0.2].map(Share);
            let doubt = WideInterval { ops_per_s: 3e3, ops_per_s_ci95: [2e3, 4e3], half_width_share, half_width_max };
            point.findings.push(Finding::new(Severity::Warning, doubt));
            let claims = claims(&[Disturbed { point: &point, subject: "It".to_owned() }], &[]);
            claims.into_iter().flat_map(|claim| claim.findings).collect()
        };
        assert_eq!(claimed(&noisy(5, 100, 3.0, |at| if at < 40 { 3_920.0 } else { 3_090.0 })), [Code::LevelShift]);
        assert_eq!(claimed(&noisy(5, 100, 3.0, |_| 3_920.0)), [Code::WideInterval]);
    }
}
