//! What a replay of statements finds out before its first one, and what is told of it.
//!
//! In: a recording, an existing server that holds a copy of the recorded data, an account on it. Out: what of the recording reads, the ids and
//! the keys that the server makes, facts about what is replayed. Limits: MySQL, MariaDB and PostgreSQL by URL. That the server is a copy is seen
//! to in [`replay_copy`](crate::sql::replay_copy), and its clients are in [`replay_clients`](crate::sql::replay_clients).

use crate::recordings::{KnownIds, ReplayedLog};
use crate::sql::admin_connection::AdminConnection;
use crate::sql::external::PATIENCE;
use crate::sql::replay_catalogue::server_names;
use crate::sql::replay_copy::{address_in, copied_schemas};
use crate::sql::replay_ids::{CounterWords, MadeColumns, counted_column};
use crate::sql::replay_keys::{KeyServer, ReplayKeys};
use crate::sql::replay_plans::ReplayPlans;
use crate::sql::server_kind::SqlServer;
use crate::sql::{OpFailure, server_error};
use host::error::{TargetError, shown};
use model::{Fact, LOADS_FACT, Nanos, Params, TRIGGERED_FACT, Trial};
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use workload::replay_sql::{self, CountedColumn, KeyMover, MadeCopies, SqlRecording, Trigger, Triggers, WorkedIds};

/// Why other engines are refused.
pub const NEEDS_COPY: &str = "workload `replay-sql` needs a server that holds a copy of the recorded data: use --engine mysql://USER@HOST/ or \
     postgres://USER@HOST/DATABASE";

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

/// What of the recording reads, by what the server has of its own; if writes are replayed, all but what its triggers execute.
pub fn judged_recording<S: SqlServer>(
    log: &ReplayedLog,
    params: &Params,
    address: &S::Address,
    admin: &mut S::Admin,
) -> Result<Arc<SqlRecording>, TargetError> {
    if replay_sql::allows_writes(params) {
        return without_triggered::<S>(log, params, admin);
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

/// The recording without what triggers of the server have executed. Those that the account may not see are not known.
fn without_triggered<S: SqlServer>(
    log: &ReplayedLog,
    params: &Params,
    admin: &mut S::Admin,
) -> Result<Arc<SqlRecording>, TargetError> {
    let Some(question) = S::replay_words().triggers else { return Ok(log.recording.clone()) };
    let rows = admin.query_rows(question).unwrap_or_default();
    let triggers = rows.into_iter().filter_map(|row| {
        let [schema, table, body] = <[Option<String>; 3]>::try_from(row).ok()?;
        Some(Trigger { schema: schema?, table: table?, body: body? })
    });
    let schemas = copied_schemas(&log.recording, params)?;
    let left = log.recording.without_triggered(&Triggers::of(triggers), &schemas);
    left.map_err(|error| TargetError::Unsupported(error.in_file(&shown(&log.path))))
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
    let words = S::replay_words();
    let CounterWords { before, columns, triggers, routines } = words.counters;
    if let Some(before) = before {
        let _ = admin.query_rows(before); // what does not know it does not need it
    }
    let rows = admin.query_rows(columns).unwrap_or_default();
    let mut columns: Vec<CountedColumn> = rows.into_iter().filter_map(|row| counted_column(schema, row)).collect();
    let named = |row: Vec<Option<String>>| {
        let [name, body] = <[Option<String>; 2]>::try_from(row).ok()?;
        Some((name?, body))
    };
    let routines = admin.query_rows(routines).unwrap_or_default().into_iter();
    replay_sql::note_routines(&mut columns, words.dialect, &routines.filter_map(named).collect::<Vec<_>>());
    let bodies = admin.query_rows(triggers).unwrap_or_default().into_iter();
    let bodies: Vec<String> = bodies.filter_map(|row| row.into_iter().next().flatten()).collect();
    replay_sql::note_triggers(&mut columns, words.dialect, &bodies);
    columns
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

/// What is replayed, for people.
pub fn facts(recording: &SqlRecording) -> Vec<Fact> {
    let left_out = recording.left_out;
    let counts = [
        ("statements", recording.len()),
        ("log_statements", recording.of_log),
        ("log_failed", recording.failed_in_log),
        ("sessions", recording.sessions().into()),
        ("sessions_at_once", recording.most_at_once().into()),
        ("left_out_writes", left_out.writes),
        ("left_out_of_session", left_out.of_session),
        ("left_out_repeated", left_out.repeated),
        ("left_out_unbound", left_out.unbound),
        ("left_out_failed_unbound", left_out.failed_unbound),
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
    let triggered = (left_out.triggered > 0).then(|| Fact::new(TRIGGERED_FACT, left_out.triggered.to_string()));
    let loads = (left_out.loads > 0).then(|| Fact::new(LOADS_FACT, left_out.loads.to_string()));
    let again = (recording.set_again > 0).then(|| Fact::new("recorded.set_again", recording.set_again.to_string()));
    let room = Fact::new("recorded.room", model::Bytes(recording.bytes()).to_string());
    let texts = [Fact::new("recorded.version", version), Fact::new("recorded.times", times), room];
    counts
        .into_iter()
        .chain(skipped)
        .chain(effects)
        .chain(triggered)
        .chain(loads)
        .chain(again)
        .chain(copies)
        .chain(texts)
        .collect()
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
