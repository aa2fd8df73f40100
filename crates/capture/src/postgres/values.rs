//! Values of a Bind message as literals.
//!
//! Source: the protocol's "Bind", the types' numbers of `pg_type.dat`, and their `_send` functions. A value of a known type is cast to it, so that
//! operators and functions are found as they were for the parameter: only `text` and integers of 4 and 8 bytes that are not negative are bare.

use crate::literal::{Cursor, hex};
use crate::statement::UnknownValues;

const BOOL: u32 = 16;
const BYTEA: u32 = 17;
pub const INT8: u32 = 20;
pub const INT2: u32 = 21;
pub const INT4: u32 = 23;
const OID: u32 = 26;
const FLOAT4: u32 = 700;
const FLOAT8: u32 = 701;
const DATE: u32 = 1082;
const TIME: u32 = 1083;
const TIMESTAMP: u32 = 1114;
const TIMESTAMPTZ: u32 = 1184;
const INTERVAL: u32 = 1186;
const NUMERIC: u32 = 1700;
pub const UUID: u32 = 2950;
const JSONB: u32 = 3802;

/// The number of a type, that of its array, its name, and whether its binary form is its text.
const TYPES: [(u32, u32, &str, bool); 29] = [
    (BOOL, 1000, "bool", false),
    (BYTEA, 1001, "bytea", false),
    (18, 1002, "\"char\"", true),
    (19, 1003, "name", true),
    (INT8, 1016, "int8", false),
    (INT2, 1005, "int2", false),
    (INT4, 1007, "int4", false),
    (25, 1009, "text", true),
    (OID, 1028, "oid", false),
    (114, 199, "json", true),
    (142, 143, "xml", true),
    (650, 651, "cidr", false),
    (FLOAT4, 1021, "float4", false),
    (FLOAT8, 1022, "float8", false),
    (790, 791, "money", false),
    (829, 1040, "macaddr", false),
    (869, 1041, "inet", false),
    (1042, 1014, "bpchar", true),
    (1043, 1015, "varchar", true),
    (DATE, 1182, "date", false),
    (TIME, 1183, "time", false),
    (TIMESTAMP, 1115, "timestamp", false),
    (TIMESTAMPTZ, 1185, "timestamptz", false),
    (INTERVAL, 1187, "interval", false),
    (1266, 1270, "timetz", false),
    (1560, 1561, "bit", false),
    (NUMERIC, 1231, "numeric", false),
    (UUID, 2951, "uuid", false),
    (JSONB, 3807, "jsonb", false),
];

/// What a Bind message holds of its parameters.
pub struct Bound {
    /// For each, whether it is binary; one stands for all.
    formats: Vec<bool>,
    /// The same of each column of its rows.
    result_formats: Vec<bool>,
    /// A NULL is `None`.
    values: Vec<Option<Vec<u8>>>,
}

impl Bound {
    /// Reads what follows the names of portal and statement.
    pub fn read(cursor: &mut Cursor<'_>) -> Option<Bound> {
        let formats = read_formats(cursor)?;
        let count = u16::from_be_bytes(cursor.array()?);
        let values = (0..count).map(|_| read_value(cursor)).collect::<Option<_>>()?;
        Some(Bound { formats, values, result_formats: read_formats(cursor).unwrap_or_default() })
    }

    /// Whether column `index` of its rows is binary.
    pub fn has_binary_column(&self, index: usize) -> bool {
        is_binary(&self.result_formats, index)
    }

    pub fn held_bytes(&self) -> usize {
        self.values.iter().flatten().map(Vec::len).sum::<usize>() + self.values.len() * size_of::<Option<Vec<u8>>>()
    }

    /// The values as literals, of these types. A type that is not known is 0 or missing.
    pub fn literals(&self, types: &[u32]) -> Result<Vec<String>, UnknownValues> {
        let mut literals = Vec::with_capacity(self.values.len());
        for (index, value) in self.values.iter().enumerate() {
            let is_binary = is_binary(&self.formats, index);
            let oid = types.get(index).copied().unwrap_or(0);
            literals.push(match value {
                None => "NULL".to_owned(),
                Some(bytes) if is_binary => binary_literal(oid, bytes)?,
                Some(bytes) => text_literal(oid, std::str::from_utf8(bytes).map_err(|_| UnknownValues::Malformed)?),
            });
        }
        Ok(literals)
    }
}

