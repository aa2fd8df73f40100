//! The JSON of `plimsoll ceiling`.
//!
//! In: what points used of their ceilings. Out: the schema `plimsoll.ceiling/1`. Limits: rates are per second; what is not known is null.

use analysis::recorded::ceiling::ReplayUse;
use serde_json::{Value, json};
use std::path::Path;

/// The points of the run `of_run`, whose replays are in `run_file`.
pub fn ceilings(of_run: &str, run_file: &Path, found: &[(u32, ReplayUse)]) -> Value {
    let point = |(id, found): &(u32, ReplayUse)| {
        let mix = json!({
            "read_share": found.used.read_share(), "block_bytes": found.used.block_bytes(),
            "in_flight": found.used.whole_in_flight(), "writes_per_flush": found.used.writes_per_flush(),
        });
        json!({"point": id, "share": found.share, "used": found.used, "ceiling": found.ceiling, "mix": mix})
    };
    json!({
        "schema": "plimsoll.ceiling/1",
        "run": run_file,
        "of_run": of_run,
        "points": found.iter().map(point).collect::<Vec<_>>(),
    })
}
