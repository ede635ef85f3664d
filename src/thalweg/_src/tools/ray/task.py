"""Task: a task of a cluster in the process of a Ray actor."""

from __future__ import annotations

import json
import os
import runpy
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec
from thalweg._src.cluster.distributed.data_plane import split_address
from thalweg._src.cluster.distributed.server import Server
from thalweg._src.compat.as_tensorflow import install_as_tensorflow


@dataclass(frozen=True, slots=True)
class Program:
    """What chief and workers run: a function, or a script with its arguments."""

    function: Callable[[], Any] | None
    script: str
    arguments: tuple[str, ...]

    def run(self) -> Any:
        """Runs the program in this process; returns what the function returns."""
        try:
            if self.function is not None:
                return self.function()
            install_as_tensorflow()
            sys.argv = [self.script, *self.arguments]
            sys.path.insert(0, os.path.dirname(os.path.abspath(self.script)))
            runpy.run_path(self.script, run_name="__main__")
        except SystemExit as exit:  # which Ray would take for the wish to end the actor
            if exit.code not in (None, 0):
                raise RuntimeError(f"the program ended with exit status {exit.code}") from exit
        return None


class Task:
    """The actor of a task; each process of it runs the task once."""

    def __init__(self, job: str, index: int) -> None:
        self._job = job
        self._index = index
        self._reserved: socket.socket | None = None

    def __repr__(self) -> str:
        return f"{self._job} {self._index}"  # Ray writes it in front of each line of the log

    def locate(self, before: str) -> str:
        """Returns an address of this process, at a port that is reserved until the task runs.

        before: where the task was before, or else empty; it is there again if that is possible
        """
        from ray.util import get_node_ip_address

        here = str(get_node_ip_address())
        host, port = split_address(before) if before else (here, 0)
        try:
            self._reserved = _reserve(here, port if here == host else 0)
        except OSError:
            self._reserved = _reserve(here, 0)
        port = self._reserved.getsockname()[1]
        return f"[{here}]:{port}" if ":" in here else f"{here}:{port}"

    def run(self, cluster: dict[str, Any], program: Program) -> Any:
        """Serves a parameter server, or runs the program of another task; returns what that returns."""
        if self._reserved is not None:
            self._reserved.close()
        task = {"type": self._job, "index": self._index}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
        if self._job != "ps":
            return program.run()
        Server(ClusterSpec(cluster), self._job, self._index).join()


def _reserve(host: str, port: int) -> socket.socket:
    """Returns a socket that keeps other programs from a port, by default a free one; it does not listen."""
    reserved = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    if port:  # connections of the lost process may linger
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        reserved.bind(("", port))
    except OSError:
        reserved.close()
        raise
    return reserved
