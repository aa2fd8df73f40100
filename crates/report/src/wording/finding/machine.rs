//! In words: what the machine did for the point, and for other processes.
//!
//! In: the figures. Out: titles, evidence and explanations. Limits: recorded events are quoted.

use super::FindingWords;
use crate::wording::quantity::{
    bytes, count, counted, kibibytes, listed, megabytes_per_s, number, or_unknown, percent, plural, range, rate, time,
    whole,
};
use analysis::Span;
use analysis::evidence::cpu_usage::STEAL_ERROR;
use analysis::evidence::limited_flow::LimitedFlow;
use analysis::evidence::{CeilingMix, ShownCeiling};
use analysis::finding::machine::{
    CachedReads, CeilingUse, CoresUsed, CpuThrottling, CpuUser, EscapedLimit, ForeignCpu, GapCause, MemoryPressure,
    MissingCounters, OffloadedIo, ReadRoute, RecorderGaps, ServerRestarts, SettingChanges, SourceReads, UnreadSettings,
    UnseenProcess,
};
use model::{ChangedSetting, UnseenServer};

impl FindingWords for SettingChanges {
    const SUMMARY: &'static str = "settings of the server were changed while it was measured";
    const EXPLANATION: &'static str = "The settings of a server that matter for durability, caches, logging and isolation are \
         read before the data is made, before the load, halfway through it (after a minute at the latest), once a minute from \
         then on, and after it. If one differs from the first reading, it was changed by SET GLOBAL, ALTER SYSTEM or a restart. \
         A part of the point was then measured with one value and the rest with another, and the report shows the values from \
         the beginning. The point is invalid. Settings that plimsoll itself changes while it drains a server are set back and \
         not counted. A change that was undone between two readings is not seen.";

    fn is_like(&self, other: &Self) -> bool {
        self.changes == other.changes
    }

    fn title(alike: &[&Self]) -> String {
        let changes = &alike[0].changes;
        let change = |one: &ChangedSetting| format!("{} from `{}` to `{}`", one.name, one.before, one.after);
        format!("the server's settings were changed: {}", listed(changes, CHANGES_LISTED_MAX, change))
    }

    fn evidence(&self) -> String {
        match self.noticed_at_ns {
            Some(at) => format!("noticed at {:.1} s of the run phase", at.as_secs_f64()),
            None => "noticed before the run phase".to_owned(),
        }
    }
}

impl FindingWords for UnreadSettings {
    const SUMMARY: &'static str = "the server's settings could not be read after the load";
    const EXPLANATION: &'static str = "The settings of a server that matter for durability, caches, logging and isolation are read before a point, \
         during it and after it. The server did not answer to the reading after it, so a setting that was changed \
         since the reading before would not have been seen. The point is at most indicative. The server may have been too busy to \
         answer within 2 s, or it has no connection left.";

    fn title(_: &[&Self]) -> String {
        "the server's settings could not be read after the load: a change of them would not have been seen".to_owned()
    }

    fn evidence(&self) -> String {
        "the server did not answer".to_owned()
    }
}

impl FindingWords for ServerRestarts {
    const SUMMARY: &'static str = "the server ended or was restarted while it was measured";
    const EXPLANATION: &'static str = "The process of the server ended, or the connection that reads the server's settings broke and the server has \
         run for less time than has passed since the reading before. It was restarted: by an administrator, by a supervisor after a \
         crash, or because the kernel killed it. (PostgreSQL starts all its processes again if one of them crashes.) Its caches \
         were empty afterwards, and operations failed or waited meanwhile. The point is at most indicative, and invalid if it \
         failed. If a load fails, plimsoll asks the server for up to 10 s whether it is back. The server's log has the reason. A restart within an `outage` is \
         reported there.";

    fn is_like(&self, other: &Self) -> bool {
        (self.count > 0, &self.ended) == (other.count > 0, &other.ended)
    }

    fn title(alike: &[&Self]) -> String {
        match (alike[0].count, alike[0].ended.as_deref()) {
            (0, Some("gone") | None) => "the server ended while it was measured".to_owned(),
            (0, Some(how)) => format!("the server ended while it was measured ({how})"),
            _ => format!("the server was restarted {}", counted(alike, |one| one.count as u64, "time")),
        }
    }

