//! One HTML file that needs nothing else: no network, no other file. Sections of words, numbers, tables, cards and plots.
//!
//! Everything that is given is text and is escaped. A content security policy in the page forbids any request, so that even a mistake of ours cannot send one.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::Path;

use dirigent::Result;
use dirigent::internals::run_dir::write_file;
use flate2::read::GzDecoder;
use serde_json::Value;

use super::card::Card;
use super::drawing::Drawing;
use super::html::{Table, escaped, script_json};
use super::plot::Plot;

/// plotly.js: see `assets/README.md`.
const PLOTLY: &[u8] = include_bytes!("../../assets/plotly-basic.min.js.gz");
const STYLE: &str = include_str!("../../assets/page.css");
/// The last one starts the others.
const SCRIPTS: [&str; 3] =
    [include_str!("../../assets/map.js"), include_str!("../../assets/cuts.js"), include_str!("../../assets/page.js")];
const WATCH: &str = include_str!("../../assets/watch.js");

/// A page.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    title: String,
    lead: String,
    sections: Vec<Section>,
    slider: Option<Slider>,
    footer: String,
    /// Of a page that follows a run: how far the run is.
    version: Option<String>,
}

/// A part of a page, under a heading.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    heading: String,
    blocks: Vec<Block>,
    /// Whether it changes with the slider.
    follows_slider: bool,
}

/// A slider by which a reader chooses the number of clusters. The page's script answers it.
#[derive(Debug, Clone)]
pub(crate) struct Slider {
    /// The clusters of the run.
    pub(crate) n_clusters: usize,
    /// The most that can be chosen.
    pub(crate) most: usize,
    /// What the script needs.
    pub(crate) data: Value,
}

#[derive(Debug, Clone)]
enum Block {
    Paragraph(String),
    Facts(Vec<Fact>),
    Table(Table),
    Plots(Vec<Plot>),
    Drawing(Drawing),
    /// Cards, how many of them need not be opened, and those that the slider brings.
    Cards(Vec<Card>, usize, Vec<Card>),
    Notes(Vec<String>),
    Code(String),
}

/// One number worth a place of its own.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    /// What it is.
    pub(crate) name: String,
    /// The number.
    pub(crate) value: String,
    /// A word on it; may be empty.
    pub(crate) note: String,
}

impl Fact {
    /// A fact.
    pub(crate) fn new(name: &str, value: impl Into<String>, note: impl Into<String>) -> Self {
        Self { name: name.to_owned(), value: value.into(), note: note.into() }
    }
}

impl Page {
    /// A page with a title and a sentence that says what it is about.
    pub(crate) fn new(title: impl Into<String>, lead: impl Into<String>) -> Self {
        let footer = concat!("Written by dirigent ", env!("CARGO_PKG_VERSION"), ". Plots by plotly.js (MIT licence).");
        Self {
            title: title.into(),
            lead: lead.into(),
            sections: Vec::new(),
            slider: None,
            footer: footer.to_owned(),
            version: None,
        }
    }

    /// Begins a section.
    pub(crate) fn section(&mut self, heading: impl Into<String>) -> &mut Section {
        self.sections.push(Section { heading: heading.into(), blocks: Vec::new(), follows_slider: false });
        self.sections.last_mut().expect("one was just pushed")
    }

    /// With a slider, above the first of the sections that follow it.
    pub(crate) fn slider(&mut self, slider: Slider) {
        self.slider = Some(slider);
    }

