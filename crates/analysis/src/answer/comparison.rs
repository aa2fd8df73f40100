//! What a run compares: the arms of one setting at all places, and which of them may be ranked.
//!
//! In: a run. Out: its [`Comparison`]. Limits: engines inside plimsoll's process are not ranked with servers, nor engines that promise different
//! things of a commit; of both sorts the larger one is compared.

use super::asked::AskedRun;
use super::claim::{Claim, ClaimKind};
use super::effect::{PlaceEffect, as_speed};
use super::speech::{begins, short_enough, spoken, under, unquoted};
use crate::math::ratio::{RatioEstimate, RatioVerdict};
use crate::points::metric::Metric;
use crate::points::relative::{RelativeTable, relative_tables};
use crate::points::sweep::is_comparable;
use crate::points::work::WorkUnit;
use crate::recorded::dimensions::{DURABILITY, Role, Setting};
use crate::{Analysis, PointAnalysis};
use model::EngineProcess;
use words::list::{capital, join_and};

/// If less than this share would not have shown, nothing is decided.
pub(super) const SHOWN_MAX: f64 = 0.5;
/// Of more arms that were not measured the reasons are left to the sentences on trust.
const REASONS_MAX: usize = 2;

/// The arms of one setting.
pub(super) struct Comparison<'a> {
    pub run: &'a AskedRun<'a>,
    /// The first arm is the base.
    pub table: RelativeTable,
    /// All that were measured, those that are not ranked among them.
    pub arms: Vec<Setting>,
    /// Which arms are not ranked, and why.
    pub not_ranked: Option<Claim>,
    /// Which arms have no result, and why.
    pub missing: Vec<Claim>,
    pub is_ranked: bool,
}

/// What one arm does at all places.
#[derive(Default)]
pub(super) struct ArmEffects<'a> {
    /// The places with enough pairs for a verdict.
    pub decided: Vec<PlaceEffect<'a>>,
    /// The places with too few.
    pub undecided: Vec<PlaceEffect<'a>>,
    /// The places whose repeats differ so much that nothing but a very large difference would have shown, if others are better known.
    pub noisy: Vec<PlaceEffect<'a>>,
}

