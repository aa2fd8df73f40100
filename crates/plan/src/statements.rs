//! Statements in a plan file: `[[statement]]` tables, and the small grammar of the values in their SQL.
//!
//! In: the tables, with their places. Out: one setting whose text is the list of [`CustomOp`]s as TOML, so that it lies in the layers
//! of a plan like any other; [`typed_ops`] takes it up again. Limits: SQL is not understood, only split into tokens: quoted text,
//! quoted names and comments stay as they are. Other mistakes are the server's to report.
//!
//! The grammar: `:table.column` (a value of a column of the user's own tables; `@2` is another row, `@new` a row that was not loaded), `:id`, `:new_id`, `:k`, `:c`, `:pad`, `:int(a,b)`, `:text(n)`; with a number behind the word (`:id2`) it is another
//! draw. `{table}` is the number of a table. `::` is PostgreSQL's cast.

use crate::document::{Written, WrittenSetting};
use crate::error::{Place, PlanError, hint, listed, shown};
use crate::variants::{self, NAME_TAKES};
use model::statement::{ColumnName, CustomOp, CustomStatement, CustomValue, Draw, TABLE};

/// The key under which the list is a setting, and the name of the parameter that takes it.
pub(crate) const KEY: &str = "statement";

/// Kinds of operation: an operation names its kind in a byte, and a chart of more is not read.
const OPS_MAX: usize = 32;
/// Each is prepared once for each table, and a call names its statement in 16 bits: a thousand tables have room for these.
pub(crate) const STATEMENTS_MAX: usize = 64;
const WEIGHT_MAX: u64 = 1_000_000;
const TEXT_MAX: i64 = 65_535;
const NTH_MAX: u32 = 99;

/// The text between [`setting_of_tables`] and [`typed_ops`].
#[derive(serde::Serialize, serde::Deserialize)]
struct List {
    ops: Vec<CustomOp>,
}

/// One `[[statement]]` as it was written.
pub(crate) struct WrittenOp<'a> {
    pub(crate) place: Place<'a>,
    pub(crate) settings: Vec<WrittenSetting<'a>>,
}

/// The setting of all `[[statement]]` tables of a plan or a sweep.
pub(crate) fn setting_of_tables<'a>(written: &[WrittenOp<'a>]) -> Result<Option<WrittenSetting<'a>>, PlanError> {
    let Some(first) = written.first() else { return Ok(None) };
    let mut ops: Vec<CustomOp> = Vec::new();
    for table in written {
        let op = read_op(table)?;
        if ops.iter().any(|other| other.name == op.name) {
            return Err(table.place.error(format_args!("two statements are named `{}`: rename one", op.name)));
        }
        ops.push(op);
    }
    let statements: usize = ops.iter().map(|op| op.statements.len()).sum();
    if ops.len() > OPS_MAX || statements > STATEMENTS_MAX {
        let text = format!(
            "{} `[[statement]]` with {statements} texts: at most {OPS_MAX} with {STATEMENTS_MAX} texts are taken",
            ops.len()
        );
        return Err(first.place.error(text));
    }
    let text = toml::to_string(&List { ops }).expect("statements are plain data");
    let values = vec![Written { key: KEY.into(), text, place: first.place }];
    Ok(Some(WrittenSetting { key: KEY.into(), place: first.place, values }))
}

/// The list that [`setting_of_tables`] has written; empty if there is none.
pub(crate) fn typed_ops(written: &Written<'_>) -> Result<Vec<CustomOp>, PlanError> {
    if written.text.is_empty() {
        return Ok(Vec::new());
    }
    let refused =
        |_| written.place.error(format_args!("`{KEY}` is written in a plan file only, as `[[{KEY}]]` tables"));
    toml::from_str(&written.text).map(|List { ops }| ops).map_err(refused)
}

fn read_op(table: &WrittenOp<'_>) -> Result<CustomOp, PlanError> {
    const KEYS: [&str; 3] = ["name", "weight", "sql"];
    if let Some(unknown) = table.settings.iter().find(|setting| !KEYS.contains(&setting.key.as_str())) {
        let hint = hint(&unknown.key, KEYS);
        let text = format!("unknown key `{}` of a statement: it has {}{hint}", shown(&unknown.key), listed(KEYS));
        return Err(unknown.place.error(text));
    }
    let get = |key: &str| table.settings.iter().find(|setting| setting.key == key);
    let missing = |key: &str| table.place.error(format_args!("a statement needs a `{key}`"));
    let name = single(get("name").ok_or_else(|| missing("name"))?)?;
    let weight = match get("weight") {
        None => 1,
        Some(weight) => crate::value::parse_int(single(weight)?, 1, WEIGHT_MAX)? as u32,
    };
    let sql = get("sql").ok_or_else(|| missing("sql"))?;
    let statements = sql.values.iter().map(read_statement).collect::<Result<_, _>>()?;
    Ok(CustomOp { name: checked_name(name)?, weight, statements })
}

