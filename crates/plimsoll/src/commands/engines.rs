//! `plimsoll engines`: what can be measured here, which programs it would use, and the parameters of one engine.

use super::reference;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use clap::{Arg, ArgMatches, Command};
use engine::server::program::FoundPrograms;
use engine::{ENGINES, EngineDef, EngineLocation};
use model::{Family, ParamDef};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const NAME_WIDTH: usize = 15;
const INDENT: usize = NAME_WIDTH + 1;

pub fn clap() -> Command {
    let name = Arg::new("name")
        .value_name("NAME")
        .help("Engine to describe with its parameters; `NAME@DIR` looks into a directory");
    Command::new("engines")
        .arg(name)
        .about("List the engines with their versions, programs and workloads, or the parameters of one engine")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    match matches.get_one::<String>("name") {
        Some(name) => describe(&Known::named(name, context)?, context),
        None => list(context),
    }
    Ok(Exit::Done)
}

fn list(context: &Context) {
    let all: Vec<Known> = ENGINES.iter().map(|def| Known::find(def, None)).collect();
    if context.json {
        print_json(all.iter().map(Known::json).collect())
    } else {
        let texts = all.iter().map(|known| known.text(context.width()));
        output::print(&(texts.collect::<String>() + "\n`plimsoll engines NAME` lists the parameters of an engine.\n"));
    }
}

fn describe(known: &Known, context: &Context) {
    if context.json {
        let mut entry = known.json();
        entry["parameters"] = known.def.entry.params.iter().map(param_json).collect();
        print_json(vec![entry]);
    } else {
        let params = known.def.entry.params.iter().map(|def| param_text(def, context.width()));
        output::print(&format!("{}\nparameters\n{}", known.text(context.width()), params.collect::<String>()));
    }
}

fn print_json(engines: Vec<Value>) {
    output::json::print(&json!({"schema": "plimsoll.engines/1", "engines": engines}));
}

/// The workloads that `def` can perform.
pub fn workloads_of(def: &EngineDef) -> Vec<&'static str> {
    let performs =
        |w: &&&workload::WorkloadDef| w.entry.families.iter().any(|family| def.entry.families.contains(family));
    workload::WORKLOADS.iter().filter(performs).map(|w| w.entry.name).collect()
}

/// An engine, and what was found of it on this machine.
struct Known {
    def: &'static EngineDef,
    /// Or why it cannot be used, and what to install.
    version: Result<String, String>,
    /// Those of a server of its own.
    programs: Option<FoundPrograms>,
}

impl Known {
    /// The engine called `text`, which may name a folder.
    fn named(text: &str, context: &Context) -> Result<Known, Fault> {
        let (entry, folder) = plan::engine("NAME", text, &context.catalogue)?;
        let def = engine::find(entry.name).expect("the catalogue has the engines of this binary");
        if let (Some(folder), None) = (&folder, def.programs) {
            let text =
                format!("engine `{}`: it has no directory of programs: leave out `@{}`", entry.name, folder.display());
            return Err(Fault::usage(text));
        }
        Ok(Known::find(def, folder))
    }

    fn find(def: &'static EngineDef, folder: Option<PathBuf>) -> Known {
        match def.programs.map(|programs| engine::requirements::find_programs(programs, folder.as_deref())) {
            None => Known { def, version: (def.version)(), programs: None },
            Some(Ok(found)) => Known { def, version: Ok(found.version.clone()), programs: Some(found) },
            Some(Err(missing)) => Known { def, version: Err(missing), programs: None },
        }
    }

    fn text(&self, width: usize) -> String {
        let width = width.saturating_sub(INDENT);
        let mut lines: Vec<String> = report::terminal::wrap(self.def.entry.help, width);
        lines.push(format!("workloads: {}", workloads_of(self.def).join(", ")));
        if let Some(found) = &self.programs {
            // The others are near it, or it would not be available.
            lines.push(format!("server: {}", shown(found.server())));
        }
        if let Err(missing) = &self.version {
            lines.extend(report::terminal::wrap(&report::terminal_text(missing), width));
        }
        let mut text = format!("{:NAME_WIDTH$} {}\n", self.written_name(), self.shown_version());
        for line in &lines {
            let _ = writeln!(text, "{:INDENT$}{line}", "");
        }
        text
    }

    /// As `--engine` takes it: a server that runs already is named by its URL.
    fn written_name(&self) -> String {
        match self.def.runs {
            EngineLocation::Elsewhere => format!("{}://", self.def.entry.name),
            _ => self.def.entry.name.to_owned(),
        }
    }

    /// The version of files is that of the kernel; what only pretends to work has none.
    fn shown_version(&self) -> String {
        match &self.version {
            _ if self.def.scripted => "-".to_owned(),
            Err(_) if self.def.runs == EngineLocation::Elsewhere => "by URL".to_owned(),
            Err(_) => "not available".to_owned(),
            Ok(kernel) if self.def.entry.families == [Family::Io] => format!("Linux {kernel}"),
            Ok(version) => version.clone(),
        }
    }

    fn json(&self) -> Value {
        let programs = self.programs.as_ref().map(|found| {
            let files = found.files().map(|(name, path)| (name.to_owned(), json!(path.display().to_string())));
            files.collect::<serde_json::Map<_, _>>()
        });
        json!({
            "engine": self.def.entry.name, "help": self.def.entry.help, "version": self.version.as_ref().ok(),
            "missing": self.version.as_ref().err(), "programs": programs, "workloads": workloads_of(self.def),
        })
    }
}

fn shown(path: &Path) -> String {
    report::terminal_text(&path.display().to_string())
}

/// A parameter on a line of its own, and below it what it takes and means.
fn param_text(def: &ParamDef, width: usize) -> String {
    let default = reference::default(def);
    let about = format!("{}; {}; default {default}", def.help, reference::values(def));
    let mut text = format!("  {}\n", def.name);
    for line in report::terminal::wrap(&about, width.saturating_sub(INDENT)) {
        let _ = writeln!(text, "{:INDENT$}{line}", "");
    }
    text
}

fn param_json(def: &ParamDef) -> Value {
    json!({"parameter": def.name, "values": reference::values(def), "default": def.default, "help": def.help})
}