impl<'a> Comparison<'a> {
    /// That of the setting that the plan names, else of the first that has arms; `None` if nothing is compared.
    pub(super) fn of(run: &'a AskedRun<'a>) -> Option<Comparison<'a>> {
        let tables = &run.analysis.verdict.relative;
        let stated = run.stated_comparison();
        if run.asks_along_axis_only() {
            return None;
        }
        let table = tables.iter().find(|table| stated == Some(&table.arms[0].name)).or(tables.first())?;
        Some(Comparison::of_table(run, table.clone()))
    }

    /// That of the engines, whatever is asked about; `None` if there is one.
    pub(super) fn of_engines(run: &'a AskedRun<'a>) -> Option<Comparison<'a>> {
        let table = run.analysis.verdict.relative.iter().find(|table| table.arms[0].role == Role::Engine)?;
        Some(Comparison::of_table(run, table.clone()))
    }

    fn of_table(run: &'a AskedRun<'a>, table: RelativeTable) -> Comparison<'a> {
        let sorts = embedded_and_servers(run.analysis, &table);
        let (not_ranked, is_mixed) = (not_ranked(run.analysis, &table, sorts.as_ref()), sorts.is_some());
        let (arms, missing) = (table.arms.clone(), without_result(run.analysis, &table));
        let mut table = match sorts {
            Some(sorts) => rankable(run.analysis, &table, sorts),
            None => with_measured_base(run.analysis, &table),
        };
        table.rows.retain(|row| run.usable().any(|point| point.settings.are_at(&row.place)));
        let is_ranked = !is_mixed || table.arms.len() > 1 && embedded_and_servers(run.analysis, &table).is_none();
        Comparison { run, table, arms, not_ranked, missing, is_ranked }
    }

    /// Whether any two of its arms have a ratio from which something may be concluded.
    pub(super) fn has_ratios(&self) -> bool {
        let mut cells = self.table.rows.iter().flat_map(|row| row.cells.iter().flatten());
        self.is_ranked && cells.any(|cell| !cell.is_unlike)
    }

    /// Whether a single arm has results, so that there is nothing to compare it with.
    pub(super) fn has_one_arm(&self) -> bool {
        self.table.arms.len() - self.table.arms_without_points.len() == 1
    }

    pub(super) fn base(&self) -> &Setting {
        &self.table.arms[0]
    }

    /// What the arm behind the base with this number does to the speed.
    pub(super) fn effects(&self, nth: usize) -> ArmEffects<'_> {
        self.effects_on(nth, Metric::is_speed, as_speed)
    }

    /// The same of another metric, as a ratio of its values.
    pub(super) fn effects_of(&self, nth: usize, metric: Metric) -> ArmEffects<'_> {
        self.effects_on(nth, |one| one == metric, |_, estimate| estimate)
    }

    fn effects_on(
        &self,
        nth: usize,
        is_meant: impl Fn(Metric) -> bool,
        ratio: fn(Metric, RatioEstimate) -> RatioEstimate,
    ) -> ArmEffects<'_> {
        let mut all = ArmEffects::default();
        let rows = self.table.rows.iter().filter(|row| self.is_ranked && is_meant(row.metric));
        for (row, cell) in rows.filter_map(|row| Some((row, row.cells[nth]?))).filter(|(_, cell)| !cell.is_unlike) {
            let one = PlaceEffect { place: row.place.iter().collect(), effect: ratio(row.metric, cell.ratio) };
            match cell.ratio.verdict {
                RatioVerdict::Indicative => all.undecided.push(one),
                RatioVerdict::NoDifferenceShown if cell.ratio.smallest_effect.is_some_and(|one| one > SHOWN_MAX) => {
                    all.noisy.push(one);
                }
                _ => all.decided.push(one),
            }
        }
        if all.decided.is_empty() {
            all.decided.append(&mut all.noisy);
        }
        all
    }

    /// What its operations are: the work that all do, if it has a phrase, else what they are counted in.
    pub(super) fn noun(&self) -> String {
        let points: Vec<&PointAnalysis> = self.run.usable().collect();
        let work = |point: &PointAnalysis| -> Option<String> {
            point.settings.used().find(|one| one.role == Role::Work && !one.is_step())?.phrase.clone()
        };
        let same = |of: &dyn Fn(&PointAnalysis) -> Option<String>| -> Option<String> {
            let first = of(points.first()?)?;
            points.iter().all(|point| of(point).as_ref() == Some(&first)).then_some(first)
        };
        let counted = |point: &PointAnalysis| WorkUnit::of(point).map(|unit| done(unit).to_owned());
        same(&work).or_else(|| same(&counted)).unwrap_or_else(|| "operations".to_owned())
    }

    /// What one of them is: `transaction`, or `row`.
    pub(super) fn unit(&self) -> String {
        match WorkUnit::common(self.run.usable().filter_map(WorkUnit::of)) {
            Some(WorkUnit::Queries) => "query".to_owned(),
            Some(WorkUnit::ReadsAndWrites) | None => "operation".to_owned(),
            Some(unit) => unit.plural().trim_end_matches('s').to_owned(),
        }
    }

    /// The points that are compared.
    pub(super) fn points(&self) -> Vec<&'a PointAnalysis> {
        let is_arm = |point: &&PointAnalysis| self.table.arms.iter().any(|arm| point.settings.has(arm));
        self.run.analysis.points.iter().filter(|point| is_comparable(point)).filter(is_arm).collect()
    }

    /// The repeats of `arm` at `place`, taken together.
    pub(super) fn row(&self, place: &[&Setting], arm: &Setting) -> Option<&PointAnalysis> {
        let is_there = |point: &&PointAnalysis| point.settings.has(arm) && point.settings.are_at(place.iter().copied());
        self.run.usable().find(is_there)
    }

    /// Each place at which speeds are compared, once.
    pub(super) fn places(&self) -> Vec<Vec<&Setting>> {
        let rows = self.table.rows.iter().filter(|row| row.metric.is_speed());
        rows.map(|row| row.place.iter().collect()).collect()
    }
}

