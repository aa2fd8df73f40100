//! Why: what an operation cost in both arms, ranked by how much it changed and how sure that is.
//!
//! In: a place. Out: a [`CostChange`] for each cost that both arms have: CPU, bytes, context switches, operations of the device, and
//! every counter that the engine keeps of itself. Limits: a cost that changed need not be the reason. What happens once a second costs more
//! per operation if there are fewer of them. Counters of the whole machine are left out, apart from waits.
//! A run without a CPU quota has no counter of it, and an old run has none either: no quota held them back.
//!
//! Some costs are 0 in one arm, and one of hardly anything can change a lot. So a small amount that depends on the unit is added to both
//! sides before they are compared; the ratio that is reported is without it.

use super::arm::{ArmPoint, CommonPlace};
use super::metrics::middle;
use crate::figures::{POINT_FIGURES, figure};
use crate::math::ratio::{PAIRS_MIN, Preference, RatioEstimate, RepeatPair};
use crate::numbers::rates::PerOp;
use crate::recorded::counters::{Growth, done_between, growth_of_all, growth_of_counter, growth_of_first};
use crate::{PointAnalysis, Span};
use model::{CounterKind, CounterRole, CounterUnit, Nanos, Phase, PointData, SourceDef, ThreadOf, Tick};
use std::collections::BTreeMap;

/// What an operation cost.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CostMetric {
    /// CPU of the engine.
    EngineCpu,
    /// CPU of the client threads.
    ClientCpu,
    /// Bytes read from the block layer.
    ReadBytes,
    /// Bytes written, by the account that can be believed.
    WrittenBytes,
    /// Context switches of the engine.
    ContextSwitches,
    /// Bytes over the network to the server and back.
    NetworkBytes,
    /// A counter of the machine, of which only this role is known.
    Machine(CounterRole),
    /// A counter of the engine.
    Engine {
        source: String,
        /// The counter's name in it.
        counter: String,
        unit: CounterUnit,
    },
}

/// One cost in both arms.
#[derive(Clone, Debug, PartialEq)]
pub struct CostChange {
    pub metric: CostMetric,
    /// What an operation of the base cost, the mean of its repeats.
    pub base: f64,
    /// The same of the other.
    pub new: f64,
    /// Their ratio; `None` if a repeat had none of it.
    pub ratio: Option<RatioEstimate>,
    /// Whether it changed for sure, false discoveries held to 5 % over all costs. With fewer pairs than a verdict needs always false.
    pub is_shown: bool,
    /// The ratio with a small amount added to both sides.
    damped: RatioEstimate,
}

/// A smaller change, as a logarithm, explains no difference.
const CHANGE_MIN: f64 = 0.02;

/// The counters of devices and machine that are costs of an operation.
const MACHINE_COSTS: [CounterRole; 8] = [
    CounterRole::DeviceReadOps,
    CounterRole::DeviceWriteOps,
    CounterRole::DeviceFlushOps,
    CounterRole::DeviceBusy,
    CounterRole::MachineCpuIowait,
    CounterRole::MachineCpuSteal,
    CounterRole::MemoryStall,
    CounterRole::SwapIn,
];

/// Which part of the system a source watches.
fn is_of_engine(source: &SourceDef) -> bool {
    !source.counters.iter().filter_map(|counter| counter.role).any(is_of_kernel)
}

