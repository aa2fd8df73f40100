//! Every engine with every workload and with every word of their parameters: started, loaded, run, stopped.
//!
//! A word that shapes no data is tried on an instance that is there, one trial after the other. Of the words that do shape data, or
//! how a server is started, an instance has one of each parameter. So each word is tried on each engine, in as few instances as that
//! takes. The soak tries each word in an instance of its own, the other parameters being the defaults.

use crate::lab::{
    DEFAULTS, MOMENT, Setting, can_run, directory, exists, fact, load_ops, names_in, pairs, prepare, prepared, run,
    servers, settings, start, trial, with_companions,
};
use engine::{EngineDef, EngineLocation, Instance};
use load::LoadEnd;
use model::{Family, Phase, Trial, Value};
use std::path::Path;
use std::time::Instant;
use workload::{DataReuse, WorkloadDef};

const NOTHING: [String; 0] = [];

/// What is tried on one instance.
struct Life {
    /// What shapes its data and how it is started.
    made_with: Vec<Setting>,
    /// What each run has in addition.
    runs: Vec<Vec<Setting>>,
}

/// An engine and a workload.
#[derive(Clone, Copy)]
struct Pair {
    engine: &'static EngineDef,
    workload: &'static WorkloadDef,
}

impl Pair {
    /// The words that are tried here.
    fn words(self, parent: &Path) -> Vec<Setting> {
        let words = settings(self.engine, self.workload).into_iter().filter(|setting| *setting != DEFAULTS);
        let words = words.filter(|setting| !self.is_tried_elsewhere(*setting));
        words.filter(|setting| can_live(&self.trial(&[*setting]), parent)).collect()
    }

    /// MyRocks gets the same statements as InnoDB, whatever a workload is set to, and `tests/cli/connecting.rs` holds what each server can.
    fn is_tried_elsewhere(self, (name, _): Setting) -> bool {
        let is_of_engine = self.engine.entry.params.iter().any(|def| def.name == name);
        name == "held" || (self.engine.entry.name.ends_with(":rocksdb") && !is_of_engine)
    }

    /// The lives in which every word comes once, as few as can be: an instance that has run with data that it changed for good is at its
    /// end.
    fn lives(self, parent: &Path) -> Vec<Life> {
        let (shaping, free): (Vec<Setting>, Vec<Setting>) =
            self.words(parent).into_iter().partition(|setting| self.shapes_data(*setting));
        // The words of servers are those that are no defaults.
        let defaults = (self.is_server() || shaping.is_empty()).then(Vec::new);
        let made_with = defaults.into_iter().chain(rows_of(&shaping));
        let mut lives: Vec<Life> = made_with.map(|made_with| Life { made_with, runs: vec![vec![]] }).collect();
        let (fresh, shared): (Vec<Setting>, Vec<Setting>) =
            free.into_iter().partition(|setting| self.needs_fresh_data(&[*setting]));
        for setting in shared.into_iter().chain(fresh) {
            let open = lives.iter_mut().find(|life| !life.runs.iter().any(|run| self.needs_fresh_data(run)));
            match open {
                Some(life) => life.runs.push(vec![setting]),
                None => lives.push(Life { made_with: Vec::new(), runs: vec![vec![setting]] }),
            }
        }
        lives
    }

    /// Every word alone, in a life of its own.
    fn lives_of_one_word(self, _: &Path) -> Vec<Life> {
        let settings = settings(self.engine, self.workload).into_iter();
        settings.map(|setting| Life { made_with: vec![setting], runs: vec![vec![]] }).collect()
    }

    /// Whether another instance is needed for `setting`, or for what it needs in addition.
    fn shapes_data(self, setting: Setting) -> bool {
        let mut defs = self.engine.entry.params.iter().chain(self.workload.entry.params);
        defs.any(|def| def.shapes_data && with_companions(setting).iter().any(|(name, _)| *name == def.name))
    }

    fn needs_fresh_data(self, settings: &[Setting]) -> bool {
        (self.workload.data_reuse)(&self.trial(settings).workload.params) == DataReuse::Fresh
    }

    fn trial(self, settings: &[Setting]) -> Trial {
        let all: Vec<Setting> = settings.iter().flat_map(|setting| with_companions(*setting)).chain([MOMENT]).collect();
        trial(self.engine.entry.name, self.workload.entry.name, &all)
    }

    fn is_connecting(self) -> bool {
        self.workload.entry.families == [Family::Connection]
    }

    fn is_server(self) -> bool {
        self.engine.runs == EngineLocation::Server
    }

    /// The life of an instance: started, loaded, run, stopped.
    fn live(self, life: &Life, parent: &Path) {
        let made_for = self.trial(&life.made_with);
        if !can_live(&made_for, parent) {
            return;
        }
        let mut instance = start(&made_for, parent).unwrap();
        load_whole(&mut *instance, &made_for);
        for (nth, more) in life.runs.iter().enumerate() {
            let settings = [&life.made_with[..], more].concat();
            println!("{} {} {settings:?}", self.engine.entry.name, self.workload.entry.name);
            let trial = self.trial(&settings);
            if can_live(&trial, parent) {
                instance = self.run_with_each_count(instance, &trial, nth == 0, parent);
            }
        }
        assert!(fact(&*instance, "engine.version").is_some_and(|version| !version.is_empty()));
        assert_eq!(fact(&*instance, "durability"), made_for.target.params.0.get("durability").map(Value::to_string));
        instance.stop().unwrap();
        assert_eq!(names_in(parent), NOTHING);
    }

