//! Order entry: nine tables of a wholesale supplier, and the five transactions of its terminals.
//!
//! In: warehouses, or the size of the data; foreign keys; statements or stored procedures; keying and think times. Out: one transaction an operation, from a shuffled deck
//! of 45 new orders, 43 payments, 4 order statuses, 4 deliveries and 4 stock levels. A new order that ends by a rollback (1 %) counts as
//! done. Limits: tables, texts, constants and shares are those of the published specification TPC-C, revision 5.11, but a run is no
//! result of that benchmark: nothing is audited, a delivery is performed while its terminal waits, and there is no checkpoint or ramp that
//! it asks for. Amounts are in cents, and taxes and discounts in ten-thousandths, so that all engines compute them exactly. A run adds
//! orders and payments, so each point begins with new data.
//!
//! `schema` has the tables, `rows` what is loaded, `draws` the random numbers and names, `inputs` what users enter, `transactions` what
//! is then done statement by statement, `procedures` the same as one call, `deck` in which order and with which pauses, `conditions` what
//! must hold at the end.

mod conditions;
mod deck;
mod draws;
mod inputs;
mod procedures;
mod rows;
mod schema;
mod transactions;

use crate::background;
use crate::procedure::SqlProcedure;
use crate::program::{OpKindDef, OpStream, ProgramInput, SqlLoad, SqlProgram, SqlWork};
use crate::{DataReuse, WorkloadDef};
use deck::TerminalOps;
use model::{
    Bytes, Entry, Family, OpClass, OpKind, OrderWork, ParamDef, ParamKind, ParamRole, Params, Phrase, SqlOp, WorkTraits,
};
use rows::OrderData;
use transactions::{STATEMENTS, TransactionKind};

pub static ORDERS: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "orders",
        spoken: "new orders",
        help: "order entry: new orders, payments, order statuses, deliveries and stock levels of warehouses, on nine tables",
        families: &[Family::Sql],
        params: &[
            WAREHOUSES,
            SIZE,
            ITEMS,
            CUSTOMERS,
            FOREIGN_KEYS,
            CALLS,
            PAUSES,
            CONDITIONS,
            background::ON_NAMED_TABLES,
        ],
    },
    traits: |params| WorkTraits {
        orders: Some(OrderWork {
            warehouses: warehouses(params),
            pauses: params.float(PAUSES.name),
            new_order: OpKind(TransactionKind::NewOrder as u8),
        }),
        ..WorkTraits::default()
    },
    data_reuse: |_| DataReuse::Fresh,
    data_bytes: |params| OrderData::new(params, 0).about_bytes(),
    growth_bytes_per_op: |_| GROWTH,
    io: None,
    sql: Some(sql_program),
    kv: None,
    task: None,
    connect: None,
    steps_without_kv: &[],
    usual_keys: &[],
};

/// About what the deck adds for each transaction: 0.45 orders with ten lines, 0.43 payments.
const GROWTH: Bytes = Bytes(500);

const WAREHOUSES: ParamDef = ParamDef {
    kind: ParamKind::Int { min: 1, max: 1_000_000 },
    default: "1",
    help: "number of warehouses: about 100 MB of data each",
    shapes_data: true,
    phrase: Phrase::Counted { zero: "no warehouse", one: "one warehouse", many: "{} warehouses" },
    ..ParamDef::new("warehouses", ParamRole::DataSize, ParamKind::Bool, "")
};
const SIZE: ParamDef = ParamDef {
    kind: ParamKind::Bytes { min: 0, max: 100 << 40 },
    default: "0B",
    help: "size of the data, in place of the number of warehouses: as many as come to about this; 0B = as `warehouses` says",
    scales: true,
    shapes_data: true,
    ..ParamDef::new("size", ParamRole::DataSize, ParamKind::Bool, "")
};
const ITEMS: ParamDef = ParamDef {
    kind: ParamKind::Int { min: rows::ITEMS_MIN, max: 100_000 },
    default: "100000",
    help: "number of items, and of stock rows of each warehouse; the specification has 100,000: fewer are for trials only",
    scales: true,
    shapes_data: true,
    ..ParamDef::new("items", ParamRole::Size, ParamKind::Bool, "")
};
const CUSTOMERS: ParamDef = ParamDef {
    kind: ParamKind::Int { min: rows::CUSTOMERS_MIN, max: 3_000 },
    default: "3000",
    help: "customers, and orders at the beginning, of each of the ten districts of a warehouse; the specification has 3,000: \
           fewer are for trials only",
    scales: true,
    shapes_data: true,
    ..ParamDef::new("customers", ParamRole::Size, ParamKind::Bool, "")
};
const FOREIGN_KEYS: ParamDef = ParamDef {
    kind: ParamKind::Bool,
    default: "false",
    help: "make the foreign keys of the tables and let the engine enforce them",
    shapes_data: true,
    phrase: Phrase::Words(&[("true", "foreign keys"), ("false", "no foreign keys")]),
    ..ParamDef::new("foreign_keys", ParamRole::Ground, ParamKind::Bool, "")
};
/// What a transaction is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransactionCalls {
    /// Statements, with a round trip for each.
    Statements,
    /// One call of a stored procedure.
    Procedures,
}

