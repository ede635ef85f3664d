"""tf.contrib.graph_editor: Selection, copying and rewiring of parts of a graph."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.graph_editor.edit import (
    bypass as bypass,
    connect as connect,
    detach as detach,
    detach_control_inputs as detach_control_inputs,
    detach_control_outputs as detach_control_outputs,
    detach_inputs as detach_inputs,
    detach_outputs as detach_outputs,
)
from thalweg._src.compat.contrib.graph_editor.elements import (
    ControlOutputs as ControlOutputs,
    get_consuming_ops as get_consuming_ops,
    get_generating_ops as get_generating_ops,
    get_tensors as get_tensors,
    make_list_of_op as make_list_of_op,
    make_list_of_t as make_list_of_t,
    make_placeholder_from_dtype_and_shape as make_placeholder_from_dtype_and_shape,
    make_placeholder_from_tensor as make_placeholder_from_tensor,
    placeholder_name as placeholder_name,
)
from thalweg._src.compat.contrib.graph_editor.reroute import (
    add_control_inputs as add_control_inputs,
    remove_control_inputs as remove_control_inputs,
    reroute_inputs as reroute_inputs,
    reroute_ios as reroute_ios,
    reroute_outputs as reroute_outputs,
    reroute_ts as reroute_ts,
    swap_inputs as swap_inputs,
    swap_ios as swap_ios,
    swap_outputs as swap_outputs,
    swap_ts as swap_ts,
)
from thalweg._src.compat.contrib.graph_editor.select import (
    check_cios as check_cios,
    compute_boundary_ts as compute_boundary_ts,
    filter_ops as filter_ops,
    filter_ops_from_regex as filter_ops_from_regex,
    filter_ts as filter_ts,
    filter_ts_from_regex as filter_ts_from_regex,
    get_backward_walk_ops as get_backward_walk_ops,
    get_forward_walk_ops as get_forward_walk_ops,
    get_name_scope_ops as get_name_scope_ops,
    get_ops_ios as get_ops_ios,
    get_walks_intersection_ops as get_walks_intersection_ops,
    get_walks_union_ops as get_walks_union_ops,
    get_within_boundary_ops as get_within_boundary_ops,
    select_ops as ops,
    select_ops as select_ops,
    select_ops_and_ts as select_ops_and_ts,
    select_ts as select_ts,
    select_ts as ts,
)
from thalweg._src.compat.contrib.graph_editor.subgraph import (
    SubGraphView as SubGraphView,
    make_view as make_view,
    make_view as sgv,
    make_view_from_scope as make_view_from_scope,
    make_view_from_scope as sgv_scope,
)
from thalweg._src.compat.contrib.graph_editor.transform import (
    Transformer as Transformer,
    TransformerInfo as TransformerInfo,
    assign_renamed_collections_handler as assign_renamed_collections_handler,
    copy as copy,
    copy_op_handler as copy_op_handler,
    copy_with_input_replacements as copy_with_input_replacements,
    graph_replace as graph_replace,
    keep_t_if_possible_handler as keep_t_if_possible_handler,
    replace_t_with_placeholder_handler as replace_t_with_placeholder_handler,
    transform_op_if_inside_handler as transform_op_if_inside_handler,
)

__all__ = [
    "ControlOutputs", "SubGraphView", "Transformer", "TransformerInfo", "add_control_inputs",
    "assign_renamed_collections_handler", "bypass", "check_cios", "compute_boundary_ts", "connect", "copy",
    "copy_op_handler", "copy_with_input_replacements", "detach", "detach_control_inputs", "detach_control_outputs",
    "detach_inputs", "detach_outputs", "filter_ops", "filter_ops_from_regex", "filter_ts", "filter_ts_from_regex",
    "get_backward_walk_ops", "get_consuming_ops", "get_forward_walk_ops", "get_generating_ops", "get_name_scope_ops",
    "get_ops_ios", "get_tensors", "get_walks_intersection_ops", "get_walks_union_ops", "get_within_boundary_ops",
    "graph_replace", "keep_t_if_possible_handler", "make_list_of_op", "make_list_of_t",
    "make_placeholder_from_dtype_and_shape", "make_placeholder_from_tensor", "make_view", "make_view_from_scope", "ops",
    "placeholder_name", "remove_control_inputs", "replace_t_with_placeholder_handler", "reroute_inputs", "reroute_ios",
    "reroute_outputs", "reroute_ts", "select_ops", "select_ops_and_ts", "select_ts", "sgv", "sgv_scope", "swap_inputs",
    "swap_ios", "swap_outputs", "swap_ts", "transform_op_if_inside_handler", "ts",
]
