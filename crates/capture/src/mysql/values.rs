//! Values of MySQL's binary protocol as literals.
//!
//! Source: `COM_STMT_EXECUTE` and "Binary Protocol Value" of MySQL's source documentation. The client decides the type, not the column. A
//! string that is not UTF-8, and a value of a type for bytes, become `x'..'`; a float has an exponent, so that it stays one.

use crate::literal::{Cursor, hex, is_plain_number};
use crate::statement::UnknownValues;
use std::collections::HashMap;

/// A type as a client sends it, and the flag that an integer has no sign.
pub type ParamType = (u8, bool);

const NULL: u8 = 6;

/// How the parameters of an execution are laid out.
pub struct Layout<'a> {
    pub params: usize,
    /// Whether a count comes first and each type has a name (query attributes of MySQL 8).
    pub has_attributes: bool,
    /// What was sent for some of them before (`COM_STMT_SEND_LONG_DATA`).
    pub long_data: &'a HashMap<u16, Vec<u8>>,
}

/// The values of an execution, from the bytes after the iteration count. New types replace `types`.
pub fn read_values(body: &[u8], layout: &Layout<'_>, types: &mut Vec<ParamType>) -> Result<Vec<String>, UnknownValues> {
    if layout.params == 0 {
        return Ok(Vec::new());
    }
    let mut cursor = Cursor(body);
    // More than the parameters are attributes: they are not of the text.
    let count = match layout.has_attributes {
        false => layout.params,
        true => cursor.lenenc().and_then(|count| usize::try_from(count).ok()).ok_or(UnknownValues::Malformed)?,
    };
    let nulls = cursor.bytes(count.div_ceil(8)).ok_or(UnknownValues::Malformed)?;
    let new_types = cursor.byte().ok_or(UnknownValues::Malformed)?;
    if new_types == 1 {
        *types = read_types(&mut cursor, count, layout.has_attributes).ok_or(UnknownValues::Malformed)?;
    }
    if types.len() != count || new_types > 1 {
        return Err(if new_types > 1 { UnknownValues::Malformed } else { UnknownValues::TypesNotSeen });
    }
    let mut values = Vec::with_capacity(layout.params);
    for (index, param_type) in types.iter().enumerate() {
        let long_data = u16::try_from(index).ok().and_then(|index| layout.long_data.get(&index));
        let value = match long_data {
            Some(bytes) => bytes_literal(param_type.0, bytes),
            None if nulls[index / 8] >> (index % 8) & 1 == 1 => "NULL".to_owned(),
            None => read_value(&mut cursor, *param_type)?,
        };
        values.push(value);
    }
    if !cursor.0.is_empty() || values.len() < layout.params {
        return Err(UnknownValues::Malformed);
    }
    values.truncate(layout.params);
    Ok(values)
}

/// Takes the attributes of a query, which come before its text.
pub fn skip_attributes(cursor: &mut Cursor<'_>, count: usize) -> Option<()> {
    let nulls = cursor.bytes(count.div_ceil(8))?;
    (cursor.byte()? == 1).then_some(())?;
    let types = read_types(cursor, count, true)?;
    for (index, param_type) in types.iter().enumerate() {
        if nulls[index / 8] >> (index % 8) & 1 == 0 {
            read_value(cursor, *param_type).ok()?;
        }
    }
    Some(())
}

fn read_types(cursor: &mut Cursor<'_>, count: usize, has_names: bool) -> Option<Vec<ParamType>> {
    let mut types = Vec::new();
    for _ in 0..count {
        let [kind, flags] = cursor.array()?;
        types.push((kind, flags & 0x80 != 0));
        if has_names {
            cursor.lenenc_bytes()?;
        }
    }
    Some(types)
}

