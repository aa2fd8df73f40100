//! What two values of one setting do to the same work, in words: the sentence that the author of a plan would write.
//!
//! In: the relative tables of a verdict. Out: the words of a ratio, and complete sentences. Limits: a gain, a loss or a factor is written of a
//! ratio that its table shows as a difference, with its interval; anything else is "no difference shown", or a measured ratio that is
//! called indicative. Of many places the first are named; the tables have all.

use super::label::{phrase, settings_label};
use super::list::join_and;
use super::quantity::plural;
use analysis::Setting;
use analysis::math::ratio::RatioVerdict;
use analysis::points::metric::Metric;
use analysis::points::relative::{RelativeCell, RelativeRow, RelativeTable};
use analysis::recorded::dimensions::Role;

/// The most sentences about ratios.
const SENTENCES_MAX: usize = 4;
/// The most places that a sentence names for one result.
const PLACES_MAX: usize = 3;
/// From this factor on a ratio is given as a factor and not in percent.
const FACTOR_MIN: f64 = 2.0;

/// `1.04 (1.02 to 1.06)`; without an interval `1.04`.
pub fn ratio_text(ratio: f64, ci95: Option<[f64; 2]>) -> String {
    let interval =
        ci95.map_or(String::new(), |[low, high]| format!(" ({} to {})", ratio_digits(low), ratio_digits(high)));
    format!("{}{interval}", ratio_digits(ratio))
}

/// Two decimals below 10: a ratio of two rates that agree within 2 % is not 1. Three below 0.1.
pub fn ratio_digits(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 0.0995 => format!("{ratio:.3}"),
        ratio if ratio < 9.995 => format!("{ratio:.2}"),
        ratio if ratio < 99.95 => format!("{ratio:.1}"),
        ratio => super::quantity::count(ratio).to_string(),
    }
}

/// What all places of `table` have in common.
pub fn common_settings(table: &RelativeTable) -> Vec<Setting> {
    let Some(first) = table.rows.first() else { return Vec::new() };
    let is_common = |setting: &&Setting| table.rows.iter().all(|row| row.place.contains(setting));
    first.place.iter().filter(is_common).cloned().collect()
}

/// `The arms differ in durability (os and disk): this is what you asked to compare.`
pub(super) fn asked_durability(tables: &[RelativeTable]) -> Option<String> {
    let table = tables.iter().find(|table| table.compares_durability)?;
    let words: Vec<String> = table.arms.iter().map(|arm| arm.value.to_string()).collect();
    Some(format!("The arms differ in durability ({}): this is what you asked to compare.", join_and(&words)))
}

/// What the arms of `tables` do to the speed of the same work.
pub(super) fn conclusions<'t>(tables: impl IntoIterator<Item = &'t RelativeTable>) -> Vec<String> {
    // What several instances carry has sentences of its own.
    let tables = tables.into_iter().filter(|table| table.arms.iter().all(|arm| arm.role != Role::Instances));
    let all: Vec<String> = tables.flat_map(of_table).collect();
    let shown = if all.len() > SENTENCES_MAX { SENTENCES_MAX - 1 } else { all.len() };
    let mut sentences = all[..shown].to_vec();
    if shown < all.len() {
        sentences.push(format!("The relative tables have {} more such comparisons.", all.len() - shown));
    }
    sentences
}

/// A ratio of the speed at one place.
struct SpeedRatio {
    place: String,
    metric: Metric,
    cell: RelativeCell,
}

/// A sentence for each arm but the first.
fn of_table(table: &RelativeTable) -> Vec<String> {
    let common = common_settings(table);
    let base = phrase(&table.arms[0]);
    let ratio = |row: &RelativeRow, nth: usize| {
        let place = settings_label(row.place.iter().filter(|setting| !common.contains(setting)));
        // Of engines that are not ranked nothing is concluded here either.
        Some(SpeedRatio { place, metric: row.metric, cell: row.cells[nth].filter(|cell| !cell.is_unlike)? })
    };
    let speeds =
        |nth: usize| table.rows.iter().filter(|row| row.metric.is_speed()).filter_map(move |row| ratio(row, nth));
    let named = table.arms[1..].iter().enumerate();
    named.filter_map(|(nth, arm)| arm_sentence(&phrase(arm), &base, &speeds(nth).collect::<Vec<_>>())).collect()
}

