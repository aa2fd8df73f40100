//! Positions of values in a picture: the frame that panels share, the plot area of one panel, and its ticks, rules and labels.
//!
//! In: scaled axes and edges in the units of a scene. Out: positions, and shapes in the scene.
//! Limits: a label of the x axis that would run into its neighbour is left out; its grid line stays.

use crate::figure::{Axis, AxisScale, HeatMap, Mark};
use crate::scale::{AxisTick, ScaledAxis};
use crate::scene::{Anchor, GroupMark, Ink, Scene, SceneShape};
use crate::text::{text_width, wrap_to};

pub const EDGE: f64 = 14.0;
/// Size of the headings within a picture.
pub const TEXT: u32 = 15;
/// Size of all other text.
pub const SMALL: u32 = 14;
/// From one line of text to the next.
pub const LINE_HEIGHT: f64 = 18.0;
/// The most lines of a tick's label.
const TICK_LINES_MAX: usize = 6;

/// What all panels above each other share.
pub struct Frame<'a> {
    pub x: ScaledAxis<'a>,
    /// Left edge of the plots.
    pub left: f64,
    /// Right edge of the plots.
    pub right: f64,
    /// Where the names of series begin.
    pub names: f64,
}

impl Frame<'_> {
    /// The place of a value of the x axis.
    pub fn x_at(&self, value: f64) -> f64 {
        self.left + self.x.position(value) * self.width()
    }

    /// The width of the plots.
    pub fn width(&self) -> f64 {
        self.right - self.left
    }

    fn x_ticks(&self) -> Vec<AxisTick> {
        self.x.ticks((self.width() / 75.0) as usize)
    }
}

/// The area in which the values of one panel are drawn.
pub struct PlotArea<'a> {
    /// The frame that it shares with others.
    pub frame: &'a Frame<'a>,
    pub y: &'a ScaledAxis<'a>,
    pub top: f64,
    pub height: f64,
}

impl PlotArea<'_> {
    /// The place of a value of the y axis.
    pub fn y_at(&self, value: f64) -> f64 {
        self.top + self.height * (1.0 - self.y.position(value))
    }

    /// `None` if the value is not on the axis at all: not finite, or not above 0 on a logarithmic scale.
    pub fn place_of(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        let place = (self.frame.x_at(x), self.y_at(y));
        (place.0.is_finite() && place.1.is_finite()).then_some(place)
    }

    /// The places of all points that have one.
    pub fn places_of(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        points.iter().filter_map(|p| self.place_of(*p)).collect()
    }

    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// Between the right edge of a plot and the numbers of its second scale.
pub const SECOND_GAP: f64 = 7.0;

/// About one tick every 26 units.
pub fn tick_count(height: f64) -> usize {
    ((height / 26.0) as usize).clamp(2, 8)
}

/// Rules, the numbers of the y axis and those of its second scale.
pub fn draw_grid(scene: &mut Scene, area: &PlotArea) {
    scene.shapes.push(SceneShape::GroupBegin(GroupMark::Levels));
    draw_level_rules(scene, area);
    draw_y_labels(scene, area);
    draw_second_labels(scene, area);
    scene.shapes.push(SceneShape::GroupEnd);
    draw_upright_rules(scene, area);
}

/// The numbers of the second scale on the right, if there is one.
pub fn draw_second_labels(scene: &mut Scene, area: &PlotArea) {
    let right = area.frame.right;
    let ticks = area.y.second_ticks(tick_count(area.height));
    let height_of = |tick: &AxisTick| area.bottom() - tick.position * area.height;
    let marks = ticks.iter().map(height_of).map(|y| [(right, y), (right + 4.0, y)]);
    push_rules(scene, marks.collect(), Ink::Axis);
    for tick in ticks {
        let y = height_of(&tick);
        draw_text(scene, (right + SECOND_GAP, y + 4.5), tick.label, SMALL, Anchor::Start, Ink::Faint);
    }
}

/// The lines that guide the eye from the ticks of both axes.
pub fn draw_rules(scene: &mut Scene, area: &PlotArea) {
    draw_level_rules(scene, area);
    draw_upright_rules(scene, area);
}

fn draw_level_rules(scene: &mut Scene, area: &PlotArea) {
    let (left, right, bottom) = (area.frame.left, area.frame.right, area.bottom());
    let heights = area.y.ticks(tick_count(area.height)).into_iter().map(|tick| bottom - tick.position * area.height);
    push_rules(scene, heights.map(|y| [(left, y), (right, y)]).collect(), Ink::Grid);
}

/// Those of the x axis, and the axis itself.
fn draw_upright_rules(scene: &mut Scene, area: &PlotArea) {
    let (left, right, bottom) = (area.frame.left, area.frame.right, area.bottom());
    let places = area.frame.x_ticks().into_iter().map(|tick| left + tick.position * area.frame.width());
    scene.shapes.push(SceneShape::TicksBegin);
    push_rules(scene, places.map(|x| [(x, area.top), (x, bottom)]).collect(), Ink::Grid);
    scene.shapes.push(SceneShape::TicksEnd);
    draw_rule(scene, (left, bottom), (right, bottom), Ink::Axis);
}

