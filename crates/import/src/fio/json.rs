//! fio's JSON, of which only what is used is kept.
//!
//! In: a file with one object or several, with lines of text (warnings, `<host> ...` of a client) before and between them. Out: an object for
//! each run. With `--status-interval` fio writes its results so far again and again: of these the last counts. Limits: 64 MiB; 4,096 jobs;
//! 20,000 bins of a histogram; 10,000 runs. Unknown keys are skipped.

use crate::error::ImportError;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::fs;
use std::marker::PhantomData;
use std::path::Path;

/// The largest JSON that is read: a job with all its bins has 100 KB.
const JSON_BYTES_MAX: u64 = 64 << 20;
/// The most jobs, or clones of jobs.
const JOBS_MAX: usize = 4_096;
/// fio has 1,856 bins.
const ENTRIES_MAX: usize = 20_000;
/// The most runs of a file.
const RUNS_MAX: usize = 10_000;

/// The results of a run.
#[derive(Debug, Default, Deserialize)]
pub(super) struct FioOutput {
    #[serde(rename = "fio version")]
    pub version: String,
    pub timestamp: Option<u64>,
    pub timestamp_ms: Option<u64>,
    #[serde(rename = "global options", default)]
    pub global_options: Entries<String>,
    #[serde(default)]
    pub jobs: BoundedList<FioJob>,
    /// The jobs of a run over several machines.
    #[serde(default)]
    pub client_stats: BoundedList<FioJob>,
}

/// A job, or a clone of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FioJob {
    pub jobname: String,
    pub groupid: i64,
    pub error: i64,
    /// The requests that failed, of all directions, with `continue_on_error`.
    pub total_err: u64,
    pub elapsed: u64,
    pub job_start: Option<u64>,
    pub hostname: Option<String>,
    #[serde(rename = "job options")]
    pub job_options: Entries<String>,
    pub read: FioDirection,
    pub write: FioDirection,
    pub trim: FioDirection,
    /// All of them together, with `unified_rw_reporting`.
    pub mixed: FioDirection,
    pub sync: FioSync,
}

