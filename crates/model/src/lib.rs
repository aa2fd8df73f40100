//! The nouns of plimsoll, shared by every other crate.
//!
//! In: nothing. Out: the types in which a benchmark is planned ([`trial`], [`params`]), performed ([`op`], [`units`]),
//! recorded ([`sample`], [`histogram`], [`event`]) and read again ([`run`]). What both halves share of engines, workloads and
//! counters is declared in [`role`] and [`traits`].
//!
//! Limits: no I/O, no threads, no clock. The measuring half of the program and the reading half meet only here and in the
//! run file, so both must understand what is here.

pub mod access;
pub mod background;
pub mod column_kind;
pub mod common_phrase;
pub mod condition;
pub mod connections;
pub mod data_set;
pub mod endpoint;
pub mod event;
pub mod fact;
pub mod filesystem;
pub mod folder;
pub mod histogram;
pub mod host;
pub mod host_rows;
pub mod hourly_cost;
pub mod kind_plan;
pub mod limit;
pub mod limits;
pub mod live;
pub mod machine;
pub mod machine_setup;
pub mod mean_interval;
pub mod network;
pub mod observation;
pub mod op;
pub mod op_class;
pub mod own_gap;
pub mod own_memory;
pub mod own_table;
pub mod own_units;
pub mod pairing;
pub mod params;
pub mod phrase;
pub mod plan_work;
pub mod quantiles;
pub mod readings;
pub mod recording;
pub mod regular_file;
pub mod replay_facts;
pub mod role;
pub mod rows;
pub mod run;
pub mod sample;
pub mod secret_file;
pub mod share;
pub mod stacks;
pub mod statement;
pub mod steady;
pub mod sure;
pub mod system_error;
pub mod thread_state;
pub mod traits;
pub mod trial;
pub mod units;
pub mod variant;
pub mod waits;
pub mod why;

