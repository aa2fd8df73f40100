//! Resumes a run that was interrupted: which trial is next, and whether its results can be compared with those in the file.
//!
//! In: a run file that is no longer recorded. Out: its plan, the points that are complete, and an event for the gap.
//! The file keeps what it holds: the analysis leaves out an attempt that was measured again.
//! Limits: another version of plimsoll, machine, kernel, file system or engine is refused. Other differences are reported and kept
//! as an event. A run whose server was restored before each point is refused if it would not be any more, or by another program.

use super::strategy::{DonePoint, PlanMatrix, Strategy, complete_points};
use super::time_left::since_start;
use crate::error::RunnerError;
use crate::preflight::{RunSite, wall_time_of_run};
use model::{Event, EventKind, Fact, Nanos, Plan, PointState, RESTORE_FACT, TIME_OVER_FACT, Tick, Trial};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use store::{PointHead, PointId, RunHead};

/// Facts that make results incomparable if they differ. Differences in others, such as the scheduler of the disk, are reported.
const MUST_AGREE: [&str; 9] = [
    "cpu.model",
    "cpu.arch",
    "cpu.count",
    "cpu.usable",
    "kernel.release",
    "filesystem",
    "disk.model",
    "plimsoll.build",
    "plimsoll.allocator",
];

/// Facts that always differ: `plimsoll disk` changes the ceilings, and the cost of reading the clock is measured each time.
const MAY_DIFFER: [&str; 2] = ["ceiling.", "clock.read_ns"];

/// A run that can be resumed.
pub struct ResumedRun {
    /// The plan that the run file records.
    pub plan: Plan,
    /// Its points that are complete, in the order of the plan.
    pub done: Vec<DonePoint>,
    /// How long each of its points took, those that are not complete included.
    earlier: Vec<(u32, Nanos)>,
    started_unix_ms: u64,
    versions: BTreeMap<EngineSource, String>,
    unlike: Vec<String>,
}

/// The interruption before the first point of a resumed run.
pub struct RunInterruption {
    /// The time of the run at which it ends.
    pub over: Tick,
    /// The points that are complete.
    pub done: Vec<DonePoint>,
    /// How long each point before it took, those that are not complete included.
    pub earlier: Vec<(u32, Nanos)>,
    text: Option<String>,
    /// Of each engine that was measured, its version.
    versions: BTreeMap<EngineSource, String>,
}

impl ResumedRun {
    /// The run in `run_file`, to be measured further at `site`, on the machine that `environment` describes.
    pub fn open(
        run_file: &Path,
        site: &RunSite,
        environment: &[Fact],
        catalogue: &model::Catalogue,
    ) -> Result<ResumedRun, RunnerError> {
        let head = store::read_meta(run_file)?;
        let shown = host::error::shown(run_file);
        let done = complete_points(&head.meta.plan, &head.points);
        let version = env!("CARGO_PKG_VERSION");
        if head.meta.plimsoll_version != version {
            let other = &head.meta.plimsoll_version;
            let why = format!("it was recorded by plimsoll `{other}`, and this is `{version}`; start the plan again");
            return Err(cannot_resume(&shown, &why));
        }
        plan::check(&head.meta.plan, &shown, catalogue)?;
        let restore = site.restore.as_ref().map(|restore| restore.program());
        if let Some(why) = why_not_restored(head.meta.fact(RESTORE_FACT), restore) {
            return Err(cannot_resume(&shown, &why));
        }
        let earlier = store::read_wall_times(run_file)?;
        let ids: Vec<_> = done.iter().map(|done| done.point).collect();
        let matrix = PlanMatrix::new(&head.meta.plan, catalogue, run_file).after(&done);
        if let Some(why) = why_over(matrix.in_time(&earlier, since_start()), &ids, &head)? {
            return Err(cannot_resume(&shown, &why));
        }
        let (unfit, unlike): (Vec<_>, Vec<_>) = differences(&head.meta.environment, environment)
            .into_iter()
            .partition(|(name, _)| MUST_AGREE.contains(name));
        if let Some((name, text)) = unfit.first() {
            let advice = match *name {
                "plimsoll.allocator" => "use the same --client-allocator",
                _ => "start the plan again",
            };
            let why = format!("{text}, so the results would not be comparable; {advice}");
            return Err(cannot_resume(&shown, &why));
        }
        let (plan, started_unix_ms) = (head.meta.plan, head.meta.started_unix_ms);
        let unlike = unlike.into_iter().map(|(_, text)| text).collect();
        Ok(ResumedRun { plan, done, earlier, started_unix_ms, versions: engine_versions(&head.points), unlike })
    }

