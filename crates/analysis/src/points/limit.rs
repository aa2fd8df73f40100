//! Searches for the largest rate that keeps an objective: what each has found, with its probes as analysed points.
//!
//! In: a recorded run, and its points as they were analysed. Out: a [`SearchAnalysis`] for each search of the plan, and a [`RateLimit`] as
//! its figures. Limits: what a search concludes is decided in [`model::limit`], by the machine that searched; nothing is judged again.
//!
//! Probes are no points of the run's tables and charts: a rate that was meant to overload the target is no result, and no alarm. The
//! point in which the limit was held is one, as any other point with a fixed rate.

use crate::evidence::cause::Limit;
use crate::points::bottleneck_above::{BottleneckAbove, bottleneck_above};
use crate::recorded::dimensions::{Described, ENGINE, Label, Role, Setting, SettingValue};
use crate::recorded::engine_names::EngineNames;
use crate::recorded::full_label::describe_in_full;
use crate::{Detail, HeldLimit, PointAnalysis, Validity};
use model::limit::{
    FailureAbove, HoldDebt, LimitOutcome, LimitProbe, LimitResult, LimitSpec, ProbeKind, ProbePart, RecordedSearch,
    searches,
};
use model::{PointData, RunData, Trial};
use serde::Serialize;

#[derive(Clone, Debug)]
pub struct SearchAnalysis {
    /// What distinguishes it from the other points and searches of the run, its clients and repetition included.
    pub label: Label,
    /// The engine, or the path.
    pub engine: String,
    pub workload: String,
    pub spec: LimitSpec,
    /// What it has found.
    pub result: LimitResult,
    /// Its probes in the order in which they were measured, those included that did not end.
    pub probes: Vec<ProbeAnalysis>,
}

#[derive(Clone, Debug)]
pub struct ProbeAnalysis {
    /// Which one it is, and what for.
    pub part: ProbePart,
    /// What the search saw; `None` if it was not measured to its end.
    pub seen: Option<LimitProbe>,
    /// Its numbers and findings.
    pub point: PointAnalysis,
}

/// A search as its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateLimit {
    /// The operations per second that succeeded while the largest rate was held with the objective; `None` if there is none.
    pub rate_per_s: Option<f64>,
    /// Between which rates the limit is, with no upper end if none missed the objective.
    pub ci95: Option<(f64, Option<f64>)>,
    /// How many times the recorded load that is, if the statements of a log were replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<f64>,
    /// Between which multiples of it the limit is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_ci95: Option<(f64, Option<f64>)>,
    pub slo: String,
    /// How the search ended.
    pub outcome: &'static str,
    /// How long the rate was held.
    pub held_s: Option<f64>,
    /// What fails above it first.
    pub failed_above: Option<&'static str>,
    /// What limited the target above it; `None` if no counter shows it.
    pub bottleneck: Option<BottleneckAbove>,
    pub probes: Vec<RateProbe>,
}

/// A probe as its figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateProbe {
    /// The number of its point.
    pub point: u32,
    /// The rate that was offered; `None` of a closed loop.
    pub rate_per_s: Option<f64>,
    /// Whether it kept the objective; `None` if it shows neither.
    pub kept: Option<bool>,
}

/// Describes the points of `run`, in their order. The probes of a search have the settings of its trial: their rates, lengths and intervals are the search's
/// own choice and distinguish nothing.
pub fn describe_all(run: &RunData, names: &EngineNames) -> Vec<Described> {
    if run.points.iter().all(|point| probe_part(&point.trial).is_none()) {
        return describe_in_full(&run.points, names);
    }
    let asked: Vec<PointData> = run.points.iter().map(|point| as_asked(point, &run.meta.plan.trials)).collect();
    describe_in_full(&asked, names)
}

fn probe_part(trial: &Trial) -> Option<ProbePart> {
    trial.limit.as_ref()?.probe
}

/// A probe with the trial of its search, and without what was measured.
pub(crate) fn as_asked(point: &PointData, trials: &[Trial]) -> PointData {
    let asked = probe_part(&point.trial).and_then(|part| trials.get(part.search as usize));
    let Some(asked) = asked else { return point.clone() };
    PointData {
        id: point.id,
        state: point.state,
        error: None,
        trial: asked.clone(),
        facts: point.facts.clone(),
        traits: point.traits.clone(),
        params: point.params.clone(),
        kinds: point.kinds.clone(),
        phases: Vec::new(),
        sources: Vec::new(),
        counters: Default::default(),
        events: Vec::new(),
        stacks: Vec::new(),
        endpoints: Vec::new(),
        hosts: Vec::new(),
    }
}

