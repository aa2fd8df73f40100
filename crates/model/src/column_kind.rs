//! What a column of a table, or a variable of a procedure, holds.
//!
//! In: a workload, or a table that the user wrote. Out: [`ColumnKind`], which each engine writes in its own words.

#[cfg(doc)]
use crate::op::SqlArg;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// An integer of 16 bits; arguments are [`SqlArg::Int`].
    SmallInt,
    /// An integer of 32 bits; arguments are [`SqlArg::Int`].
    Int,
    /// An integer of 64 bits; arguments are [`SqlArg::Int`].
    BigInt,
    /// A floating-point number of 32 bits; arguments are [`SqlArg::Float`].
    Real,
    /// A floating-point number of 64 bits; arguments are [`SqlArg::Float`].
    Double,
    /// A number of so many decimal digits; arguments are [`SqlArg::Text`].
    Decimal {
        /// All digits, those behind the point included.
        digits: u8,
        /// The digits behind the point.
        scale: u8,
    },
    /// True or false; arguments are [`SqlArg::Text`], `0` or `1`.
    Boolean,
    /// Text of this many characters, padded with blanks if the engine does that; arguments are [`SqlArg::Text`].
    Char(u16),
    /// Text of at most so many characters; arguments are [`SqlArg::Text`].
    VarChar(u16),
    /// Text without a bound; arguments are [`SqlArg::Text`].
    Text,
    /// A day; arguments are [`SqlArg::Text`] as `2012-05-16`.
    Date,
    /// Date and time without a zone; arguments are [`SqlArg::Text`] as `2012-05-16 00:00:00`.
    DateTime,
}

impl ColumnKind {
    /// Whether it holds text.
    pub fn is_text(self) -> bool {
        matches!(self, ColumnKind::Char(_) | ColumnKind::VarChar(_) | ColumnKind::Text)
    }

    /// The units of its values, for types whose values are counted in units: 1, a power of ten below it, a day, a second.
    pub fn units_per_one(self) -> Option<i64> {
        match self {
            ColumnKind::SmallInt | ColumnKind::Int | ColumnKind::BigInt | ColumnKind::Date | ColumnKind::DateTime => {
                Some(1)
            }
            ColumnKind::Decimal { scale, .. } => 10i64.checked_pow(scale.into()),
            ColumnKind::Real | ColumnKind::Double => Some(1_000_000),
            ColumnKind::Boolean | ColumnKind::Char(_) | ColumnKind::VarChar(_) | ColumnKind::Text => None,
        }
    }
}

impl fmt::Display for ColumnKind {
    /// As it is written in a plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnKind::SmallInt => f.write_str("smallint"),
            ColumnKind::Int => f.write_str("int"),
            ColumnKind::BigInt => f.write_str("bigint"),
            ColumnKind::Real => f.write_str("real"),
            ColumnKind::Double => f.write_str("double"),
            ColumnKind::Decimal { digits, scale } => write!(f, "decimal({digits},{scale})"),
            ColumnKind::Boolean => f.write_str("boolean"),
            ColumnKind::Char(length) => write!(f, "char({length})"),
            ColumnKind::VarChar(length) => write!(f, "varchar({length})"),
            ColumnKind::Text => f.write_str("text"),
            ColumnKind::Date => f.write_str("date"),
            ColumnKind::DateTime => f.write_str("datetime"),
        }
    }
}
