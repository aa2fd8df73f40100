//! Which engine or workload a name in a plan means: `mariadb`, `mariadb:innodb`, `mariadb@DIR` or a URL.
//!
//! In: what was written, and the entries of the catalogue. Out: the entry, or one line with the names that are understood.
//! Limits: a URL is known by its scheme and not looked into; the engine does that.

use crate::document::Written;
use crate::error::{Place, PlanError, hint, listed, nearest, shown};
use crate::value::{self, one_of};
use model::Entry;
use std::path::PathBuf;

/// The parameter of engines that are external servers.
pub(crate) const URL: &str = "url";

/// Whether the engine is named by a URL.
pub(crate) fn is_url(named: &Written<'_>) -> bool {
    named.text.contains("://")
}

/// `mariadb@/opt/mariadb` as the name of an engine and the folder of its programs. A URL, in which a user may be named, has no folder.
pub(crate) fn split_folder(text: &str) -> (&str, Option<&str>) {
    match text.split_once('@') {
        Some((name, folder)) if !name.contains('/') => (name, Some(folder)),
        _ => (text, None),
    }
}

/// The folder of the programs of the engine that `named` names, if it does.
pub(crate) fn folder_in(named: &Written<'_>) -> Result<Option<PathBuf>, PlanError> {
    let (name, folder) = split_folder(&named.text);
    let Some(folder) = folder else { return Ok(None) };
    if folder.is_empty() {
        let name = shown(name);
        let text = format_args!("`{name}@` names no folder; write `{name}@DIR`, or `{name}` for the installed server");
        return Err(named.place.error(text));
    }
    let written = Written { text: folder.to_owned(), ..named.clone() };
    value::parse_path(&written).map(|path| Some(PathBuf::from(path)))
}

/// The engine of that name, or the one that takes such a URL. A URL is not shown: a password may be in it.
pub(crate) fn find_engine(named: &Written<'_>, entries: &[Entry]) -> Result<Entry, PlanError> {
    if let (name, Some(_)) = split_folder(&named.text) {
        return find_entry(&Written { text: name.to_owned(), ..named.clone() }, entries);
    }
    let Some((scheme, _)) = named.text.split_once("://") else { return find_entry(named, entries) };
    let mut of_servers = entries.iter().filter(|entry| declares_param(entry, URL));
    let found = of_servers.find(|entry| entry.name == scheme || (scheme.len() > 4 && entry.name.starts_with(scheme)));
    found.copied().ok_or_else(|| no_engine_for(scheme, named.place, entries))
}

fn no_engine_for(scheme: &str, place: Place<'_>, entries: &[Entry]) -> PlanError {
    let is_word = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphabetic());
    let what = if is_word { format!("`{}://`", shown(scheme)) } else { "this URL".to_owned() };
    let schemes = schemes_of(entries);
    let meant = if is_word { nearest(scheme, schemes.iter().map(|known| known.trim_end_matches("://"))) } else { None };
    let meant = meant.map(|meant| format!("; did you mean `{meant}://`?")).unwrap_or_default();
    let schemes: Vec<String> = schemes.iter().map(|scheme| format!("`{scheme}`")).collect();
    place.error(format_args!("no engine for {what}; use {}{meant}", schemes.join(" or ")))
}

/// The workload of that name; `None` if there is none.
pub(crate) fn find_workload(named: &Written<'_>, workloads: &[Entry]) -> Option<Entry> {
    entry_named(&named.text, workloads).copied()
}

/// The entry of that name. A server alone, `mariadb`, is the first of its engines, `mariadb:innodb`.
pub(crate) fn find_entry(named: &Written<'_>, entries: &[Entry]) -> Result<Entry, PlanError> {
    entry_named(&named.text, entries).copied().ok_or_else(|| {
        let names = names_of(entries);
        let names = || names.iter().copied();
        named.refused(format_args!("{}{}{}", one_of(names()), or_a_url(entries), hint(&named.text, names())))
    })
}

