//! Memory is short, for plimsoll or for the engine.

use crate::fault::Family;

pub const MEMORY: Family =
    Family { name: "memory", about: "Memory is short, for plimsoll or for the engine.", faults: &[] };
