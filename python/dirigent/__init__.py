"""Clustering without choosing the number of clusters: Dirichlet-process mixture models.

>>> from dirigent import DirichletProcessMixture
>>> labels = DirichletProcessMixture().fit(X).labels_  # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

from ._core import __version__

if TYPE_CHECKING:
    from ._estimator import DirichletProcessMixture, FitWarning

__all__ = ["DirichletProcessMixture", "FitWarning", "__version__"]


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import: the command, which is in this package too, does without it
    if name in ("DirichletProcessMixture", "FitWarning"):
        from . import _estimator

        return getattr(_estimator, name)
    raise AttributeError(f"module 'dirigent' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
