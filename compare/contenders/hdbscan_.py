"""Clusters by density: scikit-learn's HDBSCAN and fast_hdbscan. Rows that they leave out (-1) are counted as one more cluster in the scores."""

import numpy as np
from task import Contender, Found

from .text import dense


def load_sklearn():
    from sklearn.cluster import HDBSCAN

    # copy=False is what will be the default
    return lambda task: Found(HDBSCAN(n_jobs=task.threads, copy=False).fit_predict(dense(task)))


def load_fast():
    from fast_hdbscan import HDBSCAN

    # compiled at the first call, one way for few columns and another for many: outside the clock
    for n_columns in (2, 50):
        for kind in (np.float32, np.float64):
            HDBSCAN().fit_predict(np.random.default_rng(0).normal(size=(200, n_columns)).astype(kind))
    return lambda task: Found(HDBSCAN().fit_predict(dense(task)))


def without_a_tree(about):
    """In many dimensions a tree of the rows saves nothing, and all pairs of them are looked at."""
    is_wide = about["kind"] == "counts" or about["n_columns"] > 16
    return 20_000 if is_wide else float("inf")


CONTENDERS = [
    Contender("HDBSCAN", "nothing", ("dense", "counts"), load_sklearn, most_rows=without_a_tree),
    Contender("fast_hdbscan", "nothing", ("dense", "counts"), load_fast),
]
