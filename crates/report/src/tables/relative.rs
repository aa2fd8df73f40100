//! The relative tables: each metric of each arm over that of the first, with its interval. If the places are in groups, as those of `micro`
//! are, each metric has a table of its own, the rates first. A ratio whose verdict is `indicative` is a measured ratio and no claim.

use crate::render::labels::short_names;
use crate::table::TableDef;
use crate::table::{Cell, Column, Look, Row, Table};
use crate::wording::label::{phrase, settings_label};
use crate::wording::list::capital;
use crate::wording::metric::{metric_head, metric_name, metric_value, verdict_word};
use crate::wording::relative::{common_settings, ratio_text};
use analysis::math::ratio::RatioVerdict;
use analysis::points::metric::Metric;
use analysis::points::relative::{RelativeCell, RelativeRow, RelativeTable};
use analysis::{Analysis, Setting};
use model::Percentile;

pub const TABLE: TableDef = TableDef {
    id: "relative",
    title: "Ratios",
    is_open: false,
    in_narrow: false,
    chart: None,
    make: |analysis, _| tables(analysis),
};

const LEGEND: &str = "Each cell is the arm divided by the first arm, with its 95 % confidence interval (Student's t on the logarithms of \
    neighbouring repeats) and the number of pairs. Above 1 is more; for times and costs less is better. `no difference shown`: chance \
    explains what the arms differ by. `indicative`: fewer than 4 usable pairs, engines of unlike durability, an engine inside plimsoll and a \
    server, or writes that were still pending; nothing is concluded. Over a table at most 5 % of the differences shown are false.";
const SHORT_LEGEND: &str = "ratio, 95 % CI, pairs; + better, - worse, = no difference shown, ? indicative";

const OF_PAIRS_ONLY: &str = "What the first arm did is the mean of all of its repeats, and a ratio is of the pairs alone: to divide means gives \
    another number.";

/// The width of a ratio with its interval, its sign and the number of pairs.
const RATIO: usize = 25;
/// The width of what the first arm did.
const BASE: usize = 9;
/// A terminal has so many rows, if they are not in groups.
const MOST_ROWS: usize = 16;

fn tables(analysis: &Analysis) -> Vec<Table> {
    // Variants have tables of their own, with set-up and statement apart.
    let is_told =
        |table: &&RelativeTable| analysis.verdict.variants.iter().any(|variant| variant.param == table.arms[0].name);
    let all = analysis.verdict.relative.iter().filter(|table| !table.rows.is_empty() && !is_told(table));
    all.flat_map(tables_of).collect()
}

/// One table, or one for each metric.
fn tables_of(relative: &RelativeTable) -> Vec<Table> {
    if relative.rows.iter().all(|row| row.group.is_none()) {
        return vec![table(relative, &relative.rows.iter().collect::<Vec<_>>(), None)];
    }
    let (speeds, others): (Vec<&RelativeRow>, Vec<&RelativeRow>) =
        relative.rows.iter().partition(|row| row.metric.is_speed());
    let mut metrics: Vec<Metric> = others.iter().map(|row| row.metric).collect();
    metrics.sort();
    metrics.dedup();
    let of_metric = metrics.iter().map(|metric| -> (Vec<&RelativeRow>, &str) {
        (others.iter().copied().filter(|row| row.metric == *metric).collect(), metric_name(*metric))
    });
    let all = std::iter::once((speeds, "rate")).chain(of_metric).filter(|(rows, _)| !rows.is_empty());
    all.map(|(rows, name)| table(relative, &rows, Some(name))).collect()
}

