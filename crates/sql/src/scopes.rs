//! The tables that a statement names, by the SELECT (or UPDATE, INSERT, DELETE) that names them.
//!
//! In: a statement that was split. Out: [`Scopes`]: of each token the tables that an unqualified column there may be of, and what their aliases
//! stand for; and into which tables it inserts. Limits: a statement is not parsed. What stands where a table does and is none (`EXTRACT(hour FROM a)`)
//! counts as one.

use crate::lexer::TokenKind;
use crate::split::{SplitText, TableName};

/// A table of a statement.
struct NamedTable {
    /// Its alias, or its own name.
    called: String,
    name: TableName,
}

/// The tables of one SELECT.
#[derive(Default)]
struct Scope {
    /// The number of the one around it.
    parent: Option<usize>,
    tables: Vec<NamedTable>,
}

/// The tables of a statement.
pub(crate) struct Scopes {
    scopes: Vec<Scope>,
    /// Of each token the number of its scope.
    pub of_token: Vec<usize>,
    /// The tables into which it inserts, each with the number of the token behind it.
    pub inserts: Vec<(TableName, usize)>,
}

impl Scopes {
    pub fn of(split: SplitText<'_>) -> Scopes {
        let found = Scopes { scopes: vec![Scope::default()], of_token: Vec::new(), inserts: Vec::new() };
        let mut finder = ScopeFinder { split, found, levels: vec![Level::default()], inserts_next: false };
        let mut at = 0;
        while at < split.tokens.len() {
            at = finder.step(at);
            let scope = finder.level().scope;
            finder.found.of_token.resize(at, scope);
        }
        finder.found
    }

    /// The tables of scope number `scope`.
    pub fn tables_in(&self, scope: usize) -> impl Iterator<Item = &TableName> {
        self.scopes[scope].tables.iter().map(|table| &table.name)
    }

    /// The table that is `called` so in scope number `scope` or around it.
    pub fn table_called(&self, scope: usize, split: &SplitText<'_>, called: &str) -> Option<&TableName> {
        let mut around = std::iter::successors(Some(scope), |scope| self.scopes[*scope].parent);
        let found = around
            .find_map(|scope| self.scopes[scope].tables.iter().find(|table| split.is_same(&table.called, called)));
        found.map(|table| &table.name)
    }
}

/// What is within brackets, or the whole statement.
#[derive(Clone, Copy, Default)]
struct Level {
    scope: usize,
    /// Whether the next name is that of a table.
    expects_table: bool,
    /// Whether a table follows each comma.
    is_in_list: bool,
}

struct ScopeFinder<'a> {
    split: SplitText<'a>,
    found: Scopes,
    /// Those that are open, the innermost last.
    levels: Vec<Level>,
    /// Whether the next table is one into which it inserts.
    inserts_next: bool,
}

/// What may stand before the name of a table.
const BEFORE_NAME: [&str; 9] =
    ["only", "lateral", "into", "ignore", "low_priority", "high_priority", "delayed", "quick", "table"];
/// What ends a list of tables.
const BEHIND_TABLES: [&str; 14] = [
    "where",
    "set",
    "group",
    "order",
    "having",
    "limit",
    "values",
    "value",
    "returning",
    "window",
    "union",
    "except",
    "intersect",
    "for",
];
/// What may stand behind the name of a table and is no alias of it.
const NO_ALIAS: [&str; 24] = [
    "on",
    "using",
    "join",
    "inner",
    "left",
    "right",
    "full",
    "cross",
    "natural",
    "straight_join",
    "select",
    "default",
    "force",
    "use",
    "ignore",
    "partition",
    "offset",
    "fetch",
    "lock",
    "procedure",
    "into",
    "overriding",
    "tablesample",
    "with",
];

