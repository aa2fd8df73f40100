//! A server that others load, watched over one connection: what it does, which statements it executes, what it says of itself.
//!
//! In: its URL. Out: at each reading the values of its counters, how many statements of each kind clients have sent since the reading before,
//! and in the end what each kind of statement cost. Limits: it only reads, in a session that may not write and in which no statement takes longer
//! than two seconds. What it asks itself is in no number. While the server does not answer there is a gap. When it answers again, the watch says
//! whether it was restarted. Statements are read less often than counters if that takes more than a hundredth of the time. What its sessions do
//! and who waits for whom is asked only if the caller wants it, over the same connection and without a lock.
//!
//! To watch another kind of server: a file here with a [`WatchedServer`].

mod details;
mod ledger;
mod log;
mod mysql;
mod postgres;
mod process_log;
mod replica;
mod text;

use crate::counters::{ServerSource, described, values_of};
use crate::mysql::client::MysqlAddress;
use crate::postgres::client::PostgresAddress;
use crate::server::network::{AnswerLimits, Route, TextRows};
use crate::server::sighting::{ServerSighting, check_program};
use crate::server::url::{PASSWORD_FILE, Password, ServerUrl, URL, ask_for_passwords};
use crate::sql::{OpFailure, server_error};
use details::Details;
use host::error::TargetError;
use ledger::{STATEMENTS, StatementKey, StatementLedger};
use log::{ErrorLog, LOG, Marks};
use model::{
    EventKind, Fact, FailureClass, KindDef, MissingPart, Observation, ObservedCounts, OpClass, Params, ServerLook,
    ServerWay, SourceDef, StatementCost, Value,
};
pub use process_log::ProcessLog;
use replica::ReplicaAccount;
use sql::Dialect;
use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use text::{KINDS, kind_of};

/// The sources that a watch brings along, for the reference.
pub(crate) static SOURCES: [&ServerSource; 4] = [&mysql::ACTIVITY, &postgres::ACTIVITY, &ledger::STATEMENTS, &log::LOG];

/// How long the first connection may take.
const OPEN_WITHIN: Duration = Duration::from_secs(10);
/// How long a connection and each answer may take later: a reading must not last.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// How long an answer over the first connection may take: somewhat longer than a statement may.
const ANSWER_LIMITS: AnswerLimits =
    AnswerLimits { control: Duration::from_millis(2_500), setup: Duration::from_millis(2_500) };
/// A part of the time that reading statements may take.
const STATEMENTS_SHARE: u32 = 100;
/// So many texts are asked for at once.
const TEXTS_AT_ONCE: usize = 500;
/// If the server had no room to tell apart a larger share of the statements, that is said.
const UNTOLD_SHARE: f64 = 0.05;
/// The name by which the statements of the watch are left out.
const OWN: &str = "plimsoll_watch";
/// What a GRANT is for until the server has told the name: [`WatchedServer::account`].
const THE_ACCOUNT: &str = "the account";
/// What makes the table of statements of MySQL and MariaDB larger.
const MORE_DIGESTS: &str =
    "set a larger `performance_schema_digests_size` in the server's configuration file and start it again";
/// So many of its own settings are remembered until statements are read.
const SETTINGS_MAX: usize = 100;
/// Two times of a start that differ by less are of one start, besides what a server rounds and how long a reading takes: clocks are not alike.
const SAME_START_S: f64 = 0.2;

/// The values of a server by its own names.
type Values = HashMap<String, String>;

/// The statements that the watch itself has sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OwnQuestions {
    reads: u64,
    other: u64,
    /// Settings of its session, which are among `other`. They can bear no name that tells them from those of clients.
    settings: Vec<&'static str>,
}

impl OwnQuestions {
    fn add_setting(&mut self, statement: &'static str) {
        self.other += 1;
        self.settings.push(statement);
        self.settings.truncate(SETTINGS_MAX);
    }

    fn all(&self) -> u64 {
        self.reads + self.other
    }
}

