"""A fitted model for people: in a notebook, as a picture, in ArviZ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from ._core import Model

if TYPE_CHECKING:
    from ._estimator import DirichletProcessMixture

#: Clusters that a table shows.
_SHOWN = 10


def rows_for_people(rows: Any, model: Model) -> Any:
    """Sampled rows: a sparse matrix of counts, an array, or where columns hold text a table of it (an array of objects without pandas)."""
    if isinstance(rows, tuple):
        indptr, indices, data, n_columns = rows
        return scipy.sparse.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, n_columns))
    if not any(model.levels):
        return rows
    table = rows.astype(object)
    for ix, levels in enumerate(model.levels):
        if levels is not None:
            table[:, ix] = np.array(levels, dtype=object)[rows[:, ix].astype(int)]
    try:
        import pandas
    except ImportError:
        return table
    return pandas.DataFrame(table, columns=model.names).infer_objects()


def html(estimator: DirichletProcessMixture) -> str:
    """scikit-learn's picture of the estimator, and below it what came out of a fit."""
    picture = str(estimator_html_repr(estimator))
    if not estimator.__sklearn_is_fitted__():
        return picture
    numbers, sizes = np.unique(estimator.labels_, return_counts=True)
    cells = "".join(
        f"<tr><td>{number}</td><td>{size}</td><td>{size / len(estimator.labels_):.1%}</td></tr>"
        for number, size in zip(numbers[:_SHOWN], sizes, strict=False)
    )
    more = f"<p>and {len(sizes) - _SHOWN} more</p>" if len(sizes) > _SHOWN else ""
    how = "settled" if estimator.converged_ else "ended"
    return (
        f"{picture}<p>{estimator.n_clusters_} clusters ({estimator.n_components_} components) of {len(estimator.labels_)} rows, "
        f"log-joint {estimator.log_joint_:.1f}, {how} after {estimator.n_iter_} cycles</p>"
        f"<table><tr><th>cluster</th><th>rows</th><th>share</th></tr>{cells}</table>{more}"
    )


def plot(estimator: DirichletProcessMixture, X: Any, ax: Any, columns: tuple[int, int]) -> Any:
    """The rows in two columns, coloured by cluster, and the clusters' means."""
    check_is_fitted(estimator)
    from matplotlib import pyplot

    cells = np.asarray(X)
    if cells.ndim != 2 or cells.shape[1] <= max(columns):
        raise ValueError(f"columns {columns} are not among those of X, whose shape is {cells.shape}")
    ax = pyplot.gca() if ax is None else ax
    first, second = columns
    ax.scatter(cells[:, first], cells[:, second], c=estimator.predict(X), s=4, cmap="tab20", linewidths=0)
    means = estimator.means_
    ax.scatter(means[:, first], means[:, second], marker="+", c="black")
    ax.set_title(f"{estimator.n_clusters_} clusters")
    return ax


def plot_tree(estimator: DirichletProcessMixture, ax: Any, options: dict[str, Any]) -> Any:
    """SciPy's dendrogram; a component is shown with its number of rows."""
    check_is_fitted(estimator)
    from matplotlib import pyplot
    from scipy.cluster.hierarchy import dendrogram

    ax = pyplot.gca() if ax is None else ax
    if estimator.n_components_ > 1:
        sizes = estimator._run.json("tree.json")["sizes"]
        labels = [f"{component} ({size:,})" for component, size in enumerate(sizes)]
        dendrogram(estimator.tree_, ax=ax, **({"labels": labels, "leaf_rotation": 90, "no_plot": False} | options))
    ax.set_ylabel("distance")
    ax.set_title(f"{estimator.n_components_} components")
    return ax


def to_arviz(estimator: DirichletProcessMixture) -> Any:
    """The trace of every chain, the last part of each that all have."""
    check_is_fitted(estimator)
    import arviz

    trace = estimator._run.trace()
    chains = [trace["chain"] == chain for chain in np.unique(trace["chain"])]
    length = min(int(mask.sum()) for mask in chains)
    return arviz.from_dict(
        posterior={name: np.stack([trace[name][mask][-length:] for mask in chains]) for name in ("k", "alpha", "log_joint")}
    )
