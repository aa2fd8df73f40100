//! Data of the user on a server: looked at before the first point, and never made, altered or removed.
//!
//! In: what a program wants of it, a control connection. Out: what there is ([`FoundData`]), with facts; or why it cannot be used, in one line.
//! Limits: it is read once, when the instance begins. `sysbench` judges tables as sysbench makes them, `keys` reads values for the user's own
//! statements.

mod keys;
mod sysbench;

use crate::engine::workload_of;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::server_error;
use crate::sql::variant::rows::RowLayout;
use host::error::TargetError;
use model::{FOUND_DATA_CHANGED, Fact, Trial};
use workload::found::{FoundData, WantedData, WantedTables};
use workload::{ProgramInput, SequenceState};

/// What is asked of one kind of server about tables that are there, as SQL.
pub struct FoundWords {
    /// The current schema, as an expression.
    pub schema: &'static str,
    /// The columns that lead an index of the table in `{}`, a literal.
    pub leading_columns: &'static str,
}

/// How one kind of server is asked.
#[derive(Clone, Copy)]
pub struct FoundServer {
    /// What is asked about tables.
    pub words: &'static FoundWords,
    /// What a connection begins with whose texts are UTF-8.
    pub begin: &'static [&'static str],
    /// What makes all transactions of a connection read-only.
    pub read_only: &'static str,
    /// A name as an identifier.
    pub quote_name: fn(&str) -> String,
    /// The layout of the rows that it sends.
    pub row_layout: RowLayout,
}

/// What `trial` wants of data that is there already; `None` if plimsoll makes its data.
pub fn wanted_by(trial: &Trial) -> Option<WantedData> {
    let program = workload_of(trial).sql_program(&ProgramInput::from_trial(trial, &SequenceState::default()));
    program?.found
}

/// What the connections of clients on the `wanted` data begin with.
pub fn session_begin(server: &FoundServer, wanted: &WantedData) -> Vec<&'static str> {
    let guard = (!wanted.allows_writes).then_some(server.read_only);
    match wanted.tables {
        WantedTables::Sysbench { .. } => guard.into_iter().collect(),
        // Values were read as UTF-8.
        WantedTables::Named(_) => server.begin.iter().copied().chain(guard).collect(),
    }
}

/// The fact among `facts` that says whether the run `writes` to what was found.
pub fn note_writes(facts: &mut Vec<Fact>, writes: bool) {
    facts.retain(|fact| fact.name != FOUND_DATA_CHANGED);
    facts.push(Fact::new(FOUND_DATA_CHANGED, if writes { "yes" } else { "no" }));
}

/// Finds the data that is `wanted` on the `server` behind `admin`, which is called `name`.
pub fn find_data<A: AdminConnection>(
    server: &FoundServer,
    wanted: &WantedData,
    admin: &mut A,
    name: &str,
) -> Result<(FoundData, Vec<Fact>), TargetError> {
    let asked = |question: &str| admin.rows_patiently(question).map_err(|error| server_error(name, error));
    match &wanted.tables {
        WantedTables::Sysbench { tables, rows } => {
            let (found, facts) = sysbench::find_tables(server, (*tables, *rows), name, asked)?;
            Ok((FoundData::Sysbench(found), facts))
        }
        WantedTables::Named(queries) => {
            let (found, facts) = keys::read_keys(server, queries, admin, name)?;
            Ok((FoundData::Keys(found), facts))
        }
    }
}
