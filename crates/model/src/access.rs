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
    #[serde(rename = "arg", with = "null_one_or_list", default)]
    pub args: Vec<f64>,
}

/// Arguments in run files: null for none, a number for one, a list for several. The first two are what was written when no
/// distribution had more than one, so old files are read by new binaries and the other way round.
mod null_one_or_list {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(args: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        match args {
            [] => serializer.serialize_none(),
            [arg] => serializer.serialize_f64(*arg),
            several => several.serialize(serializer),
        }
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum StoredArgs {
        One(f64),
        Several(Vec<f64>),
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        Ok(match Option::<StoredArgs>::deserialize(deserializer)? {
            None => Vec::new(),
            Some(StoredArgs::One(arg)) => vec![arg],
            Some(StoredArgs::Several(args)) => args,
        })
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.args.iter().try_for_each(|arg| write!(f, ":{arg}"))
    }
}
