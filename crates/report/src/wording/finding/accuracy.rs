//! How often a finding is right on simulated series, as it was measured last.
//!
//! In: `accuracy.tsv`, which `cargo xtask bench analysis` writes. Out: the lines of a code. Limits: findings that no bench measures have
//! none; the figures are those of the version that was measured.

use analysis::Code;

const MEASURED: &str = include_str!("accuracy.tsv");

/// One figure of one kind of series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// What the series are.
    pub series: &'static str,
    /// What was counted: recall, precision, exact, false alarms or coverage.
    pub measure: &'static str,
    /// Its share, from 0 to 1.
    pub share: f64,
    /// The number that the share is of.
    pub of: u64,
}

/// What was measured of the finding `code`.
pub fn accuracy(code: Code) -> Vec<Accuracy> {
    MEASURED.lines().filter_map(|line| parse(line, code)).collect()
}

/// The figure of `line`, if it is of `code`.
fn parse(line: &'static str, code: Code) -> Option<Accuracy> {
    let [codes, series, measure, share, of] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
    let is_own = codes.split(", ").any(|one| one == code.as_str());
    let figure = Accuracy { series, measure, share: share.parse().ok()?, of: of.parse().ok()? };
    is_own.then_some(figure)
}

/// A table of what was measured of `code`; `None` if nothing was.
pub fn accuracy_table(code: Code) -> Option<String> {
    let rows: Vec<String> = accuracy(code).iter().map(Accuracy::row).collect();
    let head = "Measured on simulated series by `cargo xtask bench analysis`; [what the figures are](../benchmarks/analysis.md):\n\n\
        | series | figure | value | of |\n|---|---|---|---|\n";
    (!rows.is_empty()).then(|| format!("{head}{}", rows.concat()))
}

impl Accuracy {
    fn row(&self) -> String {
        format!("| {} | {} | {:.1} % | {} |\n", self.series, self.measure, self.share * 100.0, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_figure_of_a_known_finding() {
        for line in MEASURED.lines() {
            let codes = line.split('\t').next().expect("a line has a first column");
            for code in codes.split(", ") {
                let code = Code::parse(code).unwrap_or_else(|| panic!("{code} is no finding"));
                assert!(parse(line, code).is_some(), "{line}");
            }
        }
    }

    #[test]
    fn drops_have_a_table_and_what_was_not_measured_has_none() {
        let table = accuracy_table(Code::Drops).expect("they are measured");
        assert!(table.contains("| recall |") && table.contains("| precision |"), "{table}");
        assert_eq!(accuracy_table(Code::Hung), None);
    }
}
