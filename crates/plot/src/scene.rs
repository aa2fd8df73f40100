//! A picture as a list of shapes at places: what SVG and PNG have in common.
//!
//! In: the layout fills it. Out: the writers of SVG and PNG read it from first to last.
//! Limits: colours are names ([`Ink`]), so that SVG can leave them to a style sheet; text is measured by estimate.

use crate::figure::Colour;

/// A picture.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// Width in user units.
    pub width: f64,
    /// Height in user units.
    pub height: f64,
    /// What is drawn, first at the bottom.
    pub shapes: Vec<Shape>,
    /// The time axis, where there is one.
    pub time: Option<TimeAxis>,
}

/// Where the time axis lies, for the linked cursor.
#[derive(Clone, Copy, Debug)]
pub struct TimeAxis {
    /// Left end in user units.
    pub left: f64,
    /// Right end.
    pub right: f64,
    /// Top of the first panel.
    pub top: f64,
    /// Bottom of the last panel.
    pub bottom: f64,
    /// Seconds at the left end.
    pub from_s: f64,
    /// Seconds at the right end.
    pub to_s: f64,
}

/// The role of a shape, and so its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The ground.
    Paper,
    /// Text to be read first.
    Text,
    /// Text to be read when wanted.
    Faint,
    /// Lines that guide the eye.
    Grid,
    /// The axes.
    Axis,
    /// The ground of the warmup.
    Warmup,
    /// The ground of the window of a run that goes by rounds.
    Window,
    /// The ground of a stall.
    Stall,
    Drop,
    Shift,
    /// Data.
    Data(Colour),
}

/// Where a text's anchor lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The text begins there.
    Start,
    /// The text is centred there.
    Middle,
    /// The text ends there.
    End,
}

/// One shape.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Shape {
    Rect {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        ink: Ink,
        opacity: f64,
    },
    Line {
        points: Vec<(f64, f64)>,
        ink: Ink,
        width: f64,
        dashed: bool,
    },
    Dots {
        points: Vec<(f64, f64)>,
        radius: f64,
        ink: Ink,
    },
    Polygon {
        points: Vec<(f64, f64)>,
        ink: Ink,
        opacity: f64,
    },
    Text {
        x: f64,
        y: f64,
        text: String,
        size: u32,
        anchor: Anchor,
        ink: Ink,
        bold: bool,
    },
    /// What follows, up to `PlotEnd`, is clipped to this area; a time axis zooms it.
    PlotBegin {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
    },
    PlotEnd,
    /// What follows, up to `TicksEnd`, are the labels and grid lines of the x axis; a zoom replaces them.
    TicksBegin,
    TicksEnd,
}

impl Ink {
    /// Red, green and blue on white paper.
    pub fn rgb(self) -> (u8, u8, u8) {
        match self {
            Ink::Paper => (255, 255, 255),
            Ink::Text => (0x1d, 0x23, 0x2a),
            Ink::Faint => (0x5a, 0x64, 0x70),
            Ink::Grid => (0xe3, 0xe7, 0xec),
            Ink::Axis => (0x8a, 0x94, 0xa0),
            Ink::Warmup => (0xee, 0xf0, 0xf3),
            Ink::Window => (0xe4, 0xf1, 0xfa),
            Ink::Stall => (0xf9, 0xd9, 0xc8),
            Ink::Drop => (0xfa, 0xf0, 0xc2),
            Ink::Shift => (0x9a, 0x6b, 0xc4),
            Ink::Data(Colour::Blue) => (0x00, 0x72, 0xb2),
            Ink::Data(Colour::Vermillion) => (0xd5, 0x5e, 0x00),
            Ink::Data(Colour::Green) => (0x00, 0x9e, 0x73),
            Ink::Data(Colour::Purple) => (0xcc, 0x79, 0xa7),
            Ink::Data(Colour::Orange) => (0xe6, 0x9f, 0x00),
            Ink::Data(Colour::Sky) => (0x56, 0xb4, 0xe9),
            Ink::Data(Colour::Black) => (0x33, 0x33, 0x33),
        }
    }

    /// The class by which a style sheet finds it.
    pub fn class(self) -> &'static str {
        match self {
            Ink::Paper => "paper",
            Ink::Text => "text",
            Ink::Faint => "faint",
            Ink::Grid => "grid",
            Ink::Axis => "axis",
            Ink::Warmup => "warmup",
            Ink::Window => "window",
            Ink::Stall => "stall",
            Ink::Drop => "drop",
            Ink::Shift => "shift",
            Ink::Data(Colour::Blue) => "blue",
            Ink::Data(Colour::Vermillion) => "vermillion",
            Ink::Data(Colour::Green) => "green",
            Ink::Data(Colour::Purple) => "purple",
            Ink::Data(Colour::Orange) => "orange",
            Ink::Data(Colour::Sky) => "sky",
            Ink::Data(Colour::Black) => "black",
        }
    }
}

/// The width of `text`, estimated from DejaVu Sans, the widest face a reader is likely to see.
pub fn text_width(text: &str, size: u32) -> f64 {
    text.chars().map(em_of).sum::<f64>() * f64::from(size)
}

/// The same in bold, which browsers draw and PNGs do not: DejaVu Sans Bold, the widest of the faces asked for, is a seventh wider.
pub fn bold_width(text: &str, size: u32) -> f64 {
    text_width(text, size) * BOLD
}

/// How many times as wide text is in bold.
pub const BOLD: f64 = 1.15;

fn em_of(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | ' ' | FIRM_SPACE | 'I' => 0.32,
        'f' | 't' | 'r' | '(' | ')' | '/' | '-' => 0.40,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
        'A'..='Z' => 0.70,
        c if c.is_ascii() => 0.63,
        '\u{2E80}'..='\u{FFFF}' | '\u{1F000}'.. => 1.0,
        _ => 0.70,
    }
}

/// `text` cut to `width`, with `...` where something is missing.
pub fn cut(text: &str, size: u32, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if text_width(&out, size) + text_width("...", size) > width {
            out.pop();
            break;
        }
    }
    out + "..."
}

/// A space at which no line ends.
pub const FIRM_SPACE: char = '\u{a0}';

/// `text` in lines of at most `width`, broken at spaces; a single word too long is cut.
pub fn wrap(text: &str, size: u32, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() && c != FIRM_SPACE).filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), size) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(cut(word, size, width)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_and_wrapped_to_its_width() {
        assert!(text_width(&cut("a very long label indeed", 13, 80.0), 13) <= 80.0);
        assert_eq!(cut("short", 13, 80.0), "short");
        let lines = wrap("n = 12 intervals of 0.25 s, closed loop, one client after the other", 13, 160.0);
        assert!(lines.len() > 2 && lines.iter().all(|l| text_width(l, 13) <= 160.0), "{lines:?}");
    }
}