fn read_formats(cursor: &mut Cursor<'_>) -> Option<Vec<bool>> {
    let count = u16::from_be_bytes(cursor.array()?);
    (0..count).map(|_| cursor.array().map(|format| u16::from_be_bytes(format) == 1)).collect()
}

/// Whether value `index` is binary; one format stands for all.
fn is_binary(formats: &[bool], index: usize) -> bool {
    match formats {
        [] => false,
        [all] => *all,
        each => each.get(index).copied().unwrap_or(false),
    }
}

/// A value after its length. -1 stands for NULL.
fn read_value(cursor: &mut Cursor<'_>) -> Option<Option<Vec<u8>>> {
    match i32::from_be_bytes(cursor.array()?) {
        -1 => Some(None),
        length => Some(Some(cursor.bytes(usize::try_from(length).ok()?)?.to_vec())),
    }
}

fn text_literal(oid: u32, text: &str) -> String {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let quoted = || format!("'{}'", text.replace('\'', "''"));
    match oid {
        INT4 | INT8 if is_digits => text.to_owned(),
        25 | 1043 => quoted(),
        _ => match TYPES.iter().find(|(of_one, of_array, ..)| oid == *of_one || oid == *of_array) {
            Some((of_one, _, name, _)) => format!("{}::{name}{}", quoted(), if oid == *of_one { "" } else { "[]" }),
            None => quoted(),
        },
    }
}

fn binary_literal(oid: u32, bytes: &[u8]) -> Result<String, UnknownValues> {
    let Some((of_one, of_array, ..)) = TYPES.iter().find(|(of_one, of_array, ..)| oid == *of_one || oid == *of_array)
    else {
        return Err(if oid == 0 { UnknownValues::TypesNotSeen } else { UnknownValues::UnknownType });
    };
    let text = if oid == *of_array { array_text(*of_one, bytes)? } else { text_of(oid, bytes)? };
    Ok(text_literal(oid, &text))
}

/// The text that the type's input takes, of its binary form.
pub fn text_of(oid: u32, bytes: &[u8]) -> Result<String, UnknownValues> {
    let is_text = TYPES.iter().any(|(of_one, _, _, is_text)| *of_one == oid && *is_text);
    let mut cursor = Cursor(bytes);
    let text = match oid {
        _ if is_text => return as_text(bytes),
        JSONB => return as_text(bytes.strip_prefix(&[1]).ok_or(UnknownValues::Malformed)?),
        BYTEA => return Ok(format!("\\x{}", hex(bytes))),
        BOOL => cursor.byte().map(|byte| if byte == 0 { "f" } else { "t" }.to_owned()),
        INT2 => cursor.array().map(|b| i16::from_be_bytes(b).to_string()),
        INT4 => cursor.array().map(|b| i32::from_be_bytes(b).to_string()),
        INT8 => cursor.array().map(|b| i64::from_be_bytes(b).to_string()),
        OID => cursor.array().map(|b| u32::from_be_bytes(b).to_string()),
        FLOAT4 => cursor.array().map(f32::from_be_bytes).map(|n| float_text(n.into(), format!("{n:e}"))),
        FLOAT8 => cursor.array().map(f64::from_be_bytes).map(|n| float_text(n, format!("{n:e}"))),
        DATE => cursor.array().and_then(|b| date_text(i32::from_be_bytes(b))),
        TIME => cursor.array().map(|b| time_text(i64::from_be_bytes(b))),
        TIMESTAMP => cursor.array().and_then(|b| timestamp_text(i64::from_be_bytes(b))),
        TIMESTAMPTZ => cursor.array().and_then(|b| timestamp_text(i64::from_be_bytes(b))).map(in_utc),
        INTERVAL => interval_text(&mut cursor),
        NUMERIC => numeric_text(&mut cursor),
        UUID => cursor.bytes(16).map(hex),
        _ => return Err(UnknownValues::UnknownType),
    };
    text.filter(|_| cursor.0.is_empty()).ok_or(UnknownValues::Malformed)
}

