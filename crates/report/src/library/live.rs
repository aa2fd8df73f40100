//! A run that is being recorded: where it is, what it does now, and the points so far.
//!
//! In: a [`LiveRun`] and the labels of its points, of a watch its analysis. Out: a [`LiveRunText`] in words, for a page and as JSON, by which the
//! page changes itself. Limits: it judges nothing; the report does, when the run is over.

use super::{PageFrame, live_watch};
use crate::format;
use crate::render::html::plain;
use analysis::Analysis;
use model::{LiveInterval, LivePhase, LivePoint, LiveRun, Nanos, PointState};
use serde::Serialize;
use std::time::Duration;

const SCRIPT: &str = include_str!("live.js");
/// The size of a picture in its own units; the page stretches it.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;

/// A run that is being recorded, in words.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LiveRunText {
    /// Whether it is over, so that there is a report in place of this.
    pub is_over: bool,
    /// What it measures now: `point 3 of 13: sqlite oltp clients 4`.
    pub place: String,
    pub figures: Vec<LiveFigure>,
    pub trends: Vec<Trend>,
    /// What grows with it: its points, or what a watch has seen.
    pub tables: Vec<LiveTable>,
    /// How often the run file is read, in words.
    pub every: String,
    /// When to look again, in milliseconds.
    pub again_ms: u64,
}

/// A number and what it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveFigure {
    /// What it is: `ops/s now`.
    pub name: String,
    /// The number with its unit.
    pub value: String,
}

/// A number over the last intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    pub title: String,
    /// The number at the top of the picture.
    pub top: String,
    /// The time from its left end to its right one.
    pub span: String,
    /// The line, as SVG has it: `0,12.5 6,80`.
    pub line: String,
}

/// A table that grows with the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveTable {
    pub title: String,
    /// The heads of its columns.
    pub heads: Vec<String>,
    /// Which of them are of texts; all others are of numbers.
    pub texts: Vec<bool>,
    /// Its rows, with a cell for each head.
    pub rows: Vec<Vec<String>>,
    /// A sentence below it.
    pub note: String,
}

impl LiveFigure {
    pub fn new(name: impl Into<String>, value: String) -> LiveFigure {
        LiveFigure { name: name.into(), value }
    }
}

impl LiveRunText {
    /// `run` in words. `labels` has a label for each of its points, `watched` is the analysis of what it watches; the page looks again after
    /// `again`.
    pub fn new(run: &LiveRun, labels: &[String], watched: Option<&Analysis>, again: Duration) -> LiveRunText {
        let of_what = match watched.and_then(|analysis| live_watch::text(run, analysis)) {
            Some(watch) => watch,
            None => load_text(run, labels),
        };
        LiveRunText {
            every: Nanos(u64::try_from(again.as_nanos()).unwrap_or(u64::MAX)).to_string(),
            again_ms: u64::try_from(again.as_millis()).unwrap_or(u64::MAX),
            ..of_what
        }
    }

    /// A run that is over.
    pub fn over() -> LiveRunText {
        LiveRunText { is_over: true, ..LiveRunText::default() }
    }
}

/// A run that makes a load.
fn load_text(run: &LiveRun, labels: &[String]) -> LiveRunText {
    let intervals = intervals_of(run);
    let last = intervals.last();
    let phase = run
        .phase
        .as_ref()
        .map_or_else(|| "not begun".to_owned(), |phase| format!("{}, {}", phase.phase.as_str(), so_far(phase)));
    let failed = run.points.last().map_or_else(format::dash, |point| format::count(point.failed));
    let heads = ["#", "point", "state", "ops/s so far", "failed"].map(str::to_owned).to_vec();
    let points = LiveTable {
        title: "Points so far".to_owned(),
        heads,
        texts: vec![false, true, true, false, false],
        rows: run.points.iter().zip(labels).map(row).collect(),
        note: String::new(),
    };
    LiveRunText {
        place: current_point(run, labels),
        figures: vec![
            LiveFigure::new("phase", phase),
            LiveFigure::new("ops/s now", last.map_or_else(format::dash, |last| format::number(last.per_s()))),
            LiveFigure::new("p99 now", format::nanos_or_dash(last.and_then(|last| last.p99_ns))),
            LiveFigure::new("failed ops of the point", failed),
        ],
        trends: trends(intervals),
        tables: vec![points],
        ..LiveRunText::default()
    }
}

/// What `run` counts: `ops`, or what a watch counts; `None` of a watch that counts nothing.
pub fn unit_of(run: &LiveRun) -> Option<&'static str> {
    match run.watched.as_ref().and_then(|point| point.traits.observed.as_ref()) {
        Some(seen) => live_watch::counted(seen),
        None => Some("ops"),
    }
}

pub(super) fn intervals_of(run: &LiveRun) -> &[LiveInterval] {
    run.phase.as_ref().map_or(&[], |phase| &phase.intervals)
}

