//! Code that judges and shows a run reads roles and traits, never the names of engines, parameters, counters or facts.
//!
//! In: the source files of `analysis` and `report`, and `xtask/names.txt` with the files that are exempt for now. Out: comparisons
//! of a name with a string literal, and settings that are looked up by the name that a workload or an engine gave them.
//! Limits: a name is recognised by the variable, field or method that holds it; a literal in a constant is not seen; tests are left
//! out.

use super::problem::Problem;
use super::prose::{check_but_exempt, is_test};
use crate::workspace::TextFile;
use anyhow::{Context, Result};
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary, ExprMatch, ExprMethodCall, ItemMod, Lit, Macro, Member, Pat};

const EXEMPT: &str = "xtask/names.txt";
/// Variables, fields and methods that hold a name that an engine, a workload or a source of counters declares.
const NAMES: &[&str] =
    &["name", "source", "engine", "workload", "target", "param", "counter", "fact", "mode", "step", "mix", "word"];
/// Variables that hold settings by name, and the methods that look one up.
const SETTINGS: &[&str] = &["settings", "params"];
const LOOKUPS: &[&str] = &["get", "word", "value", "text", "contains_key"];
/// Settings that every trial has: the plan declares them, and no engine or workload.
const OF_EVERY_TRIAL: &[&str] = &[
    "target",
    "workload",
    "clients",
    "depth",
    "repeat",
    "fs",
    "storage_limit",
    "cpus",
    "smt",
    "turbo",
    "scheduler",
    "memory_limit",
    "pacing",
    "until",
];

pub(super) fn check_names(files: &[TextFile]) -> Result<Vec<Problem>> {
    check_but_exempt(files, EXEMPT, find_comparisons)
}

fn find_comparisons(file: &TextFile) -> Result<Vec<Problem>> {
    let tree = file.parsed().with_context(|| format!("`{}` cannot be parsed", file.path))?;
    let mut seen = NameComparisons::default();
    seen.visit_file(tree);
    let problems = seen.found.into_iter().map(|(line, name)| {
        let text = format!("`{name}` is compared with a string literal; declare a role or a trait and match on that");
        Problem::in_line(file, line, text)
    });
    Ok(problems.collect())
}

/// The lines that compare a name with a literal, and what holds the name.
#[derive(Default)]
struct NameComparisons {
    found: Vec<(usize, String)>,
}

impl NameComparisons {
    fn add_found(&mut self, place: &impl Spanned, name: Option<String>) {
        self.found.extend(name.map(|name| (place.span().start().line, name)));
    }
}

impl<'ast> Visit<'ast> for NameComparisons {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !module.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        if matches!(binary.op, BinOp::Eq(_) | BinOp::Ne(_)) {
            let (left, right) = (&*binary.left, &*binary.right);
            let other = if has_literal(right) { Some(left) } else { has_literal(left).then_some(right) };
            self.add_found(binary, other.and_then(declared_name));
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_match(&mut self, matching: &'ast ExprMatch) {
        if matching.arms.iter().any(|arm| is_literal_pattern(&arm.pat)) {
            self.add_found(matching, declared_name(&matching.expr));
        }
        visit::visit_expr_match(self, matching);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let method = call.method.to_string();
        let looked_up = call.args.first().and_then(string_literal).filter(|_| LOOKUPS.contains(&method.as_str()));
        let holder = last_name(&call.receiver).filter(|holder| SETTINGS.contains(&holder.as_str()));
        if let Some((setting, holder)) = looked_up.zip(holder)
            && !OF_EVERY_TRIAL.contains(&setting.as_str())
        {
            self.add_found(call, Some(format!("{holder}.{method}")));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, used: &'ast Macro) {
        if used.path.is_ident("matches") {
            // To the parser a macro is a list of tokens: what is compared in it has to be parsed here.
            let name = parse_matches(used).filter(|(_, pattern)| is_literal_pattern(pattern));
            self.add_found(used, name.and_then(|(expr, _)| declared_name(&expr)));
        }
        visit::visit_macro(self, used);
    }
}

/// The value and the pattern of `matches!(value, pattern)`.
fn parse_matches(used: &Macro) -> Option<(Expr, Pat)> {
    parse_value_and_pattern.parse2(used.tokens.clone()).ok()
}

fn parse_value_and_pattern(input: syn::parse::ParseStream) -> syn::Result<(Expr, Pat)> {
    let value: Expr = input.parse()?;
    input.parse::<syn::Token![,]>()?;
    let pattern = Pat::parse_multi_with_leading_vert(input)?;
    // A guard may follow.
    input.parse::<proc_macro2::TokenStream>()?;
    Ok((value, pattern))
}

fn string_literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// `"a"` or `Some("a")`
fn has_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Call(call) => call.args.iter().any(has_literal),
        other => string_literal(other).is_some(),
    }
}

