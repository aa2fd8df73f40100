//! The settings of a server that must not change while it is measured.
//!
//! In: a server's list of them, and its address. Out: their values now, over a connection of its own, the columns and indexes of the tables that
//! are measured, whether the server has been restarted since the reading before, and whether it is another one.
//! Limits: names that a version does not know are left out. It sees the values that hold for new connections; what a client sets for
//! its own connection is in the facts of the point.

use crate::counters::name_and_value;
use crate::server::identity::{IdentityWatch, OtherServer};
use crate::server::network::TextRows;
use model::ServerSetting;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A server that does not answer for this long is not asked again before the next reading.
const PATIENCE: Duration = Duration::from_secs(2);

/// A server counts the time since its start in whole seconds.
const UPTIME_UNIT: Duration = Duration::from_secs(1);

/// So many columns and indexes are watched: of more tables than have them, none is.
pub const PARTS_MAX: usize = 2_000;

/// What one kind of server is asked for.
pub struct WatchedSettings {
    /// The settings that matter for durability, caches, logging and isolation.
    pub names: &'static [&'static str],
    /// The query for their values: rows of name and value.
    pub query: fn(&[&str]) -> String,
    /// The query for all settings: rows of name and value.
    pub all: &'static str,
    /// The query for what the tables of a list of SQL strings are: rows of name, such as `index sbtest1.k_1`, and value, at most
    /// [`PARTS_MAX`] of them, in an order that stays.
    pub tables: fn(&str) -> String,
    /// Settings that differ between installations and change no number: their paths and names. A setting whose value is a path counts,
    /// too.
    pub of_installation: &'static [&'static str],
    /// The query for the whole seconds since the server was started.
    pub uptime: &'static str,
    /// The queries for what it is known by: rows of name and value, among them its `uptime`. An account may not be allowed all of them.
    pub identity: &'static [&'static str],
}

impl WatchedSettings {
    fn is_of_installation(&self, name: &str, value: &str) -> bool {
        self.of_installation.contains(&name) || value.starts_with('/') || value.starts_with("./")
    }
}

/// The settings at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsReading {
    /// Each with its value, by its name on the server.
    pub values: BTreeMap<String, String>,
    /// How long ago the server was restarted, if it was since the reading before.
    pub restarted_ago: Option<Duration>,
}

/// Reads the settings of one server again and again.
pub trait SettingsReader: Send {
    /// The settings now; `None` if the server does not answer.
    fn read_settings(&mut self) -> Option<SettingsReading>;

    /// All settings now, sorted by name, without those of the installation; `None` if the server does not answer.
    fn read_all(&mut self) -> Option<Vec<ServerSetting>>;

    /// Looks over a new connection which server answers: one that is kept may lead to a server that no other does.
    fn look_anew(&mut self) {}

    /// The servers that answered plimsoll or its clients in the place of the first one, since the last call.
    fn take_others(&mut self) -> Vec<OtherServer> {
        Vec::new()
    }
}

/// Asks a server over one connection; `None` if it does not answer.
pub(crate) type AskServer = Box<dyn FnMut(&str) -> Option<TextRows> + Send>;

/// Reads `watched` over connections that `connect` makes.
pub(crate) struct QueriedSettings<C> {
    watched: &'static WatchedSettings,
    connect: C,
    identity: IdentityWatch,
    /// The names of the tables that are watched.
    tables: Vec<String>,
    ask: Option<AskServer>,
    /// When the server answered last.
    answered: Option<Instant>,
}

impl<C: FnMut(Duration) -> Option<AskServer>> QueriedSettings<C> {
    /// `connect` gives up after the time that it is given. All who connect to the server share `identity`.
    pub fn new(watched: &'static WatchedSettings, identity: IdentityWatch, connect: C) -> Self {
        QueriedSettings { watched, connect, identity, tables: Vec::new(), ask: None, answered: None }
    }

    /// Reads with the settings what the `tables` are that have these names.
    pub fn with_tables(mut self, mut tables: Vec<String>) -> Self {
        // Names of the user may hold anything.
        tables.retain(|name| !name.contains(['\'', '\\']));
        self.tables = tables;
        self
    }

    /// Connects, and looks which server it is.
    fn connect_now(&mut self) {
        self.ask = (self.connect)(PATIENCE);
        if let Some(ask) = &mut self.ask {
            self.identity.look(self.answered.is_some(), ask);
        }
    }

    fn ask_for_all(&mut self) -> Option<Vec<ServerSetting>> {
        let rows = self.ask.as_mut()?(self.watched.all)?;
        let pairs: BTreeMap<String, String> =
            rows.into_iter().filter_map(name_and_value).map(|(name, value)| (name.to_lowercase(), value)).collect();
        let kept = pairs.into_iter().filter(|(name, value)| !self.watched.is_of_installation(name, value));
        Some(
            kept.map(|(name, value)| {
                let matters = self.watched.names.contains(&name.as_str());
                ServerSetting { name, value, matters }
            })
            .collect(),
        )
    }

