//! Values of one setting, compared: which is better, by how much, where not, and what it costs.
//!
//! In: the relative table of the setting that is compared. Out: a claim for each arm, which says of places that are alike one ratio with one
//! interval, and of places that are not where what holds. Limits: a ratio without enough pairs is claimed as undecided.

mod answers;
mod costs;
mod levels;
mod sentences;
mod table;
#[cfg(test)]
mod tests;

pub(super) use table::{by_place, has_column_for_each_arm, ratio_cell, speed_cell};

use super::{numbers, sweep};
use crate::answer::claim::{Claim, ClaimKind};
use crate::answer::comparison::{ArmEffects, Comparison, SHOWN_MAX};
use crate::answer::effect::{Branch, Is, split_within};
use crate::answer::places::{axes, distinguishing, leads_to};
use crate::answer::speech::{number_word, size, spoken, under, with};
use crate::answer::thing::Thing;
use crate::answer::{AnswerParts, AskedRun, bottleneck, wakeups};
use crate::findings::overload::Overload;
use crate::math::ratio::PAIRS_MIN;
use crate::points::metric::Metric;
use crate::recorded::dimensions::{Role, Setting, SettingValue};
use crate::{Code, DetailKind, PointAnalysis};
use model::{Pacing, Percentile};
use sentences::Pair;
use words::list::capital;
use words::quantity::time;

/// From so many other arms on, each has one claim.
const ARMS_WITH_DETAILS: usize = 3;
/// Of one arm without another so many sorts of work are told.
const ALONE_MAX: usize = 2;
/// A larger factor that would have shown tells nothing.
const FACTOR_TOLD_MAX: f64 = 20.0;
/// So many different results are said one by one; of more the ends are said.
const RESULTS_MAX: usize = 5;

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let comparison = Comparison::of(run)?;
    let others = comparison.table.arms.len() - 1;
    let effects: Vec<ArmEffects> = (0..others).map(|nth| comparison.effects(nth)).collect();
    let is_decided = effects.iter().any(|one| !one.decided.is_empty());
    let mut claims = Vec::new();
    if is_decided {
        claims.extend(decided(&comparison, &effects));
    } else {
        claims.extend(comparison.not_ranked.clone());
        claims.extend(undecided(&comparison, &effects));
    }
    if is_decided {
        claims.extend(comparison.not_ranked.clone());
        claims.extend(partly_undecided(run, &effects));
        claims.extend(too_noisy(&effects));
    }
    claims.extend(costs::of_engines(&comparison));
    // Rates that are given are what was offered, and how long their operations take is the answer.
    let is_given = comparison.table.rows.iter().all(|row| !row.metric.is_speed());
    let mut costs = costs::claims(&comparison, is_given).into_iter();
    claims.extend(costs.next());
    claims.extend(bottleneck::claim_of_points(run, &comparison.points()));
    claims.extend(costs);
    if is_given {
        claims.splice(0..0, (0..others).filter_map(|nth| tail(&comparison, nth)));
    }
    claims.splice(0..0, levels::claim(&comparison).filter(|_| !is_given));
    claims.splice(
        0..0,
        statement_by_statement(&comparison).filter(|_| is_given).map(|command| {
            let sentence = format!("Each server got the load of the log; {command} shows which statements differ.");
            Claim::new(ClaimKind::Caution, sentence)
        }),
    );
    // A server that answers otherwise is not compared by its times alone.
    claims.splice(0..0, answers::claim(&comparison));
    claims.splice(0..0, fell_behind(&comparison));
    // It changes what the table says, so that no other comes before it but the answer.
    let second = claims.len().min(1);
    claims.splice(second..second, wakeups::claim(&Thing::all(run)));
    // Who asked for two learns first why there is one, and what that does.
    if comparison.has_one_arm() {
        let things = Thing::all(run);
        claims.splice(0..0, things.iter().take(ALONE_MAX).map(sweep::rate_claim));
    }
    claims.splice(0..0, comparison.missing.clone());
    let lacks_pairs = effects.iter().any(|one| !one.undecided.is_empty());
    Some(AnswerParts {
        question: question(&comparison),
        table: table::table(&comparison, is_decided).or_else(|| numbers::table(run)),
        claims,
        next: (lacks_pairs && !run.has_enough_repeats())
            .then(|| repetition(run))
            .or_else(|| Some(format!("Statement by statement: {}.", statement_by_statement(&comparison)?))),
    })
}

/// The command that has enough pairs.
fn repetition(run: &AskedRun) -> String {
    let without = if run.is_quick_look() { " and without --quick-look" } else { "" };
    format!("Repeat it: the same command with --repeat {PAIRS_MIN}{without}.")
}

fn question(comparison: &Comparison) -> String {
    let arms: Vec<String> = comparison.table.arms.iter().map(spoken).collect();
    match comparison.base().role {
        Role::Engine => format!("{}?", arms.join(" or ")),
        _ => format!("What changes {}?", under(&comparison.table.arms[1])),
    }
}

