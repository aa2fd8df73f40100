//! Finds what moved with stalls and drops: counters, and lines of the server's log.
//!
//! In: the stalls and drops of the run phase, and every counter of the point. Out: a note. Limits: those of [`crate::course::anatomy`]; stalls
//! that only single operations show have no time that counters could be compared at.

use super::{Detects, Finding, FindingKind, Watched};
use crate::course::anatomy::{CauseForm, DipCause, DipKind, LoggedLine, find_causes};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use model::CounterRole;
use words::list::listed;
use words::quantity::{bytes, count, counted, number, percent, range, rate, time, whole};

pub use crate::course::anatomy::StallCauses;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|_| !view.has_variant()) else { return Vec::new() };
    let causes = find_causes(view.point, measured.window, measured.shape);
    causes.into_iter().map(explained).collect()
}

fn explained(found: StallCauses) -> Finding {
    let next = next_step(&found);
    Finding::new(Severity::Note, found).next(next)
}

fn next_step(found: &StallCauses) -> NextStep {
    match found.causes.first() {
        Some(first) if first.is_full() && first.role == Some(CounterRole::LogAge) => NextStep::EnlargeLog,
        _ => NextStep::CompareCharts,
    }
}

const CAUSES_LISTED_MAX: usize = 5;

const LINES_LISTED_MAX: usize = 4;

impl FindingKind for StallCauses {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);
    const WATCHED: Watched = Watched::OfStatements;

    fn is_like(&self, other: &Self) -> bool {
        let key = |one: &Self| one.causes.first().map(|first| (name(first), first.form, first.limit.is_some()));
        key(self) == key(other) && self.dips == other.dips && self.is_mostly_logged() == other.is_mostly_logged()
    }

    fn title(alike: &[&Self]) -> String {
        let firsts: Vec<&DipCause> = alike.iter().filter_map(|one| one.causes.first()).collect();
        if firsts.is_empty() {
            return logged_title(alike);
        }
        let others = |one: &StallCauses| (one.moved as u64).saturating_sub(1);
        let more = if alike.iter().any(|one| others(one) > 0) {
            format!("; {} moved with them", counted(alike, others, "other counter"))
        } else {
            String::new()
        };
        let is_logged = alike.iter().all(|one| one.is_mostly_logged());
        let logged = if is_logged { format!("; {}", logged_title(alike)) } else { String::new() };
        format!("{}{more}{logged}", cause_clause(&firsts, noun(alike[0].dips)))
    }

    fn evidence(&self) -> String {
        let tested = format!("{} series of counters tested", self.tested);
        let causes = (!self.causes.is_empty()).then(|| {
            format!(
                "{}; {tested}, chance at most {}",
                listed(&self.causes, CAUSES_LISTED_MAX, figures),
                chance(&self.causes)
            )
        });
        let log = (!self.log.is_empty())
            .then(|| format!("the server logged {}", listed(&self.log, LINES_LISTED_MAX, logged_line)));
        causes.into_iter().chain(log).collect::<Vec<_>>().join("; ")
    }
}

fn noun(dips: DipKind) -> &'static str {
    match dips {
        DipKind::Stalls => "stalls",
        DipKind::Drops => "drops",
        DipKind::StallsAndDrops => "stalls and drops",
    }
}

/// `the server logged something at 2 of 5 stalls`
fn logged_title(alike: &[&StallCauses]) -> String {
    let logged = range(alike, |one| one.logged as f64, whole);
    let all = range(alike, |one| one.count as f64, whole);
    format!("the server logged something at {logged} of {all} {}", noun(alike[0].dips))
}

/// `8 of 10 stalls begin when innodb.checkpoint_age is at least 96 % of checkpoint_max_age`, or
/// `in 4 of 5 stalls innodb.page_flush_bytes rises from 20.0 MB/s to 80.0 MB/s`.
fn cause_clause(alike: &[&DipCause], noun: &str) -> String {
    let first = alike[0];
    let dips = range(alike, |one| one.dips as f64, whole);
    let of = range(alike, |one| one.of as f64, whole);
    let (name, reached) = (name(first), || threshold(alike));
    match first.form {
        CauseForm::LevelAtLeast => format!("{dips} of {of} {noun} begin when {name} is at least {}", reached()),
        CauseForm::LevelAtMost => format!("{dips} of {of} {noun} begin when {name} is at most {}", reached()),
        CauseForm::RateRises | CauseForm::LevelRises => {
            format!("in {dips} of {of} {noun} {name} rises {}", move_of(alike))
        }
        CauseForm::LevelFalls => format!("in {dips} of {of} {noun} {name} falls {}", move_of(alike)),
    }
}

/// `from 20.0 MB/s to 80.0 MB/s`; of several points the greatest move.
fn move_of(alike: &[&DipCause]) -> String {
    let most = alike.iter().max_by(|a, b| a.score.total_cmp(&b.score)).expect("at least one");
    format!("from {} to {}", amount(most.usual, &most.unit), amount(most.during, &most.unit))
}

/// `96 % of checkpoint_max_age`, rounded so that the claim holds for all; `21.0`.
fn threshold(alike: &[&DipCause]) -> String {
    let first = alike[0];
    let weakest = match first.form {
        CauseForm::LevelAtMost => alike.iter().map(|one| one.threshold).fold(f64::NEG_INFINITY, f64::max),
        _ => alike.iter().map(|one| one.threshold).fold(f64::INFINITY, f64::min),
    };
    let shares = alike.iter().filter_map(|one| Some(one.limit.as_ref()?.share.0));
    match &first.limit {
        Some(limit) => {
            let share = shares.fold(f64::INFINITY, f64::min);
            format!("{:.0} % of {}", (share * 100.0).floor(), limit.counter)
        }
        None => amount(weakest, &first.unit),
    }
}

