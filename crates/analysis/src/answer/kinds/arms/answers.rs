//! Whether the servers of a replay have answered alike.
//!
//! In: a comparison whose points have summed up their answers. Out: a claim if kinds of statement answer otherwise on another arm than on the
//! base. Limits: only kinds that answer alike in all repeats of an arm are compared, if both arms have answered as often; `compare` names them.

use crate::answer::claim::{Claim, ClaimKind};
use crate::answer::comparison::Comparison;
use crate::answer::speech::with;
use crate::recorded::dimensions::Setting;
use model::KindResults;
use std::collections::BTreeMap;
use words::quantity::whole;

/// `2 of 14 kinds of statement answer differently on the MySQL server (B) than on the MySQL server (A).`, of the arm with the most.
pub(super) fn claim(comparison: &Comparison) -> Option<Claim> {
    let base = results_of(comparison, comparison.base());
    let others = comparison.table.arms.iter().skip(1).map(|arm| (arm, compared(&base, &results_of(comparison, arm))));
    let (arm, (differing, compared)) = others.max_by_key(|(_, (differing, _))| *differing)?;
    if differing == 0 {
        return None;
    }
    let (kinds, answer) = if compared == 1 { ("kind", "answers") } else { ("kinds", "answer") };
    let sentence = format!(
        "{} of {} {kinds} of statement {answer} differently {} than {}.",
        whole(differing as f64),
        whole(compared as f64),
        with(arm),
        with(comparison.base())
    );
    Some(Claim::new(ClaimKind::Caution, sentence))
}

/// What each kind has returned on an arm; `None` if its repeats do not agree.
type ArmResults<'a> = BTreeMap<&'a str, Option<&'a KindResults>>;

fn results_of<'a>(comparison: &Comparison<'a>, arm: &Setting) -> ArmResults<'a> {
    let mut all: ArmResults = BTreeMap::new();
    let points = comparison.points().into_iter().filter(|point| point.settings.has(arm));
    for found in points.flat_map(|point| &point.traits.outcome.replay_results) {
        let known = all.entry(found.kind.as_str()).or_insert(Some(found));
        *known = known.filter(|known| *known == found);
    }
    all
}

/// How many kinds answer differently, and how many were compared.
fn compared(base: &ArmResults, other: &ArmResults) -> (usize, usize) {
    let both = base.iter().filter_map(|(kind, found)| Some(((*found)?, (*other.get(kind)?)?)));
    let comparable = both.filter(|(found, other)| found.answers == other.answers);
    comparable.fold((0, 0), |(differing, all), (found, other)| (differing + usize::from(found != other), all + 1))
}
