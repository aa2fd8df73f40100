//! The instance of an SQL server: started in a directory of plimsoll's own, or visited by its URL; told, asked and started anew.
//!
//! In: what one kind of server has of its own ([`SqlServer`]: programs, arguments, words for tables and settings). Out: an
//! [`Instance`]. Limits: one connection asks everything beside the load, and never while clients wait; a server of others is never
//! ended, started or configured.

use super::between::{Beginnings, Between};
use super::chore::{self, Chores, Unpaid};
use super::crowd::Polled;
use super::manner::{self, Manner, Threads};
use super::sql::{Connect, Failure, Tally, connections, failed, loading, program_of};
use super::{Instance, Loading, MadeFor, Start, loaders_for};
use crate::dataset::DataDir;
use crate::error::{TargetError, shown};
use crate::server::home::{Home, Socket};
use crate::server::place::{Foreign, Place};
use crate::server::program::Program;
use crate::server::variables::{Rules, Variables};
use model::{Bytes, CounterSource, Fact, Params, SqlOp, Trial};
use rustix::process::Signal;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use workload::{Beside, Kind, Part, Table, Work};

/// Counting rows and flushing take as long as they take, and the load may leave much to be written out.
const KEEPER_PATIENCE: Duration = Duration::from_secs(600);

/// What is the same for all servers of a kind.
pub struct Own {
    /// What a private one is called: in messages, as its directory, before the dot of its facts.
    pub name: &'static str,
    /// As whom it runs where plimsoll is root.
    pub user: &'static str,
    /// Its program,
    pub program: Program,
    /// and the one that makes its files.
    pub install: Program,
    /// Its socket, in its directory.
    pub socket: &'static str,
    /// What ends it at once with all that it has started,
    pub killed_by: Signal,
    /// and what asks it to end in order, without waiting for clients.
    pub ended_by: Signal,
    /// What plans may say of it.
    pub rules: Rules,
    /// The variable that is its version.
    pub version: &'static str,
    /// How a connection is asked for its isolation level. Servers know one or the other.
    pub isolation: &'static [&'static str],
    /// How the server is asked what the tables take.
    pub table_bytes: &'static str,
}

/// A connection over which a server is told and asked beside the load.
pub trait Link: Send + 'static {
    /// Has `statement` performed.
    fn run(&mut self, statement: &str) -> Result<(), Failure>;
    /// The rows that answer `question`, each value as text.
    fn rows(&mut self, question: &str) -> Result<Vec<Vec<Option<String>>>, Failure>;
    /// The number that answers `question`, which may take as long as a statement; 0 if it has no row.
    fn number_patiently(&mut self, question: &str) -> Result<u64, Failure>;

    /// The last value of the answer's first row.
    fn value(&mut self, question: &str) -> Result<Option<String>, Failure> {
        Ok(self.rows(question)?.into_iter().next().and_then(|row| row.into_iter().last()?))
    }
}

/// What one kind of server has of its own.
pub trait SqlServer: Clone + Send + Sync + 'static {
    /// Where a server is, and as whom to come there.
    type Address: Clone + Send + Sync + 'static;
    /// A connection beside the load.
    type Link: Link;
    /// How clients connect.
    type Connect: Connect<Session: Polled>;

    /// What is the same for all of the kind.
    const OWN: &'static Own;

    /// Refuses what cannot be done for `trial`, or not here.
    fn check(&self, trial: &Trial) -> Result<(), TargetError>;
    /// For the program that makes the files in `data`.
    fn install_arguments(&self, data: &Path, variables: &Variables) -> Vec<OsString>;
    /// For the server on them.
    fn arguments(&self, data: &Path, params: &Params, variables: &Variables) -> Vec<OsString>;
    /// The server behind a private socket.
    fn private(socket: Socket, shown: String) -> Self::Address;
    /// Makes in a new server what tables are made in, and says where that is.
    fn settle(link: &mut Self::Link, address: Self::Address) -> Result<Self::Address, Failure>;
    /// Makes a schema on the server of somebody else that `params` name.
    fn visit(params: &Params) -> Result<(Self::Address, Self::Link, Foreign), TargetError>;
    /// A connection that gives up after `patience` without an answer.
    fn link(address: &Self::Address, patience: Duration) -> Result<Self::Link, Failure>;
    /// The server, for messages.
    fn shown(address: &Self::Address) -> &str;
    /// Clients that say `statements` in their `manner`,
    fn connect(address: Self::Address, statements: Arc<[String]>, manner: Manner) -> Self::Connect;
    /// and a connection as theirs are.
    fn link_of(connect: &Self::Connect) -> Result<Self::Link, Failure>;
    /// The question for the value of a variable.
    fn variable(name: &str) -> String;
    /// The variables that are read back as facts.
    fn variables(&self) -> &'static [&'static str];
    /// The word of durability that the variables amount to, by their values.
    fn durability(&self, value: &dyn Fn(&str) -> String) -> &'static str;
    /// `name` as an identifier.
    fn quoted(name: &str) -> String;
    /// The statements that make `table` with its indexes,
    fn create(&self, table: &Table) -> Vec<String>;
    /// and those that make the indexes of one that is there without them.
    fn indexes(table: &Table) -> Vec<String>;
    /// Writes out what was put off for `tables`, as far as that can be asked of a server that is not `private`; what is left where
    /// it makes no progress any more.
    fn bring_to_rest(&self, link: &mut Self::Link, tables: &[String], private: bool) -> Result<Bytes, Failure>;
    /// Refuses so many connections where the server, which says how many it takes at most, would turn some away.
    fn check_connections(_clients: u32, _most: Option<String>) -> Result<(), TargetError> {
        Ok(())
    }
    /// The counters that it keeps of itself.
    fn sources(&self, address: &Self::Address) -> Vec<Box<dyn CounterSource>>;
}

