//! plimsoll, its agents or its engines are stopped, killed or limited.

use crate::fault::Family;

pub const PROCESS: Family = Family {
    name: "process",
    about: "plimsoll, its agents or its engines are stopped, killed or limited.",
    faults: &[],
};
