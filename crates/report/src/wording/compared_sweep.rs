//! Two arms over a sweep, in a sentence: `drv31 is 2.6 to 7.4 times as fast as drv30 at 1 to 16 clients.`
//!
//! In: a comparison. Out: the answer, a sentence for each sweep, and for a place that is in none. What differs or weakens is said elsewhere.

use super::compare::{arm_name, nothing_in_common, place_name};
use super::compared_kinds::{failed_sentences, kind_sentences};
use super::compared_watches::watch_sentences;
use super::label::settings_label;
use super::list::join_and;
use super::quantity::{number, percent, plural};
use analysis::compare::{ComparedSweep, MetricRatio, PlaceComparison, RunComparison, SweepStretch};
use analysis::math::ratio::PAIRS_MIN;
use analysis::points::metric::Metric;
use analysis::{RatioVerdict, Role};

/// The sentences that answer which arm is faster. Of replays there are first those that failed, then which statements are faster and which answer
/// differently. Of watches the answer is what their statements cost, and of runs with nothing in common that nothing can be compared.
pub fn answers(comparison: &RunComparison) -> Vec<String> {
    if comparison.watches.is_some() {
        return watch_sentences(comparison);
    }
    let sweeps = comparison.sweeps();
    let is_swept = |place: &PlaceComparison| {
        sweeps.iter().flat_map(|sweep| &sweep.places).any(|(_, own, _)| std::ptr::eq(*own, place))
    };
    let alone = comparison.speeds().filter(|(place, _)| !is_swept(place)).map(|one| place_sentence(comparison, one));
    let of_sweeps = sweeps.iter().map(|sweep| sweep_sentence(comparison, sweep));
    let first = failed_sentences(comparison).into_iter().chain(nothing_in_common(comparison));
    first.chain(kind_sentences(comparison)).chain(of_sweeps).chain(alone).collect()
}

fn sweep_sentence(comparison: &RunComparison, sweep: &ComparedSweep) -> String {
    let (new, base) = (arm_name(&comparison.new), arm_name(&comparison.base));
    let stretches = sweep.stretches();
    let said = |(nth, one): (usize, &SweepStretch)| {
        let base = (nth == 0).then_some(base.as_str());
        format!("{} {}", found(one.verdict, one.ratios, one.ci95.filter(|_| one.is_alike), base), at(sweep.over, one))
    };
    let parts: Vec<String> = stretches.iter().enumerate().map(said).collect();
    let place = Some(settings_label(&sweep.common)).filter(|label| !label.is_empty());
    let place = place.map_or(String::new(), |place| format!("{place}: "));
    let undecided = stretches.iter().any(|one| one.verdict == RatioVerdict::Indicative);
    let pairs = stretches.iter().map(|one| one.pairs).min().unwrap_or(0);
    format!("{place}{new} {}.{}", join_and(&parts), if undecided { indicative(pairs) } else { String::new() })
}

fn place_sentence(comparison: &RunComparison, (place, speed): (&PlaceComparison, &MetricRatio)) -> String {
    let (new, base) = (arm_name(&comparison.new), arm_name(&comparison.base));
    let estimate = &speed.estimate;
    // Of durations the shorter one is the faster.
    let speed_of = |ratio: f64| if speed.metric == Metric::Seconds { 1.0 / ratio } else { ratio };
    let ci95 = estimate.telling_ci95().map(|ends| ends.map(speed_of)).map(|[a, b]| [a.min(b), a.max(b)]);
    let said = found(estimate.verdict, [speed_of(estimate.ratio); 2], ci95, Some(&base));
    let name =
        Some(place_name(place)).filter(|name| !name.is_empty()).map_or(String::new(), |name| format!("{name}: "));
    let undecided = estimate.verdict == RatioVerdict::Indicative;
    // Of a replay the times of its statements are the answer: its rate is that of the log as long as both keep up.
    let of_what = if place.kinds.is_some() { " in statements per second" } else { "" };
    format!("{name}{new} {said}{of_what}.{}", if undecided { indicative(estimate.n) } else { String::new() })
}

