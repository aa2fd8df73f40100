//! All CSV files of reports, with their columns, for the reference.

use crate::csv_column::{CsvFile, explained};
use crate::history::HISTORY_COLUMNS;
use crate::overlay::{COMPARED_COST_COLUMNS, COMPARISON_COLUMNS, CONDITION_COLUMNS, WATCHED_COLUMNS, WORK_COLUMNS};
use crate::publish::DATA_COLUMNS;
use crate::render::compression_csv::compression_columns;
use crate::render::connections_csv::{held_columns, kind_columns};
use crate::render::csv::{insert_columns, interval_columns, point_columns};
use crate::render::endpoints_csv::endpoint_columns;
use crate::render::hosts_csv::host_columns;
use crate::render::kernels_csv::kernel_columns;
use crate::render::probes_csv::probe_columns;
use crate::render::relative_csv::RELATIVE_COLUMNS;
use crate::render::statements_csv::statement_columns;
use crate::tables::variants::VARIANT_COLUMNS;

/// The files, in the order of the reference.
#[rustfmt::skip]
pub static CSV_FILES: &[CsvFile] = &[
    CsvFile {
        name: "points.csv",
        parts: &[
            ("", point_columns),
            (
                "The columns of the table of costs, for points that insert and for steps of a sequence (in parentheses the heading in that table):",
                insert_columns,
            ),
        ],
    },
    CsvFile { name: "intervals.csv", parts: &[("", interval_columns)] },
    CsvFile { name: "relative.csv", parts: &[("The relative tables of a run in which a setting has several values: one row for each point, metric and arm.", || explained(RELATIVE_COLUMNS))] },
    CsvFile { name: "compression.csv", parts: &[("In the report of a run that compressed files: one row for each file and codec, and for all files together.", compression_columns)] },
    CsvFile { name: "kernels.csv", parts: &[("In the report of a run of `cpu`: one row for each kernel, with one client (`single`) and with the most (`all`).", kernel_columns)] },
    CsvFile { name: "statements.csv", parts: &[("In the report of a run with points that performed several kinds of operation: one row for each point and kind.", statement_columns)] },
    CsvFile { name: "endpoints.csv", parts: &[("In the report of a run with points that had several endpoints: one row for each point and endpoint.", endpoint_columns)] },
    CsvFile { name: "hosts.csv", parts: &[("In the report of a run with points that several hosts measured: one row for each point, host and network interface.", host_columns)] },
    CsvFile { name: "kinds.csv", parts: &[("In the report of a run whose operations have steps: one row for each point and kind of operation.", kind_columns)] },
    CsvFile { name: "held.csv", parts: &[("In the report of a run that held connections or transactions: one row for each reading of the engine's memory.", held_columns)] },
    CsvFile { name: "variants.csv", parts: &[("In the report of a run with variants of a statement.", || explained(VARIANT_COLUMNS))] },
    CsvFile { name: "probes.csv", parts: &[("In the report of a run that looked for the largest rate.", probe_columns)] },
    CsvFile { name: "history.csv", parts: &[("`plimsoll history` writes it into its report: one row for each run and series.", || explained(HISTORY_COLUMNS))] },
    CsvFile { name: "data.csv", parts: &[("`plimsoll report RUN... --out DIR` writes it: one row for each run and point, repeats taken together.", || explained(DATA_COLUMNS))] },
    CsvFile { name: "ratios.csv", parts: &[("`plimsoll compare --out DIR` writes it into its report: one row for each point and metric.", || explained(COMPARISON_COLUMNS))] },
    CsvFile { name: "costs.csv", parts: &[("`plimsoll compare --out DIR` writes it, too: one row for each point and cost of an op.", || explained(COMPARED_COST_COLUMNS))] },
    CsvFile { name: "conditions.csv", parts: &[("`plimsoll compare --out DIR` writes it, too: one row for each thing in which the arms differ.", || explained(CONDITION_COLUMNS))] },
    CsvFile { name: "work.csv", parts: &[("`plimsoll compare --out DIR` writes it, too, for runs of `cpu`: one row for each ratio over all kernels.", || explained(WORK_COLUMNS))] },
    CsvFile { name: "watched.csv", parts: &[("`plimsoll compare --out DIR` writes it, too, for watches of a server: one row for each statement.", || explained(WATCHED_COLUMNS))] },
];
