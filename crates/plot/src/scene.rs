//! A picture as a list of shapes at places, for the writers of SVG and PNG alike.
//!
//! In: the layout fills it. Out: the writers of SVG and PNG read it from first to last.
//! Limits: colours are names ([`Ink`]), so that SVG can leave them to a style sheet.

use crate::figure::{AxisUnit, Category, Colour, SeriesStyle, Strength, Tint};

/// A line without gaps.
pub const SOLID: &[f64] = &[];

#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// Width in user units.
    pub width: f64,
    /// Height in user units.
    pub height: f64,
    /// What is drawn, first at the bottom.
    pub shapes: Vec<SceneShape>,
    /// The time axis, if the x axis is one.
    pub time: Option<TimeAxis>,
    /// The panels above it, from top to bottom.
    pub panels: Vec<PanelPlace>,
}

/// Where the values of a panel lie, for the linked cursor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PanelPlace {
    /// Upper edge of the plot in user units.
    pub top: f64,
    pub height: f64,
    /// The value at its lower edge.
    pub low: f64,
    /// The value at its upper edge.
    pub high: f64,
    /// Whether equal ratios, and not equal differences, have equal distances.
    pub is_log: bool,
    /// How values are written.
    pub unit: AxisUnit,
}

/// What a group of shapes is, for the script of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupMark {
    /// The shaded stretches of a panel.
    Shades,
    /// The numbers and the lines of the y axis of a panel; a zoom replaces them.
    Levels,
    /// The marks of a series. Those of one key are shown and hidden together.
    Series(String),
    /// The name of all series of that key.
    Name(String),
}

/// Where the time axis lies, for the linked cursor.
#[derive(Clone, Copy, Debug)]
pub struct TimeAxis {
    /// Left end in user units.
    pub left: f64,
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
    Paper,
    /// Text to be read first.
    Text,
    /// Text to be read when wanted.
    Faint,
    /// Lines that guide the eye.
    Grid,
    Axis,
    /// The ground of a shaded stretch.
    Shade(Tint),
    /// The deepest colour of a heat map; its lesser levels let the ground through.
    Heat,
    Data(Colour),
    /// Data in a lighter or darker shade.
    Graded(Colour, Strength),
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

/// Levels of cells, a pixel each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeatImage {
    /// Cells side by side.
    pub columns: usize,
    /// Cells above each other.
    pub rows: usize,
    /// The level of each cell from the top left on, row by row; 0 is an empty cell.
    pub levels: Vec<u8>,
    /// The highest level there is.
    pub level_count: usize,
}

