//! data.csv: a row for each run and point, with what it did and its ratio to the base.
//!
//! In: runs with their comparisons. Out: text with a header line, all digits, units in the names. Limits: a value that is not known is an empty
//! field. The ratio is that of `plimsoll compare`: of pairs of repeats, not of the two means next to it.

use super::{Publication, PublishedRun};
use crate::csv_column::{CsvColumn, column, csv_table, float};
use crate::escape;
use crate::wording::label::point_label;
use crate::wording::metric::verdict_word;
use analysis::compare::{MetricRatio, PlaceComparison};
use analysis::points::metric::{MeasuredValue, Metric};
use analysis::run::repeat_rows::{RepeatCount, RepeatRows};
use analysis::{PointAnalysis, Summary};
use model::Percentile;

/// The metrics of a row: the first that the point has.
const METRICS: [Metric; 3] = [Metric::LimitPerS, Metric::OpsPerS, Metric::Seconds];

/// A row of data.csv.
pub struct PublishedPoint<'a> {
    run: &'a PublishedRun<'a>,
    name: &'a str,
    point: &'a PointAnalysis,
    count: RepeatCount,
    /// What it is in relation to the base.
    relation: Relation<'a>,
}

/// What a point is in relation to the base.
#[derive(Clone, Copy)]
enum Relation<'a> {
    /// It is of the base.
    Base,
    /// The base has the same point.
    Compared(&'a PlaceComparison),
    /// There is no base, or it has no such point.
    None,
}

type DataColumn = CsvColumn<fn(&PublishedPoint) -> String>;

/// The columns of data.csv.
pub static DATA_COLUMNS: &[DataColumn] = &[
    column("run", "name of the run file, without its extension", |r| escape::csv(r.run.file)),
    column("compared_as", "what the report calls the run: by what the runs differ in, or by its file", |r| {
        escape::csv(r.name)
    }),
    column("point", "what distinguishes the point from the others of its run", |r| escape::csv(&point_label(r.point))),
    column("engine", "name of the engine, or the path that was measured", |r| escape::csv(&r.point.engine)),
    column("engine_version", "its version", |r| {
        escape::csv(r.point.traits.engine.version.as_deref().unwrap_or_default())
    }),
    column("workload", "name of the workload", |r| escape::csv(&r.point.workload)),
    column("clients", "number of clients", |r| r.point.clients.to_string()),
    column("depth", "operations in flight per client", |r| r.point.depth.to_string()),
    column("repeats", "repeats of the point", |r| r.count.all.to_string()),
    column("usable_repeats", "those whose numbers may be used, of which the row is the mean", |r| {
        r.count.usable.to_string()
    }),
    column("state", "`complete`, `partial` (interrupted) or `failed`", |r| r.point.state.as_str().to_owned()),
    column("validity", "`valid`, `indicative` or `invalid`", |r| r.point.validity.as_str().to_owned()),
    column(
        "metric",
        "what the value is, with its unit: `ops_per_s`, `seconds` of a step that is timed as a whole, or `limit_per_s`",
        |r| r.metric().map_or(String::new(), |metric| metric.key().to_owned()),
    ),
    column("value", "the value", |r| float(r.value().map(|value| value.value))),
    column("low95", "lower end of its 95 % confidence interval", |r| float(r.ci95().map(|ci95| ci95[0]))),
    column("high95", "upper end of it", |r| float(r.ci95().map(|ci95| ci95[1]))),
    column("p50_ns", "median response time", |r| response(r, Metric::Response(Percentile::P50))),
    column("p95_ns", "95th percentile of it", |r| response(r, Metric::Response(Percentile::P95))),
    column("p99_ns", "99th percentile of it", |r| response(r, Metric::Response(Percentile::P99))),
    column("failed", "operations that failed", |r| {
        summary(r).map_or(String::new(), |summary| summary.failed.to_string())
    }),
    column("ratio", "this run : base of `metric`; 1 for the base, empty if the base has no such point", |r| {
        match r.relation {
            Relation::Base => "1".to_owned(),
            _ => float(r.speed().map(|speed| speed.estimate.ratio)),
        }
    }),
    column("ratio_low95", "lower end of its 95 % confidence interval", |r| float(end(r.speed(), 0))),
    column("ratio_high95", "upper end of it", |r| float(end(r.speed(), 1))),
    column("p99_ratio", "the same of the 99th percentile of the response time", |r| {
        float(r.p99().map(|p99| p99.estimate.ratio))
    }),
    column("p99_ratio_low95", "lower end of its 95 % confidence interval", |r| float(end(r.p99(), 0))),
    column("p99_ratio_high95", "upper end of it", |r| float(end(r.p99(), 1))),
    column("pairs", "pairs of repeats that the ratio is of", |r| {
        r.speed().map_or(String::new(), |speed| speed.estimate.n.to_string())
    }),
    column("verdict", "`faster`, `slower`, `no difference shown`, `indicative`, or `base`", |r| match r.relation {
        Relation::Base => "base".to_owned(),
        _ => r.speed().map_or(String::new(), |speed| verdict_word(speed.metric, speed.estimate.verdict).to_owned()),
    }),
    column("findings", "codes of the findings, separated by spaces", |r| escape::csv(&codes(r.point))),
];

