//! The character set in which a session of MySQL or MariaDB writes its letters.
//!
//! In: a statement that sets it, or the number of a collation, as a handshake has it. Out: the set, as a literal names it. Limits: sets in which a part
//! of a letter may be the byte of a backslash are not written again: where such a literal ends depends on them.

use crate::lexer::tokens;
use crate::reading::Dialect;

/// A longer statement sets no character set.
const SETTING_BYTES_MAX: usize = 4096;
/// Those in which no part of a letter is the byte of a quote or a backslash.
const SETS: [&str; 27] = [
    "armscii8", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "dec8", "eucjpms", "euckr",
    "gb2312", "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7",
    "macce", "macroman", "tis620", "ujis",
];
const OTHERS: [&str; 6] = ["big5", "cp932", "gb18030", "gbk", "sjis", "swe7"];
/// Bytes that are no letters of these are kept as they are.
const WITHOUT_SUCH_BYTES: [&str; 5] = ["ascii", "binary", "utf8", "utf8mb3", "utf8mb4"];

/// The character set of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Letters {
    /// Nothing says it.
    #[default]
    Unknown,
    /// This one.
    Of(&'static str),
    /// One whose literals cannot be written again.
    Other,
}

impl Letters {
    /// What the statement `text` sets; `None` if it sets no character set.
    pub fn set_by(text: &str) -> Option<Letters> {
        let begins =
            |with: &str| text.trim_start().get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with));
        (text.len() <= SETTING_BYTES_MAX && (begins("set") || begins("/*"))).then_some(())?;
        let tokens = tokens(text, Dialect::Mysql).ok()?;
        let plain = |written: &str| written.trim_matches(['\'', '"', '`']).to_ascii_lowercase();
        let words: Vec<String> = tokens.iter().map(|token| plain(token.text(text))).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ["set", settings @ ..] = &words[..] else { return None };
        let begins = (0..settings.len()).filter(|at| *at == 0 || settings[*at - 1] == ",");
        begins.filter_map(|at| set_in(&settings[at..])).next_back().map(Letters::named)
    }

    /// Those of the collation with this number, of MySQL and MariaDB.
    pub fn of_collation(number: u8) -> Letters {
        Letters::named(match number {
            1 | 84 => "big5",
            2 | 9 | 21 | 27 | 77 => "latin2",
            3 | 69 => "dec8",
            4 | 80 => "cp850",
            5 | 8 | 15 | 31 | 47..=49 | 94 => "latin1",
            6 | 72 => "hp8",
            7 | 74 => "koi8r",
            10 | 82 => "swe7",
            11 | 65 => "ascii",
            12 | 91 => "ujis",
            13 | 88 => "sjis",
            14 | 23 | 50..=52 => "cp1251",
            16 | 71 => "hebrew",
            18 | 89 => "tis620",
            19 | 85 => "euckr",
            20 | 41 | 42 | 79 => "latin7",
            22 | 75 => "koi8u",
            24 | 86 => "gb2312",
            25 | 70 => "greek",
            26 | 34 | 44 | 66 | 99 => "cp1250",
            28 | 87 => "gbk",
            29 | 58 | 59 => "cp1257",
            30 | 78 => "latin5",
            32 | 64 => "armscii8",
            33 | 76 | 83 | 192..=223 => "utf8mb3",
            36 | 68 => "cp866",
            37 | 73 => "keybcs2",
            38 | 43 => "macce",
            39 | 53 => "macroman",
            40 | 81 => "cp852",
            45 | 46 | 224..=247 | 255 => "utf8mb4",
            57 | 67 => "cp1256",
            63 => "binary",
            92 | 93 => "geostd8",
            95 | 96 => "cp932",
            97 | 98 => "eucjpms",
            248..=250 => "gb18030",
            _ => "",
        })
    }

    fn named(name: &str) -> Letters {
        if let Some(set) = SETS.into_iter().find(|set| *set == name) {
            Letters::Of(set)
        } else if WITHOUT_SUCH_BYTES.contains(&name) {
            Letters::Of("binary")
        } else if OTHERS.contains(&name) {
            Letters::Other
        } else {
            Letters::Unknown
        }
    }
}

/// The character set of the client that `setting`, which goes on to the end of its statement, sets.
fn set_in<'a>(setting: &[&'a str]) -> Option<&'a str> {
    match setting {
        ["names" | "charset", set, ..]
        | ["character" | "char", "set", set, ..]
        | ["character_set_client" | "@@character_set_client", "=" | ":=", set, ..]
        | ["session" | "local", "character_set_client", "=" | ":=", set, ..]
        | ["@@session" | "@@local", ".", "character_set_client", "=" | ":=", set, ..] => Some(*set),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_sets_its_letters_in_many_forms() {
        for (text, letters) in [
            ("SET NAMES cp1251", Letters::Of("cp1251")),
            (" set names 'KOI8R' collate koi8r_general_ci;", Letters::Of("koi8r")),
            ("SET CHARACTER SET greek", Letters::Of("greek")),
            ("/*!40101 SET NAMES utf8mb4 */", Letters::Of("binary")),
            ("SET sql_mode='', @@session.character_set_client = latin2, autocommit=1", Letters::Of("latin2")),
            ("SET SESSION character_set_client := cp866", Letters::Of("cp866")),
            ("SET NAMES latin1, character_set_client=cp850", Letters::Of("cp850")),
            ("SET NAMES gbk", Letters::Other),
            ("SET character_set_client = @saved_cs_client", Letters::Unknown),
            ("SET NAMES DEFAULT", Letters::Unknown),
        ] {
            assert_eq!(Letters::set_by(text), Some(letters), "{text}");
        }
        for text in ["SET autocommit=1", "SET GLOBAL character_set_client=latin2", "SELECT 'set names latin1'", "SET"] {
            assert_eq!(Letters::set_by(text), None, "{text}");
        }
    }

    #[test]
    fn the_numbers_of_collations_are_those_of_the_servers() {
        let sets = [8, 51, 33, 45, 63, 28, 7, 0].map(Letters::of_collation);
        let of = Letters::Of;
        let expected =
            [of("latin1"), of("cp1251"), of("binary"), of("binary"), of("binary"), Letters::Other, of("koi8r")];
        assert_eq!((&sets[..7], sets[7]), (&expected[..], Letters::Unknown));
    }
}
