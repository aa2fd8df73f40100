//! The settings of the kernel that plimsoll may change, each a file of sysfs.
//!
//! In: a setting. Out: its file, its value, and the values that the kernel takes. Limits: only the files that are named here are ever
//! written, and only with words that the kernel itself offers at that moment.

use crate::text_file::text_of;
use model::{IoScheduler, Switch};
use rustix::fs::{Mode, OFlags, open};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A setting of the kernel that concerns all processes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum KernelSetting {
    /// Whether the threads of a core after its first are online.
    Smt,
    /// Whether turbo is forbidden, for Intel's driver of frequencies.
    NoTurbo,
    /// Whether turbo is allowed, for other drivers.
    Boost,
    /// The I/O scheduler of a disk.
    Scheduler {
        /// The disk, as `/sys/class/block` has it.
        disk: String,
        /// The kernel's number of this disk since its start: another disk may get the name. Kernels before 5.15 have none.
        sequence: Option<u64>,
    },
}

/// What a setting is to be.
pub type WantedValue = (KernelSetting, &'static str);

const SMT: &str = "devices/system/cpu/smt/control";
const NO_TURBO: &str = "devices/system/cpu/intel_pstate/no_turbo";
const BOOST: &str = "devices/system/cpu/cpufreq/boost";
/// Names of block devices have 31 characters at most (DISK_NAME_LEN).
const DISK_NAME_MAX: usize = 31;

impl KernelSetting {
    /// The scheduler of `disk`.
    pub(super) fn scheduler_of(sys: &Path, disk: &str) -> KernelSetting {
        KernelSetting::Scheduler { disk: disk.to_owned(), sequence: disk_sequence(sys, disk) }
    }

    /// Its file below `sys`; `None` if its disk has no name that a disk can have.
    fn path(&self, sys: &Path) -> Option<PathBuf> {
        match self {
            KernelSetting::Smt => Some(sys.join(SMT)),
            KernelSetting::NoTurbo => Some(sys.join(NO_TURBO)),
            KernelSetting::Boost => Some(sys.join(BOOST)),
            KernelSetting::Scheduler { disk, .. } => {
                is_disk_name(disk).then(|| sys.join("class/block").join(disk).join("queue/scheduler"))
            }
        }
    }

    /// Whether the kernel still has what it is a setting of.
    pub(super) fn is_there(&self, sys: &Path) -> bool {
        let is_same = match self {
            KernelSetting::Scheduler { disk, sequence } => is_disk_name(disk) && disk_sequence(sys, disk) == *sequence,
            _ => true,
        };
        is_same && self.path(sys).is_some_and(|path| path.exists())
    }

    /// Its value; `None` if it cannot be read or is none that could be set.
    pub(super) fn read(&self, sys: &Path) -> Option<String> {
        let text = text_of(self.path(sys)?)?;
        match self {
            KernelSetting::Scheduler { .. } => {
                let chosen = text.split_ascii_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
                Some(chosen.unwrap_or(&text).to_owned())
            }
            _ => Some(text),
        }
    }

    /// The values that the kernel takes; none if the setting cannot be changed.
    pub(super) fn offered(&self, sys: &Path) -> Vec<String> {
        let Some(text) = self.path(sys).and_then(text_of) else { return Vec::new() };
        let words: Vec<&str> = match (self, text.as_str()) {
            (KernelSetting::Scheduler { .. }, text) => {
                text.split_ascii_whitespace().map(|word| word.trim_matches(['[', ']'])).collect()
            }
            // `forceoff`, `notsupported` and `notimplemented` are final.
            (KernelSetting::Smt, "on" | "off") => vec!["on", "off"],
            (KernelSetting::NoTurbo | KernelSetting::Boost, "0" | "1") => vec!["0", "1"],
            _ => Vec::new(),
        };
        words.into_iter().map(str::to_owned).collect()
    }

    /// Writes `value`, which the kernel must offer.
    pub(super) fn write(&self, sys: &Path, value: &str) -> std::io::Result<()> {
        if !self.offered(sys).iter().any(|offered| offered == value) {
            return Err(std::io::Error::other("the kernel does not offer this value"));
        }
        let path = self.path(sys).ok_or(std::io::ErrorKind::NotFound)?;
        let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = open(path, flags, Mode::empty())?;
        rustix::io::write(&file, value.as_bytes())?;
        if self.read(sys).as_deref() == Some(value) {
            Ok(())
        } else {
            Err(std::io::Error::other("the kernel took another value"))
        }
    }

    pub fn describe(&self) -> String {
        match self {
            KernelSetting::Smt => "SMT".to_owned(),
            KernelSetting::NoTurbo | KernelSetting::Boost => "turbo".to_owned(),
            KernelSetting::Scheduler { disk, .. } => {
                format!("I/O scheduler of `{}`", crate::error::shown(disk.as_ref()))
            }
        }
    }

    /// A value of it, in the words of plans.
    pub fn value_in_words<'v>(&self, value: &'v str) -> &'v str {
        match (self, value) {
            (KernelSetting::NoTurbo, "1") | (KernelSetting::Boost, "0") => "off",
            (KernelSetting::NoTurbo, "0") | (KernelSetting::Boost, "1") => "on",
            (_, value) => value,
        }
    }
}

