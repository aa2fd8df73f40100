//! In words: points that did not run, or not to their end, or not for long.
//!
//! In: the figures. Out: titles, evidence and explanations. Limits: recorded errors and events are quoted.

use super::FindingWords;
use crate::wording::quantity::{counted, percent, plural, range, rate, time, whole};
use analysis::finding::completeness::{
    BlockedClients, BrokenAttempt, BrokenAttempts, ClockGaps, Ending, FewSamples, ImportedResults, IncompletePoint,
    PointInterruption, ProgressMade, RunLimit, ShortData, ShortRun, SupportedPercentile, UnfinishedStep, WideInterval,
};
use model::Nanos;

impl FindingWords for ImportedResults {
    const SUMMARY: &'static str = "the results are those of another program";
    const EXPLANATION: &'static str = "`plimsoll import` took the point from the output of fio, sysbench or pgbench. It has the numbers that this program printed, \
         and nothing else: the machine, its settings, other programs on it and the load generator itself were not watched. So no finding can tell \
         what limited the point or what disturbed it, and the point is indicative. A dash is in place of each number that the program did not \
         print: response times, if it printed no histogram, or a confidence interval, if it printed no intervals. Let sysbench print `--histogram` \
         and `--report-interval=1`, fio `--output-format=json+` and logs, and pgbench a log (`--log`) to know more.";

    fn is_like(&self, other: &Self) -> bool {
        self.program == other.program
    }

    fn title(alike: &[&Self]) -> String {
        format!("imported from {}, conditions unknown", alike[0].program)
    }

    fn evidence(&self) -> String {
        let intervals = if self.has_intervals { "with" } else { "without" };
        let times = if self.has_times { "with" } else { "without" };
        format!("{intervals} intervals, {times} response times; without counters of the machine")
    }
}

impl FindingWords for IncompletePoint {
    const SUMMARY: &'static str = "the point did not run to its end";
    const EXPLANATION: &'static str = "If the engine failed, or data did not come back as it was written, the point is invalid: what was measured before may \
         already have suffered. If recording stopped because plimsoll was killed or the machine went down, the point is indicative: what was recorded \
         is correct, but covers less time than planned. A point that never reached its run phase has no numbers and is \
         invalid.";

    fn is_like(&self, other: &Self) -> bool {
        self.ending == other.ending
    }

    fn title(alike: &[&Self]) -> String {
        let title = match alike[0].ending {
            Ending::TargetFailed => match &alike[0].error {
                Some(error) if alike.iter().all(|one| one.error.as_ref() == Some(error)) => error,
                _ => "the engine failed",
            },
            Ending::DataDamaged => "stopped because data was corrupt",
            Ending::NotStarted => "the run phase was not reached",
            Ending::RecordingStopped => "recording stopped before the end",
        };
        title.to_owned()
    }

    fn evidence(&self) -> String {
        let error = self.error.as_deref().unwrap_or("no error was recorded");
        match self.progress {
            ProgressMade::Ops { done_ops, planned_ops } => {
                format!("{error}; {} of {} done", whole(done_ops as f64), plural(planned_ops, "operation"))
            }
            ProgressMade::Time { measured_ns, planned_ns } => {
                let [measured, planned] = [measured_ns, planned_ns].map(Nanos::as_secs_f64);
                format!("{error}; {measured:.1} of {planned:.1} s measured")
            }
        }
    }
}

impl FindingWords for PointInterruption {
    const SUMMARY: &'static str = "the user or a safety limit ended the point early";
    const EXPLANATION: &'static str = "The point ended early: by Ctrl-C, or by a limit that protects the machine, such as the space left on the disk. What \
         was measured until then is kept and is correct for the shorter time. The point is indicative because the plan asked \
         for more.";

    fn is_like(&self, other: &Self) -> bool {
        (self.at_ns.is_some(), &self.reason) == (other.at_ns.is_some(), &other.reason)
    }

