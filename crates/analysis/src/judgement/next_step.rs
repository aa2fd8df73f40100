//! What a reader can do about a finding, and how that is said. Whether a step is possible is for the detector to know.

use std::borrow::Cow;
use words::quantity::plural;

/// What to do next. A step that the run makes impossible, or that was already taken, is not advised. The sentences are below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NextStep {
    /// Nothing needs to be done, or nothing is known that would help.
    None,
    MeasureAgain,
    MeasureWithoutStacks,
    RemoveCause,
    RaiseOpsMax {
        ops_max: u64,
    },
    DropTimeLimit,
    ReadTargetLog,
    ReadServerLog,
    KeepSettings,
    KeepServer,
    FindWhatKeepsFlushes,
    KeepRunning,
    FreeCpu,
    DistrustStorage,
    DistrustEngine,
    FindWhatTakesRows,
    FewerTerminals,
    SlowDownReplay,
    ReportBug,
    AddClients,
    UseDirectOrUring,
    AddSubmitters,
    FindQueueLimit,
    FitBlocksToDevice,
    OutlastInFlight,
    CompareWithSync,
    BypassPageCache,
    UseLargerFile,
    UseSmallerFile,
    UseOwnVolume,
    AddThreadsOrMachine,
    FreeCpuForClients,
    KeepHosts,
    EvenHosts,
    SteadyClocks,
    UseQuieterHost,
    LiftQuota,
    LiftEngineQuota,
    CoolMachine,
    StopOtherProcesses,
    StopOtherClients,
    ShrinkMemory,
    GiveMemory,
    FindWhatStopped,
    FindSlowNode,
    RaiseMaxConnections,
    LowerRateOrAddClients,
    LowerBackgroundRate,
    RunLonger,
    InsertMoreRows,
    RunLongerOrShortenInterval,
    AllowMoreRounds,
    QuoteRateAtSize,
    ImportLonger,
    ImportFiner,
    WarmUpLonger,
    WarmUpLongerInBudget,
    QuoteSpread,
    FindWhatBegan,
    FindWhatDiffers,
    CompareTimelines,
    FindTwoStates,
    FindCycle,
    CompareCharts,
    EnlargeLog,
    ShortenInterval,
    StudyPartitions,
    FindSlicedLimit,
    FindUnfairLock,
    RaiseBacklog,
    /// The rate is one that the engine can carry, in operations per second.
    UseOpenLoop {
        per_s: u64,
    },
    AddDepthOrClients,
    CompareWithFile,
    ProfileTarget,
    ProfileEngine,
    RaiseRate,
    TestMoreClients,
    AskMoreOfDisk,
    FindEngineLimit,
    SpeedUpCompaction,
    SpreadRows,
    FindInnerLock,
    EnlargeTransactions,
    GroupCommits,
    FasterLink,
    RaiseCpuLimit,
    RaiseStorageLimit,
    AskLessOfDisk,
    ReadEngineLog,
    LetDrainFollow,
    WatchFilesWithOwnVolume,
    WatchFiles,
    SetCacheAndMemory,
    RunDoctor,
    RunAsRoot,
    ConnectDirectly,
    AlignDurability,
    MeasureMoreSteps,
}

impl NextStep {
    /// The same step for results that another program has measured: settings of plimsoll, and counters that no one has read, do not help.
    pub fn for_imported(self) -> NextStep {
        match self {
            NextStep::RunLonger
            | NextStep::RunLongerOrShortenInterval
            | NextStep::OutlastInFlight
            | NextStep::WarmUpLonger => NextStep::ImportLonger,
            NextStep::RaiseOpsMax { .. } | NextStep::InsertMoreRows | NextStep::AllowMoreRounds => {
                NextStep::ImportLonger
            }
            NextStep::ShortenInterval => NextStep::ImportFiner,
            NextStep::CompareCharts | NextStep::EnlargeLog | NextStep::RunDoctor | NextStep::UseOpenLoop { .. } => {
                NextStep::None
            }
            other => other,
        }
    }

    /// The same step for a run whose time is bounded as a whole: that bounds its warmups, too, and excludes a run until steady.
    pub fn for_budget(self) -> NextStep {
        match self {
            NextStep::WarmUpLonger => NextStep::WarmUpLongerInBudget,
            other => other,
        }
    }

