"""`tensorflow.python.tools`: `strip_unused_lib` and `optimize_for_inference_lib`, which prepare frozen graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.dtypes import as_dtype
from thalweg._src.deploy.transform.apply import TransformGraph
from thalweg._src.graph.graphdef import message_type, write_attr
from thalweg._src.runtime.session.graph_util import extract_sub_graph, remove_training_nodes


def strip_unused(
    input_graph_def: Any,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: object,
) -> Any:
    """Returns the part of a graph between nodes: the inputs become placeholders, of one type or of one type each."""
    missing = set(input_node_names) - {node.name for node in input_graph_def.node}
    if missing:
        raise KeyError(f"input_node_names: the graph has no nodes {', '.join(sorted(missing))}")
    types = placeholder_type_enum
    types = list(types) if isinstance(types, list | tuple) else [types] * len(input_node_names)
    replaced = dict(zip(input_node_names, types))
    result = message_type("GraphDef")()
    for node in input_graph_def.node:
        if node.name not in replaced:
            result.node.add().CopyFrom(node)
            continue
        placeholder = result.node.add()
        placeholder.op, placeholder.name, placeholder.device = "Placeholder", node.name, node.device
        write_attr(placeholder.attr["dtype"], as_dtype(replaced[node.name]), "type")
        for key in ("shape", "_output_shapes"):
            if key in node.attr:
                placeholder.attr[key].CopyFrom(node.attr[key])
    result.library.CopyFrom(input_graph_def.library)
    result.versions.CopyFrom(input_graph_def.versions)
    return extract_sub_graph(result, list(output_node_names))


def optimize_for_inference(
    input_graph_def: object,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: object,
    toco_compatible: bool = False,
) -> Any:
    """Returns the part of a frozen graph that computes outputs from inputs, without nodes for training.

    Batch normalization is folded into the weights of the convolution before it.
    """
    stripped = strip_unused(input_graph_def, input_node_names, output_node_names, placeholder_type_enum)
    small = remove_training_nodes(stripped, output_node_names)
    return TransformGraph(small, input_node_names, output_node_names, ["fold_old_batch_norms"])
