//! What a disk carries of the I/O of a point, in words.
//!
//! In: a [`ReplayUse`], the label of the point. Out: a sentence, and the mix. Limits: the label is quoted as it was recorded.

use super::quantity::{bytes, percent, rate};
use analysis::recorded::ceiling::ReplayUse;
use analysis::recorded::io_shape::IoShape;

/// `sqlite oltp used 38 % of what this disk carries of that very mix: 1.20k/s of 3.15k/s.`
pub fn ceiling_sentence(label: &str, found: &ReplayUse) -> String {
    let (used, carries) = (rate(found.used.ios_per_s()), rate(found.ceiling.ios_per_s()));
    let mix = mix_phrase(&found.used);
    match found.share <= 1.0 {
        true => {
            let share = percent(found.share);
            format!("{label} used {share} of what this disk carries of that very mix: {used} of {carries} ({mix}).")
        }
        // What follows one another is faster than the places of a replay.
        false => format!("{label} did {used}, and the replay of that very mix at places of its own {carries} ({mix})."),
    }
}

/// `60 % reads, 16.4 KB each, 4 in flight, a flush every 3 writes`.
pub fn mix_phrase(shape: &IoShape) -> String {
    let kinds = match shape.read_share() {
        share if share >= 1.0 => "reads".to_owned(),
        share if share <= 0.0 => "writes".to_owned(),
        share => format!("{} reads", percent(share)),
    };
    let flushes = match shape.writes_per_flush() {
        Some(1) => ", a flush after each write".to_owned(),
        Some(writes) => format!(", a flush every {writes} writes"),
        None => String::new(),
    };
    format!("{kinds} of {} each, {} in flight{flushes}", bytes(shape.block_bytes() as f64), shape.whole_in_flight())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(reads_per_s: f64, writes_per_s: f64, flushes_per_s: f64) -> IoShape {
        let [read_bytes_per_s, write_bytes_per_s] = [reads_per_s, writes_per_s].map(|ios| ios * 16_384.0);
        let (flushes_per_s, in_flight) = (Some(flushes_per_s), Some(4.2));
        IoShape { reads_per_s, writes_per_s, read_bytes_per_s, write_bytes_per_s, flushes_per_s, in_flight }
    }

    #[test]
    fn the_share_and_the_mix_are_told_in_one_sentence() {
        let found = ReplayUse::new(shape(600.0, 400.0, 100.0), shape(1900.0, 100.0, 0.0));
        assert_eq!(
            ceiling_sentence("sqlite oltp", &found),
            "sqlite oltp used 50 % of what this disk carries of that very mix: 1.00k/s of 2.00k/s (60 % reads of 16.4 KB \
             each, 4 in flight, a flush every 4 writes)."
        );
        let more = ReplayUse::new(shape(0.0, 2000.0, 2000.0), shape(0.0, 1000.0, 0.0));
        assert_eq!(
            ceiling_sentence("x", &more),
            "x did 2.00k/s, and the replay of that very mix at places of its own 1.00k/s (writes of 16.4 KB each, 4 in \
             flight, a flush after each write)."
        );
    }
}
