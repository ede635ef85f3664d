"""One peer in one process: answers requests, one JSON object per line."""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from workloads.task import Task

WARM_SECONDS = 0.5
CHECK_STEPS = 3
Programs = dict[str, Callable[[], Any]]
GRAPH_PROGRAMS = ("graph", "loop", "input", "checkpoint")


class Peer:
    """A library, its programs, and the current step."""

    def __init__(self, name: str, load: Callable[[str], tuple[Any, Programs]] | None = None) -> None:
        self.name = name
        start = time.perf_counter()
        self.module, self.programs = (load or _load)(name)
        self.import_seconds = time.perf_counter() - start
        self.step: Callable[[], Any] | None = None
        self.slow = False

    def hello(self) -> dict[str, Any]:
        version = getattr(self.module, "__version__", "")
        return {"version": version, "programs": sorted(self.programs)}

    def prepare(self, workload: str, slow: bool = False) -> dict[str, Any]:
        """Builds a workload, warms it up, and returns its first losses and the time of one step."""
        self.forget()
        step = self.programs[workload]()
        first = [_number(step()) for _ in range(1 if slow else CHECK_STEPS)]
        seconds, count = 0.0, 0
        while not slow and (seconds < WARM_SECONDS or count < 5):
            seconds, count = seconds + _time(step, 1), count + 1
        self.step, self.slow = step, slow
        return {"first": first, "seconds": None if slow else _time(step, 5) / 5}

    def forget(self) -> dict[str, Any]:
        """Frees the last workload."""
        self.step = None
        gc.collect()
        return {}

    def run(self, steps: int) -> dict[str, Any]:
        """Runs the prepared step and returns the mean seconds; a median would hide disturbances."""
        assert self.step is not None
        if not self.slow:
            self.step()
        return {"seconds": _time(self.step, steps) / steps}

    def memory(self, workload: str, steps: int) -> dict[str, Any]:
        """Returns the growth of the process from before a workload is built to its peak, in bytes."""
        for name in ("mlp_batch", "mlp_layers", "cnn_batch", "cnn_layers"):
            getattr(importlib.import_module("workloads.data"), name)()
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
        before = _resident("VmRSS")
        step = self.programs[workload]()
        for _ in range(steps):
            step()
        return {"bytes": _resident("VmHWM") - before}

    def graph(self, nodes: int) -> dict[str, Any]:
        programs = importlib.import_module("workloads.graph_programs")
        times: dict[str, Any] = programs.graph_times(self.module, nodes)
        return times


def _load(name: str) -> tuple[Any, Programs]:
    """Imports a peer's library and its programs; the suffix of the peer's name selects a variant."""
    library, _, variant = name.partition("_")
    if library in ("thalweg", "tensorflow"):
        tf = importlib.import_module("thalweg" if library == "thalweg" else "tensorflow.compat.v1")
        if tf.__file__ is None:
            raise ImportError(f"{name} is a folder without __init__.py, not a package")
        if library == "tensorflow":
            tf.disable_v2_behavior()
        else:  # no background compilation in rows that do not measure it
            importlib.import_module("thalweg._src.runtime.executable").COMPILE_AFTER_SECONDS = math.inf
        if variant == "v2":
            tf.enable_control_flow_v2()
        programs = _graph_programs("REFERENCES" if variant == "reference" else "PROGRAMS")
        return tf, {key: lambda program=program: program(tf) for key, program in programs.items()}
    if library == "plain":
        module = SimpleNamespace(__version__=platform.python_version())
        return module, importlib.import_module("workloads.plain_programs").PROGRAMS
    programs = importlib.import_module(f"workloads.{library}_programs")
    return importlib.import_module(library), programs.COMPILED if variant == "compile" else programs.PROGRAMS


def _graph_programs(which: str) -> dict[str, Callable[[Any], Any]]:
    modules = (importlib.import_module(f"workloads.{name}_programs") for name in GRAPH_PROGRAMS)
    return {key: program for module in modules for key, program in getattr(module, which, {}).items()}


def _time(step: Callable[[], Any], steps: int) -> float:
    """Times steps, without the setup and teardown of a Task."""
    before, step, after = (step.before, step.step, step.after) if isinstance(step, Task) else (None, step, None)
    if before is not None:
        before()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    seconds = time.perf_counter() - start
    if after is not None:
        after()
    return seconds


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _resident(field: str) -> int:
    """Returns a field of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {field} in /proc/self/status")


def serve(make: Callable[[str], Any]) -> None:
    """Answers requests until the input ends, by methods of the object that `make` returns."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    served: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if served is None:
                served = make(sys.argv[1])
            answer = getattr(served, request.pop("do"))(**request)
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:2000]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve(Peer)
