#!/usr/bin/env python3
"""A long fit on threads, its memory watched: `scripts/soak.py [MINUTES] [--threads N]`.

Rows are made, then fitted by the asynchronous method with more cycles than the time allows; `--time-limit` ends it. The resident size is sampled every few seconds into
`memory.csv`; what is printed is the slope of a line through the second half of it. A process that leaks shows a slope; one that does not is flat to within what the
allocator gives back late.
"""

import argparse
import pathlib
import subprocess
import sys
import time

WARM_UP = 0.5  # of the time: memory rises while the first components are found
MOST_GROWTH = 0.02  # of the resident size, over what is left: more is a leak


def resident_bytes(pid: int) -> "int | None":
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def slope(points: "list[tuple[float, int]]") -> float:
    """Bytes a second, by least squares."""
    n = len(points)
    mean_time = sum(at for at, _ in points) / n
    mean_size = sum(size for _, size in points) / n
    spread = sum((at - mean_time) ** 2 for at, _ in points)
    return sum((at - mean_time) * (size - mean_size) for at, size in points) / spread


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("minutes", nargs="?", type=float, default=20.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--command", default="target/release/dirigent")
    parser.add_argument("--folder", default="runs/soak", help="for rows, the run and memory.csv")
    options = parser.parse_args()
    folder = pathlib.Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    made = [options.command, "synth", "synthetic", "--rows", "60000", "--clusters", "200", "--out", str(folder / "rows"), "--force"]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
    seconds = options.minutes * 60
    command = [options.command, "fit", str(folder / "rows" / "data.npy"), "--method", "async", "--prior", "sigma=1,sigma0=10", "--workers", "40", "--threads", str(options.threads)]
    command += ["--cycles", "1000000", "--time-limit", str(seconds), "--out", str(folder / "run"), "--force"]
    began = time.monotonic()
    fit = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    points = []
    with open(folder / "memory.csv", "w") as file:
        file.write("seconds,resident_bytes\n")
        while fit.poll() is None:
            size = resident_bytes(fit.pid)
            if size:
                points.append((time.monotonic() - began, size))
                file.write(f"{points[-1][0]:.1f},{size}\n")
                file.flush()
            time.sleep(3)
    if fit.returncode != 0:
        print(f"the fit ended with {fit.returncode}", file=sys.stderr)
        return 1
    late = [point for point in points if point[0] >= WARM_UP * seconds and point[0] < seconds]
    if len(late) < 10:
        print("too few samples: let it run longer", file=sys.stderr)
        return 1
    growth = slope(late) * (late[-1][0] - late[0][0])
    size = sum(size for _, size in late) / len(late)
    print(f"{len(points)} samples in {folder / 'memory.csv'}; the second half: {size / 1e6:.1f} MB, {slope(late):+.0f} bytes a second")
    if growth > MOST_GROWTH * size:
        print(f"memory grew by {growth / 1e6:.1f} MB in {late[-1][0] - late[0][0]:.0f} s", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
