//! What a server has of its own, by name: what may be called, and what must not be.
//!
//! In: rows of a server's catalogue, as its engine has asked for them. Out: [`ServerNames`]. Limits: names are compared without their
//! schemas and in small letters, so what has the name of something that writes counts as that.

use std::collections::BTreeSet;

/// The functions, views, types and operators of a server, as far as they decide what a statement does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerNames {
    /// Functions that may be called, of the server itself and of its users.
    harmless: BTreeSet<String>,
    /// Functions, views and types that do something when they are named, in small letters.
    suspicious: BTreeSet<String>,
    /// Operators that do something.
    operators: BTreeSet<String>,
}

impl ServerNames {
    /// Takes up that the function `name` may be called. If another one of that name must not be, that counts.
    pub fn add_harmless(&mut self, name: &str) {
        self.harmless.insert(name.to_lowercase());
    }

    /// Takes up that `name` must not be in a statement.
    pub fn add_suspicious(&mut self, name: &str) {
        self.suspicious.insert(name.to_lowercase());
    }

    /// Takes up that the operator `sign` must not be in a statement.
    pub fn add_operator(&mut self, sign: &str) {
        self.operators.insert(sign.to_owned());
    }

    pub(crate) fn is_harmless(&self, name: &str) -> bool {
        self.harmless.contains(name)
    }

    pub(crate) fn is_suspicious(&self, name: &str) -> bool {
        self.suspicious.contains(name)
    }

    pub(crate) fn is_suspicious_operator(&self, sign: &str) -> bool {
        self.operators.contains(sign)
    }
}
