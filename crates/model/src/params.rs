//! Parameters: the one place where a flag, a TOML key, a JSON key and a CSV column get their common name.
//!
//! In: each engine and workload declares its [`ParamDef`]s in its own file. Out: the crate `plan` turns text into typed
//! [`Params`] against them, and help, reference and reports iterate the same declarations.
//! Limits: a parameter has one value in a trial; several values in a plan are several trials.

use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

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
}

/// What a parameter may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// `true` or `false`.
    Bool,
    /// A whole number within the bounds, both included.
    Int {
        /// Least.
        min: u64,
        /// Most.
        max: u64,
    },
    /// A number within the bounds, both included.
    Float {
        /// Least.
        min: f64,
        /// Most.
        max: f64,
    },
    /// A size such as `16KiB`, within the bounds, both included.
    Bytes {
        /// Least.
        min: u64,
        /// Most.
        max: u64,
    },
    /// A length of time such as `100us`.
    Duration,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// An access distribution such as `zipf:0.9`, from the catalogue's distributions.
    Access,
    /// The path of a file or directory; empty for none.
    Path,
}

/// The declaration of one parameter of an engine or a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParamDef {
    /// Its name: in TOML and JSON as it stands, on the command line behind `--`.
    pub name: &'static str,
    /// What it may hold.
    pub kind: ParamKind,
    /// The value taken where none is given, as text.
    pub default: &'static str,
    /// One line for help and reference, with the unit.
    pub help: &'static str,
    /// Whether `--scale` multiplies it (rows, caches, partitions).
    pub scales: bool,
    /// Whether another value means another data set. Trials that agree on all of these share prepared data.
    pub shapes_data: bool,
}

/// An access distribution by name and argument, checked against the catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// Its name among the distributions.
    pub name: String,
    /// Its argument (Zipf: theta); the distribution's default where none was given.
    pub arg: Option<f64>,
}

/// The value of a parameter in a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(u64),
    /// A number.
    Float(f64),
    /// A size.
    Bytes(Bytes),
    /// A length of time.
    Nanos(Nanos),
    /// One of the words that the declaration allows, or a path.
    Word(String),
    /// An access distribution.
    Access(Access),
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.arg {
            Some(arg) => write!(f, "{}:{arg}", self.name),
            None => f.write_str(&self.name),
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
            Value::Bytes(value) => write!(f, "{value}"),
            Value::Nanos(value) => write!(f, "{value}"),
            Value::Word(value) => f.write_str(value),
            Value::Access(value) => write!(f, "{value}"),
        }
    }
}

/// The parameters of one engine or workload in one trial: every declared name has a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Params(pub BTreeMap<String, Value>);

impl Params {
    /// The value of `name`.
    ///
    /// # Panics
    /// Where the parameter was not declared: a bug in the engine or workload that asks.
    pub fn get(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or_else(|| panic!("parameter `{name}` is not declared"))
    }

    /// The whole number in `name`; panics where it is declared as something else (a bug).
    pub fn int(&self, name: &str) -> u64 {
        match self.get(name) {
            Value::Int(value) => *value,
            other => mistyped(name, other),
        }
    }

    /// The number in `name`; panics where it is declared as something else (a bug).
    pub fn float(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Float(value) => *value,
            other => mistyped(name, other),
        }
    }

    /// The size in `name`; panics where it is declared as something else (a bug).
    pub fn bytes(&self, name: &str) -> Bytes {
        match self.get(name) {
            Value::Bytes(value) => *value,
            other => mistyped(name, other),
        }
    }

    /// The length of time in `name`; panics where it is declared as something else (a bug).
    pub fn nanos(&self, name: &str) -> Nanos {
        match self.get(name) {
            Value::Nanos(value) => *value,
            other => mistyped(name, other),
        }
    }

    /// The truth of `name`; panics where it is declared as something else (a bug).
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Value::Bool(value) => *value,
            other => mistyped(name, other),
        }
    }

    /// The word or path in `name`; panics where it is declared as something else (a bug).
    pub fn word(&self, name: &str) -> &str {
        match self.get(name) {
            Value::Word(value) => value,
            other => mistyped(name, other),
        }
    }

    /// The distribution in `name`; panics where it is declared as something else (a bug).
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
    /// One line.
    pub help: &'static str,
    /// The families of operations it performs or comes in.
    pub families: &'static [Family],
    /// Its parameters.
    pub params: &'static [ParamDef],
}

/// One access distribution as `plan`, help and reference see it.
#[derive(Clone, Copy, Debug)]
pub struct DistributionEntry {
    /// The name used in plans: `zipf`.
    pub name: &'static str,
    /// One line, naming the argument.
    pub help: &'static str,
    /// The argument's default and bounds (least, most), where it takes one.
    pub arg: Option<(f64, f64, f64)>,
}

/// Everything that a plan may name. Built from the slices by the binary, so that `plan` depends on neither engines nor
/// workloads.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// All engines.
    pub engines: Vec<Entry>,
    /// All workloads.
    pub workloads: Vec<Entry>,
    /// All access distributions.
    pub distributions: Vec<DistributionEntry>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_prints_as_a_person_writes_it() {
        let access = Value::Access(Access { name: "zipf".into(), arg: Some(0.9) });
        let shown: Vec<String> =
            [Value::Bytes(Bytes(16384)), Value::Int(3), access, Value::Bool(true)].map(|v| v.to_string()).into();
        assert_eq!(shown, ["16 KiB", "3", "zipf:0.9", "true"]);
    }

    #[test]
    #[should_panic(expected = "parameter `block` is not declared")]
    fn asking_for_an_undeclared_parameter_is_a_bug() {
        Params::default().get("block");
    }
}
