//! Where everything in a picture goes: title and conditions on top, panels below each other with their left and right edges
//! in line, names beside the last value of each series.
//!
//! In: a figure and a width. Out: a scene, as high as it needs. Limits: names on the right take at most a third of the width;
//! where a panel's title leaves no room for its note, the note is left out.

use crate::figure::{Axis, BarColumn, Body, BoxMark, Figure, Mark, Panel, Scale, Series, Shade, ShadeKind, Stroke};
use crate::grid::draw_multiples;
use crate::scale::Scaled;
use crate::scene::{Anchor, BOLD, FIRM_SPACE, Ink, Scene, Shape, TimeAxis, bold_width, cut, text_width, wrap};

/// Fits a page and half a wide screen.
pub const WIDE: f64 = 760.0;
/// Fits a phone, with text as large as that around it.
pub const NARROW: f64 = 440.0;
pub(crate) const EDGE: f64 = 14.0;
const TITLE: u32 = 18;
pub(crate) const TEXT: u32 = 15;
pub(crate) const SMALL: u32 = 14;
pub(crate) const LINE_HEIGHT: f64 = 18.0;

/// Three small multiples beside each other still have room for their ticks.
const EXTRA_WIDE: f64 = 1060.0;

/// How wide `figure` is where there is room.
pub fn width_of(figure: &Figure) -> f64 {
    match &figure.body {
        Body::Grid { columns, .. } if columns.len() > 2 => EXTRA_WIDE,
        _ => WIDE,
    }
}

/// Lays out `figure`, `width` wide.
pub fn lay_out(figure: &Figure, width: f64) -> Scene {
    let mut scene = Scene { width, ..Scene::default() };
    let top = head(&mut scene, figure);
    scene.height = match &figure.body {
        Body::Panels { x, panels } => draw_panels(&mut scene, figure, x, panels, top),
        Body::Grid { x, legend, columns, rows } => draw_multiples(&mut scene, x, legend, (columns, rows), top),
        Body::Bars { rows, columns } => draw_bars(&mut scene, rows, columns, top),
    };
    let paper = Shape::Rect { x: 0.0, y: 0.0, width, height: scene.height, ink: Ink::Paper, opacity: 1.0 };
    scene.shapes.insert(0, paper);
    scene
}

/// Title and caption. Returns where they end.
fn head(scene: &mut Scene, figure: &Figure) -> f64 {
    let width = scene.width - 2.0 * EDGE;
    let mut y = 5.0;
    for line in wrap(&figure.title, TITLE, width / BOLD).into_iter().take(2) {
        y += 22.0;
        bold(scene, (EDGE, y), line, TITLE);
    }
    y += 4.0;
    for line in wrap(&with_whole_clauses(&figure.caption), SMALL, width).into_iter().take(6) {
        y += LINE_HEIGHT;
        text(scene, (EDGE, y), line.replace(FIRM_SPACE, " "), SMALL, Anchor::Start, Ink::Faint);
    }
    y + 10.0
}

/// A caption in which no line ends within a short clause: `2 CPUs`, `table_rows 10000`.
fn with_whole_clauses(caption: &str) -> String {
    let whole = |clause: &str| match clause.split(' ').count() {
        0..=3 => clause.replace(' ', &FIRM_SPACE.to_string()),
        _ => clause.to_owned(),
    };
    caption.split("; ").map(whole).collect::<Vec<_>>().join("; ")
}

/// Everything that the panels share.
pub(crate) struct Frame<'a> {
    pub(crate) x: Scaled<'a>,
    pub(crate) left: f64,
    pub(crate) right: f64,
    /// Where the names of series begin.
    pub(crate) names: f64,
}

impl Frame<'_> {
    fn at(&self, value: f64) -> f64 {
        self.left + self.x.position(value) * (self.right - self.left)
    }
}

