//! Tests of changes to settings, on files of their own in place of sysfs.

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Files as sysfs has them. A scheduler's file shows the chosen word in brackets; these do so after [`FakeSystem::settle`].
struct FakeSystem {
    dir: tempfile::TempDir,
}

impl FakeSystem {
    fn new() -> FakeSystem {
        let system = FakeSystem { dir: tempfile::tempdir().unwrap() };
        system.write(SMT, "on\n");
        system.write("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
        system.write("sys/class/block/sda/queue/scheduler", "none [mq-deadline] kyber\n");
        system.write("sys/class/block/sda/diskseq", "7\n");
        fs::create_dir(system.dir.path().join("state")).unwrap();
        system
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.dir.path().join(path)).unwrap().trim().to_owned()
    }

    fn smt(&self) -> String {
        self.read(SMT)
    }

    fn places(&self) -> SystemPlaces {
        SystemPlaces { sys: self.dir.path().join("sys"), state: self.dir.path().join("state") }
    }

    fn changes(&self) -> SystemChanges {
        SystemChanges { places: self.places(), made: None, of_killed_run: Vec::new() }
    }

    fn wanted(&self, smt: Switch) -> Vec<WantedValue> {
        let setup = MachineSetup { smt: Some(smt), ..MachineSetup::default() };
        wanted_below(&self.places().sys, &setup, &[]).unwrap()
    }

    /// A manifest as a killed process leaves it.
    fn leave_manifest(&self, text: &str) {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        self.write("state/system-changes.json", &text.replace("BOOT", boot.trim()));
    }

    fn has_manifest(&self) -> bool {
        self.dir.path().join("state/system-changes.json").exists()
    }

    /// What the next start does, as root.
    fn start_again(&self) -> Vec<String> {
        let state = LockedState::lock(&self.places().state).unwrap().expect("no other has it");
        put_back_found(&self.places(), &state).0
    }

    /// Makes the control of SMT a file that can be read and not be written: plimsoll follows no symlink when it writes.
    fn refuse_writes_of_smt(&self) {
        let control = self.dir.path().join(SMT);
        fs::rename(&control, self.dir.path().join("behind")).unwrap();
        std::os::unix::fs::symlink(self.dir.path().join("behind"), control).unwrap();
    }

    fn allow_writes_of_smt(&self) {
        fs::rename(self.dir.path().join("behind"), self.dir.path().join(SMT)).unwrap();
    }
}

const SMT: &str = "sys/devices/system/cpu/smt/control";

const OF_SMT: &str = r#"{"format":1,"made_by":"plimsoll","boot":"BOOT","process":1,
    "changes":[{"setting":"smt","before":"on","written":["off"]}]}"#;

