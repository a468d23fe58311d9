"""The parameters of the estimator, each an option of `dirigent fit`. What they mean is said at the estimator, where users look."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from sklearn.base import BaseEstimator

Auto = Literal["auto"]
Path_ = str | os.PathLike[str]


# scikit-learn has no types
class Parameters(BaseEstimator):  # type: ignore[misc]
    """As scikit-learn wants them: set by the constructor and by nobody else, under the names they have there, and checked when they are used."""

    def __init__(
        self,
        family: str = "auto",
        covariance: str = "auto",
        alpha: float | Auto = "auto",
        *,
        column_families: Mapping[str, str] | None = None,
        sigma: float | None = None,
        sigma0: float | None = None,
        m0: float | None = None,
        gamma: float | Literal["learn"] | None = None,
        prior_documents: float | None = None,
        kappa0: float | None = None,
        nu0: float | None = None,
        psi0: float | None = None,
        a0: float | None = None,
        b0: float | None = None,
        tau: float | None = None,
        standardize: bool = False,
        pca: int | None = None,
        normalize: bool = False,
        columns: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        label_column: str | None = None,
        header: str = "auto",
        method: str = "dirigent",
        consolidation: str | None = None,
        schedule: str | None = None,
        splits: bool | None = None,
        joins: str | None = None,
        first_alpha: str | None = None,
        sweeps_per_cycle: int | None = None,
        cycles: int | Auto = "auto",
        max_cycles: int | None = None,
        time_limit: float | None = None,
        random_state: Any = 0,
        chains: int | None = None,
        draws: int | None = None,
        thin: int | None = None,
        draws_from: str | None = None,
        split_merge: int | None = None,
        point: str | None = None,
        n_workers: int | None = None,
        n_jobs: int | None = None,
        engine: str | None = None,
        latency: float | None = None,
        bandwidth: float | None = None,
        straggler: Mapping[int, float] | None = None,
        crash: Mapping[int, int] | None = None,
        garbage: Mapping[int, int] | None = None,
        cores: int | None = None,
        row_cost: float | None = None,
        address: str | None = None,
        rejoin_timeout: float | None = None,
        checkpoint_dir: Path_ | None = None,
        kernel: str | None = None,
        out: Path_ | None = None,
        force: bool = False,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], object] | None = None,
    ) -> None:
        self.family = family
        self.covariance = covariance
        self.alpha = alpha
        self.column_families = column_families
        self.sigma = sigma
        self.sigma0 = sigma0
        self.m0 = m0
        self.gamma = gamma
        self.prior_documents = prior_documents
        self.kappa0 = kappa0
        self.nu0 = nu0
        self.psi0 = psi0
        self.a0 = a0
        self.b0 = b0
        self.tau = tau
        self.standardize = standardize
        self.pca = pca
        self.normalize = normalize
        self.columns = columns
        self.exclude = exclude
        self.label_column = label_column
        self.header = header
        self.method = method
        self.consolidation = consolidation
        self.schedule = schedule
        self.splits = splits
        self.joins = joins
        self.first_alpha = first_alpha
        self.sweeps_per_cycle = sweeps_per_cycle
        self.cycles = cycles
        self.max_cycles = max_cycles
        self.time_limit = time_limit
        self.random_state = random_state
        self.chains = chains
        self.draws = draws
        self.thin = thin
        self.draws_from = draws_from
        self.split_merge = split_merge
        self.point = point
        self.n_workers = n_workers
        self.n_jobs = n_jobs
        self.engine = engine
        self.latency = latency
        self.bandwidth = bandwidth
        self.straggler = straggler
        self.crash = crash
        self.garbage = garbage
        self.cores = cores
        self.row_cost = row_cost
        self.address = address
        self.rejoin_timeout = rejoin_timeout
        self.checkpoint_dir = checkpoint_dir
        self.kernel = kernel
        self.out = out
        self.force = force
        self.verbose = verbose
        self.callback = callback
