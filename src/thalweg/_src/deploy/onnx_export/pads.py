"""Padding with zeros before convolutions: a part of the convolution, as runtimes expect it for their kernels."""

from __future__ import annotations

from thalweg._src.deploy.onnx_export.graph_writer import Array, GraphWriter, OnnxNode


def fold_pads(w: GraphWriter) -> None:
    """Lets convolutions pad what they take, instead of a node before them."""
    producers: dict[str, OnnxNode] = {}
    nodes, w.nodes = w.nodes, []
    for node in nodes:
        for graph in node.subgraphs():
            fold_pads(graph)
        if node.type == "Conv" and "pads" in node.attrs:
            _fold(w, node, producers)
        w.nodes.append(node)
        producers.update(dict.fromkeys(node.outputs, node))


def _fold(w: GraphWriter, node: OnnxNode, producers: dict[str, OnnxNode]) -> None:
    """Lets a convolution pad what a node adds zeros to, which may be transposed then."""
    before = producers.get(node.inputs[0])
    turned = before if before is not None and before.type == "Transpose" else None
    pad = producers.get(turned.inputs[0]) if turned is not None else before
    ends = None if pad is None else _zeros(w, pad)
    if pad is None or ends is None:
        return
    permutation = turned.attrs["perm"] if turned is not None else range(ends.shape[1])
    ends = ends[:, permutation]
    if not ends[:, :2].any():  # neither examples nor channels
        w.scope = node.name
        node.inputs[0] = w.transpose(pad.inputs[0], permutation)
        node.attrs["pads"] = [size + other for size, other in zip(node.attrs["pads"], ends[:, 2:].ravel().tolist())]


def _zeros(w: GraphWriter, node: OnnxNode) -> Array | None:
    """Returns how many zeros a node adds before and after each axis."""
    if node.type != "Pad" or node.attrs.get("mode", "constant") != "constant" or len(node.inputs) > 3:
        return None
    pads, value = w.static_value(node.inputs[1]), w.static_value(node.inputs[2]) if len(node.inputs) == 3 else 0
    return None if pads is None or value != 0 or pads.min() < 0 else pads.reshape(2, -1)
