"""The estimator: scikit-learn outside, a run folder of `dirigent fit` inside."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Sequence
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
from ._options import as_parameters, check_parameters, data_options, fit_options, forget_of
from ._parameters import Parameters, Path_
from ._progress import Progress
from ._run_folder import RunFolder

#: The file of parameters in a saved run folder.
_PARAMETERS = "estimator.json"


class FitWarning(UserWarning):
    """A fit looks odd; the message names the likely cause and a remedy."""


# scikit-learn has no types
class DirichletProcessMixture(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Parameters):  # type: ignore[misc]
    """Dirichlet-process mixture model: clusters whose number is inferred from the data.

    `X` is an array, a scipy.sparse matrix, a table of pandas, polars or pyarrow, or the name of a file (or a list of names). Parameters that are "auto" or
    None are inferred from the data; `choices_` has each choice with its reason.

    Parameters
    ----------
    n_clusters : "auto", "components" or int, default "auto"
        Number of clusters. Components are grouped by a tree: "auto" selects the groups that persist longest, an integer cuts the tree at that number,
        "components" makes each component a cluster. `cut` changes it after the fit.
    family : {"auto", "gaussian", "multinomial", "bernoulli", "poisson", "categorical", "vmf", "mixed"}, default "auto"
        Distribution of the rows within a component.
    covariance_type : {"auto", "full", "diag", "isotropic"}, default "auto"
        Covariance of Gaussian components: a matrix each, variances each, or one variance for all. "auto" selects by held-out density.
    column_families : dict, optional
        Distribution of single columns of a mixed table, by name or by number from 1: `{"visits": "poisson"}`.
    prior : dict, optional
        Parameters of the prior: `sigma`, `sigma0`, `m0` (isotropic), `kappa0`, `nu0`, `psi0` (full), `kappa0`, `a0`, `b0` (diag), `gamma`,
        `prior_documents` (word counts), `tau` (vmf). Give them if you know the scale of your clusters. `gamma="learn"` learns that of documents.
    alpha : "auto" or float, default "auto"
        Concentration of the Dirichlet process; larger values open more components. "auto" learns it.
    standardize, normalize : bool, default False
        Give columns mean 0 and standard deviation 1; divide rows by their lengths.
    pca : int, optional
        Number of principal components to fit instead of the columns. For embeddings with hundreds of columns.
    draws : int, default 0
        Number of posterior samples to keep per chain: `draws_`, `n_components_posterior_`.
    chains : int, default 1
        Number of independent chains; labels are those of the best one. Four or more show whether they agree.
    max_iter : "auto" or int, default "auto"
        Largest number of cycles over the rows. A fit ends earlier if the estimated evidence stops improving.
    time_limit : float, optional
        Seconds after which the fit ends, at the end of a cycle, with a complete result.
    method : {"dirigent", "cgs", "prog", "pooled", "hung", "async", "slicemr", "av", "subc"}, default "dirigent"
        Sampler. "cgs" is the textbook Gibbs sampler; the others are for comparison.
    method_options : dict, optional
        `cycles` (an exact number), `thin`, `point`, `consolidation`, `schedule`, `splits`, `joins`, `first_alpha`, `sweeps_per_cycle`, `draws_from`,
        `split_merge`, `av_merges`, `kernel`.
    engine : {"threads", "simulated", "ray", "mpi"}, default "threads"
        Where the workers run.
    engine_options : dict, optional
        "ray": `address`, `rejoin_timeout`, `checkpoint_dir`. "simulated": `latency`, `bandwidth`, `straggler={worker: factor}`, `crash={worker: cycle}`,
        `garbage={worker: cycle}`, `cores`, `row_cost`.
    n_workers : int, optional
        Number of workers that share the rows; by default it follows the number of rows, at most 20.
    n_jobs : int, optional
        Number of threads; None and -1 use all cores. It never changes labels.
    random_state : int, RandomState, Generator or None, default None
        Seed. The same seed gives the same labels, here and with the command. None draws a new one and stores it in `seed_`.
    out : path, optional
        Run folder to keep. By default it is temporary.
    force : bool, default False
        Replace an earlier run in `out`.
    verbose : int, default 0
        1 shows progress.
    callback : callable, optional
        Called with a dictionary after every cycle (cycle, seconds, log_joint, k, alpha, …). The fit ends with that cycle if it returns True. Steps of the
        search for a start come first, as cycle 0 with a description in `start`.

    Attributes
    ----------
    labels_ : array of int32
        Cluster of each row, numbered by falling size. After `partial_fit`, the numbers of `cluster_ids_`.
    cluster_ids_ : array of int32
        Number of each cluster, largest cluster first. It stays with its cluster in `partial_fit` and is never used again.
    events_ : list of dict
        Clusters that `partial_fit` saw born, split, merged or gone.
    certainty_ : array of float32
        Probability of that cluster.
    n_clusters_, n_components_ : int
        Number of clusters among the labels, and of components of the mixture.
    probabilities_ : array of float32
        `certainty_`, under the name that HDBSCAN has for it; BERTopic reads it.
    component_labels_ : array of int32
        Most probable component of each row.
    weights_, means_, covariances_ : arrays
        Of the components, in the units of the data. An attribute that a family does not have raises AttributeError.
    tree_ : array
        Tree over the components, as a linkage matrix of SciPy.
    tree_support_ : array, with `draws`
        Posterior probability that the two sides of each merge are apart.
    family_, covariance_type_, prior_, alpha_, seed_ : str, str or None, dict, float, int
        Values that were used; valid as parameters. `covariance_type_` is None if the family is not Gaussian.
    choices_ : dict
        Choices made from the data: name to (value, reason).
    log_joint_, n_iter_, converged_ : float, int, bool
        Final log-joint, number of cycles, and whether the fit settled by itself.
    trace_ : DataFrame, or dict of arrays without pandas
        One row per cycle.
    draws_ : array, with `draws`
        Posterior samples, one per row.
    n_components_posterior_ : dict, with `draws`
        Share of the samples with each number of components.
    feature_names_in_ : array of str
        Names of the columns, if they have names.
    """

    # fitting

    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        start: ArrayLike | None = None,
        truth: ArrayLike | None = None,
        columns: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        label_column: str | None = None,
        header: str = "auto",
        vocab: Sequence[str] | Path_ | None = None,
    ) -> DirichletProcessMixture:
        """Fit the model to the rows of X.

        Identifiers, free text, constant and empty columns of a table are left out with a warning; name them in `columns` or `column_families` to keep
        them. Dates become days since 1970-01-01, and durations days. Ctrl-C ends the fit within about a second: the model is then that of the last
        complete cycle, and KeyboardInterrupt is raised.

        Parameters
        ----------
        X : array, sparse matrix, table or path
            Rows to cluster.
        y : ignored
            Present for scikit-learn.
        start : array of int, "fine" or "rows", optional
            Labels to start from; or "fine" for small cells that are merged, "rows" for one row after another.
        truth : array of int, optional
            True labels to compare with; never fitted.
        columns, exclude : list of str, optional
            Columns of a table or file to use, and to leave out.
        label_column : str, optional
            Column of a file with the true labels.
        header : {"auto", "yes", "no"}, default "auto"
            Whether the first line of a text file is a header.
        vocab : list of str or path, optional
            Names of the columns of word counts.

        Returns
        -------
        The fitted estimator.
        """
        words = None if vocab is None or isinstance(vocab, (str, os.PathLike)) else vocab
        rows = rows_of(self, X, reset=True, family=self._wanted_family(), vocab=words)
        files = {"vocab": vocab if words is None else None, "columns": columns, "exclude": exclude, "label_column": label_column, "header": header}
        self._fit(rows, start, truth, files)
        return self

    def partial_fit(self, X: Any, y: object = None, *, forget: dict[str, float] | None = None) -> DirichletProcessMixture:
        """Add a batch of rows to the model, without the rows of earlier batches.

        The first call is a `fit`; its family and prior hold for all batches. `labels_` and `certainty_` are those of the newest batch. Clusters keep their
        numbers from batch to batch, and `events_` lists those that were born, split, merged or are gone.

        Parameters
        ----------
        X : array, sparse matrix, table or path
            Rows with the columns of the first batch. They are not kept.
        forget : dict, optional
            `{"batches": B}` counts only the last B batches; older ones leave the model exactly. `{"half_life": H}` halves the weight of a batch every H
            batches, in whole rows. By default all batches count.

        Returns
        -------
        The estimator itself.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X)
        forgetting = forget_of(forget)
        rows = rows_of(self, X, reset=False, family="multinomial" if self.family_ == "multinomial" else "dense")
        folder = RunFolder.temporary() if self.out is None else RunFolder(self._run.path, is_temporary=False)
        _core.update(self._run.path, rows, folder.path if self.out is None else None, forgetting)
        self._take(folder)
        for warning in folder.json("run.json")["warnings"]:
            warnings.warn(as_parameters(warning), FitWarning, stacklevel=2)
        return self

    @classmethod
    def merge(cls, models: Sequence[DirichletProcessMixture]) -> DirichletProcessMixture:
        """Merge models that were fitted to parts of the data, without the data.

        Components that are better as one become one. Columns, words and levels are matched by name, and the prior is that of the model with the most rows. The
        merged model has no labels: use `predict`.

        Parameters
        ----------
        models : list of DirichletProcessMixture
            Fitted models of the same family. The result has the parameters of the first one.

        Returns
        -------
        The merged estimator.
        """
        if not models:
            raise ValueError("models must hold at least one fitted model, got none")
        for model in models:
            check_is_fitted(model)
        folder = RunFolder.temporary()
        _core.merge([model._run.path for model in models], folder.path)
        merged = cls(**models[0].get_params(deep=False))
        merged._take(folder)
        return merged

    def _fit(
        self, rows: _core.Rows, start: ArrayLike | None, truth: ArrayLike | None, files: dict[str, Any]
    ) -> None:
        check_parameters(self.get_params(deep=False))
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
        named = {name: os.fspath(given) for name, given in labels.items() if isinstance(given, (str, os.PathLike))}
        arrays = {name: _label_numbers(given) for name, given in labels.items() if name not in named}
        watched = progress is not None or self.callback is not None
        began = time.monotonic()

        def on_start(text: str) -> None:
            if progress is not None:
                progress.on_start(text)
            if self.callback is not None:
                nothing = dict.fromkeys(("log_joint", "k", "alpha", "last_cycle"))
                self.callback({"cycle": 0, "seconds": time.monotonic() - began, "start": text} | nothing)

        try:
            interruption = _core.fit(
                fit_options(parameters, start=name),
                data_options(**files, **named),
                rows,
                (folder.path, self.force),
                arrays.get("start_labels"),
                arrays.get("truth"),
                on_cycle if watched else None,
                ENGINES,
                on_start if watched else None,
            )
        finally:
            if progress is not None:
                progress.finish()
        self._take(folder)
        for warning in folder.json("run.json")["warnings"]:
            warnings.warn(as_parameters(warning), FitWarning, stacklevel=3)
        if interruption is not None:
            raise interruption

    def _take(self, folder: RunFolder) -> None:
        """Takes the results of a run folder as attributes."""
        record = folder.json("run.json")
        model = folder.model
        self._run = folder
        self.n_features_in_ = model.n_columns
        if model.names is not None and not all(name.isdigit() for name in model.names):
            self.feature_names_in_ = np.array(model.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        summary = record["summary"]
        clusters = folder.path / "history.json"
        self.cluster_ids_ = np.arange(model.n_clusters, dtype=np.int32)
        if clusters.exists():
            self.cluster_ids_ = np.array(folder.json("history.json")["clusters"]["ids"], dtype=np.int32)
        self.labels_ = self.cluster_ids_[folder.array("labels.npy")]
        self.certainty_ = folder.array("certainty.npy")
        counts = folder.components()["counts"]
        self.weights_ = counts / counts.sum()
        self.n_clusters_ = summary["n_clusters"]
        self.n_components_ = model.n_components
        self.family_ = record["family"]
        self.covariance_type_ = record["covariance"]
        self.prior_ = record["prior"]
        self.choices_ = {choice["name"]: (choice["value"], choice["why"]) for choice in record["choices"]}
        self.seed_ = record["options"]["run"]["seed"]
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
        """Most probable cluster of each row.

        A row that fits no known cluster gets the most probable one all the same. A `FitWarning` counts such rows, and `new_proba` tells which they are.

        Parameters
        ----------
        X : array, sparse matrix, table or path
            Rows with the columns of the fit.

        Returns
        -------
        Array of int32: numbers of `cluster_ids_`.
        """
        numbers, _, p_new, _ = self._predict(self._rows(X))
        labels: NDArray[np.int32] = self.cluster_ids_[numbers]
        n_new = int(np.count_nonzero(p_new > 0.5))
        if n_new > 0:
            fit = "fits" if n_new == 1 else "fit"
            text = f"{n_new} of {len(labels)} rows {fit} no known cluster (new_proba above 0.5)"
            warnings.warn(text, FitWarning, stacklevel=2)
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each cluster for each row.

        Rows sum to 1: it is the probability given that the row belongs to a cluster of the fit. See `new_proba` for the rest.

        Parameters
        ----------
        X : array, sparse matrix, table or path
            Rows with the columns of the fit.

        Returns
        -------
        Array of float64, rows × clusters.
        """
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
        """Probability that a row belongs to no cluster of the fit; near 1 for an outlier.

        Parameters
        ----------
        X : array, sparse matrix, table or path
            Rows with the columns of the fit.

        Returns
        -------
        Array of float64, one per row.
        """
        return self._predict(self._rows(X))[2]

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Log-density of each row.

        Parameters
        ----------
        X : array, sparse matrix, table or path
            Rows with the columns of the fit.

        Returns
        -------
        Array of float64, one per row.
        """
        return self._predict(self._rows(X))[3]

    def score(self, X: Any, y: object = None) -> float:
        """Mean log-density of the rows, for model selection in scikit-learn."""
        return float(np.mean(self.score_samples(X)))

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Probability of each cluster, as features for the next step of a pipeline. Equals `predict_proba`."""
        return self.predict_proba(X)

    def sample(self, n_samples: int = 1) -> tuple[Any, NDArray[np.int32]]:
        """Generate rows from the model.

        Documents have the mean length of their cluster.

        Parameters
        ----------
        n_samples : int, default 1
            Number of rows.

        Returns
        -------
        The rows, in the form of the data, and the cluster of each.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, got {n_samples}")
        model = self._run.model
        rows, components = model.sample(n_samples, self._seed())
        return _looks.rows_for_people(rows, model), model.clusters[components].astype(np.int32)

    def _rows(self, X: Any) -> _core.Rows:
        check_is_fitted(self)
        return rows_of(self, X, reset=False, family="multinomial" if self.family_ == "multinomial" else "dense")

    def _predict(
        self, rows: _core.Rows, *, of_components: bool = False
    ) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]:
        labels, certainty, p_new, log_density, notes = self._run.model.predict(rows, self._n_threads(), of_components)
        _note(notes)
        return labels, certainty, p_new, log_density

    def _n_threads(self) -> int | None:
        return None if self.n_jobs in (None, -1) else max(1, int(self.n_jobs))

    # looking

    @property
    def means_(self) -> NDArray[np.float64]:
        """Mean of each component, one per row: mean directions for directions, word probabilities for word counts."""
        return means_of(self._fitted_run("means_"))

    @property
    def covariances_(self) -> NDArray[np.float64]:
        """Covariance of each component: matrices, or variances of the columns if these are independent."""
        return covariances_of(self._fitted_run("covariances_"))

    @property
    def tree_(self) -> NDArray[np.float64]:
        """Tree over the components, as a linkage matrix of SciPy: `scipy.cluster.hierarchy.dendrogram(model.tree_)` draws it."""
        linkage = self._fitted_run("tree_").json("tree.json")["linkage"]
        return np.array(linkage, dtype=float).reshape(-1, 4)

    @property
    def tree_support_(self) -> NDArray[np.float64]:
        """Posterior probability that the two sides of each merge are apart; NaN if a side has no rows. Needs draws."""
        support = self._fitted_run("tree_support_").json("tree.json").get("support")
        if support is None:
            raise AttributeError("there are no draws: fit with draws=100, chains=4, say")
        return np.array([np.nan if p is None else p for p in support], dtype=float)

    @property
    def probabilities_(self) -> NDArray[np.float32]:
        """`certainty_`, under the name that HDBSCAN has for it; BERTopic reads it."""
        self._fitted_run("probabilities_")
        return self.certainty_

    @property
    def component_labels_(self) -> NDArray[np.int32]:
        """Most probable component of each row."""
        run = self._fitted_run("component_labels_")
        name = "component_labels.npy" if (run.path / "component_labels.npy").exists() else "labels.npy"
        return run.array(name)

    def cut(self, n_clusters: int | Literal["auto", "components"] = "auto") -> NDArray[np.int32]:
        """Labels of the fitted rows at another number of clusters, without a new fit.

        Parameters
        ----------
        n_clusters : "auto", "components" or int, default "auto"
            As in the constructor.

        Returns
        -------
        Array of int32. Clusters are numbered by falling size. The fit itself stays as it is.
        """
        check_is_fitted(self)
        clusters = _core.cut(self._run.path, str(n_clusters))
        labels: NDArray[np.int32] = clusters[self.component_labels_].astype(np.int32)
        return labels

    def plot_tree(self, ax: Any = None, **options: Any) -> Any:
        """Draw the tree over the components. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default the current axes.
        options : keyword arguments
            Options of SciPy's `dendrogram`.

        Returns
        -------
        The axes.
        """
        return _looks.plot_tree(self, ax, options)

    @property
    def events_(self) -> list[dict[str, Any]]:
        """Clusters that were born, split, merged or are gone: a dict each with batch, time, kind, cluster, other and n_rows."""
        run = self._fitted_run("events_")
        return list(run.json("history.json")["clusters"]["events"]) if (run.path / "history.json").exists() else []

    @property
    def trace_(self) -> Any:
        """One row per cycle: a DataFrame, or a dictionary of arrays if pandas is not installed."""
        trace = self._fitted_run("trace_").trace()
        try:
            import pandas
        except ImportError:
            return trace
        return pandas.DataFrame(trace)

    @property
    def draws_(self) -> NDArray[np.int32]:
        """Posterior samples, one per row."""
        run = self._fitted_run("draws_")
        if not (run.path / "draws.npy").exists():
            raise AttributeError("there are no draws: fit with draws=100, say")
        return run.array("draws.npy")

    @property
    def n_components_posterior_(self) -> dict[int, float]:
        """Share of the posterior samples with each number of components."""
        posterior = self._fitted_run("n_components_posterior_").json("run.json")["posterior"]
        if posterior is None:
            raise AttributeError("there are no draws: fit with draws=100, say")
        return {int(k): share for k, share in posterior["k"]["shares"].items()}

    def _fitted_run(self, attribute: str) -> RunFolder:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r} before fit")
        return self._run

    def plot(self, X: Any, ax: Any = None, columns: tuple[int, int] = (0, 1)) -> Any:
        """Draw the rows in two columns, coloured by cluster. Needs matplotlib.

        Parameters
        ----------
        X : array or table
            Rows with the columns of the fit.
        ax : matplotlib axes, optional
            Where to draw; by default the current axes.
        columns : pair of int, default (0, 1)
            The two columns, counted from 0.

        Returns
        -------
        The axes.
        """
        return _looks.plot(self, X, ax, columns)

    def report(self, path: Path_) -> None:
        """Write a report about the run as one HTML page, as `dirigent report` does.

        Parameters
        ----------
        path : path
            File to write.
        """
        check_is_fitted(self)
        if _core.run_cli(["dirigent", "report", os.fspath(self._run.path), "--out", os.fspath(path)]) != 0:
            raise OSError(f"{os.fspath(path)}: the report could not be written; the reason is on standard error")

    def to_arviz(self) -> Any:
        """Number of components, alpha and log-joint of each chain as an InferenceData of ArviZ. Needs arviz."""
        return _looks.to_arviz(self)

    def _repr_html_(self) -> str:
        return _looks.html(self)

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    # keeping

    def save(self, path: Path_) -> None:
        """Copy the run folder to `path`, for `load`, `dirigent predict` and `dirigent info`. Rows are not stored.

        Parameters
        ----------
        path : path
            Folder to write.
        """
        check_is_fitted(self)
        self._run.copy_to(Path(path))
        parameters = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
        (Path(path) / _PARAMETERS).write_text(json.dumps(parameters, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path_) -> DirichletProcessMixture:
        """Load a saved estimator, or the run folder of `dirigent fit` (with default parameters).

        Parameters
        ----------
        path : path
            Folder to read.

        Returns
        -------
        The fitted estimator.
        """
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

    @property
    def _n_features_out(self) -> int:
        return self._run.model.n_clusters


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
