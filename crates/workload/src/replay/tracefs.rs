//! The text of the kernel's tracefs: `trace` and `trace_pipe` with the events of block requests.
//!
//! In: lines `COMMAND-PID [CPU] FLAGS SECONDS: EVENT: FIELDS`. Out: events. Limits: the fields of `block_rq_issue`, `block_rq_insert` and
//! `block_bio_queue` as Linux 4.18 and later print them (include/trace/events/block.h); with an I/O priority behind the sectors or without
//! it. Other events are skipped. A trace whose clock counts no seconds is refused.

use super::request::{BlockEvent, BlockRequest, RecordedLine, Stage, parse_device, parse_digits, parse_time, quoted};

pub(super) fn parse_line(line: &str) -> Result<RecordedLine, String> {
    let trimmed = line.trim_start();
    if trimmed.is_empty() {
        return Ok(RecordedLine::Ignored);
    }
    if let Some(comment) = trimmed.strip_prefix('#') {
        // Only the first of them is not found in files of other kinds.
        return Ok(if comment.starts_with(" tracer:") { RecordedLine::Ignored } else { RecordedLine::Foreign });
    }
    if let Some(lost) = parse_lost(trimmed) {
        return Ok(RecordedLine::Lost(lost));
    }
    let Some((before, event, fields)) = split_event(line) else { return Ok(RecordedLine::Foreign) };
    let stage = match event {
        "block_bio_queue" => Stage::Queued,
        "block_rq_insert" => Stage::Inserted,
        "block_rq_issue" => Stage::Issued,
        _ => return Ok(RecordedLine::Ignored),
    };
    let time = before.split_ascii_whitespace().next_back().unwrap_or("");
    let at_ns = parse_time(time).ok_or_else(|| {
        format!("{} is no time in seconds; record with the clock `mono` or `local` (trace_clock)", quoted(time))
    })?;
    let (device, request) = parse_fields(fields, stage)?;
    Ok(RecordedLine::Event(BlockEvent { at_ns, device, stage, request }))
}

