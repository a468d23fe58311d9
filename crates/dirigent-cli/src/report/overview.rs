//! The clusters in a table: number, size, certainty, and what sets each apart.

use std::fmt::Write as _;

use super::certainty::Labels;
use super::colours::colour;
use super::drawing::Drawing;
use super::groups::Groups;
use super::html::escaped;
use super::names::Names;
use super::words::{counted, percent};
use crate::console::grouped;

/// Clusters in the table.
pub(crate) const MOST_LISTED: usize = 50;

/// The table of the largest clusters. `marks` tell in a line what sets each group apart.
pub(crate) fn drawing(groups: &Groups, labels: Option<&Labels>, marks: &[String], names: &Names) -> Drawing {
    let (k, n_rows) = (groups.n_clusters(), groups.n_rows() as f64);
    let n_listed = k.min(MOST_LISTED);
    let certainty_head = if labels.is_some() { "<th scope=\"col\" class=\"number\">certainty</th>" } else { "" };
    let mut body = format!(
        "<div class=\"table\" role=\"region\" aria-label=\"Clusters\" tabindex=\"0\"><table><caption>Clusters by size</caption>\
         <thead><tr><th scope=\"col\">cluster</th><th scope=\"col\" class=\"number\">rows</th>\
         <th scope=\"col\" class=\"number\">share</th>{certainty_head}<th scope=\"col\">what sets it apart</th></tr></thead><tbody>"
    );
    // of the labels that were written; the components' own counts are those of the last state
    let rows_of = |cluster: usize| labels.map_or_else(|| groups.rows(cluster), |labels| labels.size(cluster));
    let largest = (0..k).map(rows_of).max().unwrap_or(1).max(1) as f64;
    for (cluster, mark) in marks.iter().enumerate().take(n_listed) {
        let rows = rows_of(cluster);
        let (name, length) = (escaped(&names.short(cluster)), 100.0 * rows as f64 / largest);
        let _ = write!(body, "<tr style=\"--tone:{}\"><th scope=\"row\">", colour(cluster));
        let _ =
            write!(body, "<a href=\"#cluster-{cluster}\">{name}</a></th><td class=\"number\">{}</td>", grouped(rows));
        let share = percent(rows as f64 / n_rows);
        let _ = write!(body, "<td class=\"number bar\" style=\"--share:{length:.1}%\">{share}</td>");
        if let Some(labels) = labels {
            let mean = labels.certainty_of(cluster).map_or_else(|| "–".to_owned(), percent);
            let _ = write!(body, "<td class=\"number\">{mean}</td>");
        }
        let _ = write!(body, "<td>{}</td></tr>", escaped(mark));
    }
    body.push_str("</tbody></table></div>");
    if k > n_listed {
        let rest: Vec<u64> = (n_listed..k).map(rows_of).collect();
        let (most, least) = (rest.iter().max().unwrap_or(&0), rest.iter().min().unwrap_or(&0));
        let _ = write!(
            body,
            "<p class=\"overview-rest\">{} more have {} to {} each.</p>",
            counted(rest.len() as u64, "cluster"),
            grouped(*least),
            counted(*most, "row")
        );
    }
    let caption = "Share of all rows; mean certainty of the rows of the cluster. The certainty of a row is the probability of its label.";
    Drawing::new("overview", "", body).caption(caption)
}
