//! Parameters: the one place where a flag, a TOML key, a JSON key and a CSV column get their common name.
//!
//! In: each engine and workload declares its [`ParamDef`]s in its own file. Out: the crate `plan` turns text into typed
//! [`Params`] against them, and help, reference and reports iterate the same declarations.
//! Limits: a parameter has one value in a trial; several values in a plan are several trials.

use crate::access::Access;
use crate::background::{BACKGROUND, BackgroundEntry};
use crate::own_table::{OwnFault, OwnTable};
use crate::phrase::Phrase;
use crate::recording::RecordingSummary;
use crate::role::{ParamRole, UsedIf};
use crate::statement::CustomOp;
use crate::traits::{EngineProcess, WorkTraits};
use crate::units::{Bytes, Nanos};
use crate::variant::{SqlDataSet, SqlVariant};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// A family of operations. An engine performs some families, a workload comes in some families; they meet where the
/// families do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Reads and writes of a file.
    Io,
    /// Transactions of prepared SQL statements.
    Sql,
    /// Atomic batches of keys and values.
    Kv,
    /// Work in plimsoll's own process, on no data set of an engine.
    Task(TaskSet),
    /// Connections that are opened, asked and closed.
    Connection,
}

/// Which tasks: an engine that performs those of one set knows nothing of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskSet {
    /// Rounds of the computations that database work is made of.
    Kernels,
    /// Files and blocks that go through a codec.
    Codecs,
}

/// What a parameter may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    Bool,
    /// A whole number within the bounds, both included.
    Int {
        min: u64,
        max: u64,
    },
    /// A number within the bounds, both included.
    Float {
        min: f64,
        max: f64,
    },
    /// A size such as `16KiB`, within the bounds, both included.
    Bytes {
        min: u64,
        max: u64,
    },
    /// A length of time such as `100us`.
    Duration,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of these words, which are the steps of a sequence: a plan that names several, or none, runs them one after the other
    /// on the same data, in the order of this list.
    Steps(&'static [&'static str]),
    /// One of these names, each with a level if it has levels: `lz4`, `zstd:-5`. A plan may write a range of levels, `gzip:1..9`, which
    /// is each of them.
    Leveled(&'static [LeveledWord]),
    /// An access distribution such as `zipf:0.9` or `hotspot:0.2:0.8`, from the catalogue's distributions.
    Access,
    /// The path of a file or directory; empty for none.
    Path,
    /// A configuration file of a server, whose lines become variables when the plan is read; the word [`NO_CONFIG`] for none. A trial
    /// holds the file's name, which only labels need.
    ConfigFile,
    /// Any of a server's variables, as the server takes it: a name that ends in `.*` covers any number of keys. One that no plan
    /// sets has no value.
    Variables,
    /// Statements that a plan file spells out. The parameter is required if it exists.
    Statements {
        /// Another parameter of the same workload, and its value with which this one exists; `None` if it always does.
        if_word: Option<(&'static str, &'static str)>,
    },
    /// Statements for the background that a plan file spells out; the parameter exists only if the plan has some. SQL engines only.
    Background {
        /// Whether the workload has rows that `:id` and `:k` can stand for, in tables that `{table}` can.
        rows: bool,
    },
    /// Tables that a plan file spells out. Required, unless another parameter of the same workload has a certain word.
    Tables {
        /// The other parameter and its word; `None` if they are always required.
        optional_if: Option<(&'static str, &'static str)>,
    },
    /// Variants of a statement that a plan file spells out, each of them a value. Required.
    Variants,
    /// Data sets that a plan file spells out, each of them a value.
    DataSets,
    /// A name: letters, digits, `_` and `-`.
    Name,
    /// The path of a recording to replay, of which a trial holds the figures. Required.
    Recording,
    /// How many times as fast as recorded, above 0 and at most [`SPEED_MAX`]; or the word [`SPEED_UNPACED`].
    Speed,
}

/// A name that may have levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeveledWord {
    pub name: &'static str,
    /// The least level and the most; `None` if it has none, and is written without.
    pub levels: Option<(i32, i32)>,
    /// Numbers between these two that are no levels.
    pub gaps: &'static [i32],
}

impl LeveledWord {
    /// A name without levels.
    pub const fn plain(name: &'static str) -> LeveledWord {
        LeveledWord { name, levels: None, gaps: &[] }
    }

