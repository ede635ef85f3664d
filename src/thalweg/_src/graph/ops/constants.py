"""Constants and placeholders: values that are part of the graph, and values that are fed to the step."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.errors import ShapeError
from thalweg._src.base.export import export
from thalweg._src.base.formats.objects import object_array
from thalweg._src.base.shapes import Dimension, Shape, ShapeLike, TensorShape, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor, register_tensor_conversion_function
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op, output_types
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.concat import pack
from thalweg._src.graph.ops.shape_functions import from_shape_attr, no_outputs, require, require_sizes
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.tensor_proto import repeated_array
from thalweg._src.graph.types import TensorLike

Array = np.ndarray[Any, Any]


def _constant_shape(c: Inference) -> list[Shape]:
    value, dtype = c.attrs["value"], c.attrs["dtype"]
    if not dtype.is_numpy_compatible or value.dtype != dtype.as_numpy_dtype:
        raise ShapeError(f"the value is an array of {value.dtype}", expected=f"an array of {dtype.name}")
    return [value.shape]


const_op = op(
    "Const",
    "-> output: dtype",
    value=attr.tensor(),
    dtype=attr.types(),
    infer=_constant_shape,
    evaluate=lambda c: c.attrs["value"],
    doc="Returns a constant tensor.",
    instant=True,
)
placeholder_op = op(
    "Placeholder",
    "-> output: dtype",
    dtype=attr.types(),
    shape=attr.shape(None),
    infer=from_shape_attr,
    doc="Returns the value that is fed in each step.",
)


def _default_shape(c: Inference) -> list[Shape]:
    shapes.merge(c.shapes[0], c.attrs["shape"])
    return [c.attrs["shape"]]


placeholder_with_default_op = op(
    "PlaceholderWithDefault",
    "input: dtype -> output: dtype",
    dtype=attr.types(),
    shape=attr.shape(),
    infer=_default_shape,
    forwards="same",
    doc="Returns the value that is fed, or its input if none is fed.",
)
arg_op = op(
    "_Arg",
    "-> output: T",
    compiler=True,
    T=attr.types(),
    index=attr.integer(0),
    stateful=True,
    doc="Receives a value that is fed to the step.",
    instant=True,
)
no_op_op = op("NoOp", "->", infer=no_outputs, doc="Does nothing; used for its control dependencies.", instant=True)


def _filled(c: Inference) -> Sequence[Shape]:
    require(c.shapes[1] in ((), None), f"value has shape {show(c.shapes[1])}", expected="a scalar")
    require_sizes(c, 0)
    return [c.shape_value(0)]


fill = export("fill", dims="The shape of the result.", value="The scalar to fill it with.")(
    op(
        "Fill",
        "dims: index_type, value: T -> output: T",
        T=attr.types(),
        index_type=attr.types(dtypes.INDEX, dtypes.int32),
        host="dims",
        infer=_filled,
        evaluate=lambda c: np.full(tuple(c.value(0)), c.partial(1)),  # type: ignore[arg-type]
        doc="Creates a tensor of the given shape filled with one value.",
        fails="never",
    )
)


def as_array(value: object, dtype: DType | None = None, shape: Any = None) -> tuple[Array, DType]:
    """Converts a Python or NumPy value to an array with TensorFlow's types: floats are float32, ints int32 or int64."""
    if isinstance(value, TensorShape):
        value = value.as_list()
    if value is None:
        raise ValueError("None values not supported: None cannot be converted to a Tensor.")
    array = _plain_array(value, dtype)
    if dtype is None:
        dtype = dtypes.as_dtype(array.dtype)
    if shape is not None:
        sizes = shapes.as_shape(shape)
        if sizes and 0 in sizes and not isinstance(value, np.ndarray | np.generic):
            array = array.reshape(-1)[:0]
        array = _with_shape(array, sizes)
    return array, dtype


