//! Where the time of a run went, in a sentence.

use super::list::join_and;
use super::quantity::{percent, time};
use analysis::RunTime;
use model::Nanos;

/// `The run took 145 s without the report: 69 % measuring, 6.9 % warmup, 6.9 % making data, 3.4 % stopping engines and 14 % all between (engines start, points are analysed).`
pub fn run_time(spent: &RunTime) -> String {
    let parts = [
        (spent.measured, "measuring"),
        (spent.warmup, "warmup"),
        (spent.data, "making data"),
        (spent.cleanup, "stopping engines"),
        (spent.between(), "all between (engines start, points are analysed)"),
    ];
    let part =
        |(length, what): &(Nanos, &str)| (length.0 > 0).then(|| format!("{} {what}", percent(spent.share(*length))));
    let parts: Vec<String> = parts.iter().filter_map(part).collect();
    format!("The run took {} without the report: {}.", time(spent.all.0 as f64), join_and(&parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_that_there_is_has_its_share() {
        let second = Nanos::from_secs;
        let spent =
            RunTime { all: second(50), data: second(5), warmup: Nanos(0), measured: second(40), cleanup: second(1) };
        let text = run_time(&spent);
        let [measuring, data] = [0.8, 0.1].map(percent);
        assert!(
            text.starts_with(&format!(
                "The run took 50.0 s without the report: {measuring} measuring, {data} making data, "
            )),
            "{text}"
        );
        assert!(
            text.ends_with("all between (engines start, points are analysed).") && !text.contains("warmup"),
            "{text}"
        );
    }
}
