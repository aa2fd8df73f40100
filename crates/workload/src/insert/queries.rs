//! Queries beside the inserts: a few rows in the order of a secondary index, or one row by its id.
//!
//! In: the rows. Out: sources of operations, one query each, on the tables of a client in turn. An operation takes about 10 ns
//! to make. Limits: rows are looked for among those that were there when the step began, as long as there are any: inserts
//! beside it do not make it look for rows that are on their way. Where there is no secondary index, a range is one of ids.
//! Key-value engines have no ranges here.
//!
//! The ranges are those of iibench.py: the index is drawn, and a value of its first column at which to begin.

use super::rows::Data;
use super::schema::{CASH_REGISTERS, CUSTOMERS, Form, KEY, PRICES, PRODUCTS};
use super::statements::{Statement, Statements};
use crate::Workload;
use crate::program::{ClientIndex, push_entry};
use crate::random::{Rng, Words, below, rng_stream};
use model::{KvAction, KvOp, OpKind, SqlArg, SqlCall, SqlOp};
use std::ops::Range;

use super::inserts::Turns;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Query {
    /// So many rows in the order of an index.
    Range(u64),
    /// One row.
    Point,
}

impl Query {
    /// The statements that ask for it.
    pub(super) fn statements(self, data: &Data) -> Vec<Statement> {
        match self {
            Query::Point => vec![Statement::Point],
            Query::Range(rows) => orders(data).into_iter().map(|columns| Statement::Range(columns, rows)).collect(),
        }
    }
}

/// The orders in which there are indexes: the secondary ones, or that of the ids.
fn orders(data: &Data) -> Vec<&'static [&'static str]> {
    match data.entries() {
        0 => vec![&[KEY]],
        indexes => (0..indexes).map(|nth| data.schema.index_columns(nth)).collect(),
    }
}

/// One client's queries.
pub(super) struct Queries {
    data: Data,
    statements: Statements,
    query: Query,
    orders: Vec<&'static [&'static str]>,
    /// The ids in each table when the step began.
    known: Vec<Range<u64>>,
    tables: Turns,
    rng: Rng,
}

/// The stream of a client's queries: those of other steps that draw are others.
const STREAM: u32 = 1;

impl Queries {
    /// Those of the client in `slot`.
    pub(super) fn new(
        slot: ClientIndex,
        data: Data,
        statements: Statements,
        query: Query,
        known: Vec<Range<u64>>,
    ) -> Queries {
        let stream = STREAM + u32::from(query == Query::Point);
        Queries {
            tables: Turns::new(slot, data.schema.tables),
            rng: rng_stream(data.seed, slot.client, stream),
            orders: orders(&data),
            data,
            statements,
            query,
            known,
        }
    }

    /// An id of a row that is in `table`.
    #[inline]
    fn id(&mut self, table: u64) -> u64 {
        let now = self.data.present(table);
        let known = &self.known[table as usize];
        let from = now.start.max(known.start);
        let end = if known.end > from { known.end } else { now.end };
        from + below(self.rng.next_u64(), end.saturating_sub(from).max(1))
    }

    /// A value at which a range in the order of `columns` may begin.
    #[inline]
    fn beginning(&mut self, table: u64, columns: &[&str]) -> SqlArg {
        let values = match columns[0] {
            "cashregisterid" => CASH_REGISTERS,
            "productid" => PRODUCTS,
            "price" if self.data.schema.form == Form::Ibench => PRICES,
            "price" => return SqlArg::Float(below(self.rng.next_u64(), CUSTOMERS + PRICES) as f64 / 100.0),
            _ => return SqlArg::Int(self.id(table) as i64),
        };
        SqlArg::Int(below(self.rng.next_u64(), values) as i64)
    }

    #[inline]
    fn next(&mut self) -> (u16, SqlArg) {
        let table = self.tables.next();
        let (statement, argument) = match self.query {
            Query::Point => (Statement::Point, SqlArg::Int(self.id(table) as i64)),
            Query::Range(rows) => {
                let columns = self.orders[below(self.rng.next_u64(), self.orders.len() as u64) as usize];
                (Statement::Range(columns, rows), self.beginning(table, columns))
            }
        };
        (self.statements.number(table, statement), argument)
    }
}

impl Workload<SqlOp> for Queries {
    fn fill(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            op.op_kind = OpKind(0);
            let (statement, argument) = self.next();
            op.calls.push(SqlCall { statement, args: 1 });
            op.args.push(argument);
        }
    }
}

impl Workload<KvOp> for Queries {
    fn fill(&mut self, ops: &mut [KvOp]) {
        for op in ops {
            op.clear();
            // A step that time ended left ids that nobody inserted.
            (op.op_kind, op.action) = (OpKind(0), KvAction::Find);
            let table = self.tables.next();
            let id = self.id(table);
            push_entry(op, 0, self.data.row_key(table, id).bytes(), |_| ());
        }
    }
}
