"""Names of `tensorflow.python.ops.rnn_cell_impl` and `rnn` that are not public, for cells of published programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph import nest
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import bias_add
from thalweg._src.graph.ops.reshape import shape as shape_of
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.nn.rnn.cells import RNNCell, require_cell
from thalweg._src.training.nn.rnn.sizes import static_shape, swap_batch_and_time, zeros_like_sizes
from thalweg._src.training.variables.initializers import Constant
from thalweg._src.training.variables.variable_scope import get_variable, get_variable_scope, variable_scope

_BIAS_VARIABLE_NAME = "bias"
_WEIGHTS_VARIABLE_NAME = "kernel"
_RNNCell = RNNCell
_transpose_batch_time = swap_batch_and_time
assert_like_rnncell = require_cell


def _like_rnncell(cell: Any) -> bool:
    """Returns whether a value can be used as a cell."""
    try:
        require_cell("cell", cell)
    except TypeError:
        return False
    return True


def _concat(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """Returns a batch size followed by other sizes: a list if `static`, else a tensor."""
    sizes = static_shape(prefix, suffix)
    if static:
        return TensorShape(sizes).as_list() if sizes is not None else None
    is_static = sizes is not None and None not in sizes
    pieces: list[Any] = [size if isinstance(size, Tensor) else TensorShape(size).as_list() for size in (prefix, suffix)]
    return sizes if is_static else concat([[size] if _is_scalar(size) else size for size in pieces], 0)


def _is_scalar(size: Any) -> bool:
    return isinstance(size, Tensor) and size.shape.ndims == 0


def _zero_state_tensors(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    """Returns zeros for a structure of sizes."""
    return zeros_like_sizes(state_size, batch_size, dtype)


def _best_effort_input_batch_size(flat_input: Sequence[Tensor]) -> Any:
    """Returns the static batch size of time-major inputs if one of them has it, else that of the first as a tensor."""
    for value in flat_input:
        if value.shape.ndims is not None and value.shape.ndims > 1 and value.shape[1].value is not None:
            return value.shape[1].value
    return shape_of(flat_input[0])[1]


def _check_rnn_cell_input_dtypes(inputs: Any) -> None:
    """Raises ValueError unless all tensors of the structures are floating or complex."""
    for tensor in nest.flatten(inputs):
        _check_supported_dtypes(tensor.dtype)


def _check_supported_dtypes(dtype: Any) -> None:
    """Raises ValueError unless a dtype, if given, is floating or complex."""
    if dtype is not None and not (dtype.is_floating or dtype.is_complex):
        raise ValueError(f"an RNN cell takes floating or complex inputs, not {dtype.name}")


class _Linear:
    """A linear map of the concatenated arguments, with its variables in the scope in which it is created."""

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        self._is_sequence = nest.is_nested(args)
        tensors = list(args) if self._is_sequence else [args]
        if any(tensor.shape.ndims != 2 or tensor.shape[1].value is None for tensor in tensors):
            shapes = ", ".join(str(tensor.shape) for tensor in tensors)
            raise ValueError(f"linear takes matrices with a known number of columns, received {shapes}")
        columns, dtype = sum(tensor.shape[1].value for tensor in tensors), tensors[0].dtype
        with variable_scope(get_variable_scope()) as outer:
            self._weights = get_variable(_WEIGHTS_VARIABLE_NAME, [columns, output_size], dtype, kernel_initializer)
            self._biases = None
            if build_bias:
                with variable_scope(outer) as inner:
                    inner.set_partitioner(None)
                    initializer = Constant(0.0, dtype=dtype) if bias_initializer is None else bias_initializer
                    self._biases = get_variable(_BIAS_VARIABLE_NAME, [output_size], dtype, initializer)

    def __call__(self, args: Any) -> Tensor:
        """Returns the arguments times the kernel, plus the bias if there is one."""
        tensors = list(args) if self._is_sequence else [args]
        result = matmul(concat(tensors, 1) if len(tensors) > 1 else tensors[0], self._weights)
        return result if self._biases is None else bias_add(result, self._biases)


def _linear(
    args: Any, output_size: int, bias: bool, bias_initializer: Any = None, kernel_initializer: Any = None
) -> Tensor:
    """Returns a linear map of the concatenated arguments, whose variables `get_variable` creates or shares."""
    return _Linear(args, output_size, bias, bias_initializer, kernel_initializer)(args)
