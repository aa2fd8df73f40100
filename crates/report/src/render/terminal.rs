//! What a run says on a terminal: the answer on one screen, and the details for those who ask for them.
//!
//! In: an answer or an analysis, a width in columns, and whether colour is wanted. Out: lines no wider than that; each character counts as one
//! column. Below 60 columns each column of a table is a line, and some tables are left out.

mod answer;
mod ended;
mod table;

pub use answer::answer;
pub use ended::{ended_findings, ended_head, ended_point};

use crate::escape::{terminal as safe, terminal_sentence as unquoted};
use crate::findings::{FindingGroup, grouped};
use crate::table::Table;
use crate::tables::TABLES;
use crate::wording::verdict::not_in_answer;
pub use crate::wrap::wrap;
use analysis::{Analysis, Answer, RepeatRows, Severity};
use table::table_lines;

/// Below this there are no tables.
const WIDTH_MIN: usize = 60;
/// In less than this nothing can be read.
const WIDTH_LEAST: usize = 24;
const FINDINGS_MAX: usize = 10;

/// Tables, findings, and what the verdict has besides `answer`. Ends with a line break.
pub fn details(analysis: &Analysis, answer: &Answer, width: usize, colour: bool) -> String {
    let paint = Paint { width: width.max(WIDTH_LEAST), colour };
    let rows = RepeatRows::from_analysis(analysis);
    let (mut parts, mut left_out, mut said) = (Vec::new(), Vec::new(), None);
    for def in TABLES {
        let tables = (def.make)(analysis, &rows);
        if width < WIDTH_MIN && !def.in_narrow {
            left_out.extend(tables.iter().any(Table::is_for_terminal).then_some(def.title));
        } else {
            parts.extend(tables.iter().map(|table| table_lines(table, def.title, paint, &mut said)));
        }
    }
    if !left_out.is_empty() {
        let text = format!("Left out, because they need {WIDTH_MIN} columns: {}.", left_out.join(", "));
        parts.push(wrap(&text, paint.width));
    }
    parts.extend([paint.findings(analysis), paint.verdict(analysis, answer)]);
    parts.retain(|part| !part.is_empty());
    parts.join(&String::new()).join("\n") + "\n"
}

#[derive(Clone, Copy)]
enum Tone {
    Good,
    Caution,
    Bad,
    Strong,
    Faint,
}

/// How wide lines may be, and whether they have colours.
#[derive(Clone, Copy)]
struct Paint {
    width: usize,
    colour: bool,
}

impl Paint {
    fn text(self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Caution => "33",
            Tone::Bad => "31",
            Tone::Strong => "1",
            Tone::Faint => "2",
        };
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// The gravest first. Findings of one code and severity at several points make one line.
    fn findings(self, analysis: &Analysis) -> Vec<String> {
        let groups = grouped(analysis);
        if groups.is_empty() {
            return vec!["no findings".to_owned()];
        }
        let points = analysis.points.len();
        let mut lines: Vec<String> =
            groups.iter().take(FINDINGS_MAX).flat_map(|group| self.finding(group, points)).collect();
        if groups.len() > FINDINGS_MAX {
            let left_out = groups.len() - FINDINGS_MAX;
            let kinds = if left_out == 1 { "kind of finding" } else { "kinds of findings" };
            lines.push(format!("and {left_out} more {kinds} in the report"));
        }
        lines
    }

    fn finding(self, group: &FindingGroup, points: usize) -> Vec<String> {
        let tone = match group.severity {
            Severity::Note => Tone::Faint,
            Severity::Warning => Tone::Caution,
            Severity::Error => Tone::Bad,
        };
        let word = format!("{:<8}", group.severity.as_str());
        let heading = unquoted(&group.heading());
        let text = if group.is_mixed() { heading } else { format!("{}: {heading}", safe(&group.places(points))) };
        let lines = wrap(&text, self.width.saturating_sub(9));
        let indented = lines.iter().enumerate();
        indented
            .map(|(i, l)| if i == 0 { format!("{} {l}", self.text(&word, tone)) } else { format!("{:9}{l}", "") })
            .collect()
    }