/// How long `phase` has gone on.
pub(super) fn so_far(phase: &LivePhase) -> Nanos {
    let end = phase.intervals.last().map_or(phase.start, |last| last.start + last.length);
    end.since(phase.start)
}

fn current_point(run: &LiveRun, labels: &[String]) -> String {
    let (complete, planned) = (run.complete(), run.meta.plan.trials.len());
    // A search may measure more points than its plan names.
    match (run.current(), labels.last()) {
        (Some(_), Some(label)) => format!("point {} of {}: {label}", complete + 1, planned.max(complete + 1)),
        _ => format!("{complete} of {} points are complete", planned.max(complete)),
    }
}

fn row((point, label): (&LivePoint, &String)) -> Vec<String> {
    let seconds = point.measured.as_secs_f64();
    let state = if point.state == PointState::Partial { "now" } else { point.state.as_str() };
    let rate = if seconds > 0.0 { format::number(point.ops as f64 / seconds) } else { format::dash() };
    vec![point.id.to_string(), label.clone(), state.to_owned(), rate, format::count(point.failed)]
}

fn trends(intervals: &[LiveInterval]) -> Vec<Trend> {
    let p99s: Vec<Option<f64>> = intervals.iter().map(|one| one.p99_ns.map(|ns| ns as f64)).collect();
    let p99s = Trend::new("p99 of the response times", intervals, &p99s, |ns| format::nanos(ns as u64));
    vec![Trend::of_rate("ops per second", intervals), p99s]
}

impl Trend {
    /// `values` over the time of `intervals`; `words` writes one of them.
    pub(super) fn new(
        title: impl Into<String>,
        intervals: &[LiveInterval],
        values: &[Option<f64>],
        words: impl Fn(f64) -> String,
    ) -> Trend {
        let ends = intervals.first().zip(intervals.last());
        let span = ends.map_or(Nanos(0), |(first, last)| (last.start + last.length).since(first.start));
        let top = values.iter().flatten().copied().fold(0.0, f64::max);
        Trend { title: title.into(), top: words(top), span: span.to_string(), line: line(values, top) }
    }

    pub(super) fn of_rate(title: impl Into<String>, intervals: &[LiveInterval]) -> Trend {
        let rates: Vec<Option<f64>> = intervals.iter().map(|one| Some(one.per_s())).collect();
        Trend::new(title, intervals, &rates, format::number)
    }
}

/// The values from left to right, 0 at the bottom and `top` at the top; what is missing is left out.
fn line(values: &[Option<f64>], top: f64) -> String {
    let step = WIDTH / (values.len().saturating_sub(1)).max(1) as f64;
    let height = |value: f64| if top > 0.0 { HEIGHT * (1.0 - value / top) } else { HEIGHT };
    let place = |(nth, value): (usize, &Option<f64>)| {
        value.map(|value| format!("{:.1},{:.1}", step * nth as f64, height(value)))
    };
    values.iter().enumerate().filter_map(place).collect::<Vec<String>>().join(" ")
}

/// The page of the run `name`, at the address `/run/KEY`.
pub fn live_html(name: &str, key: &str, view: &LiveRunText, nonce: &str) -> String {
    let (title, every) = (plain(name), plain(&view.every));
    let again_s = view.again_ms.div_ceil(1000).max(1);
    let head = format!("<noscript><meta http-equiv=\"refresh\" content=\"{again_s}\"></noscript>\n");
    let script =
        format!("<script nonce=\"{}\" data-source=\"/run/{}/live.json\">{SCRIPT}</script>\n", plain(nonce), plain(key));
    let main = format!(
        "<header>\n<p class=\"small\"><a href=\"/\">All runs</a> &middot; being recorded</p>\n<h1>{title}</h1>\n\
         <p data-live=\"place\">{}</p>\n<dl class=\"now\">\n{}</dl>\n\
         <p class=\"small\">Read from the run file at most every <span data-live=\"every\">{every}</span>.</p>\n\
         <p class=\"small\" id=\"lost\" hidden>The server does not answer; the numbers are the last that it sent.</p>\n</header>\n\
         <section>\n<h2>The last intervals</h2>\n<div class=\"trends\">\n{}</div>\n</section>\n{}\
         <p class=\"small\">Nothing here is judged yet. When the run is over, this page becomes its report.</p>\n",
        plain(&view.place),
        view.figures.iter().map(figure_html).collect::<String>(),
        view.trends.iter().map(trend_html).collect::<String>(),
        view.tables.iter().map(table_html).collect::<String>()
    );
    PageFrame { title, head, main, script }.html(nonce)
}

fn figure_html(figure: &LiveFigure) -> String {
    format!("<div class=\"figure\"><dt>{}</dt><dd>{}</dd></div>\n", plain(&figure.name), plain(&figure.value))
}

