"""create_local_cluster: workers and parameter servers in this process, for tests."""

from __future__ import annotations

import contextlib
import socket

from thalweg._src.base.config import ConfigProto
from thalweg._src.base.export import export
from thalweg._src.cluster.distributed.server import Server


@export("test.create_local_cluster")
def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: ConfigProto | None = None,
    ps_config: ConfigProto | None = None,
) -> tuple[list[Server], list[Server]]:
    """Starts the servers of a cluster at free ports of this machine, and returns the workers and parameter servers.

    Args:
        num_workers: Number of workers.
        num_ps: Number of parameter servers.
        protocol: Protocol of the servers: "grpc".
        worker_config: Options of the workers, for sessions that set none.
        ps_config: Options of the parameter servers, for sessions that set none.
    """
    ports = _free_ports(num_workers + num_ps)
    addresses = [f"localhost:{port}" for port in ports]
    cluster = {"worker": addresses[:num_workers], "ps": addresses[num_workers:]}
    workers = [Server(cluster, "worker", index, protocol, worker_config) for index in range(num_workers)]
    return workers, [Server(cluster, "ps", index, protocol, ps_config) for index in range(num_ps)]


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:  # all are open at once, so that no port is found twice
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [sock.getsockname()[1] for sock in sockets]
