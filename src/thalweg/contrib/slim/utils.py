"""tf.contrib.slim.utils: Utilities of layers: collections, aliases and dimensions."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.layers.outputs import (
    add_to_variable_collections as add_to_variable_collections,
    append_tensor_alias as append_tensor_alias,
    channel_dimension as channel_dimension,
    collect_named_outputs as collect_named_outputs,
    convert_collection_to_dict as convert_collection_to_dict,
    finished as finished,
    first_dimension as first_dimension,
    gather_tensors_aliases as gather_tensors_aliases,
    get_tensor_aliases as get_tensor_aliases,
    get_variable_collections as get_variable_collections,
    last_dimension as last_dimension,
    n_positive_integers as n_positive_integers,
    two_element_tuple as two_element_tuple,
)

__all__ = [
    "add_to_variable_collections", "append_tensor_alias", "channel_dimension", "collect_named_outputs",
    "convert_collection_to_dict", "finished", "first_dimension", "gather_tensors_aliases", "get_tensor_aliases",
    "get_variable_collections", "last_dimension", "n_positive_integers", "two_element_tuple",
]
