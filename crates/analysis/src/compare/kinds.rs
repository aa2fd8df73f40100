//! The statements of a replay on two arms at one place, kind by kind: which takes longer, which answers differently, and which fails.
//!
//! In: a place at which both arms replay the statements of a log. Out: a [`KindComparison`] with a ratio of the mean service times for each kind
//! that both arms have, false discoveries held to 5 % over all kinds of a comparison. Limits: a service time is from sending a statement to the
//! end of its answer, without the wait for the statement before it in its session: a slow statement would make all others of its
//! sessions look slow. Results are compared only if both arms have summed them up, and only of kinds that answer alike in all repeats of an arm.

use super::arm::{ArmPoint, CommonPlace};
use super::kind_plans::{ArmPlans, PlanComparison};
use crate::StatementSummary;
use crate::compare::metrics::middle;
use crate::math::ratio::{Preference, RatioEstimate, hold_false_discoveries};
use model::{KindResults, PointOutcome};
use serde::Serialize;
use std::collections::BTreeMap;

/// The kinds of statement of a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KindComparison {
    /// The kinds that both arms have, those that differ for sure first and of these the slowest.
    pub ratios: Vec<KindRatio>,
    /// The kinds that answer differently.
    pub other_results: Vec<ResultDifference>,
    /// The kinds whose answers were compared.
    pub results_compared: usize,
    /// The kinds whose answers differ from repeat to repeat of one arm, or of which an arm has not answered all.
    pub results_unknown: Vec<String>,
    /// The kinds of which statements fail in one arm only: so many in the base, and in the other.
    pub failures: Vec<(String, [u64; 2])>,
}

/// How long one kind of statement takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindRatio {
    pub kind: String,
    /// The mean service time in the base, in nanoseconds.
    pub base_ns: f64,
    /// The same in the other.
    pub new_ns: f64,
    pub estimate: RatioEstimate,
    /// How both perform it.
    pub plans: PlanComparison,
}

/// A kind of statement that answers differently.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultDifference {
    pub kind: String,
    /// What the base has returned.
    pub base: KindResults,
    /// What the other has returned.
    pub new: KindResults,
}

/// The kinds of `place`; `None` if it replays no statements.
pub fn compare_kinds(place: &CommonPlace) -> Option<KindComparison> {
    let replays = |point: &&ArmPoint| {
        let recording = point.data.trial.workload.params.recording();
        recording.is_some_and(|summary| summary.sessions.is_some())
    };
    let mut points = place.base.iter().chain(&place.new);
    if !points.all(replays) {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for kind in place.base.iter().flat_map(|point| &point.analysis.statements) {
        if !names.contains(&kind.kind.as_str()) {
            names.push(&kind.kind);
        }
    }
    let plans = [&place.base, &place.new].map(|points| ArmPlans::of(points));
    let mut made = KindComparison {
        ratios: names.iter().filter_map(|name| compare_kind(place, &plans, name)).collect(),
        failures: names.iter().filter_map(|name| failures(place, name)).collect(),
        ..KindComparison::default()
    };
    let [base, new] =
        [&place.base, &place.new].map(|points| results_of(points.iter().map(|point| &point.data.traits.outcome)));
    made.compare_results(&base, &new);
    Some(made)
}

fn statement<'a>(point: &'a ArmPoint, name: &str) -> Option<&'a StatementSummary> {
    point.analysis.statements.iter().find(|kind| kind.kind == name)
}

fn compare_kind(place: &CommonPlace, [base_plans, new_plans]: &[ArmPlans; 2], name: &str) -> Option<KindRatio> {
    let mean = |point: &ArmPoint| {
        let service = &statement(point, name)?.service;
        (!service.is_empty()).then(|| service.mean_ns())
    };
    let mut pairs = place.pairing(mean).pairs;
    pairs.retain(|pair| pair.base > 0.0 && pair.new > 0.0);
    let estimate = RatioEstimate::from_pairs(&pairs, Preference::Less)?;
    let (base_ns, new_ns) = (middle(&pairs, |pair| pair.base), middle(&pairs, |pair| pair.new));
    Some(KindRatio { kind: name.to_owned(), base_ns, new_ns, estimate, plans: base_plans.compare(new_plans, name) })
}

