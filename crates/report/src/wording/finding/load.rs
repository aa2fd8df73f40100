//! In words: loads that were not the ones asked for.
//!
//! In: the figures. Out: titles, evidence and explanations. Limits: none.

use super::FindingWords;
use crate::wording::instances::fairness_text;
use crate::wording::quantity::{counted, kibibytes, number, or_unknown, percent, plural, range, rate, time, whole};
use analysis::finding::load::{
    BlockAccess, BlockChange, BoundClients, ExceededPace, HiddenWaits, LateClients, LateStarts, MissedArrivals,
    MissedRate, MissedTarget, Overload, UnequalInstances,
};

/// The most instances whose rates are listed.
const INSTANCES_MAX: usize = 16;

impl FindingWords for MissedTarget {
    const SUMMARY: &'static str = "depth, block size or rate differ from what you asked for";
    const EXPLANATION: &'static str = "Depth, block size and rate are compared with what you asked for; a difference of more \
         than 5 % is reported. Depth: by Little's law the mean number of operations in flight is the throughput times the mean \
         service time; if it is below clients * depth, the generator did not keep that many in flight. libaio through the page \
         cache performs each operation when it is submitted: its depth is always 1. The device's mean queue is reported if it \
         holds less than half of the operations; the rest waited above it, in a scheduler, a limit or the file system. Block \
         size: with direct I/O, the bytes per operation of the device; smaller ones were split (by the largest request that the \
         device takes, or because the file is fragmented) or mixed with small ones of a journal or of other programs, larger \
         ones were merged with neighbours. Rate: an open loop that did less than it offered without being overloaded. The \
         numbers are right for the depth, block size and rate that were reached.";

    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (MissedTarget::Block { access: one, cause, .. }, MissedTarget::Block { access: other, cause: why, .. }) => {
                one == other && std::mem::discriminant(cause) == std::mem::discriminant(why)
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    fn title(alike: &[&Self]) -> String {
        let asked = range(alike, |one| one.asked(), whole);
        match alike[0] {
            MissedTarget::DepthAtSubmission { .. } => format!("queue depth: {asked} requested, 1 per client reached"),
            MissedTarget::Depth { .. } => {
                format!("queue depth: {asked} requested, {} reached", range(alike, |one| one.reached(), number))
            }
            MissedTarget::DeviceDepth { .. } => {
                format!("queue depth: {asked} requested, {} in the device", range(alike, |one| one.reached(), number))
            }
            MissedTarget::Block { access, .. } => format!(
                "{} of {} reached the device as {}",
                access_plural(*access),
                range(alike, |one| one.asked(), kibibytes),
                range(alike, |one| one.reached(), kibibytes)
            ),
            MissedTarget::Rate(_) => format!(
                "{} requested, {} reached ({} less)",
                range(alike, |one| one.asked(), rate),
                range(alike, |one| one.reached(), rate),
                range(alike, |one| 1.0 - one.reached() / one.asked(), percent)
            ),
        }
    }

    fn evidence(&self) -> String {
        match self {
            MissedTarget::DepthAtSubmission { .. } => {
                "`io = aio` without direct I/O: the kernel performs each operation when it is submitted".to_owned()
            }
            MissedTarget::Depth { reached_in_flight, .. } => {
                let reached = number(*reached_in_flight);
                format!("throughput * mean service time = {reached}: the clients submit too few at a time")
            }
            MissedTarget::DeviceDepth { client_in_flight, device_in_flight, .. } => format!(
                "mean in flight at the clients {}, in the device's queue {}: the rest waited above it",
                or_unknown(*client_in_flight, number),
                number(*device_in_flight)
            ),
            MissedTarget::Block { access, reached_bytes, cause, .. } => {
                let kind = access_word(*access);
                format!("{} bytes per {kind} of the device; {}", whole(*reached_bytes), block_cause(*cause, *access))
            }
            MissedTarget::Rate(missed) => missed_arrivals(missed),
        }
    }
}

/// What was asked for and what was reached, as plain numbers.
trait AskedReached {
    fn asked(&self) -> f64;
    fn reached(&self) -> f64;
}

impl AskedReached for MissedTarget {
    fn asked(&self) -> f64 {
        match *self {
            MissedTarget::DepthAtSubmission { asked_in_flight }
            | MissedTarget::Depth { asked_in_flight, .. }
            | MissedTarget::DeviceDepth { asked_in_flight, .. } => asked_in_flight as f64,
            MissedTarget::Block { asked_bytes, .. } => asked_bytes.0 as f64,
            MissedTarget::Rate(missed) => missed.offered_per_s,
        }
    }

