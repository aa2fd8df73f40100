//! Values of the user's own rows, read once, for statements to use.
//!
//! In: queries of a plan, a control connection. Out: the rows that they return, at most [`KEYS_MAX`] of each. Limits: a query runs twice, once to
//! count its rows, in a read-only transaction. Of more rows every so-many-th is kept, in the order in which the server returns them.

use super::FoundServer;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::server_error;
use crate::sql::variant::rows::RowBuffer;
use host::error::TargetError;
use model::Fact;
use std::sync::Arc;
use workload::found::{KEYS_MAX, KeyColumn, KeyQuery, KeyRows};

/// The rows of each of `queries`, with facts.
pub(super) fn read_keys<A: AdminConnection>(
    kind: &FoundServer,
    queries: &[KeyQuery],
    admin: &mut A,
    server: &str,
) -> Result<(Vec<Arc<KeyRows>>, Vec<Fact>), TargetError> {
    for text in kind.begin.iter().copied().chain(["START TRANSACTION READ ONLY"]) {
        admin.run_statement(text).map_err(|error| server_error(server, error))?;
    }
    let (mut all, mut told) = (Vec::new(), Vec::new());
    for query in queries {
        let (rows, there) = read(kind, query, admin, server)?;
        told.push(if rows.rows == there { there.to_string() } else { format!("{} of {there}", rows.rows) });
        all.push(Arc::new(rows));
    }
    admin.run_statement("ROLLBACK").map_err(|error| server_error(server, error))?;
    // Without the names of tables, which are the user's.
    let fact = (!told.is_empty()).then(|| Fact::new("data.keys", told.join(", ")));
    Ok((all, fact.into_iter().collect()))
}

/// The rows of `query` that are kept, and how many there are.
fn read<A: AdminConnection>(
    kind: &FoundServer,
    query: &KeyQuery,
    admin: &mut A,
    server: &str,
) -> Result<(KeyRows, u64), TargetError> {
    let KeyQuery { name, columns, sql } = query;
    let failed = |failure: crate::sql::OpFailure| {
        TargetError::Failed(format!("{server}: keys of `{name}`: {}; the query was `{sql}`", failure.text))
    };
    let refused = |text: String| TargetError::Unsupported(format!("{server}: keys of `{name}`: {text}"));
    let there = admin.number_patiently(&format!("SELECT count(*) FROM ({sql}) AS plimsoll_keys"));
    let there = there.map_err(|error| failed(error.into()))?;
    if there == 0 {
        return Err(refused(format!("`{sql}` returns no rows, so there are no values for `:{name}.{}`", columns[0])));
    }
    let every = there.div_ceil(KEYS_MAX);
    let numbered = format!("SELECT plimsoll_all.*, row_number() OVER () AS plimsoll_row FROM ({sql}) AS plimsoll_all");
    let sampled = format!("SELECT * FROM ({numbered}) AS plimsoll_keys WHERE plimsoll_row % {every} = 0");
    let mut buffer = RowBuffer::new(kind.row_layout);
    let text = if every == 1 { sql } else { &sampled };
    admin.fetch_rows(text, &mut buffer).map_err(|error| failed(error.into()))?;
    let kept = buffer.kept_values();
    let kept =
        kept.ok_or_else(|| refused("they take more than 256 MiB; select fewer or shorter columns".to_owned()))?;
    // The last is the number of the row.
    let width = kept.first().map_or(0, Vec::len) - usize::from(every > 1);
    if width != columns.len() {
        return Err(refused(format!("`{sql}` returns {width} columns, and {} were read of its text", columns.len())));
    }
    let columns = (0..width).map(|nth| column_of(kept.iter().map(|row| row.get(nth).copied().flatten()))).collect();
    Ok((KeyRows { rows: kept.len() as u64, columns }, there))
}

/// A column of whole numbers if all of `values` are, as they are written here.
fn column_of<'v>(values: impl Iterator<Item = Option<&'v [u8]>> + Clone) -> KeyColumn {
    let number = |value: Option<&[u8]>| {
        let text = std::str::from_utf8(value?).ok()?;
        text.parse::<i64>().ok().filter(|number| number.to_string() == text)
    };
    match values.clone().map(number).collect::<Option<Vec<i64>>>() {
        Some(numbers) => KeyColumn::Ints(numbers),
        None => KeyColumn::Texts(values.map(|value| value.map(Into::into)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_numbers_and_other_values_texts() {
        let column = |values: &[Option<&str>]| column_of(values.iter().map(|value| value.map(str::as_bytes)));
        assert_eq!(column(&[Some("7"), Some("-2")]), KeyColumn::Ints(vec![7, -2]));
        for other in [&[Some("7"), Some("007")][..], &[Some("1"), None], &[Some("1.0")], &[Some("9223372036854775808")]]
        {
            let texts = other.iter().map(|value| value.map(|text| text.as_bytes().into())).collect();
            assert_eq!(column(other), KeyColumn::Texts(texts));
        }
    }
}
