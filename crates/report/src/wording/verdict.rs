//! The verdict in sentences: how much, what limits it, how steadily, and how far to trust it.
//!
//! In: the typed verdict of an analysis. Out: whole sentences, the answer first. They are not wrapped: a page knows its width.
//! Limits: a workload with many groups is summed up by its range, and of many workloads the first are described; the report has all.

use super::background::kept_percent;
use super::label::{point_label, settings_label};
use super::list::join_and;
use super::quantity::{Quantity, count, floored_percent, megabytes_per_s, percent, plural, rate, time, wide_interval};
use super::slowdown;
use analysis::finding::machine::Limit;
use analysis::repeats::MeanOfRepeats;
use analysis::slowdown::Slowdown;
use analysis::sweep::StepPlace;
use analysis::verdict::{
    BackgroundRate, Bottleneck, Capacity, GroupVerdict, LongestWait, RateReached, Reason, Scaling, Steadiness, Tally,
    Trust, Unmeasured,
};
use analysis::{Analysis, Code, Role, Setting, Validity, Verdict};
use model::Nanos;

/// The most sentences about how much is done.
const SUBJECTS_MAX: usize = 4;
/// So few groups have a sentence each.
const DESCRIBED_MAX: usize = 3;
/// More groups than this are summed up by their range.
const GROUPS_MAX: usize = 8;
/// The most sentences about slowdowns.
const SLOWDOWNS_MAX: usize = 3;
/// The most groups or reasons that are named in one list.
const NAMED_MAX: usize = 4;
/// The durability that needs no mention.
const USUAL_DURABILITY: &str = "disk";

/// The verdict of `analysis`, at least one sentence.
pub fn sentences(analysis: &Analysis) -> Vec<String> {
    let verdict = &analysis.verdict;
    let mut all = how_much(verdict);
    all.extend(slowdowns(verdict));
    all.extend(left_out(verdict));
    all.extend(not_measured(&verdict.trust.unmeasured));
    all.extend(bottlenecks(&verdict.bottleneck()));
    all.extend(steadiness(analysis, &verdict.steadiness()));
    all.extend(trust(&verdict.trust));
    all
}

/// Groups that do the same work: of one workload, and of one step if it has steps.
type WorkloadGroups<'a> = Vec<&'a GroupVerdict>;

fn how_much(verdict: &Verdict) -> Vec<String> {
    if verdict.groups.is_empty() {
        return vec!["Nothing was measured.".to_owned()];
    }
    let known = verdict.groups.iter().filter(|group| group.capacity != Capacity::Unknown);
    let families = families(known);
    if families.is_empty() {
        let is_one = verdict.trust.validity.points() == 1;
        return vec![
            if is_one { "The only point has no usable result." } else { "No point has a usable result." }.to_owned(),
        ];
    }
    let by_workload = || families.chunk_by(|a, b| a[0].workload == b[0].workload);
    let is_small =
        families.iter().map(Vec::len).sum::<usize>() <= DESCRIBED_MAX && !by_workload().any(is_lone_sequence);
    if is_small {
        return families.iter().flatten().map(|group| group_sentence(group)).collect();
    }
    // A step that is timed as a whole has its duration in a sentence of its own, however many other steps there are.
    let (timed, subjects): (Vec<WorkloadSentence>, Vec<WorkloadSentence>) =
        by_workload().flat_map(workload_sentences).partition(|subject| subject.is_timed);
    let shown = if subjects.len() > SUBJECTS_MAX { SUBJECTS_MAX - 1 } else { subjects.len() };
    let all = subjects[..shown].iter().chain(timed.iter().take(SUBJECTS_MAX));
    let mut sentences: Vec<String> = all.map(|subject| subject.sentence.clone()).collect();
    let others: Vec<String> = subjects[shown..].iter().map(|subject| subject.name.clone()).collect();
    if !others.is_empty() {
        sentences.push(format!("See the tables for {}.", join_and(&others)));
    }
    sentences
}

/// What has a rate comes before what has only a duration.
fn families<'a>(groups: impl Iterator<Item = &'a GroupVerdict>) -> Vec<WorkloadGroups<'a>> {
    let mut families: Vec<WorkloadGroups> = Vec::new();
    for group in groups {
        let is_like =
            |family: &&mut WorkloadGroups| family[0].workload == group.workload && family[0].step == group.step;
        match families.iter_mut().find(is_like) {
            Some(family) => family.push(group),
            None => families.push(vec![group]),
        }
    }
    let workloads: Vec<&str> = families.iter().map(|family| family[0].workload.as_str()).collect();
    let place = |family: &WorkloadGroups| workloads.iter().position(|name| *name == family[0].workload);
    families.sort_by_key(|family| (place(family), matches!(family[0].capacity, Capacity::Duration { .. })));
    families
}

