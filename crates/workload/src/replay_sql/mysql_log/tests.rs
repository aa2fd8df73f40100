//! What is read of both logs, entry by entry. Whole logs of many servers are in `tests/logs`.

use super::super::recording::{RecordingBuilder, SqlRecording};
use super::super::skipped::Skipped;
use super::super::wanted::{LogDialect, LogWanted};
use super::*;

fn recording(text: &str) -> Result<SqlRecording, String> {
    let mut builder = RecordingBuilder::new(LogDialect::Mysql, &LogWanted::default());
    let has_whole_seconds = read(&mut Lines::new(text.as_bytes()), &mut builder);
    has_whole_seconds.and_then(|has| builder.finish(has)).map_err(|error| error.to_string())
}

/// Each statement with its time in milliseconds, its session and its schema.
fn told(recording: &SqlRecording) -> Vec<String> {
    let all = recording.statements().map(Result::unwrap);
    all.map(|it| {
        let text = recording.text(&it).unwrap();
        format!("{} {} {}: {text}", it.due.0 / 1_000_000, it.session, recording.schema(it.schema))
    })
    .collect()
}

const SLOW: &str = include_str!("../../../tests/fixtures/mariadb-slow.log");

#[test]
fn a_slow_log_of_mariadb_has_sessions_schemas_and_whole_seconds() {
    let recording = recording(SLOW).unwrap();
    assert_eq!(
        told(&recording),
        ["0 0 : select 1", "500 1 shop: select \"multi\n# Query_time: 1\nline\"", "1000 1 shop: select * from t"]
    );
    assert!(recording.has_whole_seconds && recording.left_out.writes == 1);
    let server = &recording.server;
    assert_eq!(
        (server.version.as_str(), server.port, server.socket.as_deref()),
        ("10.11.19-MariaDB-0+deb12u1-log", Some(33_991), Some("/tmp/s"))
    );
}

#[test]
fn a_slow_log_of_mysql_has_microseconds_of_the_end() {
    let entry = |second: &str, id: u32, took: &str, text: &str| {
        format!(
            "# Time: 2023-11-28T02:30:{second}Z\n# User@Host: a[a] @ localhost []  Id: {id:>5}\n# Query_time: {took}  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1701138617;\n{text};\n"
        )
    };
    let text = [entry("17.500000", 8, "0.400000", "select 1"), entry("17.600000", 9, "0.100000", "select 2")].concat();
    let recording = recording(&text).unwrap();
    assert_eq!(told(&recording), ["0 0 : select 1", "400 1 : select 2"]);
    assert!(!recording.has_whole_seconds);
}

const GENERAL: &str = include_str!("../../../tests/fixtures/mariadb-general.log");

#[test]
fn a_general_log_has_statements_of_several_lines_and_follows_the_schema() {
    let recording = recording(GENERAL).unwrap();
    assert_eq!(
        told(&recording),
        [
            "0 0 : select 1",
            "333 0 shop: select * from t\n where c = 'a;b'",
            "666 0 shop: select * from t where id=2",
            "1000 1 other: select 2"
        ]
    );
    assert_eq!((recording.left_out.repeated, recording.server.port), (3, None));
}

fn skipped(skipped: &Skipped) -> Vec<String> {
    skipped.kinds().map(|(name, kind)| format!("{name}: {kind}")).collect()
}

#[test]
fn an_entry_that_is_cut_off_is_skipped_and_named() {
    let cut = recording(&SLOW[..SLOW.len() - 10]).unwrap();
    assert_eq!((cut.len(), skipped(&cut.skipped)), (2, vec!["entry_that_is_cut_off: 1, first in line 25".into()]));
    let cut = recording(&GENERAL[..GENERAL.len() - 18]).unwrap();
    assert_eq!((cut.len(), skipped(&cut.skipped)), (3, vec!["entry_that_is_cut_off: 1, first in line 14".into()]));
    let other = recording("261128  3:16:29\t     4 Connect\troot@localhost on  using Socket\nwhat is this\n");
    assert!(other.unwrap_err().contains("no statement to replay"), "a line of the entry before");
}

