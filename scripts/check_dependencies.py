"""Checks that every dependency has a licence we accept, and every direct one its line in docs/dev/dependencies.md: those of the workspace, of the
Python package and its tests, of fuzz/ and of compare/."""

import json
import re
import subprocess
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

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


def cargo_metadata(*options):
    return json.loads(subprocess.check_output(["cargo", "metadata", "--format-version", "1", *options], cwd=ROOT))


def named_by_workspace(metadata):
    """The dependencies that its members name, themselves left out."""
    members = [package for package in metadata["packages"] if package["id"] in metadata["workspace_members"]]
    named = (dependency for package in members for dependency in package["dependencies"])
    # what has a path is of this repository
    return {dependency["name"] for dependency in named if "path" not in dependency}


def named_by_crate(manifest):
    return named_by_workspace(cargo_metadata("--no-deps", "--manifest-path", manifest))


def without_version(requirement):
    return re.match(r"[\w.-]+", requirement).group()


def named_by_pyproject():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    optional = settings["project"]["optional-dependencies"].values()
    lists = [settings["build-system"]["requires"], settings["project"]["dependencies"], *optional]
    return {without_version(requirement) for requirements in lists for requirement in requirements}


def named_by_requirements(pattern):
    lines = [line for path in ROOT.glob(pattern) for line in path.read_text(encoding="utf-8").splitlines()]
    return {without_version(line) for line in lines if line.strip() and not line.startswith(("#", "-"))}


def described():
    """The names in the tables of docs/dev/dependencies.md, by section."""
    text = (ROOT / "docs/dev/dependencies.md").read_text(encoding="utf-8")
    sections = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)[1:]
    return {title: set(re.findall(r"^\| `([\w.-]+)`", body, re.MULTILINE)) for title, body in zip(sections[::2], sections[1::2])}


def problems_of_lines(metadata):
    """Dependencies without a line in the sections that may have it; lines without a dependency."""
    lines = described()
    of_rust = set().union(*(names for title, names in lines.items() if title not in ("Python", "Fuzzing", "Comparison")))
    of_python, of_fuzzing, of_comparison = (lines.get(title, set()) for title in ("Python", "Fuzzing", "Comparison"))
    fuzzing, mixturs = named_by_crate("fuzz/Cargo.toml"), named_by_crate("compare/mixturs/Cargo.toml")
    comparison = mixturs | named_by_requirements("compare/requirements*.txt")
    python = named_by_pyproject() | named_by_requirements("tests-python/requirements*.txt")
    # what is named, where its line may be, which lines must be of it
    for named, may_be_in, own in [
        (named_by_workspace(metadata), of_rust, of_rust),
        (python, of_python, of_python),
        (fuzzing, of_fuzzing | of_rust, of_fuzzing),
        (comparison, of_comparison | of_python, of_comparison),
    ]:
        yield from (f"{name}: has no line in docs/dev/dependencies.md" for name in sorted(named - may_be_in))
        yield from (f"{name}: has a line in docs/dev/dependencies.md but is no dependency" for name in sorted(own - named))


def main():
    metadata = cargo_metadata("--locked", "--all-features")
    in_build = shipped(metadata)
    problems = []
    for package in metadata["packages"]:
        accepted = ACCEPTED if package["id"] in in_build else ACCEPTED_IN_TESTS
        if not is_accepted(package["license"] or "none", accepted):
            problems.append(f"{package['name']} {package['version']}: licence {package['license']} is not on the list")

    problems += problems_of_lines(metadata)
    if problems:
        sys.exit("\n".join(problems))
    n_own = len(metadata["workspace_members"])
    n_packages = len(metadata["packages"]) - n_own
    print(f"{n_packages} packages, {len(in_build) - n_own} of them in a user's build: all licences accepted, every direct one described")


if __name__ == "__main__":
    main()
