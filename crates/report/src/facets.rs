//! What varies between points beside clients and depth, and which of it becomes panels and which lines.
//!
//! In: points of one chart. Out: a [`Split`]: panels, each with the same lines. A parameter that says what is asked (`mix`) makes the
//! panels before one that says of what it is asked (`fs`), since two sorts of work are not to be compared by their heights; of
//! several the one whose values differ most in rate does. The others are lines.
//! Limits: a dimension of more than [`PANELS_MAX`] values never becomes panels. Steps of a sequence are told apart before.

use crate::sheet::is_used;
use analysis::PointAnalysis;
use std::collections::BTreeSet;

/// More panels do not fit beside each other.
pub const PANELS_MAX: usize = 4;

/// What is asked of a target, by the names of the parameters that say so.
const SORTS_OF_WORK: [&str; 2] = ["mix", "mode"];
/// What an engine stands on: the columns of the published tables.
const GROUNDS: [&str; 2] = ["storage_limit", "fs"];
/// Where these stand among the parameters, under names that none of them has.
const ENGINE: &str = "engine";
const CLIENTS: &str = "clients";
const DEPTH: &str = "depth";

/// Points by panel and line.
#[derive(Clone, Debug)]
pub struct Split<'a> {
    /// What distinguishes the panels, in the order of their first points; one without a name where nothing does.
    pub panels: Vec<Facet<'a>>,
    /// What distinguishes the lines, the same in all panels.
    pub lines: Vec<String>,
}

/// One panel.
#[derive(Clone, Debug)]
pub struct Facet<'a> {
    /// The value of the panels' dimension.
    pub name: String,
    /// The points of each line, in the order of [`Split::lines`]; empty where it has none here.
    pub lines: Vec<Vec<&'a PointAnalysis>>,
}

