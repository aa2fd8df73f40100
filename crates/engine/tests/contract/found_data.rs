//! Tables that are there already, on a server of another process: used as they are, and left as they are.
//!
//! In: tables that sysbench and pgbench make, and tables of the user's own. If a program is not installed, its statements make the tables.
//! Limits: MariaDB, MySQL and PostgreSQL, as far as they are to be had.

use crate::lab::{directory, fact, found, own_trial, prepared, run, servers, sql_engines, start, trial};
use crate::visited::Visited;
use engine::Instance;
use load::LoadEnd;
use model::{Phase, Trial, Value};
use std::path::Path;
use std::process::Command;

/// A server with tables that plimsoll did not make.
struct Theirs<'p> {
    engine: &'static str,
    /// Where those work who visit it.
    parent: &'p Path,
    server: Visited,
}

impl<'p> Theirs<'p> {
    /// The servers of this machine, each with an empty database `sbtest`. MyRocks differs in its storage only.
    fn all(parent: &'p Path) -> impl Iterator<Item = Theirs<'p>> {
        let names = servers().map(|engine| engine.entry.name).filter(|name| !name.ends_with(":rocksdb"));
        names.map(move |engine| Theirs::of(engine, parent))
    }

    fn of(engine: &'static str, parent: &'p Path) -> Theirs<'p> {
        let theirs = Theirs { engine, parent, server: Visited::of(engine) };
        theirs.ask_in(if engine == "postgres" { "postgres" } else { "mysql" }, "CREATE DATABASE sbtest");
        theirs
    }

    fn is_postgres(&self) -> bool {
        self.engine == "postgres"
    }

    fn socket(&self) -> String {
        let name = if self.is_postgres() { ".s.PGSQL.5432" } else { "m.sock" };
        found(self.server.path(), name).display().to_string()
    }

    fn socket_dir(&self) -> String {
        Path::new(&self.socket()).parent().unwrap().display().to_string()
    }

