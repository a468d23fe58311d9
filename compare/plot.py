"""NMI against processor seconds, a panel for each set: up and to the left is better.

usage: plot.py comparison.csv FILE.svg
"""

import csv
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import NullFormatter  # noqa: E402

MARKS = "os^vDP*X<>h"


def main():
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8", newline="") as file:
        records = [record for record in csv.DictReader(file) if record["status"] == "done" and record["nmi"]]
    sets = list(dict.fromkeys(record["set"] for record in records))
    if not sets:
        sys.exit(f"{source}: no set with a truth has been fitted")
    contenders = sorted({record["contender"] for record in records}, key=lambda name: (not name.startswith("Dirigent"), name))
    styles = {name: {"color": f"C{ix % 10}", "marker": MARKS[ix % len(MARKS)]} for ix, name in enumerate(contenders)}
    # the same file for the same figures
    plt.rcParams.update({"svg.hashsalt": "comparison", "svg.fonttype": "none", "font.size": 8, "figure.facecolor": "white"})
    n_columns = min(4, len(sets))
    n_lines = -(-len(sets) // n_columns)
    figure, axes = plt.subplots(n_lines, n_columns, figsize=(2.7 * n_columns, 2.2 * n_lines + 0.9), squeeze=False, layout="constrained")
    for axis in axes.flat[len(sets) :]:
        axis.set_axis_off()
    for axis, name in zip(axes.flat, sets, strict=False):
        most = max(int(record["rows"]) for record in records if record["set"] == name)
        for record in (record for record in records if record["set"] == name):
            style = dict(styles[record["contender"]])
            if int(record["rows"]) < most:
                style["markerfacecolor"] = "none"
            axis.plot(float(record["processor_seconds"]), float(record["nmi"]), linestyle="none", label=record["contender"], **style)
        axis.set(title=name, xscale="log", ylim=(-0.03, 1.03), xlabel="processor seconds", ylabel="NMI")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.grid(alpha=0.3)
    handles = [plt.Line2D([], [], linestyle="none", label=name, **style) for name, style in styles.items()]
    handles.append(plt.Line2D([], [], linestyle="none", color="grey", marker="o", markerfacecolor="none", label="hollow: fewer rows"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main()
