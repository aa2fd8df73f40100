//! The keys of which each copy of a recording has values of its own, as the server has them: types, highest values, ranges.
//!
//! In: the keys that a user names, control connections to the copy. Out: [`ReplayKeys`], and a fact. Limits: columns of whole
//! numbers. If several databases of PostgreSQL have the table, the highest value of all counts; of several schemas the user names one. A schema that
//! has a table of that name in one database counts as one that has it in all. What the table has is asked before the first statement, so a server
//! that is not restored has the rows of the replay before as its own.

use super::OpFailure;
use super::admin_connection::AdminConnection;
use host::error::TargetError;
use model::{Fact, MovedKeys, REPLAY_KEYS_FACT};
use std::collections::BTreeSet;
use std::sync::Arc;
use workload::replay_sql::{AskedKey, KeyColumn, KeyMover, LogDialect, MovingColumn, MovingKey};

/// What is asked of one kind of server, as SQL.
pub struct KeyWords {
    /// The query for the columns of the table in `{table}`, a literal, in their order: schemas, names, types, 1 if the server makes the values,
    /// how many views these are, and 1 if a connection finds them without the schema. `{in_schema}` is a condition.
    pub columns: &'static str,
    /// The condition if the user names no schema; `{schemas}` are literals of those that statements are in.
    pub in_usual_schema: &'static str,
    /// How a name is written.
    pub quote: fn(&str) -> String,
}

/// The keys of a replay.
pub enum ReplayKeys {
    /// The user names none.
    NoneNamed,
    /// There is one copy, which keeps its values.
    OneCopy,
    /// Those of further copies move.
    Moving(Arc<KeyMover>),
}

impl ReplayKeys {
    pub fn mover(&self) -> Option<Arc<KeyMover>> {
        if let ReplayKeys::Moving(mover) = self { Some(mover.clone()) } else { None }
    }

    pub fn fact(&self) -> Option<Fact> {
        let moved = match self {
            ReplayKeys::NoneNamed => return None,
            ReplayKeys::OneCopy => MovedKeys::default(),
            ReplayKeys::Moving(mover) => mover.moved_keys(),
        };
        Some(Fact::new(REPLAY_KEYS_FACT, moved.to_string()))
    }
}

/// The server, as it is asked about keys.
pub struct KeyServer<'a, A> {
    /// A connection to each catalogue that has the columns of some schemas.
    pub admins: Vec<&'a mut A>,
    pub words: &'a KeyWords,
    pub dialect: LogDialect,
    /// The names of the schemas on the copy.
    pub schemas: &'a [String],
}

/// What the server has of the name of a table.
#[derive(Default)]
struct FoundTables {
    /// The column that is looked for, in each database.
    columns: Vec<FoundColumn>,
    /// The schemas with a table or a view of that name.
    schemas: BTreeSet<String>,
    has_table: bool,
    is_view: bool,
}

/// A column as one of the schemas has it.
struct FoundColumn {
    /// The number of the connection, and the schema.
    there: (usize, String),
    place: usize,
    its_type: String,
    is_made: bool,
    is_visible: bool,
}

