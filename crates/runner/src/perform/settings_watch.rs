//! Watches the settings of a server from before a point to its end.
//!
//! In: an engine's reader of its settings. Out: facts about each setting that changed, and events: changes, restarts, and readings that
//! failed. Limits: a server that does not answer is a gap and never ends a point. A change that was taken back between two readings is
//! not seen: they are made before the data, before the load, halfway through it (after a minute at the latest), each minute from then
//! on, and after it.

use engine::{SettingsReader, SettingsReading};
use load::{Clock, MonotonicClock};
use model::{Event, EventKind, Fact, Nanos, Tick};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// From one reading to the next during a load.
const READ_EVERY: Duration = Duration::from_secs(60);

/// How long the end of a point waits for the last reading: a server that hangs must not hold it up.
const LAST_READING_WAIT: Duration = Duration::from_secs(3);

/// When the settings are read while the load runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MidReadings {
    /// Halfway through a load of this length, and each minute.
    Within(Nanos),
    /// Not at all: the step changes settings itself, and changes them back.
    None,
}

/// The watch over the settings of one trial.
pub(super) enum SettingsWatch {
    /// The engine has no settings that others could change, or the watch has ended.
    Off,
    /// Before the load.
    Waiting(SettingsKeeper),
    /// During the load, on a thread of its own.
    Watching { stop: Sender<()>, ended: Receiver<SettingsLog> },
}

impl SettingsWatch {
    /// Reads the settings that the point begins with.
    pub fn open(reader: Option<Box<dyn SettingsReader>>, clock: MonotonicClock) -> SettingsWatch {
        match reader {
            None => SettingsWatch::Off,
            Some(reader) => {
                let mut keeper = SettingsKeeper { reader, clock, log: SettingsLog::default() };
                keeper.read();
                SettingsWatch::Waiting(keeper)
            }
        }
    }

    /// Reads them again before the load, and from then on as `readings` asks.
    pub fn begin(&mut self, readings: MidReadings) {
        let SettingsWatch::Waiting(mut keeper) = std::mem::replace(self, SettingsWatch::Off) else { return };
        // The server of a new data set is restarted by plimsoll itself.
        keeper.log.restarts_count = false;
        keeper.read();
        keeper.log.restarts_count = true;
        let ((stop, stopped), (done, ended)) = (channel(), channel());
        let watch = move || {
            keeper.read_until_stopped(readings, &stopped);
            let _ = done.send(keeper.log); // the point may have ended without waiting for it
        };
        let spawned = std::thread::Builder::new().name("settings".into()).stack_size(512 << 10).spawn(watch);
        drop(spawned); // without a thread the channel closes, which the end reports
        *self = SettingsWatch::Watching { stop, ended };
    }

    /// Reads them once more, unless the server `is_blocked`, and ends. Returns facts about what changed, and events. `now` is the time
    /// of a gap.
    pub fn end(self, is_blocked: bool, now: Tick) -> (Vec<Fact>, Vec<Event>) {
        match self {
            SettingsWatch::Off => (Vec::new(), Vec::new()),
            SettingsWatch::Waiting(keeper) => keeper.log.into_results(),
            SettingsWatch::Watching { stop, ended } => {
                drop(stop);
                let wait = if is_blocked { Duration::ZERO } else { LAST_READING_WAIT };
                let log = ended.recv_timeout(wait);
                log.map(SettingsLog::into_results).unwrap_or_else(|_| (Vec::new(), vec![unread(now)]))
            }
        }
    }
}

/// Reads the settings and keeps what it saw.
pub(super) struct SettingsKeeper {
    reader: Box<dyn SettingsReader>,
    clock: MonotonicClock,
    log: SettingsLog,
}

impl SettingsKeeper {
    fn read(&mut self) {
        let reading = self.reader.read_settings();
        self.log.take(reading, self.clock.now());
    }

    fn read_until_stopped(&mut self, readings: MidReadings, stopped: &Receiver<()>) {
        let mut wait = match readings {
            MidReadings::Within(length) => READ_EVERY.min(Duration::from_nanos(length.0 / 2)),
            MidReadings::None => Duration::MAX,
        };
        while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            self.read();
            wait = READ_EVERY;
        }
        self.read();
    }
}

