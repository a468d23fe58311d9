"""Builds what is shipped, into the folder dist/.

usage: ship.py tools | wheels [TARGET...] | binaries [TARGET...] | sdist

tools      a virtual environment in the target folder with what the other commands need
wheels     one wheel per target, audited; on Linux for x86-64 and AArch64 and for musl, elsewhere for this machine
binaries   an archive per target: the command, completions, manual pages, licences; on Linux static
sdist      the sources, as `pip` builds them

A target whose standard library rustup cannot add is skipped loudly; with REQUIRE_ALL=1 that is a failure.
"""

import gzip
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
PROFILE = "dist"
IS_LINUX = sys.platform == "linux"
# target: the platform of its wheel
LINUX_WHEELS = {
    "x86_64-unknown-linux-gnu": "manylinux2014",
    "aarch64-unknown-linux-gnu": "manylinux2014",
    "x86_64-unknown-linux-musl": "musllinux_1_2",
}
LINUX_BINARIES = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]
SHELLS = {"bash": "dirigent.bash", "zsh": "_dirigent", "fish": "dirigent.fish", "powershell": "_dirigent.ps1", "elvish": "dirigent.elv"}
# of an x86-64 wheel, compressed; more than this is a mistake in the profile
LARGEST_WHEEL = 14e6


def run(*words, **options):
    words = [str(word) for word in words]
    print("$", *words, flush=True)
    subprocess.run(words, cwd=options.pop("cwd", ROOT), check=True, **options)


def output(*words, **options):
    words = [str(word) for word in words]
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True, **options).stdout


def target_folder():
    return Path(json.loads(output("cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"))["target_directory"])


def version():
    metadata = json.loads(output("cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"))
    return next(package["version"] for package in metadata["packages"] if package["name"] == "dirigent")


def tool(name):
    """A program of the virtual environment."""
    folder = target_folder() / "ship-tools" / ("Scripts" if os.name == "nt" else "bin")
    found = shutil.which(name, path=str(folder))
    if found is None:
        sys.exit(f"{name} is not in {folder}: run `python3 scripts/ship.py tools` first")
    return found


