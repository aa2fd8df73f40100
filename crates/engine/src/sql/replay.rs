//! Sends the statements of a recording to an existing server that holds a copy of the recorded data.
//!
//! In: a recording, the server and an account on it, how fast it is to go. Out: clients whose operations are the statements, as text or, where
//! they were prepared, as calls again, and facts about what is replayed. Limits: MySQL, MariaDB and PostgreSQL by URL. Rows are read and dropped, or summed up if that is asked for. Nothing is tried again: what
//! fails is counted. A connection serves one session after the other; with writes each session has a connection of its own, because what
//! one has set must not be seen by the next, and a statement waits for those of other sessions on the same row that were before it
//! ([`replay_order`](crate::sql::replay_order)).
//!
//! What must not happen is that statements reach the server that was recorded. So a server is refused that writes the log itself, that the
//! user named as the recorded one, or whose version, port and socket are those that the log names.

use crate::engine::WorkloadClients;
use crate::recordings::{KnownIds, ReplayedLog};
use crate::server::identity::is_same_server;
use crate::server::network::Route;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::external::PATIENCE;
use crate::sql::multiplex::PollableSession;
use crate::sql::replay_calls::{KnownTemplates, PreparedHere, PreparesLater, RecordedCall};
use crate::sql::replay_catalogue::{CatalogueWords, server_names};
use crate::sql::replay_divergence::ReplayDivergence;
use crate::sql::replay_failures::{self, ReplayFailures};
use crate::sql::replay_ids::{CounterWords, MadeColumns, ReplayIds, SetIds, counted_column};
use crate::sql::replay_keys::{KeyServer, KeyWords, ReplayKeys};
use crate::sql::replay_order::{ReplayOrder, Waiter};
use crate::sql::replay_plans::{PlanWords, ReplayPlans};
use crate::sql::replay_results::ReplayResults;
use crate::sql::row_tally::Answered;
use crate::sql::server_instance::SqlServer;
use crate::sql::session_options::SessionOptions;
use crate::sql::variant::rows::RowBuffer;
use crate::sql::{OpFailure, OpNames, SessionFactory, SqlSession, server_error};
use host::error::{TargetError, shown};
use load::{Client, Driver, DueTimes, OpSource, SyncClient};
use model::{Fact, FailureClass, LoadPart, Nanos, OpKind, Outcome, Params, RowCounts, SqlArg, SqlOp, Trial};
use std::collections::BTreeSet;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use workload::ClientIndex;
use workload::replay_sql::{
    self, CountedColumn, KeyMover, LogDialect, MadeCopies, RecordedAnswer, RecordedServer, SqlRecording,
    StatementPlace, WorkedIds,
};

/// Why other engines are refused.
pub const NEEDS_COPY: &str = "workload `replay-sql` needs a server that holds a copy of the recorded data: use --engine mysql://USER@HOST/ or \
     postgres://USER@HOST/DATABASE";

/// What so many statements of a client call first is prepared before the replay begins.
const FIRST_STATEMENTS: usize = 64;

/// What a replay asks of one kind of server, as SQL.
pub struct ReplayWords {
    /// The logs that it can be given.
    pub dialect: LogDialect,
    /// Its version, as its log names it.
    pub version: &'static str,
    pub port: &'static str,
    /// The path of its socket.
    pub socket: &'static str,
    /// The files of its logs; relative ones are in its data directory.
    pub log_files: &'static [&'static str],
    /// What a connection begins with.
    pub begin: &'static [&'static str],
    /// What makes all transactions of a connection read-only.
    pub read_only: &'static str,
    /// What it has of its own.
    pub catalogue: CatalogueWords,
    /// A query with a row if the schema in `{}`, a literal, is there.
    pub has_schema: &'static str,
    /// The statement that makes the schema in `{}` the current one; `None` if that takes another connection.
    pub enter_schema: Option<&'static str>,
    /// The query for the columns whose values the server makes: tables, columns, expressions. An INSERT then names its ids. `None` if the
    /// server can be told the next id instead.
    pub made_columns: Option<&'static str>,
    /// How it is asked about the counters behind its ids.
    pub counters: CounterWords,
    /// How it is asked about the keys of copies.
    pub keys: KeyWords,
    /// How it is asked for a plan.
    pub plans: PlanWords,
}

/// Refuses the server behind `admin` if it writes the log at `path` itself. Asked before the log is read again: it would have grown by what
/// was asked.
pub fn check_writes_elsewhere<S: SqlServer>(
    path: &Path,
    admin: &mut S::Admin,
    data_dir: Option<&str>,
) -> Result<(), TargetError> {
    let mut ask = |question: &str| admin.query_value(question).ok().flatten();
    let files = S::replay_words().log_files.iter().filter_map(|question| ask(question));
    match files.map(|file| in_directory(data_dir, &file)).find(|file| is_same_file(file, path)) {
        None => Ok(()),
        Some(file) => Err(TargetError::Unsupported(format!(
            "the server writes `{}` itself: it is the recorded server; replay on a copy",
            shown(&file)
        ))),
    }
}

