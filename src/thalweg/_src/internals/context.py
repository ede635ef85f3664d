"""`tensorflow.python.eager.context`: the mode of execution, which is graph mode."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from thalweg._src.compat import switches
from thalweg._src.resources.accelerators import gpu_count

GRAPH_MODE = 0
EAGER_MODE = 1


class Context:
    """The settings of this process."""

    def executing_eagerly(self) -> bool:
        """Returns False: operations are added to a graph."""
        return False

    in_eager_mode = executing_eagerly

    def num_gpus(self) -> int:
        """Returns the number of GPUs."""
        return gpu_count()


_context = Context()
executing_eagerly = switches.executing_eagerly


def context() -> Context:
    """Returns the settings of this process."""
    return _context


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """Adds operations to a graph in the block, as everywhere."""
    yield


def in_graph_mode() -> bool:
    """Returns True: operations are added to a graph."""
    return True


def in_eager_mode() -> bool:
    """Returns False: operations are added to a graph."""
    return False


def num_gpus() -> int:
    """Returns the number of GPUs."""
    return gpu_count()
