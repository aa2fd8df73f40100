//! A picture as data: panels over a shared x axis, small multiples, or a table of bars. It knows no pixel and no file format.
//!
//! In: values, labels and styles. Out: a [`Figure`], which the crate lays out and writes as SVG and PNG.
//! Limits: one x axis for all panels; a y value that is not finite breaks a line and draws nothing.

/// One picture: title, conditions and what is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Unique in a document, fit for a file name: `timeline-file-rndrd`.
    pub id: String,
    /// What it shows, in one line.
    pub title: String,
    /// How it was measured; printed at the foot of a picture that goes out alone. A page of many pictures has it once.
    pub conditions: String,
    /// What the reader has to know of this picture; printed below its title.
    pub caption: String,
    pub body: FigureBody,
}

/// The sorts of picture.
#[derive(Clone, Debug, PartialEq)]
pub enum FigureBody {
    /// Panels above each other over one x axis.
    Panels {
        /// The shared x axis.
        x: Axis,
        /// From top to bottom.
        panels: Vec<Panel>,
    },
    /// Small multiples: rows and columns of panels, each with an x axis of the same range.
    Grid {
        /// The x axis of each column.
        x: Axis,
        /// What the styles mean, written once for all panels.
        legend: Vec<(String, SeriesStyle)>,
        /// What distinguishes the columns; a single column may have an empty name.
        columns: Vec<String>,
        /// From top to bottom.
        rows: Vec<GridRow>,
    },
    /// Horizontal bars: one row per thing, one column per measure.
    Bars {
        /// The things, each with the style of its bars.
        rows: Vec<(String, SeriesStyle)>,
        /// One column for each measure, from left to right.
        columns: Vec<BarColumn>,
    },
    /// One strip per thing: how much of each of several limits it used, and what its time was made of.
    Strips {
        /// What the colours of parts mean; empty if no cell has parts.
        legend: Vec<(String, Colour)>,
        /// From left to right.
        columns: Vec<StripColumn>,
        /// From top to bottom.
        rows: Vec<StripRow>,
    },
    /// Horizontal bars that are made of parts: one row per thing, all with one scale from 0.
    Stacks {
        /// What the colours mean.
        legend: Vec<(String, Colour)>,
        /// From top to bottom.
        rows: Vec<StackRow>,
    },
    /// Stacks of functions: a flame graph with its root on top.
    Flames {
        /// What the colours mean, each with its opacity.
        legend: Vec<(String, Colour, f64)>,
        /// The frames that nothing calls, from left to right.
        roots: Vec<FlameFrame>,
    },
}

/// A function in stacks, with those that it calls.
#[derive(Clone, Debug, PartialEq)]
pub struct FlameFrame {
    /// The name of the function, written on its bar.
    pub name: String,
    /// How wide it is, in the unit of all frames: at least the sum of its callees.
    pub value: f64,
    /// What a browser shows behind the name when one points at it; may be empty.
    pub detail: String,
    /// The colour of its bar.
    pub colour: Colour,
    /// How much of the paper its bar hides, from 0 to 1. Its name is written on it.
    pub opacity: f64,
    /// The functions that it calls, from left to right.
    pub callees: Vec<FlameFrame>,
}

/// A column of strips.
#[derive(Clone, Debug, PartialEq)]
pub struct StripColumn {
    /// What its cells show.
    pub label: String,
    /// How wide it is, in widths of the narrowest column.
    pub width: f64,
}

/// The strip of one thing.
#[derive(Clone, Debug, PartialEq)]
pub struct StripRow {
    /// The name of the thing, on the left.
    pub name: String,
    /// The colour of its bars.
    pub style: SeriesStyle,
    /// A cell for each column.
    pub cells: Vec<StripCell>,
}

/// A cell of a strip.
#[derive(Clone, Debug, PartialEq)]
pub enum StripCell {
    Missing,
    /// How far a bar goes towards a limit, from 0 to 1.
    Share {
        /// The length of the bar.
        share: f64,
        /// The figure in words, next to the bar.
        text: String,
        /// Whether the limit was reached: the bar is then drawn in full colour.
        is_reached: bool,
    },
    /// The parts of a whole, from left to right.
    Parts(Vec<(f64, Colour)>),
    /// Words instead of a bar.
    Words(String),
}

