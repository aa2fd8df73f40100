//! Roles: what a counter, a parameter or a kind of operation is to the code that judges a run.
//!
//! In: each engine, workload and counter source declares the roles of what it brings along. Out: the run file keeps them, and
//! the reading half finds a value by its role.
//! Limits: a role is what something is, not what it is called. Names are for people; no code of the reading half compares them.

use crate::op_class::OpClass;
use crate::params::{Entry, ParamDef, Params};
use crate::thread_state::{ThreadOf, ThreadState};
use crate::trial::Trial;
use crate::waits::{StallReason, WaitClass};
use serde::{Deserialize, Serialize};

/// What a counter measures, as far as an analysis reads it. If the role is not a level, the counter only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CounterRole {
    /// Nanoseconds of all CPUs in user mode.
    MachineCpuUser,
    /// Nanoseconds of all CPUs in the kernel, interrupts not included.
    MachineCpuSystem,
    /// Nanoseconds of all CPUs in interrupts.
    MachineCpuSoftirq,
    /// Nanoseconds of all CPUs that were idle while a task waited for I/O.
    MachineCpuIowait,
    /// Nanoseconds of all CPUs that the hypervisor gave to other guests.
    MachineCpuSteal,
    /// Nanoseconds of all CPUs that were idle.
    MachineCpuIdle,
    /// Nanoseconds of CPU that plimsoll's own process used, with an embedded engine in it.
    PlimsollCpu,
    /// Nanoseconds of CPU that the kernel's own threads used: they write back, keep journals, compress.
    KernelThreadsCpu,
    /// Nanoseconds of CPU of the engine in user mode (embedded: of the whole process).
    EngineCpuUser,
    /// Nanoseconds of CPU of the engine in the kernel (embedded: of the whole process).
    EngineCpuSystem,
    /// Context switches of the engine (embedded: of the whole process).
    EngineContextSwitches,
    /// Bytes that the engine's processes caused to be read from the block layer.
    ProcessReadBytes,
    /// Bytes that the engine's processes caused to be written to the block layer.
    ProcessWriteBytes,
    /// Bytes of the page cache that all processes of the machine made dirty, whole folios at a time.
    MachineDirtiedBytes,
    /// Bytes that all processes of the machine caused to be written to the block layer, as the kernel charges them.
    MachineWriteBytes,
    /// Reads that the device completed.
    DeviceReadOps,
    /// Writes that the device completed.
    DeviceWriteOps,
    /// Cache flushes that the device completed.
    DeviceFlushOps,
    /// Bytes that the device read.
    DeviceReadBytes,
    /// Bytes that the device wrote, without discards.
    DeviceWriteBytes,
    /// Nanoseconds in which the device had at least one operation in flight.
    DeviceBusy,
    /// Operations in flight on the device, summed over time in nanoseconds: its rate is the mean queue depth.
    DeviceQueue,
    /// Reads of the control group that a storage limit holds.
    LimitedReadOps,
    /// Writes of the control group that a storage limit holds.
    LimitedWriteOps,
    /// Bytes read by the control group that a storage limit holds.
    LimitedReadBytes,
    /// Bytes written by the control group that a storage limit holds.
    LimitedWriteBytes,
    SwapIn,
    SwapOut,
    /// Bytes of files that were read again because memory had no room to keep them.
    Refaults,
    /// Bytes of memory that could be had without swapping: a level.
    MemoryAvailable,
    /// Nanoseconds in which tasks waited for memory and none ran.
    MemoryStall,
    /// Nanoseconds in which some task waited for a CPU.
    CpuPressure,
    /// Nanoseconds in which tasks waited for I/O and none ran.
    IoStall,
    /// Joules that the machine's CPUs and memory used.
    MachineEnergy,
    /// Nanoseconds, summed over CPUs, in which a CPU quota held plimsoll back.
    QuotaThrottled,
    /// Periods of a CPU quota in which it held plimsoll back.
    QuotaPeriods,
    /// Nanoseconds, summed over CPUs, in which a CPU quota held the engine back that does not hold plimsoll.
    EngineQuotaThrottled,
    /// Periods of that quota in which it held the engine back.
    EngineQuotaPeriods,
    /// That quota in CPUs: a level.
    EngineQuota,
    /// The CPU quota of plimsoll's own control group in CPUs: a level.
    Quota,
    /// Times that a core was slowed down because of its heat.
    ThermalThrottles,
    /// The mean frequency of the CPUs in MHz: a level.
    CpuFrequency,
    /// Bytes that the engine read from its files, by its own count.
    EngineRead,
    /// Bytes written to the redo log or write-ahead log, in the blocks in which they are written.
    LogWritten,
    /// Bytes of redo log or write-ahead log that were made: less than what is written, because a block is written again for each commit
    /// that ends in it.
    LogMade,
    /// Bytes written as pages to their place, or by flushes of memtables.
    PagesWritten,
    /// Bytes written to the doublewrite buffer.
    DoublewriteWritten,
    /// Bytes written to data files: pages and doublewrite buffer together.
    DataFilesWritten,
    /// Bytes written by compactions.
    CompactionWritten,
    /// Bytes of pages in memory that are to be written: a level.
    DirtyPages,
    /// Bytes of memtables that are in no table yet: a level.
    Memtable,
    /// Bytes that compactions have yet to rewrite: a level.
    PendingCompaction,
    /// Bytes of log that a crash would have to replay: a level.
    LogAge,
    /// The most bytes that [`LogAge`](CounterRole::LogAge) may reach before the engine writes out pages in haste: a level.
    LogAgeMax,
    /// Old versions of rows that are not removed yet, in the engine's own unit (transactions, rows): a level.
    HistoryLength,
    /// Pages or blocks asked for that were in the engine's cache.
    CacheHits,
    /// Pages or blocks asked for that were not in the engine's cache.
    CacheMisses,
    /// Full memtables that wait to be written to tables: a level.
    FullMemtables,
    /// Tables in the level of an LSM tree that takes what memtables hold, each of which a read may have to search: a level.
    UnsortedTables,
    /// Nanoseconds for which the engine held writers back, so that its own flushes and compactions catch up.
    WritersHeld,
    /// Times that the engine slowed writers down or stopped them, for this reason.
    WritersHeldFor(StallReason),
    /// Waits for a free page of the cache, because too many are dirty.
    FreePageWaits,
    /// Waits for room in the buffer of the log.
    LogBufferWaits,
    /// Waits for row locks.
    RowLockWaits,
    /// Statements that all clients of the engine have sent, plimsoll's and others'.
    EngineStatements,
    /// Transactions that all clients of the engine have ended; a statement outside of a transaction is one.
    EngineTransactions,
    /// Connections that are open to the engine: a level.
    Connections,
    /// The most connections that the engine takes: a level.
    ConnectionsMax,
    /// Connections that are executing a statement, that of the watch not among them: a level.
    BusyConnections,
    /// Checkpoints that were begun.
    Checkpoints,
    /// Connections that the kernel refused because the queue of accepted ones of a listener was full.
    ListenOverflows,
    /// Connection attempts that were dropped at a listener, for this or another reason.
    ListenDrops,
    /// Connection attempts that were dropped because the queue of half-open ones was full.
    SynQueueDrops,
    /// Retransmissions that a timer caused, and SYN or SYN-ACK segments among them.
    TcpTimeouts,
    /// SYN and SYN-ACK segments that were sent again.
    SynRetransmits,
    /// TCP segments that were sent again, by all programs of the machine.
    TcpRetransmits,
    /// TCP segments that were sent, those sent again not included, by all programs of the machine.
    TcpSegmentsSent,
    /// Bytes that came in over the network interface between clients and server. Loopback has none: what it sends is what it receives.
    NetworkReceivedBytes,
    /// Bytes that went out over that interface; on loopback those of both directions.
    NetworkSentBytes,
    /// Packets that came in over that interface, as of bytes.
    NetworkReceivedPackets,
    /// Packets that went out over that interface, as of bytes.
    NetworkSentPackets,
    /// Packets that the interface or its driver dropped, in both directions.
    NetworkDrops,
    /// The speed of the link behind that interface, in bits per second: a level.
    LinkSpeed,
    /// Bytes of a log that may hold most of the data and does not tell how much of it: a level.
    LogHoldingData,
    /// Nanoseconds that sessions waited for row locks, by the engine's own account, summed over sessions.
    RowLockTime,
    /// Nanoseconds that clients waited until they were the one that may write, in an engine that has one writer at a time, summed over clients.
    WriterTurnTime,
    /// Nanoseconds that threads of the engine waited in this class of waits, by the engine's own account, summed over threads.
    EngineWait(WaitClass),
    /// Nanoseconds that threads of the engine waited for block devices, by the kernel's account of delays, summed over threads.
    IoDelay,
    /// Nanoseconds that these threads spent in this state, summed over threads.
    ThreadTime(ThreadOf, ThreadState),
    /// Nanoseconds of CPU that plimsoll used to look at threads.
    ThreadWatchCpu,
    /// Looks at these threads while they were at work: what they waited for is known as well as these are many.
    ThreadLooks(ThreadOf),
    /// Nanoseconds in which most of the engine's threads were stopped, by a signal, a debugger or a freezer.
    EngineStopped,
    /// Nanoseconds in which clients could not use this endpoint of the engine, from the first lost connection on.
    EndpointDown,
    /// Operations that the engine, or this endpoint of it, refused for a conflict and that clients tried again.
    Retries,
    /// Connections that clients opened to this endpoint after they had lost one, here or elsewhere.
    EndpointReconnects,
    /// Bytes that this node of a cluster sent to the others as write sets.
    ReplicatedBytes,
    /// Bytes of write sets that this node of a cluster received.
    ReplicatedBytesReceived,
    /// Connections that the engine refused because it had as many as it may have.
    RefusedConnections,
    /// Nanoseconds in which flow control held replication back on this node of a cluster.
    FlowControlPaused,
    /// Flow-control messages by which this node of a cluster asked the others to wait.
    FlowControlSent,
    /// Transactions of this node that failed certification: another node had changed the same rows.
    CertificationFailures,
    /// Transactions of this node that were aborted for a write set of another node.
    ReplicationAborts,
    /// How many write sets could be applied in parallel on average: a level.
    ApplyParallelism,
    /// Write sets that wait on this node to be applied: a level.
    ReceiveQueue,
    /// Write sets that wait on this node to be sent: a level.
    SendQueue,
    /// The mean time that a message takes to all nodes of a cluster and back, in nanoseconds: a level.
    ReplicationLatency,
    /// Bytes of the log of the first endpoint that this replica has not replayed yet: a level.
    ReplicaLag,
    /// Nanoseconds until the slowest replica of this endpoint has replayed what is written: a level.
    ReplicaDelay,
    /// Statements that clients executed, by the account in which the server keeps what they cost.
    StatementCalls,
    /// Nanoseconds that those statements took, by the same account.
    StatementTime,
}

