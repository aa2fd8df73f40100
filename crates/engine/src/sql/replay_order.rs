//! Statements of a replay wait for those of other sessions on the same rows that had ended before them in the log.
//!
//! In: which statement each one comes after, and the ends of all, from all clients. Out: waits before statements are sent, and a fact about them.
//! Limits: a wait has an end after 5 s. Clients that would wait for each other, because they have sessions one after the other, do not: the
//! statement then goes ahead, and is counted. Locks are the server's: if one of a transaction waits for a client whose statement the server does not
//! answer for 20 ms, that counts as a circle, too. After [`IN_VAIN_MAX`] waits in vain none is begun any more. That a statement has ended is seen 0.1 ms
//! later, and 2 ms later if it is long waited for.

use host::deadline::poll_each;
use model::{Fact, Nanos, REPLAY_ORDER_FACT, RowOrder};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use workload::replay_sql::{Lanes, StatementPlace};

/// A statement that takes longer holds up no other.
const PATIENCE: Duration = Duration::from_secs(5);
/// A statement that the server does not answer for so long may wait for a lock of the one that waits for it. Most are answered sooner, and no replay
/// is lost if one is not.
const BLOCKED_AFTER: Duration = Duration::from_millis(20);
/// More than these waits in vain would be most of the replay.
const IN_VAIN_MAX: usize = 20;
/// Most statements end within the first looks; then fewer of them leave the CPUs to the server.
const LOOK_FIRST_EVERY: Duration = Duration::from_micros(100);
const LOOK_FIRST_FOR: Duration = Duration::from_millis(5);
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The number of no statement: there are not so many sessions.
const NOTHING: u64 = u64::MAX;

/// Which statements have ended, and who waits for them.
pub struct ReplayOrder {
    lanes: Arc<Lanes>,
    /// How many statements of each session have ended.
    ended: Vec<AtomicU32>,
    /// For which statement each client waits, as a number; [`NOTHING`] for none.
    awaited: Vec<AtomicU64>,
    /// How often each client has begun or ended to wait for the server: odd while it does.
    turns: Vec<AtomicU64>,
    /// What was waited for until the patience was over.
    in_vain: Mutex<Vec<StatementPlace>>,
    patience: Duration,
    blocked_after: Duration,
    /// Statements that come after another one.
    named: AtomicU64,
    waited: AtomicU64,
    waited_ns: AtomicU64,
    longest_ns: AtomicU64,
    in_vain_ns: AtomicU64,
    /// Those that were sent before that one had ended.
    ahead: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    /// The number of the client.
    pub client: u32,
    /// Whether its session is in a transaction, which may have locked rows.
    pub is_in_transaction: bool,
}

/// A statement that the server has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unanswered {
    client: u32,
    /// Which of the client's turns it is.
    turn: u64,
    /// How many clients wait for each other up to it.
    links: u32,
}

/// Why a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitEnd {
    /// The statement has ended.
    Ended,
    LoadIsOver,
    /// The client that is to send it waits for the one that waits for it, or probably for its locks.
    Circle,
    /// It took too long.
    InVain,
}

impl ReplayOrder {
    /// Of so many `sessions`, whose statements so many `clients` send in `lanes`.
    pub fn new(lanes: Arc<Lanes>, clients: u32, sessions: u32) -> ReplayOrder {
        ReplayOrder {
            lanes,
            ended: (0..sessions).map(|_| AtomicU32::new(0)).collect(),
            awaited: (0..clients).map(|_| AtomicU64::new(NOTHING)).collect(),
            turns: (0..clients).map(|_| AtomicU64::new(0)).collect(),
            in_vain: Mutex::default(),
            patience: PATIENCE,
            blocked_after: BLOCKED_AFTER,
            named: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            waited_ns: AtomicU64::new(0),
            longest_ns: AtomicU64::new(0),
            in_vain_ns: AtomicU64::new(0),
            ahead: AtomicU64::new(0),
        }
    }

    /// The next statement of `session` has ended, in whatever way.
    pub fn note_end(&self, session: u32) {
        if let Some(ended) = self.ended.get(session as usize) {
            ended.fetch_add(1, Release);
        }
    }

    /// `client` begins to wait for the server, or ends.
    pub fn note_turn(&self, client: u32) {
        self.turns[client as usize].fetch_add(1, Release);
    }

