"""GraphWriter: the nodes of an ONNX graph while it is written, with its names and constants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.deploy.onnx_export.types import Elements, Table, Type, Value, inverse, number_of
from thalweg._src.graph.ir.step_graph import Output

Array = np.ndarray[Any, Any]
Operand: TypeAlias = "str | Array | np.generic | float | Sequence[int]"  # the name of a value, or a constant
_SMALL = 64  # elements; equal constants up to this size are one


@dataclass(slots=True, eq=False)
class OnnxNode:
    """A node of an ONNX graph; an attribute may be a graph of its own."""

    type: str
    name: str
    inputs: list[str]
    outputs: list[str]
    attrs: dict[str, Any] = field(default_factory=dict)
    domain: str = ""

    def subgraphs(self) -> Iterator[GraphWriter]:
        """Yields the graphs among the attributes."""
        for value in self.attrs.values():
            if isinstance(value, GraphWriter):
                yield value


@dataclass(frozen=True, slots=True)
class Quantized:
    """A constant as integers: (values - zeros) * scales, arrays of one shape."""

    values: Array
    scales: Array
    zeros: Array

    def rearranged(self, change: Callable[[Array], Array]) -> Quantized:
        """Returns the constant with its elements in other places."""
        return Quantized(change(self.values), change(self.scales), change(self.zeros))

    def axes(self) -> list[int]:
        """Returns the axes along which scales or zeros differ; DequantizeLinear allows one."""
        ranges = (self.scales, self.zeros)
        return [axis for axis in range(self.values.ndim) if any((x != x.take([0], axis)).any() for x in ranges)]


@dataclass(slots=True)
class ModelState:
    """What all graphs of a model share."""

    names: dict[str, int] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    shared: dict[Any, str] = field(default_factory=dict)  # the names of small constants
    quantized: dict[str, Quantized] = field(default_factory=dict)  # the constants among the values of nodes


class GraphWriter:
    """A graph of a model: its nodes, in order, with the values of the step's outputs that it has or sees around it."""

    def __init__(self, parent: GraphWriter | None = None, scope: str = "") -> None:
        self.parent = parent
        self.model: ModelState = parent.model if parent is not None else ModelState()
        self.nodes: list[OnnxNode] = []
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.scope = scope  # the name of the operation that is being written
        self._values: dict[Output, Value] = {}

    # -- values -------------------------------------------------------------------------------------------------------

    def value(self, output: Output) -> Value:
        """Returns the value of an output of the step."""
        writer: GraphWriter | None = self
        while writer is not None:
            if output in writer._values:
                return writer._values[output]
            writer = writer.parent
        raise KeyError(output)

    def has(self, output: Output) -> bool:
        return output in self._values or (self.parent is not None and self.parent.has(output))

    def set(self, output: Output, value: Value) -> None:
        """Records the value of an output, and its type."""
        self._values[output] = value
        node, index = output
        if isinstance(value, str):
            self.model.types.setdefault(value, Type(node.dtypes[index].base_dtype, node.shapes[index]))

    def static_value(self, name: object) -> Array | None:
        """Returns the value of a constant."""
        return self.model.constants.get(name) if isinstance(name, str) else None

    def type_of(self, value: Value) -> Type:
        """Returns the type of a value of the step."""
        if isinstance(value, str):
            return self.model.types[value]
        return self.model.types.get(value.name) or Type(value.dtype, None, isinstance(value, Elements))

    # -- nodes --------------------------------------------------------------------------------------------------------

    def unique(self, name: str) -> str:
        """Returns a name that no other value of the model has."""
        count = self.model.names.get(name, 0)
        self.model.names[name] = count + 1
        return name if count == 0 else self.unique(f"{name}__{count}")

    def add(self, type_: str, *inputs: Operand | None, domain: Any = "", **attrs: Any) -> str:
        """Adds a node and returns its output; inputs may be arrays, and None where one is left out."""
        return self.many(type_, 1, *inputs, domain=domain, **attrs)[0]

    def many(self, type_: str, count: int, *inputs: Operand | None, domain: Any = "", **attrs: Any) -> list[str]:
        """Adds a node with several outputs."""
        names = ["" if value is None else self._as_name(value) for value in inputs]
        while names and not names[-1]:
            names.pop()
        base = self.scope or type_
        outputs = [self.unique(base) for _ in range(count)]
        self.nodes.append(OnnxNode(type_, outputs[0] if outputs else base, names, outputs, attrs, domain))
        return outputs

    def _as_name(self, value: Operand) -> str:
        return value if isinstance(value, str) else self.constant(value)

    def child(self) -> GraphWriter:
        """Returns a graph inside of this one, for an attribute of a node."""
        return GraphWriter(self, self.scope)

    # -- constants ----------------------------------------------------------------------------------------------------

    def constant(self, value: Array | Sequence[int] | np.generic | float, dtype: DType | None = None) -> str:
        """Returns the name of a constant; a list is one of int64."""
        array = np.asarray(value, np.int64) if isinstance(value, list) else np.asarray(value)
        if dtype is not None:
            array = array.astype(dtype.as_numpy_dtype)
        key = None
        if array.size <= _SMALL and array.dtype != object:
            key = (array.dtype.str, array.shape, array.tobytes())
            if key in self.model.shared:
                return self.model.shared[key]
        name = self.unique(f"{self.scope}/constant" if self.scope else "constant")
        self.model.constants[name] = array
        if key is not None:
            self.model.shared[key] = name
        return name

    def like(self, number: float, dtype: DType) -> str:
        """Returns a scalar constant of a type."""
        return self.constant(number, dtype.base_dtype)

    def dequantized(self, constant: Quantized) -> str:
        """Returns a constant that is stored as integers."""
        axes = constant.axes()
        some = tuple(slice(None) if axis in axes else 0 for axis in range(constant.values.ndim))
        ranges = [np.array(array[some]) for array in (constant.scales, constant.zeros)]
        name = self.add("DequantizeLinear", constant.values, *ranges, **({"axis": axes[0]} if axes else {}))
        self.model.quantized[name] = constant
        return name

    # -- frequent nodes -----------------------------------------------------------------------------------------------

    def cast(self, x: Operand, dtype: DType, source: DType | None = None) -> str:
        """Converts to a type; source: the type of the value, if it is known."""
        if source is not None and source.base_dtype is dtype.base_dtype:
            return self._as_name(x)
        constant = self.static_value(x)
        if constant is not None and constant.dtype != object and dtype is not dtypes.string:
            return self.constant(constant, dtype)
        return self._typed(self.add("Cast", x, to=number_of(dtype)), dtype)

    def _typed(self, name: str, dtype: DType) -> str:
        self.model.types[name] = Type(dtype)
        return name

    def index(self, x: Operand) -> str:
        """Returns integers as int64, which shapes, axes and indices are in ONNX."""
        return self.cast(x, dtypes.int64)

    def vector(self, x: Operand) -> str:
        """Returns an integer, a scalar, as a vector of int64."""
        number = self.static_value(x)
        if number is not None:
            return self.constant([int(number.reshape(()))])
        return self.add("Reshape", self.index(x), [1])

    def transpose(self, x: str, permutation: Sequence[int]) -> str:
        """Transposes, unless the permutation changes nothing."""
        axes = [int(axis) for axis in permutation]
        if axes == sorted(axes):
            return x
        return self._rearranged(x, lambda array: array.transpose(axes), "Transpose", perm=axes)

    def reshape(self, x: str, shape: str | list[int]) -> str:
        """Reshapes to sizes, given as a list of numbers or as a value of int64; 0 is a size."""
        if not isinstance(shape, list):
            return self.add("Reshape", x, shape, allowzero=1)
        return self._rearranged(x, lambda array: array.reshape(shape), "Reshape", shape, allowzero=int(0 in shape))

    def _rearranged(self, x: str, change: Callable[[Array], Array], type_: str, *inputs: Operand, **attrs: Any) -> str:
        """Adds a node that moves elements to other places, or moves those of a constant."""
        constant, quantized = self.static_value(x), self.model.quantized.get(x)
        if constant is not None:
            return self.constant(change(constant))
        if quantized is None:
            return self.add(type_, x, *inputs, **attrs)
        quantized = quantized.rearranged(change)
        if len(quantized.axes()) <= 1:
            return self.dequantized(quantized)
        name = self.add(type_, x, *inputs, **attrs)
        self.model.quantized[name] = quantized  # which another change may make one with one axis
        return name

    def dims(self, x: str, start: int = 0, end: int | None = None) -> str:
        """Returns sizes of a value as a vector of int64."""
        sizes = self.add(
            "Shape", x, **({} if start == 0 else {"start": start}), **({} if end is None else {"end": end})
        )
        return self._typed(sizes, dtypes.int64)

    def join(self, *vectors: Operand) -> str:
        """Concatenates vectors of int64; lists are constants."""
        names = [self._as_name(vector) for vector in vectors if not (isinstance(vector, list) and not vector)]
        return names[0] if len(names) == 1 else self.add("Concat", *names, axis=0)

    def channels_first(self, x: str, rank: int) -> str:
        """Moves the last axis behind the first."""
        return self.transpose(x, (0, rank - 1, *range(1, rank - 1)))

    def channels_last(self, x: str, rank: int) -> str:
        return self.transpose(x, inverse((0, rank - 1, *range(1, rank - 1))))

    # -- the whole graph ----------------------------------------------------------------------------------------------

    def everything(self) -> Iterable[OnnxNode]:
        """Yields the nodes of this graph and of all graphs in it."""
        for node in self.nodes:
            yield node
            for graph in node.subgraphs():
                yield from graph.everything()
