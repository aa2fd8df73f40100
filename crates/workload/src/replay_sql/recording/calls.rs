//! Calls of statements that were prepared when they were recorded.
//!
//! In: a statement with its values, and where they stand. Out: what is prepared for it, once for all calls, and the values of each call as they are
//! sent. Limits: [`TEMPLATES_MAX`] of them. What comes later is sent as text, and so is a call with a value that would be sent in another form: times,
//! decimals and bits of MySQL.

use crate::replay_sql::answer::take_end;
use crate::replay_sql::wanted::LogDialect;
use model::SqlArg;
use sql::{BoundParam, Token};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// Each connection has all of them prepared in the end, which takes memory of its server.
const TEMPLATES_MAX: usize = 1_000;
/// The type of a parameter that the server finds out.
const UNKNOWN: &str = "unknown";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PreparedTemplate {
    /// The statement with `$1` or `?` in place of each value.
    pub text: String,
    /// The types of the parameters, in SQL (PostgreSQL).
    pub types: Vec<String>,
    /// The number of the schema that it was called in.
    pub schema: u32,
}

#[derive(Clone, Debug, PartialEq)]
enum CallValue {
    Null,
    Int(i64),
    Float(f64),
    Text(String),
}

#[derive(Debug)]
pub(super) struct Call {
    template: PreparedTemplate,
    values: Vec<CallValue>,
}

impl Call {
    /// Of `text`, which was split into `tokens`, with the values of `params`; `None` if it is to be sent as text.
    pub(super) fn of(
        text: &str,
        tokens: &[Token],
        params: &[BoundParam],
        dialect: LogDialect,
        schema: u32,
    ) -> Option<Call> {
        let count = params.iter().map(|param| param.number).max().unwrap_or(0);
        let mut found: Vec<Option<(CallValue, Option<String>)>> = vec![None; count.into()];
        let (mut template, mut done) = (String::with_capacity(text.len()), 0);
        for BoundParam { number, tokens: of_value } in params {
            let ([first, .., last] | [first @ last]) = tokens.get(of_value.clone())? else { return None };
            template.push_str(text.get(done..first.start)?);
            done = last.end;
            let value = value_of(&text[first.start..done], dialect)?;
            let place = found.get_mut(usize::from(number.checked_sub(1)?))?;
            // A statement may use `$1` twice, and only one use may tell its type.
            if place.as_ref().is_none_or(|(_, its_type)| its_type.is_none()) {
                *place = Some(value);
            }
            match dialect {
                LogDialect::Postgres => template.push_str(&format!("${number}")),
                LogDialect::Mysql => template.push('?'),
            }
        }
        template.push_str(&text[done..]);
        let (values, types): (Vec<CallValue>, Vec<Option<String>>) =
            found.into_iter().collect::<Option<Vec<_>>>()?.into_iter().unzip();
        let types = match dialect {
            LogDialect::Postgres => types.into_iter().map(|it| it.unwrap_or_else(|| UNKNOWN.to_owned())).collect(),
            LogDialect::Mysql => Vec::new(),
        };
        Some(Call { template: PreparedTemplate { text: template, types, schema }, values })
    }
}

/// The value of a literal, and its type if it names one; `None` if it is none that is sent alike.
fn value_of(literal: &str, dialect: LogDialect) -> Option<(CallValue, Option<String>)> {
    if literal.eq_ignore_ascii_case("null") {
        return Some((CallValue::Null, None));
    }
    match dialect {
        LogDialect::Mysql => mysql_value(literal).map(|value| (value, None)),
        LogDialect::Postgres => postgres_value(literal),
    }
}

fn mysql_value(literal: &str) -> Option<CallValue> {
    if literal.starts_with('\'') {
        let (text, rest) = unquoted(literal, true)?;
        return rest.is_empty().then_some(CallValue::Text(text));
    }
    let is_number = literal.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    match literal.parse() {
        Ok(number) => Some(CallValue::Int(number)),
        // Without an exponent it is a decimal, or too large.
        Err(_) if is_number && literal.contains('e') => literal.parse().ok().map(CallValue::Float),
        Err(_) => None,
    }
}

