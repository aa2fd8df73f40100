//! Several instances of one engine at once, each with its own data directory, server and cache, as one [`Instance`].
//!
//! In: a trial with `instances` above 1. Out: an instance whose clients are those of all, in the order of the instances; whose counters are
//! sums; whose data is that of all; whose settings are those of all, each with its instance. Limits: facts are those of the first, and whole
//! numbers that are known only after the load are sums. Each instance has a seed of its own, so that they do not do the same at the same moment. Instances
//! are started, settled and stopped one after the other; their data is made by all clients together.

use crate::conditions::CheckedConditions;
use crate::engine::{DataSpace, EngineLocation, Instance, InstanceReport, ResetFor, StartContext, WorkloadClients};
use crate::settings::{GroupSettings, SettingsReader};
use crate::verify::ReadBack;
use host::error::TargetError;
use load::BackgroundLoad;
use model::{Bytes, CounterSource, Fact, SourceDef, TargetSpec, Trial, WritePath};
use std::path::PathBuf;

/// Two seeds of a plan are never so far apart.
const SEED_STEP: u64 = 1 << 54;

/// Starts as many instances as the trial asks for.
///
/// # Errors
/// The first that cannot start; those before it are stopped.
pub fn start_instances(start: &StartContext) -> Result<Box<dyn Instance>, TargetError> {
    let count = start.trial.target.instances;
    if start.joins.is_some() && start.engine.runs != EngineLocation::Elsewhere {
        let engine = &start.trial.target.engine;
        return Err(TargetError::Unsupported(format!(
            "engine `{engine}` keeps its data on this host, so that hosts cannot share it; give the URL of a server"
        )));
    }
    if count <= 1 {
        return (start.engine.start)(start);
    }
    let mut group = InstanceGroup { members: Vec::new() };
    for nth in 0..count {
        let trial = trial_of(start.trial, nth as usize);
        match (start.engine.start)(&StartContext { trial: &trial, ..*start }) {
            Ok(instance) => group.members.push(instance),
            Err(error) => {
                let _ = Box::new(group).stop(); // the first error is the one that explains it
                return Err(of_member(nth as usize, error));
            }
        }
    }
    Ok(Box::new(group))
}

/// What instance number `nth`, from 0, does of `trial`: the same, with a seed of its own.
fn trial_of(trial: &Trial, nth: usize) -> Trial {
    let seed = trial.seed.wrapping_add(SEED_STEP.wrapping_mul(nth as u64));
    Trial { seed, target: TargetSpec { instances: 1, ..trial.target.clone() }, ..trial.clone() }
}

fn of_member(nth: usize, error: TargetError) -> TargetError {
    error.within(&member_name(nth))
}

fn member_name(nth: usize) -> String {
    format!("instance {}", nth + 1)
}

struct InstanceGroup {
    members: Vec<Box<dyn Instance>>,
}

impl InstanceGroup {
    /// Does `task` with each member in turn, up to the first error.
    fn each<T>(
        &mut self,
        mut task: impl FnMut(usize, &mut dyn Instance) -> Result<T, TargetError>,
    ) -> Result<Vec<T>, TargetError> {
        let members = self.members.iter_mut().enumerate();
        members.map(|(nth, member)| task(nth, &mut **member).map_err(|error| of_member(nth, error))).collect()
    }

    /// The first text that a member has, with the member's name.
    fn first_text(&self, text: impl Fn(&dyn Instance) -> Option<String>) -> Option<String> {
        let mut texts = self.members.iter().enumerate();
        texts.find_map(|(nth, member)| Some(format!("{}: {}", member_name(nth), text(&**member)?)))
    }
}

impl Instance for InstanceGroup {
    fn report(&self) -> InstanceReport {
        let mut reports = self.members.iter().map(|member| member.report());
        let mut all = reports.next().unwrap_or_default();
        for report in reports {
            all.processes.extend(report.processes);
            for warning in report.warnings {
                if !all.warnings.contains(&warning) {
                    all.warnings.push(warning);
                }
            }
        }
        all
    }

    fn write_path(&self, trial: &Trial) -> WritePath {
        // All have the same settings.
        self.members.first().map_or(WritePath::Unknown, |member| member.write_path(&trial_of(trial, 0)))
    }

    fn check_trial(&mut self, trial: &Trial) -> Result<(), TargetError> {
        self.each(|nth, member| member.check_trial(&trial_of(trial, nth))).map(drop)
    }

    fn make_loaders(&mut self, trial: &Trial) -> Result<Option<WorkloadClients>, TargetError> {
        let all = self.each(|nth, member| member.make_loaders(&trial_of(trial, nth)))?;
        Ok(joined(all.into_iter().flatten().collect()))
    }

