//! The small table of arms: the places as columns or as rows, the rates, and the ratios that they make.
//!
//! In: a comparison. Out: its table. Limits: of an axis with more values than columns, those that are spread over it; of more rows than a
//! table has, the first.

use crate::answer::comparison::Comparison;
use crate::answer::conditions::conditions;
use crate::answer::effect::NEARLY_NONE;
use crate::answer::places::{PlaceAxis, axes};
use crate::answer::speech::{self, fine};
use crate::answer::table::COLUMNS_MAX;
use crate::answer::thing::Thing;
use crate::answer::{AnswerCell, AnswerColumn, AnswerRow, AnswerTable, ROWS_MAX};
use crate::math::ratio::RatioVerdict;
use crate::points::metric::Metric;
use crate::points::relative::{RelativeCell, RelativeRow};
use crate::points::work::{WorkRate, WorkUnit};
use crate::recorded::dimensions::{Role, Setting};
use crate::{PointAnalysis, Preference, Validity};
use model::Percentile;
use words::quantity::{count, counted, time};

/// With more columns there is no room for intervals and response times.
const WIDE_COLUMNS_MAX: usize = 3;

/// Who divides the rates gets another ratio than the pairs make.
const RATES_OF_ALL: &str = "rates are of all repeats, ratios of complete pairs";

pub(super) fn table(comparison: &Comparison, is_decided: bool) -> Option<AnswerTable> {
    let places = comparison.places();
    let all = axes(&places);
    let axis = column_axis(comparison, &all);
    let arms = comparison.table.arms.len();
    let mut table = match (axis, arms) {
        (Some(_), _) if has_column_for_each_arm(comparison) => Some(by_place(comparison, &places, &all)),
        // An engine that is not ranked has a row all the same.
        (None, 2) if comparison.arms.len() == 2 => by_metric(comparison, &places),
        (Some(axis), 2) if all.len() > 1 && (axis.role < Role::Clients || places.len() <= ROWS_MAX) => {
            pairs_table(comparison, &places, &all)
        }
        (Some(axis), _) => by_axis(comparison, &places, &all, axis, is_decided),
        (None, _) => by_arm(comparison, &places),
    }?;
    if let Some(each) = times_each(comparison) {
        let parts = [table.head.as_str(), &each];
        table.head = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    }
    let divides = comparison.has_ratios() && comparison.table.has_repeats_without_pair();
    let beside = divides.then(|| RATES_OF_ALL.to_owned());
    let parts = [Some(conditions(&Thing::all(comparison.run))), beside];
    table.conditions = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    Some(table)
}

/// `once each`, `5 times each`, `3 to 7 times each`: how often the arms were measured in pairs; `None` without a pair.
fn times_each(comparison: &Comparison) -> Option<String> {
    let rows = &comparison.table.rows;
    // A repeat may lack a response time or a cost, and was measured all the same.
    let has_speed = rows.iter().any(|row| row.metric.is_speed());
    let told = rows.iter().filter(|row| row.metric.is_speed() || !has_speed);
    let cells: Vec<&RelativeCell> = told.flat_map(|row| row.cells.iter().flatten()).collect();
    if cells.is_empty() {
        return None;
    }
    let times = counted(&cells, |cell| cell.ratio.n as u64, "time");
    Some(if times == "1 time" { "once each".to_owned() } else { format!("{times} each") })
}

/// The setting that the columns are of: the one that the plan names, else clients or depth, else that with the most values that have room.
fn column_axis<'s, 'a>(comparison: &Comparison, all: &'s [PlaceAxis<'a>]) -> Option<&'s PlaceAxis<'a>> {
    let stated = all.iter().find(|axis| comparison.run.stated_axis() == Some(axis.name));
    let counted = all.iter().find(|axis| matches!(axis.role, Role::Clients | Role::Depth));
    let roomy = all.iter().filter(|axis| axis.values.len() < COLUMNS_MAX).max_by_key(|axis| axis.values.len());
    stated.or(counted).or(roomy).or(all.first())
}

/// What the rates are counted in, above the names of the rows.
fn unit_head(comparison: &Comparison) -> String {
    let common = WorkUnit::common(comparison.run.usable().filter_map(WorkUnit::of));
    common.map_or_else(|| "per second".to_owned(), |unit| unit.head())
}

