#!/usr/bin/env python3
"""The default method, measured: curves, a cold start beside k-means, a hard set, real data, bad starts. Prints Markdown.

usage: splits.py [--dirigent PATH] [--folder DIR] [--data DIR] [--seeds 3] seeds|curves|cold|hard|fashion|reuters|commits|starts ...

`cold` needs NumPy and scikit-learn; fashion, reuters and commits need a folder with those data sets (--data). Everything else is made here.
"""

import argparse
import ast
import gzip
import json
import pathlib
import random
import struct
import subprocess
import time

from distributed import SYNTHETIC, Lab, column, mean, method_options


def fit(lab, files, *options, truth=None):
    """Runs a fit; its summary, its trace and its folder."""
    data = pathlib.Path(files)
    told = ["--truth", truth] if truth else []
    run = lab.folder / "run"
    command = [lab.dirigent, "fit", data, *told, *options, "--clusters", "components", "--out", run, "--force", "--quiet"]
    subprocess.run([str(part) for part in command], check=True)
    summary = json.loads((run / "run.json").read_text())["summary"]
    lines = (run / "trace.csv").read_text().splitlines()
    names = lines[0].split(",")
    return summary, [dict(zip(names, line.split(","))) for line in lines[1:]], run


def told(command):
    return json.loads(subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout)


def seeds(lab, args):
    """Where runs of 50 cycles end, and their level: the mean over the last 20 cycles, because a single state fluctuates."""
    data = lab.data("synthetic", "--seed", "1")
    print("| method | K | log-joint above the truth's, at the end | its level | VI of the state | VI of the labels | KB a cycle |")
    print("|---|---|---|---|---|---|---|")
    for method in ["dirigent", "async", "pooled", "prog", "cgs", "hung"]:
        runs = []
        for seed in range(args.seeds):
            options = [*method_options(method, 20), *SYNTHETIC, "--cycles", "50", "--seed", seed]
            runs.append(fit(lab, data / "data.npy", *options, truth=data / "labels.npy")[:2])
        ends = [summary["log_joint"] - summary["log_joint_truth"] for summary, _ in runs]
        levels = [mean(column(trace, "log_joint", 30)) - summary["log_joint_truth"] for summary, trace in runs]
        spread = lambda numbers: f"{mean(numbers):+,.0f} ({min(numbers):+,.0f} to {max(numbers):+,.0f})"
        k, vi, vi_labels = (mean(summary[name] for summary, _ in runs) for name in ["k", "vi", "vi_labels"])
        kilobytes = mean(mean(column(trace, "bytes")) for _, trace in runs) / 1e3
        print(f"| {method} | {k:.1f} | {spread(ends)} | {spread(levels)} | {vi:.3f} | {vi_labels:.3f} | {kilobytes:.1f} |", flush=True)


def curves(lab, args):
    """Log-joint above the true labels' by cycle: the default method climbs and stays, Prog peaks and sinks."""
    data = lab.data("synthetic", "--seed", "1")
    cycles = [1, 2, 3, 4, 6, 8, 10, 15, 20, 30, 40, 50]
    print("| method, seed | " + " | ".join(map(str, cycles)) + " | lowest from 6 on, against the last |")
    print("|---|" + "---|" * (len(cycles) + 1))
    for method in ["dirigent", "prog"]:
        for seed in range(args.seeds):
            options = ["--method", method, "--workers", "20", *SYNTHETIC, "--cycles", "50", "--seed", seed]
            summary, trace, _ = fit(lab, data / "data.npy", *options, truth=data / "labels.npy")
            gains = [float(row["log_joint"]) - summary["log_joint_truth"] for row in trace]
            cells = [f"{gains[cycle - 1]:+,.0f}" for cycle in cycles]
            print(f"| {method}, {seed} | " + " | ".join(cells) + f" | {min(gains[5:]) - gains[-1]:+,.0f} |", flush=True)


