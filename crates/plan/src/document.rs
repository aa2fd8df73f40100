//! The text of a plan file: its keys and values, with their lines. Nothing is judged yet.
//!
//! In: TOML text. Out: a [`Document`] of [`WrittenSetting`]s in the order of the file, every value as text with its place.
//! Limits: at most 1 MiB. Numbers and truths become text again here, so that a value means the same in a file and on the
//! command line; what a key may hold is judged in one place, when its value is read.

use crate::background;
use crate::error::{Place, PlanError, printable, shown};
use crate::statements::{self, WrittenOp};
use crate::tables::{self, WrittenTable};
use crate::variants::{self, DATA, VARIANT, WrittenBlock};
use model::BACKGROUND;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const TEXT_BYTES_MAX: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Document<'a> {
    pub(crate) place: Place<'a>,
    pub(crate) name: Option<Written<'a>>,
    pub(crate) title: Option<Written<'a>>,
    pub(crate) question: Option<Written<'a>>,
    pub(crate) compare: Option<Written<'a>>,
    pub(crate) over: Option<Written<'a>>,
    /// The keys outside of sweeps: defaults of all sweeps.
    pub(crate) defaults: Vec<WrittenSetting<'a>>,
    pub(crate) sweeps: Vec<SweepTable<'a>>,
}

impl<'a> Document<'a> {
    /// A plan without keys.
    pub(crate) fn empty(place: Place<'a>) -> Self {
        Document {
            place,
            name: None,
            title: None,
            question: None,
            compare: None,
            over: None,
            defaults: Vec::new(),
            sweeps: Vec::new(),
        }
    }
}

/// One `[[sweep]]`.
#[derive(Debug)]
pub(crate) struct SweepTable<'a> {
    pub(crate) place: Place<'a>,
    pub(crate) settings: Vec<WrittenSetting<'a>>,
}

/// A key with its values: several if a list was written.
#[derive(Clone, Debug)]
pub(crate) struct WrittenSetting<'a> {
    pub(crate) key: String,
    pub(crate) place: Place<'a>,
    pub(crate) values: Vec<Written<'a>>,
}

/// One value as text, with its place.
#[derive(Clone, Debug)]
pub(crate) struct Written<'a> {
    pub(crate) key: String,
    pub(crate) text: String,
    pub(crate) place: Place<'a>,
}

impl Written<'_> {
    /// The error that this value is not what the key takes.
    pub(crate) fn refused(&self, takes: impl std::fmt::Display) -> PlanError {
        let why = match self.text.as_str() {
            "" => "has an empty value".to_owned(),
            text => format!("cannot be `{}`", shown(text)),
        };
        self.place.error_of(&self.key, format_args!("{why}; use {takes}"))
    }
}

/// Reads the plan file `text`, called `origin` in messages.
pub(crate) fn read_document<'a>(text: &str, origin: &'a str) -> Result<Document<'a>, PlanError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(Place::File(origin).error("the plan has more than 1 MiB"));
    }
    let lines = Lines::new(text, origin);
    let table = DeTable::parse(text).map_err(|error| not_toml(&error, text, &lines))?;
    let mut document = Document::empty(Place::File(origin));
    for (key, value) in in_order(table.get_ref()) {
        match key.get_ref().as_ref() {
            "name" => document.name = Some(lines.read_string("name", value)?),
            "title" => document.title = Some(lines.read_string("title", value)?),
            "question" => document.question = Some(lines.read_string("question", value)?),
            "compare" => document.compare = Some(lines.read_string("compare", value)?),
            "over" => document.over = Some(lines.read_string("over", value)?),
            "sweep" => document.sweeps = lines.read_sweeps(value)?,
            statements::KEY => document.defaults.extend(lines.read_statements(value)?),
            BACKGROUND => document.defaults.extend(lines.read_background(value)?),
            tables::KEY => document.defaults.extend(lines.read_tables(value)?),
            VARIANT => document.defaults.extend(lines.read_blocks(VARIANT, value)?),
            DATA => document.defaults.extend(lines.read_blocks(DATA, value)?),
            _ => document.defaults.extend(lines.read_settings(key, value)?),
        }
    }
    Ok(document)
}