/// A server with the data that was made on it.
pub struct Served<S: SqlServer> {
    server: S,
    /// Counts rows and reads settings back, never while clients wait.
    keeper: RefCell<S::Link>,
    address: S::Address,
    tables: Vec<String>,
    /// Of the data that is made.
    seed: u64,
    tally: Arc<Tally>,
    unpaid: Unpaid,
    made_for: MadeFor,
    /// That the plan sets.
    variables: Variables,
    /// What points begin with, and what a private server is started with for it.
    begins: Beginnings,
    params: Params,
    /// Of the clients of the last trial, or the first.
    manner: Manner,
    place: Place,
}

impl<S: SqlServer> Served<S> {
    /// Starts `server` in a directory of its own.
    pub fn start(server: S, start: &Start) -> Result<Self, TargetError> {
        server.check(start.trial)?;
        let (own, params) = (S::OWN, &start.trial.target.params);
        let variables = own.rules.variables(params);
        let blamed = |error| own.rules.blamed(&variables, error);
        let dir = DataDir::create(start.parent, start.data, start.trial.seed)?;
        let mut home = Home::make(dir, own.name, own.user, own.killed_by)?.held_in(start.cage);
        home.set_up(own.install.needed()?, server.install_arguments(home.data(), &variables)).map_err(blamed)?;
        let address = S::private(home.socket(own.socket), format!("{} in `{}`", own.name, shown(home.dir.path())));
        let mut keeper = launch(&server, &mut home, &address, params, &variables).map_err(blamed)?;
        let said = S::shown(&address).to_owned();
        let address = S::settle(&mut keeper, address).map_err(|failure| failed(&said, failure))?;
        let (place, begins) = (Place::Private(Box::new(home)), Beginnings::of(params));
        let made = Served { variables, begins, ..Served::at(server, start, address, keeper, place) };
        own.rules.known(&made.variables, |name| made.variable(name)).map(|()| made)
    }

    /// Makes a schema on a server that somebody else runs.
    pub fn visit(server: S, start: &Start) -> Result<Self, TargetError> {
        let (address, keeper, foreign) = S::visit(&start.trial.target.params)?;
        Ok(Served::at(server, start, address, keeper, Place::Foreign(foreign)))
    }

    /// A server that runs and is left as it is.
    fn at(server: S, start: &Start, address: S::Address, keeper: S::Link, place: Place) -> Self {
        Served {
            server,
            keeper: RefCell::new(keeper),
            address,
            tables: Vec::new(),
            seed: start.trial.seed,
            tally: Arc::default(),
            unpaid: Unpaid::default(),
            made_for: MadeFor::new(start),
            variables: Variables::default(),
            begins: Beginnings::unchanged(),
            params: start.trial.target.params.clone(),
            manner: Manner::of(start.trial),
            place,
        }
    }

