//! Single cells of a run file as what they must be: numbers from 0, words of a list, JSON.
//!
//! In: a row that SQLite delivered. Out: the value, or what is wrong with it. Limits: nothing here knows a table.

use crate::error::ReadFault;
use model::{Phase, PointState};
use rusqlite::Row;
use rusqlite::types::FromSql;
use serde::de::DeserializeOwned;
use serde::de::IntoDeserializer;
use serde::de::value::Error as WordError;

pub(crate) fn read_cell<T: FromSql>(row: &Row, column: usize) -> Result<T, ReadFault> {
    Ok(row.get(column)?)
}

/// The longest name that is read, in bytes: a path has 4,096 at most.
const NAME_MAX: usize = 8_192;

/// A name. It is drawn and measured letter by letter in many places, so it is short.
pub(crate) fn read_name(row: &Row, column: usize) -> Result<String, ReadFault> {
    let name: String = read_cell(row, column)?;
    match name.len() {
        ..=NAME_MAX => Ok(name),
        length => Err(ReadFault::wrong(format!("a name has {length} bytes, and at most {NAME_MAX} are read"))),
    }
}

/// A number that is never below zero.
pub(crate) fn read_count(row: &Row, column: usize) -> Result<u64, ReadFault> {
    let value: i64 = read_cell(row, column)?;
    u64::try_from(value).map_err(|_| ReadFault::wrong(format!("there is {value} where only numbers from 0 can be")))
}

/// An amount that is finite and not below zero.
pub(crate) fn read_amount(row: &Row, column: usize) -> Result<f64, ReadFault> {
    let value: f64 = read_cell(row, column)?;
    let sound = value.is_finite() && value >= 0.0;
    sound.then_some(value).ok_or_else(|| ReadFault::wrong(format!("there is {value} where only amounts from 0 can be")))
}

/// A word that names one of several things.
pub(crate) fn word_cell<T: DeserializeOwned>(row: &Row, column: usize, what: &str) -> Result<T, ReadFault> {
    let word: String = read_cell(row, column)?;
    let known = T::deserialize(IntoDeserializer::<WordError>::into_deserializer(word.as_str()));
    known.map_err(|error| ReadFault::wrong(format!("`{what}`: {error}")))
}

/// Parsed JSON. serde_json bounds its depth, and refuses numbers beyond the range of `f64`.
pub(crate) fn json_cell<T: DeserializeOwned>(row: &Row, column: usize, what: &str) -> Result<T, ReadFault> {
    let text = row.get_ref(column)?.as_str().map_err(|_| ReadFault::wrong(format!("`{what}` is no text")))?;
    serde_json::from_str(text)
        .map_err(|error| ReadFault::wrong(format!("`{what}` is not the JSON it should be: {error}")))
}

pub(crate) fn state_of(row: &Row, column: usize) -> Result<PointState, ReadFault> {
    let word: String = read_cell(row, column)?;
    let states = [PointState::Complete, PointState::Partial, PointState::Failed];
    let known = states.into_iter().find(|state| state.as_str() == word);
    known.ok_or_else(|| ReadFault::wrong(format!("a point has the state `{word}`")))
}

/// The phase in column 1.
pub(crate) fn phase_of(row: &Row) -> Result<Phase, ReadFault> {
    let word = row.get_ref(1)?.as_str().map_err(|_| ReadFault::wrong("a phase is no text"))?;
    Phase::from_word(word).ok_or_else(|| ReadFault::wrong(format!("there is a phase `{word}`")))
}
