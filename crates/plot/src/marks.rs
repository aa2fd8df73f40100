//! The marks of a series, drawn into a plot area.
//!
//! In: series and their plot area. Out: shapes in the scene, clipped to the area. Limits: dots that would run into each other become
//! smaller, down to hardly more than the line that joins them.

use crate::figure::{BoxMark, DataSeries, Mark, Pattern, SeriesStyle, Shade, Stroke};
use crate::frame::{PlotArea, SMALL, draw_text, finite_range};
use crate::heat::draw_heat;
use crate::scene::{Anchor, GroupMark, Ink, SOLID, Scene, SceneShape};
use crate::text::text_width;

/// Hardly more than the line that joins them.
const DOT_MIN: f64 = 0.8;
/// The line of a hollow dot.
const RING: f64 = 1.6;
/// A reference, whatever the pattern of its series.
const DASHED: &[f64] = &[6.0, 4.0];

/// What the series of a figure that are shown and hidden together have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesKey {
    /// The name, which is next to the last value.
    Label,
    /// The style, which the legend names.
    Style,
}

impl SeriesKey {
    /// That of a series with this name and style.
    pub fn of(self, label: &str, style: SeriesStyle) -> String {
        match self {
            SeriesKey::Label => label.to_owned(),
            SeriesKey::Style => {
                let dashes: Vec<String> = dash_of(style.pattern).iter().map(f64::to_string).collect();
                let (red, green, blue) = Ink::of_style(style).rgb();
                format!("{red:02x}{green:02x}{blue:02x} {}", dashes.join(" ")).trim_end().to_owned()
            }
        }
    }
}

/// All marks of all series, and the names of their vertical lines.
pub fn draw_all_series(scene: &mut Scene, all: &[DataSeries], area: &PlotArea, key: SeriesKey) {
    // The clip leaves room for a dot on the edge of the plot.
    scene.shapes.push(SceneShape::PlotBegin {
        x: area.frame.left - 5.0,
        y: area.top - 5.0,
        width: area.frame.width() + 10.0,
        height: area.height + 10.0,
    });
    for series in all {
        scene.shapes.push(SceneShape::GroupBegin(GroupMark::Series(key.of(&series.label, series.style))));
        series.marks.iter().for_each(|mark| draw_mark(scene, mark, series.style, area));
        scene.shapes.push(SceneShape::GroupEnd);
    }
    scene.shapes.push(SceneShape::PlotEnd);
    all.iter().for_each(|series| name_verticals(scene, series, area));
}

/// The shades of a panel, a group of their own below everything else.
pub fn draw_shades(scene: &mut Scene, shades: &[Shade], area: &PlotArea) {
    scene.shapes.push(SceneShape::GroupBegin(GroupMark::Shades));
    shades.iter().for_each(|shade| draw_shade(scene, shade, area));
    scene.shapes.push(SceneShape::GroupEnd);
}

/// A shorter stretch could not be seen, nor a single moment.
const SHADE_MIN: f64 = 1.5;

/// The part of a shaded stretch that lies in the area, over its whole height.
fn draw_shade(scene: &mut Scene, shade: &Shade, area: &PlotArea) {
    let (left, right) = (area.frame.left, area.frame.right);
    let (from, to) = (area.frame.x_at(shade.from), area.frame.x_at(shade.to));
    // Neither is a place that is no number in the area.
    if from <= right && to >= left {
        let x = from.max(left).min(right - SHADE_MIN);
        let (width, ink) = ((to.min(right) - x).max(SHADE_MIN), Ink::Shade(shade.tint));
        scene.shapes.push(SceneShape::Rect { x, y: area.top, width, height: area.height, ink, opacity: 1.0 });
    }
}

