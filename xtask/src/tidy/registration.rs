//! Every extension is in its slice: a file that declares an engine, workload, distribution, source, chart, table or finding is listed in
//! the slice that help, reference and contract tests iterate.
//!
//! In: the source files of the extension folders. Out: declarations that no slice lists. Limits: a declaration is a `const` or
//! `static` of the entry's type at the top of its file, or an `impl` of the entry's trait; files without one are helpers.

use super::problem::Problem;
use crate::workspace::TextFile;
use proc_macro2::TokenTree;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, Item, ItemImpl, Path, Token, Type};

struct ExtensionSlice {
    name: &'static str,
    /// The file that declares it.
    file: &'static str,
    /// The folder of its extensions.
    folder: &'static str,
    /// The type of its entries.
    entry: &'static str,
}

const SLICES: &[ExtensionSlice] = &[
    ExtensionSlice {
        name: "ENGINES",
        file: "crates/engine/src/registry.rs",
        folder: "crates/engine/src/",
        entry: "EngineDef",
    },
    ExtensionSlice {
        name: "WORKLOADS",
        file: "crates/workload/src/lib.rs",
        folder: "crates/workload/src/",
        entry: "WorkloadDef",
    },
    ExtensionSlice {
        name: "DISTRIBUTIONS",
        file: "crates/workload/src/distribution/mod.rs",
        folder: "crates/workload/src/distribution/",
        entry: "DistributionDef",
    },
    ExtensionSlice {
        name: "SOURCES",
        file: "crates/observe/src/sources/mod.rs",
        folder: "crates/observe/src/sources/",
        entry: "SourceEntry",
    },
    ExtensionSlice {
        name: "CHARTS",
        file: "crates/report/src/charts/mod.rs",
        folder: "crates/report/src/charts/",
        entry: "Chart",
    },
    ExtensionSlice {
        name: "TABLES",
        file: "crates/report/src/tables/mod.rs",
        folder: "crates/report/src/tables/",
        entry: "TableDef",
    },
    // The list makes the modules, too: a file that is not in it is not compiled.
    ExtensionSlice {
        name: "FINDINGS",
        file: "crates/analysis/src/findings/mod.rs",
        folder: "crates/analysis/src/findings/",
        entry: "FindingKind",
    },
];

/// An entry as the slice names it, `null::NULL`, or as its file declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EntryName {
    module: String,
    constant: String,
}

pub(super) fn check_registration(files: &[TextFile]) -> Vec<Problem> {
    SLICES.iter().flat_map(|slice| find_problems(slice, files)).collect()
}

fn find_problems(slice: &ExtensionSlice, files: &[TextFile]) -> Vec<Problem> {
    let declaring = files.iter().find(|file| file.path == slice.file);
    let Some(listed) = declaring.and_then(|file| listed_entries(file.parsed()?, slice.name)) else {
        let text = format!("has no slice `{}`; xtask/src/tidy/registration.rs names its place", slice.name);
        return vec![Problem::new(slice.file, text)];
    };
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with(slice.folder) && file.has_extension("rs")) {
        let declared = declared_entries(file, slice);
        let unlisted = declared.iter().filter(|name| !listed.contains(name));
        problems.extend(unlisted.map(|name| unlisted_problem(file, name, slice)));
    }
    problems
}

fn unlisted_problem(file: &TextFile, name: &EntryName, slice: &ExtensionSlice) -> Problem {
    let line = match slice.entry {
        "DistributionDef" => format!("{}::{} of TYPE,", name.module, name.constant),
        "FindingKind" => format!("{}::{} => NAME = \"CODE\",", name.module, name.constant),
        _ => format!("&{}::{},", name.module, name.constant),
    };
    Problem::new(&file.path, format!("is in no slice; add the line `{line}` to `{}` in {}", slice.name, slice.file))
}

/// The entries of the slice `name`; `None` if the file has no such slice.
fn listed_entries(file: &syn::File, name: &str) -> Option<Vec<EntryName>> {
    if let Some(lines) = file.items.iter().find_map(|item| lines_of_macro(item, name)) {
        return Some(lines.iter().filter_map(|line| name_of(&line.0)).collect());
    }
    let value = file.items.iter().find_map(|item| match item {
        Item::Const(item) if item.ident == name => Some(&*item.expr),
        Item::Static(item) if item.ident == name => Some(&*item.expr),
        _ => None,
    })?;
    let Expr::Array(array) = behind_reference(value) else { return None };
    Some(array.elems.iter().filter_map(entry_name).collect())
}

/// A line `module::ENTRY of Type` or `module::Entry => Name = "code"`, from which a macro makes the slice.
struct MacroLine(Path);

impl Parse for MacroLine {
    fn parse(input: ParseStream) -> syn::Result<MacroLine> {
        let path = input.parse()?;
        while !input.is_empty() && !input.peek(Token![,]) {
            input.parse::<TokenTree>()?;
        }
        Ok(MacroLine(path))
    }
}

/// The lines of the macro that has the slice's name in lower case, if `item` is its call.
fn lines_of_macro(item: &Item, name: &str) -> Option<Punctuated<MacroLine, Token![,]>> {
    match item {
        Item::Macro(item) if item.mac.path.is_ident(&name.to_lowercase()) => {
            item.mac.parse_body_with(Punctuated::parse_terminated).ok()
        }
        _ => None,
    }
}

