//! What a person reads when an engine does not take a statement that the person wrote.
//!
//! In: the statement as it was sent, with `?` for each value, the operations of the plan, the engine's reason. Out: a sentence with the
//! name of the operation and the statement as it was written, with `:id` for the value. Limits: a statement that is not of the plan is
//! quoted as it was sent.

use model::statement::{CustomOp, CustomStatement};
use model::{Trial, Value};

/// The operations that the user wrote for `trial`, those in the background behind the others.
pub fn custom_ops(trial: &Trial) -> Vec<CustomOp> {
    let params = &trial.workload.params;
    let written =
        params.0.values().filter_map(|value| if let Value::Statements(ops) = value { Some(ops) } else { None });
    written.flatten().chain(params.background().iter().map(|entry| &entry.op)).cloned().collect()
}

/// Why `sent` was not taken: ``statement `a` was rejected: no such column: nosuch in `SELECT nosuch FROM t WHERE id = :id` ``.
pub fn rejection(sent: &str, written: &[CustomOp], why: &str) -> String {
    let all = written.iter().flat_map(|op| op.statements.iter().map(move |own| (op, own)));
    let mut written = all.filter(|(_, own)| own.is_written_as(sent));
    match written.next() {
        Some((op, own)) => {
            let (why, text) = (with_placeholders(why, sent, own), host::error::shown(own.as_written().as_ref()));
            format!("statement `{}` was rejected: {why} in `{text}`", op.name)
        }
        None => format!("statement `{}` was rejected: {why}", host::error::shown(sent.as_ref())),
    }
}

/// `why` with placeholders in the rest of the statement that MySQL and MariaDB quote after `near`.
fn with_placeholders(why: &str, sent: &str, own: &CustomStatement) -> String {
    const NEAR: &str = "near '";
    let quoted = why.split_once(NEAR).and_then(|(before, rest)| Some((before, rest.rsplit_once('\'')?)));
    let Some((before, (quoted, after))) = quoted else { return why.to_owned() };
    let Some(at) = sent.find(quoted) else { return why.to_owned() };
    let values = own.values.iter().skip(sent[..at].matches('?').count());
    let mut parts = quoted.split('?');
    let first = parts.next().unwrap_or_default().to_owned();
    let quoted = parts.zip(values).fold(first, |text, (part, value)| text + &value.to_string() + part);
    format!("{before}{NEAR}{quoted}'{after}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::statement::{CustomValue, Draw};

    fn by_key(text: &str) -> Vec<CustomOp> {
        let values = [Draw::C, Draw::Id].map(|draw| CustomValue { draw, nth: 1 }).to_vec();
        let statements = vec![CustomStatement { text: text.into(), values }];
        vec![CustomOp { name: "by_key".into(), weight: 1, statements }]
    }

    #[test]
    fn a_statement_of_the_plan_is_quoted_as_it_was_written() {
        let ops = by_key("UPDATE sbtest{table} SET nosuch = ? WHERE id = ?");
        assert_eq!(
            rejection("UPDATE sbtest12 SET nosuch = ? WHERE id = ?", &ops, "Unknown column 'nosuch' in 'field list'"),
            "statement `by_key` was rejected: Unknown column 'nosuch' in 'field list' in `UPDATE sbtest{table} SET nosuch = :c \
             WHERE id = :id`"
        );
        let other = rejection("SELECT ?", &ops, "no reason");
        assert_eq!(other, "statement `SELECT ?` was rejected: no reason");
    }

    #[test]
    fn the_part_that_a_server_quotes_has_placeholders_too() {
        let ops = by_key("UPDATE sbtest{table} SET c = ? WERE id = ?");
        let why = "You have an error in your SQL syntax near 'WERE id = ?' at line 1";
        let text = rejection("UPDATE sbtest1 SET c = ? WERE id = ?", &ops, why);
        assert!(text.contains("near 'WERE id = :id' at line 1 in `UPDATE sbtest{table} SET c = :c WERE"), "{text}");
    }
}