fn draw_mark(scene: &mut Scene, mark: &Mark, style: SeriesStyle, area: &PlotArea) {
    match mark {
        Mark::Line(stroke, points) => draw_line(scene, *stroke, points, style, area),
        Mark::Dots(radius, points) => draw_dots(scene, *radius, points, style, area),
        Mark::Rings(radius, points) => draw_rings(scene, *radius, points, style, area),
        Mark::Area(bounds) => draw_band(scene, bounds, 0.85, style, area),
        Mark::Band(bounds) => draw_band(scene, bounds, 0.25, style, area),
        Mark::Whiskers(bounds) => bounds.iter().for_each(|b| draw_whisker(scene, *b, 5.0, style, area)),
        Mark::Boxes(boxes) => boxes.iter().for_each(|b| draw_box(scene, b, style, area)),
        Mark::Verticals(places) => places.iter().for_each(|(x, _)| draw_vertical(scene, *x, style, area)),
        Mark::Fine(_) => {}
        Mark::Heat(map) => draw_heat(scene, map, area),
    }
}

/// The dashes of a line that is the thing to read.
pub fn dash_of(pattern: Pattern) -> &'static [f64] {
    match pattern {
        Pattern::Plain => SOLID,
        Pattern::Dotted => &[2.0, 3.0],
        Pattern::Chain => &[9.0, 3.0, 2.0, 3.0],
        Pattern::LongDash => &[14.0, 5.0],
    }
}

/// A missing value breaks the line.
fn draw_line(scene: &mut Scene, stroke: Stroke, points: &[(f64, f64)], style: SeriesStyle, area: &PlotArea) {
    let (width, dash) = match stroke {
        Stroke::Thin => (1.0, dash_of(style.pattern)),
        Stroke::Solid => (2.0, dash_of(style.pattern)),
        Stroke::Dashed => (1.2, DASHED),
    };
    let ink = Ink::of_style(style);
    for run in points.split(|p| area.place_of(*p).is_none()) {
        let points = area.places_of(run);
        match points.len() {
            0 => {}
            // A lone value between gaps makes no line.
            1 => scene.shapes.push(SceneShape::Dots { points, radius: width / 2.0, ink }),
            _ => scene.shapes.push(SceneShape::Line { points, ink, width, dash }),
        }
    }
}

fn draw_dots(scene: &mut Scene, radius: f64, points: &[(f64, f64)], style: SeriesStyle, area: &PlotArea) {
    let points = area.places_of(points);
    if !points.is_empty() {
        let radius = radius.min(room_for_dots(&points));
        push_dots(scene, points, radius, Ink::of_style(style), style.pattern);
    }
}

fn draw_rings(scene: &mut Scene, radius: f64, points: &[(f64, f64)], style: SeriesStyle, area: &PlotArea) {
    let points = area.places_of(points);
    if !points.is_empty() {
        push_dots(scene, points.clone(), radius, Ink::of_style(style), style.pattern);
        push_dots(scene, points, (radius - RING).max(0.5), Ink::Paper, style.pattern);
    }
}

/// Dots in the shape of their pattern.
pub fn push_dots(scene: &mut Scene, points: Vec<(f64, f64)>, radius: f64, ink: Ink, pattern: Pattern) {
    let corners: &[(f64, f64)] = match pattern {
        Pattern::Plain => return scene.shapes.push(SceneShape::Dots { points, radius, ink }),
        Pattern::Dotted => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        Pattern::Chain => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
        Pattern::LongDash => &[(0.0, -1.3), (1.2, 0.9), (-1.2, 0.9)],
    };
    for (x, y) in points {
        let points = corners.iter().map(|(dx, dy)| (x + dx * radius, y + dy * radius)).collect();
        scene.shapes.push(SceneShape::Polygon { points, ink, opacity: 1.0 });
    }
}