fn not_toml(error: &toml::de::Error, text: &str, lines: &Lines<'_>) -> PlanError {
    let at = error.span().map_or(0, |span| span.start).min(text.len());
    let line = text.lines().nth(lines.line_number(at) - 1).unwrap_or_default();
    lines.place_of(at..at).error(why_not_toml(line.trim(), error.message()))
}

/// What is wrong with `line`, without the terms of the grammar of TOML, as far as the mistake can be recognised.
fn why_not_toml(line: &str, message: &str) -> String {
    let (key, value) = line.split_once('=').map_or((line, ""), |(key, value)| (key.trim(), value.trim()));
    let bare = value.split('#').next().unwrap_or_default().trim();
    if message.contains("duplicate key") {
        format!("`{}` is set twice; remove one", shown(key))
    } else if !key.contains(' ') && needs_quotes(bare) {
        format!("`{bare}` needs quotes: `{key} = \"{bare}\"`", bare = shown(bare), key = shown(key))
    } else if message.contains("string") {
        format!("`{}` lacks a quote", shown(line))
    } else if !line.contains('=') {
        format!("`{}` is not `key = value`", shown(line))
    } else {
        format!("`{}` is not TOML: {}", shown(line), printable(message))
    }
}

/// Whether `value` is a word, a size, a time or a range without quotes.
fn needs_quotes(value: &str) -> bool {
    let is_other = value.starts_with(['"', '\'', '[', '{']) || ["true", "false"].contains(&value);
    let is_text = value.contains("..") || value.contains(char::is_alphabetic);
    is_text && !is_other && value.parse::<f64>().is_err()
}

type TomlKey<'t> = Spanned<toml::de::DeString<'t>>;
type TomlValue<'t> = Spanned<DeValue<'t>>;

