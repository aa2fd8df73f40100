//! What the statements of a replay failed with: each message of the server, and how often it came.
//!
//! In: the messages of all clients. Out: a fact for each of the most frequent ones, one with how many statements failed as they did when they
//! were recorded, and one with those that may have failed then, too; both are no failures here. Limits: numbers and quoted values behind the server's own code are `?`, so that `Duplicate entry
//! '5'` and `Duplicate entry '6'` are one message, and neither value is in the run file. Of more than a thousand messages the later ones are one.

use crate::server::message;
use crate::sql::OpFailure;
use model::{Fact, FailureClass, FailureMessage, REPLAY_FAILURES_FACT, REPLAY_UNTOLD_FACT};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

const MESSAGES_MAX: usize = 1_000;
/// So many become facts.
const TOLD_MAX: usize = 5;
const OTHERS: &str = "other messages";

/// The messages of all clients. Clients lock it only after a failure, when the statement has its times.
#[derive(Default)]
pub struct ReplayFailures {
    messages: Mutex<HashMap<String, u64>>,
    /// Statements that failed when they were recorded, too.
    as_recorded: AtomicU64,
    /// Statements of which the log does not say whether they failed then.
    untold: AtomicU64,
}

impl ReplayFailures {
    /// Counts a statement that failed as it did when it was recorded.
    pub fn count_as_recorded(&self) {
        self.as_recorded.fetch_add(1, Relaxed);
    }

    /// Counts a statement that failed and may have failed when it was recorded.
    pub fn count_untold(&self) {
        self.untold.fetch_add(1, Relaxed);
    }

    /// Counts a statement that failed like this.
    pub fn add(&self, failure: &OpFailure) {
        let message = told(failure).text;
        let mut all = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = all.len() < MESSAGES_MAX || all.contains_key(&message);
        *all.entry(if has_room { message } else { OTHERS.to_owned() }).or_default() += 1;
    }

    /// The most frequent messages, each with its number of statements before it.
    pub fn facts(&self) -> Vec<Fact> {
        let all = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<(&String, &u64)> = all.iter().collect();
        all.sort_by(|one, other| other.1.cmp(one.1).then(one.0.cmp(other.0)));
        let told = (1..).zip(all.into_iter().take(TOLD_MAX));
        let told = told.map(|(nth, (message, failed))| {
            let message = FailureMessage { failed: *failed, message: message.clone() };
            Fact::new(format!("{REPLAY_FAILURES_FACT}{nth}"), message.to_string())
        });
        let done = [("replay_failed_as_recorded", &self.as_recorded), (REPLAY_UNTOLD_FACT, &self.untold)];
        let done = done.into_iter().map(|(name, count)| (name, count.load(Relaxed)));
        let done = done.filter(|(_, count)| *count > 0).map(|(name, count)| Fact::new(name, count.to_string()));
        told.chain(done).collect()
    }
}

/// Errors of MySQL and MariaDB that come of the copy or of the load, and not of what an application has sent: too many connections, rights,
/// schemas, tables and routines that are not there, limits of time and of an account.
const OF_COPY_OR_LOAD: [u16; 14] = [1040, 1044, 1045, 1049, 1142, 1143, 1146, 1203, 1226, 1227, 1305, 1370, 1969, 3024];