/// Refuses to replay `log` on the server behind `admin` if that is the recorded one, of another kind, or has no copy of its schemas.
pub fn check_server<S: SqlServer>(
    server: &S,
    log: &ReplayedLog,
    params: &Params,
    address: &S::Address,
    admin: &mut S::Admin,
) -> Result<(), TargetError> {
    let words = S::replay_words();
    let refused = |text: String| Err(TargetError::Unsupported(text));
    if words.dialect != log.dialect {
        let on = match words.dialect {
            LogDialect::Mysql => "mysql",
            LogDialect::Postgres => "postgres",
        };
        return refused(format!(
            "`{}` has the statements of {}; they cannot be replayed on `{on}`: name a copy of their own server",
            shown(&log.path),
            log.dialect
        ));
    }
    let recorded_on = replay_sql::recorded_on(params);
    if !recorded_on.is_empty() && is_recorded(server, recorded_on, address, admin)? {
        return refused(format!(
            "recorded_on = `{}` is the server of the URL; replay on a copy",
            shown(recorded_on.as_ref())
        ));
    }
    let mut ask = |question: &str| admin.query_value(question).ok().flatten();
    let found = RecordedServer {
        version: ask(words.version).unwrap_or_default(),
        port: ask(words.port).and_then(|port| port.parse().ok()),
        socket: ask(words.socket),
    };
    if is_like(&log.recording.server, &found) && !replay_sql::allows_same_server(params) {
        return refused(format!(
            "the log names version `{}`, port {} and socket `{}` of its server, and this server has the same: it may be the recorded one; \
             use same_server = `true` if it is a copy on another machine",
            found.version,
            found.port.map_or("none".to_owned(), |port| port.to_string()),
            found.socket.unwrap_or_default()
        ));
    }
    check_schemas::<S>(log, params, admin)
}

fn check_schemas<S: SqlServer>(log: &ReplayedLog, params: &Params, admin: &mut S::Admin) -> Result<(), TargetError> {
    let names = copied_schemas(&log.recording, params)?;
    for (recorded, name) in log.recording.schemas().iter().zip(&names).filter(|(_, name)| !name.is_empty()) {
        let question = S::replay_words().has_schema.replace("{}", &name.replace('\'', "''"));
        let there = admin.query_value(&question).map_err(|error| TargetError::Failed(OpFailure::from(error).text))?;
        if there.is_none() {
            return Err(TargetError::Unsupported(format!(
                "the server has no `{}`, in which statements of the log are; if the copy has another name, use schemas = `{}=NAME`",
                shown(name.as_ref()),
                shown(recorded.as_ref())
            )));
        }
    }
    Ok(())
}

/// The names of the schemas on the copy, in the order of the recording's.
fn copied_schemas(recording: &SqlRecording, params: &Params) -> Result<Vec<String>, TargetError> {
    let names = replay_sql::schema_names(params).map_err(TargetError::Unsupported)?;
    if let Some((unknown, _)) = names.iter().find(|(old, _)| !recording.schemas().contains(old)) {
        let text = format!("schemas: no statement of the log is in `{}`", shown(unknown.as_ref()));
        return Err(TargetError::Unsupported(text));
    }
    let name =
        |recorded: &String| names.iter().find(|(old, _)| old == recorded).map_or(recorded, |(_, new)| new).clone();
    Ok(recording.schemas().iter().map(name).collect())
}

fn in_directory(dir: Option<&str>, file: &str) -> PathBuf {
    Path::new(dir.unwrap_or("/")).join(file)
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    id(one).is_some_and(|found| Some(found) == id(other))
}

/// The server at the place that the user named answers soon, or cannot be asked.
const RECORDED_PATIENCE: Duration = Duration::from_secs(5);

/// Whether the server behind `admin` is the one at `place`: by its address, or because both say that they are the same. A place that does
/// not answer the account is known by its address only.
fn is_recorded<S: SqlServer>(
    server: &S,
    place: &str,
    address: &S::Address,
    admin: &mut S::Admin,
) -> Result<bool, TargetError> {
    let route = S::route_of(address);
    let named = route_to(place, route)?;
    if leads_to_same(route, &named) {
        return Ok(true);
    }
    let Ok(mut there) = S::connect_admin(&S::at_route(address, named), RECORDED_PATIENCE) else { return Ok(false) };
    let questions = server.spec().watched.identity;
    Ok(is_same_server(
        questions,
        |question| admin.query_rows(question).ok(),
        |question| there.query_rows(question).ok(),
    ))
}

/// The way to `place`, a HOST:PORT or the path of a socket, with the encryption of `like`.
fn route_to(place: &str, like: &Route) -> Result<Route, TargetError> {
    let refused = || {
        let text = "recorded_on: write HOST:PORT, or the path of a socket; no user and no password";
        TargetError::Unsupported(text.to_owned())
    };
    if place.contains('@') || place.contains("://") {
        return Err(refused());
    }
    if place.starts_with('/') {
        return Ok(Route::Socket(place.to_owned()));
    }
    let (host, port) = place.rsplit_once(':').ok_or_else(refused)?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    Ok(Route::Host(host, port.parse().map_err(|_| refused())?, like.tls().cloned()))
}

/// Whether both routes have one socket, or one address and port.
fn leads_to_same(one: &Route, other: &Route) -> bool {
    match (one, other) {
        (Route::Socket(one), Route::Socket(other)) => is_same_file(Path::new(one), Path::new(other)),
        (Route::Host(one, port, _), Route::Host(other, other_port, _)) => {
            let addresses = |host: &str| -> Vec<SocketAddr> {
                (host, *port).to_socket_addrs().map(Iterator::collect).unwrap_or_default()
            };
            let is_one_host =
                one.eq_ignore_ascii_case(other) || addresses(other).iter().any(|it| addresses(one).contains(it));
            is_one_host && port == other_port
        }
        _ => false,
    }
}

