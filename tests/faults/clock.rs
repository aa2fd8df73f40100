//! The clock jumps, or time passes in which plimsoll could not run.

use crate::fault::{Family, Fault, FaultElsewhere, Kept, Length};
use crate::lab::{CALM, Finished, Lab, NULL, assert_runs, wait_until};
use rusqlite::Connection;
use std::process::{Command, Stdio};

pub const CLOCK: Family = Family {
    name: "clock",
    about: "The clock jumps, or time passes in which plimsoll could not run.",
    faults: &[
        Fault {
            name: "the_monotonic_clock_is_another",
            what: "The monotonic clock is that of a container, a year ahead",
            exit: 0,
            message: "",
            kept: Kept::All,
            length: Length::Short,
            make: shift_monotonic_clock,
        },
        Fault {
            name: "the_wall_clock_is_set_back",
            what: "The wall clock is set back by a day between a kill and `run --resume`: times of the run go on",
            exit: 0,
            message: "",
            kept: Kept::All,
            length: Length::Short,
            make: set_wall_clock_back,
        },
    ],
};

pub const ELSEWHERE: &[FaultElsewhere] = &[
    FaultElsewhere {
        what: "The clock jumps during a run",
        then: "voids the point",
        file: "crates/analysis/src/findings/clock_gap.rs",
        test: "a_jump_during_the_run_spoils_it",
    },
    FaultElsewhere {
        what: "The machine is suspended during a run",
        then: "sees it in the clock that goes on, and voids the point",
        file: "crates/observe/src/gap_watch.rs",
        test: "a_suspended_machine_shows_in_the_clock_that_goes_on",
    },
    FaultElsewhere {
        what: "The monotonic clock jumps",
        then: "records a gap of plimsoll's own",
        file: "crates/observe/src/gap_watch.rs",
        test: "a_clock_that_jumps_is_a_gap_that_is_known_at_the_end",
    },
    FaultElsewhere {
        what: "The CPU's counter stands still, goes back or runs away",
        then: "asks the kernel for the time",
        file: "crates/load/src/tsc.rs",
        test: "a_counter_that_stood_still_or_went_back_or_ran_away_is_not_believed",
    },
    FaultElsewhere {
        what: "A response time is below its service time, or percentiles fall",
        then: "reports the contradiction",
        file: "crates/analysis/src/findings/plausibility.rs",
        test: "a_response_below_the_service_time_is_found",
    },
];

/// In a time namespace, as containers have one that are moved between machines.
fn shift_monotonic_clock(lab: &Lab) -> Option<Finished> {
    crate::disk::places::is_root()?;
    let year = ["--time", "--fork", "--monotonic", "31536000", "--boottime", "31536000"];
    let possible = Command::new("unshare").args(year).arg("true").stderr(Stdio::null()).status();
    possible.is_ok_and(|status| status.success()).then_some(())?;
    let plimsoll = lab.command(&[NULL, &["--time", "500ms"]].concat());
    let mut command = Command::new("unshare");
    command.args(year).arg(plimsoll.get_program()).args(plimsoll.get_args()).current_dir(lab.path());
    let finished: Finished = command.output().unwrap().into();
    let run = lab.run(&["show", lab.run_files()[0].to_str().unwrap(), "--json"]).json();
    let seconds = run["points"][0]["seconds"].as_f64().unwrap();
    assert!((0.4..60.0).contains(&seconds), "{seconds} s");
    Some(finished)
}

/// A run that began tomorrow, as the wall clock has it now.
fn set_wall_clock_back(lab: &Lab) -> Option<Finished> {
    let mut child = lab.command(&[CALM, &["--clients", "1,2", "--time", "1s"]].concat()).spawn().unwrap();
    wait_until("the second point", || {
        assert_runs(&mut child);
        lab.intervals(2, "run") > 0
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let file = lab.run_files()[0].clone();
    let db = Connection::open(&file).unwrap();
    let day = "UPDATE meta SET value = CAST(value AS INTEGER) + 86400000 WHERE key = 'started_unix_ms'";
    assert_eq!(db.execute(day, []).unwrap(), 1);
    db.pragma_update_and_check(None, "wal_checkpoint", "TRUNCATE", |_| Ok(())).unwrap();
    drop(db);
    let finished = lab.run(&["run", "--resume", "last", "--no-report"]);
    let db = Connection::open(&file).unwrap();
    let backwards = "SELECT count(*) FROM interval a, interval b WHERE a.point < b.point AND a.start_ns > b.start_ns";
    let backwards: u32 = db.query_row(backwards, [], |row| row.get(0)).unwrap();
    assert_eq!(backwards, 0, "no point begins before the ones before it");
    Some(finished)
}
