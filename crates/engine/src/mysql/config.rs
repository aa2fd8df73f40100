//! The syntax of my.cnf.
//!
//! In: the text of a file. Out: the variables that it sets for the server. Limits: sections of other programs are skipped, as the server
//! does; sections for one version of the server are refused, and so are `!include` and values with a backslash.
//! (<https://mariadb.com/kb/en/configuring-mariadb-with-option-files/>)

use super::arguments::{MARIADB_RULES, MYSQL_RULES};
use crate::server::config_file::{ConfigFault, ConfigLine, ConfigSyntax, variable_name};

pub(super) static MARIADB_CONFIG: ConfigSyntax =
    ConfigSyntax { rules: MARIADB_RULES, read_lines: |text| read_lines(text, MARIADB_SECTIONS) };
pub(super) static MYSQL_CONFIG: ConfigSyntax =
    ConfigSyntax { rules: MYSQL_RULES, read_lines: |text| read_lines(text, MYSQL_SECTIONS) };

/// The sections that the servers read. Galera's has nothing that a plan may set, so each of its lines is refused.
const MARIADB_SECTIONS: &[&str] = &["mysqld", "server", "mariadb", "mariadbd", "galera"];
const MYSQL_SECTIONS: &[&str] = &["mysqld", "server"];
/// How the names of sections for other programs begin. Those for the server's own versions (`mysqld-10.11`) begin alike.
const OTHER_PROGRAMS: [&str; 8] =
    ["client", "mysql", "mariadb", "myisam", "isam", "embedded", "xtrabackup", "mariabackup"];

/// Whose lines a section has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadSection {
    Server,
    OtherProgram,
}

/// A fragment may begin without a section: these lines are the server's, too.
fn read_lines(text: &str, sections: &[&str]) -> Result<Vec<ConfigLine>, ConfigFault> {
    let mut section = ReadSection::Server;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let line = line.trim();
        match line.chars().next() {
            None | Some('#' | ';') => {}
            Some('!') => return Err(fault(number, "other files are not included: put their lines into this one")),
            Some('[') => section = section_of(line, sections).map_err(|text| fault(number, &text))?,
            Some(_) if section == ReadSection::Server => lines.push(read_line(number, line)?),
            Some(_) => {}
        }
    }
    Ok(lines)
}

fn fault(number: usize, text: &str) -> ConfigFault {
    ConfigFault { number, text: text.to_owned() }
}

fn section_of(line: &str, sections: &[&str]) -> Result<ReadSection, String> {
    let name = without_comment(line).trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let Some(name) = name.map(str::trim) else { return Err("a section is written `[mysqld]`".to_owned()) };
    let is_of_version = |section: &str| {
        let version = name.strip_prefix(section).and_then(|rest| rest.strip_prefix('-'));
        version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    };
    if sections.contains(&name) {
        Ok(ReadSection::Server)
    } else if sections.iter().any(|section| is_of_version(section)) {
        Err("a section for one version of the server cannot be used; move its lines to `[mysqld]`".to_owned())
    } else if OTHER_PROGRAMS.iter().any(|program| name.starts_with(program)) {
        Ok(ReadSection::OtherProgram)
    } else {
        Err(format!("there is no such section; the server reads `[{}]`", sections.join("]`, `[")))
    }
}

fn read_line(number: usize, line: &str) -> Result<ConfigLine, ConfigFault> {
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (without_comment(line), None),
    };
    let name = variable_name(name.trim());
    let name = name.ok_or_else(|| fault(number, "no variable has such a name; a line is `name = value` or `name`"))?;
    let value = match value {
        Some(value) => read_value(value.trim()).map_err(|text| fault(number, &format!("`{name}` {text}")))?,
        // As on the command line, a name alone switches on.
        None => "ON".to_owned(),
    };
    Ok(ConfigLine { number, name, value })
}

/// The value without its quotes and without the comment behind it.
fn read_value(text: &str) -> Result<String, &'static str> {
    if text.contains('\\') {
        return Err("has a backslash in its value, which is not understood here");
    }
    let quote = text.chars().next().filter(|first| ['\'', '"'].contains(first));
    let Some(quote) = quote else { return Ok(without_comment(text).trim().to_owned()) };
    let (value, rest) = text[1..].split_once(quote).ok_or("has a quote that does not end")?;
    match without_comment(rest).trim() {
        "" => Ok(value.to_owned()),
        _ => Err("has text behind its quotes"),
    }
}

/// `line` up to a `#`.
fn without_comment(line: &str) -> &str {
    line.split_once('#').map_or(line, |(before, _)| before)
}

#[cfg(test)]
mod tests {
    use super::*;

    type ReadLine = (usize, String, String);

    fn read(text: &str) -> Result<Vec<ReadLine>, (usize, String)> {
        let lines = read_lines(text, MARIADB_SECTIONS).map_err(|fault| (fault.number, fault.text))?;
        Ok(lines.into_iter().map(|line| (line.number, line.name, line.value)).collect())
    }

    fn one(text: &str) -> (String, String) {
        let (_, name, value) = read(text).unwrap().remove(0);
        (name, value)
    }

    #[test]
    fn names_values_quotes_and_comments_are_read_as_the_server_does() {
        for (text, name, value) in [
            ("innodb-purge-threads=4", "innodb_purge_threads", "4"),
            ("  Sort_Buffer_Size  =  2M   # small", "sort_buffer_size", "2M"),
            ("x = 'a # b' # c", "x", "a # b"),
            ("x=\"a=b;c\"", "x", "a=b;c"),
            ("log-bin   # on", "log_bin", "ON"),
            ("x=", "x", ""),
            ("\u{feff}x=1", "x", "1"),
        ] {
            assert_eq!(one(text), (name.to_owned(), value.to_owned()), "{text}");
        }
    }

    #[test]
    fn only_the_sections_of_the_server_count() {
        let text = "a=1\n[client]\nb=2\n[mysqldump]\nquick\n# [mysqld]\n[ mariadb ]\nc=3\n[mysqld_safe]\nd=4\n[server] # last\ne=5";
        let names: Vec<String> = read(text).unwrap().into_iter().map(|(_, name, _)| name).collect();
        assert_eq!(names, ["a", "c", "e"]);
        assert!(read("[mysqld-10.11]\na=1").unwrap_err().1.contains("one version"));
        assert!(read("[mysqdl").unwrap_err().1.contains("is written"));
        assert!(read("\n[postgres]").unwrap_err() == (2, "there is no such section; the server reads `[mysqld]`, `[server]`, `[mariadb]`, `[mariadbd]`, `[galera]`".into()));
        assert_eq!(read_lines("[mariadb]\na=1", MYSQL_SECTIONS).unwrap(), [], "MySQL does not read it");
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line() {
        for (text, line, why) in [
            ("a=1\n!include /etc/x", 2, "not included"),
            ("!includedir /etc", 1, "not included"),
            ("a b=1", 1, "no variable has such a name"),
            ("=1", 1, "no variable has such a name"),
            ("\n\na='x", 3, "`a` has a quote that does not end"),
            ("a='x'y", 1, "`a` has text behind its quotes"),
            ("a=x\\ty", 1, "`a` has a backslash"),
        ] {
            let (number, text) = read(text).unwrap_err();
            assert!(number == line && text.contains(why), "{number}: {text}");
        }
    }
}
