//! The thread of an agent that hears orders, while the load runs.
//!
//! In: the stream of orders of one run, the lease of its coordinator. Out: orders to the thread that performs; those that end a point act at
//! once. It sends lost reports again and keeps the clock. Limits: an order that was not written with the key of the run is refused
//! with a note, and nothing else comes of it.

use super::reach_bus::LOOK_EACH;
use super::run_clock::RunClock;
use super::wire::{AgentInfo, LeadInfo, NumberedOrder, Order, from_bytes};
use crate::error::RunnerError;
use bus::{Appended, BusConnector, BusError, BusKeys, BusLink, Outbox, StreamPosition};
use host::deadline::poll_each;
use load::{Stop, StopReason};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long one question for orders waits for some: an order ends it at once.
const HEAR_WAIT: Duration = Duration::from_secs(2);
/// The most orders that are read at once.
const HEAR_MOST: usize = 16;
/// The rest after something that cannot be understood: it would come again at once.
const ODD_REST: Duration = Duration::from_secs(5);
/// How often the lease of the coordinator is looked at.
const LEAD_EACH: Duration = Duration::from_secs(2);

/// How far a data set is that several hosts make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataStage {
    /// All hosts have made their parts.
    Made,
    /// The first host has completed it.
    Complete,
}

/// What both threads of an agent know.
pub(super) struct AgentControl {
    stop: Arc<Stop>,
    /// The point that is measured now; 0 for none.
    current: AtomicU32,
    /// The last point that was given up.
    skipped: AtomicU32,
    /// The last point of which there is enough.
    enough: AtomicU32,
    /// The last point whose data all hosts have made.
    data_made: AtomicU32,
    /// The last point whose data is complete.
    data_complete: AtomicU32,
    /// How long it does without a coordinator.
    patience: Duration,
    /// When the coordinator was last seen.
    lead_seen: Mutex<Instant>,
    /// Whether another run has begun.
    is_replaced: AtomicBool,
    notes: Mutex<Vec<String>>,
    outbox: OnceLock<Arc<Outbox>>,
    clock: OnceLock<Arc<RunClock>>,
    ended: AtomicBool,
}

impl AgentControl {
    /// What the threads know of an agent that does without a coordinator for as long as `patience`.
    pub fn new(stop: Arc<Stop>, patience: Duration) -> AgentControl {
        AgentControl {
            stop,
            current: AtomicU32::new(0),
            skipped: AtomicU32::new(0),
            enough: AtomicU32::new(0),
            data_made: AtomicU32::new(0),
            data_complete: AtomicU32::new(0),
            patience,
            lead_seen: Mutex::new(Instant::now()),
            is_replaced: AtomicBool::new(false),
            notes: Mutex::default(),
            outbox: OnceLock::new(),
            clock: OnceLock::new(),
            ended: AtomicBool::new(false),
        }
    }

    /// The run has begun: its reports are in `outbox`, its time is that of `clock`.
    pub fn begin_run(&self, outbox: Arc<Outbox>, clock: Arc<RunClock>) {
        let _ = (self.outbox.set(outbox), self.clock.set(clock)); // a run begins once
    }

    /// `point` is measured from now on. One that was given up meanwhile ends at once.
    pub fn begin_point(&self, point: u32) {
        self.current.store(point, SeqCst);
        if self.skipped.load(SeqCst) >= point {
            self.stop.request(StopReason::Skipped);
        }
    }

    /// No point is measured. Whether others are after one that was given up, or that failed here, is for the coordinator to say.
    pub fn end_point(&self) {
        self.current.store(0, SeqCst);
        self.stop.end_skip();
        self.stop.end_failure();
    }

    fn skip(&self, point: u32) {
        self.skipped.fetch_max(point, SeqCst);
        if (1..=point).contains(&self.current.load(SeqCst)) {
            self.stop.request(StopReason::Skipped);
        }
    }

    /// Whether what was measured of `point` is enough.
    pub fn is_enough(&self, point: u32) -> bool {
        self.enough.load(SeqCst) >= point
    }

    /// Waits until the data of `point` is as far as `stage`.
    ///
    /// # Errors
    /// If the point is given up, or if the coordinator is gone.
    pub fn await_data(&self, point: u32, stage: DataStage) -> Result<(), RunnerError> {
        let reached = match stage {
            DataStage::Made => &self.data_made,
            DataStage::Complete => &self.data_complete,
        };
        while reached.load(SeqCst) < point {
            if let Some(reason) = self.stop.reason() {
                return Err(RunnerError::Stopped(reason));
            }
            self.check_lead()?;
            std::thread::sleep(LOOK_EACH);
        }
        Ok(())
    }

    /// Whether there is still a coordinator to wait for; time without the bus counts, too.
    pub fn check_lead(&self) -> Result<(), RunnerError> {
        let alone = lock(&self.lead_seen).elapsed();
        if alone > self.patience {
            Err(RunnerError::failed(format!(
                "the coordinator or the bus was gone for {} s; what was measured is in this host's run file",
                alone.as_secs()
            )))
        } else {
            Ok(())
        }
    }

    /// Whether another run has begun, so that this one is over.
    pub fn is_replaced(&self) -> bool {
        self.is_replaced.load(SeqCst)
    }

