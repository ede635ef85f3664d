"""Variables of eager execution: their handles, and reads that tapes watch."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import FailedPreconditionError
from thalweg._src.base.shapes import Shape
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.ops import state
from thalweg._src.runtime.eager.containers import register
from thalweg._src.runtime.eager.mode import eager_graph
from thalweg._src.runtime.eager.tape import record_call, variable_accessed
from thalweg._src.runtime.eager.tensor import EagerTensor, kind_of
from thalweg._src.runtime.resources.variables import VariableResource

_serial = itertools.count()


class _Read:
    """The read of a variable, as tapes record it in the place of a binding: no kernel is called."""

    __slots__ = ("attrs", "definition", "fixed")

    def __init__(self, dtype: DType) -> None:
        self.definition = state.read_variable_op
        self.attrs = {"dtype": dtype}
        self.fixed: tuple[int, ...] = ()


_read = functools.cache(_Read)


def new_handle(name: str, dtype: DType, shape: Shape) -> EagerTensor:
    """Returns the handle of a new variable on the current device, which lives as long as its handle."""
    device = eager_graph().current_device(dtype)
    variable = VariableResource(f"{name}_{next(_serial)}", dtype, shape, device.torch)
    register(variable)
    return EagerTensor(variable, kind_of(dtypes.resource, None, device))


def read_variable(variable: Any) -> EagerTensor:
    """Returns the value of a variable, and records the read."""
    handle: EagerTensor = variable._handle
    value = handle.value.value
    if value is None:
        raise FailedPreconditionError(None, None, f"variable {variable.name!r} has no value, or was deleted")
    output = EagerTensor(value, kind_of(variable._dtype, value.ndim, handle.kind.device))
    if stacks.tapes:
        variable_accessed(variable)
        record_call(_read(variable._dtype), (handle,), (output,))
    return output
