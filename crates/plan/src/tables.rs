//! Tables in a plan file: `[[table]]`, with their columns, indexes and partitions.
//!
//! In: the tables, with their places. Out: one setting whose text is the list of [`OwnTable`]s, so that it lies in the layers of a plan like
//! any other; [`typed`] takes it up again and multiplies the rows. Limits: whether they can be made is judged by the workload, with rows that
//! are multiplied; here is what can be seen in one column.

use crate::document::{Written, WrittenSetting};
use crate::error::{Place, PlanError, hint, listed, shown};
use crate::text;
use crate::value::{parse_access, parse_int, parse_word};
use crate::variants::WrittenBlock;
use model::own_table::{
    ColumnKind, Dependence, Distinct, DrawnValues, OwnColumn, OwnConstant, OwnFault, OwnIndex, OwnKeys, OwnPartitions,
    OwnTable, PartitionRule, ValueNumbers, ValueShape, ValueSource,
};
use model::{Access, DistributionEntry};
use serde::{Deserialize, Serialize};

/// The key under which the list is a setting, and the name of the parameter that takes it.
pub(crate) const KEY: &str = "table";

const ROWS_MAX: u64 = 1 << 40;
const LIST_MAX: usize = 10_000;

/// One `[[table]]` as it was written.
pub(crate) struct WrittenTable<'a> {
    pub(crate) place: Place<'a>,
    pub(crate) settings: Vec<WrittenSetting<'a>>,
    pub(crate) columns: Vec<WrittenBlock<'a>>,
    pub(crate) indexes: Vec<WrittenBlock<'a>>,
    pub(crate) partitions: Option<WrittenBlock<'a>>,
}

/// The text between [`setting_of_tables`] and [`typed`].
#[derive(Serialize, Deserialize)]
struct List {
    tables: Vec<PlacedTable>,
}

/// A table whose distributions are still text, with the lines of it and of its columns.
#[derive(Serialize, Deserialize)]
struct PlacedTable {
    line: usize,
    columns: Vec<PlacedColumn>,
    table: OwnTable,
}

#[derive(Serialize, Deserialize)]
struct PlacedColumn {
    line: usize,
    /// The distribution as it was written.
    distribution: Option<String>,
}

/// The setting of all `[[table]]` of a plan or a sweep.
pub(crate) fn setting_of_tables<'a>(written: &[WrittenTable<'a>]) -> Result<Option<WrittenSetting<'a>>, PlanError> {
    let Some(first) = written.first() else { return Ok(None) };
    let tables = written.iter().map(read_table).collect::<Result<_, _>>()?;
    // TOML has no null, and a list of JSON is as good.
    let text = serde_json::to_string(&List { tables }).expect("tables are plain data");
    let values = vec![Written { key: KEY.into(), text, place: first.place }];
    Ok(Some(WrittenSetting { key: KEY.into(), place: first.place, values }))
}

/// The list that [`setting_of_tables`] has written, with rows multiplied by `scale`.
pub(crate) fn typed(
    written: &Written<'_>,
    scale: f64,
    distributions: &[DistributionEntry],
) -> Result<Vec<OwnTable>, PlanError> {
    let list = list_in(written)?;
    list.tables.into_iter().map(|table| typed_table(table, written, scale, distributions)).collect()
}

fn list_in(written: &Written<'_>) -> Result<List, PlanError> {
    let needed = || written.place.error(format_args!("there are no tables; write them in a plan file as `[[{KEY}]]`"));
    serde_json::from_str(&written.text).map_err(|_| needed())
}

/// The error of `fault` in the tables of `written`, at the line where it is; `None` if it is in no table.
pub(crate) fn error_at(written: &Written<'_>, fault: &OwnFault) -> Option<PlanError> {
    let list = list_in(written).ok()?;
    let Some(table) = list.tables.get(fault.table?) else { return Some(written.place.error(&fault.text)) };
    let line = fault.column.and_then(|nth| table.columns.get(nth)).map_or(table.line, |column| column.line);
    Some(at_line(written, line).error(&fault.text))
}