pub use access::Access;
pub use background::{BACKGROUND, Background, BackgroundEntry, BackgroundPace, EntryPace};
pub use column_kind::ColumnKind;
pub use common_phrase::common_phrase;
pub use condition::{
    ChangedCondition, ConditionRole, OWN_GENERATOR, RunCondition, changed_conditions, conditions_of_point,
    conditions_of_run,
};
pub use connections::{HeldMemory, HoldKind, HoldLimit, HoldOutcome, ListenBacklog};
pub use data_set::{DataSet, FoundSet, SET_NAMES, SetState, is_set_name};
pub use endpoint::{ENDPOINTS_MAX, EndpointRow, FailureCounts};
pub use event::{Event, EventKind, SKIPPED_EVENT};
pub use fact::Fact;
pub use filesystem::{Compression, FileSystem, FileSystemSpec, ZfsCompression};
pub use folder::folder_of;
pub use histogram::{LatencyCounts, Times};
pub use host::{BusPosition, HostClock, HostId, HostRole, LoadShare};
pub use host_rows::HostRows;
pub use hourly_cost::{HOURS_PER_YEAR, HourlyCost};
pub use kind_plan::{KindPlan, REPLAY_PLAN_FACT, REPLAY_PLANS_FACT};
pub use limits::{CpuLimit, Limits, StorageLimit};
pub use live::{LiveInterval, LivePhase, LivePoint, LiveRun};
pub use machine::{DeviceCeiling, Machine};
pub use machine_setup::{CPU_MAX, CpuAssignment, CpuChoice, CpuList, IoScheduler, MachineSetup, Switch};
pub use network::{INTERFACE_FACT, InterfaceLink, LINK_FACT, LinkSpeed, ServerWay, StatedLinks};
pub use observation::{
    LOG_MESSAGES_MAX, LogSeverity, MissingPart, Observation, ObservedCounts, ObservedEvent, ObservedLog,
    ObservedMessage, ObservedReplica, ObservedSession, ObservedStatement, ObservedThreads, ObservedWait,
    STATEMENT_CHARS_MAX, STATEMENTS_MAX, ServerLook, StatementCost, WATCH_EVENTS_MAX, WATCH_LOOKS_MAX, WATCH_ROWS_MAX,
    WatchCondition, WatchedFigure,
};
pub use op::{
    Arrival, Completion, ConnectOp, ConnectStep, FailureClass, IfEmpty, IoKind, IoOp, KEPT_PLACES, KeptAnswer, KeptRow,
    KvAction, KvEntry, KvOp, Op, OpKind, Outcome, SqlArg, SqlCall, SqlOp, TaskOp, TransactionEnd,
};
pub use op_class::OpClass;
pub use own_gap::{OWN_GAP_MIN, OwnGap, OwnGapCause};
pub use own_memory::close_own_memory;
pub use params::{
    ArgDef, Catalogue, ConfigVariables, DefaultIf, DistributionEntry, Entry, Family, LeveledWord, Meaning, NO_CONFIG,
    NoRate, Numbers, ParamDef, ParamKind, Params, SPEED_MAX, SPEED_UNPACED, TaskSet, Value,
};
pub use phrase::Phrase;
pub use plan_work::PlanWork;
pub use quantiles::{Percentile, Quantiles, QuotedTime};
pub use readings::{CounterSample, Readings};
pub use recording::{RecordedPauses, RecordedSessions, RecordedWork, RecordingSummary};
pub use regular_file::{open_regular, read_regular, read_regular_text};
pub use replay_facts::{
    ComparedBy, FailureMessage, KindDivergence, KindResults, LOADS_FACT, MovedKey, MovedKeys, REPLAY_COMPARED_FACT,
    REPLAY_COUNTERS_FACT, REPLAY_DIVERGENCE_FACT, REPLAY_FAILURES_FACT, REPLAY_IDS_FACT, REPLAY_KEYS_FACT,
    REPLAY_ORDER_FACT, REPLAY_RESULTS_FACT, REPLAY_UNTOLD_FACT, ReplayCounters, RowOrder, TRIGGERED_FACT,
};
pub use role::{CounterRole, KindDef, ParamOwner, ParamRole, PointParam, UsedIf, UsefulValues};
pub use rows::{ExpectedRows, MostlyRows, RowCounts, RowRange};
pub use run::{
    COMMAND_FACT, HostData, HostPhase, Interval, LEFT_OUT_FACT, PLAN_DIGEST_FACT, PhaseData, PointData, PointHost,
    PointState, READ_BACK_FACT, RESTORE_FACT, RUN_DIGEST_FACT, RUN_FILE_FACT, RunData, RunMeta,
};
pub use sample::{
    CounterDef, CounterKind, CounterSource, CounterUnit, EndpointInterval, Generator, IntervalRow, KindRow, SourceDef,
};
pub use secret_file::is_open_to_others;
pub use share::{CommonData, DivisionError, HOSTS_MAX, LoadPart, divide_trial};
pub use stacks::{FoldedStack, StackReason, StackSnapshot};
pub use system_error::system_words;
pub use thread_state::{ThreadOf, ThreadState};
pub use traits::{
    AccessPattern, BROKEN_CONDITION_FACT, BrokenCondition, ChangedSetting, CompressionOutcome, Course, DamageCounts,
    DeviceFlushes, EngineProcess, EngineTraits, FOUND_DATA_CHANGED, FoundDataUse, IMPORTED_FACT, IoWork, IoWorkers,
    OTHER_SERVER_FACTS, OrderWork, OtherServerSeen, PointOutcome, PointTraits, RecordedContent, RecordedStarts,
    ReplayDivergence, RowWork, ServerSetting, StepIndexes, StepWork, TIME_OVER_FACT, UnseenServer, VariantWork,
    WorkTraits, WritePath, is_part_of_table,
};
pub use trial::{
    Arrivals, Asked, DataOrigin, HostShare, Load, OnError, Pacing, Phase, Phases, Plan, TargetSpec, Trial, Until,
    UsedSet, WorkloadSpec,
};
pub use units::{Bytes, Nanos, Offset, Tick, number_word};
pub use variant::{SqlDataSet, SqlStep, SqlVariant, StatementEffort, StatementResult, StepPart};
pub use waits::{StallReason, WaitClass};
pub use why::{NotVaried, VariedArm, VariedResource, WhyPart, WhySpec};