/// Whether the kernel keeps counters of this role.
fn is_of_kernel(role: CounterRole) -> bool {
    use CounterRole as Role;
    match role {
        Role::MachineCpuUser | Role::MachineCpuSystem | Role::MachineCpuSoftirq | Role::MachineCpuIowait => true,
        Role::MachineCpuSteal | Role::MachineCpuIdle | Role::PlimsollCpu | Role::KernelThreadsCpu => true,
        Role::EngineCpuUser | Role::EngineCpuSystem | Role::EngineContextSwitches => true,
        Role::ProcessReadBytes | Role::ProcessWriteBytes | Role::MachineDirtiedBytes | Role::MachineWriteBytes => true,
        Role::DeviceReadOps | Role::DeviceWriteOps | Role::DeviceFlushOps => true,
        Role::DeviceReadBytes | Role::DeviceWriteBytes | Role::DeviceBusy | Role::DeviceQueue => true,
        Role::LimitedReadOps | Role::LimitedWriteOps | Role::LimitedReadBytes | Role::LimitedWriteBytes => true,
        Role::SwapIn | Role::SwapOut | Role::MemoryStall | Role::CpuPressure | Role::IoStall | Role::MachineEnergy => {
            true
        }
        Role::EngineQuotaThrottled | Role::EngineQuotaPeriods | Role::EngineQuota | Role::IoDelay => true,
        Role::Quota | Role::QuotaThrottled | Role::QuotaPeriods | Role::ThermalThrottles | Role::CpuFrequency => true,
        Role::ListenOverflows | Role::ListenDrops | Role::SynQueueDrops | Role::TcpTimeouts | Role::SynRetransmits => {
            true
        }
        Role::TcpRetransmits | Role::TcpSegmentsSent | Role::NetworkDrops | Role::LinkSpeed => true,
        Role::NetworkReceivedBytes | Role::NetworkSentBytes => true,
        Role::NetworkReceivedPackets | Role::NetworkSentPackets => true,
        Role::ThreadTime(threads, _) | Role::ThreadLooks(threads) => threads != ThreadOf::Session,
        Role::ThreadWatchCpu | Role::EngineStopped | Role::Refaults | Role::MemoryAvailable => true,
        Role::RowLockTime | Role::WriterTurnTime | Role::EngineWait(_) | Role::WritersHeldFor(_) => false,
        Role::EngineRead | Role::LogWritten | Role::LogMade | Role::PagesWritten | Role::DoublewriteWritten => false,
        Role::DataFilesWritten | Role::CompactionWritten | Role::DirtyPages | Role::Memtable => false,
        Role::PendingCompaction | Role::LogAge | Role::LogAgeMax | Role::LogHoldingData | Role::HistoryLength => false,
        Role::CacheHits | Role::CacheMisses | Role::FullMemtables | Role::UnsortedTables | Role::WritersHeld => false,
        Role::FreePageWaits | Role::LogBufferWaits | Role::Checkpoints | Role::RowLockWaits => false,
        Role::EndpointDown | Role::Retries | Role::EndpointReconnects | Role::RefusedConnections => false,
        Role::EngineStatements | Role::EngineTransactions | Role::StatementCalls | Role::StatementTime => false,
        Role::Connections | Role::ConnectionsMax | Role::BusyConnections => false,
        Role::ReplicatedBytes | Role::ReplicatedBytesReceived | Role::ReplicationLatency => false,
        Role::FlowControlPaused | Role::FlowControlSent | Role::ApplyParallelism => false,
        Role::ReplicaLag | Role::ReplicaDelay => false,
        Role::CertificationFailures | Role::ReplicationAborts | Role::ReceiveQueue | Role::SendQueue => false,
    }
}

impl CostMetric {
    pub fn unit(&self) -> CounterUnit {
        use CounterRole::{DeviceBusy, MachineCpuIowait, MachineCpuSteal, MemoryStall, QuotaThrottled};
        match self {
            CostMetric::EngineCpu | CostMetric::ClientCpu => CounterUnit::Nanoseconds,
            CostMetric::ReadBytes | CostMetric::WrittenBytes | CostMetric::NetworkBytes => CounterUnit::Bytes,
            CostMetric::ContextSwitches => CounterUnit::Events,
            CostMetric::Machine(DeviceBusy | MachineCpuIowait | MachineCpuSteal | MemoryStall | QuotaThrottled) => {
                CounterUnit::Nanoseconds
            }
            CostMetric::Machine(_) => CounterUnit::Events,
            CostMetric::Engine { unit, .. } => *unit,
        }
    }

