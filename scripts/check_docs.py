"""Checks the documentation: every relative link and anchor leads somewhere, every page of docs/ is in SUMMARY.md, every quotation is as in its source.

usage: check_docs.py [--write]     --write puts quotations right instead

A quotation is a block of Rust after `<!-- quoted: FILE NAME -->`; in FILE it stands between `// begin: NAME` and `// end: NAME`.
"""

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2[`~]*\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
QUOTATION = re.compile(r"(<!-- quoted: (\S+) (\S+) -->\n```rust\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)


def pages():
    listed = subprocess.check_output(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, text=True)
    return [ROOT / name for name in sorted(set(listed.splitlines())) if (ROOT / name).exists()]


def anchors(text):
    """The names by which headings can be linked to."""
    seen, names = {}, set()
    for title in re.findall(r"^#{1,6} +(.+?) *#*$", FENCED.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title.replace("`", ""))
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        n_before = seen.get(name, 0)
        seen[name] = n_before + 1
        names.add(f"{name}-{n_before}" if n_before else name)
    return names


def problems_of_links(page, texts):
    # what is code is not a link; lines are kept, so that they can be named
    text = FENCED.sub(lambda block: "\n" * block.group().count("\n"), texts[page])
    text = CODE.sub(lambda code: "x" * len(code.group()), text)
    for match in LINK.finditer(text):
        target = match.group(1)
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        where = f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}"
        path, _, anchor = target.partition("#")
        linked = (page.parent / unquote(path)).resolve() if path else page
        if not linked.exists():
            yield f"{where}: {target}: there is no such file"
        elif anchor and linked in texts and anchor not in anchors(texts[linked]):
            yield f"{where}: {target}: the page has no such heading"


def problems_of_summary(texts):
    summary = ROOT / "docs" / "SUMMARY.md"
    listed = [(summary.parent / target).resolve() for target in LINK.findall(texts[summary])]
    yield from (f"docs/SUMMARY.md: {page.relative_to(ROOT)} is there twice" for page in set(listed) if listed.count(page) > 1)
    in_docs = {page for page in texts if (ROOT / "docs") in page.parents} - {summary}
    yield from (f"docs/SUMMARY.md: {page.relative_to(ROOT)} is missing" for page in sorted(in_docs - set(listed)))


def quoted(file, name):
    marks = rf"^ *// begin: {re.escape(name)}\n(.*?)^ *// end: {re.escape(name)}$"
    parts = re.findall(marks, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if len(parts) != 1:
        sys.exit(f"{file}: has {len(parts)} parts named {name}, not one")
    return textwrap.dedent(parts[0])


def main():
    texts = {page: page.read_text(encoding="utf-8") for page in pages()}
    problems = list(problems_of_summary(texts))
    n_quotations = 0
    for page, text in texts.items():
        problems += problems_of_links(page, texts)
        right = QUOTATION.sub(lambda match: match[1] + quoted(match[2], match[3]) + match[5], text)
        n_quotations += len(QUOTATION.findall(text))
        if right != text and sys.argv[1:] == ["--write"]:
            page.write_text(right, encoding="utf-8")
        elif right != text:
            problems.append(f"{page.relative_to(ROOT)}: a quotation is not as in its source: run scripts/check_docs.py --write")
    if n_quotations == 0:
        problems.append("no page quotes anything: has the mark changed?")
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(texts)} pages: all links lead somewhere, {n_quotations} quotations are right")


if __name__ == "__main__":
    main()