    /// What the server answers in `database`.
    fn ask_in(&self, database: &str, statements: &str) -> String {
        let mut client = Command::new(if self.is_postgres() { "psql" } else { "mariadb" });
        if self.is_postgres() {
            client.args([
                "-qAt",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                "plimsoll",
                "-c",
                statements,
                database,
                "-h",
                &self.socket_dir(),
            ]);
        } else {
            client.args(["-N", "-uroot", "-e", statements, "-S", &self.socket(), database]);
        }
        let said = client.output().unwrap();
        assert!(said.status.success(), "{}: {}", self.engine, String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    }

    fn ask(&self, statements: &str) -> String {
        self.ask_in("sbtest", statements)
    }

    /// Makes `count` tables of `rows` rows as sysbench does, by sysbench itself if it is here.
    fn prepare_sysbench(&self, count: u32, rows: u32) {
        let (socket, dir) = (self.socket(), self.socket_dir());
        let login = if self.is_postgres() {
            vec![
                format!("--pgsql-host={dir}"),
                "--pgsql-user=plimsoll".into(),
                "--pgsql-db=sbtest".into(),
                "--db-driver=pgsql".into(),
            ]
        } else {
            vec![
                format!("--mysql-socket={socket}"),
                "--mysql-user=root".into(),
                "--mysql-db=sbtest".into(),
                "--db-driver=mysql".into(),
            ]
        };
        let size = [format!("--tables={count}"), format!("--table-size={rows}")];
        let made = Command::new("sysbench").arg("oltp_read_write").args(login).args(size).arg("prepare").output();
        if let Ok(made) = made {
            assert!(
                made.status.success(),
                "{}{}",
                String::from_utf8_lossy(&made.stdout),
                String::from_utf8_lossy(&made.stderr)
            );
            return;
        }
        eprintln!("sysbench is not installed: its statements make the tables");
        (1..=count).for_each(|number| self.make_like_sysbench(number, rows));
    }

    /// The statements of sysbench 1.0 (oltp_common.lua).
    fn make_like_sysbench(&self, number: u32, rows: u32) {
        let (id, numbers) = if self.is_postgres() {
            ("SERIAL", format!("generate_series(1, {rows}) AS numbers(s)"))
        } else {
            (
                "INTEGER NOT NULL AUTO_INCREMENT",
                // No recursion is deeper than 1,000 by itself.
                format!(
                    "(WITH RECURSIVE n(s) AS (SELECT 0 UNION ALL SELECT s + 1 FROM n WHERE s < 99) \
                     SELECT 1 + 100 * a.s + b.s AS s FROM n AS a JOIN n AS b) AS numbers WHERE s <= {rows}"
                ),
            )
        };
        self.ask(&format!(
            "CREATE TABLE sbtest{number} (id {id}, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
             pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)); \
             INSERT INTO sbtest{number} (k, c, pad) SELECT 1 + s * 7 % {rows}, 'c', 'pad' FROM {numbers}; \
             CREATE INDEX k_{number} ON sbtest{number} (k)"
        ));
    }

    /// The URL of the database `name`.
    fn url(&self, name: &str) -> String {
        let socket = self.socket();
        match self.engine {
            "postgres" => format!("postgres://plimsoll@localhost/{name}?socket={socket}"),
            _ => format!("mysql://root@localhost/{name}?socket={socket}"),
        }
    }

    fn visitor(&self) -> &'static str {
        if self.is_postgres() { "postgresql" } else { "mysql" }
    }

    /// A trial on all of the tables of sysbench.
    fn on_sysbench(&self, settings: &[(&str, &str)]) -> Trial {
        let url = self.url("sbtest");
        let own = [("tables_of", "sysbench"), ("url", url.as_str()), ("clients", "2")];
        let mut trial = trial(self.visitor(), "oltp", &[&own[..], settings].concat());
        // The laboratory gives a number of rows to all.
        if !settings.iter().any(|(name, _)| *name == "table_rows") {
            trial.workload.params.0.insert("table_rows".into(), Value::Int(0));
        }
        trial
    }

    /// A checksum of all rows of all tables of the database, with the names of these and of all databases and schemas.
    fn checksum(&self) -> String {
        let tables = self.ask(if self.is_postgres() {
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name"
        } else {
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'sbtest' ORDER BY table_name"
        });
        let rows: Vec<String> = tables
            .lines()
            .map(|table| match self.engine {
                "postgres" => {
                    self.ask(&format!("SELECT md5(string_agg(t::text, ';' ORDER BY t::text)) FROM {table} t"))
                }
                _ => self.ask(&format!("CHECKSUM TABLE {table}")),
            })
            .collect();
        let schemas = self.ask("SELECT schema_name FROM information_schema.schemata ORDER BY schema_name");
        format!("{tables}\n{}\n{schemas}", rows.join("\n"))
    }

    /// Why `trial` cannot begin.
    fn refusal(&self, trial: &Trial) -> String {
        let text = start(trial, self.parent).err().expect("a refusal").to_string();
        assert!(!text.contains('\n'), "{text}");
        text
    }
}

/// The operations of `trial` on `instance`, of which none fails.
fn ops_of(instance: &mut dyn Instance, trial: &Trial) -> u64 {
    let (outcome, seen) = run(instance, trial).unwrap();
    assert_eq!(outcome.ended, LoadEnd::AsPlanned, "{:?}", seen.events);
    assert_eq!(seen.total(Phase::Run).1, 0, "{:?}", seen.events);
    seen.total(Phase::Run).0
}

#[test]
fn tables_of_sysbench_are_read_as_they_are_and_stay_so() {
    let parent = directory();
    for theirs in Theirs::all(parent.path()) {
        theirs.prepare_sysbench(3, 2_000);
        let before = theirs.checksum();
        for mix in ["read_only", "select_random_points", "select_random_ranges"] {
            let reads = theirs.on_sysbench(&[("mix", mix)]);
            let mut visit = prepared(&reads, parent.path());
            assert_eq!(visit.measure_space().rows, Some(6_000), "all that are there");
            assert_eq!(ops_of(&mut *visit, &reads), 300);
            visit.stop().unwrap();
        }
        let all = theirs.on_sysbench(&[("mix", "point_select")]);
        let mut visit = prepared(&all, parent.path());
        assert_eq!(ops_of(&mut *visit, &all), 300);
        let told = ["", "_rows", "_count", "_index", "_changed"]
            .map(|name| fact(&*visit, &format!("data.origin{name}")).unwrap());
        assert_eq!(told, ["sbtest1 to sbtest3", "2000", "counted", "on column k", "no"]);
        assert_eq!(theirs.checksum(), before, "{}", theirs.engine);
        visit.stop().unwrap();
        assert_eq!(theirs.checksum(), before, "{}", theirs.engine);
    }
}

