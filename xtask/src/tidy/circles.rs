//! No large circles of files: if many files of a crate know each other, none of them can be read alone.
//!
//! In: the source files of the crates. Out: each circle of more than [`FILES_MAX`] files, with its files.
//! Limits: an arrow is a path in the text (`use` or inline) that begins with `crate`, `super`, `self` or a module of the file.
//! Re-exports are followed to the file that declares the name; they are no arrows themselves, nor are `mod` lines. Tests and the
//! bodies of macros are left out.

use super::problem::Problem;
use crate::workspace::TextFile;
use proc_macro2::TokenTree;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Path, UseTree, Visibility};

/// The largest circle that may be.
const FILES_MAX: usize = 8;

/// The modules of one crate by their path (`engine::sql::retry`; empty for the root).
pub(super) type ModuleMap = BTreeMap<Vec<String>, FileModule>;

/// One file of a crate.
#[derive(Default)]
pub(super) struct FileModule {
    file: String,
    /// Names that `pub use` takes from elsewhere, with the path that they come from.
    reexports: BTreeMap<String, Vec<String>>,
    /// ModuleMap of which everything is taken by `pub use module::*`.
    globs: Vec<Vec<String>>,
    /// The paths that the file mentions.
    mentions: BTreeSet<Vec<String>>,
    /// Its modules that are compiled for tests only.
    tests: Vec<String>,
}

pub(super) fn check_circles(files: &[TextFile]) -> Vec<Problem> {
    let crates: BTreeSet<&str> = files.iter().filter_map(|file| crate_of(&file.path)).collect();
    crates.into_iter().flat_map(|name| find_problems(&modules_of(name, files))).collect()
}

/// `crates/load/src/drive/mod.rs` is in `crates/load`.
fn crate_of(path: &str) -> Option<&str> {
    let (name, rest) = path.split_once("/src/")?;
    (rest.ends_with(".rs") && !name.contains("/src")).then_some(name)
}

fn find_problems(modules: &ModuleMap) -> Vec<Problem> {
    let large = find_circles(&file_arrows(modules)).into_iter().filter(|circle| circle.len() > FILES_MAX);
    large.map(|circle| circle_problem(&circle)).collect()
}

fn circle_problem(circle: &[&str]) -> Problem {
    let text = format!(
        "{} files know each other in a circle, more than {FILES_MAX}: {}; move what they share into a file that knows none of them",
        circle.len(),
        circle.join(", ")
    );
    Problem::new(circle[0], text)
}

pub(super) fn modules_of(name: &str, files: &[TextFile]) -> ModuleMap {
    let own = files.iter().filter(|file| crate_of(&file.path) == Some(name));
    let mut modules: ModuleMap = own.filter_map(|file| Some((module_path(&file.path)?, read_module(file)?))).collect();
    let of_tests = |(at, module): (&Vec<String>, &FileModule)| {
        module.tests.iter().map(|name| [at.as_slice(), std::slice::from_ref(name)].concat()).collect::<Vec<_>>()
    };
    let tests: Vec<Vec<String>> = modules.iter().flat_map(of_tests).collect();
    modules.retain(|at, _| !tests.iter().any(|test| at.starts_with(test)));
    modules
}

/// `crates/load/src/drive/mod.rs` is the module `drive`.
fn module_path(path: &str) -> Option<Vec<String>> {
    let (_, inside) = path.split_once("/src/")?;
    let mut names: Vec<String> = inside.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    let is_root = names.len() == 1 && ["lib", "main"].contains(&names[0].as_str());
    if is_root || names.last().is_some_and(|last| last == "mod") {
        names.pop();
    }
    Some(names)
}

/// The module of `file`; `None` if it cannot be parsed.
fn read_module(file: &TextFile) -> Option<FileModule> {
    let mut reader = ModuleReader { module: FileModule { file: file.path.clone(), ..FileModule::default() } };
    reader.visit_file(file.parsed()?);
    Some(reader.module)
}