/// The radius at which dots do not run into each other, as those of a short run on the axis of a long one would. Dots above each
/// other may touch.
fn room_for_dots(points: &[(f64, f64)]) -> f64 {
    let (first, last) = finite_range(points.iter().map(|point| point.0)).unwrap_or_default();
    let apart = (last - first) / (points.len() as f64 - 1.0).max(1.0);
    if apart > 0.0 { (0.75 * apart).max(DOT_MIN) } else { f64::MAX }
}

fn draw_vertical(scene: &mut Scene, x: f64, style: SeriesStyle, area: &PlotArea) {
    let x = area.frame.x_at(x);
    if x.is_finite() {
        let points = vec![(x, area.top), (x, area.bottom())];
        scene.shapes.push(SceneShape::Line { points, ink: Ink::of_style(style), width: 0.8, dash: DASHED });
    }
}

/// The names of vertical lines, next to their upper ends; a name that would run into the one before it is left out.
fn name_verticals(scene: &mut Scene, series: &DataSeries, area: &PlotArea) {
    let mut free = f64::NEG_INFINITY;
    let all = series.marks.iter().flat_map(|mark| if let Mark::Verticals(all) = mark { all.as_slice() } else { &[] });
    for (x, name) in all {
        let (x, width) = (area.frame.x_at(*x) + 4.0, text_width(name, SMALL));
        if x < free || x + width > area.frame.right {
            continue;
        }
        free = x + width + 6.0;
        draw_text(scene, (x, area.top + 12.0), name.clone(), SMALL, Anchor::Start, Ink::Faint);
    }
}

fn draw_band(scene: &mut Scene, bounds: &[(f64, f64, f64)], opacity: f64, style: SeriesStyle, area: &PlotArea) {
    // One outline: along the upper bounds, and back along the lower ones.
    let upper: Vec<_> = bounds.iter().map(|(x, _, high)| (*x, *high)).collect();
    let lower: Vec<_> = bounds.iter().rev().map(|(x, low, _)| (*x, *low)).collect();
    let points = area.places_of(&[upper, lower].concat());
    if points.len() > 2 {
        scene.shapes.push(SceneShape::Polygon { points, ink: Ink::of_style(style), opacity });
    }
}

fn draw_whisker(scene: &mut Scene, (x, low, high): (f64, f64, f64), cap: f64, style: SeriesStyle, area: &PlotArea) {
    let (Some((x, low)), Some((_, high))) = (area.place_of((x, low)), area.place_of((x, high))) else { return };
    for points in [[(x, low), (x, high)], [(x - cap, low), (x + cap, low)], [(x - cap, high), (x + cap, high)]] {
        push_outline(scene, points.into(), 1.5, style);
    }
}

fn draw_box(scene: &mut Scene, mark: &BoxMark, style: SeriesStyle, area: &PlotArea) {
    let [p05, p25, p50, p75, p95] = mark.percentiles;
    let half = ((area.frame.x_at(1.0) - area.frame.x_at(0.0)) * 0.28).min(34.0);
    draw_whisker(scene, (mark.x, p05, p95), half / 2.0, style, area);
    let (x, ink) = (area.frame.x_at(mark.x), Ink::of_style(style));
    let (top, bottom) = (area.y_at(p75), area.y_at(p25));
    let corners = vec![(x - half, top), (x + half, top), (x + half, bottom), (x - half, bottom)];
    // Paper hides the whisker and the grid behind the box.
    scene.shapes.push(SceneShape::Polygon { points: corners.clone(), ink: Ink::Paper, opacity: 1.0 });
    if !mark.is_hollow {
        scene.shapes.push(SceneShape::Polygon { points: corners.clone(), ink, opacity: 0.25 });
    }
    push_outline(scene, [corners.as_slice(), &corners[..1]].concat(), 1.2, style);
    let middle = area.y_at(p50);
    push_outline(scene, vec![(x - half, middle), (x + half, middle)], 2.2, style);
    let outliers: Vec<_> = mark.outliers.iter().map(|y| (mark.x, *y)).collect();
    if mark.is_hollow {
        draw_rings(scene, 2.5, &outliers, style, area)
    } else {
        draw_dots(scene, 2.5, &outliers, style, area)
    }
}

