//! What binds a point, in words.
//!
//! In: a [`WhyAnswer`]. Out: the sentence that answers, the cells of its table, and what was left out. Limits: the judgement is the
//! analysis's.

use super::list::{capital, join_and};
use super::quantity::{plural, rate, whole_percent};
use analysis::math::ratio::PAIRS_MIN;
use analysis::run::why::{Binding, Elasticity, WhyAnswer};
use model::{NotVaried, VariedResource};

/// What the elasticities mean.
pub const LEGEND: &str = "Elasticity: 1 means that the rate follows the resource in full, 0 that it does not follow.";

/// The first line: what binds the point.
pub fn answer_sentence(answer: &WhyAnswer) -> String {
    let own = |verdict| -> (Vec<&Elasticity>, Vec<&Elasticity>) {
        answer.with_verdict(verdict).into_iter().partition(|it| it.resource != VariedResource::Clients)
    };
    let (binds, clients) = own(Binding::Binds);
    let (in_part, clients_in_part) = own(Binding::BindsInPart);
    match (binds.as_slice(), in_part.as_slice(), clients.first().or(clients_in_part.first())) {
        ([_, ..], _, _) => format!("{} this point: {}.", subject(&binds, "binds", "bind"), effects(&binds)),
        ([], _, Some(clients)) if clients.verdict == Binding::Binds => clients_sentence(clients),
        ([], [_, ..], _) => {
            format!("{} this point in part: {}.", subject(&in_part, "binds", "bind"), effects(&in_part))
        }
        ([], [], Some(clients)) => clients_sentence(clients),
        ([], [], None) => nothing_binds(answer),
    }
}

/// `The CPU and the device bind`.
fn subject(all: &[&Elasticity], one: &str, several: &str) -> String {
    let names: Vec<String> = all.iter().map(|it| format!("the {}", resource_name(it.resource))).collect();
    let verb = if names.len() == 1 { one } else { several };
    capital(&format!("{} {verb}", join_and(&names)))
}

/// `with 80 % of the device's speed the rate falls by 19 % (17 to 21)`.
fn effects(all: &[&Elasticity]) -> String {
    let one = |it: &&Elasticity| format!("with {} the rate {}", condition(it), change_phrase(it));
    all.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn clients_sentence(clients: &Elasticity) -> String {
    let (word, change) = (in_flight_word(clients), change_phrase(clients));
    format!("Too few {word} bind this point: with {} the rate {change}.", condition(clients))
}

fn nothing_binds(answer: &WhyAnswer) -> String {
    let unsure: Vec<String> = answer
        .elasticities
        .iter()
        .filter(|it| matches!(it.verdict, Binding::CannotTell | Binding::LimitEscaped | Binding::CapacityTooLow))
        .map(|it| resource_name(it.resource).to_owned())
        .collect();
    let varied: Vec<String> = answer.elasticities.iter().map(|it| resource_name(it.resource).to_owned()).collect();
    match (varied.is_empty(), unsure.is_empty()) {
        (true, _) => "Cannot tell what binds this point: nothing could be varied.".to_owned(),
        (_, true) => format!("None of what was varied binds this point: {}.", join_and(&varied)),
        _ if answer.rounds < PAIRS_MIN => {
            format!(
                "Cannot tell what binds this point: {} of at least {PAIRS_MIN}.",
                plural(answer.rounds as u64, "round")
            )
        }
        _ => format!(
            "Cannot tell what binds this point: the rounds differ too much for the {}; measure more (--rounds) or longer (--time).",
            join_and(&unsure)
        ),
    }
}

/// The name of a resource.
pub fn resource_name(resource: VariedResource) -> &'static str {
    match resource {
        VariedResource::Cpu => "CPU",
        VariedResource::Device => "device",
        VariedResource::Memory => "memory",
        VariedResource::Clients => "clients",
    }
}

fn in_flight_word(clients: &Elasticity) -> &'static str {
    if clients.setting.starts_with("depth") { "ops in flight" } else { "clients" }
}

/// `80 % of the CPU`, `25 % more clients`.
fn condition(it: &Elasticity) -> String {
    let percent = (it.factor * 100.0).round();
    match it.resource {
        VariedResource::Cpu => format!("{percent:.0} % of the CPU"),
        VariedResource::Device => format!("{percent:.0} % of the device's speed"),
        VariedResource::Memory => format!("{percent:.0} % of the cache"),
        VariedResource::Clients => format!("{:.0} % more {}", percent - 100.0, in_flight_word(it)),
    }
}

