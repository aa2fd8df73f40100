//! Disks that are full, fail, lie or are not ours.

use crate::fault::{Family, Fault, Kept, Length};
use crate::lab::{Finished, Lab};
use std::process::Command;

pub const DISK: Family = Family {
    name: "disk",
    about: "A disk is full, fails, lies or holds the data of others.",
    faults: &[Fault {
        name: "a_file_cannot_grow",
        what: "A measured file cannot grow to its size (`ulimit -f`)",
        exit: 4,
        message: "File too large",
        kept: Kept::MeasuredUntilThen,
        length: Length::Short,
        make: limit_file_size,
    }],
};

/// plimsoll under a limit on the size of files: a disk that is full, without filling one.
fn with_file_limit(lab: &Lab, kib: u32, arguments: &[&str]) -> Finished {
    let script = format!("ulimit -f {kib} && exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_plimsoll")]).args(arguments).current_dir(lab.path());
    command.output().unwrap().into()
}

fn limit_file_size(lab: &Lab) -> Option<Finished> {
    let finished = with_file_limit(lab, 16 << 10, &["file", "--file-size", "64MiB", "--time", "1s", "--no-report"]);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}