fn columns(heads: impl IntoIterator<Item = String>) -> Vec<AnswerColumn> {
    heads.into_iter().map(|head| AnswerColumn { head }).collect()
}

fn row(name: impl IntoIterator<Item = String>, cells: Vec<Option<AnswerCell>>) -> AnswerRow {
    AnswerRow { name: name.into_iter().collect(), cells }
}

/// One place and two arms: the rate and the response time of each, and their ratios.
fn by_metric(comparison: &Comparison, places: &[Vec<&Setting>]) -> Option<AnswerTable> {
    let place = places.first()?;
    let arms = &comparison.table.arms;
    let points: Vec<Option<&PointAnalysis>> = arms.iter().map(|arm| comparison.row(place, arm)).collect();
    let speed = comparison.table.rows.iter().find(|row| row.metric.is_speed());
    let p99 = comparison.table.rows.iter().find(|row| row.metric == Metric::Response(Percentile::P99));
    let of = |metric: Option<&RelativeRow>, value: fn(&PointAnalysis) -> Option<AnswerCell>| {
        let ratio = metric.and_then(|row| ratio_cell(comparison, row, row.cells[0]?, true));
        let values = points.iter().map(|point| value((*point)?));
        values.chain(comparison.has_ratios().then_some(ratio)).collect::<Vec<_>>()
    };
    let is_rate = points.iter().flatten().any(|point| WorkUnit::of(point).is_some());
    let rate_name = if is_rate { unit_head(comparison) } else { "time".to_owned() };
    let mut rows = vec![row([rate_name], of(speed, |point| speed_cell(point, false)))];
    if is_rate {
        rows.push(row(["p99".to_owned()], of(p99, p99_cell)));
    }
    let heads = arms.iter().map(speech::column).chain(ratio_head(comparison, "ratio (95 %)"));
    Some(AnswerTable { columns: columns(heads), rows, ..AnswerTable::default() })
}

/// The head of the column of ratios, if anything is in it.
fn ratio_head(comparison: &Comparison, head: &str) -> Option<String> {
    comparison.has_ratios().then(|| head.to_owned())
}

/// Two arms at places that differ in several settings: a row for each place, with the rates and what the arm costs or gains.
fn pairs_table(comparison: &Comparison, places: &[Vec<&Setting>], all: &[PlaceAxis]) -> Option<AnswerTable> {
    let arms = &comparison.table.arms;
    let speeds = comparison.table.rows.iter().filter(|row| row.metric.is_speed());
    let rows = places.iter().zip(speeds).map(|(place, speed)| {
        let values = arms.iter().map(|arm| speed_cell(comparison.row(place, arm)?, false));
        let ratio = speed.cells[0].and_then(|cell| ratio_cell(comparison, speed, cell, true));
        row(place_name(place, all, None), values.chain(comparison.has_ratios().then_some(ratio)).collect())
    });
    let heads = arms.iter().map(speech::column).chain(ratio_head(comparison, "ratio (95 %)"));
    Some(AnswerTable {
        head: unit_head(comparison),
        columns: columns(heads),
        rows: rows.collect(),
        ..AnswerTable::default()
    })
}

/// The name of `place` by what distinguishes it, without the axis of the columns.
fn place_name(place: &[&Setting], all: &[PlaceAxis], columns: Option<&PlaceAxis>) -> Vec<String> {
    let named = all.iter().filter(|axis| columns.is_none_or(|columns| columns.name != axis.name));
    named.filter_map(|axis| place.iter().find(|own| own.name == axis.name)).map(|own| speech::row(own)).collect()
}

/// Whether the arms are so many that they need a column each, and so few that they have one, with a row for each place.
pub(in crate::answer::kinds) fn has_column_for_each_arm(comparison: &Comparison) -> bool {
    (3..COLUMNS_MAX).contains(&comparison.arms.len()) && comparison.places().len() <= ROWS_MAX
}

