//! A value as text that is a key: the same for equal values, and for no others.
//!
//! In: any value that can be printed for a programmer. Out: text. Limits: it is for no reader, and for one version of plimsoll; sizes that
//! differ little look alike to people, and must not as keys.

use std::fmt::{Debug, Write};

/// The same text for equal values, and for no others.
pub fn exact_text(value: &impl Debug) -> String {
    let mut text = String::new();
    write!(text, "{value:?}").expect("a string takes every write");
    text
}
