//! A point of several hosts as the rest of the analysis reads it, and each of its hosts as a point of its own.
//!
//! In: a recorded point with its hosts. Out: the same point, whose machine is that on which the database runs; and for each host a point
//! with what that host did and counted, which is judged by the same rules as a point of one machine.
//! Limits: if several hosts run the database, the point has no counters of one machine, such as how busy a disk is: each host has its
//! own. If no host runs it, nothing is known of its machine. Arrivals that were offered and not started are known of all hosts together.

use super::reach::Reach;
use model::{
    Arrivals, CounterRole, CounterSample, EngineProcess, Event, EventKind, HostData, HostId, HostRole, Machine, Pacing,
    PhaseData, PointData, Readings, SourceDef, Trial, UnseenServer,
};
use std::borrow::Cow;

/// What is looked at of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostPart {
    Load,
    /// The node of the database that runs on it, which serves the clients of all hosts.
    Database,
}

/// A part of a host, as a point of its own.
#[derive(Clone, Debug)]
pub struct HostPoint {
    /// The place of the host in [`PointData::hosts`].
    pub place: usize,
    /// What is looked at.
    pub part: HostPart,
    pub point: PointData,
    pub machine: Machine,
}

/// `point` with the counters and events that are those of the point as a whole. One without hosts is as it was recorded.
pub fn as_whole(point: &PointData) -> Cow<'_, PointData> {
    if point.hosts.is_empty() {
        return Cow::Borrowed(point);
    }
    let databases = point.hosts.iter().filter(|host| host.host.role.observes()).count();
    let mut merged = MergedSources { databases, ..MergedSources::default() };
    if !has_recorder(point) {
        merged.add(None, &point.sources, &point.counters);
    }
    for host in &point.hosts {
        merged.add(Some(host.host.role), &host.sources, &host.counters);
    }
    merged.counters.sort_by_key(|sample| sample.at);
    let mut whole = PointData {
        sources: merged.sources,
        counters: merged.counters.into_iter().collect(),
        events: events_of_all(point),
        ..point.clone()
    };
    if has_role(&whole.sources, CounterRole::EngineCpuUser) {
        whole.traits.engine.process = EngineProcess::Own;
        whole.traits.engine.unseen = None;
    }
    Cow::Owned(whole)
}

/// The machine of `point`: that of the one host that runs the database, or what `recorded` states of prices and links.
pub fn machine_of<'a>(point: &PointData, recorded: &'a Machine) -> Cow<'a, Machine> {
    if point.hosts.is_empty() {
        return Cow::Borrowed(recorded);
    }
    let mut databases = point.hosts.iter().filter(|host| host.host.role.observes());
    let known = match (databases.next(), databases.next()) {
        (Some(only), None) => Machine::from_facts(&only.host.facts),
        _ => Machine::default(),
    };
    Cow::Owned(Machine { hourly: recorded.hourly, link: known.link.or(recorded.link), ..known })
}

/// The parts of the hosts of `point`, in the order of the hosts, the load of each before its database.
pub fn host_points(point: &PointData, recorded: &Machine) -> Vec<HostPoint> {
    let parts = point.hosts.iter().enumerate().flat_map(|(place, host)| {
        let role = host.host.role;
        let load = role.loads().then_some(HostPart::Load);
        load.into_iter().chain(role.observes().then_some(HostPart::Database)).map(move |part| (place, host, part))
    });
    let to_point = |(place, host, part): (usize, &HostData, HostPart)| HostPoint {
        place,
        part,
        point: host_point(point, host, part),
        machine: own_machine(host, recorded),
    };
    parts.map(to_point).collect()
}

/// The machine of `host`. A link that is stated for the plan is that of each host, unless its agent states another.
fn own_machine(host: &HostData, recorded: &Machine) -> Machine {
    let own = Machine::from_facts(&host.host.facts);
    Machine { link: own.link.or(recorded.link), ..own }
}

fn host_point(point: &PointData, host: &HostData, part: HostPart) -> PointData {
    let phases = match part {
        HostPart::Load => point.phases.iter().map(|phase| own_phase(phase, host)).collect(),
        // Its clients are those of all hosts, and the generator's own part is theirs.
        HostPart::Database => point.phases.iter().map(without_generator).collect(),
    };
    let mut traits = point.traits.clone();
    let engine = &mut traits.engine;
    (engine.process, engine.unseen) = match (has_role(&host.sources, CounterRole::EngineCpuUser), part) {
        (true, _) => (EngineProcess::Own, None),
        (false, HostPart::Load) => (EngineProcess::Elsewhere, Some(UnseenServer::Remote)),
        // The server runs there, so what others use includes its part.
        (false, HostPart::Database) => (EngineProcess::Elsewhere, Some(UnseenServer::NotFound)),
    };
    if point.traits.engine.process == EngineProcess::None {
        engine.process = EngineProcess::None;
    }
    let own = OwnSources::of_host(point, host, part);
    PointData {
        error: point.error.clone(),
        trial: own_trial(&point.trial, host, part),
        facts: point.facts.clone(),
        traits,
        params: point.params.clone(),
        kinds: point.kinds.clone(),
        phases,
        sources: own.sources,
        counters: own.counters.into_iter().collect(),
        events: host.events.clone(),
        state: point.state,
        ..PointData::unmeasured(point.id, point.trial.clone())
    }
}

/// The sources of a host: what a node of the database reports is that of the host on which the node runs, whichever host has asked it.
#[derive(Default)]
struct OwnSources {
    sources: Vec<SourceDef>,
    counters: Vec<CounterSample>,
}

