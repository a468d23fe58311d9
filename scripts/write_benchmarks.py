"""Writes the tables of docs/benchmarks.md from the results in compare/results, between its two marks.

usage: write_benchmarks.py [--check]     --check only says whether they are those of the results
"""

import csv
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "compare" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- the tables begin: written by scripts/write_benchmarks.py -->", "<!-- the tables end -->"
WITHOUT_INPUTS = {"components": "components", "layer": "automatic cut", "hdbscan": "HDBSCAN", "hdbscan_1": "HDBSCAN, 1 %"}
GIVEN_K = {"cut": "cut at K", "kmeans": "k-means", "gaussian_mixture": "Gaussian mixture", "ward": "Ward"}
BATTERIES = {"fcps": "FCPS", "graves": "Graves", "sipu": "SIPU", "wut": "WUT"}
ARI_OF = "ARI; bold is the best without inputs and the best given K. Seed 0; in brackets Dirigent with seed 1."


def read(name):
    with open(RESULTS / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(header, rows):
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *("| " + " | ".join(row) + " |" for row in rows), ""]


def size_of(row):
    return f"{int(row['rows']):,}" + (f" × {int(row['columns']):,}" if row["columns"] else "")


def means(rows):
    first = [row for row in rows if row["set"].split("/")[0] in BATTERIES]
    n_sets = len({row["set"] for row in first})
    lines = [f"### Means over {n_sets} public sets", "", "Mean ARI over Gagolewski's collection, seeds 0 and 1. HDBSCAN with default settings, and with clusters of at least 1 % of the rows.", ""]
    header = ["collection", "sets", *WITHOUT_INPUTS.values(), *GIVEN_K.values()]
    body = []
    for prefix, title in [*BATTERIES.items(), ("", "**all**")]:
        mine = [row for row in first if row["set"].startswith(prefix)]
        values = []
        for column in [*WITHOUT_INPUTS, *GIVEN_K]:
            measured = [float(row[column]) for row in mine if row[column]]
            values.append(f"{statistics.mean(measured):.3f}")
        body.append([title, str(len({row["set"] for row in mine})), *values])
    seconds = statistics.median(float(row["cpu_seconds"]) for row in first if row["seed"] == "0")
    return [*lines, *table(header, body), f"Ward has no result on the largest sets. The median fit takes {seconds:.2f} processor seconds.", ""]


def every_set(rows):
    lines = ["### Every set", "", ARI_OF, "", *scored(rows)]
    return [*lines, "*Several numbers of classes*: the set has several reference labellings, and the best agreement counts.", ""]


def scored(rows):
    second = {row["set"]: row for row in rows if row["seed"] == "1"}
    body = []
    for row in rows:
        if row["seed"] != "0":
            continue
        cells = []
        for group in (WITHOUT_INPUTS, GIVEN_K):
            values = {column: float(row[column]) for column in group if row[column]}
            best = max((round(value, 2) for value in values.values()), default=None)
            cells += [cell(column, values, best, second.get(row["set"])) for column in group]
        body.append([row["set"].replace("_", " "), size_of(row), row["classes"], row["k"], *cells, row["cpu_seconds"]])
    header = ["set", "rows × columns", "classes", "components", *WITHOUT_INPUTS.values(), *GIVEN_K.values(), "seconds"]
    return table(header, body)


def cell(column, values, best, second):
    if column not in values:
        return ""
    text = f"{values[column]:.2f}"
    text = f"**{text}**" if round(values[column], 2) == best else text
    is_ours = column in ("components", "layer", "cut")
    return f"{text} ({float(second[column]):.2f})" if is_ours and second else text


