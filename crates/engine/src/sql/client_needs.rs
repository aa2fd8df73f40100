//! What the clients of a trial need of their server: connections, prepared statements, open tables.
//!
//! In: a trial with its program, the variables of the server. Out: a refusal that names the variable that is too low, before data is made
//! for clients that the server would turn away. Limits: what other clients of the server take is not known, so clients that fit just barely
//! may be turned away all the same.

use super::program_of;
use super::session_options::SessionOptions;
use crate::connect;
use host::error::TargetError;
use model::Trial;
use workload::{SequenceState, SqlProgram};

/// Connections that plimsoll has apart from those of clients: for control, counters and settings.
pub const OWN_CONNECTIONS: u64 = 5;

/// What clients need of their server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientNeeds {
    pub connections: u64,
    /// What each of them prepares.
    pub statements: u64,
    /// The tables that they use.
    pub tables: u64,
    /// Whether the server is plimsoll's own.
    pub is_private: bool,
}

/// The value of a variable of the server; `None` if it has none of that name, or does not show it.
pub type ReadVariable<'a> = &'a dyn Fn(&str) -> Option<String>;

impl ClientNeeds {
    /// Those of the clients of `trial` before anything of it is made, so that the state of its sequence is the first.
    pub fn of_trial(trial: &Trial, is_private: bool) -> ClientNeeds {
        if connect::is_connecting(trial) {
            // They connect and do nothing else.
            let connections = trial.data_part().of().into();
            return ClientNeeds { connections, statements: 0, tables: 0, is_private };
        }
        ClientNeeds::of_program(trial, &program_of(trial, &SequenceState::default()), is_private)
    }

    /// Those of the clients of `trial` for `program`.
    pub fn of_program(trial: &Trial, program: &SqlProgram, is_private: bool) -> ClientNeeds {
        let prepares = SessionOptions::from_trial(trial).prepares_all();
        ClientNeeds {
            connections: connections_of(trial, program).into(),
            statements: if prepares { program.statements.len() as u64 } else { 0 },
            tables: program.schema.len() as u64,
            is_private,
        }
    }

    /// Refuses more connections than `variable` allows, of which the server keeps `kept` for others.
    pub fn check_connections(&self, variable: &str, kept: u64, value: ReadVariable<'_>) -> Result<(), TargetError> {
        let Some(most) = number_of(variable, value) else { return Ok(()) };
        if self.connections.saturating_add(kept) <= most {
            return Ok(());
        }
        let clients = self.connections;
        Err(TargetError::Unsupported(format!(
            "{clients} clients do not fit: the server takes {variable} = `{most}`, of which {kept} are kept; {}",
            self.advice(
                "raise it if you set it, or the limit of open files (`ulimit -n`), or use fewer clients",
                "use fewer clients"
            )
        )))
    }

    /// Refuses more prepared statements than `variable` allows.
    pub fn check_statements(&self, variable: &str, value: ReadVariable<'_>) -> Result<(), TargetError> {
        let ClientNeeds { connections: clients, statements, .. } = *self;
        let fewer = "use fewer clients, or statements = `plain`";
        match number_of(variable, value) {
            Some(most) if clients.saturating_mul(statements) > most => Err(TargetError::Unsupported(format!(
                "{clients} clients with {statements} prepared statements each do not fit: the server takes {variable} = `{most}`; {}",
                self.advice(fewer, fewer)
            ))),
            _ => Ok(()),
        }
    }

    /// A warning if `variable` lets the server keep fewer tables open than the clients use. Statements then open their tables again and again.
    pub fn warn_of_tables(&self, variable: &str, value: ReadVariable<'_>) -> Option<String> {
        // Each client has a table open while it executes a statement, and each table stays open for the next client.
        let needed = if self.tables == 0 { 0 } else { self.tables.max(self.connections) };
        let most = number_of(variable, value).filter(|most| needed > *most)?;
        Some(format!(
            "the clients use {needed} open tables, but the server keeps only {variable} = `{most}` open: it closes and opens tables \
             during the run; raise {variable}"
        ))
    }

    fn advice(&self, private: &'static str, external: &'static str) -> String {
        if self.is_private { private.to_owned() } else { format!("raise it on the server, or {external}") }
    }
}

/// How many connections the clients of `trial`, on all hosts that use its data, need for its `program`.
fn connections_of(trial: &Trial, program: &SqlProgram) -> u32 {
    let of_run = trial.data_part().of();
    program.background.iter().map(|ops| ops.clients.unwrap_or(of_run)).fold(of_run, u32::saturating_add)
}

/// The whole number that a variable of the server has.
pub fn number_of(variable: &str, value: ReadVariable<'_>) -> Option<u64> {
    value(variable)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(connections: u64, statements: u64, tables: u64) -> ClientNeeds {
        ClientNeeds { connections, statements, tables, is_private: false }
    }

    fn server(known: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<String> {
        move |name| known.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn connections_that_do_not_fit_are_refused_with_the_variable() {
        let value = server(&[("max_connections", "151")]);
        needs(141, 0, 0).check_connections("max_connections", 10, &value).unwrap();
        let refused =
            |needs: ClientNeeds| needs.check_connections("max_connections", 10, &value).unwrap_err().to_string();
        let text = refused(needs(142, 0, 0));
        assert!(text.contains("142 clients") && text.contains("max_connections = `151`"), "{text}");
        assert!(text.ends_with("raise it on the server, or use fewer clients"), "{text}");
        let private = refused(ClientNeeds { is_private: true, ..needs(142, 0, 0) });
        assert!(private.contains("`ulimit -n`"), "{private}");
        needs(9_999, 0, 0).check_connections("another_name", 10, &value).unwrap();
    }

    #[test]
    fn statements_that_do_not_fit_are_refused_with_the_variable() {
        let value = server(&[("max_prepared_stmt_count", "100")]);
        needs(10, 10, 1).check_statements("max_prepared_stmt_count", &value).unwrap();
        let text = needs(10, 11, 1).check_statements("max_prepared_stmt_count", &value).unwrap_err().to_string();
        assert!(text.contains("10 clients with 11 prepared statements each") && text.contains("= `100`"), "{text}");
    }

    #[test]
    fn tables_that_are_more_than_the_server_keeps_open_are_a_warning() {
        let value = server(&[("table_open_cache", "20")]);
        let warning = |clients, tables| needs(clients, 0, tables).warn_of_tables("table_open_cache", &value);
        assert_eq!((warning(20, 1), warning(1, 20), warning(64, 0)), (None, None, None));
        let text = warning(4, 32).unwrap();
        assert!(text.contains("32 open tables") && text.contains("table_open_cache = `20`"), "{text}");
        assert!(warning(21, 1).is_some(), "each client has the table open once");
    }
}
