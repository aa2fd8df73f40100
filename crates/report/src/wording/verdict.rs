//! The verdict in sentences: how much, what limits it, how steadily, and how far to trust it.
//!
//! In: the typed verdict of an analysis. Out: complete sentences, the answer first. They are not wrapped: a page knows its width.
//! Limits: of many groups, reasons and comparisons the first are named; the report has all. How much was reached is in `capacity`.

use super::capacity::how_much;
use super::compression::compression_sentences;
use super::connections::hold_sentences;
use super::finding::bottleneck::{limit_name, ruled_out_words};
use super::label::{point_label, settings_label};
use super::limit;
use super::list::join_and;
use super::quantity::{Quantity, floored_percent, number, percent, plural, time};
use super::survey::survey_sentences;
use super::{insert_slowdown, instances, relative};
use analysis::DetailKind;
use analysis::answer::{comparison_cautions, not_measured};
use analysis::evidence::cause::Limit;
use analysis::findings::bottleneck::throttle_name;
use analysis::findings::least_steady::step_place;
use analysis::findings::stall::Stalls;
use analysis::math::ratio::PAIRS_MIN;
use analysis::points::insert_slowdown::{Change, EngineSlowdown};
use analysis::points::relative::RelativeTable;
use analysis::points::step_steadiness::{StepSteadiness, StepVariation};
use analysis::recorded::dimensions::STORAGE_LIMIT;
use analysis::verdict::{Bottleneck, GroupVerdict, LongestWait, Reason, Steadiness, Tally, Trust};
use analysis::{Analysis, Answer, Code, PointAnalysis, Validity, Verdict, WorkDone};
use model::LEFT_OUT_FACT;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The most limits that were set that are named one by one.
const THROTTLES_MAX: usize = 2;
/// The most sentences about slowdowns.
const SLOWDOWNS_MAX: usize = 3;
/// The most sentences about the steadiest number of clients.
const STEADIEST_MAX: usize = 2;
/// The most groups or reasons that are named in one list.
const NAMED_MAX: usize = 4;

/// The verdict of `analysis`, at least one sentence: how much, what the values of a setting do to it, what must not be compared or is missing,
/// what limits it and what does not, how steadily it ran, and how far to trust it.
pub fn sentences(analysis: &Analysis) -> Vec<String> {
    let verdict = &analysis.verdict;
    let mut all = reached(analysis);
    all.extend(compared(verdict));
    all.extend(cautions(analysis));
    all.extend(bottlenecks(&verdict.bottleneck(), &verdict.trust.reasons));
    all.extend(ruled_out(analysis));
    all.extend(steadiness(analysis, &verdict.steadiness()));
    all.extend(steadiest_steps(&verdict.step_steadiness, verdict.groups.len() > 1));
    all.extend(trust(&verdict.trust));
    all
}

/// Those of [`sentences`] that `answer` does not have word by word: the details behind it.
pub fn not_in_answer(analysis: &Analysis, answer: &Answer) -> Vec<String> {
    let is_said = |sentence: &String| {
        answer.claims.iter().any(|claim| claim.sentence == *sentence) || answer.trust.contains(sentence)
    };
    sentences(analysis).into_iter().filter(|sentence| !is_said(sentence)).collect()
}

/// How much was reached. The duration of a variant is in their table, and means little without that of another.
fn reached(analysis: &Analysis) -> Vec<String> {
    if let Some(sentences) = survey_sentences(analysis) {
        return sentences;
    }
    let verdict = &analysis.verdict;
    let compressed = compression_sentences(analysis);
    let has_rates = compressed.is_empty();
    let mut all = [compressed, limit::sentences(analysis)].concat();
    all.extend(hold_sentences(analysis));
    let are_variants = !analysis.points.is_empty() && analysis.points.iter().all(|point| point.variant.is_some());
    let has_rates = has_rates && (all.is_empty() || verdict.groups.iter().any(|group| group.limit.is_none()));
    if has_rates && !(are_variants && verdict.variants.iter().any(|one| one.base.is_some())) {
        all.extend(how_much(verdict));
    }
    all
}

fn compared(verdict: &Verdict) -> Vec<String> {
    let mut all = relative::asked_durability(&verdict.relative).into_iter().collect::<Vec<_>>();
    all.extend(instances::conclusions(&verdict.instances));
    all.extend(super::variants::sentences(&verdict.variants));
    all.extend(relative::conclusions(verdict.relative.iter().filter(|table| !compares_variants(table, verdict))));
    all.extend(slowdowns(verdict));
    all
}

fn cautions(analysis: &Analysis) -> Vec<String> {
    let verdict = &analysis.verdict;
    let mut all: Vec<String> = comparison_cautions(analysis).into_iter().map(|claim| claim.sentence).collect();
    all.extend(left_out(analysis));
    all.extend(not_whole(&analysis.points));
    all.extend(not_on_this_machine(analysis));
    all.extend(not_measured(&verdict.trust.unmeasured));
    all
}

/// Whether the arms of `table` are variants, which have sentences of their own.
fn compares_variants(table: &RelativeTable, verdict: &Verdict) -> bool {
    verdict.variants.iter().any(|variant| variant.param == table.arms[0].name)
}

