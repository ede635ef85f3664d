"""Datasets of parsed tf.Example messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.data.dataset import Dataset
from thalweg._src.training.data.experimental import Transformation
from thalweg._src.training.data.files import TFRecordDataset
from thalweg._src.training.input.features import parse_example


@export("data.experimental.parse_example_dataset", "contrib.data.parse_example_dataset")
def parse_example_dataset(features: Mapping[str, Any], num_parallel_calls: TensorLike = 1) -> Transformation:
    """Returns a transformation that parses batches of serialized Examples into dictionaries of tensors."""
    if features is None:
        raise ValueError("Missing: features was None.")

    def apply(dataset: Dataset) -> Dataset:
        calls = None if num_parallel_calls == 1 else num_parallel_calls
        return dataset.map(lambda serialized: parse_example(serialized, features), calls)

    return apply


@export("data.experimental.make_batched_features_dataset", "contrib.data.make_batched_features_dataset")
def make_batched_features_dataset(
    file_pattern: TensorLike,
    batch_size: int,
    features: Mapping[str, Any],
    reader: Callable[..., Any] = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Returns batches of parsed Examples from files as dictionaries of features, paired with the label if named."""
    names = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    arguments = reader_args or []
    dataset = names.interleave(lambda name: reader(name, *arguments), cycle_length=reader_num_threads or 1)
    if isinstance(dataset._structure, tuple) and len(dataset._structure) == 2:
        dataset = dataset.map(lambda _, value: value)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = dataset.apply(parse_example_dataset(features, parser_num_threads or 2))
    if label_key is not None:
        if label_key not in features:
            raise ValueError(f"the `label_key` {label_key!r} is not one of the features {sorted(features)}")
        dataset = dataset.map(lambda parsed: _without(parsed, label_key))
    return dataset.prefetch(-1 if prefetch_buffer_size is None else prefetch_buffer_size)


def _without(parsed: Mapping[str, Any], key: str) -> Any:
    return {name: value for name, value in parsed.items() if name != key}, parsed[key]
