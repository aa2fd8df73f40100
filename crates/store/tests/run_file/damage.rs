//! Files that are no runs, no longer runs, or made to hurt: an error that names the file, and never a panic.

use crate::sample::*;
use model::Phase;
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use store::{RunWriter, StoreError, read, read_live, read_meta};
use tempfile::TempDir;

/// A finished run, and its path.
fn finished(intervals: u32) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    write_finished(&path, intervals);
    (folder, path)
}

/// The error of reading `path`, which names it, whichever way it is read.
fn refusal(path: &Path) -> StoreError {
    let refused = read(path).expect_err("it is read");
    let named = format!("`{}`", path.display());
    assert!(refused.to_string().contains(&named), "{refused} does not name {named}");
    if let Err(refused) = read_meta(path) {
        assert!(refused.to_string().contains(&named), "{refused} does not name {named}");
    }
    refused
}

/// The error after somebody changed a finished run with `sql`.
fn refusal_after(sql: &str) -> String {
    let (_folder, path) = finished(2);
    let db = Connection::open(&path).unwrap();
    db.execute_batch(sql).unwrap();
    db.close().unwrap();
    let refused = refusal(&path);
    assert!(matches!(refused, StoreError::Damaged { .. }), "{sql}: {refused}");
    refused.to_string()
}

#[test]
fn what_is_no_run_file_is_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let not_a_run = |why: &str| {
        let refused = refusal(&path);
        assert!(matches!(refused, StoreError::NotARun { .. }), "{refused}");
        assert!(refused.to_string().contains(why), "{refused}");
    };
    fs::write(&path, "").unwrap();
    not_a_run("it is empty");
    fs::write(&path, "a text file of some length\n".repeat(100)).unwrap();
    not_a_run("it is not an SQLite database");
    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE meta (key, value)").unwrap();
    not_a_run("an SQLite database of another program");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    not_a_run("it is a directory without run files; name a run file");
    fs::write(path.join("20261123-160000-a.plimsoll"), "").unwrap();
    not_a_run("name a run file in it: `");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let refused = refusal(Path::new("/nonexistent/run.plimsoll"));
    assert!(matches!(refused, StoreError::Io { .. }), "{refused}");
}

#[test]
fn another_format_is_refused_in_one_line_whether_it_is_read_or_recorded_further() {
    let (folder, path) = finished(1);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 7).unwrap();
    let errors = [
        refusal(&path),
        RunWriter::reopen(&path).err().expect("it is refused"),
        read_live(&path, folder.path(), 1).expect_err("it is refused"),
    ];
    let told = format!(
        "`{}` has the run file format 7, and this plimsoll reads format 1; use the plimsoll that recorded it, or a newer one",
        path.display()
    );
    for refused in errors {
        assert!(matches!(refused, StoreError::UnknownFormat { format: 7, .. }), "{refused}");
        assert_eq!(refused.to_string(), told);
    }
}

#[test]
fn a_file_cut_at_any_length_is_refused_by_name() {
    let (_folder, path) = finished(5);
    let whole = fs::read(&path).unwrap();
    for len in (0..whole.len()).step_by(97).chain([whole.len() - 1]) {
        fs::write(&path, &whole[..len]).unwrap();
        let refused = refusal(&path);
        assert!(matches!(refused, StoreError::NotARun { .. } | StoreError::Damaged { .. }), "{len} bytes: {refused}");
    }
}

#[test]
fn changed_bits_never_panic_and_errors_name_the_file() {
    let (_folder, path) = finished(5);
    let whole = fs::read(&path).unwrap();
    let mut dice = Dice(2_026);
    for _ in 0..400 {
        let mut changed = whole.clone();
        for _ in 0..1 + dice.below(8) {
            changed[dice.below(whole.len())] ^= 1 << dice.below(8);
        }
        fs::write(&path, &changed).unwrap();
        if let Err(refused) = read(&path) {
            assert!(refused.to_string().contains("run.plimsoll`"), "{refused}");
        }
        let _ = read_meta(&path);
    }
}

#[test]
fn a_changed_first_page_never_panics() {
    let (_folder, path) = finished(1);
    let whole = fs::read(&path).unwrap();
    for at in (0..112).chain((112..4_096).step_by(61)) {
        for value in [0, 1, 0xff] {
            let mut changed = whole.clone();
            changed[at] = value;
            fs::write(&path, &changed).unwrap();
            let _ = read(&path);
        }
    }
}

/// A small seeded generator (xorshift64*, Vigna 2016), enough to scatter bits.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16) as usize % most
    }
}

