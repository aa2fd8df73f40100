//! What to do about a finding, in words.
//!
//! In: a [`NextStep`](analysis::NextStep). Out: one line, empty for nothing to do. Limits: whether a step is possible is for the detector to know.

use crate::wording::quantity::plural;
use analysis::NextStep as Step;
use std::borrow::Cow;

/// What to do next; empty if nothing needs to be done.
pub fn next_step(step: Step) -> Cow<'static, str> {
    match step {
        Step::RaiseOpsMax { ops_max } => {
            format!("raise `ops_max`: the point ended after {}", plural(ops_max, "operation")).into()
        }
        Step::UseOpenLoop { per_s } => {
            format!("measure response times at a fixed rate, such as two thirds of this one: `--rate {per_s}`").into()
        }
        step => fixed_step(step).into(),
    }
}

/// The steps without a figure.
#[expect(clippy::too_many_lines, reason = "a table of all steps")]
fn fixed_step(step: Step) -> &'static str {
    match step {
        Step::RaiseOpsMax { .. } | Step::UseOpenLoop { .. } | Step::None => "",
        Step::MeasureAgain => "measure again",
        Step::MeasureWithoutStacks => "for the rate and the response times, measure again without `--stacks`",
        Step::ReadServerLog => "read the server's log, remove the cause and measure again",
        Step::RemoveCause => "remove the cause and measure again",
        Step::DropTimeLimit => "run without `--time`: the step then ends when its work is done",
        Step::ReadTargetLog => "find out what blocks the engine: read its log and `dmesg`",
        Step::KeepSettings => "find out who changed the settings, and measure again",
        Step::KeepRunning => "measure again without suspending the machine or stopping plimsoll",
        Step::FreeCpu | Step::StopOtherProcesses => "stop the other processes (`top` shows them) and measure again",
        Step::DistrustEngine => "do not use this engine with these settings until you know the cause",
        Step::SlowDownReplay => "for the recorded load use more `--depth`, a lower `--speed` or a faster disk",
        Step::FewerTerminals => "use at most ten clients for each warehouse",
        Step::DistrustStorage => "do not use this storage until you know the cause; read `dmesg`",
        Step::ReportBug => "do not use this point; please report it with the run file",
        Step::AddClients => "use more clients, or a machine with more CPUs for the load",
        Step::UseSmallerFile => "compress a file that fits in memory, or free memory, and measure again",
        Step::UseDirectOrUring => "use `direct = true` or `io = uring`",
        Step::AddSubmitters => "use more clients: one thread cannot submit and collect fast enough",
        Step::FindQueueLimit => "check cgroup limits, the I/O scheduler and the file system for a queue limit",
        Step::FitBlocksToDevice => "use smaller blocks, or raise `max_sectors_kb`",
        Step::OutlastInFlight => "run longer: operations in flight at the end are not counted",
        Step::CompareWithSync => "try `io = sync` with as many clients as the depth: it is usually faster",
        Step::UseLargerFile => "use a larger file, written once in full, on a file system that honours O_DIRECT",
        Step::BypassPageCache => "to measure the disk, use `--direct true`, or a file larger than memory",
        Step::UseOwnVolume => "limit a device of its own: add `--fs ext4`",
        Step::AddThreadsOrMachine => "use more clients (or `--threads`) if cores are free, or another machine for them",
        Step::FreeCpuForClients => "leave CPUs free for the clients, or compare service times without the delay",
        Step::KeepHosts => "find out why the host was lost, and measure again with all of them",
        Step::EvenHosts => {
            "look at the CPU and the network of the host in the table of hosts, or give it less of the load"
        }
        Step::SteadyClocks => "put the bus nearer to the hosts, or record longer intervals",
        Step::UseQuieterHost => "measure again when the host is quieter, or on another host",
        Step::LiftEngineQuota => {
            "raise the CPU quota of the engine's control group, unless the quota is what you measure"
        }
        Step::LiftQuota => "start plimsoll without the quota, unless the quota is what you measure",
        Step::CoolMachine => "improve the cooling, or set a frequency that the CPU can keep",
        Step::GiveMemory => "use less data, a larger `cache`, or more memory (`memory_limit`, if it is set)",
        Step::FindWhatStopped => {
            "find out what stopped the engine: a signal, a debugger, or the freezer of a container"
        }
        Step::ShrinkMemory => "shrink the caches, the data set or the number of clients (`--scale`)",
        Step::LowerRateOrAddClients => "lower the rate, or allow more clients",
        Step::LowerBackgroundRate => "lower the background rate, or use fewer clients in the foreground",
        Step::RunLonger => "run longer",
        Step::ImportLonger => "let the other program run longer, and import that",
        Step::ImportFiner => "let the other program print shorter intervals, and import that",
        Step::InsertMoreRows => "insert more rows (`--rows`)",
        Step::RunLongerOrShortenInterval => "run longer, or record shorter intervals",
        Step::AllowMoreRounds => "raise `rounds_max`, or make `round` longer; see the chart of the rounds",
        Step::QuoteRateAtSize => "quote the rate together with the number of rows: see the chart of inserts over rows",
        Step::WarmUpLonger => "use a longer warmup, or run until the rate settles (`--until steady`)",
        Step::QuoteSpread => "see the timeline; quote the spread with the mean",
        Step::FindWhatBegan => "see what began at these times; quote the levels, not the mean over them",
        Step::FindWhatDiffers => {
            "compare the timelines of the repeats; look for what differs: caches, the state of the data, other load"
        }
        Step::CompareTimelines => "compare the timelines of these points with the others",
        Step::FindTwoStates => "quote both rates; look for something that has two states",
        Step::FindCycle => "look for something in the engine that repeats with this period",
        Step::EnlargeLog => "measure again with a larger log",
        Step::CompareCharts => "compare with the charts of disk and CPU at these times",
        Step::ShortenInterval => "record shorter intervals (`--interval 100ms`) to see when they happen",
        Step::StudyPartitions => "see what the engine does when a partition is full; compare with `partition_rows = 0`",
        Step::FindSlicedLimit => "look for a limit with time slices (cgroup, cloud volume); quote p99, not the median",
        Step::RaiseBacklog => "raise the server's backlog (`back_log`, `net.core.somaxconn`), or use a connection pool",
        Step::FindUnfairLock => "look for a lock that is not granted in order; try fewer clients",
        Step::AddDepthOrClients => "try more clients, or a greater depth if the engine has one",
        Step::CompareWithFile => "compare with `plimsoll file` on the same device",
        Step::ProfileTarget => "profile the engine",
        Step::ProfileEngine => "profile the engine; more clients help only if it works on several cores",
        Step::RaiseRate => "raise the rate to find the limit",
        Step::TestMoreClients => "add clients: if more is served, the clients were the limit",
        Step::AskMoreOfDisk => "use more clients, a greater depth or other block sizes to load the disk fully",
        Step::FindEngineLimit => "look for what limits the engine before the disk does",
        Step::SpeedUpCompaction => "give compactions more threads, or write less; see the pending bytes in the report",
        Step::SpreadRows => "spread the writes over more rows, or make the transactions shorter",
        Step::FindInnerLock => "see which lock by the stacks of the engine (`--stacks`), or try fewer clients",
        Step::EnlargeTransactions => "do more in each transaction, or write with fewer clients: one writes at a time",
        Step::GroupCommits => {
            "use more clients or larger transactions, so that one sync serves several commits, or a disk that syncs faster"
        }
        Step::FasterLink => "use a faster link, smaller results, or clients nearer to the server",
        Step::RaiseCpuLimit => "raise `--cpu-limit`, unless the limit is what you measure",
        Step::RaiseStorageLimit => "raise `--storage-limit`, unless the limit is what you measure",
        Step::AskLessOfDisk => "use fewer or larger operations, or a faster disk",
        Step::ReadEngineLog => "read the engine's log for what keeps it from writing",
        Step::LetDrainFollow => "add the step `drain`, or insert until the pending writes stop growing",
        Step::WatchFilesWithOwnVolume => "see which files grow; with a volume (`--fs`) all writes of the device show",
        Step::WatchFiles => "see which files grow",
        Step::SetCacheAndMemory => "set `--cache` and `--memory-limit` to the sizes that you want to measure",
        Step::RunAsRoot => "run plimsoll as root, or as the user of the server",
        Step::ConnectDirectly => "connect to the socket or the port of the server itself",
        Step::RunDoctor => "run `plimsoll doctor` to see which counters this machine offers",
        Step::AlignDurability => "use the same `--durability` for all before you compare them",
        Step::MeasureMoreSteps => "measure more clients or a greater depth",
    }
}
