//! A figure of a page: a plotly.js plot, with words for those who cannot see it and its numbers as a table.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::html::{Table, escaped, script_json};

/// A plot. Colours may be names of the page's CSS variables (`--ink`, `--soft`, `--accent`, …), which follow the colour scheme.
#[derive(Debug, Clone)]
pub(crate) struct Plot {
    /// The heading above it.
    pub(crate) title: String,
    /// What it shows, in words: instead of the picture.
    pub(crate) alt: String,
    /// How to read it, below it; may be empty.
    pub(crate) caption: String,
    /// plotly's traces.
    pub(crate) data: Vec<Value>,
    /// plotly's layout, laid over that of the page.
    pub(crate) layout: Value,
    /// Other values of the horizontal axis, one list a trace, to choose from.
    pub(crate) other_x: Option<OtherX>,
    /// The numbers.
    pub(crate) table: Option<Table>,
    /// Pixels.
    pub(crate) height: u32,
    /// Whether it stands alone in its row.
    pub(crate) is_wide: bool,
}

/// Other values of the horizontal axis.
#[derive(Debug, Clone)]
pub(crate) struct OtherX {
    /// What the usual ones are, in a word.
    pub(crate) usual: &'static str,
    /// What these are.
    pub(crate) title: &'static str,
    /// For each trace.
    pub(crate) values: Vec<Vec<f64>>,
}

impl Plot {
    /// A plot of these traces, with plain axes of these titles.
    pub(crate) fn new(title: impl Into<String>, alt: impl Into<String>, data: Vec<Value>, axes: [&str; 2]) -> Self {
        let axis = |title: &str| json!({"title": {"text": plain(title)}});
        Self {
            title: title.into(),
            alt: alt.into(),
            caption: String::new(),
            data,
            layout: json!({"xaxis": axis(axes[0]), "yaxis": axis(axes[1]), "showlegend": false}),
            other_x: None,
            table: None,
            height: 280,
            is_wide: false,
        }
    }

    /// With a caption.
    #[must_use]
    pub(crate) fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// With its numbers.
    #[must_use]
    pub(crate) fn table(mut self, table: Table) -> Self {
        self.table = Some(table);
        self
    }

    /// Alone in its row, and so high.
    #[must_use]
    pub(crate) fn wide(mut self, height: u32) -> Self {
        (self.is_wide, self.height) = (true, height);
        self
    }

    /// With entries of the layout, laid over those there are.
    #[must_use]
    pub(crate) fn layout(mut self, layer: Value) -> Self {
        lay_over(&mut self.layout, layer);
        self
    }

    /// As the page's script wants it.
    pub(super) fn json(&self) -> Value {
        let mut layout = self.layout.clone();
        lay_over(&mut layout, json!({"height": self.height}));
        let other_x = self.other_x.as_ref().map(|other| json!({"title": other.title, "values": other.values}));
        json!({"data": self.data, "layout": layout, "other_x": other_x})
    }

    pub(super) fn render(&self, id: &str, html: &mut String) {
        let wide = if self.is_wide { " class=\"wide\"" } else { "" };
        let (title, alt) = (escaped(&self.title), escaped(&self.alt));
        let _ = write!(html, "<figure{wide} data-plot=\"{id}\"><h3>{title}</h3>");
        let _ = write!(
            html,
            "<div class=\"plot\" role=\"img\" aria-label=\"{alt}\" style=\"--height:{}px\"></div>",
            self.height
        );
        if !self.caption.is_empty() {
            let _ = write!(html, "<figcaption>{}</figcaption>", escaped(&self.caption));
        }
        if let Some(table) = &self.table {
            html.push_str("<details><summary>Numbers</summary>");
            table.render(html);
            html.push_str("</details>");
        }
        let _ = write!(html, "<script type=\"application/json\" id=\"{id}\">{}</script>", script_json(&self.json()));
        html.push_str("</figure>");
    }
}

/// User text inside a plot. plotly reads a few tags in what it writes: here they are letters.
pub(crate) fn plain(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Merges maps; anything else replaces what was there, and null leaves it.
fn lay_over(base: &mut Value, layer: Value) {
    match (base, layer) {
        (Value::Object(base), Value::Object(layer)) => {
            for (name, value) in layer.into_iter().filter(|(_, value)| !value.is_null()) {
                lay_over(base.entry(name).or_insert(Value::Null), value);
            }
        }
        (base, layer) => *base = layer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_can_be_read_without_its_picture() {
        let mut table = Table::new("K", &["cycle", "K"]);
        table.row(["1".into(), "3".into()]);
        let trace = json!({"type": "scatter", "name": plain("<script>"), "x": [1], "y": [3]});
        let plot = Plot::new("<K>", "K \"rises\"", vec![trace], ["cycle", "K < 5"]).caption("<i>").table(table);
        let mut html = String::new();
        plot.render("plot-1", &mut html);
        for part in ["&lt;K&gt;", "aria-label=\"K &quot;rises&quot;\"", "&lt;i&gt;", "<td class=\"number\">3</td>"] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert_eq!(html.matches("<script").count(), 1);
        let json = html.split("id=\"plot-1\">").nth(1).unwrap().split("</script>").next().unwrap();
        let value: Value = serde_json::from_str(json).unwrap();
        assert_eq!(value["layout"]["yaxis"]["title"]["text"], "K &lt; 5");
        assert_eq!(value["layout"]["height"], 280);
    }

    #[test]
    fn layers_of_a_layout_merge() {
        let plot = Plot::new("a", "b", vec![], ["x", "y"]).layout(json!({"xaxis": {"type": "log"}, "bargap": 0.1}));
        assert_eq!(plot.layout["xaxis"], json!({"title": {"text": "x"}, "type": "log"}));
        assert_eq!(plot.layout["bargap"], 0.1);
        let plot = plot.layout(json!({"xaxis": {"range": null, "type": null}}));
        assert_eq!(plot.layout["xaxis"], json!({"title": {"text": "x"}, "type": "log"}));
    }
}
