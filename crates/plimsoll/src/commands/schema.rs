//! `plimsoll schema URL`: a plan with tables like those of an existing database.

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use engine::found_schema::{
    CountedStatement, FoundTables, SchemaSource, find_statements, find_tables, with_keys, with_values,
};
use model::own_table::OwnTable;
use report::wording::quantity::{percent, plural};
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
    let statements =
        Arg::new("counted-statements").long("statements").action(ArgAction::SetTrue).conflicts_with("hash-names");
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
        .arg(statements.help(
            "Take the statements that the server has counted (performance_schema, pg_stat_statements), with their shares, and values of the made-up rows",
        ))
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
    let counted = if matches.get_flag("counted-statements") { find_statements(&source)? } else { Vec::new() };
    let mut found = find_tables(&source)?;
    let engine = engine_for(&source.place);
    let taken = take_statements(&counted, &mut found, engine, context);
    if !counted.is_empty() && taken.statements.is_empty() {
        return Err(Fault::usage(format!("no counted statement can be taken: {}", found.notes.join("; "))));
    }
    let text = plan_text(&found, &taken.statements, engine);
    // A plan that plimsoll itself refuses is of no use.
    plan::parse(&text, "the plan", &plan::Overrides::default(), 1.0, &context.catalogue)?;
    match out {
        None => output::print(&text),
        Some(path) => write_new(path, &text, &written_words(&found, &taken))?,
    }
    Ok(Exit::Done)
}

fn write_new(path: &Path, text: &str, written: &str) -> Result<(), Fault> {
    let cannot = |error: std::io::Error| {
        Fault::usage(format!("cannot write `{}`: {}", output::shown(path), host::error::system_words(&error)))
    };
    let mut file = std::fs::File::create_new(path).map_err(cannot)?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(cannot)?;
    output::say(format_args!("{}: {written}", output::shown(path)));
    Ok(())
}

/// `1 table, 200,000 rows; 8.3 % of the counted calls are left out; 3 notes at its beginning say what is different`
fn written_words(found: &FoundTables, taken: &TakenStatements) -> String {
    let tables = plural(found.tables.len() as u64, "table");
    let rows = plural(found.tables.iter().map(|table| table.rows).sum(), "row");
    let left = match taken.left_calls {
        0 => String::new(),
        left => format!("; {} of the counted calls are left out", percent(left as f64 / taken.calls as f64)),
    };
    match found.notes.len() as u64 {
        0 => format!("{tables}, {rows}{left}"),
        1 => format!("{tables}, {rows}{left}; a note at its beginning says what is different"),
        notes => format!("{tables}, {rows}{left}; {} at its beginning say what is different", plural(notes, "note")),
    }
}

/// The private engine that is most like the database.
fn engine_for(place: &str) -> &'static str {
    match place.split_once("://") {
        None => "sqlite",
        Some((scheme, _)) if scheme.starts_with("postgres") => "postgres",
        Some(_) => "mariadb:innodb",
    }
}

/// A counted statement as the plan has it.
struct TakenStatement {
    sql: String,
    weight: u64,
}

/// The statements that a plan takes.
#[derive(Default)]
struct TakenStatements {
    statements: Vec<TakenStatement>,
    /// How many calls the server has counted, and how many of these are of statements that are left out.
    calls: u64,
    left_calls: u64,
}

/// The statements of `counted` that a plan takes; notes say which are left out, and why.
fn take_statements(
    counted: &[CountedStatement],
    found: &mut FoundTables,
    engine: &str,
    context: &Context,
) -> TakenStatements {
    const WEIGHT_MAX: u64 = 10_000;
    let most = counted.iter().map(|one| one.calls).max().unwrap_or(1);
    let (mut taken, mut left, mut left_calls) = (Vec::new(), Vec::new(), 0);
    for one in counted {
        let weight = (u128::from(one.calls) * u128::from(WEIGHT_MAX) / u128::from(most)).max(1) as u64;
        let checked = with_values(&one.text, one.dialect, found).and_then(|sql| {
            let statement = TakenStatement { sql, weight };
            let alone = plan_text(found, std::slice::from_ref(&statement), engine);
            let parsed = plan::parse(&alone, "the plan", &plan::Overrides::default(), 1.0, &context.catalogue);
            parsed.map(|_| statement).map_err(|error| error.to_string())
        });
        match checked {
            Ok(statement) => taken.push(statement),
            Err(why) => {
                left_calls += one.calls;
                let text: String =
                    one.text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(120).collect();
                left.push(format!("left out, {} calls: {text}: {why}", one.calls));
            }
        }
    }
    let all: u64 = counted.iter().map(|one| one.calls).sum();
    if !counted.is_empty() {
        found.notes.push(format!(
            "statements: {} of {} that the server has counted; {left_calls} of {all} calls are left out",
            taken.len(),
            counted.len()
        ));
        found.notes.append(&mut left);
    }
    TakenStatements { statements: taken, calls: all, left_calls }
}