fn behind_reference(expr: &Expr) -> &Expr {
    match expr {
        Expr::Reference(reference) => behind_reference(&reference.expr),
        other => other,
    }
}

fn entry_name(expr: &Expr) -> Option<EntryName> {
    let Expr::Path(path) = behind_reference(expr) else { return None };
    name_of(&path.path)
}

fn name_of(path: &Path) -> Option<EntryName> {
    let mut words = path.segments.iter().rev().map(|segment| segment.ident.to_string());
    let constant = words.next()?;
    Some(EntryName { module: words.next()?, constant })
}

/// The entries that `file` declares.
fn declared_entries(file: &TextFile, slice: &ExtensionSlice) -> Vec<EntryName> {
    let Some(parsed) = file.parsed() else { return Vec::new() };
    let constants = parsed.items.iter().filter_map(|item| match item {
        Item::Const(item) if is_type(&item.ty, slice.entry) => Some(item.ident.to_string()),
        Item::Static(item) if is_type(&item.ty, slice.entry) => Some(item.ident.to_string()),
        Item::Impl(item) => implementor(item, slice.entry),
        _ => None,
    });
    constants.map(|constant| EntryName { module: module_of(&file.path), constant }).collect()
}

/// The type for which `item` implements the trait of this name.
fn implementor(item: &ItemImpl, name: &str) -> Option<String> {
    let (path, _) = item.trait_.as_ref()?;
    let Type::Path(own) = &*item.self_ty else { return None };
    let own = own.path.segments.last()?;
    path.segments.last().is_some_and(|last| last.ident == name).then(|| own.ident.to_string())
}

fn is_type(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name))
}

/// `engines/null.rs` and `engines/null/mod.rs` are both the module `null`.
fn module_of(path: &str) -> String {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.rsplit('/').next().unwrap_or(path).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::problem::file;
    use super::*;

    const ENGINES: &str = "mod null; pub const ENGINES: &[&EngineDef] = &[&null::NULL, &file::FILE];";
    const NULL: &str = "pub const NULL: EngineDef = EngineDef { name: \"null\" };";

    fn found(engines: &str, path: &str, text: &str) -> Vec<Problem> {
        find_problems(&SLICES[0], &[file(SLICES[0].file, engines), file(path, text)])
    }

    #[test]
    fn an_engine_in_the_slice_is_registered_as_a_file_or_a_folder() {
        assert_eq!(found(ENGINES, "crates/engine/src/null.rs", NULL), []);
        let folder = "static FILE: super::EngineDef = make();";
        assert_eq!(found(ENGINES, "crates/engine/src/file/mod.rs", folder), []);
    }

    #[test]
    fn an_engine_that_is_in_no_slice_is_named_with_the_line_to_add() {
        let found = found(ENGINES, "crates/engine/src/turtle.rs", "pub const TURTLE: EngineDef = make();");
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].to_string(),
            "crates/engine/src/turtle.rs: is in no slice; add the line `&turtle::TURTLE,` to `ENGINES` in \
             crates/engine/src/registry.rs"
        );
    }

    #[test]
    fn a_mention_in_a_comment_does_not_register() {
        let commented = "pub const ENGINES: &[&EngineDef] = &[/* &null::NULL */];";
        assert_eq!(found(commented, "crates/engine/src/null.rs", NULL).len(), 1);
    }

    #[test]
    fn a_helper_without_an_entry_and_a_file_of_another_folder_need_no_line() {
        assert_eq!(found(ENGINES, "crates/engine/src/errno.rs", "pub fn help() {}"), []);
        assert_eq!(found(ENGINES, "crates/host/src/other.rs", NULL), []);
    }

    #[test]
    fn a_slice_that_is_gone_is_a_problem() {
        assert_eq!(found("pub const OTHERS: &[&EngineDef] = &[];", "x.rs", "").len(), 1);
    }

    #[test]
    fn a_slice_of_values_is_read_like_one_of_references() {
        let values = "pub const CHARTS: &[Chart] = &[timeline::CHART];";
        let name = EntryName { module: "timeline".into(), constant: "CHART".into() };
        assert_eq!(listed_entries(&syn::parse_file(values).unwrap(), "CHARTS"), Some(vec![name]));
    }

    #[test]
    fn a_finding_that_is_not_in_the_list_is_named_with_its_line() {
        let slice = SLICES.iter().find(|slice| slice.name == "FINDINGS").unwrap();
        let list = file(slice.file, "findings! { stall::Stalls => Stall = \"stall\", }");
        let of = |module: &str, figures: &str| {
            file(&format!("{}{module}.rs", slice.folder), &format!("impl FindingKind for {figures} {{}}"))
        };
        let found = find_problems(slice, &[list, of("stall", "Stalls"), of("wave", "RateWave")]);
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().contains("`wave::RateWave => NAME = \"CODE\",`"), "{}", found[0]);
    }

    #[test]
    fn the_lines_of_a_macro_are_read_like_a_slice() {
        let lines = "distributions! { zipf::ZIPF of Zipf, latest::LATEST of Latest, }";
        let name = |module: &str| EntryName { module: module.into(), constant: module.to_uppercase() };
        let file = syn::parse_file(lines).unwrap();
        assert_eq!(listed_entries(&file, "DISTRIBUTIONS"), Some(vec![name("zipf"), name("latest")]));
    }
}