impl ScopeFinder<'_> {
    fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("the statement is never closed")
    }

    fn new_scope(&mut self, parent: Option<usize>) -> usize {
        self.found.scopes.push(Scope { parent, tables: Vec::new() });
        self.found.scopes.len() - 1
    }

    /// Takes what begins at `at`, and returns the number of the token behind it.
    fn step(&mut self, at: usize) -> usize {
        if self.level().expects_table
            && let Some(behind) = self.take_table(at)
        {
            return behind;
        }
        let token = self.split.tokens[at];
        match token.text(self.split.text) {
            "(" => self.open(at),
            ")" if self.levels.len() > 1 => {
                self.levels.pop();
            }
            "," => {
                let level = self.level();
                level.expects_table = level.is_in_list;
            }
            ";" => {
                let scope = self.new_scope(None);
                self.levels = vec![Level { scope, ..Level::default() }];
            }
            _ if token.kind == TokenKind::Word => self.take_word(at),
            _ => {}
        }
        at + 1
    }

    fn open(&mut self, at: usize) {
        let outer = *self.level();
        let is_own = self.split.is_word(at + 1, &["select", "with", "insert", "update", "delete"]);
        let scope = if is_own { self.new_scope(Some(outer.scope)) } else { outer.scope };
        self.level().expects_table = false;
        // FROM (a, b), and not FROM (SELECT ..).
        let expects_table = outer.expects_table && !is_own;
        self.levels.push(Level { scope, expects_table, is_in_list: expects_table });
    }

    fn take_word(&mut self, at: usize) {
        let split = self.split;
        let is_word = |words: &[&str]| split.is_word(at, words);
        let is_behind = |words: &[&str]| at > 0 && split.is_word(at - 1, words);
        let is_call = split.is_sign(at + 1, "(");
        if is_word(&["select"]) {
            self.begin_select();
        } else if is_word(&["join", "straight_join"]) {
            self.level().expects_table = true;
        } else if is_word(&["from"]) && !is_behind(&["distinct"])
            || is_word(&["using"]) && !is_call
            || is_word(&["update"]) && !is_behind(&["for", "key", "do", "on"])
        {
            (self.level().expects_table, self.level().is_in_list) = (true, true);
        } else if is_word(&["insert", "replace"]) && !is_call && !is_behind(&["or", "on", "then"]) {
            (self.level().expects_table, self.inserts_next) = (true, true);
        } else if is_word(&BEHIND_TABLES) {
            (self.level().expects_table, self.level().is_in_list) = (false, false);
        }
    }

    /// A SELECT behind another one (UNION), or behind the table of an INSERT, has tables of its own.
    fn begin_select(&mut self) {
        let Level { scope, .. } = *self.level();
        let Scope { parent, tables } = &self.found.scopes[scope];
        let (parent, is_new) = (*parent, !tables.is_empty());
        let scope = if is_new { self.new_scope(parent) } else { scope };
        *self.level() = Level { scope, ..Level::default() };
    }

    /// Takes the table that is named at `at`, with its alias; `None` if there is none.
    fn take_table(&mut self, at: usize) -> Option<usize> {
        if self.split.is_word(at, &BEFORE_NAME) {
            return Some(at + 1);
        }
        let (name, mut behind) = self.split.table_at(at)?;
        self.level().expects_table = false;
        let has_as = self.split.is_word(behind, &["as"]);
        let is_alias = has_as || !self.split.is_word(behind, &BEHIND_TABLES) && !self.split.is_word(behind, &NO_ALIAS);
        let named_at = behind + usize::from(has_as);
        let alias = self.split.name(named_at).filter(|_| is_alias);
        if alias.is_some() {
            behind = named_at + 1;
        }
        if std::mem::take(&mut self.inserts_next) {
            self.found.inserts.push((name.clone(), behind));
        }
        let Level { scope, .. } = *self.level();
        let called = alias.unwrap_or_else(|| name.table.clone());
        self.found.scopes[scope].tables.push(NamedTable { called, name });
        Some(behind)
    }
}
