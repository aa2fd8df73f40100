//! The bench of reading logs: how fast, and in how much memory, whatever their size.
//!
//! In: `PLIMSOLL_BENCH_MB`, the size of each log (200 if it is not set). Out: a line of figures for each, which `cargo xtask bench logs` reads.
//! Limits: the logs are made here, of statements of sysbench's `oltp_read_write` with other values each; peak memory is that of the process, so
//! that the second figure is at least the first.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use std::time::Instant;
use workload::replay_sql::{LogWanted, read_log};

/// The sessions that send them, one after the other.
const SESSIONS: u64 = 64;

#[test]
#[ignore = "a bench: `cargo xtask bench logs` runs it"]
fn large_logs_are_read_in_little_memory() {
    let mb = std::env::var("PLIMSOLL_BENCH_MB").map_or(200, |text| text.parse().expect("a number of MB"));
    for (name, entry) in [("general", general_entry as fn(u64) -> String), ("slow", slow_entry)] {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("large-{name}.log"));
        write_log(&path, mb * 1_000_000, entry);
        let file = File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let begun = Instant::now();
        let wanted = LogWanted { writes: true, ..LogWanted::default() };
        let (_, recording) = read_log(BufReader::with_capacity(1 << 20, file), &wanted).unwrap();
        let read_s = begun.elapsed().as_secs_f64();
        let lanes = recording.lanes(SESSIONS as u32).unwrap();
        let all: u64 = (0..SESSIONS as u32).map(|lane| lanes.count_of(lane)).sum();
        assert_eq!((all, u64::from(recording.sessions())), (recording.len(), SESSIONS));
        let per_s = recording.len() as f64 / read_s;
        println!(
            "figure\t{name}\t{mb}\t{}\t{per_s:.0}\t{}\t{}",
            recording.len(),
            peak_mib(),
            recording.bytes() / 1_000_000
        );
    }
}

/// A log of so many bytes.
fn write_log(path: &Path, bytes: u64, entry: fn(u64) -> String) {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    let mut written = 0;
    for nth in 0.. {
        let text = entry(nth);
        file.write_all(text.as_bytes()).unwrap();
        written += text.len() as u64;
        if written >= bytes {
            break;
        }
    }
    file.flush().unwrap();
}

/// Statement `nth`, 5,000 of which are sent in a second.
fn statement(nth: u64) -> String {
    let id = nth.wrapping_mul(6_364_136_223_846_793_005) >> 44;
    match nth / SESSIONS % 18 {
        0 => "BEGIN".to_owned(),
        14 => format!("UPDATE sbtest1 SET k=k+1 WHERE id={id}"),
        15 => format!("UPDATE sbtest2 SET c='{id:011}-83868641912-28773972837-60736120486-75162659906' WHERE id={id}"),
        16 => format!("INSERT INTO sbtest1 (id, k, c, pad) VALUES ({id}, {nth}, '{id:011}-1', '{nth:011}-2')"),
        17 => "COMMIT".to_owned(),
        13 => format!("SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN {id} AND {} ORDER BY c", id + 99),
        _ => format!("SELECT c FROM sbtest1 WHERE id={id}"),
    }
}

fn time(nth: u64) -> String {
    let us = nth * 200;
    let s = us / 1_000_000;
    let day = 1 + s / 86_400;
    format!("2024-03-{day:02}T{:02}:{:02}:{:02}.{:06}Z", s / 3_600 % 24, s / 60 % 60, s % 60, us % 1_000_000)
}

fn general_entry(nth: u64) -> String {
    format!("{}\t{:5} Query\t{}\n", time(nth), 10 + nth % SESSIONS, statement(nth))
}

fn slow_entry(nth: u64) -> String {
    let mut text =
        format!("# Time: {}\n# User@Host: app[app] @ web1 [192.0.2.5]  Id: {:5}\n", time(nth), 10 + nth % SESSIONS);
    let took_us = 100 + nth % 900;
    writeln!(text, "# Query_time: 0.{took_us:06}  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 1").unwrap();
    writeln!(text, "SET timestamp={};\n{};", 1_709_251_200 + nth / 5_000, statement(nth)).unwrap();
    text
}

/// The most memory that the process has had, in MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the kernel counts it");
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}
