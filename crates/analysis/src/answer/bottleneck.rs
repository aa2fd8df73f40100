//! What limits the work, as a claim: the resource, the place and the figure. `The disk limits it: 93 to 99 % busy from depth 16 on.`
//!
//! In: the causes of points. Out: claims. Limits: the cause that most points from the knee on have; others are in the details.

use super::speech::{amount, number_word, short_enough};
use super::thing::Thing;
use super::{AskedRun, Claim, ClaimKind};
use crate::evidence::cause::{Cause, Confidence, Limit, LimitEvidence, LockAccount, Throttle};
use crate::evidence::limited_flow::LimitedFlow;
use crate::points::sweep::ScalingAxis;
use crate::{Code, PointAnalysis};
use std::collections::BTreeMap;
use words::list::{capital, distinct, join_and};
use words::quantity::{bytes, number, percent, range, time};

/// More are not read.
const CLAIMS_MAX: usize = 2;
/// If something varies, fewer points than this share of them show no common limit.
const SHARE_MIN: f64 = 0.5;
/// Clients that share a wait do so many times the work of the fewest, at least.
const SHARED_MIN: f64 = 1.5;
/// A disk that is less busy is named for another reason.
const BUSY_MIN: f64 = 0.5;

/// What limits `points`, all of one comparison; `None` if that is not known, or not the same for half of them.
pub(super) fn claim_of_points(run: &AskedRun, points: &[&PointAnalysis]) -> Option<Claim> {
    let common = CommonLimit::of(points.iter().copied().map(|point| vec![point]).collect(), 0)?;
    let is_common = common.causes.len() as f64 >= SHARE_MIN * points.len() as f64;
    is_common.then(|| common.claim(run, Some("it"), None))
}

/// Things that the same resource limits.
struct LimitedThings<'t, 'a> {
    things: Vec<&'t Thing<'a>>,
    /// From which step on each of them; `None` from the first.
    begins: Vec<Option<String>>,
    limit: CommonLimit<'a>,
}

/// What limits each of `things`, in one claim if it is the same for all.
pub(super) fn claims(run: &AskedRun, things: &[&Thing]) -> Vec<Claim> {
    let found = things.iter().filter_map(|thing| Some((*thing, limit_of(thing)?)));
    let mut groups: Vec<LimitedThings> = Vec::new();
    for (thing, (limit, from)) in found {
        match groups.iter_mut().find(|group| group.limit.is_like(&limit)) {
            Some(group) => {
                group.things.push(thing);
                group.begins.push(from);
                group.limit.causes.extend(limit.causes);
            }
            None => groups.push(LimitedThings { things: vec![thing], begins: vec![from], limit }),
        }
    }
    let is_one = groups.len() == 1 && groups[0].things.len() == things.len();
    let all = things.len();
    let are_told_apart = distinct(things.iter().map(|thing| thing.whose_work())).len() == all;
    let claim = |group: &LimitedThings| {
        let whose: Vec<String> = group.things.iter().map(|thing| thing.whose_work()).collect();
        let sorts = || format!("{} of {} sorts of work", number_word(whose.len() as u32), number_word(all as u32));
        let whom = match (is_one, are_told_apart) {
            (true, _) => "it".to_owned(),
            (false, true) => join_and(&whose),
            (false, false) => sorts(),
        };
        // Where it begins is said if it begins there for all.
        let begins = &group.begins;
        let from = begins[0].as_deref().filter(|from| begins.iter().all(|other| other.as_deref() == Some(from)));
        let is_rising = group.things.iter().all(|thing| thing.is_rising());
        group.limit.claim(run, (!is_rising).then_some(whom.as_str()), from)
    };
    groups.iter().take(CLAIMS_MAX).map(claim).collect()
}

