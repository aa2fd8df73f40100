//! Who uses the CPUs, and what the disk does, in lines of a page.
//!
//! In: the state of a view. Out: two or three lines, a line for each owner and direction, or fields for a narrow terminal. Limits: shares
//! are those of the last second.

use super::state::LiveState;
use super::words::{Looks, ScreenRow, TextTone};
use crate::output::progress::left::per_s;
use crate::output::progress::machine::{CpuUse, DiskUse, MachineUse};
use model::units::three_digits;
use ratatui::text::Line;

/// An owner of CPU time: its name, its share, its sign in the bar.
type Owner = (&'static str, f64, char, TextTone);

/// The shares of CPU with a bar, and the disk.
pub fn short_rows(state: &LiveState, looks: Looks, width: usize) -> Vec<ScreenRow> {
    let Some(MachineUse { cpu, disk }) = latest(state) else { return Vec::new() };
    let cpu = cpu.map(|cpu| [legend(&cpu, looks), bar(&cpu, looks, width)]);
    let disk = disk.map(|disk| looks.row(format!("disk  {}", disk_words(&disk, state)), TextTone::Plain));
    cpu.into_iter().flatten().chain(disk).collect()
}

/// A line for each owner and each direction of the disk.
pub fn long_rows(state: &LiveState, looks: Looks, width: usize) -> Vec<ScreenRow> {
    const NAME: usize = 20;
    const SHARE: usize = 8;
    let Some(MachineUse { cpu, disk }) = latest(state) else {
        return vec![looks.row("no counters were read yet", TextTone::Faint)];
    };
    let line = |name: &str, share: f64, sign: char, tone: TextTone| {
        let name = format!("{name:<NAME$}{:>5.1} %  ", 100.0 * share);
        let bar = looks.bar(width.saturating_sub(NAME + SHARE + 1), &[(share, sign, tone)]);
        Line::from([looks.span(name, TextTone::Plain)].into_iter().chain(bar).collect::<Vec<_>>())
    };
    let mut rows = Vec::new();
    if let Some(cpu) = cpu {
        rows.push(looks.row("share of all CPUs", TextTone::Faint));
        rows.extend(owners(&cpu, looks).into_iter().map(|(name, share, sign, tone)| line(name, share, sign, tone)));
    }
    if let Some(disk) = disk {
        rows.push(looks.row("disk", TextTone::Faint));
        rows.push(line("busy", disk.busy, looks.full(), TextTone::Drawn));
        rows.extend(
            state.ceilings.share_of(&disk).map(|share| line("of its best rate", share, looks.full(), TextTone::Drawn)),
        );
        let flow =
            |name: &str, per: f64, bytes: f64| format!("{name:<NAME$}{:>7}/s  {}", per_s(per), bytes_per_s(bytes));
        rows.push(looks.row(flow("reads", disk.reads_per_s, disk.read_bytes_per_s), TextTone::Plain));
        rows.push(looks.row(flow("writes", disk.writes_per_s, disk.write_bytes_per_s), TextTone::Plain));
    }
    rows
}

/// Name and text of a line each, in `width` columns.
pub fn fields(state: &LiveState, width: usize) -> Vec<(&'static str, String)> {
    let Some(MachineUse { cpu, disk }) = latest(state) else { return vec![("CPU", "-".into()), ("disk", "-".into())] };
    let cpu = cpu.map_or_else(
        || "-".into(),
        |cpu| {
            let owners = owners(&cpu, Looks { colour: false, is_unicode: false });
            let mut used: Vec<&Owner> = owners.iter().filter(|(_, share, ..)| *share >= 0.005).collect();
            used.sort_by(|a, b| b.1.total_cmp(&a.1));
            let parts = used.iter().map(|(name, share, ..)| format!("{name} {:.0} %", 100.0 * share));
            parts
                .reduce(|all, part| if all.len() + part.len() + 2 <= width { format!("{all}, {part}") } else { all })
                .unwrap_or_else(|| "idle".into())
        },
    );
    let disk = disk.map_or_else(
        || "-".into(),
        |disk| match state.ceilings.share_of(&disk) {
            Some(share) => format!("{:.0} % of its best rate", 100.0 * share),
            None => format!(
                "busy {:.0} %, {}",
                100.0 * disk.busy,
                bytes_per_s(disk.read_bytes_per_s + disk.write_bytes_per_s)
            ),
        },
    );
    vec![("CPU", cpu), ("disk", disk)]
}

/// `55.2 MB/s`
pub fn bytes_per_s(bytes: f64) -> String {
    format!("{} MB/s", three_digits(bytes / 1e6))
}

fn latest(state: &LiveState) -> Option<MachineUse> {
    // The counters may be read a moment after the clients are.
    state.seconds.iter().rev().take(3).flatten().find_map(|second| second.machine)
}

fn owners(cpu: &CpuUse, looks: Looks) -> Vec<Owner> {
    let signs = if looks.is_unicode { ['█', '▓', '▒', '░'] } else { ['#', '=', 'o', '!'] };
    let own = if cpu.is_embedded { "plimsoll and engine" } else { "plimsoll" };
    let engine = cpu.engine.map(|share| ("engine", share, signs[0], TextTone::Good));
    let others = [
        (own, cpu.plimsoll, signs[1], TextTone::Drawn),
        ("others", cpu.others, signs[2], TextTone::Caution),
        ("steal", cpu.steal, signs[3], TextTone::Bad),
    ];
    engine.into_iter().chain(others).collect()
}

/// `CPU  █ engine 52 %  ▓ plimsoll 12 %  ▒ others 3 %  ░ steal 0 %  idle 33 %`
fn legend(cpu: &CpuUse, looks: Looks) -> ScreenRow {
    let parts = owners(cpu, looks).into_iter().flat_map(|(name, share, sign, tone)| {
        [looks.span(sign.to_string(), tone), looks.span(format!(" {name} {:.0} %  ", 100.0 * share), TextTone::Plain)]
    });
    let idle = looks.span(format!("idle {:.0} %", 100.0 * cpu.idle), TextTone::Faint);
    Line::from([looks.span("CPU   ", TextTone::Plain)].into_iter().chain(parts).chain([idle]).collect::<Vec<_>>())
}

fn bar(cpu: &CpuUse, looks: Looks, width: usize) -> ScreenRow {
    let parts: Vec<(f64, char, TextTone)> =
        owners(cpu, looks).into_iter().map(|(_, share, sign, tone)| (share, sign, tone)).collect();
    let bar = looks.bar(width.saturating_sub(6), &parts);
    Line::from([looks.span("      ", TextTone::Plain)].into_iter().chain(bar).collect::<Vec<_>>())
}

/// `reads 55.2 MB/s  writes 3.10 MB/s  busy 82 %  79 % of its best rate`
fn disk_words(disk: &DiskUse, state: &LiveState) -> String {
    let (read, written) = (bytes_per_s(disk.read_bytes_per_s), bytes_per_s(disk.write_bytes_per_s));
    let best = state.ceilings.share_of(disk);
    let best = best.map_or_else(String::new, |share| format!("  {:.0} % of its best rate", 100.0 * share));
    format!("reads {read}  writes {written}  busy {:.0} %{best}", 100.0 * disk.busy)
}