    fn reached(&self) -> f64 {
        match *self {
            MissedTarget::DepthAtSubmission { .. } => 1.0,
            MissedTarget::Depth { reached_in_flight, .. } => reached_in_flight,
            MissedTarget::DeviceDepth { device_in_flight, .. } => device_in_flight,
            MissedTarget::Block { reached_bytes, .. } => reached_bytes,
            MissedTarget::Rate(missed) => missed.done_per_s,
        }
    }
}

fn access_word(access: BlockAccess) -> &'static str {
    match access {
        BlockAccess::Read => "read",
        BlockAccess::Write => "write",
    }
}

fn access_plural(access: BlockAccess) -> &'static str {
    match access {
        BlockAccess::Read => "reads",
        BlockAccess::Write => "writes",
    }
}

fn block_cause(cause: BlockChange, access: BlockAccess) -> String {
    match cause {
        BlockChange::SplitBySize { request_max_bytes } => {
            format!("split: the device takes at most {request_max_bytes} at a time (`max_sectors_kb`)")
        }
        BlockChange::SplitByPieces => format!(
            "split because a request may have only so many pieces (`max_segments`), or mixed with smaller {} of the file \
             system's journal or of other programs",
            access_plural(access)
        ),
        BlockChange::Merged => "merged: neighbouring blocks were joined on their way to the device".to_owned(),
    }
}

fn missed_arrivals(missed: &MissedArrivals) -> String {
    format!(
        "the schedule offered {}, {} expected; {} unserved",
        plural(missed.arrivals, "arrival"),
        whole(missed.expected_arrivals),
        whole(missed.unserved_arrivals as f64)
    )
}

impl FindingWords for BoundClients {
    const SUMMARY: &'static str = "the load generator was the bottleneck, or too slow to keep time";
    const EXPLANATION: &'static str = "The client threads used more than 80 % of the cores they can run on (one per client, or \
         as many as `threads`, at most those that plimsoll may use). The rate is then what the clients could ask for, not what \
         the engine can do. For the engine `file` the clients' CPU includes the kernel's part of the I/O, which is usually the \
         limit for reads from the page cache. Embedded databases do their work on the client threads, where it cannot be \
         distinguished from plimsoll's own, so they are not judged by CPU. The finding also appears if clients that waited for \
         an arrival woke up so late that the delay is more than 5 % of the 99th percentile: the response times then contain \
         scheduling delays. It also appears if clients got no CPU for longer than the 99th percentile, and the sum of these \
         delays is more than 5 % of all response times. In a closed loop only background clients wait for arrivals; these \
         checks then use their own times.";

    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (BoundClients::Late { clients: one, .. }, BoundClients::Late { clients: other, .. })
            | (BoundClients::Descheduled { clients: one, .. }, BoundClients::Descheduled { clients: other, .. }) => {
                one == other
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    fn title(alike: &[&Self]) -> String {
        match alike[0] {
            BoundClients::Busy { .. } => {
                format!(
                    "the client threads used {} of the cores they can run on",
                    range(alike, |one| one.share(), percent)
                )
            }
            BoundClients::Late { clients, .. } => format!(
                "{} woke up {} late on average, {} of their p99",
                late_clients(*clients),
                range(alike, |one| one.lag_mean_ns(), time),
                range(alike, |one| one.share(), percent)
            ),
            BoundClients::Descheduled { clients, .. } => format!(
                "{} got no CPU for up to {}; {} of their mean response time is this delay",
                late_clients(*clients),
                range(alike, |one| one.lag_max_ns(), time),
                range(alike, |one| one.share(), percent)
            ),
        }
    }

    fn evidence(&self) -> String {
        match self {
            BoundClients::Busy { cores, threads, .. } => {
                format!("{} cores busy with {}", number(*cores), plural(u64::from(*threads), "client thread"))
            }
            BoundClients::Late { lag_max_ns, late_arrivals, p99_ns, .. } => {
                format!("{}, the latest by {lag_max_ns}; their p99 is {p99_ns}", plural(*late_arrivals, "late arrival"))
            }
            BoundClients::Descheduled { lag_mean_ns, late_arrivals, response_mean_ns, .. } => format!(
                "{}, by {} on average; their mean response time is {}",
                plural(*late_arrivals, "late arrival"),
                time(*lag_mean_ns),
                time(*response_mean_ns)
            ),
        }
    }
}

fn late_clients(clients: LateClients) -> &'static str {
    match clients {
        LateClients::OpenLoop => "clients",
        LateClients::Background => "background clients",
    }
}