#[test]
fn bytes_of_a_session_in_latin1_are_sent_as_such_and_what_nobody_knows_is_left_out() {
    let of = |log: &[u8]| {
        let mut builder = RecordingBuilder::new(LogDialect::Mysql, &LogWanted { writes: true, ..LogWanted::default() });
        read(&mut Lines::new(log), &mut builder).unwrap();
        builder.finish(false).unwrap()
    };
    let text = |recording: &SqlRecording, nth| recording.text(&recording.statement(nth).unwrap()).unwrap();
    let general =
        b"261201 14:33:26\t   203 Query\tSET NAMES latin1\n\t\t   203 Query\tINSERT INTO i_t(g) VALUES('caf\xe9')\n\
        \t\t   203 Query\tSELECT * FROM b\xe9\n";
    let slow = b"# User@Host: b[b] @ localhost [127.0.0.1]\n# Thread_id: 203  Schema: shop  QC_hit: No\n\
        # Query_time: 0.000062  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0\n# Rows_affected: 0  Bytes_sent: 11\n\
        SET timestamp=1796135606;\nSET NAMES latin1;\n# User@Host: b[b] @ localhost [127.0.0.1]\n\
        # Thread_id: 203  Schema: shop  QC_hit: No\n# Query_time: 0.000162  Lock_time: 0.000060  Rows_sent: 0  Rows_examined: 0\n\
        # Rows_affected: 1  Bytes_sent: 11\nSET timestamp=1796135606;\nINSERT INTO i_t(g) VALUES('caf\xe9');\n";
    let (general, slow) = (of(&general[..]), of(&slow[..]));
    for recording in [&general, &slow] {
        assert_eq!(recording.len(), 2);
        assert_eq!(text(recording, 1), "INSERT INTO i_t(g) VALUES( _latin1 x'636166e9')");
        assert_eq!(recording.statement(1).unwrap().session, 0);
    }
    assert_eq!(skipped(&general.skipped), ["statements_that_are_not_utf_8: 1, first in line 3"]);
    assert!(general.kinds().iter().any(|kind| kind.name == "insert into i_t(g) values(?)"), "it is of the same kind");
}

#[test]
fn letters_are_of_the_set_that_their_session_has_set_and_are_counted_where_none_is_known() {
    let of = |log: &[u8]| {
        let mut builder = RecordingBuilder::new(LogDialect::Mysql, &LogWanted { writes: true, ..LogWanted::default() });
        read(&mut Lines::new(log), &mut builder).unwrap();
        let made = builder.finish(false).unwrap();
        let texts: Vec<String> = made.statements().map(|one| made.text(&one.unwrap()).unwrap()).collect();
        (texts.into_iter().filter(|text| text.starts_with("select")).collect::<Vec<_>>(), skipped(&made.skipped))
    };
    let general = b"261201 14:33:26\t     3 Query\tSET NAMES cp1251\n\t\t     3 Query\tselect '\xcf'\n\
        \t\t     4 Query\tselect '\xcf'\n\t\t     3 Connect\ta@h on shop\n\t\t     3 Query\tselect '\xcf'\n";
    let (texts, counted) = of(general);
    assert_eq!(texts, ["select  _cp1251 x'cf'", "select  _latin1 x'cf'", "select  _latin1 x'cf'"]);
    assert_eq!(counted, ["statements_taken_for_latin1: 2, first in line 3"]);
    let slow = ["# Time: 261201 14:33:26\n", &entry(3, "", "SET NAMES cp1251"), &entry(3, "", "select '?'")].concat();
    let slow = slow.into_bytes().into_iter().map(|byte| if byte == b'?' { 0xcf } else { byte }).collect::<Vec<u8>>();
    assert_eq!(of(&slow), (vec!["select  _cp1251 x'cf'".to_owned()], Vec::new()));
}

#[test]
fn the_first_lines_of_a_general_log_that_was_begun_within_a_second_have_the_first_time_that_follows() {
    let first = "\t\t     3 Query\tselect 1\n\t\t     3 Query\tselect 2\n from t\n";
    let with_time =
        format!("{first}261128  3:16:29\t     3 Query\tselect 3\n261128  3:16:31\t     3 Query\tselect 4\n");
    let expected = ["0 0 : select 1", "333 0 : select 2\n from t", "666 0 : select 3", "2000 0 : select 4"];
    let log = recording(&with_time).unwrap();
    assert_eq!((told(&log), skipped(&log.skipped).len()), (expected.map(str::to_owned).to_vec(), 0));
    let log = recording(first).unwrap();
    let expected = ["0 0 : select 1", "500 0 : select 2\n from t"];
    assert_eq!((told(&log), skipped(&log.skipped).len()), (expected.map(str::to_owned).to_vec(), 0));
}

