"""The engine `mpi`: rank 0 coordinates, every other rank serves one worker.

    mpirun -n 9 dirigent fit data.npy --engine mpi

In a script of one's own, every rank but the first says `serve`, before the fit:

    from dirigent import DirichletProcessMixture, mpi

    if not mpi.serve():
        DirichletProcessMixture(engine="mpi").fit("data.npy")

MPI cannot continue without a rank: when one dies, the launcher ends all of them, and `--resume` continues, with the same or another number of ranks.
"""

from __future__ import annotations

import atexit
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from mpi4py import MPI

from . import __version__
from ._engine import Delivery, Host, MakeHost, Settings, make_host

# what a message is: from rank 0 (a request's shared part follows it), and to rank 0
_FRESH, _REQUEST, _SHARED, _INTERRUPT, _END = range(1, 6)
_READY, _ANSWER = range(6, 8)
#: Before a request: the length of the shared part, -1 if there is none.
_HEADER = struct.Struct("<q")
#: Seconds between two looks for an interruption while a host computes.
_LOOK = 0.05


class MpiEngine:
    """The other ranks of this job, from the side of rank 0."""

    def __init__(self) -> None:
        self._world = MPI.COMM_WORLD
        if self._world.size < 2:
            raise ValueError("the engine mpi needs two ranks or more\nhint: mpirun -n 9 dirigent fit ... for eight workers")
        if self._world.rank != 0:
            raise ValueError(f"rank {self._world.rank} cannot coordinate\nhint: dirigent.mpi.serve() is what it does")
        self._sending: list[tuple[MPI.Request, bytes]] = []

    def n_workers(self) -> int | None:
        return self._world.size - 1

    def start(self, n_workers: int, settings: Settings) -> None:
        if settings["address"] is not None:
            raise ValueError("the engine mpi has no address: the launcher (mpirun, srun) knows where the ranks are")
        _dismiss_at_exit()
        for rank in range(1, n_workers + 1):
            self._send(rank, _FRESH, b"")
        waiting = set(range(1, n_workers + 1))
        while waiting:
            rank, tag, contents = self._await_any(MPI.ANY_TAG, None)
            # an answer is one to a fit that was broken off
            if tag == _READY:
                waiting.remove(rank)
                version, place = contents.decode().split("\n")
                if version != __version__:
                    raise RuntimeError(f"dirigent is {__version__} here and {version} at {place}: install the same everywhere")

    def post(self, worker: int, request: bytes, shared: bytes | None) -> None:
        self._send(worker + 1, _REQUEST, _HEADER.pack(-1 if shared is None else len(shared)) + request)
        if shared is not None:
            self._send(worker + 1, _SHARED, shared)

    def receive(self, seconds: float) -> list[Delivery]:
        found: list[Delivery] = []
        message = self._await_any(_ANSWER, seconds)
        while message is not None:
            found.append(("answer", message[0] - 1, message[2]))
            message = self._await_any(_ANSWER, 0.0)
        return found

    def interrupt(self) -> None:
        for rank in range(1, self._world.size):
            self._send(rank, _INTERRUPT, b"")

    def end(self, failed: bool) -> None:
        # the ranks stay for another fit, without what they had for this one; `dismiss` lets them go
        if failed:
            self.interrupt()

    def _send(self, rank: int, tag: int, contents: bytes) -> None:
        self._sending.append((self._world.Isend([contents, MPI.BYTE], rank, tag), contents))

    def _await_any(self, tag: int, seconds: float | None) -> Any:
        """The next message with that tag as (rank, tag, contents), or None if there is none for so long."""
        status, patience = MPI.Status(), _Patience(seconds)
        while not self._world.Iprobe(MPI.ANY_SOURCE, tag, status):
            self._sending = [(sending, contents) for sending, contents in self._sending if not sending.Test()]
            if not patience.sleep():
                return None
        return status.source, status.tag, _receive(status)