/// The numbers of the y axis, left of it.
pub fn draw_y_labels(scene: &mut Scene, area: &PlotArea) {
    for tick in area.y.ticks(tick_count(area.height)) {
        let y = area.top + area.height * (1.0 - tick.position);
        draw_text(scene, (area.frame.left - 7.0, y + 4.5), tick.label, SMALL, Anchor::End, Ink::Faint);
    }
}

/// AxisTick labels and the label of the x axis. Returns the height of the picture.
pub fn draw_x_labels(scene: &mut Scene, x: &Axis, frame: &Frame, bottom: f64) -> f64 {
    let ticks = frame.x_ticks();
    let room = frame.width() / ticks.len().max(1) as f64 - 6.0;
    let (mut lines_max, mut free) = (1, f64::NEG_INFINITY);
    scene.shapes.push(SceneShape::TicksBegin);
    for tick in ticks {
        let lines = match x.scale {
            AxisScale::Slots(_) => wrap_to(&tick.label, SMALL, room, TICK_LINES_MAX),
            _ => vec![tick.label],
        };
        let centre = frame.left + tick.position * frame.width();
        let half = lines.iter().map(|l| text_width(l, SMALL)).fold(0.0, f64::max) / 2.0;
        // A label that would touch the one before it is left out: its grid line stays.
        if centre - half < free {
            continue;
        }
        free = centre + half + 3.0;
        lines_max = lines_max.max(lines.len());
        for (i, line) in lines.into_iter().enumerate() {
            let at = (centre, bottom + 18.0 + i as f64 * LINE_HEIGHT);
            draw_text(scene, at, line, SMALL, Anchor::Middle, Ink::Faint);
        }
    }
    scene.shapes.push(SceneShape::TicksEnd);
    let y = bottom + 18.0 + (lines_max - usize::from(x.label.is_empty())) as f64 * LINE_HEIGHT + 2.0;
    let middle = (frame.left + frame.right) / 2.0;
    draw_text(scene, (middle, y), x.label.clone(), SMALL, Anchor::Middle, Ink::Text);
    y + 12.0
}

/// Text at a place; nothing if it is empty.
pub fn draw_text(scene: &mut Scene, (x, y): (f64, f64), text: String, size: u32, anchor: Anchor, ink: Ink) {
    if !text.is_empty() {
        scene.shapes.push(SceneShape::Text { x, y, text, size, anchor, ink, bold: false });
    }
}

/// Bold text that begins at a place.
pub fn draw_bold(scene: &mut Scene, (x, y): (f64, f64), text: String, size: u32) {
    scene.shapes.push(SceneShape::Text { x, y, text, size, anchor: Anchor::Start, ink: Ink::Text, bold: true });
}

pub fn draw_rule(scene: &mut Scene, from: (f64, f64), to: (f64, f64), ink: Ink) {
    push_rules(scene, vec![[from, to]], ink);
}

/// Hairlines, which are one shape: there are so many that a shape for each would be half of a page.
fn push_rules(scene: &mut Scene, lines: Vec<[(f64, f64); 2]>, ink: Ink) {
    if !lines.is_empty() {
        scene.shapes.push(SceneShape::Rules { lines, ink });
    }
}

/// The least and the greatest finite value.
pub fn finite_range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.filter(|v| v.is_finite());
    finite.fold(None, |range, v| Some(range.map_or((v, v), |(low, high): (f64, f64)| (low.min(v), high.max(v)))))
}

/// Least and greatest x of `marks`.
pub fn x_extent<'a>(marks: impl Iterator<Item = &'a Mark>) -> Option<(f64, f64)> {
    finite_range(marks.flat_map(mark_points).map(|point| point.0))
}

/// Least and greatest y of `marks`; of those above 0 on a logarithmic scale.
pub fn y_extent<'a>(axis: &Axis, marks: impl Iterator<Item = &'a Mark>) -> Option<(f64, f64)> {
    let is_log = matches!(axis.scale, AxisScale::Log | AxisScale::LogAt(_));
    finite_range(marks.flat_map(mark_points).map(|point| point.1).filter(|y| !is_log || *y > 0.0))
}

/// All places of a mark that widen an axis.
pub fn mark_points(mark: &Mark) -> Vec<(f64, f64)> {
    match mark {
        Mark::Line(_, points) | Mark::Dots(_, points) | Mark::Rings(_, points) => points.clone(),
        Mark::Area(bounds) | Mark::Band(bounds) | Mark::Whiskers(bounds) => {
            bounds.iter().flat_map(|(x, low, high)| [(*x, *low), (*x, *high)]).collect()
        }
        Mark::Boxes(boxes) => {
            boxes.iter().flat_map(|b| b.percentiles.iter().chain(&b.outliers).map(move |y| (b.x, *y))).collect()
        }
        // What is drawn later must not move what is drawn now.
        Mark::Verticals(_) | Mark::Fine(_) => Vec::new(),
        Mark::Heat(map) => heat_corners(map),
    }
}

/// The lower left and the upper right corner of a heat map.
fn heat_corners(map: &HeatMap) -> Vec<(f64, f64)> {
    let ends = map.columns.first().zip(map.columns.last()).map(|(first, last)| (first.from, last.to));
    let rows = map.row_ends.first().zip(map.row_ends.last());
    ends.zip(rows).map_or(Vec::new(), |((left, right), (low, high))| vec![(left, *low), (right, *high)])
}
