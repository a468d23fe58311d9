"""Runs the blocks of README.md as they are printed.

Blocks fenced as `sh` and `python` run one after another in one empty folder, with the built `dirigent` first on PATH and Python that of
`make python`. Blocks fenced as `sh clone` run at the root of the clone; what they would install goes to a temporary folder or to that Python, and
the run folders they make are removed.
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


def run(kind, block, line, folder, environment):
    print(f"README.md:{line}", *block.splitlines(), sep="\n    ", flush=True)
    interpreter = ["python", "-c"] if kind == "python" else ["bash", "-euo", "pipefail", "-c"]
    ended = subprocess.run([*interpreter, block], cwd=folder, env=environment)
    if ended.returncode != 0:
        sys.exit(f"README.md:{line}: this block ended with exit code {ended.returncode}")


def main():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    binary = target_folder() / "release" / "dirigent"
    if not binary.exists():
        sys.exit(f"{binary} is missing: run `make rust` first")
    # where Python's part was skipped, loudly, so is this one
    python = target_folder() / "python" / "bin"
    if not python.exists() and os.environ.get("REQUIRE_ALL") == "1":
        sys.exit(f"{python} is missing: run `make python` first")
    runs_before = set((ROOT / "runs").glob("*"))
    n_blocks = 0
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as installed:
        path = os.pathsep.join([str(binary.parent), str(python), os.environ["PATH"]])
        environment = dict(os.environ, PATH=path, CARGO_INSTALL_ROOT=installed)
        for fence in FENCE.finditer(readme):
            kind, block = fence.groups()
            block = "".join(text for text in block.splitlines(keepends=True) if text.split("#")[0].strip() != NOT_HERE)
            line = readme.count("\n", 0, fence.start()) + 2
            if not python.exists() and (kind == "python" or "pip install" in block):
                print(f"*** SKIPPED: README.md:{line}, because there is no {python}")
                continue
            run(kind, block, line, ROOT if kind == "sh clone" else scratch, environment)
            n_blocks += 1
    for folder in set((ROOT / "runs").glob("*")) - runs_before:
        shutil.rmtree(folder)
    if n_blocks == 0:
        sys.exit("README.md has no shell block: has the fence changed?")
    print(f"{n_blocks} blocks of README.md work as printed")


if __name__ == "__main__":
    main()