/// A sentence about a workload or a step of it.
struct WorkloadSentence {
    name: String,
    sentence: String,
    /// Whether it is about durations and not about rates.
    is_timed: bool,
}

/// The sentences about one workload.
fn workload_sentences(families: &[WorkloadGroups]) -> Vec<WorkloadSentence> {
    if is_lone_sequence(families) {
        let (name, sentence) = (families[0][0].workload.clone(), sequence_sentence(families));
        return vec![WorkloadSentence { name, sentence, is_timed: false }];
    }
    let is_timed =
        |family: &WorkloadGroups| family.iter().all(|group| matches!(group.capacity, Capacity::Duration { .. }));
    let subject = |family: &WorkloadGroups| WorkloadSentence {
        name: family_name(family),
        sentence: family_sentence(family),
        is_timed: is_timed(family),
    };
    families.iter().map(subject).collect()
}

/// Whether the families of one workload are the steps of a single sequence.
fn is_lone_sequence(families: &[WorkloadGroups]) -> bool {
    families.len() > 1 && families.iter().all(|family| family.len() == 1)
}

/// `insert`, `insert l.i1`
fn family_name(family: &WorkloadGroups) -> String {
    let step = family[0].step.as_ref().map_or(String::new(), |step| format!(" {step}"));
    format!("{}{step}", family[0].workload)
}

/// `insert on sqlite: l.i0 reaches 70.9k rows/s, l.i1 14.7k rows/s and l.x takes 2.70 s.`
fn sequence_sentence(families: &[WorkloadGroups]) -> String {
    let groups: Vec<&GroupVerdict> = families.iter().map(|family| family[0]).collect();
    let step = |group: &&GroupVerdict| (group.step.clone().unwrap_or_default(), amount(group));
    let head = format!("{} on {}{}", groups[0].workload, groups[0].engine, durability(&groups));
    format!("{head}: {}.", clauses(&groups.iter().map(step).collect::<Vec<_>>()))
}

fn family_sentence(family: &WorkloadGroups) -> String {
    match family.as_slice() {
        [only] => group_sentence(only),
        groups if groups.len() > GROUPS_MAX => range_sentence(family),
        _ => matrix_sentence(family).unwrap_or_else(|| list_sentence(family)),
    }
}

/// `sqlite oltp reaches 2.00k/s at 4 clients, with p99 475 us; 16 clients give no more.`
fn group_sentence(group: &GroupVerdict) -> String {
    let head = format!("{}{}", settings_label(&group.label), durability(&[group]));
    match &group.capacity {
        Capacity::Rate(reached) if reached.is_overloaded => {
            let served = rate(reached.ops_per_s.mean);
            let offered =
                reached.offered_per_s.map_or_else(|| "what was offered".to_owned(), |per_s| rate(per_s).to_string());
            format!(
                "{head} serves {served} of {offered} offered: it is overloaded, and percentiles are of served operations only."
            )
        }
        Capacity::Rate(reached) => {
            let verb = rate_verb(reached);
            let at = place(&reached.place).map_or(String::new(), |place| format!(" at {place}"));
            let p99 = reached.p99_ns.map_or(String::new(), |ns| format!(", with p99 {}", Nanos(ns)));
            let background = reached.background.as_ref().map_or(String::new(), background);
            let (reached_rate, scaling) = (detailed_rate(reached), scaling(&reached.scaling));
            format!("{head} {verb} {reached_rate}{at}{p99}{scaling}{background}.")
        }
        _ => format!("{head} {}.", amount(group).join(" ")),
    }
}

