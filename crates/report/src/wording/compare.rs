//! A comparison of two arms in words: what they are, what differs between them, what was shown, and which costs changed.
//!
//! In: a typed [`RunComparison`]. Out: sentences, names of metrics and costs, and short texts for tables. Limits: that a cost changed
//! with the speed is reported, but not that it is the reason.

use super::kernels::work_sentences;
use super::label::{phrase, phrases, settings_label};
use super::list::{capital, join_and};
use super::metric::{metric_head, speed_verdict_word};
use super::quantity::{bytes, number, percent, plural, small_number, time, whole, whole_percent};
use analysis::compare::{
    ArmSummary, Condition, ConditionEffect, ConditionKind, CostChange, CostMetric, LostPlace, MetricRatio,
    PlaceComparison, RunComparison,
};
use analysis::math::ratio::PAIRS_MIN;
use analysis::{RatioEstimate, RatioVerdict};
use model::{ConditionRole, CounterRole, CounterUnit, HOURS_PER_YEAR, HourlyCost, OWN_GENERATOR};

/// The most settings of a server that a sentence names.
const SETTINGS_MAX: usize = 5;
/// The most values of one arm that a sentence lists.
const VALUES_MAX: usize = 3;

/// How far to trust a comparison of watches.
pub(super) const WATCH_TRUST: &str =
    "Each watch is one sample: a load that differs is what clients asked for, and not the server's doing.";
pub(super) const WATCH_NEXT: &str =
    "To see whether a difference stays, watch it again at the same hour of another day.";

/// What the arms are, and what differs between them.
pub fn introduction(comparison: &RunComparison) -> Vec<String> {
    let is_interleaved = !comparison.places.is_empty() && comparison.places.iter().all(|place| place.is_interleaved);
    let in_turn = if is_interleaved { ", in turn" } else { "" };
    // A watch has no repeats.
    let arm = if comparison.watches.is_some() { arm_with_engine } else { arm };
    let arms = format!("Base: {}. New: {}{in_turn}.", arm(&comparison.base), arm(&comparison.new));
    let mut all = vec![arms];
    all.extend(conditions(comparison));
    all.extend(left_out(comparison));
    all.extend(yearly_costs(comparison));
    let work = comparison.kernels.as_ref();
    all.extend(
        work.into_iter()
            .flat_map(|kernels| work_sentences(&arm_name(&comparison.base), &arm_name(&comparison.new), kernels)),
    );
    all
}

/// What the machines of two runs cost in a year, in money and in energy; nothing for what was not stated.
fn yearly_costs(comparison: &RunComparison) -> Vec<String> {
    let yearly = |per_hour: &dyn Fn(&HourlyCost) -> Option<f64>, unit: &str| -> Vec<String> {
        let of = |arm: &ArmSummary| {
            let yearly = small_number(per_hour(&arm.hourly)? * HOURS_PER_YEAR);
            Some(format!("{yearly}{unit} with `{}`", arm_name(arm)))
        };
        [&comparison.base, &comparison.new].into_iter().filter_map(of).collect()
    };
    let money = yearly(&|hourly| hourly.price, "");
    let energy = yearly(&|hourly| Some(hourly.watts? / 1e3), " kWh");
    let sentences = [("costs", money), ("takes", energy)].into_iter();
    let known = sentences.filter(|(_, values)| !values.is_empty() && !comparison.is_of_one_run());
    known.map(|(verb, values)| format!("A year {verb} {}.", join_and(&values))).collect()
}

/// `run-1 (mariadb:innodb 10.11.19), 6 repeats`; of a search without a result `run-1, without a result`
fn arm(arm: &ArmSummary) -> String {
    if arm.repeats == 0 {
        return format!("{}, without a result", arm_with_engine(arm));
    }
    format!("{}, {}", arm_with_engine(arm), plural(arm.repeats as u64, "repeat"))
}

