//! By how much insert rates drop, in words.
//!
//! In: the [`EngineSlowdown`]s of one change. Out: a sentence. Limits: a drop whose interval contains zero is one that was not shown.

use super::label::settings_label;
use super::list::join_and;
use super::quantity::{plural, whole_percent};
use analysis::SettingValue;
use analysis::points::insert_slowdown::{Change, EngineSlowdown};

/// `With storage limited to iops=2000, the insert rate of innodb drops by 64 % (95 % CI 60 to 68) and that of rocksdb drops by 21 % (95 %
/// CI 18 to 24).`, of `slowdowns` by one change at one place.
pub fn sentence(slowdowns: &[EngineSlowdown]) -> String {
    let Some(first) = slowdowns.first() else { return String::new() };
    let clause = |(nth, slowdown): (usize, &EngineSlowdown)| {
        let whose = if nth == 0 { "the insert rate of" } else { "that of" };
        format!("{whose} {} {}", slowdown.engine, change_of_rate(slowdown))
    };
    let clauses: Vec<String> = slowdowns.iter().enumerate().map(clause).collect();
    format!("With {}, {}.", circumstances(first), join_and(&clauses))
}

/// `storage limited to iops=2000: innodb: insert rate drops by 64 % (95 % CI 60 to 68)`, of `slowdowns` by one change at one place.
pub fn title(slowdowns: &[EngineSlowdown]) -> String {
    let Some(first) = slowdowns.first() else { return String::new() };
    let one = |slowdown: &EngineSlowdown| format!("{}: insert rate {}", slowdown.engine, change_of_rate(slowdown));
    format!("{}: {}", circumstances(first), slowdowns.iter().map(one).collect::<Vec<_>>().join("; "))
}

/// `drops by 64 % (95 % CI 60 to 68)`
pub fn change_of_rate(slowdown: &EngineSlowdown) -> String {
    let (share, [low, high]) = (slowdown.drop.share, slowdown.drop.ci95);
    let percent = whole_percent;
    if !slowdown.is_conclusive() {
        return indicative_change(slowdown);
    }
    match (slowdown.is_shown(), slowdown.is_gain()) {
        (true, _) => format!("drops by {} % (95 % CI {} to {})", percent(share), percent(low), percent(high)),
        (_, true) => format!("rises by {} % (95 % CI {} to {})", percent(-share), percent(-high), percent(-low)),
        _ => format!("shows no change (95 % CI {} to {} %)", percent(low), percent(high)),
    }
}

/// `is 64 % lower (95 % CI 60 to 68), indicative only (3 repeats)`
fn indicative_change(slowdown: &EngineSlowdown) -> String {
    let (share, [low, high]) = (slowdown.drop.share, slowdown.drop.ci95);
    let is_higher = share < 0.0;
    let (than, ends) = if is_higher { ("higher", [-high, -low]) } else { ("lower", [low, high]) };
    let [low, high] = ends.map(whole_percent);
    let interval = if slowdown.is_repeated() { format!(" (95 % CI {low} to {high})") } else { String::new() };
    let repeats = plural(slowdown.repeats() as u64, "repeat");
    format!("is {} % {than}{interval}, indicative only ({repeats})", whole_percent(share.abs()))
}

/// What changed, and what else varies: `storage limited to iops=2000, cache 64 MiB`.
fn circumstances(slowdown: &EngineSlowdown) -> String {
    let change = match &slowdown.change {
        Change::Storage { from: SettingValue::Absent, to } => format!("storage limited to {to}"),
        Change::Storage { from, to } => format!("storage limited to {to} instead of {from}"),
        Change::CacheOutgrown => "data larger than the cache".to_owned(),
    };
    match slowdown.place.is_empty() {
        true => change,
        false => format!("{change} ({})", settings_label(&slowdown.place)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::math::repeats::{MeanOfRepeats, RateDrop};
    use model::Value;

    fn slowdown(engine: &str, share: f64, ci95: [f64; 2]) -> EngineSlowdown {
        let limit = SettingValue::Param(Value::Word("iops=2000".into()));
        EngineSlowdown {
            change: Change::Storage { from: SettingValue::Absent, to: limit },
            place: Vec::new(),
            engine: engine.into(),
            before: MeanOfRepeats { repeats: 4, ..MeanOfRepeats::default() },
            after: MeanOfRepeats { repeats: 4, ..MeanOfRepeats::default() },
            drop: RateDrop { share, ci95 },
        }
    }

    #[test]
    fn a_drop_of_the_rate_does_not_read_as_lost_data() {
        let all = [slowdown("mariadb:innodb", 0.64, [0.6, 0.68]), slowdown("mariadb:rocksdb", 0.21, [0.18, 0.24])];
        let expected = "With storage limited to iops=2000, the insert rate of mariadb:innodb drops by 64 % (95 % CI 60 to \
                        68) and that of mariadb:rocksdb drops by 21 % (95 % CI 18 to 24).";
        assert_eq!(sentence(&all), expected);
        let expected = "storage limited to iops=2000: mariadb:innodb: insert rate drops by 64 % (95 % CI 60 to 68); \
                        mariadb:rocksdb: insert rate drops by 21 % (95 % CI 18 to 24)";
        assert_eq!(title(&all), expected);
    }

    #[test]
    fn an_interval_that_contains_zero_shows_no_change_and_a_gain_is_a_rise() {
        assert_eq!(change_of_rate(&slowdown("fjall", 0.0, [-0.01, 0.01])), "shows no change (95 % CI -1 to 1 %)");
        assert_eq!(change_of_rate(&slowdown("fjall", -0.2, [-0.25, -0.15])), "rises by 20 % (95 % CI 15 to 25)");
    }

    #[test]
    fn fewer_than_four_repeats_are_no_drop_but_a_measured_difference() {
        let mut one = slowdown("fjall", 0.64, [0.6, 0.68]);
        one.after.repeats = 1;
        assert_eq!(change_of_rate(&one), "is 64 % lower, indicative only (1 repeat)");
        one.after.repeats = 3;
        assert_eq!(change_of_rate(&one), "is 64 % lower (95 % CI 60 to 68), indicative only (3 repeats)");
        (one.drop.share, one.drop.ci95) = (-0.1, [-0.12, -0.08]);
        assert_eq!(change_of_rate(&one), "is 10 % higher (95 % CI 8 to 12), indicative only (3 repeats)");
    }
}
