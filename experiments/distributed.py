#!/usr/bin/env python3
"""The distributed methods, measured: quality over seeds, bytes, scaling, stragglers. Prints Markdown.

usage: distributed.py [--dirigent PATH] [--folder DIR] [--seeds 10] seeds|rules|bytes|threads|scaling|straggler ...

Data is made by `dirigent synth` in the folder, once. Every figure comes from run.json and trace.csv of runs in the same folder.
"""

import argparse
import csv
import json
import pathlib
import subprocess

SYNTHETIC = ["--prior", "sigma=1,sigma0=10,m0=0", "--alpha", "1"]
IMAGENET = ["--prior", "sigma=8,sigma0=8,m0=0", "--alpha", "1"]


class Lab:
    """A folder with data and runs."""

    def __init__(self, dirigent, folder):
        self.dirigent, self.folder = dirigent, pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def data(self, name, *options):
        """A data set by `dirigent synth`, made once."""
        folder = self.folder / "-".join([name, *(option.lstrip("-") for option in options)])
        if not (folder / "synth.json").exists():
            subprocess.run([self.dirigent, "synth", name, *options, "--out", folder, "--force"], check=True)
        return folder

    def fit(self, data, *options, truth=True):
        """Runs a fit; its summary and its trace."""
        run = self.folder / "run"
        told = ["--truth", data / "labels.npy"] if truth else []
        command = [self.dirigent, "fit", data / "data.npy", *told, *options, "--out", run, "--force", "--quiet"]
        subprocess.run([str(part) for part in command], check=True)
        with open(run / "trace.csv") as trace:
            return json.loads((run / "run.json").read_text())["summary"], list(csv.DictReader(trace))


def mean(numbers):
    numbers = list(numbers)
    return sum(numbers) / len(numbers)


def column(trace, name, skip=1):
    return [float(row[name]) for row in trace[skip:] if row[name]]


def method_options(method, workers):
    return ["--method", method] + ([] if method == "cgs" else ["--workers", str(workers)])


def seeds(lab, n_seeds):
    """The paper's synthetic set, 20 workers, 50 cycles."""
    data = lab.data("synthetic", "--seed", "1")
    print("| method | K | log-joint above the truth's | VI of the state | births, merges, splits a cycle | KB, messages a cycle |")
    print("|---|---|---|---|---|---|")
    for method in ["cgs", "prog", "pooled", "hung", "async"]:
        runs = []
        for seed in range(n_seeds):
            options = method_options(method, 20) + SYNTHETIC + ["--cycles", "50", "--seed", str(seed)]
            runs.append(lab.fit(data, *options))
        ks = [summary["k"] for summary, _ in runs]
        gains = [summary["log_joint"] - summary["log_joint_truth"] for summary, _ in runs]
        vis = [summary["vi"] for summary, _ in runs]
        moves = [f"{mean(mean(column(trace, name)) for _, trace in runs):.2f}" for name in ["births", "merges", "splits"]]
        kilobytes = mean(mean(column(trace, "bytes")) for _, trace in runs) / 1e3
        messages = mean(mean(column(trace, "messages")) for _, trace in runs)
        print(
            f"| {method} | {mean(ks):.1f} ({min(ks)}–{max(ks)}) | {mean(gains):+,.0f} ({min(gains):+,.0f} to {max(gains):+,.0f}) "
            f"| {mean(vis):.3f} ({min(vis):.3f}–{max(vis):.3f}) | {', '.join(moves)} | {kilobytes:.1f}, {messages:.1f} |",
            flush=True,
        )


def rules(lab, n_seeds):
    """The two rules of the authors' program on the synthetic set, 20 workers, 50 cycles."""
    data = lab.data("synthetic", "--seed", "1")
    common = [*SYNTHETIC, "--cycles", "50"]
    seed_of = [["--seed", str(seed)] for seed in range(n_seeds)]
    ends = [lab.fit(data, "--method", "cgs", *common, *seed)[0]["log_joint"] for seed in seed_of]
    print("| method | joins | first alpha | K | log-joint above the truth's | above CGS | cycles to CGS's end |")
    print("|---|---|---|---|---|---|---|")
    for method in ["hung", "prog", "pooled", "dirigent"]:
        for joins, first_alpha in [("births", "shared"), ("births", "full"), ("by_id", "shared"), ("by_id", "full")]:
            options = [*method_options(method, 20), "--method-option", f"joins={joins},first_alpha={first_alpha}", *common]
            runs = [lab.fit(data, *options, *seed) for seed in seed_of]
            ks = [summary["k"] for summary, _ in runs]
            gains = [summary["log_joint"] - summary["log_joint_truth"] for summary, _ in runs]
            n_above = sum(summary["log_joint"] > end for (summary, _), end in zip(runs, ends))
            reached = [[int(row["cycle"]) for row in trace if float(row["log_joint"]) >= end] for (_, trace), end in zip(runs, ends)]
            firsts = [cycles[0] for cycles in reached if cycles]
            arrived = f"{mean(firsts):.1f} ({len(firsts)} of {n_seeds})" if firsts else "none"
            print(
                f"| {method} | {joins} | {first_alpha} | {mean(ks):.1f} ({min(ks)}–{max(ks)}) "
                f"| {mean(gains):+,.0f} ({min(gains):+,.0f} to {max(gains):+,.0f}) | {n_above} of {n_seeds} | {arrived} |",
                flush=True,
            )


