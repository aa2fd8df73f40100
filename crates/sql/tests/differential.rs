//! Generated statements, judged here and performed by a real server in read-only transactions: what the server refuses as a write must not be
//! judged as a read.
//!
//! In: `PLIMSOLL_PSQL` or `PLIMSOLL_MARIADB`, the command line of a client on a server that can be thrown away, words parted by blanks;
//! `PLIMSOLL_ROUNDS` (100,000 if it is not set). Out: counts of agreement, of what was judged more strictly, and of what was judged laxer.
//! Limits: a server also fails statements for other reasons; those prove nothing.

use sql::{Dialect, Effect, Judge};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

/// What the statements read and write.
const TABLES: &str = "DROP TABLE IF EXISTS diff_t; CREATE TABLE diff_t (id INT PRIMARY KEY, c VARCHAR(20)); INSERT INTO diff_t VALUES (1, 'a'), (2, 'b');";

struct Dice(u64);

impl Dice {
    /// Marsaglia's xorshift64.
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn pick(&mut self, from: &[&str]) -> String {
        from[self.roll(from.len())].to_owned()
    }
}

const VALUES: [&str; 15] = [
    "1",
    "'a'",
    "'it''s'",
    "c",
    "id",
    "t.c",
    "NULL",
    "-1.5e-3",
    "'a; DELETE FROM diff_t'",
    "'\\'",
    "'-- x'",
    "'/*'",
    "diff_t.id",
    "(SELECT max(id) FROM diff_t)",
    "count(*)",
];
const MYSQL_VALUES: [&str; 12] = [
    "\"insert\"",
    "@a",
    "@a := 1",
    "@@version",
    "GET_LOCK('diff', 0)",
    "RELEASE_LOCK('diff')",
    "REPLACE('a', 'a', 'b')",
    "TRUNCATE(1.5, 1)",
    "`c`",
    "diff_seq.nextval",
    "NEXT VALUE FOR diff_seq",
    "LAST_INSERT_ID()",
];
const POSTGRES_VALUES: [&str; 14] = [
    "$$a'b$$",
    "$x$ $$ ' $x$",
    "E'it\\'s'",
    "'a'::text",
    "nextval('diff_seq')",
    "\"nextval\"('diff_seq')",
    "pg_catalog . nextval ('diff_seq')",
    "setval('diff_seq', 5)",
    "diff_write()",
    "t.diff_write_row",
    "lower('A')",
    "txid_current()",
    "query_to_xml('SELECT diff_write()', true, true, '')",
    "lo_creat(-1)",
];
const MYSQL_COMMENTS: [&str; 6] =
    ["/* it's */", "-- it's\n", "# it's\n", "/*! , 2 */", "/*!99999 FOR UPDATE */", "/*M!100100 , 3 */"];
const POSTGRES_COMMENTS: [&str; 4] = ["/* it's */", "--it's\n", "/* /* ' */ */", "/*! FOR UPDATE */"];
const TAILS: [&str; 9] = [
    "",
    "",
    " WHERE id = 1",
    " ORDER BY 1",
    " LIMIT 1",
    " FOR UPDATE",
    " FOR SHARE",
    " INTO diff_u",
    " WHERE c IN ('a', 'b') ",
];
const WRITES: [&str; 9] = [
    "INSERT INTO diff_t VALUES (9, 'z')",
    "UPDATE diff_t SET c = 'x'",
    "DELETE FROM diff_t",
    "TRUNCATE TABLE diff_t",
    "CREATE TABLE diff_x (a INT)",
    "DROP TABLE diff_t",
    "ALTER TABLE diff_t ADD x INT",
    "CREATE INDEX diff_i ON diff_t (c)",
    "LOCK TABLE diff_t",
];

fn statement(dice: &mut Dice, dialect: Dialect) -> String {
    let is_mysql = dialect == Dialect::Mysql;
    let value = |dice: &mut Dice| match dice.roll(3) {
        0 if is_mysql => dice.pick(&MYSQL_VALUES),
        0 => dice.pick(&POSTGRES_VALUES),
        _ => dice.pick(&VALUES),
    };
    let comment = |dice: &mut Dice| match dice.roll(4) {
        0 if is_mysql => dice.pick(&MYSQL_COMMENTS),
        0 => dice.pick(&POSTGRES_COMMENTS),
        _ => String::new(),
    };
    let select = |dice: &mut Dice| {
        let values: Vec<String> = (0..=dice.roll(2)).map(|_| value(dice)).collect();
        format!("SELECT {}{} FROM diff_t t{}", comment(dice), values.join(", "), dice.pick(&TAILS))
    };
    match dice.roll(12) {
        0 => dice.pick(&WRITES),
        1 => format!("EXPLAIN {}", dice.pick(&WRITES)),
        2 => format!("EXPLAIN {}", select(dice)),
        3 if !is_mysql => format!("EXPLAIN ANALYZE {}", dice.pick(&WRITES)),
        4 if !is_mysql => format!("WITH x AS ({} RETURNING 1) {}", dice.pick(&WRITES[..3]), select(dice)),
        5 => format!("WITH x (a) AS (SELECT 1) {}", select(dice)),
        6 => format!("({}) UNION ({})", select(dice), select(dice)),
        7 => format!("{}{}", comment(dice), select(dice)),
        _ => select(dice),
    }
}

