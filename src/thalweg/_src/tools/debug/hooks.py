"""Hooks that debug the steps of a monitored session."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from thalweg._src.graph.tensor import Tensor
from thalweg._src.tools.debug.dump import Filter, write_dump
from thalweg._src.tools.debug.watch import watched
from thalweg._src.tools.debug.wrappers import Debugger, WatchFunction, names_of, watch_options
from thalweg._src.training.session_run_hook import SessionRunArgs, SessionRunHook


class LocalCLIDebugHook(SessionRunHook):
    """Stops at a text prompt before and after each step."""

    def __init__(
        self,
        ui_type: str = "curses",
        dump_root: str | None = None,
        thread_name_filter: str | None = None,
        config_file_path: str | None = None,
    ) -> None:
        self._debugger = Debugger(dump_root)
        self._tensors: list[Tensor] | None = None
        self._info: dict[str, Any] = {}

    def add_tensor_filter(self, filter_name: str, tensor_filter: Filter) -> None:
        """Adds a filter `tensor_filter(datum, value)` for the commands `run -f` and `lt -f`."""
        self._debugger.filters[filter_name] = tensor_filter

    def before_run(self, run_context: Any) -> SessionRunArgs | None:
        """Stops at the prompt, and fetches the tensors of a watched step."""
        original, graph = run_context.original_args, run_context.session.graph
        self._info = names_of(graph, original.fetches, original.feed_dict)
        is_watched = self._debugger.before(self._info)
        self._tensors = watched(graph, original.fetches, original.feed_dict) if is_watched else None
        return None if self._tensors is None else SessionRunArgs(self._tensors)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Shows the tensors of a watched step."""
        if self._tensors is not None:
            values = list(zip(self._tensors, run_values.results))
            self._debugger.after(run_context.session.graph, values, self._info)


class DumpingDebugHook(SessionRunHook):
    """Writes the tensors of each step to a folder `run_...` below `session_root`, for DebugDumpDir."""

    def __init__(
        self,
        session_root: str,
        watch_fn: WatchFunction | None = None,
        thread_name_filter: str | None = None,
        log_usage: bool = True,
    ) -> None:
        os.makedirs(session_root, exist_ok=True)
        self._root = session_root
        self._watch_fn = watch_fn
        self._count = 0
        self._tensors: list[Tensor] = []
        self._info: dict[str, Any] = {}

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Fetches the tensors of the step."""
        original, graph = run_context.original_args, run_context.session.graph
        options = watch_options(self._watch_fn, original.fetches, original.feed_dict)
        self._tensors = watched(graph, original.fetches, original.feed_dict, options)
        self._info = names_of(graph, original.fetches, original.feed_dict)
        return SessionRunArgs(self._tensors)

    def after_run(self, run_context: object, run_values: Any) -> None:
        """Writes the tensors of the step."""
        self._count += 1
        folder = tempfile.mkdtemp(prefix=f"run_{self._count:06d}_", dir=self._root)
        write_dump(folder, list(zip(self._tensors, run_values.results)), self._info)