def serve(make: MakeHost = make_host) -> bool:
    """On a rank other than 0: serves fits until rank 0 has ended, then returns True. On rank 0: False, at once."""
    if MPI.COMM_WORLD.rank == 0:
        _dismiss_at_exit()
        return False
    if threading.current_thread() is threading.main_thread():
        # both are for rank 0 to answer: it may want the labels yet
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        _Server(make).run()
    except BaseException:
        # rank 0 would wait for ever
        traceback.print_exc()
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)
    return True


def dismiss() -> None:
    """On rank 0: there will be no more fits, and the other ranks may go."""
    global _is_dismissed
    if not _is_dismissed and MPI.COMM_WORLD.rank == 0:
        _is_dismissed = True
        for rank in range(1, MPI.COMM_WORLD.size):
            _send_patiently(rank, _END, b"")


_is_dismissed = False


def _dismiss_at_exit() -> None:
    # registered after mpi4py's own, so called before it
    atexit.unregister(dismiss)
    atexit.register(dismiss)


class _Server:
    """A rank that serves. Only its main thread talks to MPI; the host computes in another one, so that it can be interrupted."""

    def __init__(self, make: MakeHost) -> None:
        self._make = make
        self._place = f"rank {MPI.COMM_WORLD.rank} on {socket.gethostname()}"
        self._host: Host | None = None
        self._thread = ThreadPoolExecutor(max_workers=1)

    def run(self) -> None:
        while True:
            tag, contents = _await_of_rank_0(MPI.ANY_TAG)
            if tag == _END:
                return
            if tag == _FRESH:
                self._host = self._make(self._place)
                _send_patiently(0, _READY, f"{__version__}\n{self._place}".encode())
            elif tag == _REQUEST:
                (n_shared,) = _HEADER.unpack_from(contents)
                shared = None if n_shared < 0 else _await_of_rank_0(_SHARED)[1]
                self._serve(contents[_HEADER.size :], shared)
            elif tag == _INTERRUPT and self._host is not None:
                self._host.interrupt()

    def _serve(self, request: bytes, shared: bytes | None) -> None:
        if self._host is None:
            raise RuntimeError(f"{self._place} was asked something before the fit began")
        answer = self._thread.submit(self._host.handle, request, shared)
        while not wait([answer], timeout=_LOOK).done:
            if MPI.COMM_WORLD.Iprobe(0, _INTERRUPT):
                _await_of_rank_0(_INTERRUPT)
                self._host.interrupt()
            if MPI.COMM_WORLD.Iprobe(0, _FRESH) or MPI.COMM_WORLD.Iprobe(0, _END):
                # the answer is no longer needed
                self._host.interrupt()
        _send_patiently(0, _ANSWER, answer.result())


class _Patience:
    """Waits that grow, so that ranks that outnumber the cores let the others compute: MPI itself would spin."""

    def __init__(self, seconds: float | None) -> None:
        self._until = None if seconds is None else time.monotonic() + seconds
        self._pause = 2e-5

    def sleep(self) -> bool:
        """False if the time is over."""
        if self._until is not None and time.monotonic() >= self._until:
            return False
        time.sleep(self._pause)
        self._pause = min(1.3 * self._pause, 1e-3)
        return True


def _await_of_rank_0(tag: int) -> tuple[int, bytes]:
    status, patience = MPI.Status(), _Patience(None)
    while not MPI.COMM_WORLD.Iprobe(0, tag, status):
        patience.sleep()
    return status.tag, _receive(status)


def _receive(status: MPI.Status) -> bytes:
    contents = bytearray(status.Get_count(MPI.BYTE))
    MPI.COMM_WORLD.Recv([contents, MPI.BYTE], status.source, status.tag)
    return bytes(contents)


def _send_patiently(rank: int, tag: int, contents: bytes) -> None:
    sending, patience = MPI.COMM_WORLD.Isend([contents, MPI.BYTE], rank, tag), _Patience(None)
    while not sending.Test():
        patience.sleep()
