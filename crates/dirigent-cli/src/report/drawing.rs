//! A figure that is markup of our own: a canvas, an SVG, a table with shaded cells. Text of users in it is escaped where it is put in.

use std::fmt::Write as _;

use serde_json::Value;

use super::html::{Table, escaped, script_json};

/// A figure.
#[derive(Debug, Clone)]
pub(crate) struct Drawing {
    /// Its class in the page's style and script.
    kind: &'static str,
    title: String,
    /// Our markup.
    body: String,
    caption: String,
    table: Option<Table>,
    data: Option<Value>,
}

impl Drawing {
    /// A figure of this markup.
    pub(crate) fn new(kind: &'static str, title: impl Into<String>, body: String) -> Self {
        Self { kind, title: title.into(), body, caption: String::new(), table: None, data: None }
    }

    /// With a caption.
    #[must_use]
    pub(crate) fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// With its numbers, to be opened.
    #[must_use]
    pub(crate) fn table(mut self, table: Table) -> Self {
        self.table = Some(table);
        self
    }

    /// With what the page's script draws it from.
    #[must_use]
    pub(crate) fn data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub(super) fn render(&self, html: &mut String) {
        let _ = write!(html, "<figure class=\"drawing {}\">", self.kind);
        if !self.title.is_empty() {
            let _ = write!(html, "<h3>{}</h3>", escaped(&self.title));
        }
        html.push_str(&self.body);
        if !self.caption.is_empty() {
            let _ = write!(html, "<figcaption>{}</figcaption>", escaped(&self.caption));
        }
        if let Some(table) = &self.table {
            html.push_str("<details><summary>Numbers</summary>");
            table.render(html);
            html.push_str("</details>");
        }
        if let Some(data) = &self.data {
            let _ = write!(html, "<script type=\"application/json\">{}</script>", script_json(data));
        }
        html.push_str("</figure>");
    }

    /// Whether the page's script draws it.
    pub(super) fn needs_script(&self) -> bool {
        self.data.is_some()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    impl Drawing {
        pub(crate) fn html(&self) -> String {
            let mut html = String::new();
            self.render(&mut html);
            html
        }
    }

    #[test]
    fn nothing_in_a_figure_but_its_body_is_markup() {
        let drawing = Drawing::new("map", "<T>", "<b></b>".to_owned()).caption("<c>").data(json!("</script>"));
        let html = drawing.html();
        for part in ["&lt;T&gt;", "<b></b>", "&lt;c&gt;", "\"\\u003c/script>\""] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(drawing.needs_script() && html.matches("</script>").count() == 1);
    }
}