/// Reads, writes or trims.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FioDirection {
    /// Bytes; before fio 3 KiB.
    pub io_bytes: u64,
    /// Only from fio 3 on.
    pub io_kbytes: Option<u64>,
    pub iops: Option<f64>,
    /// How long it ran, in milliseconds.
    pub runtime: u64,
    pub total_ios: u64,
    pub clat_ns: Option<FioLatency>,
    pub lat_ns: Option<FioLatency>,
    /// In microseconds, before fio 3.
    pub clat: Option<FioLatency>,
    pub lat: Option<FioLatency>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FioLatency {
    pub max: f64,
    pub mean: f64,
    pub percentile: Entries<f64>,
    pub bins: Entries<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FioSync {
    pub total_ios: u64,
}

impl FioDirection {
    /// Operations done. The oldest versions print their rate only.
    pub fn ios(&self) -> u64 {
        if self.total_ios > 0 {
            self.total_ios
        } else {
            (self.iops.unwrap_or(0.0).max(0.0) * self.runtime as f64 / 1e3).round() as u64
        }
    }

    pub fn bytes(&self) -> u64 {
        if self.io_kbytes.is_some() { self.io_bytes } else { self.io_bytes.saturating_mul(1_024) }
    }
}

impl FioOutput {
    /// All jobs, also those of other machines.
    pub fn all_jobs(&self) -> impl Iterator<Item = &FioJob> {
        self.jobs.0.iter().chain(&self.client_stats.0)
    }

    /// When it was written, in milliseconds since 1970, and how far that may be off.
    fn written_ms(&self) -> Option<(u64, u64)> {
        let rough = || self.timestamp.and_then(|seconds| seconds.checked_mul(1_000)).map(|ms| (ms, 1_000));
        self.timestamp_ms.map(|ms| (ms, 100)).or_else(rough)
    }

    /// Whether this is what the run of `earlier` wrote later, because of `--status-interval`: the same jobs have done more, in a time that
    /// is longer by as much as has passed.
    fn continues(&self, earlier: &FioOutput) -> bool {
        let jobs: Vec<(&FioJob, &FioJob)> = earlier.all_jobs().zip(self.all_jobs()).collect();
        let is_same = self.version == earlier.version
            && self.global_options.0 == earlier.global_options.0
            && self.all_jobs().count() == earlier.all_jobs().count()
            && jobs.iter().all(|(before, job)| job.has_grown_from(before));
        let longer_ms = || jobs.iter().map(|(before, job)| job.runtime_ms().abs_diff(before.runtime_ms()));
        is_same
            && match (earlier.written_ms(), self.written_ms()) {
                (Some((before, off)), Some((now, _))) => {
                    let passed_ms = now.saturating_sub(before);
                    now >= before && longer_ms().any(|longer| longer.abs_diff(passed_ms) <= passed_ms / 2 + off)
                }
                _ => longer_ms().any(|longer| longer > 0),
            }
    }
}

impl FioJob {
    fn directions(&self) -> [&FioDirection; 4] {
        [&self.read, &self.write, &self.trim, &self.mixed]
    }

    /// The longest of the times of its directions.
    fn runtime_ms(&self) -> u64 {
        self.directions().iter().map(|direction| direction.runtime).max().unwrap_or(0)
    }

    fn has_grown_from(&self, before: &FioJob) -> bool {
        let is_same = self.jobname == before.jobname
            && self.groupid == before.groupid
            && self.hostname == before.hostname
            && self.job_options.0 == before.job_options.0
            && self.job_start == before.job_start;
        is_same
            && self.directions().iter().zip(before.directions()).all(|(now, before)| {
                now.total_ios >= before.total_ios && now.io_bytes >= before.io_bytes && now.runtime >= before.runtime
            })
    }
}

/// Reads the file at `path`: the results of each run, in the order of the file.
pub(super) fn read(path: &Path) -> Result<Vec<FioOutput>, ImportError> {
    let text = read_text(path)?;
    let (mut rest, mut line) = (text.as_str(), 0);
    let mut runs: Vec<FioOutput> = Vec::new();
    while let Some((start, lines)) = next_object(rest) {
        line += lines;
        rest = &rest[start..];
        let mut objects = serde_json::Deserializer::from_str(rest).into_iter::<FioOutput>();
        match objects.next() {
            Some(Ok(output)) => {
                if runs.last().is_some_and(|last| output.continues(last)) {
                    runs.pop();
                }
                runs.push(output);
            }
            Some(Err(error)) => return Err(ImportError::line(path, line + error.line() as u64, words_of(&error))),
            None => break,
        }
        if runs.len() > RUNS_MAX {
            return Err(ImportError::line(path, line, format!("the file has more than {RUNS_MAX} runs; split it")));
        }
        let read = objects.byte_offset();
        line += rest[..read].matches('\n').count() as u64;
        rest = &rest[read..];
    }
    if runs.is_empty() {
        return Err(ImportError::whole(path, "there is no line that begins with `{`; expected fio's JSON"));
    }
    Ok(runs)
}

/// The text of the JSON at `path`.
pub(crate) fn read_text(path: &Path) -> Result<String, ImportError> {
    let cannot = |cause| ImportError::unreadable(path, cause);
    let bytes = fs::metadata(path).map_err(cannot)?.len();
    if bytes > JSON_BYTES_MAX {
        return Err(ImportError::whole(
            path,
            format!(
                "the JSON has {bytes} bytes, and at most {JSON_BYTES_MAX} (64 MiB) are read; import fewer runs at once"
            ),
        ));
    }
    let text = String::from_utf8_lossy(&model::read_regular(path).map_err(cannot)?).into_owned();
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Where the next line begins that starts an object, and how many lines are before it.
fn next_object(text: &str) -> Option<(usize, u64)> {
    let mut start = 0;
    for (line, part) in text.split_inclusive('\n').enumerate() {
        let indent = part.len() - part.trim_start().len();
        if part[indent..].starts_with('{') {
            return Some((start + indent, line as u64));
        }
        start += part.len();
    }
    None
}

/// What is wrong with the JSON, without the place, which the error names.
fn words_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    if error.is_eof() {
        "the JSON ends here in the middle; the file is cut".to_owned()
    } else {
        format!("column {}: {what}; expected the JSON that fio writes", error.column())
    }
}

/// A list of at most [`JOBS_MAX`] entries.
#[derive(Debug)]
pub(super) struct BoundedList<T>(pub Vec<T>);

/// The entries of an object, at most [`ENTRIES_MAX`].
#[derive(Debug, PartialEq)]
pub(super) struct Entries<T>(pub Vec<(String, T)>);

impl<T> Default for BoundedList<T> {
    fn default() -> Self {
        BoundedList(Vec::new())
    }
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Entries(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for BoundedList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = BoundedList<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a list of at most {JOBS_MAX} jobs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<BoundedList<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(one) = all.next_element()? {
            if list.len() == JOBS_MAX {
                return Err(de::Error::custom(format_args!("there are more than {JOBS_MAX} jobs")));
            }
            list.push(one);
        }
        Ok(BoundedList(list))
    }
}

struct EntriesVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
    type Value = Entries<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "an object of at most {ENTRIES_MAX} entries")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Entries<T>, A::Error> {
        let mut entries = Vec::new();
        while let Some(one) = all.next_entry()? {
            if entries.len() == ENTRIES_MAX {
                return Err(de::Error::custom(format_args!("an object has more than {ENTRIES_MAX} entries")));
            }
            entries.push(one);
        }
        Ok(Entries(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs_of(text: &str) -> Result<Vec<FioOutput>, ImportError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fio.json");
        fs::write(&path, text).unwrap();
        read(&path)
    }

    fn result(ms: u64, runtime_ms: u64, ios: u64) -> String {
        format!(
            "{{\"fio version\": \"fio-3.2\", \"timestamp_ms\": {ms}, \"jobs\": [{{\"jobname\": \"a\", \
             \"read\": {{\"total_ios\": {ios}, \"io_bytes\": {ios}, \"runtime\": {runtime_ms}}}}}]}}\n"
        )
    }

    #[test]
    fn results_so_far_give_way_to_the_last_and_those_of_other_runs_stay() {
        let so_far = format!("note: x\n{}Jobs: 1 (f=1)\n{}", result(9_000, 1_000, 50), result(10_000, 2_001, 90));
        let again = result(13_500, 2_001, 95);
        let counts = |text: &str| -> Vec<u64> {
            runs_of(text).unwrap().iter().map(|run| run.jobs.0[0].read.total_ios).collect()
        };
        assert_eq!(counts(&so_far), [90]);
        assert_eq!(counts(&format!("{so_far}{again}")), [90, 95]);
        assert_eq!(counts(&format!("{again}{so_far}")), [95, 90]);
    }

    #[test]
    fn broken_json_is_refused_with_its_line() {
        for (text, parts) in [
            ("\n{\"fio version\": \"fio-3\",\n \"jobs\": [{\"error\": nan}]}", ["line 3", "column 2"]),
            ("x\n{\"fio version\": \"fio-3\",\n", ["line 3", "the file is cut"]),
            ("[1]", ["no line that begins with `{`", "fio's JSON"]),
        ] {
            let refused = runs_of(text).unwrap_err().to_string();
            assert!(parts.iter().all(|part| refused.contains(part)) && !refused.contains('\n'), "{refused}");
        }
    }

    #[test]
    fn deep_and_wide_json_is_refused() {
        let deep = format!("{{\"fio version\": \"fio-3\", \"x\": {}", "[".repeat(100_000));
        let wide = format!("{{\"fio version\": \"fio-3\", \"jobs\": [{}{{}}]}}", "{},".repeat(JOBS_MAX));
        assert!(runs_of(&deep).is_err());
        assert!(runs_of(&wide).unwrap_err().to_string().contains("more than 4096 jobs"));
    }
}