/// Why more clients do so much more, whatever limits these: `With one client commits limit it: threads wait 62 % of their time until a commit is on
/// disk, and several clients share that wait.` `None` if they do not, or if that is what limits them, too.
pub(super) fn claim_of_first_step(run: &AskedRun, thing: &Thing) -> Option<Claim> {
    let sweep = &thing.sweep;
    let first = sweep.steps.first().filter(|_| sweep.axis == ScalingAxis::Clients)?;
    let own = CommonLimit::of(vec![first.points.clone()], 0)?;
    let limit = own.causes[0].1.limit();
    let is_another_later = limit_of(thing).is_none_or(|(later, _)| later.causes[0].1.limit() != limit);
    let is_shared = sweep.knee().ops_per_s() >= SHARED_MIN * first.ops_per_s();
    if !(matches!(limit, Limit::Commit | Limit::Sync) && is_another_later && is_shared) {
        return None;
    }
    let causes: Vec<&Cause> = own.causes.iter().map(|(_, cause)| *cause).collect();
    let words = own.words(run, &causes, Some("it"));
    let mut rest = words.chars();
    let begin: String = rest.next().into_iter().flat_map(char::to_lowercase).collect();
    let clause = format!("{} {begin}{}", capital(&thing.place(first)), rest.as_str());
    let sentence = short_enough(vec![format!("{clause}, and several clients share that wait."), format!("{clause}.")]);
    let share = causes.iter().map(|cause| cause.share.0).fold(0.0, f64::max);
    let claim = Claim::new(ClaimKind::Bottleneck, sentence).figure("bottleneck_share", share, None);
    Some(claim.from_finding(Code::Bottleneck))
}

/// What limits `thing`, and from where on, if it does not from the first step on.
fn limit_of<'a>(thing: &Thing<'a>) -> Option<(CommonLimit<'a>, Option<String>)> {
    let steps = &thing.sweep.steps;
    let knee = steps.iter().position(|step| std::ptr::eq(step, thing.sweep.knee())).unwrap_or(0);
    let common = CommonLimit::of(steps.iter().map(|step| step.points.clone()).collect(), knee)?;
    // Only what holds to the end begins somewhere.
    let begins = common.first_step.filter(|first| *first > 0);
    let from = begins.map(|first| match (thing.sweep.axis, &steps[first]) {
        (ScalingAxis::Depth, step) => format!("from depth {} on", step.depth),
        (_, step) => format!("from {} clients on", number_word(step.clients)),
    });
    Some((common, from))
}

/// The limit that most points share.
struct CommonLimit<'a> {
    /// Of the points that have it, in their order; at least one.
    causes: Vec<(&'a PointAnalysis, &'a Cause)>,
    /// The step from which on all have it; `None` if the last has another.
    first_step: Option<usize>,
}

impl<'a> CommonLimit<'a> {
    /// That of most points of `steps` from the step `knee` on; `None` if none of them has one.
    fn of(steps: Vec<Vec<&'a PointAnalysis>>, knee: usize) -> Option<CommonLimit<'a>> {
        let mut counts: BTreeMap<Limit, usize> = BTreeMap::new();
        for point in steps[knee..].iter().flatten() {
            let known =
                first_cause(point).map(Cause::limit).filter(|limit| limit.is_cause() || *limit == Limit::Schedule);
            known.into_iter().for_each(|limit| *counts.entry(limit).or_default() += 1);
        }
        let most = counts.values().max()?;
        let limit = *counts.iter().find(|(_, count)| *count == most)?.0;
        let with_it = |point: &&'a PointAnalysis| {
            first_cause(point).filter(|cause| cause.limit() == limit).map(|cause| (*point, cause))
        };
        let has_it =
            |step: &Vec<&PointAnalysis>| step.iter().all(|point| first_cause(point).map(Cause::limit) == Some(limit));
        let trailing = steps.iter().rev().take_while(|step| has_it(step)).count();
        let first_step = (trailing > 0).then(|| steps.len() - trailing);
        let shown = &steps[first_step.unwrap_or(knee).min(knee)..];
        Some(CommonLimit { causes: shown.iter().flatten().filter_map(with_it).collect(), first_step })
    }

    fn is_like(&self, other: &CommonLimit) -> bool {
        let evidence = |one: &CommonLimit| std::mem::discriminant(&one.causes[0].1.evidence);
        let place = |one: &CommonLimit| one.causes[0].1.place.clone();
        evidence(self) == evidence(other) && place(self) == place(other)
    }