fn at_line<'a>(written: &Written<'a>, line: usize) -> Place<'a> {
    match written.place {
        Place::Line { origin, .. } => Place::Line { origin, line },
        place => place,
    }
}

fn typed_table(
    placed: PlacedTable,
    written: &Written<'_>,
    scale: f64,
    distributions: &[DistributionEntry],
) -> Result<OwnTable, PlanError> {
    let PlacedTable { line, columns, mut table } = placed;
    // A table that begins empty stays empty; no other becomes so.
    if table.rows > 0 {
        table.rows = ((table.rows as f64 * scale).round() as u64).max(1);
    }
    if table.rows > ROWS_MAX {
        let text = format_args!("table `{}`: at most {ROWS_MAX} rows after scaling by {scale}", shown(&table.name));
        return Err(at_line(written, line).error(text));
    }
    for (column, placed) in table.columns.iter_mut().zip(columns) {
        let Some(text) = placed.distribution else { continue };
        let own = Written { key: "distribution".into(), text, place: at_line(written, placed.line) };
        set_access(&mut column.source, parse_access(&own, distributions)?);
    }
    Ok(table)
}

fn set_access(source: &mut ValueSource, access: Access) {
    // The default deals each value out equally often; `uniform` by name is the same.
    let access = (access.name != "uniform").then_some(access);
    match source {
        ValueSource::Drawn(drawn) => drawn.numbers.access = access,
        ValueSource::Reference { numbers, .. } => numbers.access = access,
        _ => {}
    }
}

/// Whether a plan file could have spelt out the type `kind`, which comes from a run file.
pub(crate) fn type_could_be_written(kind: ColumnKind) -> bool {
    kind.to_string().parse_type() == Some(kind)
}

/// The settings of one table, column, index or partitions, each of which has to be used.
struct Block<'w, 'a> {
    what: &'static str,
    place: Place<'a>,
    settings: &'w [WrittenSetting<'a>],
}

impl<'w, 'a> Block<'w, 'a> {
    fn new(
        what: &'static str,
        keys: &[&'static str],
        place: Place<'a>,
        settings: &'w [WrittenSetting<'a>],
    ) -> Result<Block<'w, 'a>, PlanError> {
        match settings.iter().find(|setting| !keys.contains(&setting.key.as_str())) {
            None => Ok(Block { what, place, settings }),
            Some(unknown) => {
                let known = || keys.iter().copied();
                let (key, hint) = (shown(&unknown.key), hint(&unknown.key, known()));
                Err(unknown
                    .place
                    .error(format_args!("unknown key `{key}` of {what}: it has {}{hint}", listed(known()))))
            }
        }
    }

    fn find(&self, key: &str) -> Option<&'w WrittenSetting<'a>> {
        self.settings.iter().find(|setting| setting.key == key)
    }

    /// The value of `key`, which cannot be a list.
    fn one(&self, key: &str) -> Result<Option<&'w Written<'a>>, PlanError> {
        let Some(setting) = self.find(key) else { return Ok(None) };
        match setting.values.as_slice() {
            [value] => Ok(Some(value)),
            _ => Err(setting.place.error(format_args!("`{key}` of {} cannot be a list", self.what))),
        }
    }

    fn needed(&self, key: &str) -> Result<&'w Written<'a>, PlanError> {
        self.one(key)?.ok_or_else(|| self.place.error(format_args!("{} needs a `{key}`", self.what)))
    }

    fn truth(&self, key: &str) -> Result<bool, PlanError> {
        let value = self.one(key)?.map(|value| parse_word(value, &["true", "false"]));
        Ok(value.transpose()? == Some("true"))
    }

    fn number(&self, key: &str) -> Result<Option<f64>, PlanError> {
        self.one(key)?.map(number_in).transpose()
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, PlanError> {
        Ok(self.list(key)?.iter().map(|value| value.text.clone()).collect())
    }

    fn list(&self, key: &str) -> Result<&'w [Written<'a>], PlanError> {
        let Some(setting) = self.find(key) else { return Ok(&[]) };
        match setting.values.len() {
            0..=LIST_MAX => Ok(&setting.values),
            count => Err(setting.place.error(format_args!("`{key}` has {count} values; at most {LIST_MAX} are taken"))),
        }
    }