    /// A name with the levels from `least` to `most` but `gaps`.
    pub const fn leveled(name: &'static str, least: i32, most: i32, gaps: &'static [i32]) -> LeveledWord {
        LeveledWord { name, levels: Some((least, most)), gaps }
    }

    /// The level in `words`: 0 of a name without levels. `None` if they are not this name with one of its levels, as [`LeveledWord::all`]
    /// writes it.
    pub fn level_of(&self, words: &str) -> Option<i32> {
        let rest = words.strip_prefix(self.name)?;
        let Some((least, most)) = self.levels else { return rest.is_empty().then_some(0) };
        let text = rest.strip_prefix(':')?;
        let level: i32 = text.parse().ok()?;
        let is_level = (least..=most).contains(&level) && !self.gaps.contains(&level) && level.to_string() == text;
        is_level.then_some(level)
    }

    /// The name with each of its levels, from the least.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = String> + use<'_> {
        let (least, most) = self.levels.unwrap_or((0, 0));
        let levels = (least..=most).filter(|level| self.levels.is_none() || !self.gaps.contains(level));
        levels.map(|level| if self.levels.is_none() { self.name.to_owned() } else { format!("{}:{level}", self.name) })
    }
}

impl fmt::Display for LeveledWord {
    /// What may be written: `lz4`, `gzip:1..9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.levels {
            None => f.write_str(self.name),
            Some((least, most)) => write!(f, "{}:{least}..{most}", self.name),
        }
    }
}

/// The highest speed of a replay.
pub const SPEED_MAX: f64 = 1000.0;

/// The speed of a replay that goes as fast as it can.
pub const SPEED_UNPACED: &str = "max";

/// How people say the speed of a replay.
pub const SPEED_PHRASE: Phrase =
    Phrase::Words(&[("1", "the recorded speed"), ("max", "full speed"), ("{}", "{} times the recorded speed")]);

/// How many copies of its sessions a replay has at once: the parameter that a search for the largest load changes.
pub const TIMES: &str = "times";

/// The most copies of a replay.
pub const TIMES_MAX: f64 = 1000.0;

/// How people say the number of copies.
pub const TIMES_PHRASE: Phrase = Phrase::Words(&[("1", "the recorded load"), ("{}", "{} times the recorded load")]);

/// The value of a parameter that could name a configuration file and does not.
pub const NO_CONFIG: &str = "default";

/// The variables that a configuration file sets: keys and values of a plan.
pub type ConfigVariables = Vec<(String, String)>;

/// The declaration of one parameter of an engine or a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParamDef {
    /// Its name: the same in TOML and JSON, with `--` before it on the command line.
    pub name: &'static str,
    /// What it may hold.
    pub kind: ParamKind,
    /// The value if none is given, as text.
    pub default: &'static str,
    /// The value of a number if none is given and another parameter has a certain word; `None` if `default` is always the value.
    pub default_if: Option<DefaultIf>,
    /// One line for help and reference, with the unit.
    pub help: &'static str,
    /// Whether `--scale` multiplies it (rows, caches, partitions).
    pub scales: bool,
    /// Whether another value means another data set. Trials that agree on all of these share prepared data.
    pub shapes_data: bool,
    /// What it is to a point: how labels, charts and comparisons treat a difference.
    pub role: ParamRole,
    /// What code outside of the engine reads it as; `None` for most.
    pub meaning: Option<Meaning>,
    /// When its value has any effect; `None` for always.
    pub used_if: Option<UsedIf>,
    /// How people say its values in a sentence.
    pub phrase: Phrase,
}

/// Another default. It may be beyond the bounds of what can be given, and then stands for what cannot be written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DefaultIf {
    /// Another parameter of the same owner.
    pub param: &'static str,
    /// The word that it has.
    pub word: &'static str,
    pub value: u64,
}

/// Parameters of engines that the analysis reads, by what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The size of the engine's own cache.
    Cache,
    /// How safe a commit is.
    Durability,
    /// How many threads serve the clients; 0 for one each.
    ClientThreads,
    /// Whether I/O goes past the page cache.
    DirectIo,
    /// How operations reach the kernel.
    IoInterface {
        /// The word for the kernel's own asynchronous I/O.
        kernel_aio: &'static str,
    },
    /// How long connections last.
    ConnectionLife {
        /// The word for a new one for each operation.
        per_op: &'static str,
    },
}

