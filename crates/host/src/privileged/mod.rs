//! What killed runs have left of root's acts, undone together.
//!
//! In: nothing. Out: this machine without volumes, control groups, traces and changed settings of runs that were killed, wherever they worked.
//! Limits: what a run needs that is alive stays, as its lock shows. What is in no mount is found in its own directory only
//! ([`data_dir::sweep_abandoned`]).

use crate::{block_trace, cgroup, data_dir, system_change, volume};

/// Undoes what killed runs have left, with a line on each. To other users than root it reports what root has to undo.
pub fn undo_abandoned() -> Vec<String> {
    let places = volume::abandoned_places();
    let volumes = places.iter().filter_map(|place| data_dir::sweep_one(place, volume::release_volume));
    let mut lines: Vec<String> = volumes.collect();
    lines.extend(cgroup::sweep_abandoned());
    lines.extend(block_trace::sweep_abandoned());
    lines.extend(system_change::put_back_abandoned());
    lines
}
