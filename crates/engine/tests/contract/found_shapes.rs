//! Schemas of random shapes are read from real servers, and the plan of what was found is one that is taken.
//!
//! In: tables with columns of every type that a server has, keys of several columns, indexes, and from no row on, made by SQL of the server
//! itself from a seed. Limits: what the copies hold is tested in `found_schema`; the servers are those of this machine.

use crate::found_schema::{plan_of, read_schema};
use crate::insert::asked;
use crate::lab::{directory, own_trial, sql_engines};
use crate::visited::Visited;
use engine::found_schema::{FoundTables, SchemaSource, find_tables};
use std::path::Path;

/// A type with an expression for a value of row `s`, and how a column of it is named in an index, if it can be in one.
type Shape = (&'static str, &'static str, Option<&'static str>);

const PLAIN: Option<&str> = Some("");

const MARIADB: [Shape; 33] = [
    ("int", "s % 7", PLAIN),
    ("int unsigned zerofill", "s", PLAIN),
    ("bigint unsigned", "s * 1000000000000", PLAIN),
    ("tinyint", "s % 100", PLAIN),
    ("tinyint(1)", "s % 2", PLAIN),
    ("smallint unsigned", "s", PLAIN),
    ("mediumint", "s", PLAIN),
    ("float", "s / 3", PLAIN),
    ("double", "s / 7", PLAIN),
    ("decimal(30,10)", "s / 9", PLAIN),
    ("decimal(5,0)", "s", PLAIN),
    ("decimal(65,30)", "s / 11", PLAIN),
    ("char(3)", "left(md5(s), 3)", PLAIN),
    ("varchar(40)", "md5(s)", PLAIN),
    ("text", "repeat(md5(s), 3)", Some("(7)")),
    ("tinytext", "md5(s)", Some("(7)")),
    ("longblob", "unhex(md5(s))", Some("(7)")),
    ("binary(16)", "unhex(md5(s))", PLAIN),
    ("varbinary(20)", "unhex(md5(s))", PLAIN),
    ("date", "'2020-01-01' + interval s day", PLAIN),
    ("datetime(3)", "'2020-01-01' + interval s minute", PLAIN),
    ("timestamp NULL", "'2020-01-01' + interval s hour", PLAIN),
    ("time", "sec_to_time(s * 997)", PLAIN),
    ("time(3)", "sec_to_time(-s * 997.5)", PLAIN),
    ("year", "2000 + s % 50", PLAIN),
    ("bit(9)", "s % 512", PLAIN),
    ("enum('a','b')", "1 + s % 2", PLAIN),
    ("set('x','y')", "s % 4", PLAIN),
    ("json", "json_array(s)", None),
    ("point", "point(s, s)", None),
    ("uuid", "uuid()", PLAIN),
    ("inet6", "'::1'", PLAIN),
    ("inet4", "'10.0.0.1'", PLAIN),
];

const POSTGRES: [Shape; 30] = [
    ("integer", "s % 7", PLAIN),
    ("bigint", "s::bigint * 1000000000", PLAIN),
    ("smallint", "s", PLAIN),
    ("boolean", "s % 2 = 0", PLAIN),
    ("real", "s / 3.0", PLAIN),
    ("double precision", "s / 7.0", PLAIN),
    ("numeric", "s / 9.0", PLAIN),
    ("numeric(30,10)", "s / 9.0", PLAIN),
    ("numeric(3,0)", "s", PLAIN),
    ("char(3)", "left(md5(s::text), 3)", PLAIN),
    ("varchar(40)", "md5(s::text)", PLAIN),
    ("text", "repeat(md5(s::text), 3)", PLAIN),
    ("bytea", "decode(md5(s::text), 'hex')", PLAIN),
    ("date", "date '2020-01-01' + s", PLAIN),
    ("timestamp(3)", "timestamp '2020-01-01' + s * interval '1 minute'", PLAIN),
    ("timestamptz", "timestamptz '2020-01-01 00:00+0' + s * interval '1 hour'", PLAIN),
    ("time", "time '00:00' + s * interval '1 minute'", PLAIN),
    ("timetz", "(time '00:00' + s * interval '1 minute')::timetz", PLAIN),
    ("interval", "s * interval '1 minute'", PLAIN),
    ("bit(4)", "(s % 16)::bit(4)", PLAIN),
    ("uuid", "md5(s::text)::uuid", PLAIN),
    ("inet", "'10.0.0.1'::inet", PLAIN),
    ("macaddr", "'08:00:2b:01:02:03'::macaddr", PLAIN),
    ("jsonb", "to_jsonb(s)", PLAIN),
    ("integer[]", "array[s]", PLAIN),
    ("int4range", "int4range(s, s + 5)", PLAIN),
    ("money", "s::money", PLAIN),
    ("point", "point(s, s)", None),
    ("xml", "'<a/>'::xml", None),
    ("tsvector", "to_tsvector('simple', s::text)", None),
];

const SQLITE: [Shape; 10] = [
    ("INTEGER", "s % 7", PLAIN),
    ("INT", "CASE WHEN s % 3 = 0 THEN 'word' ELSE s END", PLAIN),
    ("TEXT", "hex(s)", PLAIN),
    ("REAL", "s / 3.0", PLAIN),
    ("BLOB", "zeroblob(s % 9)", PLAIN),
    ("VARCHAR(9)", "s", PLAIN),
    ("", "s", PLAIN),
    ("DATETIME", "'2020-01-01'", PLAIN),
    ("BOOLEAN", "s % 2", PLAIN),
    ("DECIMAL(20,4)", "s / 7.0", PLAIN),
];

/// Numbers of a seed (Knuth's MMIX generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// What a round makes.
struct Round {
    tables: usize,
    statements: Vec<String>,
}

/// The statements of a round of the seed, for `engine`.
fn round_of(seed: u64, engine: &str, shapes: &[Shape]) -> Round {
    let mut numbers = Numbers(seed);
    let tables = 1 + numbers.below(3) as usize;
    let mut statements = Vec::new();
    for nth in 0..tables {
        let name = format!("r{seed}_{nth}");
        let columns: Vec<&Shape> =
            (0..1 + numbers.below(9)).map(|_| &shapes[numbers.below(shapes.len() as u64) as usize]).collect();
        let in_index: Vec<usize> = (0..columns.len()).filter(|at| columns[*at].2.is_some()).collect();
        let of_index = |at: &usize| format!("c{at}{}", columns[*at].2.unwrap_or_default());
        let key: Vec<usize> = in_index.iter().copied().take(numbers.below(4) as usize).collect();
        let mut defined: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(at, (kind, ..))| {
                let not_null = key.contains(&at) && engine != "sqlite" && !kind.ends_with("NULL");
                format!("c{at} {kind}{}", if not_null { " NOT NULL" } else { "" })
            })
            .collect();
        if !key.is_empty() {
            defined.push(format!("PRIMARY KEY ({})", key.iter().map(of_index).collect::<Vec<_>>().join(", ")));
        }
        statements.push(format!("CREATE TABLE {name} ({})", defined.join(", ")));
        for index in 0..numbers.below(3) {
            let of = in_index.iter().skip(numbers.below(3) as usize).take(1 + numbers.below(2) as usize);
            let of: Vec<String> = of.map(of_index).collect();
            if !of.is_empty() {
                let falls = if numbers.below(3) == 0 { " DESC" } else { "" };
                statements.push(format!("CREATE INDEX {name}_{index} ON {name} ({}{falls})", of.join(", ")));
            }
        }
        let rows = [0, 1, 2, 40, 300][numbers.below(5) as usize];
        let nulls = 2 + numbers.below(9);
        let values: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(at, (_, value, _))| match key.contains(&at) {
                true => (*value).to_owned(),
                false => format!("CASE WHEN s % {nulls} = {} THEN NULL ELSE {value} END", at as u64 % nulls),
            })
            .collect();
        statements.push(insert_of(engine, &name, rows, &values.join(", ")));
        let analyse = if engine == "postgres" { "ANALYZE" } else { "ANALYZE TABLE" };
        if engine != "sqlite" && (rows > 0 || numbers.below(2) == 0) {
            statements.push(format!("{analyse} {name}"));
        }
    }
    Round { tables, statements }
}

