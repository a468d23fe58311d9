#!/usr/bin/env python3
"""Three machines in one: network namespaces joined by links of 1 Gbit/s, and the engine mpi across them. Prints Markdown.

usage: network.py DATA.npy [--dirigent PATH] [--folder DIR] [--cycles 12] [-- OPTIONS OF FIT]

Compares what the run counted with what the coordinator's interface counted, and seconds a cycle with those that the simulated engine projects.

Needs root, `ip`, `tc`, and mpirun (Open MPI 5) beside the given dirigent, which is that of the Python package.
"""

import argparse
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys

NAMES = ["dgt0", "dgt1", "dgt2"]
BRIDGE = "dgtbr"
RATE_BITS = 1e9


def sh(*words, check=True):
    return subprocess.run([str(word) for word in words], check=check, capture_output=True, text=True).stdout


def address(ix):
    return f"10.77.0.{ix + 1}"


def set_up():
    sh("ip", "link", "add", BRIDGE, "type", "bridge")
    sh("ip", "link", "set", BRIDGE, "up")
    for ix, name in enumerate(NAMES):
        sh("ip", "netns", "add", name)
        sh("ip", "link", "add", f"{name}h", "type", "veth", "peer", "name", "eth0", "netns", name)
        sh("ip", "link", "set", f"{name}h", "master", BRIDGE, "up")
        inside = ["ip", "netns", "exec", name]
        sh(*inside, "ip", "address", "add", f"{address(ix)}/24", "dev", "eth0")
        sh(*inside, "ip", "link", "set", "eth0", "up")
        sh(*inside, "ip", "link", "set", "lo", "up")
        # both directions: into the bridge and out of it
        bucket = ["tbf", "rate", f"{RATE_BITS / 1e9:g}gbit", "burst", "256kb", "latency", "50ms"]
        sh(*inside, "tc", "qdisc", "add", "dev", "eth0", "root", *bucket)
        sh("tc", "qdisc", "add", "dev", f"{name}h", "root", *bucket)


def tear_down():
    for name in NAMES:
        sh("ip", "netns", "delete", name, check=False)
        sh("ip", "link", "delete", f"{name}h", check=False)
    sh("ip", "link", "delete", BRIDGE, check=False)


def agent(folder):
    """What mpirun starts in the place of ssh: the rest of its line, in the namespace of that address, under a host name of its own."""
    path = folder / "agent"
    cases = "\n".join(f"    {address(ix)}) name={name} ;;" for ix, name in enumerate(NAMES))
    path.write_text(
        f"#!/bin/sh\ncase $1 in\n{cases}\n    *) exit 1 ;;\nesac\nshift\n"
        "exec ip netns exec $name unshare --uts sh -c \"hostname $name; $*\"\n"
    )
    path.chmod(0o755)
    return path


def on_the_wire():
    """Bytes that the coordinator's interface has sent and received."""
    counters = [
        sh("ip", "netns", "exec", NAMES[0], "cat", f"/sys/class/net/eth0/statistics/{way}_bytes") for way in ("tx", "rx")
    ]
    return sum(map(int, counters))


def mpirun(folder, dirigent, words):
    hosts = ",".join(f"{address(ix)}:1" for ix in range(len(NAMES)))
    launch = [dirigent.parent / "mpirun", "--prtemca", "plm_ssh_agent", agent(folder), "--prtemca", "prte_if_include", "10.77.0.0/24"]
    launch += ["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "10.77.0.0/24", "--host", hosts, "--map-by", "node", "-n", len(NAMES)]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    inside = ["ip", "netns", "exec", NAMES[0], "unshare", "--uts", "sh", "-c", f'hostname {NAMES[0]}; exec "$@"', "sh"]
    subprocess.run([str(word) for word in [*inside, *launch, *words]], check=True, env=environment)


def cycles_of(run):
    with open(run / "trace.csv") as trace:
        return list(csv.DictReader(trace))


def counted_in(run):
    """What went to and from all workers, labels that are only looked at included."""
    with open(run / "workers.csv") as workers:
        return sum(float(row["bytes"]) + float(row["observed_bytes"]) for row in csv.DictReader(workers))


def seconds_a_cycle(trace, clock, skip):
    """The mean from one cycle's end to the next one's."""
    return (float(trace[-1][clock]) - float(trace[skip - 1][clock])) / (len(trace) - skip)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--dirigent", type=pathlib.Path, default=pathlib.Path(shutil.which("dirigent") or sys.executable).parent / "dirigent")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("lab"))
    parser.add_argument("--cycles", default="12")
    ours, _, options = " ".join(sys.argv[1:]).partition(" -- ")
    args = parser.parse_args(ours.split())
    folder = args.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    fit = [args.dirigent.absolute(), "fit", args.data.absolute(), "--cycles", args.cycles, "--force", "--quiet", "--no-report", *options.split()]
    tear_down()
    set_up()
    try:
        before = on_the_wire()
        mpirun(folder, args.dirigent.absolute(), [*fit, "--engine", "mpi", "--out", folder / "mpi"])
        wire = on_the_wire() - before
    finally:
        tear_down()
    simulated = ["--engine", "simulated", "--workers", "2", "--engine-option", f"bandwidth={RATE_BITS / 8:.0f},latency=0.0001"]
    subprocess.run([str(word) for word in [*fit, *simulated, "--out", folder / "simulated"]], check=True)

    summary = json.loads((folder / "mpi" / "run.json").read_text())["summary"]
    there, here = cycles_of(folder / "mpi"), cycles_of(folder / "simulated")
    counted = counted_in(folder / "mpi")
    skip = min(3, len(there) - 1)
    measured, projected = seconds_a_cycle(there, "seconds", skip), seconds_a_cycle(here, "virtual_seconds", skip)
    print("| | measured | counted, projected | ratio |")
    print("|---|---|---|---|")
    print(f"| MB over the coordinator's interface | {wire / 1e6:.2f} | {counted / 1e6:.2f} | {wire / counted:.3f} |")
    print(f"| ms a cycle | {1e3 * measured:.1f} | {1e3 * projected:.1f} | {measured / projected:.2f} |")
    print(f"\nK {summary['k']}, {len(there)} cycles")


if __name__ == "__main__":
    main()
