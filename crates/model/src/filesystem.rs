//! A file system that plimsoll makes for a trial, so that file systems can be compared on one disk.
//!
//! In: words such as `ext4:nobarrier`, `btrfs:zstd:3` or `zfs:gzip-6`. Out: a [`FileSystem`], and the same words from it.
//! Limits: what is named here is what plimsoll can make; others are mounted by their owner and measured as a directory.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The file system that is made for a trial, and how large it is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystemSpec {
    pub kind: FileSystem,
    /// Its size; `None` for what the trial's data needs.
    pub size: Option<Bytes>,
}

/// A file system with the options that it is mounted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileSystem {
    Ext4 {
        /// Whether a flush reaches the disk's own cache.
        barrier: bool,
    },
    Xfs,
    /// btrfs on one device.
    Btrfs {
        /// What it compresses data with; `None` for nothing.
        compression: Option<Compression>,
    },
    /// ZFS on one device, by zfs-fuse.
    Zfs {
        /// What it compresses data with; `None` for nothing.
        compression: Option<ZfsCompression>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ZfsCompression {
    /// LZJB, which has no levels.
    Lzjb,
    /// LZ4, which came with a later ZFS than that of zfs-fuse.
    Lz4,
    /// gzip at this level, 1 to 9.
    Gzip(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// LZO, which has no levels.
    Lzo,
    /// zlib at this level, 1 to 9.
    Zlib(u8),
    /// zstd at this level, 1 to 15.
    Zstd(u8),
}

impl FileSystem {
    /// What may be written, for messages and help.
    pub const WORDS: [&'static str; 10] = [
        "ext4",
        "ext4:nobarrier",
        "xfs",
        "btrfs",
        "btrfs:lzo",
        "btrfs:zlib:1..9",
        "btrfs:zstd:1..15",
        "zfs",
        "zfs:lzjb",
        "zfs:gzip-1..9",
    ];

    /// The file system of these words.
    pub fn from_words(words: &str) -> Option<FileSystem> {
        Some(match words {
            "ext4" => FileSystem::Ext4 { barrier: true },
            "ext4:nobarrier" => FileSystem::Ext4 { barrier: false },
            "xfs" => FileSystem::Xfs,
            "btrfs" => FileSystem::Btrfs { compression: None },
            "zfs" => FileSystem::Zfs { compression: None },
            other if other.starts_with("zfs:") => {
                FileSystem::Zfs { compression: Some(ZfsCompression::from_words(other.strip_prefix("zfs:")?)?) }
            }
            other => FileSystem::Btrfs { compression: Some(Compression::from_words(other.strip_prefix("btrfs:")?)?) },
        })
    }

    /// Its name, for those of the kernel as that knows it.
    pub fn name(self) -> &'static str {
        match self {
            FileSystem::Ext4 { .. } => "ext4",
            FileSystem::Xfs => "xfs",
            FileSystem::Btrfs { .. } => "btrfs",
            FileSystem::Zfs { .. } => "zfs",
        }
    }
}

impl Compression {
    fn from_words(words: &str) -> Option<Compression> {
        match words.split_once(':') {
            None => (words == "lzo").then_some(Compression::Lzo),
            Some(("zlib", text)) => level_of(text, 9).map(Compression::Zlib),
            Some(("zstd", text)) => level_of(text, 15).map(Compression::Zstd),
            Some(_) => None,
        }
    }
}

impl ZfsCompression {
    fn from_words(words: &str) -> Option<ZfsCompression> {
        Some(match words {
            "lzjb" => ZfsCompression::Lzjb,
            "lz4" => ZfsCompression::Lz4,
            other => ZfsCompression::Gzip(level_of(other.strip_prefix("gzip-")?, 9)?),
        })
    }
}

/// A level from 1 to `most`, written plainly.
fn level_of(text: &str, most: u8) -> Option<u8> {
    let plain = !text.starts_with(['+', '0']);
    text.parse::<u8>().ok().filter(|level| plain && (1..=most).contains(level))
}

impl fmt::Display for FileSystem {
    /// As a person would write it in a plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileSystem::Ext4 { barrier: false } => f.write_str("ext4:nobarrier"),
            FileSystem::Btrfs { compression: Some(compression) } => write!(f, "btrfs:{compression}"),
            FileSystem::Zfs { compression: Some(compression) } => write!(f, "zfs:{compression}"),
            plain => f.write_str(plain.name()),
        }
    }
}

impl fmt::Display for Compression {
    /// As the mount option of btrfs has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compression::Lzo => f.write_str("lzo"),
            Compression::Zlib(level) => write!(f, "zlib:{level}"),
            Compression::Zstd(level) => write!(f, "zstd:{level}"),
        }
    }
}

impl fmt::Display for ZfsCompression {
    /// As the property `compression` of ZFS has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ZfsCompression::Lzjb => f.write_str("lzjb"),
            ZfsCompression::Lz4 => f.write_str("lz4"),
            ZfsCompression::Gzip(level) => write!(f, "gzip-{level}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_reads_as_it_is_written() {
        let words = ["ext4", "ext4:nobarrier", "xfs", "btrfs", "btrfs:lzo", "btrfs:zlib:9", "btrfs:zstd:15"];
        assert_eq!(words.map(|words| FileSystem::from_words(words).unwrap().to_string()), words);
        let words = ["zfs", "zfs:lzjb", "zfs:lz4", "zfs:gzip-1", "zfs:gzip-9"];
        assert_eq!(words.map(|words| FileSystem::from_words(words).unwrap().to_string()), words);
    }

    #[test]
    fn what_cannot_be_made_is_no_file_system() {
        let others = ["", "ext3", "EXT4", "ext4:barrier", "xfs:nobarrier", "btrfs:", "btrfs:zstd", "btrfs:zstd:0"];
        let more =
            ["btrfs:zstd:16", "btrfs:zlib:10", "btrfs:zlib:+1", "btrfs:zlib:01", "btrfs:lzo:1", "btrfs:zstd:3,ro"];
        let of_zfs = ["zfs:", "zfs:gzip", "zfs:gzip-0", "zfs:gzip-10", "zfs:gzip:1", "zfs:off", "zfs:zstd"];
        assert!(others.iter().chain(&more).chain(&of_zfs).all(|words| FileSystem::from_words(words).is_none()));
    }
}