    /// Refuses the first of `keys` that is there: `why` continues the sentence.
    fn without(&self, keys: &[&str], why: &str) -> Result<(), PlanError> {
        match keys.iter().find_map(|key| self.find(key)) {
            None => Ok(()),
            Some(setting) => Err(setting.place.error(format_args!("`{}` {why}", setting.key))),
        }
    }
}

fn number_in(written: &Written<'_>) -> Result<f64, PlanError> {
    text::parse_finite(&written.text).ok_or_else(|| written.refused("a number"))
}

const TABLE_KEYS: [&str; 7] = ["name", "rows", "primary_key", "column", "index", "partitions", "keys"];

fn read_table(written: &WrittenTable<'_>) -> Result<PlacedTable, PlanError> {
    let block = Block::new("a table", &TABLE_KEYS, written.place, &written.settings)?;
    let name = block.needed("name")?.text.clone();
    if let Some(query) = block.one("keys")? {
        return found_table(name, query, &block, written);
    }
    let rows = parse_int(block.needed("rows")?, 0, ROWS_MAX)?;
    if written.columns.is_empty() {
        let text = "a table needs columns, such as `column = [{ name = \"id\", type = \"int\", serial = true }]`";
        return Err(written.place.error(text));
    }
    let mut columns = Vec::new();
    let mut lines = Vec::new();
    for column in &written.columns {
        let (own, distribution) = read_column(column)?;
        columns.push(own);
        lines.push(PlacedColumn { line: line_of(column.place), distribution });
    }
    let indexes = written.indexes.iter().enumerate().map(|(nth, index)| read_index(nth, index));
    let partitions = written.partitions.as_ref().map(read_partitions);
    let table = OwnTable {
        name,
        rows,
        columns,
        primary_key: block.texts("primary_key")?,
        indexes: indexes.collect::<Result<_, _>>()?,
        partitions: partitions.transpose()?,
        keys: None,
    };
    Ok(PlacedTable { line: line_of(written.place), columns: lines, table })
}

/// A table that is there already: of its rows only the values are known that `query` reads.
fn found_table(
    name: String,
    query: &Written<'_>,
    block: &Block<'_, '_>,
    written: &WrittenTable<'_>,
) -> Result<PlacedTable, PlanError> {
    let why = "has no effect with `keys`: the table is there already, and nothing of it is made";
    block.without(&["rows", "primary_key"], why)?;
    let parts = [("column", !written.columns.is_empty()), ("index", !written.indexes.is_empty())];
    let parts = parts.into_iter().chain([("partitions", written.partitions.is_some())]);
    if let Some((key, _)) = parts.into_iter().find(|(_, is_there)| *is_there) {
        return Err(written.place.error(format_args!("`{key}` {why}")));
    }
    let sql = query.text.trim().trim_end_matches(';').trim_end();
    let columns = key_columns(sql).map_err(|why| query.place.error(format_args!("keys = `{}`: {why}", shown(sql))))?;
    let keys = Some(OwnKeys { sql: sql.to_owned(), columns });
    let (columns, primary_key, indexes) = (Vec::new(), Vec::new(), Vec::new());
    let table = OwnTable { name, rows: 0, columns, primary_key, indexes, partitions: None, keys };
    Ok(PlacedTable { line: line_of(written.place), columns: Vec::new(), table })
}

/// The names of the columns that the query `sql` returns, by its text: what is between SELECT and FROM.
fn key_columns(sql: &str) -> Result<Vec<String>, String> {
    if sql.contains([';', '?']) {
        return Err("write one query, without `;` and `?`".to_owned());
    }
    let is_first = |word: &str| sql.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    if !is_first("select ") {
        return Err("write a query of the form `SELECT id FROM orders`".to_owned());
    }
    let list = select_list(&sql["select ".len()..])?;
    let mut names: Vec<String> = Vec::new();
    for part in list {
        let last = part.rsplit([' ', '\n', '\t', '.']).next().unwrap_or_default().trim_matches(['"', '`']);
        let is_name = last.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && last.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name {
            let part = shown(part);
            return Err(format!("`{part}` has no name for placeholders; write `SELECT id` or `{part} AS name`"));
        }
        if names.iter().any(|other| other.eq_ignore_ascii_case(last)) {
            return Err(format!("two columns are named `{last}`: rename one with `AS`"));
        }
        names.push(last.to_owned());
    }
    Ok(names)
}