#[test]
fn a_cr_before_the_end_of_a_line_is_of_the_statement() {
    let sent = "select 'a\r\nb\r\n'";
    let general = format!("261201 14:33:26\t     3 Query\t{sent}\n\t\t     3 Quit\t\n");
    let slow = format!("# Time: 261201 14:33:26\n{}", entry(3, "", sent));
    for log in [general, slow] {
        assert_eq!(told(&recording(&log).unwrap()), [format!("0 0 : {sent}")]);
        let on_windows = recording(&log.replace('\n', "\r\n")).unwrap();
        assert_eq!(told(&on_windows), [format!("0 0 : {sent}")]);
    }
}

/// An entry of the slow log, without its time.
fn entry(id: u32, more: &str, text: &str) -> String {
    format!("# User@Host: a[a] @ h []  Id: {id}\n# Query_time: 0.1  Lock_time: 0\n{more}{text};\n")
}

#[test]
fn a_time_that_cannot_be_read_is_that_of_its_entry_alone() {
    let good = ["# Time: 2023-11-28T02:30:17.500000Z\n", &entry(1, "", "select 1")].concat();
    let bad = ["# Time: yesterday\n", &entry(1, "", "select 2")].concat();
    let log = recording(&[&good[..], &bad, &good].concat()).unwrap();
    assert_eq!(told(&log), ["0 0 : select 1", "0 0 : select 1"]);
    assert_eq!(skipped(&log.skipped), ["entry_whose_time_cannot_be_read: 1, first in line 5"]);
    let general =
        recording("261128  3:16:29\t     4 Query\tselect 1\n2026-99-99T1:1:1Z\t     4 Query\tselect 2\nx\n").unwrap();
    assert_eq!(told(&general), ["0 0 : select 1"]);
    assert_eq!(skipped(&general.skipped), ["entry_whose_time_cannot_be_read: 1, first in line 2"]);
}

#[test]
fn the_head_of_an_entry_in_a_quote_is_text_and_behind_an_open_quote_it_is_not() {
    let time = "# Time: 2023-11-28T02:30:17.500000Z\n";
    let pasted = format!("select 'a;\n{time}{}'", entry(2, "", "select 9").trim_end());
    let log = recording(&[time, &entry(1, "", &pasted), time, &entry(1, "", "select 2")].concat()).unwrap();
    assert_eq!(log.len(), 2);
    assert!(told(&log)[0].contains("select 9"), "{:?}", told(&log));
    let open = [time, &entry(1, "", "select 'a"), time, &entry(1, "", "select 2")].concat();
    let log = recording(&open).unwrap();
    assert_eq!(told(&log), ["0 0 : select 2"]);
    assert_eq!(skipped(&log.skipped), ["statement_with_an_open_quote_or_comment: 1, first in line 1"]);
}

#[test]
fn what_the_log_sets_before_a_statement_may_be_in_any_order() {
    let time = "# Time: 231128  2:30:17\n";
    let set = "SET insert_id=99999999999999,timestamp=1701138617,last_insert_id=9;\n";
    let log = recording(&[time, &entry(1, set, "select last_insert_id()"), &entry(1, set, "SET timestamp=5")].concat());
    let log = log.unwrap();
    assert_eq!((told(&log), log.left_out.of_session), (vec!["0 0 : select last_insert_id()".to_owned()], 1));
}

#[test]
fn without_numbers_of_sessions_statements_that_overlap_are_of_several() {
    let entry = |second: u32, took: u32, text: &str| {
        format!("# User@Host: a[a] @ h []\n# Query_time: {took}  Lock_time: 0\nSET timestamp={second};\n{text};\n")
    };
    let text =
        [entry(100, 1, "select 1"), entry(100, 9, "select 2"), entry(105, 1, "select 3"), entry(110, 1, "select 4")];
    assert_eq!(
        told(&recording(&text.concat()).unwrap()),
        ["0 0 : select 1", "500 1 : select 2", "5000 0 : select 3", "10000 0 : select 4"]
    );
}
