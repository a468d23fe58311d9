"""Whether the support of a merge is what it says: made data, a fit with draws, and for each merge of the tree how many pairs across its sides are truly apart.

usage: support.py [--command target/release/dirigent] [--sets 200] [--draws 25] [--chains 4]

Half of the sets are of the model: Gaussians with covariances and centres drawn at random, so that some overlap. The others are not: heavy tails (Student, 4 degrees of freedom) or uniform
squares. Support is the probability, by the draws, that a pair of rows across the two sides is apart. Prints a reliability table, the Brier score and that of the mean alone, for each kind.
"""

import argparse
import json
import subprocess
import tempfile

import numpy as np

BINS = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="target/release/dirigent")
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--draws", type=int, default=25)
    parser.add_argument("--chains", type=int, default=4)
    options = parser.parse_args()
    found = {"of the model": [], "not of the model": []}
    for seed in range(options.sets):
        kind = list(found)[seed % 2]
        found[kind] += merges(options, seed, is_of_model=seed % 2 == 0)
    for kind, pairs in found.items():
        report(kind, np.array(pairs))


def merges(options, seed, is_of_model):
    """(support, share of pairs that are apart) of each merge whose sides have at least ten rows."""
    rng = np.random.default_rng(seed)
    rows, truth = made(rng, is_of_model)
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/rows.npy", rows)
        command = [options.command, "fit", f"{folder}/rows.npy", "--draws", str(options.draws), "--chains", str(options.chains)]
        subprocess.run([*command, "--clusters", "components", "--seed", str(seed), "--quiet", "--no-report", "--out", f"{folder}/run"], check=True)
        labels = np.load(f"{folder}/run/labels.npy")
        with open(f"{folder}/run/tree.json", encoding="utf-8") as file:
            tree = json.load(file)
    members = [np.flatnonzero(labels == component) for component in range(tree["n_components"])]
    found = []
    for (a, b, *_), support in zip(tree["linkage"], tree["support"], strict=True):
        a, b = members[int(a)], members[int(b)]
        members.append(np.concatenate([a, b]))
        if support is not None and min(len(a), len(b)) >= 10:
            found.append((support, (truth[a][:, None] != truth[b][None]).mean()))
    return found


def made(rng, is_of_model):
    """300 rows of the plane in two to six clusters."""
    k = int(rng.integers(2, 7))
    truth = rng.integers(k, size=300)
    centres = rng.normal(scale=4.0, size=(k, 2))
    shapes = rng.normal(size=(k, 2, 2)) * 0.5 + np.eye(2)
    if is_of_model:
        noise = rng.normal(size=(300, 2))
    elif rng.integers(2):
        noise = rng.standard_t(4, size=(300, 2))
    else:
        noise = rng.uniform(-1.7, 1.7, size=(300, 2))
    return centres[truth] + np.einsum("nij,nj->ni", shapes[truth], noise), truth


def report(kind, pairs):
    support, apart = pairs.T
    print(f"\n{kind}: {len(pairs)} merges\n\n| support | merges | mean support | pairs that are apart |\n|---|---|---|---|")
    bins = np.clip(np.searchsorted(BINS, support, side="right") - 1, 0, len(BINS) - 2)
    for ix in range(len(BINS) - 1):
        if (bins == ix).any():
            print(f"| {BINS[ix]:.2f} to {BINS[ix + 1]:.2f} | {(bins == ix).sum()} | {support[bins == ix].mean():.2f} | {apart[bins == ix].mean():.2f} |")
    print(f"\nBrier score {np.mean((support - apart) ** 2):.3f}; of the mean alone {np.var(apart):.3f}")


if __name__ == "__main__":
    main()
