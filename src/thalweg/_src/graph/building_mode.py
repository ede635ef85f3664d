"""What differs between a graph that is built, the body of a function, and eager execution."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg._src.graph.operation import Operation
    from thalweg._src.graph.tensor import Tensor


class BuildingMode:
    """The base class of Graph with what functions and eager execution override.

    captures: whether operations may consume tensors of an outer graph, as those of a function's body do
    executes: whether operations run at once instead of being added
    is_symbolic: whether operations on its tensors are added to it although operations are executed otherwise
    is_ordered: whether operations with effects run in the order of the program
    effects: what must run in the branch or loop that is being built
    accesses: the same, and what reads state there
    """

    # Flags, not types to ask for: op construction reads them for each operation, and must not import what overrides
    # them.
    captures = False
    executes = False
    is_symbolic = False
    is_ordered = False
    effects: Sequence[Operation] = ()
    accesses: Sequence[Operation] = ()
    _version: int

    def block(self) -> contextlib.AbstractContextManager[Any]:
        """Returns a context manager that builds a branch or a loop; a function orders the effects inside."""
        return contextlib.nullcontext()

    def close(self, blocks: Iterable[Any], results: Sequence[Tensor]) -> None:
        """Notes that a conditional or a loop is complete."""

    def capture(self, tensor: Tensor) -> Tensor:
        """Returns the tensor by which operations of this graph use a value computed eagerly; a function has them."""
        raise RuntimeError(
            f"Attempting to capture an EagerTensor without building a function: {tensor!r} has a value, and cannot be "
            "used in a graph; hint: tf.constant(tensor.numpy()) in the graph, or a placeholder that is fed"
        )

    def next_seed(self) -> int:
        """Returns a number for the seeds of an operation that is given none."""
        return self._version