fn draw_panels(scene: &mut Scene, figure: &Figure, x: &Axis, panels: &[Panel], top: f64) -> f64 {
    let ys: Vec<Scaled> = panels.iter().map(|p| Scaled::y(&p.y, y_extent(p))).collect();
    let frame = frame(x, panels, &ys, scene.width);
    let (mut y, mut first_top) = (top, None);
    for (panel, scaled) in panels.iter().zip(&ys) {
        y = panel_head(scene, panel, y);
        first_top.get_or_insert(y);
        draw_panel(scene, panel, &frame, scaled, y);
        y += panel.height + 12.0;
    }
    let bottom = y - 12.0;
    if figure.is_over_time() {
        let (top, from_s, to_s) = (first_top.unwrap_or(top), frame.x.low, frame.x.high);
        scene.time = Some(TimeAxis { left: frame.left, right: frame.right, top, bottom, from_s, to_s });
    }
    x_labels(scene, x, &frame, bottom)
}

fn frame<'a>(x: &'a Axis, panels: &[Panel], ys: &[Scaled], width: f64) -> Frame<'a> {
    let tick_widths =
        panels.iter().zip(ys).flat_map(|(p, y)| y.ticks(tick_count(p.height))).map(|t| text_width(&t.label, SMALL));
    let labels = panels.iter().flat_map(|p| &p.series).map(|s| text_width(&s.label, SMALL));
    let left = EDGE + tick_widths.fold(20.0, f64::max) + 8.0;
    let widest = labels.fold(0.0, f64::max).min(width / 3.0);
    let names = width - EDGE - widest;
    let second_ticks = panels.iter().zip(ys).flat_map(|(p, y)| y.second_ticks(tick_count(p.height)));
    let second = second_ticks.map(|t| text_width(&t.label, SMALL) + 7.0).fold(0.0, f64::max);
    let right = names - second - if widest > 0.0 { 10.0 } else { 6.0 };
    Frame { x: Scaled::x(x, x_extent(panels)), left, right, names }
}

/// Hardly more than the line that joins them.
const DOT_MIN: f64 = 0.8;

/// About one tick every 26 units.
pub(crate) fn tick_count(height: f64) -> usize {
    ((height / 26.0) as usize).clamp(2, 8)
}

/// Title, y label and note in one line above the plot. Returns where the plot begins.
fn panel_head(scene: &mut Scene, panel: &Panel, top: f64) -> f64 {
    let (y, right) = (top + 15.0, scene.width - EDGE);
    let mut x = EDGE;
    if !panel.title.is_empty() {
        let title = cut(&panel.title, TEXT, (right - x) * 0.7);
        x += bold_width(&title, TEXT) + 10.0;
        bold(scene, (EDGE, y), title, TEXT);
    }
    let label = cut(&panel.y.label, SMALL, right - x);
    let end = x + text_width(&label, SMALL) + 10.0;
    text(scene, (x, y), label, SMALL, Anchor::Start, Ink::Faint);
    if end + text_width(&panel.note, SMALL) <= right {
        text(scene, (right, y), panel.note.clone(), SMALL, Anchor::End, Ink::Faint);
    }
    y + 13.0
}

fn draw_panel(scene: &mut Scene, panel: &Panel, frame: &Frame, y: &Scaled, top: f64) {
    let place = PlotArea { frame, y, top, height: panel.height };
    let (left, width) = (frame.left, frame.right - frame.left);
    scene.shapes.push(Shape::PlotBegin { x: left, y: top, width, height: panel.height });
    panel.shades.iter().for_each(|shade| draw_shade(scene, shade, &place));
    scene.shapes.push(Shape::PlotEnd);
    draw_grid(scene, &place);
    draw_series(scene, &panel.series, &place);
    name_series(scene, &panel.series, &place);
}

pub(crate) fn draw_series(scene: &mut Scene, all: &[Series], place: &PlotArea) {
    let (left, width) = (place.frame.left, place.frame.right - place.frame.left);
    // A dot on the edge of the plot is drawn whole: the clip leaves it room.
    scene.shapes.push(Shape::PlotBegin {
        x: left - 5.0,
        y: place.top - 5.0,
        width: width + 10.0,
        height: place.height + 10.0,
    });
    for series in all {
        series.marks.iter().for_each(|mark| draw_mark(scene, mark, Ink::Data(series.colour), place));
    }
    scene.shapes.push(Shape::PlotEnd);
    all.iter().for_each(|series| name_verticals(scene, series, place));
}

