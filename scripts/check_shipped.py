"""Checks what scripts/ship.py has built, and that a release is ready.

usage: check_shipped.py packages | same [TARGET] | installed [BINARY] | release | notes | publish

packages   descriptions of the packages in dist/ are shown by the index; `cargo publish --dry-run` of the crates
same       builds a wheel twice, the second time in a clone in another folder, and compares the contents
installed  installs the wheel of dist/ where there is no Rust: README's Python blocks, `dirigent demo`; with a BINARY of the command also the
           same fits by both, whose files must have the same bytes
release    the version is the same in all files, and is the tag where there is one; nothing is uncommitted
notes      prints the section of CHANGELOG.md for this version
publish    publishes the crates, in order
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from ship import DIST, ROOT, build_wheel, host, output, run, tool, version

CRATES = ["--package", "dirigent", "--package", "dirigent-cli"]
# fits whose files are compared: each kernel of the families, splits, exact draws
FITS = [
    "synth synthetic --rows 3000 --clusters 12 --seed 3 --out points",
    "fit points/data.npy --seed 1 --out a --draws 5",
    "fit points/data.npy --seed 2 --out b --covariance diag --workers 3 --cycles 12",
    "fit points/data.npy --seed 3 --out c --covariance isotropic --method cgs --cycles 8",
    "fit points/data.npy --seed 4 --out d --method-option kernel=portable --cycles 8",
    "synth nyt --rows 400 --clusters 5 --seed 3 --out words",
    "fit words/docword.txt.gz --seed 5 --out e --cycles 8",
]
COMPARED = ["labels.npy", "certainty.npy", "components.npz", "tree.json", "draws.npy"]


def packages():
    described = [path for path in sorted(DIST.iterdir()) if path.suffix == ".whl" or is_sdist(path)]
    run(tool("twine"), "check", "--strict", *described)
    # the second build of the crates is what proves that their archives are whole
    run("cargo", "publish", "--dry-run", "--locked", *CRATES, *(["--allow-dirty"] if os.environ.get("ALLOW_DIRTY") else []))


def is_sdist(path):
    return re.fullmatch(r"dirigent-[\d.]+\w*\.tar\.gz", path.name) is not None


def same(target=None):
    if output("git", "status", "--porcelain").strip():
        sys.exit("there are changes that are not committed: the clone would not have them")
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        run("git", "clone", "--quiet", ROOT, clone)
        contents = []
        for number, root in enumerate([ROOT, clone]):
            found = build_wheel(target or host(), Path(folder) / str(number), root)
            with zipfile.ZipFile(found) as wheel:
                contents.append({info.filename: (info.date_time, hashlib.sha256(wheel.read(info)).hexdigest()) for info in wheel.infolist()})
    differing = sorted(name for name in contents[0] | contents[1] if contents[0].get(name) != contents[1].get(name))
    if differing:
        sys.exit("two builds of the same commit differ in " + ", ".join(differing))
    print(f"two builds have the same {len(contents[0])} files, to the last byte")


def installed(binary=None):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        path = os.pathsep.join([str(programs), *without_rust()])
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | {"PATH": path}
        if found := shutil.which("cargo", path=path):
            sys.exit(f"{found} is on the path: this must work without Rust")

        def timed(*words, cwd=folder):
            started = time.monotonic()
            ended = subprocess.run(list(map(str, words)), cwd=cwd, env=environment, capture_output=True, text=True)
            print(f"{time.monotonic() - started:6.1f} s  {' '.join(map(str, words))[:110]!r}", flush=True)
            if ended.returncode:
                sys.exit(ended.stdout + ended.stderr)
            return ended.stdout

        python = programs / "python"
        wheel = DIST / timed(python, "-c", FITTING, DIST).strip()
        timed(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
        command = shutil.which("dirigent", path=path)
        print(timed(command, "--version"), end="")
        blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        if any("pandas" in block for block in blocks):
            timed(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pandas")
        print(timed(python, "-c", "".join(blocks)), end="")
        timed(command, "demo", "--out", "demo", "--quiet")
        if binary:
            compare(Path(binary).resolve(), command, folder, timed)


# run by the Python that installs: the wheel of a folder that it takes
FITTING = """
import sys
from pathlib import Path
from pip._vendor.packaging.tags import sys_tags
from pip._vendor.packaging.utils import parse_wheel_filename
tags = set(sys_tags())
print(next(wheel.name for wheel in Path(sys.argv[1]).glob("*.whl") if parse_wheel_filename(wheel.name)[3] & tags))
"""


def without_rust():
    return [folder for folder in os.environ["PATH"].split(os.pathsep) if not shutil.which("cargo", path=folder)]


def compare(binary, command, folder, timed):
    """The same fits by the wheel and by a binary, file by file."""
    n_files = 0
    for name in ["wheel", "source"]:
        (folder / name).mkdir()
    for fit in FITS:
        for name, program in [("wheel", command), ("source", binary)]:
            timed(program, *fit.split(), *(["--quiet", "--no-report"] if fit.startswith("fit") else []), cwd=folder / name)
    for file in (folder / "wheel").rglob("*"):
        if file.name in COMPARED or file.parent.name in ("points", "words"):
            other = folder / "source" / file.relative_to(folder / "wheel")
            if file.read_bytes() != other.read_bytes():
                sys.exit(f"{file.relative_to(folder / 'wheel')} differs between the wheel and {binary}")
            n_files += 1
    print(f"{n_files} files of the wheel's fits and of {binary.name}'s have the same bytes")


def release():
    expected = version()
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in ["CITATION.cff", "conda/recipe.yaml", "Cargo.toml", "CHANGELOG.md"]}
    patterns = {
        "CITATION.cff": r"^version: (.*)$",
        "conda/recipe.yaml": r'^  version: "(.*)"$',
        "Cargo.toml": r'^dirigent = \{ path = .*, version = "(.*?)"',
    }
    problems = []
    for name, pattern in patterns.items():
        found = re.search(pattern, texts[name], re.MULTILINE).group(1)
        if found != expected:
            problems.append(f"{name} has version {found}, Cargo.toml {expected}")
    tag = os.environ.get("GITHUB_REF", "")
    if tag.startswith("refs/tags/"):
        if tag != f"refs/tags/v{expected}":
            problems.append(f"the tag is {tag}, the version {expected}")
        if section(texts["CHANGELOG.md"], expected) is None:
            problems.append(f"CHANGELOG.md has no section [{expected}]")
    if output("git", "status", "--porcelain").strip():
        problems.append("there are changes that are not committed")
    if problems:
        sys.exit("\n".join(problems))
    print(f"version {expected} everywhere")


def section(changelog, of_version):
    found = re.search(rf"^## \[{re.escape(of_version)}\][^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found and found.group(1).strip()


def notes():
    found = section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version())
    if found is None:
        sys.exit(f"CHANGELOG.md has no section [{version()}]")
    print(found)


def publish():
    run("cargo", "publish", "--locked", *CRATES)


def main():
    commands = {"packages": packages, "same": same, "installed": installed, "release": release, "notes": notes, "publish": publish}
    match sys.argv[1:]:
        case [name, *arguments] if name in commands and len(arguments) <= (name in ("same", "installed")):
            commands[name](*arguments)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
