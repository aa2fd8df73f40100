//! How long the phases of a point last, how long an interval is, and what ends the run: its time, its operations or a steady state.
//!
//! An interval is as long as was asked, but short enough for a confidence interval, and long enough for the run file.

use super::{Choice, on_files};
use crate::common::{EXACT_MAX, INTERVAL_MIN, INTERVALS_PER_ROUND, INTERVALS_PER_ROUND_MIN, NONE, PHASE_MAX};
use crate::document::Written;
use crate::ending::{Ending, parse_until};
use crate::error::{PlanError, shown};
use crate::estimate::INTERVALS_USUAL;
use crate::value::{self, time_text};
use model::sure::Precision;
use model::{Entry, Nanos, Phases, Until};

/// The warmup of a probe that replays a part of a recorded load, unless another was asked for.
const WARMUP_OF_REPLAY: Nanos = Nanos::from_secs(2);
/// Its length is at most that of the load divided by this.
const WARMUP_PART: u64 = 5;
/// Eleven days at one second.
const INTERVALS_MAX: u64 = 1_000_000;
/// The interval of a load, whose length is not known before: one of two seconds, the shortest that counts, has ten.
const LOAD_INTERVAL: Nanos = Nanos::from_millis(200);
/// At a hundred commits a second more of them take longer than [`INTERVALS_MAX`] such intervals.
const SMALL_LOAD_MAX: u64 = 10_000_000;
/// A replay is given up if nothing has ended for as long as its recording, within these bounds: no statement of it took longer, as a rule.
const REPLAY_SILENCE: [Nanos; 2] = [Nanos::from_secs(120), Nanos::from_secs(600)];

impl Choice<'_, '_> {
    pub(super) fn phases(&self, workload: &Entry) -> Result<Phases, PlanError> {
        let (steady, ends_itself) = (self.is_until_steady()?, self.ends_itself()?);
        // The probes of a search have the usual time.
        let has_time = (self.chosen_value("time").is_some() && !self.ends_with_its_rows()?) || self.is_search();
        let (run, interval, until) = match (steady, ends_itself && !has_time) {
            (true, _) => self.run_in_rounds(workload)?,
            (false, true) => self.as_long_as_it_takes()?,
            (false, false) => self.timed_run()?,
        };
        let warmup = match (ends_itself, self.is_search()) {
            (false, _) => self.common_duration("warmup")?,
            (true, false) => Nanos(0),
            (true, true) => {
                self.longest_replay(workload)?.map_or(Ok(Nanos(0)), |longest| self.warmup_of_replay(longest))?
            }
        };
        let warmup = if self.outlasts_its_time("warmup") { warmup.min(run) } else { warmup };
        Ok(Phases {
            warmup,
            run,
            ops_max: if steady { None } else { self.ops_max()? },
            interval,
            grace: self.common_duration("grace")?,
            silence: if !steady && ends_itself && !has_time { self.silence_of_replay()? } else { None },
            until,
        })
    }

    /// For how long nothing may end in a replay that ends with its last operation; `None` if the plan has a grace time, which is for both, and
    /// if nothing is replayed.
    fn silence_of_replay(&self) -> Result<Option<Nanos>, PlanError> {
        if self.chosen_value("grace").is_some() {
            return Ok(None);
        }
        let [least, most] = REPLAY_SILENCE;
        Ok(self.length_at_most()?.map(|length| length.clamp(least, most)))
    }

    /// The length of the run phase and of its intervals, and what ends it: its time.
    fn timed_run(&self) -> Result<(Nanos, Nanos, Until), PlanError> {
        let time = self.common_value("time");
        let run = self.common_duration("time")?;
        let sure = self.sure_precision()?.filter(|_| self.ends_itself().is_ok_and(|ends_itself| !ends_itself));
        if sure.is_some() {
            self.check_closed("sure")?;
        }
        let interval = match self.chosen_value("interval") {
            None if sure.is_some() => short_enough_to_end(run),
            None => twentieth_at_most(self.common_duration("interval")?, run).min(run),
            Some(_) => {
                self.interval_up_to(run, || format!("at most the `time` of the run phase, {}", time_text(run)))?
            }
        };
        few_enough(&time, run, interval)?;
        Ok((run, interval, sure.map_or(Until::Time, Until::Sure)))
    }

