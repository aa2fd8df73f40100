//! Finds points in which another server answered than the one that was measured, as after a failover.
//!
//! In: what the servers at the address reported of themselves. Out: an error. Limits: servers are distinguished by the names and numbers that
//! they report; how the operations of the point are divided between them is not known.

use super::{Detects, Finding, FindingKind, Watched};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use model::{EventKind, Nanos};
use serde::Serialize;

/// The server that is measured, and the one that answered in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherServerFound {
    /// What the one that is measured reports of itself.
    pub first: String,
    /// What the other one reports of itself.
    pub other: String,
    /// When it was noticed, since the run phase began; `None` before it.
    pub noticed_at_ns: Option<Nanos>,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(seen) = &view.point.traits.outcome.other_server else { return Vec::new() };
    let noticed_at_ns = view.events(EventKind::OtherServer).next().and_then(|event| view.time_of(event));
    let detail = OtherServerFound { first: seen.first.clone(), other: seen.other.clone(), noticed_at_ns };
    vec![Finding::new(Severity::Error, detail).next(NextStep::KeepServer)]
}

impl FindingKind for OtherServerFound {
    const SEVERITIES: &'static [Severity] = &[Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const WATCHED: Watched = Watched::Always;
    const REASON: &'static str = "had another server answer in the place of the first";

    fn is_like(&self, other: &Self) -> bool {
        (&self.first, &self.other) == (&other.first, &other.other)
    }

    fn title(alike: &[&Self]) -> String {
        format!("another server answered: {}, in the place of {}", alike[0].other, alike[0].first)
    }

    fn evidence(&self) -> String {
        match self.noticed_at_ns {
            Some(at) => format!("noticed at {:.1} s of the run phase", at.as_secs_f64()),
            None => "noticed before the run phase".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::Validity;
    use crate::simulated::Simulation;
    use model::Fact;

    #[test]
    fn another_server_voids_the_point_with_both_names() {
        let facts = [("server.first", "hostname `a`"), ("server.other", "hostname `b`")];
        let changed = Simulation::counts(&[2000; 10])
            .event(EventKind::OtherServer, "another server answers")
            .with(|point| point.traits.learn_all(&facts.map(|(name, value)| Fact::new(name, value))));
        assert_eq!(changed.analysis().points[0].validity, Validity::Invalid);
        let found: OtherServerFound = changed.figures();
        assert_eq!([&*found.first, &*found.other], ["hostname `a`", "hostname `b`"]);
        assert_eq!(found.noticed_at_ns, Some(Nanos::from_millis(500)));
        let title = OtherServerFound::title(&[&found]);
        assert_eq!(title, "another server answered: hostname `b`, in the place of hostname `a`");
        assert!(Simulation::counts(&[2000; 10]).findings("other-server").is_empty());
    }
}