/// The searches of `run`, of which all points were analysed, and the points that are no probes, with those in which limits were held.
pub fn separate_searches(
    run: &RunData,
    names: &EngineNames,
    points: Vec<PointAnalysis>,
) -> (Vec<SearchAnalysis>, Vec<PointAnalysis>) {
    let recorded = searches(run);
    if recorded.is_empty() {
        return (Vec::new(), points);
    }
    let parts = run.points.iter().map(|point| probe_part(&point.trial));
    let (probes, mut others): (Vec<_>, Vec<_>) = parts.zip(points).partition(|(part, _)| part.is_some());
    let found: Vec<SearchAnalysis> = recorded
        .iter()
        .map(|one| {
            let own =
                probes.iter().filter_map(|(part, point)| Some((part.filter(|part| part.search == one.search)?, point)));
            analyse_search(one, &run.meta.plan.trials[one.search as usize], names, own)
        })
        .collect();
    others.extend(found.iter().filter_map(SearchAnalysis::held_point).map(|held| (None, held)));
    let mut others: Vec<PointAnalysis> = others.into_iter().map(|(_, point)| point).collect();
    others.sort_by_key(|point| point.id);
    (found, others)
}

fn analyse_search<'a>(
    recorded: &RecordedSearch,
    asked: &Trial,
    names: &EngineNames,
    points: impl Iterator<Item = (ProbePart, &'a PointAnalysis)>,
) -> SearchAnalysis {
    let probes: Vec<ProbeAnalysis> = points
        .map(|(part, point)| {
            let place = recorded.points.iter().position(|id| *id == point.id);
            ProbeAnalysis { part, seen: place.map(|nth| recorded.result.probes[nth].clone()), point: point.clone() }
        })
        .map(ProbeAnalysis::without_expected)
        .collect();
    let (engine, workload) = (names.name_of(asked), asked.workload.name.clone());
    let label = probes.first().map_or_else(|| short_label(&engine, &workload), |first| first.point.label.clone());
    SearchAnalysis { label, engine, workload, spec: recorded.spec.clone(), result: recorded.result.clone(), probes }
}

/// The label of a search that never began.
fn short_label(engine: &str, workload: &str) -> Label {
    let named = |name: &str, role, value: &str| Setting::of_run(name, role, SettingValue::Name(value.to_owned()));
    let group = vec![named(ENGINE, Role::Engine, engine), named("workload", Role::Workload, workload)];
    Label { group, place: Vec::new() }
}

impl ProbeAnalysis {
    /// Without what a probe is expected to show: that it was overloaded, if it missed the objective, and that a rate which was kept was
    /// served, with the advice to raise it.
    fn without_expected(mut self) -> ProbeAnalysis {
        let missed = self.seen.as_ref().is_some_and(has_missed);
        self.point.findings.retain(|finding| match &finding.detail {
            Detail::Overload(_) => !missed,
            Detail::Bottleneck(cause) => cause.limit() != Limit::Schedule,
            _ => true,
        });
        if let Some(found) = &mut self.point.bottlenecks {
            found.causes.retain(|cause| cause.limit() != Limit::Schedule);
        }
        self.point.validity = Validity::from_severities(self.point.findings.iter().map(|finding| finding.severity));
        self
    }

    /// The rate that was offered; `None` of a closed loop.
    pub fn offered_per_s(&self) -> Option<f64> {
        self.seen.as_ref().and_then(|seen| seen.offered_per_s).or(self.point.summary.as_ref()?.offered_per_s)
    }
}

fn has_missed(seen: &LimitProbe) -> bool {
    seen.ended_early || seen.judgement.is_some_and(|judgement| judgement.missed().is_some())
}