    /// Writes the page to a file, which appears when it is whole.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        write_file(path, |file| file.write_all(self.render().as_bytes()))
    }

    /// The same page, following a run that is so far; [`Page::render_main`] gives it what comes.
    #[must_use]
    pub(crate) fn following(mut self, version: String) -> Self {
        self.version = Some(version);
        self
    }

    /// The whole document.
    pub(crate) fn render(&self) -> String {
        let mut html = String::with_capacity(1 << 21);
        html.push_str("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
        html.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
        let requests = if self.version.is_some() { "; connect-src 'self'" } else { "" };
        let _ = write!(
            html,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; \
             style-src 'unsafe-inline'; img-src data: blob:{requests}\">"
        );
        html.push_str("<meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"data:,\">");
        let _ = writeln!(html, "<title>{}</title><style>{STYLE}</style></head>", escaped(&self.title));
        match &self.version {
            Some(version) => html.push_str(&format!("<body data-version=\"{}\">", escaped(version))),
            None => html.push_str("<body>"),
        }
        html.push_str("<a class=\"skip\" href=\"#content\">Skip to the content</a>");
        let n_plots = self.render_into(&mut html);
        let has_script = n_plots > 0 || self.sections.iter().any(Section::needs_script);
        let _ = writeln!(html, "<footer><p>{}</p></footer>", escaped(&self.footer));
        if has_script || self.version.is_some() {
            let _ = writeln!(html, "<script>{}</script>", plotly());
            SCRIPTS.iter().for_each(|script| {
                let _ = writeln!(html, "<script>{script}</script>");
            });
        }
        if self.version.is_some() {
            let _ = writeln!(html, "<script>{WATCH}</script>");
        }
        html.push_str("</body></html>\n");
        html
    }

    /// Header and content alone, for a page that is open already.
    pub(crate) fn render_main(&self) -> String {
        let mut html = String::new();
        self.render_into(&mut html);
        html
    }

    /// Returns the number of plots.
    fn render_into(&self, html: &mut String) -> usize {
        let _ = write!(html, "<header><h1>{}</h1><p>{}</p>", escaped(&self.title), escaped(&self.lead));
        self.render_contents(html);
        if self.version.is_some() {
            html.push_str("<div class=\"live\" role=\"status\">live: the page follows the run</div>");
        }
        html.push_str("</header>\n<main id=\"content\">");
        let mut n_plots = 0;
        let mut number = 0;
        for sections in self.sections.chunk_by(|a, b| a.follows_slider == b.follows_slider) {
            // around all that follow the slider, so that it stays in sight as long as they are
            let slider = self.slider.as_ref().filter(|_| sections[0].follows_slider);
            if let Some(slider) = slider {
                html.push_str("<div>");
                slider.render(html);
            }
            for section in sections {
                number += 1;
                section.render(number, &mut n_plots, html);
            }
            html.push_str(if slider.is_some() { "</div>" } else { "" });
        }
        html.push_str("</main>\n");
        n_plots
    }

    fn render_contents(&self, html: &mut String) {
        if self.sections.len() < 2 {
            return;
        }
        html.push_str("<nav aria-label=\"Sections\">");
        for (ix, section) in self.sections.iter().enumerate() {
            let _ = write!(html, "<a href=\"#section-{}\">{}</a>", ix + 1, escaped(&section.heading));
        }
        html.push_str("</nav>");
    }
}

impl Section {
    /// A paragraph.
    pub(crate) fn paragraph(&mut self, text: impl Into<String>) -> &mut Self {
        self.push(Block::Paragraph(text.into()))
    }

    /// Numbers, each with its name.
    pub(crate) fn facts(&mut self, facts: Vec<Fact>) -> &mut Self {
        self.push(Block::Facts(facts))
    }

    /// A table.
    pub(crate) fn table(&mut self, table: Table) -> &mut Self {
        self.push(Block::Table(table))
    }

    /// Plots, side by side where there is room.
    pub(crate) fn plots(&mut self, plots: Vec<Plot>) -> &mut Self {
        self.push(Block::Plots(plots))
    }

    /// A figure of our own.
    pub(crate) fn drawing(&mut self, drawing: Drawing) -> &mut Self {
        self.push(Block::Drawing(drawing))
    }

    /// Cards, side by side where there is room; those after the first `shown` are to be opened, and `others` are hidden until the slider asks for them.
    pub(crate) fn cards(&mut self, cards: Vec<Card>, shown: usize, others: Vec<Card>) -> &mut Self {
        self.push(Block::Cards(cards, shown, others))
    }

    /// Changes with the slider.
    pub(crate) fn follow_slider(&mut self) -> &mut Self {
        self.follows_slider = true;
        self
    }

    /// What to be careful about.
    pub(crate) fn notes(&mut self, notes: Vec<String>) -> &mut Self {
        self.push(Block::Notes(notes))
    }

