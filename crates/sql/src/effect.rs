//! What a statement does, as far as a replay of reads must know it.
//!
//! In: a text, functions that the user allows, and what the server has of its own. Out: its [`Effect`], with the name of what is not allowed.
//! Limits: a statement reads only if all that it says is known to read; what it cannot be seen to do (a cast that calls a function without
//! naming a type, a function that is not what it is declared to be) is left to the read-only transaction in which it is sent.

use crate::functions::Functions;
use crate::lexer::{Lexed, Token, TokenKind, Unclosed, lex, lex_to_end};
use crate::names::ServerNames;
use crate::reading::{Dialect, Reading};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a statement does, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    Reads,
    /// It reads, and names something that does more: a function, a view, an operator, an assignment.
    Calls,
    /// It begins or ends a transaction, or sets something of its session.
    OfSession,
    /// It changes data, or locks it.
    Writes,
    /// It is executed again by another line of the log, is a command to the server itself, or is no statement: it is never replayed.
    Repeated,
}

/// What was found of a statement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Judgement {
    pub effect: Effect,
    /// Of [`Effect::Calls`] what it names, in small letters.
    pub cause: Option<String>,
}

impl From<Effect> for Judgement {
    fn from(effect: Effect) -> Judgement {
        Judgement { effect, cause: None }
    }
}

impl Judgement {
    fn calls(cause: impl Into<String>) -> Judgement {
        Judgement { effect: Effect::Calls, cause: Some(cause.into()) }
    }
}

#[derive(Clone, Debug)]
pub struct Judge {
    dialect: Dialect,
    allowed: BTreeSet<String>,
    server: Option<Arc<ServerNames>>,
    executed: Executed,
}

/// Where that stands which EXECUTE performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Executed {
    /// In a line of its own, as MySQL and MariaDB write it into their logs.
    InAnotherLine,
    /// Nowhere else.
    InItself,
}

/// Words that change or lock data, wherever they stand.
const CHANGES: &str = "insert update delete replace merge into create drop alter truncate call copy lock execute";
/// Those of them that are functions of MySQL if a bracket follows.
const CHANGES_OR_CALLS: &str = "insert replace truncate";
/// What MySQL's SHOW may show.
const SHOWN: &str = "authors binary binlog character charset client_statistics collation columns contributors count create databases engine \
    engines errors events explain extended fields full function global grants index index_statistics indexes keys local locales master open \
    package plugins privileges procedure processlist profile profiles query_response_time relaylog replica replicas schemas session slave \
    status storage table table_statistics tables trigger triggers user_statistics variables warnings";

fn is_in(word: &str, words: &str) -> bool {
    words.split_ascii_whitespace().any(|one| one == word)
}

impl Judge {
    /// A judge of statements in `dialect`. What a function does that is in no list of plimsoll's is open until [`Judge::with_server`].
    pub fn new(dialect: Dialect) -> Judge {
        Judge { dialect, allowed: BTreeSet::new(), server: None, executed: Executed::InAnotherLine }
    }

    /// The same, by whom `names` may be called and named, whatever they do.
    #[must_use]
    pub fn with_allowed<S: AsRef<str>>(mut self, names: &[S]) -> Judge {
        self.allowed.extend(names.iter().map(|name| name.as_ref().to_lowercase()));
        self
    }

    /// From now on for statements as clients sent them: no line of a log repeats what EXECUTE of MySQL performs.
    pub fn take_each_once(&mut self) {
        self.executed = Executed::InItself;
    }

    /// The same, for a server that has these names: from now on a function that is not known to do nothing else is not allowed.
    #[must_use]
    pub fn with_server(mut self, names: Arc<ServerNames>) -> Judge {
        self.server = Some(names);
        self
    }

    /// What `text` does, by all ways in which a server may read it.
    ///
    /// # Errors
    /// If a quote or a comment is not closed.
    pub fn judge(&self, text: &str) -> Result<Judgement, Unclosed> {
        Ok(self.judge_lexed(text, &lex(text, Reading::usual(self.dialect))?))
    }