impl ReplayWords {
    /// What a connection executes first.
    fn first_texts(&self, reads_only: bool) -> impl Iterator<Item = &'static str> {
        self.begin.iter().copied().chain(reads_only.then_some(self.read_only))
    }
}

/// `address` with the schema `name` of the copy as the current one; an empty name is none.
fn address_in<S: SqlServer>(address: &S::Address, name: &str) -> S::Address {
    if name.is_empty() { address.clone() } else { S::in_recorded_schema(address, name) }
}

/// What the server at `address` says of `plans`.
pub fn plan_facts<S: SqlServer>(plans: &ReplayPlans, address: &S::Address) -> Vec<Fact> {
    let words = S::replay_words();
    plans.facts((words.plans, words.dialect), |schema, deadline| {
        let there = address_in::<S>(address, schema);
        let mut admin = S::connect_admin(&there, deadline.time_left().unwrap_or_default())?;
        for text in words.first_texts(plans.reads_only()) {
            admin.query_until(text, deadline)?;
        }
        Ok(admin)
    })
}

/// What of the recording reads, by what the server has of its own: all of it if writes are replayed.
pub fn judged_recording<S: SqlServer>(
    log: &ReplayedLog,
    params: &Params,
    address: &S::Address,
    admin: &mut S::Admin,
) -> Result<Arc<SqlRecording>, TargetError> {
    if replay_sql::allows_writes(params) {
        return Ok(log.recording.clone());
    }
    let words = S::replay_words();
    let failed = |failure: OpFailure| server_error(S::display_name(address), failure);
    let judge = sql::Judge::new(log.dialect.sql()).with_allowed(&replay_sql::allowed_functions(params));
    // What takes another connection to enter has a catalogue of its own.
    let schemas = if words.enter_schema.is_none() { copied_schemas(&log.recording, params)? } else { Vec::new() };
    let mut others = Vec::new();
    for name in schemas.iter().filter(|name| !name.is_empty()) {
        others.push(S::connect_admin(&S::in_recorded_schema(address, name), PATIENCE).map_err(failed)?);
    }
    let mut admins: Vec<&mut S::Admin> = others.iter_mut().chain([admin]).collect();
    let names = server_names(&mut admins, &words.catalogue, &judge).map_err(failed)?;
    let judged = log.recording.judged(&judge.with_server(Arc::new(names)));
    judged.map_err(|error| TargetError::Unsupported(error.in_file(&shown(&log.path))))
}

/// The columns for which the server makes ids, if a replay has them made as they were recorded. A server that does not answer makes its own.
pub fn made_columns<S: SqlServer>(
    recording: &SqlRecording,
    params: &Params,
    address: &S::Address,
    admin: &mut S::Admin,
) -> Result<MadeColumns, TargetError> {
    let mut made = MadeColumns::default();
    let question = S::replay_words().made_columns.filter(|_| replay_sql::allows_writes(params));
    let Some(question) = question else { return Ok(made) };
    let named = copied_schemas(recording, params)?;
    let others = named.iter().filter(|name| !name.is_empty());
    for name in others {
        let there = S::connect_admin(&S::in_recorded_schema(address, name), PATIENCE);
        made.add(there.ok().and_then(|mut there| there.query_rows(question).ok()).unwrap_or_default());
    }
    if named.iter().any(String::is_empty) {
        made.add(admin.query_rows(question).unwrap_or_default());
    }
    Ok(made)
}

/// Whether the server makes the recorded ids again. Several copies would insert rows with the same ids, unless these move.
pub fn makes_ids(recording: &SqlRecording, keys: &ReplayKeys) -> bool {
    keys.mover().is_some() || recording.copies.as_ref().is_none_or(|copies| copies.begins.len() == 1)
}

/// The ids that `log` does not have, worked out by the counters of the server, which are those of its beginning. Nothing of a schema that the server
/// does not answer about.
pub fn worked_ids<S: SqlServer>(
    log: &ReplayedLog,
    params: &Params,
    address: &S::Address,
    admin: &mut S::Admin,
) -> Result<Option<Arc<WorkedIds>>, TargetError> {
    if !replay_sql::allows_writes(params) {
        return Ok(None);
    }
    let schemas = copied_schemas(&log.recording, params)?;
    let mut columns = Vec::new();
    for name in schemas.iter().collect::<BTreeSet<_>>() {
        if name.is_empty() {
            columns.extend(counted_columns::<S>(name, admin));
        } else if let Ok(mut there) = S::connect_admin(&S::in_recorded_schema(address, name), PATIENCE) {
            columns.extend(counted_columns::<S>(name, &mut there));
        }
    }
    let mut known = log.known_ids.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(same) = known.as_ref().filter(|known| known.schemas == schemas && known.columns == columns) {
        return Ok(same.ids.clone());
    }
    let worked = WorkedIds::of(&log.recording, S::replay_words().dialect, &schemas, &columns);
    let unusable = |error: std::io::Error| TargetError::Unsupported(format!("the statements of the log: {error}"));
    let ids = worked.map_err(unusable)?.map(Arc::new);
    *known = Some(KnownIds { schemas, columns, ids: ids.clone() });
    Ok(ids)
}

