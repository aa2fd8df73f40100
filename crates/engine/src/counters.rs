//! Counters that an engine keeps of itself; those of a server are read over a connection of their own.
//!
//! In: a table of counters and a way to ask for their values. Out: a [`CounterSource`]. Limits: what this
//! version of the server does not know is a gap of that counter; a server that does not answer within [`PATIENCE`] is a gap of
//! all, and is connected to again at the next reading. If only the connection was ended, it is made again at once, and nothing is missing. A
//! server that was restarted counts from zero again.

use model::{CounterDef, CounterKind, CounterRole, CounterSource, SourceDef, StallReason};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The sampler reads all sources one after the other: none may hold up the others for long.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// A connection that has ended is noticed sooner than this. A later failure has used up most of the time that a reading may take.
const NOTICED_WITHIN: Duration = Duration::from_millis(200);

/// One counter of a server.
pub struct CounterSpec {
    /// Its name in the run file.
    name: &'static str,
    /// What the server calls it; of a sum what it calls the parts, with `+` between them.
    known_as: &'static str,
    /// What one of the server's units is in ours.
    factor: f64,
    unit: &'static str,
    kind: CounterKind,
    help: &'static str,
    role: Option<CounterRole>,
}

/// A counter of an engine inside plimsoll, which is not asked for by name.
pub const fn own(kind: CounterKind, name: &'static str, unit: &'static str, help: &'static str) -> CounterSpec {
    CounterSpec { kind, ..grows(name, name, unit, help) }
}

/// A counter that only grows.
pub const fn grows(name: &'static str, known_as: &'static str, unit: &'static str, help: &'static str) -> CounterSpec {
    CounterSpec { name, known_as, factor: 1.0, unit, kind: CounterKind::Counter, help, role: None }
}

/// A counter that goes up and down.
pub const fn level(name: &'static str, known_as: &'static str, unit: &'static str, help: &'static str) -> CounterSpec {
    CounterSpec { kind: CounterKind::Gauge, ..grows(name, known_as, unit, help) }
}

impl CounterSpec {
    /// As a source declares it.
    pub fn to_def(&self) -> CounterDef {
        CounterDef {
            name: self.name.into(),
            unit: self.unit.into(),
            kind: self.kind,
            help: self.help.into(),
            role: self.role,
            in_pages: false,
        }
    }

    /// Its value among those of the server, in its own unit.
    fn scaled_value(&self, values: &HashMap<String, String>) -> Option<f64> {
        let number = |name: &str| values.get(name)?.parse::<f64>().ok();
        number(self.known_as).or_else(|| self.parts().map(number).sum::<Option<f64>>()).map(|value| value * self.factor)
    }

    /// What the server calls its parts.
    pub fn parts(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.known_as.split('+')
    }

    /// Its name in the run file.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What the server calls it.
    pub fn known_as(&self) -> &'static str {
        self.known_as
    }

    /// The same, which the analysis reads as `role`.
    pub const fn read_as(self, role: CounterRole) -> CounterSpec {
        CounterSpec { role: Some(role), ..self }
    }

    /// The same, which counts how often writers were held back for `reason`.
    pub const fn held_for(self, reason: StallReason) -> CounterSpec {
        self.read_as(CounterRole::WritersHeldFor(reason))
    }

    /// The same, in a unit of which the server's is `factor`.
    pub const fn times(self, factor: f64) -> CounterSpec {
        CounterSpec { factor, ..self }
    }
}

/// What a source of a server is called and what it delivers.
pub struct ServerSource {
    /// The source's name in run files.
    pub name: &'static str,
    /// What it reads, in one line.
    pub help: &'static str,
    /// What it delivers, in the order of its values.
    pub counters: &'static [CounterSpec],
}

/// Asks a server for its values by its own names.
pub trait CounterQuery: Send {
    fn connect(&mut self) -> Option<()>;
    /// All values that it knows; `None` if it does not answer.
    fn read_values(&mut self) -> Option<HashMap<String, String>>;
}

/// A source that reads `source` through `ask`, about `subject`.
pub fn queried_source(
    source: &'static ServerSource,
    subject: &str,
    ask: impl CounterQuery + 'static,
) -> Box<dyn CounterSource> {
    Box::new(QueriedSource { source, subject: subject.to_owned(), ask, connected: false })
}

