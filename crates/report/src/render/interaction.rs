//! What every page has besides its content: the style, the script, the data of its charts, and the policy that admits no other.
//!
//! In: the figures of a page. Out: its texts. Limits: a page is complete without the script, which only adds to it.

use super::chart_data::chart_data;
use super::policy::content_policy;
use plot::figure::Figure;
use std::fmt::Write;

const STYLE: &str = include_str!("report.css");
const INTERACTION_STYLE: &str = include_str!("interaction.css");
/// The parts of the script, in an order in which each has what it needs from those before it.
const SCRIPT_PARTS: [&str; 6] = [
    include_str!("script/page.js"),
    include_str!("script/numbers.js"),
    include_str!("script/data.js"),
    include_str!("script/charts.js"),
    include_str!("script/figures.js"),
    include_str!("script/tables.js"),
];
/// Ends the rules of the pictures in the style sheet.
const RULES_END: &str = "/**/\n";
/// The bars of tables have one of so many lengths.
const BAR_STEPS: u32 = 50;

/// Texts that go into a page as they are.
pub struct Interaction {
    /// The value of the content security policy.
    pub policy: String,
    pub style: String,
    pub script: String,
    /// The data of the charts over time as JSON; empty if there are none.
    pub data: String,
}

impl Interaction {
    /// That of a page with these figures.
    pub fn from_figures<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> Interaction {
        // A picture that is saved takes the rules up to the mark with it: those that follow are of the page.
        let style = plot::page_rules() + RULES_END + STYLE + INTERACTION_STYLE + &bar_rules();
        let script = script();
        let policy = content_policy(&style, &script);
        Interaction { policy, style, script, data: chart_data(figures) }
    }
}

/// The parts as one function, without indents and comments.
fn script() -> String {
    let lines = SCRIPT_PARTS.iter().flat_map(|part| part.lines()).map(str::trim_start);
    let code: Vec<&str> = lines.filter(|line| !line.is_empty() && !line.starts_with("//")).collect();
    format!("\"use strict\";(() => {{\n{}\n}})();\n", code.join("\n"))
}

/// The class of a bar that takes so many percent of its cell. An attribute with a style is not admitted by the policy.
pub fn bar_class(percent: f64) -> String {
    let step = (percent.clamp(0.0, 100.0) / 100.0 * f64::from(BAR_STEPS)).round();
    format!("w{step}")
}

fn bar_rules() -> String {
    (0..=BAR_STEPS).fold(String::new(), |mut rules, step| {
        write!(rules, ".w{step}{{--w:{}%}}", 100 * step / BAR_STEPS).expect("writing to a String cannot fail");
        rules
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_a_rule_for_its_length() {
        assert_eq!([0.0, 1.2, 50.0, 99.9, 100.0].map(bar_class), ["w0", "w1", "w25", "w50", "w50"]);
        let style = Interaction::from_figures([]).style;
        assert!(style.contains(".w0{--w:0%}") && style.contains(".w25{--w:50%}") && style.contains(".w50{--w:100%}"));
    }

    #[test]
    fn what_is_light_in_a_picture_is_dark_on_a_dark_page() {
        let (_, dark) = STYLE.split_once("prefers-color-scheme:dark").expect("there are rules of a dark page");
        let rules = ["paper", "text", "faint", "grid"].map(|class| format!(".f-{class}{{fill:"));
        let lines = ["paper", "text", "grid", "axis"].map(|class| format!(".s-{class}{{stroke:"));
        for rule in rules.iter().chain(&lines) {
            assert!(dark.contains(rule), "{rule}");
        }
    }

    #[test]
    fn the_script_is_small_and_cannot_end_its_element() {
        let script = script();
        assert!(script.len() < 32_000, "{}", script.len());
        assert!(!script.contains("</script") && !script.contains("<!--"));
    }
}