    fn finish_load(&mut self) -> Result<Vec<Fact>, TargetError> {
        Ok(summed_facts(self.each(|_, member| member.finish_load())?))
    }

    fn can_restore(&self) -> bool {
        self.members.iter().all(|member| member.can_restore())
    }

    fn quiesce(&mut self) -> Result<(), TargetError> {
        self.each(|_, member| member.quiesce()).map(drop)
    }

    fn reset(&mut self, purpose: ResetFor) -> Result<(), TargetError> {
        self.each(|_, member| member.reset(purpose)).map(drop)
    }

    fn make_clients(&mut self, trial: &Trial) -> Result<WorkloadClients, TargetError> {
        let all = self.each(|nth, member| member.make_clients(&trial_of(trial, nth)))?;
        Ok(joined(all).expect("a group has members"))
    }

    fn finish_trial(&mut self) -> Vec<Fact> {
        summed_facts(self.members.iter_mut().map(|member| member.finish_trial()).collect())
    }

    fn take_held(&mut self) -> Vec<Fact> {
        summed_facts(self.members.iter_mut().map(|member| member.take_held()).collect())
    }

    fn read_back(&mut self, go_on: &mut dyn FnMut(Bytes, Bytes) -> bool) -> Result<Option<ReadBack>, TargetError> {
        let found = self.each(|_, member| member.read_back(go_on))?;
        Ok(found.into_iter().flatten().reduce(ReadBack::joined_with))
    }

    fn check_conditions(
        &mut self,
        trial: &Trial,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<CheckedConditions>, TargetError> {
        let found = self.each(|nth, member| member.check_conditions(&trial_of(trial, nth), go_on))?;
        Ok(found.into_iter().flatten().reduce(CheckedConditions::joined_with))
    }

    fn counter_sources(&self) -> Vec<Box<dyn CounterSource>> {
        summed_sources(self.members.iter().flat_map(|member| member.counter_sources()))
    }

    fn log_files(&self) -> Vec<PathBuf> {
        self.members.iter().flat_map(|member| member.log_files()).collect()
    }

    fn settings_reader(&self, trial: &Trial) -> Option<Box<dyn SettingsReader>> {
        let members = self.members.iter().enumerate();
        let readers = members.filter_map(|(nth, member)| Some((member_name(nth), member.settings_reader(trial)?)));
        let readers: Vec<(String, Box<dyn SettingsReader>)> = readers.collect();
        (!readers.is_empty()).then(|| Box::new(GroupSettings::new(readers)) as Box<dyn SettingsReader>)
    }

    fn describe_trouble(&self) -> Option<String> {
        self.first_text(|member| member.describe_trouble())
    }

    fn has_ended(&self) -> bool {
        self.members.iter().any(|member| member.has_ended())
    }

    fn explain_failure(&self) -> Option<String> {
        self.first_text(|member| member.explain_failure())
    }

    fn abandon_clients(&mut self) {
        self.members.iter_mut().for_each(|member| member.abandon_clients());
    }

    fn measure_space(&self) -> DataSpace {
        let all: Vec<DataSpace> = self.members.iter().map(|member| member.measure_space()).collect();
        DataSpace {
            total: Bytes(all.iter().map(|space| space.total.0).sum()),
            logs: all.iter().map(|space| Some(space.logs?.0)).sum::<Option<u64>>().map(Bytes),
            rows: all.iter().map(|space| space.rows).sum(),
        }
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        // All of them are stopped, whatever becomes of the first.
        let stopped = self.members.into_iter().enumerate();
        let results = stopped.map(|(nth, member)| member.stop().map_err(|error| of_member(nth, error)));
        results.fold(Ok(()), Result::and)
    }
}

/// The clients of all members; `None` of none.
fn joined(all: Vec<WorkloadClients>) -> Option<WorkloadClients> {
    let parts = all.iter().map(|own| load::count_clients(&own.clients)).collect();
    let mut all = all.into_iter();
    let mut joined = all.next()?;
    for own in all {
        joined.clients.extend(own.clients);
        joined.background = joined_background(std::mem::take(&mut joined.background), own.background);
    }
    Some(WorkloadClients { parts, ..joined })
}

/// The background loads of the members before and of one more, which are the same loads on other data.
fn joined_background(mut before: Vec<BackgroundLoad>, own: Vec<BackgroundLoad>) -> Vec<BackgroundLoad> {
    for load in own {
        match before.iter_mut().find(|same| same.kinds == load.kinds) {
            Some(same) => same.clients.extend(load.clients),
            None => before.push(load),
        }
    }
    before
}

/// The facts of the first, with the sum of all for each that is a whole number everywhere, or seconds: what takes time is done to one
/// instance after the other.
fn summed_facts(all: Vec<Vec<Fact>>) -> Vec<Fact> {
    let value_in =
        |facts: &Vec<Fact>, name: &str| facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.clone());
    let sum = |name: &str| -> Option<u64> { all.iter().map(|facts| value_in(facts, name)?.parse::<u64>().ok()).sum() };
    let seconds = |name: &str| -> Option<f64> {
        let is_time = name.ends_with("_s") || name.contains("_s.");
        all.iter().filter(|_| is_time).map(|facts| value_in(facts, name)?.parse::<f64>().ok()).sum()
    };
    let Some(first) = all.first() else { return Vec::new() };
    first
        .iter()
        .map(|fact| match (sum(&fact.name), seconds(&fact.name)) {
            (Some(sum), _) => Fact::new(fact.name.clone(), sum.to_string()),
            (None, Some(seconds)) if seconds > 0.0 => Fact::new(fact.name.clone(), format!("{seconds:.3}")),
            _ => fact.clone(),
        })
        .collect()
}