    fn ask_for_values(&mut self) -> Option<BTreeMap<String, String>> {
        let rows = self.ask.as_mut()?(&(self.watched.query)(self.watched.names))?;
        let pairs = rows.into_iter().filter_map(name_and_value);
        let mut values: BTreeMap<String, String> = pairs.map(|(name, value)| (name.to_lowercase(), value)).collect();
        values.extend(self.ask_for_tables()?);
        Some(values)
    }

    fn ask_for_tables(&mut self) -> Option<Vec<(String, String)>> {
        if self.tables.is_empty() {
            return Some(Vec::new());
        }
        let names: Vec<&str> = self.tables.iter().map(String::as_str).collect();
        let rows = self.ask.as_mut()?(&(self.watched.tables)(&quoted_list(&names)))?;
        if rows.len() >= PARTS_MAX {
            self.tables.clear();
            return Some(Vec::new());
        }
        Some(rows.into_iter().filter_map(name_and_value).collect())
    }

    /// How long the server has run, if that is less than the time since it answered last.
    fn find_restart(&mut self) -> Option<Duration> {
        let since_answer = self.answered?.elapsed();
        let rows = self.ask.as_mut()?(self.watched.uptime)?;
        let seconds = rows.into_iter().next()?.into_iter().last()??;
        let uptime = Duration::from_secs(seconds.trim().parse().ok()?);
        (uptime < since_answer + UPTIME_UNIT).then_some(uptime)
    }
}

impl<C: FnMut(Duration) -> Option<AskServer> + Send> SettingsReader for QueriedSettings<C> {
    fn read_settings(&mut self) -> Option<SettingsReading> {
        // A restart ends the connection, and so do an administrator and a timeout: only the time that the server has run distinguishes them.
        let (values, restarted_ago) = match self.ask_for_values() {
            Some(values) => (values, None),
            None => {
                self.connect_now();
                let restarted = self.find_restart();
                (self.ask_for_values()?, restarted)
            }
        };
        self.answered = Some(Instant::now());
        Some(SettingsReading { values, restarted_ago })
    }

    fn read_all(&mut self) -> Option<Vec<ServerSetting>> {
        if self.ask.is_none() {
            self.connect_now();
        }
        self.ask_for_all()
    }

    fn look_anew(&mut self) {
        if let Some(ask) = (self.connect)(PATIENCE) {
            self.identity.look(false, ask);
        }
    }

    fn take_others(&mut self) -> Vec<OtherServer> {
        self.identity.take_others()
    }
}

/// Reads the settings of several instances as one, each setting by its name and that of its instance.
pub(crate) struct GroupSettings {
    /// The name of each instance, and its reader.
    members: Vec<(String, Box<dyn SettingsReader>)>,
}

impl GroupSettings {
    /// `members` are instances by their names.
    pub fn new(members: Vec<(String, Box<dyn SettingsReader>)>) -> GroupSettings {
        GroupSettings { members }
    }
}

impl SettingsReader for GroupSettings {
    fn read_settings(&mut self) -> Option<SettingsReading> {
        // All of them are read, so that each notices its restart; the settings of some are no reading of the group.
        let readings: Vec<Option<SettingsReading>> =
            self.members.iter_mut().map(|(_, reader)| reader.read_settings()).collect();
        let mut group = SettingsReading::default();
        for ((member, _), reading) in self.members.iter().zip(readings) {
            let SettingsReading { values, restarted_ago } = reading?;
            group.values.extend(values.into_iter().map(|(name, value)| (format!("{name} ({member})"), value)));
            group.restarted_ago = group.restarted_ago.or(restarted_ago);
        }
        Some(group)
    }

    fn read_all(&mut self) -> Option<Vec<ServerSetting>> {
        // All begin with the same settings.
        self.members.first_mut().and_then(|(_, reader)| reader.read_all())
    }

    fn look_anew(&mut self) {
        self.members.iter_mut().for_each(|(_, reader)| reader.look_anew());
    }

    fn take_others(&mut self) -> Vec<OtherServer> {
        self.members.iter_mut().flat_map(|(_, reader)| reader.take_others()).collect()
    }
}