impl CounterRole {
    /// The counter that cannot become greater than one of this role, if there is one.
    pub fn limits(self) -> Option<CounterRole> {
        match self {
            CounterRole::LogAgeMax => Some(CounterRole::LogAge),
            CounterRole::ConnectionsMax => Some(CounterRole::Connections),
            _ => None,
        }
    }

    /// Whether it is time in which CPUs or threads had nothing to do, or waited for the other side.
    pub fn is_idle_time(self) -> bool {
        use ThreadState::{Client, Other};
        matches!(
            self,
            CounterRole::MachineCpuIdle
                | CounterRole::ThreadTime(_, Client | Other)
                | CounterRole::EngineWait(WaitClass::Idle)
        )
    }
}

/// What a parameter is to a point: by it labels, charts and comparisons decide how to treat a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParamRole {
    /// The pattern of the work, which every label has: `mode`. Another value asks for something else.
    Mode,
    /// The operations and their shares: `mix`. Another value asks for something else.
    Mix,
    /// The step of a sequence: `step`. Another value asks for something else.
    Step,
    /// A detail of an operation: block, statement, rows per commit.
    Work,
    /// What the work is done on, apart from the engine: durability, direct I/O, the tables' form.
    Ground,
    /// The number of secondary indexes, which a step of the sequence may have to make first ([`StepIndexes`](crate::StepIndexes)).
    Indexes,
    /// How much the engine can keep in memory.
    CacheSize,
    /// How many rows or bytes the data has.
    DataSize,
    /// Any other size: of logs, of partitions, the number of tables.
    Size,
    /// A file of settings, which follow from its name: a label names the file and not what is in it.
    ConfigFile,
    /// A setting that one tries out: server variables, threads, how I/O is submitted.
    Tuning,
}