    /// The same of a text that was split by the usual reading.
    pub fn judge_lexed(&self, text: &str, lexed: &Lexed) -> Judgement {
        let usual = self.judge_reading(text, lexed);
        if lexed.executable_comments == 0 && !text.contains('\\') {
            return usual;
        }
        let Ok(Some(readings)) = Reading::all_of(text, self.dialect) else {
            return usual.max(Judgement::calls("executable comments"));
        };
        let others = readings.into_iter().map(|reading| lex_to_end(text, reading));
        others.map(|lexed| self.judge_reading(text, &lexed)).fold(usual, Judgement::max)
    }

    fn judge_reading(&self, text: &str, lexed: &Lexed) -> Judgement {
        let statement = Statement { text, tokens: without_end(text, &lexed.tokens), dialect: self.dialect };
        let found = self.judge_statement(&statement);
        if lexed.is_doubtful { found.max(Judgement::calls("a comment with quotes")) } else { found }
    }

    fn judge_statement(&self, statement: &Statement<'_>) -> Judgement {
        let Some(first) = statement.tokens.iter().position(|token| !token.is_sign(statement.text, "(")) else {
            return Effect::Repeated.into();
        };
        let verb = statement.lower(first);
        if statement.is_of_server(&verb) || statement.is_of_accounts(&verb) {
            return Effect::Repeated.into();
        }
        let is_mysql = self.dialect == Dialect::Mysql;
        // Several statements in one write if one of them does, and nobody has looked at the others.
        let is_single = !statement.tokens.iter().any(|token| token.is_sign(statement.text, ";"));
        match &*verb {
            "select" | "with" | "table" | "values" if is_single => self.judge_read(statement, true),
            "explain" | "describe" | "desc" if is_single => self.judge_explain(statement, first),
            "show" if is_single => {
                let shown = statement.lower(first + 1);
                if is_mysql && !is_in(&shown, SHOWN) {
                    return Judgement::calls(format!("show {shown}"));
                }
                self.judge_read(statement, false)
            }
            "begin" | "start" | "commit" | "rollback" | "savepoint" | "release" | "end" | "abort" | "set" | "reset"
            | "discard" | "xa" | "listen" | "unlisten" | "use" => Effect::OfSession.into(),
            "prepare" | "execute" | "deallocate" if is_mysql => match self.executed {
                Executed::InAnotherLine => Effect::Repeated.into(),
                Executed::InItself if verb == "execute" => Effect::Writes.into(),
                Executed::InItself => Effect::OfSession.into(),
            },
            // The data of these comes over the connection or from a file of the client, which the log does not have.
            "copy" | "load" => Effect::Repeated.into(),
            _ => Effect::Writes.into(),
        }
    }

    fn judge_explain(&self, statement: &Statement<'_>, first: usize) -> Judgement {
        if self.dialect == Dialect::Mysql {
            return self.judge_read(statement, true);
        }
        let mut at = first + 1;
        let mut executes = false;
        while statement.is_sign(at, "(") || is_in(&statement.lower(at), "analyze analyse verbose") {
            let end = if statement.is_sign(at, "(") { statement.closing(at) } else { at };
            // Whatever is behind the word: `ANALYZE false` is seldom written.
            executes |= (at..=end).any(|at| is_in(&statement.lower(at), "analyze analyse"));
            at = end + 1;
        }
        match &*statement.lower(at) {
            "select" | "with" | "table" | "values" => self.judge_read(statement, executes),
            "insert" | "update" | "delete" | "merge" if !executes => self.judge_read(statement, false),
            _ => Effect::Writes.into(),
        }
    }

    /// A statement that reads by its first word; `acts`: whether words in it can change or lock something.
    fn judge_read(&self, statement: &Statement<'_>, acts: bool) -> Judgement {
        let mut cause = None;
        for at in 0..statement.tokens.len() {
            if acts && statement.changes_at(at) {
                return Effect::Writes.into();
            }
            if cause.is_none() {
                cause = self.cause_at(statement, at);
            }
        }
        cause.map_or(Effect::Reads.into(), Judgement::calls)
    }