impl ParamDef {
    /// A parameter of `kind` that works at all times, does not scale and shapes no data.
    pub const fn new(name: &'static str, role: ParamRole, kind: ParamKind, default: &'static str) -> ParamDef {
        let (help, scales, shapes_data) = ("", false, false);
        let (default_if, meaning, used_if, phrase) = (None, None, None, Phrase::None);
        ParamDef { name, kind, default, default_if, help, scales, shapes_data, role, meaning, used_if, phrase }
    }
}

impl ParamDef {
    /// Whether `key` is this parameter, or one of the variables that it covers.
    pub fn takes(&self, key: &str) -> bool {
        match self.kind {
            ParamKind::Variables => {
                self.name.strip_suffix('*').is_some_and(|server| key.len() > server.len() && key.starts_with(server))
            }
            _ => self.name == key,
        }
    }

    /// Whether its value may be given without its flag on the command line: what a command is about, as the file of a replay.
    pub fn is_positional(&self) -> bool {
        self.kind == ParamKind::Recording
    }
}

/// The value of a parameter in a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    Bool(bool),
    Int(u64),
    Float(f64),
    Bytes(Bytes),
    /// A length of time.
    Nanos(Nanos),
    /// One of the words that the declaration allows, or a path.
    Word(String),
    Access(Access),
    /// Statements of the user's own.
    Statements(Vec<CustomOp>),
    /// Statements for the background; none if other points of the plan have some.
    Background(Vec<BackgroundEntry>),
    /// A variant of a statement.
    Variant(SqlVariant),
    /// A data set of the user's own.
    Data(SqlDataSet),
    Recording(Box<RecordingSummary>),
    /// Tables of the user's own.
    Tables(Vec<OwnTable>),
}

impl Value {
    /// Whether it is the number, size or time 0.
    pub fn is_zero(&self) -> bool {
        match self {
            Value::Int(value) | Value::Bytes(Bytes(value)) | Value::Nanos(Nanos(value)) => *value == 0,
            Value::Float(value) => *value == 0.0,
            Value::Bool(_) | Value::Word(_) | Value::Access(_) => false,
            Value::Statements(_) | Value::Background(_) | Value::Variant(_) => false,
            Value::Data(_) | Value::Recording(_) | Value::Tables(_) => false,
        }
    }
}

impl fmt::Display for Value {
    /// As a person would write it in a plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value}"),
            // Values that differ are distinguished by their texts.
            Value::Bytes(value) => f.write_str(&value.in_full()),
            Value::Nanos(value) => f.write_str(&value.in_full()),
            Value::Word(value) => f.write_str(value),
            Value::Access(value) => write!(f, "{value}"),
            Value::Variant(variant) => write!(f, "{variant}"),
            Value::Data(data) => write!(f, "{data}"),
            Value::Recording(summary) => write!(f, "{summary}"),
            Value::Tables(all) => f.write_str(&all.iter().map(OwnTable::to_string).collect::<Vec<_>>().join(", ")),
            Value::Statements(all) => f.write_str(&all.iter().map(CustomOp::to_string).collect::<Vec<_>>().join(", ")),
            Value::Background(none) if none.is_empty() => f.write_str("none"),
            Value::Background(all) => {
                f.write_str(&all.iter().map(BackgroundEntry::to_string).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl Phrase {
    /// `value` in a sentence; `None` if nothing is declared for it.
    pub fn say(&self, value: &Value) -> Option<String> {
        match value {
            Value::Int(number) => self.say_number(*number),
            Value::Background(entries) if entries.is_empty() => Some("no background load".to_owned()),
            Value::Background(_) => Some(format!("{value} in the background")),
            other => self.say_written(&other.to_string()),
        }
    }
}

/// The parameters of one engine or workload in one trial: every declared name has a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Params(pub BTreeMap<String, Value>);

impl Params {
    /// Lets a replay have so many copies of its sessions.
    pub fn set_times(&mut self, times: f64) {
        self.0.insert(TIMES.to_owned(), Value::Float(times));
    }

    /// The value of `name`.
    ///
    /// # Panics
    /// If the parameter was not declared: a bug in the engine or workload that asks.
    pub fn get(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or_else(|| panic!("parameter `{name}` is not declared"))
    }

    /// The whole number in `name`; panics if it is declared as something else (a bug).
    pub fn int(&self, name: &str) -> u64 {
        match self.get(name) {
            Value::Int(value) => *value,
            other => mistyped(name, other),
        }
    }

    /// The number in `name`; panics if it is declared as something else (a bug).
    pub fn float(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Float(value) => *value,
            other => mistyped(name, other),
        }
    }

    /// The size in `name`; panics if it is declared as something else (a bug).
    pub fn bytes(&self, name: &str) -> Bytes {
        match self.get(name) {
            Value::Bytes(value) => *value,
            other => mistyped(name, other),
        }
    }

    /// The length of time in `name`; panics if it is declared as something else (a bug).
    pub fn nanos(&self, name: &str) -> Nanos {
        match self.get(name) {
            Value::Nanos(value) => *value,
            other => mistyped(name, other),
        }
    }

    /// The truth of `name`; panics if it is declared as something else (a bug).
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Value::Bool(value) => *value,
            other => mistyped(name, other),
        }
    }

