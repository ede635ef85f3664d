"""Replica threads: the function of a strategy's run, called once per replica, so that replicas meet in merge calls.

Threads of the replicas and the thread of the strategy take turns: only one of them runs at a time. That makes the order
of operations in the graph the same in each run of a program.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.scopes import captured_scopes, control_dependencies, name_scope, with_scopes
from thalweg._src.graph.variable_creators import variable_creator_scope, variable_creators
from thalweg._src.training.distribute.replica_context import ReplicaContext
from thalweg._src.training.distribute.values import regroup, value_of
from thalweg._src.training.variables.distribution import Mode, entered
from thalweg._src.training.variables.variable_scope import get_variable_scope, variable_scope, variable_store


class _Abandoned(BaseException):
    """Ends the thread of a replica after another one has failed."""


class MergingReplicaContext(ReplicaContext):
    """The context of a replica that has a thread of its own."""

    def __init__(self, strategy: Any, replica_id: int, thread: _ReplicaThread) -> None:
        super().__init__(strategy, replica_id)
        self.local_index = thread.index
        self._thread = thread

    def _merge_call(self, merge_fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if threading.current_thread() is not self._thread:
            raise RuntimeError("merge_call was called by another thread than that of the replica")
        return self._thread.merge(merge_fn, tuple(args), kwargs)


class _Merge:
    """A merge call that waits for the other replicas, with the scopes in which it was made."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], graph: Graph) -> None:
        self.fn, self.args, self.kwargs = fn, args, kwargs
        self.name_scope = graph.get_name_scope()
        self.variable_scope = get_variable_scope()
        self.controls: list[Operation] = [op for scope in graph.scopes.controls for op in scope.controls]


class _ReplicaThread(threading.Thread):
    """Runs the function of one replica until it returns or makes a merge call."""

    def __init__(
        self,
        strategy: Any,
        index: int,
        replica_id: int,
        place: str,
        call: Callable[[], Any],
        creator: Callable[..., Any],
    ) -> None:
        super().__init__(name=f"replica_{index}", daemon=True)
        self.index = index
        self.pending: _Merge | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self._place = place
        self._call = call
        self._creator = creator
        self._context = MergingReplicaContext(strategy, replica_id, self)
        self._graph = get_default_graph()
        self._scopes = captured_scopes(self._graph)
        self._creators = list(variable_creators().stack)
        self._variable_scope = get_variable_scope()
        self._resumed, self._paused = threading.Event(), threading.Event()
        self._paused.set()
        self._abandoned = False
        self._answer: Any = None

    def run(self) -> None:
        try:
            self._wait()
            with self._graph.as_default(), with_scopes(self._graph, self._scopes), self._entered():
                self.result = self._call()
        except _Abandoned:
            pass
        except BaseException as error:
            self.error = error
        finally:
            self.done = True
            self._paused.set()

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        """Enters the scopes of the strategy's thread, and those of the replica."""
        variable_creators().stack[:] = self._creators
        with (
            self._context,
            self._graph.device(self._place),
            self._name_scope(),
            variable_scope(self._variable_scope, reuse=self.index > 0, auxiliary_name_scope=False),
            variable_creator_scope(self._creator),
        ):
            yield

    def _name_scope(self) -> contextlib.AbstractContextManager[Any]:
        return name_scope(f"replica_{self.index}") if self.index else contextlib.nullcontext()

    def merge(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Hands a merge call to the thread of the strategy and returns its result for this replica."""
        self.pending = _Merge(fn, args, kwargs, self._graph)
        self._paused.set()
        self._wait()
        self.pending = None
        return self._answer

    def _wait(self) -> None:
        self._resumed.wait()
        self._resumed.clear()
        if self._abandoned:
            raise _Abandoned

    # -- what the thread of the strategy calls ------------------------------------------------------------------------

    def proceed(self, answer: object = None) -> None:
        """Lets the replica run until it returns or makes its next merge call."""
        self._answer = answer
        self._paused.clear()
        self._resumed.set()
        self._paused.wait()

    def abandon(self) -> None:
        """Ends a thread that waits."""
        if not self.done and self._paused.is_set():
            self._abandoned = True
            self._resumed.set()
            self.join()


class SharedVariables:
    """The variables that the first replica creates with `tf.Variable`, which the others find by their order.

    Those of `tf.get_variable` are found by name.
    """

    def __init__(self) -> None:
        self._created: list[Any] = []

    def creator(self, index: int) -> Callable[..., Any]:
        """Returns the function of `variable_creator_scope` for a replica."""
        if index == 0:

            def create(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
                variable = next_creator(**kwargs)
                self._created.append(variable)
                return variable

            return create
        shared_variables = self._unnamed()

        def reuse(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
            variable = next(shared_variables, None)
            if variable is None:
                raise RuntimeError(
                    f"replica {index} creates the variable {kwargs.get('name')!r}, which replica 0 does not: each "
                    "replica must create the same variables in the same order"
                )
            return variable

        return reuse

    def _unnamed(self) -> Iterator[Any]:
        shared = {id(variable) for variable in variable_store().variables.values()}
        yield from (variable for variable in self._created if id(variable) not in shared)


def call_in_threads(
    strategy: Any,
    places: Sequence[str],
    first_id: int,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Calls a function in the context of each replica, in threads that meet in merge calls, and groups the results."""
    variables = SharedVariables()

    def call(index: int) -> Callable[[], Any]:
        return lambda: fn(*value_of(index, args), **value_of(index, kwargs))

    # Replicas run to their next merge call one after another, each until it pauses or returns; then the call is made
    # once with the arguments of all, and the answers let them go on. One thread runs at a time, so that the graph needs
    # no locks here, and names and random seeds of operations do not depend on scheduling. The function must make the
    # same merge calls in each replica, in the same order: that is checked, since a replica without a partner would
    # otherwise wait forever.
    threads = [
        _ReplicaThread(strategy, index, first_id + index, place, call(index), variables.creator(index))
        for index, place in enumerate(places)
    ]
    for thread in threads:
        thread.start()
    try:
        answers: list[Any] = [None] * len(threads)
        while not all(thread.done for thread in threads):
            for thread, answer in zip(threads, answers):
                thread.proceed(answer)
                if thread.error is not None:
                    raise thread.error
            answers = _merged(strategy, threads)
        for thread in threads:
            thread.join()
        return regroup([thread.result for thread in threads])
    finally:
        for thread in threads:
            thread.abandon()


def _merged(strategy: Any, threads: Sequence[_ReplicaThread]) -> list[Any]:
    """Makes the merge call of all replicas and returns the answer to each."""
    pending = [thread.pending for thread in threads if not thread.done]
    if not pending:
        return []
    if len(pending) < len(threads):
        raise RuntimeError(
            "some replicas made fewer merge calls than others: each replica must make the same ones (assignments to "
            "mirrored variables, optimizers and all_reduce are merge calls)"
        )
    calls = [call for call in pending if call is not None]
    first = calls[0]
    controls = [op for call in calls for op in call.controls]
    with (
        entered(Mode(strategy)),
        name_scope(f"{first.name_scope}/" if first.name_scope else None),
        variable_scope(first.variable_scope, auxiliary_name_scope=False),
        control_dependencies(controls) if controls else contextlib.nullcontext(),
    ):
        answer = first.fn(strategy, *regroup([call.args for call in calls]), **regroup([call.kwargs for call in calls]))
    return [value_of(index, answer) for index in range(len(threads))]
