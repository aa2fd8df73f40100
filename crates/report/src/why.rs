//! The answer of `plimsoll why` on the terminal.
//!
//! In: an answer, a width in columns. Out: the sentence that answers, a line for each resource, notes. Limits: a setting is cut if it is
//! too long for its column.

use crate::escape::terminal as safe;
use crate::render::terminal::wrap;
use crate::wording::why::{answer_sentence, change_cell, elasticity_cell, notes, resource_name, verdict_cell};
use analysis::run::why::{Elasticity, WhyAnswer};

const RESOURCE: usize = 8;
const SETTING: usize = 24;
const CHANGE: usize = 6;
const VALUE: usize = 22;

/// The complete answer. Ends with a line break.
pub fn why_text(answer: &WhyAnswer, width: usize) -> String {
    let mut lines = wrap(&answer_sentence(answer), width);
    if !answer.elasticities.is_empty() {
        lines.push(String::new());
        lines.push(row(["", "varied to", "rate", "elasticity", ""]));
        lines.extend(answer.elasticities.iter().flat_map(|it| rows(it, width)));
    }
    lines.push(String::new());
    lines.extend(notes(answer).iter().flat_map(|note| wrap(&safe(note), width)));
    lines.join("\n") + "\n"
}

/// A resource in one line; a setting that is too long has a line of its own.
fn rows(it: &Elasticity, width: usize) -> Vec<String> {
    let (name, change, value) = (resource_name(it.resource), change_cell(it), elasticity_cell(it));
    let setting = safe(&it.setting);
    if setting.chars().count() <= SETTING {
        vec![row([name, &setting, &change, &value, verdict_cell(it.verdict)])]
    } else {
        let own = row([name, "", &change, &value, verdict_cell(it.verdict)]);
        let indent = " ".repeat(RESOURCE + 1);
        let setting = wrap(&setting, width.saturating_sub(RESOURCE + 1));
        std::iter::once(own).chain(setting.into_iter().map(|line| format!("{indent}{line}"))).collect()
    }
}

fn row([name, setting, change, value, verdict]: [&str; 5]) -> String {
    let line = format!("{name:<RESOURCE$} {setting:<SETTING$} {change:<CHANGE$} {value:<VALUE$} {verdict}");
    line.trim_end().to_owned()
}
