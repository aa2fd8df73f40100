//! The tables of variants: what each step of them took, the ratio to the first, what was returned and what the optimizer built.
//!
//! In: an analysis. Out: a [`VariantTable`] for each place, as text cells; the same for the terminal, Markdown and HTML, and variants.csv.
//! Limits: nothing is judged here. Durations are means over repeats; the plans are of one execution.

use crate::csv_column::{CsvColumn, column, csv_table, float};
use crate::wording::label::settings_label;
use crate::wording::metric::verdict_word;
use crate::wording::quantity::{plural, time};
use crate::wording::relative::ratio_text;
use crate::wording::variants::{amount, effort_name, place_name};
use crate::{escape, format};
use analysis::points::metric::Metric;
use analysis::{Analysis, RatioEstimate, VariantArm, VariantVerdict};
use model::StatementEffort;
use model::variant::STATEMENT_EFFORTS;
use serde::Serialize;

/// What the cells mean, in the documents.
pub const LEGEND: &str = "Durations are means over the repeats: of the set-up, of the statement with the fetching of its rows, of the clean-up, \
    and of all together. Each ratio is the duration of the variant divided by that of the first, with its 95 % confidence interval; \
    below 1 is faster. All variants returned the same rows, unless the run ended with an error. The amounts and the plan are of one \
    execution of the statement outside of what was measured.";

/// The heads of the durations.
pub const HEADS: [&str; 8] =
    ["variant", "set-up", "statement", "clean-up", "total", "total, ratio", "statement, ratio", "rows"];

/// The table of one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantTable {
    /// `Variants: mariadb:innodb, data fanout`.
    pub title: String,
    /// The heads.
    pub heads: [&'static str; 8],
    /// A row for each variant.
    pub rows: Vec<[String; 8]>,
    /// The heads of the amounts: `variant`, those that some variant has, `built`.
    pub effort_heads: Vec<String>,
    /// The amounts.
    pub efforts: Vec<Vec<String>>,
    /// The plan of each variant.
    pub plans: Vec<VariantPlan>,
}

/// The plan of one variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantPlan {
    /// The variant.
    pub name: String,
    /// Its plan, with line breaks.
    pub plan: String,
}

/// The tables of `analysis`.
pub fn variant_tables(analysis: &Analysis) -> Vec<VariantTable> {
    let verdicts = &analysis.verdict.variants;
    verdicts.iter().map(|verdict| table(verdict, verdicts)).collect()
}

fn table(verdict: &VariantVerdict, all: &[VariantVerdict]) -> VariantTable {
    let place = place_name(verdict, all);
    let title = if place.is_empty() { "Variants".to_owned() } else { format!("Variants: {place}") };
    let shown: Vec<StatementEffort> = STATEMENT_EFFORTS
        .iter()
        .map(|(effort, _)| *effort)
        .filter(|effort| verdict.arms.iter().any(|arm| arm.efforts.get(effort).is_some_and(|value| *value > 0.0)))
        .collect();
    let names = shown.iter().map(|effort| effort_name(*effort).to_owned());
    let efforts = |arm: &VariantArm| {
        let amounts = shown
            .iter()
            .map(|effort| arm.efforts.get(effort).map_or_else(format::dash, |value| amount(*effort, *value)));
        let built = arm.built.clone().unwrap_or_else(format::dash);
        [arm.name.clone()].into_iter().chain(amounts).chain([built]).collect()
    };
    let has_efforts = verdict.arms.iter().any(|arm| arm.built.is_some());
    VariantTable {
        title,
        heads: HEADS,
        rows: verdict.arms.iter().enumerate().map(|(at, arm)| row(arm, verdict.base == Some(at))).collect(),
        effort_heads: ["variant".to_owned()].into_iter().chain(names).chain(["built".to_owned()]).collect(),
        efforts: if has_efforts { verdict.arms.iter().map(efforts).collect() } else { Vec::new() },
        plans: verdict.arms.iter().filter_map(plan).collect(),
    }
}

