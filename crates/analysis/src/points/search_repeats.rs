//! Searches that were made several times: whether they agree.
//!
//! In: the searches of a run. Out: a [`SearchRepeats`] for those that differ in their repetition only. Limits: that intervals overlap shows
//! no more than that nothing contradicts the searches; a ratio of two arms needs their pairs (see [`crate::relative`]).

use crate::SearchAnalysis;
use crate::math::stats;
use crate::recorded::dimensions::{Role, Setting};
use model::limit::LimitOutcome;

/// The repeats of one search; one, if it was made once.
#[derive(Clone, Debug)]
pub struct SearchRepeats<'a> {
    /// What distinguishes them from other searches of the run.
    pub label: Vec<Setting>,
    /// They, in the order of the run.
    pub searches: Vec<&'a SearchAnalysis>,
}

/// `searches` by what they have in common, in the order of the run.
pub fn search_repeats<'a>(searches: impl IntoIterator<Item = &'a SearchAnalysis>) -> Vec<SearchRepeats<'a>> {
    let mut all: Vec<SearchRepeats> = Vec::new();
    for search in searches {
        let label: Vec<Setting> = search.settings().filter(|setting| setting.role != Role::Repeat).cloned().collect();
        match all.iter_mut().find(|known| known.label == label && known.searches[0].spec == search.spec) {
            Some(known) => known.searches.push(search),
            None => all.push(SearchRepeats { label, searches: vec![search] }),
        }
    }
    all
}

impl<'a> SearchRepeats<'a> {
    /// Those that were made to their end, or have found a limit before the run was interrupted.
    pub fn completed(&self) -> SearchRepeats<'a> {
        let searches = self
            .searches
            .iter()
            .copied()
            .filter(|search| search.result.outcome != LimitOutcome::Interrupted || search.result.per_s.is_some())
            .collect();
        SearchRepeats { label: self.label.clone(), searches }
    }

    /// The limits that were found: operations per second that succeed.
    pub fn found_per_s(&self) -> Vec<f64> {
        self.searches.iter().filter_map(|search| search.result.carried_per_s()).collect()
    }

    /// Their mean; `None` if none was found.
    pub fn mean_per_s(&self) -> Option<f64> {
        let found = self.found_per_s();
        (!found.is_empty()).then(|| stats::mean(&found))
    }

    /// From the lowest end of their intervals to the highest; the upper end is `None` if one of the limits may be higher. `None` if no
    /// limit was found.
    pub fn range(&self) -> Option<(f64, Option<f64>)> {
        let low = self.intervals().map(|(low, _)| low).reduce(f64::min)?;
        let high = self.intervals().map(|(_, high)| high.unwrap_or(f64::INFINITY)).reduce(f64::max)?;
        Some((low, Some(high).filter(|high| high.is_finite())))
    }

    /// Whether one rate is in the intervals of all of them; `None` if fewer than two have found a limit.
    pub fn agree(&self) -> Option<bool> {
        let low = self.intervals().map(|(low, _)| low).reduce(f64::max)?;
        let high = self.intervals().map(|(_, high)| high.unwrap_or(f64::INFINITY)).reduce(f64::min)?;
        (self.intervals().count() > 1).then_some(low <= high)
    }

    /// The lowest and the highest rate of the closed loops with which they began: as fast as the target was each time. `None` if fewer than
    /// two have one.
    pub fn closed_range(&self) -> Option<[f64; 2]> {
        let rates: Vec<f64> = self.searches.iter().filter_map(|search| search.closed_per_s()).collect();
        let [low, high] = [f64::min as fn(f64, f64) -> f64, f64::max].map(|end| rates.iter().copied().reduce(end));
        Some([low?, high?]).filter(|_| rates.len() > 1)
    }

    fn intervals(&self) -> impl Iterator<Item = (f64, Option<f64>)> {
        self.searches.iter().filter_map(|search| search.result.carried_between())
    }
}