    /// The name of what is at `at` if that does more than read.
    fn cause_at(&self, statement: &Statement<'_>, at: usize) -> Option<String> {
        let token = &statement.tokens[at];
        let written = token.text(statement.text);
        if token.kind == TokenKind::Sign {
            let assigns = written == ":=" && self.dialect == Dialect::Mysql;
            let is_suspicious = self.server.as_ref().is_some_and(|names| names.is_suspicious_operator(written));
            return (assigns || is_suspicious).then(|| written.to_owned());
        }
        // Escapes within a name would have to be resolved.
        if token.kind == TokenKind::Name && !matches!(written.as_bytes()[0], b'"' | b'`') {
            return Some(written.to_lowercase());
        }
        let name = if token.kind == TokenKind::Word {
            lowercase(written)
        } else {
            token.name(statement.text)?.to_lowercase().into()
        };
        if self.allowed.contains(&*name) {
            return None;
        }
        // A reserved word is a name in quotes only.
        let is_reserved = token.kind == TokenKind::Word && is_in(&name, "select from where");
        let is_suspicious = !is_reserved && self.server.as_ref().is_some_and(|names| names.is_suspicious(&name));
        let is_refused = is_suspicious
            || Functions::of(self.dialect).is_table_with_effects(&name)
            || statement.takes_from_sequence(at, &name)
            || self.refuses_call(statement, at, &name);
        is_refused.then(|| name.into_owned())
    }

    /// Whether the function `name` is called at `at`, and must not be.
    fn refuses_call(&self, statement: &Statement<'_>, at: usize, name: &str) -> bool {
        if !statement.is_sign(at + 1, "(") {
            return false;
        }
        let functions = Functions::of(self.dialect);
        if functions.is_harmless(name) {
            return false;
        }
        // Nothing that has effects has the name of a keyword; a name in quotes is none.
        let is_keyword = statement.tokens[at].kind == TokenKind::Word && functions.is_keyword(name);
        if is_keyword || statement.names_columns(at) {
            return false;
        }
        functions.has_effects(name) || self.server.as_ref().is_some_and(|names| !names.is_harmless(name))
    }

    /// Why a stored function of MySQL with this `body` must not be called; `None` if it only reads, and sets variables of its own. What a
    /// function is declared to be (`READS SQL DATA`) is not enforced by MySQL, so its body decides.
    pub fn cause_in_body(&self, body: &str) -> Option<String> {
        let Ok(lexed) = lex(body, Reading::usual(Dialect::Mysql)) else { return Some("its body".to_owned()) };
        if lexed.executable_comments > 0 || lexed.is_doubtful || body.contains('\\') {
            return Some("its comments or quotes".to_owned());
        }
        let statement = Statement { text: body, tokens: &lexed.tokens, dialect: Dialect::Mysql };
        let own = statement.declared();
        (0..lexed.tokens.len()).find_map(|at| {
            let word = statement.lower(at);
            const OTHERS: &str = "do flush grant handler kill load optimize prepare purge rename reset revoke start unlock xa commit rollback \
                savepoint share shutdown use analyze repair check";
            let is_into_own = &*word == "into" && own.contains(&*statement.lower(at + 1));
            let is_own_set = &*word == "set" && statement.sets_only(at, &own);
            let acts = statement.changes_at(at) && !is_into_own || is_in(&word, OTHERS) || &*word == "set" && !is_own_set;
            let is_assignment = statement.is_sign(at, ":=");
            let cause = if is_assignment { None } else { self.cause_at(&statement, at) };
            if acts { Some(word.into_owned()) } else { cause }
        })
    }
}

fn without_end<'a>(text: &str, mut tokens: &'a [Token]) -> &'a [Token] {
    while let Some((_, rest)) = tokens.split_last().filter(|(last, _)| last.is_sign(text, ";")) {
        tokens = rest;
    }
    tokens
}

fn lowercase(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.to_lowercase())
    }
}

/// The tokens of one statement.
struct Statement<'a> {
    text: &'a str,
    tokens: &'a [Token],
    dialect: Dialect,
}

