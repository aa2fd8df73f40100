//! What memtier_benchmark prints and writes as JSON.
//!
//! In: the tables on its output, or the file of `--json-out-file`. Out: a point of the workload `memtier` for each output, with a kind for each
//! command. Limits: with `--run-count` the averages of the runs are the point, and the best and the worst are facts. Hits and misses of reads
//! are facts: a miss is no failure.

pub(crate) mod json;
pub(crate) mod text;

use crate::point::ImportedKind;
use model::{KindDef, OpClass};

const KINDS_MAX: usize = 100;

/// The kind of the command that the tables call `name`, such as `Sets`.
fn kind_of(name: &str) -> ImportedKind {
    let name = name.trim_end_matches('s').to_ascii_lowercase();
    let class = match name.as_str() {
        "get" | "mget" | "hget" | "hgetall" | "lrange" | "zrange" | "scan" | "json.get" => OpClass::Read,
        "set" | "mset" | "hset" | "lpush" | "rpush" | "zadd" | "sadd" | "del" | "json.set" => OpClass::Write,
        _ => OpClass::ReadWrite,
    };
    ImportedKind::new(KindDef::new(name, class))
}
