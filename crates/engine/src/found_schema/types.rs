//! The types of columns that engines have, each with the type of a plan that takes its place.
//!
//! In: a type as a catalogue writes it. Out: [`FoundType`]. The table [`TYPES`] is the one place for a type: those of MySQL up to 9, MariaDB
//! up to 11, PostgreSQL up to 18 (what `pg_type` lists in `pg_catalog`) and SQLite. Limits: a plan makes whole numbers, fractions, decimals,
//! truths, texts, dates and moments. What is none of these is made as the one that needs about as many bytes, and the note says which.

use model::own_table::ColumnKind;

/// A type as it is made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundType {
    pub(crate) kind: ColumnKind,
    pub(crate) reading: Reading,
    /// The note that it is another, if it is.
    pub(crate) note: Option<String>,
}

/// How values are read to find their statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As they are: numbers, dates; of texts a hash and the length.
    #[default]
    Plain,
    /// A time as its seconds.
    Seconds,
    /// Bits as the number that they are.
    Bits,
    /// The hash and the length of its binary form.
    Geometry,
    /// The hash and the length of its digits.
    Digits,
}

/// What takes the place of a type.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Boolean,
    SmallInt,
    Int,
    BigInt,
    Real,
    Double,
    /// With the digits that are declared, as far as a plan has them.
    Decimal,
    /// With the length that is declared.
    Char,
    VarChar,
    Text,
    /// Of a length that the type itself has.
    CharOf(u16),
    VarCharOf(u16),
    Date,
    DateTime,
    Money,
}

/// Names of types that are the same here.
const SAME: [(&[&str], Place); 13] = [
    (&["boolean", "bool"], Place::Boolean),
    (&["smallint", "int2", "smallserial"], Place::SmallInt),
    (&["int", "integer", "int4", "serial"], Place::Int),
    (&["bigint", "int8", "bigserial"], Place::BigInt),
    (&["real", "float", "float4"], Place::Real),
    (&["double", "double precision", "float8"], Place::Double),
    (&["decimal", "numeric", "dec", "fixed"], Place::Decimal),
    (&["char", "character"], Place::Char),
    (&["varchar", "character varying"], Place::VarChar),
    (&["text"], Place::Text),
    (&["date"], Place::Date),
    (&["datetime"], Place::DateTime),
    (&["timestamp", "timestamp without time zone"], Place::DateTime),
];

/// Names of types that become others, with how their values are read, and what is another about them.
const TYPES: [(&[&str], Place, Reading, &str); 27] = [
    (&["tinyint", "year", "int1"], Place::SmallInt, Reading::Plain, ""),
    (&["mediumint", "int3", "middleint"], Place::Int, Reading::Plain, ""),
    (&["bit", "bit varying", "varbit"], Place::BigInt, Reading::Bits, "its bits as a number"),
    (&["time", "time without time zone"], Place::Int, Reading::Seconds, "its seconds"),
    (&["time with time zone", "timetz"], Place::Int, Reading::Seconds, "its seconds, without the zone"),
    (&["interval"], Place::Int, Reading::Seconds, "its seconds"),
    (&["timestamp with time zone", "timestamptz"], Place::DateTime, Reading::Plain, "without the zone"),
    (&["money", "smallmoney"], Place::Money, Reading::Plain, "the amount"),
    (&["uuid"], Place::CharOf(36), Reading::Digits, ""),
    (&["inet4"], Place::VarCharOf(15), Reading::Digits, ""),
    (&["inet6"], Place::VarCharOf(39), Reading::Digits, ""),
    (&["inet", "cidr"], Place::VarCharOf(49), Reading::Plain, ""),
    (&["macaddr"], Place::CharOf(17), Reading::Plain, ""),
    (&["macaddr8"], Place::CharOf(23), Reading::Plain, ""),
    (&["binary"], Place::Char, Reading::Plain, "letters in place of bytes"),
    (&["varbinary"], Place::VarChar, Reading::Plain, "letters in place of bytes"),
    (
        &["tinyblob", "blob", "mediumblob", "longblob", "bytea", "vector", "raw"],
        Place::Text,
        Reading::Digits,
        "letters in place of bytes",
    ),
    (&["enum", "set"], Place::VarCharOf(64), Reading::Plain, "words of the same number and lengths"),
    (&["nchar", "national char", "national character", "bpchar", "\"char\""], Place::Char, Reading::Plain, ""),
    (&["nvarchar", "varchar2", "national varchar", "character large object"], Place::VarChar, Reading::Plain, ""),
    (&["name", "refcursor"], Place::VarCharOf(63), Reading::Plain, ""),
    (
        &["tinytext", "mediumtext", "longtext", "clob", "citext", "long", "long varchar"],
        Place::Text,
        Reading::Plain,
        "",
    ),
    (
        &["json", "jsonb", "jsonpath", "xml", "xmltype", "hstore", "ltree", "tsvector", "tsquery", "gtsvector"],
        Place::Text,
        Reading::Plain,
        "letters of the same length",
    ),
    (
        &[
            "geometry",
            "geography",
            "point",
            "linestring",
            "polygon",
            "multipoint",
            "multilinestring",
            "multipolygon",
            "geometrycollection",
            "geomcollection",
            "line",
            "lseg",
            "box",
            "path",
            "circle",
        ],
        Place::Text,
        Reading::Geometry,
        "letters of the same length",
    ),
    (
        &[
            "int4range",
            "int8range",
            "numrange",
            "tsrange",
            "tstzrange",
            "daterange",
            "int4multirange",
            "int8multirange",
            "nummultirange",
            "tsmultirange",
            "tstzmultirange",
            "datemultirange",
        ],
        Place::Text,
        Reading::Plain,
        "letters of the same length",
    ),
    (&["oid", "xid", "cid", "xid8"], Place::BigInt, Reading::Plain, ""),
    (
        &[
            "regclass",
            "regcollation",
            "regconfig",
            "regdictionary",
            "regnamespace",
            "regoper",
            "regoperator",
            "regproc",
            "regprocedure",
            "regrole",
            "regtype",
            "regdatabase",
            "pg_lsn",
            "pg_snapshot",
            "txid_snapshot",
            "tid",
            "aclitem",
            "int2vector",
            "oidvector",
            "pg_node_tree",
            "pg_ndistinct",
            "pg_dependencies",
            "pg_mcv_list",
            "pg_brin_bloom_summary",
            "pg_brin_minmax_multi_summary",
        ],
        Place::Text,
        Reading::Plain,
        "letters of the same length",
    ),
];

