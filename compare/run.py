"""All contenders on all sets, each in a process of its own, one after another; then a table (CSV, Markdown) and a plot.

usage: run.py --folder FOLDER [--data DATA] [--limit SECONDS] [--threads N] [--sets NAME,…] [--contenders NAME;…] [--again NAME] [--image FILE]

Restartable: what FOLDER/results has is not run again, unless --again forgets it first; broken off then, it goes on without --again. Who does not end within --limit seconds of processor time (of any thread: other work on the machine then decides
nothing), or wants more memory than --memory, is tried once more with a tenth of the rows; the table says so. Seed 0, once.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
THREADS = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS", "LOKY_MAX_CPU_COUNT"]
FEWEST_ROWS = 1000
# seconds by the clock for every processor second: who sleeps for ever is ended too
PATIENCE = 10
# not what a program does to itself
OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main():
    args = arguments()
    results = args.folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    if args.again:
        forget(results, args)
    for name in args.sets:
        folder = args.folder / "sets" / name
        if not (folder / "set.json").exists():
            data = [str(args.data.resolve())] if args.data else []
            subprocess.run([sys.executable, str(HERE / "sets.py"), name, str(folder), *data], check=True)
        if not (folder / "set.json").exists():
            print(f"*** SKIPPED: {name}: not in {args.data or 'a data folder, for none was given (DATA=…)'}", flush=True)
            continue
        about = json.loads((folder / "set.json").read_text(encoding="utf-8"))
        for contender in entered(about, args):
            compete(contender, about, folder, results, args)
    subprocess.run([sys.executable, str(HERE / "table.py"), str(args.folder)], check=True)
    image = args.image or args.folder / "comparison.svg"
    subprocess.run([sys.executable, str(HERE / "plot.py"), str(args.folder / "comparison.csv"), str(image)], check=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where sets and results are kept")
    parser.add_argument("--data", type=Path, help="a folder with the real sets")
    parser.add_argument("--limit", type=float, default=600.0, help="processor seconds that a contender has for a set")
    parser.add_argument("--memory", type=float, default=8.0, help="GiB a contender has")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sets", type=lambda text: text.split(","), help="only these")
    parser.add_argument("--contenders", type=lambda text: text.split(";"), help="only these")
    parser.add_argument("--again", help="forgets the results of contenders whose names begin so, on these sets")
    parser.add_argument("--image", type=Path, help="the plot")
    args = parser.parse_args()
    known = subprocess.check_output([sys.executable, "-c", "import sets; print(*sets.ALL, *sets.MADE)"], cwd=HERE, text=True).split()
    if args.sets is None:
        args.sets = [name for name in dict.fromkeys(known) if name != "tiny"]
    if unknown := set(args.sets) - set(known):
        parser.error(f"--sets: there is no {', '.join(sorted(unknown))}; there are {', '.join(dict.fromkeys(known))}")
    return args


def forget(results, args):
    stored = [file for name in args.sets for file in results.glob(f"{name} -- *.json") if file.name.removeprefix(f"{name} -- ").startswith(args.again)]
    if not stored:
        sys.exit(f"--again {args.again}: {results} has no results of such a contender")
    for file in stored:
        file.unlink()


def entered(about, args):
    """Names and bounds of the contenders for a set, asked of another process: this one stays small, so that it does not count in theirs."""
    program = (
        "import json, sys; from contenders import CONTENDERS; about = json.loads(sys.argv[1])\n"
        "mine = [c for c in CONTENDERS if about['kind'] in c.kinds and c.suits(about)]\n"
        "print(json.dumps([[c.name, c.told, int(min(about['n_rows'], c.most_rows(about)))] for c in mine]))"
    )
    listed = json.loads(subprocess.check_output([sys.executable, "-c", program, json.dumps(about)], cwd=HERE))
    return [contender for contender in listed if args.contenders is None or contender[0] in args.contenders]


def compete(contender, about, folder, results, args):
    name, told, n_rows = contender
    stored = results / f"{about['name']} -- {name}.json"
    if stored.exists():
        return
    outcome = attempt(name, folder, n_rows, args)
    if outcome["status"] in ("time limit", "memory limit") and n_rows // 10 >= FEWEST_ROWS:
        first = outcome
        outcome = {**attempt(name, folder, n_rows // 10, args), "before": first}
    if outcome["status"] == "ended from outside":
        return  # nobody's result: the next run tries again
    record = {"set": about["name"], "contender": name, "told": told, "limit": args.limit, "threads": args.threads, **outcome}
    temporary = stored.with_suffix(".tmp")
    temporary.write_text(json.dumps(record, indent=2), encoding="utf-8")
    temporary.rename(stored)


def attempt(name, folder, n_rows, args):
    print(f"{time.strftime('%H:%M:%S')} {folder.name}: {name}, {n_rows} rows", end=" … ", flush=True)
    environment = dict(os.environ, **{variable: str(args.threads) for variable in THREADS}, NUMBA_CACHE_DIR=str(args.folder.resolve() / "numba"))
    most = int(args.memory * 2**30)
    with tempfile.TemporaryDirectory() as scratch:
        result, log = Path(scratch) / "result.json", Path(scratch) / "log"
        command = [sys.executable, str(HERE / "one.py"), name, str(folder), str(result), str(n_rows), str(args.threads), str(args.limit)]
        with open(log, "w", encoding="utf-8") as output:
            process = subprocess.Popen(
                command,
                env=environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most)),
            )
        is_late, code, usage = wait(process, PATIENCE * args.limit)
        said = log.read_text(encoding="utf-8", errors="replace")
        outcome = {"rows": n_rows, "peak_mib": round(usage.ru_maxrss / 1024)}
        if result.exists():
            outcome |= {"status": "done", **json.loads(result.read_text(encoding="utf-8"))}
        elif is_late:
            outcome |= {"status": "time limit"}
        elif "MemoryError" in said or "Unable to allocate" in said:
            outcome |= {"status": "memory limit"}
        elif -code in OUTSIDE:
            outcome |= {"status": "ended from outside"}
        else:
            outcome |= {"status": "failed", "code": code, "said": said[-2000:]}
    print(outcome["status"], *([f"{outcome['seconds']:.1f} s"] if "seconds" in outcome else []), flush=True)
    return outcome


def wait(process, limit):
    """Whether the process was ended for its time, its exit code (a signal's number is negative), and what it used."""
    deadline = time.monotonic() + limit
    is_late = False
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            # the system ends who has used up its processor time
            return is_late or code == -signal.SIGXCPU, code, usage
        if time.monotonic() > deadline and not is_late:
            os.killpg(process.pid, signal.SIGKILL)
            is_late = True
        time.sleep(0.05)


if __name__ == "__main__":
    main()
