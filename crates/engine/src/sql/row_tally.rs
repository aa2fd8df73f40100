//! Counts the rows that operations return and change, and compares each answer with what its statement must do.
//!
//! In: the statements of a program, what the server has answered to each call. Out: the rows of the last operation, and in words the last
//! answer that missed some. Limits: an attempt that failed counts nothing; of statements that the user wrote nothing is expected.

use model::{ExpectedRows, RowCounts, SqlOp, TransactionEnd};
use std::sync::Arc;
use workload::SqlProgram;

/// What an answer shows of rows, and of the transaction after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// Rows returned and changed.
    pub rows: RowCounts,
    /// Rows that an UPDATE has found, changed or not, as far as the server says so.
    pub found: u64,
    /// The id that the server made for the first row that was inserted (MySQL, MariaDB); 0 for none.
    pub made_id: u64,
    /// Whether a transaction is open.
    pub in_transaction: bool,
    /// Whether it says that a transaction was rolled back.
    pub is_rollback: bool,
}

/// What a person reads if a transaction was not committed although no statement of it failed.
pub const ROLLED_BACK: &str =
    "the server has rolled the transaction back, although no statement of it failed: its changes are lost";

/// So much of a statement is shown: one that inserts a thousand rows has 100 KB.
const SHOWN_CHARS: usize = 120;

/// The statements of a program with the rows that each must return and change.
#[derive(Clone, Debug, Default)]
pub struct StatementRows(Arc<[(String, ExpectedRows)]>);

impl StatementRows {
    /// Those of `program`, whose statements see rows that are replaced as `replaced` says.
    pub fn new(program: &SqlProgram, replaced: ReplacedRows) -> StatementRows {
        let expected = program.rows.iter().map(|rows| {
            let may_be_gone = rows.may_be_replaced && replaced.may_be_gone(rows.only_returns());
            if may_be_gone { rows.or_fewer() } else { *rows }
        });
        StatementRows(program.statements.iter().cloned().zip(expected).collect())
    }
}

/// What a statement finds of a row that another transaction deletes and inserts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplacedRows {
    /// The row, before or after.
    Found,
    /// A change that has waited for the other transaction finds nothing: to the server the inserted row is another one.
    GoneForChanges,
    /// The same, and a read sees the moment in between.
    GoneForAll,
}

impl ReplacedRows {
    fn may_be_gone(self, only_returns: bool) -> bool {
        match self {
            ReplacedRows::Found => false,
            ReplacedRows::GoneForChanges => !only_returns,
            ReplacedRows::GoneForAll => true,
        }
    }
}

/// The rows of the operation that a client performs.
#[derive(Clone, Debug, Default)]
pub struct RowTally {
    statements: StatementRows,
    of_op: RowCounts,
    /// Whether rows were changed that are not committed, by this operation or, of a recorded session, by one before it.
    is_uncommitted: bool,
    /// The last statement that missed rows, by its number, and its rows.
    miss: Option<(u16, RowCounts)>,
}

impl RowTally {
    /// For operations that call `statements`.
    pub fn new(statements: &StatementRows) -> RowTally {
        RowTally { statements: statements.clone(), ..RowTally::default() }
    }

    /// For operations that call these.
    #[cfg(test)]
    pub fn of_statements(statements: &[(&str, ExpectedRows)]) -> RowTally {
        RowTally::new(&StatementRows(statements.iter().map(|(text, rows)| ((*text).to_owned(), *rows)).collect()))
    }

    /// Begins `op`, or another attempt at it.
    #[inline]
    pub fn begin(&mut self, op: &SqlOp) {
        self.of_op = RowCounts::default();
        self.is_uncommitted &= !op.transaction;
    }

    /// Counts the answer to a call of `statement`.
    #[inline]
    pub fn add(&mut self, statement: u16, answered: &Answered) {
        let rows = &answered.rows;
        self.of_op.add(rows);
        self.is_uncommitted |= rows.changed > 0;
        if !answered.in_transaction {
            self.end_transaction(!answered.is_rollback);
        }
        let Some((_, expected)) = self.statements.0.get(usize::from(statement)) else { return };
        if !expected.hold_for(rows) {
            if !expected.hold_for_found(rows, answered.found) {
                self.note_miss(statement, rows);
            }
        } else if answered.found == 0 && expected.is_idle_with(rows) {
            self.of_op.idle = 1;
        }
    }

    /// Counts the end of a transaction, if it changed rows and was committed.
    #[inline]
    pub fn end_transaction(&mut self, is_committed: bool) {
        self.of_op.commits += u64::from(std::mem::take(&mut self.is_uncommitted) && is_committed);
    }

    #[cold]
    fn note_miss(&mut self, statement: u16, rows: &RowCounts) {
        self.of_op.missed = 1; // of one operation, however many of its statements
        self.miss = Some((statement, *rows));
    }

    /// The rows of the operation.
    #[inline]
    pub fn rows(&self) -> RowCounts {
        self.of_op
    }

    /// Whether `op`, all calls of which were answered and `last` the last of them, is no transaction any more that its COMMIT could commit.
    #[inline]
    pub fn is_over(&self, op: &SqlOp, last: &Answered) -> bool {
        op.ending == TransactionEnd::Commit && !last.in_transaction && self.knows_all(op)
    }

