//! Captures of real servers against their own logs of the same minutes, and what becomes of a capture that is damaged.
//!
//! `tests/fixtures/*.pcap` are of MariaDB 10.11 and PostgreSQL 15, written by `tcpdump -i lo -s0`; `*.logged` are the statements of the servers'
//! general log and CSV log: the session, the text, and for PostgreSQL the values, with tabs between. MariaDB's log has values in the text.

mod rewritten;

use capture::{CaptureError, CaptureEvent, CaptureSummary, CapturedStatement, Dialect, Values, read_capture};
use proptest::prelude::*;
use rewritten::{Packet, packets_of, with_packets};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

const MYSQL: [&str; 4] = ["mysql-sysbench", "mysql-sysbench-prepared", "mysql-client", "mysql-values"];
const POSTGRES: [&str; 4] =
    ["postgres-pgbench-simple", "postgres-pgbench-extended", "postgres-pgbench-prepared", "postgres-values"];

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn capture(name: &str) -> Vec<u8> {
    fixture(&format!("{name}.pcap"))
}

struct Read {
    statements: Vec<CapturedStatement>,
    /// Whether no event of a session is before its last one.
    is_in_order: bool,
    ended: usize,
    summary: CaptureSummary,
}

fn try_read(bytes: &[u8]) -> Result<Read, CaptureError> {
    let (mut statements, mut ended, mut lasts, mut is_in_order) = (Vec::new(), 0, BTreeMap::new(), true);
    let summary = read_capture(bytes, |event| {
        let (session, at_us) = match &event {
            CaptureEvent::SessionEnded { session, at_us } => (session.number, *at_us),
            CaptureEvent::Statement(statement) => (statement.session.number, statement.began_us),
        };
        let last_us = lasts.insert(session, at_us);
        is_in_order &= last_us.is_none_or(|last_us| at_us >= last_us);
        match event {
            CaptureEvent::SessionEnded { .. } => ended += 1,
            CaptureEvent::Statement(statement) => statements.push(statement),
        }
        ControlFlow::Continue(())
    })?;
    assert_eq!(summary.statements, statements.len() as u64);
    Ok(Read { statements, is_in_order, ended, summary })
}

fn read(bytes: &[u8]) -> Read {
    let read = try_read(bytes).expect("a capture");
    assert!(read.is_in_order, "an event of a session is before its last one");
    read
}

/// The texts of each session, in order, and the sessions in the order of their texts: a log and a capture number them differently.
fn by_session(rows: impl Iterator<Item = (String, String)>) -> Vec<Vec<String>> {
    let mut sessions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    rows.for_each(|(session, text)| sessions.entry(session).or_default().push(text));
    let mut sessions: Vec<_> = sessions.into_values().collect();
    sessions.sort();
    sessions
}

fn logged(name: &str) -> Vec<Vec<String>> {
    let text = String::from_utf8(fixture(&format!("{name}.logged"))).expect("UTF-8");
    let rows = text.lines().map(|line| line.split_once('\t').expect("a session and a text"));
    by_session(rows.map(|(session, text)| (session.to_owned(), text.to_owned())))
}

/// A statement as the logs have it.
fn as_logged(statement: &CapturedStatement) -> String {
    let Values::Known(values) = &statement.values else { panic!("unknown values: {statement:?}") };
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t");
    match statement.dialect {
        Dialect::Mysql if values.is_empty() => escaped(&statement.text),
        Dialect::Mysql => {
            // No text of the fixtures has a question mark that is no placeholder.
            let parts = statement.text.split('?').zip(values.iter().map(String::as_str).chain([""]));
            escaped(&parts.map(|(text, value)| format!("{text}{value}")).collect::<String>())
        }
        Dialect::Postgres => {
            let bare = |value: &String| {
                let text = value.split("'::").next().unwrap_or_default();
                escaped(&text.trim_matches('\'').replace("''", "'"))
            };
            let values = values.iter().map(|value| format!("\t{}", bare(value)));
            escaped(&statement.text) + &values.collect::<String>()
        }
    }
}

