//! Throughput as a cross table: a line for each thing that works, a column for each thing that it runs on.
//!
//! In: an analysis. Out: a [`CrossTable`] for each workload and step in which two things or more vary besides clients and depth.
//! Limits: one number for each place: the mean of its repeats, and if clients or depth vary that of the best of them. Its interval is
//! in the table of points.

use crate::facets::Facets;
use crate::format;
use crate::palette::Palette;
use crate::sheet::groups;
use analysis::math::repeats::combine_plain;
use analysis::points::sweep::is_usable;
use analysis::{Analysis, PointAnalysis};
use serde::Serialize;
use std::collections::BTreeMap;

/// One table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrossTable {
    /// What is counted, and of what: `rows inserted per second, insert l.i1`.
    pub title: String,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// The head of each line, and its numbers; a dash if nothing was measured there or the result is invalid.
    pub lines: Vec<(String, Vec<String>)>,
}

/// The tables of `analysis`, in the order of its points.
pub fn cross_tables(analysis: &Analysis) -> Vec<CrossTable> {
    let mut families: Vec<(String, Vec<&PointAnalysis>)> = Vec::new();
    for group in groups(analysis) {
        let name = group.family();
        match families.iter_mut().find(|family| family.0 == name) {
            Some(family) => family.1.extend(group.points),
            None => families.push((name, group.points)),
        }
    }
    families.retain(|(_, points)| points.iter().any(|point| has_rate(point)));
    let palette = Palette::new(analysis);
    families.iter().filter_map(|(name, points)| cross_table(name, points, &palette)).collect()
}

/// A step that is timed as a whole, such as a drain, has a duration and no rate.
fn has_rate(point: &PointAnalysis) -> bool {
    point.summary.as_ref().is_some_and(|summary| summary.ops > 0) && point.duration_s().is_none()
}

fn cross_table(name: &str, points: &[&PointAnalysis], palette: &Palette) -> Option<CrossTable> {
    let facets = Facets::of_table(points, palette);
    let (word, rate) = RATES.iter().find(|(_, rate)| points.iter().all(|point| rate(point).is_some()))?;
    let cell = |points: &Vec<&PointAnalysis>| best(points, *rate).map_or_else(format::dash, format::number);
    let line = |(nth, line): (usize, &String)| {
        (line.clone(), facets.panels.iter().map(|panel| cell(&panel.lines[nth])).collect())
    };
    facets.is_grid().then(|| CrossTable {
        title: format!("{word}, {name}{}", at_best(points)),
        columns: facets.panels.iter().map(|panel| panel.name.clone()).collect(),
        lines: facets.lines.iter().enumerate().map(line).collect(),
    })
}

/// A rate of a point, if it has it.
type Rate = fn(&PointAnalysis) -> Option<f64>;

/// What may be counted, the first that all points have.
const RATES: [(&str, Rate); 4] = [
    ("New orders per minute", |point| Some(point.summary.as_ref()?.new_orders?.per_minute)),
    ("Rows inserted per second", rows_per_s),
    ("Queries per second", |point| Some(point.summary.as_ref().filter(|s| s.has_queries())?.queries_per_s)),
    ("Operations per second", |point| Some(point.summary.as_ref()?.ops_per_s)),
];

fn rows_per_s(point: &PointAnalysis) -> Option<f64> {
    // A rate that was asked for shows nothing about the engine.
    let is_paced = point.summary.as_ref().is_some_and(|summary| summary.has_background_inserts());
    point.inserts.as_ref()?.inserts_per_s.filter(|_| !is_paced)
}

fn at_best(points: &[&PointAnalysis]) -> &'static str {
    let varies = |of: fn(&PointAnalysis) -> u32| points.iter().any(|point| of(point) != of(points[0]));
    match (varies(|p| p.clients), varies(|p| p.depth)) {
        (false, false) => "",
        (true, false) => ", at the best number of clients",
        (false, true) => ", at the best depth",
        (true, true) => ", at the best number of clients and depth",
    }
}

/// The mean rate of the repeats of the place with the highest.
fn best(points: &[&PointAnalysis], rate: Rate) -> Option<f64> {
    let mut places: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    for point in points.iter().filter(|point| is_usable(point)) {
        places.entry((point.clients, point.depth)).or_default().extend(rate(point));
    }
    places.into_values().filter_map(combine_plain).max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{inserting, quick, set};
    use analysis::Validity;

    #[test]
    fn engines_are_lines_and_what_they_stand_on_is_columns() {
        let storage: (&str, &[&str]) = ("storage_limit", &["none", "iops=500"]);
        let caches: (&str, &[&str]) = ("cache", &["1 GiB", "8 GiB"]);
        let analysis = inserting(&[("engine", &["innodb", "rocksdb"]), caches, storage], 30);
        let [table] = cross_tables(&analysis).try_into().expect("one table");
        assert_eq!(table.title, "Rows inserted per second, insert");
        assert_eq!(table.columns, ["storage limit none", "iops=500"]);
        let lines: Vec<&str> = table.lines.iter().map(|line| line.0.as_str()).collect();
        assert_eq!(lines, ["innodb cache 1 GiB", "innodb cache 8 GiB", "rocksdb cache 1 GiB", "rocksdb cache 8 GiB"]);
        let rate = rows_per_s(&analysis.points[3]).map(format::number);
        assert_eq!(Some(&table.lines[1].1[1]), rate.as_ref());
    }

    #[test]
    fn a_place_without_a_number_to_be_trusted_is_a_dash_and_a_sweep_shows_its_best() {
        let mut analysis = inserting(&[("engine", &["a", "b"]), ("fs", &["ext4", "xfs"]), ("n", &["1", "2"])], 30);
        for point in &mut analysis.points {
            let clients = if point.settings.text("n").as_deref() == Some("1") { "1" } else { "8" };
            point.settings.remove("n");
            set(point, "clients", clients);
        }
        analysis.points[6..].iter_mut().for_each(|point| point.validity = Validity::Invalid);
        let [table] = cross_tables(&analysis).try_into().expect("one table");
        assert!(table.title.ends_with(", at the best number of clients"), "{}", table.title);
        assert_eq!(table.lines[1].1[1], "-");
        assert_eq!(Some(table.lines[0].1[0].clone()), rows_per_s(&analysis.points[0]).map(format::number));
    }

    #[test]
    fn where_one_thing_varies_the_table_of_points_is_enough() {
        assert!(cross_tables(&inserting(&[("indexes", &["0", "3"])], 30)).is_empty());
        assert!(cross_tables(&quick()).iter().all(|table| table.title.contains("insert")), "engine by indexes only");
    }
}