/// A server of one kind, with the one connection to it. After a failure of the connection it is closed.
trait WatchedServer: Send {
    /// Connects within `patience`, and sets the session to read only. What that takes is added to `own`.
    fn connect(&mut self, patience: Duration, own: &mut OwnQuestions) -> Result<(), OpFailure>;
    fn disconnect(&mut self);
    fn socket_fd(&self) -> Option<BorrowedFd<'_>>;
    fn data_dir(&mut self) -> Option<String>;
    /// The file of its error log, which may be within its data directory, and how it marks severities there; `None` if it writes none, or does not
    /// tell.
    fn error_log(&mut self) -> Option<(String, Marks)> {
        None
    }
    /// The account of the watch, as a GRANT names it; `None` if the server does not tell. What it asks is added to `own`.
    fn account(&mut self, _own: &mut OwnQuestions) -> Option<String> {
        None
    }
    fn route(&self) -> &Route;
    /// Its URL, for messages.
    fn shown(&self) -> &str;
    /// Its name among engines, and as people say it.
    fn names(&self) -> [&'static str; 2];
    fn dialect(&self) -> Dialect;
    fn version(&self) -> &str;
    /// The names of its programs.
    fn programs(&self) -> &'static [&'static str];
    fn sources(&self) -> &'static [&'static ServerSource];
    /// What the account may not see.
    fn missing_parts(&self) -> Vec<MissingPart> {
        Vec::new()
    }
    /// The values of all sources. What it asks until the server counts is added to `own`.
    fn read_values(&mut self, own: &mut OwnQuestions) -> Result<Values, OpFailure>;
    /// What it asks for the values after the server has counted.
    fn own_of_further_values(&self) -> OwnQuestions {
        OwnQuestions::default()
    }
    /// When it was started, in seconds of some clock; of one start never earlier, and later by as much as it rounds and a reading takes.
    fn started(&self, values: &Values) -> Option<f64>;
    /// To how many seconds it rounds that.
    fn rounds_start_to_s(&self) -> f64 {
        0.0
    }
    /// The number of the connection, if each has a higher one than those before it since the server was started.
    fn connection_number(&self) -> Option<u32> {
        None
    }
    /// What it has counted of statements or transactions since it was started.
    fn counts(&self, values: &Values) -> Option<Vec<u64>>;
    /// Whether the statements by kind are counted from the sums of statements, if these are known.
    fn counts_by_statements(&self) -> bool {
        false
    }
    /// Whether its counts go on when it is started again after an orderly end.
    fn keeps_counts(&self) -> bool {
        false
    }
    /// What it counts at once when somebody has logged in.
    fn counts_of_login(&self) -> u64 {
        0
    }
    /// Whether statements may be counted only some time after they were executed.
    fn counts_late(&self) -> bool {
        false
    }
    /// What keeps it from counting statements; `None` if nothing does. What it asks is added to `own`.
    fn find_statements(&mut self, own: &mut OwnQuestions) -> Result<Option<MissingPart>, OpFailure>;
    fn read_statements(&mut self, own: &mut OwnQuestions) -> Result<Vec<(StatementKey, StatementCost)>, OpFailure>;
    /// The texts of `ids`: rows of identifier and text.
    fn read_texts(&mut self, ids: &[String], own: &mut OwnQuestions) -> Result<TextRows, OpFailure>;
    /// Its sessions that work or hold a transaction, and who waits for whom. A part that it refuses is missing in the answer.
    fn read_details(&mut self, own: &mut OwnQuestions) -> Result<Details, OpFailure>;
    /// Whether the watch itself has sent the statement.
    fn is_own(&self, text: &str) -> bool;
}

fn not_connected() -> OpFailure {
    OpFailure::from_server(FailureClass::Lost, "there is no connection")
}

/// A server that is watched.
pub struct ServerWatch {
    server: Box<dyn WatchedServer>,
    is_connected: bool,
    /// Whether the connection is another than that of the last reading: a server that goes on keeps it.
    is_new_connection: bool,
    connection_number: Option<u32>,
    /// When it was started, as it said last.
    started: Option<f64>,
    /// What it had counted at the last reading.
    counted: Option<Vec<u64>>,
    own: OwnQuestions,
    /// How many of its own statements the server has not counted yet, as far as it counts late.
    uncounted: u64,
    /// Its own settings that statements which are read next have among them.
    settings: Vec<&'static str>,
    ledger: StatementLedger,
    /// Whether statements are counted, and when they are read next.
    statements: Option<Instant>,
    missing: Vec<MissingPart>,
    account: Option<String>,
    /// Looked for once, so that its counters are in all of a file or in none.
    log: Option<ErrorLog>,
    has_looked_for_log: bool,
    replica: ReplicaAccount,
    counts: ObservedCounts,
    /// Since when the server does not answer, which is said once; `None` if it does. And for how long it did not in this account before that.
    away_since: Option<Instant>,
    away: Duration,
    /// When it was asked last, and when the last time that it answered.
    asked: Instant,
    answered: Instant,
    /// What it reported first.
    first: Vec<Vec<Option<f64>>>,
}

/// What a reading has shown.
#[derive(Debug, Default)]
pub struct ServerReading {
    /// The values of each source, in the order of [`ServerWatch::sources`].
    pub values: Vec<Vec<Option<f64>>>,
    /// What clients did since the last reading that had it, by kind; `None` if that is not known yet.
    pub done: Option<Vec<u64>>,
    /// Nanoseconds that a statement took on average since the statements were read before; `None` if that is not known now.
    pub mean_ns: Option<f64>,
    /// Whether the server was started again since the reading before: then all that was done was done after that.
    pub restarted: bool,
    /// Whether the server did not answer. When it does, its counts have what it did meanwhile.
    pub is_away: bool,
    /// Whether what was done since the last reading is lost, because the server's account was set to zero.
    pub is_lost: bool,
    /// What happened, in words for people.
    pub news: Vec<(EventKind, String)>,
}