/// `indexes 0: sqlite reaches 8.40k/s and fjall 41.0k/s; indexes 3: ...`, if each of several engines was measured in each of several
/// settings.
fn matrix_sentence(family: &WorkloadGroups) -> Option<String> {
    let (mut engines, mut settings): (Vec<&str>, Vec<String>) = Default::default();
    for group in family {
        let setting = setting(family, group);
        if !engines.contains(&group.engine.as_str()) {
            engines.push(&group.engine);
        }
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    let is_complete = engines.len() * settings.len() == family.len();
    if !is_complete || engines.len() < 2 {
        return None;
    }
    let at = |wanted: &String| {
        let own = family.iter().filter(|group| setting(family, group) == *wanted);
        let parts: Vec<_> = own.map(|group| (group.engine.clone(), amount(group))).collect();
        let with = if wanted.is_empty() { String::new() } else { format!("with {wanted}, ") };
        format!("{with}{}", clauses(&parts))
    };
    let all: Vec<String> = settings.iter().map(at).collect();
    Some(format!("{}: {}.", family_head(family), all.join("; ")))
}

/// `file: rndrd reaches 25.8k/s (423 MB/s) and rndwr 31.5k/s (516 MB/s), both at depth 32.`
fn list_sentence(family: &WorkloadGroups) -> String {
    let places: Vec<Option<String>> =
        family.iter().map(|group| reached(group).and_then(|one| place(&one.place))).collect();
    let is_one_place = places.iter().all(|place| *place == places[0]);
    let part = |(group, own): (&&GroupVerdict, &Option<String>)| {
        let at = own.as_ref().filter(|_| !is_one_place).map_or(String::new(), |place| format!(" at {place}"));
        let [verb, figure] = amount(group);
        (name_in_family(family, group), [verb, figure + &payload(group) + &at])
    };
    let parts: Vec<_> = family.iter().zip(&places).map(part).collect();
    let together = match (&places[0], family.len()) {
        (Some(place), 2) if is_one_place => format!(", both at {place}"),
        (Some(place), _) if is_one_place => format!(", all at {place}"),
        _ => String::new(),
    };
    format!("{}: {}{together}.", family_head(family), clauses(&parts))
}

/// `insert: 9 groups range from 8.20k/s (indexes 8) to 9.00k/s (indexes 0).`
fn range_sentence(family: &WorkloadGroups) -> String {
    let size = |group: &&&GroupVerdict| match &group.capacity {
        Capacity::Rate(reached) => headline_rate(reached).0.mean,
        Capacity::Duration { seconds, .. } => seconds.mean,
        Capacity::Unknown => 0.0,
    };
    let by_size = |a: &&&GroupVerdict, b: &&&GroupVerdict| size(a).total_cmp(&size(b));
    let ends = family.iter().min_by(by_size).into_iter().chain(family.iter().max_by(by_size));
    let shown = |group: &&GroupVerdict| format!("{} ({})", amount(group)[1], name_in_family(family, group));
    let (head, ends): (String, Vec<String>) = (family_head(family), ends.map(shown).collect());
    format!("{head}: {} range from {}.", plural(family.len() as u64, "group"), ends.join(" to "))
}

/// `sqlite reaches 8.40k/s, fjall 41.0k/s and rocksdb takes 3.00 s`: a verb is written when it changes.
fn clauses(parts: &[(String, [String; 2])]) -> String {
    let mut before = "";
    let mut clauses = Vec::new();
    for (name, [verb, figure]) in parts {
        clauses.push(if verb == before { format!("{name} {figure}") } else { format!("{name} {verb} {figure}") });
        before = verb;
    }
    join_and(&clauses)
}

/// The verb and the figure of what a group does: `reaches 38.2k/s`, `takes 2.70 s`.
fn amount(group: &GroupVerdict) -> [String; 2] {
    match &group.capacity {
        Capacity::Rate(reached) => {
            let (value, unit) = headline_rate(reached);
            let offered = reached.offered_per_s.filter(|_| reached.is_overloaded);
            let offered = offered.map_or(String::new(), |offered| format!(" of {} offered", rate(offered)));
            [
                rate_verb(reached).to_owned(),
                format!("{}{unit}{}{offered}{}", count(value.mean), wide_interval(value), mean_of(reached)),
            ]
        }
        Capacity::Duration { seconds: taken, .. } => ["takes".to_owned(), seconds(taken.mean).to_string()],
        Capacity::Unknown => ["has".to_owned(), "no usable result".to_owned()],
    }
}

/// An open loop does not show how much could be reached.
fn rate_verb(reached: &RateReached) -> &'static str {
    if reached.offered_per_s.is_some() { "serves" } else { "reaches" }
}

/// Rows if any are inserted, else operations.
fn headline_rate(reached: &RateReached) -> (&MeanOfRepeats, &'static str) {
    match &reached.rows_per_s {
        Some(rows) if rows.mean > 0.0 => (rows, " rows/s"),
        _ => (&reached.ops_per_s, "/s"),
    }
}

/// The rate of operations, and what it amounts to if that differs: `1.00k/s (20.0k rows/s)`.
fn detailed_rate(reached: &RateReached) -> String {
    let ops = reached.ops_per_s.mean;
    let differs = |value: &f64| count(*value) != count(ops);
    let rows = reached.rows_per_s.map(|rows| rows.mean).filter(|rows| *rows > 0.0).filter(differs);
    let queries = reached.queries_per_s.map(|queries| queries.mean).filter(differs);
    let detail = match (rows, queries, reached.bytes_per_s) {
        (Some(rows), ..) => format!(" ({} rows/s)", count(rows)),
        (None, Some(queries), _) => format!(" ({} queries/s)", count(queries)),
        (None, None, bytes) if bytes > 0.0 => format!(" ({})", megabytes_per_s(bytes)),
        _ => String::new(),
    };
    format!("{}{}{detail}{}", rate(ops), wide_interval(&reached.ops_per_s), mean_of(reached))
}

/// ` (mean of 3)`, if the point was repeated.
fn mean_of(reached: &RateReached) -> String {
    let repeats = reached.ops_per_s.repeats;
    if repeats > 1 { format!(" (mean of {repeats})") } else { String::new() }
}

