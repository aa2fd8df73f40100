//! Statements for the background in a plan file: `[[background]]` tables.
//!
//! In: the tables, with their places. Out: one setting whose text is the list of [`BackgroundEntry`]s as TOML, so that it lies in the
//! layers of a plan like any other; [`typed_entries`] takes it up again for a workload. Limits: those of statements of the user's own,
//! whose grammar the texts have. Only a workload with rows of its own kind has values for `:id`, `:k` and `{table}`, and none gives a
//! background entry ids of new rows: those are for the measured clients.

use crate::common::{CLIENTS_MAX, RATE_MAX};
use crate::document::{Written, WrittenSetting};
use crate::error::{PlanError, hint, listed, shown};
use crate::statements::{self, STATEMENTS_MAX, WrittenOp, single};
use crate::value;
use model::statement::{CustomOp, CustomStatement, Draw};
use model::{BACKGROUND, BackgroundEntry, EntryPace, Nanos};

/// A table of more is not read.
const ENTRIES_MAX: usize = 16;
const THINK_MAX: Nanos = Nanos::from_secs(3_600);
const KEYS: [&str; 5] = ["name", "sql", "clients", "rate", "think"];

/// The text between [`setting_of_tables`] and [`typed_entries`].
#[derive(serde::Serialize, serde::Deserialize)]
struct List {
    entries: Vec<BackgroundEntry>,
}

/// The setting of all `[[background]]` tables of a plan or a sweep.
pub(crate) fn setting_of_tables<'a>(written: &[WrittenOp<'a>]) -> Result<Option<WrittenSetting<'a>>, PlanError> {
    let Some(first) = written.first() else { return Ok(None) };
    let mut entries: Vec<BackgroundEntry> = Vec::new();
    for table in written {
        let entry = read_entry(table)?;
        if entries.iter().any(|other| other.op.name == entry.op.name) {
            let text = format_args!("two `[[{BACKGROUND}]]` are named `{}`: rename one", entry.op.name);
            return Err(table.place.error(text));
        }
        entries.push(entry);
    }
    if !is_few_enough(&entries) {
        let text = format_args!(
            "too many `[[{BACKGROUND}]]`: at most {ENTRIES_MAX} with {STATEMENTS_MAX} statements and {CLIENTS_MAX} clients are taken"
        );
        return Err(first.place.error(text));
    }
    let text = toml::to_string(&List { entries }).expect("statements are plain data");
    let values = vec![Written { key: BACKGROUND.into(), text, place: first.place }];
    Ok(Some(WrittenSetting { key: BACKGROUND.into(), place: first.place, values }))
}

fn is_few_enough(entries: &[BackgroundEntry]) -> bool {
    let statements: usize = entries.iter().map(|entry| entry.statements().len()).sum();
    let clients: u64 = entries.iter().map(|entry| u64::from(entry.clients)).sum();
    entries.len() <= ENTRIES_MAX && statements <= STATEMENTS_MAX && clients <= CLIENTS_MAX
}

fn read_entry(table: &WrittenOp<'_>) -> Result<BackgroundEntry, PlanError> {
    if let Some(unknown) = table.settings.iter().find(|setting| !KEYS.contains(&setting.key.as_str())) {
        let hint = hint(&unknown.key, KEYS);
        let key = shown(&unknown.key);
        let text = format!("unknown key `{key}` of a `[[{BACKGROUND}]]`: it has {}{hint}", listed(KEYS));
        return Err(unknown.place.error(text));
    }
    let get = |key: &str| table.settings.iter().find(|setting| setting.key == key);
    let missing = |key: &str| table.place.error(format_args!("a `[[{BACKGROUND}]]` needs a `{key}`"));
    let name = statements::checked_name(single(get("name").ok_or_else(|| missing("name"))?)?)?;
    let sql = get("sql").ok_or_else(|| missing("sql"))?;
    let texts = sql.values.iter().map(statements::read_statement).collect::<Result<_, _>>()?;
    let clients = match get("clients") {
        None => 1,
        Some(clients) => value::parse_int(single(clients)?, 1, CLIENTS_MAX)? as u32,
    };
    let pace = read_pace(table, get("rate"), get("think"))?;
    Ok(BackgroundEntry { op: CustomOp { name, weight: 1, statements: texts }, clients, pace })
}