impl SearchAnalysis {
    /// The settings that name it.
    pub fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.label.group.iter().chain(&self.label.place)
    }

    /// The probe in which the limit was held; `None` if there is no limit.
    pub fn held(&self) -> Option<&ProbeAnalysis> {
        let per_s = self.result.per_s?;
        self.probes.iter().rfind(|probe| {
            let seen = probe.seen.as_ref().filter(|seen| seen.kind == ProbeKind::Hold);
            seen.is_some_and(|seen| {
                seen.offered_per_s == Some(per_s) && seen.judgement.is_some_and(|judgement| judgement.keeps())
            })
        })
    }

    /// The point in which the limit was held, with the limit; `None` if there is none.
    fn held_point(&self) -> Option<PointAnalysis> {
        let is_known = self.result.outcome == LimitOutcome::BoundaryFound;
        let held = HeldLimit { per_s: self.result.carried_per_s().filter(|_| is_known) };
        Some(PointAnalysis { held: Some(held), ..self.held()?.point.clone() })
    }

    /// Whether the probe of that index was repeated: a later one is of the same rate.
    pub fn is_repeated(&self, nth: usize) -> bool {
        let own = &self.probes[nth];
        let has_judgement = |probe: &ProbeAnalysis| probe.seen.as_ref().is_some_and(|seen| seen.judgement.is_some());
        self.probes[nth + 1..].iter().enumerate().any(|(after, later)| {
            let is_same = later.part.kind == own.part.kind && later.offered_per_s() == own.offered_per_s();
            // A void probe is followed by the next of its rate, which may be void as well.
            is_same && (has_judgement(later) || after == 0)
        })
    }

    /// Whether the probe of that index kept the objective, with those of the same rate before it; `None` if it shows neither.
    pub fn keeps(&self, nth: usize) -> Option<bool> {
        let probe = &self.probes[nth];
        let seen = probe.seen.as_ref()?;
        // The search takes all probes of one rate together, so that the last of them decides.
        let judgement = seen.judgement.filter(|_| !self.is_repeated(nth))?;
        let is_held = self.held().is_some_and(|held| held.point.id == probe.point.id);
        let is_filling = matches!(self.result.debt, HoldDebt::Filling { .. });
        Some(judgement.keeps() && (seen.debt_growth_per_s.is_none() || is_held || is_filling))
    }

    /// The highest rate that kept the objective, held or not.
    pub fn highest_kept(&self) -> Option<&ProbeAnalysis> {
        self.with_outcome(true).max_by(|a, b| by_rate(a, b))
    }

    /// The lowest rate above the limit that missed the objective; of all if there is no limit.
    pub fn lowest_missed(&self) -> Option<&ProbeAnalysis> {
        let limit = self.result.per_s.unwrap_or(0.0);
        let above = self.with_outcome(false).filter(|probe| probe.offered_per_s().is_some_and(|per_s| per_s > limit));
        above.min_by(|a, b| by_rate(a, b))
    }

    fn with_outcome(&self, kept: bool) -> impl Iterator<Item = &ProbeAnalysis> {
        (0..self.probes.len()).filter(move |nth| self.keeps(*nth) == Some(kept)).map(|nth| &self.probes[nth])
    }

    /// What limited the target above the limit; `None` if no counter shows it.
    pub fn bottleneck(&self) -> Option<BottleneckAbove> {
        let limit = self.result.per_s.unwrap_or(0.0);
        let mut missed: Vec<&ProbeAnalysis> =
            self.with_outcome(false).filter(|probe| probe.offered_per_s().is_some_and(|per_s| per_s > limit)).collect();
        missed.sort_by(|a, b| by_rate(a, b));
        // A closed loop goes as fast as the target can.
        let closed = self.probes.iter().filter(|probe| probe.part.kind == ProbeKind::Closed);
        bottleneck_above(missed.into_iter().chain(closed))
    }

    /// The rate of the closed loop with which it began; `None` if that was not measured.
    pub fn closed_per_s(&self) -> Option<f64> {
        let closed = self.probes.iter().find(|probe| probe.part.kind == ProbeKind::Closed)?;
        closed.point.summary.as_ref().map(|summary| summary.ops_per_s)
    }

    pub fn figures(&self) -> RateLimit {
        let recorded = self.spec.arrivals.recorded();
        let times = |per_s: f64| recorded.map(|load| per_s / load.per_s);
        RateLimit {
            rate_per_s: self.result.carried_per_s(),
            ci95: self.result.carried_between(),
            times: self.result.carried_per_s().and_then(times),
            times_ci95: self.result.carried_between().and_then(|(low, high)| Some((times(low)?, high.and_then(times)))),
            slo: self.spec.objective.to_string(),
            outcome: self.result.outcome.as_str(),
            held_s: self.result.held.map(|held| held.as_secs_f64()),
            failed_above: self.result.failure.as_ref().map(FailureAbove::name),
            bottleneck: self.bottleneck(),
            probes: (0..self.probes.len())
                .map(|nth| RateProbe {
                    point: self.probes[nth].point.id,
                    rate_per_s: self.probes[nth].offered_per_s(),
                    kept: self.keeps(nth),
                })
                .collect(),
        }
    }

    /// Whether it was measured to its end.
    pub fn is_over(&self) -> bool {
        self.result.outcome != LimitOutcome::Interrupted
    }
}