/// Rows whose keys are there already are left out.
fn insert_of(engine: &str, name: &str, rows: u64, values: &str) -> String {
    match engine {
        "postgres" => {
            format!("INSERT INTO {name} SELECT {values} FROM generate_series(1, {rows}) s ON CONFLICT DO NOTHING")
        }
        "sqlite" => format!(
            "WITH RECURSIVE n(s) AS (SELECT 1 WHERE {rows} > 0 UNION ALL SELECT s + 1 FROM n WHERE s < {rows}) \
             INSERT OR IGNORE INTO {name} SELECT {values} FROM n"
        ),
        _ => format!(
            "INSERT IGNORE INTO {name} SELECT {values} FROM (SELECT seq AS s FROM seq_1_to_300) n WHERE s <= {rows}"
        ),
    }
}

/// What was found is a plan that is taken, whole and at a tenth, and has all tables.
fn check(found: &FoundTables, round: &Round, engine: &str) {
    assert_eq!(found.tables.len(), round.tables, "{:?}\n{:?}", found.notes, round.statements);
    assert!(
        !found.notes.iter().any(|note| note.contains("not known") && !note.contains("`text` for :")),
        "{:?}",
        found.notes
    );
    let text = plan_of(found);
    for scale in [1.0, 0.1] {
        own_trial(engine, &text, scale, &[("durability", "none"), ("ops_max", "10")]);
    }
}