/// One bar that is made of parts.
#[derive(Clone, Debug, PartialEq)]
pub struct StackRow {
    /// The name of the thing, on the left.
    pub name: String,
    /// Its parts from left to right; empty if it could not be measured.
    pub parts: Vec<(f64, Colour)>,
    /// The whole in words, next to the bar.
    pub whole: String,
    /// The parts in words, below the bar.
    pub detail: String,
}

/// One row of small multiples, with one y scale.
#[derive(Clone, Debug, PartialEq)]
pub struct GridRow {
    /// The y axis, on the left of its plot area.
    pub y: Axis,
    /// Height of the plot areas.
    pub height: f64,
    /// What is drawn in each column.
    pub cells: Vec<Vec<DataSeries>>,
}

/// One measure of a table of bars. Each column has its own scale from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct BarColumn {
    /// What is measured, with its unit.
    pub label: String,
    /// One value per row with its text; `None` if it could not be measured.
    pub values: Vec<Option<(f64, String)>>,
}

/// An axis: its label, its scale and how its numbers are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What is on it, with the unit.
    pub label: String,
    /// How values become positions.
    pub scale: AxisScale,
    /// How ticks are written.
    pub unit: AxisUnit,
    /// Least and greatest value; `None` takes them from the data (a linear y axis then begins at 0).
    pub range: Option<(f64, f64)>,
}

/// How values become positions.
#[derive(Clone, Debug, PartialEq)]
pub enum AxisScale {
    /// Equal differences, equal distances.
    Linear,
    /// Equal ratios, equal distances. Values must be above 0.
    Log,
    /// As `Log`, with ticks at these values only.
    LogAt(Vec<f64>),
    /// Percentiles (0 to below 100) so that each further nine takes the same distance: position = -log10(1 - p / 100).
    Tail,
    /// Named places 0, 1, 2, ...
    Slots(Vec<String>),
}

/// How the numbers of an axis are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisUnit {
    /// `1.5k`, `2M`.
    Count,
    /// As `Count`, of things of so many bytes each: a second scale on the right counts the same in MB (10^6 bytes).
    CountOf(u32),
    /// Seconds: `10`, `10 min` on long axes, `2 h` on longer ones.
    Seconds,
    /// Nanoseconds: `20 us`, `1 ms`.
    Nanos,
    /// `80 %`.
    Percent,
}

/// One plot area with its y axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What distinguishes it from its neighbours; empty for a figure of one panel.
    pub title: String,
    /// A number worth reading next to the title; may be empty.
    pub note: String,
    /// The y axis, on the left of its plot area.
    pub y: Axis,
    /// Height of the plot area, in the units of a picture 760 wide.
    pub height: f64,
    /// What is drawn in it, first at the bottom.
    pub series: Vec<DataSeries>,
    /// Stretches of the x axis that are shaded.
    pub shades: Vec<Shade>,
}

/// A shaded stretch of the x axis. The caption explains what a tint means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shade {
    /// Where it begins, in units of the x axis.
    pub from: f64,
    /// Where it ends, in units of the x axis.
    pub to: f64,
    /// The colour of the shade, behind all marks.
    pub tint: Tint,
}

/// The looks of a shaded stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    Grey,
    Blue,
    Red,
    Yellow,
    /// Violet, for a single moment: a line from top to bottom.
    Violet,
}

/// Marks of one style that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSeries {
    /// Written next to its last value; empty for no label.
    pub label: String,
    /// Its colour and pattern.
    pub style: SeriesStyle,
    /// What is drawn, first at the bottom.
    pub marks: Vec<Mark>,
}

impl DataSeries {
    /// Marks with a name next to the last of them.
    pub fn named(label: impl Into<String>, style: impl Into<SeriesStyle>, marks: Vec<Mark>) -> DataSeries {
        DataSeries { label: label.into(), style: style.into(), marks }
    }

    /// Marks without a name.
    pub fn unnamed(style: impl Into<SeriesStyle>, marks: Vec<Mark>) -> DataSeries {
        DataSeries::named("", style, marks)
    }
}

