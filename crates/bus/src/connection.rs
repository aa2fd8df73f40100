//! One connection to the bus.
//!
//! In: keys, numbers and payloads. Out: payloads that were checked. Limits: every wait is finite; after an error that is [`BusError::Away`]
//! the connection is of no more use.

use crate::secret::{RunSecret, TAG_BYTES};
use crate::socket::BoundedSocket;
use crate::{BusError, PAYLOAD_BYTES_MAX};
use redis::{Cmd, ConnectionLike, FromRedisValue, RedisError, Value, cmd};
use std::collections::HashMap;
use std::time::Duration;

/// How long a command may take, the time for which it may block left out.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// A stream that is not written any more is removed by the server after this time: what a run that was killed leaves.
const STREAM_KEPT: Duration = Duration::from_secs(24 * 3600);
/// The server gets that time again after each so many entries of a stream.
const END_EACH: u64 = 32;
/// A set to which nothing was added for this time is removed, too: it has the names of agents, and one that was killed leaves its own.
const SET_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// The longest entry: a payload, its authenticator, and what the protocol puts around it.
const ENTRY_BYTES_MAX: u64 = PAYLOAD_BYTES_MAX as u64 + (1 << 20);
/// The field of an entry that has its payload.
const FIELD: &str = "p";
/// The most members of a set that are read.
const MEMBERS_MAX: usize = 1024;
/// The first version with streams.
const VERSION_MIN: u64 = 5;

/// Renews a lease that has the value ARGV[1], or takes it if it is free: 1 renewed, 2 taken, 0 held by another.
const RENEW: &str = "local held = redis.call('get', KEYS[1]) \
    if held == ARGV[1] then redis.call('pexpire', KEYS[1], ARGV[2]) return 1 end \
    if held then return 0 end \
    redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2]) return 2";
/// Removes a lease that has the value ARGV[1].
const RELEASE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/// An entry of a stream as the server sends it: its id, and its fields with their values.
type RawEntry = (String, Vec<Vec<u8>>);

/// One connection to the bus.
pub struct BusConnection {
    server: BoundedSocket,
    secret: RunSecret,
    /// The address, for people.
    place: String,
    /// The streams that this connection has written, each with the entry at which the server was given its end.
    ends: HashMap<String, u64>,
}

/// Whether a lease is held after an attempt to take or renew it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// It was free, and is ours now.
    Taken,
    /// It was ours, and is for longer.
    Renewed,
    /// Another process holds the lease.
    HeldByAnother,
}

/// Whether an entry was new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The entry was not there before.
    New,
    /// The stream has this number, or a later one, already.
    Before,
}

/// A stream, and the number of the last entry of it that was read; 0 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPosition<'a> {
    /// The key of the stream.
    pub key: &'a str,
    /// The number of the last entry that was read.
    pub after: u64,
}

/// An entry of one of several streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEntry {
    /// Which of the streams that were asked for, from 0.
    pub stream: usize,
    /// Its number in the stream, from 1.
    pub number: u64,
    /// What its sender wrote. `Err` with a reason if it is not from a host with the key of the run.
    pub payload: Result<Vec<u8>, String>,
}

impl BusConnection {
    pub(crate) fn new(server: BoundedSocket, secret: RunSecret, place: String) -> Result<BusConnection, BusError> {
        let connection = BusConnection { server, secret, place, ends: HashMap::new() };
        connection.set_answer_wait(ANSWER_WAIT)?;
        Ok(connection)
    }

    fn set_answer_wait(&self, wait: Duration) -> Result<(), BusError> {
        self.server.set_wait(wait).map_err(|error| self.error(&error.into()))
    }

    /// Whether more can be asked.
    pub(crate) fn is_open(&self) -> bool {
        self.server.is_open()
    }

    fn error(&self, error: &RedisError) -> BusError {
        BusError::of_server(&self.place, error)
    }

    fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, BusError> {
        command.query(&mut self.server).map_err(|error| self.error(&error))
    }

    /// Refuses a server that is too old to have streams. One that does not permit the question is taken as it is.
    pub fn check_version(&mut self) -> Result<(), BusError> {
        let info: Result<String, RedisError> = cmd("INFO").arg("server").query(&mut self.server);
        let info = match info {
            Ok(info) => info,
            Err(error) if error.code() == Some("NOPERM") => return Ok(()),
            Err(error) => return Err(self.error(&error)),
        };
        let version = info.lines().find_map(|line| line.strip_prefix("redis_version:")).unwrap_or_default().trim();
        let major = version.split('.').next().and_then(|major| major.parse::<u64>().ok());
        match major {
            Some(VERSION_MIN..) => Ok(()),
            Some(_) => Err(BusError::Refused(format!(
                "the bus `{}` is a server of version {version}, which has no streams; use Redis {VERSION_MIN}.0 or later, or Valkey",
                self.place
            ))),
            None => {
                Err(BusError::Refused(format!("`{}` does not answer as a Redis or Valkey server does", self.place)))
            }
        }
    }