fn trend_html(trend: &Trend) -> String {
    let Trend { title, top, span, line } = trend;
    let title = plain(title);
    format!(
        "<div class=\"trend\"><p class=\"small\"><b>{title}</b>, at the top <span class=\"top\">{top}</span>, at the bottom 0</p>\n\
         <svg class=\"trend\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{title} over the last intervals\"><line x1=\"0\" y1=\"{HEIGHT}\" x2=\"{WIDTH}\" y2=\"{HEIGHT}\"></line>\
         <line x1=\"0\" y1=\"0\" x2=\"{WIDTH}\" y2=\"0\"></line><polyline points=\"{line}\"></polyline></svg>\n\
         <p class=\"small ends\"><span><span class=\"span\">{span}</span> ago</span><span>now</span></p></div>\n"
    )
}

fn table_html(table: &LiveTable) -> String {
    let class = |nth: usize| if table.texts[nth] { "" } else { " class=\"n\"" };
    let cells = |tag: &str, texts: &[String]| -> String {
        let cell = |(nth, text): (usize, &String)| format!("<{tag}{}>{}</{tag}>", class(nth), plain(text));
        texts.iter().enumerate().map(cell).collect()
    };
    let rows: String = table.rows.iter().map(|row| format!("<tr>{}</tr>\n", cells("td", row))).collect();
    format!(
        "<section class=\"live\">\n<h2>{}</h2>\n<div class=\"scroll\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{rows}</tbody></table>\
         </div>\n<p class=\"small note\">{}</p>\n</section>\n",
        plain(&table.title),
        cells("th", &table.heads),
        plain(&table.note)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HOSTILE, quick, recorded};
    use model::{Phase, Tick};

    fn live() -> LiveRun {
        let (meta, trial) = (quick().meta, recorded(1, "fjall", 1, |_| 1).trial);
        let point = |id, state| LivePoint {
            id,
            state,
            error: None,
            trial: trial.clone(),
            ops: 3_000,
            failed: 2,
            measured: Nanos::from_secs(3),
        };
        let interval = |nth: u64, ops| LiveInterval {
            start: Tick(Nanos::from_secs(nth).0),
            length: Nanos::from_secs(1),
            ops,
            failed: 0,
            p99_ns: (ops > 0).then_some(2_000_000),
        };
        let intervals = vec![interval(5, 1_000), interval(6, 0), interval(7, 2_000)];
        let phase = model::LivePhase { phase: Phase::Run, start: Tick(Nanos::from_secs(5).0), intervals };
        LiveRun {
            meta,
            points: vec![point(1, PointState::Complete), point(2, PointState::Partial)],
            phase: Some(phase),
            watched: None,
        }
    }

    #[test]
    fn a_run_is_shown_as_far_as_it_is_recorded() {
        let view = LiveRunText::new(&live(), &["a".to_owned(), "b".to_owned()], None, Duration::from_secs(2));
        assert!(view.place.starts_with("point 2 of ") && view.place.ends_with(": b"), "{}", view.place);
        let values: Vec<&str> = view.figures.iter().map(|figure| figure.value.as_str()).collect();
        assert_eq!(values, ["run, 3.00 s", "2,000", "2.00 ms", "2"]);
        let points = &view.tables[0].rows;
        assert_eq!((points[0].join("|"), points[1][2].as_str()), ("1|a|complete|1,000|2".to_owned(), "now"));
        assert_eq!(view.trends[0].line, "0.0,60.0 300.0,120.0 600.0,0.0");
        assert_eq!(view.trends[1].line, "0.0,0.0 600.0,0.0", "nothing was done in the second interval");
        let json = serde_json::to_value(&view).unwrap();
        assert_eq!((&json["is_over"], &json["again_ms"]), (&false.into(), &2_000.into()));
    }

    #[test]
    fn a_run_without_points_has_a_page() {
        let empty = LiveRun { points: Vec::new(), phase: None, ..live() };
        let view = LiveRunText::new(&empty, &[], None, Duration::from_secs(2));
        assert_eq!((view.figures[0].value.as_str(), view.figures[1].value.as_str()), ("not begun", "-"));
        assert!(live_html("a", "a", &view, "n0").contains("points are complete"));
    }

    #[test]
    fn a_search_has_no_more_complete_points_than_there_are() {
        let mut over = live();
        over.meta.plan.trials.truncate(1);
        over.points.iter_mut().for_each(|point| point.state = PointState::Complete);
        let view = LiveRunText::new(&over, &["a".to_owned(), "b".to_owned()], None, Duration::from_secs(2));
        assert_eq!(view.place, "2 of 2 points are complete");
    }

    #[test]
    fn no_hostile_text_becomes_markup() {
        for text in HOSTILE {
            let view = LiveRunText::new(&live(), &[text.to_owned(), text.to_owned()], None, Duration::from_secs(2));
            let html = live_html(text, "a%20b", &view, "n0");
            for bad in ["<script>alert", "<img", "onerror=alert(1)>", "\u{1b}", "\u{202e}"] {
                assert!(!html.contains(bad), "{bad}");
            }
        }
    }
}
