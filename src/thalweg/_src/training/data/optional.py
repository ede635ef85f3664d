"""tf.data.experimental.Optional: an element of a dataset, or nothing, as a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.ops.optional import (
    optional_from_value_op,
    optional_get_value_op,
    optional_has_value_op,
    optional_none_op,
)
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.data.structure import (
    ElementsSpec,
    Structure,
    converted,
    element_of,
    outputs,
    structure_of,
    tensors_of,
)


@export("data.experimental.Optional")
class Optional:
    """An element that may be missing."""

    value_structure = ReadOnly[Any]("The types and static shapes of the value.", "_structure")

    def __init__(self, variant: Tensor, structure: Structure) -> None:
        self._variant = variant
        self._structure = structure

    @staticmethod
    def from_value(value: Structure) -> Optional:
        """Returns an optional that holds an element."""
        with name_scope("optional"):
            element = converted(value)
            return Optional(optional_from_value_op(tensors_of(element)), structure_of(element))

    @staticmethod
    def none_from_structure(value_structure: Structure) -> Optional:
        """Returns an optional of a structure that holds nothing."""
        return Optional(optional_none_op(), value_structure)

    empty = none_from_structure

    def has_value(self, name: str | None = None) -> Tensor:
        """Returns whether there is an element."""
        return optional_has_value_op(self._variant, name=name)

    def get_value(self, name: str | None = None) -> Any:
        """Returns the element; fails with InvalidArgumentError in a step if it is missing."""
        with name_scope(name, "OptionalGetValue") as scope:
            tensors = optional_get_value_op.many(self._variant, name=scope, **outputs(self._structure))
        return element_of(self._structure, tensors)

    element_spec = value_structure

    def _as_spec(self) -> OptionalSpec:
        return OptionalSpec(self._structure)

    def __repr__(self) -> str:
        return f"<Optional of {self._structure}>"


@export("OptionalSpec", "data.experimental.OptionalStructure")
class OptionalSpec(ElementsSpec):
    """The specification of an optional that may hold an element of a structure."""

    __slots__ = ()
    value_class = Optional

    def __init__(self, element_spec: Structure) -> None:
        super().__init__(element_spec)

    @staticmethod
    def from_value(value: Optional) -> OptionalSpec:
        """Returns the spec of an Optional."""
        return value._as_spec()

    def pack(self, tensors: Sequence[Tensor]) -> Optional:
        return Optional(tensors[0], self._element)