    /// Lets `waiter` wait until the statement at `place` has ended, but not when `is_over`. Whether it had to.
    pub fn wait_for(&self, place: StatementPlace, waiter: Waiter, is_over: impl Fn() -> bool) -> bool {
        self.named.fetch_add(1, Relaxed);
        if self.has_ended(place) {
            return false;
        }
        // What the client itself sends later does not end while it waits.
        let other = self.lanes.lane_of(place.session);
        let other = other.filter(|other| *other != waiter.client && self.is_worth_waiting(place));
        let Some(other) = other else {
            self.ahead.fetch_add(1, Relaxed);
            return false;
        };
        let began = Instant::now();
        let end = self.wait_until_ended(place, waiter, other, is_over);
        let waited_ns = began.elapsed().as_nanos() as u64;
        self.waited.fetch_add(1, Relaxed);
        self.waited_ns.fetch_add(waited_ns, Relaxed);
        self.longest_ns.fetch_max(waited_ns, Relaxed);
        if end == WaitEnd::InVain {
            self.lock_in_vain().push(place);
            self.in_vain_ns.fetch_add(waited_ns, Relaxed);
        }
        if matches!(end, WaitEnd::InVain | WaitEnd::Circle) {
            self.ahead.fetch_add(1, Relaxed);
        }
        true
    }

    fn has_ended(&self, place: StatementPlace) -> bool {
        self.ended.get(place.session as usize).is_none_or(|ended| ended.load(Acquire) > place.nth)
    }

    fn is_worth_waiting(&self, place: StatementPlace) -> bool {
        let in_vain = self.lock_in_vain();
        in_vain.len() < IN_VAIN_MAX && !in_vain.contains(&place)
    }

    fn lock_in_vain(&self) -> MutexGuard<'_, Vec<StatementPlace>> {
        self.in_vain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until_ended(
        &self,
        place: StatementPlace,
        waiter: Waiter,
        other: u32,
        is_over: impl Fn() -> bool,
    ) -> WaitEnd {
        let awaited = &self.awaited[waiter.client as usize];
        // All clients see these stores in one order, so that of several that wait for each other the last one sees it.
        awaited.store(number_of(place), SeqCst);
        let mut circle: Option<Vec<StatementPlace>> = None;
        let mut unanswered: Option<(Unanswered, Instant)> = None;
        let mut look = || {
            // Twice the same, because others may go on while it is looked from one to the next.
            let way = self.way_to(other, waiter.client);
            let is_circle = way.is_some() && way == circle;
            circle = way;
            let now = if waiter.is_in_transaction { self.unanswered_behind(other) } else { None };
            if now != unanswered.map(|(before, _)| before) {
                unanswered = now.map(|now| (now, Instant::now()));
            }
            // Who is nearer to it is the first to go ahead.
            let is_blocked = unanswered.is_some_and(|(it, since)| since.elapsed() >= self.blocked_after * it.links);
            if self.has_ended(place) {
                return Some(WaitEnd::Ended);
            }
            if is_over() {
                return Some(WaitEnd::LoadIsOver);
            }
            (is_circle || is_blocked).then_some(WaitEnd::Circle)
        };
        let found = poll_each(LOOK_FIRST_EVERY, LOOK_FIRST_FOR.min(self.patience), &mut look);
        let found = found.or_else(|| poll_each(LOOK_EVERY, self.patience, &mut look));
        awaited.store(NOTHING, SeqCst);
        found.unwrap_or(WaitEnd::InVain)
    }

    /// The statement for which `client` waits. When it has ended, the client sleeps on until it looks again, but waits for nobody.
    fn awaited_by(&self, client: u32) -> Option<StatementPlace> {
        let number = self.awaited.get(client as usize)?.load(SeqCst);
        Some(place_of(number)).filter(|place| number != NOTHING && !self.has_ended(*place))
    }