/// `innodb.checkpoint_age`
fn name(cause: &DipCause) -> String {
    format!("`{}.{}`", cause.source, cause.counter)
}

/// `innodb.page_flush_bytes 80.0 MB/s (20.0 MB/s around them)`, and of a level also how often it is reached at other times.
fn figures(cause: &DipCause) -> String {
    let seldom = match cause.form {
        CauseForm::LevelAtLeast | CauseForm::LevelAtMost => {
            format!(", reached in {} of the other intervals", percent(cause.elsewhere.0))
        }
        _ => String::new(),
    };
    let [during, usual] = [cause.during, cause.usual].map(|value| amount(value, &cause.unit));
    format!("{} {during} (around them {usual}{seldom})", name(cause))
}

fn chance(causes: &[DipCause]) -> String {
    let most = causes.iter().map(|cause| cause.chance).fold(0.0, f64::max);
    if most < 0.000_1 { "0.0001".to_owned() } else { format!("{most:.4}") }
}

fn logged_line(line: &LoggedLine) -> String {
    format!("at {:.1} s: \"{}\"", line.at_s, line.text)
}

/// `value` with the unit of a counter.
fn amount(value: f64, unit: &str) -> String {
    match unit {
        "bytes" => bytes(value).to_string(),
        "bytes/s" => format!("{}/s", bytes(value)),
        "ns" => time(value).to_string(),
        "ns/s" => format!("{} per second", time(value)),
        "percent" => format!("{} %", number(value)),
        "count" | "ops" => count(value).to_string(),
        "count/s" | "ops/s" => rate(value).to_string(),
        unit => format!("{} {unit}", count(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::anatomy::LimitShare;
    use crate::math::units::Share;

    fn cause(counter: &str, form: CauseForm, unit: &str, [usual, during]: [f64; 2]) -> DipCause {
        DipCause {
            source: "innodb".into(),
            subject: "mariadb".into(),
            counter: counter.into(),
            unit: unit.into(),
            role: None,
            form,
            dips: 4,
            of: 5,
            threshold: during,
            limit: None,
            elsewhere: Share(0.03),
            during,
            usual,
            score: 3.0,
            chance: 0.002,
        }
    }

    fn found(causes: Vec<DipCause>, log: Vec<LoggedLine>) -> StallCauses {
        StallCauses { dips: DipKind::Stalls, count: 5, tested: 120, moved: causes.len(), causes, logged: 1, log }
    }

    fn full_log(share: f64) -> DipCause {
        let limit = Some(LimitShare { counter: "checkpoint_max_age".into(), share: Share(share) });
        DipCause { limit, ..cause("checkpoint_age", CauseForm::LevelAtLeast, "bytes", [50e6, 80e6]) }
    }

    #[test]
    fn a_level_below_its_limit_is_never_called_all_of_it() {
        let title = StallCauses::title(&[&found(vec![full_log(0.998)], Vec::new())]);
        let expected = "4 of 5 stalls begin when `innodb.checkpoint_age` is at least 99 % of checkpoint_max_age";
        assert_eq!(title, expected);
        let flushed = cause("page_flush_bytes", CauseForm::RateRises, "bytes/s", [20e6, 80e6]);
        let several = found(vec![full_log(0.76), flushed], Vec::new());
        let title = StallCauses::title(&[&several]);
        assert!(title.ends_with("at least 76 % of checkpoint_max_age; 1 other counter moved with them"), "{title}");
    }

    #[test]
    fn a_move_has_both_values_in_the_unit_of_the_counter() {
        let flushed = cause("page_flush_bytes", CauseForm::RateRises, "bytes/s", [20e6, 80e6]);
        let waiting = cause("io_some_ns", CauseForm::RateRises, "ns/s", [20e6, 850e6]);
        let files = cause("l0_files", CauseForm::LevelAtLeast, "count", [6.0, 20.0]);
        let title = |one: &DipCause| StallCauses::title(&[&found(vec![one.clone()], Vec::new())]);
        assert_eq!(title(&flushed), "in 4 of 5 stalls `innodb.page_flush_bytes` rises from 20.0 MB/s to 80.0 MB/s");
        let expected = "in 4 of 5 stalls `innodb.io_some_ns` rises from 20.0 ms per second to 850 ms per second";
        assert_eq!(title(&waiting), expected);
        assert_eq!(title(&files), "4 of 5 stalls begin when `innodb.l0_files` is at least 20.0");
        let evidence = found(vec![files], Vec::new()).evidence();
        let expected = "`innodb.l0_files` 20.0 (around them 6.00, reached in 3.0 % of the other intervals); 120 series of \
                        counters tested, chance at most 0.0020";
        assert_eq!(evidence, expected);
    }

    #[test]
    fn lines_of_the_log_are_quoted_with_their_time() {
        let line = LoggedLine { at_s: 21.0, text: "LOG:  checkpoint starting: time".into() };
        let logged = found(Vec::new(), vec![line]);
        assert_eq!(StallCauses::title(&[&logged]), "the server logged something at 1 of 5 stalls");
        assert_eq!(logged.evidence(), "the server logged at 21.0 s: \"LOG:  checkpoint starting: time\"");
        let mostly = StallCauses { logged: 4, ..found(vec![full_log(0.9)], Vec::new()) };
        let title = StallCauses::title(&[&mostly]);
        assert!(title.ends_with("of checkpoint_max_age; the server logged something at 4 of 5 stalls"), "{title}");
    }
}
