//! What is known of one unit, in one word: which writes were begun and which content may be found.
//!
//! In: writes that begin and end. Out: the lowest generation that may be found, the highest, and whether the content may be a
//! mixture. Limits: never a false alarm comes before finding everything.
//!
//! The lowest generation is raised only by a write that no other overlapped: of writes that overlap, any may be the
//! last, and those that copy or tear leave a mixture. Then the unit is in doubt until a write of its own ends well: its
//! header is judged, but a missing header is not.

/// What is known of one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitState(pub u64);

// From the lowest bit: the writes begun; how many of them are above the lowest generation; how many are in flight; doubt.
const ISSUED_BITS: u32 = 35;
const LAG_BITS: u32 = 16;
const IN_FLIGHT_BITS: u32 = 12;
/// A unit written more often (5 hours at 2 million writes a second) keeps this generation: it is no longer seen to be stale.
const ISSUED_MAX: u64 = (1 << ISSUED_BITS) - 1;
/// From here on any generation may be found: no write was alone for as many writes.
const LAG_MAX: u64 = (1 << LAG_BITS) - 1;
/// More writes at once are not counted: such a unit counts as written to for ever.
const IN_FLIGHT_MAX: u64 = (1 << IN_FLIGHT_BITS) - 1;

impl UnitState {
    fn new(issued: u64, lag: u64, in_flight: u64, in_doubt: bool) -> UnitState {
        // Saturated and never wrapped: a count at its maximum only makes the check less strict.
        let upper = u64::from(in_doubt) << IN_FLIGHT_BITS | in_flight.min(IN_FLIGHT_MAX);
        UnitState((upper << LAG_BITS | lag.min(LAG_MAX)) << ISSUED_BITS | issued.min(ISSUED_MAX))
    }

    /// The highest generation: how many writes were begun; 0 if the unit was never written.
    pub fn issued(self) -> u64 {
        self.0 & ISSUED_MAX
    }

    /// The lowest generation that may be found; 0 if that is not known.
    pub fn least(self) -> u64 {
        if self.lag() == LAG_MAX { 0 } else { self.issued().saturating_sub(self.lag()) }
    }

    fn lag(self) -> u64 {
        self.0 >> ISSUED_BITS & LAG_MAX
    }

    fn in_flight(self) -> u64 {
        self.0 >> (ISSUED_BITS + LAG_BITS) & IN_FLIGHT_MAX
    }

    /// With writes in flight: whether they overlap. At rest: whether the content may be a mixture.
    fn in_doubt(self) -> bool {
        self.0 >> (ISSUED_BITS + LAG_BITS + IN_FLIGHT_BITS) == 1
    }

    /// After a write has begun; its generation is [`UnitState::issued`] of this.
    pub fn after_begin(self) -> UnitState {
        UnitState::new(self.issued() + 1, self.lag() + 1, self.in_flight() + 1, self.in_flight() > 0)
    }

    /// After a write has ended, well or not.
    pub fn after_end(self, well: bool) -> UnitState {
        match self.in_flight() {
            0 => unreachable!("a write that ends has begun"),
            IN_FLIGHT_MAX => self,
            1 if well && !self.in_doubt() => UnitState::new(self.issued(), 0, 0, false),
            1 => UnitState::new(self.issued(), self.lag(), 0, true),
            // A write that failed among others: they overlap, so there is doubt already.
            more => UnitState::new(self.issued(), self.lag(), more - 1, true),
        }
    }

    /// After those that wrote were killed: what was in flight may have been done, in part or not.
    pub fn after_kill(self) -> UnitState {
        UnitState::new(self.issued(), self.lag(), 0, self.in_doubt() || self.in_flight() > 0)
    }

    /// Whether the content may be a mixture of several writes, or a part of one.
    pub fn may_be_mixed(self) -> bool {
        self.in_flight() > 0 || self.in_doubt()
    }