/// A row for each place and a column for each arm: its rate, and its ratio to the base if that is decided.
pub(in crate::answer::kinds) fn by_place(
    comparison: &Comparison,
    places: &[Vec<&Setting>],
    all: &[PlaceAxis],
) -> AnswerTable {
    let compared = &comparison.table.arms;
    let speeds = comparison.table.rows.iter().filter(|row| row.metric.is_speed());
    let rows = places.iter().zip(speeds).map(|(place, speed)| {
        let cell = |arm: &Setting| {
            let rate = speed_cell(comparison.row(place, arm)?, false)?;
            let nth = compared[1..].iter().position(|one| one.value == arm.value);
            let ratio = nth.and_then(|nth| ratio_cell(comparison, speed, speed.cells[nth]?, false));
            let text = match ratio.filter(|ratio| !ratio.is_indicative).map(|ratio| ratio.text) {
                Some(even) if even.ends_with('=') => format!("{} =", rate.text),
                Some(ratio) => format!("{} ({ratio})", rate.text),
                None => rate.text.clone(),
            };
            Some(AnswerCell { text, ..rate })
        };
        row(place_name(place, all, None), comparison.arms.iter().map(cell).collect())
    });
    let rows: Vec<AnswerRow> = rows.collect();
    let has_ratio = rows.iter().flat_map(|row| row.cells.iter().flatten()).any(|cell| cell.text.ends_with(')'));
    let unit = unit_head(comparison);
    let head = if has_ratio { format!("{unit} (ratio to {})", speech::row(&compared[0])) } else { unit };
    AnswerTable { head, columns: columns(comparison.arms.iter().map(speech::column)), rows, ..AnswerTable::default() }
}

/// A column for each value of `axis`; the rates of the arms and their ratios, or the ratios alone if all of it has no room.
fn by_axis(
    comparison: &Comparison,
    places: &[Vec<&Setting>],
    all: &[PlaceAxis],
    axis: &PlaceAxis,
    is_decided: bool,
) -> Option<AnswerTable> {
    let values = spread(&axis.values, COLUMNS_MAX - 1);
    let is_wide = values.len() <= WIDE_COLUMNS_MAX;
    let mut names: Vec<Vec<String>> = Vec::new();
    for name in places.iter().map(|place| place_name(place, all, Some(axis))) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let arms = &comparison.table.arms;
    let speeds: Vec<&RelativeRow> = comparison.table.rows.iter().filter(|row| row.metric.is_speed()).collect();
    let at = |name: &[String], value: &Setting| {
        let mut both = places.iter().zip(&speeds);
        both.find(|(place, _)| place_name(place, all, Some(axis)) == name && place.contains(&value))
    };
    let has_room = names.len() * (2 * arms.len() - 1) <= ROWS_MAX && !(is_decided && arms.len() > 2);
    let mut rows = Vec::new();
    for name in &names {
        let with = |arm: &str| name.iter().cloned().chain([arm.to_owned()]).collect::<Vec<_>>();
        if has_room {
            rows.extend(arms.iter().map(|arm| {
                let cell = |value: &&&Setting| speed_cell(comparison.row(at(name, value)?.0, arm)?, is_wide);
                row(with(&speech::row(arm)), values.iter().map(|value| cell(&value)).collect())
            }));
        }
        rows.extend(arms[1..].iter().enumerate().filter(|_| comparison.has_ratios()).map(|(nth, arm)| {
            let cell = |value: &Setting| {
                let speed = at(name, value)?.1;
                ratio_cell(comparison, speed, speed.cells[nth]?, is_wide)
            };
            let label =
                if has_room { format!("{} : {}", speech::row(arm), speech::row(&arms[0])) } else { speech::row(arm) };
            row(with(&label), values.iter().map(|value| cell(value)).collect())
        }));
    }
    let head = if has_room { unit_head(comparison) } else { format!("speed against {}", speech::row(&arms[0])) };
    let head = if has_room && is_wide { format!("{head} (p99)") } else { head };
    (!rows.is_empty()).then(|| AnswerTable {
        head,
        columns: columns(values.iter().map(|value| speech::column(value))),
        rows,
        ..AnswerTable::default()
    })
}

