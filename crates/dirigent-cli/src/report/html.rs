//! Text in a page: nothing that came from a user's files is markup.

use std::fmt::Write as _;

use serde_json::Value;

/// Text between tags or in a quoted attribute.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // what no document may hold
            control if control.is_control() && !"\n\t".contains(control) => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

/// JSON that can stand in a `<script>`: no `<` in it, so neither the end of the script nor a comment.
pub(crate) fn script_json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// A table: the first column names its row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// What it shows, in words.
    pub(crate) caption: String,
    /// The heads of the columns.
    pub(crate) columns: Vec<String>,
    /// Cells, as many in a row as there are columns.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows yet.
    pub(crate) fn new(caption: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Self { caption: caption.into(), columns, rows: Vec::new() }
    }

    /// Appends a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) -> &mut Self {
        self.rows.push(cells.into_iter().collect());
        self
    }

    /// The first `most` rows, and a word on the others.
    #[must_use]
    pub(crate) fn cut(mut self, most: usize) -> Self {
        let n_rows = self.rows.len();
        if n_rows > most {
            self.rows.truncate(most);
            let _ = write!(self.caption, " (the first {most} of {n_rows} rows)");
        }
        self
    }

    pub(super) fn render(&self, html: &mut String) {
        let caption = escaped(&self.caption);
        let _ = write!(html, "<div class=\"table\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\"><table>");
        let _ = write!(html, "<caption>{caption}</caption><thead><tr>");
        let is_number = |ix: usize| self.rows.iter().all(|row| row.get(ix).is_none_or(|cell| looks_like_number(cell)));
        let classes: Vec<&str> =
            (0..self.columns.len()).map(|ix| if ix > 0 && is_number(ix) { " class=\"number\"" } else { "" }).collect();
        for (column, class) in self.columns.iter().zip(&classes) {
            let _ = write!(html, "<th scope=\"col\"{class}>{}</th>", escaped(column));
        }
        html.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            html.push_str("<tr>");
            for (ix, (cell, class)) in row.iter().zip(&classes).enumerate() {
                let cell = escaped(cell);
                let _ = match ix {
                    0 => write!(html, "<th scope=\"row\">{cell}</th>"),
                    _ => write!(html, "<td{class}>{cell}</td>"),
                };
            }
            html.push_str("</tr>");
        }
        html.push_str("</tbody></table></div>");
    }
}

/// Whether a cell is set as a number: one, or nothing at all.
fn looks_like_number(cell: &str) -> bool {
    let plain = cell.trim_end_matches(" %").replace([',', '\u{2212}', '–'], "");
    plain.is_empty() || plain.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        assert_eq!(escaped("<b a='1' b=\"2\">&\u{0}"), "&lt;b a=&#39;1&#39; b=&quot;2&quot;&gt;&amp;\u{fffd}");
        let json = script_json(&serde_json::json!({"</script>": "<!--\u{2028}"}));
        assert!(!json.contains('<') && !json.contains('\u{2028}'));
        let back: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(back["</script>"], "<!--\u{2028}");
    }

    #[test]
    fn a_table_has_heads_and_says_what_it_leaves_out() {
        let mut table = Table::new("Sizes & <shares>", &["cluster", "rows"]);
        (0..5).for_each(|ix| {
            table.row([format!("<{ix}>"), "1,200".into()]);
        });
        let mut html = String::new();
        table.cut(3).render(&mut html);
        assert!(html.contains("Sizes &amp; &lt;shares&gt; (the first 3 of 5 rows)"));
        assert!(
            html.contains("<th scope=\"row\">&lt;2&gt;</th><td class=\"number\">1,200</td>")
                && !html.contains("&lt;3&gt;")
        );
    }
}