/// What is done, if work is counted in `unit`.
pub(super) fn done(unit: WorkUnit) -> &'static str {
    if unit == WorkUnit::Rows { "inserts" } else { unit.plural() }
}

/// The arms that have a point that can be compared.
fn measured_arms(table: &RelativeTable) -> Vec<Setting> {
    let arms = table.arms.iter().enumerate().filter(|(nth, _)| !table.arms_without_points.contains(nth));
    arms.map(|(_, arm)| arm.clone()).collect()
}

/// The arms with results whose engine is inside plimsoll's process, and those that are servers, if there are both.
fn embedded_and_servers(analysis: &Analysis, table: &RelativeTable) -> Option<[Vec<Setting>; 2]> {
    let is = |arm: &Setting, wanted: fn(EngineProcess) -> bool| {
        let mut own = analysis.points.iter().filter(|point| point.settings.has(arm));
        arm.role == Role::Engine && own.any(|point| wanted(point.traits.engine.process))
    };
    let measured = measured_arms(table);
    let those = |wanted: fn(EngineProcess) -> bool| -> Vec<Setting> {
        measured.iter().filter(|arm| is(arm, wanted)).cloned().collect()
    };
    let embedded = those(|process| process == EngineProcess::Embedded);
    let servers = those(|process| matches!(process, EngineProcess::Own | EngineProcess::Elsewhere));
    (!embedded.is_empty() && !servers.is_empty()).then_some([embedded, servers])
}

/// What must be known of all comparisons of `analysis`: which arms are not ranked, and which have no result.
pub fn comparison_cautions(analysis: &Analysis) -> Vec<Claim> {
    let of_table = |table: &RelativeTable| {
        let sorts = embedded_and_servers(analysis, table);
        not_ranked(analysis, table, sorts.as_ref()).into_iter().chain(without_result(analysis, table))
    };
    analysis.verdict.relative.iter().flat_map(of_table).collect()
}

/// Which arms of `table` are not ranked, and why: its engines are of two `sorts`, or promise different things.
fn not_ranked(analysis: &Analysis, table: &RelativeTable, sorts: Option<&[Vec<Setting>; 2]>) -> Option<Claim> {
    let Some([embedded, servers]) = sorts else { return unlike_durability(analysis, table) };
    let verb = if embedded.len() == 1 { "runs" } else { "run" };
    let [inside, outside] = [embedded, servers].map(|arms| join_and(&arms.iter().map(spoken).collect::<Vec<String>>()));
    let sentence = format!(
        "{inside} {verb} inside plimsoll, without a server: not ranked with {outside}; \
         `plimsoll limit` shows what each carries."
    );
    Some(Claim::new(ClaimKind::Caution, sentence))
}

/// `The MySQL server was not measured: connection refused at host 127.0.0.1, port 3306.`, or `No result of XFS can be used.`, of the arms that were
/// asked for and have none.
fn without_result(analysis: &Analysis, table: &RelativeTable) -> Vec<Claim> {
    let arms = table.arms_without_points.iter().map(|nth| &table.arms[*nth]);
    let told = arms.map(|arm| (arm, why_unmeasured(analysis, arm)));
    let (unmeasured, unusable): (Vec<_>, Vec<_>) = told.partition(|(_, why)| why.is_some());
    let caution = |sentence: String| Claim::new(ClaimKind::Caution, sentence);
    let mut claims: Vec<Claim> = Vec::new();
    if unmeasured.len() > REASONS_MAX {
        let names: Vec<String> = unmeasured.iter().map(|(arm, _)| spoken(arm)).collect();
        claims.push(caution(format!("{} were not measured.", begins(&join_and(&names)))));
    } else {
        let reasons = unmeasured.iter().filter_map(|(arm, why)| Some((arm, why.as_ref()?)));
        claims.extend(reasons.map(|(arm, why)| caution(unmeasured_words(arm, why))));
    }
    let names: Vec<String> = unusable.iter().map(|(arm, _)| spoken(arm)).collect();
    claims.extend((!names.is_empty()).then(|| caution(format!("No result of {} can be used.", join_and(&names)))));
    claims
}

