//! Where a session of PostgreSQL looks for tables that are named without a schema.
//!
//! In: the statements of a session, one after the other. Out: the schemas of its `search_path`, as its statements have said them. Limits: SET (also
//! LOCAL), RESET, DISCARD ALL and `set_config` with literals, as far as their transaction is not rolled back. What a function, a role or a database
//! sets is not seen. Behind a ROLLBACK TO in a transaction that has set it, the path is not known. `"$user"` is no schema.

use crate::lexer::{Token, TokenKind};
use crate::reading::Dialect;
use crate::split::SplitText;
use crate::transaction::{Behind, TransactionStep};

const SETTING: &str = "search_path";

/// Schemas in their order; `None` if they are not known.
type Schemas = Option<Vec<String>>;

/// The `search_path` of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPath {
    of_session: Schemas,
    /// What SET LOCAL has set until the end of the transaction.
    of_transaction: Option<Schemas>,
    /// What a ROLLBACK brings back; `None` outside of a transaction.
    before: Option<Schemas>,
    /// Whether a statement of the transaction failed, so that its COMMIT is a ROLLBACK.
    is_aborted: bool,
}

impl SearchPath {
    /// The schemas in which tables are looked for, the first one first; `None` if no statement has said them.
    pub fn schemas(&self) -> Option<&[String]> {
        self.of_transaction.as_ref().unwrap_or(&self.of_session).as_deref()
    }

    /// Follows what `text`, which was split into `tokens`, sets.
    pub fn follow(&mut self, text: &str, tokens: &[Token]) {
        for part in tokens.split(|token| token.is_sign(text, ";")) {
            self.follow_one(SplitText { text, tokens: part, dialect: Dialect::Postgres });
        }
    }

    /// Follows a statement that failed: what it sets is not set.
    pub fn follow_failed(&mut self) {
        self.is_aborted = self.before.is_some();
    }

    fn follow_one(&mut self, split: SplitText<'_>) {
        match TransactionStep::of(split.text, split.tokens) {
            TransactionStep::Begins => self.begin(),
            TransactionStep::Commits(behind) => self.end(behind, self.is_aborted),
            TransactionStep::Prepares => self.end(Behind::Nothing, self.is_aborted),
            TransactionStep::RollsBack(behind) => self.end(behind, true),
            TransactionStep::GoesBackTo(_) => self.go_back(),
            _ => self.follow_setting(split),
        }
    }

    fn begin(&mut self) {
        if self.before.is_none() {
            self.before = Some(self.of_session.clone());
        }
    }

    fn end(&mut self, behind: Behind, is_rolled_back: bool) {
        (self.of_transaction, self.is_aborted) = (None, false);
        if let Some(before) = self.before.take().filter(|_| is_rolled_back) {
            self.of_session = before;
        }
        if behind == Behind::Another {
            self.begin();
        }
    }

    /// A part of the transaction is rolled back. Which of its statements are part of that is not kept.
    fn go_back(&mut self) {
        self.is_aborted = false;
        let is_set = self.before.as_ref().is_some_and(|before| *before != self.of_session);
        if is_set || self.of_transaction.is_some() {
            (self.of_session, self.of_transaction) = (None, None);
        }
    }

    fn set(&mut self, schemas: Schemas, is_local: bool) {
        if !is_local {
            (self.of_session, self.of_transaction) = (schemas, None);
        } else if self.before.is_some() {
            self.of_transaction = Some(schemas);
        }
    }

    fn follow_setting(&mut self, split: SplitText<'_>) {
        let resets = split.is_word(0, &["reset"]) && (split.is_word(1, &["all"]) || is_setting(split, 1));
        if split.is_word(0, &["set"]) {
            self.follow_set(split);
        } else if resets || split.is_word(0, &["discard"]) && split.is_word(1, &["all"]) {
            self.set(None, false);
        } else {
            self.follow_calls(split);
        }
    }

    /// `SET [LOCAL] search_path TO a, b`, or `SET SCHEMA 'a'`.
    fn follow_set(&mut self, split: SplitText<'_>) {
        let is_local = split.is_word(1, &["local"]);
        let at = 1 + usize::from(is_local || split.is_word(1, &["session"]));
        if split.is_word(at, &["schema"]) {
            self.set(literal(split, at + 1).map(|name| vec![name]), is_local);
        } else if is_setting(split, at) && (split.is_sign(at + 1, "=") || split.is_word(at + 1, &["to"])) {
            self.set(schemas_from(split, at + 2), is_local);
        }
    }

    /// `set_config('search_path', 'a, b', false)`, wherever it stands.
    fn follow_calls(&mut self, split: SplitText<'_>) {
        for at in 0..split.tokens.len() {
            let is_call = split.is_word(at, &["set_config"]) && split.is_sign(at + 1, "(");
            if !is_call || literal(split, at + 2).as_deref() != Some(SETTING) {
                continue;
            }
            let is_plain = split.is_sign(at + 3, ",") && split.is_sign(at + 5, ",") && split.is_sign(at + 7, ")");
            let schemas = literal(split, at + 4).filter(|_| is_plain).map(|list| listed(&list));
            self.set(schemas, is_plain && split.is_word(at + 6, &["true"]));
        }
    }
}

fn is_setting(split: SplitText<'_>, at: usize) -> bool {
    split.name(at).as_deref() == Some(SETTING)
}

