"""From the estimator's parameters to the options of a fit, as the library reads them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

#: Parameters that the library calls otherwise.
NAMES = {"n_workers": "workers", "n_jobs": "threads", "random_state": "seed"}
#: The parameters of each group of options.
GROUPS = {
    "model": (
        "family covariance alpha column_families sigma sigma0 m0 gamma prior_documents kappa0 nu0 psi0 a0 b0 tau"
    ).split(),
    "transform": ["standardize", "pca", "normalize"],
    "method": (
        "consolidation schedule splits joins first_alpha sweeps_per_cycle draws_from split_merge kernel"
    ).split(),
    "engine": (
        "n_workers n_jobs latency bandwidth straggler crash garbage cores row_cost address rejoin_timeout checkpoint_dir"
    ).split(),
    "run": "random_state cycles max_cycles time_limit chains draws thin point".split(),
}
#: Parameters about files.
OF_FILES = ["columns", "exclude", "label_column", "header"]


def fit_options(parameters: Mapping[str, Any], start: str | None = None) -> str:
    """The options of a fit, as JSON. What is None or "auto" is left out: then it is chosen from the data."""
    options: dict[str, Any] = {group: _given(parameters, names) for group, names in GROUPS.items()}
    for group in ("method", "engine"):
        if parameters[group] is not None:
            options[group]["name"] = parameters[group]
    options["run"]["start"] = start
    if options["model"].get("gamma") == "learn":
        options["model"] |= {"gamma": None, "learn_gamma": True}
    return json.dumps(options, default=_plain)


def data_options(parameters: Mapping[str, Any], **files: Any) -> str:
    """The options of the rows, as JSON."""
    options = _given(parameters, OF_FILES) | {name: path for name, path in files.items() if path is not None}
    for name in ("columns", "exclude"):
        if name in options:
            options[name] = [options[name]] if isinstance(options[name], str) else list(map(str, options[name]))
    return json.dumps(options, default=_plain)


def _given(parameters: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    def is_given(value: Any) -> bool:
        return value is not None and not (isinstance(value, str) and value == "auto")

    return {NAMES.get(name, name): _value(name, parameters[name]) for name in names if is_given(parameters[name])}


def _value(name: str, value: Any) -> Any:
    if name == "column_families":
        return {str(column): family for column, family in value.items()}
    return list(value.items()) if isinstance(value, Mapping) else value


def _plain(value: Any) -> Any:
    """What JSON does not know: numbers of NumPy and paths."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} cannot be an option")
