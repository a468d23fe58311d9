"""From the estimator's parameters to the options of a fit, as the library reads them."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping
from numbers import Integral
from typing import Any

#: Parameters that the library calls otherwise.
_NAMES = {
    "n_clusters": "clusters",
    "covariance_type": "covariance",
    "max_iter": "max_cycles",
    "n_workers": "workers",
    "n_jobs": "threads",
    "random_state": "seed",
}
#: The keys of each parameter that is a dictionary, and the group of options that each belongs to.
OPTIONS: dict[str, dict[str, str]] = {
    "prior": dict.fromkeys("sigma sigma0 m0 gamma prior_documents kappa0 nu0 psi0 a0 b0 tau".split(), "model"),
    "method_options": dict.fromkeys(
        "consolidation schedule splits joins first_alpha sweeps_per_cycle draws_from split_merge av_merges kernel".split(), "method"
    )
    | dict.fromkeys("cycles thin point".split(), "run"),
    "engine_options": dict.fromkeys(
        "latency bandwidth straggler crash garbage cores row_cost address rejoin_timeout checkpoint_dir".split(), "engine"
    ),
}
#: The other parameters of each group of options.
_GROUPS = {
    "model": ["family", "covariance_type", "alpha", "column_families"],
    "transform": ["standardize", "pca", "normalize"],
    "engine": ["n_workers", "n_jobs"],
    "run": ["n_clusters", "random_state", "max_iter", "time_limit", "chains", "draws"],
}


#: What the parameters that have a few values may be.
_CHOICES = {
    "family": ("auto", "gaussian", "multinomial", "bernoulli", "poisson", "categorical", "vmf", "mixed"),
    "covariance_type": ("auto", "full", "diag", "isotropic"),
    "method": ("dirigent", "cgs", "prog", "pooled", "hung", "async", "slicemr", "av", "subc"),
    "engine": ("threads", "simulated", "ray", "mpi"),
}
#: The least values of those that are whole numbers.
_LEAST = {"draws": 0, "chains": 1, "pca": 1, "max_iter": 1, "n_workers": 1}


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Rejects what is no value of a parameter, before the library sees it under another name."""
    for name, choices in _CHOICES.items():
        value = parameters[name]
        if value is not None and (not isinstance(value, str) or value not in choices):
            near = difflib.get_close_matches(value, choices, 1) if isinstance(value, str) else []
            hint = f"\nhint: did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"`{name}` must be one of {', '.join(map(repr, choices))}; got {value!r}{hint}")
    for name, least in _LEAST.items():
        value = parameters[name]
        if not (value is None or _is_whole(value, least) or (name == "max_iter" and isinstance(value, str) and value == "auto")):
            raise ValueError(f"`{name}` must be a whole number of at least {least}; got {value!r}")
    jobs = parameters["n_jobs"]
    if not (jobs is None or jobs == -1 or _is_whole(jobs, 1)):
        raise ValueError(f"`n_jobs` must be a whole number of at least 1, or -1 for all cores; got {jobs!r}")
    clusters = parameters["n_clusters"]
    if not (_is_whole(clusters, 1) or (isinstance(clusters, str) and clusters in ("auto", "components"))):
        raise ValueError(f"`n_clusters` must be 'auto', 'components' or a whole number of at least 1; got {clusters!r}")
    if parameters["callback"] is not None and not callable(parameters["callback"]):
        raise TypeError(f"`callback` must be a function of one dictionary; got {parameters['callback']!r}")


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def fit_options(parameters: Mapping[str, Any], start: str | None = None) -> str:
    """The options of a fit, as JSON. What is None or "auto" is left out: then it is chosen from the data."""
    options: dict[str, Any] = {"method": {}} | {group: _given(parameters, names) for group, names in _GROUPS.items()}
    if options["run"].get("draws") == 0:
        del options["run"]["draws"]
    for parameter, groups in OPTIONS.items():
        given = _dictionary(parameter, parameters[parameter], groups)
        for key, value in given.items():
            if value is not None:
                options[groups[key]][key] = _value(key, value)
    for group in ("method", "engine"):
        options[group]["name"] = parameters[group]
    options["run"]["start"] = start
    return json.dumps(options, default=_plain)


def as_parameters(text: str) -> str:
    """A message of the library with the names that parameters have here."""
    for parameter, option in _NAMES.items():
        text = text.replace(f"`{option}`", f"`{parameter}`")
    return text


def data_options(**given: Any) -> str:
    """The options of the rows, as JSON."""
    options = {name: value for name, value in given.items() if value is not None and not (isinstance(value, str) and value == "auto")}
    for name in ("columns", "exclude"):
        if name in options:
            options[name] = [options[name]] if isinstance(options[name], str) else list(map(str, options[name]))
    return json.dumps(options, default=_plain)


def _dictionary(parameter: str, given: Any, known: Mapping[str, str]) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(f"`{parameter}` must be a dictionary, got {given!r}\nhint: its keys are {', '.join(known)}")
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"its keys are {', '.join(known)}"
            raise ValueError(f"`{parameter}` has no key {key!r}\nhint: {hint}")
    return given


def _given(parameters: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    def is_given(value: Any) -> bool:
        return value is not None and not (isinstance(value, str) and value == "auto")

    return {_NAMES.get(name, name): _value(name, parameters[name]) for name in names if is_given(parameters[name])}


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


def forget_of(forget: dict[str, float] | None) -> tuple[str, float] | None:
    """How `partial_fit` forgets, as the library takes it."""
    if forget is None:
        return None
    if not isinstance(forget, dict) or len(forget) != 1 or set(forget) - {"batches", "half_life"}:
        raise ValueError(f'forget must be None, {{"batches": B}} or {{"half_life": H}}, got {forget!r}')
    [(name, number)] = forget.items()
    is_whole = name == "half_life" or float(number).is_integer()
    if not is_whole or not number > 0 or number == float("inf"):
        what = "a whole number of at least 1" if name == "batches" else "a positive number"
        raise ValueError(f"forget[{name!r}] must be {what}, got {number!r}")
    return name, float(number)
