"""Session: compiles and runs parts of a graph, and owns the state of its variables."""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from thalweg._src.base import errors
from thalweg._src.base.config import ConfigProto, GraphOptions, RunMetadata, RunOptions
from thalweg._src.base.export import export
from thalweg._src.base.hook import Hook
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.compiler.place.picture import draw
from thalweg._src.graph.autodiff import functions  # noqa: F401  gives functions their symbolic gradients
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.default_stacks import default_graph_scope, default_session_scope
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.backend import Backend, CompiledStep, LocalBackend
from thalweg._src.runtime.cpu_contention import core_share
from thalweg._src.runtime.kernels.types import fetched
from thalweg._src.runtime.pipeline import show_passes
from thalweg._src.runtime.resources import swap
from thalweg._src.runtime.resources.containers import PROCESS
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.session.config_functions import get_log_device_placement
from thalweg._src.runtime.session.feeds import Convert, converter, expand_feeds, expand_keys, feed_tensor, is_composite
from thalweg._src.runtime.session.fetches import Build, flatten, key_of
from thalweg._src.runtime.session.partial_run import PartialRuns
from thalweg._src.runtime.trace import Trace

_LOCAL = ("", "local")
MAX_PLANS = 2048  # per session; a program with more step signatures compiles those again that it has not used for long


@dataclass(slots=True)
class _Plan:
    """A compiled step signature: how to convert the feeds, what to run, how to build the result."""

    feeds: list[Tensor]
    converters: list[Convert]
    executable: CompiledStep
    build: Build
    edits: int
    composites: list[Any]  # kept alive: the key of a plan contains their ids
    is_used: bool = False  # again, since the last look for plans to drop


@dataclass(slots=True)
class _Expanding:
    """A marker for feeds with composite keys: the plan is found under the expanded feeds."""

    edits: int
    is_used: bool = False