/// Where values of one panel go.
pub(crate) struct PlotArea<'a> {
    pub(crate) frame: &'a Frame<'a>,
    pub(crate) y: &'a Scaled<'a>,
    pub(crate) top: f64,
    pub(crate) height: f64,
}

impl PlotArea<'_> {
    fn y_at(&self, value: f64) -> f64 {
        self.top + self.height * (1.0 - self.y.position(value))
    }

    /// `None` where the value is not on the axis at all: not finite, or not above 0 on a logarithmic scale.
    fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        let place = (self.frame.at(x), self.y_at(y));
        (place.0.is_finite() && place.1.is_finite()).then_some(place)
    }

    fn all(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        points.iter().filter_map(|p| self.at(*p)).collect()
    }
}

fn draw_shade(scene: &mut Scene, shade: &Shade, place: &PlotArea) {
    let (from, to) = (place.frame.at(shade.from), place.frame.at(shade.to));
    let ink = match shade.kind {
        ShadeKind::Warmup | ShadeKind::NotCounted => Ink::Warmup,
        ShadeKind::Window => Ink::Window,
        ShadeKind::Stall => Ink::Stall,
        ShadeKind::Drop => Ink::Drop,
        ShadeKind::Shift => Ink::Shift,
    };
    // A stall shorter than a unit must still be seen, and the moment of a shift.
    let width = (to - from).max(1.5);
    scene.shapes.push(Shape::Rect { x: from, y: place.top, width, height: place.height, ink, opacity: 1.0 });
}

fn draw_grid(scene: &mut Scene, place: &PlotArea) {
    let (right, bottom) = (place.frame.right, place.top + place.height);
    draw_rules(scene, place);
    y_labels(scene, place);
    for tick in place.y.second_ticks(tick_count(place.height)) {
        let y = bottom - tick.position * place.height;
        rule(scene, (right, y), (right + 4.0, y), Ink::Axis);
        text(scene, (right + 7.0, y + 4.5), tick.label, SMALL, Anchor::Start, Ink::Faint);
    }
}

/// The lines that guide the eye from the ticks of both axes.
pub(crate) fn draw_rules(scene: &mut Scene, place: &PlotArea) {
    let (left, right, bottom) = (place.frame.left, place.frame.right, place.top + place.height);
    for tick in place.y.ticks(tick_count(place.height)) {
        let y = bottom - tick.position * place.height;
        rule(scene, (left, y), (right, y), Ink::Grid);
    }
    scene.shapes.push(Shape::TicksBegin);
    for tick in x_ticks(place.frame) {
        let x = left + tick.position * (right - left);
        rule(scene, (x, place.top), (x, bottom), Ink::Grid);
    }
    scene.shapes.push(Shape::TicksEnd);
    rule(scene, (left, bottom), (right, bottom), Ink::Axis);
}

/// The numbers of the y axis, left of it.
pub(crate) fn y_labels(scene: &mut Scene, place: &PlotArea) {
    for tick in place.y.ticks(tick_count(place.height)) {
        let y = place.top + place.height * (1.0 - tick.position);
        text(scene, (place.frame.left - 7.0, y + 4.5), tick.label, SMALL, Anchor::End, Ink::Faint);
    }
}

fn x_ticks(frame: &Frame) -> Vec<crate::scale::Tick> {
    frame.x.ticks(((frame.right - frame.left) / 75.0) as usize)
}

