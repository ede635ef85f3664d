"""The token engine: runs a partition with unstructured control flow, node by node as tokens arrive."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import torch

from thalweg._src.base import errors
from thalweg._src.graph.ir.step_graph import Output
from thalweg._src.runtime.compile.failure import UNTAKEN_BRANCH, explain, in_iteration
from thalweg._src.runtime.execute.program import Program
from thalweg._src.runtime.execute.token_machine import DEAD, Item, TokenMachine
from thalweg._src.runtime.kernels.registry import Call, invoke
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.thread_pool import computing, threads


class TokenRun:
    """One run of a program on the token engine: uses one thread, and none while all nodes block."""

    def __init__(self, program: Program, step: Step, feeds: Sequence[Any], done: Callable[[], None]) -> None:
        self._program = program
        self._step = step
        self._done = done
        self._observer = None if step.trace is None else step.trace.observer(program.device)
        self._feeds = dict(zip(program.feeds, feeds))
        self._machine = TokenMachine(program.nodes, program.fetches)
        self._lock = threading.Lock()
        self._events: deque[tuple[Item, Sequence[Any]]] = deque()
        self._running = False
        self._waiting = 0  # blocking nodes that have not finished
        self.values: dict[Output, Any] = {}

    def start(self, here: bool = False) -> None:
        """Starts the nodes without predecessors; `here`: on this thread."""
        self._running = True
        if here:
            self._drive(self._machine.start())
        else:
            threads.start(self._drive, self._machine.start())

    def _drive(self, items: list[Item]) -> None:
        queue = deque(items)
        try:
            with computing():
                while not self._step.cancelled:
                    if queue:
                        item = queue.popleft()
                        outputs = self._run(item)
                        queue.extend(self._machine.finish(item, outputs) if outputs is not None else ())
                    elif not self._take_events(queue):
                        return
        except BaseException as error:
            self._step.fail(error)

    def _take_events(self, queue: deque[Item]) -> bool:
        """Queues what blocking nodes that have finished make ready; returns False, to release the thread, if none has.

        A run is over when nothing is ready and no node blocks.
        """
        # One thread at a time drives the machine, which has no lock. A blocking node that finishes adds an event and,
        # if no thread drives, starts one; giving up the role and looking for events is one step under the lock, so that
        # no event is left without a driver and none is handled by two.
        with self._lock:
            events, self._events = self._events, deque()
            self._running = bool(events)
            over = not events and not self._waiting
        if over:
            self._end()
        for item, outputs in events:
            queue.extend(self._machine.finish(item, outputs))
        return bool(events)

    def _run(self, item: Item) -> Sequence[Any] | None:
        """Returns the outputs of a node, or None if they arrive later."""
        node, values = item.node, item.inputs
        count = len(node.dtypes)
        if node.type == "Merge":
            return self._merge(item)
        if item.dead:
            return [DEAD] * count
        if node.facts.control_flow and node.facts.forwards:
            return values
        if node.type == "Switch":
            return self._switch(item)
        if node.type == "_Arg":
            return [self._feeds[node]]
        bound = self._program.bound
        if node in bound.waiting:
            self._wait(item, bound.waiting[node])
            return None
        if node not in bound.calls:
            return [bound.constants.get(Output(node, i)) for i in range(count)]
        observer = self._observer
        started = observer.start(node) if observer is not None else None
        try:
            result = invoke(bound.calls[node], values, self._step)
        except Exception as error:
            raise explain(error, node, values, self._place(item)) from None
        if observer is not None:
            observer.end(node, started)
        return [result] if count == 1 else list(result or ())

    def _place(self, item: Item) -> str:
        in_loop = item.iteration.frame.outer is not None
        return in_iteration(self._program.device.name, item.iteration.index if in_loop else None)

    def _switch(self, item: Item) -> Sequence[Any]:
        value, predicate = item.inputs
        try:
            return [DEAD, value] if predicate else [value, DEAD]
        except RuntimeError as error:  # not a scalar
            raise explain(error, item.node, item.inputs, self._place(item)) from None

    def _merge(self, item: Item) -> Sequence[Any]:
        for index, value in enumerate(item.inputs):
            if value is not DEAD:
                return [value, torch.tensor(index, dtype=torch.int32)]
        return [DEAD, DEAD]

    def _wait(self, item: Item, call: Call) -> None:
        self._step.waiting.add(item.node.name)
        with self._lock:
            self._waiting += 1

        def finish(*results: object) -> None:
            self._step.waiting.discard(item.node.name)
            with self._lock:
                self._waiting -= 1
                self._events.append((item, results))
                idle, self._running = not self._running, True
            if idle and not self._step.cancelled:
                threads.start(self._drive, [])

        try:
            call.function(self._step, finish, *item.inputs)
        except Exception as error:
            raise explain(error, item.node, item.inputs, self._place(item)) from None

    def _end(self) -> None:
        for output in self._program.fetches:
            value = self._machine.fetched.get(output, DEAD)
            if value is DEAD:
                error = errors.invalid(UNTAKEN_BRANCH)
                self._step.fail(explain(error, output[0], None, self._program.device.name))
                return
            self.values[output] = value
        self._done()
