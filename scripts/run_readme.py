"""Runs the blocks of README.md and of the guide as they are printed.

The blocks of a page that are fenced as `sh` and `python` run one after another in one empty folder, with the built `dirigent` first on PATH and Python that of
`make python`; Python blocks with nothing but text between them are one session. Blocks fenced as `sh clone` run at the root of the clone; what they would install
goes to a temporary folder or to that Python, and the run folders they make are removed.

usage: run_readme.py [PAGE…]
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(sh|sh clone|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# this very test: it would never end
NOT_HERE = "make test"


def target_folder():
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    return Path(json.loads(subprocess.check_output(command, cwd=ROOT))["target_directory"])


def blocks(page):
    """Kind, text and first line of what is run at once."""
    found = []
    for fence in FENCE.finditer(page):
        kind, block = fence.groups()
        block = "".join(text for text in block.splitlines(keepends=True) if text.split("#")[0].strip() != NOT_HERE)
        line = page.count("\n", 0, fence.start()) + 2
        if kind == "python" and found and found[-1][0] == "python":
            found[-1][1] += block
        else:
            found.append([kind, block, line])
    return found


def run(kind, block, where, folder, environment):
    print(where, *block.splitlines(), sep="\n    ", flush=True)
    interpreter = ["python", "-c"] if kind == "python" else ["bash", "-euo", "pipefail", "-c"]
    ended = subprocess.run([*interpreter, block], cwd=folder, env=environment)
    if ended.returncode != 0:
        sys.exit(f"{where}: this block ended with exit code {ended.returncode}")


def main():
    pages = sys.argv[1:] or ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs" / "guide").glob("*.md"))]
    binary = target_folder() / "release" / "dirigent"
    if not binary.exists():
        sys.exit(f"{binary} is missing: run `make rust` first")
    # where Python's part was skipped, loudly, so is this one
    python = target_folder() / "python" / "bin"
    if not python.exists() and os.environ.get("REQUIRE_ALL") == "1":
        sys.exit(f"{python} is missing: run `make python` first")
    runs_before = set((ROOT / "runs").glob("*"))
    n_blocks = 0
    for page in pages:
        of_page = blocks((ROOT / page).read_text(encoding="utf-8"))
        if page == "README.md" and not of_page:
            sys.exit("README.md has no shell block: has the fence changed?")
        with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as installed:
            path = os.pathsep.join([str(binary.parent), str(python), os.environ["PATH"]])
            environment = dict(os.environ, PATH=path, CARGO_INSTALL_ROOT=installed)
            for kind, block, line in of_page:
                where = f"{page}:{line}"
                if not python.exists() and (kind == "python" or "pip install" in block):
                    print(f"*** SKIPPED: {where}, because there is no {python}")
                    continue
                run(kind, block, where, ROOT if kind == "sh clone" else scratch, environment)
                n_blocks += 1
    for folder in set((ROOT / "runs").glob("*")) - runs_before:
        shutil.rmtree(folder)
    print(f"{n_blocks} blocks of README.md and the guide work as printed")


if __name__ == "__main__":
    main()