    /// The word or path in `name`; panics if it is declared as something else (a bug).
    pub fn word(&self, name: &str) -> &str {
        match self.get(name) {
            Value::Word(value) => value,
            other => mistyped(name, other),
        }
    }

    /// The statements in `name`, none if it is not there; panics if it is declared as something else (a bug).
    pub fn statements(&self, name: &str) -> &[CustomOp] {
        match self.0.get(name) {
            None => &[],
            Some(Value::Statements(all)) => all,
            Some(other) => mistyped(name, other),
        }
    }

    /// The statements for the background, none if the trial has none.
    pub fn background(&self) -> &[BackgroundEntry] {
        match self.0.get(BACKGROUND) {
            None => &[],
            Some(Value::Background(all)) => all,
            Some(other) => mistyped(BACKGROUND, other),
        }
    }

    /// The tables in `name`; panics if it is declared as something else (a bug).
    pub fn tables(&self, name: &str) -> &[OwnTable] {
        match self.get(name) {
            Value::Tables(all) => all,
            other => mistyped(name, other),
        }
    }

    /// The variant in `name`; panics if it is declared as something else (a bug).
    pub fn variant(&self, name: &str) -> &SqlVariant {
        match self.get(name) {
            Value::Variant(variant) => variant,
            other => mistyped(name, other),
        }
    }

    /// The data set in `name`; panics if it is declared as something else (a bug).
    pub fn data_set(&self, name: &str) -> &SqlDataSet {
        match self.get(name) {
            Value::Data(data) => data,
            other => mistyped(name, other),
        }
    }

    /// The recording that it replays, if it replays one.
    pub fn recording(&self) -> Option<&RecordingSummary> {
        self.0.values().find_map(|value| match value {
            Value::Recording(summary) => Some(&**summary),
            _ => None,
        })
    }

    /// The distribution in `name`; panics if it is declared as something else (a bug).
    pub fn access(&self, name: &str) -> &Access {
        match self.get(name) {
            Value::Access(value) => value,
            other => mistyped(name, other),
        }
    }
}

fn mistyped(name: &str, value: &Value) -> ! {
    panic!("parameter `{name}` is declared as {value:?} and read as another type")
}

/// One entry of an extension slice (an engine, a workload) as `plan`, help and reference see it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name used in plans and on the command line.
    pub name: &'static str,
    /// In a sentence: an engine by its name, `MariaDB with InnoDB`; of a workload what is counted, `transactions`.
    pub spoken: &'static str,
    /// It is one line.
    pub help: &'static str,
    /// The families of operations it performs or comes in.
    pub families: &'static [Family],
    pub params: &'static [ParamDef],
}

impl Entry {
    /// The parameter that holds the steps of a sequence, and their words in order; `None` if it has none.
    pub fn steps(&self) -> Option<(&'static str, &'static [&'static str])> {
        self.params.iter().find_map(|def| match def.kind {
            ParamKind::Steps(words) => Some((def.name, words)),
            _ => None,
        })
    }

    /// Why it has no rate that could be held, whatever its parameters are; `None` if it may have one.
    pub fn why_no_rate(&self) -> Option<NoRate> {
        let has_variants = || self.params.iter().any(|def| def.kind == ParamKind::Variants);
        if self.steps().is_some() {
            Some(NoRate::Steps)
        } else if has_variants() {
            Some(NoRate::Variants)
        } else if self.families.iter().all(|family| matches!(family, Family::Task(_))) {
            Some(NoRate::OwnProcess)
        } else {
            None
        }
    }
}

/// Why a workload has no rate that could be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRate {
    /// It is a sequence of steps, which have an end.
    Steps,
    /// It times variants of a statement, each so many times.
    Variants,
    /// It computes in plimsoll's own process: there is no engine that could carry a load.
    OwnProcess,
}

