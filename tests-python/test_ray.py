"""The engine ray with toy hosts: what it does when actors and nodes go and come."""

import os
import secrets
import signal
import subprocess
import sys

import pytest
import toy_host
import transports
from ray_cluster import RayCluster, processes  # before ray itself
from toy_host import ToyHost, request
from transports import collect, within

ray = pytest.importorskip("ray", reason="no wheel of Ray for this Python")

from dirigent.ray import RayEngine  # noqa: E402

# nodes do not see the folder of the tests
ray.cloudpickle.register_pickle_by_value(toy_host)


@pytest.fixture(scope="module")
def cluster():
    cluster = RayCluster(n_nodes=3)
    yield cluster
    cluster.shutdown()


@pytest.fixture(scope="module", autouse=True)
def stranger(cluster):
    """Somebody with another token, who tries to get in while the other tests are made: it takes Ray a while to give up."""
    words = [sys.executable, "-c", f"import ray; ray.init(address={cluster.address!r})"]
    environment = {**os.environ, "RAY_AUTH_TOKEN": secrets.token_hex(16)}
    stranger = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    yield stranger
    stranger.kill()


@pytest.fixture
def engine(cluster):
    engine = RayEngine(ToyHost)
    yield engine
    engine.end(failed=False)


def start(engine, cluster, n_workers, rejoin_timeout=20.0):
    engine.start(n_workers, {"address": cluster.address, "rejoin_timeout": rejoin_timeout, "checkpoint_dir": None})


def pids_of(engine, workers):
    for worker in workers:
        engine.post(worker, request("pid"), None)
    return {worker: int(pid) for _, worker, pid in collect(engine, len(workers))}


def kinds(found):
    return [(kind, worker) for kind, worker, _ in found]


def test_transport_and_that_nothing_is_left_behind(engine, cluster):
    n_workers = 9
    start(engine, cluster, n_workers)
    pids = pids_of(engine, range(n_workers))
    # four processors are four actors; neighbours share one
    assert len(set(pids.values())) == 4
    assert [pids[worker] == pids[worker - 1] for worker in range(1, n_workers)].count(False) == 3
    for check in transports.CHECKS:
        check(engine, n_workers)
    engine.post(0, request("sleep", 600.0), None)
    engine.end(failed=True)
    engine.end(failed=True)
    assert within(5.0, lambda: not set(pids.values()) & set(processes()))
    assert not ray.is_initialized()


@pytest.mark.long
def test_what_is_lost_comes_back_on_another_actor_or_on_a_node_that_joins(engine, cluster):
    start(engine, cluster, 8, rejoin_timeout=120.0)
    pids = pids_of(engine, range(8))
    # an actor: all its workers are lost with it, also those that were idle, and no other
    engine.post(2, request("sleep", 600.0), None)
    engine.post(4, request("sleep", 1.0), None)
    os.kill(pids[2], signal.SIGKILL)
    found = collect(engine, 5)
    assert [of for of in kinds(found) if of[1] != 4] == [("lost", 2), ("lost", 3), ("back", 2), ("back", 3)], found
    assert ("answer", 4) in kinds(found)
    assert pids_of(engine, [3])[3] not in pids.values()
    # a node
    pids = pids_of(engine, range(8))
    for worker in range(8):
        engine.post(worker, request("sleep", 300.0), None)
    cluster.kill_node(cluster.nodes.pop())
    lost = collect(engine, 4)
    assert [kind for kind, _ in kinds(lost)] == ["lost"] * 4, lost
    assert collect(engine, 1, seconds=1.0) == []
    cluster.nodes.append(cluster.add_node())
    back = collect(engine, 4, seconds=60.0)
    assert sorted(kinds(back)) == sorted(("back", worker) for _, worker, _ in lost), (lost, back)
    again = pids_of(engine, [worker for _, worker, _ in lost])
    assert not set(again.values()) & set(pids.values())


@pytest.mark.long
def test_without_a_new_node_the_others_serve_what_is_lost_until_there_is_nobody(engine, cluster):
    start(engine, cluster, 4, rejoin_timeout=2.0)
    pids = pids_of(engine, range(4))
    for worker in range(4):
        engine.post(worker, request("sleep", 5.0), None)
    cluster.kill_node(cluster.nodes.pop())
    found = collect(engine, 6, seconds=60.0)
    back = [worker for kind, worker in kinds(found) if kind == "back"]
    assert len(back) == 2, found
    # each of the two actors that are left has one worker more
    assert len(set(pids_of(engine, back).values()) & set(pids.values())) == 2
    for worker in range(4):
        engine.post(worker, request("sleep", 300.0), None)
    cluster.kill_node(cluster.nodes.pop())
    with pytest.raises(RuntimeError, match="no actor left"):
        collect(engine, 100, seconds=60.0)


ALONE = """
import os, sys
import transports, toy_host, ray
from dirigent.ray import RayEngine
from ray_cluster import listening, processes
ray.cloudpickle.register_pickle_by_value(toy_host)
engine = RayEngine(toy_host.ToyHost)
engine.start(2, transports.SETTINGS)
transports.answers_come_in_the_order_of_requests(engine, 2)
places = listening(processes())
assert places and all(place.startswith("127.") for place in places), places
engine.end(failed=False)
assert transports.within(10.0, lambda: processes() == [os.getpid()]), processes()
"""


def test_a_cluster_of_its_own_listens_on_loopback_only_speaks_tls_and_ends_with_the_engine(tmp_path):
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate]
    subprocess.run(made, check=True, capture_output=True)
    tls = {"RAY_USE_TLS": "1", "RAY_TLS_SERVER_KEY": key, "RAY_TLS_SERVER_CERT": certificate, "RAY_TLS_CA_CERT": certificate}
    ours = {"RAY_AUTH_TOKEN": secrets.token_hex(16), "PYTHONPATH": os.path.dirname(__file__)}
    environment = {**os.environ, **{name: str(path) for name, path in tls.items()}, **ours}
    # it must not need what the tests' own cluster is told
    del environment["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"]
    result = subprocess.run([sys.executable, "-c", ALONE], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr


def test_whoever_has_another_token_is_not_let_in(stranger):
    output, _ = stranger.communicate(timeout=120)
    assert stranger.returncode != 0 and "AuthenticationError" in output, output


def test_an_address_of_ray_client_is_refused(engine):
    with pytest.raises(ValueError, match="Ray Client"):
        engine.start(2, {"address": "ray://head:10001", "rejoin_timeout": 1.0, "checkpoint_dir": None})
