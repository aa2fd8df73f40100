//! What of a recorded point can be varied on this machine, and whether it is the machine that measured it.
//!
//! In: a trial, the facts of its run and those of this machine. Out: the CPU limits and the storage limit of `plimsoll why`, or why there are none.
//! Limits: the rate of a device without a limit is not known here.

use crate::conduct::resume::describe_difference;
use crate::error::RunnerError;
use engine::EngineLocation;
use host::privileged::cgroup;
use model::{CpuLimit, Fact, Limits, NotVaried, StorageLimit, Trial};
use plan::LEFT;

/// Facts of the machine and the place of the data that must be those of the run.
const SAME_MACHINE: [&str; 5] = ["cpu.model", "cpu.arch", "cpu.count", "filesystem", "disk.model"];
/// Facts that may differ, and that a reader should know of.
const WORTH_NOTING: [&str; 4] = ["kernel.release", "cpu.usable", "plimsoll.build", "plimsoll.allocator"];

/// Refuses a run of another machine or file system. Returns what else differs, a sentence each.
pub fn check_same_machine(recorded: &[Fact], here: &[Fact]) -> Result<Vec<String>, RunnerError> {
    let mut notes = Vec::new();
    for before in recorded {
        let Some(now) = here.iter().find(|now| now.name == before.name && now.value != before.value) else { continue };
        let (name, was, is) = (before.name.as_str(), &before.value, &now.value);
        if SAME_MACHINE.contains(&name) {
            let advice = match name {
                "filesystem" | "disk.model" => "name a directory on the same disk with --dir",
                _ => "use it on the machine of the run",
            };
            return Err(RunnerError::Unsupported(format!(
                "the run is of another machine or disk: `{name}` was `{was}` and is `{is}` here; {advice}"
            )));
        }
        if WORTH_NOTING.contains(&name) {
            notes.push(format!("{} since the run was recorded", describe_difference(before, now)));
        }
    }
    Ok(notes)
}

/// The CPU limit of the unchanged point and of the arm with less CPU.
///
/// A limit of CPU time is made tighter. Without one all CPUs of the machine are slowed down: a share of the CPU time that the point used would
/// always slow it down, whether more of it would have helped or not.
pub fn cpu_variation(trial: &Trial) -> Result<[CpuLimit; 2], NotVaried> {
    let less = |limit: CpuLimit| match limit {
        CpuLimit::MilliCpus(milli) => CpuLimit::MilliCpus((f64::from(milli) * LEFT).round() as u32),
        CpuLimit::SpeedPercent(percent) => CpuLimit::SpeedPercent((f64::from(percent) * LEFT).round() as u8),
    };
    let is_elsewhere = engine::engine_of(trial).runs == EngineLocation::Elsewhere;
    let unchanged = match (trial.target.limits.cpu, cgroup::cpu_quota()) {
        (Some(limit), _) => limit,
        // The quota that plimsoll was started with is the engine's, too, unless that is a server of others.
        (None, Some(_)) if is_elsewhere => return Err(NotVaried::OutsideQuota),
        (None, Some(quota)) => CpuLimit::MilliCpus((quota.cpus * 1000.0).round() as u32),
        (None, None) => CpuLimit::SpeedPercent(100),
    };
    let limits = Limits { cpu: Some(unchanged), ..Limits::default() };
    cgroup::check_limits(&limits).map_err(|_| NotVaried::NotPermitted)?;
    Ok([unchanged, less(unchanged)])
}

/// The storage limit of the arm with less of the device: less than the limit of the point, or else than `capacity`, which the device was
/// seen to carry.
pub fn storage_variation(trial: &Trial, capacity: Option<StorageLimit>) -> Result<StorageLimit, NotVaried> {
    let def = engine::engine_of(trial);
    if def.runs == EngineLocation::Elsewhere || def.scripted {
        return Err(NotVaried::NoDataHere);
    }
    let some = Limits { storage: StorageLimit { read_iops: Some(1), ..StorageLimit::default() }, ..Limits::default() };
    cgroup::check_limits(&some).map_err(|_| NotVaried::NotPermitted)?;
    let own = Some(trial.target.limits.storage).filter(|limit| !limit.is_none());
    let known = own.or(capacity).ok_or(NotVaried::UnknownRate)?;
    Ok(share_of(&known))
}

fn share_of(limit: &StorageLimit) -> StorageLimit {
    let less = |most: Option<u64>| most.map(|most| ((most as f64 * LEFT).round() as u64).max(1));
    let less_bytes = |most: Option<u64>| less(most).map(short_size);
    StorageLimit {
        read_iops: less(limit.read_iops),
        write_iops: less(limit.write_iops),
        read_bytes_per_s: less_bytes(limit.read_bytes_per_s),
        write_bytes_per_s: less_bytes(limit.write_bytes_per_s),
    }
}

/// `bytes` in whole MiB or KiB, so that it is short to read: at most 1 % off, and no less than a block.
fn short_size(bytes: u64) -> u64 {
    // Half of a unit is what rounding is off by, and 1 % of fifty units.
    const FIFTY: u64 = 50;
    let unit = [1 << 20, 1 << 10].into_iter().find(|unit| bytes >= FIFTY * unit).unwrap_or(1);
    ((bytes + unit / 2) / unit * unit).max(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(all: &[(&str, &str)]) -> Vec<Fact> {
        all.iter().map(|(name, value)| Fact::new(*name, *value)).collect()
    }

    #[test]
    fn another_machine_is_refused_and_another_kernel_noted() {
        let before = facts(&[("cpu.model", "A"), ("kernel.release", "6.1"), ("disk.model", "D"), ("gone", "x")]);
        let same = check_same_machine(&before, &facts(&[("cpu.model", "A"), ("kernel.release", "6.2")])).unwrap();
        assert_eq!(same.len(), 1);
        assert_eq!(same[0], "`kernel.release` changed from `6.1` to `6.2` since the run was recorded");
        let refused = check_same_machine(&before, &facts(&[("cpu.model", "B")])).unwrap_err().to_string();
        assert!(refused.contains("`cpu.model` was `A` and is `B` here; use it on the machine of the run"), "{refused}");
        let refused = check_same_machine(&before, &facts(&[("disk.model", "E")])).unwrap_err().to_string();
        assert!(refused.ends_with("name a directory on the same disk with --dir"), "{refused}");
    }

    #[test]
    fn four_fifths_are_left_of_each_part_of_a_limit() {
        let limit = StorageLimit { read_iops: Some(500), write_bytes_per_s: Some(1 << 20), ..StorageLimit::default() };
        let expected =
            StorageLimit { read_iops: Some(400), write_bytes_per_s: Some(819 << 10), ..StorageLimit::default() };
        assert_eq!(share_of(&limit), expected);
    }
}