    /// For what client number `first` waits, and the client that is to send it; then the same of that client, and so on.
    fn awaited_from(&self, first: u32) -> impl Iterator<Item = (StatementPlace, u32)> + '_ {
        let link = move |client: u32| {
            let place = self.awaited_by(client)?;
            Some((place, self.lanes.lane_of(place.session)?))
        };
        std::iter::successors(link(first), move |(_, client)| link(*client)).take(self.awaited.len())
    }

    /// The statements by which client number `first` waits for `client`, perhaps by way of others; `None` if it does not.
    fn way_to(&self, first: u32, client: u32) -> Option<Vec<StatementPlace>> {
        let mut way = Vec::new();
        for (place, sender) in self.awaited_from(first) {
            way.push(place);
            if sender == client {
                return Some(way);
            }
        }
        None
    }

    /// The statement for which client number `first` waits, perhaps by way of others, if the server has it.
    fn unanswered_behind(&self, first: u32) -> Option<Unanswered> {
        let senders = self.awaited_from(first).map(|(_, sender)| sender);
        let (links, client) = (1..).zip(std::iter::once(first).chain(senders)).last()?;
        let turn = self.turns[client as usize].load(Acquire);
        (turn % 2 == 1).then_some(Unanswered { client, turn, links })
    }

    /// Nothing if no statement comes after another one.
    pub fn fact(&self) -> Option<Fact> {
        let counts = [&self.named, &self.waited, &self.waited_ns, &self.longest_ns, &self.in_vain_ns, &self.ahead];
        let [named, waited, waited_ns, longest_ns, in_vain_ns, ahead] = counts.map(|count| count.load(Relaxed));
        let in_vain = self.lock_in_vain().len();
        let order = RowOrder {
            named,
            waited,
            waited_ns: Nanos(waited_ns),
            longest_ns: Nanos(longest_ns),
            in_vain: in_vain as u64,
            in_vain_ns: Nanos(in_vain_ns),
            ahead,
            given_up_after: (in_vain >= IN_VAIN_MAX).then_some(IN_VAIN_MAX as u64),
        };
        (named > 0).then(|| Fact::new(REPLAY_ORDER_FACT, order.to_string()))
    }
}

fn number_of(place: StatementPlace) -> u64 {
    (u64::from(place.session) << 32) | u64::from(place.nth)
}

