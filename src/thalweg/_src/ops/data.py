"""Input pipeline ops: datasets, and the iterators that steps take elements from."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from thalweg._src.graph import attr
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.ops.shape_functions import require, scalar, with_rank
from thalweg._src.shapes import Shape, show


class Definition(Protocol):
    """The definition of a dataset: a Python object of the process that built the graph."""

    def bind(self, device: Any, constants: frozenset[int] = frozenset()) -> Callable[..., Any]:
        """Returns a function that creates the dataset from the values of its inputs, some of which are constant."""


_serial = itertools.count()
_definitions: weakref.WeakValueDictionary[str, Definition] = weakref.WeakValueDictionary()


def keep_definition(graph: Graph, definition: Definition) -> str:
    """Returns the token by which nodes of a graph find a definition, which lives as long as the graph."""
    token = f"dataset_{next(_serial)}"
    _definitions[token] = definition
    graph.kept("datasets", list).append(definition)
    return token


def definition_of(token: str) -> Definition | None:
    """Returns the definition of a token, or None if its graph is gone or it belongs to another process."""
    return _definitions.get(token)


def component_shapes(c: Inference) -> Sequence[Shape]:
    """Returns the shapes that an op declares for the components of an element."""
    types, shapes = c.attrs["output_types"], c.attrs["output_shapes"]
    require(
        len(types) == len(shapes),
        f"there are {len(types)} output_types and {len(shapes)} output_shapes",
        expected="a shape for each type",
    )
    return list(shapes)


def _handle(c: Inference) -> Sequence[Shape]:
    if "output_shapes" in c.attrs and (c.attrs["output_types"] or c.attrs["output_shapes"]):
        component_shapes(c)
    return [()]


def _from_string(c: Inference) -> Sequence[Shape]:
    with_rank(c, 0, 0)
    if c.attrs["output_types"] and c.attrs["output_shapes"]:
        component_shapes(c)
    return [()]


def _make(c: Inference) -> Sequence[Shape]:
    for index, name in enumerate(("dataset", "iterator")):
        require(c.shapes[index] in (None, ()), f"{name} has shape {show(c.shapes[index])}", expected="a scalar handle")
    return []


def _cardinality(c: Inference) -> Sequence[Shape]:
    require(c.shapes[0] in (None, ()), f"input_dataset has shape {show(c.shapes[0])}", expected="a scalar")
    return [()]


def _restore(c: Inference) -> Sequence[Shape]:
    with_rank(c, 1, 0)
    return []


_OUTPUTS: dict[str, Any] = {"output_types": attr.type_list(1), "output_shapes": attr.AttrDef("list(shape)", minimum=1)}

dataset_op = op(
    "_Dataset",
    "inputs: list(Tin) -> handle: variant",
    token=attr.string(),
    external="calls Python",
    stateful=True,
    infer=scalar,
    differentiable=False,
    doc="Creates a dataset from its definition, a Python object found by its token, and its parameters.",
)
iterator_op = op(
    "IteratorV2",
    "-> handle: resource",
    shared_name=attr.string(),
    container=attr.string(),
    **_OUTPUTS,
    stateful=True,
    infer=_handle,
    differentiable=False,
    doc="Creates an iterator that MakeIterator initializes with a dataset.",
)
one_shot_iterator_op = op(
    "_OneShotIterator",
    "-> handle: resource",
    token=attr.string(),
    external="calls Python",
    shared_name=attr.string(default=""),
    container=attr.string(default=""),
    **_OUTPUTS,
    stateful=True,
    infer=_handle,
    differentiable=False,
    doc="Creates an iterator over a dataset without inputs, which it builds on first use.",
)
make_iterator_op = op(
    "MakeIterator",
    "dataset: variant, iterator: resource ->",
    stateful=True,
    infer=_make,
    differentiable=False,
    doc="Initializes an iterator with the first element of a dataset.",
)
iterator_to_string_handle_op = op(
    "IteratorToStringHandle",
    "resource_handle: resource -> string_handle: string",
    stateful=True,
    infer=scalar,
    differentiable=False,
    doc="Returns a string handle of an iterator, to be fed.",
)
iterator_from_string_handle_op = op(
    "IteratorFromStringHandleV2",
    "string_handle: string -> resource_handle: resource",
    output_types=attr.type_list(0, default=()),
    output_shapes=attr.AttrDef("list(shape)", (), minimum=0),
    stateful=True,
    infer=_from_string,
    differentiable=False,
    doc="Returns the iterator of a string handle.",
)
iterator_state_op = op(
    "_IteratorState",
    "iterator: resource -> state: string",
    stateful=True,
    waits=True,
    infer=scalar,
    differentiable=False,
    doc="Returns the state of an iterator, with all that its dataset buffers.",
)
restore_iterator_op = op(
    "_RestoreIterator",
    "iterator: resource, state: string ->",
    stateful=True,
    waits=True,
    infer=_restore,
    differentiable=False,
    doc="Restores the state of an iterator that `_IteratorState` returned.",
)


def _next_op(name: str) -> OpDef:
    return op(
        name,
        "iterator: resource -> components: list(output_types)",
        **_OUTPUTS,
        stateful=True,
        waits=True,
        infer=component_shapes,
        differentiable=False,
        doc="Returns the next element of an iterator.",
    )


iterator_get_next_op = _next_op("IteratorGetNext")
iterator_get_next_sync_op = _next_op("IteratorGetNextSync")
single_element_op = op(
    "DatasetToSingleElement",
    "dataset: variant -> components: list(output_types)",
    **_OUTPUTS,
    metadata=attr.string(default=""),
    stateful=True,
    waits=True,
    infer=component_shapes,
    differentiable=False,
    doc="Returns the only element of a dataset.",
)
cardinality_op = op(
    "DatasetCardinality",
    "input_dataset: variant -> cardinality: int64",
    cardinality_options=attr.string(default=""),
    differentiable=False,
    infer=_cardinality,
    doc="Returns the number of elements of a dataset: -1 if infinite, -2 if unknown.",
)
