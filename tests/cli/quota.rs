//! A CPU quota around plimsoll: if only one of two runs had it, `compare` names it.
//!
//! In: a cgroup with half a CPU, made for the test. Out: what `compare` has of the two runs. Limits: needs root and the controller `cpu` of
//! either version of cgroups; elsewhere the test says so on stderr and passes there only. How much slower the run became is for the unit
//! tests: neighbours take CPU time, too.

use crate::lab::{Finished, Lab};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A cgroup whose processes may use half a CPU; removed at the end.
struct HalfCpu {
    group: PathBuf,
}

impl HalfCpu {
    fn new() -> Option<HalfCpu> {
        let name = format!("plimsoll-quota-{}", std::process::id());
        let version_1 = Path::new("/sys/fs/cgroup/cpu");
        let (root, files): (&Path, &[(&str, &str)]) = if version_1.exists() {
            (version_1, &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "50000")])
        } else {
            (Path::new("/sys/fs/cgroup"), &[("cpu.max", "50000 100000")])
        };
        let half = HalfCpu { group: root.join(name) };
        let made = fs::create_dir(&half.group);
        let limited =
            made.and_then(|()| files.iter().try_for_each(|(file, text)| fs::write(half.group.join(file), text)));
        match limited {
            Ok(()) => Some(half),
            Err(error) => {
                eprintln!("\n    SKIPPED, NOTHING WAS PROVEN: no cgroup with a CPU quota: {error}\n");
                None
            }
        }
    }

    /// plimsoll in this cgroup from its first instruction on.
    fn run(&self, lab: &Lab, arguments: &[&str]) -> Finished {
        let plimsoll = lab.command(arguments);
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.group.join("cgroup.procs"));
        command.arg(plimsoll.get_program()).args(plimsoll.get_args()).current_dir(lab.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap().into()
    }
}

impl Drop for HalfCpu {
    /// It is empty: plimsoll has ended.
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.group);
    }
}

const CRC: &[&str] = &["cpu", "--kernel", "crc", "--clients", "1", "--time", "1s", "--no-report"];

#[test]
fn a_cpu_quota_that_only_one_run_had_is_named() {
    let Some(half) = HalfCpu::new() else { return };
    let lab = Lab::new();
    lab.json(CRC);
    let held = half.run(&lab, &[CRC, &["--json", "--quiet"]].concat());
    assert_eq!(held.exit, 0, "{}", held.stderr);
    let files: Vec<String> = lab.run_files().iter().map(|file| file.to_str().unwrap().to_owned()).collect();
    let compared = lab.run(&["compare", &files[0], &files[1], "--json"]).json();
    let unlike = compared["unlike"].as_array().unwrap();
    let quota = unlike.iter().find(|one| one["what"] == "cgroup.cpu_quota").unwrap_or_else(|| panic!("{compared}"));
    assert_eq!((&quota["base"], &quota["new"]), (&json!(["none"]), &json!(["0.5"])));
    let text = lab.run(&["compare", &files[0], &files[1]]).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("cgroup.cpu_quota (none against 0.5)"), "{text}");
}
