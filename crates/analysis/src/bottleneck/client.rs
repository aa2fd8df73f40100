//! The client threads, which may use up their cores.
//!
//! In: their CPU time. Out: a cause above the share at which `client-bound` warns. Limits: with an embedded engine its work is on the client
//! threads and cannot be separated.

use super::seen::Seen;
use super::tested::Tested;
use crate::evidence::client_share::CORES_SHARE_MAX;
use crate::finding::NextStep;
use crate::finding::bottleneck::{Cause, Limit, LimitEvidence};
use crate::finding::units::Share;

pub fn test(seen: &Seen) -> Tested {
    match seen.client_share {
        None => Tested::Unknown,
        Some(share) if share > CORES_SHARE_MAX => {
            let evidence = LimitEvidence::Client { cores_share: Share(share) };
            Tested::Binds(Cause::new(evidence, share).next(NextStep::AddClients))
        }
        Some(share) => Tested::below(Limit::Client, share, CORES_SHARE_MAX),
    }
}