    fn evidence(&self) -> String {
        let first = if self.count > 0 { "the first" } else { "the first operation failed" };
        match self.first_at_ns {
            Some(at) => format!("{first} at about {:.1} s of the run phase", at.as_secs_f64()),
            None if self.count > 0 => "the first before the run phase".to_owned(),
            None => "no operation had failed before".to_owned(),
        }
    }
}

/// So many changed settings are listed with their values.
const CHANGES_LISTED_MAX: usize = 4;

/// So many gaps are listed with their times.
const GAPS_LISTED_MAX: usize = 5;

impl FindingWords for RecorderGaps {
    const SUMMARY: &'static str = "plimsoll itself did not run for a while";
    const EXPLANATION: &'static str = "A thread of plimsoll wakes every 20 ms and compares clocks. A gap is a stretch of 100 ms \
         or more in which it did not wake. If the thread did not wait for a CPU in that time, something held it: plimsoll was \
         stopped (Ctrl-Z, SIGSTOP, a debugger), its control group was frozen, or the hypervisor did not run this machine. If it \
         waited for a CPU, and the other threads of plimsoll hardly ran either (by their CPU time and context switches), all of \
         plimsoll waited. If the machine was suspended, the clock that goes on during that time shows it. What the engine did \
         in a gap is unknown, so no stall, drop or starved client is reported there. But the time of a gap counts in the rate, \
         and the longest response times come from it. A gap therefore makes the point indicative, and invalid from 5 % of the \
         run phase on; a suspended machine always makes it invalid. Waits for a CPU are a note below 1 % of the run phase, and \
         make the point invalid from 20 % on.";

    fn is_like(&self, other: &Self) -> bool {
        self.cause == other.cause
    }

    fn title(alike: &[&Self]) -> String {
        let total = range(alike, |one| one.total_ns.0 as f64, time);
        let share = range(alike, |one| one.share.0, percent);
        match alike[0].cause {
            GapCause::Suspended => "the machine was suspended during the run phase".to_owned(),
            GapCause::Stopped => {
                format!(
                    "plimsoll itself was stopped or frozen, or its machine paused: {total}, {share} of the run phase"
                )
            }
            GapCause::NoCpu => format!("plimsoll itself waited for a CPU: {total}, {share} of the run phase"),
            GapCause::StoppedAndNoCpu => {
                format!("plimsoll itself was stopped, and waited for a CPU: {total}, {share} of the run phase")
            }
        }
    }

    fn evidence(&self) -> String {
        let longest = time(self.longest_ns.0 as f64);
        let gaps = format!("{}, the longest {longest}", plural(self.count as u64, "gap"));
        [gaps].into_iter().chain(self.quoted.iter().cloned()).collect::<Vec<_>>().join("; ")
    }

    fn times(&self, spans: &[Span]) -> String {
        match spans {
            [] => String::new(),
            _ => format!(": {}", listed(spans, GAPS_LISTED_MAX, |gap| format!("{:.2}-{:.2} s", gap.from_s, gap.to_s))),
        }
    }
}

impl FindingWords for OffloadedIo {
    const SUMMARY: &'static str = "the kernel handed operations of io_uring to worker threads";
    const EXPLANATION: &'static str = "An operation that io_uring cannot start without blocking is handed to a worker thread of \
         the kernel (`iou-wrk`), which performs it as a synchronous call. That costs two thread switches, and CPU time that is \
         not counted for any client; `io = sync` with as many clients as the depth is then usually faster. The usual reasons \
         are a file system or device without asynchronous I/O (tmpfs, zram, some FUSE and network file systems), writes that \
         extend a file or allocate space, and O_SYNC. Syncs are always handed over, so points with `fsync` are left out. The \
         throughput is real; the finding is about how it was reached.";

    fn is_like(&self, other: &Self) -> bool {
        let known = |one: &Self| (one.workers.is_some(), one.workers_cpu.clone());
        known(self) == known(other)
    }

