"""mixturs, a Dirichlet-process mixture in Rust (splits of sub-clusters, full covariances), by the small program in `compare/mixturs`."""

import os
import signal
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from task import Contender, Found

PROGRAM = "COMPARE_MIXTURS"


def load():
    program = os.environ[PROGRAM]

    def fit(task):
        with tempfile.TemporaryDirectory() as folder:
            for name, rows in (("train", task.rows), ("test", task.held_out)):
                np.ascontiguousarray(rows, dtype="<f8").tofile(Path(folder) / name)
            ended = subprocess.run([program, folder, str(task.rows.shape[1]), str(task.threads), str(task.seed)])
            if ended.returncode == -signal.SIGXCPU:
                # its limit is this process's
                os.kill(os.getpid(), signal.SIGXCPU)
            ended.check_returncode()
            labels = np.fromfile(Path(folder) / "labels", dtype="<u8").astype(np.int64)
            log_density = np.fromfile(Path(folder) / "log_density", dtype="<f8")
        return Found(labels, lambda rows: log_density)

    return fit


CONTENDERS = [Contender("mixturs", "nothing", ("dense",), load, suits=lambda about: PROGRAM in os.environ)]
