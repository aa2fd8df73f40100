//! `plimsoll explain CODE`: what a finding means.

use crate::cli::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use clap::{Arg, ArgMatches, Command};

/// The command.
pub fn clap() -> Command {
    let code = Arg::new("code").value_name("CODE").help("Code of a finding [default: list all codes]");
    Command::new("explain").arg(code).about("Explain a finding by its code")
}

/// Does it.
pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let Some(code) = matches.get_one::<String>("code") else { return list(context) };
    let Some(known) = analysis::explain(code) else {
        let codes: Vec<_> = analysis::explanations().map(|known| known.code).collect();
        let meant = plan::text::hint(code, codes.iter().copied());
        let known = if meant.is_empty() { format!("; the codes are {}", codes.join(", ")) } else { meant };
        return Err(Fault::usage(format!("there is no finding `{}`{known}", code.escape_debug())));
    };
    match context.json {
        true => output::json::print(&json(&known)),
        false => {
            output::print(&format!("{}: {}\n\n{}\n", known.code, known.help, wrapped(known.explain, context.width())))
        }
    }
    Ok(Exit::Done)
}

fn list(context: &Context) -> Result<Exit, Fault> {
    let all: Vec<_> = analysis::explanations().collect();
    match context.json {
        true => output::json::print(
            &serde_json::json!({"schema": "plimsoll.findings/1", "findings": all.iter().map(json).collect::<Vec<_>>()}),
        ),
        false => {
            output::print(&all.iter().map(|known| format!("{:20} {}\n", known.code, known.help)).collect::<String>())
        }
    }
    Ok(Exit::Done)
}

fn json(known: &analysis::Explanation) -> serde_json::Value {
    serde_json::json!({"code": known.code, "help": known.help, "explain": known.explain})
}

/// `text` in lines of at most `width` characters.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a first line");
        match line.chars().count() + 1 + word.chars().count() > width {
            _ if line.is_empty() => line.push_str(word),
            true => lines.push(word.to_owned()),
            false => line.extend([" ", word]),
        }
    }
    lines.join("\n")
}