/// `names` as a list of SQL strings; they hold no quote.
pub(crate) fn quoted_list(names: &[&str]) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const WATCHED: WatchedSettings = WatchedSettings {
        names: &["fsync"],
        query: |names| quoted_list(names),
        all: "all",
        tables: |names| format!("tables {names}"),
        of_installation: &["port"],
        uptime: "uptime",
        identity: &["who"],
    };

    /// Connections that answer once each, of a server that has run for so many seconds.
    fn reader(uptime_s: &'static str) -> impl SettingsReader {
        let connect = move |_| -> Option<AskServer> {
            let asked = Cell::new(0);
            Some(Box::new(move |question| match question {
                "uptime" => Some(vec![vec![Some("Uptime".into()), Some(uptime_s.into())]]),
                "who" => None,
                _ if asked.replace(asked.get() + 1) == 0 => Some(vec![vec![Some("FSYNC".into()), Some("on".into())]]),
                _ => None,
            }))
        };
        QueriedSettings::new(&WATCHED, IdentityWatch::new(WATCHED.identity), connect)
    }

    #[test]
    fn a_lost_connection_is_made_again_and_only_a_server_that_has_just_started_was_restarted() {
        for (uptime_s, restarted_ago) in [("0", Some(Duration::ZERO)), ("86400", None)] {
            let mut reader = reader(uptime_s);
            let first = reader.read_settings().expect("it answers");
            assert_eq!((first.values["fsync"].as_str(), first.restarted_ago), ("on", None));
            assert_eq!(reader.read_settings().expect("on a new connection").restarted_ago, restarted_ago);
        }
    }

    #[test]
    fn the_tables_are_read_with_the_settings_unless_they_are_too_many() {
        let row = |name: String| vec![Some(name), Some("int".to_owned())];
        for (parts, watched) in [(3, 3), (PARTS_MAX, 0)] {
            let connect = move |_| -> Option<AskServer> {
                Some(Box::new(move |question| match question {
                    "tables 'a', 'B'" => Some((0..parts).map(|nth| row(format!("column B.c{nth}"))).collect()),
                    "'fsync'" => Some(Vec::new()),
                    _ => None,
                }))
            };
            let tables = ["a", "B", "it's"].map(str::to_owned).to_vec();
            let mut reader =
                QueriedSettings::new(&WATCHED, IdentityWatch::new(WATCHED.identity), connect).with_tables(tables);
            let values = reader.read_settings().expect("it answers").values;
            assert_eq!(values.len(), watched);
            assert!(values.keys().all(|name| name.starts_with("column B.c")), "{values:?}");
        }
    }

    #[test]
    fn all_settings_are_those_that_are_the_same_on_another_installation() {
        let row = |name: &str, value: &str| vec![Some(name.to_owned()), Some(value.to_owned())];
        let connect = move |_| -> Option<AskServer> {
            Some(Box::new(move |question| {
                let rows = [("jit", "on"), ("port", "5432"), ("data_directory", "/srv/data"), ("Fsync", "on")];
                (question == "all").then(|| rows.map(|(name, value)| row(name, value)).to_vec())
            }))
        };
        let found = QueriedSettings::new(&WATCHED, IdentityWatch::new(WATCHED.identity), connect)
            .read_all()
            .expect("it answers");
        let found: Vec<(&str, bool)> = found.iter().map(|one| (one.name.as_str(), one.matters)).collect();
        assert_eq!(found, [("fsync", true), ("jit", false)]);
    }

    /// A reader with one reading for each call, and none after the last.
    struct Prepared(Vec<Option<SettingsReading>>);

    impl SettingsReader for Prepared {
        fn read_settings(&mut self) -> Option<SettingsReading> {
            self.0.pop().flatten()
        }

        fn read_all(&mut self) -> Option<Vec<ServerSetting>> {
            None
        }
    }

    #[test]
    fn settings_of_a_group_have_the_name_of_their_instance_and_need_the_answer_of_each() {
        let of = |value: &str, restarted_ago| {
            let values = BTreeMap::from([("fsync".to_owned(), value.to_owned())]);
            Some(SettingsReading { values, restarted_ago })
        };
        let second = Prepared(vec![None, of("off", Some(Duration::ZERO))]);
        let first = Prepared(vec![of("on", None), of("on", None)]);
        let member = |nth: u32, reader: Prepared| -> (String, Box<dyn SettingsReader>) {
            (format!("instance {nth}"), Box::new(reader))
        };
        let mut group = GroupSettings::new(vec![member(1, first), member(2, second)]);
        let both = group.read_settings().expect("both answer");
        let values: Vec<(&str, &str)> =
            both.values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(values, [("fsync (instance 1)", "on"), ("fsync (instance 2)", "off")]);
        assert_eq!(both.restarted_ago, Some(Duration::ZERO));
        assert_eq!(group.read_settings(), None, "the second is away");
    }

    #[test]
    fn a_server_that_is_away_gives_no_reading() {
        assert_eq!(QueriedSettings::new(&WATCHED, IdentityWatch::default(), |_| None).read_settings(), None);
        assert_eq!(QueriedSettings::new(&WATCHED, IdentityWatch::default(), |_| None).read_all(), None);
    }
}
