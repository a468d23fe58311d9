"""Fits every set of a data folder with the command, told nothing, and writes one table of how the components agree with the reference labels.

usage: every_set.py DATA [RESULTS.csv] [--seeds 0,1] [--command target/release/dirigent] [--limit 300] [--only small,batteries] [--commits]

DATA has small/*.csv (labels in a last column `label` or `category`), batteries/*/*.data.gz (see batteries.py), docword.NAME.txt.gz with labels.NAME.txt, and NAME.npy with
NAME.labels.npy. The largest text, commits, is fitted only if `--commits` is given, after all others, with the first seed. A line that the table has already is not made again.
"""

import argparse
import csv
import gzip
import os
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from batteries import majority, read, score

COLUMNS = ["group", "set", "rows", "columns", "clusters", "seed", "k", "ari", "nmi", "ceiling", "cpu_seconds", "seconds", "cycles"]
LARGEST = "commits"


def main():
    options = parse()
    done = read(options.results)
    groups = options.only.split(",") if options.only else ["small", "batteries", "texts", "features", LARGEST]
    for group, name, make in sets(options.data):
        if group not in groups or (group == LARGEST and not options.commits):
            continue
        seeds = options.seeds.split(",")
        for seed in seeds[:1] if group == LARGEST else seeds:
            if (name, seed) in done:
                continue
            with tempfile.TemporaryDirectory() as folder:
                line = {"group": group, "set": name, "seed": seed} | fit(options, *make(Path(folder)), seed)
            done[name, seed] = line
            write(options.results, done.values())
            print(", ".join(f"{key} {value}" for key, value in line.items()), flush=True)
    summarise(done.values())


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("results", type=Path, nargs="?", default=Path(__file__).parent / "results" / "every_set.csv")
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--command", default=str(Path(__file__).parent.parent / "target" / "release" / "dirigent"))
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("--only")
    parser.add_argument("--commits", action="store_true")
    return parser.parse_args()


def sets(data):
    """Group, name and how to make each set ready: the file, further arguments of `fit`, the shape, and the reference labellings, in which 0 is noise."""
    for file in sorted(data.glob("small/*.csv")):
        yield "small", file.stem, lambda folder, file=file: small(file)
    for file in sorted(data.glob("batteries/*/*.data.gz")):
        stem = file.name.removesuffix(".data.gz")
        yield "batteries", f"{file.parent.name}/{stem}", lambda folder, file=file, stem=stem: battery(folder, file, stem)
    texts = sorted(data.glob("docword.*.txt.gz"))
    for file in texts:
        name = file.name.split(".")[1]
        if name != LARGEST:
            yield "texts", name, lambda folder, file=file, name=name: text(file, name)
    for file in sorted(data.glob("*.labels.npy")):
        name = file.name.removesuffix(".labels.npy")
        yield "features", name, lambda folder, file=file, name=name: features(file, name)
    for file in texts:
        if file.name.split(".")[1] == LARGEST:
            yield LARGEST, LARGEST, lambda folder, file=file: text(file, LARGEST)


def small(file):
    with open(file, encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines)
    if header[-1] not in ("label", "category"):
        return file, [], (len(rows), len(header)), []
    truth = np.unique([row[-1] for row in rows], return_inverse=True)[1] + 1
    return file, ["--exclude", header[-1]], (len(rows), len(header) - 1), [truth]


def battery(folder, file, stem):
    rows = np.loadtxt(gzip.open(file), ndmin=2)
    np.save(folder / "rows.npy", rows)
    truths = [np.loadtxt(gzip.open(labels)).astype(int) for labels in sorted(file.parent.glob(f"{stem}.labels*.gz"))]
    return folder / "rows.npy", [], rows.shape, truths


def text(file, name):
    with gzip.open(file, "rt") as lines:
        shape = int(next(lines)), int(next(lines))
    return file, [], shape, [np.loadtxt(file.parent / f"labels.{name}.txt", dtype=int) + 1]


def features(labels, name):
    file = labels.parent / f"{name}.npy"
    return file, [], np.load(file, mmap_mode="r").shape, [np.load(labels).astype(int) + 1]


def fit(options, file, arguments, shape, truths, seed):
    """K, scores, seconds and cycles of one fit."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [options.command, "fit", file, *arguments, "--seed", seed, "--time-limit", str(options.limit), "--no-report", "--quiet", "--out", run]
        began, before = time.monotonic(), os.times()
        subprocess.run(command, check=True)
        after = os.times()
        seconds = time.monotonic() - began
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        labels = np.unique(np.load(run / "labels.npy"), return_inverse=True)[1]
        with open(run / "trace.csv", encoding="utf-8", newline="") as lines:
            cycles = max(int(line["cycle"]) for line in csv.DictReader(lines))
    found = {"rows": shape[0], "columns": shape[1], "k": int(labels.max()) + 1, "cpu_seconds": round(cpu, 2), "seconds": round(seconds, 2), "cycles": cycles}
    if not truths:
        return found
    best = max(truths, key=lambda truth: score(adjusted_rand_score, truth, labels))
    return found | {
        "clusters": len(np.unique(best[best > 0])),
        "ari": round(score(adjusted_rand_score, best, labels), 3),
        "nmi": round(score(normalized_mutual_info_score, best, labels), 3),
        "ceiling": round(max(score(adjusted_rand_score, truth, majority(truth, labels)) for truth in truths), 3),
    }


def write(path, lines):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        writer.writerows(lines)


def summarise(lines):
    """Means over the sets of each group, and over all."""
    groups = defaultdict(list)
    for line in lines:
        groups[line["group"]].append(line)
    for group, fits in groups.items():
        scored = [line for line in fits if line.get("ari") not in (None, "")]
        means = ", ".join(f"{name} {np.mean([float(line[name]) for line in scored]):.3f}" for name in ("ari", "nmi", "ceiling"))
        cpu = [float(line["cpu_seconds"]) for line in fits]
        print(f"{group}, {len(fits)} fits: {means}; processor seconds: median {np.median(cpu):.2f}, most {max(cpu):.1f}")


if __name__ == "__main__":
    main()
