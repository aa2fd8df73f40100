//! Statements of a plan that reach beyond what plimsoll made: other schemas of a server, its settings and accounts, files.
//!
//! In: a trial. Out: the statements that its plan spells out and that run outside of plimsoll's own schema, and a refusal of those that change
//! something there, unless the user allowed it. A plan cannot allow it: who passes a plan on would allow it to themselves.
//!
//! Limits: SQL is not understood, only its tokens are looked at, so that too much is found rather than too little; a schema that is only read is
//! no reason to refuse. What a function of the server does that is called by name is not seen, but for those of [`FUNCTIONS`]. On a private
//! server everything is plimsoll's.

use crate::engine::EngineLocation;
use crate::registry::{engine_of, family_of};
use crate::requirements::uses_found_data;
use crate::sql::rejection::custom_ops;
use host::error::{TargetError, shown};
use model::{Family, Trial, Value};
use sql::{Dialect, Reading, TokenKind};
use std::collections::BTreeSet;
use std::path::Path;

/// A statement of a plan that runs outside of plimsoll's own schema.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutsideStatement {
    /// The statement as the plan has it.
    pub text: String,
    /// Whether it changes something there, as far as its words show.
    pub changes: bool,
}

/// The statements of `trial` that its plan spells out and that run outside of plimsoll's own schema, each once.
pub fn statements_outside(trial: &Trial) -> Vec<OutsideStatement> {
    let place = match (engine_of(trial).runs, family_of(trial)) {
        _ if engine_of(trial).scripted => return Vec::new(),
        (EngineLocation::Elsewhere, _) => Place::Server { has_own_schema: !uses_found_data(trial) },
        (EngineLocation::Embedded, Family::Sql) => Place::Process,
        _ => return Vec::new(),
    };
    let found: BTreeSet<OutsideStatement> = written(trial).into_iter().filter_map(|text| place.outside(text)).collect();
    found.into_iter().collect()
}

/// Refuses statements of a plan that change what plimsoll did not make, unless the user has allowed it.
pub fn check_outside(trial: &Trial, is_allowed: bool) -> Result<(), TargetError> {
    if !is_allowed && allows_itself(trial) {
        return Err(TargetError::Unsafe(format!(
            "the plan says {ALLOW_WRITES} = `true`, so that rows would change that plimsoll did not make; add --allow-writes if they may"
        )));
    }
    let changing = statements_outside(trial).into_iter().find(|statement| statement.changes);
    match changing.filter(|_| !is_allowed) {
        None => Ok(()),
        Some(statement) => Err(TargetError::Unsafe(format!(
            "`{}` may change what plimsoll did not make; read the plan (`plimsoll plan` lists all such statements), and add \
             --allow-writes if they may run",
            shown(Path::new(statement.text.trim()))
        ))),
    }
}

/// The parameter by which workloads on tables that are there change them.
const ALLOW_WRITES: &str = "allow_writes";

/// Whether the plan allows changes of tables that are there.
fn allows_itself(trial: &Trial) -> bool {
    let says = trial.workload.params.0.get(ALLOW_WRITES) == Some(&Value::Bool(true));
    says && engine_of(trial).runs == EngineLocation::Elsewhere && !engine_of(trial).scripted
}

/// All statements that the plan spells out for the trial.
fn written(trial: &Trial) -> Vec<String> {
    let params = trial.workload.params.0.values().chain(trial.target.params.0.values());
    let of_param = params.flat_map(|value| match value {
        Value::Variant(variant) => variant.steps.iter().map(|step| step.sql.clone()).collect(),
        Value::Data(data) => data.statements.clone(),
        _ => Vec::new(),
    });
    let custom = custom_ops(trial).into_iter().flat_map(|op| op.statements).map(|own| own.as_written());
    of_param.chain(custom).collect()
}