/// The type of a plan in place of the one that is written `text`.
pub(crate) fn nearest_type(text: &str) -> FoundType {
    let small = text.trim().to_ascii_lowercase();
    let (name, numbers) = (plain_name(&small), numbers_in(&small));
    let like = |place: Place, reading: Reading, what: &str| {
        let kind = kind_of(place, &numbers);
        let what = if what.is_empty() { String::new() } else { format!(": {what}") };
        FoundType { kind, reading, note: Some(format!("`{kind}` for {}{what}", shown_type(&small))) }
    };
    if small.ends_with("[]") || small.ends_with(" array") {
        return like(Place::Text, Reading::Plain, "letters of the same length");
    }
    let same = |place: Place| FoundType { kind: kind_of(place, &numbers), reading: Reading::Plain, note: None };
    let is_unsigned = small.contains("unsigned");
    let found = SAME.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, place)| *place);
    match found {
        _ if small.starts_with("tinyint(1)") => same(Place::Boolean),
        // A whole number without a sign has twice the values.
        Some(Place::SmallInt) if is_unsigned => like(Place::Int, Reading::Plain, ""),
        Some(Place::Int | Place::BigInt) if is_unsigned => like(Place::BigInt, Reading::Plain, ""),
        Some(Place::VarChar) if numbers.is_empty() => same(Place::Text),
        Some(Place::Decimal) if !matches!(numbers[..], [1..=18] | [1..=18, _]) || !is_sound_scale(&small, &numbers) => {
            like(Place::Decimal, Reading::Plain, "")
        }
        Some(place) => same(place),
        None => match TYPES.iter().find(|(names, ..)| names.contains(&name.as_str())) {
            Some((_, place, reading, what)) => like(*place, *reading, what),
            None => like(Place::Text, Reading::Plain, "a type that is not known"),
        },
    }
}

/// `timestamp(3) without time zone` is `timestamp without time zone`; `int(11) unsigned zerofill` is `int`.
fn plain_name(small: &str) -> String {
    let (mut name, mut depth) = (String::new(), 0);
    for c in small.chars() {
        match c {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            c if depth == 0 => name.push(c),
            _ => {}
        }
    }
    let words: Vec<&str> =
        name.split_whitespace().filter(|word| !["unsigned", "zerofill", "signed"].contains(word)).collect();
    // `interval day to second`, and MariaDB's remark on old formats.
    let first = words.first().copied().unwrap_or_default();
    if first == "interval" || words.iter().any(|word| word.starts_with("/*")) {
        first.to_owned()
    } else {
        words.join(" ")
    }
}

