//! The user makes a mistake, presses Ctrl-C, or names what is not his to change.

use crate::disk::places::{SHORT, SMALL, is_root, refused};
use crate::disks::done;
use crate::fault::{Family, Fault, FaultElsewhere, Kept, Length, signal};
use crate::lab::{CALM, Finished, Lab, NULL, assert_runs, wait_until};
use std::collections::BTreeMap;
use std::fs::File;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub const USER: Family = Family {
    name: "user",
    about: "The user makes a mistake, presses Ctrl-C, or names what is not his to change.",
    faults: &[
        Fault {
            name: "not_root",
            what: "A user other than root asks for a file system of its own",
            exit: 2,
            message: "`--fs ext4` needs root",
            kept: Kept::NothingBegun,
            length: Length::Short,
            make: is_not_root,
        },
        Fault {
            name: "a_volume_is_too_small",
            what: "`--fs-size` is too small for the data",
            exit: 2,
            message: "use at least",
            kept: Kept::NothingBegun,
            length: Length::Short,
            make: makes_volume_too_small,
        },
        Fault {
            name: "steps_do_not_fit_together",
            what: "The engine of a later point cannot do what is asked: no point is measured",
            exit: 2,
            message: "read_write",
            kept: Kept::NothingBegun,
            length: Length::Short,
            make: asks_for_what_an_engine_lacks,
        },
        Fault {
            name: "a_run_is_in_use",
            what: "A run is resumed that is being recorded",
            exit: 3,
            message: "is in use: it is being recorded by process",
            kept: Kept::All,
            length: Length::Short,
            make: resumes_what_is_recorded,
        },
        Fault {
            name: "a_plan_reaches_beyond_its_schema",
            what: "A plan changes another schema or a setting of a server that plimsoll did not start, whatever it allows itself",
            exit: 3,
            message: "--allow-writes",
            kept: Kept::NothingBegun,
            length: Length::Short,
            make: reaches_beyond_its_schema,
        },
        Fault {
            name: "a_report_is_somebody_elses",
            what: "The directory of a report holds files of others",
            exit: 3,
            message: "`mine`",
            kept: Kept::All,
            length: Length::Short,
            make: names_a_directory_of_others,
        },
        Fault {
            name: "output_is_full",
            what: "The output cannot be written (`/dev/full`)",
            exit: 1,
            message: "cannot write the output",
            kept: Kept::All,
            length: Length::Short,
            make: prints_to_a_full_disk,
        },
        Fault {
            name: "a_directory_is_read_only",
            what: "The directory of run files cannot be written to",
            exit: 3,
            message: "choose another directory",
            kept: Kept::NothingBegun,
            length: Length::Short,
            make: records_where_nothing_can_be_written,
        },
        Fault {
            name: "root_in_a_closed_directory",
            what: "Root starts a private server below a directory that its user cannot enter (`/root`)",
            exit: 0,
            message: "",
            kept: Kept::All,
            length: Length::Short,
            make: starts_a_server_in_a_closed_directory,
        },
        Fault {
            name: "root_without_mounts_in_a_closed_directory",
            what: "The same, where root may make no mounts, as in most containers",
            exit: 3,
            message: "use another directory (`--dir`), or allow others to enter it",
            kept: Kept::NothingBegun,
            length: Length::Short,
            make: starts_a_server_that_cannot_be_let_in,
        },
        Fault {
            name: "a_process_with_a_password_crashes",
            what: "A plimsoll that holds a password or a key crashes, whether from the environment, a file or a plan: there is no core dump, and no other process may look into it",
            exit: 134,
            message: "",
            kept: Kept::NoRun,
            length: Length::Short,
            make: crashes_with_a_password,
        },
        Fault {
            name: "a_link_of_others_is_on_the_way",
            what: "A link of another user is on the way to a directory or file that a command would write: each command refuses it",
            exit: 3,
            message: "is a symlink that another user has made",
            kept: Kept::NothingBegun,
            length: Length::Short,
            make: finds_a_link_of_others,
        },
    ],
};

