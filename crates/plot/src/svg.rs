//! A scene as an SVG document: scalable, with classes for a style sheet, and colours of its own without one.
//!
//! In: a scene. Out: text. Limits: no script, no font, no reference to anything outside. The script of the HTML report uses the
//! classes and the `data-` attributes.

use crate::escape::escape_xml;
use crate::figure::{Figure, SeriesStyle};
use crate::heat::opacity_of;
use crate::scene::{Anchor, GroupMark, HeatImage, Ink, PanelPlace, Scene, SceneShape};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;

const FONT: &str = "system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif";

/// How much of a picture is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// All but the conditions at its foot, which the page around it has. They stay in the document: `data-height` is the height that
    /// shows them.
    OnPage,
}

/// The document. `figure` gives its identity and its title for screen readers, `class` its class.
pub fn write_svg(scene: &Scene, figure: &Figure, class: &str, extent: Extent) -> String {
    let mut out = String::new();
    write_opening(&mut out, scene, figure, (class, extent));
    for (n, shape) in scene.shapes.iter().enumerate() {
        write_shape(&mut out, shape, &format!("{}-{n}", figure.id));
        out.push('\n');
    }
    out.push_str("</svg>\n");
    out
}

/// A square of the colour of `style`.
pub fn write_swatch(style: SeriesStyle) -> String {
    let fill = fill_attributes(Ink::of_style(style));
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 10 10\" width=\"11\" height=\"11\" aria-hidden=\"true\">\
         <rect width=\"10\" height=\"10\" rx=\"2\"{fill}/></svg>"
    )
}

fn write_opening(out: &mut String, scene: &Scene, figure: &Figure, (class, extent): (&str, Extent)) {
    let seen = if extent == Extent::OnPage { scene.foot } else { scene.height };
    let (w, h, id) = (one_decimal(scene.width), one_decimal(seen), escape_xml(&figure.id));
    append(
        out,
        format_args!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" "),
    );
    append(
        out,
        format_args!("class=\"{class}\" role=\"img\" aria-labelledby=\"t-{id} d-{id}\" font-family=\"{FONT}\""),
    );
    if seen < scene.height {
        append(out, format_args!(" data-height=\"{}\"", one_decimal(scene.height)));
    }
    if let Some(t) = scene.time {
        let [left, right, top, bottom] = [t.left, t.right, t.top, t.bottom].map(one_decimal);
        append(
            out,
            format_args!(" data-left=\"{left}\" data-right=\"{right}\" data-top=\"{top}\" data-bottom=\"{bottom}\""),
        );
        append(out, format_args!(" data-from=\"{}\" data-to=\"{}\"", t.from_s, t.to_s));
        append(out, format_args!(" data-panels=\"{}\"", panel_places(&scene.panels)));
    }
    let [title, caption] = [figure.title.as_str(), figure.caption.trim_start()].map(escape_xml);
    append(out, format_args!(">\n<title id=\"t-{id}\">{title}</title>\n<desc id=\"d-{id}\">{caption}</desc>\n"));
}

/// For each panel: top, height, the values at its lower and upper edge, `log` or `linear`, and the unit.
fn panel_places(panels: &[PanelPlace]) -> String {
    panels
        .iter()
        .map(|panel| {
            let [top, height] = [panel.top, panel.height].map(one_decimal);
            let scale = if panel.is_log { "log" } else { "linear" };
            format!("{top} {height} {} {} {scale} {}", panel.low, panel.high, panel.unit.name())
        })
        .collect::<Vec<_>>()
        .join(",")
}

/// A rectangle with its attributes, whose tag is still open.
fn open_rect(out: &mut String, [x, y, width, height]: [f64; 4], ink: Ink, opacity: f64) {
    let [x, y, w, h] = [x, y, width.max(0.0), height.max(0.0)].map(one_decimal);
    append(out, format_args!("<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\""));
    append(out, format_args!("{}{}", fill_attributes(ink), opacity_attribute(opacity)));
}