fn unmeasured_words(arm: &Setting, why: &str) -> String {
    let what = if arm.role == Role::Engine {
        format!("{} was not measured", begins(&spoken(arm)))
    } else {
        format!("{} nothing was measured", capital(&under(arm)))
    };
    short_enough(vec![format!("{what}: {why}."), format!("{what}.")])
}

/// Why no point of `arm` began to be measured, without what to do about it; `None` if one has numbers, or no reason is known.
fn why_unmeasured(analysis: &Analysis, arm: &Setting) -> Option<String> {
    let own: Vec<&PointAnalysis> = analysis.points.iter().filter(|point| point.settings.has(arm)).collect();
    if own.iter().any(|point| point.summary.is_some()) {
        return None;
    }
    let error = own.iter().find_map(|point| point.error.as_deref())?;
    let reason = error.split_once("; ").map_or(error, |(reason, _)| reason);
    Some(unquoted(reason.trim_end_matches('.')))
}

/// The tables whose pairs decide: that of the arms of `table`, or of engines inside plimsoll and of servers one each.
pub(super) fn deciding_tables(analysis: &Analysis, table: &RelativeTable) -> Vec<RelativeTable> {
    let Some(sorts) = embedded_and_servers(analysis, table) else { return vec![with_measured_base(analysis, table)] };
    sorts.iter().filter_map(|sort| table_of(analysis, table, sort)).collect()
}

/// The table of the larger sort of engines, compared by themselves.
fn rankable(analysis: &Analysis, table: &RelativeTable, [embedded, servers]: [Vec<Setting>; 2]) -> RelativeTable {
    let kept = if embedded.len() > servers.len() { embedded } else { servers };
    table_of(analysis, table, &kept).unwrap_or_else(|| table.clone())
}

/// `table`, or that of the arms with results if its base has none: nothing is compared with such a base.
fn with_measured_base(analysis: &Analysis, table: &RelativeTable) -> RelativeTable {
    let lacks_base = table.arms_without_points.contains(&0);
    let own = lacks_base.then(|| table_of(analysis, table, &measured_arms(table))).flatten();
    own.unwrap_or_else(|| table.clone())
}

/// The table of the arms `kept` of `table`; `None` if there is nothing to compare.
fn table_of(analysis: &Analysis, table: &RelativeTable, kept: &[Setting]) -> Option<RelativeTable> {
    if kept.len() < 2 {
        return None;
    }
    let is_kept = |point: &&PointAnalysis| kept.iter().any(|arm| point.settings.has(arm));
    let mut points: Vec<PointAnalysis> = analysis.points.iter().filter(is_kept).cloned().collect();
    // The point that ended the run may be of the other sort.
    let is_time_over = analysis.points.iter().any(|point| point.traits.course.is_time_over);
    points.iter_mut().for_each(|point| point.traits.course.is_time_over = is_time_over);
    let tables = relative_tables(&points, &analysis.meta.plan);
    tables.into_iter().find(|own| own.arms[0].name == table.arms[0].name)
}

/// That engines promise different things of a commit, if they do.
fn unlike_durability(analysis: &Analysis, table: &RelativeTable) -> Option<Claim> {
    let is_unlike = |nth: &usize| table.rows.iter().any(|row| row.cells[*nth].is_some_and(|cell| cell.is_unlike));
    let unlike: Vec<String> =
        (0..table.arms.len() - 1).filter(is_unlike).map(|nth| spoken(&table.arms[nth + 1])).collect();
    let is_arm = |point: &&PointAnalysis| table.arms.iter().any(|arm| point.settings.has(arm));
    let has_flag = |point: &PointAnalysis| point.settings.used().any(|setting| setting.name == DURABILITY);
    // The flag is refused for a server that plimsoll did not start.
    let takes_flag = analysis.points.iter().filter(is_arm).all(has_flag);
    let remedy = if takes_flag { "give all the same --durability" } else { "set it alike on the servers" };
    let sentence = || {
        let (base, others) = (spoken(&table.arms[0]), join_and(&unlike));
        format!("Not ranked: {base} and {others} promise different things of a commit; {remedy}.")
    };
    (!unlike.is_empty()).then(|| Claim::new(ClaimKind::Caution, sentence()))
}