/// The table of `rows`, which are all, or those in groups of the metric called `name`.
fn table(relative: &RelativeTable, rows: &[&RelativeRow], name: Option<&str>) -> Table {
    let common = common_settings(relative);
    let base = phrase(&relative.arms[0]);
    let of = [name.map(str::to_owned), Some(settings_label(&common)).filter(|of| !of.is_empty())];
    let of = of.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let cells = relative.rows.iter().flat_map(|row| &row.cells).flatten();
    let has_intervals = cells.into_iter().any(|cell| cell.ratio.telling_ci95().is_some());
    // Single repeats show the rate and the tail; a page of measured ratios would look like more.
    let is_shown = |row: &&&RelativeRow| has_intervals || is_brief(row) || name.is_some();
    let line = |row: &&RelativeRow| Row {
        // Ratios of single repeats are in the verdict, which calls them indicative.
        documents_only: !is_brief(row) || !has_intervals,
        ..row_of(row, &common)
    };
    Table {
        title: if of.is_empty() { format!("Relative to {base}") } else { format!("Relative to {base}: {of}") },
        legend: LEGEND.to_owned(),
        short_legend: SHORT_LEGEND,
        group_head: "group",
        label_head: "place".to_owned(),
        columns: columns(relative, name.is_some()),
        rows: rows.iter().filter(is_shown).map(line).collect(),
        notes: relative.has_repeats_without_pair().then(|| OF_PAIRS_ONLY.to_owned()).into_iter().collect(),
        most_rows: if name.is_some() { usize::MAX } else { MOST_ROWS },
        ..Table::default()
    }
}

/// The metric, what the first arm did, and the ratio of each other.
fn columns(relative: &RelativeTable, is_of_one_metric: bool) -> Vec<Column> {
    let names: Vec<String> = relative.arms.iter().map(phrase).collect();
    let metric = Column::text("metric");
    let metric = if is_of_one_metric { metric.documents_only() } else { metric };
    let arms = short_heads(&names).into_iter().zip(&names).enumerate().map(|(nth, (short, name))| {
        Column::number(short).long_head(name).least_width(if nth == 0 { BASE } else { RATIO })
    });
    [metric].into_iter().chain(arms).collect()
}

/// The heads of the arms in a terminal. If one is too long, what all have in common is left out, because the title has the first arm in full.
fn short_heads(names: &[String]) -> Vec<String> {
    let widths = std::iter::once(BASE).chain(std::iter::repeat(RATIO));
    if names.iter().zip(widths).all(|(name, width)| name.chars().count() <= width) {
        return names.to_vec();
    }
    short_names(names.iter().map(|name| name.split(' ').map(str::to_owned).collect()).collect())
}

/// Whether a terminal has it: the speed and p99, of places in groups the speed alone.
fn is_brief(row: &RelativeRow) -> bool {
    row.metric.is_speed()
        || row.group.is_none() && matches!(row.metric, Metric::Response(Percentile::P99) | Metric::StatementSeconds)
}

fn row_of(row: &RelativeRow, common: &[Setting]) -> Row {
    let place = row.place.iter().filter(|setting| !common.contains(setting));
    let fixed = [metric_head(row.metric, row.unit), metric_value(row.metric, row.base.mean)].map(Cell::from);
    let ratios = row.cells.iter().map(|cell| cell.as_ref().map(|cell| ratio_cell(row.metric, cell)).into());
    let label = settings_label(place);
    Row::new(label, fixed.into_iter().chain(ratios)).in_group(row.group.as_deref().map(capital).unwrap_or_default())
}

