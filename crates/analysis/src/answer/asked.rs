//! A run as its question sees it: what is compared, over what, and its points with their repeats taken together.

use crate::math::ratio::PAIRS_MIN;
use crate::points::sweep::is_comparable;
use crate::{Analysis, PointAnalysis, Role, Setting};
use model::COMMAND_FACT;

/// A run and its question.
pub struct AskedRun<'a> {
    /// Each point by itself.
    pub analysis: &'a Analysis,
    /// The same with the repeats of each point taken together.
    pub rows: &'a Analysis,
}

impl<'a> AskedRun<'a> {
    /// The question that the plan states.
    pub fn stated_question(&self) -> Option<&str> {
        self.analysis.meta.plan.asked.question.as_deref()
    }

    /// Whether the plan asks what limits the work, and not how much it is.
    pub fn asks_what_limits(&self) -> bool {
        let begins = |question: &str| {
            ["Which is full", "What is full", "What limits"].iter().any(|words| question.starts_with(words))
        };
        self.stated_question().is_some_and(begins)
    }

    /// The name of the setting that the plan compares: what it states, or the two values of an A/B run.
    pub fn stated_comparison(&self) -> Option<&str> {
        let plan = &self.analysis.meta.plan;
        plan.asked.compare.as_deref().or(plan.ab.as_deref())
    }

    /// The name of the setting along which the plan looks at the comparison.
    pub fn stated_axis(&self) -> Option<&str> {
        self.analysis.meta.plan.asked.over.as_deref()
    }

    /// Whether the plan asks how its points go along an axis, and compares nothing.
    pub fn asks_along_axis_only(&self) -> bool {
        self.stated_question().is_some() && self.stated_axis().is_some() && self.stated_comparison().is_none()
    }

    /// Whether the plan has the repeats that a comparison needs. If pairs are missing all the same, points could not be used.
    pub fn has_enough_repeats(&self) -> bool {
        self.analysis.meta.plan.trials.iter().any(|trial| trial.repeat as usize >= PAIRS_MIN)
    }

    /// Whether the command that measured it has `--quick-look`, which has no repeats.
    pub fn is_quick_look(&self) -> bool {
        let command = self.analysis.meta.fact(COMMAND_FACT);
        command.is_some_and(|command| format!("{command} ").contains(" --quick-look "))
    }

    /// The point that the figures of `row` are of; `None` if they are of several repeats.
    pub fn point_of(&self, row: &PointAnalysis) -> Option<u32> {
        let is_repeat =
            |point: &&PointAnalysis| (point.group, point.clients, point.depth) == (row.group, row.clients, row.depth);
        let mut repeats = self.analysis.points.iter().filter(is_repeat);
        repeats.next().filter(|_| repeats.next().is_none()).map(|only| only.id)
    }

    /// Those of `label` that a person would say: a workload that all points have goes without saying.
    pub fn said<'l>(&self, label: impl IntoIterator<Item = &'l Setting>) -> Vec<&'l Setting> {
        let trials = &self.analysis.meta.plan.trials;
        let varies = trials.iter().any(|trial| trial.workload.name != trials[0].workload.name);
        label.into_iter().filter(|setting| varies || setting.role != Role::Workload).collect()
    }

    /// The rows that claims may be made of. A step that writes what others put off completes their costs, and is no work that is asked about.
    pub fn usable(&self) -> impl Iterator<Item = &PointAnalysis> {
        let comparable = || self.rows.points.iter().filter(|point| is_comparable(point));
        let has_work = comparable().any(|point| !point.is_drain());
        comparable().filter(move |point| !has_work || !point.is_drain())
    }
}
