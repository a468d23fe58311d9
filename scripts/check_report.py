"""Looks at reports in a real browser: every plot is drawn, hover, legend, slider and switches work, nothing is asked of the network, in the dark and on a phone.

    python3 scripts/check_report.py [--keep FOLDER] [--picture FILE]

Needs Chromium and the built command. With --keep, runs and screenshots stay in FOLDER; --picture takes that of docs/images/report.png
(which was then reduced to 128 colours).
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from chromium import Chromium, Failed
from run_readme import target_folder

PROGRAMS = ["chromium", "chromium-browser", "google-chrome"]
# what a careless page would run
EVIL = '<img src=x onerror="window.evil=1"><script>window.evil=2</script>'
DRAWN = "document.documentElement?.dataset.drawn"


def runs(dirigent, folder):
    """Fits that between them have every part of a report: name and page of each."""

    def command(*words):
        subprocess.run([dirigent, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    command("demo", "--out", "demo")
    command("synth", "synthetic", "--rows", "14100", "--out", "plane")
    command("fit", "plane/data.npy", "--truth", "plane/labels.npy", "--clusters", "components", "--out", "clusters")
    command("synth", "nyt", "--rows", "1500", "--clusters", "12", "--out", "documents")
    words = int(subprocess.check_output(["zcat", folder / "documents/docword.txt.gz"]).split()[1])
    vocabulary = [EVIL, "it's", 'a "quote"', "<b>bold</b>"] + [f"term{ix}" for ix in range(4, words)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    command("fit", "documents/docword.txt.gz", "--vocab", "vocab.txt", "--out", "text")
    (folder / "mixed.csv").write_text(mixed_table(), encoding="utf-8")
    command("fit", "mixed.csv", "--family", "mixed", "--out", "mixed")
    command("synth", "synthetic", "--rows", "3000", "--out", "points")
    command("fit", "points/data.npy", "--truth", "points/labels.npy", "--draws", "20", "--chains", "2", "--out", "draws")
    command("report", "demo", "draws", "--out", "compared.html")
    names = ["clusters", "demo", "text", "mixed", "draws"]
    return [(name, folder / name / "report.html") for name in names] + [("compared", folder / "compared.html")]


def mixed_table():
    """Two kinds of people, with holes, and with names that are markup."""
    lines = [f'"{EVIL.replace(chr(34), chr(34) * 2)}",smokes,visits,"colour <b>"']
    for ix in range(300):
        tall = ix % 2
        height = f"{1.5 + 0.35 * tall + 0.01 * (ix * 7 % 13):.3f}" if ix % 17 else ""
        colour = EVIL.replace('"', '""') if tall else "blue & green"
        lines.append(f'{height},{tall},{3 + 9 * tall + ix % 3},"{colour}"')
    return "\n".join(lines) + "\n"


def check(browser, name, page, keep):
    """All that a page must do. Raises where it does not."""
    browser.open(page.as_uri())
    n_plots = int(browser.wait_for(DRAWN, f"{name}: the plots are drawn"))
    n_figures = browser.evaluate("document.querySelectorAll('figure[data-plot]').length")
    drawn = browser.evaluate(
        "[...document.querySelectorAll('figure[data-plot]')].map(f => [f.querySelector('h3').textContent, "
        "f.querySelectorAll('.scatterlayer path, .barlayer path, .scatterlayer text').length])"
    )
    expect(n_plots == n_figures > 0, f"{name}: {n_plots} of {n_figures} plots are drawn")
    for title, n_marks in drawn:
        expect(n_marks > 0, f"{name}: the plot «{title}» is empty")
    check_structure(browser, name)
    check_hover(browser, name)
    check_links(browser, name)
    check_slider(browser, name, keep)
    if name != "text":
        check_switch(browser, name)
    if name == "demo":
        check_legend(browser, name)
    if keep:
        browser.screenshot(keep / f"{name}.png", full=True)
    check_dark(browser, name, keep)
    check_phone(browser, name, keep)
    expect(browser.evaluate("window.evil === undefined"), f"{name}: a name from the data was run as a script")
    strangers = [url for url in browser.requests if url != page.as_uri() and not url.startswith(("data:", "blob:"))]
    expect(not strangers, f"{name}: the page asked for {strangers}")
    expect(not browser.errors, f"{name}: the console says {browser.errors}")
    return n_plots


def check_structure(browser, name):
    """What a reader who cannot see needs."""
    for what, expression in {
        "one main heading": "document.querySelectorAll('h1').length === 1",
        "a way past the head": "document.querySelector('a.skip[href=\"#content\"]') && document.querySelector('main#content')",
        "a language": "document.documentElement.lang === 'en'",
        "a text for every plot": "[...document.querySelectorAll('.plot')].every(p => p.getAttribute('role') === 'img' && p.ariaLabel.length > 10)",
        "a caption for every table": "[...document.querySelectorAll('table')].every(t => t.caption && t.querySelector('th[scope=col]'))",
        "names of all links": "[...document.querySelectorAll('a')].every(a => a.textContent.trim())",
        "links that lead somewhere": "[...document.querySelectorAll('a')].every(a => document.querySelector(a.getAttribute('href')))",
        "no id twice": "(ids => new Set(ids).size === ids.length)([...document.querySelectorAll('body > :not(script) [id]')].filter(e => !e.closest('.plot')).map(e => e.id))",
    }.items():
        expect(browser.evaluate(f"Boolean({expression})"), f"{name}: the page lacks {what}")


def check_hover(browser, name):
    """A row of the map, or a mark of the first plot, that is hovered over says what it is."""
    box = browser.evaluate(
        """(() => {
          const canvas = document.querySelector('.map canvas');
          if (canvas) {
            canvas.scrollIntoView({behavior: 'instant', block: 'center'});
            const [x, y] = map.own.is_text ? map.centres[0] : [map.own.x[0], map.own.y[0]];
            const frame = canvas.getBoundingClientRect();
            return [frame.x + map.scale.x(x), frame.y + map.scale.y(y)];
          }
          const line = document.querySelector('.plot .scatterlayer .js-line');
          line.scrollIntoView({behavior: 'instant', block: 'center'});
          const box = line.getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        })()"""
    )
    browser.mouse(box[0] - 3, box[1])
    browser.mouse(*box)
    text = browser.wait_for(
        "[...document.querySelectorAll('.tip:not([hidden]), .hoverlayer .hovertext, .hoverlayer .legend')].map(t => t.textContent).join(' ')",
        f"{name}: hovering shows a text", 15,
    )  # fmt: skip
    expect(len(text) > 3, f"{name}: hovering says «{text}»")
    browser.mouse(2, 2)


def check_links(browser, name):
    """A link to a card that is folded away unfolds it."""
    folded = "document.querySelector('details.more .card')"
    if browser.evaluate(f"Boolean({folded})"):
        browser.evaluate(f"location.hash = {folded}.id")
        browser.wait_for(f"{folded}.getBoundingClientRect().height > 0", f"{name}: a link opens the folded cards", 15)


def check_slider(browser, name, keep):
    """The slider, moved by keys, shows other cuts: cards, map, sizes and tree; the button brings the clusters of the run back."""
    if not browser.evaluate("Boolean(document.querySelector('.cut'))"):
        expect(name == "compared", f"{name}: the page has no slider")
        return
    look = """(() => {
      const all = (list, find) => [...list].map(find);
      const cards = [...document.querySelectorAll('.card')].filter(card => !card.closest('.other-cards'));
      return {
        said: document.querySelector('.cut output').textContent, pressed: document.querySelector('.cut button').ariaPressed,
        cards: all(cards, card => [card.id, card.querySelector('h3').textContent, card.querySelector('.size').textContent,
          card.style.getPropertyValue('--tone'), card.querySelector('.links').textContent]),
        folded: cards.filter(card => card.closest('details')).length,
        map: map.own.is_text ? all(map.centres, (_, number) => number) : [...new Set(map.cluster)].sort((a, b) => a - b),
        tree: new Set(all(document.querySelectorAll('.tree g[data-node]'), g => g.style.getPropertyValue('--tone'))).size,
        alt: map.canvas.ariaLabel,
        rows: all(document.querySelectorAll('.overview tbody tr'), row => row.textContent),
        twice: all(document.querySelectorAll('[id^=cluster-]'), card => card.id).length !== cards.length,
      };
    })()"""
    fitted = browser.evaluate(look)
    most = int(browser.evaluate("document.querySelector('.cut input').max"))
    browser.evaluate("document.querySelector('.cut input').focus()")

    def move(key, n_clusters):
        browser.key(key)
        browser.wait_for(f"document.documentElement.dataset.cut == '{n_clusters}'", f"{name}: {key} cuts into {n_clusters}", 15)
        return browser.evaluate(look)

    for key, k in [("Home", 1), ("ArrowRight", 2), ("End", most)]:
        cut = move(key, k)
        noun = "cluster" if k == 1 else "clusters"
        expect(cut["said"] == f"{k} {noun}" and cut["pressed"] == "false", f"{name}: at {k} the slider says {cut['said']}")
        expect([card[0] for card in cut["cards"]] == [f"cluster-{ix}" for ix in range(k)], f"{name}: cards at {k}: {cut['cards']}")
        expect([card[1] for card in cut["cards"]] == [f"Cluster {ix}" for ix in range(k)], f"{name}: titles at {k}")
        expect(cut["folded"] == max(k - 9, 0) and not cut["twice"], f"{name}: at {k} {cut['folded']} cards are folded")
        expect(len(cut["rows"]) == k, f"{name}: at {k} the table has {len(cut['rows'])} rows")
        expect(k > 12 or len(cut["map"]) == k, f"{name}: at {k} the map has the clusters {cut['map']}")
        expect(cut["tree"] in (k, k + 1), f"{name}: at {k} the tree has {cut['tree']} colours")
        expect(f"{k} {noun}" in cut["alt"], f"{name}: at {k} the map is called «{cut['alt']}»")
        expect(len(cut["cards"]) == len(fitted["cards"]) or cut["map"] != fitted["map"], f"{name}: at {k} the map has the colours it had")
    if keep:
        browser.screenshot(keep / f"{name}-cut.png", full=True)
    check_structure(browser, name)
    browser.evaluate("document.querySelector('.cut button').click()")
    browser.wait_for("document.documentElement.dataset.cut === 'fitted'", f"{name}: the button shows the clusters of the run", 15)
    browser.wait_for("new Promise(done => setTimeout(() => done(true), 150))", "the plots are drawn")
    again = browser.evaluate(look)
    different = [part for part in fitted if fitted[part] != again[part]]
    expect(not different and again["said"].endswith(", as fitted"), f"{name}: as fitted, but {different} are not as before")


def check_switch(browser, name):
    """The horizontal axis can be seconds."""
    choose = "(value => { const b = document.querySelector(`.choice input[value=${value}]`); b.click(); return b.closest('section').querySelector('.xtitle').textContent })"
    expect(browser.evaluate(f"{choose}('other')") == "seconds", f"{name}: the switch to seconds does nothing")
    expect(browser.evaluate(f"{choose}('usual')") == "cycle", f"{name}: the switch back does nothing")


def check_legend(browser, name):
    """A click on the legend hides a cluster."""
    click = "document.querySelector('.map .legend button').click()"
    browser.evaluate(click)
    expect(browser.evaluate("map.hidden.has(0)"), f"{name}: a click on the legend hides a cluster")
    browser.evaluate(click)
    expect(browser.evaluate("!map.hidden.size"), f"{name}: another click shows it again")


def check_dark(browser, name, keep):
    """Page and plots follow the colour scheme while they are open."""
    look = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('.plot .xtick text')).fill]"
    light = browser.evaluate(look)
    browser.scheme("dark")
    browser.wait_for(
        f"(dark => dark[0] !== '{light[0]}' && dark[1] !== '{light[1]}')({look})", f"{name}: page and plots become dark", 15
    )
    if keep:
        browser.screenshot(keep / f"{name}-dark.png", full=True)
    browser.scheme("light")
    browser.wait_for(f"{look}[1] === '{light[1]}'", f"{name}: plots become light again", 15)


def check_phone(browser, name, keep):
    """On a narrow screen nothing is wider than the screen."""
    browser.screen(360, 740)
    browser.wait_for(
        "[...document.querySelectorAll('.plot .main-svg')].every(s => s.getBoundingClientRect().width <= 360)",
        f"{name}: plots become as narrow as a phone", 10,
    )  # fmt: skip
    browser.wait_for("!document.querySelector('.plot .legend')", f"{name}: on a phone no legend takes the place of the plot", 10)
    width = browser.evaluate("document.scrollingElement.scrollWidth")
    expect(width <= 360, f"{name}: on a phone the page is {width} pixels wide")
    if keep:
        browser.screenshot(keep / f"{name}-phone.png", full=True)
    browser.screen(1200, 900)


def check_watch(browser, dirigent, folder):
    """A page that is open while a run goes on grows with it and ends as its report."""
    words = ["fit", "points/data.npy", "--cycles", "1000000", "--time-limit", "6", "--watch", "--out", "watched"]
    fit = subprocess.Popen([dirigent, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = iter(fit.stderr.readline, "")
    url = next(line.split()[1] for line in lines if line.startswith("watch: "))
    browser.open(url)
    cycles = "Number([...document.querySelectorAll('.facts > div')].find(d => d.textContent.startsWith('cycles'))?.querySelector('.value').textContent.replaceAll(',', ''))"
    first = browser.wait_for(cycles, "watch: the page tells of cycles")
    browser.wait_for(f"{cycles} > {first}", "watch: the page moves on with the run")
    browser.wait_for("document.querySelector('main').textContent.includes('Map of a sample')", "watch: the page becomes the report", 30)
    browser.wait_for("document.querySelector('.cut output')?.textContent.endsWith(', as fitted')", "watch: the report has its slider")
    check_slider(browser, "watch", None)
    browser.wait_for("document.querySelector('.live').textContent === 'The run has ended.'", "watch: the page says that the run has ended")
    expect(fit.wait(30) == 0, f"watch: the fit ended with {fit.returncode}: {fit.stderr.read()}")
    expect(not browser.errors, f"watch: the console says {browser.errors}")
    strangers = [one for one in browser.requests if not one.startswith((url, "data:"))]
    expect(not strangers, f"watch: the page asked for {strangers}")


def expect(condition, problem):
    if not condition:
        raise Failed(problem)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=Path, help="leave runs and screenshots in this folder")
    parser.add_argument("--picture", type=Path, help="write the first screen of the first report to this file")
    keep, picture = vars(parser.parse_args()).values()
    program = next((found for found in map(shutil.which, PROGRAMS) if found), None)
    dirigent = target_folder() / "release" / "dirigent"
    if program is None or not dirigent.exists():
        sys.exit(f"needed: Chromium ({', '.join(PROGRAMS)}) and {dirigent}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = (keep or Path(scratch)).resolve()
        os.makedirs(folder, exist_ok=True)
        pages = runs(dirigent, folder)
        with Chromium(program) as browser:
            for name, page in pages:
                start = time.monotonic()
                n_plots = check(browser, name, page, keep)
                print(f"{name}: {n_plots} plots, {page.stat().st_size / 1e6:.1f} MB, {time.monotonic() - start:.1f} s", flush=True)
            if picture:
                browser.open(pages[0][1].as_uri(), width=1200, height=1090)
                browser.wait_for(DRAWN, "the plots are drawn")
                browser.screenshot(picture)
            start = time.monotonic()
            check_watch(browser, dirigent, folder)
            print(f"watch: {time.monotonic() - start:.1f} s", flush=True)
    print("reports work in the browser: hover, legend, slider, switches, dark, phone; no request, no error")


if __name__ == "__main__":
    try:
        main()
    except Failed as problem:
        sys.exit(f"FAILED: {problem}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"FAILED: {error}\n{(error.stderr or b'').decode()}")