fn plan(arm: &VariantArm) -> Option<VariantPlan> {
    Some(VariantPlan { name: arm.name.clone(), plan: arm.plan.clone()? })
}

fn row(arm: &VariantArm, is_base: bool) -> [String; 8] {
    let duration = |seconds: Option<f64>| seconds.map_or_else(format::dash, |it| time(it * 1e9).to_string());
    let ratio = |ratio: &Option<RatioEstimate>| match ratio {
        _ if is_base => "base".to_owned(),
        None => format::dash(),
        Some(ratio) => {
            let verdict = verdict_word(Metric::Seconds, ratio.verdict);
            format!("{}, n {}, {verdict}", ratio_text(ratio.ratio, ratio.ci95), ratio.n)
        }
    };
    let rows = match (&arm.result, arm.timeouts) {
        (None, cancelled) if cancelled > 0 => format!("cancelled ({})", plural(cancelled, "time")),
        (None, _) => format::dash(),
        (Some(result), _) => format::count(result.rows),
    };
    [
        arm.name.clone(),
        duration(arm.setup_seconds),
        duration(arm.statement_seconds),
        duration(arm.cleanup_seconds),
        duration(arm.total_seconds.map(|total| total.mean)),
        ratio(&arm.ratio),
        ratio(&arm.statement_ratio),
        rows,
    ]
}

/// One variant at one place, as variants.csv has it.
pub struct CsvVariant<'a> {
    verdict: &'a VariantVerdict,
    arm: &'a VariantArm,
}

/// A column of variants.csv.
type VariantColumn = CsvColumn<fn(&CsvVariant) -> String>;

/// The columns of variants.csv.
pub static VARIANT_COLUMNS: &[VariantColumn] = &[
    column("place", "what distinguishes the place from the others of the run: engine, data, question", |row| {
        escape::csv(&settings_label(&row.verdict.place))
    }),
    column("variant", "name of the variant", |row| escape::csv(&row.arm.name)),
    column("setup_seconds", "mean duration of its set-up", |row| float(row.arm.setup_seconds)),
    column("statement_seconds", "mean duration of its statement", |row| float(row.arm.statement_seconds)),
    column("cleanup_seconds", "mean duration of its clean-up", |row| float(row.arm.cleanup_seconds)),
    column("total_seconds", "mean duration of all together", |row| {
        float(row.arm.total_seconds.map(|total| total.mean))
    }),
    column("ratio", "total over that of the first variant", |row| float(row.arm.ratio.map(|ratio| ratio.ratio))),
    column("ratio_low", "lower end of its 95 % confidence interval", |row| {
        float(row.arm.ratio.and_then(|ratio| Some(ratio.ci95?[0])))
    }),
    column("ratio_high", "upper end of it", |row| float(row.arm.ratio.and_then(|ratio| Some(ratio.ci95?[1])))),
    column("statement_ratio", "statement over that of the first variant", |row| {
        float(row.arm.statement_ratio.map(|ratio| ratio.ratio))
    }),
    column("pairs", "pairs of repeats that the ratio is of", |row| {
        row.arm.ratio.map(|ratio| ratio.n.to_string()).unwrap_or_default()
    }),
    column("rows", "rows that it returned", |row| {
        row.arm.result.as_ref().map(|result| result.rows.to_string()).unwrap_or_default()
    }),
    column("checksum", "checksum of its rows, whatever their order", |row| {
        row.arm.result.as_ref().map(|result| result.checksum.clone()).unwrap_or_default()
    }),
    column("timeouts", "executions that were cancelled", |row| row.arm.timeouts.to_string()),
    column("built", "what the optimizer built for it", |row| escape::csv(row.arm.built.as_deref().unwrap_or_default())),
];

/// variants.csv, with a header line.
pub fn variants_csv(analysis: &Analysis) -> String {
    let verdicts = analysis.verdict.variants.iter();
    let rows = verdicts.flat_map(|verdict| verdict.arms.iter().map(move |arm| CsvVariant { verdict, arm }));
    csv_table(VARIANT_COLUMNS, rows)
}
