"""Trace: when each kernel of a step started and ended, in the form of RunMetadata."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from thalweg.config import DeviceStepStats, NodeExecStats, RunMetadata
from thalweg.graph.step_graph import Node


class Trace:
    """Collects the times of one step's kernels, from all its threads."""

    def __init__(self) -> None:
        self._nodes: list[tuple[str, Node, int, int, int]] = []

    def observer(self, device: str) -> Callable[[Node, int, int], None]:
        """Returns the function that records one kernel on a device: node, start and end in nanoseconds."""

        def record(node: Node, start: int, end: int) -> None:
            self._nodes.append((device, node, start, end, threading.get_ident()))

        return record

    def write_to(self, metadata: RunMetadata) -> None:
        by_device: dict[str, DeviceStepStats] = {}
        for device, node, start, end, thread in self._nodes:
            if device not in by_device:
                by_device[device] = DeviceStepStats(device=device)
            duration = (end - start) // 1000
            inputs = ", ".join(f"{p.name}:{i}" if i else p.name for p, i in node.inputs)
            by_device[device].node_stats.append(
                NodeExecStats(
                    node_name=node.name,
                    all_start_micros=start // 1000,
                    op_end_rel_micros=duration,
                    all_end_rel_micros=duration,
                    all_start_nanos=start,
                    op_end_rel_nanos=end - start,
                    all_end_rel_nanos=end - start,
                    timeline_label=f"{node.name} = {node.type}({inputs})",
                    thread_id=thread & 0x7FFFFFFF,
                )
            )
        stats: list[Any] = metadata.step_stats.dev_stats
        stats.extend(by_device.values())