fn as_text(bytes: &[u8]) -> Result<String, UnknownValues> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| UnknownValues::Malformed)
}

fn float_text(number: f64, text: String) -> String {
    match number {
        _ if number.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => text,
    }
}

/// Days since 2000-01-01. The largest and the smallest number are infinite.
fn date_text(days: i32) -> Option<String> {
    match days {
        i32::MAX => Some("infinity".to_owned()),
        i32::MIN => Some("-infinity".to_owned()),
        _ => day_text(i64::from(days)),
    }
}

/// The day of the proleptic Gregorian calendar. Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn day_text(days_since_2000: i64) -> Option<String> {
    let days = days_since_2000 + 10_957 + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    // Years before Christ have another form.
    (year > 0).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

fn time_text(us: i64) -> String {
    let (seconds, fraction) = (us.div_euclid(1_000_000), us.rem_euclid(1_000_000));
    let text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction == 0 { text } else { format!("{text}.{fraction:06}") }
}

const DAY_US: i64 = 86_400_000_000;

fn timestamp_text(us: i64) -> Option<String> {
    match us {
        i64::MAX => Some("infinity".to_owned()),
        i64::MIN => Some("-infinity".to_owned()),
        _ => Some(format!("{} {}", day_text(us.div_euclid(DAY_US))?, time_text(us.rem_euclid(DAY_US)))),
    }
}

fn in_utc(text: String) -> String {
    if text.ends_with('y') { text } else { text + "+00" }
}

fn interval_text(cursor: &mut Cursor<'_>) -> Option<String> {
    let us = i64::from_be_bytes(cursor.array()?);
    let days = i32::from_be_bytes(cursor.array()?);
    let months = i32::from_be_bytes(cursor.array()?);
    Some(format!("{months} mons {days} days {us} microseconds"))
}

/// Digits of base 10,000, the first with the weight 10,000^weight.
fn numeric_text(cursor: &mut Cursor<'_>) -> Option<String> {
    let [count, weight, sign, scale] = [cursor.array()?, cursor.array()?, cursor.array()?, cursor.array()?];
    let (count, sign, scale) = (u16::from_be_bytes(count), u16::from_be_bytes(sign), u16::from_be_bytes(scale));
    let weight = i16::from_be_bytes(weight);
    let digits = (0..count).map(|_| cursor.array().map(u16::from_be_bytes)).collect::<Option<Vec<_>>>()?;
    match sign {
        0xc000 => return Some("NaN".to_owned()),
        0xd000 => return Some("Infinity".to_owned()),
        0xf000 => return Some("-Infinity".to_owned()),
        _ => {}
    }
    if digits.iter().any(|digit| *digit > 9999) || scale > 0x3fff {
        return None;
    }
    let digit_at =
        |power: i32| usize::try_from(i32::from(weight) - power).ok().and_then(|at| digits.get(at)).unwrap_or(&0);
    let mut text: String =
        (0..=i32::from(weight).max(0)).rev().map(|power| format!("{:04}", digit_at(power))).collect();
    text = text.trim_start_matches('0').to_owned();
    if text.is_empty() {
        text.push('0');
    }
    if scale > 0 {
        let parts = i32::from(scale).div_euclid(4) + 1;
        let fraction: String = (1..=parts).map(|part| format!("{:04}", digit_at(-part))).collect();
        text = format!("{text}.{}", &fraction[..usize::from(scale)]);
    }
    Some(if sign == 0x4000 { format!("-{text}") } else { text })
}