    /// Runs `trial` with one client, if it is the `first` on its instance, and with three. Data that a run changes for good is made again in
    /// between.
    fn run_with_each_count(
        self,
        mut instance: Box<dyn Instance>,
        trial: &Trial,
        is_first: bool,
        parent: &Path,
    ) -> Box<dyn Instance> {
        let is_fresh = (self.workload.data_reuse)(&trial.workload.params) == DataReuse::Fresh;
        // The steps of a variant follow one another.
        let has_variant = (self.workload.traits)(&trial.workload.params).variant.is_some();
        let counts: &[u32] = if has_variant {
            &[1]
        } else if !is_first || (self.is_server() && is_fresh) {
            &[3]
        } else {
            &[1, 3]
        };
        for (nth, clients) in counts.iter().enumerate() {
            if is_fresh && nth > 0 {
                instance.stop().unwrap();
                instance = prepared(trial, parent);
            }
            run_with(&mut *instance, trial, *clients);
        }
        instance
    }
}

/// Whether the workload has the trial, and this machine can run it.
fn can_live(trial: &Trial, parent: &Path) -> bool {
    exists(trial) && can_run(trial, parent)
}

/// Rows in which every one of `settings` comes, one word of each parameter in each row. Parameters with fewer words than others begin
/// again with their first.
fn rows_of(settings: &[Setting]) -> Vec<Vec<Setting>> {
    let mut names: Vec<&str> = settings.iter().map(|(name, _)| *name).collect();
    names.dedup();
    let params: Vec<Vec<Setting>> =
        names.iter().map(|name| settings.iter().filter(|(own, _)| own == name).copied().collect()).collect();
    let most = params.iter().map(Vec::len).max().unwrap_or(0);
    let row = |nth: usize| params.iter().map(|words| words[nth % words.len()]).collect();
    (0..most).map(row).collect()
}

fn load_whole(instance: &mut dyn Instance, trial: &Trial) {
    let (outcome, seen) = prepare(instance, trial).unwrap();
    assert_eq!((outcome.ended, outcome.hung), (LoadEnd::AsPlanned, vec![]), "{:?}", seen.events);
    assert_eq!(seen.total(Phase::Prepare), (load_ops(trial).unwrap_or(0), 0));
}

fn run_with(instance: &mut dyn Instance, trial: &Trial, clients: u32) {
    let mut trial = trial.clone();
    trial.load.clients = clients;
    let began = Instant::now();
    let once = || {
        let (outcome, seen) = run(instance, &trial).unwrap();
        let (ok, failed) = seen.total(Phase::Run);
        assert_eq!((outcome.ended, outcome.hung, failed), (LoadEnd::AsPlanned, vec![], 0), "{:?}", seen.events);
        ok
    };
    // Others on the machine can leave no time for one operation.
    let ok = std::iter::repeat_with(once).take(50).find(|ok| *ok > 0).expect("an operation in one of 50 runs");
    assert!(ok <= 300, "{ok} operations of 300");
    println!("  {clients} clients: {:.0} ops/s", ok as f64 / began.elapsed().as_secs_f64());
}

fn all_live(which: impl Fn(&EngineDef) -> bool, lives: fn(Pair, &Path) -> Vec<Life>) {
    let parent = directory();
    let all = pairs().filter(|(engine, _)| which(engine)).map(|(engine, workload)| Pair { engine, workload });
    // The storage of a server has no part in the connections to it.
    let is_tried = |pair: &Pair| !pair.is_connecting() || !pair.engine.entry.name.ends_with(":rocksdb");
    let all = all.filter(is_tried);
    all.for_each(|pair| lives(pair, parent.path()).iter().for_each(|life| pair.live(life, parent.path())));
}

/// All of them at the same time: one after the other they would still go on when all other tests have ended.
fn all_servers_live(lives: fn(Pair, &Path) -> Vec<Life>) {
    std::thread::scope(|scope| {
        for server in servers() {
            scope.spawn(move || all_live(|engine| engine.entry.name == server.entry.name, lives));
        }
    });
}

#[test]
fn every_engine_lives_through_every_workload_with_every_word_of_its_parameters() {
    all_live(|engine| engine.runs != EngineLocation::Server, Pair::lives);
}

#[test]
fn every_server_lives_through_every_workload_with_every_word_of_its_parameters() {
    all_servers_live(Pair::lives);
}

#[test]
#[ignore = "takes some minutes: `cargo xtask soak faults` runs it"]
fn every_engine_lives_with_each_word_alone() {
    all_live(|engine| engine.runs != EngineLocation::Server, Pair::lives_of_one_word);
}

#[test]
#[ignore = "takes some minutes: `cargo xtask soak faults` runs it"]
fn every_server_lives_with_each_word_alone() {
    all_servers_live(Pair::lives_of_one_word);
}

#[test]
fn every_word_comes_in_the_lives_of_its_pair() {
    let parent = directory();
    for (engine, workload) in pairs() {
        let pair = Pair { engine, workload };
        let (words, lives) = (pair.words(parent.path()), pair.lives(parent.path()));
        let tried: Vec<Setting> =
            lives.iter().flat_map(|life| life.made_with.iter().chain(life.runs.iter().flatten())).copied().collect();
        let missing: Vec<&Setting> = words.iter().filter(|word| !tried.contains(word)).collect();
        let name = format!("{} {}", engine.entry.name, workload.entry.name);
        assert!(missing.is_empty(), "{name}: {missing:?}");
        assert!(lives.len() <= words.len() + 1, "{name}: {} lives for {} words", lives.len(), words.len());
    }
}