/// What was seen of the settings of one trial.
#[derive(Debug)]
pub(super) struct SettingsLog {
    /// The values of the first reading.
    first: BTreeMap<String, String>,
    /// Those of the last reading.
    last: BTreeMap<String, String>,
    /// Of each setting that changed, the first other value.
    changed: BTreeMap<String, String>,
    /// Whether a restart is worth an event.
    restarts_count: bool,
    /// Whether the reading before failed.
    failed: bool,
    events: Vec<Event>,
}

impl Default for SettingsLog {
    fn default() -> Self {
        let none = BTreeMap::new;
        let (first, last, changed) = (none(), none(), none());
        SettingsLog { first, last, changed, restarts_count: true, failed: false, events: Vec::new() }
    }
}

impl SettingsLog {
    fn take(&mut self, reading: Option<SettingsReading>, at: Tick) {
        let failed_before = std::mem::replace(&mut self.failed, reading.is_none());
        let Some(SettingsReading { values, restarted_ago }) = reading else {
            // A server that stays away is reported once.
            self.events.extend((!failed_before).then(|| unread(at)));
            return;
        };
        if let Some(ago) = restarted_ago.filter(|_| self.restarts_count) {
            let began = at - Nanos(ago.as_nanos() as u64);
            self.events.push(Event::new(began, EventKind::Restart, "the server was restarted"));
        }
        for (name, value) in &values {
            self.first.entry(name.clone()).or_insert_with(|| value.clone());
            let before = self.last.get(name).filter(|before| *before != value);
            let text = before.map(|before| format!("the setting `{name}` changed from `{before}` to `{value}`"));
            self.events.extend(text.map(|text| Event::new(at, EventKind::Setting, text)));
            if self.first[name] != *value {
                self.changed.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        self.last.extend(values);
    }

    fn into_results(self) -> (Vec<Fact>, Vec<Event>) {
        let facts = self.changed.iter().flat_map(|(name, after)| {
            let before = Fact::new(format!("setting.before.{name}"), &self.first[name]);
            [before, Fact::new(format!("setting.after.{name}"), after)]
        });
        (facts.collect(), self.events)
    }
}

fn unread(at: Tick) -> Event {
    Event::new(at, EventKind::SourceGap, "the settings of the server could not be read: it did not answer")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(values: &[(&str, &str)]) -> Option<SettingsReading> {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Some(SettingsReading { values, restarted_ago: None })
    }

    fn logged(readings: Vec<Option<SettingsReading>>) -> (Vec<(String, String)>, Vec<Event>) {
        let mut log = SettingsLog::default();
        let seconds = (1..).map(|second: u64| Tick(second * 1_000_000_000));
        readings.into_iter().zip(seconds).for_each(|(reading, at)| log.take(reading, at));
        let (facts, events) = log.into_results();
        (facts.into_iter().map(|fact| (fact.name, fact.value)).collect(), events)
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
    fn a_restart_is_an_event_at_the_time_of_the_restart() {
        let restarted =
            SettingsReading { restarted_ago: Some(Duration::from_millis(500)), ..SettingsReading::default() };
        let (_, events) = logged(vec![reading(&[]), Some(restarted)]);
        assert_eq!(events, [Event::new(Tick(1_500_000_000), EventKind::Restart, "the server was restarted")]);
    }

    /// A reader whose n-th reading is `jit` = n, which it reports.
    struct Counting(u32, Sender<u32>);

    impl SettingsReader for Counting {
        fn read_settings(&mut self) -> Option<SettingsReading> {
            self.0 += 1;
            let _ = self.1.send(self.0);
            reading(&[("jit", &self.0.to_string())])
        }
    }

    #[test]
    fn settings_are_read_before_the_load_twice_and_halfway_and_after_it() {
        let (read, has_read) = channel();
        let mut watch = SettingsWatch::open(Some(Box::new(Counting(0, read))), MonotonicClock::start());
        watch.begin(MidReadings::Within(Nanos::from_millis(2)));
        while has_read.recv().expect("the thread reads halfway") < 3 {}
        let (facts, events) = watch.end(false, Tick(0));
        assert_eq!(facts[1].value, "2", "the first other value");
        assert_eq!(events.len(), 3, "{events:?}");
    }

    #[test]
    fn a_step_that_changes_settings_itself_has_no_reading_within() {
        let (read, has_read) = channel();
        let mut watch = SettingsWatch::open(Some(Box::new(Counting(0, read))), MonotonicClock::start());
        watch.begin(MidReadings::None);
        watch.end(false, Tick(0));
        assert_eq!(has_read.try_iter().count(), 3);
    }
}