pub const ELSEWHERE: &[FaultElsewhere] = &[
    FaultElsewhere {
        what: "A password of PostgreSQL is given",
        then: "writes it into no file, argument, message or report; no process of the run has it in its command line meanwhile",
        file: "tests/cli/servers.rs",
        test: "a_postgresql_of_somebody_else_wants_its_password_and_is_left_as_it_was",
    },
    FaultElsewhere {
        what: "A password of MariaDB is given",
        then: "does the same",
        file: "tests/cli/servers.rs",
        test: "a_server_of_somebody_else_is_measured_in_a_schema_of_its_own_that_goes",
    },
    FaultElsewhere {
        what: "A word, a flag or a value is misspelt",
        then: "names it, and what was probably meant",
        file: "tests/cli/mistakes.rs",
        test: "unknown_words_are_named_with_what_was_probably_meant",
    },
    FaultElsewhere {
        what: "A word of fio, sysbench or pgbench is used",
        then: "names its own",
        file: "tests/cli/mistakes.rs",
        test: "words_of_other_programs_are_answered_with_ours",
    },
    FaultElsewhere {
        what: "A flag has no effect",
        then: "refuses it, and names what it needs",
        file: "tests/cli/mistakes.rs",
        test: "a_flag_that_no_point_uses_is_refused_with_what_it_needs",
    },
    FaultElsewhere {
        what: "A path does not exist",
        then: "names it",
        file: "tests/cli/mistakes.rs",
        test: "places_that_do_not_exist_are_named_without_numbers_of_the_system",
    },
    FaultElsewhere {
        what: "A run is resumed with another version, on another machine or with another plan",
        then: "refuses it",
        file: "tests/cli/resume.rs",
        test: "another_version_and_another_machine_are_refused_and_another_setting_is_told",
    },
    FaultElsewhere {
        what: "Settings of the kernel would be changed without consent",
        then: "refuses, and names them",
        file: "tests/cli/machine.rs",
        test: "a_scheduler_is_changed_only_if_that_is_allowed",
    },
    FaultElsewhere {
        what: "Runs are compared that are unlike",
        then: "names each difference",
        file: "tests/cli/compare.rs",
        test: "what_cannot_be_compared_is_refused_in_one_line",
    },
];

/// The binary may be where only root can go, so it is copied.
fn is_not_root(lab: &Lab) -> Option<Finished> {
    is_root()?;
    done("chmod", &["0777", lab.path().to_str().unwrap()]);
    let copy = tempfile::tempdir().unwrap();
    done("chmod", &["0755", copy.path().to_str().unwrap()]);
    let binary = copy.path().join("plimsoll");
    std::fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &binary).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(binary).current_dir(lab.path());
    let finished: Finished = command.args(["file", "--fs", "ext4"]).args(SMALL).output().unwrap().into();
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}

fn makes_volume_too_small(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let flags = ["file", "--fs", "xfs", "--fs-size", "310MiB", "--file-size", "1GiB", "--quiet"];
    Some(refused(lab, &[&flags[..], &SHORT].concat(), 2, &["`--fs-size 310MiB`", "1 GiB", "`auto`"]))
}

fn asks_for_what_an_engine_lacks(lab: &Lab) -> Option<Finished> {
    let block = ["file", "--block", "777", "--file-size", "4MiB", "--quiet"];
    refused(lab, &block, 2, &["`--block 777`", "`--direct false`"]);
    refused(lab, &["file", "--io", "sync", "--depth", "4", "--quiet"], 2, &["`--depth 4`", "`--io uring`"]);
    let second = ["oltp", "--engine", "sqlite,fjall", "--mix", "read_write", "--quiet"];
    let finished = refused(lab, &second, 2, &["read_write", "point_select"]);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}

/// Nothing listens there: what is refused is refused before anybody is asked.
fn reaches_beyond_its_schema(lab: &Lab) -> Option<Finished> {
    let plan = |setup: &str| {
        let text = format!(
            "workload = 'sql'\nengine = 'mysql://u@127.0.0.1:1/'\n[[variant]]\nname = 'a'\nsetup = \"{setup}\"\nstatement = 'SELECT 1'\n"
        );
        std::fs::write(lab.path().join("p.toml"), text).unwrap();
    };
    for setup in ["DROP TABLE other.x", "SET GLOBAL max_connections = 5", "DELETE FROM `shop`.orders"] {
        plan(setup);
        let planned = lab.run(&["plan", "p.toml"]);
        let listed = planned.stdout.split_once("may change what plimsoll did not make").map_or("", |(_, list)| list);
        assert!(planned.exit == 0 && listed.contains(setup), "{}{}", planned.stdout, planned.stderr);
        refused(lab, &["run", "p.toml", "--quiet"], 3, &["--allow-writes", setup]);
        let allowed = lab.run(&["run", "p.toml", "--quiet", "--allow-writes"]);
        assert_eq!(allowed.exit, 4, "nothing listens: {}", allowed.stderr);
    }
    plan("CREATE TEMPORARY TABLE c (id INT)");
    assert_eq!(lab.run(&["run", "p.toml", "--quiet"]).exit, 4, "it stays in plimsoll's own schema");
    let own = "workload = 'oltp'\nengine = 'mysql://u@127.0.0.1:1/d'\ntables_of = 'sysbench'\nmix = 'read_write'\nallow_writes = true\n";
    std::fs::write(lab.path().join("p.toml"), own).unwrap();
    Some(refused(lab, &["run", "p.toml", "--quiet"], 3, &["the plan says allow_writes = `true`"]))
}