/// `run-1 (mariadb:innodb 10.11.19)`
fn arm_with_engine(arm: &ArmSummary) -> String {
    let engine = |(name, version): &(String, Option<String>)| match version.as_deref().map(short_version) {
        Some(version) if !name.ends_with(version) => format!("{name} {version}"),
        _ => name.clone(),
    };
    let engines: Vec<String> = arm.engines.iter().map(engine).collect();
    let engines = listed(&engines);
    match &arm.group {
        Some(group) if arm.engines.iter().any(|(name, _)| *name == group.value.to_string()) => engines,
        Some(group) => format!("{} ({engines})", phrase(group)),
        None if engines.is_empty() => arm.run.clone(),
        // A run may be called by its engine.
        None if engines == arm.run || engines.starts_with(&format!("{} ", arm.run)) => engines,
        None => format!("{} ({engines})", arm.run),
    }
}

/// What an arm is called in the head of a column.
pub fn arm_name(arm: &ArmSummary) -> String {
    arm.group.as_ref().map_or_else(|| arm.run.clone(), phrase)
}

/// `15.18` of `15.18 (Debian 15.18-0+deb12u1)`.
fn short_version(version: &str) -> &str {
    version.split([' ', '-']).next().unwrap_or(version)
}

/// `a, b and c`, `a, b and 4 more`
pub fn listed(values: &[String]) -> String {
    match values {
        [first @ .., _] if first.len() > VALUES_MAX => {
            let more = format!("{} more", values.len() - VALUES_MAX);
            join_and(&[&values[..VALUES_MAX], &[more]].concat())
        }
        values => join_and(values),
    }
}

/// What makes the comparison doubtful, or prevents it.
pub fn cautions(comparison: &RunComparison) -> Vec<String> {
    if comparison.watches.is_some() {
        return watch_conditions(comparison);
    }
    if let Some(why) = nothing_in_common(comparison) {
        return vec![why];
    }
    let Doubts { prevented, weakened, order } = Doubts::of(comparison);
    prevented.into_iter().chain(weakened).chain(order).chain(left_out(comparison)).collect()
}

fn conditions(comparison: &RunComparison) -> Vec<String> {
    if comparison.watches.is_some() {
        return watch_conditions(comparison);
    }
    if comparison.places.is_empty() {
        // That is the answer, which comes before.
        return Vec::new();
    }
    let Doubts { prevented, weakened, order } = Doubts::of(comparison);
    let is_all = prevented.is_empty() && weakened.is_empty();
    prevented.into_iter().chain(what_is_compared(comparison, is_all)).chain(weakened).chain(order).collect()
}

/// In what two watches differ, and that each is one sample: that they were not measured in turn is the same.
fn watch_conditions(comparison: &RunComparison) -> Vec<String> {
    let Doubts { prevented, weakened, .. } = Doubts::of(comparison);
    let prevented = if comparison.places.is_empty() { Vec::new() } else { prevented };
    let all = prevented.into_iter().chain(what_is_compared(comparison, false)).chain(weakened);
    all.chain([WATCH_TRUST.to_owned()]).collect()
}

/// What the two arms are called together.
fn arms_word(comparison: &RunComparison) -> &'static str {
    if comparison.is_of_one_run() { "groups" } else { "runs" }
}

/// Those of `comparison`'s conditions with `effect` that share a sentence.
fn differences(comparison: &RunComparison, effect: ConditionEffect) -> Vec<String> {
    let plain = comparison.unlike.iter().filter(|one| one.effect == effect && !is_sentence(&one.kind));
    plain.map(difference).collect()
}

/// The setting, engine or version that is compared. `is_all`: whether nothing else differs.
fn what_is_compared(comparison: &RunComparison, is_all: bool) -> Option<String> {
    let (what, compared) = (arms_word(comparison), differences(comparison, ConditionEffect::Compared));
    match (compared.is_empty(), is_all) {
        (true, true) => Some(format!("As far as plimsoll can see, the {what} differ in nothing.")),
        (false, true) => Some(format!("The {what} differ in nothing but {}.", join_and(&compared))),
        (true, false) => None,
        (false, false) => Some(format!("The {what} are compared by {}.", join_and(&compared))),
    }
}