/// What slower storage and larger data cost, as far as it was shown. If a relative table compares the limits of the storage, their
/// sentence is its.
fn slowdowns(verdict: &Verdict) -> Vec<String> {
    let Some(comparison) = &verdict.comparison else { return Vec::new() };
    let is_in_table = verdict.relative.iter().any(|table| table.arms.iter().any(|arm| arm.name == STORAGE_LIMIT));
    let is_said = |one: &EngineSlowdown| is_in_table && matches!(one.change, Change::Storage { .. });
    let is_shown = |one: &&[EngineSlowdown]| one.iter().any(EngineSlowdown::is_shown) && !is_said(&one[0]);
    let shown: Vec<&[EngineSlowdown]> = comparison.by_change().filter(is_shown).collect();
    let mut sentences: Vec<String> =
        shown.iter().take(SLOWDOWNS_MAX).map(|one| insert_slowdown::sentence(one)).collect();
    if shown.len() > SLOWDOWNS_MAX {
        sentences.push(format!("The findings have {} more such comparisons.", shown.len() - SLOWDOWNS_MAX));
    }
    sentences
}

/// What the plan would also measure on another machine, and why not here: `Of the plan, smt = `off` is left out: ...`.
fn not_on_this_machine(analysis: &Analysis) -> Option<String> {
    let left_out = analysis.meta.environment.iter().find(|fact| fact.name == LEFT_OUT_FACT)?;
    Some(format!("Of the plan, {}.", left_out.value))
}

/// `Invalid: file rndrd (3 points) and file rndwr depth 8 repeat 2.`
fn left_out(analysis: &Analysis) -> Option<String> {
    let verdict = &analysis.verdict;
    // A group that never ran is among those that were not measured.
    let has_run = |group: &&GroupVerdict| group.steadiness.measured > 0 || verdict.trust.unmeasured.is_empty();
    let groups = verdict.groups.iter().filter(|group| group.validity.invalid > 0).filter(has_run);
    let invalid = InvalidPoints::of(analysis);
    let parts: Vec<String> = groups.map(|group| invalid_points(group, &invalid)).collect();
    (!parts.is_empty()).then(|| format!("Invalid: {}.", first_ones(&parts, "group")))
}

/// `Cut short, so not compared: sqlite l.i0.`, and the same of points that ran on the data of such a step. A single point would not
/// be compared anyway.
fn not_whole(points: &[PointAnalysis]) -> Vec<String> {
    let is_usable = |point: &&PointAnalysis| points.len() > 1 && point.validity != Validity::Invalid;
    let (mut cut, mut after) = (Vec::new(), Vec::new());
    for point in points.iter().filter(is_usable) {
        match point.work_done {
            WorkDone::Whole => {}
            WorkDone::CutShort { .. } => cut.push(point_label(point)),
            WorkDone::OnShortData { .. } => after.push(point_label(point)),
        }
    }
    let kinds = [("Cut short", cut), ("On the data of a step that was cut short", after)];
    let named = kinds.into_iter().filter(|(_, names)| !names.is_empty());
    named.map(|(why, names)| format!("{why}, so not compared: {}.", first_ones(&names, "point"))).collect()
}

/// The invalid points of an analysis, by the names of their groups.
struct InvalidPoints<'a>(HashMap<String, Vec<&'a PointAnalysis>>);

