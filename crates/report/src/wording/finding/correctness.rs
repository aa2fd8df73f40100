//! In words: records that contradict each other, and work that failed.
//!
//! In: the figures. Out: titles, evidence and explanations. Limits: failures are quoted as the driver described them.

use super::FindingWords;
use crate::wording::list::join_and;
use crate::wording::quantity::{bytes, counted, number, percent, plural, range, whole};
use crate::wording::written::{account_clause, account_name};
use analysis::finding::correctness::{
    BrokenConditions, Contradiction, CorruptData, FailedOps, InFlightMismatch, RetriedOps, StepAccounts, TimeKind,
    UnlikeAccounts,
};

impl FindingWords for FailedOps {
    const SUMMARY: &'static str = "operations failed";
    const EXPLANATION: &'static str = "This finding needs `on_error = count`: with `stop`, the default, the first failure ends \
         the point (`incomplete`). Failed operations are counted but are in no percentile. A failed operation is often faster \
         or slower than one that succeeds, so any failure weakens the numbers. If more than 1 % of the operations failed, the \
         numbers describe the failures more than the work, and the point is invalid. The evidence quotes the first failures as \
         the driver described them. Operations that failed because the server was gone are in the finding `outage`: if all did, \
         there is no finding here, and those of outages do not count for the 1 %.";

    fn title(alike: &[&Self]) -> String {
        let failed = counted(alike, |one| one.failed_ops, "operation");
        let share = range(alike, |one| one.failed_share.0, percent);
        let in_outages = match alike.iter().all(|one| one.in_outages_ops == 0) {
            true => String::new(),
            false => format!(", {} of them in outages", range(alike, |one| one.in_outages_ops as f64, whole)),
        };
        format!("{failed} failed ({share}){in_outages}")
    }

    fn evidence(&self) -> String {
        let counts = format!("{} done, {} failed", whole(self.done_ops as f64), whole(self.failed_ops as f64));
        match self.quoted.is_empty() {
            true => counts,
            false => format!("{counts}; first: {}", self.quoted.join("; ")),
        }
    }
}

impl FindingWords for RetriedOps {
    const SUMMARY: &'static str = "operations were tried again after conflicts";
    const EXPLANATION: &'static str = "A deadlock, a lock-wait timeout or a serialization failure ends a transaction, and \
         plimsoll performs it again, for up to `retries_for`. All attempts are within the response time of the operation, and \
         it counts once, so nothing is hidden. But then the rate is that of a load that works against itself, and it changes \
         with the number of clients, the rows that they share and the isolation level. If there was more than one retry for \
         each hundred operations, the point is at most indicative. The rate of retries is with the rate of operations in the \
         verdict, in JSON and in the CSV file (`retries_per_s`). With `retries_for = 0` conflicts are failures (`errors`).";

    fn title(alike: &[&Self]) -> String {
        let per_100 = range(alike, |one| 100.0 * one.retries_per_op, number);
        format!("{per_100} retries after conflicts for each hundred operations")
    }

    fn evidence(&self) -> String {
        format!("{} retries per second", number(self.retries_per_s))
    }
}

impl FindingWords for CorruptData {
    const SUMMARY: &'static str = "data did not come back as it was written";
    const EXPLANATION: &'static str = "With `verify = true` each block of 4 KiB that is written carries its checksum, place and \
         generation; reads check them, and after the run all blocks are read back. A block is corrupt if its content does not \
         match its checksum (flipped bits, a torn write, something else written over it), stale if it holds an earlier write \
         although a later one was acknowledged (a lost write), and misdirected if it is intact but belongs to another place \
         (written to, or read from, the wrong one). Storage that does any of these is broken, however fast it is, so the point \
         is invalid. Read the kernel's log (`dmesg`) and the drive's own (SMART); `plimsoll verify RUN` checks data that still \
         exists.";

    fn is_like(&self, other: &Self) -> bool {
        let kinds = |one: &Self| one.counts().map(|(count, _)| count > 0);
        kinds(self) == kinds(other)
    }

