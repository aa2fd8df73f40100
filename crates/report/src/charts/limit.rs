//! Searches for the largest rate: the response time against the offered rate, and the limits next to each other.
//!
//! In: the searches of a run. Out: for each objective a figure with a line for each search and the objective as a line across, and, if
//! several searches have a limit, a figure with a bar for each. Limits: a percentile of a probe that was ended early is of the operations
//! that ended.

use super::chart::Chart;
use super::sweep::LINES_MAX;
use crate::format;
use crate::sheet::conditions;
use crate::wording::label::settings_label;
use crate::wording::limit::{rate_words, shown_time};
use analysis::points::limit::ProbeAnalysis;
use analysis::points::search_repeats::{SearchRepeats, search_repeats};
use analysis::{Analysis, PointAnalysis, SearchAnalysis};
use model::limit::{Criterion, Objective};
use plot::figure::{
    Axis, AxisScale, AxisUnit, Colour, DataSeries, Figure, FigureBody, Mark, Panel, SeriesStyle, Stroke,
};

pub const CHART: Chart = Chart {
    id: "limit",
    title: "Largest rate",
    help: "Each dot is a rate that was offered for a while; hollow ones missed the objective. A vertical line marks the largest rate \
           that was held.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::limits,
};

/// Half the width of a bar, of a place.
const BAR: f64 = 0.3;
/// From this ratio of the largest limit to the smallest on, bars from zero would hide the small ones.
const WIDE_RATIO: f64 = 50.0;
/// A number at the top of a figure takes this share of the logarithmic axis.
const LABEL_SHARE: f64 = 0.2;

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let mut objectives: Vec<&Objective> = Vec::new();
    for search in &analysis.searches {
        if !objectives.contains(&&search.spec.objective) {
            objectives.push(&search.spec.objective);
        }
    }
    objectives.iter().enumerate().flat_map(|(nth, objective)| of_objective(analysis, nth + 1, objective)).collect()
}

/// The figures of the searches for one objective, the `nth` of the run.
fn of_objective(analysis: &Analysis, nth: usize, objective: &Objective) -> Vec<Figure> {
    let own = analysis.searches.iter().filter(|search| search.spec.objective == *objective);
    let searches: Vec<&SearchAnalysis> = own.filter(|search| !decided(search).is_empty()).collect();
    let parts = searches.chunks(LINES_MAX).enumerate();
    let mut figures: Vec<Figure> =
        parts.map(|(part, searches)| curves(analysis, &format!("limit-{nth}-{}", part + 1), searches)).collect();
    let held: Vec<&SearchAnalysis> = searches.into_iter().filter(|search| search.result.per_s.is_some()).collect();
    let held = with_repeats(analysis, &held);
    if held.len() > 1 {
        figures.push(bars(analysis, &format!("limit-{nth}-rates"), &held));
    }
    figures
}

/// The probes that show whether a rate is kept, by rate: rate, whether it is kept, and the probe.
fn decided(search: &SearchAnalysis) -> Vec<(f64, bool, &ProbeAnalysis)> {
    let probes = search.probes.iter().enumerate();
    let known = probes.filter_map(|(nth, probe)| Some((probe.offered_per_s()?, search.keeps(nth)?, probe)));
    let mut known: Vec<(f64, bool, &ProbeAnalysis)> = known.collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    known
}

