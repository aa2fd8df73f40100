//! Two recordings of block requests, compared: what a disk got again of what it had got before.
//!
//! In: traces of tracefs, with the event `block_rq_issue`. Out: requests and bytes of each, how many came in the same order, and how far their
//! times are apart. Limits: requests are known by sort and size, not by place: a file has other places than the disk that was recorded.

use super::statistics::median;

/// What is asked of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestSort {
    Read,
    Write,
    Flush,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedRequest {
    pub at_ns: u64,
    pub sort: RequestSort,
    pub bytes: u64,
}

impl TracedRequest {
    fn is_like(&self, other: &TracedRequest) -> bool {
        (self.sort, self.bytes) == (other.sort, other.bytes)
    }
}

/// The requests in `trace`, in its order.
pub fn requests_in(trace: &str) -> Vec<TracedRequest> {
    trace.lines().filter_map(request_of).collect()
}

/// `mariadbd-7 [000] ..... 14321.600152: block_rq_issue: 7,1 WS 8192 () 280904 + 16 be,0,4 [mariadbd]`
fn request_of(line: &str) -> Option<TracedRequest> {
    let (before, after) = line.split_once(": block_rq_issue: ")?;
    let (seconds, fraction) = before.rsplit(' ').next()?.split_once('.')?;
    let at_ns = seconds.parse::<u64>().ok()? * 1_000_000_000 + format!("{fraction:0<9}").parse::<u64>().ok()?;
    let mut fields = after.split_whitespace().skip(1);
    let (flags, bytes) = (fields.next()?, fields.next()?.parse().ok()?);
    let sort = match flags {
        flags if flags.contains('W') => RequestSort::Write,
        flags if flags.contains('R') => RequestSort::Read,
        flags if flags.contains('F') => RequestSort::Flush,
        _ => return None,
    };
    Some(TracedRequest { at_ns, sort, bytes })
}

/// How many of each sort.
pub fn count_of(requests: &[TracedRequest], sort: RequestSort) -> u64 {
    requests.iter().filter(|request| request.sort == sort).count() as u64
}

/// The bytes of all of a sort.
pub fn bytes_of(requests: &[TracedRequest], sort: RequestSort) -> u64 {
    requests.iter().filter(|request| request.sort == sort).map(|request| request.bytes).sum()
}

/// What is the same in a recording and in that of its replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceMatch {
    /// The share of the recorded reads and writes that came again in the same order.
    pub in_order: f64,
    /// How far the times of these are apart, in nanoseconds: the median.
    pub error_p50_ns: f64,
    pub error_p99_ns: f64,
    pub error_max_ns: f64,
}

/// A request that does not come again within so many others counts as missing. Few, because of many requests of one size another would be
/// taken for it.
const LOOK_AHEAD: usize = 16;

/// Compares `again`, a replay at `speed`, with what was `recorded`; `None` if nothing came again.
pub fn compare(recorded: &[TracedRequest], again: &[TracedRequest], speed: f64) -> Option<TraceMatch> {
    let (recorded, again) = (transfers(recorded), transfers(again));
    let pairs = matched(&recorded, &again);
    let (first, first_again) = *pairs.first()?;
    let offsets = pairs.iter().map(|(one, other)| {
        let due_ns = (one.at_ns - first.at_ns) as f64 / speed;
        (other.at_ns - first_again.at_ns) as f64 - due_ns
    });
    // The first request may have been late itself: the replay began when half of them are late, and half early.
    let offsets: Vec<f64> = offsets.collect();
    let begun_ns = median(offsets.iter().copied());
    let mut errors: Vec<f64> = offsets.iter().map(|offset| (offset - begun_ns).abs()).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| errors[((errors.len() as f64 * share).ceil() as usize).clamp(1, errors.len()) - 1];
    Some(TraceMatch {
        in_order: pairs.len() as f64 / recorded.len() as f64,
        error_p50_ns: at(0.5),
        error_p99_ns: at(0.99),
        error_max_ns: at(1.0),
    })
}

/// Reads and writes: the kernel joins flushes that wait for each other.
fn transfers(requests: &[TracedRequest]) -> Vec<TracedRequest> {
    requests.iter().copied().filter(|request| request.sort != RequestSort::Flush).collect()
}

/// The recorded requests that came again, with what they were then: for each the next one that is like it.
fn matched(recorded: &[TracedRequest], again: &[TracedRequest]) -> Vec<(TracedRequest, TracedRequest)> {
    let (mut pairs, mut next) = (Vec::new(), 0);
    for one in recorded {
        let ahead = &again[next..again.len().min(next + LOOK_AHEAD)];
        if let Some(skipped) = ahead.iter().position(|other| one.is_like(other)) {
            pairs.push((*one, ahead[skipped]));
            next += skipped + 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "\
        mariadbd-20551   [000] ..... 14321.600152: block_rq_issue: 7,1 WS 8192 () 280904 + 16 be,0,4 [mariadbd]
     ksoftirqd/1-22      [001] ..s.. 14321.600233: block_rq_complete: 7,1 WS () 280904 + 16 be,0,4 [0]
     kworker/1:2H-22791   [001] ..... 14321.600437: block_rq_issue: 7,1 FF 0 () 0 + 0 none,0,0 [kworker/1:2H]
        mariadbd-20551   [000] ..... 14321.602: block_rq_issue: 7,1 RA 4096 () 8 + 8 [mariadbd]
";

    fn request(at_us: u64, bytes: u64) -> TracedRequest {
        TracedRequest { at_ns: at_us * 1_000, sort: RequestSort::Write, bytes }
    }

    #[test]
    fn requests_have_their_times_sorts_and_sizes() {
        let found = requests_in(TRACE);
        let expected = [
            (14_321_600_152_000, RequestSort::Write, 8192),
            (14_321_600_437_000, RequestSort::Flush, 0),
            (14_321_602_000_000, RequestSort::Read, 4096),
        ];
        assert_eq!(found.iter().map(|it| (it.at_ns, it.sort, it.bytes)).collect::<Vec<_>>(), expected);
        assert_eq!((count_of(&found, RequestSort::Write), bytes_of(&found, RequestSort::Read)), (1, 4096));
    }

    #[test]
    fn a_replay_at_twice_the_speed_has_half_of_the_distances() {
        let recorded: Vec<_> = (0..100).map(|nth| request(1_000 * nth, 512 * (1 + nth % 7))).collect();
        let again: Vec<_> = (0..100).map(|nth| request(9_000_000 + 500 * nth, 512 * (1 + nth % 7))).collect();
        let same = compare(&recorded, &again, 2.0).unwrap();
        assert_eq!((same.in_order, same.error_max_ns), (1.0, 0.0));
        assert!(compare(&recorded, &again, 1.0).unwrap().error_max_ns > 20e6);
    }

    #[test]
    fn what_is_missing_or_late_or_out_of_order_is_counted() {
        let recorded: Vec<_> = (0..200).map(|nth| request(1_000 * nth, 512 * (1 + nth))).collect();
        let mut again = recorded.clone();
        again.remove(50);
        again.swap(100, 101);
        again[120].at_ns += 300_000;
        let found = compare(&recorded, &again, 1.0).unwrap();
        assert!((found.in_order - 198.0 / 200.0).abs() < 1e-9, "{found:?}");
        assert_eq!((found.error_p50_ns, found.error_max_ns), (0.0, 300_000.0));
        assert_eq!(compare(&recorded, &[], 1.0), None);
    }
}
