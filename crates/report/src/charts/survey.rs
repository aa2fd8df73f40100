//! What one machine does of everything: reads, writes, inserts and transactions side by side.
//!
//! In: a survey. Out: one figure, a row for each kind of work and engine. Limits: a transaction is more work than a read, so bars show sizes
//! and rank nothing; both scales are logarithmic, because the rates are decades apart.

use super::chart::Chart;
use crate::format;
use crate::palette::Palette;
use crate::sheet::conditions;
use crate::wording::quantity::{count, time};
use analysis::run::survey::{Survey, SurveyRow, SurveyedWork};
use analysis::{Analysis, PointAnalysis};
use plot::figure::{BarColumn, Figure, FigureBody, SeriesStyle};

pub const CHART: Chart = Chart {
    id: "survey",
    title: "This machine",
    help: "The best rate of each kind of work, and the response time at that rate. The scales are logarithmic: a bar that is longer by the \
           same length is larger by the same factor. Different work is not to be ranked.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::surveyed,
};

/// The smallest rate that has a bar, per second.
const RATE_MIN: f64 = 10.0;
/// The shortest time that has a bar, in nanoseconds.
const TIME_MIN: f64 = 100.0;

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let Some(survey) = Survey::from_analysis(analysis) else { return Vec::new() };
    let of = |row: &SurveyRow| analysis.points.iter().find(|point| point.id == row.point);
    let shown: Vec<(&SurveyRow, &PointAnalysis)> = survey.rows.iter().filter_map(|row| Some((row, of(row)?))).collect();
    let points: Vec<&PointAnalysis> = shown.iter().map(|(_, point)| *point).collect();
    let palette = Palette::new(analysis);
    let rows: Vec<(String, SeriesStyle)> =
        shown.iter().map(|(row, point)| (row_name(row, point), palette.style(point))).collect();
    vec![Figure {
        id: CHART.id.to_owned(),
        title: "Reads, writes, inserts and transactions of this machine".to_owned(),
        conditions: conditions(analysis, &points),
        caption: String::new(),
        body: FigureBody::Bars { rows, columns: vec![rates(&shown), times(&points)] },
    }]
}

/// `random reads, 4 KiB, 32 in flight`; `transactions, sqlite, 4 clients`
fn row_name(row: &SurveyRow, point: &PointAnalysis) -> String {
    let block = point.traits.work.io.as_ref().map_or(String::new(), |io| format!(", {}", io.block));
    let in_flight = u64::from(point.clients) * u64::from(point.depth);
    let clients = format::count(u64::from(point.clients));
    match row.work {
        SurveyedWork::Reads => format!("random reads{block}, {in_flight} in flight"),
        SurveyedWork::Writes => format!("random writes{block}, {in_flight} in flight"),
        SurveyedWork::Inserts => format!("rows inserted, {}", row.engine),
        SurveyedWork::Transactions => format!("transactions, {}, clients {clients}", row.engine),
    }
}

fn rates(shown: &[(&SurveyRow, &PointAnalysis)]) -> BarColumn {
    let value = |(row, _): &(&SurveyRow, &PointAnalysis)| {
        let sign = if row.is_lower_bound { "> " } else { "" };
        Some((decades(row.per_s, RATE_MIN)?, format!("{sign}{}", count(row.per_s))))
    };
    BarColumn { label: "per second (logarithmic, from 10)".to_owned(), values: shown.iter().map(value).collect() }
}

fn times(points: &[&PointAnalysis]) -> BarColumn {
    let value = |point: &&PointAnalysis| {
        let p99 = point.summary.as_ref()?.response_ns?.p99 as f64;
        Some((decades(p99, TIME_MIN)?, time(p99).to_string()))
    };
    BarColumn {
        label: "p99 response time (logarithmic, from 100 ns)".to_owned(),
        values: points.iter().map(value).collect(),
    }
}

/// How many decades `value` is above `least`; `None` if it is no number above 0.
fn decades(value: f64, least: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then(|| (value / least).log10().max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, spoilt, surveyed};

    fn bars(analysis: &Analysis) -> (Vec<String>, Vec<BarColumn>) {
        let FigureBody::Bars { rows, columns } = draw(analysis).remove(0).body else { panic!("bars") };
        (rows.into_iter().map(|row| row.0).collect(), columns)
    }

    #[test]
    fn each_kind_of_work_is_a_row_and_a_run_without_inserts_has_no_figure() {
        let (names, columns) = bars(&surveyed());
        let expected = [
            "random reads, 16 KiB, 32 in flight",
            "random writes, 16 KiB, 32 in flight",
            "rows inserted, sqlite",
            "rows inserted, fjall",
            "transactions, sqlite, clients 4",
        ];
        assert_eq!(names, expected);
        let (decades, text) = columns[0].values[0].as_ref().unwrap();
        assert!((decades - 41_400.0_f64.log10() + 1.0).abs() < 0.01 && text == "41.4k", "{decades} {text}");
        assert!(draw(&quick()).is_empty());
    }

    #[test]
    fn a_lower_bound_has_its_sign() {
        let (_, columns) = bars(&spoilt(&[0.3, 0.3]));
        assert!(columns[0].values.iter().flatten().all(|(_, text)| text.starts_with("> ")));
    }
}
