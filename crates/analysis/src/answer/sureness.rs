//! What a run that goes on until it is sure has decided, when it ended, and how much longer the rest would take: as a sentence.
//!
//! In: the plan, the relative table of what it compares, the points. Out: a sentence of the trust. Limits: how much longer is a forecast from the
//! spread that was seen, and from the time that points have taken with their data and servers.

use super::asked::AskedRun;
use super::comparison::deciding_tables;
use crate::PointAnalysis;
use crate::math::ratio::PAIRS_MIN;
use crate::math::repeats::half_width_share;
use crate::point::rates_of;
use crate::points::relative::{RelativeCell, RelativeRow, RelativeTable};
use crate::recorded::dimensions::SettingValue;
use model::sure::{Decision, Precision, SurePlan, budget_flag};
use model::{Nanos, PointState, Until};
use words::list::capital;
use words::quantity::{counted, percent, range, time};

/// Nobody measures more pairs, or more repeats.
const PAIRS_TOLD_MAX: u32 = 10_000;
/// A point that took at least this share of its longest time was ended by that time, and not because its rate was known.
const ALL_OF_TIME: f64 = 0.99;

/// What was decided and when it ended; `None` if time ended it.
pub(super) fn sentence(run: &AskedRun) -> Option<String> {
    let plan = &run.analysis.meta.plan;
    let of_repeats = plan.sure.and_then(|sure| of_pairs(run, &sure).or_else(|| of_repeats(run, &sure)));
    of_repeats.or_else(|| of_points(run)).map(|words| format!("{}.", capital(&words)))
}

/// `decided after 9 of at most 20 pairs`; `2 of 3 comparisons are not decided after 20 pairs: about 30 more each (5 min) would decide them`
fn of_pairs(run: &AskedRun, sure: &SurePlan) -> Option<String> {
    let rows = compared_rows(run)?;
    let cells: Vec<&RelativeCell> = rows.iter().flatten().collect();
    let (open, decided): (Vec<&RelativeCell>, Vec<&RelativeCell>) =
        cells.iter().copied().partition(|cell| cell.decision == Some(Decision::Open));
    let which = match cells.len() {
        1 => String::new(),
        2 => "both comparisons are ".to_owned(),
        all => format!("all {all} comparisons are "),
    };
    if open.is_empty() {
        let alike = decided.iter().filter(|cell| cell.decision == Some(Decision::Alike)).count();
        let difference = percent(sure.difference.share());
        let alike = match (alike, cells.len()) {
            (0, _) => String::new(),
            (1, 1) => format!(": they differ by less than {difference}"),
            (alike, _) => format!("; in {alike} of them the two differ by less than {difference}"),
        };
        let (some, most) = (counts_of(&decided), sure.pairs_max);
        return Some(format!("{which}decided after {some} of at most {most} pairs{alike}"));
    }
    let pairs = open.iter().map(|cell| cell.ratio.n as u32 + cell.pairs_more.unwrap_or(1)).max().unwrap_or(0);
    let longer = pairs_missing(&open, &time_missing(run, sure, f64::from(points_missing(&rows)), pairs));
    let which = match cells.len() {
        1 => "not decided".to_owned(),
        all => {
            format!("{} of {all} comparisons {} not decided", open.len(), if open.len() == 1 { "is" } else { "are" })
        }
    };
    Some(format!("{which} after {}: {longer}", pairs_of(&open)))
}

/// `about 14 more (--budget 12m) would decide it`: how many pairs would decide those that are `open`, and what time those need.
fn pairs_missing(open: &[&RelativeCell], time: &str) -> String {
    // The spread of two or three pairs foresees as little as it decides; a single pair has none.
    if open.iter().any(|cell| cell.ratio.n < PAIRS_MIN) {
        return "nothing is decided with fewer than four pairs".to_owned();
    }
    let all = || open.iter().map(|cell| cell.pairs_more.unwrap_or(1));
    let (least, most) = (all().min().unwrap_or(1), all().max().unwrap_or(1));
    if most > PAIRS_TOLD_MAX {
        return "the pairs differ so much from each other that more of them would not help".to_owned();
    }
    let more = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let (each, what) = if open.len() == 1 { ("", "it") } else { (" each", "them") };
    format!("about {more} more{each} ({time}) would decide {what}")
}

