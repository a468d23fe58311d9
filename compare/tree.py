"""Scores the tree over components: each set fitted once with the command, then cut; beside methods of scikit-learn.

usage: tree.py DATA [RESULTS.csv] [--seeds 0] [--command target/release/dirigent] [--limit 300] [--only NAME,…] [--skip-ours] [--skip-others]

Sets: DATA/batteries (several reference labellings: the best counts; rows labelled 0 are noise and are left out), DATA/small, DATA/fashion_*.npy and the documents of DATA/docword.*.
ARI of `components`, `layer` (told nothing) and `cut` (told the number of classes of the reference), `cut_share` (the same with a least share of 0.25/K). The others:
`hdbscan` (defaults) and `hdbscan_1` (min_cluster_size 1 % of the rows, at least 5), noise of theirs as one more cluster; `kmeans`, `gaussian_mixture` and `ward`, told K. They get the rows of
DATA/small standardised; the command gets all rows as they are. Methods that cannot take that many rows or counts are left out. A line of RESULTS.csv that is there already is not made again.
"""

import json
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
import runs
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

OURS = ["components", "layer", "cut", "cut_share"]
OTHERS = ["hdbscan", "hdbscan_1", "kmeans", "gaussian_mixture", "ward"]
COLUMNS = ["set", "rows", "columns", "classes", "seed", "k", "k_layer", "temperature", *OURS, *OTHERS, "cpu_seconds", "seconds"]
DOCUMENTS = ["reuters", "titles", "titles_snippets", "searchsnippets", "stackoverflow"]


def main():
    options = parse()
    done = runs.read(options.results)
    for name, load in sets(options.data):
        if options.only and not any(name.startswith(start) for start in options.only.split(",")):
            continue
        for seed in options.seeds:
            line = done.setdefault((name, seed), {"set": name, "seed": seed})
            needs = (not options.skip_ours and not line.get("cut"), not options.skip_others and not line.get("kmeans") and name not in DOCUMENTS)
            if not any(needs):
                continue
            file, rows, truths = load()
            line |= {"rows": len(truths[0]), "columns": "" if rows is None else rows.shape[1]}
            if needs[0]:
                line |= ours(options, file, rows, truths, seed)
            if needs[1]:
                # their starts are fixed: one run of them serves all seeds
                known = next((done[key] for key in done if key[0] == name and done[key].get("kmeans")), None)
                line |= {other: known.get(other, "") for other in OTHERS} if known else others(rows, truths, name.startswith("small"))
            runs.write(options.results, COLUMNS, done.values())
            runs.show(line)
    summarise(done.values())


def parse():
    parser = runs.parser(__doc__, "tree.csv", seeds="0")
    parser.add_argument("--only")
    parser.add_argument("--skip-others", action="store_true")
    parser.add_argument("--skip-ours", action="store_true")
    return parser.parse_args()


def sets(data):
    """(name, load) of each set; load gives a file for the command or none, rows for the others or none, reference labellings with 0 for noise."""
    for name, file in runs.batteries(data):
        yield name, lambda file=file: (None, *runs.battery(file))
    for file in sorted(data.glob("small/*.csv")):
        if file.stem != "faithful":
            yield f"small/{file.stem}", lambda file=file: table(file)
    for file in sorted(data.glob("fashion_*.labels.npy")):
        rows = Path(str(file).replace(".labels", ""))
        yield rows.stem, lambda file=file, rows=rows: (rows, np.load(rows), [np.load(file) + 1])
    for name in DOCUMENTS:
        file = data / f"docword.{name}.txt.gz"
        if file.exists():
            yield name, lambda file=file, name=name: (file, None, [np.loadtxt(data / f"labels.{name}.txt").astype(int) + 1])


def table(file):
    lines = file.read_text(encoding="utf-8").splitlines()[1:]
    cells = [line.split(",") for line in lines]
    labels = np.unique([row[-1] for row in cells], return_inverse=True)[1] + 1
    return None, np.array([[float(cell) for cell in row[:-1]] for row in cells]), [labels]


