//! Checks the licence and the origin of every crate that is built, against the lists in `deny.toml`.
//!
//! In: `cargo metadata`, `deny.toml` (in the format of cargo-deny, which reads it too). Out: crates whose licence is not
//! allowed or that come from elsewhere. Limits: the crates' own words are believed; advisories need the network and are
//! cargo-deny's work (docs/journal/2026-11-21-licences.md).

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};
use serde::Deserialize;
use spdx::{Expression, ParseMode};
use std::path::Path;

/// The part of `deny.toml` that is checked here.
#[derive(Deserialize)]
struct Deny {
    licenses: Licences,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

/// Fails where the licence or origin of a crate is not allowed that is built with these `features`; names all of them.
pub fn check(root: &Path, features: &[String]) -> Result<()> {
    let path = root.join("deny.toml");
    let text = std::fs::read_to_string(&path).context("cannot read `deny.toml`")?;
    let deny: Deny = toml::from_str(&text).context("cannot understand `deny.toml`")?;
    let refused = refused(&metadata(root, features)?, &deny);
    match refused.is_empty() {
        true => Ok(()),
        false => bail!("{}\nchoose another crate, or add to `deny.toml` and say why in the commit", refused.join("\n")),
    }
}

/// Only what is built on this kind of machine: the crates of other systems are never downloaded.
fn metadata(root: &Path, features: &[String]) -> Result<Metadata> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let options = ["--locked".into(), "--filter-platform".into(), platform];
    let options = options.into_iter().chain(features.iter().cloned()).collect::<Vec<_>>();
    MetadataCommand::new().current_dir(root).other_options(options).exec().context("`cargo metadata` failed")
}

fn refused(metadata: &Metadata, deny: &Deny) -> Vec<String> {
    let mut refused = Vec::new();
    for package in &metadata.packages {
        let name = format!("{} {}", package.name, package.version);
        if let Some(problem) = licence_problem(package.license.as_deref(), &deny.licenses.allow) {
            refused.push(format!("{name}: {problem}"));
        }
        let source = package.source.as_ref().map(|source| source.repr.as_str());
        if let Some(source) = source.filter(|source| !is_allowed_source(source, &deny.sources.allow_registry)) {
            refused.push(format!("{name}: comes from `{source}`, which is no allowed registry"));
        }
    }
    refused
}

/// What is wrong with a crate's licence expression, where anything is. An exception (`WITH`) only adds permissions.
fn licence_problem(expression: Option<&str>, allowed: &[String]) -> Option<String> {
    let Some(text) = expression else { return Some("names no licence".into()) };
    let Ok(expression) = Expression::parse_mode(text, ParseMode::LAX) else {
        return Some(format!("its licence `{text}` is no SPDX expression"));
    };
    let is_allowed = |name: &str| allowed.iter().any(|allowed| allowed == name);
    match expression.evaluate(|req| is_allowed(&req.license.to_string())) {
        true => None,
        false => Some(format!("its licence `{text}` is not allowed")),
    }
}

fn is_allowed_source(source: &str, allowed: &[String]) -> bool {
    source.strip_prefix("registry+").is_some_and(|url| allowed.iter().any(|allowed| allowed == url))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(expression: &str) -> Option<String> {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"].map(String::from);
        licence_problem(Some(expression), &allowed)
    }

    #[test]
    fn one_side_of_an_or_is_enough_and_an_and_needs_both() {
        for allowed in ["MIT", "MIT/Apache-2.0", "GPL-2.0-only OR MIT", "(MIT OR GPL-3.0-only) AND Unicode-3.0"] {
            assert_eq!(problem(allowed), None);
        }
        assert_eq!(problem("MIT AND GPL-2.0-only").unwrap(), "its licence `MIT AND GPL-2.0-only` is not allowed");
    }

    #[test]
    fn an_exception_does_not_make_a_licence_worse() {
        assert_eq!(problem("Apache-2.0 WITH LLVM-exception"), None);
    }

    #[test]
    fn a_missing_or_unreadable_licence_is_refused() {
        assert_eq!(licence_problem(None, &["MIT".into()]).unwrap(), "names no licence");
        assert_eq!(problem("do what you like").unwrap(), "its licence `do what you like` is no SPDX expression");
    }

    #[test]
    fn only_the_allowed_registry_is_a_source() {
        let allowed = ["https://example.org/index".to_string()];
        assert!(is_allowed_source("registry+https://example.org/index", &allowed));
        assert!(!is_allowed_source("git+https://example.org/index", &allowed));
        assert!(!is_allowed_source("registry+https://example.com/index", &allowed));
    }
}
