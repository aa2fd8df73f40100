//! One value: from its text to its type, within the bounds of its declaration, scaled if it scales.
//!
//! In: a [`Written`] value and what is allowed. Out: a typed value, or an error with what is allowed.
//! Limits: bounds hold for the value as written; scaling never goes below the least allowed and is refused above the most.

use crate::background;
use crate::document::Written;
use crate::error::{Place, PlanError, hint, listed, nearest, shown};
use crate::statements;
use crate::tables;
use crate::text;
use crate::variants;
use model::{
    Access, ArgDef, Bytes, DistributionEntry, LeveledWord, NO_CONFIG, Nanos, Numbers, ParamDef, ParamKind, SPEED_MAX,
    SPEED_UNPACED, SqlDataSet, Value,
};

/// A year: whatever is longer is a slip of the unit.
const DURATION_NS_MAX: u64 = 365 * 86_400 * 1_000_000_000;
const MIB: u64 = 1 << 20;

/// The value of the parameter `def`.
pub(crate) fn parse_param(
    def: &ParamDef,
    written: &Written<'_>,
    scale: f64,
    distributions: &[DistributionEntry],
) -> Result<Value, PlanError> {
    let scale = if def.scales { scale } else { 1.0 };
    match def.kind {
        ParamKind::Bool => parse_word(written, &["true", "false"]).map(|word| Value::Bool(word == "true")),
        ParamKind::Int { min, max } => scaled_int(written, min, max, scale).map(Value::Int),
        ParamKind::Float { min, max } => parse_float(written, min, max).map(Value::Float),
        ParamKind::Bytes { min, max } => scaled_bytes(written, min, max, scale).map(|size| Value::Bytes(Bytes(size))),
        ParamKind::Duration => parse_duration(written, Nanos(0), Nanos(DURATION_NS_MAX)).map(Value::Nanos),
        ParamKind::OneOf(words) | ParamKind::Steps(words) => {
            parse_word(written, words).map(|word| Value::Word(word.to_owned()))
        }
        ParamKind::Leveled(names) => parse_leveled(written, names).map(|word| Value::Word(word.to_owned())),
        ParamKind::Access => parse_access(written, distributions).map(Value::Access),
        ParamKind::Path => parse_path(written).map(|path| Value::Word(path.to_owned())),
        ParamKind::ConfigFile => parse_config_path(written).map(|path| Value::Word(path.to_owned())),
        ParamKind::Variables => parse_variable(written).map(Value::Word),
        ParamKind::Statements { .. } => statements::typed_ops(written).map(Value::Statements),
        ParamKind::Background { rows } => background::typed_entries(written, rows).map(Value::Background),
        ParamKind::Tables { .. } => tables::typed(written, scale, distributions).map(Value::Tables),
        ParamKind::Name => parse_name(written).map(Value::Word),
        // Its figures take its place as soon as the other parameters are known.
        ParamKind::Recording => parse_path(written).map(|path| Value::Word(path.to_owned())),
        ParamKind::Speed => parse_speed(written),
        ParamKind::DataSets if written.text.is_empty() => Ok(Value::Data(SqlDataSet::default())),
        ParamKind::Variants | ParamKind::DataSets => Err(written
            .place
            .error(format_args!("`{0}` is written in a plan file only, as `[[{0}]]` tables", def.name))),
    }
}

/// How fast a recording is replayed.
fn parse_speed(written: &Written<'_>) -> Result<Value, PlanError> {
    if written.text == SPEED_UNPACED {
        return Ok(Value::Word(SPEED_UNPACED.to_owned()));
    }
    let speed = text::parse_finite(&written.text).filter(|speed| *speed > 0.0 && *speed <= SPEED_MAX);
    let takes = format_args!("a number above 0, at most {SPEED_MAX}, or `{SPEED_UNPACED}`");
    speed.map(Value::Float).ok_or_else(|| written.refused(takes))
}

fn parse_name(written: &Written<'_>) -> Result<String, PlanError> {
    let text = &written.text;
    variants::is_name(text).then(|| text.clone()).ok_or_else(|| written.refused(variants::NAME_TAKES))
}

/// A server's variable. Its name follows the dot of its key, in small letters; the server judges its value.
pub(crate) fn parse_variable(written: &Written<'_>) -> Result<String, PlanError> {
    const CHARS_MAX: usize = 1000;
    let name = written.key.split_once('.').map_or("", |(_, name)| name);
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') {
        let text = "is no name of a variable: small letters, digits and `_` behind one dot";
        return Err(written.place.error(format_args!("`{}` {text}", shown(&written.key))));
    }
    let text = &written.text;
    let fits = !text.is_empty() && text.chars().count() <= CHARS_MAX && !text.chars().any(char::is_control);
    fits.then(|| text.clone()).ok_or_else(|| written.refused("1 to 1000 characters, none of them a control character"))
}