/// What gives so many `points` their time, up to so many `repeats` in all: how long they take, or the flags if the time of the run was bounded.
fn time_missing(run: &AskedRun, sure: &SurePlan, points: f64, repeats: u32) -> String {
    let seconds = points * point_seconds(run);
    let Some(budget) = sure.budget else { return long_time(seconds) };
    let spent = run.analysis.time.map_or(0.0, |time| time.all.as_secs_f64());
    let flag = budget_flag((spent + seconds).max(budget.as_secs_f64()));
    if repeats > sure.pairs_max { format!("{flag} --repeat {repeats}") } else { flag }
}

/// `47.5 s`, `6 min`, `3.5 h`.
fn long_time(seconds: f64) -> String {
    // By the minutes that are printed: 7,199 s are 2.0 h.
    let minutes = (seconds / 60.0).round();
    match seconds {
        short if short < 120.0 => time(short * 1e9).to_string(),
        _ if minutes < 120.0 => format!("{minutes:.0} min"),
        long => format!("{:.1} h", long / 3_600.0),
    }
}

/// `9 pairs`, `5 to 12 pairs`
fn pairs_of(cells: &[&RelativeCell]) -> String {
    let most = cells.iter().map(|cell| cell.ratio.n).max().unwrap_or(0);
    format!("{} {}", counts_of(cells), if most == 1 { "pair" } else { "pairs" })
}

/// `9`, `5 to 12`
fn counts_of(cells: &[&RelativeCell]) -> String {
    let all = || cells.iter().map(|cell| cell.ratio.n);
    let (least, most) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
    if least == most { most.to_string() } else { format!("{least} to {most}") }
}

/// The comparisons that were to be decided, of each place.
fn compared_rows(run: &AskedRun) -> Option<Vec<Vec<RelativeCell>>> {
    let tables = &run.analysis.verdict.relative;
    let stated = run.stated_comparison();
    let table: &RelativeTable = tables.iter().find(|table| stated == Some(&table.arms[0].name))?;
    let tables = deciding_tables(run.analysis, table);
    let of_row = |row: &RelativeRow| -> Vec<RelativeCell> {
        row.cells.iter().flatten().filter(|cell| cell.decision.is_some()).copied().collect()
    };
    let rows = tables.iter().flat_map(|table| &table.rows).map(of_row);
    let rows: Vec<Vec<RelativeCell>> = rows.filter(|row: &Vec<_>| !row.is_empty()).collect();
    (!rows.is_empty()).then_some(rows)
}

/// How many points the pairs have that are missing: the arms of a place share its base.
fn points_missing(rows: &[Vec<RelativeCell>]) -> u32 {
    let of_row = |row: &Vec<RelativeCell>| {
        let open = row.iter().filter(|cell| cell.decision == Some(Decision::Open));
        let missing: Vec<u32> = open.map(|cell| cell.pairs_more.unwrap_or(1)).collect();
        missing.iter().sum::<u32>() + missing.iter().max().unwrap_or(&0)
    };
    rows.iter().map(of_row).sum()
}

/// How long a point took, its data, its server and what is between points included; at least its load.
fn point_seconds(run: &AskedRun) -> f64 {
    let points = run.analysis.points.len().max(1) as f64;
    let all = run.analysis.time.map_or(0.0, |time| time.all.as_secs_f64() / points);
    let warmup =
        run.analysis.meta.plan.trials.iter().map(|trial| trial.phases.warmup.as_secs_f64()).fold(0.0, f64::max);
    let seconds: Vec<f64> = measured(run).map(|summary| summary.seconds + warmup).collect();
    all.max(crate::math::stats::mean(&seconds))
}

fn measured<'a>(run: &AskedRun<'a>) -> impl Iterator<Item = &'a crate::Summary> {
    let complete = run.analysis.points.iter().filter(|point| point.state == PointState::Complete);
    complete.filter_map(|point| point.summary.as_ref())
}

/// The repeats of a point that is not compared with another.
struct Repeats {
    n: u32,
    /// Half the width of the interval of their mean, as a share; `None` of fewer than four.
    half_width: Option<f64>,
    /// How many more would be enough; `None` of fewer than four.
    more: Option<u32>,
}

