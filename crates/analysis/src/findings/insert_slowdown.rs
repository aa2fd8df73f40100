//! Finds by how much the insert rate of each engine drops when storage slows, and when data outgrows its cache.
//!
//! In: the points of a run that insert, on several storage limits or sizes of cache and data. Out: a note for each comparison.
//! Limits: whether data fits is judged by size; what the reads show is the finding `cache-mismatch` of the points.

use super::setting_words::settings_label;
use super::{Detects, Finding, FindingKind, Subject};
use crate::PointAnalysis;
use crate::judgement::Severity;
use crate::points::insert_slowdown::{Change, EngineSlowdown, compare};
use crate::recorded::dimensions::SettingValue;
use model::Plan;
use serde::Serialize;
use words::quantity::rate;
use words::quantity::{plural, whole_percent};

/// How much slower engines insert after one change at one place, the greatest slowdown first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InsertSlowdown {
    /// One for each engine; at least one.
    pub slowdowns: Vec<EngineSlowdown>,
}

fn detect(points: &[PointAnalysis], _: &Plan) -> Vec<Finding> {
    compare(points).by_change().map(slower).collect()
}

fn slower(slowdowns: &[EngineSlowdown]) -> Finding {
    Finding::new(Severity::Note, InsertSlowdown { slowdowns: slowdowns.to_vec() }).about(Subject::Run)
}

impl FindingKind for InsertSlowdown {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Run(detect);

    fn is_like(&self, other: &Self) -> bool {
        self == other
    }

    fn title(alike: &[&Self]) -> String {
        of_engines(&alike[0].slowdowns)
    }

