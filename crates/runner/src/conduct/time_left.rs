//! The time of a whole run: whether a point may begin.
//!
//! In: a budget, a clock, which points begin. Out: whether what comes next fits into what is left. Limits: a point that begins is measured to its end,
//! so a run takes longer than its budget by that at most, and by the other half of its pair. How long a point takes is what it took before, its data
//! and its server included; of a point that was never measured nothing is known, and it begins while there is time at all.

use load::{Clock, MonotonicClock};
use model::sure::ArmPlace;
use model::{Nanos, Tick};
use std::collections::BTreeMap;

/// What is left of the time of a run.
pub(crate) struct TimeLeft {
    budget: Nanos,
    now: Box<dyn Fn() -> Tick>,
    /// The moment from which the budget counts.
    began: Tick,
    /// What earlier sessions of the run took.
    spent_before: Nanos,
    /// The point that began last, and when.
    current: Option<(ArmPlace, Tick)>,
    /// What each point took when it was measured last.
    took: BTreeMap<ArmPlace, Nanos>,
}

impl TimeLeft {
    /// A run that may take `budget`, of which earlier sessions took `spent_before`, and that begins now.
    pub fn new(budget: Nanos, spent_before: Nanos, now: impl Fn() -> Tick + 'static) -> TimeLeft {
        let began = now();
        TimeLeft { budget, now: Box::new(now), began, spent_before, current: None, took: BTreeMap::new() }
    }

    /// The point at `at` took this long in an earlier session.
    pub fn note_earlier(&mut self, at: ArmPlace, took: Nanos) {
        self.took.insert(at, took);
    }

    /// The point that began last is over.
    pub fn note_end(&mut self) {
        if let Some((at, began)) = self.current.take() {
            self.took.insert(at, (self.now)().since(began));
        }
    }

    /// The point at `at` begins.
    pub fn note_begin(&mut self, at: ArmPlace) {
        self.current = Some((at, (self.now)()));
    }

    /// Whether the points at `next` can be measured in what is left, as far as that is known.
    pub fn is_enough_for(&self, next: impl Iterator<Item = ArmPlace>) -> bool {
        let elapsed = self.spent_before.0.saturating_add((self.now)().since(self.began).0);
        let needed: u64 = next.filter_map(|at| self.took.get(&at)).map(|took| took.0).sum();
        elapsed < self.budget.0 && elapsed.saturating_add(needed) <= self.budget.0
    }
}

/// The time since now.
pub(crate) fn since_start() -> impl Fn() -> Tick {
    let clock = MonotonicClock::start();
    move || clock.now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    const ARMS: [ArmPlace; 2] = [ArmPlace { place: 0, arm: 0 }, ArmPlace { place: 0, arm: 1 }];

    #[test]
    fn a_pair_begins_only_if_both_of_its_points_fit_into_what_is_left() {
        let clock = Rc::new(Cell::new(0));
        let now = clock.clone();
        let second = 1_000_000_000;
        let mut left = TimeLeft::new(Nanos(10 * second), Nanos(second), move || Tick(now.get()));
        assert!(left.is_enough_for(ARMS.into_iter()), "nothing is known of them");
        for at in ARMS {
            left.note_begin(at);
            clock.set(clock.get() + 2 * second);
            left.note_end();
        }
        assert!(left.is_enough_for(ARMS.into_iter()), "5 of 10 s are gone, and a pair takes 4");
        clock.set(clock.get() + 2 * second);
        assert!(!left.is_enough_for(ARMS.into_iter()), "7 of 10 s are gone");
        assert!(left.is_enough_for(ARMS.into_iter().take(1)));
        let mut resumed = TimeLeft::new(Nanos(10 * second), Nanos(7 * second), || Tick(0));
        assert!(resumed.is_enough_for(ARMS.into_iter()), "nothing is known of them");
        ARMS.into_iter().for_each(|at| resumed.note_earlier(at, Nanos(2 * second)));
        assert!(!resumed.is_enough_for(ARMS.into_iter()), "3 s are left, and a pair took 4");
        clock.set(20 * second);
        assert!(!left.is_enough_for([ArmPlace { place: 9, arm: 0 }].into_iter()), "what is unknown needs time, too");
    }
}
