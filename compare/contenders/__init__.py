"""Who takes part: one file for each package."""

from __future__ import annotations

from task import Contender

from . import dirigent_, hdbscan_, mixturs_, sklearn_, tomotopy_

CONTENDERS: list[Contender] = [
    *dirigent_.CONTENDERS,
    *sklearn_.CONTENDERS,
    *hdbscan_.CONTENDERS,
    *mixturs_.CONTENDERS,
    *tomotopy_.CONTENDERS,
]


def named(name: str) -> Contender:
    """The contender of that name."""
    return next(contender for contender in CONTENDERS if contender.name == name)