enum Place {
    /// On a server that plimsoll did not start.
    Server {
        /// Whether what they name without a schema is plimsoll's.
        has_own_schema: bool,
    },
    /// In plimsoll's own process, on a database of its own.
    Process,
}

impl Place {
    fn outside(&self, text: String) -> Option<OutsideStatement> {
        // Servers differ in whether a backslash escapes a quote, and in what is a comment: what is outside by one reading is outside.
        let readings: Vec<Words> = readings_of(&text).map(|reading| Words::of(&text, reading)).collect();
        let changes = match self {
            Place::Process => readings.iter().any(Words::reaches_files).then_some(true),
            Place::Server { has_own_schema } => {
                let writes = readings.iter().any(|words| words.writes() || words.selects_into());
                let all = readings.iter().any(Words::reaches_server).then_some(true);
                let named = || (!has_own_schema || readings.iter().any(Words::names_others)).then_some(writes);
                all.or_else(named)
            }
        };
        changes.map(|changes| OutsideStatement { text, changes })
    }
}

/// The ways in which servers may read a text.
fn readings_of(text: &str) -> impl Iterator<Item = Reading> {
    let escapes = if text.contains('\\') { &[true, false][..] } else { &[true] };
    let of =
        |dialect| escapes.iter().map(move |escapes| Reading { backslash_escapes: *escapes, ..Reading::usual(dialect) });
    [Dialect::Mysql, Dialect::Postgres, Dialect::Any].into_iter().flat_map(of)
}

/// First words of statements that concern a server as a whole, or of which it cannot be seen what they do.
const FIRST: &str = "BACKUP BINLOG CALL CHANGE CHECKPOINT CLONE COPY DO EXECUTE FLUSH GRANT HANDLER IMPORT INSTALL KILL LOAD NOTIFY \
    PREPARE PURGE REASSIGN RESET RESTART REVOKE SECURITY SHUTDOWN STOP UNINSTALL USE";
/// What is made, changed or dropped outside of schemas.
const OBJECTS: &str = "DATABASE SCHEMA USER ROLE SERVER TABLESPACE EXTENSION SYSTEM PUBLICATION SUBSCRIPTION INSTANCE LANGUAGE \
    LOGFILE OWNED EVENT FOREIGN DEFAULT";
/// Words that may stand between `CREATE` and what is made.
const MODIFIERS: &str = "OR REPLACE TEMPORARY TEMP UNLOGGED GLOBAL LOCAL UNIQUE UNDO";
/// Words that make a setting one of all sessions, or that of a session another place or account: names without a schema lead elsewhere then.
const GLOBAL: &str = "GLOBAL PERSIST PERSIST_ONLY PASSWORD SEARCH_PATH SCHEMA ROLE AUTHORIZATION";
/// Beginnings of the names of functions that change a server, or read and write its files.
const FUNCTIONS: &str = "pg_cancel_ pg_terminate_ pg_reload_ pg_promote pg_rotate_ pg_switch_ pg_drop_ pg_create_ pg_read_ pg_file_ \
    pg_ls_ pg_stat_reset lo_ dblink set_config sys_exec sys_eval load_file";
/// Words after which a table, or what is made of one, is named.
const BEFORE_TABLES: &str =
    "INTO UPDATE FROM JOIN TABLE EXISTS VIEW ONLY INDEX SEQUENCE TRUNCATE FUNCTION PROCEDURE TRIGGER ON";
/// Statements in which every name is that of a table.
const TABLES_ONLY: &str = "DROP TRUNCATE ANALYZE OPTIMIZE LOCK RENAME";
/// Names before a dot that are rows and no schemas.
const ROWS: &str = "NEW OLD EXCLUDED";

/// A part of a statement that counts here.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Name { text: String, quoted: bool },
    Sign(char),
}

/// The words of a statement, without its texts and comments.
struct Words(Vec<Word>);

