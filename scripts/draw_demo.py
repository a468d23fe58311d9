"""Draws docs/images/demo.png from a fit of the paper's synthetic set. Needs numpy and matplotlib, and `dirigent` on PATH."""

import json
import subprocess
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

PICTURE = Path(__file__).resolve().parent.parent / "docs/images/demo.png"


def demo(folder):
    """Rows, labels and certainties, and how many cycles it took."""
    subprocess.run(["dirigent", "synth", "synthetic", "--rows", "14100", "--out", folder / "data", "--quiet"], check=True)
    model = "--prior sigma=1,sigma0=10,m0=0 --alpha 1 --clusters components".split()
    subprocess.run(["dirigent", "fit", folder / "data/data.npy", *model, "--out", folder / "run", "--quiet"], check=True)
    rows, labels = np.load(folder / "data/data.npy"), np.load(folder / "run/labels.npy")
    n_cycles = json.loads((folder / "run/run.json").read_text())["summary"]["cycles"]
    return rows, labels, np.load(folder / "run/certainty.npy"), n_cycles


def colours(labels, certainty):
    """Neighbouring numbers get distant hues; a doubtful row is pale."""
    hues = (labels * 0.61803398875) % 1.0
    lightness = np.where(labels % 2 == 0, 0.80, 0.58)
    rgb = matplotlib.colors.hsv_to_rgb(np.stack([hues, np.full(len(labels), 0.75), lightness], axis=1))
    strength = (0.25 + 0.75 * certainty)[:, None]
    return rgb * strength + 0.93 * (1.0 - strength)


def main():
    with tempfile.TemporaryDirectory() as folder:
        rows, labels, certainty, n_cycles = demo(Path(folder))
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 4.6), dpi=110, sharex=True, sharey=True)
    titles = [f"{len(rows):,} points", f"{len(np.unique(labels))} clusters, found in {n_cycles} cycles"]
    for panel, title, colour in zip(panels, titles, ["#666666", colours(labels, certainty)]):
        panel.scatter(rows[:, 0], rows[:, 1], s=1.6, c=colour, linewidths=0)
        panel.set_title(title, fontsize=11)
        panel.set_aspect("equal")
        panel.set_xticks([])
        panel.set_yticks([])
    for number in np.unique(labels):
        panels[1].plot(*rows[labels == number].mean(axis=0), "k+", markersize=4, markeredgewidth=0.7)
    figure.tight_layout()
    figure.savefig(PICTURE)
    Image.open(PICTURE).convert("RGB").quantize(96, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