    fn title(alike: &[&Self]) -> String {
        match alike[0].at_ns {
            Some(_) => {
                let at = tenths(alike, |one| one.at_ns.unwrap_or_default());
                format!("stopped at {at} s: {}", alike[0].reason)
            }
            None => format!("stopped before the run phase: {}", alike[0].reason),
        }
    }

    fn evidence(&self) -> String {
        "what was measured until then is kept".to_owned()
    }
}

/// Seconds with one decimal, as a range.
fn tenths<T>(alike: &[&T], at: impl Fn(&T) -> Nanos) -> String {
    let all = || alike.iter().map(|one| at(one).as_secs_f64());
    let [low, high] = [all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max)].map(|at| format!("{at:.1}"));
    if low == high { low } else { format!("{low} to {high}") }
}

impl FindingWords for BrokenAttempts {
    const SUMMARY: &'static str = "the run was interrupted here and resumed later";
    const EXPLANATION: &'static str = "The run ended during this point, or before it, and was resumed with `plimsoll run \
         --resume`. The point was measured completely, on new data; its numbers contain nothing of an earlier attempt. If the \
         point is a step of a sequence, the earlier steps were first performed once more, in the prepare phase of this point, \
         to make its data. The numbers of those steps are still those from before the interruption.";

    fn is_like(&self, other: &Self) -> bool {
        self.attempts.is_empty() == other.attempts.is_empty()
    }

    fn title(alike: &[&Self]) -> String {
        match alike[0].attempts.is_empty() {
            true => "resumed: the data was made again for this point".to_owned(),
            false => {
                let attempts = counted(alike, |one| one.attempts.len() as u64, "interrupted attempt");
                format!("resumed: this point was repeated after {attempts}")
            }
        }
    }

    fn evidence(&self) -> String {
        let attempt = |attempt: &BrokenAttempt| {
            let seconds = attempt.measured_ns.as_secs_f64();
            format!("point {} ended after {seconds:.1} s and is not counted", attempt.point)
        };
        let repeated = self.repeated_steps.iter().map(|steps| format!("steps repeated before it: {steps}"));
        self.attempts.iter().map(attempt).chain(repeated).collect::<Vec<_>>().join("; ")
    }
}

impl FindingWords for UnfinishedStep {
    const SUMMARY: &'static str = "a limit ended the step before its work was done";
    const EXPLANATION: &'static str = "The point is a step that ends when its work is done (all rows inserted, all indexes created), but `ops_max`, or \
         in older runs `time`, ended it earlier. The rate of an inserting step is that of its first rows, which are the cheapest if the data outgrows \
         memory. The steps after it run on less data than planned. Raise the limit, or leave it out: the step then runs until \
         its work is done.";

    fn title(alike: &[&Self]) -> String {
        let done = range(alike, |one| one.done_ops as f64 / one.planned_ops as f64, percent);
        let whose = if alike.len() == 1 { "its" } else { "their" };
        format!("stopped after {done} of {whose} work")
    }

    fn evidence(&self) -> String {
        let limit = match self.limit {
            RunLimit::Ops { ops_max } => format!("`ops_max` is {}", whole(ops_max as f64)),
            RunLimit::Time { time_ns } => format!("`time` is {time_ns}"),
        };
        format!("{} of {}; {limit}", whole(self.done_ops as f64), plural(self.planned_ops, "operation"))
    }
}

impl FindingWords for ShortData {
    const SUMMARY: &'static str = "an earlier step of the sequence was cut short";
    const EXPLANATION: &'static str = "The steps of a sequence go on with each other's data. An earlier step was interrupted, or ended before all of its \
         rows were inserted, so this step ran on less data than planned. Its numbers are correct for that data. They are compared with those of no \
         other point, because other engines may have had all of theirs. Measure the sequence again.";

    fn is_like(&self, other: &Self) -> bool {
        self.step == other.step
    }

