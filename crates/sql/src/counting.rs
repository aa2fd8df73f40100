//! What a statement does to the counters behind ids, besides as an INSERT: it takes numbers whose count it does not say, or sets a counter.
//!
//! In: a statement that was split. Out: counters, by their names or by those of their tables, and where each goes on. Limits: a statement is not
//! parsed, and what it calls is not seen. What begins as an INSERT is that of [`insert_into`](crate::insert_into), and what makes a trigger or a
//! procedure does nothing yet.

use crate::lexer::{Token, TokenKind};
use crate::reading::Dialect;
use crate::split::{SplitText, TableName};

/// A counter, as a statement names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedCounter {
    /// That of the table.
    OfTable(TableName),
    /// The sequence.
    Sequence(TableName),
    /// It may be any.
    Any,
}

/// Where a counter goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountsFrom {
    /// Behind an unknown number of values.
    Unknown,
    /// Behind this value, also if the transaction is rolled back.
    Last(u64),
    /// Behind this value, by a statement that changes the sequence or the table.
    Restart(u64),
    /// At its beginning, by such a statement.
    Start,
}

/// That a statement moves a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterMove {
    pub counter: NamedCounter,
    pub to: CountsFrom,
}

/// How `text`, which was split into `tokens`, moves counters.
pub fn counter_moves(text: &str, tokens: &[Token], dialect: Dialect) -> Vec<CounterMove> {
    let split = SplitText { text, tokens, dialect };
    if split.is_word(0, &["create"]) {
        return Vec::new();
    }
    let mut moves = Vec::new();
    if dialect == Dialect::Postgres && split.is_word(0, &["do"]) {
        moves.push(CounterMove { counter: NamedCounter::Any, to: CountsFrom::Unknown });
    }
    // Several statements may be in one text.
    let begins = (0..tokens.len()).filter(|at| *at == 0 || split.is_sign(at - 1, ";"));
    for at in begins {
        push_resets(split, at, &mut moves);
    }
    for at in 0..tokens.len() {
        moves.extend(
            unknown_rows(split, at)
                .map(|table| CounterMove { counter: NamedCounter::OfTable(table), to: CountsFrom::Unknown }),
        );
        if dialect == Dialect::Postgres {
            moves.extend(called(split, at));
        }
    }
    moves
}

/// The table into which what begins at `at` inserts, within something else.
fn unknown_rows(split: SplitText<'_>, at: usize) -> Option<TableName> {
    let is_insert = at > 0 && split.is_word(at, &["insert", "replace"]);
    let is_merge = split.is_word(at, &["merge"]) && (at..split.tokens.len()).any(|at| split.is_word(at, &["insert"]));
    let is_load = split.is_word(0, &["load"]) && split.is_word(at + 1, &["into"]) && split.is_word(at + 2, &["table"]);
    if is_load {
        return Some(split.table_at(at + 3)?.0);
    }
    let into = at + 1 + usize::from(split.is_word(at + 1, &["ignore"]));
    if !(is_insert || is_merge) {
        return None;
    }
    if !split.is_word(into, &["into"]) {
        // MySQL needs no INTO. What it calls has a bracket behind it.
        return (is_insert && split.dialect != Dialect::Postgres)
            .then(|| split.table_at(into))?
            .map(|(table, _)| table);
    }
    let only = usize::from(is_merge && split.is_word(into + 1, &["only"]));
    Some(split.table_at(into + 1 + only)?.0)
}

/// What a call of `nextval` or `setval` at `at` does.
fn called(split: SplitText<'_>, at: usize) -> Option<CounterMove> {
    let is_set = split.is_word(at, &["setval"]);
    if !(is_set || split.is_word(at, &["nextval"])) || !split.is_sign(at + 1, "(") {
        return None;
    }
    let (counter, behind) = named_by_argument(split, at + 2);
    let last = || {
        let value = split.tokens.get(behind + 1).filter(|_| split.is_sign(behind, ","))?.text(split.text);
        let value = value.trim_matches('\'').parse::<u64>().ok()?;
        let is_called = split.is_sign(behind + 2, ",") && split.is_sign(behind + 4, ")");
        if split.is_sign(behind + 2, ")") || is_called && split.is_word(behind + 3, &["true"]) {
            return Some(value);
        }
        // The next value is this one.
        value.checked_sub(1).filter(|_| is_called && split.is_word(behind + 3, &["false"]))
    };
    let to = if is_set { last().map_or(CountsFrom::Unknown, CountsFrom::Last) } else { CountsFrom::Unknown };
    Some(CounterMove { counter, to })
}

