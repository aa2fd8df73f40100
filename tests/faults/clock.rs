//! The clock jumps, or time passes in which plimsoll could not run.

use crate::fault::Family;

pub const CLOCK: Family =
    Family { name: "clock", about: "The clock jumps, or time passes in which plimsoll could not run.", faults: &[] };
