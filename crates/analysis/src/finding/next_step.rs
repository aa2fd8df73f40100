//! What a reader can do about a finding.
//!
//! In: nothing. Out: [`NextStep`]s. Limits: no sentences; the detector knows whether a step is possible.

/// What to do next. A step that the run makes impossible, or that was already taken, is not advised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NextStep {
    /// Nothing needs to be done, or nothing is known that would help.
    None,
    /// Measure the point again.
    MeasureAgain,
    /// Measure the point again without taking stacks.
    MeasureWithoutStacks,
    /// Remove what stopped it or made operations fail, then measure again.
    RemoveCause,
    /// More operations: so many ended the point.
    RaiseOpsMax {
        /// The limit on operations.
        ops_max: u64,
    },
    /// Let the step end by itself.
    DropTimeLimit,
    /// Find out what blocks the target.
    ReadTargetLog,
    /// Find out why the server ended.
    ReadServerLog,
    /// Leave the server's settings as they are.
    KeepSettings,
    /// Keep the machine and the process running.
    KeepRunning,
    /// Take CPU from the other processes, so that plimsoll gets its turns.
    FreeCpu,
    /// Do not use the storage.
    DistrustStorage,
    /// Do not use the engine with these settings.
    DistrustEngine,
    /// Ten clients for each warehouse, or more warehouses.
    FewerTerminals,
    /// A lower speed, more slots for requests, or a faster disk.
    SlowDownReplay,
    /// Do not use the point; report the bug.
    ReportBug,
    /// More client threads, or more CPUs for them.
    AddClients,
    /// Asynchronous I/O that is asynchronous.
    UseDirectOrUring,
    /// Several threads that submit.
    AddSubmitters,
    /// Find what limits the queue above the device.
    FindQueueLimit,
    /// Requests that the device takes whole.
    FitBlocksToDevice,
    /// Run long enough for the operations in flight at the end not to count.
    OutlastInFlight,
    /// Compare with synchronous I/O by as many clients as there is depth.
    CompareWithSync,
    /// Reads past the page cache, or a file larger than memory.
    BypassPageCache,
    /// A larger file on a file system that honours O_DIRECT.
    UseLargerFile,
    /// A file that fits in memory, or more memory.
    UseSmallerFile,
    /// A limited device of its own.
    UseOwnVolume,
    /// More threads if cores are free, or another machine for the clients.
    AddThreadsOrMachine,
    /// CPUs left free for the clients.
    FreeCpuForClients,
    /// Find out why a host was lost, and measure again with all of them.
    KeepHosts,
    /// Find out what makes a host slower than the others.
    EvenHosts,
    /// Clocks that can be compared better: a shorter way to the bus, or longer intervals.
    SteadyClocks,
    /// Another time or another host.
    UseQuieterHost,
    /// Plimsoll outside of the quota, unless the quota is what is measured.
    LiftQuota,
    /// The engine outside of its quota, unless the quota is what is measured.
    LiftEngineQuota,
    /// Better cooling, or a lower frequency that the CPU can keep.
    CoolMachine,
    /// Stop the other processes.
    StopOtherProcesses,
    /// Smaller caches, data or number of clients.
    ShrinkMemory,
    /// Give the engine memory for its files.
    GiveMemory,
    /// Find out what stopped the engine's processes.
    FindWhatStopped,
    /// A lower rate or more clients.
    LowerRateOrAddClients,
    /// A lower rate in the background, or fewer clients in the foreground.
    LowerBackgroundRate,
    /// A longer run.
    RunLonger,
    /// More rows, for a step that ends when its rows are inserted.
    InsertMoreRows,
    /// A longer run or shorter intervals.
    RunLongerOrShortenInterval,
    /// More rounds or longer ones.
    AllowMoreRounds,
    /// Quote the rate together with the size of the data, which lowers it.
    QuoteRateAtSize,
    /// A longer run of the program whose results were imported.
    ImportLonger,
    /// Shorter intervals in what that program prints.
    ImportFiner,
    /// A longer warmup or a run until steady.
    WarmUpLonger,
    /// Quote the spread.
    QuoteSpread,
    /// Look at what began at these times.
    FindWhatBegan,
    /// Look for what differs between the repeats.
    FindWhatDiffers,
    /// Compare the timelines of the points.
    CompareTimelines,
    /// Look for what has two states.
    FindTwoStates,
    /// Look for what works in turns.
    FindCycle,
    /// Look at the other charts at the times of the stalls or drops.
    CompareCharts,
    /// A larger log.
    EnlargeLog,
    /// Record shorter intervals.
    ShortenInterval,
    /// Look at the ends of partitions.
    StudyPartitions,
    /// Look for a limit that is enforced in time slices.
    FindSlicedLimit,
    /// Look for an unfair lock.
    FindUnfairLock,
    /// A longer queue at the listener.
    RaiseBacklog,
    /// Measure response times in an open loop.
    UseOpenLoop {
        /// A rate that the engine can carry, in operations per second.
        per_s: u64,
    },
    /// More depth or clients, one request at a time kept the device busy.
    AddDepthOrClients,
    /// Measure the device alone.
    CompareWithFile,
    /// Profile the target.
    ProfileTarget,
    /// Profile the engine, which uses one core.
    ProfileEngine,
    /// A higher rate.
    RaiseRate,
    /// More clients, to see whether they were the limit.
    TestMoreClients,
    /// Ask more of the disk.
    AskMoreOfDisk,
    /// Find what limits the engine before the disk does.
    FindEngineLimit,
    /// More threads for compactions, or fewer writes.
    SpeedUpCompaction,
    /// Transactions that do not meet on the same rows, or are shorter.
    SpreadRows,
    /// Look at the stacks for a lock inside the engine, or use fewer clients.
    FindInnerLock,
    /// Larger transactions, or fewer clients that write, in an engine with one writer at a time.
    EnlargeTransactions,
    /// Fewer or larger commits, or a disk that syncs faster.
    GroupCommits,
    /// A faster link, or clients nearer to the server.
    FasterLink,
    /// A higher limit of CPU, unless it is what is measured.
    RaiseCpuLimit,
    /// A higher limit of storage, unless it is what is measured.
    RaiseStorageLimit,
    /// Ask less of the disk.
    AskLessOfDisk,
    /// Find out why the engine stopped writing.
    ReadEngineLog,
    /// Let the debt be paid.
    LetDrainFollow,
    /// Watch which files grow, with a file system of its own.
    WatchFilesWithOwnVolume,
    /// Watch which files grow.
    WatchFiles,
    /// Cache and memory limit as intended.
    SetCacheAndMemory,
    /// What this machine offers.
    RunDoctor,
    /// As root, who sees the server's process.
    RunAsRoot,
    /// Without the program that is between plimsoll and the server.
    ConnectDirectly,
    /// The same durability everywhere.
    AlignDurability,
    /// More clients or depth, the rate still rose.
    MeasureMoreSteps,
}

impl NextStep {
    /// The same step for results that another program has measured: settings of plimsoll, and counters that no one has read, do not help.
    pub fn for_imported(self) -> NextStep {
        use NextStep as Step;
        match self {
            Step::RunLonger | Step::RunLongerOrShortenInterval | Step::OutlastInFlight | Step::WarmUpLonger => {
                Step::ImportLonger
            }
            Step::RaiseOpsMax { .. } | Step::InsertMoreRows | Step::AllowMoreRounds => Step::ImportLonger,
            Step::ShortenInterval => Step::ImportFiner,
            Step::CompareCharts | Step::EnlargeLog | Step::RunDoctor | Step::UseOpenLoop { .. } => Step::None,
            other => other,
        }
    }
}
