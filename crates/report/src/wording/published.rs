//! Several runs in a few sentences: which is faster, by how much, how sure, and what must not be compared.
//!
//! In: comparisons with one base. Out: a headline, sentences and warnings. Limits: nothing is averaged over points: the least and the
//! greatest ratio are given.

use super::compare::{arm_name, cautions, ratio_text};
use super::list::join_and;
use super::quantity::plural;
use analysis::compare::{MetricRatio, RunComparison};
use analysis::math::ratio::{PAIRS_MIN, Preference, RatioVerdict};
use analysis::{Analysis, Validity};
use model::PointState;

/// The most arms that the headline names.
const ARMS_MAX: usize = 3;

/// The speed of an arm in relation to the base: 2 is twice the work in the same time.
#[derive(Clone, Copy)]
struct RelativeSpeed {
    ratio: f64,
    ci95: Option<[f64; 2]>,
    verdict: RatioVerdict,
    pairs: usize,
}

impl RelativeSpeed {
    /// A duration counts the other way round.
    fn new(speed: &MetricRatio) -> RelativeSpeed {
        let estimate = speed.estimate;
        let (ratio, ci95) = match speed.metric.better() {
            Preference::More => (estimate.ratio, estimate.telling_ci95()),
            Preference::Less => {
                (1.0 / estimate.ratio, estimate.telling_ci95().map(|[low, high]| [1.0 / high, 1.0 / low]))
            }
        };
        RelativeSpeed { ratio, ci95, verdict: estimate.verdict, pairs: estimate.n }
    }
}

/// The first line of a report of several runs.
pub fn headline(all: &[RunComparison]) -> String {
    match all {
        [] => "Nothing is compared.".to_owned(),
        [one] => sentence(one),
        several => {
            let base = arm_name(&several[0].base);
            let mut arms: Vec<String> = several.iter().take(ARMS_MAX).map(clause).collect();
            let more = several.len() - arms.len();
            arms.extend((more > 0).then(|| format!("{more} more below")));
            format!("Against {base}: {}.", arms.join("; "))
        }
    }
}

/// How `comparison` ended, in a sentence.
pub fn sentence(comparison: &RunComparison) -> String {
    let (base, new) = (arm_name(&comparison.base), arm_name(&comparison.new));
    let speeds = speeds(comparison);
    let [speed] = speeds[..] else { return format!("{new} against {base}: {}.", outcome(&speeds)) };
    let interval = speed.ci95.map(|ci95| format!(" (95 %: {})", range(ci95))).unwrap_or_default();
    let times = format!("{} times the work of {base} in the same time{interval}", ratio_text(speed.ratio));
    match speed.verdict {
        RatioVerdict::Faster => format!("{new} does {times}: it is faster."),
        RatioVerdict::Slower => format!("{new} does {times}: it is slower."),
        RatioVerdict::NoDifferenceShown => format!("{new} does {times}: no difference is shown."),
        RatioVerdict::Indicative => format!("{new} did {times}, which is only indicative{}.", too_few(speed.pairs)),
    }
}

/// `postgres is faster at 5 of 6 points (1.20 to 2.31 times its work in the same time)`
fn clause(comparison: &RunComparison) -> String {
    format!("{} is {}", arm_name(&comparison.new), outcome(&speeds(comparison)))
}

fn speeds(comparison: &RunComparison) -> Vec<RelativeSpeed> {
    comparison.speeds().map(|(_, speed)| RelativeSpeed::new(speed)).collect()
}

/// What was shown at how many points.
fn outcome(speeds: &[RelativeSpeed]) -> String {
    if speeds.is_empty() {
        return "not comparable: no point has a counterpart with the same work".to_owned();
    }
    let parts = [
        (RatioVerdict::Faster, "faster"),
        (RatioVerdict::Slower, "slower"),
        (RatioVerdict::NoDifferenceShown, "not shown to differ"),
        (RatioVerdict::Indicative, "only indicative"),
    ];
    let part = |(verdict, words): (RatioVerdict, &str)| {
        let own: Vec<&RelativeSpeed> = speeds.iter().filter(|speed| speed.verdict == verdict).collect();
        let (low, high) = own
            .iter()
            .fold((f64::INFINITY, 0.0f64), |(low, high), speed| (low.min(speed.ratio), high.max(speed.ratio)));
        let at = match (own.len(), speeds.len()) {
            (1, 1) => String::new(),
            (count, all) if count == all => format!(" at all {all} points"),
            (count, all) => format!(" at {count} of {all} points"),
        };
        (!own.is_empty()).then(|| format!("{words}{at} ({} times the work in the same time)", range([low, high])))
    };
    join_and(&parts.into_iter().filter_map(part).collect::<Vec<_>>())
}

/// `1.20 to 2.31`; one number if both are the same.
fn range([low, high]: [f64; 2]) -> String {
    let [low, high] = [low, high].map(ratio_text);
    if low == high { low } else { format!("{low} to {high}") }
}

