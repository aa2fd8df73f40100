//! Variants of a statement in a plan file, `[[variant]]`, and the tables that they are compared on, `[[data]]`.
//!
//! In: the tables of the plan, with their places. Out: one setting whose values are the variants, or the data sets, each as text, so that
//! they lie in the layers of a plan like any other and several of them are a dimension; [`typed`] takes one up again for an engine.
//! Limits: SQL is not understood, only split at `;`. The body of a procedure or trigger cannot be written.
//!
//! A key holds a text or a list of texts, each of one statement or of several with `;` between them, or `@FILE`. A table in a variant or
//! a data set, such as `[variant.mariadb]`, has other texts for the engines whose names begin with its name.

use crate::document::{Written, WrittenSetting};
use crate::error::{Place, PlanError, hint, listed, shown};
use model::variant::{SqlDataSet, SqlStep, SqlVariant, StepPart};
use model::{Catalogue, ParamKind, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The key of the variants, and the name of the parameter that takes one.
pub(crate) const VARIANT: &str = "variant";
/// The key of the data sets.
pub(crate) const DATA: &str = "data";

const NAME_CHARS_MAX: usize = 32;
/// An operation names its kind in a byte, and a chart of more is not read.
const STEPS_MAX: usize = 32;
const STATEMENTS_MAX: usize = 1_000;

/// The keys of a variant, and of a data set.
const OF_VARIANT: [&str; 4] = ["name", "setup", "statement", "cleanup"];
const OF_DATA: [&str; 3] = ["name", "statements", "finish"];

/// The keys of `[[variant]]` or `[[data]]` tables.
fn keys_of(kind: &str) -> &'static [&'static str] {
    if kind == VARIANT { &OF_VARIANT } else { &OF_DATA }
}

type Texts = BTreeMap<String, Vec<String>>;

/// One table between [`setting_of_tables`] and [`typed`].
#[derive(Serialize, Deserialize)]
struct TextBlock {
    name: String,
    /// The file that relative paths begin at, if it was a file.
    origin: String,
    all: Texts,
    /// The texts for some engines only, by the beginning of their names.
    engines: BTreeMap<String, Texts>,
}

/// One `[[variant]]` or `[[data]]` as it was written; keys of a table in it have the name of the table and a dot before them.
pub(crate) struct WrittenBlock<'a> {
    pub(crate) place: Place<'a>,
    pub(crate) settings: Vec<WrittenSetting<'a>>,
}

/// The setting of all tables of the kind `kind` of a plan or a sweep: each is a value.
pub(crate) fn setting_of_tables<'a>(
    kind: &'static str,
    written: &[WrittenBlock<'a>],
) -> Result<Option<WrittenSetting<'a>>, PlanError> {
    let Some(first) = written.first() else { return Ok(None) };
    let mut names: Vec<String> = Vec::new();
    let mut values = Vec::new();
    for table in written {
        let block = read_block(kind, table)?;
        if names.contains(&block.name) {
            return Err(table.place.error(format_args!("two `[[{kind}]]` are named `{}`: rename one", block.name)));
        }
        names.push(block.name.clone());
        let text = toml::to_string(&block).expect("texts are plain data");
        values.push(Written { key: kind.into(), text, place: table.place });
    }
    Ok(Some(WrittenSetting { key: kind.into(), place: first.place, values }))
}

fn read_block(kind: &'static str, table: &WrittenBlock<'_>) -> Result<TextBlock, PlanError> {
    let mut block = TextBlock {
        name: String::new(),
        origin: table.place.origin().unwrap_or_default().to_owned(),
        all: Texts::new(),
        engines: BTreeMap::new(),
    };
    for setting in &table.settings {
        let (engine, key) = setting.key.split_once('.').map_or((None, setting.key.as_str()), |(e, k)| (Some(e), k));
        let is_name = key == "name" && engine.is_none();
        if !keys_of(kind).contains(&key) || key == "name" && engine.is_some() {
            return Err(unknown_key(kind, setting, key));
        }
        match engine {
            None if is_name => block.name = checked_name(kind, setting)?,
            None => drop(block.all.insert(key.into(), texts_of(setting))),
            Some(engine) => {
                block.engines.entry(engine.to_owned()).or_default().insert(key.into(), texts_of(setting));
            }
        }
    }
    if block.name.is_empty() {
        return Err(table.place.error(format_args!("a `[[{kind}]]` needs a `name`")));
    }
    Ok(block)
}

