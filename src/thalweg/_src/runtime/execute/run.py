"""Pooled runs: one run of a program with blocking nodes on the thread pool.

Each segment starts when its blocking ancestors have finished, on a pool thread that it releases at the end; a blocked
node holds no thread. What becomes ready runs on the thread that made it ready, unless several segments are ready.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any

from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.runtime.compile.failure import explain, in_iteration
from thalweg._src.runtime.execute.program import Program
from thalweg._src.runtime.execute.readiness import Item, Readiness
from thalweg._src.runtime.execute.token_run import TokenRun
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.thread_pool import computing, threads


def new_run(program: Program, step: Step, feeds: Sequence[Any], done: Callable[[], None]) -> Run | TokenRun:
    """Returns a run of a program on the engine that its control flow needs."""
    if program.is_unstructured:
        return TokenRun(program, step, feeds, done)
    return Run(program, step, feeds, done)


class Run:
    """Runs each segment and each blocking node of a program when it is ready, and calls `done` after the last."""

    def __init__(
        self,
        program: Program,
        step: Step,
        feeds: Sequence[Any],
        done: Callable[[], None],
        iteration: int | None = None,
    ) -> None:
        self._program = program
        self._iteration = iteration
        self._step = step
        self._done = done
        self._lock = threading.Lock()
        self.values: dict[Output, Any] = {Output(feed, 0): value for feed, value in zip(program.feeds, feeds)}
        self.values.update(program.bound.constants)
        self._readiness = Readiness(program.schedule)  # used under the lock

    def start(self, here: bool = False) -> None:
        """Starts all items without predecessors; `here`: on this thread, which may then be busy for long."""
        with self._lock:
            ready, over = self._readiness.start(), self._readiness.over
        if over:
            self._done()
        elif here:
            self._drive(ready)
        else:
            threads.start(self._drive, ready)

    def fetched(self) -> list[Any]:
        return [self.values[output] for output in self._program.fetches]

    def _drive(self, ready: Sequence[Item]) -> None:
        try:
            with computing():
                self._work(ready)
        except BaseException as error:  # an error of the executor itself: report it through the step
            self._step.fail(error)

    def _work(self, ready: Sequence[Item]) -> None:
        """Runs ready items and those they make ready; if several segments are ready, each gets a thread."""
        # Of several ready segments this thread keeps the last for itself and passes the others to the pool, so that as
        # many threads compute as there are ready segments, and a chain of segments never changes its thread.
        queue = deque(ready)
        while queue and not self._step.cancelled:
            item = queue.popleft()
            if not isinstance(item, int):
                self._start_wait(item, queue)
            elif not self._program.schedule.works[item]:
                queue.extend(self._finished(item))  # has only dependencies
            elif any(isinstance(other, int) for other in queue):
                threads.start(self._drive, [item])
            elif self._run_segment(item):
                queue.extend(self._finished(item))

    def _take(self, output: Output) -> Any:
        value = self.values[output]
        with self._lock:
            if self._readiness.used(output):
                del self.values[output]
        return value

    def _run_segment(self, index: int) -> bool:
        """Runs one segment; returns False if it failed and the step with it."""
        transaction = self._step.transaction
        if transaction is None:
            return self._compute(index)
        if not transaction.enter():
            return False
        try:
            return self._compute(index)
        finally:
            transaction.leave()

    def _compute(self, index: int) -> bool:
        program = self._program
        segment = program.segments[index]
        try:
            inputs = [self._take(output) for output in segment.inputs]
            if self._step.trace is None:
                results = program.functions[index](self._step, *inputs)
            else:
                results = program.interpret(segment, self._step, inputs, self._iteration)
        except BaseException as error:
            self._step.fail(self._program.explain(error, self._iteration))
            return False
        with self._lock:
            self.values.update(zip(segment.outputs, results))
        return True

    def _start_wait(self, node: Node, queue: deque[Item]) -> None:
        """Starts a blocking node; what it makes ready is queued, or gets a thread if it finishes later."""
        guard = [(self._take(predicate), side) for predicate, side in node.guard]
        values = [self._take(output) for output in node.inputs]
        # A kernel that blocks calls `finish` at once if it need not wait, otherwise later, on any thread. In the former
        # case the followers join the queue of this thread, without a switch to another one. `starting` is emptied when
        # the kernel returns: this thread may call `finish` later too, from other work, when the queue is not its own.
        starting, starter = [True], threading.get_ident()

        def finish(*results: object) -> None:
            if self._step.cancelled:
                return
            with self._lock:
                for i, value in enumerate(results):
                    if Output(node, i) in self._program.schedule.uses:
                        self.values[Output(node, i)] = value
            self._step.waiting.discard(node.name)
            ready = self._finished(node)
            if starting and threading.get_ident() == starter:
                queue.extend(ready)
            elif ready:
                threads.start(self._drive, ready)

        self._step.waiting.add(node.name)
        try:
            if not all(predicate is not None and bool(predicate) is side for predicate, side in guard):
                finish(*[None] * len(node.dtypes))  # an untaken branch: nothing will be sent
            elif node.type == "_While":
                Repetition(self._program.repeated[node], len(node.dtypes), self._step, values, finish).go_on()
            else:
                self._program.bound.waiting[node].function(self._step, finish, *values)
        except BaseException as error:
            place = in_iteration(self._program.device.name, self._iteration)
            self._step.fail(explain(error, node, values, place))
        starting.clear()

    def _finished(self, item: Item) -> list[Item]:
        """Returns the items that become ready when one finishes; calls `done` after the last one."""
        with self._lock:
            ready, over = self._readiness.finished(item), self._readiness.over
        if over:
            self._done()
        return ready


class Repetition:
    """A loop with blocking nodes: its condition and its body alternate, each a program of its own."""

    def __init__(
        self,
        programs: tuple[Program, Program],
        count: int,
        step: Step,
        values: Sequence[Any],
        finish: Callable[..., None],
    ) -> None:
        self._step = step
        self._variables, self._captured = list(values[:count]), list(values[count:])
        self._finish = finish
        self._lock = threading.Lock()
        self._programs = self._alternate(*programs)
        self._iteration = 0

    def _alternate(self, condition: Program, body: Program) -> Generator[Program, list[Any], None]:
        """Yields the program to run next, and receives its results."""
        while (yield condition)[0]:
            self._variables = yield body
            self._iteration += 1

    def go_on(self, results: Any = None) -> None:
        """Runs iterations until one blocks; when that finishes, the loop continues on a pool thread."""
        while True:
            try:
                program = self._programs.send(results)
            except StopIteration:
                self._finish(*self._variables)
                return
            results = self._run(program)
            if results is None:
                return

    def _run(self, program: Program) -> list[Any] | None:
        # The program runs on this thread until it blocks. If it has ended when `run.start` returns, the `while` of
        # `go_on` continues the loop; if it ends later, a thread of the pool does. Calling `go_on` from `done` in both
        # cases would overflow the stack in a loop whose iterations never wait.
        ended, starting = False, True

        def done() -> None:
            nonlocal ended
            with self._lock:
                ended = True
                if starting:
                    return
            threads.start(self._resume, run)

        run = Run(program, self._step, [*self._variables, *self._captured], done, self._iteration)
        run.start(here=True)
        with self._lock:
            starting = False
            return run.fetched() if ended else None

    def _resume(self, run: Run) -> None:
        try:
            with computing():
                self.go_on(run.fetched())
        except BaseException as error:
            self._step.fail(error)