def _plain_array(value: object, dtype: DType | None) -> Array:
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind in "OSU" and dtype in (None, dtypes.string):
            return _strings(np.asarray(value, dtype=object))
        if dtype is None:
            return np.array(value, value.dtype.newbyteorder("="))
        if dtype is dtypes.string:
            raise TypeError(f"Expected string, got an array of {value.dtype.name} instead; use tf.as_string.")
        return np.asarray(value).astype(dtype.as_numpy_dtype)
    if dtype is dtypes.string:
        return _strings(_nested(value, object))
    if dtype is not None:
        _require_python_type(value, dtype)
        return np.array(value, dtype=dtype.as_numpy_dtype)
    array = _nested(value, None)
    if array.dtype.kind in "SU":
        return _strings(_nested(value, object))
    if array.dtype == object:
        raise TypeError(f"Failed to convert object of type {type(value)} to Tensor. Contents: {value!r}.")
    if array.dtype == np.float64 and not _holds_numpy(value):
        return array.astype(np.float32)
    if array.dtype == np.int64 and not _holds_numpy(value):
        small = array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)
        return array.astype(np.float32) if array.size == 0 and _is_empty_list(value) else _int_array(array, small)
    return array


def _int_array(array: Array, small: bool) -> Array:
    return array.astype(np.int32) if small else array


def _is_empty_list(value: object) -> bool:
    return isinstance(value, list | tuple) and np.size(np.array(value)) == 0


def _nested(value: object, dtype: Any) -> Array:
    try:
        return np.array(value, dtype=dtype)
    except ValueError as error:
        raise ValueError(
            f"setting an array element with a sequence: the lists are ragged, a tensor needs equal lengths: {value!r}"
        ) from error


def _holds_numpy(value: object) -> bool:
    """Returns whether a nested list contains NumPy elements, whose precision is kept."""
    while isinstance(value, list | tuple):
        if not value:
            return False
        value = value[0]
    return isinstance(value, np.ndarray | np.generic)


def _strings(array: Array) -> Array:
    flat = []
    for item in array.ravel().tolist():
        if not isinstance(item, str | bytes):
            raise TypeError(f"Expected string, got {item!r} of type '{type(item).__name__}' instead.")
        flat.append(item.encode() if isinstance(item, str) else item)
    return object_array(flat, array.shape)


def _require_python_type(value: object, dtype: DType) -> None:
    """Rejects conversions that would change a value: 1.5 to int32, "a" to float32, True to float32."""
    for item in _leaves(value):
        if isinstance(item, Dimension):
            continue
        if isinstance(item, str | bytes):
            fits = False
        elif isinstance(item, bool | np.bool_):
            fits = dtype.is_bool
        elif dtype.is_bool:
            fits = False
        elif dtype.is_integer:
            fits = isinstance(item, numbers.Integral)
        elif dtype.is_floating:
            fits = isinstance(item, numbers.Real)
        else:
            fits = True
        if item is None or not fits:
            raise TypeError(f"Expected {dtype.name}, got {item!r} of type '{type(item).__name__}' instead.")


def _leaves(value: object) -> Any:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, np.ndarray):
        yield from value.ravel()[:1].tolist()
    else:
        yield value


def _with_shape(array: Array, shape: Shape) -> Array:
    """Fills a shape from fewer values by repeating the last one, as TensorFlow's constants do."""
    if shape is None or None in shape:
        raise ValueError(f"a constant needs a fully defined shape, got {shapes.show(shape)}")
    count = shapes.num_elements(shape) or 0
    if array.size > count:
        raise ValueError(f"Too many elements provided. Needed at most {count}, but received {array.size}")
    return repeated_array(array, tuple(size or 0 for size in shape))


