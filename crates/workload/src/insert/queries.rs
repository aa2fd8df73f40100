//! Queries with inserts in the background: a few rows in the order of a secondary index, or one row by its id.
//!
//! In: the rows. Out: sources of operations, one query each, on the tables of a client in turn. An operation takes about 10 ns
//! to make. Limits: rows are looked for among those that were there when the step began, as long as there are any, so
//! that no query looks for a row that a background client has not yet inserted. Without a secondary index, a range is one of ids.
//! Key-value engines have no ranges here.
//!
//! The ranges are those of iibench.py: the index is drawn, and a value of its first column at which to begin.

use super::rows::PurchaseData;
use super::schema::{CASH_REGISTERS, CUSTOMERS, KEY, PRICES, PRODUCTS, TableForm};
use super::statements::{PurchaseStatement, StepStatements};
use crate::Workload;
use crate::program::{ClientIndex, push_entry};
use crate::random::{Rng, Words, client_rng_stream, number_below};
use model::{KvAction, KvOp, OpKind, SqlArg, SqlCall, SqlOp};
use std::ops::Range;

use super::inserts::TableTurns;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepQuery {
    /// So many rows in the order of an index.
    Range(u64),
    Point,
}

impl StepQuery {
    /// The statements that ask for it.
    pub(super) fn statements(self, data: &PurchaseData) -> Vec<PurchaseStatement> {
        match self {
            StepQuery::Point => vec![PurchaseStatement::Point],
            StepQuery::Range(rows) => {
                index_orders(data).into_iter().map(|columns| PurchaseStatement::Range(columns, rows)).collect()
            }
        }
    }
}

/// The index_orders in which there are indexes: the secondary ones, or that of the ids.
fn index_orders(data: &PurchaseData) -> Vec<&'static [&'static str]> {
    match data.live_indexes() {
        0 => vec![&[KEY]],
        indexes => (0..indexes).map(|nth| data.schema.index_columns(nth)).collect(),
    }
}

pub(super) struct QueryOps {
    data: PurchaseData,
    statements: StepStatements,
    query: StepQuery,
    orders: Vec<&'static [&'static str]>,
    /// The ids in each table when the step began.
    known: Vec<Range<u64>>,
    tables: TableTurns,
    rng: Rng,
}

/// The stream of a client's queries; other steps that draw have streams of their own.
const STREAM: u32 = 1;

impl QueryOps {
    /// Those of the client in `slot`.
    pub(super) fn new(
        slot: ClientIndex,
        data: PurchaseData,
        statements: StepStatements,
        query: StepQuery,
        known: Vec<Range<u64>>,
    ) -> QueryOps {
        let stream = STREAM + u32::from(query == StepQuery::Point);
        QueryOps {
            tables: TableTurns::new(slot, data.schema.tables),
            rng: client_rng_stream(data.seed, slot.client, stream),
            orders: index_orders(&data),
            data,
            statements,
            query,
            known,
        }
    }

    /// An id of a row that is in `table`.
    #[inline]
    fn pick_id(&mut self, table: u64) -> u64 {
        let now = self.data.present_ids(table);
        let known = &self.known[table as usize];
        let from = now.start.max(known.start);
        let end = if known.end > from { known.end } else { now.end };
        from + number_below(self.rng.next_u64(), end.saturating_sub(from).max(1))
    }

    /// A value at which a range in the order of `columns` may begin.
    #[inline]
    fn range_start(&mut self, table: u64, columns: &[&str]) -> SqlArg {
        let values = match columns[0] {
            "cashregisterid" => CASH_REGISTERS,
            "productid" => PRODUCTS,
            "price" if self.data.schema.form == TableForm::Ibench => PRICES,
            "price" => return SqlArg::Float(number_below(self.rng.next_u64(), CUSTOMERS + PRICES) as f64 / 100.0),
            _ => return SqlArg::Int(self.pick_id(table) as i64),
        };
        SqlArg::Int(number_below(self.rng.next_u64(), values) as i64)
    }

    #[inline]
    fn next_query(&mut self) -> (u16, SqlArg) {
        let table = self.tables.next_table();
        let (statement, argument) = match self.query {
            StepQuery::Point => (PurchaseStatement::Point, SqlArg::Int(self.pick_id(table) as i64)),
            StepQuery::Range(rows) => {
                let columns = self.orders[number_below(self.rng.next_u64(), self.orders.len() as u64) as usize];
                (PurchaseStatement::Range(columns, rows), self.range_start(table, columns))
            }
        };
        (self.statements.number_of(table, statement), argument)
    }
}

impl Workload<SqlOp> for QueryOps {
    fn fill_ops(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            op.op_kind = OpKind(0);
            let (statement, argument) = self.next_query();
            op.calls.push(SqlCall { statement, args: 1 });
            op.args.push(argument);
        }
    }
}

impl Workload<KvOp> for QueryOps {
    fn fill_ops(&mut self, ops: &mut [KvOp]) {
        for op in ops {
            op.clear();
            // A step that was ended by time left ids that were never inserted: a get of those finds no row, and that is no failure.
            (op.op_kind, op.action) = (OpKind(0), KvAction::Find);
            let table = self.tables.next_table();
            let id = self.pick_id(table);
            push_entry(op, 0, self.data.row_key(table, id).as_bytes(), |_| ());
        }
    }
}
