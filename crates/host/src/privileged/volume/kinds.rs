//! What differs between the file systems that plimsoll makes: the program, its arguments, the mount, and the room each needs.
//!
//! In: a [`FileSystem`]. Out: arguments, options, sizes. Limits: sizes are for mkfs of e2fsprogs 1.47, xfsprogs 6.1,
//! btrfs-progs 6.2 and zfs-fuse 0.7; they are generous, and what is not enough shows as a point that stops before its file system is full.

use model::{Bytes, FileSystem};

/// How a file system is made: of ZFS the process that is it, which makes its pool itself.
pub struct FileSystemMaker {
    /// The program that makes the file system.
    pub program: &'static str,
    /// The Debian package that has it.
    pub package: &'static str,
    /// Its arguments before the device.
    pub arguments: &'static [&'static str],
    /// The argument that makes it print its version.
    pub version: &'static str,
}

/// The maker of `kind`.
///
/// None may discard: a loop device hands that on as a hole in the image, which then is no longer allocated. ext4 would leave its
/// inode tables and its journal to a kernel thread, which would write in the middle of the measurement. It keeps 5 % for root:
/// there are no other users here. Below 512 MiB mkfs would choose blocks of 1 KiB, which no disk of today has: its journal would write
/// a quarter of what it does on one.
pub fn maker_of(kind: FileSystem) -> FileSystemMaker {
    match kind {
        FileSystem::Ext4 { .. } => FileSystemMaker {
            program: "mkfs.ext4",
            package: "e2fsprogs",
            arguments: &["-q", "-F", "-b", "4096", "-m", "0", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"],
            version: "-V",
        },
        FileSystem::Xfs => {
            FileSystemMaker { program: "mkfs.xfs", package: "xfsprogs", arguments: &["-q", "-f", "-K"], version: "-V" }
        }
        FileSystem::Btrfs { .. } => FileSystemMaker {
            program: "mkfs.btrfs",
            package: "btrfs-progs",
            arguments: &["-q", "-f", "-K"],
            version: "--version",
        },
        FileSystem::Zfs { .. } => {
            FileSystemMaker { program: super::zfs::DAEMON, package: "zfs-fuse", arguments: &[], version: "" }
        }
    }
}

/// The options of the file system itself. btrfs discards by default since Linux 6.2.
pub fn mount_options(kind: FileSystem) -> String {
    match kind {
        FileSystem::Ext4 { barrier: true } | FileSystem::Xfs | FileSystem::Zfs { .. } => String::new(),
        FileSystem::Ext4 { barrier: false } => "barrier=0".into(),
        FileSystem::Btrfs { compression: None } => "nodiscard".into(),
        FileSystem::Btrfs { compression: Some(compression) } => format!("nodiscard,compress={compression}"),
    }
}

/// The smallest image that mkfs takes, with room for anything in it.
pub fn smallest_image(kind: FileSystem) -> Bytes {
    match kind {
        FileSystem::Ext4 { .. } => Bytes::from_mib(16),
        FileSystem::Xfs => Bytes::from_mib(300),
        FileSystem::Btrfs { .. } => Bytes::from_mib(256),
        FileSystem::Zfs { .. } => Bytes::from_mib(128),
    }
}

/// The image for data that takes at most `need`: with what the file system keeps for itself, and a tenth that stays free, because
/// a file system that is nearly full is another one.
pub fn image_for(kind: FileSystem, need: Bytes) -> Bytes {
    let need = need.0 as f64;
    let own = match kind {
        // Inode tables of 1/64 and a journal of up to 1 GiB in steps; measured 6 % of 1 GiB, 2.3 % of 20 GiB.
        FileSystem::Ext4 { .. } => Bytes::from_mib(64).0 as f64 + need / 16.0,
        FileSystem::Xfs => Bytes::from_mib(96).0 as f64 + need / 32.0,
        // Metadata twice, in chunks of its own. And overwritten blocks stay until all of the extent that they are in is overwritten.
        FileSystem::Btrfs { .. } => Bytes::from_mib(512).0 as f64 + need,
        // A sixty-fourth is kept back, the intent log is there for a while with the data, and what is overwritten stays for some
        // transactions.
        FileSystem::Zfs { .. } => Bytes::from_mib(256).0 as f64 + need,
    };
    let image = Bytes(((need + own) / 0.9) as u64);
    Bytes(image.max(smallest_image(kind)).0.next_multiple_of(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Compression;

    const XFS: FileSystem = FileSystem::Xfs;
    const EXT4: FileSystem = FileSystem::Ext4 { barrier: true };

    #[test]
    fn an_image_holds_its_data_with_a_tenth_to_spare_and_is_whole_mebibytes() {
        for kind in [EXT4, XFS, FileSystem::Btrfs { compression: None }, FileSystem::Zfs { compression: None }] {
            for need in [Bytes(0), Bytes::from_mib(256), Bytes::from_gib(100), Bytes(12_345)] {
                let image = image_for(kind, need);
                assert!(
                    image.0 as f64 * 0.9 >= need.0 as f64 && image >= smallest_image(kind),
                    "{kind} {need} {image}"
                );
                assert_eq!(image.0 % (1 << 20), 0);
            }
        }
    }

    #[test]
    fn nothing_discards() {
        let btrfs = FileSystem::Btrfs { compression: Some(Compression::Zstd(3)) };
        assert_eq!(mount_options(btrfs), "nodiscard,compress=zstd:3");
        assert_eq!(mount_options(FileSystem::Ext4 { barrier: false }), "barrier=0");
        assert!(maker_of(EXT4).arguments.iter().any(|argument| argument.contains("nodiscard")));
        assert!(maker_of(XFS).arguments.contains(&"-K") && maker_of(btrfs).arguments.contains(&"-K"));
    }
}