fn resumes_what_is_recorded(lab: &Lab) -> Option<Finished> {
    let mut child = lab.command(&[CALM, &["--time", "3s"]].concat()).spawn().unwrap();
    wait_until("the load", || {
        assert_runs(&mut child);
        lab.intervals(1, "run") > 0
    });
    let other = tempfile::tempdir().unwrap();
    let refused = lab.run(&["run", "--resume", "last", "--dir", other.path().to_str().unwrap()]);
    assert_eq!(child.wait().unwrap().code(), Some(0), "whoever records it was not disturbed");
    Some(refused)
}

/// A short run.
fn measured(lab: &Lab) -> String {
    let done = lab.run(&[NULL, &["--time", "200ms", "--quiet"]].concat());
    assert_eq!(done.exit, 0, "{}", done.stderr);
    lab.run_files()[0].to_str().unwrap().to_owned()
}

fn names_a_directory_of_others(lab: &Lab) -> Option<Finished> {
    let file = measured(lab);
    std::fs::create_dir(lab.path().join("mine")).unwrap();
    std::fs::write(lab.path().join("mine/report.html"), "years of work").unwrap();
    let finished = lab.run(&["report", &file, "--out", "mine"]);
    assert_eq!(std::fs::read(lab.path().join("mine/report.html")).unwrap(), b"years of work");
    for _ in 0..2 {
        assert_eq!(lab.run(&["report", &file, "-o", "new"]).exit, 0, "its own it replaces");
    }
    Some(finished)
}

fn prints_to_a_full_disk(lab: &Lab) -> Option<Finished> {
    let file = measured(lab);
    let full = File::options().write(true).open("/dev/full").unwrap();
    Some(lab.command(&["show", &file]).stdout(full).output().unwrap().into())
}

fn records_where_nothing_can_be_written(lab: &Lab) -> Option<Finished> {
    let runs = ["--time", "50ms", "--quiet", "--runs", "/proc/x"];
    Some(refused(lab, &[NULL, &runs[..]].concat(), 3, &["/proc/x"]))
}

/// The server gets a way of its own, or the user a place that works.
fn starts_a_server_in_a_closed_directory(lab: &Lab) -> Option<Finished> {
    is_root()?;
    Command::new("mariadbd").arg("--version").output().ok()?;
    let closed = lab.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    done("chmod", &["0700", closed.to_str().unwrap()]);
    let load = ["oltp", "--engine", "mariadb", "--table-rows", "100", "--durability", "none", "--time", "300ms"];
    Some(lab.run(&[&load[..], &["--dir", "closed", "--no-report"]].concat()))
}

fn starts_a_server_that_cannot_be_let_in(lab: &Lab) -> Option<Finished> {
    is_root()?;
    Command::new("mariadbd").arg("--version").output().ok()?;
    let closed = lab.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    done("chmod", &["0700", closed.to_str().unwrap()]);
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin", env!("CARGO_BIN_EXE_plimsoll")]);
    command.args(["oltp", "--engine", "mariadb", "--time", "300ms", "--dir", "closed"]).current_dir(lab.path());
    let finished: Finished = command.output().unwrap().into();
    assert_eq!(std::fs::read_dir(&closed).unwrap().count(), 0);
    Some(finished)
}

/// As another user: the kernel gives the files of a process that must not be dumped to root.
fn crashes_with_a_password(lab: &Lab) -> Option<Finished> {
    is_root()?;
    done("chmod", &["0777", lab.path().to_str().unwrap()]);
    let copy = tempfile::tempdir().unwrap();
    done("chmod", &["0755", copy.path().to_str().unwrap()]);
    let binary = copy.path().join("plimsoll");
    std::fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &binary).unwrap();
    let start = |environment: &[(&str, &str)], arguments: &[&str]| {
        let script = "ulimit -c unlimited; exec \"$@\"";
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", script, "bash"]);
        command.arg(&binary).args(arguments).envs(environment.iter().copied()).current_dir(lab.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    // Nothing reads what its clients send, and it sends nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    write_secrets(lab, silent.local_addr().unwrap().port());
    crash(start(&[("PLIMSOLL_PASSWORD", CANARY)], &["run", "pipe"]));
    crash(start(&[], &["agent", "--bus", "redis://127.0.0.1:1/", "--bus-key-file", "secret", "--wait", "300s"]));
    crash(start(&[], &["run", "plan.toml"]));
    // As a shell reports it.
    Some(Finished { exit: 128 + 6, stdout: String::new(), stderr: String::new() })
}

const CANARY: &str = "c4n4ry-in-the-mine";

/// A file with a secret, a plan that names it, with a server at `port`, and a plan that never comes.
fn write_secrets(lab: &Lab, port: u16) {
    let [secret, plan, pipe] = ["secret", "plan.toml", "pipe"].map(|name| lab.path().join(name));
    std::fs::write(&secret, CANARY).unwrap();
    done("chmod", &["0600", secret.to_str().unwrap()]);
    done("chown", &["65534:65534", secret.to_str().unwrap()]);
    let url = format!("mysql://visitor@127.0.0.1:{port}/?ssl-mode=DISABLED");
    let text = format!("workload = \"oltp\"\nengine = \"{url}\"\npassword_file = \"secret\"\ntime = \"300s\"\n");
    std::fs::write(&plan, text).unwrap();
    done("chmod", &["0644", plan.to_str().unwrap()]);
    done("mkfifo", &["-m", "0666", pipe.to_str().unwrap()]);
}

/// Waits until `child` is closed to others, and makes it crash.
fn crash(mut child: Child) {
    // Until its program runs it is root's, too.
    let is_closed = |pid: u32| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let owner = std::fs::metadata(format!("/proc/{pid}/environ")).map(|meta| meta.uid());
        name.trim() == "plimsoll" && owner.is_ok_and(|owner| owner == 0)
    };
    wait_until("its closing", || {
        assert_runs(&mut child);
        is_closed(child.id())
    });
    signal(&child, "ABRT");
    let status = child.wait().unwrap();
    assert_eq!((status.signal(), status.core_dumped()), (Some(6), false));
}