/// What SMT has to be for `switch`; nothing if it is so already.
///
/// # Errors
/// Why it cannot be.
pub(super) fn wanted_smt(sys: &Path, switch: Switch) -> Result<Option<WantedValue>, String> {
    let control = KernelSetting::Smt.read(sys);
    match (control.as_deref(), switch) {
        (Some("on" | "off"), switch) => Ok(Some((KernelSetting::Smt, switch.as_str()))),
        // Each core has one thread, or its others are switched off for good.
        (Some("notsupported" | "forceoff"), Switch::Off) => Ok(None),
        (Some("notsupported"), Switch::On) => Err("each core of this machine has one thread".to_owned()),
        (Some("forceoff"), Switch::On) => Err("it is switched off for good since the start of the kernel".to_owned()),
        _ => Err("this kernel has no control of it".to_owned()),
    }
}

/// What the driver of frequencies has to be set to for `switch`.
///
/// # Errors
/// If no driver has such a setting.
pub(super) fn wanted_turbo(sys: &Path, switch: Switch) -> Result<WantedValue, String> {
    let value = |on: &'static str, off: &'static str| if switch == Switch::On { on } else { off };
    let drivers = [(KernelSetting::NoTurbo, value("0", "1")), (KernelSetting::Boost, value("1", "0"))];
    let found = drivers.into_iter().find(|(setting, _)| !setting.offered(sys).is_empty());
    found.ok_or_else(|| "this machine has no control of it, as most virtual machines".to_owned())
}

/// What the queue of `disk` has to be set to for `scheduler`.
///
/// # Errors
/// If the kernel does not offer it.
pub(super) fn wanted_scheduler(sys: &Path, disk: &str, scheduler: IoScheduler) -> Result<WantedValue, String> {
    let setting = KernelSetting::scheduler_of(sys, disk);
    let (offered, word) = (setting.offered(sys), scheduler.as_str());
    if offered.iter().any(|offered| offered == word) {
        Ok((setting, word))
    } else if offered.is_empty() {
        Err(format!("`{disk}` has no scheduler that can be set"))
    } else {
        Err(format!(
            "the kernel offers {} for `{disk}`; the module of another scheduler may not be loaded",
            offered.join(", ")
        ))
    }
}

fn disk_sequence(sys: &Path, disk: &str) -> Option<u64> {
    text_of(sys.join("class/block").join(disk).join("diskseq"))?.parse().ok()
}

/// Whether a block device can be called so: one part of a path, and nothing special.
fn is_disk_name(name: &str) -> bool {
    (1..=DISK_NAME_MAX).contains(&name.len())
        && !name.starts_with('.')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_!.".contains(c))
}
