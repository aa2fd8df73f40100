//! What one machine does of everything, in two sentences, and a sentence before them if others used its CPU.
//!
//! In: a survey, and the points that it is of. Out: complete sentences. Limits: the table of points has all that is not the best.

use super::list::{capital, join_and};
use super::quantity::{count, megabytes_per_s, percent, plural, range};
use analysis::run::survey::{Survey, SurveyRow, SurveyedWork};
use analysis::{Analysis, PointAnalysis};
use std::collections::BTreeSet;

/// The sentences on `analysis`, if it is a survey: what others took of the CPU, and behind it the answer; or the answer, what the disk does
/// first.
pub(super) fn survey_sentences(analysis: &Analysis) -> Option<Vec<String>> {
    let survey = Survey::from_analysis(analysis)?;
    let answer = [disk_sentence(&survey, analysis), engine_sentence(&survey, analysis)];
    Some(match disturbance(&survey) {
        Some(disturbance) => vec![disturbance, answer.join(" ")],
        None => answer.to_vec(),
    })
}

/// `The hypervisor took 12 to 30 % of the CPU: these numbers are a lower bound; try again, or on another host.`
fn disturbance(survey: &Survey) -> Option<String> {
    let shares = |ends: &[f64; 2]| range(&[&ends[0], &ends[1]], |end| *end, percent);
    let stolen = survey.stolen.as_ref().map(|ends| format!("the hypervisor took {} of the CPU", shares(ends)));
    let used = survey.used_by_others.as_ref().map(|ends| format!("other processes used {} of the CPU", shares(ends)));
    let advice = match (&stolen, &used) {
        (None, None) => return None,
        (None, Some(_)) => "stop them, and try again",
        (Some(_), _) => "try again, or on another host",
    };
    let causes: Vec<String> = stolen.into_iter().chain(used).collect();
    Some(format!("{}: these numbers are a lower bound; {advice}.", capital(&join_and(&causes))))
}

/// `The disk reads 86.9k blocks of 4 KiB/s at random (356 MB/s, 32 in flight) and writes 14.4k/s (59.0 MB/s, 1 in flight).`
fn disk_sentence(survey: &Survey, analysis: &Analysis) -> String {
    let of = |work: SurveyedWork| rows_of(survey, analysis, work).next();
    let clause = |verb: &str, of: Option<(&SurveyRow, &PointAnalysis)>| {
        let (row, point) = of?;
        let (block, summary) = (point.traits.work.io.as_ref()?.block, point.summary.as_ref()?);
        let in_flight = u64::from(point.clients) * u64::from(point.depth);
        let amount = megabytes_per_s(summary.bytes_per_s);
        Some(format!("{verb} {} blocks of {block} per second ({amount}, {in_flight} in flight)", rate_text(row)))
    };
    let clauses = [clause("reads", of(SurveyedWork::Reads)), clause("writes", of(SurveyedWork::Writes))];
    let depths: BTreeSet<u32> =
        [SurveyedWork::Reads, SurveyedWork::Writes].into_iter().filter_map(|work| Some(of(work)?.1.depth)).collect();
    let caution = if depths.len() > 1 { " Their depths differ: do not compare the two." } else { "" };
    format!("At random the disk {}.{caution}", join_and(&clauses.into_iter().flatten().collect::<Vec<_>>()))
}

/// `sqlite inserts 1.20M rows/s and fjall 1.53M; sqlite reaches 29.8k transactions/s (16 statements each) at 4 clients.`
fn engine_sentence(survey: &Survey, analysis: &Analysis) -> String {
    let inserts: Vec<String> = rows_of(survey, analysis, SurveyedWork::Inserts)
        .enumerate()
        .map(|(nth, (row, _))| match nth {
            0 => format!("{} inserts {} rows/s", row.engine, rate_text(row)),
            _ => format!("{} {}", row.engine, rate_text(row)),
        })
        .collect();
    let transactions: Vec<String> = rows_of(survey, analysis, SurveyedWork::Transactions)
        .map(|(row, point)| {
            let statements = point.summary.as_ref().map_or(1.0, |summary| summary.queries_per_s / summary.ops_per_s);
            let clients = plural(u64::from(point.clients), "client");
            let (engine, per_s) = (&row.engine, rate_text(row));
            format!("{engine} reaches {per_s} transactions/s ({statements:.0} statements each) at {clients}")
        })
        .collect();
    format!("{}; {}.", join_and(&inserts), join_and(&transactions))
}

/// `86.9k`, or `at least 86.9k`.
fn rate_text(row: &SurveyRow) -> String {
    format!("{}{}", if row.is_lower_bound { "at least " } else { "" }, count(row.per_s))
}

/// The rows of one kind of work with their points.
fn rows_of<'a>(
    survey: &'a Survey,
    analysis: &'a Analysis,
    work: SurveyedWork,
) -> impl Iterator<Item = (&'a SurveyRow, &'a PointAnalysis)> {
    let own = survey.rows.iter().filter(move |row| row.work == work);
    own.filter_map(|row| Some((row, analysis.points.iter().find(|point| point.id == row.point)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{spoilt, surveyed};
    use crate::wording::verdict::sentences;

    #[test]
    fn a_quiet_machine_is_described_in_two_sentences() {
        let told = survey_sentences(&surveyed()).unwrap();
        assert_eq!(told.len(), 2, "{told:?}");
        let disk = "At random the disk reads 41.4k blocks of 16 KiB per second (679 MB/s, 32 in flight) and writes ";
        assert!(told[0].starts_with(disk), "{}", told[0]);
        assert!(told[1].starts_with("sqlite inserts ") && told[1].contains(" rows/s and fjall "), "{}", told[1]);
        assert!(told[1].contains(" transactions/s (20 statements each) at 4 clients."), "{}", told[1]);
        assert_eq!(sentences(&surveyed())[..2], told);
    }

    #[test]
    fn reads_and_writes_of_unlike_depths_are_not_to_be_compared() {
        let (mut analysis, caution) = (surveyed(), "Their depths differ: do not compare the two.");
        assert!(!survey_sentences(&analysis).unwrap()[0].contains(caution));
        let survey = Survey::from_analysis(&analysis).unwrap();
        let writes = survey.rows.iter().find(|row| row.work == SurveyedWork::Writes).unwrap().point;
        analysis.points.iter_mut().filter(|point| point.id == writes).for_each(|point| point.depth = 1);
        let answer = survey_sentences(&analysis).unwrap();
        assert!(answer[0].ends_with(caution), "{}", answer[0]);
    }

    #[test]
    fn a_noisy_machine_is_described_by_its_noise_first() {
        let told = survey_sentences(&spoilt(&[0.12, 0.3])).unwrap();
        let noise = "The hypervisor took 12 to 30 % of the CPU: these numbers are a lower bound; try again, or on another host.";
        assert_eq!((told[0].as_str(), told.len()), (noise, 2));
        assert!(told[1].contains("reads at least 41.4k blocks"), "{}", told[1]);
    }
}