/// The figures that the titles of all forms need.
trait ClientFigures {
    fn share(&self) -> f64;
    fn lag_mean_ns(&self) -> f64;
    fn lag_max_ns(&self) -> f64;
}

impl ClientFigures for BoundClients {
    fn share(&self) -> f64 {
        match self {
            BoundClients::Busy { cores_share, .. } => cores_share.0,
            BoundClients::Late { lag_mean_ns, p99_ns, .. } => lag_mean_ns / p99_ns.0.max(1) as f64,
            BoundClients::Descheduled { lag_mean_ns, response_mean_ns, .. } => lag_mean_ns / response_mean_ns.max(1.0),
        }
    }

    fn lag_mean_ns(&self) -> f64 {
        match self {
            BoundClients::Busy { .. } => 0.0,
            BoundClients::Late { lag_mean_ns, .. } | BoundClients::Descheduled { lag_mean_ns, .. } => *lag_mean_ns,
        }
    }

    fn lag_max_ns(&self) -> f64 {
        match self {
            BoundClients::Busy { .. } => 0.0,
            BoundClients::Late { lag_max_ns, .. } | BoundClients::Descheduled { lag_max_ns, .. } => lag_max_ns.0 as f64,
        }
    }
}

impl FindingWords for Overload {
    const SUMMARY: &'static str = "the offered rate was not served in time";
    const EXPLANATION: &'static str = "In an open loop, arrivals were not started before the end (unserved): more than 0.1 % of \
         them and more than clients * depth. This alone may be chance. It is reported if more work arrived than the clients can \
         do (the offered rate times the mean service time is above clients * depth: then the backlog grows for as long as you \
         measure), or if the unserved arrivals are more than chance leaves of n arrivals (3 times the square root of n), for \
         example after a stall at the end. Late arrivals, which wait because every client is busy, are no overload: with one \
         client and Poisson arrivals half of them wait at half of the capacity. Response times include the wait, as your users \
         would notice it. While the backlog grows, they grow with the length of the run phase and say nothing about the engine.";

    fn is_like(&self, other: &Self) -> bool {
        self.is_lasting == other.is_lasting
    }

    fn title(alike: &[&Self]) -> String {
        match alike[0].is_lasting {
            false => {
                format!("{} left at the end and never served", counted(alike, |one| one.unserved_arrivals, "arrival"),)
            }
            true => format!(
                "overloaded: {} never served; {} offered, {} done",
                counted(alike, |one| one.unserved_arrivals, "arrival"),
                range(alike, |one| one.offered_per_s, rate),
                range(alike, |one| one.done_per_s, rate)
            ),
        }
    }

    fn evidence(&self) -> String {
        format!(
            "offered {}, done {}; {} of {} late, {} unserved; response times include the wait",
            rate(self.offered_per_s),
            rate(self.done_per_s),
            whole(self.late_arrivals as f64),
            plural(self.arrivals, "arrival"),
            whole(self.unserved_arrivals as f64)
        )
    }
}

impl FindingWords for MissedRate {
    const SUMMARY: &'static str = "background clients missed their rate";
    const EXPLANATION: &'static str = "Background clients work at a fixed rate while the other clients are measured (inserts \
         during queries). They did less than 95 % of that rate, and the shortfall is larger than what they can have in flight. \
         The point was then measured with a lighter background load than you asked for; do not compare it with points that kept \
         the rate. The engine cannot sustain the rate while the measured clients work as fast as they can. The response times \
         of the background clients count from the moment at which each operation was due, and grow with the length of the point \
         if the rate is missed.";

    fn is_like(&self, other: &Self) -> bool {
        self.load.kinds == other.load.kinds
    }

    fn title(alike: &[&Self]) -> String {
        format!(
            "background {} missed its rate: {} of {} ({})",
            alike[0].load.kinds.join(" and "),
            range(alike, |one| one.load.ops_per_s, rate),
            range(alike, |one| one.load.asked_per_s.unwrap_or(0.0), rate),
            range(alike, |one| (one.load.kept.unwrap_or(0.0) * 1e3).floor() / 1e3, percent)
        )
    }

    fn evidence(&self) -> String {
        let load = &self.load;
        let p99 =
            load.response_ns.map_or(String::new(), |q| format!("; p99 of the response time {}", time(q.p99 as f64)));
        format!(
            "{} done by {}, {} late, {} never started, {} failed{p99}",
            whole(load.ops as f64),
            plural(u64::from(load.clients), "client"),
            whole(load.late as f64),
            whole(load.unserved as f64),
            whole(load.failed as f64)
        )
    }
}