/// The columns of `schema`, the current one of `admin`, that counters fill.
fn counted_columns<S: SqlServer>(schema: &str, admin: &mut S::Admin) -> Vec<CountedColumn> {
    let CounterWords { before, columns } = S::replay_words().counters;
    if let Some(before) = before {
        let _ = admin.query_rows(before); // what does not know it does not need it
    }
    let rows = admin.query_rows(columns).unwrap_or_default();
    rows.into_iter().filter_map(|row| counted_column(schema, row)).collect()
}

/// The keys of which each copy in `recording` has values of its own, as the server has them now.
pub fn moving_keys<S: SqlServer>(
    recording: &SqlRecording,
    params: &Params,
    address: &S::Address,
    admin: &mut S::Admin,
) -> Result<ReplayKeys, TargetError> {
    let asked = replay_sql::asked_keys(params).map_err(TargetError::Unsupported)?;
    if asked.is_empty() {
        return Ok(ReplayKeys::NoneNamed);
    }
    let copies = recording.copies.as_ref().map_or(1, |copies| copies.begins.len());
    if copies == 1 {
        return Ok(ReplayKeys::OneCopy);
    }
    let words = S::replay_words();
    let schemas = copied_schemas(recording, params)?;
    let is_own = |name: &&String| words.enter_schema.is_none() && !name.is_empty();
    let mut others = Vec::new();
    for name in schemas.iter().filter(is_own) {
        let connected = S::connect_admin(&S::in_recorded_schema(address, name), PATIENCE);
        others.push(connected.map_err(|failure| server_error(S::display_name(address), failure))?);
    }
    let mut admins: Vec<&mut S::Admin> = others.iter_mut().collect();
    if admins.len() < schemas.len() {
        admins.push(admin);
    }
    let mut server = KeyServer { admins, words: &words.keys, dialect: words.dialect, schemas: &schemas };
    let keys = asked.iter().map(|key| server.moving_key(key, copies)).collect::<Result<Vec<_>, TargetError>>()?;
    Ok(ReplayKeys::Moving(Arc::new(KeyMover::new(words.dialect, schemas, recording.templates(), keys))))
}

/// What is to be asked about the plans of `recording`. The probes of a search are not compared with anything.
pub fn plans_of(recording: &Arc<SqlRecording>, trial: &Trial) -> Result<Option<ReplayPlans>, TargetError> {
    let params = &trial.workload.params;
    if trial.is_probe() {
        return Ok(None);
    }
    let schemas = copied_schemas(recording, params)?;
    Ok(Some(ReplayPlans::new(recording.clone(), schemas, !replay_sql::allows_writes(params))))
}

/// Refuses to compare what statements return if that depends on when they are sent.
pub fn check_comparable(params: &Params) -> Result<(), TargetError> {
    let refused = |why: &str| Err(TargetError::Unsupported(format!("check_results = `true`: {why}")));
    match replay_sql::checks_results(params) {
        true if replay_sql::allows_writes(params) => {
            refused("what a read returns depends on when writes come; leave out allow_writes")
        }
        true if replay_sql::times_of(params) != 1.0 => {
            refused("each repeat of several copies has other statements; leave out times")
        }
        _ => Ok(()),
    }
}

/// The copies of `recording` that `trial` replays. The probe of a search has no more of its time than it lasts: what is due at its very end is
/// not sent any more.
pub fn copied_recording(recording: &Arc<SqlRecording>, trial: &Trial) -> Result<Arc<SqlRecording>, TargetError> {
    let params = &trial.workload.params;
    let speed = replay_sql::speed_of(params).filter(|_| trial.is_probe());
    let lasts = trial.phases.warmup.0 + trial.phases.run.0;
    let length = speed.map_or(Nanos(u64::MAX), |speed| Nanos(((lasts as f64 * speed) as u64).saturating_sub(1)));
    let copies = replay_sql::copies_of(recording, params, trial.seed, length).map_err(TargetError::Unsupported)?;
    recording.copies(&copies).map_err(|error| TargetError::Unsupported(format!("the statements of the log: {error}")))
}

/// Whether all that a log says of its server is so of the server that was `found`.
fn is_like(recorded: &RecordedServer, found: &RecordedServer) -> bool {
    // MySQL adds `-log` while it writes one.
    let version = |text: &str| text.split(' ').next().unwrap_or_default().trim_end_matches("-log").to_owned();
    let is_named = recorded.port.is_some() || recorded.socket.is_some();
    is_named
        && version(&recorded.version) == version(&found.version)
        && recorded.port.is_none_or(|port| Some(port) == found.port)
        && recorded.socket.as_ref().is_none_or(|socket| Some(socket) == found.socket.as_ref())
}

/// What the statements of all clients have come to.
pub struct ReplayTally {
    /// What they returned; `None` if that is not asked for.
    results: Option<Arc<ReplayResults>>,
    failures: Arc<ReplayFailures>,
    divergence: Arc<ReplayDivergence>,
    ids: Arc<ReplayIds>,
    known: Arc<KnownTemplates>,
    keys: ReplayKeys,
    /// Who waited for whom; `None` if only reads are replayed.
    order: Option<Arc<ReplayOrder>>,
}

