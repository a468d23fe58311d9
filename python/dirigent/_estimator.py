"""The estimator: scikit-learn outside, a run folder of `dirigent fit` inside."""

from __future__ import annotations

import json
import os
import warnings
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from . import _core, _looks
from ._components import covariances_of, means_of
from ._engine import ENGINES
from ._input import rows_of
from ._options import data_options, fit_options
from ._parameters import Parameters, Path_
from ._progress import Progress
from ._run_folder import RunFolder

#: What is saved beside the files of a run.
_PARAMETERS = "estimator.json"


class FitWarning(UserWarning):
    """Something about a fit looks odd; the message says what, and what to try."""


# scikit-learn has no types
class DirichletProcessMixture(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Parameters):  # type: ignore[misc]
    """A Dirichlet-process mixture model: clusters without choosing how many.

    Every parameter is an option of the command `dirigent fit` and does what `dirigent fit --help` says of it; what is None or "auto" is chosen
    from the data. `X` is an array, a scipy.sparse matrix, a table of pandas, polars or pyarrow, or the name of a file (or a list of them).

    Parameters
    ----------
    family : "auto", "gaussian", "multinomial", "bernoulli", "poisson", "categorical", "vmf" or "mixed"
        The law of a cluster's rows.
    covariance : "auto", "fixed", "diagonal" or "full"
        The covariance of a Gaussian cluster.
    alpha : "auto" or float
        The concentration of the Dirichlet process; "auto" learns it.
    column_families : dict, optional
        The law of single columns, by name or by number from 1.
    sigma, sigma0, m0, gamma, kappa0, nu0, psi0, a0, b0, tau : float, optional
        Parameters of the families' priors; `gamma="learn"` learns that of documents from samples.
    prior_documents : float, optional
        How many documents the prior of a cluster of documents weighs; more give fewer clusters.
    standardize, normalize : bool
        Give columns mean 0 and standard deviation 1; divide rows by their lengths.
    pca : int, optional
        Fit so many principal components instead of the columns.
    columns, exclude, label_column, header : optional
        Of files: which columns to read, which one holds true labels, whether the first line is a header ("yes", "no").
    method, consolidation, schedule, splits, joins, first_alpha, sweeps_per_cycle : optional
        Which sampler, and how its workers find together.
    cycles, max_cycles, time_limit : "auto" or int; int; float
        When the fit ends.
    random_state : int, RandomState or None
        The seed. The same seed gives the same labels, here and with the command.
    chains, draws, thin, draws_from, split_merge, point : optional
        Independent chains, states to keep and how they are drawn, and which partition `labels_` is.
    n_workers, n_jobs : int, optional
        Workers share the rows; threads (`n_jobs`) never change labels.
    engine, latency, bandwidth, straggler, crash, garbage, cores, row_cost, kernel : optional
        Where the workers run; `straggler={worker: factor}`, `crash={worker: cycle}`, `garbage={worker: cycle}`.
    address, rejoin_timeout, checkpoint_dir : optional
        With `engine="ray"`: where the cluster is, and what happens when a part of it is lost.
    out : path, optional
        The run folder, for good; without it, it is a temporary one. `force` replaces an earlier run there.
    verbose : int
        1 shows how far the fit is, the search for a start included.
    callback : callable, optional
        Gets a dictionary after every cycle (cycle, seconds, log_joint, k, alpha, …). The fit ends with that cycle if it returns True.

    Attributes
    ----------
    labels_ : array of int32
        The cluster of each row, numbered by falling size.
    certainty_ : array of float32
        The probability of that cluster.
    n_components_, weights_, means_, covariances_ : the clusters
        In the units of the data. What a family does not have raises an AttributeError.
    alpha_, log_joint_, n_iter_, converged_, family_ : what came out
    trace_ : DataFrame, or dict of arrays without pandas
        A row for each cycle.
    draws_, n_components_posterior_ : with `draws`
        States of the chain, one a row; how probable each number of clusters is.
    """

    # fitting

    def fit(
        self, X: Any, y: object = None, *, start: ArrayLike | None = None, truth: ArrayLike | None = None
    ) -> DirichletProcessMixture:
        """Fits the model to the rows of X. `start` are labels to begin with, or "fine" or "rows" (see --start); `truth` are labels to measure against.
        y is not looked at.

        Ctrl-C ends the fit within a second or so; the model is then that of the last cycle that was whole, and KeyboardInterrupt is raised.
        """
        rows = rows_of(self, X, reset=True, family=self._wanted_family())
        self._fit(rows, [X], start, truth)
        return self

    def partial_fit(self, X: Any, y: object = None) -> DirichletProcessMixture:
        """Adds the rows of X to those fitted so far and goes on from the labels there are; new rows begin with what `predict` says.

        All rows take part again, so they are kept: the arrays themselves, not copies.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X)
        if not self._batches:
            raise ValueError(
                "the rows fitted so far are not here: a pickle or a saved model does not hold them\n"
                "hint: call fit with all rows, and with start=labels to begin with"
            )
        family = self._wanted_family()
        new = rows_of(self, X, reset=False, family=family)
        start = np.concatenate([self.labels_, self._predict(new)[0]])
        batches = [*self._batches, X]
        rows = _core.Rows.joined([*(rows_of(self, batch, reset=False, family=family) for batch in batches[:-1]), new])
        self._fit(rows, batches, start, None)
        return self

    def _fit(self, rows: _core.Rows, batches: list[Any], start: ArrayLike | None, truth: ArrayLike | None) -> None:
        folder = RunFolder.temporary() if self.out is None else RunFolder(Path(self.out), is_temporary=False)
        parameters = self.get_params(deep=False) | {
            "random_state": self._seed(),
            "n_jobs": None if self.n_jobs == -1 else self.n_jobs,
        }
        progress = Progress() if self.verbose else None

        def on_cycle(cycle: dict[str, Any]) -> object:
            if progress is not None:
                progress.on_cycle(cycle)
            return None if self.callback is None else self.callback(cycle)

        name = start if isinstance(start, str) and start in ("fine", "rows") else None
        labels = {"start_labels": None if name else start, "truth": truth}
        files = {name: os.fspath(given) for name, given in labels.items() if isinstance(given, (str, os.PathLike))}
        arrays = {name: _label_numbers(given) for name, given in labels.items() if name not in files}
        watched = progress is not None or self.callback is not None
        try:
            interruption = _core.fit(
                fit_options(parameters, start=name),
                data_options(parameters, **files),
                rows,
                (folder.path, self.force),
                arrays.get("start_labels"),
                arrays.get("truth"),
                on_cycle if watched else None,
                ENGINES,
                None if progress is None else progress.on_start,
            )
        finally:
            if progress is not None:
                progress.finish()
        self._take(folder)
        self._batches: list[Any] = batches
        for warning in folder.json("run.json")["warnings"]:
            warnings.warn(warning, FitWarning, stacklevel=3)
        if interruption is not None:
            raise interruption

    def _take(self, folder: RunFolder) -> None:
        """Shows what a run has left behind."""
        record = folder.json("run.json")
        model = folder.model
        self._run = folder
        self._batches = []
        self.n_features_in_ = model.n_columns
        if model.names is not None:
            self.feature_names_in_ = np.array(model.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        summary = record["summary"]
        self.labels_ = folder.array("labels.npy")
        self.certainty_ = folder.array("certainty.npy")
        counts = folder.components()["counts"]
        self.weights_ = counts / counts.sum()
        self.n_components_ = model.n_components
        self.family_ = record["model"]["family"]
        self.alpha_ = summary["alpha"]
        self.log_joint_ = summary["log_joint"]
        self.n_iter_ = summary["cycles"]
        self.converged_ = summary["stopped_because"] == "stationary"

    def _wanted_family(self) -> str | None:
        return None if self.family in (None, "auto") else self.family

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        if isinstance(self.random_state, np.random.Generator):
            return int(self.random_state.integers(2**31))
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    # predicting

    def predict(self, X: Any, y: object = None) -> NDArray[np.int32]:
        """The most probable cluster of each row."""
        return self._predict(self._rows(X))[0]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each cluster for each row, given that it is one of those there are; see `new_proba`."""
        rows = self._rows(X)
        probabilities, notes = self._run.model.probabilities(rows, self._n_threads())
        _note(notes)
        known = probabilities[:, :-1]
        totals = known.sum(axis=1, keepdims=True)
        # so far from all clusters that no probability is left: the most probable one takes it all
        lost = totals[:, 0] == 0.0
        if lost.any():
            known[lost, self._predict(rows)[0][lost]] = 1.0
            totals[lost] = 1.0
        shares: NDArray[np.float64] = known / totals
        return shares

    def new_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability that a row belongs to a cluster not seen before."""
        return self._predict(self._rows(X))[2]

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of the density of each row."""
        return self._predict(self._rows(X))[3]

    def score(self, X: Any, y: object = None) -> float:
        """The mean of `score_samples`."""
        return float(np.mean(self.score_samples(X)))

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The same as `predict_proba`: clusters as features for what comes next in a pipeline."""
        return self.predict_proba(X)

    def sample(self, n_samples: int = 1) -> tuple[Any, NDArray[np.int32]]:
        """Rows as the model would make them, and the cluster of each. Documents are as long as those of their cluster are on average."""
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, got {n_samples}")
        rows, labels = self._run.model.sample(n_samples, self._seed())
        return _looks.rows_for_people(rows, self._run.model), labels

    def _rows(self, X: Any) -> _core.Rows:
        check_is_fitted(self)
        return rows_of(self, X, reset=False, family="multinomial" if self.family_ == "multinomial" else "dense")

    def _predict(self, rows: _core.Rows) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]:
        labels, certainty, p_new, log_density, notes = self._run.model.predict(rows, self._n_threads())
        _note(notes)
        return labels, certainty, p_new, log_density

    def _n_threads(self) -> int | None:
        return None if self.n_jobs in (None, -1) else max(1, int(self.n_jobs))

    # looking

    @property
    def means_(self) -> NDArray[np.float64]:
        """The mean of each cluster, one a row: of directions, the mean direction; of word counts, the probability of each word."""
        return means_of(self._fitted_run("means_"))

    @property
    def covariances_(self) -> NDArray[np.float64]:
        """The covariance of each cluster: matrices, or variances of the columns where these are independent."""
        return covariances_of(self._fitted_run("covariances_"))

    @property
    def tree_(self) -> NDArray[np.float64]:
        """The tree over the components, as a linkage matrix of SciPy: `scipy.cluster.hierarchy.dendrogram(model.tree_)` draws it."""
        linkage = self._fitted_run("tree_").json("tree.json")["linkage"]
        return np.array(linkage, dtype=float).reshape(-1, 4)

    def cut(self, n_clusters: int | Literal["auto"] = "auto") -> NDArray[np.int32]:
        """Labels of the fitted rows at another resolution: the last merges of the tree over the components are undone.

        `n_clusters` is a number from 1 to `n_components_`, or "auto" for the clusters that the tree shows by itself. Clusters are numbered
        by falling size. The fit itself stays as it is.
        """
        check_is_fitted(self)
        run = self._run
        clusters = _core.cut(run.path, None if n_clusters == "auto" else n_clusters)
        name = "component_labels.npy" if (run.path / "component_labels.npy").exists() else "labels.npy"
        labels: NDArray[np.int32] = clusters[run.array(name)].astype(np.int32)
        return labels

    @property
    def trace_(self) -> Any:
        """What was reported of each cycle: a DataFrame, or a dictionary of arrays where pandas is not installed."""
        trace = self._fitted_run("trace_").trace()
        try:
            import pandas
        except ImportError:
            return trace
        return pandas.DataFrame(trace)

    @property
    def draws_(self) -> NDArray[np.int32]:
        """States of the chain that were kept, one a row."""
        run = self._fitted_run("draws_")
        if not (run.path / "draws.npy").exists():
            raise AttributeError("there are no draws: fit with draws=100, say")
        return run.array("draws.npy")

    @property
    def n_components_posterior_(self) -> dict[int, float]:
        """The share of draws with each number of clusters."""
        posterior = self._fitted_run("n_components_posterior_").json("run.json")["posterior"]
        if posterior is None:
            raise AttributeError("there are no draws: fit with draws=100, say")
        return {int(k): share for k, share in posterior["k"]["shares"].items()}

    def _fitted_run(self, attribute: str) -> RunFolder:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r} before fit")
        return self._run

    def plot(self, X: Any, ax: Any = None, columns: tuple[int, int] = (0, 1)) -> Any:
        """Draws the rows in two columns, coloured by cluster (needs matplotlib). Returns the axes."""
        return _looks.plot(self, X, ax, columns)

    def report(self, path: Path_) -> None:
        """Writes a page about the run, as `dirigent report` does."""
        check_is_fitted(self)
        if _core.run_cli(["dirigent", "report", os.fspath(self._run.path), "--out", os.fspath(path)]) != 0:
            raise OSError(f"{os.fspath(path)}: the report could not be written; the reason is on standard error")

    def to_arviz(self) -> Any:
        """K, alpha and log-joint of each chain as an InferenceData of ArviZ (needs arviz)."""
        return _looks.to_arviz(self)

    def _repr_html_(self) -> str:
        return _looks.html(self)

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    # keeping

    def save(self, path: Path_) -> None:
        """Copies the run folder to `path`, for `load`, `dirigent predict` and `dirigent info`."""
        check_is_fitted(self)
        self._run.copy_to(Path(path))
        parameters = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
        (Path(path) / _PARAMETERS).write_text(json.dumps(parameters, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path_) -> DirichletProcessMixture:
        """The estimator of a run folder: a saved one, or one that `dirigent fit` has written (then with the default parameters)."""
        folder = RunFolder(Path(path), is_temporary=False)
        if not (folder.path / "run.json").is_file():
            raise FileNotFoundError(f"{folder.path}: there is no run.json\nhint: name a run folder")
        parameters = folder.json(_PARAMETERS) if (folder.path / _PARAMETERS).is_file() else {}
        estimator = cls(**parameters)
        estimator._take(folder)
        return estimator

    # what scikit-learn asks

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_run")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        # rows are not part of the model
        return state | {"_batches": []} if "_batches" in state else state

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


def _label_numbers(labels: ArrayLike | None) -> NDArray[np.uint32] | None:
    if labels is None:
        return None
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"expected one label per row, found an array of {array.ndim} dimensions")
    _, numbers = np.unique(array, return_inverse=True)
    return numbers.astype(np.uint32)


def _note(notes: list[str]) -> None:
    for note in notes:
        warnings.warn(note.removeprefix("note: "), FitWarning, stacklevel=4)


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it; what it cannot hold is left out."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    try:
        json.dumps(value)
    except TypeError:
        return None
    return value