fn rounds_on_a_server(engine: &'static str, shapes: &[Shape], rounds: u64) {
    if !sql_engines().any(|known| known == engine) {
        return;
    }
    let home = Visited::of(engine);
    for seed in 0..rounds {
        let round = round_of(seed, engine, shapes);
        asked(engine, home.path(), &round.statements.join("; "));
        check(&read_schema(engine, home.path(), seed % 5 == 4), &round, engine);
        let dropped: Vec<String> = (0..round.tables).map(|nth| format!("DROP TABLE r{seed}_{nth}")).collect();
        asked(engine, home.path(), &dropped.join("; "));
    }
}

fn read_file(path: &Path) -> FoundTables {
    let place = path.to_str().unwrap().to_owned();
    let (password_file, schema) = (String::new(), String::new());
    find_tables(&SchemaSource { place, password_file, schema, sample_rows: 1_000, hides_names: false }).unwrap()
}

fn rounds_on_sqlite(rounds: u64) {
    let home = directory();
    for seed in 0..rounds {
        let round = round_of(seed, "sqlite", &SQLITE);
        let path = home.path().join(format!("{seed}.db"));
        rusqlite::Connection::open(&path).unwrap().execute_batch(&round.statements.join("; ")).unwrap();
        check(&read_file(&path), &round, "sqlite");
    }
}

#[test]
fn schemas_of_random_shapes_of_sqlite_become_plans_that_are_taken() {
    rounds_on_sqlite(40);
}

#[test]
fn schemas_of_random_shapes_of_mariadb_become_plans_that_are_taken() {
    rounds_on_a_server("mariadb:innodb", &MARIADB, 6);
}

#[test]
fn schemas_of_random_shapes_of_postgres_become_plans_that_are_taken() {
    rounds_on_a_server("postgres", &POSTGRES, 6);
}

#[test]
#[ignore = "takes a minute: `cargo xtask soak faults` runs it"]
fn many_schemas_of_random_shapes_become_plans_that_are_taken() {
    rounds_on_sqlite(1_000);
    rounds_on_a_server("mariadb:innodb", &MARIADB, 150);
    rounds_on_a_server("postgres", &POSTGRES, 150);
}

