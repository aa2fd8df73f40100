//! What the schemas on existing servers have in common: how they are marked, found again and dropped.
//!
//! In: a control connection, the rows that a server answers. Out: refusals of servers that are in use, the fact that names schemas that
//! were left, the end of a schema. Limits: a schema is dropped only if plimsoll's marker with its name is in it, or by the connection that has just
//! made it.

use super::OpFailure;
use super::admin_connection::AdminConnection;
use super::common_data::MARKER;
use crate::data_set::{InUse, SetUse};
use crate::server::location::{ExternalSchema, LEFT, REMOVED, SchemaContent, SchemaThere, schema_left, schemas_there};
use crate::server::network::TextRows;
use crate::server::url::{is_schema_name, schema_name, set_of_schema, set_schema};
use host::error::TargetError;
use model::Fact;
use std::time::Duration;

/// Which schema an instance works in.
#[derive(Clone, Copy)]
pub enum SchemaUse<'a> {
    /// A new one, which is removed.
    New,
    /// The new one of a data set.
    NewSet(&'a str),
    /// That of a data set which is there.
    Set(&'a str),
}

impl<'a> SchemaUse<'a> {
    /// For what an instance has to do with a data set.
    pub fn of_instance(data_set: SetUse<'a>) -> SchemaUse<'a> {
        match data_set {
            SetUse::None => SchemaUse::New,
            SetUse::Makes(set) => SchemaUse::NewSet(&set.name),
            SetUse::Uses(InUse { set, .. }) => SchemaUse::Set(&set.name),
        }
    }

    /// The name of the schema.
    pub fn schema(self) -> String {
        match self {
            SchemaUse::New => schema_name(),
            SchemaUse::NewSet(set) | SchemaUse::Set(set) => set_schema(set),
        }
    }

    /// Whether it is to be made.
    pub fn is_new(self) -> bool {
        !matches!(self, SchemaUse::Set(_))
    }
}

/// What a schema may have become of if the server did not say that it was made.
pub fn may_be_made(name: &str) -> String {
    format!("; the server may have made schema `{name}` all the same: drop it by hand if it is there")
}

/// How long counting rows, flushing, vacuuming and dropping a schema may take.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// The statement that marks the current schema, whose name is `name`.
pub fn mark_statement(name: &str) -> String {
    let name = name.replace('\'', "''");
    format!("INSERT INTO {MARKER} VALUES ('plimsoll', '{name}')")
}

/// Refuses the server called `server` if there is a reason why it is in use for something else.
pub fn refuse_in_use(server: &str, why: Option<&str>) -> Result<(), TargetError> {
    why.map_or(Ok(()), |why| Err(TargetError::Unsafe(format!("{server} {why}; benchmark a server that is not in use"))))
}

/// The fact that names the schemas that an earlier plimsoll left. Each row has the name of a schema, the number of its tables, and how many
/// of them are the marker.
///
/// # Errors
/// If a schema with plimsoll's kind of name has tables and no marker: another program made it.
pub fn find_left_schemas(server: &str, rows: TextRows) -> Result<Option<Fact>, TargetError> {
    let named = rows.into_iter().filter_map(|row| {
        let [name, tables, markers] = row.try_into().ok()?;
        let content = match [tables, markers].map(|count| count.and_then(|count| count.parse::<u64>().ok())) {
            [_, Some(1..)] => SchemaContent::Marked,
            [Some(0), _] => SchemaContent::Empty,
            _ => SchemaContent::Foreign,
        };
        // Data sets are there to stay.
        Some(SchemaThere { name: name.filter(|name| set_of_schema(name).is_none())?, content })
    });
    schemas_there(server, &named.collect::<Vec<SchemaThere>>())
}

/// Removes the schemas that `facts` name as left, each by `remove`, which looks for plimsoll's marker. The facts tell then how many were removed,
/// and which stay: a database of the user's in which plimsoll has worked has another kind of name, and is the user's. Whether nobody uses any of
/// them is asked only if there are some.
pub fn remove_left_schemas(
    facts: &mut Vec<Fact>,
    are_unused: impl FnOnce() -> bool,
    mut remove: impl FnMut(&str) -> Result<(), TargetError>,
) {
    let Some(at) = facts.iter().position(|fact| fact.name == LEFT).filter(|_| are_unused()) else { return };
    let found = facts.remove(at).value;
    let (removed, left): (Vec<&str>, Vec<&str>) =
        found.split(", ").partition(|name| is_schema_name(name) && remove(name).is_ok());
    facts.extend((!removed.is_empty()).then(|| Fact::new(REMOVED, removed.len().to_string())));
    facts.extend((!left.is_empty()).then(|| Fact::new(LEFT, left.join(", "))));
}

/// Drops the schema `name`, which is `quoted` in statements, by the statement `drop` if it has plimsoll's marker.
pub fn drop_schema<A: AdminConnection>(
    server: &str,
    connected: Result<A, OpFailure>,
    name: &str,
    quoted: &str,
    drop: &str,
) -> Result<(), TargetError> {
    run_if_marked(connected, name, quoted, &[drop.to_owned()]).map_err(|why| schema_left(server, name, &why))
}

/// Gives up `schema` after `error`, before it has a marker. `made` drops what this connection has just made; `None` if it has made nothing.
pub fn give_up_new<A: AdminConnection>(
    admin: &mut A,
    mut schema: ExternalSchema,
    made: Option<&str>,
    error: TargetError,
) -> TargetError {
    if made.is_none_or(|made| admin.remove(made).is_ok()) {
        schema.keep();
    }
    schema.give_up(error)
}

/// Does `remove` on the first of `endpoints` that can: the one on which the data was made may have died since, and another may have taken over. If
/// all fail, the error is that of the first.
pub fn remove_on_first<A>(endpoints: &[A], remove: impl Fn(&A) -> Result<(), TargetError>) -> Result<(), TargetError> {
    let mut tried = endpoints.iter().map(remove);
    let first = tried.next().expect("a server has an endpoint");
    first.or_else(|error| if tried.any(|tried| tried.is_ok()) { Ok(()) } else { Err(error) })
}

/// Runs `statements` if the schema `name`, which is `quoted` in statements, has plimsoll's marker. Otherwise the reason why not.
pub fn run_if_marked<A: AdminConnection>(
    connected: Result<A, OpFailure>,
    name: &str,
    quoted: &str,
    statements: &[String],
) -> Result<(), String> {
    let mut admin = connected.map_err(text_of)?;
    let name = name.replace('\'', "''");
    let marker = format!("SELECT count(*) FROM {quoted}.{MARKER} WHERE made_by = 'plimsoll' AND name = '{name}'");
    if admin.query_number(&marker).map_err(text_of)? != 1 {
        return Err("its marker is missing".into());
    }
    statements.iter().try_for_each(|statement| admin.remove(statement)).map_err(text_of)
}

fn text_of(failure: impl Into<OpFailure>) -> String {
    failure.into().text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_schemas_of_plimsolls_kind_of_name_are_removed() {
        let (own, users, stays) = ("plimsoll_0123456789abcdef", "plimsoll_bench", "plimsoll_fedcba9876543210");
        let mut facts = vec![Fact::new("server.url", "x"), Fact::new(LEFT, [own, users, stays].join(", "))];
        let mut asked = Vec::new();
        remove_left_schemas(
            &mut facts,
            || true,
            |name| {
                asked.push(name.to_owned());
                if name == own { Ok(()) } else { Err(TargetError::Failed("it is used".into())) }
            },
        );
        assert_eq!(asked, [own, stays], "a database of the user's is not touched");
        let told =
            [Fact::new("server.url", "x"), Fact::new(REMOVED, "1"), Fact::new(LEFT, format!("{users}, {stays}"))];
        assert_eq!(facts, told);
    }
}
