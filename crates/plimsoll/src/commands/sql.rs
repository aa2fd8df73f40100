//! `plimsoll sql PLAN` and `plimsoll sql --statement NAME=SQL ...`: variants of one statement.
//!
//! In: a plan of the workload `sql`, or statements and the flags of the workload. Out: what `plimsoll run` does with such a plan. Limits:
//! a variant of several steps needs a plan file; on the command line each is one statement.

use super::{measure, plans, workload};
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::{flags, output};
use ::workload::sql::SQL;
use clap::{Arg, ArgAction, ArgMatches, Command};
use plan::Overrides;
use std::fmt::Write as _;

const STATEMENT: &str = "sql-statement";
const DATA: &str = "sql-data";
const PLAN: &str = "plan";

pub fn clap() -> Command {
    let plan = Arg::new(PLAN).value_name("PLAN").conflicts_with_all([STATEMENT, DATA]);
    let statement = Arg::new(STATEMENT).long("statement").value_name("NAME=SQL").action(ArgAction::Append);
    let data = Arg::new(DATA).long("data").value_name("SQL").action(ArgAction::Append);
    workload::clap(&SQL)
        // Here `--data` are statements.
        .mut_arg("data_set", |flag| flag.visible_alias(None::<&'static str>))
        .arg(plan.help("Plan file, or name of a built-in plan, of the workload `sql`"))
        .arg(statement.help("A variant: its name, and its statement or @FILE; give one for each variant"))
        .arg(data.help("Statements that make and fill the tables, or @FILE"))
        .after_help(
            "A plan file has `[[variant]]` blocks with `setup`, `statement` and `cleanup`, and `[[data]]` blocks. All variants must return \
             the same rows: if one does not, the run ends with exit code 4 and shows the first row that differs.\n\n\
             Example: plimsoll sql --engine sqlite --repeat 5 --data @tables.sql --statement join=@join.sql --statement in=@in.sql",
        )
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let (overrides, scale) = (flags::overrides(matches)?, flags::scale(matches)?);
    let plan = match matches.get_one::<String>(PLAN) {
        Some(name) => {
            if matches.get_flag("print-plan") {
                output::print(&plans::text(name)?);
                return Ok(Exit::Done);
            }
            let plan = plans::load(name, &overrides, scale, context)?;
            if let Some(other) = plan.trials.iter().find(|trial| trial.workload.name != SQL.entry.name) {
                let (name, other) = (output::shown(name.as_ref()), &other.workload.name);
                return Err(Fault::usage(format!(
                    "the plan `{name}` is of workload `{other}`, not `sql`; use `plimsoll run {name}`"
                )));
            }
            plan
        }
        None => {
            let text = plan_text(matches, &overrides, context)?;
            if matches.get_flag("print-plan") {
                output::print(&text);
                return Ok(Exit::Done);
            }
            let parsed = plan::parse(&text, "sql", &Overrides::default(), scale, &context.catalogue);
            parsed.map_err(|error| Fault::usage(without_lines(&error.to_string())))?
        }
    };
    measure::run_plan(&plan, &flags::options(matches), context)
}

/// The flags as a plan file.
fn plan_text(matches: &ArgMatches, overrides: &Overrides, context: &Context) -> Result<String, Fault> {
    let Some(statements) = matches.get_many::<String>(STATEMENT) else {
        return Err(Fault::usage(
            "there are no variants: name a PLAN with `[[variant]]` blocks, or give each variant as `--statement NAME=SQL`",
        ));
    };
    // A flag is checked before the text is made of it, so that the error names the flag.
    let mut text = plan::to_toml(SQL.entry.name, overrides, 1.0, &context.catalogue);
    if let Some(data) = matches.get_many::<String>(DATA) {
        let _ = writeln!(text, "\n[[sweep.data]]\nname = \"data\"");
        let data: Vec<String> = data.map(|sql| quoted(sql)).collect();
        let _ = writeln!(text, "statements = [{}]", data.join(", "));
    }
    for variant in statements {
        let (name, sql) = variant.split_once('=').ok_or_else(|| {
            Fault::usage(format!("--statement: `{}` is not NAME=SQL", output::shown(variant.as_str().as_ref())))
        })?;
        let (name, sql) = (quoted(name.trim()), quoted(sql.trim()));
        let _ = writeln!(text, "\n[[sweep.variant]]\nname = {name}\nstatement = {sql}");
    }
    Ok(text)
}

/// A TOML string. Two strings need no library that the binary does not have.
fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// `error` without its line: the text is not from a file.
fn without_lines(error: &str) -> String {
    let rest = error.strip_prefix("sql:").and_then(|rest| rest.split_once(": "));
    match rest {
        Some((line, what)) if line.chars().all(|c| c.is_ascii_digit()) => what.to_owned(),
        _ => error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_survive_the_quotes_of_a_plan_file() {
        assert_eq!(quoted("SELECT \"a\\b\"\n"), r#""SELECT \"a\\b\"\n""#);
        assert_eq!(without_lines("sql:12: variant `a`: unclosed quote '"), "variant `a`: unclosed quote '");
        assert_eq!(without_lines("--clients cannot be `x`"), "--clients cannot be `x`");
    }
}
