"""Runs the blocks of README.md and of the pages for users as they are printed, and compares what they print with what the page shows.

The blocks of a page that are fenced as `sh` and `python` run one after another in one empty folder, with the built `dirigent` first on PATH and Python that of
`make python`; Python blocks with nothing but text between them are one session. Blocks fenced as `sh clone` run at the root of the clone; what they would install
goes to a temporary folder or to that Python, and the run folders they make are removed. Blocks fenced otherwise (`console`, `toml`) are not run.

A block fenced as `text` shows the standard output of the block before it. Words must agree; numbers may differ by 5 %, because processors round differently; durations
and memory are not compared; a line `...` stands for any lines.

usage: run_readme.py [--write] [--clean TRANSCRIPT] [PAGE…]
    --write             puts the real output into the pages
    --clean TRANSCRIPT  README.md alone, up to its section for developers: installed into a new environment, no other on PATH; writes what happened
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(sh|sh clone|python)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
# this very test: it would never end; and a whole build in another folder
NOT_HERE = ("make test",)
BETWEEN_BLOCKS = "\x1e"
UNCOMPARED = re.compile(r"\d[\d,.]*(?=\s?(?:s|ms|seconds?|processor|MiB|MB|GB|KB|rows/s)\b)")
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


class Block:
    def __init__(self, page, match):
        self.kind, self.code, self.shown = match.groups()
        if self.kind == "sh clone":
            lines = self.code.splitlines(keepends=True)
            self.code = "".join(line for line in lines if line.split("#")[0].strip() not in NOT_HERE)
        self.line = page.count("\n", 0, match.start()) + 2
        self.span = match.span(3)
        self.output = ""


def target_folder():
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    return Path(json.loads(subprocess.check_output(command, cwd=ROOT))["target_directory"])


def blocks_of(page):
    return [Block(page, match) for match in BLOCK.finditer(page)]


def sessions(blocks):
    """Blocks that run in one process: Python blocks with no shell block between them."""
    found = []
    for block in blocks:
        if block.kind == "python" and found and found[-1][0].kind == "python":
            found[-1].append(block)
        else:
            found.append([block])
    return found


def run(session, where, folder, environment):
    """Runs the blocks, prints them and what they print, and keeps that."""
    is_python = session[0].kind == "python"
    code = f"\nprint({BETWEEN_BLOCKS!r}, flush=True)\n".join(block.code for block in session)
    print(where, *code.replace(f"print({BETWEEN_BLOCKS!r}, flush=True)\n", "").splitlines(), sep="\n    ", flush=True)
    command = ["python", "-c"] if is_python else ["bash", "-euo", "pipefail", "-c"]
    ended = subprocess.run([*command, code], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE)
    print(ended.stdout.replace(BETWEEN_BLOCKS + "\n", ""), end="", flush=True)
    if ended.returncode != 0:
        sys.exit(f"{where}: this block ended with exit code {ended.returncode}")
    for block, output in zip(session, ended.stdout.split(BETWEEN_BLOCKS + "\n"), strict=True):
        block.output = "".join(f"{line.rstrip()}\n" for line in output.splitlines()).strip("\n") + "\n"


def is_same_line(shown, printed):
    shown, printed = (" ".join(UNCOMPARED.sub("T", line).split()) for line in (shown, printed))
    numbers = [[float(number.replace(",", "").rstrip(",")) for number in NUMBER.findall(line)] for line in (shown, printed)]
    words = [re.sub(r"\s+", "", NUMBER.sub("#", line)) for line in (shown, printed)]
    if words[0] != words[1]:
        return False
    return all(abs(a - b) <= max(0.05 * abs(a), 0.02) for a, b in zip(*numbers, strict=True))


def is_same(shown, printed):
    """Whether lines agree; a line `...` stands for any number of them."""
    if not shown:
        return not printed
    if shown[0].strip() == "...":
        return any(is_same(shown[1:], printed[n:]) for n in range(len(printed) + 1))
    return bool(printed) and is_same_line(shown[0], printed[0]) and is_same(shown[1:], printed[1:])


def environment_with(path, installed):
    plain = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100", "MPLBACKEND": "Agg", "PYTHONWARNINGS": "ignore::DeprecationWarning"}
    return dict(os.environ, PATH=os.pathsep.join(path), CARGO_INSTALL_ROOT=installed, **plain)


def run_page(page, path, has_python):
    """Runs the blocks of a page; returns them."""
    blocks = blocks_of((ROOT / page).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as installed:
        environment = environment_with(path, installed)
        for session in sessions(blocks):
            where = f"{page}:{session[0].line}"
            if not has_python and any(block.kind == "python" or "pip install" in block.code for block in session):
                print(f"*** SKIPPED: {where}, because there is no Python with the package")
                return [block for block in blocks if block.output]
            run(session, where, ROOT if session[0].kind == "sh clone" else scratch, environment)
    return blocks


def differences(page, blocks):
    for block in blocks:
        if block.shown is not None and not is_same(block.shown.splitlines(), block.output.splitlines()):
            yield f"{page}:{block.line}: the page shows\n{block.shown}but this was printed\n{block.output}"


def write_outputs(page, blocks):
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in reversed(blocks):
        if block.shown is not None and not is_same(block.shown.splitlines(), block.output.splitlines()):
            begin, end = block.span
            text = text[:begin] + block.output + text[end:]
    (ROOT / page).write_text(text, encoding="utf-8")


def user_pages():
    docs = ROOT / "docs"
    pages = [page for page in sorted(docs.rglob("*.md")) if docs / "dev" not in page.parents]
    return ["README.md", *(str(page.relative_to(ROOT)) for page in pages if "<!-- not run -->" not in page.read_text(encoding="utf-8"))]


def newcomer(transcript):
    """README.md from a new environment; what happened, with seconds, goes to a file."""
    began = time.monotonic()
    lines = ["README.md, block by block, in a new virtual environment. Written by `scripts/run_readme.py --clean`.", ""]
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as fresh:
        venv.create(fresh, with_pip=True)
        keep = [folder for folder in os.environ["PATH"].split(os.pathsep) if "target" not in folder]
        environment = environment_with([f"{fresh}/bin", *keep], fresh)
        blocks = blocks_of((ROOT / "README.md").read_text(encoding="utf-8"))
        # what follows for developers compiles once more
        for session in sessions([block for block in blocks if block.kind != "sh clone" or "pip install" in block.code]):
            start = time.monotonic()
            run(session, f"README.md:{session[0].line}", ROOT if session[0].kind == "sh clone" else scratch, environment)
            for block in session:
                lines += [*(f"$ {line}" for line in block.code.splitlines()), *block.output.splitlines()[-30:]]
            lines += [f"[{time.monotonic() - start:.0f} s]", ""]
    lines.append(f"all of it: {time.monotonic() - began:.0f} s, of which building from source is the first block")
    text = "\n".join(lines).replace(str(ROOT), ".").replace(str(Path.home()), "~")
    Path(transcript).write_text(text + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--clean", metavar="TRANSCRIPT")
    parser.add_argument("pages", nargs="*")
    given = parser.parse_args()
    runs_before = set((ROOT / "runs").glob("*"))
    if given.clean:
        newcomer(given.clean)
    else:
        run_pages(given)
    for folder in set((ROOT / "runs").glob("*")) - runs_before:
        # the demo's table lies beside its run folder
        shutil.rmtree(folder) if folder.is_dir() else folder.unlink()


def run_pages(given):
    binary = target_folder() / "release" / "dirigent"
    if not binary.exists():
        sys.exit(f"{binary} is missing: run `make rust` first")
    # where Python's part was skipped, loudly, so is this one
    python = target_folder() / "python" / "bin"
    if not python.exists() and os.environ.get("REQUIRE_ALL") == "1":
        sys.exit(f"{python} is missing: run `make python` first")
    n_blocks, n_shown, problems = 0, 0, []
    for page in given.pages or user_pages():
        blocks = run_page(page, [str(binary.parent), str(python), os.environ["PATH"]], python.exists())
        if page == "README.md" and len(blocks) < 3:
            sys.exit("README.md has hardly a block: have its fences changed?")
        n_blocks += len(blocks)
        n_shown += sum(block.shown is not None for block in blocks)
        if given.write:
            write_outputs(page, blocks)
        else:
            problems += differences(page, blocks)
    if problems:
        sys.exit("\n".join([*problems, "put right by scripts/run_readme.py --write PAGE"]))
    print(f"{n_blocks} blocks of the pages for users work as printed, {n_shown} outputs are those shown")


if __name__ == "__main__":
    main()
