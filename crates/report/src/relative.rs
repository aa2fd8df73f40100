//! The relative tables: each metric of each arm over that of the first, with its interval, as text cells.
//!
//! In: an analysis. Out: a [`RelativeView`] for each setting that is compared; the same for the terminal, Markdown and HTML. If the places
//! are in groups, as those of `micro` are, each metric has a view of its own, the rates first.
//! Limits: nothing is judged here. A ratio whose verdict is `indicative` is a measured ratio and no claim.

use crate::format;
use crate::wording::label::{phrase, settings_label};
use crate::wording::list::capital;
use crate::wording::metric::{metric_name, metric_value, verdict_word};
use crate::wording::relative::{common_settings, ratio_text};
use analysis::math::ratio::RatioVerdict;
use analysis::points::metric::Metric;
use analysis::points::relative::{RelativeCell, RelativeRow, RelativeTable};
use analysis::{Analysis, Setting};
use serde::Serialize;

/// What the cells mean, in the documents.
pub const LEGEND: &str = "Each cell is the arm divided by the first arm, with its 95 % confidence interval (Student's t on the logarithms of \
    neighbouring repeats) and the number of pairs. Above 1 is more; for times and costs less is better. `no difference shown`: chance \
    explains what the arms differ by. `indicative`: fewer than 4 usable pairs, engines of unlike durability, or writes that were still pending; nothing is concluded. Over \
    a table at most 5 % of the differences shown are false.";

/// One table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RelativeView {
    /// `Relative to ext4: sqlite oltp`.
    pub title: String,
    /// The first arm.
    pub base: String,
    /// The other arms: the heads of the columns.
    pub arms: Vec<String>,
    /// The lines.
    pub rows: Vec<RelativeLine>,
    /// Whether any ratio has an interval: a single repeat has none.
    pub has_intervals: bool,
    /// Whether it is folded because it is longer than a screen.
    pub is_long: bool,
    /// Whether its lines are of one metric and in groups.
    pub is_grouped: bool,
}

/// More lines than this are folded.
const UNFOLDED_MAX: usize = 30;

/// One metric at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RelativeLine {
    /// The name of the group that begins with this line; `None` within a group, and if there are no groups.
    pub group: Option<String>,
    /// What distinguishes the place; empty if there is one.
    pub place: String,
    /// The metric: `queries/s`.
    pub metric: &'static str,
    /// Whether it is one of those that a narrow table has: the speed and p99, of places in groups the speed alone.
    pub is_brief: bool,
    /// What the first arm did.
    pub base: String,
    /// A cell for each other arm.
    pub cells: Vec<RatioText>,
}

/// A ratio in words.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RatioText {
    /// `1.04 (1.02 to 1.06)`, or a dash.
    pub ratio: String,
    /// `6` pairs.
    pub n: String,
    /// `faster`, `no difference shown`; empty if there is no ratio.
    pub verdict: &'static str,
    /// What colours it: `better`, `worse`, `even`, `indicative`.
    pub tone: &'static str,
    /// The sign that means the same in a narrow table.
    pub sign: &'static str,
}

/// The tables of `analysis`.
pub fn relative_views(analysis: &Analysis) -> Vec<RelativeView> {
    // Variants have tables of their own, with set-up and statement apart.
    let is_told =
        |table: &&RelativeTable| analysis.verdict.variants.iter().any(|variant| variant.param == table.arms[0].name);
    let tables = analysis.verdict.relative.iter().filter(|table| !table.rows.is_empty() && !is_told(table));
    tables.flat_map(views).collect()
}

/// The view of `table`, or the views of its metrics.
fn views(table: &RelativeTable) -> Vec<RelativeView> {
    if table.rows.iter().all(|row| row.group.is_none()) {
        let all: Vec<&RelativeRow> = table.rows.iter().collect();
        return vec![view(table, &all, None)];
    }
    let (speeds, others): (Vec<&RelativeRow>, Vec<&RelativeRow>) =
        table.rows.iter().partition(|row| row.metric.is_speed());
    let mut metrics: Vec<Metric> = others.iter().map(|row| row.metric).collect();
    metrics.sort();
    metrics.dedup();
    let of_metric = metrics.iter().map(|metric| -> (Vec<&RelativeRow>, &str) {
        (others.iter().copied().filter(|row| row.metric == *metric).collect(), metric_name(*metric))
    });
    let all = std::iter::once((speeds, "rate")).chain(of_metric).filter(|(rows, _)| !rows.is_empty());
    all.map(|(rows, name)| view(table, &rows, Some(name))).collect()
}

/// The view of the `rows` of `table`, which are all, or in groups those of the metric called `name`.
fn view(table: &RelativeTable, rows: &[&RelativeRow], name: Option<&str>) -> RelativeView {
    let common = common_settings(table);
    let base = phrase(&table.arms[0]);
    let of = [name.map(str::to_owned), Some(settings_label(&common)).filter(|of| !of.is_empty())];
    let of = of.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let title = if of.is_empty() { format!("Relative to {base}") } else { format!("Relative to {base}: {of}") };
    let cells = table.rows.iter().flat_map(|row| &row.cells).flatten();
    let has_intervals = cells.into_iter().any(|cell| cell.ratio.ci95.is_some());
    let mut lines: Vec<RelativeLine> = rows.iter().map(|row| line(row, &common)).collect();
    // Single repeats show the rate and the tail; a page of measured ratios would look like more.
    lines.retain(|line| has_intervals || line.is_brief || name.is_some());
    name_groups_once(&mut lines);
    let is_first = rows.first().is_some_and(|row| row.metric.is_speed());
    let (is_grouped, arms) = (name.is_some(), table.arms[1..].iter().map(phrase).collect());
    let is_long = lines.len() > UNFOLDED_MAX && !(is_grouped && is_first);
    RelativeView { title, base, arms, rows: lines, has_intervals, is_long, is_grouped }
}

