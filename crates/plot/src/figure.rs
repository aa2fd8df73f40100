//! What a chart shows, as data: panels over a shared x axis, small multiples, or a table of bars. Nothing here knows a pixel or a file format.
//!
//! In: charts make figures from an analysis. Out: `render` lays them out and writes them as SVG and PNG.
//! Limits: one x axis for all panels; a y value that is not finite breaks a line and draws nothing.

/// One picture: title, conditions and what is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Unique in the report, fit for a file name: `timeline-file-rndrd`.
    pub id: String,
    /// What it shows, in one line.
    pub title: String,
    /// n and conditions; printed inside the picture.
    pub caption: String,
    /// What is drawn.
    pub body: Body,
}

/// The sorts of picture.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
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
        /// What the colours stand for, written once for all panels.
        legend: Vec<(String, Colour)>,
        /// What distinguishes the columns; one without a name where there is one.
        columns: Vec<String>,
        /// From top to bottom.
        rows: Vec<GridRow>,
    },
    /// Horizontal bars: one row per thing, one column per measure.
    Bars {
        /// The things.
        rows: Vec<String>,
        /// The measures.
        columns: Vec<BarColumn>,
    },
}

/// One row of small multiples, with one y scale.
#[derive(Clone, Debug, PartialEq)]
pub struct GridRow {
    /// Its y axis.
    pub y: Axis,
    /// Height of the plot areas.
    pub height: f64,
    /// What is drawn in each column.
    pub cells: Vec<Vec<Series>>,
}

/// One measure of a table of bars. Each column has its own scale from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct BarColumn {
    /// What is measured, with its unit.
    pub label: String,
    /// One value per row with its text; `None` where it could not be measured.
    pub values: Vec<Option<(f64, String)>>,
    /// The colour of the bars.
    pub colour: Colour,
}

/// An axis: its label, its scale and how its numbers are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What is on it, with the unit.
    pub label: String,
    /// How values become positions.
    pub scale: Scale,
    /// How ticks are written.
    pub unit: Unit,
    /// Least and greatest value; `None` takes them from the data (a linear y axis then begins at 0).
    pub range: Option<(f64, f64)>,
}

/// How values become positions.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
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
pub enum Unit {
    /// `1.5k`, `2M`.
    Count,
    /// As `Count`, of operations of so many bytes each: a second scale on the right counts the same in MB (10^6 bytes).
    CountOf(u32),
    /// Seconds since the run phase began: `10`, `10 min` on long axes, `2 h` on longer ones.
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
    /// A figure worth reading beside the title; may be empty.
    pub note: String,
    /// Its y axis.
    pub y: Axis,
    /// Height of the plot area, in the units of a picture 760 wide.
    pub height: f64,
    /// What is drawn in it, first at the bottom.
    pub series: Vec<Series>,
    /// Stretches of the x axis that are shaded.
    pub shades: Vec<Shade>,
}

/// A shaded stretch of the x axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shade {
    /// Its beginning.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// What it means.
    pub kind: ShadeKind,
}

/// What a shaded stretch means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShadeKind {
    /// Before the run phase: drawn, and not counted.
    Warmup,
    /// Rounds of the run phase before the window: drawn, and not counted.
    NotCounted,
    /// The window of a run that goes by rounds: what counts of it.
    Window,
    /// A stall.
    Stall,
    /// A drop far below the level, and no stall.
    Drop,
    /// The moment at which the level shifted.
    Shift,
}

/// Marks of one colour that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Written beside its last value; empty for no label.
    pub label: String,
    /// Its colour.
    pub colour: Colour,
    /// What is drawn.
    pub marks: Vec<Mark>,
}

/// Something drawn from data.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// Points joined by a line.
    Line(Stroke, Vec<(f64, f64)>),
    /// One dot per point, of this radius.
    Dots(f64, Vec<(f64, f64)>),
    /// (x, low, high): a filled area.
    Area(Vec<(f64, f64, f64)>),
    /// (x, low, high): a filled area through which one sees.
    Band(Vec<(f64, f64, f64)>),
    /// (x, low, high): intervals with end caps.
    Whiskers(Vec<(f64, f64, f64)>),
    /// Box plots.
    Boxes(Vec<BoxMark>),
    /// (x, name): lines from top to bottom at places that have a name. They do not widen the axis, and a time axis has none:
    /// names do not follow a zoom.
    Verticals(Vec<(f64, String)>),
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
    /// Where it stands.
    pub x: f64,
    /// Percentiles 5, 25, 50, 75 and 95.
    pub percentiles: [f64; 5],
    /// The values outside the whiskers.
    pub outliers: Vec<f64>,
}

/// The colours of Okabe and Ito, told apart with any sort of colour vision
/// (<https://jfly.uni-koeln.de/color/>), without the yellow that is lost on white paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Colour {
    Blue,
    Vermillion,
    Green,
    Purple,
    Orange,
    Sky,
    Black,
}

impl Colour {
    /// The colours in the order in which series take them.
    pub const ALL: [Colour; 7] =
        [Colour::Blue, Colour::Vermillion, Colour::Green, Colour::Purple, Colour::Orange, Colour::Sky, Colour::Black];

    /// The colour of the series with that index.
    pub fn nth(index: usize) -> Colour {
        Colour::ALL[index % Colour::ALL.len()]
    }
}

/// Longer time axes count in minutes,
pub const MINUTES_FROM_S: f64 = 600.0;
/// and from here on in hours.
pub const HOURS_FROM_S: f64 = 10_800.0;

impl Axis {
    /// Seconds since the run phase began, from the first warmup interval to the end.
    pub fn seconds(range: (f64, f64)) -> Axis {
        let unit = if range.1 - range.0 > MINUTES_FROM_S { "time" } else { "seconds" };
        let label = format!("{unit} since the run phase began");
        Axis { label, scale: Scale::Linear, unit: Unit::Seconds, range: Some(range) }
    }

    /// Operations per second from 0.
    pub fn ops_per_s() -> Axis {
        Axis::from_zero("operations/s", Unit::Count)
    }

    /// Anything that is drawn from 0.
    pub fn from_zero(label: &str, unit: Unit) -> Axis {
        Axis { label: label.to_owned(), scale: Scale::Linear, unit, range: None }
    }

    /// Times on a logarithmic scale.
    pub fn nanos(label: &str) -> Axis {
        Axis { label: format!("{label} (log scale)"), scale: Scale::Log, unit: Unit::Nanos, range: None }
    }
}

impl Figure {
    /// Whether the x axis is time, so that a cursor can be linked and the time be zoomed.
    pub fn is_over_time(&self) -> bool {
        matches!(&self.body, Body::Panels { x, .. } if x.unit == Unit::Seconds)
    }
}