fn curves(analysis: &Analysis, id: &str, searches: &[&SearchAnalysis]) -> Figure {
    let rates: Vec<f64> = searches.iter().flat_map(|search| decided(search)).map(|probe| probe.0).collect();
    let mut series: Vec<DataSeries> = searches
        .iter()
        .enumerate()
        .map(|(nth, search)| curve(search, limit_label(search, searches), SeriesStyle::nth(nth)))
        .collect();
    series.extend(objective_line(searches[0], &rates));
    let y = Axis::nanos(&format!("{} of the response time", shown_time(searches[0]).name()));
    let panel = Panel { title: String::new(), note: String::new(), y, height: 300.0, series, shades: Vec::new() };
    let x = Axis {
        label: "offered rate, operations/s (log scale)".to_owned(),
        scale: AxisScale::Log,
        unit: AxisUnit::Count,
        range: None,
    };
    let objective = &searches[0].spec.objective;
    Figure {
        id: id.to_owned(),
        title: format!("Response time against offered rate, {objective}{}", answer(searches)),
        conditions: conditions(analysis, &points_of(searches)),
        caption:
            "Hollow: rates that missed the objective. Dashed: the objective. Vertical: the largest rate that was held."
                .to_owned(),
        body: FigureBody::Panels { x, panels: vec![panel] },
    }
}

/// `: 1,560/s (1,510 to 1,600)`, if the figure is of one search.
fn answer(searches: &[&SearchAnalysis]) -> String {
    let [search] = searches else { return String::new() };
    search.result.per_s.map_or(String::new(), |per_s| format!(": {}/s", rate_words(per_s)))
}

/// The limit of `search` in words, if no other limit of the figure is so near that the two would overlap.
fn limit_label(search: &SearchAnalysis, searches: &[&SearchAnalysis]) -> String {
    let Some(per_s) = search.result.per_s else { return String::new() };
    let others = searches.iter().filter(|other| !std::ptr::eq(**other, search)).filter_map(|other| other.result.per_s);
    let probes = searches.iter().flat_map(|search| decided(search)).map(|(rate, ..)| rate);
    let rates: Vec<f64> = probes.chain(searches.iter().filter_map(|search| search.result.per_s)).map(f64::ln).collect();
    let axis =
        rates.iter().copied().fold(f64::NEG_INFINITY, f64::max) - rates.iter().copied().fold(f64::INFINITY, f64::min);
    let is_free = others.map(|other| (other / per_s).ln().abs()).all(|distance| distance >= LABEL_SHARE * axis);
    if is_free { format!("{}/s", rate_words(per_s)) } else { String::new() }
}

fn curve(search: &SearchAnalysis, limit: String, style: SeriesStyle) -> DataSeries {
    // A rate that was offered several times has a dot each; the line goes through their means on the logarithmic axis.
    let mut dots: Vec<(f64, f64, bool)> = Vec::new();
    for (rate, kept, probe) in decided(search) {
        let times = probe.point.summary.as_ref().and_then(|summary| summary.response_ns);
        dots.extend(times.and_then(|times| shown_time(search).of(times)).map(|ns| (rate, ns, kept)));
    }
    let of = |wanted: bool| dots.iter().filter(|dot| dot.2 == wanted).map(|dot| (dot.0, dot.1)).collect::<Vec<_>>();
    let mut marks =
        vec![Mark::Line(Stroke::Thin, line_through(&dots)), Mark::Dots(4.0, of(true)), Mark::Rings(4.0, of(false))];
    marks.extend(search.result.per_s.map(|per_s| Mark::Verticals(vec![(per_s, limit)])));
    DataSeries::named(settings_label(search.settings()), style, marks)
}

fn line_through(dots: &[(f64, f64, bool)]) -> Vec<(f64, f64)> {
    dots.chunk_by(|a, b| a.0 == b.0)
        .map(|same| (same[0].0, (same.iter().map(|dot| dot.1.ln()).sum::<f64>() / same.len() as f64).exp()))
        .collect()
}

/// The objective across all rates, if it limits the time that is drawn.
fn objective_line(search: &SearchAnalysis, rates: &[f64]) -> Option<DataSeries> {
    let timed = |one: &&Criterion| {
        one.kind().is_none() && matches!(one, Criterion::Percentile { .. } | Criterion::Longest { .. })
    };
    let criterion = search.spec.objective.criteria().iter().find(timed)?;
    let below = criterion.time()?.0 as f64;
    let ends = [f64::min as fn(f64, f64) -> f64, f64::max].map(|end| rates.iter().copied().reduce(end));
    let line = ends.into_iter().flatten().map(|rate| (rate, below)).collect();
    Some(DataSeries::named(criterion.to_string(), Colour::Black, vec![Mark::Line(Stroke::Dashed, line)]))
}