/// In a directory such as `/tmp` anybody can make such a link before root starts plimsoll.
fn finds_a_link_of_others(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let theirs = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::create_dir(theirs.path().join("data")).unwrap();
    std::fs::create_dir(lab.path().join("mine")).unwrap();
    for run in [theirs.path().join("data/run.plimsoll"), lab.path().join("mine/a.plimsoll")] {
        std::fs::copy(root.join("tests/golden/stall/run.plimsoll"), run).unwrap();
    }
    std::fs::write(lab.path().join("key"), CANARY).unwrap();
    done("chmod", &["0600", lab.path().join("key").to_str().unwrap()]);
    let link = lab.path().join("way");
    symlink(theirs.path(), &link).unwrap();
    done("chown", &["--no-dereference", "nobody", link.to_str().unwrap()]);
    let before = all_in(theirs.path());
    let fio = root.join("crates/import/tests/fixtures/fio.json");
    commands_that_write(fio.to_str().unwrap()).iter().fold(None, |_, arguments| {
        let finished = refused(lab, &[arguments, &["--quiet"][..]].concat(), 3, &["`way`", "another user"]);
        assert!(all_in(theirs.path()) == before, "{arguments:?}: {:?}", all_in(theirs.path()).keys());
        Some(finished)
    })
}

/// Each command with a place that it would write to behind the link `way`; `fio` is a result that can be imported.
fn commands_that_write(fio: &str) -> Vec<Vec<&str>> {
    let null = |more: &[&'static str]| [NULL, &["--time", "100ms"], more].concat();
    let file = ["file", "--file-size", "4MiB", "--time", "100ms", "--no-report", "--path", "way/data/f"];
    let disk = ["--file-size", "4MiB", "--time", "100ms"];
    let agent = ["agent", "--bus", "redis://127.0.0.1:1/", "--bus-key-file", "key", "--wait", "1s"];
    vec![
        null(&["--dir", "way/data"]),
        null(&["--runs", "way/data"]),
        null(&["--runs", "way/data/new"]),
        file.to_vec(),
        vec!["quick", "way/data"],
        vec!["run", "--resume", "way/data/run.plimsoll"],
        vec!["doctor", "--dir", "way/data"],
        [&["disk", "way/data"], &disk[..]].concat(),
        [&["disk", ".", "--runs", "way/data"], &disk[..]].concat(),
        [&agent[..], &["--runs", "way/data"]].concat(),
        vec!["import", fio, "--runs", "way/data"],
        vec!["report", "way/data/run.plimsoll"],
        vec!["report", "mine/a.plimsoll", "--out", "way/data/new"],
        vec!["compare", "mine/a.plimsoll", "way/data/run.plimsoll", "--out", "way/data/new"],
        vec!["history", "--runs", "way/data"],
        vec!["history", "--runs", "mine", "--out", "way/data/new"],
        vec!["dist", "uniform", "--n", "100", "--draws", "1000", "--out", "way/data/new"],
        vec!["schema", "no.sqlite", "--out", "way/data/plan.toml"],
        vec!["record-io", "--pid", "1", "--time", "100ms", "--out", "way/data/trace"],
        vec!["man", "--into", "way/data"],
    ]
}

/// The paths of all files and directories in `dir`, with their contents.
fn all_in(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(path) = left.pop() {
        if let Ok(entries) = std::fs::read_dir(&path) {
            left.extend(entries.map(|entry| entry.unwrap().path()));
        }
        all.insert(path.clone(), std::fs::read(&path).unwrap_or_default());
    }
    all
}