fn draw_mark(scene: &mut Scene, mark: &Mark, ink: Ink, place: &PlotArea) {
    match mark {
        Mark::Line(stroke, points) => draw_line(scene, *stroke, points, ink, place),
        Mark::Dots(radius, points) => {
            let points = place.all(points);
            if !points.is_empty() {
                let radius = radius.min(room_for_dots(&points));
                scene.shapes.push(Shape::Dots { points, radius, ink });
            }
        }
        Mark::Area(bounds) => draw_area(scene, bounds, 0.85, ink, place),
        Mark::Band(bounds) => draw_area(scene, bounds, 0.25, ink, place),
        Mark::Whiskers(bounds) => bounds.iter().for_each(|b| draw_whisker(scene, *b, 5.0, ink, place)),
        Mark::Boxes(boxes) => boxes.iter().for_each(|b| draw_box(scene, b, ink, place)),
        Mark::Verticals(places) => places.iter().for_each(|(x, _)| draw_vertical(scene, *x, ink, place)),
    }
}

/// The radius of dots that stand so close: larger ones would run into a blot, as those of a short run on the axis of a long one.
/// Dots above each other may touch.
fn room_for_dots(points: &[(f64, f64)]) -> f64 {
    let (first, last) = extent(points.iter().map(|point| point.0)).unwrap_or_default();
    let apart = (last - first) / (points.len() as f64 - 1.0).max(1.0);
    if apart > 0.0 { (0.75 * apart).max(DOT_MIN) } else { f64::MAX }
}

fn draw_vertical(scene: &mut Scene, x: f64, ink: Ink, place: &PlotArea) {
    let x = place.frame.at(x);
    if x.is_finite() {
        let points = vec![(x, place.top), (x, place.top + place.height)];
        scene.shapes.push(Shape::Line { points, ink, width: 0.8, dashed: true });
    }
}

/// The names of vertical lines beside their upper ends; one that would run into the one before it is left out.
fn name_verticals(scene: &mut Scene, series: &Series, place: &PlotArea) {
    let mut free = f64::NEG_INFINITY;
    let all = series.marks.iter().flat_map(|mark| if let Mark::Verticals(all) = mark { all.as_slice() } else { &[] });
    for (x, name) in all {
        let (x, width) = (place.frame.at(*x) + 4.0, text_width(name, SMALL));
        if x < free || x + width > place.frame.right {
            continue;
        }
        free = x + width + 6.0;
        text(scene, (x, place.top + 12.0), name.clone(), SMALL, Anchor::Start, Ink::Faint);
    }
}

fn draw_area(scene: &mut Scene, bounds: &[(f64, f64, f64)], opacity: f64, ink: Ink, place: &PlotArea) {
    let upper: Vec<_> = bounds.iter().map(|(x, _, high)| (*x, *high)).collect();
    let lower: Vec<_> = bounds.iter().rev().map(|(x, low, _)| (*x, *low)).collect();
    let points = place.all(&[upper, lower].concat());
    if points.len() > 2 {
        scene.shapes.push(Shape::Polygon { points, ink, opacity });
    }
}

/// A line is broken where a value is missing.
fn draw_line(scene: &mut Scene, stroke: Stroke, points: &[(f64, f64)], ink: Ink, place: &PlotArea) {
    let (width, dashed) = match stroke {
        Stroke::Thin => (1.0, false),
        Stroke::Solid => (2.0, false),
        Stroke::Dashed => (1.2, true),
    };
    for run in points.split(|p| place.at(*p).is_none()) {
        let points = place.all(run);
        match points.len() {
            0 => {}
            // A lone value between gaps makes no line.
            1 => scene.shapes.push(Shape::Dots { points, radius: width / 2.0, ink }),
            _ => scene.shapes.push(Shape::Line { points, ink, width, dashed }),
        }
    }
}

fn draw_whisker(scene: &mut Scene, (x, low, high): (f64, f64, f64), cap: f64, ink: Ink, place: &PlotArea) {
    let (Some((x, low)), Some((_, high))) = (place.at((x, low)), place.at((x, high))) else { return };
    for points in [[(x, low), (x, high)], [(x - cap, low), (x + cap, low)], [(x - cap, high), (x + cap, high)]] {
        scene.shapes.push(Shape::Line { points: points.into(), ink, width: 1.5, dashed: false });
    }
}

