"""Eager operations: what a gradient function sees of an operation that has run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import attr_value
from thalweg._src.graph.source_line import Stack
from thalweg._src.runtime.eager.tensor import EagerTensor


class EagerOperation:
    """An operation that has run, with its inputs and outputs.

    rule: its gradient function, if that is not the one registered for its type
    """

    __slots__ = ("attrs", "definition", "inputs", "outputs", "rule")
    type = ReadOnly[str]("The type of the operation.", "definition.name")
    name = ReadOnly[str]("The type, since an operation that has run needs no name.", "definition.name")
    op_def = ReadOnly[OpDef]("The OpDef of the operation.", "definition")
    stack: Stack = ()
    context = None
    device = ""

    def __init__(
        self, definition: OpDef, attrs: dict[str, Any], inputs: Sequence[EagerTensor], outputs: Sequence[EagerTensor]
    ) -> None:
        self.definition = definition
        self.attrs = attrs
        self.inputs = inputs
        self.outputs = outputs
        self.rule: Callable[..., Any] | None = None

    def get_attr(self, name: str) -> Any:
        """Returns an attribute in TensorFlow's form: strings as bytes, shapes as TensorShape."""
        return attr_value(self, name)

    @property
    def graph(self) -> Any:
        """The graph in which the operation runs."""
        return get_default_graph()