fn write_shape(out: &mut String, shape: &SceneShape, unique: &str) {
    match shape {
        SceneShape::Rect { x, y, width, height, ink, opacity } => {
            open_rect(out, [*x, *y, *width, *height], *ink, *opacity);
            out.push_str("/>");
        }
        SceneShape::Titled { x, y, width, height, ink, opacity, title } => {
            open_rect(out, [*x, *y, *width, *height], *ink, *opacity);
            append(out, format_args!("><title>{}</title></rect>", escape_xml(title)));
        }
        SceneShape::Line { points, ink, width, dash } => {
            // A line keeps its width if the page scales the picture.
            let dash = dash_array(dash);
            let style = "fill=\"none\" stroke-linejoin=\"round\" vector-effect=\"non-scaling-stroke\"";
            append(
                out,
                format_args!("<path d=\"{}\" {style}{}{dash}", path_data(points), stroke_attributes(*ink, *width)),
            );
            out.push_str("/>");
        }
        SceneShape::Dots { points, radius, ink } => write_dots(out, points, *radius, *ink),
        SceneShape::Polygon { points, ink, opacity } => {
            append(
                out,
                format_args!(
                    "<path d=\"{}Z\"{}{}/>",
                    path_data(points),
                    fill_attributes(*ink),
                    opacity_attribute(*opacity)
                ),
            );
        }
        SceneShape::Text { x, y, text, size, anchor, ink, bold } => {
            let weight = if *bold { " font-weight=\"600\"" } else { "" };
            let [x, y] = [*x, *y].map(one_decimal);
            append(
                out,
                format_args!(
                    "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{}{weight}{}>",
                    anchor_attribute(*anchor),
                    fill_attributes(*ink)
                ),
            );
            append(out, format_args!("{}</text>", escape_xml(text)));
        }
        SceneShape::PlotBegin { x, y, width, height } => {
            let [x, y, w, h] = [*x, *y, *width, *height].map(one_decimal);
            let id = format!("c-{}", escape_xml(unique));
            append(
                out,
                format_args!(
                    "<clipPath id=\"{id}\"><rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/></clipPath>"
                ),
            );
            // Two groups: a zoom transforms the inner one, and the clip of the outer one stays.
            append(out, format_args!("<g clip-path=\"url(#{id})\"><g class=\"plot\">"));
        }
        SceneShape::Heat { x, y, width, height, image } => write_heat(out, [*x, *y, *width, *height], image, unique),
        SceneShape::PlotEnd => out.push_str("</g></g>"),
        SceneShape::TicksBegin => out.push_str("<g class=\"ticks\">"),
        SceneShape::GroupBegin(mark) => write_group(out, mark),
        SceneShape::TicksEnd | SceneShape::GroupEnd => out.push_str("</g>"),
    }
}

fn write_group(out: &mut String, mark: &GroupMark) {
    match mark {
        GroupMark::Shades => out.push_str("<g class=\"shades\">"),
        GroupMark::Series(key) => append(out, format_args!("<g class=\"series\" data-key=\"{}\">", escape_xml(key))),
        GroupMark::Name(key) => append(out, format_args!("<g class=\"name\" data-key=\"{}\">", escape_xml(key))),
    }
}

fn dash_array(dash: &[f64]) -> String {
    let lengths: Vec<String> = dash.iter().map(|length| one_decimal(*length)).collect();
    if lengths.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", lengths.join(" ")) }
}

