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
use load::{Driver, SyncClient};
use model::{ConnectOp, Fact, HoldLimit, Outcome};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use workload::connect::{ConnectProgram, HoldProgram};

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

/// What a hold found. Clones share it.
#[derive(Clone, Default)]
pub struct HoldReport(Arc<Mutex<Vec<Fact>>>);

impl HoldReport {
    /// The facts, once.
    pub fn take_facts(&self) -> Vec<Fact> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn store(&self, facts: Vec<Fact>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = facts;
    }
}

/// The client that holds what `program` asks for.
pub fn hold_clients<T: HoldTarget>(
    program: &ConnectProgram,
    hold: &HoldProgram,
    target: &T,
    report: &HoldReport,
) -> WorkloadClients {
    WorkloadClients::new(&program.kinds, &program.run, None, 1, |source, _| {
        let (target, hold, report) = (target.clone(), hold.clone(), report.clone());
        let timeout = super::allowed_time(program.timeout);
        Box::new(SyncClient::new(source, HoldDriver { target, hold, timeout, report }))
    })
}

/// The client.
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
    /// Opens and holds until the end, which is a result and no failure.
    fn hold_all(&self) -> Vec<Fact> {
        crate::file::lift_limit(self.hold.most);
        let (mut held, mut footprints, roots) = (Vec::new(), Footprints::default(), self.target.processes());
        let mut refusal = None;
        while refusal.is_none() && (held.len() as u64) < self.hold.most {
            footprints.follow(held.len() as u64, &roots);
            match self.open_next(held.len() as u64) {
                Ok(open) => held.push(open),
                Err(failure) => refusal = Some(failure),
            }
        }
        std::thread::sleep(SETTLE);
        footprints.measure(held.len() as u64, &roots);
        let limit = refusal.as_ref().map_or(HoldLimit::Asked, limit_of);
        let mut facts =
            vec![Fact::new("hold.reached", held.len().to_string()), Fact::new("hold.limit", limit.as_str())];
        facts.extend(refusal.map(|failure| Fact::new("hold.error", failure.text)));
        facts.extend(self.target.count_connections().map(|all| Fact::new("hold.connections", all.to_string())));
        facts.extend(footprints.facts());
        facts
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

    fn execute_op(&mut self, _: &ConnectOp) -> Outcome {
        self.report.store(self.hold_all());
        Outcome::Ok { bytes: 0 }
    }

    fn describe_failure(&self) -> String {
        self.target.server_name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{FailureClass, HoldKind, PointTraits};
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
            match self.0.fetch_add(1, Relaxed) < self.1 {
                true => Ok(()),
                false => Err(OpFailure { class: FailureClass::Other, text: self.2.into() }),
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
        let mut traits = PointTraits::default();
        traits.learn_all(&driver.hold_all());
        traits.outcome.hold.expect("it held")
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
