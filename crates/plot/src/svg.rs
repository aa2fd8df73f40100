//! A scene as an SVG document: a file with colours of its own, or a part of a page whose style sheet has them.
//!
//! In: a scene. Out: text. Limits: no script, no font, no reference to anything outside. The script of the HTML report uses the
//! classes and the `data-` attributes.
//!
//! A page has hundreds of panels, so each attribute that all of them would repeat is a rule of [`page_rules`], and hairlines of one
//! ink are one path.

use crate::escape::escape_xml;
use crate::figure::{AxisUnit, Figure, SeriesStyle};
use crate::frame::{SMALL, TEXT};
use crate::heat::opacity_of;
use crate::path::{area_data, curve_data, dots_data, path_data, rules_data};
use crate::scene::{Anchor, GroupMark, HeatImage, Ink, PanelPlace, Scene, SceneShape, TimeAxis};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;

const FONT: &str = "system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif";

/// Where a picture goes, and so what it has to bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A file: it has all its colours.
    File,
    /// A page that has the rules of [`page_rules`].
    Page,
}

/// What a picture is called.
#[derive(Clone, Copy, Debug)]
pub struct SvgName<'a> {
    /// Unique in its document.
    pub id: &'a str,
    pub class: &'a str,
}

/// The document. `figure` gives its title for screen readers.
pub fn write_svg(scene: &Scene, figure: &Figure, name: SvgName, medium: Medium) -> String {
    let mut svg =
        SvgText { out: String::new(), medium, short_id: short_id(name.id), parts: 0, in_levels: false, series: None };
    svg.write_opening(scene, figure, name);
    match medium {
        Medium::File => scene.shapes.iter().for_each(|shape| {
            svg.write_shape(shape);
            svg.out.push('\n');
        }),
        Medium::Page => svg.write_page_shapes(&scene.shapes),
    }
    svg.out.push_str("</svg>\n");
    svg.out
}

/// The rules that pictures need whose medium is a page. A rule of the page that follows them may change a colour.
pub fn page_rules() -> String {
    let mut out = format!(
        ":where(svg.chart){{font:{SMALL}px {FONT}}}:where(svg.chart) path{{fill:none;stroke-linejoin:round;vector-effect:non-scaling-stroke}}\
         .t-s{{text-anchor:start}}.t-m{{text-anchor:middle}}.t-e{{text-anchor:end}}.t-b{{font-weight:600}}\
         .t-h{{font-weight:600;font-size:{TEXT}px}}.t-d{{stroke-linecap:round}}.t-l{{stroke-width:2}}\
         .t-r{{stroke-width:1.2;stroke-dasharray:6 4}}.t-a{{fill-opacity:.85}}"
    );
    for ink in Ink::all_plain().chain(Ink::all_shades()) {
        let (r, g, b) = ink.rgb();
        let class = format!("{}{}", ink.class(), ink.shade_class().replace(' ', "."));
        append(
            &mut out,
            format_args!(".f-{class}{{fill:#{r:02x}{g:02x}{b:02x}}}.s-{class}{{stroke:#{r:02x}{g:02x}{b:02x}}}"),
        );
    }
    out
}

/// A square of the colour of `style`.
pub fn write_swatch(style: SeriesStyle) -> String {
    let ink = Ink::of_style(style);
    let (r, g, b) = ink.rgb();
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 10 10\" width=\"11\" height=\"11\" aria-hidden=\"true\">\
         <rect width=\"10\" height=\"10\" rx=\"2\" class=\"f-{}{}\" fill=\"#{r:02x}{g:02x}{b:02x}\"/></svg>",
        ink.class(),
        ink.shade_class()
    )
}

/// A document as far as it is written.
struct SvgText {
    out: String,
    medium: Medium,
    /// The beginning of the ids inside of it.
    short_id: String,
    /// How many parts have an id so far.
    parts: usize,
    /// Whether the labels of an axis are being written: their group has the class of all of them.
    in_levels: bool,
    /// The attribute with the key of the series whose only shape is written next; it is empty for a series without a name.
    series: Option<String>,
}