fn draw_box(scene: &mut Scene, mark: &BoxMark, ink: Ink, place: &PlotArea) {
    let [p05, p25, p50, p75, p95] = mark.percentiles;
    let half = ((place.frame.at(1.0) - place.frame.at(0.0)) * 0.28).min(34.0);
    draw_whisker(scene, (mark.x, p05, p95), half / 2.0, ink, place);
    let x = place.frame.at(mark.x);
    let (top, bottom) = (place.y_at(p75), place.y_at(p25));
    let corners = vec![(x - half, top), (x + half, top), (x + half, bottom), (x - half, bottom)];
    scene.shapes.push(Shape::Polygon { points: corners.clone(), ink: Ink::Paper, opacity: 1.0 });
    scene.shapes.push(Shape::Polygon { points: corners.clone(), ink, opacity: 0.25 });
    let outline = [corners.as_slice(), &corners[..1]].concat();
    scene.shapes.push(Shape::Line { points: outline, ink, width: 1.2, dashed: false });
    let middle = place.y_at(p50);
    let points = vec![(x - half, middle), (x + half, middle)];
    scene.shapes.push(Shape::Line { points, ink, width: 2.2, dashed: false });
    let outliers: Vec<_> = mark.outliers.iter().map(|y| (mark.x, *y)).collect();
    draw_mark(scene, &Mark::Dots(2.5, outliers), ink, place);
}

/// Writes each name beside the last value, moved apart where they would overlap.
fn name_series(scene: &mut Scene, series: &[Series], place: &PlotArea) {
    let named = series.iter().filter(|s| !s.label.is_empty());
    let mut names: Vec<(f64, &Series)> = named.filter_map(|s| Some((last_y(s, place)?, s))).collect();
    names.sort_by(|a, b| a.0.total_cmp(&b.0));
    let wanted: Vec<f64> = names.iter().map(|n| n.0).collect();
    let places = spread(&wanted, place.top + 2.0, place.top + place.height - 2.0, 15.0);
    let x = place.frame.names;
    for (y, (_, series)) in places.into_iter().zip(names) {
        let label = cut(&series.label, SMALL, scene.width - 4.0 - x);
        text(scene, (x, y + 4.5), label, SMALL, Anchor::Start, Ink::Data(series.colour));
    }
}

fn last_y(series: &Series, place: &PlotArea) -> Option<f64> {
    series.marks.iter().find_map(|mark| match mark {
        Mark::Line(_, points) | Mark::Dots(_, points) => points.iter().rev().find_map(|p| place.at(*p)).map(|p| p.1),
        Mark::Area(bounds) => bounds.last().and_then(|(x, low, high)| place.at((*x, (low + high) / 2.0))).map(|p| p.1),
        Mark::Band(_) | Mark::Whiskers(_) | Mark::Boxes(_) | Mark::Verticals(_) => None,
    })
}

/// Sorted places moved apart to at least `gap`, within `low` and `high` while there is room.
fn spread(wanted: &[f64], low: f64, high: f64, gap: f64) -> Vec<f64> {
    let mut places: Vec<f64> = Vec::with_capacity(wanted.len());
    for y in wanted {
        let least = places.last().map_or(low, |last| last + gap);
        places.push(y.max(least));
    }
    let mut most = high;
    for place in places.iter_mut().rev() {
        *place = place.min(most);
        most = *place - gap;
    }
    places
}

