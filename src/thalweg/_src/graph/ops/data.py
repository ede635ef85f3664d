"""Input pipeline ops: datasets, and the iterators that steps take elements from."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.ops.declarations import nondifferentiable_op, stateful_op
from thalweg._src.graph.ops.shape_functions import require, scalar, with_rank


class Definition(Protocol):
    """The definition of a dataset: a Python object of the process that built the graph."""

    def bind(self, device: Any, constants: frozenset[int] = frozenset()) -> Callable[..., Any]:
        """Returns a function that creates the dataset from the values of its inputs, some of which are constant."""


_serial = itertools.count()
_definitions: weakref.WeakValueDictionary[str, Definition] = weakref.WeakValueDictionary()


def keep_definition(graph: Graph, definition: Definition) -> str:
    """Returns the token by which nodes of a graph find a definition, which lives as long as the graph.

    A dataset of eager execution is made at once, and holds its definition itself.
    """
    token = f"dataset_{next(_serial)}"
    _definitions[token] = definition
    if not graph.executes:
        graph.singleton("datasets", list).append(definition)
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

dataset_op = stateful_op(
    "_Dataset",
    "inputs: list(Tin) -> handle: variant",
    "Creates a dataset from its definition, a Python object found by its token, and its parameters.",
    token=attr.string(),
    infer=scalar,
    external="calls Python",
)
iterator_op = stateful_op(
    "IteratorV2",
    "-> handle: resource",
    "Creates an iterator that MakeIterator initializes with a dataset.",
    shared_name=attr.string(),
    container=attr.string(),
    **_OUTPUTS,
    infer=_handle,
)
one_shot_iterator_op = stateful_op(
    "_OneShotIterator",
    "-> handle: resource",
    "Creates an iterator over a dataset without inputs, which it builds on first use.",
    token=attr.string(),
    external="calls Python",
    shared_name=attr.string(default=""),
    container=attr.string(default=""),
    **_OUTPUTS,
    infer=_handle,
)
make_iterator_op = stateful_op(
    "MakeIterator",
    "dataset: variant, iterator: resource ->",
    "Initializes an iterator with the first element of a dataset.",
    infer=_make,
)
iterator_to_string_handle_op = stateful_op(
    "IteratorToStringHandle",
    "resource_handle: resource -> string_handle: string",
    "Returns a string handle of an iterator, to be fed.",
    infer=scalar,
)
iterator_from_string_handle_op = stateful_op(
    "IteratorFromStringHandleV2",
    "string_handle: string -> resource_handle: resource",
    "Returns the iterator of a string handle.",
    output_types=attr.type_list(0, default=()),
    output_shapes=attr.AttrDef("list(shape)", (), minimum=0),
    infer=_from_string,
)
iterator_state_op = stateful_op(
    "_IteratorState",
    "iterator: resource -> state: string",
    "Returns the state of an iterator, with all that its dataset buffers.",
    waits=True,
    infer=scalar,
)
restore_iterator_op = stateful_op(
    "_RestoreIterator",
    "iterator: resource, state: string ->",
    "Restores the state of an iterator that `_IteratorState` returned.",
    waits=True,
    infer=_restore,
)


def _next_op(name: str) -> OpDef:
    return stateful_op(
        name,
        "iterator: resource -> components: list(output_types)",
        "Returns the next element of an iterator.",
        **_OUTPUTS,
        waits=True,
        infer=component_shapes,
    )


iterator_get_next_op = _next_op("IteratorGetNext")
iterator_get_next_sync_op = _next_op("IteratorGetNextSync")
single_element_op = stateful_op(
    "DatasetToSingleElement",
    "dataset: variant -> components: list(output_types)",
    "Returns the only element of a dataset.",
    **_OUTPUTS,
    metadata=attr.string(default=""),
    waits=True,
    infer=component_shapes,
)
cardinality_op = nondifferentiable_op(
    "DatasetCardinality",
    "input_dataset: variant -> cardinality: int64",
    "Returns the number of elements of a dataset: -1 if infinite, -2 if unknown.",
    cardinality_options=attr.string(default=""),
    infer=_cardinality,
)