fn read_value(cursor: &mut Cursor<'_>, (kind, is_unsigned): ParamType) -> Result<String, UnknownValues> {
    let value = match kind {
        NULL => Some("NULL".to_owned()),
        1 => integer(cursor.array().map(|b| (i8::from_le_bytes(b).into(), u8::from_le_bytes(b).into())), is_unsigned),
        2 | 13 => {
            integer(cursor.array().map(|b| (i16::from_le_bytes(b).into(), u16::from_le_bytes(b).into())), is_unsigned)
        }
        3 | 9 => {
            integer(cursor.array().map(|b| (i32::from_le_bytes(b).into(), u32::from_le_bytes(b).into())), is_unsigned)
        }
        8 => integer(cursor.array().map(|b| (i64::from_le_bytes(b), u64::from_le_bytes(b))), is_unsigned),
        4 => cursor.array().map(f32::from_le_bytes).filter(|n| n.is_finite()).map(|number| format!("{number:e}")),
        5 => cursor.array().map(f64::from_le_bytes).filter(|n| n.is_finite()).map(|number| format!("{number:e}")),
        7 | 10 | 12 => date(cursor),
        11 => time(cursor),
        // Decimals, and all that is sent as a string.
        0 | 15 | 16 | 245..=255 => cursor.lenenc_bytes().map(|bytes| bytes_literal(kind, bytes)),
        _ => return Err(UnknownValues::UnknownType),
    };
    value.ok_or(UnknownValues::Malformed)
}

fn integer(number: Option<(i64, u64)>, is_unsigned: bool) -> Option<String> {
    number.map(|(signed, unsigned)| if is_unsigned { unsigned.to_string() } else { signed.to_string() })
}

/// A date, with its time if that is not 0. A literal with its type must be a day that there is.
fn date(cursor: &mut Cursor<'_>) -> Option<String> {
    let mut part = Cursor(cursor.lenenc_bytes()?);
    if part.0.is_empty() {
        return Some("'0000-00-00'".to_owned());
    }
    let year = u16::from_le_bytes(part.array()?);
    let [month, day] = part.array()?;
    let mut kind = "DATE";
    let mut text = format!("'{year:04}-{month:02}-{day:02}");
    if !part.0.is_empty() {
        let [hour, minute, second] = part.array()?;
        kind = "TIMESTAMP";
        text += &format!(" {hour:02}:{minute:02}:{second:02}");
    }
    text = text + &microseconds(&mut part)? + "'";
    Some(if month == 0 || day == 0 { text } else { kind.to_owned() + &text })
}

fn time(cursor: &mut Cursor<'_>) -> Option<String> {
    let mut part = Cursor(cursor.lenenc_bytes()?);
    if part.0.is_empty() {
        return Some("TIME'00:00:00'".to_owned());
    }
    let sign = if part.byte()? == 1 { "-" } else { "" };
    let days = u32::from_le_bytes(part.array()?);
    let [hour, minute, second] = part.array()?;
    let hours = u64::from(days) * 24 + u64::from(hour);
    Some(format!("TIME'{sign}{hours:02}:{minute:02}:{second:02}") + &microseconds(&mut part)? + "'")
}

fn microseconds(part: &mut Cursor<'_>) -> Option<String> {
    if part.0.is_empty() {
        return Some(String::new());
    }
    let fraction = u32::from_le_bytes(part.array()?);
    part.0.is_empty().then(|| format!(".{fraction:06}"))
}

fn bytes_literal(kind: u8, bytes: &[u8]) -> String {
    let is_blob = matches!(kind, 16 | 249..=252 | 255);
    match std::str::from_utf8(bytes) {
        Ok(text) if matches!(kind, 0 | 246) && is_plain_number(text) => text.to_owned(),
        Ok(text) if !is_blob && !text.contains('\0') => quoted(text),
        _ => format!("x'{}'", hex(bytes)),
    }
}

