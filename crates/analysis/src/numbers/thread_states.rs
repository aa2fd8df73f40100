//! Where the time of threads goes: on a CPU, in its queue, in storage, on locks, waiting for the other side.
//!
//! In: the counters of thread time of a point, and the part of its run phase that counts. Out: [`ThreadStates`]: shares of time.
//! Limits: threads that wait for work are in no share; the sources of the counters decide which those are. A share of what was
//! sampled is as exact as the number of looks: with n of them its standard error is at most 0.5 / sqrt(n).
//! The method is that of thread-state analysis (Gregg, Systems Performance, 2nd edition, section 2.5.8).

use crate::recorded::counters::growth_of_all;
use crate::recorded::window::Window;
use model::{CounterRole, PointData, ThreadOf, ThreadState};
use serde::Serialize;

/// The states of the threads of a point over the part of its run phase that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ThreadStates {
    /// The threads of the engine's processes; `None` if they were not seen, or if the engine works in plimsoll's clients.
    pub engine: Option<StateShares>,
    /// The client threads of plimsoll, with an embedded engine on them; `None` if they were not seen.
    pub client: Option<StateShares>,
    /// The sessions of the engine by its own account; `None` if it keeps none.
    pub session: Option<StateShares>,
    /// How many sessions waited for row locks on average, by the engine's own account; `None` if it keeps none.
    pub row_lock_sessions: Option<f64>,
    /// CPU that plimsoll used to look at threads, in cores; `None` if it did not look.
    pub watch_cores: Option<f64>,
}

/// Shares of the time of threads that worked, from 0 to 1. They sum to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StateShares {
    pub cpu: f64,
    /// In the queue of a CPU. The engine's own account does not have it; there it is part of `cpu`.
    pub runnable: f64,
    /// In reads of storage.
    pub read: f64,
    /// In writes and syncs of storage.
    pub sync: f64,
    /// On other threads: locks, and the thread that syncs for a group.
    pub lock: f64,
    /// Of the engine's threads: on clients. Of clients: on the engine.
    pub client: f64,
    pub other: f64,
    /// How many threads worked on average: their time over that of the clock.
    #[serde(skip)]
    pub threads: f64,
    /// How many looks at threads at work the shares of waits are from; `None` if they were not counted.
    #[serde(skip)]
    pub looks: Option<f64>,
}

impl ThreadStates {
    /// The states of `point` in `window`.
    pub fn measure(point: &PointData, window: &Window) -> ThreadStates {
        let shares = |threads| StateShares::measure(point, window, threads);
        let (start, end) = (window.phase.start, window.phase.end);
        let per_second = |role| Some(growth_of_all(point, role, start, end)?.per_second() / 1e9);
        ThreadStates {
            engine: shares(ThreadOf::Engine),
            client: shares(ThreadOf::Client),
            session: shares(ThreadOf::Session),
            row_lock_sessions: per_second(CounterRole::RowLockTime),
            watch_cores: per_second(CounterRole::ThreadWatchCpu),
        }
    }

    /// The means over repeats, each of which counts alike.
    pub fn mean(all: &[ThreadStates]) -> ThreadStates {
        let mean = |of| StateShares::mean(&all.iter().filter_map(|one| one.of(of).copied()).collect::<Vec<_>>());
        let plain = |value: fn(&ThreadStates) -> Option<f64>| {
            let values: Vec<f64> = all.iter().filter_map(value).collect();
            (!values.is_empty()).then(|| crate::math::stats::mean(&values))
        };
        ThreadStates {
            engine: mean(ThreadOf::Engine),
            client: mean(ThreadOf::Client),
            session: mean(ThreadOf::Session),
            row_lock_sessions: plain(|one| one.row_lock_sessions),
            watch_cores: plain(|one| one.watch_cores),
        }
    }

    /// Whether nothing is known.
    pub fn is_none(&self) -> bool {
        self.engine.is_none() && self.client.is_none() && self.session.is_none()
    }

    /// The shares of these threads.
    pub fn of(&self, threads: ThreadOf) -> Option<&StateShares> {
        match threads {
            ThreadOf::Engine => self.engine.as_ref(),
            ThreadOf::Client => self.client.as_ref(),
            ThreadOf::Session => self.session.as_ref(),
        }
    }
}