fn unknown_key(kind: &str, setting: &WrittenSetting<'_>, key: &str) -> PlanError {
    let known = keys_of(kind).iter().copied();
    let hint = hint(key, known.clone());
    let text = format!("unknown key `{}` of a `[[{kind}]]`: it has {}{hint}", shown(&setting.key), listed(known));
    setting.place.error(text)
}

fn texts_of(setting: &WrittenSetting<'_>) -> Vec<String> {
    setting.values.iter().map(|value| value.text.clone()).collect()
}

fn checked_name(kind: &str, setting: &WrittenSetting<'_>) -> Result<String, PlanError> {
    match setting.values.as_slice() {
        [value] if is_name(&value.text) => Ok(value.text.clone()),
        [value] => Err(value.refused(NAME_TAKES)),
        _ => Err(setting.place.error(format_args!("the `name` of a `[[{kind}]]` cannot be a list"))),
    }
}

/// What a name may hold.
pub(crate) const NAME_TAKES: &str = "letters, digits, `_` and `-`, at most 32";

/// Whether `text` is a name.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=NAME_CHARS_MAX).contains(&text.len())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// The value of a parameter of the kind `kind`, for the engine called `engine`.
pub(crate) fn typed(
    written: &Written<'_>,
    kind: ParamKind,
    engine: &str,
    catalogue: &Catalogue,
) -> Result<Value, PlanError> {
    if written.text.is_empty() {
        return match kind {
            ParamKind::DataSets => Ok(Value::Data(SqlDataSet::default())),
            _ => Err(written.place.error(format_args!(
                "there are no variants; write them in a plan file as `[[{VARIANT}]]`, or use `plimsoll sql --statement NAME=SQL`"
            ))),
        };
    }
    let block: TextBlock = toml::from_str(&written.text).map_err(|_| {
        let text = format_args!("`{0}` is written in a plan file only, as `[[{0}]]` tables", written.key);
        written.place.error(text)
    })?;
    check_engines(written, &block, catalogue)?;
    let reader = BlockReader { written, block: &block, engine, catalogue };
    match kind {
        ParamKind::DataSets => reader.data_set().map(Value::Data),
        _ => reader.variant().map(Value::Variant),
    }
}

fn check_engines(written: &Written<'_>, block: &TextBlock, catalogue: &Catalogue) -> Result<(), PlanError> {
    let is_known = |name: &str| catalogue.engines.iter().any(|entry| entry.name.starts_with(name));
    match block.engines.keys().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(unknown) => {
            let names = catalogue.engines.iter().map(|entry| entry.name);
            let text = format!("`{}.{}`: no engine has such a name", written.key, shown(unknown));
            Err(written.place.error(format_args!("{text}{}", hint(unknown, names))))
        }
    }
}

/// Reads the statements of one table for one engine.
struct BlockReader<'r> {
    written: &'r Written<'r>,
    block: &'r TextBlock,
    engine: &'r str,
    catalogue: &'r Catalogue,
}

