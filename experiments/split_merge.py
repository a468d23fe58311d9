"""How soon the slice sampler finds clusters that it begins with as one component, with and without splits and merges.

    python experiments/split_merge.py path/to/dirigent folder

Every data set has 20,000 rows. The level is the smallest log-joint of the last quarter of the cycles of a chain that began with the true labels.
"""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np

# name: clusters, columns, how far apart their centres are, and cycles
SETS = {
    "two-apart": (2, 4, 6.0, 200),
    "two-near": (2, 4, 3.0, 600),
    "four-near": (4, 30, 1.0, 600),
    "four-apart": (4, 30, 2.0, 600),
}


def make(name: str, folder: Path) -> None:
    n_clusters, n_columns, scale, _ = SETS[name]
    rng = np.random.default_rng(2)
    centres = scale * rng.normal(size=(n_clusters, n_columns))
    if n_clusters == 2:
        centres = np.array([[0.0], [scale / np.sqrt(n_columns)]]) * np.ones(n_columns)
    labels = rng.integers(n_clusters, size=20_000)
    rows = centres[labels] + rng.normal(size=(20_000, n_columns))
    np.save(folder / f"{name}.npy", rows.astype(np.float32))
    np.save(folder / f"{name}-true.npy", labels.astype(np.uint32))


def fit(dirigent: str, folder: Path, name: str, start: str, attempts: int, seed: int) -> list[dict[str, str]]:
    out = folder / f"run-{name}-{start}-{attempts}"
    sigma0 = 5.0 if name.startswith("two") else SETS[name][2]
    options = f"--prior sigma=1,sigma0={sigma0} --alpha 1 --method slicemr --workers 4 --cycles {SETS[name][3]} --seed {seed}"
    begins = folder / (f"{name}-true.npy" if start == "true" else "one.npy")
    command = [dirigent, "fit", str(folder / f"{name}.npy"), *options.split(), "--method-option", f"split_merge={attempts}"]
    subprocess.run([*command, "--start", str(begins), "--out", str(out), "--force", "--quiet"], check=True)
    with (out / "trace.csv").open() as trace:
        return list(csv.DictReader(trace))


def main(dirigent: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "one.npy", np.zeros(20_000, np.uint32))
    for name in SETS:
        make(name, folder)
        true = fit(dirigent, folder, name, "true", 0, seed=2)
        level = min(float(cycle["log_joint"]) for cycle in true[-(len(true) // 4) :])
        for attempts in (0, 1):
            trace = fit(dirigent, folder, name, "one", attempts, seed=1)
            reached = (cycle["cycle"] for cycle in trace if float(cycle["log_joint"]) >= level)
            splits = sum(int(cycle["splits"]) for cycle in trace)
            print(f"{name}, {attempts} attempts a cycle: level at cycle {next(reached, 'none')}, ", end="")
            print(f"at the end K {trace[-1]['k']}, {splits} splits accepted, {trace[-1]['seconds']} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
