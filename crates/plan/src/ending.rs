//! What ends a run phase, and the whole run, as it is written: `until` and `budget`.
//!
//! In: `time`, `steady`, `sure`, `sure:2%`; `15m`. Out: an [`Ending`], a length of time. Limits: a budget is of a whole plan, since its points share it.

use crate::common::{self, BUDGET, STEADY, SURE};
use crate::document::{Written, WrittenSetting};
use crate::error::{Place, PlanError};
use crate::hourly::differs;
use crate::text;
use crate::value;
use model::Nanos;
use model::sure::Precision;

/// So many pairs at most, if the plan does not say. They find a difference of 2 % in nine of ten tries if repeats differ by 2 %.
pub(crate) const PAIRS_MAX: u32 = 20;
/// What `until` takes, for messages.
const GRAMMAR: &str = "`time`, `steady`, `sure` or `sure:` with a precision from 0.1% to 50%, such as `sure:2%`";

/// What ends the run phase, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Time,
    Steady,
    Sure(Precision),
}

pub(crate) fn parse_until(written: &Written<'_>) -> Result<Ending, PlanError> {
    let (word, precision) =
        written.text.split_once(':').map_or((written.text.as_str(), None), |(word, text)| (word, Some(text)));
    match (word.trim(), precision) {
        (common::TIME, None) => Ok(Ending::Time),
        (STEADY, None) => Ok(Ending::Steady),
        (SURE, None) => Ok(Ending::Sure(Precision::USUAL)),
        (SURE, Some(text)) => precision_of(text).map(Ending::Sure).ok_or_else(|| written.refused(GRAMMAR)),
        _ => Err(written.refused(GRAMMAR)),
    }
}

fn precision_of(text: &str) -> Option<Precision> {
    Precision::from_percent(text::parse_finite(text.trim().strip_suffix('%')?.trim_end())?)
}

/// Whether `settings` ask for a run until sure.
pub(crate) fn is_until_sure(settings: &[WrittenSetting<'_>]) -> bool {
    let mut written = settings.iter().filter(|setting| setting.key == "until").flat_map(|setting| &setting.values);
    written.any(|value| matches!(parse_until(value), Ok(Ending::Sure(_))))
}

/// The time of a whole run, and where it was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget<'a> {
    pub(crate) time: Nanos,
    pub(crate) place: Place<'a>,
}

/// The budget that `settings`, those of one sweep, state.
pub(crate) fn budget_of<'a>(settings: &[WrittenSetting<'a>]) -> Result<Option<Budget<'a>>, PlanError> {
    let written = settings.iter().find(|setting| setting.key == BUDGET).and_then(|setting| setting.values.first());
    let common::CommonKind::Duration { min, max } = common::kind_of(BUDGET) else {
        unreachable!("`{BUDGET}` is declared as a length of time")
    };
    let read = |written: &Written<'a>| -> Result<Budget<'a>, PlanError> {
        Ok(Budget { time: value::parse_duration(written, min, max)?, place: written.place })
    };
    written.map(read).transpose()
}

/// Refuses a sweep whose budget is another than that of the sweeps before: it is of the whole run.
pub(crate) fn check_same(
    before: Option<Budget<'_>>,
    own: Option<Budget<'_>>,
    settings: &[WrittenSetting<'_>],
) -> Result<(), PlanError> {
    if before.map(|budget| budget.time) == own.map(|budget| budget.time) {
        Ok(())
    } else {
        Err(differs(BUDGET, settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Ending, String> {
        let written = Written { key: "until".into(), text: text.into(), place: Place::Flag("until") };
        parse_until(&written).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_run_ends_by_its_time_when_it_is_steady_or_when_it_is_sure() {
        let sure = |percent| Ok(Ending::Sure(Precision::from_percent(percent).expect("it is allowed")));
        assert_eq!((read("time"), read("steady")), (Ok(Ending::Time), Ok(Ending::Steady)));
        assert_eq!([read("sure"), read("sure:0.5%"), read("sure: 5 %")], [sure(2.0), sure(0.5), sure(5.0)]);
    }

    #[test]
    fn what_is_no_end_is_refused_with_those_that_are() {
        for text in
            ["", "soon", "sure:", "sure:2", "sure:0%", "sure:51%", "sure:x%", "time:2%", "steady:2%", "sure:NaN%"]
        {
            let refusal = read(text).expect_err(text);
            assert!(refusal.starts_with("--until ") && !refusal.contains('\n'), "{refusal}");
            assert!(refusal.contains("such as `sure:2%`"), "{refusal}");
        }
    }
}
