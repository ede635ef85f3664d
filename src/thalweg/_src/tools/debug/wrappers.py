"""Sessions that debug: each step dumps its tensors to a folder, or stops at a prompt before and after."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from thalweg._src.base import errors
from thalweg._src.graph.default_stacks import default_graph_scope, default_session_scope
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.session.fetches import flatten
from thalweg._src.tools.debug.cli import Resume, prompt
from thalweg._src.tools.debug.dump import DebugDumpDir, Filter, has_inf_or_nan, write_dump
from thalweg._src.tools.debug.watch import WatchOptions, watched

WatchFunction = Callable[[Any, Any], Any]


class BaseDebugWrapperSession:
    """The base class of sessions around another one: everything but `run` is passed on."""

    def __init__(
        self, sess: Any, thread_name_filter: str | None = None, pass_through_operrors: bool | None = False
    ) -> None:
        if not hasattr(sess, "run") or not hasattr(sess, "graph"):
            raise TypeError(f"sess: expected a session, received {sess!r}")
        self._sess = sess
        self._threads = re.compile(thread_name_filter) if thread_name_filter else None
        self._run_count = 0
        self._scopes: list[contextlib.ExitStack] = []

    @property
    def session(self) -> Any:
        """The session that runs the steps."""
        return self._sess

    @property
    def graph(self) -> Graph:
        """The graph of the session."""
        return self._sess.graph  # type: ignore[no-any-return]

    @property
    def run_call_count(self) -> int:
        """The number of calls of `run`."""
        return self._run_count

    def __getattr__(self, name: str) -> Any:
        if name == "_sess":
            raise AttributeError(name)
        return getattr(self._sess, name)

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Runs a step, watched by the debugger unless the calling thread is excluded."""
        if self._threads is not None and not self._threads.match(threading.current_thread().name):
            return self._sess.run(fetches, feed_dict, options, run_metadata)
        self._run_count += 1
        return self._debug(fetches, feed_dict, options, run_metadata)

    def _debug(self, fetches: object, feed_dict: object, options: object, run_metadata: object) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say how steps are debugged")

    def make_callable(self, fetches: Any, feed_list: Any = None, accept_options: bool = False) -> Callable[..., Any]:
        """Returns a function that runs the fetches, watched by the debugger."""

        def call(*args: Any, options: Any = None, run_metadata: Any = None) -> Any:
            return self.run(fetches, dict(zip(feed_list or (), args, strict=True)), options, run_metadata)

        return call

    def as_default(self) -> contextlib.AbstractContextManager[Any]:
        """Makes this session the default one."""
        return default_session_scope(self)

    def __enter__(self) -> Any:
        scopes = contextlib.ExitStack()
        scopes.enter_context(default_graph_scope(self.graph))
        scopes.enter_context(default_session_scope(self))
        self._scopes.append(scopes)
        return self

    def __exit__(self, *details: Any) -> None:
        self._scopes.pop().close()
        self.close()

    def close(self) -> None:
        """Closes the session."""
        self._sess.close()


def names_of(graph: Graph, fetches: object, feed_dict: Any) -> dict[str, Any]:
    """Returns the names of a step's fetches and feeds."""
    flat = flatten(graph, fetches)
    feeds = [str(getattr(key, "name", key)) for key in feed_dict or ()]
    names = [*(tensor.name for tensor in flat.tensors), *(operation.name for operation in flat.operations)]
    return {"fetches": names, "feeds": feeds}


def watch_options(watch_fn: WatchFunction | None, fetches: object, feeds: object) -> WatchOptions | None:
    """Returns what a user's function says to watch: WatchOptions, or debug ops and patterns."""
    chosen = None if watch_fn is None else watch_fn(fetches, feeds)
    return WatchOptions(*chosen) if isinstance(chosen, tuple) else chosen


class DumpingDebugWrapperSession(BaseDebugWrapperSession):
    """A session that writes the tensors of each step to a folder `run_...` below `session_root`, for DebugDumpDir."""

    def __init__(
        self,
        sess: Any,
        session_root: str,
        watch_fn: WatchFunction | None = None,
        thread_name_filter: str | None = None,
        pass_through_operrors: bool | None = None,
        log_usage: bool = True,
    ) -> None:
        super().__init__(sess, thread_name_filter, pass_through_operrors)
        if os.path.isfile(session_root):
            raise ValueError(f"session_root path points to a file: {session_root}")
        if os.path.isdir(session_root) and os.listdir(session_root):
            raise ValueError(f"session_root path points to a non-empty directory: {session_root}")
        os.makedirs(session_root, exist_ok=True)
        self._root = session_root
        self._watch_fn = watch_fn

    def _debug(self, fetches: object, feed_dict: object, options: object, run_metadata: object) -> Any:
        tensors = watched(self.graph, fetches, feed_dict, watch_options(self._watch_fn, fetches, feed_dict))
        result, values = self._sess.run([fetches, tensors], feed_dict, options, run_metadata)
        folder = tempfile.mkdtemp(prefix=f"run_{self._run_count:06d}_", dir=self._root)
        write_dump(folder, list(zip(tensors, values)), names_of(self.graph, fetches, feed_dict))
        return result


