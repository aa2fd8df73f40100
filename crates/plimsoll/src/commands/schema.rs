//! `plimsoll schema URL`: a plan with tables like those of an existing database.

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use engine::found_schema::{FoundTables, SchemaSource, find_tables, with_keys};
use model::own_table::OwnTable;
use std::fmt::Write as _;
use std::path::Path;

/// Rows of each table that are looked at.
const SAMPLE_ROWS: &str = "20000";
/// Statements that are written to begin with.
const STATEMENTS: usize = 8;

pub fn clap() -> Command {
    let place = Arg::new("database").value_name("URL").required(true);
    let password =
        Arg::new("schema-password").long("password-file").value_name("FILE").default_value("").hide_default_value(true);
    let schema = Arg::new("schema-name").long("schema").value_name("NAME").default_value("public");
    let rows = Arg::new("sample-rows").long("sample-rows").value_name("N").default_value(SAMPLE_ROWS);
    let hash = Arg::new("hash-names").long("hash-names").action(ArgAction::SetTrue);
    let out = Arg::new("schema-out").long("out").short('o').value_name("FILE");
    Command::new("schema")
        .arg(place.help("mysql://user@host/database, postgres://user@host/database, or a file of SQLite"))
        .arg(password.help(
            "File that contains only the password, or `ask`; default: the environment variable PLIMSOLL_PASSWORD",
        ))
        .arg(schema.help("Schema of PostgreSQL"))
        .arg(rows.value_parser(value_parser!(u32).range(0..=40_000)).help(
            "Number of rows to read from each table of MariaDB, MySQL and SQLite, whose catalogues have too few statistics; 0 = none",
        ))
        .arg(hash.help("Replace names of tables and columns by hashes, and keep no bounds of values"))
        .arg(out.help("File of the plan [default: print it]"))
        .about("Write a plan with tables like those of an existing database: sizes, types, indexes, skew, and no rows")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let text_of = |name: &str| matches.get_one::<String>(name).cloned().unwrap_or_default();
    let source = SchemaSource {
        place: text_of("database"),
        password_file: text_of("schema-password"),
        schema: text_of("schema-name"),
        sample_rows: *matches.get_one("sample-rows").expect("it has a default"),
        hides_names: matches.get_flag("hash-names"),
    };
    let out = matches.get_one::<String>("schema-out").map(Path::new);
    out.map_or(Ok(()), host::safety::check_links)?;
    let found = find_tables(&source)?;
    let text = plan_text(&found, engine_for(&source.place));
    // A plan that plimsoll itself refuses is of no use.
    plan::parse(&text, "the plan", &plan::Overrides::default(), 1.0, &context.catalogue)?;
    match out {
        None => output::print(&text),
        Some(path) => write_new(path, &text, &found)?,
    }
    Ok(Exit::Done)
}

fn write_new(path: &Path, text: &str, found: &FoundTables) -> Result<(), Fault> {
    let cannot = |error: std::io::Error| {
        Fault::usage(format!("cannot write `{}`: {}", output::shown(path), host::error::system_words(&error)))
    };
    let mut file = std::fs::File::create_new(path).map_err(cannot)?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(cannot)?;
    let rows: u64 = found.tables.iter().map(|table| table.rows).sum();
    let (tables, notes) = (found.tables.len(), found.notes.len());
    output::say(format_args!("{}: {tables} tables, {rows} rows, {notes} notes", output::shown(path)));
    Ok(())
}

/// The private engine that is most like the database.
fn engine_for(place: &str) -> &'static str {
    match place.split_once("://") {
        None => "sqlite",
        Some((scheme, _)) if scheme.starts_with("postgres") => "postgres",
        Some(_) => "mariadb:innodb",
    }
}

fn plan_text(found: &FoundTables, engine: &str) -> String {
    let mut text = String::from(
        "# Tables like those of a database, as its catalogue and statistics describe them. `--scale 0.1` makes a tenth of the rows.\n\
         # Replace the statements by your own.\n",
    );
    for note in &found.notes {
        let _ = writeln!(text, "# {}", note.escape_debug());
    }
    let _ = write!(
        text,
        "name = \"schema\"\nworkload = \"own\"\nengine = \"{engine}\"\nclients = [1, 4, 16]\ntime = \"30s\"\n"
    );
    text += &plan::tables_text(&found.tables, |_| Vec::new());
    let keyed = with_keys(&found.tables, STATEMENTS);
    for (nth, table) in (1..).zip(&keyed) {
        text += &statement_text(nth, table, engine);
    }
    if keyed.is_empty() {
        text += "\n[[statement]]\nname = \"nothing\"\nsql = \"SELECT 1\"\n";
    }
    text
}

/// A look at a row by its key.
fn statement_text(nth: usize, table: &OwnTable, engine: &str) -> String {
    let quote = |name: &str| if engine.starts_with("mariadb") { format!("`{name}`") } else { format!("\"{name}\"") };
    let columns = table.primary_key.iter().map(|name| format!("{} = :{}.{name}", quote(name), table.name));
    let condition = columns.collect::<Vec<_>>().join(" AND ");
    let name = quote(&table.name);
    format!("\n[[statement]]\nname = \"by_key_{nth}\"\nsql = '''SELECT * FROM {name} WHERE {condition}'''\n")
}
