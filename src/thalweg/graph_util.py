"""tf.graph_util: Extraction, freezing and simplification of GraphDefs."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.graph.import_graph_def import import_graph_def as import_graph_def
from thalweg._src.runtime.session.graph_util import (
    convert_variables_to_constants as convert_variables_to_constants,
    extract_sub_graph as extract_sub_graph,
    must_run_on_cpu as must_run_on_cpu,
    remove_training_nodes as remove_training_nodes,
    tensor_shape_from_node_def_name as tensor_shape_from_node_def_name,
)

__all__ = [
    "convert_variables_to_constants", "extract_sub_graph", "import_graph_def", "must_run_on_cpu",
    "remove_training_nodes", "tensor_shape_from_node_def_name",
]
