"""Preparation: from tensors of a session to a pure step graph, with constants for variables, and small."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.shapes import Shape
from thalweg._src.compiler.optimize.constant_folding import fold
from thalweg._src.compiler.optimize.cse import eliminate_common_subexpressions
from thalweg._src.compiler.optimize.functionalize import functionalize
from thalweg._src.compiler.optimize.inline_functions import inline_functions
from thalweg._src.compiler.optimize.loop_invariants import hoist
from thalweg._src.compiler.optimize.loop_pruning import narrow
from thalweg._src.compiler.optimize.lower_references import lower_references
from thalweg._src.compiler.optimize.optimize import everywhere
from thalweg._src.compiler.optimize.prune import prune
from thalweg._src.compiler.optimize.simplify import simplify
from thalweg._src.deploy.onnx_export.refine import refine
from thalweg._src.deploy.onnx_export.types import Table, unsupported
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph
from thalweg._src.graph.op_def import OPS
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.lookup import lookup_table_export_op
from thalweg._src.graph.ops.state import read_variable_op
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.backend import LocalBackend
from thalweg._src.runtime.passes import evaluate
from thalweg._src.runtime.session.session import BaseSession

_READS = {"ReadVariableOp": "Identity", "ResourceGather": "GatherV2", "ResourceGatherNd": "GatherNd"}


def prepare(
    session: BaseSession, inputs: Sequence[Tensor], outputs: Sequence[Tensor], shapes: Sequence[Shape]
) -> tuple[StepGraph, dict[str, Table]]:
    """Returns the graph from inputs to outputs, without state, and the tables that it looks up.

    shapes: those of the inputs
    """
    # ONNX has no variables, no references and no order but that of the data, so the graph becomes a pure function:
    # calls are inlined, references become values, Switch and Merge become conditionals and loops, and variables become
    # constants. Only then can it be simplified as the compiler does with its own graphs. Updates are refused before the
    # control edges are dropped, since without effects in the graph no order can be observed.
    step = prune(inputs, outputs, ())
    for feed, shape in zip(step.feeds, shapes):
        feed.shapes = [shape]
    inline_functions(step)
    for node in step.nodes:
        if node.type == "PlaceholderWithDefault":  # such as the learning phase of Keras
            _become(node, "Identity", {"T": node.dtypes[0]}, node.dtypes, node.shapes)
    lower_references(step)
    step = functionalize(step)
    if step.is_unstructured:
        raise errors.UnimplementedError(
            None,
            None,
            errors.describe(
                "ONNX export: the graph has control flow other than conditionals and loops",
                hint="build it with tf.cond, tf.case and tf.while_loop",
            ),
        )
    _require_pure(step)
    tables = _tables(session, step)
    freeze(step, _values(session, step))
    _simplify(step)
    return step, tables


# -- state ------------------------------------------------------------------------------------------------------------


def _require_pure(step: StepGraph) -> None:
    """Raises an error if the graph updates variables; other control edges only order or check, and are dropped."""
    _require_no_updates(step, set())
    for node in step.everything():
        node.controls = []
    step.targets = []
    everywhere(StepGraph.prune_and_sort, step)


def _require_no_updates(step: StepGraph, handles: set[Output]) -> None:
    """handles: the arguments of the graph that are variables."""
    handles = {*handles, *(Output(node, 0) for node in step.nodes if node.type == "VarHandleOp")}
    for node in step.nodes:
        if node.type in ("Identity", "_Choose") and handles.intersection(node.inputs):
            handles.add(Output(node, 0))
        elif node.type == "_While":
            feeds = node.attrs["region"].body.feeds
            inside = {Output(feed, 0) for feed, output in zip(feeds, node.inputs) if output in handles}
            for graph in node.attrs["region"].graphs():
                _require_no_updates(graph, inside)
        elif node.facts.writes and handles.intersection(node.inputs):
            raise unsupported(node, "updates a variable", "export the graph of inference, not training")


def _values(session: BaseSession, step: StepGraph) -> dict[str, np.ndarray[Any, Any]]:
    names = [node.name for node in step.nodes if node.type == "VarHandleOp"]
    operations = [_operation(session, name) for name in names]
    reads = [op.outputs[0] if op.type != "VarHandleOp" else _read(op) for op in operations]
    return dict(zip(names, session.run(reads))) if reads else {}


def _operation(session: BaseSession, name: str) -> Operation:
    try:
        return session.graph.get_operation_by_name(name)
    except (KeyError, ValueError):
        raise errors.UnimplementedError(
            None, None, f"ONNX export: the variable or table {name!r} is created inside of a function"
        ) from None


def _read(operation: Operation) -> Tensor:
    """Returns a read of a variable that runs in every step, added to the graph if there is none."""
    for consumer in operation.outputs[0].consumers():
        if consumer.type == "ReadVariableOp" and not consumer.control_inputs:
            return consumer.outputs[0]
    with _top(operation):
        return read_variable_op(operation.outputs[0], dtype=operation.attrs["dtype"])


@contextlib.contextmanager
def _top(operation: Operation) -> Iterator[None]:
    """Adds operations to the graph of another, outside of all its conditionals, loops and control dependencies."""
    with operation.graph.as_default(), control_dependencies(None):
        yield


def _tables(session: BaseSession, step: StepGraph) -> dict[str, Table]:
    nodes = [node for node in step.nodes if node.dtypes and node.type.endswith("HashTableV2")]
    tables = {}
    for node in nodes:
        operation = _operation(session, node.name)
        with _top(operation):
            types = {"Tkeys": node.attrs["key_dtype"], "Tvalues": node.attrs["value_dtype"]}
            entries = lookup_table_export_op.many(operation.outputs[0], **types)
        tables[node.name] = Table(*map(np.asarray, session.run(list(entries))))
    return tables


def freeze(step: StepGraph, values: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Replaces variables by constants, in loops too, and what reads them by what takes values."""
    for node in list(step.nodes):
        if node.type == "VarHandleOp":
            dtype = node.attrs["dtype"]
            value = np.asarray(values[node.name])
            _become(node, "Const", {"value": value, "dtype": dtype}, [dtype], [value.shape])
    everywhere(_forward_values, step)
    _enter_loops(step)
    step.prune_and_sort()