impl ServerWatch {
    /// Connects to the server that `url` names. `password_file` may be empty.
    ///
    /// # Errors
    /// If the URL is none of a server that can be watched, or if the server cannot be reached.
    pub fn open(url: &str, password_file: &str) -> Result<ServerWatch, TargetError> {
        ServerWatch::begin(server_at(url, password_file)?)
    }

    fn begin(mut server: Box<dyn WatchedServer>) -> Result<ServerWatch, TargetError> {
        let failed = |server: &dyn WatchedServer, failure| server_error(server.shown(), failure);
        let mut own = OwnQuestions::default();
        server.connect(OPEN_WITHIN, &mut own).map_err(|failure| failed(&*server, failure))?;
        let missing = server.find_statements(&mut own).map_err(|failure| failed(&*server, failure))?;
        let counts = if server.counts_by_statements() && missing.is_some() {
            ObservedCounts::Transactions
        } else {
            ObservedCounts::Statements
        };
        let now = Instant::now();
        let statements = missing.is_none().then_some(now);
        let account = server.account(&mut own);
        let missing = missing.into_iter().chain(server.missing_parts());
        let missing = missing.map(|part| granted_to(part, account.as_deref())).collect();
        let mut watch = ServerWatch {
            server,
            is_connected: true,
            is_new_connection: false,
            connection_number: None,
            started: None,
            counted: None,
            own: OwnQuestions::default(),
            uncounted: 0,
            settings: Vec::new(),
            ledger: StatementLedger::default(),
            statements,
            missing,
            account,
            log: None,
            has_looked_for_log: false,
            replica: ReplicaAccount::default(),
            counts,
            away_since: None,
            away: Duration::ZERO,
            asked: now,
            answered: now,
            first: Vec::new(),
        };
        // What was counted before the watch.
        let first = watch.read_all().map_err(|failure| failed(&*watch.server, failure))?;
        watch.started = first.started;
        watch.counted = watch.server.counts(&first.values);
        // So was what that took, unless the server counts it later.
        watch.uncounted = if watch.server.counts_late() { own.all() + first.own.all() } else { 0 };
        watch.connection_number = watch.server.connection_number();
        watch.first = watch.values_by_source(&first.values);
        Ok(watch)
    }

    /// Its name among engines, and as people say it.
    pub fn names(&self) -> [&'static str; 2] {
        self.server.names()
    }

    /// What is known of it, for people.
    pub fn facts(&self) -> Vec<Fact> {
        vec![Fact::new("engine.version", self.server.version())]
    }

    /// What is seen of its process and of the disk of its data on this machine.
    pub fn look(&mut self) -> ServerSighting {
        let data_dir = self.server.data_dir();
        self.own.reads += 1;
        let seen = match self.server.socket_fd() {
            Some(socket) => ServerSighting::look(socket, data_dir.as_deref(), self.server.programs()),
            None => ServerSighting::default(),
        };
        if !std::mem::replace(&mut self.has_looked_for_log, true) && seen.pid().is_some() {
            self.open_log(data_dir.as_deref());
        }
        seen
    }

    /// Opens the error log of a server that is here. One that cannot be read is a part that is missing.
    fn open_log(&mut self, data_dir: Option<&str>) {
        self.own.reads += 1;
        let Some((file, marks)) = self.server.error_log() else { return };
        let path = data_dir.map_or_else(|| PathBuf::from(&file), |dir| Path::new(dir).join(&file));
        if path.is_relative() {
            return;
        }
        match ErrorLog::open(path.clone(), marks) {
            Ok(log) => self.log = Some(log),
            Err(error) => {
                let reason = host::error::system_words(&error);
                let what = format!("the error log {}: {reason}", host::error::shown(&path));
                self.missing.push(MissingPart { what, mend: String::new() });
            }
        }
    }

    /// Checks that process `pid`, or one that it started, is of this kind of server.
    ///
    /// # Errors
    /// If it runs another program.
    pub fn check_process(&self, pid: u32) -> Result<(), TargetError> {
        check_program(pid, self.server.programs(), self.server.names()[1])
    }

    /// Follows the error log that the server's process `pid`, which runs `program`, has open.
    pub fn open_log_of(&mut self, pid: u32, program: &str) {
        self.has_looked_for_log = true;
        match process_log::open_log(pid, program) {
            Some(Ok(log)) => self.log = Some(log),
            Some(Err(missing)) => self.missing.push(missing),
            None => {}
        }
    }

    /// How it is reached.
    pub fn way(&self) -> ServerWay {
        self.server.route().server_way()
    }

