"""Features of serialized Examples for canned Estimators, with their labels and weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.training.input.features import FixedLenFeature
from thalweg._src.training.nn.feature_columns.base import DenseColumn, FeatureColumn
from thalweg._src.training.nn.feature_columns.dense import NumericColumn
from thalweg._src.training.nn.feature_columns.models import make_parse_example_spec


@export("estimator.classifier_parse_example_spec")
def classifier_parse_example_spec(
    feature_columns: Iterable[FeatureColumn],
    label_key: str,
    label_dtype: DTypeLike = dtypes.int64,
    label_default: int | str | float | None = None,
    weight_column: str | DenseColumn | None = None,
) -> dict[str, Any]:
    """Returns the features for `tf.io.parse_example` that a classifier needs, its label included.

    Args:
        label_key: Name of the label.
    """
    return _spec(feature_columns, label_key, FixedLenFeature((1,), label_dtype, label_default), weight_column)


@export("estimator.regressor_parse_example_spec")
def regressor_parse_example_spec(
    feature_columns: Iterable[FeatureColumn],
    label_key: str,
    label_dtype: DTypeLike = dtypes.float32,
    label_default: int | str | float | None = None,
    label_dimension: int = 1,
    weight_column: str | DenseColumn | None = None,
) -> dict[str, Any]:
    """Returns the features for `tf.io.parse_example` that a regression needs, its label included.

    Args:
        label_key: Name of the label.
    """
    label = FixedLenFeature((label_dimension,), label_dtype, label_default)
    return _spec(feature_columns, label_key, label, weight_column)


def _spec(
    feature_columns: Iterable[FeatureColumn],
    label_key: str,
    label: FixedLenFeature,
    weight_column: str | DenseColumn | None,
) -> dict[str, Any]:
    features = make_parse_example_spec(feature_columns)
    if label_key in features:
        raise ValueError(f"label should not be used as feature. label_key: {label_key}, features: {sorted(features)}")
    features[label_key] = label
    if weight_column is None:
        return features
    column = NumericColumn(weight_column) if isinstance(weight_column, str) else weight_column
    if not isinstance(column, NumericColumn):
        raise ValueError(f"weight_column should be an instance of tf.feature_column.numeric_column. Given: {column}")
    if column.key in features:
        raise ValueError(f"weight_column should not be used as feature: {column.key}")
    return features | make_parse_example_spec([column])