impl ReplayTally {
    pub fn facts(&self) -> Vec<Fact> {
        let results = self.results.as_ref().map_or_else(Vec::new, |results| results.facts());
        let order = self.order.as_ref().and_then(|order| order.fact());
        let of_all = [self.ids.fact(), self.known.fact(), self.keys.fact(), order].into_iter().flatten();
        results.into_iter().chain(self.failures.facts()).chain(self.divergence.facts()).chain(of_all).collect()
    }
}

/// The clients of `trial` that replay `recording` on the server at `address`, with the ids that were `worked` out and moving `keys`, and what their
/// statements will have come to.
pub fn replay_clients<S: SqlServer>(
    recording: &Arc<SqlRecording>,
    trial: &Trial,
    address: &S::Address,
    options: &SessionOptions,
    made_columns: MadeColumns,
    worked: Option<Arc<WorkedIds>>,
    keys: ReplayKeys,
) -> Result<(WorkloadClients, ReplayTally), TargetError> {
    let params = &trial.workload.params;
    let clients = trial.load.clients;
    let speed = replay_sql::speed_of(params);
    let unusable =
        |error: &dyn std::fmt::Display| TargetError::Unsupported(format!("the statements of the log: {error}"));
    let lanes = Arc::new(recording.lanes(clients).map_err(|error| unusable(&error))?);
    let stream = replay_sql::statement_stream(recording.clone(), lanes.clone(), speed, worked.clone(), keys.mover());
    let kinds = replay_sql::kinds_of(recording);
    let results = replay_sql::checks_results(params);
    let results = results.then(|| Arc::new(ReplayResults::new(kinds.iter().map(|kind| kind.name))));
    let names = kinds.iter().map(|kind| kind.name);
    let divergence = Arc::new(ReplayDivergence::new(names, recording.is_hashed));
    let mut server = ReplayServer::<S> {
        address: address.clone(),
        options: SessionOptions { open: options.open.clone(), ..options.clone() },
        schemas: copied_schemas(recording, params)?.into(),
        allows_writes: replay_sql::allows_writes(params),
        names: OpNames::new(&kinds),
        makes_ids: makes_ids(recording, &keys),
        made_columns: Arc::new(made_columns),
        known: Arc::default(),
    };
    // Rows that are summed up are those of texts: prepared statements answer in another form.
    if results.is_none() {
        server.known = Arc::new(KnownTemplates::ask(recording, |schema| server.connect(schema)));
    }
    let ids = Arc::new(ReplayIds::of(worked.as_deref()));
    let (failures, known) = (Arc::default(), server.known.clone());
    let order = server.allows_writes.then(|| ReplayOrder::new(lanes.clone(), clients, recording.sessions()));
    let tally = ReplayTally { results, failures, divergence, ids, known, keys, order: order.map(Arc::new) };
    let beginning = |lane: u32| -> std::io::Result<((u32, u32), Vec<u32>)> {
        let looked_at = if recording.templates().is_empty() { 1 } else { FIRST_STATEMENTS };
        let first = lanes.numbers_of(lane, 0, looked_at)?.into_iter();
        let first = first.map(|number| recording.statement(number)).collect::<Result<Vec<_>, _>>()?;
        let place = first.first().map_or((0, 0), |first| (first.schema, first.session));
        let mut text = Vec::new();
        let in_place = first.iter().filter(|it| (it.schema, it.session) == place);
        let templates = in_place.map(|it| Ok(recording.read_text(it, &mut text)?.template()));
        let templates: BTreeSet<u32> = templates.collect::<std::io::Result<Vec<_>>>()?.into_iter().flatten().collect();
        Ok((place, templates.into_iter().collect()))
    };
    let client = |slot: ClientIndex| -> Result<Box<dyn Client>, TargetError> {
        let (place, prepares_first) = beginning(slot.client).map_err(|error| unusable(&error))?;
        // Copies have fewer sessions at once than clients if these are shorter than the recording.
        let is_idle = lanes.count_of(slot.client) == 0;
        let results = tally.results.clone().map(|sums| FetchedResults { sums, rows: RowBuffer::new(S::ROW_LAYOUT) });
        let (server, failures) = (server.clone(), tally.failures.clone());
        let (divergence, ids, order) = (tally.divergence.clone(), tally.ids.clone(), tally.order.clone());
        let driver = ReplayDriver {
            server,
            session: None,
            place,
            is_idle,
            results,
            failures,
            failure: None,
            divergence,
            ids,
            set_ids: SetIds::default(),
            with_ids: None,
            prepared: PreparedHere::default(),
            prepares_first,
            order,
            client: slot.client,
        };
        Ok(Box::new(SyncClient::new(OpSource::new(&stream, slot), driver)))
    };
    let clients = ClientIndex::all_in(LoadPart::all_of(clients)).map(client).collect::<Result<_, _>>()?;
    let due = speed.map(|speed| -> Arc<dyn DueTimes> { Arc::new(ReplayTimes { recording: recording.clone(), speed }) });
    Ok((WorkloadClients { kinds, clients, background: Vec::new(), parts: Vec::new(), due }, tally))
}

/// When the statements fall due.
#[derive(Debug)]
struct ReplayTimes {
    recording: Arc<SqlRecording>,
    speed: f64,
}

impl DueTimes for ReplayTimes {
    fn count_within(&self, length: Nanos) -> u64 {
        // If they cannot be read back, all count as due, so that those that were not sent are missing.
        replay_sql::count_due(&self.recording, self.speed, length).unwrap_or(self.recording.len())
    }

