//! The pictures of the HTML report: which is seen first, which are open, and which are folded away by section.
//!
//! In: the figures of all charts. Out: a [`ChartLayout`]. Limits: every figure is in one place, and none is left out; a section beyond a
//! handful of pictures has each folded under its title.

use super::chart_table::{TABLE_ROWS, TABLE_ROWS_FEW, figure_table};
use crate::charts::{Chart, showing};
use crate::sheet::{FigurePoints, sheets};
use crate::table::{Cell, Column, Row, Table};
use analysis::Analysis;
use analysis::answer::AnswerKind;
use plot::figure::{Figure, FigureBody};

/// The charts whose first figure is the main picture of a run if none that shows its answer has one, the most telling first.
const MAIN: [&str; 10] = [
    "survey",
    "limit",
    "kernels",
    "compression",
    "variants",
    "throughput",
    "instances",
    "inserts",
    "connections",
    "timeline",
];
/// The charts that are seen without opening anything, in this order.
const OPEN: [&str; 2] = ["ceilings", "timeline"];
/// So many figures of an open section are seen; the others are folded under their titles.
const OPEN_FIGURES_MAX: usize = 2;
/// Beyond that, each figure of a folded section is folded, too.
const FIGURES_UNFOLDED_MAX: usize = 4;
/// Fewer sheets are found without an index.
const SHEETS_INDEXED_MIN: usize = 4;
/// Each figure of the second chart is drawn next to its figure of the first.
const SIDE_BY_SIDE: [&str; 2] = ["throughput", "response"];

/// Where the pictures are.
pub struct ChartLayout {
    /// The main picture, with its partner if it has one.
    pub main: Option<ChartSection>,
    /// Those that are seen.
    pub open: Vec<ChartSection>,
    /// Those that are folded.
    pub folded: Vec<ChartSection>,
    /// The conditions of the pictures, each once.
    pub measured: Vec<String>,
}

/// The figures of one chart, or of two charts that are read side by side.
#[derive(Clone, Debug)]
pub struct ChartSection {
    /// The id of the section.
    pub id: &'static str,
    pub title: String,
    /// How to read it.
    pub help: String,
    pub figures: Vec<Picture>,
}

#[derive(Clone, Debug)]
pub struct Picture {
    /// The id of its figure.
    pub id: String,
    pub title: String,
    pub svg: String,
    /// Whether it has the whole width: small multiples, bars, and a figure that is alone.
    pub wide: bool,
    /// Whether it is folded under its title.
    pub folded: bool,
    /// The same for a narrow place, if there is one.
    pub narrow: Option<String>,
    /// Its values as a folded table.
    pub table: String,
    /// The place of its conditions among those of all pictures.
    pub measured: Option<usize>,
}

/// A chart with its figures.
pub type Drawn = (&'static Chart, Vec<Figure>);

/// Places the figures of `all` charts; the main one shows an answer of `kind`.
pub fn lay_out(all: &[Drawn], kind: AnswerKind) -> ChartLayout {
    // A survey shows all of its run in one picture.
    let mut ids = std::iter::once(&MAIN[0]).chain(showing(kind)).chain(&MAIN);
    let chosen = ids.find_map(|id| all.iter().find(|(chart, figures)| chart.id == *id && !figures.is_empty()));
    let main: Vec<&Figure> = chosen.map_or(Vec::new(), |(_, figures)| with_partner(all, &figures[0]));
    let is_main = |figure: &Figure| main.iter().any(|other| other.id == figure.id);
    let rests: Vec<Rest> = all
        .iter()
        .map(|(chart, figures)| Rest { chart, figures: figures.iter().filter(|figure| !is_main(figure)).collect() })
        .collect();
    let of = |id: &str| rests.iter().find(|rest| rest.chart.id == id);
    let shared = SharedParts { measured: measured(all), has_many: has_many(all) };
    let open = OPEN.iter().filter_map(|id| of(id));
    let open = open.filter_map(|rest| section(rest.chart, &rest.figures, SectionPlace::Open, &shared));
    let others = rests.iter().filter(|rest| !OPEN.contains(&rest.chart.id) && rest.chart.id != SIDE_BY_SIDE[1]);
    let folded = others.filter_map(|rest| match of(SIDE_BY_SIDE[1]).filter(|_| rest.chart.id == SIDE_BY_SIDE[0]) {
        Some(partners) => paired(all, rest, partners, &shared),
        None => section(rest.chart, &rest.figures, SectionPlace::Folded, &shared),
    });
    let (open, folded) = (open.collect(), folded.collect());
    let main = chosen.and_then(|(chart, _)| section(chart, &main, SectionPlace::Main, &shared));
    ChartLayout { main, open, folded, measured: shared.measured }
}

/// What all pictures of a page have in common.
struct SharedParts {
    /// Their conditions, each once.
    measured: Vec<String>,
    /// Whether there are so many that each must be small.
    has_many: bool,
}

/// Where a section is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SectionPlace {
    Main,
    Open,
    Folded,
}

