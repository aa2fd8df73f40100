//! A server lies, hangs, dies or changes.

use crate::fault::Family;

pub const SERVER: Family = Family { name: "server", about: "A server lies, hangs, dies or changes.", faults: &[] };
