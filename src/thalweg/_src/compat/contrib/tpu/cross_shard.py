"""CrossShardOptimizer and bfloat16_scope: what models for TPUs are written with, outside of TPUs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.ops.cast import cast
from thalweg._src.training.nn.losses import Reduction
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.optimizers.wrapping import WrappingOptimizer
from thalweg._src.training.variables.variable_scope import VariableScope, variable_scope
from thalweg._src.training.variables.variables import Variable


@export("contrib.tpu.CrossShardOptimizer", "tpu.CrossShardOptimizer")
class CrossShardOptimizer(WrappingOptimizer):
    """Sums gradients over the shards of TPUs; elsewhere there is one shard, so that the other optimizer is applied.

    Args:
        opt: The optimizer that is wrapped.
        reduction: `tf.losses.Reduction.MEAN` or `SUM`: how the losses of shards are combined.
        name: A name for the operations that are added to the graph.
        group_assignment: Groups of shards that are summed; it must be None, since there is one shard.
    """

    def __init__(
        self,
        opt: Optimizer,
        reduction: str = Reduction.MEAN,
        name: str = "CrossShardOptimizer",
        group_assignment: Any = None,
    ) -> None:
        if reduction not in (Reduction.SUM, Reduction.MEAN):
            raise ValueError(f"reduction: expected {Reduction.SUM!r} or {Reduction.MEAN!r}, received {reduction!r}")
        if group_assignment:
            raise ValueError(
                f"group_assignment: expected None, since there is one shard, received {group_assignment!r}"
            )
        super().__init__(opt, name)

    def apply_gradients(self, grads_and_vars: Any, global_step: Variable | None = None, name: str | None = None) -> Any:
        """Returns the operation that applies the gradients of the one shard."""
        return self._opt.apply_gradients(grads_and_vars, global_step, name)


@export("contrib.tpu.bfloat16_scope", "tpu.bfloat16_scope")
@contextlib.contextmanager
def bfloat16_scope() -> Iterator[VariableScope]:
    """Context manager: variables of type bfloat16 are kept as float32, and cast where they are read."""

    def cast_variable(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if kwargs["dtype"] != dtypes.bfloat16:
            return getter(*args, **kwargs)
        return cast(getter(*args, **kwargs | {"dtype": dtypes.float32}), dtypes.bfloat16)

    with variable_scope("", custom_getter=cast_variable) as scope:
        yield scope


@export("contrib.tpu.outside_compilation", "tpu.outside_compilation")
def outside_compilation(computation: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Returns what a function returns: outside of TPUs nothing is compiled for them.

    Args:
        computation: The function.
        *args: Arguments of the function.
        **kwargs: Arguments of the function by name.
    """
    return computation(*args, **kwargs)