    fn last_due(&self) -> Option<Nanos> {
        Some(Nanos((self.recording.length().0 as f64 / self.speed) as u64))
    }
}

/// What is replayed, for people.
pub fn facts(recording: &SqlRecording) -> Vec<Fact> {
    let left_out = recording.left_out;
    let counts = [
        ("statements", recording.len()),
        ("sessions", recording.sessions().into()),
        ("sessions_at_once", recording.most_at_once().into()),
        ("left_out_writes", left_out.writes),
        ("left_out_of_session", left_out.of_session),
        ("left_out_repeated", left_out.repeated),
        ("left_out_unbound", left_out.unbound),
        ("skipped", recording.skipped.total()),
        ("left_out_effects", left_out.effects),
        ("left_out_own", left_out.own),
    ];
    let server = &recording.server;
    let version = if server.version.is_empty() { "the log does not name it" } else { &server.version };
    let times = if recording.has_whole_seconds {
        "whole seconds, spread over each in the order of the log"
    } else {
        "fractions of seconds"
    };
    let counts = counts.map(|(name, count)| Fact::new(format!("recorded.{name}"), count.to_string()));
    let skipped = recording.skipped.kinds();
    let skipped = skipped.map(|(name, kind)| Fact::new(format!("recorded.skipped.{name}"), kind.to_string()));
    let copies = recording.copies.iter().map(|copies| Fact::new("recorded.copies", copies_text(recording, copies)));
    let effects = (left_out.effects > 0).then(|| Fact::new("recorded.effects", recording.effects_listed()));
    let room = Fact::new("recorded.room", model::Bytes(recording.bytes()).to_string());
    let texts = [Fact::new("recorded.version", version), Fact::new("recorded.times", times), room];
    counts.into_iter().chain(skipped).chain(effects).chain(copies).chain(texts).collect()
}

/// `3.40 times 54.0 s of the log; copies begin 0 s, 3.21 s, 1.02 s and 5.10 s after its first statement`
fn copies_text(recording: &SqlRecording, copies: &MadeCopies) -> String {
    const SHOWN: usize = 10;
    let begins: Vec<String> = copies.begins.iter().take(SHOWN).map(Nanos::to_string).collect();
    let rest = copies.begins.len() - begins.len();
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let (times, length) = (copies.times, recording.length());
    format!("{times:.2} times {length} of the log; copies begin {}{rest} after its first statement", begins.join(", "))
}

/// The server, as all clients use it.
struct ReplayServer<S: SqlServer> {
    address: S::Address,
    options: SessionOptions,
    /// The names of the copy's schemas, by the numbers of the recording.
    schemas: Arc<[String]>,
    allows_writes: bool,
    names: OpNames,
    /// Whether the server makes the recorded ids again.
    makes_ids: bool,
    made_columns: Arc<MadeColumns>,
    /// What was prepared and can be again.
    known: Arc<KnownTemplates>,
}

impl<S: SqlServer> Clone for ReplayServer<S> {
    fn clone(&self) -> Self {
        ReplayServer {
            address: self.address.clone(),
            options: self.options.clone(),
            schemas: self.schemas.clone(),
            allows_writes: self.allows_writes,
            names: self.names.clone(),
            makes_ids: self.makes_ids,
            made_columns: self.made_columns.clone(),
            known: self.known.clone(),
        }
    }
}

impl<S: SqlServer> ReplayServer<S> {
    /// A connection with schema number `schema` as the current one.
    fn connect(&self, schema: u32) -> Result<SessionOf<S>, OpFailure> {
        let words = S::replay_words();
        let address = address_in::<S>(&self.address, self.schemas.get(schema as usize).map_or("", String::as_str));
        let mut session = S::session_factory(address, Arc::new([]), self.options.clone()).connect()?;
        words.first_texts(!self.allows_writes).try_for_each(|text| session.run_text(text))?;
        Ok(session)
    }
}

type SessionOf<S> = <<S as SqlServer>::Sessions as SessionFactory>::Session;

struct ReplayDriver<S: SqlServer> {
    server: ReplayServer<S>,
    session: Option<SessionOf<S>>,
    /// The numbers of the schema and of the recorded session that the connection is in.
    place: (u32, u32),
    /// It has nothing to send, and needs no connection.
    is_idle: bool,
    /// Where what was returned is added; `None` if rows are dropped.
    results: Option<FetchedResults>,
    failures: Arc<ReplayFailures>,
    /// The last one.
    failure: Option<(OpKind, OpFailure)>,
    divergence: Arc<ReplayDivergence>,
    ids: Arc<ReplayIds>,
    set_ids: SetIds,
    /// The statement that is next with the ids that it made, if it says them itself.
    with_ids: Option<String>,
    /// On the connection.
    prepared: PreparedHere,
    /// What the first statements are calls of: the application had it prepared when the recording began.
    prepares_first: Vec<u32>,
    /// What statements wait for; `None` if only reads are replayed.
    order: Option<Arc<ReplayOrder>>,
    /// Its number among all clients.
    client: u32,
}

/// The argument with the number of the recorded session.
const SESSION_ARG: usize = 1;
/// The arguments with how many bytes the text of a statement has and how many the ids that it made, behind those of what it was answered.
const TEXT_BYTES_ARG: usize = 8;
const MADE_BYTES_ARG: usize = 9;
/// The argument with the place of the statement that it waits for.
const AFTER_ARG: usize = 10;
/// The argument that is 1 if its session was in a transaction.
const IN_TRANSACTION_ARG: usize = 11;
/// Where the arguments of a call begin.
const CALL_ARG: usize = 12;

