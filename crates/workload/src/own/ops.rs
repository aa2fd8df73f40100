//! The values in statements on tables of the user's own.
//!
//! In: placeholders such as `:accounts.aid`, the layout or the rows that were read, the access distribution. Out: what draws them. Limits: a
//! value of a loaded row is the one that was loaded, whatever a run has made of it; it is never NULL unless the column is NULL everywhere. A row
//! that was read has the values that it had then, NULL included.

use super::layout::Layout;
use super::names::find_name;
use super::values::NullRows;
use crate::ClientIndex;
use crate::distribution::{Distribution, from_access};
use crate::found::{KeyColumn, KeyRows};
use crate::new_ids::NewIds;
use crate::oltp::custom::{DrawValues, int_between, push_letters, take_text};
use crate::program::push_text;
use crate::random::{Rng, client_rng};
use model::own_table::{OwnFault, OwnTable};
use model::statement::{ColumnName, CustomOp, CustomValue, Draw};
use model::{Access, LoadPart, SqlArg, SqlOp};
use std::sync::Arc;

/// What a value of a statement is drawn by.
pub(super) enum OwnDraw {
    /// A column in the row of a slot.
    Column {
        slot: u16,
        table: u16,
        column: u16,
    },
    Int(i64, i64),
    Text(u32),
}

/// A row that placeholders of one operation have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowSlot {
    table: usize,
    is_new: bool,
    nth: u32,
}

/// The slots of all statements, as they are found.
#[derive(Default)]
pub(super) struct Slots(pub(super) Vec<RowSlot>);

impl Slots {
    /// What `value` is drawn by. The statements were checked before.
    pub(super) fn draw_of(&mut self, value: &CustomValue, tables: &[OwnTable]) -> OwnDraw {
        match &value.draw {
            Draw::Int(from, to) => OwnDraw::Int(*from, *to),
            Draw::Text(length) => OwnDraw::Text(*length),
            Draw::Column(name) => self.column(name, false, value.nth, tables),
            Draw::NewColumn(name) => self.column(name, true, value.nth, tables),
            Draw::Id | Draw::NewId | Draw::K | Draw::C | Draw::Pad => {
                unreachable!("the plan lets no value of sysbench's tables pass")
            }
        }
    }

    fn column(&mut self, name: &ColumnName, is_new: bool, nth: u32, tables: &[OwnTable]) -> OwnDraw {
        let (table, column) = find_column(name, tables).expect("the plan was checked against its tables");
        let wanted = RowSlot { table, is_new, nth };
        let slot = self.0.iter().position(|slot| *slot == wanted).unwrap_or_else(|| {
            self.0.push(wanted);
            self.0.len() - 1
        });
        OwnDraw::Column { slot: slot as u16, table: table as u16, column: column as u16 }
    }
}

fn find_column(name: &ColumnName, tables: &[OwnTable]) -> Option<(usize, usize)> {
    let table = find_name(tables.iter().map(|table| table.name.as_str()), &name.table)?;
    Some((table, find_name(tables[table].column_names(), &name.column)?))
}

/// Refuses statements whose values the tables do not have.
pub(super) fn check_statements(tables: &[OwnTable], ops: &[CustomOp]) -> Result<(), OwnFault> {
    for op in ops {
        for value in op.statements.iter().flat_map(|statement| &statement.values) {
            check_value(tables, value).map_err(|why| {
                let text = format!("statement `{}`: {why}", op.name);
                OwnFault { table: None, column: None, text }
            })?;
        }
    }
    Ok(())
}

fn check_value(tables: &[OwnTable], value: &CustomValue) -> Result<(), String> {
    let (name, is_new) = match &value.draw {
        Draw::Int(..) | Draw::Text(_) => return Ok(()),
        Draw::Column(name) => (name, false),
        Draw::NewColumn(name) => (name, true),
        Draw::Id | Draw::NewId | Draw::K | Draw::C | Draw::Pad => {
            return Err(format!("`{value}` is of sysbench's tables; name a column of yours, such as `:table.column`"));
        }
    };
    let Some(table) = find_name(tables.iter().map(|table| table.name.as_str()), &name.table) else {
        return Err(format!("`{value}` names table `{}`, which the plan does not have", name.table));
    };
    match find_column(name, tables) {
        None if tables[table].keys.is_some() => Err(format!(
            "`{value}`: the keys of table `{}` have no column `{}`; add it to their SELECT",
            name.table, name.column
        )),
        None => Err(format!("`{value}`: table `{}` has no column `{}`", name.table, name.column)),
        Some(_) if is_new && tables[table].keys.is_some() => Err(format!(
            "`{value}`: table `{}` is there already, and plimsoll does not know which values are free; leave the column to its default, or \
             use `:int(a,b)`",
            name.table
        )),
        Some(_) if tables[table].keys.is_some() => Ok(()),
        Some(_) if !is_new && tables[table].rows == 0 => {
            Err(format!("`{value}`: table `{}` begins without rows; use `:{name}@new` for a new one", name.table))
        }
        Some(_) => Ok(()),
    }
}