    fn title(alike: &[&Self]) -> String {
        let workers = match alike[0].workers {
            Some(_) => counted(alike, |one| one.workers.unwrap_or(0), "kernel worker"),
            None => "an unknown number of kernel workers".to_owned(),
        };
        let cpu = alike[0].workers_cpu.as_ref().map_or(String::new(), |cpu| format!(" ({cpu} of CPU)"));
        format!("io_uring handed operations to {workers}{cpu}")
    }

    fn evidence(&self) -> String {
        format!(
            "workers at the end of the load: {}; their CPU time, not counted for any client: {}; CPU of the clients per \
             operation: {}",
            or_unknown(self.workers.map(|workers| workers as f64), whole),
            self.workers_cpu.as_deref().unwrap_or("unknown"),
            or_unknown(self.client_cpu_ns_per_op, time)
        )
    }
}

impl FindingWords for SourceReads {
    const SUMMARY: &'static str = "the file was read from its disk while it was compressed";
    const EXPLANATION: &'static str = "Plimsoll reads a file once before it compresses it, so that the file comes from memory and the time is \
         that of the codec and of writing the result. If the kernel counted more than 1 % of the file as read from its disk all the same, the \
         file does not fit in free memory, or something else pushed it out. The times and rates then have the reads of the disk in them; ratio \
         and sizes are right. Compress a smaller file, or a part of it, or free memory.";

    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn title(alike: &[&Self]) -> String {
        let share = range(alike, |one| one.read_share.0, percent);
        format!("{share} of the file was read from its disk while it was compressed")
    }

    fn evidence(&self) -> String {
        format!("read {} from the disk", bytes(self.read_bytes as f64))
    }
}

impl FindingWords for CachedReads {
    const SUMMARY: &'static str = "reads of files did not reach the device";
    const EXPLANATION: &'static str = "With `direct`, every byte that the file workload reads should be read by the device \
         under the file. If the disk's own counter shows less than half of it, something between the two answered: a cache of \
         the file system or of a loop device, or parts of the file that were never written. The numbers then describe that \
         cache. Without `direct`, reads go through the page cache, which may answer them: a note shows how much reached the \
         device.";

    fn is_like(&self, other: &Self) -> bool {
        self.via == other.via
    }

    fn title(alike: &[&Self]) -> String {
        let share = range(alike, |one| one.device_read_bytes_per_s / one.read_bytes_per_s, percent);
        let cache = match alike[0].via {
            ReadRoute::Direct => "a cache",
            ReadRoute::PageCache => "the page cache",
        };
        format!("only {share} of the bytes read came from the device; the rest came from {cache}")
    }

    fn evidence(&self) -> String {
        format!(
            "{} read from the file, {} from the device",
            megabytes_per_s(self.read_bytes_per_s),
            megabytes_per_s(self.device_read_bytes_per_s)
        )
    }
}

impl FindingWords for EscapedLimit {
    const SUMMARY: &'static str = "the device did more than `storage_limit` allows";
    const EXPLANATION: &'static str = "The point has a `storage_limit`, and the device under its data did more than that in the \
         run phase. Either other processes used the device, or writes of the engine escaped the limit: cgroups of version 1 \
         limit a group's reads, its direct writes and what it syncs itself, but not what the kernel writes for it later from \
         the page cache. The numbers are then better than a disk with this limit would give. Use `fs`, which limits the whole \
         device, or let the engine bypass the page cache (`direct`, `flush_method`).";

    fn is_like(&self, other: &Self) -> bool {
        self.flow == other.flow
    }

    fn title(alike: &[&Self]) -> String {
        let flow = flow_word(alike[0].flow);
        let [done, limit] = [|one: &EscapedLimit| one.done_per_s, |one: &EscapedLimit| one.limit_per_s];
        let (done, limit) = (range(alike, done, whole), range(alike, limit, whole));
        format!("the device did {done} {flow} per second although the limit is {limit}")
    }

