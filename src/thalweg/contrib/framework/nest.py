"""tf.contrib.framework.nest: Nested structures, flattened completely or up to a shallower structure."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.framework.nest import (
    assert_shallow_structure as assert_shallow_structure,
    flatten_dict_items as flatten_dict_items,
    flatten_up_to as flatten_up_to,
    flatten_with_joined_string_paths as flatten_with_joined_string_paths,
    map_structure_up_to as map_structure_up_to,
)
from thalweg._src.graph.nest import (
    assert_same_structure as assert_same_structure,
    flatten as flatten,
    is_nested as is_nested,
    is_nested as is_sequence,
    map_structure as map_structure,
    pack_sequence_as as pack_sequence_as,
)

__all__ = [
    "assert_same_structure", "assert_shallow_structure", "flatten", "flatten_dict_items", "flatten_up_to",
    "flatten_with_joined_string_paths", "is_nested", "is_sequence", "map_structure", "map_structure_up_to",
    "pack_sequence_as",
]