#[test]
fn a_change_is_announced_and_put_back() {
    let system = FakeSystem::new();
    let mut changes = system.changes();
    assert_eq!(changes.apply(&system.wanted(Switch::Off)).unwrap(), [""; 0]);
    assert!(system.read("state/system-changes.json").contains(r#""before": "on""#));
    assert_eq!(system.smt(), "off");
    assert_eq!(changes.apply(&[]).unwrap(), [""; 0]);
    assert_eq!((system.smt().as_str(), system.has_manifest()), ("on", false));
    changes.apply(&system.wanted(Switch::Off)).unwrap();
    drop(changes);
    assert_eq!((system.smt().as_str(), system.has_manifest()), ("on", false));
}

#[test]
fn what_is_so_already_is_no_change() {
    let system = FakeSystem::new();
    system.changes().apply(&system.wanted(Switch::On)).unwrap();
    assert!(!system.has_manifest() && !system.dir.path().join("state/system-changes.lock").exists());
}

#[test]
fn a_value_that_another_program_has_set_is_left() {
    let system = FakeSystem::new();
    system.write("sys/devices/system/cpu/intel_pstate/no_turbo", "1");
    let text = OF_SMT.replace(r#""smt""#, r#""no-turbo""#).replace("on\"", "1\"").replace("off", "0");
    system.leave_manifest(&text.replace("\"written\":[\"0\"]", "\"written\":[\"x\"]").replace("\"1\"", "\"0\""));
    let left = system.start_again();
    assert_eq!(left, ["turbo was left at `off`: another program has changed it since plimsoll did"]);
    assert_eq!(system.read("sys/devices/system/cpu/intel_pstate/no_turbo"), "1");
    assert!(!system.has_manifest(), "it is the other program's from now on");
}

#[test]
fn what_is_changed_can_be_read_by_root_and_its_group_only_also_if_it_was_open_before() {
    let system = FakeSystem::new();
    let mode = |path: &str| fs::metadata(system.dir.path().join(path)).unwrap().permissions().mode() & 0o777;
    for _ in 0..2 {
        let mut changes = system.changes();
        changes.apply(&system.wanted(Switch::Off)).unwrap();
        assert_eq!((mode("state"), mode("state/system-changes.json")), (0o750, 0o640));
        changes.undo();
        fs::set_permissions(system.places().state, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_killed_run_is_undone_by_the_next_start_once() {
    let system = FakeSystem::new();
    system.write(SMT, "off\n");
    system.leave_manifest(OF_SMT);
    let said = system.start_again();
    assert_eq!(said, ["put back what a run that was killed had changed: SMT from `off` to `on`"]);
    assert_eq!((system.smt().as_str(), system.start_again().len()), ("on", 0));
}

#[test]
fn what_cannot_be_put_back_now_is_put_back_by_a_later_start() {
    let system = FakeSystem::new();
    system.write(SMT, "off\n");
    system.write("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
    let turbo = r#"{"setting":"no-turbo","before":"0","written":["1"]}"#;
    system.leave_manifest(&OF_SMT.replace("}]}", &format!("}},{turbo}]}}")));
    system.refuse_writes_of_smt();
    for attempt in ["first", "second"] {
        let said = system.start_again();
        assert!(said.iter().any(|line| line.starts_with("SMT is still `off` and not `on`: ")), "{attempt}: {said:?}");
        let kept = system.read("state/system-changes.json");
        assert!(kept.contains(r#""smt""#) && !kept.contains("no-turbo"), "only what failed is kept: {kept}");
    }
    system.allow_writes_of_smt();
    assert_eq!(system.start_again(), ["put back what a run that was killed had changed: SMT from `off` to `on`"]);
    assert_eq!((system.smt().as_str(), system.has_manifest()), ("on", false));
}

#[test]
fn what_a_run_cannot_put_back_at_its_end_is_put_back_by_the_next_start() {
    let system = FakeSystem::new();
    let mut changes = system.changes();
    changes.apply(&system.wanted(Switch::Off)).unwrap();
    changes.apply(&[system.wanted(Switch::Off), vec![(KernelSetting::NoTurbo, "1")]].concat()).unwrap();
    system.refuse_writes_of_smt();
    let left = changes.undo();
    assert!(left.len() == 1 && left[0].starts_with("SMT is still `off` and not `on`: "), "{left:?}");
    assert_eq!(system.read("sys/devices/system/cpu/intel_pstate/no_turbo"), "0", "the others are put back");
    drop(changes);
    assert!(system.has_manifest());
    system.allow_writes_of_smt();
    assert_eq!(system.start_again(), ["put back what a run that was killed had changed: SMT from `off` to `on`"]);
    assert_eq!((system.smt().as_str(), system.has_manifest()), ("on", false));
}

#[test]
fn a_run_that_changes_settings_takes_over_what_a_killed_one_left_and_it_cannot_put_back() {
    let system = FakeSystem::new();
    system.write(SMT, "off\n");
    system.leave_manifest(OF_SMT);
    system.refuse_writes_of_smt();
    let mut changes = system.changes();
    let said = changes.apply(&[(KernelSetting::NoTurbo, "1")]).unwrap();
    assert!(said.len() == 1 && said[0].starts_with("SMT is still `off` and not `on`: "), "{said:?}");
    let kept = system.read("state/system-changes.json");
    assert!(kept.contains(r#""smt""#) && kept.contains("no-turbo"), "{kept}");
    system.allow_writes_of_smt();
    assert_eq!(changes.undo(), [""; 0]);
    assert_eq!((system.smt().as_str(), system.has_manifest()), ("on", false));
}

#[test]
fn a_run_that_changes_settings_reports_what_it_has_put_back_of_a_killed_one() {
    let system = FakeSystem::new();
    system.write(SMT, "off\n");
    system.leave_manifest(OF_SMT);
    let said = system.changes().apply(&[(KernelSetting::NoTurbo, "1")]).unwrap();
    assert_eq!(said, ["put back what a run that was killed had changed: SMT from `off` to `on`"]);
}

#[test]
fn a_kill_between_announcement_and_change_leaves_nothing_to_do() {
    let system = FakeSystem::new();
    system.leave_manifest(OF_SMT);
    assert_eq!((system.start_again(), system.has_manifest()), (vec![], false));
}

#[test]
fn a_manifest_that_others_may_write_is_not_believed() {
    let system = FakeSystem::new();
    system.write(SMT, "off\n");
    system.leave_manifest(OF_SMT);
    let path = system.dir.path().join("state/system-changes.json");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(system.start_again()[0].contains("users other than root may write to it, so it was ignored"));
    assert_eq!(system.smt(), "off");
    for text in ["", "{}", &OF_SMT.replace("\"smt\"", "\"/etc/passwd\""), &OF_SMT.replace("plimsoll", "x")] {
        fs::remove_file(&path).unwrap();
        system.leave_manifest(text);
        assert!(system.start_again()[0].contains("was ignored"), "{text}");
    }
}

#[test]
fn only_files_of_settings_are_written_and_only_with_words_that_the_kernel_offers() {
    let system = FakeSystem::new();
    let sys = system.places().sys;
    for disk in ["../../../etc", "sda/..", ".", "", "a b", "x".repeat(40).as_str()] {
        let setting = KernelSetting::Scheduler { disk: disk.to_owned(), sequence: None };
        assert_eq!((setting.read(&sys), setting.is_there(&sys)), (None, false), "{disk}");
    }
    assert!(KernelSetting::Smt.write(&sys, "forceoff").is_err());
    let text = OF_SMT.replace("\"on\"", "\"forceoff\"");
    system.write(SMT, "off\n");
    system.leave_manifest(&text);
    assert!(system.start_again()[0].starts_with("SMT is still `off` and not `forceoff`: "));
}

#[test]
fn a_disk_that_got_the_name_of_another_is_left() {
    let system = FakeSystem::new();
    let setting = r#"{"scheduler":{"disk":"sda","sequence":6}}"#;
    system.leave_manifest(
        &OF_SMT.replace("\"smt\"", setting).replace("\"off\"", "\"mq-deadline\"").replace("\"on\"", "\"none\""),
    );
    assert_eq!(system.start_again(), [""; 0]);
    assert_eq!(system.read("sys/class/block/sda/queue/scheduler"), "none [mq-deadline] kyber");
}

#[test]
fn one_plimsoll_at_a_time_changes_settings() {
    let system = FakeSystem::new();
    let mut first = system.changes();
    first.apply(&system.wanted(Switch::Off)).unwrap();
    let turbo = [(KernelSetting::NoTurbo, "1")];
    let refused = system.changes().apply(&turbo).unwrap_err();
    assert!(matches!(&refused, TargetError::Unsafe(text) if text.contains("another plimsoll")), "{refused}");
    first.undo();
    system.changes().apply(&turbo).unwrap();
}

#[test]
fn what_cannot_be_had_is_named_with_its_reason() {
    let system = FakeSystem::new();
    let refused = |setup: MachineSetup| wanted_below(&system.places().sys, &setup, &["sda".to_owned()]).unwrap_err();
    let bfq = MachineSetup { scheduler: Some(IoScheduler::Bfq), ..MachineSetup::default() };
    assert!(refused(bfq).starts_with("scheduler = `bfq`: the kernel offers none, mq-deadline, kyber for `sda`"));
    system.write(SMT, "notsupported\n");
    let smt = |smt| MachineSetup { smt: Some(smt), ..MachineSetup::default() };
    assert_eq!(refused(smt(Switch::On)), "smt = `on`: each core of this machine has one thread");
    assert_eq!(wanted_below(&system.places().sys, &smt(Switch::Off), &[]), Ok(vec![]));
    fs::remove_dir_all(system.dir.path().join("sys/devices")).unwrap();
    let turbo = MachineSetup { turbo: Some(Switch::Off), ..MachineSetup::default() };
    assert!(refused(turbo).starts_with("turbo = `off`: this machine has no control of it"));
}
