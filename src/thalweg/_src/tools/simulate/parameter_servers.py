"""Discrete-event simulation of training with parameter servers, asynchronous or synchronous with backup workers.

A worker pulls the parameters of each server, computes, and pushes its gradients. Transfers share the network interface
of a server equally or follow one another, pulls and pushes apart (full duplex); a worker divides its own bandwidth
among servers in proportion to their shards. Messages, accumulation and updates occupy the cores of the server in the
order of arrival. Servers with shards of equal size get the same requests at the same times, so one of them is simulated
for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from thalweg._src.tools.simulate.events import Clock, Pool, Queue
from thalweg._src.tools.simulate.result import Result
from thalweg._src.tools.simulate.scenario import Scenario

WARM_UP = 0.2  # the share of steps that is not counted, since all workers start at the same time
_DRAWN = 1 << 14


class _Worker:
    """The state of a worker in its current step.

    begin, seen: when the step began, and after how many updates
    arriving: for each bucket, how many servers have not sent it
    forward, backward: buckets whose computing is done; `waits`: for the parameters of the next bucket
    gradients: for each server, buckets that are to be sent; the first is being sent
    left: gradients, of all buckets and servers, that are not applied or accumulated
    busy: whether it still does what no task waits for, and its next step begins afterwards
    due: when that step was due, None if it is not
    """

    __slots__ = (
        *("arriving", "backward", "begin", "busy", "due", "forward", "gradients"),
        *("left", "seconds", "seen", "waits"),
    )

    def __init__(self, servers: int) -> None:
        self.gradients = [0] * servers
        self.busy = False
        self.due: float | None = None

    def begin_step(self, now: float, seen: int, seconds: float, buckets: int) -> None:
        servers = len(self.gradients)
        self.begin, self.seen, self.seconds = now, seen, seconds
        self.arriving = [servers] * buckets
        self.forward = self.backward = 0
        self.waits = True
        self.left = servers * buckets


class _Server:
    """A parameter server, or several with equal shards: what one bucket costs, and its resources."""

    __slots__ = ("accumulate", "apply", "cores", "index", "message", "receives", "sends", "size")

    def __init__(self, index: int, size: float, scenario: Scenario, clock: Clock, host: Pool | None) -> None:
        self.index = index
        self.size = size / scenario.buckets
        self.message = scenario.ps_link.overhead / scenario.buckets
        self.apply = size / scenario.apply
        self.accumulate = self.size / scenario.accumulate
        limit = scenario.link.bandwidth * (size / scenario.bytes if scenario.bytes else 1.0)
        self.sends, self.receives = (_interface(scenario, clock, limit) for _ in range(2))
        self.cores = host or Queue(clock, scenario.ps_cores, 1.0)


def _interface(scenario: Scenario, clock: Clock, limit: float) -> Pool | Queue:
    """Returns one direction of the network interface of a server."""
    bandwidth = scenario.ps_link.bandwidth
    return Pool(clock, bandwidth, limit) if scenario.sharing == "fair" else Queue(clock, 1, bandwidth, limit)


class ParameterServers:
    """A simulated job; `run` gives its result.

    updates: how many updates were applied, which is also the number of the current synchronous step
    accepted: gradients in the current synchronous step
    waiting: workers that wait for the end of the synchronous step
    """

    def __init__(self, scenario: Scenario, steps: int, seed: int) -> None:
        self._scenario = scenario
        self._clock = clock = Clock()
        self._host = None if scenario.host_cores is None else Pool(clock, scenario.host_cores, 1.0)
        equal = scenario.shards if self._host else Counter(scenario.shards)  # on one host all of them take cores
        self._servers = [_Server(i, size, scenario, clock, self._host) for i, size in enumerate(equal)]
        self._workers = [_Worker(len(self._servers)) for _ in range(scenario.workers + scenario.backups)]
        self._times = self._draw(np.random.default_rng(seed))
        self._latency = scenario.link.latency + scenario.ps_link.latency
        self._is_sync = scenario.mode == "sync"
        self._push_latency = self._latency if self._is_sync else 2 * self._latency  # with that of the acknowledgement
        self._last = steps if self._is_sync else steps * scenario.workers
        self._updates = self._accepted = self._dropped = self._received = self._applying = 0
        self._waiting: list[_Worker] = []
        self._ends: list[float] = []
        self._seconds: list[float] = []
        self._staleness: list[int] = []

    def run(self) -> Result:
        """Simulates until every worker has made its steps on average.

        Every other asynchronous worker begins with a push: if all began with a pull, they would stay together, and
        leave one of the two directions of the network unused at all times.
        """
        for number, worker in enumerate(self._workers):
            if self._is_sync or number % 2 == 0:
                self._begin(worker)
            else:
                self._begin_with_push(worker)
        self._clock.run()
        return self._result()

    def _draw(self, random: np.random.Generator) -> Iterator[float]:
        while True:
            yield from self._scenario.compute.draw(random, _DRAWN).tolist()

    # -- a worker's step ----------------------------------------------------------------------------------------------

    def _reset(self, worker: _Worker) -> None:
        worker.begin_step(self._clock.now, self._updates, next(self._times), self._scenario.buckets)

    def _begin_with_push(self, worker: _Worker) -> None:
        self._reset(worker)
        for server in self._servers:
            worker.gradients[server.index] = self._scenario.buckets
            server.receives.add(server.size, self._pushed, (worker, server))

    def _begin(self, worker: _Worker) -> None:
        if worker.busy:
            worker.due = self._clock.now
            return
        self._reset(worker)
        if worker.due is not None:
            worker.begin, worker.due = worker.due, None
        for server in self._servers:
            self._clock.after(2 * self._latency, self._request, (worker, server, 0))  # of the request and the answer
        if self._host is not None:
            worker.busy = True
            self._host.add(self._scenario.background, self._free, worker)

    def _free(self, worker: _Worker) -> None:
        """Begins the next step of a worker if it waited for the rest of the last one."""
        worker.busy = False
        if worker.due is not None:
            self._begin(worker)

    def _request(self, pull: tuple[_Worker, _Server, int]) -> None:
        pull[1].cores.add(pull[1].message, self._send, pull)

    def _send(self, pull: tuple[_Worker, _Server, int]) -> None:
        pull[1].sends.add(pull[1].size, self._sent, pull)

    def _sent(self, pull: tuple[_Worker, _Server, int]) -> None:
        worker, server, bucket = pull
        if bucket + 1 < self._scenario.buckets:
            self._request((worker, server, bucket + 1))
        worker.arriving[bucket] -= 1
        if worker.waits and not worker.arriving[worker.forward]:
            worker.waits = False
            self._compute(worker)

    def _compute(self, worker: _Worker) -> None:
        """Computes the next piece of the forward pass or, after it, of the backward pass."""
        scenario = self._scenario
        if scenario.buckets == 1:
            share, done = 1.0, self._computed
        elif worker.forward < scenario.buckets:
            share, done = scenario.forward / scenario.buckets, self._went_forward
        else:
            share, done = (1 - scenario.forward) / scenario.buckets, self._computed
        if self._host is not None:
            self._host.add(share * worker.seconds, done, worker)
        else:
            self._clock.after(share * worker.seconds, done, worker)

    def _went_forward(self, worker: _Worker) -> None:
        worker.forward += 1
        if worker.forward == self._scenario.buckets or not worker.arriving[worker.forward]:
            self._compute(worker)
        else:
            worker.waits = True

    def _computed(self, worker: _Worker) -> None:
        worker.backward += 1
        if worker.backward < self._scenario.buckets:
            self._compute(worker)
        for server in self._servers:
            worker.gradients[server.index] += 1
            if worker.gradients[server.index] == 1:
                server.receives.add(server.size, self._pushed, (worker, server))

    def _pushed(self, push: tuple[_Worker, _Server]) -> None:
        worker, server = push
        self._clock.after(self._push_latency, self._receive, push)
        worker.gradients[server.index] -= 1
        if worker.gradients[server.index]:
            server.receives.add(server.size, self._pushed, push)

    def _receive(self, push: tuple[_Worker, _Server]) -> None:
        worker, server = push
        work = server.message
        if not self._is_sync:
            work += server.apply / self._scenario.buckets
        elif self._is_current(worker):
            work += server.accumulate
        server.cores.add(work, self._received_by_one, worker)

    def _received_by_one(self, worker: _Worker) -> None:
        worker.left -= 1
        if not worker.left:
            (self._end_sync if self._is_sync else self._end_async)(worker)

    # -- the end of a step --------------------------------------------------------------------------------------------

    def _end_async(self, worker: _Worker) -> None:
        if self._clock.stopped:  # by the end of another step at the same time
            return
        self._seconds.append(self._clock.now - worker.begin)
        self._staleness.append(self._updates - worker.seen)
        self._count()
        self._begin(worker)

    def _is_current(self, worker: _Worker) -> bool:
        return worker.seen == self._updates and self._accepted < self._scenario.workers

    def _end_sync(self, worker: _Worker) -> None:
        self._received += 1
        is_current = self._is_current(worker)
        if worker.seen == self._updates:
            self._waiting.append(worker)
        else:
            self._clock.after(self._latency, self._begin, worker)  # a late one goes on with the current step
        if not is_current:
            self._dropped += 1
            return
        self._accepted += 1
        if self._accepted == self._scenario.workers:
            self._applying = len(self._servers)
            for server in self._servers:
                server.cores.add(server.apply, self._applied, None)

    def _applied(self, _: None) -> None:
        self._applying -= 1
        if self._applying:
            return
        self._accepted = 0
        self._count()
        released, self._waiting = self._waiting, []
        for worker in released:
            self._clock.after(self._latency, self._begin, worker)

    def _count(self) -> None:
        self._updates += 1
        self._ends.append(self._clock.now)
        self._clock.stopped = self._updates == self._last

    # -- the result ---------------------------------------------------------------------------------------------------

    def _result(self) -> Result:
        scenario = self._scenario
        ends = np.asarray([0.0, *self._ends])
        least = 0 if self._is_sync else len(self._workers)
        first = min(max(int(WARM_UP * self._last), least), self._last - 1)
        elapsed = ends[-1] - ends[first]
        examples = (self._last - first) * scenario.batch * (scenario.workers if self._is_sync else 1)
        servers = self._servers
        utilization = {
            "send": max(server.sends.utilization() for server in servers),
            "receive": max(server.receives.utilization() for server in servers),
        }
        if self._host is None:
            utilization["cpu"] = max(server.cores.utilization() for server in servers)
        else:
            utilization["host"] = self._host.utilization()
        return Result(
            scenario,
            np.diff(ends)[first:] if self._is_sync else np.asarray(self._seconds[first:]),
            float(examples / elapsed) if elapsed else float("inf"),
            np.asarray(self._staleness[first:], np.int64),
            self._dropped / self._received if self._received else 0.0,
            utilization,
        )