/// A condition on another parameter of the same point, the engine's or the workload's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsedIf {
    pub param: &'static str,
    /// The values of it at which the condition holds.
    pub values: UsefulValues,
}

/// The values at which a condition holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UsefulValues {
    /// These, as a person writes them.
    OneOf(&'static [&'static str]),
    /// All numbers, sizes and times but 0.
    NotZero,
}

impl UsedIf {
    /// Holds if `param` is one of `values`.
    pub const fn one_of(param: &'static str, values: &'static [&'static str]) -> UsedIf {
        UsedIf { param, values: UsefulValues::OneOf(values) }
    }

    /// Holds if `param` is not 0.
    pub const fn not_zero(param: &'static str) -> UsedIf {
        UsedIf { param, values: UsefulValues::NotZero }
    }

    /// Whether the condition holds among the parameters of a point, its own owner's first. A parameter that the point lacks
    /// rules nothing out.
    pub fn holds(&self, own: &Params, others: &Params) -> bool {
        let value = own.0.get(self.param).or_else(|| others.0.get(self.param));
        value.is_none_or(|value| match self.values {
            UsefulValues::OneOf(words) => words.contains(&value.to_string().as_str()),
            UsefulValues::NotZero => !value.is_zero(),
        })
    }
}

/// Whose parameter it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParamOwner {
    Engine,
    Workload,
}

