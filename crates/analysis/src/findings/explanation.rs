//! What a kind of finding means: its page of the reference, and the same as `plimsoll explain CODE` prints it.
//!
//! A page begins with `# CODE: SUMMARY`; its second paragraph has the severities and their effect; the rest explains.

use super::Code;
use crate::judgement::Severity;

/// What `plimsoll explain CODE` prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub code: Code,
    /// One line: what is found.
    pub summary: &'static str,
    /// How it is decided, what it means, what to do. A paragraph is one line.
    pub explanation: String,
}

/// The explanation of the findings with this code.
pub fn explanation(code: Code) -> Explanation {
    let mut paragraphs = code.kind().page.trim_end().split("\n\n");
    let first = paragraphs.next().unwrap_or_default();
    let summary = first.split_once(": ").map_or(first, |(_, summary)| summary);
    let text: Vec<String> = paragraphs.skip(1).map(|paragraph| paragraph.replace('\n', " ")).collect();
    Explanation { code, summary, explanation: text.join("\n\n") }
}

impl Explanation {
    /// How such a finding is marked, and what that means for the point: `warning: the point is at most indicative`.
    pub fn severity(&self) -> String {
        let words: Vec<String> = self.code.severities().iter().map(|severity| self.effect(*severity)).collect();
        words.join("; ")
    }

    fn effect(&self, severity: Severity) -> String {
        let effect = match severity {
            _ if self.code.is_about_several_points() => {
                "about several points together; the validity of each does not change"
            }
            Severity::Note => "the validity of the point does not change",
            Severity::Warning => "the point is at most indicative",
            Severity::Error => "the point is invalid",
        };
        format!("{}: {effect}", severity.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use words::list::capital;

    #[test]
    fn every_page_begins_with_its_code_and_summary_and_has_the_true_severities() {
        for code in Code::ALL {
            let (name, known) = (code.as_str(), explanation(*code));
            assert!(!known.summary.is_empty() && !known.summary.ends_with('.'), "{name}");
            let head = format!("# {name}: {}\n\n{}.\n\n", known.summary, capital(&known.severity()));
            assert!(
                code.kind().page.starts_with(&head),
                "docs/reference/findings/{name}.md does not begin with:\n{head}"
            );
            assert!(known.explanation.ends_with('.'), "{name}: {}", known.explanation);
        }
    }

    #[test]
    fn every_code_that_a_page_names_is_one_and_no_page_is_left_over() {
        const PROGRAMS: [&str; 2] = ["eu-stack", "iou-wrk"];
        let is_word = |text: &str| {
            text.contains('-')
                && text.split('-').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase()))
        };
        for code in Code::ALL {
            let text = explanation(*code).explanation;
            for quoted in text.split('`').skip(1).step_by(2).filter(|quoted| is_word(quoted)) {
                assert!(Code::parse(quoted).is_some() || PROGRAMS.contains(&quoted), "{}: {quoted}", code.as_str());
            }
        }
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/findings");
        for page in std::fs::read_dir(folder).expect("the folder of the pages") {
            let name = page.expect("a page").file_name().into_string().expect("a name");
            assert!(name.strip_suffix(".md").and_then(Code::parse).is_some(), "{name} is of no finding");
        }
    }

    #[test]
    fn an_explanation_gives_each_severity_with_its_effect_on_validity() {
        let severity = |code| explanation(code).severity();
        assert_eq!(severity(Code::Stall), "note: the validity of the point does not change");
        assert_eq!(severity(Code::Errors), "warning: the point is at most indicative; error: the point is invalid");
        let shared = "warning: about several points together; the validity of each does not change";
        assert_eq!(severity(Code::MixedDurability), shared);
    }
}