def tools():
    folder = target_folder() / "ship-tools"
    if not folder.exists():
        run(sys.executable, "-m", "venv", folder)
    run(tool("python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "scripts/requirements-ship.txt")


def host():
    return re.search(r"^host: (.*)$", output("rustc", "--version", "--verbose"), re.MULTILINE).group(1)


def has_target(target):
    """Whether there is a standard library for the target; rustup adds it where it can."""
    if Path(output("rustc", "--print", "target-libdir", "--target", target).strip()).exists():
        return True
    if shutil.which("rustup"):
        subprocess.run(["rustup", "target", "add", target], cwd=ROOT, check=False)
    if Path(output("rustc", "--print", "target-libdir", "--target", target).strip()).exists():
        return True
    print(f"\n*** SKIPPED: {target}\n*** remedy: rustup target add {target}\n", file=sys.stderr)
    if os.environ.get("REQUIRE_ALL") == "1":
        sys.exit("*** REQUIRE_ALL=1: a skip is a failure")
    return False


def environment(root=ROOT):
    """The same commit gives the same bytes: the time is that of the commit, and no path of this machine gets in."""
    found = dict(os.environ)
    folder = Path(tool("python")).parent
    found["PATH"] = os.pathsep.join([str(folder), found["PATH"]])
    found.setdefault("SOURCE_DATE_EPOCH", commit_time())
    if IS_LINUX:
        cargo_home = Path(found.get("CARGO_HOME", Path.home() / ".cargo"))
        target = found["CARGO_TARGET_DIR"] if "CARGO_TARGET_DIR" in found and root == ROOT else root / "target"
        found["CARGO_TARGET_DIR"] = str(target)
        # the last one that fits counts
        maps = {cargo_home: "/cargo", root: "/dirigent", target: "/target"}
        found["CARGO_ENCODED_RUSTFLAGS"] = "\x1f".join(f"--remap-path-prefix={path}={name}" for path, name in maps.items())
        found["CFLAGS"] = " ".join(f"-ffile-prefix-map={path}={name}" for path, name in maps.items())
    return found


def commit_time():
    try:
        return output("git", "log", "-1", "--format=%ct").strip()
    except (subprocess.CalledProcessError, FileNotFoundError):
        # the first moment that a zip can say
        return "315532800"


def build_wheel(target, folder, root=ROOT):
    """The wheel, alone in an empty folder."""
    words = [tool("maturin"), "build", "--profile", PROFILE, "--locked", "--out", folder]
    if IS_LINUX:
        words += ["--target", target, "--zig", "--compatibility", LINUX_WHEELS[target]]
    run(*words, cwd=root, env=environment(root))
    [wheel] = Path(folder).glob("*.whl")
    return wheel


def is_of(target, wheel):
    return not IS_LINUX or (wheel.name.endswith(f"_{target.split('-')[0]}.whl") and ("musllinux" in wheel.name) == target.endswith("musl"))


def wheels(targets):
    for target in targets or (LINUX_WHEELS if IS_LINUX else [host()]):
        if not has_target(target):
            continue
        started = time.monotonic()
        DIST.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            built = build_wheel(target, folder)
            for old in DIST.glob("*.whl"):
                if is_of(target, old):
                    old.unlink()
            wheel = Path(shutil.move(built, DIST))
        size = wheel.stat().st_size
        print(f"{wheel.name}: {size / 1e6:.1f} MB, {time.monotonic() - started:.0f} s", flush=True)
        if size > LARGEST_WHEEL:
            sys.exit(f"{wheel.name} has more than {LARGEST_WHEEL / 1e6:.0f} MB")
        if IS_LINUX:
            audit(wheel)


def audit(wheel):
    """The wheel asks for nothing that its platform does not have, and only for the stable part of Python's interface."""
    shown = output(tool("auditwheel"), "show", wheel, env=environment())
    print(shown.strip(), flush=True)
    # such as manylinux_2_17: the system whose libraries are enough
    found, promised = (re.findall(r"((?:many|musl)linux)_(\d+)_(\d+)_", text) for text in (shown.split('"')[1], wheel.name))
    if not found or found[0][0] != promised[-1][0] or tuple(map(int, found[0][1:])) > tuple(map(int, promised[-1][1:])):
        sys.exit(f"{wheel.name}: auditwheel finds another platform")
    run(tool("abi3audit"), "--strict", wheel)


def binaries(targets):
    is_native = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}[platform.machine().lower()]
    targets = targets or (LINUX_BINARIES if IS_LINUX else [host()])
    # the one that runs here writes completions and manual pages, which are the same for all
    targets = sorted(targets, key=lambda target: not target.startswith(is_native))
    pages = None
    for target in targets:
        if not has_target(target):
            continue
        started = time.monotonic()
        build = [tool("cargo-zigbuild"), "zigbuild"] if IS_LINUX else ["cargo", "build"]
        run(*build, "--locked", "--profile", PROFILE, "--package", "dirigent-cli", "--target", target, env=environment())
        name = "dirigent.exe" if "windows" in target else "dirigent"
        binary = target_folder() / target / PROFILE / name
        if IS_LINUX and b"/ld-" in binary.read_bytes()[:4096]:
            sys.exit(f"{binary} is not static")
        if pages is None:
            pages = shell_files(binary)
        archive = pack(f"dirigent-{version()}-{target}", binary, pages)
        print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB, {time.monotonic() - started:.0f} s; the command {binary.stat().st_size / 1e6:.1f} MB")


def shell_files(binary):
    files = {f"completions/{name}": subprocess.check_output([binary, "completions", shell]) for shell, name in SHELLS.items()}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binary, "man", "--out", folder], check=True)
        return files | {f"man/man1/{page.name}": page.read_bytes() for page in sorted(Path(folder).iterdir())}


def pack(name, binary, pages):
    """A .zip for Windows, a .tar.gz elsewhere, with the time of the commit and nobody's name."""
    files = {binary.name: binary.read_bytes()} | pages
    files |= {path: (ROOT / path).read_bytes() for path in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"]}
    seconds = int(environment()["SOURCE_DATE_EPOCH"])
    DIST.mkdir(exist_ok=True)
    if binary.suffix == ".exe":
        archive = DIST / f"{name}.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
            for path, content in sorted(files.items()):
                out.writestr(zipfile.ZipInfo(f"{name}/{path}", time.gmtime(seconds)[:6]), content, zipfile.ZIP_DEFLATED)
        return archive
    archive = DIST / f"{name}.tar.gz"
    with archive.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=seconds) as packed, tarfile.open(None, "w", packed) as out:
        for path, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mtime, entry.mode = len(content), seconds, 0o755 if path == binary.name else 0o644
            out.addfile(entry, io.BytesIO(content))
    return archive


def sdist():
    run(tool("maturin"), "sdist", "--out", DIST, env=environment())
    for path in DIST.glob("*.tar.gz"):
        if re.fullmatch(r"dirigent-[\d.]+\w*\.tar\.gz", path.name):
            print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")


def main():
    commands = {"tools": tools, "sdist": sdist}
    of_targets = {"wheels": wheels, "binaries": binaries}
    match sys.argv[1:]:
        case [name] if name in commands:
            commands[name]()
        case [name, *targets] if name in of_targets:
            of_targets[name](targets)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
