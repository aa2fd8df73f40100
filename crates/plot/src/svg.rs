//! A scene as an SVG document: scalable, with classes for a style sheet, and colours of its own without one.
//!
//! In: a scene. Out: text. Limits: no script, no font, no reference to anything outside; the script of the HTML report finds
//! its way by the classes and the `data-` attributes.

use crate::escape::escape_xml;
use crate::figure::Figure;
use crate::scene::{Anchor, Ink, Scene, Shape};
use std::fmt::Write;

const FONT: &str = "system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif";

/// The document. `figure` gives its identity and its title for screen readers, `class` its class.
pub fn write_svg(scene: &Scene, figure: &Figure, class: &str) -> String {
    let mut out = String::new();
    open(&mut out, scene, figure, class);
    for (n, shape) in scene.shapes.iter().enumerate() {
        write_shape(&mut out, shape, &format!("{}-{n}", figure.id));
        out.push('\n');
    }
    out.push_str("</svg>\n");
    out
}

fn open(out: &mut String, scene: &Scene, figure: &Figure, class: &str) {
    let (w, h, id) = (short(scene.width), short(scene.height), escape_xml(&figure.id));
    put(
        out,
        format_args!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" "),
    );
    put(out, format_args!("class=\"{class}\" role=\"img\" aria-labelledby=\"t-{id}\" font-family=\"{FONT}\""));
    if let Some(t) = scene.time {
        let [left, right, top, bottom] = [t.left, t.right, t.top, t.bottom].map(short);
        put(
            out,
            format_args!(" data-left=\"{left}\" data-right=\"{right}\" data-top=\"{top}\" data-bottom=\"{bottom}\""),
        );
        put(out, format_args!(" data-from=\"{}\" data-to=\"{}\"", t.from_s, t.to_s));
    }
    put(
        out,
        format_args!(
            ">\n<title id=\"t-{id}\">{}. {}</title>\n",
            escape_xml(&figure.title),
            escape_xml(&figure.caption)
        ),
    );
}

fn write_shape(out: &mut String, shape: &Shape, unique: &str) {
    match shape {
        Shape::Rect { x, y, width, height, ink, opacity } => {
            let [x, y, w, h] = [*x, *y, width.max(0.0), height.max(0.0)].map(short);
            put(
                out,
                format_args!(
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"{}{}/>",
                    fill(*ink),
                    faded(*opacity)
                ),
            );
        }
        Shape::Line { points, ink, width, dash } => {
            let dash = dash_array(dash);
            let style = "fill=\"none\" stroke-linejoin=\"round\" vector-effect=\"non-scaling-stroke\"";
            put(out, format_args!("<path d=\"{}\" {style}{}{dash}", path(points), stroke(*ink, *width)));
            out.push_str("/>");
        }
        Shape::Dots { points, radius, ink } => dots(out, points, *radius, *ink),
        Shape::Polygon { points, ink, opacity } => {
            put(out, format_args!("<path d=\"{}Z\"{}{}/>", path(points), fill(*ink), faded(*opacity)));
        }
        Shape::Text { x, y, text, size, anchor, ink, bold } => {
            let weight = if *bold { " font-weight=\"600\"" } else { "" };
            let [x, y] = [*x, *y].map(short);
            put(
                out,
                format_args!(
                    "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{}{weight}{}>",
                    anchored(*anchor),
                    fill(*ink)
                ),
            );
            put(out, format_args!("{}</text>", escape_xml(text)));
        }
        Shape::PlotBegin { x, y, width, height } => {
            let [x, y, w, h] = [*x, *y, *width, *height].map(short);
            let id = format!("c-{}", escape_xml(unique));
            put(
                out,
                format_args!(
                    "<clipPath id=\"{id}\"><rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/></clipPath>"
                ),
            );
            put(out, format_args!("<g clip-path=\"url(#{id})\"><g class=\"plot\">"));
        }
        Shape::PlotEnd => out.push_str("</g></g>"),
        Shape::TicksBegin => out.push_str("<g class=\"ticks\">"),
        Shape::TicksEnd => out.push_str("</g>"),
    }
}

fn dash_array(dash: &[f64]) -> String {
    let lengths: Vec<String> = dash.iter().map(|length| short(*length)).collect();
    if lengths.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", lengths.join(" ")) }
}

/// Dots as lines of no length with round ends: a tenth of the text of circles, and round whatever the zoom.
fn dots(out: &mut String, points: &[(f64, f64)], radius: f64, ink: Ink) {
    out.push_str("<path d=\"");
    for (x, y) in points {
        put(out, format_args!("M{} {}h0", short(*x), short(*y)));
    }
    let style = "stroke-linecap=\"round\" vector-effect=\"non-scaling-stroke\"";
    put(out, format_args!("\" fill=\"none\" {style}{}/>", stroke(ink, radius * 2.0)));
}

fn path(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        put(&mut d, format_args!("{}{} {}", if i == 0 { 'M' } else { 'L' }, short(*x), short(*y)));
    }
    d
}

fn put(out: &mut String, args: std::fmt::Arguments<'_>) {
    out.write_fmt(args).expect("writing to a String cannot fail");
}

/// At most one decimal: a tenth of a unit cannot be seen.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn fill(ink: Ink) -> String {
    let (r, g, b) = ink.rgb();
    format!(" class=\"f-{}\" fill=\"#{r:02x}{g:02x}{b:02x}\"", ink.class())
}

fn stroke(ink: Ink, width: f64) -> String {
    let (r, g, b) = ink.rgb();
    format!(" class=\"s-{}\" stroke=\"#{r:02x}{g:02x}{b:02x}\" stroke-width=\"{}\"", ink.class(), short(width))
}

fn faded(opacity: f64) -> String {
    if opacity >= 1.0 { String::new() } else { format!(" fill-opacity=\"{opacity:.2}\"") }
}

fn anchored(anchor: Anchor) -> &'static str {
    match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    }
}
