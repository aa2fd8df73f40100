//! The page of a live view: what is where, on a terminal of any size.
//!
//! In: the state of the view, the time, the size of the terminal. Out: lines in a buffer. Limits: below 60 columns each figure has a line of
//! its own; what does not fit is left out, from the least important on.

use super::chart::TextChart;
use super::event::{CellMark, Note};
use super::keys::KEYS;
use super::machine_rows::{bytes_per_s, fields, long_rows, short_rows};
use super::state::{ANSWER_WITHIN, LiveState, ScreenPanel, Wish};
use super::words::{Looks, ScreenRow, TextTone, cut_with_dots, fit, side_by_side, spread, tone_of};
use crate::output::progress::left::{clock, clock_since, per_s};
use crate::output::progress::sums::{ResponseTimes, Second};
use model::Nanos;
use ratatui::buffer::Buffer;
use ratatui::text::Line;
use std::time::Instant;

/// Below this width each figure has a line of its own.
const WIDTH_MIN: usize = 60;
/// The width of the name of a figure.
const NAME: usize = 7;
/// The least and the most lines of a chart, its title included.
const CHART_MIN: usize = 4;
const CHART_MAX: usize = 20;

/// Paints the page into `buffer`.
pub fn paint(state: &LiveState, now: Instant, buffer: &mut Buffer) {
    paint_with(Looks::of_terminal(state.colour), state, now, buffer);
}

/// The same with these looks.
pub fn paint_with(looks: Looks, state: &LiveState, now: Instant, buffer: &mut Buffer) {
    let area = buffer.area;
    let page = ScreenPage { looks, state, now, width: area.width.into(), height: area.height.into() };
    for (y, row) in (area.top()..area.bottom()).zip(page.rows()) {
        buffer.set_line(area.x, y, &row, area.width);
    }
}

/// A page of some size.
struct ScreenPage<'a> {
    looks: Looks,
    state: &'a LiveState,
    now: Instant,
    width: usize,
    height: usize,
}

