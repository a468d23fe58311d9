"""Starting a job of MPI."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

#: Open MPI asks twice before it runs as root, and does not like more ranks than cores.
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def mpirun_words(n_ranks, *words):
    """The command line that runs Python with these words on so many ranks."""
    launcher = shutil.which("mpirun", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return [launcher, "-n", str(n_ranks), sys.executable, *map(str, words)]


def mpirun(n_ranks, *words, timeout=120, **options):
    return subprocess.run(mpirun_words(n_ranks, *words), env={**os.environ, **SETTINGS}, capture_output=True, text=True, timeout=timeout, **options)
