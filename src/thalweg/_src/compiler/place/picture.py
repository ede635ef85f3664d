"""Drawings of a placement, coloured by device: for Graphviz, for TensorBoard, and as an image by matplotlib."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg._src.base.shapes import show
from thalweg._src.compiler.place.placement import Placement
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ir.step_graph import Node, Output

COLOURS = ("#9ecae1", "#fdae6b", "#a1d99b", "#bcbddc", "#fc9272", "#d9d9d9", "#ffeda0", "#c7e9c0", "#fccde5", "#80b1d3")
_INK, _BORDER = "#2b2b2b", "#c62828"
_NAMED = 60  # nodes up to which names are drawn
_IMAGES = (".png", ".svg", ".pdf")


@dataclass(frozen=True, slots=True)
class Edge:
    """A tensor that one node takes from another, or a control dependency if it has no label."""

    source: Node
    target: Node
    label: str
    crosses: bool


def draw(placement: Placement, path: Any, graph: Graph | None = None) -> None:
    """Draws a placement into a file: .dot for Graphviz, .png, .svg or .pdf by matplotlib, .pbtxt as a GraphDef.

    path: may also be a `tf.summary.FileWriter`, for TensorBoard
    graph: the graph that the step is part of, which GraphDefs show
    """
    if graph is not None and hasattr(path, "add_graph"):
        path.add_graph(None, graph_def=placed_graph_def(placement, graph))
        return
    path = Path(path)
    if path.suffix == ".dot":
        path.write_text(dot(placement), encoding="utf-8")
    elif path.suffix == ".pbtxt" and graph is not None:
        path.write_text(str(placed_graph_def(placement, graph)), encoding="utf-8")
    elif path.suffix in _IMAGES:
        _draw_image(placement, path)
    else:
        endings = ", ".join((".dot", *_IMAGES, ".pbtxt"))
        raise ValueError(f"picture: expected a FileWriter or a file name that ends in {endings}, received '{path}'")


def placed_graph_def(placement: Placement, graph: Graph) -> Any:
    """Returns the user's graph as a GraphDef with the device of each operation that the step needs.

    An operation that was merged into another one gets the device of its first consumer.
    """
    devices = {node.name: device for node, device in placement.devices.items()}
    devices |= {str(node.attrs["_feeds"]).partition(":")[0]: device for node, device in _feeds(placement)}
    message = graph.as_graph_def(add_shapes=True)
    followers: dict[str, list[str]] = {}
    for node in message.node:
        for name in map(_operation, node.input):
            followers.setdefault(name, []).append(node.name)
    for node in reversed(message.node):  # consumers come after producers, except at the ends of loops
        near = [node.name, *followers.get(node.name, ())]
        near += map(_operation, node.input) if node.op == "Exit" else ()
        nearest = next((devices[name] for name in near if name in devices), None)
        node.device = nearest or ""  # an operation outside the step has no colour, whatever device it asks for
        if nearest is not None:
            devices[node.name] = nearest
    return message


def _operation(name: str) -> str:
    """Returns the name of the operation in an input of a NodeDef."""
    return name.lstrip("^").partition(":")[0]


def _feeds(placement: Placement) -> list[tuple[Node, str]]:
    return [(node, device) for node, device in placement.devices.items() if "_feeds" in node.attrs]


def dot(placement: Placement) -> str:
    """Returns the placed graph for Graphviz: one box per device, transfers in red."""
    nodes, edges = drawn(placement)
    colours = device_colours(placement)
    name = {node: f"n{number}" for number, node in enumerate(nodes)}
    lines = ["digraph placement {", '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=10];']
    for number, (device, colour) in enumerate(colours.items()):
        lines.append(f"  subgraph cluster_{number} {{ label={_quoted(device)}; color={_quoted(colour)};")
        lines += [
            f"    {name[node]} [label={_quoted(_title(node), node.type)}, fillcolor={_quoted(colour)}];"
            for node in nodes
            if placement.devices[node] == device
        ]
        lines.append("  }")
    for edge in edges:
        looks = [f"tooltip={_quoted(edge.label)}"] if edge.label else ["style=dashed"]
        if edge.crosses:
            looks += [f"color={_quoted(_BORDER)}", "penwidth=2", f"label={_quoted(edge.label)}", "fontsize=8"]
        lines.append(f"  {name[edge.source]} -> {name[edge.target]} [{', '.join(looks)}];")
    return "\n".join([*lines, "}", ""])


def device_colours(placement: Placement) -> dict[str, str]:
    """Returns one colour per used device."""
    used = sorted(set(placement.devices.values()) - {""})
    return {device: COLOURS[number % len(COLOURS)] for number, device in enumerate(used)}


def drawn(placement: Placement) -> tuple[list[Node], list[Edge]]:
    """Returns the nodes and edges of a placed graph, with transfers as plain edges.

    Bodies of loops are not shown, nor are constants, which are replicated where they are used, nor reads of variables.
    """
    repeated = {
        node
        for loop in placement.devices
        if loop.type == "_While"
        for graph in loop.attrs["region"].graphs()
        for node in graph.everything()
    }
    nodes = [node for node in placement.devices if node not in repeated and not _is_hidden(node)]
    sends = {node.attrs["tensor_name"]: node for node in placement.devices if node.type == "_Send"}
    shown = set(nodes)
    edges: dict[Edge, None] = {}
    for node in nodes:
        for output in node.inputs:
            source, index = _sent(output, sends)
            label = f"{source.dtypes[index].name}{show(source.shapes[index])}"
            if _is_plain_read(source):
                source = source.inputs[0].node
            if source in shown:
                edges[Edge(source, node, label, placement.devices[source] != placement.devices[node])] = None
        for control in node.controls:
            source = _signalled(control, sends)
            if source in shown:
                edges[Edge(source, node, "", placement.devices[source] != placement.devices[node])] = None
    return nodes, list(edges)


def _is_hidden(node: Node) -> bool:
    return node.type in ("_Send", "_Recv") or (node.type == "Const" and not node.controls) or _is_plain_read(node)


def _is_plain_read(node: Node) -> bool:
    """Returns whether a node only reads a variable, which is then drawn in its place."""
    return node.type == "ReadVariableOp" and not node.controls and node.inputs[0].node.type == "VarHandleOp"


def _title(node: Node) -> str:
    return str(node.attrs.get("_feeds", node.name)) if node.type == "_Arg" else node.name


def _sent(output: Output, sends: dict[str, Node]) -> Output:
    """Returns the sent tensor for a received one."""
    while output.node.type == "_Recv" and output.node.attrs["tensor_name"] in sends:
        output = sends[output.node.attrs["tensor_name"]].inputs[0]
    return output


def _signalled(control: Node, sends: dict[str, Node]) -> Node:
    if control.type == "_Recv":
        send = sends.get(control.attrs["tensor_name"])
        return next(iter(send.controls), control) if send is not None else control
    return control


def _quoted(*lines: str) -> str:
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(escaped) + '"'


# -- images -----------------------------------------------------------------------------------------------------------


def _draw_image(placement: Placement, path: Path) -> None:
    """Draws the graph and, if the step was simulated, the busy times of the devices below it."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(f"a picture in {path.suffix} needs matplotlib ({error}); .dot does not") from None
    nodes, edges = drawn(placement)
    at = _positions(nodes, edges)
    width = max((x for x, _ in at.values()), default=0) + 1
    height = max((y for _, y in at.values()), default=0) + 1
    named = len(nodes) <= _NAMED
    scale = (2.1, 0.75) if named else (0.16, 0.16)
    size = (min(max(6.0, scale[0] * width), 40.0), min(max(3.0, scale[1] * height), 40.0))
    ratio = 0.35 if placement.schedule is not None else 0.0
    figure = Figure(figsize=(size[0], size[1] * (1 + ratio)), layout="constrained")
    FigureCanvasAgg(figure)
    rows = figure.subplots(2 if ratio else 1, 1, squeeze=False, height_ratios=[1.0, ratio] if ratio else [1.0])[:, 0]
    _draw_graph(rows[0], placement, edges, at, named)
    if placement.schedule is not None:
        _draw_times(rows[1], placement)
    figure.savefig(path, dpi=110, facecolor="white")


