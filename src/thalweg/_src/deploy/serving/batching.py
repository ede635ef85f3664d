"""Dynamic batching: requests of one signature are computed together, padded to the sizes that are allowed.

Where a batch fails, its requests are computed one by one, so that only those that are at fault get an error.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thalweg._src.base import errors
from thalweg._src.deploy.serving.batch_queue import SHORT, Batch, BatchQueues, Duration, Request, too_late
from thalweg._src.deploy.serving.config import BatchingParameters
from thalweg._src.deploy.serving.event_loop import EventLoop, with_deadline
from thalweg._src.deploy.serving.inference import Inference, Outputs
from thalweg._src.deploy.serving.metrics import Metrics
from thalweg._src.deploy.serving.tensors import Array

_ALONE_SECONDS = 0.1  # without concurrent requests, after which none are expected


@dataclass(slots=True, eq=False)
class _Work:
    """What a waiting request needs computed.

    is_alone: whether it shares no batch with others
    outcome: outputs or an error, from the thread that computes, for the result, which belongs to the event loop
    """

    inference: Inference
    is_alone: bool
    result: asyncio.Future[Outputs]
    outcome: Outputs | Exception | None = None


class Batcher:
    """Computes requests in batches. All methods are called in the event loop, so that nothing is locked.

    Args:
        parameters: Sizes, timeouts and limits.
        metrics: Counts the batches.
        loop: Where it runs, with the threads that compute.
        clock: Returns the time; deadlines are of the same clock.
    """

    def __init__(
        self,
        parameters: BatchingParameters,
        metrics: Metrics,
        loop: EventLoop,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._parameters = parameters
        self._metrics = metrics
        self._loop = loop
        self._clock = clock
        self._queues = BatchQueues(parameters)
        self._computing: set[asyncio.Task[None]] = set()  # no more than num_batch_threads
        self._wakeup: asyncio.TimerHandle | asyncio.Handle | None = None
        self._last_concurrent = float("-inf")  # when a request arrived while another one waited or was computed
        self._arrived = 0  # requests that were alone when they arrived
        self._is_due = False  # whether the wake-up is for now rather than for later
        self._is_closed = False

    async def run(self, inference: Inference) -> Outputs:
        """Computes an inference, together with others."""
        # A short request that is alone is computed on the thread of the event loop: to hand it to another thread and
        # back takes longer than a small model. Other connections wait meanwhile, but no longer than SHORT; and as it is
        # alone, there is nothing that it could share a batch with.
        size = self._whole_batch(inference)
        duration, deadline = inference.signature.duration, inference.deadline
        if size is not None and self._is_quick(duration, size, deadline) and await self._is_alone():
            return self._run_here(inference, size)
        requests = self._enqueue(inference)
        try:
            pieces = await with_deadline(deadline, _results(requests), self._clock)
        except BaseException:
            for request in requests:
                request.is_cancelled = True
            raise
        if len(pieces) == 1:
            return pieces[0]
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in inference.outputs}

    def _is_quick(self, duration: Duration, size: int, deadline: float | None) -> bool:
        """Returns whether a batch is expected to hold the event loop for a short time, and to be in time."""
        expected = duration.seconds(size)
        is_in_time = deadline is None or self._clock() + expected <= deadline
        return duration.is_short(size) and expected < SHORT and is_in_time

    async def _is_alone(self) -> bool:
        """Returns whether requests come one by one: then nothing is gained by other threads and larger batches."""
        now = self._clock()
        if now - self._last_concurrent < _ALONE_SECONDS or self._computing or not self._queues.is_empty():
            return False
        self._arrived = number = self._arrived + 1
        # For one turn of the loop, the tasks of requests that were read in the same turn as this one come here as well,
        # and each takes a number: all but the last learn that they have company, and wait in the queue.
        await asyncio.sleep(0)
        if self._arrived != number:
            self._last_concurrent = now
        return self._arrived == number

    def _whole_batch(self, inference: Inference) -> int | None:
        """Returns the number of examples of an inference, if it is a batch as it is."""
        size = _size(inference) if inference.signature.is_batched else 1
        is_whole = 0 < size <= self._parameters.max_batch_size and self._parameters.padded(size) == size
        return size if is_whole and not self._is_closed else None

    def _run_here(self, inference: Inference, size: int) -> Outputs:
        """Computes a short inference in the event loop, which takes less time than to wake another thread."""
        start, signature = self._clock(), inference.signature
        self._metrics.queueing.add(signature.model, value=0.0)
        self._metrics.batch_sizes.add(signature.model, value=size)
        signature.duration.measured = start
        try:
            return inference.run()
        finally:
            signature.duration.add(size, self._clock() - start)

    def _enqueue(self, inference: Inference) -> list[Request]:
        """Puts an inference into its queue, in pieces no larger than a batch."""
        size = _size(inference) if inference.signature.is_batched else 0
        if not size:
            return [self._submit(inference, is_alone=True)]
        limit = self._parameters.max_batch_size
        if size <= limit:
            return [self._submit(inference)]
        slices = [slice(start, start + limit) for start in range(0, size, limit)]
        pieces = [{name: array[rows] for name, array in inference.inputs.items()} for rows in slices]
        return [self._submit(replace(inference, inputs=inputs)) for inputs in pieces]

    async def close(self) -> None:
        """Computes what waits, and takes nothing else."""
        self._is_closed = True
        self._wake(0.0)
        while self._computing or not self._queues.is_empty():
            await (asyncio.wait(self._computing) if self._computing else asyncio.sleep(0))

    def _submit(self, inference: Inference, is_alone: bool = False) -> Request:
        """Puts a request into its queue; one that shares no batch with others fills a batch."""
        work = _Work(inference, is_alone, asyncio.get_running_loop().create_future())
        signature, inputs = inference.signature, inference.inputs
        key: tuple[Any, ...] = (signature, None)
        size = self._parameters.max_batch_size
        if not is_alone:
            shapes = tuple(array.ndim if self._pads else array.shape[1:] for array in inputs.values())
            key = signature, inference.outputs, tuple(inputs), shapes
            size = _size(inference)
        request = Request(key, size, self._clock(), inference.deadline, signature.duration, work)
        if self._is_closed:
            raise errors.UnavailableError(None, None, "the server is being stopped")
        if self._computing or not self._queues.is_empty():
            self._last_concurrent = request.arrival
        self._queues.add(request, request.arrival)
        self._wake(0.0)
        return request

    @property
    def _pads(self) -> bool:
        return self._parameters.pad_variable_length_inputs

    def _wake(self, seconds: float) -> None:
        """Looks for batches after some seconds; what is read from other connections meanwhile may join them."""
        if self._is_due:
            return
        if self._wakeup is not None:
            self._wakeup.cancel()
        self._is_due = seconds <= 0
        loop = asyncio.get_running_loop()
        self._wakeup = (
            loop.call_soon(self._begin_batches) if self._is_due else loop.call_later(seconds, self._begin_batches)
        )

    def _begin_batches(self) -> None:
        """Begins the batches that are due, as far as threads are free."""
        self._wakeup, self._is_due = None, False
        while len(self._computing) < self._parameters.num_batch_threads:
            now = self._clock()
            batch = self._queues.take(now, early=self._is_closed)
            if batch is None:
                due = self._queues.next_due()
                if due is not None:
                    self._wake(due - now)
                return
            for request in batch.late:
                request.payload.outcome = too_late(request, now, 0.0)
            _settle(batch.late)
            if not batch.requests:
                self._queues.finish(batch)
            else:
                self._computing.add(asyncio.create_task(self._compute_in_thread(batch)))

    async def _compute_in_thread(self, batch: Batch) -> None:
        """Computes a batch on another thread."""
        try:
            await self._loop.compute(self._compute, batch)
        except BaseException as error:  # none may be left waiting
            for request in batch.requests:
                request.payload.outcome = errors.InternalError(None, None, f"a batch failed: {error!r}")
        self._queues.finish(batch)
        _settle(batch.requests)
        self._computing.discard(asyncio.current_task())  # type: ignore[arg-type]
        self._wake(0.0)

    def _compute(self, batch: Batch) -> None:
        start = self._clock()
        works: list[_Work] = [request.payload for request in batch.requests]
        for request in batch.requests:
            self._metrics.queueing.add(works[0].inference.signature.model, value=(start - request.arrival) * 1e6)
        self._run(batch, works)
        batch.seconds = self._clock() - start

    def _run(self, batch: Batch, works: list[_Work]) -> None:
        """Computes the outcome of each request, all at once if that works.

        The error of a kernel does not say which example was at fault, so that the requests of a batch that fails are
        computed again, one by one.
        """
        if works[0].is_alone:
            self._run_individually(works)
            return
        try:
            answers = self._run_together(works, [request.size for request in batch.requests])
        except Exception as error:
            if len(works) == 1:
                works[0].outcome = error
            else:
                self._run_individually(works)
            return
        for work, outputs in zip(works, answers):
            work.outcome = outputs

    def _run_together(self, works: list[_Work], sizes: list[int]) -> list[Outputs]:
        inferences, total = [work.inference for work in works], sum(sizes)
        signature, padded = inferences[0].signature, self._parameters.padded(total)
        self._metrics.batch_sizes.add(signature.model, value=padded)
        self._metrics.padding.add(signature.model, value=padded - total)
        inputs = {
            name: _joined([inference.inputs[name] for inference in inferences], padded - total, self._pads)
            for name in inferences[0].inputs
        }
        outputs = signature.run(inputs, inferences[0].outputs)
        for name, array in outputs.items():
            if array.shape[:1] != (padded,):
                raise errors.FailedPreconditionError(
                    None,
                    None,
                    f"output {name!r} has shape {list(array.shape)} for a batch of {padded} examples; serve the model "
                    "without batching",
                )
        ends = np.cumsum(sizes).tolist()
        return [{name: array[end - size : end] for name, array in outputs.items()} for size, end in zip(sizes, ends)]

    def _run_individually(self, works: list[_Work]) -> None:
        for work in works:
            try:
                work.outcome = work.inference.run()
            except Exception as error:
                work.outcome = error


async def _results(requests: list[Request]) -> list[Outputs]:
    return [await request.payload.result for request in requests]


def _size(inference: Inference) -> int:
    """Returns the number of examples of an inference, 0 if its inputs differ in it."""
    sizes = {len(array) for array in inference.inputs.values()}
    return sizes.pop() if len(sizes) == 1 else 0


def _settle(requests: list[Request]) -> None:
    """Wakes the coroutines that wait for requests; in the event loop, since its futures belong to no other thread."""
    for request in requests:
        work: _Work = request.payload
        if work.result.done():  # cancelled, since its client is gone or its deadline has passed
            continue
        if isinstance(work.outcome, Exception):
            work.result.set_exception(work.outcome)
        else:
            work.result.set_result(work.outcome or {})


def _joined(arrays: list[Array], padding: int, pads_shapes: bool) -> Array:
    """Concatenates inputs and adds rows, copies of the first one; shapes are padded with the first value of each."""
    if pads_shapes and len({array.shape[1:] for array in arrays}) > 1:
        shape = np.max([array.shape[1:] for array in arrays], axis=0)
        arrays = [_padded(array, shape) for array in arrays]
    if padding:
        arrays = [*arrays, np.repeat(arrays[0][:1], padding, axis=0)]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _padded(array: Array, shape: Array) -> Array:
    result = np.full((len(array), *shape), array.flat[0] if array.size else np.zeros((), array.dtype)[()], array.dtype)
    result[tuple(slice(0, size) for size in array.shape)] = array
    return result
