//! What reads files of strangers: each makes an input, and reads it as the commands do.

use super::dice::Dice;
use super::runs::mutate_run;
use super::texts::mutate_text;
use import::StatedSettings;
use model::Catalogue;
use plan::Overrides;
use std::fs::{self, File};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::path::{Path, PathBuf};
use workload::RecordingError;
use workload::replay::{Placement, RecordedIo, Recording};
use workload::replay_sql::{self, FileContent, LogDialect, LogWanted, SqlRecording, ToSave};

/// Makes the files of one input in a directory.
type MakeFiles = dyn Fn(&Path, &mut Dice) -> Vec<PathBuf> + UnwindSafe + RefUnwindSafe;

/// One kind of file.
pub struct Reader {
    pub name: &'static str,
    /// Makes the files of one input in a directory; the first is mutated.
    pub make: Box<MakeFiles>,
    /// Reads them; `false` if they are refused.
    pub read: fn(&Path, &[PathBuf]) -> bool,
}

/// All readers. Run files come up twice as often: most is done with them.
pub fn all() -> Vec<Reader> {
    let runs = || Reader { name: "run files", make: Box::new(make_run), read: |_, files| read_run(&files[0]) };
    vec![
        runs(),
        runs(),
        Reader { name: "plans", make: Box::new(make_plan), read: |_, files| read_plan(&files[0]) },
        Reader { name: "imports", make: Box::new(make_import), read: read_import },
        Reader { name: "recorded I/O", make: Box::new(make_trace), read: |_, files| read_trace(&files[0]) },
        Reader { name: "logs of servers", make: Box::new(make_log), read: |_, files| read_server_log(&files[0]) },
        Reader { name: "workload files", make: Box::new(make_workload), read: |_, files| read_workload(&files[0]) },
    ]
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn make_run(dir: &Path, dice: &mut Dice) -> Vec<PathBuf> {
    let name = dice.pick(&["stall", "engines", "killed", "hosts"]);
    let path = dir.join("run.plimsoll");
    fs::copy(root().join("tests/golden").join(name).join("run.plimsoll"), &path).unwrap();
    mutate_run(&path, dice);
    vec![path]
}

/// As `show`, `report`, `export` and `run NAME.plimsoll` do.
fn read_run(path: &Path) -> bool {
    let head = store::read_meta(path);
    if let Ok(head) = &head {
        let _ = plan::check(&head.meta.plan, "run.plimsoll", &catalogue());
    }
    let Ok(run) = store::read(path) else { return false };
    let analysis = analysis::analyse(&run);
    let answer = analysis::answer(&analysis);
    let text = report::terminal::answer(&answer, 80, false) + &report::terminal::details(&analysis, &answer, 80, false);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "a control character reaches the terminal");
    report::markdown(&analysis);
    report::points_csv(&analysis);
    report::intervals_csv(&analysis);
    let page = report::html(&analysis);
    assert!(!page.contains("<script>alert(1)"), "markup of a stranger is in the page");
    serde_json::to_string(&analysis.verdict).expect("a verdict is plain data");
    true
}

fn make_plan(dir: &Path, dice: &mut Dice) -> Vec<PathBuf> {
    let mut plans: Vec<PathBuf> = fs::read_dir(root().join("plans")).unwrap().flatten().map(|it| it.path()).collect();
    plans.retain(|path| path.extension().is_some_and(|it| it == "toml"));
    plans.sort();
    let text = fs::read_to_string(dice.pick(&plans)).unwrap();
    vec![make_mutated(dir, "p.toml", &text, dice)]
}

/// As `plan` and `run` do.
fn read_plan(path: &Path) -> bool {
    let Ok(text) = fs::read_to_string(path) else { return false };
    let catalogue = catalogue();
    match plan::parse(&text, "p.toml", &Overrides::default(), 1.0, &catalogue) {
        Ok(plan) => {
            plan::estimate(&plan, &catalogue);
            let kept = serde_json::to_string(&plan).expect("a plan is plain data");
            let kept: model::Plan = serde_json::from_str(&kept).expect("a plan comes back");
            assert!(
                plan::check(&kept, "p.toml", &catalogue).is_ok() || kept != plan,
                "a plan is refused when it comes back"
            );
            true
        }
        Err(error) => refuse(&error.to_string()),
    }
}

/// The fixtures, each with the files that it needs.
const IMPORTS: [(&str, &[&str]); 10] = [
    ("fio.json", &["jobs_iops.1.log"]),
    ("fio-perio.json", &["single_clat.1.log"]),
    ("sysbench.txt", &[]),
    ("sysbench-rate.txt", &[]),
    ("sysbench-checkpoints.txt", &[]),
    ("pgbench.txt", &["pgbench_log.1"]),
    ("pgbench-scripts.txt", &[]),
    ("single_clat.1.log", &["fio-perio.json"]),
    ("pgbench_log.1", &["pgbench.txt"]),
    ("pgbench_aggregate_log.1", &["pgbench-aggregate.txt"]),
];

