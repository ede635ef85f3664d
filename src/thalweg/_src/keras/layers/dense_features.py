"""DenseFeatures: the layer of dense feature columns."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any

from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.reshape import reshape, shape as shape_of
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras import initializers
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.tracking import NestedShapes
from thalweg._src.keras.entries import require_entries
from thalweg._src.keras.places import at, entry, within
from thalweg._src.keras.serialization import class_and_config, find_object, require_file
from thalweg._src.training.nn.feature_columns.base import DenseColumn, FeatureColumn, Features
from thalweg._src.training.nn.feature_columns.dense import EmbeddingColumn
from thalweg._src.training.nn.feature_columns.models import _require_features, _sorted
from thalweg._src.training.variables.initializers import Initializer
from thalweg._src.training.variables.variable_scope import variable_scope

_FILES = ("vocabulary_file", "ckpt_to_load_from")  # arguments of columns that name files
_COLUMNS = ("categorical_column", "source_column")


@export("keras.layers.DenseFeatures")
class DenseFeatures(Layer):
    """Returns the numbers of all columns, [batch, width], ordered by the names of the columns."""

    def __init__(self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._feature_columns = tuple(_sorted(feature_columns, DenseColumn, "DenseColumn"))
        self._tables: dict[str, Any] = {}

    def build(self, input_shape: NestedShapes) -> None:
        """Creates the tables of columns of embeddings."""
        for column in self._feature_columns:
            if isinstance(column, EmbeddingColumn):
                with variable_scope(column.scope, custom_getter=partial(self._table, column.scope)):
                    table = column.table(None, self.trainable)
                self._track(table)  # one that several layers share is a part of each
        self.built = True

    def _table(self, scope: str, getter: Any, name: str, **options: Any) -> Any:
        """Returns the variable of a column, which the first call creates."""
        key = f"{scope}/{name.rpartition('/')[2]}"
        if key not in self._tables:
            option_names = ("shape", "dtype", "initializer", "trainable")
            self._tables[key] = self.add_weight(
                f"{self.name}/{key}", **{option: options[option] for option in option_names}
            )
        return self._tables[key]

    def call(self, features: Any, cols_to_output_tensors: dict[Any, Any] | None = None) -> Tensor:
        """Returns the numbers of all columns, and adds those of each one to a dictionary if it is given."""
        _require_features(features)
        column_features, outputs = Features(features), []
        for column in self._feature_columns:
            with variable_scope(column.scope, custom_getter=partial(self._table, column.scope)):
                numbers = column.dense(column_features, None, self.trainable)
            outputs.append(reshape(numbers, [shape_of(numbers)[0], column.size]))
            if cols_to_output_tensors is not None:
                cols_to_output_tensors[column] = outputs[-1]
        return concat(outputs, 1) if len(outputs) > 1 else outputs[0]

    def compute_output_shape(self, input_shape: NestedShapes) -> TensorShape:
        """Returns the batch and the width of all columns."""
        shapes = list(input_shape.values()) if isinstance(input_shape, dict) else [input_shape]
        batch = TensorShape(shapes[0]).as_list()[0]
        return TensorShape([batch, sum(column.size for column in self._feature_columns)])

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "feature_columns": [_described(column) for column in self._feature_columns]}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Returns a layer made from the result of `get_config`."""
        with at("feature_columns"):
            columns = _restored(entry(config, "feature_columns", (list, tuple)), custom_objects)
        return cls(**{**config, "feature_columns": columns})


def _described(value: Any) -> Any:
    """Returns what stands for a column, or for an argument of one, in a configuration."""
    if isinstance(value, FeatureColumn):
        names = inspect.signature(type(value)).parameters
        arguments = {name: getattr(value, f"{name}_", None) or getattr(value, name) for name in names}
        return class_and_config(
            type(value).__name__, {name: _described(argument) for name, argument in arguments.items()}
        )
    if isinstance(value, tuple | list):
        return [_described(argument) for argument in value]
    if isinstance(value, DType):
        return value.name
    if isinstance(value, Initializer):
        return initializers.serialize(value)
    if callable(value):
        if value.__name__ == "<lambda>":
            raise ValueError("a feature column with a lambda has no configuration; give it a named function")
        return value.__name__
    return value


def _restored(config: Any, custom_objects: Mapping[str, Any] | None) -> Any:
    """Returns the column of a configuration."""
    if isinstance(config, list | tuple):
        return [_restored(column_config, custom_objects) for column_config in config]
    if not isinstance(config, dict):
        return config
    with within(config):
        column_class = _classes(FeatureColumn).get(entry(config, "class_name", str))
        if column_class is None:
            return initializers.deserialize(config, custom_objects)
        arguments = entry(config, "config", dict)
        with at("config"):
            return _column(
                column_class,
                {name: _restored(value, custom_objects) for name, value in arguments.items()},
                custom_objects,
            )


def _column(cls: Any, arguments: dict[str, Any], custom_objects: Mapping[str, Any] | None) -> Any:
    """Returns a column of a class that is made of these arguments."""
    require_entries(cls, arguments)
    for name in _COLUMNS:
        if name in arguments and not isinstance(arguments[name], FeatureColumn):
            with at(name):
                raise TypeError(f"expected the description of a feature column, received that of {arguments[name]!r}")
    if isinstance(arguments.get("normalizer_fn"), str):
        arguments["normalizer_fn"] = find_object(arguments["normalizer_fn"], None, custom_objects, "normalizer_fn")
    for name in _FILES:
        require_file(f"{name} of a feature column", arguments.get(name))
    return cls(**arguments)


def _classes(base: Any) -> dict[str, Any]:
    """Returns a class and those derived from it, by name."""
    classes = {base.__name__: base}
    for derived in base.__subclasses__():
        classes.update(_classes(derived))
    return classes