/// Why a difference between two arms may have other reasons than what is compared.
struct Doubts {
    /// Why nothing can be concluded.
    prevented: Vec<String>,
    /// Why a conclusion is weaker: what else differs.
    weakened: Vec<String>,
    /// That they were not measured in turn.
    order: Option<String>,
}

impl Doubts {
    fn of(comparison: &RunComparison) -> Doubts {
        let what = arms_word(comparison);
        let prevents = |one: &&Condition| one.effect == ConditionEffect::Prevents;
        let prevented = comparison.unlike.iter().filter(prevents).map(prevention).collect();
        let differ = differences(comparison, ConditionEffect::Weakens);
        let mut weakened = Vec::new();
        if !differ.is_empty() {
            let each = if differ.len() == 1 { "This" } else { "Each of these" };
            let differ = join_and(&differ);
            weakened.push(format!("The {what} differ in {differ}. {each} may be the reason for a difference."));
        }
        weakened.extend(server_settings(comparison, what));
        weakened.extend(imported_results(comparison, what));
        let is_in_turn = !comparison.unlike.iter().any(|one| one.kind == ConditionKind::Order);
        let order = (!is_in_turn).then(|| {
            format!(
                "The {what} were not measured in turn: if the machine became faster or slower in between, that looks like a \
                 difference between them."
            )
        });
        Doubts { prevented, weakened, order }
    }
}

/// Whether it has a sentence of its own.
fn is_sentence(kind: &ConditionKind) -> bool {
    use ConditionKind::{LoadGenerator, NoCommonPlace, Order, ServerSetting};
    matches!(kind, Order | NoCommonPlace | LoadGenerator | ServerSetting { .. })
}

/// `The results of fio 3.33 were imported: their conditions are not known, ...`
fn imported_results(comparison: &RunComparison, what: &str) -> Option<String> {
    let condition = comparison.unlike.iter().find(|one| one.kind == ConditionKind::LoadGenerator)?;
    let mut programs: Vec<String> = [&condition.base, &condition.new].into_iter().flatten().cloned().collect();
    programs.retain(|program| program != OWN_GENERATOR);
    programs.sort_unstable();
    programs.dedup();
    let differ = if condition.base == condition.new {
        String::new()
    } else {
        format!("The {what} differ in {}. ", difference(condition))
    };
    let programs = join_and(&programs);
    Some(format!(
        "{differ}The results of {programs} were imported: their machine and settings are not known and may be the reason for a \
         difference."
    ))
}

/// `The servers of the runs differ in innodb_change_buffering (all against none) and 37 settings more, which no plan names.`
fn server_settings(comparison: &RunComparison, what: &str) -> Option<String> {
    let of = |wanted: bool| {
        let is = move |one: &&Condition| matches!(one.kind, ConditionKind::ServerSetting { matters, .. } if matters == wanted);
        comparison.unlike.iter().filter(is)
    };
    let mut named: Vec<String> = of(true).take(SETTINGS_MAX).map(difference).collect();
    let more = of(true).count() - named.len() + of(false).count();
    match (named.is_empty(), more) {
        (true, 0) => return None,
        (_, 0) => {}
        (true, _) => named.push(format!("{} of less weight", plural(more as u64, "setting"))),
        (false, _) => named.push(format!("{} more", plural(more as u64, "setting"))),
    }
    Some(format!("The servers of the {what} differ in {}, which no plan names.", join_and(&named)))
}

/// Why nothing is compared, and what differs; `None` if something is.
pub(super) fn nothing_in_common(comparison: &RunComparison) -> Option<String> {
    if !comparison.places.is_empty() {
        return None;
    }
    if !comparison.unlike.iter().any(|one| one.kind == ConditionKind::NoCommonPlace) {
        let differ = they_differ(comparison, |kind| *kind == ConditionKind::Engine);
        return Some(format!("Nothing can be compared: {}.{differ}", nothing_usable(comparison)));
    }
    let differ = they_differ(comparison, |kind| !is_sentence(kind));
    Some(format!(
        "Nothing can be compared: no point of one has a point of the other with the same work and settings.{differ}"
    ))
}