fn make_import(dir: &Path, dice: &mut Dice) -> Vec<PathBuf> {
    let (name, more) = dice.pick(&IMPORTS);
    let fixtures = root().join("crates/import/tests/fixtures");
    let text = fs::read_to_string(fixtures.join(name)).unwrap();
    let path = make_mutated(dir, name, &text, dice);
    std::iter::once(path).chain(more.iter().map(|name| fixtures.join(name))).collect()
}

/// As `import` and `show` do.
fn read_import(dir: &Path, files: &[PathBuf]) -> bool {
    match import::read_files(files, &StatedSettings::default(), &catalogue()) {
        Ok(run) => {
            let written = run.write(dir, "run").expect("what is imported can be written");
            let run = store::read(&written).expect("what was written can be read");
            let analysis = analysis::analyse(&run);
            let answer = analysis::answer(&analysis);
            report::terminal::answer(&answer, 80, false);
            report::terminal::details(&analysis, &answer, 80, false);
            true
        }
        Err(error) => refuse(&error.to_string()),
    }
}

fn make_trace(dir: &Path, dice: &mut Dice) -> Vec<PathBuf> {
    let text = fs::read_to_string(recorded("innodb-insert.trace")).unwrap();
    // Its beginning has every kind of line.
    let text: String = text.split_inclusive('\n').take(200).collect();
    vec![make_mutated(dir, "io.trace", &text, dice)]
}

/// As `record-io` and `file --mode replay` do.
fn read_trace(path: &Path) -> bool {
    let text = fs::read(path).unwrap();
    match Recording::from_text(&text[..], None) {
        Ok(recording) => {
            for placement in [Placement::Packed, Placement::Same, Placement::Wrapped] {
                let data = recording.data_needed(placement);
                let is_within = |io: &RecordedIo| recording.offset_in(io, placement, data).0 + io.len.0 <= data.0;
                assert!(recording.requests().all(|io| is_within(&io)), "a request is beyond the end of the data");
            }
            true
        }
        Err(error) => refuse(&error.in_file("io.trace")),
    }
}

fn make_log(dir: &Path, dice: &mut Dice) -> Vec<PathBuf> {
    let name = dice.pick(&["mariadb-slow.log", "mysql-slow.log", "mariadb-general.log", "postgres.csv"]);
    let text = fs::read_to_string(recorded(name)).unwrap();
    vec![make_mutated(dir, "server.log", &text, dice)]
}

/// As `replay-sql` does.
fn read_server_log(path: &Path) -> bool {
    let text = fs::read(path).unwrap();
    let renamed = vec![("shop".into(), "copy".into())];
    let wanted = LogWanted { writes: text.len().is_multiple_of(2), renamed, ..LogWanted::default() };
    is_recording(replay_sql::read_log(&text[..], &wanted))
}

fn make_workload(dir: &Path, dice: &mut Dice) -> Vec<PathBuf> {
    let name = dice.pick(&["mysql-slow.log", "mariadb-general.log", "postgres.csv"]);
    let log = recorded(name);
    let path = dir.join("it.workload");
    let to_save = ToSave {
        log_line_prefix: "",
        from: "0s",
        length: "end",
        hash_values: dice.one_in(2),
        is_stopped: &|| false,
        ask: &|_, _| Ok(FileContent::default()),
    };
    replay_sql::save_file(&log, File::open(&log).unwrap(), &path, &to_save).unwrap();
    mutate_run(&path, dice);
    vec![path]
}

/// As `replay-sql` and `workload show` do.
fn read_workload(path: &Path) -> bool {
    let wanted = LogWanted { writes: path.metadata().unwrap().len().is_multiple_of(8_192), ..LogWanted::default() };
    let _content = replay_sql::content_of_file(path, File::open(path).unwrap());
    is_recording(replay_sql::read_file(path, File::open(path).unwrap(), &wanted))
}

fn is_recording(read: Result<(LogDialect, SqlRecording), RecordingError>) -> bool {
    match read {
        Ok((_, recording)) => {
            let times = recording.statements().map(|statement| statement.unwrap().due);
            assert!(times.is_sorted(), "a statement is due before the one before it");
            replay_sql::kinds_of(&recording);
            let lanes = recording.lanes(3).unwrap();
            assert_eq!((0..3).map(|lane| lanes.count_of(lane)).sum::<u64>(), recording.len());
            true
        }
        Err(error) => refuse(&error.in_file("server.log")),
    }
}

fn recorded(name: &str) -> PathBuf {
    root().join("crates/workload/tests/fixtures").join(name)
}

fn make_mutated(dir: &Path, name: &str, text: &str, dice: &mut Dice) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, mutate_text(text, dice)).unwrap();
    path
}

/// A file is refused in one line that a terminal can show.
fn refuse(message: &str) -> bool {
    assert!(message.chars().all(|c| !c.is_control()), "a message has a control character: {message:?}");
    assert!(message.len() < 4000, "a message is {} bytes long", message.len());
    false
}

/// What the binary knows.
fn catalogue() -> Catalogue {
    runner::catalogue()
}
