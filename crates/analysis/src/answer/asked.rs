//! A run as its question sees it: what is compared, over what, and its points with their repeats taken together.

use crate::points::sweep::is_comparable;
use crate::{Analysis, PointAnalysis, RepeatRows};

/// A run and its question.
pub struct AskedRun<'a> {
    /// Each point by itself.
    pub analysis: &'a Analysis,
    /// The same with the repeats of each point taken together.
    pub rows: Analysis,
}

impl<'a> AskedRun<'a> {
    /// That of `analysis`; takes the repeats together.
    pub fn new(analysis: &'a Analysis) -> AskedRun<'a> {
        AskedRun { analysis, rows: RepeatRows::from_analysis(analysis).analysis }
    }

    /// The question that the plan states.
    pub fn stated_question(&self) -> Option<&str> {
        self.analysis.meta.plan.asked.question.as_deref()
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

    /// The rows that claims may be made of.
    pub fn usable(&self) -> impl Iterator<Item = &PointAnalysis> {
        self.rows.points.iter().filter(|point| is_comparable(point))
    }
}
