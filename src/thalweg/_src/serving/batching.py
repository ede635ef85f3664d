"""Dynamic batching: requests of one signature are computed together, padded to the sizes that are allowed.

Where a batch fails, its requests are computed one by one, so that only those that are at fault get an error.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._src import errors
from thalweg._src.serving.batch_queue import Batch, BatchQueues, Request, too_late
from thalweg._src.serving.config import BatchingParameters
from thalweg._src.serving.metrics import Metrics
from thalweg._src.serving.servable import Signature
from thalweg._src.serving.tensors import Array

Outputs = dict[str, Array]


@dataclass(slots=True, eq=False)
class _Work:
    """What a waiting request needs computed."""

    signature: Signature
    inputs: Mapping[str, Array]
    outputs: tuple[str, ...]
    is_alone: bool
    result: Future[Outputs]


class Batcher:
    """Computes requests in batches, on threads of its own.

    Args:
      parameters: Sizes, timeouts and limits.
      metrics: Counts the batches.
      clock: Returns the time; deadlines are of the same clock.
    """

    def __init__(
        self, parameters: BatchingParameters, metrics: Metrics, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._parameters = parameters
        self._metrics = metrics
        self._clock = clock
        self._queues = BatchQueues(parameters)
        self._lock = threading.Condition()
        self._is_closed = False
        self._threads = [
            threading.Thread(target=self._serve, name=f"thalweg serving batch {number}", daemon=True)
            for number in range(parameters.num_batch_threads)
        ]
        for thread in self._threads:
            thread.start()

    def run(
        self, signature: Signature, inputs: Mapping[str, Array], outputs: tuple[str, ...], deadline: float | None
    ) -> Outputs:
        """Computes outputs of a signature, together with other requests."""
        sizes = {len(array) for array in inputs.values()} if signature.is_batched else set()
        if len(sizes) != 1 or not min(sizes):
            return self._await(self._submit(signature, inputs, outputs, deadline, is_alone=True), deadline)
        (size,) = sizes
        limit = self._parameters.max_batch_size
        parts = [
            self._submit(
                signature, {name: array[start : start + limit] for name, array in inputs.items()}, outputs, deadline
            )
            for start in range(0, size, limit)
        ]
        found = [self._await(part, deadline) for part in parts]
        return (
            found[0] if len(found) == 1 else {name: np.concatenate([part[name] for part in found]) for name in outputs}
        )

    def close(self) -> None:
        """Computes what waits, and ends the threads."""
        with self._lock:
            self._is_closed = True
            self._lock.notify_all()
        for thread in self._threads:
            thread.join()

    def _submit(
        self,
        signature: Signature,
        inputs: Mapping[str, Array],
        outputs: tuple[str, ...],
        deadline: float | None,
        is_alone: bool = False,
    ) -> Request:
        """Puts a request into its queue; one that shares no batch with others fills a batch."""
        work = _Work(signature, inputs, outputs, is_alone, Future())
        key: tuple[Any, ...] = (signature, None)
        size = self._parameters.max_batch_size
        if not is_alone:
            shapes = tuple(array.ndim if self._pads else array.shape[1:] for array in inputs.values())
            key = signature, outputs, tuple(inputs), shapes
            size = len(next(iter(inputs.values())))
        request = Request(key, size, self._clock(), deadline, signature.duration, work)
        with self._lock:
            if self._is_closed:
                raise errors.UnavailableError(None, None, "the server is being stopped")
            self._queues.add(request, request.arrival)
            self._lock.notify()
        return request

    def _await(self, request: Request, deadline: float | None) -> Outputs:
        result: Future[Outputs] = request.payload.result
        try:
            return result.result(None if deadline is None else max(0.0, deadline - self._clock()))
        except TimeoutError:
            request.is_cancelled = True
            raise errors.DeadlineExceededError(None, None, "the deadline passed while the request waited") from None

    @property
    def _pads(self) -> bool:
        return self._parameters.pad_variable_length_inputs

    def _serve(self) -> None:
        while (batch := self._next()) is not None:
            start = self._clock()
            for request in batch.late:
                request.payload.result.set_exception(too_late(request, start, 0.0))
            if batch.requests:
                self._compute(batch, start)
            with self._lock:
                self._queues.finish(batch, self._clock() - start)

    def _next(self) -> Batch | None:
        """Waits for the next batch; returns None once the server is closed and nothing waits."""
        with self._lock:
            while True:
                now = self._clock()
                batch = self._queues.take(now, early=self._is_closed)
                if batch is not None:
                    self._lock.notify()
                    return batch
                if self._is_closed:
                    return None
                due = self._queues.next_due()
                self._lock.wait(None if due is None else max(0.0, due - now))

    def _compute(self, batch: Batch, start: float) -> None:
        works: list[_Work] = [request.payload for request in batch.requests]
        name = works[0].signature.model
        for request in batch.requests:
            self._metrics.queueing.add(name, value=(start - request.arrival) * 1e6)
        if works[0].is_alone:
            self._run_apart(works)
            return
        try:
            found = self._run_together(works, [request.size for request in batch.requests])
        except Exception as error:
            if len(works) == 1:
                works[0].result.set_exception(error)
            else:
                self._run_apart(works)
            return
        for work, outputs in zip(works, found):
            work.result.set_result(outputs)

    def _run_together(self, works: list[_Work], sizes: list[int]) -> list[Outputs]:
        signature, total = works[0].signature, sum(sizes)
        padded = self._parameters.padded(total)
        self._metrics.batch_sizes.add(signature.model, value=padded)
        self._metrics.padding.add(signature.model, value=padded - total)
        inputs = {
            name: _joined([work.inputs[name] for work in works], padded - total, self._pads) for name in works[0].inputs
        }
        found = signature.run(inputs, works[0].outputs)
        for name, array in found.items():
            if array.shape[:1] != (padded,):
                raise errors.FailedPreconditionError(
                    None,
                    None,
                    f"output {name!r} has shape {list(array.shape)} for a batch of {padded} examples; serve the model "
                    "without batching",
                )
        ends = np.cumsum(sizes).tolist()
        return [{name: array[end - size : end] for name, array in found.items()} for size, end in zip(sizes, ends)]

    def _run_apart(self, works: list[_Work]) -> None:
        for work in works:
            try:
                work.result.set_result(work.signature.run(work.inputs, work.outputs))
            except Exception as error:
                work.result.set_exception(error)


def _joined(parts: list[Array], padding: int, pads_shapes: bool) -> Array:
    """Concatenates inputs and adds rows, copies of the first one; shapes are padded with the first value of each."""
    if pads_shapes and len({part.shape[1:] for part in parts}) > 1:
        shape = np.max([part.shape[1:] for part in parts], axis=0)
        parts = [_padded(part, shape) for part in parts]
    if padding:
        parts = [*parts, np.repeat(parts[0][:1], padding, axis=0)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _padded(array: Array, shape: Any) -> Array:
    result = np.full((len(array), *shape), array.flat[0] if array.size else np.zeros((), array.dtype)[()], array.dtype)
    result[tuple(slice(0, size) for size in array.shape)] = array
    return result