/// How many statements of a kind have failed, if they have in one arm only.
fn failures(place: &CommonPlace, name: &str) -> Option<(String, [u64; 2])> {
    let failed =
        |points: &[&ArmPoint]| -> u64 { points.iter().filter_map(|point| Some(statement(point, name)?.failed)).sum() };
    let counts: [u64; 2] = [failed(&place.base), failed(&place.new)];
    ((counts[0] == 0) != (counts[1] == 0)).then(|| (name.to_owned(), counts))
}

/// What each kind has returned in all repeats of an arm; `None` if they do not agree.
type ArmResults<'a> = BTreeMap<&'a str, Option<&'a KindResults>>;

/// Those of an arm whose repeats had these outcomes.
pub(crate) fn results_of<'a>(repeats: impl Iterator<Item = &'a PointOutcome>) -> ArmResults<'a> {
    let mut all: ArmResults = BTreeMap::new();
    for found in repeats.flat_map(|outcome| &outcome.replay_results) {
        let known = all.entry(found.kind.as_str()).or_insert(Some(found));
        *known = known.filter(|known| *known == found);
    }
    all
}

impl KindComparison {
    /// Adds what two arms answer differently. Kinds that have not answered alike in all repeats, or not as often on both, are not known.
    pub(crate) fn compare_results(&mut self, base: &ArmResults, new: &ArmResults) {
        for (kind, found) in base {
            let Some(other) = new.get(kind) else { continue };
            match (found, other) {
                (Some(found), Some(other)) if found.answers == other.answers => {
                    self.results_compared += 1;
                    if found != other {
                        let (base, new) = ((*found).clone(), (*other).clone());
                        self.other_results.push(ResultDifference { kind: (*kind).to_owned(), base, new });
                    }
                }
                _ => self.results_unknown.push((*kind).to_owned()),
            }
        }
    }

    /// What was answered and what failed, without how long it took.
    pub(crate) fn without_times(self) -> KindComparison {
        KindComparison { ratios: Vec::new(), ..self }
    }

    /// The kinds that are performed otherwise, and show no difference in their times.
    pub fn replanned(&self) -> impl Iterator<Item = &KindRatio> {
        self.ratios.iter().filter(|one| one.plans.differs() && !one.estimate.verdict.is_difference())
    }

    /// The kinds that take longer for sure, or shorter.
    pub fn differing(&self) -> impl Iterator<Item = &KindRatio> {
        self.ratios.iter().filter(|one| one.estimate.verdict.is_difference())
    }
}