class BaseSession:
    """Base class of `Session` and `InteractiveSession`."""

    # To a server: both are set by thalweg._src.cluster.distributed.client.
    connect: ClassVar[Hook[Callable[[str, Graph, ConfigProto], Backend]]]
    reset_server: ClassVar[Hook[Callable[[str, Collection[str], ConfigProto], None]]]
    _open: weakref.WeakSet[BaseSession] = weakref.WeakSet()

    def __init__(self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None) -> None:
        target = target.decode() if isinstance(target, bytes) else target
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        self._graph = graph if graph is not None else get_default_graph()
        self._config = config if config is not None else ConfigProto()
        if self._config.intra_op_parallelism_threads > 0:
            core_share.limit(self._config.intra_op_parallelism_threads)
        if self._config.experimental.host_swap_limit_in_mb > 0:
            swap.HOST.limit = self._config.experimental.host_swap_limit_in_mb << 20
        self._is_measured = _schedule(self._config.graph_options)
        self._target = target
        self._backend = _backend(target, self._graph, self._config)
        self._plans: dict[Any, _Plan | _Expanding] = {}  # the oldest first
        self._lock = threading.RLock()  # reentrant: a Python function in constant folding may run this session
        self._closed = False
        self._running: set[Step] = set()
        self._partial = PartialRuns(self)
        self._scopes: list[contextlib.ExitStack] = []
        BaseSession._open.add(self)

    graph = ReadOnly[Graph]("The graph of the session.")

    @property
    def graph_def(self) -> Any:
        """The GraphDef of the graph."""
        return self._graph.as_graph_def()

    @property
    def sess_str(self) -> str:
        """The target of the session."""
        return self._target

    def list_devices(self) -> list[Any]:
        """Returns the devices of this session, each with `name` and `device_type`."""
        return self._backend.list_devices()

    # -- running ------------------------------------------------------------------------------------------------------

    def run(
        self,
        fetches: object,
        feed_dict: dict[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Runs what the fetches need and returns their values in the same structure, None for operations."""
        plan, values = self._prepare(fetches, feed_dict)
        return plan.build(self._execute(plan.executable, values, options, run_metadata))

    def _prepare(self, fetches: object, feed_dict: dict[Any, Any] | None) -> tuple[_Plan, list[Any]]:
        if feed_dict:
            if not isinstance(feed_dict, dict):
                feed_dict = _as_dict(feed_dict)
            plan = self._plan(fetches, tuple(feed_dict))
            if type(plan) is _Expanding:
                return self._prepare(fetches, expand_feeds(feed_dict))
            return plan, [convert(value) for convert, value in zip(plan.converters, feed_dict.values())]
        return self._plan(fetches, ()), []

    def _plan(self, fetches: object, feed_keys: tuple[Any, ...]) -> Any:
        """Returns the plan of a step signature; a graph only grows, so a plan is valid until an operation is edited."""
        try:
            key = (key_of(fetches), feed_keys)
            plan = self._plans.get(key)
        except TypeError as error:
            raise TypeError(f"a fetch or a key of feed_dict cannot be hashed: {error}") from None
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if plan is None or plan.edits != self._graph.edits:
            with self._lock:
                self._drop_plans()
                plan = self._plans[key] = self._make_plan(fetches, feed_keys)
        else:
            plan.is_used = True
        return plan

    def _drop_plans(self) -> None:
        """Makes room for a plan: drops the oldest, but keeps those once more that were used since the last look.

        A step or a callable that has a plan keeps it; the programs, code and CUDA graphs of others are freed.
        """
        while len(self._plans) >= MAX_PLANS:
            key = next(iter(self._plans))
            plan = self._plans.pop(key)
            if plan.is_used:
                plan.is_used = False
                self._plans[key] = plan

    def _make_plan(self, fetches: object, feed_keys: tuple[Any, ...]) -> _Plan | _Expanding:
        graph = self._graph
        if not graph.operations:
            raise RuntimeError("The Session graph is empty.  Add operations to the graph before calling run().")
        edits = graph.edits
        if any(map(is_composite, feed_keys)):
            return _Expanding(edits)
        feeds = [feed_tensor(graph, key) for key in feed_keys]
        if len(set(feeds)) < len(feeds):
            names = [tensor.name for tensor in feeds]
            raise ValueError(f"a tensor is fed twice under different keys: {', '.join(sorted(names))}")
        flat = flatten(graph, fetches, weakref.proxy(self))
        executable = self._compile(feeds, flat.tensors, flat.operations)
        return _Plan(feeds, [converter(tensor) for tensor in feeds], executable, flat.build, edits, flat.composites)

    def _compile(self, feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Any]) -> CompiledStep:
        executable = self._backend.compile(feeds, fetches, targets)
        if self._config.log_device_placement or get_log_device_placement():
            print(executable.placement.report(), file=sys.stderr)
        return executable

    def _execute(
        self,
        executable: CompiledStep,
        feeds: list[Any],
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> list[Any]:
        if core_share.active:
            core_share.look()
        step = Step()
        timeout = options.timeout_in_ms if options is not None else 0
        timeout = timeout or self._config.operation_timeout_in_ms
        if timeout:
            step.limit(timeout)
        if run_metadata is not None:
            run_metadata.Clear()
        is_measured = self._is_measured is not None and self._is_measured(executable)
        if run_metadata is not None and (is_measured or (options is not None and options.trace_level)):
            step.trace = Trace()
        self._running.add(step)
        try:
            if self._closed:  # before it could cancel this step
                raise errors.CancelledError(None, None, "Session has been closed.")
            values = executable.run(step, feeds)
            try:
                result = fetched(values)
            except Exception as error:
                raise executable.explain_fetch(error, values) from None
        finally:
            self._running.discard(step)
        if run_metadata is not None:
            _report(executable, step.trace, options, run_metadata)
        return result

    def make_callable(
        self, fetches: object, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Returns a function that runs the fetches, with one positional argument for each tensor of feed_list."""
        keys = tuple(feed_list or ())
        plan = self._plan(fetches, keys)
        if type(plan) is _Expanding:
            return self._make_expanding_callable(fetches, keys, accept_options)
        converters, executable, build = plan.converters, plan.executable, plan.build

        def call(*args: Any, options: RunOptions | None = None, run_metadata: RunMetadata | None = None) -> Any:
            if len(args) != len(converters):
                raise TypeError(f"the callable takes {len(converters)} feeds, {len(args)} were given")
            if self._closed:
                raise RuntimeError("Attempted to use a closed Session.")
            if options is not None and not accept_options:
                raise TypeError("the callable takes options only if it was made with accept_options=True")
            values = [convert(value) for convert, value in zip(converters, args)]
            return build(self._execute(executable, values, options, run_metadata))

        return call

    def _make_expanding_callable(
        self, fetches: object, keys: tuple[Any, ...], accept_options: bool
    ) -> Callable[..., Any]:
        """Returns a callable with one argument per key, some of which stand for several tensors."""
        components = tuple(expand_keys(keys))
        run = self.make_callable(fetches, components, accept_options)

        def call(*args: Any, options: RunOptions | None = None, run_metadata: RunMetadata | None = None) -> Any:
            if len(args) != len(keys):
                raise TypeError(f"the callable takes {len(keys)} feeds, {len(args)} were given")
            feeds = expand_feeds(dict(zip(keys, args)))
            return run(*[feeds[component] for component in components], options=options, run_metadata=run_metadata)

        return call

    def partial_run_setup(self, fetches: object, feeds: Sequence[Any] | None = None) -> Any:
        """Prepares a step that is run in several parts, each with more feeds; returns its handle."""
        return self._partial.setup(fetches, feeds or ())

    def partial_run(self, handle: Any, fetches: Any, feed_dict: dict[Any, Any] | None = None) -> Any:
        """Continues a prepared step: takes further feeds and returns further fetches."""
        return self._partial.run(handle, fetches, feed_dict or {})

    def show_program(self, fetches: Any, feed_dict: Any = ()) -> str:
        """Returns the generated Python code that a run of the fetches executes."""
        return str(self._plan(fetches, tuple(expand_keys(feed_dict))).executable.text)

    def show_passes(self, fetches: object, feed_dict: Any = ()) -> str:
        """Returns the graph of a run of the fetches after each pass of the compiler, as text."""
        flat = flatten(self._graph, fetches)
        feeds = [feed_tensor(self._graph, key) for key in expand_keys(feed_dict)]
        return show_passes(feeds, flat.tensors, flat.operations, self._config, self._backend.placed)

    def show_placement(self, fetches: Any, feed_dict: Any = (), picture: object = None) -> str:
        """Returns, for each node of a run of the fetches, its feasible devices, its device, and why.

        picture: a file to draw it in, for Graphviz (.dot) or, with matplotlib, as an image (.png, .svg, .pdf); a
            `tf.summary.FileWriter` gets the graph for TensorBoard, where it can be coloured by device
        """
        placement = self._plan(fetches, tuple(expand_keys(feed_dict))).executable.placement
        if picture is not None:
            draw(placement, picture, self._graph)
        return str(placement.report(why=True))

    # -- closing and default session ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Cancels running steps, frees the session's state, and forbids further runs."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._plans.clear()
        self._partial.clear()
        for step in list(self._running):
            step.fail(errors.CancelledError(None, None, "Session has been closed."))
        self._backend.close()

    def as_default(self) -> contextlib.AbstractContextManager[Any]:
        """Makes this the session that `eval` and `run` of tensors and operations use."""
        return default_session_scope(self)

    def _enter(self) -> None:
        scope = contextlib.ExitStack()
        scope.enter_context(default_graph_scope(self._graph))
        scope.enter_context(default_session_scope(self))
        self._scopes.append(scope)

    def _leave(self) -> None:
        self._scopes.pop().close()


@export("Session")
class Session(BaseSession):
    """Runs operations of a graph; a context manager that closes the session.

    Args:
        graph: The graph to run; by default the current default graph.
    """

    def __enter__(self) -> Session:
        if self._scopes:
            raise RuntimeError(
                "Session context managers are not re-entrant. "
                "Use `Session.as_default()` if you want to enter a session multiple times."
            )
        self._enter()
        return self

    def __exit__(self, *exc: object) -> None:
        self._leave()
        self.close()

    @staticmethod
    def reset(target: str = "", containers: Sequence[str] | None = None, config: Any = None) -> None:
        """Clears the named containers, or all state if none is named, and closes the sessions of the target."""
        names = [containers] if isinstance(containers, str) else containers
        if target in _LOCAL:
            PROCESS.reset(names)
        else:
            BaseSession.reset_server(target, names or (), config or ConfigProto())
        for session in list(BaseSession._open):
            if session._target == target:
                session.close()


@export("InteractiveSession")
class InteractiveSession(BaseSession):
    """A session that makes itself the default, for shells and notebooks.

    Args:
        graph: The graph to run; by default the current default graph.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None) -> None:
        super().__init__(target, graph, config)
        self._enter()

    def close(self) -> None:
        super().close()
        if self._scopes:
            self._leave()


def _backend(target: str, graph: Graph, config: ConfigProto) -> Backend:
    return LocalBackend(config) if target in _LOCAL else BaseSession.connect(target, graph, config)


def _schedule(options: GraphOptions) -> Callable[[CompiledStep], bool] | None:
    """Returns a function that decides for each step whether its costs are measured; None if they never are."""
    every, after = options.build_cost_model, options.build_cost_model_after
    if every <= 0:
        return None

    def is_measured(executable: CompiledStep) -> bool:
        number = next(executable.steps) - after
        return number >= 0 and (number + 1) % every == 0

    return is_measured


def _report(executable: CompiledStep, trace: Trace | None, options: RunOptions | None, metadata: RunMetadata) -> None:
    """Fills the metadata of a step."""
    if trace is not None:
        trace.write_to(metadata)
        executable.placement.report_estimates(metadata)
    if options is not None and options.output_partition_graphs:
        metadata.partition_graphs.extend(executable.partition_graphs())


def _as_dict(feed_dict: Any) -> dict[Any, Any]:
    try:
        return dict(feed_dict)
    except (TypeError, ValueError):
        raise TypeError(f"feed_dict must be a dictionary, got {type(feed_dict).__name__}") from None
