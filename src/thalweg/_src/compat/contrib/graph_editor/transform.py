"""Copies of subgraphs, with other tensors in place of their inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base.errors import require_kind, require_members, require_text
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.graph_editor.elements import (
    ControlOutputs,
    graph_of_all,
    make_list_of_t,
    make_placeholder_from_tensor,
)
from thalweg._src.compat.contrib.graph_editor.select import get_walks_intersection_ops
from thalweg._src.compat.contrib.graph_editor.subgraph import SubGraphView, make_view
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.nest import flatten, map_structure
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor

_COLOCATED = "loc:@"


@export("contrib.graph_editor.TransformerInfo")
class TransformerInfo:
    """What a transformation made of each operation and tensor."""

    def __init__(
        self,
        sgv: SubGraphView,
        dst_graph: Graph,
        dst_scope: str,
        src_scope: str,
        transformed_ops: dict[Operation, Operation],
        transformed_ts: dict[Tensor, Tensor],
    ) -> None:
        self.sgv = sgv
        require_kind("sgv", sgv, SubGraphView, "a SubGraphView")
        self.graph = sgv.graph
        self.graph_ = dst_graph
        self.scope = src_scope
        self.scope_ = dst_scope
        self._transformed_ops = transformed_ops
        self._transformed_ts = transformed_ts

    def transformed(self, original_top: object, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """Returns what became of tensors, operations or nests of them; by default None for what was not transformed."""
        copies: dict[Any, Any] = {**self._transformed_ops, **self._transformed_ts}
        return _looked_up(original_top, copies, missing_fn)

    def original(self, transformed_top: object, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """Returns what transformed tensors, operations or nests of them were made of."""
        pairs = [*self._transformed_ops.items(), *self._transformed_ts.items()]
        return _looked_up(transformed_top, {copy: original for original, copy in pairs}, missing_fn)

    def __str__(self) -> str:
        lines = [f"Transformation of {len(self._transformed_ops)} ops"]
        return "\n".join([*lines, *(f"  {op.name} -> {copy.name}" for op, copy in self._transformed_ops.items())])


def _looked_up(top: object, counterparts: dict[Any, Any], missing_fn: Callable[[Any], Any] | None) -> Any:
    if isinstance(top, SubGraphView):
        view = top.copy()
        view._ops = [counterparts[op] for op in top.ops]
        for name in ("_input_ts", "_output_ts", "_passthrough_ts"):
            setattr(view, name, [counterparts[t] for t in getattr(top, name)])
        view._graph = graph_of_all([*view._ops, *view._passthrough_ts])
        return view

    def look_up(element: object) -> Any:
        if element in counterparts:
            return counterparts[element]
        return None if missing_fn is None else missing_fn(element)

    return map_structure(look_up, top)


def _require_info(info: object) -> None:
    require_members("info", info, "the TransformerInfo of a copy", "graph", "graph_", "transformed_ops")


@export("contrib.graph_editor.replace_t_with_placeholder_handler")
def replace_t_with_placeholder_handler(info: Transformer, t: Tensor) -> Tensor:
    """Returns a placeholder for an input of the subgraph."""
    _require_info(info)
    with info.graph_.as_default():
        return make_placeholder_from_tensor(t, scope=info.scope_)


@export("contrib.graph_editor.keep_t_if_possible_handler")
def keep_t_if_possible_handler(info: Transformer, t: Tensor) -> Tensor:
    """Returns the input itself inside its graph, a placeholder in another."""
    _require_info(info)
    return t if info.graph is info.graph_ else replace_t_with_placeholder_handler(info, t)


@export("contrib.graph_editor.transform_op_if_inside_handler")
def transform_op_if_inside_handler(info: Transformer, op: Operation, keep_if_possible: bool = True) -> Any:
    """Returns the copy of an operation of the subgraph; another is kept inside its graph, or left out."""
    _require_info(info)
    if op in info.transformed_ops:
        return info.transformed_ops[op]
    return op if keep_if_possible and info.graph is info.graph_ else None


@export("contrib.graph_editor.assign_renamed_collections_handler")
def assign_renamed_collections_handler(info: Transformer, elem: object, elem_: object) -> None:
    """Adds the copy of an operation or tensor to the collections of its original."""
    _require_info(info)
    assert info.graph is not None
    for name in info.graph.collections:
        if any(member is elem for member in info.graph.get_collection_ref(name)):
            renamed = info.new_name(name) if isinstance(name, str) and name.startswith(info.scope) else name
            info.graph_.add_to_collection(renamed, elem_)


@export("contrib.graph_editor.copy_op_handler")
def copy_op_handler(info: Transformer, op: Operation, new_inputs: list[Tensor]) -> tuple[Operation, list[Tensor]]:
    """Returns the copy of an operation with other inputs, and the outputs of the copy."""
    _require_info(info)
    graph = info.graph_
    attrs = dict(op.attrs)
    if "_class" in attrs:
        colocations = [name for name in attrs["_class"] if name.removeprefix(_COLOCATED) in graph._by_name]
        attrs["_class"] = tuple(colocations)
        if not colocations:
            del attrs["_class"]
    with graph.control_flow(None), graph.device(None), graph.colocate_with(None, ignore_existing=True):
        copy = graph.add(op.definition, new_inputs, attrs, [t.dtype for t in op.outputs], info.new_name(op.name))
    copy.device = op.device
    return copy, copy.outputs


@export("contrib.graph_editor.Transformer")
class Transformer:
    """Transforms subgraphs, by default into copies; attributes that end in `_handler` say how.

    `transform_op_handler(info, op, new_inputs)` makes an operation, `transform_external_input_handler(info, t)` what
    replaces an input of the view, `transform_external_hidden_input_handler(info, t)` an input that the view leaves out,
    `transform_control_input_handler(info, op)` a control input, and `assign_collections_handler(info, old, new)` adds
    to collections.
    """

    transform_op_handler: Callable[..., Any]
    transform_control_input_handler: Callable[..., Any]
    assign_collections_handler: Callable[..., Any]
    transform_external_input_handler: Callable[..., Any]
    transform_external_hidden_input_handler: Callable[..., Any]

    def __init__(self) -> None:
        self.transform_op_handler = copy_op_handler
        self.transform_control_input_handler = transform_op_if_inside_handler
        self.assign_collections_handler = assign_renamed_collections_handler
        self.transform_external_input_handler = replace_t_with_placeholder_handler
        self.transform_external_hidden_input_handler = keep_t_if_possible_handler

    def __call__(
        self, sgv: Any, dst_graph: Graph, dst_scope: str, src_scope: str = "", reuse_dst_scope: bool = False
    ) -> tuple[SubGraphView, TransformerInfo]:
        """Returns the transformed view, and what became of each element."""
        for argument, scope in (("src_scope", src_scope), ("dst_scope", dst_scope)):
            require_text(argument, scope)
        self.sgv = make_view(sgv)
        self.graph, self.graph_ = self.sgv.graph, dst_graph
        self.scope = f"{src_scope.rstrip('/')}/" if src_scope else ""
        self.scope_ = f"{dst_scope.rstrip('/')}/" if dst_scope else ""
        if self.scope_ and not reuse_dst_scope:
            self.scope_ = f"{dst_graph.unique_name(self.scope_[:-1])}/"
        elif reuse_dst_scope and not self.scope_:
            raise ValueError("dst_scope: expected a scope, since it is to be reused")
        self.transformed_ops: dict[Operation, Operation] = {}
        self.transformed_ts: dict[Tensor, Tensor] = {}
        self._members = set(self.sgv.ops)
        self._inputs = set(self.sgv.inputs)
        with dst_graph.as_default():
            self._copy_all()
        info = TransformerInfo(self.sgv, dst_graph, self.scope_, self.scope, self.transformed_ops, self.transformed_ts)
        return info.transformed(self.sgv), info

    def new_name(self, name: str) -> str:
        """Returns the name of a copy, with the source scope replaced by the destination scope."""
        if not name.startswith(self.scope):
            raise ValueError(f"{name!r} does not start with the source scope {self.scope!r}")
        return f"{self.scope_}{name[len(self.scope) :]}"

    def _copy_all(self) -> None:
        back_edges: list[tuple[Operation, int]] = []
        for op in _sorted(self.sgv.ops):
            inputs: list[Tensor | None] = [self._new_input(t) for t in op.inputs]
            back_edges += [(op, index) for index, tensor in enumerate(inputs) if tensor is None]
            available = next((tensor for tensor in inputs if tensor is not None), None)
            stand_ins: list[Any] = [
                available if tensor is None else tensor for tensor in inputs
            ]  # until the loop is closed
            copy, outputs = self.transform_op_handler(self, op, stand_ins)
            self.transformed_ops[op] = copy
            for old, new in zip(op.outputs, outputs):
                if any(tensor is None for tensor in inputs):
                    new.dims = old.dims
                self.transformed_ts[old] = new
                self.assign_collections_handler(self, old, new)
            self.assign_collections_handler(self, op, copy)
        for op, index in back_edges:
            self.transformed_ops[op]._replace_input(index, self.transformed_ts[op.inputs[index]])
        for op, copy in self.transformed_ops.items():
            controls = [self.transform_control_input_handler(self, control) for control in op.control_inputs]
            if any(controls):
                copy._add_control_inputs([control for control in controls if control is not None])
        for t in self.sgv.passthroughs:
            if t not in self.transformed_ts:
                self.transformed_ts[t] = self.transform_external_input_handler(self, t)

    def _new_input(self, tensor: Tensor) -> Tensor | None:
        """Returns what an input becomes; None if it is the back edge of a loop, which does not exist yet."""
        if tensor.op in self._members:
            return self.transformed_ts.get(tensor)
        if tensor not in self.transformed_ts:
            is_input = tensor in self._inputs
            handler = (
                self.transform_external_input_handler if is_input else self.transform_external_hidden_input_handler
            )
            self.transformed_ts[tensor] = handler(self, tensor)
        return self.transformed_ts[tensor]


def _sorted(ops: list[Operation]) -> list[Operation]:
    """Returns operations after their inputs, except at the back edges of loops."""
    members, done, order = set(ops), set(), []
    for start in sorted(ops, key=lambda op: op.id):
        stack = [(start, False)]
        open_ops = set()
        while stack:
            op, inputs_done = stack.pop()
            if inputs_done:
                done.add(op)
                order.append(op)
            elif op not in done and op not in open_ops:
                open_ops.add(op)
                stack.append((op, True))
                if op.type == "Merge":  # its later inputs may be back edges
                    stack += [(t.op, False) for t in op.inputs if t.op in members and t.op.type != "NextIteration"]
                else:
                    stack += [(t.op, False) for t in op.inputs if t.op in members]
    return order


@export("contrib.graph_editor.copy")
def copy(
    sgv: object, dst_graph: Graph | None = None, dst_scope: str = "", src_scope: str = "", reuse_dst_scope: bool = False
) -> tuple[SubGraphView, TransformerInfo]:
    """Copies a subgraph, with placeholders as its inputs; returns its view and what became of each element."""
    view = make_view(sgv)
    return Transformer()(view, _destination(view, dst_graph), dst_scope, src_scope, reuse_dst_scope)


def _destination(view: SubGraphView, graph: Graph | None) -> Graph:
    if graph is not None and not isinstance(graph, Graph):
        raise TypeError(f"dst_graph: expected a tf.Graph, received {type(graph)}")
    destination = view.graph if graph is None else graph
    if destination is None:
        raise ValueError("sgv: expected a subgraph with operations, since no dst_graph is given")
    return destination


@export("contrib.graph_editor.copy_with_input_replacements")
def copy_with_input_replacements(
    sgv: object,
    replacement_ts: dict[Tensor, Tensor],
    dst_graph: Graph | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copies a subgraph, with some inputs replaced; returns its view and what became of each element."""
    view = make_view(sgv)
    replacements = _by_tensor(replacement_ts)
    copier = Transformer()

    def replaced(info: Transformer, t: Tensor) -> Tensor:
        return replacements[t] if t in replacements else keep_t_if_possible_handler(info, t)

    copier.transform_external_input_handler = replaced
    return copier(view, _destination(view, dst_graph), dst_scope, src_scope, reuse_dst_scope)


def _by_tensor(replacement_ts: Any) -> dict[Tensor, Tensor]:
    """Returns replacements with tensors, where variables are given."""
    require_members("replacement_ts", replacement_ts, "a dict of tensors", "items")
    return {_tensor(old): _tensor(new) for old, new in replacement_ts.items()}


def _tensor(element: Any) -> Tensor:
    return element if isinstance(element, Tensor) else element.value()


@export("contrib.graph_editor.graph_replace")
def graph_replace(
    target_ts: object,
    replacement_ts: dict[Tensor, Tensor],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """Returns tensors computed again with others in place of those they depend on, as a nest like the targets."""
    replacements = _by_tensor(replacement_ts)
    targets = make_list_of_t(flatten(target_ts))
    graph = graph_of_all([*targets, *replacements, *replacements.values()])
    if graph is None:
        raise ValueError("target_ts: expected at least one tensor")
    ops = get_walks_intersection_ops(list(replacements), targets, control_ios=ControlOutputs(graph))
    if not ops:
        raise ValueError("Targets and replacements are not connected!")
    _, info = copy_with_input_replacements(ops, replacements, None, dst_scope, src_scope, reuse_dst_scope)
    return info.transformed(target_ts, missing_fn=lambda original: original)