#[test]
fn every_type_that_postgres_lists_has_a_type_of_a_plan() {
    if !sql_engines().any(|engine| engine == "postgres") {
        return;
    }
    let home = Visited::of("postgres");
    let listed = "SELECT format_type(oid, NULL) FROM pg_type WHERE typtype IN ('b', 'r', 'm') AND typcategory <> 'A' \
                  AND typnamespace = 'pg_catalog'::regnamespace ORDER BY 1";
    let types = asked("postgres", home.path(), listed);
    assert!(types.len() > 60, "{types:?}");
    let columns: Vec<String> = types.iter().enumerate().map(|(nth, name)| format!("c{nth} {name}")).collect();
    asked("postgres", home.path(), &format!("CREATE TABLE every_type ({})", columns.join(", ")));
    let found = read_schema("postgres", home.path(), false);
    let unknown: Vec<&String> = found.notes.iter().filter(|note| note.contains("not known")).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    let table = found.tables.iter().find(|table| table.name == "every_type").unwrap();
    assert_eq!(table.columns.len(), types.len());
}

/// A time, indexes of every kind, a column that is computed, a table that is empty, and one that cannot be read.
const INDEXED: [&str; 6] = [
    "CREATE TABLE tms (id int PRIMARY KEY, tm time, tm3 time(3), body text, place point NOT NULL, twice int AS (id * 2))",
    "INSERT INTO tms (id, tm, tm3, body, place) SELECT seq, sec_to_time(seq * 60), sec_to_time(seq), md5(seq), point(1, seq) FROM seq_1_to_500",
    "CREATE INDEX part ON tms (body(5))",
    "CREATE FULLTEXT INDEX full_text ON tms (body)",
    "CREATE SPATIAL INDEX places ON tms (place)",
    "CREATE TABLE pairs (a int, b int, PRIMARY KEY (a, b))",
];

#[test]
fn times_are_no_nulls_and_indexes_that_are_not_made_are_named_with_the_reason() {
    if !sql_engines().any(|engine| engine == "mariadb:innodb") {
        return;
    }
    let (engine, home) = ("mariadb:innodb", Visited::of("mariadb:innodb"));
    INDEXED.iter().for_each(|statement| drop(asked(engine, home.path(), statement)));
    let found = read_schema(engine, home.path(), false);
    let table = found.tables.iter().find(|table| table.name == "tms").unwrap();
    let nulls: Vec<f64> = table.columns.iter().map(|column| column.nulls).collect();
    assert_eq!(nulls, [0.0; 6]);
    let text = plan_of(&found);
    for part in ["min = 60", "max = 30000"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for note in [
        "tms.tm: `int` for time: its seconds",
        "index `full_text` is left out: it is of the kind FULLTEXT",
        "index `places` is left out: it is of the kind SPATIAL",
        "the database has the first 5 characters of a column",
        "tms.twice: the database computes it",
    ] {
        assert!(found.notes.iter().any(|known| known.contains(note)), "{note}: {:?}", found.notes);
    }
    assert!(found.tables.iter().any(|table| table.name == "pairs" && table.rows == 0));
    own_trial(engine, &text, 1.0, &[("durability", "none"), ("ops_max", "10")]);
}

#[test]
fn of_more_tables_than_a_plan_has_the_largest_are_taken_and_the_others_named() {
    let home = directory();
    let path = home.path().join("many.db");
    let mut script = String::from("BEGIN;");
    for nth in 0..520 {
        script += &format!("CREATE TABLE t{nth:03} (id INTEGER PRIMARY KEY, v TEXT);");
        if nth >= 20 {
            script += &format!("INSERT INTO t{nth:03} VALUES (1, 'x');");
        }
    }
    rusqlite::Connection::open(&path).unwrap().execute_batch(&(script + "COMMIT;")).unwrap();
    let found = read_file(&path);
    assert_eq!(found.tables.len(), 500);
    assert!(found.tables.iter().all(|table| table.rows == 1));
    let notes = found.notes.join("\n");
    assert!(notes.contains("tables that are left out: 20, for a plan has 500 tables at most"), "{notes}");
    assert!(notes.contains("`t000`") && notes.contains("`t019`") && !notes.contains("`t020`"), "{notes}");
}