impl Words {
    /// The words of `text` by one `reading`.
    fn of(text: &str, reading: Reading) -> Words {
        let word = |token: &sql::Token| match token.kind {
            TokenKind::Word => Some(Word::Name { text: token.text(text).to_owned(), quoted: false }),
            TokenKind::Variable => {
                Some(Word::Name { text: token.text(text).trim_start_matches('@').to_owned(), quoted: false })
            }
            // In some dialects a text: then it is no name that the statement could use, and does no harm.
            TokenKind::Name | TokenKind::Text => Some(Word::Name { text: token.name(text)?, quoted: true }),
            TokenKind::Sign => token.text(text).chars().next().map(Word::Sign),
            TokenKind::Number | TokenKind::Param => None,
        };
        let lexed = sql::lex_to_end(text, reading);
        let mut words: Vec<Word> = lexed.tokens.iter().filter_map(word).collect();
        // What a statement does is said by its first word, whatever signs stand before it.
        let first = words.iter().position(|word| matches!(word, Word::Name { .. })).unwrap_or(words.len());
        Words(words.split_off(first))
    }

    /// The word at `at` as a keyword, in capitals.
    fn key(&self, at: usize) -> Option<String> {
        match self.0.get(at)? {
            Word::Name { text, quoted: false } => Some(text.to_uppercase()),
            _ => None,
        }
    }

    fn keys(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.0.len()).filter_map(|at| self.key(at))
    }

    fn is_one_of(&self, at: usize, words: &str) -> bool {
        self.key(at).is_some_and(|key| is_in(&key, words))
    }

    /// Whether a word of it changes something; some are functions if a bracket follows.
    fn writes(&self) -> bool {
        (0..self.0.len()).any(|at| {
            let is_call = self.is_one_of(at, "INSERT REPLACE TRUNCATE") && self.0.get(at + 1) == Some(&Word::Sign('('));
            self.is_one_of(at, "INSERT UPDATE DELETE REPLACE MERGE TRUNCATE CREATE DROP ALTER") && !is_call
        })
    }

    /// Whether it concerns the server as a whole.
    fn reaches_server(&self) -> bool {
        let makes = self.is_one_of(0, "CREATE ALTER DROP");
        let replicates = self.is_one_of(0, "START") && !self.is_one_of(1, "TRANSACTION");
        let is_global = |word: &Word| matches!(word, Word::Name { text, .. } if is_in(text, GLOBAL));
        let sets = self.is_one_of(0, "SET") && self.0.iter().any(is_global);
        let renames_user = self.is_one_of(0, "RENAME") && self.is_one_of(1, "USER");
        let writes_file = self.keys().any(|key| is_in(&key, "OUTFILE DUMPFILE"));
        self.is_one_of(0, FIRST)
            || replicates
            || sets
            || renames_user
            || writes_file
            || (makes && self.is_one_of(self.first_after(1, MODIFIERS), OBJECTS))
            || self.calls(FUNCTIONS)
    }

    /// The first place from `at` on at which none of `words` stands.
    fn first_after(&self, at: usize, words: &str) -> usize {
        (at..self.0.len()).find(|at| !self.is_one_of(*at, words)).unwrap_or(self.0.len())
    }

    /// Whether it reaches files that are none of the database.
    fn reaches_files(&self) -> bool {
        let vacuums_into = self.is_one_of(0, "VACUUM") && self.keys().any(|key| key == "INTO");
        self.is_one_of(0, "ATTACH") || vacuums_into || self.calls("load_extension writefile edit")
    }

    /// Whether a function is called whose name begins so.
    fn calls(&self, names: &str) -> bool {
        self.0.windows(2).any(|pair| match pair {
            [Word::Name { text, .. }, Word::Sign('(')] => {
                names.split(' ').any(|name| text.to_lowercase().starts_with(name))
            }
            _ => false,
        })
    }

    /// Whether it makes a table of what it reads: `SELECT ... INTO`.
    fn selects_into(&self) -> bool {
        self.is_one_of(0, "SELECT WITH TABLE") && self.keys().any(|key| key == "INTO")
    }

    /// Whether it names something in another schema.
    fn names_others(&self) -> bool {
        let alone: BTreeSet<String> =
            (0..self.0.len()).filter(|at| !self.is_before_dot(*at)).filter_map(|at| self.name_after(at, '.')).collect();
        let qualified = (0..self.0.len()).filter(|at| self.is_before_dot(*at));
        qualified.into_iter().any(|at| {
            let Some(Word::Name { text, .. }) = self.0.get(at) else { return false };
            self.is_place_of_table(at) || !(alone.contains(&text.to_lowercase()) || is_in(text, ROWS))
        })
    }

    /// Whether a schema or a table is at `at`, with a dot and a name behind it and no dot before it.
    fn is_before_dot(&self, at: usize) -> bool {
        let begins = at == 0 || self.0.get(at - 1) != Some(&Word::Sign('.'));
        begins
            && self.0.get(at + 1) == Some(&Word::Sign('.'))
            && matches!(self.0.get(at), Some(Word::Name { text, .. }) if !text.starts_with(|c: char| c.is_ascii_digit()))
            && matches!(self.0.get(at + 2), Some(Word::Name { .. }))
    }

    /// The name at `at`, in small letters, unless the sign `not_before` is before it.
    fn name_after(&self, at: usize, not_before: char) -> Option<String> {
        match self.0.get(at)? {
            Word::Name { text, .. } if at == 0 || self.0.get(at - 1) != Some(&Word::Sign(not_before)) => {
                Some(text.to_lowercase())
            }
            _ => None,
        }
    }

    /// Whether what is at `at` is the name of a table: a column with its table may stand elsewhere.
    fn is_place_of_table(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        let is_join_condition = self.is_one_of(before, "ON") && !self.is_one_of(0, "CREATE DROP");
        let follows_comma = self.0.get(before) == Some(&Word::Sign(',')) && !self.is_in_brackets(at);
        let in_list = follows_comma && !(0..at).any(|at| self.is_one_of(at, "SET SELECT BY VALUES"));
        self.is_one_of(0, TABLES_ONLY)
            || (self.is_one_of(before, BEFORE_TABLES) && !is_join_condition)
            || (self.is_one_of(0, "UPDATE DELETE") && in_list)
    }

    fn is_in_brackets(&self, at: usize) -> bool {
        let count = |sign: char| self.0[..at].iter().filter(|word| **word == Word::Sign(sign)).count();
        count('(') > count(')')
    }
}

