//! What the types of columns hold: bounds, usual values, and how a value is written.
//!
//! In: a type, a value in units. Out: arguments of statements. Limits: texts are
//! ASCII, so that a character is a byte everywhere.

use crate::program::push_text;
use model::{ColumnKind, SqlArg, SqlOp};

/// The largest text of a column without a length.
const TEXT_BYTES_MAX: usize = 65_535;

/// The bytes that a type of text has room for.
pub(super) fn text_room(kind: ColumnKind) -> Option<usize> {
    match kind {
        ColumnKind::Char(length) | ColumnKind::VarChar(length) => Some(length.into()),
        ColumnKind::Text => Some(TEXT_BYTES_MAX),
        _ => None,
    }
}

/// The lengths of texts if none are asked for.
pub(super) fn usual_length(kind: ColumnKind) -> (u32, u32) {
    const USUAL: u32 = 64;
    match kind {
        ColumnKind::Char(length) => (length.into(), length.into()),
        ColumnKind::VarChar(length) => (u32::from(length).min(USUAL) / 2, u32::from(length).min(USUAL)),
        _ => (USUAL / 2, USUAL),
    }
}

/// About the bytes of a value in a row.
pub(super) fn about_bytes(kind: ColumnKind) -> u64 {
    match kind {
        ColumnKind::Boolean => 1,
        ColumnKind::SmallInt => 2,
        ColumnKind::Int | ColumnKind::Real | ColumnKind::Date => 4,
        ColumnKind::BigInt | ColumnKind::Double | ColumnKind::DateTime => 8,
        ColumnKind::Decimal { digits, .. } => u64::from(digits) / 2 + 1,
        ColumnKind::Char(_) | ColumnKind::VarChar(_) | ColumnKind::Text => {
            let (least, most) = usual_length(kind);
            u64::from(least + most) / 2 + 1
        }
    }
}

/// Adds `units` of a column as an argument.
pub(super) fn push_units(op: &mut SqlOp, kind: ColumnKind, units: i64) {
    match kind {
        ColumnKind::SmallInt | ColumnKind::Int | ColumnKind::BigInt => op.args.push(SqlArg::Int(units)),
        ColumnKind::Real | ColumnKind::Double => op.args.push(SqlArg::Float(units as f64 / 1e6)),
        ColumnKind::Decimal { .. } | ColumnKind::Date | ColumnKind::DateTime => {
            push_text(op, |text| kind.push_units(text, units))
        }
        ColumnKind::Boolean | ColumnKind::Char(_) | ColumnKind::VarChar(_) | ColumnKind::Text => {
            op.args.push(SqlArg::Null)
        }
    }
}
