"""Looks for states that the model prefers to the result of a default fit, on every set of the clustering batteries.

usage: evidence.py DATA RESULTS.csv [--command target/release/dirigent] [--seeds 10] [--sets PART]

Each set is fitted by default, from the reference labels, from k-means with twice as many cells as there are clusters, and with further seeds. The prior depends on the rows
alone, so all fits of a set have the same one: the script stops if the models differ. The evidence estimate is the log-joint plus the entropy of the labels, column
`log_evidence` of trace.csv; it fluctuates from state to state, so the mean over the last cycles of a run counts. `gap` is the highest estimate minus the default's.
"""

import argparse
import csv
import gzip
import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

COLUMNS = ["set", "rows", "k", "evidence", "truth", "truth_k", "kmeans", "kmeans_k", "seeds", "seeds_k", "gap", "best", "cycles", "cpu_seconds"]
# cycles whose estimates are averaged
LAST = 5
# a gap above this is worth a look
NATS = 50


def main():
    options = parse()
    lines = []
    for file in sorted(options.data.glob("batteries/*/*.data.gz")):
        name = f"{file.parent.name}/{file.name.removesuffix('.data.gz')}"
        if options.sets in name:
            lines.append(look(options, file, name))
            write(options.results, lines)
            print(", ".join(f"{key} {value}" for key, value in lines[-1].items()), flush=True)
    summarise(lines)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--command", default="target/release/dirigent")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sets", default="")
    return parser.parse_args()


def look(options, file, name):
    """The estimates of all fits of one set."""
    rows = np.loadtxt(gzip.open(file), ndmin=2)
    truth = np.loadtxt(gzip.open(str(file).replace(".data.gz", ".labels0.gz"))).astype(int)
    cells = KMeans(2 * len(np.unique(truth)), n_init=1, random_state=0).fit_predict(rows)
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/rows.npy", rows)
        np.save(f"{folder}/truth.npy", truth)
        np.save(f"{folder}/kmeans.npy", cells)
        run = lambda *arguments: fit(options.command, folder, arguments)
        usual = run()
        others = {start: run("--start", f"{folder}/{start}.npy") for start in ("truth", "kmeans")}
        seeds = [run("--seed", str(seed)) for seed in range(1, options.seeds)]
    if seeds:
        others["seeds"] = max(seeds, key=lambda run: run["evidence"])
    for other in others.values():
        if other["model"] != usual["model"]:
            raise SystemExit(f"{name}: the models of two fits differ")
    best = max(others, key=lambda start: others[start]["evidence"])
    line = {"set": name, "rows": len(rows), "k": usual["k"], "evidence": round(usual["evidence"], 1)}
    for start, other in others.items():
        line |= {start: round(other["evidence"] - usual["evidence"], 1), f"{start}_k": other["k"]}
    gap = max(0.0, others[best]["evidence"] - usual["evidence"])
    return line | {"gap": round(gap, 1), "best": best, "cycles": usual["cycles"], "cpu_seconds": round(usual["cpu_seconds"], 2)}


def fit(command, folder, arguments):
    """One fit: its model, its last estimates and what it took."""
    command = [command, "fit", f"{folder}/rows.npy", "--no-report", "--quiet", "--force", "--out", f"{folder}/run", *arguments]
    before = os.times()
    subprocess.run(command, check=True)
    after = os.times()
    record = json.loads(Path(f"{folder}/run/run.json").read_text())
    with open(f"{folder}/run/trace.csv", encoding="utf-8", newline="") as trace:
        lines = list(csv.DictReader(trace))
    return {
        "model": record["model"],
        "k": int(lines[-1]["k"]),
        "evidence": np.mean([float(line["log_evidence"]) for line in lines[-LAST:]]),
        "cycles": len(lines),
        "cpu_seconds": after.children_user + after.children_system - before.children_user - before.children_system,
    }


def write(path, lines):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(lines)


def summarise(lines):
    gaps = sorted(((line["gap"], line["set"]) for line in lines), reverse=True)
    cpu = [line["cpu_seconds"] for line in lines]
    above = sum(gap > NATS for gap, _ in gaps)
    worst = ", ".join(f"{name} {gap:.0f}" for gap, name in gaps[:8])
    print(f"{above} of {len(lines)} sets have a state more than {NATS} nats above; the largest gaps: {worst}; processor seconds: median {np.median(cpu):.2f}, most {max(cpu):.1f}")


if __name__ == "__main__":
    main()
