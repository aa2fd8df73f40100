//! What HammerDB prints of its TPROC-C workload: the log of virtual users, and its profiles of times.
//!
//! In: the output of `hammerdbcli`, or `hammerdb.log`; the results of `xtprof` if they are in it. Out: a point for each `TEST RESULT`, whose
//! operations are the new orders of the timed test. Limits: HammerDB prints new orders per minute (NOPM), whole numbers, so the count is known to
//! a minute's rounding. TPM counts what the server calls transactions and is a fact. A profile covers the rampup as well, so its percentiles
//! are facts and no response times. TPROC-H has no such result.

use crate::amount::{CLIENTS_MAX, COUNT_MAX, parse_amount, parse_count};
use crate::error::{ImportError, quoted};
use crate::input::Input;
use crate::point::{ASSUMED_LENGTH, ImportedKind, ImportedPoint, LEFT_OUT_FACT, assumed_length};
use crate::runs::{NextLine, RunOutput, at_once, read_runs};
use model::{Fact, KindDef, Nanos, OpClass};
use std::path::Path;

/// A year in minutes.
const MINUTES_MAX: u64 = 366 * 24 * 60;
/// The most facts of a profile.
const FACTS_MAX: usize = 200;
/// The figures of a profile, in milliseconds but the first.
const FIGURES: [&str; 7] = ["CALLS", "MIN", "AVG", "MAX", "P99", "P95", "P50"];

/// Reads the log at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<ImportedPoint>, ImportError> {
    read_runs::<HammerDbOutput>(path, &[])
}

/// What is read so far.
#[derive(Default)]
struct HammerDbOutput {
    version: Option<String>,
    rampup_minutes: Option<u64>,
    minutes: Option<u64>,
    created: Option<u64>,
    active: Option<u64>,
    result: Option<TestResult>,
    failed_users: u64,
    first_error: Option<String>,
    /// Lines of the transaction counter and of `etprof`, which are of no use here.
    unused: u64,
    /// Whether the lines are of the profile of all virtual users.
    in_summary: bool,
    procedure: Option<String>,
    facts: Vec<Fact>,
}

/// `System achieved 8153 NOPM from 24772 MySQL TPM`.
struct TestResult {
    orders_per_minute: u64,
    transactions_per_minute: u64,
    engine: String,
}

impl RunOutput for HammerDbOutput {
    fn following(&self) -> HammerDbOutput {
        HammerDbOutput { version: self.version.clone(), ..HammerDbOutput::default() }
    }

    fn next(&self, line: &str) -> NextLine {
        let text = text_of(line);
        let is_start = text.starts_with("Beginning rampup time");
        let is_create = text.contains("Virtual Users Created") || line.starts_with("Vuser 1 created");
        if is_start && (self.rampup_minutes.is_some() || self.is_over()) || is_create && self.is_over() {
            NextLine::Header
        } else if self.is_over() && (text.starts_with("TEST RESULT") || text.starts_with("Timing test period")) {
            NextLine::MoreResults
        } else {
            NextLine::SameRun
        }
    }

    fn take(&mut self, line: &str, input: &Input) -> Result<(), ImportError> {
        let text = text_of(line);
        let first_count = |text: &str, most: u64| text.split_whitespace().find_map(|word| parse_count(word, most));
        if let Some(rest) = text.strip_prefix("TEST RESULT :") {
            self.result = Some(read_result(rest).ok_or_else(|| {
                input.expected("a result such as `System achieved 8153 NOPM from 24772 MySQL TPM`", rest)
            })?);
        } else if let Some(rest) = text.strip_prefix("Timing test period of") {
            if self.minutes.is_some() {
                return Err(at_once(input, "a timed test begins before the one before it has a result"));
            }
            let minutes = first_count(rest, MINUTES_MAX).filter(|minutes| *minutes > 0);
            self.minutes = Some(minutes.ok_or_else(|| input.expected("a number of minutes", rest))?);
        } else if let Some(rest) = text.strip_prefix("Beginning rampup time of") {
            self.rampup_minutes = first_count(rest, MINUTES_MAX);
        } else if text.ends_with("Active Virtual Users configured") {
            self.active = first_count(text, CLIENTS_MAX);
        } else if text.contains("Virtual Users Created with Monitor") {
            self.created = first_count(text, CLIENTS_MAX).map(|users| users.saturating_sub(1));
        } else if text.starts_with("FINISHED FAILED") {
            self.failed_users += 1;
        } else if text.starts_with("Error in Virtual User") {
            self.first_error.get_or_insert_with(|| quoted(text));
        } else if let Some(version) = line.strip_prefix("HammerDB CLI v") {
            self.version = Some(version.trim().to_owned());
        } else if text.starts_with('|') || text.contains(" tpm") && text.starts_with(|c: char| c.is_ascii_digit()) {
            self.unused += 1;
        } else {
            self.take_profile(text);
        }
        Ok(())
    }

    fn has_begun(&self) -> bool {
        self.rampup_minutes.is_some() || self.minutes.is_some() || self.result.is_some()
    }

    fn is_over(&self) -> bool {
        self.result.is_some()
    }

