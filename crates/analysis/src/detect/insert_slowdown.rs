//! Finds by how much the insert rate of each engine drops when storage slows, and when data outgrows its cache.
//!
//! In: the points of a run that insert, on several storage limits or sizes of cache and data. Out: a note for each comparison.
//! Limits: whether data fits is judged by size; what the reads show is the finding `memory-shown` of the points.

use super::RunDetector;
use crate::dimensions::SettingValue;
use crate::slowdown::{Change, Slowdown, compare};
use crate::text::rate;
use crate::{Finding, PointAnalysis, Severity};

/// The entry in the list of detectors of runs.
pub const DETECTOR: RunDetector = RunDetector {
    code: "insert-slowdown",
    help: "how far the insert rate of an engine drops when storage slows or data outgrows the cache",
    explain: "If a plan has the same inserts with and without a storage limit (`storage_limit`), or with data that fits the cache \
              and data that does not (`cache`, `memory_limit`, `rows`), each engine is compared with itself. The drop is one minus \
              the slower rate over the faster, with the 95 % confidence interval of that ratio. Engines differ if their intervals \
              do not overlap. If the interval contains zero, no drop was shown. Nothing is claimed without an interval: each \
              rate needs at least eight intervals, or three repeats. More repeats make the intervals narrower.",
    detect,
};

fn detect(points: &[PointAnalysis]) -> Vec<Finding> {
    compare(points).slowdowns.iter().map(finding).collect()
}

fn finding(slowdown: &Slowdown) -> Finding {
    let percent = |share: f64| format!("{:.0}", share * 100.0);
    let (share, [low, high]) = (slowdown.drop.share, slowdown.drop.ci95);
    let what = match (slowdown.is_shown(), slowdown.is_gain()) {
        (true, _) => {
            format!("insert rate drops by {} % (95 % CI {} to {})", percent(share), percent(low), percent(high))
        }
        (_, true) => {
            format!("insert rate rises by {} % (95 % CI {} to {})", percent(-share), percent(-high), percent(-low))
        }
        _ => format!("no change of the insert rate was shown (95 % CI {} to {} %)", percent(low), percent(high)),
    };
    let change = match &slowdown.change {
        Change::Storage { from: SettingValue::Absent, to } => format!("storage limited to {to}"),
        Change::Storage { from, to } => format!("storage limited to {to} instead of {from}"),
        Change::CacheOutgrown => "data larger than the cache".to_owned(),
    };
    let place: String = slowdown.place.iter().map(|one| format!(", {} {}", one.name, one.value)).collect();
    let title = format!("{}: {what} with {change}{place}", slowdown.target);
    let evidence = format!("{} before, {} after", rate(slowdown.before.mean), rate(slowdown.after.mean));
    DETECTOR.finding(Severity::Note, title, evidence, "")
}

#[cfg(test)]
mod tests {
    use crate::simulate::{inserting_so_many, params, run_of};
    use crate::slowdown::LeftOutReason;
    use crate::{Analysis, analyse};
    use model::{Bytes, Fact, PointData, Value};

    struct Cell {
        engine: &'static str,
        slow: bool,
        cache: u64,
        rate: u64,
    }

    /// Points with a little noise about their rate, whose data is 1 MB; a storage limit is written as engines' parameter.
    fn point(cell: &Cell) -> PointData {
        let counts: Vec<u64> = (0..30).map(|nth| cell.rate + [0, 40, 20, 30, 10][nth % 5] - 20).collect();
        let simulation = inserting_so_many(&counts, 0.0, 1e6, 0.0).with(|point| {
            let limit = Value::Word(if cell.slow { "iops=2000" } else { "none" }.into());
            point.trial.target.engine = cell.engine.into();
            point.trial.target.params = params(&[("storage_limit", limit), ("cache", Value::Bytes(Bytes(cell.cache)))]);
            point.facts.push(Fact::new("data.bytes", "1000000"));
        });
        simulation.point()
    }

    fn run(cells: &[Cell]) -> Analysis {
        analyse(&run_of(cells.iter().map(point).collect(), Vec::new()))
    }

    fn titles(cells: &[Cell]) -> Vec<String> {
        let found = run(cells).findings.into_iter().filter(|finding| finding.code == "insert-slowdown");
        found.map(|finding| finding.title).collect()
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
        let expected = [
            "mariadb:innodb: insert rate drops by 42 % (95 % CI 42 to 42) with storage limited to iops=2000",
            "mariadb:rocksdb: insert rate drops by 25 % (95 % CI 24 to 25) with storage limited to iops=2000",
        ];
        assert_eq!(titles(&cells), expected);
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
        let titles = titles(&cells);
        assert_eq!(titles.len(), 4, "{titles:?}");
        let drops = "insert rate drops by 42 %";
        let has = |parts: [&str; 2]| titles.iter().any(|title| parts.iter().all(|part| title.contains(part)));
        assert!(has([drops, " with storage limited to iops=2000, cache 122 KiB"]), "{titles:?}");
        assert!(has(["drops by 76 %", " with data larger than the cache, storage_limit none"]), "{titles:?}");
    }

    #[test]
    fn an_engine_that_does_not_care_shows_no_change_and_a_run_without_either_dimension_has_no_sentence() {
        let same = [cell("fjall", false, SMALL, 1_000), cell("fjall", true, SMALL, 1_000)];
        assert!(titles(&same)[0].starts_with("fjall: no change of the insert rate was shown (95 % CI -1 to 1 %)"));
        assert!(titles(&[cell("fjall", false, SMALL, 1_000), cell("sqlite", false, SMALL, 500)]).is_empty());
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
        let left_out = crate::slowdown::compare(&analysis.points).left_out;
        assert!(left_out.iter().all(|one| one.reason == LeftOutReason::NoInterval) && left_out.len() == 2);
        // Three repeats of each make an interval by their spread.
        for _ in 0..2 {
            points.extend(cells.iter().enumerate().map(short));
        }
        (0..).zip(&mut points).for_each(|(nth, point)| (point.id, point.trial.repeat) = (nth + 1, nth / 2 + 1));
        let titles: Vec<String> = analysed(&points).findings.into_iter().map(|finding| finding.title).collect();
        assert!(
            titles.iter().any(|title| title.starts_with("fjall: insert rate drops by 60 % (95 % CI")),
            "{titles:?}"
        );
    }
}
