//! How the server performs the statements of a replay: of each kind the plan of one recorded statement, asked for once the load is over.
//!
//! In: a recording, the server. Out: a fact with the plan of each kind, and one that tells of how many kinds there is one. Limits: nothing is
//! executed, all answers together have [`PLANS_WITHIN`], and whatever a plan makes the server compute is rolled back. The kind of the rest has
//! none. A plan is of the values of its statement: another one of its kind may have another plan. Settings that the recorded sessions made are
//! not those of the connection that asks.

use super::OpFailure;
use super::admin_connection::{AdminConnection, WireError};
use super::replay_failures::without_values;
use crate::server::network::TextRows;
use host::deadline::Deadline;
use model::{Fact, KindPlan, REPLAY_PLAN_FACT, REPLAY_PLANS_FACT};
use sql::Reading;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;
use workload::replay_sql::{LogDialect, SqlRecording};

/// The time for all plans of a point: fifty take some 20 ms on a server that is not busy.
const PLANS_WITHIN: Duration = Duration::from_secs(5);
/// A longer statement is not asked about: most of it are rows to be inserted.
const TEXT_BYTES_MAX: usize = 256 << 10;
/// What servers explain without executing it.
const EXPLAINED: [&str; 8] = ["select", "insert", "update", "delete", "replace", "with", "table", "values"];

/// How one kind of server is asked for a plan.
#[derive(Clone, Copy)]
pub struct PlanWords {
    /// What is before the statement.
    pub explain: &'static str,
    /// The steps of a plan in words, by the rows of the answer; `None` if it says nothing about the kind: it depends on whether the row of the
    /// sample is there.
    pub steps: fn(&TextRows) -> Option<Vec<String>>,
}

/// The plans that are asked for when the load is over.
pub struct ReplayPlans {
    recording: Arc<SqlRecording>,
    /// The names of the copy's schemas, by the numbers of the recording.
    schemas: Vec<String>,
    reads_only: bool,
}

/// What came of asking.
#[derive(Default)]
struct AskedPlans {
    /// By the numbers of the kinds.
    plans: Vec<(usize, KindPlan)>,
    asked: usize,
    /// Why the first failed that did.
    failure: Option<String>,
}

impl ReplayPlans {
    /// Of the statements of `recording`.
    pub fn new(recording: Arc<SqlRecording>, schemas: Vec<String>, reads_only: bool) -> ReplayPlans {
        ReplayPlans { recording, schemas, reads_only }
    }

    /// Whether nothing may be written.
    pub fn reads_only(&self) -> bool {
        self.reads_only
    }

    /// Asks a server of `dialect` with its own `words`. `connect` opens a connection in the schema of a name, which may be empty.
    pub fn facts<A: AdminConnection>(
        &self,
        (words, dialect): (PlanWords, LogDialect),
        mut connect: impl FnMut(&str, Deadline) -> Result<A, OpFailure>,
    ) -> Vec<Fact> {
        let (mut found, mut connection) = (AskedPlans::default(), None::<(u32, A)>);
        let deadline = Deadline::unless_interrupted(PLANS_WITHIN);
        let mut samples: Vec<_> = self.recording.samples().collect();
        // Each schema has a connection of its own.
        samples.sort_by_key(|sample| (sample.schema, sample.kind));
        for sample in samples {
            let Ok(text) = self.recording.text(&sample) else { continue };
            if !is_explained(&text, dialect) {
                continue;
            }
            found.asked += 1;
            if deadline.time_left().is_err() {
                found.failure.get_or_insert_with(|| "there was no time left".to_owned());
                continue;
            }
            let admin = match connection.take_if(|(at, _)| *at == sample.schema) {
                Some((_, admin)) => Ok(admin),
                None => connect(&self.schemas[sample.schema as usize], deadline),
            };
            let steps = admin.and_then(|admin| {
                let (_, admin) = connection.insert((sample.schema, admin));
                steps_of(admin, words, &text, deadline)
            });
            found.add(&self.recording, usize::from(sample.kind), steps);
        }
        found.facts()
    }
}

/// The steps of the plan of `text`. What a server computes to make it, such as the value of a function, leaves nothing behind.
fn steps_of<A: AdminConnection>(
    admin: &mut A,
    words: PlanWords,
    text: &str,
    deadline: Deadline,
) -> Result<Option<Vec<String>>, OpFailure> {
    admin.query_until("BEGIN", deadline)?;
    let answer = admin.query_until(&format!("{} {text}", words.explain), deadline);
    let lost = answer.as_ref().err().and_then(WireError::lost);
    if lost.is_some_and(|error| error.kind() == ErrorKind::TimedOut) {
        admin.cancel_statement();
    }
    if lost.is_none() {
        admin.query_until("ROLLBACK", deadline)?;
    }
    Ok((words.steps)(&answer?))
}

