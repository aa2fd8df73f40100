//! The hosts of a point next to each other: what each did, how busy it was, and how far its clock can be trusted.
//!
//! In: a point of several hosts with what was computed of each. Out: a [`HostSummary`] for each, which detectors judge and reports show.
//! Limits: what a host did not count is `None`. The kernel counts bytes per network interface: traffic between the nodes of a database is
//! apart from that of clients only if it has an interface of its own, or as the write sets that a node of a cluster counts itself.

mod course;
mod reach;
mod repeats;
pub(crate) mod views;

pub use course::{HostCourse, InterfaceCourse};
pub(crate) use repeats::merge_repeats;

use crate::computed_phase::Measured;
use crate::numbers::network::InterfaceUse;
use crate::recorded::counters::{growth_of_all, growth_of_most, has_role};
use crate::{Quantiles, Validity};
use model::{CounterRole, EventKind, HostClock, HostData, HostRole, LoadShare, PointData, Times};
use serde::Serialize;
pub use views::HostPart;
use views::HostPoint;

/// The numbers of one host over the part of the run phase that counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostSummary {
    pub host: String,
    /// Which agent of that name.
    pub incarnation: String,
    /// What it is there for.
    pub role: HostRole,
    /// Its part of the load as it was planned; `None` if it has none, or it is not known.
    pub planned: Option<LoadShare>,
    /// What its clients did; `None` if it has no part of the load.
    pub load: Option<HostLoad>,
    /// How its CPUs were used; `None` if they were not counted.
    pub cpu: Option<HostCpu>,
    /// Its network interfaces, as far as they were observed.
    pub networks: Vec<InterfaceUse>,
    /// TCP segments of the host that were sent again, as a share of those sent, from 0 to 1.
    pub retransmitted_share: Option<f64>,
    /// Bytes per second that its node of a cluster sent to the other nodes as write sets; `None` if it is none, here and below.
    pub replicated_bytes_per_s: Option<f64>,
    /// Bytes per second of write sets that it received.
    pub replicated_bytes_received_per_s: Option<f64>,
    /// Its disk; `None` if none was observed.
    pub disk: Option<HostDisk>,
    /// How its clock differs from that of the bus; `None` if it was not measured.
    pub clock: Option<HostClock>,
    /// How much later than planned it began the run phase, by its own clock; `None` if it is not known.
    pub start_skew_ns: Option<i64>,
    /// When it was lost, in seconds since the run phase began; `None` if it was there to the end.
    pub lost_at_s: Option<f64>,
    /// How far its own numbers can be trusted. The point is no better.
    pub validity: Validity,
    /// What is drawn over time.
    #[serde(skip)]
    pub course: HostCourse,
    /// The response times of its clients, with which those of repeats are added up.
    #[serde(skip)]
    pub response: Times,
}

/// What the clients of one host did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HostLoad {
    /// Operations done by the end of the run phase.
    pub ops: u64,
    /// Operations done per second.
    pub ops_per_s: f64,
    /// Its share of the operations of all hosts, from 0 to 1; `None` if there are none.
    pub share: Option<f64>,
    /// Operations failed, the grace time included.
    pub failed: u64,
    /// Response times, those of the grace time included; `None` if no operation was done.
    pub response_ns: Option<Quantiles>,
    /// Cores that the client threads used; `None` if it was not counted.
    pub cores_used: Option<f64>,
    /// How late clients woke up for arrivals on average; `None` in a closed loop.
    pub lag_mean_ns: Option<f64>,
    /// The longest of it.
    pub lag_max_ns: Option<u64>,
}

/// Shares of all CPU time of one host, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HostCpu {
    /// In which some CPU ran anything.
    pub busy: f64,
    /// Used by plimsoll; `None` if it was not counted, here and below.
    pub plimsoll: Option<f64>,
    /// Used by the engine.
    pub engine: Option<f64>,
    /// Taken by the hypervisor.
    pub stolen: Option<f64>,
    /// Idle while a task waited for I/O.
    pub waited_for_io: Option<f64>,
    /// How many CPUs the host has.
    pub cpus: f64,
}

/// The disk of one host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HostDisk {
    /// Bytes read per second.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<f64>,
    /// The share of the time in which it was busy, from 0 to 1.
    pub busy_share: Option<f64>,
}

/// A host below this part of its planned share is uneven.
pub const SHARE_KEPT_MIN: f64 = 0.90;

impl HostSummary {
    /// The one of its interfaces that used most of its link, or the first if no link is known.
    pub fn busiest_link(&self) -> Option<&InterfaceUse> {
        InterfaceUse::busiest(&self.networks)
    }

    /// The share of all operations that it was to do and the one that it did, if it did less than it should.
    pub fn missed_share(&self) -> Option<(f64, f64)> {
        let (planned, done) = (self.planned?.part, self.load?.share?);
        (done < SHARE_KEPT_MIN * planned).then_some((planned, done))
    }
}

/// The hosts of `point`. `parts` are their parts, each with its run phase if it was reached.
pub(crate) fn summarise_hosts(point: &PointData, parts: &[(&HostPoint, Option<Measured>)]) -> Vec<HostSummary> {
    let total: u64 = parts.iter().filter_map(|(part, measured)| done_by_clients(part, measured.as_ref())).sum();
    let hosts = point.hosts.iter().enumerate();
    hosts
        .map(|(place, host)| {
            let mut own = parts.iter().filter(|(part, _)| part.place == place).peekable();
            let first = own.peek().copied();
            let load = own.find(|(part, _)| part.part == HostPart::Load).and_then(|(_, measured)| measured.as_ref());
            let machine = first.and_then(|(part, measured)| Some((*part, measured.as_ref()?)));
            let response = load.map(|measured| measured.series.response.clone()).unwrap_or_default();
            let summary = summarise_host(host, machine, load.map(|measured| load_of(measured, total)));
            HostSummary { response, ..summary }
        })
        .collect()
}

