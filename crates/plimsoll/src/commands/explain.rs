//! `plimsoll explain CODE`: what a finding means.

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use analysis::Code;
use clap::{Arg, ArgMatches, Command};
use report::Explanation;

pub fn clap() -> Command {
    let code = Arg::new("code").value_name("CODE").help("Code of a finding [default: list all codes]");
    Command::new("explain").arg(code).about("Explain a finding by its code")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let Some(code) = matches.get_one::<String>("code") else { return list(context) };
    let known = report::explanation(parse(code)?);
    if context.json {
        output::json::print(&json(&known))
    } else {
        let text = report::terminal::wrap(known.explanation, context.width()).join("\n");
        let (code, severity) = (known.code.as_str(), known.severity());
        output::print(&format!("{code}: {}\n{severity}\n\n{text}\n", known.summary))
    }
    Ok(Exit::Done)
}

fn parse(text: &str) -> Result<Code, Fault> {
    if let Some(code) = Code::renamed_from(text) {
        let code = code.as_str();
        return Err(Fault::usage(format!("the finding `{text}` is now called `{code}`: plimsoll explain {code}")));
    }
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
    let all: Vec<Explanation> = Code::ALL.iter().map(|code| report::explanation(*code)).collect();
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
    fn a_slip_of_the_finger_is_asked_about_and_a_strange_word_is_sent_to_the_list() {
        let error = |text: &str| parse(text).expect_err("there is no such finding").text;
        assert_eq!(error("stal"), "there is no finding `stal`; did you mean `stall`?");
        assert!(error("postgres").ends_with("; `plimsoll explain` lists the codes"), "{}", error("postgres"));
        assert!(error("").starts_with("CODE has an empty value; `plimsoll explain`"), "{}", error(""));
    }
}