/// The parts of the list that `text` begins with, up to FROM. What is in brackets or quotes belongs to its part.
fn select_list(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, ',') if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            (None, c) if depth == 0 && c.is_whitespace() => {
                let rest = text[at..].trim_start();
                if rest.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("from"))
                    && rest[4..].starts_with([' ', '\n', '\t', '('])
                {
                    parts.push(text[start..at].trim());
                    return Ok(parts);
                }
            }
            _ => {}
        }
    }
    Err("it has no FROM; write a query of the form `SELECT id FROM orders`".to_owned())
}

fn line_of(place: Place<'_>) -> usize {
    if let Place::Line { line, .. } = place { line } else { 0 }
}

fn read_index(nth: usize, written: &WrittenBlock<'_>) -> Result<OwnIndex, PlanError> {
    let block = Block::new("an index", &["name", "columns", "unique"], written.place, &written.settings)?;
    let name = block.one("name")?.map_or_else(|| format!("i{}", nth + 1), |name| name.text.clone());
    let columns = block.texts("columns")?;
    if columns.is_empty() {
        return Err(written.place.error("an index needs `columns`"));
    }
    Ok(OwnIndex { name, columns, unique: block.truth("unique")? })
}

fn read_partitions(written: &WrittenBlock<'_>) -> Result<OwnPartitions, PlanError> {
    let block = Block::new("`partitions`", &["by", "column", "count"], written.place, &written.settings)?;
    let by = match parse_word(block.needed("by")?, &["range", "hash"])? {
        "range" => PartitionRule::Range,
        _ => PartitionRule::Hash,
    };
    let count = parse_int(block.needed("count")?, 2, 1_000)? as u32;
    Ok(OwnPartitions { by, column: block.needed("column")?.text.clone(), count })
}

const COLUMN_KEYS: [&str; 21] = [
    "name",
    "type",
    "not_null",
    "nulls",
    "value",
    "serial",
    "references",
    "computed_from",
    "times",
    "plus",
    "distinct",
    "min",
    "max",
    "histogram",
    "values",
    "length",
    "common",
    "distribution",
    "correlation",
    "depends_on",
    "dependence",
];
/// Keys of a column that tell which values it has.
const OF_NUMBERS: [&str; 4] = ["distinct", "common", "distribution", "correlation"];
/// Keys of a column that tell what those values are.
const OF_DRAWN: [&str; 7] = ["min", "max", "histogram", "values", "length", "depends_on", "dependence"];

fn read_column(written: &WrittenBlock<'_>) -> Result<(OwnColumn, Option<String>), PlanError> {
    let block = Block::new("a column", &COLUMN_KEYS, written.place, &written.settings)?;
    let kind = block.needed("type")?;
    let kind = kind.text.parse_type().ok_or_else(|| kind.refused(TYPES))?;
    let column = OwnColumn {
        name: block.needed("name")?.text.clone(),
        kind,
        not_null: block.truth("not_null")?,
        nulls: block.number("nulls")?.unwrap_or(0.0),
        source: read_source(&block, kind)?,
    };
    let distribution = block.one("distribution")?.map(|value| value.text.clone());
    Ok((column, distribution))
}