/// A parameter of a point, as the run file keeps its declaration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointParam {
    /// Its name; its value is in the trial.
    pub name: String,
    pub owner: ParamOwner,
    /// What it is to the point.
    pub role: ParamRole,
    /// Whether its value has any effect at this point.
    pub used: bool,
}

impl PointParam {
    /// The parameters of `trial` as its engine and its workload declare them.
    pub fn of_trial(trial: &Trial, engine: &Entry, workload: &Entry) -> Vec<PointParam> {
        let (of_engine, of_workload) = (&trial.target.params, &trial.workload.params);
        let own = PointParam::declared(ParamOwner::Engine, engine.params, of_engine, of_workload);
        let asked = PointParam::declared(ParamOwner::Workload, workload.params, of_workload, of_engine);
        [own, asked].concat()
    }

    /// The parameters in `params` as `defs` declare them; `others` are those of the other owner. A value that no declaration takes
    /// is left out.
    pub fn declared(owner: ParamOwner, defs: &[ParamDef], params: &Params, others: &Params) -> Vec<PointParam> {
        let declaration = |name: &String| defs.iter().find(|def| def.takes(name));
        params
            .0
            .keys()
            .filter_map(|name| {
                let def = declaration(name)?;
                let used = is_used(def, defs, params, others);
                Some(PointParam { name: name.clone(), owner, role: def.role, used })
            })
            .collect()
    }
}

/// Whether the condition of `def` holds, and that of the parameter that it depends on: `fsync_every` has no effect if `fsync`
/// has none.
fn is_used(def: &ParamDef, defs: &[ParamDef], own: &Params, others: &Params) -> bool {
    let Some(condition) = def.used_if else { return true };
    let decisive = defs.iter().find(|other| other.name == condition.param && other.name != def.name);
    condition.holds(own, others) && decisive.is_none_or(|decisive| is_used(decisive, defs, own, others))
}

/// A kind of operation of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindDef {
    /// Its name in tables and charts.
    pub name: String,
    /// What its operations do.
    pub class: OpClass,
    /// Whether clients perform it in the background of the run, at a rate of their own.
    pub background: bool,
    /// How many statements one operation is, BEGIN and COMMIT included; 1 if operations are no statements.
    pub queries_per_op: f64,
    /// How many rows one operation inserts on average.
    pub rows_per_op: f64,
}

impl KindDef {
    /// A kind of the run, one query an operation, that inserts nothing.
    pub fn new(name: impl Into<String>, class: OpClass) -> KindDef {
        KindDef { name: name.into(), class, background: false, queries_per_op: 1.0, rows_per_op: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{ParamKind, Value};

    const MODE: ParamDef = ParamDef::new("mode", ParamRole::Mode, ParamKind::OneOf(&["rndrd", "rndrw"]), "rndrd");
    const SHARE: ParamDef = ParamDef {
        name: "read_share",
        used_if: Some(UsedIf::one_of("mode", &["rndrw"])),
        role: ParamRole::Tuning,
        ..MODE
    };

    #[test]
    fn a_parameter_is_used_only_where_its_condition_holds() {
        let used = |mode: &str| {
            let all = [("mode", Value::Word(mode.into())), ("read_share", Value::Float(0.6)), ("other", Value::Int(1))];
            let params = Params(all.map(|(name, value)| (name.to_owned(), value)).into());
            let declared = PointParam::declared(ParamOwner::Workload, &[MODE, SHARE], &params, &Params::default());
            declared.into_iter().map(|param| (param.name, param.role, param.used)).collect::<Vec<_>>()
        };
        let expected =
            |share| vec![("mode".to_owned(), ParamRole::Mode, true), ("read_share".into(), ParamRole::Tuning, share)];
        assert_eq!(used("rndrd"), expected(false));
        assert_eq!(used("rndrw"), expected(true));
    }

    #[test]
    fn what_depends_on_a_parameter_without_effect_has_none() {
        const DETAIL: ParamDef =
            ParamDef { name: "detail", used_if: Some(UsedIf::one_of("read_share", &["0.6"])), ..SHARE };
        let used = |mode: &str| {
            let all =
                [("mode", Value::Word(mode.into())), ("read_share", Value::Float(0.6)), ("detail", Value::Int(1))];
            let params = Params(all.map(|(name, value)| (name.to_owned(), value)).into());
            let all = PointParam::declared(ParamOwner::Workload, &[MODE, SHARE, DETAIL], &params, &Params::default());
            all.iter().find(|param| param.name == "detail").expect("it is declared").used
        };
        assert_eq!([used("rndrw"), used("rndrd")], [true, false]);
    }
}