/// `sources` with those that count the same added up.
pub(crate) fn summed_sources(sources: impl Iterator<Item = Box<dyn CounterSource>>) -> Vec<Box<dyn CounterSource>> {
    let mut sums: Vec<SummedSource> = Vec::new();
    for source in sources {
        let def = source.describe();
        match sums.iter_mut().find(|sum| sum.adds_up_with(&def)) {
            Some(sum) => sum.parts.push(source),
            None => sums.push(SummedSource { def, parts: vec![source] }),
        }
    }
    sums.into_iter().map(|sum| Box::new(sum) as Box<dyn CounterSource>).collect()
}

/// A source of every member, whose values are added: those of counters and those of levels.
struct SummedSource {
    def: SourceDef,
    parts: Vec<Box<dyn CounterSource>>,
}

impl SummedSource {
    /// Whether a source of another member that is described so counts the same.
    fn adds_up_with(&self, other: &SourceDef) -> bool {
        self.def.name == other.name && self.def.counters == other.counters
    }
}

impl CounterSource for SummedSource {
    fn describe(&self) -> SourceDef {
        self.def.clone()
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        let mut sums = vec![Some(0.0); self.def.counters.len()];
        for part in &mut self.parts {
            // A member that does not answer makes the sum a gap: without it the sum would go down.
            let values = part.read();
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.zip(value).map(|(sum, value)| sum + value));
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{CounterDef, CounterKind};

    struct Fixed(&'static str, Vec<Option<f64>>);

    impl CounterSource for Fixed {
        fn describe(&self) -> SourceDef {
            let counter = |nth: usize| CounterDef {
                name: format!("c{nth}"),
                unit: "count".into(),
                kind: CounterKind::Counter,
                help: String::new(),
                role: None,
                in_pages: false,
            };
            SourceDef {
                name: self.0.into(),
                subject: String::new(),
                counters: (0..self.1.len()).map(counter).collect(),
            }
        }
        fn read(&mut self) -> Vec<Option<f64>> {
            self.1.clone()
        }
    }

    #[test]
    fn counters_of_instances_are_added_and_one_that_is_missing_is_a_gap() {
        let parts = [vec![Some(1.0), Some(2.0)], vec![Some(10.0), None]];
        let parts: Vec<Box<dyn CounterSource>> = parts.map(|values| Box::new(Fixed("x", values)) as _).into();
        let mut sum = SummedSource { def: parts[0].describe(), parts };
        assert_eq!(sum.read(), [Some(11.0), None]);
        assert!(sum.adds_up_with(&Fixed("x", vec![None, None]).describe()));
        assert!(!sum.adds_up_with(&Fixed("y", vec![None, None]).describe()));
        assert!(!sum.adds_up_with(&Fixed("x", vec![None]).describe()));
    }

    #[test]
    fn whole_numbers_and_seconds_are_added_and_other_facts_are_those_of_the_first() {
        let of = |n: &str, word: &str| vec![Fact::new("n", n), Fact::new("word", word)];
        assert_eq!(summed_facts(vec![of("1", "a"), of("4", "b")]), [Fact::new("n", "5"), Fact::new("word", "a")]);
        assert_eq!(summed_facts(vec![of("1", "a"), Vec::new()])[0], Fact::new("n", "1"), "only one has it");
        let took = |seconds: &str| vec![Fact::new("load.index_s.t", seconds), Fact::new("version", seconds)];
        let facts = [Fact::new("load.index_s.t", "2.000"), Fact::new("version", "0.500")];
        assert_eq!(summed_facts(vec![took("0.500"), took("1.500")]), facts);
    }
}
