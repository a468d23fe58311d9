"""Checks that every name in the tables of docs/paper-to-code.md is declared in the file beside it."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "crates" / "dirigent" / "src"
ROW = re.compile(r"^\|.*\| (`[^|]*`) \| `([^`|]+\.rs)` \|$", re.MULTILINE)


def missing(names, file):
    if not (SOURCE / file).exists():
        return [f"{file} does not exist"]
    text = (SOURCE / file).read_text(encoding="utf-8")
    declared = r"\b(fn|struct|enum|trait|type) {}\b"
    return [f"{file} has no {name}" for name in names if not re.search(declared.format(re.escape(name)), text)]


def main():
    page = (ROOT / "docs" / "paper-to-code.md").read_text(encoding="utf-8")
    rows = ROW.findall(page)
    if len(rows) < 10:
        sys.exit("docs/paper-to-code.md has hardly a row left: have its tables changed?")
    problems = [problem for names, file in rows for problem in missing(re.findall(r"`([^`]+)`", names), file)]
    if problems:
        sys.exit("docs/paper-to-code.md:\n" + "\n".join(problems))
    print(f"docs/paper-to-code.md: {len(rows)} rows name what exists")


if __name__ == "__main__":
    main()