impl<'a> Split<'a> {
    /// `points` by what varies between them, clients and depth left out.
    pub fn of(points: &[&'a PointAnalysis]) -> Split<'a> {
        Split::by(points, &[ENGINE], &SORTS_OF_WORK)
    }

    /// As [`Split::of`], for a table: what engines stand on makes the panels, which are its columns.
    pub fn table(points: &[&'a PointAnalysis]) -> Split<'a> {
        Split::by(points, &[ENGINE], &GROUNDS)
    }

    /// `points` by all that varies between them.
    pub fn of_all(points: &[&'a PointAnalysis]) -> Split<'a> {
        Split::by(points, &[ENGINE, CLIENTS, DEPTH], &SORTS_OF_WORK)
    }

    fn by(points: &[&'a PointAnalysis], first: &[&'a str], before_others: &[&str]) -> Split<'a> {
        let dimensions = dimensions(points, first);
        let panels_by = panels_by(points, &dimensions, before_others);
        let rest: Vec<&str> = dimensions.iter().copied().filter(|name| Some(*name) != panels_by).collect();
        let panel = |point: &PointAnalysis| panels_by.map_or_else(String::new, |name| spoken(name, point));
        let line = |point: &PointAnalysis| rest.iter().map(|name| spoken(name, point)).collect::<Vec<_>>().join(" ");
        let (panels, lines) = (in_order(points, panel), in_order(points, line));
        let of = |at: &str, along: &str| -> Vec<&'a PointAnalysis> {
            points.iter().copied().filter(|point| panel(point) == at && line(point) == along).collect()
        };
        let facet = |name: String| Facet { lines: lines.iter().map(|line| of(&name, line)).collect(), name };
        Split { panels: panels.into_iter().map(facet).collect(), lines }
    }

    /// Whether it has panels beside each other.
    pub fn is_grid(&self) -> bool {
        self.panels.len() > 1
    }

    /// Splits of at most `most` lines.
    pub fn parts(&self, most: usize) -> Vec<Split<'a>> {
        let parts = self.lines.len().div_ceil(most.max(1)).max(1);
        let each = self.lines.len().div_ceil(parts).max(1);
        let cut = |from: usize| {
            let to = (from + each).min(self.lines.len());
            let facet = |f: &Facet<'a>| Facet { name: f.name.clone(), lines: f.lines[from..to].to_vec() };
            let panels = self.panels.iter().map(facet);
            Split { panels: panels.collect(), lines: self.lines[from..to].to_vec() }
        };
        (0..self.lines.len()).step_by(each).map(cut).collect()
    }

    /// All its points.
    pub fn points(&self) -> Vec<&'a PointAnalysis> {
        self.panels.iter().flat_map(|facet| &facet.lines).flatten().copied().collect()
    }
}

/// What `text` says of each point, each once, in the order of the points.
fn in_order(points: &[&PointAnalysis], text: impl Fn(&PointAnalysis) -> String) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for told in points.iter().map(|point| text(point)) {
        if !all.contains(&told) {
            all.push(told);
        }
    }
    all
}

/// The names of what varies, without what follows from those before it: a parameter of one engine says no more than its engine.
fn dimensions<'a>(points: &[&'a PointAnalysis], first: &[&'a str]) -> Vec<&'a str> {
    let names: BTreeSet<&str> = points.iter().flat_map(|point| point.params.keys()).map(String::as_str).collect();
    let varying = |name: &&str| in_order(points, |point| value(name, point)).len() > 1;
    let mut chosen: Vec<&str> = Vec::new();
    for name in first.iter().copied().chain(names).filter(varying) {
        let with = [chosen.as_slice(), &[name]].concat();
        if classes(points, &with) > classes(points, &chosen) {
            chosen = with;
        }
    }
    chosen
}

/// How many sorts of points these dimensions tell apart.
fn classes(points: &[&PointAnalysis], names: &[&str]) -> usize {
    let of = |point: &&PointAnalysis| names.iter().map(|name| value(name, point)).collect::<Vec<_>>();
    points.iter().map(of).collect::<BTreeSet<_>>().len()
}

/// The dimension that makes the panels, where there are two or more.
fn panels_by<'a>(points: &[&PointAnalysis], dimensions: &[&'a str], before_others: &[&str]) -> Option<&'a str> {
    let fits = |name: &&&str| in_order(points, |point| value(name, point)).len() <= PANELS_MAX;
    let rank = |name: &str| (before_others.contains(&name), difference(points, name));
    let greater = |a: &&&str, b: &&&str| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    dimensions.iter().filter(|_| dimensions.len() > 1).filter(fits).max_by(greater).copied()
}

/// The greatest ratio between the mean rates of two values, as its logarithm. Means are geometric: in a sweep over clients the
/// high rates would decide alone.
fn difference(points: &[&PointAnalysis], name: &str) -> f64 {
    let rate = |point: &&&PointAnalysis| point.summary.as_ref().map(|s| s.ops_per_s).filter(|rate| *rate > 0.0);
    let mean = |wanted: String| {
        let own: Vec<f64> = points.iter().filter(|p| value(name, p) == wanted).filter_map(|p| rate(&p)).collect();
        (!own.is_empty()).then(|| own.iter().map(|rate| rate.ln()).sum::<f64>() / own.len() as f64)
    };
    let means = in_order(points, |point| value(name, point)).into_iter().filter_map(mean);
    let (low, high) = means.fold((f64::MAX, f64::MIN), |(low, high), mean| (low.min(mean), high.max(mean)));
    if high >= low { high - low } else { 0.0 }
}

/// The value of `point` in a dimension; empty where it has none, or makes no use of it.
fn value(name: &str, point: &PointAnalysis) -> String {
    match name {
        ENGINE => point.target.clone(),
        CLIENTS => point.clients.to_string(),
        DEPTH => point.depth.to_string(),
        _ => point.params.get(name).filter(|_| is_used(name, point)).cloned().unwrap_or_default(),
    }
}

/// The value as a legend says it: a word speaks for itself, a number needs its name.
fn spoken(name: &str, point: &PointAnalysis) -> String {
    let value = value(name, point);
    let speaks =
        name == ENGINE || value.starts_with(|c: char| c.is_alphabetic()) && !NEEDS_NAME.contains(&value.as_str());
    match (value.as_str(), speaks) {
        ("", _) => format!("no {name}"),
        (_, true) => value,
        (_, false) => format!("{name} {value}"),
    }
}