/// `Against ext4, ext4:nobarrier gains 4 % (95 % CI 2 to 6, 6 pairs) with read_write; no difference shown with read_only.`
fn arm_sentence(arm: &str, base: &str, speeds: &[SpeedRatio]) -> Option<String> {
    let is = |verdict: RatioVerdict| move |one: &&SpeedRatio| one.cell.ratio.verdict == verdict;
    let different: Vec<String> =
        speeds.iter().filter(|one| one.cell.ratio.verdict.is_difference()).map(difference).collect();
    let even: Vec<&SpeedRatio> = speeds.iter().filter(is(RatioVerdict::NoDifferenceShown)).collect();
    let measured: Vec<&SpeedRatio> = speeds.iter().filter(is(RatioVerdict::Indicative)).collect();
    let mut parts = Vec::new();
    if !different.is_empty() {
        parts.push(format!("{arm} {}", first_of(&different, "place")));
    }
    if !even.is_empty() {
        let places: Vec<String> = even.iter().map(|one| one.place.clone()).collect();
        let subject =
            if parts.is_empty() { format!("{arm} shows no difference") } else { "no difference shown".to_owned() };
        parts.push(format!("{subject}{}{}", at_places(&places), smallest(&even)));
    }
    let claims = (!parts.is_empty()).then(|| format!("Against {base}, {}.", parts.join("; ")));
    let measured = (!measured.is_empty()).then(|| indicative(arm, base, &measured));
    let all: Vec<String> = claims.into_iter().chain(measured).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// `gains 4 % (95 % CI 2 to 6, 6 pairs) with read_write`
fn difference(one: &SpeedRatio) -> String {
    let (ratio, pairs) = (one.cell.ratio, plural(one.cell.ratio.n as u64, "pair"));
    let [low, high] = ratio.ci95.expect("a difference that is shown has an interval");
    let [change, low, high] = change_words(one.metric, ratio.ratio, low, high);
    format!("{change} (95 % CI {low} to {high}, {pairs}){}", at_places(std::slice::from_ref(&one.place)))
}

/// The change from 1 to `ratio` in words, and the ends of its interval in the same unit: `gains 4 %`, `2`, `6`.
fn change_words(metric: Metric, ratio: f64, low: f64, high: f64) -> [String; 3] {
    let percent = |share: f64| format!("{:.*}", if share.abs() < 0.0995 { 1 } else { 0 }, share * 100.0);
    let factor = |factor: f64| format!("{}x", ratio_digits(factor).trim_end_matches('0').trim_end_matches('.'));
    match metric {
        Metric::Seconds if ratio >= FACTOR_MIN => {
            [format!("takes {} as long", factor(ratio)), ratio_digits(low), ratio_digits(high)]
        }
        Metric::Seconds if ratio > 1.0 => {
            [format!("takes {} % longer", percent(ratio - 1.0)), percent(low - 1.0), percent(high - 1.0)]
        }
        Metric::Seconds => {
            [format!("takes {} % less time", percent(1.0 - ratio)), percent(1.0 - high), percent(1.0 - low)]
        }
        _ if ratio >= FACTOR_MIN => [format!("is {} as fast", factor(ratio)), ratio_digits(low), ratio_digits(high)],
        _ if ratio > 1.0 => [format!("gains {} %", percent(ratio - 1.0)), percent(low - 1.0), percent(high - 1.0)],
        _ if ratio * FACTOR_MIN > 1.0 => {
            [format!("loses {} %", percent(1.0 - ratio)), percent(1.0 - high), percent(1.0 - low)]
        }
        _ => [format!("costs {}", factor(1.0 / ratio)), ratio_digits(1.0 / high), ratio_digits(1.0 / low)],
    }
}

/// ` (9 of 10 tries would have shown a difference of 3 %)`, of the widest of `even`.
fn smallest(even: &[&SpeedRatio]) -> String {
    let effects = even.iter().filter_map(|one| one.cell.ratio.telling_effect());
    match effects.fold(0.0, f64::max) {
        effect if effect >= 1.0 && effect.is_finite() => {
            format!(" (9 of 10 tries would have shown a factor of {})", ratio_digits(1.0 + effect))
        }
        effect if effect > 0.0 && effect < 1.0 => {
            format!(" (9 of 10 tries would have shown a difference of {:.0} %)", (effect * 100.0).ceil())
        }
        _ => String::new(),
    }
}

/// `Indicative only (1 pair): fjall has 4.75x the rate of sqlite with indexes 3 and 0.98x with indexes 0.`
fn indicative(arm: &str, base: &str, measured: &[&SpeedRatio]) -> String {
    let (times, rates): (Vec<&SpeedRatio>, Vec<_>) = measured.iter().partition(|one| one.metric == Metric::Seconds);
    let kinds = [(rates, "has", "the rate"), (times, "takes", "the time")];
    let kinds = kinds.iter().filter(|(own, ..)| !own.is_empty());
    let clauses: Vec<String> = kinds.map(|(own, verb, what)| ratio_clause(base, own, verb, what)).collect();
    let pairs = || measured.iter().map(|one| one.cell.ratio.n);
    let [least, most] = [pairs().min(), pairs().max()].map(Option::unwrap_or_default);
    let pairs = if least == most { plural(most as u64, "pair") } else { format!("{least} to {most} pairs") };
    format!("Indicative only ({pairs}): {arm} {}.", join_and(&clauses))
}

/// `has 4.75x the rate of sqlite with indexes 3 and 0.98x with indexes 0`
fn ratio_clause(base: &str, measured: &[&SpeedRatio], verb: &str, what: &str) -> String {
    let one = |(nth, one): (usize, &&SpeedRatio)| {
        let interval =
            one.cell.ratio.telling_ci95().map_or(String::new(), |[low, high]| {
                format!(" (95 % CI {} to {})", ratio_digits(low), ratio_digits(high))
            });
        let of = if nth == 0 { format!(" {what} of {base}") } else { String::new() };
        format!("{}x{of}{interval}{}", ratio_digits(one.cell.ratio.ratio), at_places(std::slice::from_ref(&one.place)))
    };
    let all: Vec<String> = measured.iter().enumerate().map(one).collect();
    format!("{verb} {}", first_of(&all, "place"))
}

/// ` with read_write and read_only`; nothing of the only place.
fn at_places(places: &[String]) -> String {
    let named: Vec<String> = places.iter().filter(|place| !place.is_empty()).cloned().collect();
    if named.is_empty() { String::new() } else { format!(" with {}", first_of(&named, "place")) }
}

/// `a, b and 2 more places`
fn first_of(parts: &[String], noun: &str) -> String {
    if parts.len() <= PLACES_MAX + 1 {
        return join_and(parts);
    }
    let more = parts.len() - PLACES_MAX;
    let mut shown = parts[..PLACES_MAX].to_vec();
    shown.push(format!("{more} more {noun}s"));
    join_and(&shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::setting;
    use RatioVerdict::{Faster, Indicative, NoDifferenceShown, Slower};
    use analysis::SettingValue;
    use analysis::math::ratio::RatioEstimate;
    use analysis::math::repeats::MeanOfRepeats;
    use analysis::points::work::WorkUnit;
    use model::{Percentile, Value};

    fn word(name: &str, value: &str) -> Setting {
        setting(name, SettingValue::Param(Value::Word(value.into())))
    }

    fn cell(ratio: f64, n: usize, verdict: RatioVerdict) -> Option<RelativeCell> {
        let ci95 = (n > 1).then_some([ratio * 0.98, ratio * 1.02]);
        let ratio = RatioEstimate { ratio, ci95, n, smallest_effect: ci95.map(|_| 0.025), p_value: None, verdict };
        Some(RelativeCell {
            mean: MeanOfRepeats::default(),
            ratio,
            is_interleaved: true,
            is_unlike: false,
            decision: None,
            pairs_more: None,
        })
    }

    /// A table of `arms`, and of each place the metric and the cells.
    fn table(arms: [Setting; 2], rows: Vec<(&str, Metric, Option<RelativeCell>)>) -> RelativeTable {
        let row = |(place, metric, cell): (&str, Metric, Option<RelativeCell>)| RelativeRow {
            place: vec![word("engine", "innodb"), word("mix", place)],
            group: None,
            metric,
            unit: WorkUnit::Operations,
            base: MeanOfRepeats::default(),
            cells: vec![cell],
        };
        let (arms_without_points, left_out) = (Vec::new(), Vec::new());
        RelativeTable {
            arms: arms.to_vec(),
            compares_durability: false,
            rows: rows.into_iter().map(row).collect(),
            arms_without_points,
            left_out,
        }
    }

    fn barriers() -> [Setting; 2] {
        [word("fs", "ext4"), word("fs", "ext4:nobarrier")]
    }

    #[test]
    fn a_gain_has_its_interval_and_what_was_not_shown_is_called_so() {
        let rows = vec![
            ("read_write", Metric::OpsPerS, cell(1.04, 6, Faster)),
            ("read_write", Metric::Response(Percentile::P99), cell(0.5, 6, Faster)),
            ("read_only", Metric::OpsPerS, cell(1.0, 6, NoDifferenceShown)),
        ];
        let expected = "Against ext4, ext4:nobarrier gains 4.0 % (95 % CI 1.9 to 6.1, 6 pairs) with read_write; no difference \
                        shown with read_only (9 of 10 tries would have shown a difference of 3 %).";
        assert_eq!(conclusions(&[table(barriers(), rows)]), [expected]);
    }

    #[test]
    fn what_hyper_threading_gives_is_told_of_all_threads_against_one_per_core() {
        let rows = vec![("read_write", Metric::OpsPerS, cell(1.17, 6, Faster))];
        let arms = [word("cpus", "cores"), word("cpus", "all")];
        let expected = "Against cores, all gains 17 % (95 % CI 15 to 19, 6 pairs).";
        assert_eq!(conclusions(&[table(arms, rows)]), [expected]);
        let rows = vec![("read_write", Metric::OpsPerS, cell(0.95, 6, Slower))];
        let arms = [word("scheduler", "none"), word("scheduler", "mq-deadline")];
        let expected = "Against scheduler none, mq-deadline loses 5.0 % (95 % CI 3.1 to 6.9, 6 pairs).";
        assert_eq!(conclusions(&[table(arms, rows)]), [expected]);
    }

    #[test]
    fn a_large_loss_is_a_factor_and_a_duration_is_longer() {
        let indexes = || [0, 3].map(|n| setting("indexes", SettingValue::Param(Value::Int(n))));
        let rows = vec![("l.i1", Metric::RowsPerS, cell(1.0 / 2.9, 6, Slower))];
        let expected = "Against indexes 0, indexes 3 costs 2.9x (95 % CI 2.84 to 2.96, 6 pairs).";
        assert_eq!(conclusions(&[table(indexes(), rows)]), [expected]);
        let rows =
            vec![("l.x", Metric::Seconds, cell(1.3, 4, Slower)), ("drain", Metric::Seconds, cell(0.8, 4, Faster))];
        let expected = "Against indexes 0, indexes 3 takes 30 % longer (95 % CI 27 to 33, 4 pairs) with l.x and takes 20 % \
                        less time (95 % CI 18 to 22, 4 pairs) with drain.";
        assert_eq!(conclusions(&[table(indexes(), rows)]), [expected]);
    }

    #[test]
    fn few_repeats_give_a_measured_ratio_and_no_claim() {
        let of = |n| conclusions(&[table(barriers(), vec![("x", Metric::OpsPerS, cell(4.75, n, Indicative))])]);
        assert_eq!(of(1), ["Indicative only (1 pair): ext4:nobarrier has 4.75x the rate of ext4."]);
        let three = "Indicative only (3 pairs): ext4:nobarrier has 4.75x the rate of ext4 (95 % CI 4.66 to 4.84).";
        assert_eq!(of(3), [three]);
        let rows = vec![
            ("l.i1", Metric::RowsPerS, cell(0.5, 1, Indicative)),
            ("l.x", Metric::Seconds, cell(3.0, 1, Indicative)),
        ];
        let both = "Indicative only (1 pair): ext4:nobarrier has 0.50x the rate of ext4 with l.i1 and takes 3.00x the time of \
                    ext4 with l.x.";
        assert_eq!(conclusions(&[table(barriers(), rows)]), [both]);
    }

    #[test]
    fn engines_that_are_not_ranked_have_no_sentence() {
        let unlike = cell(0.07, 6, Indicative).map(|cell| RelativeCell { is_unlike: true, ..cell });
        assert!(conclusions(&[table(barriers(), vec![("x", Metric::OpsPerS, unlike)])]).is_empty());
    }

    #[test]
    fn a_ratio_keeps_what_two_digits_show() {
        assert_eq!([0.0123, 0.5, 4.749, 12.34, 1234.0].map(ratio_digits), ["0.012", "0.50", "4.75", "12.3", "1.23k"]);
        assert_eq!(ratio_text(1.04, Some([1.02, 1.06])), "1.04 (1.02 to 1.06)");
    }

    #[test]
    fn many_places_and_many_settings_are_counted() {
        let mixes = ["a", "b", "c", "d", "e", "f"];
        let rows = mixes.map(|mix| (mix, Metric::OpsPerS, cell(1.0, 6, NoDifferenceShown))).to_vec();
        let found = conclusions(&[table(barriers(), rows)]);
        assert!(found[0].contains("shows no difference with a, b, c and 3 more places"), "{found:?}");
        let one = || table(barriers(), vec![("a", Metric::OpsPerS, cell(2.0, 6, Faster))]);
        let many = conclusions(&[one(), one(), one(), one(), one()]);
        assert_eq!((many.len(), many[3].as_str()), (4, "The relative tables have 2 more such comparisons."));
    }

    #[test]
    fn durabilities_that_are_compared_are_named() {
        let found = table(barriers(), vec![("a", Metric::OpsPerS, cell(2.0, 6, Indicative))]);
        assert_eq!(asked_durability(std::slice::from_ref(&found)), None);
        let arms = vec![word("durability", "os"), word("durability", "disk")];
        let asked = RelativeTable { arms, compares_durability: true, ..found };
        let sentence = "The arms differ in durability (os and disk): this is what you asked to compare.";
        assert_eq!(asked_durability(&[asked]).as_deref(), Some(sentence));
    }
}