/// Values are sent as texts, whose types the server knows: `4`, `'4'`, `'4'::numeric`, `date '2024-03-01'`.
fn postgres_value(literal: &str) -> Option<(CallValue, Option<String>)> {
    let (before, quoted) = literal.split_at(literal.find('\'').unwrap_or(literal.len()));
    if quoted.is_empty() {
        let is_number = literal.parse::<f64>().is_ok_and(f64::is_finite);
        return is_number.then(|| (CallValue::Text(literal.to_owned()), None));
    }
    let (text, behind) = unquoted(quoted, false)?;
    let its_type = match (before.trim_end(), behind) {
        ("", "") => None,
        ("", behind) => Some(behind.strip_prefix("::")?),
        (before, "") => Some(before),
        _ => return None,
    };
    let is_type = |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_\"[]".contains(&byte));
    let its_type = match its_type {
        None => None,
        Some(name) => Some(Some(name).filter(is_type)?.to_owned()),
    };
    // A prefix such as `E` or `B` is no type.
    (before.len() != 1).then_some((CallValue::Text(text), its_type))
}

/// The text in the quotes at the beginning of `literal`, and what is behind them. A backslash stands for itself unless it `escapes` itself.
fn unquoted(literal: &str, escapes: bool) -> Option<(String, &str)> {
    let mut text = String::with_capacity(literal.len());
    let mut chars = literal.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if chars.next_if(|(_, next)| *next == '\'').is_none() => return Some((text, &literal[at + 1..])),
            '\\' if escapes => chars.next_if(|(_, next)| *next == '\\').map(drop)?,
            _ => {}
        }
        text.push(c);
    }
    None
}

/// The templates of a recording.
#[derive(Default)]
pub(super) struct Templates {
    hasher: RandomState,
    numbers: HashMap<u64, u32>,
    templates: Vec<PreparedTemplate>,
}

impl Templates {
    /// The number of the template of `call`; `None` if there are too many.
    fn number_of(&mut self, call: &Call) -> Option<u32> {
        let key = self.hasher.hash_one(&call.template);
        if let Some(number) = self.numbers.get(&key) {
            return Some(*number);
        }
        let number = self.templates.len() as u32;
        if self.templates.len() == TEMPLATES_MAX {
            return None;
        }
        self.templates.push(call.template.clone());
        self.numbers.insert(key, number);
        Some(number)
    }

    /// Puts `call` behind what is kept of a statement: its values, how many bytes they have, and the number of its template, from 1; 0 for none.
    /// Whether it is one.
    pub(super) fn put_behind(&mut self, call: Option<&Call>, kept: &mut Vec<u8>) -> bool {
        let Some((call, number)) = call.and_then(|call| Some((call, self.number_of(call)?))) else {
            kept.extend_from_slice(&0u32.to_le_bytes());
            return false;
        };
        let start = kept.len();
        call.values.iter().for_each(|value| value.put(kept));
        let bytes = (kept.len() - start) as u32;
        [bytes, number + 1].into_iter().for_each(|it| kept.extend_from_slice(&it.to_le_bytes()));
        true
    }

    pub(super) fn into_all(self) -> Vec<PreparedTemplate> {
        self.templates
    }
}