/// `the means of all 3 points are known to ±2.0 %, after 4 to 7 repeats of at most 20`
fn of_repeats(run: &AskedRun, sure: &SurePlan) -> Option<String> {
    let rows = run.rows.points.iter().filter(|_| sure.comparisons == 0);
    let all: Vec<Repeats> = rows.filter_map(|row| repeats_of(run, row)).collect();
    if all.is_empty() {
        return None;
    }
    let within = sure.difference.share();
    let is_known = |one: &&Repeats| one.half_width.is_some_and(|half_width| half_width <= within);
    let open: Vec<&Repeats> = all.iter().filter(|one| !is_known(one)).collect();
    let repeats = |some: &[&Repeats]| counted(some, |one| u64::from(one.n), "repeat");
    let precision = percent(within);
    if open.is_empty() {
        let which = match all.len() {
            1 => "the mean of the point is".to_owned(),
            2 => "the means of both points are".to_owned(),
            points => format!("the means of all {points} points are"),
        };
        let after = repeats(&all.iter().collect::<Vec<_>>());
        return Some(format!("{which} known to ±{precision}, after {after} of at most {}", sure.pairs_max));
    }
    let which = match (all.len(), open.len()) {
        (1, _) => "the mean of the point is not".to_owned(),
        (all, 1) => format!("the mean of 1 of {all} points is not"),
        (all, open) => format!("the means of {open} of {all} points are not"),
    };
    Some(format!("{which} known to ±{precision} after {}: {}", repeats(&open), repeats_missing(run, sure, &open)))
}

/// Those of the point of `row`; `None` if its rate is that of its schedule, or if none of them did anything.
fn repeats_of(run: &AskedRun, row: &PointAnalysis) -> Option<Repeats> {
    let place = |point: &PointAnalysis| (point.group, point.clients, point.depth);
    let has_own_rate = |point: &PointAnalysis| {
        let summary = point.summary.as_ref().filter(|_| point.state == PointState::Complete);
        summary.is_some_and(|summary| summary.offered_per_s.is_none())
    };
    let own = run.analysis.points.iter().filter(|point| place(point) == place(row) && has_own_rate(point));
    let (rates, rule) = (rates_of(&own.collect::<Vec<_>>()), row.mean_rule.as_ref()?);
    let repeats =
        || Repeats { n: rates.len() as u32, half_width: rule.half_width(&rates), more: rule.repeats_more(&rates) };
    (!rates.is_empty()).then(repeats)
}

/// `about 9 more (--budget 12m) would be enough`
fn repeats_missing(run: &AskedRun, sure: &SurePlan, open: &[&Repeats]) -> String {
    let Some(more) = open.iter().map(|one| one.more).collect::<Option<Vec<u32>>>() else {
        return "it takes at least four".to_owned();
    };
    let most = more.iter().copied().fold(1, u32::max);
    if most > PAIRS_TOLD_MAX {
        return "the repeats differ so much from each other that more of them would not help".to_owned();
    }
    let points: f64 = more.iter().map(|more| f64::from(*more)).sum();
    let repeats = open.iter().zip(&more).map(|(one, more)| one.n + more).max().unwrap_or(0);
    let each = if open.len() == 1 { "" } else { " each" };
    let time = sure.budget.map(|_| format!(" ({})", time_missing(run, sure, points, repeats))).unwrap_or_default();
    format!("about {most} more{each}{time} would be enough")
}

