//! The tables of a run, in the order in which terminal and documents have them. A new table is a file here and a line in [`TABLES`].

mod bottlenecks;
mod compression;
mod costs;
mod cross;
mod divergence;
mod endpoints;
mod hosts;
mod inserts;
mod kernels;
mod loads;
pub mod observed;
mod plans;
pub mod points;
mod relative;
mod running_costs;
mod searches;
mod stacks;
mod statements;
pub mod threads;
pub mod variants;

use crate::table::TableDef;

pub static TABLES: &[&TableDef] = &[
    &searches::TABLE,
    &compression::TABLE,
    &points::TABLE,
    &observed::STATEMENTS,
    &observed::LIMITS,
    &observed::EVENTS,
    &observed::SESSIONS,
    &statements::TABLE,
    &divergence::TABLE,
    &plans::TABLE,
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
