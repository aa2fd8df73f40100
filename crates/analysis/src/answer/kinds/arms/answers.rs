//! Whether the servers of a replay have answered alike.
//!
//! In: a comparison whose points have summed up their answers. Out: a claim if kinds of statement answer otherwise on another arm than on the
//! base. Limits: they are counted as `compare` does, which names them.

use crate::answer::claim::{Claim, ClaimKind};
use crate::answer::comparison::Comparison;
use crate::answer::speech::with;
use crate::compare::KindComparison;
use crate::compare::kinds::results_of;
use crate::recorded::dimensions::Setting;
use words::quantity::whole;

/// `2 of 14 kinds of statement answer differently on the MySQL server (B) than on the MySQL server (A).`, of the arm with the most.
pub(super) fn claim(comparison: &Comparison) -> Option<Claim> {
    let points = comparison.points();
    let results = |arm: &Setting| {
        let of_arm = points.iter().filter(|point| point.settings.has(arm));
        results_of(of_arm.map(|point| &point.traits.outcome))
    };
    let base = results(comparison.base());
    let others = comparison.table.arms.iter().skip(1).map(|arm| {
        let mut found = KindComparison::default();
        found.compare_results(&base, &results(arm));
        (arm, found.other_results.len(), found.results_compared)
    });
    let (arm, differing, compared) = others.max_by_key(|(_, differing, _)| *differing)?;
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
