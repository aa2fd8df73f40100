//! What a workload is: how it presents itself, and how it is made for each family of engines.
//!
//! In: each workload declares a [`WorkloadDef`]. Out: the slice of all workloads is made of these, and a [`Workload`] is what a
//! client takes its operations from. Limits: nothing here knows a workload by name.

use crate::background;
use crate::program::{ConnectProgram, IoProgram, KvProgram, ProgramInput, SqlLoad, SqlProgram, TaskProgram};
use crate::sequence::SequenceState;
use model::{Bytes, Entry, Op, ParamKind, Params, WorkTraits};

/// A source of operations, one per client.
pub trait Workload<O: Op>: Send {
    /// Overwrites every slot of `ops` with the next operations and reuses the slots' buffers: once each slot has been
    /// filled, nothing is allocated. Beyond the client's share of a stream that ends, slots become empty operations.
    fn fill_ops(&mut self, ops: &mut [O]);
}

/// Makes a program. Takes no time: data and operations are made when its streams are asked for them.
pub type MakeProgram<P> = fn(&ProgramInput<'_>) -> P;

/// One workload: how it presents itself, and how it is made for each family of engines.
pub struct WorkloadDef {
    /// Name, help, families and parameters.
    pub entry: Entry,
    /// What its parameters mean, for code that judges a run.
    pub traits: fn(&Params) -> WorkTraits,
    /// Whether trials may share a prepared data set; see [`WorkloadDef::reuse_of`].
    pub data_reuse: fn(&Params) -> DataReuse,
    /// About how much space the prepared data takes at rest in a B-tree, and a file exactly.
    pub data_bytes: fn(&Params) -> Bytes,
    /// About how much space one operation of the run adds to it for good.
    pub growth_bytes_per_op: fn(&Params) -> Bytes,
    /// The program on a file.
    pub io: Option<MakeProgram<IoProgram>>,
    /// The program on an SQL engine.
    pub sql: Option<MakeProgram<SqlProgram>>,
    /// The program on a key-value engine, if there is one with these parameters.
    pub kv: Option<MakeProgram<Result<KvProgram, UnsupportedParam>>>,
    /// The program of tasks in plimsoll's own process.
    pub task: Option<MakeProgram<TaskProgram>>,
    /// The program on connections to an engine; the argument is whether the engine answers queries.
    pub connect: Option<fn(&Params, bool) -> ConnectProgram>,
    /// Those of its steps that a key-value engine cannot perform.
    pub steps_without_kv: &'static [&'static str],
    /// Keys of a plan that its command sets if you do not, in their order: what is usually measured together.
    pub usual_keys: &'static [(&'static str, &'static str)],
}

impl WorkloadDef {
    /// The program on an SQL engine, with the background load of its parameters; `None` if it does not come for SQL engines.
    pub fn sql_program(&self, input: &ProgramInput) -> Option<SqlProgram> {
        let program = (self.sql?)(input);
        Some(background::with_background(program, input, self.has_numbered_rows()))
    }

    /// Whether `:id` of a statement can stand for one of its rows.
    fn has_numbered_rows(&self) -> bool {
        self.entry.params.iter().any(|def| def.kind == ParamKind::Background { rows: true })
    }

    /// Whether trials with `params` may share a prepared data set, their background load included.
    pub fn reuse_of(&self, params: &Params) -> DataReuse {
        match (self.data_reuse)(params) {
            DataReuse::Shared if background::changes_rows(params) => DataReuse::Fresh,
            reuse => reuse,
        }
    }

    /// How many operations its run has over all clients; `None` if it does not end by itself. The same in each family.
    pub fn run_ops(&self, params: &Params) -> Option<u64> {
        self.own_run_ops(&ProgramInput::new(params, 0, &SequenceState::default()))
    }

    /// How many rows its load makes; `None` if it makes none, or if its data has no rows.
    pub fn load_rows(&self, params: &Params) -> Option<u64> {
        let program = (self.sql?)(&ProgramInput::new(params, 0, &SequenceState::default()));
        let Some(SqlLoad::Rows { blocks, .. }) = &program.load else { return None };
        let kind = program.kinds.iter().find(|kind| kind.name == "load" && kind.rows > 0.0)?;
        Some((kind.rows * blocks.ops? as f64).round() as u64)
    }

    /// The names of the kinds of its operations, those of its load and of clients in the background left out.
    pub fn kind_names(&self, input: &ProgramInput) -> Vec<&'static str> {
        let kinds = match self {
            WorkloadDef { io: Some(make), .. } => make(input).kinds,
            WorkloadDef { sql: Some(make), .. } => make(input).kinds,
            WorkloadDef { kv: Some(make), .. } => make(input).map_or_else(|_| Vec::new(), |program| program.kinds),
            WorkloadDef { task: Some(make), .. } => make(input).kinds,
            WorkloadDef { connect: Some(make), .. } => make(input.params, true).kinds,
            _ => Vec::new(),
        };
        kinds.iter().filter(|kind| kind.name != "load" || kind.rows == 0.0).map(|kind| kind.name).collect()
    }

    /// How many operations the run of one host has; 0 if other hosts perform all of them, such as a drain of common data.
    pub fn own_run_ops(&self, input: &ProgramInput) -> Option<u64> {
        match self {
            WorkloadDef { io: Some(make), .. } => make(input).run.ops,
            WorkloadDef { sql: Some(make), .. } => make(input).run.ops,
            WorkloadDef { kv: Some(make), .. } => make(input).ok()?.run.ops,
            WorkloadDef { task: Some(make), .. } => make(input).run.ops,
            WorkloadDef { connect: Some(make), .. } => make(input.params, true).run.ops,
            _ => None,
        }
    }
}

/// Whether trials may share a prepared data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataReuse {
    /// Trials that agree on seed and on all parameters that shape the data may use one data set, one after the other.
    Shared,
    /// The run changes the data for good: each trial needs a new data set.
    Fresh,
    /// The trial is a step of a sequence: it goes on with the data that a step before it left.
    Continues {
        /// Its place in the sequence, from 0. A trial at the same place or an earlier one begins a new data set.
        at: usize,
        /// Whether it can be the first: it does not need what a step before it has made.
        begins: bool,
    },
}

/// Parameters that a workload cannot perform on this family of engines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key-value engine cannot run workload `{workload}` with {param} = `{value}`; use {param} = `{instead}`")]
pub struct UnsupportedParam {
    pub workload: &'static str,
    /// The parameter that it cannot perform.
    pub param: &'static str,
    pub value: String,
    /// A value that works.
    pub instead: &'static str,
}