/// `is 2.6 to 7.4 times as fast as drv30`, `is 31 % slower than drv30 (28 to 34 %)`; `ci95` if one interval holds for all, and `base` if it
/// is named.
fn found(verdict: RatioVerdict, [low, high]: [f64; 2], ci95: Option<[f64; 2]>, base: Option<&str>) -> String {
    let named = |word: &str| base.map_or(String::new(), |base| format!(" {word} {base}"));
    let factor = |ratio: f64| factor(ratio);
    let less = |ratio: f64| percent(1.0 - ratio).to_string();
    let more = |ratio: f64| percent(ratio - 1.0).to_string();
    let interval = |[from, to]: [String; 2]| format!(" ({})", range([from, to]));
    match verdict {
        RatioVerdict::NoDifferenceShown => format!("shows no difference{}", named("to")),
        RatioVerdict::Indicative => format!("had {} times the speed{}", range([low, high].map(factor)), named("of")),
        RatioVerdict::Slower => {
            let interval = ci95.map_or(String::new(), |[low, high]| interval([high, low].map(less)));
            format!("is {} slower{}{interval}", range([high, low].map(less)), named("than"))
        }
        RatioVerdict::Faster if high < 1.5 => {
            let interval = ci95.map_or(String::new(), |ends| interval(ends.map(more)));
            format!("is {} faster{}{interval}", range([low, high].map(more)), named("than"))
        }
        RatioVerdict::Faster => {
            let interval = ci95.map_or(String::new(), |ends| interval(ends.map(factor)));
            format!("is {} times as fast{}{interval}", range([low, high].map(factor)), named("as"))
        }
    }
}

/// `28 to 34 %`, `31 %`
fn range([low, high]: [String; 2]) -> String {
    if low == high { low } else { format!("{} to {high}", low.trim_end_matches(" %")) }
}

/// `2.6`, `1.05`, `0.45`, `12`
pub(super) fn factor(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 9.95 => number(ratio.round()).to_string(),
        ratio if ratio >= 1.95 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.2}"),
    }
}

/// `at 1 to 16 clients`, `at 1 client`
fn at(over: Role, stretch: &SweepStretch) -> String {
    let [from, to] = stretch.from_to;
    match (over == Role::Depth, stretch.places) {
        (true, 1) => format!("at depth {from}"),
        (true, _) => format!("at depths {from} to {to}"),
        (false, 1) => format!("at {}", plural(u64::from(from), "client")),
        (false, _) => format!("at {from} to {}", plural(u64::from(to), "client")),
    }
}

fn indicative(pairs: usize) -> String {
    if pairs < PAIRS_MIN {
        format!(" That is not sure: {} of {PAIRS_MIN} pairs; measure both with `--repeat {PAIRS_MIN}`.", pairs)
    } else {
        " That is not sure, because the runs are not alike.".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{compared, setting};
    use analysis::SettingValue;

    /// The comparison of `compared` at several numbers of clients, with these ratios and verdicts.
    fn swept(ratios: &[(u32, f64, RatioVerdict)]) -> RunComparison {
        let mut one = compared();
        let place = |(clients, ratio, verdict): &(u32, f64, RatioVerdict)| {
            let mut place = one.places[0].clone();
            place.label = vec![setting("clients", SettingValue::Count(*clients))];
            let estimate = &mut place.metrics[0].estimate;
            (estimate.ratio, estimate.verdict) = (*ratio, *verdict);
            estimate.ci95 = Some([0.9 * ratio, 1.1 * ratio]);
            place
        };
        one.places = ratios.iter().map(place).collect();
        one
    }

    #[test]
    fn a_sweep_is_one_sentence() {
        use RatioVerdict::{Faster, Indicative, NoDifferenceShown, Slower};
        let told = |ratios: &[(u32, f64, RatioVerdict)]| answers(&swept(ratios)).join(" ");
        let expected = "new is 2.6 to 7.4 times as fast as old at 1 to 16 clients.";
        assert_eq!(told(&[(1, 2.6, Faster), (4, 5.0, Faster), (16, 7.4, Faster)]), expected);
        let alike = "new is 2.0 to 2.1 times as fast as old (1.80 to 2.3) at 1 to 16 clients.";
        assert_eq!(told(&[(1, 2.0, Faster), (16, 2.1, Faster)]), alike);
        let parted = "new shows no difference to old at 1 to 4 clients and is 50 % slower (45 to 55 %) at 16 clients.";
        let places = [(1, 1.0, NoDifferenceShown), (4, 1.0, NoDifferenceShown), (16, 0.5, Slower)];
        assert_eq!(told(&places), parted);
        let unsure = told(&[(1, 1.2, Indicative), (16, 0.9, Indicative)]);
        assert!(
            unsure.starts_with("new had 0.90 to 1.20 times the speed of old at 1 to 16 clients. That is not sure"),
            "{unsure}"
        );
    }

    #[test]
    fn a_place_alone_has_its_ratio_and_its_interval() {
        assert_eq!(answers(&compared()), ["postgres oltp: new is 50 % slower than old (49 to 51 %)."]);
    }
}
