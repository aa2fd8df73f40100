//! Histograms to and from the bytes kept in the run file: HdrHistogram V2 with DEFLATE.
//!
//! In: [`Times`]. Out: blobs that any HdrHistogram library reads, and back. Three digits are 1024 buckets to each power of two, and
//! each of them lies inside one bucket of [`Times`], so the way there and back loses nothing; sum and maximum are columns of their own.
//! Limits: a time of 0 ns is kept as 1 ns. Decoding accepts what this module writes (lowest value 1 ns, three digits) and nothing else. It is
//! done here and not by the library, which makes an array of all slots for each histogram, sized by fields of its header: an hour of seconds
//! has thousands of histograms. Blobs are inflated within bounds.

use flate2::{Decompress, FlushDecompress, Status};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use model::Times;

/// Three digits up to 2^64 ns are 55 Ki buckets of at most 9 bytes each.
const PLAIN_BYTES_MAX: usize = 512 << 10;
/// DEFLATE makes incompressible data longer by 5 bytes in 16 KiB.
const BLOB_BYTES_MAX: usize = PLAIN_BYTES_MAX + (16 << 10);
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
const PLAIN_COOKIE: u32 = 0x1c84_9313;
const PLAIN_HEADER_BYTES: usize = 40;
const DIGITS: u32 = 3;
/// Three digits are 1,024 slots to each power of two.
const SLOT_BITS: u32 = 10;

/// Encodes histograms with buffers that are used again.
pub(crate) struct Encoder {
    serializer: V2DeflateSerializer,
    blob: Vec<u8>,
}

impl Encoder {
    pub(crate) fn new() -> Self {
        Encoder { serializer: V2DeflateSerializer::new(), blob: Vec::new() }
    }

    /// The blob of `times`.
    pub(crate) fn encode(&mut self, times: &Times) -> &[u8] {
        self.blob.clear();
        self.serializer.serialize(&to_hdr(times), &mut self.blob).expect("counts below 2^63 serialize into memory");
        &self.blob
    }
}

/// The histogram of `times`, the longest of them in the bucket of the exact maximum.
fn to_hdr(times: &Times) -> Histogram<u64> {
    let mut hdr = Histogram::new(DIGITS as u8).expect("3 is a valid number of significant digits");
    for (value_ns, count) in times.recorded() {
        hdr.record_n(value_ns.max(1), count).expect("an auto-resizing histogram takes every value");
    }
    hdr
}

/// Decodes histograms with buffers that are used again.
pub(crate) struct Decoder {
    inflate: Decompress,
    plain: Vec<u8>,
}

impl Decoder {
    /// With buffers of the largest size that is decoded.
    pub(crate) fn new() -> Self {
        Decoder { inflate: Decompress::new(true), plain: vec![0; PLAIN_BYTES_MAX] }
    }

    /// The times in `blob`, whose exact sum and maximum are known, or what is wrong with it.
    pub(crate) fn decode(&mut self, blob: &[u8], sum_ns: u64, max_ns: u64) -> Result<Times, String> {
        let plain = self.inflate_payload(blob)?;
        let slots = check_header(plain)?;
        let recorded = read_counts(&plain[PLAIN_HEADER_BYTES..], slots)?;
        Ok(Times::from_recorded(recorded, sum_ns, max_ns))
    }

    /// The V2 histogram inside the compressed one.
    fn inflate_payload(&mut self, blob: &[u8]) -> Result<&[u8], String> {
        let body = match blob.get(8..) {
            Some(body) if blob.len() <= BLOB_BYTES_MAX && read_word(blob, 0) == Some(COMPRESSED_COOKIE) => body,
            _ => return Err("a histogram is not a compressed HdrHistogram of a plausible size".into()),
        };
        self.inflate.reset(true);
        let inflated = self.inflate.decompress(body, &mut self.plain, FlushDecompress::Finish);
        let len = self.inflate.total_out() as usize;
        match inflated {
            Err(error) => Err(format!("a histogram does not inflate: {error}")),
            Ok(Status::StreamEnd) => Ok(&self.plain[..len]),
            Ok(_) if len == self.plain.len() => Err("a histogram inflates beyond any plausible size".into()),
            Ok(_) => Err("a histogram does not inflate: its end is missing".into()),
        }
    }
}

