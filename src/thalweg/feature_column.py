"""tf.feature_column: Feature columns: descriptions of how raw features become inputs of a model."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.nn.feature_columns.categorical import (
    CrossedColumn as crossed_column,
    HashedCategoricalColumn as categorical_column_with_hash_bucket,
    IdentityCategoricalColumn as categorical_column_with_identity,
    VocabularyFileCategoricalColumn as categorical_column_with_vocabulary_file,
    VocabularyListCategoricalColumn as categorical_column_with_vocabulary_list,
    WeightedCategoricalColumn as weighted_categorical_column,
)
from thalweg._src.training.nn.feature_columns.dense import (
    BucketizedColumn as bucketized_column,
    IndicatorColumn as indicator_column,
    NumericColumn as numeric_column,
)
from thalweg._src.training.nn.feature_columns.models import (
    input_layer as input_layer,
    linear_model as linear_model,
    make_parse_example_spec as make_parse_example_spec,
)
from thalweg._src.training.nn.feature_columns.sequences import (
    SequenceNumericColumn as sequence_numeric_column,
    sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket,
    sequence_categorical_column_with_identity as sequence_categorical_column_with_identity,
    sequence_categorical_column_with_vocabulary_file as sequence_categorical_column_with_vocabulary_file,
    sequence_categorical_column_with_vocabulary_list as sequence_categorical_column_with_vocabulary_list,
)
from thalweg._src.training.nn.feature_columns.sharing import (
    embedding_column as embedding_column,
    shared_embedding_columns as shared_embedding_columns,
)

__all__ = [
    "bucketized_column", "categorical_column_with_hash_bucket", "categorical_column_with_identity",
    "categorical_column_with_vocabulary_file", "categorical_column_with_vocabulary_list", "crossed_column",
    "embedding_column", "indicator_column", "input_layer", "linear_model", "make_parse_example_spec", "numeric_column",
    "sequence_categorical_column_with_hash_bucket", "sequence_categorical_column_with_identity",
    "sequence_categorical_column_with_vocabulary_file", "sequence_categorical_column_with_vocabulary_list",
    "sequence_numeric_column", "shared_embedding_columns", "weighted_categorical_column",
]