    fn evidence(&self) -> String {
        let device = self.device.as_ref().map_or("the device".to_owned(), |device| format!("device `{device}`"));
        format!(
            "{device}: {} {} per second, {} of them counted by the limit of {}; other processes, or the kernel for the engine, did the rest",
            whole(self.done_per_s),
            flow_word(self.flow),
            or_unknown(self.counted_per_s, whole),
            whole(self.limit_per_s)
        )
    }
}

pub(super) fn flow_word(flow: LimitedFlow) -> &'static str {
    match flow {
        LimitedFlow::ReadOps => "reads",
        LimitedFlow::WriteOps => "writes",
        LimitedFlow::ReadBytes => "bytes read",
        LimitedFlow::WriteBytes => "bytes written",
    }
}

impl FindingWords for ForeignCpu {
    const SUMMARY: &'static str = "the hypervisor or other processes took CPU time";
    const EXPLANATION: &'static str = "Steal is time in which this virtual machine wanted to run while the hypervisor ran another: above 2 % of the \
         machine's CPU time the point is only indicative, above 10 % invalid. Other processes are all but plimsoll and the \
         engine: above 10 % of the machine's CPU time they compete with what is measured, and the point is only indicative. \
         The kernel's own threads, which write back, keep journals or compress, are no other processes. In a container they are not seen and \
         count among them; check which processes they are.";

    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(&self.by) == std::mem::discriminant(&other.by)
    }

    fn title(alike: &[&Self]) -> String {
        let share = range(alike, |one| one.share.0, percent);
        match alike[0].by {
            CpuUser::Hypervisor { .. } => format!("the hypervisor took {share} of the CPU time"),
            CpuUser::OtherProcesses { .. } => format!("other processes used {share} of the machine's CPU time"),
        }
    }

    fn evidence(&self) -> String {
        match self.by {
            CpuUser::Hypervisor { share_max } => format!(
                "share of the machine's CPU time in the run phase; above {} the point is indicative, above {} invalid",
                percent(share_max.0),
                percent(STEAL_ERROR)
            ),
            CpuUser::OtherProcesses { cores, .. } => cores_used(&cores),
        }
    }
}

fn cores_used(cores: &CoresUsed) -> String {
    format!(
        "{} cores used by other processes, {} by plimsoll and the engine, of {}",
        number(cores.others_cores),
        number(cores.ours_cores),
        whole(cores.machine_cores)
    )
}

impl FindingWords for CpuThrottling {
    const SUMMARY: &'static str = "a CPU quota or heat slowed the CPU down";
    const EXPLANATION: &'static str = "Quota: the control group that plimsoll was started in (by a container, or a service manager) may have \
         less CPU time than the machine has, and the kernel held plimsoll and what it started back for more than 1 % of the run \
         (`throttled_time` or `throttled_usec` in cpu.stat). The rates are those of the quota and not of the CPU, and response times have \
         pauses of up to a period, usually 100 ms. Start plimsoll without the quota, unless the quota is what you measure. Heat: the CPU \
         lowered its frequency to protect itself; a later run finds it warmer or cooler. Improve the cooling, or set a frequency that it \
         can keep.";

    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    fn title(alike: &[&Self]) -> String {
        match alike[0] {
            CpuThrottling::Quota { cpus: Some(cpus), .. } => {
                format!("limited by a CPU quota of {}", cpus_text(*cpus))
            }
            CpuThrottling::Quota { cpus: None, .. } => "limited by a CPU quota".to_owned(),
            CpuThrottling::Heat { .. } => "the CPU slowed down because of its heat".to_owned(),
        }
    }

    fn evidence(&self) -> String {
        match *self {
            CpuThrottling::Quota { machine_cpus, periods, held_share, .. } => {
                let of =
                    machine_cpus.map_or(String::new(), |cpus| format!(" of a machine with {}", plural(cpus, "CPU")));
                format!(
                    "held back {} of the time of all CPUs{of}, in {}",
                    percent(held_share.0),
                    plural(periods, "period")
                )
            }
            CpuThrottling::Heat { events } => format!("{} of a core", plural(events, "thermal throttling")),
        }
    }
}

