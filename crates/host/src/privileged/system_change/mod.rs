//! Settings of the kernel that a plan changes for all processes: SMT, turbo, the I/O scheduler of a disk; and their undoing.
//!
//! In: what a trial asks for, the disks under its data. Out: the machine as the trial wants it, and afterwards as it was. Limits: needs
//! root. Each change is in a manifest in [`STATE_DIR`] before it is made; it is undone when its run ends in any way but a kill, and after
//! a kill by the next plimsoll that measures. A value that another program has set meanwhile is left. A change that the kernel does not
//! take back stays in the manifest, and each later start tries again.

mod manifest;
mod setting;

pub use manifest::STATE_DIR;
pub use setting::{KernelSetting, WantedValue};

use crate::error::TargetError;
use manifest::{ChangeManifest, FoundManifest, LockedState, RecordedChange, read_manifest};
use model::{IoScheduler, MachineSetup, Switch};
use std::path::{Path, PathBuf};

const SYS: &str = "/sys";

/// Where settings and manifest are.
#[derive(Clone, Debug)]
struct SystemPlaces {
    sys: PathBuf,
    state: PathBuf,
}

impl SystemPlaces {
    fn of_machine() -> SystemPlaces {
        SystemPlaces { sys: SYS.into(), state: STATE_DIR.into() }
    }
}

/// The settings that `setup` asks for, with data on `disks`: those that are so already, too.
///
/// # Errors
/// What cannot be had here: the key and value, and why.
pub fn wanted_settings(setup: &MachineSetup, disks: &[String]) -> Result<Vec<WantedValue>, String> {
    wanted_below(Path::new(SYS), setup, disks)
}

fn wanted_below(sys: &Path, setup: &MachineSetup, disks: &[String]) -> Result<Vec<WantedValue>, String> {
    let refused = |key: &'static str, value: &'static str| move |why: String| format!("{key} = `{value}`: {why}");
    let smt = setup.smt.map(|smt| setting::wanted_smt(sys, smt).map_err(refused("smt", smt.as_str())));
    let turbo = setup.turbo.map(|turbo| setting::wanted_turbo(sys, turbo).map_err(refused("turbo", turbo.as_str())));
    let mut wanted: Vec<WantedValue> = smt.transpose()?.flatten().into_iter().chain(turbo.transpose()?).collect();
    if let Some(scheduler) = setup.scheduler {
        let refused = refused("scheduler", scheduler.as_str());
        if disks.is_empty() {
            return Err(refused("the data is on no disk that can be seen".to_owned()));
        }
        for disk in disks {
            wanted.push(setting::wanted_scheduler(sys, disk, scheduler).map_err(refused)?);
        }
    }
    Ok(wanted)
}

/// What `setup` comes to on this machine at this moment: what it leaves as it is has the value that it has.
pub fn effective_setup(setup: &MachineSetup, disks: &[String]) -> MachineSetup {
    let sys = Path::new(SYS);
    let smt = || match KernelSetting::Smt.read(sys).as_deref() {
        Some("on") => Some(Switch::On),
        Some("off" | "notsupported" | "forceoff") => Some(Switch::Off),
        _ => None,
    };
    let turbo = || {
        let (setting, on) = setting::wanted_turbo(sys, Switch::On).ok()?;
        Some(if setting.read(sys).as_deref() == Some(on) { Switch::On } else { Switch::Off })
    };
    let scheduler = || {
        let of_disk = |disk: &String| IoScheduler::from_word(&KernelSetting::scheduler_of(sys, disk).read(sys)?);
        let first = disks.first().and_then(of_disk);
        first.filter(|first| disks.iter().all(|disk| of_disk(disk) == Some(*first)))
    };
    MachineSetup {
        cpus: setup.cpus.clone(),
        smt: setup.smt.or_else(smt),
        turbo: setup.turbo.or_else(turbo),
        scheduler: setup.scheduler.or_else(scheduler),
    }
}

/// Which of `wanted` are other than the kernel has them, in words: `` I/O scheduler of `vda` (`none` instead of `mq-deadline`) ``.
pub fn describe_changes(wanted: &[WantedValue]) -> Vec<String> {
    let sys = Path::new(SYS);
    wanted
        .iter()
        .filter_map(|(setting, value)| {
            let now = setting.read(sys).filter(|now| now != value)?;
            let [value, now] = [value, now.as_str()].map(|value| setting.value_in_words(value));
            Some(format!("{} (`{value}` instead of `{now}`)", setting.describe()))
        })
        .collect()
}

/// Refuses changes that cannot be made now: they need root, and one plimsoll at a time makes them.
///
/// # Errors
/// With what to do.
pub fn check_possible() -> Result<(), TargetError> {
    if !rustix::process::geteuid().is_root() {
        return Err(TargetError::Unsafe(
            "settings of the kernel can be changed by root only; start plimsoll as root".into(),
        ));
    }
    LockedState::lock(Path::new(STATE_DIR))?.map(drop).ok_or_else(in_use)
}

