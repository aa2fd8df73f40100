//! Checks the licence and the origin of every crate that is built, against the lists in `deny.toml`.
//!
//! In: `cargo metadata`, `deny.toml` (in the format of cargo-deny, which reads it too). Out: crates whose licence is not
//! allowed or that come from elsewhere. Limits: it trusts the licence that a crate declares; advisories need the network and are left
//! to cargo-deny (docs/journal/2026-11-21-licences.md).

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};
use serde::Deserialize;
use spdx::{Expression, ParseMode};
use std::path::Path;

/// The part of `deny.toml` that is checked here.
#[derive(Deserialize)]
struct DenyFile {
    licenses: AllowedLicences,
    sources: AllowedSources,
}

#[derive(Deserialize)]
struct AllowedLicences {
    allow: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct AllowedSources {
    allow_registry: Vec<String>,
}

/// Fails if a crate that is built with these `features` has a licence or an origin that is not allowed; names all of them.
pub fn check_licences(root: &Path, features: &[String]) -> Result<()> {
    let path = root.join("deny.toml");
    let text = std::fs::read_to_string(&path).context("cannot read `deny.toml`")?;
    let deny: DenyFile = toml::from_str(&text).context("cannot understand `deny.toml`")?;
    let refused = refused_crates(&read_metadata(root, features)?, &deny);
    if refused.is_empty() {
        Ok(())
    } else {
        bail!("{}\nchoose another crate, or add to `deny.toml` and explain it in the commit", refused.join("\n"))
    }
}

/// Only what is built on this kind of machine: the crates of other systems are never downloaded.
fn read_metadata(root: &Path, features: &[String]) -> Result<Metadata> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let options = ["--locked".into(), "--filter-platform".into(), platform];
    let options = options.into_iter().chain(features.iter().cloned()).collect::<Vec<_>>();
    MetadataCommand::new().current_dir(root).other_options(options).exec().context("`cargo metadata` failed")
}

fn refused_crates(metadata: &Metadata, deny: &DenyFile) -> Vec<String> {
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

/// The problem with a crate's licence expression, if there is one. An exception (`WITH`) only adds permissions.
fn licence_problem(expression: Option<&str>, allowed: &[String]) -> Option<String> {
    let Some(text) = expression else { return Some("names no licence".into()) };
    // Older crates write `MIT/Apache-2.0`, which only the lax mode understands.
    let Ok(expression) = Expression::parse_mode(text, ParseMode::LAX) else {
        return Some(format!("its licence `{text}` is no SPDX expression"));
    };
    if expression.evaluate(|req| allowed.contains(&req.license.to_string())) {
        None
    } else {
        Some(format!("its licence `{text}` is not allowed"))
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