    /// `The disk limits it: 93 to 99 % busy from depth 16 on.` Without `whom` nothing is limited yet, and the disk is nearest to its limit.
    fn claim(&self, run: &AskedRun, whom: Option<&str>, from: Option<&str>) -> Claim {
        let causes: Vec<&Cause> = self.causes.iter().map(|(_, cause)| *cause).collect();
        let from = from.map_or(String::new(), |from| format!(" {from}"));
        let sentence = format!("{}{from}.", self.words(run, &causes, whom));
        let code = if causes[0].limit().is_foreign() { Code::ForeignCpu } else { Code::Bottleneck };
        let share = causes.iter().map(|cause| cause.share.0).fold(0.0, f64::max);
        Claim::new(ClaimKind::Bottleneck, sentence).figure("bottleneck_share", share, None).from_finding(code)
    }

    #[expect(clippy::too_many_lines, reason = "a sentence for each resource")]
    fn words(&self, run: &AskedRun, causes: &[&Cause], whom: Option<&str>) -> String {
        let (first, is_limited) = (causes[0], whom.is_some());
        let whom = whom.unwrap_or("it");
        let share = || range(causes, |one| one.share.0, percent);
        let limits = |who: &str, verb: &str| match first.confidence {
            _ if !is_limited && verb == "limits" => format!("Nearest to its limit is {who}"),
            Confidence::Sure => format!("{} {verb} {whom}", capital(who)),
            Confidence::Likely => format!("{} probably {verb} {whom}", capital(who)),
            Confidence::Possible => format!("{} may limit {whom}", capital(who)),
        };
        let host = first.place.as_ref().map_or(String::new(), |place| format!(" of {}", place.host));
        match first.evidence {
            LimitEvidence::Disk { .. } => {
                let limits = limits(&format!("the disk{host}"), "limits");
                let busy = || range(causes, busy_share, percent);
                match causes.iter().map(|one| busy_share(one)).fold(1.0, f64::min) {
                    least if least >= BUSY_MIN => format!("{limits}: {} busy", busy()),
                    _ if first.confidence == Confidence::Likely => {
                        format!("{limits}: threads wait for its reads {} of their time", share())
                    }
                    _ => format!("{limits}: it does {} of its best rate", share()),
                }
            }
            LimitEvidence::Sync { .. } | LimitEvidence::Write { .. } => {
                let is_synced = matches!(first.evidence, LimitEvidence::Sync { .. });
                let limits = limits(if is_synced { "writes and syncs" } else { "writes" }, "limit");
                format!("{limits}: they take {} of the time of a thread at work", share())
            }
            LimitEvidence::Commit { .. } => {
                format!(
                    "{}: threads wait {} of their time until a commit is on disk",
                    limits("commits", "limit"),
                    share()
                )
            }
            LimitEvidence::Network { link_share, .. } => self.network(&limits, link_share.is_some()),
            LimitEvidence::ListenQueue { .. } => {
                let queue = limits("the server's queue of new connections", "limits");
                format!("{queue}: clients wait {} of their time for a second try", share())
            }
            LimitEvidence::Connections { .. } => {
                format!("{}: it refuses {} of them", limits("the connections that the server allows", "limit"), share())
            }
            LimitEvidence::FlowControl { .. } => {
                format!("{}: it pauses {} of the time", limits("flow control of the cluster", "limits"), share())
            }
            LimitEvidence::Checkpoint { .. } => format!("{}: the log is {} full", limits("the log", "limits"), share()),
            LimitEvidence::Compaction { .. } => {
                format!("{}: they hold writers back {} of the time", limits("compactions", "limit"), share())
            }
            LimitEvidence::Drain { .. } => {
                format!(
                    "{}: the clients wait for them {} of the time",
                    limits("the engine's own writes", "limit"),
                    share()
                )
            }
            LimitEvidence::Cpu { .. } => {
                let cpus = match run.analysis.meta.machine.cpus.filter(|_| first.place.is_none()) {
                    Some(1) => "the CPU is".to_owned(),
                    Some(2) => "both CPUs are".to_owned(),
                    Some(cpus) => format!("all {cpus} CPUs are"),
                    None => format!("the CPUs{host} are"),
                };
                format!("{}: {cpus} {} busy", limits("the CPU", "limits"), share())
            }
            LimitEvidence::PinnedCpus { cpus, .. } => {
                let cpus = if cpus == 1 {
                    "the one that it may use is".to_owned()
                } else {
                    format!("the {cpus} that it may use are")
                };
                format!("{}: {cpus} {} busy", limits("the CPU", "limits"), share())
            }
            LimitEvidence::OneCore { .. } => {
                let cores = range(causes, cores_used, number);
                format!("{}: engine and clients together use {cores} cores", limits("a single core", "limits"))
            }
            LimitEvidence::Locks { by: LockAccount::Engine, .. } => {
                format!("{}: {} of the clients wait for one", limits("row locks", "limit"), share())
            }
            LimitEvidence::Locks { by: LockAccount::OneWriter, .. } => {
                format!("{}: {} of the clients wait for their turn", limits("one writer at a time", "limits"), share())
            }
            LimitEvidence::Locks { by: LockAccount::Threads, .. } => {
                format!(
                    "{}: threads wait for each other {} of their time",
                    limits("locks in the engine", "limit"),
                    share()
                )
            }
            LimitEvidence::Memory { .. } => {
                format!("{}: everything waits for it {} of the time", limits("memory", "limits"), share())
            }
            LimitEvidence::PageCache { .. } => {
                format!("{}: {} of the bytes read had been in it before", limits("memory", "limits"), share())
            }
            LimitEvidence::Frozen { .. } => format!("The engine was stopped for {} of the time", share()),
            LimitEvidence::Throttled(throttle) => throttled(throttle, &share()),
            LimitEvidence::OtherProcesses { .. } => {
                format!(
                    "{}: they take {} of the CPU",
                    limits(&format!("other programs{}", on(&host)), "limit"),
                    share()
                )
            }
            LimitEvidence::Hypervisor { .. } => {
                format!("{}: it takes {} of the CPU", limits("the hypervisor", "limits"), share())
            }
            LimitEvidence::Client { .. } => {
                format!(
                    "{}: its client threads use {} of their cores",
                    limits(&format!("plimsoll itself{}", on(&host)), "limits"),
                    share()
                )
            }
            LimitEvidence::OneAtATime { in_flight: 1, .. } => {
                let took = range(causes, service_ns, time);
                let limits = limits("the number of clients", "limits");
                format!(
                    "{limits}: each waits for one operation ({took}) before it sends the next, and nothing else is full"
                )
            }
            LimitEvidence::OneAtATime { .. } => {
                let in_flight = causes.iter().map(|cause| in_flight(cause)).max().unwrap_or(0);
                format!("Even {} operations at a time are too few: nothing is full", number_word(in_flight as u32))
            }
            LimitEvidence::Schedule { .. } => "No limit was reached: everything that was offered was served".to_owned(),
            LimitEvidence::TargetOrClients(_) | LimitEvidence::Unclear(_) => {
                format!("What limits {whom} is not known: nothing that was watched was full")
            }
        }
    }

