//! A card of a page: one cluster, one run.

use std::fmt::Write as _;

use super::html::escaped;

/// A card.
#[derive(Debug, Clone)]
pub(crate) struct Card {
    /// The name by which links find it; of letters, digits and `-`.
    pub(crate) id: Option<String>,
    /// The number by which the page's script finds it.
    pub(crate) group: Option<usize>,
    /// Its colour, of [`super::colours`].
    pub(crate) colour: Option<String>,
    title: String,
    subtitle: String,
    parts: Vec<(String, Part)>,
}

#[derive(Debug, Clone)]
enum Part {
    Bars(Vec<Bar>),
    Links(Vec<Link>),
    Lines(Vec<String>),
}

/// A text that leads to another card, if that is there.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    /// The text.
    pub(crate) text: String,
    /// The id of the card.
    pub(crate) id: Option<String>,
}

/// A word, a number, and a bar as long as the number is large.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    /// The word.
    pub(crate) name: String,
    /// The number.
    pub(crate) value: String,
    /// The length of the bar, from 0 to 1.
    pub(crate) share: f64,
}

impl Card {
    /// A card with nothing on it but this.
    pub(crate) fn new(title: impl Into<String>, subtitle: impl Into<String>) -> Self {
        let (title, subtitle) = (title.into(), subtitle.into());
        Self { id: None, group: None, colour: None, title, subtitle, parts: Vec::new() }
    }

    /// Bars under a small heading; nothing where there are none.
    pub(crate) fn bars(&mut self, heading: &str, bars: Vec<Bar>) -> &mut Self {
        self.push(heading, bars.is_empty(), Part::Bars(bars))
    }

    /// Links to other cards.
    pub(crate) fn links(&mut self, heading: &str, links: Vec<Link>) -> &mut Self {
        self.push(heading, links.is_empty(), Part::Links(links))
    }

    /// A place for links that the page's script makes.
    pub(crate) fn room_for_links(&mut self, heading: &str) -> &mut Self {
        self.push(heading, false, Part::Links(Vec::new()))
    }

    /// Lines of text.
    pub(crate) fn lines(&mut self, heading: &str, lines: Vec<String>) -> &mut Self {
        self.push(heading, lines.is_empty(), Part::Lines(lines))
    }

    fn push(&mut self, heading: &str, is_empty: bool, part: Part) -> &mut Self {
        if !is_empty {
            self.parts.push((heading.to_owned(), part));
        }
        self
    }

    pub(super) fn render(&self, html: &mut String) {
        html.push_str("<article class=\"card\"");
        if let Some(id) = &self.id {
            let _ = write!(html, " id=\"{}\"", escaped(id));
        }
        if let Some(group) = self.group {
            let _ = write!(html, " data-group=\"{group}\"");
        }
        if let Some(colour) = &self.colour {
            let _ = write!(html, " style=\"--tone:{}\"", escaped(colour));
        }
        let _ = write!(html, "><h3>{}</h3><p class=\"size\">{}</p>", escaped(&self.title), escaped(&self.subtitle));
        for (heading, part) in &self.parts {
            let hidden = if part.is_empty() { " hidden" } else { "" };
            let _ = write!(html, "<h4{hidden}>{}</h4>", escaped(heading));
            part.render(html);
        }
        html.push_str("</article>");
    }
}

impl Part {
    /// Whether it is a place for what is to come.
    fn is_empty(&self) -> bool {
        matches!(self, Self::Links(links) if links.is_empty())
    }

    fn render(&self, html: &mut String) {
        match self {
            Self::Bars(bars) => {
                html.push_str("<ul class=\"bars\">");
                for Bar { name, value, share } in bars {
                    let (name, value, percent) = (escaped(name), escaped(value), 100.0 * share.clamp(0.0, 1.0));
                    let _ = write!(html, "<li style=\"--share:{percent:.1}%\"><span>{name}</span>");
                    let _ = write!(html, "<span class=\"value\">{value}</span></li>");
                }
                html.push_str("</ul>");
            }
            Self::Links(links) => {
                html.push_str("<p class=\"links\">");
                for (ix, Link { text, id }) in links.iter().enumerate() {
                    let (comma, text) = (if ix > 0 { ", " } else { "" }, escaped(text));
                    let _ = match id {
                        Some(id) => write!(html, "{comma}<a href=\"#{}\">{text}</a>", escaped(id)),
                        None => write!(html, "{comma}{text}"),
                    };
                }
                html.push_str("</p>");
            }
            Self::Lines(lines) => {
                html.push_str("<ul class=\"lines\">");
                lines.iter().for_each(|line| {
                    let _ = write!(html, "<li>{}</li>", escaped(line));
                });
                html.push_str("</ul>");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_shows_its_parts_and_leaves_out_empty_ones() {
        let mut card = Card::new("Cluster <3>", "7 rows");
        (card.id, card.colour) = (Some("cluster-3".into()), Some("#123456".into()));
        let bar = Bar { name: "a & b".into(), value: "2.5".into(), share: 3.0 };
        card.bars("Words", vec![bar])
            .links(
                "Near",
                vec![Link { text: "4".into(), id: Some("cluster-4".into()) }, Link { text: "<5>".into(), id: None }],
            )
            .lines("Rows", Vec::new());
        let mut html = String::new();
        card.render(&mut html);
        for part in [
            "id=\"cluster-3\"",
            "--tone:#123456",
            "Cluster &lt;3&gt;",
            "a &amp; b",
            "--share:100.0%",
            "href=\"#cluster-4\">4</a>, &lt;5&gt;",
        ] {
            assert!(html.contains(part), "{part}");
        }
        assert!(!html.contains("Rows"));
    }
}