impl BlockReader<'_> {
    fn variant(&self) -> Result<SqlVariant, PlanError> {
        let mut steps = Vec::new();
        for (key, part) in
            [("setup", StepPart::Setup), ("statement", StepPart::Statement), ("cleanup", StepPart::Cleanup)]
        {
            steps.extend(self.statements(key)?.into_iter().map(|sql| SqlStep { part, sql }));
        }
        let wanted = steps.iter().filter(|step| step.part == StepPart::Statement).count();
        if wanted != 1 {
            return Err(
                self.refused(format_args!("needs one `statement`, and has {wanted}; others are `setup` or `cleanup`"))
            );
        }
        if steps.len() > STEPS_MAX {
            return Err(self.refused(format_args!("has {} steps; at most {STEPS_MAX} are allowed", steps.len())));
        }
        Ok(SqlVariant { name: self.block.name.clone(), steps })
    }

    fn data_set(&self) -> Result<SqlDataSet, PlanError> {
        let statements = [self.statements("statements")?, self.statements("finish")?].concat();
        if statements.is_empty() || statements.len() > STATEMENTS_MAX {
            let count = statements.len();
            return Err(self.refused(format_args!("has {count} statements; it needs 1 to {STATEMENTS_MAX}")));
        }
        Ok(SqlDataSet { name: self.block.name.clone(), statements })
    }

    /// The statements under `key`, those of the engine before those of all.
    fn statements(&self, key: &str) -> Result<Vec<String>, PlanError> {
        let own = self.block.engines.iter().filter(|(name, _)| self.engine.starts_with(name.as_str()));
        let own = own.filter_map(|(name, texts)| Some((name.len(), texts.get(key)?))).max_by_key(|(length, _)| *length);
        let texts = own.map(|(_, texts)| texts).or_else(|| self.block.all.get(key));
        let texts = texts.map(Vec::as_slice).unwrap_or_default();
        let all = texts.iter().map(|text| self.split(text)).collect::<Result<Vec<_>, _>>()?;
        Ok(all.concat())
    }

    fn split(&self, text: &str) -> Result<Vec<String>, PlanError> {
        let read;
        let text = match text.trim().strip_prefix('@') {
            Some(file) => {
                read = (self.catalogue.read_text)(&self.path_of(file)).map_err(|why| self.written.place.error(why))?;
                read.as_str()
            }
            None => text,
        };
        split_statements(text).map_err(|why| self.refused(why))
    }

    /// A relative path begins at the plan file.
    fn path_of(&self, file: &str) -> PathBuf {
        let folder = Path::new(&self.block.origin).parent().unwrap_or(Path::new(""));
        folder.join(file)
    }

    fn refused(&self, what: impl std::fmt::Display) -> PlanError {
        self.written.place.error(format_args!("{} `{}`: {what}", self.written.key, self.block.name))
    }
}

/// The statements in `text`, which have `;` between them. Comments with `--` are left out: what follows them on another line may move up.
pub(crate) fn split_statements(text: &str) -> Result<Vec<String>, String> {
    let (mut all, mut one, mut rest) = (Vec::new(), String::new(), text);
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let taken = match c {
            '\'' | '"' | '`' => 1 + after.find(c).ok_or_else(|| format!("unclosed quote {c}"))? + 1,
            '-' if after.starts_with('-') => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                continue;
            }
            '/' if after.starts_with('*') => rest.find("*/").ok_or("unclosed comment /*")? + 2,
            ';' => {
                all.push(std::mem::take(&mut one));
                rest = after;
                continue;
            }
            c if c.is_control() && !c.is_whitespace() => {
                return Err(format!("the character {} is not allowed", c.escape_default()));
            }
            c => c.len_utf8(),
        };
        one.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    all.push(one);
    Ok(all.into_iter().map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect())
}

/// Whether a plan file could have spelt out `variant`, which comes from a run file.
pub(crate) fn variant_could_be_written(variant: &SqlVariant) -> bool {
    let wanted = variant.steps.iter().filter(|step| step.part == StepPart::Statement).count();
    let in_order = variant.steps.is_sorted_by_key(|step| step.part as u8);
    is_name(&variant.name)
        && wanted == 1
        && in_order
        && variant.steps.len() <= STEPS_MAX
        && variant.steps.iter().all(|step| is_one_statement(&step.sql))
}

/// The same of a data set.
pub(crate) fn data_could_be_written(data: &SqlDataSet) -> bool {
    let is_none = data.name.is_empty() && data.statements.is_empty();
    let is_some = is_name(&data.name) && (1..=STATEMENTS_MAX).contains(&data.statements.len());
    (is_none || is_some) && data.statements.iter().all(|sql| is_one_statement(sql))
}

