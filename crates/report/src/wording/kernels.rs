//! What a CPU is worth, in words: the score of a run, what its frequency is, and how much more work another machine does.
//!
//! In: typed tables and comparisons. Out: sentences. Limits: names of runs are quoted as they are.

use super::quantity::{number, plural, rate, small_number};
use analysis::compare::kernels::{KernelComparison, KernelTable, WorkRatio};
use analysis::{RatioEstimate, RatioVerdict};

/// It states the geometric means.
pub fn score_sentence(table: &KernelTable) -> String {
    let kernels = plural(table.rows.len() as u64, "kernel");
    let scores = [(table.single_score, "with 1 client".to_owned()), {
        (table.all_score, format!("with {}", plural(u64::from(table.most_clients().unwrap_or(1)), "client")))
    }];
    let known: Vec<String> =
        scores.iter().filter_map(|(score, clients)| Some(format!("{} {clients}", rate((*score)?)))).collect();
    if known.is_empty() {
        return format!("The geometric mean of {kernels} is not known: some have no rate.");
    }
    format!("Geometric mean of {kernels}: {}. It has no meaning but to compare runs.", known.join(", "))
}

/// At what frequency it was measured.
pub fn frequency_sentence(table: &KernelTable) -> Option<String> {
    let ghz = number(table.mhz? / 1e3);
    let quota =
        table.cpu_quota.map_or(String::new(), |cpus| format!(" A CPU quota of {} held plimsoll.", number(cpus)));
    Some(match table.frequency_is_measured {
        Some(true) => format!("The CPUs ran at {ghz} GHz on average, as measured.{quota}"),
        _ => format!("{ghz} GHz is the nominal frequency: this machine does not show what its CPUs run at.{quota}"),
    })
}

/// For what the machine does them, if it has a price.
pub fn money_sentence(table: &KernelTable) -> Option<String> {
    let price = small_number(table.price_per_hour?);
    let clients = plural(u64::from(table.most_clients().unwrap_or(1)), "client");
    Some(format!("Per money: rounds with {clients} for 1 of the currency, at {price} per hour."))
}

/// How much more work the new run does, and what for the money; one sentence for one client and one for all.
pub fn work_sentences(base: &str, new: &str, compared: &KernelComparison) -> Vec<String> {
    let all = [compared.single, compared.all].into_iter().flatten();
    let mut sentences: Vec<String> = all.map(|ratio| work_sentence(base, new, compared, &ratio)).collect();
    sentences.extend(quota_sentence(base, new, compared.cpu_quotas));
    sentences
}

fn work_sentence(base: &str, new: &str, compared: &KernelComparison, ratio: &WorkRatio) -> String {
    let kernels = plural(ratio.kernels as u64, "kernel");
    let clients = match ratio.clients {
        [1, 1] => "1 client".to_owned(),
        [base, new] if base == new => format!("{base} clients"),
        [base, new] => format!("all CPUs ({base} and {new} clients)"),
    };
    let work = match ratio.work.verdict {
        RatioVerdict::NoDifferenceShown => {
            format!("no difference shown between `{base}` and `{new}` ({})", estimate_text(&ratio.work))
        }
        RatioVerdict::Indicative => {
            format!("`{new}` did {} times the work of `{base}`, which is indicative only", estimate_text(&ratio.work))
        }
        _ => format!("`{new}` does {} times the work of `{base}`", estimate_text(&ratio.work)),
    };
    format!("{kernels}, {clients}: {work}{}{}.", clock_text(compared, ratio), money_text(base, new, ratio))
}

/// `, at the same clock`, `, per GHz 1.52 times`
fn clock_text(compared: &KernelComparison, ratio: &WorkRatio) -> String {
    let nominal = if compared.frequency_is_measured { "" } else { " (nominal)" };
    match ratio.per_ghz {
        Some(_) if compared.is_same_clock() => format!(", at the same clock{nominal}"),
        Some(per_ghz) => format!(", per GHz{nominal} {} times", estimate_text(&per_ghz)),
        None => String::new(),
    }
}

fn money_text(base: &str, new: &str, ratio: &WorkRatio) -> String {
    let Some(per_money) = ratio.per_money else { return String::new() };
    let ahead = match per_money.verdict {
        RatioVerdict::Faster => format!(": `{new}` is ahead"),
        RatioVerdict::Slower => format!(": `{base}` is ahead"),
        RatioVerdict::NoDifferenceShown => ": no difference is shown".to_owned(),
        RatioVerdict::Indicative => ", which is indicative only".to_owned(),
    };
    format!("; for the money {} times{ahead}", estimate_text(&per_money))
}

/// `1.90 (1.85 to 1.95)`
fn estimate_text(estimate: &RatioEstimate) -> String {
    match estimate.ci95 {
        Some([low, high]) => format!("{:.2} ({low:.2} to {high:.2})", estimate.ratio),
        None => format!("{:.2}", estimate.ratio),
    }
}

fn quota_sentence(base: &str, new: &str, quotas: [Option<f64>; 2]) -> Option<String> {
    let of = |name: &str, quota: Option<f64>| Some(format!("`{name}` had a CPU quota of {} CPUs", number(quota?)));
    let texts: Vec<String> = [of(base, quotas[0]), of(new, quotas[1])].into_iter().flatten().collect();
    (!texts.is_empty()).then(|| format!("{}: the rates are those of the quota.", texts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(ratio: f64, verdict: RatioVerdict) -> RatioEstimate {
        let (ci95, n) = (Some([ratio - 0.05, ratio + 0.05]), 6);
        RatioEstimate { ratio, ci95, n, smallest_effect: None, p_value: None, verdict }
    }

    #[test]
    fn the_sentence_has_work_clock_and_money() {
        let (work, per_money) = (estimate(1.9, RatioVerdict::Faster), estimate(0.8, RatioVerdict::Slower));
        let single = WorkRatio { kernels: 8, clients: [1, 1], work, per_ghz: Some(work), per_money: Some(per_money) };
        let mut compared = KernelComparison {
            single: Some(single),
            all: None,
            mhz: Some([2000.0, 2001.0]),
            frequency_is_measured: true,
            cpu_quotas: [None, Some(0.5)],
        };
        let text = work_sentences("a", "b", &compared);
        assert_eq!(
            text[0],
            "8 kernels, 1 client: `b` does 1.90 (1.85 to 1.95) times the work of `a`, at the same clock; for the money 0.80 (0.75 to \
             0.85) times: `a` is ahead."
        );
        assert_eq!(text[1], "`b` had a CPU quota of 0.50 CPUs: the rates are those of the quota.");
        let even = WorkRatio { work: estimate(1.01, RatioVerdict::NoDifferenceShown), per_money: None, ..single };
        compared = KernelComparison { single: Some(even), mhz: None, cpu_quotas: [None, None], ..compared };
        compared.single.as_mut().unwrap().per_ghz = None;
        let text = work_sentences("a", "b", &compared);
        assert_eq!(text, ["8 kernels, 1 client: no difference shown between `a` and `b` (1.01 (0.96 to 1.06))."]);
    }
}