fn in_use() -> TargetError {
    let text = "another plimsoll has changed settings of the kernel; wait until it ends";
    TargetError::Unsafe(text.to_owned())
}

/// The settings of the kernel under a run. Dropped, it puts back what it has changed.
#[derive(Debug)]
pub struct SystemChanges {
    places: SystemPlaces,
    made: Option<MadeChanges>,
    /// What was done with the changes of a killed run, in words, until the next call returns it.
    of_killed_run: Vec<String>,
}

#[derive(Debug)]
struct MadeChanges {
    state: LockedState,
    manifest: ChangeManifest,
}

impl Default for SystemChanges {
    fn default() -> SystemChanges {
        SystemChanges { places: SystemPlaces::of_machine(), made: None, of_killed_run: Vec::new() }
    }
}

impl SystemChanges {
    /// Makes the settings `wanted`, and puts back those that were changed and are not wanted any more. Returns what was left, in words:
    /// because another program has set it meanwhile, or because the kernel did not take it back. What was done with the changes of a
    /// killed run is among it.
    ///
    /// # Errors
    /// If a setting cannot be changed, or another plimsoll has changed some.
    pub fn apply(&mut self, wanted: &[WantedValue]) -> Result<Vec<String>, TargetError> {
        let mut left = self.put_back_unless(|setting| wanted.iter().any(|(wanted, _)| wanted == setting));
        wanted.iter().try_for_each(|(setting, value)| self.set(setting, value))?;
        left.append(&mut self.of_killed_run);
        Ok(left)
    }

    /// Puts back all that was changed. Returns what was left, in words.
    pub fn undo(&mut self) -> Vec<String> {
        let mut left = std::mem::take(&mut self.of_killed_run);
        left.extend(self.put_back_unless(|_| false));
        left
    }

    fn set(&mut self, setting: &KernelSetting, value: &str) -> Result<(), TargetError> {
        let failed = |why: String| {
            let (what, value) = (setting.describe(), setting.value_in_words(value));
            TargetError::Failed(format!("cannot set {what} to `{value}`: {why}"))
        };
        let now = setting.read(&self.places.sys).ok_or_else(|| failed("it cannot be read".to_owned()))?;
        if now == value {
            return Ok(());
        }
        let made = match &mut self.made {
            Some(made) => made,
            none => {
                let state = LockedState::lock(&self.places.state)?.ok_or_else(in_use)?;
                // What a killed run has left is not what the user had. What cannot be put back now is this run's to put back.
                let (done, unfinished) = put_back_found(&self.places, &state);
                self.of_killed_run.extend(done);
                none.insert(MadeChanges { state, manifest: ChangeManifest::new(unfinished) })
            }
        };
        made.announce(setting, &now, value)?;
        let written = setting.write(&self.places.sys, value);
        written.map_err(|error| failed(model::system_words(&error)))
    }

    fn put_back_unless(&mut self, is_kept: impl Fn(&KernelSetting) -> bool) -> Vec<String> {
        let Some(made) = &mut self.made else { return Vec::new() };
        let mut left = Vec::new();
        // The last first: CPUs come back after what was changed later.
        for at in (0..made.manifest.changes.len()).rev() {
            if is_kept(&made.manifest.changes[at].setting) {
                continue;
            }
            let outcome = put_back(&self.places.sys, &made.manifest.changes[at]);
            if outcome.is_over() {
                made.manifest.changes.remove(at);
                // A manifest that cannot be written still has the change, which is found done.
                let _ = made.state.save(&made.manifest);
            }
            left.extend(outcome.left());
        }
        if made.manifest.changes.is_empty() {
            made.state.remove();
            self.made = None;
        }
        left
    }
}

impl MadeChanges {
    /// Enters into the manifest that `setting`, which is `now`, is about to become `value`.
    fn announce(&mut self, setting: &KernelSetting, now: &str, value: &str) -> Result<(), TargetError> {
        let changes = &mut self.manifest.changes;
        match changes.iter_mut().find(|change| change.setting == *setting) {
            Some(change) => {
                let last = change.written.pop();
                change.written = last.into_iter().chain([value.to_owned()]).collect();
            }
            None => {
                let (setting, before) = (setting.clone(), now.to_owned());
                changes.push(RecordedChange { setting, before, written: vec![value.to_owned()] });
            }
        }
        self.state.save(&self.manifest)
    }
}

impl Drop for SystemChanges {
    fn drop(&mut self) {
        self.undo();
    }
}

