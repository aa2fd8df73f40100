//! Tables of the user's own on every SQL engine: the rows are the same everywhere, names are quoted, keys hold, and pgbench's tables are
//! those that pgbench makes.

use crate::insert::asked;
use crate::lab::{directory, found, names_in, own_trial, prepared, run, sql_engines};
use crate::visited::TableHome;
use engine::Instance;
use load::LoadEnd;
use model::{Phase, Trial};
use std::path::Path;
use std::process::Command;

/// Reserved words and large letters as names, every type, keys of several columns, nulls, an index that is unique.
const SHOP: &str = r#"
[[table]]
name = "order"
rows = 2000
primary_key = ["Group", "number"]
column = [
  { name = "Group", type = "int", references = "customers.id", correlation = 1 },
  { name = "number", type = "smallint", min = 1, max = 50 },
  { name = "price", type = "decimal(8,2)", min = -10, max = 99.99, nulls = 0.25 },
  { name = "weight", type = "double", min = 0, max = 10, distinct = 11 },
  { name = "ratio", type = "real", min = 0, max = 1, distinct = 3 },
  { name = "paid", type = "boolean", common = [0.9] },
  { name = "day", type = "date", min = "2020-01-01", max = "2020-12-31", correlation = 0.8 },
  { name = "at", type = "datetime", distinct = "10%" },
  { name = "late", type = "datetime", computed_from = "at", plus = [1, 86400] },
  { name = "note", type = "text", length = [0, 200], nulls = 0.5 },
]
index = [{ columns = ["day", "price"] }, { name = "select", columns = ["at"] }]

[[table]]
name = "customers"
rows = 100
primary_key = "id"
column = [
  { name = "id", type = "int", serial = true },
  { name = "email", type = "varchar(30)", distinct = "all", not_null = true },
  { name = "city", type = "char(8)", distinct = 10, distribution = "zipf:1" },
  { name = "zip", type = "varchar(5)", distinct = 5, depends_on = "city" },
  { name = "big", type = "bigint", min = -9000000000, max = 9000000000 },
]
index = [{ columns = ["email"], unique = true }]

[[statement]]
name = "customer"
sql = "SELECT city FROM customers WHERE id = :customers.id AND email = :customers.email"

[[statement]]
name = "join"
sql = "SELECT count(*) FROM customers a, customers b WHERE a.city = :customers.city AND b.zip = :customers.zip@2"

[[statement]]
name = "add"
sql = "INSERT INTO customers (id, email, city, zip, big) VALUES (:customers.id@new, :customers.email@new, :customers.city@new, :customers.zip@new, :customers.big@new)"
"#;

fn shopping(home: &TableHome, scale: f64, keys: &str) -> Trial {
    let always = [("clients", "4"), ("time", "60s"), ("ops_max", "300"), ("foreign_keys", keys), home.setting()];
    own_trial(home.engine, SHOP, scale, &always)
}

/// The names in the question as the engine quotes them.
fn answer(home: &TableHome, instance: &dyn Instance, question: &str) -> String {
    let question = if home.engine.starts_with('m') { question.replace('"', "`") } else { question.to_owned() };
    let answer = home.asked(instance, &question).join("|");
    // SQLite has no decimals, and shows a whole number so.
    answer.trim().trim_end_matches(".0").to_owned()
}

/// Questions whose answers do not depend on how an engine writes a value.
const QUESTIONS: [&str; 12] = [
    r#"SELECT cast(count(*) AS char(12)) FROM "order""#,
    r#"SELECT cast(count(price) AS char(12)) FROM "order""#,
    r#"SELECT cast(cast(sum(price * 100) AS decimal(20,0)) AS char(12)) FROM "order""#,
    r#"SELECT cast(count(distinct "Group") AS char(12)) FROM "order""#,
    r#"SELECT cast(count(distinct weight) AS char(12)) FROM "order""#,
    r#"SELECT cast(sum("Group" * number) AS char(12)) FROM "order""#,
    r#"SELECT cast(count(*) AS char(12)) FROM "order" WHERE late > at"#,
    r#"SELECT cast(count(*) AS char(12)) FROM "order" WHERE day BETWEEN '2020-03-01' AND '2020-03-31'"#,
    r#"SELECT min(email) FROM customers"#,
    r#"SELECT max(note) FROM "order""#,
    r#"SELECT cast(count(*) AS char(12)) FROM (SELECT city, zip FROM customers GROUP BY city, zip) x"#,
    r#"SELECT cast(sum(big) AS char(20)) FROM customers"#,
];

