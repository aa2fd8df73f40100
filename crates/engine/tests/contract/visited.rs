//! Servers that tests visit by URL: each is started once, and lent to one test after the other.
//!
//! In: an engine. Out: a server of somebody else's without tables, which no other test has until it is given back. What was made there is
//! removed then, databases, schemas, tables and accounts, and the variables of [`SETTABLE`] are set back.
//! Limits: a test that kills its server or changes more than that starts one of its own. If a test fails, its server is lent to nobody. All
//! end with this program, as it ends itself: libtest drops nothing.

use crate::insert::asked;
use crate::lab::{directory, fact, prepared, trial};
use crate::schemas::{ask, visiting};
use engine::Instance;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, Once};
use tempfile::TempDir;

/// A server that a test has for itself.
pub struct Visited(Arc<Home>);

/// What a server is known by.
struct Home {
    engine: &'static str,
    path: PathBuf,
    process: Pid,
    /// The statements that would remove what it has by itself.
    own: BTreeSet<String>,
    /// The statement that sets its variables to what they were at its start.
    variables: Option<String>,
}

/// Those that nobody has.
static IDLE: Mutex<Vec<Arc<Home>>> = Mutex::new(Vec::new());
/// All that were started.
static STARTED: Mutex<Vec<Arc<Home>>> = Mutex::new(Vec::new());

/// Writes the statement that sets the variables of a MariaDB or MySQL which tests change.
const SETTABLE: &str = "SELECT concat('SET GLOBAL sql_mode = ''', @@global.sql_mode, ''', GLOBAL local_infile = ', \
                        @@global.local_infile, ', GLOBAL max_allowed_packet = ', @@global.max_allowed_packet)";

/// Writes the statements that would remove all that is there.
const REMOVING: [&str; 2] = [
    "SELECT concat('DROP DATABASE IF EXISTS `', schema_name, '`') FROM information_schema.schemata UNION ALL \
     SELECT concat('DROP TABLE IF EXISTS plimsoll.`', table_name, '`') FROM information_schema.tables \
     WHERE table_schema = 'plimsoll' UNION ALL \
     SELECT concat('DROP USER IF EXISTS ''', user, '''@''', host, '''') FROM mysql.user",
    "SELECT format('DROP DATABASE IF EXISTS %I WITH (FORCE)', datname) FROM pg_database UNION ALL \
     SELECT format('DROP SCHEMA IF EXISTS %I CASCADE', nspname) FROM pg_namespace WHERE nspname !~ '^pg_' UNION ALL \
     SELECT format('DROP TABLE IF EXISTS public.%I CASCADE', tablename) FROM pg_tables WHERE schemaname = 'public' UNION ALL \
     SELECT format('DROP OWNED BY %I', rolname) FROM pg_roles UNION ALL \
     SELECT format('DROP ROLE IF EXISTS %I', rolname) FROM pg_roles",
];

impl Visited {
    /// A server of `engine`.
    pub fn of(engine: &'static str) -> Visited {
        let idle = {
            let mut all = IDLE.lock().unwrap();
            all.iter().position(|home| home.engine == engine).map(|at| all.swap_remove(at))
        };
        Visited(idle.unwrap_or_else(|| Home::start(engine)))
    }

    /// The directory in which it is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Its first process.
    pub fn process(&self) -> Pid {
        self.0.process
    }
}

impl Drop for Visited {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.clean_up();
            IDLE.lock().unwrap().push(self.0.clone());
        }
    }
}

impl Home {
    fn start(engine: &'static str) -> Arc<Home> {
        let (started, receiver) = channel();
        // A server dies with the thread that has started it.
        std::thread::spawn(move || {
            let home = directory();
            let instance =
                prepared(&trial(engine, "oltp", &[("table_rows", "1"), ("durability", "none")]), home.path());
            started.send((home.path().to_owned(), instance.report().processes[0])).unwrap();
            loop {
                std::thread::park();
            }
        });
        let (path, process) = receiver.recv().expect("its thread says why it was not started");
        let is_postgres = engine == "postgres";
        ask(engine, &path, if is_postgres { "DROP TABLE sbtest1" } else { "DROP TABLE plimsoll.sbtest1" });
        let home = Arc::new(Home {
            engine,
            own: removing(engine, &path).into_iter().collect(),
            variables: (!is_postgres).then(|| ask(engine, &path, SETTABLE)),
            process: Pid::from_raw(process as i32).unwrap(),
            path,
        });
        STARTED.lock().unwrap().push(home.clone());
        end_all_at_exit();
        home
    }

    fn clean_up(&self) {
        let made = removing(self.engine, &self.path).into_iter().filter(|statement| !self.own.contains(statement));
        made.chain(self.variables.clone()).for_each(|statement| drop(ask(self.engine, &self.path, &statement)));
    }
}

/// Where tables are made if their server is not what is tested: SQLite and MyRocks work in a directory, and other servers are visited.
pub struct TableHome {
    /// The engine of trials.
    pub engine: &'static str,
    parent: TempDir,
    visited: Option<(Visited, String)>,
}

impl TableHome {
    /// For tables of `engine`.
    pub fn of(engine: &'static str) -> TableHome {
        let parent = directory();
        if engine == "sqlite" || engine.ends_with(":rocksdb") {
            return TableHome { engine, parent, visited: None };
        }
        let visited = Visited::of(engine);
        let visiting = visiting(engine, visited.path());
        let url = visiting.target.params.word("url").to_owned();
        let engine = if engine == "postgres" { "postgresql" } else { "mysql" };
        TableHome { engine, parent, visited: Some((visited, url)) }
    }

    /// What trials are set to in addition.
    pub fn setting(&self) -> (&'static str, &str) {
        self.visited.as_ref().map_or(("durability", "none"), |(_, url)| ("url", url.as_str()))
    }

    /// Where instances are started.
    pub fn path(&self) -> &Path {
        self.parent.path()
    }

    /// The answer to a question about the tables of `instance`, in lines.
    pub fn asked(&self, instance: &dyn Instance, question: &str) -> Vec<String> {
        let Some((Visited(home), _)) = &self.visited else { return asked(self.engine, self.path(), question) };
        let schema = fact(instance, "server.schema").expect("a visitor has a schema");
        let first =
            if home.engine == "postgres" { format!("SET search_path = {schema}") } else { format!("USE {schema}") };
        let answer = ask(home.engine, &home.path, &format!("{first}; {question}"));
        answer.lines().map(str::to_owned).collect()
    }
}

fn removing(engine: &str, path: &Path) -> Vec<String> {
    let all = ask(engine, path, REMOVING[usize::from(engine == "postgres")]);
    all.lines().map(str::to_owned).collect()
}

fn end_all_at_exit() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function needs nothing that may be gone at the end of a program, and does not unwind.
        let refused = unsafe { libc::atexit(end_all) };
        assert_eq!(refused, 0, "a program has room for 32 such functions");
    });
}

extern "C" fn end_all() {
    let all = STARTED.lock().map(|all| all.clone()).unwrap_or_default();
    for home in all {
        let _ = kill_process_group(home.process, Signal::KILL); // it may be gone
        let _ = std::fs::remove_dir_all(&home.path);
    }
}