fn is_in(word: &str, words: &str) -> bool {
    words.split(' ').any(|one| one.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Place = Place::Server { has_own_schema: true };

    /// Whether it changes something outside; `None` if it stays within plimsoll's own schema.
    fn outside(text: &str) -> Option<bool> {
        OWN.outside(text.to_owned()).map(|found| found.changes)
    }

    #[test]
    fn what_stays_in_plimsolls_own_schema_is_not_outside() {
        for own in [
            "SELECT c FROM sbtest1 WHERE id = 5",
            "SELECT orders.id, o.n FROM orders JOIN other o ON o.id = orders.id",
            "UPDATE orders o SET n = o.n + 1.5 WHERE o.id = 3",
            "UPDATE a JOIN b ON a.id = b.id SET a.n = b.n, a.m = b.m",
            "DELETE FROM orders WHERE orders.id IN (SELECT o.id FROM orders o)",
            "INSERT INTO t (a, b) SELECT t.a, 'other.x' FROM t ON CONFLICT (a) DO UPDATE SET b = excluded.b",
            "CREATE TABLE c AS SELECT DISTINCT id FROM orders",
            "CREATE INDEX i ON c (id)",
            "CREATE TEMPORARY TABLE c (id INT PRIMARY KEY, d VARCHAR(20) DEFAULT 'user')",
            "DROP TABLE c",
            "SET SESSION sort_buffer_size = 1000000",
            "SET work_mem = '64MB'",
            "START TRANSACTION",
            "CREATE TABLE user (role INT)",
            "LOCK TABLES orders WRITE",
            "ANALYZE TABLE orders, customers",
            "ANALYZE",
            "SELECT /* other.x */ 1.5, 'it''s other.x', count(*) FROM t",
        ] {
            assert_eq!(outside(own), None, "{own}");
        }
    }

    #[test]
    fn what_changes_other_schemas_or_the_server_is_outside() {
        for others in [
            "DROP TABLE other.x",
            "DROP TABLE mine, other.x",
            "DROP TABLE other, other.x",
            "DROP TABLE `other` . `x`",
            "DELETE FROM other.x AS other",
            "DELETE FROM \"other\".x",
            "UPDATE a other, other.x SET other.n = 1",
            "INSERT INTO other.x SELECT * FROM t",
            "CREATE TABLE other.x (id INT)",
            "CREATE INDEX i ON other.x (id)",
            "SELECT * INTO other.x FROM t",
            "DROP TABLE /*!50000 other.x */",
            "SELECT '\\'; '; DELETE FROM other.x; '",
            "SET GLOBAL max_connections = 1",
            "set @@global.max_connections = 1",
            "SET search_path = public",
            "SET \"search_path\" TO public",
            "SET ROLE admin",
            "SELECT set_config('search_path', 'public', false)",
            "# tidy\nDROP DATABASE shop",
            "#'\nDROP DATABASE shop #'",
            "/*M' */ DROP DATABASE shop /*' */",
            "ALTER SYSTEM SET work_mem = '1GB'",
            "DROP DATABASE shop",
            "CREATE OR REPLACE USER nobody",
            "GRANT ALL ON *.* TO nobody",
            "FLUSH TABLES WITH READ LOCK",
            "SHUTDOWN",
            "SELECT * FROM t INTO OUTFILE '/tmp/x'",
            "COPY t TO PROGRAM 'sh'",
            "SELECT pg_terminate_backend(5)",
            "DO $$ BEGIN EXECUTE 'DROP TABLE x'; END $$",
            "RENAME USER a TO b",
            "BINLOG 'abc'",
            "SELECT 1 /*M!100100 INTO OUTFILE '/tmp/x' */",
            "SELECT $$'$$; DROP TABLE other.x; SELECT $$'$$",
            "SELECT /* /* */ ' */ 1; DROP TABLE other.x --'",
        ] {
            assert_eq!(outside(others), Some(true), "{others}");
        }
    }

    #[test]
    fn what_only_reads_other_schemas_is_listed_and_changes_nothing() {
        assert_eq!(outside("SELECT * FROM shop.orders WHERE id = 5"), Some(false));
        assert_eq!(outside("SELECT count(*) FROM information_schema.tables"), Some(false));
        assert_eq!(outside("SELECT REPLACE(c, 'a', 'b'), TRUNCATE(n, 1), 'DROP' FROM shop.orders"), Some(false));
    }

    #[test]
    fn on_tables_of_the_user_every_statement_is_outside_and_sqlite_has_files_only() {
        let found = Place::Server { has_own_schema: false };
        let changes = |place: &Place, text: &str| place.outside(text.to_owned()).map(|found| found.changes);
        assert_eq!(changes(&found, "SELECT * FROM orders"), Some(false));
        assert_eq!(changes(&found, "UPDATE orders SET n = 1"), Some(true));
        assert_eq!(changes(&Place::Process, "DROP TABLE other.x"), None);
        assert_eq!(changes(&Place::Process, "ATTACH DATABASE '/home/me/db' AS other"), Some(true));
        assert_eq!(changes(&Place::Process, "VACUUM INTO '/home/me/db'"), Some(true));
    }
}
