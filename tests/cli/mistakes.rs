//! Mistakes: each gets one clear line with the place, the value and what to do, and the right exit code.

use crate::lab::Lab;
use std::io::{Read, Write};
use std::net::TcpListener;

/// Runs `arguments` in a directory with a few things in it; expects `exit` and a single line that holds all of `words`.
fn refused(lab: &Lab, arguments: &[&str], exit: i32, words: &[&str]) {
    let finished = lab.run(arguments);
    assert_eq!(finished.exit, exit, "{arguments:?}: {}", finished.stderr);
    assert_eq!(finished.stderr.lines().count(), 1, "one line: {}", finished.stderr);
    assert_eq!(finished.stdout, "", "{arguments:?}");
    for word in words {
        assert!(finished.stderr.contains(word), "{arguments:?}: `{word}` is not in: {}", finished.stderr);
    }
    assert!(!finished.stderr.contains("os error"), "{arguments:?}: {}", finished.stderr);
}

#[test]
fn unknown_words_are_named_with_what_was_probably_meant() {
    let lab = Lab::new();
    refused(&lab, &["quik"], 2, &["`quik`", "did you mean `quick`?"]);
    refused(&lab, &["file", "--clientz", "1"], 2, &["`--clientz`", "did you mean `--clients`?"]);
    refused(&lab, &["file", "--mode", "rndread"], 2, &["--mode", "`rndread`", "did you mean `rndrd`?"]);
    refused(&lab, &["file", "--block", "16Kx"], 2, &["--block", "`16Kx`"]);
    refused(&lab, &["insert", "--engine", "sqlit"], 2, &["--engine", "`sqlit`", "did you mean `sqlite`?"]);
    refused(&lab, &["oltp", "--access", "zipff:0.9"], 2, &["`zipff:0.9`", "zipf"]);
    refused(&lab, &["file", "--set", "blok=4KiB"], 2, &["`blok`", "did you mean `block`?"]);
    refused(&lab, &["run", "no-such-plan"], 2, &["`no-such-plan`", "`plimsoll plans` lists"]);
    refused(&lab, &["explain", "stal"], 2, &["`stal`", "stall"]);
    refused(&lab, &["file", "--scale", "much"], 2, &["--scale", "`much`"]);
    refused(&lab, &["file", "--clients", "-1"], 2, &["--clients", "`-1`"]);
    refused(&lab, &["file", "--file-size", "x"], 2, &["--file-size", "`x`"]);
    refused(&lab, &["file", "--set", "block"], 2, &["--set", "`block`", "KEY=VALUE"]);
}

#[test]
fn words_of_other_programs_are_answered_with_ours() {
    let lab = Lab::new();
    let fio = ["file", "--rw", "randread", "--bs", "4k"];
    refused(&lab, &fio, 2, &["`--rw` of fio is `--mode` here", "plimsoll file --mode rndrd --block 4k"]);
    let sysbench = ["oltp_read_only", "--threads=4", "run"];
    refused(&lab, &sysbench, 2, &["`oltp --mix read_only` here", "plimsoll oltp --mix read_only --clients 4"]);
    refused(&lab, &["file", "--mode", "randread"], 2, &["did you mean `rndrd`?", "try: plimsoll file --mode rndrd"]);
    refused(&lab, &["file", "--io", "libaio"], 2, &["did you mean `aio`?", "try: plimsoll file --io aio"]);
    let mix = ["oltp", "--mix", "oltp_read_write"];
    refused(&lab, &mix, 2, &["did you mean `read_write`?", "try: plimsoll oltp --mix read_write"]);
    refused(&lab, &["oltp", "--engine", "innodb"], 2, &["did you mean `mariadb:innodb`?"]);
    refused(&lab, &["oltp", "--engine", "postgresql"], 2, &["needs a URL", "`--engine postgres` starts a server of"]);
    refused(&lab, &["oltp", "--engine", "mariadb://u@h/"], 2, &["use `mysql://`", "did you mean `mysql://`?"]);
    refused(&lab, &["file", "--clients", "1-4"], 2, &["`1,2,4`", "`1..4`"]);
    refused(&lab, &["file", "--block", "4KB", "--file-size", "4MiB", "--quiet"], 2, &["`KB` is 1000 bytes", "`4KiB`"]);
    refused(&lab, &["oltp", "-c", "8"], 2, &["`-c` of pgbench", "plimsoll oltp --clients 8"]);
    refused(&lab, &["oltp", "--threads", "4"], 2, &["--threads is for engines with a server", "use `--clients`"]);
}