    /// What the user should know.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.notes))
    }

    fn note(&self, text: String) {
        let mut notes = lock(&self.notes);
        if notes.last() != Some(&text) {
            notes.push(text);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread that hears orders. It ends when this is dropped.
pub(super) struct OrderThread {
    control: Arc<AgentControl>,
    thread: Option<JoinHandle<()>>,
}

impl OrderThread {
    /// Hears the orders of `run` from the first on.
    pub fn start(
        connector: &BusConnector,
        keys: &BusKeys,
        run: &str,
        agent: &AgentInfo,
        control: Arc<AgentControl>,
    ) -> std::io::Result<(OrderThread, Receiver<NumberedOrder>)> {
        let (out, orders) = channel();
        let hearer = OrderHearer {
            link: connector.link(),
            keys: keys.clone(),
            run: run.to_owned(),
            agent: agent.clone(),
            control: control.clone(),
            out,
            heard: 0,
            obeyed: 0,
            lead_each: Instant::now(),
            most: HEAR_MOST,
        };
        let thread = std::thread::Builder::new().name("bus-orders".into()).spawn(move || hearer.hear_all())?;
        Ok((OrderThread { control, thread: Some(thread) }, orders))
    }
}

impl Drop for OrderThread {
    fn drop(&mut self) {
        self.control.ended.store(true, SeqCst);
        self.thread.take().map(JoinHandle::join);
    }
}

struct OrderHearer {
    link: BusLink,
    keys: BusKeys,
    run: String,
    agent: AgentInfo,
    control: Arc<AgentControl>,
    out: Sender<NumberedOrder>,
    /// The number of the last entry of the stream.
    heard: u64,
    /// The number of the last order.
    obeyed: u64,
    lead_each: Instant,
    /// How many orders are read at once.
    most: usize,
}

impl OrderHearer {
    fn hear_all(mut self) {
        while !self.control.ended.load(SeqCst) {
            let done = self.hear().and_then(|()| self.look_for_lead()).and_then(|()| self.keep_clock());
            match done {
                Ok(()) => {}
                Err(error) if error.is_away() => {}
                // They may be too long together, and are not one by one.
                Err(BusError::Foreign(_)) if self.most > 1 => self.most = 1,
                Err(error) => {
                    self.control.note(error.to_string());
                    self.rest();
                }
            }
        }
    }

    fn rest(&self) {
        poll_each(LOOK_EACH, ODD_REST, || self.control.ended.load(SeqCst).then_some(()));
    }

    fn hear(&mut self) -> Result<(), BusError> {
        let key = self.keys.orders(&self.run);
        let after = [StreamPosition { key: &key, after: self.heard }];
        let most = self.most;
        let entries = self.link.ask(|bus| bus.read(&after, most, HEAR_WAIT))?;
        for entry in entries {
            self.heard = entry.number;
            match entry.payload.map(|payload| from_bytes::<NumberedOrder>(&payload, "an order", &key)) {
                Ok(Ok(NumberedOrder { nth, .. })) if nth <= self.obeyed => {}
                Ok(Ok(numbered)) => {
                    self.obeyed = numbered.nth;
                    self.take(numbered)?;
                }
                Ok(Err(error)) => self.control.note(format!("an order was refused: {error}")),
                Err(why) => self.control.note(format!("an order was refused: {why}")),
            }
        }
        Ok(())
    }

    fn take(&mut self, numbered: NumberedOrder) -> Result<(), BusError> {
        let NumberedOrder { nth, order } = numbered;
        match order {
            Order::Skip { point } => self.control.skip(point),
            Order::Stop { point } => {
                self.control.enough.fetch_max(point, SeqCst);
            }
            Order::CompleteData { point } => {
                self.control.data_made.fetch_max(point, SeqCst);
            }
            Order::UseData { point } => {
                self.control.data_complete.fetch_max(point, SeqCst);
            }
            Order::Resend { name, incarnation, request, from, to } => {
                if name == self.agent.name && incarnation == self.agent.incarnation {
                    self.resend(request, from, to)?;
                }
            }
            order => {
                if order == Order::End {
                    self.control.ended.store(true, SeqCst);
                }
                let _ = self.out.send(NumberedOrder { nth, order }); // whoever performs may be gone
            }
        }
        Ok(())
    }

    /// Sends the reports from number `from` to number `to` again, as far as there are such.
    fn resend(&mut self, request: u64, from: u64, to: u64) -> Result<(), BusError> {
        let Some(outbox) = self.control.outbox.get() else { return Ok(()) };
        let key = self.keys.resent(&self.run, &self.agent.name, &self.agent.incarnation, request);
        for number in from..=to.min(outbox.len()) {
            let payload = outbox.get(number).ok().flatten();
            let Some(payload) = payload else { return Ok(()) };
            let _: Appended = self.link.ask(|bus| bus.append(&key, number, &payload))?;
        }
        Ok(())
    }

    fn look_for_lead(&mut self) -> Result<(), BusError> {
        if self.lead_each.elapsed() < LEAD_EACH {
            return Ok(());
        }
        self.lead_each = Instant::now();
        let key = self.keys.lead();
        let value = self.link.ask(|bus| bus.lease_value(&key))?;
        match value.and_then(|value| from_bytes::<LeadInfo>(&value, "the lease", &key).ok()) {
            Some(lead) if lead.run == self.run => *lock(&self.control.lead_seen) = Instant::now(),
            // What is measured for the run before is of no use any more.
            Some(_) => {
                self.control.ended.store(true, SeqCst);
                self.control.is_replaced.store(true, SeqCst);
                self.control.skip(u32::MAX);
            }
            None => {}
        }
        Ok(())
    }

    fn keep_clock(&mut self) -> Result<(), BusError> {
        let Some(clock) = self.control.clock.get() else { return Ok(()) };
        self.link.ask(|bus| clock.compare(bus))
    }
}