/// The value of `setting`, which cannot have several.
pub(crate) fn single<'s, 'a>(setting: &'s WrittenSetting<'a>) -> Result<&'s Written<'a>, PlanError> {
    match setting.values.as_slice() {
        [value] => Ok(value),
        _ => Err(setting.place.error(format_args!("`{}` cannot be a list here; use one value", setting.key))),
    }
}

/// Whether a plan file could have spelt out `ops`, which come from a run file.
pub(crate) fn could_be_written(ops: &[CustomOp]) -> bool {
    let statements: usize = ops.iter().map(|op| op.statements.len()).sum();
    let names: std::collections::BTreeSet<&str> = ops.iter().map(|op| op.name.as_str()).collect();
    let counts = (1..=OPS_MAX).contains(&ops.len()) && statements <= STATEMENTS_MAX && names.len() == ops.len();
    counts && ops.iter().all(op_could_be_written)
}

fn op_could_be_written(op: &CustomOp) -> bool {
    let weighed = (1..=WEIGHT_MAX).contains(&u64::from(op.weight));
    weighed && is_name(&op.name) && !op.statements.is_empty() && op.statements.iter().all(statement_could_be_written)
}

pub(crate) fn statement_could_be_written(one: &CustomStatement) -> bool {
    let is_plain = !one.text.chars().any(|c| c.is_control() && !c.is_whitespace());
    is_plain
        && !one.text.is_empty()
        && one.text.matches('?').count() == one.values.len()
        && one.values.iter().all(value_could_be_written)
}

fn value_could_be_written(value: &CustomValue) -> bool {
    let in_bounds = match &value.draw {
        Draw::Int(min, max) => min <= max,
        Draw::Text(chars) => *chars > 0 && i64::from(*chars) <= TEXT_MAX,
        _ => true,
    };
    in_bounds && (1..=NTH_MAX).contains(&value.nth)
}

pub(crate) fn checked_name(written: &Written<'_>) -> Result<String, PlanError> {
    let name = written.text.as_str();
    is_name(name).then(|| name.to_owned()).ok_or_else(|| written.refused(format_args!("{NAME_TAKES}, and not `load`")))
}

pub(crate) fn is_name(name: &str) -> bool {
    variants::is_name(name) && name != "load"
}

pub(crate) fn read_statement(written: &Written<'_>) -> Result<CustomStatement, PlanError> {
    let refused = |what: String| written.place.error(format_args!("`{}`: {what}", shown(written.text.trim())));
    let text = written.text.trim().trim_end_matches(';').trim_end();
    if text.is_empty() {
        return Err(refused("an empty statement".into()));
    }
    if text.contains('?') {
        return Err(refused("`?` is not allowed; use a placeholder such as `:id`".into()));
    }
    if let Some(control) = text.chars().find(|c| c.is_control() && !c.is_whitespace()) {
        return Err(refused(format!("the character {} is not allowed", control.escape_default())));
    }
    parse_sql(text).map_err(refused)
}

/// First words of statements that begin or end a transaction.
const OF_TRANSACTION: [&str; 6] = ["BEGIN", "START", "COMMIT", "ROLLBACK", "END", "SAVEPOINT"];

/// The text with `?` in the place of each value.
fn parse_sql(text: &str) -> Result<CustomStatement, String> {
    let lexed = sql::lex(text, sql::Reading::usual(sql::Dialect::Any));
    let lexed = lexed.map_err(|_| "a quote or a comment is not closed".to_owned())?;
    if lexed.is_doubtful || lexed.executable_comments > 0 {
        let why = "servers differ in what is a comment here; write a blank behind `--`, no comment within another, and no `/*!`";
        return Err(why.to_owned());
    }
    if lexed.tokens.first().is_some_and(|first| first.is_word(text, &OF_TRANSACTION)) {
        return Err("a transaction is written as a list of its statements, without this one".to_owned());
    }
    let (mut out, mut values, mut done) = (String::with_capacity(text.len()), Vec::new(), 0);
    for token in &lexed.tokens {
        let (sign, after) = (token.text(text), &text[token.end..]);
        // Part of a placeholder.
        if token.start < done || token.kind != sql::TokenKind::Sign {
            continue;
        }
        match sign {
            ";" => return Err("`;` is not allowed; write several statements as a list".into()),
            "{" => {
                if let Some(word) = braced_word(&text[token.start..]).filter(|word| *word != TABLE) {
                    return Err(format!("unknown placeholder `{}`; use `{TABLE}`", shown(word)));
                }
            }
            ":" if after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                let (value, length) = parse_placeholder(after)?;
                values.push(value);
                out.push_str(&text[done..token.start]);
                out.push('?');
                done = token.end + length;
            }
            _ => {}
        }
    }
    // Without a comment at the end, behind which nothing could be added.
    let end = lexed.tokens.last().map_or(0, |last| last.end);
    out.push_str(text.get(done..end).unwrap_or_default());
    if lexed.tokens.is_empty() {
        Err("an empty statement".to_owned())
    } else {
        Ok(CustomStatement { text: out, values })
    }
}