/// Takes back the differences in `all` that chance explains, and puts the rest first, the slowest at the top.
pub fn judge_together(all: &mut [&mut KindComparison]) {
    let ratios = all.iter_mut().flat_map(|one| &mut one.ratios);
    hold_false_discoveries(&mut ratios.map(|one| &mut one.estimate).collect::<Vec<_>>());
    for one in all {
        let key = |one: &KindRatio| (!one.estimate.verdict.is_difference(), -one.estimate.ratio);
        one.ratios.sort_by(|a, b| {
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{ComparedRun, ConditionKind, RunComparison, compare_runs};
    use crate::simulated::{Random, Simulation, params, run_of};
    use crate::{Analysis, RatioVerdict, analyse};
    use model::{
        Arrivals, Fact, KindDef, KindRow, OpClass, OpKind, Pacing, RecordedSessions, RecordingSummary, RunData, Value,
    };

    const KINDS: usize = 40;

    fn name(nth: usize) -> String {
        format!("select c{nth} from t")
    }

    fn replayed() -> Value {
        let sessions = Some(RecordedSessions::default());
        let length = model::Nanos::from_secs(10);
        Value::Recording(Box::new(RecordingSummary { path: "a.log".into(), ops: 1, length, io: None, sessions }))
    }

    /// Repeats of a replay of forty kinds with 5 % noise; kind 7 takes `slower` times as long, and the kinds have returned `results`.
    fn run(seed: u64, repeats: u32, slower: f64, results: impl Fn(u32) -> Vec<String>) -> RunData {
        let mut random = Random::new(seed);
        let mut point = |number: u32| {
            let times: Vec<u64> = (0..KINDS)
                .map(|nth| {
                    let factor = if nth == 7 { slower } else { 1.0 };
                    (1e6 * factor * (0.05 * random.normal()).exp()) as u64
                })
                .collect();
            let simulation = Simulation::counts(&[KINDS as u64; 10]).with(|point| {
                point.trial.repeat = number;
                point.trial.workload.params.0.extend(params(&[("log", replayed())]).0);
                let def = |nth: usize| KindDef { name: name(nth), class: OpClass::Read, ..point.kinds[0].clone() };
                point.kinds = (0..KINDS).map(def).collect();
                for interval in point.phases.iter_mut().flat_map(|phase| &mut phase.intervals) {
                    let row = |(nth, time): (usize, &u64)| {
                        let mut row = KindRow::empty(OpKind(nth as u8));
                        row.ok = 1;
                        row.response.record_n(*time, 1);
                        row.service.record_n(*time, 1);
                        row
                    };
                    interval.kinds = times.iter().enumerate().map(row).collect();
                }
                let facts = results(number).into_iter().enumerate();
                let name_of = |text: &str| if text.contains('\n') { "replay_plan." } else { "replay_results." };
                let facts: Vec<Fact> =
                    facts.map(|(nth, text)| Fact::new(format!("{}{nth}", name_of(&text)), text)).collect();
                point.traits.learn_all(&facts);
            });
            simulation.point()
        };
        run_of((1..=repeats).map(&mut point).collect(), Vec::new())
    }

    fn all_compared<const N: usize>(runs: [&RunData; N]) -> Vec<RunComparison> {
        let analyses: [Analysis; N] = runs.map(analyse);
        let runs = runs.iter().zip(&analyses).map(|(data, analysis)| ComparedRun { name: "run", data, analysis });
        compare_runs(&runs.collect::<Vec<_>>())
    }

    fn compared(base: &RunData, new: &RunData) -> RunComparison {
        all_compared([base, new]).remove(0)
    }

    fn kinds(one: &RunComparison) -> &KindComparison {
        one.places[0].kinds.as_ref().expect("it is a replay")
    }

    #[test]
    fn one_statement_of_forty_that_got_slower_is_at_the_top_and_alone() {
        let mut others = 0;
        for seed in 0..20 {
            let one = compared(&run(2 * seed, 4, 1.0, |_| Vec::new()), &run(2 * seed + 1, 4, 3.0, |_| Vec::new()));
            let found: Vec<&KindRatio> = kinds(&one).differing().collect();
            assert_eq!(kinds(&one).ratios[0].kind, name(7));
            assert!((found[0].estimate.ratio - 3.0).abs() < 0.5, "{:?}", found[0]);
            others += found.len() - 1;
        }
        assert!(others <= 4, "{others} false ones in 20 comparisons of forty kinds");
    }

    #[test]
    fn too_few_repeats_and_other_workloads_conclude_nothing() {
        let one = compared(&run(1, 3, 1.0, |_| Vec::new()), &run(2, 3, 9.0, |_| Vec::new()));
        assert_eq!((kinds(&one).differing().count(), kinds(&one).ratios.len()), (0, KINDS));
        let other = |seed| {
            let mut run = run(seed, 4, 1.0, |_| Vec::new());
            run.points.iter_mut().for_each(|point| drop(point.trial.workload.params.0.remove("log")));
            run
        };
        assert!(compared(&other(1), &other(2)).places[0].kinds.is_none());
    }

    /// A replay of the log at `path`.
    fn replay_of(seed: u64, path: &str, digest: u32) -> RunData {
        let mut run = run(seed, 4, 1.0, |_| Vec::new());
        let params = run.points.iter_mut().map(|point| &mut point.trial.workload.params.0);
        for value in params.flat_map(|params| params.get_mut("log")) {
            let Value::Recording(summary) = value else { continue };
            summary.path = path.to_owned();
            summary.sessions = Some(RecordedSessions { digest, ..RecordedSessions::default() });
        }
        run
    }

    #[test]
    fn a_log_at_another_path_is_the_same_work_and_another_log_is_not() {
        let base = replay_of(1, "a.log", 7);
        assert_eq!(compared(&base, &replay_of(2, "/var/tmp/a.workload", 7)).places.len(), 1);
        assert!(compared(&base, &replay_of(2, "/var/tmp/a.workload", 8)).places.is_empty());
    }

    #[test]
    fn other_statements_at_the_same_path_are_another_log() {
        let base = replay_of(1, "a.log", 7);
        let one = compared(&base, &replay_of(2, "a.log", 8));
        assert!(one.places.is_empty());
        let is_of_log = |kind: &ConditionKind| kind.setting() == Some("log");
        let log = one.unlike.iter().find(|condition| is_of_log(&condition.kind)).expect("it is said");
        assert_eq!([&log.base[0], &log.new[0]], ["a.log", "a.log with other statements, digest 00000008"]);
        assert_eq!(compared(&base, &replay_of(2, "a.log", 7)).places.len(), 1);
        assert_eq!(compared(&base, &replay_of(2, "a.log", 0)).places.len(), 1, "of an older run it is not known");
    }

    #[test]
    fn two_logs_at_the_path_of_an_older_run_are_not_the_same() {
        let [old, one, other] = [(1, 0), (2, 7), (3, 8)].map(|(seed, digest)| replay_of(seed, "a.log", digest));
        let places = |all: [&RunData; 3]| all_compared(all).iter().map(|one| one.places.len()).collect::<Vec<usize>>();
        assert_eq!(places([&old, &one, &other]), [1, 0]);
        assert_eq!(places([&one, &old, &other]), [1, 0]);
    }

    #[test]
    fn kinds_that_answer_differently_are_found_and_unsteady_ones_are_left_out() {
        let text = |nth: usize, rows: u64, sum: &str| format!("10 {rows} 20 {sum} {}", name(nth));
        let base = run(1, 2, 1.0, |number| {
            vec![text(1, 10, "aa"), text(2, 10, "bb"), text(3, 10, &number.to_string()), text(4, 5, "dd")]
        });
        let new = run(2, 2, 1.0, |_| {
            vec![text(1, 10, "aa"), text(2, 9, "cc"), text(3, 10, "1"), text(4, 5, "dd").replacen("10", "9", 1)]
        });
        let one = compared(&base, &new);
        let found = kinds(&one);
        let [other] = &found.other_results[..] else { panic!("one kind: {found:?}") };
        assert_eq!((other.kind.as_str(), other.base.rows, other.new.rows), (name(2).as_str(), 10, 9));
        assert_eq!((found.results_compared, &found.results_unknown), (2, &vec![name(3), name(4)]));
    }

    #[test]
    fn what_fails_and_answers_differently_is_told_although_errors_leave_no_pair() {
        let text = |rows: u64| vec![format!("10 {rows} 20 aa {}", name(1))];
        let base = run(1, 2, 1.0, |_| text(10));
        let mut new = run(2, 2, 1.0, |_| text(9));
        for phase in new.points.iter_mut().flat_map(|point| &mut point.phases) {
            phase.intervals.iter_mut().for_each(|interval| interval.kinds[5].failed = 4);
        }
        let one = compared(&base, &new);
        assert_eq!((one.places.len(), one.usable), (0, [2, 0]));
        let [found] = &one.unpaired_kinds[..] else { panic!("one place: {one:?}") };
        assert_eq!(found.other_results.len(), 1);
        assert!(
            matches!(&found.failures[..], [(kind, [0, failed])] if *kind == name(5) && *failed > 0),
            "{:?}",
            found.failures
        );
    }

    #[test]
    fn kinds_of_a_place_without_a_rate_have_no_ratio_that_nobody_judged() {
        let [base, new] = [(1, 1.0), (2, 9.0)].map(|(seed, slower)| run(seed, 4, slower, |_| Vec::new()));
        let mut analyses = [&base, &new].map(analyse);
        let summaries = analyses.iter_mut().flat_map(|one| &mut one.points).filter_map(|point| point.summary.as_mut());
        for summary in summaries {
            (summary.ops_per_s, summary.queries_per_s) = (0.0, 0.0);
            (summary.response_ns, summary.service_ns) = (None, None);
        }
        let runs = [&base, &new].into_iter().zip(&analyses);
        let runs = runs.map(|(data, analysis)| ComparedRun { name: "run", data, analysis });
        let one = compare_runs(&runs.collect::<Vec<_>>()).remove(0);
        let [found] = &one.unpaired_kinds[..] else { panic!("one place without a rate: {one:?}") };
        assert_eq!((one.places.len(), found.ratios.len()), (0, 0));
    }

    #[test]
    fn statements_that_fail_at_the_times_of_the_log_make_no_server_slower() {
        let timed = |seed, failing: Option<usize>| {
            let mut run = run(seed, 4, 1.0, |_| Vec::new());
            for point in &mut run.points {
                point.trial.load.pacing = Pacing::Open { arrivals: Arrivals::Recorded { per_s: KINDS as f64 } };
                if let Some(nth) = failing {
                    let row = &mut point.phases[0].intervals[3].kinds[nth];
                    *row = KindRow { failed: 1, ..KindRow::empty(row.kind) };
                }
            }
            run
        };
        let one = compared(&timed(1, None), &timed(2, Some(5)));
        let verdicts: Vec<RatioVerdict> = one.speeds().map(|(_, speed)| speed.estimate.verdict).collect();
        assert_eq!(verdicts, [RatioVerdict::NoDifferenceShown]);
        assert_eq!(kinds(&one).failures, [(name(5), [0, 4])]);
    }

    #[test]
    fn plans_are_compared_unless_an_arm_has_none_or_several() {
        let text = |nth: usize, step: &str| format!("{}\n{step}", name(nth));
        let base = run(1, 2, 1.0, |number| {
            vec![text(1, "a"), text(2, "a"), text(3, "a"), text(7, &number.to_string()), text(9, "a")]
        });
        let new = run(2, 2, 1.0, |_| vec![text(1, "a"), text(2, "b"), text(7, "1"), text(9, "a\nb")]);
        let one = compared(&base, &new);
        let plans = |nth: usize| &kinds(&one).ratios.iter().find(|one| one.kind == name(nth)).unwrap().plans;
        let steps = |steps: &[&str]| steps.iter().map(|step| (*step).to_owned()).collect::<Vec<String>>();
        assert_eq!(*plans(1), PlanComparison::Same(steps(&["a"])));
        assert_eq!(*plans(2), PlanComparison::Other([steps(&["a"]), steps(&["b"])]));
        assert_eq!(
            (plans(3), plans(7), plans(8)),
            (&PlanComparison::Unknown, &PlanComparison::Unsteady, &PlanComparison::Unknown)
        );
        assert_eq!(plans(9).steps()[1], Some(&steps(&["a", "b"])[..]));
        let replanned: Vec<&str> = kinds(&one).replanned().map(|one| one.kind.as_str()).collect();
        assert_eq!(replanned.len(), 2, "{replanned:?}");
    }
}