/// What is before the time's colon, the name of the event, and its fields. A command may hold anything, so the event is found by the number
/// before it.
fn split_event(line: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let colon = from + line[from..].find(": ")?;
        let (before, rest) = (&line[..colon], &line[colon + 2..]);
        from = colon + 2;
        let is_time = before.ends_with(|last: char| last.is_ascii_digit()) && before.contains('[');
        let name = rest.split_once(':').filter(|(name, _)| is_name(name));
        if let (true, Some((name, fields))) = (is_time, name) {
            return Some((before, name, fields));
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `254,0 WS 65536 () 175156848 + 128 be,0,4 [dd]`; without bytes and command if the request is only queued.
fn parse_fields(fields: &str, stage: Stage) -> Result<((u32, u32), BlockRequest), String> {
    let cut = || "the line is cut off".to_owned();
    let mut words = fields.split_ascii_whitespace();
    let device = words.next().ok_or_else(cut)?;
    let device = parse_device(device).ok_or_else(|| format!("{} is no number of a device", quoted(device)))?;
    let letters = words.next().ok_or_else(cut)?;
    if stage != Stage::Queued {
        let bytes = words.next().ok_or_else(cut)?;
        parse_digits::<u64>(bytes).ok_or_else(|| format!("{} is no number of bytes", quoted(bytes)))?;
        let command = words.next().ok_or_else(cut)?;
        if command != "()" {
            if !command.starts_with('(') {
                return Err(format!("{} should be a command in brackets", quoted(command)));
            }
            return if fields.contains(')') { Ok((device, BlockRequest::Other)) } else { Err(cut()) };
        }
    }
    let number = |text: &str| parse_digits(text).ok_or_else(|| format!("{} is no number of sectors", quoted(text)));
    let sector = number(words.next().ok_or_else(cut)?)?;
    match words.next().ok_or_else(cut)? {
        "+" => {}
        other => return Err(format!("{} should be `+`", quoted(other))),
    }
    let sectors = number(words.next().ok_or_else(cut)?)?;
    // The command ends the line: without it a number of sectors may be cut off.
    words.next().ok_or_else(cut)?;
    Ok((device, BlockRequest::from_letters(letters, sector, sectors)?))
}

/// `CPU:1 [LOST 123 EVENTS]`
fn parse_lost(line: &str) -> Option<u64> {
    let (_, lost) = line.strip_prefix("CPU:")?.split_once(" [LOST ")?;
    parse_digits(lost.split_once(" EVENTS]")?.0)
}

#[cfg(test)]
mod tests {
    use super::super::request::Transfer;
    use super::*;

    fn event(line: &str) -> BlockEvent {
        match parse_line(line) {
            Ok(RecordedLine::Event(event)) => event,
            other => panic!("{line}: {other:?}"),
        }
    }

    const ISSUE: &str = "              dd-11705   [000] ..... 13610.314687: block_rq_issue: 254,0 WS 65536 () 175156848 + 128 be,0,4 [dd]";

    #[test]
    fn lines_of_several_kernels_are_read() {
        let sector = 175_156_848;
        let request = BlockRequest::Transfer { what: Transfer::Write, flush_before: false, sector, sectors: 128 };
        let at_ns = 13_610_314_687_000;
        let expected = BlockEvent { at_ns, device: (254, 0), stage: Stage::Issued, request };
        assert_eq!(event(ISSUE), expected);
        // Linux 5.4, without the priority, and with the group of the process.
        let older =
            "a: b [1]-11 (  11) [000] d..1 13610.314687: block_rq_issue: 254,0 WS 65536 () 175156848 + 128 [a: b [1]]";
        assert_eq!(event(older), expected);
        let queued = "        client-0-20444   [000] ..... 14318.882011: block_bio_queue: 7,0 WS 14304 + 32 [client-0]";
        assert_eq!((event(queued).stage, event(queued).device), (Stage::Queued, (7, 0)));
        let flush = "    kworker/0:1H-44      [000] ..... 13610.315062: block_rq_issue: 254,0 FF 0 () 0 + 0 none,0,0 [kworker/0:1H]";
        assert_eq!(event(flush).request, BlockRequest::Flush);
        let command = "x-1 [0] . 1.000000: block_rq_issue: 8,0 N 36 (12 00 00 24) 0 + 0 none,0,0 [x]";
        assert_eq!(event(command).request, BlockRequest::Other);
        let done = "   ksoftirqd/1-22 [001] ..s.. 14318.882114: block_rq_complete: 7,0 WS () 14304 + 32 be,0,4 [0]";
        assert_eq!(parse_line(done), Ok(RecordedLine::Ignored));
        assert_eq!(parse_line("x-1 [0] . 1.000000: sched_switch: prev_comm=a"), Ok(RecordedLine::Ignored));
        assert_eq!(parse_line("CPU:1 [LOST 4711 EVENTS]"), Ok(RecordedLine::Lost(4711)));
        assert_eq!(parse_line("# tracer: nop"), Ok(RecordedLine::Ignored));
        assert_eq!(parse_line("# a comment"), Ok(RecordedLine::Foreign));
    }

    #[test]
    fn a_line_that_is_cut_off_anywhere_is_no_other_request() {
        for end in 0..ISSUE.len() - 1 {
            let cut = parse_line(&ISSUE[..end]);
            let same = matches!(cut, Ok(RecordedLine::Event(seen)) if seen == event(ISSUE));
            // Nothing of the request is missing if only the end of the command is.
            assert!(same || !matches!(cut, Ok(RecordedLine::Event(_))), "{}: {cut:?}", &ISSUE[..end]);
        }
    }

    #[test]
    fn a_clock_without_seconds_is_refused() {
        let error = parse_line("x-1 [0] . 712345678: block_rq_issue: 8,0 W 512 () 0 + 1 [x]").unwrap_err();
        assert_eq!(error, "`712345678` is no time in seconds; record with the clock `mono` or `local` (trace_clock)");
    }
}
