//! Makes the tables of a load, and completes them when the rows are there.
//!
//! In: the tables of a program. Out: tables without indexes and foreign keys, and then these. Limits: the rows come between, by
//! [`crate::sql::bulk`].

use super::{SqlServer, SqlServerInstance};
use crate::engine::cores_of_process;
use crate::maintenance;
use crate::sql::OpFailure;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::bulk::index_facts;
use host::error::TargetError;
use model::Fact;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::Builder;
use std::time::Instant;
use workload::{SqlProgram, SqlTable};

impl<S: SqlServer> SqlServerInstance<S> {
    /// Makes the tables and procedures of `program`. Tables that are to be filled have no index and no foreign key until they are: to sort an
    /// index once is faster than to insert into it row by row, by a factor that grows with the table.
    pub(super) fn make_tables(&mut self, program: &SqlProgram) -> Result<(), TargetError> {
        let is_filled = program.load.is_some();
        for table in &program.schema {
            self.location.note_table(&table.name);
            let bare = SqlTable { indexes: Vec::new(), ..table.clone() };
            let (made, later) = if is_filled { (&bare, table) } else { (table, &bare) };
            self.server.create_statements(made).iter().try_for_each(|statement| self.set_up(statement))?;
            self.incomplete.push(later.clone());
        }
        for procedure in &program.procedures {
            self.set_up(&S::procedure_statement(procedure))?;
            self.location.note_procedure(procedure.name);
        }
        Ok(())
    }

    /// Makes the indexes and foreign keys of the tables that were filled without them, some tables at once. Returns how long the indexes took.
    pub(super) fn complete_tables(&mut self) -> Result<Vec<Fact>, TargetError> {
        let tables = std::mem::take(&mut self.incomplete);
        let indexed: Vec<&SqlTable> = tables.iter().filter(|table| !table.indexes.is_empty()).collect();
        let facts = if indexed.is_empty() { Vec::new() } else { self.make_indexes(&indexed)? };
        // After all keys that they refer to, and after the rows: loaders make those of different tables at once.
        let keys: Vec<String> = tables.iter().flat_map(S::foreign_key_statements).collect();
        keys.iter().try_for_each(|statement| self.run_statement(statement))?;
        Ok(facts)
    }

    fn make_indexes(&self, tables: &[&SqlTable]) -> Result<Vec<Fact>, TargetError> {
        let (began, next) = (Instant::now(), AtomicUsize::new(0));
        let address = &self.address;
        // The tables of one maker, each with the seconds that its indexes took.
        let make = || -> Result<Vec<(String, f64)>, OpFailure> {
            let mut link = S::connect_admin(address, maintenance::PATIENCE)?;
            let mut made = Vec::new();
            while let Some(table) = tables.get(next.fetch_add(1, Relaxed)) {
                let began = Instant::now();
                for statement in S::index_statements(table) {
                    link.run_statement(&statement)?;
                }
                made.push((table.name.clone(), began.elapsed().as_secs_f64()));
            }
            Ok(made)
        };
        let makers = cores_of_process().min(tables.len());
        let made: Result<Vec<_>, OpFailure> = std::thread::scope(|scope| {
            let makers = (0..makers).map(|_| Builder::new().spawn_scoped(scope, make));
            let makers: Vec<_> = makers.map_while(Result::ok).collect();
            if makers.is_empty() {
                return make().map(|made| vec![made]); // no thread can be started
            }
            makers.into_iter().map(|maker| maker.join().expect("a maker of indexes does not panic")).collect()
        });
        let made = made.map_err(|failure| self.admin_error(failure))?;
        Ok(index_facts(began.elapsed().as_secs_f64(), made.into_iter().flatten().collect()))
    }
}
