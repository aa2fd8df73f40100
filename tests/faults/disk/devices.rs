//! Block devices that must not be written.

use super::places::{SHORT, SMALL, is_root, refused};
use crate::disks::{Disk, done};
use crate::lab::{Finished, Lab};

fn writes<'a>(node: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["file", "--path", node, "--mode", "rndwr", "--quiet"], &SMALL[..], &SHORT, more].concat()
}

/// One kind after the other, and last a partition table. Nothing of what they hold is changed.
pub fn holds_something(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let makers: [(&str, &[&str], &str); 4] = [
        ("mkfs.ext4", &["-q"], "an ext2, ext3 or ext4 file system"),
        ("mkfs.xfs", &["-q"], "an XFS file system"),
        ("mkfs.btrfs", &["-q"], "a btrfs file system"),
        ("mkswap", &["-q"], "a swap area"),
    ];
    let made = makers.map(|(program, arguments, name)| (Disk::with(320, program, arguments), name));
    let partitioned = Disk::new(320);
    let script = format!("printf 'label: gpt\\n,\\n' | sfdisk -q --no-reread --no-tell-kernel {}", partitioned.node);
    done("sh", &["-c", &script]);
    let disks = made.iter().map(|(disk, name)| (disk, *name)).chain([(&partitioned, "a partition table (GPT)")]);
    disks.fold(None, |_, (disk, name)| {
        let before = disk.checksum();
        let flag = format!("--destroy {}", disk.consent());
        refused(lab, &writes(&disk.node, &[]), 3, &[&disk.node, "320 MiB", name, &flag]);
        let other = format!("{}=WD-4711", disk.node);
        let finished = refused(lab, &writes(&disk.node, &["--destroy", &other]), 3, &[name, &flag]);
        assert_eq!(disk.checksum(), before, "{name}");
        Some(finished)
    })
}

pub fn is_in_use(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let mounted = Disk::with(320, "mkfs.ext4", &["-q"]).mount();
    let consent = mounted.disk().consent();
    refused(lab, &writes(&mounted.disk().node, &["--destroy", &consent]), 3, &["is mounted", mounted.text()]);
    let swap = Disk::with(64, "mkswap", &["-q"]);
    done("swapon", &[&swap.node]);
    let finished = lab.run(&writes(&swap.node, &["--destroy", &swap.consent()]));
    done("swapoff", &[&swap.node]);
    assert!(finished.exit == 3 && finished.stderr.contains("is used for swap"), "{}", finished.stderr);
    // Part of a file system over two devices: only the kernel's own claim shows the second.
    let (first, second) = (Disk::new(256), Disk::new(256));
    done("mkfs.btrfs", &["-q", &first.node, &second.node]);
    let both = first.mount();
    let finished = refused(lab, &writes(&second.node, &["--destroy", &second.consent()]), 3, &["exclusively"]);
    drop(both);
    Some(finished)
}

pub fn holds_run_files(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let runs = Disk::with(320, "mkfs.ext4", &["-q"]).mount();
    let (node, consent) = (runs.disk().node.clone(), runs.disk().consent());
    let more = ["--destroy", &consent, "--runs", runs.text()];
    Some(refused(lab, &writes(&node, &more), 3, &["holds `", runs.text()]))
}

/// In the plan, by `--set`, and by a variable of the environment.
pub fn is_consented_to_by_a_plan(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let disk = Disk::new(64);
    let plan = format!("workload = 'file'\nmode = 'rndwr'\npath = '{}'\nfile_size = '32MiB'\n", disk.node);
    let path = lab.path().join("p.toml");
    std::fs::write(&path, format!("{plan}destroy = '{}'\n", disk.consent())).unwrap();
    let finished = lab.run(&["run", "p.toml"]);
    assert!(finished.exit == 2 && finished.stderr.contains("p.toml:5: unknown key `destroy`"), "{}", finished.stderr);
    let finished = lab.run(&["run", "p.toml", "--set", &format!("destroy={}", disk.consent())]);
    assert_eq!(finished.exit, 2, "{}", finished.stderr);
    std::fs::write(&path, plan).unwrap();
    let mut command = lab.command(&["run", "p.toml", "--time", "300ms"]);
    Some(command.env("PLIMSOLL_DESTROY", disk.consent()).output().unwrap().into())
}

pub fn is_behind_a_link(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let disk = Disk::new(64);
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("by-id");
    std::os::unix::fs::symlink(&disk.node, &link).unwrap();
    let finished = lab.run(&[&["file", "--path", link.to_str().unwrap()], &SMALL[..], &SHORT].concat());
    assert!(finished.stderr.contains(&disk.node), "what it leads to is named: {}", finished.stderr);
    Some(finished)
}

pub fn has_larger_blocks(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let disk = Disk::with_blocks(64, "4096");
    let flags = [&["file", "--path", &disk.node, "--block", "512"], &SMALL[..], &SHORT].concat();
    let finished = lab.run(&flags);
    let other = Lab::new();
    other.json(&[&flags[..3], &["--block", "4KiB"], &SMALL[..], &SHORT].concat());
    Some(finished)
}