/// Words that could be that of anything.
const NEEDS_NAME: [&str; 7] = ["none", "os", "disk", "on", "off", "true", "false"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_points;
    use analysis::Analysis;

    /// Points of every combination, with the rate that `rate` says.
    fn matrix(dimensions: &[(&str, &[&str])], rate: impl Fn(&PointAnalysis) -> f64) -> Analysis {
        let count = dimensions.iter().map(|(_, values)| values.len()).product::<usize>();
        let mut analysis = with_points(count as u32);
        for (mut nth, point) in analysis.points.iter_mut().enumerate() {
            for (name, values) in dimensions.iter().rev() {
                let value = values[nth % values.len()].to_owned();
                nth /= values.len();
                match *name {
                    ENGINE => point.target = value,
                    _ => drop(point.params.insert((*name).to_owned(), value)),
                }
            }
            let per_s = rate(point);
            point.summary.as_mut().unwrap().ops_per_s = per_s;
        }
        analysis
    }

    fn told(analysis: &Analysis) -> (Vec<String>, Vec<String>) {
        let points: Vec<&PointAnalysis> = analysis.points.iter().collect();
        let split = Split::of(&points);
        assert_eq!(split.points().len(), points.len(), "each point is in one place");
        (split.panels.into_iter().map(|panel| panel.name).collect(), split.lines)
    }

    const MIXES: (&str, &[&str]) = ("mix", &["read_only", "write_only", "read_write"]);
    const SYSTEMS: (&str, &[&str]) = ("fs", &["ext4", "ext4:nobarrier", "xfs"]);

    #[test]
    fn sorts_of_work_are_panels_and_what_works_is_lines_however_much_it_differs() {
        let rate = |point: &PointAnalysis| if point.params["fs"] == "ext4" { 10.0 } else { 9_000.0 };
        let (panels, lines) = told(&matrix(&[SYSTEMS, MIXES], rate));
        assert_eq!((panels, lines), (MIXES.1.map_to_strings(), SYSTEMS.1.map_to_strings()));
    }

    #[test]
    fn of_several_things_the_one_that_differs_most_makes_the_panels() {
        let engines: (&str, &[&str]) = (ENGINE, &["innodb", "rocksdb"]);
        let caches: (&str, &[&str]) = ("cache", &["1 GiB", "8 GiB"]);
        let of_cache = |point: &PointAnalysis| if point.params["cache"] == "1 GiB" { 10.0 } else { 90.0 };
        let (panels, lines) = told(&matrix(&[engines, caches], of_cache));
        assert_eq!((panels, lines), (["cache 1 GiB", "cache 8 GiB"].map_to_strings(), engines.1.map_to_strings()));
        let of_engine = |point: &PointAnalysis| if point.target == "innodb" { 10.0 } else { 90.0 };
        assert_eq!(told(&matrix(&[engines, caches], of_engine)).0, engines.1.map_to_strings());
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
        analysis.points[0].params.insert("flush".into(), "O_DIRECT".into());
        assert_eq!(told(&analysis).1, ["innodb", "rocksdb"]);
    }

    #[test]
    fn many_lines_are_cut_into_parts_of_nearly_equal_size() {
        let many: (&str, &[&str]) = ("indexes", &["0", "1", "2", "3", "4", "5", "6", "7"]);
        let analysis = matrix(&[many, SYSTEMS], |_| 1.0);
        let points: Vec<&PointAnalysis> = analysis.points.iter().collect();
        let parts = Split::of(&points).parts(7);
        let sizes: Vec<(usize, usize)> = parts.iter().map(|part| (part.panels.len(), part.lines.len())).collect();
        assert_eq!(sizes, [(3, 4), (3, 4)]);
        assert_eq!(parts.iter().map(|part| part.points().len()).sum::<usize>(), 24);
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