/// Something drawn from data.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// Points joined by a line.
    Line(Stroke, Vec<(f64, f64)>),
    /// One dot per point, of this radius.
    Dots(f64, Vec<(f64, f64)>),
    /// As `Dots`, hollow: values that are not to be trusted.
    Rings(f64, Vec<(f64, f64)>),
    /// (x, low, high): a filled area.
    Area(Vec<(f64, f64, f64)>),
    /// (x, low, high): a filled area through which one sees.
    Band(Vec<(f64, f64, f64)>),
    /// (x, low, high): intervals with end caps.
    Whiskers(Vec<(f64, f64, f64)>),
    /// Boxes over places of the x axis, each with its quartiles and ends.
    Boxes(Vec<BoxMark>),
    /// (x, name): lines from top to bottom at places that have a name. They do not widen the axis, and a time axis has none:
    /// names do not follow a zoom.
    Verticals(Vec<(f64, String)>),
    /// The same data in full, of which the other marks of its series show a selection or means. A picture has nothing of it; the script
    /// of a page draws it in their place when the time axis is zoomed.
    Fine(Box<Mark>),
    /// Cells whose colour shows a count. Their colours are those of all heat maps, and not of the series.
    Heat(HeatMap),
}

/// Counts over x and y.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// From left to right.
    pub columns: Vec<HeatColumn>,
    /// Where the rows end on the y axis, from the lower end of the first to the upper end of the last: one more than there are rows. They
    /// are equally high on that axis.
    pub row_ends: Vec<f64>,
    /// What a cell counts, with the size of a cell: written before the legend.
    pub counted: String,
}

/// The cells above a stretch of the x axis.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatColumn {
    /// Where it begins, in units of the x axis.
    pub from: f64,
    /// Where it ends, in units of the x axis.
    pub to: f64,
    /// (row, count); a row that is left out has none.
    pub counts: Vec<(usize, u64)>,
}

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// Joins the dots and stays behind them.
    Thin,
    /// The thing to read.
    Solid,
    /// A reference, or the lesser of two.
    Dashed,
}

/// A box from the 25th to the 75th percentile with whiskers from the 5th to the 95th.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxMark {
    /// Its place on the x axis.
    pub x: f64,
    /// Percentiles 5, 25, 50, 75 and 95.
    pub percentiles: [f64; 5],
    /// The values outside the whiskers.
    pub outliers: Vec<f64>,
    /// Drawn in outline only, because its values are not to be trusted.
    pub is_hollow: bool,
}

/// The colours of Okabe and Ito, distinct with any sort of colour vision
/// (<https://jfly.uni-koeln.de/color/>), without the yellow that is lost on white paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    Blue,
    Vermillion,
    Green,
    Purple,
    Orange,
    Sky,
    Black,
    /// Not of a thing that is compared, but of a part of something: a use of the CPU, a state of threads.
    Category(Category),
}

/// The colours of parts of a whole. They are muted, and keep away from the strong blue, red and green that the first series have, so that
/// a part is not taken for an engine. Neighbours differ in lightness, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    Slate,
    Mist,
    Lilac,
    Olive,
    Sand,
    Clay,
    Rose,
    Ash,
}

impl Category {
    /// All of them, in the order in which parts take them.
    pub const ALL: [Category; 8] = [
        Category::Slate,
        Category::Mist,
        Category::Lilac,
        Category::Olive,
        Category::Sand,
        Category::Clay,
        Category::Rose,
        Category::Ash,
    ];
}

impl Colour {
    /// Those of series, in the order in which they take them.
    pub const ALL: [Colour; 7] =
        [Colour::Blue, Colour::Vermillion, Colour::Green, Colour::Purple, Colour::Orange, Colour::Sky, Colour::Black];
}

/// How light or dark a colour is drawn, so that ordered values of one thing have ordered shades of its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Strength(u8);

impl Strength {
    /// The colour as it is, neither lighter nor darker.
    pub const FULL: Strength = Strength(3);
    /// So dark that a line of a pale colour is seen, and text in it can be read.
    pub const DARK: Strength = Strength(5);
    const MOST: u8 = 6;
    /// The lightest in which text can be read.
    pub(crate) const TEXT_MIN: Strength = Strength(2);

    /// That of the value with the index `rank` among `count` ordered values, the lightest first.
    pub fn of_rank(rank: usize, count: usize) -> Strength {
        if count < 2 {
            return Strength::FULL;
        }
        // Few values need not go to the ends, which are hardly a colour any more.
        let margin = if count < 4 { 1.0 } else { 0.0 };
        let steps = rank.min(count - 1) as f64 * (f64::from(Strength::MOST) - 2.0 * margin) / (count - 1) as f64;
        Strength((margin + steps).round() as u8)
    }

    /// All but the colour itself, the lightest first.
    pub(crate) fn all() -> impl Iterator<Item = Strength> {
        (0..=Strength::MOST).map(Strength).filter(|strength| *strength != Strength::FULL)
    }

    /// Its number from 0, the lightest, to 6.
    pub fn level(self) -> u8 {
        self.0
    }
}