/// ` (423 MB/s)`, if the group moves payload and inserts nothing.
fn payload(group: &GroupVerdict) -> String {
    let bytes = reached(group).filter(|one| one.rows_per_s.is_none() && one.queries_per_s.is_none());
    let bytes = bytes.map(|one| one.bytes_per_s).filter(|bytes| *bytes > 0.0);
    bytes.map_or(String::new(), |bytes| format!(" ({})", megabytes_per_s(bytes)))
}

fn reached(group: &GroupVerdict) -> Option<&RateReached> {
    match &group.capacity {
        Capacity::Rate(reached) => Some(reached),
        _ => None,
    }
}

/// `4 clients`, `depth 8`, `4 clients and depth 8`
fn place(place: &StepPlace) -> Option<String> {
    let clients = place.clients.map(|n| plural(u64::from(n), "client"));
    let depth = place.depth.map(|depth| format!("depth {depth}"));
    let parts: Vec<String> = clients.into_iter().chain(depth).collect();
    (!parts.is_empty()).then(|| join_and(&parts))
}

fn scaling(scaling: &Scaling) -> String {
    let words = |at: &StepPlace| place(at).unwrap_or_default();
    match scaling {
        Scaling::NotVaried => String::new(),
        Scaling::Rising => "; still rising".to_owned(),
        Scaling::Levelled { at, share } => format!("; {} already {} {} of it", words(at), give(at), percent(*share)),
        Scaling::NoGain { last } => format!("; {} {} no more", words(last), give(last)),
        Scaling::Falling { last, fall_share } => {
            format!("; {} {} {} slower", words(last), be(last), percent(*fall_share))
        }
    }
}

/// The verb behind a [`place`].
fn give(place: &StepPlace) -> &'static str {
    if is_plural(place) { "give" } else { "gives" }
}

fn be(place: &StepPlace) -> &'static str {
    if is_plural(place) { "are" } else { "is" }
}

fn is_plural(place: &StepPlace) -> bool {
    matches!(place, StepPlace { clients: Some(2..), .. } | StepPlace { clients: Some(_), depth: Some(_) })
}

/// `; insert in the background reaches 498 of 500/s (99.6 %)`
fn background(background: &BackgroundRate) -> String {
    let (done, asked) = (count(background.ops_per_s), rate(background.asked_per_s));
    let kept = kept_percent(background.kept);
    format!("; {} in the background reaches {done} of {asked} ({kept} %)", background.kinds.join(" and "))
}

/// `insert l.i1 on sqlite (durability os)`: what all groups of `family` have in common.
fn family_head(family: &WorkloadGroups) -> String {
    let first = family[0];
    let common = first.label.iter().filter(|setting| setting.role == Role::Work && !setting.is_step());
    let work: Vec<&Setting> = common.filter(|setting| is_common(family, setting)).collect();
    let work = if work.is_empty() { String::new() } else { format!(" {}", settings_label(work)) };
    let has_one_engine = first.engine != first.workload && family.iter().all(|group| group.engine == first.engine);
    let on = if has_one_engine { format!(" on {}", first.engine) } else { String::new() };
    format!("{}{work}{on}{}", family_name(family), durability(family))
}

/// What distinguishes the settings of `group` from those of its family, without its engine.
fn setting(family: &WorkloadGroups, group: &GroupVerdict) -> String {
    settings_in_family(family, group, |setting| setting.role != Role::Engine)
}

/// What distinguishes `group` in its family; if nothing does, all its settings.
fn name_in_family(family: &WorkloadGroups, group: &GroupVerdict) -> String {
    let name = settings_in_family(family, group, |_| true);
    if name.is_empty() { settings_label(&group.label) } else { name }
}

fn settings_in_family(family: &WorkloadGroups, group: &GroupVerdict, is_wanted: impl Fn(&Setting) -> bool) -> String {
    let is_own = |setting: &&Setting| setting.role != Role::Workload && !setting.is_step();
    let kept = group.label.iter().filter(is_own).filter(|setting| is_wanted(setting) && !is_common(family, setting));
    settings_label(kept)
}

fn is_common(family: &WorkloadGroups, setting: &Setting) -> bool {
    family.iter().all(|group| group.label.iter().any(|own| own == setting))
}

/// ` (durability os)`, if all groups have one that is not the usual one. If they differ, their labels have it.
fn durability(groups: &[&GroupVerdict]) -> String {
    let first = groups[0].durability.as_deref().filter(|word| *word != USUAL_DURABILITY);
    let common = first.filter(|word| groups.iter().all(|group| group.durability.as_deref() == Some(*word)));
    common.map_or(String::new(), |word| format!(" (durability {word})"))
}