impl SectionPlace {
    /// So many of its figures are not folded.
    fn seen_max(self) -> usize {
        match self {
            SectionPlace::Main => usize::MAX,
            SectionPlace::Open => OPEN_FIGURES_MAX,
            SectionPlace::Folded => FIGURES_UNFOLDED_MAX,
        }
    }
}

fn measured(all: &[Drawn]) -> Vec<String> {
    let mut measured: Vec<String> = Vec::new();
    for figure in all.iter().flat_map(|(_, figures)| figures).filter(|figure| !figure.conditions.is_empty()) {
        if !measured.contains(&figure.conditions) {
            measured.push(figure.conditions.clone());
        }
    }
    measured
}

/// Of so many pictures, narrow forms of those that are folded and long tables would be half of the page.
const MANY_FIGURES: usize = 40;

fn has_many(all: &[Drawn]) -> bool {
    all.iter().map(|(_, figures)| figures.len()).sum::<usize>() > MANY_FIGURES
}

/// The figures of a chart but the main one.
struct Rest<'a> {
    chart: &'static Chart,
    figures: Vec<&'a Figure>,
}

/// `figure`, and the one that is read next to it. A figure that has the response time in it has none.
fn with_partner<'a>(all: &'a [Drawn], figure: &'a Figure) -> Vec<&'a Figure> {
    let [first, second] = SIDE_BY_SIDE;
    let partner = figure.id.strip_prefix(first).map(|rest| format!("{second}{rest}"));
    let others = all.iter().flat_map(|(_, figures)| figures);
    std::iter::once(figure).chain(others.filter(|other| Some(&other.id) == partner.as_ref())).collect()
}

/// The section of `rest`, with each figure of `partners` next to its own.
fn paired(all: &[Drawn], rest: &Rest, partners: &Rest, shared: &SharedParts) -> Option<ChartSection> {
    let mut figures: Vec<&Figure> = rest.figures.iter().flat_map(|figure| with_partner(all, figure)).collect();
    let is_new = |other: &&&Figure| figures.iter().all(|figure| figure.id != other.id);
    let alone: Vec<&Figure> = partners.figures.iter().filter(is_new).copied().collect();
    figures.extend(alone);
    let (own, other) = (rest.chart, partners.chart);
    Some(ChartSection {
        title: format!("{} and {}", own.title.replace(" against clients and depth", ""), lower_first(other.title)),
        help: format!("{} {}", own.help, other.help),
        ..section(rest.chart, &figures, SectionPlace::Folded, shared)?
    })
}

fn lower_first(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or(String::new(), |first| first.to_lowercase().chain(rest).collect())
}

/// The section of `chart`; `None` without figures. If there are more than its place shows, the others are folded.
fn section(
    chart: &'static Chart,
    figures: &[&Figure],
    place: SectionPlace,
    shared: &SharedParts,
) -> Option<ChartSection> {
    // Of those twice as many pictures would be half of the file.
    let is_of_point = chart.of_points.is_some();
    let is_wide_only = is_of_point || (place == SectionPlace::Folded && shared.has_many);
    let picture = |(nth, figure): (usize, &&Figure)| {
        // A figure that is folded under its title is alone, too, when it is opened.
        let wide = is_of_point || is_wide(figure) || figures.len() == 1 || nth >= place.seen_max();
        Picture {
            id: figure.id.clone(),
            title: figure.title.clone(),
            svg: if wide { plot::render_wide_page_svg(figure) } else { plot::render_page_svg(figure) },
            wide,
            folded: nth >= place.seen_max(),
            narrow: if is_wide_only { None } else { plot::render_narrow_svg(figure) },
            table: figure_table(figure, if shared.has_many { TABLE_ROWS_FEW } else { TABLE_ROWS }),
            measured: shared.measured.iter().position(|one| *one == figure.conditions),
        }
    };
    (!figures.is_empty()).then(|| ChartSection {
        id: chart.id,
        title: chart.title.to_owned(),
        help: chart.help.to_owned(),
        figures: figures.iter().enumerate().map(picture).collect(),
    })
}

fn is_wide(figure: &Figure) -> bool {
    match &figure.body {
        FigureBody::Grid { columns, .. } => columns.len() > 2,
        // They have no narrow form.
        FigureBody::Strips { .. } | FigureBody::Bars { .. } | FigureBody::Stacks { .. } | FigureBody::Flames { .. } => {
            true
        }
        FigureBody::Panels { .. } => false,
    }
}

