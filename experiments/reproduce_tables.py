#!/usr/bin/env python3
"""Prints the tables of docs/dev/reproduction.md, as Markdown, from the folder that `dirigent reproduce` has filled.

usage: reproduce_tables.py FOLDER ...
"""

import csv
import pathlib
import sys


def table(folder, name):
    with open(pathlib.Path(folder) / name) as file:
        return list(csv.DictReader(file))


def number(text, decimals):
    return f"{float(text):,.{decimals}f}" if text else "–"


def spread(row, name, decimals):
    mean, low, high = (number(row[f"{name}_{part}"], decimals) for part in ["mean", "low", "high"])
    return mean if low == high else f"{mean} ({low} to {high})"


def summary(folder):
    print("| method | K | log-joint above the truth's | VI of the state | VI of the labels | NMI of the labels |")
    print("|---|---|---|---|---|---|")
    for row in table(folder, "summary.csv"):
        cells = [spread(row, "k", 1), spread(row, "above_truth", 0), spread(row, "vi", 3), spread(row, "vi_labels", 3)]
        print(f"| {row['method']} | {' | '.join(cells)} | {number(row['nmi_labels_mean'], 3)} |")


def level(folder):
    print("| method | seeds at CGS's level | cycles to it | ms to it, cluster | ms a cycle, cluster | ms a cycle, real |")
    print("|---|---|---|---|---|---|")
    for row in table(folder, "summary.csv"):
        times = ["cluster_seconds_to_cgs_level", "cluster_seconds_a_cycle", "real_seconds_a_cycle"]
        cells = [number(row[time] and str(1e3 * float(row[time])), 1) for time in times]
        cycles = number(row["cycles_to_cgs_level"], 1)
        print(f"| {row['method']} | {row['seeds_at_cgs_level']} of {row['seeds']} | {cycles} | {' | '.join(cells)} |")


def communication(folder):
    print("| method | KB a cycle | messages | paper: KB | paper: messages |")
    print("|---|---|---|---|---|")
    for row in table(folder, "communication.csv"):
        kilobytes = [row[name] and str(float(row[name]) / 1e3) for name in ["bytes_a_cycle", "paper_bytes_a_cycle"]]
        messages = [row["messages_a_cycle"], row["paper_messages_a_cycle"]]
        cells = [number(kilobytes[0], 1), number(messages[0], 1), number(kilobytes[1], 1), number(messages[1], 1)]
        print(f"| {row['method']} | {' | '.join(cells)} |")


def speedup(folder):
    rows = [row for row in table(folder, "speedup.csv") if row["clock"] == "cluster"]
    workers = sorted({int(row["workers"]) for row in rows})
    for name, title in [("speedup_of_a_cycle", "of a cycle"), ("speedup_to_cgs_level", "to CGS's level")]:
        print(f"\nSpeed-up {title}, simulated cluster, by workers:\n")
        print(f"| method | {' | '.join(map(str, workers))} |")
        print("|---" * (len(workers) + 1) + "|")
        for method in dict.fromkeys(row["method"] for row in rows):
            of = {int(row["workers"]): row[name] for row in rows if row["method"] == method}
            print(f"| {method} | {' | '.join(number(of.get(count, ''), 1) for count in workers)} |")
    print("\nReal threads:\n")
    print("| method | threads | ms a cycle | times CGS |")
    print("|---|---|---|---|")
    for row in table(folder, "speedup.csv"):
        if row["clock"] == "real":
            seconds = 1e3 * float(row["seconds_a_cycle"])
            print(f"| {row['method']} | {row['threads']} | {seconds:.1f} | {number(row['speedup_of_a_cycle'], 2)} |")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for folder in sys.argv[1:]:
        print(f"\n### {folder}\n")
        for part in [summary, level, communication, speedup]:
            part(folder)
            print()


if __name__ == "__main__":
    main()
