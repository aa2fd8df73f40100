//! Connections, or open transactions, are held until the engine refuses one more.
//!
//! In: how to open one and what it then does. Out: facts: how many were held, the text of the refusal, the memory of the engine on
//! the way. They are opened one by one, so the limit is exact, and none is closed before the end.
//! Limits: plimsoll lifts its own limit of open files as far as the hard limit goes; if its files or ports run out first, the
//! facts name plimsoll as the limit and not the engine.

use super::ConnectTarget;
use super::footprint::{ServerFootprint, measure_footprint};
use crate::engine::WorkloadClients;
use crate::sql::OpFailure;
use load::{Driver, Stop, SyncClient};
use model::{ConnectOp, Fact, HoldLimit, LoadPart, Outcome};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use workload::program::{ConnectProgram, HoldProgram};

/// What a held connection does, and what the engine counts.
pub trait HoldTarget: ConnectTarget {
    /// Begins what connection number `nth` holds, from 0: nothing, or a transaction.
    fn begin(&self, open: &mut Self::Open, program: &HoldProgram, nth: u64) -> Result<(), OpFailure>;
    /// The connections that the engine has now, those of others among them.
    fn count_connections(&self) -> Option<u64> {
        None
    }
    /// The processes of the engine, if they are seen.
    fn processes(&self) -> Vec<u32>;
}

/// What a hold has found so far. Clones share it.
#[derive(Clone, Default)]
pub struct HoldReport(Arc<Mutex<Option<HoldProgress>>>);

impl HoldReport {
    /// Whether nothing was held since the facts were taken.
    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// The facts, once; also of a hold that was given up while it waited for the engine.
    pub fn take_facts(&self) -> Vec<Fact> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.map_or(Vec::new(), |progress| progress.facts())
    }

    /// Changes what was found.
    fn update(&self, change: impl FnOnce(&mut HoldProgress)) {
        change(self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default());
    }
}

/// How far a hold has come.
#[derive(Default)]
struct HoldProgress {
    held: u64,
    /// What ended it, if it has ended.
    ended: Option<HoldEnd>,
    /// All connections of the engine at the end.
    connections: Option<u64>,
    footprints: Footprints,
}

/// What ended a hold.
enum HoldEnd {
    Refused(OpFailure),
    Asked,
    Interrupted,
}

impl HoldProgress {
    fn facts(&self) -> Vec<Fact> {
        let (limit, refusal) = match &self.ended {
            None | Some(HoldEnd::Interrupted) => (HoldLimit::Interrupted, None),
            Some(HoldEnd::Asked) => (HoldLimit::Asked, None),
            Some(HoldEnd::Refused(failure)) => (limit_of(failure), Some(failure.text.as_str())),
        };
        let mut facts = vec![Fact::new("hold.reached", self.held.to_string()), Fact::new("hold.limit", limit.as_str())];
        facts.extend(refusal.map(|text| Fact::new("hold.error", text)));
        facts.extend(self.connections.map(|all| Fact::new("hold.connections", all.to_string())));
        facts.extend(self.footprints.facts());
        facts
    }
}

/// The client that holds what `program` asks for.
pub fn hold_clients<T: HoldTarget>(
    program: &ConnectProgram,
    hold: &HoldProgram,
    target: &T,
    report: &HoldReport,
) -> WorkloadClients {
    WorkloadClients::new(&program.kinds, &program.run, &[], LoadPart::WHOLE, |source, _| {
        let (target, hold, report) = (target.clone(), hold.clone(), report.clone());
        let timeout = super::allowed_time(program.timeout);
        Box::new(SyncClient::new(source, HoldDriver { target, hold, timeout, report }))
    })
}

struct HoldDriver<T: HoldTarget> {
    target: T,
    hold: HoldProgram,
    timeout: Duration,
    report: HoldReport,
}

/// How an engine's footprint went while connections were opened.
#[derive(Default)]
struct Footprints(Vec<(u64, ServerFootprint)>);

impl Footprints {
    /// Measures now if enough has been opened since the last time: reading costs more than opening.
    fn follow(&mut self, held: u64, roots: &[u32]) {
        let due = self.0.last().is_none_or(|(last, _)| held >= last + (last / 8).max(1));
        if due {
            self.measure(held, roots);
        }
    }

    fn measure(&mut self, held: u64, roots: &[u32]) {
        self.0.retain(|(number, _)| *number != held);
        self.0.extend(measure_footprint(roots).map(|footprint| (held, footprint)));
    }