/// ` They differ in the engine (sqlite against fjall).`, of the conditions that `is_told`; nothing without one.
fn they_differ(comparison: &RunComparison, is_told: fn(&ConditionKind) -> bool) -> String {
    let all: Vec<String> = comparison.unlike.iter().filter(|one| is_told(&one.kind)).map(difference).collect();
    if all.is_empty() { String::new() } else { format!(" They differ in {}.", join_and(&all)) }
}

/// `the points of new cannot be used`
fn nothing_usable(comparison: &RunComparison) -> String {
    let arms = [&comparison.base, &comparison.new].into_iter().zip(comparison.usable);
    let unusable: Vec<String> = arms.filter(|(_, usable)| *usable == 0).map(|(arm, _)| arm_name(arm)).collect();
    if unusable.is_empty() {
        "no repeat can be used in both".to_owned()
    } else {
        format!("the points of {} cannot be used", join_and(&unusable))
    }
}

fn prevention(condition: &Condition) -> String {
    format!("Unlike {}: nothing can be concluded from these figures.", difference(condition))
}

/// `durability (disk against os)`
fn difference(condition: &Condition) -> String {
    let name = condition_name(&condition.kind);
    format!("{name} ({} against {})", listed(&condition.base), listed(&condition.new))
}

pub fn condition_name(kind: &ConditionKind) -> String {
    let name = match kind {
        ConditionKind::Durability => "durability",
        ConditionKind::NoCommonPlace => "work",
        ConditionKind::Engine => "the engine",
        ConditionKind::EngineVersion => "the version of the engine",
        ConditionKind::Work(name) | ConditionKind::Setting(name) | ConditionKind::ServerSetting { name, .. } => {
            return format!("`{name}`");
        }
        ConditionKind::DataPerCache => "data per byte of cache",
        ConditionKind::RunLength => "the length of the run phase",
        ConditionKind::Environment(role, name) => return environment_words(*role, name),
        ConditionKind::Seeds => "the seeds",
        ConditionKind::Order => "the time of measurement",
        ConditionKind::LoadGenerator => "the load generator",
    };
    name.to_owned()
}

/// A condition of a run: in words if its role is enough to know it, else by its name in the report.
fn environment_words(role: ConditionRole, name: &str) -> String {
    match role {
        ConditionRole::Kernel => "the kernel".to_owned(),
        ConditionRole::OperatingSystem => "the operating system".to_owned(),
        ConditionRole::LoadGenerator => "the load generator".to_owned(),
        _ => format!("`{name}`"),
    }
}

/// The name of a condition in JSON: that of the setting or fact, or a word for what is neither.
pub fn condition_key(kind: &ConditionKind) -> String {
    let key = match kind {
        ConditionKind::Durability => "durability",
        ConditionKind::NoCommonPlace => "no_common_point",
        ConditionKind::Engine => "engine",
        ConditionKind::EngineVersion => "engine_version",
        ConditionKind::Work(name) | ConditionKind::Setting(name) | ConditionKind::Environment(_, name) => {
            return name.clone();
        }
        ConditionKind::ServerSetting { name, .. } => return format!("server.{name}"),
        ConditionKind::DataPerCache => "data_per_cache",
        ConditionKind::RunLength => "time",
        ConditionKind::Seeds => "seed",
        ConditionKind::Order => "not_in_turn",
        ConditionKind::LoadGenerator => "load_generator",
    };
    key.to_owned()
}

/// What a condition does to the comparison, as one word.
pub fn effect_word(effect: ConditionEffect) -> &'static str {
    match effect {
        ConditionEffect::Prevents => "prevents",
        ConditionEffect::Weakens => "weakens",
        ConditionEffect::Compared => "compared",
    }
}

fn left_out(comparison: &RunComparison) -> Vec<String> {
    let mut all = Vec::new();
    if comparison.left_out > 0 {
        let points = plural(comparison.left_out as u64, "point");
        all.push(format!("{points} without a valid result, or cut short: in no ratio."));
    }
    if !comparison.lost.is_empty() {
        let lost = lost_sentence(&comparison.lost.iter().collect::<Vec<_>>());
        all.push(format!("{}.", capital(&lost)));
    }
    if comparison.unmatched > 0 && !comparison.places.is_empty() {
        let groups = plural(comparison.unmatched as u64, "group");
        all.push(format!("{groups} of repeats only in one of the two: not compared."));
    }
    all
}

