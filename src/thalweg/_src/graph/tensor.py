"""Tensor: one output of an operation, a symbolic value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from thalweg._src.base import shapes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import Shape, ShapeLike, TensorShape

if TYPE_CHECKING:
    from thalweg._src.graph.graph import Graph
    from thalweg._src.graph.operation import Operation


@export("Tensor")
class Tensor:
    """A symbolic handle to one output of an operation; it has a value only while a step runs.

    Args:
        op: The operation that computes it.
        value_index: Number of the output of `op`.
        dtype: Element type.
        shape: Static shape.
    """

    # A dictionary is created only for tensors on which a library sets attributes of its own.
    __slots__ = ("__dict__", "__weakref__", "_consumers", "dims", "dtype", "op", "static_value", "value_index")

    # NumPy's operators defer to ours, so that `array + tensor` calls Tensor.__radd__ once.
    __array_priority__ = 100

    is_eager: ClassVar[bool] = False  # whether it has a value
    is_filler = False  # whether it consists of the zeros that stand for the gradient of an unused output

    OVERLOADABLE_OPERATORS: ClassVar[set[str]] = set()
    device = ReadOnly[str]("The device of the operation.", "op.device")
    # Names that TensorFlow 1 programs read, although they are not public.
    _op = ReadOnly["Operation"]("The operation.", "op")
    _value_index = ReadOnly[int]("The position among the outputs of the operation.", "value_index")
    _shape = ReadOnly[TensorShape]("The static shape.", "shape")
    _dtype = ReadOnly[DType]("The element type.", "dtype")

    def __init__(self, op: Operation, value_index: int, dtype: DType, shape: Shape = None) -> None:
        self.op = op
        self.value_index = value_index
        self.dtype = dtype
        self.dims: Shape = shape
        self.static_value: Any = False  # not computed yet
        self._consumers: list[Operation] = []

    @property
    def name(self) -> str:
        """The name, that of the operation with the output index."""
        # Computed on access: most tensors of a graph are never asked for their names.
        return f"{self.op.name}:{self.value_index}"

    @property
    def source_name(self) -> str:
        """The name of the operation; of a handle in eager execution, that of the resource."""
        return self.op.name

    @property
    def label(self) -> str:
        """The quoted name, for messages; of a tensor without a name, its shape and type."""
        return repr(self.name)

    @property
    def graph(self) -> Graph:
        """The graph of the tensor."""
        return self.op.graph

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return TensorShape(self.dims)

    def get_shape(self) -> TensorShape:
        """Returns the static shape."""
        return TensorShape(self.dims)

    def set_shape(self, shape: ShapeLike) -> None:
        """Merges a shape that the caller knows into the static shape."""
        # A new shape may make a value known, or a value that was asked for too early.
        try:
            self.dims = shapes.merge(self.dims, shapes.as_shape(shape))
        except ValueError as error:
            raise ValueError(f"set_shape of {self.name!r}: {error}") from None
        if self.static_value is None:
            self.static_value = False

    def _shape_as_list(self) -> list[int | None] | None:
        return None if self.dims is None else list(self.dims)

    def _rank(self) -> int | None:
        return None if self.dims is None else len(self.dims)

    def _shape_tuple(self) -> Shape:
        return self.dims

    @property
    def _id(self) -> int:
        """A number that differs between tensors."""
        return id(self)

    def consumers(self) -> list[Operation]:
        """Returns the operations that use this tensor."""
        return list(self._consumers)

    def eval(self, feed_dict: dict[Any, Any] | None = None, session: Any = None) -> Any:
        """Evaluates the tensor in the given or the default session and returns its value."""
        return self.op.graph.session_for(session, self.name).run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={_show_shape(self.dims)} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        shape = "" if self.dims is None else f", shape={_show_shape(self.dims)}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name}{device})'

    def __copy__(self) -> Tensor:
        return self

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` instead of `if t:` to test "
            f"if a tensor is defined, and tf.cond to choose by its value: {self.name!r} has none until a step runs."
        )

    def __iter__(self) -> Iterator[Tensor]:
        raise TypeError(
            "Tensor objects are only iterable when eager execution is enabled. To iterate over this tensor use "
            f"tf.map_fn, or tf.unstack to split it along an axis: {self.name!r} has no value while the graph is built."
        )

    def __len__(self) -> NoReturn:
        raise TypeError(
            f"len is not well defined for symbolic Tensors. ({self.name}) "
            "Please call `x.shape` rather than `len(x)` for shape information."
        )

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array: run it in a session, `sess.run(...)`."
        )

    def __int__(self) -> NoReturn:
        self._no_number("int")

    def __float__(self) -> NoReturn:
        self._no_number("float")

    def __index__(self) -> int:
        raise TypeError(f"a symbolic Tensor ({self.name}) cannot be an index of a Python sequence: run it in a session")

    def _no_number(self, kind: str) -> NoReturn:
        raise TypeError(f"a symbolic Tensor ({self.name}) has no Python {kind} value: run it in a session")

    if TYPE_CHECKING:  # installed by thalweg._src.graph.ops.operators and thalweg._src.graph.ops.slicing

        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __rand__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __ror__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __rxor__(self, other: Any) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __getitem__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...

    @classmethod
    def _override_operator(cls, operator: str, function: Callable[..., Any]) -> None:
        """Installs an operator on Tensor; the ops that implement operators live in higher layers."""
        cls.OVERLOADABLE_OPERATORS.add(operator)
        setattr(cls, operator, function)


def _show_shape(shape: Shape) -> str:
    return "<unknown>" if shape is None else str(tuple("?" if d is None else d for d in shape)).replace("'", "")