    /// Whether nothing but the engine and its clients is counted.
    fn is_own(&self) -> bool {
        match self {
            CostMetric::Machine(role) => *role == CounterRole::QuotaThrottled,
            // Others use the interface, too.
            CostMetric::NetworkBytes => false,
            _ => true,
        }
    }

    /// What hardly matters to an operation: a microsecond, a hundred bytes, one event in a hundred operations.
    fn hardly_any(&self) -> f64 {
        match self.unit() {
            CounterUnit::Nanoseconds => 1_000.0,
            CounterUnit::Bytes => 100.0,
            CounterUnit::Events => 0.01,
        }
    }
}

impl CostChange {
    /// How often equal arms would differ at least so much; 1 if too few pairs allow no conclusion.
    pub fn p_value(&self) -> f64 {
        self.damped.p_value.filter(|_| self.damped.n >= PAIRS_MIN).unwrap_or(1.0)
    }

    /// How many pairs of repeats it is computed from.
    pub fn pairs(&self) -> usize {
        self.damped.n
    }

    /// Takes it for a discovery, or not. A change that explains nothing is none, however sure it is.
    pub fn keep_if(&mut self, is_discovery: bool) {
        self.is_shown = is_discovery && self.damped.n >= PAIRS_MIN && self.likely_change() >= CHANGE_MIN;
    }

    /// By which factor it changed at least, as a logarithm: the end of its interval that is nearer to no change; 0 if that is inside.
    fn least_change(&self) -> f64 {
        match self.damped.ci95.map(|[low, high]| (low.ln(), high.ln())) {
            Some((low, _)) if low > 0.0 => low,
            Some((_, high)) if high < 0.0 => -high,
            _ => 0.0,
        }
    }

    /// By which factor it changed, as a logarithm.
    fn likely_change(&self) -> f64 {
        self.damped.ratio.ln().abs()
    }
}

/// What changed most, for sure, comes first; what the engine itself used comes before what is counted of a device or the machine, which
/// others use, too.
pub fn rank(costs: &mut [CostChange]) {
    let key = |cost: &CostChange| (cost.is_shown, cost.metric.is_own(), cost.least_change(), cost.likely_change());
    costs.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        (b.0, b.1).cmp(&(a.0, a.1)).then(b.2.total_cmp(&a.2)).then(b.3.total_cmp(&a.3))
    });
}

/// All costs that both arms have at `place`.
pub fn compare_costs(place: &CommonPlace) -> Vec<CostChange> {
    let known = |points: &[&ArmPoint]| -> BTreeMap<u32, BTreeMap<CostMetric, f64>> {
        let usable = points.iter().filter(|point| point.is_usable());
        usable.map(|point| (point.at(), costs_of(point))).collect()
    };
    let costs: BTreeMap<u32, BTreeMap<CostMetric, f64>> =
        known(&place.base).into_iter().chain(known(&place.new)).collect();
    let mut metrics: Vec<&CostMetric> = costs.values().flat_map(BTreeMap::keys).collect();
    metrics.sort();
    metrics.dedup();
    let value = |metric: &CostMetric, point: &ArmPoint| costs.get(&point.at())?.get(metric).copied();
    metrics.into_iter().filter_map(|metric| compare_cost(place, metric, |point| value(metric, point))).collect()
}

fn compare_cost(
    place: &CommonPlace,
    metric: &CostMetric,
    value: impl Fn(&ArmPoint) -> Option<f64>,
) -> Option<CostChange> {
    CostChange::from_pairs(metric.clone(), &place.pairing(&value).pairs)
}

