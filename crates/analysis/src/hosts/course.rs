//! What is drawn of a host over time: the rate of its clients, its CPUs, its network interfaces and its disk.
//!
//! In: the series of one host. Out: a [`HostCourse`] of (seconds since the run phase began, value). Limits: a stretch in which a counter was
//! not read has no value.

use super::views::{HostPart, HostPoint};
use crate::computed_phase::Measured;
use crate::course::series::mean_rate;
use crate::{CounterSeries, Span};
use model::CounterRole;

/// The numbers of a host over time, each at the middle of its stretch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostCourse {
    /// Operations done per second; empty if it has no part of the load.
    pub ops_per_s: Vec<(f64, f64)>,
    /// The share of its CPU time that was used, from 0 to 1.
    pub cpu_busy: Vec<(f64, f64)>,
    /// Bytes per second that its disk read and wrote.
    pub disk_bytes_per_s: Vec<(f64, f64)>,
    /// Its network interfaces, in the order of [`HostSummary::networks`](super::HostSummary::networks).
    pub interfaces: Vec<InterfaceCourse>,
}

/// One network interface over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InterfaceCourse {
    pub interface: String,
    /// Bytes per second that went out.
    pub sent_bytes_per_s: Vec<(f64, f64)>,
    /// Bytes per second that came in.
    pub received_bytes_per_s: Vec<(f64, f64)>,
}

impl HostCourse {
    pub(super) fn measure(part: &HostPoint, measured: &Measured) -> HostCourse {
        let series = measured.series;
        let rates = series.intervals.iter().filter(|_| part.part == HostPart::Load);
        HostCourse {
            ops_per_s: rates.map(|one| (one.at_s + one.length_s / 2.0, one.ops_per_s)).collect(),
            cpu_busy: cpu_busy(&series.counters),
            disk_bytes_per_s: disk_bytes(&series.counters),
            interfaces: interfaces(&series.counters),
        }
    }
}

/// The counters of `role` that were read.
fn of_role(counters: &[CounterSeries], role: CounterRole) -> impl Iterator<Item = &CounterSeries> {
    counters.iter().filter(move |one| one.role == Some(role) && !one.values.is_empty())
}

fn cpu_busy(counters: &[CounterSeries]) -> Vec<(f64, f64)> {
    use CounterRole::{
        MachineCpuIdle, MachineCpuIowait, MachineCpuSoftirq, MachineCpuSteal, MachineCpuSystem, MachineCpuUser,
    };
    let rate = |role, span: &Span| of_role(counters, role).next().and_then(|one| mean_rate(&one.values, span));
    let Some(idle) = of_role(counters, MachineCpuIdle).next() else { return Vec::new() };
    let stretches = idle.values.iter().filter_map(|(span, idle)| {
        let softirq = rate(MachineCpuSoftirq, span).unwrap_or(0.0);
        let busy = rate(MachineCpuUser, span)? + rate(MachineCpuSystem, span)? + softirq;
        let other = [MachineCpuSteal, MachineCpuIowait].map(|role| rate(role, span).unwrap_or(0.0));
        let total = busy + idle + other[0] + other[1];
        (total > 0.0).then(|| (span.middle_s(), busy / total))
    });
    stretches.collect()
}

/// Of a partition and its disk, both observed, the one that moved more is taken.
fn disk_bytes(counters: &[CounterSeries]) -> Vec<(f64, f64)> {
    let total = |one: &&CounterSeries| one.values.iter().map(|(span, rate)| span.length_s() * rate).sum::<f64>();
    let most = |role| of_role(counters, role).max_by(|a, b| total(a).total_cmp(&total(b)));
    let (read, write) = (most(CounterRole::DeviceReadBytes), most(CounterRole::DeviceWriteBytes));
    let Some(write) = write else { return middles(read) };
    let stretches = write.values.iter().map(|(span, rate)| {
        let read = read.and_then(|read| mean_rate(&read.values, span)).unwrap_or(0.0);
        (span.middle_s(), rate + read)
    });
    stretches.collect()
}

fn interfaces(counters: &[CounterSeries]) -> Vec<InterfaceCourse> {
    let sent = counters.iter().filter(|one| one.role == Some(CounterRole::NetworkSentBytes));
    let course = |sent: &CounterSeries| InterfaceCourse {
        interface: sent.subject.clone(),
        sent_bytes_per_s: middles(Some(sent)),
        received_bytes_per_s: middles(
            of_role(counters, CounterRole::NetworkReceivedBytes).find(|one| one.subject == sent.subject),
        ),
    };
    sent.map(course).collect()
}

fn middles(counter: Option<&CounterSeries>) -> Vec<(f64, f64)> {
    let values = counter.map(|one| one.values.as_slice()).unwrap_or_default();
    values.iter().map(|(span, rate)| (span.middle_s(), *rate)).collect()
}
