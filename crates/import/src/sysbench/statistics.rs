//! The statistics that sysbench prints of a run, or of the part up to a checkpoint.
//!
//! In: lines `name: value`. Out: [`Statistics`]. Limits: of times only what is printed: the least, mean, longest and one percentile.

use super::{amount_in, count_in};
use crate::amount::{COUNT_MAX, SECONDS_MAX};
use crate::error::ImportError;
use crate::input::Input;
use crate::point::ImportedKind;
use crate::runs::at_once;
use model::{Fact, KindDef, OpClass};

/// The statistics of a run, or of the part up to a checkpoint.
#[derive(Clone, Default)]
pub(super) struct Statistics {
    pub read: u64,
    pub write: u64,
    pub transactions: Option<u64>,
    pub queries: Option<u64>,
    /// All operations of a test that is none of a database.
    pub events: Option<u64>,
    /// Transactions that did not succeed: ignored errors, deadlocks and reconnects.
    pub errors: u64,
    /// Since the run began.
    pub total_time_s: Option<f64>,
    pub max_ms: Option<f64>,
    pub sum_ms: Option<f64>,
    pub facts: Vec<Fact>,
}

impl Statistics {
    pub fn take_pair(&mut self, name: &str, value: &str, input: &Input) -> Result<(), ImportError> {
        let count = || count_in(value.split_whitespace().next().unwrap_or_default(), COUNT_MAX, input);
        let seconds = || amount_in(value.trim_end_matches('s'), SECONDS_MAX, input);
        let ms = || amount_in(value.trim_end_matches("ms"), SECONDS_MAX * 1e6, input);
        match name {
            "read" => self.read = count()?,
            "write" => self.write = count()?,
            "transactions" if self.transactions.is_some() => {
                return Err(at_once(input, "the statistics have `transactions:` twice"));
            }
            "transactions" => self.transactions = Some(count()?),
            "queries" => self.queries = Some(count()?),
            "total number of events" => self.events = Some(count()?),
            // sysbench 0.5 has the sum of all statements below `other` only.
            "total" if self.queries.is_none() => self.queries = Some(count()?),
            // sysbench 0.4 begins a transaction again after a deadlock, later versions after any ignored error or lost connection.
            "ignored errors" | "deadlocks" | "reconnects" => {
                self.errors = self.errors.saturating_add(count()?);
                self.facts.push(Fact::new(format!("sysbench.{}", name.replace(' ', "_")), count()?.to_string()));
            }
            "total time" | "time elapsed" => self.total_time_s = Some(seconds()?),
            "min" => self.facts.push(Fact::new("sysbench.min_ms", ms()?.to_string())),
            "avg" => self.facts.push(Fact::new("sysbench.avg_ms", ms()?.to_string())),
            "max" => {
                self.max_ms = Some(ms()?);
                self.facts.push(Fact::new("sysbench.max_ms", ms()?.to_string()));
            }
            "sum" => self.sum_ms = Some(ms()?),
            name if name.ends_with("percentile") => {
                let number: String = name.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
                let number = number.trim_start_matches('.');
                self.facts.push(Fact::new(format!("sysbench.p{number}_ms"), ms()?.to_string()));
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds what was done before the checkpoint at the end of `part`. Percentiles of parts give none of the whole.
    pub fn add(&mut self, part: &Statistics) {
        let sum = |own: Option<u64>, other: Option<u64>| Some(own?.saturating_add(other?));
        self.read = self.read.saturating_add(part.read);
        self.write = self.write.saturating_add(part.write);
        self.transactions = sum(self.transactions, part.transactions);
        self.queries = sum(self.queries, part.queries);
        self.errors = self.errors.saturating_add(part.errors);
        self.total_time_s = [self.total_time_s, part.total_time_s].into_iter().flatten().reduce(f64::max);
        self.facts.clear();
    }

    pub fn kind(&self) -> ImportedKind {
        let transactions = self.transactions.unwrap_or(0);
        let mut def = KindDef::new("transaction", OpClass::from_effects(self.read > 0, self.write > 0));
        if let Some(queries) = self.queries.filter(|_| transactions > 0) {
            def.queries_per_op = queries as f64 / transactions as f64;
        }
        ImportedKind { ok: transactions, failed: self.errors, ..ImportedKind::new(def) }
    }
}