    /// Something to copy.
    pub(crate) fn code(&mut self, code: impl Into<String>) -> &mut Self {
        self.push(Block::Code(code.into()))
    }

    fn needs_script(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Drawing(drawing) if drawing.needs_script()))
    }

    fn push(&mut self, block: Block) -> &mut Self {
        self.blocks.push(block);
        self
    }

    fn render(&self, number: usize, n_plots: &mut usize, html: &mut String) {
        let heading = escaped(&self.heading);
        let _ = write!(html, "<section id=\"section-{number}\" aria-labelledby=\"heading-{number}\">");
        let _ = write!(html, "<h2 id=\"heading-{number}\">{heading}</h2>");
        for blocks in self.blocks.chunk_by(|a, b| a.is_table() && b.is_table()) {
            let is_group = blocks.len() > 1;
            html.push_str(if is_group { "<div class=\"tables\">" } else { "" });
            blocks.iter().for_each(|block| block.render(n_plots, html));
            html.push_str(if is_group { "</div>" } else { "" });
        }
        html.push_str("</section>\n");
    }
}

impl Slider {
    /// Hidden until the script that answers it has run.
    fn render(&self, html: &mut String) {
        let Self { n_clusters, most, data } = self;
        let value = n_clusters.min(most);
        let _ = write!(
            html,
            "<div class=\"cut\" role=\"group\" aria-label=\"Number of clusters\" hidden><label for=\"cut\">Clusters</label>\
             <input id=\"cut\" type=\"range\" min=\"1\" max=\"{most}\" step=\"1\" value=\"{value}\">\
             <output for=\"cut\" aria-live=\"polite\"></output><button type=\"button\">as fitted</button></div>"
        );
        let _ = write!(html, "<script type=\"application/json\" id=\"cuts\">{}</script>", script_json(data));
    }
}

impl Block {
    /// Tables that follow one another stand side by side where there is room.
    fn is_table(&self) -> bool {
        matches!(self, Self::Table(_))
    }

    fn render(&self, n_plots: &mut usize, html: &mut String) {
        match self {
            Self::Paragraph(text) => {
                let _ = write!(html, "<p>{}</p>", escaped(text));
            }
            Self::Facts(facts) => render_facts(facts, html),
            Self::Table(table) => table.render(html),
            Self::Plots(plots) => render_plots(plots, n_plots, html),
            Self::Drawing(drawing) => drawing.render(html),
            Self::Cards(cards, shown, others) => render_cards(cards, *shown, others, html),
            Self::Notes(notes) => {
                html.push_str("<ul class=\"notes\" role=\"note\">");
                notes.iter().for_each(|note| {
                    let _ = write!(html, "<li>{}</li>", escaped(note));
                });
                html.push_str("</ul>");
            }
            Self::Code(code) => {
                let _ = write!(html, "<pre tabindex=\"0\"><code>{}</code></pre>", escaped(code));
            }
        }
    }
}

fn render_cards(cards: &[Card], shown: usize, others: &[Card], html: &mut String) {
    let (first, rest) = cards.split_at(shown.min(cards.len()));
    let list = |class: &str, cards: &[Card], html: &mut String| {
        let _ = write!(html, "<div class={class}>");
        cards.iter().for_each(|card| card.render(html));
        html.push_str("</div>");
    };
    list("\"cards\"", first, html);
    if !rest.is_empty() || !others.is_empty() {
        let hidden = if rest.is_empty() { " hidden" } else { "" };
        let _ = write!(html, "<details class=\"more\"{hidden}><summary>{} more</summary>", rest.len());
        list("\"cards\"", rest, html);
        html.push_str("</details>");
    }
    if !others.is_empty() {
        list("\"other-cards\" hidden", others, html);
    }
}

fn render_facts(facts: &[Fact], html: &mut String) {
    html.push_str("<dl class=\"facts\">");
    for Fact { name, value, note } in facts {
        let _ = write!(html, "<div><dt>{}</dt><dd class=\"value\">{}</dd>", escaped(name), escaped(value));
        if !note.is_empty() {
            let _ = write!(html, "<dd class=\"note\">{}</dd>", escaped(note));
        }
        html.push_str("</div>");
    }
    html.push_str("</dl>");
}

