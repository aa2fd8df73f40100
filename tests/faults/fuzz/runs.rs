//! Mutations of run files and workload files: of the bytes of the database, and of its tables, values and JSON.

use super::dice::Dice;
use super::texts::mutate_bytes;
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use serde_json::Value as Json;
use std::fs;
use std::path::Path;

/// Changes the run or workload file at `path`. What SQLite refuses stays as it was.
pub fn mutate_run(path: &Path, dice: &mut Dice) {
    if dice.one_in(3) {
        let mut bytes = fs::read(path).unwrap();
        for _ in 0..=dice.below(8) {
            bytes = mutate_bytes(bytes, dice);
        }
        return fs::write(path, bytes).unwrap();
    }
    let Ok(db) = Connection::open(path) else { return };
    let quick = "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA foreign_keys = OFF;
                 PRAGMA ignore_check_constraints = ON;";
    let _ = db.execute_batch(quick);
    for _ in 0..=dice.below(4) {
        let _ = mutate_table(&db, dice);
    }
}

fn names(db: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    db.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

fn mutate_table(db: &Connection, dice: &mut Dice) -> rusqlite::Result<()> {
    let tables = names(db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")?;
    let table = dice.pick(&tables).clone();
    let columns = names(db, &format!("SELECT name FROM pragma_table_info('{table}')"))?;
    let column = dice.pick(&columns).clone();
    let some = if dice.one_in(4) { "1".into() } else { format!("abs(random()) % {} = 0", 1 + dice.below(50)) };
    let sql = match dice.below(10) {
        0..=3 => {
            let value = any_value(dice);
            let set = format!("UPDATE OR REPLACE \"{table}\" SET \"{column}\" = ?1 WHERE {some}");
            return db.execute(&set, [value]).map(drop);
        }
        4 => format!(
            "UPDATE OR REPLACE \"{table}\" SET \"{column}\" = \"{column}\" * {}",
            dice.pick(&["-1", "1000", "0.001", "0"])
        ),
        5 => format!(
            "UPDATE OR REPLACE \"{table}\" SET \"{column}\" =
             (SELECT \"{column}\" FROM \"{table}\" ORDER BY random() LIMIT 1) WHERE {some}"
        ),
        6 => format!("DELETE FROM \"{table}\" WHERE {some}"),
        7 => format!("INSERT OR IGNORE INTO \"{table}\" SELECT * FROM \"{table}\" LIMIT {}", dice.below(100)),
        8 => return mutate_json(db, &table, &column, dice),
        _ => dice.pick(&SCHEMA).replace("{t}", &table).replace("{c}", &column),
    };
    db.execute_batch(&sql)
}

/// What a stranger may put next to the tables.
const SCHEMA: [&str; 9] = [
    "CREATE TRIGGER t AFTER INSERT ON \"{t}\" BEGIN DELETE FROM \"{t}\"; END",
    "CREATE TRIGGER u BEFORE UPDATE ON \"{t}\" BEGIN SELECT raise(ABORT, 'no'); END",
    "CREATE VIEW bomb AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
    "CREATE INDEX i ON \"{t}\" (\"{c}\")",
    "CREATE TABLE g (a INTEGER, b TEXT GENERATED ALWAYS AS (hex(zeroblob(a))) VIRTUAL)",
    "ALTER TABLE \"{t}\" ADD COLUMN more TEXT",
    "DROP TABLE \"{t}\"",
    "PRAGMA user_version = 2",
    "PRAGMA user_version = 4294967",
];

fn any_value(dice: &mut Dice) -> Value {
    match dice.below(9) {
        0 => Value::Null,
        1 => Value::Integer(*dice.pick(&[0, 1, -1, 255, 256, 65_536, 1 << 32, i64::MAX, i64::MIN, (1 << 53) + 1])),
        2 => Value::Integer(dice.below(1_000_000_000_000) as i64),
        3 => Value::Real(*dice.pick(&[0.0, -0.0, 0.5, 1e308, -1e308, 5e-324, f64::INFINITY, f64::NEG_INFINITY])),
        4 => Value::Text((*dice.pick(&TEXTS)).to_owned()),
        5 => Value::Text("x".repeat(*dice.pick(&[1, 300, 70_000, 3_000_000]))),
        6 => Value::Blob(vec![0; *dice.pick(&[0, 1, 300, 2_000_000])]),
        7 => Value::Blob((0..=dice.below(64)).map(|_| dice.below(256) as u8).collect()),
        _ => Value::Text("[".repeat(*dice.pick(&[1, 100, 100_000]))),
    }
}

const TEXTS: [&str; 14] = [
    "",
    "run",
    "warmup",
    "partial",
    "complete",
    "[]",
    "{}",
    "null",
    "[null]",
    "<script>alert(1)</script>",
    "=cmd()",
    "\u{1b}[2J",
    "a\nb|c`d",
    "\u{202e}\u{0}é",
];

/// Another value at some place of a JSON text.
fn mutate_json(db: &Connection, table: &str, column: &str, dice: &mut Dice) -> rusqlite::Result<()> {
    let find = format!("SELECT rowid, \"{column}\" FROM \"{table}\" ORDER BY random() LIMIT 1");
    let (row, text): (i64, String) = db.query_row(&find, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let Ok(mut json) = serde_json::from_str::<Json>(&text) else { return Ok(()) };
    for _ in 0..=dice.below(3) {
        change_somewhere(&mut json, dice);
    }
    let set = format!("UPDATE \"{table}\" SET \"{column}\" = ?2 WHERE rowid = ?1");
    db.execute(&set, params![row, json.to_string()]).map(drop)
}

fn change_somewhere(json: &mut Json, dice: &mut Dice) {
    match json {
        Json::Object(map) if !map.is_empty() && !dice.one_in(12) => {
            let key = map.keys().nth(dice.below(map.len())).cloned().unwrap_or_default();
            if dice.one_in(10) {
                drop(map.remove(&key))
            } else {
                map.get_mut(&key).into_iter().for_each(|inner| change_somewhere(inner, dice))
            }
        }
        Json::Array(list) if !list.is_empty() && !dice.one_in(12) => {
            let at = dice.below(list.len());
            match dice.below(12) {
                0 => drop(list.remove(at)),
                1 => list.insert(at, list[at].clone()),
                _ => change_somewhere(&mut list[at], dice),
            }
        }
        _ => *json = any_json(dice),
    }
}

fn any_json(dice: &mut Dice) -> Json {
    match dice.below(7) {
        0 => Json::Null,
        1 => Json::Bool(dice.one_in(2)),
        2 => Json::from(*dice.pick(&[0_i64, 1, -1, i64::MAX, i64::MIN, 1 << 40])),
        3 => Json::from(*dice.pick(&[u64::MAX, 1 << 63, 3, 1_000_000])),
        4 => Json::from(*dice.pick(&[0.5, -0.5, 1e308, 1e-300])),
        5 => Json::from(*dice.pick(&TEXTS)),
        _ => serde_json::json!([{}, [], "x", {"a": [1]}]),
    }
}