def _forward_values(step: StepGraph) -> None:
    for node in list(step.nodes):
        if node.type not in _READS:
            continue
        dtype, attrs = node.dtypes[0], {"T": node.dtypes[0]}
        if node.type != "ReadVariableOp":
            attrs = {"Tparams": dtype, "Tindices": node.input_dtype(1)}
            if node.type == "ResourceGather":
                batch = node.attrs.get("batch_dims", 0)
                value = {"value": np.array(batch, np.int32), "dtype": dtypes.int32}
                fields = {"dtypes": [dtypes.int32], "shapes": [()], "controls": [], "name": f"{node.name}/axis"}
                axis = node.like("Const", [], value, **fields, guard=())
                axis.order = node.order - 0.5
                step.nodes.append(axis)
                node.inputs = [*node.inputs, Output(axis, 0)]
                attrs |= {"Taxis": dtypes.int32, "batch_dims": batch}
        _become(node, _READS[node.type], attrs, node.dtypes, node.shapes)


def _enter_loops(step: StepGraph) -> None:
    """Gives nodes that forwarded a handle, the arguments of loops among them, the type and the shape of the value."""
    for node in step.nodes:
        if node.type in ("Identity", "_Choose") and node.dtypes[0] is dtypes.resource:
            node.dtypes, node.shapes = [node.input_dtype(-1)], [node.input_shape(-1)]
            node.attrs = {**node.attrs, "T": node.dtypes[0]}
        if node.type == "_While":
            region = node.attrs["region"]
            for graph in region.graphs():
                for index, argument in enumerate(graph.feeds):
                    if argument.dtypes[0] is dtypes.resource:
                        argument.dtypes, argument.shapes = [node.input_dtype(index)], [node.input_shape(index)]
                        argument.attrs = {**argument.attrs, "T": argument.dtypes[0]}
                _enter_loops(graph)
            count = len(node.dtypes)
            node.dtypes = [argument.dtypes[0] for argument in region.body.feeds[:count]]


def _become(node: Node, op_type: str, attrs: dict[str, Any], types: Sequence[Any], shapes: Sequence[Shape]) -> None:
    node.definition = OPS.lookup(op_type)
    node.type, node.attrs = op_type, {**node.definition.defaults, **attrs}
    node.dtypes, node.shapes = types, shapes


# -- simplification ---------------------------------------------------------------------------------------------------


def _simplify(step: StepGraph) -> None:
    host = LocalBackend(ConfigProto(device_count={"GPU": 0})).placed[0]

    def folded(graph: StepGraph) -> None:
        # Quantized constants stay visible, since runtimes choose kernels by them.
        fold(graph, lambda node: None if node.type.startswith("FakeQuant") else evaluate(node, host))

    everywhere(simplify, step)
    refine(step)
    narrow(step)
    everywhere(folded, step)
    everywhere(decide, step)
    _hoist(step)
    everywhere(simplify, step)
    everywhere(folded, step)
    refine(step)
    everywhere(folded, step)
    everywhere(eliminate_common_subexpressions, step)


def decide(step: StepGraph) -> None:
    """Removes conditionals whose predicate is constant."""
    replaced: dict[Output, Output] = {}
    for node in step.nodes:
        if node.type == "_Choose" and (value := node.constant(0)) is not None:
            replaced[Output(node, 0)] = node.inputs[2 if bool(value) else 1]
    if replaced:
        for node in step.nodes:
            node.guard = tuple(literal for literal in node.guard if literal[0].node.type != "Const")
        step.rewrite(replaced)


def _hoist(step: StepGraph) -> None:
    for region in step.regions():
        for graph in region.graphs():
            _hoist(graph)
    hoist(step)
    narrow(step)