def ours(options, file, rows, truths, seed):
    """Scores and seconds of one fit and its cuts."""
    with tempfile.TemporaryDirectory() as folder:
        if file is None:
            file = f"{folder}/rows.npy"
            np.save(file, rows)
        found = runs.fit(options, file, f"{folder}/run", "--seed", seed)
        tree = json.loads(Path(f"{folder}/run/tree.json").read_text(encoding="utf-8"))
        cuts = {name: cut(options.command, folder, name) for name in ("components", "layer")}
        line = {name: best(truths, [labels] * len(truths)) for name, labels in cuts.items()}
        numbers = [len(np.unique(truth[truth > 0])) for truth in truths]
        k = tree["n_components"]
        told = {number: cut(options.command, folder, min(number, k)) for number in set(numbers)}
        line["cut"] = best(truths, [told[number] for number in numbers])
        told = {number: cut(options.command, folder, min(number, k), 0.25 / number) for number in set(numbers)}
        line["cut_share"] = best(truths, [told[number] for number in numbers])
    line |= {"classes": "/".join(map(str, sorted(set(numbers)))), "k": k, "k_layer": len(np.unique(cuts["layer"]))}
    return line | {"temperature": tree["temperature"], "cpu_seconds": found["cpu_seconds"], "seconds": found["seconds"]}


def cut(command, folder, clusters, share=None):
    clusters = "auto" if clusters == "layer" else str(clusters)
    extra = [] if share is None else ["--min-share", str(share)]
    subprocess.run([command, "cut", f"{folder}/run", "--clusters", clusters, *extra, "--out", f"{folder}/cut.npy", "--quiet"], check=True)
    return np.load(f"{folder}/cut.npy")


def others(rows, truths, standardise):
    scaled = StandardScaler().fit_transform(rows) if standardise else rows
    line = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        many = len(rows) > 30_000 and rows.shape[1] > 10
        if not many:
            line["hdbscan"] = best(truths, [HDBSCAN(copy=True).fit_predict(scaled)] * len(truths))
            least = max(5, len(rows) // 100)
            line["hdbscan_1"] = best(truths, [HDBSCAN(min_cluster_size=least, copy=True).fit_predict(scaled)] * len(truths))
        found = {name: [] for name in ("kmeans", "gaussian_mixture", "ward")}
        for truth in truths:
            k = len(np.unique(truth[truth > 0]))
            found["kmeans"].append(KMeans(k, n_init=1 if len(rows) * k > 1_000_000 else 10, random_state=0).fit_predict(scaled))
            found["gaussian_mixture"].append(GaussianMixture(k, n_init=1 if len(rows) * k > 200_000 else 5, random_state=0).fit_predict(scaled))
            if len(rows) <= 20_000:
                found["ward"].append(AgglomerativeClustering(k).fit_predict(scaled))
    return line | {name: best(truths, labels) for name, labels in found.items() if labels}


def best(truths, labellings):
    """The best score over the references, each with its own labelling; without noise."""
    scores = [runs.score(adjusted_rand_score, truth, labels) for truth, labels in zip(truths, labellings)]
    return round(max(scores), 4)


def summarise(lines):
    """Means over the batteries, and the paired difference of the layer and HDBSCAN with its 95 % interval over sets."""
    lines = [line for line in lines if line["set"].split("/")[0] in ("fcps", "graves", "sipu", "wut")]
    if not lines:
        return
    for name in OURS + OTHERS:
        scores = [float(line[name]) for line in lines if line.get(name) not in (None, "")]
        if scores:
            print(f"{name}: mean ARI {np.mean(scores):.3f} of {len(scores)} fits")
    for other in ("hdbscan", "hdbscan_1", "components"):
        by_set = {}
        for line in lines:
            if line.get(other) not in (None, ""):
                by_set.setdefault(line["set"], []).append(float(line["layer"]) - float(line[other]))
        if by_set:
            means = np.array([np.mean(values) for values in by_set.values()])
            drawn = np.random.default_rng(0).choice(means, (10_000, len(means))).mean(axis=1)
            low, high = np.quantile(drawn, [0.025, 0.975])
            print(f"layer - {other}: {means.mean():+.3f} (95 %: {low:+.3f} to {high:+.3f}, {len(means)} sets)")


if __name__ == "__main__":
    main()
