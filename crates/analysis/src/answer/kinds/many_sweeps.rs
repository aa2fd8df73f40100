//! Many sorts of work, each at several numbers of clients or depths: what more of them help, hurt and leave alone.
//!
//! In: the things of a sweep whose plan asks about clients or depth alone. Out: claims about all of them, and a row for each. Limits: what helps
//! most, and two that are hurt, are named; the table has the others.

use super::super::speech::{amount, number_word, short_enough, spoken, under};
use super::super::thing::{Thing, first_fall, is_clearly_below};
use super::super::{AnswerRow, Claim, ClaimKind};
use crate::points::sweep::ScalingAxis;
use words::list::{capital, join_and};
use words::quantity::{number, percent};

/// Gains that differ by less than this factor are alike: the rates are not known so well.
const APART: f64 = 1.5;
/// More that are hurt are left to the table.
const HURT_MAX: usize = 2;

/// What more clients do to each of `things`.
pub(super) fn claims(things: &[Thing]) -> Vec<Claim> {
    let hurt: Vec<&Thing> = things.iter().filter(|thing| is_hurt(thing)).collect();
    let helped: Vec<&Thing> = things.iter().filter(|thing| !is_hurt(thing) && is_helped(thing)).collect();
    let same: Vec<&Thing> = things.iter().filter(|thing| !is_hurt(thing) && !is_helped(thing)).collect();
    let mut claims = vec![carried(things, helped.len())];
    claims.extend(hurt.iter().take(HURT_MAX).map(|thing| falls(thing)));
    claims.extend(most_helped(&helped));
    claims.extend((!same.is_empty()).then(|| {
        let names: Vec<String> = same.iter().map(|thing| name(thing)).collect();
        let they = more(things);
        let all = format!("{} change nothing shown for {}.", capital(they), join_and(&names));
        let counted = format!("{} change nothing shown for {} of them.", capital(they), number_word(same.len() as u32));
        Claim::new(ClaimKind::NoDifference, short_enough(vec![all, counted]))
    }));
    claims
}

/// The rate of each of `things` at each place.
pub(super) fn rows(things: &[Thing], places: &[(u32, u32)]) -> Vec<AnswerRow> {
    let row = |thing: &Thing| {
        let name = thing.distinguishing.iter().map(|setting| spoken(setting)).collect();
        AnswerRow { name, cells: places.iter().map(|place| Some(thing.rate_cell(thing.step_at(*place)?))).collect() }
    };
    things.iter().map(row).collect()
}

/// Whether the first step is the best, and a later one clearly below it.
fn is_hurt(thing: &Thing) -> bool {
    std::ptr::eq(thing.sweep.best(), &thing.sweep.steps[0]) && first_fall(&thing.sweep).is_some()
}

/// Whether the first step is clearly below the best.
fn is_helped(thing: &Thing) -> bool {
    is_clearly_below(thing.sweep.best(), &thing.sweep.steps[0])
}

fn more(things: &[Thing]) -> &'static str {
    let is_depth = things.iter().any(|thing| thing.sweep.axis == ScalingAxis::Depth);
    if is_depth { "more requests at a time" } else { "more clients" }
}

/// `sequential reads with a shared cursor`
fn name(thing: &Thing) -> String {
    match thing.distinguishing.as_slice() {
        [] => thing.whose_work(),
        [first, others @ ..] => {
            let others = others.iter().map(|setting| format!(" {}", under(setting)));
            spoken(first) + &others.collect::<String>()
        }
    }
}

/// `The disk carries 33,800 to 42,600 requests per second with up to eight clients, depending on the work; more clients help all seven sorts of it.`
fn carried(things: &[Thing], helped: usize) -> Claim {
    let best = |thing: &Thing| thing.reached(thing.sweep.best()).rate.mean;
    let by_rate = |a: &&Thing, b: &&Thing| best(a).total_cmp(&best(b));
    let (least, most) = (things.iter().min_by(by_rate), things.iter().max_by(by_rate));
    let [least, most] = [least, most].map(|thing| thing.unwrap_or(&things[0]));
    let last = things.iter().map(|thing| thing.sweep.last()).max_by_key(|step| (step.clients, step.depth));
    let up_to = last.map_or(String::new(), |step| match things[0].sweep.axis {
        ScalingAxis::Depth => format!("up to {} requests at a time", number_word(step.depth)),
        _ => format!("up to {} clients", number_word(step.clients)),
    });
    let noun = if things[0].first().traits.work.io.is_some() { "requests" } else { things[0].unit.plural() };
    let all = number_word(things.len() as u32);
    let helps = match helped {
        0 => format!("{} help none of its {all} sorts", more(things)),
        some if some == things.len() => format!("{} help all {all} sorts of it", more(things)),
        some => format!("{} help {} of its {all} sorts", more(things), number_word(some as u32)),
    };
    let sentence = format!(
        "{} carries {} to {} {noun} per second with {up_to}, depending on the work; {helps}.",
        things[0].who_begins(),
        amount(best(least)),
        amount(best(most)),
    );
    let claim = least.with_figure(Claim::new(ClaimKind::Scaling, sentence), &least.reached(least.sweep.best()));
    most.with_figure(claim, &most.reached(most.sweep.best()))
}

