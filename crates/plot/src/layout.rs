//! The layout of a picture: title and caption on top, panels below each other with aligned left and right edges, the name of each
//! series next to its last value.
//!
//! In: a figure and a width. Out: a scene, as high as it needs. Limits: names on the right take at most a third of the width;
//! a note that has no room next to a panel's title is left out.

use crate::bars::draw_bars;
use crate::figure::{Axis, AxisScale, DataSeries, Figure, FigureBody, Mark, Panel, SeriesStyle};
use crate::flame::draw_flames;
use crate::frame::{
    EDGE, Frame, LINE_HEIGHT, PlotArea, SECOND_GAP, SMALL, TEXT, draw_bold, draw_grid, draw_text, draw_x_labels,
    tick_count, x_extent, y_extent,
};
use crate::grid::draw_multiples;
use crate::heat::draw_legend;
use crate::labels::fit_labels;
use crate::marks::{SeriesKey, draw_all_series, draw_shades};
use crate::scale::ScaledAxis;
use crate::scene::{Anchor, GroupMark, Ink, PanelPlace, Scene, SceneShape, TimeAxis};
use crate::stacks::draw_stacks;
use crate::strips::draw_strips;
use crate::text::{BOLD, FIRM_SPACE, bold_width, ruler, text_width, wrap_to};

/// Fits a page and half a wide screen.
pub const WIDE: f64 = 760.0;
/// Fits a phone, with text as large as that around it.
pub const NARROW: f64 = 440.0;
const TITLE: u32 = 18;
/// Longer titles and captions are cut.
const TITLE_LINES_MAX: usize = 4;
const CAPTION_LINES_MAX: usize = 14;
/// The heading of a panel.
const PANEL_LINES_MAX: usize = 3;
/// From one series name to the next.
const NAME_HEIGHT: f64 = 15.0;

/// Fits the whole width of a page. Three small multiples side by side still have room for their ticks.
pub const EXTRA_WIDE: f64 = 1060.0;

/// How wide `figure` is if there is room.
pub fn width_of(figure: &Figure) -> f64 {
    match &figure.body {
        FigureBody::Grid { columns, .. } if columns.len() > 2 => EXTRA_WIDE,
        FigureBody::Strips { .. } => EXTRA_WIDE,
        _ => WIDE,
    }
}

/// Lays out `figure`, `width` wide, with the conditions at its foot.
pub fn lay_out(figure: &Figure, width: f64) -> Scene {
    let mut scene = lay_out_for_page(figure, width);
    draw_conditions(&mut scene, &figure.conditions);
    let height = scene.height;
    if let Some(SceneShape::Rect { height: of_paper, .. }) = scene.shapes.first_mut() {
        *of_paper = height;
    }
    scene
}

/// Lays out `figure`, `width` wide, for a page that has the conditions of its pictures once.
pub fn lay_out_for_page(figure: &Figure, width: f64) -> Scene {
    let mut scene = Scene { width, ..Scene::default() };
    let top = draw_head(&mut scene, figure);
    scene.height = match &figure.body {
        FigureBody::Panels { x, panels } => draw_panels(&mut scene, figure, x, panels, top),
        FigureBody::Grid { x, legend, columns, rows } => draw_multiples(&mut scene, x, legend, (columns, rows), top),
        FigureBody::Bars { rows, columns } => draw_bars(&mut scene, rows, columns, top),
        FigureBody::Stacks { legend, rows } => draw_stacks(&mut scene, legend, rows, top),
        FigureBody::Strips { legend, columns, rows } => draw_strips(&mut scene, legend, (columns, rows), top),
        FigureBody::Flames { legend, roots } => draw_flames(&mut scene, legend, roots, top),
    };
    let height = scene.height;
    // The height is known only now, and the paper must be below everything.
    let paper = SceneShape::Rect { x: 0.0, y: 0.0, width, height, ink: Ink::Paper, opacity: 1.0 };
    scene.shapes.insert(0, paper);
    scene
}