/// How many counts a histogram with this header may hold; refuses those that plimsoll does not write.
fn check_header(plain: &[u8]) -> Result<usize, String> {
    let as_written = plain.len() >= PLAIN_HEADER_BYTES
        && read_word(plain, 0) == Some(PLAIN_COOKIE)
        && read_word(plain, 4).map(|len| len as usize) == Some(plain.len() - PLAIN_HEADER_BYTES)
        && read_word(plain, 12) == Some(DIGITS)
        && (read_word(plain, 16), read_word(plain, 20)) == (Some(0), Some(1));
    let highest =
        read_word(plain, 24).zip(read_word(plain, 28)).map(|(high, low)| u64::from(high) << 32 | u64::from(low));
    match highest.filter(|highest| as_written && *highest >= 2) {
        Some(highest) => Ok(slots_up_to(highest)),
        None => Err("a histogram has a header or counts that plimsoll does not write".into()),
    }
}

/// How many slots the values up to `highest` have: 2,048 for those below 2,048, and 1,024 for each power of two from there.
fn slots_up_to(highest: u64) -> usize {
    let powers = (u64::BITS - highest.leading_zeros()).saturating_sub(SLOT_BITS + 1);
    (powers as usize + 2) << SLOT_BITS
}

/// The counts of the format V2, as (nanoseconds, count) in rising order: numbers above 0 are counts, and those below 0 are so many empty
/// slots. (Gil Tene, HdrHistogram, `AbstractHistogram.fillCountsArrayFromSourceBuffer`.)
fn read_counts(mut bytes: &[u8], slots: usize) -> Result<Vec<(u64, u64)>, String> {
    let beyond = || "a histogram does not decode: it has more counts than its header allows".to_owned();
    let mut recorded = Vec::new();
    let mut slot = 0usize;
    while !bytes.is_empty() {
        match take_number(&mut bytes)? {
            empty @ ..0 => slot = slot.saturating_add(usize::try_from(empty.unsigned_abs()).map_err(|_| beyond())?),
            count if slot < slots => {
                recorded.push((highest_of_slot(slot), count as u64));
                slot += 1;
            }
            _ => return Err(beyond()),
        }
        if slot > slots {
            return Err(beyond());
        }
    }
    Ok(recorded)
}

/// The highest value of a slot.
fn highest_of_slot(slot: usize) -> u64 {
    let shift = (slot >> SLOT_BITS).saturating_sub(1);
    let first = (slot - (shift << SLOT_BITS)) as u64;
    (first << shift) + ((1 << shift) - 1)
}

/// The next number: LEB128 of at most nine bytes, of which the last has eight bits, with the sign in the lowest bit.
fn take_number(bytes: &mut &[u8]) -> Result<i64, String> {
    let mut number = 0u64;
    for nth in 0..9 {
        let Some((byte, rest)) = bytes.split_first() else {
            return Err("a histogram does not decode: its last count is cut off".into());
        };
        *bytes = rest;
        let (bits, is_last) = if nth == 8 { (*byte, true) } else { (byte & 0x7f, byte & 0x80 == 0) };
        number |= u64::from(bits) << (7 * nth);
        if is_last {
            break;
        }
    }
    Ok((number >> 1) as i64 ^ -((number & 1) as i64))
}