def bytes_(lab, _):
    """Bytes of a cycle on the ImageNet-like set, from the true labels (without the last, whose snapshot is not rounded)."""
    data = lab.data("imagenet")
    print("| workers | MB a cycle | messages | bytes for a component and message |")
    print("|---|---|---|---|")
    for workers in [20, 30]:
        start = ["--start", data / "labels.npy", "--cycles", "5"]
        _, trace = lab.fit(data, *method_options("prog", workers), *IMAGENET, *start, "--engine", "simulated", truth=False)
        trace = trace[:-1]
        sent, messages = mean(column(trace, "bytes", 2)), mean(column(trace, "messages", 2))
        k = mean(column(trace, "k", 2))
        print(f"| {workers} | {sent / 1e6:.2f} | {messages:.0f} | {sent / messages / k:.0f} |", flush=True)


def threads(lab, _):
    """Rows a second on one and on two threads, 200,000 rows."""
    data = lab.data("imagenet", "--rows", "200000")
    print("| threads | rows a second | times one |")
    print("|---|---|---|")
    base = None
    for count in [1, 2, 1, 2]:
        start = ["--start", data / "labels.npy", "--cycles", "10", "--threads", str(count)]
        _, trace = lab.fit(data, *method_options("prog", 20), *IMAGENET, *start, truth=False)
        rate = 200_000 * (len(trace) - 1) / (float(trace[-1]["seconds"]) - float(trace[0]["seconds"]))
        base = base or rate
        print(f"| {count} | {rate:,.0f} | {rate / base:.2f} |", flush=True)


def scaling(lab, _):
    """Projected time of a cycle on a cluster, beside our own CGS."""
    data = lab.data("imagenet")
    start = ["--start", data / "labels.npy", "--cycles", "6"]
    _, trace = lab.fit(data, "--method", "cgs", *IMAGENET, *start, truth=False)
    serial = mean(column(trace, "sweep_seconds"))
    print(f"CGS: {serial:.2f} s a cycle.\n")
    print("| method | network | workers | s a cycle | sweep | coordinator | wire | times CGS |")
    print("|---|---|---|---|---|---|---|---|")
    for method in ["prog", "async"]:
        for network, bandwidth in [("10 Gbit/s", "1.25e9"), ("1 Gbit/s", "1.25e8")]:
            for workers in [1, 2, 5, 10, 20, 30, 100]:
                engine = ["--engine", "simulated", "--engine-option", f"latency=0.0002,bandwidth={bandwidth}"]
                _, trace = lab.fit(data, *method_options(method, workers), *IMAGENET, *start, *engine, truth=False)
                n_cycles = len(trace) - 1
                cycle = (float(trace[-1]["virtual_seconds"]) - float(trace[0]["virtual_seconds"])) / n_cycles
                sweep, coordinator = mean(column(trace, "sweep_seconds")), mean(column(trace, "coordinator_seconds"))
                wire = f"{max(0.0, cycle - sweep - coordinator):.3f}" if method == "prog" else "overlapped"
                print(
                    f"| {method} | {network} | {workers} | {cycle:.3f} | {sweep:.3f} | {coordinator:.3f} | {wire} | {serial / cycle:.1f} |",
                    flush=True,
                )


def straggler(lab, _):
    """Rows a second of virtual time with one worker of ten five times slower."""
    data = lab.data("imagenet", "--rows", "200000")
    print("| method | straggler | rows a second |")
    print("|---|---|---|")
    for method in ["prog", "async"]:
        for slow in [[], ["--engine-option", "straggler=3:5"]]:
            start = ["--start", data / "labels.npy", "--cycles", "20", "--engine-option", "row_cost=2e-6", "--engine", "simulated"]
            _, trace = lab.fit(data, *method_options(method, 10), *IMAGENET, *start, *slow, truth=False)
            seconds = float(trace[-1]["virtual_seconds"]) - float(trace[0]["virtual_seconds"])
            # a cycle is as many pushes as there are workers, each of a tenth of the rows
            print(f"| {method} | {'worker 3 at 5×' if slow else 'none'} | {200_000 * (len(trace) - 1) / seconds:,.0f} |", flush=True)


def main():
    experiments = {"seeds": seeds, "rules": rules, "bytes": bytes_, "threads": threads, "scaling": scaling, "straggler": straggler}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dirigent", default="dirigent")
    parser.add_argument("--folder", default="distributed-lab")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("experiment", nargs="+", choices=experiments)
    arguments = parser.parse_args()
    lab = Lab(arguments.dirigent, arguments.folder)
    for name in arguments.experiment:
        print(f"\n### {experiments[name].__doc__}\n", flush=True)
        experiments[name](lab, arguments.seeds)


if __name__ == "__main__":
    main()