fn push_outline(scene: &mut Scene, points: Vec<(f64, f64)>, width: f64, style: SeriesStyle) {
    scene.shapes.push(SceneShape::Line { points, ink: Ink::of_style(style), width, dash: SOLID });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, AxisUnit, Colour};
    use crate::frame::Frame;
    use crate::scale::ScaledAxis;

    /// What `marks` of the series with that index become in an area of 100 by 100.
    fn drawn(marks: Vec<Mark>, nth: usize) -> Scene {
        let (x, y) = (Axis::seconds("it began", (0.0, 10.0)), Axis::from_zero("y", AxisUnit::Count));
        let frame = Frame { x: ScaledAxis::for_x(&x, None), left: 0.0, right: 100.0, names: 100.0 };
        let y = ScaledAxis::for_y(&y, Some((0.0, 10.0)));
        let area = PlotArea { frame: &frame, y: &y, top: 0.0, height: 100.0 };
        let mut scene = Scene::default();
        draw_all_series(&mut scene, &[DataSeries::unnamed(SeriesStyle::nth(nth), marks)], &area, SeriesKey::Label);
        scene
    }

    #[test]
    fn a_hollow_dot_has_paper_inside_a_ring_of_its_colour() {
        let scene = drawn(vec![Mark::Rings(4.0, vec![(1.0, 2.0)])], 0);
        let dots =
            |s: &SceneShape| if let SceneShape::Dots { radius, ink, .. } = s { Some((*ink, *radius)) } else { None };
        let found: Vec<(Ink, f64)> = scene.shapes.iter().filter_map(dots).collect();
        assert_eq!(found, [(Ink::Data(Colour::Blue), 4.0), (Ink::Paper, 4.0 - RING)]);
    }

    #[test]
    fn series_of_one_colour_differ_in_their_dashes_and_in_the_shape_of_their_dots() {
        let marks = || vec![Mark::Line(Stroke::Solid, vec![(0.0, 1.0), (9.0, 2.0)]), Mark::Dots(3.0, vec![(5.0, 5.0)])];
        let looks = |nth: usize| -> (Vec<f64>, usize) {
            let scene = drawn(marks(), nth);
            let dash = scene
                .shapes
                .iter()
                .find_map(|s| if let SceneShape::Line { dash, .. } = s { Some(dash.to_vec()) } else { None });
            let corners = scene
                .shapes
                .iter()
                .find_map(|s| if let SceneShape::Polygon { points, .. } = s { Some(points.len()) } else { None });
            (dash.expect("a line"), corners.unwrap_or(0))
        };
        assert_eq!(looks(0), (vec![], 0));
        assert_eq!(looks(7), (vec![2.0, 3.0], 4));
        assert_eq!(looks(21), (vec![14.0, 5.0], 3));
    }

    #[test]
    fn dots_that_are_close_become_small_and_dots_above_each_other_stay() {
        assert_eq!(room_for_dots(&[(1.0, 5.0), (1.0, 9.0)]), f64::MAX);
        assert_eq!(room_for_dots(&[(1.0, 5.0), (1.1, 9.0), (1.2, 5.0)]), DOT_MIN);
    }

    #[test]
    fn a_box_that_is_not_to_be_trusted_is_an_outline() {
        let boxed = |is_hollow| {
            let mark = BoxMark { x: 2.0, percentiles: [1.0, 2.0, 3.0, 4.0, 5.0], outliers: vec![9.0], is_hollow };
            let scene = drawn(vec![Mark::Boxes(vec![mark])], 0);
            scene.shapes.iter().filter(|s| matches!(s, SceneShape::Polygon { ink: Ink::Data(_), .. })).count()
        };
        assert_eq!((boxed(false), boxed(true)), (1, 0));
    }
}