def _positions(nodes: list[Node], edges: list[Edge]) -> dict[Node, tuple[float, float]]:
    """Returns the position of each node: below its producers, and above the middle of its consumers."""
    depth = dict.fromkeys(nodes, 0)
    after: dict[Node, list[Node]] = {node: [] for node in nodes}
    for edge in edges:
        after[edge.source].append(edge.target)
    for _ in nodes:
        changed = False
        for edge in edges:
            if depth[edge.target] <= depth[edge.source]:
                depth[edge.target], changed = depth[edge.source] + 1, True
        if not changed:
            break
    waiting = {edge.target for edge in edges}
    for node in nodes:
        if node not in waiting and after[node]:
            depth[node] = min(depth[target] for target in after[node]) - 1
    rows: dict[int, list[Node]] = {}
    for node in nodes:
        rows.setdefault(depth[node], []).append(node)
    widest = max((len(row) for row in rows.values()), default=1)
    at: dict[Node, tuple[float, float]] = {}
    for row in sorted(rows, reverse=True):
        middle = {node: sum(at[t][0] for t in after[node]) / max(len(after[node]), 1) for node in rows[row]}
        members = sorted(rows[row], key=middle.__getitem__)
        first = (widest - len(members)) / 2
        at.update({node: (first + place, float(row)) for place, node in enumerate(members)})
    return at