impl<A: AdminConnection> KeyServer<'_, A> {
    /// `key` as so many copies move it.
    pub fn moving_key(&mut self, key: &AskedKey, copies: usize) -> Result<MovingKey, TargetError> {
        let (mut columns, mut highest, mut of_first) = (Vec::new(), i64::MAX, Vec::new());
        for named in &key.columns {
            let FoundTables { columns: found, mut schemas, .. } = self.find(named)?;
            for column in &found {
                let no_integer = || refused(&format!("`{named}` is {}: only whole numbers move", column.its_type));
                highest = highest.min(highest_of(&column.its_type).ok_or_else(no_integer)?);
            }
            let Some(FoundColumn { there, place, is_made, is_visible, .. }) = found.first() else { continue };
            let (table, column) = (named.table.clone(), named.column.clone());
            schemas.remove(&there.1);
            let (schema, also_in) = (Some(there.1.clone()), schemas.into_iter().collect());
            let (place, is_made, is_visible) = (*place, *is_made, *is_visible);
            columns.push(MovingColumn { schema, also_in, is_visible, table, column, place, is_made });
            if columns.len() == 1 {
                of_first = found;
            }
        }
        let (above, range) = match key.range {
            Some(range) => (None, checked_range(key, range, highest, copies)?),
            None => {
                let above = self.highest_in(&key.columns[0], &of_first)?;
                (Some(above), usual_range(key, above, highest, copies)?)
            }
        };
        Ok(MovingKey { name: key.to_string(), columns, above, range, highest })
    }

    /// The column in each database that has its table, of one schema.
    fn find(&mut self, named: &KeyColumn) -> Result<FoundTables, TargetError> {
        let schemas: Vec<String> = self.schemas.iter().map(|name| literal(name)).collect();
        let usual = self.words.in_usual_schema.replace("{schemas}", &schemas.join(", "));
        let in_schema = match named.schema.as_ref().map(|schema| format!("table_schema = {}", literal(schema))) {
            // Where PostgreSQL finds a table depends on the others of its name, of which there may be thousands.
            Some(asked) if self.dialect == LogDialect::Postgres => {
                let column = literal(&named.column);
                format!("({asked} OR {usual} AND (ordinal_position = 1 OR column_name = {column}))")
            }
            Some(asked) => asked,
            None => usual,
        };
        let question = self.words.columns.replace("{table}", &literal(&named.table)).replace("{in_schema}", &in_schema);
        let mut found = FoundTables::default();
        for (nth, admin) in self.admins.iter_mut().enumerate() {
            let rows = admin.query_rows(&question).map_err(|error| unanswered(named, error.into()))?;
            found.add(nth, rows, named, self.dialect);
        }
        check_schemas(named, &found.columns)?;
        match (found.columns.is_empty(), found.has_table, found.is_view) {
            (false, ..) => Ok(found),
            (true, true, _) => Err(refused(&format!("table `{}` has no column `{}`", named.table, named.column))),
            (true, false, true) => Err(refused(&format!("`{}` is a view: name its table", named.table))),
            (true, false, false) => {
                Err(refused(&format!("the server has no table `{}` where the statements are", named.table)))
            }
        }
    }

    /// The highest value of a column that was `found`; 0 if there are no rows.
    fn highest_in(&mut self, named: &KeyColumn, found: &[FoundColumn]) -> Result<i64, TargetError> {
        let mut highest = 0;
        for FoundColumn { there: (nth, schema), .. } in found {
            let [schema, table, column] = [schema, &named.table, &named.column].map(|name| (self.words.quote)(name));
            let question = format!("SELECT max({column}) FROM {schema}.{table}");
            let rows = self.admins[*nth].rows_patiently(&question).map_err(|error| unanswered(named, error.into()))?;
            let value = rows.into_iter().flatten().flatten().next();
            // What is beyond an i64 leaves no room, which is reported by who computes the range.
            highest = value.map_or(highest, |value| value.parse::<i64>().unwrap_or(i64::MAX).max(highest));
        }
        Ok(highest)
    }
}

impl FoundTables {
    /// Adds what connection number `nth` has answered about the column that is `named`.
    fn add(&mut self, nth: usize, rows: Vec<Vec<Option<String>>>, named: &KeyColumn, dialect: LogDialect) {
        let (mut place, mut last) = (0, String::new());
        for row in rows {
            let row = <[Option<String>; 6]>::try_from(row);
            let Ok([Some(schema), Some(column), Some(its_type), made, views, visible]) = row else { continue };
            self.schemas.insert(schema.clone());
            // MySQL has been asked about this schema only.
            let is_asked = named.schema.as_ref().is_none_or(|asked| dialect == LogDialect::Mysql || *asked == schema);
            if !is_asked {
                continue;
            }
            if views.is_some_and(|views| views != "0") {
                self.is_view = true;
                continue;
            }
            self.has_table = true;
            place = if schema == last { place + 1 } else { 0 };
            last.clone_from(&schema);
            if dialect.sql().is_same_name(&column, &named.column) {
                let [is_made, is_visible] = [made, visible].map(|it| it.as_deref() == Some("1"));
                self.columns.push(FoundColumn { there: (nth, schema), place, its_type, is_made, is_visible });
            }
        }
    }
}

