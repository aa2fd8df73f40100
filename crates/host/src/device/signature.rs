//! What is on a block device: the marks by which file systems, volume managers and partition tables are known.
//!
//! In: an open device and its size. Out: the names of what was found. Limits: a table, not a parser: a mark without anything
//! sound behind it counts, and so do the remains of what was there before. What has no mark (a database on the raw device, an
//! encrypted volume without a header) is not seen. Nothing is ever concluded from finding none.
//!
//! Places and marks are those of libblkid (util-linux 2.40, `libblkid/src/superblocks/` and `libblkid/src/partitions/`), which
//! takes them from the on-disk format of each; `wipefs` shows the same ones.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A mark that identifies what is on a device.
struct DiskSignature {
    name: &'static str,
    at: MarkPlace,
    mark: &'static [u8],
}

/// The place of a mark.
#[derive(Clone, Copy)]
enum MarkPlace {
    /// At this offset from the beginning.
    Start(u64),
    /// At one that follows from the size of the device.
    End(fn(u64) -> Option<u64>),
}

const fn mark_at(offset: u64, name: &'static str, mark: &'static [u8]) -> DiskSignature {
    DiskSignature { name, at: MarkPlace::Start(offset), mark }
}

const fn mark_from_end(at: fn(u64) -> Option<u64>, name: &'static str, mark: &'static [u8]) -> DiskSignature {
    DiskSignature { name, at: MarkPlace::End(at), mark }
}

const EXT: &str = "an ext2, ext3 or ext4 file system";
const FAT: &str = "a FAT file system";
const GPT: &str = "a partition table (GPT)";
const LUKS: &str = "a LUKS volume";
const LVM: &str = "an LVM2 physical volume";
const MD: &str = "a member of an MD array";
const SWAP: &str = "a swap area";
const BCACHE: &str = "a bcache device";
const ZFS: &str = "a member of a ZFS pool";

const MD_MARK: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];

const SIGNATURES: &[DiskSignature] = &[
    mark_at(0x438, EXT, &[0x53, 0xef]),
    mark_at(0, "an XFS file system", b"XFSB"),
    mark_at(0x10040, "a btrfs file system", b"_BHRfS_M"),
    mark_at(0x400, "an F2FS file system", &[0x10, 0x20, 0xf5, 0xf2]),
    mark_at(0x8000, "a JFS file system", b"JFS1"),
    mark_at(0x10034, "a ReiserFS file system", b"ReIsEr"),
    mark_at(0, "a squashfs file system", b"hsqs"),
    mark_at(0x400, "an EROFS file system", &[0xe2, 0xe1, 0xf5, 0xe0]),
    mark_at(0x8001, "an ISO 9660 file system", b"CD001"),
    mark_at(0x36, FAT, b"FAT12   "),
    mark_at(0x36, FAT, b"FAT16   "),
    mark_at(0x52, FAT, b"FAT32   "),
    mark_at(3, "an exFAT file system", b"EXFAT   "),
    mark_at(3, "an NTFS file system", b"NTFS    "),
    // The last ten bytes of the first page, whose size is that of the machine that made it.
    mark_at(0xff6, SWAP, b"SWAPSPACE2"),
    mark_at(0xff6, SWAP, b"SWAP-SPACE"),
    mark_at(0x1ff6, SWAP, b"SWAPSPACE2"),
    mark_at(0x3ff6, SWAP, b"SWAPSPACE2"),
    mark_at(0xfff6, SWAP, b"SWAPSPACE2"),
    // In one of the first four sectors.
    mark_at(0x000, LVM, b"LABELONE"),
    mark_at(0x200, LVM, b"LABELONE"),
    mark_at(0x400, LVM, b"LABELONE"),
    mark_at(0x600, LVM, b"LABELONE"),
    mark_at(0, LUKS, b"LUKS\xba\xbe"),
    // The second header of LUKS2, in case the first is gone.
    mark_at(0x4000, LUKS, b"SKUL\xba\xbe"),
    mark_at(0x8000, LUKS, b"SKUL\xba\xbe"),
    mark_at(0x10000, LUKS, b"SKUL\xba\xbe"),
    mark_at(
        0x1018,
        BCACHE,
        &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81],
    ),
    mark_at(
        0x1018,
        "a bcachefs file system",
        &[0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef],
    ),
    mark_at(0, "a Ceph BlueStore device", b"bluestore block device"),
    mark_at(32, "an Oracle ASM disk", b"ORCLDISK"),
    // MD metadata 1.1 and 1.2, then 1.0 and 0.90.
    mark_at(0, MD, MD_MARK),
    mark_at(0x1000, MD, MD_MARK),
    mark_from_end(|size| Some(size.checked_sub(0x2000)? & !0xfff), MD, MD_MARK),
    mark_from_end(|size| (size & !0xffff).checked_sub(0x10000), MD, MD_MARK),
    mark_at(0x200, GPT, b"EFI PART"),
    mark_at(0x1000, GPT, b"EFI PART"),
    // The second header, in case the first is gone.
    mark_from_end(|size| size.checked_sub(0x200), GPT, b"EFI PART"),
    mark_from_end(|size| size.checked_sub(0x1000), GPT, b"EFI PART"),
    // Boot sectors of FAT and NTFS end so, too.
    mark_at(0x1fe, "a partition table (MBR) or a boot sector", &[0x55, 0xaa]),
];

