"""Checks the text of the repository.

Every file speaks to every reader: no path, host or ticket of one particular workplace. The pages for users are plain English: README.md and docs/ without
docs/dev/. Words of `AVOIDED` do not occur there and no sentence has more than 40 words; over all of them the median is at most 16 words and the 95th
percentile at most 30. README.md is short.

usage: check_text.py [--longest]     --longest also prints the longest sentences
"""

import re
import statistics
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
AVOIDED = re.compile(
    r"\b(nobody|everybody|whoever|anew|afresh|beside|in vain|so many|lumps?|go(?:es)? on|went on|going on|put(?:s|ting)? away|may well|once more"
    r"|told|learnt|sureness|how sure|nonsense|manieth|made sets?|laws?|is said|be said|unless you say|have it so)\b",
    re.IGNORECASE,
)
MOST_WORDS, MEDIAN, PERCENTILE_95 = 40, 16, 30
README_LINES, README_WIDTH = 130, 120
FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2[`~]*\s*$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)\s]+\)")
CODE = re.compile(r"`[^`\n]+`")
# headings, rows of tables and lines of code end a paragraph; a list item begins one
NO_PROSE = re.compile(r"^(#|\||    \S|\$\$)")
ITEM = re.compile(r"^\s*([-*]|\d+\.) ")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')*]*\s+(?=[\"'(*]*[A-Z0-9`]|[a-z]+: )")


def listed_files():
    listed = subprocess.check_output(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT)
    return sorted(set(listed.decode().split("\0")) - {""})


def of_workplace(name, text):
    for what, pattern in FORBIDDEN.items():
        for match in re.finditer(pattern, text, re.MULTILINE):
            yield f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {what}: {match.group().strip()}"


def is_for_users(name):
    return name == "README.md" or (name.startswith("docs/") and name.endswith(".md") and not name.startswith("docs/dev/"))


def blank(match):
    """Nothing on as many lines, so that lines can be named."""
    return "\n" * match.group().count("\n")


def prose(text):
    """The text without code: fenced, in comments, in backquotes. Lines keep their numbers."""
    text = COMMENT.sub(blank, FENCED.sub(blank, text))
    return LINK.sub(r"\1", IMAGE.sub("", CODE.sub("CODE", text)))


def paragraphs(text):
    """Paragraphs of running text with the line on which they begin."""
    collected, first = [], 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        is_break = not line.strip() or NO_PROSE.match(line) is not None
        if collected and (is_break or ITEM.match(line)):
            yield first, " ".join(collected)
            collected = []
        if not is_break:
            first = first if collected else number
            collected.append(ITEM.sub("", line).strip())


def sentences(text):
    """Sentences with their line and number of words."""
    for line, paragraph in paragraphs(text):
        for sentence in SENTENCE_END.split(paragraph):
            n_words = sum(any(c.isalnum() for c in word) for word in sentence.split())
            if n_words > 1:
                yield line, n_words, sentence


def of_readme(text):
    lines = text.splitlines()
    if len(lines) > README_LINES:
        yield f"README.md: {len(lines)} lines; at most {README_LINES}"
    yield from (f"README.md:{number}: {len(line)} characters" for number, line in enumerate(lines, 1) if len(line) > README_WIDTH)


def main():
    problems, found = [], []
    for name in listed_files():
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue  # a picture, or a file that is about to go
        problems += [] if name in SKIPPED else of_workplace(name, text)
        if is_for_users(name):
            text = prose(text)
            for match in AVOIDED.finditer(text):
                problems.append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: avoid: {match.group()}")
            found += [(n_words, name, line, sentence) for line, n_words, sentence in sentences(text)]
    problems += of_readme((ROOT / "README.md").read_text(encoding="utf-8"))
    problems += [f"{name}:{line}: {n} words: {sentence[:80]}…" for n, name, line, sentence in found if n > MOST_WORDS]
    lengths = sorted(n_words for n_words, *_ in found)
    if len(lengths) < 100:
        sys.exit("the pages for users have hardly a sentence: has their place changed?")
    median, percentile = statistics.median(lengths), lengths[int(0.95 * len(lengths))]
    if median > MEDIAN or percentile > PERCENTILE_95:
        problems.append(f"sentences are too long: median {median}, 95th percentile {percentile} words")
    if "--longest" in sys.argv:
        for n, name, line, sentence in sorted(found, reverse=True)[:40]:
            print(f"{n} words, {name}:{line}: {sentence}")
    print(f"{len(lengths)} sentences for users: median {median:g} words, 95th percentile {percentile}")
    if problems:
        sys.exit("\n".join(problems))
    print("no file speaks of one particular workplace, and pages for users are in plain words")


if __name__ == "__main__":
    main()