/// The counter that the argument at `at` names, and the number of the token behind it.
fn named_by_argument(split: SplitText<'_>, at: usize) -> (NamedCounter, usize) {
    let is_of_table = split.is_word(at, &["pg_get_serial_sequence"]) && split.is_sign(at + 1, "(");
    let name = quoted_name(split, if is_of_table { at + 2 } else { at });
    let behind = if is_of_table { split.behind_bracket(at + 1).unwrap_or(at) } else { at + 1 };
    let is_cast = split.is_sign(behind, "::");
    let behind = if is_cast { split.behind_name(behind + 1).unwrap_or(behind) } else { behind };
    let counter = match name {
        Some(table) if is_of_table => NamedCounter::OfTable(table),
        Some(sequence) => NamedCounter::Sequence(sequence),
        None => NamedCounter::Any,
    };
    (counter, behind)
}

/// The name in the text at `at`: `'shop."Orders"'`.
fn quoted_name(split: SplitText<'_>, at: usize) -> Option<TableName> {
    let token = split.tokens.get(at).filter(|token| token.kind == TokenKind::Text)?;
    let inside = token.text(split.text).strip_prefix('\'')?.strip_suffix('\'')?;
    let inner = crate::lexer::tokens(inside, split.dialect).ok()?;
    let (table, behind) = SplitText { text: inside, tokens: &inner, dialect: split.dialect }.table_at(0)?;
    (behind == inner.len()).then_some(table)
}

/// Adds what the statement that begins at `at` sets.
fn push_resets(split: SplitText<'_>, at: usize, moves: &mut Vec<CounterMove>) {
    let end = (at..split.tokens.len()).find(|nth| split.is_sign(*nth, ";")).unwrap_or(split.tokens.len());
    let has = |word: &str| (at..end).any(|nth| split.is_word(nth, &[word]));
    if split.is_word(at, &["truncate"]) && (split.dialect != Dialect::Postgres || has("restart")) {
        let first = at + 1 + usize::from(split.is_word(at + 1, &["table"]));
        push_tables(split, first, moves);
        if has("cascade") {
            // Whatever refers to them begins again, too.
            moves.push(CounterMove { counter: NamedCounter::Any, to: CountsFrom::Unknown });
        }
    }
    if split.is_word(at, &["alter"]) && split.is_word(at + 1, &["table", "sequence"]) {
        let is_sequence = split.is_word(at + 1, &["sequence"]);
        let name_at = (at + 2..end).find(|nth| !split.is_word(*nth, &["if", "exists", "only"]));
        let Some((name, behind)) = name_at.and_then(|nth| split.table_at(nth)) else { return };
        let word = if split.dialect == Dialect::Postgres { "restart" } else { "auto_increment" };
        let Some(set_at) = (behind..end).find(|nth| split.is_word(*nth, &[word])) else { return };
        let counter = if is_sequence { NamedCounter::Sequence(name) } else { NamedCounter::OfTable(name) };
        let value_at = set_at + 1 + usize::from(split.is_word(set_at + 1, &["with"]) || split.is_sign(set_at + 1, "="));
        let next = split.tokens.get(value_at).and_then(|token| token.text(split.text).parse::<u64>().ok());
        let to = match next {
            Some(next) => CountsFrom::Restart(next.saturating_sub(1)),
            None if split.dialect == Dialect::Postgres => CountsFrom::Start,
            // A column is made or changed that counts.
            None => CountsFrom::Unknown,
        };
        moves.push(CounterMove { counter, to });
    }
}