fn is_literal_pattern(pattern: &Pat) -> bool {
    match pattern {
        Pat::Lit(lit) => matches!(&lit.lit, Lit::Str(_)),
        Pat::Or(or) => or.cases.iter().any(is_literal_pattern),
        Pat::Tuple(tuple) => tuple.elems.iter().any(is_literal_pattern),
        Pat::TupleStruct(tuple) => tuple.elems.iter().any(is_literal_pattern),
        Pat::Paren(paren) => is_literal_pattern(&paren.pat),
        _ => false,
    }
}

/// The last name of `expr`, if it is one that holds a declared name.
fn declared_name(expr: &Expr) -> Option<String> {
    last_name(expr).filter(|name| NAMES.contains(&name.as_str()))
}

/// The last name of `expr` that is not a conversion: `name` of `fact.name.as_str()`.
fn last_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Path(path) => Some(path.path.segments.last()?.ident.to_string()),
        Expr::MethodCall(call) if call.method.to_string().starts_with("as_") => last_name(&call.receiver),
        Expr::MethodCall(call) => Some(call.method.to_string()),
        Expr::Reference(reference) => last_name(&reference.expr),
        Expr::Unary(unary) => last_name(&unary.expr),
        Expr::Paren(paren) => last_name(&paren.expr),
        Expr::Field(field) => match &field.member {
            Member::Named(name) => Some(name.to_string()),
            Member::Unnamed(_) => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::file;
    use super::*;

    fn found(code: &str) -> usize {
        find_comparisons(&file("crates/report/src/a.rs", code)).unwrap().len()
    }

    #[test]
    fn a_declared_name_that_is_compared_with_a_literal_is_found() {
        for code in [
            "fn a(c: &Counter) -> bool { c.name == \"read_ops\" }",
            "fn a(name: &str) -> bool { \"cache\" != name }",
            "fn a(p: &Point) -> bool { p.step() == Some(\"drain\") }",
            "fn a(p: &Point) -> bool { matches!(p.engine.as_str(), \"null\" | \"file\" if true) }",
            "fn a(s: &Settings) -> u8 { match s.word(MODE) { Some(\"rndrd\") => 1, _ => 0 } }",
            "fn a(p: &Point) -> bool { p.settings.get(\"block\").is_none() }",
        ] {
            assert_eq!(found(code), 1, "{code}");
        }
    }

    #[test]
    fn roles_settings_of_every_trial_other_text_and_tests_are_not() {
        for code in [
            "fn a(c: &Counter) -> bool { c.role == Some(CounterRole::DeviceReadOps) }",
            "fn a(p: &Point) -> bool { p.settings.get(\"clients\").is_none() }",
            "fn a(percent: &str) -> bool { percent == \"100\" }",
            "fn a(name: &str, other: &str) -> bool { name == other }",
            "#[cfg(test)] mod tests { fn a(name: &str) -> bool { name == \"cache\" } }",
        ] {
            assert_eq!(found(code), 0, "{code}");
        }
    }
}