/// The engine that `name` means: of `mariadb` the first that this server has. A private server comes before one by URL of the same name, which only
/// `url` can lead to.
pub fn entry_named<'e>(name: &str, entries: &'e [Entry]) -> Option<&'e Entry> {
    let has_name = |entry: &&Entry| entry.name == name;
    let private = entries.iter().find(|entry| has_name(entry) && !declares_param(entry, URL));
    private
        .or_else(|| entries.iter().find(|entry| server_of(entry) == Some(name)))
        .or_else(|| entries.iter().find(has_name))
}

/// The full name of the engine called `text`, and the folder of its programs; `None` for a URL and what is no engine.
pub(crate) fn engine_and_folder<'t>(text: &'t str, entries: &[Entry]) -> Option<(&'static str, Option<&'t str>)> {
    let (name, folder) = split_folder(text);
    entry_named(name, entries).map(|entry| (entry.name, folder))
}

/// ``, or a URL (`mysql://...`, `postgres://...`)``, if some of `entries` take one.
fn or_a_url(entries: &[Entry]) -> String {
    let schemes: Vec<String> = schemes_of(entries).iter().map(|scheme| format!("{scheme}...")).collect();
    if schemes.is_empty() {
        String::new()
    } else {
        format!(", or a URL ({})", listed(schemes.iter().map(String::as_str)))
    }
}

/// How the URLs of external servers begin, as guides and help write them.
fn schemes_of(entries: &[Entry]) -> Vec<String> {
    const SHORT: [(&str, &str); 1] = [("postgresql", "postgres")];
    let short = |name| SHORT.iter().find(|(long, _)| *long == name).map_or(name, |(_, short)| *short);
    let takes_url = entries.iter().filter(|entry| declares_param(entry, URL));
    takes_url.map(|entry| format!("{}://", short(entry.name))).collect()
}

/// `mariadb` of `mariadb:innodb`.
fn server_of(entry: &Entry) -> Option<&'static str> {
    entry.name.split_once(':').map(|(server, _)| server)
}

/// All names that are understood: a server alone comes before the first of its engines. Engines that need a URL are left out.
fn names_of(entries: &[Entry]) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for entry in entries.iter().filter(|entry| !declares_param(entry, URL)) {
        let server = server_of(entry).filter(|server| !names.contains(server));
        names.extend(server.into_iter().chain([entry.name]));
    }
    names
}

/// What may be given as the engine, for help: the names of `engines`, and how URLs begin.
pub fn offered_engines(engines: &[Entry]) -> String {
    let names = names_of(engines).join(", ");
    let schemes: Vec<String> = schemes_of(engines).iter().map(|scheme| format!("{scheme}...")).collect();
    if schemes.is_empty() { names } else { format!("{names}, or a URL ({})", schemes.join(", ")) }
}

/// The first of the engines with the fewest families that can run `workload`: the one made for it, not one that performs
/// everything.
pub fn default_engine(workload: &Entry, engines: &[Entry]) -> Option<Entry> {
    // One that needs a URL is none to begin with.
    let able = engines.iter().filter(|engine| share_family(engine, workload) && !declares_param(engine, URL));
    able.min_by_key(|engine| engine.families.len()).copied()
}

/// Whether `engine` performs operations of a family that `workload` comes in.
pub(crate) fn share_family(engine: &Entry, workload: &Entry) -> bool {
    engine.families.iter().any(|family| workload.families.contains(family))
}

/// Why `engine` is not one of those that run `workload`.
pub(crate) fn cannot_run(engine: &Entry, workload: &Entry, engines: &[Entry]) -> String {
    let able: Vec<Entry> = engines.iter().filter(|other| share_family(other, workload)).copied().collect();
    let names = listed(able.iter().filter(|other| !declares_param(other, URL)).map(|other| other.name));
    format!("engine `{}` cannot run workload `{}`; use one of {names}{}", engine.name, workload.name, or_a_url(&able))
}

/// Whether `key` is a parameter of `entry`.
pub(crate) fn declares_param(entry: &Entry, key: &str) -> bool {
    entry.params.iter().any(|def| def.takes(key))
}