    fn title(alike: &[&Self]) -> String {
        if alike[0].units() == 0 {
            return "reads did not return what was written".to_owned();
        }
        let kinds = alike[0].counts().into_iter().enumerate().filter(|(_, (count, _))| *count > 0);
        let of = |(nth, (_, kind)): (usize, (u64, &str))| {
            format!("{} {kind}", range(alike, |one| one.counts()[nth].0 as f64, whole))
        };
        let kinds: Vec<String> = kinds.map(of).collect();
        let is_one = alike.iter().all(|one| one.units() == 1);
        let blocks = if is_one { "1 block of 4 KiB is" } else { "blocks of 4 KiB are" };
        format!("{blocks} damaged: {}", kinds.join(", "))
    }

    fn evidence(&self) -> String {
        match self.quoted.is_empty() {
            true => "counted by the check after the run".to_owned(),
            false => format!("first: {}", self.quoted.join("; ")),
        }
    }
}

impl FindingWords for BrokenConditions {
    const SUMMARY: &'static str = "rows break a consistency condition of the workload";
    const EXPLANATION: &'static str = "A workload such as `orders` has conditions that its rows must fulfil whenever no          transaction is open, such as a total that is the sum of its parts. They are checked after the run. Each transaction          leaves them true if it is performed as a whole and apart from all others. So rows that break one show that a          transaction was lost, was performed in part or twice, or was mixed with another: the engine, its settings or its          storage are at fault, and the point is invalid. The evidence has the first row for each condition. A load that wrote          to the same tables at the same time is another cause.";

    fn is_like(&self, other: &Self) -> bool {
        let numbers = |one: &Self| one.broken.iter().map(|row| row.condition).collect::<Vec<_>>();
        numbers(self) == numbers(other)
    }

    fn title(alike: &[&Self]) -> String {
        let numbers: Vec<String> = alike[0].broken.iter().map(|row| row.condition.to_string()).collect();
        match &numbers[..] {
            [one] => format!("consistency condition {one} does not hold"),
            several => format!("consistency conditions {} do not hold", join_and(several)),
        }
    }

    fn evidence(&self) -> String {
        let rows = self.broken.iter().map(|row| format!("condition {}: {}", row.condition, row.first_row));
        rows.collect::<Vec<_>>().join("; ")
    }
}

