//! Watches the settings of a server from before a point to its end, and whether it is the same server.
//!
//! In: an engine's reader of its settings. Out: facts about each setting that changed and each other server that answered, and events: changes,
//! restarts, other servers, and readings that failed. They are recorded with the next interval. Limits: a server that does not answer is a gap and never ends a point. A change that was taken back between two readings is
//! not seen, and neither is a table that changes while data is made: they are made before the data, before the load, halfway through it (after a minute at the latest), each minute from then
//! on, and after it.

use engine::{OtherServer, SettingsReader, SettingsReading};
use host::deadline::poll_each;
use load::{Clock, MonotonicClock, Stop};
use model::{Event, EventKind, Fact, Nanos, Tick, is_part_of_table};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// From one reading to the next during a load.
const READ_EVERY: Duration = Duration::from_secs(60);

/// How long the end of a point waits for the last reading: a server that hangs must not hold it up.
const LAST_READING_WAIT: Duration = Duration::from_secs(3);

/// The same if the user has ended the run.
const INTERRUPTED_WAIT: Duration = Duration::from_millis(700);

/// How long a server that does not answer after a failure is asked again. One that was killed recovers and is back in seconds.
const RETURN_WAIT: Duration = Duration::from_secs(10);

/// Between two questions to a server that does not answer, and between two looks whether the user wants the end.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// The value of a setting, a column or an index that is not there.
const ABSENT: &str = "none";

/// When the settings are read while the load runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MidReadings {
    /// Halfway through a load of this length, and each minute.
    Within(Nanos),
    /// Not at all: the step changes settings itself, and changes them back.
    None,
}

/// How the settings are read after the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastReading {
    Once,
    /// Again and again for a while, until the server answers: a restart ends its connections before the new server takes any.
    Patient,
    /// Nothing waits for it: what blocks a client may block this, too.
    Unawaited,
}

impl LastReading {
    /// How long the server is asked.
    fn patience(self) -> Duration {
        if self == LastReading::Patient { RETURN_WAIT } else { Duration::ZERO }
    }

    /// How long the end of the point waits for the answer.
    fn wait(self) -> Duration {
        match self {
            LastReading::Once | LastReading::Patient => self.patience() + LAST_READING_WAIT,
            LastReading::Unawaited => Duration::ZERO,
        }
    }
}

/// What was found since it was last asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SettingsNews {
    /// Before and after of each setting that changed, and of the server.
    pub facts: Vec<Fact>,
    /// Changes, restarts, other servers, and readings that failed.
    pub events: Vec<Event>,
}

/// The watch over the settings of one trial.
pub(super) struct SettingsWatch {
    state: SettingsWatchState,
    /// What was found and not recorded yet.
    news: SharedSettingsNews,
}

/// Written by the thread of the watch, and taken by its owner once per interval.
type SharedSettingsNews = Arc<Mutex<SettingsNews>>;

enum SettingsWatchState {
    /// The engine has no settings that others could change, or the watch has ended.
    Off,
    Waiting(SettingsKeeper),
    /// During the load, on a thread of its own. It takes how to read at last, and gives whether that reading was made.
    Watching {
        stop: Sender<LastReading>,
        ended: Receiver<bool>,
    },
}

impl SettingsWatch {
    /// Reads the settings that the point begins with.
    pub fn open(reader: Option<Box<dyn SettingsReader>>, clock: MonotonicClock) -> SettingsWatch {
        let news = SharedSettingsNews::default();
        let state = match reader {
            None => SettingsWatchState::Off,
            Some(reader) => {
                let mut keeper = SettingsKeeper { reader, clock, log: SettingsLog::default(), news: news.clone() };
                keeper.read();
                SettingsWatchState::Waiting(keeper)
            }
        };
        SettingsWatch { state, news }
    }

    /// Reads them again before the load, and from then on as `readings` asks.
    pub fn begin(&mut self, readings: MidReadings) {
        let SettingsWatchState::Waiting(mut keeper) = std::mem::replace(&mut self.state, SettingsWatchState::Off)
        else {
            return;
        };
        // The server of a new data set is restarted by plimsoll itself.
        keeper.log.restarts_count = false;
        keeper.log.is_complete = keeper.read();
        keeper.log.restarts_count = true;
        let ((stop, stopped), (done, ended)) = (channel(), channel());
        let watch = move || {
            let last = keeper.read_until_stopped(readings, &stopped);
            let _ = done.send(keeper.read_last(last)); // the point may have ended without waiting for it
        };
        let spawned = std::thread::Builder::new().name("settings".into()).stack_size(512 << 10).spawn(watch);
        drop(spawned); // without a thread the channel closes, which the end reports
        self.state = SettingsWatchState::Watching { stop, ended };
    }

