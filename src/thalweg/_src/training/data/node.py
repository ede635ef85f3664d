"""Dataset nodes of the graph, whose inputs are other datasets, parameters, and captured tensors of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.infer import complete, static_value
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.data import dataset_op, keep_definition
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.data.function import Function
from thalweg._src.training.data.iteration import Definition, Iteration
from thalweg._src.training.data.structure import Structure, Structured, flatten, pack, structure_of


class DatasetNode(Structured):
    """A dataset as a variant tensor and the structure of its elements; `Dataset` adds the user's methods."""

    _variant: Tensor

    def _leaves(self) -> list[Any]:
        return flatten(self._structure)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} shapes: {self.output_shapes}, types: {self.output_types}>"


def add_dataset(
    iteration_type: type[Iteration],
    structure: Structure,
    parents: Sequence[DatasetNode] = (),
    values: Sequence[Tensor] = (),
    functions: Sequence[Function] = (),
    name: str | None = None,
    **options: Any,
) -> Tensor:
    """Adds a dataset to the graph: a type of iteration over other datasets, with parameters and functions."""
    definition = Definition(iteration_type, structure, len(parents), len(values), functions, options)
    inputs = [*(parent._variant for parent in parents), *values]
    inputs += [tensor for function in functions for tensor in function.captured]
    token = keep_definition(get_default_graph(), definition)
    variant: Tensor = dataset_op(inputs, token=token, name=name or f"{iteration_type.__name__}Dataset")
    return variant


def parameter(value: TensorLike, dtype: DType = dtypes.int64, name: str | None = None) -> Tensor:
    """Returns a parameter of a dataset as a tensor; int32 and int64 are both accepted."""
    if isinstance(value, Tensor) and value.dtype is dtypes.int32 and dtype is dtypes.int64:
        return cast(value, dtypes.int64)  # type: ignore[no-any-return]
    return convert_to_tensor(value, dtype, name=name)


def static(tensor: Tensor) -> Any:
    """Returns the value of a scalar parameter if it is known statically."""
    value = complete(static_value(tensor))
    return None if value is None else value.item()


def trace_state_function(
    function: Callable[..., Any], state: Structure, element: Structure, what: str, new_state: Callable[[Any], Any]
) -> tuple[Function, Any]:
    """Traces a function of a state and an element; returns it with the structure of the state.

    Shapes of the state that the function changes are widened until they are stable.
    """
    structure = structure_of(state)
    while True:
        traced = Function(function, (structure, element), what)
        result = new_state(traced.result)
        leaves, new_leaves = flatten(structure), flatten(structure_of(result))
        if len(leaves) != len(new_leaves):
            raise TypeError(f"{what}: the state is {structure}, the new one is {structure_of(result)}")
        for mine, theirs in zip(leaves, new_leaves):
            if type(mine) is not type(theirs) or mine.dtype is not theirs.dtype:
                raise TypeError(
                    f"The element types for the new state must match the initial state. Expected {mine}; got {theirs}."
                )
        wider = [mine.most_general(theirs) for mine, theirs in zip(leaves, new_leaves)]
        if wider == leaves:
            return traced, structure
        structure = pack(structure, wider)
