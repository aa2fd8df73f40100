//! Schemas on a server of another process: what plimsoll did not make is left as it is.

use crate::lab::{directory, fact, found, prepared, servers, start, trial};
use crate::visited::Visited;
use host::TargetError;
use model::Trial;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A name of the kind that plimsoll gives its schemas.
const TAKEN: &str = "plimsoll_0123456789abcdef";

/// A trial that visits the server `engine`, which is in `theirs`.
pub fn visiting(engine: &str, theirs: &Path) -> Trial {
    let socket = |name| found(theirs, name).display().to_string();
    let (visitor, url) = match engine {
        "postgres" => {
            ("postgresql", format!("postgres://plimsoll@localhost/postgres?socket={}", socket(".s.PGSQL.5432")))
        }
        _ => ("mysql", format!("mysql://root@localhost/?socket={}", socket("m.sock"))),
    };
    trial(visitor, "oltp", &[("url", url.as_str())])
}

/// What the server in `theirs` answers.
pub fn ask(engine: &str, theirs: &Path, statements: &str) -> String {
    let mut client = Command::new(if engine == "postgres" { "psql" } else { "mariadb" });
    match engine {
        "postgres" => {
            let socket = found(theirs, ".s.PGSQL.5432");
            client.args(["-qAt", "-U", "plimsoll", "-c", statements, "postgres", "-h"]).arg(socket.parent().unwrap())
        }
        _ => client.args(["-N", "-uroot", "-e", statements, "-S"]).arg(found(theirs, "m.sock")),
    };
    let said = client.output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_server_that_has_a_schema_of_plimsolls_name_is_refused_and_left_as_it_is() {
    let parent = directory();
    for engine in servers().map(|engine| engine.entry.name).filter(|name| !name.ends_with(":rocksdb")) {
        // Somebody else's for whom it is visited.
        let theirs = Visited::of(engine);
        let ask = |statements: &str| ask(engine, theirs.path(), statements);
        let schemas = || ask("SELECT schema_name FROM information_schema.schemata ORDER BY schema_name");
        ask(&format!(
            "CREATE SCHEMA {TAKEN}; CREATE TABLE {TAKEN}.sbtest1 (id INT); INSERT INTO {TAKEN}.sbtest1 VALUES (7)"
        ));
        let before = schemas();
        let visiting = visiting(engine, theirs.path());

        let refused = start(&visiting, parent.path()).err().expect("a refusal");
        let text = refused.to_string();
        assert!(matches!(refused, TargetError::Unsafe(_)) && text.contains(TAKEN) && text.contains("left as it is"));
        assert_eq!((schemas(), ask(&format!("SELECT sum(id) FROM {TAKEN}.sbtest1"))), (before.clone(), "7".into()));

        // With a marker that does not name it, it may be one that a killed plimsoll left: it is reported and left as it is.
        ask(&format!("CREATE TABLE {TAKEN}.plimsoll_marker (made_by VARCHAR(20), name VARCHAR(64))"));
        let visitor = prepared(&visiting, parent.path());
        assert_eq!(fact(&*visitor, "server.left_schemas").as_deref(), Some(TAKEN));
        visitor.stop().unwrap();
        assert_eq!((schemas(), ask(&format!("SELECT sum(id) FROM {TAKEN}.sbtest1"))), (before, "7".into()));

        // With the marker that names it, it is removed, and not counted as there once more.
        ask(&format!("INSERT INTO {TAKEN}.plimsoll_marker VALUES ('plimsoll', '{TAKEN}')"));
        let mut visiting_alone = visiting.clone();
        if engine == "postgres" {
            // Its server is also used by the one for whom it was started, which may be a plimsoll that is using the schema.
            let visitor = prepared(&visiting, parent.path());
            assert_eq!(fact(&*visitor, "server.left_schemas").as_deref(), Some(TAKEN));
            visitor.stop().unwrap();
            ask(&format!(
                "CREATE ROLE alone LOGIN; GRANT CREATE ON DATABASE postgres TO alone; ALTER SCHEMA {TAKEN} OWNER TO alone; \
                 ALTER TABLE {TAKEN}.plimsoll_marker OWNER TO alone; ALTER TABLE {TAKEN}.sbtest1 OWNER TO alone"
            ));
            let url = visiting.target.params.word("url").replace("//plimsoll@", "//alone@");
            visiting_alone.target.params.0.insert("url".into(), model::Value::Word(url));
        }
        let visitor = prepared(&visiting_alone, parent.path());
        let told = ["server.removed_schemas", "server.left_schemas"].map(|name| fact(&*visitor, name));
        assert_eq!(told, [Some("1".to_owned()), None], "{engine}");
        visitor.stop().unwrap();
        assert!(!schemas().contains(TAKEN), "{engine}");

        // One that was killed before it made the marker leaves the schema empty.
        ask(&format!("CREATE SCHEMA {TAKEN}"));
        let visitor = start(&visiting, parent.path()).unwrap();
        assert_eq!(fact(&*visitor, "server.left_schemas").as_deref(), Some(TAKEN));
        visitor.stop().unwrap();
    }
}

#[test]
fn an_account_that_lacks_a_password_or_a_privilege_is_refused_with_what_it_needs() {
    let parent = directory();
    let password_file = parent.path().join("password");
    for engine in servers().map(|engine| engine.entry.name).filter(|name| !name.ends_with(":rocksdb")) {
        let theirs = Visited::of(engine);
        let ask = |statements: &str| ask(engine, theirs.path(), statements);
        let visit_at = |password: &str, database: &str| {
            std::fs::write(&password_file, password).unwrap();
            std::fs::set_permissions(&password_file, std::fs::Permissions::from_mode(0o600)).unwrap();
            let mut trial = visiting(engine, theirs.path());
            let params = &mut trial.target.params.0;
            let url = params["url"].to_string().replace("root@", "guest@").replace("//plimsoll@", "//guest@");
            let url = url.replace("localhost/?", &format!("localhost/{database}?"));
            params.insert("url".into(), model::Value::Word(url));
            params.insert("password_file".into(), model::Value::Word(password_file.to_str().unwrap().into()));
            start(&trial, parent.path())
        };
        let visit = |password: &str| visit_at(password, "");
        let refused = |password: &str| visit(password).err().expect("a refusal").to_string();
        let refused_at = |database: &str| visit_at("c4n4ry", database).err().expect("a refusal").to_string();
        let grant = match engine {
            "postgres" => "GRANT CREATE ON DATABASE \"postgres\" TO \"guest\"",
            _ => "GRANT ALL ON `plimsoll\\_%`.* TO 'guest'@'localhost'",
        };
        match engine {
            "postgres" => ask("CREATE ROLE guest LOGIN"),
            _ => ask("CREATE USER guest@localhost IDENTIFIED BY 'c4n4ry'"),
        };
        let text = refused("c4n4ry");
        assert!(text.ends_with(grant), "{text}");
        if engine != "postgres" {
            let text = refused("wrong");
            assert!(text.contains("Access denied") && text.contains("PLIMSOLL_PASSWORD or --password-file"), "{text}");
            // It may make a schema and not the marker in it: the schema goes, and the advice is of the name of the next one, too.
            ask("GRANT CREATE, DROP, INDEX, ALTER, SELECT ON *.* TO guest@localhost");
            let text = refused("c4n4ry");
            assert!(text.contains("INSERT command denied") && text.ends_with(grant), "{text}");
            assert_eq!(ask("SHOW DATABASES LIKE 'plimsoll\\_%'"), "");
            ask("CREATE DATABASE bench");
            let text = refused_at("bench");
            assert!(text.ends_with("GRANT ALL ON `bench`.* TO 'guest'@'localhost'"), "{text}");
            assert_eq!(ask("SHOW TABLES IN bench"), "", "the user's database is as it was");
            ask("REVOKE ALL, GRANT OPTION FROM guest@localhost");
        }
        // What the message says is enough.
        ask(grant);
        let replication = || {
            let visitor = visit("c4n4ry").unwrap();
            let hidden = fact(&*visitor, "server.replication");
            visitor.stop().unwrap();
            hidden
        };
        let hidden = (engine != "postgres").then(|| "hidden from the account".to_owned());
        assert_eq!(replication(), hidden, "{engine}");
        if hidden.is_some() {
            ask("GRANT PROCESS, SLAVE MONITOR ON *.* TO guest@localhost");
            assert_eq!(replication(), None);
        }
    }
}

#[test]
fn an_empty_database_in_the_url_is_worked_in_and_stays_and_any_other_is_refused() {
    let parent = directory();
    for engine in servers().map(|engine| engine.entry.name).filter(|name| *name == "mariadb:innodb") {
        let theirs = Visited::of(engine);
        let ask = |statements: &str| ask(engine, theirs.path(), statements);
        ask("CREATE DATABASE bench; CREATE DATABASE full; CREATE TABLE full.thesis (id INT); \
             CREATE USER guest@localhost; GRANT ALL ON bench.* TO guest@localhost");
        let visit = |user: &str, database: &str| {
            let mut trial = visiting(engine, theirs.path());
            let url =
                trial.target.params.word("url").replace("root@localhost/", &format!("{user}@localhost/{database}"));
            trial.target.params.0.insert("url".into(), model::Value::Word(url));
            trial
        };
        let tables = |database: &str| ask(&format!("SHOW TABLES IN {database}"));

        // An account that may use this database and no other is enough.
        let visitor = prepared(&visit("guest", "bench"), parent.path());
        assert_eq!(fact(&*visitor, "server.schema").as_deref(), Some("bench"));
        assert_eq!(tables("bench"), "plimsoll_marker\nsbtest1");
        // Another program's table is not plimsoll's to drop.
        ask("CREATE TABLE bench.other (id INT)");
        visitor.stop().unwrap();
        assert_eq!(tables("bench"), "other");

        for (user, database, why) in [
            ("root", "bench", "database `bench` is not empty (`other`), and was left as it is"),
            ("root", "full", "database `full` is not empty (`thesis`)"),
            ("root", "absent", "has no database `absent`"),
            ("guest", "full", "GRANT ALL ON `full`.* TO 'guest'@'localhost'"),
        ] {
            let text = start(&visit(user, database), parent.path()).err().expect("a refusal").to_string();
            assert!(text.contains(why) && !text.contains("replay"), "{text}");
        }
        assert_eq!((tables("bench"), tables("full")), ("other".into(), "thesis".into()));
    }
}
