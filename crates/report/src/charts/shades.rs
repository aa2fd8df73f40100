//! Which stretches of time are shaded in the charts over time, and what the shading means.
//!
//! In: a point with its window, its shape and its findings. Out: shades for panels, and the words for captions.
//! Limits: a shift of the level is drawn only if the analysis reports it.

use analysis::{Code, LevelSpan, PointAnalysis, Shape, Span};
use plot::figure::{Shade, Tint};

/// A shaded stretch with what it means.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MarkedSpan {
    from: f64,
    to: f64,
    kind: SpanKind,
}

/// What a shaded stretch means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpanKind {
    /// Before the run phase: drawn, and not counted.
    Warmup,
    /// Rounds of the run phase before the window: drawn, and not counted.
    NotCounted,
    /// The window of a run that goes by rounds: what counts of it.
    Window,
    Stall,
    /// A time in which the server was gone.
    Outage,
    /// A drop far below the level, and no stall.
    Drop,
    /// The moment at which the level shifted.
    Shift,
    /// Plimsoll itself did not run.
    OwnGap,
}

impl SpanKind {
    fn tint(self) -> Tint {
        match self {
            SpanKind::Warmup | SpanKind::NotCounted | SpanKind::OwnGap => Tint::Grey,
            SpanKind::Window => Tint::Blue,
            SpanKind::Stall | SpanKind::Outage => Tint::Red,
            SpanKind::Drop => Tint::Yellow,
            SpanKind::Shift => Tint::Violet,
        }
    }
}

/// What is shaded behind the values of `point`: warmup and rounds that do not count, the window of those that do, stalls, drops, the
/// gaps of plimsoll itself, and the moments at which the level shifted.
pub fn shades(point: &PointAnalysis) -> Vec<Shade> {
    let shade = |span: MarkedSpan| Shade { from: span.from, to: span.to, tint: span.kind.tint() };
    marked_spans(point).into_iter().map(shade).collect()
}

fn marked_spans(point: &PointAnalysis) -> Vec<MarkedSpan> {
    let Some(series) = &point.series else { return Vec::new() };
    let start = series.intervals.first().map_or(0.0, |i| i.at_s);
    let warmup = (start < 0.0).then_some(MarkedSpan { from: start, to: 0.0, kind: SpanKind::Warmup });
    let window = point.rounds.as_ref().and_then(|rounds| rounds.window).map(|_| series.counted);
    let before = window.filter(|window| window.from_s > 0.0).map(|window| window.from_s);
    let before = before.map(|to| MarkedSpan { from: 0.0, to, kind: SpanKind::NotCounted });
    let window = window.map(|w| MarkedSpan { from: w.from_s, to: w.to_s, kind: SpanKind::Window });
    let disturbed = point.shape.iter().flat_map(|shape| disturbances(point, shape));
    warmup.into_iter().chain(before).chain(window).chain(disturbed).collect()
}

fn disturbances(point: &PointAnalysis, shape: &Shape) -> Vec<MarkedSpan> {
    let marked = |span: &Span, kind| MarkedSpan { from: span.from_s, to: span.to_s, kind };
    let stalls = shape.stalls.iter().map(|stall| marked(&stall.span, SpanKind::Stall));
    let outages = shape.outages.iter().map(|outage| marked(&outage.span, SpanKind::Outage));
    let drops = shape.drops.iter().map(|drop| marked(&drop.span, SpanKind::Drop));
    let gaps = shape.own_gaps.spans().map(|gap| marked(&gap, SpanKind::OwnGap));
    stalls.chain(outages).chain(drops).chain(gaps).chain(shifts(point, shape)).collect()
}

/// The beginnings of all levels but the first, if the point has the finding `level-shift`.
fn shifts(point: &PointAnalysis, shape: &Shape) -> Vec<MarkedSpan> {
    let is_found = point.findings.iter().any(|finding| finding.code() == Code::LevelShift);
    let levels: &[LevelSpan] = if is_found { &shape.levels } else { &[] };
    let begins = levels.iter().skip(1).map(|level| level.span.from_s);
    begins.map(|at| MarkedSpan { from: at, to: at, kind: SpanKind::Shift }).collect()
}

const SPAN_WORDS: [(SpanKind, &str); 6] = [
    (SpanKind::OwnGap, " Grey within the run phase: plimsoll itself did not run."),
    (SpanKind::Window, " Blue: the rounds that count."),
    (SpanKind::Stall, " Red: stall."),
    (SpanKind::Outage, " Red: outage of the server."),
    (SpanKind::Drop, " Yellow: drop."),
    (SpanKind::Shift, " Violet line: the level shifted."),
];

/// What the shading means, for captions; empty if nothing is shaded.
pub fn shading_note(points: &[&PointAnalysis]) -> String {
    let spans: Vec<MarkedSpan> = points.iter().flat_map(|p| marked_spans(p)).collect();
    let has = |kind| spans.iter().any(|s| s.kind == kind);
    let grey = match (has(SpanKind::Warmup), has(SpanKind::NotCounted)) {
        (true, true) => " Grey: warmup, and rounds that do not count.",
        (true, false) => " Grey: warmup.",
        (false, true) => " Grey: rounds that do not count.",
        (false, false) => "",
    };
    let mut note = grey.to_owned();
    note.extend(SPAN_WORDS.iter().filter(|(kind, _)| has(*kind)).map(|(_, words)| *words));
    if !note.is_empty() && !has(SpanKind::Stall) && !has(SpanKind::Outage) {
        note += " No stall was found.";
    }
    note
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, settled};
    use analysis::Analysis;
    use analysis::findings::level_shift::LevelShifts;

    #[test]
    fn what_is_shaded_is_explained() {
        let note = |analysis: &Analysis| shading_note(&[&analysis.points[0]]);
        assert_eq!(note(&quick()), " Grey: warmup. No stall was found.");
        let expected = " Grey: warmup, and rounds that do not count. Blue: the rounds that count. No stall was found.";
        assert_eq!(note(&settled()), expected);
    }

    #[test]
    fn drops_and_shifts_are_shaded_and_named_where_they_are_told() {
        let mut analysis = quick();
        let point = &mut analysis.points[0];
        let span = |from_s, to_s| Span { from_s, to_s };
        let level = |span, ops_per_s| LevelSpan { span, ops_per_s, deviation: 1.0 };
        let shape = point.shape.as_mut().unwrap();
        shape.drops = vec![analysis::DropSpan { span: span(0.5, 1.0), from_per_s: 148.0, to_per_s: 87.0 }];
        shape.levels = vec![level(span(0.0, 2.5), 148.0), level(span(2.5, 4.0), 110.0)];
        assert_eq!(shading_note(&[point]), " Grey: warmup. Yellow: drop. No stall was found.");
        let levels = point.shape.as_ref().unwrap().levels.clone();
        let shifts = LevelShifts { levels, interval_ns: model::Nanos::from_millis(250) };
        point.findings.push(analysis::Finding::new(analysis::Severity::Note, shifts));
        assert!(marked_spans(point).contains(&MarkedSpan { from: 2.5, to: 2.5, kind: SpanKind::Shift }));
        assert_eq!(marked_spans(point).iter().filter(|shade| shade.kind == SpanKind::Shift).count(), 1);
        let figure = &(super::super::timeline::CHART.draw)(&analysis)[0];
        assert!(figure.caption.contains(" Yellow: drop. Violet line: the level shifted."), "{}", figure.caption);
        let svg = plot::render_svg(figure);
        assert!(svg.contains("f-tint-yellow") && svg.contains("f-tint-violet"), "both are drawn");
    }
}
