"""Looks for states that the model prefers to the result of a default fit, on every set of the clustering batteries.

usage: evidence.py DATA [RESULTS.csv] [--command target/release/dirigent] [--seeds 0,1,…,9] [--sets PART]

Each set is fitted by default, from the reference labels, from k-means with twice as many cells as there are clusters, and with further seeds. The prior depends on the rows
alone, so all fits of a set have the same one: the script stops if the models differ. The evidence estimate is the log-joint plus the entropy of the labels, column
`log_evidence` of trace.csv; it fluctuates from state to state, so the mean over the last cycles of a run counts. `gap` is the highest estimate minus the default's.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
import runs
from sklearn.cluster import KMeans

COLUMNS = ["set", "rows", "k", "evidence", "truth", "truth_k", "kmeans", "kmeans_k", "seeds", "seeds_k", "gap", "best", "cycles", "cpu_seconds"]
# cycles whose estimates are averaged
LAST = 5
# a gap above this is worth a look
NATS = 50


def main():
    options = parse()
    lines = []
    for name, file in runs.batteries(options.data):
        if options.sets in name:
            lines.append(look(options, file, name))
            runs.write(options.results, COLUMNS, lines)
            runs.show(lines[-1])
    summarise(lines)


def parse():
    parser = runs.parser(__doc__, "evidence.csv", seeds=",".join(map(str, range(10))))
    parser.add_argument("--sets", default="")
    return parser.parse_args()


def look(options, file, name):
    """The estimates of all fits of one set."""
    rows, (truth, *_) = runs.battery(file)
    cells = KMeans(2 * len(np.unique(truth)), n_init=1, random_state=0).fit_predict(rows)
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/rows.npy", rows)
        np.save(f"{folder}/truth.npy", truth)
        np.save(f"{folder}/kmeans.npy", cells)
        first, *further = options.seeds
        usual = fit(options, folder, "--seed", first)
        others = {start: fit(options, folder, "--seed", first, "--start", f"{folder}/{start}.npy") for start in ("truth", "kmeans")}
        seeds = [fit(options, folder, "--seed", seed) for seed in further]
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
    return line | {"gap": round(gap, 1), "best": best, "cycles": usual["cycles"], "cpu_seconds": usual["cpu_seconds"]}


def fit(options, folder, *arguments):
    """One fit: its model, its last estimates and what it took."""
    found = runs.fit(options, f"{folder}/rows.npy", f"{folder}/run", *arguments)
    record = json.loads(Path(f"{folder}/run/run.json").read_text(encoding="utf-8"))
    lines = runs.trace(f"{folder}/run")
    evidence = np.mean([float(line["log_evidence"]) for line in lines[-LAST:]])
    return found | {"model": record["model"], "k": int(lines[-1]["k"]), "evidence": evidence}


def summarise(lines):
    gaps = sorted(((line["gap"], line["set"]) for line in lines), reverse=True)
    cpu = [line["cpu_seconds"] for line in lines]
    above = sum(gap > NATS for gap, _ in gaps)
    worst = ", ".join(f"{name} {gap:.0f}" for gap, name in gaps[:8])
    print(f"{above} of {len(lines)} sets have a state more than {NATS} nats above; the largest gaps: {worst}; processor seconds: median {np.median(cpu):.2f}, most {max(cpu):.1f}")


if __name__ == "__main__":
    main()