/// One access distribution as `plan`, help and reference see it.
#[derive(Clone, Copy, Debug)]
pub struct DistributionEntry {
    /// The name used in plans: `zipf`.
    pub name: &'static str,
    /// One line, naming the arguments as [`ArgDef::name`] has them.
    pub help: &'static str,
    /// Its arguments in the order in which they are written. Those at the end may be left out.
    pub args: &'static [ArgDef],
}

/// One numeric argument of an access distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArgDef {
    /// Its name in help and messages: `THETA`.
    pub name: &'static str,
    /// The value if none is given.
    pub default: f64,
    pub min: f64,
    pub max: f64,
    /// What is between the bounds.
    pub numbers: Numbers,
}

/// The numbers that an argument may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    Real,
    Whole,
}

impl DistributionEntry {
    /// How it is written with all arguments: `zipf:THETA`.
    pub fn form(&self) -> String {
        self.args.iter().fold(self.name.to_owned(), |form, arg| form + ":" + arg.name)
    }

    /// `given`, with the defaults of those that were not given.
    pub fn with_defaults(&self, given: &[f64]) -> Vec<f64> {
        let defaults = self.args.iter().skip(given.len()).map(|arg| arg.default);
        given.iter().copied().chain(defaults).collect()
    }
}

/// Everything that a plan may name. Built from the slices by the binary, so that `plan` depends on neither engines nor
/// workloads.
#[derive(Clone, Debug)]
pub struct Catalogue {
    pub engines: Vec<Entry>,
    pub workloads: Vec<Entry>,
    pub distributions: Vec<DistributionEntry>,
    /// How many operations the run of this workload has over all clients; `None` if it does not end by itself.
    pub run_ops: fn(workload: &str, params: &Params) -> Option<u64>,
    /// How many rows the load of this workload makes; `None` if it makes none, or if its data has no rows.
    pub load_rows: fn(workload: &str, params: &Params) -> Option<u64>,
    /// What the parameters of this workload mean.
    pub traits: fn(workload: &str, params: &Params) -> WorkTraits,
    /// Whether a point of this workload can begin with data that another point has used.
    pub shares_data: fn(workload: &str, params: &Params) -> bool,
    /// How many CPUs plimsoll may use: the number of clients that is written `cores`.
    pub usable_cpus: u64,
    /// Whether this workload has the step that it is asked for on this engine.
    pub has_step: fn(engine: &str, workload: &str, params: &Params) -> bool,
    /// Whose process does the work of this engine.
    pub engine_process: fn(engine: &str) -> EngineProcess,
    /// The size of the file or block device at a path, of which a point measures all unless it has a size of its own; `None` if there is no such file.
    pub size_at: fn(path: &Path) -> Option<Bytes>,
    /// The variables that a configuration file sets for this engine, as keys and values of a plan; or why it cannot be used, in one line.
    pub read_config: fn(engine: &str, path: &Path) -> Result<ConfigVariables, String>,
    /// The figures of the recording at a path, which a point with these parameters replays; or why it cannot be replayed, in one line.
    pub read_recording: fn(workload: &str, path: &Path, params: &Params) -> Result<RecordingSummary, String>,
    /// Why tables of the user's own cannot be made, or statements cannot be performed on them.
    pub check_tables: fn(params: &Params) -> Result<(), OwnFault>,
    /// The text of a file of SQL that a plan names; or why it cannot be read, in one line.
    pub read_text: fn(path: &Path) -> Result<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_prints_as_a_person_writes_it() {
        let access = |name: &str, args: &[f64]| Value::Access(Access { name: name.into(), args: args.into() });
        let (uniform, zipf, special) =
            (access("uniform", &[]), access("zipf", &[0.9]), access("special", &[1.0, 75.0, 12.0]));
        let all = [Value::Bytes(Bytes(16384)), Value::Int(3), uniform, zipf, special, Value::Bool(true)];
        assert_eq!(all.map(|v| v.to_string()), ["16 KiB", "3", "uniform", "zipf:0.9", "special:1:75:12", "true"]);
    }

    #[test]
    #[should_panic(expected = "parameter `block` is not declared")]
    fn asking_for_an_undeclared_parameter_is_a_bug() {
        Params::default().get("block");
    }
}
