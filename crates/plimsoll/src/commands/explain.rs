//! `plimsoll explain CODE`: what a finding means.

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use analysis::Code;
use analysis::findings::{Explanation, explanation};
use clap::{Arg, ArgMatches, Command};
use model::{ParamKind, Value};

pub fn clap() -> Command {
    let code = Arg::new("code")
        .value_name("CODE")
        .help("Code of a finding, or a word of an answer such as `indicative` or `l.i1` [default: list all codes]");
    Command::new("explain").arg(code).about("Explain a finding by its code")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let Some(code) = matches.get_one::<String>("code") else { return list(context) };
    if let (None, Some(word)) = (Code::parse(code), word(code, context)) {
        if context.json {
            output::json::print(&serde_json::json!({"word": code, "explain": word}))
        } else {
            output::print(&format!("{code}: {word}\n"))
        }
        return Ok(Exit::Done);
    }
    let known = explanation(parse(code)?);
    if context.json {
        output::json::print(&json(&known))
    } else {
        let text = report::terminal::wrap(&known.explanation, context.width()).join("\n");
        let (code, severity) = (known.code.as_str(), known.severity());
        output::print(&format!("{code}: {}\n{severity}\n\n{text}\n", known.summary))
    }
    Ok(Exit::Done)
}

/// What the word `text` of an answer means, in two lines: how far a number can be trusted, or a value that has a phrase.
fn word(text: &str, context: &Context) -> Option<String> {
    let trust = match text {
        "valid" => "the number may be quoted and compared.\nNo finding of its point speaks against it.",
        "indicative" => {
            "the number shows the direction and concludes nothing.\nThe findings of its point name the reason and the flag that mends it: `plimsoll show RUN`."
        }
        "invalid" => "the number must not be used.\nThe findings of its point name the reason: `plimsoll show RUN`.",
        _ => "",
    };
    if !trust.is_empty() {
        return Some(trust.to_owned());
    }
    let entries = context.catalogue.workloads.iter().chain(&context.catalogue.engines);
    let mut defs = entries.flat_map(|entry| entry.params.iter().map(move |def| (entry, def)));
    defs.find_map(|(entry, def)| {
        let (ParamKind::OneOf(words) | ParamKind::Steps(words)) = def.kind else { return None };
        words.contains(&text).then_some(())?;
        let said = def.phrase.say(&Value::Word(text.to_owned()));
        let said = said.unwrap_or_else(|| format!("one of the values of {}", def.name.replace('_', " ")));
        let what = if matches!(def.kind, ParamKind::Steps(_)) { "A step" } else { "A value" };
        let flag = format!("--{} {text}", def.name.replace('_', "-"));
        Some(format!("{said}.\n{what} of `{}` ({flag}); `plimsoll help {0}` has the others.", entry.name))
    })
}

fn parse(text: &str) -> Result<Code, Fault> {
    Code::parse(text).ok_or_else(|| {
        let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        let hint = plan::hint(text, codes.iter().copied());
        let more = if hint.is_empty() { "; `plimsoll explain` lists the codes".to_owned() } else { hint };
        let what = if text.is_empty() {
            "CODE has an empty value".into()
        } else {
            format!("there is no finding `{}`", text.escape_debug())
        };
        Fault::usage(format!("{what}{more}"))
    })
}

fn list(context: &Context) -> Result<Exit, Fault> {
    let all: Vec<Explanation> = Code::ALL.iter().map(|code| explanation(*code)).collect();
    let width = all.iter().map(|known| known.code.as_str().len()).max().unwrap_or_default();
    if context.json {
        output::json::print(
            &serde_json::json!({"schema": "plimsoll.findings/1", "findings": all.iter().map(json).collect::<Vec<_>>()}),
        )
    } else {
        output::print(
            &all.iter().map(|known| format!("{:width$}  {}\n", known.code.as_str(), known.summary)).collect::<String>(),
        )
    }
    Ok(Exit::Done)
}

fn json(known: &Explanation) -> serde_json::Value {
    let measured: Vec<serde_json::Value> = report::accuracy(known.code).iter().map(measured_json).collect();
    serde_json::json!({
        "code": known.code, "severities": known.code.severities(), "help": known.summary, "explain": known.explanation,
        "measured": measured,
    })
}

fn measured_json(one: &report::Accuracy) -> serde_json::Value {
    serde_json::json!({"series": one.series, "figure": one.measure, "share": one.share, "of": one.of})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_an_answer_are_explained_in_two_lines() {
        let context = Context { catalogue: runner::catalogue(), json: false, quiet: false, plain: false };
        let told = |text: &str| word(text, &context).unwrap_or_default();
        assert!(
            told("l.i1").starts_with("inserts with indexes.\nA step of `insert` (--step l.i1)"),
            "{}",
            told("l.i1")
        );
        for text in ["drain", "qr", "l.x", "indicative", "valid", "invalid", "rndrd", "read_write", "point-query.pre"] {
            assert_eq!(told(text).lines().count(), 2, "{text}");
        }
        assert_eq!(told("stal"), "");
    }

    #[test]
    fn a_slip_of_the_finger_is_asked_about_and_a_strange_word_is_sent_to_the_list() {
        let error = |text: &str| parse(text).expect_err("there is no such finding").text;
        assert_eq!(error("stal"), "there is no finding `stal`; did you mean `stall`?");
        assert!(error("postgres").ends_with("; `plimsoll explain` lists the codes"), "{}", error("postgres"));
        assert!(error("").starts_with("CODE has an empty value; `plimsoll explain`"), "{}", error(""));
    }
}