/// Adds that the counters of the tables in the list from `at` on begin again.
fn push_tables(split: SplitText<'_>, mut at: usize, moves: &mut Vec<CounterMove>) {
    loop {
        at += usize::from(split.is_word(at, &["only"]));
        let Some((table, behind)) = split.table_at(at) else { return };
        moves.push(CounterMove { counter: NamedCounter::OfTable(table), to: CountsFrom::Start });
        let comma = behind + usize::from(split.is_sign(behind, "*"));
        if !split.is_sign(comma, ",") {
            return;
        }
        at = comma + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::Dialect::{Mysql, Postgres};
    use super::*;
    use crate::lexer::tokens;

    /// `orders ?, seq:shared_seq 3000, any ?`
    fn moved(text: &str, dialect: Dialect) -> String {
        let of = |found: CounterMove| {
            let full = |name: TableName| match name.schema {
                Some(schema) => format!("{schema}.{}", name.table),
                None => name.table,
            };
            let counter = match found.counter {
                NamedCounter::OfTable(name) => full(name),
                NamedCounter::Sequence(name) => format!("seq:{}", full(name)),
                NamedCounter::Any => "any".to_owned(),
            };
            match found.to {
                CountsFrom::Unknown => format!("{counter} ?"),
                CountsFrom::Last(last) => format!("{counter} {last}"),
                CountsFrom::Restart(last) => format!("{counter} again {last}"),
                CountsFrom::Start => format!("{counter} start"),
            }
        };
        counter_moves(text, &tokens(text, dialect).unwrap(), dialect).into_iter().map(of).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn what_inserts_within_something_else_takes_an_unknown_number() {
        for (text, expected) in [
            ("WITH x AS (INSERT INTO sa (v) VALUES ('w') RETURNING id) SELECT id FROM x", "sa ?"),
            (
                "with n as (insert into shop.orders (a) values (1) returning id) insert into lines select id from n",
                "shop.orders ?, lines ?",
            ),
            ("MERGE INTO ONLY sa USING t ON sa.id = t.id WHEN NOT MATCHED THEN INSERT (v) VALUES (1)", "sa ?"),
            ("MERGE INTO sa USING t ON sa.id = t.id WHEN MATCHED THEN DELETE", ""),
            ("UPDATE t SET a = 1; INSERT INTO sa (v) VALUES (1)", "sa ?"),
            ("INSERT INTO sa (v) VALUES (1) ON CONFLICT DO NOTHING", ""),
            ("INSERT INTO sa (v) SELECT replace(a, 'INSERT INTO t', '') FROM t", ""),
            ("CREATE FUNCTION f() RETURNS int BEGIN ATOMIC INSERT INTO sa (v) VALUES (1); END", ""),
        ] {
            assert_eq!(moved(text, Postgres), expected, "{text}");
        }
        assert_eq!(moved("LOAD DATA LOCAL INFILE 'a' IGNORE INTO TABLE shop.orders (a)", Mysql), "shop.orders ?");
        assert_eq!(moved("BEGIN INSERT IGNORE INTO `audit` (a) VALUES (1); END", Mysql), "audit ?");
        assert_eq!(moved("BEGIN INSERT audit SET a = insert('b', 1, 1, 'c'); END", Mysql), "audit ?");
    }

    #[test]
    fn calls_take_numbers_or_set_the_sequence() {
        for (text, expected) in [
            ("SELECT nextval('shared_seq')", "seq:shared_seq ?"),
            ("SELECT pg_catalog.nextval('s2.\"Odd\"'::regclass), 1", "seq:s2.Odd ?"),
            ("SELECT nextval($1)", "any ?"),
            ("DO $$ BEGIN INSERT INTO orders (a) VALUES (1); END $$", "any ?"),
            ("SELECT setval('Orders_id_seq', 3000)", "seq:orders_id_seq 3000"),
            ("SELECT setval('orders_id_seq'::regclass, 3000, false)", "seq:orders_id_seq 2999"),
            ("SELECT setval('orders_id_seq', 3000, true)", "seq:orders_id_seq 3000"),
            ("SELECT setval('orders_id_seq', (SELECT max(id) FROM orders))", "seq:orders_id_seq ?"),
            ("SELECT setval('orders_id_seq', 3000, a)", "seq:orders_id_seq ?"),
            ("SELECT setval(pg_get_serial_sequence('shop.orders', 'id'), 3000)", "shop.orders 3000"),
            ("SELECT 'nextval(1)', nextval FROM t", ""),
        ] {
            assert_eq!(moved(text, Postgres), expected, "{text}");
        }
        assert_eq!(moved("SELECT nextval(s)", Mysql), "", "it is no counter of a column");
    }

    #[test]
    fn a_counter_begins_again_where_a_statement_says_so() {
        for (text, expected) in [
            ("TRUNCATE small RESTART IDENTITY", "small start"),
            ("truncate table only small *, shop.orders restart identity", "small start, shop.orders start"),
            ("TRUNCATE small RESTART IDENTITY CASCADE", "small start, any ?"),
            ("TRUNCATE small", ""),
            ("ALTER SEQUENCE IF EXISTS s2.seq RESTART WITH 90", "seq:s2.seq again 89"),
            ("ALTER SEQUENCE seq RESTART", "seq:seq start"),
            ("ALTER TABLE ONLY small ALTER COLUMN id RESTART WITH 7", "small again 6"),
            ("ALTER TABLE small ADD COLUMN n int", ""),
        ] {
            assert_eq!(moved(text, Postgres), expected, "{text}");
        }
        assert_eq!(moved("TRUNCATE TABLE small", Mysql), "small start");
        assert_eq!(moved("ALTER TABLE shop.small AUTO_INCREMENT = 7", Mysql), "shop.small again 6");
        assert_eq!(moved("ALTER TABLE small AUTO_INCREMENT 7, ADD n int", Mysql), "small again 6");
        assert_eq!(moved("ALTER TABLE small MODIFY id BIGINT AUTO_INCREMENT", Mysql), "small ?");
    }
}