#[test]
fn rows_are_the_same_on_every_engine_and_statements_find_them() {
    let mut expected: Option<Vec<String>> = None;
    for engine in sql_engines() {
        let home = TableHome::of(engine);
        let keys = if engine.ends_with(":rocksdb") { "false" } else { "true" };
        let small = shopping(&home, 1.0, keys);
        let mut instance = prepared(&small, home.path());
        let answers: Vec<String> = QUESTIONS.iter().map(|it| answer(&home, &*instance, it)).collect();
        assert_eq!((&*answers[0], &*answers[1], &*answers[3], &*answers[4]), ("2000", "1500", "100", "11"), "{engine}");
        assert_eq!(*expected.get_or_insert_with(|| answers.clone()), answers, "{engine}");
        let (outcome, seen) = run(&mut *instance, &small).unwrap();
        assert_eq!(outcome.ended, LoadEnd::AsPlanned, "{engine}: {:?}", seen.events);
        let counts: Vec<(u64, u64)> =
            (0..3).map(|kind| seen.counts[&(Phase::Run, kind)]).map(|count| (count.0, count.1)).collect();
        assert!(
            counts.iter().all(|(done, failed)| *done > 50 && *failed == 0),
            "{engine}: {counts:?} {:?}",
            seen.events
        );
        let added = answer(&home, &*instance, "SELECT cast(count(*) AS char(12)) FROM customers WHERE id > 100");
        assert!(added.trim().parse::<u64>().unwrap() >= counts[2].0, "{engine}: {added}");
        assert_refuses_another_scale(&mut *instance, &shopping(&home, 1.5, keys));
        instance.stop().unwrap();
        assert_eq!(names_in(home.path()), [""; 0]);
    }
}

const TREE: &str = r#"
[[table]]
name = "tree"
rows = 2000
primary_key = "id"
column = [
  { name = "id", type = "int", serial = true },
  { name = "parent", type = "int", references = "tree.id", nulls = 0.1 },
]
[[statement]]
name = "children"
sql = "SELECT count(*) FROM tree WHERE parent = :tree.id"
"#;

#[test]
fn a_table_refers_to_itself_by_a_foreign_key_that_its_rows_fulfil() {
    let mut expected: Option<String> = None;
    for engine in sql_engines().filter(|engine| !engine.ends_with(":rocksdb")) {
        let home = TableHome::of(engine);
        let settings = [("foreign_keys", "true"), ("time", "60s"), ("ops_max", "100"), home.setting()];
        let growing = own_trial(home.engine, TREE, 1.0, &settings);
        let mut instance = prepared(&growing, home.path());
        let count = |question: &str| answer(&home, &*instance, question);
        assert_eq!(count("SELECT cast(count(*) AS char(12)) FROM tree WHERE parent IS NULL"), "200", "{engine}");
        let lost = "SELECT cast(count(*) AS char(12)) FROM tree t LEFT JOIN tree p ON p.id = t.parent \
                    WHERE t.parent IS NOT NULL AND p.id IS NULL";
        assert_eq!(count(lost), "0", "{engine}");
        let sum = count("SELECT cast(sum(id * parent) AS char(20)) FROM tree");
        assert_eq!(*expected.get_or_insert_with(|| sum.clone()), sum, "{engine}");
        assert_eq!(run(&mut *instance, &growing).unwrap().1.total(Phase::Run), (100, 0), "{engine}");
        instance.stop().unwrap();
    }
}

/// Data of another scale is refused in one line.
fn assert_refuses_another_scale(instance: &mut dyn Instance, larger: &Trial) {
    let refused = instance.make_clients(larger).map(drop).unwrap_err().to_string();
    assert!(refused.contains("does not fit this trial") && refused.contains("order 3000, customers 150"), "{refused}");
    assert!(refused.contains("order 2000, customers 100") && !refused.contains('\n'), "{refused}");
}