/// Tick labels and the label of the x axis. Returns the height of the picture.
pub(crate) fn x_labels(scene: &mut Scene, x: &Axis, frame: &Frame, bottom: f64) -> f64 {
    let ticks = x_ticks(frame);
    let room = (frame.right - frame.left) / ticks.len().max(1) as f64 - 6.0;
    let lines_of = |label: &str| match x.scale {
        Scale::Slots(_) => wrap(label, SMALL, room).into_iter().take(4).collect(),
        _ => vec![label.to_owned()],
    };
    let (mut lines_max, mut free) = (1, f64::NEG_INFINITY);
    scene.shapes.push(Shape::TicksBegin);
    for tick in ticks {
        let lines = lines_of(&tick.label);
        let centre = frame.left + tick.position * (frame.right - frame.left);
        let half = lines.iter().map(|l| text_width(l, SMALL)).fold(0.0, f64::max) / 2.0;
        // A label that would run into the one before it is left out; its grid line stays.
        if centre - half < free {
            continue;
        }
        free = centre + half + 3.0;
        lines_max = lines_max.max(lines.len());
        for (i, line) in lines.into_iter().enumerate() {
            let at = (centre, bottom + 18.0 + i as f64 * LINE_HEIGHT);
            text(scene, at, line, SMALL, Anchor::Middle, Ink::Faint);
        }
    }
    scene.shapes.push(Shape::TicksEnd);
    let y = bottom + 18.0 + (lines_max - usize::from(x.label.is_empty())) as f64 * LINE_HEIGHT + 2.0;
    text(scene, ((frame.left + frame.right) / 2.0, y), x.label.clone(), SMALL, Anchor::Middle, Ink::Text);
    y + 12.0
}

fn draw_bars(scene: &mut Scene, rows: &[String], columns: &[BarColumn], top: f64) -> f64 {
    const ROW: f64 = 24.0;
    let names = rows.iter().map(|r| text_width(r, SMALL)).fold(0.0, f64::max).min(scene.width * 0.34);
    let width = (scene.width - 2.0 * EDGE - names - 6.0) / columns.len().max(1) as f64;
    let head = column_heads(scene, columns, EDGE + names + 16.0, width, top);
    let first = top + head + 6.0;
    for (i, row) in rows.iter().enumerate() {
        let y = first + i as f64 * ROW;
        text(scene, (EDGE, y + 16.0), cut(row, SMALL, names), SMALL, Anchor::Start, Ink::Text);
        rule(scene, (EDGE, y + ROW - 0.5), (scene.width - EDGE, y + ROW - 0.5), Ink::Grid);
        for (c, column) in columns.iter().enumerate() {
            let x = EDGE + names + 16.0 + c as f64 * width;
            draw_bar(scene, column, i, (x, y), width - 16.0);
        }
    }
    first + rows.len() as f64 * ROW + 12.0
}

fn column_heads(scene: &mut Scene, columns: &[BarColumn], left: f64, width: f64, top: f64) -> f64 {
    let heads: Vec<Vec<String>> = columns.iter().map(|c| wrap(&c.label, SMALL, width - 12.0)).collect();
    let lines = heads.iter().map(Vec::len).max().unwrap_or(0);
    for (c, head) in heads.into_iter().enumerate() {
        for (i, line) in head.into_iter().enumerate() {
            let at = (left + c as f64 * width, top + (i + 1) as f64 * LINE_HEIGHT);
            text(scene, at, line, SMALL, Anchor::Start, Ink::Faint);
        }
    }
    lines as f64 * LINE_HEIGHT
}

/// The bar takes what its longest number leaves, so that a number stands beside its bar and never on it.
fn draw_bar(scene: &mut Scene, column: &BarColumn, row: usize, (x, y): (f64, f64), width: f64) {
    let known = || column.values.iter().flatten();
    let greatest = known().map(|v| v.0).fold(0.0, f64::max);
    let number = known().map(|v| text_width(&v.1, SMALL)).fold(0.0, f64::max) + 6.0;
    let at = (x, y + 16.0);
    let Some(Some((value, label))) = column.values.get(row) else {
        return text(scene, at, "not measured".to_owned(), SMALL, Anchor::Start, Ink::Faint);
    };
    let length = if greatest > 0.0 { (width - number).max(0.0) * (value / greatest).max(0.0) } else { 0.0 };
    let bar = Shape::Rect { x, y: y + 5.0, width: length, height: 14.0, ink: Ink::Data(column.colour), opacity: 1.0 };
    scene.shapes.push(bar);
    text(scene, (x + length + 5.0, at.1), label.clone(), SMALL, Anchor::Start, Ink::Text);
}