impl<'a> InvalidPoints<'a> {
    fn of(analysis: &'a Analysis) -> InvalidPoints<'a> {
        let mut all: HashMap<String, Vec<&PointAnalysis>> = HashMap::new();
        for point in analysis.points.iter().filter(|point| point.validity == Validity::Invalid) {
            all.entry(settings_label(&point.label.group)).or_default().push(point);
        }
        InvalidPoints(all)
    }

    /// The labels of those of `group`, which is called `name`.
    fn labels(&self, group: &GroupVerdict, name: &str) -> Vec<String> {
        let own = self.0.get(name).into_iter().flatten().filter(|point| point.label.group == group.label);
        own.map(|point| point_label(point)).collect()
    }
}

/// The invalid points of `group`, which has some: those that are few are named one by one, with their repeats.
fn invalid_points(group: &GroupVerdict, all: &InvalidPoints) -> String {
    let (invalid, points, name) = (group.validity.invalid, group.validity.points(), settings_label(&group.label));
    let names = all.labels(group, &name);
    match invalid {
        _ if invalid < points && names.len() <= NAMED_MAX => join_and(&names),
        _ if invalid < points => format!("{invalid} of {points} points of {name}"),
        1 => name,
        _ => format!("{name} ({})", plural(points as u64, "point")),
    }
}

/// `a, b and 2 more groups`
fn first_ones(parts: &[String], noun: &str) -> String {
    if parts.len() <= NAMED_MAX {
        return join_and(parts);
    }
    let more = parts.len() - (NAMED_MAX - 1);
    let mut shown = parts[..NAMED_MAX - 1].to_vec();
    shown.push(format!("{more} more {noun}s"));
    join_and(&shown)
}

/// What limited points, which ones nothing limited, and which ones lacked CPU time that others had. If points are indicative for that, the
/// sentence on trust counts them, and two counts of one thing would not agree.
fn bottlenecks(all: &Bottleneck, reasons: &[Reason]) -> Vec<String> {
    let served = at_points(all, Limit::Schedule).map(|at| format!("No bottleneck{at}: the offered rate was served."));
    let crowded = at_points(all, Limit::OtherProcesses)
        .map(|at| format!("Other processes used CPU time that the load needed{at}."));
    let stolen =
        at_points(all, Limit::Hypervisor).map(|at| format!("The hypervisor took CPU time that the load needed{at}."));
    let is_counted = reasons.iter().any(|reason| reason.code == Code::ForeignCpu);
    let lacking = [crowded, stolen].into_iter().flatten().filter(|_| !is_counted);
    [bottleneck(all), served].into_iter().flatten().chain(lacking).collect()
}

/// `Ruled out: disk 3 % (named from 90 %), one core 40 % (named from 85 %).`, if the run has one point.
fn ruled_out(analysis: &Analysis) -> Option<String> {
    let [point] = analysis.points.as_slice() else { return None };
    let all = &point.bottlenecks.as_ref().filter(|_| analysis.searches.is_empty())?.ruled_out;
    let words: Vec<String> = all.iter().map(ruled_out_words).collect();
    (!words.is_empty()).then(|| format!("Ruled out: {}.", words.join(", ")))
}

/// ` at 2 of 3 points`; `None` if `limit` was that of no point.
fn at_points(all: &Bottleneck, limit: Limit) -> Option<String> {
    let points = all.limits.get(&limit).filter(|points| **points > 0)?;
    Some(words::list::at_points(*points, all.judged))
}

/// `Bottleneck: a busy disk (3 points), a single core (3); unclear for 3 of 13.`
fn bottleneck(all: &Bottleneck) -> Option<String> {
    let named = |(nth, (limit, points)): (usize, (&Limit, &usize))| match (nth, name_of(*limit, all)) {
        (_, name) if all.judged == 1 => name,
        (0, name) => format!("{name} ({})", points_of(*points, all.judged)),
        (_, name) => format!("{name} ({points})"),
    };
    let own = all.limits.iter().filter(|(limit, _)| **limit != Limit::Schedule && !limit.is_foreign());
    let limits = own.enumerate().map(named).collect::<Vec<_>>().join(", ");
    match (all.judged, all.unknown) {
        (0, _) => None,
        (_, 0) if limits.is_empty() => None,
        (_, 0) => Some(format!("Bottleneck: {limits}.")),
        (judged, unknown) if !limits.is_empty() => {
            Some(format!("Bottleneck: {limits}; unclear for {unknown} of {judged}."))
        }
        (judged, unknown) if unknown < judged => {
            Some(format!("The bottleneck is unclear for {unknown} of {judged} points."))
        }
        (1, _) => Some("The bottleneck is unclear: nothing was saturated.".to_owned()),
        (2, _) => Some("The bottleneck is unclear for both points.".to_owned()),
        (judged, _) => Some(format!("The bottleneck is unclear for all {judged} points.")),
    }
}

/// What the limit is called. Of limits that were set each is named, if they are few.
fn name_of(limit: Limit, all: &Bottleneck) -> String {
    let set: BTreeSet<String> = all.throttles.iter().map(throttle_name).collect();
    let is_few = (1..=THROTTLES_MAX).contains(&set.len());
    match limit {
        Limit::Throttled if is_few => join_and(&set.into_iter().collect::<Vec<_>>()),
        _ => limit_name(limit).to_owned(),
    }
}

/// `1 point`, `both points`, `3 points`
fn points_of(points: usize, all: usize) -> String {
    if (points, all) == (2, 2) { "both points".to_owned() } else { plural(points as u64, "point") }
}

/// A time in seconds with the unit that fits.
pub(super) fn seconds(seconds: f64) -> Quantity {
    time(seconds * 1e9)
}

/// `11 of 13 points ran steadily; longest stall 733 ms (sqlite oltp clients 16).`
fn steadiness(analysis: &Analysis, all: &Steadiness) -> Option<String> {
    let is_named = all.measured > 1;
    let stall = all.longest_stall.map(|wait| longest("longest stall", analysis, &wait, is_named));
    let outage = all.longest_outage.map(|wait| longest("longest outage", analysis, &wait, is_named));
    let wait = all.longest_wait.filter(|wait| all.longest_stall.is_none_or(|stall| stall.seconds < wait.seconds));
    let wait = wait.map(|wait| longest("longest wait of a client", analysis, &wait, is_named));
    let drifted = match (all.drifted, all.measured) {
        (0, _) => None,
        (_, 1) => Some("its rate drifted".to_owned()),
        (drifted, _) => Some(format!("the rate of {drifted} drifted")),
    };
    let rhythm = stall.is_some().then(|| stall_rhythm(analysis, is_named)).flatten();
    let parts: Vec<String> =
        [Some(steady_points(analysis, all)?), outage, stall, rhythm, wait, drifted].into_iter().flatten().collect();
    Some(format!("{}.", parts.join("; ")))
}

/// `5 stalls, one every 1.2 s (null closed loop)`: those at equal distances of the point that has the most of them.
fn stall_rhythm(analysis: &Analysis, is_named: bool) -> Option<String> {
    let rhythms = analysis.points.iter().flat_map(|point| {
        let stalls = point.findings.iter().filter_map(|finding| Stalls::in_detail(&finding.detail));
        stalls.filter_map(move |stalls| match stalls {
            Stalls::Rates(found) => Some((point, found.count, found.period?.gap_ns.as_secs_f64())),
            Stalls::Operations(_) => None,
        })
    });
    let (point, count, gap_s) = rhythms.max_by_key(|(_, count, _)| *count)?;
    let name = if is_named { format!(" ({})", point_label(point)) } else { String::new() };
    Some(format!("{}, one every {}{name}", plural(count as u64, "stall"), seconds(gap_s)))
}

/// `11 of 13 points ran steadily (not: sqlite oltp clients 4 and sqlite oltp clients 16)`; of points that were too short nothing is
/// claimed.
fn steady_points(analysis: &Analysis, all: &Steadiness) -> Option<String> {
    let (judged, steady) = (all.judged, all.judged - all.disturbed);
    let head = match (judged, steady) {
        (0, _) => return too_short_to_judge(all.measured),
        (1, 1) if all.measured == 1 => return Some("It ran steadily".to_owned()),
        (1, 0) if all.measured == 1 => return Some("It did not run steadily".to_owned()),
        (1, 1) => "1 point ran steadily".to_owned(),
        (1, _) => "1 point did not run steadily".to_owned(),
        (2, 2) if all.measured == 2 => "Both points ran steadily".to_owned(),
        (2, 0) if all.measured == 2 => "Neither point ran steadily".to_owned(),
        (judged, 0) if all.measured == judged => "No point ran steadily".to_owned(),
        (judged, steady) if judged == steady && all.measured == judged => format!("All {judged} points ran steadily"),
        (judged, steady) if judged == steady => format!("{judged} points ran steadily"),
        (judged, steady) => format!("{steady} of {judged} points ran steadily"),
    };
    let unsteady =
        unsteady_points(analysis, all).map(|names| if judged == 1 { names } else { format!("not: {names}") });
    let short = match all.measured - judged {
        0 => None,
        1 => Some("1 more was too short to judge".to_owned()),
        short => Some(format!("{short} more were too short to judge")),
    };
    let notes: Vec<String> = unsteady.into_iter().chain(short).collect();
    Some(if notes.is_empty() { head } else { format!("{head} ({})", notes.join("; ")) })
}

/// The names of the points that were not steady, if others were or may have been.
fn unsteady_points(analysis: &Analysis, all: &Steadiness) -> Option<String> {
    const NAMED_MAX: usize = 3;
    let are_all = all.unsteady.len() == all.measured;
    let unsteady: HashSet<u32> = all.unsteady.iter().copied().filter(|_| !are_all).collect();
    let points: Vec<&PointAnalysis> = analysis.points.iter().filter(|point| unsteady.contains(&point.id)).collect();
    let named = if points.len() > NAMED_MAX { NAMED_MAX - 1 } else { points.len() };
    let mut names: Vec<String> = points[..named].iter().map(|point| point_label(point)).collect();
    if points.len() > named {
        names.push(format!("{} more", points.len() - named));
    }
    (!names.is_empty()).then(|| join_and(&names))
}

fn too_short_to_judge(measured: usize) -> Option<String> {
    match measured {
        0 => None,
        1 => Some("It was too short to judge how steadily it ran".to_owned()),
        2 => Some("Both points were too short to judge how steadily they ran".to_owned()),
        all => Some(format!("All {all} points were too short to judge how steadily they ran")),
    }
}

/// `Steadiest at 32 clients (the rate varies by 1.9 % from interval to interval), least steady at 4 clients (11 %).`
fn steadiest_steps(all: &[StepSteadiness], is_named: bool) -> Vec<String> {
    let sentence = |one: &StepSteadiness| {
        let name = if is_named { format!("{}: steadiest", settings_label(&one.label)) } else { "Steadiest".to_owned() };
        let [place, other] = [&one.steadiest, &one.least_steady].map(|end| step_place(&end.place).unwrap_or_default());
        let [varies, most] = [&one.steadiest, &one.least_steady].map(|end: &StepVariation| percent(end.variation.mean));
        let repeats = one.steadiest.variation.repeats.min(one.least_steady.variation.repeats) as u64;
        let sure = match (one.is_shown, repeats as usize >= PAIRS_MIN) {
            (true, _) => String::new(),
            (false, true) => format!("; {repeats} repeats do not show more than chance"),
            (false, false) => format!("; indicative ({})", plural(repeats, "repeat")),
        };
        format!(
            "{name} at {place} (the rate varies by {varies} from interval to interval), least steady at {other} ({most}){sure}."
        )
    };
    let mut sentences: Vec<String> = all.iter().take(STEADIEST_MAX).map(sentence).collect();
    if all.len() > STEADIEST_MAX {
        sentences.push(format!("The points show the steadiness of {} more groups.", all.len() - STEADIEST_MAX));
    }
    sentences
}

fn longest(what: &str, analysis: &Analysis, wait: &LongestWait, is_named: bool) -> String {
    let point = analysis.points.iter().find(|point| point.id == wait.point && is_named);
    let name = point.map_or(String::new(), |point| format!(" ({})", point_label(point)));
    format!("{what} {}{name}", seconds(wait.seconds))
}

/// `10 results are only indicative (9 ran too short), 3 valid. All operations succeeded.`
fn trust(trust: &Trust) -> Option<String> {
    let tally = trust.validity;
    (tally.points() > 0).then(|| {
        let validity = validity(&tally, &trust.reasons, trust.unmeasured.is_empty());
        // An operation that was done without its work has not succeeded, and what a point broke off at is not counted.
        let is_counted = |reason: &Reason| ![Code::WorkMissing, Code::Incomplete].contains(&reason.code);
        let success = success(trust.success.filter(|_| trust.reasons.iter().all(is_counted)));
        format!("{validity}{success}{}", retried(trust.retries_per_op))
    })
}

fn validity(tally: &Tally, reasons: &[Reason], has_all: bool) -> String {
    let points = tally.points();
    if points == tally.valid {
        return match points {
            1 if has_all => "The result is valid.".to_owned(),
            1 => "1 result is valid.".to_owned(),
            2 => "Both results are valid.".to_owned(),
            _ => format!("All {points} results are valid."),
        };
    }
    // What makes numbers unusable comes before what makes them uncertain.
    let kinds = [
        (tally.invalid, "invalid", Validity::Invalid),
        (tally.indicative, "only indicative", Validity::Indicative),
        (tally.valid, "valid", Validity::Valid),
    ];
    let mut kinds = kinds.into_iter().filter(|(count, ..)| *count > 0);
    let (count, word, kind) = kinds.next().expect("there is a point");
    let first = match (points, count == points) {
        (1, _) if has_all => format!("The result is {word}"),
        (1, _) => format!("1 result is {word}"),
        (2, true) => format!("Both results are {word}"),
        (_, true) => format!("All {count} results are {word}"),
        (_, false) if count == 1 => format!("1 result is {word}"),
        (_, false) => format!("{count} results are {word}"),
    };
    let others = kinds.map(|(count, word, kind)| format!(", {count} {word}{}", reasons_of(kind, count, reasons)));
    format!("{first}{}{}.", reasons_of(kind, count, reasons), others.collect::<String>())
}

/// ` (2 had failed operations, 9 ran too short)`, the gravest first.
fn reasons_of(validity: Validity, points: usize, reasons: &[Reason]) -> String {
    let own = reasons.iter().filter(|reason| reason.validity == validity);
    let parts = own.map(|reason| match points {
        1 => format!("it {}", reason.words()),
        _ => format!("{} {}", reason.points, reason.words()),
    });
    let parts: Vec<String> = parts.collect();
    match parts.len() {
        0 => String::new(),
        1..=NAMED_MAX => format!(" ({})", join_and(&parts)),
        all => format!(" ({}; see the findings for {} more)", parts[..NAMED_MAX].join(", "), all - NAMED_MAX),
    }
}

fn success(success: Option<[f64; 2]>) -> String {
    let Some(range) = success else { return String::new() };
    match range.map(floored_percent) {
        [least, _] if least == "100" => " All operations succeeded.".to_owned(),
        [least, most] if least == most => format!(" {least} % of the operations succeeded."),
        [least, most] => format!(" {least} to {most} % of the operations succeeded."),
    }
}

/// Fewer retries than this for each operation are not worth a sentence.
const RETRIES_SHOWN_MIN: f64 = 0.001;

/// ` For each hundred operations there were 0 to 4.20 retries after conflicts.`
fn retried(per_op: Option<[f64; 2]>) -> String {
    let Some(range) = per_op.filter(|[_, most]| *most >= RETRIES_SHOWN_MIN) else { return String::new() };
    let said = match range.map(|one| if one == 0.0 { "0".to_owned() } else { number(100.0 * one).to_string() }) {
        [least, most] if least == most => most,
        [least, most] => format!("{least} to {most}"),
    };
    format!(" For each hundred operations there were {said} retries after conflicts.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{label, quick, set, with_verdict};
    use analysis::PointAnalysis;
    use analysis::SettingValue;
    use analysis::math::repeats::{MeanOfRepeats, RateDrop};
    use analysis::points::insert_slowdown::InsertComparison;
    use model::Value;

    #[test]
    fn what_the_machine_could_not_vary_is_in_the_verdict() {
        let mut analysis = quick();
        let reason = "cpus = `all` is left out: it is the same as `cores` here";
        assert!(!sentences(&analysis).concat().contains("Of the plan"));
        analysis.meta.environment.push(model::Fact::new(LEFT_OUT_FACT, reason));
        let expected = format!("Of the plan, {reason}.");
        assert!(sentences(&analysis).contains(&expected), "{:?}", sentences(&analysis));
    }

    /// The sentences on `points` of the quick run, changed by `change`.
    fn told(points: std::ops::Range<usize>, change: impl Fn(&mut PointAnalysis)) -> Vec<String> {
        let mut analysis = quick();
        analysis.points = analysis.points[points].to_vec();
        // No more was planned.
        analysis.meta.plan.trials.clear();
        for point in &mut analysis.points {
            point.settings.remove("durability");
            point.traits.engine.durability = None;
            change(point);
        }
        sentences(&with_verdict(analysis))
    }

    #[test]
    fn each_workload_has_a_sentence_with_a_verb() {
        let told = told(0..13, |_| ());
        let expected = [
            "file: rndrd reaches 41.4k/s (679 MB/s) and rndwr 8.90k/s ±41 % (146 MB/s), both at depth 32.",
            "insert: with indexes 0, sqlite reaches 62.3k/s and fjall 84.5k/s; with indexes 3, sqlite reaches 3.50k/s ±48 % and fjall 29.8k/s.",
            "sqlite oltp reaches 6.64k/s at 4 clients, with p99 1.13 ms; still rising.",
            "Indicative only (1 pair): fjall has 1.36x the rate of sqlite with indexes 0 and 8.51x with indexes 3.",
            "Indicative only (1 pair): indexes 3 has 0.056x the rate of indexes 0 with sqlite and 0.35x with fjall.",
            "Invalid: sqlite oltp clients 16.",
            "Bottleneck: one operation at a time (7 points); unclear for 6 of 13.",
            "11 of 13 points ran steadily (not: file rndwr depth 32 and sqlite insert indexes 3); longest stall 1.00 s (file rndwr depth 32); the rate of 1 drifted.",
            "file rndwr: steadiest at depth 8 (the rate varies by 2.1 % from interval to interval), least steady at depth 32 (39 %); indicative (1 repeat).",
            "1 result is invalid (it had failed operations), 1 only indicative (it drifted), 11 valid. 98.2 to 100 % of the operations succeeded.",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_single_point_is_judged_in_the_singular() {
        let told = told(8..9, |_| ());
        assert_eq!(told[0], "fjall insert indexes 0 reaches 84.5k/s, with p99 22.6 us.");
        assert_eq!(told[1], "Bottleneck: one operation at a time.");
        assert_eq!(told[3..], ["It ran steadily.", "The result is valid. All operations succeeded."]);
    }

    #[test]
    fn the_steps_of_a_sequence_are_listed_and_not_ranked() {
        let steps = ["l.i0", "l.x", "qr"];
        let told = told(6..9, |point| {
            let step = steps[point.id as usize - 7];
            set(point, "engine", "sqlite");
            set(point, "step", step);
            label(point, &["engine", "workload", "step"], &[]);
            let summary = point.summary.as_mut().unwrap();
            summary.ops = if step == "l.x" { 3 } else { 100_000 };
            summary.rows_per_s = (step == "l.i0").then_some(summary.ops_per_s * 50.0);
        });
        assert_eq!(told[0], "insert on sqlite: l.i0 reaches 3.11M rows/s, qr 84.5k/s and l.x takes 4.00 s.");
    }

    #[test]
    fn steps_that_are_timed_as_a_whole_have_their_duration_however_many_steps_there_are() {
        let mut analysis = quick();
        let first = analysis.points[6].clone();
        let point = |nth: usize| {
            let step = ["l.i0", "l.x", "l.i1", "l.i2", "qr", "qp", "drain"][nth / 2];
            let mut point = first.clone();
            (point.id, point.group) = (nth as u32, nth);
            set(&mut point, "engine", ["sqlite", "fjall"][nth % 2]);
            set(&mut point, "step", step);
            label(&mut point, &["engine", "workload", "step"], &[]);
            let summary = point.summary.as_mut().unwrap();
            (summary.ops, summary.seconds) = (if step == "l.x" || step == "drain" { 1 } else { 10_000 }, 0.25);
            point
        };
        analysis.points = (0..14).map(point).collect();
        let told = sentences(&with_verdict(analysis));
        let is_timed = |sentence: &&String| sentence.contains(" takes ") && !sentence.starts_with("Indicative");
        let timed: Vec<&String> = told.iter().filter(is_timed).collect();
        assert_eq!(timed.len(), 2, "{told:?}");
        assert!(timed[0].starts_with("insert l.x") && timed[0].contains("sqlite takes 250 ms"), "{told:?}");
        assert!(told.iter().any(|sentence| sentence == "See the tables for insert qr and insert qp."), "{told:?}");
    }

    #[test]
    fn what_was_served_or_disturbed_is_no_bottleneck() {
        let of = |limits: &[(Limit, usize)], judged| {
            let all = Bottleneck { limits: limits.iter().copied().collect(), judged, ..Bottleneck::default() };
            bottlenecks(&all, &[])
        };
        assert_eq!(of(&[(Limit::Schedule, 1)], 1), ["No bottleneck: the offered rate was served."]);
        let all = "Other processes used CPU time that the load needed at all 13 points.";
        assert_eq!(of(&[(Limit::OtherProcesses, 13)], 13), [all]);
        let stolen = of(&[(Limit::Cpu, 1), (Limit::Hypervisor, 1)], 1);
        assert_eq!(stolen, ["Bottleneck: CPU.", "The hypervisor took CPU time that the load needed."]);
        let mixed = of(&[(Limit::Disk, 1), (Limit::Schedule, 2)], 3);
        let expected =
            ["Bottleneck: a busy disk (1 point).", "No bottleneck at 2 of 3 points: the offered rate was served."];
        assert_eq!(mixed, expected);
    }

    #[test]
    fn engines_without_a_usable_result_are_named() {
        let told = told(6..10, |point| {
            if point.engine == "fjall" {
                point.validity = Validity::Invalid;
            }
        });
        assert_eq!(told[0], "sqlite insert indexes 0 reaches 62.3k/s, with p99 30.0 us.");
        let named = "Invalid: fjall insert indexes 0 and fjall insert indexes 3.";
        assert!(told.iter().any(|sentence| sentence == named), "{told:?}");
    }

    #[test]
    fn what_never_ran_is_neither_steady_nor_unsteady() {
        let told = told(0..1, |point| {
            (point.summary, point.series, point.bottlenecks) = (None, None, None);
            point.validity = Validity::Invalid;
        });
        assert_eq!(told[0], "The only point has no usable result.");
        assert!(
            told.iter().all(|sentence| !sentence.contains("steadily") && !sentence.contains("ottleneck")),
            "{told:?}"
        );
    }

    #[test]
    fn many_groups_are_given_as_their_range() {
        let mut analysis = quick();
        let first = analysis.points[6].clone();
        let group = |nth: usize| {
            let mut point = first.clone();
            (point.id, point.group) = (nth as u32, nth);
            set(&mut point, "indexes", &nth.to_string());
            label(&mut point, &["indexes"], &[]);
            point.summary.as_mut().unwrap().ops_per_s -= 100.0 * nth as f64;
            point
        };
        analysis.points = (0..9).map(group).collect();
        let told = sentences(&with_verdict(analysis)).remove(0);
        assert_eq!(
            told,
            "insert on sqlite (durability os): 9 groups range from 61.5k/s (indexes 8) to 62.3k/s (indexes 0)."
        );
    }

    #[test]
    fn bottlenecks_are_counted_and_so_is_what_is_unknown() {
        let of = |limits: &[(Limit, usize)], unknown, judged| {
            bottleneck(&Bottleneck {
                limits: limits.iter().copied().collect(),
                unknown,
                judged,
                ..Bottleneck::default()
            })
        };
        let three = [(Limit::Disk, 3), (Limit::OneCore, 3), (Limit::OneAtATime, 4)];
        let expected =
            "Bottleneck: a busy disk (3 points), a single core (3), one operation at a time (4); unclear for 3 of 13.";
        assert_eq!(of(&three, 3, 13).as_deref(), Some(expected));
        assert_eq!(of(&[(Limit::Cpu, 1)], 0, 1).as_deref(), Some("Bottleneck: CPU."));
        assert_eq!(of(&[], 5, 5).as_deref(), Some("The bottleneck is unclear for all 5 points."));
        assert_eq!(of(&[], 2, 2).as_deref(), Some("The bottleneck is unclear for both points."));
        let one = of(&[(Limit::Schedule, 19)], 1, 20);
        assert_eq!(one.as_deref(), Some("The bottleneck is unclear for 1 of 20 points."));
        assert_eq!(of(&[(Limit::Disk, 2)], 0, 2).as_deref(), Some("Bottleneck: a busy disk (both points)."));
        assert_eq!(of(&[], 0, 0), None);
    }

    #[test]
    fn reasons_beyond_the_fourth_are_in_the_findings() {
        let codes = [Code::Corrupt, Code::Errors, Code::Swap, Code::Cached, Code::TooShort];
        let reasons = codes.map(|code| Reason { code, validity: Validity::Indicative, points: 1 });
        let expected = " (it read back wrong data, it had failed operations, it ran short of memory, it read from a cache; \
                        see the findings for 1 more)";
        assert_eq!(reasons_of(Validity::Indicative, 1, &reasons), expected);
    }

    #[test]
    fn steadiness_is_claimed_only_of_points_that_were_long_enough() {
        let words = |measured, judged, disturbed| {
            let all = Steadiness { measured, judged, disturbed, ..Steadiness::default() };
            steadiness(&quick(), &all).unwrap_or_default()
        };
        assert_eq!([words(0, 0, 0), words(1, 1, 0)], ["", "It ran steadily."]);
        assert_eq!(words(1, 0, 0), "It was too short to judge how steadily it ran.");
        assert_eq!(words(2, 0, 0), "Both points were too short to judge how steadily they ran.");
        assert_eq!(words(2, 1, 0), "1 point ran steadily (1 more was too short to judge).");
        assert_eq!(words(2, 1, 1), "1 point did not run steadily (1 more was too short to judge).");
        assert_eq!([words(2, 2, 0), words(13, 13, 0)], ["Both points ran steadily.", "All 13 points ran steadily."]);
        assert_eq!(words(26, 8, 2), "6 of 8 points ran steadily (18 more were too short to judge).");
        assert_eq!(words(2, 2, 2), "Neither point ran steadily.");
        assert_eq!(words(26, 8, 0), "8 points ran steadily (18 more were too short to judge).");
        assert_eq!(words(3, 3, 3), "No point ran steadily.");
    }

    #[test]
    fn points_that_were_not_steady_are_named_while_others_were() {
        let words = |measured: usize, judged: usize, unsteady: &[u32]| {
            let (disturbed, unsteady) = (unsteady.len(), unsteady.to_vec());
            let all = Steadiness { measured, judged, disturbed, unsteady, ..Steadiness::default() };
            steadiness(&quick(), &all).unwrap_or_default()
        };
        let one = "10 of 11 points ran steadily (not: file rndrd depth 8; 2 more were too short to judge).";
        assert_eq!(words(13, 11, &[2]), one);
        let two = "11 of 13 points ran steadily (not: file rndrd depth 8 and file rndwr depth 32).";
        assert_eq!(words(13, 13, &[2, 6]), two);
        let many = "8 of 13 points ran steadily (not: file rndrd depth 8, file rndrd depth 32 and 3 more).";
        assert_eq!(words(13, 13, &[2, 3, 4, 5, 6]), many);
        let alone = "1 point did not run steadily (file rndrd depth 1; 1 more was too short to judge).";
        assert_eq!(words(2, 1, &[1]), alone);
        assert_eq!(words(2, 2, &[1, 2]), "Neither point ran steadily.");
    }

    #[test]
    fn the_longest_wait_is_given_besides_a_shorter_stall() {
        let wait = |seconds| Some(LongestWait { point: 1, seconds });
        let words = |stall, wait| {
            let all = Steadiness {
                measured: 1,
                judged: 1,
                disturbed: 1,
                longest_stall: stall,
                longest_wait: wait,
                ..Steadiness::default()
            };
            steadiness(&quick(), &all).unwrap()
        };
        let expected = "It did not run steadily; longest stall 200 ms; longest wait of a client 4.10 s.";
        assert_eq!(words(wait(0.2), wait(4.1)), expected);
        assert_eq!(words(wait(0.2), wait(0.1)), "It did not run steadily; longest stall 200 ms.");
    }

    #[test]
    fn the_gravest_reason_is_named_first() {
        let reason = |code, validity, points| Reason { code, validity, points };
        let tally = Tally { valid: 3, indicative: 10, invalid: 0 };
        let told = validity(&tally, &[reason(Code::TooShort, Validity::Indicative, 9)], true);
        assert_eq!(told, "10 results are only indicative (9 ran too short), 3 valid.");
        let reasons =
            [reason(Code::ForeignCpu, Validity::Indicative, 24), reason(Code::TooShort, Validity::Indicative, 28)];
        let told = validity(&Tally { valid: 0, indicative: 28, invalid: 0 }, &reasons, true);
        let expected = "All 28 results are only indicative (24 lost CPU time to other processes or the hypervisor and 28 ran \
                        too short).";
        assert_eq!(told, expected);
        let both = |tally| validity(&tally, &[], true);
        let one = Tally { indicative: 1, ..Tally::default() };
        assert_eq!(validity(&one, &[], false), "1 result is only indicative.", "others were not measured");
        assert_eq!(both(Tally { valid: 2, ..Tally::default() }), "Both results are valid.");
        assert_eq!(both(Tally { invalid: 2, ..Tally::default() }), "Both results are invalid.");
        assert_eq!(success(Some([0.983, 1.0])), " 98.3 to 100 % of the operations succeeded.");
        let said = " For each hundred operations there were 0 to 4.20 retries after conflicts.";
        assert_eq!(retried(Some([0.0, 0.042])), said);
        assert_eq!((retried(Some([0.0, 0.0009])), retried(None)), (String::new(), String::new()));
    }

    #[test]
    fn slowdowns_that_were_shown_have_a_sentence() {
        let one = |share: f64| EngineSlowdown {
            change: Change::Storage {
                from: SettingValue::Absent,
                to: SettingValue::Param(Value::Word("iops=2000".into())),
            },
            place: Vec::new(),
            engine: "fjall".into(),
            before: MeanOfRepeats { repeats: 4, ..MeanOfRepeats::default() },
            after: MeanOfRepeats { repeats: 4, ..MeanOfRepeats::default() },
            drop: RateDrop { share, ci95: [share - 0.02, share + 0.02] },
        };
        let told = |share| {
            let comparison = Some(InsertComparison { slowdowns: vec![one(share)], left_out: Vec::new() });
            slowdowns(&Verdict { comparison, ..Verdict::default() })
        };
        let expected = "With storage limited to iops=2000, the insert rate of fjall drops by 64 % (95 % CI 62 to 66).";
        assert_eq!((told(0.64), told(0.0)), (vec![expected.to_owned()], Vec::new()));
    }
}
