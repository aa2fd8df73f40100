//! Throughput as a table of two ways: a line for each thing that works, a column for each thing that it stands on.
//!
//! In: an analysis. Out: a [`Pivot`] for each workload and step in which two things and more vary beside clients and depth.
//! Limits: one number for each place: the mean of its repeats, where clients or depth vary that of the best of them. Its interval is
//! in the table of points.

use crate::facets::Split;
use crate::format;
use crate::sheet::groups;
use analysis::{Analysis, PointAnalysis, Validity};
use serde::Serialize;
use std::collections::BTreeMap;

/// One table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pivot {
    /// What is counted, and of what: `rows inserted per second, insert l.i1`.
    pub title: String,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// The head of each line, and its numbers; a dash where nothing was measured or what was is invalid.
    pub lines: Vec<(String, Vec<String>)>,
}

/// The tables of `analysis`, in the order of its points.
pub fn pivots(analysis: &Analysis) -> Vec<Pivot> {
    let mut families: Vec<(String, Vec<&PointAnalysis>)> = Vec::new();
    for group in groups(analysis) {
        let name = group.family();
        match families.iter_mut().find(|family| family.0 == name) {
            Some(family) => family.1.extend(group.points),
            None => families.push((name, group.points)),
        }
    }
    // What is one operation, such as a drain, has a time and no rate.
    let has_rate = |point: &&PointAnalysis| point.summary.as_ref().is_some_and(|summary| summary.ops > 1);
    families.retain(|(_, points)| points.iter().any(has_rate));
    families.iter().filter_map(|(name, points)| pivot(name, points)).collect()
}

fn pivot(name: &str, points: &[&PointAnalysis]) -> Option<Pivot> {
    let split = Split::table(points);
    let (word, rate) = RATES.iter().find(|(_, rate)| points.iter().all(|point| rate(point).is_some()))?;
    let cell = |points: &Vec<&PointAnalysis>| best(points, *rate).map_or_else(format::dash, format::number);
    let line = |(nth, line): (usize, &String)| {
        (line.clone(), split.panels.iter().map(|panel| cell(&panel.lines[nth])).collect())
    };
    split.is_grid().then(|| Pivot {
        title: format!("{word}, {name}{}", at_best(points)),
        columns: split.panels.iter().map(|panel| panel.name.clone()).collect(),
        lines: split.lines.iter().enumerate().map(line).collect(),
    })
}

/// A rate of a point, where it has it.
type Rate = fn(&PointAnalysis) -> Option<f64>;

/// What may be counted, the first that all points have.
const RATES: [(&str, Rate); 3] = [
    ("Rows inserted per second", rows_per_s),
    ("Queries per second", |point| Some(point.summary.as_ref().filter(|s| s.has_queries())?.queries_per_s)),
    ("Operations per second", |point| Some(point.summary.as_ref()?.ops_per_s)),
];

fn rows_per_s(point: &PointAnalysis) -> Option<f64> {
    // A rate that was asked for says nothing of the engine.
    let asks = point.facts.iter().any(|fact| fact.name.starts_with("beside."));
    point.inserts.as_ref()?.inserts_per_s.filter(|_| !asks)
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
    for point in points.iter().filter(|point| point.validity != Validity::Invalid) {
        places.entry((point.clients, point.depth)).or_default().extend(rate(point));
    }
    let means = places.values().filter(|rates| !rates.is_empty());
    means.map(|rates| rates.iter().sum::<f64>() / rates.len() as f64).max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{inserting, quick};

    #[test]
    fn engines_are_lines_and_what_they_stand_on_is_columns() {
        let storage: (&str, &[&str]) = ("storage_limit", &["none", "iops=500"]);
        let caches: (&str, &[&str]) = ("cache", &["1 GiB", "8 GiB"]);
        let analysis = inserting(&[("engine", &["innodb", "rocksdb"]), caches, storage], 30);
        let [pivot] = pivots(&analysis).try_into().expect("one table");
        assert_eq!(pivot.title, "Rows inserted per second, insert");
        assert_eq!(pivot.columns, ["storage_limit none", "iops=500"]);
        let lines: Vec<&str> = pivot.lines.iter().map(|line| line.0.as_str()).collect();
        assert_eq!(lines, ["innodb cache 1 GiB", "innodb cache 8 GiB", "rocksdb cache 1 GiB", "rocksdb cache 8 GiB"]);
        let rate = rows_per_s(&analysis.points[3]).map(format::number);
        assert_eq!(Some(&pivot.lines[1].1[1]), rate.as_ref());
    }

    #[test]
    fn a_place_without_a_number_to_be_trusted_is_a_dash_and_a_sweep_shows_its_best() {
        let mut analysis = inserting(&[("engine", &["a", "b"]), ("fs", &["ext4", "xfs"]), ("n", &["1", "2"])], 30);
        for point in &mut analysis.points {
            point.clients = if point.params.remove("n").as_deref() == Some("1") { 1 } else { 8 };
        }
        analysis.points[6..].iter_mut().for_each(|point| point.validity = Validity::Invalid);
        let [pivot] = pivots(&analysis).try_into().expect("one table");
        assert!(pivot.title.ends_with(", at the best number of clients"), "{}", pivot.title);
        assert_eq!(pivot.lines[1].1[1], "-");
        assert_eq!(Some(pivot.lines[0].1[0].clone()), rows_per_s(&analysis.points[0]).map(format::number));
    }

    #[test]
    fn where_one_thing_varies_the_table_of_points_is_enough() {
        assert!(pivots(&inserting(&[("indexes", &["0", "3"])], 30)).is_empty());
        assert!(pivots(&quick()).iter().all(|pivot| pivot.title.contains("insert")), "engine by indexes only");
    }
}
