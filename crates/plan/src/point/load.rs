//! The load of a point: its clients, its depth, and what paces them.

use super::Choice;
use super::recording::times_of;
use crate::common::{CLIENTS_MAX, LIMIT, NONE, RATE_MAX};
use crate::error::PlanError;
use crate::value;
use model::{Arrivals, Nanos, OnError, Pacing, ParamKind};

impl Choice<'_, '_> {
    /// The number of clients: as many as recorded sessions were open at once, if a log is replayed and none is given.
    pub(super) fn client_count(&self) -> Result<u32, PlanError> {
        let given = self.common_int("clients")? as u32;
        let (_, workload) = self.engine_and_workload()?;
        if self.chosen_value("clients").is_some() || !workload.params.iter().any(|def| def.kind == ParamKind::Recording)
        {
            return Ok(given);
        }
        let params = self.typed_params(&workload)?;
        let sessions = params.recording().and_then(|summary| summary.sessions);
        let at_once = sessions.map_or(given, |sessions| sessions.at_once_in(times_of(&params)));
        Ok(at_once.clamp(1, CLIENTS_MAX as u32))
    }

    pub(super) fn pacing(&self) -> Result<Pacing, PlanError> {
        let written = self.common_value("think");
        let think = self.common_duration("think")?;
        let rate = self.common_value("rate");
        if let Some(speed) = self.replay_speed()? {
            return self.recorded_pacing(speed, &rate, &written);
        }
        if rate.text == NONE {
            return Ok(Pacing::Closed { think });
        }
        if think > Nanos(0) {
            return Err(written.place.error("`think` needs a closed loop; leave out `rate` or `think`"));
        }
        if self.is_search() {
            // A search begins with a closed loop.
            return Ok(Pacing::Closed { think: Nanos(0) });
        }
        let per_s = value::parse_above_zero(&rate, RATE_MAX).map_err(|_| {
            rate.refused(format_args!("a number above 0, at most {RATE_MAX}, or `{NONE}`, or `{LIMIT}`"))
        })?;
        let arrivals = match self.common_word("arrivals")? {
            "poisson" => Arrivals::Poisson { per_s },
            _ => Arrivals::Constant { per_s },
        };
        Ok(Pacing::Open { arrivals })
    }

    pub(super) fn on_error(&self) -> Result<OnError, PlanError> {
        if self.is_search() && self.chosen_value("on_error").is_none() {
            // Failures are part of the objective.
            return Ok(OnError::Count);
        }
        let workload = self.engine_and_workload()?.1;
        let has_variants = workload.params.iter().any(|def| def.kind == ParamKind::Variants);
        if has_variants && self.chosen_value("on_error").is_none() {
            // A statement that is cancelled at its time limit is a result. Other failures end the load all the same.
            return Ok(OnError::Count);
        }
        Ok(match self.common_word("on_error")? {
            "count" => OnError::Count,
            _ => OnError::Stop,
        })
    }
}
