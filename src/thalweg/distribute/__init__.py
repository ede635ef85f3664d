"""tf.distribute: Training on several machines."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.distributed.server import (
    Server as Server,
)
from thalweg._src.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.distribute import cluster_resolver as cluster_resolver

__getattr__, __dir__ = _lazy_names(
    __name__,
    ("cluster_resolver",),
    {},
)

__all__ = [
    "Server",
    "cluster_resolver",
]