/// `falls by 19 % (17 to 21)`.
fn change_phrase(it: &Elasticity) -> String {
    let Some(ratio) = it.rate_ratio else { return "is not known".to_owned() };
    let (verb, sign) = if ratio < 1.0 { ("falls", -1.0) } else { ("rises", 1.0) };
    let percent = |ratio: f64| whole_percent(sign * (ratio - 1.0));
    let interval = it.rate_ratio_ci95.map(|ends| {
        let [one, other] = if sign < 0.0 { [ends[1], ends[0]] } else { ends };
        format!(" ({} to {})", percent(one), percent(other))
    });
    format!("{verb} by {} %{}", percent(ratio), interval.unwrap_or_default())
}

/// `-19 %`.
pub fn change_cell(it: &Elasticity) -> String {
    let Some(ratio) = it.rate_ratio else { return "-".to_owned() };
    match whole_percent(ratio - 1.0) {
        percent if ratio > 1.0 && percent != "0" => format!("+{percent} %"),
        percent => format!("{percent} %"),
    }
}

/// `0.95 (0.85 to 1.06)`.
pub fn elasticity_cell(it: &Elasticity) -> String {
    // What rounds to 0 has no sign.
    let number = |value: f64| format!("{:.2}", (value * 100.0).round() / 100.0 + 0.0);
    let Some(value) = it.value else { return "-".to_owned() };
    let interval = it.ci95.map(|[low, high]| format!(" ({} to {})", number(low), number(high)));
    format!("{}{}", number(value), interval.unwrap_or_default())
}

/// The verdict in a cell.
pub fn verdict_cell(verdict: Binding) -> &'static str {
    match verdict {
        Binding::Binds => "binds",
        Binding::BindsInPart => "binds in part",
        Binding::DoesNotBind => "does not bind",
        Binding::CannotTell => "cannot tell",
        Binding::LimitEscaped => "escaped",
        Binding::CapacityTooLow => "too low",
    }
}

/// The notes below the table.
pub fn notes(answer: &WhyAnswer) -> Vec<String> {
    let unchanged = answer.ops_per_s.map(|per_s| format!(" Unchanged, it does {}.", rate(per_s)));
    let planned = u64::from(answer.rounds_planned);
    let measured = if answer.rounds as u64 == planned {
        format!("{}, in turn.", plural(planned, "round"))
    } else {
        format!("{} of {planned}, in turn.", plural(answer.rounds as u64, "round"))
    };
    let few = (answer.rounds < PAIRS_MIN).then(|| format!("A verdict needs {PAIRS_MIN} rounds (--rounds)."));
    let escaped = answer.elasticities.iter().any(|it| it.verdict == Binding::LimitEscaped);
    let escaped = escaped.then(|| {
        "Escaped: the device did more than the limit allows, because the kernel writes back later what the engine wrote; use `fs`."
            .to_owned()
    });
    let too_low = answer.elasticities.iter().any(|it| it.verdict == Binding::CapacityTooLow);
    let too_low = too_low.then(|| {
        "Too low: the unchanged point did more on the device than was measured that it carries; measure again while nothing else uses it."
            .to_owned()
    });
    let left_out = answer
        .left_out
        .iter()
        .map(|(resource, why)| format!("Left out: {} ({}).", resource_name(*resource), not_varied(*why)));
    let version = answer.engine_versions.as_ref().map(|[before, now]| {
        format!("The engine was version `{before}` at the point and is `{now}` now: the answer is about `{now}`.")
    });
    let first = format!("{measured}{} {LEGEND}", unchanged.unwrap_or_default());
    std::iter::once(first).chain(few).chain(escaped).chain(too_low).chain(left_out).chain(version).collect()
}

