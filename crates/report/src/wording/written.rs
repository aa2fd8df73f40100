//! Whose count of the bytes written a table shows, and why it shows none.
//!
//! In: analysed points. Out: a sentence for each account among them, with the points that it is for if there are several.
//! Limits: points whose writes nothing counted are in no sentence.

use super::label::point_label;
use super::quantity::percent;
use analysis::{ByteAccount, OpCost, PointAnalysis, UnknownWritten, WriteAccounts};
use model::WritePath;
use std::collections::BTreeSet;

/// What is known of the bytes written in all of `points`.
pub fn written_sentences(points: &[&PointAnalysis]) -> Vec<String> {
    let mut groups: Vec<(Shown, Vec<&PointAnalysis>)> = Vec::new();
    for point in points {
        let Some(shown) = Shown::of(point) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == shown) {
            Some((_, alike)) => alike.push(point),
            None => groups.push((shown, vec![point])),
        }
    }
    let is_alone = groups.len() == 1;
    let about = |alike: &[&PointAnalysis]| if is_alone { String::new() } else { about(alike, points) };
    groups.iter().map(|(shown, alike)| shown.sentence(alike, &about(alike))).collect()
}

/// ` (sqlite)`: which of `all` points a sentence is about. Engines name them if these have no other points, else some of their labels.
fn about(points: &[&PointAnalysis], all: &[&PointAnalysis]) -> String {
    const NAMED_MAX: usize = 3;
    let own: BTreeSet<&str> = points.iter().map(|point| point.engine.as_str()).collect();
    let others = all.iter().filter(|other| points.iter().all(|point| point.id != other.id));
    let others: BTreeSet<&str> = others.map(|point| point.engine.as_str()).collect();
    if own.is_disjoint(&others) {
        return format!(" ({})", own.into_iter().collect::<Vec<_>>().join(", "));
    }
    let mut named: Vec<String> = points.iter().take(NAMED_MAX).map(|point| point_label(point)).collect();
    let more = points.len().saturating_sub(NAMED_MAX);
    named.extend((more > 0).then(|| format!("{more} more")));
    format!(" ({})", named.join(", "))
}

/// What a table shows of a point's writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Account(ByteAccount),
    /// What the processes were charged, although it is not known how the engine writes.
    MaybeTooMuch,
    Nothing(UnknownWritten),
}

impl Shown {
    fn of(point: &PointAnalysis) -> Option<Shown> {
        let cost = cost_of(point)?;
        let is_unsure = point.traits.engine.writes == WritePath::Unknown;
        let shown = cost.written_account.map(|account| match account {
            ByteAccount::Process if is_unsure => Shown::MaybeTooMuch,
            known => Shown::Account(known),
        });
        shown.or(cost.written_unknown.map(Shown::Nothing))
    }

    fn sentence(self, points: &[&PointAnalysis], about: &str) -> String {
        match self {
            Shown::Account(account) => format!("Bytes written{about}: {}.", account_sentence(account, points)),
            Shown::MaybeTooMuch => format!(
                "Bytes written{about}: {}; too much if the engine writes through the page cache, which is not known.",
                account_sentence(ByteAccount::Process, points)
            ),
            Shown::Nothing(why) => format!("Bytes written{about}: not shown, because {}.", why_unknown(why)),
        }
    }
}

fn account_sentence(account: ByteAccount, points: &[&PointAnalysis]) -> String {
    match account {
        ByteAccount::Volume => {
            let text = "those of the device of the point's own volume";
            match file_system_share(points, |accounts| accounts.device_bytes) {
                Some(share) => format!("{text}, of which the file system wrote {share} for itself (journal, inodes)"),
                None => format!("{text}, with the journal of its file system"),
            }
        }
        ByteAccount::Process => {
            let text = "those that the kernel charged the engine's processes";
            match file_system_share(points, |accounts| accounts.process_bytes) {
                Some(share) => format!("{text}; the file system wrote {share} as much for itself (journal, inodes)"),
                None => text.into(),
            }
        }
        ByteAccount::Engine => "those that the engine counts, because no other count can be believed".into(),
        ByteAccount::Device => {
            let most = points.iter().filter_map(|point| share_of_others(cost_of(point)?)).fold(0.0, f64::max);
            let text = "those of the disk without the writes of other processes, which were at most";
            format!("{text} {} of all", percent(most))
        }
    }
}

fn why_unknown(why: UnknownWritten) -> &'static str {
    match why {
        UnknownWritten::NoDevice => "the data is on no block device whose counters can be read",
        UnknownWritten::NotSynced => "the page cache was not written to the disk at the end of the point",
        UnknownWritten::OthersUnknown => "it is not known what other processes wrote to the same disk; use `--fs`",
        UnknownWritten::OthersWrote => {
            "other processes wrote more than a tenth of what the disk wrote; stop them, measure longer, or use `--fs`"
        }
    }
}