impl TransactionCalls {
    const STATEMENTS: &str = "statements";
    const PROCEDURES: &str = "procedures";

    fn from_params(params: &Params) -> TransactionCalls {
        match params.word(CALLS.name) {
            TransactionCalls::PROCEDURES => TransactionCalls::Procedures,
            _ => TransactionCalls::Statements,
        }
    }
}

const CALLS: ParamDef = ParamDef {
    kind: ParamKind::OneOf(&[TransactionCalls::STATEMENTS, TransactionCalls::PROCEDURES]),
    default: TransactionCalls::STATEMENTS,
    help: "what clients call: the `statements` of a transaction one by one, with a round trip for each; or stored `procedures`, one for \
           each transaction (MariaDB, MySQL and PostgreSQL)",
    shapes_data: true,
    ..ParamDef::new("calls", ParamRole::Work, ParamKind::Bool, "")
};
const PAUSES: ParamDef = ParamDef {
    kind: ParamKind::Float { min: 0.0, max: 1.0 },
    default: "0",
    help: "keying and think times of the terminals, as a factor: 1 = those of the specification, so a client makes 1.286 new orders \
           a minute at most; 0 = none. With them each client is a terminal of one warehouse: use 10 clients for each",
    phrase: Phrase::Pattern("pauses of {} times the usual"),
    ..ParamDef::new("pauses", ParamRole::Work, ParamKind::Bool, "")
};
const CONDITIONS: ParamDef = ParamDef {
    kind: ParamKind::Bool,
    default: "true",
    help: "check the twelve consistency conditions after the run; it takes as long as several reads of all data",
    ..ParamDef::new("conditions", ParamRole::Tuning, ParamKind::Bool, "")
};

fn warehouses(params: &Params) -> u64 {
    OrderData::new(params, 0).warehouses
}

/// The kind of the load: those of the transactions come before.
const LOAD: OpKind = OpKind(TransactionKind::ALL.len() as u8);

/// An operation has up to 300 arguments, so few of them are made ahead.
const OPS_AHEAD_WEIGHT: u64 = 8;

fn sql_program(input: &ProgramInput) -> SqlProgram {
    let params = input.params;
    let data = OrderData::new(params, input.seed);
    let (calls, pauses) = (TransactionCalls::from_params(params), params.float(PAUSES.name));
    let procedures = match calls {
        TransactionCalls::Statements => Vec::new(),
        TransactionCalls::Procedures => procedures::procedures(),
    };
    let statements = match calls {
        TransactionCalls::Statements => STATEMENTS.iter().map(|text| text.to_string()).collect(),
        TransactionCalls::Procedures => procedures.iter().map(SqlProcedure::call_text).collect(),
    };
    let rows = match calls {
        TransactionCalls::Statements => transactions::expected_rows(background::changes_rows(params)),
        // What a procedure changes it does not tell.
        TransactionCalls::Procedures => Vec::new(),
    };
    let conditions = if params.flag(CONDITIONS.name) { conditions::conditions(&data) } else { Vec::new() };
    SqlProgram {
        schema: schema::tables(params.flag(FOREIGN_KEYS.name)),
        procedures,
        statements,
        rows,
        writes: true,
        kinds: TransactionKind::ALL.iter().map(|kind| kind.op_kind_def(calls)).chain([load_kind(&data)]).collect(),
        load: Some(SqlLoad::Rows { targets: rows::load_targets(), blocks: data.load_stream(LOAD) }),
        work: SqlWork::Calls,
        needs_answers: true,
        run: run_stream(data, calls, pauses),
        background: Vec::new(),
        conditions,
        found: None,
    }
}

fn run_stream(data: OrderData, calls: TransactionCalls, pauses: f64) -> OpStream<SqlOp> {
    OpStream::new(None, OPS_AHEAD_WEIGHT, move |slot| TerminalOps::new(slot, data, calls, pauses))
}

fn load_kind(data: &OrderData) -> OpKindDef {
    let rows = data.row_count() as f64 / data.commit_count() as f64;
    OpKindDef::with_rows("load", OpClass::Write, rows)
}

#[cfg(test)]
mod tests;
