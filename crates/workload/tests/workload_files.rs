//! Workload files: what is saved of a log is replayed as the log would be, and nothing of a value that was to be replaced is in it.
//!
//! In: the logs of `tests/logs` and the captures of the crate `capture`, of any format that `replay-sql` reads; files that were changed. Out: the
//! recordings of the log and of its file are compared as a whole. Limits: nothing is sent to a server here.

use rusqlite::Connection;
use sql::{Dialect, TokenKind};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload::replay_sql::{
    Copies, FileContent, LogDialect, LogWanted, SavedWorkload, SqlRecording, TableSize, ToSave, read_file, save_file,
};

/// The logs of this crate, and the captures of the one that reads captures.
fn logs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [root.join("tests/logs"), root.join("../capture/tests/fixtures")];
    let paths = folders.iter().flat_map(|dir| std::fs::read_dir(dir).unwrap()).map(|entry| entry.unwrap().path());
    let is_log = |path: &PathBuf| path.extension().is_none_or(|end| end != "expect" && end != "logged");
    let mut logs: Vec<PathBuf> = paths.filter(is_log).collect();
    logs.sort();
    logs
}

/// A directory for files.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

struct Asked<'a> {
    hash_values: bool,
    part: (&'a str, &'a str),
    is_stopped: bool,
    content: FileContent,
}

fn whole<'a>() -> Asked<'a> {
    Asked { hash_values: false, part: ("0s", "end"), is_stopped: false, content: FileContent::default() }
}

fn hashed<'a>() -> Asked<'a> {
    Asked { hash_values: true, ..whole() }
}

fn saved(log: &Path, out: &Path, asked: &Asked) -> Result<SavedWorkload, String> {
    let to_save = ToSave {
        log_line_prefix: "",
        from: asked.part.0,
        length: asked.part.1,
        hash_values: asked.hash_values,
        is_stopped: &|| asked.is_stopped,
        ask: &|_, _| Ok(asked.content.clone()),
    };
    save_file(log, File::open(log).unwrap(), out, &to_save).map_err(|error| error.to_string())
}

fn read(path: &Path, wanted: &LogWanted) -> Result<(LogDialect, SqlRecording), String> {
    read_file(path, File::open(path).unwrap(), wanted).map_err(|error| error.to_string())
}

fn all() -> LogWanted {
    LogWanted { writes: true, ..LogWanted::default() }
}