fn plan_text(found: &FoundTables, taken: &[TakenStatement], engine: &str) -> String {
    let mut text = String::from(
        "# Tables like those of a database, as its catalogue and statistics describe them. `--scale 0.1` makes a tenth of the rows.\n\
         # Replace the statements by your own.\n",
    );
    for note in &found.notes {
        let _ = writeln!(text, "# {}", comment_text(note));
    }
    let _ = write!(
        text,
        "name = \"schema\"\nworkload = \"own\"\nengine = \"{engine}\"\nclients = [1, 4, 16]\ntime = \"30s\"\n"
    );
    text += &plan::tables_text(&found.tables, |_| Vec::new());
    for (nth, TakenStatement { sql, weight }) in (1..).zip(taken) {
        let _ = write!(text, "\n[[statement]]\nname = \"counted_{nth}\"\nweight = {weight}\nsql = \'\'\'{sql}\'\'\'\n");
    }
    if !taken.is_empty() {
        return text;
    }
    let keyed = with_keys(&found.tables, STATEMENTS);
    for (nth, table) in (1..).zip(&keyed) {
        text += &statement_text(nth, table, engine);
    }
    if keyed.is_empty() {
        text += "\n[[statement]]\nname = \"nothing\"\nsql = \"SELECT 1\"\n";
    }
    text
}

/// `note` as a comment of one line: a name in it may have any signs, and is read by people.
fn comment_text(note: &str) -> String {
    note.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'")
}

/// A look at a row by its key.
fn statement_text(nth: usize, table: &OwnTable, engine: &str) -> String {
    let quote = |name: &str| if engine.starts_with("mariadb") { format!("`{name}`") } else { format!("\"{name}\"") };
    let columns = table.primary_key.iter().map(|name| format!("{} = :{}.{name}", quote(name), table.name));
    let condition = columns.collect::<Vec<_>>().join(" AND ");
    let name = quote(&table.name);
    format!("\n[[statement]]\nname = \"by_key_{nth}\"\nsql = '''SELECT * FROM {name} WHERE {condition}'''\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_counted_in_plain_words() {
        let words_of = |rows: u64, notes: usize, taken: TakenStatements| {
            let (columns, primary_key, indexes) = (Vec::new(), Vec::new(), Vec::new());
            let name = "t".to_owned();
            let table = OwnTable { name, rows, columns, primary_key, indexes, partitions: None, keys: None };
            let notes = vec![String::new(); notes];
            written_words(&FoundTables { tables: vec![table], notes, names: Vec::new() }, &taken)
        };
        let words = |rows: u64, notes: usize| words_of(rows, notes, TakenStatements::default());
        assert_eq!(words(200_000, 0), "1 table, 200,000 rows");
        assert_eq!(words(1, 1), "1 table, 1 row; a note at its beginning says what is different");
        assert_eq!(words(0, 1_000), "1 table, 0 rows; 1,000 notes at its beginning say what is different");
        let taken = TakenStatements { calls: 120, left_calls: 10, ..TakenStatements::default() };
        let told =
            "1 table, 7 rows; 8.3 % of the counted calls are left out; 2 notes at its beginning say what is different";
        assert_eq!(words_of(7, 2, taken), told);
    }

    #[test]
    fn a_name_in_a_comment_is_kept_and_cannot_end_its_line() {
        assert_eq!(comment_text("Order's \"odd\" — 新規"), "Order's \"odd\" — 新規");
        assert_eq!(comment_text("a\nname = 1\u{7}"), "a\\nname = 1\\u{7}");
    }
}