    /// Refuses a rate that is given with an end that depends on the rate.
    fn check_closed(&self, until: &str) -> Result<(), PlanError> {
        let rate = self.common_value("rate");
        if rate.text == NONE {
            return Ok(());
        }
        Err(rate.place.error(format_args!("`rate` and until = `{until}` exclude each other; leave one out")))
    }

    /// The same of a run that ends itself, without a limit.
    fn as_long_as_it_takes(&self) -> Result<(Nanos, Nanos, Until), PlanError> {
        let interval = match self.chosen_value("interval") {
            None => self.interval_of_load()?,
            Some(_) if self.outlasts_its_time("interval") => {
                twentieth_at_most(self.common_duration("interval")?, self.common_duration("time")?)
            }
            Some(_) => self.common_duration("interval")?,
        };
        Ok((longest_run(interval), interval, Until::Time))
    }

    fn interval_of_load(&self) -> Result<Nanos, PlanError> {
        let usual = self.common_duration("interval")?;
        if let Some(length) = self.replay_length()? {
            return Ok(twentieth_at_most(usual, length));
        }
        let is_small = self.run_ops()?.is_some_and(|ops| ops <= SMALL_LOAD_MAX);
        Ok(if is_small { LOAD_INTERVAL.min(usual) } else { usual })
    }

    /// The length of the run phase at most and of its intervals, and what ends it: rounds that are steady.
    fn run_in_rounds(&self, workload: &Entry) -> Result<(Nanos, Nanos, Until), PlanError> {
        self.check_closed("steady")?;
        let written = self.common_value("round");
        let round = self.common_duration("round")?;
        let half = Nanos(round.0 / INTERVALS_PER_ROUND_MIN);
        let interval = match self.chosen_value("interval") {
            None => {
                self.common_duration("interval")?.min(Nanos(round.0 / INTERVALS_PER_ROUND)).max(INTERVAL_MIN).min(half)
            }
            Some(_) => self.interval_up_to(half, || format!("at most half of the `round`, {}", time_text(half)))?,
        };
        if !round.0.is_multiple_of(interval.0) {
            return Err(written.refused(format_args!("a whole number of `interval`s of {}", time_text(interval))));
        }
        let rounds_max = self.common_int("rounds_max")?;
        let run = Nanos(round.0.saturating_mul(rounds_max));
        if run > PHASE_MAX {
            return Err(
                written.refused(format_args!("at most {} for `rounds_max` = {rounds_max}", time_text(PHASE_MAX)))
            );
        }
        few_enough(&written, run, interval)?;
        let precondition = if on_files(workload) { self.common_int("precondition")? as u32 } else { 1 };
        Ok((run, interval, Until::Steady { round, precondition }))
    }

    /// Whether `key` was written in the file and the time on the command line: then the value of `key` was meant for the plan's
    /// own time. A plan of hours must remain a plan if you try it with `--time 3s`.
    fn outlasts_its_time(&self, key: &'static str) -> bool {
        let is_flag = |key| self.chosen_value(key).map(|written| written.place.is_command_line());
        is_flag("time") == Some(true) && is_flag(key) == Some(false)
    }

    /// The interval that was written, if it is at most `most`; shortened, if it was meant for the time of the file.
    fn interval_up_to(&self, most: Nanos, refusal: impl Fn() -> String) -> Result<Nanos, PlanError> {
        let written = self.common_value("interval");
        let interval = self.common_duration("interval")?;
        if self.outlasts_its_time("interval") {
            return Ok(twentieth_at_most(interval, most));
        }
        (interval <= most).then_some(interval).ok_or_else(|| written.refused(refusal()))
    }

    fn ops_max(&self) -> Result<Option<u64>, PlanError> {
        let written = self.common_value("ops_max");
        if written.text == NONE {
            return Ok(None);
        }
        value::parse_int(&written, 1, EXACT_MAX)
            .map(Some)
            .map_err(|_| written.refused(format_args!("a whole number from 1 to {EXACT_MAX}, or `none`")))
    }

    pub(super) fn is_until_steady(&self) -> Result<bool, PlanError> {
        Ok(parse_until(&self.common_value("until"))? == Ending::Steady && !self.ends_itself()?)
    }

