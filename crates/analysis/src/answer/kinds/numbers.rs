//! The numbers of a run whose shape no kind of answer knows: the table, and no claims.
//!
//! In: a run. Out: a row for each point that may be used, repeats together; of too many the best of each group. A column is there if a row
//! has something to show in it.

use super::super::{AnswerCell, AnswerColumn, AnswerRow, AnswerTable, ROWS_MAX, speech};
use crate::answer::{AnswerParts, AskedRun};
use crate::math::repeats::half_width_share;
use crate::points::metric::Metric;
use crate::points::sweep::is_usable;
use crate::points::work::{WorkRate, WorkUnit};
use crate::{PointAnalysis, Validity};
use model::Percentile;
use words::quantity::{count, megabytes_per_s, percent, time, whole};

pub(super) fn answer(run: &AskedRun) -> AnswerParts {
    AnswerParts { question: "What was measured?".to_owned(), table: table(run), ..AnswerParts::default() }
}

/// More figures do not fit next to names of several parts.
const FIGURES_MAX: usize = 4;

/// `None` if no point may be used.
pub(super) fn table(run: &AskedRun) -> Option<AnswerTable> {
    let measured: Vec<&PointAnalysis> = run.rows.points.iter().filter(|point| is_usable(point)).collect();
    let shown = if measured.len() > ROWS_MAX { best_of_groups(&measured) } else { measured.clone() };
    let columns = ShownNumber::ALL.into_iter().filter(|column| column.is_shown(run, &shown)).take(FIGURES_MAX);
    let columns: Vec<ShownNumber> = columns.collect();
    let unit = WorkUnit::common(shown.iter().filter_map(|point| WorkUnit::of(point)));
    let mut names: Vec<Vec<String>> = shown.iter().map(|point| name_of(run, point)).collect();
    let conditions = take_common(names.iter_mut().collect()).join(", ");
    let row = |(point, name): (&&PointAnalysis, Vec<String>)| AnswerRow {
        name,
        cells: columns.iter().map(|column| column.cell(run, point, unit)).collect(),
    };
    (!shown.is_empty() && !columns.is_empty()).then(|| AnswerTable {
        head: String::new(),
        columns: columns.iter().map(|column| AnswerColumn::new(column.head(unit))).collect(),
        rows: shown.iter().zip(names).map(row).collect(),
        rows_of: measured.len(),
        conditions,
    })
}

/// Takes the parts that all of several names have out of them, unless one has no other.
pub(super) fn take_common(mut names: Vec<&mut Vec<String>>) -> Vec<String> {
    let [first, others @ ..] = names.as_slice() else { return Vec::new() };
    let is_common = |part: &&String| !others.is_empty() && others.iter().all(|name| name.contains(part));
    let common: Vec<String> = first.iter().filter(is_common).cloned().collect();
    if names.iter().any(|name| name.iter().all(|part| common.contains(part))) {
        return Vec::new();
    }
    names.iter_mut().for_each(|name| name.retain(|part| !common.contains(part)));
    common
}

/// Of each group the point with the highest rate that may be used.
fn best_of_groups<'a>(points: &[&'a PointAnalysis]) -> Vec<&'a PointAnalysis> {
    let mut best: Vec<&PointAnalysis> = Vec::new();
    let rank = |point: &PointAnalysis| WorkRate::of(point).map_or(0.0, |rate| rate.value);
    for point in points {
        match best.iter_mut().find(|known| known.group == point.group) {
            Some(known) if rank(point) > rank(known) => *known = point,
            Some(_) => {}
            None => best.push(point),
        }
    }
    best
}

/// What distinguishes it, part by part; its engine if nothing does.
fn name_of(run: &AskedRun, point: &PointAnalysis) -> Vec<String> {
    let label = run.said(point.label.group.iter().chain(&point.label.place));
    let words: Vec<String> = label.into_iter().map(speech::spoken).collect();
    if words.is_empty() { vec![point.engine.clone()] } else { words }
}

/// What a column shows.
#[derive(Clone, Copy)]
enum ShownNumber {
    Rate,
    Took,
    Bytes,
    P50,
    P99,
    Longest,
    Failed,
}

impl ShownNumber {
    /// In the order of importance: those behind the fourth are left out.
    const ALL: [ShownNumber; 7] = [
        ShownNumber::Rate,
        ShownNumber::Took,
        ShownNumber::Failed,
        ShownNumber::P50,
        ShownNumber::P99,
        ShownNumber::Longest,
        ShownNumber::Bytes,
    ];

    fn head(self, unit: Option<WorkUnit>) -> String {
        match self {
            ShownNumber::Rate => unit.map_or_else(|| "per second".to_owned(), WorkUnit::head),
            ShownNumber::Took => "took".to_owned(),
            ShownNumber::Bytes => "MB/s".to_owned(),
            ShownNumber::P50 => "p50".to_owned(),
            ShownNumber::P99 => "p99".to_owned(),
            ShownNumber::Longest => "longest".to_owned(),
            ShownNumber::Failed => "failed".to_owned(),
        }
    }