#[test]
fn writes_that_are_allowed_meet_no_row_that_is_there_and_others_are_impossible() {
    let parent = directory();
    for theirs in Theirs::all(parent.path()) {
        theirs.prepare_sysbench(2, 1_500);
        let rows = || theirs.ask("SELECT (SELECT count(*) FROM sbtest1) + (SELECT count(*) FROM sbtest2)");
        let with = |mix: &str| theirs.on_sysbench(&[("mix", mix), ("allow_writes", "true"), ("tables", "2")]);
        let inserts = with("insert");
        let mut visit = prepared(&inserts, parent.path());
        assert_eq!(ops_of(&mut *visit, &inserts), 300);
        assert_eq!(fact(&*visit, "data.origin_changed").as_deref(), Some("yes"));
        visit.stop().unwrap();
        assert_eq!(rows(), "3300");
        // As often as one likes, as long as no id is missing in between.
        let text = theirs.refusal(&inserts);
        assert!(
            text.contains("has ids from 1 to ") && text.contains("statements would ask for rows that are not there"),
            "{text}"
        );
        let both = with("read_write");
        theirs.ask("DELETE FROM sbtest1 WHERE id > 1500; DELETE FROM sbtest2 WHERE id > 1500");
        let mut visit = prepared(&both, parent.path());
        ops_of(&mut *visit, &both);
        visit.stop().unwrap();
        assert_eq!(rows(), "3000");

        // A run that is started past the check of its plan writes nothing all the same.
        let before = theirs.checksum();
        let secret =
            theirs.on_sysbench(&[("mix", "update_index"), ("on_error", "count"), ("ops_max", "20"), ("time", "2s")]);
        assert!(engine::requirements::check_found_data(&secret).is_err());
        let mut visit = prepared(&secret, parent.path());
        let (outcome, seen) = run(&mut *visit, &secret).unwrap();
        let (done, failed) = seen.total(Phase::Run);
        // MariaDB does not even prepare the statement.
        let is_refused = failed > 0 || matches!(outcome.ended, LoadEnd::Failed { .. });
        assert!(done == 0 && is_refused, "{}: {:?} {:?}", theirs.engine, outcome.ended, seen.events);
        visit.stop().unwrap();
        assert_eq!(theirs.checksum(), before);
    }
}

#[test]
fn tables_that_are_not_those_of_sysbench_are_refused_in_one_line_and_left_as_they_are() {
    let parent = directory();
    for theirs in Theirs::all(parent.path()) {
        let text = theirs.refusal(&theirs.on_sysbench(&[]));
        assert!(text.contains("the database has no table `sbtest1` that the account may read"), "{text}");
        theirs.ask("CREATE TABLE sbtest (id INT)");
        let text = theirs.refusal(&theirs.on_sysbench(&[]));
        assert!(text.contains("sysbench 0.4 names a single table so"), "{text}");
        theirs.ask("DROP TABLE sbtest");
        (1..=4).for_each(|number| theirs.make_like_sysbench(number, 1_000));
        for (settings, what) in [
            (
                &[("tables", "8")][..],
                "tables = `8`, but there are 4 (sbtest1 to sbtest4); use tables = `4`, or leave it out",
            ),
            (
                &[("table_rows", "2000")],
                "table_rows = `2000`, but table `sbtest1` has 1000 rows; use table_rows = `1000`, or leave it out",
            ),
        ] {
            let text = theirs.refusal(&theirs.on_sysbench(settings));
            assert!(text.contains(what), "{text}");
        }
        let all = theirs.on_sysbench(&[("tables", "4")]);
        let swap = if theirs.is_postgres() { "ALTER TABLE sbtest2 ALTER COLUMN" } else { "ALTER TABLE sbtest2 MODIFY" };
        let kind = if theirs.is_postgres() { "TYPE" } else { "" };
        let (of_k, of_c) = (format!("{swap} k {kind} NUMERIC(9,2)"), format!("{swap} c {kind} VARCHAR(30)"));
        let no_key = if theirs.is_postgres() {
            "ALTER TABLE sbtest2 DROP CONSTRAINT sbtest2_pkey"
        } else {
            "ALTER TABLE sbtest2 MODIFY id INT NOT NULL, DROP PRIMARY KEY"
        };
        // Each is mended by the next making of the table.
        for (change, what) in [
            (of_k.as_str(), "table `sbtest2`: column k is `"),
            (&of_c, "(30)`, and sysbench makes it `char(120)`: these are not sysbench's tables"),
            (
                "ALTER TABLE sbtest2 DROP COLUMN pad",
                "table `sbtest2` has no column pad: these are not sysbench's tables",
            ),
            (no_key, "table `sbtest2` has no index on column id, so each statement would read all of its rows"),
            ("DELETE FROM sbtest2", "table `sbtest2` has no rows; fill it by `sysbench oltp_read_write ... prepare`"),
            ("DELETE FROM sbtest2 WHERE id < 5", "table `sbtest2`: its ids begin with 5 and not with 1"),
            ("DELETE FROM sbtest2 WHERE id = 500", "table `sbtest2` has ids from 1 to 1000, but it has 999 rows"),
            (
                "DROP TABLE sbtest2",
                "table `sbtest2` is missing, but `sbtest4` is there; make all of sbtest1 to sbtest4",
            ),
        ] {
            theirs.ask(change);
            let before = theirs.checksum();
            let text = theirs.refusal(&all);
            assert!(text.contains(what), "{change}: {text}");
            assert_eq!(theirs.checksum(), before);
            theirs.ask("DROP TABLE IF EXISTS sbtest2");
            theirs.make_like_sysbench(2, 1_000);
        }
        // A step between ids, as nodes of Galera have it, in a table that is too large to be counted.
        let numbers = if theirs.is_postgres() { "generate_series(1, 400000) AS n(seq)" } else { "seq_1_to_400000" };
        if theirs.engine == "postgres" || theirs.engine.starts_with("mariadb") {
            theirs.ask(&format!("INSERT INTO sbtest2 (id, k) SELECT 1000 + seq * 3, 1 FROM {numbers}"));
            let text = theirs.refusal(&all);
            assert!(text.contains("of 1000 ids that were looked up are missing"), "{text}");
        }
        if !theirs.is_postgres() {
            let mut nowhere = all.clone();
            nowhere.target.params.0.insert("url".into(), Value::Word(theirs.url("")));
            assert!(theirs.refusal(&nowhere).contains("names no database; name the one with your tables"));
        }
    }
}