impl PublishedPoint<'_> {
    fn place(&self) -> Option<&PlaceComparison> {
        match self.relation {
            Relation::Compared(place) => Some(place),
            Relation::Base | Relation::None => None,
        }
    }

    fn speed(&self) -> Option<&MetricRatio> {
        self.place()?.speed()
    }

    fn p99(&self) -> Option<&MetricRatio> {
        self.place()?.metrics.iter().find(|metric| metric.metric == Metric::Response(Percentile::P99))
    }

    fn metric(&self) -> Option<Metric> {
        main_metric(self.point)
    }

    fn value(&self) -> Option<MeasuredValue> {
        self.metric()?.value(self.point)
    }

    fn ci95(&self) -> Option<[f64; 2]> {
        self.value()?.ci95
    }
}

/// What a point did, in one number.
pub fn main_metric(point: &PointAnalysis) -> Option<Metric> {
    METRICS.into_iter().find(|metric| metric.value(point).is_some())
}

fn end(metric: Option<&MetricRatio>, which: usize) -> Option<f64> {
    Some(metric?.estimate.ci95?[which])
}

fn response(row: &PublishedPoint, metric: Metric) -> String {
    float(metric.value(row.point).map(|value| value.value))
}

fn summary<'a>(row: &'a PublishedPoint) -> Option<&'a Summary> {
    row.point.summary.as_ref()
}

fn codes(point: &PointAnalysis) -> String {
    let mut codes: Vec<&str> = point.findings.iter().map(|finding| finding.code().as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes.join(" ")
}

pub fn data_csv(publication: &Publication) -> String {
    let all: Vec<RepeatRows> = publication.runs.iter().map(|run| RepeatRows::from_analysis(run.analysis)).collect();
    let rows = publication.runs.iter().zip(&all).enumerate().flat_map(|(nth, (run, rows))| {
        rows.analysis.points.iter().map(move |point| PublishedPoint {
            run,
            name: &publication.names[nth],
            point,
            count: rows.counts.get(&point.id).copied().unwrap_or(RepeatCount { usable: 0, all: 1 }),
            relation: relation(publication, nth, point),
        })
    });
    csv_table(DATA_COLUMNS, rows)
}

/// What `point` of run `nth` is in relation to the base, the first run.
fn relation<'a>(publication: &Publication<'a>, nth: usize, point: &PointAnalysis) -> Relation<'a> {
    let found = match nth {
        0 => None,
        _ => publication.all[nth - 1].places.iter().find(|place| place.points[1].contains(&point.id)),
    };
    match found {
        Some(place) => Relation::Compared(place),
        None if nth == 0 && publication.runs.len() > 1 => Relation::Base,
        None => Relation::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::tests::{old_and_new, publication};

    /// The fields of the first row of run `nth` by their columns.
    fn field(csv: &str, row: usize, name: &str) -> String {
        let at = DATA_COLUMNS.iter().position(|column| column.name == name).unwrap();
        csv.lines().nth(row).unwrap().split(',').nth(at).unwrap().to_owned()
    }

    #[test]
    fn each_run_and_point_has_a_row_with_its_value_and_its_ratio_to_the_base() {
        let (runs, all) = old_and_new();
        let csv = data_csv(&publication(&runs, &all));
        assert_eq!(csv.lines().count(), 1 + 2, "{csv}");
        assert!(csv.lines().all(|line| line.split(',').count() == DATA_COLUMNS.len()), "{csv}");
        assert_eq!([field(&csv, 1, "verdict"), field(&csv, 2, "verdict")], ["base", "slower"]);
        assert_eq!([field(&csv, 1, "ratio"), field(&csv, 1, "ratio_low95")], ["1", ""]);
        let ratio: f64 = field(&csv, 2, "ratio").parse().unwrap();
        let low: f64 = field(&csv, 2, "ratio_low95").parse().unwrap();
        assert!((ratio - 0.5).abs() < 0.01 && low < ratio && field(&csv, 2, "pairs") == "4", "{csv}");
        assert_eq!([field(&csv, 1, "metric"), field(&csv, 2, "run")], ["ops_per_s", "b"]);
        assert!(field(&csv, 1, "value").parse::<f64>().is_ok_and(|value| value > 0.0));
    }

    #[test]
    fn a_single_run_has_no_ratio() {
        let (runs, _) = old_and_new();
        let csv = data_csv(&publication(&runs[..1], &[]));
        assert_eq!(
            (csv.lines().count(), field(&csv, 1, "ratio"), field(&csv, 1, "verdict")),
            (2, String::new(), String::new())
        );
    }
}
