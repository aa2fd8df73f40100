//! The figures of a codec, in the order of compression.csv.

use super::FigureDef;
use super::Unit::{Bytes, BytesPerSecond, Count, KilowattHours, Money, Number, Seconds};
use crate::CompressionRow;

type CodecFigure = FigureDef<CompressionRow>;

/// What a codec made of a file, or of all files together.
#[rustfmt::skip]
pub static COMPRESSION_FIGURES: &[CodecFigure] = &[
    CodecFigure::number("repeats", Count, "repeats that count", |c| Some(c.repeats as f64)),
    CodecFigure::number("input_bytes", Bytes, "length of the file", |c| Some(c.input_bytes)),
    CodecFigure::number("output_bytes", Bytes, "size of the result, read after it was synced", |c| Some(c.output_bytes)),
    CodecFigure::number("ratio", Number, "how many times smaller it became", CompressionRow::ratio).more(),
    CodecFigure::number("durable_best_s", Seconds, "shortest time until the result was on disk", |c| c.best_s),
    CodecFigure::number("durable_median_s", Seconds, "median of these times", |c| c.median_s),
    CodecFigure::number("bytes_per_s", BytesPerSecond, "bytes of the file per second of the shortest time", CompressionRow::bytes_per_s),
    CodecFigure::number("cpu_s", Seconds, "CPU time of plimsoll, of the kernel's threads and of zfs-fuse, median", |c| c.cpu_s),
    CodecFigure::number("decompress_s", Seconds, "time to read the result back from the disk, median", |c| c.back_s),
    CodecFigure::number("cost_per_gb", Money, "money for a GB of the file at the median time; empty without a price", |c| c.cost().per_gb).less(),
    CodecFigure::number("kwh_per_gb", KilowattHours, "energy for a GB of the file at the median time, in kWh; empty without a power",
        |c| c.cost().kwh_per_gb).less(),
    CodecFigure::word("pareto", "`true` if nothing of the same file is both smaller and faster", |c| Some(c.on_front.to_string())),
];
