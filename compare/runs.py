"""What scripts that fit the sets of a data folder with the command share: arguments, sets, fits, scores and tables that are continued where they were."""

import argparse
import csv
import gzip
import os
import subprocess
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent


def parser(text, results, seeds="0,1"):
    """The arguments that all of them have."""
    arguments = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("results", type=Path, nargs="?", default=HERE / "results" / results)
    arguments.add_argument("--seeds", type=lambda seeds: seeds.split(","), default=seeds.split(","))
    arguments.add_argument("--command", default=str(HERE.parent / "target" / "release" / "dirigent"))
    arguments.add_argument("--limit", type=float, default=300)
    return arguments


def batteries(data):
    """Name and file of each set of the clustering batteries: DATA/batteries/NAME/SET.data.gz, with labels in SET.labels0.gz, SET.labels1.gz, …"""
    for file in sorted(data.glob("batteries/*/*.data.gz")):
        yield f"{file.parent.name}/{file.name.removesuffix('.data.gz')}", file


def battery(file):
    """The rows of a set of the batteries, and its reference labellings, in which 0 is noise."""
    stem = file.name.removesuffix(".data.gz")
    truths = [np.loadtxt(gzip.open(labels)).astype(int) for labels in sorted(file.parent.glob(f"{stem}.labels*.gz"))]
    return np.loadtxt(gzip.open(file), ndmin=2), truths


def fit(options, file, run, *arguments):
    """Fits a file into the folder `run`; cycles and seconds, of the processor and by the clock."""
    command = [options.command, "fit", str(file), "--time-limit", str(options.limit), "--no-report", "--quiet", "--force", "--out", str(run), *arguments]
    began, before = time.monotonic(), os.times()
    subprocess.run(command, check=True)
    after, seconds = os.times(), time.monotonic() - began
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {"cycles": int(trace(run)[-1]["cycle"]), "cpu_seconds": round(cpu, 2), "seconds": round(seconds, 2)}


def trace(run):
    with open(Path(run) / "trace.csv", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def score(measure, truth, labels):
    """Without noise."""
    return measure(truth[truth > 0], labels[truth > 0])


def read(path):
    """The lines of a table by set and seed."""
    if not path.exists():
        return {}
    with open(path, encoding="utf-8", newline="") as lines:
        return {(line["set"], line["seed"]): line for line in csv.DictReader(lines)}


def write(path, columns, lines):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(lines)


def show(line):
    print(", ".join(f"{key} {value}" for key, value in line.items()), flush=True)