/// Which charts have a picture of which sheet, with links; `None` if there are few sheets.
pub fn index_table(analysis: &Analysis, all: &[Drawn]) -> Option<Table> {
    let sheets = sheets(analysis);
    if sheets.len() < SHEETS_INDEXED_MIN {
        return None;
    }
    let of = |(chart, figures): &Drawn, sheet: &FigurePoints| {
        let id = format!("{}-{}", chart.id, sheet.slug);
        figures.iter().any(|figure| figure.id == id).then_some(id)
    };
    let charts: Vec<_> = all.iter().filter(|chart| sheets.iter().any(|sheet| of(chart, sheet).is_some())).collect();
    let cell = |id: Option<String>| id.map_or_else(Cell::default, |id| Cell::from("show").link(format!("figure-{id}")));
    let row = |sheet: &FigurePoints| {
        let label = format!("{} ({})", sheet.name, sheet.points().len());
        Row::new(label, charts.iter().map(|chart| cell(of(chart, sheet))))
    };
    Some(Table {
        label_head: "points".to_owned(),
        columns: charts.iter().map(|(chart, _)| Column::text(chart.title)).collect(),
        rows: sheets.iter().map(row).collect(),
        ..Table::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::all_figures;
    use crate::testing::{inserts, open_loop, quick, waiting};
    use std::collections::BTreeSet;

    fn ids(layout: &ChartLayout) -> Vec<String> {
        let sections = layout.main.iter().chain(&layout.open).chain(&layout.folded);
        sections.flat_map(|section| &section.figures).map(|figure| figure.id.clone()).collect()
    }

    #[test]
    fn every_figure_is_in_one_place() {
        for analysis in [quick(), inserts(), open_loop(), waiting()] {
            let all = all_figures(&analysis);
            let placed = ids(&lay_out(&all, AnswerKind::Numbers));
            let drawn: BTreeSet<String> = all.iter().flat_map(|(_, figures)| figures).map(|f| f.id.clone()).collect();
            assert_eq!(placed.iter().cloned().collect::<BTreeSet<_>>(), drawn);
            assert_eq!(placed.len(), drawn.len(), "{placed:?}");
        }
    }

    #[test]
    fn every_picture_leads_to_its_conditions_which_are_there_once() {
        let all = all_figures(&quick());
        let layout = lay_out(&all, AnswerKind::Numbers);
        let distinct: BTreeSet<&String> = layout.measured.iter().collect();
        assert!(!distinct.is_empty() && distinct.len() == layout.measured.len());
        let sections = layout.main.iter().chain(&layout.open).chain(&layout.folded);
        for picture in sections.flat_map(|section| &section.figures) {
            let figure = all.iter().flat_map(|(_, figures)| figures).find(|figure| figure.id == picture.id).unwrap();
            assert_eq!(picture.measured.map(|nth| &layout.measured[nth]), Some(&figure.conditions), "{}", figure.id);
            assert!(!picture.svg.contains(&plot::escape::escape_xml(&figure.conditions)), "{}", figure.id);
        }
    }

    #[test]
    fn the_throughput_of_a_sweep_is_the_main_picture_with_the_response_time_next_to_it() {
        let layout = lay_out(&all_figures(&quick()), AnswerKind::Sweep);
        let main: Vec<&str> = layout.main.iter().flat_map(|main| &main.figures).map(|f| f.id.as_str()).collect();
        assert_eq!(main, ["throughput-file-random-depth", "response-file-random-depth"]);
        let rest = layout.folded.iter().find(|section| section.id == "throughput").expect("the other sweep");
        assert_eq!(rest.title, "Throughput and response time against clients and depth");
        assert_eq!(rest.figures[1].id, "response-oltp-clients");
        assert!(layout.folded.iter().all(|section| section.id != "response"));
    }

    #[test]
    fn the_main_picture_is_one_that_shows_the_kind_of_answer() {
        let all = all_figures(&quick());
        let main = |kind| lay_out(&all, kind).main.expect("a picture").id;
        assert_eq!([main(AnswerKind::Timeline), main(AnswerKind::Suite)], ["timeline", "ratios"]);
        assert_eq!(main(AnswerKind::Limit), "throughput", "it has no search");
    }

    #[test]
    fn a_run_of_one_point_has_its_timeline_first_and_few_figures_are_seen_in_any_run() {
        let mut analysis = quick();
        analysis.points.truncate(1);
        assert_eq!(lay_out(&all_figures(&analysis), AnswerKind::Numbers).main.expect("a picture").id, "timeline");
        for analysis in [quick(), inserts(), open_loop(), waiting()] {
            let layout = lay_out(&all_figures(&analysis), AnswerKind::Numbers);
            let seen = layout.open.iter().flat_map(|section| &section.figures).filter(|figure| !figure.folded).count();
            assert!(seen <= OPEN.len() * OPEN_FIGURES_MAX, "{seen}");
        }
    }
}
