//! Where a point runs: its path or file system, the limits of its processes, the machine's settings and the number of instances.
//!
//! Whether the machine can do all this is found out when the point is made.

use super::{Choice, on_files};
use crate::common::{AUTO, CLIENTS_MAX, DATA_SET, FS_SIZE_MAX, FS_SIZE_MIN, NONE};
use crate::document::Written;
use crate::error::{PlanError, hint, listed};
use crate::{limit, text, value};
use model::{
    Bytes, Entry, FileSystem, FileSystemSpec, IoScheduler, Limits, MachineSetup, SET_NAMES, Switch, UsedSet,
    is_set_name,
};
use std::path::PathBuf;

impl Choice<'_, '_> {
    pub(super) fn target_path(&self, engine: &Entry) -> Result<Option<PathBuf>, PlanError> {
        let written = self.common_value("path");
        let path = value::parse_path(&written)?;
        Ok((on_files(engine) && !path.is_empty()).then(|| PathBuf::from(path)))
    }

    pub(super) fn file_system(&self, engine: &Entry) -> Result<Option<FileSystemSpec>, PlanError> {
        let written = self.common_value("fs");
        if written.text == NONE {
            return Ok(None);
        }
        let kind = FileSystem::from_words(&written.text).ok_or_else(|| no_file_system(&written))?;
        if self.target_path(engine)?.is_some() {
            let text = "`fs` and `path` exclude each other; leave one out";
            return Err(written.place.error(text));
        }
        Ok(Some(FileSystemSpec { kind, size: self.fs_size()? }))
    }

    /// The data set that is used, whose data was made of `seed`.
    pub(super) fn data_set(&self, seed: u64) -> Result<Option<UsedSet>, PlanError> {
        let written = self.common_value(DATA_SET);
        match written.text.as_str() {
            NONE => Ok(None),
            name if is_set_name(name) => Ok(Some(UsedSet { name: name.to_owned(), seed })),
            _ => Err(written.refused(format_args!("{SET_NAMES}, or `{NONE}`"))),
        }
    }

    fn fs_size(&self) -> Result<Option<Bytes>, PlanError> {
        let written = self.common_value("fs_size");
        if written.text == AUTO {
            return Ok(None);
        }
        let size = text::parse_size(&written.text).filter(|size| (FS_SIZE_MIN.0..=FS_SIZE_MAX.0).contains(size));
        size.map(|size| Some(Bytes(size)))
            .ok_or_else(|| written.refused(format_args!("a size from {FS_SIZE_MIN} to {FS_SIZE_MAX}, or `{AUTO}`")))
    }

    pub(super) fn limits(&self) -> Result<Limits, PlanError> {
        let memory = limit::memory_limit(&self.common_value("memory_limit"), self.scale)?;
        let storage = limit::storage_limit(&self.common_value("storage_limit"))?;
        Ok(Limits { memory, storage, cpu: limit::cpu_limit(&self.common_value("cpu_limit"))? })
    }

    pub(super) fn machine_setup(&self) -> Result<MachineSetup, PlanError> {
        Ok(MachineSetup {
            cpus: limit::cpu_assignment(&self.common_value("cpus"))?,
            smt: Switch::from_word(self.common_word("smt")?),
            turbo: Switch::from_word(self.common_word("turbo")?),
            scheduler: IoScheduler::from_word(self.common_word("scheduler")?),
        })
    }

    pub(super) fn instance_count(&self, engine: &Entry) -> Result<u32, PlanError> {
        let (written, count) = (self.common_value("instances"), self.common_int("instances")? as u32);
        if count > 1 && self.target_path(engine)?.is_some() {
            let text = "`instances` and `path` exclude each other: each instance needs data of its own; leave one out";
            return Err(written.place.error(text));
        }
        match self.common_int("clients")?.saturating_mul(u64::from(count)) {
            all if all > CLIENTS_MAX => {
                let text = format_args!(
                    "`instances` = {count} with these `clients` are {all} clients; use at most {CLIENTS_MAX} in all"
                );
                Err(written.place.error(text))
            }
            _ => Ok(count),
        }
    }
}

/// Names what can be made; old experiments ask for XFS without barriers by name.
fn no_file_system(written: &Written<'_>) -> PlanError {
    if written.text == "xfs:nobarrier" {
        let text = "`xfs:nobarrier` is refused by every kernel since Linux 4.19: use `xfs`, or `ext4:nobarrier`";
        return written.place.error(text);
    }
    if written.text.starts_with("btrfs:zstd") {
        return written.refused("a level from 1 to 15, such as `btrfs:zstd:3`");
    }
    if written.text.starts_with("btrfs:zlib") {
        return written.refused("a level from 1 to 9, such as `btrfs:zlib:3`");
    }
    if written.text.starts_with("zfs:gzip") {
        return written.refused("a level from 1 to 9, such as `zfs:gzip-6`");
    }
    let (ranges, words): (Vec<&str>, Vec<&str>) = FileSystem::WORDS.into_iter().partition(|word| word.contains(".."));
    let levels: Vec<String> = ranges.iter().filter_map(|range| level_text(range)).collect();
    let hint = hint(&written.text, words.iter().copied());
    written.refused(format_args!("{}, {} or `{NONE}`{hint}", listed(words), levels.join(", ")))
}

/// `` `btrfs:zlib:N` (N from 1 to 9)`` of `btrfs:zlib:1..9`.
fn level_text(range: &str) -> Option<String> {
    let (kind, last) = range.split_once("..")?;
    let first = kind.trim_start_matches(|c: char| !c.is_ascii_digit());
    let kind = kind.strip_suffix(first)?;
    Some(format!("`{kind}N` (N from {first} to {last})"))
}

#[cfg(test)]
mod tests {
    use crate::fixture::catalogue;
    use crate::{Overrides, from_flags};

    #[test]
    fn a_level_of_a_file_system_is_not_written_as_a_range() {
        let fs = Overrides::from_flags(vec![("fs".into(), "btrfz".into())]);
        let refused = from_flags("oltp", &fs, 1.0, &catalogue()).unwrap_err().to_string();
        let levels = "`btrfs:zlib:N` (N from 1 to 9), `btrfs:zstd:N` (N from 1 to 15), `zfs:gzip-N` (N from 1 to 9) or `none`; \
                      did you mean `btrfs`?";
        assert!(refused.ends_with(levels), "{refused}");
    }

    #[test]
    fn limits_are_dimensions_and_scale_where_they_are_memory() {
        let text = "workload = 'oltp'\nmemory_limit = ['none', '1g']\nstorage_limit = ['none', 'iops=2000+bps=1m']\n";
        let plan = crate::parse(text, "p.toml", &Overrides::default(), 0.5, &catalogue()).unwrap();
        let told: Vec<_> = plan.trials.iter().map(|trial| trial.target.limits.named()).collect();
        let memory = ("memory_limit", "512 MiB".to_owned());
        let storage = ("storage_limit", "iops=2000+bps=1MiB".to_owned());
        assert_eq!(told, [vec![], vec![storage.clone()], vec![memory.clone()], vec![memory, storage]]);
        assert_eq!(crate::estimate(&plan, &catalogue()).data_sets, 1, "limits can be changed while a server runs");
    }
}
