"""input_layer, linear_model and make_parse_example_spec: models over feature columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import UnionType
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.math import add_n
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import bias_add
from thalweg._src.graph.ops.reshape import reshape, shape as shape_of
from thalweg._src.graph.scopes import GraphKeys, get_collection
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.nn.embedding import safe_embedding_lookup_sparse
from thalweg._src.training.nn.feature_columns.base import CategoricalColumn, DenseColumn, FeatureColumn, Features
from thalweg._src.training.nn.feature_columns.dense import variable_collections
from thalweg._src.training.variables.initializers import Zeros
from thalweg._src.training.variables.variable_scope import get_variable, get_variable_scope, variable_scope


def _sorted(feature_columns: Iterable[Any], kinds: type | UnionType, expectation: str) -> list[Any]:
    """Returns columns sorted by name, after checks of their classes and unique names."""
    if isinstance(feature_columns, FeatureColumn):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    columns = list(feature_columns)
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    names: set[str] = set()
    for column in columns:
        if not isinstance(column, kinds):
            raise ValueError(
                f"Items of feature_columns must be a {expectation}. You can wrap a categorical column with an "
                f"embedding_column or indicator_column. Given: {column}"
            )
        if column.name in names:
            raise ValueError(f"Duplicate feature column name found for columns: {column.name}")
        names.add(column.name)
    return sorted(columns, key=lambda column: column.name)


def _require_features(features: object) -> None:
    if not isinstance(features, Mapping):
        raise ValueError(f"We expected a dictionary here. Instead we got: {features}")


@export("feature_column.input_layer")
def input_layer(
    features: Mapping[str, Any],
    feature_columns: Iterable[Any],
    weight_collections: Sequence[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Tensor:
    """Returns all columns concatenated, [batch, width], ordered by column name."""
    columns = _sorted(feature_columns, DenseColumn, "DenseColumn")
    _require_features(features)
    collections = variable_collections(weight_collections)
    with variable_scope(None, "input_layer", list(features.values())):
        column_inputs = Features(features)
        outputs = []
        for column in columns:
            with variable_scope(None, column.scope):
                numbers = column.dense(column_inputs, collections, trainable)
                output = reshape(numbers, [shape_of(numbers)[0], column.size])
                outputs.append(output)
                if cols_to_vars is not None:
                    cols_to_vars[column] = _scope_variables()
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = output
        return concat(outputs, 1) if len(outputs) > 1 else outputs[0]


def _scope_variables() -> list[Any]:
    """Returns the variables of the scope in force."""
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope=get_variable_scope().name + "/")


@export("feature_column.linear_model")
def linear_model(
    features: Mapping[str, Any],
    feature_columns: Iterable[Any],
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Sequence[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Tensor:
    """Returns the weighted sum of all columns plus a bias, [batch, units]; all weights are initialized to 0."""
    columns = _sorted(feature_columns, DenseColumn | CategoricalColumn, "DenseColumn or CategoricalColumn")
    _require_features(features)
    collections = variable_collections(weight_collections)

    def weights(name: str, shape: list[int]) -> Any:
        return get_variable(name, shape, dtypes.float32, Zeros(), trainable=trainable, collections=collections)

    with variable_scope(None, "linear_model", list(features.values())):
        column_inputs = Features(features)
        sums = []
        for column in columns:
            with variable_scope(None, column.scope):
                if isinstance(column, CategoricalColumn):
                    table = weights("weights", [column.num_buckets, units])
                    ids, factors = column.sparse(column_inputs)
                    sums.append(safe_embedding_lookup_sparse(table, ids, factors, combiner=sparse_combiner))
                else:
                    table = weights("weights", [column.size, units])
                    numbers = column.dense(column_inputs, collections, trainable)
                    sums.append(matmul(reshape(numbers, [shape_of(numbers)[0], column.size]), table))
                if cols_to_vars is not None:
                    cols_to_vars[column] = _scope_variables()
        bias = weights("bias_weights", [units])
        if cols_to_vars is not None:
            cols_to_vars["bias"] = [bias]
        total = add_n(sums, name="weighted_sum_no_bias")
        return bias_add(total, bias, name="weighted_sum")


@export("feature_column.make_parse_example_spec")
def make_parse_example_spec(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """Returns the features for `tf.io.parse_example` that all columns need."""
    result: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"All feature_columns must be FeatureColumn instances. Given: {column}")
        for key, feature in column.parse_example_spec.items():
            if key in result and result[key] != feature:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. {result[key]}, {feature}"
                )
            result[key] = feature
    return result