    /// `The link of client1 limits it: 96 % of 100 Mbit/s`
    fn network(&self, limits: &dyn Fn(&str, &str) -> String, has_link: bool) -> String {
        let (point, cause) = self.causes[0];
        let causes: Vec<&Cause> = self.causes.iter().map(|(_, cause)| *cause).collect();
        let share = range(&causes, |one| one.share.0, percent);
        if !has_link {
            return format!("{}: {share} of the segments are sent again", limits("the network", "limits"));
        }
        let of = match &cause.place {
            Some(place) => match &place.interface {
                Some(interface) => format!("the link of {} ({interface})", place.host),
                None => format!("the link of {}", place.host),
            },
            None => "the link between clients and engine".to_owned(),
        };
        let speed = point.summary.as_ref().and_then(|summary| summary.network?.link_bits_per_s);
        let full = match speed {
            Some(bits_per_s) => format!("{share} of {} Mbit/s", amount(bits_per_s / 1e6)),
            None => format!("{share} full"),
        };
        format!("{}: {full}", limits(&of, "limits"))
    }
}

/// The limit that was set, in the words of whoever set it.
fn throttled(throttle: Throttle, share: &str) -> String {
    let of_cpus = |cpus: Option<f64>| cpus.map_or(String::new(), |cpus| format!(" of {} CPUs", number(cpus)));
    match throttle {
        Throttle::Quota { cpus, .. } => {
            format!("The CPU quota{} that plimsoll runs under holds threads back {share} of the time", of_cpus(cpus))
        }
        Throttle::EngineQuota { cpus, .. } => {
            format!("The CPU quota{} that the engine runs under holds threads back {share} of the time", of_cpus(cpus))
        }
        Throttle::CpuLimit { cpus, .. } => {
            format!("The limit{} that you set is what limits it: {share} used", of_cpus(Some(cpus)))
        }
        Throttle::Storage { flow, limit_per_s, .. } => {
            let limit = match flow {
                LimitedFlow::ReadOps => format!("{} reads", amount(limit_per_s)),
                LimitedFlow::WriteOps => format!("{} writes", amount(limit_per_s)),
                LimitedFlow::ReadBytes => format!("{} read", bytes(limit_per_s)),
                LimitedFlow::WriteBytes => format!("{} written", bytes(limit_per_s)),
            };
            let figure = if throttle.is_reached_in_bursts() {
                format!("it is reached {share} of the time")
            } else {
                format!("{share} used")
            };
            format!("The limit of {limit} per second that you set is what limits it: {figure}")
        }
        Throttle::CpuQueue { .. } => {
            format!("Something that plimsoll does not see holds threads back: they wait for a CPU {share} of the time")
        }
        Throttle::AboveDevice { .. } => {
            format!("Something above the disk limits it: threads wait for storage {share} of the time")
        }
    }
}

