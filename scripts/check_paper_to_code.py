"""Checks that every name in the tables of docs/dev/paper-to-code.md is declared in the file beside it, `Type::function` in an `impl` of that type."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "crates" / "dirigent" / "src"
ROW = re.compile(r"^\|.*\| (`[^|]*`) \| `([^`|]+\.rs)` \|$", re.MULTILINE)


def missing(names, file):
    path = (ROOT if file.startswith("crates/") else SOURCE) / file
    if not path.exists():
        return [f"{file} does not exist"]
    text = path.read_text(encoding="utf-8")
    return [f"{file} has no {name}" for name in names if not is_declared(name, text)]


def is_declared(name, text):
    of_type, _, name = name.rpartition("::")
    if of_type:
        blocks = re.findall(rf"^impl\b[^{{;]*\b{re.escape(of_type)}\b[^{{;]*{{\n(.*?)^}}", text, re.MULTILINE | re.DOTALL)
        return any(re.search(rf"\bfn {re.escape(name)}\b", block) for block in blocks)
    return re.search(rf"\b(fn|struct|enum|trait|type) {re.escape(name)}\b", text) is not None


def main():
    page = (ROOT / "docs" / "dev" / "paper-to-code.md").read_text(encoding="utf-8")
    rows = ROW.findall(page)
    if len(rows) < 10:
        sys.exit("docs/dev/paper-to-code.md has hardly a row left: have its tables changed?")
    problems = [problem for names, file in rows for problem in missing(re.findall(r"`([^`]+)`", names), file)]
    if problems:
        sys.exit("docs/dev/paper-to-code.md:\n" + "\n".join(problems))
    print(f"docs/dev/paper-to-code.md: {len(rows)} rows name what exists")


if __name__ == "__main__":
    main()