impl ScreenPage<'_> {
    /// As many lines as the page is high: the head, the panel, the keys.
    fn rows(&self) -> Vec<ScreenRow> {
        let is_wide = self.width >= WIDTH_MIN;
        let head = if is_wide { vec![self.title(), self.point(), self.bar()] } else { vec![self.short_title()] };
        let room = self.height.saturating_sub(head.len() + 1);
        let mut body = match (self.state.is_helping, self.state.panel) {
            (true, _) => self.help(),
            (false, ScreenPanel::Overview) if is_wide => self.overview(room),
            (false, ScreenPanel::Overview) => self.figures(room),
            (false, ScreenPanel::Answer) => self.answer(room),
            (false, ScreenPanel::Points) => self.points(room),
            (false, ScreenPanel::Machine) => self.machine(room),
            (false, ScreenPanel::Notes) => self.notes(room),
        };
        body.resize(room, ScreenRow::default());
        let foot = self.foot();
        head.into_iter().chain(body).chain([foot]).map(|row| fit(row, self.width)).collect()
    }

    fn row(&self, text: impl Into<String>, tone: TextTone) -> ScreenRow {
        self.looks.row(text, tone)
    }

    /// Which point of how many is measured.
    fn nth(&self) -> usize {
        let grid = &self.state.grid;
        (grid.over() + usize::from(grid.running().is_some())).min(grid.len())
    }

    fn title(&self) -> ScreenRow {
        let (state, of) = (self.state, self.state.grid.len());
        let left = self.row(format!(" plimsoll {}", state.name), TextTone::Head);
        let parts =
            [format!("point {} of {of}", self.nth()), state.left.clone(), format!("{} passed", state.passed(self.now))];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let mut row = spread(left, self.row(format!("{} ", parts.join("  ")), TextTone::Head), self.width);
        let style = self.row("", TextTone::Head).spans[0].style;
        row.spans.iter_mut().for_each(|span| span.style = style);
        row
    }

    fn short_title(&self) -> ScreenRow {
        let text = format!(" {} {}/{}", self.state.name, self.nth(), self.state.grid.len());
        self.row(format!("{text:<width$}", width = self.width), TextTone::Head)
    }

    /// The current point, and how far its phase is.
    fn point(&self) -> ScreenRow {
        let mark = self.looks.mark(CellMark::Running);
        let label = [mark, self.looks.span(format!(" {}", self.state.label), TextTone::Strong)];
        match self.state.grid.running() {
            Some(_) => spread(Line::from(label.to_vec()), self.row(self.phase(), TextTone::Plain), self.width),
            None => self.row(self.waiting(), TextTone::Faint),
        }
    }

    fn waiting(&self) -> &'static str {
        if self.state.grid.over() == 0 { "preparing the first point" } else { "between two points" }
    }

    /// `run 0:03 of 0:10`
    fn phase(&self) -> String {
        if let Some(part) = &self.state.stage {
            return part.clone();
        }
        let Some(phase) = self.state.phase else { return String::new() };
        let passed = clock_since(self.state.phase_began, self.now);
        let planned = self.state.planned.map_or_else(String::new, |all| format!(" of {}", clock(all.as_secs_f64())));
        format!("{} {passed}{planned}", phase.as_str())
    }

    fn bar(&self) -> ScreenRow {
        let (grid, state) = (&self.state.grid, self.state);
        let passed = self.now.saturating_duration_since(state.phase_began).as_secs_f64();
        let is_run = grid.running().is_some() && state.phase == Some(model::Phase::Run);
        let own =
            state.planned.filter(|all| is_run && all.0 > 0).map_or(0.0, |all| (passed / all.as_secs_f64()).min(1.0));
        let share = (grid.over() as f64 + own) / grid.len().max(1) as f64;
        Line::from(self.looks.bar(self.width, &[(share, self.looks.full(), TextTone::Drawn)]))
    }

    fn foot(&self) -> ScreenRow {
        let is_asked = |asked: Instant| self.now.saturating_duration_since(asked) <= ANSWER_WITHIN;
        let asked = match self.state.wish {
            Wish::PerhapsSkip(asked) if is_asked(asked) => "s again skips this point; what was measured is kept",
            Wish::Skip => "skipping this point",
            Wish::Stop => "ending the run; what was measured is kept; q again ends at once",
            Wish::None | Wish::PerhapsSkip(_) => return self.keys(),
        };
        self.row(asked, TextTone::Caution)
    }

    fn keys(&self) -> ScreenRow {
        if self.width < WIDTH_MIN {
            return self.row("1-5 panels  s skip  q end  ? keys", TextTone::Faint);
        }
        let panels = (1..).zip(ScreenPanel::ALL).flat_map(|(nth, panel)| {
            let tone = if panel == self.state.panel { TextTone::Strong } else { TextTone::Faint };
            [self.looks.span(format!("{nth} {}", panel.name()), tone), self.looks.span("  ", tone)]
        });
        let keys = self.row("s skip  q end  ? keys", TextTone::Faint);
        spread(Line::from(panels.collect::<Vec<_>>()), keys, self.width)
    }

    /// Something of everything, in `room` lines.
    fn overview(&self, room: usize) -> Vec<ScreenRow> {
        let machine = short_rows(self.state, self.looks, self.width);
        let grid = self.state.grid.height((room / 3).max(1));
        let left = room.saturating_sub(grid + 2 + machine.len());
        let wanted = self.state.notes.len().min(left / 3);
        let charts = if left < CHART_MIN { 0 } else { (left - wanted).clamp(CHART_MIN, CHART_MAX) };
        let notes = left.saturating_sub(charts);
        let mut rows = vec![self.legend()];
        rows.extend(self.state.grid.rows(self.looks, self.width, grid));
        rows.push(self.response_times());
        rows.extend(self.charts(charts));
        rows.extend(machine);
        rows.extend(self.state.foremost_notes(notes).into_iter().map(|note| self.note(note)));
        rows
    }

    /// What the signs of the grid mean.
    fn legend(&self) -> ScreenRow {
        let marks = [
            (CellMark::Valid, "valid"),
            (CellMark::Indicative, "indicative"),
            (CellMark::Invalid, "invalid"),
            (CellMark::Failed, "failed"),
            (CellMark::Skipped, "skipped"),
            (CellMark::ToDo, "to do"),
        ];
        let signs = marks
            .into_iter()
            .flat_map(|(mark, word)| [self.looks.mark(mark), self.looks.span(format!(" {word}  "), TextTone::Faint)]);
        Line::from(signs.collect::<Vec<_>>())
    }

    /// Below 60 columns: a figure a line.
    fn figures(&self, room: usize) -> Vec<ScreenRow> {
        let state = self.state;
        let point = match state.grid.running() {
            Some(_) => [self.row(state.label.clone(), TextTone::Strong), self.row(self.phase(), TextTone::Plain)],
            None => [self.row(self.waiting(), TextTone::Faint), ScreenRow::default()],
        };
        let second = state.latest();
        let rate = second.map(|second| (second.noun, per_s(second.ops_per_s)));
        let times = second.and_then(|second| second.times);
        let mut rows = point.to_vec();
        rows.push(self.row(state.left.clone(), TextTone::Plain));
        rows.push(self.figure(
            &format!("{}/s", rate.as_ref().map_or("ops", |(noun, _)| noun)),
            rate.as_ref().map_or("-", |(_, rate)| rate),
        ));
        rows.push(self.figure("p99", &times.map_or_else(|| "-".into(), |times| Nanos(times.p99_ns).to_string())));
        rows.extend(
            fields(state, self.width.saturating_sub(NAME + 1)).iter().map(|(name, text)| self.figure(name, text)),
        );
        let grid = room.saturating_sub(rows.len()).min(4);
        rows.extend(state.grid.dense_rows(self.looks, self.width, grid.max(1)));
        let notes = room.saturating_sub(rows.len());
        rows.extend(state.foremost_notes(notes).into_iter().map(|note| self.note(note)));
        rows
    }

    fn figure(&self, name: &str, text: &str) -> ScreenRow {
        let name = format!("{name:<NAME$} ");
        Line::from(vec![self.looks.span(name, TextTone::Faint), self.looks.span(text.to_owned(), TextTone::Strong)])
    }

    /// `p50 67.7 us  p99 129 us  max 3.79 ms  failed 0`
    fn response_times(&self) -> ScreenRow {
        let Some(second) = self.state.latest() else { return ScreenRow::default() };
        let Some(ResponseTimes { p50_ns, p99_ns, max_ns }) = second.times else {
            return self.row("no operation ended in the last second", TextTone::Caution);
        };
        let [p50, p99, max] = [p50_ns, p99_ns, max_ns].map(|ns| Nanos(ns).to_string());
        let text = format!("response times of the last second: p50 {p50}, p99 {p99}, max {max}");
        let failed = (second.failed > 0).then(|| self.looks.span(format!("  failed {}", second.failed), TextTone::Bad));
        Line::from([self.looks.span(text, TextTone::Faint)].into_iter().chain(failed).collect::<Vec<_>>())
    }

    /// Rate and p99 next to each other.
    fn charts(&self, height: usize) -> Vec<ScreenRow> {
        let values = |value: fn(&Second) -> Option<f64>| self.values(value);
        let noun = self.state.latest().map_or("ops", |second| second.noun);
        let (rates, tails) =
            (values(|second| Some(second.ops_per_s)), values(|second| Some(second.times?.p99_ns as f64)));
        let rate = TextChart { name: &format!("{noun}/s"), values: &rates, format: per_s, most: None };
        let tail = TextChart { name: "p99", values: &tails, format: |ns| Nanos(ns as u64).to_string(), most: None };
        self.two_charts(&rate, &tail, height)
    }

    fn two_charts(&self, left: &TextChart, right: &TextChart, height: usize) -> Vec<ScreenRow> {
        let own = (self.width - 2) / 2;
        let other = self.width - 2 - own;
        side_by_side(left.rows(self.looks, own, height), own, right.rows(self.looks, other, height), other)
    }

    /// A figure of each second that is known.
    fn values(&self, value: fn(&Second) -> Option<f64>) -> Vec<Option<f64>> {
        self.state.seconds.iter().map(|second| second.as_ref().and_then(value)).collect()
    }

    fn machine(&self, room: usize) -> Vec<ScreenRow> {
        let mut rows = long_rows(self.state, self.looks, self.width);
        let height = room.saturating_sub(rows.len() + 1).min(2 * CHART_MAX);
        let busy = self.values(|second| Some(100.0 * (1.0 - second.machine?.cpu?.idle)));
        let disk =
            self.values(|second| second.machine?.disk.map(|disk| disk.read_bytes_per_s + disk.write_bytes_per_s));
        let busy = TextChart { name: "CPU", values: &busy, format: |share| format!("{share:.0} %"), most: Some(100.0) };
        let disk = TextChart { name: "disk", values: &disk, format: bytes_per_s, most: None };
        if self.width < WIDTH_MIN {
            rows.extend(busy.rows(self.looks, self.width, height / 2));
            rows.extend(disk.rows(self.looks, self.width, height / 2));
            return rows;
        }
        rows.push(ScreenRow::default());
        rows.extend(self.two_charts(&busy, &disk, height));
        rows
    }

    /// The answer of the points that are over, from its first line on.
    fn answer(&self, room: usize) -> Vec<ScreenRow> {
        let lines = &self.state.answer.lines;
        if lines.is_empty() {
            return vec![self.row("no point is over yet", TextTone::Faint)];
        }
        let head = format!("so far, of {} points", self.state.answer.points);
        let head = [self.row(head, TextTone::Faint), ScreenRow::default()];
        let shown = lines.iter().map(|line| self.row(line.clone(), TextTone::Plain));
        head.into_iter().chain(shown).take(room).collect()
    }

    /// The rows of the points that are over, the last at the end.
    fn points(&self, room: usize) -> Vec<ScreenRow> {
        let head = report::terminal::ended_head(self.width).map(|head| self.row(head, TextTone::Faint));
        let rows: Vec<String> = self.state.ended.iter().flat_map(|point| point.lines(self.width, false)).collect();
        if rows.is_empty() {
            return vec![self.row("no point is over yet", TextTone::Faint)];
        }
        let shown = self.scrolled(rows, room.saturating_sub(usize::from(head.is_some())));
        head.into_iter().chain(shown.into_iter().map(|line| self.row(line, TextTone::Plain))).collect()
    }

    fn notes(&self, room: usize) -> Vec<ScreenRow> {
        let lines = |note: &Note| {
            let text = report::wrapped(&with_word(note), self.width);
            text.into_iter().map(|line| (line, tone_of(note.severity))).collect::<Vec<_>>()
        };
        let all: Vec<(String, TextTone)> = self.state.notes.iter().flat_map(lines).collect();
        if all.is_empty() {
            vec![self.row("nothing was found or noted yet", TextTone::Faint)]
        } else {
            self.scrolled(all, room).into_iter().map(|(line, tone)| self.row(line, tone)).collect()
        }
    }

    /// The last lines that fit into `room`, or as many before them as the user has scrolled up.
    fn scrolled<T>(&self, lines: Vec<T>, room: usize) -> Vec<T> {
        let hidden = lines.len().saturating_sub(room);
        lines.into_iter().skip(hidden - self.state.scroll.min(hidden)).take(room).collect()
    }

    /// A note in one line; the panel of notes has all of it.
    fn note(&self, note: &Note) -> ScreenRow {
        self.row(cut_with_dots(&with_word(note), self.width), tone_of(note.severity))
    }

    fn help(&self) -> Vec<ScreenRow> {
        let width = if self.width < WIDTH_MIN { 0 } else { 24 };
        let keys = KEYS.iter().flat_map(|(key, what)| {
            let room = self.width.saturating_sub(width.max(2)).max(1);
            let line = |(nth, line): (usize, String)| {
                let key = if nth == 0 { *key } else { "" };
                let key = self.looks.span(format!("{key:<width$}"), TextTone::Strong);
                Line::from(vec![key, self.looks.span(line, TextTone::Plain)])
            };
            let lines = report::wrapped(what, room);
            match width {
                0 => {
                    let lines = lines.into_iter().map(|line| self.row(format!("  {line}"), TextTone::Plain));
                    [self.row(*key, TextTone::Strong)].into_iter().chain(lines).collect::<Vec<_>>()
                }
                _ => lines.into_iter().enumerate().map(line).collect(),
            }
        });
        let cost = format!("This view has used {:.1} % of one core.", 100.0 * self.state.own_share);
        keys.chain([ScreenRow::default(), self.row(cost, TextTone::Faint)]).collect()
    }
}

/// `warning: file rndrd depth 1: too short`
fn with_word(note: &Note) -> String {
    match note.severity {
        Some(severity) => format!("{}: {}", severity.as_str(), note.text),
        None => note.text.clone(),
    }
}
