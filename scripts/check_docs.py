"""Checks the documentation: every relative link and anchor leads somewhere, every page of docs/ is in SUMMARY.md, every quotation is as in its source,
every file that ARCHITECTURE.md names is there.

usage: check_docs.py [--write]     --write puts quotations right instead

A quotation is a block of Rust after `<!-- quoted: FILE NAME -->`; in FILE it stands between `// begin: NAME` and `// end: NAME`.

In the tables of the code map a name is a path in the folder of the table's first line, or in that of the name before it; elsewhere in ARCHITECTURE.md
it is a path, or the end of one in what the section's heading names (anywhere, where that names nothing).
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
# a file of code or a folder, in backquotes
NAME = re.compile(r"`([\w.-]+(?:/[\w.-]+)*(?:\.(?:rs|py|pyi|toml|sh|md)|/))`")
FOLDER_OF_TABLE = re.compile(r"^\| file in `([\w./-]+)/` \|", re.MULTILINE)
QUOTATION = re.compile(r"(<!-- quoted: (\S+) (\S+) -->\n```rust\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)


def files(*patterns):
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.check_output(command, cwd=ROOT, text=True).splitlines()
    return [name for name in sorted(set(listed)) if (ROOT / name).exists()]


def pages():
    return [ROOT / name for name in files("*.md")]


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


def problems_of_code_map(text):
    """Files and folders that ARCHITECTURE.md names and that are not there."""
    paths = set(files())
    paths |= {f"{folder}/" for name in paths for folder in map(str, Path(name).parents)}
    n_named = 0
    for section in re.split(r"^(?=##+ )", text, flags=re.MULTILINE):
        heading = section.partition("\n")[0]
        roots = re.findall(r"`([^`]+)`", heading) if heading.startswith("###") else []
        missing = [root for root in roots if f"{root}/" not in paths]
        within = {path for path in paths if not roots or path.startswith(tuple(f"{root}/" for root in roots))}
        folder = None
        for line in section.splitlines()[1:]:
            if FOLDER_OF_TABLE.match(line):
                folder = folder_of_table(line, roots)
                continue
            folder = folder if line.startswith("|") else None
            cell, rest = line.split("|", 2)[1:] if folder else ("", line)
            n_named += len(NAME.findall(line))
            missing += missing_in_cell(NAME.findall(cell), folder, paths)
            missing += [name for name in NAME.findall(rest) if not is_end_of_path(name, paths, within)]
        yield from (f"ARCHITECTURE.md: {heading.strip('# ')}: {name}: there is no such file" for name in missing)
    if n_named < 100:
        yield "ARCHITECTURE.md: the code map names hardly any file: has its form changed?"


def folder_of_table(line, roots):
    folder = FOLDER_OF_TABLE.match(line)[1]
    return folder if folder in roots else f"{roots[0]}/{folder}"


def missing_in_cell(names, folder, paths):
    before = folder
    for name in names:
        found = next((path for path in (f"{folder}/{name}", f"{before}/{name}") if path in paths), None)
        if found is None:
            yield name
        else:
            before = str(Path(found).parent)


def is_end_of_path(name, paths, within):
    return name in paths or any(f"/{path}".endswith(f"/{name}") for path in within)


def quoted(file, name):
    marks = rf"^ *// begin: {re.escape(name)}\n(.*?)^ *// end: {re.escape(name)}$"
    parts = re.findall(marks, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if len(parts) != 1:
        sys.exit(f"{file}: has {len(parts)} parts named {name}, not one")
    return textwrap.dedent(parts[0])


def main():
    texts = {page: page.read_text(encoding="utf-8") for page in pages()}
    problems = [*problems_of_summary(texts), *problems_of_code_map(texts[ROOT / "ARCHITECTURE.md"])]
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
    print(f"{len(texts)} pages: all links lead somewhere, {n_quotations} quotations are right, the code map names what exists")


if __name__ == "__main__":
    main()