impl Statement<'_> {
    /// The word or variable at `at` in small letters; empty for anything else.
    fn lower(&self, at: usize) -> Cow<'_, str> {
        match self.tokens.get(at) {
            Some(token) if matches!(token.kind, TokenKind::Word | TokenKind::Variable) => {
                lowercase(token.text(self.text))
            }
            _ => Cow::Borrowed(""),
        }
    }

    fn is_sign(&self, at: usize, sign: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_sign(self.text, sign))
    }

    fn has(&self, words: &str) -> bool {
        (0..self.tokens.len()).any(|at| is_in(&self.lower(at), words))
    }

    /// Commands to the server itself are not the load of an application.
    fn is_of_server(&self, verb: &str) -> bool {
        match verb {
            "shutdown" | "restart" | "kill" | "flush" | "purge" | "change" | "install" | "uninstall" | "clone" => true,
            "set" => self.has("global persist persist_only @@global @@persist @@persist_only"),
            "alter" => self.has("system instance"),
            "start" | "stop" | "reset" => self.has("slave replica master persist group_replication all_slaves"),
            _ => false,
        }
    }

    /// Statements that make and change accounts are not either. Most of them have a password in clear text.
    fn is_of_accounts(&self, verb: &str) -> bool {
        let what = if &*self.lower(1) == "or" { self.lower(3) } else { self.lower(1) };
        match verb {
            "create" | "alter" | "drop" | "rename" => is_in(&what, "user role server subscription"),
            "grant" => self.has("identified"),
            "set" => &*what == "password",
            _ => false,
        }
    }

    /// Whether the word at `at` changes data or locks it.
    fn changes_at(&self, at: usize) -> bool {
        let word = self.lower(at);
        let changes = is_change(&word) && !(is_in(&word, CHANGES_OR_CALLS) && self.is_sign(at + 1, "("));
        // Right behind a dot or before one it is a name. MySQL has `UPDATE .t`, too.
        let is_name = at > 0 && self.is_dot_between(at - 1, at) || self.is_dot_between(at + 1, at);
        let locks = &*word == "share" && (0..at).any(|before| &*self.lower(before) == "for");
        (changes && !is_name) || locks
    }

    /// Whether a dot is at `dot`, with no blank between it and the token at `at`.
    fn is_dot_between(&self, dot: usize, at: usize) -> bool {
        let (dot, token) = (self.tokens.get(dot), &self.tokens[at]);
        dot.is_some_and(|dot| dot.is_sign(self.text, ".") && (dot.end == token.start || token.end == dot.start))
    }

    /// MariaDB's `NEXT VALUE FOR s`, `PREVIOUS VALUE FOR s`, and Oracle's `s.nextval`.
    fn takes_from_sequence(&self, at: usize, name: &str) -> bool {
        let is_mysql = self.dialect == Dialect::Mysql;
        let is_phrase =
            is_in(name, "next previous") && &*self.lower(at + 1) == "value" && &*self.lower(at + 2) == "for";
        is_mysql && (is_phrase || is_in(name, "nextval lastval") && at > 0 && self.is_sign(at - 1, "."))
    }

    /// The place of the bracket that closes the one at `open`; that of the last token if none does.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0;
        for at in open..self.tokens.len() {
            depth += i32::from(self.is_sign(at, "(")) - i32::from(self.is_sign(at, ")"));
            if depth == 0 {
                return at;
            }
        }
        self.tokens.len() - 1
    }

    /// Whether the brackets behind the name at `at` hold names of columns, or the length of a type: `AS t (a, b)`, `(VALUES (1)) t (a)`,
    /// `WITH t (a) AS (SELECT`.
    fn names_columns(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        let is_alias = &*self.lower(before) == "as" || self.is_sign(before, ")") && !self.ends_distinct_on(before);
        if is_alias {
            return true;
        }
        if !(is_in(&self.lower(before), "with recursive") || self.is_sign(before, ",")) {
            return false;
        }
        let behind = self.closing(at + 1) + 1;
        let opens = (behind + 1..behind + 4).find(|at| self.is_sign(*at, "("));
        let is_query =
            opens.is_some_and(|open| is_in(&self.lower(open + 1), "select with table") || self.is_sign(open + 1, "("));
        &*self.lower(behind) == "as" && is_query
    }

    /// Whether the bracket at `close` ends a list behind ON, as in `DISTINCT ON (a) f(b)`.
    fn ends_distinct_on(&self, close: usize) -> bool {
        let mut depth = 0;
        for at in (0..=close).rev() {
            depth += i32::from(self.is_sign(at, ")")) - i32::from(self.is_sign(at, "("));
            if depth == 0 {
                return at > 0 && &*self.lower(at - 1) == "on";
            }
        }
        true
    }

    /// The variables that a body declares.
    fn declared(&self) -> BTreeSet<String> {
        let mut own = BTreeSet::new();
        for at in (0..self.tokens.len()).filter(|at| &*self.lower(*at) == "declare") {
            let mut name = at + 1;
            own.insert(self.lower(name).into_owned());
            while self.is_sign(name + 1, ",") {
                name += 2;
                own.insert(self.lower(name).into_owned());
            }
        }
        own.remove("");
        own
    }

    /// Whether the SET at `at` sets variables of `own` only.
    fn sets_only(&self, at: usize, own: &BTreeSet<String>) -> bool {
        let (mut target, mut depth) = (at + 1, 0);
        loop {
            if !own.contains(&*self.lower(target)) || !(self.is_sign(target + 1, "=") || self.is_sign(target + 1, ":="))
            {
                return false;
            }
            let mut next = target + 2;
            while next < self.tokens.len() && !(depth == 0 && (self.is_sign(next, ",") || self.is_sign(next, ";"))) {
                depth += i32::from(self.is_sign(next, "(")) - i32::from(self.is_sign(next, ")"));
                next += 1;
            }
            if !self.is_sign(next, ",") {
                return true;
            }
            target = next + 1;
        }
    }
}