/// A ratio with two decimals, or as many digits as it takes: `0.97`, `12.4`, `0.031`.
pub fn ratio_text(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 999.5 => whole(ratio).to_string(),
        ratio if ratio >= 9.995 => number(ratio).to_string(),
        ratio if ratio >= 0.0995 => format!("{ratio:.2}"),
        ratio if ratio >= 0.00995 => format!("{ratio:.3}"),
        ratio => format!("{ratio:.0e}"),
    }
}

/// `0.83 to 0.88`; a dash for a single pair.
pub fn interval_text(estimate: &RatioEstimate) -> String {
    estimate
        .telling_ci95()
        .map_or_else(|| "-".to_owned(), |[low, high]| format!("{} to {}", ratio_text(low), ratio_text(high)))
}

/// What the design could have shown, and what it takes to show anything.
pub fn design_sentence(comparison: &RunComparison) -> Option<String> {
    if comparison.watches.is_some() {
        return Some(WATCH_NEXT.to_owned());
    }
    let pairs: Vec<u64> = comparison.places.iter().map(|place| place.pairs as u64).collect();
    let (least, most) = (*pairs.iter().min()?, *pairs.iter().max()?);
    let range = if least == most { plural(most, "pair") } else { format!("{least} to {}", plural(most, "pair")) };
    if least < PAIRS_MIN as u64 {
        return Some(format!("With {range} nothing is concluded: it takes at least {PAIRS_MIN} (`--repeat`)."));
    }
    let effects = comparison.speeds().filter_map(|(_, speed)| speed.estimate.telling_effect());
    let (low, high) = effects.fold((f64::INFINITY, 0.0f64), |(low, high), one| (low.min(one), high.max(one)));
    high.is_finite()
        .then(|| format!("With {range} this design would have shown {} in 9 of 10 tries.", effect(low, high)))
}

/// `a difference of 3.0 to 5.0 %`; of more than everything `a factor of 1.5 to 10.3`.
fn effect(low: f64, high: f64) -> String {
    let [least, most] = if high >= 1.0 {
        [ratio_text(1.0 + low), ratio_text(1.0 + high)]
    } else {
        [percent(low).digits().to_owned(), percent(high).to_string()]
    };
    let what = if high >= 1.0 { "a factor" } else { "a difference" };
    if percent(low) == percent(high) { format!("{what} of {most}") } else { format!("{what} of {least} to {most}") }
}

/// What was shown at `place`, and how the costs that follow are to be read.
pub fn cost_heading(place: &PlaceComparison) -> String {
    let name = Some(place_name(place)).filter(|label| !label.is_empty());
    let name = name.unwrap_or_else(|| "The new one".to_owned());
    let verdict = place.speed().map_or(RatioVerdict::Indicative, |speed| speed.estimate.verdict);
    match (verdict, place.changed_costs().count()) {
        (RatioVerdict::Faster | RatioVerdict::Slower, 0) => {
            format!("{name} is {}, and no cost of an op changed for sure.", speed_verdict_word(verdict))
        }
        (RatioVerdict::Faster | RatioVerdict::Slower, _) => {
            format!("{name} is {}. Costs of an op that changed, the most first:", speed_verdict_word(verdict))
        }
        (RatioVerdict::NoDifferenceShown, 0) => {
            format!("{name} shows no difference, and no cost of an op changed for sure.")
        }
        (RatioVerdict::NoDifferenceShown, _) => format!("{name} shows no difference, but costs of an op changed:"),
        (RatioVerdict::Indicative, 0) => format!("{name}: costs of an op that differ most (indicative):"),
        (RatioVerdict::Indicative, _) => format!("{name}: costs of an op that changed, the most first:"),
    }
}