def cold(lab, args):
    """1.28 million rows, nothing known, two threads; k-means is told the number of clusters. One after another in one run."""
    import numpy
    from sklearn.cluster import MiniBatchKMeans

    data = lab.data("imagenet", "--centre-sd", "8", "--noise-sd", "8")
    truth = data / "labels.npy"
    rows, centres = numpy.load(data / "data.npy"), numpy.load(data / "centres.npy").astype(numpy.float32)
    oracle = numpy.concatenate(
        [numpy.argmax(part @ centres.T - (centres**2).sum(1) / 2, 1) for part in numpy.array_split(rows, 30)]
    )
    numpy.save(lab.folder / "oracle.npy", oracle.astype(numpy.int32))
    print("| what | K | VI of the labels | seconds |\n|---|---|---|---|")
    vi = told([lab.dirigent, "eval", lab.folder / "oracle.npy", truth])["vi"]
    print(f"| oracle, which knows the centres | 1000 | {vi:.4f} | |", flush=True)
    for seed in range(args.seeds):
        for alpha in ["1", "auto"]:
            start = time.time()
            options = ["--prior", "sigma=8,sigma0=8", "--alpha", alpha, "--threads", "2", "--seed", seed]
            summary, _, run = fit(lab, data / "data.npy", *options)
            seconds = time.time() - start
            vi = told([lab.dirigent, "eval", run / "labels.npy", truth])["vi"]
            what = f"dirigent, alpha {alpha}, seed {seed}, {summary['cycles']} cycles"
            print(f"| {what} | {summary['k']} | {vi:.4f} | {seconds:.1f} |", flush=True)
        start = time.time()
        labels = MiniBatchKMeans(1000, random_state=seed).fit_predict(rows)
        seconds = time.time() - start
        numpy.save(lab.folder / "kmeans.npy", labels.astype(numpy.int32))
        vi = told([lab.dirigent, "eval", lab.folder / "kmeans.npy", truth])["vi"]
        print(f"| MiniBatchKMeans(1000), seed {seed} | 1000 | {vi:.4f} | {seconds:.1f} |", flush=True)


def hard(lab, args):
    """Centres closer than the noise is wide, sizes that fall: 200,000 rows, 1000 clusters."""
    data = lab.data("imagenet", "--rows", "200000", "--centre-sd", "5", "--noise-sd", "8", "--sizes", "zipf")
    print("| method, seed | K | log-joint above the truth's | VI of the labels | cycles | seconds |\n|---|---|---|---|---|---|")
    for method in ["dirigent", "prog"]:
        for seed in range(args.seeds):
            options = ["--method", method, "--prior", "sigma=8,sigma0=5", "--alpha", "1", "--seed", seed]
            summary, _, _ = fit(lab, data / "data.npy", *options, truth=data / "labels.npy")
            gain = summary["log_joint"] - summary["log_joint_truth"]
            print(
                f"| {method}, {seed} | {summary['k']} | {gain:+,.0f} | {summary['vi_labels']:.3f} | {summary['cycles']} "
                f"| {summary['seconds']:.1f} |",
                flush=True,
            )


def hold_out_npy(source, folder):
    """The first nine tenths and the last tenth of a table."""
    with open(source, "rb") as file:
        magic = file.read(8)
        (length,) = struct.unpack("<H", file.read(2))
        header = ast.literal_eval(file.read(length).decode())
        cells = file.read()
    n_rows, *others = header["shape"]
    size = len(cells) // n_rows
    border = n_rows - n_rows // 10
    for name, part, rows in [("fit.npy", cells[: border * size], border), ("held.npy", cells[border * size :], n_rows - border)]:
        text = repr({**header, "shape": (rows, *others)}).encode()
        text += b" " * (-(len(text) + 11) % 64) + b"\n"
        (folder / name).write_bytes(magic + struct.pack("<H", len(text)) + text + part)
    return folder / "fit.npy", folder / "held.npy", border


def hold_out_docword(source, folder):
    """The same of documents."""
    with gzip.open(source, "rt") as file:
        n_rows, n_words, _ = (int(file.readline()) for _ in range(3))
        entries = [line.split() for line in file]
    border = n_rows - n_rows // 10
    parts = ([e for e in entries if int(e[0]) <= border], [e for e in entries if int(e[0]) > border])
    for name, part, first, rows in [("docword.fit.txt", parts[0], 0, border), ("docword.held.txt", parts[1], border, n_rows - border)]:
        with open(folder / name, "w") as file:
            file.write(f"{rows}\n{n_words}\n{len(part)}\n")
            file.writelines(f"{int(d) - first} {w} {c}\n" for d, w, c in part)
    return folder / "docword.fit.txt", folder / "docword.held.txt", border


