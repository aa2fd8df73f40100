//! The queue between the thread that records a run and the one that draws it.
//!
//! In: events, as they happen. Out: the same in their order. Limits: it holds so many; when it is full, the oldest figures go first, because
//! newer ones take their place on the screen. What must not be lost, such as the end of a point, is dropped only if nothing else is left.

use super::event::LiveEvent;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Minutes of seconds, for a terminal that is stopped with Ctrl-S.
const LENGTH_MAX: usize = 512;

#[derive(Default)]
pub struct EventQueue {
    events: Mutex<VecDeque<LiveEvent>>,
    is_closed: AtomicBool,
}

impl EventQueue {
    /// Adds an event. The lock is held by either side for no longer than it takes to move some pointers.
    pub fn push(&self, event: LiveEvent) {
        let mut events = self.lock();
        if events.len() >= LENGTH_MAX {
            let least = events.iter().position(|event| matches!(event, LiveEvent::Second { .. })).unwrap_or(0);
            events.remove(least);
        }
        events.push_back(event);
    }

    /// All that was added since the last call.
    pub fn take(&self) -> VecDeque<LiveEvent> {
        std::mem::take(&mut *self.lock())
    }

    /// Nothing more is added.
    pub fn close(&self) {
        self.is_closed.store(true, Relaxed);
    }

    /// Whether nothing more is added.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }

    /// No code that can panic runs under the lock, so a poisoned one is intact.
    fn lock(&self) -> MutexGuard<'_, VecDeque<LiveEvent>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::live::event::CellMark;
    use crate::output::progress::sums::Second;

    fn second(ops_per_s: f64) -> LiveEvent {
        LiveEvent::Second { second: Box::new(Second { ops_per_s, ..Second::default() }), left: String::new() }
    }

    #[test]
    fn a_full_queue_drops_the_oldest_figures_and_nothing_else() {
        let queue = EventQueue::default();
        queue.push(LiveEvent::Marked { trial: 7, mark: CellMark::Done });
        (0..2 * LENGTH_MAX).for_each(|nth| queue.push(second(nth as f64)));
        let events = queue.take();
        assert_eq!(events.len(), LENGTH_MAX);
        assert!(matches!(events[0], LiveEvent::Marked { trial: 7, .. }));
        let LiveEvent::Second { second, .. } = &events[1] else { panic!("figures follow") };
        assert_eq!(second.ops_per_s, (LENGTH_MAX + 1) as f64);
        assert!(queue.take().is_empty());
    }
}