fn place_of(number: u64) -> StatementPlace {
    StatementPlace { session: (number >> 32) as u32, nth: number as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use workload::replay_sql::{LogWanted, read_log};

    /// Three sessions, each of which updates a row of its own twice while the others are open.
    const LOG: &str = "261128  3:16:29\t     4 Query\tupdate t set a = 1 where id = 4\n\
                       \t\t     5 Query\tupdate t set a = 1 where id = 5\n\
                       \t\t     6 Query\tupdate t set a = 1 where id = 6\n\
                       261128  3:16:31\t     4 Query\tupdate t set a = 2 where id = 4\n\
                       \t\t     5 Query\tupdate t set a = 2 where id = 5\n\
                       \t\t     6 Query\tupdate t set a = 2 where id = 6\n";

    fn order(clients: u32, patience: Duration) -> ReplayOrder {
        let wanted = LogWanted { writes: true, ..LogWanted::default() };
        let recording = read_log(LOG.as_bytes(), &wanted).unwrap().1;
        let lanes = Arc::new(recording.lanes(clients).unwrap());
        ReplayOrder { patience, ..ReplayOrder::new(lanes, clients, recording.sessions()) }
    }

    fn place(session: u32, nth: u32) -> StatementPlace {
        StatementPlace { session, nth }
    }

    fn by(client: u32) -> Waiter {
        Waiter { client, is_in_transaction: false }
    }

    /// Lets `client` wait as if it had looked just before.
    fn let_wait(order: &ReplayOrder, client: usize, place: StatementPlace) {
        order.awaited[client].store(number_of(place), SeqCst);
    }

    fn told(order: &ReplayOrder) -> String {
        order.fact().unwrap().value
    }

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn a_statement_is_sent_when_the_one_before_it_has_ended() {
        let order = order(3, LONG);
        assert_eq!(order.fact(), None);
        order.note_end(1);
        assert!(!order.wait_for(place(1, 0), by(0), || false), "it has ended");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| order.wait_for(place(1, 1), by(0), || false));
            while order.awaited[0].load(SeqCst) == NOTHING {
                std::thread::yield_now();
            }
            order.note_end(1);
            assert!(waiting.join().unwrap());
        });
        let told = told(&order);
        assert!(
            told.starts_with("2 statements name a row that another session wrote before; 1 waited for it, "),
            "{told}"
        );
        assert!(told.ends_with("; 0 went ahead of it"), "{told}");
    }

    #[test]
    fn the_end_of_the_load_ends_a_wait() {
        let order = order(3, LONG);
        assert!(order.wait_for(place(1, 0), by(0), || true));
        assert!(told(&order).ends_with("; 0 went ahead of it"));
    }

    #[test]
    fn what_was_waited_for_in_vain_is_not_waited_for_again_and_after_many_nothing_is() {
        let order = order(3, Duration::ZERO);
        assert!(order.wait_for(place(1, 0), by(0), || false));
        assert!(!order.wait_for(place(1, 0), by(2), || false));
        assert!(told(&order).ends_with("; 2 went ahead of it"), "{}", told(&order));
        for nth in 1..IN_VAIN_MAX as u32 {
            assert!(order.wait_for(place(1, nth), by(0), || false));
        }
        assert!(!order.wait_for(place(2, 0), by(0), || false));
        let expected = format!(
            "; {} went ahead of it; after {IN_VAIN_MAX} waits in vain none was begun any more",
            IN_VAIN_MAX + 2
        );
        assert!(told(&order).ends_with(&expected), "{}", told(&order));
        assert!(told(&order).contains(&format!("; {IN_VAIN_MAX} waited in vain, ")), "{}", told(&order));
    }

    #[test]
    fn nobody_waits_for_a_client_that_waits_for_him_and_none_for_what_he_sends_himself() {
        let order = order(3, LONG);
        assert!(!order.wait_for(place(0, 1), by(0), || false), "it is of the same client");
        // Client 1 waits for 2, and 2 for 0.
        let_wait(&order, 1, place(2, 0));
        let_wait(&order, 2, place(0, 0));
        assert!(order.wait_for(place(1, 0), by(0), || false));
        assert!(told(&order).ends_with("; 2 went ahead of it"), "{}", told(&order));
        order.awaited[2].store(NOTHING, SeqCst);
        assert_eq!(order.way_to(1, 0), None);
        // Others that wait for each other are none of his business.
        let_wait(&order, 2, place(1, 0));
        assert_eq!(order.way_to(1, 0), None);
    }

    /// Whether the load is over, which it is at the fifth look; `at_each` look something happens.
    fn over_at_the_fifth_look(at_each: impl Fn(u32)) -> impl Fn() -> bool {
        let looks = Cell::new(0);
        move || {
            looks.set(looks.get() + 1);
            at_each(looks.get());
            looks.get() == 5
        }
    }

    #[test]
    fn a_client_that_sleeps_on_after_its_statement_has_ended_closes_no_circle() {
        let order = order(3, LONG);
        let_wait(&order, 1, place(2, 0));
        let_wait(&order, 2, place(0, 0));
        assert_eq!(order.way_to(1, 0), Some(vec![place(2, 0), place(0, 0)]));
        order.note_end(2);
        assert_eq!(order.way_to(1, 0), None);
        assert!(order.wait_for(place(1, 0), by(0), over_at_the_fifth_look(|_| ())));
        assert!(told(&order).ends_with("; 0 went ahead of it"), "{}", told(&order));
        // Nor is it taken for the one whose statement the server has: what comes after it is not looked at.
        order.note_turn(2);
        assert_eq!(order.unanswered_behind(1), None);
    }

    #[test]
    fn a_circle_is_one_if_it_is_the_same_at_two_looks() {
        let order = order(3, LONG);
        let_wait(&order, 1, place(2, 0));
        let_wait(&order, 2, place(0, 0));
        let goes_on = |look| let_wait(&order, 1, place(2, look));
        assert!(order.wait_for(place(1, 0), by(0), over_at_the_fifth_look(goes_on)));
        assert!(told(&order).ends_with("; 0 went ahead of it"), "{}", told(&order));
    }

    #[test]
    fn a_transaction_goes_ahead_of_a_client_whose_statement_may_wait_for_its_locks() {
        let order = ReplayOrder { blocked_after: Duration::ZERO, ..order(3, LONG) };
        let locking = Waiter { client: 0, is_in_transaction: true };
        order.note_turn(1);
        assert!(order.wait_for(place(1, 0), locking, || false), "the server has a statement of client 1");
        assert!(told(&order).ends_with("; 1 went ahead of it"), "{}", told(&order));
        // Client 1 waits for 2, which the server answers.
        order.note_turn(1);
        let_wait(&order, 1, place(2, 0));
        order.note_turn(2);
        assert_eq!(order.unanswered_behind(1), Some(Unanswered { client: 2, turn: 1, links: 2 }));
        order.note_turn(2);
        assert_eq!(order.unanswered_behind(1), None);
        // What locks nothing, or waits for what the server has answered, keeps its order: only the end of the load ends its wait here.
        assert!(order.wait_for(place(1, 0), locking, || true));
        order.note_turn(1);
        order.awaited[1].store(NOTHING, SeqCst);
        assert!(order.wait_for(place(1, 0), by(0), || true));
        assert!(told(&order).ends_with("; 1 went ahead of it"), "{}", told(&order));
    }
}