    fn facts(&self) -> Vec<Fact> {
        let (Some((_, first)), Some((_, last))) = (self.0.first(), self.0.last()) else { return Vec::new() };
        let memory: Vec<String> = self.0.iter().map(|(held, found)| format!("{held}:{}", found.bytes)).collect();
        vec![
            Fact::new("hold.memory", memory.join(" ")),
            Fact::new("hold.threads", format!("{} {}", first.threads, last.threads)),
            Fact::new("hold.processes", format!("{} {}", first.processes, last.processes)),
        ]
    }
}

/// After a refusal the engine may still count the connection that it refused.
const SETTLE: Duration = Duration::from_millis(200);

impl<T: HoldTarget> HoldDriver<T> {
    /// Opens and holds until the end, which is a result and no failure, or until `stop` is requested. What was found is in the report
    /// from the beginning on: a connection attempt that waits for the engine cannot look at `stop`.
    fn hold_all(&self, stop: &Stop) {
        crate::file::lift_limit(self.hold.most);
        let (mut held, roots) = (Vec::new(), self.target.processes());
        let ended = loop {
            let nth = held.len() as u64;
            self.report.update(|found| {
                found.held = nth;
                found.footprints.follow(nth, &roots);
            });
            if stop.reason().is_some() {
                break HoldEnd::Interrupted;
            }
            if nth == self.hold.most {
                break HoldEnd::Asked;
            }
            match self.open_next(nth) {
                Ok(open) => held.push(open),
                Err(failure) => break HoldEnd::Refused(failure),
            }
        };
        if matches!(ended, HoldEnd::Refused(_)) {
            std::thread::sleep(SETTLE);
        }
        let connections = self.target.count_connections();
        self.report.update(|found| {
            found.footprints.measure(found.held, &roots);
            (found.ended, found.connections) = (Some(ended), connections);
        });
    }

    fn open_next(&self, nth: u64) -> Result<T::Open, OpFailure> {
        let mut open = self.target.open(self.timeout)?;
        self.target.begin(&mut open, &self.hold, nth)?;
        Ok(open)
    }
}

/// Whose limit a refusal is: the system's words for a process that is out of files, or of ports, are about plimsoll itself.
fn limit_of(failure: &OpFailure) -> HoldLimit {
    use rustix::io::Errno;
    let own = [Errno::MFILE, Errno::NFILE, Errno::ADDRNOTAVAIL];
    let words = own.map(|errno| host::error::system_words(&std::io::Error::from(errno)));
    if words.iter().any(|words| failure.text.contains(words.as_str())) {
        HoldLimit::Plimsoll
    } else {
        HoldLimit::Engine
    }
}

impl<T: HoldTarget> Driver for HoldDriver<T> {
    type Op = ConnectOp;

    fn open(&mut self) -> Result<(), String> {
        let opened = self.target.open(self.timeout);
        opened.map(drop).map_err(|failure| failure.of_opening(&self.target.server_name()))
    }

    fn execute_op(&mut self, op: &ConnectOp) -> Outcome {
        self.execute_op_until(op, &Stop::default())
    }

    fn execute_op_until(&mut self, _: &ConnectOp, stop: &Stop) -> Outcome {
        self.hold_all(stop);
        Outcome::Ok { bytes: 0 }
    }