def _draw_graph(axis: Any, placement: Placement, edges: list[Edge], at: dict[Node, Any], named: bool) -> None:
    colours = device_colours(placement)
    for edge in edges:
        looks: dict[str, Any] = {"arrowstyle": "-|>", "color": _BORDER if edge.crosses else "#9a9a9a"}
        looks |= {"linewidth": 1.4 if edge.crosses else 0.7, "linestyle": "-" if edge.label else "--"}
        axis.annotate("", at[edge.target], at[edge.source], arrowprops=looks | {"shrinkA": 12, "shrinkB": 15})
    for node, (x, y) in at.items():
        colour = colours[placement.devices[node]]
        if named:
            box = {"boxstyle": "round,pad=0.35", "facecolor": colour, "edgecolor": _INK, "linewidth": 0.6}
            label = _title(node) if len(_title(node)) < 24 else "..." + _title(node)[-21:]
            axis.text(x, y, f"{label}\n{node.type}", ha="center", va="center", fontsize=7, color=_INK, bbox=box)
        else:
            axis.plot([x], [y], marker="o", markersize=4, color=colour, markeredgecolor=_INK, markeredgewidth=0.3)
    for device, colour in colours.items():
        axis.plot([], [], marker="s", linestyle="", color=colour, label=device)
    axis.legend(fontsize=7, loc="lower right", frameon=False)
    axis.set_xlim(-0.7, max((x for x, _ in at.values()), default=0) + 0.7)
    axis.set_ylim(max((y for _, y in at.values()), default=0) + 0.7, -0.7)
    axis.set_axis_off()


def _draw_times(axis: Any, placement: Placement) -> None:
    schedule = placement.schedule
    assert schedule is not None, "drawn only for a simulated step"
    colours = device_colours(placement)
    devices = schedule.problem.devices
    for unit, (start, end) in enumerate(zip(schedule.starts, schedule.ends)):
        group = schedule.problem.group_of[unit]
        place = schedule.assignment[group] if group >= 0 else 0
        colour = colours.get(devices[place], COLOURS[-1])
        axis.barh(place, 1e3 * (end - start), left=1e3 * start, color=colour, edgecolor=_INK, linewidth=0.3, height=0.6)
    axis.set_yticks(range(len(devices)), [name.rpartition("/device:")[2] for name in devices], fontsize=7)
    axis.set_ylim(len(devices) - 0.4, -0.6)
    axis.set_xlabel(f"simulated, {1e3 * schedule.finish:.3f} ms", fontsize=7)
    axis.tick_params(axis="x", labelsize=7)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