/// A whole number within the bounds.
pub(crate) fn parse_int(written: &Written<'_>, min: u64, max: u64) -> Result<u64, PlanError> {
    let takes = || match max {
        u64::MAX => format!("a whole number of at least {min}"),
        _ => format!("a whole number from {min} to {max}"),
    };
    let value = text::parse_count(&written.text).filter(|value| (min..=max).contains(value));
    value.ok_or_else(|| written.refused(format_args!("{}{}", takes(), range_hint(&written.text))))
}

/// How several values are written, if `text` is a range as other tools write it: `1-4`.
fn range_hint(text: &str) -> &'static str {
    let is_range = text.split_once('-').is_some_and(|(first, last)| {
        [first, last].iter().all(|end| !end.is_empty() && text::parse_whole(end.trim()).is_some())
    });
    if is_range { "; for several values write a list, `1,2,4`, or powers of two, `1..4`" } else { "" }
}

/// A number within the bounds.
fn parse_float(written: &Written<'_>, min: f64, max: f64) -> Result<f64, PlanError> {
    let value = text::parse_finite(&written.text).filter(|value| (min..=max).contains(value));
    value.ok_or_else(|| written.refused(format_args!("a number from {min} to {max}")))
}

/// A number above zero, up to `max`.
pub(crate) fn parse_above_zero(written: &Written<'_>, max: u64) -> Result<f64, PlanError> {
    let value = text::parse_finite(&written.text).filter(|value| *value > 0.0 && *value <= max as f64);
    value.ok_or_else(|| written.refused(format_args!("a number above 0, at most {max}")))
}

/// A length of time within the bounds.
pub(crate) fn parse_duration(written: &Written<'_>, min: Nanos, max: Nanos) -> Result<Nanos, PlanError> {
    let value = Nanos::parse(&written.text).ok_or_else(|| written.refused(text::TIME))?;
    if !(min..=max).contains(&value) {
        return Err(written.refused(format_args!("a time from {} to {}", time_text(min), time_text(max))));
    }
    Ok(value)
}

pub(crate) fn parse_word<'w>(written: &Written<'_>, words: &[&'w str]) -> Result<&'w str, PlanError> {
    let found = words.iter().find(|word| **word == written.text).copied();
    let names = || words.iter().copied();
    found.ok_or_else(|| written.refused(format_args!("{}{}", one_of(names()), hint(&written.text, names()))))
}

/// One of `names`, with one of its levels if it has some.
fn parse_leveled<'w>(written: &'w Written<'_>, names: &[LeveledWord]) -> Result<&'w str, PlanError> {
    let text = written.text.as_str();
    if names.iter().any(|name| name.level_of(text).is_some()) {
        return Ok(text);
    }
    let name = text.split(':').next().unwrap_or_default();
    Err(match names.iter().find(|known| known.name == name) {
        Some(known) => written.refused(level_words(known)),
        None => {
            let all: Vec<String> = names.iter().map(LeveledWord::to_string).collect();
            let near = hint(name, names.iter().map(|known| known.name));
            written.refused(format_args!("one of {}{near}", listed(all.iter().map(String::as_str))))
        }
    })
}

/// What may follow a name, for messages.
fn level_words(known: &LeveledWord) -> String {
    match known.levels {
        None => format!("`{}` without a level: it has none", known.name),
        Some((least, most)) => {
            let gaps: String = known.gaps.iter().map(|gap| format!(", without {gap}")).collect();
            format!("`{}:N` with N a whole number from {least} to {most}{gaps}", known.name)
        }
    }
}

/// The path of a file or directory; empty for none.
pub(crate) fn parse_path<'w>(written: &'w Written<'_>) -> Result<&'w str, PlanError> {
    let text = written.text.as_str();
    (!text.contains('\0')).then_some(text).ok_or_else(|| written.refused("a path without a null character"))
}

/// The path of a configuration file; [`NO_CONFIG`] for none, which may also be written as nothing.
fn parse_config_path<'w>(written: &'w Written<'_>) -> Result<&'w str, PlanError> {
    parse_path(written).map(|path| if path.is_empty() { NO_CONFIG } else { path })
}

/// `one of` the names, or the single name.
pub(crate) fn one_of<'n>(names: impl Iterator<Item = &'n str>) -> String {
    format!("one of {}", listed(names))
}

