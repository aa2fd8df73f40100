//! Memory is short, for plimsoll or for the engine.

use crate::fault::{Family, Fault, FaultElsewhere, Kept, Length};
use crate::lab::{Finished, Lab, NULL, wait_until};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub const MEMORY: Family = Family {
    name: "memory",
    about: "Memory is short, for plimsoll or for the engine.",
    faults: &[
        Fault {
            name: "plimsoll_is_killed",
            what: "The kernel kills plimsoll because memory runs out; the next start reports it",
            exit: 0,
            message: "was killed by the kernel, because memory ran out",
            kept: Kept::MeasuredUntilThen,
            length: Length::Long,
            make: kill_plimsoll,
        },
        Fault {
            name: "a_server_is_killed",
            what: "The kernel kills a private server for want of memory",
            exit: 4,
            message: "was killed by the kernel, because memory ran out",
            kept: Kept::MeasuredUntilThen,
            length: Length::Long,
            make: kill_server,
        },
        Fault {
            name: "an_installation_is_killed",
            what: "The kernel kills the program that makes the files of a private server, for want of memory",
            exit: 4,
            message: "was killed by the kernel, because memory ran out (the limit of its control group is",
            kept: Kept::NothingBegun,
            length: Length::Short,
            make: kill_installation,
        },
        Fault {
            name: "a_memory_limit_is_too_small",
            what: "`--memory-limit` is too small for the cache of the server",
            exit: 2,
            message: "the server needs at least",
            kept: Kept::NothingBegun,
            length: Length::Short,
            make: limit_below_cache,
        },
    ],
};

pub const ELSEWHERE: &[FaultElsewhere] = &[
    FaultElsewhere {
        what: "The machine swaps while it is measured",
        then: "names it, and trusts the point less",
        file: "crates/analysis/src/findings/swap.rs",
        test: "swapped_pages_and_waiting_for_memory_are_found",
    },
    FaultElsewhere {
        what: "The caches of several instances are larger than the memory",
        then: "refuses the plan",
        file: "crates/engine/src/requirements.rs",
        test: "caches_that_the_memory_does_not_hold_together_are_refused",
    },
    FaultElsewhere {
        what: "A server says at its start that memory is short",
        then: "names the setting",
        file: "crates/engine/src/server/process.rs",
        test: "a_log_that_ends_without_memory_or_space_leads_to_advice",
    },
    FaultElsewhere {
        what: "A run file would take more memory than the bounds of reading",
        then: "refuses it",
        file: "crates/store/src/budget.rs",
        test: "rows_and_numbers_have_their_bounds",
    },
];

/// A cgroup whose processes share so much memory; removed at the end.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    /// `None` if this machine cannot make one.
    fn new(name: &str, mib: u64) -> Option<MemoryGroup> {
        crate::disk::places::is_root()?;
        let version_1 = Path::new("/sys/fs/cgroup/memory");
        let (root, file) = if version_1.exists() {
            (version_1, "memory.limit_in_bytes")
        } else {
            (Path::new("/sys/fs/cgroup"), "memory.max")
        };
        let group = MemoryGroup(root.join(format!("plimsoll-fault-{name}-{}", std::process::id())));
        fs::create_dir(&group.0).ok()?;
        fs::write(group.0.join(file), (mib << 20).to_string()).ok()?;
        Some(group)
    }

    /// plimsoll in it from its first instruction on.
    fn command(&self, lab: &Lab, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs"));
        command.arg(env!("CARGO_BIN_EXE_plimsoll")).args(arguments).current_dir(lab.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        wait_until("the end of its processes", || fs::remove_dir(&self.0).is_ok());
    }
}

/// The first point is complete; the cache of the second takes more than there is.
fn kill_plimsoll(lab: &Lab) -> Option<Finished> {
    let group = MemoryGroup::new("client", 130)?;
    let load = ["insert", "--engine", "sqlite", "--step", "l.i1", "--rows", "0", "--rows-per-commit", "1000"];
    let more = ["--data-bytes", "2000", "--cache", "1MiB,400MiB", "--durability", "none", "--time", "60s"];
    let ends = ["--ops-max", "100", "--interval", "50ms", "--no-report"];
    let status = group.command(lab, &[&load[..], &more, &ends].concat()).status().unwrap();
    assert_eq!(status.code(), None, "it was killed");
    let killed = lab.run(&["show", lab.run_files()[0].to_str().unwrap(), "--json"]).json();
    assert_eq!(killed["points"][0]["state"], "complete", "the first point is whole");
    let next = lab.run(&[NULL, &["--time", "100ms"]].concat());
    // What is kept is looked for in the newest file.
    fs::remove_file(lab.run_files().last().unwrap()).unwrap();
    Some(next)
}

fn has_mariadb() -> Option<()> {
    let found = Command::new("mariadbd").arg("--version").output().is_ok_and(|output| output.status.success());
    found.then_some(())
}

/// Its cache may grow to more than there is for it and plimsoll together.
fn kill_server(lab: &Lab) -> Option<Finished> {
    has_mariadb()?;
    let group = MemoryGroup::new("server", 300)?;
    let load = ["insert", "--engine", "mariadb", "--cache", "1GiB", "--step", "l.i1", "--rows", "0", "--clients", "2"];
    let more = ["--rows-per-commit", "1000", "--durability", "none", "--time", "120s", "--interval", "50ms"];
    let finished = group.command(lab, &[&load[..], &more, &["--no-report"]].concat()).output().unwrap().into();
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}

/// It takes more than this by itself.
fn kill_installation(lab: &Lab) -> Option<Finished> {
    has_mariadb()?;
    let group = MemoryGroup::new("installation", 60)?;
    let load = ["oltp", "--engine", "mariadb", "--table-rows", "100", "--time", "300ms", "--no-report", "--quiet"];
    let finished = group.command(lab, &load).output().unwrap().into();
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}

fn limit_below_cache(lab: &Lab) -> Option<Finished> {
    has_mariadb()?;
    crate::disk::places::is_root()?;
    let load = ["oltp", "--engine", "mariadb", "--cache", "256MiB", "--memory-limit", "200MiB", "--time", "300ms"];
    Some(lab.run(&[&load[..], &["--quiet"]].concat()))
}