fn by_rate(a: &ProbeAnalysis, b: &ProbeAnalysis) -> std::cmp::Ordering {
    let rate = |probe: &ProbeAnalysis| probe.offered_per_s().unwrap_or(0.0);
    rate(a).total_cmp(&rate(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{ComparedRun, compare_groups};
    use crate::evidence::cause::LimitEvidence;
    use crate::points::metric::Metric;
    use crate::simulated::searches::{asked, searched};
    use crate::verdict::Capacity;
    use crate::{Analysis, Code, analyse};
    use model::PointState;
    use model::limit::Objective;

    fn figures(analysis: &Analysis, nth: usize) -> &RateLimit {
        analysis.verdict.groups[nth].limit.as_ref().expect("it is a search")
    }

    #[test]
    fn a_search_that_ended_has_its_rate_its_interval_and_its_probes_and_only_the_hold_is_a_point() {
        // The 99th percentile of an M/M/1 queue is 4.6 / (1 / service - rate): below 20 ms up to 770 a second.
        let run = searched(&["sqlite"], "p99<20ms", None, usize::MAX);
        let analysis = analyse(&run);
        let [search] = analysis.searches.as_slice() else { panic!("one search") };
        let per_s = search.result.per_s.expect("there is a limit");
        assert!((650.0..850.0).contains(&per_s), "{:?}", search.result);
        assert_eq!(search.probes.len(), run.points.len());
        let held = search.held().expect("it was held");
        assert_eq!(analysis.points.iter().map(|point| point.id).collect::<Vec<_>>(), [held.point.id]);
        assert!(search.lowest_missed().is_some_and(|probe| probe.offered_per_s() > Some(per_s)));
        let [group] = analysis.verdict.groups.as_slice() else { panic!("one group") };
        assert!(matches!(&group.capacity, Capacity::Rate(rate) if rate.offered_per_s == Some(per_s)), "{group:?}");
        let limit = figures(&analysis, 0);
        assert_eq!((limit.slo.as_str(), limit.outcome), ("p99<20ms", "boundary-found"));
        assert_eq!((limit.failed_above, limit.held_s), (Some("p99"), Some(20.0)));
        assert!(limit.ci95.is_some_and(|(low, high)| low <= per_s && high > Some(per_s)), "{limit:?}");
        assert_eq!(limit.probes[0], RateProbe { point: 1, rate_per_s: None, kept: None }, "the closed loop");
        let kept: Vec<bool> = limit.probes.iter().filter_map(|probe| probe.kept).collect();
        assert!(kept.contains(&true) && kept.contains(&false), "{limit:?}");
    }

    #[test]
    fn probes_that_were_to_overload_are_no_alarm_and_change_neither_findings_nor_trust() {
        let run = searched(&["sqlite"], "p99<20ms", None, usize::MAX);
        let analysis = analyse(&run);
        let search = &analysis.searches[0];
        let missed = (0..search.probes.len()).filter(|nth| search.keeps(*nth) == Some(false));
        let mut codes = missed.clone().flat_map(|nth| &search.probes[nth].point.findings).map(|finding| finding.code());
        assert!(missed.count() > 0 && codes.all(|code| code != Code::Overload));
        let held = &search.held().expect("it was held").point;
        assert!(held.findings.iter().all(|finding| finding.code() != Code::Bottleneck), "{:?}", held.findings);
        assert_eq!(analysis.verdict.trust.validity.points(), 1);
        assert!(
            analysis.verdict.trust.unmeasured.is_empty() && analysis.findings.is_empty(),
            "{:?}",
            analysis.findings
        );
    }

    #[test]
    fn searches_of_several_engines_are_groups_of_their_own() {
        let run = searched(&["sqlite", "fjall"], "p99<20ms", None, usize::MAX);
        let analysis = analyse(&run);
        let groups: Vec<(&str, bool)> =
            analysis.verdict.groups.iter().map(|group| (group.engine.as_str(), group.limit.is_some())).collect();
        assert_eq!(groups, [("sqlite", true), ("fjall", true)]);
        let labels: Vec<String> = analysis.searches[1].settings().map(|setting| setting.value.to_string()).collect();
        assert_eq!(labels, ["fjall", "oltp"], "no rate of a probe is in a label");
        let limits: Vec<f64> = (0..2).filter_map(|nth| figures(&analysis, nth).rate_per_s).collect();
        let [table] = analysis.verdict.relative.as_slice() else { panic!("{:?}", analysis.verdict.relative) };
        let [row] = table.rows.as_slice() else { panic!("the limit is all that is compared: {:?}", table.rows) };
        assert_eq!((row.metric, row.base.mean), (Metric::LimitPerS, limits[0]));
        let ratio = row.cells[0].expect("both have a limit").ratio;
        assert!((ratio.ratio - limits[1] / limits[0]).abs() < 1e-12 && ratio.ci95.is_none(), "{ratio:?}");
        let run = ComparedRun { name: "run", data: &run, analysis: &analysis };
        let compared = compare_groups(&run, "engine", None).expect("it has two engines");
        let metrics: Vec<Metric> = compared[0].ratios().map(|(_, metric)| metric.metric).collect();
        assert_eq!(metrics, [Metric::LimitPerS]);
    }

    #[test]
    fn the_bottleneck_above_the_limit_is_that_of_a_probe_that_missed_or_of_the_closed_loop() {
        let analysis = analyse(&searched(&["sqlite"], "p99<20ms", None, usize::MAX));
        let cause = figures(&analysis, 0).bottleneck.clone().expect("the CPU is busy");
        assert_eq!(cause.limits, [Limit::Cpu]);
        assert!(
            matches!(cause.causes[0].evidence, LimitEvidence::Cpu { busy_share, .. } if busy_share.0 > 0.9),
            "{cause:?}"
        );
        assert!(cause.rate_per_s.is_none_or(|per_s| Some(per_s) > figures(&analysis, 0).rate_per_s), "{cause:?}");
        assert_eq!(analysis.verdict.bottleneck().judged, 0, "it is in the figures of the search");
    }

    #[test]
    fn searches_that_differ_in_what_they_ask_have_labels_that_differ() {
        let mut run = searched(&["sqlite", "sqlite"], "p99<20ms", None, 3);
        let objective = Objective::parse("p99<30ms").expect("it is one");
        let asks = |trial: &mut Trial| trial.limit.as_mut().expect("it is a search").spec.objective = objective.clone();
        asks(&mut run.meta.plan.trials[1]);
        let others =
            run.points.iter_mut().filter(|point| probe_part(&point.trial).is_some_and(|part| part.search == 1));
        others.for_each(|point| asks(&mut point.trial));
        let analysis = analyse(&run);
        let label = |nth: usize| analysis.searches[nth].settings().map(|one| one.value.to_string()).collect::<Vec<_>>();
        assert_eq!([label(0), label(1)], [["sqlite", "oltp", "p99<20ms"], ["sqlite", "oltp", "p99<30ms"]]);
    }

    #[test]
    fn an_objective_that_no_rate_or_every_rate_keeps_has_no_made_up_number() {
        let never = analyse(&searched(&["sqlite"], "p99<1us", None, usize::MAX));
        let limit = figures(&never, 0);
        assert_eq!((limit.rate_per_s, limit.ci95, limit.outcome), (None, None, "no-rate-holds"));
        assert!(never.points.is_empty() && !never.searches[0].probes.is_empty());
        let always = analyse(&searched(&["sqlite"], "p99<1s", Some(100.0), usize::MAX));
        let limit = figures(&always, 0);
        assert_eq!((limit.rate_per_s, limit.outcome, limit.failed_above), (Some(100.0), "lower-bound", None));
        assert_eq!(limit.ci95.map(|(_, high)| high), Some(None), "{limit:?}");
    }

    #[test]
    fn an_interrupted_search_keeps_its_probes_and_one_that_never_began_has_none() {
        let mut run = searched(&["sqlite"], "p99<20ms", None, 3);
        run.points[2].state = PointState::Partial;
        run.meta.plan.trials.push(asked("fjall", "p99<20ms", None));
        let analysis = analyse(&run);
        let [begun, never] = analysis.searches.as_slice() else { panic!("two searches") };
        assert_eq!((begun.probes.len(), begun.probes[2].seen.is_none(), begun.is_over()), (3, true, false));
        assert_eq!((never.probes.len(), never.engine.as_str()), (0, "fjall"));
        assert_eq!((figures(&analysis, 0).outcome, figures(&analysis, 0).probes.len()), ("interrupted", 3));
        assert!(analysis.points.is_empty());
    }
}