    /// How well its mean is to be known, if it goes on until that.
    pub(crate) fn sure_precision(&self) -> Result<Option<Precision>, PlanError> {
        Ok(match parse_until(&self.common_value("until"))? {
            Ending::Sure(within) => Some(within),
            Ending::Time | Ending::Steady => None,
        })
    }

    /// Whether this is a step of a sequence that ends when its work is done: its length is its rows, and no time shortens it. Otherwise
    /// engines would go on with different data.
    pub(super) fn ends_with_its_rows(&self) -> Result<bool, PlanError> {
        let (_, workload) = self.engine_and_workload()?;
        Ok(workload.steps().is_some() && self.ends_itself()?)
    }

    /// The warmup of a probe that replays a part of a recorded load, of which a replay takes `longest`: the first statements of connections that
    /// are new take longer.
    pub(super) fn warmup_of_replay(&self, longest: Nanos) -> Result<Nanos, PlanError> {
        let asked = self.chosen_value("warmup").map(|_| self.common_duration("warmup")).transpose()?;
        Ok(asked.unwrap_or(WARMUP_OF_REPLAY).min(Nanos(longest.0 / WARMUP_PART)))
    }

    /// Whether the run is over when its operations are: a warmup would perform them, and there is nothing to wait for beyond them.
    pub(super) fn ends_itself(&self) -> Result<bool, PlanError> {
        Ok(self.run_ops()?.is_some())
    }

    /// How many operations its run has; `None` if it does not end by itself.
    fn run_ops(&self) -> Result<Option<u64>, PlanError> {
        let (_, workload) = self.engine_and_workload()?;
        Ok((self.catalogue.run_ops)(workload.name, &self.typed_params(&workload)?))
    }
}

/// `interval`, but at most a twentieth of `run`: that is enough for a confidence interval, however short the run is.
pub(crate) fn twentieth_at_most(interval: Nanos, run: Nanos) -> Nanos {
    interval.min(Nanos(run.0 / INTERVALS_USUAL)).max(INTERVAL_MIN)
}

/// An interval of a run that may end long before `run` is over: twenty of them are half of it at most, and a few seconds.
fn short_enough_to_end(run: Nanos) -> Nanos {
    const USUAL: Nanos = Nanos::from_millis(200);
    twentieth_at_most(USUAL, Nanos(run.0 / 2)).min(run)
}

/// As long as a run phase with intervals of this length can be: the length of one without a limit.
pub(crate) fn longest_run(interval: Nanos) -> Nanos {
    PHASE_MAX.min(Nanos(interval.0.saturating_mul(INTERVALS_MAX)))
}

/// Whether no time ends the run phase, but its work.
pub fn has_no_time(phases: &Phases) -> bool {
    phases.run == longest_run(phases.interval)
}

fn few_enough(written: &Written<'_>, run: Nanos, interval: Nanos) -> Result<(), PlanError> {
    let intervals = run.0 / interval.0;
    if intervals <= INTERVALS_MAX {
        return Ok(());
    }
    let (key, text, interval) = (&written.key, shown(&written.text), time_text(interval));
    let most = format_args!(
        "`{key}` = `{text}` gives more than {INTERVALS_MAX} intervals of {interval}; use a longer `interval`"
    );
    Err(written.place.error(most))
}

#[cfg(test)]
mod tests {
    use crate::fixture::catalogue;
    use crate::{Overrides, from_flags};

    #[test]
    fn a_short_run_has_twenty_intervals_unless_one_is_given() {
        let intervals = |flags: &[(&str, &str)]| {
            let flags = flags.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect();
            let plan = from_flags("oltp", &Overrides::from_flags(flags), 1.0, &catalogue()).unwrap();
            plan.trials[0].phases.interval
        };
        assert_eq!(intervals(&[("time", "3s")]), model::Nanos::from_millis(150));
        assert_eq!(intervals(&[("time", "20s")]), model::Nanos::from_secs(1));
        assert_eq!(intervals(&[("time", "20ms")]), model::Nanos::from_millis(10), "the shortest there is");
        assert_eq!(intervals(&[("time", "1h")]), model::Nanos::from_secs(1));
        assert_eq!(intervals(&[("time", "3s"), ("interval", "1s")]), model::Nanos::from_secs(1));
    }
}