/// Title and caption. Returns their lower end.
fn draw_head(scene: &mut Scene, figure: &Figure) -> f64 {
    let width = scene.width - 2.0 * EDGE;
    let mut y = 5.0;
    for line in wrap_to(&figure.title, TITLE, width / BOLD, TITLE_LINES_MAX) {
        y += 22.0;
        draw_bold(scene, (EDGE, y), line, TITLE);
    }
    y += 4.0;
    for line in wrap_to(&with_whole_clauses(figure.caption.trim_start()), SMALL, width, CAPTION_LINES_MAX) {
        y += LINE_HEIGHT;
        draw_text(scene, (EDGE, y), line.replace(FIRM_SPACE, " "), SMALL, Anchor::Start, Ink::Faint);
    }
    y + 10.0
}

/// Writes the conditions below everything else, and makes the picture higher by them.
fn draw_conditions(scene: &mut Scene, conditions: &str) {
    if conditions.is_empty() {
        return;
    }
    let mut y = scene.height + 2.0;
    for line in wrap_to(&with_whole_clauses(conditions), SMALL, scene.width - 2.0 * EDGE, CAPTION_LINES_MAX) {
        y += LINE_HEIGHT;
        draw_text(scene, (EDGE, y), line.replace(FIRM_SPACE, " "), SMALL, Anchor::Start, Ink::Faint);
    }
    scene.height = y + 10.0;
}

/// A caption in which no line ends within a short clause: `2 CPUs`, `table_rows 10000`.
fn with_whole_clauses(caption: &str) -> String {
    let clauses = caption.split("; ").map(|clause| match clause.split(' ').count() {
        0..=3 => clause.replace(' ', &FIRM_SPACE.to_string()),
        _ => clause.to_owned(),
    });
    clauses.collect::<Vec<_>>().join("; ")
}

fn draw_panels(scene: &mut Scene, figure: &Figure, x: &Axis, panels: &[Panel], top: f64) -> f64 {
    let ys: Vec<ScaledAxis> = panels.iter().map(|p| ScaledAxis::for_y(&p.y, y_extent(&p.y, marks_of(p)))).collect();
    let margins = if figure.is_over_time() { Margins::of_time(scene.width) } else { Margins::NARROWEST };
    let frame = make_frame(x, panels, &ys, (scene.width, margins));
    let (mut y, mut first_top) = (top, None);
    for (panel, scaled) in panels.iter().zip(&ys) {
        y = draw_panel_head(scene, panel, y);
        let heat = marks_of(panel).find_map(|mark| if let Mark::Heat(map) = mark { Some(map) } else { None });
        y = heat.map_or(y, |map| draw_legend(scene, map, y - 6.0));
        first_top.get_or_insert(y);
        scene.panels.push(place_panel(panel, scaled, y));
        draw_panel(scene, panel, &PlotArea { frame: &frame, y: scaled, top: y, height: panel.height });
        y += panel.height + 12.0;
    }
    let bottom = y - 12.0;
    if figure.is_over_time() {
        let (top, from_s, to_s) = (first_top.unwrap_or(top), frame.x.low, frame.x.high);
        scene.time = Some(TimeAxis { left: frame.left, right: frame.right, top, bottom, from_s, to_s });
    }
    draw_x_labels(scene, x, &frame, bottom)
}

fn place_panel(panel: &Panel, y: &ScaledAxis, top: f64) -> PanelPlace {
    let is_log = matches!(panel.y.scale, AxisScale::Log | AxisScale::LogAt(_));
    PanelPlace { top, height: panel.height, low: y.low, high: y.high, is_log, unit: panel.y.unit }
}

fn marks_of(panel: &Panel) -> impl Iterator<Item = &Mark> {
    panel.series.iter().flat_map(|series| &series.marks)
}

/// What the numbers on the left of a plot, and the names on its right, take at least.
#[derive(Clone, Copy)]
struct Margins {
    numbers: f64,
    names: f64,
}

impl Margins {
    const NARROWEST: Margins = Margins { numbers: 20.0, names: 0.0 };