    /// The time of the server, in nanoseconds since 1970; it counts microseconds.
    pub fn time_ns(&mut self) -> Result<u64, BusError> {
        let (seconds, micros): (u64, u64) = self.ask(&cmd("TIME"))?;
        Ok(seconds.saturating_mul(1_000_000_000).saturating_add(micros.saturating_mul(1_000)))
    }

    /// Takes the lease `key` for `length`, if it is free, with `value`; or renews it, if it has that value.
    pub fn hold_lease(&mut self, key: &str, value: &[u8], length: Duration) -> Result<LeaseState, BusError> {
        let sealed = self.secret.seal(key, 0, value);
        let millis = length.as_millis() as u64;
        let state: u8 = self.ask(cmd("EVAL").arg(RENEW).arg(1).arg(key).arg(&sealed).arg(millis))?;
        Ok(match state {
            1 => LeaseState::Renewed,
            2 => LeaseState::Taken,
            _ => LeaseState::HeldByAnother,
        })
    }

    /// Gives the lease `key` back, if it has `value`.
    pub fn release_lease(&mut self, key: &str, value: &[u8]) -> Result<(), BusError> {
        let sealed = self.secret.seal(key, 0, value);
        self.ask(cmd("EVAL").arg(RELEASE).arg(1).arg(key).arg(&sealed))
    }

    /// The value of the lease `key`; `None` if it is free.
    ///
    /// # Errors
    /// Also if a host without the key of the run wrote it.
    pub fn lease_value(&mut self, key: &str) -> Result<Option<Vec<u8>>, BusError> {
        let Some(sealed) = self.ask::<Option<Vec<u8>>>(cmd("GET").arg(key))? else { return Ok(None) };
        let opened = self.open(key, 0, &sealed).map(|payload| Some(payload.to_vec()));
        opened.map_err(BusError::Foreign)
    }

    /// The values of the leases `keys`, in their order; `None` for one that is free, or that a host without the key of the run wrote.
    pub fn lease_values(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, BusError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let mut command = cmd("MGET");
        keys.iter().for_each(|key| _ = command.arg(key));
        self.server.allow(ENTRY_BYTES_MAX);
        let sealed: Result<Vec<Option<Vec<u8>>>, BusError> = self.ask(&command);
        self.server.allow_usual();
        Ok(keys.iter().zip(sealed?).map(|(key, sealed)| Some(self.open(key, 0, &sealed?).ok()?.to_vec())).collect())
    }

