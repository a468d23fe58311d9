"""From the estimator's parameters to the options of `dirigent fit`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Parameters that the command calls otherwise.
NAMES = {"n_workers": "workers", "n_jobs": "threads", "random_state": "seed", "column_families": "column_family"}
#: Parameters that are not options of the command.
OURS = {"verbose", "callback"}


def options_of(parameters: Mapping[str, Any]) -> list[str]:
    """The options, as they are typed. What is None or "auto" is left out: then it is chosen from the data."""
    options: list[str] = []
    for parameter, value in parameters.items():
        if parameter == "splits" and isinstance(value, bool):
            value = "on" if value else "off"
        if parameter in OURS or value is None or value is False or (isinstance(value, str) and value == "auto"):
            continue
        option = "--" + NAMES.get(parameter, parameter).replace("_", "-")
        if value is True:
            options.append(option)
        else:
            options.extend(f"{option}={text}" for text in _texts(parameter, value))
    return options


def _texts(parameter: str, value: Any) -> list[str]:
    if parameter in ("columns", "exclude"):
        return [",".join(map(str, [value] if isinstance(value, str) else value))]
    if isinstance(value, Mapping):
        separator = "@" if parameter in ("crash", "garbage") else "="
        return [f"{key}{separator}{item}" for key, item in value.items()]
    return [str(value)]
