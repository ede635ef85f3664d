"""tf.contrib.input_pipeline: elements of a list of strings, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.math import floormod
from thalweg._src.graph.ops.random import random_shuffle
from thalweg._src.graph.ops.reshape import size
from thalweg._src.graph.scopes import GraphKeys, control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.input.producers import limit_epochs
from thalweg._src.training.variables.variable_scope import variable_scope
from thalweg._src.training.variables.variables import Variable


@export("contrib.input_pipeline.obtain_next")
def obtain_next(string_list_tensor: TensorLike, counter: Any) -> Tensor:
    """Returns the string after the one that was returned last, from the start again after the end.

    Args:
        string_list_tensor: A vector of strings.
        counter: A variable of type int64 that counts the calls, -1 before the first.
    """
    require_members("counter", counter, "a variable", "assign_add")
    position = floormod(counter.assign_add(1), size(string_list_tensor, out_type=dtypes.int64))
    return gather(string_list_tensor, position)


@export("contrib.input_pipeline.seek_next")
def seek_next(
    string_list: Sequence[str], shuffle: bool = False, seed: int | None = None, num_epochs: int | None = None
) -> Tensor:
    """Returns one of the strings in each step, in turn.

    Args:
        string_list: The strings.
        shuffle: Whether they are in a random order.
        seed: Seed of that order.
        num_epochs: How often each string is returned before OutOfRangeError; None for no limit.
    """
    with variable_scope(None, "seek_next"):
        strings = constant(list(string_list))
        if shuffle:
            order = Variable(
                random_shuffle(strings, seed=seed), False, [GraphKeys.LOCAL_VARIABLES], name="obtain_next_expanded_list"
            )
            strings = order.read_value()
        counter = Variable(constant(-1, dtypes.int64), False, [GraphKeys.LOCAL_VARIABLES], name="obtain_next_counter")
        if not num_epochs:
            return obtain_next(strings, counter)
        limited = limit_epochs(constant(0), num_epochs * len(string_list), name="obtain_next_epoch")
        with control_dependencies([limited]):
            return obtain_next(strings, counter)