impl CallValue {
    /// Its tag, and the value; of a text its length before it.
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            CallValue::Null => out.push(0),
            CallValue::Int(number) => {
                out.push(1);
                out.extend_from_slice(&number.to_le_bytes());
            }
            CallValue::Float(number) => {
                out.push(2);
                out.extend_from_slice(&number.to_le_bytes());
            }
            CallValue::Text(text) => {
                out.push(3);
                out.extend_from_slice(&(text.len() as u32).to_le_bytes());
                out.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// A call as it is kept: the number of its template and the bytes of its values.
#[derive(Debug)]
pub struct KeptCall {
    /// The number of its template.
    pub template: u32,
    values: Vec<u8>,
}

impl KeptCall {
    /// Takes off what [`Templates::put_behind`] has put behind; `None` if that is incomplete.
    pub(super) fn take_off(kept: &mut Vec<u8>) -> Option<Option<KeptCall>> {
        let mut number = || take_end(kept).map(u32::from_le_bytes);
        let Some(template) = number()?.checked_sub(1) else { return Some(None) };
        let bytes = number()? as usize;
        let values = kept.split_off(kept.len().checked_sub(bytes)?);
        Some(Some(KeptCall { template, values }))
    }

    /// Its values as arguments, with the bytes of texts behind `text`; `None` if they are incomplete.
    pub fn put_args(&self, args: &mut Vec<SqlArg>, text: &mut Vec<u8>) -> Option<()> {
        let mut rest = &self.values[..];
        while let Some((tag, behind)) = rest.split_first() {
            let number = |bytes: &[u8]| bytes.first_chunk::<8>().copied();
            let (arg, width) = match tag {
                0 => (SqlArg::Null, 0),
                1 => (SqlArg::Int(i64::from_le_bytes(number(behind)?)), 8),
                2 => (SqlArg::Float(f64::from_le_bytes(number(behind)?)), 8),
                _ => {
                    let len = u32::from_le_bytes(*behind.first_chunk()?);
                    let start = text.len() as u32;
                    text.extend_from_slice(behind.get(4..)?.get(..len as usize)?);
                    (SqlArg::Text { start, len }, 4 + len as usize)
                }
            };
            args.push(arg);
            rest = &behind[width..];
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CallValue::{Float, Int, Null, Text};

    fn call(text: &str, values: &[&str], dialect: LogDialect) -> Option<Call> {
        let bound = sql::with_values(text, dialect.sql(), values).unwrap().unwrap();
        let tokens = sql::tokens(&bound.text, dialect.sql()).unwrap();
        Call::of(&bound.text, &tokens, &bound.params(&tokens), dialect, 0)
    }

    fn text(value: &str) -> CallValue {
        Text(value.to_owned())
    }

    #[test]
    fn a_call_of_postgresql_has_texts_and_the_types_that_its_values_name() {
        let values = ["'4'", "'it''s \\n'::numeric", "NULL", "'{a,b}'::int4[]", "17"];
        let made = call("SELECT c FROM t WHERE a=$1 AND b = $2 OR c IN ($3,$4, $5, $1)", &values, LogDialect::Postgres);
        let made = made.unwrap();
        assert_eq!(made.template.text, "SELECT c FROM t WHERE a=$1 AND b = $2 OR c IN ($3,$4, $5, $1)");
        assert_eq!(made.template.types, ["unknown", "numeric", "unknown", "int4[]", "unknown"]);
        assert_eq!(made.values, [text("4"), text("it's \\n"), Null, text("{a,b}"), text("17")]);
        let made = call("SELECT date_trunc('day', $1), $1", &["'2024-03-01 10:00:00'"], LogDialect::Postgres).unwrap();
        assert_eq!(
            (&made.template.types[..], &made.values[..]),
            (&["timestamp".to_owned()][..], &[text("2024-03-01 10:00:00")][..])
        );
        for strange in ["E'a'", "B'1'", "'a'::int4)", "x", "'a"] {
            assert_eq!(postgres_value(strange), None, "{strange}");
        }
    }

    #[test]
    fn a_call_of_mysql_has_numbers_and_texts_and_no_others() {
        let made = call(
            "SELECT c FROM t WHERE a=? AND b-? AND d=? AND e=?",
            &["'it''s \\\\'", "-1", "1.5e0", "NULL"],
            LogDialect::Mysql,
        );
        let made = made.unwrap();
        assert_eq!(made.template.text, "SELECT c FROM t WHERE a=? AND b- ? AND d=? AND e=?");
        assert_eq!(made.values, [text("it's \\"), Int(-1), Float(1.5), Null]);
        for other in ["12.50", "x'ab'", "DATE'2024-02-09'", "18446744073709551615", "'\\n'", "'a' 'b'"] {
            assert_eq!(mysql_value(other), None, "{other}");
        }
    }

    #[test]
    fn calls_come_back_from_behind_a_text_with_the_numbers_of_their_templates() {
        let mut templates = Templates::default();
        let one = call("SELECT ?, ?, ?, ?", &["7", "2.5e3", "NULL", "'né'"], LogDialect::Mysql).unwrap();
        let other = call("SELECT 1", &[], LogDialect::Mysql).unwrap();
        for (put, template) in [(Some(&one), Some(0)), (None, None), (Some(&other), Some(1)), (Some(&one), Some(0))] {
            let mut kept = b"text".to_vec();
            templates.put_behind(put, &mut kept);
            let call = KeptCall::take_off(&mut kept).unwrap();
            assert_eq!((call.as_ref().map(|call| call.template), &kept[..]), (template, &b"text"[..]));
            let mut args = Vec::new();
            call.iter().for_each(|call| call.put_args(&mut args, &mut kept).unwrap());
            if template == Some(0) {
                let behind = SqlArg::Text { start: 4, len: 3 };
                assert_eq!(args, [SqlArg::Int(7), SqlArg::Float(2500.0), SqlArg::Null, behind]);
                assert_eq!(kept, "textné".as_bytes());
            }
        }
        assert_eq!(templates.into_all().len(), 2);
        assert!(KeptCall::take_off(&mut vec![1, 2]).is_none());
        assert!(KeptCall::take_off(&mut vec![9, 0, 0, 0, 1, 0, 0, 0]).is_none());
    }

    #[test]
    fn templates_without_end_take_no_memory_without_end() {
        let mut templates = Templates::default();
        for nth in 0..TEMPLATES_MAX + 5 {
            let made = call(&format!("SELECT {nth}, ?"), &["1"], LogDialect::Mysql).unwrap();
            assert_eq!(templates.number_of(&made).is_some(), nth < TEMPLATES_MAX);
        }
    }
}