#[test]
fn an_engine_without_tables_of_the_user_and_writes_that_are_not_allowed_are_refused_before_anything_begins() {
    let check = |trial: &Trial| engine::requirements::check_found_data(trial).map_err(|error| error.to_string());
    let urls = [("mysql", "mysql://u@h/d"), ("postgresql", "postgres://u@h/d")];
    for engine in sql_engines().chain(["fjall"]) {
        let refused = check(&trial(engine, "oltp", &[("tables_of", "sysbench")])).unwrap_err();
        assert!(
            refused.starts_with(&format!(
                "engine `{engine}` has no tables of yours: tables_of = `sysbench` needs the server"
            )),
            "{refused}"
        );
    }
    for (engine, url) in urls {
        let with = |settings: &[(&str, &str)]| {
            trial(engine, "oltp", &[&[("tables_of", "sysbench"), ("url", url)][..], settings].concat())
        };
        for mix in ["write_only", "read_write", "update_index", "update_non_index", "insert", "delete"] {
            let refused = check(&with(&[("mix", mix)])).unwrap_err();
            assert!(refused.starts_with(&format!("`{mix}` changes rows, and with tables_of = `sysbench` these are yours; use allow_writes = `true` if they may change")), "{refused}");
            assert_eq!(check(&with(&[("mix", mix), ("allow_writes", "true")])), Ok(()));
        }
        assert_eq!(check(&with(&[("mix", "read_only")])), Ok(()));
        assert_eq!(
            check(&trial(engine, "oltp", &[("mix", "write_only"), ("url", url)])),
            Ok(()),
            "plimsoll's own tables"
        );
        let own = |text: &str| own_trial(engine, &format!("existing = true\n{text}"), 1.0, &[("url", url)]);
        let refused = check(&own("[[statement]]\nname = 'touch'\nsql = 'UPDATE t SET a = 1'")).unwrap_err();
        assert!(refused.starts_with("`touch` changes rows, and with existing = `true` these are yours"), "{refused}");
    }
}

/// Statements on tables of a shop.
const SHOP: &str = "
existing = true
[[table]]
name = 'orders'
keys = 'SELECT id, customer, note FROM orders WHERE id > 10;'
[[statement]]
name = 'of_customer'
weight = 3
sql = 'SELECT count(*) FROM orders WHERE customer = :orders.customer AND id <> :orders.id@2'
[[statement]]
name = 'by_note'
sql = 'SELECT id FROM orders WHERE note = :orders.note AND id > :int(1,5)'
";