/// The entries in the order of the file (the parser sorts them by name).
fn in_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t TomlKey<'i>, &'t TomlValue<'i>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Where the lines of the file begin.
struct Lines<'a> {
    origin: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &str, origin: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Lines { origin, starts }
    }

    fn line_number(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at)
    }

    fn place_of(&self, span: Range<usize>) -> Place<'a> {
        Place::Line { origin: self.origin, line: self.line_number(span.start) }
    }

    fn read_sweeps(&self, value: &TomlValue<'_>) -> Result<Vec<SweepTable<'a>>, PlanError> {
        let refused = |value: &TomlValue<'_>| {
            self.place_of(value.span()).error("`sweep` is not a list of tables: begin each sweep with `[[sweep]]`")
        };
        let list = value.get_ref().as_array().ok_or_else(|| refused(value))?;
        let sweep = |value: &TomlValue<'_>| {
            let table = value.get_ref().as_table().ok_or_else(|| refused(value))?;
            let settings = in_order(table).into_iter().map(|(key, value)| match key.get_ref().as_ref() {
                statements::KEY => Ok(self.read_statements(value)?.into_iter().collect()),
                BACKGROUND => Ok(self.read_background(value)?.into_iter().collect()),
                tables::KEY => Ok(self.read_tables(value)?.into_iter().collect()),
                VARIANT => Ok(self.read_blocks(VARIANT, value)?.into_iter().collect()),
                DATA => Ok(self.read_blocks(DATA, value)?.into_iter().collect()),
                _ => self.read_settings(key, value),
            });
            let settings: Vec<Vec<_>> = settings.collect::<Result<_, _>>()?;
            Ok(SweepTable { place: self.place_of(value.span()), settings: settings.concat() })
        };
        list.iter().map(sweep).collect()
    }

    /// The statements of the user's own as one setting.
    fn read_statements(&self, value: &TomlValue<'_>) -> Result<Option<WrittenSetting<'a>>, PlanError> {
        let text = "`statement` is not a list of tables: begin each statement with `[[statement]]`";
        statements::setting_of_tables(&self.read_ops(text, value)?)
    }

    /// The statements for the background as one setting.
    fn read_background(&self, value: &TomlValue<'_>) -> Result<Option<WrittenSetting<'a>>, PlanError> {
        let text = "`background` is not a list of tables: begin each entry with `[[background]]`";
        background::setting_of_tables(&self.read_ops(text, value)?)
    }

    /// The tables in `value`; `refusal` if it is none.
    fn read_ops(&self, refusal: &str, value: &TomlValue<'_>) -> Result<Vec<WrittenOp<'a>>, PlanError> {
        let refused = |value: &TomlValue<'_>| self.place_of(value.span()).error(refusal);
        let list = value.get_ref().as_array().ok_or_else(|| refused(value))?;
        list.iter()
            .map(|value| {
                let table = value.get_ref().as_table().ok_or_else(|| refused(value))?;
                let settings =
                    in_order(table).into_iter().map(|(key, value)| self.read_setting(key.get_ref(), key, value));
                Ok(WrittenOp { place: self.place_of(value.span()), settings: settings.collect::<Result<_, _>>()? })
            })
            .collect()
    }

    /// The tables of the user's own as one setting.
    fn read_tables(&self, value: &TomlValue<'_>) -> Result<Option<WrittenSetting<'a>>, PlanError> {
        let refused = |value: &TomlValue<'_>| {
            self.place_of(value.span()).error("`table` is not a list of tables: begin each with `[[table]]`")
        };
        let list = value.get_ref().as_array().ok_or_else(|| refused(value))?;
        let written = |value: &TomlValue<'_>| {
            let table = value.get_ref().as_table().ok_or_else(|| refused(value))?;
            self.read_table(value, table)
        };
        tables::setting_of_tables(&list.iter().map(written).collect::<Result<Vec<_>, PlanError>>()?)
    }

    /// One of them: its columns, indexes and partitions are tables in it.
    fn read_table(&self, value: &TomlValue<'_>, table: &DeTable<'_>) -> Result<WrittenTable<'a>, PlanError> {
        let (mut settings, mut columns, mut indexes, mut partitions) = (Vec::new(), Vec::new(), Vec::new(), None);
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "column" => columns = self.read_inner_list("column", value)?,
                "index" => indexes = self.read_inner_list("index", value)?,
                "partitions" => partitions = Some(self.read_inner("partitions", value)?),
                name => settings.push(self.read_setting(name, key, value)?),
            }
        }
        Ok(WrittenTable { place: self.place_of(value.span()), settings, columns, indexes, partitions })
    }

    fn read_inner_list(&self, name: &str, value: &TomlValue<'_>) -> Result<Vec<WrittenBlock<'a>>, PlanError> {
        let list = value.get_ref().as_array();
        let refused =
            || self.place_of(value.span()).error(format_args!("`{name}` is a list: `{name} = [{{ ... }}, ...]`"));
        list.ok_or_else(refused)?.iter().map(|value| self.read_inner(name, value)).collect()
    }

    fn read_inner(&self, name: &str, value: &TomlValue<'_>) -> Result<WrittenBlock<'a>, PlanError> {
        let table = value.get_ref().as_table();
        let refused =
            || self.place_of(value.span()).error(format_args!("each `{name}` is written `{{ key = value, ... }}`"));
        let settings = in_order(table.ok_or_else(refused)?).into_iter();
        let settings = settings.map(|(key, value)| self.read_setting(key.get_ref(), key, value));
        Ok(WrittenBlock { place: self.place_of(value.span()), settings: settings.collect::<Result<_, _>>()? })
    }

    /// Variants or data sets as one setting with a value for each.
    fn read_blocks(&self, kind: &'static str, value: &TomlValue<'_>) -> Result<Option<WrittenSetting<'a>>, PlanError> {
        let refused = |value: &TomlValue<'_>| {
            let text = format_args!("`{kind}` is not a list of tables: begin each with `[[{kind}]]`");
            self.place_of(value.span()).error(text)
        };
        let list = value.get_ref().as_array().ok_or_else(|| refused(value))?;
        let written = |value: &TomlValue<'_>| {
            let table = value.get_ref().as_table().ok_or_else(|| refused(value))?;
            let settings = in_order(table).into_iter().map(|(key, value)| self.read_settings(key, value));
            let settings: Vec<Vec<_>> = settings.collect::<Result<_, _>>()?;
            Ok(WrittenBlock { place: self.place_of(value.span()), settings: settings.concat() })
        };
        variants::setting_of_tables(kind, &list.iter().map(written).collect::<Result<Vec<_>, PlanError>>()?)
    }

    /// One setting; those of a table, `server.variable = 1`, with both names.
    fn read_settings(&self, key: &TomlKey<'_>, value: &TomlValue<'_>) -> Result<Vec<WrittenSetting<'a>>, PlanError> {
        let name = key.get_ref().as_ref();
        let DeValue::Table(table) = value.get_ref() else { return Ok(vec![self.read_setting(name, key, value)?]) };
        if table.is_empty() {
            let text = format_args!("`{}` is an empty table: name at least one key in it", shown(name));
            return Err(self.place_of(key.span()).error(text));
        }
        let inner = in_order(table).into_iter();
        inner.map(|(key, value)| self.read_setting(&format!("{name}.{}", key.get_ref()), key, value)).collect()
    }

    fn read_setting(
        &self,
        name: &str,
        key: &TomlKey<'_>,
        value: &TomlValue<'_>,
    ) -> Result<WrittenSetting<'a>, PlanError> {
        let values = match value.get_ref() {
            DeValue::Array(list) => list.iter().map(|value| self.read_scalar(name, value)).collect::<Result<_, _>>()?,
            _ => vec![self.read_scalar(name, value)?],
        };
        let place = self.place_of(key.span());
        if values.is_empty() {
            return Err(place.error(format_args!("`{}` is an empty list: name at least one value", shown(name))));
        }
        Ok(WrittenSetting { key: name.to_owned(), place, values })
    }

    fn read_string(&self, name: &str, value: &TomlValue<'_>) -> Result<Written<'a>, PlanError> {
        match value.get_ref() {
            DeValue::String(_) => self.read_scalar(name, value),
            _ => Err(self.place_of(value.span()).error(format_args!("`{}` must be text in quotes", shown(name)))),
        }
    }

    fn read_scalar(&self, name: &str, value: &TomlValue<'_>) -> Result<Written<'a>, PlanError> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => decimal_digits(number),
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Boolean(truth) => truth.to_string(),
            DeValue::Datetime(_) => return Err(self.wrong_type(name, value, "a date")),
            DeValue::Array(_) => return Err(self.wrong_type(name, value, "a list of lists")),
            DeValue::Table(_) => return Err(self.wrong_type(name, value, "a table")),
        };
        Ok(Written { key: name.to_owned(), text, place: self.place_of(value.span()) })
    }

    fn wrong_type(&self, name: &str, value: &TomlValue<'_>, found: &str) -> PlanError {
        let takes = "text in quotes, a number, `true` or `false`, or a list of these";
        self.place_of(value.span()).error(format_args!("`{}` cannot be {found}; use {takes}", shown(name)))
    }
}

