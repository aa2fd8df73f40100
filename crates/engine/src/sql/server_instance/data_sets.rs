//! Data sets on an existing server: a schema of plimsoll's own for each, with its description in a table next to the data.
//!
//! In: the schemas of a server. Out: the sets in them, and what runs have done with each. Limits: a set on a server is used in place, so that a
//! run that changes rows changes the set, which is written down; only one plimsoll at a time uses a server.

use super::{ADMIN_PATIENCE, SqlServer, SqlServerInstance};
use crate::data_set::{InUse, ServerSets, SetUse};
use crate::engine::workload_of;
use crate::server::location::DataLocation;
use crate::server::network::TextRows;
use crate::server::url::set_of_schema;
use crate::sql::admin_connection::{AdminConnection, allowed};
use crate::sql::common_data::marker_query;
use crate::sql::external::SchemaUse;
use crate::sql::{OpFailure, server_error};
use host::error::TargetError;
use model::{DataSet, FoundSet, SetState, Trial};
use workload::DataReuse;

/// The table with the description.
const TABLE: &str = "plimsoll_data_set";
/// The names of its rows.
const SET: &str = "set";
const COMPLETE: &str = "complete";
const USED: &str = "used";
const CHANGED: &str = "changed";

/// The time of the server, as text: to the second.
const NOW: &str = "CAST(CURRENT_TIMESTAMP AS CHAR(19))";

/// The statements that put the row `name` with `value`, which is an expression, in place of an earlier one.
fn row_statements(name: &str, value: &str) -> [String; 2] {
    [
        format!("DELETE FROM {TABLE} WHERE name = '{name}'"),
        format!("INSERT INTO {TABLE} (name, value) VALUES ('{name}', {value})"),
    ]
}

/// `text` as a literal that every server reads alike: without quotes and backslashes.
fn literal(text: &str) -> String {
    let escape = |c: char| match c {
        '%' | '\'' | '\\' => format!("%{:02x}", c as u32),
        c => c.to_string(),
    };
    format!("'{}'", text.chars().map(escape).collect::<String>())
}

/// The text of such a literal.
fn from_literal(text: &str) -> String {
    text.replace("%27", "'").replace("%5c", "\\").replace("%25", "%")
}

fn description(set: &DataSet) -> String {
    literal(&serde_json::to_string(set).expect("a description is plain data"))
}

impl<S: SqlServer> SqlServerInstance<S> {
    /// Writes down what the instance has to do with a data set on its server.
    pub(super) fn describe_use(&self, data_set: SetUse<'_>) -> Result<(), TargetError> {
        match data_set {
            SetUse::Makes(set) => {
                self.set_up(&format!(
                    "CREATE TABLE {TABLE} (name VARCHAR(20) NOT NULL PRIMARY KEY, value TEXT NOT NULL)"
                ))?;
                self.put_row(SET, &description(set))
            }
            SetUse::Uses(InUse { .. }) => self.put_row(USED, NOW),
            SetUse::None => Ok(()),
        }
    }

    /// The set is complete, and is `set`.
    pub(super) fn describe_complete(&self, set: &DataSet) -> Result<(), TargetError> {
        self.put_row(SET, &description(set))?;
        self.put_row(COMPLETE, NOW)
    }

    /// Writes down that `trial` is about to change the rows of the set.
    pub(super) fn note_change(&self, trial: &Trial) -> Result<(), TargetError> {
        let is_shared = workload_of(trial).reuse_of(&trial.workload.params) == DataReuse::Shared;
        if self.rows_there.is_none() || self.location.is_private() || is_shared {
            return Ok(());
        }
        self.put_row(CHANGED, NOW)
    }

    fn put_row(&self, name: &str, value: &str) -> Result<(), TargetError> {
        row_statements(name, value).iter().try_for_each(|statement| self.set_up(statement))
    }
}

/// The data sets on the server that `trial` names.
pub fn sets_on_server<S: SqlServer>(trial: &Trial) -> Result<Box<dyn ServerSets>, TargetError> {
    let (_, address) = S::external_endpoints(trial)?.into_iter().next().expect("a server has an endpoint");
    let admin = S::connect_admin(&address, ADMIN_PATIENCE);
    let admin = admin.map_err(|failure| server_error(S::display_name(&address), failure))?;
    Ok(Box::new(SetsOnServer::<S> { trial: trial.clone(), address, admin }))
}

struct SetsOnServer<S: SqlServer> {
    /// Any trial on the server.
    trial: Trial,
    address: S::Address,
    admin: S::Admin,
}

impl<S: SqlServer> SetsOnServer<S> {
    /// The rows that answer `question`; `None` if the server refuses it.
    fn ask(&mut self, question: &str) -> Result<Option<TextRows>, TargetError> {
        let answer = allowed(self.admin.query_rows(question)).map_err(OpFailure::from);
        answer.map_err(|failure| server_error(S::display_name(&self.address), failure))
    }

    fn look_at(&mut self, schema: &str, name: &str) -> Result<FoundSet, TargetError> {
        let quoted = S::quote_name(schema);
        let found = |state| FoundSet { name: name.to_owned(), state, set: None, used: None, changed: None };
        let marker = self.ask(&marker_query(&quoted))?.unwrap_or_default();
        let own = [Some("plimsoll".to_owned()), Some(schema.to_owned())];
        if !marker.iter().any(|row| row[..] == own) {
            let why = format!("plimsoll did not make schema `{schema}`, or may not read it");
            return Ok(found(SetState::Damaged(why)));
        }
        let rows = self.ask(&format!("SELECT name, value FROM {quoted}.{TABLE}"))?.unwrap_or_default();
        let value = |wanted: &str| {
            rows.iter().find_map(|row| match &row[..] {
                [Some(name), Some(value)] if name == wanted => Some(value.clone()),
                _ => None,
            })
        };
        let set: Option<DataSet> = value(SET).and_then(|text| serde_json::from_str(&from_literal(&text)).ok());
        let state = match (&set, value(COMPLETE)) {
            (Some(set), Some(_)) if set.name == name => SetState::Complete,
            (_, None) => SetState::Making,
            _ => SetState::Damaged("its description is unreadable, or of another version of plimsoll".to_owned()),
        };
        Ok(FoundSet { set, used: value(USED), changed: value(CHANGED), ..found(state) })
    }
}

impl<S: SqlServer> ServerSets for SetsOnServer<S> {
    fn server(&self) -> &str {
        S::display_name(&self.address)
    }

    fn all(&mut self) -> Result<Vec<FoundSet>, TargetError> {
        let question =
            "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'plimsoll\\_data\\_%'";
        let mut schemas: Vec<String> =
            self.ask(question)?.unwrap_or_default().into_iter().flatten().flatten().collect();
        schemas.sort();
        let named = schemas.iter().filter_map(|schema| Some((schema, set_of_schema(schema)?)));
        named.map(|(schema, name)| self.look_at(schema, name)).collect()
    }

    fn remove(&mut self, name: &str) -> Result<(), TargetError> {
        // The connection has the lock by which a server is used by one plimsoll at a time.
        let (_, _lock, external) = S::open_external(&self.trial, SchemaUse::Set(name))?;
        DataLocation::External(Box::new(external)).remove()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_has_nothing_that_servers_read_in_different_ways() {
        for text in [r#"{"a": "it's 100 %27 of C:\\dir"}"#, "", "%", "%%25"] {
            let written = literal(text);
            assert!(!written[1..written.len() - 1].contains(['\'', '\\']), "{written}");
            assert_eq!(from_literal(&written[1..written.len() - 1]), text);
        }
    }
}