    /// The kinds of what is counted.
    pub fn kinds(&self) -> Vec<KindDef> {
        match self.counts {
            ObservedCounts::Transactions => vec![KindDef::new("transaction", OpClass::ReadWrite)],
            _ => KINDS.map(|(name, class)| KindDef::new(name, class)).to_vec(),
        }
    }

    /// The value of the counter `name` among those of a reading; `None` if the server has none, or did not tell.
    pub fn value_of(&self, name: &str, values: &[Vec<Option<f64>>]) -> Option<f64> {
        let sources = self.all_sources().zip(values);
        let mut counters = sources.flat_map(|(source, values)| source.counters.iter().zip(values));
        counters.find(|(counter, _)| counter.name() == name).and_then(|(_, value)| *value)
    }

    /// Whether the server shows this account the value of the counter `name`.
    pub fn tells(&self, name: &str) -> bool {
        self.value_of(name, &self.first).is_some()
    }

    /// Whether it reports what its statements cost.
    pub fn tells_statements(&self) -> bool {
        self.statements.is_some()
    }

    fn values_by_source(&self, values: &Values) -> Vec<Vec<Option<f64>>> {
        self.all_sources().map(|source| values_of(source, values)).collect()
    }

    fn all_sources(&self) -> impl Iterator<Item = &'static ServerSource> + use<> {
        let statements = self.statements.is_some().then_some(&STATEMENTS);
        self.server.sources().iter().copied().chain(statements).chain(self.log.is_some().then_some(&LOG))
    }

    /// What its counters are.
    pub fn sources(&self) -> Vec<SourceDef> {
        let subject = self.server.names()[0];
        self.all_sources().map(|source| described(source, subject)).collect()
    }

    /// At the next reading statements are read, too, whether it is time for that or not.
    pub fn want_statements(&mut self) {
        self.statements = self.statements.map(|_| Instant::now());
    }

    /// What follows goes into a new account: the statements of the one before are forgotten, and what was counted counts on.
    pub fn begin_account(&mut self) {
        self.ledger.begin_anew();
        self.log.iter_mut().for_each(ErrorLog::begin_anew);
        (self.away, self.away_since) = (Duration::ZERO, self.away_since.map(|_| self.asked));
        self.answered = self.asked;
        self.replica.begin_anew();
    }

    /// Finds out which details the account may see, and keeps what is missing.
    ///
    /// # Errors
    /// If the server does not answer.
    pub fn try_details(&mut self) -> Result<(), TargetError> {
        let tried = self.server.read_details(&mut self.own);
        let details = tried.map_err(|failure| server_error(self.server.shown(), failure))?;
        let account = self.account.as_deref();
        self.missing.extend(details.missing.into_iter().map(|part| granted_to(part, account)));
        Ok(())
    }

    /// What the sessions do now, and who waits for whom. If the server does not answer in time, the next reading connects again.
    pub fn read_details(&mut self) -> ServerLook {
        if !self.is_connected {
            return ServerLook { failed: Some("there was no connection".to_owned()), ..ServerLook::default() };
        }
        match self.server.read_details(&mut self.own) {
            Ok(details) => details.look,
            Err(failure) => {
                self.server.disconnect();
                self.is_connected = false;
                ServerLook { failed: Some(failure.text), ..ServerLook::default() }
            }
        }
    }

    /// Reads everything. A server that does not answer is a gap, and is connected to again at the next reading.
    pub fn read(&mut self) -> ServerReading {
        self.asked = Instant::now();
        // KILL, a limit of time or a proxy may have ended the connection of a server that goes on: then nothing is missing.
        let read = if self.is_connected { self.read_all().or_else(|_| self.reconnect()) } else { self.reconnect() };
        match read {
            Ok(read) => {
                let away_since = self.away_since.take();
                self.away += away_since.map_or(Duration::ZERO, |since| self.asked - since);
                self.answered = self.asked;
                self.take(read, away_since.is_some())
            }
            Err(failure) => {
                self.server.disconnect();
                self.is_connected = false;
                let was_away = self.away_since.is_some();
                self.away_since = self.away_since.or(Some(self.asked));
                let text = format!("the server does not answer: {}", failure.text);
                // What it logs while it does not answer is what one wants to know.
                let values = self.log_values();
                let values = self.values_by_source(&values);
                let news = if was_away { Vec::new() } else { vec![(EventKind::SourceGap, text)] };
                ServerReading { values, news, is_away: true, ..ServerReading::default() }
            }
        }
    }

    fn reconnect(&mut self) -> Result<ReadAll, OpFailure> {
        self.server.disconnect();
        self.is_connected = false;
        self.server.connect(ANSWER_WITHIN, &mut self.own)?;
        self.own.other += self.server.counts_of_login();
        (self.is_connected, self.is_new_connection) = (true, true);
        self.read_all()
    }

    fn read_all(&mut self) -> Result<ReadAll, OpFailure> {
        let asked = Instant::now();
        let mut values = self.server.read_values(&mut self.own)?;
        let took = asked.elapsed();
        values.extend(self.log_values());
        self.replica.take(&values);
        let own = std::mem::replace(&mut self.own, self.server.own_of_further_values());
        self.settings.extend(&own.settings);
        self.settings.truncate(SETTINGS_MAX);
        let started = self.server.started(&values);
        let restarted = self.is_new_connection && self.was_restarted(&values, took);
        if restarted && !self.server.keeps_counts() {
            self.ledger.restart();
        }
        if self.is_new_connection {
            // What comes later is not to be mixed with what was done before the server answered again.
            self.want_statements();
        }
        let by_statement = self.read_statements(&mut values)?;
        Ok(ReadAll { values, own, started, restarted, by_statement })
    }

    /// The counts of its error log, if that is read.
    fn log_values(&mut self) -> Values {
        let mut values = Values::new();
        if let Some(log) = &mut self.log {
            log.read();
            log.add_to(&mut values);
        }
        values
    }

    /// Whether the server was started again since the last reading. Each of three signs is enough: when it was started, which tells nothing of two
    /// starts within a second; the number of the connection; and that it has counted much less than before, as PostgreSQL has after a crash of
    /// one of its processes. Only asked of a new connection: a FLUSH STATUS ends none.
    fn was_restarted(&self, values: &Values, took: Duration) -> bool {
        let same_start_s = self.server.rounds_start_to_s() + took.as_secs_f64() + SAME_START_S;
        let started = self.server.started(values).zip(self.started);
        let number = self.server.connection_number().zip(self.connection_number);
        let counted = self.server.counts(values);
        let counted = counted.as_ref().and_then(|now| now.last()).zip(self.counted.as_ref().and_then(|all| all.last()));
        started.is_some_and(|(now, before)| now > before + same_start_s)
            || number.is_some_and(|(now, before)| now <= before)
            || counted.is_some_and(|(now, before)| *now < before / 2)
    }

    /// What came in the sums of statements, if it is time to read them. Then what all of them cost is put among `values`.
    fn read_statements(&mut self, values: &mut Values) -> Result<Option<GrownKinds>, OpFailure> {
        let began = Instant::now();
        if self.statements.is_none_or(|next| next > began) {
            return Ok(None);
        }
        let is_first = self.ledger.is_unread();
        let sums = self.server.read_statements(&mut self.own)?;
        let mut grown = self.ledger.take(sums, began);
        let unknown = self.ledger.unknown(&grown.statements, TEXTS_AT_ONCE);
        let texts = if unknown.is_empty() { Ok(Vec::new()) } else { self.server.read_texts(&unknown, &mut self.own) };
        for row in texts.iter().flatten() {
            if let [Some(id), Some(text)] = row.as_slice() {
                self.ledger.learn(id.clone(), text::described(text, self.server.dialect()));
            }
        }
        let (ledger, server) = (&self.ledger, &self.server);
        grown.statements.retain(|(key, _)| ledger.text(&key.id).is_none_or(|known| !server.is_own(&known.text)));
        ledger.leave_out(&std::mem::take(&mut self.settings), &mut grown.statements);
        let mut kinds = vec![0; KINDS.len()];
        for (key, cost) in &grown.statements {
            kinds[ledger.text(&key.id).map_or(KINDS.len() - 1, |known| kind_of(&known.text))] += cost.calls;
        }
        self.ledger.add(&grown.statements);
        self.ledger.add_to(values);
        let mut all = StatementCost::default();
        grown.statements.iter().for_each(|(_, cost)| all.add(cost));
        let mean_ns = (all.calls > 0).then(|| all.time_ns as f64 / all.calls as f64);
        self.statements = Some(began + began.elapsed() * STATEMENTS_SHARE);
        // What has grown is counted, be it without a text: the sums will not tell it again.
        texts.map(|_| (!is_first).then_some(GrownKinds { kinds, was_reset: grown.was_reset, mean_ns }))
    }

    fn take(&mut self, read: ReadAll, was_away: bool) -> ServerReading {
        let ReadAll { values, own, started, restarted, by_statement } = read;
        let mut news = Vec::new();
        if restarted {
            news.push((EventKind::Restart, "the server was restarted".to_owned()));
        } else if was_away {
            news.push((EventKind::Engine, "the server answers again; it was not restarted".to_owned()));
        }
        if by_statement.as_ref().is_some_and(|grown| grown.was_reset) && !restarted {
            let text = "the server's account of statements was set to zero: what ran in this interval is missing in it";
            news.push((EventKind::Engine, text.to_owned()));
        }
        (self.started, self.is_new_connection) = (started.or(self.started), false);
        self.connection_number = self.server.connection_number();
        let mean_ns = by_statement.as_ref().and_then(|grown| grown.mean_ns);
        let counted = self.server.counts(&values);
        let before = std::mem::replace(&mut self.counted, counted.clone());
        let by_sums = self.counts == ObservedCounts::Statements && self.server.counts_by_statements();
        let is_lost = by_sums && by_statement.as_ref().is_some_and(|grown| grown.was_reset);
        let done = if by_sums {
            // If the account began again, nobody knows what was done: the interval is a gap.
            by_statement.filter(|grown| !grown.was_reset).map(|grown| grown.kinds)
        } else {
            let began_anew = restarted && !self.server.keeps_counts();
            let before = if began_anew { counted.as_ref().map(|counted| vec![0; counted.len()]) } else { before };
            counted.zip(before).map(|(now, before)| self.done_between(&now, &before, &own))
        };
        let values = self.values_by_source(&values);
        ServerReading { values, done, mean_ns, restarted, is_away: false, is_lost, news }
    }

    /// What clients did between two counts. A count that fell was set to zero by a statement (FLUSH STATUS), and all of it is new. Transactions of
    /// the watch that are not counted yet are left out of a later count.
    fn done_between(&mut self, now: &[u64], before: &[u64], own: &OwnQuestions) -> Vec<u64> {
        let grown: Vec<u64> =
            now.iter().zip(before).map(|(now, before)| now.checked_sub(*before).unwrap_or(*now)).collect();
        match grown.as_slice() {
            [selects, changes @ .., all] => {
                let selects = selects.saturating_sub(own.reads);
                let named: u64 = changes.iter().fold(selects, |sum, one| sum.saturating_add(*one));
                let other = all.saturating_sub(own.all()).saturating_sub(named);
                [&[selects][..], changes, &[other]].concat()
            }
            [transactions] => {
                let earlier = if now < before { 0 } else { self.uncounted };
                let own = earlier + own.all();
                self.uncounted = own.saturating_sub(*transactions);
                vec![transactions.saturating_sub(own)]
            }
            [] => grown,
        }
    }

    /// What is known of its statements so far.
    pub fn observation(&self) -> Observation {
        let (statements, others) = self.ledger.dearest();
        let mut missing = self.missing.clone();
        if self.ledger.forgotten > 0 {
            let what =
                format!("the server forgot {} kinds of statement: it has room for too few", self.ledger.forgotten);
            missing.push(MissingPart { what, mend: String::new() });
        }
        let untold = self.ledger.untold_share();
        if untold > UNTOLD_SHARE {
            let share = untold * 100.0;
            let what = format!("the texts of {share:.0} % of the statements: the server's table of statements is full");
            missing.push(MissingPart { what, mend: MORE_DIGESTS.to_owned() });
        }
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let statements_ns = nanos(self.ledger.watched());
        let away_ns = nanos(self.away + self.away_since.map_or(Duration::ZERO, |since| self.asked - since));
        let unknown_ns = nanos(self.asked - self.answered);
        let (others, others_kinds) = others.map_or((None, 0), |(others, kinds)| (Some(others), kinds));
        let counts = self.counts;
        let (log, replica) = (self.log.as_ref().map(ErrorLog::observed), self.replica.observed());
        Observation {
            counts,
            statements,
            others,
            others_kinds,
            statements_ns,
            away_ns,
            unknown_ns,
            missing,
            log,
            replica,
            ..Observation::default()
        }
    }
}