/// ` on n1`, from ` of n1`.
fn on(of_host: &str) -> String {
    of_host.replacen(" of ", " on ", 1)
}

fn first_cause(point: &PointAnalysis) -> Option<&Cause> {
    point.bottlenecks.as_ref()?.causes.first()
}

fn busy_share(cause: &Cause) -> f64 {
    if let LimitEvidence::Disk { busy_share, .. } = cause.evidence { busy_share.0 } else { 0.0 }
}

fn cores_used(cause: &Cause) -> f64 {
    if let LimitEvidence::OneCore { cores, .. } = cause.evidence { cores } else { 0.0 }
}

fn service_ns(cause: &Cause) -> f64 {
    if let LimitEvidence::OneAtATime { service_mean_ns, .. } = cause.evidence { service_mean_ns.0 as f64 } else { 0.0 }
}

fn in_flight(cause: &Cause) -> u64 {
    if let LimitEvidence::OneAtATime { in_flight, .. } = cause.evidence { in_flight } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::cause::{Bottlenecks, CausePlace};
    use crate::math::units::Share;
    use crate::simulated::{Simulation, run_of};
    use crate::{Analysis, analyse};
    use model::Nanos;

    /// A sweep over clients whose points have these causes.
    fn limited(causes: &[(u32, Cause)]) -> Analysis {
        let point = |(clients, _): &(u32, Cause)| {
            Simulation::counts(&[2_000; 20]).with(|point| point.trial.load.clients = *clients).point()
        };
        let environment = vec![model::Fact::new("cpu.count", "2")];
        let mut analysis = analyse(&run_of(causes.iter().map(point).collect(), environment));
        for (point, (_, cause)) in analysis.points.iter_mut().zip(causes) {
            point.bottlenecks = Some(Bottlenecks { causes: vec![cause.clone()], ruled_out: Vec::new() });
        }
        analysis
    }

    fn said_of(causes: &[(u32, Cause)]) -> String {
        let analysis = limited(causes);
        let run = AskedRun { analysis: &analysis, rows: &crate::RepeatRows::from_analysis(&analysis).analysis };
        let things = Thing::all(&run);
        let claims = claims(&run, &things.iter().collect::<Vec<_>>());
        claims.into_iter().map(|claim| claim.sentence).collect::<Vec<_>>().join(" ")
    }

    fn cpu(share: f64) -> Cause {
        Cause::new(LimitEvidence::Cpu { busy_share: Share(share), waited_share: None }, share)
    }

    fn few(in_flight: u64) -> Cause {
        Cause::new(LimitEvidence::OneAtATime { service_mean_ns: Nanos(46_000), in_flight }, 1.0)
    }

    #[test]
    fn a_limit_is_named_with_its_figure_and_from_where_on() {
        let all = said_of(&[(1, cpu(0.92)), (4, cpu(0.97)), (16, cpu(1.0))]);
        assert_eq!(all, "The CPU limits it: both CPUs are 92 to 100 % busy.");
        let later = said_of(&[(1, few(1)), (4, cpu(0.97)), (16, cpu(0.99))]);
        assert_eq!(later, "The CPU limits it: both CPUs are 97 to 99 % busy from four clients on.");
        let busy = Share(0.95);
        let disk = LimitEvidence::Disk { busy_share: busy, queue: None, used_share: None, waited_share: None };
        let disk = Cause::new(disk, 0.95).confidence(Confidence::Likely);
        assert_eq!(said_of(&[(1, disk)]), "The disk probably limits it: 95 % busy.");
        let one = "The number of clients limits it: each waits for one operation (46.0 us) before it sends the next, and nothing else is full.";
        assert_eq!(said_of(&[(1, few(1))]), one);
        assert_eq!(said_of(&[(4, few(4))]), "Even four operations at a time are too few: nothing is full.");
    }

    #[test]
    fn a_client_alone_that_waits_for_commits_tells_why_several_do_more() {
        let commit = |share: f64| {
            let evidence = LimitEvidence::Commit { waited_share: Share(share), lock_share: Share(0.0), threads: share };
            Cause::new(evidence, share)
        };
        let told = |rates: [u64; 2], later: Cause| {
            let point = |(clients, rate): (u32, u64)| {
                Simulation::counts(&[rate; 20]).with(|point| point.trial.load.clients = clients).point()
            };
            let points = [1, 4].into_iter().zip(rates).map(point).collect();
            let mut analysis = analyse(&run_of(points, Vec::new()));
            for (point, cause) in analysis.points.iter_mut().zip([commit(0.62), later]) {
                point.bottlenecks = Some(Bottlenecks { causes: vec![cause], ruled_out: Vec::new() });
            }
            let rows = crate::RepeatRows::from_analysis(&analysis).analysis;
            let run = AskedRun { analysis: &analysis, rows: &rows };
            let things = Thing::all(&run);
            let claim = claim_of_first_step(&run, &things[0]);
            claim.map(|claim| claim.sentence)
        };
        let why = "With one client commits limit it: threads wait 62 % of their time until a commit is on disk, and several clients share that wait.";
        assert_eq!(told([500, 2_000], cpu(0.97)).as_deref(), Some(why));
        assert_eq!(told([500, 2_000], commit(0.5)), None, "it is said of all");
        assert_eq!(told([500, 510], cpu(0.97)), None, "nothing is to be explained");
    }

    #[test]
    fn the_network_is_a_link_of_a_host_and_a_set_limit_is_what_was_set() {
        let link = LimitEvidence::Network { link_share: Some(Share(0.96)), retransmit_share: None };
        let place = CausePlace { host: "client1".into(), interface: Some("eth0".into()) };
        let link = Cause::new(link, 0.96).at(place);
        assert_eq!(said_of(&[(1, link)]), "The link of client1 (eth0) limits it: 96 % full.");
        let (flow, used_share) = (LimitedFlow::WriteOps, Share(0.98));
        let storage =
            Throttle::Storage { flow, used_share, reached_share: None, done_per_s: 1_960.0, limit_per_s: 2_000.0 };
        let storage = Cause::new(LimitEvidence::Throttled(storage), 0.98);
        let expected = "The limit of 2,000 writes per second that you set is what limits it: 98 % used.";
        assert_eq!(said_of(&[(1, storage)]), expected);
    }
}