fn read_pace(
    table: &WrittenOp<'_>,
    rate: Option<&WrittenSetting<'_>>,
    think: Option<&WrittenSetting<'_>>,
) -> Result<EntryPace, PlanError> {
    match (rate, think) {
        (Some(_), Some(think)) => {
            let text = "`rate` and `think` exclude each other: a rate is an open loop, and think time a closed one; leave one out";
            Err(think.place.error(text))
        }
        (Some(rate), None) => {
            let rate = single(rate)?;
            let takes = || rate.refused(format_args!("operations per second, a number above 0, at most {RATE_MAX}"));
            value::parse_above_zero(rate, RATE_MAX).map(EntryPace::Rate).map_err(|_| takes())
        }
        (None, Some(think)) => value::parse_duration(single(think)?, Nanos(0), THINK_MAX).map(EntryPace::Think),
        (None, None) => {
            let text = format_args!(
                "a `[[{BACKGROUND}]]` needs a `rate`, operations per second, or a `think`, the pause of its clients between two operations"
            );
            Err(table.place.error(text))
        }
    }
}

/// The list that [`setting_of_tables`] has written, for a workload that has `rows` for `:id`, or none.
pub(crate) fn typed_entries(written: &Written<'_>, rows: bool) -> Result<Vec<BackgroundEntry>, PlanError> {
    if written.text.is_empty() {
        return Ok(Vec::new());
    }
    let List { entries } = toml::from_str(&written.text).map_err(|_| {
        written.place.error(format_args!("`{BACKGROUND}` is written in a plan file only, as `[[{BACKGROUND}]]` tables"))
    })?;
    let all = entries.iter().flat_map(|entry| entry.statements().iter().map(move |one| (entry, one)));
    for (entry, statement) in all {
        if let Some(unfit) = unfit_placeholder(statement, rows) {
            return Err(written.place.error(format_args!("`{}`: {unfit}", entry.op.name)));
        }
    }
    Ok(entries)
}

/// What is wrong with the values of `statement`, if anything is.
fn unfit_placeholder(statement: &CustomStatement, rows: bool) -> Option<String> {
    if let Some(new) = statement.values.iter().find(|value| value.draw == Draw::NewId) {
        return Some(format!(
            "`{new}` cannot be used in the background: new ids are for the measured clients; use `:int(a,b)`"
        ));
    }
    if rows {
        return None;
    }
    let of_rows = statement.values.iter().find(|value| matches!(value.draw, Draw::Id | Draw::K));
    let why = "this workload has no rows that it could stand for; use `:int(a,b)`, `:text(n)`";
    match of_rows {
        Some(value) => Some(format!("unknown placeholder `{value}`: {why}")),
        None if statement.is_on_tables() => Some(format!(
            "unknown placeholder `{}`: this workload does not number its tables; write the name of one",
            model::statement::TABLE
        )),
        None => None,
    }
}

/// Whether a plan file could have spelt out `entries`, which come from a run file.
pub(crate) fn could_be_written(entries: &[BackgroundEntry], rows: bool) -> bool {
    let names: std::collections::BTreeSet<&str> = entries.iter().map(|entry| entry.op.name.as_str()).collect();
    is_few_enough(entries)
        && names.len() == entries.len()
        && entries.iter().all(|entry| entry_could_be_written(entry, rows))
}

