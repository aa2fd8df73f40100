//! What to do about a finding, in words.
//!
//! In: a [`NextStep`]. Out: one line, empty for nothing to do. Limits: whether a step is possible is for the detector to know.

use analysis::NextStep;

/// What to do next; empty if nothing needs to be done.
pub fn next_step(step: NextStep) -> &'static str {
    match step {
        NextStep::None => "",
        NextStep::MeasureAgain => "measure again",
        NextStep::RemoveCause => "remove the cause and measure again",
        NextStep::DropTimeLimit => "run without `--time`: the step then ends when all its rows are inserted",
        NextStep::ReadTargetLog => "find out what blocks the engine: read its log and `dmesg`",
        NextStep::KeepRunning => "measure again without suspending the machine or stopping plimsoll",
        NextStep::FreeCpu | NextStep::StopOtherProcesses => {
            "stop the other processes (`top` shows them) and measure again"
        }
        NextStep::DistrustStorage => "do not use this storage until you know the cause; read `dmesg`",
        NextStep::ReportBug => "do not use this point; please report it with the run file",
        NextStep::AddClients => "use more clients, or a machine with more CPUs for the load",
        NextStep::UseDirectOrUring => "use `direct = true` or `io = uring`",
        NextStep::AddSubmitters => "use more clients: one thread cannot submit and collect fast enough",
        NextStep::FindQueueLimit => "check cgroup limits, the I/O scheduler and the file system for a queue limit",
        NextStep::FitBlocksToDevice => "use smaller blocks, or raise `max_sectors_kb`",
        NextStep::OutlastInFlight => "run longer: operations in flight at the end are not counted",
        NextStep::CompareWithSync => "try `io = sync` with as many clients as the depth: it is usually faster",
        NextStep::UseLargerFile => {
            "use a larger file that was written once in full, on a file system that honours O_DIRECT"
        }
        NextStep::UseOwnVolume => "limit a device of its own: add `--fs ext4`",
        NextStep::AddThreadsOrMachine => {
            "use more clients (or `--threads`) if cores are free, or run the clients on another machine"
        }
        NextStep::FreeCpuForClients => "leave CPUs free for the clients, or compare service times without the delay",
        NextStep::UseQuieterHost => "measure again when the host is quieter, or on another host",
        NextStep::ShrinkMemory => "shrink the caches, the data set or the number of clients (`--scale`)",
        NextStep::LowerRateOrAddClients => "lower the rate, or allow more clients",
        NextStep::LowerBackgroundRate => "lower the background rate, or use fewer clients in the foreground",
        NextStep::RunLonger => "run longer",
        NextStep::InsertMoreRows => "insert more rows (`--rows`)",
        NextStep::RunLongerOrShortenInterval => "run longer, or record shorter intervals",
        NextStep::AllowMoreRounds => "raise `rounds_max`, or make `round` longer; see the chart of the rounds",
        NextStep::WarmUpLonger => "use a longer warmup, or run until the rate settles (`--until steady`)",
        NextStep::QuoteSpread => "see the timeline; quote the spread with the mean",
        NextStep::FindWhatBegan => "see what began at these times; quote the levels, not the mean over them",
        NextStep::FindTwoStates => "quote both rates; look for something that has two states",
        NextStep::FindCycle => "look for something in the engine that repeats with this period",
        NextStep::CompareCharts => "compare with the charts of disk and CPU at these times",
        NextStep::ShortenInterval => "record shorter intervals (`--interval 100ms`) to see when they happen",
        NextStep::StudyPartitions => {
            "see what the engine does when a partition is full; compare with `partition_rows = 0`"
        }
        NextStep::FindSlicedLimit => {
            "look for a limit with time slices (cgroup, cloud volume); quote p99, not the median"
        }
        NextStep::FindUnfairLock => "look for a lock that is not granted in order; try fewer clients",
        NextStep::UseOpenLoop => "measure response times at a fixed rate below the maximum: `--rate N`",
        NextStep::AddDepthOrClients => "try more clients, or a greater depth if the engine has one",
        NextStep::CompareWithFile => "compare with `plimsoll file` on the same device",
        NextStep::ProfileTarget => "profile the engine",
        NextStep::ProfileEngine => "profile the engine; more clients help only if it works on several cores",
        NextStep::RaiseRate => "raise the rate to find the limit",
        NextStep::TestMoreClients => "add clients: if more is served, the clients were the limit",
        NextStep::AskMoreOfDisk => "use more clients, a greater depth or other block sizes to load the disk fully",
        NextStep::FindEngineLimit => "look for what limits the engine before the disk does",
        NextStep::AskLessOfDisk => "use fewer or larger operations, or a faster disk",
        NextStep::ReadEngineLog => "read the engine's log for what keeps it from writing",
        NextStep::LetDrainFollow => "add the step `drain`, or insert until the pending writes stop growing",
        NextStep::WatchFilesWithOwnVolume => {
            "see which files grow; a file system of its own (`--fs`) shows everything that the device writes"
        }
        NextStep::WatchFiles => "see which files grow",
        NextStep::SetCacheAndMemory => "set `--cache` and `--memory-limit` to the sizes that you want to measure",
        NextStep::RunDoctor => "run `plimsoll doctor` to see which counters this machine offers",
        NextStep::AlignDurability => "use the same `--durability` for all before you compare them",
        NextStep::MeasureMoreSteps => "measure more clients or a greater depth",
    }
}
