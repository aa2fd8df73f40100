//! A corpus of outputs of sysbench 0.4 to 1.1, fio 2.1 to 3.33, pgbench, HammerDB, YCSB, go-tpc, go-ycsb and memtier_benchmark.
//!
//! In: the directory `fixtures/corpus`: what the programs wrote, or what people have published of it, shortened, with names and addresses
//! replaced. Out: for each file its points, or why it is refused, as `fixtures/corpus.expected` has them; `UPDATE_GOLDEN=1` writes that file.
//! Each line of it was compared with the output by hand. Limits: a catalogue without engines.

mod common;

use common::catalogue;
use import::{ImportError, ImportedPoint, ImportedRun, StatedSettings, read_files};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The files of the corpus in the order of their names.
fn corpus() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(fixtures().join("corpus")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn import(path: &Path) -> Result<ImportedRun, ImportError> {
    read_files(&[path.to_owned()], &StatedSettings::default(), &catalogue())
}

/// What is tested of a point, in some lines.
fn described(point: &ImportedPoint) -> String {
    let seconds = point.length.as_secs_f64();
    let mut text = format!(
        "  {} / {} / {}: clients {}, depth {}, {seconds:.3} s\n",
        point.program, point.engine, point.workload, point.clients, point.depth
    );
    for (nth, kind) in point.kinds.iter().enumerate() {
        let rate = kind.ok as f64 / seconds;
        let _ = write!(text, "    {}: {} ok, {} failed, {rate:.2}/s", kind.def.name, kind.ok, kind.failed);
        if kind.response.is_empty() {
            text += ", no times";
        } else {
            let [p50, p99] = [0.5, 0.99].map(|quantile| kind.response.value_at_quantile(quantile) as f64 / 1e6);
            let _ =
                write!(text, ", p50 {p50:.3} ms, p99 {p99:.3} ms, max {:.3} ms", kind.response.max_ns() as f64 / 1e6);
        }
        match &point.timeline {
            Some(timeline) => {
                assert_eq!(timeline.counts[nth].iter().sum::<u64>(), kind.ok, "intervals add up to the total");
                let _ = writeln!(text, ", {} times {}", timeline.counts[nth].len(), timeline.interval);
            }
            None => text += ", no intervals\n",
        }
    }
    let percentiles: Vec<String> = point
        .facts
        .iter()
        .filter(|fact| fact.name.contains(".p9") || fact.name == "hammerdb.tpm")
        .map(|fact| format!("{} {}", fact.name, fact.value))
        .collect();
    if !percentiles.is_empty() {
        let _ = writeln!(text, "    facts: {}", percentiles.join(", "));
    }
    point.left_out().for_each(|what| writeln!(text, "    left out: {what}").unwrap());
    point.error.iter().for_each(|error| writeln!(text, "    error: {error}").unwrap());
    text
}

fn outcome_of(path: &Path) -> String {
    match import(path) {
        Ok(run) => run.points().iter().map(described).collect(),
        Err(error) => format!("  refused: {}\n", error.to_string().replace(&*path.to_string_lossy(), "FILE")),
    }
}

#[test]
fn each_file_of_the_corpus_is_read_as_it_is_or_refused() {
    let files = corpus();
    assert!(files.len() >= 25, "{} files", files.len());
    let found: String = files
        .iter()
        .map(|path| format!("{}\n{}", path.file_name().unwrap().to_string_lossy(), outcome_of(path)))
        .collect();
    let expected = fixtures().join("corpus.expected");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&expected, &found).unwrap();
    }
    let expected = fs::read_to_string(&expected).unwrap();
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

#[test]
fn each_run_file_of_the_corpus_can_be_read_back_with_its_points() {
    let folder = tempfile::tempdir().unwrap();
    for path in corpus() {
        let Ok(run) = import(&path) else { continue };
        let written = run.write(folder.path(), &path.file_stem().unwrap().to_string_lossy()).unwrap_or_else(|error| {
            // Two fixtures may have one stem.
            run.write(folder.path(), &format!("{}-2", path.file_stem().unwrap().to_string_lossy()))
                .unwrap_or_else(|_| panic!("{error}"))
        });
        assert_eq!(store::read(&written).unwrap().points.len(), run.points().len(), "{}", path.display());
    }
}

/// The outcome of a file with these contents, which must be a run or one line.
fn outcome_with(folder: &Path, contents: &[u8]) -> String {
    let path = folder.join("other");
    fs::write(&path, contents).unwrap();
    let outcome = outcome_of(&path);
    let is_refused = outcome.starts_with("  refused: ");
    assert!(!is_refused || outcome.lines().count() == 1 && outcome.len() < 700, "{outcome}");
    outcome
}

#[test]
fn ends_of_lines_of_windows_and_a_mark_of_utf_8_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for path in corpus() {
        let text = fs::read_to_string(&path).unwrap();
        let plain = outcome_with(folder.path(), text.as_bytes());
        assert_eq!(outcome_with(folder.path(), text.replace('\n', "\r\n").as_bytes()), plain, "{}", path.display());
        assert_eq!(outcome_with(folder.path(), format!("\u{feff}{text}").as_bytes()), plain, "{}", path.display());
    }
}

#[test]
fn what_is_no_text_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for path in corpus() {
        let text = fs::read_to_string(&path).unwrap();
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked: Vec<u8> = [b"\xff\xfe".as_slice(), &utf16].concat();
        let packed = [b"\x1f\x8b\x08\x00".as_slice(), text.as_bytes()].concat();
        for (bytes, part) in [(marked, "UTF-16"), (utf16, ""), (packed, "gunzip")] {
            let outcome = outcome_with(folder.path(), &bytes);
            assert!(outcome.starts_with("  refused: ") && outcome.contains(part), "{}: {outcome}", path.display());
        }
        let mut bytes = text.into_bytes();
        let middle = bytes.len() / 2;
        for damage in [b"\0".as_slice(), b"\xff\xc3\x28"] {
            let tail = bytes.split_off(middle);
            bytes.extend(damage.iter().chain(&tail));
            outcome_with(folder.path(), &bytes);
        }
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_a_run_or_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for path in corpus() {
        let bytes = fs::read(&path).unwrap();
        let step = if path.ends_with("sysbench-prepare-and-two-runs.txt") { 1 } else { bytes.len() / 150 + 1 };
        (0..bytes.len()).step_by(step).for_each(|end| drop(outcome_with(folder.path(), &bytes[..end])));
    }
}
