"""embedding_column and shared_embedding_columns: one table per column, or one for several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.base.signatures import parameters_of
from thalweg._src.training.nn.feature_columns.base import CategoricalColumn
from thalweg._src.training.nn.feature_columns.categorical import WeightedCategoricalColumn
from thalweg._src.training.nn.feature_columns.dense import EmbeddingColumn


@export("feature_column.embedding_column")
@parameters_of(EmbeddingColumn, without=["shared_name"])
def embedding_column(**arguments: Any) -> EmbeddingColumn:
    """Returns a column of combined embeddings of an example's categories."""
    return EmbeddingColumn(**arguments)


@export("feature_column.shared_embedding_columns")
def shared_embedding_columns(
    categorical_columns: Sequence[CategoricalColumn],
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: PathLike | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list[EmbeddingColumn]:
    """Returns one embedding column per categorical column, all with one table."""
    plain = [c.categorical_column if isinstance(c, WeightedCategoricalColumn) else c for c in categorical_columns]
    if not plain:
        raise ValueError("categorical_columns: expected at least one column, received none")
    first = plain[0]
    for column in plain:
        if not isinstance(column, CategoricalColumn) or type(column) is not type(first):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, or be "
                f"weighted_categorical_column of the same type. Given: {first}, {column}"
            )
        if column.num_buckets != first.num_buckets:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number of buckets. "
                f"Given: {first.name} with {first.num_buckets} and {column.name} with {column.num_buckets}"
            )
    joined = "_".join(sorted(column.name for column in categorical_columns))
    name = shared_embedding_collection_name or f"{joined}_shared_embedding"
    return [
        EmbeddingColumn(
            column,
            dimension,
            combiner,
            initializer,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            max_norm,
            trainable,
            use_safe_embedding_lookup,
            shared_name=name,
        )
        for column in categorical_columns
    ]