/// What slower storage and larger data cost, as far as it was shown.
fn slowdowns(verdict: &Verdict) -> Vec<String> {
    let Some(comparison) = &verdict.comparison else { return Vec::new() };
    let is_shown = |one: &&[Slowdown]| one.iter().any(Slowdown::is_shown);
    let shown: Vec<&[Slowdown]> = comparison.by_change().filter(is_shown).collect();
    let mut sentences: Vec<String> = shown.iter().take(SLOWDOWNS_MAX).map(|one| slowdown::sentence(one)).collect();
    if shown.len() > SLOWDOWNS_MAX {
        sentences.push(format!("The findings have {} more such comparisons.", shown.len() - SLOWDOWNS_MAX));
    }
    sentences
}

/// `Invalid: file rndrd (3 points) and 2 of 3 points of file rndwr.`
fn left_out(verdict: &Verdict) -> Option<String> {
    let part = |group: &GroupVerdict| {
        let (invalid, points, name) = (group.validity.invalid, group.validity.points(), settings_label(&group.label));
        match invalid {
            0 => None,
            _ if group.steadiness.measured == 0 && !verdict.trust.unmeasured.is_empty() => None,
            _ if invalid < points => Some(format!("{invalid} of {points} points of {name}")),
            1 if points == 1 => Some(name),
            _ => Some(format!("{name} ({})", plural(points as u64, "point"))),
        }
    };
    let parts: Vec<String> = verdict.groups.iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| format!("Invalid: {}.", first_ones(&parts, "group")))
}

/// `Not measured: postgres oltp (4 points) and 1 of 2 points of sqlite oltp.`
fn not_measured(unmeasured: &[Unmeasured]) -> Option<String> {
    let part = |one: &Unmeasured| {
        let name =
            if one.engine == one.workload { one.engine.clone() } else { format!("{} {}", one.engine, one.workload) };
        match (one.missing, one.planned) {
            (missing, planned) if missing < planned => format!("{missing} of {planned} points of {name}"),
            (_, 1) => name,
            (_, planned) => format!("{name} ({})", plural(planned as u64, "point")),
        }
    };
    let parts: Vec<String> = unmeasured.iter().map(part).collect();
    (!parts.is_empty()).then(|| format!("Not measured: {}.", first_ones(&parts, "engine")))
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

/// What limited points, which ones nothing limited, and which ones other processes disturbed too much to tell.
fn bottlenecks(all: &Bottleneck) -> Vec<String> {
    let points = |limit: Limit| all.limits.get(&limit).copied().filter(|points| *points > 0);
    let of_points = |points: usize| match (points, all.judged) {
        (_, 1) => String::new(),
        (2, 2) => " at both points".to_owned(),
        (points, judged) if points == judged => format!(" at all {points} points"),
        (points, judged) => format!(" at {points} of {judged} points"),
    };
    let served =
        points(Limit::Schedule).map(|n| format!("No bottleneck{}: the offered rate was served.", of_points(n)));
    let disturbed = points(Limit::OtherProcesses)
        .map(|n| format!("The bottleneck cannot be judged{}: other processes used the CPU.", of_points(n)));
    [bottleneck(all), served, disturbed].into_iter().flatten().collect()
}

/// `Bottleneck: a busy disk (3 points), a single core (3); unknown for 3 of 13.`
fn bottleneck(all: &Bottleneck) -> Option<String> {
    let named = |(nth, (limit, points)): (usize, (&Limit, &usize))| match nth {
        _ if all.judged == 1 => limit_words(*limit).to_owned(),
        0 => format!("{} ({})", limit_words(*limit), points_of(*points, all.judged)),
        _ => format!("{} ({points})", limit_words(*limit)),
    };
    let is_own = |(limit, _): &(&Limit, &usize)| !matches!(limit, Limit::Schedule | Limit::OtherProcesses);
    let limits = all.limits.iter().filter(is_own).enumerate().map(named).collect::<Vec<_>>().join(", ");
    match (all.judged, all.unknown) {
        (0, _) => None,
        (_, 0) if limits.is_empty() => None,
        (_, 0) => Some(format!("Bottleneck: {limits}.")),
        (judged, unknown) if unknown < judged || !limits.is_empty() => {
            Some(format!("Bottleneck: {limits}; unknown for {unknown} of {judged}."))
        }
        (1, _) => Some("The bottleneck is unknown: no counter was at its limit.".to_owned()),
        (2, _) => Some("The bottleneck is unknown for both points.".to_owned()),
        (judged, _) => Some(format!("The bottleneck is unknown for all {judged} points.")),
    }
}

/// `1 point`, `both points`, `3 points`
fn points_of(points: usize, all: usize) -> String {
    if (points, all) == (2, 2) { "both points".to_owned() } else { plural(points as u64, "point") }
}

/// A time in seconds with the unit that fits.
fn seconds(seconds: f64) -> Quantity {
    time(seconds * 1e9)
}

fn limit_words(limit: Limit) -> &'static str {
    match limit {
        Limit::Disk => "a busy disk",
        Limit::Cpu => "CPU",
        Limit::OtherProcesses => "other processes, which used the CPU",
        Limit::Client => "the load generator's threads",
        Limit::OneCore => "a single core",
        Limit::OneAtATime => "one operation at a time",
        Limit::Schedule => "the offered rate, which was served",
        Limit::TargetOrClients => "the engine or too few clients",
        Limit::NotShown => "unknown",
    }
}