/// All that the server has answered at a reading.
struct ReadAll {
    values: Values,
    own: OwnQuestions,
    started: Option<f64>,
    restarted: bool,
    by_statement: Option<GrownKinds>,
}

/// How many statements of each kind came.
struct GrownKinds {
    kinds: Vec<u64>,
    was_reset: bool,
    mean_ns: Option<f64>,
}

/// `part` with the name of the account in its GRANT, ready to paste.
fn granted_to(part: MissingPart, account: Option<&str>) -> MissingPart {
    let mend = account.map(|account| part.mend.replace(THE_ACCOUNT, account));
    MissingPart { mend: mend.unwrap_or(part.mend), ..part }
}

fn server_at(url: &str, password_file: &str) -> Result<Box<dyn WatchedServer>, TargetError> {
    let url = url.strip_prefix("mariadb://").map_or_else(|| url.to_owned(), |rest| format!("mysql://{rest}"));
    let is_mysql = url.starts_with("mysql://");
    let (schemes, example): (&[&str], &str) = if is_mysql {
        (&["mysql"], "mysql://user@host")
    } else {
        (&["postgres", "postgresql"], "postgres://user@host/database")
    };
    if !schemes.iter().any(|scheme| url.starts_with(&format!("{scheme}://"))) {
        let shown = host::error::shown(std::path::Path::new(&url));
        return Err(TargetError::Unsupported(format!(
            "`{shown}` is no URL of a server that can be watched; use mysql://user@host or postgres://user@host/database, or --pid"
        )));
    }
    let params = [(URL.name, url.as_str()), (PASSWORD_FILE.name, password_file)];
    let params =
        Params(params.into_iter().map(|(name, text)| (name.to_owned(), Value::Word(text.to_owned()))).collect());
    ask_for_passwords(std::iter::once(&params))?;
    let endpoints = ServerUrl::endpoints_from_params(&params, schemes, example)?;
    let [server] = endpoints.as_slice() else {
        return Err(TargetError::Unsupported(
            "name one server: each of several is watched by a command of its own".into(),
        ));
    };
    let (password, limits) = (Password::from_params(&params)?, ANSWER_LIMITS);
    Ok(if is_mysql {
        Box::new(mysql::WatchedMysql::new(MysqlAddress::from_url(server, password, limits)?))
    } else {
        Box::new(postgres::WatchedPostgres::new(PostgresAddress::from_url(server, password, limits)?))
    })
}

