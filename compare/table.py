"""The results of a folder as comparison.csv and comparison.md.

usage: table.py FOLDER
"""

import csv
import json
import os
import platform
import sys
from pathlib import Path

from sets import ALL

FIELDS = [
    "set", "contender", "told", "status", "rows", "k_true", "k", "nmi", "ari", "vi", "held_out_log_density", "left_out", "seconds",
    "processor_seconds", "peak_mib", "threads", "limit",
]  # fmt: skip


def main():
    folder = Path(sys.argv[1])
    records = read(folder)
    with open(folder / "comparison.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(records)
    (folder / "comparison.md").write_text(markdown(folder, records), encoding="utf-8")


def read(folder):
    """In the order of sets, and of contenders within."""
    from contenders import CONTENDERS

    order = [contender.name for contender in CONTENDERS]
    names = ["tiny", *ALL]
    records = [json.loads(file.read_text(encoding="utf-8")) for file in (folder / "results").glob("*.json")]
    for record in records:
        record["k_true"] = about(folder, record["set"])["n_clusters"]
    return sorted(records, key=lambda record: (names.index(record["set"]), order.index(record["contender"])))


def about(folder, name):
    return json.loads((folder / "sets" / name / "set.json").read_text(encoding="utf-8"))


def markdown(folder, records):
    lines = [f"Machine: {machine()}. Python {platform.python_version()}, {', '.join(versions())}.", ""]
    for name in dict.fromkeys(record["set"] for record in records):
        mine = [record for record in records if record["set"] == name]
        set_ = about(folder, name)
        classes = "" if set_["n_clusters"] is None else f", {set_['n_clusters']} classes"
        lines += [f"### {name}: {set_['n_rows']:,} × {set_['n_columns']:,}{classes}; {set_['n_held_out']:,} rows held out", ""]
        lines += ["| method | told | rows | K | NMI | ARI | VI | held-out log density | seconds | processor s | peak MiB |"]
        lines += ["|---|---|---|---|---|---|---|---|---|---|---|"]
        best = {field: winner(mine, field, set_["n_rows"]) for field in ("nmi", "ari", "held_out_log_density")}
        lines += [line(record, set_, best) for record in mine] + [""]
    return "\n".join(lines)


def winner(records, field, n_rows):
    """The highest value of those who had all rows."""
    return max((record[field] for record in records if field in record and record["rows"] == n_rows), default=None)


def line(record, set_, best):
    def cell(field, digits):
        if field not in record:
            return "–"
        text = f"{record[field]:.{digits}f}"
        return f"**{text}**" if record[field] == best.get(field) and record["rows"] == set_["n_rows"] else text

    rows = "all" if record["rows"] == set_["n_rows"] else f"{record['rows']:,}"
    if "before" in record:
        rows += f" ({record['before']['rows']:,}: {record['before']['status']})"
    if record["status"] != "done":
        return f"| {record['contender']} | {record['told']} | {rows} | {record['status']} | | | | | | | {record['peak_mib']} |"
    k = str(record["k"]) + (f", {record['left_out']:.0%} of rows in none" if record["left_out"] else "")
    figures = [cell("nmi", 3), cell("ari", 3), cell("vi", 3), cell("held_out_log_density", 3), cell("seconds", 1), cell("processor_seconds", 1)]
    return f"| {record['contender']} | {record['told']} | {rows} | {k} | {' | '.join(figures)} | {record['peak_mib']} |"


def machine():
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        names = [text.split(":")[1].strip() for text in Path("/proc/cpuinfo").read_text().splitlines() if text.startswith("model name")]
        model = names[0] if names else model
    return f"{os.cpu_count()} cores, {model}"


def versions():
    from importlib.metadata import PackageNotFoundError, version

    for package in ("dirigent", "scikit-learn", "fast_hdbscan", "tomotopy"):
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            continue


if __name__ == "__main__":
    main()
