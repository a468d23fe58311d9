//! Tables of numbers with shaded cells.

use std::fmt::Write as _;

use super::drawing::Drawing;
use super::html::escaped;

/// A table whose cells are shaded by their numbers.
#[derive(Debug, Clone)]
pub(crate) struct HeatTable {
    /// What it shows, for readers who cannot see the shades.
    pub(crate) caption: String,
    /// What the rows are.
    pub(crate) corner: String,
    /// Heads of the columns.
    pub(crate) columns: Vec<String>,
    /// Heads of the rows, each with its colour, and their cells.
    pub(crate) rows: Vec<(String, String, Vec<HeatCell>)>,
    /// Whether the cells are small squares that show their number on hover.
    pub(crate) is_dense: bool,
}

/// A cell.
#[derive(Debug, Clone)]
pub(crate) struct HeatCell {
    /// The text in it, or on hover.
    pub(crate) text: String,
    /// From −1 to 1: blue below 0, orange above.
    pub(crate) shade: f64,
}

impl HeatTable {
    /// The table as a figure.
    pub(crate) fn drawing(&self, title: &str) -> Drawing {
        let mut body = String::new();
        let caption = escaped(&self.caption);
        let class = if self.is_dense { "heat dense" } else { "heat" };
        let _ = write!(body, "<div class=\"table\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\">");
        let _ = write!(body, "<table class=\"{class}\"><caption>{caption}</caption><thead><tr>");
        let _ = write!(body, "<th scope=\"col\">{}</th>", escaped(&self.corner));
        for column in &self.columns {
            let _ = write!(body, "<th scope=\"col\"><span>{}</span></th>", escaped(column));
        }
        body.push_str("</tr></thead><tbody>");
        for (head, tone, cells) in &self.rows {
            let _ = write!(body, "<tr><th scope=\"row\" style=\"--tone:{}\">{}</th>", escaped(tone), escaped(head));
            for HeatCell { text, shade } in cells {
                let percent = (85.0 * shade.abs().min(1.0)).round();
                let hue = if *shade < 0.0 { "--cold" } else { "--warm" };
                let _ = write!(body, "<td style=\"--heat:var({hue});--part:{percent}%\"");
                let _ = match self.is_dense {
                    true => write!(body, " title=\"{}\"></td>", escaped(text)),
                    false => write!(body, ">{}</td>", escaped(text)),
                };
            }
            body.push_str("</tr>");
        }
        body.push_str("</tbody></table></div>");
        Drawing::new("heatmap", title, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_follow_the_numbers_and_names_are_text() {
        let cell = |shade| HeatCell { text: format!("<{shade}>"), shade };
        let rows = vec![("<r>".to_owned(), "#123456".to_owned(), vec![cell(0.5), cell(-9.0)])];
        let columns = vec!["<c>".to_owned(), "d".to_owned()];
        let mut table = HeatTable { caption: "x".into(), corner: "y".into(), columns, rows, is_dense: false };
        let html = table.drawing("t").html();
        for part in ["var(--warm);--part:43%\">&lt;0.5&gt;", "var(--cold);--part:85%", "&lt;r&gt;", "&lt;c&gt;"] {
            assert!(html.contains(part), "{part} in {html}");
        }
        table.is_dense = true;
        assert!(table.drawing("t").html().contains("title=\"&lt;0.5&gt;\"></td>"));
    }
}
