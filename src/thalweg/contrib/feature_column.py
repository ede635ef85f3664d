"""tf.contrib.feature_column: Feature columns of sequences."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.nn.feature_columns.sequences import (
    SequenceNumericColumn as sequence_numeric_column,
    sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket,
    sequence_categorical_column_with_identity as sequence_categorical_column_with_identity,
    sequence_categorical_column_with_vocabulary_file as sequence_categorical_column_with_vocabulary_file,
    sequence_categorical_column_with_vocabulary_list as sequence_categorical_column_with_vocabulary_list,
    sequence_input_layer as sequence_input_layer,
)

__all__ = [
    "sequence_categorical_column_with_hash_bucket", "sequence_categorical_column_with_identity",
    "sequence_categorical_column_with_vocabulary_file", "sequence_categorical_column_with_vocabulary_list",
    "sequence_input_layer", "sequence_numeric_column",
]
