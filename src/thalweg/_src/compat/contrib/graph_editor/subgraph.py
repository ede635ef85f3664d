"""SubGraphView: a set of operations with its inputs and outputs in an order of the user's choice."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.compat.contrib.graph_editor.elements import (
    ControlOutputs,
    get_consuming_ops,
    graph_of_all,
    make_list_of_op,
    make_list_of_t,
)
from thalweg._src.compat.contrib.graph_editor.select import (
    compute_boundary_ts,
    get_name_scope_ops,
    get_walks_union_ops,
    select_ops_and_ts,
)
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor

Mapping = Sequence[Any] | dict[int, Any]


@export("contrib.graph_editor.SubGraphView")
class SubGraphView:
    """A set of operations; by default its inputs and outputs are the tensors that enter and leave it.

    A tensor that passes through is an input and an output without an operation between. The view is immutable: methods
    that change it return another view.

    Args:
        inside_ops: The operations.
        passthrough_ts: Tensors that pass through.
    """

    def __init__(self, inside_ops: Any = (), passthrough_ts: Any = ()) -> None:
        self._ops = make_list_of_op(inside_ops)
        entering, leaving, inside = compute_boundary_ts(self._ops)
        used = {*entering, *leaving, *inside}
        passing = [t for t in make_list_of_t(passthrough_ts) if t not in used]
        self._graph = graph_of_all([*self._ops, *passing])
        self._passthrough_ts = passing
        self._input_ts = [*entering, *passing]
        self._output_ts = [*leaving, *passing]

    def __repr__(self) -> str:
        names = [t.name for t in self._input_ts], [t.name for t in self._output_ts]
        return f"<SubGraphView of {len(self._ops)} ops: {', '.join(names[0])} -> {', '.join(names[1])}>"

    def __bool__(self) -> bool:
        return self._graph is not None

    def __enter__(self) -> SubGraphView:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def __copy__(self) -> SubGraphView:
        view = SubGraphView.__new__(SubGraphView)
        for name, value in vars(self).items():
            setattr(view, name, list(value) if isinstance(value, list) else value)
        return view

    def copy(self) -> SubGraphView:
        """Returns a view of the same operations."""
        return copy.copy(self)

    @property
    def graph(self) -> Graph | None:
        """The graph of the operations; None for an empty view."""
        return self._graph

    @property
    def ops(self) -> list[Operation]:
        """The operations."""
        return list(self._ops)

    @property
    def inputs(self) -> list[Tensor]:
        """The input tensors."""
        return list(self._input_ts)

    @property
    def outputs(self) -> list[Tensor]:
        """The output tensors."""
        return list(self._output_ts)

    @property
    def passthroughs(self) -> list[Tensor]:
        """The tensors that pass through."""
        return list(self._passthrough_ts)

    @property
    def connected_inputs(self) -> list[Tensor]:
        """The inputs that do not pass through."""
        return [t for t in self._input_ts if not self.is_passthrough(t)]

    @property
    def connected_outputs(self) -> list[Tensor]:
        """The outputs that do not pass through."""
        return [t for t in self._output_ts if not self.is_passthrough(t)]

    def is_passthrough(self, t: Tensor) -> bool:
        """Returns whether a tensor passes through."""
        return t in self._passthrough_ts

    def op(self, op_id: int) -> Operation:
        """Returns an operation by its position."""
        return self._ops[op_id]

    def find_op_by_name(self, op_name: str) -> Operation:
        """Returns the operation with a name."""
        for op in self._ops:
            if op.name == op_name:
                return op
        raise ValueError(f"{op_name} not found in subgraph.")

    def input_index(self, t: Tensor) -> int:
        """Returns the position of an input."""
        return _position(self._input_ts, t, "input")

    def output_index(self, t: Tensor) -> int:
        """Returns the position of an output."""
        return _position(self._output_ts, t, "output")

    def consumers(self) -> list[Operation]:
        """Returns the operations outside that use an output; with passing tensors, their users."""
        members = set(self._ops)
        return [op for op in get_consuming_ops(self._output_ts) if op not in members]

    # -- other views of the same operations ---------------------------------------------------------------------------

    def remap_inputs(self, new_input_indices: Mapping) -> SubGraphView:
        """Returns a view whose inputs are those at the given positions."""
        view = self.copy()
        view._input_ts = _remapped(self._input_ts, new_input_indices, self.input_index, unique=True)
        return view

    def remap_outputs(self, new_output_indices: Mapping) -> SubGraphView:
        """Returns a view whose outputs are those at the given positions, which may repeat."""
        view = self.copy()
        view._output_ts = _remapped(self._output_ts, new_output_indices, self.output_index, unique=False)
        return view

    def remap(self, new_input_indices: Any = None, new_output_indices: Any = None) -> SubGraphView:
        """Returns a view whose inputs and outputs are those at the given positions."""
        view = self if new_input_indices is None else self.remap_inputs(new_input_indices)
        return view.copy() if new_output_indices is None else view.remap_outputs(new_output_indices)

    def remap_outputs_make_unique(self) -> SubGraphView:
        """Returns a view without repeated outputs."""
        view = self.copy()
        view._output_ts = list(dict.fromkeys(self._output_ts))
        return view

    def remap_outputs_to_consumers(self) -> SubGraphView:
        """Returns a view with an output for each of its uses outside."""
        view, members = self.remap_outputs_make_unique(), set(self._ops)
        view._output_ts = [t for t in view._output_ts for op in t.consumers() if op not in members]
        return view

    def remap_default(self, remove_input_map: bool = True, remove_output_map: bool = True) -> SubGraphView:
        """Returns a view with the default inputs or outputs."""
        view, default = self.copy(), SubGraphView(self._ops, self._passthrough_ts)
        if remove_input_map:
            view._input_ts = default._input_ts
        if remove_output_map:
            view._output_ts = default._output_ts
        return view

    def remove_unused_ops(self, control_inputs: bool = True) -> SubGraphView:
        """Returns a view of the operations that connect the inputs to the outputs."""
        view = self.copy()
        used = set(
            get_walks_union_ops(
                self.connected_inputs,
                self.connected_outputs,
                within_ops=self._ops,
                control_inputs=control_inputs,
                control_outputs=None if self._graph is None else ControlOutputs(self._graph),
            )
        )
        view._ops = [op for op in self._ops if op in used]
        return view


def _position(tensors: list[Tensor], tensor: Tensor, what: str) -> int:
    if tensor not in tensors:
        raise ValueError(f"{tensor.name!r} is no {what} of the subgraph")
    return tensors.index(tensor)


def _remapped(tensors: list[Tensor], indices: Mapping, index_of: Any, unique: bool) -> list[Tensor]:
    """Returns tensors in another order; a dictionary maps positions and keeps the other tensors in theirs."""
    if isinstance(indices, dict):
        whole = list(range(len(tensors)))
        for position, index in indices.items():
            whole[position] = index
        indices = whole
    positions = [index_of(index) if isinstance(index, Tensor) else index for index in indices]
    for index in positions:
        if not 0 <= index < len(tensors):
            raise ValueError(f"expected positions below {len(tensors)}, received {index}")
    if unique and len(set(positions)) != len(positions):
        raise ValueError(f"expected each input once, received positions {positions}")
    return [tensors[index] for index in positions]


@export("contrib.graph_editor.make_view", "contrib.graph_editor.sgv")
def make_view(*args: Any, graph: Graph | None = None) -> SubGraphView:
    """Returns the view of operations and passing tensors, given themselves or by regular expressions."""
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        return args[0]
    ops, tensors = select_ops_and_ts(*args, graph=graph)
    return SubGraphView(ops, tensors)


@export("contrib.graph_editor.make_view_from_scope", "contrib.graph_editor.sgv_scope")
def make_view_from_scope(scope: str, graph: Graph) -> SubGraphView:
    """Returns the view of the operations in a name scope."""
    return SubGraphView(get_name_scope_ops(graph, scope))