impl AskedPlans {
    fn add(&mut self, recording: &SqlRecording, kind: usize, steps: Result<Option<Vec<String>>, OpFailure>) {
        match steps {
            Ok(Some(steps)) => {
                let name = recording.kinds()[kind].name.clone();
                self.plans.push((kind, KindPlan { kind: name, steps }));
            }
            Ok(None) => {}
            Err(failure) => self.fail(&failure),
        }
    }

    fn fail(&mut self, failure: &OpFailure) {
        self.failure.get_or_insert_with(|| without_values(&failure.text));
    }

    /// `18 of 20 kinds`, and why not of the others.
    fn facts(self) -> Vec<Fact> {
        if self.asked == 0 {
            return Vec::new();
        }
        let why = self.failure.map_or(String::new(), |why| format!("; the first that failed: {why}"));
        let count = Fact::new(REPLAY_PLANS_FACT, format!("{} of {} kinds{why}", self.plans.len(), self.asked));
        [count].into_iter().chain(self.plans.iter().map(|(kind, plan)| plan_fact(kind + 1, plan))).collect()
    }
}

fn plan_fact(nth: usize, plan: &KindPlan) -> Fact {
    Fact::new(format!("{REPLAY_PLAN_FACT}{nth}"), plan.text())
}

/// Whether `text` is one statement that is explained and not executed. Behind a semicolon may be another, which would be.
fn is_explained(text: &str, dialect: LogDialect) -> bool {
    let Ok(lexed) = sql::lex(text, Reading::usual(dialect.sql())) else { return false };
    let first = lexed.tokens.iter().find(|token| !token.is_sign(text, "("));
    text.len() <= TEXT_BYTES_MAX
        && !lexed.is_doubtful
        && first.is_some_and(|first| first.is_word(text, &EXPLAINED))
        && !lexed.tokens.iter().any(|token| token.is_sign(text, ";"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::FailureClass;

    #[test]
    fn only_one_statement_that_servers_explain_is_asked_about() {
        let is = |text| is_explained(text, LogDialect::Postgres) && is_explained(text, LogDialect::Mysql);
        for good in [
            "select 1",
            "(SELECT 1) UNION (SELECT 2)",
            "/* a; b */ UPDATE t SET c = ';'",
            "WITH x AS (SELECT 1) SELECT 2",
        ] {
            assert!(is(good), "{good}");
        }
        for bad in [
            "SELECT 1; DELETE FROM t",
            "ANALYZE t",
            "ANALYZE SELECT 1",
            "CALL p()",
            "SET a = 1",
            "(",
            "SELECT 'a",
            "BEGIN",
        ] {
            assert!(!is(bad), "{bad}");
        }
        assert!(!is(&format!("INSERT INTO t VALUES ({})", "1,".repeat(TEXT_BYTES_MAX))));
    }

    #[test]
    fn a_failure_is_told_without_the_values_that_a_server_repeats() {
        for (message, told) in [
            ("invalid input syntax for type integer: \"secret\"", "invalid input syntax for type integer: ?"),
            ("Table 'shop.t' doesn't exist", "Table 'shop.t' doesn't exist"),
            ("near 'secret' at line 1", "near ? at line ?"),
        ] {
            let mut found = AskedPlans { asked: 1, ..AskedPlans::default() };
            found.fail(&OpFailure::from_server(FailureClass::Other, message));
            assert_eq!(found.facts()[0].value, format!("0 of 1 kinds; the first that failed: {told}"));
        }
    }

    #[test]
    fn it_is_told_of_how_many_kinds_there_is_a_plan_and_why_not_of_the_others() {
        let plan = KindPlan { kind: "select c from t".into(), steps: vec!["reads all of `t`".into()] };
        let found = AskedPlans { plans: vec![(3, plan.clone())], asked: 2, failure: Some("permission denied".into()) };
        let facts = found.facts();
        assert_eq!(
            (&*facts[0].name, &*facts[0].value),
            (REPLAY_PLANS_FACT, "1 of 2 kinds; the first that failed: permission denied")
        );
        assert_eq!(facts[1], plan_fact(4, &plan));
        assert!(AskedPlans::default().facts().is_empty());
    }
}
