//! The figures of a kernel of a CPU, in the order of kernels.csv, and those of all kernels behind them.

use super::kernels::{KernelRow, KernelTable};
use crate::figures::FigureDef;
use crate::figures::Unit::{Count, Megahertz, Money, Number, PerSecond};

type KernelFigure = FigureDef<KernelRow>;
type KernelsFigure = FigureDef<KernelTable>;

/// What a kernel did with one client, and with the most.
#[rustfmt::skip]
pub static KERNEL_FIGURES: &[KernelFigure] = &[
    KernelFigure::word("kernel", "name of the kernel", |k| Some(k.kernel.clone())),
    KernelFigure::number("single_per_s", PerSecond, "rounds per second of one client, the mean of its repeats",
        |k| k.single.map(|rate| rate.ops_per_s)).more().ci95(|k| k.single?.ops_per_s_ci95),
    KernelFigure::number("single_per_s_per_ghz", Number, "rounds per second of one client and GHz", |k| k.single?.per_ghz).more(),
    KernelFigure::number("single_per_money", Number, "rounds of one client for one unit of money; empty without a price",
        |k| k.single?.per_money).more(),
    KernelFigure::word("single_validity", "`valid`, `indicative` or `invalid`", |k| k.single.map(|rate| rate.validity.as_str().to_owned())),
    KernelFigure::number("all_clients", Count, "the most clients that were measured; empty if only one was, as all of these columns",
        |k| k.all.map(|rate| f64::from(rate.clients))),
    KernelFigure::number("all_per_s", PerSecond, "rounds per second of all these clients",
        |k| k.all.map(|rate| rate.ops_per_s)).more().ci95(|k| k.all?.ops_per_s_ci95),
    KernelFigure::number("all_per_s_per_core", Number, "of these, the rounds per second of each CPU that they used",
        |k| k.all.map(|rate| rate.per_core)).more(),
    KernelFigure::number("all_per_s_per_ghz", Number, "of these, the rounds per second of each GHz of a CPU",
        |k| k.all?.per_ghz).more(),
    KernelFigure::number("all_per_money", Number, "rounds of all these clients for one unit of money; empty without a price",
        |k| k.all?.per_money).more(),
    KernelFigure::word("all_validity", "`valid`, `indicative` or `invalid`", |k| k.all.map(|rate| rate.validity.as_str().to_owned())),
    KernelFigure::number("scaling", Number, "how many times the rate of one client they did", |k| k.scaling).more(),
];

/// What all kernels of a run have in common.
#[rustfmt::skip]
pub static KERNEL_TABLE_FIGURES: &[KernelsFigure] = &[
    KernelsFigure::number("mhz", Megahertz, "mean frequency of the CPUs over all points of the run", |t| t.mhz),
    KernelsFigure::word("mhz_is_measured", "`true` if it was measured, `false` if it is nominal",
        |t| t.frequency_is_measured.map(|measured| measured.to_string())),
    KernelsFigure::number("cpu_quota", Number, "CPU quota that held plimsoll, in CPUs; empty if it had none", |t| t.cpu_quota),
    KernelsFigure::number("price_per_hour", Money, "price of the machine per hour; empty if it was not given", |t| t.price_per_hour),
];