/// `11 of 13 points ran steadily; longest stall 733 ms (sqlite oltp clients 16).`
fn steadiness(analysis: &Analysis, all: &Steadiness) -> Option<String> {
    let is_named = all.measured > 1;
    let stall = all.longest_stall.map(|wait| longest("longest stall", analysis, &wait, is_named));
    let is_longer = |wait: &LongestWait| all.longest_stall.is_none_or(|stall| stall.seconds < wait.seconds);
    let wait = all.longest_wait.filter(is_longer);
    let wait = wait.map(|wait| longest("longest wait of a client", analysis, &wait, is_named));
    let drifted = match (all.drifted, all.measured) {
        (0, _) => None,
        (_, 1) => Some("its rate drifted".to_owned()),
        (drifted, _) => Some(format!("the rate of {drifted} drifted")),
    };
    let parts: Vec<String> =
        [Some(steady_points(analysis, all)?), stall, wait, drifted].into_iter().flatten().collect();
    Some(format!("{}.", parts.join("; ")))
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
    let of_id = |id: &u32| analysis.points.iter().find(|point| point.id == *id).map(point_label);
    let mut names: Vec<String> = all.unsteady.iter().filter(|_| !are_all).filter_map(of_id).collect();
    if names.len() > NAMED_MAX {
        let others = names.len() - (NAMED_MAX - 1);
        names.truncate(NAMED_MAX - 1);
        names.push(format!("{others} more"));
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

fn longest(what: &str, analysis: &Analysis, wait: &LongestWait, is_named: bool) -> String {
    let point = analysis.points.iter().find(|point| point.id == wait.point && is_named);
    let name = point.map_or(String::new(), |point| format!(" ({})", point_label(point)));
    format!("{what} {}{name}", seconds(wait.seconds))
}

/// `3 results are valid, 10 only indicative (9 ran too short). All operations succeeded.`
fn trust(trust: &Trust) -> Option<String> {
    let tally = trust.validity;
    (tally.points() > 0)
        .then(|| format!("{}{}", validity(&tally, &trust.reasons, trust.unmeasured.is_empty()), success(trust.success)))
}

fn validity(tally: &Tally, reasons: &[Reason], has_all: bool) -> String {
    let points = tally.points();
    let why = |validity: Validity, count: usize| reasons_of(validity, count, reasons);
    if points == tally.valid {
        return match points {
            1 if has_all => "The result is valid.".to_owned(),
            1 => "1 result is valid.".to_owned(),
            2 => "Both results are valid.".to_owned(),
            _ => format!("All {points} results are valid."),
        };
    }
    let kinds = [
        (tally.valid, "valid", Validity::Valid),
        (tally.indicative, "only indicative", Validity::Indicative),
        (tally.invalid, "invalid", Validity::Invalid),
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
    let others = kinds.map(|(count, word, kind)| format!(", {count} {word}{}", why(kind, count)));
    format!("{first}{}{}.", why(kind, count), others.collect::<String>())
}

/// ` (2 had failed operations, 9 ran too short)`, the gravest first.
fn reasons_of(validity: Validity, points: usize, reasons: &[Reason]) -> String {
    let own = reasons.iter().filter(|reason| reason.validity == validity);
    let words = |reason: &Reason| match points {
        1 => format!("it {}", reason_words(reason)),
        _ => format!("{} {}", reason.points, reason_words(reason)),
    };
    let parts: Vec<String> = own.map(words).collect();
    match parts.len() {
        0 => String::new(),
        1..=NAMED_MAX => format!(" ({})", join_and(&parts)),
        all => format!(" ({}; see the findings for {} more)", parts[..NAMED_MAX].join(", "), all - NAMED_MAX),
    }
}

/// What makes points less than valid, by the code of the finding, in the past tense: it suits one point and many.
const REASONS: [(Code, &str); 23] = [
    (Code::Corrupt, "read back wrong data"),
    (Code::Incomplete, "did not complete"),
    (Code::Interrupted, "stopped early: interrupted, or the disk was full"),
    (Code::Hung, "left clients blocked at the end"),
    (Code::ClockGap, "lost time while nothing was recorded"),
    (Code::Plausibility, "showed impossible numbers"),
    (Code::LittlesLaw, "showed more operations in flight than clients"),
    (Code::Errors, "had failed operations"),
    (Code::LimitEscaped, "used a device that exceeded its storage limit"),
    (Code::ForeignCpu, "lost CPU time to other processes or the hypervisor"),
    (Code::Swap, "ran short of memory"),
    (Code::ClientBound, "had a busy or late load generator"),
    (Code::Overload, "did not serve all arrivals in time"),
    (Code::BackgroundRateMissed, "missed the rate of the background load"),
    (Code::CutShort, "ended before the work was done"),
    (Code::Cached, "read from a cache"),
    (Code::Unsteady, "drifted"),
    (Code::NotSteady, "did not settle"),
    (Code::WriteDebt, "left writes pending"),
    (Code::AccountsDiffer, "had conflicting write counts"),
    (Code::WideInterval, "had a wide confidence interval"),
    (Code::FewSamples, "had too few operations for the high percentiles"),
    (Code::TooShort, "ran too short"),
];

fn reason_words(reason: &Reason) -> String {
    let code = reason.code;
    match (code, reason.validity) {
        (Code::LittlesLaw, Validity::Indicative) => return "had clients busy outside operations".to_owned(),
        (Code::FewSamples, Validity::Invalid) => return "did no operation".to_owned(),
        _ => {}
    }
    let known = REASONS.iter().find(|(known, _)| *known == code);
    known.map_or_else(|| format!("had the finding `{}`", code.as_str()), |(_, words)| (*words).to_owned())
}

fn success(success: Option<[f64; 2]>) -> String {
    let Some(range) = success else { return String::new() };
    match range.map(floored_percent) {
        [least, _] if least == "100" => " All operations succeeded.".to_owned(),
        [least, most] if least == most => format!(" {least} % of the operations succeeded."),
        [least, most] => format!(" {least} to {most} % of the operations succeeded."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{label, quick, set, with_verdict};
    use analysis::PointAnalysis;
    use analysis::SettingValue;
    use analysis::repeats::RateDrop;
    use analysis::slowdown::{Change, Comparison};
    use model::Value;

    /// The sentences on `points` of the quick run, changed by `change`.
    fn told(points: std::ops::Range<usize>, change: impl Fn(&mut PointAnalysis)) -> Vec<String> {
        let mut analysis = quick();
        analysis.points = analysis.points[points].to_vec();
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
            "file: rndrd reaches 41.4k/s (679 MB/s) and rndwr 8.85k/s (145 MB/s), both at depth 32.",
            "insert: with indexes 0, sqlite reaches 62.3k/s and fjall 84.5k/s; with indexes 3, sqlite reaches 3.66k/s and \
             fjall 29.8k/s.",
            "sqlite oltp read_write reaches 6.64k/s at 4 clients, with p99 980 us; still rising.",
            "Invalid: 1 of 3 points of sqlite oltp read_write.",
            "11 of 13 points ran steadily (not: file rndwr depth 32 and sqlite insert indexes 3); longest stall 500 ms (file rndwr \
             depth 32); the rate of 1 drifted.",
            "11 results are valid, 1 only indicative (it drifted), 1 invalid (it had failed operations). All operations \
             succeeded.",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_single_point_is_judged_in_the_singular() {
        let told = told(8..9, |_| ());
        assert_eq!(told[0], "fjall insert indexes 0 reaches 84.5k/s, with p99 19.6 us.");
        assert_eq!(told[1..], ["It ran steadily.", "The result is valid. All operations succeeded."]);
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
        let timed: Vec<&String> = told.iter().filter(|sentence| sentence.contains(" takes ")).collect();
        assert_eq!(timed.len(), 2, "{told:?}");
        assert!(timed[0].starts_with("insert l.x") && timed[0].contains("sqlite takes 250 ms"), "{told:?}");
        assert!(told.iter().any(|sentence| sentence == "See the tables for insert qr and insert qp."), "{told:?}");
    }

    #[test]
    fn what_was_served_or_disturbed_is_no_bottleneck() {
        let of = |limits: &[(Limit, usize)], judged| {
            bottlenecks(&Bottleneck { limits: limits.iter().copied().collect(), unknown: 0, judged })
        };
        assert_eq!(of(&[(Limit::Schedule, 1)], 1), ["No bottleneck: the offered rate was served."]);
        let all = "The bottleneck cannot be judged at all 13 points: other processes used the CPU.";
        assert_eq!(of(&[(Limit::OtherProcesses, 13)], 13), [all]);
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
        assert_eq!(told[0], "sqlite insert indexes 0 reaches 62.3k/s, with p99 26.5 us.");
        let named = "Invalid: fjall insert indexes 0 and fjall insert indexes 3.";
        assert!(told.iter().any(|sentence| sentence == named), "{told:?}");
        let missing = |missing| Unmeasured { engine: "postgres".into(), workload: "oltp".into(), missing, planned: 4 };
        assert_eq!(not_measured(&[missing(4)]).unwrap(), "Not measured: postgres oltp (4 points).");
        assert_eq!(not_measured(&[missing(1)]).unwrap(), "Not measured: 1 of 4 points of postgres oltp.");
    }

    #[test]
    fn what_never_ran_is_neither_steady_nor_unsteady() {
        let told = told(0..1, |point| (point.summary, point.series, point.validity) = (None, None, Validity::Invalid));
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
            bottleneck(&Bottleneck { limits: limits.iter().copied().collect(), unknown, judged })
        };
        let three = [(Limit::Disk, 3), (Limit::OneCore, 3), (Limit::OneAtATime, 4)];
        let expected =
            "Bottleneck: a busy disk (3 points), a single core (3), one operation at a time (4); unknown for 3 of 13.";
        assert_eq!(of(&three, 3, 13).as_deref(), Some(expected));
        assert_eq!(of(&[(Limit::Cpu, 1)], 0, 1).as_deref(), Some("Bottleneck: CPU."));
        assert_eq!(of(&[], 5, 5).as_deref(), Some("The bottleneck is unknown for all 5 points."));
        assert_eq!(of(&[], 2, 2).as_deref(), Some("The bottleneck is unknown for both points."));
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
    fn the_place_of_the_best_rate_has_the_figure_of_the_others() {
        let clients = |n| StepPlace { clients: Some(n), depth: None };
        assert_eq!(scaling(&Scaling::Levelled { at: clients(1), share: 0.912 }), "; 1 client already gives 91 % of it");
        assert_eq!(scaling(&Scaling::NoGain { last: clients(2) }), "; 2 clients give no more");
        let falling = |last| scaling(&Scaling::Falling { last, fall_share: 0.26 });
        assert_eq!(falling(clients(16)), "; 16 clients are 26 % slower");
        assert_eq!(falling(StepPlace { clients: None, depth: Some(32) }), "; depth 32 is 26 % slower");
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
    fn what_all_groups_have_in_common_is_named_once() {
        let sentence = |change: &dyn Fn(&mut PointAnalysis)| {
            let mut analysis = quick();
            analysis.points = analysis.points[6..8].to_vec();
            for point in &mut analysis.points {
                change(point);
                point.traits.engine.durability = None;
                label(point, &["engine", "step", "indexes"], &[]);
            }
            sentences(&with_verdict(analysis)).remove(0)
        };
        let told = sentence(&|point| set(point, "step", "l.i1"));
        assert!(told.starts_with("sqlite l.i1 indexes 0 reaches 62.3k/s"), "{told}");
        let family = |analysis: &Analysis| {
            let groups = analysis.verdict.groups.clone();
            list_sentence(&groups.iter().collect())
        };
        let mut analysis = quick();
        analysis.points = analysis.points[6..8].to_vec();
        let told = family(&with_verdict(analysis));
        assert!(told.starts_with("insert on sqlite (durability os): indexes 0 reaches 62.3k/s"), "{told}");
    }

    #[test]
    fn the_gravest_reason_is_named_first() {
        let reason = |code, validity, points| Reason { code, validity, points };
        let tally = Tally { valid: 3, indicative: 10, invalid: 0 };
        let told = validity(&tally, &[reason(Code::TooShort, Validity::Indicative, 9)], true);
        assert_eq!(told, "3 results are valid, 10 only indicative (9 ran too short).");
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
    }

    #[test]
    fn an_overload_names_what_was_offered() {
        let told = told(0..1, |point| {
            let summary = point.summary.as_mut().unwrap();
            (summary.ops_per_s, summary.offered_per_s) = (1_000.0, Some(5_000.0));
        });
        assert!(told[0].starts_with("file rndrd serves 1.00k/s"), "{told:?}");
        let mut verdict = with_verdict(quick()).verdict;
        let group = &mut verdict.groups[0];
        if let Capacity::Rate(reached) = &mut group.capacity {
            (reached.is_overloaded, reached.offered_per_s, reached.ops_per_s.mean) = (true, Some(5_000.0), 1_000.0);
        }
        let expected =
            "serves 1.00k/s of 5.00k/s offered: it is overloaded, and percentiles are of served operations only.";
        assert!(group_sentence(group).ends_with(expected), "{}", group_sentence(group));
    }

    #[test]
    fn slowdowns_that_were_shown_have_a_sentence() {
        let one = |share: f64| Slowdown {
            change: Change::Storage {
                from: SettingValue::Absent,
                to: SettingValue::Param(Value::Word("iops=2000".into())),
            },
            place: Vec::new(),
            engine: "fjall".into(),
            before: MeanOfRepeats::default(),
            after: MeanOfRepeats::default(),
            drop: RateDrop { share, ci95: [share - 0.02, share + 0.02] },
        };
        let told = |share| {
            let comparison = Some(Comparison { slowdowns: vec![one(share)], left_out: Vec::new() });
            slowdowns(&Verdict { comparison, ..Verdict::default() })
        };
        let expected = "With storage limited to iops=2000, the insert rate of fjall drops by 64 % (95 % CI 62 to 66).";
        assert_eq!((told(0.64), told(0.0)), (vec![expected.to_owned()], Vec::new()));
    }
}
