//! The kernel of waiting: a lock that two threads hand to each other.
//!
//! In each round a number goes back and forth between the client and a companion, under a mutex and its condition variable, as a commit
//! goes between a session and the thread that writes the log. Limits: one of the two waits while the other works, so a client with its
//! companion keeps about one core busy; what is measured is mostly the kernel's way to wake a thread, which a hypervisor can make several
//! times as long.

use super::kernel::{Kernel, fold};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// How often the number goes to the companion and back in a round.
const EXCHANGES: u64 = 32;

/// Hands a number to its companion and takes it back.
#[derive(Default)]
pub(super) struct LockKernel {
    shared: Arc<Handover>,
    companion: Option<JoinHandle<()>>,
}

/// What client and companion share.
#[derive(Default)]
struct Handover {
    state: Mutex<HandoverState>,
    passed: Condvar,
}

#[derive(Default)]
struct HandoverState {
    turn: Turn,
    number: u64,
}

/// Whose the number is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Turn {
    #[default]
    Client,
    Companion,
    /// No round follows.
    Over,
}

impl Handover {
    fn lock(&self) -> MutexGuard<'_, HandoverState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is no longer the turn of `other`.
    fn wait_while(&self, other: Turn) -> MutexGuard<'_, HandoverState> {
        let waited = self.passed.wait_while(self.lock(), |state| state.turn == other);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the number to `next`.
    fn pass(&self, mut state: MutexGuard<'_, HandoverState>, next: Turn) {
        state.turn = next;
        drop(state);
        self.passed.notify_one();
    }

    /// What the companion does: it changes the number and gives it back.
    fn answer(&self) {
        loop {
            let mut state = self.wait_while(Turn::Client);
            if state.turn == Turn::Over {
                return;
            }
            state.number = fold(state.number, 1);
            self.pass(state, Turn::Client);
        }
    }
}

impl Kernel for LockKernel {
    fn open(&mut self) -> Result<(), String> {
        let shared = self.shared.clone();
        let spawned = std::thread::Builder::new().name("lock companion".into()).spawn(move || shared.answer());
        self.companion = Some(spawned.map_err(|error| format!("cannot start the companion of a client: {error}"))?);
        Ok(())
    }

    fn perform(&mut self, item: u64) -> u64 {
        let mut number = item;
        for _ in 0..EXCHANGES {
            let mut state = self.shared.lock();
            state.number = number;
            self.shared.pass(state, Turn::Companion);
            number = self.shared.wait_while(Turn::Companion).number;
        }
        number
    }

    fn expected(&self, item: u64) -> u64 {
        (0..EXCHANGES).fold(item, |number, _| fold(number, 1))
    }
}

impl Drop for LockKernel {
    fn drop(&mut self) {
        self.shared.pass(self.shared.lock(), Turn::Over);
        if let Some(companion) = self.companion.take() {
            // It has nothing to return, and a panic of its own was printed.
            let _ = companion.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::kernel::tests::hold_the_contract;

    #[test]
    fn the_number_comes_back_changed_and_the_companion_ends_with_its_client() {
        let kernel = LockKernel::default();
        let shared = Arc::downgrade(&kernel.shared);
        hold_the_contract(kernel);
        assert!(shared.upgrade().is_none(), "the companion has ended");
    }
}