/// Whether `failure` may be what the application was answered, too, if the log does not say: neither the load nor a copy that lacks something makes it.
pub fn may_be_of_application(failure: &OpFailure) -> bool {
    let code: Option<u16> = failure.text.strip_prefix("ERROR ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    failure.class == FailureClass::Other && code.is_some_and(|code| !OF_COPY_OR_LOAD.contains(&code))
}

/// In messages of MySQL and MariaDB, names stand behind these words, too.
const NAMED_IN_MYSQL: [&str; 6] = ["key", "field", "in", "trigger", "procedure", "variable"];

/// With these words the server begins a message of its own, before its code.
const SEVERITIES: [&str; 3] = ["ERROR ", "FATAL ", "PANIC "];

/// `message` without the values of its statement: the server's code and names of tables and columns stay.
pub fn without_values(message: &str) -> String {
    let is_name = |word: &str| message::NAMED.contains(&word) || NAMED_IN_MYSQL.contains(&word);
    let (code, words) = message.split_at(code_end(message));
    format!("{code}{}", message::without_values(words, |_, word| is_name(&word.to_ascii_lowercase())))
}

/// Where the server's code ends, if `message` begins with one: behind `ERROR 1146 (42S02): ` or `ERROR 42P01: `.
fn code_end(message: &str) -> usize {
    let is_of_code = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || " ()".contains(c);
    let has_severity = SEVERITIES.iter().any(|severity| message.starts_with(severity));
    let code = message.split_once(": ").filter(|(code, _)| has_severity && code.chars().all(is_of_code));
    code.map_or(0, |(code, _)| code.len() + ": ".len())
}

/// `failure` as you may read it: its message without the recorded values. The message of a lost connection has none, and stays as it is.
pub fn told(failure: &OpFailure) -> OpFailure {
    let is_of_connection = failure.class.is_of_connection();
    let text = if is_of_connection { failure.text.clone() } else { without_values(&failure.text) };
    OpFailure { class: failure.class, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(text: &str) -> OpFailure {
        OpFailure::from_server(FailureClass::Other, text)
    }

    #[test]
    fn no_recorded_value_is_told_of_a_failure_and_the_address_of_a_lost_connection_is() {
        let of = |class, text: &str| told(&OpFailure::from_server(class, text)).text;
        assert_eq!(of(FailureClass::Other, "Data too long: 'canary 7'"), "Data too long: ?");
        assert_eq!(of(FailureClass::Other, "ERROR 7 'canary': 8"), "ERROR ? ?: ?", "no code of a server");
        let limit = "a statement with its arguments is longer than sixteen MiB";
        assert_eq!(of(FailureClass::Other, limit), limit, "the limit is no value");
        assert_eq!(of(FailureClass::Lost, "no answer of 127.0.0.1:3306"), "no answer of 127.0.0.1:3306");
    }

    #[test]
    fn the_most_frequent_message_comes_first_and_numbers_in_it_make_no_difference() {
        let failures = ReplayFailures::default();
        assert!(failures.facts().is_empty());
        failures.add(&failure("ERROR 1146 (42S02): Table 'shop.t2' doesn't exist"));
        failures.add(&failure("ERROR 42P01: relation \"t3\" does not exist"));
        for nth in 0..3 {
            failures.add(&failure(&format!("ERROR 1062 (23000): Duplicate entry 'ann-{nth}@x.y' for key 'PRIMARY'")));
        }
        let lost = "connection refused at host `127.0.0.1`, port 3306; is the server running?";
        (0..2).for_each(|_| failures.add(&OpFailure::from_server(FailureClass::Lost, lost)));
        let facts: Vec<(String, String)> = failures.facts().into_iter().map(|fact| (fact.name, fact.value)).collect();
        let fact = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [
            fact("replay_failures.1", "3 ERROR 1062 (23000): Duplicate entry ? for key 'PRIMARY'"),
            fact("replay_failures.2", &format!("2 {lost}")),
            fact("replay_failures.3", "1 ERROR 1146 (42S02): Table 'shop.t2' doesn't exist"),
            fact("replay_failures.4", "1 ERROR 42P01: relation \"t3\" does not exist"),
        ];
        assert_eq!(facts, expected);
    }

    #[test]
    fn what_fails_as_it_was_recorded_is_counted_apart() {
        let failures = ReplayFailures::default();
        (0..2).for_each(|_| failures.count_as_recorded());
        failures.count_untold();
        let facts = failures.facts();
        assert_eq!(facts, [Fact::new("replay_failed_as_recorded", "2"), Fact::new("replay_failed_untold", "1")]);
    }

    #[test]
    fn an_error_of_the_load_or_of_the_copy_is_none_of_the_application() {
        let is_own = |class, text: &str| may_be_of_application(&OpFailure::from_server(class, text));
        let other = |text: &str| is_own(FailureClass::Other, text);
        assert!(other("ERROR 1064 (42000): You have an error in your SQL syntax"));
        assert!(other("ERROR 1062 (23000): Duplicate entry '5' for key 'name'"));
        assert!(!other("ERROR 1146 (42S02): Table 'shop.t' doesn't exist"));
        assert!(!other("ERROR 1969 (70100): Query execution was interrupted (max_statement_time exceeded)"));
        assert!(!is_own(FailureClass::Conflict, "ERROR 1213 (40001): Deadlock found"));
        assert!(!other("ERROR 42601: syntax error"), "no log of PostgreSQL leaves it open");
    }

    #[test]
    fn however_many_messages_there_are_the_account_is_bounded_and_none_is_lost() {
        let failures = ReplayFailures::default();
        (0..3_000).for_each(|nth| failures.add(&failure(&format!("unknown column c{nth}"))));
        let all = failures.messages.lock().unwrap();
        assert_eq!((all.len(), all.values().sum::<u64>()), (MESSAGES_MAX + 1, 3_000));
    }
}
