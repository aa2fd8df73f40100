//! A run that was interrupted goes on: where, since when, and whether what is still to be measured can stand beside what is there.
//!
//! In: a run file that nobody records any more. Out: its plan, the first point that is not complete, and what an event is to tell.
//! What it holds is left as it is: the analysis leaves out an attempt that a later one of the same point took the place of.
//! Limits: another plimsoll, machine, kernel, file system or engine is refused. What else is unlike is told and kept as an event.

use crate::error::RunnerError;
use model::{Event, EventKind, Fact, Nanos, Plan, PointState, Tick, Trial};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use store::RunHead;

/// Facts that make figures incomparable where they differ. The others, such as the scheduler of the disk, are told of.
const MUST_AGREE: [&str; 8] = [
    "cpu.model",
    "cpu.arch",
    "cpu.count",
    "cpu.usable",
    "kernel.release",
    "filesystem",
    "disk.model",
    "plimsoll.build",
];

/// What is remembered beside a run changes with every `plimsoll disk`.
const MAY_DIFFER: &str = "ceiling.";

/// A run to go on with.
pub struct Resumed {
    /// Its plan.
    pub plan: Plan,
    /// The first of its points that is not complete.
    pub first: usize,
    started_unix_ms: u64,
    versions: BTreeMap<String, String>,
    unlike: Vec<String>,
}

/// What went before the first point of a run that goes on.
pub struct Interruption {
    /// The time of the run at which it is over.
    pub over: Tick,
    told: Option<String>,
    /// Of each engine that was measured, its version.
    versions: BTreeMap<String, String>,
}

impl Resumed {
    /// The run in `run_file`, on a machine of which `environment` tells.
    pub fn of(run_file: &Path, environment: &[Fact], catalogue: &model::Catalogue) -> Result<Resumed, RunnerError> {
        let head = store::read_meta(run_file)?;
        let shown = run_file.display().to_string();
        let refused = |why: String| RunnerError::Unsupported(format!("`{shown}` cannot go on: {why}"));
        let Some(first) = first_incomplete(&head) else {
            return Err(refused(format!("all {} points of it are complete", head.meta.plan.trials.len())));
        };
        let version = env!("CARGO_PKG_VERSION");
        if head.meta.plimsoll_version != version {
            let other = &head.meta.plimsoll_version;
            return Err(refused(format!(
                "plimsoll `{other}` recorded it and this is `{version}`; measure its plan anew"
            )));
        }
        plan::check(&head.meta.plan, &shown, catalogue)?;
        let (unfit, unlike): (Vec<_>, Vec<_>) = differences(&head.meta.environment, environment)
            .into_iter()
            .partition(|(name, _)| MUST_AGREE.contains(name));
        if let Some((_, text)) = unfit.first() {
            return Err(refused(format!("{text}, so its figures could not be compared; measure its plan anew")));
        }
        let (plan, started_unix_ms) = (head.meta.plan, head.meta.started_unix_ms);
        let unlike = unlike.into_iter().map(|(_, text)| text).collect();
        Ok(Resumed { plan, first, started_unix_ms, versions: versions(&head.points), unlike })
    }

    /// The interruption, which ends now, of a run whose last moment on record is `last`.
    pub fn interruption(self, last: Tick) -> (Plan, usize, Interruption) {
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        let by_wall = Tick(now_ms.saturating_sub(self.started_unix_ms).saturating_mul(1_000_000));
        let (over, told) = gap(last, by_wall);
        let told = [told].into_iter().chain(self.unlike).collect::<Vec<_>>().join("; ");
        (self.plan, self.first, Interruption { over, told: Some(told), versions: self.versions })
    }

    /// What is unlike and no reason to refuse.
    pub fn unlike(&self) -> &[String] {
        &self.unlike
    }
}

/// When the run goes on, and what is to be told of the time since `last`. The clock that counted until then may have begun anew:
/// the wall clock says how long ago the run began. Where that was set back, the run goes on at once.
fn gap(last: Tick, by_wall: Tick) -> (Tick, String) {
    match by_wall > last {
        true => {
            let seconds = by_wall.since(last).as_secs_f64();
            (by_wall, format!("the run was interrupted, and goes on after {seconds:.0} s"))
        }
        false => {
            let text = "the run was interrupted, and goes on after an unknown time: the wall clock was set back";
            (last + Nanos::from_millis(1), text.to_owned())
        }
    }
}

