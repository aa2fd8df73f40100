//! The tables of a run, in the order in which terminal and documents have them. A new table is a file here and a line in [`TABLES`].

mod bottlenecks;
mod compression;
mod costs;
mod cross;
mod endpoints;
mod hosts;
mod inserts;
mod kernels;
mod loads;
pub mod points;
mod relative;
mod running_costs;
mod searches;
mod stacks;
mod statements;
pub mod threads;
pub mod variants;

use crate::table::Table;
use analysis::{Analysis, RepeatRows};

/// A table, or several of one kind.
pub struct TableDef {
    /// Where a link to it leads.
    pub id: &'static str,
    /// The heading of its section.
    pub title: &'static str,
    /// Whether its section is open in the report, before the findings. Other tables are folded, behind them.
    pub is_open: bool,
    /// Whether a terminal that is too narrow for tables shows it, each column on a line of its own.
    pub in_narrow: bool,
    /// The chart behind which the same values are: a page that has it leaves out the table.
    pub chart: Option<&'static str>,
    /// The tables of an analysis, and of its rows, in which repeats are taken together. None if it has nothing of the kind.
    pub make: fn(&Analysis, &RepeatRows) -> Vec<Table>,
}

pub static TABLES: &[&TableDef] = &[
    &searches::TABLE,
    &compression::TABLE,
    &points::TABLE,
    &statements::TABLE,
    &endpoints::TABLE,
    &hosts::TABLE,
    &variants::TABLE,
    &relative::TABLE,
    &kernels::TABLE,
    &loads::TABLE,
    &costs::TABLE,
    &threads::TABLE,
    &stacks::TABLE,
    &running_costs::TABLE,
    &inserts::TABLE,
    &bottlenecks::TABLE,
];
