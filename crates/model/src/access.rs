//! An access distribution as plans and run files have it.
//!
//! In: the crate `plan` reads it from text. Out: workloads draw by it; the run file keeps it. Limits: what its name means is the crate `workload`'s.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An access distribution by name and arguments, checked against the catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// Its name among the distributions.
    pub name: String,
    /// Its arguments (Zipf: theta) in the order of its declaration; those that were not given have their defaults.
    pub args: Vec<f64>,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.args.iter().try_for_each(|arg| write!(f, ":{arg}"))
    }
}