/// `With an open loop of 5,000 per second the p99 is 186 ms, with a closed loop 116 us: ...`, if rates are given and not compared.
fn tail(comparison: &Comparison, nth: usize) -> Option<Claim> {
    let ArmEffects { decided, undecided, .. } = comparison.effects_of(nth, Metric::Response(Percentile::P99));
    let place = decided.first().or(undecided.first())?.place.clone();
    let arms = [&comparison.table.arms[nth + 1], comparison.base()];
    let p99 = |arm: &Setting| Some(comparison.row(&place, arm)?.summary.as_ref()?.response_ns.as_ref()?.p99 as f64);
    let [(long, most), (short, least)] = match [p99(arms[0])?, p99(arms[1])?] {
        [one, other] if one >= other => [(arms[0], one), (arms[1], other)],
        [one, other] => [(arms[1], other), (arms[0], one)],
    };
    let told = |verb: &str| {
        format!("{} the p99 {verb} {}, {} {}", capital(&under(long)), time(most), under(short), time(least))
    };
    if decided.is_empty() {
        let pairs = undecided.iter().map(|one| one.effect.n).max()?;
        let (measured, needed) = (sentences::pairs(pairs), number_word(PAIRS_MIN as u32));
        let sentence = format!("{}: with {measured} that is not proven, a difference needs {needed}.", told("was"));
        return Some(Claim::new(ClaimKind::Undecided, sentence));
    }
    let effect = split_within(&decided, &[], Vec::new()).alike().copied().filter(|one| one.verdict.is_difference())?;
    let is_closed = |arm: &Setting| matches!(arm.value, SettingValue::Pacing(Pacing::Closed { .. }));
    let why = ": a client that waits sends nothing meanwhile, and hardly sees the stall";
    let sentence = format!("{}{}.", told("is"), if is_closed(short) { why } else { "" });
    Some(Claim::new(ClaimKind::Difference, sentence).figure("ratio", effect.ratio, effect.ci95))
}

/// `On MariaDB the replay fell behind: it took 31.0 s for 6.00 s of the log.`, of each arm that did in a repeat.
fn fell_behind(comparison: &Comparison) -> Vec<Claim> {
    let points = comparison.points();
    let of_arm = |arm: &Setting| {
        let findings = points.iter().filter(|point| point.settings.has(arm)).flat_map(|point| &point.findings);
        let behind = findings.filter_map(|finding| Overload::in_detail(&finding.detail)?.replay);
        let longest = behind.max_by(|one, other| one.took_s.total_cmp(&other.took_s))?;
        let [took, recorded] = [longest.took_s, longest.recorded_s].map(|seconds| time(seconds * 1e9));
        let sentence =
            format!("{} the replay fell behind: it took {took} for {recorded} of the recording.", capital(&with(arm)));
        Some(Claim::new(ClaimKind::Caution, sentence).from_finding(Code::Overload))
    };
    comparison.table.arms.iter().filter_map(of_arm).collect()
}

/// What compares the kinds of statement of replays on several servers.
fn statement_by_statement(comparison: &Comparison) -> Option<String> {
    let is_replay = |point: &PointAnalysis| point.traits.work.io.is_none() && point.is_recorded_load();
    let run = comparison.run;
    run.usable()
        .all(is_replay)
        .then(|| format!("plimsoll compare {} --by {}", run.name_to_type(), comparison.base().name))
}

/// What each arm does, the largest difference first.
fn decided(comparison: &Comparison, effects: &[ArmEffects]) -> Vec<Claim> {
    let noun = comparison.noun();
    let mut arms: Vec<(Pair, Branch)> = Vec::new();
    for (nth, own) in effects.iter().enumerate().filter(|(_, own)| !own.decided.is_empty()) {
        let decided = own.decided.iter().map(|one| &one.place);
        let others = own.undecided.iter().chain(&own.noisy).map(|one| &one.place);
        let path = distinguishing(decided.clone(), decided.clone().chain(others));
        let branch = split_within(&own.decided, &axes(decided.clone()), path);
        // What holds at each place that is decided need not hold at the others.
        let axes = if own.undecided.is_empty() && own.noisy.is_empty() { axes(decided) } else { Vec::new() };
        let open = own.undecided.iter().chain(&own.noisy).map(|one| one.place.clone()).collect();
        let pair = Pair { base: comparison.base(), arm: &comparison.table.arms[nth + 1], noun: &noun, axes, open };
        arms.push((pair, branch));
    }
    let largest = |branch: &Branch| {
        let shown = branch.ends().into_iter().filter(|end| end.verdict.is_difference());
        shown.map(|end| end.ratio.ln().abs()).fold(0.0, f64::max)
    };
    arms.sort_by(|a, b| largest(&b.1).total_cmp(&largest(&a.1)));
    let is_even = |branch: &Branch| branch.alike().is_some_and(|effect| !effect.verdict.is_difference());
    let (even, different): (Vec<_>, Vec<_>) = arms.into_iter().partition(|(_, branch)| is_even(branch));
    let per_arm = match effects.len() {
        1 => usize::MAX,
        arms if arms < ARMS_WITH_DETAILS => 2,
        _ => 1,
    };
    let mut claims: Vec<Claim> =
        different.iter().flat_map(|(pair, branch)| of_arm(pair, branch).into_iter().take(per_arm)).collect();
    // One without a bound shows nothing, so any other comes first.
    let bound = |branch: &Branch| branch.alike().and_then(|one| one.smallest_effect).unwrap_or(f64::NEG_INFINITY);
    let (told, open): (Vec<_>, Vec<_>) = even.into_iter().partition(|(_, branch)| bound(branch) <= SHOWN_MAX);
    for group in [told, open] {
        let arms: Vec<&Setting> = group.iter().map(|(pair, _)| pair.arm).collect();
        let worst = group.iter().max_by(|a, b| bound(&a.1).total_cmp(&bound(&b.1)));
        claims.extend(worst.and_then(|(pair, branch)| Some(pair.no_difference(&arms, branch.alike()?, branch))));
    }
    claims
}