    /// Whether the answer to the end of `op` says that it was not committed.
    #[inline]
    pub fn is_undone(&self, op: &SqlOp, last: &Answered) -> bool {
        op.ending == TransactionEnd::Commit && last.is_rollback
    }

    /// Whether it is known what each statement of `op` does. One of the user's may end the transaction itself.
    #[cold]
    fn knows_all(&self, op: &SqlOp) -> bool {
        op.calls.iter().all(|call| {
            let statement = self.statements.0.get(usize::from(call.statement));
            statement.is_some_and(|(_, expected)| expected.is_known())
        })
    }

    /// The last answer that missed rows: `` `DELETE FROM t` changed 0 rows, must change 1 ``. Empty if there was none.
    #[cold]
    pub fn describe_miss(&self) -> String {
        let Some((statement, rows)) = &self.miss else { return String::new() };
        let (text, expected) = &self.statements.0[usize::from(*statement)];
        let shown: String = text.chars().take(SHOWN_CHARS).collect();
        let rest = if shown.len() < text.len() { "..." } else { "" };
        format!("`{shown}{rest}` {}", expected.broken_by(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::SqlCall;

    fn tally() -> RowTally {
        RowTally::of_statements(&[("UPDATE t", ExpectedRows::CHANGES_ONE), ("mine", ExpectedRows::ANY)])
    }

    fn rows(returned: u64, changed: u64) -> RowCounts {
        RowCounts { returned, changed, ..RowCounts::default() }
    }

    fn answered(returned: u64, changed: u64) -> Answered {
        Answered { rows: rows(returned, changed), ..Answered::default() }
    }

    #[test]
    fn an_operation_misses_rows_once_and_its_last_miss_is_told() {
        let mut tally = tally();
        tally.begin(&SqlOp::default());
        tally.add(0, &answered(0, 1));
        tally.add(1, &answered(7, 0));
        assert_eq!((tally.rows(), tally.describe_miss()), (RowCounts { commits: 1, ..rows(7, 1) }, String::new()));
        tally.begin(&SqlOp::default());
        (0..2).for_each(|_| tally.add(0, &answered(0, 0)));
        tally.add(9, &answered(0, 3));
        assert_eq!(tally.rows(), RowCounts { missed: 1, commits: 1, ..rows(0, 3) });
        assert_eq!(tally.describe_miss(), "`UPDATE t` changed 0 rows, must change 1");
    }

    #[test]
    fn a_row_that_was_found_is_no_miss_where_the_same_value_may_be_written() {
        let expected = [ExpectedRows::CHANGES_ONE.or_repeated(), ExpectedRows::CHANGES_ONE];
        let mut tally = RowTally::of_statements(&expected.map(|rows| ("UPDATE t", rows)));
        for (statement, found, missed) in [(0, 1, 0), (0, 0, 1), (1, 1, 1)] {
            tally.begin(&SqlOp::default());
            tally.add(statement, &Answered { found, ..answered(0, 0) });
            assert_eq!(tally.rows().missed, missed, "{statement} {found}");
        }
    }

    #[test]
    fn a_transaction_is_over_if_the_server_says_so_and_its_statements_are_known() {
        let tally = tally();
        let of = |statement| SqlOp { calls: vec![SqlCall { statement, args: 0 }], ..SqlOp::default() };
        let open = Answered { in_transaction: true, ..Answered::default() };
        assert!(tally.is_over(&of(0), &Answered::default()));
        assert!(!tally.is_over(&of(0), &open) && !tally.is_over(&of(1), &Answered::default()));
        let undone = Answered { is_rollback: true, ..Answered::default() };
        let given_up = SqlOp { ending: TransactionEnd::RollBack, ..of(0) };
        assert!(tally.is_undone(&of(0), &undone) && !tally.is_undone(&given_up, &undone));
        assert!(!tally.is_over(&given_up, &Answered::default()) && !tally.is_undone(&of(0), &open));
    }

    #[test]
    fn a_commit_is_the_end_of_a_transaction_that_changed_rows_in_whichever_operation_it_ends() {
        let mut tally = tally();
        let mut commits_of = |transaction, answers: &[Answered]| {
            tally.begin(&SqlOp { transaction, ..SqlOp::default() });
            answers.iter().for_each(|answered| tally.add(9, answered));
            tally.rows().commits
        };
        let open = |changed| Answered { in_transaction: true, ..answered(0, changed) };
        let undone = Answered { is_rollback: true, ..Answered::default() };
        assert_eq!(
            (commits_of(false, &[answered(0, 3), answered(0, 1)]), commits_of(false, &[answered(5, 0)])),
            (2, 0)
        );
        // A recorded session: each of its statements is an operation.
        assert_eq!([open(0), open(2), open(1), answered(0, 0)].map(|one| commits_of(false, &[one])), [0, 0, 0, 1]);
        assert_eq!([open(2), undone, answered(0, 0)].map(|one| commits_of(false, &[one])), [0, 0, 0]);
        // An attempt that failed has left nothing for the next one to commit.
        assert_eq!((commits_of(true, &[open(2)]), commits_of(true, &[open(0), answered(0, 0)])), (0, 0));
    }
}
