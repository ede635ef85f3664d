"""Structures: the nested types of dataset elements.

Tuples, named tuples, dictionaries and attrs classes are nested; everything else is a leaf: a tensor, a sparse tensor
or a dataset. Lists are leaves, since they become one tensor. At run time an element is a flat tuple of values, with
three for a sparse tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.hook import Hook
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import Shape, ShapeLike, TensorShape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg._src.graph.tensor import Tensor

Signature = list[tuple[DType, Shape]]  # of the tensors that represent a value
# A leaf, or tuples, named tuples, dictionaries and attrs classes of structures. The leaves are specs, or of any other
# kind where a name says so: functions here look at nothing but the nesting.
Structure: TypeAlias = object


@export("TypeSpec", "data.experimental.Structure")
class Spec:
    """The static type and shape of a dataset component.

    Args:
        shape: Static shape, as far as it is known.
        dtype: Element type.
    """

    __slots__ = ("_dtype", "dims")
    value_class: Any = Tensor
    dtype = ReadOnly[DType]("The element type.")
    value_type = ReadOnly[Any]("The class of the values.", "value_class")

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32) -> None:
        self.dims: Shape = shapes.as_shape(shape)
        self._dtype: DType = dtypes.as_dtype(dtype)

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return TensorShape(self.dims)

    def tensors(self) -> Signature:
        """Returns the dtypes and shapes of the tensors that represent a value."""
        return [(self._dtype, self.dims)]

    def pack(self, tensors: Sequence[Tensor]) -> Any:
        """Returns the value that tensors represent."""
        return tensors[0]

    def with_shape(self, shape: Shape) -> Any:
        """Returns the spec with another shape."""
        return type(self)(shape, self._dtype)

    def is_compatible_with(self, other: object) -> bool:
        """Returns whether every value of the other specification satisfies this one."""
        other = other if isinstance(other, Spec) else spec_of(other)
        return type(self) is type(other) and self._dtype is other._dtype and shapes.compatible(self.dims, other.dims)

    def most_general(self, other: Any) -> Any:
        """Returns the most specific specification that includes both, which have the same type."""
        return self.with_shape(shapes.most_general(self.dims, other.dims))

    def legacy(self) -> tuple[Any, Any, Any]:
        """Returns dtype, shape and class as TensorFlow 1 names them."""
        return self._dtype, self.shape, self.value_class

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and (self._dtype, self.dims) == (other._dtype, other.dims)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self._dtype, self.dims))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, dtype={self._dtype!r})"


@export("TensorSpec", "contrib.framework.TensorSpec", "contrib.eager.TensorSpec")
class TensorSpec(Spec):
    """A tensor.

    Args:
        shape: Static shape, as far as it is known.
        dtype: Element type.
        name: A name for the component.
    """

    __slots__ = ("name",)

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> None:
        super().__init__(shape, dtype)
        self.name = name

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> TensorSpec:
        """Returns the spec of a tensor, with another name if given."""
        return cls(tensor.dims, tensor.dtype, name or tensor.op.name)

    @classmethod
    def from_spec(cls, spec: Spec, name: str | None = None) -> TensorSpec:
        """Returns the spec of another one, with another name if given."""
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))


@export("SparseTensorSpec")
class SparseTensorSpec(Spec):
    """A sparse tensor of a dense shape."""

    __slots__ = ()
    value_class = SparseTensor

    def tensors(self) -> Signature:
        rank = shapes.rank(self.dims)
        return [(dtypes.int64, (None, rank)), (self._dtype, (None,)), (dtypes.int64, (rank,))]

    def pack(self, tensors: Sequence[Tensor]) -> SparseTensor:
        result = SparseTensor(*tensors)
        result.dims = shapes.merge(result.dims, self.dims)
        return result


class ElementsSpec(Spec):
    """A scalar that holds elements of a structure: a dataset or an optional."""

    __slots__ = ("_element",)

    def __init__(self, element_spec: Structure, shape: ShapeLike = ()) -> None:
        super().__init__(shape, dtypes.variant)
        self._element = element_spec

    def with_shape(self, shape: Shape) -> ElementsSpec:
        """Returns the spec unchanged: what it describes is a scalar."""
        return self

    def legacy(self) -> tuple[Any, Any, Any]:
        return self, self, self

    def is_compatible_with(self, other: Any) -> bool:
        other = other if isinstance(other, Spec) else spec_of(other)
        return type(other) is type(self) and compatible(self._element, other._element)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._element == other._element

    def __hash__(self) -> int:
        return hash((type(self), *flatten(self._element)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._element})"


@export("data.DatasetSpec", "data.experimental.DatasetStructure")
class DatasetSpec(ElementsSpec):
    """A dataset whose elements have a structure."""

    __slots__ = ()
    make: ClassVar[Hook[Callable[[Tensor, Any], Any]]]  # `Dataset`, set by dataset.py
    element_spec = ReadOnly[Any]("The types and static shapes of an element.", "_element")

    def __init__(self, element_spec: Structure, dataset_shape: ShapeLike = ()) -> None:
        super().__init__(element_spec, dataset_shape)

    @classmethod
    def from_value(cls, value: Any) -> DatasetSpec:
        """Returns the spec of a dataset."""
        return cls(value.element_spec)

    def pack(self, tensors: Sequence[Tensor]) -> Any:
        return DatasetSpec.make(tensors[0], self._element)


# -- nesting ----------------------------------------------------------------------------------------------------------


def is_nested(value: object) -> bool:
    """Returns whether a value is a structure, not a leaf."""
    if isinstance(value, tuple):
        return not isinstance(value, SparseTensorValue)
    return isinstance(value, Mapping) or hasattr(type(value), "__attrs_attrs__")


def children(value: Any) -> list[Any]:
    """Returns the children of a structure; those of a dictionary by sorted keys."""
    if isinstance(value, Mapping):
        return [value[key] for key in sorted(value)]
    if hasattr(type(value), "__attrs_attrs__"):
        return [getattr(value, field.name) for field in type(value).__attrs_attrs__]
    return list(value)


def rebuilt(structure: Structure, new_children: Sequence[Any]) -> Any:
    """Returns a structure of the same type with other children."""
    if isinstance(structure, Mapping):
        by_key = dict(zip(sorted(structure), new_children))
        return type(structure)((key, by_key[key]) for key in structure)  # type: ignore[call-arg]
    if hasattr(structure, "_fields") or hasattr(type(structure), "__attrs_attrs__"):
        return type(structure)(*new_children)
    return tuple(new_children)


def flatten(structure: Structure) -> list[Any]:
    """Returns the leaves in order."""
    return list(_leaves(structure))


def _leaves(structure: object) -> Iterator[Any]:
    if not is_nested(structure):
        yield structure
        return
    for child in children(structure):
        yield from _leaves(child)


def pack(structure: Structure, leaves: Sequence[Any]) -> Any:
    """Returns a structure of the same form with other leaves."""
    remaining = iter(leaves)

    def packed(subtree: object) -> Any:
        return (
            rebuilt(subtree, [packed(inner) for inner in children(subtree)]) if is_nested(subtree) else next(remaining)
        )

    return packed(structure)


def map_leaves(function: Callable[[Any], Any], structure: Structure) -> Any:
    """Returns the structure with a function applied to each leaf."""
    return pack(structure, [function(leaf) for leaf in _leaves(structure)])


def flatten_up_to(structure: Structure, values: object) -> list[Any]:
    """Returns the part of `values` at the position of each leaf: a shape given as a tuple is a leaf there."""
    if not is_nested(structure):
        return [values]
    if isinstance(structure, Mapping):
        if not isinstance(values, Mapping) or set(values) != set(structure):
            raise ValueError(f"expected a dictionary with the keys {sorted(structure)}, received {values!r}")
    elif not isinstance(values, list | tuple) or len(values) != len(children(structure)):
        raise ValueError(f"expected a structure like {structure!r}, received {values!r}")
    pairs = zip(children(structure), children(values))
    return [leaf for one, other in pairs for leaf in flatten_up_to(one, other)]


def same_form(first: Any, second: Any) -> bool:
    """Returns whether two structures differ only in their leaves."""
    if is_nested(first) != is_nested(second):
        return False
    if not is_nested(first):
        return True
    if isinstance(first, Mapping) != isinstance(second, Mapping):
        return False
    if isinstance(first, Mapping) and set(first) != set(second):
        return False
    mine, theirs = children(first), children(second)
    return len(mine) == len(theirs) and all(map(same_form, mine, theirs))


# -- elements ---------------------------------------------------------------------------------------------------------


def converted(value: object, name: str = "component") -> Any:
    """Returns an element with all leaves converted to tensors, sparse tensors or datasets."""
    leaves = flatten(value)
    return pack(value, [_as_leaf(leaf, f"{name}_{i}") for i, leaf in enumerate(leaves)])


def _as_leaf(value: object, name: str) -> Any:
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if isinstance(value, SparseTensor) or hasattr(value, "_variant"):
        return value
    if isinstance(value, IndexedSlices):
        return convert_to_tensor(value)
    return convert_to_tensor(value, name=name)


def spec_of(leaf: Any) -> Any:
    """Returns the specification of a converted leaf."""
    if isinstance(leaf, SparseTensor):
        return SparseTensorSpec(leaf.dims, leaf.dtype)
    if hasattr(leaf, "_variant"):
        return leaf._as_spec()
    return TensorSpec(leaf.dims, leaf.dtype)


def tensors_of(element: Structure) -> list[Tensor]:
    """Returns the tensors that represent a converted element."""
    result: list[Tensor] = []
    for leaf in flatten(element):
        if isinstance(leaf, SparseTensor):
            result += [leaf.indices, leaf.values, leaf.dense_shape]
        else:
            result.append(leaf._variant if hasattr(leaf, "_variant") else leaf)
    return result


def signature_of(structure: Structure) -> Signature:
    """Returns the dtypes and shapes of the tensors that represent an element."""
    return [tensor for spec in flatten(structure) for tensor in spec.tensors()]


def outputs(structure: Structure) -> dict[str, Any]:
    """Returns the attributes of operations that return elements of a structure."""
    signature = signature_of(structure)
    return {"output_types": [dtype for dtype, _ in signature], "output_shapes": [shape for _, shape in signature]}


def element_of(structure: Structure, tensors: Sequence[Tensor]) -> Any:
    """Returns the element that tensors represent."""
    leaves, start = [], 0
    for spec in flatten(structure):
        count = len(spec.tensors())
        leaves.append(spec.pack(tensors[start : start + count]))
        start += count
    return pack(structure, leaves)


def structure_of(element: Structure) -> Any:
    """Returns the structure of a converted element: its specifications."""
    return map_leaves(spec_of, element)


def compatible(first: Structure, second: Structure) -> bool:
    """Returns whether elements of one structure may have the other."""
    return same_form(first, second) and all(
        one.is_compatible_with(other) for one, other in zip(flatten(first), flatten(second))
    )


def structure_from(types: Structure, element_shapes: Structure = None, classes: Structure = None) -> Any:
    """Returns the structure that TensorFlow 1 describes by nested types, shapes and classes."""
    types = map_leaves(lambda leaf: leaf if isinstance(leaf, Spec) else dtypes.as_dtype(leaf), types)
    flat = flatten(types)
    sizes = [None] * len(flat) if element_shapes is None else flatten_up_to(types, element_shapes)
    flat_classes = [Tensor] * len(flat) if classes is None else flatten_up_to(types, classes)
    return pack(types, [_leaf_from(*leaf) for leaf in zip(flat, sizes, flat_classes)])


def _leaf_from(dtype: Any, shape: ShapeLike, leaf_class: object) -> Any:
    if isinstance(dtype, Spec):
        return dtype
    if leaf_class is SparseTensor:
        return SparseTensorSpec(shape, dtype)
    if leaf_class is not Tensor:
        raise TypeError(f"output_classes: expected tf.Tensor or tf.SparseTensor, received {leaf_class!r}")
    return TensorSpec(shape, dtype)


class Structured:
    """A base class of what has elements of a structure."""

    _structure: Any
    element_spec = ReadOnly[Any]("The types and static shapes of an element.", "_structure")

    @property
    def output_types(self) -> Any:
        """The types of the components of an element."""
        return legacy(self._structure, 0)

    @property
    def output_shapes(self) -> Any:
        """The static shapes of the components of an element."""
        return legacy(self._structure, 1)

    @property
    def output_classes(self) -> Any:
        """The classes of the components of an element."""
        return legacy(self._structure, 2)


def legacy(structure: Structure, index: int) -> Any:
    """Returns the types (0), shapes (1) or classes (2) of a structure."""
    return map_leaves(lambda spec: spec.legacy()[index], structure)
