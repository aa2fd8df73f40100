//! Making indexes, and bringing tables to rest: what PostgreSQL put off writing is written.
//!
//! In: a connection of its own. Out: indexes; tables at rest. Limits: on a server of others there is no checkpoint.
//!
//! At rest, tables are vacuumed, which also marks their rows as seen by all (the first readers would have to write that
//! otherwise), and all dirty pages are written by a checkpoint.

use super::client::{Address, failure};
use super::tables::{indexes, quoted};
use super::wire::{Wire, WireError};
use crate::engines::chore::{Chores, PATIENCE};
use crate::engines::sql::Failure;
use model::SqlOp;
use std::sync::Arc;
use workload::Work;

/// What brings the tables to rest.
#[derive(Clone)]
pub struct Rest {
    /// Their names.
    pub tables: Arc<[String]>,
    /// Whether the server is plimsoll's own.
    pub private: bool,
}

impl Rest {
    /// Writes out what was put off, so that whatever comes next does not pay for it.
    pub fn bring(&self, wire: &mut Wire) -> Result<(), WireError> {
        for table in self.tables.iter() {
            wire.run(&format!("VACUUM (ANALYZE) {}", quoted(table)))?;
        }
        if self.private { wire.run("CHECKPOINT") } else { Ok(()) }
    }
}

/// What clients do but statements.
#[derive(Clone)]
pub struct PostgresChores {
    /// Where to connect to,
    pub address: Address,
    /// how rest is brought,
    pub rest: Rest,
    /// and what the operations are.
    pub work: Arc<Work>,
}

impl Chores for PostgresChores {
    type Op = SqlOp;
    type Open = Wire;

    fn engine(&self) -> String {
        self.address.shown().to_owned()
    }

    fn open(&self) -> Result<Wire, Failure> {
        self.address.connect(PATIENCE)
    }

    fn perform(&self, wire: &mut Wire, op: &SqlOp) -> Result<(), Failure> {
        let done = match &*self.work {
            Work::Calls => unreachable!("statements have clients of their own"),
            Work::Drain => self.rest.bring(wire),
            Work::Indexes(tables) => {
                let mut asked = op.calls.iter().flat_map(|call| indexes(&tables[call.statement as usize]));
                asked.try_for_each(|statement| wire.run(&statement))
            }
        };
        done.map_err(failure)
    }
}
