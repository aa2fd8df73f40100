//! What variants of a statement took: all of it, and set-up, statement and clean-up apart.
//!
//! In: the verdicts of variants. Out: one figure for each place, with a row for each variant. Limits: means over repeats; each column has
//! its own scale.

use super::chart::Chart;
use crate::wording::quantity::time;
use crate::wording::relative::ratio_text;
use crate::wording::variants::place_name;
use analysis::{Analysis, VariantArm, VariantVerdict};
use plot::figure::{BarColumn, Colour, Figure, FigureBody};

/// The chart.
pub const CHART: Chart = Chart {
    id: "variants",
    title: "Variants of a statement",
    help: "How long each variant took: all of it, and its set-up, its statement and its clean-up apart. Each column has its own \
           scale from 0. The number behind a total is its ratio to the first variant.",
    draw,
    #[cfg(test)]
    fixture: tests::compared,
};

/// A part of the duration: its heading, its colour, its value.
type VariantPart = (&'static str, Colour, fn(&VariantArm) -> Option<f64>);

const PARTS: [VariantPart; 4] = [
    ("total", Colour::Blue, |arm| arm.total_seconds.map(|total| total.mean)),
    ("set-up", Colour::Orange, |arm| arm.setup_seconds),
    ("statement", Colour::Green, |arm| arm.statement_seconds),
    ("clean-up", Colour::Purple, |arm| arm.cleanup_seconds),
];

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let all = &analysis.verdict.variants;
    all.iter()
        .enumerate()
        .filter(|(_, verdict)| has_times(verdict))
        .map(|(nth, one)| draw_place(nth, one, all))
        .collect()
}

fn has_times(verdict: &VariantVerdict) -> bool {
    verdict.arms.iter().any(|arm| arm.total_seconds.is_some())
}

fn draw_place(nth: usize, verdict: &VariantVerdict, all: &[VariantVerdict]) -> Figure {
    let place = place_name(verdict, all);
    // A part that no variant has is no column.
    let parts = PARTS.iter().filter(|(.., value)| verdict.arms.iter().any(|arm| value(arm).is_some()));
    let columns = parts.map(|part| column(verdict, part));
    Figure {
        id: if nth == 0 { CHART.id.to_owned() } else { format!("{}-{}", CHART.id, nth + 1) },
        title: if place.is_empty() {
            "Duration of each variant".to_owned()
        } else {
            format!("Duration of each variant: {place}")
        },
        caption: caption(verdict),
        body: FigureBody::Bars {
            rows: verdict.arms.iter().map(|arm| arm.name.clone()).collect(),
            columns: columns.collect(),
        },
    }
}

fn column(verdict: &VariantVerdict, (label, colour, value): &VariantPart) -> BarColumn {
    let written = |arm: &VariantArm, seconds: f64| {
        let ratio = arm.ratio.filter(|_| *label == PARTS[0].0);
        let ratio = ratio.map_or(String::new(), |ratio| format!(" ({})", ratio_text(ratio.ratio, None)));
        format!("{}{ratio}", time(seconds * 1e9))
    };
    // A variant that was measured and has no such part took no time for it.
    let none = |arm: &VariantArm| arm.total_seconds.map(|_| (0.0, "none".to_owned()));
    let shown = |arm: &VariantArm| match value(arm).filter(|seconds| seconds.is_finite()) {
        Some(seconds) => Some((seconds, written(arm, seconds))),
        None => none(arm),
    };
    let values = verdict.arms.iter().map(shown);
    BarColumn { label: (*label).to_owned(), values: values.collect(), colour: *colour }
}

fn caption(verdict: &VariantVerdict) -> String {
    let repeats = verdict.arms.iter().filter_map(|arm| Some(arm.total_seconds?.repeats));
    let (least, most) = (repeats.clone().min().unwrap_or(0), repeats.max().unwrap_or(0));
    let n = if least == most { least.to_string() } else { format!("{least} to {most}") };
    format!("Means of n = {n} repeats. Each column has its own scale.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::variant_arm;

    /// Two variants, one with a set-up.
    pub(super) fn compared() -> Analysis {
        let arms = vec![variant_arm("derived", None, 2.0), variant_arm("temp-indexed", Some(0.01), 0.02)];
        let param = "variant".to_owned();
        let verdict =
            VariantVerdict { param, place: Vec::new(), arms, base: Some(0), fastest: Some(1), explanation: None };
        let mut analysis = crate::testing::quick();
        analysis.verdict.variants = vec![verdict];
        analysis
    }

    #[test]
    fn each_variant_is_a_row_and_a_part_that_none_has_is_no_column() {
        let figures = draw(&compared());
        let FigureBody::Bars { rows, columns } = &figures[0].body else { panic!("bars") };
        assert_eq!(rows, &["derived", "temp-indexed"]);
        let labels: Vec<&str> = columns.iter().map(|column| column.label.as_str()).collect();
        assert_eq!(labels, ["total", "set-up", "statement"]);
        assert_eq!(columns[1].values, [Some((0.0, "none".to_owned())), Some((0.01, "10.0 ms".to_owned()))]);
        assert!(figures[0].caption.contains("n = 5"), "{}", figures[0].caption);
    }
}