/// The big-endian number at `at`.
fn read_word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use hdrhistogram::serialization::Deserializer;
    use model::LatencyCounts;
    use std::io::Write;

    fn times_of(times_ns: impl IntoIterator<Item = u64>) -> Times {
        let mut counts = LatencyCounts::default();
        times_ns.into_iter().for_each(|ns| counts.record(ns));
        counts.take()
    }

    fn decode(blob: &[u8], sum_ns: u64, max_ns: u64) -> Result<Times, String> {
        Decoder::new().decode(blob, sum_ns, max_ns)
    }

    /// The histogram in `blob`, as the library decodes it.
    fn decode_by_library(blob: &[u8]) -> Histogram<u64> {
        let mut decoder = Decoder::new();
        let mut plain = decoder.inflate_payload(blob).unwrap();
        Deserializer::new().deserialize(&mut plain).unwrap()
    }

    /// What comes back of `times` if the columns hold their sum and maximum.
    fn there_and_back(times: &Times) -> Times {
        let sum_ns = u64::try_from(times.sum_ns()).unwrap();
        decode(Encoder::new().encode(times), sum_ns, times.max_ns()).unwrap()
    }

    /// A blob with a header of the given fields and `payload` behind it.
    fn blob_of(payload_len: u32, digits: u32, low: u64, high: u64, payload: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        [PLAIN_COOKIE, payload_len, 0, digits].iter().for_each(|w| plain.extend(w.to_be_bytes()));
        [low, high, 1.0f64.to_bits()].iter().for_each(|w| plain.extend(w.to_be_bytes()));
        plain.extend(payload);
        compressed(&plain)
    }

    fn compressed(plain: &[u8]) -> Vec<u8> {
        let mut deflate = ZlibEncoder::new(Vec::new(), Compression::fast());
        deflate.write_all(plain).unwrap();
        let body = deflate.finish().unwrap();
        [&COMPRESSED_COOKIE.to_be_bytes()[..], &(body.len() as u32).to_be_bytes(), &body].concat()
    }

    #[test]
    fn what_is_encoded_is_decoded_the_same() {
        let scattered = (0..50_000u64).map(|n| 1 + (n * 977 % 3_000_000) * (n % 977).pow(2));
        let times = times_of(scattered);
        assert_eq!(there_and_back(&times), times);
        for bit in 0..63 {
            let edges = times_of([(1 << bit) - 1, 1 << bit, (1 << bit) + (1 << bit) / 3].map(|ns: u64| ns.max(1)));
            assert_eq!(decode(Encoder::new().encode(&edges), 0, edges.max_ns()).unwrap().max_ns(), edges.max_ns());
        }
    }

    #[test]
    fn a_percentile_has_the_rank_that_hdr_histogram_gives_it() {
        let times = times_of((1..=977u64).map(|n| n * n * 1_237));
        let hdr = to_hdr(&times);
        for quantile in [0.0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let (seen, expected) = (times.value_at_quantile(quantile), hdr.value_at_quantile(quantile));
            assert!(hdr.equivalent(seen, expected), "{quantile}: {seen} for {expected}");
        }
    }

    #[test]
    fn a_histogram_of_finer_buckets_is_read_into_those_that_hold_them() {
        let times_ns = (1..20_000u64).map(|n| 300_000 + n * 1_237);
        let mut hdr = Histogram::<u64>::new(3).unwrap();
        times_ns.clone().for_each(|ns| hdr.record(ns).unwrap());
        let mut blob = Vec::new();
        V2DeflateSerializer::new().serialize(&hdr, &mut blob).unwrap();
        let sum_ns = times_ns.clone().sum();
        assert_eq!(decode(&blob, sum_ns, times_ns.clone().max().unwrap()).unwrap(), times_of(times_ns));
    }

    #[test]
    fn each_slot_and_its_count_is_what_the_library_reads() {
        let mut hdr = Histogram::<u64>::new(3).unwrap();
        (0..64).for_each(|bit| {
            [0, 1, 3].iter().for_each(|low| hdr.record_n((1 << bit) + (low << bit) / 4, 1 << bit.min(40)).unwrap())
        });
        let mut blob = Vec::new();
        V2DeflateSerializer::new().serialize(&hdr, &mut blob).unwrap();
        let mut decoder = Decoder::new();
        let plain = decoder.inflate_payload(&blob).unwrap();
        let slots = check_header(plain).unwrap();
        let seen: Vec<(u64, u64)> = read_counts(&plain[PLAIN_HEADER_BYTES..], slots).unwrap();
        let seen: Vec<(u64, u64)> = seen.into_iter().filter(|(_, count)| *count > 0).collect();
        let expected = decode_by_library(&blob);
        let expected = expected.iter_recorded().map(|slot| (slot.value_iterated_to(), slot.count_at_value()));
        assert_eq!(seen, expected.collect::<Vec<_>>());
    }

    #[test]
    fn the_maximum_is_in_the_bucket_of_the_exact_one() {
        for max_ns in [0, 1, 1_999, 5_000, 200_300_400, 3_600_000_000_000, 1 << 45, (1 << 63) - 1] {
            let times = times_of([max_ns / 2, max_ns - max_ns / 900, max_ns]);
            let decoded = decode_by_library(Encoder::new().encode(&times));
            assert_eq!(decoded.len(), 3);
            assert!(decoded.equivalent(decoded.max(), max_ns.max(1)), "{max_ns} became {}", decoded.max());
        }
    }

    #[test]
    fn even_the_longest_time_of_all_is_kept() {
        for times_ns in [vec![5, u64::MAX], vec![u64::MAX; 3]] {
            // The columns hold signed numbers.
            let longest_ns = i64::MAX as u64;
            let decoded = decode(Encoder::new().encode(&times_of(times_ns)), longest_ns, longest_ns).unwrap();
            assert!(decoded.max_ns() > 1 << 63 && decoded.value_at_quantile(0.99) > 1 << 63);
        }
    }

    #[test]
    fn a_header_that_asks_for_gigabytes_is_refused() {
        let hostile = [
            blob_of(u32::MAX, 3, 1, 1 << 40, &[2]),
            blob_of(1, 5, 1, 1 << 40, &[2]),
            blob_of(1, 3, 1 << 40, 1 << 50, &[2]),
            blob_of(0, 3, 1, 1 << 40, &[2]),
        ];
        for blob in hostile {
            assert!(decode(&blob, 0, 0).unwrap_err().contains("does not write"));
        }
        assert_eq!(decode(&blob_of(1, 3, 1, 1 << 40, &[2]), 0, 0).unwrap().len(), 1);
    }

    #[test]
    fn a_number_that_cannot_be_negated_is_refused() {
        assert!(decode(&blob_of(9, 3, 1, 1 << 40, &[0xff; 9]), 0, 0).is_err());
        assert!(decode(&blob_of(19, 3, 1, 1 << 40, &[0xff; 19]), 0, 0).is_err());
    }

    #[test]
    fn counts_beyond_the_range_of_the_header_are_refused() {
        let far_below_zero = [0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert!(decode(&blob_of(10, 3, 1, 1 << 40, &far_below_zero), 0, 0).is_err());
    }

    #[test]
    fn a_small_blob_that_inflates_without_end_is_refused() {
        let bomb = compressed(&vec![0; 200 << 20]);
        assert!(bomb.len() > BLOB_BYTES_MAX || decode(&bomb, 0, 0).unwrap_err().contains("inflates beyond"));
        let bomb = compressed(&vec![0; 20 << 20]);
        assert!(decode(&bomb, 0, 0).unwrap_err().contains("inflates beyond"));
    }

    #[test]
    fn no_prefix_and_no_single_changed_byte_panics() {
        let mut encoder = Encoder::new();
        let blob = encoder.encode(&times_of([10, 2_000, 35_000])).to_vec();
        for len in 0..blob.len() {
            assert!(decode(&blob[..len], 0, 0).is_err(), "{len} of {} bytes decode", blob.len());
        }
        for at in 0..blob.len() {
            for bit in 0..8 {
                let mut changed = blob.clone();
                changed[at] ^= 1 << bit;
                let _ = decode(&changed, 0, 0);
            }
        }
    }
}