/// The name of a cost, as JSON and CSV have it: `engine_cpu_ns_per_op`, `innodb.reads_per_op`.
pub fn cost_key(metric: &CostMetric) -> String {
    let name = match metric {
        CostMetric::EngineCpu => "engine_cpu_ns",
        CostMetric::ClientCpu => "client_cpu_ns",
        CostMetric::ReadBytes => "read_bytes",
        CostMetric::WrittenBytes => "written_bytes",
        CostMetric::ContextSwitches => "context_switches",
        CostMetric::NetworkBytes => "network_bytes",
        CostMetric::Machine(role) => machine_words(*role).0,
        CostMetric::Engine { source, counter, .. } => return format!("{source}.{counter}_per_op"),
    };
    format!("{name}_per_op")
}

/// The name of a cost, as people read it.
pub fn cost_name(metric: &CostMetric) -> String {
    let name = match metric {
        CostMetric::EngineCpu => "CPU of the engine",
        CostMetric::ClientCpu => "CPU of the clients",
        CostMetric::ReadBytes => "bytes read",
        CostMetric::WrittenBytes => "bytes written",
        CostMetric::ContextSwitches => "context switches",
        CostMetric::NetworkBytes => "bytes over the network",
        CostMetric::Machine(role) => machine_words(*role).1,
        CostMetric::Engine { source, counter, .. } => return format!("{source}: {counter}"),
    };
    name.to_owned()
}

/// The names of the costs that only the kernel counts: for JSON, and for people.
fn machine_words(role: CounterRole) -> (&'static str, &'static str) {
    match role {
        CounterRole::DeviceReadOps => ("device_reads", "reads of the device"),
        CounterRole::DeviceWriteOps => ("device_writes", "writes of the device"),
        CounterRole::DeviceFlushOps => ("device_flushes", "flushes of the device"),
        CounterRole::DeviceBusy => ("device_busy_ns", "time that the device was busy"),
        CounterRole::MachineCpuIowait => ("iowait_ns", "CPU time that waited for I/O"),
        CounterRole::MachineCpuSteal => ("steal_ns", "CPU time that the hypervisor took"),
        CounterRole::QuotaThrottled => ("quota_throttled_ns", "time that the CPU quota took"),
        CounterRole::MemoryStall => ("memory_stall_ns", "time that waited for memory"),
        CounterRole::SwapIn => ("swapped_in_pages", "pages swapped in"),
        _ => ("machine_counter", "a counter of the machine"),
    }
}

/// An amount of `metric` with its unit.
pub fn cost_value(metric: &CostMetric, value: f64) -> String {
    match metric.unit() {
        CounterUnit::Nanoseconds => time(value).to_string(),
        CounterUnit::Bytes => bytes(value).to_string(),
        CounterUnit::Events if value == 0.0 => "0".to_owned(),
        CounterUnit::Events if value < 0.00095 => format!("{value:.1e}"),
        CounterUnit::Events if value < 0.0995 => format!("{value:.3}"),
        CounterUnit::Events => number(value).to_string(),
    }
}

/// `+19 % (17 to 22)`, `3.40 times (3.1 to 3.7)`; of what one arm has none of, that it is new or gone.
pub fn change_text(cost: &CostChange) -> String {
    match &cost.ratio {
        Some(estimate) => ratio_change(estimate),
        None if cost.base < cost.new => "more".to_owned(),
        None if cost.base > cost.new => "less".to_owned(),
        None => "the same".to_owned(),
    }
}

fn ratio_change(estimate: &RatioEstimate) -> String {
    if estimate.ratio >= 2.0 || estimate.ratio <= 0.5 {
        let interval = estimate.telling_ci95().map(|_| format!(" ({})", interval_text(estimate)));
        return format!("x {}{}", ratio_text(estimate.ratio), interval.unwrap_or_default());
    }
    let sign = if estimate.ratio >= 1.0 { "+" } else { "" };
    let interval = estimate
        .telling_ci95()
        .map(|[low, high]| format!(" ({} to {})", whole_percent(low - 1.0), whole_percent(high - 1.0)));
    format!("{sign}{} %{}", whole_percent(estimate.ratio - 1.0), interval.unwrap_or_default())
}

/// What distinguishes a place from the others: `postgres oltp clients 16`.
pub fn place_name(place: &PlaceComparison) -> String {
    settings_label(&place.label)
}

