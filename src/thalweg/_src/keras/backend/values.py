"""Values of tensors and variables, read and written from Python, and what is known of them without a value."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, executing_eagerly_outside_functions, get_default_graph
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.printing import print_v2
from thalweg._src.graph.ops.sparse import sparse_tensor_to_dense
from thalweg._src.graph.scopes import control_dependencies, in_graph_of, name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend import state
from thalweg._src.keras.backend.functions import function
from thalweg._src.runtime.eager.mode import eager_mode
from thalweg._src.training.nn.ragged.tensor import RaggedTensor
from thalweg._src.training.variables.variables import Variable

_SYMBOLIC = Tensor | Variable | SparseTensor | RaggedTensor
_ASSIGNMENTS = "keras assignments"  # what graphs keep: by variable, a placeholder and the assignment of its value


# -- reading ----------------------------------------------------------------------------------------------------------


@export("keras.backend.get_value")
def get_value(x: TensorLike) -> Any:
    """Returns the value of a tensor or variable as an array; what is neither is returned unchanged."""
    return batch_get_value([x])[0] if isinstance(x, _SYMBOLIC) else x


@export("keras.backend.batch_get_value")
def batch_get_value(tensors: Sequence[Any]) -> list[Any]:
    """Returns the values of tensors and variables as arrays."""
    if executing_eagerly():
        return [_eager_value(tensor) for tensor in tensors]
    if executing_eagerly_outside_functions() or get_default_graph().captures:
        if not state.is_symbolic_graph(get_default_graph()):
            raise RuntimeError("a value cannot be read while a function is traced: tensors have none there")
        with eager_mode():
            return [_eager_value(tensor) for tensor in tensors]
    return state.get_session(tensors).run(list(tensors)) if tensors else []


def _eager_value(x: TensorLike) -> Any:
    """Returns the value of an eager tensor, a variable, or a symbolic tensor that depends on no input."""
    if (isinstance(x, Tensor) and not x.is_eager) or (isinstance(x, SparseTensor) and not x.values.is_eager):
        return function([], x)([])
    return x.numpy() if hasattr(x, "numpy") else function([], x)([])


@export("keras.backend.eval")
def eval(x: Any) -> Any:
    """Returns the value of a tensor or variable as an array; that of a sparse tensor is dense."""
    return get_value(to_dense(x))


# -- writing ----------------------------------------------------------------------------------------------------------


@export("keras.backend.set_value")
def set_value(x: Variable, value: TensorLike) -> None:
    """Sets the value of a variable."""
    batch_set_value([(x, value)])


@export("keras.backend.batch_set_value")
def batch_set_value(tuples: Sequence[tuple[Any, Any]]) -> None:
    """Sets the values of variables, given as pairs of a variable and its new value."""
    if executing_eagerly_outside_functions():
        is_symbolic = state.is_symbolic_graph(get_default_graph())
        with eager_mode() if is_symbolic else contextlib.nullcontext():
            for variable, value in tuples:
                variable.assign(_array(variable, value))
    elif tuples:
        operations, feeds = [], {}
        for variable, value in tuples:
            fed, operation = _assignment(variable)
            operations.append(operation)
            feeds[fed] = _array(variable, value)
        state.get_session([variable for variable, _ in tuples]).run(operations, feeds)


def _assignment(variable: Variable) -> tuple[Tensor, Any]:
    """Returns a placeholder and the operation that assigns it to a variable, made once for each variable."""
    graph = variable.graph
    assignments: Any = graph.singleton(_ASSIGNMENTS, weakref.WeakKeyDictionary)
    if variable not in assignments:
        with graph.as_default(), graph.control_dependencies(None), name_scope(None):
            fed = placeholder(variable.dtype.base_dtype, variable.shape)
            assignments[variable] = fed, variable.assign(fed, read_value=False)
    return assignments[variable]  # type: ignore[no-any-return]


def _array(variable: Variable, value: TensorLike) -> Any:
    """Returns a value in the type of a variable; tensors are left as they are."""
    return value if isinstance(value, Tensor) else np.asarray(value, variable.dtype.base_dtype.as_numpy_dtype)


# -- what is known without a value ------------------------------------------------------------------------------------


@export("keras.backend.is_keras_tensor")
def is_keras_tensor(x: object) -> bool:
    """Returns whether a tensor is the result of a layer or of `keras.Input`."""
    if not isinstance(x, _SYMBOLIC):
        raise ValueError(f"expected a symbolic tensor, received {x!r} of {type(x)}")
    return "_keras_history" in getattr(x, "__dict__", ())


@export("keras.backend.is_sparse")
def is_sparse(tensor: object) -> bool:
    """Returns whether a tensor is sparse."""
    return isinstance(tensor, SparseTensor)


@export("keras.backend.to_dense")
def to_dense(tensor: Any) -> Any:
    """Returns a sparse tensor as a dense one; other tensors are returned unchanged."""
    if not is_sparse(tensor):
        return tensor
    with in_graph_of(tensor.values):
        return sparse_tensor_to_dense(tensor)


@export("keras.backend.dtype")
def dtype(x: Tensor | SparseTensor | Variable) -> str:
    """Returns the name of the type of a tensor or variable."""
    require_members("x", x, "a tensor or a variable", "dtype", "shape")
    return str(x.dtype.base_dtype.name)


@export("keras.backend.int_shape")
def int_shape(x: Tensor | SparseTensor | Variable) -> tuple[int | None, ...] | None:
    """Returns the static shape of a tensor or variable, None if its rank is unknown."""
    require_members("x", x, "a tensor or a variable", "shape")
    if isinstance(x.shape, tuple):
        return x.shape
    return None if x.shape.rank is None else tuple(x.shape.as_list())


@export("keras.backend.ndim")
def ndim(x: Tensor | SparseTensor | Variable) -> int | None:
    """Returns the number of axes of a tensor or variable, None if it is unknown."""
    shape = int_shape(x)
    return None if shape is None else len(shape)


@export("keras.backend.count_params")
def count_params(x: Any) -> int:
    """Returns the number of elements of a variable."""
    require_members("x", x, "a variable", "shape")
    return int(np.prod(x.shape.as_list()))


@export("keras.backend.print_tensor")
def print_tensor(x: TensorLike, message: str = "") -> Any:
    """Returns a tensor unchanged; a message and its value are printed whenever it is computed."""
    x = convert_to_tensor(x)
    with in_graph_of(x), control_dependencies([print_v2(message, x, output_stream=sys.stdout)]):
        return identity(x)