fn numbers_in(small: &str) -> Vec<u32> {
    let inner = small.split_once('(').map_or("", |(_, rest)| rest.split(')').next().unwrap_or_default());
    inner.split(',').map_while(|digits| digits.trim().parse().ok()).collect()
}

/// A scale may be negative, or above the digits, in PostgreSQL.
fn is_sound_scale(small: &str, numbers: &[u32]) -> bool {
    let declared =
        small.split_once('(').map_or(0, |(_, rest)| rest.split(')').next().unwrap_or_default().split(',').count());
    declared == numbers.len() && numbers.get(1).is_none_or(|scale| *scale <= numbers[0])
}

fn kind_of(place: Place, numbers: &[u32]) -> ColumnKind {
    let length = |most: u16| numbers.first().map_or(1, |n| (*n).clamp(1, most.into()) as u16);
    match place {
        Place::Boolean => ColumnKind::Boolean,
        Place::SmallInt => ColumnKind::SmallInt,
        Place::Int => ColumnKind::Int,
        Place::BigInt => ColumnKind::BigInt,
        Place::Real => ColumnKind::Real,
        Place::Double => ColumnKind::Double,
        Place::Decimal => match numbers {
            [digits @ 1..=18] => ColumnKind::Decimal { digits: *digits as u8, scale: 0 },
            [digits @ 1..=18, scale] if scale <= digits => {
                ColumnKind::Decimal { digits: *digits as u8, scale: *scale as u8 }
            }
            _ => ColumnKind::Decimal { digits: 18, scale: numbers.get(1).map_or(2, |scale| (*scale).min(9) as u8) },
        },
        Place::Money => ColumnKind::Decimal { digits: 18, scale: 2 },
        Place::Char => ColumnKind::Char(length(255)),
        Place::VarChar => ColumnKind::VarChar(length(16_000)),
        Place::Text => ColumnKind::Text,
        Place::CharOf(length) => ColumnKind::Char(length),
        Place::VarCharOf(length) => ColumnKind::VarChar(length),
        Place::Date => ColumnKind::Date,
        Place::DateTime => ColumnKind::DateTime,
    }
}

/// A type as a person can read it: without the words of an enumeration, which are data.
fn shown_type(text: &str) -> String {
    let shown = match text.split_once('(') {
        Some((name, _)) if ["enum", "set"].contains(&name) => name,
        _ => text,
    };
    shown.escape_debug().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_engines_become_the_nearest_of_a_plan_and_others_are_noted() {
        for (text, expected, is_same) in [
            ("int(11)", "int", true),
            ("INTEGER", "int", true),
            ("bigint(20) unsigned", "bigint", false),
            ("smallint(5) unsigned zerofill", "int", false),
            ("tinyint(1)", "boolean", true),
            ("tinyint(4)", "smallint", false),
            ("numeric(10,2)", "decimal(10,2)", true),
            ("numeric(5,-2)", "decimal(5,0)", false),
            ("decimal(30,5)", "decimal(18,5)", false),
            ("decimal(65,30)", "decimal(18,9)", false),
            ("numeric", "decimal(18,2)", false),
            ("character varying(40)", "varchar(40)", true),
            ("character varying", "text", true),
            ("character(3)", "char(3)", true),
            ("timestamp(3) without time zone", "datetime", true),
            ("timestamp with time zone", "datetime", false),
            ("double precision", "double", true),
            ("time(3)", "int", false),
            ("interval day to second(2)", "int", false),
            ("bit(8)", "bigint", false),
            ("integer[]", "text", false),
            ("jsonb", "text", false),
            ("", "text", false),
            ("varchar(99999999999999)", "text", true),
            ("geometry(Point,4326)", "text", false),
        ] {
            let found = nearest_type(text);
            assert_eq!((found.kind.to_string().as_str(), found.note.is_none()), (expected, is_same), "{text}");
        }
        let words = nearest_type("enum('secret')").note.unwrap();
        assert!(words.contains("`varchar(64)` for enum") && !words.contains("secret"), "{words}");
        assert!(nearest_type("strange").note.unwrap().ends_with("a type that is not known"));
        assert_eq!((nearest_type("time").reading, nearest_type("bit(3)").reading), (Reading::Seconds, Reading::Bits));
    }

    #[test]
    fn no_type_is_in_the_table_twice() {
        let same = SAME.iter().flat_map(|(names, _)| names.iter());
        let mut all: Vec<&&str> = same.chain(TYPES.iter().flat_map(|(names, ..)| names.iter())).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