/// `the points ended when their rates were known to ±2 %, after 4.0 to 9.2 s of at most 30.0 s`
fn of_points(run: &AskedRun) -> Option<String> {
    let points: Vec<(&PointAnalysis, Precision)> = run
        .analysis
        .points
        .iter()
        .filter(|point| point.summary.is_some())
        .filter_map(|point| Some((point, asked_of(point)?)))
        .collect();
    let (_, within) = points.first()?;
    let most = run.analysis.meta.plan.trials.iter().map(|trial| trial.phases.run).max().unwrap_or(Nanos(0));
    let open: Vec<&(&PointAnalysis, Precision)> =
        points.iter().filter(|(point, within)| !is_known(point, *within)).collect();
    let (all, precision) = (points.len(), percent(within.share()));
    if open.is_empty() {
        let took = seconds_of(&points.iter().collect::<Vec<_>>());
        let is_over = |(point, _): &&(&PointAnalysis, Precision)| seconds(point) >= ALL_OF_TIME * most.as_secs_f64();
        let over = points.iter().filter(is_over).count();
        let most = time(most.0 as f64);
        return Some(match (all, over) {
            (1, 0) => {
                format!("the point ended when its rate was known to ±{precision}, after {took} of at most {most}")
            }
            (1, _) => format!("the rate is known to ±{precision}; the point took all of its {most}"),
            (_, 0) => {
                format!("the points ended when their rates were known to ±{precision}, after {took} of at most {most}")
            }
            (all, over) if all == over => {
                format!("the rates are known to ±{precision}; the points took all of their {most}")
            }
            _ => format!("the rates are known to ±{precision}, after {took} of at most {most}"),
        });
    }
    let longest = open.iter().filter_map(|(point, within)| seconds_needed(point, *within)).reduce(f64::max);
    let longer = longest.map_or(String::new(), |seconds| format!("; about {} would be enough", time(seconds * 1e9)));
    let which = match (all, open.len()) {
        (1, _) => "the rate is not".to_owned(),
        (all, open) => format!("{open} of {all} rates {} not", if open == 1 { "is" } else { "are" }),
    };
    Some(format!("{which} known to ±{precision} after {}{longer}", seconds_of(&open)))
}

/// How long `points` lasted.
fn seconds_of(points: &[&(&PointAnalysis, Precision)]) -> String {
    range(points, |(point, _)| seconds(point) * 1e9, time)
}

fn seconds(point: &PointAnalysis) -> f64 {
    point.summary.as_ref().map_or(0.0, |summary| summary.seconds)
}

/// How precise the rate of `point` was to be.
fn asked_of(point: &PointAnalysis) -> Option<Precision> {
    match point.settings.value("until")? {
        SettingValue::Until(Until::Sure(within)) => Some(*within),
        _ => None,
    }
}

/// The half width of the rate of `point` as a share.
fn half_width(point: &PointAnalysis) -> Option<f64> {
    let summary = point.summary.as_ref()?;
    half_width_share((summary.ops_per_s, summary.ops_per_s_ci95))
}

fn is_known(point: &PointAnalysis, within: Precision) -> bool {
    half_width(point).is_some_and(|half_width| half_width <= within.share())
}