impl CostChange {
    /// The change of `metric` over these pairs of repeats. It is no discovery yet. `None` if an operation has hardly any of it in all
    /// pairs.
    pub fn from_pairs(metric: CostMetric, pairs: &[RepeatPair]) -> Option<CostChange> {
        let little = metric.hardly_any();
        if pairs.iter().all(|pair| pair.base.max(pair.new) < little) {
            return None;
        }
        let more = pairs.iter().map(|pair| RepeatPair { base: pair.base + little, new: pair.new + little });
        let is_positive = pairs.iter().all(|pair| pair.base > 0.0 && pair.new > 0.0);
        let mean = |side: fn(&RepeatPair) -> f64| {
            if is_positive { middle(pairs, side) } else { pairs.iter().map(side).sum::<f64>() / pairs.len() as f64 }
        };
        Some(CostChange {
            metric,
            base: mean(|pair| pair.base),
            new: mean(|pair| pair.new),
            ratio: is_positive.then(|| RatioEstimate::from_pairs(pairs, Preference::Less)).flatten(),
            is_shown: false,
            damped: RatioEstimate::from_pairs(&more.collect::<Vec<_>>(), Preference::Less)?,
        })
    }
}

/// What an operation of `point` cost.
fn costs_of(point: &ArmPoint) -> BTreeMap<CostMetric, f64> {
    let Some(span) = counted(point) else { return BTreeMap::new() };
    let mut all = of_processes(point.analysis);
    all.extend(MACHINE_COSTS.iter().filter_map(|role| {
        let grown = growth_of_first(point.data, *role, span.0, span.1)?;
        Some((CostMetric::Machine(*role), per_op(point.data, grown)?))
    }));
    all.insert(CostMetric::Machine(CounterRole::QuotaThrottled), held_by_quota(point.data, span));
    all.extend(of_engine(point.data, span));
    all
}

/// How long the CPU quota of plimsoll held its threads back, summed over CPUs. There is a counter only if there is a quota.
fn held_by_quota(point: &PointData, (start, end): (Tick, Tick)) -> f64 {
    let grown = growth_of_all(point, CounterRole::QuotaThrottled, start, end);
    grown.and_then(|grown| per_op(point, grown)).unwrap_or(0.0)
}

/// The part of the run phase that counts.
fn counted(point: &ArmPoint) -> Option<(Tick, Tick)> {
    let Span { from_s, to_s } = point.analysis.series.as_ref()?.counted;
    let start = point.data.phase(Phase::Run)?.start;
    let at = |seconds: f64| start + Nanos((seconds.max(0.0) * 1e9).round() as u64);
    Some((at(from_s), at(to_s)))
}

fn of_processes(point: &PointAnalysis) -> BTreeMap<CostMetric, f64> {
    let all = [
        (CostMetric::EngineCpu, "engine_cpu_ns_per_op"),
        (CostMetric::ClientCpu, "client_cpu_ns_per_op"),
        (CostMetric::ReadBytes, "read_bytes_per_op"),
        (CostMetric::WrittenBytes, "written_bytes_per_op"),
        (CostMetric::ContextSwitches, "context_switches_per_op"),
        (CostMetric::NetworkBytes, "network_bytes_per_op"),
    ];
    all.into_iter().filter_map(|(metric, key)| Some((metric, figure(&POINT_FIGURES, key).value(point)?))).collect()
}

/// Every counter that the engine keeps of itself.
fn of_engine(point: &PointData, (start, end): (Tick, Tick)) -> Vec<(CostMetric, f64)> {
    let mut all = Vec::new();
    for (nth, source) in (0u16..).zip(&point.sources).filter(|(_, source)| is_of_engine(source)) {
        let counters = source.counters.iter().enumerate();
        for (place, def) in counters.filter(|(_, def)| def.kind == CounterKind::Counter) {
            let grown = growth_of_counter(point, nth, place, start, end);
            let Some(cost) = grown.and_then(|grown| per_op(point, grown)) else { continue };
            let (source, counter, unit) = (source.name.clone(), def.name.clone(), def.counted());
            all.push((CostMetric::Engine { source, counter, unit }, cost));
        }
    }
    all
}

fn per_op(point: &PointData, grown: Growth) -> Option<f64> {
    let per_op = PerOp::from_point(point);
    let ops = done_between(point, grown.from, grown.to, |kind| per_op.ops(kind));
    (ops > 0.0).then(|| grown.amount / ops)
}