fn too_few(pairs: usize) -> String {
    let of = if pairs == 1 { "1 pair of repeats".to_owned() } else { format!("{pairs} pairs of repeats") };
    if pairs < PAIRS_MIN { format!(": it is of {of}, and it takes {PAIRS_MIN}") } else { String::new() }
}

/// What must not be compared, or only with care. A sentence that is true of all comparisons is there once.
pub fn warnings(all: &[RunComparison]) -> Vec<String> {
    let own: Vec<Vec<String>> = all.iter().map(cautions).collect();
    let is_common = |text: &String| own.iter().all(|texts| texts.contains(text));
    let common = own.first().into_iter().flatten().filter(|text| is_common(text)).cloned();
    let others = all.iter().zip(&own).flat_map(|(one, texts)| {
        let name = arm_name(&one.new);
        texts.iter().filter(|text| !is_common(text)).map(move |text| format!("{name}: {text}"))
    });
    common.chain(others).collect()
}

/// What of a run is in no ratio, or was cut short; nothing if all of it can be used.
pub fn run_warning(name: &str, analysis: &Analysis) -> Option<String> {
    let count =
        |is: fn(&analysis::PointAnalysis) -> bool| analysis.points.iter().filter(|point| is(point)).count() as u64;
    let invalid = count(|point| point.validity == Validity::Invalid);
    let cut_short = count(|point| point.state == PointState::Partial);
    let failed = count(|point| point.state == PointState::Failed);
    let parts = [
        (invalid, "is invalid", "are invalid"),
        (cut_short, "was cut short", "were cut short"),
        (failed, "failed", "failed"),
    ];
    let part = |(count, one, more): (u64, &str, &str)| {
        (count > 0).then(|| format!("{} {}", plural(count, "point"), if count == 1 { one } else { more }))
    };
    let parts: Vec<String> = parts.into_iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| format!("{name}: {}.", join_and(&parts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{compared, quick};
    use analysis::points::metric::Metric;

    #[test]
    fn one_point_has_its_ratio_with_its_interval_and_several_have_their_range() {
        let mut one = compared();
        assert_eq!(
            headline(&[one.clone()]),
            "new does 0.50 times the work of old in the same time (95 %: 0.49 to 0.51): it is slower."
        );
        one.places.push(one.places[0].clone());
        one.places[1].metrics[0].estimate.verdict = RatioVerdict::NoDifferenceShown;
        let expected = "new against old: slower at 1 of 2 points (0.50 times the work in the same time) and not shown to differ at 1 of 2 \
                        points (0.50 times the work in the same time).";
        assert_eq!(headline(&[one.clone()]), expected);
        one.places[1] = one.places[0].clone();
        let other = compared();
        let expected = "Against old: new is slower at all 2 points (0.50 times the work in the same time); new is slower (0.50 times the work in \
                        the same time).";
        assert_eq!(headline(&[one, other]), expected);
    }

    #[test]
    fn a_single_pair_is_only_indicative_and_nothing_in_common_is_not_comparable() {
        let mut one = compared();
        let estimate = &mut one.places[0].metrics[0].estimate;
        (estimate.verdict, estimate.n, estimate.ci95) = (RatioVerdict::Indicative, 1, None);
        assert_eq!(
            sentence(&one),
            "new did 0.50 times the work of old in the same time, which is only indicative: it is of 1 pair of repeats, and it takes 4."
        );
        one.places.clear();
        assert!(
            sentence(&one).ends_with("not comparable: no point has a counterpart with the same work."),
            "{}",
            sentence(&one)
        );
    }

    #[test]
    fn a_duration_counts_the_other_way_round() {
        let mut one = compared();
        one.places[0].metrics[0].metric = Metric::Seconds;
        one.places[0].metrics[0].estimate.verdict = RatioVerdict::Faster;
        assert!(
            sentence(&one).starts_with("new does 2.00 times the work of old in the same time (95 %: 1."),
            "{}",
            sentence(&one)
        );
    }

    #[test]
    fn what_is_doubtful_in_all_comparisons_is_there_once() {
        let (one, mut other) = (compared(), compared());
        (other.new.run, other.left_out) = ("newer".into(), 2);
        let all = warnings(&[one, other]);
        assert_eq!(all.iter().filter(|text| text.contains("not measured in turn")).count(), 1, "{all:?}");
        assert_eq!(
            all.last().map(String::as_str),
            Some("newer: 2 points without a valid result, or cut short: in no ratio.")
        );
    }

    #[test]
    fn a_run_with_points_that_cannot_be_used_has_a_warning() {
        let mut analysis = quick();
        analysis.points.iter_mut().for_each(|point| point.validity = Validity::Valid);
        analysis.points.iter_mut().for_each(|point| point.state = PointState::Complete);
        assert_eq!(run_warning("a", &analysis), None);
        analysis.points[0].validity = Validity::Invalid;
        analysis.points[1].state = PointState::Partial;
        assert_eq!(run_warning("a", &analysis).as_deref(), Some("a: 1 point is invalid and 1 point was cut short."));
    }
}
