"""Memory-mapped checkpoints: what is restored from them are views of their files, which processes share.

The mappings are private (copy-on-write): what a process writes there stays its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_mapped: list[str] = []  # a prefix once for each context


@contextmanager
def mapped_checkpoint(prefix: str) -> Iterator[None]:
    """Has large tensors of a checkpoint mapped instead of read, on Linux, where files that are deleted stay mapped."""
    _mapped.append(prefix)
    try:
        yield
    finally:
        _mapped.remove(prefix)


def is_mapped(prefix: str) -> bool:
    """Returns whether the tensors of a checkpoint are mapped."""
    return prefix in _mapped and sys.platform == "linux"