/// Four times as many intervals halve the width.
fn seconds_needed(point: &PointAnalysis, within: Precision) -> Option<f64> {
    let seconds = point.summary.as_ref()?.seconds;
    Some(seconds * (half_width(point)? / within.share()).powi(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::ratio::{RatioEstimate, RatioVerdict};
    use crate::math::repeats::MeanOfRepeats;
    use crate::simulated::{Random, Simulation, run_of};
    use crate::{RepeatRows, RunTime, analyse};
    use model::PointData;

    fn told(points: Vec<PointData>, sure: Option<SurePlan>) -> Option<String> {
        let mut run = run_of(points, Vec::new());
        run.meta.plan.sure = sure;
        run.meta.plan.asked.compare = sure.map(|_| "engine".to_owned());
        let analysis = analyse(&run);
        let rows = RepeatRows::from_analysis(&analysis).analysis;
        sentence(&AskedRun { analysis: &analysis, rows: &rows })
    }

    /// A point of 20 s of at most a minute, whose seconds vary by `share`.
    fn until_sure(seed: u64, share: f64) -> PointData {
        let mut random = Random::new(seed);
        let counts: Vec<u64> = (0..20).map(|_| (1e4 * (1.0 + share * random.normal())) as u64).collect();
        let sure = Until::Sure(Precision::USUAL);
        Simulation::counts(&counts)
            .with(|point| (point.trial.phases.until, point.trial.phases.run) = (sure, Nanos::from_secs(60)))
            .point()
    }

    #[test]
    fn a_point_says_when_it_ended_and_what_is_not_known_how_long_it_would_take() {
        let known = told(vec![until_sure(1, 0.01)], None);
        let ended = "The point ended when its rate was known to ±2.0 %, after 20.0 s of at most 60.0 s.";
        assert_eq!(known.as_deref(), Some(ended));
        let open = told(vec![until_sure(1, 0.2)], None).expect("it is not known");
        assert!(open.starts_with("The rate is not known to ±2.0 % after 20.0 s; about "), "{open}");
        assert_eq!(told(vec![Simulation::counts(&[100; 20]).point()], None), None);
    }

    /// What is said of so many repeats of a point whose rate varies by `share` from one to the next.
    fn repeated(repeats: u32, share: f64) -> Option<String> {
        let points = (1..=repeats).map(|repeat| {
            let rate = 1e4 * (1.0 + share * [1.0, -1.0, 0.5, -0.5][repeat as usize % 4]);
            Simulation::counts(&[rate as u64; 20]).with(|point| point.trial.repeat = repeat).point()
        });
        let (difference, budget) = (Precision::USUAL, Some(Nanos::from_secs(60)));
        told(points.collect(), Some(SurePlan { difference, pairs_max: 20, comparisons: 0, budget }))
    }

    #[test]
    fn repeats_that_are_compared_with_nothing_say_how_well_their_mean_is_known() {
        let known = "The mean of the point is known to ±2.0 %, after 5 repeats of at most 20.";
        assert_eq!(repeated(5, 0.002).as_deref(), Some(known));
        let open = repeated(5, 0.05).expect("it is told");
        let begins = "The mean of the point is not known to ±2.0 % after 5 repeats: about ";
        assert!(open.starts_with(begins) && open.ends_with(") would be enough."), "{open}");
        assert!(open.contains(" more (--budget ") && open.contains(" --repeat "), "{open}");
        let few = "The mean of the point is not known to ±2.0 % after 3 repeats: it takes at least four.";
        assert_eq!(repeated(3, 0.01).as_deref(), Some(few));
    }

    #[test]
    fn a_mean_that_was_looked_at_again_and_again_has_a_wider_interval_in_its_row() {
        let width = |sure: Option<SurePlan>| {
            let points = (1..=5).map(|repeat| {
                let rate = 10_000 + 100 * u64::from(repeat % 2);
                Simulation::counts(&[rate; 20]).with(|point| point.trial.repeat = repeat).point()
            });
            let mut run = run_of(points.collect(), Vec::new());
            run.meta.plan.sure = sure;
            let rows = RepeatRows::from_analysis(&analyse(&run)).analysis;
            half_width_share((
                rows.points[0].summary.as_ref()?.ops_per_s,
                rows.points[0].summary.as_ref()?.ops_per_s_ci95,
            ))
        };
        let sure = |comparisons| SurePlan { difference: Precision::USUAL, pairs_max: 20, comparisons, budget: None };
        let [once, again, compared] =
            [None, Some(sure(0)), Some(sure(1))].map(|sure| width(sure).expect("five repeats"));
        assert!(again > 3.0 * once, "{again} {once}");
        assert_eq!(compared, once, "pairs decide, and not the means");
    }

    #[test]
    fn a_point_whose_time_was_over_was_not_ended_by_what_is_known() {
        let mut whole = until_sure(1, 0.01);
        whole.trial.phases.run = Nanos::from_secs(20);
        let one = told(vec![whole], None);
        assert_eq!(one.as_deref(), Some("The rate is known to ±2.0 %; the point took all of its 20.0 s."));
        // Two intervals have no spread.
        let sure = Until::Sure(Precision::USUAL);
        let short = Simulation::counts(&[10_000; 2]).with(|point| point.trial.phases.until = sure).point();
        let unknown = told(vec![short], None).expect("it is not known");
        assert!(
            unknown.starts_with("The rate is not known to ±2.0 % after ") && !unknown.contains("0 ns"),
            "{unknown}"
        );
    }

    #[test]
    fn what_is_missing_in_a_budget_is_a_budget_for_points_with_all_that_they_take() {
        let mut analysis = analyse(&run_of(vec![until_sure(1, 0.2), until_sure(2, 0.2)], Vec::new()));
        // Two points of 20 s took 100 s.
        analysis.time = Some(RunTime { all: Nanos::from_secs(100), ..RunTime::default() });
        let rows = RepeatRows::from_analysis(&analysis).analysis;
        let run = AskedRun { analysis: &analysis, rows: &rows };
        let sure = |budget| SurePlan { difference: Precision::USUAL, pairs_max: 20, comparisons: 1, budget };
        let minute = Some(Nanos::from_secs(60));
        assert_eq!(time_missing(&run, &sure(minute), 10.0, 12), "--budget 10m");
        assert_eq!(time_missing(&run, &sure(minute), 10.0, 24), "--budget 10m --repeat 24");
        assert_eq!(time_missing(&run, &sure(None), 10.0, 12), "8 min");
        assert_eq!([0.5, 120.0, 121.0].map(budget_flag), ["--budget 1s", "--budget 120s", "--budget 3m"]);
    }

    #[test]
    fn several_comparisons_have_a_range_and_fewer_than_four_pairs_foresee_nothing() {
        let told = |cells: &[(usize, u32)]| {
            let cell = |(n, more): &(usize, u32)| RelativeCell {
                mean: MeanOfRepeats::default(),
                ratio: RatioEstimate {
                    ratio: 1.0,
                    ci95: None,
                    n: *n,
                    smallest_effect: None,
                    p_value: None,
                    verdict: RatioVerdict::NoDifferenceShown,
                },
                is_interleaved: true,
                is_unlike: false,
                decision: Some(Decision::Open),
                pairs_more: Some(*more),
            };
            let cells: Vec<RelativeCell> = cells.iter().map(cell).collect();
            pairs_missing(&cells.iter().collect::<Vec<_>>(), "90.0 s")
        };
        assert_eq!(told(&[(6, 3), (6, 161)]), "about 3 to 161 more each (90.0 s) would decide them");
        assert_eq!([600.0, 7_169.0, 7_199.0, 9_000.0].map(long_time), ["10 min", "119 min", "2.0 h", "2.5 h"]);
        for few in 1..=3 {
            assert_eq!(told(&[(few, 3), (6, 161)]), "nothing is decided with fewer than four pairs");
        }
        assert!(told(&[(4, 3), (6, 161)]).starts_with("about 3 to 161 more"));
    }

    /// `pairs` pairs of two engines, of which the second does `factor` times as much; each varies by `share`.
    fn compared(pairs: u32, factor: f64, share: f64) -> Option<String> {
        let mut random = Random::new(5);
        let points = (1..=pairs).flat_map(|repeat| [("a", 1.0), ("b", factor)].map(|arm| (repeat, arm)));
        let points = points.map(|(repeat, (engine, factor))| {
            let rate = 1e4 * factor * (1.0 + share * random.normal());
            Simulation::counts(&[rate as u64; 20])
                .with(|point| (point.trial.repeat, point.trial.target.engine) = (repeat, engine.to_owned()))
                .point()
        });
        let sure = SurePlan { difference: Precision::USUAL, pairs_max: 20, comparisons: 1, budget: None };
        told(points.collect(), Some(sure))
    }

    #[test]
    fn pairs_of_engines_that_are_not_ranked_decide_nothing() {
        let mut random = Random::new(5);
        let mut points = Vec::new();
        for repeat in 1..=6 {
            for (engine, factor) in [("sqlite", 9.0), ("a", 1.0), ("b", 1.0)] {
                let rate = 1e4 * factor * (1.0 + 0.1 * random.normal());
                let simulation = Simulation::counts(&[rate as u64; 20])
                    .process(if engine == "sqlite" { "embedded" } else { "own" })
                    .with(|point| (point.trial.repeat, point.trial.target.engine) = (repeat, engine.to_owned()));
                points.push(simulation.point());
            }
        }
        let sure = SurePlan { difference: Precision::USUAL, pairs_max: 20, comparisons: 1, budget: None };
        let told = told(points, Some(sure)).expect("the servers are compared");
        assert!(told.starts_with("Not decided after 6 pairs: "), "{told}");
    }

    #[test]
    fn a_comparison_says_after_how_many_pairs_it_was_decided_or_how_many_more_would() {
        assert_eq!(compared(6, 1.3, 0.01).as_deref(), Some("Decided after 6 of at most 20 pairs."));
        let alike = compared(12, 1.0, 0.006);
        assert_eq!(alike.as_deref(), Some("Decided after 12 of at most 20 pairs: they differ by less than 2.0 %."));
        let open = compared(6, 1.0, 0.1).expect("it is open");
        assert!(
            open.starts_with("Not decided after 6 pairs: about ") && open.ends_with(") would decide it."),
            "{open}"
        );
    }
}
