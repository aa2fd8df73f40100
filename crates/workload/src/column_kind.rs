//! What a column of a table, or a variable of a procedure, holds.
//!
//! In: nothing. Out: [`ColumnKind`], which each engine writes in its own words. Limits: what workloads need, and no more.

#[cfg(doc)]
use model::SqlArg;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// An integer of 16 bits; arguments are [`SqlArg::Int`].
    SmallInt,
    /// An integer of 32 bits; arguments are [`SqlArg::Int`].
    Int,
    /// An integer of 64 bits; arguments are [`SqlArg::Int`].
    BigInt,
    /// A floating-point number of 32 bits; arguments are [`SqlArg::Float`].
    Float,
    /// A floating-point number of 64 bits; arguments are [`SqlArg::Float`].
    Double,
    /// A number of so many decimal digits; arguments are [`SqlArg::Text`].
    Decimal {
        /// All of them,
        digits: u8,
        /// and those behind the point.
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