    /// What was found since the last call.
    pub fn drain(&self) -> SettingsNews {
        std::mem::take(&mut *lock_news(&self.news))
    }

    /// Reads them once more, as `last` asks, and ends; an interruption by `stop` ends the wait for it. Returns what was found since
    /// the last call of [`SettingsWatch::drain`].
    pub fn end(mut self, last: LastReading, stop: &Stop) -> SettingsNews {
        let state = std::mem::replace(&mut self.state, SettingsWatchState::Off);
        let is_read = match &state {
            SettingsWatchState::Off | SettingsWatchState::Waiting(_) => true,
            SettingsWatchState::Watching { stop: ask, ended } => {
                let _ = ask.send(last); // a thread that is gone has closed its end, which is no reading
                wait_for_reading(ended, last, stop)
            }
        };
        let mut news = self.drain();
        news.facts.extend((!is_read).then(|| Fact::new("settings.last_reading", "failed")));
        news
    }
}

/// Whether the last reading was made, as far as is known when the wait for it is over.
fn wait_for_reading(ended: &Receiver<bool>, last: LastReading, stop: &Stop) -> bool {
    let began = Instant::now();
    loop {
        // A user who wants the end waits for one answer of a server that has it at hand, and not for one to come back.
        let most = if stop.is_interrupted() { last.wait().min(INTERRUPTED_WAIT) } else { last.wait() };
        let Some(left) = most.checked_sub(began.elapsed()) else { return false };
        match ended.recv_timeout(left.min(ASK_AGAIN)) {
            Ok(is_read) => return is_read,
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// No code that can panic runs under the lock, so a poisoned one is intact.
fn lock_news(news: &SharedSettingsNews) -> MutexGuard<'_, SettingsNews> {
    news.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the settings and keeps what it saw.
struct SettingsKeeper {
    reader: Box<dyn SettingsReader>,
    clock: MonotonicClock,
    log: SettingsLog,
    news: SharedSettingsNews,
}

impl SettingsKeeper {
    /// Whether the server answered.
    fn read(&mut self) -> bool {
        let reading = self.reader.read_settings();
        self.note(reading)
    }

    fn note(&mut self, reading: Option<SettingsReading>) -> bool {
        let is_read = reading.is_some();
        let found = self.log.take(reading, self.clock.now());
        self.add_news(found);
        self.note_others();
        is_read
    }

    /// Notes the servers that have answered in the place of the first, also if none answers now.
    fn note_others(&mut self) {
        let others = self.reader.take_others();
        let now = self.clock.now();
        let found = self.log.take_others(others, |seen| now - Nanos(seen.elapsed().as_nanos() as u64));
        self.add_news(found);
    }

    fn add_news(&self, found: SettingsNews) {
        let mut news = lock_news(&self.news);
        news.facts.extend(found.facts);
        news.events.extend(found.events);
    }

    /// Reads until the load is over, and returns how to read then.
    fn read_until_stopped(&mut self, readings: MidReadings, stopped: &Receiver<LastReading>) -> LastReading {
        let mut wait = match readings {
            MidReadings::Within(length) => READ_EVERY.min(Duration::from_nanos(length.0 / 2)),
            MidReadings::None => Duration::MAX,
        };
        loop {
            match stopped.recv_timeout(wait) {
                Ok(last) => return last,
                Err(RecvTimeoutError::Disconnected) => return LastReading::Unawaited,
                Err(RecvTimeoutError::Timeout) => self.read(),
            };
            wait = READ_EVERY;
        }
    }

    /// Reads after the load. That it fails is a fact of the point, and no gap of a reading among others.
    fn read_last(&mut self, last: LastReading) -> bool {
        let reading = poll_each(ASK_AGAIN, last.patience(), || self.reader.read_settings());
        if reading.is_none() {
            self.note_others();
            return false;
        }
        self.reader.look_anew();
        self.note(reading)
    }
}

/// What was seen of the settings of one trial.
#[derive(Debug)]
struct SettingsLog {
    /// The values of the first reading.
    first: BTreeMap<String, String>,
    /// Those of the last reading.
    last: BTreeMap<String, String>,
    /// The settings that were found changed.
    changed: BTreeSet<String>,
    /// The servers other than the first that were seen.
    others: BTreeSet<String>,
    /// Whether a restart is worth an event.
    restarts_count: bool,
    /// Whether the tables are made: what comes or goes from then on is a change.
    is_complete: bool,
    /// Whether the reading before failed.
    failed: bool,
}

impl Default for SettingsLog {
    fn default() -> Self {
        let (first, last) = (BTreeMap::new(), BTreeMap::new());
        let (changed, others) = (BTreeSet::new(), BTreeSet::new());
        SettingsLog { first, last, changed, others, restarts_count: true, is_complete: false, failed: false }
    }
}

impl SettingsLog {
    /// What the reading at `at` shows.
    fn take(&mut self, reading: Option<SettingsReading>, at: Tick) -> SettingsNews {
        let mut news = SettingsNews::default();
        let failed_before = std::mem::replace(&mut self.failed, reading.is_none());
        let Some(SettingsReading { mut values, restarted_ago }) = reading else {
            // A server that stays away is reported once.
            news.events.extend((!failed_before).then(|| unread(at)));
            return news;
        };
        if let Some(ago) = restarted_ago.filter(|_| self.restarts_count) {
            let began = at - Nanos(ago.as_nanos() as u64);
            news.events.push(Event::new(began, EventKind::Restart, "the server was restarted"));
        }
        let gone = self.last.keys().filter(|name| self.is_complete && !values.contains_key(*name));
        let gone: Vec<(String, String)> = gone.map(|name| (name.clone(), ABSENT.to_owned())).collect();
        values.extend(gone);
        for (name, value) in &values {
            let new = if self.is_complete { ABSENT } else { value };
            let first = self.first.entry(name.clone()).or_insert_with(|| new.to_owned());
            let before = self.last.insert(name.clone(), value.clone()).unwrap_or_else(|| new.to_owned());
            if before != *value {
                let what = if is_part_of_table(name) { "" } else { "the setting " };
                let text = format!("{what}`{name}` changed from `{before}` to `{value}`");
                news.events.push(Event::new(at, EventKind::Setting, text));
            }
            // Of each setting the first value and the first other one.
            if first != value && self.changed.insert(name.clone()) {
                news.facts.push(Fact::new(format!("setting.before.{name}"), first.as_str()));
                news.facts.push(Fact::new(format!("setting.after.{name}"), value));
            }
        }
        news
    }
}

impl SettingsLog {
    /// What follows from the servers that answered in the place of the first one, each `at` its time.
    fn take_others(&mut self, seen: Vec<OtherServer>, at: impl Fn(Instant) -> Tick) -> SettingsNews {
        let mut news = SettingsNews::default();
        for OtherServer { seen, first, other } in seen {
            // The point has the first of them, and an event for each.
            if self.others.is_empty() {
                news.facts.push(Fact::new(model::OTHER_SERVER_FACTS[0], first.as_str()));
                news.facts.push(Fact::new(model::OTHER_SERVER_FACTS[1], other.as_str()));
            }
            if self.others.insert(other.clone()) {
                let text = format!("another server answers: {other}; before it was {first}");
                news.events.push(Event::new(at(seen), EventKind::OtherServer, text));
            }
        }
        news
    }
}

fn unread(at: Tick) -> Event {
    Event::new(at, EventKind::SourceGap, "the settings of the server could not be read: it did not answer")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ServerSetting;

    fn reading(values: &[(&str, &str)]) -> Option<SettingsReading> {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Some(SettingsReading { values, restarted_ago: None })
    }

    fn logged(readings: Vec<Option<SettingsReading>>) -> (Vec<(String, String)>, Vec<Event>) {
        let mut log = SettingsLog::default();
        let seconds = (1..).map(|second: u64| Tick(second * 1_000_000_000));
        let news: Vec<SettingsNews> =
            readings.into_iter().zip(seconds).map(|(reading, at)| log.take(reading, at)).collect();
        let facts = news.iter().flat_map(|news| &news.facts).map(|fact| (fact.name.clone(), fact.value.clone()));
        (facts.collect(), news.iter().flat_map(|news| news.events.clone()).collect())
    }

    #[test]
    fn a_setting_that_changed_has_its_first_and_its_other_value_even_if_it_was_changed_back() {
        let (on, off) = (&[("fsync", "on"), ("jit", "on")], &[("fsync", "off"), ("jit", "on")]);
        let (facts, events) = logged(vec![reading(on), reading(on), reading(off), reading(on)]);
        let expected = [("setting.before.fsync", "on"), ("setting.after.fsync", "off")];
        assert_eq!(facts, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let seen: Vec<(u64, &str)> = events.iter().map(|event| (event.at.0 / 1_000_000_000, &*event.text)).collect();
        let changes = [
            (3, "the setting `fsync` changed from `on` to `off`"),
            (4, "the setting `fsync` changed from `off` to `on`"),
        ];
        assert_eq!(seen, changes);
        assert!(events.iter().all(|event| event.kind == EventKind::Setting));
    }

    #[test]
    fn settings_that_stay_have_no_fact_and_no_event() {
        let same = || reading(&[("fsync", "on")]);
        assert_eq!(logged(vec![same(), same(), same()]), (vec![], vec![]));
    }

    #[test]
    fn a_server_that_does_not_answer_is_one_gap_and_its_settings_are_compared_later_all_the_same() {
        let (facts, events) = logged(vec![reading(&[("fsync", "on")]), None, None, reading(&[("fsync", "off")])]);
        assert_eq!(facts.len(), 2);
        let kinds: Vec<EventKind> = events.iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [EventKind::SourceGap, EventKind::Setting]);
    }

    #[test]
    fn an_index_that_goes_or_comes_after_the_tables_are_made_is_a_change() {
        let mut log = SettingsLog::default();
        let index = |name: &str| (format!("index t.{name}"), "k".to_owned());
        let mut taken = |names: &[&str], is_complete| {
            let values = names.iter().map(|name| index(name)).collect();
            let news = log.take(Some(SettingsReading { values, restarted_ago: None }), Tick(7));
            log.is_complete = is_complete;
            news
        };
        assert_eq!(
            [taken(&[], false), taken(&["a", "b"], true), taken(&["a", "b"], true)],
            [(); 3].map(|()| Default::default())
        );
        let news = taken(&["b", "c"], true);
        let events: Vec<&str> = news.events.iter().map(|event| &*event.text).collect();
        assert_eq!(events, ["`index t.a` changed from `k` to `none`", "`index t.c` changed from `none` to `k`"]);
        let facts: Vec<(&str, &str)> = news.facts.iter().map(|fact| (&*fact.name, &*fact.value)).collect();
        assert_eq!(facts[..2], [("setting.before.index t.a", "k"), ("setting.after.index t.a", "none")]);
        assert_eq!(taken(&["b", "c"], true), SettingsNews::default(), "it is told once");
    }

    #[test]
    fn a_restart_is_an_event_at_the_time_of_the_restart() {
        let restarted =
            SettingsReading { restarted_ago: Some(Duration::from_millis(500)), ..SettingsReading::default() };
        let (_, events) = logged(vec![reading(&[]), Some(restarted)]);
        assert_eq!(events, [Event::new(Tick(1_500_000_000), EventKind::Restart, "the server was restarted")]);
    }

    #[test]
    fn another_server_is_a_fact_with_both_names_once_and_an_event_when_it_was_first_seen() {
        let mut log = SettingsLog::default();
        let seen = |other: &str| OtherServer { seen: Instant::now(), first: "a".into(), other: other.into() };
        let first = log.take_others(vec![seen("b")], |_| Tick(7));
        let facts: Vec<(&str, &str)> = first.facts.iter().map(|fact| (&*fact.name, &*fact.value)).collect();
        assert_eq!(facts, [("server.first", "a"), ("server.other", "b")]);
        let text = "another server answers: b; before it was a";
        assert_eq!(first.events, [Event::new(Tick(7), EventKind::OtherServer, text)]);
        let later = log.take_others(vec![seen("b"), seen("c")], |_| Tick(9));
        assert_eq!((later.facts.len(), later.events.len()), (0, 1));
    }

    /// A reader whose n-th reading is `jit` = n, which it reports.
    struct Counting(u32, Sender<u32>);

    impl SettingsReader for Counting {
        fn read_settings(&mut self) -> Option<SettingsReading> {
            self.0 += 1;
            let _ = self.1.send(self.0);
            reading(&[("jit", &self.0.to_string())])
        }

        fn read_all(&mut self) -> Option<Vec<ServerSetting>> {
            None
        }
    }

    #[test]
    fn settings_are_read_before_the_load_twice_and_halfway_and_after_it() {
        let (read, has_read) = channel();
        let mut watch = SettingsWatch::open(Some(Box::new(Counting(0, read))), MonotonicClock::start());
        watch.begin(MidReadings::Within(Nanos::from_millis(2)));
        while has_read.recv().expect("the thread reads halfway") < 3 {}
        let SettingsNews { facts, events } = watch.end(LastReading::Once, &Stop::default());
        assert_eq!(facts[1].value, "2", "the first other value");
        assert_eq!(events.len(), 3, "{events:?}");
    }

    /// A plimsoll that is killed has recorded what was drained before.
    #[test]
    fn a_change_can_be_recorded_while_the_load_runs_and_is_recorded_once() {
        let (read, has_read) = channel();
        let mut watch = SettingsWatch::open(Some(Box::new(Counting(0, read))), MonotonicClock::start());
        watch.begin(MidReadings::Within(Nanos::from_millis(2)));
        while has_read.recv().expect("the thread reads halfway") < 3 {}
        let mut news = watch.drain();
        while news.events.len() < 2 {
            let more = watch.drain(); // what was read is noted a moment later
            news.events.extend(more.events);
            news.facts.extend(more.facts);
        }
        let facts = ["1", "2"].map(str::to_owned);
        assert_eq!(news.facts.iter().map(|fact| &fact.value).collect::<Vec<_>>(), facts.iter().collect::<Vec<_>>());
        let last = watch.end(LastReading::Once, &Stop::default());
        assert_eq!((last.facts, last.events.len()), (vec![], 1));
    }

    /// A server that answers `answers` times, not for `gap` questions, and then again, restarted meanwhile.
    struct Away {
        answers: u32,
        gap: u32,
    }

    impl SettingsReader for Away {
        fn read_settings(&mut self) -> Option<SettingsReading> {
            let is_away = self.answers == 0 && self.gap > 0;
            let is_back = self.answers == 0 && self.gap == 0;
            self.answers = self.answers.saturating_sub(1);
            self.gap -= u32::from(is_away);
            let restarted_ago = is_back.then_some(Duration::ZERO);
            (!is_away).then(|| SettingsReading { restarted_ago, ..SettingsReading::default() })
        }

        fn read_all(&mut self) -> Option<Vec<ServerSetting>> {
            None
        }
    }

    /// What is found at the end of a load whose server has been `away` for so many questions.
    fn found_after(away: Away, last: LastReading, stop: &Stop) -> (Vec<Fact>, Vec<EventKind>) {
        let mut watch = SettingsWatch::open(Some(Box::new(away)), MonotonicClock::start());
        watch.begin(MidReadings::None);
        let news = watch.end(last, stop);
        (news.facts, news.events.iter().map(|event| event.kind).collect())
    }

    #[test]
    fn a_server_that_does_not_answer_at_the_end_is_a_fact_of_the_point() {
        let unread = vec![Fact::new("settings.last_reading", "failed")];
        let gone = || Away { answers: 2, gap: u32::MAX };
        let stop = Stop::default();
        assert_eq!(found_after(gone(), LastReading::Once, &stop), (unread.clone(), vec![]));
        assert_eq!(found_after(gone(), LastReading::Unawaited, &stop).0, unread);
        assert_eq!(found_after(Away { answers: 3, gap: 1 }, LastReading::Once, &stop), (vec![], vec![]));
    }

    #[test]
    fn a_server_that_comes_back_after_a_failure_was_restarted() {
        let away = Away { answers: 2, gap: 3 };
        let found = found_after(away, LastReading::Patient, &Stop::default());
        assert_eq!(found, (vec![], vec![EventKind::Restart]));
    }

    #[test]
    fn a_step_that_changes_settings_itself_has_no_reading_within() {
        let (read, has_read) = channel();
        let mut watch = SettingsWatch::open(Some(Box::new(Counting(0, read))), MonotonicClock::start());
        watch.begin(MidReadings::None);
        watch.end(LastReading::Once, &Stop::default());
        assert_eq!(has_read.try_iter().count(), 3);
    }
}
