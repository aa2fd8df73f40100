//! Files, plans and command lines are wrong, damaged or hostile.

use crate::disk::places::refused;
use crate::fault::{Family, Fault, FaultElsewhere, Kept, Length};
use crate::fuzz;
use crate::lab::{Finished, Lab, wait_until};
use rusqlite::Connection;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

pub const INPUT: Family = Family {
    name: "input",
    about: "Files, plans and command lines are wrong, damaged or hostile.",
    faults: &[
        Fault {
            name: "a_file_is_no_run",
            what: "A file is no run file, is empty or is not there",
            exit: 2,
            message: "`absent.plimsoll`",
            kept: Kept::NoRun,
            length: Length::Short,
            make: read_what_is_no_run,
        },
        Fault {
            name: "a_run_file_has_sql",
            what: "A run file has triggers, views, generated columns and indexes of a stranger: none has an effect",
            exit: 0,
            message: "",
            kept: Kept::NoRun,
            length: Length::Short,
            make: read_sql_of_strangers,
        },
        Fault {
            name: "a_run_file_has_a_huge_value",
            what: "A value of a run file is hundreds of megabytes long",
            exit: 2,
            message: "huge.plimsoll`",
            kept: Kept::NoRun,
            length: Length::Short,
            make: read_huge_value,
        },
        Fault {
            name: "a_run_file_names_files_of_others",
            what: "A run file names files of others as its data (`plimsoll verify`)",
            exit: 3,
            message: "not a table",
            kept: Kept::All,
            length: Length::Short,
            make: verify_files_of_others,
        },
        Fault {
            name: "names_have_control_characters",
            what: "Names and arguments have control characters: none reaches the terminal",
            exit: 2,
            message: "\\u{1b}",
            kept: Kept::NoRun,
            length: Length::Short,
            make: print_control_characters,
        },
        Fault {
            name: "a_plan_is_wrong",
            what: "A plan has a mistake: it is named with its line",
            exit: 2,
            message: "p.toml:1:",
            kept: Kept::NothingBegun,
            length: Length::Short,
            make: run_wrong_plans,
        },
        Fault {
            name: "a_plan_is_endless",
            what: "A plan does not end (`/dev/zero`)",
            exit: 2,
            message: "/dev/zero",
            kept: Kept::NothingBegun,
            length: Length::Short,
            make: plan_without_end,
        },
        Fault {
            name: "a_plan_is_a_pipe",
            what: "A plan is a named pipe that nothing writes to: plimsoll says after a second what it waits for",
            exit: 0,
            message: "waiting for the plan `pipe`, which is a named pipe that no program writes to yet",
            kept: Kept::NoRun,
            length: Length::Short,
            make: plan_from_a_pipe,
        },
        Fault {
            name: "a_file_is_a_pipe_or_a_device",
            what: "A log, a recording, a run file, a result, a configuration, a key, a password, a certificate or a file of SQL is a named pipe \
                   or a device",
            exit: 2,
            message: "it is not a regular file",
            kept: Kept::NothingBegun,
            length: Length::Short,
            make: files_that_never_answer,
        },
        Fault {
            name: "a_pipe_is_among_run_files",
            what: "A named pipe has the name of a run file, among others: it is listed as what it is",
            exit: 0,
            message: "it is not a regular file",
            kept: Kept::NoRun,
            length: Length::Short,
            make: list_a_pipe,
        },
        Fault {
            name: "files_are_mutated",
            what: "Run files, plans, results of other programs, recorded I/O and logs of servers are mutated at random, for some seconds",
            exit: 0,
            message: "",
            kept: Kept::NoRun,
            length: Length::Short,
            make: fuzz::run,
        },
    ],
};