fn is_one_statement(sql: &str) -> bool {
    split_statements(sql).is_ok_and(|all| all == [sql])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    const PLAN: &str = "\
workload = 'sql'
engine = ['sqlite', 'mariadb:innodb']
[[data]]
name = 'few'
statements = 'CREATE TABLE t (a INT); INSERT INTO t VALUES (1)'
finish = 'ANALYZE'
[data.mariadb]
finish = 'ANALYZE TABLE t'
[[variant]]
name = 'plain'
statement = 'SELECT a FROM t'
[[variant]]
name = 'temp'
setup = ['CREATE TEMPORARY TABLE x AS SELECT a FROM t', 'CREATE INDEX i ON x (a)']
statement = 'SELECT a FROM x'
cleanup = 'DROP TABLE x'
[variant.mariadb]
setup = \"SET x = 'a;b'; CREATE TEMPORARY TABLE x AS SELECT a FROM t; \"
";

    fn plan(text: &str) -> Result<Vec<model::Params>, String> {
        let plan = crate::parse(text, "d/p.toml", &crate::Overrides::default(), 1.0, &fixture::with_variants());
        plan.map(|plan| plan.trials.into_iter().map(|trial| trial.workload.params).collect()).map_err(|e| e.to_string())
    }

    #[test]
    fn each_variant_is_a_point_with_the_statements_of_its_engine() {
        let points = plan(PLAN).expect("a valid plan");
        let names: Vec<&str> = points.iter().map(|point| point.variant(VARIANT).name.as_str()).collect();
        assert_eq!(names, ["plain", "temp", "plain", "temp"]);
        let steps =
            |nth: usize| points[nth].variant(VARIANT).steps.iter().map(|step| step.sql.as_str()).collect::<Vec<_>>();
        assert_eq!(steps(1)[1..], ["CREATE INDEX i ON x (a)", "SELECT a FROM x", "DROP TABLE x"]);
        assert_eq!(steps(3)[0], "SET x = 'a;b'");
        assert_eq!(steps(3)[2..], ["SELECT a FROM x", "DROP TABLE x"]);
        let finish = |nth: usize| points[nth].data_set(DATA).statements[2].clone();
        assert_eq!((finish(0).as_str(), finish(2).as_str()), ("ANALYZE", "ANALYZE TABLE t"));
    }

    #[test]
    fn repeats_of_variants_have_one_seed_and_so_one_data_set() {
        let text = format!("repeat = 2\n{PLAN}");
        let plan = crate::parse(&text, "p.toml", &crate::Overrides::default(), 1.0, &fixture::with_variants()).unwrap();
        assert!(plan.trials.iter().all(|trial| trial.seed == plan.trials[0].seed));
        assert_eq!(plan.trials.iter().map(|trial| trial.repeat).max(), Some(2));
        assert_eq!(plan.trials[0].on_error, model::OnError::Count);
    }

    #[test]
    fn a_file_is_read_from_the_folder_of_the_plan() {
        let text = PLAN.replace("'SELECT a FROM t'", "'@q.sql'");
        let points = plan(&text).expect("a valid plan");
        assert_eq!(points[0].variant(VARIANT).steps[0].sql, "SELECT 'd/q.sql'");
        let missing = plan(&PLAN.replace("'SELECT a FROM t'", "'@none'")).unwrap_err();
        assert_eq!(missing, "d/p.toml:9: cannot read `d/none`");
    }

    #[test]
    fn what_is_wrong_with_a_variant_is_told_with_its_line() {
        let wrong = |from: &str, to: &str| plan(&PLAN.replacen(from, to, 1)).unwrap_err();
        assert!(
            wrong("statement = 'SELECT a FROM t'\n", "")
                .starts_with("d/p.toml:9: variant `plain`: needs one `statement`")
        );
        assert!(wrong("SELECT a FROM t'", "SELECT 1; SELECT 2'").contains("needs one `statement`, and has 2"));
        assert!(wrong("cleanup", "clean").contains("unknown key `clean` of a `[[variant]]`: it has `name`, `setup`"));
        assert!(wrong("'temp'", "'plain'").contains("two `[[variant]]` are named `plain`"));
        assert!(wrong("[variant.mariadb]", "[variant.oracle]").contains("`variant.oracle`: no engine has such a name"));
        assert!(wrong("'SELECT a FROM t'", "\"SELECT 'a\"").contains("variant `plain`: unclosed quote '"));
        let none = plan("workload = 'sql'").unwrap_err();
        assert!(none.contains("there are no variants"), "{none}");
    }

    #[test]
    fn statements_are_split_at_semicolons_outside_of_quotes_and_comments() {
        let text = "SELECT ';' -- a; b\n, 1 /* ; */;\n\nSELECT 2;";
        assert_eq!(split_statements(text), Ok(vec!["SELECT ';' \n, 1 /* ; */".into(), "SELECT 2".into()]));
        assert!(is_one_statement("SELECT 1") && !is_one_statement("SELECT 1;"));
    }
}
