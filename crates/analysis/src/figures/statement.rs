//! The figures of each kind of operation, in the order of statements.csv and of kinds.csv.

use super::Repeats::{OfAll, Sum};
use super::Unit::{BytesPerSecond, Count, Nanoseconds, Number, PerSecond, Share};
use super::{FigureDef, P999};
use crate::{KindSummary, StatementSummary};
use model::OpClass;

type Statement = FigureDef<StatementSummary>;
type Kind = FigureDef<KindSummary>;

/// A kind of operation of a point.
#[rustfmt::skip]
pub static STATEMENT_FIGURES: &[Statement] = &[
    Statement::word("kind", "kind of operation: the name of a statement or transaction of the plan, or what is done with files",
        |s| Some(s.kind.clone())),
    Statement::word("class", "what its operations do: `read`, `write`, `read-write`, `sync` and so on", |s| Some(class_word(s.class).to_owned())),
    Statement::number("queries_per_op", Number, "statements of one operation, BEGIN and COMMIT included if they are sent",
        |s| Some(s.queries_per_op)),
    Statement::number("ops", Count, "operations of this kind that were done by the end of the run phase", |s| Some(s.ops as f64)).repeats(Sum),
    Statement::number("failed", Count, "operations of this kind that failed", |s| Some(s.failed as f64)).less().repeats(Sum),
    Statement::number("share", Share, "share of all operations done, from 0 to 1; empty in the background", |s| s.share).repeats(OfAll),
    Statement::number("ops_per_s", PerSecond, "operations of this kind done per second", |s| Some(s.ops_per_s)).more(),
    Statement::word("background", "whether clients in the background did them: `true` or `false`", |s| Some(s.background.to_string())),
    Statement::number("asked_per_s", PerSecond, "operations per second that clients in the background were to do", |s| s.asked_per_s),
    Statement::number("bytes_per_s", BytesPerSecond, "payload of these operations per second", |s| Some(s.bytes_per_s)),
    Statement::number("response_mean_ns", Nanoseconds, "mean response time (finished - intended) of the whole operation",
        |s| s.response_ns.map(|times| times.mean)).less().repeats(OfAll),
    Statement::number("response_p50_ns", Nanoseconds, "median of it", |s| s.response_ns.map(|q| q.p50 as f64)).less().repeats(OfAll),
    Statement::number("response_p95_ns", Nanoseconds, "95th percentile of it", |s| s.response_ns.map(|q| q.p95 as f64)).less().repeats(OfAll),
    Statement::number("response_p99_ns", Nanoseconds, "99th percentile of it", |s| s.response_ns.map(|q| q.p99 as f64)).less().repeats(OfAll),
    Statement::number("response_p999_ns", Nanoseconds, P999, |s| Some(s.response_ns?.p999? as f64)).less().repeats(OfAll),
    Statement::number("response_max_ns", Nanoseconds, "longest response time", |s| s.response_ns.map(|q| q.max as f64)).less().repeats(OfAll),
    Statement::number("service_p50_ns", Nanoseconds, "median service time (finished - started)",
        |s| s.service_ns.map(|q| q.p50 as f64)).less().repeats(OfAll),
    Statement::number("service_p95_ns", Nanoseconds, "95th percentile of it", |s| s.service_ns.map(|q| q.p95 as f64)).less().repeats(OfAll),
    Statement::number("service_p99_ns", Nanoseconds, "99th percentile of it", |s| s.service_ns.map(|q| q.p99 as f64)).less().repeats(OfAll),
    Statement::number("service_p999_ns", Nanoseconds, P999, |s| Some(s.service_ns?.p999? as f64)).less().repeats(OfAll),
    Statement::number("service_max_ns", Nanoseconds, "longest service time", |s| s.service_ns.map(|q| q.max as f64)).less().repeats(OfAll),
];

/// A kind of operation of a point whose operations have steps.
#[rustfmt::skip]
pub static KIND_FIGURES: &[Kind] = &[
    Kind::word("kind", "kind of operation", |k| Some(k.kind.clone())),
    Kind::number("ops", Count, "operations of this kind that were done", |k| Some(k.ops as f64)).repeats(Sum),
    Kind::number("failed", Count, "operations of this kind that failed", |k| Some(k.failed as f64)).less().repeats(Sum),
    Kind::number("response_p50_ns", Nanoseconds, "median of their response time (finished - intended)",
        |k| k.response_ns.map(|q| q.p50 as f64)).less().repeats(OfAll),
    Kind::number("response_p95_ns", Nanoseconds, "95th percentile of it", |k| k.response_ns.map(|q| q.p95 as f64)).less().repeats(OfAll),
    Kind::number("response_p99_ns", Nanoseconds, "99th percentile of it", |k| k.response_ns.map(|q| q.p99 as f64)).less().repeats(OfAll),
    Kind::number("response_p999_ns", Nanoseconds, P999, |k| Some(k.response_ns?.p999? as f64)).less().repeats(OfAll),
    Kind::number("response_max_ns", Nanoseconds, "longest response time", |k| k.response_ns.map(|q| q.max as f64)).less().repeats(OfAll),
];

fn class_word(class: OpClass) -> &'static str {
    match class {
        OpClass::Read => "read",
        OpClass::Write => "write",
        OpClass::ReadWrite => "read-write",
        OpClass::Sync => "sync",
        OpClass::Index => "index",
        OpClass::Drain => "drain",
        OpClass::Compute => "compute",
        OpClass::Connect => "connect",
        OpClass::Step => "step",
    }
}