/// What each of `texts` ended with on the server: `None` without an error.
fn performed(client: &str, texts: &[String], dialect: Dialect) -> Vec<Option<String>> {
    let mut words = client.split(' ');
    let mut command = Command::new(words.next().expect("a program"));
    // Errors and rows in one stream, in their order.
    let (mut reader, ours) = std::io::pipe().expect("a pipe");
    command.args(words).stdin(Stdio::piped()).stdout(ours.try_clone().expect("a pipe")).stderr(ours);
    let (begin, of): (String, fn(usize, &str) -> String) = match dialect {
        Dialect::Mysql => (
            format!(
                "{TABLES} CREATE SEQUENCE IF NOT EXISTS diff_seq; SET SESSION TRANSACTION READ ONLY; DELIMITER ;;\n"
            ),
            |nth, text| format!("{text}\n;;\nSELECT 'done {nth}';;\n"),
        ),
        _ => (
            format!(
                "{TABLES} CREATE SEQUENCE IF NOT EXISTS diff_seq; CREATE OR REPLACE FUNCTION diff_write() RETURNS int LANGUAGE sql AS \
                 'INSERT INTO diff_t VALUES (77) RETURNING 1'; CREATE OR REPLACE FUNCTION diff_write_row(diff_t) RETURNS int LANGUAGE sql \
                 AS 'INSERT INTO diff_t VALUES (77) RETURNING 1'; SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY;\n\\set VERBOSITY sqlstate\n"
            ),
            |nth, text| format!("{text}\n;\n\\echo done {nth} :SQLSTATE\n"),
        ),
    };
    // One that is not closed would take those behind it along.
    let closed = texts.iter().enumerate().filter(|(_, text)| sql::tokens(text, dialect).is_ok());
    let input = closed.map(|(nth, text)| of(nth, text)).fold(begin, |all, one| all + &one);
    let mut child = command.spawn().expect("the client is there");
    let mut stdin = child.stdin.take().expect("it is piped");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    // The last ends of the pipe for writing are the client's.
    drop(command);
    let mut out = Vec::new();
    reader.read_to_end(&mut out).expect("it can be read");
    drop((child.wait(), writer.join()));
    let out = String::from_utf8_lossy(&out).into_owned();
    let mut ends = vec![Some("lost".to_owned()); texts.len()];
    match dialect {
        Dialect::Mysql => {
            let mut last = None;
            for line in out.lines() {
                if let Some(rest) = line.strip_prefix("ERROR ") {
                    last = rest.split(' ').next().map(str::to_owned);
                } else if let Some(nth) = line.strip_prefix("done ").and_then(|nth| nth.parse::<usize>().ok()) {
                    ends[nth] = last.take();
                }
            }
        }
        _ => {
            for line in out.lines().filter_map(|line| line.strip_prefix("done ")) {
                let (nth, state) = line.split_once(' ').expect("two words");
                ends[nth.parse::<usize>().expect("a number")] = (state != "00000").then(|| state.to_owned());
            }
        }
    }
    ends
}

fn compare(client: &str, dialect: Dialect, refusal: &str) {
    let rounds: usize = std::env::var("PLIMSOLL_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let (mut dice, judge) = (Dice(0x9e37_79b9_7f4a_7c15), Judge::new(dialect));
    let mut names = sql::ServerNames::default();
    ["diff_write", "diff_write_row"].into_iter().for_each(|name| names.add_suspicious(name));
    let judge = judge.with_server(std::sync::Arc::new(names));
    let texts: Vec<String> = (0..rounds).map(|_| statement(&mut dice, dialect)).collect();
    let ends: Vec<Option<String>> = texts.chunks(5_000).flat_map(|texts| performed(client, texts, dialect)).collect();
    let (mut counts, mut stricter) = (BTreeMap::<&str, u64>::new(), BTreeMap::<String, u64>::new());
    let mut laxer = Vec::new();
    for (text, end) in texts.iter().zip(&ends) {
        let reads = judge.judge(text).ok().is_some_and(|found| found.effect == Effect::Reads);
        let kind = match (reads, end.as_deref()) {
            (_, Some("lost")) => "not performed",
            (true, Some(code)) if code == refusal => {
                laxer.push(text);
                "laxer"
            }
            (true, None) | (false, Some(_)) if end.is_none() || end.as_deref() == Some(refusal) => "agree",
            (_, Some(_)) => "failed for another reason",
            _ => {
                let found = judge.judge(text);
                let why =
                    found.map_or("unclosed".to_owned(), |it| it.cause.unwrap_or_else(|| format!("{:?}", it.effect)));
                *stricter.entry(why).or_default() += 1;
                "stricter"
            }
        };
        *counts.entry(kind).or_default() += 1;
    }
    println!("{dialect:?}: {counts:?}; stricter by {stricter:?}");
    assert!(laxer.is_empty(), "{} are laxer: {:#?}", laxer.len(), &laxer[..laxer.len().min(10)]);
    let performed =
        counts.iter().filter(|(kind, _)| matches!(**kind, "agree" | "stricter")).map(|(_, count)| count).sum::<u64>();
    assert!(performed > rounds as u64 / 10, "the server performed too few");
}

#[test]
#[ignore = "it needs a server that can be thrown away"]
fn no_statement_is_judged_laxer_than_a_server_does() {
    let clients = [("PLIMSOLL_PSQL", Dialect::Postgres, "25006"), ("PLIMSOLL_MARIADB", Dialect::Mysql, "1792")];
    let mut any = false;
    for (variable, dialect, refusal) in clients {
        if let Ok(client) = std::env::var(variable) {
            compare(&client, dialect, refusal);
            any = true;
        }
    }
    assert!(any, "set PLIMSOLL_PSQL or PLIMSOLL_MARIADB");
}