/// What a row of a table is called: the place in phrases, or below it the percentile.
pub fn row_name(place: &PlaceComparison, metric: &MetricRatio) -> Vec<String> {
    if metric.metric.is_speed() {
        let label = phrases(&place.label);
        if label.is_empty() { vec![metric_head(metric.metric, place.unit)] } else { label }
    } else {
        vec![format!("  {}", metric_head(metric.metric, place.unit))]
    }
}

/// `lost: clients 64 (4 usable repeats in the base, none in the new)`
pub fn lost_sentence(lost: &[&LostPlace]) -> String {
    let one = |place: &&LostPlace| match settings_label(&place.label) {
        label if label.is_empty() => repeats_left(place),
        label => format!("{label} ({})", repeats_left(place)),
    };
    format!("lost: {}", listed(&lost.iter().map(one).collect::<Vec<_>>()))
}

/// `4 usable repeats in the base, none in the new`
pub fn repeats_left(lost: &LostPlace) -> String {
    let [base, new] = lost.usable;
    let few = if new == 0 { "none".to_owned() } else { new.to_string() };
    format!("{} in the base, {few} in the new", plural(base as u64, "usable repeat"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{compared, estimate_of};

    #[test]
    fn machines_with_a_price_have_what_a_year_costs_and_others_have_no_such_sentence() {
        let mut one = compared();
        assert_eq!(yearly_costs(&one), Vec::<String>::new());
        (one.base.run, one.new.run) = ("a".into(), "b".into());
        (one.base.hourly.price, one.new.hourly.price, one.new.hourly.watts) = (Some(0.4), Some(0.25), Some(100.0));
        assert_eq!(
            yearly_costs(&one),
            ["A year costs 3,504 with `a` and 2,190 with `b`.", "A year takes 876 kWh with `b`."]
        );
    }

    #[test]
    fn points_that_cannot_be_used_are_told_from_those_that_have_no_place_in_common() {
        let mut one = compared();
        one.places.clear();
        one.usable = [4, 0];
        assert_eq!(cautions(&one), ["Nothing can be compared: the points of new cannot be used."]);
        let [base, new] = [vec!["fjall".to_owned()], vec!["sqlite".to_owned()]];
        one.unlike.push(Condition { kind: ConditionKind::Engine, base, new, effect: ConditionEffect::Compared });
        assert!(
            cautions(&one)[0].ends_with(" They differ in the engine (fjall against sqlite)."),
            "{:?}",
            cautions(&one)
        );
        one.unlike.pop();
        one.unlike.push(Condition {
            kind: ConditionKind::NoCommonPlace,
            base: Vec::new(),
            new: Vec::new(),
            effect: ConditionEffect::Prevents,
        });
        assert!(cautions(&one)[0].contains("no point of one has a point of the other"), "{:?}", cautions(&one));
    }

    fn change(pairs: &[(f64, f64)]) -> String {
        let metric = CostMetric::Engine { source: "innodb".into(), counter: "reads".into(), unit: CounterUnit::Events };
        change_text(&CostChange::from_pairs(metric, &crate::testing::repeat_pairs(pairs)).expect("it matters"))
    }

    #[test]
    fn small_changes_are_percentages_and_large_ones_factors() {
        assert_eq!(change(&[(10.0, 12.0), (10.0, 12.0)]), "+20 % (20 to 20)");
        assert_eq!(change(&[(10.0, 9.0), (10.0, 9.0)]), "-10 % (-10 to -10)");
        assert_eq!(change(&[(10.0, 30.0)]), "x 3.00");
        assert_eq!([change(&[(0.0, 30.0)]), change(&[(30.0, 0.0)])], ["more", "less"]);
    }

    #[test]
    fn ratios_have_the_digits_that_they_need() {
        assert_eq!(
            [0.004, 0.0312, 0.971, 12.42, 12_345.0].map(ratio_text),
            ["4e-3", "0.031", "0.97", "12.4", "12,345"]
        );
    }

    #[test]
    fn what_is_compared_stands_alone_and_what_weakens_it_is_named() {
        let mut one = compared();
        let texts = introduction(&one);
        assert_eq!(texts[0], "Base: old (postgres 15.18), 4 repeats. New: new (postgres 15.18), 4 repeats.");
        assert_eq!(texts[1], "The runs differ in nothing but `secondary_index` (true against false).");
        assert!(texts[2].starts_with("The runs were not measured in turn"), "{texts:?}");
        let condition = |kind, effect| Condition { kind, base: vec!["a".into()], new: vec!["b".into()], effect };
        let kernel = ConditionKind::Environment(ConditionRole::Kernel, "kernel.release".to_owned());
        one.unlike.push(condition(kernel, ConditionEffect::Weakens));
        let texts = introduction(&one);
        assert_eq!(texts[1], "The runs are compared by `secondary_index` (true against false).");
        assert_eq!(texts[2], "The runs differ in the kernel (a against b). This may be the reason for a difference.");
        one.unlike = vec![condition(ConditionKind::Durability, ConditionEffect::Prevents)];
        assert_eq!(
            introduction(&one)[1],
            "Unlike durability (a against b): nothing can be concluded from these figures."
        );
        assert_eq!(introduction(&one).len(), 2, "it does not go on with: they differ in nothing");
        one.places.clear();
        let work = condition(ConditionKind::Work("mode".into()), ConditionEffect::Prevents);
        one.unlike = vec![condition(ConditionKind::NoCommonPlace, ConditionEffect::Prevents), work];
        let answer = crate::wording::compared_sweep::answers(&one);
        assert!(answer[0].starts_with("Nothing can be compared: "), "{answer:?}");
        assert!(answer.len() == 1 && answer[0].ends_with("They differ in `mode` (a against b)."), "{answer:?}");
        assert_eq!(introduction(&one).len(), 1, "{:?}", introduction(&one));
    }

    #[test]
    fn a_search_without_a_result_has_no_repeats_and_no_engine_in_brackets() {
        let mut one = compared();
        (one.base.engines, one.base.repeats) = (Vec::new(), 0);
        let told = introduction(&one);
        assert!(told[0].starts_with("Base: old, without a result. New: new (postgres 15.18), 4 repeats"), "{told:?}");
    }

    #[test]
    fn settings_of_the_server_that_no_plan_sets_are_named_if_they_matter_and_else_counted() {
        let mut one = compared();
        let setting = |name: &str, matters| Condition {
            kind: ConditionKind::ServerSetting { name: name.into(), matters },
            base: vec!["a".into()],
            new: vec!["b".into()],
            effect: ConditionEffect::Weakens,
        };
        one.unlike.push(setting("wal_level", true));
        let texts = introduction(&one);
        assert_eq!(texts[1], "The runs are compared by `secondary_index` (true against false).");
        let expected = "The servers of the runs differ in `wal_level` (a against b), which no plan names.";
        assert_eq!(texts[2], expected);
        one.unlike.extend([setting("jit", false), setting("autovacuum", false)]);
        assert!(introduction(&one)[2].contains("(a against b) and 2 settings more, which"), "{:?}", introduction(&one));
        one.unlike.retain(|one| !matches!(one.kind, ConditionKind::ServerSetting { matters: true, .. }));
        assert!(introduction(&one)[2].contains("in 2 settings of less weight, which no plan names."));
    }

    #[test]
    fn the_design_is_told_by_its_pairs_and_what_it_could_have_shown() {
        let mut one = compared();
        let text = design_sentence(&one).expect("there are pairs");
        assert!(text.starts_with("With 4 pairs this design would have shown a difference of "), "{text}");
        assert_eq!(effect(0.03, 0.05), "a difference of 3.0 to 5.0 %");
        assert_eq!([effect(0.5, 9.29), effect(2.0, 2.0)], ["a factor of 1.50 to 10.3", "a factor of 3.00"]);
        (one.places[0].pairs, one.places[0].metrics[0].estimate) = (3, estimate_of(&[(1.0, 2.0); 3]));
        assert_eq!(
            design_sentence(&one).unwrap(),
            "With 3 pairs nothing is concluded: it takes at least 4 (`--repeat`)."
        );
    }
}
