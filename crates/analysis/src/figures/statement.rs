//! The figures of each kind of operation, in the order of statements.csv and of kinds.csv.

use super::RepeatRule::{Follows, Sum};
use super::Unit::{BytesPerSecond, Count, Number, PerSecond, Share};
use super::{FIRST_PERCENTILE, FigureDef, Figures};
use crate::{KindSummary, StatementSummary};
use model::{OpClass, QuotedTime};
use std::sync::LazyLock;

type StatementFigure = FigureDef<StatementSummary>;
type KindFigure = FigureDef<KindSummary>;

/// A kind of operation of a point.
#[rustfmt::skip]
pub static STATEMENT_FIGURES: Figures<StatementSummary> = LazyLock::new(|| [
    &[
        StatementFigure::word("kind", "kind of operation: the name of a statement or transaction of the plan, or what is done with files",
            |s| Some(s.kind.clone())),
        StatementFigure::word("class", "what its operations do: `read`, `write`, `read-write`, `sync` and so on", |s| Some(class_word(s.class).to_owned())),
        StatementFigure::number("queries_per_op", Number, "statements of one operation, BEGIN and COMMIT included if they are sent",
            |s| Some(s.queries_per_op)),
        StatementFigure::number("ops", Count, "operations of this kind that were done by the end of the run phase", |s| Some(s.ops as f64)).repeats(Sum),
        StatementFigure::number("failed", Count, "operations of this kind that failed", |s| Some(s.failed as f64)).less().repeats(Sum),
        StatementFigure::number("share", Share, "share of all operations done, from 0 to 1; empty in the background", |s| s.share).repeats(Follows),
        StatementFigure::number("ops_per_s", PerSecond, "operations of this kind done per second", |s| Some(s.ops_per_s)).more(),
        StatementFigure::word("background", "whether clients in the background did them: `true` or `false`", |s| Some(s.background.to_string())),
        StatementFigure::number("asked_per_s", PerSecond, "operations per second that clients in the background were to do", |s| s.asked_per_s),
        StatementFigure::number("bytes_per_s", BytesPerSecond, "payload of these operations per second", |s| Some(s.bytes_per_s)),
    ][..],
    &StatementFigure::times("response", QuotedTime::Mean, "response time (finished - intended) of the whole operation", |s| s.response_ns),
    &StatementFigure::times("service", FIRST_PERCENTILE, "service time (finished - started)", |s| s.service_ns),
].concat());

/// A kind of operation of a point whose operations have steps.
#[rustfmt::skip]
pub static KIND_FIGURES: Figures<KindSummary> = LazyLock::new(|| [
    &[
        KindFigure::word("kind", "kind of operation", |k| Some(k.kind.clone())),
        KindFigure::number("ops", Count, "operations of this kind that were done", |k| Some(k.ops as f64)).repeats(Sum),
        KindFigure::number("failed", Count, "operations of this kind that failed", |k| Some(k.failed as f64)).less().repeats(Sum),
    ][..],
    &KindFigure::times("response", FIRST_PERCENTILE, "of their response time (finished - intended)", |k| k.response_ns),
].concat());

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