impl FindingWords for UnequalInstances {
    const SUMMARY: &'static str = "instances got unequal shares of the machine";
    const EXPLANATION: &'static str = "Several instances of one engine ran the same work at once (`instances`), and the slowest did less \
         than 80 % of what the fastest did. The rate of the point is the sum and is not weakened by it, but it is no multiple of what \
         each of your instances would do. Usual reasons: an instance has its clients on busier CPUs, its files on a slower part of the \
         disk, or was still flushing what its load had left. The fairness is Jain's index: 1 if all did the same, 1/n if one of n did \
         everything.";

    fn title(alike: &[&Self]) -> String {
        let share = range(alike, |one| one.shares.least_to_most.unwrap_or(0.0), percent);
        format!(
            "the slowest of {} did {share} of what the fastest did",
            counted(alike, |one| one.shares.n as u64, "instance")
        )
    }

    fn evidence(&self) -> String {
        let rates: Vec<String> =
            self.shares.ops_per_s.iter().take(INSTANCES_MAX).map(|per_s| rate(*per_s).to_string()).collect();
        let more = if self.shares.ops_per_s.len() > INSTANCES_MAX { ", ..." } else { "" };
        let fairness =
            self.shares.fairness.map_or(String::new(), |index| format!("; fairness {}", fairness_text(index)));
        format!("{}{more}{fairness}", rates.join(", "))
    }
}

impl FindingWords for HiddenWaits {
    const SUMMARY: &'static str = "a closed loop stalled, and its percentiles hide the waiting";
    const EXPLANATION: &'static str = "In a closed loop a client that waits for the engine sends nothing meanwhile, so a stall \
         of seconds is one slow operation per client among many fast ones, and the usual percentiles do not show it \
         (coordinated omission). Users who arrive independently of each other would all have waited. An open loop (`--rate`) \
         counts the response time from the moment at which each operation was due, and shows it. A server frozen for 3 s of 12 \
         s had a p99 of 7.6 ms in a closed loop and of 2880 ms at a fixed rate.";

    fn title(alike: &[&Self]) -> String {
        let p99 = range(alike, |one| one.p99_ns.0 as f64, time);
        format!("the p99 ({p99}) does not show the stalls: it was measured in a closed loop")
    }

    fn evidence(&self) -> String {
        format!("p99 {}, longest {}", self.p99_ns, self.longest_ns)
    }
}

impl FindingWords for LateStarts {
    const SUMMARY: &'static str = "requests of a recording began later than they were recorded";
    const EXPLANATION: &'static str = "A replay performs each request at its time in the recording, divided by the speed. A request \
         begins late if it begins more than 1 ms after its time, or more than 1 % of the mean distance between two requests if \
         that is longer. If more than 1 % of the requests began late, the disk got another load than the recorded one: fewer \
         requests at once, and later. Response times count from the recorded times and hold the delay, so they say rightly that \
         the disk, with so many requests in flight, does not keep up; they do not say what the recorded load would have taken. \
         Short replays are judged, too: each request is counted.";

    fn title(alike: &[&Self]) -> String {
        let share = range(alike, |one| one.late_share.0, percent);
        format!("{share} of the recorded requests began late")
    }

    fn evidence(&self) -> String {
        format!(
            "{} of {} began more than {} after their times, the latest {}",
            whole(self.late_requests as f64),
            counted(&[self], |one| one.requests, "request"),
            time(self.on_time_within_ns.0 as f64),
            time(self.latest_ns.0 as f64)
        )
    }
}

impl FindingWords for ExceededPace {
    const SUMMARY: &'static str = "more new orders than the terminals of a warehouse can enter";
    const EXPLANATION: &'static str = "With `pauses` each client of `orders` is a terminal whose user types and thinks. Ten terminals of \
         a warehouse enter at most 12.86 new orders a minute with the published times, if the system answers at once; with a \
         factor below 1 it is as many times more. A higher rate means that there are more than ten clients for each warehouse, so \
         the load is not the one that the pauses stand for, and the number must not be compared with others of its kind.";

    fn title(alike: &[&Self]) -> String {
        let found = range(alike, |one| one.per_minute_and_warehouse, number);
        let most = range(alike, |one| one.most_per_minute_and_warehouse, number);
        format!("{found} new orders a minute and warehouse; ten terminals enter {most} at most")
    }

    fn evidence(&self) -> String {
        let [found, most] = [self.per_minute_and_warehouse, self.most_per_minute_and_warehouse].map(number);
        format!("{found} of at most {most} a minute and warehouse")
    }
}
