//! Each host of a point as CSV: a row for each network interface of it, so that what went over each is a number of its own.
//!
//! In: an analysis. Out: text with a header line. Limits: what could not be measured is an empty field, never 0. What a host did, and its CPU and
//! disk, are the same in all rows of it. A repeat is a row of its own.

use crate::csv_column::{Explained, csv_lines, figure_columns, figure_fields, place_columns, place_fields};
use analysis::figures::{HOST_FIGURES, HOST_SYSTEM_FIGURES, INTERFACE_FIGURES};
use analysis::{Analysis, HostSummary, InterfaceUse, PointAnalysis};

/// The columns of hosts.csv.
pub fn host_columns() -> Vec<Explained> {
    let interface = figure_columns(INTERFACE_FIGURES);
    [place_columns(), figure_columns(&HOST_FIGURES), interface, figure_columns(HOST_SYSTEM_FIGURES)].concat()
}

/// A row for each network interface of each host of each point that had several hosts; one row for a host without any.
pub fn hosts_csv(analysis: &Analysis) -> String {
    let hosts = analysis.points.iter().flat_map(|point| point.hosts.iter().map(move |host| (point, host)));
    let rows = hosts.flat_map(|(point, host)| {
        let none = host.networks.is_empty().then_some(None);
        host.networks.iter().map(Some).chain(none).map(move |network| host_row(point, host, network))
    });
    csv_lines(host_columns(), rows)
}

fn host_row(point: &PointAnalysis, host: &HostSummary, network: Option<&InterfaceUse>) -> Vec<String> {
    let system = figure_fields(HOST_SYSTEM_FIGURES, Some(host));
    let interface = figure_fields(INTERFACE_FIGURES, network);
    [place_fields(point), figure_fields(&HOST_FIGURES, Some(host)), interface, system].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escape;
    use crate::testing::{HOSTILE, quick, with_hosts};

    #[test]
    fn each_interface_is_a_row_with_as_many_fields_as_heads_and_points_of_one_machine_have_none() {
        let text = hosts_csv(&with_hosts());
        let widths: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(widths.len() == 5 && widths.iter().all(|width| *width == host_columns().len()), "{text}");
        assert!(text.lines().nth(2).is_some_and(|line| line.contains(",c2,load,valid,,2,0.5,")), "{text}");
        assert!(
            text.lines().nth(4).is_some_and(|line| line.contains(",n1,observe,valid,") && line.contains(",eth1,")),
            "{text}"
        );
        assert_eq!(hosts_csv(&quick()).lines().count(), 1);
    }

    #[test]
    fn names_of_hosts_are_no_formulas() {
        let mut analysis = with_hosts();
        for text in HOSTILE {
            analysis.points[0].hosts[0].host = text.to_owned();
            let csv = hosts_csv(&analysis);
            assert!(csv.contains(&format!(",{},load", escape::csv(text))), "{csv}");
        }
    }
}