/// `0.5 CPUs`, `1 CPU`
pub(super) fn cpus_text(cpus: f64) -> String {
    let unit = if cpus == 1.0 { "CPU" } else { "CPUs" };
    format!("{} {unit}", number(cpus))
}

impl FindingWords for MemoryPressure {
    const SUMMARY: &'static str = "the machine was short of memory";
    const EXPLANATION: &'static str = "Pages were swapped in or out during the run phase, or all running tasks waited for \
         memory at the same time for more than 1 % of it (`full` in /proc/pressure/memory). The numbers then describe a machine \
         that runs out of memory: the engine's caches and the data set together are too large. Shrink the data, the caches or \
         the number of clients (`--scale` shrinks all in proportion).";

    fn title(_: &[&Self]) -> String {
        "the machine was short of memory".to_owned()
    }

    fn evidence(&self) -> String {
        format!(
            "{} swapped in, {} out; all tasks waited for memory {} of the time",
            plural(self.swapped_in_pages, "page"),
            whole(self.swapped_out_pages as f64),
            percent(self.waited_share.0)
        )
    }
}

impl FindingWords for CeilingUse {
    const SUMMARY: &'static str = "how much of the disk's best measured rate was used";
    const EXPLANATION: &'static str = "The device's rate during the run phase (for a file point with direct I/O: the point's \
         own rate) is compared with the best rate known for this disk, which is of random blocks with direct I/O. `plimsoll \
         disk` measured it earlier, or a file point of this run reached it. (`plimsoll disk` keeps its rates in `ceilings.json` \
         in the directory of run files, and each later run on the same disk and file system lists them among its facts.) Of the \
         block sizes measured, the one nearest to the point's mean size is used: smaller operations are compared by their \
         number, larger ones by their bytes. The finding shows the number in flight (clients * depth) at which the best rate \
         was reached. If the rate is far below the best rate, the device does not limit the engine; if it is close, the device \
         is the limit. More than 100 % means that the device can do more than was measured: neighbouring blocks were merged, or \
         the disk was busy or limited when its best rate was measured.";

    fn is_like(&self, other: &Self) -> bool {
        let mixes = |one: &Self| one.ceilings.iter().map(ceiling_name).collect::<Vec<_>>();
        mixes(self) == mixes(other)
    }

    fn title(alike: &[&Self]) -> String {
        let names: Vec<String> = alike[0].ceilings.iter().map(ceiling_name).collect();
        format!("{} of this disk's best {}", range(alike, |one| one.used_share.0, percent), names.join(" and "))
    }

    fn mixed_title(alike: &[(&str, &Self)]) -> Option<String> {
        let all: Vec<&Self> = alike.iter().map(|(_, one)| *one).collect();
        let used = range(&all, |one| one.used_share.0, percent);
        Some(format!("{used} of this disk's best rates: {} (see the report)", plural(all.len() as u64, "point")))
    }

    fn evidence(&self) -> String {
        let side = if self.counted_at_clients { "the clients" } else { "the device" };
        let ceilings: Vec<String> = self
            .ceilings
            .iter()
            .map(|ceiling| format!("{} {}", rate(ceiling.ops_per_s), self.origin(ceiling)))
            .collect();
        let (done, size) = (count(self.ops_per_s), kibibytes(self.bytes_per_op));
        let what = operations(&self.ceilings);
        format!("{side} did {done} {what}/s of {size} on average; best: {}", ceilings.join(" and "))
    }
}

/// What was counted: `reads`, `writes`, or both.
fn operations(ceilings: &[ShownCeiling]) -> &'static str {
    match ceilings {
        [ShownCeiling { mix: CeilingMix::Reads, .. }] => "reads",
        [ShownCeiling { mix: CeilingMix::Writes, .. }] => "writes",
        _ => "reads and writes",
    }
}

/// `random-read rate (16 KiB, 32 in flight)`
fn ceiling_name(ceiling: &ShownCeiling) -> String {
    let mix = match ceiling.mix {
        CeilingMix::Reads => "random-read rate".to_owned(),
        CeilingMix::Writes => "random-write rate".to_owned(),
        CeilingMix::Both { read_share } => format!("random-read-write rate ({} reads)", percent(read_share.0)),
    };
    format!("{mix} ({}, {} in flight)", ceiling.block_bytes, ceiling.depth)
}

