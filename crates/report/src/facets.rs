//! Which of the things that vary between points become panels, and which lines.
//!
//! In: points of one chart, and the colours of the run. Out: [`Facets`]: panels, each with the same lines. What varies is decided by
//! the analysis ([`analysis::dimensions`]). What a run compares is lines. A setting that decides the sort of work (`mix`, `mode`) makes
//! the panels before one that decides what the engine works on (`fs`), since two sorts of work must not be compared by their heights.
//! Among several, the one whose values differ most in rate makes them. The others are lines.
//! Limits: a dimension of more than [`PANELS_MAX`] values, or one that some points lack, never becomes panels. Steps of a sequence are
//! separated before.

use crate::palette::Palette;
use crate::wording::label::phrase;
use analysis::recorded::dimensions::{independent, varying};
use analysis::{Dimension, PointAnalysis, Role, Settings};
use plot::figure::{Colour, SeriesStyle};
use std::collections::HashMap;

/// More panels do not fit next to each other.
pub const PANELS_MAX: usize = 4;
/// More lines are too many for one panel: as many as there are colours.
pub const LINES_MAX: usize = Colour::ALL.len();

/// Points by panel and line.
#[derive(Clone, Debug)]
pub struct Facets<'a> {
    /// What distinguishes the panels, in the order of their first points; one without a name if nothing does.
    pub panels: Vec<Facet<'a>>,
    /// What distinguishes the lines, the same in all panels.
    pub lines: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Facet<'a> {
    /// The value of the panels' dimension.
    pub name: String,
    /// The points of each line, in the order of [`Facets::lines`]; empty if it has none here.
    pub lines: Vec<Vec<&'a PointAnalysis>>,
    /// How each of them is drawn.
    pub styles: Vec<SeriesStyle>,
}

/// What places points apart elsewhere than by panels and lines.
const PLACES: [Role; 3] = [Role::Clients, Role::Depth, Role::Repeat];