fn ratio_cell(metric: Metric, cell: &RelativeCell) -> Cell {
    let (look, sign) = match cell.ratio.verdict {
        RatioVerdict::Faster => (Look::Better, "+"),
        RatioVerdict::Slower => (Look::Worse, "-"),
        RatioVerdict::NoDifferenceShown => (Look::Plain, "="),
        RatioVerdict::Indicative => (Look::Caution, "?"),
    };
    let (ratio, n) = (ratio_text(cell.ratio.ratio, cell.ratio.telling_ci95()), cell.ratio.n);
    let verdict = verdict_word(metric, cell.ratio.verdict);
    Cell::from(format!("{ratio}, n {n}, {verdict}")).short(format!("{ratio} {sign} {n:>2}")).look(look)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{inserting, label, with_verdict};

    fn of_base(tables: &[Table], base: &str) -> Vec<Table> {
        tables.iter().filter(|table| table.columns[1].long_head == base).cloned().collect()
    }

    #[test]
    fn three_arms_are_a_base_and_two_columns_and_a_single_repeat_is_indicative() {
        let engines: (&str, &[&str]) = ("engine", &["innodb", "rocksdb", "fjall"]);
        let mut analysis = inserting(&[engines, ("indexes", &["0", "3"])], 30);
        analysis.points.iter_mut().for_each(|point| label(point, &["engine", "workload", "indexes"], &[]));
        let table = of_base(&tables(&with_verdict(analysis)), "innodb").remove(0);
        let heads: Vec<&str> = table.columns.iter().map(|column| column.long_head.as_str()).collect();
        assert_eq!((table.title.as_str(), &heads[2..]), ("Relative to innodb: insert", &["rocksdb", "fjall"][..]));
        let row = &table.rows[0];
        assert_eq!(
            (row.label_text().as_str(), row.cells[0].text.as_str(), row.cells.len()),
            ("indexes 0", "rows/s", 4)
        );
        let cell = &row.cells[2];
        assert!(cell.text.ends_with(", n 1, indicative") && cell.short_text().ends_with(" ?  1"), "{cell:?}");
        assert!(!cell.text.contains('(') && row.documents_only, "one pair has no interval: {}", cell.text);
    }

    #[test]
    fn a_mean_of_more_repeats_than_there_are_pairs_is_said_to_be_one() {
        let engines: (&str, &[&str]) = ("engine", &["innodb", "rocksdb"]);
        let mut analysis = inserting(&[engines, ("indexes", &["0", "3"])], 30);
        analysis.points.iter_mut().for_each(|point| label(point, &["engine", "workload", "indexes"], &[]));
        let mut analysis = with_verdict(analysis);
        let notes = |analysis: &Analysis| of_base(&tables(analysis), "innodb").remove(0).notes;
        assert!(notes(&analysis).is_empty());
        let rows = analysis.verdict.relative.iter_mut().flat_map(|table| &mut table.rows);
        rows.for_each(|row| row.base.repeats = 2);
        assert_eq!(notes(&analysis), [OF_PAIRS_ONLY]);
    }

    #[test]
    fn places_in_groups_have_a_table_for_each_metric() {
        let engines: (&str, &[&str]) = ("engine", &["innodb", "rocksdb"]);
        let mut analysis = inserting(&[engines, ("indexes", &["0", "1", "2"])], 30);
        for point in &mut analysis.points {
            label(point, &["engine", "workload", "indexes"], &[]);
            let is_write = point.id.is_multiple_of(3);
            let (indexes, group) = (model::StepIndexes::Kept, Some(if is_write { "writes" } else { "reads" }.into()));
            point.traits.work.step = Some(model::StepWork { name: "x".into(), at: 0, drains: false, indexes, group });
        }
        let tables = of_base(&tables(&with_verdict(analysis)), "innodb");
        let titles: Vec<&str> = tables.iter().map(|table| table.title.as_str()).collect();
        assert_eq!(titles[0], "Relative to innodb: rate, insert");
        assert!(tables.len() > 3, "{titles:?}");
        for table in &tables {
            let groups: Vec<&str> = table.rows.iter().map(|row| row.group.as_str()).collect();
            assert_eq!(groups, ["Reads", "Reads", "Writes"]);
            assert!(table.rows.iter().all(|row| row.cells[0] == table.rows[0].cells[0]));
        }
    }

    #[test]
    fn heads_that_are_too_long_lose_what_they_have_in_common() {
        let heads = |names: &[&str]| short_heads(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(heads(&["ext4", "a much longer name of arm"]), ["ext4", "a much longer name of arm"]);
        assert_eq!(heads(&["secondary_index true", "secondary_index false"]), ["true", "false"]);
        assert_eq!(heads(&["mariadb:innodb", "mariadb:rocksdb"]), ["..innodb", "..rocksdb"]);
        let versions = ["mariadb:innodb@/opt/mariadb-10.11.6/bin", "mariadb:innodb@/opt/mariadb-11.4.2/bin"];
        assert_eq!(heads(&versions), ["..10.11.6..", "..11.4.2.."]);
    }
}
