//! The JSON of memtier_benchmark (`--json-out-file`).
//!
//! In: objects with the results `ALL STATS`, or `AGGREGATED AVERAGE RESULTS (n runs)`. Out: a point for each object, with its counts and, by the
//! second, its operations over time. Limits: 64 MiB. Percentiles are response times if the 50, 95, 99 and 99.9 are among them.

use super::{KINDS_MAX, kind_of};
use crate::amount::{CLIENTS_MAX, COUNT_MAX, SECONDS_MAX, check_amount, nanos_of};
use crate::error::ImportError;
use crate::fio::read_text;
use crate::grid::IntervalGrid;
use crate::percentiles::{STEPS, times_of_steps};
use crate::point::{ImportedKind, ImportedPoint, LEFT_OUT_FACT, Timeline, unknown_clients};
use model::{Fact, Nanos, Times};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;

/// The results of a command over the whole run.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stats {
    #[serde(rename = "Count")]
    count: Option<f64>,
    #[serde(rename = "Ops/sec")]
    per_s: f64,
    #[serde(rename = "Hits/sec")]
    hits_per_s: Option<f64>,
    #[serde(rename = "Misses/sec")]
    misses_per_s: Option<f64>,
    #[serde(rename = "Connection Errors")]
    errors: Option<f64>,
    #[serde(rename = "Latency")]
    latency: Option<Value>,
    #[serde(rename = "Average Latency")]
    average_ms: Option<f64>,
    #[serde(rename = "Max Latency")]
    max_ms: Option<f64>,
    #[serde(rename = "KB/sec")]
    kb_per_s: f64,
    #[serde(rename = "Percentile Latencies")]
    percentiles: Map<String, Value>,
    #[serde(rename = "Time-Serie")]
    seconds: Map<String, Value>,
}

/// Reads the JSON at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<ImportedPoint>, ImportError> {
    let text = read_text(path)?;
    let start = text.find('{').unwrap_or(0);
    let before = text[..start].matches('\n').count() as u64;
    let objects = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Map<String, Value>>();
    let mut points = Vec::new();
    for object in objects {
        let object = object.map_err(|error| {
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            let expected = "expected the JSON of memtier_benchmark; if it is cut, write it again";
            ImportError::line(
                path,
                before + error.line() as u64,
                format!("column {}: {what}; {expected}", error.column()),
            )
        })?;
        points.push(point_of(path, &object)?);
    }
    if points.is_empty() {
        return Err(ImportError::whole(path, "there is no object; expected the JSON of memtier_benchmark"));
    }
    Ok(points)
}

fn point_of(path: &Path, object: &Map<String, Value>) -> Result<ImportedPoint, ImportError> {
    let wrong = |what: &str| ImportError::whole(path, what.to_owned());
    let aggregated = object.iter().find(|(key, _)| key.starts_with("AGGREGATED AVERAGE RESULTS"));
    let (title, results) = aggregated
        .or_else(|| object.get_key_value("ALL STATS"))
        .and_then(|(title, results)| Some((title, results.as_object()?)))
        .ok_or_else(|| wrong("there are no `ALL STATS`, which memtier_benchmark writes at the end; the file is cut"))?;
    let mut point = ImportedPoint::of("memtier_benchmark", "", "memtier");
    set_load(&mut point, object);
    let runtime = results.get("Runtime");
    let length = length_of(runtime, results, object);
    point.length = length.ok_or_else(|| wrong("the results have neither a `Runtime` nor counts with rates"))?;
    point.started_unix_ms = runtime.and_then(|runtime| runtime.get("Start time")?.as_u64()).filter(|ms| *ms < 1 << 47);
    let mut seconds = Vec::new();
    for (name, value) in results.iter().filter(|(name, _)| !["Runtime", "Totals"].contains(&name.as_str())) {
        let Ok(stats) = serde_json::from_value::<Stats>(value.clone()) else { continue };
        if point.kinds.len() < KINDS_MAX && stats.per_s > 0.0 {
            let (kind, facts) =
                stats.kind(name, point.length).ok_or_else(|| wrong("a count is more than any run has"))?;
            point.facts.extend(facts);
            point.kinds.push(kind);
            seconds.push(stats.seconds);
        }
    }
    if point.kinds.is_empty() {
        return Err(wrong("no command was done; check that memtier_benchmark reached the server"));
    }
    if aggregated.is_some() {
        point.facts.push(Fact::new("memtier.results", title));
        for run in ["BEST RUN RESULTS", "WORST RUN RESULTS"] {
            let rate = object.get(run).and_then(|run| run.get("Totals")?.get("Ops/sec")?.as_f64());
            point.facts.extend(rate.map(|rate| {
                let what = run.split(' ').next().unwrap_or_default().to_ascii_lowercase();
                Fact::new(format!("memtier.{what}_run_ops_per_s"), rate.to_string())
            }));
        }
        point.facts.push(Fact::new(LEFT_OUT_FACT, "the single runs: the point is their average"));
    }
    let timeline = timeline(&seconds, &point);
    point.set_timeline(timeline);
    Ok(point)
}