pub const ELSEWHERE: &[FaultElsewhere] = &[
    FaultElsewhere {
        what: "A run file is cut at any length",
        then: "refuses it, and names it",
        file: "crates/store/tests/run_file/damage.rs",
        test: "a_file_cut_at_any_length_is_refused_by_name",
    },
    FaultElsewhere {
        what: "Bits of a run file are changed",
        then: "reads it or refuses it, and names it",
        file: "crates/store/tests/run_file/damage.rs",
        test: "changed_bits_never_panic_and_errors_name_the_file",
    },
    FaultElsewhere {
        what: "A run file holds numbers and words that cannot be",
        then: "names the column",
        file: "crates/store/tests/run_file/damage.rs",
        test: "contents_that_cannot_be_are_named",
    },
    FaultElsewhere {
        what: "A table of a run file is a view, a virtual table or of another shape",
        then: "refuses it",
        file: "crates/store/tests/run_file/damage.rs",
        test: "tables_that_are_something_else_are_refused",
    },
    FaultElsewhere {
        what: "A trigger is in a run file that is resumed",
        then: "does not run it",
        file: "crates/store/tests/run_file/survival.rs",
        test: "a_trigger_in_a_run_file_is_not_fired_by_recording_further",
    },
    FaultElsewhere {
        what: "A run file has another format",
        then: "refuses it with a message",
        file: "crates/store/tests/run_file/damage.rs",
        test: "another_format_is_refused_in_one_line_whether_it_is_read_or_recorded_further",
    },
    FaultElsewhere {
        what: "A result of fio, sysbench or pgbench is cut, mixed up or out of range",
        then: "names the line and what was expected",
        file: "crates/import/tests/import.rs",
        test: "bad_files_are_refused_with_their_line_and_what_was_expected",
    },
    FaultElsewhere {
        what: "Names, titles and facts of a run hold markup, scripts or formulas",
        then: "escapes them in HTML, SVG, Markdown, CSV and on the terminal",
        file: "crates/report/src/browser/mod.rs",
        test: "no_text_of_a_run_becomes_markup_a_script_or_a_formula",
    },
    FaultElsewhere {
        what: "Somebody on the network asks `plimsoll serve`",
        then: "shows nothing without the token",
        file: "tests/cli/serve.rs",
        test: "strangers_see_nothing",
    },
    FaultElsewhere {
        what: "A request to `plimsoll serve` leads out of its directory",
        then: "refuses it",
        file: "tests/cli/serve.rs",
        test: "nothing_outside_of_the_directory_can_be_reached",
    },
    FaultElsewhere {
        what: "A request to `plimsoll serve` is slow or endless",
        then: "cuts it off, and holds up no other",
        file: "crates/web/tests/clients.rs",
        test: "a_slow_client_is_cut_off_and_holds_up_no_other",
    },
];

fn read_what_is_no_run(lab: &Lab) -> Option<Finished> {
    fs::write(lab.path().join("notes.txt"), "hello").unwrap();
    fs::write(lab.path().join("empty.plimsoll"), "").unwrap();
    ["show", "report", "export"].iter().fold(None, |_, command| {
        refused(lab, &[command, "notes.txt"], 2, &["`notes.txt`", "not a plimsoll run file"]);
        refused(lab, &[command, "empty.plimsoll"], 2, &["`empty.plimsoll`"]);
        Some(refused(lab, &[command, "absent.plimsoll"], 2, &["`absent.plimsoll`"]))
    })
}

/// A recorded run that strangers may have changed, as `name`, outside of the directory of runs.
fn stranger(lab: &Lab, name: &str) -> PathBuf {
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/stall/run.plimsoll");
    let path = lab.path().join(name);
    fs::copy(run, &path).unwrap();
    path
}

