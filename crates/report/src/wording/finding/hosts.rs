//! In words: hosts that were lost, did less than their share, or whose clocks cannot be compared well enough.
//!
//! In: the figures. Out: titles, evidence and explanations. Limits: none.

use super::FindingWords;
use crate::wording::list::join_and;
use crate::wording::quantity::{listed, percent, plural, range, time};
use analysis::Span;
use analysis::finding::hosts::{ClockSpread, HostTime, LostHost, LostHosts, StartSkew, UnevenHost, UnevenHosts};

/// More hosts are not named in one line.
const HOSTS_MAX: usize = 4;

impl FindingWords for LostHosts {
    const SUMMARY: &'static str = "a host of the point was lost while it was measured";
    const EXPLANATION: &'static str = "The agent of a host gave no sign of life for as long as its lease lasts: it was killed or frozen, its \
         machine stopped, or the network to the bus was cut. From then on the load was another one, and nothing is known of that host. \
         The point is invalid. If it went on with the other hosts to its end, it is at most indicative, and the finding has the stretch \
         in which they were alone. What the host had delivered until then is counted. An agent that is started again joins the next point. \
         Look into the log of the agent and of its machine.";

    fn is_like(&self, other: &Self) -> bool {
        self.went_on == other.went_on && self.lost.len() == other.lost.len()
    }

    fn title(alike: &[&Self]) -> String {
        let first = alike[0];
        let rest = if first.went_on { "; the point went on without it" } else { "" };
        match (first.lost.as_slice(), alike.len()) {
            ([one], 1) => format!("host {} was lost{}{rest}", one.host, at_time(one)),
            (several, 1) => {
                let names: Vec<String> = several.iter().map(|one| one.host.clone()).collect();
                format!("{} of {} were lost: {}", several.len(), plural(first.hosts as u64, "host"), join_and(&names))
            }
            (lost, _) => format!("{} of {} lost", lost.len(), plural(first.hosts as u64, "host")),
        }
    }

    fn evidence(&self) -> String {
        listed(&self.lost, HOSTS_MAX, |one| {
            let share = one.load_share.map(|share| format!(", {} of the load", percent(share.0)));
            format!("{}{}: {}", one.host, share.unwrap_or_default(), one.quoted)
        })
    }

    fn times(&self, spans: &[Span]) -> String {
        let from = spans.first().filter(|_| self.went_on);
        from.map_or(String::new(), |span| format!("; without it from {:.1} to {:.1} s", span.from_s, span.to_s))
    }
}

/// ` at 4.0 s`
fn at_time(lost: &LostHost) -> String {
    lost.at_ns.map_or(" before the run phase".to_owned(), |at| format!(" at {:.1} s", at.as_secs_f64()))
}

impl FindingWords for UnevenHosts {
    const SUMMARY: &'static str = "a host did less than its share of the load";
    const EXPLANATION: &'static str = "A host did less than 90 % of the share of the operations that the plan gave it. Its clients waited longer \
         for the database than those of other hosts, or its machine was too slow for them: the table of hosts has its CPU, its network and \
         how late its clients woke up. The sum over the hosts is then not the load that was planned, and its response times are those of \
         unlike clients. In a closed loop a host that is farther from the database does less by itself, so it is a note there; in an open loop, \
         whose rate was planned, it is a warning. Give each host as much as it can do, or use an open loop. Hosts that were lost are left to `host-lost`.";

    fn title(alike: &[&Self]) -> String {
        let worst = |one: &Self| one.uneven.first().map_or(1.0, UnevenHost::kept);
        match alike {
            [only] if only.uneven.len() == 1 => {
                format!("host {} did {} of its share of the load", only.uneven[0].host, percent(worst(only)))
            }
            [only] => format!(
                "{} of {} did less than their share of the load, {} only {} of it",
                only.uneven.len(),
                plural(only.hosts as u64, "host"),
                only.uneven[0].host,
                percent(worst(only))
            ),
            several => format!("hosts did {} of their share of the load", range(several, |one| worst(one), percent)),
        }
    }

    fn evidence(&self) -> String {
        listed(&self.uneven, HOSTS_MAX, |one| {
            format!(
                "{}: {} of all operations, {} planned",
                one.host,
                percent(one.done_share.0),
                percent(one.planned_share.0)
            )
        })
    }
}

impl FindingWords for ClockSpread {
    const SUMMARY: &'static str = "the clock of a host is not known well enough for the intervals";
    const EXPLANATION: &'static str = "The clocks of the hosts are compared with that of the bus. The comparison of one was off by more than 5 % \
         of an interval, or the clock jumped: what a chart shows of different hosts at one moment may then be of different moments. \
         Sums over the whole run phase are right all the same. How it is measured: of several questions to the bus the one with the \
         shortest way there and back is taken, and half of that time is the bound. Put the bus near to the hosts, take load from the \
         network between them, or record longer intervals.";

    fn is_like(&self, other: &Self) -> bool {
        self.hosts.is_empty() == other.hosts.is_empty()
    }

    fn title(alike: &[&Self]) -> String {
        let worst = |one: &Self| one.hosts.first().map_or(0.0, |host| host.time_ns as f64);
        let interval = alike[0].interval_ns;
        match alike {
            [only] if only.hosts.is_empty() => {
                let names: Vec<String> = only.steps.iter().map(|step| step.host.clone()).collect();
                format!("the clock of {} jumped during the run phase", join_and(&names))
            }
            [only] => format!(
                "the clock of host {} may be off by {}, of intervals of {interval}",
                only.hosts[0].host,
                time(worst(only))
            ),
            several if alike[0].hosts.is_empty() => {
                format!("the clocks of hosts jumped during the run phase ({})", plural(several.len() as u64, "point"))
            }
            several => format!("clocks of hosts may be off by {}", range(several, |one| worst(one), time)),
        }
    }

