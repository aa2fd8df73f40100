//! Codecs: what compresses files and blocks.
//!
//! In: the words of a plan, such as `zstd:3`. Out: a codec. Limits: see [`codecs`].

pub mod codecs;
