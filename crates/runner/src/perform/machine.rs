//! The machine as trials ask for it: the CPUs of clients and engine, and settings of the kernel.
//!
//! In: a plan, its trials in turn. Out: plimsoll and its server on the CPUs of each trial, the kernel as the trial wants it, and facts
//! that say so. Limits: if no trial of the run asks for CPUs, nothing is pinned. A server that plimsoll did not start is left alone.

use crate::error::RunnerError;
use crate::fitting;
use crate::messages::{ConductorHandle, PerformerMessage};
use crate::preflight::RunSite;
use host::cpu::{self, CpuTopology, EngineCpus};
use host::privileged::system_change::{KernelSetting, SystemChanges, WantedValue};
use model::{CpuChoice, CpuList, Fact, Plan, Trial};
use std::collections::BTreeSet;

/// The machine under the trials of a run.
pub(super) struct MachineControl {
    pins: bool,
    engine_cpus: EngineCpus,
    changes: SystemChanges,
    /// The settings of the kernel that the last trial asked for.
    wanted: Vec<WantedValue>,
}

impl MachineControl {
    /// The machine under the trials of `plan`.
    pub fn from_plan(plan: &Plan) -> MachineControl {
        let pins = plan.trials.iter().any(|trial| trial.target.machine.cpus.is_some());
        let (engine_cpus, changes) = (EngineCpus::default(), SystemChanges::default());
        MachineControl { pins, engine_cpus, changes, wanted: Vec::new() }
    }

    /// The CPUs that a server starts on.
    pub fn engine_cpus(&self) -> &EngineCpus {
        &self.engine_cpus
    }

    /// Makes the machine what `trial` asks for, before its engine starts or is reset.
    pub fn prepare(
        &mut self,
        trial: &Trial,
        site: &RunSite,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        self.wanted = fitting::wanted_by(trial, site)?;
        let left = self.changes.apply(&self.wanted)?;
        left.into_iter().for_each(|note| conductor.deliver(PerformerMessage::Note(note)));
        if self.pins {
            let (client, engine) = chosen_cpus(trial)?;
            cpu::pin_self(&client)?;
            self.engine_cpus.assign(engine);
        }
        Ok(())
    }

    /// Puts the settings of the kernel back. Returns what was left, in words.
    pub fn undo(&mut self) -> Vec<String> {
        self.changes.undo()
    }

    /// Moves the server's processes, which may have run before the trial, to the CPUs of the trial.
    pub fn pin_server(&self, processes: &[u32]) -> Result<(), RunnerError> {
        let cpus = self.engine_cpus.assigned();
        Ok(cpus.map_or(Ok(()), |cpus| cpu::pin_processes(processes, &cpus))?)
    }

    /// The CPUs as facts, those of the clients and those of the server's processes if it has any, and what the kernel was set to.
    pub fn facts(&self, has_server: bool) -> Vec<Fact> {
        let clients = cpu::allowed_cpus().filter(|_| self.pins).map(|cpus| ("cpus.clients", cpus));
        let engine = self.engine_cpus.assigned().filter(|_| has_server).map(|cpus| ("cpus.engine", cpus));
        let pinned: Vec<(&str, CpuList)> = clients.into_iter().chain(engine).collect();
        let count = pinned.iter().flat_map(|(_, cpus)| cpus.numbers()).collect::<BTreeSet<_>>().len();
        let count = (count > 0).then(|| Fact::new("cpus.count", count.to_string()));
        let cpus = pinned.iter().map(|(name, cpus)| Fact::new(*name, cpus.to_string())).chain(count);
        let set = self.wanted.iter().map(|(setting, value)| {
            let word = setting.value_in_words(value);
            match setting {
                KernelSetting::Smt => Fact::new("set.smt", word),
                KernelSetting::NoTurbo | KernelSetting::Boost => Fact::new("set.turbo", word),
                KernelSetting::Scheduler { disk, .. } => Fact::new(format!("set.scheduler.{disk}"), word),
            }
        });
        cpus.chain(set).collect()
    }
}

impl Drop for MachineControl {
    /// What plimsoll does after the run, it does on all its CPUs again, those too that come back now.
    fn drop(&mut self) {
        self.changes.undo();
        if let Some(all) = CpuTopology::read().all().filter(|_| self.pins) {
            let _ = cpu::pin_self(&all);
        }
    }
}

/// The CPUs of clients and engine in `trial`: all, if it asks for none.
fn chosen_cpus(trial: &Trial) -> Result<(CpuList, CpuList), RunnerError> {
    let topology = CpuTopology::read();
    let asked = trial.target.machine.cpus.as_ref();
    let choose = |choice: Option<&CpuChoice>| topology.choose(choice.unwrap_or(&CpuChoice::All));
    Ok((choose(asked.map(|cpus| &cpus.client))?, choose(asked.map(|cpus| &cpus.engine))?))
}
