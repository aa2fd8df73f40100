//! How much each group does, in sentences: its best rate or its duration, and what becomes of it with more clients.
//!
//! In: the groups of a typed verdict. Out: complete sentences, those with rates first. They are not wrapped: a page knows its width.
//! Limits: a workload with many groups is summed up by its range, and of many workloads the first are described; the report has all.

use super::background::kept_percent;
use super::label::settings_label;
use super::list::join_and;
use super::quantity::{Quantity, count, megabytes_per_s, percent, plural, rate, wide_interval};
use super::verdict::seconds;
use super::work_done::work_done_note;
use analysis::findings::least_steady::step_place;
use analysis::math::ratio::PAIRS_MIN;
use analysis::math::repeats::MeanOfRepeats;
use analysis::points::sweep::StepPlace;
use analysis::verdict::{BackgroundRate, Capacity, GroupVerdict, NewOrdersReached, RateReached, Scaling};
use analysis::{Role, Setting, Verdict};
use model::Nanos;

/// The most sentences about how much is done.
const SUBJECTS_MAX: usize = 4;
/// So few groups have a sentence each.
const DESCRIBED_MAX: usize = 3;
/// More groups than this are summed up by their range.
const GROUPS_MAX: usize = 8;
/// The rates of more steps than this are left to the tables.
const STEPS_MAX: usize = 10;
/// Fewer groups than this of one sort of work are listed, even if there are many in all.
const RANGE_MIN: usize = 4;
/// The parameter of engines that promises it.
const DURABILITY: &str = "durability";
/// The durability that needs no mention.
const USUAL_DURABILITY: &str = "disk";

/// Groups that do the same work: of one workload, and of one step if it has steps.
type WorkloadGroups<'a> = Vec<&'a GroupVerdict>;

/// How much was reached, at least one sentence.
pub(super) fn how_much(verdict: &Verdict) -> Vec<String> {
    if verdict.groups.is_empty() {
        return vec!["Nothing was measured.".to_owned()];
    }
    let known = verdict.groups.iter().filter(|group| group.limit.is_none() && group.capacity != Capacity::Unknown);
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
        match families.iter_mut().find(|family| does_same_work(family[0], group)) {
            Some(family) => family.push(group),
            None => families.push(vec![group]),
        }
    }
    let workloads: Vec<&str> = families.iter().map(|family| family[0].workload.as_str()).collect();
    families.sort_by_key(|family| (workloads.iter().position(|name| *name == family[0].workload), is_timed(family[0])));
    families
}

fn does_same_work(a: &GroupVerdict, b: &GroupVerdict) -> bool {
    a.workload == b.workload && a.step == b.step
}

fn is_timed(group: &GroupVerdict) -> bool {
    matches!(group.capacity, Capacity::Duration { .. })
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
    if families.len() > STEPS_MAX {
        let (name, sentence) = (families[0][0].workload.clone(), many_steps_sentence(families));
        return vec![WorkloadSentence { name, sentence, is_timed: false }];
    }
    if is_lone_sequence(families) {
        let (name, sentence) = (families[0][0].workload.clone(), sequence_sentence(families));
        return vec![WorkloadSentence { name, sentence, is_timed: false }];
    }
    families.iter().map(workload_sentence).collect()
}

