"""tf.ragged: Ragged tensors: rows of different lengths."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.nn.ragged.factories import (
    constant as constant,
    map_flat_values as map_flat_values,
    placeholder as placeholder,
    ragged_range as range,
    row_splits_to_segment_ids as row_splits_to_segment_ids,
    segment_ids_to_row_splits as segment_ids_to_row_splits,
    stack as stack,
    stack_dynamic_partitions as stack_dynamic_partitions,
)
from thalweg._src.training.nn.ragged.operations import ragged_boolean_mask as boolean_mask
from thalweg._src.training.nn.ragged.value import (
    RaggedTensorValue as RaggedTensorValue,
    constant_value as constant_value,
)

__all__ = [
    "RaggedTensorValue", "boolean_mask", "constant", "constant_value", "map_flat_values", "placeholder", "range",
    "row_splits_to_segment_ids", "segment_ids_to_row_splits", "stack", "stack_dynamic_partitions",
]
