//! The JSON of `plimsoll why`.
//!
//! In: an answer. Out: the schema `plimsoll.why/1`. Limits: what was not measured is null.

use analysis::run::why::WhyAnswer;
use report::wording::why::{answer_sentence, not_varied};
use serde_json::{Value, json};
use std::path::Path;

/// The answer of the run in `run_file`.
pub fn why(answer: &WhyAnswer, run_file: &Path) -> Value {
    let left_out = answer
        .left_out
        .iter()
        .map(|(resource, reason)| json!({"resource": resource, "reason": reason, "text": not_varied(*reason)}));
    json!({
        "schema": "plimsoll.why/1",
        "run": run_file,
        "of_run": answer.run_id,
        "point": answer.point,
        "answer": answer_sentence(answer),
        "rounds": answer.rounds,
        "rounds_planned": answer.rounds_planned,
        "ops_per_s": answer.ops_per_s,
        "elasticities": answer.elasticities,
        "left_out": left_out.collect::<Vec<_>>(),
        "engine_versions": answer.engine_versions,
    })
}