struct ModuleReader {
    module: FileModule,
}

impl<'ast> Visit<'ast> for ModuleReader {
    fn visit_item(&mut self, item: &'ast Item) {
        if !attributes_of(item).iter().any(is_test) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if module.attrs.iter().any(is_test) {
            self.module.tests.push(module.ident.to_string());
        } else {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_public = !matches!(item.vis, Visibility::Inherited);
        for (path, name) in paths_of(&item.tree, &[]) {
            match (is_public, name) {
                (true, Some(name)) => drop(self.module.reexports.insert(name, path)),
                (true, None) => self.module.globs.push(path),
                (false, _) => drop(self.module.mentions.insert(path)),
            }
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if path.segments.len() > 1 {
            self.module.mentions.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }
}

fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Fn(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        _ => &[],
    }
}

fn is_test(attribute: &Attribute) -> bool {
    // Also `any(test, feature = "...")`: what tests of other crates use is of tests, too.
    let is_it = |word: TokenTree| matches!(word, TokenTree::Ident(word) if word == "test");
    let of_any = |list: syn::MetaList| list.path.is_ident("any") && list.tokens.into_iter().any(is_it);
    attribute.path().is_ident("cfg")
        && (attribute.parse_args::<Path>().is_ok_and(|path| path.is_ident("test"))
            || attribute.parse_args::<syn::MetaList>().is_ok_and(of_any))
}

/// The paths of a `use`, each with the name that it gets here; no name for `*`.
fn paths_of(tree: &UseTree, before: &[String]) -> Vec<(Vec<String>, Option<String>)> {
    match tree {
        UseTree::Path(path) => paths_of(&path.tree, &joined(before, &path.ident)),
        UseTree::Name(name) if name.ident == "self" => vec![(before.to_vec(), before.last().cloned())],
        UseTree::Name(name) => vec![(joined(before, &name.ident), Some(name.ident.to_string()))],
        UseTree::Rename(rename) => vec![(joined(before, &rename.ident), Some(rename.rename.to_string()))],
        UseTree::Glob(_) => vec![(before.to_vec(), None)],
        UseTree::Group(group) => group.items.iter().flat_map(|tree| paths_of(tree, before)).collect(),
    }
}

fn joined(before: &[String], name: &syn::Ident) -> Vec<String> {
    [before, &[name.to_string()]].concat()
}

/// The files that each file mentions.
pub(super) fn file_arrows(modules: &ModuleMap) -> BTreeMap<&str, BTreeSet<&str>> {
    let arrows = modules.iter().map(|(at, module)| {
        let found = module.mentions.iter().filter_map(|path| resolve_path(modules, at, path, 0));
        let files = found.map(|found| modules[&found].file.as_str()).filter(|file| *file != module.file);
        (module.file.as_str(), files.collect())
    });
    arrows.collect()
}

/// Re-exports of re-exports; a longer chain is a circle of its own.
const HOPS_MAX: usize = 8;

/// The module that declares what `path` means in the module `at`; `None` for a path into another crate.
fn resolve_path(modules: &ModuleMap, at: &[String], path: &[String], hops: usize) -> Option<Vec<String>> {
    let (mut here, rest) = match path.first()?.as_str() {
        "crate" => (Vec::new(), &path[1..]),
        "self" => (at.to_vec(), &path[1..]),
        "super" => (at[..at.len().checked_sub(1)?].to_vec(), &path[1..]),
        first => {
            let child = [at, &[first.to_owned()]].concat();
            modules.contains_key(&child).then_some((child, &path[1..]))?
        }
    };
    for (nth, name) in rest.iter().enumerate() {
        if name == "super" {
            here.pop();
            continue;
        }
        let child = [here.as_slice(), std::slice::from_ref(name)].concat();
        if modules.contains_key(&child) {
            here = child;
            continue;
        }
        return Some(declaring_module(modules, &here, &rest[nth..], hops).unwrap_or(here));
    }
    modules.contains_key(&here).then_some(here)
}

/// The module that `rest` leads to if the module `here` re-exports its first name.
fn declaring_module(modules: &ModuleMap, here: &[String], rest: &[String], hops: usize) -> Option<Vec<String>> {
    let module = modules.get(here).filter(|_| hops < HOPS_MAX)?;
    if let Some(source) = module.reexports.get(&rest[0]) {
        return resolve_path(modules, here, &[source, &rest[1..]].concat(), hops + 1);
    }
    module.globs.iter().find_map(|glob| resolve_path(modules, here, &[glob, rest].concat(), hops + 1))
}

/// The circles of the arrows: sets of files each of which leads to each other, in the order of their names.
fn find_circles<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<Vec<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|file| (*file, reachable_files(arrows, file))).collect();
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for file in arrows.keys() {
        let mutual = reached[file].iter().filter(|other| reached.get(**other).is_some_and(|back| back.contains(file)));
        let circle: Vec<&str> = mutual.copied().collect();
        // Each file of a circle finds the same circle: it counts once. A file alone reaches itself only through others.
        if circle.len() > 1 && seen.insert(circle.clone()) {
            circles.push(circle);
        }
    }
    circles
}

