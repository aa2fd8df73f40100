//! A plan is written from a database, and run; the built-in plan with tables of its own is run; and what is wrong is one line.
//!
//! In: a file of SQLite. Limits: servers are read in the contract tests of the engines.

use crate::lab::Lab;
use rusqlite::Connection;

fn shop(lab: &Lab) {
    let database = Connection::open(lab.path().join("shop.db")).unwrap();
    let script = "CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(30), born DATE);
                  CREATE TABLE \"order\" (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers(id), price DECIMAL(8,2));
                  CREATE INDEX by_customer ON \"order\" (customer);
                  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
                  INSERT INTO customers SELECT i, 'canary' || i, date('1960-01-01', '+' || (i * 7) || ' day') FROM n WHERE i <= 200;
                  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
                  INSERT INTO \"order\" SELECT i, 1 + (i * i) % 200, (i % 97) / 4.0 FROM n;";
    database.execute_batch(script).unwrap();
}

#[test]
fn a_plan_from_a_database_is_run_at_another_scale_and_holds_no_texts() {
    let lab = Lab::new();
    shop(&lab);
    let written = lab.run(&["schema", "shop.db", "--out", "shop.toml"]);
    assert_eq!(written.exit, 0, "{}", written.stderr);
    assert!(written.stderr.contains("2 tables, 2,200 rows"), "{}", written.stderr);
    let text = std::fs::read_to_string(lab.path().join("shop.toml")).unwrap();
    assert!(text.contains("references = \"customers.id\"") && !text.contains("canary"), "{text}");
    assert!(!text.contains("called `"), "no name was changed: {text}");
    let again = lab.run(&["schema", "shop.db", "--out", "shop.toml"]);
    assert!(
        again.exit == 2 && again.stderr.contains("cannot write `shop.toml`"),
        "no file is replaced: {}",
        again.stderr
    );
    let arguments = ["run", "shop.toml", "--scale", "0.5", "--clients", "2", "--ops-max", "200", "--no-report"];
    let run = lab.json(&arguments);
    assert_eq!(run["points"][0]["data_rows"].as_u64().unwrap_or(1_100), 1_100, "{}", run["points"][0]);
    let hidden = lab.run(&["schema", "shop.db", "--hash-names"]);
    assert!(hidden.stdout.contains("[[table]]"), "{}", hidden.stderr);
    assert!(
        !["customer", "order", "born", "1960", "price"].iter().any(|word| hidden.stdout.contains(word)),
        "{}",
        hidden.stdout
    );
    assert!(lab.left_behind().iter().all(|name| name.starts_with("shop.")), "{:?}", lab.left_behind());
}

#[test]
fn a_name_that_no_plan_can_have_is_kept_in_a_comment_and_counted_as_a_note() {
    let lab = Lab::new();
    let database = Connection::open(lab.path().join("odd.db")).unwrap();
    let script = "CREATE TABLE \"Kunden-Nr.\" (id INTEGER PRIMARY KEY, \"a.b\" INT, \"新規\" INT);
                  INSERT INTO \"Kunden-Nr.\" VALUES (1, 5, 6), (2, 6, 5);";
    database.execute_batch(script).unwrap();
    let written = lab.run(&["schema", "odd.db", "--out", "odd.toml"]);
    assert_eq!(written.exit, 0, "{}", written.stderr);
    let text = std::fs::read_to_string(lab.path().join("odd.toml")).unwrap();
    let notes = text.lines().filter(|line| line.starts_with("# Kunden_Nr_")).count();
    let told = format!("odd.toml: 1 table, 2 rows; {notes} notes at its beginning");
    assert!(written.stderr.contains(&told), "{}", written.stderr);
    for line in [
        "# Kunden_Nr_: called `Kunden-Nr.` in the database\n",
        "# Kunden_Nr_.a_b: called `a.b` in the database\n",
        "# Kunden_Nr_.__: called `新規` in the database\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn the_built_in_plan_runs_and_what_is_wrong_with_tables_is_one_line() {
    let lab = Lab::new();
    let arguments = [
        "run",
        "tpcb-like",
        "--engine",
        "sqlite",
        "--scale",
        "0.01",
        "--clients",
        "2",
        "--ops-max",
        "100",
        "--repeat",
        "1",
    ];
    let run = lab.json(&[&arguments[..], &["--warmup", "0s", "--no-report"]].concat());
    assert_eq!(run["points"][0]["ops"], 100, "{}", run["points"][0]);
    for (text, expected) in [
        ("workload = 'own'\n", "there are no tables; write them in a plan file as `[[table]]`"),
        (
            "workload = 'own'\n[[table]]\nname = 't'\nrows = 9\ncolumn = [{ name = 'a', type = 'int' }]\n[[statement]]\nname = 's'\n\
             sql = 'SELECT :t.b'\n",
            "p.toml:6: statement `s`: `:t.b`: table `t` has no column `b`",
        ),
        (
            "workload = 'oltp'\nmix = 'custom'\n[[statement]]\nname = 's'\nsql = 'SELECT :t.b'\n",
            "`:t.b` is a column of a table of your own; use workload = `own`",
        ),
    ] {
        std::fs::write(lab.path().join("p.toml"), text).unwrap();
        let refused = lab.run(&["run", "p.toml", "--engine", "sqlite"]);
        assert_eq!(refused.exit, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains(expected) && refused.stderr.trim().lines().count() == 1, "{}", refused.stderr);
    }
    let missing = lab.run(&["schema", "none.db"]);
    assert!(missing.exit != 0 && missing.stderr.contains("`none.db` is no file"), "{}", missing.stderr);
}