    /// Ends the server, in order where its data is to stay, does `meanwhile` to its directory, and starts it again.
    fn restart(
        &mut self,
        in_order: bool,
        meanwhile: fn(&mut Beginnings, &mut DataDir, &Path) -> Result<(), TargetError>,
    ) -> Result<(), TargetError> {
        let Place::Private(home) = &mut self.place else { return Ok(()) };
        home.end(in_order.then_some(S::OWN.ended_by))?;
        let data = home.data().to_owned();
        meanwhile(&mut self.begins, &mut home.dir, &data)?;
        self.keeper = RefCell::new(launch(&self.server, home, &self.address, &self.params, &self.variables)?);
        Ok(())
    }

    fn all(
        &self,
        manner: Manner,
        statements: Vec<String>,
        part: &Part<SqlOp>,
        beside: Option<&Beside<SqlOp>>,
        kinds: &[Kind],
        clients: u32,
    ) -> Loading {
        let connect = S::connect(self.address.clone(), statements.into(), manner);
        loading(part, beside, kinds, clients, &connect, &self.tally)
    }

    fn run(&self, statement: &str) -> Result<(), TargetError> {
        self.keeper.borrow_mut().run(statement).map_err(|failure| self.failed(failure))
    }

    fn number(&self, question: &str) -> Result<u64, TargetError> {
        self.keeper.borrow_mut().number_patiently(question).map_err(|failure| self.failed(failure))
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.keeper.borrow_mut().value(&S::variable(name)).ok().flatten()
    }

    /// The level at which the clients' transactions are, as the server has it.
    fn isolation(&self) -> Option<String> {
        let connect = S::connect(self.address.clone(), [].into(), self.manner.clone());
        let mut link = S::link_of(&connect).ok()?;
        let told = S::OWN.isolation.iter().find_map(|question| link.value(question).ok()?);
        told.map(|told| manner::isolation_word(&told))
    }

    /// Counted and not assumed: what is sealed is what is there.
    fn count_rows(&self) -> Result<u64, TargetError> {
        let count = |table: &String| self.number(&format!("SELECT count(*) FROM {}", S::quoted(table)));
        self.tables.iter().try_fold(0u64, |rows, table| Ok(rows.saturating_add(count(table)?)))
    }

    /// What clients need to do other work on the data than statements.
    fn chores(&self, work: Work) -> ServerChores<S> {
        ServerChores {
            server: self.server.clone(),
            address: self.address.clone(),
            tables: self.tables.clone().into(),
            private: self.place.is_private(),
            unpaid: self.unpaid.clone(),
            work: work.into(),
        }
    }

    fn failed(&self, failure: Failure) -> TargetError {
        failed(S::shown(&self.address), failure)
    }
}

/// Starts the server of `home` and connects to it.
fn launch<S: SqlServer>(
    server: &S,
    home: &mut Home,
    address: &S::Address,
    params: &Params,
    variables: &Variables,
) -> Result<S::Link, TargetError> {
    let arguments = server.arguments(home.data(), params, variables);
    let answers = || S::link(address, KEEPER_PATIENCE).map(drop).map_err(|failure| failure.text);
    home.start(S::OWN.program.needed()?, arguments, answers)?;
    S::link(address, KEEPER_PATIENCE).map_err(|failure| failed(S::shown(address), failure))
}

impl<S: SqlServer> Instance for Served<S> {
    fn facts(&self) -> Vec<Fact> {
        let value = |name: &str| self.variable(name).unwrap_or("unknown".into());
        let (own, durability) = (S::OWN, self.server.durability(&value));
        let mut facts = vec![Fact::new("engine.version", value(own.version)), Fact::new("durability", durability)];
        let known = self.server.variables().iter().filter_map(|name| Some((name, self.variable(name)?)));
        facts.extend(known.map(|(name, value)| Fact::new(format!("{}.{name}", own.rules.server), value)));
        let told = |fact: &Fact| facts.iter().any(|known| known.name == fact.name);
        let set = own.rules.facts(&self.variables, |name| self.variable(name));
        let set: Vec<Fact> = set.into_iter().filter(|fact| !told(fact)).collect();
        facts.extend(set);
        facts.push(Fact::new("isolation", self.isolation().unwrap_or("unknown".into())));
        facts.extend(self.place.facts());
        facts.extend(self.begins.facts());
        facts.extend(self.manner.facts());
        facts
    }