#[test]
fn a_search_for_the_largest_rate_refuses_what_is_no_objective_and_what_it_does_not_use() {
    let lab = Lab::new();
    refused(
        &lab,
        &["limit", "oltp", "--slo", "latency"],
        2,
        &["--slo cannot be `latency`; use `p50`", "`p99<10ms,errors<0.1%`"],
    );
    for (objective, fault) in [
        ("p98<1ms", "cannot be `p98<1ms`: `p98` is not recorded; use `p50`"),
        ("p99<10", "cannot be `p99<10`: `10` lacks a unit; use `p99<10ms`"),
        ("p99<10sec", "cannot be `p99<10sec`: `sec` is no unit here; use `p99<10s`"),
        ("p99>10ms", "cannot be `p99>10ms`: an objective is a limit from above; use `p99<10ms`"),
    ] {
        refused(&lab, &["limit", "oltp", "--slo", objective], 2, &["--slo", fault]);
    }
    refused(&lab, &["limit", "oltp", "--rate", "5"], 2, &["--rate: the rate is what is searched for; use --rate-max"]);
    refused(&lab, &["limit", "insert", "--engine", "null"], 2, &["--rate", "`insert`: it is a sequence of steps"]);
    refused(&lab, &["limit", "cpu"], 2, &["`cpu`: it computes in plimsoll's own process"]);
    refused(&lab, &["limit", "compress"], 2, &["`compress`: it computes in plimsoll's own process"]);
    refused(&lab, &["limit", "sql", "--engine", "sqlite"], 2, &["`sql`"]);
    let held = ["limit", "connect", "--engine", "postgres", "--hold", "connections"];
    refused(&lab, &held, 2, &["`connect`: with these parameters it ends by itself"]);
    refused(&lab, &["oltp", "--slo", "p99<1ms"], 2, &["--slo needs `--rate limit`"]);
}

#[test]
fn a_flag_is_refused_by_the_name_that_was_typed() {
    let lab = Lab::new();
    refused(&lab, &["file", "--clients", "0"], 2, &["plimsoll: --clients cannot be `0`; use a whole number"]);
    refused(&lab, &["insert", "--steps", "l.i9"], 2, &["plimsoll: --steps cannot be `l.i9`"]);
    refused(&lab, &["insert", "--step=l.i9"], 2, &["plimsoll: --step cannot be `l.i9`"]);
    refused(&lab, &["file", "--set", "clients=0"], 2, &["plimsoll: --set: `clients` cannot be `0`"]);
    refused(&lab, &["run"], 2, &["plimsoll: PLAN is missing; see `plimsoll run --help`"]);
    refused(&lab, &["run", "quick", "--resume", "last"], 2, &["PLAN and --resume exclude each other"]);
    let short = ["plan", "quick", "--quick-look", "--budget", "5m"];
    refused(&lab, &short, 2, &["--quick-look", "--budget", "exclude each other"]);
    let sure = "plimsoll: --quick-look and --until sure exclude each other; leave one out";
    refused(&lab, &["file", "--engine", "null", "--quick-look", "--until", "sure:5%"], 2, &[sure]);
    refused(&lab, &["file", "--engine", "null", "--quick-look", "--set", "until=sure"], 2, &[sure]);
    for (given, named) in [("until=steady", "until steady"), ("repeat=3", "set repeat"), ("budget=1m", "set budget")] {
        let why = format!("plimsoll: --quick-look and --{named} exclude each other; leave one out");
        refused(&lab, &["file", "--engine", "null", "--quick-look", "--set", given], 2, &[&why]);
    }
    refused(&lab, &["explain", ""], 2, &["CODE has an empty value"]);
}

#[test]
fn a_flag_that_no_point_uses_is_refused_with_what_it_needs() {
    let lab = Lab::new();
    let refused = |arguments: &[&str], words: &[&str]| refused(&lab, &[arguments, &["--quiet"]].concat(), 2, words);
    refused(
        &["file", "--fsync-every", "5", "--mode", "rndwr"],
        &["--fsync-every has no effect", "`--fsync fsync` or `fdatasync`"],
    );
    refused(&["file", "--read-share", "0.5"], &["--read-share has no effect", "`--mode rndrw`"]);
    refused(&["file", "--cursor", "shared"], &["--cursor has no effect", "`--mode seqrd` or `seqwr`"]);
    refused(&["file", "--stamp", "each", "--io", "sync"], &["--stamp has no effect", "`--io uring` or `aio`"]);
    refused(&["oltp", "--engine", "null", "--stall", "5ms"], &["--stall has no effect", "`--stall-every` above 0"]);
    refused(&["insert", "--steps", "l.i0", "--query-rows", "5"], &["--query-rows has no effect", "`--step qr`"]);
    refused(
        &["insert", "--steps", "l.i0,l.i1", "--rows", "1000", "--time", "5s"],
        &[
            "--time has no effect on steps that end when their rows are inserted; set `--rows`, or `--rows 0` to insert for a time",
        ],
    );
    refused(&["run", "ssd-timeline", "--engine", "null"], &["depth = `128` is not possible; use depth = `1`"]);
    refused(
        &["insert", "--schema", "iibench-2012", "--data-bytes", "5"],
        &["--data-bytes has no effect", "`--schema ibench`"],
    );
}