/// Leaves the name of each group to its first line.
fn name_groups_once(lines: &mut [RelativeLine]) {
    let mut last = None;
    for line in lines {
        if line.group == last {
            line.group = None;
        } else {
            last.clone_from(&line.group);
        }
    }
}

fn line(row: &RelativeRow, common: &[Setting]) -> RelativeLine {
    let place = row.place.iter().filter(|setting| !common.contains(setting));
    let is_in_group = row.group.is_some();
    RelativeLine {
        group: row.group.as_deref().map(capital),
        place: settings_label(place),
        metric: metric_name(row.metric),
        is_brief: row.metric.is_speed()
            || !is_in_group && matches!(row.metric, Metric::P99Ns | Metric::StatementSeconds),
        base: metric_value(row.metric, row.base.mean),
        cells: row
            .cells
            .iter()
            .map(|cell| cell.as_ref().map_or_else(no_ratio, |cell| ratio_cell(row.metric, cell)))
            .collect(),
    }
}

fn no_ratio() -> RatioText {
    RatioText { ratio: format::dash(), n: "0".to_owned(), ..RatioText::default() }
}

fn ratio_cell(metric: Metric, cell: &RelativeCell) -> RatioText {
    let (tone, sign) = match cell.ratio.verdict {
        RatioVerdict::Faster => ("better", "+"),
        RatioVerdict::Slower => ("worse", "-"),
        RatioVerdict::NoDifferenceShown => ("even", "="),
        RatioVerdict::Indicative => ("indicative", "?"),
    };
    let ratio = ratio_text(cell.ratio.ratio, cell.ratio.ci95);
    RatioText { ratio, n: cell.ratio.n.to_string(), verdict: verdict_word(metric, cell.ratio.verdict), tone, sign }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{inserting, label, with_verdict};

    fn views() -> Vec<RelativeView> {
        let engines: (&str, &[&str]) = ("engine", &["innodb", "rocksdb", "fjall"]);
        let mut analysis = inserting(&[engines, ("indexes", &["0", "3"])], 30);
        analysis.points.iter_mut().for_each(|point| label(point, &["engine", "workload", "indexes"], &[]));
        relative_views(&with_verdict(analysis))
    }

    #[test]
    fn three_arms_are_a_base_and_two_columns_and_a_single_repeat_is_indicative() {
        let all = views();
        let view = all.iter().find(|view| view.base == "innodb").expect("engines vary");
        assert_eq!(
            (view.title.as_str(), view.arms.join(" ")),
            ("Relative to innodb: oltp", "rocksdb fjall".to_owned())
        );
        let line = &view.rows[0];
        assert_eq!((line.place.as_str(), line.metric, line.cells.len()), ("indexes 0", "ops/s", 2));
        let cell = &line.cells[0];
        assert_eq!((cell.n.as_str(), cell.verdict, cell.sign), ("1", "indicative", "?"));
        assert!(!cell.ratio.contains('('), "one pair has no interval: {}", cell.ratio);
    }

    #[test]
    fn places_in_groups_have_a_view_for_each_metric_and_each_group_is_named_once() {
        let engines: (&str, &[&str]) = ("engine", &["innodb", "rocksdb"]);
        let mut analysis = inserting(&[engines, ("indexes", &["0", "1", "2"])], 30);
        for point in &mut analysis.points {
            label(point, &["engine", "workload", "indexes"], &[]);
            let is_write = point.id.is_multiple_of(3);
            let (indexes, group) = (model::StepIndexes::Kept, Some(if is_write { "writes" } else { "reads" }.into()));
            point.traits.work.step = Some(model::StepWork { name: "x".into(), at: 0, drains: false, indexes, group });
        }
        let all = relative_views(&with_verdict(analysis));
        let views: Vec<&RelativeView> = all.iter().filter(|view| view.base == "innodb").collect();
        let titles: Vec<&str> = views.iter().map(|view| view.title.as_str()).collect();
        assert_eq!(titles[0], "Relative to innodb: rate, oltp");
        assert!(views.len() > 3 && views.iter().all(|view| view.is_grouped && view.rows.len() == 3), "{titles:?}");
        for view in &views {
            let groups: Vec<Option<&str>> = view.rows.iter().map(|line| line.group.as_deref()).collect();
            assert_eq!(groups, [Some("Reads"), None, Some("Writes")]);
            assert!(view.rows.iter().all(|line| line.metric == view.rows[0].metric));
        }
        let brief = views.iter().flat_map(|view| &view.rows).filter(|line| line.is_brief);
        assert_eq!(brief.count(), 3, "the rates alone");
    }
}