/// One place and many arms: a row for each arm, whether it is ranked or not.
fn by_arm(comparison: &Comparison, places: &[Vec<&Setting>]) -> Option<AnswerTable> {
    let (place, ranked) = (places.first()?, &comparison.table.arms);
    let speed = comparison.table.rows.iter().find(|row| row.metric.is_speed())?;
    let rows = comparison.arms.iter().map(|arm| {
        let point = comparison.row(place, arm);
        let nth = ranked[1..].iter().position(|one| one.value == arm.value);
        let ratio = nth.and_then(|nth| ratio_cell(comparison, speed, speed.cells[nth]?, true));
        let own = [point.and_then(|point| speed_cell(point, false)), point.and_then(p99_cell)];
        row([speech::row(arm)], own.into_iter().chain(comparison.has_ratios().then_some(ratio)).collect())
    });
    let against = ratio_head(comparison, &format!("against {}", speech::row(&ranked[0])));
    let heads = [unit_head(comparison), "p99".to_owned()].into_iter().chain(against);
    Some(AnswerTable {
        head: "each".to_owned(),
        columns: columns(heads),
        rows: rows.collect(),
        ..AnswerTable::default()
    })
}

/// At most `most` of `values`, the first and the last among them.
fn spread<'a>(values: &[&'a Setting], most: usize) -> Vec<&'a Setting> {
    if values.len() <= most {
        return values.to_vec();
    }
    (0..most).map(|nth| values[nth * (values.len() - 1) / (most - 1)]).collect()
}

/// The rate of `point`, or how long it took.
pub(in crate::answer::kinds) fn speed_cell(point: &PointAnalysis, has_p99: bool) -> Option<AnswerCell> {
    let is_indicative = point.validity != Validity::Valid;
    if let Some(seconds) = point.duration_s() {
        let (text, figure) = (time(seconds * 1e9).to_string(), "seconds".to_owned());
        return Some(AnswerCell { value: seconds, text, figure, point: Some(point.id), is_indicative });
    }
    let rate = WorkRate::of(point)?;
    let p99 = point.summary.as_ref().and_then(|summary| summary.response_ns.as_ref()).map(|times| times.p99);
    let p99 = p99.filter(|_| has_p99).map_or(String::new(), |p99| format!(" ({})", time(p99 as f64)));
    Some(AnswerCell {
        value: rate.value,
        text: format!("{}{p99}", count(rate.value)),
        figure: rate.unit.figure().to_owned(),
        point: Some(point.id),
        is_indicative,
    })
}

fn p99_cell(point: &PointAnalysis) -> Option<AnswerCell> {
    let p99 = point.summary.as_ref()?.response_ns.as_ref()?.p99 as f64;
    Some(AnswerCell {
        value: p99,
        text: time(p99).to_string(),
        figure: "response_p99_ns".to_owned(),
        point: Some(point.id),
        is_indicative: point.validity != Validity::Valid,
    })
}

/// `1.35 (1.22 to 1.49)`, `0.97 unproven`, `0.63 ?`: a ratio that is shown, one that is not, and one that too few pairs make. Of times of a whole
/// step it is that of their speeds.
pub(in crate::answer::kinds) fn ratio_cell(
    comparison: &Comparison,
    metric: &RelativeRow,
    cell: RelativeCell,
    is_wide: bool,
) -> Option<AnswerCell> {
    if !comparison.is_ranked || cell.is_unlike {
        return None;
    }
    let is_inverse = metric.metric.is_speed() && metric.metric.better() == Preference::Less;
    let ratio = if is_inverse { crate::answer::effect::inverse(cell.ratio) } else { cell.ratio };
    let is_decided = ratio.verdict != RatioVerdict::Indicative;
    let text = match (ratio.verdict, ratio.ci95) {
        (RatioVerdict::Indicative, _) => format!("{} ?", fine(ratio.ratio)),
        (RatioVerdict::NoDifferenceShown, _) if !is_wide => format!("{} =", fine(ratio.ratio)),
        (RatioVerdict::NoDifferenceShown, _) if ratio.telling_effect().is_some_and(|one| one <= NEARLY_NONE) => {
            "no difference".to_owned()
        }
        (RatioVerdict::NoDifferenceShown, _) => format!("{} unproven", fine(ratio.ratio)),
        (_, Some([low, high])) if is_wide => {
            format!("{} ({} to {})", fine(ratio.ratio), fine(low), fine(high))
        }
        _ => fine(ratio.ratio),
    };
    let figure = if is_inverse { "speed_ratio" } else { "ratio" }.to_owned();
    Some(AnswerCell { value: ratio.ratio, text, figure, point: None, is_indicative: !is_decided })
}
