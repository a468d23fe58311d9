"""The harness of `make compare`, on a tiny set and without further packages."""

import csv
import json
import signal
import subprocess
import sys
from math import log
from pathlib import Path

import numpy as np
import pytest

COMPARE = Path(__file__).parent.parent / "compare"


def run(folder, *arguments):
    words = [sys.executable, str(COMPARE / "run.py"), "--folder", str(folder), "--limit", "100", *arguments]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_a_comparison_is_measured_written_and_not_run_again(tmp_path):
    picture = tmp_path / "comparison.svg"
    wanted = ["--sets", "tiny,iris", "--contenders", "Dirigent;KMeans", "--image", str(picture)]
    said = run(tmp_path, *wanted)
    assert "SKIPPED: iris" in said  # no folder of data was given
    assert "tiny: Dirigent, 270 rows … done" in said

    with open(tmp_path / "comparison.csv", encoding="utf-8", newline="") as file:
        ours, theirs = csv.DictReader(file)
    assert (ours["contender"], theirs["contender"]) == ("Dirigent", "KMeans")
    for record in (ours, theirs):
        assert record["status"] == "done"
        assert 0.0 < float(record["nmi"]) <= 1.0
        assert float(record["processor_seconds"]) > 0.0
        assert int(record["peak_mib"]) > 10
    assert theirs["k"] == theirs["k_true"] == "4"
    assert ours["held_out_log_density"] and not theirs["held_out_log_density"]

    assert picture.read_text(encoding="utf-8").count("KMeans") > 0

    assert "tiny: Dirigent" not in run(tmp_path, *wanted)


def test_who_takes_too_long_is_ended_by_the_system(tmp_path):
    subprocess.run([sys.executable, str(COMPARE / "sets.py"), "tiny", str(tmp_path / "tiny")], check=True, timeout=100)
    # a contender that never ends, with no second to spare
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); import one\n"
    program += "def forever(task):\n    while True: pass\n"
    program += "one.named = lambda name: type('Slow', (), {'load': staticmethod(lambda: forever)})\none.main()"
    words = [sys.executable, "-c", program, str(COMPARE), "slow", str(tmp_path / "tiny"), str(tmp_path / "result"), "270", "1", "0"]
    assert subprocess.run(words, timeout=100).returncode == -signal.SIGXCPU
    assert not (tmp_path / "result").exists()


@pytest.mark.parametrize(
    ("truth", "labels", "vi"),
    [([0, 0, 1, 1], [5, 5, 3, 3], 0.0), ([0, 0, 1, 1], [0, 0, 0, 0], log(2)), ([0, 0, 1, 1], [0, 1, 0, 1], 2 * log(2))],
)
def test_variation_of_information(truth, labels, vi, monkeypatch):
    monkeypatch.syspath_prepend(str(COMPARE))
    from scores import scores

    found = scores(np.array(labels), np.array(truth))
    assert found["vi"] == pytest.approx(vi, abs=1e-12)
    assert json.loads(json.dumps(found)) == found