    fn closing_facts(&self) -> Vec<Fact> {
        let ended = self.place.facts().into_iter().filter(|fact| fact.name == "server.ended");
        self.tally.facts().into_iter().chain(ended).chain(self.unpaid.told()).collect()
    }

    fn loaders(&mut self, trial: &Trial) -> Result<Option<Loading>, TargetError> {
        let program = program_of(trial, &self.made_for.carried);
        for table in &program.schema {
            self.server.create(table).iter().try_for_each(|statement| self.run(statement))?;
            self.tables.push(table.name.clone());
        }
        let Some(load) = &program.load else { return Ok(None) };
        let manner = Manner::of_loaders(trial);
        Ok(Some(self.all(manner, program.load_statements, load, None, &program.kinds, loaders_for(load.ops))))
    }

    fn loaded(&mut self) -> Result<(), TargetError> {
        let private = self.place.is_private();
        let brought = self.server.bring_to_rest(&mut self.keeper.borrow_mut(), &self.tables, private);
        self.unpaid.set(brought.map_err(|failure| self.failed(failure))?);
        let rows = self.count_rows()?;
        if self.begins.between != Between::Keep {
            self.restart(true, Beginnings::loaded)?;
        }
        self.place.seal(rows, self.seed)
    }

    fn facts_of_load(&self) -> Vec<Fact> {
        self.begins.facts_of_load()
    }

    fn restores(&self) -> bool {
        self.begins.restores()
    }

    fn begin_again(&mut self, continues: bool) -> Result<(), TargetError> {
        if !self.begins.changes(continues, &mut self.made_for) {
            return Ok(());
        }
        self.restart(!self.restores(), |begins, _, data| begins.again(data))
    }

    fn clients(&mut self, trial: &Trial) -> Result<Loading, TargetError> {
        self.made_for.check_on(&self.place, trial)?;
        let program = program_of(trial, &self.made_for.carried);
        S::check_connections(connections(trial, &program), self.variable("max_connections"))?;
        self.manner = Manner::of(trial);
        if program.work != Work::Calls {
            self.manner.threads = Threads::Each;
            return Ok(chore::loading(&program.run, &program.kinds, trial.load.clients, &self.chores(program.work)));
        }
        let (run, beside) = (&program.run, program.beside.as_ref());
        Ok(self.all(self.manner.clone(), program.statements, run, beside, &program.kinds, trial.load.clients))
    }

    fn processes(&self) -> Vec<u32> {
        self.place.processes()
    }

    fn sources(&self) -> Vec<Box<dyn CounterSource>> {
        self.server.sources(&self.address)
    }

    fn warnings(&self) -> Vec<String> {
        let set = S::OWN.rules.warnings(&self.variables, |name| self.variable(name));
        self.place.warnings().into_iter().chain(set).collect()
    }

    fn trouble(&self) -> Option<String> {
        self.place.trouble(self.tally.has_lost())
    }

    fn footprint(&self) -> Bytes {
        self.place.footprint(|| Bytes(self.number(S::OWN.table_bytes).unwrap_or_default()))
    }

    fn rows(&self) -> Option<u64> {
        self.place.rows()
    }

    fn log_footprint(&self) -> Option<Bytes> {
        self.place.log_footprint()
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        // The data goes with it, so it need not shut down in order: it is killed, which takes milliseconds.
        self.place.remove()
    }
}

/// What clients do but statements.
#[derive(Clone)]
struct ServerChores<S: SqlServer> {
    server: S,
    address: S::Address,
    tables: Arc<[String]>,
    private: bool,
    unpaid: Unpaid,
    work: Arc<Work>,
}

impl<S: SqlServer> Chores for ServerChores<S> {
    type Op = SqlOp;
    type Open = S::Link;

    fn engine(&self) -> String {
        S::shown(&self.address).to_owned()
    }

    fn open(&self) -> Result<S::Link, Failure> {
        S::link(&self.address, chore::PATIENCE)
    }

    fn perform(&self, link: &mut S::Link, op: &SqlOp) -> Result<(), Failure> {
        match &*self.work {
            Work::Calls => unreachable!("statements have clients of their own"),
            Work::Drain => {
                self.unpaid.set(self.server.bring_to_rest(link, &self.tables, self.private)?);
                Ok(())
            }
            Work::Indexes(tables) => {
                let mut asked = op.calls.iter().flat_map(|call| S::indexes(&tables[call.statement as usize]));
                asked.try_for_each(|statement| link.run(&statement))
            }
        }
    }
}
