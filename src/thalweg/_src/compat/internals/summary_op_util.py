"""`tensorflow.python.ops.summary_op_util`: what functions that build summaries of their own call."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.nn.summaries import clean_tag as clean_tag, collected, tagged
from thalweg._src.training.variables.distribution import current_mode


def skip_summary() -> bool:
    """Returns whether this is a replica after the first one, whose summaries alone are kept."""
    mode = current_mode()
    return mode is not None and bool(mode.copy)


def collect(val: Tensor, collections: Sequence[str] | None, default_collections: Sequence[str]) -> None:
    """Adds a summary to collections, or to the default ones."""
    collected(val, collections, default_collections)


def summary_scope(
    name: str, family: str | None = None, default_name: str | None = None, values: Any = None
) -> AbstractContextManager[tuple[str, str]]:
    """Opens the scope of a summary and yields its tag and the scope."""
    return tagged(name, family, values or (), default_name)