/// A source of an engine inside plimsoll: `read` gives a value for each of its counters, in their order.
pub fn in_process_source<F>(source: &'static ServerSource, read: F) -> Box<dyn CounterSource>
where
    F: FnMut() -> Vec<Option<f64>> + Send + 'static,
{
    in_process_source_of(source, source.name, read)
}

/// The same about `subject`, if there are several.
pub fn in_process_source_of<F>(source: &'static ServerSource, subject: &str, read: F) -> Box<dyn CounterSource>
where
    F: FnMut() -> Vec<Option<f64>> + Send + 'static,
{
    Box::new(InProcessSource { source, subject: subject.to_owned(), read })
}

struct InProcessSource<F> {
    source: &'static ServerSource,
    subject: String,
    read: F,
}

impl<F: FnMut() -> Vec<Option<f64>> + Send> CounterSource for InProcessSource<F> {
    fn describe(&self) -> SourceDef {
        described(self.source, &self.subject)
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        (self.read)()
    }
}

struct QueriedSource<A> {
    source: &'static ServerSource,
    subject: String,
    ask: A,
    connected: bool,
}

impl<A: CounterQuery> CounterSource for QueriedSource<A> {
    fn describe(&self) -> SourceDef {
        described(self.source, &self.subject)
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        let (began, was_connected) = (Instant::now(), self.connected);
        let mut values = self.ask_once();
        // KILL, a limit of time or a proxy has ended the connection, and the server goes on.
        if values.is_none() && was_connected && began.elapsed() < NOTICED_WITHIN {
            values = self.ask_once();
        }
        values_of(self.source, &values.unwrap_or_default())
    }
}

impl<A: CounterQuery> QueriedSource<A> {
    /// The values over the connection, which is made if there is none.
    fn ask_once(&mut self) -> Option<HashMap<String, String>> {
        if !self.connected {
            self.connected = self.ask.connect().is_some();
        }
        let values = if self.connected { self.ask.read_values() } else { None };
        // After a failed answer the rest of it may still be in the connection: the next question makes a new one.
        self.connected = values.is_some();
        values
    }
}

/// What `source` delivers of the values that a server has reported by its own names.
pub fn values_of(source: &ServerSource, values: &HashMap<String, String>) -> Vec<Option<f64>> {
    source.counters.iter().map(|counter| counter.scaled_value(values)).collect()
}

/// `source` about `subject`, as run files declare it.
pub fn described(source: &ServerSource, subject: &str) -> SourceDef {
    let counters = source.counters.iter().map(CounterSpec::to_def).collect();
    SourceDef { name: source.name.into(), subject: subject.to_owned(), counters }
}

/// The name and the value in a row of two columns.
pub fn name_and_value(row: Vec<Option<String>>) -> Option<(String, String)> {
    let [name, value] = row.try_into().ok()?;
    name.zip(value)
}

/// The integer among `values` that the server calls `name`.
pub fn number_in(values: &HashMap<String, String>, name: &str) -> Option<u64> {
    values.get(name)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    static ONE: ServerSource =
        ServerSource { name: "one", help: "one counter", counters: &[grows("n", "n", "ops", "readings")] };

    /// A server that ends each connection after so many answers, and takes so many connections.
    struct Ending {
        answers: u32,
        connections: u32,
        left: u32,
    }

    impl CounterQuery for Ending {
        fn connect(&mut self) -> Option<()> {
            self.connections = self.connections.checked_sub(1)?;
            self.left = self.answers;
            Some(())
        }

        fn read_values(&mut self) -> Option<HashMap<String, String>> {
            self.left = self.left.checked_sub(1)?;
            Some(HashMap::from([("n".to_owned(), "7".to_owned())]))
        }
    }

    #[test]
    fn a_connection_that_was_ended_is_made_again_at_once_and_a_server_that_is_away_is_a_gap() {
        let mut source = queried_source(&ONE, "test", Ending { answers: 2, connections: 2, left: 0 });
        let read: Vec<Option<f64>> = (0..6).map(|_| source.read()[0]).collect();
        assert_eq!(read, [Some(7.0), Some(7.0), Some(7.0), Some(7.0), None, None]);
    }
}