/// An array of at most one dimension.
fn array_text(of_one: u32, bytes: &[u8]) -> Result<String, UnknownValues> {
    let mut cursor = Cursor(bytes);
    let word = |cursor: &mut Cursor<'_>| cursor.array().map(u32::from_be_bytes).ok_or(UnknownValues::Malformed);
    let (dimensions, _has_nulls, oid) = (word(&mut cursor)?, word(&mut cursor)?, word(&mut cursor)?);
    if dimensions == 0 {
        return Ok("{}".to_owned());
    }
    if dimensions > 1 || oid != of_one {
        return Err(UnknownValues::UnknownType);
    }
    let (count, first) = (word(&mut cursor)?, word(&mut cursor)?);
    if first != 1 {
        return Err(UnknownValues::UnknownType);
    }
    let mut elements = Vec::new();
    for _ in 0..count {
        elements.push(match read_value(&mut cursor).ok_or(UnknownValues::Malformed)? {
            None => "NULL".to_owned(),
            Some(value) => format!("\"{}\"", text_of(of_one, &value)?.replace('\\', "\\\\").replace('"', "\\\"")),
        });
    }
    Ok(format!("{{{}}}", elements.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(oid: u32, bytes: &[u8]) -> String {
        let bound = Bound { formats: vec![true], result_formats: vec![], values: vec![Some(bytes.to_vec())] };
        bound.literals(&[oid]).expect("known").remove(0)
    }

    #[test]
    fn every_binary_type_becomes_a_literal() {
        assert_eq!(binary(INT4, &7_i32.to_be_bytes()), "7");
        assert_eq!(binary(INT4, &(-7_i32).to_be_bytes()), "'-7'::int4");
        assert_eq!(binary(INT2, &7_i16.to_be_bytes()), "'7'::int2");
        assert_eq!(binary(FLOAT8, &0.5_f64.to_be_bytes()), "'5e-1'::float8");
        assert_eq!(binary(25, b"it's"), "'it''s'");
        assert_eq!(binary(BYTEA, &[0, 255]), "'\\x00ff'::bytea");
        assert_eq!(binary(BOOL, &[1]), "'t'::bool");
        assert_eq!(binary(DATE, &0_i32.to_be_bytes()), "'2000-01-01'::date");
        assert_eq!(binary(DATE, &(-1_i32).to_be_bytes()), "'1999-12-31'::date");
        assert_eq!(binary(DATE, &8826_i32.to_be_bytes()), "'2024-03-01'::date");
        assert_eq!(binary(TIMESTAMPTZ, &1_500_000_i64.to_be_bytes()), "'2000-01-01 00:00:01.500000+00'::timestamptz");
        assert_eq!(binary(JSONB, b"\x01{}"), "'{}'::jsonb");
    }

    #[test]
    fn a_numeric_keeps_its_zeros() {
        let numeric = |count: u16, weight: i16, sign: u16, scale: u16, digits: &[u16]| {
            let head = [count, weight.cast_unsigned(), sign, scale];
            let bytes: Vec<u8> = head.iter().chain(digits).flat_map(|word| word.to_be_bytes()).collect();
            binary(NUMERIC, &bytes)
        };
        assert_eq!(numeric(2, 0, 0, 2, &[12, 3400]), "'12.34'::numeric");
        assert_eq!(numeric(1, 1, 0x4000, 0, &[5]), "'-50000'::numeric");
        assert_eq!(numeric(1, -2, 0, 8, &[1]), "'0.00000001'::numeric");
        assert_eq!(numeric(0, 0, 0, 3, &[]), "'0.000'::numeric");
        assert_eq!(numeric(0, 0, 0xc000, 0, &[]), "'NaN'::numeric");
    }

    #[test]
    fn an_array_quotes_its_elements() {
        let mut bytes: Vec<u8> = [1_u32, 1, 25, 3, 1].iter().flat_map(|word| word.to_be_bytes()).collect();
        bytes.extend([0, 0, 0, 2, b'a', b'"', 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, b'b']);
        assert_eq!(binary(1009, &bytes), "'{\"a\\\"\",NULL,\"b\"}'::text[]");
    }

    #[test]
    fn a_binary_value_of_a_type_that_is_not_known_has_no_literal() {
        let bound = Bound { formats: vec![true], result_formats: vec![], values: vec![Some(vec![1])] };
        assert_eq!(bound.literals(&[]), Err(UnknownValues::TypesNotSeen));
        assert_eq!(bound.literals(&[99_999]), Err(UnknownValues::UnknownType));
        let text = Bound { formats: vec![], result_formats: vec![], values: vec![Some(b"x".to_vec()), None] };
        assert_eq!(text.literals(&[]), Ok(vec!["'x'".to_owned(), "NULL".to_owned()]));
    }
}
