//! Columns of numbers as short text that a script unpacks in one pass.
//!
//! In: times in seconds, or values. Out: text of letters, digits, `+`, `/`, `.` and `~`. Limits: times are rounded to milliseconds, values
//! to 12 bits of their fraction.
//!
//! A column is a series of whole numbers. Each is written as in source maps (ECMA-426, base64 VLQ): the sign is the lowest bit, then five
//! bits to a letter, the lowest first, and the sixth bit is set if more letters follow. `.` is a value that is missing; `~` and a number
//! repeat what is before it so many times. Times are differences of differences, which are 0 for a steady interval. A value becomes the upper
//! bits of its 32-bit float, which grow with it, and of those the differences are written: they are small if the value changes by little.

/// Bits of a 32-bit float that are left out.
const BITS_LEFT_OUT: u32 = 11;
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// It is a million years.
const MOST_S: f64 = 3.2e13;

/// A number of a column, or none.
type PackedItem = Option<i64>;

/// Seconds, in order or not.
pub fn pack_times(seconds: impl Iterator<Item = f64>) -> String {
    let (mut last, mut last_step) = (0, 0);
    let items = seconds.map(|at_s| {
        // Beyond that no difference of differences could overflow.
        let ms = (at_s.clamp(-MOST_S, MOST_S) * 1e3).round() as i64;
        let step = ms - last;
        let change = step - last_step;
        (last, last_step) = (ms, step);
        Some(change)
    });
    write_items(items)
}

/// Values; one that is not finite is missing.
pub fn pack_values(values: impl Iterator<Item = f64>) -> String {
    let mut last = 0;
    let items = values.map(|value| {
        let code = value.is_finite().then(|| float_code(value))?;
        let step = code - last;
        last = code;
        Some(step)
    });
    write_items(items)
}

fn float_code(value: f64) -> i64 {
    let bits = (value.abs() as f32).min(f32::MAX).to_bits();
    let half = 1 << (BITS_LEFT_OUT - 1);
    let code = i64::from((bits + half) >> BITS_LEFT_OUT);
    if value < 0.0 { -code } else { code }
}

fn write_items(items: impl Iterator<Item = PackedItem>) -> String {
    let mut out = String::new();
    let (mut last, mut repeats) = (None, 0);
    for item in items {
        if last == Some(item) {
            repeats += 1;
            continue;
        }
        write_repeats(&mut out, last, repeats);
        write_item(&mut out, item);
        (last, repeats) = (Some(item), 0);
    }
    write_repeats(&mut out, last, repeats);
    out
}

/// What is before, `repeats` times more: spelled out, if that is shorter.
fn write_repeats(out: &mut String, last: Option<PackedItem>, repeats: i64) {
    let mut once = String::new();
    write_item(&mut once, last.flatten());
    let mut short = "~".to_owned();
    write_item(&mut short, Some(repeats));
    if once.len() as i64 * repeats <= short.len() as i64 {
        out.extend((0..repeats).map(|_| once.as_str()))
    } else {
        out.push_str(&short)
    }
}

fn write_item(out: &mut String, item: PackedItem) {
    let Some(number) = item else { return out.push('.') };
    let mut rest = number.unsigned_abs() << 1 | u64::from(number < 0);
    loop {
        let (five, more) = (rest & 31, rest >> 5);
        let letter = five | if more > 0 { 32 } else { 0 };
        out.push(char::from(LETTERS[letter as usize]));
        rest = more;
        if rest == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the script does it.
    fn read_items(text: &str) -> Vec<PackedItem> {
        let (mut items, mut number, mut shift, mut is_repeat) = (Vec::<PackedItem>::new(), 0u64, 0, false);
        for letter in text.bytes() {
            match letter {
                b'.' => items.push(None),
                b'~' => is_repeat = true,
                _ => {
                    let bits = LETTERS.iter().position(|known| *known == letter).expect("a letter") as u64;
                    number |= (bits & 31) << shift;
                    shift += 5;
                    if bits < 32 {
                        let value = (number >> 1) as i64 * if number & 1 == 1 { -1 } else { 1 };
                        if is_repeat {
                            items.extend(vec![*items.last().expect("an item"); value as usize])
                        } else {
                            items.push(Some(value))
                        }
                        (number, shift, is_repeat) = (0, 0, false);
                    }
                }
            }
        }
        items
    }

    fn unpack_values(text: &str) -> Vec<Option<f64>> {
        let mut last = 0;
        let value = |code: i64| {
            let size = f64::from(f32::from_bits((code.unsigned_abs() as u32) << BITS_LEFT_OUT));
            if code < 0 { -size } else { size }
        };
        read_items(text)
            .into_iter()
            .map(|item| {
                last += item?;
                Some(value(last))
            })
            .collect()
    }

    #[test]
    fn steady_times_take_a_few_letters() {
        let packed = pack_times((0..3_600).map(|nth| f64::from(nth) + 0.5));
        assert!(packed.len() < 12, "{packed}");
        let (mut at, mut step) = (0, 0);
        let times = read_items(&packed).into_iter().map(|change| {
            step += change.unwrap();
            at += step;
            at
        });
        assert_eq!(times.collect::<Vec<_>>(), (0..3_600).map(|nth| 1_000 * nth + 500).collect::<Vec<_>>());
    }

    #[test]
    fn values_come_back_to_a_part_in_eight_thousand_and_whole_numbers_exactly() {
        let values = [0.0, 1.0, 4095.0, 41_300.0, 1e-9, 6.02e23, -12.5, 0.1, 0.1, 0.1, 0.1, 0.1, 4.0];
        let back = unpack_values(&pack_values(values.into_iter()));
        for (value, back) in values.into_iter().zip(back) {
            let back = back.unwrap();
            assert!((value - back).abs() <= value.abs() / 8_192.0, "{value} {back}");
        }
        let whole = |nth: i32| f64::from(nth);
        let back = unpack_values(&pack_values((0..4_096).map(whole)));
        assert!(back.iter().zip(0..).all(|(back, nth)| *back == Some(f64::from(nth))));
    }

    #[test]
    fn missing_values_stay_missing() {
        let values = [1.0, f64::NAN, f64::NAN, f64::NAN, f64::NAN, 2.0, f64::INFINITY];
        let packed = pack_values(values.into_iter());
        assert_eq!(unpack_values(&packed), [Some(1.0), None, None, None, None, Some(2.0), None], "{packed}");
    }
}
