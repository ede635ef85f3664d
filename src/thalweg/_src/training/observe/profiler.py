"""tf.profiler: parameters, floating-point operations, time and memory of the operations of a graph."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from thalweg._src.base.errors import require_kind, require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.gfile import GFile
from thalweg._src.base.messages import Message, Repeated, message
from thalweg._src.base.registry import Registry
from thalweg._src.compiler.place.work import Sizes, flop_count
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.training.observe import profile_tree
from thalweg._src.training.observe.profile_options import Options, ProfileOptionBuilder
from thalweg._src.training.observe.profile_tree import FIELDS, Entry, Measured
from thalweg._src.training.observe.timeline import Timeline


class OpStats:
    """A statistic of a node: its kind and its value, None if it is unknown."""

    def __init__(self, statistic_type: str, value: Any = None) -> None:
        self.statistic_type = statistic_type
        self.value = value


# By "op type,kind of statistic": functions from a graph and a NodeDef, which precede the cost model.
STATISTICS: Registry[Callable[[Graph, Any], OpStats]] = Registry("statistic")


def statistics_of(graph: Graph, node: Any, statistic_type: str) -> OpStats:
    """Returns a statistic of a node, without a value if none is registered."""
    rule = STATISTICS.get(f"{node.op},{statistic_type}")
    return OpStats(statistic_type) if rule is None else rule(graph, node)


@export("profiler.GraphNodeProto")
@message
class GraphNodeProto(Message):
    """A node of a profile by name scope or data flow: its own counts, and the totals of all that is below it.

    Args:
        name: The name scope, operation, op type or line.
        run_count: How often it ran in a step.
        exec_micros: Microseconds.
        accelerator_exec_micros: Microseconds on GPUs.
        cpu_exec_micros: Microseconds on the CPU.
        requested_bytes: Bytes that were allocated.
        peak_bytes: Bytes at the peak, if they were recorded.
        residual_bytes: Bytes that remained, if they were recorded.
        output_bytes: Bytes of the outputs.
        parameters: Number of elements of variables.
        float_ops: Floating-point operations.
        devices: Devices of its operations.
        total_definition_count: Number of operations in it and below.
        total_run_count: How often all of them ran in a step.
        total_exec_micros: Microseconds, with all below.
        total_accelerator_exec_micros: Microseconds on GPUs, with all below.
        total_cpu_exec_micros: Microseconds on the CPU, with all below.
        total_requested_bytes: Bytes that were allocated, with all below.
        total_peak_bytes: Bytes at the peak, if they were recorded, with all below.
        total_residual_bytes: Bytes that remained, if they were recorded, with all below.
        total_output_bytes: Bytes of the outputs, with all below.
        total_parameters: Number of elements of variables, with all below.
        total_float_ops: Floating-point operations, with all below.
        children: What is below it in the tree.
    """

    name: str
    run_count: int
    exec_micros: int
    accelerator_exec_micros: int
    cpu_exec_micros: int
    requested_bytes: int
    peak_bytes: int
    residual_bytes: int
    output_bytes: int
    parameters: int
    float_ops: int
    devices: Repeated[str]
    total_definition_count: int
    total_run_count: int
    total_exec_micros: int
    total_accelerator_exec_micros: int
    total_cpu_exec_micros: int
    total_requested_bytes: int
    total_peak_bytes: int
    total_residual_bytes: int
    total_output_bytes: int
    total_parameters: int
    total_float_ops: int
    children: Repeated[Any]


@export("profiler.MultiGraphNodeProto")
@message
class MultiGraphNodeProto(Message):
    """A node of a profile by op type or line of the program, with the nodes of the graph that it stands for.

    Args:
        name: The name scope, operation, op type or line.
        exec_micros: Microseconds.
        accelerator_exec_micros: Microseconds on GPUs.
        cpu_exec_micros: Microseconds on the CPU.
        requested_bytes: Bytes that were allocated.
        peak_bytes: Bytes at the peak, if they were recorded.
        residual_bytes: Bytes that remained, if they were recorded.
        output_bytes: Bytes of the outputs.
        parameters: Number of elements of variables.
        float_ops: Floating-point operations.
        total_exec_micros: Microseconds, with all below.
        total_accelerator_exec_micros: Microseconds on GPUs, with all below.
        total_cpu_exec_micros: Microseconds on the CPU, with all below.
        total_requested_bytes: Bytes that were allocated, with all below.
        total_peak_bytes: Bytes at the peak, if they were recorded, with all below.
        total_residual_bytes: Bytes that remained, if they were recorded, with all below.
        total_output_bytes: Bytes of the outputs, with all below.
        total_parameters: Number of elements of variables, with all below.
        total_float_ops: Floating-point operations, with all below.
        graph_nodes: The operations that it stands for.
        children: What is below it in the tree.
    """

    name: str
    exec_micros: int
    accelerator_exec_micros: int
    cpu_exec_micros: int
    requested_bytes: int
    peak_bytes: int
    residual_bytes: int
    output_bytes: int
    parameters: int
    float_ops: int
    total_exec_micros: int
    total_accelerator_exec_micros: int
    total_cpu_exec_micros: int
    total_requested_bytes: int
    total_peak_bytes: int
    total_residual_bytes: int
    total_output_bytes: int
    total_parameters: int
    total_float_ops: int
    graph_nodes: Repeated[GraphNodeProto]
    children: Repeated[Any]


_VIEWS: dict[str, tuple[Callable[..., Entry], Any]] = {
    "scope": (profile_tree.by_scope, GraphNodeProto),
    "graph": (profile_tree.by_data_flow, GraphNodeProto),
    "op": (profile_tree.by_type, MultiGraphNodeProto),
    "code": (profile_tree.by_line, MultiGraphNodeProto),
}


@export("profiler.profile")
def profile(
    graph: Graph | None = None,
    run_meta: Any = None,
    op_log: object = None,
    cmd: str = "scope",
    options: Options | None = None,
) -> Any:
    """Profiles a graph, with the times and memory of a step if its RunMetadata is given; prints and returns the tree.

    Floating-point operations are those of the cost model: of products and convolutions, two per multiplication.

    Args:
        run_meta: The `RunMetadata` of a traced step.
        op_log: Must be None.
        cmd: What the tree is arranged by: `scope`, `graph`, `op` or `code`.
        options: Options that a `ProfileOptionBuilder` built.
    """
    profiler = Profiler(graph, op_log)
    if run_meta is not None:
        profiler.add_step(-1, run_meta)
    return profiler._profile(cmd, options or ProfileOptionBuilder().build())


@export("profiler.Profiler")
class Profiler:
    """Profiles several steps of one graph.

    Args:
        op_log: Must be None.
    """

    def __init__(self, graph: Graph | None = None, op_log: object = None) -> None:
        if op_log is not None:
            raise ValueError("op_log: expected None, since types and counts of operations cannot be added to a profile")
        self._graph = graph if graph is not None else get_default_graph()
        self._steps: dict[int, Any] = {}

    def add_step(self, step: int, run_meta: Any) -> None:
        """Adds the RunMetadata of a traced step under a number."""
        self._steps[step] = run_meta

    def profile_operations(self, options: Options) -> Any:
        """Returns the profile by op type."""
        return self._profile("op", options)

    def profile_python(self, options: Options) -> Any:
        """Returns the profile by line of the program."""
        return self._profile("code", options)

    def profile_name_scope(self, options: Options) -> Any:
        """Returns the profile by name scope."""
        return self._profile("scope", options)

    def profile_graph(self, options: Options) -> Any:
        """Returns the profile by data flow, from the last operations to their inputs."""
        return self._profile("graph", options)

    def _profile(self, view: str, options: Options) -> Any:
        if view not in _VIEWS:
            raise ValueError(f"cmd: expected one of {', '.join(_VIEWS)}, received {view!r}")
        options = ProfileOptionBuilder(options).build()
        arrange, message_class = _VIEWS[view]
        steps = list(self._steps.values()) if options["step"] < 0 else [self._steps[options["step"]]]
        root = arrange(_measured(self._graph, steps))
        profile_tree.account(root, options)
        root = profile_tree.shown(root, options)
        self._write(root, options, view)
        return _as_message(root, message_class)

    def _write(self, root: Entry, options: Options, view: str) -> None:
        kind, _, path = options["output"].partition(":outfile=")
        if kind == "stdout":
            print(profile_tree.as_text(root, options, view), end="")
        elif kind == "file":
            with GFile(path, "w") as file:
                file.write(profile_tree.as_text(root, options, view))
        elif kind == "timeline":
            for step, run_meta in self._steps.items():
                with GFile(f"{path}_{max(step, 0)}", "w") as file:
                    file.write(Timeline(run_meta.step_stats).generate_chrome_trace_format())


def _measured(graph: Graph, steps: list[Any]) -> list[Measured]:
    """Returns every operation with its counts; those of several steps are averaged."""
    keys = (GraphKeys.TRAINABLE_VARIABLES, GraphKeys.GLOBAL_VARIABLES)
    require_kind("graph", graph, Graph, "a Graph")
    trainable, variables = ({variable.op.name for variable in graph.get_collection(key)} for key in keys)
    runs = _runs(steps)
    nodes = _nodes(graph)
    result = []
    for operation in graph.get_operations():
        name = operation.name
        counts: Counter[str] = Counter(definition_count=1)
        counts.update(runs.get(name, {}))
        if f"{operation.type},flops" in STATISTICS:
            counts["float_ops"] += int(statistics_of(graph, operation.node_def, "flops").value or 0)
        else:
            counts["float_ops"] += _float_ops(nodes[operation])
        types = [operation.type, operation.device, name]
        if name in trainable or name in variables:
            counts["parameters"] += math.prod(_variable_shape(operation))
            types += ["_trainable_variables"] * (name in trainable) + ["_checkpoint_variables"]
        result.append(Measured(operation, counts, types, operation.device))
    return result


def _variable_shape(operation: Operation) -> list[int]:
    shape = operation.get_attr("shape")
    return [size or 0 for size in shape.as_list()] if shape.ndims is not None else [0]


def _runs(steps: list[Any]) -> dict[str, Counter[str]]:
    """Returns the mean of runs, times and bytes of each node over the steps."""
    runs: dict[str, Counter[str]] = defaultdict(Counter)
    for run_meta in steps:
        require_members("run_meta", run_meta, "a RunMetadata message", "step_stats")
        for device in run_meta.step_stats.dev_stats:
            where = "accelerator_exec_micros" if "GPU" in device.device.upper() else "cpu_exec_micros"
            for stats in device.node_stats:
                micros = stats.op_end_rel_micros - stats.op_start_rel_micros or stats.all_end_rel_micros
                held = [output.tensor_description.allocation_description for output in stats.output]
                size = sum(allocation.requested_bytes for allocation in held)
                runs[stats.node_name].update(
                    {
                        "run_count": 1,
                        "exec_micros": micros,
                        where: micros,
                        "requested_bytes": size,
                        "output_bytes": size,
                    }
                )
    return {name: Counter({key: value // len(steps) for key, value in run.items()}) for name, run in runs.items()}


def _nodes(graph: Graph) -> dict[Operation, Node]:
    """Returns the operations in the form that the cost model takes."""
    nodes = {
        operation: Node(
            operation.name,
            operation.definition,
            [],
            operation.attrs,
            [tensor.dtype for tensor in operation.outputs],
            [tensor.dims for tensor in operation.outputs],
        )
        for operation in graph.get_operations()
    }
    for operation, node in nodes.items():
        node.inputs.extend(Output(nodes[tensor.op], tensor.value_index) for tensor in operation.inputs)
    return nodes


def _float_ops(node: Node) -> int:
    """Returns the operations of a node on floats; none if it only moves values, or if a size is unknown."""
    facts = node.facts
    if not facts.traceable or facts.is_alias or facts.shape_only or facts.instant or not node.inputs:
        return 0
    shapes = [*node.shapes, *(producer.shapes[i] for producer, i in node.inputs)]
    if not any(dtype.is_floating for dtype in node.dtypes) or any(s is None or None in s for s in shapes):
        return 0
    return int(flop_count(node, Sizes()))


def _as_message(entry: Entry, message_class: type[Any]) -> Any:
    """Returns an entry and all below it as a message."""
    result = message_class(name=entry.name)
    _fill(result, entry.counts, "")
    _fill(result, entry.total, "total_")
    if message_class is MultiGraphNodeProto:
        for member in entry.members:
            node = result.graph_nodes.add(name=member.operation.name)
            _fill(node, member.counts, "")
            _fill(node, member.counts, "total_")
    else:
        result.devices.extend(sorted({member.device for member in entry.members if member.device}))
    result.children.extend(_as_message(child, message_class) for child in entry.children.values())
    return result


def _fill(node: Any, counts: Counter[str], prefix: str) -> None:
    for field in (*FIELDS.values(), "run_count"):
        if f"{prefix}{field}" in type(node)._converters:
            setattr(node, f"{prefix}{field}", counts[field])