fn render_plots(plots: &[Plot], n_plots: &mut usize, html: &mut String) {
    html.push_str("<div>");
    if let Some(other) = plots.iter().find_map(|plot| plot.other_x.as_ref()) {
        let group = *n_plots;
        // hidden until the script that answers it has run
        let _ = write!(html, "<fieldset class=\"choice\" hidden><legend>Horizontal axis:</legend>");
        for (value, title, checked) in [("usual", other.usual, " checked"), ("other", other.title, "")] {
            let _ = write!(
                html,
                "<label><input type=\"radio\" name=\"x-{group}\" value=\"{value}\"{checked}> {title}</label>"
            );
        }
        html.push_str("</fieldset>");
    }
    html.push_str("<div class=\"plots\">");
    for plot in plots {
        *n_plots += 1;
        plot.render(&format!("plot-{n_plots}"), html);
    }
    html.push_str("</div></div>");
}

/// The plotting library, unpacked.
fn plotly() -> String {
    let mut text = String::new();
    GzDecoder::new(PLOTLY).read_to_string(&mut text).expect("our own file is whole");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_library_is_the_one_we_say_it_is_and_can_stand_in_a_script() {
        let text = plotly();
        assert_eq!((text.len(), text.lines().nth(1)), (1_191_749, Some("* plotly.js (basic - minified) v4.1.1")));
        let scripts = SCRIPTS.iter().copied().chain([&*text, WATCH]);
        assert!(scripts.into_iter().all(|script| !script.contains("</script") && !script.contains("<!--")));
    }

    #[test]
    fn every_kind_of_block_escapes_what_it_is_given() {
        const EVIL: &str = "<script>alert(\"1\")</script>'&";
        let mut table = Table::new(EVIL, &[EVIL]);
        table.row([EVIL.to_owned()]);
        let mut page = Page::new(EVIL, EVIL);
        let section = page.section(EVIL);
        section.paragraph(EVIL).facts(vec![Fact::new(EVIL, EVIL, EVIL)]).table(table.clone());
        section.notes(vec![EVIL.into()]).code(EVIL).cards(
            vec![Card::new(EVIL, EVIL); 2],
            1,
            vec![Card::new(EVIL, EVIL)],
        );
        let trace = json!({"type": "bar", "name": EVIL});
        section.plots(vec![Plot::new(EVIL, EVIL, vec![trace], [EVIL, EVIL]).caption(EVIL).table(table)]);
        let html = page.render();
        assert!(!html.contains("alert(\"") && !html.contains("<script>alert"));
        // the data of the plot, the library, and ours
        assert_eq!(html.matches("<script").count() - plotly().matches("<script").count(), 2 + SCRIPTS.len());
        assert!(html.matches("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39;&amp;").count() >= 16);
    }

    #[test]
    fn a_slider_stands_before_what_follows_it_and_its_data_are_no_markup() {
        let mut page = Page::new("a", "b");
        page.section("first");
        page.slider(Slider { n_clusters: 70, most: 50, data: json!({"words": "</script><script>alert(1)"}) });
        page.section("second").follow_slider();
        page.section("third").follow_slider().cards(vec![Card::new("a", "b")], 9, vec![Card::new("c", "d")]);
        page.section("fourth");
        let html = page.render();
        let (_, rest) =
            html.split_once("id=\"cut\" type=\"range\" min=\"1\" max=\"50\" step=\"1\" value=\"50\"").unwrap();
        let (inside, after) = rest.split_once("</section>\n</div>").unwrap();
        assert!(inside.contains("second") && inside.contains("third") && after.contains("fourth"));
        assert!(inside.contains("aria-live=\"polite\"") && inside.contains("<div class=\"other-cards\" hidden>"));
        assert!(inside.contains("<details class=\"more\" hidden>") && !html.contains("<script>alert(1)"));
    }

    #[test]
    fn a_page_asks_for_nothing_from_outside() {
        let mut page = Page::new("a", "b");
        page.section("first").paragraph("c");
        page.section("second").paragraph("d");
        let html = page.render();
        assert!(html.contains("default-src 'none'") && html.contains("href=\"#section-2\""));
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!html.contains(outside), "{outside}");
        }
    }
}