fn scaled_int(written: &Written<'_>, min: u64, max: u64, scale: f64) -> Result<u64, PlanError> {
    let value = parse_int(written, min, max)?;
    // Zero stays zero: it means none, and none of something is no smaller at a smaller scale.
    if scale == 1.0 || value == 0 {
        return Ok(value);
    }
    let scaled = ((value as f64 * scale).round() as u64).max(1).max(min);
    within_scale(written, scaled, max, scale, max)
}

pub(crate) fn scaled_bytes(written: &Written<'_>, min: u64, max: u64, scale: f64) -> Result<u64, PlanError> {
    let takes = || match max {
        u64::MAX => format!("a size of at least {}", Bytes(min)),
        _ => format!("a size from {} to {}", Bytes(min), Bytes(max)),
    };
    let value = text::parse_size(&written.text).ok_or_else(|| written.refused(text::SIZE))?;
    if !(min..=max).contains(&value) {
        return Err(written.refused(takes()));
    }
    if scale == 1.0 || value == 0 {
        return Ok(value);
    }
    let raw = value as f64 * scale;
    // Whole MiB keep a file a multiple of every block size in use.
    let rounded = if raw > MIB as f64 { (raw / MIB as f64).round() * MIB as f64 } else { raw.round() };
    within_scale(written, (rounded as u64).max(1).max(min), max, scale, Bytes(max))
}

fn within_scale(
    written: &Written<'_>,
    scaled: u64,
    max: u64,
    scale: f64,
    shown_max: impl std::fmt::Display,
) -> Result<u64, PlanError> {
    (scaled <= max)
        .then_some(scaled)
        .ok_or_else(|| written.refused(format_args!("at most {shown_max} after scaling by {scale}")))
}

/// An access distribution with all its arguments.
pub(crate) fn parse_access(written: &Written<'_>, distributions: &[DistributionEntry]) -> Result<Access, PlanError> {
    let (name, args) = match written.text.split_once(':') {
        Some((name, args)) => (name, Some(args)),
        None => (written.text.as_str(), None),
    };
    let Some(entry) = distributions.iter().find(|entry| entry.name == name) else {
        return Err(unknown_distribution(written, name, args, distributions));
    };
    let given: Vec<&str> = args.iter().flat_map(|args| args.split(':')).collect();
    if given.len() > entry.args.len() {
        return Err(written.refused(format_args!("`{}`{}", entry.form(), arguments_at_most(entry.args.len()))));
    }
    let given: Vec<f64> = entry
        .args
        .iter()
        .zip(given)
        .map(|(def, text)| parse_argument(written, entry, def, text))
        .collect::<Result<_, _>>()?;
    Ok(Access { name: name.to_owned(), args: entry.with_defaults(&given) })
}

fn arguments_at_most(most: usize) -> String {
    match most {
        0 => " without an argument".to_owned(),
        1 => ", one argument at most".to_owned(),
        _ => format!(", {most} arguments at most"),
    }
}

fn parse_argument(
    written: &Written<'_>,
    entry: &DistributionEntry,
    def: &ArgDef,
    text: &str,
) -> Result<f64, PlanError> {
    let (is_allowed, kind): (fn(f64) -> bool, _) = match def.numbers {
        Numbers::Real => (|_| true, "a number"),
        Numbers::Whole => (|value| value.fract() == 0.0, "a whole number"),
    };
    let value = text::parse_finite(text).filter(|value| (def.min..=def.max).contains(value) && is_allowed(*value));
    let (form, name) = (entry.form(), def.name);
    value.ok_or_else(|| written.refused(format_args!("`{form}` with {name} {kind} from {} to {}", def.min, def.max)))
}

fn unknown_distribution(
    written: &Written<'_>,
    name: &str,
    arg: Option<&str>,
    distributions: &[DistributionEntry],
) -> PlanError {
    let names = || distributions.iter().map(|entry| entry.name);
    let meant = nearest(name, names()).map(|near| match arg {
        Some(arg) => format!("; did you mean `{near}:{}`?", shown(arg)),
        None => format!("; did you mean `{near}`?"),
    });
    let takes = format!("{}{}", one_of(names()), meant.unwrap_or_default());
    match written.place {
        Place::Argument(_) if !name.is_empty() => {
            PlanError::without_place(format_args!("there is no distribution `{}`; use {takes}", shown(name)))
        }
        _ => written.refused(takes),
    }
}