fn set_load(point: &mut ImportedPoint, object: &Map<String, Value>) {
    let of = |part: &str, key: &str| object.get(part).and_then(|part| part.get(key)?.as_u64());
    let threads = of("run information", "Threads").or_else(|| of("configuration", "threads"));
    let each = of("run information", "Connections per thread").or_else(|| of("configuration", "clients"));
    let clients = threads.zip(each).and_then(|(threads, each)| threads.checked_mul(each)).filter(|all| *all > 0);
    let clients = clients.filter(|clients| *clients <= CLIENTS_MAX);
    point.clients = clients.map_or(1, |clients| u32::try_from(clients).expect("it was checked"));
    point.facts.extend(clients.is_none().then(unknown_clients));
    let depth = of("configuration", "pipeline").filter(|depth| (1..=CLIENTS_MAX).contains(depth));
    point.depth = depth.map_or(1, |depth| u32::try_from(depth).expect("it was checked"));
    for key in ["ratio", "data_size", "key_pattern", "key_maximum", "protocol"] {
        let value = object.get("configuration").and_then(|part| part.get(key));
        point.facts.extend(value.map(|value| Fact::new(format!("memtier.{key}"), value.to_string().trim_matches('"'))));
    }
}

/// How long the run was: as it is stated, or as a count and its rate give it, or as it was asked for.
fn length_of(runtime: Option<&Value>, results: &Map<String, Value>, object: &Map<String, Value>) -> Option<Nanos> {
    let stated = runtime.and_then(|runtime| runtime.get("Total duration")?.as_f64()).map(|ms| ms / 1e3);
    let computed = || {
        let totals = results.get("Totals").or_else(|| results.values().next())?;
        Some(totals.get("Count")?.as_f64()? / totals.get("Ops/sec")?.as_f64().filter(|rate| *rate > 0.0)?)
    };
    let asked = || object.get("run information").and_then(|part| part.get("Seconds")?.as_f64());
    let above_0 = |seconds: &f64| check_amount(*seconds, SECONDS_MAX).is_some() && *seconds > 0.0;
    let seconds = stated.filter(above_0).or_else(|| computed().filter(above_0)).or_else(|| asked().filter(above_0))?;
    nanos_of(seconds)
}

impl Stats {
    /// The kind `name` of a run of `length`, and what else is known of it; `None` if its numbers cannot be.
    fn kind(&self, name: &str, length: Nanos) -> Option<(ImportedKind, Vec<Fact>)> {
        let seconds = length.as_secs_f64();
        let ok = check_amount(self.count.unwrap_or(self.per_s * seconds), COUNT_MAX as f64)?.round() as u64;
        let failed = check_amount(self.errors.unwrap_or(0.0), COUNT_MAX as f64)?.round() as u64;
        // memtier_benchmark divides by 1,024.
        let bytes = check_amount(self.kb_per_s * 1_024.0 * seconds, crate::amount::BYTES_MAX as f64)?.round() as u64;
        let mut kind = ImportedKind { ok, failed, bytes, ..kind_of(name) };
        let name = kind.def.name.clone();
        let fact = |what: &str, value: Option<f64>| {
            Some(Fact::new(format!("memtier.{name}.{what}"), value.filter(|value| *value > 0.0)?.to_string()))
        };
        let mean_ms = self.average_ms.or_else(|| self.latency.as_ref()?.as_f64());
        let mut facts: Vec<Fact> = [
            fact("hits_per_s", self.hits_per_s),
            fact("misses_per_s", self.misses_per_s),
            fact("avg_ms", mean_ms),
            fact("max_ms", self.max_ms),
        ]
        .into_iter()
        .flatten()
        .collect();
        let percentiles: Vec<(f64, f64)> = self
            .percentiles
            .iter()
            .filter_map(|(key, ms)| Some((key.strip_prefix('p')?.parse().ok()?, ms.as_f64()?)))
            .collect();
        facts.extend(percentiles.iter().filter_map(|(percent, ms)| fact(&format!("p{percent}_ms"), Some(*ms))));
        if let Some(times) = times_of(&percentiles, ok, mean_ms.unwrap_or(0.0), self.max_ms) {
            (kind.response, kind.service) = (times.clone(), times);
            facts.push(Fact::new(format!("imported.times.{name}"), STEPS));
        }
        Some((kind, facts))
    }
}

/// Percentiles in milliseconds as times.
pub(super) fn times_of(percentiles: &[(f64, f64)], count: u64, mean_ms: f64, max_ms: Option<f64>) -> Option<Times> {
    let ns = |ms: f64| nanos_of(ms / 1e3).map(|time| time.0);
    let steps: Option<Vec<(f64, u64)>> = percentiles.iter().map(|(percent, ms)| Some((*percent, ns(*ms)?))).collect();
    let longest = percentiles.iter().map(|(_, ms)| *ms).fold(0.0, f64::max);
    let sum_ns = check_amount(mean_ms * 1e6 * count as f64, 9e18)?;
    times_of_steps(steps?, count, sum_ns as u64, ns(max_ms.unwrap_or(longest))?)
}

/// The operations over time; `None` if the JSON has none.
fn timeline(seconds: &[Map<String, Value>], point: &ImportedPoint) -> Option<Result<Timeline, String>> {
    if seconds.iter().all(Map::is_empty) {
        return None;
    }
    let mut grid = IntervalGrid::new(Nanos::from_secs(1), point.kinds.len());
    for (nth, counts) in seconds.iter().enumerate() {
        for (second, value) in counts {
            let count =
                value.get("Count").and_then(Value::as_f64).and_then(|count| check_amount(count, COUNT_MAX as f64));
            let place =
                second.parse::<u64>().ok().and_then(|second| grid.place_of(second.checked_mul(1_000_000_000)?).ok());
            let (Some(place), Some(count)) = (place, count) else {
                return Some(Err(format!("the second {} has no sound count", crate::error::quoted(second))));
            };
            grid.add(nth, place, count);
        }
    }
    let totals: Vec<u64> = point.kinds.iter().map(|kind| kind.ok).collect();
    Some(grid.fit(&totals, point.length))
}
