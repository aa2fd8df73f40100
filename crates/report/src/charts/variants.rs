//! What variants of a statement took: one bar for each, of its set-up, its statement and its clean-up, step by step.
//!
//! In: the verdicts of variants. Out: one figure for each place, with a row for each variant. Limits: means over repeats; a step that is too
//! short to see on the scale of all has its number only.

use super::chart::Chart;
use crate::palette;
use crate::wording::quantity::time;
use crate::wording::relative::ratio_text;
use crate::wording::variants::place_name;
use analysis::numbers::variants::StepCost;
use analysis::{Analysis, VariantArm, VariantVerdict};
use model::StepPart;
use plot::figure::{Colour, Figure, FigureBody, StackRow};

pub const CHART: Chart = Chart {
    id: "variants",
    title: "Variants of a statement",
    help: "How long each variant took: a bar of its set-up, its statement and its clean-up, each step apart. All bars have one scale \
           from 0. Next to a bar is the total with its ratio to the first variant; below it is each step, and the total without set-up and \
           clean-up is that of the statement.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: tests::compared,
};

/// The parts of a bar: how the legend calls them, and their colours.
const PARTS: [(StepPart, &str, Colour); 3] = [
    (StepPart::Setup, "set-up", palette::SAND),
    (StepPart::Statement, "statement", palette::SLATE),
    (StepPart::Cleanup, "clean-up", palette::ROSE),
];

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let all = &analysis.verdict.variants;
    let numbered = all.iter().enumerate().filter(|(_, verdict)| has_times(verdict));
    numbered.map(|(nth, one)| draw_place(nth, one, all)).collect()
}

fn has_times(verdict: &VariantVerdict) -> bool {
    verdict.arms.iter().any(|arm| arm.total_seconds.is_some())
}

fn draw_place(nth: usize, verdict: &VariantVerdict, all: &[VariantVerdict]) -> Figure {
    let place = place_name(verdict, all);
    let subject = if place.is_empty() { String::new() } else { format!(": {place}") };
    // A part that no variant has needs no colour.
    let has = |part: StepPart| verdict.arms.iter().flat_map(|arm| &arm.steps).any(|step| step.part == part);
    let legend = PARTS.iter().filter(|(part, ..)| has(*part)).map(|(_, name, colour)| ((*name).to_owned(), *colour));
    Figure {
        id: if nth == 0 { CHART.id.to_owned() } else { format!("{}-{}", CHART.id, nth + 1) },
        title: format!("Duration of each variant{subject}"),
        conditions: String::new(),
        caption: caption(verdict),
        body: FigureBody::Stacks { legend: legend.collect(), rows: verdict.arms.iter().map(row).collect() },
    }
}

fn row(arm: &VariantArm) -> StackRow {
    let name = arm.name.clone();
    let Some(total) = arm.total_seconds.filter(|total| total.mean.is_finite()) else {
        return StackRow { name, parts: Vec::new(), whole: "not measured".to_owned(), detail: String::new() };
    };
    let ratio = arm.ratio.map_or(String::new(), |ratio| format!(" ({})", ratio_text(ratio.ratio, None)));
    let timed = |step: &StepCost| Some((step.seconds.filter(|seconds| seconds.is_finite())?, colour_of(step.part)));
    StackRow {
        name,
        parts: arm.steps.iter().filter_map(timed).collect(),
        whole: format!("{}{ratio}", time(total.mean * 1e9)),
        detail: detail(&arm.steps),
    }
}

/// Each step with its duration; nothing if the statement is all there is.
fn detail(steps: &[StepCost]) -> String {
    if steps.len() < 2 {
        return String::new();
    }
    let written = |step: &StepCost| Some(format!("{} {}", step.name, time(step.seconds? * 1e9)));
    steps.iter().filter_map(written).collect::<Vec<_>>().join(", ")
}

fn colour_of(part: StepPart) -> Colour {
    PARTS.iter().find(|(known, ..)| *known == part).map_or(palette::ASH, |(.., colour)| *colour)
}

fn caption(verdict: &VariantVerdict) -> String {
    let repeats = verdict.arms.iter().filter_map(|arm| Some(arm.total_seconds?.repeats));
    let (least, most) = (repeats.clone().min().unwrap_or(0), repeats.max().unwrap_or(0));
    let n = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let base = verdict.base.and_then(|base| verdict.arms.get(base));
    let base = base.map_or(String::new(), |base| {
        format!(" In brackets: the total over that of {}, of neighbouring repeats.", base.name)
    });
    format!("Means of n = {n} repeats.{base}")
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
    fn each_variant_is_a_bar_of_its_steps_and_a_part_that_none_has_is_not_in_the_legend() {
        let figures = draw(&compared());
        let FigureBody::Stacks { legend, rows } = &figures[0].body else { panic!("stacks") };
        let legend: Vec<&str> = legend.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(legend, ["set-up", "statement"]);
        assert_eq!((rows[0].parts.as_slice(), rows[0].detail.as_str()), (&[(2.0, palette::SLATE)][..], ""));
        assert_eq!(rows[1].parts, [(0.01, palette::SAND), (0.02, palette::SLATE)]);
        assert_eq!(rows[1].detail, "setup-1 10.0 ms, statement 20.0 ms");
        assert!(rows[1].whole.starts_with("30.0 ms"), "{}", rows[1].whole);
        assert!(figures[0].caption.contains("n = 5"), "{}", figures[0].caption);
    }

    #[test]
    fn a_variant_without_a_total_has_no_bar() {
        let mut cancelled = variant_arm("slow", None, 1.0);
        (cancelled.total_seconds, cancelled.steps[0].seconds) = (None, None);
        let shown = row(&cancelled);
        assert_eq!((shown.parts.len(), shown.whole.as_str()), (0, "not measured"));
    }
}