/// A bound of a time as a person would write it; [`Nanos`] alone prints measured times, with three digits.
pub(crate) fn time_text(time: Nanos) -> String {
    let units =
        [(86_400_000_000_000, "d"), (3_600_000_000_000, "h"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let whole = units.iter().find(|(size, _)| time.0 >= *size && time.0.is_multiple_of(*size));
    match whole {
        Some((size, unit)) => format!("{}{unit}", time.0 / size),
        None if time.0 == 0 => "0s".to_owned(),
        None => format!("{}ns", time.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ParamRole;

    fn value(kind: ParamKind, text: &str, scale: f64) -> Result<Value, String> {
        let def = ParamDef { scales: true, ..ParamDef::new("p", ParamRole::Tuning, kind, "") };
        let written = Written { key: "p".into(), text: text.into(), place: Place::Flag("p") };
        let distributions = crate::fixture::catalogue().distributions;
        parse_param(&def, &written, scale, &distributions).map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_with_levels_is_read_and_one_without_them_named() {
        const NAMES: &[LeveledWord] = &[LeveledWord::plain("lz4"), LeveledWord::leveled("zstd", -5, 19, &[0])];
        let read = |text| value(ParamKind::Leveled(NAMES), text, 1.0);
        for text in ["lz4", "zstd:-5", "zstd:19"] {
            assert_eq!(read(text), Ok(Value::Word(text.into())));
        }
        let refusal = |text| read(text).expect_err("no level");
        assert!(refusal("zstd:20").contains("`zstd:N` with N a whole number from -5 to 19, without 0"));
        assert!(refusal("zstd").contains("`zstd:N`") && refusal("zstd:+3").contains("`zstd:N`"));
        assert!(refusal("lz4:1").contains("`lz4` without a level"));
        let unknown = refusal("zsdt:3");
        assert!(unknown.contains("one of `lz4`, `zstd:-5..19`") && unknown.contains("`zstd`?"), "{unknown}");
    }

    #[test]
    fn every_kind_reads_its_text() {
        let int = ParamKind::Int { min: 0, max: 9 };
        let float = ParamKind::Float { min: 0.0, max: 1.0 };
        let bytes = ParamKind::Bytes { min: 512, max: u64::MAX };
        let access = |name: &str, args: &[f64]| Value::Access(Access { name: name.into(), args: args.into() });
        let cases = [
            (ParamKind::Bool, "true", Value::Bool(true)),
            (int, "9", Value::Int(9)),
            (float, "0.5", Value::Float(0.5)),
            (bytes, "16k", Value::Bytes(Bytes(16384))),
            (ParamKind::Duration, "100us", Value::Nanos(Nanos(100_000))),
            (ParamKind::OneOf(&["a", "b"]), "b", Value::Word("b".into())),
            (ParamKind::Access, "zipf:0", access("zipf", &[0.0])),
            (ParamKind::Access, "zipf", access("zipf", &[0.9])),
            (ParamKind::Access, "uniform", access("uniform", &[])),
            (ParamKind::Access, "special", access("special", &[1.0, 75.0, 12.0])),
            (ParamKind::Access, "special:5:50", access("special", &[5.0, 50.0, 12.0])),
            (ParamKind::Access, "special:0.5:1e1:3", access("special", &[0.5, 10.0, 3.0])),
            (ParamKind::Path, "/a b", Value::Word("/a b".into())),
        ];
        for (kind, text, expected) in cases {
            assert_eq!(value(kind, text, 1.0), Ok(expected), "{text}");
        }
    }

    #[test]
    fn every_kind_refuses_other_text_with_what_it_takes() {
        let cases = [
            (ParamKind::Bool, "1", "one of `true`, `false`"),
            (ParamKind::Int { min: 1, max: 9 }, "10", "a whole number from 1 to 9"),
            (ParamKind::Int { min: 1, max: 9 }, "1.5", "a whole number from 1 to 9"),
            (ParamKind::Int { min: 2, max: u64::MAX }, "-1", "a whole number of at least 2"),
            (ParamKind::Float { min: 0.0, max: 1.0 }, "nan", "a number from 0 to 1"),
            (ParamKind::Float { min: 0.0, max: 1.0 }, "1.01", "a number from 0 to 1"),
            (
                ParamKind::Bytes { min: 512, max: 1 << 30 },
                "16q",
                "a size in KiB, MiB, GiB or TiB, such as `16KiB`, `2g`, `1GB`, or a number of bytes",
            ),
            (ParamKind::Bytes { min: 512, max: 1 << 30 }, "2g", "a size from 512 B to 1 GiB"),
            (ParamKind::Bytes { min: 512, max: u64::MAX }, "1", "a size of at least 512 B"),
            (ParamKind::Duration, "soon", "a time such as `30s`, `250ms`, `5m` or a number of seconds"),
            (ParamKind::Duration, "366d", "a time from 0s to 365d"),
            (ParamKind::OneOf(&["disk", "os"]), "dsk", "one of `disk`, `os`; did you mean `disk`?"),
            (ParamKind::Access, "zipff:0.9", "one of `uniform`, `zipf`, `special`; did you mean `zipf:0.9`?"),
            (ParamKind::Access, "specal:1:75", "one of `uniform`, `zipf`, `special`; did you mean `special:1:75`?"),
            (ParamKind::Access, "unifrm", "one of `uniform`, `zipf`, `special`; did you mean `uniform`?"),
            (ParamKind::Access, "uniform:1", "`uniform` without an argument"),
            (ParamKind::Access, "zipf:x", "`zipf:THETA` with THETA a number from 0 to 100"),
            (ParamKind::Access, "zipf:inf", "`zipf:THETA` with THETA a number from 0 to 100"),
            (ParamKind::Access, "zipf:", "`zipf:THETA` with THETA a number from 0 to 100"),
            (ParamKind::Access, "zipf:0.9:1", "`zipf:THETA`, one argument at most"),
            (ParamKind::Access, "special:1:101", "`special:PCT:RES:ITER` with RES a number from 0 to 100"),
            (ParamKind::Access, "special:1::12", "`special:PCT:RES:ITER` with RES a number from 0 to 100"),
            (ParamKind::Access, "special:1:75:1.5", "`special:PCT:RES:ITER` with ITER a whole number from 1 to 100"),
            (ParamKind::Access, "special:1:75:12:0", "`special:PCT:RES:ITER`, 3 arguments at most"),
        ];
        for (kind, text, takes) in cases {
            assert_eq!(value(kind, text, 1.0), Err(format!("--p cannot be `{text}`; use {takes}")));
        }
        let nul = "--p cannot be `a\\u{0}b`; use a path without a null character";
        assert_eq!(value(ParamKind::Path, "a\0b", 1.0), Err(nul.into()));
    }

    #[test]
    fn a_count_may_have_an_exponent_and_a_range_with_a_dash_is_answered_with_lists() {
        let rows = ParamKind::Int { min: 1, max: 2_000_000_000 };
        assert_eq!(value(rows, "1e6", 1.0), Ok(Value::Int(1_000_000)));
        assert!(value(rows, "1e-6", 1.0).is_err() && value(rows, "1e12", 1.0).is_err());
        let refused = value(rows, "1-4", 1.0).unwrap_err();
        assert!(refused.ends_with("; for several values write a list, `1,2,4`, or powers of two, `1..4`"), "{refused}");
        assert!(!value(rows, "-4", 1.0).unwrap_err().contains("list"));
    }

    #[test]
    fn scaling_rounds_and_stops_at_the_least_allowed() {
        let int = |min, text| value(ParamKind::Int { min, max: u64::MAX }, text, 0.001);
        assert_eq!(int(0, "20000"), Ok(Value::Int(20)));
        assert_eq!(int(0, "3"), Ok(Value::Int(1)), "at least 1");
        assert_eq!(int(0, "0"), Ok(Value::Int(0)), "none stays none");
        assert_eq!(int(10, "3000"), Ok(Value::Int(10)), "the kind's least");
        let bytes = |text, scale| value(ParamKind::Bytes { min: 4096, max: 1 << 40 }, text, scale);
        assert_eq!(bytes("1GB", 0.1), Ok(Value::Bytes(Bytes::from_mib(95))), "a multiple of 1 MiB");
        assert_eq!(bytes("10MiB", 0.01), Ok(Value::Bytes(Bytes(104_858))), "below 1 MiB to the byte");
        assert_eq!(bytes("10MiB", 1e-9), Ok(Value::Bytes(Bytes(4096))), "the kind's least");
    }

    #[test]
    fn scaling_above_the_most_allowed_is_refused() {
        let int = value(ParamKind::Int { min: 1, max: 10 }, "8", 2.0);
        assert_eq!(int, Err("--p cannot be `8`; use at most 10 after scaling by 2".into()));
        let bytes = value(ParamKind::Bytes { min: 1, max: 1 << 30 }, "1GiB", 2.0);
        assert_eq!(bytes, Err("--p cannot be `1GiB`; use at most 1 GiB after scaling by 2".into()));
    }

    #[test]
    fn only_what_scales_is_scaled() {
        let def = ParamDef {
            shapes_data: true,
            ..ParamDef::new("p", ParamRole::Tuning, ParamKind::Int { min: 0, max: 9 }, "")
        };
        let written = Written { key: "p".into(), text: "8".into(), place: Place::Flag("p") };
        assert_eq!(parse_param(&def, &written, 0.1, &[]), Ok(Value::Int(8)));
    }
}