/// Refuses a column of which it is not known in which of several schemas it is: each has values of its own.
fn check_schemas(named: &KeyColumn, found: &[FoundColumn]) -> Result<(), TargetError> {
    let schemas: BTreeSet<&str> = found.iter().map(|column| column.there.1.as_str()).collect();
    let Some(first) = schemas.first().filter(|_| schemas.len() > 1) else { return Ok(()) };
    let listed: Vec<String> = schemas.iter().map(|schema| format!("`{schema}`")).collect();
    Err(refused(&format!(
        "`{named}` is in {} schemas: {}; name one, such as `{first}.{named}`",
        listed.len(),
        listed.join(", ")
    )))
}

fn literal(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
}

fn refused(why: &str) -> TargetError {
    TargetError::Unsupported(format!("keys: {why}"))
}

fn unanswered(named: &KeyColumn, failure: OpFailure) -> TargetError {
    TargetError::Failed(format!("keys: the server did not answer about `{named}`: {}", failure.text))
}

/// The highest value of a type as a catalogue writes it; `None` if it is none of whole numbers. Beyond what an i64 holds nothing moves.
fn highest_of(written: &str) -> Option<i64> {
    let written = written.to_ascii_lowercase();
    let bits = match written.split([' ', '(']).next().unwrap_or_default() {
        "tinyint" => 8,
        "smallint" => 16,
        "mediumint" => 24,
        "int" | "integer" => 32,
        "bigint" => 64,
        _ => return None,
    };
    let is_signed = !written.contains("unsigned");
    let values = 1u128 << (bits - u32::from(is_signed));
    Some(i64::try_from(values - 1).unwrap_or(i64::MAX))
}

/// The range that the user names, if the columns have room for it.
fn checked_range(key: &AskedKey, range: i64, highest: i64, copies: usize) -> Result<i64, TargetError> {
    let has_room = range.checked_mul(copies as i64 - 1).is_some_and(|last| last < highest);
    has_room.then_some(range).ok_or_else(|| {
        refused(&format!(
            "`{key}` holds values up to {highest}, which is no room for {copies} copies of {range} values"
        ))
    })
}