    /// Pictures over time are read below each other: what most of their numbers and names need, so that they have one time axis.
    fn of_time(width: f64) -> Margins {
        Margins { numbers: 54.0, names: (width * 0.1).min(60.0) }
    }
}

fn make_frame<'a>(x: &'a Axis, panels: &[Panel], ys: &[ScaledAxis], (width, margins): (f64, Margins)) -> Frame<'a> {
    let tick_widths =
        panels.iter().zip(ys).flat_map(|(p, y)| y.ticks(tick_count(p.height))).map(|t| text_width(&t.label, SMALL));
    let labels = panels.iter().flat_map(|p| &p.series).map(|s| text_width(&s.label, SMALL));
    // Whole units: their numbers are in every line of the grid.
    let left = (EDGE + tick_widths.fold(margins.numbers, f64::max) + 8.0).ceil();
    let widest = labels.fold(0.0, f64::max).min(width / 3.0);
    let names = width - EDGE - widest;
    let second_ticks = panels.iter().zip(ys).flat_map(|(p, y)| y.second_ticks(tick_count(p.height)));
    let second = second_ticks.map(|t| text_width(&t.label, SMALL) + SECOND_GAP).fold(0.0, f64::max);
    let right = (names - second - if widest > 0.0 { 10.0 } else { 6.0 }).min(width - EDGE - margins.names).floor();
    Frame { x: ScaledAxis::for_x(x, x_extent(panels.iter().flat_map(marks_of))), left, right, names }
}

/// Title, y label and note in one line above the plot; a long title takes lines of its own. Returns the top of the plot.
fn draw_panel_head(scene: &mut Scene, panel: &Panel, top: f64) -> f64 {
    let (mut y, right) = (top + 15.0, scene.width - EDGE);
    let label_width = text_width(&panel.y.label, SMALL);
    let mut x = EDGE;
    let title_end = EDGE + bold_width(&panel.title, TEXT) + 10.0;
    if title_end + label_width <= right {
        x = if panel.title.is_empty() { EDGE } else { title_end };
        draw_bold_line(scene, y, panel.title.clone());
    } else {
        for line in wrap_to(&panel.title, TEXT, (right - EDGE) / BOLD, PANEL_LINES_MAX) {
            draw_bold_line(scene, y, line);
            y += LINE_HEIGHT;
        }
    }
    let label = wrap_to(&panel.y.label, SMALL, right - x, 1).concat();
    let end = x + text_width(&label, SMALL) + 10.0;
    draw_text(scene, (x, y), label, SMALL, Anchor::Start, Ink::Faint);
    if end + text_width(&panel.note, SMALL) <= right {
        draw_text(scene, (right, y), panel.note.clone(), SMALL, Anchor::End, Ink::Faint);
    }
    y + 13.0
}

fn draw_bold_line(scene: &mut Scene, y: f64, line: String) {
    if !line.is_empty() {
        draw_bold(scene, (EDGE, y), line, TEXT);
    }
}

fn draw_panel(scene: &mut Scene, panel: &Panel, area: &PlotArea) {
    draw_shades(scene, &panel.shades, area);
    draw_grid(scene, area);
    draw_all_series(scene, &panel.series, area, SeriesKey::Label);
    name_series(scene, &panel.series, area);
}

/// The name of a series, next to its last value.
struct SeriesName {
    /// The height of the last value.
    y: f64,
    text: String,
    style: SeriesStyle,
}