impl SvgText {
    fn write(&mut self, args: std::fmt::Arguments<'_>) {
        append(&mut self.out, args);
    }

    fn write_opening(&mut self, scene: &Scene, figure: &Figure, SvgName { id, class }: SvgName) {
        let (w, h) = (one_decimal(scene.width), one_decimal(scene.height));
        let id = if self.medium == Medium::Page { self.short_id.clone() } else { escape_xml(id) };
        let namespace = match self.medium {
            Medium::File => {
                format!(" xmlns=\"http://www.w3.org/2000/svg\" font-family=\"{FONT}\" font-size=\"{SMALL}\"")
            }
            Medium::Page => String::new(),
        };
        self.write(format_args!("<svg{namespace} viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" "));
        self.write(format_args!("class=\"{class}\" role=\"img\" aria-labelledby=\"t-{id} d-{id}\""));
        if let Some(time) = scene.time {
            self.write_time(time, &scene.panels);
        }
        let [title, caption] = [figure.title.as_str(), figure.caption.trim_start()].map(escape_xml);
        self.write(format_args!(">\n<title id=\"t-{id}\">{title}</title>\n<desc id=\"d-{id}\">{caption}</desc>\n"));
    }

    fn write_time(&mut self, t: TimeAxis, panels: &[PanelPlace]) {
        let [left, right, top, bottom] = [t.left, t.right, t.top, t.bottom].map(one_decimal);
        self.write(format_args!(
            " data-left=\"{left}\" data-right=\"{right}\" data-top=\"{top}\" data-bottom=\"{bottom}\""
        ));
        self.write(format_args!(" data-from=\"{}\" data-to=\"{}\"", t.from_s, t.to_s));
        self.write(format_args!(" data-panels=\"{}\"", panel_places(panels)));
    }

    /// The id of the next part that has one.
    fn next_id(&mut self, kind: char) -> String {
        self.parts += 1;
        format!("{kind}{}-{}", self.short_id, self.parts)
    }

    /// Shapes of a page. A series is a group of its shapes, and its name one of its lines; a single shape or line needs no group. The script
    /// gives a shape over time its group again.
    fn write_page_shapes(&mut self, mut shapes: &[SceneShape]) {
        while let [first, rest @ ..] = shapes {
            shapes = match (first, rest) {
                (
                    SceneShape::GroupBegin(GroupMark::Name(key)),
                    [SceneShape::Text { x, y, text, ink, .. }, SceneShape::GroupEnd, others @ ..],
                ) => {
                    self.write_name([*x, *y], text, *ink, key);
                    others
                }
                (
                    SceneShape::GroupBegin(GroupMark::Series(key)),
                    [shape @ (SceneShape::Line { .. } | SceneShape::Polygon { .. }), SceneShape::GroupEnd, others @ ..],
                ) => {
                    self.series = Some(key_attribute(key));
                    self.write_shape(shape);
                    self.series = None;
                    others
                }
                _ => {
                    self.write_shape(first);
                    rest
                }
            };
        }
    }

    fn write_name(&mut self, [x, y]: [f64; 2], text: &str, ink: Ink, key: &str) {
        let (class, shade, key, text) = (ink.class(), ink.shade_class(), key_attribute(key), escape_xml(text));
        self.write(format_args!("<text x=\"{x:.0}\" y=\"{y:.0}\" class=\"f-{class}{shade} name\"{key}>{text}</text>"));
    }

    fn write_shape(&mut self, shape: &SceneShape) {
        match shape {
            SceneShape::Rect { x, y, width, height, ink, opacity } => {
                self.open_rect([*x, *y, *width, *height], *ink, *opacity);
                self.out.push_str("/>");
            }
            SceneShape::Titled { x, y, width, height, ink, opacity, title } => {
                self.open_rect([*x, *y, *width, *height], *ink, *opacity);
                self.write(format_args!("><title>{}</title></rect>", escape_xml(title)));
            }
            SceneShape::Line { points, ink, width, dash } => self.write_line(points, *ink, (*width, dash)),
            SceneShape::Rules { lines, ink } => self.write_path(&rules_data(lines), *ink, (1.0, "")),
            SceneShape::Dots { points, radius, ink } => self.write_dots(points, *radius, *ink),
            SceneShape::Polygon { points, ink, opacity } => {
                let d = if points.len() < AREA_POINTS { path_data(points) } else { area_data(points) };
                let others = self.filled_attributes(*ink, *opacity);
                self.write(format_args!("<path d=\"{d}Z\"{others}/>"));
            }
            SceneShape::Text { x, y, text, size, anchor, ink, bold } => {
                self.open_text([*x, *y], (*size, *anchor), (*ink, *bold));
                self.write(format_args!(">{}</text>", escape_xml(text)));
            }
            SceneShape::PlotBegin { x, y, width, height } => self.open_plot([*x, *y, *width, *height]),
            SceneShape::Heat { x, y, width, height, image } => self.write_heat([*x, *y, *width, *height], image),
            SceneShape::TicksBegin => self.out.push_str("<g class=\"ticks\">"),
            SceneShape::GroupBegin(mark) => self.open_group(mark),
            SceneShape::TicksEnd | SceneShape::GroupEnd | SceneShape::PlotEnd => {
                self.in_levels = false;
                self.out.push_str("</g>");
            }
        }
    }

    /// A rectangle with its attributes, whose tag is still open.
    fn open_rect(&mut self, [x, y, width, height]: [f64; 4], ink: Ink, opacity: f64) {
        let [x, y, w, h] = [x, y, width.max(0.0), height.max(0.0)].map(one_decimal);
        let others = self.filled_attributes(ink, opacity);
        self.write(format_args!("<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"{others}"));
    }

    fn write_line(&mut self, points: &[(f64, f64)], ink: Ink, (width, dash): (f64, &[f64])) {
        let dash = dash_array(dash);
        match self.medium {
            Medium::File => {
                let others = format!("{dash} stroke-linejoin=\"round\"");
                self.write_path(&path_data(points), ink, (width, &others));
            }
            Medium::Page => self.write_path(&curve_data(points), ink, (width, &dash)),
        }
    }

    /// Dots as lines of no length with round ends: a tenth of the text of circles.
    fn write_dots(&mut self, points: &[(f64, f64)], radius: f64, ink: Ink) {
        self.write_path(&dots_data(points), ink, (radius * 2.0, DOTTED));
    }

    /// A path that is a line. It keeps its width if the page scales the picture.
    fn write_path(&mut self, d: &str, ink: Ink, (width, others): (f64, &str)) {
        let (class, shade) = (ink.class(), ink.shade_class());
        let width = if (width - 1.0).abs() < 0.05 {
            String::new()
        } else {
            format!(" stroke-width=\"{}\"", one_decimal(width))
        };
        match self.medium {
            Medium::Page => {
                let attributes = format!("{width}{others}");
                let (more, others) = shared_stroke(&attributes);
                let (series, key) = self.series_attributes();
                self.write(format_args!("<path d=\"{d}\" class=\"s-{class}{shade}{more}{series}\"{others}{key}/>"));
            }
            Medium::File => {
                let (r, g, b) = ink.rgb();
                self.write(format_args!(
                    "<path d=\"{d}\" fill=\"none\" vector-effect=\"non-scaling-stroke\" class=\"s-{class}{shade}\" \
                     stroke=\"#{r:02x}{g:02x}{b:02x}\"{width}{others}/>"
                ));
            }
        }
    }

    /// A text with its attributes, whose tag is still open.
    fn open_text(&mut self, place: [f64; 2], (size, anchor): (u32, Anchor), (ink, bold): (Ink, bool)) {
        let size_attribute = if size == SMALL { String::new() } else { format!(" font-size=\"{size}\"") };
        match self.medium {
            Medium::Page => {
                let [x, y] = place.map(f64::round);
                let is_head = bold && size == TEXT;
                let (weight, size) = if is_head {
                    (" t-h", "")
                } else if bold {
                    (" t-b", &*size_attribute)
                } else {
                    ("", &*size_attribute)
                };
                let others = self.text_class((ink, anchor), weight);
                self.write(format_args!("<text x=\"{x}\" y=\"{y}\"{size}{others}"));
            }
            Medium::File => {
                let ([x, y], size) = (place.map(one_decimal), size_attribute);
                let (anchor, weight) = (anchor_attribute(anchor), if bold { " font-weight=\"600\"" } else { "" });
                let fill = self.fill_attributes(ink, "");
                self.write(format_args!("<text x=\"{x}\" y=\"{y}\"{size}{anchor}{weight}{fill}"));
            }
        }
    }

    /// The classes of a text of a page: none for a label of an axis, for it has those of its group.
    fn text_class(&self, (ink, anchor): (Ink, Anchor), weight: &str) -> String {
        match (self.in_levels, anchor) {
            (true, Anchor::End) => String::new(),
            (true, _) => " class=\"t-s\"".to_owned(),
            (false, anchor) => self.fill_attributes(ink, &format!("{}{weight}", anchor_class(anchor))),
        }
    }

    fn open_plot(&mut self, place: [f64; 4]) {
        let [x, y, w, h] = place.map(one_decimal);
        let id = self.next_id('c');
        self.write(format_args!(
            "<clipPath id=\"{id}\"><rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/></clipPath>"
        ));
        self.write(format_args!("<g class=\"plot\" clip-path=\"url(#{id})\">"));
    }

    fn open_group(&mut self, mark: &GroupMark) {
        match mark {
            GroupMark::Shades => self.out.push_str("<g class=\"shades\">"),
            GroupMark::Levels if self.medium == Medium::Page => {
                self.in_levels = true;
                self.out.push_str("<g class=\"levels f-faint t-e\">");
            }
            GroupMark::Levels => self.out.push_str("<g class=\"levels\">"),
            GroupMark::Series(key) => self.write(format_args!("<g class=\"series\"{}>", key_attribute(key))),
            GroupMark::Name(key) => self.write(format_args!("<g class=\"name\"{}>", key_attribute(key))),
        }
    }

    /// A mask of the opacities of the cells, a pixel each, over a rectangle of the deepest colour: so a style sheet changes all levels.
    fn write_heat(&mut self, place: [f64; 4], image: &HeatImage) {
        // Images that touch must not leave a gap.
        let [x, y, w, h] = place.map(|value| format!("{value:.2}"));
        let (id, place) = (self.next_id('m'), format!("x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\""));
        self.write(format_args!("<mask id=\"{id}\" maskUnits=\"userSpaceOnUse\" {place}>"));
        self.write(format_args!(
            "<image {place} preserveAspectRatio=\"none\" image-rendering=\"pixelated\" href=\"data:image/png;base64,"
        ));
        STANDARD.encode_string(mask_png(image), &mut self.out);
        let fill = self.fill_attributes(Ink::Heat, "");
        self.write(format_args!("\"/></mask><rect {place} mask=\"url(#{id})\"{fill}/>"));
    }

    /// Class, colour and opacity of a filled shape.
    fn filled_attributes(&self, ink: Ink, opacity: f64) -> String {
        let (series, key) = self.series_attributes();
        let (area, opacity) = match opacity_attribute(opacity) {
            opacity if self.medium == Medium::Page && opacity == AREA_OPACITY => (" t-a", String::new()),
            opacity => ("", opacity),
        };
        self.fill_attributes(ink, &format!("{area}{series}")) + &opacity + &key
    }

    /// A class and the key, for a shape that is a whole series.
    fn series_attributes(&self) -> (&'static str, String) {
        self.series.as_ref().map_or(("", String::new()), |key| (" series", key.clone()))
    }

    /// The class of a filled shape with `more` classes, and in a file its colour.
    fn fill_attributes(&self, ink: Ink, more: &str) -> String {
        let (class, shade) = (ink.class(), ink.shade_class());
        match self.medium {
            Medium::Page => format!(" class=\"f-{class}{shade}{more}\""),
            Medium::File => {
                let (r, g, b) = ink.rgb();
                format!(" class=\"f-{class}{shade}{more}\" fill=\"#{r:02x}{g:02x}{b:02x}\"")
            }
        }
    }
}

/// By which a script finds what is shown and hidden together; empty for what has no name.
fn key_attribute(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!(" data-key=\"{}\"", escape_xml(key)) }
}

/// The strokes that most lines of a page have, as classes; all others as attributes.
fn shared_stroke(attributes: &str) -> (&'static str, &str) {
    match attributes {
        " stroke-width=\"2\"" => (" t-l", ""),
        " stroke-width=\"1.2\" stroke-dasharray=\"6 4\"" => (" t-r", ""),
        dotted if dotted.ends_with(DOTTED) => (" t-d", &dotted[..dotted.len() - DOTTED.len()]),
        others => ("", others),
    }
}

/// A polygon of so many points is an area over time, and no box or dot.
const AREA_POINTS: usize = 24;
/// That of the areas of a stack.
const AREA_OPACITY: &str = " fill-opacity=\"0.85\"";
/// What makes a dot of a line without length.
const DOTTED: &str = " stroke-linecap=\"round\"";

/// Eight letters for the name of a figure, which is in each of its ids: FNV-1a (Fowler, Noll, Vo) of 32 bits.
fn short_id(id: &str) -> String {
    let hash = id.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{hash:08x}")
}

/// For each panel: top, height, the values at its lower and upper edge, `log` or `linear`, the unit, and the bytes of each for a second
/// scale.
fn panel_places(panels: &[PanelPlace]) -> String {
    let place = |panel: &PanelPlace| {
        let [top, height] = [panel.top, panel.height].map(one_decimal);
        let [low, high] = [panel.low, panel.high].map(seven_digits);
        let scale = if panel.is_log { "log" } else { "linear" };
        let bytes = match panel.unit {
            AxisUnit::CountOf(bytes) => format!(" {bytes}"),
            _ => String::new(),
        };
        format!("{top} {height} {low} {high} {scale} {}{bytes}", panel.unit.name())
    };
    panels.iter().map(place).collect::<Vec<_>>().join(",")
}

/// More digits of the end of an axis move nothing by a tenth of a unit.
fn seven_digits(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

fn dash_array(dash: &[f64]) -> String {
    let lengths: Vec<String> = dash.iter().map(|length| one_decimal(*length)).collect();
    if lengths.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", lengths.join(" ")) }
}

/// A PNG whose grey is the opacity of each cell.
fn mask_png(image: &HeatImage) -> Vec<u8> {
    let pixels: Vec<u8> = image
        .levels
        .iter()
        .map(|level| match level {
            0 => 0,
            level => (255.0 * opacity_of(usize::from(*level), image.level_count)).round() as u8,
        })
        .collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, image.columns as u32, image.rows as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    // Neighbouring cells of a row are alike no more often than those of a column: filters make such data larger.
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header().expect("a Vec takes every write, and no heat map is empty");
    writer.write_image_data(&pixels).expect("there is a pixel for each cell");
    writer.finish().expect("a Vec takes every write");
    bytes
}

fn append(out: &mut String, args: std::fmt::Arguments<'_>) {
    out.write_fmt(args).expect("writing to a String cannot fail");
}

/// At most one decimal: a tenth of a unit cannot be seen.
fn one_decimal(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn opacity_attribute(opacity: f64) -> String {
    if opacity >= 1.0 { String::new() } else { format!(" fill-opacity=\"{opacity:.2}\"") }
}

fn anchor_class(anchor: Anchor) -> &'static str {
    match anchor {
        Anchor::Start => "",
        Anchor::Middle => " t-m",
        Anchor::End => " t-e",
    }
}

fn anchor_attribute(anchor: Anchor) -> &'static str {
    match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Colour, DataSeries, FigureBody, Mark, Panel, Shade, Strength, Stroke, Tint};
    use std::collections::BTreeSet;

    fn figure() -> Figure {
        let points: Vec<(f64, f64)> = (0..60).map(|nth| (f64::from(nth), f64::from(nth * 37 % 11))).collect();
        let style = SeriesStyle { strength: Strength::of_rank(0, 7), ..SeriesStyle::nth(2) };
        let marks = vec![Mark::Line(Stroke::Solid, points.clone()), Mark::Dots(2.0, points.clone())];
        let area = Mark::Area(points.iter().map(|(x, y)| (*x, 0.0, *y)).collect());
        let panel = |series| Panel {
            title: "CPU".into(),
            note: "mean 5".into(),
            y: Axis::from_zero("operations/s", AxisUnit::CountOf(4_096)),
            height: 90.0,
            series: vec![series],
            shades: vec![Shade { from: 3.0, to: 4.0, tint: Tint::Red }],
        };
        let panels = vec![
            panel(DataSeries::named("reads", style, marks)),
            panel(DataSeries::named("user", Colour::Orange, vec![area])),
        ];
        let body = FigureBody::Panels { x: Axis::seconds("it began", (0.0, 60.0)), panels };
        Figure { id: "f".into(), title: "T".into(), caption: "n = 3".into(), conditions: String::new(), body }
    }

    #[test]
    fn a_page_has_a_rule_for_every_class_of_its_pictures() {
        let (svg, rules) = (crate::render_page_svg(&figure()), page_rules());
        let classes: BTreeSet<&str> = svg.split("class=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let inks = classes.iter().filter(|class| class.starts_with("f-") || class.starts_with("s-"));
        let mut seen = 0;
        for ink in inks {
            let is_ink = |word: &&str| !word.starts_with("t-") && !["name", "series"].contains(word);
            let words: Vec<&str> = ink.split(' ').filter(is_ink).collect();
            assert!(rules.contains(&format!(".{}{{", words.join("."))), "{ink}");
            let others = ink.split(' ').filter(|word| word.starts_with("t-"));
            others.for_each(|word| assert!(rules.contains(&format!(".{word}{{")), "{ink}"));
            seen += 1;
        }
        assert!(seen > 6, "{classes:?}");
    }

    #[test]
    fn a_series_of_one_shape_has_its_key_itself_and_a_series_of_several_a_group() {
        let svg = crate::render_page_svg(&figure());
        assert!(svg.contains("<g class=\"series\" data-key=\"reads\"><path"), "{svg}");
        assert!(svg.contains("Z\" class=\"f-orange t-a series\" data-key=\"user\"/>"), "{svg}");
        for key in ["reads", "user"] {
            let name = format!("name\" data-key=\"{key}\">{key}</text>");
            assert!(
                svg.contains(&name)
                    && crate::render_svg(&figure()).contains(&format!("<g class=\"name\" data-key=\"{key}\">"))
            );
        }
    }

    #[test]
    fn a_page_repeats_no_colour_and_a_file_has_all_of_its_own() {
        let (page, file) = (crate::render_page_svg(&figure()), crate::render_svg(&figure()));
        for attribute in [" fill=", " stroke=", "font-family", "vector-effect", "font-size=\"14\"", "text-anchor"] {
            assert!(!page.contains(attribute), "{attribute}");
            assert!(file.contains(attribute), "{attribute}");
        }
        assert!(10 * page.len() < 8 * file.len(), "{} {}", page.len(), file.len());
    }

    #[test]
    fn the_ends_of_an_axis_keep_seven_digits() {
        assert_eq!(seven_digits(1_234.567_890_123), 1_234.568);
        assert_eq!([0.0, -1.0, 100.0].map(seven_digits), [0.0, -1.0, 100.0]);
    }
}