#[cfg(test)]
mod tests {
    //! A scripted server; real ones are in the tests of the program.

    use super::*;

    /// What the server reports at a reading. `number` is that of the connection, and `None` that it is lost.
    #[derive(Clone, Copy)]
    struct Told {
        started: f64,
        counted: u64,
        number: Option<u32>,
    }

    struct Scripted {
        script: std::vec::IntoIter<Told>,
        /// What its one statement was executed, if it counts by statements.
        executed: Option<u64>,
        /// How many statements connecting takes, if they are counted late. Each reading is one more.
        connecting: Option<u64>,
        number: Option<u32>,
        route: Route,
    }

    impl WatchedServer for Scripted {
        fn connect(&mut self, _: Duration, own: &mut OwnQuestions) -> Result<(), OpFailure> {
            own.other += self.connecting.unwrap_or(0);
            Ok(())
        }

        fn disconnect(&mut self) {
            self.number = None;
        }

        fn socket_fd(&self) -> Option<BorrowedFd<'_>> {
            None
        }

        fn data_dir(&mut self) -> Option<String> {
            None
        }

        fn route(&self) -> &Route {
            &self.route
        }

        fn shown(&self) -> &str {
            "a script"
        }

        fn names(&self) -> [&'static str; 2] {
            ["script", "Script"]
        }

