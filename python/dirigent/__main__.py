"""The `dirigent` command: the same as the Rust binary, with the engines that live in Python."""

from __future__ import annotations

import os
import signal
import sys

from . import _core
from ._engine import ENGINES

#: Where launchers of MPI say which rank a process is.
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")


def main() -> int:
    # Python only takes note of Ctrl-C, and no line of Python runs until the command has ended
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    arguments = sys.argv[1:]
    if not _is_for_ranks(arguments):
        return _run(arguments)
    try:
        from . import mpi
    except (ImportError, RuntimeError):
        # one rank says what is missing
        return _run(arguments) if int(_launched_rank() or 0) == 0 else 2
    if mpi.serve():
        return 0
    try:
        return _run(arguments)
    finally:
        mpi.dismiss()


def _run(arguments: list[str]) -> int:
    # Ray prints what it has to say of its nodes; the output is the command's, which does not write through Python
    sys.stdout = sys.stderr
    return _core.run_cli(["dirigent", *arguments], ENGINES)


def _is_for_ranks(arguments: list[str]) -> bool:
    """Whether all ranks but one are to serve. A run that is resumed may be one of the engine mpi without saying so."""
    said = "--engine=mpi" in arguments or ("--engine", "mpi") in zip(arguments, arguments[1:], strict=False)
    resumed = any(argument == "--resume" or argument.startswith("--resume=") for argument in arguments)
    return said or (resumed and _launched_rank() is not None)


def _launched_rank() -> str | None:
    return next((os.environ[name] for name in _RANKS if name in os.environ), None)


if __name__ == "__main__":
    sys.exit(main())
