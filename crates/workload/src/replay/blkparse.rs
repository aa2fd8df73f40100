//! The text that blkparse prints of what blktrace recorded.
//!
//! In: lines in the default format of blkparse, `%D %2c %8s %5T.%9t %5p %2a %3d` and what follows for each action (blkparse(1)). Out:
//! events. Limits: with a format of its own (`-f`) it is refused. The figures at the end are skipped.

use super::request::{BlockEvent, BlockRequest, RecordedLine, Stage, parse_device, parse_digits, parse_time, quoted};

pub(super) fn parse_line(line: &str) -> Result<RecordedLine, String> {
    let mut words = line.split_ascii_whitespace();
    let Some(first) = words.next() else { return Ok(RecordedLine::Ignored) };
    let Some(device) = parse_device(first) else { return Ok(other_line(line)) };
    let [Some(_cpu), Some(_sequence), Some(time), Some(_pid), Some(action)] = std::array::from_fn(|_| words.next())
    else {
        return Ok(RecordedLine::Foreign);
    };
    let at_ns = parse_time(time).ok_or_else(|| format!("{} is no time in seconds", quoted(time)))?;
    let stage = match action {
        "Q" => Stage::Queued,
        "I" => Stage::Inserted,
        "D" => Stage::Issued,
        known if known.len() <= 2 && known.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            return Ok(RecordedLine::Ignored);
        }
        unknown => return Err(format!("{} is no action of blkparse, such as `D`", quoted(unknown))),
    };
    let letters = words.next().ok_or("the line is cut off behind the action")?;
    let request = parse_request(letters, words)?;
    Ok(RecordedLine::Event(BlockEvent { at_ns, device, stage, request }))
}

/// What follows the letters: `SECTOR + SECTORS [COMMAND]`, `BYTES (BYTES OF A COMMAND) [COMMAND]`, or `[COMMAND]` of a flush.
fn parse_request<'l>(letters: &str, mut words: impl Iterator<Item = &'l str>) -> Result<BlockRequest, String> {
    let (place, plus, count) = (words.next(), words.next(), words.next());
    let (Some(place), Some(plus)) = (place, plus) else {
        return match place {
            Some(command) if command.starts_with('[') => BlockRequest::from_letters(letters, 0, 0),
            _ => Err("the line is cut off behind the letters of the request".into()),
        };
    };
    if place.starts_with('[') {
        return BlockRequest::from_letters(letters, 0, 0);
    }
    if plus.starts_with('(') {
        return Ok(BlockRequest::Other);
    }
    let number = |text: &str| parse_digits(text).ok_or_else(|| format!("{} is no number of sectors", quoted(text)));
    match (plus, count) {
        ("+", Some(count)) if words.next().is_some() => {
            BlockRequest::from_letters(letters, number(place)?, number(count)?)
        }
        // The command ends the line: without it the number may be cut off, too.
        ("+", _) => Err("the line is cut off at the number of sectors".into()),
        // A flush of an older kernel has a number of bytes and a command.
        (command, _) if command.starts_with('[') => BlockRequest::from_letters(letters, 0, 0),
        (other, _) => Err(format!("{} should be `+`", quoted(other))),
    }
}

/// A line that does not begin with a device.
fn other_line(line: &str) -> RecordedLine {
    if ["CPU", "Total (", "Input file "].iter().any(|start| line.starts_with(start)) {
        RecordedLine::Figures
    } else {
        RecordedLine::Foreign
    }
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

    /// Lines as blkparse(1) and its sources have them.
    #[test]
    fn actions_of_blkparse_are_read() {
        let seen = event("  8,0    3       11     0.009507758   697  D   W 223490 + 56 [kjournald]");
        let what = BlockRequest::Transfer { what: Transfer::Write, flush_before: false, sector: 223_490, sectors: 56 };
        assert_eq!(seen, BlockEvent { at_ns: 9_507_758, device: (8, 0), stage: Stage::Issued, request: what });
        assert_eq!(event("259,12 0 7 12.000000001 0 Q RA 8 + 8 [a b]").stage, Stage::Queued);
        assert_eq!(event("8,0 0 7 1.000000001 0 I FWFSM 8 + 8 [a]").stage, Stage::Inserted);
        assert_eq!(event("8,0 1 2 0.001000000 0 D FN [(null)]").request, BlockRequest::Flush);
        assert_eq!(event("8,0 1 2 0.001000000 0 D FN 0 [kworker/0:1H]").request, BlockRequest::Flush);
        assert_eq!(event("8,0 1 2 0.001000000 0 D R 36 (12 00 00 00 24 00 ..) [hald]").request, BlockRequest::Other);
        for line in ["8,0 3 1 0.000000000 697 G W 223490 + 8 [k]", "8,0 3 0 0.000000000 0 m N cfq697 insert", ""] {
            assert_eq!(parse_line(line), Ok(RecordedLine::Ignored), "{line}");
        }
        assert_eq!(parse_line("8,0 3 9 0.1 0 C W 2 + 8 [0]"), Err("`0.1` is no time in seconds".into()));
        assert_eq!(parse_line("CPU0 (8,0):"), Ok(RecordedLine::Figures));
    }

    #[test]
    fn lines_that_are_cut_off_or_have_other_columns_are_refused_with_the_reason() {
        let whole = "8,0 3 11 0.009507758 697 D W 223490 + 56 [kjournald]";
        assert_eq!(parse_line(&whole[..20]), Ok(RecordedLine::Foreign));
        for (cut, why) in [
            (26, "behind the action"),
            (35, "behind the letters"),
            (37, "number of sectors"),
            (39, "number of sectors"),
        ] {
            let error = parse_line(&whole[..cut]).unwrap_err();
            assert!(error.contains(why), "{}: {error}", &whole[..cut]);
        }
        let big = "8,0 3 11 0.009507758 697 D W 99999999999999999999 + 56 [k]";
        assert_eq!(parse_line(big), Err("`99999999999999999999` is no number of sectors".into()));
        assert_eq!(
            parse_line("8,0 3 11 0.009507758 697 \u{1b}[2J W 8 + 8 [k]"),
            Err("`\\u{1b}[2J` is no action of blkparse, such as `D`".into())
        );
    }
}