fn workload_sentence(family: &WorkloadGroups) -> WorkloadSentence {
    WorkloadSentence {
        name: family_name(family),
        sentence: family_sentence(family),
        is_timed: family.iter().all(|group| is_timed(group)),
    }
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

/// `micro on sqlite: 48 steps; the tables have what each reached.`
fn many_steps_sentence(families: &[WorkloadGroups]) -> String {
    let groups: Vec<&GroupVerdict> = families.iter().flatten().copied().collect();
    let mut engines: Vec<String> = Vec::new();
    for group in &groups {
        if !engines.contains(&group.engine) {
            engines.push(group.engine.clone());
        }
    }
    let head = format!("{} on {}{}", groups[0].workload, join_and(&engines), durability(&groups));
    format!("{head}: {} steps; the tables have what each reached.", families.len())
}

/// `insert on sqlite: l.i0 reaches 70.9k rows/s, l.i1 14.7k rows/s and l.x takes 2.70 s.`
fn sequence_sentence(families: &[WorkloadGroups]) -> String {
    let groups: Vec<&GroupVerdict> = families.iter().map(|family| family[0]).collect();
    let head = format!("{} on {}{}", groups[0].workload, groups[0].engine, durability(&groups));
    let steps = groups.iter().map(|group| (group.step.clone().unwrap_or_default(), amount(group)));
    format!("{head}: {}.", clauses(&steps.collect::<Vec<_>>()))
}

fn family_sentence(family: &WorkloadGroups) -> String {
    match family.as_slice() {
        [only] => group_sentence(only),
        groups if groups.len() > GROUPS_MAX => range_sentences(family),
        _ => matrix_sentence(family).unwrap_or_else(|| list_sentence(family)),
    }
}

/// `sqlite oltp (durability os)`, or `sqlite oltp durability os` if that is what varies.
fn group_name(group: &GroupVerdict) -> String {
    let varies = group.label.iter().any(|setting| setting.name == DURABILITY);
    let promise = if varies { String::new() } else { durability(&[group]) };
    format!("{}{promise}", settings_label(&group.label))
}

/// `sqlite oltp reaches 2.00k/s at 4 clients, with p99 475 us; 16 clients give no more.`
fn group_sentence(group: &GroupVerdict) -> String {
    let head = group_name(group);
    match &group.capacity {
        Capacity::Rate(reached) if reached.is_overloaded => {
            let served = rate(reached.ops_per_s.mean);
            let offered =
                reached.offered_per_s.map_or_else(|| "what was offered".to_owned(), |per_s| rate(per_s).to_string());
            let left = if reached.fell_behind {
                "it fell behind the recording"
            } else {
                "it is overloaded, and percentiles are of served operations only"
            };
            format!("{head} serves {served} of {offered} offered: {left}.")
        }
        Capacity::Rate(reached) => {
            let verb = rate_verb(reached);
            let at = step_place(&reached.place).map_or(String::new(), |place| format!(" at {place}"));
            let p99 = reached.p99_ns.map_or(String::new(), |ns| format!(", with p99 {}", Nanos(ns)));
            let background: String = reached.background.iter().map(background).collect();
            let (reached_rate, scaling) = (detailed_rate(reached), scaling(&reached.scaling));
            let note = work_done_note(&group.work_done);
            format!("{head} {verb} {reached_rate}{note}{at}{p99}{scaling}{background}.")
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
    let all: Vec<String> = settings.iter().map(|wanted| engines_with(family, wanted)).collect();
    Some(format!("{}: {}.", family_head(family), all.join("; ")))
}

/// `with indexes 0, sqlite reaches 8.40k/s and fjall 41.0k/s`
fn engines_with(family: &WorkloadGroups, wanted: &str) -> String {
    let own = family.iter().filter(|group| setting(family, group) == wanted);
    let parts: Vec<_> = own.map(|group| (group.engine.clone(), amount(group))).collect();
    let with = if wanted.is_empty() { String::new() } else { format!("with {wanted}, ") };
    format!("{with}{}", clauses(&parts))
}

/// `file: rndrd reaches 25.8k/s (423 MB/s) and rndwr 31.5k/s (516 MB/s), both at depth 32.`
fn list_sentence(family: &WorkloadGroups) -> String {
    let places: Vec<Option<String>> =
        family.iter().map(|group| reached(group).and_then(|one| step_place(&one.place))).collect();
    let is_one_place = places.iter().all(|place| *place == places[0]);
    let parts = family.iter().zip(&places).map(|(group, own)| {
        let at = own.as_ref().filter(|_| !is_one_place).map_or(String::new(), |place| format!(" at {place}"));
        let [verb, figure] = amount(group);
        (name_in_family(family, group), [verb, figure + &payload(group) + &at])
    });
    let together = match (&places[0], family.len()) {
        (Some(place), 2) if is_one_place => format!(", both at {place}"),
        (Some(place), _) if is_one_place => format!(", all at {place}"),
        _ => String::new(),
    };
    format!("{}: {}{together}.", family_head(family), clauses(&parts.collect::<Vec<_>>()))
}

/// A sentence for each sort of work: rates of different work have no range.
fn range_sentences(family: &WorkloadGroups) -> String {
    let mut sorts: Vec<(Vec<&Setting>, WorkloadGroups)> = Vec::new();
    for group in family {
        let work = group.label.iter().filter(|setting| setting.role == Role::Work).collect();
        match sorts.iter_mut().find(|(known, _)| *known == work) {
            Some((_, own)) => own.push(group),
            None => sorts.push((work, vec![group])),
        }
    }
    let sentence = |(_, own): &(Vec<&Setting>, WorkloadGroups)| match own.len() {
        1 => group_sentence(own[0]),
        few if few < RANGE_MIN => list_sentence(own),
        _ => range_sentence(own),
    };
    sorts.iter().map(sentence).collect::<Vec<_>>().join(" ")
}

/// `insert: 9 groups range from 8.20k/s (indexes 8) to 9.00k/s (indexes 0).`
fn range_sentence(family: &WorkloadGroups) -> String {
    let mut by_size = family.clone();
    by_size.sort_by(|a, b| size(a).total_cmp(&size(b)));
    let ends = [by_size[0], by_size[by_size.len() - 1]];
    let ends = ends.map(|group| format!("{} ({})", amount(group)[1], name_in_family(family, group)));
    let groups = plural(family.len() as u64, "group");
    format!("{}: {groups} range from {}.", family_head(family), ends.join(" to "))
}

fn size(group: &GroupVerdict) -> f64 {
    match &group.capacity {
        Capacity::Rate(reached) => headline_rate(reached).0.mean,
        Capacity::Duration { seconds, .. } => seconds.mean,
        Capacity::Unknown => 0.0,
    }
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
    let note = work_done_note(&group.work_done);
    match &group.capacity {
        Capacity::Rate(reached) => {
            let (value, unit) = headline_rate(reached);
            let offered = reached.offered_per_s.filter(|_| reached.is_overloaded);
            let offered = offered.map_or(String::new(), |offered| format!(" of {} offered", rate(offered)));
            [
                rate_verb(reached).to_owned(),
                format!("{}{unit}{}{offered}{}{note}", count(value.mean), wide_interval(value), mean_of(reached)),
            ]
        }
        Capacity::Duration { seconds: taken, .. } => ["takes".to_owned(), format!("{}{note}", seconds(taken.mean))],
        Capacity::Unknown => ["has".to_owned(), "no usable result".to_owned()],
    }
}

/// An open loop does not show how much could be reached.
fn rate_verb(reached: &RateReached) -> &'static str {
    if reached.offered_per_s.is_some() { "serves" } else { "reaches" }
}

/// Rows if any are inserted, else operations.
fn headline_rate(reached: &RateReached) -> (&MeanOfRepeats, &'static str) {
    if let Some(orders) = &reached.new_orders {
        return (&orders.per_minute, unit_of_orders(orders));
    }
    match &reached.rows_per_s {
        Some(rows) if rows.mean > 0.0 => (rows, " rows/s"),
        _ => (&reached.ops_per_s, unit_of_ops(reached)),
    }
}

/// An operation of at least two statements is a transaction to whoever reads its rate. The mean of a mix of one and two, as of reads and of
/// reads followed by updates, is below.
fn unit_of_ops(reached: &RateReached) -> &'static str {
    let queries = reached.queries_per_s.map_or(0.0, |queries| queries.mean);
    if queries > 1.9 * reached.ops_per_s.mean { " transactions/s" } else { "/s" }
}

/// The rate of operations, and what it amounts to if that differs: `1.00k/s (20.0k rows/s)`.
fn detailed_rate(reached: &RateReached) -> String {
    let ops = reached.ops_per_s.mean;
    if let Some(orders) = &reached.new_orders {
        let (rate, interval) = (new_orders(orders), wide_interval(&orders.per_minute));
        return format!("{rate}{interval} ({}{}){}", count(ops), unit_of_ops(reached), mean_of(reached));
    }
    let differs = |value: &f64| count(*value) != count(ops);
    let rows = reached.rows_per_s.map(|rows| rows.mean).filter(|rows| *rows > 0.0).filter(differs);
    let queries = reached.queries_per_s.map(|queries| queries.mean).filter(differs);
    let detail = match (rows, queries, reached.bytes_per_s) {
        (Some(rows), ..) => format!(" ({} rows/s)", count(rows)),
        (None, Some(queries), _) => format!(" ({} queries/s)", count(queries)),
        (None, None, bytes) if bytes > 0.0 => format!(" ({})", megabytes_per_s(bytes)),
        _ => String::new(),
    };
    let interval = wide_interval(&reached.ops_per_s);
    format!("{}{}{interval}{detail}{}", count(ops), unit_of_ops(reached), mean_of(reached))
}

/// `12.3k new orders/min`, `12.3 new orders/min and warehouse`
fn new_orders(orders: &NewOrdersReached) -> String {
    format!("{}{}", count(orders.per_minute.mean), unit_of_orders(orders))
}

fn unit_of_orders(orders: &NewOrdersReached) -> &'static str {
    if orders.is_of_warehouse { " new orders/min and warehouse" } else { " new orders/min" }
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

fn scaling(scaling: &Scaling) -> String {
    match scaling {
        Scaling::NotVaried => String::new(),
        Scaling::Rising => "; still rising".to_owned(),
        Scaling::RiseNotShown => "; whether it still rises is not known".to_owned(),
        Scaling::Levelled { at, share } => {
            format!("; {} already {} {} of it", known_place(at), give(at), percent(*share))
        }
        Scaling::NoGain { last } => format!("; {} {} no more", known_place(last), give(last)),
        Scaling::Falling { last, fall_share, ci95: None, .. } => {
            format!("; {} gave {} less (indicative)", known_place(last), percent(*fall_share))
        }
        Scaling::Falling { last, fall_share, ci95: Some(ends), pairs } => {
            fall(last, percent(*fall_share), *ends, *pairs)
        }
    }
}

/// `; 16 clients are 26 % slower (95 % CI 22 to 30)`; of too few pairs `; 16 clients gave 26 % less (95 % CI 22 to 30, indicative)`
fn fall(last: &StepPlace, share: Quantity, ends: [f64; 2], pairs: usize) -> String {
    let [low, high] = ends.map(|end| percent(end).digits().to_owned());
    if pairs >= PAIRS_MIN {
        format!("; {} {} {share} slower (95 % CI {low} to {high})", known_place(last), be(last))
    } else {
        format!("; {} gave {share} less (95 % CI {low} to {high}, indicative)", known_place(last))
    }
}

fn known_place(at: &StepPlace) -> String {
    step_place(at).unwrap_or_default()
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
    let own = group.label.iter().filter(|setting| setting.role != Role::Workload && !setting.is_step());
    settings_label(own.filter(|setting| is_wanted(setting) && !is_common(family, setting)))
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

#[cfg(test)]
mod tests {
    use super::super::verdict::sentences;
    use super::*;
    use crate::testing::{label, quick, set, with_verdict};
    use analysis::{Analysis, PointAnalysis};

    #[test]
    fn the_place_of_the_best_rate_has_the_figure_of_the_others() {
        let clients = |n| StepPlace { clients: Some(n), depth: None };
        assert_eq!(scaling(&Scaling::Levelled { at: clients(1), share: 0.912 }), "; 1 client already gives 91 % of it");
        assert_eq!(scaling(&Scaling::NoGain { last: clients(2) }), "; 2 clients give no more");
        let falling = |last| scaling(&Scaling::Falling { last, fall_share: 0.26, ci95: Some([0.22, 0.3]), pairs: 4 });
        assert_eq!(falling(clients(16)), "; 16 clients are 26 % slower (95 % CI 22 to 30)");
        let once = Scaling::Falling { last: clients(16), fall_share: 0.26, ci95: None, pairs: 1 };
        let three = Scaling::Falling { last: clients(16), fall_share: 0.26, ci95: Some([0.22, 0.3]), pairs: 3 };
        assert_eq!(scaling(&three), "; 16 clients gave 26 % less (95 % CI 22 to 30, indicative)");
        assert_eq!(scaling(&once), "; 16 clients gave 26 % less (indicative)");
        assert_eq!(
            falling(StepPlace { clients: None, depth: Some(32) }),
            "; depth 32 is 26 % slower (95 % CI 22 to 30)"
        );
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
    fn a_durability_that_varies_is_written_once() {
        let mut analysis = quick();
        analysis.points = analysis.points[6..7].to_vec();
        let point = &mut analysis.points[0];
        set(point, "durability", "os");
        label(point, &["engine", "step", "durability"], &[]);
        let told = sentences(&with_verdict(analysis)).remove(0);
        assert_eq!(told.matches("durability os").count(), 1, "{told}");
    }

    #[test]
    fn order_entry_is_told_by_its_new_orders() {
        for (of_warehouse, rate) in
            [(None, "27.0k new orders/min ("), (Some(12.5), "12.5 new orders/min and warehouse (")]
        {
            let mut analysis = quick();
            analysis.points.truncate(1);
            let summary = analysis.points[0].summary.as_mut().unwrap();
            (summary.ops_per_s, summary.queries_per_s) = (1_000.0, 30_000.0);
            let new_orders = analysis::NewOrderRate {
                per_minute: 27_000.0,
                per_minute_ci95: None,
                per_minute_and_warehouse: of_warehouse,
            };
            summary.new_orders = Some(new_orders);
            let told = sentences(&with_verdict(analysis)).join(" ");
            assert!(told.contains(rate), "{told}");
        }
    }

    #[test]
    fn an_overload_names_what_was_offered() {
        let mut analysis = quick();
        analysis.points.truncate(1);
        let point = &mut analysis.points[0];
        point.traits.engine.durability = None;
        let summary = point.summary.as_mut().unwrap();
        (summary.ops_per_s, summary.queries_per_s, summary.offered_per_s) = (1_000.0, 1_000.0, Some(5_000.0));
        let told = sentences(&with_verdict(analysis));
        assert!(told[0].starts_with("file rndrd serves 1.00k/s"), "{told:?}");
        let mut verdict = with_verdict(quick()).verdict;
        let group = &mut verdict.groups[0];
        if let Capacity::Rate(reached) = &mut group.capacity {
            (reached.is_overloaded, reached.offered_per_s, reached.ops_per_s.mean) = (true, Some(5_000.0), 1_000.0);
            reached.queries_per_s = None;
        }
        let expected =
            "serves 1.00k/s of 5.00k/s offered: it is overloaded, and percentiles are of served operations only.";
        assert!(group_sentence(group).ends_with(expected), "{}", group_sentence(group));
        if let Capacity::Rate(reached) = &mut group.capacity {
            reached.fell_behind = true;
        }
        let expected = "serves 1.00k/s of 5.00k/s offered: it fell behind the recording.";
        assert!(group_sentence(group).ends_with(expected), "all of it was served: {}", group_sentence(group));
    }
}