def unseen(rows):
    n_sets = len({row["set"] for row in rows})
    lines = ["### Further tables", ""]
    lines += [f"{n_sets} tables with classes from Python packages (`compare/unseen.py`). They had no part in any choice but one: the automatic cut groups components of many columns at higher temperatures ([The tree, measured](dev/tree.md#the-layers-temperature)). That rule was set after they had been seen; without it the automatic cut has 0.321. The other methods received standardised columns.", ""]
    columns = [*WITHOUT_INPUTS, *GIVEN_K]
    values = {column: [float(row[column]) for row in rows if row[column]] for column in columns}
    lines += table(["", *WITHOUT_INPUTS.values(), *GIVEN_K.values()], [["mean ARI", *(f"{statistics.mean(values[column]):.3f}" for column in columns)]])
    return [*lines, *scored(rows)]


def contenders(rows):
    lines = ["### More contenders", "", "One run each, default options, a tenth of the rows held out, at most 120 processor seconds. Bold: best of the contenders that had all rows.", ""]
    for name in dict.fromkeys(row["set"] for row in rows):
        mine = [row for row in rows if row["set"] == name]
        n_rows = max(int(row["rows"]) for row in mine)
        classes = f", {mine[0]['k_true']} classes" if mine[0]["k_true"] else ""
        lines += [f"#### {name.replace('_', ' ')}: {n_rows:,} rows{classes}", ""]
        best = {field: winner(mine, field, n_rows) for field in ("nmi", "ari", "held_out_log_density")}
        header = ["method", "inputs", "rows", "clusters", "NMI", "ARI", "VI", "held-out log density", "processor s", "peak MiB"]
        lines += table(header, [contender(row, n_rows, best) for row in mine])
    return lines


def winner(rows, field, n_rows):
    return max((float(row[field]) for row in rows if row[field] and int(row["rows"]) == n_rows), default=None)


def contender(row, n_rows, best):
    def figure(field, digits):
        if not row[field]:
            return ""
        text = f"{float(row[field]):.{digits}f}"
        return f"**{text}**" if float(row[field]) == best.get(field) and int(row["rows"]) == n_rows else text

    inputs = {"nothing": "none"}.get(row["told"], row["told"])
    rows = "all" if int(row["rows"]) == n_rows else f"{int(row['rows']):,}"
    if row["status"] != "done":
        return [row["contender"], inputs, rows, row["status"], "", "", "", "", "", row["peak_mib"]]
    noise = float(row["left_out"] or 0)
    clusters = row["k"] + (f"; {noise:.0%} noise" if noise else "")
    figures = [figure("nmi", 3), figure("ari", 3), figure("vi", 3), figure("held_out_log_density", 2), figure("processor_seconds", 1)]
    return [row["contender"], inputs, rows, clusters, *figures, row["peak_mib"]]


def components(rows):
    lines = ["### Components and time", "", "A fit without options, seeds 0 and 1. *Ceiling*: ARI if every component is sent to the class of most of its rows. *Clusters*: the automatic cut.", ""]
    body = []
    for name in dict.fromkeys(row["set"] for row in rows):
        mine = [row for row in rows if row["set"] == name]
        both = [", ".join(row[field] for row in mine) for field in ("k", "ari", "nmi", "ceiling", "clusters", "clusters_ari", "clusters_nmi", "cpu_seconds", "cycles")]
        body.append([name.replace("_", " "), size_of(mine[0]), mine[0]["classes"], *both])
    return [*lines, *table(["set", "rows × columns", "classes", "components", "ARI", "NMI", "ceiling", "clusters", "ARI", "NMI", "processor s", "cycles"], body)]


def main():
    tree = read("tree.csv")
    parts = [means(tree), every_set(tree), unseen(read("unseen.csv")), contenders(read("comparison.csv")), components(read("every_set.csv"))]
    text = "\n".join(line for part in parts for line in part)
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        sys.exit(f"{PAGE}: has no place for the tables: {BEGIN} … {END}")
    right = f"{before}{BEGIN}\n\n{text}\n{END}{after}"
    if sys.argv[1:] == ["--check"]:
        if right != page:
            sys.exit("docs/benchmarks.md: the tables are not those of compare/results: run scripts/write_benchmarks.py")
        print("docs/benchmarks.md: the tables are those of compare/results")
    else:
        PAGE.write_text(right, encoding="utf-8")


if __name__ == "__main__":
    main()