/// The first byte of an uberblock of ZFS, in the byte order of the machine that wrote it.
const UBERBLOCK: [[u8; 8]; 2] = [[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0xba, 0xb1, 0x0c]];
const ZFS_LABEL: u64 = 256 << 10;

/// Finds out what is on `device`, which has `size` bytes; each name once.
pub fn find_signatures(device: &File, size: u64) -> io::Result<Vec<&'static str>> {
    let mut names = Vec::new();
    for signature in SIGNATURES {
        let offset = match signature.at {
            MarkPlace::Start(offset) => Some(offset),
            MarkPlace::End(of) => of(size),
        };
        if !names.contains(&signature.name) && has_mark(device, size, offset, signature.mark)? {
            names.push(signature.name);
        }
    }
    if is_zfs(device, size)? {
        names.push(ZFS);
    }
    Ok(names)
}

fn has_mark(device: &File, size: u64, offset: Option<u64>, mark: &[u8]) -> io::Result<bool> {
    let Some(offset) = offset.filter(|offset| offset + mark.len() as u64 <= size) else { return Ok(false) };
    let mut read = [0; 32];
    let read = &mut read[..mark.len()];
    device.read_exact_at(read, offset)?;
    Ok(read == mark)
}

/// A pool keeps four labels, two at each end; the second half of each holds its uberblocks, at multiples of 1 KiB.
fn is_zfs(device: &File, size: u64) -> io::Result<bool> {
    let end = size & !(ZFS_LABEL - 1);
    let labels = [Some(0), Some(ZFS_LABEL), end.checked_sub(2 * ZFS_LABEL), end.checked_sub(ZFS_LABEL)];
    let mut uberblocks = vec![0; ZFS_LABEL as usize / 2];
    for label in labels.into_iter().flatten().filter(|label| label + ZFS_LABEL <= size) {
        device.read_exact_at(&mut uberblocks, label + ZFS_LABEL / 2)?;
        if uberblocks.chunks(1024).any(|slot| UBERBLOCK.iter().any(|mark| slot.starts_with(mark))) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(size: u64, offset: u64, mark: &[u8]) -> Vec<&'static str> {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        file.write_all_at(mark, offset).unwrap();
        find_signatures(&file, size).unwrap()
    }

    #[test]
    fn nothing_stands_on_an_empty_device_of_any_size() {
        for size in [0, 1, 511, 512, 4096, 1 << 16, 1 << 20, (1 << 20) + 512] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(size).unwrap();
            assert_eq!(find_signatures(&file, size).unwrap(), Vec::<&str>::new(), "{size}");
        }
    }

    #[test]
    fn every_mark_is_found_at_its_place() {
        const SIZE: u64 = (3 << 20) + 512;
        for signature in SIGNATURES {
            let offset = match signature.at {
                MarkPlace::Start(offset) => offset,
                MarkPlace::End(of) => of(SIZE).unwrap(),
            };
            assert_eq!(marked(SIZE, offset, signature.mark), [signature.name], "{offset}");
        }
    }

    #[test]
    fn a_pool_is_known_by_any_uberblock_of_any_label() {
        const SIZE: u64 = 4 << 20;
        for offset in [128 << 10, (255 << 10) + ZFS_LABEL, SIZE - (100 << 10), SIZE - ZFS_LABEL - (1 << 10)] {
            for mark in UBERBLOCK {
                assert_eq!(marked(SIZE, offset, &mark), [ZFS], "{offset}");
            }
        }
        assert_eq!(marked(SIZE, 127 << 10, &UBERBLOCK[0]), Vec::<&str>::new(), "not among the uberblocks");
    }
}
