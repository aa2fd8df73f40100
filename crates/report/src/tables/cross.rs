//! Throughput as a cross table: a line for each thing that works, a column for each thing that it runs on.
//!
//! There is one for each workload and step in which two things or more vary besides clients and depth. It has one number for each place: the mean of its repeats, and if clients or depth vary that of the best of them. Its interval is
//! in the table of points.

use crate::facets::Facets;
use crate::format;
use crate::palette::Palette;
use crate::sheet::groups;
use crate::table::{Column, Row, Table};
use crate::wording::list::capital;
use crate::wording::metric::ops_word;
use analysis::math::repeats::combine_plain;
use analysis::points::metric::{Metric, shared_rate};
use analysis::points::sweep::is_usable;
use analysis::{Analysis, PointAnalysis};
use std::collections::BTreeMap;

/// The tables of `analysis`, in the order of its points.
pub fn cross_tables(analysis: &Analysis) -> Vec<Table> {
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

fn cross_table(name: &str, points: &[&PointAnalysis], palette: &Palette) -> Option<Table> {
    let facets = Facets::of_table(points, palette);
    let metric = shared_rate(points.iter().filter_map(|point| Metric::of_work(point)).filter(|one| one.is_rate()))?;
    let unit = if metric == Metric::RowsPerS { "rows inserted" } else { ops_word(points.iter().copied()) };
    let word = format!("{} per second", capital(unit));
    let cell = |points: &Vec<&PointAnalysis>| best(points, metric).map_or_else(format::dash, format::number);
    let row = |(nth, line): (usize, &String)| {
        Row::new(line.clone(), facets.panels.iter().map(|panel| cell(&panel.lines[nth])))
    };
    facets.is_grid().then(|| Table {
        title: format!("{word}, {name}{}", at_best(points)),
        label_head: String::new(),
        columns: facets.panels.iter().map(|panel| Column::number(panel.name.clone()).documents_only()).collect(),
        rows: facets.lines.iter().enumerate().map(row).collect(),
        ..Table::default()
    })
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
fn best(points: &[&PointAnalysis], metric: Metric) -> Option<f64> {
    let mut places: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    for point in points.iter().filter(|point| is_usable(point)) {
        places.entry((point.clients, point.depth)).or_default().extend(metric.value(point).map(|one| one.value));
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
        let heads: Vec<&str> = table.columns.iter().map(|column| column.head.as_str()).collect();
        assert_eq!(heads, ["storage limit none", "storage limit iops=500"]);
        let lines: Vec<String> = table.rows.iter().map(Row::label_text).collect();
        assert_eq!(lines, ["innodb cache 1 GiB", "innodb cache 8 GiB", "rocksdb cache 1 GiB", "rocksdb cache 8 GiB"]);
        let rate = analysis.points[3].summary.as_ref().unwrap().rows_per_s.map(format::number);
        assert_eq!(Some(&table.rows[1].cells[1].text), rate.as_ref());
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
        assert_eq!(table.rows[1].cells[1].text, "-");
        assert_eq!(
            Some(table.rows[0].cells[0].text.clone()),
            analysis.points[0].summary.as_ref().unwrap().rows_per_s.map(format::number)
        );
    }

    #[test]
    fn where_one_thing_varies_the_table_of_points_is_enough() {
        assert!(cross_tables(&inserting(&[("indexes", &["0", "3"])], 30)).is_empty());
        assert!(cross_tables(&quick()).iter().all(|table| table.title.contains("insert")), "engine by indexes only");
    }
}
