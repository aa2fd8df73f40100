//! Disks to do harm to: loop devices on sparse files, with real file systems on them.
//!
//! In: a size. Out: a block device, a mount. Limits: they need root, and say so instead of passing; all of it goes with its owner.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A loop device on a file of its own.
pub struct Disk {
    dir: tempfile::TempDir,
    pub node: String,
}

/// A disk with a file system, mounted.
pub struct Mounted {
    at: PathBuf,
    disk: Disk,
}

/// Runs a program that must succeed, and gives its output.
pub fn done(program: &str, arguments: &[&str]) -> String {
    assert!(rustix::process::geteuid().is_root(), "this test makes disks: run it as root");
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("`{program}` is needed: {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

impl Disk {
    /// An empty disk.
    pub fn new(mib: u64) -> Disk {
        Disk::with_blocks(mib, "512")
    }

    /// An empty disk with logical blocks of that many bytes.
    pub fn with_blocks(mib: u64, bytes: &str) -> Disk {
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().join("image");
        File::create(&image).unwrap().set_len(mib << 20).unwrap();
        let node =
            done("losetup", &["--find", "--show", "--sector-size", bytes, image.to_str().unwrap()]).trim().to_owned();
        Disk { dir, node }
    }

    /// An empty disk on which `program` has put something.
    pub fn with(mib: u64, program: &str, arguments: &[&str]) -> Disk {
        let disk = Disk::new(mib);
        done(program, &[arguments, &[&disk.node]].concat());
        disk
    }

    /// `DEV=IDENTITY`: a loop device is known by the name of its file.
    pub fn consent(&self) -> String {
        format!("{}=image", self.node)
    }

    /// The checksum and the size of all that is on it, by a program that is not a debug build.
    pub fn checksum(&self) -> String {
        done("blockdev", &["--flushbufs", &self.node]);
        done("cksum", &[self.image().to_str().unwrap()])
    }

    /// The file that it is on.
    pub fn image(&self) -> PathBuf {
        self.dir.path().join("image")
    }

    /// Mounts it.
    pub fn mount(self) -> Mounted {
        let at = self.dir.path().join("mnt");
        std::fs::create_dir(&at).unwrap();
        done("mount", &[&self.node, at.to_str().unwrap()]);
        Mounted { at, disk: self }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        done("losetup", &["--detach", &self.node]);
    }
}

impl Mounted {
    pub fn path(&self) -> &Path {
        &self.at
    }

    pub fn text(&self) -> &str {
        self.at.to_str().unwrap()
    }

    pub fn disk(&self) -> &Disk {
        &self.disk
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        done("umount", &["--lazy", self.at.to_str().unwrap()]);
    }
}

/// Does `work` on a thread with mounts of its own: what a killed plimsoll leaves mounted there is removed by those that the test starts, and by
/// none of another test.
pub fn with_own_mounts<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let on_thread = || {
        // SAFETY: only the mounts of this thread become its own, with its working directory; no descriptor does.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNS) }, 0, "{}", std::io::Error::last_os_error());
        done("mount", &["--make-rprivate", "/"]);
        // The copies of other tests' mounts would hold their devices.
        for other in mounts_in(Path::new("/")).iter().rev().filter(|point| point.contains("plimsoll-data-")) {
            done("umount", &["--lazy", other]);
        }
        work()
    };
    std::thread::scope(|scope| scope.spawn(on_thread).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// What is mounted in `dir`, as this thread sees it.
pub fn mounts_in(dir: &Path) -> Vec<String> {
    let mounts = std::fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4).map(str::to_owned));
    points.filter(|point| Path::new(point).starts_with(dir)).collect()
}

/// The loop devices on files in `dir`.
pub fn loops_in(dir: &Path) -> Vec<String> {
    let attached = done("losetup", &["--list", "--noheadings", "--output", "NAME,BACK-FILE"]);
    attached.lines().filter(|line| line.contains(dir.to_str().unwrap())).map(str::to_owned).collect()
}
