//! Tables of the user's own as the text of a plan file: what [`crate::tables`] reads, written.
//!
//! In: tables. Out: `[[table]]` blocks that are read as the same tables. Limits: a column is one line, however long.

use model::own_table::{
    ColumnKind, Distinct, DrawnValues, OwnColumn, OwnConstant, OwnIndex, OwnTable, PartitionRule, ValueNumbers,
    ValueShape, ValueSource,
};
use std::fmt::Write as _;

/// The blocks of `tables`, each behind the comment lines that `comments` has for it.
pub fn tables_text(tables: &[OwnTable], comments: impl Fn(&OwnTable) -> Vec<String>) -> String {
    let mut text = String::new();
    for table in tables {
        let comments: String =
            comments(table).iter().map(|line| format!("# {}\n", crate::error::printable(line))).collect();
        let _ = write!(text, "\n{comments}[[table]]\nname = {}\nrows = {}\n", quoted(&table.name), table.rows);
        if !table.primary_key.is_empty() {
            let _ = writeln!(text, "primary_key = {}", name_list(&table.primary_key));
        }
        let columns: String =
            table.columns.iter().map(|column| format!("  {{ {} }},\n", column_text(column))).collect();
        let _ = write!(text, "column = [\n{columns}]\n");
        if !table.indexes.is_empty() {
            let indexes: String =
                table.indexes.iter().map(|index| format!("  {{ {} }},\n", index_text(index))).collect();
            let _ = write!(text, "index = [\n{indexes}]\n");
        }
        if let Some(partitions) = &table.partitions {
            let by = if partitions.by == PartitionRule::Range { "range" } else { "hash" };
            let (column, count) = (quoted(&partitions.column), partitions.count);
            let _ = writeln!(text, "partitions = {{ by = \"{by}\", column = {column}, count = {count} }}");
        }
    }
    text
}

/// `text` as a value of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

fn name_list(names: &[String]) -> String {
    match names {
        [one] => quoted(one),
        several => list(several.iter().map(|name| quoted(name))),
    }
}

fn index_text(index: &OwnIndex) -> String {
    let unique = if index.unique { ", unique = true" } else { "" };
    format!("name = {}, columns = {}{unique}", quoted(&index.name), list(index.columns.iter().map(|name| quoted(name))))
}

fn column_text(column: &OwnColumn) -> String {
    let mut text = format!("name = {}, type = \"{}\"", quoted(&column.name), column.kind);
    text += &source_text(&column.source, column.kind);
    if column.nulls > 0.0 {
        let _ = write!(text, ", nulls = {}", column.nulls);
    }
    if column.not_null {
        text += ", not_null = true";
    }
    text
}

fn source_text(source: &ValueSource, kind: ColumnKind) -> String {
    match source {
        ValueSource::Constant(OwnConstant::Units(units)) => format!(", value = {}", units_text(*units, kind)),
        ValueSource::Constant(OwnConstant::Bool(truth)) => format!(", value = {truth}"),
        ValueSource::Constant(OwnConstant::Text(constant)) => format!(", value = {}", quoted(constant)),
        ValueSource::Serial => ", serial = true".into(),
        ValueSource::Reference { table, column, numbers } => {
            format!(", references = {}{}", quoted(&format!("{table}.{column}")), numbers_text(numbers))
        }
        ValueSource::Computed { column, times, from, to } => {
            let bounds = list([*from, *to].into_iter().map(|units| difference_text(units, kind)));
            format!(", computed_from = {}, times = {times}, plus = {bounds}", quoted(column))
        }
        ValueSource::Drawn(drawn) => drawn_text(drawn, kind),
    }
}

fn drawn_text(drawn: &DrawnValues, kind: ColumnKind) -> String {
    let mut text = match &drawn.shape {
        ValueShape::Range(None) | ValueShape::Length(None) | ValueShape::Truths => String::new(),
        ValueShape::Range(Some((least, most))) => {
            format!(", min = {}, max = {}", units_text(*least, kind), units_text(*most, kind))
        }
        ValueShape::Histogram(bounds) => {
            format!(", histogram = {}", list(bounds.iter().map(|units| units_text(*units, kind))))
        }
        ValueShape::Texts(texts) => format!(", values = {}", list(texts.iter().map(|text| quoted(text)))),
        ValueShape::Length(Some((least, most))) if least == most => format!(", length = {least}"),
        ValueShape::Length(Some((least, most))) => format!(", length = [{least}, {most}]"),
    };
    text += &numbers_text(&drawn.numbers);
    if let Some(on) = &drawn.depends_on {
        let _ = write!(text, ", depends_on = {}, dependence = {}", quoted(&on.column), on.share);
    }
    text
}