/// What one arm does.
fn of_arm(pair: &Pair, root: &Branch) -> Vec<Claim> {
    if let Some(claim) = pair.interaction(root) {
        return vec![claim];
    }
    let Is::Split(parts) = &root.is else { return vec![pair.claim(root)] };
    if root.leaves() > RESULTS_MAX && parts.len() > 2 {
        return vec![pair.range(root)];
    }
    let parts = root.parts_by_weight();
    parts
        .into_iter()
        .enumerate()
        .map(|(nth, part)| if nth == 0 { pair.claim(part) } else { pair.further(part) })
        .collect()
}

/// That nothing is decided, why, and what was measured.
pub(super) fn undecided(comparison: &Comparison, effects: &[ArmEffects]) -> Vec<Claim> {
    let pairs = effects.iter().flat_map(|one| &one.undecided).map(|one| one.effect.n).max();
    let Some(pairs) = pairs else { return Vec::new() };
    let noun = comparison.noun();
    let as_measured = effects.iter().enumerate().filter_map(|(nth, own)| {
        let pair = Pair {
            base: comparison.base(),
            arm: &comparison.table.arms[nth + 1],
            noun: &noun,
            axes: Vec::new(),
            open: Vec::new(),
        };
        pair.as_measured(&own.undecided)
    });
    [not_decided(comparison.run, pairs)].into_iter().chain(as_measured.take(1)).collect()
}

/// That so many pairs decide nothing, and what does.
pub(super) fn not_decided(run: &AskedRun, pairs: usize) -> Claim {
    let (measured, needed) = (sentences::pairs(pairs), number_word(PAIRS_MIN as u32));
    let sentence = if run.has_enough_repeats() {
        format!(
            "Not decided: no comparison has more than {measured} that can be used, and a difference needs {needed}."
        )
    } else {
        format!(
            "Not decided: each comparison has {measured} of measurements, and a difference needs {needed} (--repeat {PAIRS_MIN})."
        )
    };
    Claim::new(ClaimKind::Undecided, sentence)
}

/// `With one client, repeats differ too much to tell: even a factor of 2.5 could be noise there.`, if that is so there and not elsewhere.
fn too_noisy(effects: &[ArmEffects]) -> Option<Claim> {
    let noisy = || effects.iter().flat_map(|one| &one.noisy);
    let largest = noisy().filter_map(|one| one.effect.smallest_effect).reduce(f64::max)?;
    let all = effects.iter().flat_map(|one| one.decided.iter().chain(&one.noisy));
    let places: Vec<_> = noisy().map(|one| one.place.clone()).collect();
    let everywhere: Vec<_> = all.map(|one| one.place.clone()).collect();
    let path = distinguishing(places.iter(), everywhere.iter());
    let place = capital(sentences::path_words(&path).trim_start());
    let which = if place.is_empty() || everywhere.iter().filter(|place| leads_to(&path, place)).count() > places.len() {
        format!("In {} of {} comparisons", places.len(), everywhere.len())
    } else {
        place
    };
    let shown = if largest.is_finite() && largest < FACTOR_TOLD_MAX {
        format!(": even {} could be noise there", size(largest))
    } else {
        String::new()
    };
    Some(Claim::new(ClaimKind::Undecided, format!("{which}, repeats differ too much to tell{shown}.")))
}

/// That some places have too few pairs.
fn partly_undecided(run: &AskedRun, effects: &[ArmEffects]) -> Option<Claim> {
    let open: usize = effects.iter().map(|one| one.undecided.len()).sum();
    let all = open + effects.iter().map(|one| one.decided.len()).sum::<usize>();
    let what_mends = if run.has_enough_repeats() { String::new() } else { format!(" (--repeat {PAIRS_MIN})") };
    let sentence =
        || format!("{open} of {all} comparisons are not decided: they have fewer than four usable pairs{what_mends}.");
    (open > 0).then(|| Claim::new(ClaimKind::Undecided, sentence()))
}