    /// Each sentence begins a line.
    fn verdict(self, analysis: &Analysis, answer: &Answer) -> Vec<String> {
        let sentences = not_in_answer(analysis, answer);
        let lines = sentences.iter().flat_map(|sentence| wrap(&unquoted(sentence), self.width));
        lines.map(|line| self.text(&line, Tone::Strong)).collect()
    }
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(2)).collect::<String>() + ".."
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{
        background_500, damaged, hostile, inserts, label, one_of_many_kinds, quick, set, waiting, with_statements,
    };
    use analysis::PointAnalysis;
    use analysis::evidence::cause::{Bottlenecks, Cause, CausePlace, LimitEvidence};
    use analysis::math::units::Share;

    /// Points with two limits whose names are long.
    fn two_limits() -> Analysis {
        let mut analysis = quick();
        let others = LimitEvidence::OtherProcesses { others_share: Share(0.7), busy_share: Share(0.95) };
        let alone = LimitEvidence::OneAtATime { service_mean_ns: model::Nanos(1_000), in_flight: 8 };
        for point in &mut analysis.points {
            let causes = [others, alone].map(|evidence| Cause::new(evidence, 0.7)).to_vec();
            point.bottlenecks = Some(Bottlenecks { causes, ruled_out: Vec::new() });
        }
        analysis
    }

    fn details(analysis: &Analysis, width: usize, colour: bool) -> String {
        super::details(analysis, &analysis::answer(analysis), width, colour)
    }

    #[test]
    fn the_host_of_a_limit_cannot_control_the_terminal() {
        let mut analysis = two_limits();
        let place = || Some(CausePlace { host: "\u{1b}[2J".to_owned(), interface: Some("\u{7}".to_owned()) });
        let found = analysis.points.iter_mut().filter_map(|point| point.bottlenecks.as_mut());
        found.flat_map(|found| &mut found.causes).for_each(|cause| cause.place = place());
        for width in [40, 80] {
            let text = details(&analysis, width, false);
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        }
    }

    #[test]
    fn no_line_is_wider_than_asked_for() {
        for width in [24, 40, 59, 60, 80, 132] {
            for (what, analysis) in
                damaged().into_iter().chain([("waiting threads", waiting()), ("two limits", two_limits())])
            {
                for line in details(&analysis, width, false).lines() {
                    assert!(line.chars().count() <= width, "{what}, {width}: {line}");
                }
            }
        }
    }

    #[test]
    fn what_an_insert_costs_is_a_second_table_of_eighty_columns_and_of_fewer_in_less() {
        let text = details(&inserts(), 80, false);
        let at = text.lines().position(|line| line.starts_with("What an insert costs")).expect("there are inserts");
        let lines: Vec<&str> = text.lines().skip(at).take(7).collect();
        let expected = [
            "What an insert costs (r, w: read, written; i: row inserted; eng: KB/i counted by",
            "the engine; paid: wKB/i with the drain; d:c:m: data, cache, memory; >: at least;",
            "-: not known)",
            "point                IPS rMB/s wMB/s rKB/i  wKB/i eng r  eng w  paid       d:c:m",
            "InnoDB l.i1       38,207  42.0   385  1.10  >10.1  1.10  >9.90  12.0      8:1:96",
            "MyRocks l.i1      86,401  86.0   346  1.00   4.00     -   3.90     -      8:1:96",
            "InnoDB drain           -     -  80.0     -      -     -      -  12.0           -",
        ];
        assert_eq!(lines, expected, "{text}");
        assert!(text.contains("\nInnoDB l.i1: no estimate for 100M rows"), "{text}");
        let narrow = details(&inserts(), 60, false);
        assert!(narrow.lines().all(|line| line.chars().count() <= 60) && narrow.contains("wKB/i"), "{narrow}");
        assert!(!details(&quick(), 80, false).contains("What an insert costs"));
    }

    #[test]
    fn no_number_of_an_insert_is_cut() {
        let mut analysis = inserts();
        analysis.points[0].inserts.as_mut().expect("its rows were counted").inserts_per_s = Some(1_269_700.0);
        let text = details(&analysis, 80, false);
        assert!(text.contains(" 1,269,700 ") && !text.contains(".. "), "{text}");
    }

    #[test]
    fn each_kind_of_operation_has_a_line_below_its_point_and_runs_of_single_kinds_have_no_table() {
        let mut analysis = with_statements();
        let table = |analysis: &Analysis| -> Vec<String> {
            let text = details(analysis, 80, false);
            let lines = text.lines().skip_while(|line| !line.starts_with("kind "));
            lines
                .take_while(|line| !line.is_empty())
                .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect()
        };
        let alone = table(&analysis);
        assert_eq!(alone[0], "kind ops/s share p50 p95 p99 max failed");
        assert!(alone.len() == 3 && alone[1].starts_with("lookup 750 75 % 1.00 ms"), "{alone:?}");
        assert!(alone[2].starts_with("pay 250 25 % 8.99 ms") && alone[2].ends_with(" 9.00 ms 3"), "{alone:?}");
        let mut second = PointAnalysis { id: 2, group: 1, ..analysis.points[0].clone() };
        set(&mut second, "engine", "other");
        label(&mut second, &["engine"], &[]);
        analysis.points.push(second);
        assert_eq!(table(&analysis).len(), 7, "each point has its name above its kinds");
        let kinds = ["select a from orders where id = ?", "select b from orders where id between ? and ?"];
        for (nth, kind) in kinds.iter().enumerate() {
            analysis.points[0].statements[nth].kind = (*kind).to_owned();
        }
        for width in [60, 80] {
            let text = details(&analysis, width, false);
            assert!(kinds.iter().all(|kind| text.contains(kind)), "no name is cut: {text}");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        }
        analysis.points[0].statements[0].kind = "x".repeat(90);
        assert!(details(&analysis, 80, false).lines().all(|line| line.chars().count() <= 80));
        assert!(table(&quick()).is_empty());
    }

    #[test]
    fn labels_of_the_second_table_that_are_too_long_stand_above_their_figures_uncut() {
        let mut analysis = inserts();
        set(&mut analysis.points[0], "engine", "mariadb:innodb l.i1 cache 8 MiB");
        label(&mut analysis.points[0], &["engine"], &[]);
        let text = details(&analysis, 80, false);
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|line| line.starts_with("What an insert costs")).expect("there are inserts") + 4;
        assert_eq!(lines[at], "mariadb:innodb l.i1 cache 8 MiB");
        assert!(
            lines[at + 1].trim_start().starts_with("38,207") && lines[at + 2].starts_with("MyRocks l.i1   "),
            "{text}"
        );
    }

    #[test]
    fn unlike_durability_is_marked_at_every_table() {
        let mut analysis = inserts();
        analysis.points[1].traits.engine.durability = Some("disk".to_owned());
        let text = details(&analysis, 80, true);
        let mark = "\u{1b}[31minsert: MIXED DURABILITY (disk, os): not to be compared with each other\u{1b}[0m";
        assert_eq!(text.matches(mark).count(), 2, "{text}");
    }

    #[test]
    fn without_colour_there_is_no_control_character_whatever_the_texts() {
        let text = details(&hostile(), 80, false);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }

    #[test]
    fn colour_adds_only_colour() {
        let mut plain = details(&quick(), 80, true);
        for code in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m"] {
            plain = plain.replace(code, "");
        }
        assert_eq!(plain, details(&quick(), 80, false));
    }

    #[test]
    fn the_verdict_stands_last_whole_and_wrapped() {
        for width in [60, 80, 132] {
            let analysis = quick();
            let text = details(&analysis, width, false);
            let verdict = text.trim_end().rsplit("\n\n").next().unwrap();
            let whole = unquoted(&not_in_answer(&analysis, &analysis::answer(&analysis)).join(" "));
            assert_eq!(verdict.split_whitespace().collect::<Vec<_>>(), whole.split_whitespace().collect::<Vec<_>>());
            assert!(verdict.lines().all(|line| line.chars().count() <= width), "{verdict}");
        }
    }

    #[test]
    fn findings_are_told_without_marks_of_code_and_counted_in_grammar() {
        let mut analysis = quick();
        analysis.points.iter_mut().for_each(|point| point.findings.clear());
        analysis.findings = one_of_many_kinds();
        analysis.findings.truncate(FINDINGS_MAX + 1);
        let text = details(&analysis, 80, false);
        assert!(text.contains("\nand 1 more kind of finding in the report\n"), "{text}");
        analysis.findings = one_of_many_kinds();
        assert!(details(&analysis, 80, false).contains("\nand 2 more kinds of findings in the report\n"));
        assert_eq!(unquoted("use `--time`"), "use --time");
    }

    #[test]
    fn long_targets_are_cut_to_the_part_in_which_they_differ() {
        let mut analysis = quick();
        analysis.points.truncate(2);
        for (point, path) in analysis.points.iter_mut().zip(["/srv/a", "/srv/b"]) {
            let long = format!("{path}{}", "/of-many-parts".repeat(4));
            set(point, "engine", &format!("{}{long}{}", "x".repeat(50), "y".repeat(50)));
            label(point, &["engine", "mode"], &["depth"]);
        }
        let text = details(&analysis, 80, false);
        assert_eq!(text.lines().next(), Some("All points: rndrd"));
        let rows: Vec<&str> = text.lines().skip(2).take(2).map(|line| line[..16].trim_end()).collect();
        assert_eq!(rows, ["..a.. depth 1", "..b.. depth 8"], "{text}");
    }

    #[test]
    fn queries_have_a_column_where_they_are_not_the_operations_and_who_works_beside_a_line() {
        let mut analysis = quick();
        let summary = analysis.points[0].summary.as_mut().unwrap();
        (summary.queries_per_s, summary.background) = (118_640.0, vec![background_500()]);
        for (width, head) in [
            (80, "point rate 95 % CI p50 p99 max validity"),
            (100, "point rate queries/s 95 % CI p50 p99 max validity"),
        ] {
            let text = details(&analysis, width, false);
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines[0].chars().count(), width);
            assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>().join(" "), head);
            assert!(
                lines[1].starts_with("file rndrd depth 1 ") && lines[1].contains(" 118,640 ") == (width > 80),
                "{}",
                lines[1]
            );
            assert_eq!(lines[2], "  background insert: 498 of 500/s (99.6 %), 2.49k rows/s, p99 12.0 ms");
        }
    }

    #[test]
    fn the_quick_run_reads_well_on_eighty_columns() {
        let text = details(&quick(), 80, false);
        let lines: Vec<&str> = text.lines().collect();
        // Unlike work is counted in unlike units, each with its own.
        assert_eq!(lines[0], "point                            rate 95 % CI     p50     p99     max   validity");
        assert_eq!(lines[1], "file rndrd depth 1      5,932 reads/s  ±4.1 %  152 us  313 us 1.56 ms      valid");
        // A name that is too long for its column has a line of its own.
        let last = lines.iter().position(|line| line.starts_with("sqlite oltp clients 16")).expect("it has a row");
        assert!(lines[last..last + 2].iter().any(|line| line.ends_with("   invalid")), "{text}");
        let errors: Vec<&&str> = lines.iter().filter(|line| line.starts_with("error ")).collect();
        assert!(errors.len() == 1 && errors[0].starts_with("error    sqlite oltp clients 16: "), "{errors:?}");
        assert!(errors[0].ends_with(": 465 operations failed (1.8 %)"), "{errors:?}");
    }
}
