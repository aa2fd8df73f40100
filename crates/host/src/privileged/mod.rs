//! Root's acts: all that plimsoll does and only root can do, and how each act is undone, also after a crash.
//!
//! In: what a run asks for. Out: volumes, control groups, settings of the kernel, traces and processes of other users; and a machine without
//! them ([`undo_abandoned`]). Limits: `cargo xtask tidy` refuses such an act outside of this module. What a run needs that is alive stays, as a
//! lock shows. What is in no mount is found in its own directory only ([`data_dir::sweep_abandoned`]).
//!
//! Each act that would outlive its process is written down before it is made:
//!
//! | act | written down before it, in | undone by |
//! |---|---|---|
//! | a loop device is attached to an image ([`volume`]) | the manifest of the data directory: the image | [`volume::release_volume`]; the kernel, if it is not mounted yet and plimsoll dies |
//! | a file system is made on it and mounted ([`volume`]) | the same manifest: the mount point | [`volume::release_volume`], which unmounts only what comes from that image |
//! | zfs-fuse is started in mounts of its own ([`volume`]) | the same manifest: its pool has the name of the directory | its end with plimsoll; [`volume::release_volume`] ends it, if it lives |
//! | a control group is made and entered, and gets limits ([`cgroup`]) | its name and its lock | [`cgroup::sweep_abandoned`] |
//! | a device of a volume gets a limit in the outermost group ([`cgroup`]) | the manifest of the volume, whose device it is | [`volume::release_volume`]; the next volume that gets the device's number |
//! | SMT, turbo or an I/O scheduler is changed ([`system_change`]) | `/run/plimsoll/system-changes.json`: the value before, and the new one | [`system_change::put_back_abandoned`], unless another program has changed it since |
//! | requests are traced in an instance of tracefs ([`block_trace`]) | its name and its lock | [`block_trace::sweep_abandoned`] |
//! | a directory is given to a server's user or group ([`server_account`]), a copy to the owner of the original ([`copy`]) | the manifest of the data directory, which lists the directory before it is made | the removal of the directory |
//!
//! The rest ends with its process, whatever ends that: tracefs mounted in no directory ([`block_trace`]), a server that becomes another user
//! ([`server_account`]), its mounts in a namespace of its own ([`private_mounts`]), threads of real-time priority ([`slowdown`]).
//!
//! Every run, every recording and `plimsoll doctor` begin with [`undo_abandoned`]. A power cut undoes all of it but images and owners: the
//! next run in the same directory removes those.

pub mod block_trace;
pub mod cgroup;
pub mod copy;
pub mod private_mounts;
pub mod server_account;
pub mod slowdown;
pub mod system_change;
pub mod volume;

use crate::data_dir;

/// Undoes what killed runs have left, with a line on each. To other users than root it reports what root has to undo.
pub fn undo_abandoned() -> Vec<String> {
    let places = volume::abandoned_places();
    let volumes = places.iter().filter_map(|place| data_dir::sweep_one(place, volume::release_volume).note());
    let mut lines: Vec<String> = volumes.collect();
    lines.extend(cgroup::sweep_abandoned());
    lines.extend(block_trace::sweep_abandoned());
    lines.extend(system_change::put_back_abandoned());
    lines
}