    fn into_point(self, input: &Input, _: &[&Path]) -> Result<ImportedPoint, ImportError> {
        let missing = "there is no line `TEST RESULT : System achieved`: the log is cut, or not of a timed TPROC-C test (`pg_driver timed`)";
        let Some(result) = self.result else { return Err(ImportError::whole(input.path(), missing)) };
        let mut point = ImportedPoint::of("HammerDB", self.version.as_deref().unwrap_or_default(), "tproc-c");
        let length = self.minutes.map_or(ASSUMED_LENGTH, |minutes| Nanos::from_secs(minutes * 60));
        let orders = result.orders_per_minute.saturating_mul(length.0 / 60_000_000_000);
        if orders > COUNT_MAX {
            return Err(ImportError::whole(input.path(), format!("{orders} new orders are more than any run has")));
        }
        point.engine = engine_of(&result.engine);
        let users = self.active.or(self.created).unwrap_or(1).max(1);
        point.clients = u32::try_from(users).expect("it was checked");
        point.length = length;
        let def = KindDef::new("new_order", OpClass::ReadWrite);
        point.kinds = vec![ImportedKind { ok: orders, ..ImportedKind::new(def) }];
        let mut fact = |name: &str, value: String| point.facts.push(Fact::new(format!("hammerdb.{name}"), value));
        fact("nopm", result.orders_per_minute.to_string());
        fact("tpm", format!("{} {}", result.transactions_per_minute, result.engine));
        self.rampup_minutes.into_iter().for_each(|minutes| fact("rampup_minutes", minutes.to_string()));
        point.facts.extend(self.facts);
        point.facts.extend(self.minutes.is_none().then(assumed_length));
        if self.unused > 0 {
            let what =
                format!("{} lines of the transaction counter or of percentiles of one virtual user", self.unused);
            point.facts.push(Fact::new(LEFT_OUT_FACT, what));
        }
        point.error = (self.failed_users > 0).then(|| {
            let why = self.first_error.map_or_else(String::new, |error| format!(": {error}"));
            format!("{} virtual users failed{why}", self.failed_users)
        });
        Ok(point)
    }
}

impl HammerDbOutput {
    /// Lines of the profile: `>>>>> PROC: NEWORD`, `CALLS: 41234 MIN: 2.409ms ...`, `P99: 14.159ms ...`.
    fn take_profile(&mut self, text: &str) {
        if let Some(title) = text.strip_prefix(">>>>> ") {
            match title.strip_prefix("PROC: ") {
                Some(name) => self.procedure = Some(name.trim().to_ascii_lowercase()),
                None => self.in_summary = title.starts_with("SUMMARY OF") || title.starts_with("COMBINED METRICS"),
            }
            return;
        }
        let (Some(procedure), true) = (&self.procedure, self.in_summary) else { return };
        for name in FIGURES {
            // Some versions write no space between the figures.
            let Some((_, rest)) = text.split_once(&format!("{name}: ")) else { continue };
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            if parse_amount(&rest[..end], COUNT_MAX as f64).is_some() && self.facts.len() < FACTS_MAX {
                let unit = if name == "CALLS" { "" } else { "_ms" };
                let name = format!("hammerdb.{procedure}.{}{unit}", name.to_ascii_lowercase());
                self.facts.push(Fact::new(name, &rest[..end]));
            }
        }
    }
}

/// What a virtual user wrote: the line without `Vuser 1:`, and without the prompt in front of it.
fn text_of(line: &str) -> &str {
    let line = line.trim().trim_start_matches("hammerdb>");
    let after = line.strip_prefix("Vuser ").and_then(|rest| rest.split_once(':'));
    match after {
        Some((number, text)) if number.bytes().all(|byte| byte.is_ascii_digit()) => text.trim(),
        _ => line,
    }
}

/// `System achieved 8153 NOPM from 24772 MySQL TPM`, and as HammerDB up to 3.3 writes it `System achieved 24772 MySQL TPM at 8153 NOPM`.
fn read_result(text: &str) -> Option<TestResult> {
    let rest = text.trim().strip_prefix("System achieved ")?;
    let (first, second) = rest.split_once(" from ").or_else(|| rest.split_once(" at "))?;
    let (orders, transactions) = if first.ends_with("NOPM") { (first, second) } else { (second, first) };
    let orders = orders.strip_suffix("NOPM")?;
    let (count, engine) = transactions.trim().strip_suffix("TPM")?.trim().split_once(' ')?;
    Some(TestResult {
        orders_per_minute: parse_count(orders, COUNT_MAX)?,
        transactions_per_minute: parse_count(count, COUNT_MAX)?,
        engine: engine.trim().chars().take(40).collect(),
    })
}

/// plimsoll's word for a database.
fn engine_of(name: &str) -> String {
    match name {
        "PostgreSQL" => "postgresql",
        "MySQL" => "mysql",
        "MariaDB" => "mariadb",
        _ => return name.to_ascii_lowercase(),
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_old_and_new_versions_is_read() {
        for text in [" System achieved 8153 NOPM from 24772 MySQL TPM", " System achieved 24772 MySQL TPM at 8153 NOPM"]
        {
            let read = read_result(text).unwrap();
            assert_eq!(
                (read.orders_per_minute, read.transactions_per_minute, read.engine.as_str()),
                (8_153, 24_772, "MySQL")
            );
        }
        assert_eq!(read_result("System achieved 7 NOPM from 9 SQL Server TPM").unwrap().engine, "SQL Server");
        assert!(read_result("System achieved -7 NOPM from 9 MySQL TPM").is_none());
    }
}