/// Why a resource was not varied.
pub fn not_varied(why: NotVaried) -> &'static str {
    match why {
        NotVaried::NotPermitted => "it needs root, or a control group that may be used",
        NotVaried::NoDataHere => "the engine keeps no data on this machine",
        NotVaried::NoIo => "the point did hardly any I/O",
        NotVaried::UnknownRate => "the rate that the device can carry is not known",
        NotVaried::NoCache => "the engine has no cache of its own",
        NotVaried::SmallestCache => "its cache is as small as it can be",
        NotVaried::MostClients => "there are as many as a plan can have",
        NotVaried::OutsideQuota => "plimsoll has a CPU quota, and the server is not held by it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elasticity(resource: VariedResource, factor: f64, value: f64, verdict: Binding) -> Elasticity {
        let ratio = |value: f64| factor.powf(value);
        let mut ends = [ratio(value - 0.1), ratio(value + 0.1)];
        ends.sort_by(f64::total_cmp);
        Elasticity {
            resource,
            setting: "x = 1".into(),
            factor,
            value: Some(value),
            ci95: Some([value - 0.1, value + 0.1]),
            rate_ratio: Some(ratio(value)),
            rate_ratio_ci95: Some(ends),
            rounds: 4,
            verdict,
        }
    }

    fn answer(elasticities: Vec<Elasticity>) -> WhyAnswer {
        WhyAnswer {
            run_id: "r".into(),
            point: 1,
            rounds_planned: 4,
            rounds: 4,
            ops_per_s: Some(12_345.0),
            elasticities,
            left_out: vec![(VariedResource::Memory, NotVaried::NoCache)],
            engine_versions: None,
        }
    }

    #[test]
    fn the_first_line_names_what_binds() {
        use Binding::{Binds, BindsInPart, CannotTell, DoesNotBind};
        use VariedResource::{Clients, Cpu, Device};
        let cpu = |value, verdict| elasticity(Cpu, 0.8, value, verdict);
        let device = |value, verdict| elasticity(Device, 0.8, value, verdict);
        let clients = |value, verdict| elasticity(Clients, 1.25, value, verdict);
        let line = |all: Vec<Elasticity>| answer_sentence(&answer(all));
        assert_eq!(
            line(vec![cpu(0.0, DoesNotBind), device(0.95, Binds), clients(0.0, DoesNotBind)]),
            "The device binds this point: with 80 % of the device's speed the rate falls by 19 % (17 to 21)."
        );
        assert!(
            line(vec![cpu(0.9, Binds), device(0.95, Binds)]).starts_with("The device and the CPU bind this point: ")
        );
        assert!(
            line(vec![cpu(0.5, BindsInPart), device(0.0, DoesNotBind)])
                .starts_with("The CPU binds this point in part: ")
        );
        assert_eq!(
            line(vec![cpu(0.5, BindsInPart), clients(1.0, Binds)]),
            "Too few clients bind this point: with 25 % more clients the rate rises by 25 % (22 to 28)."
        );
        assert_eq!(
            line(vec![cpu(0.0, DoesNotBind), clients(0.0, DoesNotBind)]),
            "None of what was varied binds this point: CPU and clients."
        );
        assert!(
            line(vec![cpu(0.3, CannotTell)])
                .starts_with("Cannot tell what binds this point: the rounds differ too much for the CPU;")
        );
        let few = WhyAnswer { rounds: 2, ..answer(vec![cpu(0.3, CannotTell)]) };
        assert_eq!(answer_sentence(&few), "Cannot tell what binds this point: 2 rounds of at least 4.");
    }

    #[test]
    fn cells_have_their_intervals_and_notes_what_was_left_out() {
        let device = elasticity(VariedResource::Device, 0.8, 1.0, Binding::Binds);
        assert_eq!([change_cell(&device), elasticity_cell(&device)], ["-20 %", "1.00 (0.90 to 1.10)"]);
        let still = elasticity(VariedResource::Device, 0.8, 0.004, Binding::DoesNotBind);
        assert_eq!([change_cell(&still), elasticity_cell(&still)], ["0 %", "0.00 (-0.10 to 0.10)"]);
        let below = elasticity(VariedResource::Clients, 1.25, -0.004, Binding::DoesNotBind);
        assert_eq!([change_cell(&below), elasticity_cell(&below)], ["0 %", "0.00 (-0.10 to 0.10)"]);
        assert_eq!(change_cell(&elasticity(VariedResource::Clients, 1.25, 1.0, Binding::Binds)), "+25 %");
        let notes = notes(&answer(vec![device]));
        assert_eq!(notes[0], format!("4 rounds, in turn. Unchanged, it does 12.3k/s. {LEGEND}"));
        assert_eq!(notes[1], "Left out: memory (the engine has no cache of its own).");
    }
}
