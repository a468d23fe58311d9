"""Checks that every dependency has a licence we accept, and every direct one its line in docs/dependencies.md."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# deny.toml has the same list
ACCEPTED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CDLA-Permissive-2.0", "ISC",
    "MIT", "Unicode-3.0", "Unlicense", "Zlib",
}  # fmt: skip
ACCEPTED_IN_TESTS = ACCEPTED | {"MPL-2.0"}


def is_accepted(expression, accepted):
    """Whether an SPDX expression can be met: one part of each OR, all parts of each AND."""
    tokens = re.findall(r"\(|\)|[^\s()/]+(?: WITH [^\s()]+)?|/", expression)
    position = 0

    def term():
        nonlocal position
        token = tokens[position]
        position += 1
        if token != "(":
            return token in accepted
        value = alternatives()
        position += 1  # the closing bracket
        return value

    def joined():
        nonlocal position
        value = term()
        while position < len(tokens) and tokens[position] == "AND":
            position += 1
            value &= term()
        return value

    def alternatives():
        nonlocal position
        value = joined()
        while position < len(tokens) and tokens[position] in ("OR", "/"):
            position += 1
            value |= joined()
        return value

    return alternatives()


def shipped(metadata):
    """What ends up in a user's build: everything that is reached without a dev-dependency."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found, rest = set(), list(metadata["workspace_members"])
    while rest:
        package = rest.pop()
        if package in found:
            continue
        found.add(package)
        for dependency in nodes[package]["deps"]:
            if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"]):
                rest.append(dependency["pkg"])
    return found


def main():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    metadata = json.loads(subprocess.check_output(command, cwd=ROOT))
    in_build = shipped(metadata)
    problems = []
    for package in metadata["packages"]:
        accepted = ACCEPTED if package["id"] in in_build else ACCEPTED_IN_TESTS
        if not is_accepted(package["license"] or "none", accepted):
            problems.append(f"{package['name']} {package['version']}: licence {package['license']} is not on the list")

    members = [package for package in metadata["packages"] if package["id"] in metadata["workspace_members"]]
    own = {package["name"] for package in members}
    direct = {dependency["name"] for package in members for dependency in package["dependencies"]} - own
    described = set(re.findall(r"^\| `([\w-]+)`", (ROOT / "docs/dependencies.md").read_text(encoding="utf-8"), re.MULTILINE))
    problems += [f"{name}: has no line in docs/dependencies.md" for name in sorted(direct - described)]
    problems += [f"{name}: has a line in docs/dependencies.md but is no dependency" for name in sorted(described - direct)]

    if problems:
        sys.exit("\n".join(problems))
    n_packages = len(metadata["packages"]) - len(own)
    print(f"{n_packages} packages, {len(in_build) - len(own)} of them in a user's build: all licences accepted")


if __name__ == "__main__":
    main()