/// Damaged units by kind.
trait DamagedData {
    fn counts(&self) -> [(u64, &'static str); 3];
}

impl DamagedData for CorruptData {
    fn counts(&self) -> [(u64, &'static str); 3] {
        [(self.corrupt_units, "corrupt"), (self.stale_units, "stale"), (self.misdirected_units, "misdirected")]
    }
}

impl FindingWords for Contradiction {
    const SUMMARY: &'static str = "what was recorded contradicts itself";
    const EXPLANATION: &'static str = "Values that are recorded twice must agree: each histogram has one time for each \
         operation; the bytes moved by the file workload are reads and writes times the block size; response times are not \
         below service times; percentiles rise; arrivals done and unserved add up to those that the schedule offered. A \
         contradiction means that plimsoll or the run file is broken; no number of the point can be used.";

    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    fn title(alike: &[&Self]) -> String {
        let title = match alike[0] {
            Contradiction::HistogramsDiffer { .. } => "histograms and counts differ",
            Contradiction::BytesDiffer { .. } => "the bytes moved are not operations times block size",
            Contradiction::ResponseBelowService { .. } => "response times are below service times",
            Contradiction::PercentilesFall { .. } => "percentiles do not rise",
            Contradiction::ArrivalsDiffer { .. } => "arrivals performed and unserved do not add up to those offered",
        };
        title.to_owned()
    }

    fn evidence(&self) -> String {
        match self {
            Contradiction::HistogramsDiffer { intervals, first_ops, first_response_times, first_service_times } => {
                let differ = if *intervals == 1 { "differs" } else { "differ" };
                format!(
                    "{} {differ}; the first has {}, {first_response_times} response and {first_service_times} service times",
                    plural(*intervals as u64, "interval"),
                    plural(*first_ops, "operation"),
                )
            }
            Contradiction::BytesDiffer { ops, block_bytes, moved_bytes } => {
                format!("{} of {block_bytes} moved {moved_bytes} bytes", plural(*ops, "operation"))
            }
            Contradiction::ResponseBelowService { response_mean_ns, service_mean_ns } => {
                format!("mean response {response_mean_ns:.0} ns, mean service {service_mean_ns:.0} ns")
            }
            Contradiction::PercentilesFall { of, quantiles_ns: q } => {
                let of = match of {
                    TimeKind::Response => "response",
                    TimeKind::Service => "service",
                };
                format!("{of}: p50 {} p95 {} p99 {} p99.9 {} max {} ns", q.p50, q.p95, q.p99, q.p999, q.max)
            }
            Contradiction::ArrivalsDiffer { offered, performed, unserved } => {
                format!("{offered} offered, {performed} performed, {unserved} unserved")
            }
        }
    }
}

impl FindingWords for InFlightMismatch {
    const SUMMARY: &'static str = "the number of operations in flight does not match the clients";
    const EXPLANATION: &'static str = "Little's law (J. D. C. Little, Operations Research 9(3), 1961): the mean number of \
         operations in flight is the throughput times the mean time of an operation. It cannot exceed clients * depth; if it is \
         more than 5 % higher, a time or a count is wrong and the point is invalid. In a closed loop with one operation per \
         client and no think time it must come close to the number of clients; if it stays below 80 %, the clients spent the \
         rest outside operations (generating them, recording, or waiting for a CPU) and the engine could have done more.";

    fn is_like(&self, other: &Self) -> bool {
        self.is_impossible() == other.is_impossible()
    }

    fn title(alike: &[&Self]) -> String {
        match alike[0].is_impossible() {
            true => "more operations in flight than the clients can have".to_owned(),
            false => {
                let outside = |one: &Self| 1.0 - one.in_flight_mean / one.in_flight_max as f64;
                format!("clients spent {} of their time outside operations", range(alike, outside, percent))
            }
        }
    }

    fn evidence(&self) -> String {
        let mean = number(self.in_flight_mean);
        match self.is_impossible() {
            true => format!("throughput * mean service time = {mean} > clients * depth = {}", self.in_flight_max),
            false => format!("throughput * mean service time = {mean} of {} clients", self.in_flight_max),
        }
    }
}

impl FindingWords for UnlikeAccounts {
    const SUMMARY: &'static str = "the accounts of the bytes written do not agree";
    const EXPLANATION: &'static str = "Bytes written are counted three times: by the kernel for the engine's processes, by the device, and by the engine. \
         A table shows one account, and names it: that of a volume of the point's own (`--fs`) if there is one; that of the \
         processes if the engine writes past the page cache, or only appends; otherwise that of the disk, without the writes of other \
         processes, if those are less than a tenth; otherwise the engine's, if it counts all that it writes. The accounts are compared when the writes of the point have \
         reached the disk (after the step `drain` over all steps that it covers), and reported if they differ by more than 10 % of the \
         greater and by more than 1 MB. It is a note if the table shows what a device wrote, because then the other account is wrong, and \
         a warning otherwise. An engine that counts its log as it makes it (InnoDB, RocksDB, PostgreSQL up to 17) counts fewer bytes than it \
         writes: blocks of the log are written again for each commit, and new log files are filled with zeros. So it is reported only if \
         it counts more. What a file \
         system writes for itself (its journal and inodes at each sync, or copies) is not reported: the line below the table has it. \
         More at the device than that: writes that no process is charged, and files that the engine does not count (sorted runs of \
         a new index). More in the engine: pages that were written several times to the page \
         cache and once to the device, files that were deleted before they reached it, or compression below the engine.";

    fn is_like(&self, other: &Self) -> bool {
        (self.shown, self.other) == (other.shown, other.other)
    }

    fn title(alike: &[&Self]) -> String {
        let [one, ..] = alike else { return String::new() };
        format!(
            "{}, {}: {} apart",
            account_clause(one.shown, &range(alike, |one| one.shown_bytes, bytes)),
            account_clause(one.other, &range(alike, |one| one.other_bytes, bytes)),
            range(alike, |one| one.difference_share.0, percent)
        )
    }

    fn evidence(&self) -> String {
        let furthest = |step: &StepAccounts| {
            let name = step.step.as_deref().unwrap_or("this step");
            format!(
                "; largest difference in {name}: {} by the {}, {} by the {}",
                bytes(step.shown_bytes),
                account_name(self.shown),
                bytes(step.other_bytes),
                account_name(self.other)
            )
        };
        match &self.furthest {
            Some(step) => format!("over the steps since the previous drain, including this one{}", furthest(step)),
            None => "over the run phase".to_owned(),
        }
    }
}