/// The text that stands in quotes at `at`; `None` if there is none, or one with escapes.
fn literal(split: SplitText<'_>, at: usize) -> Option<String> {
    let token = split.tokens.get(at).filter(|token| token.kind == TokenKind::Text)?;
    let inside = token.text(split.text).strip_prefix('\'')?.strip_suffix('\'')?;
    Some(inside.replace("''", "'"))
}

/// The schemas from `at` to the end; `None` if one is not known, or it is the word DEFAULT.
fn schemas_from(split: SplitText<'_>, at: usize) -> Schemas {
    let items = split.tokens.get(at..)?;
    if items.is_empty() || split.is_word(at, &["default"]) {
        return None;
    }
    let mut schemas = Vec::new();
    for nth in (at..split.tokens.len()).step_by(2) {
        let is_last = nth + 1 == split.tokens.len();
        if !is_last && !split.is_sign(nth + 1, ",") {
            return None;
        }
        schemas.push(literal(split, nth).or_else(|| split.name(nth))?);
    }
    Some(schemas)
}

/// The schemas in a list that stands in a text: `a, "B"`.
fn listed(list: &str) -> Vec<String> {
    let name = |item: &str| match item.strip_prefix('"').and_then(|item| item.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => item.to_lowercase(),
    };
    list.split(',').map(str::trim).filter(|item| !item.is_empty()).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::tokens;

    /// The path behind `texts`, of which those with a `!` before them failed.
    fn path_behind(texts: &[&str]) -> Option<String> {
        let mut path = SearchPath::default();
        for text in texts {
            match text.strip_prefix('!') {
                Some(_) => path.follow_failed(),
                None => path.follow(text, &tokens(text, Dialect::Postgres).unwrap()),
            }
        }
        path.schemas().map(|schemas| schemas.join("|"))
    }

    #[test]
    fn what_sets_the_path_is_followed() {
        for (text, expected) in [
            ("SET search_path = Crm, \"Shop\", 'a, b'", "crm|Shop|a, b"),
            ("/* app */ set session search_path to crm;", "crm"),
            ("SET search_path TO \"$user\", public", "$user|public"),
            ("SET SCHEMA 'crm'", "crm"),
            ("SET search_path = ''", ""),
            ("SELECT pg_catalog.set_config('search_path', '', false)", ""),
            ("SELECT set_config('search_path', 'Crm, \"Shop\"', false), 1", "crm|Shop"),
            ("SELECT 1; SET search_path = crm; SELECT 2", "crm"),
        ] {
            assert_eq!(path_behind(&[text]).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_path_that_nothing_says_is_not_known() {
        for text in [
            "SELECT 1",
            "SET search_path_of_mine = crm",
            "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
            "SELECT 'SET search_path = crm'",
            "SET LOCAL search_path = crm",
        ] {
            assert_eq!(path_behind(&[text]), None, "{text}");
            assert_eq!(path_behind(&["SET search_path = shop", text]).as_deref(), Some("shop"), "{text}");
        }
        for text in [
            "RESET search_path",
            "RESET ALL",
            "DISCARD ALL",
            "SET search_path TO DEFAULT",
            "SET search_path = crm || 1",
            "SET search_path TO",
            "SELECT set_config('search_path', lower('CRM'), false)",
        ] {
            assert_eq!(path_behind(&["SET search_path = shop", text]), None, "{text}");
        }
    }

    #[test]
    fn a_transaction_keeps_its_path_or_takes_it_back() {
        let of = |texts: &[&str]| path_behind(&[&["SET search_path = shop", "BEGIN"][..], texts].concat());
        let (set, local) = ("SET search_path = crm", "SET LOCAL search_path = crm");
        let in_call = "SELECT set_config('search_path', 'crm', true)";
        for (texts, expected) in [
            (&[set, "COMMIT"][..], Some("crm")),
            (&[set, "ROLLBACK"], Some("shop")),
            (&[set, "!UPDATE t SET a = 1", "COMMIT"], Some("shop")),
            (&[set, "!UPDATE t SET a = 1", "COMMIT", set, "COMMIT"], Some("crm")),
            (&["!SET search_path = crm"], Some("shop")),
            (&[local], Some("crm")),
            (&[in_call], Some("crm")),
            (&[local, "END"], Some("shop")),
            (&[in_call, "ABORT"], Some("shop")),
            (&[local, "SET search_path = a"], Some("a")),
            (&["SAVEPOINT s", "ROLLBACK TO s"], Some("shop")),
            (&["SAVEPOINT s", local, "ROLLBACK TO SAVEPOINT s"], None),
            (&["SAVEPOINT s", set, "ROLLBACK WORK TO s"], None),
            (&["SAVEPOINT s", set, "ROLLBACK TO s", "ROLLBACK"], Some("shop")),
            (&[local, "COMMIT PREPARED 'x'"], Some("crm")),
            (&[local, "PREPARE TRANSACTION 'x'"], Some("shop")),
            (&["COMMIT AND CHAIN", set, "ROLLBACK"], Some("shop")),
            (&["COMMIT WORK AND NO CHAIN", set, "ROLLBACK"], Some("crm")),
        ] {
            assert_eq!(of(texts).as_deref(), expected, "{texts:?}");
        }
        assert_eq!(path_behind(&["!SELECT 1", set, "COMMIT"]).as_deref(), Some("crm"), "no transaction failed");
    }
}