/// Argument number `nth` of a statement: its schema, its session, its time, a number of bytes, or whether it is in a transaction.
fn number_in(op: &SqlOp, nth: usize) -> i64 {
    if let Some(SqlArg::Int(number)) = op.args.get(nth) { *number } else { 0 }
}

/// What the statement was answered when it was recorded.
fn recorded_answer(op: &SqlOp) -> RecordedAnswer {
    RecordedAnswer::from_args(op.args.get(3..).unwrap_or_default())
}

/// The text of the statement, and the ids that it made.
fn statement_and_made(op: &SqlOp) -> (&str, &str) {
    let text = std::str::from_utf8(&op.text).expect("texts of a recording are UTF-8");
    let [text_bytes, made_bytes] = [TEXT_BYTES_ARG, MADE_BYTES_ARG].map(|nth| number_in(op, nth) as usize);
    let (text, behind) = text.split_at_checked(text_bytes).unwrap_or((text, ""));
    (text, behind.get(..made_bytes).unwrap_or_default())
}

struct FetchedResults {
    sums: Arc<ReplayResults>,
    /// The rows of one statement.
    rows: RowBuffer,
}

impl<S: SqlServer> ReplayDriver<S> {
    fn perform(&mut self, op: &SqlOp) -> Result<(), OpFailure> {
        if op.text.is_empty() {
            let text = "the statement cannot be read back from the file in which the recording is kept";
            return Err(OpFailure { class: FailureClass::Io, text: text.to_owned() });
        }
        self.enter(op)?;
        let session = self.session.as_mut().expect("entered above");
        if self.with_ids.is_none()
            && let Some(call) = RecordedCall::in_op(op, CALL_ARG)
            && let Some(number) = self.prepared.number_of(&call)
        {
            return session.run_prepared(number, call.args, &op.text);
        }
        let text = self.with_ids.as_deref().unwrap_or_else(|| statement_and_made(op).0);
        let text = match self.prepared.note_text(text) {
            // What failed when it was recorded fails again.
            "" if recorded_answer(op).failed == Some(true) => text,
            to_send => to_send,
        };
        match &mut self.results {
            None => session.run_text(text),
            Some(results) => {
                results.rows.clear();
                session.fetch_text(text, &mut results.rows)
            }
        }
    }

    /// Others that wait see whether the server has a statement of this client.
    fn note_turn(&self) {
        self.order.iter().for_each(|order| order.note_turn(self.client));
    }

    /// Goes to the schema and the recorded session of `op`, over another connection if need be.
    fn enter(&mut self, op: &SqlOp) -> Result<(), OpFailure> {
        let [schema, recorded] = [0, 1].map(|nth| number_in(op, nth) as u32);
        let (old_schema, old_recorded) = std::mem::replace(&mut self.place, (schema, recorded));
        if self.server.allows_writes && old_recorded != recorded {
            self.session = None;
        }
        let name = &self.server.schemas[schema as usize];
        if old_schema != schema {
            match (S::replay_words().enter_schema, &mut self.session) {
                // No statement leaves a schema.
                (Some(_), _) if name.is_empty() => {}
                (Some(words), Some(session)) => {
                    let entered = session.run_text(&words.replace("{}", &S::quote_name(name)));
                    if entered.is_err() {
                        // It is still in the schema before: the next statement gets a connection in its own.
                        self.session = None;
                    }
                    entered?;
                }
                _ => self.session = None,
            }
        }
        if self.session.is_none() {
            self.set_ids.forget();
            self.prepared.forget();
            self.session = Some(self.server.connect(schema)?);
        }
        Ok(())
    }

    /// Prepares what `op` is a call of. An error of the connection meets the statement itself.
    fn prepare_call(&mut self, op: &SqlOp) -> Result<(), OpFailure> {
        let Some(call) = RecordedCall::in_op(op, CALL_ARG) else { return Ok(()) };
        self.enter(op)?;
        let session = self.session.as_mut().expect("entered above");
        let prepared = self.prepared.prepare(call.template, &self.server.known, session);
        if prepared.is_err() {
            self.session = None;
        }
        prepared
    }

    /// Tells the server which ids `op` is to make. An error of the connection meets the statement itself.
    fn tell_ids(&mut self, op: &SqlOp) -> Result<(), OpFailure> {
        let recorded = recorded_answer(op);
        if recorded.made_id.is_none() && recorded.last_id.is_none() {
            return Ok(());
        }
        self.enter(op)?;
        let session = self.session.as_mut().expect("entered above");
        let Some(text) = self.set_ids.statement_before(&recorded) else { return Ok(()) };
        match session.run_text(text) {
            Ok(()) => self.ids.count_told(&recorded),
            Err(failure) if failure.class.is_of_connection() => self.session = None,
            Err(failure) => self.ids.count_refused(&failure.text),
        }
        Ok(())
    }
}

impl<S: SqlServer> Driver for ReplayDriver<S> {
    type Op = SqlOp;