    fn open<'a>(&self, key: &str, number: u64, sealed: &'a [u8]) -> Result<&'a [u8], String> {
        if sealed.len() > PAYLOAD_BYTES_MAX + TAG_BYTES {
            return Err(format!("`{key}` on the bus `{}` has an entry that is too long", self.place));
        }
        let opened = self.secret.open(key, number, sealed);
        opened.ok_or_else(|| {
            format!("`{key}` on the bus `{}` was written with another key than that of --bus-key-file", self.place)
        })
    }

    /// Adds `member` to the set `key`.
    pub fn add_member(&mut self, key: &str, member: &str) -> Result<(), BusError> {
        let mut both = redis::pipe();
        both.cmd("SADD").arg(key).arg(member).ignore();
        both.cmd("EXPIRE").arg(key).arg(SET_KEPT.as_secs()).ignore();
        both.query::<()>(&mut self.server).map_err(|error| self.error(&error))
    }

    /// Removes `member` from the set `key`.
    pub fn remove_member(&mut self, key: &str, member: &str) -> Result<(), BusError> {
        self.ask(cmd("SREM").arg(key).arg(member))
    }

    /// The members of the set `key` in alphabetical order. They are not authenticated.
    pub fn members(&mut self, key: &str) -> Result<Vec<String>, BusError> {
        let members: Vec<Vec<u8>> = self.ask(cmd("SMEMBERS").arg(key))?;
        let names = members.into_iter().take(MEMBERS_MAX).filter_map(|name| String::from_utf8(name).ok());
        let mut names: Vec<String> = names.filter(|name| crate::check_name("a name", name).is_ok()).collect();
        names.sort();
        Ok(names)
    }

    /// Appends `payload` to the stream `key` as entry `number`.
    pub fn append(&mut self, key: &str, number: u64, payload: &[u8]) -> Result<Appended, BusError> {
        if payload.len() > PAYLOAD_BYTES_MAX {
            return Err(BusError::Usage(format!("a message of {} bytes is too long for the bus", payload.len())));
        }
        let sealed = self.secret.seal(key, number, payload);
        // A server that was started again has forgotten the end of the stream, but then this is another connection.
        let ends_later = self.ends.get(key).is_some_and(|given| number < given.saturating_add(END_EACH));
        let mut both = redis::pipe();
        both.cmd("XADD").arg(key).arg(format!("{number}-0")).arg(FIELD).arg(&sealed).ignore();
        if !ends_later {
            both.cmd("EXPIRE").arg(key).arg(STREAM_KEPT.as_secs()).ignore();
        }
        match both.query::<()>(&mut self.server) {
            Ok(()) => {
                if !ends_later {
                    self.ends.insert(key.to_owned(), number);
                }
                Ok(Appended::New)
            }
            Err(error) if error.to_string().contains("equal or smaller") => Ok(Appended::Before),
            Err(error) => Err(self.error(&error)),
        }
    }

    /// The entries of `streams` that follow what was read, at most `most` of each. Waits up to `wait` until there is one.
    ///
    /// # Errors
    /// [`BusError::Foreign`] also if they are longer together than one entry of each stream may be: then ask for one of each.
    pub fn read(
        &mut self,
        streams: &[StreamPosition],
        most: usize,
        wait: Duration,
    ) -> Result<Vec<StreamEntry>, BusError> {
        let mut command = cmd("XREAD");
        // 0 would wait for ever.
        command.arg("COUNT").arg(most).arg("BLOCK").arg(wait.as_millis().max(1) as u64).arg("STREAMS");
        for stream in streams {
            command.arg(stream.key);
        }
        for stream in streams {
            // All entries of that number were read, also those that a stranger has put behind ours.
            command.arg(format!("{}-{}", stream.after, u64::MAX));
        }
        self.set_answer_wait(ANSWER_WAIT + wait)?;
        self.server.allow(ENTRY_BYTES_MAX * streams.len() as u64);
        let answer: Result<Value, BusError> = self.ask(&command);
        self.server.allow_usual();
        self.read_answer(streams, answer?)
    }

    fn read_answer(&self, streams: &[StreamPosition], answer: Value) -> Result<Vec<StreamEntry>, BusError> {
        let odd = || BusError::Foreign(format!("the bus `{}` answered with something that is no stream", self.place));
        let Value::Array(all) = answer else {
            return if answer == Value::Nil { Ok(Vec::new()) } else { Err(odd()) };
        };
        let mut entries = Vec::new();
        for one in all {
            let (key, own): (String, Vec<RawEntry>) = redis::from_redis_value(one).map_err(|_| odd())?;
            let stream = streams.iter().position(|stream| stream.key == key).ok_or_else(odd)?;
            for (id, fields) in own {
                let number = number_of(&id).ok_or_else(odd)?;
                let payload = match fields.as_slice() {
                    [field, sealed] if field == FIELD.as_bytes() && id.ends_with("-0") => {
                        self.open(&key, number, sealed).map(<[u8]>::to_vec)
                    }
                    _ => Err(format!("`{key}` on the bus `{}` has an entry that plimsoll does not write", self.place)),
                };
                entries.push(StreamEntry { stream, number, payload });
            }
        }
        Ok(entries)
    }

    /// The number of the last entry of the stream `key`, whoever has written it; 0 if it is empty.
    pub fn last_number(&mut self, key: &str) -> Result<u64, BusError> {
        self.server.allow(ENTRY_BYTES_MAX);
        let last: Result<Vec<RawEntry>, BusError> =
            self.ask(cmd("XREVRANGE").arg(key).arg("+").arg("-").arg("COUNT").arg(1));
        self.server.allow_usual();
        Ok(last?.first().and_then(|(id, _)| number_of(id)).unwrap_or(0))
    }

    /// Removes the entries of the stream `key` up to entry `number`.
    pub fn trim(&mut self, key: &str, number: u64) -> Result<(), BusError> {
        // MINID is of version 6.2; before it the entries are deleted one by one.
        let trimmed: Result<u64, BusError> =
            self.ask(cmd("XTRIM").arg(key).arg("MINID").arg(format!("{}-0", number.saturating_add(1))));
        match trimmed {
            Err(BusError::Refused(_)) => self.delete_entries(key, number),
            other => other.map(drop),
        }
    }

    fn delete_entries(&mut self, key: &str, number: u64) -> Result<(), BusError> {
        const MOST: u64 = 1000;
        let mut command = cmd("XDEL");
        command.arg(key);
        for old in number.saturating_sub(MOST)..=number {
            command.arg(format!("{old}-0"));
        }
        self.ask::<u64>(&command).map(drop)
    }

    /// Removes `key`, if it is there.
    pub fn delete(&mut self, key: &str) -> Result<(), BusError> {
        self.ask::<u64>(cmd("DEL").arg(key)).map(drop)
    }
}

/// The number of an entry of this id: its part before the dash.
fn number_of(id: &str) -> Option<u64> {
    id.split_once('-').and_then(|(number, _)| number.parse().ok())
}
