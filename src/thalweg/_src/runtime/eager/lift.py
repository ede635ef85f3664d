"""Lifting: the value of a tensor in a function that is being traced, such as the initial value of a variable."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.config import ConfigProto
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.eager.mode import eager_graph
from thalweg._src.runtime.eager.tensor import EagerTensor, kind_of
from thalweg._src.runtime.pipeline import compile_step
from thalweg._src.runtime.resources.step import Step


def lifted(tensor: Tensor) -> EagerTensor:
    """Returns the value of a tensor that depends on no argument of its function."""
    graph: Any = tensor.graph
    devices = eager_graph().devices
    feeds, values = list(graph.captured.values()), [outer.value for outer in graph.captured]
    try:
        executable = compile_step(feeds, [tensor], [], ConfigProto(allow_soft_placement=True), devices)
        (value,) = executable.run(Step(), values)
    except errors.InvalidArgumentError as error:
        if "placeholder" not in error.message:
            raise
        raise ValueError(
            f"the initial value {tensor.name!r} of a variable depends on an argument of the function in which the "
            "variable is created: create it outside, or pass a callable that does not use the argument"
        ) from None
    return EagerTensor(value, kind_of(tensor.dtype, value.ndim, devices[0]))
