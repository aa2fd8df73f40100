//! Background load: clients that work at a pace of their own while others are measured.
//!
//! In: the crate `plan` reads the entries of a plan file, a workload may have background operations of its own. Out: the pace of such
//! clients, and what the run file keeps of them. Limits: operations fall due at equal distances, or clients pause between them; there is
//! no other pace.

use crate::op::OpKind;
use crate::statement::{CustomOp, CustomStatement};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The key of the entries in a plan file, and the name of the parameter that holds them.
pub const BACKGROUND: &str = "background";

/// Statements that clients of their own perform in the background of a run: one `[[background]]` of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackgroundEntry {
    /// Its statements; its name is that of the kind of operation, and its weight has no meaning.
    #[serde(flatten)]
    pub op: CustomOp,
    /// How many clients perform them; at least 1.
    pub clients: u32,
    /// How they are paced, all together.
    pub pace: EntryPace,
}

impl BackgroundEntry {
    /// Its statements in order.
    pub fn statements(&self) -> &[CustomStatement] {
        &self.op.statements
    }

    /// How each of its clients is paced.
    pub fn pace_of_client(&self) -> BackgroundPace {
        match self.pace {
            EntryPace::Rate(per_s) => BackgroundPace::Rate { per_client_s: per_s / f64::from(self.clients.max(1)) },
            EntryPace::Think(think) => BackgroundPace::Closed { think },
        }
    }
}

/// The pace of all clients of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryPace {
    /// So many operations fall due per second, over all of its clients; above 0.
    Rate(f64),
    /// Each client pauses for so long after an operation.
    Think(Nanos),
}

impl fmt::Display for BackgroundEntry {
    /// `report 0.5/s`, `report 2 clients`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.op.name)?;
        if let EntryPace::Rate(per_s) = self.pace {
            return write!(f, " {per_s}/s");
        }
        write!(f, " {} client{}", self.clients, if self.clients == 1 { "" } else { "s" })
    }
}

/// How each client of a background load is paced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BackgroundPace {
    /// So many operations fall due per second, for each client; above 0.
    Rate {
        /// Operations per second and client.
        per_client_s: f64,
    },
    /// Each client starts its next operation when the last is done, and after a pause.
    Closed {
        /// The pause; zero for none.
        think: Nanos,
    },
}

/// Clients that work in the background of a run, as the run file keeps them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Background {
    /// The kinds of their operations.
    pub kinds: Vec<OpKind>,
    /// How many clients they are.
    pub clients: u32,
    /// How many operations fall due per second, over all of them; `None` in a closed loop.
    pub per_s: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(pace: EntryPace, clients: u32) -> BackgroundEntry {
        let statements = vec![CustomStatement { text: "SELECT 1".into(), values: Vec::new() }];
        BackgroundEntry { op: CustomOp { name: "report".into(), weight: 1, statements }, clients, pace }
    }

    #[test]
    fn an_entry_is_shown_with_its_rate_or_its_clients_and_shares_its_rate_among_them() {
        let rate = entry(EntryPace::Rate(0.5), 2);
        assert_eq!(
            (rate.to_string(), rate.pace_of_client()),
            ("report 0.5/s".into(), BackgroundPace::Rate { per_client_s: 0.25 })
        );
        assert_eq!(entry(EntryPace::Think(Nanos(0)), 1).to_string(), "report 1 client");
        assert_eq!(entry(EntryPace::Think(Nanos(5)), 3).to_string(), "report 3 clients");
        let kept: BackgroundEntry = serde_json::from_str(&serde_json::to_string(&rate).unwrap()).unwrap();
        assert_eq!(kept, rate);
    }
}