    /// Its plan and the interruption, which ends now, of a run whose last recorded moment is `last`.
    pub fn into_interruption(self, last: Tick) -> (Plan, RunInterruption) {
        let ResumedRun { plan, done, earlier, started_unix_ms, versions, unlike } = self;
        let (over, gap) = describe_gap(last, wall_time_of_run(started_unix_ms));
        let text = [gap].into_iter().chain(unlike).collect::<Vec<_>>().join("; ");
        (plan, RunInterruption { over, done, earlier, text: Some(text), versions })
    }

    /// How the machine or its settings differ from those of the earlier points, a sentence each; no reason to refuse.
    pub fn differences(&self) -> &[String] {
        &self.unlike
    }
}

/// Why nothing is left to measure of a run whose points `done` are complete; `None` if something is.
fn why_over(mut matrix: PlanMatrix<'_>, done: &[PointId], head: &RunHead) -> Result<Option<String>, RunnerError> {
    let (has_next, plan) = (matrix.next(done)?.is_some(), &head.meta.plan);
    // Comparisons that time ended had their last look, and get no other.
    let mut facts = head.points.iter().flat_map(|point| &point.facts);
    let is_time_over = matrix.spent_budget().is_some() || facts.any(|fact| fact.name == TIME_OVER_FACT);
    Ok(match plan.sure.and_then(|sure| sure.budget).filter(|_| is_time_over) {
        Some(budget) => Some(format!("its budget of {budget} is spent; start the plan again with a larger `budget`")),
        None if has_next => None,
        None if plan.sure.is_some() && done.len() < plan.trials.len() => Some("nothing is left to decide".to_owned()),
        None => Some("all its points are complete".to_owned()),
    })
}

/// Why the points that are left would not begin with the data with which the others began, before which the program `recorded` restored the server:
/// that is not what does so `now`. `None` if they would.
fn why_not_restored(recorded: Option<&str>, now: Option<&str>) -> Option<String> {
    match (recorded?, now) {
        (program, None) => Some(format!(
            "`{program}` restored the server before each of its points, and without --restore the others would begin with what these have \
             written; add the same --restore"
        )),
        (program, Some(other)) if other != program => Some(format!(
            "`{program}` restored the server before each of its points, and --restore names `{other}`, which may bring back other data; use \
             the same --restore"
        )),
        _ => None,
    }
}

fn cannot_resume(run_file: &str, why: &str) -> RunnerError {
    RunnerError::Unsupported(format!("`{run_file}` cannot be resumed: {why}"))
}

/// When the run continues, and a sentence about the time since `last`. A reboot sets the monotonic clock to 0, so the wall clock
/// decides how long ago the run began. If the wall clock was set back, the run continues at once.
fn describe_gap(last: Tick, by_wall: Tick) -> (Tick, String) {
    if by_wall > last {
        let seconds = by_wall.since(last).as_secs_f64();
        (by_wall, format!("the run was interrupted and resumed after {seconds:.0} s"))
    } else {
        let text = "the run was interrupted and resumed after an unknown time: the wall clock was set back";
        (last + Nanos::from_millis(1), text.to_owned())
    }
}

fn engine_versions(points: &[PointHead]) -> BTreeMap<EngineSource, String> {
    let complete = points.iter().filter(|point| point.state == PointState::Complete);
    let versions = complete.map(|point| (engine_source(&point.trial), engine_version(&point.facts)));
    versions.filter_map(|(engine, version)| Some((engine, version?.to_owned()))).collect()
}

/// An engine, and the folder of its programs.
type EngineSource = (String, Option<PathBuf>);

fn engine_source(trial: &Trial) -> EngineSource {
    (trial.target.engine.clone(), trial.target.programs.clone())
}

fn engine_version(facts: &[Fact]) -> Option<&str> {
    facts.iter().find(|fact| fact.name == "engine.version").map(|fact| fact.value.as_str())
}