#[test]
fn places_that_do_not_exist_are_named_without_numbers_of_the_system() {
    let lab = Lab::new();
    refused(&lab, &["show", "last"], 2, &["there are no runs in `plimsoll-runs`"]);
    refused(&lab, &["list", "--runs", "/proc/version"], 3, &["cannot list `/proc/version`"]);
    refused(&lab, &["run", "/etc"], 2, &["`/etc` is a directory; name a plan file"]);
    refused(&lab, &["quick", "/proc/nope", "--quiet"], 3, &["`/proc/nope` does not exist; create it"]);
    refused(&lab, &["file", "--path", "/proc/nope/f", "--quiet"], 3, &["`/proc/nope"]);
    let runs = ["file", "--engine", "null", "--time", "50ms", "--quiet", "--runs", "/proc/x"];
    refused(&lab, &runs, 3, &["/proc/x", "choose another directory"]);
}

#[test]
fn help_is_a_command_too() {
    let lab = Lab::new();
    for arguments in [&["help"][..], &["help", "show"], &["--help"]] {
        let finished = lab.run(arguments);
        assert!(
            finished.exit == 0 && finished.stdout.contains("Usage: plimsoll"),
            "{arguments:?}: {}",
            finished.stderr
        );
    }
}

#[test]
fn a_directory_is_answered_with_the_run_files_in_it() {
    let lab = Lab::new();
    let done = lab.run(&["file", "--engine", "null", "--time", "50ms", "--quiet"]);
    assert_eq!(done.exit, 0, "{}", done.stderr);
    let run = lab.run_files().remove(0);
    let name = run.file_name().unwrap().to_str().unwrap();
    refused(&lab, &["report", "plimsoll-runs"], 2, &["it is a directory; name a run file in it: `", name]);
    let report = format!("plimsoll-runs/{}-report", name.trim_end_matches(".plimsoll"));
    refused(&lab, &["show", &report], 2, &["the directory of a report; name the run file, `", name]);
}

#[test]
fn with_json_an_error_is_an_object_on_stdout() {
    let lab = Lab::new();
    for arguments in [
        &["file", "--json", "--clientz", "1"][..],
        &["run", "nothing", "--json"],
        &["quick", "/dev/null", "--json", "--quiet"],
    ] {
        let finished = lab.run(arguments);
        let error = finished.json();
        assert_eq!(error["schema"], "plimsoll.error/1", "{arguments:?}");
        assert_eq!(error["exit"], finished.exit, "{arguments:?}");
        assert!(error["error"].as_str().unwrap().contains('`'), "{arguments:?}");
    }
}

#[test]
fn another_server_at_the_port_of_a_url_is_named_in_one_line_without_its_bytes() {
    let lab = Lab::new();
    for (scheme, greeting, expected) in [
        (
            "postgres",
            &b"\x6e\0\0\0\x0a5.5.5-10.11.6-MariaDB\0\x07\0\0\0"[..],
            "the MySQL protocol; use mysql:// in the URL",
        ),
        ("postgres", b"HTTP/1.1 400 Bad Request\r\n\r\n", "a web server answers there"),
        ("postgres", b"-DENIED Redis is running in protected mode\r\n", "a Redis server answers there"),
        ("mysql", b"SSH-2.0-OpenSSH_9.6\r\n", "an SSH server answers there"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{scheme}://u@127.0.0.1:{}/d", listener.local_addr().unwrap().port());
        drop(std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            client.write_all(greeting).unwrap();
            // The connection stays until the client has gone.
            let _ = client.read_to_end(&mut Vec::new());
        }));
        let refused = lab.run(&["schema", &url]);
        let text = refused.stderr.trim_end_matches('\n');
        assert!(refused.exit != 0 && text.contains(expected), "{scheme}: {text}");
        assert!(!text.contains(char::is_control), "{scheme}: {text:?}");
    }
}

#[test]
fn a_statement_that_the_engine_rejects_is_told_once_with_where_to_correct_it() {
    let lab = Lab::new();
    let plan = "workload = 'oltp'\nengine = 'sqlite'\nmix = 'custom'\ntable_rows = 50\nclients = [1, 2]\ntime = '1s'\n\
                [[statement]]\nname = 'by_key'\nsql = 'SELECT nosuch FROM sbtest1 WHERE id = :id'\n";
    std::fs::write(lab.path().join("p3.toml"), plan).unwrap();
    let finished = lab.run(&["run", "p3.toml", "--no-report"]);
    assert!(finished.exit == 2 || finished.exit == 4, "{}: {}", finished.exit, finished.stderr);
    let told = finished.stderr.matches("statement `by_key` was rejected: no such column: nosuch").count();
    assert_eq!(told, 1, "{}", finished.stderr);
    assert!(finished.stdout.contains("Correct statement by_key in p3.toml"), "{}", finished.stdout);
}
