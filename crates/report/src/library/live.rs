//! A run that is being recorded: where it is, what it does now, and the points so far.
//!
//! In: a [`LiveRun`] and the labels of its points. Out: a [`LiveRunText`] in words, for a page and as JSON, by which the page changes itself.
//! Limits: it judges nothing; the report does, when the run is over.

use super::PageFrame;
use crate::format;
use crate::render::html::plain;
use model::{LiveInterval, LivePoint, LiveRun, Nanos, PointState};
use serde::Serialize;
use std::time::Duration;

const SCRIPT: &str = include_str!("live.js");
/// The size of a picture in its own units; the page stretches it.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;

/// A run that is being recorded, in words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveRunText {
    /// Whether it is over, so that there is a report in place of this.
    pub is_over: bool,
    /// The point that is measured: `point 3 of 13: sqlite oltp clients 4`.
    pub point: String,
    /// Its phase and how long that has gone on: `run, 12 s`.
    pub phase: String,
    /// Ops per second in the last interval.
    pub rate: String,
    /// The 99th percentile of the response times in it.
    pub p99: String,
    /// Failed ops of the point so far.
    pub failed: String,
    /// What is drawn.
    pub trends: Vec<Trend>,
    /// The points that have begun.
    pub points: Vec<LiveRow>,
    /// How often the run file is read, in words.
    pub every: String,
    /// When to look again, in milliseconds.
    pub again_ms: u64,
}

/// A number over the last intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// What it is.
    pub title: &'static str,
    /// The number at the top of the picture.
    pub top: String,
    /// The time from its left end to its right one.
    pub span: String,
    /// The line, as SVG has it: `0,12.5 6,80`.
    pub line: String,
}

/// A point that has begun.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveRow {
    /// Its number.
    pub id: u32,
    /// What it measures.
    pub label: String,
    /// How it ended; `now` while it is measured.
    pub state: &'static str,
    /// Its rate so far.
    pub rate: String,
    /// Failed ops.
    pub failed: String,
}

