//! More clients that do more than their share of the work: one alone pays for a wake-up of another CPU with each message.
//!
//! In: the steps of things over their clients. Out: one claim about the worst, because its first step says less of the engine than of the machine. Limits: the
//! cause is the usual one, and not measured in the run. The scheduler puts the server's thread on an idle CPU, and to wake a thread there takes an
//! interrupt between CPUs: on virtual machines often longer than the query. Pinned to one CPU, one client did twice as much. What waits for
//! a disk is left out.

use super::claim::{Claim, ClaimKind};
use super::speech::number_word;
use super::thing::Thing;
use crate::points::sweep::ScalingAxis;
use words::list::capital;
use words::quantity::number;

/// Clients that do so much more than their number have something else to thank.
const BEYOND: f64 = 1.5;

/// What the second step does beyond its share, if that is much.
pub(super) fn claim(things: &[Thing]) -> Option<Claim> {
    let of_thing = |thing: &Thing| {
        let [first, second, ..] = thing.sweep.steps.as_slice() else { return None };
        let clients = f64::from(second.clients) / f64::from(first.clients);
        let times = second.ops_per_s() / first.ops_per_s();
        let is_beyond = thing.sweep.axis == ScalingAxis::Clients && times > BEYOND * clients;
        (is_beyond && thing.first().traits.work.io.is_none()).then_some((times, first.clients, second.clients))
    };
    let (times, first, second) = things.iter().filter_map(of_thing).max_by(|a, b| a.0.total_cmp(&b.0))?;
    let sentence = format!(
        "{} clients do up to {} times the work of {}: each message of few probably wakes a thread on another CPU, so conclude nothing from {}.",
        capital(&number_word(second)),
        number(times),
        number_word(first),
        if first == 1 { "one client".to_owned() } else { format!("{} clients", number_word(first)) }
    );
    Some(Claim::new(ClaimKind::Caution, sentence).figure("ratio", times, None))
}
