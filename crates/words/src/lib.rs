//! Numbers with their unit, lists and plurals, as people read them: the one place that decides how a value is written.
//!
//! In: plain numbers and parts of a sentence. Out: text, or a [`Quantity`](quantity::Quantity), of which ranges are made. The sentences of
//! findings (crate `analysis`) and the tables and documents (crate `report`) write their values by it, so that both say the same.

pub mod cell;
pub mod code;
pub mod list;
pub mod quantity;