/// What the file systems of `points` wrote for themselves, as a share of what `whole` takes: of one point, or the largest of several.
/// `None` if it is not known or next to nothing.
fn file_system_share(points: &[&PointAnalysis], whole: impl Fn(&WriteAccounts) -> Option<f64>) -> Option<String> {
    const SHARE_MIN: f64 = 0.01;
    let share = |point: &&PointAnalysis| {
        let cost = cost_of(point)?;
        cost.file_system_bytes.zip(whole(&cost.written_accounts)).map(|(own, all)| own / all.max(1.0))
    };
    let most = points.iter().filter_map(share).fold(0.0, f64::max);
    let prefix = if points.len() == 1 { "" } else { "up to " };
    (most >= SHARE_MIN).then(|| format!("{prefix}{}", percent(most)))
}

fn cost_of(point: &PointAnalysis) -> Option<&OpCost> {
    Some(&point.summary.as_ref()?.cost)
}

fn share_of_others(cost: &OpCost) -> Option<f64> {
    let accounts = cost.written_accounts;
    let (others, all) = accounts.others_bytes.zip(accounts.device_bytes)?;
    (all > 0.0).then(|| others / all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::quick;
    use analysis::Analysis;

    fn sentences(analysis: &Analysis) -> Vec<String> {
        written_sentences(&analysis.points.iter().collect::<Vec<_>>())
    }

    /// Two points; the first is shown as `first`, the second by its processes.
    fn two(first: Option<ByteAccount>, why: Option<UnknownWritten>) -> Analysis {
        let mut analysis = quick();
        analysis.points.truncate(2);
        for point in &mut analysis.points {
            point.summary.as_mut().unwrap().cost.written_account = Some(ByteAccount::Process);
            point.traits.engine.writes = WritePath::Direct;
        }
        let cost = &mut analysis.points[0].summary.as_mut().unwrap().cost;
        (cost.written_account, cost.written_unknown) = (first, why);
        cost.written_accounts =
            WriteAccounts { device_bytes: Some(200.0), others_bytes: Some(6.0), ..WriteAccounts::default() };
        analysis
    }

    #[test]
    fn one_account_for_all_points_needs_no_labels() {
        let all = sentences(&two(Some(ByteAccount::Process), None));
        assert_eq!(all, ["Bytes written: those that the kernel charged the engine's processes."]);
        let mut old = two(Some(ByteAccount::Process), None);
        old.points.iter_mut().for_each(|point| point.traits.engine.writes = WritePath::Unknown);
        assert!(
            sentences(&old)[0].ends_with("too much if the engine writes through the page cache, which is not known.")
        );
        let mut uncounted = two(None, None);
        uncounted.points.truncate(1);
        assert!(sentences(&uncounted).is_empty());
    }

    #[test]
    fn points_are_named_with_their_account_its_bound_or_why_there_is_none() {
        let shared = two(Some(ByteAccount::Device), None);
        let label = point_label(&shared.points[0]);
        let text = "those of the disk without the writes of other processes, which were at most 3.0 % of all.";
        assert_eq!(sentences(&shared)[0], format!("Bytes written ({label}): {text}"));
        let unknown = sentences(&two(None, Some(UnknownWritten::NoDevice)));
        assert!(unknown[0].contains("not shown, because the data is on no block device"), "{unknown:?}");
    }

    #[test]
    fn what_the_file_system_writes_for_itself_is_named_and_not_doubted() {
        let mut analysis = quick();
        analysis.points.truncate(2);
        for (point, own) in analysis.points.iter_mut().zip([6e6, 3e6]) {
            let cost = &mut point.summary.as_mut().unwrap().cost;
            cost.written_account = Some(ByteAccount::Volume);
            cost.file_system_bytes = Some(own);
            cost.written_accounts =
                WriteAccounts { device_bytes: Some(8e6), process_bytes: Some(2e6), ..WriteAccounts::default() };
        }
        let of_volume = "of which the file system wrote up to 75 % for itself (journal, inodes).";
        assert!(sentences(&analysis)[0].ends_with(of_volume), "{:?}", sentences(&analysis));
        analysis.points.truncate(1);
        analysis.points[0].summary.as_mut().unwrap().cost.written_account = Some(ByteAccount::Process);
        analysis.points[0].traits.engine.writes = WritePath::Append;
        let on_top = "; the file system wrote 300 % as much for itself (journal, inodes).";
        assert!(sentences(&analysis)[0].ends_with(on_top), "{:?}", sentences(&analysis));
        analysis.points[0].summary.as_mut().unwrap().cost.file_system_bytes = Some(1e3);
        assert!(sentences(&analysis)[0].ends_with("the engine's processes."), "next to nothing");
    }
}