/// A mask of the opacities of the cells, a pixel each, over a rectangle of the deepest colour: so a style sheet changes all levels.
fn write_heat(out: &mut String, place: [f64; 4], image: &HeatImage, unique: &str) {
    // Images that touch must not leave a gap.
    let [x, y, w, h] = place.map(|value| format!("{value:.2}"));
    let (id, place) =
        (format!("m-{}", escape_xml(unique)), format!("x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\""));
    append(out, format_args!("<mask id=\"{id}\" maskUnits=\"userSpaceOnUse\" {place}>"));
    append(
        out,
        format_args!(
            "<image {place} preserveAspectRatio=\"none\" image-rendering=\"pixelated\" href=\"data:image/png;base64,"
        ),
    );
    STANDARD.encode_string(mask_png(image), out);
    append(out, format_args!("\"/></mask><rect {place} mask=\"url(#{id})\"{}/>", fill_attributes(Ink::Heat)));
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

/// Dots as lines of no length with round ends: a tenth of the text of circles.
fn write_dots(out: &mut String, points: &[(f64, f64)], radius: f64, ink: Ink) {
    out.push_str("<path d=\"");
    let mut last = (0, 0);
    for (nth, point) in points.iter().enumerate() {
        let next = tenths(*point);
        out.push(if nth == 0 { 'M' } else { 'm' });
        write_step(out, (next.0 - last.0, next.1 - last.1), false);
        out.push_str("h0");
        last = next;
    }
    let style = "fill=\"none\" stroke-linecap=\"round\" vector-effect=\"non-scaling-stroke\"";
    append(out, format_args!("\" {style}{}/>", stroke_attributes(ink, radius * 2.0)));
}

/// Steps from point to point, which take half as much text as places. They are steps between rounded places, so that no error adds up.
fn path_data(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    let mut last = (0, 0);
    for (nth, point) in points.iter().enumerate() {
        let next = tenths(*point);
        match nth {
            0 => d.push('M'),
            1 => d.push('l'),
            _ => {}
        }
        write_step(&mut d, (next.0 - last.0, next.1 - last.1), nth > 1);
        last = next;
    }
    d
}

/// A tenth of a unit cannot be seen.
fn tenths((x, y): (f64, f64)) -> (i64, i64) {
    ((10.0 * x).round() as i64, (10.0 * y).round() as i64)
}

/// A pair of numbers. Between numbers there is a space, unless a minus separates them.
fn write_step(out: &mut String, (dx, dy): (i64, i64), follows_number: bool) {
    for (tenths, is_separated) in [(dx, follows_number), (dy, true)] {
        if is_separated && tenths >= 0 {
            out.push(' ');
        }
        let sign = if tenths < 0 { "-" } else { "" };
        match (tenths.abs() / 10, tenths.abs() % 10) {
            (whole, 0) => append(out, format_args!("{sign}{whole}")),
            (0, tenth) => append(out, format_args!("{sign}.{tenth}")),
            (whole, tenth) => append(out, format_args!("{sign}{whole}.{tenth}")),
        }
    }
}

fn append(out: &mut String, args: std::fmt::Arguments<'_>) {
    out.write_fmt(args).expect("writing to a String cannot fail");
}

/// At most one decimal: a tenth of a unit cannot be seen.
fn one_decimal(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn fill_attributes(ink: Ink) -> String {
    let (r, g, b) = ink.rgb();
    format!(" class=\"f-{}{}\" fill=\"#{r:02x}{g:02x}{b:02x}\"", ink.class(), ink.shade_class())
}

fn stroke_attributes(ink: Ink, width: f64) -> String {
    let (r, g, b) = ink.rgb();
    let (class, shade) = (ink.class(), ink.shade_class());
    format!(" class=\"s-{class}{shade}\" stroke=\"#{r:02x}{g:02x}{b:02x}\" stroke-width=\"{}\"", one_decimal(width))
}

fn opacity_attribute(opacity: f64) -> String {
    if opacity >= 1.0 { String::new() } else { format!(" fill-opacity=\"{opacity:.2}\"") }
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

    #[test]
    fn a_path_goes_in_steps_between_rounded_places() {
        let points = [(10.04, 20.0), (10.56, 19.5), (20.0, 19.46), (5.0, 30.0)];
        assert_eq!(path_data(&points), "M10 20l.6-.5 9.4 0-15 10.5");
        let third = |nth: i32| (f64::from(nth) / 3.0, 0.0);
        let steps = path_data(&(0..=3_000).map(third).collect::<Vec<_>>());
        let sum: f64 = steps[5..].split(' ').step_by(2).map(|step| step.parse::<f64>().unwrap()).sum();
        assert!((sum - 1_000.0).abs() < 1e-6, "{sum}");
    }

    #[test]
    fn dots_are_lines_of_no_length_with_steps_between_them() {
        let mut out = String::new();
        write_dots(&mut out, &[(1.0, 2.0), (3.5, 1.0)], 2.0, Ink::Text);
        assert!(out.starts_with("<path d=\"M1 2h0m2.5-1h0\" "), "{out}");
    }
}
