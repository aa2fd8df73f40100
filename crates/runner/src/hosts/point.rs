//! One point that several hosts measure: who has which share, and how far each of them is.
//!
//! In: what the agents report. Out: the messages of one point for the conductor: each phase begins once and ends once. Limits: facts of
//! the engine are those of the first host that makes a load; the rows of each host are its own.

use crate::error::RunnerError;
use crate::messages::{Assignment, ConductorHandle, PerformerMessage, StepSequence};
use model::{HostId, IntervalRow, KindDef, LoadShare, Nanos, Pacing, Phase, Tick, Trial, divide_trial};
use std::collections::BTreeMap;

/// What the host at `place` of `hosts` performs of `assignment`.
pub(super) fn share_of(assignment: &Assignment, place: u32, hosts: u32) -> Result<Assignment, RunnerError> {
    let StepSequence { steps, place: step, first } = &assignment.sequence;
    let steps = steps.iter().map(|trial| share_of_trial(trial, place, hosts)).collect::<Result<_, _>>()?;
    let sequence = StepSequence { steps, place: *step, first: *first };
    let trial = share_of_trial(&assignment.trial, place, hosts)?;
    Ok(Assignment { trial, sequence, joins: assignment.joins.clone() })
}

/// The trial of the host at `place` of `hosts`.
pub(super) fn share_of_trial(trial: &Trial, place: u32, hosts: u32) -> Result<Trial, RunnerError> {
    let divided = divide_trial(trial, hosts, engine::data_origin(trial));
    let mut all = divided.map_err(|error| RunnerError::Unsupported(error.to_string()))?;
    Ok(all.swap_remove(place as usize))
}

/// The part of the load of `whole` that `own` is.
pub(super) fn load_share(whole: &Trial, own: &Trial, hosts: u32) -> LoadShare {
    let part = match whole.load.pacing {
        Pacing::Closed { .. } => f64::from(own.load.clients) / f64::from(whole.load.clients.max(1)),
        Pacing::Open { .. } => 1.0 / f64::from(hosts.max(1)),
    };
    LoadShare { clients: own.all_clients(), part }
}

/// How far a point is, over all its hosts.
#[derive(Default)]
pub(super) struct PointProgress {
    /// The kinds of operation of the first host that opened it; `None` before that.
    kinds: Option<Vec<KindDef>>,
    phases: BTreeMap<Phase, PhaseProgress>,
    /// When each host began to make data.
    loads_began: BTreeMap<HostId, Tick>,
}

#[derive(Default)]
struct PhaseProgress {
    end: Option<Tick>,
    offered: u64,
    unserved: u64,
    is_reported: bool,
}

impl PointProgress {
    /// Whether a host has opened the point.
    pub fn is_opened(&self) -> bool {
        self.kinds.is_some()
    }

    /// A host opened the point with `kinds`. Returns whether it is the first.
    ///
    /// # Errors
    /// If an earlier host has other kinds.
    pub fn open(&mut self, kinds: &[KindDef]) -> Result<bool, String> {
        match &self.kinds {
            None => {
                self.kinds = Some(kinds.to_vec());
                Ok(true)
            }
            Some(known) if known == kinds => Ok(false),
            Some(_) => Err("its engine has other kinds of operation than that of the hosts before it".into()),
        }
    }

    /// `host` began to make data at `start`.
    pub fn begin_load(&mut self, host: HostId, start: Tick) {
        self.loads_began.entry(host).or_insert(start);
    }

    /// Gives intervals in which `host` made data the numbers of those of the first host that did at the same time. The other phases begin
    /// on all hosts at one moment.
    pub fn align_load(&self, host: HostId, rows: &mut [IntervalRow], interval: Nanos) {
        let (Some(own), Some(first)) = (self.loads_began.get(&host), self.loads_began.values().min()) else { return };
        let later = (own.0.saturating_sub(first.0) + interval.0 / 2) / interval.0.max(1);
        let later = u32::try_from(later).unwrap_or(0);
        let made = rows.iter_mut().filter(|row| row.phase == Phase::Prepare);
        made.for_each(|row| row.index = row.index.saturating_add(later));
    }

    /// A host began `phase`. Returns whether it is the first.
    pub fn begin_phase(&mut self, phase: Phase) -> bool {
        let is_new = !self.phases.contains_key(&phase);
        self.phases.entry(phase).or_default();
        is_new
    }

    /// A host ended `phase`.
    pub fn end_phase(&mut self, phase: Phase, end: Tick, offered: u64, unserved: u64) {
        let known = self.phases.entry(phase).or_default();
        known.end = known.end.max(Some(end));
        known.offered = known.offered.saturating_add(offered);
        known.unserved = known.unserved.saturating_add(unserved);
        known.is_reported = false;
    }

