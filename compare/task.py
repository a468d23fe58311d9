"""What a contender is given, and what it gives back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

Rows = Any  # an array, or a sparse matrix of counts


@dataclass(frozen=True)
class Task:
    """Rows to cluster, without their true labels."""

    kind: str  # "dense" or "counts"
    rows: Rows
    held_out: Rows
    #: The true number of clusters, for those that must be told; None if nobody knows.
    n_clusters: int | None
    #: What is known of made data: sigma, sigma0.
    known: dict[str, float]
    threads: int
    seed: int = 0


@dataclass(frozen=True)
class Found:
    """A label for each row, -1 for none, and the log density of any rows, if the method has one."""

    labels: np.ndarray
    log_density: Callable[[Rows], np.ndarray] | None = None


@dataclass(frozen=True)
class Contender:
    """A method as users would call it: its defaults, and no more than it must be told."""

    name: str
    told: str
    kinds: tuple[str, ...]
    #: Imports what is needed, outside the clock, and returns what fits.
    load: Callable[[], Callable[[Task], Found]]
    #: Whether it can do anything with a set (its description, `set.json`).
    suits: Callable[[dict[str, Any]], bool] = lambda description: True
    #: The most rows that it is given, where it is known that more cannot end well.
    most_rows: Callable[[dict[str, Any]], float] = lambda description: float("inf")


def truncation(n_clusters: int | None) -> int:
    """The most components for methods that need a bound: twice the truth, and 30 at least. They are told that much."""
    return max(30, 2 * (n_clusters or 0))


def load(folder: Path, part: str) -> Rows:
    """The rows of `train` or `test`."""
    dense = folder / f"{part}.npy"
    return np.load(dense) if dense.exists() else scipy.sparse.load_npz(folder / f"{part}.npz")


def description(folder: Path) -> dict[str, Any]:
    """What `sets.py` says of a set."""
    return json.loads((folder / "set.json").read_text(encoding="utf-8"))