@export("constant")
def constant(
    value: Any,
    dtype: DTypeLike | None = None,
    shape: ShapeLike = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Returns a tensor with a fixed value.

    Args:
        value: The value: a number, a list, or an array.
        dtype: The element type; by default that of the value.
        shape: The shape; by default that of the value. A single value fills it.
    """
    array, kind = as_array(value, None if dtype is None else dtypes.as_dtype(dtype).base_dtype, shape)
    if verify_shape and shape is not None and np.shape(value) != array.shape:
        raise TypeError(f"Expected Tensor's shape: {array.shape}, got {np.shape(value)}.")
    return array_constant(array, kind, name)


def array_constant(array: Array, dtype: DType, name: str | None = "Const") -> Tensor:
    """Returns an array as a constant, without conversion."""
    array.flags.writeable = False
    attrs = {"value": array, "dtype": dtype}
    operation: Operation = get_default_graph().add(const_op, [], attrs, output_types(const_op, attrs), name)
    return operation.outputs[0]


def _convert_value(value: object, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    return constant(value, dtype, name=name or "Const")


def _convert_sequence(
    value: Sequence[Any], dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Any:
    """Converts a list: numbers to one constant, lists that contain tensors by packing them."""
    if not any(_holds_tensor(item) for item in value):
        return constant(value, dtype, name=name or "Const")
    return pack_nested(value, dtype, name)


def _holds_tensor(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(_holds_tensor(item) for item in value)
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def pack_nested(values: Sequence[Any], dtype: DType | None, name: str | None) -> Tensor:
    """Packs a nested list that contains tensors; their type applies to the numbers too."""
    types = (item.dtype.base_dtype for item in _flat(values) if _holds_tensor(item))
    if dtype is None:
        dtype = next(types, None)
    elif not all(map(dtype.is_compatible_with, types)):
        raise TypeError(f"Expected {dtype.name}, got list containing Tensors of type '_Message' instead.")
    with name_scope(name or "packed"):
        tensors = [
            pack_nested(item, dtype, None) if isinstance(item, list | tuple) else convert_to_tensor(item, dtype)
            for item in values
        ]
        return pack(tensors)


def _flat(values: Sequence[Any]) -> Any:
    for item in values:
        if isinstance(item, list | tuple):
            yield from _flat(item)
        else:
            yield item


def _convert_shape(
    value: TensorShape, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if not value.is_fully_defined():
        raise ValueError(
            f"shape {value} is not fully known and cannot be converted to a tensor; hint: tf.shape of the tensor"
        )
    dims = value.as_list()
    wide = any(d is not None and d >= 2**31 for d in dims)
    return constant(np.array(dims, np.int64 if wide else np.int32), dtype, name=name or "shape_as_tensor")


def _convert_dimension(
    value: Dimension, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if value.value is None:
        raise ValueError("Cannot convert an unknown Dimension to a Tensor: use tf.shape(x)[i] for its value in a step")
    return constant(value.value, dtype or dtypes.int32, name=name or "Const")


register_tensor_conversion_function((list, tuple), _convert_sequence, 100)
register_tensor_conversion_function(
    (bool, int, float, complex, str, bytes, np.ndarray, np.generic), _convert_value, 100
)
register_tensor_conversion_function(object, _convert_value, 200)
register_tensor_conversion_function(TensorShape, _convert_shape, 99)
register_tensor_conversion_function(Dimension, _convert_dimension, 99)


@export("placeholder")
def placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """Returns a tensor that must be fed.

    Args:
        dtype: Element type of the fed values.
        shape: Static shape of the fed values; None allows any.
        name: A name for the placeholder.
    """
    if executing_eagerly():
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    return placeholder_op(dtype=dtypes.as_dtype(dtype), shape=shapes.as_shape(shape), name=name)


@export("placeholder_with_default")
def placeholder_with_default(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Returns a tensor that may be fed and otherwise has the value of `input`.

    Args:
        input: The value if nothing is fed.
        shape: Static shape of the fed values.
    """
    value = convert_to_tensor(input)
    return placeholder_with_default_op(value, shape=shapes.as_shape(shape), name=name)


@export("no_op")
def no_op(name: str | None = None) -> Operation:
    """Returns an operation that does nothing."""
    return no_op_op.operation(name=name)
