//! A client's commits of a load.
//!
//! In: a client's share of numbered commits, and what adds the rows of one to an operation. Out: a transaction for each. Limits: afterwards
//! operations are empty transactions.

use crate::Workload;
use model::{OpKind, SqlOp};
use std::ops::Range;

/// The commits of one client. `push` adds those of a number to an operation.
pub(crate) struct CommitOps<P> {
    pub(crate) kind: OpKind,
    pub(crate) commits: Range<u64>,
    pub(crate) push: P,
}

impl<P: FnMut(&mut SqlOp, u64) + Send> Workload<SqlOp> for CommitOps<P> {
    fn fill_ops(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            (op.op_kind, op.transaction, op.writes) = (self.kind, true, true);
            if let Some(commit) = self.commits.next() {
                (self.push)(op, commit);
            }
        }
    }
}