class Debugger:
    """The state of a text debugger: filters, what to do in the next runs, and the last dump."""

    def __init__(self, dump_root: str | None) -> None:
        if dump_root is not None and os.path.isdir(dump_root) and os.listdir(dump_root):
            raise ValueError(f"dump_root path points to a non-empty directory: {dump_root}")
        self._root = dump_root
        self._mode = Resume()
        self._left = 0  # runs until the next prompt
        self.count = 0
        self.filters: dict[str, Filter] = {"has_inf_or_nan": has_inf_or_nan}

    def before(self, info: dict[str, Any]) -> bool:
        """Stops at the prompt unless runs are skipped; returns whether this run is watched."""
        self.count += 1
        if not self._left:
            self._go_on(prompt(f"run {self.count}: before the step", self._text(info), self.filters))
        self._left -= 1
        return not self._mode.without_debugger and (self._mode.until is not None or not self._left)

    def _go_on(self, mode: Resume) -> None:
        self._mode = mode
        self._left = mode.times if mode.until is None else sys.maxsize

    def after(self, graph: Graph, values: list[tuple[Tensor, Any]], info: dict[str, Any]) -> None:
        """Writes the dump of a watched run, and stops at the prompt if its filter passes."""
        until = self._mode.until
        folder = self._root or tempfile.mkdtemp(prefix="tfdbg_")
        try:
            dump = write_dump(os.path.join(folder, f"run_{self.count:06d}"), values, info)
            dump.set_python_graph(graph)
            if until is None or dump.find(self.filters[until], first_n=1):
                reason = "" if until is None else f", filter {until} passed"
                self._stop(f"run {self.count}: after the step{reason}", info, dump)
        finally:
            if self._root is None:
                shutil.rmtree(folder, ignore_errors=True)

    def failed(self, error: errors.OpError, info: dict[str, Any]) -> None:
        """Shows the error of a run, and stops at the prompt."""
        print(f"the step failed: {error}")
        self._stop(f"run {self.count}: after the error", info, None)

    def _stop(self, title: str, info: dict[str, Any], dump: DebugDumpDir | None) -> None:
        mode = prompt(title, self._text(info), self.filters, dump)
        self._left = 0  # a plain `run` leads to the prompt before the next step
        if mode != Resume():
            self._go_on(mode)

    @staticmethod
    def _text(info: dict[str, Any]) -> str:
        return f"fetches: {', '.join(info['fetches'])}\nfeeds: {', '.join(info['feeds']) or 'none'}"


class LocalCLIDebugWrapperSession(BaseDebugWrapperSession):
    """A session that stops at a text prompt before and after each step; `help` lists the commands."""

    def __init__(
        self,
        sess: Any,
        dump_root: str | None = None,
        log_usage: bool = True,
        ui_type: str = "curses",
        thread_name_filter: str | None = None,
        config_file_path: str | None = None,
    ) -> None:
        super().__init__(sess, thread_name_filter)
        self._debugger = Debugger(dump_root)

    def add_tensor_filter(self, filter_name: str, tensor_filter: Filter) -> None:
        """Adds a filter `tensor_filter(datum, value)` for the commands `run -f` and `lt -f`."""
        self._debugger.filters[filter_name] = tensor_filter

    def _debug(self, fetches: object, feed_dict: object, options: object, run_metadata: object) -> Any:
        info = names_of(self.graph, fetches, feed_dict)
        if not self._debugger.before(info):
            return self._sess.run(fetches, feed_dict, options, run_metadata)
        tensors = watched(self.graph, fetches, feed_dict)
        try:
            result, values = self._sess.run([fetches, tensors], feed_dict, options, run_metadata)
        except errors.OpError as error:
            self._debugger.failed(error, info)
            raise
        self._debugger.after(self.graph, list(zip(tensors, values)), info)
        return result