    /// One line; empty if nothing needs to be done.
    pub fn sentence(self) -> Cow<'static, str> {
        match self {
            NextStep::RaiseOpsMax { ops_max } => {
                format!("raise `ops_max`: the point ended after {}", plural(ops_max, "operation")).into()
            }
            NextStep::UseOpenLoop { per_s } => {
                format!("measure response times at a fixed rate, such as two thirds of this one: `--rate {per_s}`")
                    .into()
            }
            step => step.fixed_sentence().into(),
        }
    }

    /// The sentences without a figure.
    #[expect(clippy::too_many_lines, reason = "a table of all steps")]
    fn fixed_sentence(self) -> &'static str {
        match self {
            NextStep::RaiseOpsMax { .. } | NextStep::UseOpenLoop { .. } | NextStep::None => "",
            NextStep::MeasureAgain => "measure again",
            NextStep::MeasureWithoutStacks => "for the rate and the response times, measure again without `--stacks`",
            NextStep::ReadServerLog => "read the server's log, remove the cause and measure again",
            NextStep::RemoveCause => "remove the cause and measure again",
            NextStep::DropTimeLimit => "run without `--time`: the step then ends when its work is done",
            NextStep::ReadTargetLog => "find out what blocks the engine: read its log and `dmesg`",
            NextStep::KeepSettings => "find out who changed the settings, and measure again",
            NextStep::FindWhatKeepsFlushes => {
                "find out what keeps flushes from the disk (a preloaded library, a setting, the storage), and measure again"
            }
            NextStep::StopOtherClients => "keep other clients off the server while it is measured, and measure again",
            NextStep::KeepServer => "connect to one server without a proxy, and measure again",
            NextStep::KeepRunning => "measure again without suspending the machine or stopping plimsoll",
            NextStep::FreeCpu | NextStep::StopOtherProcesses => {
                "stop the other processes (`top` shows them) and measure again"
            }
            NextStep::DistrustEngine => "do not use this engine with these settings until you know the cause",
            NextStep::FindWhatTakesRows => {
                "find out what takes the rows or keeps them from changing: a trigger, a rule, a proxy, or another user of the tables"
            }
            NextStep::SlowDownReplay => "for the recorded load use more `--depth`, a lower `--speed` or a faster disk",
            NextStep::FewerTerminals => "use at most ten clients for each warehouse",
            NextStep::DistrustStorage => "do not use this storage until you know the cause; read `dmesg`",
            NextStep::ReportBug => "do not use this point; please report it with the run file",
            NextStep::AddClients => "use more clients, or a machine with more CPUs for the load",
            NextStep::UseSmallerFile => "compress a file that fits in memory, or free memory, and measure again",
            NextStep::UseDirectOrUring => "use `direct = true` or `io = uring`",
            NextStep::AddSubmitters => "use more clients: one thread cannot submit and collect fast enough",
            NextStep::FindQueueLimit => "check cgroup limits, the I/O scheduler and the file system for a queue limit",
            NextStep::FitBlocksToDevice => "use smaller blocks, or raise `max_sectors_kb`",
            NextStep::OutlastInFlight => "run longer: operations in flight at the end are not counted",
            NextStep::CompareWithSync => "try `io = sync` with as many clients as the depth: it is usually faster",
            NextStep::UseLargerFile => {
                "use a larger file, written once in full, on a file system that honours O_DIRECT"
            }
            NextStep::BypassPageCache => "to measure the disk, use `--direct true`, or a file larger than memory",
            NextStep::UseOwnVolume => "limit a device of its own: add `--fs ext4`",
            NextStep::AddThreadsOrMachine => {
                "use more clients (or `--threads`) if cores are free, or another machine for them"
            }
            NextStep::FreeCpuForClients => {
                "leave CPUs free for the clients, or compare service times without the delay"
            }
            NextStep::KeepHosts => "find out why the host was lost, and measure again with all of them",
            NextStep::EvenHosts => {
                "look at the CPU and the network of the host in the table of hosts, or give it less of the load"
            }
            NextStep::SteadyClocks => "put the bus nearer to the hosts, or record longer intervals",
            NextStep::UseQuieterHost => "measure again when the host is quieter, or on another host",
            NextStep::LiftEngineQuota => {
                "raise the CPU quota of the engine's control group, unless the quota is what you measure"
            }
            NextStep::LiftQuota => "start plimsoll without the quota, unless the quota is what you measure",
            NextStep::CoolMachine => "improve the cooling, or set a frequency that the CPU can keep",
            NextStep::GiveMemory => "use less data, a larger `cache`, or more memory (`memory_limit`, if it is set)",
            NextStep::FindWhatStopped => {
                "find out what stopped the engine: a signal, a debugger, or the freezer of a container"
            }
            NextStep::FindSlowNode => {
                "find the node that asks for the pauses (`flow_control_sent`), and give it more appliers or a faster disk"
            }
            NextStep::RaiseMaxConnections => {
                "raise the server's `max_connections`, or use fewer clients or a connection pool"
            }
            NextStep::ShrinkMemory => "shrink the caches, the data set or the number of clients (`--scale`)",
            NextStep::LowerRateOrAddClients => "lower the rate, or allow more clients",
            NextStep::LowerBackgroundRate => "lower the background rate, or use fewer clients in the foreground",
            NextStep::RunLonger => "run longer",
            NextStep::ImportLonger => "let the other program run longer, and import that",
            NextStep::ImportFiner => "let the other program print shorter intervals, and import that",
            NextStep::InsertMoreRows => "insert more rows (`--rows`)",
            NextStep::RunLongerOrShortenInterval => "run longer, or record shorter intervals",
            NextStep::AllowMoreRounds => "raise `rounds_max`, or make `round` longer; see the chart of the rounds",
            NextStep::QuoteRateAtSize => {
                "quote the rate together with the number of rows: see the chart of inserts over rows"
            }
            NextStep::WarmUpLonger => "use a longer warmup, or run until the rate settles (`--until steady`)",
            NextStep::WarmUpLongerInBudget => {
                "use a larger `--budget` and a longer `--warmup`: at most a fifth of the time of a point is warmup"
            }
            NextStep::QuoteSpread => "see the timeline; quote the spread with the mean",
            NextStep::FindWhatBegan => "see what began at these times; quote the levels, not the mean over them",
            NextStep::FindWhatDiffers => {
                "compare the timelines of the repeats; look for what differs: caches, the state of the data, other load"
            }
            NextStep::CompareTimelines => "compare the timelines of these points with the others",
            NextStep::FindTwoStates => "quote both rates; look for something that has two states",
            NextStep::FindCycle => "look for something in the engine that repeats with this period",
            NextStep::EnlargeLog => "measure again with a larger log",
            NextStep::CompareCharts => "compare with the charts of disk and CPU at these times",
            NextStep::ShortenInterval => "record shorter intervals (`--interval 100ms`) to see when they happen",
            NextStep::StudyPartitions => {
                "see what the engine does when a partition is full; compare with `partition_rows = 0`"
            }
            NextStep::FindSlicedLimit => {
                "look for a limit with time slices (cgroup, cloud volume); quote p99, not the median"
            }
            NextStep::RaiseBacklog => {
                "raise the server's backlog (`back_log`, `net.core.somaxconn`), or use a connection pool"
            }
            NextStep::FindUnfairLock => "look for a lock that is not granted in order; try fewer clients",
            NextStep::AddDepthOrClients => "try more clients, or a greater depth if the engine has one",
            NextStep::CompareWithFile => "compare with `plimsoll file` on the same device",
            NextStep::ProfileTarget => "profile the engine",
            NextStep::ProfileEngine => "profile the engine; more clients help only if it works on several cores",
            NextStep::RaiseRate => "raise the rate to find the limit",
            NextStep::TestMoreClients => "add clients: if more is served, the clients were the limit",
            NextStep::AskMoreOfDisk => "use more clients, a greater depth or other block sizes to load the disk fully",
            NextStep::FindEngineLimit => "look for what limits the engine before the disk does",
            NextStep::SpeedUpCompaction => {
                "give compactions more threads, or write less; see the pending bytes in the report"
            }
            NextStep::SpreadRows => "spread the writes over more rows, or make the transactions shorter",
            NextStep::FindInnerLock => "see which lock by the stacks of the engine (`--stacks`), or try fewer clients",
            NextStep::EnlargeTransactions => {
                "do more in each transaction, or write with fewer clients: one writes at a time"
            }
            NextStep::GroupCommits => {
                "use more clients or larger transactions, so that one sync serves several commits, or a disk that syncs faster"
            }
            NextStep::FasterLink => "use a faster link, smaller results, or clients nearer to the server",
            NextStep::RaiseCpuLimit => "raise `--cpu-limit`, unless the limit is what you measure",
            NextStep::RaiseStorageLimit => "raise `--storage-limit`, unless the limit is what you measure",
            NextStep::AskLessOfDisk => "use fewer or larger operations, or a faster disk",
            NextStep::ReadEngineLog => "read the engine's log for what keeps it from writing",
            NextStep::LetDrainFollow => {
                "write what is pending, too, so that it counts: add the step `drain` (--step l.i1,drain)"
            }
            NextStep::WatchFilesWithOwnVolume => {
                "see which files grow; with a volume (`--fs`) all writes of the device show"
            }
            NextStep::WatchFiles => "see which files grow",
            NextStep::SetCacheAndMemory => "set `--cache` and `--memory-limit` to the sizes that you want to measure",
            NextStep::RunAsRoot => "run plimsoll as root, or as the user of the server",
            NextStep::ConnectDirectly => "connect to the socket or the port of the server itself",
            NextStep::RunDoctor => "run `plimsoll doctor` to see which counters this machine offers",
            NextStep::AlignDurability => "use the same `--durability` for all before you compare them",
            NextStep::MeasureMoreSteps => "measure more clients or a greater depth",
        }
    }
}
