"""Checks that the files speak to every reader: no path, host or ticket of one particular workplace."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORBIDDEN = {
    "a path of one machine": r"(?<![\w.>~*-])/(work|root|home/\w+|Users/\w+)/",
    "a ticket's number": r"\b[Ii]ssues? (no\. ?|#)?\d+\b",
    "a private host": r"://[^/\s\"')]*(\.internal|\.local|\.corp|\.lan)\b|://(10|127|192\.168|172\.\d+)\.\d",
    "a replaced package source": r"^\s*(replace-with|index-url|extra-index-url)\s*=",
}
SKIPPED = {"scripts/check_text.py"}


def main():
    listed = subprocess.check_output(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT)
    problems = []
    for name in sorted(set(listed.decode().split("\0")) - SKIPPED - {""}):
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue  # a picture, or a file that is about to go
        for what, pattern in FORBIDDEN.items():
            for match in re.finditer(pattern, text, re.MULTILINE):
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{name}:{line}: {what}: {match.group().strip()}")
    if problems:
        sys.exit("\n".join(problems))
    print("no file speaks of one particular workplace")


if __name__ == "__main__":
    main()