    fn evidence(&self) -> String {
        let known = |one: &HostTime| format!("{}: ±{}", one.host, time(one.time_ns as f64));
        let bounds = listed(&self.hosts, HOSTS_MAX, known);
        let steps = listed(&self.steps, HOSTS_MAX, |step| format!("{}: {}", step.host, step.quoted));
        [bounds, steps].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

impl FindingWords for StartSkew {
    const SUMMARY: &'static str = "a host began the run phase at another time than planned";
    const EXPLANATION: &'static str = "All hosts are to begin at one moment. One began earlier or later by more than 5 % of an interval, by \
         its own clock: in the first and the last interval the load was not the one that was planned. A host that is busy, or an agent \
         that got its order late, is the usual reason. A warmup makes it harmless for the load, but not for what the hosts measured in the \
         first interval.";

    fn title(alike: &[&Self]) -> String {
        let worst = |one: &Self| one.hosts.first().map_or(0.0, |host| host.time_ns.unsigned_abs() as f64);
        match alike {
            [only] => format!("host {} began {}", only.hosts[0].host, late_or_early(&only.hosts[0])),
            several => format!("hosts began up to {} too early or too late", range(several, |one| worst(one), time)),
        }
    }

    fn evidence(&self) -> String {
        listed(&self.hosts, HOSTS_MAX, |one| format!("{}: {}", one.host, late_or_early(one)))
    }
}

/// `90.0 ms too late`
fn late_or_early(host: &HostTime) -> String {
    let by = time(host.time_ns.unsigned_abs() as f64);
    if host.time_ns < 0 { format!("{by} too early") } else { format!("{by} too late") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::finding::hosts::HostStep;
    use analysis::finding::units::Share;
    use model::Nanos;

    #[test]
    fn a_lost_host_is_named_with_the_moment_and_what_went_on_with_its_stretch() {
        let lost = |host: &str| LostHost {
            host: host.into(),
            at_ns: Some(Nanos::from_millis(4_040)),
            load_share: Some(Share(0.25)),
            quoted: "its lease has ended".into(),
        };
        let found = |lost, went_on| LostHosts { hosts: 4, lost, went_on };
        let one = found(vec![lost("c2")], false);
        assert_eq!(LostHosts::title(&[&one]), "host c2 was lost at 4.0 s");
        assert_eq!(one.evidence(), "c2, 25 % of the load: its lease has ended");
        let on = found(vec![lost("c2")], true);
        assert_eq!(LostHosts::title(&[&on]), "host c2 was lost at 4.0 s; the point went on without it");
        assert_eq!(on.times(&[Span { from_s: 4.0, to_s: 10.0 }]), "; without it from 4.0 to 10.0 s");
        let two = found(vec![lost("c2"), lost("c3")], false);
        assert_eq!(LostHosts::title(&[&two]), "2 of 4 hosts were lost: c2 and c3");
        assert_eq!(LostHosts::title(&[&one, &one]), "1 of 4 hosts lost");
    }

    #[test]
    fn an_uneven_host_is_named_with_what_it_did_of_its_share() {
        let host =
            |name: &str, done| UnevenHost { host: name.into(), planned_share: Share(0.25), done_share: Share(done) };
        let one = UnevenHosts { hosts: 4, uneven: vec![host("c2", 0.2)] };
        assert_eq!(UnevenHosts::title(&[&one]), "host c2 did 80 % of its share of the load");
        assert_eq!(one.evidence(), "c2: 20 % of all operations, 25 % planned");
        let two = UnevenHosts { hosts: 4, uneven: vec![host("c2", 0.1), host("c4", 0.2)] };
        let title = UnevenHosts::title(&[&two]);
        assert_eq!(title, "2 of 4 hosts did less than their share of the load, c2 only 40 % of it");
        assert_eq!(UnevenHosts::title(&[&one, &two]), "hosts did 40 to 80 % of their share of the load");
    }

    #[test]
    fn clocks_and_starts_are_given_with_their_times() {
        let host = |time_ns| HostTime { host: "n1".into(), time_ns };
        let spread = ClockSpread { interval_ns: Nanos::from_secs(1), hosts: vec![host(60_000_000)], steps: Vec::new() };
        let title = ClockSpread::title(&[&spread]);
        assert_eq!(title, "the clock of host n1 may be off by 60.0 ms, of intervals of 1.00 s");
        assert_eq!(spread.evidence(), "n1: ±60.0 ms");
        let step = HostStep { host: "n1".into(), quoted: "by 3 ms".into() };
        let jumped = ClockSpread { hosts: Vec::new(), steps: vec![step], ..spread };
        assert_eq!(ClockSpread::title(&[&jumped]), "the clock of n1 jumped during the run phase");
        assert_eq!(jumped.evidence(), "n1: by 3 ms");
        let skew = StartSkew { interval_ns: Nanos::from_secs(1), hosts: vec![host(-90_000_000), host(70_000_000)] };
        assert_eq!(StartSkew::title(&[&skew]), "host n1 began 90.0 ms too early");
        assert_eq!(skew.evidence(), "n1: 90.0 ms too early, n1: 70.0 ms too late");
    }
}