/// A digest of all rows of a table in the order of its first column.
fn digest(host: &str, database: &str, table: &str) -> String {
    let question = format!("SELECT count(*), md5(string_agg(t::text, ';' ORDER BY t::text)) FROM {table} t");
    let login = ["-h", host, "-U", "plimsoll", "-d", database, "-A", "-t", "-c", &question];
    let output = Command::new("psql").args(login).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_tables_of_the_built_in_plan_are_those_that_pgbench_makes() {
    let programs = ["/usr/lib/postgresql/15/bin/pgbench", "/usr/bin/pgbench"];
    let Some(pgbench) = programs.into_iter().find(|program| Path::new(program).exists()) else {
        eprintln!("skipped: pgbench is not installed");
        return;
    };
    if !sql_engines().any(|engine| engine == "postgres") {
        return;
    }
    let parent = directory();
    let plan = include_str!("../../../../plans/tpcb-like.toml");
    let settings = [("clients", "4"), ("durability", "none"), ("time", "60s"), ("ops_max", "200"), ("warmup", "0s")];
    let tables = plan.split_once("[[table]]").map(|(_, tables)| format!("[[table]]{tables}")).unwrap();
    let scaled = own_trial("postgres", &tables, 2.0, &settings);
    let mut instance = prepared(&scaled, parent.path());
    let host = found(parent.path(), "PG_VERSION").parent().unwrap().to_str().unwrap().to_owned();
    asked("postgres", parent.path(), "CREATE DATABASE made_by_pgbench");
    let made = Command::new(pgbench)
        .args(["-i", "-q", "-s", "2", "-h", &host, "-U", "plimsoll", "made_by_pgbench"])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for (table, rows) in [("branches", "2|"), ("tellers", "20|"), ("accounts", "200000|"), ("history", "0|")] {
        let of = |database| digest(&host, database, &format!("pgbench_{table}"));
        assert!(of("postgres").starts_with(rows), "{table}");
        assert_eq!(of("postgres"), of("made_by_pgbench"), "{table}");
    }
    let (outcome, seen) = run(&mut *instance, &scaled).unwrap();
    assert_eq!((outcome.ended, seen.total(Phase::Run).1), (LoadEnd::AsPlanned, 0), "{:?}", seen.events);
    let sums = "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history) AND \
                (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(tbalance) FROM pgbench_tellers)";
    assert_eq!(asked("postgres", parent.path(), sums), ["t"]);
    instance.stop().unwrap();
}

#[test]
fn rows_are_spread_over_partitions_by_range_and_by_hash() {
    for engine in
        ["mariadb:innodb", "mariadb:rocksdb", "postgres"].into_iter().filter(|name| sql_engines().any(|it| it == *name))
    {
        let home = TableHome::of(engine);
        let parted = own_trial(home.engine, TABLES_IN_PARTS, 1.0, &[("ops_max", "50"), home.setting()]);
        let mut instance = prepared(&parted, home.path());
        let rows = match engine {
            "postgres" => {
                "SELECT tableoid::regclass::text || ' ' || count(*) FROM by_range GROUP BY tableoid ORDER BY 1"
            }
            _ => {
                "SELECT concat('by_range_', p, ' ', n) FROM (SELECT 'p0' AS p, count(*) AS n FROM by_range PARTITION (p0) UNION ALL \
                 SELECT 'p1', count(*) FROM by_range PARTITION (p1) UNION ALL SELECT 'pmax', count(*) FROM by_range PARTITION (pmax)) x"
            }
        };
        let expected = ["by_range_p0 200", "by_range_p1 200", "by_range_pmax 200"];
        assert_eq!(home.asked(&*instance, rows), expected, "{engine}");
        let parts = match engine {
            "postgres" => "SELECT count(*) FROM pg_inherits WHERE inhparent = 'by_hash'::regclass",
            _ => {
                "SELECT count(*) FROM information_schema.partitions WHERE table_name = 'by_hash' AND table_schema = database()"
            }
        };
        assert_eq!(home.asked(&*instance, parts), ["4"], "{engine}");
        let (outcome, seen) = run(&mut *instance, &parted).unwrap();
        assert_eq!((outcome.ended, seen.total(Phase::Run).1), (LoadEnd::AsPlanned, 0), "{engine}: {:?}", seen.events);
        instance.stop().unwrap();
    }
    let sqlite = engine::find("sqlite").unwrap();
    let refused = (sqlite.check)(&own_trial("sqlite", TABLES_IN_PARTS, 1.0, &[])).unwrap_err();
    assert!(refused.to_string().contains("`sqlite` has no partitions"), "{refused}");
}

const TABLES_IN_PARTS: &str = r#"
[[table]]
name = "by_range"
rows = 600
primary_key = "id"
column = [{ name = "id", type = "bigint", serial = true }, { name = "v", type = "int" }]
index = [{ columns = ["v"] }]
partitions = { by = "range", column = "id", count = 3 }
[[table]]
name = "by_hash"
rows = 600
primary_key = "id"
column = [{ name = "id", type = "int", serial = true }, { name = "v", type = "int" }]
partitions = { by = "hash", column = "id", count = 4 }
[[statement]]
name = "one"
sql = "SELECT v FROM by_range WHERE id = :by_range.id"
"#;