    fn title(alike: &[&Self]) -> String {
        format!("ran on short data: {} was cut short", alike[0].step)
    }

    fn evidence(&self) -> String {
        format!("{} is point {}", self.step, self.point)
    }
}

impl FindingWords for BlockedClients {
    const SUMMARY: &'static str = "clients were still blocked when the grace time ended";
    const EXPLANATION: &'static str = "Operations in flight at the end get a grace time. Clients whose operation did not return \
         in that time were abandoned: no percentile contains their last operations, which are the slowest of all, and the \
         engine may have stalled for these clients or for all. The point is invalid. Read the engine's log and the kernel's \
         (`dmesg`) around the end of the point.";

    fn title(alike: &[&Self]) -> String {
        let clients = counted(alike, |one| one.clients as u64, "client");
        let were = if alike.iter().all(|one| one.clients == 1) { "was" } else { "were" };
        format!("{clients} {were} still blocked when the grace time ended")
    }

    fn evidence(&self) -> String {
        self.quoted.join("; ")
    }
}

impl FindingWords for ClockGaps {
    const SUMMARY: &'static str = "the clocks disagree, or nothing was recorded for a while";
    const EXPLANATION: &'static str = "The CPU's counter and the kernel's clock disagreed: the machine was migrated, or its \
         clock is broken. Times that were measured just before may be wrong by the difference. In a run that an earlier version \
         recorded it also means that plimsoll did not run for seconds: it was stopped, or other processes took all CPUs. The \
         engine may have continued or stalled during that time, so the rate and the response times of the run phase mean \
         nothing. The point is invalid.";

    fn is_like(&self, other: &Self) -> bool {
        (self.is_crowded(), self.longest_ns.is_some()) == (other.is_crowded(), other.longest_ns.is_some())
    }

    fn title(alike: &[&Self]) -> String {
        let times = counted(alike, |one| one.count as u64, "time");
        let first = tenths(alike, |one| one.first_at_ns.unwrap_or_default());
        let share = |one: &Self| one.foreign_cpu_share.map_or(0.0, |share| share.0);
        let cause = match alike[0].is_crowded() {
            true => format!("; others used {} of the CPU", range(alike, share, percent)),
            false => String::new(),
        };
        let gap = match alike[0].longest_ns {
            Some(_) => format!("up to {}", range(alike, |one| one.longest_ns.unwrap_or_default().0 as f64, time)),
            None => "a while".to_owned(),
        };
        format!("plimsoll did not run for {gap}, {times}; first noticed at {first} s{cause}")
    }

    fn evidence(&self) -> String {
        self.quoted.join("; ")
    }
}

/// Whether others used so much of the CPU that it explains why plimsoll did not run.
trait Crowded {
    fn is_crowded(&self) -> bool;
}

impl Crowded for ClockGaps {
    fn is_crowded(&self) -> bool {
        self.foreign_cpu_share.is_some_and(|share| share.0 > analysis::evidence::cpu_usage::OTHERS_MAX)
    }
}

impl FindingWords for ShortRun {
    const SUMMARY: &'static str = "the point is too short to know how exact the throughput is";
    const EXPLANATION: &'static str = "The confidence interval of the throughput comes from the spread between intervals; it \
         needs at least 8 whole ones. In less than 2 s, something that happens once a second (a flush, a journal commit, a \
         timer) happens once or twice, depending on chance. The point is then only indicative: measure longer, or record \
         shorter intervals.";

    fn is_like(&self, other: &Self) -> bool {
        self.lacks_intervals() == other.lacks_intervals()
    }

    fn title(alike: &[&Self]) -> String {
        match alike[0].lacks_intervals() {
            true => {
                let intervals = counted(alike, |one| one.intervals as u64, "interval");
                format!("too short for a confidence interval: {intervals}, {} needed", alike[0].intervals_min)
            }
            false => format!("too short: {}", range(alike, |one| one.length_ns.0 as f64, time)),
        }
    }

