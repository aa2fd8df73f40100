//! What the embedded engines of keys and values have in common: a client that puts batches and gets keys, and describes what failed.
//!
//! In: a [`KvStore`], which is one client's way into an engine. Out: a [`Driver`]. Limits: keys are got one after the other.

use crate::engine::workload_of;
use host::error::{TargetError, shown};
use load::Driver;
use model::{FailureClass, KvAction, KvEntry, KvOp, Outcome, Trial};
use std::path::{Path, PathBuf};
use workload::{KvProgram, ProgramInput, SequenceState};

/// One client's way into an engine.
pub trait KvStore: Send + 'static {
    /// Why it did not do something.
    type Error: Send;
    /// The engine's name, for messages.
    const ENGINE: &'static str;
    /// Puts all entries of `op` and removes others, as one batch.
    fn put_batch(&mut self, op: &KvOp) -> Result<(), Self::Error>;
    /// Gets the key of `entry`: the bytes of its value, which was looked at; `None` if it is not there.
    fn get_value(&mut self, op: &KvOp, entry: &KvEntry) -> Result<Option<usize>, Self::Error>;
    /// Reads up to `count` entries in the order of their keys, from the key of `entry` on: the bytes of their values.
    fn scan_values(&mut self, op: &KvOp, entry: &KvEntry, count: u32) -> Result<usize, Self::Error>;
    /// Reads the value of the key of `entry` into the empty `value`; false if it is not there.
    fn read_value(&mut self, op: &KvOp, entry: &KvEntry, value: &mut Vec<u8>) -> Result<bool, Self::Error>;
    /// Puts `value` under the key of `entry`.
    fn put_value(&mut self, op: &KvOp, entry: &KvEntry, value: &[u8]) -> Result<(), Self::Error>;
    /// The class of `error` in an engine in `directory`.
    fn failure_class(error: &Self::Error, directory: &Path) -> FailureClass;
    /// Its description for people.
    fn describe_error(error: &Self::Error, directory: &Path) -> String;
}

pub struct KvDriver<S: KvStore> {
    store: S,
    failure: Option<KvFailure<S::Error>>,
    /// A value while it is changed.
    value: Vec<u8>,
    directory: PathBuf,
}

/// Why an operation failed.
enum KvFailure<E> {
    Engine(E),
    /// A key that was loaded is not there.
    Missing,
    /// A value is shorter than what was put.
    TooShort,
}

impl<E> From<E> for KvFailure<E> {
    fn from(error: E) -> KvFailure<E> {
        KvFailure::Engine(error)
    }
}

impl<S: KvStore> KvDriver<S> {
    /// The client of `store`, an engine in `directory`.
    pub fn new(store: S, directory: &Path) -> KvDriver<S> {
        KvDriver { store, failure: None, value: Vec::new(), directory: directory.into() }
    }

    /// The bytes of keys and values that were put.
    fn put_all(&mut self, op: &KvOp) -> Result<usize, KvFailure<S::Error>> {
        self.store.put_batch(op)?;
        Ok(op.bytes.len())
    }

    /// The bytes of keys and values that were got.
    fn get_all(&mut self, op: &KvOp) -> Result<usize, KvFailure<S::Error>> {
        let mut bytes = op.bytes.len();
        for entry in &op.entries {
            match self.store.get_value(op, entry)? {
                Some(value) => bytes += value,
                // A find may look for an id that was never inserted.
                None if op.action == KvAction::Find => {}
                None => return Err(KvFailure::Missing),
            }
        }
        Ok(bytes)
    }

    /// The bytes of keys and values that were read in their order.
    fn scan_all(&mut self, op: &KvOp, count: u32) -> Result<usize, KvFailure<S::Error>> {
        let mut bytes = op.bytes.len();
        for entry in &op.entries {
            bytes += self.store.scan_values(op, entry, count)?;
        }
        Ok(bytes)
    }

    /// The bytes of keys and values of which a part, from byte `at` on, was replaced.
    fn replace_all(&mut self, op: &KvOp, at: usize) -> Result<usize, KvFailure<S::Error>> {
        let mut bytes = op.bytes.len();
        for entry in &op.entries {
            self.value.clear();
            if !self.store.read_value(op, entry, &mut self.value)? {
                return Err(KvFailure::Missing);
            }
            let part = op.value(entry);
            let old = self.value.get_mut(at..at + part.len()).ok_or(KvFailure::TooShort)?;
            old.copy_from_slice(part);
            self.store.put_value(op, entry, &self.value)?;
            bytes += self.value.len();
        }
        Ok(bytes)
    }
}

impl<S: KvStore> Driver for KvDriver<S> {
    type Op = KvOp;

    fn execute_op(&mut self, op: &KvOp) -> Outcome {
        let done = match op.action {
            KvAction::Put => self.put_all(op),
            KvAction::Get | KvAction::Find => self.get_all(op),
            KvAction::Scan { count } => self.scan_all(op, count),
            KvAction::Replace { at } => self.replace_all(op, at as usize),
        };
        match done {
            Ok(bytes) => Outcome::Ok { bytes: bytes as u32 },
            Err(failure) => {
                let class = match &failure {
                    KvFailure::Engine(error) => S::failure_class(error, &self.directory),
                    KvFailure::Missing | KvFailure::TooShort => FailureClass::Corrupt,
                };
                self.failure = Some(failure);
                Outcome::Failed(class)
            }
        }
    }

    fn describe_failure(&self) -> String {
        let what = match &self.failure {
            Some(KvFailure::Engine(error)) => S::describe_error(error, &self.directory),
            Some(KvFailure::Missing) => "a key that was put is not there".into(),
            Some(KvFailure::TooShort) => "a value is shorter than the one that was put".into(),
            None => "no failure".into(),
        };
        format!("{} in `{}`: {what}", S::ENGINE, shown(&self.directory))
    }
}

/// What `trial` asks of an engine of keys and values, which `sequence` holds rows for.
pub fn program_of(trial: &Trial, sequence: &SequenceState) -> Result<KvProgram, TargetError> {
    let make = workload_of(trial).kv.expect("the plan was checked: workload and engine share a family");
    make(&ProgramInput::from_trial(trial, sequence))
        .map_err(|error| TargetError::Unsupported(format!("engine `{}`: {error}", trial.target.engine)))
}