/// `{tabel}` if `text` begins with a word in braces.
fn braced_word(text: &str) -> Option<&str> {
    let end = text.find('}')?;
    let is_word = text[1..end].chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word.then(|| &text[..=end])
}

const FORMS: [&str; 8] = [":id", ":new_id", ":k", ":c", ":pad", ":int(a,b)", ":text(n)", ":table.column"];

/// Why `ops`, which are on no tables of the user's own, cannot be performed: they have a value of one.
pub(crate) fn without_columns(ops: &[CustomOp]) -> Result<(), String> {
    let values =
        ops.iter().flat_map(|op| op.statements.iter().flat_map(move |one| one.values.iter().map(move |it| (op, it))));
    let is_column = |value: &CustomValue| matches!(value.draw, Draw::Column(_) | Draw::NewColumn(_));
    match values.into_iter().find(|(_, value)| is_column(value)) {
        None => Ok(()),
        Some((op, value)) => Err(format!(
            "statement `{}`: `{value}` is a column of a table of your own; use workload = `own`, and write the table as `[[table]]`",
            op.name
        )),
    }
}

/// The column that `text` begins with, `table.column`, and how long that is; `None` if there is no dot behind a name.
fn parse_column(text: &str) -> Option<Result<(CustomValue, usize), String>> {
    let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let (table, rest) = text.split_at(text.find(is_end).unwrap_or(text.len()));
    let rest = rest.strip_prefix('.')?;
    let (column, rest) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
    if column.is_empty() {
        return Some(Err(format!("`:{}.`: write a column as `:table.column`", shown(table))));
    }
    let name = ColumnName { table: table.to_owned(), column: column.to_owned() };
    let length = table.len() + 1 + column.len();
    let (is_new, behind) = match rest.strip_prefix("@new") {
        Some(behind) => (true, behind),
        None => (false, rest.strip_prefix('@').unwrap_or_default()),
    };
    let digits = &behind[..behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len())];
    let draw = if is_new { Draw::NewColumn(name) } else { Draw::Column(name) };
    let mark = if is_new { "@new".len() } else { usize::from(!digits.is_empty()) };
    Some(
        further_draw(digits, || format!("@{digits}"))
            .map(|nth| (CustomValue { draw, nth }, length + mark + digits.len())),
    )
}

/// The number of a further draw; 1 without digits.
fn further_draw(digits: &str, written: impl Fn() -> String) -> Result<u32, String> {
    if digits.is_empty() {
        return Ok(1);
    }
    let number = digits.parse().ok().filter(|nth| (2..=NTH_MAX).contains(nth));
    number.ok_or_else(|| format!("`{}`: the number of a further draw is from 2 to {NTH_MAX}", written()))
}