    fn open(&mut self) -> Result<(), String> {
        if self.is_idle {
            return Ok(());
        }
        let opened = self.server.connect(self.place.0).and_then(|mut session| {
            let mut first = self.prepares_first.iter();
            first.try_for_each(|template| self.prepared.prepare(*template, &self.server.known, &mut session))?;
            Ok(session)
        });
        let name = S::display_name(&self.server.address);
        self.session = Some(opened.map_err(|failure| failure.of_opening(name))?);
        Ok(())
    }

    fn hold_op(&mut self, op: &SqlOp, is_over: impl Fn() -> bool) -> bool {
        let Some(order) = &self.order else { return false };
        let waiter = Waiter { client: self.client, is_in_transaction: number_in(op, IN_TRANSACTION_ARG) == 1 };
        let after = op.args.get(AFTER_ARG).and_then(StatementPlace::from_arg);
        after.is_some_and(|after| order.wait_for(after, waiter, is_over))
    }

    fn prepare_op(&mut self, op: &SqlOp) {
        self.with_ids = None;
        let _ = self.prepare_call(op); // the statement itself meets what is wrong
        if !self.server.makes_ids {
            return;
        }
        let _ = self.tell_ids(op); // the statement itself meets what is wrong
        let (text, made) = statement_and_made(op);
        if !made.is_empty() {
            self.with_ids = self.server.made_columns.with_ids(text, made);
            self.with_ids.iter().for_each(|_| self.ids.count_set());
        }
    }

    fn execute_op(&mut self, op: &SqlOp) -> Outcome {
        self.note_turn();
        let performed = self.perform(op);
        self.note_turn();
        let Err(failure) = performed else { return Outcome::Ok { bytes: 0 } };
        let class = failure.class;
        if class.is_of_connection() {
            self.session = None;
        }
        self.failure = Some((op.op_kind, failure));
        Outcome::Failed(class)
    }

    fn check_outcome(&mut self, op: &SqlOp, outcome: Outcome) -> Outcome {
        // A statement that cannot be read back has no arguments.
        if let (Some(order), Some(SqlArg::Int(session))) = (&self.order, op.args.get(SESSION_ARG)) {
            order.note_end(*session as u32);
        }
        let now = matches!(outcome, Outcome::Ok { .. }).then(|| match &self.results {
            None => self.session.as_ref().map_or_else(Answered::default, PollableSession::answered),
            Some(results) => {
                let (statement, summary) = ([1, 2].map(|nth| number_in(op, nth)), results.rows.summary());
                results.sums.add(op.op_kind, statement, &summary);
                Answered { rows: RowCounts { returned: summary.rows, ..RowCounts::default() }, ..Answered::default() }
            }
        });
        let recorded = recorded_answer(op);
        self.divergence.compare(op.op_kind, &recorded, now.as_ref());
        match (&self.failure, &outcome) {
            // What the application was refused then, it is refused again: that is its load, and no fault of the copy.
            (_, Outcome::Failed(class)) if recorded.failed == Some(true) && !class.is_of_connection() => {
                self.failures.count_as_recorded();
                return Outcome::Ok { bytes: 0 };
            }
            (Some((_, failure)), Outcome::Failed(_)) => self.failures.add(failure),
            _ => {}
        }
        outcome
    }

    fn describe_failure(&self) -> String {
        let name = S::display_name(&self.server.address);
        let Some((op, failure)) = &self.failure else { return String::new() };
        self.server.names.describe(name, *op, &replay_failures::told(failure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(version: &str, port: Option<u16>, socket: Option<&str>) -> RecordedServer {
        RecordedServer { version: version.into(), port, socket: socket.map(str::to_owned) }
    }

    #[test]
    fn a_server_is_like_the_recorded_one_if_all_that_the_log_says_is_so() {
        let found = server("10.11.19-MariaDB", Some(3306), Some("/run/s"));
        let is_so = |version: &str, port, socket| is_like(&server(version, port, socket), &found);
        assert!(is_so("10.11.19-MariaDB-log", Some(3306), Some("/run/s")));
        assert!(is_so("10.11.19-MariaDB", None, Some("/run/s")));
        assert!(!is_so("10.11.19-MariaDB", Some(3307), Some("/run/s")));
        assert!(!is_so("10.6.1-MariaDB", Some(3306), Some("/run/s")));
        assert!(!is_so("10.11.19-MariaDB", None, None), "the log does not say where it was");
        assert!(is_like(&server("15.18", Some(5432), None), &server("15.18 (Debian 15.18-0)", Some(5432), None)));
    }

    #[test]
    fn the_recorded_server_is_known_by_its_host_and_port_or_its_socket() {
        let host = |name: &str| Route::Host(name.into(), 3306, None);
        let at = |route: &Route, place: &str| {
            route_to(place, route).map(|named| leads_to_same(route, &named)).map_err(|error| error.to_string())
        };
        assert_eq!(at(&host("127.0.0.1"), "localhost:3306"), Ok(true));
        assert_eq!(at(&host("127.0.0.1"), "127.0.0.1:3307"), Ok(false));
        assert_eq!(at(&host("db1"), "DB1:3306"), Ok(true));
        assert!(at(&host("db1"), "mysql://u:secret@db1:3306").is_err_and(|text| !text.contains("secret")));
        assert!(at(&host("db1"), "db1").is_err());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        std::fs::write(&path, "").unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(at(&Route::Socket(path.into()), path), Ok(true));
        assert_eq!(at(&Route::Socket(path.into()), "localhost:3306"), Ok(false), "by its address");
        assert_eq!(at(&host("db1"), path), Ok(false));
    }
}