/// Where a ceiling was measured.
trait CeilingOrigin {
    fn origin(&self, ceiling: &ShownCeiling) -> String;
}

impl CeilingOrigin for CeilingUse {
    fn origin(&self, ceiling: &ShownCeiling) -> String {
        match ceiling.point {
            Some(id) => format!("in point {id} of this run"),
            None => {
                let when = self.measured.as_ref().map_or(String::new(), |when| format!(", {when}"));
                let kernel = self.kernel.as_ref().map_or(String::new(), |kernel| format!(", kernel {kernel}"));
                format!("by `plimsoll disk`{when}{kernel}")
            }
        }
    }
}

impl FindingWords for MissingCounters {
    const SUMMARY: &'static str = "counters or settings could not be read, or only slowly";
    const EXPLANATION: &'static str = "A file of the kernel or a statistic of the engine could not be read, at the start or \
         later. The load goes on and its numbers are valid. Cost per operation, the charts of that source and the findings that \
         need it (foreign CPU, memory pressure, the bottleneck) are missing, or cover only a part of the point. If the settings \
         of a server could not be read, a change of them between the readings before and after that is still seen. If the \
         reading at the end fails, the point has the finding `settings-unread`.";

    fn title(alike: &[&Self]) -> String {
        let sources = range(alike, |one| one.quoted.len() as f64, whole);
        let is_one = alike.iter().all(|one| one.quoted.len() == 1);
        format!(
            "{sources} {} of counters or settings could not be read, or only slowly",
            if is_one { "source" } else { "sources" }
        )
    }

    fn evidence(&self) -> String {
        self.quoted.join("; ")
    }
}

impl FindingWords for UnseenProcess {
    const SUMMARY: &'static str = "the server's CPU, memory and disk are not recorded";
    const EXPLANATION: &'static str = "A server that is given by its URL and runs on this machine is found by its connection, \
         and its CPU time, memory, context switches, I/O and disk are recorded like those of a server that plimsoll started. \
         That is impossible if the server is on another machine, in a virtual machine, or behind a proxy, a tunnel or address \
         translation (NAT); if it belongs to another user and plimsoll is not root; and after its end in the middle of a point. \
         What the clients measured is complete. If the server is on another machine, all CPU time here that is not plimsoll's \
         counts as that of other processes (`foreign-cpu`). In the other cases plimsoll cannot distinguish the CPU time of the \
         server from that of other processes, so `foreign-cpu` finds only steal: make sure that the machine is otherwise idle.";

    fn is_like(&self, other: &Self) -> bool {
        self.why == other.why
    }

    fn title(alike: &[&Self]) -> String {
        let why = match alike[0].why {
            UnseenServer::Remote => "the server is on another machine",
            UnseenServer::NotPermitted => "the server belongs to another user",
            UnseenServer::IoNotPermitted => {
                return "the server belongs to another user: its I/O is not recorded".to_owned();
            }
            UnseenServer::NotFound => "the connection ends in no process that plimsoll sees",
            UnseenServer::OtherProgram => "the connection ends in a proxy or a tunnel",
            UnseenServer::Restarted => {
                return "the server ended during the point: its CPU, memory and disk are recorded up to then"
                    .to_owned();
            }
        };
        format!("{why}: the server's CPU, memory and disk are not recorded")
    }

    fn evidence(&self) -> String {
        match (self.why, self.mixed_cpu_share) {
            (UnseenServer::Remote, _) => "CPU time here that is not plimsoll's is that of other processes".to_owned(),
            (UnseenServer::IoNotPermitted, _) => "its CPU time, memory and context switches are recorded".to_owned(),
            (_, Some(share)) => {
                let share = percent(share.0);
                format!("the server and all other processes together used {share} of the machine's CPU time")
            }
            (_, None) => "how much CPU time other processes used is not known".to_owned(),
        }
    }
}