#[test]
fn statements_of_the_user_take_their_values_from_rows_that_are_there() {
    let parent = directory();
    for theirs in Theirs::all(parent.path()) {
        let number = if theirs.is_postgres() {
            "generate_series(1, 50) AS n(s)"
        } else {
            "(WITH RECURSIVE n(s) AS (SELECT 1 UNION ALL SELECT s + 1 FROM n WHERE s < 50) SELECT s FROM n) AS n"
        };
        theirs.ask(&format!(
            "CREATE TABLE orders (id BIGINT PRIMARY KEY, customer INT, note VARCHAR(20)); \
             INSERT INTO orders SELECT s, s % 7, concat('note', s) FROM {number}; UPDATE orders SET note = NULL WHERE id = 20"
        ));
        let before = theirs.checksum();
        let url = theirs.url("sbtest");
        let on = |text: &str, settings: &[(&str, &str)]| {
            own_trial(theirs.visitor(), text, 1.0, &[&[("url", url.as_str())][..], settings].concat())
        };
        for settings in [&[("access", "zipf:0.9")][..], &[("statements", "plain"), ("clients", "3")]] {
            let reads = on(SHOP, settings);
            let mut visit = prepared(&reads, parent.path());
            assert_eq!(ops_of(&mut *visit, &reads), 300);
            assert_eq!(fact(&*visit, "data.keys").as_deref(), Some("40"));
            visit.stop().unwrap();
        }
        assert_eq!(theirs.checksum(), before);
        for (from, to, what) in [
            (
                "id > 10;",
                "id > 99",
                "keys of `orders`: `SELECT id, customer, note FROM orders WHERE id > 99` returns no rows, so there are no values",
            ),
            ("FROM orders WHERE id > 10;", "FROM absent", "; the query was `SELECT id, customer, note FROM absent`"),
        ] {
            let text = theirs.refusal(&on(&SHOP.replace(from, to), &[]));
            assert!(text.contains(what), "{text}");
        }
        let writes = SHOP.replace("[[table]]", "allow_writes = true\n[[table]]")
            + "[[statement]]\nname = 'take'\nsql = 'UPDATE orders SET customer = customer + 1 WHERE id = :orders.id'\n";
        let writes = on(&writes, &[]);
        let mut visit = prepared(&writes, parent.path());
        assert_eq!(ops_of(&mut *visit, &writes), 300);
        assert_eq!(fact(&*visit, "data.origin_changed").as_deref(), Some("yes"));
        visit.stop().unwrap();
        assert!(theirs.checksum() != before);
    }
}

#[test]
fn the_tables_that_pgbench_has_made_carry_its_statements() {
    let programs = ["/usr/lib/postgresql/15/bin/pgbench", "/usr/bin/pgbench"];
    let Some(pgbench) = programs.into_iter().find(|program| Path::new(program).exists()) else {
        eprintln!("skipped: pgbench is not installed");
        return;
    };
    let parent = directory();
    if !servers().any(|engine| engine.entry.name == "postgres") {
        return;
    }
    let theirs = Theirs::of("postgres", parent.path());
    let made = Command::new(pgbench)
        .args(["-q", "-i", "-s", "2", "-U", "plimsoll", "-h", &theirs.socket_dir(), "sbtest"])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let before = theirs.checksum();
    let plan = include_str!("../../../../plans/pgbench-tables.toml");
    // What follows the settings of the plan that the test has its own of.
    let tables = &plan[plan.find("[[table]]").unwrap()..];
    let url = theirs.url("sbtest");
    let on = |more: &str| {
        own_trial("postgresql", &format!("existing = true\n{more}\n{tables}"), 1.0, &[("url", &url), ("clients", "2")])
    };
    assert!(
        engine::requirements::check_found_data(&on(""))
            .unwrap_err()
            .to_string()
            .starts_with("`tpcb_like` changes rows")
    );
    let trial = on("allow_writes = true");
    let mut visit = prepared(&trial, parent.path());
    assert_eq!(fact(&*visit, "data.keys").as_deref(), Some("200000, 20, 2"));
    assert_eq!(ops_of(&mut *visit, &trial), 300);
    visit.stop().unwrap();
    assert_eq!(theirs.ask("SELECT count(*) FROM pgbench_history"), "300");
    let sums = "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history)";
    assert_eq!(theirs.ask(sums), "t");
    assert!(theirs.checksum() != before);
}