fn points_of<'a>(searches: &[&'a SearchAnalysis]) -> Vec<&'a PointAnalysis> {
    searches.iter().flat_map(|search| decided(search)).map(|(_, _, probe)| &probe.point).collect()
}

/// The searches that have a limit and their repeats, of those in `held`.
fn with_repeats<'a>(analysis: &'a Analysis, held: &[&SearchAnalysis]) -> Vec<SearchRepeats<'a>> {
    let is_held =
        |one: &SearchRepeats| held.iter().any(|search| one.searches.iter().any(|own| std::ptr::eq(*own, *search)));
    search_repeats(&analysis.searches).into_iter().filter(is_held).collect()
}

/// Whether the limits of `searches` differ so much that a scale from zero hides the small ones.
fn is_wide(searches: &[SearchRepeats]) -> bool {
    let rates = || searches.iter().filter_map(SearchRepeats::mean_per_s).filter(|per_s| *per_s > 0.0);
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    most >= WIDE_RATIO * least
}

/// A bar from zero to `per_s`, or a dot if that would hide others.
fn limit_mark(x: f64, per_s: f64, is_wide: bool) -> Mark {
    if is_wide {
        Mark::Dots(5.0, vec![(x, per_s)])
    } else {
        Mark::Area(vec![(x - BAR, 0.0, per_s), (x + BAR, 0.0, per_s)])
    }
}

fn rate_axis(is_wide: bool) -> Axis {
    let label = "operations/s (log scale)".to_owned();
    if is_wide {
        Axis { label, scale: AxisScale::Log, unit: AxisUnit::Count, range: None }
    } else {
        Axis::from_zero("operations/s", AxisUnit::Count)
    }
}

/// A bar or dot for each search with its interval. Repeats share one, at their mean.
fn bars(analysis: &Analysis, id: &str, searches: &[SearchRepeats]) -> Figure {
    let (mut series, mut whiskers, is_wide): (Vec<DataSeries>, _, _) = (Vec::new(), Vec::new(), is_wide(searches));
    for (nth, search) in searches.iter().enumerate() {
        let (x, per_s) = (nth as f64, search.mean_per_s().unwrap_or(0.0));
        series.push(DataSeries::unnamed(SeriesStyle::nth(nth), vec![limit_mark(x, per_s, is_wide)]));
        let ends = search.range().and_then(|(low, high)| Some((x, low, high?)));
        whiskers.extend(ends);
    }
    series.push(DataSeries::unnamed(Colour::Black, vec![Mark::Whiskers(whiskers)]));
    let names = searches.iter().map(slot_name).collect();
    let all = || searches.iter().flat_map(|one| &one.searches);
    let x = Axis { label: String::new(), scale: AxisScale::Slots(names), unit: AxisUnit::Count, range: None };
    let y = rate_axis(is_wide);
    let panel = Panel { title: String::new(), note: String::new(), y, height: 280.0, series, shades: Vec::new() };
    let held: Vec<&PointAnalysis> = all().filter_map(|search| Some(&search.held()?.point)).collect();
    Figure {
        id: id.to_owned(),
        title: format!("Largest rate with {}", searches[0].searches[0].spec.objective),
        conditions: conditions(analysis, &held),
        caption: "With an interval: the limit is between its ends. Without one the limit may be higher. A limit of several searches \
                  is their mean."
            .to_owned(),
        body: FigureBody::Panels { x, panels: vec![panel] },
    }
}

/// `sqlite oltp 770/s`
fn slot_name(search: &SearchRepeats) -> String {
    let rate = search.mean_per_s().map_or_else(format::dash, |per_s| format!("{}/s", rate_words(per_s)));
    format!("{} {rate}", settings_label(&search.label))
}

