"""tf.nest: Nested structures: flattening, packing and mapping."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.graph.nest import (
    assert_same_structure as assert_same_structure,
    flatten as flatten,
    is_nested as is_nested,
    map_structure as map_structure,
    pack_sequence_as as pack_sequence_as,
)

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]