/// The facts that both have and that differ, by name and as a sentence.
fn differences<'a>(before: &'a [Fact], now: &[Fact]) -> Vec<(&'a str, String)> {
    let constant = before.iter().filter(|fact| !MAY_DIFFER.iter().any(|name| fact.name.starts_with(name)));
    let unlike = constant.filter_map(|before| {
        let now = now.iter().find(|fact| fact.name == before.name)?;
        (now.value != before.value).then(|| {
            let text =
                format!("{}; earlier points of this run used `{}`", describe_difference(before, now), before.value);
            (before.name.as_str(), text)
        })
    });
    unlike.collect()
}

/// `` `cpu.model` changed from `A` to `B` ``
pub(crate) fn describe_difference(before: &Fact, now: &Fact) -> String {
    format!("`{}` changed from `{}` to `{}`", before.name, before.value, now.value)
}

impl RunInterruption {
    /// How long the sessions before it took.
    pub fn spent(&self) -> Nanos {
        Nanos(self.earlier.iter().fold(0, |sum: u64, (_, took)| sum.saturating_add(took.0)))
    }

    /// The event for it, the first time this is called.
    pub fn take_event(&mut self) -> Option<Event> {
        Some(Event::new(self.over, EventKind::ClockGap, self.text.take()?))
    }

    /// Refuses an engine of another version than the one that was measured before.
    pub fn check_engine(&self, trial: &Trial, facts: &[Fact]) -> Result<(), RunnerError> {
        let engine = &trial.target.engine;
        match (self.versions.get(&engine_source(trial)), engine_version(facts)) {
            (Some(before), Some(now)) if before != now => Err(RunnerError::Unsupported(format!(
                "the run cannot be resumed: engine `{engine}` changed from `{before}` to `{now}`; start the plan again"
            ))),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(all: &[(&str, &str)]) -> Vec<Fact> {
        all.iter().map(|(name, value)| Fact::new(*name, *value)).collect()
    }

    #[test]
    fn the_points_that_are_left_are_restored_by_the_same_program() {
        assert_eq!(why_not_restored(None, Some("a")), None);
        assert_eq!(why_not_restored(Some("a"), Some("a")), None);
        let why = |now| why_not_restored(Some("a"), now).unwrap_or_default();
        assert!(why(None).ends_with("; add the same --restore"), "{}", why(None));
        assert!(why(Some("b")).contains("--restore names `b`"), "{}", why(Some("b")));
    }

    #[test]
    fn differences_are_of_facts_that_both_have_and_that_do_not_vary_by_nature() {
        let natural = [("ceiling.read", "1"), ("clock.read_ns", "25")];
        let before =
            facts(&[&[("cpu.model", "A"), ("disk.scheduler", "none"), ("os", "Debian")], &natural[..]].concat());
        let natural = [("ceiling.read", "2"), ("clock.read_ns", "27")];
        let now = facts(&[&[("cpu.model", "B"), ("disk.scheduler", "none")], &natural[..]].concat());
        let text = "`cpu.model` changed from `A` to `B`; earlier points of this run used `A`";
        assert_eq!(differences(&before, &now), [("cpu.model", text.to_owned())]);
        assert_eq!(differences(&before, &before), []);
    }

    #[test]
    fn time_goes_on_by_the_wall_clock_and_never_back() {
        let second = |n: u64| Tick(n * 1_000_000_000);
        let (over, text) = describe_gap(second(100), second(3_700));
        assert_eq!((over, text.as_str()), (second(3_700), "the run was interrupted and resumed after 3600 s"));
        let (over, text) = describe_gap(second(100), second(40));
        assert!(over > second(100) && text.ends_with("the wall clock was set back"), "{over:?} {text}");
    }

    #[test]
    fn an_engine_of_another_version_is_refused() {
        let versions = [(("sqlite".to_owned(), None), "3.50".to_owned())].into();
        let (done, earlier, text) = (Vec::new(), Vec::new(), Some("gap".into()));
        let mut interruption = RunInterruption { over: Tick(5), done, earlier, text, versions };
        let catalogue = crate::catalogue();
        let plan = plan::from_flags("insert", &plan::Overrides::default(), 1.0, &catalogue).unwrap();
        let check = |version: &str| interruption.check_engine(&plan.trials[0], &facts(&[("engine.version", version)]));
        assert!(check("3.50").is_ok());
        assert!(check("3.51").unwrap_err().to_string().contains("changed from `3.50` to `3.51`"));
        assert_eq!(interruption.take_event().map(|event| event.text), Some("gap".to_owned()));
        assert_eq!(interruption.take_event(), None);
    }
}
