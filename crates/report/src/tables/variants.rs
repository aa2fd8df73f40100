//! The tables of variants: what each step of them took, the ratio to the first, what was returned and what the optimizer built; and
//! variants.csv. Durations are means over repeats; the plans are of one execution.

use crate::csv_column::{CsvColumn, column, csv_table, float};
use crate::table::TableDef;
use crate::table::{Cell, Column, ColumnOf, InTerminal, Row, Table};
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

pub const TABLE: TableDef = TableDef {
    id: "variant-table",
    title: "Variants",
    is_open: true,
    in_narrow: false,
    chart: None,
    make: |analysis, _| {
        analysis.verdict.variants.iter().map(|verdict| table(verdict, &analysis.verdict.variants)).collect()
    },
};

const LEGEND: &str = "Durations are means over the repeats: of the set-up, of the statement with the fetching of its rows, of the clean-up, \
    and of all together. Each ratio is the duration of the variant divided by that of the first, with its 95 % confidence interval; \
    below 1 is faster. All variants returned the same rows, unless the run ended with an error. The amounts and the plan are of one \
    execution of the statement outside of what was measured.";

/// What the optimizer did for a statement.
const EFFORTS: &str = "Amounts";

fn table(verdict: &VariantVerdict, all: &[VariantVerdict]) -> Table {
    let place = place_name(verdict, all);
    let rows = verdict.arms.iter().enumerate().map(|(at, arm)| {
        let shown = ShownArm { arm, is_base: verdict.base == Some(at) };
        (Row::labelled(vec![arm.name.clone()]), shown)
    });
    Table {
        title: if place.is_empty() { "Variants".to_owned() } else { format!("Variants: {place}") },
        legend: LEGEND.to_owned(),
        label_head: "variant".to_owned(),
        texts: verdict
            .arms
            .iter()
            .filter_map(|arm| Some((format!("Plan of {}", arm.name), arm.plan.clone()?)))
            .collect(),
        most_rows: usize::MAX,
        ..Table::of(columns(&verdict.arms), rows)
    }
}

/// A variant, and whether the ratios are to it.
struct ShownArm<'a> {
    arm: &'a VariantArm,
    is_base: bool,
}

type ArmColumn<'a> = ColumnOf<'static, ShownArm<'a>>;

fn columns<'a>(arms: &[VariantArm]) -> Vec<ArmColumn<'a>> {
    let duration = |head, seconds: fn(&VariantArm) -> Option<f64>| {
        ArmColumn::new(Column::number(head).least_width(9), move |shown| {
            seconds(shown.arm).map(|seconds| time(seconds * 1e9).to_string())
        })
    };
    let ratio = |head, long_head, ratio: fn(&VariantArm) -> Option<&RatioEstimate>| {
        let column = Column::number(head).long_head(long_head).terminal(InTerminal::Below);
        ArmColumn::new(column, move |shown| {
            if shown.is_base { Cell::from("base").short("") } else { Cell::from(ratio(shown.arm).map(ratio_words)) }
        })
    };
    let own = vec![
        duration("set-up", |arm| arm.setup_seconds),
        duration("statement", |arm| arm.statement_seconds),
        duration("clean-up", |arm| arm.cleanup_seconds),
        duration("total", |arm| arm.total_seconds.map(|total| total.mean)),
        ratio("total", "total, ratio", |arm| arm.ratio.as_ref()),
        ratio("statement", "statement, ratio", |arm| arm.statement_ratio.as_ref()),
        ArmColumn::new(Column::number("rows").least_width(9), |shown| rows_cell(shown.arm)),
    ];
    own.into_iter().chain(amount_columns(arms)).collect()
}

/// What the optimizer did for each, and what it built; none if it built nothing.
fn amount_columns<'a>(arms: &[VariantArm]) -> Vec<ArmColumn<'a>> {
    if arms.iter().all(|arm| arm.built.is_none()) {
        return Vec::new();
    }
    let is_shown =
        |effort: &StatementEffort| arms.iter().any(|arm| arm.efforts.get(effort).is_some_and(|value| *value > 0.0));
    let efforts = STATEMENT_EFFORTS.iter().map(|(effort, _)| *effort).filter(is_shown).map(|effort| {
        let column = Column::number(effort_name(effort)).part(EFFORTS).documents_only();
        ArmColumn::new(column, move |shown| shown.arm.efforts.get(&effort).map(|value| amount(effort, *value)))
    });
    let built = Column::text("built").part(EFFORTS).terminal(InTerminal::Below);
    efforts.chain([ArmColumn::new(built, |shown| shown.arm.built.clone())]).collect()
}

fn ratio_words(ratio: &RatioEstimate) -> String {
    let verdict = verdict_word(Metric::Seconds, ratio.verdict);
    format!("{}, n {}, {verdict}", ratio_text(ratio.ratio, ratio.telling_ci95()), ratio.n)
}

fn rows_cell(arm: &VariantArm) -> Cell {
    match (&arm.result, arm.timeouts) {
        (None, cancelled) if cancelled > 0 => {
            Cell::from(format!("cancelled ({})", plural(cancelled, "time"))).short("cancelled")
        }
        (None, _) => Cell::from(format::dash()),
        (Some(result), _) => Cell::from(format::count(result.rows)),
    }
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
