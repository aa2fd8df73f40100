//! Where the data of a trial is, and the space that it needs there.
//!
//! In: the steps of a sequence, the directory that is measured. Out: its directory, and whether the data fits. Limits: an estimate, made before
//! the run; [`host::safety::room_left`] is asked during it.

use host::TargetError;
use model::{Bytes, Trial};
use std::path::Path;

/// The data of one point, or of the steps of one sequence, is on the disk at a time. Engines that keep nothing need no room.
pub fn check_room(steps: &[Trial], dir: &Path) -> Result<(), TargetError> {
    match room_needed(steps, dir) {
        Bytes(0) => Ok(()),
        need => host::safety::check_space(data_location(&steps[0], dir), need),
    }
}

/// The most space that `steps` need in `dir`: for their data, or for a copy of the data set there that they use. A copy takes none where the file
/// system shares the blocks.
pub fn room_needed(steps: &[Trial], dir: &Path) -> Bytes {
    let made = engine::estimate::chain_bytes(steps);
    let name = steps.first().filter(|trial| trial.target.fs.is_none()).and_then(|trial| trial.data_set.as_ref());
    let Some(set) = name.filter(|_| made > Bytes(0)).and_then(|used| host::data_set::one(dir, &used.name)) else {
        return made;
    };
    let copy = if host::data_set::shares_blocks(dir, &set.name) { 0 } else { set.bytes };
    Bytes(engine::estimate::bytes_beside_set(steps, Bytes(set.bytes)).0.saturating_add(copy))
}

/// The directory that holds the data of `trial`, or will hold it.
pub fn data_location<'a>(trial: &'a Trial, dir: &'a Path) -> &'a Path {
    match trial.target.path.as_deref().and_then(Path::parent) {
        None => dir,
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
    }
}
