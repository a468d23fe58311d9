"""Fits every set of a data folder with the command, told nothing, and writes one table of how the components agree with the reference labels.

usage: every_set.py DATA [RESULTS.csv] [--seeds 0,1] [--command target/release/dirigent] [--limit 300] [--only small,batteries] [--commits]

Each line has the components of a fit and its clusters, `k`, `ari`, `nmi` and `clusters`, `clusters_ari`, `clusters_nmi`. DATA has small/*.csv (labels in a last column `label` or `category`), batteries/*/*.data.gz, docword.NAME.txt.gz with labels.NAME.txt, and NAME.npy with
NAME.labels.npy. A set with several reference labellings is scored against each, and the best counts; rows labelled 0 are noise and are left out. `ceiling` is the ARI once each
component is sent to its majority class: how pure components are. The largest text, commits, is fitted only if `--commits` is given, after all others, with the first seed. A line that the table has already is not made again.
"""

import csv
import gzip
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import runs
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

COLUMNS = ["group", "set", "rows", "columns", "classes", "seed", "k", "ari", "nmi", "ceiling", "clusters", "clusters_ari", "clusters_nmi", "cycles", "cpu_seconds"]
LARGEST = "commits"


def main():
    options = parse()
    done = runs.read(options.results)
    groups = options.only.split(",") if options.only else ["small", "batteries", "texts", "features", LARGEST]
    for group, name, make in sets(options.data):
        if group not in groups or (group == LARGEST and not options.commits):
            continue
        for seed in options.seeds[:1] if group == LARGEST else options.seeds:
            if (name, seed) in done:
                continue
            with tempfile.TemporaryDirectory() as folder:
                line = {"group": group, "set": name, "seed": seed} | fit(options, *make(Path(folder)), seed)
            done[name, seed] = line
            runs.write(options.results, COLUMNS, done.values())
            runs.show(line)
    summarise(done.values())


def parse():
    parser = runs.parser(__doc__, "every_set.csv")
    parser.add_argument("--only")
    parser.add_argument("--commits", action="store_true")
    return parser.parse_args()


def sets(data):
    """Group, name and how to make each set ready: the file, further arguments of `fit`, the shape, and the reference labellings, in which 0 is noise."""
    for file in sorted(data.glob("small/*.csv")):
        yield "small", file.stem, lambda folder, file=file: small(file)
    for name, file in runs.batteries(data):
        yield "batteries", name, lambda folder, file=file: battery(folder, file)
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


def battery(folder, file):
    rows, truths = runs.battery(file)
    np.save(folder / "rows.npy", rows)
    return folder / "rows.npy", [], rows.shape, truths


def text(file, name):
    with gzip.open(file, "rt") as lines:
        shape = int(next(lines)), int(next(lines))
    return file, [], shape, [np.loadtxt(file.parent / f"labels.{name}.txt", dtype=int) + 1]


def features(labels, name):
    file = labels.parent / f"{name}.npy"
    return file, [], np.load(file, mmap_mode="r").shape, [np.load(labels).astype(int) + 1]


def fit(options, file, arguments, shape, truths, seed):
    """Scores, cycles and processor seconds of one fit."""
    with tempfile.TemporaryDirectory() as folder:
        found = runs.fit(options, file, folder, "--seed", seed, *arguments)
        return {"rows": shape[0], "columns": shape[1]} | look(Path(folder), truths) | {key: found[key] for key in ("cycles", "cpu_seconds")}


def look(run, truths):
    """How the components and the clusters of a run agree with the reference labellings."""
    clusters = numbered(run / "labels.npy")
    # a run without this file has components for clusters
    file = run / "component_labels.npy"
    components = numbered(file) if file.exists() else clusters
    found = {"k": int(components.max()) + 1, "clusters": int(clusters.max()) + 1}
    if not truths:
        return found
    best = max(truths, key=lambda truth: runs.score(adjusted_rand_score, truth, components))
    found |= {"classes": len(np.unique(best[best > 0])), "ceiling": best_score(adjusted_rand_score, truths, lambda truth: majority(truth, components))}
    for prefix, labels in (("", components), ("clusters_", clusters)):
        found[f"{prefix}ari"] = best_score(adjusted_rand_score, truths, lambda _, labels=labels: labels)
        found[f"{prefix}nmi"] = best_score(normalized_mutual_info_score, truths, lambda _, labels=labels: labels)
    return found


def numbered(file):
    return np.unique(np.load(file), return_inverse=True)[1]


def best_score(measure, truths, labels_for):
    return round(max(runs.score(measure, truth, labels_for(truth)) for truth in truths), 3)


def majority(truth, labels):
    """The most frequent class of each component's rows, for every row."""
    table = np.zeros((labels.max() + 1, truth.max() + 1))
    np.add.at(table, (labels[truth > 0], truth[truth > 0]), 1)
    return table.argmax(axis=1)[labels]


def summarise(lines):
    """Means over the sets of each group, and over all."""
    groups = defaultdict(list)
    for line in lines:
        groups[line["group"]].append(line)
    for group, fits in groups.items():
        scored = [line for line in fits if line.get("ari") not in (None, "")]
        means = ", ".join(f"{name} {np.mean([float(line[name]) for line in scored]):.3f}" for name in ("ari", "nmi", "ceiling", "clusters_ari", "clusters_nmi"))
        cpu = [float(line["cpu_seconds"]) for line in fits]
        print(f"{group}, {len(fits)} fits: {means}; processor seconds: median {np.median(cpu):.2f}, most {max(cpu):.1f}")


if __name__ == "__main__":
    main()