    fn describe_failure(&self) -> String {
        self.target.server_name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::StopReason;
    use model::{FailureClass, HoldKind, PointTraits};
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// Accepts so many.
    #[derive(Clone)]
    struct Limited(Arc<AtomicU64>, u64, &'static str);
    impl ConnectTarget for Limited {
        type Open = ();
        fn server_name(&self) -> String {
            "a server".into()
        }
        fn open(&self, _: Duration) -> Result<(), OpFailure> {
            if self.0.fetch_add(1, Relaxed) < self.1 {
                Ok(())
            } else {
                Err(OpFailure { class: FailureClass::Other, text: self.2.into() })
            }
        }
        fn ask(&self, _: &mut ()) -> Result<(), OpFailure> {
            Ok(())
        }
    }
    impl HoldTarget for Limited {
        fn begin(&self, _: &mut (), _: &HoldProgram, _: u64) -> Result<(), OpFailure> {
            Ok(())
        }
        fn processes(&self) -> Vec<u32> {
            vec![std::process::id()]
        }
    }

    fn held(accepts: u64, text: &'static str, most: u64) -> model::HoldOutcome {
        let hold = HoldProgram { kind: HoldKind::Connections, most, locks: 0, table: None };
        let target = Limited(Arc::default(), accepts, text);
        let driver = HoldDriver { target, hold, timeout: Duration::from_secs(1), report: HoldReport::default() };
        driver.hold_all(&Stop::default());
        found_by(&driver.report)
    }

    fn found_by(report: &HoldReport) -> model::HoldOutcome {
        let mut traits = PointTraits::default();
        traits.learn_all(&report.take_facts());
        traits.outcome.hold.expect("it held")
    }

    /// Stops the run when `.1` are open, and never answers the one after that if it hangs.
    #[derive(Clone)]
    struct Stopping(Arc<AtomicU64>, u64, Arc<Stop>, Option<Arc<Barrier>>);
    impl ConnectTarget for Stopping {
        type Open = ();
        fn server_name(&self) -> String {
            "a server".into()
        }
        fn open(&self, _: Duration) -> Result<(), OpFailure> {
            if self.0.fetch_add(1, Relaxed) + 1 == self.1 {
                self.2.request(StopReason::Interrupted);
                // Both wait here: the engine that does not answer, and who looks at the report meanwhile.
                self.3.iter().for_each(|hangs| {
                    hangs.wait();
                    hangs.wait();
                });
            }
            Ok(())
        }
        fn ask(&self, _: &mut ()) -> Result<(), OpFailure> {
            Ok(())
        }
    }
    impl HoldTarget for Stopping {
        fn begin(&self, _: &mut (), _: &HoldProgram, _: u64) -> Result<(), OpFailure> {
            Ok(())
        }
        fn processes(&self) -> Vec<u32> {
            vec![std::process::id()]
        }
    }

    #[test]
    fn a_hold_that_is_interrupted_ends_with_the_connection_in_flight_and_keeps_what_it_found() {
        let (stop, report) = (Arc::new(Stop::default()), HoldReport::default());
        let hold = HoldProgram { kind: HoldKind::Connections, most: u64::MAX, locks: 0, table: None };
        let target = Stopping(Arc::default(), 7, stop.clone(), None);
        let driver = HoldDriver { target, hold, timeout: Duration::from_secs(1), report: report.clone() };
        driver.hold_all(&stop);
        let found = found_by(&report);
        assert_eq!((found.reached, found.limit, found.error), (7, HoldLimit::Interrupted, None));
        assert!(found.memory.last().is_some_and(|memory| memory.held == 7), "{:?}", found.memory);
    }

    #[test]
    fn what_a_hold_found_is_known_while_the_engine_does_not_answer() {
        let (stop, report, hangs) = (Arc::new(Stop::default()), HoldReport::default(), Arc::new(Barrier::new(2)));
        let hold = HoldProgram { kind: HoldKind::Connections, most: u64::MAX, locks: 0, table: None };
        let target = Stopping(Arc::default(), 7, stop.clone(), Some(hangs.clone()));
        let driver = HoldDriver { target, hold, timeout: Duration::from_secs(1), report: report.clone() };
        std::thread::scope(|scope| {
            scope.spawn(|| driver.hold_all(&stop));
            hangs.wait();
            let found = found_by(&report);
            hangs.wait();
            assert_eq!((found.reached, found.limit), (6, HoldLimit::Interrupted));
        });
    }

    #[test]
    fn the_last_that_was_accepted_is_the_limit_and_its_text_is_kept() {
        let found = held(60, "Too many connections", 1_000);
        assert_eq!((found.reached, found.limit), (60, HoldLimit::Engine));
        assert_eq!(found.error.as_deref(), Some("Too many connections"));
        let numbers: Vec<u64> = found.memory.iter().map(|memory| memory.held).collect();
        assert!(numbers.starts_with(&[0, 1, 2]) && numbers.ends_with(&[60]) && numbers.is_sorted(), "{numbers:?}");
    }

    #[test]
    fn a_number_that_was_asked_for_and_files_of_plimsolls_own_are_no_limit_of_the_engine() {
        let found = held(60, "", 20);
        assert_eq!((found.reached, found.limit, found.error), (20, HoldLimit::Asked, None));
        let own = held(5, "the connection was lost: Too many open files", 20);
        assert_eq!((own.reached, own.limit), (5, HoldLimit::Plimsoll), "{own:?}");
    }
}
