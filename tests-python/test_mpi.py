"""The engine mpi with toy hosts: what ranks do, together and alone."""

from pathlib import Path

import pytest
from ranks import mpirun

pytest.importorskip("mpi4py", reason="no wheel of mpi4py for this Python")

HERE = Path(__file__).parent


def test_transport():
    result = mpirun(5, HERE / "transports.py")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("fit 2: ") == 5


def test_a_rank_that_dies_ends_the_job():
    result = mpirun(3, HERE / "transports.py", "die")
    assert result.returncode == 9


@pytest.mark.parametrize("words", [["nowhere.npy", "--engine", "mpi", "--nonsense"], ["nowhere.npy", "--engine=mpi"]])
def test_wrong_usage_is_said_once_and_nobody_hangs(words):
    result = mpirun(3, "-m", "dirigent", "fit", *words)
    assert result.returncode == 2
    assert result.stderr.count("error: ") == 1, result.stderr


def test_the_number_of_workers_is_that_of_the_other_ranks(tmp_path):
    result = mpirun(1, "-m", "dirigent", "fit", "nowhere.npy", "--engine", "mpi")
    assert result.returncode == 2 and "two ranks or more" in result.stderr
    result = mpirun(3, "-m", "dirigent", "fit", "nowhere.npy", "--engine", "mpi", "--workers", "4")
    assert result.returncode == 2 and "--workers 4" in result.stderr, result.stderr
