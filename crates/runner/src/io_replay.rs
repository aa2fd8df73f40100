//! The plan that replays the I/O of recorded points as fast as it goes, by the workload `file`.
//!
//! In: for each point its trial and the mix of its I/O. Out: a plan with one trial for each. Limits: blocks of one size at places of their own
//! choice, past the page cache; a thread for each I/O in flight. The file system and the storage limit are those of the point.

use crate::error::RunnerError;
use engine::EngineLocation;
use model::{Bytes, Catalogue, Plan, StorageLimit, Trial};
use plan::Overrides;

/// Long enough for the write cache of a disk to show, short enough to be measured before every experiment.
const TIME: &str = "4s";
const WARMUP: &str = "1s";
/// Less fits the cache of a disk's controller, and more takes long to make.
const DATA: [Bytes; 2] = [Bytes::from_mib(64), Bytes::from_mib(1024)];
/// More I/Os in flight than this gain nothing on any disk.
const IN_FLIGHT_MAX: u32 = 256;

/// What a point did on its device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IoMix {
    /// The share of reads, 0 to 1.
    pub read_share: f64,
    /// The size of each I/O.
    pub block: Bytes,
    /// How many requests are in flight at a time.
    pub in_flight: u32,
    /// Writes between two syncs; `None` for no syncs.
    pub writes_per_sync: Option<u64>,
    /// The size of the data that they are in.
    pub data: Bytes,
}

/// Refuses a point whose I/O cannot be replayed in a directory of plimsoll's own.
pub fn check_replay(trial: &Trial) -> Result<(), RunnerError> {
    let def = engine::engine_of(trial);
    let refused = |why: &str| Err(RunnerError::Unsupported(why.to_owned()));
    match (&trial.target.path, def.runs) {
        (Some(_), _) => refused("it measured a file or device of its own (`path`), where plimsoll makes no other data"),
        (None, EngineLocation::Elsewhere) => {
            refused("its server was not started by plimsoll, so the place of its data is not known")
        }
        (None, _) if def.scripted => refused("its engine does no I/O"),
        (None, _) => Ok(()),
    }
}

/// The plan with a trial for each of `mixes`, in their order. Those on one file system share their files.
///
/// # Errors
/// If a mix makes no valid trial.
pub fn replay_plan(mixes: &[(&Trial, IoMix)], catalogue: &Catalogue) -> Result<Plan, RunnerError> {
    let data = mixes.iter().map(|(_, mix)| mix.data).max().unwrap_or(DATA[0]).clamp(DATA[0], DATA[1]);
    let trials = mixes.iter().map(|(trial, mix)| replay_trial(trial, mix, data, catalogue));
    let trials = trials.collect::<Result<Vec<Trial>, RunnerError>>()?;
    Ok(Plan { trials, ..Plan::new("ceiling", "What the disk carries of a recorded mix") })
}

/// The trial that replays `mix` on the file system and under the storage limit of `trial`.
fn replay_trial(trial: &Trial, mix: &IoMix, data: Bytes, catalogue: &Catalogue) -> Result<Trial, RunnerError> {
    let usual = [("engine", "file"), ("io", "sync"), ("direct", "true"), ("time", TIME), ("warmup", WARMUP)];
    let mut keys: Vec<(String, String)> = usual.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    keys.push(("file_size".to_owned(), data.0.to_string()));
    keys.extend(mix_keys(mix).into_iter().map(|(key, value)| (key.to_owned(), value)));
    let mut replay = plan::from_flags("file", &Overrides::from_flags(keys), 1.0, catalogue)?.trials.remove(0);
    replay.target.fs = trial.target.fs;
    replay.target.limits.storage = trial.target.limits.storage;
    Ok(replay)
}

fn mix_keys(mix: &IoMix) -> Vec<(&'static str, String)> {
    let mode = match mix.read_share {
        share if share >= 1.0 => "rndrd",
        share if share <= 0.0 => "rndwr",
        _ => "rndrw",
    };
    let mut keys = vec![
        ("mode", mode.to_owned()),
        ("block", mix.block.0.to_string()),
        ("clients", mix.in_flight.clamp(1, IN_FLIGHT_MAX).to_string()),
    ];
    keys.extend((mode == "rndrw").then(|| ("read_share", mix.read_share.to_string())));
    let syncs = mix.writes_per_sync.filter(|_| mode != "rndrd");
    keys.extend(syncs.map(|_| ("fsync", "fdatasync".to_owned())));
    keys.extend(syncs.map(|every| ("fsync_every", every.to_string())));
    keys
}

/// The limit that these reads and writes, and their bytes, would be, all per second. A direction with hardly any I/O has none: a limit that is
/// as low would hold up single I/Os for seconds.
pub fn as_limit([reads, writes]: [f64; 2], [read_bytes, write_bytes]: [f64; 2]) -> StorageLimit {
    const SHARE_MIN: f64 = 0.01;
    let in_mix = |own: f64| own >= SHARE_MIN * (reads + writes);
    let whole = |per_s: f64, own: f64| in_mix(own).then_some(per_s.round() as u64);
    StorageLimit {
        read_iops: whole(reads, reads),
        write_iops: whole(writes, writes),
        read_bytes_per_s: whole(read_bytes, reads),
        write_bytes_per_s: whole(write_bytes, writes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(flags: &[(&str, &str)]) -> Trial {
        let flags = flags.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        plan::from_flags("file", &Overrides::from_flags(flags), 1.0, &crate::catalogue())
            .expect("flags")
            .trials
            .remove(0)
    }

    #[test]
    fn a_mix_becomes_a_trial_on_the_file_system_and_under_the_limit_of_its_point() {
        let point = recorded(&[("fs", "ext4"), ("storage_limit", "iops=500")]);
        let mix = IoMix {
            read_share: 0.25,
            block: Bytes(16384),
            in_flight: 3,
            writes_per_sync: Some(5),
            data: Bytes::from_gib(50),
        };
        let reads = IoMix { read_share: 1.0, writes_per_sync: None, ..mix };
        let plan = replay_plan(&[(&point, mix), (&point, reads)], &crate::catalogue()).unwrap();
        let [mixed, reading] = plan.trials.as_slice() else { panic!("{plan:?}") };
        let params = &mixed.workload.params;
        let words = (params.word("mode"), params.word("fsync"), params.int("fsync_every"), mixed.load.clients);
        assert_eq!(words, ("rndrw", "fdatasync", 5, 3));
        assert_eq!((params.bytes("block"), params.bytes("file_size")), (Bytes(16384), Bytes::from_gib(1)));
        assert_eq!((mixed.target.fs, mixed.target.limits), (point.target.fs, point.target.limits));
        assert_eq!((reading.workload.params.word("mode"), reading.workload.params.word("fsync")), ("rndrd", "none"));
    }

    #[test]
    fn a_direction_with_hardly_any_io_has_no_limit() {
        let limit = as_limit([200.4, 1.0], [409_600.0, 4096.0]);
        assert_eq!((limit.read_iops, limit.write_iops), (Some(200), None));
        assert_eq!((limit.read_bytes_per_s, limit.write_bytes_per_s), (Some(409_600), None));
    }

    #[test]
    fn a_point_on_a_path_of_its_own_is_not_replayed() {
        assert!(check_replay(&recorded(&[])).is_ok());
        let refused = check_replay(&recorded(&[("path", "/somewhere/f")])).unwrap_err().to_string();
        assert!(refused.contains("(`path`)"), "{refused}");
    }
}