/// The same is shown before and after, whichever way the file is read.
fn read_sql_of_strangers(lab: &Lab) -> Option<Finished> {
    let path = stranger(lab, "stranger.plimsoll");
    let show = || lab.run(&["show", "stranger.plimsoll", "--json"]);
    let before = show();
    assert_eq!(before.exit, 0, "{}", before.stderr);
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "PRAGMA foreign_keys = OFF;
         CREATE TABLE mine (a INTEGER, b TEXT GENERATED ALWAYS AS (replace(hex(zeroblob(a)), '00', 'x')) VIRTUAL);
         INSERT INTO mine (a) VALUES (100000000);
         CREATE VIEW bomb AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n;
         CREATE TRIGGER t1 AFTER INSERT ON point BEGIN DELETE FROM interval; END;
         CREATE TRIGGER t2 AFTER UPDATE ON point BEGIN DELETE FROM interval; END;
         CREATE INDEX slow ON interval (ok, failed);
         CREATE INDEX wrong ON event (text) WHERE at_ns < 0;",
    )
    .unwrap();
    db.close().unwrap();
    let after = show();
    assert_eq!(after.stdout, before.stdout);
    for command in [
        &["report", "stranger.plimsoll", "-o", "out"][..],
        &["export", "stranger.plimsoll", "--what", "intervals", "--format", "csv"],
    ] {
        assert_eq!(lab.run(command).exit, 0);
    }
    Some(after)
}

fn read_huge_value(lab: &Lab) -> Option<Finished> {
    let db = Connection::open(stranger(lab, "huge.plimsoll")).unwrap();
    let huge = "UPDATE meta SET value = replace(hex(zeroblob(100000000)), '00', 'xx') WHERE key = 'plan'";
    db.execute(huge, []).unwrap();
    db.close().unwrap();
    Some(lab.run(&["show", "huge.plimsoll"]))
}

fn verify_files_of_others(lab: &Lab) -> Option<Finished> {
    let write = ["file", "--verify", "true", "--no-report", "--file-size", "2MiB", "--path", "f0", "--mode", "seqwr"];
    lab.json(&[&write[..], &["--ops-max", "128", "--time", "60s"]].concat());
    let run_file = lab.run_files().pop().unwrap();
    let point_to = |table: &Path| {
        let run = Connection::open(&run_file).unwrap();
        let set = "UPDATE point SET facts = json_array(json_object('name', 'verify.table', 'value', ?1))";
        run.execute(set, [table.to_str().unwrap()]).unwrap();
    };
    let link = lab.path().join("link");
    std::os::unix::fs::symlink(lab.path(), &link).unwrap();
    let dir = lab.path().join("plimsoll-data-1-1");
    fs::create_dir(&dir).unwrap();
    fs::write(lab.path().join("x.plimsoll.generations"), "mine").unwrap();
    fs::write(lab.path().join("x"), "mine").unwrap();
    let tables = [
        (link.join("f0.plimsoll.generations"), "symlink"),
        (dir.join("plimsoll.generations"), "not a data directory"),
        (lab.path().join("x.plimsoll.generations"), "not a table"),
        (PathBuf::from("/etc/passwd"), "not a table"),
        (PathBuf::from("plimsoll.generations"), "not a table"),
    ];
    tables.iter().fold(None, |_, (table, why)| {
        point_to(table);
        Some(refused(lab, &["verify", run_file.to_str().unwrap()], 3, &[why]))
    })
}

/// Names of files come from others.
fn print_control_characters(lab: &Lab) -> Option<Finished> {
    let (runs, name) = ("r\u{1b}[2J", "x\u{1b}]0;t\u{7}.plimsoll");
    fs::create_dir(lab.path().join(runs)).unwrap();
    fs::write(lab.path().join(runs).join(name), "no run").unwrap();
    let file = format!("{runs}/{name}");
    let commands = [
        &["list", "--runs", runs][..],
        &["show", &file],
        &["report", &file],
        &["verify", &file],
        &["plan", &file],
        &["run", "--resume", "a\u{1b}b"],
        &["fi\u{1b}le"],
        &["file", "--cl\u{1b}ients"],
        &["quick", runs, "--scale", "\u{1b}"],
        &["compare", &file, &file],
        &["history", "--runs", runs],
        &["import", &file],
        &["explain", "\u{1b}[31m"],
        &["file", "--path", "a\u{1b}b/f"],
    ];
    commands.iter().fold(None, |_, arguments| {
        let finished = lab.run(arguments);
        let printed = format!("{}{}", finished.stdout, finished.stderr);
        assert!(printed.chars().all(|c| c == '\n' || !c.is_control()), "{arguments:?}: {printed:?}");
        Some(finished)
    })?;
    Some(lab.run(&["show", &file]))
}