    /// Whether nothing was written between this look and a `later` one.
    pub fn quiet_until(self, later: UnitState) -> bool {
        let counted = later.issued() < ISSUED_MAX;
        counted && self.in_flight() == 0 && later.in_flight() == 0 && self.issued() == later.issued()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_write_alone_raises_the_lowest_generation_and_one_that_failed_leaves_doubt() {
        let first = UnitState::default().after_begin();
        assert_eq!((first.issued(), first.least(), first.may_be_mixed()), (1, 0, true));
        let done = first.after_end(true);
        assert_eq!((done.issued(), done.least(), done.may_be_mixed()), (1, 1, false));
        let failed = done.after_begin().after_end(false);
        assert_eq!((failed.issued(), failed.least(), failed.may_be_mixed()), (2, 1, true));
        let again = failed.after_begin().after_end(true);
        assert_eq!((again.least(), again.may_be_mixed()), (3, false));
    }

    #[test]
    fn writes_that_overlap_leave_doubt_until_one_alone_ends_well() {
        let overlapped = UnitState::default()
            .after_begin()
            .after_begin()
            .after_end(true)
            .after_begin()
            .after_end(true)
            .after_end(true);
        assert_eq!((overlapped.issued(), overlapped.least(), overlapped.may_be_mixed()), (3, 0, true));
        let alone = overlapped.after_begin().after_end(true);
        assert_eq!((alone.issued(), alone.least(), alone.may_be_mixed()), (4, 4, false));
    }

    #[test]
    fn what_was_under_way_when_its_writers_were_killed_is_in_doubt() {
        let killed = UnitState::default().after_begin().after_end(true).after_begin().after_kill();
        assert_eq!((killed.issued(), killed.least(), killed.may_be_mixed()), (2, 1, true));
        let at_rest = UnitState::default().after_begin().after_end(true);
        assert_eq!(at_rest.after_kill(), at_rest);
    }

    #[test]
    fn a_read_is_quiet_only_where_nobody_wrote_meanwhile() {
        let before = UnitState::default().after_begin().after_end(true);
        assert!(before.quiet_until(before));
        assert!(!before.quiet_until(before.after_begin()));
        assert!(!before.quiet_until(before.after_begin().after_end(true)));
        assert!(!before.after_begin().quiet_until(before.after_begin().after_end(true)));
    }

    #[test]
    fn counts_that_no_longer_fit_make_blind_and_not_afraid() {
        let often =
            UnitState::new(ISSUED_MAX - 1, 0, 0, false).after_begin().after_end(true).after_begin().after_end(true);
        assert_eq!((often.issued(), often.least()), (ISSUED_MAX, ISSUED_MAX));
        assert!(!often.quiet_until(often));
        let crowd = (0..IN_FLIGHT_MAX + 3).fold(UnitState::default(), |state, _| state.after_begin());
        let gone = (0..IN_FLIGHT_MAX + 3).fold(crowd, |state, _| state.after_end(true));
        assert!(gone.may_be_mixed() && !gone.quiet_until(gone));
        let never_alone =
            (0..LAG_MAX + 9).fold(UnitState::default().after_begin(), |state, _| state.after_begin().after_end(true));
        assert_eq!(never_alone.least(), 0);
    }

    /// A unit on a device that applies a write at any moment between its begin and its end, and what may be found in it.
    #[derive(Clone, Debug)]
    enum Step {
        Begin,
        /// The write in flight with that number takes effect.
        Apply(usize),
        /// It is acknowledged.
        End(usize, bool),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => Just(Step::Begin),
            2 => (0usize..4).prop_map(Step::Apply),
            3 => ((0usize..4), prop::bool::weighted(0.9)).prop_map(|(nth, well)| Step::End(nth, well)),
        ]
    }

    proptest! {
        #[test]
        fn what_a_device_without_faults_holds_is_always_acceptable(steps in prop::collection::vec(step(), 1..60)) {
            let (mut state, mut content) = (UnitState::default(), 0);
            let mut in_flight: Vec<(u64, bool)> = Vec::new();
            for step in steps {
                match step {
                    Step::Begin => {
                        state = state.after_begin();
                        in_flight.push((state.issued(), false));
                    }
                    Step::Apply(nth) if nth < in_flight.len() && !in_flight[nth].1 => {
                        in_flight[nth].1 = true;
                        content = in_flight[nth].0;
                    }
                    Step::End(nth, well) if nth < in_flight.len() => {
                        let (generation, applied) = in_flight.remove(nth);
                        // One that ended well has taken effect; of one that failed nobody knows.
                        content = if well && !applied { generation } else { content };
                        state = state.after_end(well);
                    }
                    _ => {}
                }
                prop_assert!((state.least()..=state.issued()).contains(&content), "{content} in {state:?}");
                let mixed = in_flight.len() > 1;
                prop_assert!(!mixed || state.may_be_mixed());
            }
        }

        #[test]
        fn an_old_content_is_told_as_soon_as_a_write_alone_ended_well(writes in 1u64..200) {
            let state = (0..writes).fold(UnitState::default(), |state, _| state.after_begin().after_end(true));
            prop_assert_eq!((state.least(), state.issued()), (writes, writes));
        }
    }
}