fn reachable_files<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&str> = arrows.get(from).into_iter().flatten().copied().collect();
    while let Some(file) = waiting.pop() {
        if reached.insert(file) {
            waiting.extend(arrows.get(file).into_iter().flatten());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::super::problem::file;
    use super::*;

    fn arrows_of(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<TextFile> =
            files.iter().map(|(path, text)| file(&format!("crates/a/src/{path}"), text)).collect();
        let modules = modules_of("crates/a", &files);
        let name = |path: &str| path.trim_start_matches("crates/a/src/").to_owned();
        let all = file_arrows(&modules);
        all.iter().flat_map(|(from, to)| to.iter().map(move |to| format!("{} > {}", name(from), name(to)))).collect()
    }

    #[test]
    fn a_path_is_an_arrow_however_it_is_written() {
        let lib = ("lib.rs", "mod b; mod c; mod d;");
        for text in ["use crate::c::Item;", "use super::c::{self, Item};", "fn f() { crate::c::go(); }"] {
            assert_eq!(arrows_of(&[lib, ("b.rs", text), ("c.rs", ""), ("d.rs", "")]), ["b.rs > c.rs"], "{text}");
        }
    }

    #[test]
    fn a_reexport_leads_to_the_file_that_declares_the_name() {
        let lib = ("lib.rs", "mod b; mod c; pub use c::Item; pub use c::deep::*;");
        let c = ("c/mod.rs", "mod deep; pub use deep::Other as Item;");
        let files = [lib, c, ("b.rs", "use crate::Item;"), ("c/deep.rs", "pub struct Other;")];
        assert_eq!(arrows_of(&files), ["b.rs > c/deep.rs"]);
    }

    #[test]
    fn tests_and_other_crates_make_no_arrow() {
        let b = "use serde::Serialize; #[cfg(test)] mod tests { use crate::c::Item; } #[cfg(test)] use crate::c::Item;";
        assert!(arrows_of(&[("lib.rs", "mod b; mod c;"), ("b.rs", b), ("c.rs", "")]).is_empty());
    }

    /// A circle of so many files.
    fn circle(size: usize) -> Vec<TextFile> {
        let text = |nth: usize| format!("use crate::m{}::Item;", (nth + 1) % size);
        (0..size).map(|nth| file(&format!("crates/a/src/m{nth}.rs"), &text(nth))).collect()
    }

    #[test]
    fn a_circle_of_eight_files_may_be_and_one_of_nine_may_not() {
        assert!(check_circles(&circle(8)).is_empty());
        let found = check_circles(&circle(9));
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().contains("9 files know each other in a circle"), "{}", found[0]);
    }
}
