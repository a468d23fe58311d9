"""Makes one data set ready in a folder: train and test rows, the true labels apart, and `set.json` about them.

usage: sets.py NAME FOLDER [DATA]

Made sets come from `dirigent synth`, the others from the folder DATA; a set that is not there is no error, but leaves no `set.json`.
A tenth of the rows is held out, the same ones for everybody. Small tables are standardised, columns that never change left out.
"""

import csv
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse

SMALL = ["iris", "wine", "breast_cancer", "digits", "segment", "faithful"]
# name: arguments of `dirigent synth`
MADE = {
    "tiny": ["synthetic", "--rows", "300", "--clusters", "4"],
    "synthetic": ["synthetic"],
    "imagenet": ["imagenet", "--rows", "200000"],
}
TEXTS = ["reuters", "commits"]
ALL = [*SMALL, "synthetic", "reuters", "fashion", "imagenet", "commits"]


def main():
    name, folder, *data = sys.argv[1:]
    found = read(name, Path(data[0]) if data else None)
    if found is None:
        return
    kind, rows, truth, known = found
    write(Path(folder), name, kind, rows, truth, known)


def read(name, data):
    """Kind, rows, true labels or None, and what is known of made data; None where the set is not there."""
    if name in MADE:
        return made(MADE[name])
    if data is None:
        return None
    files = {"fashion": data / "fashion_mnist_pca48.npy"}
    files |= {text: data / f"docword.{text}.txt.gz" for text in TEXTS} | {table: data / "small" / f"{table}.csv" for table in SMALL}
    file = files[name]
    if not file.exists():
        return None
    if name == "fashion":
        return "dense", np.load(file), np.load(file.with_suffix(".labels.npy")), {}
    if name in TEXTS:
        return "counts", docword(file), np.loadtxt(data / f"labels.{name}.txt", dtype=int), {}
    return "dense", *table(file), {}


def made(arguments):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "dirigent", "synth", *arguments, "--quiet", "--out", folder, "--force"], check=True)
        law = json.loads((Path(folder) / "synth.json").read_text(encoding="utf-8"))
        known = {"sigma": law["noise_sd"], "sigma0": law["centre_sd"]}
        return "dense", np.load(Path(folder) / "data.npy"), np.load(Path(folder) / "labels.npy"), known


def docword(file):
    """The UCI layout: three numbers, then `document word count`, from 1."""
    with gzip.open(file, "rt") as lines:
        n_rows, n_words, _ = (int(next(lines)) for _ in range(3))
        document, word, count = np.loadtxt(lines, dtype=np.int64).T
    return scipy.sparse.csr_matrix((count, (document - 1, word - 1)), shape=(n_rows, n_words))


def table(file):
    """Standardised columns, and the numbers of the labels in the last column, if that is what it holds."""
    with open(file, encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines)
    truth = None
    if header[-1] in ("label", "category"):
        truth = np.unique([row[-1] for row in rows], return_inverse=True)[1]
        rows = [row[:-1] for row in rows]
    cells = np.array(rows, dtype=float)
    cells = cells[:, cells.std(axis=0) > 0]
    return (cells - cells.mean(axis=0)) / cells.std(axis=0), truth


def write(folder, name, kind, rows, truth, known):
    folder.mkdir(parents=True, exist_ok=True)
    n_rows = rows.shape[0]
    is_held_out = np.zeros(n_rows, dtype=bool)
    is_held_out[np.random.default_rng(0).permutation(n_rows)[: n_rows // 10]] = True
    for part, chosen in (("train", ~is_held_out), ("test", is_held_out)):
        if kind == "dense":
            np.save(folder / f"{part}.npy", np.ascontiguousarray(rows[chosen]))
        else:
            scipy.sparse.save_npz(folder / f"{part}.npz", rows[chosen])
    if truth is not None:
        np.save(folder / "truth.npy", truth[~is_held_out])
    about = {
        "name": name,
        "kind": kind,
        "n_rows": int((~is_held_out).sum()),
        "n_held_out": int(is_held_out.sum()),
        "n_columns": rows.shape[1],
        "n_clusters": None if truth is None else len(np.unique(truth)),
        "known": known,
    }
    # last: a set that has it is whole
    (folder / "set.json").write_text(json.dumps(about, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
