"""One of the processes that reduce together: Thalweg's collectives, or torch.distributed with Gloo alone."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from worker import Peer, serve
from workloads.data import ALL_REDUCE_FLOATS


class Process(Peer):
    """A library, its connection to the other processes, and the current step."""

    def join(self, addresses: list[str], rank: int) -> dict[str, Any]:
        """Connects to the other processes; the first address is that of the leader."""
        make = _thalweg if self.name == "thalweg" else _torch
        self.programs = make(self.module, addresses, rank)
        return {}


def _thalweg(tf: Any, addresses: list[str], rank: int) -> dict[str, Callable[[], Any]]:
    all_reduce = importlib.import_module("thalweg._src.graph.ops.collective").all_reduce
    server = tf.train.Server({"worker": addresses}, "worker", rank)
    device, size = f"/job:worker/task:{rank}", len(addresses)
    graph_programs = importlib.import_module("workloads.graph_programs")

    def tensor() -> Callable[[], Any]:
        with tf.Graph().as_default() as graph, tf.device(device):
            value = tf.get_variable("value", [ALL_REDUCE_FLOATS], initializer=tf.ones_initializer(), use_resource=True)
            step = all_reduce(value, size, 1, 1).op
            session = tf.Session(server.target, graph)
            session.run(tf.global_variables_initializer())
        return lambda: session.run(step)

    def means(gradients: Sequence[Any]) -> list[Any]:
        return [all_reduce(gradient, size, 2, key, "Add", "Div") for key, gradient in enumerate(gradients)]

    def cnn() -> Callable[[], Any]:
        step: Callable[[], Any] = graph_programs.cnn(tf, device=device, target=server.target, reduce=means)
        return step

    return {"all_reduce_100mb": tensor, "all_reduce_cnn": cnn}


def _torch(torch: Any, addresses: list[str], rank: int) -> dict[str, Callable[[], Any]]:
    distributed = importlib.import_module("torch.distributed")
    parallel = importlib.import_module("torch.nn.parallel")
    torch_programs = importlib.import_module("workloads.torch_programs")
    distributed.init_process_group("gloo", f"tcp://{addresses[0]}", rank=rank, world_size=len(addresses))

    def tensor() -> Callable[[], Any]:
        value, result = torch.ones(ALL_REDUCE_FLOATS), torch.empty(ALL_REDUCE_FLOATS)  # reused: new pages are slow

        def step() -> None:
            distributed.all_reduce(result.copy_(value))

        return step

    return {
        "all_reduce_100mb": tensor,
        "all_reduce_cnn": lambda: torch_programs.cnn(replicate=parallel.DistributedDataParallel),
    }


if __name__ == "__main__":
    serve(Process)
