#!/usr/bin/env python3
"""Families and priors that choose themselves, beside scikit-learn: small tables, full covariances, counts. Prints Markdown.

usage: families.py [--dirigent PATH] [--folder DIR] [--data DIR] [--mixturs PATH] small|full|wide|counts ...

Needs NumPy and scikit-learn. `small` needs a folder of tables whose last column is the label (--data): iris, wine, breast_cancer, digits, segment, faithful.
`full` also times a program that runs mixturs (--mixturs), the other such sampler in Rust: it is called with a .npy file, components to begin with and iterations.
"""

import argparse
import csv
import pathlib
import subprocess
import time
import warnings

import numpy
from distributed import Lab
from splits import fit, told

SMALL = ["iris", "wine", "breast_cancer", "digits", "segment", "faithful"]


def table(path):
    """The columns but the label, and the label's name and numbers, if there is one."""
    with open(path) as file:
        header, *rows = list(csv.reader(file))
    label = header[-1] if header[-1] in ("label", "category") else None
    if label is None:
        return numpy.array(rows, float), None, None
    names = sorted({row[-1] for row in rows})
    return numpy.array([row[:-1] for row in rows], float), label, numpy.array([names.index(row[-1]) for row in rows])


def small(lab, args):
    """No option but the label column, which is left out of the fit; k-means is told K, and scikit-learn's rows are given raw and standardised."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
    from sklearn.mixture import BayesianGaussianMixture

    def scores(truth, labels):
        if truth is None:
            return "– | –"
        return f"{adjusted_rand_score(truth, labels):.2f} | {normalized_mutual_info_score(truth, labels):.2f}"

    warnings.simplefilter("ignore")
    print("| data | method | K | ARI | NMI | seconds |\n|---|---|---|---|---|---|")
    for name in SMALL:
        rows, label, truth = table(args.data / f"{name}.csv")
        n_classes = "?" if truth is None else len(set(truth))
        told_label = ["--label-column", label] if label else []
        for seed in range(args.seeds):
            start = time.time()
            summary, _, run = fit(lab, args.data / f"{name}.csv", *told_label, "--seed", seed)
            seconds = time.time() - start
            labels = numpy.load(run / "labels.npy")
            shape = f"{rows.shape[0]} × {rows.shape[1]}, {n_classes} classes"
            print(f"| {name}, {shape} | Dirigent, seed {seed} | {summary['k']} | {scores(truth, labels)} | {seconds:.1f} |", flush=True)
        spread = rows.std(0)
        spread[spread == 0] = 1
        for kind, data in [("raw", rows), ("standardised", (rows - rows.mean(0)) / spread)]:
            others = [("BayesianGaussianMixture", BayesianGaussianMixture(n_components=30, max_iter=1000, random_state=0))]
            if truth is not None:
                others.append((f"KMeans, told {n_classes}", KMeans(n_classes, n_init=10, random_state=0)))
            for title, model in others:
                start = time.time()
                labels = model.fit_predict(data)
                seconds = time.time() - start
                print(f"| | {title}, {kind} | {len(set(labels))} | {scores(truth, labels)} | {seconds:.1f} |", flush=True)


def gaussians(n_rows, n_columns, n_components, seed):
    """π ~ Dir(1), μ ~ N(0, 100 I), Σ ~ IW(D + 2, I)."""
    rng = numpy.random.default_rng(seed)
    labels = rng.choice(n_components, n_rows, p=rng.dirichlet(numpy.ones(n_components)))
    rows = numpy.empty((n_rows, n_columns))
    for component in range(n_components):
        draws = rng.normal(size=(n_columns + 2, n_columns))
        covariance = numpy.linalg.inv(draws.T @ draws)
        mine = labels == component
        rows[mine] = rng.multivariate_normal(10 * rng.normal(size=n_columns), covariance, mine.sum())
    return rows, labels


def saved(lab, name, rows, labels):
    """A data set as files."""
    folder = lab.folder / name
    folder.mkdir(parents=True, exist_ok=True)
    numpy.save(folder / "data.npy", rows)
    numpy.save(folder / "labels.npy", labels.astype(numpy.int32))
    return folder


def timed_fit(lab, folder, title, *options):
    """One line: a fit with 2 threads."""
    start = time.time()
    summary, _, run = fit(lab, folder / "data.npy", "--threads", "2", *options)
    seconds = time.time() - start
    nmi = told([lab.dirigent, "eval", run / "labels.npy", folder / "labels.npy"])["nmi"]
    print(f"| {title} | {summary['k']} | {nmi:.3f} | {seconds:.1f} |", flush=True)


def full(lab, args):
    """A million points of the plane in six clusters of any shape; 100 cycles, 100 iterations."""
    from sklearn.mixture import BayesianGaussianMixture

    warnings.simplefilter("ignore")
    rows, labels = gaussians(1_000_000, 2, 6, args.data_seed)
    folder = saved(lab, "full", rows, labels)
    print("| what | K | NMI | seconds |\n|---|---|---|---|")
    for seed in range(args.seeds):
        timed_fit(lab, folder, f"Dirigent, 100 cycles, seed {seed}", "--covariance", "full", "--cycles", "100", "--seed", seed)
    start = time.time()
    model = BayesianGaussianMixture(n_components=12, max_iter=100, tol=0, random_state=0)
    found = model.fit_predict(rows)
    seconds = time.time() - start
    numpy.save(lab.folder / "found.npy", found.astype(numpy.int32))
    nmi = told([lab.dirigent, "eval", lab.folder / "found.npy", folder / "labels.npy"])["nmi"]
    print(f"| BayesianGaussianMixture, 12 components, 100 iterations | {len(set(found))} | {nmi:.3f} | {seconds:.1f} |", flush=True)
    if args.mixturs:
        start = time.time()
        said = subprocess.run([args.mixturs, str(folder / "data.npy"), "100"], check=True, capture_output=True, text=True)
        print(f"| mixturs, 100 iterations | {said.stdout.strip()} | – | {time.time() - start:.1f} |", flush=True)


def wide(lab, args):
    """200,000 rows of 128 columns in 20 clusters of any shape; 200 cycles."""
    rows, labels = gaussians(200_000, 128, 20, args.data_seed)
    folder = saved(lab, "wide", rows, labels)
    print("| what | K | NMI | seconds |\n|---|---|---|---|")
    timed_fit(lab, folder, "Dirigent, 200 cycles", "--covariance", "full", "--cycles", "200")


def counts(lab, args):
    """A million rows of counts over 100 words, lengths uniform from 1 to 1000, six clusters with p ~ Dir(0.05); 100 cycles."""
    rng = numpy.random.default_rng(args.data_seed)
    labels = rng.choice(6, 1_000_000, p=rng.dirichlet(numpy.ones(6)))
    laws = rng.dirichlet(numpy.full(100, 0.05), 6)
    rows = rng.multinomial(rng.integers(1, 1001, len(labels)), laws[labels]).astype(numpy.uint16)
    folder = saved(lab, "counts", rows, labels)
    print("| what | K | NMI | seconds |\n|---|---|---|---|")
    timed_fit(lab, folder, "Dirigent, 100 cycles", "--family", "multinomial", "--cycles", "100")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dirigent", default="target/release/dirigent")
    parser.add_argument("--folder", default="runs/families")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--mixturs")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--data-seed", type=int, default=1)
    parts = {"small": small, "full": full, "wide": wide, "counts": counts}
    parser.add_argument("parts", nargs="+", choices=list(parts))
    args = parser.parse_args()
    lab = Lab(args.dirigent, args.folder)
    for part in args.parts:
        print(f"\n### {part}\n\n{parts[part].__doc__}\n", flush=True)
        parts[part](lab, args)


if __name__ == "__main__":
    main()
