//! The syntax of postgresql.conf.
//!
//! In: the text of a file. Out: the settings that it makes. Limits: other files are not included, and settings of extensions, which have
//! a dot in their names, are refused.
//! (<https://www.postgresql.org/docs/current/config-setting.html>)

use super::RULES;
use crate::server::config_file::{ConfigFault, ConfigLine, ConfigSyntax, variable_name};

/// How PostgreSQL is configured.
pub(super) static CONFIG: ConfigSyntax = ConfigSyntax { rules: RULES, read_lines };

fn read_lines(text: &str) -> Result<Vec<ConfigLine>, ConfigFault> {
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            let (name, value) = read_line(line).map_err(|text| ConfigFault { number, text })?;
            lines.push(ConfigLine { number, name, value });
        }
    }
    Ok(lines)
}

/// `name = value` or `name value`.
fn read_line(line: &str) -> Result<(String, String), String> {
    let end = line.find(|c: char| c.is_whitespace() || ['=', '\'', '#'].contains(&c)).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    if name.contains('.') {
        return Err("settings of extensions cannot be used".to_owned());
    }
    let name = (!name.contains('-')).then(|| variable_name(name)).flatten();
    let name = name.ok_or("no setting has such a name; a line is `name = value`")?;
    if name.starts_with("include") {
        return Err("other files are not included: put their lines into this one".to_owned());
    }
    let rest = rest.trim_start();
    let value = read_value(rest.strip_prefix('=').unwrap_or(rest).trim_start());
    value.map(|value| (name.clone(), value)).map_err(|text| format!("`{name}` {text}"))
}

/// The value without its quotes, in which a quote is doubled or has a backslash before it, and without the comment behind it.
fn read_value(text: &str) -> Result<String, &'static str> {
    if text.contains('\\') {
        return Err("has a backslash in its value, which is not understood here");
    }
    let Some(quoted) = text.strip_prefix('\'') else {
        let end = text.find(|c: char| c.is_whitespace() || c == '#').unwrap_or(text.len());
        return only_comment(&text[end..]).map(|()| text[..end].to_owned());
    };
    let mut value = String::new();
    let mut rest = quoted;
    loop {
        let (part, after) = rest.split_once('\'').ok_or("has a quote that does not end")?;
        value += part;
        match after.strip_prefix('\'') {
            Some(more) => rest = more,
            None => return only_comment(after).map(|()| value),
        }
        value.push('\'');
    }
}

fn only_comment(rest: &str) -> Result<(), &'static str> {
    let rest = rest.trim_start();
    let is_comment = rest.is_empty() || rest.starts_with('#');
    is_comment.then_some(()).ok_or("has more than one value; put quotes around a value with spaces")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(String, String), (usize, String)> {
        let lines = read_lines(text).map_err(|fault| (fault.number, fault.text))?;
        let line = lines.into_iter().next_back().expect("a line");
        Ok((line.name, line.value))
    }

    #[test]
    fn names_values_quotes_and_comments_are_read_as_the_server_does() {
        for (text, name, value) in [
            ("work_mem = 16MB", "work_mem", "16MB"),
            ("Work_Mem 16MB # much", "work_mem", "16MB"),
            ("work_mem='16MB'# much", "work_mem", "16MB"),
            ("# a = 1\n\nwal_compression=on\r", "wal_compression", "on"),
            ("a = 'it''s # one'", "a", "it's # one"),
            ("a = ''", "a", ""),
        ] {
            assert_eq!(read(text), Ok((name.to_owned(), value.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line() {
        for (text, line, why) in [
            ("a=1\ninclude 'other.conf'", 2, "not included"),
            ("include_dir = 'conf.d'", 1, "not included"),
            ("auto_explain.log_min_duration = 1", 1, "settings of extensions"),
            ("= 1", 1, "no setting has such a name"),
            ("[mysqld]", 1, "no setting has such a name"),
            ("a = 16 MB", 1, "`a` has more than one value"),
            ("\na = 'x", 2, "`a` has a quote that does not end"),
            ("a = 'x\\n'", 1, "`a` has a backslash"),
        ] {
            let (number, text) = read(text).unwrap_err();
            assert!(number == line && text.contains(why), "{number}: {text}");
        }
    }
}
