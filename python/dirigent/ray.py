"""The engine `ray`: workers are served by Ray actors.

An actor holds a host and hands bytes to it. Ray neither restarts actors nor repeats calls: what is to be done again, and from where, is known to the
coordinator only. What is lost is reported at once, and a new actor is asked for; it starts as soon as there is room for it, also on a node that
joins later. If there is none for `rejoin_timeout` seconds, a living actor serves the lost workers in addition to its own.

>>> from dirigent import ray
>>> labels = ray.fit("/shared/part-*.npy", address="auto", checkpoint_dir="/shared/labels").labels_  # doctest: +SKIP
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import RayActorError, RayError

from . import __version__
from ._engine import Delivery, MakeHost, Settings, make_host

if TYPE_CHECKING:
    from ._estimator import DirichletProcessMixture

#: What all workers get is put into Ray's object store, once, if it is larger than this; Ray sends smaller things faster inside the call.
_STORED_FROM = 100_000
#: Seconds that the first actors have to come, at least.
_START = 60.0
#: Seconds before another attempt to replace an actor.
_PAUSE = 0.2
#: Seconds that actors have to go.
_PATIENCE = 5.0


class _Serving:
    """The actor: a host and where it is."""

    def __init__(self, make: MakeHost) -> None:
        address = ray.util.get_node_ip_address()
        self._place = f"{socket.gethostname()} ({address}), process {os.getpid()}"
        self._host = make(self._place)

    def handle(self, request: bytes, shared: bytes | None) -> bytes:
        return self._host.handle(request, shared)

    def place(self) -> tuple[str, str]:
        """Where this is, and of which version."""
        return self._place, __version__

    @ray.method(concurrency_group="aside")  # type: ignore[misc, untyped-decorator, unused-ignore]
    def interrupt(self) -> None:
        self._host.interrupt()


@dataclass(eq=False)
class _Actor:
    """An actor as the driver knows it."""

    handle: Any
    workers: set[int]
    #: Comes when the actor is ready; None once it is.
    greeting: Any
    deadline: float
    place: str = ""


@dataclass
class _Seat:
    """A worker as the driver knows it."""

    #: None while it is lost.
    actor: _Actor | None = None
    #: Answers that are to come, in the order of the requests.
    answers: deque[Any] = field(default_factory=deque)


class RayEngine:
    """Actors of a Ray cluster: that at an address, that of this process, or a new one on this machine, of loopback only."""

    def __init__(self, make: MakeHost = make_host) -> None:
        self._make = make
        self._cluster = _Cluster()
        self._rejoin_timeout = 0.0
        self._seats: list[_Seat] = []
        self._actors: list[_Actor] = []
        self._found: list[Delivery] = []
        self._shared: tuple[bytes, Any] | None = None

    def n_workers(self) -> int | None:
        return None

    def start(self, n_workers: int, settings: Settings) -> None:
        self._cluster.connect(settings["address"])
        self._rejoin_timeout = settings["rejoin_timeout"]
        self._seats = [_Seat() for _ in range(n_workers)]
        n_actors = max(1, min(n_workers, int(ray.cluster_resources().get("CPU", 1))))
        # neighbours share an actor: their rows lie side by side
        shares = [range(ix * n_workers // n_actors, (ix + 1) * n_workers // n_actors) for ix in range(n_actors)]
        deadline = max(self._deadline(), time.monotonic() + _START)
        self._actors = [self._ask_for_actor(set(share), deadline) for share in shares]
        while any(seat.actor is None for seat in self._seats):
            self._look(_PAUSE)
        # that they are there is no news to anybody
        self._found.clear()

    def post(self, worker: int, request: bytes, shared: bytes | None) -> None:
        seat = self._seats[worker]
        # a worker that is lost hears nothing; it is made again when it is back
        if seat.actor is not None:
            seat.answers.append(seat.actor.handle.handle.remote(request, self._stored(shared)))

    def receive(self, seconds: float) -> list[Delivery]:
        if not self._found:
            self._look(seconds)
        found, self._found = self._found, []
        return found

    def interrupt(self) -> None:
        for actor in self._actors:
            if actor.greeting is None:
                actor.handle.interrupt.remote()

    def end(self, failed: bool) -> None:
        actors, self._actors = self._actors, []
        self._seats, self._found, self._shared = [], [], None
        for actor in actors:
            _kill(actor)
        deadline = time.monotonic() + _PATIENCE
        for actor in actors:
            # a lost actor answers with an error
            with contextlib.suppress(RayError):
                ray.get(actor.handle.place.remote(), timeout=max(0.1, deadline - time.monotonic()))
        self._cluster.leave()

    def _stored(self, shared: bytes | None) -> Any:
        if shared is None or len(shared) < _STORED_FROM:
            return shared
        if self._shared is None or self._shared[0] is not shared:
            self._shared = shared, ray.put(shared)
        return self._shared[1]

    # who is there

    def _deadline(self) -> float:
        return time.monotonic() + self._rejoin_timeout

    def _ask_for_actor(self, workers: set[int], deadline: float) -> _Actor:
        handle = _serving().remote(self._make)
        return _Actor(handle, workers, handle.place.remote(), deadline)

    def _look(self, seconds: float) -> None:
        """Takes in what has come, waiting for something at most so long."""
        takers: dict[Any, Callable[[Any], None]] = {}
        for worker, seat in enumerate(self._seats):
            if seat.answers:
                takers[seat.answers[0]] = partial(self._take_answer, worker)
        deadlines = []
        for actor in self._actors:
            if actor.greeting is not None:
                takers[actor.greeting] = partial(self._take_greeting, actor)
                deadlines.append(actor.deadline)
        until = min([time.monotonic() + seconds, *deadlines])
        if takers:
            refs = list(takers)
            ray.wait(refs, num_returns=1, timeout=max(0.0, until - time.monotonic()))
            for ref in ray.wait(refs, num_returns=len(refs), timeout=0)[0]:
                takers[ref](ref)
        else:
            time.sleep(max(0.0, until - time.monotonic()))
        late = [actor for actor in self._actors if actor.greeting is not None and actor.deadline <= time.monotonic()]
        if late:
            self._give_up(late, "the cluster has had no place for it")

    def _take_answer(self, worker: int, ref: Any) -> None:
        seat = self._seats[worker]
        # what was asked of an actor that has just been found lost
        if not seat.answers or seat.answers[0] is not ref:
            return
        try:
            answer = ray.get(ref)
        except RayError as error:
            if seat.actor is not None:
                self._lose(seat.actor, _why(error))
            return
        seat.answers.popleft()
        self._found.append(("answer", worker, answer))

    def _take_greeting(self, actor: _Actor, ref: Any) -> None:
        try:
            actor.place, version = ray.get(ref)
        except RayError as error:
            if getattr(error, "actor_init_failed", False):
                raise RuntimeError(f"an actor cannot be made: {_why(error)}") from error
            self._try_again(actor, _why(error))
            return
        if version != __version__:
            raise RuntimeError(f"dirigent is {__version__} here and {version} at {actor.place}: install the same on all nodes")
        actor.greeting = None
        self._seat(actor, actor.workers)

    def _seat(self, actor: _Actor, workers: set[int]) -> None:
        for worker in sorted(workers):
            self._seats[worker].actor = actor
            self._found.append(("back", worker, actor.place.encode()))

    def _lose(self, actor: _Actor, why: str) -> None:
        """An actor is gone, or cannot be reached: then it is to go."""
        self._actors.remove(actor)
        _kill(actor)
        for worker in sorted(actor.workers):
            self._seats[worker] = _Seat()
            self._found.append(("lost", worker, why.encode()))
        self._actors.append(self._ask_for_actor(actor.workers, self._deadline()))

    def _try_again(self, actor: _Actor, why: str) -> None:
        """A requested actor has died before its first answer."""
        if time.monotonic() >= actor.deadline:
            self._give_up([actor], why)
            return
        # a node that is gone may be taken for a living one for a while
        time.sleep(_PAUSE)
        self._actors.remove(actor)
        self._actors.append(self._ask_for_actor(actor.workers, actor.deadline))

    def _give_up(self, late: list[_Actor], why: str) -> None:
        """Actors that were asked for do not come: the least busy of those that are there take their workers."""
        for actor in late:
            self._actors.remove(actor)
            _kill(actor)
        hosts = self._living() or self._actors
        if not hosts:
            raise RuntimeError(f"there is no actor left, and no new one: {why}")
        for worker in sorted(set().union(*(actor.workers for actor in late))):
            host = min(hosts, key=lambda other: len(other.workers))
            host.workers.add(worker)
            if host.greeting is None:
                self._seat(host, {worker})

    def _living(self) -> list[_Actor]:
        return [actor for actor in self._actors if actor.greeting is None]


class _Cluster:
    """The connection to a cluster, and the cluster itself where it is ours.

    Ray's processes end with the thread that has started them, and Ray takes SIGTERM over in the main thread. So the connection has a thread of its own.
    """

    def __init__(self) -> None:
        self._leaving: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def connect(self, address: str | None) -> None:
        if ray.is_initialized():
            if address is not None:
                raise ValueError("this process is connected to a Ray cluster already: leave the address out, or call ray.shutdown() first")
            return
        if address is not None and address.startswith("ray://"):
            raise ValueError(f"{address}: Ray Client is not supported; run this on a node of the cluster, or with `ray job submit`")
        connected: Future[None] = Future()
        leaving = threading.Event()

        def stay() -> None:
            try:
                _init(address)
            except BaseException as error:
                connected.set_exception(error)
                return
            connected.set_result(None)
            leaving.wait()
            ray.shutdown()

        self._leaving = leaving
        self._thread = threading.Thread(target=stay, name="ray", daemon=True)
        self._thread.start()
        connected.result()

    def leave(self) -> None:
        if self._leaving is not None and self._thread is not None:
            self._leaving.set()
            self._thread.join()
        self._leaving = self._thread = None


def _init(address: str | None) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    address = address or os.environ.get("RAY_ADDRESS") or None
    if address is not None:
        ray.init(address=address, **quiet)
        return
    from ray._private import ray_constants

    # actors yield to whatever else is running by default: a fit should be as fast as with threads
    os.environ.setdefault("RAY_worker_niceness", "0")
    # Ray's own switch for machines that are to listen on loopback only
    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        ray.init(address="local", include_dashboard=False, **quiet)
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


def _serving() -> Any:
    options = {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
    return ray.remote(concurrency_groups={"aside": 1})(_Serving).options(**options)


def _kill(actor: _Actor) -> None:
    with contextlib.suppress(RayError):
        ray.kill(actor.handle)


def _why(error: RayError) -> str:
    """The first lines of what Ray says, in one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kind = "" if isinstance(error, RayActorError) else f"{type(error).__name__}: "
    return kind + " ".join(lines)[:600]


