//! One line of a recording: an event of a block request, or something else.
//!
//! In: nothing; the parsers of the formats make these. Out: what a recording is built from. Limits: the letters of a request are those of
//! the kernel's `blk_fill_rwbs` (kernel/trace/blktrace.c), which both formats print.

/// The number of a block device: major and minor.
pub(super) type DeviceNumber = (u32, u32);

/// What a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordedLine {
    /// It is no line of this format.
    Foreign,
    /// It belongs to the format, and is no event of a request that is counted.
    Ignored,
    /// From here on there are figures for people and no events.
    Figures,
    /// So many events are missing here.
    Lost(u64),
    Event(BlockEvent),
}

/// An event of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockEvent {
    pub(super) at_ns: u64,
    pub(super) device: DeviceNumber,
    pub(super) stage: Stage,
    pub(super) request: BlockRequest,
}

/// How far a request has come. A recording may hold several events of each request, of which those of the last stage count: they are what
/// the device saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// The caller asked for it: `Q`, `block_bio_queue`.
    Queued,
    /// It waits in the scheduler: `I`, `block_rq_insert`.
    Inserted,
    /// The driver has it: `D`, `block_rq_issue`.
    Issued,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockRequest {
    Transfer { what: Transfer, flush_before: bool, sector: u64, sectors: u64 },
    Flush,
    Discard,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transfer {
    Read,
    Write,
    WriteFua,
}

impl BlockRequest {
    /// The request with these letters: an F before the operation asks for a flush first, one behind it for FUA.
    pub(super) fn from_letters(letters: &str, sector: u64, sectors: u64) -> Result<BlockRequest, String> {
        let flush_before = letters.starts_with('F');
        let operation = if flush_before { &letters[1..] } else { letters };
        let is_fua = operation.chars().skip(1).any(|letter| letter == 'F');
        let transfer = |what| BlockRequest::Transfer { what, flush_before, sector, sectors };
        Ok(match operation.chars().next() {
            None | Some('F') if flush_before => BlockRequest::Flush,
            Some('N') if flush_before => BlockRequest::Flush,
            Some('R' | 'W') if sectors == 0 && flush_before => BlockRequest::Flush,
            Some('R' | 'W') if sectors == 0 => BlockRequest::Other,
            Some('R') => transfer(Transfer::Read),
            Some('W') if is_fua => transfer(Transfer::WriteFua),
            Some('W') => transfer(Transfer::Write),
            Some('D') => BlockRequest::Discard,
            Some('N' | 'Z') => BlockRequest::Other,
            _ => return Err(format!("{} are no letters of a request, such as `WS`", quoted(letters))),
        })
    }
}

/// `MAJOR,MINOR`.
pub(super) fn parse_device(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once(',')?;
    Some((parse_digits(major)?, parse_digits(minor)?))
}

/// A number of digits alone: `parse` takes a sign as well.
pub(super) fn parse_digits<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Seconds with microseconds or nanoseconds, as nanoseconds.
pub(super) fn parse_time(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    let digits = u32::try_from(fraction.len()).ok().filter(|digits| matches!(digits, 6..=9))?;
    let fraction: u64 = parse_digits(fraction)?;
    parse_digits::<u64>(seconds)?.checked_mul(1_000_000_000)?.checked_add(fraction * 10u64.pow(9 - digits))
}

/// A word of a recording for a message: short, and without control characters.
pub(super) fn quoted(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    let short: String = text.chars().take(CHARS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().count() > CHARS_MAX { format!("`{short}...`") } else { format!("`{short}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_read_as_the_kernel_writes_them() {
        let read = |letters: &str| BlockRequest::from_letters(letters, 8, 16).unwrap();
        let transfer = |what, flush_before| BlockRequest::Transfer { what, flush_before, sector: 8, sectors: 16 };
        for letters in ["R", "RA", "RS", "RSM", "RM"] {
            assert_eq!(read(letters), transfer(Transfer::Read, false), "{letters}");
        }
        for letters in ["W", "WS", "WSM", "WM", "WSU"] {
            assert_eq!(read(letters), transfer(Transfer::Write, false), "{letters}");
        }
        assert_eq!(read("WFS"), transfer(Transfer::WriteFua, false));
        assert_eq!(read("FWFSM"), transfer(Transfer::WriteFua, true));
        assert_eq!(read("FWS"), transfer(Transfer::Write, true));
        for letters in ["FF", "F", "FN"] {
            assert_eq!(read(letters), BlockRequest::Flush, "{letters}");
        }
        assert_eq!(BlockRequest::from_letters("FWS", 0, 0), Ok(BlockRequest::Flush));
        assert_eq!([read("D"), read("DS"), read("DE")], [BlockRequest::Discard; 3]);
        assert_eq!([read("N"), read("ZA"), read("NS")], [BlockRequest::Other; 3]);
        assert_eq!(BlockRequest::from_letters("WS", 0, 0), Ok(BlockRequest::Other));
        for letters in ["", "X", "w", "12"] {
            assert!(BlockRequest::from_letters(letters, 0, 8).is_err(), "{letters}");
        }
    }

    #[test]
    fn times_have_microseconds_or_nanoseconds() {
        assert_eq!(parse_time("13610.312656"), Some(13_610_312_656_000));
        assert_eq!(parse_time("0.000000697"), Some(697));
        for text in ["", "1", "1.5", "-1.000000", "1.0000000001", "99999999999999.000000", "1.00000x", "+1.000000"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}
