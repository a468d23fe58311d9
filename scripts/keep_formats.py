"""Writes the run folders and checkpoints that later versions must still read: crates/dirigent-cli/tests/written_by/VERSION/.

usage: keep_formats.py [BINARY]

The command of this version (by default that of the target folder) writes them. Run it before a release, and after a change of a format that has not been
released yet. Folders of released versions stay as they are.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "crates" / "dirigent-cli" / "tests" / "written_by"
# the same on every machine
PORTABLE = "--method-option kernel=portable"
FITS = {
    "numbers": f"fit numbers.csv --seed 1 --standardize --draws 4 --cycles 6 {PORTABLE}",
    "mixed": f"fit mixed.csv --seed 2 {PORTABLE}",
    "words": f"fit words.svm --seed 3 --family multinomial {PORTABLE}",
    # with a checkpoint after the last cycle, from which they can be made longer
    "stopped": f"fit numbers.csv --seed 4 --workers 2 --cycles 4 --checkpoint-every 0 {PORTABLE}",
    "stopped_chain": f"fit numbers.csv --seed 5 --method cgs --cycles 4 --checkpoint-every 0 {PORTABLE}",
    "stopped_draws": f"fit mixed.csv --seed 6 --method slicemr --workers 2 --cycles 4 --checkpoint-every 0 {PORTABLE}",
}


def data(folder):
    """Three clusters each, from a generator that is the same everywhere."""
    state = 7

    def below(n):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % n

    numbers, mixed, words = ["x,y"], ["size,kind,visits"], []
    for row in range(90):
        cluster = row % 3
        bell = [sum(below(101) for _ in range(4)) / 100 - 2 for _ in range(3)]
        numbers.append(f"{8 * cluster + bell[0]:.2f},{10 * (cluster % 2) + bell[1]:.2f}")
        kind = ["red", "green", "blue"][cluster if below(9) else below(3)]
        mixed.append(f"{20 * cluster + bell[2]:.2f},{kind},{'' if row % 17 == 0 else 9 * cluster + below(4)}")
        counts = [below(7) if word // 4 == cluster else below(2) for word in range(12)]
        words.append(f"{cluster} " + " ".join(f"{word + 1}:{count}" for word, count in enumerate(counts) if count))
    for name, lines in [("numbers.csv", numbers), ("mixed.csv", mixed), ("words.svm", words)]:
        (folder / name).write_text("\n".join(lines) + "\n")


def main():
    binary = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "release" / "dirigent").resolve()
    version = re.match(r"dirigent (\S+)", subprocess.check_output([binary, "-V"], text=True)).group(1)
    with tempfile.TemporaryDirectory(prefix="dirigent-") as folder:
        folder = Path(folder)
        data(folder)
        for name, fit in FITS.items():
            words = [binary, *fit.split(), "--out", name, "--no-report", "--sample-rows", "0", "--quiet"]
            subprocess.run(list(map(str, words)), cwd=folder, check=True)
        kept = KEPT / version
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept)
    n_bytes = sum(path.stat().st_size for path in kept.rglob("*") if path.is_file())
    print(f"{kept.relative_to(ROOT)}: {len(FITS)} runs, {n_bytes / 1000:.0f} kB")


if __name__ == "__main__":
    main()
