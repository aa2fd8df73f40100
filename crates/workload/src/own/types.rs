//! What the types of columns hold: bounds, usual values, and how a value is written.
//!
//! In: a type, a value in units. Out: arguments of statements. Limits: texts are
//! ASCII, so that a character is a byte everywhere.

use crate::program::{ColumnKind, push_text};
use model::own_table::OwnType;
use model::{SqlArg, SqlOp};

/// The largest text of a column without a length.
const TEXT_BYTES_MAX: usize = 65_535;

/// The bytes that a type of text has room for.
pub(super) fn text_room(kind: OwnType) -> Option<usize> {
    match kind {
        OwnType::Char(length) | OwnType::VarChar(length) => Some(length.into()),
        OwnType::Text => Some(TEXT_BYTES_MAX),
        _ => None,
    }
}

/// The lengths of texts if none are asked for.
pub(super) fn usual_length(kind: OwnType) -> (u32, u32) {
    const USUAL: u32 = 64;
    match kind {
        OwnType::Char(length) => (length.into(), length.into()),
        OwnType::VarChar(length) => (u32::from(length).min(USUAL) / 2, u32::from(length).min(USUAL)),
        _ => (USUAL / 2, USUAL),
    }
}

/// About the bytes of a value in a row.
pub(super) fn about_bytes(kind: OwnType) -> u64 {
    match kind {
        OwnType::Boolean => 1,
        OwnType::SmallInt => 2,
        OwnType::Int | OwnType::Real | OwnType::Date => 4,
        OwnType::BigInt | OwnType::Double | OwnType::DateTime => 8,
        OwnType::Decimal { digits, .. } => u64::from(digits) / 2 + 1,
        OwnType::Char(_) | OwnType::VarChar(_) | OwnType::Text => {
            let (least, most) = usual_length(kind);
            u64::from(least + most) / 2 + 1
        }
    }
}

/// The type in a table.
pub(super) fn column_kind(kind: OwnType) -> ColumnKind {
    match kind {
        OwnType::SmallInt => ColumnKind::SmallInt,
        OwnType::Int => ColumnKind::Int,
        OwnType::BigInt => ColumnKind::BigInt,
        OwnType::Real => ColumnKind::Float,
        OwnType::Double => ColumnKind::Double,
        OwnType::Decimal { digits, scale } => ColumnKind::Decimal { digits, scale },
        OwnType::Boolean => ColumnKind::Boolean,
        OwnType::Char(length) => ColumnKind::Char(length),
        OwnType::VarChar(length) => ColumnKind::VarChar(length),
        OwnType::Text => ColumnKind::Text,
        OwnType::Date => ColumnKind::Date,
        OwnType::DateTime => ColumnKind::DateTime,
    }
}

/// Adds `units` of a column as an argument.
pub(super) fn push_units(op: &mut SqlOp, kind: OwnType, units: i64) {
    match kind {
        OwnType::SmallInt | OwnType::Int | OwnType::BigInt => op.args.push(SqlArg::Int(units)),
        OwnType::Real | OwnType::Double => op.args.push(SqlArg::Float(units as f64 / 1e6)),
        OwnType::Decimal { .. } | OwnType::Date | OwnType::DateTime => {
            push_text(op, |text| kind.push_units(text, units))
        }
        OwnType::Boolean | OwnType::Char(_) | OwnType::VarChar(_) | OwnType::Text => op.args.push(SqlArg::Null),
    }
}
