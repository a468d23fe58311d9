"""The parameters of the estimator. The estimator documents them."""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any, Literal

from sklearn.base import BaseEstimator

from ._options import OPTIONS

Auto = Literal["auto"]
Path_ = str | os.PathLike[str]

#: Names of other libraries, and what to write here.
_HABITS = {
    "k": "n_clusters",
    "n_components": "n_clusters (the number of components is inferred)",
    "covariance": "covariance_type",
    "cycles": "max_iter, or method_options={'cycles': ...} for an exact number",
    "n_iter": "max_iter",
    "seed": "random_state",
    "workers": "n_workers",
    "threads": "n_jobs",
    "weight_concentration_prior": "alpha",
    "callbacks": "callback",
}


# scikit-learn has no types
class Parameters(BaseEstimator):  # type: ignore[misc]
    """Parameters as scikit-learn expects them: set only by the constructor, under its names, and checked when they are used."""

    def __new__(cls, *_: Any, **given: Any) -> Any:
        """Helps with a name that is no parameter; everything else is for the constructor."""
        known = list(inspect.signature(cls.__init__).parameters)[1:]
        for name in given:
            if name not in known:
                raise TypeError(f"{cls.__name__} has no parameter {name!r}{_suggestion(name, known)}")
        return super().__new__(cls)

    def __init__(
        self,
        n_clusters: int | Literal["auto", "components"] = "auto",
        *,
        family: str = "auto",
        covariance_type: str = "auto",
        column_families: Mapping[str, str] | None = None,
        prior: Mapping[str, Any] | None = None,
        alpha: float | Auto = "auto",
        standardize: bool = False,
        normalize: bool = False,
        pca: int | None = None,
        draws: int = 0,
        chains: int = 1,
        max_iter: int | Auto = "auto",
        time_limit: float | None = None,
        method: str = "dirigent",
        method_options: Mapping[str, Any] | None = None,
        engine: str = "threads",
        engine_options: Mapping[str, Any] | None = None,
        n_workers: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        out: Path_ | None = None,
        force: bool = False,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], object] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.family = family
        self.covariance_type = covariance_type
        self.column_families = column_families
        self.prior = prior
        self.alpha = alpha
        self.standardize = standardize
        self.normalize = normalize
        self.pca = pca
        self.draws = draws
        self.chains = chains
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.method = method
        self.method_options = method_options
        self.engine = engine
        self.engine_options = engine_options
        self.n_workers = n_workers
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.out = out
        self.force = force
        self.verbose = verbose
        self.callback = callback


# `__new__` takes anything: the constructor has the signature
Parameters.__signature__ = inspect.signature(Parameters).replace(
    parameters=list(inspect.signature(Parameters.__init__).parameters.values())[1:]
)


def _suggestion(name: str, known: list[str]) -> str:
    if name in _HABITS:
        return f"; did you mean {_HABITS[name]}?"
    for group, options in OPTIONS.items():
        if name in options:
            return f"; it is a key of {group}: {group}={{{name!r}: ...}}"
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""