pub(crate) fn text(scene: &mut Scene, (x, y): (f64, f64), text: String, size: u32, anchor: Anchor, ink: Ink) {
    if !text.is_empty() {
        scene.shapes.push(Shape::Text { x, y, text, size, anchor, ink, bold: false });
    }
}

pub(crate) fn bold(scene: &mut Scene, (x, y): (f64, f64), text: String, size: u32) {
    scene.shapes.push(Shape::Text { x, y, text, size, anchor: Anchor::Start, ink: Ink::Text, bold: true });
}

fn rule(scene: &mut Scene, from: (f64, f64), to: (f64, f64), ink: Ink) {
    scene.shapes.push(Shape::Line { points: vec![from, to], ink, width: 1.0, dashed: false });
}

fn x_extent(panels: &[Panel]) -> Option<(f64, f64)> {
    extent(panels.iter().flat_map(|p| &p.series).flat_map(|s| &s.marks).flat_map(coordinates).map(|c| c.0))
}

/// Least and greatest y of a panel; of those above 0 on a logarithmic scale.
fn y_extent(panel: &Panel) -> Option<(f64, f64)> {
    let is_log = matches!(panel.y.scale, Scale::Log | Scale::LogAt(_));
    let ys = panel.series.iter().flat_map(|s| &s.marks).flat_map(coordinates).map(|c| c.1);
    extent(ys.filter(|y| !is_log || *y > 0.0))
}

pub(crate) fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.filter(|v| v.is_finite());
    finite.fold(None, |range, v| Some(range.map_or((v, v), |(low, high): (f64, f64)| (low.min(v), high.max(v)))))
}