/// The value that `text` begins with, behind its colon, and how long that is.
fn parse_placeholder(text: &str) -> Result<(CustomValue, usize), String> {
    if let Some(column) = parse_column(text) {
        return column;
    }
    let word_ends = text.find(|c: char| !c.is_ascii_alphabetic() && c != '_').unwrap_or(text.len());
    let word = &text[..word_ends];
    let digits = text[word_ends..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - word_ends);
    let number_ends = word_ends + digits;
    let number = &text[word_ends..number_ends];
    let nth = further_draw(number, || format!(":{word}{number}"))?;
    let rest = &text[number_ends..];
    let takes = |form: &str| format!("write {form}");
    let arguments = |form: &str| -> Result<(Vec<i64>, usize), String> {
        let inner = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')).ok_or_else(|| takes(form))?.0;
        let numbers: Result<Vec<i64>, _> = inner.split(',').map(|number| number.trim().parse()).collect();
        Ok((numbers.map_err(|_| takes(form))?, inner.len() + 2))
    };
    let (draw, length) = match word {
        "id" => (Draw::Id, 0),
        "new_id" => (Draw::NewId, 0),
        "k" => (Draw::K, 0),
        "c" => (Draw::C, 0),
        "pad" => (Draw::Pad, 0),
        "int" => match arguments("`:int(a,b)` with whole numbers a <= b")? {
            (numbers, length) if numbers.len() == 2 && numbers[0] <= numbers[1] => {
                (Draw::Int(numbers[0], numbers[1]), length)
            }
            _ => return Err(takes("`:int(a,b)` with whole numbers a <= b")),
        },
        "text" => match arguments("`:text(n)` with n from 1 to 65535")? {
            (numbers, length) if numbers.len() == 1 && (1..=TEXT_MAX).contains(&numbers[0]) => {
                (Draw::Text(numbers[0] as u32), length)
            }
            _ => return Err(takes("`:text(n)` with n from 1 to 65535")),
        },
        "table" => return Err(format!("the number of a table is written `{TABLE}`, as in `sbtest{TABLE}`")),
        word => {
            let known = listed(FORMS);
            return Err(format!("unknown placeholder `:{}`; use one of {known}; `::` is a cast", shown(word)));
        }
    };
    Ok((CustomValue { draw, nth }, number_ends + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(String, Vec<CustomValue>), String> {
        parse_sql(text).map(|statement| (statement.text, statement.values))
    }

    fn value(draw: Draw, nth: u32) -> CustomValue {
        CustomValue { draw, nth }
    }

    #[test]
    fn values_become_places_in_the_order_in_which_they_stand() {
        let text =
            "UPDATE sbtest{table} SET c = :c, k = k + :int(-5, 5) WHERE id BETWEEN :id AND :id + 99 OR id = :id2";
        let expected = "UPDATE sbtest{table} SET c = ?, k = k + ? WHERE id BETWEEN ? AND ? + 99 OR id = ?";
        let values = [value(Draw::C, 1), value(Draw::Int(-5, 5), 1), value(Draw::Id, 1), value(Draw::Id, 1)];
        assert_eq!(parsed(text), Ok((expected.into(), [&values[..], &[value(Draw::Id, 2)]].concat())));
    }

    const PLAN: &str = "\
workload = 'oltp'
mix = ['read_only', 'custom']
[[statement]]
name = 'by_key'
weight = 70
sql = 'SELECT c FROM sbtest{table} WHERE id = :id'
[[statement]]
name = 'replace'
sql = [
  'DELETE FROM sbtest{table} WHERE id = :id',
  'INSERT INTO sbtest{table} VALUES (:id, :k, :c, :pad)',
]
";

    fn plan(text: &str) -> Result<Vec<model::Params>, String> {
        let plan = crate::parse(text, "p.toml", &crate::Overrides::default(), 1.0, &crate::fixture::catalogue());
        plan.map(|plan| plan.trials.into_iter().map(|trial| trial.workload.params).collect()).map_err(|e| e.to_string())
    }

    #[test]
    fn statements_of_a_plan_are_those_of_the_points_that_want_them() {
        let points = plan(PLAN).expect("a valid plan");
        assert!(!points[0].0.contains_key(KEY));
        let [by_key, replace] = points[1].statements(KEY) else { panic!("{points:?}") };
        assert_eq!((by_key.name.as_str(), by_key.weight, replace.weight), ("by_key", 70, 1));
        assert_eq!(by_key.statements[0].text, "SELECT c FROM sbtest{table} WHERE id = ?");
        let values = [Draw::Id, Draw::K, Draw::C, Draw::Pad].map(|draw| value(draw, 1));
        assert_eq!((replace.statements.len(), &replace.statements[1].values[..]), (2, &values[..]));
    }

    #[test]
    fn statements_of_a_sweep_replace_those_of_the_plan() {
        let own =
            "[[sweep]]\nclients = 2\n[[sweep.statement]]\nname = 'own'\nsql = 'SELECT 1'\n[[sweep]]\nclients = 4\n";
        let points = plan(&[PLAN, own].concat()).expect("a valid plan");
        let names = |point: &model::Params| point.statements(KEY).iter().map(|op| op.name.clone()).collect::<Vec<_>>();
        assert_eq!(
            (names(&points[1]), names(&points[3])),
            (vec!["own".into()], vec!["by_key".into(), "replace".into()])
        );
    }

    #[test]
    fn what_is_wrong_with_statements_is_told_with_its_line() {
        let wrong = |from: &str, to: &str| plan(&PLAN.replacen(from, to, 1)).unwrap_err();
        assert_eq!(
            wrong("weight", "wieght"),
            "p.toml:5: unknown key `wieght` of a statement: it has `name`, `weight`, `sql`; did you mean `weight`?"
        );
        assert_eq!(wrong("70", "0"), "p.toml:5: `weight` cannot be `0`; use a whole number from 1 to 1000000");
        assert!(
            wrong("= :id'", "= :ide'")
                .starts_with("p.toml:6: `SELECT c FROM sbtest{table} WHERE id = :ide`: unknown placeholder `:ide`")
        );
        assert!(wrong("(:id, :k", "(?, :k").starts_with("p.toml:11: "), "{}", wrong("(:id, :k", "(?, :k"));
        assert!(wrong("= :id'", "= :id1'").ends_with("the number of a further draw is from 2 to 99"));
        assert!(wrong("= :id'", "= :id --by key'").contains("write a blank behind `--`"));
        assert!(wrong("SELECT c", "SELECT /*! :id */ c").contains("and no `/*!`"));
        assert!(wrong("'DELETE", "'/* in */ COMMIT', 'DELETE").contains("a transaction is written as a list"));
        assert!(wrong("sbtest{table}", "sbtest{tabel}").ends_with("unknown placeholder `{tabel}`; use `{table}`"));
        assert!(plan(&PLAN.replacen("SELECT c", "SELECT \"-- {x} /*\", c", 1)).is_ok(), "quoted text stays as it is");
        assert_eq!(wrong("by_key", "replace"), "p.toml:7: two statements are named `replace`: rename one");
        assert!(wrong("name = 'by_key'\n", "").starts_with("p.toml:3: a statement needs a `name`"));
        assert!(wrong("'DELETE", "'BEGIN', 'DELETE").contains("a transaction is written as a list"));
        assert_eq!(wrong("'custom'", "'write_only'"), "p.toml:3: `statement` needs mix = `custom`");
        let none = plan("workload = 'oltp'\nmix = 'custom'").unwrap_err();
        assert_eq!(none, "p.toml:2: mix = `custom` needs statements; write them in a plan file as `[[statement]]`");
        let scalar = plan("workload = 'oltp'\nmix = 'custom'\nstatement = 'SELECT 1'").unwrap_err();
        assert_eq!(scalar, "p.toml:3: `statement` is not a list of tables: begin each statement with `[[statement]]`");
    }

    #[test]
    fn statements_are_no_flag() {
        let flags = crate::Overrides::from_flags(
            [("mix", "custom"), (KEY, "SELECT 1")].map(|(k, v)| (k.into(), v.into())).into(),
        );
        let refused = crate::from_flags("oltp", &flags, 1.0, &crate::fixture::catalogue()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "--statement: `statement` is written in a plan file only, as `[[statement]]` tables"
        );
    }

    #[test]
    fn quoted_text_and_casts_are_left_alone() {
        let text = "SELECT ':id', \"a:k\", `b:c`, :k::text, '12:30' FROM t WHERE pad = :text(8)";
        let expected = "SELECT ':id', \"a:k\", `b:c`, ?::text, '12:30' FROM t WHERE pad = ?";
        assert_eq!(parsed(text), Ok((expected.into(), vec![value(Draw::K, 1), value(Draw::Text(8), 1)])));
        assert_eq!(parsed("SELECT 'it''s'"), Ok(("SELECT 'it''s'".into(), vec![])));
        let text = "SELECT /*+ INDEX(t :k) don't */ c -- :id\nFROM t WHERE d = $$:id'$$ AND e = E'\\':id' AND j #> '{a}' = :k -- last";
        let expected =
            "SELECT /*+ INDEX(t :k) don't */ c -- :id\nFROM t WHERE d = $$:id'$$ AND e = E'\\':id' AND j #> '{a}' = ?";
        assert_eq!(parsed(text), Ok((expected.into(), vec![value(Draw::K, 1)])));
    }

    #[test]
    fn what_is_no_value_is_refused_with_what_there_is() {
        for (text, expected) in [
            ("SELECT :idd", "unknown placeholder `:idd`; use one of `:id`, `:new_id`"),
            ("SELECT :int(5)", "write `:int(a,b)` with"),
            ("SELECT :int(5,1)", "write `:int(a,b)` with"),
            ("SELECT :text(0)", "write `:text(n)` with"),
            ("SELECT :text", "write `:text(n)` with"),
            ("SELECT :id100", "from 2 to 99"),
            ("SELECT c FROM sbtest:table", "`sbtest{table}`"),
            ("SELECT 'a", "a quote or a comment is not closed"),
            ("SELECT 1; SELECT 2", "as a list"),
        ] {
            let refusal = parsed(text).unwrap_err();
            assert!(refusal.contains(expected), "{text}: {refusal}");
        }
    }
}