/// A string of MySQL, for a server without `NO_BACKSLASH_ESCAPES`.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(params: usize, body: &[u8]) -> Result<Vec<String>, UnknownValues> {
        let long_data = HashMap::new();
        read_values(body, &Layout { params, has_attributes: false, long_data: &long_data }, &mut Vec::new())
    }

    fn one(kind: u8, flags: u8, bytes: &[u8]) -> String {
        values(1, &[&[0, 1, kind, flags], bytes].concat()).expect("known").remove(0)
    }

    #[test]
    fn every_type_becomes_a_literal() {
        assert_eq!(one(1, 0, &[0xff]), "-1");
        assert_eq!(one(1, 0x80, &[0xff]), "255");
        assert_eq!(one(2, 0, &[0, 0x80]), "-32768");
        assert_eq!(one(3, 0, &7_i32.to_le_bytes()), "7");
        assert_eq!(one(8, 0x80, &u64::MAX.to_le_bytes()), "18446744073709551615");
        assert_eq!(one(4, 0, &1.5_f32.to_le_bytes()), "1.5e0");
        assert_eq!(one(5, 0, &0.1_f64.to_le_bytes()), "1e-1");
        assert_eq!(one(246, 0, b"\x0512.50"), "12.50");
        assert_eq!(one(253, 0, b"\x05it's\\"), "'it''s\\\\'");
        assert_eq!(one(254, 0, b"\x02\xc3\x28"), "x'c328'");
        assert_eq!(one(252, 0, b"\x02ab"), "x'6162'");
        assert_eq!(one(10, 0, &[4, 0xe8, 7, 2, 9]), "DATE'2024-02-09'");
        assert_eq!(one(12, 0, &[7, 0xe8, 7, 2, 9, 1, 2, 3]), "TIMESTAMP'2024-02-09 01:02:03'");
        assert_eq!(one(12, 0, &[11, 0xe8, 7, 2, 9, 1, 2, 3, 1, 0, 0, 0]), "TIMESTAMP'2024-02-09 01:02:03.000001'");
        assert_eq!(one(11, 0, &[8, 1, 1, 0, 0, 0, 2, 3, 4]), "TIME'-26:03:04'");
        assert_eq!(one(10, 0, &[0]), "'0000-00-00'");
        assert_eq!(values(1, &[1, 1, 3, 0]), Ok(vec!["NULL".to_owned()]));
    }

    #[test]
    fn what_is_left_over_or_missing_is_malformed() {
        assert_eq!(values(1, &[0, 1, 1, 0, 5, 6]), Err(UnknownValues::Malformed));
        assert_eq!(values(1, &[0, 1, 8, 0, 5, 6]), Err(UnknownValues::Malformed));
        assert_eq!(values(1, &[0, 0, 5]), Err(UnknownValues::TypesNotSeen));
        assert_eq!(values(1, &[0, 1, 77, 0, 5]), Err(UnknownValues::UnknownType));
    }

    #[test]
    fn attributes_come_with_their_names_and_are_no_values_of_the_text() {
        let long_data = HashMap::new();
        let layout = Layout { params: 1, has_attributes: true, long_data: &long_data };
        let body = [2, 0, 1, 1, 0, 0, 1, 0, 1, b'a', 5, 6];
        assert_eq!(read_values(&body, &layout, &mut Vec::new()), Ok(vec!["5".to_owned()]));
    }

    #[test]
    fn types_that_are_not_sent_again_are_those_of_the_last_execution() {
        let long_data = HashMap::from([(1, b"long".to_vec())]);
        let layout = Layout { params: 2, has_attributes: false, long_data: &long_data };
        let mut types = Vec::new();
        let first = read_values(&[0, 1, 1, 0, 254, 0, 9], &layout, &mut types);
        assert_eq!(first, Ok(vec!["9".to_owned(), "'long'".to_owned()]));
        assert_eq!(read_values(&[0, 0, 8], &layout, &mut types), Ok(vec!["8".to_owned(), "'long'".to_owned()]));
    }
}