impl LiveRunText {
    /// `run` in words. `labels` has a label for each of its points; the page looks again after `again`.
    pub fn new(run: &LiveRun, labels: &[String], again: Duration) -> LiveRunText {
        let intervals = run.phase.as_ref().map_or(&[][..], |phase| &phase.intervals);
        let last = intervals.last();
        LiveRunText {
            is_over: false,
            point: current_point(run, labels),
            phase: run.phase.as_ref().map_or_else(
                || "not begun".to_owned(),
                |phase| {
                    let end = last.map_or(phase.start, |last| last.start + last.length);
                    format!("{}, {}", phase.phase.as_str(), end.since(phase.start))
                },
            ),
            rate: last.map_or_else(format::dash, |last| format::number(last.per_s())),
            p99: format::nanos_or_dash(last.and_then(|last| last.p99_ns)),
            failed: run.points.last().map_or_else(format::dash, |point| format::count(point.failed)),
            trends: trends(intervals),
            points: run.points.iter().zip(labels).map(row).collect(),
            every: Nanos(u64::try_from(again.as_nanos()).unwrap_or(u64::MAX)).to_string(),
            again_ms: u64::try_from(again.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// A run that is over.
    pub fn over() -> LiveRunText {
        LiveRunText {
            is_over: true,
            point: String::new(),
            phase: String::new(),
            rate: String::new(),
            p99: String::new(),
            failed: String::new(),
            trends: Vec::new(),
            points: Vec::new(),
            every: String::new(),
            again_ms: 0,
        }
    }
}

fn current_point(run: &LiveRun, labels: &[String]) -> String {
    let (complete, planned) = (run.complete(), run.meta.plan.trials.len());
    match (run.current(), labels.last()) {
        // A search may measure more points than its plan names.
        (Some(_), Some(label)) => format!("point {} of {}: {label}", complete + 1, planned.max(complete + 1)),
        _ => format!("{complete} of {planned} points are complete"),
    }
}

fn row((point, label): (&LivePoint, &String)) -> LiveRow {
    let seconds = point.measured.as_secs_f64();
    LiveRow {
        id: point.id,
        label: label.clone(),
        state: if point.state == PointState::Partial { "now" } else { point.state.as_str() },
        rate: if seconds > 0.0 { format::number(point.ops as f64 / seconds) } else { format::dash() },
        failed: format::count(point.failed),
    }
}

fn trends(intervals: &[LiveInterval]) -> Vec<Trend> {
    let rates: Vec<Option<f64>> = intervals.iter().map(|one| Some(one.per_s())).collect();
    let p99s: Vec<Option<f64>> = intervals.iter().map(|one| one.p99_ns.map(|ns| ns as f64)).collect();
    let span = intervals
        .first()
        .zip(intervals.last())
        .map_or(Nanos(0), |(first, last)| (last.start + last.length).since(first.start));
    let trend = |title, values: &[Option<f64>], words: fn(f64) -> String| {
        let top = values.iter().flatten().copied().fold(0.0, f64::max);
        Trend { title, top: words(top), span: span.to_string(), line: line(values, top) }
    };
    vec![
        trend("ops per second", &rates, format::number),
        trend("p99 of the response times", &p99s, |ns| format::nanos(ns as u64)),
    ]
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
    let now = [
        ("phase", "phase", &view.phase),
        ("ops/s now", "rate", &view.rate),
        ("p99 now", "p99", &view.p99),
        ("failed ops of the point", "failed", &view.failed),
    ];
    let now: String = now
        .iter()
        .map(|(name, live, value)| {
            format!("<div><dt>{name}</dt><dd data-live=\"{live}\">{}</dd></div>\n", plain(value))
        })
        .collect();
    let main = format!(
        "<header>\n<p class=\"small\"><a href=\"/\">All runs</a> &middot; being recorded</p>\n<h1>{title}</h1>\n\
         <p data-live=\"point\">{}</p>\n<dl class=\"now\">\n{now}</dl>\n\
         <p class=\"small\">Read from the run file at most every <span data-live=\"every\">{every}</span>.</p>\n\
         <p class=\"small\" id=\"lost\" hidden>The server does not answer; the numbers are the last that it sent.</p>\n</header>\n\
         <section>\n<h2>The last intervals</h2>\n<div class=\"trends\">\n{}</div>\n</section>\n\
         <section>\n<h2>Points so far</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th class=\"n\">#</th><th>point</th><th>state</th>\
         <th class=\"n\">ops/s so far</th><th class=\"n\">failed</th></tr></thead>\n<tbody id=\"points\">\n{}</tbody></table></div>\n\
         <p class=\"small\">Nothing here is judged yet. When the run is over, this page becomes its report.</p>\n</section>\n",
        plain(&view.point),
        view.trends.iter().map(trend_html).collect::<String>(),
        view.points.iter().map(row_html).collect::<String>()
    );
    PageFrame { title, head, main, script }.html(nonce)
}

fn trend_html(trend: &Trend) -> String {
    let Trend { title, top, span, line } = trend;
    format!(
        "<div class=\"trend\"><p class=\"small\"><b>{title}</b>, at the top <span class=\"top\">{top}</span>, at the bottom 0</p>\n\
         <svg class=\"trend\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{title} over the last intervals\"><line x1=\"0\" y1=\"{HEIGHT}\" x2=\"{WIDTH}\" y2=\"{HEIGHT}\"></line>\
         <line x1=\"0\" y1=\"0\" x2=\"{WIDTH}\" y2=\"0\"></line><polyline points=\"{line}\"></polyline></svg>\n\
         <p class=\"small ends\"><span><span class=\"span\">{span}</span> ago</span><span>now</span></p></div>\n"
    )
}

fn row_html(row: &LiveRow) -> String {
    format!(
        "<tr><td class=\"n\">{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        row.id,
        plain(&row.label),
        row.state,
        row.rate,
        row.failed
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
        }
    }

    #[test]
    fn a_run_is_shown_as_far_as_it_is_recorded() {
        let view = LiveRunText::new(&live(), &["a".to_owned(), "b".to_owned()], Duration::from_secs(2));
        assert!(view.point.starts_with("point 2 of ") && view.point.ends_with(": b"), "{}", view.point);
        assert_eq!((view.phase.as_str(), view.rate.as_str(), view.p99.as_str()), ("run, 3.00 s", "2,000", "2.00 ms"));
        let states: Vec<&str> = view.points.iter().map(|row| row.state).collect();
        assert_eq!((states, view.points[0].rate.as_str()), (vec!["complete", "now"], "1,000"));
        assert_eq!(view.trends[0].line, "0.0,60.0 300.0,120.0 600.0,0.0");
        assert_eq!(view.trends[1].line, "0.0,0.0 600.0,0.0", "nothing was done in the second interval");
        let json = serde_json::to_value(&view).unwrap();
        assert_eq!((&json["is_over"], &json["again_ms"]), (&false.into(), &2_000.into()));
    }

    #[test]
    fn a_run_without_points_has_a_page() {
        let empty = LiveRun { points: Vec::new(), phase: None, ..live() };
        let view = LiveRunText::new(&empty, &[], Duration::from_secs(2));
        assert_eq!((view.phase.as_str(), view.rate.as_str()), ("not begun", "-"));
        assert!(live_html("a", "a", &view, "n0").contains("points are complete"));
    }

    #[test]
    fn no_hostile_text_becomes_markup() {
        for text in HOSTILE {
            let view = LiveRunText::new(&live(), &[text.to_owned(), text.to_owned()], Duration::from_secs(2));
            let html = live_html(text, "a%20b", &view, "n0");
            for bad in ["<script>alert", "<img", "onerror=alert(1)>", "\u{1b}", "\u{202e}"] {
                assert!(!html.contains(bad), "{bad}");
            }
        }
    }
}
