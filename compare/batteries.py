"""Fits every set of the clustering batteries with the command, told nothing, and compares components with the reference labels.

usage: batteries.py DATA RESULTS.csv [--seeds 0,1] [--command dirigent] [--limit 300]

DATA/batteries/NAME/SET.data.gz has rows of numbers, SET.labels0.gz, SET.labels1.gz, … reference labels; rows labelled 0 are noise and are left out of the score.
A set with several references is scored against each, and the best counts. `ceiling` is the score once each component is sent to its majority class: how pure components are.
A line of RESULTS.csv that is there already is not made again.
"""

import argparse
import csv
import gzip
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

COLUMNS = ["set", "rows", "columns", "clusters", "seed", "k", "ari", "nmi", "ceiling", "cpu_seconds", "seconds"]


def main():
    options = parse()
    done = read(options.results)
    for file in sorted(options.data.glob("batteries/*/*.data.gz")):
        name = f"{file.parent.name}/{file.name.removesuffix('.data.gz')}"
        seeds = [seed for seed in options.seeds.split(",") if (name, seed) not in done]
        if not seeds:
            continue
        rows = np.loadtxt(gzip.open(file), ndmin=2)
        stem = str(file).removesuffix(".data.gz")
        truths = [np.loadtxt(gzip.open(labels)).astype(int) for labels in sorted(Path(file.parent).glob(f"{Path(stem).name}.labels*.gz"))]
        for seed in seeds:
            line = {"set": name, "rows": len(rows), "columns": rows.shape[1], "seed": seed}
            line |= fit(options, rows, truths, seed)
            done[name, seed] = line
            write(options.results, done.values())
            print(", ".join(f"{key} {value}" for key, value in line.items()), flush=True)
    summarise(done.values())


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--command", default="dirigent")
    parser.add_argument("--limit", type=float, default=300)
    return parser.parse_args()


def fit(options, rows, truths, seed):
    """K, scores and seconds of one fit."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/rows.npy", rows)
        command = [options.command, "fit", f"{folder}/rows.npy", "--seed", seed, "--time-limit", str(options.limit), "--no-report", "--quiet", "--out", f"{folder}/run"]
        began, before = time.monotonic(), os.times()
        subprocess.run(command, check=True)
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        labels = np.unique(np.load(f"{folder}/run/labels.npy"), return_inverse=True)[1]
    best = max((truth for truth in truths), key=lambda truth: score(adjusted_rand_score, truth, labels))
    return {
        "clusters": len(np.unique(best[best > 0])),
        "k": int(labels.max()) + 1,
        "ari": round(score(adjusted_rand_score, best, labels), 3),
        "nmi": round(score(normalized_mutual_info_score, best, labels), 3),
        "ceiling": round(max(score(adjusted_rand_score, truth, majority(truth, labels)) for truth in truths), 3),
        "cpu_seconds": round(cpu, 2),
        "seconds": round(time.monotonic() - began, 2),
    }


def score(measure, truth, labels):
    """Without noise."""
    return measure(truth[truth > 0], labels[truth > 0])


def majority(truth, labels):
    """The most frequent class of each component's rows, for every row."""
    table = np.zeros((labels.max() + 1, truth.max() + 1))
    np.add.at(table, (labels[truth > 0], truth[truth > 0]), 1)
    return table.argmax(axis=1)[labels]


def read(path):
    if not path.exists():
        return {}
    with open(path, encoding="utf-8", newline="") as lines:
        return {(line["set"], line["seed"]): line for line in csv.DictReader(lines)}


def write(path, lines):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(lines)


def summarise(lines):
    lines = list(lines)
    if lines:
        mean = {name: np.mean([float(line[name]) for line in lines]) for name in ("ari", "nmi", "ceiling")}
        cpu = [float(line["cpu_seconds"]) for line in lines]
        print(f"{len(lines)} fits: mean ARI {mean['ari']:.3f}, NMI {mean['nmi']:.3f}, ceiling {mean['ceiling']:.3f}; processor seconds: median {np.median(cpu):.2f}, most {max(cpu):.1f}")


if __name__ == "__main__":
    main()
