//! Sentences are written in one place and read by people only.
//!
//! In: the source files of `analysis` and `report`, and `xtask/prose.txt` with the files that are exempt for now. Out: calls
//! that take a title, evidence or label apart, and `format!` in `analysis`, which writes no sentences but those of its findings and of the answer.
//! Limits: a title is recognised by the name of the variable, field or method; tests are left out.

use super::problem::Problem;
use crate::workspace::TextFile;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprMethodCall, ItemMod, Macro, Member, Meta};

const ANALYSIS: &str = "crates/analysis/src/";
const REPORT: &str = "crates/report/src/";
/// Where `analysis` writes sentences: those of findings and of the answer, and what to do next.
const FINDINGS: &[&str] =
    &["crates/analysis/src/findings/", "crates/analysis/src/answer/", "crates/analysis/src/judgement/next_step.rs"];
const EXEMPT: &str = "xtask/prose.txt";
/// Names of text that was written for people.
const PROSE: &[&str] = &["title", "evidence", "next_step", "label", "heading", "sentence"];
/// Methods that take text apart.
const PARSING: &[&str] = &[
    "split",
    "split_once",
    "rsplit",
    "rsplit_once",
    "splitn",
    "split_whitespace",
    "split_terminator",
    "starts_with",
    "ends_with",
    "contains",
    "find",
    "rfind",
    "replace",
    "replacen",
    "strip_prefix",
    "strip_suffix",
    "matches",
    "parse",
];

pub(super) fn check_prose(files: &[TextFile]) -> Result<Vec<Problem>> {
    check_but_exempt(files, EXEMPT, find_calls)
}

/// The problems that `find` reports in checked files that the list in `exempt` does not have, and lines of that list without need.
pub(super) fn check_but_exempt(
    files: &[TextFile],
    exempt: &str,
    find: fn(&TextFile) -> Result<Vec<Problem>>,
) -> Result<Vec<Problem>> {
    let list = files.iter().find(|file| file.path == exempt).with_context(|| format!("`{exempt}` is gone"))?;
    let mut unneeded: BTreeSet<&str> = list_entries(&list.text).collect();
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| is_checked(&file.path)) {
        let found = find(file)?;
        if !found.is_empty() && !unneeded.remove(file.path.as_str()) {
            problems.extend(found);
        }
    }
    for entry in unneeded {
        problems.push(Problem::new(exempt, format!("`{entry}` needs no exemption any more; remove its line")));
    }
    Ok(problems)
}

fn list_entries(exempt: &str) -> impl Iterator<Item = &str> {
    exempt.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Rust files of both crates. The folder `simulated`, `testing.rs` and `tests.rs` are parts of tests.
fn is_checked(path: &str) -> bool {
    let is_test = path.contains("/simulated/") || path.ends_with("/testing.rs") || path.ends_with("/tests.rs");
    path.ends_with(".rs") && !is_test && (path.starts_with(ANALYSIS) || path.starts_with(REPORT))
}

fn find_calls(file: &TextFile) -> Result<Vec<Problem>> {
    let tree = file.parsed().with_context(|| format!("`{}` cannot be parsed", file.path))?;
    let writes = FINDINGS.iter().any(|place| file.path.starts_with(place));
    let mut seen = ForbiddenCalls { formats: file.path.starts_with(ANALYSIS) && !writes, found: Vec::new() };
    seen.visit_file(tree);
    Ok(seen.found.into_iter().map(|(line, text)| Problem::in_line(file, line, text)).collect())
}

/// The calls of a file that a rule forbids.
struct ForbiddenCalls {
    /// Whether `format!` is one of them.
    formats: bool,
    found: Vec<(usize, String)>,
}

impl<'ast> Visit<'ast> for ForbiddenCalls {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !module.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let method = call.method.to_string();
        if let Some(name) = name_of(&call.receiver).filter(|_| PARSING.contains(&method.as_str())) {
            let text = format!("`{name}.{method}` takes apart what was written for people; match on the typed value");
            self.found.push((call.method.span().start().line, text));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, used: &'ast Macro) {
        if self.formats && used.path.is_ident("format") {
            let text = "`format!` in analysis: return numbers and kinds, and write the sentence in a finding or in report/src/wording";
            self.found.push((used.span().start().line, text.to_owned()));
        }
        visit::visit_macro(self, used);
    }
}

pub(super) fn is_test(attribute: &Attribute) -> bool {
    matches!(&attribute.meta, Meta::List(list) if list.path.is_ident("cfg") && list.tokens.to_string() == "test")
}

/// The name that `receiver` ends with, if it is one of text for people.
fn name_of(receiver: &Expr) -> Option<String> {
    let name = match receiver {
        Expr::Path(path) => path.path.segments.last()?.ident.to_string(),
        Expr::MethodCall(call) if PROSE.contains(&call.method.to_string().as_str()) => call.method.to_string(),
        // `title.as_str().split(..)`
        Expr::MethodCall(call) => return name_of(&call.receiver),
        Expr::Call(call) => return name_of(&call.func),
        Expr::Reference(reference) => return name_of(&reference.expr),
        Expr::Paren(paren) => return name_of(&paren.expr),
        Expr::Field(field) => match &field.member {
            Member::Named(name) => name.to_string(),
            Member::Unnamed(_) => return None,
        },
        _ => return None,
    };
    PROSE.contains(&name.as_str()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::super::problem::file;
    use super::*;

    fn found(path: &str, code: &str) -> usize {
        find_calls(&file(path, code)).unwrap().len()
    }

    #[test]
    fn text_for_people_that_is_taken_apart_is_found_in_both_crates() {
        for code in [
            "fn a(f: &Finding) -> bool { f.title.starts_with(\"overloaded\") }",
            "fn a(title: &str) { title.split(' ').count(); }",
            "fn a(p: &Point) { p.label().as_str().strip_prefix(\"file\"); }",
            "fn a(d: &Detail) { evidence(d).replace(\"a\", \"b\"); }",
        ] {
            assert_eq!(found("crates/report/src/a.rs", code), 1, "{code}");
            assert_eq!(found("crates/analysis/src/a.rs", code), 1, "{code}");
        }
    }

    #[test]
    fn other_text_and_tests_are_not() {
        let code = "fn a(name: &str) { name.split('.').count(); }\n#[cfg(test)] mod tests { fn b(title: &str) { title.find('x'); } }";
        assert_eq!(found("crates/report/src/a.rs", code), 0);
        assert!(!is_checked("crates/plan/src/lib.rs") && !is_checked("crates/analysis/src/simulated/mod.rs"));
    }

    #[test]
    fn analysis_writes_no_text_and_report_does() {
        let code = "fn a() -> String { format!(\"{} points\", 3) }";
        assert_eq!((found("crates/analysis/src/a.rs", code), found("crates/report/src/a.rs", code)), (1, 0));
    }
}
