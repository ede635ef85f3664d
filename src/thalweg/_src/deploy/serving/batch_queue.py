"""The scheduling of batches, without threads and clocks: which requests form the next batch, and when.

A request that cannot be answered before its deadline is refused as soon as that is known, and never computed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from thalweg._src.base import errors
from thalweg._src.deploy.serving.config import BatchingParameters

_WEIGHT = 0.2  # of the latest batch in the averages
SHORT = 3e-4  # seconds
_RENEW_SECONDS = 1.0  # after which a duration is measured again, even if it was too long


@dataclass(slots=True)
class Average:
    """Moving averages of a time in seconds and of its deviation, and the least time."""

    mean: float
    deviation: float = 0.0
    least: float = float("inf")

    def __post_init__(self) -> None:
        self.least = min(self.least, self.mean)

    @property
    def expected(self) -> float:
        """The time with room for what takes longer than usual."""
        return self.mean + 2 * self.deviation

    def add(self, seconds: float) -> None:
        """Adds a time; a single one that is much longer, since another process had the core, counts for less."""
        self.least = min(self.least, seconds)
        seconds = min(seconds, 2 * self.expected)
        self.deviation += _WEIGHT * (abs(seconds - self.mean) - self.deviation)
        self.mean += _WEIGHT * (seconds - self.mean)


class Duration:
    """How long the batches of a signature take, by the number of their examples."""

    def __init__(self) -> None:
        self._averages: dict[int, Average] = {}
        self.measured = float("-inf")  # when the last batch was begun

    def add(self, size: int, seconds: float) -> None:
        """Records how long a batch took."""
        if size in self._averages:
            self._averages[size].add(seconds)
        else:
            self._averages = {**self._averages, size: Average(seconds)}

    def seconds(self, size: int) -> float:
        """Returns what a batch is expected to take: no more than a larger one, or per example than a smaller one."""
        return min((average.expected * max(1.0, size / n) for n, average in self._averages.items()), default=0.0)

    def is_short(self, size: int) -> bool:
        """Returns whether a batch gains nothing by other threads: those of kernels spin, and all have to be woken.

        The least time decides, since others are longer while the machine is busy.
        """
        average = self._averages.get(size)
        return average is not None and average.least < SHORT


@dataclass(slots=True, eq=False)
class Request:
    """A request that waits.

    key: what it can share a batch with: requests of the same key
    size: the number of its examples
    arrival, deadline: on the clock of the caller
    duration: that of the batches of its signature
    """

    key: Hashable
    size: int
    arrival: float
    deadline: float | None = None
    duration: Duration = field(default_factory=Duration)
    payload: Any = None
    is_cancelled: bool = False
    is_sample: bool = False  # is computed to learn how long that takes now


@dataclass(slots=True)
class Batch:
    """Requests to compute together, and those that have waited too long, to be refused."""

    requests: list[Request] = field(default_factory=list)
    late: list[Request] = field(default_factory=list)
    size: int = 0  # the number of examples
    expected: float = 0.0  # seconds
    seconds: float = 0.0  # that it was computed


@dataclass(slots=True)
class _Queue:
    """The requests of one key that wait, and the number of their examples."""

    requests: deque[Request] = field(default_factory=deque)
    size: int = 0


class BatchQueues:
    """The requests that wait, in a queue for each key.

    A queue is first in, first out, and a batch is a prefix of it, so that no request overtakes another of its key.
    Among the queues, the one that was due first goes first. So no request and no key starves.

    Admission control: with the measured durations of batches it is known when the batch of a new request would end,
    after all that is computed now and all that waits. If that is after its deadline, it is refused at once. Were it
    admitted, it would be computed in vain and make later ones late as well, until under overload every answer comes
    after its deadline. A request that is admitted may still become late, since durations vary: `take` refuses it then.

    A duration that was measured while the machine was disturbed could refuse all requests, and would never be corrected
    without a batch to measure. So after a second without a batch of the signature, one request is computed in spite of
    it, as a sample.
    """

    def __init__(self, parameters: BatchingParameters) -> None:
        self._parameters = parameters
        self._queues: dict[Hashable, _Queue] = {}
        self._running: dict[int, Batch] = {}  # that are being computed

    def add(self, request: Request, now: float) -> None:
        """Adds a request; raises UnavailableError if too many wait, DeadlineExceededError if it would be late."""
        queue = self._queues.get(request.key) or _Queue()
        waiting, delay = -(-queue.size // self._parameters.max_batch_size), self._delay()
        if waiting >= self._parameters.max_enqueued_batches:
            raise overloaded(
                f"the batch scheduling queue is full: {waiting} batches are enqueued; raise max_enqueued_batches, or "
                "repeat the request later",
                max(delay, 1e-3),
            )
        expected = delay + self._seconds(request, request.size)
        if request.deadline is not None and now + expected > request.deadline:
            if delay or now - request.duration.measured < _RENEW_SECONDS:
                raise too_late(request, now, expected)
            request.is_sample = True
        self._queues[request.key] = queue
        queue.requests.append(request)
        queue.size += request.size

    def is_empty(self) -> bool:
        """Returns whether nothing waits."""
        return not self._queues

    def next_due(self) -> float | None:
        """Returns when the next batch is due, None if nothing waits."""
        return min(map(self._due, self._queues.values()), default=None)

    def take(self, now: float, early: bool = False) -> Batch | None:
        """Returns the batch that was due first, None if none is due; `finish` is called for it later.

        early: a batch is due as soon as there is a request
        """
        due = [
            (self._due(queue), queue.requests[0].arrival, key)
            for key, queue in self._queues.items()
            if early or self._due(queue) <= now
        ]
        if not due:
            return None
        _, _, key = min(due, key=itemgetter(0, 1))
        queue, batch, limit = self._queues[key], Batch(), 0
        while queue.requests:
            request = queue.requests[0]
            is_late = request.deadline is not None and now + self._seconds(request, request.size) > request.deadline
            is_late = is_late and not request.is_sample
            if not is_late and not request.is_cancelled:
                limit = limit or self._limit(request)
                if batch.requests and batch.size + request.size > limit:
                    break
                batch.requests.append(request)
                batch.size += request.size
            elif is_late:
                batch.late.append(request)
            queue.requests.popleft()
            queue.size -= request.size
        if not queue.requests:
            del self._queues[key]
        if batch.requests:
            batch.expected = self._seconds(batch.requests[0], batch.size)
            batch.requests[0].duration.measured = now
        self._running[id(batch)] = batch
        return batch

    def finish(self, batch: Batch) -> None:
        """Records that a batch was computed."""
        del self._running[id(batch)]
        if batch.requests:
            batch.requests[0].duration.add(self._parameters.padded(batch.size), batch.seconds)

    def _delay(self) -> float:
        """Returns the expected seconds until all that waits now is computed."""
        waiting = sum(batch.expected for batch in self._running.values())
        for queue in self._queues.values():
            full, rest = divmod(queue.size, limit := self._limit(queue.requests[0]))
            waiting += full * self._seconds(queue.requests[0], limit)
            waiting += self._seconds(queue.requests[0], rest) if rest else 0.0
        return waiting / self._parameters.num_batch_threads

    def _seconds(self, request: Request, size: int) -> float:
        """Returns what a batch of some examples like those of a request is expected to take."""
        return request.duration.seconds(self._parameters.padded(size))

    def _limit(self, request: Request) -> int:
        """Returns the most examples in a batch with a request.

        A request may arrive just after a batch was begun, wait for it and be computed in the next one, so the time
        until its deadline allows batches of which two take no longer.
        """
        most = self._parameters.max_batch_size
        if request.deadline is None:
            return most
        half = (request.deadline - request.arrival) / 2
        if self._seconds(request, most) <= half:
            return most
        sizes = self._parameters.allowed_batch_sizes or [1 << power for power in range(most.bit_length())]
        return max((size for size in sizes if self._seconds(request, size) <= half), default=1)

    def _due(self, queue: _Queue) -> float:
        """Returns when the first batch of a queue is due: when full at once, else after the timeout.

        A batch does not wait for so long that one of its requests is late.
        """
        if queue.size >= self._parameters.max_batch_size:
            return float("-inf")
        due = queue.requests[0].arrival + self._parameters.batch_timeout_micros * 1e-6
        deadlines = [request.deadline for request in queue.requests if request.deadline is not None]
        return min(due, min(deadlines) - 2 * self._seconds(queue.requests[0], queue.size)) if deadlines else due


def overloaded(message: str, seconds: float) -> errors.UnavailableError:
    """Returns the error of a request that may be repeated after some seconds."""
    error = errors.UnavailableError(None, None, message)
    error.retry_after = seconds  # type: ignore[attr-defined]
    return error


def too_late(request: Request, now: float, seconds: float) -> errors.DeadlineExceededError:
    """Returns the error of a request that would be answered after its deadline."""
    left = 1e3 * ((request.deadline or now) - now)
    return errors.DeadlineExceededError(
        None,
        None,
        f"the request is not computed: its deadline is in {left:.1f} ms, the answer in {1e3 * seconds:.1f} ms",
    )