/// The number in decimal digits; as written if no integer can hold it, and then refused as a value.
fn decimal_digits(number: &toml::de::DeInteger<'_>) -> String {
    i128::from_str_radix(number.as_str(), number.radix()).map_or_else(|_| number.to_string(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(settings: &[WrittenSetting<'_>]) -> Vec<String> {
        let shown = |s: &WrittenSetting<'_>| {
            let values: Vec<&str> = s.values.iter().map(|v| v.text.as_str()).collect();
            format!("{} {} = {}", s.place, s.key, values.join(" | "))
        };
        settings.iter().map(shown).collect()
    }

    #[test]
    fn settings_keep_the_order_of_the_file_and_know_their_lines() {
        let text =
            "title = 'T'\nseed = 0x10\n\n[[sweep]]\nworkload = 'w'\nclients = [1, '2..8']\n[[sweep]]\nrate = 1.5\n";
        let document = read_document(text, "p.toml").expect("a valid plan file");
        assert_eq!(texts(&document.defaults), ["p.toml:2 seed = 16"]);
        let sweeps: Vec<String> = document.sweeps.iter().map(|sweep| sweep.place.to_string()).collect();
        assert_eq!(sweeps, ["p.toml:4", "p.toml:7"]);
        assert_eq!(texts(&document.sweeps[0].settings), ["p.toml:5 workload = w", "p.toml:6 clients = 1 | 2..8"]);
        assert_eq!(texts(&document.sweeps[1].settings), ["p.toml:8 rate = 1.5"]);
    }

    #[test]
    fn a_value_of_a_list_over_several_lines_has_its_own_line() {
        let document = read_document("clients = [\n  1,\n  2,\n]\n", "p.toml").expect("a valid plan file");
        let places: Vec<String> = document.defaults[0].values.iter().map(|v| v.place.to_string()).collect();
        assert_eq!(places, ["p.toml:2", "p.toml:3"]);
    }
}