/// Writes each name next to the last value, moved apart if they would overlap.
fn name_series(scene: &mut Scene, series: &[DataSeries], area: &PlotArea) {
    let named = series.iter().filter(|s| !s.label.is_empty());
    let mut names: Vec<SeriesName> =
        named.filter_map(|s| Some(SeriesName { y: last_y(s, area)?, text: s.label.clone(), style: s.style })).collect();
    names.sort_by(|a, b| a.y.total_cmp(&b.y));
    let x = area.frame.names;
    let lines = lines_of_names(&names, scene.width - 4.0 - x, area.height);
    let wanted: Vec<(f64, f64)> =
        names.iter().zip(&lines).map(|(name, lines)| (name.y, lines.len() as f64 * NAME_HEIGHT)).collect();
    let places = spread_apart(&wanted, area.top - 5.0, area.bottom() + 6.0);
    for ((name, lines), top) in names.iter().zip(lines).zip(places) {
        scene.shapes.push(SceneShape::GroupBegin(GroupMark::Name(SeriesKey::Label.of(&name.text, name.style))));
        for (nth, line) in lines.into_iter().enumerate() {
            let y = top + nth as f64 * NAME_HEIGHT + 12.0;
            draw_text(scene, (x, y), line, SMALL, Anchor::Start, Ink::of_name(name.style));
        }
        scene.shapes.push(SceneShape::GroupEnd);
    }
}

/// Long names in two lines while the panel has room for that; else cut so that they still differ.
fn lines_of_names(names: &[SeriesName], width: f64, height: f64) -> Vec<Vec<String>> {
    let wrapped: Vec<Vec<String>> = names.iter().map(|name| wrap_to(&name.text, SMALL, width, usize::MAX)).collect();
    let lines: usize = wrapped.iter().map(Vec::len).sum();
    if wrapped.iter().all(|lines| lines.len() <= 2) && lines as f64 * NAME_HEIGHT <= height {
        return wrapped;
    }
    let texts: Vec<String> = names.iter().map(|name| name.text.clone()).collect();
    fit_labels(&texts, width, &ruler(SMALL)).into_iter().map(|text| vec![text]).collect()
}

fn last_y(series: &DataSeries, area: &PlotArea) -> Option<f64> {
    series.marks.iter().find_map(|mark| match mark {
        Mark::Line(_, points) | Mark::Dots(_, points) | Mark::Rings(_, points) => {
            points.iter().rev().find_map(|p| area.place_of(*p)).map(|p| p.1)
        }
        Mark::Area(bounds) => {
            bounds.last().and_then(|(x, low, high)| area.place_of((*x, (low + high) / 2.0))).map(|p| p.1)
        }
        Mark::Band(_) | Mark::Whiskers(_) | Mark::Boxes(_) | Mark::Verticals(_) | Mark::Fine(_) | Mark::Heat(_) => None,
    })
}