fn read_source(block: &Block<'_, '_>, kind: ColumnKind) -> Result<ValueSource, PlanError> {
    const SOURCES: [&str; 4] = ["value", "serial", "references", "computed_from"];
    let mut named = SOURCES.iter().filter_map(|key| block.find(key));
    if let (Some(one), Some(other)) = (named.next(), named.next()) {
        let text = format_args!("`{}` and `{}` exclude each other; leave one out", one.key, other.key);
        return Err(other.place.error(text));
    }
    let rest = [&OF_NUMBERS[..], &OF_DRAWN[..]].concat();
    if block.find("computed_from").is_none() {
        block.without(&["times", "plus"], "needs `computed_from`")?;
    }
    if let Some(value) = block.one("value")? {
        block.without(&rest, "has no effect with `value`, which all rows have")?;
        return constant(value, kind).map(ValueSource::Constant);
    }
    if block.truth("serial")? {
        block.without(&rest, "has no effect with `serial`, which numbers the rows")?;
        return Ok(ValueSource::Serial);
    }
    if let Some(target) = block.one("references")? {
        block.without(&OF_DRAWN, "has no effect with `references`: values are those of the other column")?;
        let (table, column) =
            target.text.split_once('.').ok_or_else(|| target.refused("`table.column`, a column of another table"))?;
        return Ok(ValueSource::Reference { table: table.into(), column: column.into(), numbers: numbers(block)? });
    }
    if let Some(column) = block.one("computed_from")? {
        block.without(&rest, "has no effect with `computed_from`")?;
        return computed(block, kind, column);
    }
    drawn(block, kind).map(ValueSource::Drawn)
}

fn computed(block: &Block<'_, '_>, kind: ColumnKind, column: &Written<'_>) -> Result<ValueSource, PlanError> {
    let unit = kind.units_per_one().unwrap_or(1);
    let whole = |written: &Written<'_>, unit: i64| {
        let units = (number_in(written)? * unit as f64).round();
        (units.abs() < 9e18).then_some(units as i64).ok_or_else(|| written.refused("a smaller number"))
    };
    let times = block.one("times")?.map(|times| whole(times, 1)).transpose()?.unwrap_or(1);
    let (from, to) = match block.list("plus")? {
        [] => (0, 0),
        [one] => (whole(one, unit)?, whole(one, unit)?),
        [from, to] => (whole(from, unit)?, whole(to, unit)?),
        [_, _, more, ..] => return Err(more.place.error("`plus` is a number, or the least and the most: `[1, 30]`")),
    };
    Ok(ValueSource::Computed { column: column.text.clone(), times, from, to })
}

fn drawn(block: &Block<'_, '_>, kind: ColumnKind) -> Result<DrawnValues, PlanError> {
    let depends_on = match (block.one("depends_on")?, block.number("dependence")?) {
        (Some(column), share) => Some(Dependence { column: column.text.clone(), share: share.unwrap_or(1.0) }),
        (None, Some(_)) => return Err(block.place.error("`dependence` needs `depends_on`, the column that decides")),
        (None, None) => None,
    };
    Ok(DrawnValues { numbers: numbers(block)?, depends_on, shape: shape(block, kind)? })
}

fn numbers(block: &Block<'_, '_>) -> Result<ValueNumbers, PlanError> {
    let common = block.list("common")?.iter().map(number_in).collect::<Result<_, _>>()?;
    let correlation = block.number("correlation")?.unwrap_or(0.0);
    Ok(ValueNumbers { distinct: distinct(block)?, common, access: None, correlation })
}

/// `distinct = 100`, `"12.5%"` of the rows, or `"all"`.
fn distinct(block: &Block<'_, '_>) -> Result<Distinct, PlanError> {
    let Some(written) = block.one("distinct")? else { return Ok(Distinct::Natural) };
    let text = written.text.trim();
    if text == "all" {
        return Ok(Distinct::All);
    }
    let takes = "a number of values, a share of the rows such as `25%`, or `all` for one in each row";
    match text.strip_suffix('%') {
        Some(percent) => {
            let share = text::parse_finite(percent.trim()).map(|percent| percent / 100.0);
            let share = share.filter(|share| *share > 0.0 && *share <= 1.0);
            share.map(Distinct::Share).ok_or_else(|| written.refused(takes))
        }
        None => text::parse_count(text)
            .filter(|count| *count > 0)
            .map(Distinct::Count)
            .ok_or_else(|| written.refused(takes)),
    }
}

