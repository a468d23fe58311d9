"""What every engine must do alike, shown with the command: threads, Ray on three nodes of loopback, MPI with five ranks."""

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ranks import SETTINGS, mpirun_words
from ray_cluster import RayCluster, processes  # before ray itself
from transports import within

N_WORKERS = 4


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("ray", reason="no wheel of Ray for this Python")
    cluster = RayCluster(n_nodes=3)
    yield cluster
    cluster.shutdown()


@pytest.fixture(params=["threads", "ray", "mpi"])
def engine(request):
    """Its name, and the words that run the command `dirigent` on it; those after them come with every fit."""
    dirigent = ["-m", "dirigent"]
    if request.param == "threads":
        return "threads", [sys.executable, *dirigent], ["--workers", str(N_WORKERS)]
    if request.param == "ray":
        cluster = request.getfixturevalue("cluster")
        return "ray", [sys.executable, *dirigent], ["--workers", str(N_WORKERS), "--engine-option", f"address={cluster.address}"]
    pytest.importorskip("mpi4py", reason="no wheel of mpi4py for this Python")
    return "mpi", mpirun_words(N_WORKERS + 1, *dirigent), []


def run(words, *more, timeout=300):
    words = [*words, *map(str, more)]
    return subprocess.run(words, env={**os.environ, **SETTINGS}, capture_output=True, text=True, timeout=timeout)


def fit(engine, data, out, *options):
    name, words, more = engine
    return run(words, "fit", data, "--engine", name, *more, "--out", out, "--no-report", *options)


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory):
    """14,000 rows of the paper's synthetic set, in two files whose border is nobody's."""
    folder = tmp_path_factory.mktemp("synthetic")
    made = run([sys.executable, "-m", "dirigent"], "synth", "synthetic", "--out", folder / "made", "--seed", 1)
    assert made.returncode == 0, made.stderr
    rows = np.load(folder / "made" / "data.npy")[::10]
    parts = folder / "parts"
    parts.mkdir()
    np.save(parts / "0.npy", rows[:5000])
    np.save(parts / "1.npy", rows[5000:])
    return parts


def files(folder):
    return {name: (folder / name).read_bytes() for name in ("labels.npy", "certainty.npy", "components.npz", "tree.json", "draws.npy") if (folder / name).exists()}


def trace(folder):
    """The trace without what clocks say."""
    with open(folder / "trace.csv", newline="") as file:
        return [{name: cell for name, cell in row.items() if "seconds" not in name} for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def by_threads(synthetic, tmp_path_factory):
    """What threads give with some options; fitted once."""
    known = {}

    def look_up(options):
        if options not in known:
            out = tmp_path_factory.mktemp("threads") / "run"
            words = [sys.executable, "-m", "dirigent"], "fit", *sorted(synthetic.iterdir()), "--workers", N_WORKERS, "--out", out, "--no-report"
            done = run(*words, *options)
            assert done.returncode == 0, done.stderr
            known[options] = out
        return known[options]

    return look_up


@pytest.mark.parametrize("options", ["--cycles 12 --seed 3", "--method slicemr --cycles 6 --standardize --draws 3"], ids=["dirigent", "slicemr"])
def test_the_same_labels_and_bytes_as_threads(engine, synthetic, by_threads, tmp_path, options):
    options = tuple(options.split())
    expected = by_threads(options)
    name, words, more = engine
    done = run(words, "fit", *sorted(synthetic.iterdir()), "--engine", name, *more, "--out", tmp_path / "run", "--no-report", *options)
    assert done.returncode == 0, done.stderr
    assert files(tmp_path / "run") == files(expected)
    assert trace(tmp_path / "run") == trace(expected)
    record, other = (json.loads((folder / "run.json").read_text()) for folder in (tmp_path / "run", expected))
    assert record["summary"]["log_joint"] == other["summary"]["log_joint"]


def test_no_process_is_left(engine, synthetic, tmp_path):
    before = set(processes())
    done = fit(engine, synthetic / "0.npy", tmp_path / "run", "--cycles", "2")
    assert done.returncode == 0, done.stderr

    def ours():
        commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in set(processes()) - before if Path(f"/proc/{pid}/cmdline").exists()}
        # Ray keeps processes for whoever comes next
        return [command for command in commands.values() if b"ray::IDLE" not in command and b"default_worker" not in command]

    assert within(10.0, lambda: not ours()), ours()


