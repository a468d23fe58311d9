"""One contender on one set, in a process of its own: what it found and what that took, as JSON.

usage: one.py CONTENDER FOLDER RESULT ROWS THREADS LIMIT

The clock runs while rows become labels; imports, reading and scores are outside. After LIMIT processor seconds the system ends the process. True labels are read after it has stopped.
"""

import json
import math
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from contenders import named
from scores import scores
from task import Task, description, load


def main():
    name, folder, result, n_rows, threads, limit = sys.argv[1:]
    folder, n_rows = Path(folder), int(n_rows)
    about = description(folder)
    rows = load(folder, "train")
    # evenly: rows may be sorted
    chosen = np.arange(n_rows) * about["n_rows"] // n_rows
    if n_rows < about["n_rows"]:
        rows = rows[chosen]
    task = Task(about["kind"], rows, load(folder, "test"), about["n_clusters"], about["known"], int(threads))
    warnings.simplefilter("ignore")
    fit = named(name).load()

    start, processor = time.perf_counter(), processor_seconds()
    limits = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(processor + float(limit)), limits[1]))
    found = fit(task)
    resource.setrlimit(resource.RLIMIT_CPU, limits)
    took = {"seconds": time.perf_counter() - start, "processor_seconds": processor_seconds() - processor}

    truth = folder / "truth.npy"
    told = scores(found.labels, np.load(truth)[chosen] if truth.exists() else None)
    if found.log_density is not None:
        told["held_out_log_density"] = float(np.mean(found.log_density(task.held_out)))
    Path(result).write_text(json.dumps({**took, **told}), encoding="utf-8")


def processor_seconds():
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