fn shape(block: &Block<'_, '_>, kind: ColumnKind) -> Result<ValueShape, PlanError> {
    let bounds = [block.one("min")?, block.one("max")?];
    let (texts, histogram) = (block.texts("values")?, block.list("histogram")?);
    if kind.units_per_one().is_some() {
        block.without(&["values", "length"], "is for types of text")?;
        if !histogram.is_empty() {
            block.without(&["min", "max"], "has no effect with `histogram`")?;
            let bounds = histogram.iter().map(|bound| units(bound, kind)).collect::<Result<_, _>>()?;
            return Ok(ValueShape::Histogram(bounds));
        }
        return match bounds {
            [None, None] => Ok(ValueShape::Range(None)),
            [Some(least), Some(most)] => Ok(ValueShape::Range(Some((units(least, kind)?, units(most, kind)?)))),
            _ => Err(block.place.error("`min` and `max` go together; write both")),
        };
    }
    block.without(&["min", "max", "histogram"], "is for types of numbers and dates")?;
    if kind == ColumnKind::Boolean {
        block.without(&["values", "length"], "is for types of text")?;
        return Ok(ValueShape::Truths);
    }
    if !texts.is_empty() {
        block.without(&["length"], "has no effect with `values`")?;
        return Ok(ValueShape::Texts(texts));
    }
    Ok(ValueShape::Length(length(block)?))
}

/// `length = 10`, or the least and the most: `[5, 20]`.
fn length(block: &Block<'_, '_>) -> Result<Option<(u32, u32)>, PlanError> {
    const MOST: u64 = 65_535;
    let one = |written: &Written<'_>| parse_int(written, 0, MOST).map(|length| length as u32);
    match block.list("length")? {
        [] => Ok(None),
        [both] => one(both).map(|length| Some((length, length))),
        [least, most] => Ok(Some((one(least)?, one(most)?))),
        [_, _, more, ..] => Err(more.place.error("`length` is a number, or the least and the most: `[5, 20]`")),
    }
}

fn constant(written: &Written<'_>, kind: ColumnKind) -> Result<OwnConstant, PlanError> {
    match kind {
        ColumnKind::Boolean => parse_word(written, &["true", "false"]).map(|word| OwnConstant::Bool(word == "true")),
        kind if kind.is_text() => Ok(OwnConstant::Text(written.text.clone())),
        kind => units(written, kind).map(OwnConstant::Units),
    }
}

/// The units of a number or a date.
fn units(written: &Written<'_>, kind: ColumnKind) -> Result<i64, PlanError> {
    let takes = match kind {
        ColumnKind::Date => "a day such as `2024-02-29`",
        ColumnKind::DateTime => "a day such as `2024-02-29`, or a time such as `2024-02-29 12:30:00`",
        _ => "a number that the type of the column holds",
    };
    kind.units_in(&written.text).ok_or_else(|| written.refused(takes))
}

const TYPES: &str = "one of `smallint`, `int`, `bigint`, `real`, `double`, `decimal(p,s)`, `boolean`, `char(n)`, `varchar(n)`, `text`, \
                     `date`, `datetime`";

trait ParseType {
    /// The type of this name.
    fn parse_type(&self) -> Option<ColumnKind>;
}