fn entry_could_be_written(entry: &BackgroundEntry, rows: bool) -> bool {
    let paced = match entry.pace {
        EntryPace::Rate(per_s) => per_s > 0.0 && per_s <= RATE_MAX as f64,
        EntryPace::Think(think) => think <= THINK_MAX,
    };
    let texts = entry.statements();
    let fits =
        |one: &CustomStatement| statements::statement_could_be_written(one) && unfit_placeholder(one, rows).is_none();
    paced && statements::is_name(&entry.op.name) && entry.clients > 0 && !texts.is_empty() && texts.iter().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "\
workload = 'oltp'
engine = 'sqlite'
[[background]]
name = 'report'
sql = 'SELECT sum(k) FROM sbtest{table} WHERE id > :id'
rate = 0.5
[[background]]
name = 'audit'
clients = 2
think = '1s'
sql = ['SELECT 1', 'SELECT :int(1,5)']
";

    fn plan(text: &str) -> Result<Vec<model::Trial>, String> {
        let plan = crate::parse(text, "p.toml", &crate::Overrides::default(), 1.0, &crate::fixture::catalogue());
        plan.map(|plan| plan.trials).map_err(|error| error.to_string())
    }

    fn shown_of(text: &str) -> Vec<String> {
        plan(text)
            .expect("a valid plan")
            .iter()
            .map(|trial| trial.workload.params.get(BACKGROUND).to_string())
            .collect()
    }

    #[test]
    fn entries_of_a_plan_are_in_every_point_with_their_paces() {
        let trials = plan(PLAN).expect("a valid plan");
        let [report, audit] = trials[0].workload.params.background() else { panic!("{trials:?}") };
        assert_eq!((report.op.name.as_str(), report.clients, report.pace), ("report", 1, EntryPace::Rate(0.5)));
        assert_eq!((audit.clients, audit.pace), (2, EntryPace::Think(Nanos::from_secs(1))));
        assert_eq!(audit.statements()[1].text, "SELECT ?");
        assert!(!plan("workload = 'oltp'").expect("a valid plan")[0].workload.params.0.contains_key(BACKGROUND));
    }

    #[test]
    fn a_sweep_has_entries_of_its_own_and_points_without_any_state_that() {
        let own = "workload = 'oltp'\n[[sweep]]\nclients = 2\n[[sweep.background]]\nname = 'own'\nrate = 5\nsql = 'SELECT 1'\n\
                   [[sweep]]\nclients = 2\n";
        assert_eq!(shown_of(own), ["own 5/s", "none"]);
        let replaced =
            [PLAN, "[[sweep]]\n[[sweep.background]]\nname = 'own'\nthink = '0s'\nsql = 'SELECT 1'\n"].concat();
        assert_eq!(shown_of(&replaced), ["own 1 client"]);
    }

    #[test]
    fn what_is_wrong_with_an_entry_is_told_with_its_line() {
        let wrong = |from: &str, to: &str| plan(&PLAN.replacen(from, to, 1)).unwrap_err();
        assert_eq!(
            wrong("rate = 0.5", "rat = 0.5"),
            "p.toml:6: unknown key `rat` of a `[[background]]`: it has `name`, `sql`, `clients`, `rate`, `think`; did you mean `rate`?"
        );
        assert!(
            wrong("rate = 0.5", "rate = 0.5\nthink = '1s'")
                .starts_with("p.toml:7: `rate` and `think` exclude each other")
        );
        assert!(wrong("rate = 0.5\n", "").starts_with("p.toml:3: a `[[background]]` needs a `rate`"));
        assert!(
            wrong("rate = 0.5", "rate = 0").starts_with("p.toml:6: `rate` cannot be `0`; use operations per second")
        );
        assert!(wrong("clients = 2", "clients = 0").starts_with("p.toml:9: `clients` cannot be `0`"));
        assert!(
            wrong("> :id", "> :ide").contains("p.toml:5: ")
                && wrong("> :id", "> :ide").contains("unknown placeholder `:ide`")
        );
        assert!(
            wrong("> :id", "> :new_id").starts_with("p.toml:3: `report`: `:new_id` cannot be used in the background")
        );
        assert_eq!(wrong("'audit'", "'report'"), "p.toml:7: two `[[background]]` are named `report`: rename one");
        assert!(wrong("name = 'audit'\n", "").starts_with("p.toml:7: a `[[background]]` needs a `name`"));
        let scalar = plan("workload = 'oltp'\nbackground = 'SELECT 1'").unwrap_err();
        assert_eq!(scalar, "p.toml:2: `background` is not a list of tables: begin each entry with `[[background]]`");
    }

    #[test]
    fn a_workload_without_numbered_rows_has_no_values_for_them() {
        let of = |sql: &str| {
            let text =
                format!("workload = 'insert'\nengine = 'sqlite'\n[[background]]\nname = 'x'\nrate = 1\nsql = '{sql}'");
            plan(&text).map(drop)
        };
        assert_eq!(of("SELECT :int(1,9), :text(3)"), Ok(()));
        assert!(of("SELECT :id").unwrap_err().contains("unknown placeholder `:id`: this workload has no rows"));
        assert!(of("SELECT 1 FROM sbtest{table}").unwrap_err().contains("does not number its tables"));
    }

    #[test]
    fn an_engine_without_sql_and_a_workload_without_statements_take_none() {
        let entry = "[[background]]\nname = 'x'\nrate = 1\nsql = 'SELECT 1'\n";
        let refused = |head: &str| plan(&[head, entry].concat()).unwrap_err();
        let fjall = refused("workload = 'insert'\nengine = ['sqlite', 'fjall']\n");
        assert_eq!(
            fjall,
            "p.toml:3: a `[[background]]` needs an SQL engine, and `fjall` is none; leave it out, or measure `fjall` in a sweep of its own"
        );
        assert!(
            refused("workload = 'file'\n").starts_with("p.toml:2: `background` "),
            "{}",
            refused("workload = 'file'\n")
        );
    }
}