def real(lab, args, name, source, labels, options, cycles, methods, workers=None):
    folder = lab.folder / name
    folder.mkdir(exist_ok=True)
    hold_out = hold_out_npy if source.suffix == ".npy" else hold_out_docword
    rows, held, border = hold_out(source, folder)
    if labels.suffix == ".npy":
        truth, _, _ = hold_out_npy(labels, folder / "labels") if (folder / "labels").mkdir(exist_ok=True) is None else None
    else:
        truth = folder / "labels.txt"
        truth.write_text("\n".join(labels.read_text().split()[:border]) + "\n")
    print(f"\n{name}, {' '.join(map(str, options))}, {cycles} cycles, alpha 1\n")
    print("| method | K | NMI | log-joint | range over seeds | held-out log density a row | seconds |\n|---|---|---|---|---|---|---|")
    for method in methods:
        found = []
        for seed in range(args.seeds):
            asked = ["--method", method, *options, "--alpha", "1", "--cycles", cycles, "--seed", seed]
            if workers and method != "cgs":
                asked += ["--workers", workers]
            summary, _, run = fit(lab, rows, *asked, truth=truth)
            density = told([lab.dirigent, "predict", run, held, "--log-density", "--json", "--quiet"])["mean_log_density"]
            found.append((summary["k"], summary["nmi_labels"], summary["log_joint"], density, summary["seconds"]))
        k, nmi, log_joint, density, seconds = zip(*found)
        print(
            f"| {method} | {min(k)}–{max(k)} | {mean(nmi):.3f} | {mean(log_joint):,.0f} | {max(log_joint) - min(log_joint):,.0f} "
            f"| {mean(density):.3f} | {mean(seconds):.1f} |",
            flush=True,
        )


def fashion(lab, args):
    data = args.data / "fashion_mnist_pca48.npy"
    real(lab, args, "fashion", data, args.data / "fashion_mnist_pca48.labels.npy",
         ["--prior", "sigma=8,sigma0=8"], 50, ["dirigent", "prog", "cgs"])


def text(lab, args, name, gamma, cycles, workers=None):
    source, labels = args.data / f"docword.{name}.txt.gz", args.data / f"labels.{name}.txt"
    real(lab, args, name, source, labels, ["--prior", f"gamma={gamma}"], cycles, ["dirigent", "prog", "cgs"], workers)


def reuters(lab, args):
    text(lab, args, "reuters", "0.1", 50)


def commits(lab, args):
    for gamma in ["0.1", "1"]:
        text(lab, args, "commits", gamma, 30, workers=20)


def starts(lab, args):
    """The synthetic set from bad starts: all rows in one component, each row in its own, 500 at random."""
    data = lab.data("synthetic", "--seed", "1")
    n_rows = json.loads((data / "synth.json").read_text())["n_rows"]
    draw = random.Random(1)
    labels = {"one": [0] * n_rows, "own": range(n_rows), "random 500": [draw.randrange(500) for _ in range(n_rows)]}
    print("| start | K | log-joint above the truth's | VI of the labels |\n|---|---|---|---|")
    for name, start in labels.items():
        (lab.folder / "start.txt").write_text("\n".join(map(str, start)) + "\n")
        options = ["--workers", "20", *SYNTHETIC, "--cycles", "50", "--start", lab.folder / "start.txt"]
        summary, _, _ = fit(lab, data / "data.npy", *options, truth=data / "labels.npy")
        gain = summary["log_joint"] - summary["log_joint_truth"]
        print(f"| {name} | {summary['k']} | {gain:+,.0f} | {summary['vi_labels']:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dirigent", default="target/release/dirigent")
    parser.add_argument("--folder", default="runs/splits")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--seeds", type=int, default=3)
    parts = {part.__name__: part for part in [seeds, curves, cold, hard, fashion, reuters, commits, starts]}
    parser.add_argument("parts", nargs="+", choices=list(parts))
    args = parser.parse_args()
    lab = Lab(args.dirigent, args.folder)
    for part in args.parts:
        print(f"\n### {part}\n", flush=True)
        parts[part](lab, args)


if __name__ == "__main__":
    main()
