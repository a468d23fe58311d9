"""Checks the built book: links and pictures lead somewhere, the search finds pages, and, with Chromium, no page is wider than a phone.

usage: check_book.py FOLDER [--keep PICTURES]     --keep saves pictures of some pages, as a desktop and a phone show them
"""

import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from chromium import Chromium

PHONE, DESKTOP = (390, 844), (1280, 900)
PICTURED = ["index.html", "guide/tutorial.html", "guide/parameters.html", "benchmarks.html", "reference/python/index.html"]
# what a reader types, and the page that has to be found
SEARCHES = {"missing cells": "families", "dirichlet process": "dirichlet-process", "prior_documents": "text"}


class Page(HTMLParser):
    """Anchors and links of a page."""

    def __init__(self, text):
        super().__init__()
        self.names, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.names |= {given[name] for name in ("id", "name") if given.get(name)}
        self.links += [given[name] for name in ("href", "src") if given.get(name)]


def dead_links(folder):
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html")) if path.name not in ("print.html", "toc.html", "404.html")}
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z][a-z0-9+.-]*:|//", link):
                continue
            file, _, anchor = link.partition("#")
            target = (path.parent / unquote(file)).resolve() if file else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{path.relative_to(folder)}: {link}: there is no such file"
            elif anchor and target in pages and unquote(anchor) not in pages[target].names:
                yield f"{path.relative_to(folder)}: {link}: the page has no such heading"


def problems_in_browser(folder, browser, pictures):
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.html"))
    for name in names:
        if name in ("print.html", "toc.html", "404.html"):
            continue
        browser.open(f"file://{folder}/{name}", *PHONE)
        browser.wait_for("document.readyState === 'complete'", name)
        width = browser.evaluate("document.scrollingElement.scrollWidth")
        if width > PHONE[0]:
            yield f"{name}: {width} pixels wide on a phone of {PHONE[0]}"
        broken = browser.evaluate("[...document.images].filter(one => !one.naturalWidth).map(one => one.src)")
        yield from (f"{name}: picture is missing: {source}" for source in broken)
        if pictures and name in PICTURED:
            stem = name.removesuffix(".html").replace("/", "-")
            browser.screenshot(pictures / f"{stem}-phone.png")
            browser.open(f"file://{folder}/{name}", *DESKTOP)
            browser.wait_for("document.readyState === 'complete'", name)
            browser.screenshot(pictures / f"{stem}.png")
    yield from problems_of_search(folder, browser)


def problems_of_search(folder, browser):
    for words, page in SEARCHES.items():
        browser.open(f"file://{folder}/index.html?search={words.replace(' ', '%20')}", *DESKTOP)
        found = "[...document.querySelectorAll('#mdbook-searchresults a, #searchresults a')].map(one => one.href)"
        results = browser.wait_for(f"({found}).length && {found}", f"search for {words!r}")
        if not any(page in result for result in results):
            yield f"search for {words!r}: {page} is not among {len(results)} results"


def main():
    folder = Path(sys.argv[1]).resolve()
    pictures = Path(sys.argv[3]).resolve() if sys.argv[2:3] == ["--keep"] else None
    problems = list(dead_links(folder))
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        print("*** SKIPPED: the book in a browser, because there is no Chromium")
    else:
        if pictures:
            pictures.mkdir(parents=True, exist_ok=True)
        with Chromium(program) as browser:
            problems += problems_in_browser(folder, browser, pictures)
    if problems:
        sys.exit("\n".join(problems))
    print("the book: links and pictures lead somewhere, search works, every page fits a phone")


if __name__ == "__main__":
    main()