    fn evidence(&self) -> String {
        let (length, interval) = (self.length_ns, self.interval_ns);
        let found = match self.intervals {
            0 => format!("the run phase of {length} is shorter than one interval ({interval})"),
            n => format!("{} of {interval} in {length}", plural(n as u64, "whole interval")),
        };
        let length_min_s = self.length_min_ns.as_secs_f64();
        format!("{found}; at least {} intervals and {length_min_s} s are needed", self.intervals_min)
    }
}

impl FindingWords for WideInterval {
    const SUMMARY: &'static str = "the throughput is known only roughly";
    const EXPLANATION: &'static str = "The 95 % confidence interval of the throughput is wider than ±20 %: the rates of the \
         intervals differ so much, or drift, that another measurement of the same length could give a very different number. Do \
         not compare it with other results; measure longer. Even an engine whose rate varies only by chance, by 10 %, gets this \
         finding in 5 % of measurements of 10 intervals, and in at most 2 % of longer ones.";

    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn title(alike: &[&Self]) -> String {
        format!("the throughput is known only to ±{}", range(alike, |one| one.half_width_share.0, percent))
    }

    fn evidence(&self) -> String {
        let [low, high] = self.ops_per_s_ci95;
        let most = percent(self.half_width_max.0);
        format!("{}, 95 % interval {} to {}; ±{most} or less is needed", rate(self.ops_per_s), rate(low), rate(high))
    }
}

impl FindingWords for FewSamples {
    const SUMMARY: &'static str = "too few operations for the percentiles";
    const EXPLANATION: &'static str = "A percentile is only as reliable as the number of operations above it: with fewer than \
         10 it depends on chance. So p99.9 needs 10,000 operations, p99 1,000, p95 200 and the median 20. A point with fewer \
         than 10,000 is indicative, because its p99.9 cannot be quoted; the finding names the highest percentile that can. \
         Throughput and lower percentiles are not affected. A point without any operation, or whose only operations ended in \
         the grace time, has no throughput and is invalid.";

    fn is_like(&self, other: &Self) -> bool {
        (self.highest, self.ops == 0, self.is_all_grace()) == (other.highest, other.ops == 0, other.is_all_grace())
    }

    fn title(alike: &[&Self]) -> String {
        match alike[0].highest {
            _ if alike[0].ops == 0 => "no operation was done".to_owned(),
            _ if alike[0].is_all_grace() => "no operation ended within the run phase".to_owned(),
            Some(highest) => format!("too few operations for percentiles above {}", percentile(highest)),
            None => "too few operations for any percentile".to_owned(),
        }
    }

    fn mixed_title(alike: &[(&str, &Self)]) -> Option<String> {
        let highest = || alike.iter().map(|(_, one)| one.highest);
        // A higher percentile needs more operations; none at all needs the fewest.
        let (low, high) = (highest().min()?, highest().max()?.map(percentile)?);
        let low = low.map_or("none", percentile);
        Some(format!("too few operations for the high percentiles: the highest that holds is {low} to {high}"))
    }

    fn evidence(&self) -> String {
        match self.ops {
            0 => {
                format!("{:.2} s of run phase, {} failed", self.length_ns.as_secs_f64(), whole(self.failed_ops as f64))
            }
            ops if self.is_all_grace() => {
                let length_s = self.length_ns.as_secs_f64();
                format!("{} ended in the grace time, after {length_s:.2} s of run phase", plural(ops, "operation"))
            }
            ops => format!("{}; p99.9 needs 10,000, p99 1,000, p95 200", plural(ops, "operation")),
        }
    }
}

fn percentile(of: SupportedPercentile) -> &'static str {
    match of {
        SupportedPercentile::P50 => "p50",
        SupportedPercentile::P95 => "p95",
        SupportedPercentile::P99 => "p99",
        SupportedPercentile::P999 => "p99.9",
    }
}