/// The labels of searches, which are all different, with their limits: for tests.
#[cfg(test)]
fn limits_of(analysis: &Analysis) -> std::collections::BTreeMap<String, Option<f64>> {
    analysis.searches.iter().map(|one| (settings_label(one.settings()), one.result.per_s)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{limits, panels, quick};

    #[test]
    fn the_percentile_is_drawn_against_the_rate_with_the_objective_and_the_limit() {
        let analysis = limits();
        let figures = draw(&analysis);
        assert_eq!(figures.iter().map(|figure| figure.id.as_str()).collect::<Vec<_>>(), ["limit-1-1", "limit-1-rates"]);
        let [first, second, objective] = panels(&figures[0])[0].series.as_slice() else { panic!("three series") };
        for (series, (name, per_s)) in [first, second].into_iter().zip([("sqlite oltp", 0), ("fjall oltp", 1)]) {
            let limit = analysis.searches[per_s].result.per_s.expect("it has a limit");
            let [Mark::Line(_, line), Mark::Dots(_, kept), Mark::Rings(_, missed), Mark::Verticals(at)] =
                series.marks.as_slice()
            else {
                panic!("{:?}", series.marks)
            };
            assert_eq!((series.label.as_str(), at[0].0), (name, limit));
            assert!(line.is_sorted_by(|a, b| a.0 < b.0), "{line:?}");
            assert!(
                kept.iter().all(|dot| dot.0 <= limit) && missed.iter().all(|dot| dot.0 > limit),
                "{kept:?} {missed:?}"
            );
        }
        let [Mark::Line(Stroke::Dashed, across)] = objective.marks.as_slice() else { panic!("a line") };
        assert!(across.iter().all(|place| place.1 == 20e6) && objective.label == "p99<20ms", "{across:?}");
        assert!(draw(&quick()).is_empty());
    }

    #[test]
    fn limits_of_several_searches_are_bars_with_their_intervals() {
        let analysis = limits();
        let figure = draw(&analysis).remove(1);
        let [first, _, whiskers] = panels(&figure)[0].series.as_slice() else { panic!("two bars and their intervals") };
        let known = limits_of(&analysis);
        let [Mark::Area(bar)] = first.marks.as_slice() else { panic!("a bar") };
        assert_eq!(Some(bar[0].2), known["sqlite oltp"]);
        let [Mark::Whiskers(ends)] = whiskers.marks.as_slice() else { panic!("intervals") };
        assert!(ends.len() == 2 && ends.iter().all(|(_, low, high)| low < high), "{ends:?}");
    }

    #[test]
    fn limits_of_unlike_sizes_are_dots_on_a_logarithmic_axis() {
        let mut analysis = limits();
        let small = analysis.searches[0].result.per_s.expect("it has a limit");
        analysis.searches[1].result.per_s = Some(100.0 * small);
        let figure = draw(&analysis).remove(1);
        let panel = &panels(&figure)[0];
        assert!(matches!(panel.y.scale, AxisScale::Log), "{:?}", panel.y.scale);
        let dots = |series: &DataSeries| matches!(series.marks.as_slice(), [Mark::Dots(_, at)] if at.len() == 1);
        assert!(panel.series[..2].iter().all(dots), "{:?}", panel.series);
    }

    #[test]
    fn the_numbers_of_limits_do_not_overlap() {
        let mut analysis = limits();
        let labels = |analysis: &Analysis| -> Vec<String> {
            let searches: Vec<&SearchAnalysis> = analysis.searches.iter().collect();
            searches.iter().map(|search| limit_label(search, &searches)).collect()
        };
        analysis.searches[0].result.per_s = Some(400.0);
        analysis.searches[1].result.per_s = Some(8_000.0);
        assert_eq!(labels(&analysis), ["400/s", "8,000/s"]);
        analysis.searches[1].result.per_s = Some(460.0);
        assert_eq!(labels(&analysis), ["", ""]);
    }
}