impl ParseType for str {
    fn parse_type(&self) -> Option<ColumnKind> {
        let text = self.trim().to_ascii_lowercase();
        let (name, arguments) = match text.split_once('(') {
            None => (text.as_str(), Vec::new()),
            Some((name, rest)) => {
                let inner = rest.strip_suffix(')')?;
                let numbers: Option<Vec<u16>> = inner.split(',').map(|number| number.trim().parse().ok()).collect();
                (name.trim(), numbers?)
            }
        };
        Some(match (name, &arguments[..]) {
            ("smallint", []) => ColumnKind::SmallInt,
            ("int" | "integer", []) => ColumnKind::Int,
            ("bigint", []) => ColumnKind::BigInt,
            ("real" | "float", []) => ColumnKind::Real,
            ("double" | "double precision", []) => ColumnKind::Double,
            ("decimal" | "numeric", [digits @ 1..=18, scale]) if scale <= digits => {
                ColumnKind::Decimal { digits: *digits as u8, scale: *scale as u8 }
            }
            ("decimal" | "numeric", [digits @ 1..=18]) => ColumnKind::Decimal { digits: *digits as u8, scale: 0 },
            ("boolean" | "bool", []) => ColumnKind::Boolean,
            // As many as MariaDB takes of each.
            ("char", [length @ 1..=255]) => ColumnKind::Char(*length),
            ("varchar", [length @ 1..=16_000]) => ColumnKind::VarChar(*length),
            ("text", []) => ColumnKind::Text,
            ("date", []) => ColumnKind::Date,
            ("datetime" | "timestamp", []) => ColumnKind::DateTime,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    const PLAN: &str = "\
workload = 'own'
[[table]]
name = 'customers'
rows = 1000
primary_key = 'id'
column = [
  { name = 'id', type = 'int', serial = true },
  { name = 'city', type = 'char(4)', distinct = 50, distribution = 'zipf:1', nulls = 0.1 },
  { name = 'since', type = 'date', min = '2020-01-01', max = '2020-01-31', correlation = 0.9 },
  { name = 'balance', type = 'decimal(8,2)', histogram = [-10.5, 0, 99.25] },
]
index = [{ columns = ['city', 'id'], unique = true }]
[[table]]
name = 'orders'
rows = 0
column = [{ name = 'customer', type = 'int', references = 'customers.id', distinct = '25%' }]
[[statement]]
name = 'one'
sql = 'SELECT :customers.city, :customers.id@2, :orders.customer@new'
";

    fn plan(text: &str, scale: f64) -> Result<model::Params, String> {
        let plan = crate::parse(text, "p.toml", &crate::Overrides::default(), scale, &fixture::with_tables());
        plan.map(|plan| plan.trials[0].workload.params.clone()).map_err(|error| error.to_string())
    }

    #[test]
    fn tables_of_a_plan_have_their_types_distributions_and_scaled_rows() {
        let params = plan(PLAN, 10.0).expect("a valid plan");
        let [customers, orders] = params.tables(KEY) else { panic!("{params:?}") };
        assert_eq!((customers.rows, orders.rows), (10_000, 0));
        let ValueSource::Drawn(city) = &customers.columns[1].source else { panic!("{customers:?}") };
        assert_eq!((city.numbers.distinct, city.shape.clone()), (Distinct::Count(50), ValueShape::Length(None)));
        assert_eq!(city.numbers.access.as_ref().map(|access| access.to_string()).as_deref(), Some("zipf:1"));
        let ValueSource::Drawn(since) = &customers.columns[2].source else { panic!("{customers:?}") };
        assert_eq!(since.shape, ValueShape::Range(Some((18_262, 18_292))));
        let ValueSource::Drawn(balance) = &customers.columns[3].source else { panic!("{customers:?}") };
        assert_eq!(balance.shape, ValueShape::Histogram(vec![-1_050, 0, 9_925]));
        assert_eq!(
            customers.indexes[0],
            OwnIndex { name: "i1".into(), columns: vec!["city".into(), "id".into()], unique: true }
        );
        assert!(
            matches!(&orders.columns[0].source, ValueSource::Reference { numbers, .. } if numbers.distinct == Distinct::Share(0.25))
        );
    }

    #[test]
    fn what_is_wrong_with_a_table_is_told_with_its_line() {
        let wrong = |from: &str, to: &str| plan(&PLAN.replacen(from, to, 1), 1.0).unwrap_err();
        for (from, to, expected) in [
            ("rows = 1000", "row = 1000", "p.toml:4: unknown key `row` of a table"),
            ("'int', serial", "'nit', serial", "p.toml:7: `type` cannot be `nit`; use one of `smallint`, `int`"),
            ("'char(4)'", "'char(0)'", "p.toml:8: `type` cannot be `char(0)`"),
            ("zipf:1", "zopf", "p.toml:8: `distribution` cannot be `zopf`"),
            ("distinct = 50", "distinct = 0", "p.toml:8: `distinct` cannot be `0`"),
            ("distinct = 50", "distnct = 50", "did you mean `distinct`?"),
            ("'2020-01-01'", "'2020-02-30'", "p.toml:9: `min` cannot be `2020-02-30`; use a day"),
            ("min = '2020-01-01', ", "", "`min` and `max` go together"),
            ("99.25", "99.255", "p.toml:10: `histogram` cannot be `99.255`"),
            ("serial = true", "serial = true, value = 1", "`value` and `serial` exclude each other"),
            ("serial = true", "serial = true, distinct = 3", "`distinct` has no effect with `serial`"),
            ("'customers.id'", "'customers'", "p.toml:16: `references` cannot be `customers`; use `table.column`"),
            ("columns = ['city', 'id'], ", "", "p.toml:12: an index needs `columns`"),
            ("type = 'int', serial", "serial", "p.toml:7: a column needs a `type`"),
            (":customers.city", ":customers.", "write a column as `:table.column`"),
        ] {
            let text = wrong(from, to);
            assert!(text.contains(expected) && !text.contains('\n'), "{text} for {expected}");
        }
        let many = plan(&PLAN.replace("1000", "2000"), 1_000.0).unwrap_err();
        assert_eq!(many, "p.toml:7: too many rows", "the workload judges rows that are scaled");
        let none = plan("workload = 'own'", 1.0).unwrap_err();
        assert!(none.contains("there are no tables; write them in a plan file as `[[table]]`"), "{none}");
        let statements = plan(PLAN.split("[[statement]]").next().unwrap(), 1.0).unwrap_err();
        assert!(statements.contains("workload `own` needs statements"), "{statements}");
    }

    #[test]
    fn a_table_that_is_there_has_a_query_whose_columns_are_read_of_its_text() {
        let found = |keys: &str| {
            let text = format!(
                "workload = 'own'\nexisting = true\n[[table]]\nname = 'orders'\nkeys = '''{keys}'''\n\
                 [[statement]]\nname = 'one'\nsql = 'SELECT 1'"
            );
            Ok::<_, String>(plan(&text, 1.0)?.tables("table")[0].keys.clone().unwrap())
        };
        for (keys, columns) in [
            ("SELECT id FROM orders;", &["id"][..]),
            (
                "select DISTINCT o.id, customer AS c, max(a, b) AS most, `when` t FROM orders o",
                &["id", "c", "most", "t"],
            ),
            ("SELECT (SELECT 1 FROM a) AS x,\ty\nFROM orders", &["x", "y"]),
            ("SELECT \", FROM \" AS x FROM(VALUES (1)) AS v", &["x"]),
        ] {
            let found = found(keys).unwrap();
            let names: Vec<&str> = found.columns.iter().map(String::as_str).collect();
            assert_eq!((found.sql.as_str(), &names[..]), (keys.trim_end_matches(';'), columns));
        }
        for (keys, why) in [
            ("SELECT * FROM orders", "`*` has no name for placeholders; write `SELECT id` or `* AS name`"),
            (
                "SELECT max(id) FROM orders",
                "`max(id)` has no name for placeholders; write `SELECT id` or `max(id) AS name`",
            ),
            ("SELECT id, o.ID FROM orders", "two columns are named `ID`: rename one with `AS`"),
            ("DELETE FROM orders", "write a query of the form `SELECT id FROM orders`"),
            ("SELECT 1", "it has no FROM"),
            ("SELECT id FROM a; SELECT id FROM b", "write one query, without `;` and `?`"),
        ] {
            let refused = found(keys).unwrap_err();
            assert!(refused.starts_with("p.toml:5: keys = `") && refused.contains(why), "{refused}");
        }
        let with = |more: &str| {
            let text =
                format!("workload = 'own'\nexisting = true\n{more}\n[[statement]]\nname = 'one'\nsql = 'SELECT 1'");
            plan(&text, 1.0)
        };
        assert_eq!(with("").unwrap().tables("table"), []);
        for (more, key) in [("rows = 5", "rows"), ("column = [{ name = 'id', type = 'int' }]", "column")] {
            let refused = with(&format!("[[table]]\nname = 'a'\nkeys = 'SELECT id FROM a'\n{more}")).unwrap_err();
            assert!(refused.contains(&format!("`{key}` has no effect with `keys`")), "{refused}");
        }
    }

    #[test]
    fn what_a_plan_has_can_come_back_from_a_run_file() {
        let catalogue = fixture::with_tables();
        let plan = crate::parse(PLAN, "p.toml", &crate::Overrides::default(), 1.0, &catalogue).unwrap();
        assert_eq!(crate::check(&plan, "run", &catalogue), Ok(()));
    }
}
