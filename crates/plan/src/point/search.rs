//! The search for the largest rate at which an objective holds: what it is to find, and which workloads have no such rate.

use super::Choice;
use crate::common::{LIMIT, NONE, RATE_MAX};
use crate::document::Written;
use crate::error::{PlanError, printable, shown};
use crate::value;
use model::limit::objective::grammar;
use model::limit::objective_fault::fault_of;
use model::limit::{ArrivalLaw, LimitPart, LimitSpec, Objective, RecordedLoad};
use model::params::TIMES;
use model::{Entry, Nanos, NoRate, Value};

impl Choice<'_, '_> {
    /// Whether the largest rate is searched for.
    pub(super) fn is_search(&self) -> bool {
        self.common_value("rate").text == LIMIT
    }

    /// The search for the largest rate, if that is asked for.
    pub(super) fn search(&self, workload: &Entry) -> Result<Option<LimitPart>, PlanError> {
        if !self.is_search() {
            return Ok(None);
        }
        let recorded = self.recorded_load(workload)?;
        if recorded.is_none() && self.ends_itself()? {
            return Err(self.no_search(workload, "with these parameters it ends by itself"));
        }
        let slo = self.common_value("slo");
        let objective = Objective::parse(&slo.text).ok_or_else(|| no_objective(&slo))?;
        let rate_max = self.common_value("rate_max");
        let rate_max = match rate_max.text.as_str() {
            NONE => None,
            _ => Some(value::parse_above_zero(&rate_max, RATE_MAX)?),
        };
        // The users of a service are independent of each other, unless you know better.
        let law = match self.chosen_value("arrivals").map(|_| self.common_word("arrivals")).transpose()? {
            Some("constant") => ArrivalLaw::Constant,
            _ => ArrivalLaw::Poisson,
        };
        let arrivals = recorded.map_or(law, ArrivalLaw::Recorded);
        let spec = LimitSpec { objective, hold: self.common_duration("hold")?, rate_max, arrivals };
        Ok(Some(LimitPart { spec, probe: None }))
    }

    /// The load whose multiples are tried, if `workload` replays the sessions of a recording at their times.
    fn recorded_load(&self, workload: &Entry) -> Result<Option<RecordedLoad>, PlanError> {
        let Some(speed) = self.replay_speed()? else { return Ok(None) };
        let params = self.typed_params(workload)?;
        let Some((summary, sessions)) = params.recording().and_then(|summary| Some((summary, summary.sessions?)))
        else {
            return Ok(None);
        };
        let Value::Float(speed) = speed else {
            return Err(self.no_search(workload, "with speed = `max` its statements have no times"));
        };
        if let Some(times) = self.chosen_value(TIMES) {
            return Err(times.place.error("`times` is what is searched for; leave it out"));
        }
        let longest = self.longest_replay(workload)?.unwrap_or(Nanos(0));
        let length = Nanos(longest.0 - self.warmup_of_replay(longest)?.0);
        let clients = self.chosen_value("clients").is_none().then_some(sessions.most_at_once);
        Ok(Some(RecordedLoad { per_s: summary.per_s(speed), length, clients, sessions: Some(sessions.count) }))
    }

    /// The longest replay of several copies: probes of one must not differ from these. `None` if `workload` replays no sessions at their times.
    pub(super) fn longest_replay(&self, workload: &Entry) -> Result<Option<Nanos>, PlanError> {
        let Some(Value::Float(speed)) = self.replay_speed()? else { return Ok(None) };
        let params = self.typed_params(workload)?;
        let summary = params.recording().filter(|summary| summary.sessions.is_some());
        Ok(summary.map(|summary| Nanos((summary.length_of(2.0).0 as f64 / speed) as u64)))
    }

    /// Refuses to search for the rate of a workload that has none.
    pub(super) fn check_can_have_rate(&self, workload: &Entry) -> Result<(), PlanError> {
        let why = match workload.why_no_rate() {
            Some(NoRate::Steps) => "it is a sequence of steps, which have an end",
            Some(NoRate::Variants) => "it executes each variant of a statement a number of times, and ends",
            Some(NoRate::OwnProcess) => "it computes in plimsoll's own process, so no engine carries a load",
            None => return Ok(()),
        };
        if self.is_search() { Err(self.no_search(workload, why)) } else { Ok(()) }
    }

    fn no_search(&self, workload: &Entry, why: &str) -> PlanError {
        let text = format_args!("rate = `{LIMIT}` cannot be used with `{}`: {why}", workload.name);
        self.common_value("rate").place.error(text)
    }
}

/// The error of an objective that is none: what is wrong with it if that is known, or else all that it may be.
fn no_objective(slo: &Written<'_>) -> PlanError {
    match fault_of(&slo.text) {
        Some(fault) => {
            let fault = printable(&fault);
            slo.place.error_of(&slo.key, format_args!("cannot be `{}`{fault}", shown(&slo.text)))
        }
        None => slo.refused(grammar()),
    }
}
