//! Findings in reports: how often they are right, and the names of bottlenecks. Their sentences are theirs: `analysis::findings`.

mod accuracy;
pub mod bottleneck;

pub use accuracy::{Accuracy, accuracy, accuracy_table};
