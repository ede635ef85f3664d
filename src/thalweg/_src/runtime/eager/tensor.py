"""Eager tensors: tensors that have a value."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn

import numpy as np
import torch

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import InvalidArgumentError
from thalweg._src.base.shapes import Shape, ShapeLike, TensorShape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import outermost
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.scopes import device
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.kernels.types import to_numpy, to_read
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.variables import VariableResource

_serial = itertools.count(1)
_CONSTANT = 64  # elements of an integer tensor that is part of a function's graph
_MEANINGLESS = "Tensor.{} is meaningless when eager execution is enabled."


class Kind:
    """What the kernel of an operation depends on: the element type, the rank and the device of a tensor.

    There is one object for each combination, so that kinds are compared by identity.
    """

    __slots__ = ("device", "dtype", "has_gradient", "rank")
    _instances: ClassVar[dict[tuple[DType, int | None, Device], Kind]] = {}

    def __init__(self, dtype: DType, rank: int | None, device: Device) -> None:
        self.dtype = dtype
        self.rank = rank
        self.device = device
        self.has_gradient = dtype.is_floating or dtype.is_complex or dtype in (dtypes.resource, dtypes.variant)

    def __repr__(self) -> str:
        return f"<{self.dtype.name}, rank {self.rank}, {self.device.name}>"


def kind_of(dtype: DType, rank: int | None, device: Device) -> Kind:
    """Returns the one kind of a combination."""
    key = dtype, rank, device
    kind = Kind._instances.get(key)
    return kind if kind is not None else Kind._instances.setdefault(key, Kind(*key))


def _meaningless(name: str) -> Any:
    def fail(self: EagerTensor) -> NoReturn:
        raise AttributeError(_MEANINGLESS.format(name))

    return property(fail)


class EagerTensor(Tensor):
    """A tensor with a value: a torch tensor, an array of strings, or a resource.

    value: never changed in place; a variable whose buffer it is moves to a copy before it is written to
    """

    __slots__ = ("kind", "value")
    is_eager = True

    def __init__(self, value: Any, kind: Kind) -> None:
        self.value = value
        self.kind = kind

    op = _meaningless("op")
    graph = _meaningless("graph")
    name = _meaningless("name")
    value_index = _meaningless("value_index")

    @property
    def source_name(self) -> str:
        """The name of the resource that a handle refers to."""
        return str(getattr(self.value, "name", ""))

    @property
    def label(self) -> str:
        """What messages call the tensor."""
        return f"tf.Tensor(shape={self.shape}, dtype={self.dtype.name})"

    # -- facts --------------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        """The element type."""
        return self.kind.dtype

    @property
    def dims(self) -> Shape:
        shape = getattr(self.value, "shape", None)  # of a handle, that of its variable
        return None if shape is None else tuple(shape)

    @dims.setter
    def dims(self, shape: Shape) -> None:
        """Does nothing: what is known of a shape before a step runs is not more than the shape itself."""

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return TensorShape(self.dims)

    def get_shape(self) -> TensorShape:
        """Returns the shape."""
        return TensorShape(self.dims)

    def set_shape(self, shape: ShapeLike) -> None:
        """Checks that the tensor has a shape."""
        if not shapes.compatible(self.dims, shapes.as_shape(shape)):
            raise ValueError(f"Tensor's shape {self.shape} is not compatible with supplied shape {TensorShape(shape)}")

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.dims or ())

    def _num_elements(self) -> int:
        return shapes.num_elements(self.dims) or 0

    @property
    def device(self) -> str:  # type: ignore[override]
        """The name of the device that holds the value."""
        return self.kind.device.name

    backing_device = device

    @property
    def static_value(self) -> np.ndarray[Any, Any] | None:
        """The value, for shape functions."""
        return to_read(self.value) if isinstance(self.value, torch.Tensor | np.ndarray) else None

    @property
    def _id(self) -> int:
        """A number that differs between tensors."""
        serial: int | None = self.__dict__.get("_serial")
        if serial is None:
            serial = self.__dict__["_serial"] = next(_serial)
        return serial

    # -- values -------------------------------------------------------------------------------------------------------

    def numpy(self) -> Any:
        """Returns the value as a NumPy array of its own, a scalar as a NumPy scalar."""
        if self.kind.dtype in (dtypes.resource, dtypes.variant):
            raise ValueError(f"a {self.kind.dtype.name} has no NumPy value")
        return to_numpy(self.value)

    def _numpy(self) -> Any:
        return self.numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = np.asarray(self.numpy())
        return array if dtype is None else array.astype(dtype, copy=False)

    def __len__(self) -> int:  # type: ignore[override]
        if not self.dims:
            raise TypeError("Scalar tensor has no `len()`")
        size = self.dims[0]
        assert size is not None
        return size

    def __iter__(self) -> Iterator[Any]:
        if not self.dims:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:  # type: ignore[override]
        return bool(self.numpy())

    __nonzero__ = __bool__

    def __int__(self) -> int:  # type: ignore[override]
        return int(self.numpy())

    def __float__(self) -> float:  # type: ignore[override]
        return float(self.numpy())

    def __complex__(self) -> complex:
        return complex(self.numpy())

    def __index__(self) -> int:
        if not self.kind.dtype.is_integer or self.dims:
            raise TypeError(f"only integer scalar tensors can be converted to an index, received {self!r}")
        return int(self.numpy())

    def __format__(self, format_spec: str) -> str:
        return format(self.numpy(), format_spec)

    def __reduce__(self) -> Any:
        return convert_to_tensor, (self.numpy(), self.dtype.name)

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> EagerTensor:
        memo[id(self)] = self  # its value never changes
        return self

    # -- functions ----------------------------------------------------------------------------------------------------

    def as_operation(self, graph: Any) -> Tensor | None:
        """Returns a tensor of a function's graph for this one; None if its value is passed to each call.

        A variable is found by its name, and small integers are constants, from which shapes follow.
        """
        value = self.value
        if isinstance(value, VariableResource):
            attrs: dict[str, Any] = {
                "dtype": value.dtype,
                "shape": value.shape,
                "shared_name": value.name,
                "container": "",
            }
            several = len(getattr(outermost(graph), "devices", ())) > 1
            with graph.device(self.device if several else None):  # integers may be on the host
                return graph.create_op("VarHandleOp", [], attrs=attrs, name="captured").outputs[0]  # type: ignore[no-any-return]
        if self.kind.has_gradient or self._num_elements() > _CONSTANT or self.kind.rank is None:
            return None
        attrs = {"value": to_read(value), "dtype": self.dtype}
        return graph.create_op("Const", [], attrs=attrs, name="captured").outputs[0]  # type: ignore[no-any-return]

    # -- other libraries ----------------------------------------------------------------------------------------------

    def _torch(self) -> torch.Tensor:
        """Returns the value for other libraries, which must not change it."""
        if not isinstance(self.value, torch.Tensor):
            raise BufferError(f"a tensor of {self.dtype.name} cannot be exported")
        return self.value.clone() if self.value.is_inference() else self.value

    def __dlpack__(self, **options: Any) -> Any:
        return self._torch().__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._torch().__dlpack_device__()

    @property
    def __cuda_array_interface__(self) -> Any:
        return self._torch().__cuda_array_interface__

    # -- devices ------------------------------------------------------------------------------------------------------

    def cpu(self) -> EagerTensor:
        """Returns a copy in host memory."""
        return self._copy("CPU:0")

    def gpu(self, gpu_index: int = 0) -> EagerTensor:
        """Returns a copy on a GPU."""
        return self._copy(f"GPU:{gpu_index}")

    def _copy(self, name: str) -> EagerTensor:
        try:
            with device(f"/device:{name}"):
                return identity(self)  # type: ignore[return-value]
        except InvalidArgumentError:
            raise RuntimeError(f"{name} unknown device.") from None

    # -- what only graphs have ----------------------------------------------------------------------------------------

    def eval(self, feed_dict: dict[Any, Any] | None = None, session: object = None) -> NoReturn:
        """Fails: the tensor has its value already."""
        raise NotImplementedError("eval is not supported when eager execution is enabled, is .numpy() what you want?")

    def consumers(self) -> NoReturn:
        """Fails: operations that have run are not kept."""
        raise NotImplementedError("consumers not supported for eager tensors: operations are not kept after they ran")

    # -- text ---------------------------------------------------------------------------------------------------------

    def _text(self, is_repr: bool) -> str:
        if self.kind.dtype in (dtypes.resource, dtypes.variant):
            return "<unprintable>"
        value = self.numpy()
        is_number = isinstance(value, np.generic)  # whose type NumPy shows, although it is shown here already
        text = repr(value) if is_repr and not is_number else str(value)
        return f"\n{text}" if "\n" in text else text

    def __str__(self) -> str:
        return f"tf.Tensor({self._text(False)}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        return f"<tf.Tensor: id={self._id}, shape={self.shape}, dtype={self.dtype.name}, numpy={self._text(True)}>"

    def _repr_html_(self) -> str:
        """Returns what notebooks show: the facts, and the values as a table if there are few."""
        facts = f"<code>tf.Tensor: shape={self.shape}, dtype={self.dtype.name}</code>"
        text = self._text(False).replace("&", "&amp;").replace("<", "&lt;")
        return f"{facts}<pre>{text}</pre>"