/// The upper edges of blocks with these (middle, height), sorted by their middles: moved apart so that none overlap, within `low` and
/// `high` while there is room.
fn spread_apart(wanted: &[(f64, f64)], low: f64, high: f64) -> Vec<f64> {
    // Downwards first, each below the one before it; then upwards from the lower edge, as far as they went over it.
    let mut tops: Vec<f64> = Vec::with_capacity(wanted.len());
    let mut least = low;
    for (middle, height) in wanted {
        let top = (middle - height / 2.0).max(least);
        tops.push(top);
        least = top + height;
    }
    let mut most = high;
    for (top, (_, height)) in tops.iter_mut().zip(wanted).rev() {
        *top = top.min(most - height);
        most = *top;
    }
    tops
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{AxisUnit, Colour, Stroke};

    fn figure(panels: Vec<Panel>) -> Figure {
        let body = FigureBody::Panels { x: Axis::seconds("it began", (0.0, 3.0)), panels };
        Figure { id: "f".into(), title: "T".into(), conditions: String::new(), caption: "n = 3".into(), body }
    }

    fn panel(points: Vec<(f64, f64)>, label: &str) -> Panel {
        let marks = vec![Mark::Line(Stroke::Solid, points)];
        let series = vec![DataSeries::named(label, Colour::Blue, marks)];
        Panel {
            title: String::new(),
            note: String::new(),
            y: Axis::from_zero("operations/s", AxisUnit::Count),
            height: 100.0,
            series,
            shades: vec![],
        }
    }

    fn lines<'a>(scene: &'a Scene) -> Vec<&'a Vec<(f64, f64)>> {
        let data = |s: &'a SceneShape| match s {
            SceneShape::Line { points, ink: Ink::Data(_), .. } => Some(points),
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
    fn pictures_over_time_have_the_same_edges_whatever_their_numbers_and_names() {
        let throughput = panel(vec![(0.0, 1e5), (3.0, 123_456.0)], "");
        let times = Panel {
            y: Axis { range: Some((1e3, 3e8)), ..Axis::nanos("response time") },
            ..panel(vec![(0.0, 1e4), (3.0, 1e8)], "p99")
        };
        for width in [WIDE, NARROW] {
            let [first, second] = [&throughput, &times].map(|panel| lay_out(&figure(vec![panel.clone()]), width));
            let ends = |scene: &Scene| lines(scene).last().map(|line| (line[0].0, line[line.len() - 1].0));
            assert_eq!(ends(&first), ends(&second), "{width}");
        }
    }

    #[test]
    fn the_label_of_the_axis_stands_clear_of_a_bold_title() {
        let panel = Panel { title: "sqlite oltp (partial, indicative)".into(), ..panel(vec![(0.0, 1.0)], "") };
        let label = panel.y.label.clone();
        let scene = lay_out(&figure(vec![panel]), WIDE);
        let starts = |shape: &SceneShape| matches!(shape, SceneShape::Text { text, .. } if *text == label);
        let Some(SceneShape::Text { x, .. }) = scene.shapes.iter().find(|shape| starts(shape)) else {
            panic!("no label")
        };
        // 255 units is what a browser drew the title with, in DejaVu Sans Bold.
        assert!(*x >= EDGE + 255.0 + 8.0, "{x}");
    }

    #[test]
    fn the_conditions_are_at_the_foot_and_a_picture_for_a_page_has_none() {
        let alone = Figure { conditions: "closed loop; 2 CPUs".into(), ..figure(vec![panel(vec![(0.0, 1.0)], "")]) };
        let (with, without) = (lay_out(&alone, WIDE), lay_out_for_page(&alone, WIDE));
        let below = |s: &SceneShape| matches!(s, SceneShape::Text { y, text, .. } if *y > without.height && text.contains("2 CPUs"));
        assert!(with.height > without.height && with.shapes.iter().any(below));
        let paper = |scene: &Scene| match scene.shapes[0] {
            SceneShape::Rect { height, ink: Ink::Paper, .. } => height,
            _ => panic!("no paper"),
        };
        assert_eq!((paper(&with), paper(&without)), (with.height, without.height));
        let page = crate::render_page_svg(&alone);
        assert!(!page.contains("closed loop") && page.contains(&format!("viewBox=\"0 0 760 {}\"", without.height)));
    }

    #[test]
    fn a_shade_ends_with_the_plot_and_one_outside_of_it_is_not_drawn() {
        let tint = crate::figure::Tint::Red;
        let shade = |from, to| crate::figure::Shade { from, to, tint };
        let shades = vec![shade(-5.0, 1.0), shade(3.0, 3.0), shade(4.0, 9.0), shade(f64::NAN, 2.0)];
        let scene = lay_out(&figure(vec![Panel { shades, ..panel(vec![(0.0, 1.0), (3.0, 2.0)], "") }]), WIDE);
        let time = scene.time.expect("a time axis");
        let drawn: Vec<(f64, f64)> = scene
            .shapes
            .iter()
            .filter_map(|s| match s {
                SceneShape::Rect { x, width, ink: Ink::Shade(_), .. } => Some((*x, x + width)),
                _ => None,
            })
            .collect();
        assert_eq!(drawn.len(), 2, "{drawn:?}");
        assert!(drawn.iter().all(|(from, to)| *from >= time.left && *to <= time.right + 1e-9), "{drawn:?}");
    }

    #[test]
    fn a_caption_keeps_what_belongs_together_on_one_line() {
        let caption = format!("n = 3 intervals of 1 s per point; {}2 CPUs; disk vda", "cache 64 MiB; ".repeat(12));
        let scene = lay_out(&Figure { caption, ..figure(vec![panel(vec![(0.0, 1.0)], "")]) }, WIDE);
        let faint = |shape: &SceneShape| match shape {
            SceneShape::Text { text, ink: Ink::Faint, size: SMALL, .. } if text.ends_with(';') => Some(text.clone()),
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
        assert!(scene.shapes.iter().any(|s| matches!(s, SceneShape::Dots { points, .. } if points.len() == 1)));
    }

    #[test]
    fn dots_of_a_short_run_on_the_axis_of_a_long_one_do_not_run_into_a_blot() {
        let dotted = |seconds: f64, count: u32| {
            let dots = (0..count).map(|nth| (seconds * f64::from(nth) / f64::from(count), 1.0)).collect();
            let series = DataSeries::unnamed(Colour::Blue, vec![Mark::Dots(3.0, dots)]);
            Panel { series: vec![series], ..panel(vec![], "") }
        };
        let scene = lay_out(&figure(vec![dotted(0.15, 100), dotted(3.0, 100)]), WIDE);
        let radius = |s: &SceneShape| if let SceneShape::Dots { radius, .. } = s { Some(*radius) } else { None };
        let radii: Vec<f64> = scene.shapes.iter().filter_map(radius).collect();
        assert!(radii[0] < 1.0 && radii[1] == 3.0, "{radii:?}");
    }

    #[test]
    fn names_are_moved_apart_and_stay_in_the_panel() {
        let at = |middle: f64| (middle, 15.0);
        assert_eq!(spread_apart(&[at(50.0), at(51.0), at(52.0)], 0.0, 100.0), [42.5, 57.5, 72.5]);
        assert_eq!(spread_apart(&[at(98.0), at(99.0), at(100.0)], 0.0, 100.0), [55.0, 70.0, 85.0]);
    }

    #[test]
    fn long_names_are_in_two_lines_or_cut_where_they_still_differ() {
        let name = |limit: &str| format!("mysql://root@localhost/?socket=/run/{limit}/mysql.sock clients 4");
        let texts_of = |names: &[&str], width: f64| -> Vec<String> {
            let line = |(nth, limit): (usize, &&str)| {
                let marks = vec![Mark::Line(Stroke::Solid, vec![(0.0, 1.0), (3.0, nth as f64)])];
                DataSeries::named(name(limit), SeriesStyle::nth(nth), marks)
            };
            let series = names.iter().enumerate().map(line).collect();
            let scene = lay_out(&figure(vec![Panel { series, ..panel(vec![], "") }]), width);
            let text = |s: &SceneShape| match s {
                SceneShape::Text { text, ink: Ink::Data(_), .. } => Some(text.clone()),
                _ => None,
            };
            scene.shapes.iter().filter_map(text).collect()
        };
        let narrow = texts_of(&["a", "b", "c", "d", "e"], NARROW);
        let distinct: std::collections::BTreeSet<&String> = narrow.iter().collect();
        assert_eq!((narrow.len(), distinct.len()), (5, 5), "{narrow:?}");
        let short = texts_of(&["a"], 2_000.0);
        assert_eq!(short, [name("a")]);
    }

    #[test]
    fn a_long_title_of_a_panel_is_drawn_whole() {
        let title =
            "mysql://root@localhost/?socket=/run/a/mysql.sock read_write statements prepared clients 4".to_owned();
        let scene = lay_out(&figure(vec![Panel { title: title.clone(), ..panel(vec![(0.0, 1.0)], "") }]), NARROW);
        let bold = |s: &SceneShape| match s {
            SceneShape::Text { text, bold: true, size: TEXT, .. } => Some(text.clone()),
            _ => None,
        };
        let lines: Vec<String> = scene.shapes.iter().filter_map(bold).collect();
        assert_eq!(lines.join("").replace(' ', ""), title.replace(' ', ""), "{lines:?}");
    }

    #[test]
    fn nothing_is_drawn_outside_the_picture() {
        let scene = lay_out(&figure(vec![panel(vec![(0.0, 1.0), (3.0, 2.0)], "name")]), WIDE);
        for shape in &scene.shapes {
            if let SceneShape::Text { x, y, .. } = shape {
                assert!((0.0..=WIDE).contains(x) && (0.0..=scene.height).contains(y), "{shape:?}");
            }
        }
    }
}