/// The first point of the plan that no complete point of the run is of.
fn first_incomplete(head: &RunHead) -> Option<usize> {
    let complete =
        |trial: &Trial| head.points.iter().any(|point| point.state == PointState::Complete && point.trial == *trial);
    head.meta.plan.trials.iter().position(|trial| !complete(trial))
}

fn versions(points: &[store::PointHead]) -> BTreeMap<String, String> {
    let complete = points.iter().filter(|point| point.state == PointState::Complete);
    complete.filter_map(|point| Some((point.trial.target.engine.clone(), version(&point.facts)?.to_owned()))).collect()
}

fn version(facts: &[Fact]) -> Option<&str> {
    facts.iter().find(|fact| fact.name == "engine.version").map(|fact| fact.value.as_str())
}

/// The facts that both know and that are unlike, by name and as a sentence.
fn differences<'a>(before: &'a [Fact], now: &[Fact]) -> Vec<(&'a str, String)> {
    let unlike = before.iter().filter(|fact| !fact.name.starts_with(MAY_DIFFER)).filter_map(|before| {
        let now = now.iter().find(|fact| fact.name == before.name)?;
        let text = || format!("`{}` was `{}` and is `{}`", before.name, before.value, now.value);
        (now.value != before.value).then(|| (before.name.as_str(), text()))
    });
    unlike.collect()
}

impl Interruption {
    /// The event that tells of it, the first time it is asked for.
    pub fn told_once(&mut self) -> Option<Event> {
        Some(Event::new(self.over, EventKind::ClockGap, self.told.take()?))
    }

    /// Refuses an engine of another version than the one that was measured before.
    pub fn check_engine(&self, trial: &Trial, facts: &[Fact]) -> Result<(), RunnerError> {
        let engine = &trial.target.engine;
        match (self.versions.get(engine), version(facts)) {
            (Some(before), Some(now)) if before != now => Err(RunnerError::Unsupported(format!(
                "the run cannot go on: engine `{engine}` was `{before}` in the points before and is `{now}`; measure its plan anew"
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
    fn only_what_both_know_and_what_differs_is_told() {
        let before = facts(&[("cpu.model", "A"), ("disk.scheduler", "none"), ("ceiling.read", "1"), ("os", "Debian")]);
        let now = facts(&[("cpu.model", "B"), ("disk.scheduler", "none"), ("ceiling.read", "2")]);
        assert_eq!(differences(&before, &now), [("cpu.model", "`cpu.model` was `A` and is `B`".to_owned())]);
        assert_eq!(differences(&before, &before), []);
    }

    #[test]
    fn time_goes_on_by_the_wall_clock_and_never_back() {
        let second = |n: u64| Tick(n * 1_000_000_000);
        let (over, told) = gap(second(100), second(3_700));
        assert_eq!((over, told.as_str()), (second(3_700), "the run was interrupted, and goes on after 3600 s"));
        let (over, told) = gap(second(100), second(40));
        assert!(over > second(100) && told.ends_with("the wall clock was set back"), "{over:?} {told}");
    }

    #[test]
    fn an_engine_of_another_version_is_refused() {
        let versions = [("sqlite".to_owned(), "3.50".to_owned())].into();
        let mut interruption = Interruption { over: Tick(5), told: Some("gap".into()), versions };
        let catalogue = crate::catalogue();
        let plan = plan::from_flags("insert", &plan::Overrides::default(), 1.0, &catalogue).unwrap();
        let check = |version: &str| interruption.check_engine(&plan.trials[0], &facts(&[("engine.version", version)]));
        assert!(check("3.50").is_ok());
        assert!(check("3.51").unwrap_err().to_string().contains("was `3.50` in the points before and is `3.51`"));
        assert_eq!(interruption.told_once().map(|event| event.text), Some("gap".to_owned()));
        assert_eq!(interruption.told_once(), None);
    }
}
