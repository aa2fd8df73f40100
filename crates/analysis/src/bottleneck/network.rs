//! The network between clients and engine.
//!
//! In: the use of its link, and the segments sent and sent again. Out: a cause if the link was nearly full, or if many segments were lost.
//! Limits: segments are those of all programs of the machine; the speed of a link that is limited elsewhere (a switch, a cloud) is not
//! known unless a person stated it.

use super::seen::Seen;
use super::tested::Tested;
use crate::evidence::cause::{Cause, Confidence, Limit, LimitEvidence};
use crate::judgement::NextStep;
use crate::math::units::Share;
use model::CounterRole;

/// Of the speed of the link. Frames have headers that the counters of an interface leave out.
// Of full Ethernet frames 94 % is payload of TCP; of the short ones of queries far less.
const LINK_MIN: f64 = 0.80;
const LINK_SURE: f64 = 0.90;
/// Of the segments sent: a link that drops so many is full, or broken.
const RETRANSMIT_MIN: f64 = 0.01;
/// Fewer segments per second show nothing.
const SEGMENTS_MIN_PER_S: f64 = 100.0;

pub fn test(seen: &Seen) -> Tested {
    let (link, lost) = (link_share(seen), retransmit_share(seen));
    let evidence = LimitEvidence::Network { link_share: link.map(Share), retransmit_share: lost.map(Share) };
    let cause = |share: f64, confidence| {
        Tested::Binds(Cause::new(evidence, share).confidence(confidence).next(NextStep::FasterLink))
    };
    match (link, lost) {
        (Some(share), _) if share >= LINK_SURE => cause(share, Confidence::Sure),
        (Some(share), _) if share >= LINK_MIN => cause(share, Confidence::Likely),
        (_, Some(share)) if share >= RETRANSMIT_MIN => cause(share, Confidence::Possible),
        (Some(share), _) => Tested::below(Limit::Network, share, LINK_MIN),
        (None, Some(share)) => Tested::below(Limit::Network, share, RETRANSMIT_MIN),
        (None, None) => Tested::Unknown,
    }
}

/// The share of the link's speed, stated or reported, that was used in the direction that carries more.
fn link_share(seen: &Seen) -> Option<f64> {
    seen.measured.summary.network.as_ref()?.link_share
}

/// The share of the segments that were sent again, if the point's clients use the network.
fn retransmit_share(seen: &Seen) -> Option<f64> {
    seen.all(CounterRole::NetworkSentBytes)?;
    let sent = seen.all(CounterRole::TcpSegmentsSent)?.per_second();
    let again = seen.all(CounterRole::TcpRetransmits)?.per_second();
    (sent >= SEGMENTS_MIN_PER_S).then(|| again / sent)
}
