"""One peer in one process: answers requests, one JSON object a line, and sleeps in between."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

WARM_SECONDS = 0.5
CHECK_STEPS = 3


class Peer:
    """A library, its programs, and the step that was prepared last."""

    def __init__(self, name: str) -> None:
        self.name = name
        start = time.perf_counter()
        self.module, self.programs = _load(name)
        self.import_seconds = time.perf_counter() - start
        self.step: Callable[[], Any] | None = None

    def hello(self) -> dict[str, Any]:
        version = getattr(self.module, "__version__", "")
        return {"version": version, "programs": sorted(self.programs)}

    def prepare(self, workload: str) -> dict[str, Any]:
        """Builds a workload, keeps its first losses, warms it up and says how long one step takes."""
        self.step = None
        step = self.programs[workload]()
        first = [_number(step()) for _ in range(CHECK_STEPS)]
        seconds, count = 0.0, 0
        while seconds < WARM_SECONDS or count < 5:
            seconds, count = seconds + _time(step, 1), count + 1
        self.step = step
        return {"first": first, "seconds": _time(step, 5) / 5}

    def run(self, steps: int) -> dict[str, Any]:
        """Runs the prepared step: seconds for each, the mean, since medians hide what a busy machine does."""
        assert self.step is not None
        self.step()
        return {"seconds": _time(self.step, steps) / steps}

    def memory(self, workload: str, steps: int) -> dict[str, Any]:
        """Gives the growth of the process from before a workload is built to its peak, in bytes."""
        for name in ("mlp_batch", "mlp_layers", "cnn_batch", "cnn_layers"):
            getattr(importlib.import_module("workloads.data"), name)()
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak so far is forgotten
        before = _resident("VmRSS")
        step = self.programs[workload]()
        for _ in range(steps):
            step()
        return {"bytes": _resident("VmHWM") - before}

    def graph(self, nodes: int) -> dict[str, Any]:
        programs = importlib.import_module("workloads.graph_programs")
        times: dict[str, Any] = programs.graph_times(self.module, nodes)
        return times


def _load(name: str) -> tuple[Any, dict[str, Callable[[], Any]]]:
    if name in ("thalweg", "tensorflow"):
        tf = importlib.import_module("thalweg" if name == "thalweg" else "tensorflow.compat.v1")
        if tf.__file__ is None:
            raise ImportError(f"{name} is a folder without __init__.py, not a package")
        if name == "tensorflow":
            tf.disable_v2_behavior()
        programs = importlib.import_module("workloads.graph_programs").PROGRAMS
        return tf, {key: lambda program=program: program(tf) for key, program in programs.items()}
    if name == "jax":
        return importlib.import_module("jax"), importlib.import_module("workloads.jax_programs").PROGRAMS
    torch_programs = importlib.import_module("workloads.torch_programs")
    torch = importlib.import_module("torch")
    return torch, torch_programs.COMPILED if name == "torch_compile" else torch_programs.PROGRAMS


def _time(step: Callable[[], Any], steps: int) -> float:
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return time.perf_counter() - start


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _resident(field: str) -> int:
    """Reads a line of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {field} in /proc/self/status")


def main() -> None:
    """Answers requests until the input ends; what libraries print goes to the error stream."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peer: Peer | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if peer is None:
                peer = Peer(sys.argv[1])
            answer = getattr(peer, request.pop("do"))(**request)
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