pub(crate) fn coordinates(mark: &Mark) -> Vec<(f64, f64)> {
    match mark {
        Mark::Line(_, points) | Mark::Dots(_, points) => points.clone(),
        Mark::Area(bounds) | Mark::Band(bounds) | Mark::Whiskers(bounds) => {
            bounds.iter().flat_map(|(x, low, high)| [(*x, *low), (*x, *high)]).collect()
        }
        Mark::Boxes(boxes) => {
            let values = |b: &BoxMark| b.percentiles.iter().chain(&b.outliers).map(|y| (b.x, *y)).collect::<Vec<_>>();
            boxes.iter().flat_map(values).collect()
        }
        Mark::Verticals(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Colour;

    fn figure(panels: Vec<Panel>) -> Figure {
        let body = Body::Panels { x: Axis::seconds((0.0, 3.0)), panels };
        Figure { id: "f".into(), title: "T".into(), caption: "n = 3".into(), body }
    }

    fn panel(points: Vec<(f64, f64)>, label: &str) -> Panel {
        let marks = vec![Mark::Line(Stroke::Solid, points)];
        let series = vec![Series { label: label.into(), colour: Colour::Blue, marks }];
        Panel { title: String::new(), note: String::new(), y: Axis::ops_per_s(), height: 100.0, series, shades: vec![] }
    }

    fn lines<'a>(scene: &'a Scene) -> Vec<&'a Vec<(f64, f64)>> {
        let data = |s: &'a Shape| match s {
            Shape::Line { points, ink: Ink::Data(_), .. } => Some(points),
            _ => None,
        };
        scene.shapes.iter().filter_map(data).collect()
    }

    #[test]
    fn panels_share_their_left_and_right_edges_whatever_their_labels() {
        let short = panel(vec![(0.0, 1.0), (3.0, 2.0)], "");
        let long = panel(vec![(0.0, 1e5), (3.0, 123_456.0)], "a long name");
        let scene = lay_out(&figure(vec![short, long]), WIDE);
        let lines = lines(&scene);
        assert_eq!((lines[0][0].0, lines[0][1].0), (lines[1][0].0, lines[1][1].0));
    }

    #[test]
    fn the_label_of_the_axis_stands_clear_of_a_bold_title() {
        let panel = Panel { title: "sqlite oltp (partial, indicative)".into(), ..panel(vec![(0.0, 1.0)], "") };
        let label = panel.y.label.clone();
        let scene = lay_out(&figure(vec![panel]), WIDE);
        let starts = |shape: &Shape| matches!(shape, Shape::Text { text, .. } if *text == label);
        let Some(Shape::Text { x, .. }) = scene.shapes.iter().find(|shape| starts(shape)) else { panic!("no label") };
        // 255 units is what a browser drew the title with, in DejaVu Sans Bold.
        assert!(*x >= EDGE + 255.0 + 8.0, "{x}");
    }

    #[test]
    fn a_caption_keeps_what_belongs_together_on_one_line() {
        let caption = format!("n = 3 intervals of 1 s per point; {}2 CPUs; disk vda", "cache 64 MiB; ".repeat(12));
        let scene = lay_out(&Figure { caption, ..figure(vec![panel(vec![(0.0, 1.0)], "")]) }, WIDE);
        let faint = |shape: &Shape| match shape {
            Shape::Text { text, ink: Ink::Faint, size: SMALL, .. } if text.ends_with(';') => Some(text.clone()),
            _ => None,
        };
        let lines: Vec<String> = scene.shapes.iter().filter_map(faint).collect();
        assert!(lines.len() > 1 && lines[1..].iter().all(|line| line.starts_with("cache 64 MiB;")), "{lines:?}");
    }

    #[test]
    fn a_missing_value_breaks_the_line() {
        let points = vec![(0.0, 1.0), (0.5, 1.0), (1.0, f64::NAN), (2.0, 1.0), (3.0, 1.0)];
        assert_eq!(lines(&lay_out(&figure(vec![panel(points, "")]), WIDE)).len(), 2);
    }

    #[test]
    fn a_lone_value_between_gaps_is_a_dot() {
        let points = vec![(0.0, f64::NAN), (1.0, 1.0), (2.0, f64::NAN)];
        let scene = lay_out(&figure(vec![panel(points, "")]), WIDE);
        assert!(lines(&scene).is_empty());
        assert!(scene.shapes.iter().any(|s| matches!(s, Shape::Dots { points, .. } if points.len() == 1)));
    }

    #[test]
    fn dots_of_a_short_run_on_the_axis_of_a_long_one_do_not_run_into_a_blot() {
        let dotted = |seconds: f64, count: u32| {
            let dots = (0..count).map(|nth| (seconds * f64::from(nth) / f64::from(count), 1.0)).collect();
            let series = Series { label: String::new(), colour: Colour::Blue, marks: vec![Mark::Dots(3.0, dots)] };
            Panel { series: vec![series], ..panel(vec![], "") }
        };
        let scene = lay_out(&figure(vec![dotted(0.15, 100), dotted(3.0, 100)]), WIDE);
        let radius = |s: &Shape| if let Shape::Dots { radius, .. } = s { Some(*radius) } else { None };
        assert_eq!(scene.shapes.iter().filter_map(radius).collect::<Vec<_>>(), [DOT_MIN, 3.0]);
        assert_eq!(room_for_dots(&[(1.0, 5.0), (1.0, 9.0)]), f64::MAX);
    }

    #[test]
    fn names_are_moved_apart_and_stay_in_the_panel() {
        assert_eq!(spread(&[50.0, 51.0, 52.0], 0.0, 100.0, 15.0), [50.0, 65.0, 80.0]);
        assert_eq!(spread(&[98.0, 99.0, 100.0], 0.0, 100.0, 15.0), [70.0, 85.0, 100.0]);
    }

    #[test]
    fn nothing_is_drawn_outside_the_picture() {
        let scene = lay_out(&figure(vec![panel(vec![(0.0, 1.0), (3.0, 2.0)], "name")]), WIDE);
        for shape in &scene.shapes {
            if let Shape::Text { x, y, .. } = shape {
                assert!((0.0..=WIDE).contains(x) && (0.0..=scene.height).contains(y), "{shape:?}");
            }
        }
    }
}