fn run_wrong_plans(lab: &Lab) -> Option<Finished> {
    let plan = |text: &str| fs::write(lab.path().join("p.toml"), text).unwrap();
    plan("workload = \"file\"\n\n[[sweep]]\ndepht = 8\n");
    refused(lab, &["run", "p.toml"], 2, &["p.toml:4:", "`depht`", "did you mean `depth`?"]);
    plan("workload = \"file\"\nclients = [1, 0]\n");
    refused(lab, &["plan", "p.toml"], 2, &["p.toml:2:", "`0`"]);
    plan("workload = \"file\n");
    Some(refused(lab, &["run", "p.toml"], 2, &["p.toml:1:"]))
}

fn plan_without_end(lab: &Lab) -> Option<Finished> {
    Some(refused(lab, &["run", "/dev/zero"], 2, &[]))
}

/// To open or read one of them could take for ever.
fn files_that_never_answer(lab: &Lab) -> Option<Finished> {
    assert!(Command::new("mkfifo").args(["--mode=600", "pipe"]).current_dir(lab.path()).status().unwrap().success());
    fs::write(
        lab.path().join("p.toml"),
        "workload = 'sql'\nengine = 'sqlite'\n[[variant]]\nname = 'a'\nstatement = '@pipe'\n",
    )
    .unwrap();
    let server = "mysql://u@127.0.0.1:1/";
    let oltp = ["oltp", "--engine", server, "--quiet", "--password-file", "pipe"];
    let bus = ["agent", "--bus", "redis://127.0.0.1:1/", "--name", "a", "--bus-key-file", "pipe"];
    let with_issuers = format!("{server}?ssl-mode=VERIFY_CA&ssl-ca=pipe");
    let all: [&[&str]; 16] = [
        &["show", "pipe"],
        &["report", "pipe"],
        &["export", "pipe"],
        &["run", "--resume", "pipe"],
        &["import", "pipe"],
        &["schema", "pipe"],
        &["compress", "pipe", "--quiet"],
        &["oltp", "--engine", "mariadb", "--config", "pipe", "--quiet"],
        &["oltp", "--engine", "postgres://u@127.0.0.1:1/d?sslmode=require&sslcert=pipe&sslkey=pipe", "--quiet"],
        &oltp,
        &bus,
        &["oltp", "--engine", "postgres://u@127.0.0.1:1/d?sslmode=verify-ca&sslrootcert=pipe", "--quiet"],
        &["oltp", "--engine", &with_issuers, "--quiet"],
        &["replay-sql", "--engine", server, "--log", "pipe", "--quiet"],
        &["replay", "--trace", "/dev/zero", "--quiet"],
        &["run", "p.toml", "--quiet"],
    ];
    let mut last = None;
    for arguments in all {
        let mut child = lab.command(arguments).spawn().unwrap();
        wait_until("a refusal", || child.try_wait().unwrap().is_some());
        let finished: Finished = child.wait_with_output().unwrap().into();
        let is_named = ["regular file", "`pipe` is no file"].iter().any(|words| finished.stderr.contains(words));
        let is_refused = [2, 3, 4].contains(&finished.exit) && is_named;
        assert!(is_refused, "{arguments:?}: {} {}", finished.exit, finished.stderr);
        last = Some(finished);
    }
    last
}

fn list_a_pipe(lab: &Lab) -> Option<Finished> {
    stranger(lab, "run.plimsoll");
    assert!(Command::new("mkfifo").arg(lab.path().join("pipe.plimsoll")).status().unwrap().success());
    let listed = lab.run(&["list", "--runs", "."]);
    assert!(listed.stdout.contains("2 points"), "{}", listed.stdout);
    Some(listed)
}

fn plan_from_a_pipe(lab: &Lab) -> Option<Finished> {
    let pipe = lab.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = lab.command(&["plan", "pipe"]).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    stderr.read_line(&mut said).unwrap();
    let text = "workload = 'file'\nengine = 'null'\n";
    File::options().write(true).open(&pipe).unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    let finished: Finished = output.into();
    Some(Finished { stderr: said, ..finished })
}
