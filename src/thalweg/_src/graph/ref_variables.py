"""Reference variables of older graphs, rewritten as resource variables, the only kind that is executed.

A reference is an output that can be written to. The variable becomes a handle, the ops that write to it become their
resource counterparts, and every other consumer gets a read of its own, which runs just before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from thalweg._src.graph.op_def import OPS

_VARIABLES = ("Variable", "VariableV2")
_WRITERS = {
    "Assign": "AssignVariableOp",
    "AssignAdd": "AssignAddVariableOp",
    "AssignSub": "AssignSubVariableOp",
    "CountUpTo": "ResourceCountUpTo",
    "IsVariableInitialized": "VarIsInitializedOp",
    "StridedSliceAssign": "ResourceStridedSliceAssign",
}
_PREFIXES = ("Apply", "SparseApply", "Scatter")
_NOT_WRITERS = ("ScatterNd", "ScatterNdNonAliasingAdd")
_PASSES = ("RefSwitch", "RefMerge", "RefEnter", "RefExit", "RefNextIteration")
_RESOURCE = 20  # DT_RESOURCE
_WITH_OUTPUT = ("CountUpTo", "IsVariableInitialized")


def has_ref_variables(graph_def: Any) -> bool:
    return any(node.op in _VARIABLES for node in graph_def.node)


def with_resources(graph_def: Any, replaced: Collection[str] = ()) -> Any:
    """Returns a GraphDef in which variables are resources; the names of all nodes are kept.

    Variables in `replaced`, whose outputs are mapped to plain tensors, are not references for their consumers.
    """
    result = type(graph_def)()
    result.CopyFrom(graph_def)
    _Rewriting(result).run(replaced)
    return result


class _Rewriting:
    """One rewrite: which outputs are references, and the nodes that are added."""

    def __init__(self, graph_def: Any) -> None:
        self._graph_def = graph_def
        self._nodes = {node.name: node for node in graph_def.node}
        self._refs: dict[str, tuple[str, str]] = {}  # maps an output that is a reference to its variable and handle
        self._reads: set[str] = set()

    def run(self, replaced: Collection[str]) -> None:
        nodes = list(self._graph_def.node)
        for node in nodes:
            if node.op in _VARIABLES and node.name not in replaced:
                self._refs[node.name] = node.name, node.name
        for node in self._in_order(nodes):
            ref = self._ref(node.input[0])
            if ref is not None and node.op in _PASSES:
                self._refs[node.name] = ref[0], node.name
                if node.op == "RefSwitch":
                    self._refs[f"{node.name}:1"] = ref[0], f"{node.name}:1"
            elif ref is not None and node.op not in _WITH_OUTPUT:
                self._refs[node.name] = ref
        for node in nodes:
            self._rewrite(node)

    def _in_order(self, nodes: list[Any]) -> Iterable[Any]:
        """Yields the nodes that may return a reference, producers before consumers."""
        waiting = [node for node in nodes if _writer(node.op) or node.op in _PASSES]
        while waiting:
            rest, names = [], {node.name for node in waiting}
            for node in waiting:
                source = _node_of(node.input[0])
                if source in names and source not in self._refs:
                    rest.append(node)
                else:
                    yield node
            if len(rest) == len(waiting):
                return
            waiting = rest

    def _ref(self, text: str) -> tuple[str, str] | None:
        """Returns variable and handle of an input, if it is a reference."""
        return self._refs.get(text.removesuffix(":0"))

    def _rewrite(self, node: Any) -> None:
        if node.op in _VARIABLES:
            _as_handle(node)
            return
        controls = [text for text in node.input if text.startswith("^")]
        inputs = [text for text in node.input if not text.startswith("^")]
        handles = self._count_of_handles(node, inputs)
        for position, text in enumerate(inputs):
            ref = self._ref(text)
            if ref is None:
                continue
            variable, handle = ref
            if position < handles:
                inputs[position] = handle
                if _node_of(text) != _node_of(handle):  # the result of a write is read after it
                    controls.append(f"^{_node_of(text)}")
            else:
                inputs[position] = self._read(node, text, variable, handle, controls)
        del node.input[:]
        node.input.extend([*inputs, *dict.fromkeys(controls)])

    def _count_of_handles(self, node: Any, inputs: list[str]) -> int:
        """Converts a node that takes a reference to its resource op, and returns the number of handles it takes."""
        writer = _writer(node.op)
        is_ref = bool(inputs) and self._ref(inputs[0]) is not None
        if node.op in _PASSES:
            node.op = node.op.removeprefix("Ref")
            node.attr.pop("_output_shapes", None)
            if is_ref:
                node.attr["T"].type = _RESOURCE
            return len(inputs) if is_ref else 0
        if node.op in ("Identity", "RefIdentity"):
            if is_ref:
                node.op = "ReadVariableOp"
                _keep_type(node, "dtype")
            return 1
        if writer is None or not is_ref:
            return 0
        node.op = writer
        _keep_attrs(node, writer)
        return _handles_of(writer)

    def _read(self, consumer: Any, text: str, variable: str, handle: str, controls: list[str]) -> str:
        """Adds a read for one consumer, ordered by the consumer's own control inputs."""
        name = f"{consumer.name}/value_of_{variable.rsplit('/', 1)[-1]}"
        while name in self._nodes or name in self._reads:
            name += "_"
        self._reads.add(name)
        after = [] if _node_of(text) == _node_of(handle) else [f"^{_node_of(text)}"]
        read = self._graph_def.node.add(op="ReadVariableOp", name=name, input=[handle, *after, *controls])
        original = self._nodes[variable]
        read.attr["dtype"].type = original.attr["dtype"].type
        read.device = original.device
        return name


def _node_of(text: str) -> str:
    return text.partition(":")[0].removeprefix("^")


def _writer(op_type: str) -> str | None:
    """Returns the resource op that corresponds to an op on references."""
    if op_type in _WRITERS:
        return _WRITERS[op_type]
    return f"Resource{op_type}" if op_type.startswith(_PREFIXES) and op_type not in _NOT_WRITERS else None


def _handles_of(writer: str) -> int:
    definition = OPS.lookup(writer)
    return sum(arg.dtype is not None and arg.dtype.name == "resource" for arg in definition.inputs)


def _as_handle(node: Any) -> None:
    node.op = "VarHandleOp"
    node.attr.pop("_output_shapes", None)
    if not node.attr["shared_name"].s:
        node.attr["shared_name"].s = node.name.encode()


def _keep_type(node: Any, key: str) -> None:
    dtype = node.attr["T"].type
    kept = {k: node.attr[k].SerializeToString() for k in node.attr if k.startswith("_") and k != "_output_shapes"}
    node.attr.clear()
    node.attr[key].type = dtype
    for k, value in kept.items():
        node.attr[k].MergeFromString(value)


def _keep_attrs(node: Any, writer: str) -> None:
    """Keeps the attributes that the resource op has, with the type under its name there."""
    known = OPS.lookup(writer).attrs
    if "T" in node.attr and "T" not in known and "dtype" in known:
        node.attr["dtype"].type = node.attr["T"].type
    for key in list(node.attr):
        if key not in known and (not key.startswith("_") or key == "_output_shapes"):
            del node.attr[key]
