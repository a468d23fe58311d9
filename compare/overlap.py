"""Fits four Gaussians that overlap, by default and with exact draws, and prints the number of components of both.

usage: overlap.py [--command target/release/dirigent] [--draws 100]

Rows are drawn from Gaussians of unit width at the corners of a square, 2.5 to 4 standard deviations apart. Draws are states of an exact sampler that takes over from
the default's state; the most frequent number of components among them is printed, with its share. Components with less than a hundredth of the rows do not count: a Dirichlet process has some at any time.
"""

import argparse
import subprocess
import tempfile

import numpy as np


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="target/release/dirigent")
    parser.add_argument("--draws", type=int, default=100)
    options = parser.parse_args()
    print("| rows | distance in sd | K, default | K, exact draws (share) |\n|---|---|---|---|")
    for n_rows in (1000, 6000, 40_000):
        for distance in (2.5, 3.0, 3.5, 4.0):
            usual, (k, share) = look(options, n_rows, distance)
            print(f"| {n_rows:,} | {distance} | {usual} | {k} ({share:.2f}) |", flush=True)


def look(options, n_rows, distance):
    """K of the default fit; the most frequent K among the draws and its share."""
    rng = np.random.default_rng(int(10 * distance) + n_rows)
    corners = distance * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    rows = corners[np.arange(n_rows) % 4] + rng.normal(size=(n_rows, 2))
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/rows.npy", rows)
        command = [options.command, "fit", f"{folder}/rows.npy", "--clusters", "components", "--quiet", "--no-report", "--out"]
        subprocess.run([*command, f"{folder}/usual"], check=True)
        subprocess.run([*command, f"{folder}/exact", "--draws", str(options.draws)], check=True)
        usual = n_components(np.load(f"{folder}/usual/labels.npy"))
        draws = [n_components(draw) for draw in np.load(f"{folder}/exact/draws.npy")]
    numbers, counts = np.unique(draws, return_counts=True)
    return usual, (numbers[counts.argmax()], counts.max() / len(draws))


def n_components(labels):
    """Those with a hundredth of the rows."""
    return int((np.bincount(labels) >= len(labels) / 100).sum())


if __name__ == "__main__":
    main()