fn numbers_text(numbers: &ValueNumbers) -> String {
    let mut text = match numbers.distinct {
        Distinct::Natural => String::new(),
        Distinct::All => ", distinct = \"all\"".into(),
        Distinct::Count(count) => format!(", distinct = {count}"),
        // A tenth of a billionth of a percent is the noise of a product.
        Distinct::Share(share) => format!(", distinct = \"{}%\"", (share * 1e12).round() / 1e10),
    };
    if !numbers.common.is_empty() {
        let _ = write!(text, ", common = {}", list(numbers.common.iter().map(f64::to_string)));
    }
    if let Some(access) = &numbers.access {
        let _ = write!(text, ", distribution = \"{access}\"");
    }
    if numbers.correlation != 0.0 {
        let _ = write!(text, ", correlation = {}", numbers.correlation);
    }
    text
}

/// A number, or a date in quotes.
fn units_text(units: i64, kind: ColumnKind) -> String {
    let text = kind.text_of(units);
    if matches!(kind, ColumnKind::Date | ColumnKind::DateTime) { format!("\"{text}\"") } else { text }
}

/// A difference of two values: days and seconds are numbers.
fn difference_text(units: i64, kind: ColumnKind) -> String {
    match kind {
        ColumnKind::Date | ColumnKind::DateTime => units.to_string(),
        other => other.text_of(units),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    const TABLES: &str = "
[[table]]
name = 'order'
rows = 1000
primary_key = ['id', 'nth']
column = [
  { name = 'id', type = 'int', references = 'c.id', correlation = 0.5, common = [0.25, 0.125] },
  { name = 'nth', type = 'smallint', serial = true },
  { name = 'state', type = 'varchar(9)', values = ['a\"b', 'c'], common = [0.9, 0.1], nulls = 0.1 },
  { name = 'day', type = 'date', min = '2020-01-01', max = '2020-01-31', not_null = true },
  { name = 'due', type = 'date', computed_from = 'day', plus = [1, 30] },
  { name = 'price', type = 'decimal(8,2)', histogram = [-10.5, 0, 99.25], distinct = '7%' },
  { name = 'tax', type = 'decimal(8,2)', computed_from = 'price', times = 2, plus = 0.5 },
  { name = 'ok', type = 'boolean', value = true },
  { name = 'zip', type = 'char(5)', length = [2, 5], distinct = 7, depends_on = 'state', dependence = 0.5 },
  { name = 'x', type = 'double', value = -1.5 },
  { name = 'y', type = 'text', distribution = 'zipf:0.5', distinct = 'all' },
]
index = [{ columns = ['day', 'id'], unique = true, name = 'u' }, { columns = ['zip'] }]
partitions = { by = 'hash', column = 'id', count = 4 }
[[table]]
name = 'c'
rows = 0
column = [{ name = 'id', type = 'int', serial = true }]
";

    fn tables(text: &str) -> Vec<OwnTable> {
        let text = format!("workload = 'own'\n{text}[[statement]]\nname = 'x'\nsql = 'SELECT 1'\n");
        let plan = crate::parse(&text, "p.toml", &crate::Overrides::default(), 1.0, &fixture::with_tables());
        plan.expect("a valid plan").trials[0].workload.params.tables("table").to_vec()
    }

    #[test]
    fn what_is_written_is_read_as_the_same_tables() {
        let all = tables(TABLES);
        let text = tables_text(&all, |table| vec![format!("about\n{}", table.name)]);
        assert_eq!(tables(&text), all, "{text}");
        assert!(text.contains("distinct = \"7%\""), "{text}");
        assert!(text.starts_with("\n# about\\norder\n[[table]]\n"), "{text}");
    }
}
