//! Own gaps: stretches in which plimsoll itself did not run. What the engine did meanwhile is unknown.
//!
//! In: the sampler's watch finds gaps and makes events of them. Out: the analysis makes gaps of these events again.
//! Limits: the time in which the machine was suspended is in no gap, because the clock of the run does not count it; such a time is
//! a single event.

use crate::event::{Event, EventKind};
use crate::units::{Nanos, Tick};

/// The shortest gap that is recorded. A busy virtual machine loses the CPU for tens of milliseconds.
pub const OWN_GAP_MIN: Nanos = Nanos::from_millis(100);

/// A stretch in which plimsoll itself did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnGap {
    /// When it is known to have run for the last time.
    pub from: Tick,
    /// When it ran again.
    pub to: Tick,
    /// Why it did not run.
    pub cause: OwnGapCause,
}

/// Why plimsoll did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnGapCause {
    /// It did not even wait for a CPU: it was stopped or frozen, or its machine did not run.
    Stopped,
    /// It waited for a CPU, and no thread of it got one.
    NoCpu,
}

impl OwnGap {
    /// How long it is.
    pub fn length(&self) -> Nanos {
        self.to.since(self.from)
    }

    /// The events of its beginning and its end.
    pub fn to_events(self) -> [Event; 2] {
        let length = self.length();
        let (kind, text) = match self.cause {
            OwnGapCause::Stopped => {
                let text =
                    format!("plimsoll did not run for {length}: it was stopped or frozen, or its machine paused");
                (EventKind::OwnStop, text)
            }
            OwnGapCause::NoCpu => (EventKind::OwnWait, format!("plimsoll waited for a CPU for {length}")),
        };
        [Event::new(self.from, kind, text), Event::new(self.to, EventKind::OwnGapEnd, "plimsoll runs again")]
    }

    /// The gaps whose beginning and end are in `events`, which are in the order of time.
    pub fn from_events(events: &[Event]) -> Vec<OwnGap> {
        let mut open = None;
        let ended = events.iter().filter_map(|event| match event.kind {
            EventKind::OwnStop => set_open(&mut open, event.at, OwnGapCause::Stopped),
            EventKind::OwnWait => set_open(&mut open, event.at, OwnGapCause::NoCpu),
            EventKind::OwnGapEnd => open.take().map(|(from, cause)| OwnGap { from, to: event.at, cause }),
            _ => None,
        });
        ended.collect()
    }
}

/// Notes that a gap began; none has ended.
fn set_open(open: &mut Option<(Tick, OwnGapCause)>, at: Tick, cause: OwnGapCause) -> Option<OwnGap> {
    *open = Some((at, cause));
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_come_back_from_their_events_among_others() {
        let gap = |from, to, cause| OwnGap { from: Tick(from), to: Tick(to), cause };
        let gaps = [gap(5, 9, OwnGapCause::Stopped), gap(9, 12, OwnGapCause::NoCpu)];
        let mut events: Vec<Event> = gaps.into_iter().flat_map(OwnGap::to_events).collect();
        events.insert(1, Event::new(Tick(6), EventKind::Engine, "a line of its log"));
        assert_eq!(OwnGap::from_events(&events), gaps);
    }

    #[test]
    fn a_beginning_without_an_end_and_an_end_without_a_beginning_are_no_gap() {
        let [began, ended] = OwnGap { from: Tick(5), to: Tick(9), cause: OwnGapCause::Stopped }.to_events();
        assert_eq!(OwnGap::from_events(&[ended, began]), []);
    }

    #[test]
    fn the_event_tells_how_long_it_was_and_why() {
        let gap = OwnGap { from: Tick(0), to: Tick(1_500_000_000), cause: OwnGapCause::NoCpu };
        assert_eq!(gap.to_events()[0].text, "plimsoll waited for a CPU for 1.50 s");
    }
}