/// `They hurt sequential reads with a shared cursor: 5,630 per second with one client, 615 with two clients (89 % less).`
fn falls(thing: &Thing) -> Claim {
    let (best, fallen) = (thing.sweep.best(), first_fall(&thing.sweep).unwrap_or(thing.sweep.last()));
    let [high, low] = [best, fallen].map(|step| thing.reached(step));
    let sentence = format!(
        "They hurt {}: {} {} {}, {} {} ({} less).",
        name(thing),
        amount(high.rate.mean),
        thing.unit.per(),
        thing.place(best),
        amount(low.rate.mean),
        thing.place(fallen),
        percent(1.0 - low.rate.mean / high.rate.mean)
    );
    let claim = thing.with_figure(Claim::new(ClaimKind::Scaling, sentence), &high);
    thing.with_figure(claim, &low)
}

/// `Sequential writes gain most: 3.2 times with eight clients, random reads least: 2.5 times.`
fn most_helped(helped: &[&Thing]) -> Option<Claim> {
    let gain = |thing: &&&Thing| {
        let [best, first] = [thing.sweep.best(), &thing.sweep.steps[0]].map(|step| thing.reached(step).rate.mean);
        best / first
    };
    let by_gain = |a: &&&Thing, b: &&&Thing| gain(a).total_cmp(&gain(b));
    let (least, most) = (helped.iter().min_by(by_gain)?, helped.iter().max_by(by_gain)?);
    let (few, many) = (gain(&least), gain(&most));
    if helped.len() > 1 && many / few < APART {
        let place = most.place(most.sweep.best());
        let sentence = format!("They do {} to {} times the work {place}.", number(few), number(many));
        return Some(Claim::new(ClaimKind::Scaling, sentence).figure("ratio", few, None).figure("ratio", many, None));
    }
    let first = format!("{} gain most, {} times {}", capital(&name(most)), number(many), most.place(most.sweep.best()));
    let both = format!("{first}, and {} least, {} times.", name(least), number(few));
    let is_one = helped.len() == 1;
    let sentence = if is_one { format!("{first}.") } else { short_enough(vec![both, format!("{first}.")]) };
    let claim = Claim::new(ClaimKind::Scaling, sentence).figure("ratio", many, None);
    Some(if is_one { claim } else { claim.figure("ratio", few, None) })
}

#[cfg(test)]
mod tests {
    use crate::answer::AnswerKind;
    use crate::simulated::{Simulation, params, run_of};
    use crate::{analyse, answer};
    use model::{Bytes, Nanos, PointData, Value};

    fn points(mode: &str, rates: [u64; 3]) -> Vec<PointData> {
        let point = |(clients, rate): (u32, u64)| {
            Simulation::counts(&[rate; 20])
                .with(|point| {
                    (point.trial.target.engine, point.trial.workload.name) = ("file".into(), "file".into());
                    point.trial.workload.params =
                        params(&[("mode", Value::Word(mode.into())), ("block", Value::Bytes(Bytes(16_384)))]);
                    let phrase = match mode {
                        "rndrd" => "random reads",
                        "rndwr" => "random writes",
                        "seqrd" => "sequential reads",
                        _ => "sequential writes",
                    };
                    point.traits.phrases.insert("mode".into(), phrase.into());
                    point.trial.load.clients = clients;
                    point.trial.load.pacing = model::Pacing::Closed { think: Nanos(1) };
                    let rows = point.phases[0].intervals.iter_mut().flat_map(|interval| &mut interval.kinds);
                    rows.for_each(|row| row.bytes = row.ok * 16_384);
                })
                .point()
        };
        [1, 2, 8].into_iter().zip(rates).map(point).collect()
    }

    #[test]
    fn many_sorts_of_work_are_summed_up_and_those_that_fall_are_named() {
        let all = [
            points("rndrd", [3_000, 4_000, 6_000]),
            points("rndwr", [3_200, 4_100, 5_000]),
            points("seqrd", [5_626, 615, 620]),
            points("seqwr", [4_000, 4_000, 4_001]),
        ];
        let mut run = run_of(all.concat(), Vec::new());
        run.meta.plan.asked.question = Some("How many requests does this array carry?".into());
        run.meta.plan.asked.over = Some("clients".into());
        let answer = answer::answer(&analyse(&run));
        assert_eq!(answer.kind, AnswerKind::Sweep);
        let sentences: Vec<&str> = answer.claims.iter().map(|claim| claim.sentence.as_str()).collect();
        let expected = [
            "The file carries 4,000 to 6,000 requests per second with up to eight clients, depending on the work; more clients help two of its four sorts.",
            "They hurt sequential reads: 5,630 per second with one client, 615 with two clients (89 % less).",
            "They do 1.56 to 2.00 times the work with eight clients.",
            "More clients change nothing shown for sequential writes.",
        ];
        assert_eq!(sentences[..4], expected);
        let rows: Vec<&str> = answer.table.as_ref().unwrap().rows.iter().map(|row| row.name[0].as_str()).collect();
        assert_eq!(rows, ["random reads", "random writes", "sequential reads", "sequential writes"]);
    }
}
