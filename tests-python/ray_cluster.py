"""A Ray cluster of three nodes on loopback, with a token of its own. Only processes that it has started are ended."""

import os
import secrets
import socket
from pathlib import Path

#: Before ray is imported anywhere: a token for whoever wants in, nothing beyond loopback, no statistics for anybody, a node that is gone is
#: missed after some seconds, and actors are as busy as anybody.
for name, value in {
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(16),
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_health_check_period_ms": "1000",
    "RAY_worker_niceness": "0",
}.items():
    os.environ.setdefault(name, value)


class RayCluster:
    """Nodes on this machine, the first of them the head, which has no room for actors."""

    def __init__(self, n_nodes, cpus=2):
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        self.cpus = cpus
        self.nodes = [self.add_node() for _ in range(n_nodes - 1)]

    @property
    def address(self):
        return self.cluster.address

    def add_node(self):
        return self.cluster.add_node(num_cpus=self.cpus)

    def kill_node(self, node):
        """Kills its raylet; Ray's processes on the node go with it."""
        self.cluster.remove_node(node, allow_graceful=False)

    def shutdown(self):
        self.cluster.shutdown()


def processes():
    """The processes that have our token: this one and all of Ray's that have to do with it."""
    token = f"RAY_AUTH_TOKEN={os.environ['RAY_AUTH_TOKEN']}".encode()
    found = [os.getpid()]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # a process that has ended has no environment any more
            if token in (folder / "environ").read_bytes() and int(folder.name) not in found:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def listening(pids):
    """The addresses at which these processes listen."""
    inodes = {}
    for version in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{version}").read_text().splitlines()[1:]:
            cells = line.split()
            if cells[3] == "0A":
                inodes[cells[9]] = _address(cells[1].split(":")[0])
    places = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = os.readlink(link)
            except OSError:
                continue
            places.add(inodes.get(target.removeprefix("socket:[").removesuffix("]")))
    return sorted(places - {None})


def _address(hexadecimal):
    words = [bytes.fromhex(hexadecimal[ix : ix + 8])[::-1] for ix in range(0, len(hexadecimal), 8)]
    packed = b"".join(words)
    is_mapped = packed.startswith(bytes(10) + b"\xff\xff")
    return socket.inet_ntoa(packed[-4:]) if is_mapped or len(packed) == 4 else socket.inet_ntop(socket.AF_INET6, packed)