/// Where the values of rows come from.
#[derive(Clone)]
enum RowValues {
    /// They were made by this layout.
    Made(Arc<Layout>),
    /// They were read, of each table.
    Read(Arc<[Arc<KeyRows>]>),
}

/// What all clients share: the rows that they add.
#[derive(Clone)]
pub(super) struct OwnRows {
    values: RowValues,
    pub(super) slots: Arc<[RowSlot]>,
    new_ids: Arc<[NewIds]>,
    access: Arc<[Distribution]>,
    seed: u64,
}

impl OwnRows {
    pub(super) fn new(layout: Arc<Layout>, slots: Slots, access: &Access, clients: LoadPart, seed: u64) -> OwnRows {
        let new_ids = layout.tables.iter().map(|table| NewIds::after(table.rows, clients)).collect();
        let access = layout.tables.iter().map(|table| from_access(access, table.rows)).collect();
        OwnRows { values: RowValues::Made(layout), slots: slots.0.into(), new_ids, access, seed }
    }

    /// The rows that were `read` of each table, to which none is added.
    pub(super) fn read(read: &[Arc<KeyRows>], slots: Slots, access: &Access, seed: u64) -> OwnRows {
        let access = read.iter().map(|keys| from_access(access, keys.rows)).collect();
        OwnRows { values: RowValues::Read(read.into()), slots: slots.0.into(), new_ids: [].into(), access, seed }
    }

    /// The draws of the client in `slot`.
    pub(super) fn draws(&self, slot: ClientIndex) -> OwnDraws {
        let rows = vec![None; self.slots.len()];
        OwnDraws { rng: client_rng(self.seed, slot.client), rows, all: self.clone() }
    }
}

/// The values of one client's operations.
pub(super) struct OwnDraws {
    all: OwnRows,
    rng: Rng,
    /// The rows of the operation that is being made, by their slots.
    rows: Vec<Option<u64>>,
}

impl OwnDraws {
    #[inline]
    fn row_of(&mut self, slot: u16) -> u64 {
        let nth = usize::from(slot);
        if let Some(row) = self.rows[nth] {
            return row;
        }
        let RowSlot { table, is_new, .. } = self.all.slots[nth];
        let row = if is_new {
            // Ids begin at 1.
            self.all.new_ids[table].take() as u64 - 1
        } else {
            self.all.access[table].draw(&mut self.rng)
        };
        self.rows[nth] = Some(row);
        row
    }
}

impl DrawValues for OwnDraws {
    type Value = OwnDraw;

    #[inline]
    fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Each operation begins with this: its rows are new.
    #[inline]
    fn pick_table(&mut self) -> u64 {
        self.rows.fill(None);
        0
    }

    #[inline]
    fn draw(&mut self, value: &OwnDraw, op: &mut SqlOp) -> SqlArg {
        match *value {
            OwnDraw::Int(from, to) => SqlArg::Int(int_between(from, to, &mut self.rng)),
            OwnDraw::Text(length) => {
                take_text(op, |op| push_text(op, |text| push_letters(text, length, &mut self.rng)))
            }
            OwnDraw::Column { slot, table, column } => {
                let row = self.row_of(slot);
                match &self.all.values {
                    RowValues::Read(tables) => match &tables[usize::from(table)].columns[usize::from(column)] {
                        KeyColumn::Ints(numbers) => SqlArg::Int(numbers[row as usize]),
                        KeyColumn::Texts(texts) => texts[row as usize].as_ref().map_or(SqlArg::Null, |value| {
                            take_text(op, |op| push_text(op, |text| text.extend_from_slice(value)))
                        }),
                    },
                    RowValues::Made(layout) => {
                        let is_new = self.all.slots[usize::from(slot)].is_new;
                        let nulls = if is_new { NullRows::Stay } else { NullRows::GetAValue };
                        take_text(op, |op| layout.push_value(op, table.into(), column.into(), row, nulls))
                    }
                }
            }
        }
    }
}