/// Operations that the clients of `part` did by the end of the run phase; `None` if it has none.
fn done_by_clients(part: &HostPoint, measured: Option<&Measured>) -> Option<u64> {
    measured.filter(|_| part.part == HostPart::Load).map(|measured| measured.summary.ops)
}

fn summarise_host(host: &HostData, machine: Option<(&HostPoint, &Measured)>, load: Option<HostLoad>) -> HostSummary {
    let counted = machine.map(|(part, measured)| HostCounters { point: &part.point, measured });
    let per_second = |role| counted.as_ref().and_then(|counted| counted.per_second(role));
    let lost = host.events.iter().find(|event| event.kind == EventKind::HostLost);
    HostSummary {
        host: host.host.name.clone(),
        incarnation: host.host.incarnation.clone(),
        role: host.host.role,
        planned: host.host.share.filter(|_| host.host.role.loads()),
        load,
        cpu: counted.as_ref().and_then(HostCounters::cpu),
        networks: machine.map_or_else(Vec::new, |(part, measured)| {
            InterfaceUse::of_point(&part.point, measured.window, part.machine.stated_links())
        }),
        retransmitted_share: counted.as_ref().and_then(HostCounters::retransmitted_share),
        replicated_bytes_per_s: per_second(CounterRole::ReplicatedBytes),
        replicated_bytes_received_per_s: per_second(CounterRole::ReplicatedBytesReceived),
        disk: counted.as_ref().and_then(HostCounters::disk),
        clock: host.host.clock,
        start_skew_ns: host.host.start_skew_ns,
        lost_at_s: lost.zip(machine).map(|(event, (_, measured))| measured.window.seconds_at(event.at)),
        validity: Validity::Valid,
        course: machine.map(|(part, measured)| HostCourse::measure(part, measured)).unwrap_or_default(),
        response: Times::default(),
    }
}

fn load_of(measured: &Measured, total: u64) -> HostLoad {
    let summary = measured.summary;
    HostLoad {
        ops: summary.ops,
        ops_per_s: summary.ops_per_s,
        share: (total > 0).then(|| summary.ops as f64 / total as f64),
        failed: summary.failed,
        response_ns: summary.response_ns,
        cores_used: summary.client.cores_used,
        lag_mean_ns: summary.client.lag_mean_ns,
        lag_max_ns: summary.client.lag_max_ns,
    }
}

/// The counters of a host over the part of the run phase that counts.
struct HostCounters<'a> {
    point: &'a PointData,
    measured: &'a Measured<'a>,
}

impl HostCounters<'_> {
    fn grown(&self, role: CounterRole) -> Option<f64> {
        let phase = self.measured.window.phase;
        growth_of_all(self.point, role, phase.start, phase.end).map(|growth| growth.amount)
    }

    fn per_second(&self, role: CounterRole) -> Option<f64> {
        let phase = self.measured.window.phase;
        growth_of_all(self.point, role, phase.start, phase.end).map(|growth| growth.per_second())
    }

    fn cpu(&self) -> Option<HostCpu> {
        use CounterRole::{EngineCpuSystem, EngineCpuUser, PlimsollCpu};
        use CounterRole::{
            MachineCpuIdle, MachineCpuIowait, MachineCpuSoftirq, MachineCpuSteal, MachineCpuSystem, MachineCpuUser,
        };
        let phase = self.measured.window.phase;
        let idle = growth_of_all(self.point, MachineCpuIdle, phase.start, phase.end)?;
        let softirq = self.grown(MachineCpuSoftirq).unwrap_or(0.0);
        let busy = self.grown(MachineCpuUser)? + self.grown(MachineCpuSystem)? + softirq;
        let [stolen, waited] = [MachineCpuSteal, MachineCpuIowait].map(|role| self.grown(role));
        let total = busy + idle.amount + stolen.unwrap_or(0.0) + waited.unwrap_or(0.0);
        let share = |part: f64| part / total;
        let engine = self.grown(EngineCpuUser).zip(self.grown(EngineCpuSystem)).map(|(user, system)| user + system);
        (total > 0.0).then(|| HostCpu {
            busy: share(busy),
            plimsoll: self.grown(PlimsollCpu).map(share),
            engine: engine.map(share),
            stolen: stolen.map(share),
            waited_for_io: waited.map(share),
            cpus: total / idle.to.since(idle.from).0 as f64,
        })
    }

    fn retransmitted_share(&self) -> Option<f64> {
        let again = self.grown(CounterRole::TcpRetransmits)?;
        let all = again + self.grown(CounterRole::TcpSegmentsSent)?;
        (all > 0.0).then(|| again / all)
    }

    fn disk(&self) -> Option<HostDisk> {
        use CounterRole::{DeviceBusy, DeviceReadBytes, DeviceWriteBytes};
        let phase = self.measured.window.phase;
        let most = |role| Some(growth_of_most(self.point, role, phase.start, phase.end)?.per_second());
        [DeviceBusy, DeviceReadBytes, DeviceWriteBytes].iter().any(|role| has_role(self.point, *role)).then(|| {
            HostDisk {
                read_bytes_per_s: most(DeviceReadBytes),
                write_bytes_per_s: most(DeviceWriteBytes),
                busy_share: most(DeviceBusy).map(|busy_ns| busy_ns / 1e9),
            }
        })
    }
}

#[cfg(test)]
mod tests;
