//! Which table has to be made before which, and columns that follow others.
//!
//! In: tables. Out: an order in which no table refers to a later one; a refusal of circles. Limits: a table may refer to itself, by a column
//! whose values do not follow from that reference.

use super::layout::{fault, fault_of_table};
use super::names::find_name;
use model::own_table::{DrawnValues, OwnFault, OwnTable, ValueSource};

/// The numbers of `tables`, each behind those that it refers to. Tables that are not there are left to others.
pub(super) fn order_of_tables(tables: &[OwnTable]) -> Result<Vec<usize>, OwnFault> {
    let find = |name: &str| find_name(tables.iter().map(|table| table.name.as_str()), name);
    let parents = |number: usize| -> Vec<usize> {
        let columns = tables[number].columns.iter();
        columns
            .filter_map(|column| match &column.source {
                // The rows of a table are made from their numbers, also those that others of it refer to.
                ValueSource::Reference { table, .. } => find(table).filter(|parent| *parent != number),
                _ => None,
            })
            .collect()
    };
    in_order(tables.len(), parents).map_err(|circle| {
        let names: Vec<&str> = circle.iter().map(|number| tables[*number].name.as_str()).collect();
        let text = format!("tables refer to each other in a circle: `{}`; leave out a reference", names.join("` -> `"));
        fault_of_table(circle[0], text)
    })
}

/// Refuses columns that follow each other in a circle.
pub(super) fn check_columns(tables: &[OwnTable]) -> Result<(), OwnFault> {
    for (number, table) in tables.iter().enumerate() {
        let find = |name: &str| find_name(table.columns.iter().map(|column| column.name.as_str()), name);
        let followed = |nth: usize| match &table.columns[nth].source {
            ValueSource::Computed { column, .. } => find(column).into_iter().collect(),
            ValueSource::Reference { table: parent, column, .. } if parent.eq_ignore_ascii_case(&table.name) => {
                find(column).into_iter().collect()
            }
            ValueSource::Drawn(DrawnValues { depends_on: Some(on), .. }) => find(&on.column).into_iter().collect(),
            _ => Vec::new(),
        };
        in_order(table.columns.len(), followed).map_err(|circle| {
            let names: Vec<&str> = circle.iter().map(|nth| table.columns[*nth].name.as_str()).collect();
            let text = format!("columns follow each other in a circle: `{}`; leave one out", names.join("` -> `"));
            fault(number, circle[0], text)
        })?;
    }
    Ok(())
}

/// The numbers below `count`, each behind those that `before` has for it; else a circle, which ends with its first.
fn in_order(count: usize, before: impl Fn(usize) -> Vec<usize>) -> Result<Vec<usize>, Vec<usize>> {
    let mut order = Vec::with_capacity(count);
    let mut is_done = vec![false; count];
    for start in 0..count {
        // The way to where we are, each with those that are still to be looked at.
        let mut way: Vec<(usize, Vec<usize>)> = Vec::new();
        if !is_done[start] {
            way.push((start, before(start)));
        }
        while let Some((at, left)) = way.last_mut() {
            match left.pop() {
                None => {
                    is_done[*at] = true;
                    order.push(*at);
                    way.pop();
                }
                Some(next) if is_done[next] => {}
                Some(next) => {
                    if let Some(from) = way.iter().position(|(other, _)| *other == next) {
                        return Err(way[from..].iter().map(|(number, _)| *number).chain([next]).collect());
                    }
                    way.push((next, before(next)));
                }
            }
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comes_behind_those_that_it_needs_and_a_circle_is_named() {
        let needs = |number: usize| [vec![2], vec![], vec![1]][number].clone();
        assert_eq!(in_order(3, needs), Ok(vec![1, 2, 0]));
        let circle = |number: usize| [vec![1], vec![2], vec![1]][number].clone();
        assert_eq!(in_order(3, circle), Err(vec![1, 2, 1]));
        assert_eq!(in_order(1, |_| vec![0]), Err(vec![0, 0]));
    }
}