#[test]
fn a_capture_has_the_statements_of_the_servers_log_in_the_same_order() {
    for name in [&MYSQL[..3], &POSTGRES[..3]].concat() {
        let read = read(&capture(name));
        let captured = read.statements.iter().map(|one| (one.session.to_string(), as_logged(one)));
        let captured = by_session(captured);
        assert_eq!(captured, logged(name), "{name}");
        assert_eq!(read.ended, captured.len(), "{name}");
        assert!(read.statements.iter().all(|one| one.took_us.is_some_and(|took| took > 0)), "{name}");
        let end = |one: &CapturedStatement| one.began_us + one.took_us.unwrap_or(0) as i64;
        assert!(read.statements.is_sorted_by_key(end), "{name}: the order is that of the ends");
        assert_eq!(read.summary.skipped.sentences(), [""; 0], "{name}");
    }
}

#[test]
fn schemas_follow_use_and_errors_are_seen() {
    let read = read(&capture("mysql-client"));
    let seen: Vec<_> = read.statements.iter().map(|one| (one.schema.as_str(), one.failed, one.text.as_str())).collect();
    assert_eq!(seen[2], ("sbtest", false, "select count(*) from sbtest1"));
    assert_eq!(seen[3], ("sbtest", true, "select nope"));
    assert!(seen.contains(&("shop", false, "select database()")));
    let (version, server) = read.summary.server.expect("a greeting");
    assert!(version.starts_with("10.11.") && server.port() == 34_500, "{version} {server}");
}

#[test]
fn binary_values_of_mysql_are_those_that_the_driver_was_given() {
    let read = read(&capture("mysql-values"));
    let update = read.statements.iter().find(|one| one.text.starts_with("update")).expect("an update");
    let expected = [
        "9007199254740993",
        "1e-1",
        r"'it''s \\ ü'",
        "x'00ff27'",
        "DATE'2024-02-29'",
        "TIMESTAMP'2024-02-29 01:02:03.000456'",
        // So the driver sends -26:03:04, and so the server's log has it.
        "TIME'-69:56:56'",
        "-12.5",
        "1",
    ];
    assert_eq!(update.values, Values::Known(expected.map(str::to_owned).to_vec()));
    let failed: Vec<_> = read.statements.iter().filter(|one| one.failed).map(|one| one.text.as_str()).collect();
    assert_eq!(failed, ["select broken from nowhere", "insert into t(id) values (1)"]);
    let schemas: Vec<_> =
        read.statements.iter().filter(|one| one.text == "select database()").map(|one| one.schema.as_str()).collect();
    assert_eq!(schemas, ["sbtest", "shop"], "after init db, and after change user");
}