/// What came of an attempt to put a setting back.
#[derive(Debug, PartialEq, Eq)]
enum PutBackOutcome {
    /// There was nothing to do.
    AsBefore,
    /// It is as it was before the first change. In words.
    PutBack(String),
    /// Another program has set it since plimsoll did, so it is that program's. In words.
    Foreign(String),
    /// The kernel did not take the value: this is still to be done. In words.
    Failed(String),
}

impl PutBackOutcome {
    /// Whether nothing is left to be done.
    fn is_over(&self) -> bool {
        !matches!(self, PutBackOutcome::Failed(_))
    }

    /// Why it is not as it was, in words.
    fn left(self) -> Option<String> {
        match self {
            PutBackOutcome::AsBefore | PutBackOutcome::PutBack(_) => None,
            PutBackOutcome::Foreign(text) | PutBackOutcome::Failed(text) => Some(text),
        }
    }
}

/// Puts the setting back.
fn put_back(sys: &Path, change: &RecordedChange) -> PutBackOutcome {
    let RecordedChange { setting, before, written } = change;
    let what = setting.describe();
    if !setting.is_there(sys) {
        // A loop device that went with its volume took its settings with it.
        return PutBackOutcome::AsBefore;
    }
    let words = |value: &str| crate::error::shown(setting.value_in_words(value).as_ref());
    match setting.read(sys) {
        Some(now) if now == *before => PutBackOutcome::AsBefore,
        Some(now) if written.contains(&now) => match setting.write(sys, before) {
            Ok(()) => PutBackOutcome::PutBack(format!("{what} from `{}` to `{}`", words(&now), words(before))),
            Err(error) => {
                let why = model::system_words(&error);
                let text = format!("{what} is still `{}` and not `{}`: {why}", words(&now), words(before));
                PutBackOutcome::Failed(text)
            }
        },
        Some(now) => {
            let now = words(&now);
            PutBackOutcome::Foreign(format!(
                "{what} was left at `{now}`: another program has changed it since plimsoll did"
            ))
        }
        None => PutBackOutcome::Failed(format!("{what} was not put back to `{}`: it cannot be read", words(before))),
    }
}

/// Puts back what a run that was killed has changed, with a line on that. A run that is alive keeps its changes.
pub fn put_back_abandoned() -> Vec<String> {
    put_back_in(&SystemPlaces::of_machine())
}

fn put_back_in(places: &SystemPlaces) -> Vec<String> {
    if matches!(read_manifest(&places.state), FoundManifest::Nothing) {
        return Vec::new();
    }
    if !rustix::process::geteuid().is_root() {
        return note_for_root(places).into_iter().collect();
    }
    match LockedState::lock(&places.state) {
        Ok(Some(state)) => put_back_found(places, &state).0,
        Ok(None) => Vec::new(),
        Err(error) => vec![error.to_string()],
    }
}

/// The message to a user other than root about changes that are left.
fn note_for_root(places: &SystemPlaces) -> Option<String> {
    let FoundManifest::Trusted(manifest) = read_manifest(&places.state) else { return None };
    let lives = Path::new("/proc").join(manifest.process.to_string()).exists();
    let changed: Vec<String> = manifest.changes.iter().map(|change| change.setting.describe()).collect();
    (!lives && !changed.is_empty()).then(|| {
        let changed = changed.join(", ");
        format!("a run that was killed has left settings changed ({changed}); `plimsoll doctor` puts them back as root")
    })
}

/// Puts back what the manifest in `state` has, and removes it. Returns what was done and what was left, in words, and the changes that the
/// kernel did not take back, which stay in the manifest.
fn put_back_found(places: &SystemPlaces, state: &LockedState) -> (Vec<String>, Vec<RecordedChange>) {
    let mut manifest = match read_manifest(&places.state) {
        FoundManifest::Trusted(manifest) => manifest,
        FoundManifest::Untrusted(why) => return (vec![why], Vec::new()),
        FoundManifest::Nothing => ChangeManifest::new(Vec::new()),
    };
    let (mut done, mut left, mut unfinished) = (Vec::new(), Vec::new(), Vec::new());
    for change in manifest.changes.iter().rev() {
        match put_back(&places.sys, change) {
            PutBackOutcome::PutBack(text) => done.push(text),
            outcome => {
                unfinished.extend((!outcome.is_over()).then(|| change.clone()));
                left.extend(outcome.left());
            }
        }
    }
    unfinished.reverse();
    manifest.changes = unfinished;
    if manifest.changes.is_empty() {
        state.remove();
    } else {
        // If it cannot be written, it still has all changes, of which those that are done are found done.
        drop(state.save(&manifest));
    }
    let done =
        (!done.is_empty()).then(|| format!("put back what a run that was killed had changed: {}", done.join(", ")));
    (done.into_iter().chain(left).collect(), manifest.changes)
}

#[cfg(test)]
mod tests;