#[derive(Clone, Debug)]
pub enum SceneShape {
    Rect {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        ink: Ink,
        opacity: f64,
    },
    /// As `Rect`, with a text that a browser shows when one points at it.
    Titled {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        ink: Ink,
        opacity: f64,
        title: String,
    },
    Line {
        points: Vec<(f64, f64)>,
        ink: Ink,
        width: f64,
        /// Lengths drawn and left out in turn; empty for a solid line.
        dash: &'static [f64],
    },
    /// Hairlines of one ink, each from one end to the other.
    Rules {
        lines: Vec<[(f64, f64); 2]>,
        ink: Ink,
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
    /// Cells of equal size, coloured by level.
    Heat {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        image: HeatImage,
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
    /// What follows, up to `GroupEnd`, belongs together.
    GroupBegin(GroupMark),
    GroupEnd,
}

impl Ink {
    /// Every ink but the shades of the colours of data.
    pub fn all_plain() -> impl Iterator<Item = Ink> {
        let tints = [Tint::Grey, Tint::Blue, Tint::Red, Tint::Yellow, Tint::Violet].map(Ink::Shade);
        let data = Colour::ALL.into_iter().chain(Category::ALL.map(Colour::Category)).map(Ink::Data);
        let others = [Ink::Paper, Ink::Text, Ink::Faint, Ink::Grid, Ink::Axis, Ink::Heat];
        others.into_iter().chain(tints).chain(data)
    }

    /// The shades of the colours of data: those of categories have only a dark one.
    pub fn all_shades() -> impl Iterator<Item = Ink> {
        let dark = Category::ALL.map(|one| Ink::Graded(Colour::Category(one), Strength::DARK));
        Colour::ALL
            .into_iter()
            .flat_map(|colour| Strength::all().map(move |strength| Ink::Graded(colour, strength)))
            .chain(dark)
    }

    /// That of the data of a series.
    pub fn of_style(style: SeriesStyle) -> Ink {
        match style.strength {
            Strength::FULL => Ink::Data(style.colour),
            strength => Ink::Graded(style.colour, strength),
        }
    }

    /// That of the name of a series: never too light to be read.
    pub fn of_name(style: SeriesStyle) -> Ink {
        if let Colour::Category(_) = style.colour {
            return Ink::Graded(style.colour, Strength::DARK);
        }
        Ink::of_style(SeriesStyle { strength: style.strength.max(Strength::TEXT_MIN), ..style })
    }

    /// Red, green and blue on white paper.
    pub fn rgb(self) -> (u8, u8, u8) {
        match self {
            Ink::Paper => (255, 255, 255),
            Ink::Text => (0x1d, 0x23, 0x2a),
            Ink::Faint => (0x5a, 0x64, 0x70),
            Ink::Grid => (0xe3, 0xe7, 0xec),
            Ink::Axis => (0x8a, 0x94, 0xa0),
            Ink::Shade(Tint::Grey) => (0xee, 0xf0, 0xf3),
            Ink::Shade(Tint::Blue) => (0xe4, 0xf1, 0xfa),
            Ink::Shade(Tint::Red) => (0xf6, 0xc4, 0xac),
            Ink::Shade(Tint::Yellow) => (0xfa, 0xf0, 0xc2),
            Ink::Shade(Tint::Violet) => (0x9a, 0x6b, 0xc4),
            Ink::Heat => (0x08, 0x30, 0x6b),
            Ink::Data(Colour::Blue) => (0x00, 0x72, 0xb2),
            Ink::Data(Colour::Vermillion) => (0xd5, 0x5e, 0x00),
            Ink::Data(Colour::Green) => (0x00, 0x9e, 0x73),
            Ink::Data(Colour::Purple) => (0xcc, 0x79, 0xa7),
            Ink::Data(Colour::Orange) => (0xe6, 0x9f, 0x00),
            Ink::Data(Colour::Sky) => (0x56, 0xb4, 0xe9),
            Ink::Data(Colour::Black) => (0x33, 0x33, 0x33),
            Ink::Data(Colour::Category(category)) => category_rgb(category),
            Ink::Graded(colour, strength) => graded(Ink::Data(colour).rgb(), strength),
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
            Ink::Shade(Tint::Grey) => "tint-grey",
            Ink::Shade(Tint::Blue) => "tint-blue",
            Ink::Shade(Tint::Red) => "tint-red",
            Ink::Shade(Tint::Yellow) => "tint-yellow",
            Ink::Shade(Tint::Violet) => "tint-violet",
            Ink::Graded(colour, _) => Ink::Data(colour).class(),
            Ink::Heat => "heat",
            Ink::Data(Colour::Blue) => "blue",
            Ink::Data(Colour::Vermillion) => "vermillion",
            Ink::Data(Colour::Green) => "green",
            Ink::Data(Colour::Purple) => "purple",
            Ink::Data(Colour::Orange) => "orange",
            Ink::Data(Colour::Sky) => "sky",
            Ink::Data(Colour::Black) => "black",
            Ink::Data(Colour::Category(category)) => category_class(category),
        }
    }

    /// A second class, ` l0` to ` l6`, by which a style sheet finds a shade; empty for all other inks.
    pub fn shade_class(self) -> String {
        match self {
            Ink::Graded(_, strength) => format!(" l{}", strength.level()),
            _ => String::new(),
        }
    }
}

fn category_rgb(category: Category) -> (u8, u8, u8) {
    match category {
        Category::Slate => (0x7d, 0x8b, 0xa1),
        Category::Mist => (0xc4, 0xce, 0xdb),
        Category::Lilac => (0xa9, 0x9b, 0xd3),
        Category::Olive => (0xb3, 0xb0, 0x4f),
        Category::Sand => (0xee, 0xdd, 0x88),
        Category::Clay => (0xb9, 0x83, 0x60),
        Category::Rose => (0xea, 0xb0, 0xc8),
        Category::Ash => (0xd5, 0xd2, 0xca),
    }
}

fn category_class(category: Category) -> &'static str {
    match category {
        Category::Slate => "k0",
        Category::Mist => "k1",
        Category::Lilac => "k2",
        Category::Olive => "k3",
        Category::Sand => "k4",
        Category::Clay => "k5",
        Category::Rose => "k6",
        Category::Ash => "k7",
    }
}

/// The share of white, or of black from the middle on, that is mixed into a colour of each level.
const MIXED_IN: [f64; 7] = [0.52, 0.36, 0.18, 0.0, 0.22, 0.40, 0.56];

fn graded((r, g, b): (u8, u8, u8), strength: Strength) -> (u8, u8, u8) {
    let level = usize::from(strength.level());
    let other = if strength < Strength::FULL { 255.0 } else { 0.0 };
    let share = MIXED_IN[level];
    let mix = |own: u8| (f64::from(own) * (1.0 - share) + other * share).round() as u8;
    (mix(r), mix(g), mix(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_category_has_the_colour_of_a_series_and_its_lines_and_names_are_darker_than_its_areas() {
        let brightness = |ink: Ink| {
            let (r, g, b) = ink.rgb();
            u32::from(r) + u32::from(g) + u32::from(b)
        };
        for category in Category::ALL.map(Colour::Category) {
            assert!(Colour::ALL.iter().all(|colour| Ink::Data(*colour).rgb() != Ink::Data(category).rgb()));
            let (line, name) = (Ink::of_style(SeriesStyle::of_line(category)), Ink::of_name(category.into()));
            assert_eq!(line, name);
            assert!(brightness(line) < brightness(Ink::Data(category)) * 2 / 3, "{category:?}");
        }
        let classes: std::collections::BTreeSet<&str> = Ink::all_plain().map(Ink::class).collect();
        assert_eq!(classes.len(), Ink::all_plain().count());
    }

    #[test]
    fn shades_of_a_colour_go_from_light_to_dark() {
        let light = |level: usize| {
            let style = SeriesStyle { strength: Strength::of_rank(level, 7), ..SeriesStyle::nth(0) };
            let (r, g, b) = Ink::of_style(style).rgb();
            u32::from(r) + u32::from(g) + u32::from(b)
        };
        assert!((1..7).all(|level| light(level) < light(level - 1)));
        assert_eq!(Ink::of_style(SeriesStyle::nth(0)), Ink::Data(Colour::Blue));
    }
}
