//! Files, plans and command lines are wrong, damaged or hostile.

use crate::fault::Family;

pub const INPUT: Family =
    Family { name: "input", about: "Files, plans and command lines are wrong, damaged or hostile.", faults: &[] };