        fn dialect(&self) -> Dialect {
            Dialect::Mysql
        }

        fn version(&self) -> &str {
            "1"
        }

        fn programs(&self) -> &'static [&'static str] {
            &[]
        }

        fn sources(&self) -> &'static [&'static ServerSource] {
            &[]
        }

        fn read_values(&mut self, _: &mut OwnQuestions) -> Result<Values, OpFailure> {
            let told = self.script.next().expect("the script has a line for each reading");
            self.number = Some(told.number.ok_or_else(not_connected)?);
            self.executed = self.executed.map(|_| told.counted);
            let values = [("started", told.started.to_string()), ("counted", told.counted.to_string())];
            Ok(values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
        }

        fn own_of_further_values(&self) -> OwnQuestions {
            OwnQuestions { other: u64::from(self.counts_late()), ..OwnQuestions::default() }
        }

        fn counts_late(&self) -> bool {
            self.connecting.is_some()
        }

        fn started(&self, values: &Values) -> Option<f64> {
            values["started"].parse().ok()
        }

        fn rounds_start_to_s(&self) -> f64 {
            1.0
        }

        fn connection_number(&self) -> Option<u32> {
            self.number
        }

        fn counts(&self, values: &Values) -> Option<Vec<u64>> {
            values["counted"].parse().ok().map(|counted| vec![counted])
        }

        fn counts_by_statements(&self) -> bool {
            self.executed.is_some()
        }

        fn find_statements(&mut self, _: &mut OwnQuestions) -> Result<Option<MissingPart>, OpFailure> {
            let missing = MissingPart { what: "statements".to_owned(), mend: String::new() };
            Ok(Some(missing).filter(|_| self.executed.is_none()))
        }

        fn read_statements(&mut self, _: &mut OwnQuestions) -> Result<Vec<(StatementKey, StatementCost)>, OpFailure> {
            let cost = |calls| StatementCost { calls, ..StatementCost::default() };
            Ok(self.executed.iter().map(|calls| (StatementKey::default(), cost(*calls))).collect())
        }

        fn read_texts(&mut self, _: &[String], _: &mut OwnQuestions) -> Result<TextRows, OpFailure> {
            Ok(TextRows::default())
        }

        fn read_details(&mut self, _: &mut OwnQuestions) -> Result<Details, OpFailure> {
            Ok(Details::default())
        }

        fn is_own(&self, _: &str) -> bool {
            false
        }
    }

    const LOST: Told = Told { started: 0.0, counted: 0, number: None };

    fn told(started: f64, counted: u64, number: u32) -> Told {
        Told { started, counted, number: Some(number) }
    }

    fn watch_of(script: &[Told]) -> ServerWatch {
        watch_counting(script, None, None)
    }

    fn watch_counting(script: &[Told], executed: Option<u64>, connecting: Option<u64>) -> ServerWatch {
        let script = Vec::from(script).into_iter();
        let route = Route::Socket("/nowhere".to_owned());
        let server = Scripted { script, executed, connecting, number: None, route };
        ServerWatch::begin(Box::new(server)).expect("it answers")
    }

    /// Whether the second reading of a script shows a restart.
    fn is_restart(script: &[Told]) -> bool {
        let mut watch = watch_of(script);
        let reading = watch.read();
        assert_eq!(reading.restarted, reading.news.iter().any(|(kind, _)| *kind == EventKind::Restart));
        assert_eq!(watch.away_since, None);
        reading.restarted
    }

    #[test]
    fn a_restart_between_two_readings_is_noticed_by_age_by_connection_and_by_counts() {
        let before = told(100.0, 1_000, 50);
        assert!(is_restart(&[before, LOST, told(102.0, 2_000, 60)]), "started two seconds later");
        assert!(is_restart(&[before, LOST, told(100.5, 2_000, 5)]), "an earlier connection");
        assert!(is_restart(&[before, LOST, told(100.5, 40, 60)]), "counts that begin anew");
    }

    #[test]
    fn a_connection_that_was_ended_and_a_clock_that_was_set_are_no_restart() {
        let before = told(100.0, 1_000, 50);
        assert!(!is_restart(&[before, LOST, told(100.9, 1_005, 51)]), "KILL");
        assert!(!is_restart(&[before, told(160.0, 1_005, 50)]), "the wall clock");
        assert!(!is_restart(&[before, told(100.0, 3, 50)]), "FLUSH STATUS");
    }

    #[test]
    fn what_the_watch_did_is_left_out_though_the_server_counts_it_late() {
        // Connecting takes 4. The server counts that and two readings in the second interval, then two readings and 10 of clients at once, and is
        // set to zero in the end.
        let script = [1_000, 1_000, 1_006, 1_006, 1_018, 1_018, 3].map(|counted| told(100.0, counted, 50));
        let mut watch = watch_counting(&script, None, Some(4));
        let done = [(); 6].map(|()| watch.read().done.map(|done| done.iter().sum::<u64>()));
        assert_eq!(done, [0, 0, 0, 10, 0, 2].map(Some));
    }

    #[test]
    fn what_was_done_before_an_account_of_statements_was_set_to_zero_is_lost() {
        let script = [1_000, 1_010, 5, 15].map(|counted| told(100.0, counted, 50));
        let mut watch = watch_counting(&script, Some(0), None);
        let done = [(); 3].map(|()| {
            watch.want_statements();
            let reading = watch.read();
            (reading.done.map(|done| done.iter().sum::<u64>()), reading.is_lost)
        });
        assert_eq!(done, [(Some(10), false), (None, true), (Some(10), false)]);
    }

    #[test]
    fn a_table_of_statements_that_is_full_is_told_with_what_makes_it_larger() {
        // The one statement of the script has no digest.
        let script = [1_000, 1_010].map(|counted| told(100.0, counted, 50));
        let mut watch = watch_counting(&script, Some(0), None);
        assert!(watch.observation().missing.is_empty());
        watch.want_statements();
        watch.read();
        let missing = watch.observation().missing;
        assert_eq!(missing[0].what, "the texts of 100 % of the statements: the server's table of statements is full");
        assert!(missing[0].mend.contains("performance_schema_digests_size"));
    }

    #[test]
    fn a_grant_that_is_missing_names_the_account() {
        let part =
            || MissingPart { what: "statements".into(), mend: "GRANT a TO the account; GRANT b TO the account".into() };
        assert_eq!(granted_to(part(), Some("\"Bob\"")).mend, "GRANT a TO \"Bob\"; GRANT b TO \"Bob\"");
        assert_eq!(granted_to(part(), None), part());
        assert_eq!(crate::mysql::external::account_in_grant("it's@10.%").as_deref(), Some("'it''s'@'10.%'"));
    }

    #[test]
    fn how_long_a_server_did_not_answer_is_told_in_each_account() {
        let mut watch = watch_of(&[told(100.0, 1_000, 50), LOST, LOST, LOST, LOST, told(100.5, 1_005, 51)]);
        let is_told = |watch: &ServerWatch| {
            let seen = watch.observation();
            (seen.away_ns > 0, seen.unknown_ns > 0)
        };
        let first = watch.read();
        assert!(first.is_away && first.news.len() == 1);
        assert!(watch.read().news.is_empty(), "it is said once");
        assert_eq!(is_told(&watch), (true, true));
        watch.begin_account();
        assert_eq!(is_told(&watch), (false, false));
        watch.read();
        assert_eq!(is_told(&watch), (true, true), "it is still away");
        assert!(!watch.read().is_away);
        assert_eq!(is_told(&watch), (true, false), "its counts have what it did");
        watch.begin_account();
        assert_eq!(is_told(&watch), (false, false));
    }
}
