//! A function fits a screen: one that newly passes 70 lines is to be split.
//!
//! In: all source files, and `xtask/long-functions.txt` with the functions that are longer for a reason (tables, matches over
//! events), one `FILE FUNCTION` a line. Out: functions too long, and lines of the list that nothing needs.
//! Limits: a function is counted from `fn` to its last brace; attributes and doc comments are free.

use super::problem::Problem;
use crate::workspace::TextFile;
use anyhow::{Context, Result};
use proc_macro2::Span;
use std::collections::BTreeSet;
use syn::visit::{self, Visit};
use syn::{Block, Ident, ImplItemFn, ItemFn, Signature, TraitItemFn};

const LINES_MAX: usize = 70;
const BASELINE: &str = "xtask/long-functions.txt";

/// One function of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Function {
    name: String,
    line: usize,
    lines: usize,
}

pub(super) fn check(files: &[TextFile]) -> Result<Vec<Problem>> {
    let baseline = files.iter().find(|file| file.path == BASELINE).with_context(|| format!("`{BASELINE}` is gone"))?;
    let mut unneeded: BTreeSet<&str> = entries(&baseline.text).collect();
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is("rs")) {
        match functions(&file.text) {
            Err(error) => problems.push(Problem::new(&file.path, format!("cannot be parsed: {error}"))),
            Ok(functions) => problems.extend(too_long(file, &functions, &mut unneeded)),
        }
    }
    let text = |entry| format!("`{entry}` is not longer than {LINES_MAX} lines any more; remove its line");
    problems.extend(unneeded.into_iter().map(|entry| Problem::new(BASELINE, text(entry))));
    Ok(problems)
}

fn entries(baseline: &str) -> impl Iterator<Item = &str> {
    baseline.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The problems of one file; takes what it needs from the entries of the baseline.
fn too_long(file: &TextFile, functions: &[Function], unneeded: &mut BTreeSet<&str>) -> Vec<Problem> {
    let long = functions.iter().filter(|function| function.lines > LINES_MAX);
    let unlisted = long.filter(|function| !unneeded.remove(format!("{} {}", file.path, function.name).as_str()));
    let problem = |f: &Function| {
        let text = format!("`{}` has {} lines, more than {LINES_MAX}; split it at its comments", f.name, f.lines);
        Problem::in_line(file, f.line, text)
    };
    unlisted.map(problem).collect()
}

/// Every function with a body, nested ones too.
fn functions(text: &str) -> syn::Result<Vec<Function>> {
    let mut seen = Functions::default();
    seen.visit_file(&syn::parse_file(text)?);
    Ok(seen.0)
}

#[derive(Default)]
struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, signature: &Signature, block: &Block) {
        let first = line_of(signature.fn_token.span);
        let last = line_of(block.brace_token.span.close());
        self.0.push(Function { name: name_of(&signature.ident), line: first, lines: last - first + 1 });
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }
    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }
    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

fn line_of(span: Span) -> usize {
    span.start().line
}

fn name_of(ident: &Ident) -> String {
    ident.to_string()
}

#[cfg(test)]
mod tests {
    use super::super::problem::file;
    use super::*;

    /// A function of exactly `lines` lines, with braces where a naive scanner would trip.
    fn function(name: &str, lines: usize) -> String {
        let tricky = "    let _ = (\"{\", '}', r#\"}}\"#); // }\n";
        format!("/// Long doc.\nfn {name}() {{\n{tricky}{}}}\n", "    go();\n".repeat(lines - 3))
    }

    fn found(baseline: &str, text: &str) -> Vec<String> {
        let files = [file(BASELINE, baseline), file("crates/a/src/lib.rs", text)];
        check(&files).unwrap().iter().map(Problem::to_string).collect()
    }

    #[test]
    fn seventy_lines_are_allowed_and_seventy_one_are_not() {
        assert_eq!(found("", &function("fits", 70)), Vec::<String>::new());
        let problem = "crates/a/src/lib.rs:2: `longer` has 71 lines, more than 70; split it at its comments";
        assert_eq!(found("", &function("longer", 71)), [problem]);
    }

    #[test]
    fn a_listed_function_may_be_long() {
        assert!(found("# tables\ncrates/a/src/lib.rs table\n", &function("table", 200)).is_empty());
    }

    #[test]
    fn a_line_of_the_list_that_nothing_needs_is_a_problem() {
        assert_eq!(found("crates/a/src/lib.rs table\n", &function("table", 20)).len(), 1);
    }

    #[test]
    fn methods_defaults_of_traits_and_nested_functions_are_counted() {
        let text = "trait T { fn a() {} fn b(); }\nimpl T for U {\n fn c() {\n  fn d() {\n  }\n }\n}";
        let lengths: Vec<(String, usize)> =
            functions(text).unwrap().into_iter().map(|function| (function.name, function.lines)).collect();
        assert_eq!(lengths, [("a".into(), 1), ("c".into(), 4), ("d".into(), 2)]);
    }

    #[test]
    fn a_file_that_is_no_rust_is_a_problem() {
        assert_eq!(found("", "fn {").len(), 1);
    }
}