#[test]
fn contents_that_cannot_be_are_named() {
    let hostile = [
        ("UPDATE interval SET interval = 4294967295", "intervals"),
        ("UPDATE interval SET interval = 9000000", "more than 4000000 intervals"),
        ("UPDATE interval SET interval = -1", "-1"),
        ("UPDATE interval SET ok = -5", "-5"),
        ("UPDATE interval SET bytes = 9223372036854775807", "sum of its numbers"),
        ("UPDATE interval SET kind = 2", "kind 2 of 2"),
        ("UPDATE interval SET kind = 256", "256"),
        ("UPDATE interval SET phase = 'lunch'", "`lunch`"),
        ("UPDATE interval SET phase = 'warmup'", "did not begin"),
        ("UPDATE interval SET point = 99", "point 99"),
        ("UPDATE phase SET end_ns = 9223372036854775807", "intervals"),
        ("UPDATE phase SET start_ns = -1", "-1"),
        ("UPDATE histogram SET what = 'guess'", "`guess`"),
        ("UPDATE histogram SET kind = 1", "has no interval"),
        ("UPDATE histogram SET count = count + 1", "another number of operations"),
        ("UPDATE histogram SET hdr = x'1c84931400000001ff'", "does not inflate"),
        ("UPDATE histogram SET hdr = zeroblob(10000000)", "plausible size"),
        ("UPDATE counter SET \"values\" = '[1]'", "does not fit"),
        ("UPDATE counter SET \"values\" = '[1e999, 1]'", "out of range"),
        ("UPDATE counter SET \"values\" = '[\"NaN\", 1]'", "counter.values"),
        ("UPDATE counter SET source = 7", "source 7"),
        ("UPDATE source SET source = source + 1 WHERE source = 1", "numbered from 0"),
        ("UPDATE source SET subject = hex(zeroblob(5000))", "a name has 10000 bytes"),
        ("UPDATE kind SET name = hex(zeroblob(5000))", "a name has 10000 bytes"),
        ("UPDATE event SET kind = 'rumour'", "rumour"),
        ("UPDATE event SET host = 3", "rows of host 3 of point 1"),
        ("UPDATE interval SET host = 70000", "70000"),
        ("UPDATE interval SET host = 1", "rows of host 1 of point 1"),
        ("UPDATE source SET host = 1", "rows of host 1 of point 1"),
        ("INSERT INTO host VALUES (1, 1, 'c', '', 'guest', NULL, NULL, '[]', NULL, NULL, NULL)", "host.role"),
        ("INSERT INTO host VALUES (1, 1, 'c', '', 'load', 4, -1.0, '[]', NULL, NULL, NULL)", "only amounts from 0"),
        ("INSERT INTO host VALUES (1, 1, 'c', '', 'load', 4, 0.5, '{}', NULL, NULL, NULL)", "host.facts"),
        ("INSERT INTO host VALUES (1, 1, 'c', '', 'load', 4, 0.5, '[]', 0, -1, NULL)", "-1"),
        ("INSERT INTO host VALUES (9, 1, 'c', '', 'load', 4, 0.5, '[]', 0, 1, NULL)", "point 9"),
        ("UPDATE kind SET kind = 5 WHERE kind = 1", "not numbered from 0"),
        ("UPDATE kind SET class = 'guess'", "kind.class"),
        ("UPDATE kind SET rows_per_op = -1.0", "only amounts from 0"),
        ("UPDATE kind SET queries_per_op = 9e999", "only amounts from 0"),
        ("UPDATE param SET role = 'hero'", "param.role"),
        ("UPDATE param SET owner = 'nobody'", "param.owner"),
        ("UPDATE point SET traits = '{\"engine\":7}'", "point.traits"),
        ("UPDATE point SET state = 'great'", "`great`"),
        ("UPDATE point SET trial = '{}'", "point.trial"),
        ("UPDATE meta SET value = 'no' WHERE key = 'plan'", "meta.value"),
        ("UPDATE meta SET value = replace(hex(zeroblob(200000)), '00', '[') WHERE key = 'plan'", "recursion limit"),
        ("DELETE FROM meta WHERE key = 'run_id'", "run_id"),
        ("DELETE FROM meta WHERE key = 'machine'", "machine"),
        ("PRAGMA user_version = 0", "format number is 0"),
    ];
    for (sql, told) in hostile {
        let refused = refusal_after(&format!("PRAGMA foreign_keys = OFF; {sql};"));
        assert!(refused.contains(told), "{sql}: {refused}");
    }
}

#[test]
fn tables_that_are_something_else_are_refused() {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n)";
    let hostile = [
        "DROP TABLE event".to_string(),
        "DROP VIEW throughput; DROP VIEW throughput_by_kind; DROP VIEW counter_long; ALTER TABLE event RENAME COLUMN text TO words".to_string(),
        format!(
            "DROP TABLE event; CREATE VIEW event AS {endless} SELECT i AS point, 1 AS at_ns, 'engine' AS kind, 'x' AS text FROM n"
        ),
        "DROP TABLE event; CREATE VIRTUAL TABLE event USING fts5(point, at_ns, kind, text)".to_string(),
    ];
    for sql in hostile {
        let refused = refusal_after(&sql);
        assert!(refused.contains("`event`"), "{sql}: {refused}");
    }
}

#[test]
fn a_file_to_which_people_added_indexes_and_views_is_read() {
    let (_folder, path) = finished(2);
    let db = Connection::open(&path).unwrap();
    db.execute_batch("CREATE INDEX mine ON interval (ok); CREATE VIEW v AS SELECT * FROM point; ANALYZE; VACUUM")
        .unwrap();
    db.close().unwrap();
    assert_eq!(read(&path).unwrap().points[0].phase(Phase::Run).unwrap().intervals.len(), 2);
}

#[test]
fn a_path_that_is_not_text_is_refused_before_it_is_measured() {
    use std::os::unix::ffi::OsStringExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let mut trial = trial();
    trial.target.path = Some(std::ffi::OsString::from_vec(vec![b'/', 0xff]).into());
    let mut run = RunWriter::create(&path, &meta()).unwrap();
    let refused = begin_point(&mut run, &trial).unwrap_err();
    assert!(matches!(refused, StoreError::Unwritable { .. }), "{refused}");
}