    fn evidence(&self) -> String {
        let one = |slowdown: &EngineSlowdown| {
            format!("{} {} instead of {}", slowdown.engine, rate(slowdown.after.mean), rate(slowdown.before.mean))
        };
        self.slowdowns.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}

/// `storage limited to iops=2000: innodb: insert rate drops by 64 % (95 % CI 60 to 68)`, of `slowdowns` by one change at one place.
pub fn of_engines(slowdowns: &[EngineSlowdown]) -> String {
    let Some(first) = slowdowns.first() else { return String::new() };
    let one = |slowdown: &EngineSlowdown| format!("{}: insert rate {}", slowdown.engine, change_of_rate(slowdown));
    format!("{}: {}", circumstances(first), slowdowns.iter().map(one).collect::<Vec<_>>().join("; "))
}

/// `drops by 64 % (95 % CI 60 to 68)`
pub fn change_of_rate(slowdown: &EngineSlowdown) -> String {
    let (share, [low, high]) = (slowdown.drop.share, slowdown.drop.ci95);
    let percent = whole_percent;
    if !slowdown.is_conclusive() {
        return indicative_change(slowdown);
    }
    match (slowdown.is_shown(), slowdown.is_gain()) {
        (true, _) => format!("drops by {} % (95 % CI {} to {})", percent(share), percent(low), percent(high)),
        (_, true) => format!("rises by {} % (95 % CI {} to {})", percent(-share), percent(-high), percent(-low)),
        _ => format!("shows no change (95 % CI {} to {} %)", percent(low), percent(high)),
    }
}

/// `is 64 % lower (95 % CI 60 to 68), indicative only (3 repeats)`
fn indicative_change(slowdown: &EngineSlowdown) -> String {
    let (share, [low, high]) = (slowdown.drop.share, slowdown.drop.ci95);
    let is_higher = share < 0.0;
    let (than, ends) = if is_higher { ("higher", [-high, -low]) } else { ("lower", [low, high]) };
    let [low, high] = ends.map(whole_percent);
    let interval = if slowdown.is_repeated() { format!(" (95 % CI {low} to {high})") } else { String::new() };
    let repeats = plural(slowdown.repeats() as u64, "repeat");
    format!("is {} % {than}{interval}, indicative only ({repeats})", whole_percent(share.abs()))
}

/// What changed, and what else varies: `storage limited to iops=2000, cache 64 MiB`.
pub fn circumstances(slowdown: &EngineSlowdown) -> String {
    let change = match &slowdown.change {
        Change::Storage { from: SettingValue::Absent, to } => format!("storage limited to {to}"),
        Change::Storage { from, to } => format!("storage limited to {to} instead of {from}"),
        Change::CacheOutgrown => "data larger than the cache".to_owned(),
    };
    if slowdown.place.is_empty() { change } else { format!("{change} ({})", settings_label(&slowdown.place)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::insert_slowdown::LeftOutReason;
    use crate::recorded::dimensions::plain_words;
    use crate::simulated::{figures_of, inserting_so_many, params, run_of};
    use crate::{Analysis, analyse};
    use model::{Bytes, Fact, PointData, StorageLimit, Value};

    struct Cell {
        engine: &'static str,
        slow: bool,
        cache: u64,
        rate: u64,
    }

    /// Points with a little noise about their rate, whose data is 1 MB.
    fn point(cell: &Cell) -> PointData {
        let counts: Vec<u64> = (0..30).map(|nth| cell.rate + [0, 40, 20, 30, 10][nth % 5] - 20).collect();
        let simulation = inserting_so_many(&counts, 0.0, 1e6, 0.0).with(|point| {
            let iops = cell.slow.then_some(2_000);
            point.trial.target.engine = cell.engine.into();
            point.trial.target.limits.storage =
                StorageLimit { read_iops: iops, write_iops: iops, ..StorageLimit::default() };
            point.trial.target.params = params(&[("cache", Value::Bytes(Bytes(cell.cache)))]);
            point.facts.push(Fact::new("data.bytes", "1000000"));
        });
        simulation.point()
    }

    fn run(cells: &[Cell]) -> Analysis {
        analyse(&run_of(cells.iter().map(point).collect(), Vec::new()))
    }

    /// Each slowdown: the engine, the drop and its interval in percent, what changed, and where.
    fn slowdowns(analysis: &Analysis) -> Vec<String> {
        let found: Vec<InsertSlowdown> = figures_of(&analysis.findings);
        let percent = |share: f64| (share * 100.0).round() + 0.0;
        let one = |slowdown: &EngineSlowdown| {
            let (drop, place) = (slowdown.drop, plain_words(&slowdown.place));
            let change = match &slowdown.change {
                Change::Storage { to, .. } => to.to_string(),
                Change::CacheOutgrown => "outgrown".to_owned(),
            };
            let [low, high] = drop.ci95.map(percent);
            format!("{}: {} ({low} to {high}) {change} {place}", slowdown.engine, percent(drop.share)).trim().to_owned()
        };
        found.iter().flat_map(|found| &found.slowdowns).map(one).collect()
    }

    fn told(cells: &[Cell]) -> Vec<String> {
        slowdowns(&run(cells))
    }

    const SMALL: u64 = 125_000;

    const LARGE: u64 = 8_000_000;

    fn cell(engine: &'static str, slow: bool, cache: u64, rate: u64) -> Cell {
        Cell { engine, slow, cache, rate }
    }

    #[test]
    fn engines_are_compared_with_themselves_and_the_greatest_drop_comes_first() {
        let cells = [
            cell("mariadb:rocksdb", false, SMALL, 1_150),
            cell("mariadb:innodb", false, SMALL, 6_560),
            cell("mariadb:rocksdb", true, SMALL, 864),
            cell("mariadb:innodb", true, SMALL, 3_820),
        ];
        let expected = ["mariadb:innodb: 42 (42 to 42) iops=2000", "mariadb:rocksdb: 25 (24 to 25) iops=2000"];
        assert_eq!(told(&cells), expected);
        let comparison = run(&cells).verdict.comparison.expect("there are two slowdowns");
        assert_eq!((comparison.by_change().count(), comparison.slowdowns.len()), (1, 2));
        assert!(comparison.left_out.is_empty());
    }

    #[test]
    fn both_dimensions_of_a_matrix_are_compared_at_each_place_of_the_other() {
        let mut cells = Vec::new();
        for (slow, cache, rate) in
            [(false, LARGE, 2_680), (false, SMALL, 656), (true, LARGE, 1_240), (true, SMALL, 382)]
        {
            cells.push(cell("mariadb:innodb", slow, cache, rate));
        }
        let told = told(&cells);
        assert_eq!(told.len(), 4, "{told:?}");
        let has = |ends: [&str; 2]| told.iter().any(|one| one.starts_with(ends[0]) && one.ends_with(ends[1]));
        assert!(has(["mariadb:innodb: 42 (", ") iops=2000 125 KB"]), "{told:?}");
        assert!(has(["mariadb:innodb: 76 (", ") outgrown none"]), "{told:?}");
    }

    #[test]
    fn an_engine_that_does_not_care_shows_no_change_and_a_run_without_either_dimension_has_no_sentence() {
        let same = [cell("fjall", false, SMALL, 1_000), cell("fjall", true, SMALL, 1_000)];
        assert_eq!(told(&same), ["fjall: 0 (-1 to 1) iops=2000"]);
        assert!(told(&[cell("fjall", false, SMALL, 1_000), cell("sqlite", false, SMALL, 500)]).is_empty());
    }

    #[test]
    fn nothing_is_claimed_without_an_interval_and_the_points_are_named_with_the_reason() {
        let cells = [cell("fjall", false, SMALL, 1_000), cell("fjall", true, SMALL, 400)];
        let short = |(nth, cell): (usize, &Cell)| {
            let mut point = point(cell);
            point.id = nth as u32 + 1;
            point.phases[0].intervals.truncate(5);
            point.phases[0].end.0 = 5_000_000_000;
            point
        };
        let mut points: Vec<PointData> = cells.iter().enumerate().map(short).collect();
        let analysed = |points: &[PointData]| analyse(&run_of(points.to_vec(), Vec::new()));
        let analysis = analysed(&points);
        assert_eq!((analysis.findings.len(), analysis.verdict.comparison), (0, None));
        let left_out = crate::points::insert_slowdown::compare(&analysis.points).left_out;
        assert!(left_out.iter().all(|one| one.reason == LeftOutReason::NoInterval) && left_out.len() == 2);
        // Three repeats of each make an interval by their spread.
        for _ in 0..2 {
            points.extend(cells.iter().enumerate().map(short));
        }
        (0..).zip(&mut points).for_each(|(nth, point)| (point.id, point.trial.repeat) = (nth + 1, nth / 2 + 1));
        let told = slowdowns(&analysed(&points));
        assert!(told[0].starts_with("fjall: 60 ("), "{told:?}");
    }
}