fn is_change(word: &str) -> bool {
    matches!(word.len(), 4..=8) && is_in(word, CHANGES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_executed_by_its_name_is_repeated_by_a_log_and_by_no_capture() {
        let texts = ["PREPARE s FROM 'INSERT INTO t VALUES (?)'", "EXECUTE s USING @a", "DEALLOCATE PREPARE s"];
        let mut judge = Judge::new(Dialect::Mysql);
        let effects = |judge: &Judge| texts.map(|text| judge.judge(text).expect("it is whole").effect);
        assert_eq!(effects(&judge), [Effect::Repeated; 3]);
        judge.take_each_once();
        assert_eq!(effects(&judge), [Effect::OfSession, Effect::Writes, Effect::OfSession]);
        let immediate = judge.judge("EXECUTE IMMEDIATE 'SELECT 1'").expect("it is whole");
        assert_eq!(immediate.effect, Effect::Writes, "what it performs is in a text");
    }

    #[test]
    fn what_makes_accounts_is_never_replayed_and_tables_of_their_names_are() {
        let of = |text, dialect| Judge::new(dialect).judge(text).expect("it is whole").effect;
        for text in [
            "CREATE USER a IDENTIFIED BY 'x'",
            "CREATE OR REPLACE USER a IDENTIFIED BY 'x'",
            "alter user a identified by 'x'",
            "SET PASSWORD = PASSWORD('x')",
            "GRANT ALL ON *.* TO a IDENTIFIED BY 'x'",
            "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (PASSWORD 'x')",
        ] {
            assert_eq!(of(text, Dialect::Mysql), Effect::Repeated, "{text}");
        }
        for text in ["ALTER ROLE a PASSWORD 'x'", "CREATE USER MAPPING FOR a SERVER s OPTIONS (password 'x')"] {
            assert_eq!(of(text, Dialect::Postgres), Effect::Repeated, "{text}");
        }
        for text in
            ["CREATE TABLE user (id int)", "ALTER TABLE role ADD a int", "DROP TABLE server", "GRANT SELECT ON t TO a"]
        {
            assert_eq!(of(text, Dialect::Mysql), Effect::Writes, "{text}");
        }
    }
}