/// All that a replay of `recording` does, statement by statement, and what was answered.
fn statements(recording: &SqlRecording) -> Vec<String> {
    let told = recording.statements().map(Result::unwrap).map(|it| {
        let (schema, mut text) = (recording.schema(it.schema), Vec::new());
        let answered = recording.read_text(&it, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        format!("{:?} session {} in {schema}, kind {}: {text} {answered:?}", it.due, it.session, it.kind)
    });
    told.collect()
}

/// What else there is of a recording.
fn figures(recording: &SqlRecording) -> String {
    let lanes = recording.lanes(3).unwrap();
    let lanes: Vec<Vec<u32>> = (0..3).map(|lane| lanes.numbers_of(lane, 0, usize::MAX >> 8).unwrap()).collect();
    let skipped: Vec<String> = recording.skipped.kinds().map(|(name, kind)| format!("{name}: {kind}")).collect();
    format!(
        "{:?} {:?} {} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {lanes:?}",
        recording.length(),
        recording.time_of_day(),
        recording.sessions(),
        recording.most_at_once(),
        recording.schemas(),
        recording.kinds(),
        recording.left_out,
        recording.effects,
        recording.pauses,
        recording.server,
        (skipped, recording.has_whole_seconds, recording.templates(), recording.calls, recording.digest),
    )
}

/// The recordings of a log and of its file, or why there is none.
fn assert_same(log: &Path, file: &Path, wanted: &LogWanted) {
    match (read(log, wanted), read(file, wanted)) {
        (Ok((dialect, of_log)), Ok((again, of_file))) => {
            assert_eq!(dialect, again, "{}", log.display());
            assert_eq!(statements(&of_file), statements(&of_log), "{}", log.display());
            assert_eq!(figures(&of_file), figures(&of_log), "{}", log.display());
        }
        (of_log, of_file) => {
            assert_eq!(of_file.map(drop), of_log.map(drop), "{}", log.display());
        }
    }
}

#[test]
fn a_file_is_replayed_as_its_log_whatever_the_log() {
    let folder = Folder::new();
    let file = folder.path("it.workload");
    let (mut kept, mut nothing) = (0, 0);
    for log in logs() {
        match (saved(&log, &file, &whole()), read(&log, &all())) {
            (Ok(saved), Ok((_, recording))) => assert_eq!(saved.statements, recording.len(), "{}", log.display()),
            (Err(_), Err(_)) => {
                nothing += 1;
                continue;
            }
            (saved, read) => panic!("{}: {saved:?}, {:?}", log.display(), read.map(|(_, it)| it.len())),
        }
        kept += 1;
        for writes in [true, false] {
            assert_same(&log, &file, &LogWanted { writes, ..LogWanted::default() });
        }
        let renamed = vec![("shop".to_owned(), "shop copy".to_owned()), ("test".to_owned(), "t".to_owned())];
        assert_same(&log, &file, &LogWanted { renamed, ..all() });
        assert_same(&log, &file, &LogWanted { functions: vec!["sleep".to_owned()], ..LogWanted::default() });
        std::fs::remove_file(&file).unwrap();
    }
    assert!(kept > 40 && nothing < kept, "{kept} logs, and {nothing} without statements");
    assert_eq!(folder.names(), Vec::<String>::new(), "what was begun and not saved is gone");
}

/// Records of one session of PostgreSQL's csvlog: the severity, the message, and the statement of an error.
fn csv_log(records: &[(&str, &str, &str)]) -> String {
    let line = |(nth, (severity, message, statement)): (usize, &(&str, &str, &str))| {
        format!(
            "2024-03-01 10:00:00.{nth}00 UTC,\"app\",\"shop\",71,\"[local]\",65e1.1,{nth},\"SELECT\",2024-03-01 09:59:59 UTC,3/2,0,\
             {severity},00000,\"{message}\",,,,,,\"{statement}\",,,\"psql\",\"client backend\",,0\n"
        )
    };
    records.iter().enumerate().map(line).collect()
}

#[test]
fn the_error_of_a_statement_that_is_left_out_is_not_that_of_the_one_before() {
    let folder = Folder::new();
    let records = [
        ("LOG", "statement: select 1 from t", ""),
        ("LOG", "statement: copy t from '/missing'", ""),
        ("ERROR", "could not open file", "copy t from '/missing'"),
        ("LOG", "statement: select 1/0", ""),
        ("ERROR", "division by zero", "select 1/0"),
    ];
    let log = folder.with("it.csv", &csv_log(&records));
    let failed = |path: &Path| -> Vec<bool> {
        let (_, recording) = read(path, &all()).unwrap();
        statements(&recording).iter().map(|it| it.contains("failed: Some(true)")).collect()
    };
    let file = folder.path("it.workload");
    saved(&log, &file, &whole()).unwrap();
    assert_same(&log, &file, &all());
    assert_eq!(failed(&file), [false, true]);
    let others = folder.path("others.workload");
    saved(&log, &others, &hashed()).unwrap();
    assert_eq!(failed(&others), [false, false], "other values have other answers");
}

#[test]
fn a_file_of_a_file_is_the_same_again() {
    let folder = Folder::new();
    for name in ["tests/logs/mysql-8.4-slow.log", "tests/logs/postgres-both.csv"] {
        let log = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let [one, two] = ["one.workload", "two.workload"].map(|end| folder.path(&format!("{}-{end}", name.len())));
        saved(&log, &one, &whole()).unwrap();
        saved(&one, &two, &whole()).unwrap();
        assert_same(&log, &two, &all());
    }
}

/// A general log: a statement each second, from 19:59:58 on, by three sessions in turn.
fn general_log(texts: &[&str]) -> String {
    let entry = |(nth, text): (usize, &&str)| {
        let (s, id) = (71_998 + nth, 4 + nth % 3);
        format!("2026-11-28T{:02}:{:02}:{:02}.250000Z\t{id:5} Query\t{text}\n", s / 3_600, s / 60 % 60, s % 60)
    };
    texts.iter().enumerate().map(entry).collect()
}

#[test]
fn a_part_has_the_statements_of_its_time() {
    let texts: Vec<String> = (0..20).map(|nth| format!("SELECT {nth}")).collect();
    let folder = Folder::new();
    let log = folder.with("general.log", &general_log(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
    for (part, expected) in
        [(("20:00", "5s"), (2, 6)), (("3s", "end"), (3, 19)), (("0s", "2s"), (0, 2)), (("19:59:59", "1s"), (1, 1))]
    {
        let file = folder.path("part.workload");
        saved(&log, &file, &Asked { part, ..whole() }).unwrap();
        let (_, recording) = read(&file, &all()).unwrap();
        let found: Vec<String> = recording.statements().map(|it| recording.text(&it.unwrap()).unwrap()).collect();
        let expected: Vec<String> = (expected.0..=expected.1).map(|nth| format!("SELECT {nth}")).collect();
        assert_eq!(found, expected, "{part:?}");
        std::fs::remove_file(&file).unwrap();
    }
    for (part, why) in [
        (("21:00", "end"), "the log goes from 19:59:58"),
        (("1.3s", "100ms"), "it has no statement to save in this part"),
    ] {
        let refused = saved(&log, &folder.path("none.workload"), &Asked { part, ..whole() }).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    assert_eq!(folder.names(), ["general.log"]);
}

#[test]
fn parts_and_copies_of_a_file_are_those_of_its_log() {
    let folder = Folder::new();
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs/cut-slow.log");
    let file = folder.path("it.workload");
    saved(&log, &file, &whole()).unwrap();
    let made = |path: &Path| {
        let (_, recording) = read(path, &all()).unwrap();
        let half = model::Nanos(recording.length().0 / 2);
        let part = recording.stretch(half, None).unwrap();
        let copies = Copies { times: 2.5, shift: half, length: model::Nanos(u64::MAX), seed: 3 };
        let copied = Arc::new(recording).copies(&copies).unwrap();
        (statements(&part), statements(&copied), figures(&copied))
    };
    assert_eq!(made(&file), made(&log));
}

const SECRETS: [&str; 14] = [
    "Hunter2",
    "Xanadu",
    "Quixote",
    "Zanzibar",
    "Kublai",
    "Mnemosyne",
    "Persephone",
    "Yggdrasil",
    "Ozymandias",
    "Gallimaufry",
    "Rumpelstilz",
    "Schweinsteiger",
    "918273645",
    "Wachtmeister",
];

const SECRET_STATEMENTS: [&str; 17] = [
    "SELECT c FROM shop.orders WHERE name = 'Xanadu' AND n = 918273645 -- Quixote",
    "SELECT c FROM orders WHERE name = \"Zanzibar\" AND b LIKE '%Kublai%'",
    "INSERT INTO orders (a, b) VALUES ('it''s Mnemosyne', 'a\\'Persephone\\n'), (-918273645.25, N'Yggdrasil')",
    "CREATE USER 'Hunter2'@'Hunter2' IDENTIFIED BY 'Hunter2'",
    "ALTER USER app IDENTIFIED WITH mysql_native_password AS 'Hunter2'",
    "SET PASSWORD = 'Hunter2'",
    "SET @token = 'Ozymandias', @other = 918273645",
    "SET SESSION sql_mode = 'Gallimaufry'",
    "SELECT /* Rumpelstilz */ 1 # Rumpelstilz",
    "SELECT /*!50000 'Rumpelstilz', */ 1",
    "SELECT 'Schweinsteiger",
    "SELECT /* Schweinsteiger",
    "SELECT 'C:\\', 'Schweinsteiger', 'D:\\', 1",
    "CALL p('Wachtmeister', 0x48756e74657232)",
    "SELECT JSON_EXTRACT('{\"Wachtmeister\": [\"Xanadu\", true]}', '$.Wachtmeister')",
    "SET NAMES utf8mb4",
    "SELECT c FROM orders WHERE id IN (1, 22, 333) AND at > '2026-03-01 10:20:30' AND f = TRUE",
];

/// What is behind 0x is `Hunter2`, too.
const HEXADECIMAL: &str = "48756e74657232";

fn assert_has_none(file: &Path, secrets: &[&str]) {
    let bytes = std::fs::read(file).unwrap();
    let lower = bytes.to_ascii_lowercase();
    for secret in secrets {
        let wanted = secret.to_ascii_lowercase();
        assert!(
            !lower.windows(wanted.len()).any(|part| part == wanted.as_bytes()),
            "`{secret}` is in {}",
            file.display()
        );
    }
}

#[test]
fn questions_of_plimsoll_itself_are_in_no_file_and_counted_in_each() {
    let folder = Folder::new();
    let log = folder.with("general.log", &general_log(&["/* plimsoll */ SELECT a FROM t", "SELECT b FROM t"]));
    for (name, asked) in [("plain.workload", whole()), ("hashed.workload", hashed())] {
        let file = folder.path(name);
        let left = saved(&log, &file, &asked).unwrap();
        assert_eq!((left.statements, left.skipped), (1, 0), "{name}");
        let (_, recording) = read(&file, &all()).unwrap();
        assert_eq!((recording.len(), recording.left_out.own, recording.skipped.total()), (1, 1, 0), "{name}");
    }
    assert_same(&log, &folder.path("plain.workload"), &all());
}

#[test]
fn rows_that_no_log_has_are_counted_in_each_file() {
    let folder = Folder::new();
    let load = "LOAD DATA LOCAL INFILE 'a' INTO TABLE t";
    let log = folder.with("general.log", &general_log(&[load, "SELECT b FROM t"]));
    for (name, asked) in [("plain.workload", whole()), ("hashed.workload", hashed())] {
        let file = folder.path(name);
        saved(&log, &file, &asked).unwrap();
        let (_, recording) = read(&file, &all()).unwrap();
        assert_eq!((recording.len(), recording.left_out.loads, recording.skipped.total()), (1, 1, 0), "{name}");
    }
    for wanted in [all(), LogWanted::default()] {
        assert_same(&log, &folder.path("plain.workload"), &wanted);
    }
}

#[test]
fn nothing_of_a_value_is_in_a_file_of_other_values() {
    let folder = Folder::new();
    let general = folder.with("general.log", &general_log(&SECRET_STATEMENTS));
    let file = folder.path("hashed.workload");
    let left = saved(&general, &file, &hashed()).unwrap();
    assert_has_none(&file, &SECRETS);
    assert_has_none(&file, &[HEXADECIMAL]);
    // Skipped are a mode that is none, code in comments, and three that cannot be split. What is about accounts is no load of an application.
    assert_eq!((left.statements, left.skipped), (9, 5), "{left:?}");
    let (_, recording) = read(&file, &all()).unwrap();
    assert!(recording.is_hashed);
    let told = statements(&recording).join("\n");
    for kept in ["shop.orders", "SET NAMES utf8mb4", "f = TRUE", "LIKE '%"] {
        assert!(told.contains(kept), "{kept}: {told}");
    }
    let names: Vec<String> = recording.skipped.kinds().map(|(name, kind)| format!("{name}: {kind}")).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    // The file itself keeps them unless it is asked not to.
    let plain = folder.path("plain.workload");
    saved(&general, &plain, &whole()).unwrap();
    // Passwords of accounts are in none.
    assert_has_none(&plain, &["IDENTIFIED BY", "SET PASSWORD"]);
    assert!(statements(&read(&plain, &all()).unwrap().1).join("\n").contains("Xanadu"));
    // A file can be hashed later, and each time otherwise.
    let later = folder.path("later.workload");
    saved(&plain, &later, &hashed()).unwrap();
    assert_has_none(&later, &SECRETS);
    assert_ne!(statements(&read(&later, &all()).unwrap().1).join("\n"), told);
}

#[test]
fn nothing_of_a_value_of_postgresql_is_in_a_file_of_other_values() {
    let entry = |(nth, text): (usize, &&str)| {
        format!("2026-11-28 03:16:{:02}.480 UTC [5] app@Shop LOG:  statement: {text}\n", nth % 60)
    };
    let texts = [
        "SELECT \"Name\" FROM t WHERE a = 'Xanadu' AND b = $q$Zanzibar$q$ /* Quixote /* Quixote */ */",
        "SELECT E'Kublai\\n', U&'Mnemosyne', 'a' 'Persephone'",
        "ALTER ROLE app PASSWORD 'Hunter2'",
        "SET app.token = Ozymandias",
        "SET app.token TO 'Ozymandias'",
        "SET search_path = \"Shop\", public",
        "DO $$ BEGIN RAISE NOTICE 'Rumpelstilz'; END $$",
        "SELECT E'\\x58anadu'",
        "NOTIFY channel, 'Wachtmeister'",
        "SELECT 918273645::bigint, ARRAY['Yggdrasil', NULL], '{\"Gallimaufry\": null}'::jsonb",
    ];
    let folder = Folder::new();
    let log = folder.with("postgresql.log", &texts.iter().enumerate().map(entry).collect::<String>());
    let extended = "2026-11-28 03:17:00.480 UTC [5] app@Shop LOG:  duration: 0.2 ms  execute <unnamed>: SELECT c FROM t WHERE a = $1\n\
                    2026-11-28 03:17:00.480 UTC [5] app@Shop DETAIL:  parameters: $1 = 'Schweinsteiger'\n";
    std::fs::write(&log, std::fs::read_to_string(&log).unwrap() + extended).unwrap();
    let file = folder.path("hashed.workload");
    let left = saved(&log, &file, &hashed()).unwrap();
    assert_has_none(&file, &SECRETS);
    assert_eq!((left.statements, left.skipped), (5, 5), "{left:?}");
    let told = statements(&read(&file, &all()).unwrap().1).join("\n");
    for kept in ["\"Name\"", "\"Shop\"", "NULL", ": null}", "in Shop"] {
        assert!(told.contains(kept), "{kept}: {told}");
    }
}

/// What is in quotes in the statements of a log, if it is long enough to be known again.
fn long_values(recording: &SqlRecording, dialect: Dialect) -> (BTreeSet<String>, String) {
    let (mut values, mut names) = (BTreeSet::new(), String::new());
    for it in recording.statements() {
        let text = recording.text(&it.unwrap()).unwrap();
        let tokens = sql::tokens(&text, dialect).unwrap();
        let is_setting = tokens[0].is_word(&text, &["set"]);
        for token in tokens {
            if token.kind != TokenKind::Text {
                names.push_str(&token.text(&text).to_lowercase());
                names.push(' ');
            } else if !is_setting {
                let inside = token.text(&text).trim_matches(['\'', '"']);
                values.extend(
                    inside
                        .split(|c: char| !c.is_ascii_alphanumeric())
                        .filter(|word| word.len() > 6)
                        .map(str::to_lowercase),
                );
            }
        }
        names.push_str(&recording.schemas().join(" ").to_lowercase());
    }
    (values, names)
}

#[test]
fn hashed_files_of_all_logs_have_the_same_statements_with_other_values() {
    let folder = Folder::new();
    let (mut all_of_logs, mut all_kept, mut checked, mut calls) = (0, 0, 0, 0);
    for log in logs() {
        let file = folder.path("it.workload");
        let Ok(kept) = saved(&log, &file, &hashed()) else { continue };
        let (dialect, recording) = read(&log, &all()).unwrap();
        let (_, others) = read(&file, &all()).unwrap();
        (all_of_logs, all_kept) = (all_of_logs + recording.len(), all_kept + kept.statements);
        if kept.statements == recording.len() {
            let kinds =
                |of: &SqlRecording| of.kinds().iter().map(|kind| (kind.name.clone(), kind.count)).collect::<Vec<_>>();
            assert_eq!(kinds(&others), kinds(&recording), "{}", log.display());
            assert_eq!((others.length(), others.most_at_once()), (recording.length(), recording.most_at_once()));
            assert_eq!(others.calls, recording.calls, "{}", log.display());
            calls += others.calls;
        }
        let (values, names) = long_values(&recording, dialect.sql());
        let bytes = std::fs::read(&file).unwrap().to_ascii_lowercase();
        for value in values.iter().filter(|value| !names.contains(*value)) {
            checked += 1;
            assert!(!bytes.windows(value.len()).any(|part| part == value.as_bytes()), "`{value}` of {}", log.display());
        }
        std::fs::remove_file(&file).unwrap();
    }
    assert!(
        calls > 0 && checked > 100 && all_kept * 10 > all_of_logs * 9,
        "{checked} values, {all_kept} of {all_of_logs} statements"
    );
}

#[test]
fn equal_values_stay_equal_in_the_whole_file() {
    let folder = Folder::new();
    let log = folder.with(
        "general.log",
        &general_log(&[
            "SELECT 'Xanadu', 4711",
            "SELECT \"Xanadu\", '4711'",
            "SELECT 'xanadu', 4712",
            "SELECT 'Xanadu', 4711",
        ]),
    );
    let file = folder.path("hashed.workload");
    saved(&log, &file, &hashed()).unwrap();
    let (_, recording) = read(&file, &all()).unwrap();
    let texts: Vec<String> =
        recording.statements().map(|it| recording.text(&it.unwrap()).unwrap().replace(['"', '\''], "")).collect();
    assert_eq!((&texts[0], &texts[0]), (&texts[1], &texts[3]));
    let values =
        |nth: usize| texts[nth].trim_start_matches("SELECT ").split(", ").map(str::to_owned).collect::<Vec<_>>();
    assert!(values(0)[0] != values(2)[0] && values(0)[1] != values(2)[1] && values(0)[1].len() == 4, "{texts:?}");
}

#[test]
fn what_was_hashed_once_says_so_when_it_is_saved_again_without_hashing() {
    let folder = Folder::new();
    let log = folder.with("general.log", &general_log(&["SELECT 'Xanadu'"]));
    let (first, again) = (folder.path("first.workload"), folder.path("again.workload"));
    saved(&log, &first, &hashed()).unwrap();
    saved(&first, &again, &whole()).unwrap();
    let content = workload::replay_sql::content_of_file(&again, File::open(&again).unwrap()).unwrap();
    assert!(content.unwrap().is_hashed);
}

#[test]
fn a_folder_that_is_missing_is_not_told_as_lack_of_room() {
    let folder = Folder::new();
    let log = folder.with("general.log", &general_log(&["SELECT 1"]));
    let error = saved(&log, &folder.path("nowhere/it.workload"), &whole()).unwrap_err();
    assert!(error.ends_with("make the directory first, or choose another"), "{error}");
}

#[test]
fn a_file_has_what_a_server_has_said_and_is_never_overwritten() {
    let folder = Folder::new();
    let log = folder.with("general.log", &general_log(&["SELECT 1 FROM t"]));
    let file = folder.path("it.workload");
    let content = FileContent {
        settings: vec![("innodb_buffer_pool_size".into(), "1024".into())],
        tables: vec![TableSize { name: "shop.t".into(), rows: Some(5), bytes: None }],
        ..FileContent::default()
    };
    saved(&log, &file, &Asked { content: content.clone(), ..whole() }).unwrap();
    let found = workload::replay_sql::content_of_file(&file, File::open(&file).unwrap()).unwrap();
    assert_eq!(found, Some(content));
    assert_eq!(workload::replay_sql::content_of_file(&log, File::open(&log).unwrap()).unwrap(), None);
    let before = std::fs::read(&file).unwrap();
    let refused = saved(&log, &file, &whole()).unwrap_err();
    assert!(refused.contains("it.workload`, which exists and is never overwritten"), "{refused}");
    let stopped = saved(&log, &folder.path("stopped.workload"), &Asked { is_stopped: true, ..whole() }).unwrap_err();
    assert_eq!(stopped, "it was not saved: you ended it");
    let nowhere = saved(&log, &folder.path("absent/it.workload"), &whole()).unwrap_err();
    assert!(nowhere.contains("No such file or directory"), "{nowhere}");
    assert_eq!(
        (std::fs::read(&file).unwrap() == before, folder.names()),
        (true, vec!["general.log".into(), "it.workload".into()])
    );
}

/// A file that `change` has changed, and what reading it says.
fn refused_after(folder: &Folder, change: impl FnOnce(&Connection)) -> String {
    let log = folder.with("general.log", &general_log(&["SELECT 1 FROM t", "SELECT 2 FROM t", "UPDATE t SET a = 'b'"]));
    let file = folder.path("it.workload");
    saved(&log, &file, &whole()).unwrap();
    let db = Connection::open(&file).unwrap();
    db.pragma_update(None, "foreign_keys", "OFF").unwrap();
    change(&db);
    drop(db);
    let found = read(&file, &all()).map(|(_, recording)| recording.len());
    let _content = workload::replay_sql::content_of_file(&file, File::open(&file).unwrap());
    std::fs::remove_file(&file).unwrap();
    found.err().unwrap_or_else(|| "it was read\nall the same".to_owned())
}

#[test]
fn what_does_not_belong_into_a_file_is_named_and_ends_the_reading() {
    let folder = Folder::new();
    for (sql, why) in [
        ("PRAGMA user_version = 7", "it has the workload file format 7, and this plimsoll reads format 3"),
        ("PRAGMA user_version = 0", "damaged: its format number is 0"),
        ("PRAGMA application_id = 7", "it is an SQLite database of another program"),
        ("PRAGMA application_id = 0x504C494D", "it is the file of a run"),
        ("PRAGMA journal_mode = WAL", "another program keeps its changes in a log beside it"),
        ("DROP TABLE skipped", "damaged: its table `skipped` is missing"),
        ("ALTER TABLE template ADD COLUMN more TEXT", "damaged: its table `template` does not match format 3"),
        (
            "DROP TABLE setting; CREATE VIEW setting AS SELECT 'a' AS name, 'b' AS value",
            "damaged: its table `setting` is missing",
        ),
        ("DELETE FROM workload", "damaged: its table `workload` is empty"),
        ("UPDATE workload SET family = 'oracle'", "it is of `oracle`, which is no kind of server"),
        ("UPDATE workload SET statements = 2", "the numbers of its statements"),
        ("UPDATE workload SET statements = 4", "3 of 4 statements are there"),
        ("UPDATE workload SET statements = -1", "there is -1 where only numbers from 0"),
        ("UPDATE workload SET port = 70000", "its port is none"),
        ("UPDATE workload SET unbound = 9223372036854775807", "there is 9223372036854775807"),
        ("UPDATE workload SET family = 'postgres'", "what it says is not what was saved"),
        ("UPDATE workload SET port = 3307", "what it says is not what was saved"),
        ("UPDATE workload SET hashed = 1", "what it says is not what was saved"),
        ("UPDATE workload SET sessions = 7", "what it says is not what was saved"),
        ("UPDATE schema_name SET name = 'other'", "what it says is not what was saved"),
        ("DELETE FROM statement WHERE id = 2", "the numbers of its statements"),
        ("DELETE FROM template WHERE id = 1", "statement 1 has no template"),
        ("UPDATE template SET text = 'select ?, ?'", "the values of statement 1: a value is missing"),
        ("UPDATE template SET text = 'select'", "the values of statement 1: there are more values than places"),
        ("UPDATE template SET text = text || 'x' WHERE id = 1", "what it says is not what was saved"),
        ("UPDATE statement SET vals = '[7' WHERE id = 2", "the values of statement 2"),
        ("UPDATE statement SET vals = '[\"3\"]' WHERE id = 2", "what it says is not what was saved"),
        (
            "UPDATE statement SET began_us = 9223372036854775807 WHERE id = 2",
            "9223372036854775807 us is no time of a log",
        ),
        (
            "UPDATE statement SET began_us = -9223372036854775808 WHERE id = 2",
            "-9223372036854775808 us is no time of a log",
        ),
        ("UPDATE statement SET took_us = -1", "statement 1 took a time that cannot be"),
        ("UPDATE statement SET session = -1", "there is -1"),
        ("UPDATE statement SET schema = 5", "statement 1 is in schema 5, which is not there"),
        ("UPDATE schema_name SET id = 3", "the numbers of its schemas"),
        ("UPDATE schema_name SET name = printf('%.*c', 9000, 'a')", "a name has 9000 bytes"),
        ("INSERT INTO session_end VALUES (-1, 0, 1, NULL, 0)", "not in order"),
        ("INSERT INTO session_end VALUES (1, 0, 1, -9223372036854775808, 0)", "is no time of a log"),
        ("UPDATE statement SET affected = -1", "there is -1"),
        ("UPDATE statement SET failed = 2", "there is 2"),
        ("UPDATE statement SET sent = 3 WHERE id = 2", "what it says is not what was saved"),
        ("INSERT INTO skipped VALUES ('a', -1, 0)", "there is -1"),
    ] {
        let refused = refused_after(&folder, |db| db.execute_batch(sql).unwrap_or(()));
        assert!(refused.contains(why) && refused.lines().count() == 1, "{sql}: {refused}");
    }
}

#[test]
fn sql_of_a_stranger_is_not_run() {
    let folder = Folder::new();
    let log = folder.with("general.log", &general_log(&["SELECT 1 FROM t"]));
    let file = folder.path("it.workload");
    saved(&log, &file, &whole()).unwrap();
    let db = Connection::open(&file).unwrap();
    db.execute_batch("CREATE TABLE evil (a); CREATE TRIGGER t AFTER INSERT ON skipped BEGIN DELETE FROM statement; END; CREATE VIEW v AS SELECT 1").unwrap();
    drop(db);
    let before = std::fs::read(&file).unwrap();
    assert_same(&log, &file, &all());
    assert_eq!(
        (std::fs::read(&file).unwrap() == before, folder.names()),
        (true, vec!["general.log".into(), "it.workload".into()])
    );
}

/// A file may be cut or damaged anywhere: it is refused, or read as it was. Each change takes a reading of the whole file.
#[test]
fn a_file_that_is_cut_or_damaged_anywhere_is_refused_or_read_as_it_was() {
    let folder = Folder::new();
    let texts: Vec<String> = (0..300).map(|nth| format!("SELECT c{} FROM t WHERE id = {nth}", nth % 40)).collect();
    let log = folder.with("general.log", &general_log(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
    let file = folder.path("it.workload");
    saved(&log, &file, &whole()).unwrap();
    let whole = std::fs::read(&file).unwrap();
    let expected = statements(&read(&file, &all()).unwrap().1);
    let damaged = folder.path("damaged.workload");
    let mut refused = 0;
    for nth in 0..200 {
        let mut bytes = whole.clone();
        let at = nth * 7_919 % whole.len();
        if nth % 4 == 0 {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 1 << (nth % 8);
        }
        std::fs::write(&damaged, bytes).unwrap();
        match read(&damaged, &all()) {
            Ok((_, recording)) => assert_eq!(statements(&recording), expected, "byte {at}"),
            Err(why) => {
                assert_eq!(why.lines().count(), 1, "byte {at}: {why}");
                refused += 1;
            }
        }
    }
    assert!(refused >= 50, "{refused}");
}