/// The largest power of ten of which there is one for each copy above the highest value of the table.
fn usual_range(key: &AskedKey, above: i64, highest: i64, copies: usize) -> Result<i64, TargetError> {
    let room = highest.saturating_sub(above) / copies as i64;
    let range = room.checked_ilog10().map(|zeros| 10i64.pow(zeros));
    range.ok_or_else(|| {
        refused(&format!(
            "`{key}` holds values up to {highest}, and the table has {above}: there is no room for {copies} copies above it"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> AskedKey {
        let column = KeyColumn { schema: None, table: "orders".to_owned(), column: "id".to_owned() };
        AskedKey { columns: vec![column], range: None }
    }

    #[test]
    fn types_of_whole_numbers_have_a_highest_value() {
        for (written, highest) in [
            ("tinyint(4)", Some(127)),
            ("smallint", Some(32_767)),
            ("mediumint(8) unsigned", Some(16_777_215)),
            ("int(11)", Some(i32::MAX.into())),
            ("INT UNSIGNED", Some(u32::MAX.into())),
            ("integer", Some(i32::MAX.into())),
            ("bigint(20)", Some(i64::MAX)),
            ("bigint unsigned", Some(i64::MAX)),
            ("varchar(20)", None),
            ("numeric", None),
            ("interval", None),
        ] {
            assert_eq!(highest_of(written), highest, "{written}");
        }
    }

    #[test]
    fn each_copy_has_a_power_of_ten_above_what_the_table_has() {
        let range = |above, highest, copies| usual_range(&key(), above, highest, copies).map_err(|why| why.to_string());
        assert_eq!(range(120_000, i32::MAX.into(), 3), Ok(100_000_000));
        assert_eq!(range(0, i64::MAX, 4), Ok(1_000_000_000_000_000_000));
        assert_eq!(range(32_760, 32_767, 7), Ok(1));
        for above in [32_761, 32_767, i64::MAX] {
            let why = range(above, 32_767, 7).unwrap_err();
            assert_eq!(
                why,
                format!(
                    "keys: `orders.id` holds values up to 32767, and the table has {above}: there is no room for 7 copies above it"
                )
            );
        }
    }

    #[test]
    fn a_range_that_is_named_must_fit_into_the_column_once_for_each_copy() {
        let range = |range, copies| checked_range(&key(), range, 32_767, copies).map_err(|why| why.to_string());
        assert_eq!(range(10_000, 3), Ok(10_000));
        let why = "keys: `orders.id` holds values up to 32767, which is no room for 4 copies of 20000 values";
        assert_eq!(range(20_000, 4), Err(why.to_owned()));
        assert!(range(i64::MAX, 9).is_err());
    }

    #[test]
    fn the_other_schemas_with_a_table_of_the_name_are_known() {
        let row = |words: [&str; 6]| words.map(|word| Some(word.to_owned())).to_vec();
        let rows = || {
            vec![
                row(["crm", "id", "bigint", "0", "0", "0"]),
                row(["shop", "customer", "integer", "0", "0", "1"]),
                row(["shop", "id", "bigint", "0", "0", "1"]),
                row(["views", "id", "bigint", "0", "1", "0"]),
            ]
        };
        let found_in = |schema: &str| {
            let named = KeyColumn { schema: Some(schema.to_owned()), ..key().columns.remove(0) };
            let mut found = FoundTables::default();
            found.add(0, rows(), &named, LogDialect::Postgres);
            found
        };
        let found = found_in("shop");
        assert_eq!(found.schemas.iter().collect::<Vec<_>>(), ["crm", "shop", "views"]);
        let columns = found.columns.iter().map(|it| (it.there.1.as_str(), it.place, it.is_visible));
        assert_eq!((columns.collect::<Vec<_>>(), found.is_view), (vec![("shop", 1, true)], false));
        assert!(!found_in("crm").columns[0].is_visible);
        let found = found_in("views");
        assert!(found.columns.is_empty() && found.is_view && !found.has_table);
    }

    #[test]
    fn a_key_in_several_schemas_needs_the_name_of_one() {
        let found = |schemas: &[&str]| -> Vec<FoundColumn> {
            let column = |(nth, schema): (usize, &&str)| FoundColumn {
                there: (nth, (*schema).to_owned()),
                place: 0,
                its_type: "bigint".to_owned(),
                is_made: false,
                is_visible: false,
            };
            schemas.iter().enumerate().map(column).collect()
        };
        let checked =
            |schemas: &[&str]| check_schemas(&key().columns[0], &found(schemas)).map_err(|why| why.to_string());
        assert_eq!(checked(&["public"]), Ok(()));
        assert_eq!(checked(&["public", "public"]), Ok(()), "of two databases");
        let why = "keys: `orders.id` is in 2 schemas: `crm`, `public`; name one, such as `crm.orders.id`";
        assert_eq!(checked(&["public", "crm", "public"]), Err(why.to_owned()));
    }

    #[test]
    fn one_copy_tells_that_it_keeps_its_values() {
        assert_eq!(ReplayKeys::NoneNamed.fact(), None);
        assert_eq!(ReplayKeys::OneCopy.fact(), Some(Fact::new(REPLAY_KEYS_FACT, "none: one copy keeps its values")));
        assert!(ReplayKeys::OneCopy.mover().is_none());
    }
}