    /// Tells `conductor` how the phases ended, with the sums of all hosts.
    pub fn report_ends(&mut self, conductor: &mut dyn ConductorHandle) {
        for (phase, known) in &mut self.phases {
            let Some(end) = known.end.filter(|_| !known.is_reported) else { continue };
            let (phase, offered, unserved) = (*phase, known.offered, known.unserved);
            conductor.deliver(PerformerMessage::PhaseEnded { phase, end, offered, unserved });
            known.is_reported = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{DataOrigin, Fact, OpClass};
    use plan::Overrides;

    /// Keeps how phases ended.
    #[derive(Default)]
    struct EndsSeen(Vec<(Phase, Tick, u64, u64)>);

    impl ConductorHandle for EndsSeen {
        fn accept_engine(&mut self, _: &Trial, _: &[Fact]) -> Result<(), RunnerError> {
            Ok(())
        }

        fn deliver(&mut self, message: PerformerMessage) {
            if let PerformerMessage::PhaseEnded { phase, end, offered, unserved } = message {
                self.0.push((phase, end, offered, unserved));
            }
        }

        fn is_enough(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_phase_begins_with_the_first_host_and_ends_once_with_the_sums_of_all() {
        let (mut progress, mut seen) = (PointProgress::default(), EndsSeen::default());
        assert_eq!([Phase::Run; 3].map(|phase| progress.begin_phase(phase)), [true, false, false]);
        progress.report_ends(&mut seen);
        assert_eq!(seen.0, []);
        progress.end_phase(Phase::Run, Tick(70), 10, 1);
        progress.end_phase(Phase::Run, Tick(60), 20, 2);
        progress.report_ends(&mut seen);
        progress.report_ends(&mut seen);
        assert_eq!(seen.0, [(Phase::Run, Tick(70), 30, 3)]);
    }

    #[test]
    fn data_that_several_hosts_make_is_in_the_intervals_of_its_time() {
        const SECOND: u64 = 1_000_000_000;
        let mut progress = PointProgress::default();
        for (host, start) in [(1, 10 * SECOND), (2, 12 * SECOND + 400_000_000)] {
            progress.begin_load(HostId(host), Tick(start));
        }
        let row = |phase| IntervalRow {
            phase,
            index: 3,
            start: Tick(0),
            length: Nanos(SECOND),
            kinds: Vec::new(),
            generator: Default::default(),
        };
        let index_of = |host, phase| {
            let mut rows = [row(phase)];
            progress.align_load(HostId(host), &mut rows, Nanos(SECOND));
            rows[0].index
        };
        assert_eq!([(1, Phase::Prepare), (2, Phase::Prepare), (2, Phase::Run)].map(|(h, p)| index_of(h, p)), [3, 5, 3]);
    }

    #[test]
    fn hosts_with_other_kinds_of_operation_do_not_fit() {
        let kind = |name: &str| KindDef::new(name, OpClass::Read);
        let mut progress = PointProgress::default();
        assert_eq!(progress.open(&[kind("read")]), Ok(true));
        assert_eq!(progress.open(&[kind("read")]), Ok(false));
        assert!(progress.open(&[kind("write")]).is_err());
    }

    #[test]
    fn the_shares_of_all_hosts_are_the_load() {
        let keys = [("engine", "null"), ("clients", "7"), ("rate", "1000")];
        let keys = keys.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let plan = plan::from_flags("file", &Overrides::from_flags(keys.into()), 1.0, &crate::catalogue()).unwrap();
        let trial = plan.trials[0].clone();
        let whole = Assignment { sequence: StepSequence::alone(&trial, 0), trial, joins: None };
        let shares: Vec<Trial> = (0..3).map(|place| share_of(&whole, place, 3).unwrap().trial).collect();
        assert_eq!(shares.iter().map(|own| own.load.clients).collect::<Vec<_>>(), [3, 2, 2]);
        let parts: Vec<LoadShare> = shares.iter().map(|own| load_share(&whole.trial, own, 3)).collect();
        assert!((parts.iter().map(|share| share.part).sum::<f64>() - 1.0).abs() < 1e-9);
        assert_ne!(shares[0].seed, shares[1].seed);
    }

    #[test]
    fn large_data_on_a_server_is_made_by_all_hosts() {
        let origin = |workload: &str, keys: &[(&str, &str)]| {
            let keys = keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            let plan = plan::from_flags(workload, &Overrides::from_flags(keys), 1.0, &crate::catalogue());
            engine::data_origin(&plan.unwrap().trials[0])
        };
        for url in ["mysql://u@h/", "postgres://u@h/b", "mysql://u@h1,h2/"] {
            let of_tables = |rows: &str| origin("oltp", &[("engine", url), ("tables", "2"), ("table_rows", rows)]);
            assert_eq!(of_tables("25000"), DataOrigin::MadeByAll, "{url}");
            assert_eq!(of_tables("20000"), DataOrigin::MadeByFirst, "{url}");
        }
        // Its rows are inserted by its steps.
        let insert = [("engine", "mysql://u@h/"), ("rows", "1000000")];
        assert_eq!(origin("insert", &insert), DataOrigin::MadeByFirst);
        let own = [("engine", "sqlite"), ("table_rows", "100000")];
        assert_eq!(origin("oltp", &own), DataOrigin::Own);
    }
}