    /// Whether any of `points` has something to show here.
    fn is_shown(self, run: &AskedRun, points: &[&PointAnalysis]) -> bool {
        points.iter().any(|point| self.cell(run, point, None).is_some())
    }

    /// What `point` has here. A rate has its unit if the points differ in it.
    fn cell(self, run: &AskedRun, point: &PointAnalysis, unit: Option<WorkUnit>) -> Option<AnswerCell> {
        let summary = point.summary.as_ref()?;
        let has_rate = point.duration_s().is_none();
        let (figure, value, text) = match self {
            ShownNumber::Rate => {
                let rate = WorkRate::of(point)?;
                let named = if unit.is_some() { String::new() } else { format!(" {}", rate.unit.head()) };
                (rate.unit.figure(), rate.value, format!("{}{named}{}", count(rate.value), wide(&rate)))
            }
            ShownNumber::Took => {
                let taken = point.duration_s()?;
                ("seconds", taken, time(taken * 1e9).to_string())
            }
            ShownNumber::Bytes => {
                point.traits.work.io.as_ref()?;
                ("bytes_per_s", summary.bytes_per_s, megabytes_per_s(summary.bytes_per_s).digits().to_owned())
            }
            ShownNumber::P50 => {
                let p50 = Metric::Response(Percentile::P50).value(point)?.value;
                ("response_p50_ns", p50, time(p50).to_string())
            }
            ShownNumber::P99 => {
                let p99 = Metric::Response(Percentile::P99).value(point)?.value;
                ("response_p99_ns", p99, time(p99).to_string())
            }
            ShownNumber::Longest => {
                let longest = summary.response_ns.filter(|_| has_rate)?.max as f64;
                ("response_max_ns", longest, time(longest).to_string())
            }
            ShownNumber::Failed => {
                let failed = Some(summary.failed).filter(|failed| *failed > 0)?;
                ("failed", failed as f64, whole(failed as f64).to_string())
            }
        };
        let cell = AnswerCell::of(run.point_of(point), figure, value, text);
        Some(AnswerCell { is_indicative: point.validity != Validity::Valid, ..cell })
    }
}

/// ` ±34 %`, if the interval is wide.
fn wide(rate: &WorkRate) -> String {
    const WIDE: f64 = 0.10;
    let half = half_width_share((rate.value, rate.ci95)).filter(|half| *half > WIDE);
    half.map_or(String::new(), |half| format!(" ±{}", percent(half)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulated::{Simulation, drain, run_of};
    use model::PointData;

    /// The heads, and what is below them.
    fn shown(points: Vec<PointData>) -> (Vec<String>, Vec<String>) {
        let analysis = analyse(&run_of(points, Vec::new()));
        let table =
            table(&AskedRun { analysis: &analysis, rows: &crate::RepeatRows::from_analysis(&analysis).analysis })
                .expect("something was measured");
        let row = |row: &AnswerRow| {
            let cells = row.cells.iter().map(|cell| cell.as_ref().map_or("-", |cell| &cell.text));
            format!("{}: {}", row.name.join(" "), cells.collect::<Vec<_>>().join(" | "))
        };
        (table.columns.into_iter().map(|column| column.head).collect(), table.rows.iter().map(row).collect())
    }

    fn point(engine: &str, per_s: u64) -> PointData {
        Simulation::counts(&[per_s; 20]).with(|point| point.trial.target.engine = engine.into()).point()
    }

    #[test]
    fn points_are_rows_and_what_they_have_are_columns() {
        let (heads, rows) = shown(vec![point("sqlite", 500), point("fjall", 2_000)]);
        assert_eq!(heads, ["operations/s", "p50", "p99", "longest"]);
        assert_eq!(rows, ["sqlite: 500 | 1.90 ms | 1.90 ms | 1.90 ms", "fjall: 2.00k | 475 us | 475 us | 475 us"]);
    }

    #[test]
    fn unlike_rates_have_their_units_and_what_is_timed_as_a_whole_has_its_time() {
        let (heads, rows) = shown(vec![point("sqlite", 500), drain(&[0, 0, 1]).point()]);
        assert_eq!(heads, ["operations/s", "took", "p50", "p99"]);
        assert_eq!(rows.len(), 2, "{rows:?}");
        assert!(rows[1].contains("- | 3.00 s | -"), "{rows:?}");
    }

    #[test]
    fn of_too_many_points_the_best_of_each_group_is_shown() {
        let many = (1..=20).map(|clients| {
            let simulation = Simulation::counts(&[100 * u64::from(clients); 20]);
            simulation.with(|point| point.trial.load.clients = clients).point()
        });
        let (_, rows) = shown(many.collect());
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert!(rows[0].contains("2.00k"), "{rows:?}");
    }
}