@pytest.mark.parametrize("name", ["ray", "mpi"])
def test_a_file_that_hosts_cannot_read_stops_the_fit_with_place_and_file(name, synthetic, tmp_path, request):
    # a name that means another file in a process with another working folder
    np.save(tmp_path / "rows.npy", np.load(synthetic / "0.npy"))
    words = ["-m", "dirigent", "fit", "/proc/self/cwd/rows.npy", "--engine", name, "--out", str(tmp_path / "run"), "--cycles", "2"]
    if name == "ray":
        cluster = request.getfixturevalue("cluster")
        words = [sys.executable, *words, "--workers", str(N_WORKERS), "--engine-option", f"address={cluster.address}"]
    else:
        pytest.importorskip("mpi4py", reason="no wheel of mpi4py for this Python")
        launcher, _, _, *command = mpirun_words(1, *words)
        words = [launcher, "-n", "1", "--wdir", tmp_path, *command, ":", "-n", str(N_WORKERS), "--wdir", synthetic, *command]
    done = subprocess.run(words, cwd=tmp_path, env={**os.environ, **SETTINGS}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    assert "/proc/self/cwd/rows.npy" in done.stderr
    assert ("rank " if name == "mpi" else "process ") in done.stderr, done.stderr


def n_cycles(out):
    return len(trace(out)) if (out / "trace.csv").exists() else 0


def actors():
    """The processes of our actors."""
    names = {pid: Path(f"/proc/{pid}/cmdline") for pid in processes()}
    return [pid for pid, path in names.items() if path.exists() and b"ray::_Serving" in path.read_bytes()]


@pytest.mark.long
def test_an_asynchronous_fit_goes_on_without_an_actor_and_without_a_node(cluster, synthetic, tmp_path):
    out = tmp_path / "run"
    words = [sys.executable, "-m", "dirigent", "fit", *sorted(synthetic.iterdir()), "--engine", "ray", "--engine-option", f"address={cluster.address}"]
    words += ["--method", "async", "--workers", str(N_WORKERS), "--engine-option", f"checkpoint_dir={tmp_path / 'labels'}", "--out", out, "--no-report"]
    words += ["--cycles", "1000000", "--time-limit", "40"]
    fit = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert within(60.0, lambda: n_cycles(out) > 5)
    os.kill(actors()[0], signal.SIGKILL)
    before = n_cycles(out)
    assert within(30.0, lambda: n_cycles(out) > before + 20 and len(actors()) == N_WORKERS), n_cycles(out)
    cluster.kill_node(cluster.nodes.pop())
    before = n_cycles(out)
    cluster.nodes.append(cluster.add_node())
    _, told = fit.communicate(timeout=200)
    assert fit.returncode == 0, told
    assert n_cycles(out) > before + 20
    # on a busy machine the second replacement may come too late to be seen; no row was lost or counted twice
    with open(out / "workers.csv", newline="") as file:
        assert sum(int(row["restarts"]) for row in csv.DictReader(file)) >= 1
    rows = sum(len(np.load(path)) for path in synthetic.iterdir())
    assert len(np.load(out / "labels.npy")) == rows
    with np.load(out / "components.npz") as components:
        assert components["counts"].sum() == rows


@pytest.mark.long
def test_a_driver_that_was_killed_is_resumed(cluster, synthetic, by_threads, tmp_path):
    options = ("--cycles", "40", "--seed", "5")
    out = tmp_path / "run"
    words = [sys.executable, "-m", "dirigent", "fit", *sorted(synthetic.iterdir()), "--engine", "ray", "--engine-option", f"address={cluster.address}"]
    words += ["--workers", str(N_WORKERS), "--out", out, "--no-report", "--checkpoint-every", "0", *options]
    fit = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    assert within(60.0, lambda: n_cycles(out) > 3)
    fit.kill()
    fit.wait()
    assert n_cycles(out) < 40, "it was too fast to be killed"
    resumed = run([sys.executable, "-m", "dirigent"], "fit", "--resume", out)
    assert resumed.returncode == 0, resumed.stderr
    assert files(out) == files(by_threads(options))


#: Rows that were never in a file, by Ray.
IN_MEMORY = """
import sys
import numpy as np
import ray, ray.data
import dirigent.ray
from dirigent import DirichletProcessMixture

rows = np.load(sys.argv[1])
options = {"n_workers": 2, "random_state": 1, "method_options": {"cycles": 6}}
ray.init(address="local", num_cpus=3, include_dashboard=False, log_to_driver=False)
expected = DirichletProcessMixture(**options).fit(rows).labels_
assert (dirigent.ray.fit(rows, **options).labels_ == expected).all()
dataset = dirigent.ray.fit(ray.data.from_numpy(rows), folder=sys.argv[2], **options)
assert (dataset.labels_ == expected).all()
"""


def test_ray_takes_arrays_and_datasets(synthetic, tmp_path):
    pytest.importorskip("ray", reason="no wheel of Ray for this Python")
    pytest.importorskip("pyarrow")
    words = [sys.executable, "-c", IN_MEMORY, str(synthetic / "0.npy"), str(tmp_path / "rows")]
    ended = subprocess.run(words, env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
