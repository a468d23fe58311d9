"""The engine mpi with toy hosts: what ranks do, together and alone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py", reason="no wheel of mpi4py for this Python")

HERE = Path(__file__).parent
#: Open MPI asks twice before it runs as root, and does not like more ranks than cores.
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def mpirun(n_ranks, *words, timeout=120):
    launcher = shutil.which("mpirun", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    command = [launcher, "-n", str(n_ranks), sys.executable, *map(str, words)]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=timeout)


def test_transport():
    result = mpirun(5, HERE / "transports.py")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("fit 2: ") == 5


def test_a_rank_that_dies_ends_the_job():
    result = mpirun(3, HERE / "transports.py", "die")
    assert result.returncode == 9


def test_wrong_usage_is_said_once_and_nobody_hangs():
    for words in (["--engine", "mpi", "--nonsense"], ["--engine=mpi", "nowhere.npy"]):
        result = mpirun(3, "-m", "dirigent", "fit", *words)
        assert result.returncode == 2
        assert result.stderr.count("nonsense") + result.stderr.count("nowhere.npy: ") == 1, result.stderr


def test_one_rank_is_too_few():
    result = mpirun(1, "-m", "dirigent", "fit", HERE / "data", "--engine", "mpi")
    assert result.returncode == 2 and "two ranks or more" in result.stderr