/// What distinguishes the series of one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesStyle {
    /// The colour of its lines, areas and dots.
    pub colour: Colour,
    /// How light or dark that is.
    pub strength: Strength,
    /// Its dashes, and the shape of its dots.
    pub pattern: Pattern,
}

/// The dashes of a line and the shape of its dots, for more series than there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A solid line, round dots.
    Plain,
    /// A dotted line, squares.
    Dotted,
    /// Dashes and dots in turn, diamonds.
    Chain,
    /// Lines of long dashes, triangles.
    LongDash,
}

impl Pattern {
    /// All of them, in the order in which series take them.
    pub const ALL: [Pattern; 4] = [Pattern::Plain, Pattern::Dotted, Pattern::Chain, Pattern::LongDash];
}

impl SeriesStyle {
    /// The style of the series with that index: all colours in the first pattern, then all in the next. The first 28 differ.
    pub fn nth(index: usize) -> SeriesStyle {
        let colour = Colour::ALL[index % Colour::ALL.len()];
        let pattern = Pattern::ALL[index / Colour::ALL.len() % Pattern::ALL.len()];
        SeriesStyle { colour, strength: Strength::FULL, pattern }
    }
}

impl SeriesStyle {
    /// A line of `colour`: one of a category is darker than its area would be.
    pub fn of_line(colour: Colour) -> SeriesStyle {
        let strength = if let Colour::Category(_) = colour { Strength::DARK } else { Strength::FULL };
        SeriesStyle { strength, ..SeriesStyle::from(colour) }
    }
}

impl From<Colour> for SeriesStyle {
    fn from(colour: Colour) -> SeriesStyle {
        SeriesStyle { colour, strength: Strength::FULL, pattern: Pattern::Plain }
    }
}

/// A time axis that is longer than this, in seconds, counts in minutes.
pub const MINUTES_FROM_S: f64 = 600.0;
/// A time axis that is longer than this, in seconds, counts in hours.
pub const HOURS_FROM_S: f64 = 10_800.0;

impl Axis {
    /// Time from `range.0` to `range.1` in seconds; `since` completes its label: `seconds since the start`.
    pub fn seconds(since: &str, range: (f64, f64)) -> Axis {
        let unit = if range.1 - range.0 > MINUTES_FROM_S { "time" } else { "seconds" };
        let label = format!("{unit} since {since}");
        Axis { label, scale: AxisScale::Linear, unit: AxisUnit::Seconds, range: Some(range) }
    }

    /// Anything that is drawn from 0.
    pub fn from_zero(label: &str, unit: AxisUnit) -> Axis {
        Axis { label: label.to_owned(), scale: AxisScale::Linear, unit, range: None }
    }

    /// Times on a logarithmic scale.
    pub fn nanos(label: &str) -> Axis {
        Axis { label: format!("{label} (log scale)"), scale: AxisScale::Log, unit: AxisUnit::Nanos, range: None }
    }
}

impl AxisUnit {
    /// A name for the script of a page, which writes numbers of its own.
    pub fn name(self) -> &'static str {
        match self {
            AxisUnit::Count | AxisUnit::CountOf(_) => "count",
            AxisUnit::Seconds => "seconds",
            AxisUnit::Nanos => "nanos",
            AxisUnit::Percent => "percent",
        }
    }
}

impl Figure {
    /// Whether the x axis is time, so that a cursor can be linked and the time be zoomed.
    pub fn is_over_time(&self) -> bool {
        matches!(&self.body, FigureBody::Panels { x, .. } if x.unit == AxisUnit::Seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eighth_series_has_the_colour_of_the_first_and_another_pattern() {
        let styles: Vec<SeriesStyle> = (0..28).map(SeriesStyle::nth).collect();
        assert_eq!((styles[7].colour, styles[7].pattern), (styles[0].colour, Pattern::Dotted));
        let all_differ = (0..28).all(|a| (0..a).all(|b| styles[a] != styles[b]));
        assert!(all_differ, "{styles:?}");
    }

    #[test]
    fn ordered_values_have_ordered_shades_and_a_single_one_has_the_colour_itself() {
        let levels = |count| (0..count).map(|rank| Strength::of_rank(rank, count).level()).collect::<Vec<_>>();
        assert_eq!((levels(1), levels(2), levels(3)), (vec![3], vec![1, 5], vec![1, 3, 5]));
        assert_eq!(levels(7), [0, 1, 2, 3, 4, 5, 6]);
    }
}