impl<'a> Facets<'a> {
    /// `points` by what varies between them, clients and depth left out.
    pub fn of_sweep(points: &[&'a PointAnalysis], palette: &Palette) -> Facets<'a> {
        Facets::by(points, &PLACES, Role::Work, palette)
    }

    /// As [`Facets::of_sweep`], for a table: what engines run on makes the panels, which are its columns.
    pub fn of_table(points: &[&'a PointAnalysis], palette: &Palette) -> Facets<'a> {
        Facets::by(points, &PLACES, Role::Ground, palette)
    }

    /// `points` by all that varies between them but the repetition.
    pub fn of_all(points: &[&'a PointAnalysis], palette: &Palette) -> Facets<'a> {
        Facets::by(points, &[Role::Repeat], Role::Work, palette)
    }

    /// Every group of points as a line of its own, under these names.
    pub fn of_groups(groups: Vec<(String, Vec<&'a PointAnalysis>)>, palette: &Palette) -> Facets<'a> {
        let (names, lines) = groups.into_iter().unzip();
        Facets::styled(vec![(String::new(), lines)], names, palette)
    }

    /// With a style for each line, by its first point: its colour in each panel is that of its point there.
    fn styled(panels: Vec<NamedLines<'a>>, lines: Vec<String>, palette: &Palette) -> Facets<'a> {
        let first = |nth: usize| panels.iter().find_map(|(_, lines)| lines[nth].first().copied());
        let firsts: Vec<Option<&PointAnalysis>> = (0..lines.len()).map(first).collect();
        let mut known = palette.styles(&firsts.iter().flatten().copied().collect::<Vec<_>>()).into_iter();
        let styles: Vec<SeriesStyle> = firsts
            .iter()
            .enumerate()
            .map(|(nth, first)| first.and_then(|_| known.next()).unwrap_or_else(|| SeriesStyle::nth(nth)))
            .collect();
        let facet = |(name, lines): NamedLines<'a>| {
            let style = |(line, style): (&Vec<&PointAnalysis>, &SeriesStyle)| match line.first() {
                Some(point) => SeriesStyle { colour: palette.style(point).colour, ..*style },
                None => *style,
            };
            let styles = lines.iter().zip(&styles).map(style).collect();
            Facet { name, lines, styles }
        };
        Facets { panels: panels.into_iter().map(facet).collect(), lines }
    }

    /// What the styles of the lines mean. A line that has the colours of several things, a panel each, is black there.
    pub fn legend(&self) -> Vec<(String, SeriesStyle)> {
        let style = |nth: usize| {
            let drawn = self.panels.iter().filter(|panel| !panel.lines[nth].is_empty());
            let styles: Vec<SeriesStyle> = drawn.map(|panel| panel.styles[nth]).collect();
            let first = styles.first().copied().unwrap_or(SeriesStyle::nth(nth));
            if styles.iter().all(|style| style.colour == first.colour) {
                first
            } else {
                SeriesStyle { colour: Colour::Black, ..first }
            }
        };
        self.lines.iter().enumerate().map(|(nth, line)| (line.clone(), style(nth))).collect()
    }

    fn by(points: &[&'a PointAnalysis], left_out: &[Role], before_others: Role, palette: &Palette) -> Facets<'a> {
        let settings: Vec<&Settings> = points.iter().map(|point| &point.settings).collect();
        let mut candidates = varying(settings.iter().copied());
        candidates.retain(|dimension| !left_out.contains(&dimension.role));
        // Clients and depth are better known than a parameter that varies with them.
        candidates.sort_by_key(|dimension| {
            !matches!(dimension.role, Role::Engine | Role::Workload | Role::Clients | Role::Depth)
        });
        let dimensions = independent(&settings, candidates);
        let is_compared = |one: &Dimension| points.iter().any(|point| palette.compared(&point.workload) == one.name);
        let panels_by = panels_by(points, &dimensions, is_compared, before_others);
        let rest: Vec<&Dimension> = dimensions.iter().filter(|one| Some(*one) != panels_by).collect();
        let panels = Numbered::new(points, |point| panels_by.map_or_else(String::new, |one| spoken(point, &[one])));
        let lines = Numbered::new(points, |point| spoken(point, &rest));
        let empty = |name: &String| (name.clone(), vec![Vec::new(); lines.names.len()]);
        let mut facets: Vec<NamedLines> = panels.names.iter().map(empty).collect();
        for ((point, panel), line) in points.iter().zip(&panels.places).zip(&lines.places) {
            facets[*panel].1[*line].push(point);
        }
        Facets::styled(facets, lines.names, palette)
    }

    /// Whether it has panels next to each other.
    pub fn is_grid(&self) -> bool {
        self.panels.len() > 1
    }

    /// Parts of at most `most` lines.
    pub fn parts(&self, most: usize) -> Vec<Facets<'a>> {
        let parts = self.lines.len().div_ceil(most.max(1)).max(1);
        let each = self.lines.len().div_ceil(parts).max(1);
        (0..self.lines.len()).step_by(each).map(|from| self.part(from, each)).collect()
    }

    fn part(&self, from: usize, each: usize) -> Facets<'a> {
        let to = (from + each).min(self.lines.len());
        let facet = |facet: &Facet<'a>| Facet {
            name: facet.name.clone(),
            lines: facet.lines[from..to].to_vec(),
            styles: facet.styles[from..to].to_vec(),
        };
        Facets { panels: self.panels.iter().map(facet).collect(), lines: self.lines[from..to].to_vec() }
    }

    pub fn points(&self) -> Vec<&'a PointAnalysis> {
        self.panels.iter().flat_map(|facet| &facet.lines).flatten().copied().collect()
    }
}

/// The name of a panel, and the points of each of its lines.
type NamedLines<'a> = (String, Vec<Vec<&'a PointAnalysis>>);

/// Texts in the order of their first points, and which of them each point has.
struct Numbered {
    names: Vec<String>,
    places: Vec<usize>,
}

impl Numbered {
    fn new(points: &[&PointAnalysis], text: impl Fn(&PointAnalysis) -> String) -> Numbered {
        let (mut known, mut names) = (HashMap::new(), Vec::new());
        let places = points.iter().map(|point| {
            let name = text(point);
            *known.entry(name.clone()).or_insert_with(|| {
                names.push(name);
                names.len() - 1
            })
        });
        let places = places.collect();
        Numbered { names, places }
    }
}

/// The values of `point` in `dimensions`, in the words of a legend, without those that it lacks or does not use.
fn spoken(point: &PointAnalysis, dimensions: &[&Dimension]) -> String {
    let settings = dimensions.iter().filter_map(|one| point.settings.get(&one.name).filter(|setting| setting.used));
    settings.map(phrase).collect::<Vec<_>>().join(" ")
}

/// The dimension that makes the panels, if there are two or more. What is compared makes them only if nothing else can and the lines would
/// be more than one panel can show.
fn panels_by<'a>(
    points: &[&PointAnalysis],
    dimensions: &'a [Dimension],
    is_compared: impl Fn(&Dimension) -> bool,
    before_others: Role,
) -> Option<&'a Dimension> {
    let values = |one: &Dimension| Numbered::new(points, |point| spoken(point, &[one]));
    let all: Vec<&Dimension> = dimensions.iter().collect();
    let are_many = Numbered::new(points, |point| spoken(point, &all)).names.len() > LINES_MAX;
    let fits =
        |one: &&Dimension| one.is_complete && (are_many || !is_compared(one)) && values(one).names.len() <= PANELS_MAX;
    let rank = |one: &Dimension| (!is_compared(one), one.role == before_others, difference(points, &values(one)));
    let greater = |a: &&Dimension, b: &&Dimension| {
        let (a, b) = (rank(a), rank(b));
        (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2))
    };
    dimensions.iter().filter(|_| dimensions.len() > 1).filter(fits).max_by(greater)
}

/// The greatest ratio between the mean rates of two values, as its logarithm. Means are geometric: in a sweep over clients the
/// high rates would decide alone.
fn difference(points: &[&PointAnalysis], values: &Numbered) -> f64 {
    let mut sums = vec![(0.0, 0.0); values.names.len()];
    for (point, place) in points.iter().zip(&values.places) {
        let rate = point.summary.as_ref().map_or(0.0, |summary| summary.ops_per_s);
        if rate > 0.0 {
            sums[*place] = (sums[*place].0 + rate.ln(), sums[*place].1 + 1.0);
        }
    }
    let means = sums.into_iter().filter(|(_, n)| *n > 0.0).map(|(sum, n)| sum / n);
    let (low, high) = means.fold((f64::MAX, f64::MIN), |(low, high), mean| (low.min(mean), high.max(mean)));
    if high >= low { high - low } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{set, with_points};
    use analysis::Analysis;

    /// Points of every combination, with the rate that `rate` says.
    fn matrix(dimensions: &[(&str, &[&str])], rate: impl Fn(&PointAnalysis) -> f64) -> Analysis {
        let count = dimensions.iter().map(|(_, values)| values.len()).product::<usize>();
        let mut analysis = with_points(count as u32);
        for (mut nth, point) in analysis.points.iter_mut().enumerate() {
            for (name, values) in dimensions.iter().rev() {
                let value = values[nth % values.len()].to_owned();
                nth /= values.len();
                set(point, name, &value);
            }
            let per_s = rate(point);
            point.summary.as_mut().unwrap().ops_per_s = per_s;
        }
        analysis
    }

    fn told(analysis: &Analysis) -> (Vec<String>, Vec<String>) {
        let points: Vec<&PointAnalysis> = analysis.points.iter().collect();
        let split = Facets::of_sweep(&points, &Palette::new(analysis));
        assert_eq!(split.points().len(), points.len(), "each point is in one place");
        (split.panels.into_iter().map(|panel| panel.name).collect(), split.lines)
    }

    const ENGINE: &str = "engine";
    const MIXES: (&str, &[&str]) = ("mix", &["read_only", "write_only", "read_write"]);
    const SYSTEMS: (&str, &[&str]) = ("fs", &["ext4", "ext4:nobarrier", "xfs"]);

    #[test]
    fn sorts_of_work_are_panels_and_what_works_is_lines_however_much_it_differs() {
        let rate = |point: &PointAnalysis| if point.settings.word("fs") == Some("ext4") { 10.0 } else { 9_000.0 };
        let (panels, lines) = told(&matrix(&[SYSTEMS, MIXES], rate));
        assert_eq!((panels, lines), (MIXES.1.map_to_strings(), SYSTEMS.1.map_to_strings()));
        let analysis = matrix(&[SYSTEMS, MIXES], rate);
        let points: Vec<&PointAnalysis> = analysis.points.iter().collect();
        let facets = Facets::of_sweep(&points, &Palette::new(&analysis));
        assert!(facets.panels.iter().all(|panel| panel.styles == facets.panels[0].styles), "a line is one style");
        assert!(facets.legend().iter().zip(&facets.panels[0].styles).all(|(legend, style)| legend.1 == *style));
    }

    #[test]
    fn what_is_compared_is_lines_however_much_it_differs_and_of_other_things_the_one_that_differs_most_is_panels() {
        let engines: (&str, &[&str]) = (ENGINE, &["innodb", "rocksdb"]);
        let caches: (&str, &[&str]) = ("cache", &["1 GiB", "8 GiB"]);
        let of_cache = |point: &PointAnalysis| if point.settings.word("cache") == Some("1 GiB") { 10.0 } else { 90.0 };
        let (panels, lines) = told(&matrix(&[engines, caches], of_cache));
        assert_eq!((panels, lines), (["cache 1 GiB", "cache 8 GiB"].map_to_strings(), engines.1.map_to_strings()));
        let of_engine = |point: &PointAnalysis| if point.engine == "innodb" { 10.0 } else { 90.0 };
        assert_eq!(told(&matrix(&[engines, caches], of_engine)).1, engines.1.map_to_strings());
        let rows: (&str, &[&str]) = ("rows", &["10", "20"]);
        let of_rows =
            |point: &PointAnalysis| if point.settings.text("rows").as_deref() == Some("10") { 10.0 } else { 90.0 };
        assert_eq!(told(&matrix(&[engines, caches, rows], of_rows)).0.len(), 2);
        assert_eq!(
            told(&matrix(&[engines, caches, rows], of_cache)).0,
            ["cache 1 GiB", "cache 8 GiB"].map_to_strings()
        );
    }

    #[test]
    fn one_thing_makes_lines_and_many_values_make_no_panels() {
        let many: (&str, &[&str]) = ("indexes", &["0", "1", "2", "3", "4"]);
        let (panels, lines) = told(&matrix(&[many], |_| 1.0));
        assert_eq!((panels.as_slice(), lines.len(), lines[0].as_str()), (&[String::new()][..], 5, "indexes 0"));
        assert_eq!(told(&matrix(&[many, SYSTEMS], |_| 1.0)).0, SYSTEMS.1.map_to_strings());
        let (panels, lines) = told(&matrix(&[many, ("tables", many.1)], |_| 1.0));
        assert_eq!((panels.len(), lines.len()), (1, 25));
    }

    #[test]
    fn what_follows_from_the_engine_is_no_dimension_of_its_own() {
        let mut analysis = matrix(&[(ENGINE, &["innodb", "rocksdb"])], |_| 1.0);
        set(&mut analysis.points[0], "flush", "O_DIRECT");
        assert_eq!(told(&analysis).1, ["innodb", "rocksdb"]);
    }

    #[test]
    fn many_lines_are_cut_into_parts_of_nearly_equal_size() {
        let many: (&str, &[&str]) = ("indexes", &["0", "1", "2", "3", "4", "5", "6", "7"]);
        let analysis = matrix(&[many, SYSTEMS], |_| 1.0);
        let points: Vec<&PointAnalysis> = analysis.points.iter().collect();
        let parts = Facets::of_sweep(&points, &Palette::new(&analysis)).parts(7);
        let sizes: Vec<(usize, usize)> = parts.iter().map(|part| (part.panels.len(), part.lines.len())).collect();
        assert_eq!(sizes, [(3, 4), (3, 4)]);
        assert_eq!(parts.iter().map(|part| part.points().len()).sum::<usize>(), 24);
        // Each panel has the colour of its file system, so the legend has none of them.
        assert!(parts[0].panels[0].styles[0].colour != parts[0].panels[1].styles[0].colour);
        assert!(parts[0].legend().iter().all(|(_, style)| style.colour == Colour::Black));
    }

    #[test]
    fn reads_and_writes_are_told_apart_by_their_mode_and_not_by_what_only_writes_have() {
        let mut analysis = matrix(&[("mode", &["rndrd", "rndwr"])], |_| 1.0);
        set(&mut analysis.points[1], "fsync", "none");
        assert_eq!(told(&analysis), (vec![String::new()], vec!["rndrd".to_owned(), "rndwr".to_owned()]));
        let mut analysis = matrix(&[("mode", &["seqrd", "seqwr"]), ("cursor", &["shared", "region"])], |_| 1.0);
        analysis.points[2..].iter_mut().for_each(|point| set(point, "fsync", "none"));
        assert_eq!(told(&analysis).0, ["seqrd", "seqwr"]);
    }

    #[test]
    fn a_dimension_that_some_points_lack_makes_no_panels() {
        let mut analysis = matrix(&[("mode", &["seqrd", "seqwr"]), ("cursor", &["shared", "region"])], |_| 1.0);
        analysis.points.truncate(3);
        analysis.points[2].settings.remove("cursor");
        let (panels, lines) = told(&analysis);
        assert_eq!(
            (panels, lines),
            (vec!["seqrd".into(), "seqwr".into()], vec!["shared".into(), "region".into(), "".into()])
        );
    }

    trait MapToStrings {
        fn map_to_strings(&self) -> Vec<String>;
    }

    impl MapToStrings for [&str] {
        fn map_to_strings(&self) -> Vec<String> {
            self.iter().map(|text| (*text).to_owned()).collect()
        }
    }
}
