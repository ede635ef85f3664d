"""Client side of a partial run: feeds are received and fetches are sent while the step runs."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.compiler.partition.transfer import receive, send, signal
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph

CLIENT = "client"


def receive_feeds(step: StepGraph, names: Sequence[str]) -> None:
    """Replaces each feed by a Recv from the client."""
    received: dict[Output, Output] = {}
    for feed, name in zip(step.feeds, names):
        node = receive(Output(feed, 0), f"feed {name}", CLIENT, "")
        received[Output(feed, 0)] = Output(node, 0)
    step.feeds = []
    step.rewrite(received)


def send_fetches(step: StepGraph, tensors: Sequence[str], operations: Sequence[str]) -> None:
    """Sends each fetched value to the client as soon as it is available, and a signal after each fetched operation."""
    sends: list[Node] = [send(output, f"fetch {name}", "", CLIENT) for output, name in zip(step.fetches, tensors)]
    sends += [
        send(Output(signal(node), 0), f"fetch ^{name}", "", CLIENT, controls=[node])
        for node, name in zip(step.targets, operations)
    ]
    step.fetches, step.targets = [], sends
    step.prune_and_sort()