impl OwnSources {
    fn of_host(point: &PointData, host: &HostData, part: HostPart) -> OwnSources {
        let others = || point.hosts.iter().filter(|other| other.host.id != host.host.id);
        let is_of_other = |source: &SourceDef| others().any(|other| is_of_endpoint(source, other.host.endpoint()));
        let mut own = OwnSources::default();
        own.take(host, |source| !is_of_other(source));
        for other in others().filter(|_| part == HostPart::Database) {
            own.take(other, |source| is_of_endpoint(source, host.host.endpoint()));
        }
        own.counters.sort_by_key(|sample| sample.at);
        own
    }

    /// Takes the sources of `host` that are `wanted`.
    fn take(&mut self, host: &HostData, wanted: impl Fn(&SourceDef) -> bool) {
        let mut numbers: Vec<Option<u16>> = Vec::new();
        for source in &host.sources {
            let is_wanted = wanted(source);
            numbers.push(is_wanted.then_some(self.sources.len() as u16));
            self.sources.extend(is_wanted.then(|| source.clone()));
        }
        let taken = host.counters.samples().into_iter().filter_map(|sample| {
            let source = numbers.get(usize::from(sample.source)).copied().flatten()?;
            Some(CounterSample { source, ..sample })
        });
        self.counters.extend(taken);
    }
}

/// Whether `source` has what the node of the database at `endpoint` reports of itself.
fn is_of_endpoint(source: &SourceDef, endpoint: Option<&str>) -> bool {
    let reports = |role| Reach::of(role) == Reach::Engine;
    endpoint == Some(&*source.subject) && source.counters.iter().filter_map(|counter| counter.role).any(reports)
}

/// `trial` with the load of `host`.
fn own_trial(trial: &Trial, host: &HostData, part: HostPart) -> Trial {
    let mut own = trial.clone();
    if let Some(share) = host.host.share.filter(|_| part == HostPart::Load) {
        own.load.clients = share.clients;
        if let Pacing::Open { arrivals } = &mut own.load.pacing {
            let (Arrivals::Constant { per_s } | Arrivals::Poisson { per_s } | Arrivals::Recorded { per_s }) = arrivals;
            *per_s *= share.part;
        }
    }
    own
}

fn own_phase(phase: &PhaseData, host: &HostData) -> PhaseData {
    let intervals = host.phase(phase.phase).map(|own| own.intervals.clone()).unwrap_or_default();
    PhaseData { intervals, offered: 0, unserved: 0, ..*phase }
}

fn without_generator(phase: &PhaseData) -> PhaseData {
    let mut own = phase.clone();
    own.intervals.iter_mut().for_each(|interval| interval.generator = Default::default());
    own
}

/// Whether the recorder is one of the hosts: it has its sources and events there, too.
fn has_recorder(point: &PointData) -> bool {
    point.hosts.iter().any(|host| host.host.id == HostId::RECORDER)
}

fn has_role(sources: &[SourceDef], role: CounterRole) -> bool {
    sources.iter().flat_map(|source| &source.counters).any(|counter| counter.role == Some(role))
}

/// What concerns the point, whichever host it happened on. When plimsoll did not run on one of them is judged for that host.
fn events_of_all(point: &PointData) -> Vec<Event> {
    let is_of_point = |event: &&Event| {
        use EventKind::{
            ClockGap, ClockStep, HostLost, HostSilent, OwnGapEnd, OwnStop, OwnWait, SourceGap, Suspend, WallClock,
        };
        let is_of_host = matches!(event.kind, ClockGap | ClockStep | HostLost | HostSilent | SourceGap | WallClock);
        !is_of_host && !matches!(event.kind, OwnGapEnd | OwnStop | OwnWait | Suspend)
    };
    let own = point.events.iter().filter(is_of_point);
    let others = point.hosts.iter().filter(|host| host.host.id != HostId::RECORDER);
    // The recorder has the phases.
    let theirs = others.flat_map(|host| &host.events).filter(|event| event.kind != EventKind::Phase);
    let mut all: Vec<Event> = own.chain(theirs.filter(is_of_point)).cloned().collect();
    all.sort_by_key(|event| event.at);
    all
}

/// The sources of several hosts as those of one point.
#[derive(Default)]
struct MergedSources {
    /// How many hosts run the database.
    databases: usize,
    sources: Vec<SourceDef>,
    counters: Vec<CounterSample>,
}

impl MergedSources {
    /// Adds the sources of a host, as far as they have counters of the point. Its other counters lose their role.
    fn add(&mut self, host: Option<HostRole>, sources: &[SourceDef], counters: &Readings) {
        let mut numbers: Vec<Option<u16>> = Vec::new();
        for source in sources {
            let mut kept = source.clone();
            for counter in &mut kept.counters {
                counter.role = counter.role.filter(|role| Reach::of(*role).is_of_point(host, self.databases));
            }
            let is_kept = kept.counters.iter().any(|counter| counter.role.is_some());
            numbers.push(is_kept.then_some(self.sources.len() as u16));
            self.sources.extend(is_kept.then_some(kept));
        }
        let renumbered = counters.samples().into_iter().filter_map(|sample| {
            let source = numbers.get(usize::from(sample.source)).copied().flatten()?;
            Some(CounterSample { source, ..sample })
        });
        self.counters.extend(renumbered);
    }
}

impl HostPart {
    /// Whether it is the clients.
    pub(crate) fn is_load(self) -> bool {
        self == HostPart::Load
    }
}