def fit(X: Any, *, address: str | None = None, folder: str | os.PathLike[str] | None = None, **parameters: Any) -> DirichletProcessMixture:
    """A fitted `DirichletProcessMixture(engine="ray", engine_options={"address": address}, **parameters)`.

    X is whatever the estimator takes, or a Ray Dataset. Names of files must mean the same files on all nodes; arrays travel to the actors with the first
    request. A Dataset is written once, by Ray, as Parquet into `folder`, a new or empty one that all nodes see, and each actor reads its own rows of it;
    `labels_` are in the order of these files.
    """
    from ._estimator import DirichletProcessMixture

    options = {"address": address} | (parameters.pop("engine_options", None) or {})
    model = DirichletProcessMixture(engine="ray", engine_options=options, **parameters)
    if not _is_dataset(X):
        if folder is not None:
            raise ValueError("folder is for a Ray Dataset")
        return model.fit(X)
    if folder is None:
        raise ValueError("a Ray Dataset needs a folder that all nodes see, to be written into")
    return model.fit(_written(X, Path(folder).absolute()))


def _is_dataset(X: Any) -> bool:
    # a caller that has one has imported this
    data = sys.modules.get("ray.data")
    return data is not None and isinstance(X, data.Dataset)


def _written(dataset: Any, folder: Path) -> list[Path]:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder}: there is something already\nhint: name a folder that is new or empty")
    dataset.write_parquet(os.fspath(folder))
    return sorted(folder.glob("*.parquet"))