#[test]
fn values_of_postgresql_are_those_that_the_driver_was_given_in_both_forms() {
    let read = read(&capture("postgres-values"));
    let done = read.statements.iter().filter(|one| !one.failed);
    let texts: Vec<_> = done.clone().map(|one| one.text.clone()).collect();
    let of_log: Vec<_> = logged("postgres-values")
        .concat()
        .iter()
        .map(|row| row.split('\t').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(texts, of_log);
    let inserts: Vec<_> = done.filter(|one| one.text.starts_with("insert")).map(|one| one.values.clone()).collect();
    let binary = [
        "'1'::int2",
        "'-5'::int2",
        "'1e-1'::float8",
        r"'it''s \ ü'",
        r"'\x00ff'::bytea",
        "'2024-02-29'::date",
        "'2024-02-29 01:02:03.000456+00'::timestamptz",
        "'-12.50'::numeric",
        "'12345678123456781234567812345678'::uuid",
        r#"'{"a","b\"c",NULL}'::text[]"#,
        r#"'{"k": "v"}'::jsonb"#,
    ];
    assert_eq!(inserts[2], Values::Known(binary.map(str::to_owned).to_vec()));
    let Values::Known(text) = &inserts[4] else { panic!("unknown values") };
    assert_eq!(text[4..7], [binary[4], "'2024-02-29'::date", "'2024-02-29 01:02:03.000456+00:00'::timestamptz"]);
    let failed: Vec<_> = read.statements.iter().filter(|one| one.failed).map(|one| one.text.as_str()).collect();
    assert_eq!(failed, ["select nope from v where id = $1", "select 1/$1::int", "select 1/$1::int"]);
    assert_eq!(read.summary.skipped.not_run_statements, 1, "what followed the error in its pipeline");
}

#[test]
fn encrypted_and_compressed_connections_are_counted_and_have_no_statements() {
    for name in ["mysql-tls", "postgres-tls"] {
        let read = read(&capture(name));
        assert_eq!((read.statements.len(), read.summary.skipped.encrypted_connections), (0, 1), "{name}");
        assert!(read.summary.skipped.sentences()[0].contains("TLS off"));
    }
    let read = read(&capture("mysql-compressed"));
    assert_eq!((read.statements.len(), read.summary.skipped.compressed_connections), (0, 1));
}

#[test]
fn no_secret_of_a_handshake_is_given_out() {
    for name in MYSQL.iter().chain(&POSTGRES) {
        let read = read(&capture(name));
        assert!(!format!("{:?}{:?}", read.statements, read.summary).contains("secret"), "{name}");
    }
}

#[test]
fn every_form_of_the_file_has_the_same_statements() {
    for name in ["mysql-values", "postgres-values"] {
        let original = capture(name);
        let expected = read(&original).statements;
        let packets = packets_of(&original);
        for (form, bytes) in rewritten::forms(&packets) {
            assert_eq!(read(&bytes).statements, expected, "{name} as {form}");
        }
    }
}

/// Whether each session of `part` has statements of that session of `whole`, in its order.
fn assert_is_part(part: &[CapturedStatement], whole: &[CapturedStatement], of: &str) {
    let mut rests = BTreeMap::new();
    // The server did not run this one, after an error in its pipeline. If the error was not captured, that is not known.
    let is_not_run = |one: &CapturedStatement| one.values == Values::Known(vec!["'9'::int2".to_owned()]);
    for one in part.iter().filter(|one| !is_not_run(one)) {
        let rest = rests.entry(one.session.client).or_insert_with(|| whole.iter());
        let found = rest.find(|other| {
            let same_values = matches!(one.values, Values::Unknown(_)) || one.values == other.values;
            other.session.client == one.session.client && other.text == one.text && same_values
        });
        assert!(found.is_some(), "{of}: this is not what the client sent then: {one:?}");
    }
}

#[test]
fn a_capture_that_begins_in_the_middle_has_what_follows() {
    for name in MYSQL.iter().chain(&POSTGRES) {
        let original = capture(name);
        let whole = read(&original).statements;
        let packets = packets_of(&original);
        for start in 0..packets.len() {
            let read = read(&with_packets(&packets[start..]));
            assert_is_part(&read.statements, &whole, name);
            // Executions of what was prepared before have no text. All other texts are there.
            let began_us = packets[start].at_us();
            let after = whole.iter().filter(|one| one.began_us >= began_us).count();
            let missing = after.saturating_sub(read.statements.len());
            let skipped = &read.summary.skipped;
            let explained = skipped.unprepared_executions + skipped.other_connections;
            assert!(
                missing as u64 <= explained + 4,
                "{name} from {start}: {missing} are missing, {explained} explained"
            );
        }
    }
}

#[test]
fn a_capture_without_each_50th_packet_has_nothing_that_was_not_sent() {
    for name in MYSQL.iter().chain(&POSTGRES) {
        let original = capture(name);
        let whole = read(&original).statements;
        let packets = packets_of(&original);
        for first in 0..50 {
            let kept: Vec<Packet> = packets
                .iter()
                .enumerate()
                .filter(|(at, _)| at % 50 != first)
                .map(|(_, packet)| packet.clone())
                .collect();
            let read = read(&with_packets(&kept));
            assert_is_part(&read.statements, &whole, name);
            let skipped = &read.summary.skipped;
            // A lost preparation takes its executions with it.
            let explained = skipped.gaps * 4 + skipped.unprepared_executions + skipped.not_run_statements + 1;
            let missing = whole.len().saturating_sub(read.statements.len()) as u64;
            assert!(missing <= explained, "{name} without {first}: {missing} are missing: {skipped:?}");
        }
    }
}

#[test]
fn packets_that_come_twice_or_in_another_order_change_nothing() {
    for name in MYSQL.iter().chain(&POSTGRES) {
        let original = capture(name);
        let expected = read(&original).statements;
        let packets = packets_of(&original);
        let twice: Vec<Packet> = packets.iter().flat_map(|packet| [packet.clone(), packet.clone()]).collect();
        assert_eq!(read(&with_packets(&twice)).statements, expected, "{name} twice");
    }
}

#[test]
fn a_capture_with_a_snap_length_counts_what_is_cut() {
    let original = capture("mysql-sysbench");
    let whole = read(&original).statements;
    let cut: Vec<Packet> = packets_of(&original).iter().map(|packet| packet.snapped(96)).collect();
    let read = read(&with_packets(&cut));
    assert_is_part(&read.statements, &whole, "96 bytes");
    assert!(read.summary.skipped.cut_statements > 50, "{:?}", read.summary);
}

#[test]
fn a_capture_that_is_cut_at_any_byte_is_read_to_there() {
    let original = capture("postgres-pgbench-extended");
    let whole = read(&original).statements;
    for end in 0..original.len() {
        match try_read(&original[..end]) {
            Ok(read) => assert_is_part(&read.statements, &whole, "cut"),
            Err(error) => assert!(end < 24, "at {end}: {error}"),
        }
    }
}

#[test]
fn what_is_no_capture_says_so() {
    for bytes in [&b""[..], b"\xd4\xc3", b"# Time: 2026-01-01", &[0; 4096]] {
        let error = try_read(bytes).err().expect("no capture");
        assert!(error.to_string().contains("no capture"), "{error}");
        let begins = bytes.first_chunk::<4>().is_some_and(|first| capture::is_capture(*first));
        assert!(!begins);
    }
    assert!(capture::is_capture(*capture("mysql-tls").first_chunk().expect("a header")));
    let mut radio = capture("mysql-tls");
    radio[20] = 105;
    assert_eq!(
        try_read(&radio).err().expect("refused").to_string().split(';').next(),
        Some("its packets are of link type 105, which is not read")
    );
}

#[test]
fn a_caller_may_break_off() {
    let bytes = capture("mysql-sysbench");
    let mut seen = 0;
    let result = read_capture(&bytes[..], |_| {
        seen += 1;
        if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(result.is_ok() && seen == 3, "{seen}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_that_were_changed_end_in_statements_or_an_error(
        which in 0..8_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let name = MYSQL.iter().chain(&POSTGRES).nth(which).expect("one of 8");
        let mut bytes = capture(name);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = try_read(&bytes);
    }
}

#[test]
fn connections_of_which_only_one_direction_was_captured_are_counted() {
    let whole = capture("mysql-client");
    let port = read(&whole).statements[0].session.server.port();
    let packets: Vec<Packet> = packets_of(&whole).into_iter().filter(|packet| !packet.is_from(port)).collect();
    let one_way = read(&with_packets(&packets));
    assert!(!one_way.statements.is_empty());
    assert_eq!(one_way.summary.skipped.unanswered_connections, one_way.ended as u64);
    assert!(one_way.statements.iter().all(|statement| statement.took_us.is_none()));
}