impl StateShares {
    /// The shares of `threads`; `None` if no state of theirs was counted, or if none of them worked.
    fn measure(point: &PointData, window: &Window, threads: ThreadOf) -> Option<StateShares> {
        let (start, end) = (window.phase.start, window.phase.end);
        let grown =
            ThreadState::ALL.map(|state| growth_of_all(point, CounterRole::ThreadTime(threads, state), start, end));
        let seconds = grown.iter().flatten().map(|growth| growth.to.since(growth.began).as_secs_f64()).next()?;
        let amounts = grown.map(|growth| growth.map_or(0.0, |growth| growth.amount));
        let total: f64 = amounts.iter().sum();
        if total <= 0.0 || seconds <= 0.0 {
            return None;
        }
        let [cpu, runnable, read, sync, lock, client, other] = amounts.map(|amount| amount / total);
        let looks = growth_of_all(point, CounterRole::ThreadLooks(threads), start, end).map(|growth| growth.amount);
        Some(StateShares { cpu, runnable, read, sync, lock, client, other, threads: total / 1e9 / seconds, looks })
    }

    fn mean(all: &[StateShares]) -> Option<StateShares> {
        let mean =
            |value: fn(&StateShares) -> f64| crate::math::stats::mean(&all.iter().map(value).collect::<Vec<_>>());
        (!all.is_empty()).then(|| StateShares {
            cpu: mean(|one| one.cpu),
            runnable: mean(|one| one.runnable),
            read: mean(|one| one.read),
            sync: mean(|one| one.sync),
            lock: mean(|one| one.lock),
            client: mean(|one| one.client),
            other: mean(|one| one.other),
            threads: mean(|one| one.threads),
            looks: all.iter().map(|one| one.looks).sum(),
        })
    }

    /// The share of one state.
    pub fn share(&self, state: ThreadState) -> f64 {
        match state {
            ThreadState::Cpu => self.cpu,
            ThreadState::Runnable => self.runnable,
            ThreadState::Read => self.read,
            ThreadState::Sync => self.sync,
            ThreadState::Lock => self.lock,
            ThreadState::Client => self.client,
            ThreadState::Other => self.other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{SECOND, Simulation};
    use model::{CounterDef, CounterKind, CounterSample, SourceDef, Tick};

    /// A source of thread time that grows by so many nanoseconds a second in each state.
    fn with_states(simulation: Simulation, threads: ThreadOf, per_s: [f64; 7]) -> Simulation {
        simulation.with(|point| {
            let counter = |state| CounterDef {
                name: String::new(),
                unit: "ns".into(),
                kind: CounterKind::Counter,
                help: String::new(),
                role: Some(CounterRole::ThreadTime(threads, state)),
                in_pages: false,
            };
            let counters = ThreadState::ALL.map(counter).to_vec();
            let source = point.sources.len() as u16;
            point.sources.push(SourceDef { name: "threads".into(), subject: String::new(), counters });
            for second in 0..=10u64 {
                let values = per_s.map(|ns| Some(ns * second as f64)).to_vec();
                point.counters.push(CounterSample { at: Tick(second * SECOND), source, values });
            }
        })
    }

    fn states(simulation: &Simulation) -> ThreadStates {
        simulation.analysis().points.remove(0).threads
    }

    #[test]
    fn shares_are_of_the_time_of_all_threads_and_sum_to_one() {
        let engine =
            with_states(Simulation::counts(&[1000; 10]), ThreadOf::Engine, [1e9, 0.5e9, 0.0, 2e9, 0.25e9, 0.25e9, 0.0]);
        let found = states(&engine).engine.expect("it was counted");
        assert_eq!((found.cpu, found.runnable, found.sync, found.lock), (0.25, 0.125, 0.5, 0.0625));
        assert!((ThreadState::ALL.iter().map(|state| found.share(*state)).sum::<f64>() - 1.0).abs() < 1e-9);
        assert!((found.threads - 4.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn engine_and_clients_are_apart_and_what_was_not_counted_is_absent() {
        let clients =
            with_states(Simulation::counts(&[1000; 10]), ThreadOf::Client, [1e9, 0.0, 0.0, 0.0, 0.0, 3e9, 0.0]);
        let found = states(&clients);
        assert_eq!((found.engine, found.session), (None, None));
        assert_eq!(found.client.map(|shares| shares.client), Some(0.75));
        assert!(states(&Simulation::counts(&[1000; 10])).is_none());
    }

    #[test]
    fn repeats_have_the_mean_of_their_shares() {
        let shares = |cpu| Some(StateShares { cpu, sync: 1.0 - cpu, threads: 2.0, ..StateShares::default() });
        let of = |cpu| ThreadStates { engine: shares(cpu), ..ThreadStates::default() };
        let found = ThreadStates::mean(&[of(0.25), of(0.75)]);
        assert_eq!(found, ThreadStates { engine: shares(0.5), ..ThreadStates::default() });
    }

    #[test]
    fn threads_that_never_worked_have_no_shares() {
        let idle = with_states(Simulation::counts(&[1000; 10]), ThreadOf::Engine, [0.0; 7]);
        assert_eq!(states(&idle).engine, None);
    }
}
