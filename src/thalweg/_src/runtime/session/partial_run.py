"""Partial runs: one step in several calls, each with more feeds.

The feeds of such a step are blocking nodes and its fetches are sent to the client, so the executor runs exactly what
the feeds given so far allow.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg._src.base import errors
from thalweg._src.compiler.optimize.prune import needed_feeds
from thalweg._src.compiler.partition.client import CLIENT
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.kernels.types import fetched
from thalweg._src.runtime.resources.rendezvous import rendezvous_key
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.session.feeds import converter, expand_feeds, expand_keys, feed_tensor
from thalweg._src.runtime.session.fetches import flatten

MAX_PARTIAL_RUNS = 1024  # per session, set up and neither finished nor failed


@dataclass(slots=True)
class _Started:
    """A running step: its feeds and fetches, those that were given and taken, and what depends on given feeds only."""

    step: Step
    feeds: set[Tensor]
    fed: set[Tensor] = field(default_factory=set)
    fetchable: set[Any] = field(default_factory=set)
    fetched: set[Any] = field(default_factory=set)
    computable: set[Operation] = field(default_factory=set)  # as far as fetches have needed them


class PartialRuns:
    """The partial runs of one session, by handle."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._started: dict[str, _Started] = {}
        self._serial = itertools.count()

    def setup(self, fetches: object, feeds: Sequence[Any]) -> str:
        if len(self._started) >= MAX_PARTIAL_RUNS:
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"partial_run_setup: {MAX_PARTIAL_RUNS} partial runs of this session are not finished: "
                "fetch all of their fetches, or close the session",
            )
        graph = self._session.graph
        feed_tensors = [feed_tensor(graph, key) for key in expand_keys(feeds)]
        flat = flatten(graph, fetches, self._session)
        _require(bool(flat.tensors or flat.operations), "Must specify at least one target to fetch or execute.")
        executable = self._session._backend.compile(feed_tensors, flat.tensors, flat.operations, is_partial=True)
        step = Step()
        step.finished = threading.Event()
        running = self._session._running
        running.add(step)
        step.cancellation.register(lambda error: running.discard(step))  # a step that fails is never done
        if self._session._closed:  # before it could cancel this step
            step.fail(errors.CancelledError(None, None, "Session has been closed."))
            step.stop()
        executable.start(step, [], lambda: running.discard(step))
        handle = f"partial_run_{next(self._serial)}"
        self._started[handle] = _Started(step, set(feed_tensors), fetchable={*flat.tensors, *flat.operations})
        return handle

    def run(self, handle: str, fetches: object, feed_dict: dict[Any, Any]) -> Any:
        state = self._started.get(handle)
        if state is None:
            raise errors.invalid(
                f"Must run 'setup' before performing partial runs! partial_run_setup returned no handle {handle!r}"
            )
        graph = self._session.graph
        flat = flatten(graph, fetches, self._session)
        values = {}
        for key, value in expand_feeds(feed_dict).items():
            tensor = feed_tensor(graph, key)
            _require(tensor in state.feeds, f"The feed {tensor.name} was not specified in partial_run_setup.")
            _require(tensor not in state.fed, f"The feed {tensor.name} has already been fed.")
            values[tensor] = converter(tensor)(value)
        elements: list[Any] = [*flat.tensors, *flat.operations]
        for element in elements:
            _require(element in state.fetchable, f"The fetch {element.name} was not specified in partial_run_setup.")
            _require(element not in state.fetched, f"The fetch {element.name} has already been fetched.")
        needed, operations = needed_feeds(elements, state.feeds, state.computable)
        if needed - state.fed - values.keys():
            _explain_missing(elements, state.feeds, state.fed | values.keys())
        for tensor, value in values.items():
            state.step.rendezvous.send(rendezvous_key(CLIENT, "", f"feed {tensor.name}"), value)
        state.fed.update(values)
        state.computable |= operations
        state.fetched.update(elements)
        if self._session._config.operation_timeout_in_ms:
            state.step.limit(self._session._config.operation_timeout_in_ms)
        try:
            results = [self._wait(state.step, f"fetch {tensor.name}") for tensor in flat.tensors]
            for operation in flat.operations:
                self._wait(state.step, f"fetch ^{operation.name}")
        finally:
            if state.step.cancelled or state.fetched == state.fetchable:
                self._started.pop(handle, None)
        return flat.build(fetched(results))

    def clear(self) -> None:
        self._started.clear()

    def _wait(self, step: Step, name: str) -> Any:
        arrived = threading.Event()
        values: list[Any] = []

        def arrive(value: object) -> None:
            values.append(value)
            arrived.set()

        token = step.cancellation.register(lambda error: arrived.set())
        step.rendezvous.receive(rendezvous_key("", CLIENT, name), arrive)
        step.wait(arrived)
        step.cancellation.deregister(token)
        if not values:
            step.stop()
        return values.pop()


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise errors.invalid(message)


def _explain_missing(elements: list[Any], feeds: set[Tensor], fed: set[Tensor]) -> None:
    """Raises the error for the first fetch that depends on a feed without a value."""
    for element in elements:
        missing = needed_feeds([element], feeds)[0] - fed
        names = ", ".join(sorted(tensor.name for tensor in missing))
        sentence = f"Fetch {element.name} can't be computed from the feeds that have been fed so far."
        _require(not missing, f"{sentence} These are missing: {names}")
